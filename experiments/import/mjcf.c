/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MJCF and URDF by libmujoco: loading, messages of the library, the head of the scene. */
#include "experiments/import/mjcf_private.h"
#include "experiments/base/json.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- messages of the library ---- */

static perp_mjcf *mjcf_current; /* this process reads one file */

/* The library cannot go on, and must not return: so the answer is given here. */
static void mjcf_fatal(const char *message)
{
  (void)message;
  _exit(1);
}

static void mjcf_warning(const char *message)
{
  if (mjcf_current != NULL)
    perp_text_add(&mjcf_current->said, "note: libmujoco: %.*s\n", (int)strcspn(message, "\n"),
                  message);
}

static int mjcf_line(const char *message)
{
  static const char *const forms[] = { "line = ", "Line number=", "line " };
  for (int i = 0; i < 3; i++) {
    const char *s = strstr(message, forms[i]);
    if (s != NULL && s[strlen(forms[i])] >= '0' && s[strlen(forms[i])] <= '9')
      return atoi(s + strlen(forms[i]));
  }
  return 0;
}

static const char *mjcf_folder(char *buf, size_t size, const char *path)
{
  const char *slash = strrchr(path, '/');
  snprintf(buf, size, "%.*s", slash != NULL ? (int)(slash + 1 - path) : 2,
           slash != NULL ? path : "./");
  return buf;
}

/* What the message of the library means, and what to do. */
static void mjcf_explain(const char *path, const char *message, perp_mjcf *out)
{
  static const struct {
    const char *says, *hint;
  } hints[] = {
    { "Unrecognized XML model type", "the root element must be <mujoco> (MJCF) or <robot> (URDF)" },
    { "unrecognized element", "the reference of MJCF lists the elements that are allowed here" },
    { "unrecognized attribute",
      "the reference of MJCF lists the attributes that are allowed here" },
    { "mass and inertia", "add an <inertial>, or a geom with a mass" },
    { "not found", "use the name of an existing element, or add the element" },
    { "repeated name", "rename one of the two" },
  };
  char folder[1000];
  const char *text = message;
  if (strncmp(text, "XML Error: ", 11) == 0) text += 11;
  if (strncmp(text, "Error: ", 7) == 0) text += 7;
  out->line = mjcf_line(message);
  if (strstr(text, "XML parse error") != NULL) {
    const char *file = strstr(text, "filename="), *element = strstr(message, "Element '");
    if (strstr(text, "FILE_NOT_FOUND") != NULL && file != NULL) {
      out->line = element != NULL ? mjcf_line(element) : 0;
      perp_text_add(&out->error, "cannot open the included file %.*s", (int)strcspn(file + 9, "\n"),
                    file + 9);
      perp_text_add(&out->hint, "put the file into %s, or correct its name",
                    mjcf_folder(folder, sizeof folder, path));
      return;
    }
    perp_text_add(&out->error, "the file is not valid XML from here on");
    perp_text_add(&out->hint,
                  "use <mujoco> (MJCF) or <robot> (URDF) as root, and close each element");
    return;
  }
  perp_text_add(&out->error, "%.*s", (int)strcspn(text, "\n"), text);
  const char *element = strstr(message, "Element '");
  if (element != NULL)
    perp_text_add(&out->error, ": <%.*s>", (int)strcspn(element + 9, "'"), element + 9);
  const char *object = strstr(message, "Object name = ");
  if (object != NULL && object[14] != ',')
    perp_text_add(&out->error, " (%.*s)", (int)strcspn(object + 14, ","), object + 14);
  if (strstr(text, "open") != NULL && strstr(text, "file") != NULL) {
    perp_text_add(
        &out->hint,
        "put the file there: names are relative to %s, or to the meshdir of its <compiler>",
        mjcf_folder(folder, sizeof folder, path));
    return;
  }
  for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
    if (strstr(text, hints[i].says) != NULL) {
      perp_text_add(&out->hint, "%s", hints[i].hint);
      return;
    }
}

/* ---- the initial state ---- */

static bool mjcf_key(perp_mj *x, const char *key)
{
  const mjModel *m = x->m;
  int k = key != NULL ? mj_name2id(m, mjOBJ_KEY, key) : -1;
  if (key != NULL && k < 0 && key[0] != '\0' && strspn(key, "0123456789") == strlen(key) &&
      strlen(key) < 9)
    k = atoi(key);
  if (key != NULL && (k < 0 || k >= m->nkey)) {
    perp_text names = { 0 };
    for (int i = 0; i < m->nkey && i < 10; i++)
      perp_text_add(&names, "%s%s",
                    i > 0 ? ", " : "keyframes: ", perp_mj_name(x, mjOBJ_KEY, "number", i));
    perp_mj_refuse(x, names.n > 0 ? names.s : "leave out --key: the file has no keyframes",
                   "there is no keyframe '%s'", key);
    perp_text_free(&names);
    return false;
  }
  mj_resetData(m, x->d);
  if (k >= 0) mj_resetDataKeyframe(m, x->d, k);
  if (k < 0 && m->nkey > 0)
    perp_mj_note(x,
                 "%d keyframe%s (%s%s): the initial state is the pose as drawn; perp import --key "
                 "NAME uses a keyframe",
                 m->nkey, m->nkey > 1 ? "s" : "", perp_mj_name(x, mjOBJ_KEY, "number", 0),
                 m->nkey > 1 ? ", ..." : "");
  x->ctrl = x->d->ctrl;
  mj_kinematics(m, x->d);
  mj_comPos(m, x->d);
  mj_comVel(m, x->d);
  return true;
}

/* ---- the scene ---- */

static void mjcf_head(perp_mj *x, const char *path)
{
  const mjModel *m = x->m;
  const char *slash = strrchr(path, '/');
  const double *g = m->opt.gravity;
  const bool along = g[0] == 0 && g[1] == 0 && g[2] <= 0 && !perp_mj_disabled(x, mjDSBL_GRAVITY);
  char *summary = perp_xprintf("Imported robot%s%s", m->names[0] != '\0' ? " " : "", m->names);
  char *reference = perp_xprintf("%s, read by MuJoCo %s", slash != NULL ? slash + 1 : path,
                                 mj_versionString());
  fputs("schema: perp-scene/1\nscene:\n  summary: ", x->out);
  perp_write_quoted(x->out, summary);
  fputs("\n  reference: ", x->out);
  perp_write_quoted(x->out, reference);
  fputs("\n  gravity: ", x->out);
  perp_mj_digits(x, along ? -g[2] : 0);
  fputs("\n  h: ", x->out);
  perp_mj_digits(x, m->opt.timestep);
  fputs("\n  friction: maximum\n", x->out);
  if (x->driven) fputs("  driven: true\n", x->out);
  if (x->dissipative) fputs("  dissipative: true\n", x->out);
  free(summary);
  free(reference);
}

static void mjcf_convert(perp_mj *x, const char *path, const char *key)
{
  if (!mjcf_key(x, key)) return;
  char *body = NULL;
  size_t size = 0;
  x->out = open_memstream(&body, &size);
  if (x->out == NULL) return;
  static void (*const sections[])(perp_mj *) = { perp_mj_bodies, perp_mj_loops,  perp_mj_drives,
                                                 perp_mj_forces, perp_mj_shapes, perp_mj_rest };
  for (size_t i = 0; i < sizeof sections / sizeof *sections && x->to->error.n == 0; i++)
    sections[i](x);
  fclose(x->out);
  char *text = perp_read_file(path, NULL);
  if (text != NULL) perp_urdf_lost(text, x->to);
  free(text);
  char *head = NULL;
  size_t head_size = 0;
  x->out = open_memstream(&head, &head_size);
  if (x->out != NULL && x->to->error.n == 0) {
    for (const char *s = x->to->said.n > 0 ? x->to->said.s : ""; *s != '\0'; s += *s == '\n') {
      fprintf(x->out, "# %.*s\n", (int)strcspn(s, "\n"), s);
      s += strcspn(s, "\n");
    }
    mjcf_head(x, path);
    fclose(x->out);
    perp_text_put(&x->to->scene, head, head_size);
    perp_text_put(&x->to->scene, body, size);
  } else if (x->out != NULL)
    fclose(x->out);
  free(head);
  free(body);
}

void perp_mjcf_convert(const char *path, const char *key, perp_mjcf *out)
{
  char message[1000] = "";
  perp_mj x = { .to = out };
  mjcf_current = out;
  mju_user_error = mjcf_fatal;
  mju_user_warning = mjcf_warning;
  mjModel *m = mj_loadXML(path, NULL, message, sizeof message);
  x.m = m;
  if (m == NULL)
    mjcf_explain(path, message, out);
  else if ((x.d = mj_makeData(m)) == NULL)
    perp_text_add(&out->error, "libmujoco has no memory for the file");
  else {
    if (message[0] != '\0') mjcf_warning(message);
    mjcf_convert(&x, path, key);
  }
  if (x.d != NULL) mj_deleteData(x.d);
  if (m != NULL) mj_deleteModel(m);
  perp_pool_free(&x.pool);
}
