/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a URDF says that libmujoco does not read: it is listed, as it would be gone without a word.
 */
#include "experiments/import/mjcf_model.h"
#include "experiments/base/json.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINKS = 4096, VALUE = 200 };

typedef struct urdf_tag {
  const char *name, *inside; /* behind '<', behind the name */
  int n, n_inside;
  bool closes; /* </name> */
} urdf_tag;

/* The next tag from s on, which is moved behind it; comments and declarations are passed over. */
static bool urdf_next(const char **s, urdf_tag *tag)
{
  for (const char *at = *s; (at = strchr(at, '<')) != NULL;) {
    if (strncmp(at, "<!--", 4) == 0) {
      at = strstr(at, "-->");
      if (at == NULL) return false;
      continue;
    }
    if (at[1] == '?' || at[1] == '!') {
      at++;
      continue;
    }
    *tag = (urdf_tag){ .closes = at[1] == '/' };
    tag->name = at + 1 + tag->closes;
    tag->n = (int)strcspn(tag->name, " \t\r\n/>");
    const char *end = tag->inside = tag->name + tag->n;
    for (char quote = '\0'; *end != '\0' && (quote != '\0' || *end != '>'); end++)
      if (quote != '\0')
        quote = *end == quote ? '\0' : quote;
      else if (*end == '"' || *end == '\'')
        quote = *end;
    tag->n_inside = (int)(end - tag->inside);
    *s = end;
    return true;
  }
  return false;
}

static bool urdf_is(const urdf_tag *tag, const char *name)
{
  return (int)strlen(name) == tag->n && strncmp(tag->name, name, (size_t)tag->n) == 0;
}

/* The value of an attribute; "" where there is none. */
static const char *urdf_value(const urdf_tag *tag, const char *key, char value[VALUE])
{
  const int n = (int)strlen(key);
  value[0] = '\0';
  for (int i = 1; i + n < tag->n_inside; i++) {
    const char *s = tag->inside + i;
    if (strncmp(s, key, (size_t)n) != 0 || strchr(" \t\r\n", s[-1]) == NULL) continue;
    const char *at = s + n + strspn(s + n, " \t\r\n=");
    if (*at != '"' && *at != '\'') continue;
    const char *end = strchr(at + 1, *at);
    if (end == NULL || end > tag->inside + tag->n_inside) continue;
    snprintf(value, VALUE, "%.*s", (int)(end - at - 1), at + 1);
    break;
  }
  return value;
}

__attribute__((format(printf, 2, 3))) static void urdf_say(perp_mjcf *out, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text_vadd(&out->said, fmt, ap);
  perp_text_add(&out->said, "\n");
  va_end(ap);
}

static void urdf_in_joint(const urdf_tag *tag, const char *joint, perp_mjcf *out)
{
  char a[VALUE], b[VALUE];
  const bool mimic = urdf_is(tag, "mimic"), limit = urdf_is(tag, "limit");
  if (mimic)
    urdf_say(out, "lost: mimic of joint %s: in the URDF it follows joint %s, multiplied by %s",
             joint, urdf_value(tag, "joint", a),
             urdf_value(tag, "multiplier", b)[0] != '\0' ? b : "1");
  else if (limit &&
           (urdf_value(tag, "effort", a)[0] != '\0') + (urdf_value(tag, "velocity", b)[0] != '\0') >
               0)
    urdf_say(out, "lost: %s%s%s%s%s of joint %s: bounds of its actuator",
             a[0] != '\0' ? "largest effort " : "", a, a[0] != '\0' && b[0] != '\0' ? ", " : "",
             b[0] != '\0' ? "largest velocity " : "", b, joint);
  else if (urdf_is(tag, "safety_controller") || urdf_is(tag, "calibration"))
    urdf_say(out, "lost: %.*s of joint %s", tag->n, tag->name, joint);
  else
    return;
  out->lost++;
}

static void urdf_lost(const char *text, perp_mjcf *out)
{
  perp_pool pool = { 0 };
  perp_names links = { 0 };
  bool child[MOST_LINKS] = { false };
  char joint[VALUE] = "", value[VALUE];
  urdf_tag tag;
  const char *s = text;
  if (!urdf_next(&s, &tag) || !urdf_is(&tag, "robot")) return;
  while (urdf_next(&s, &tag)) {
    const bool outside = urdf_is(&tag, "transmission") || urdf_is(&tag, "gazebo");
    if (tag.closes) {
      if (urdf_is(&tag, "joint")) joint[0] = '\0';
    } else if (outside) {
      const char *whose = urdf_value(&tag, urdf_is(&tag, "gazebo") ? "reference" : "name", value);
      urdf_say(out, "lost: %.*s %s", tag.n, tag.name, whose);
      out->lost++;
      if (tag.n_inside > 0 && tag.inside[tag.n_inside - 1] == '/') continue;
      const int n = tag.n;
      const char *const name = tag.name;
      while (urdf_next(&s, &tag) &&
             !(tag.closes && tag.n == n && strncmp(tag.name, name, (size_t)n) == 0)) {}
    } else if (urdf_is(&tag, "joint")) {
      urdf_value(&tag, "name", joint);
    } else if (urdf_is(&tag, "link") || (urdf_is(&tag, "child") && joint[0] != '\0')) {
      const bool link = urdf_is(&tag, "link");
      const int i = perp_names_index(
          &pool, &links, perp_pool_strdup(&pool, urdf_value(&tag, link ? "name" : "link", value)),
          MOST_LINKS - 1);
      if (i >= 0 && !link) child[i] = true;
    } else if (joint[0] != '\0')
      urdf_in_joint(&tag, joint, out);
  }
  for (int i = 0; i < links.n; i++)
    if (!child[i])
      urdf_say(out, "note: link %s is connected to no joint: it is a part of the world",
               links.text[i]);
  perp_pool_free(&pool);
}

/* MJCF and URDF by libmujoco: loading, messages of the library, the head of the scene. */

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

static bool mjcf_key(perp_mj *mj, const char *key)
{
  const mjModel *robot = mj->m;
  int k = key != NULL ? mj_name2id(robot, mjOBJ_KEY, key) : -1;
  if (key != NULL && k < 0 && key[0] != '\0' && strspn(key, "0123456789") == strlen(key) &&
      strlen(key) < 9)
    k = atoi(key);
  if (key != NULL && (k < 0 || k >= robot->nkey)) {
    perp_text names = { 0 };
    for (int i = 0; i < robot->nkey && i < 10; i++)
      perp_text_add(&names, "%s%s",
                    i > 0 ? ", " : "keyframes: ", perp_mj_name(mj, mjOBJ_KEY, "number", i));
    perp_mj_refuse(mj, names.n > 0 ? names.s : "leave out --key: the file has no keyframes",
                   "there is no keyframe '%s'", key);
    perp_text_free(&names);
    return false;
  }
  mj_resetData(robot, mj->d);
  if (k >= 0) mj_resetDataKeyframe(robot, mj->d, k);
  if (k < 0 && robot->nkey > 0)
    perp_mj_note(mj,
                 "%d keyframe%s (%s%s): the initial state is the pose as drawn; perp import --key "
                 "NAME uses a keyframe",
                 robot->nkey, robot->nkey > 1 ? "s" : "", perp_mj_name(mj, mjOBJ_KEY, "number", 0),
                 robot->nkey > 1 ? ", ..." : "");
  mj->ctrl = mj->d->ctrl;
  mj_kinematics(robot, mj->d);
  mj_comPos(robot, mj->d);
  mj_comVel(robot, mj->d);
  return true;
}

/* ---- the scene ---- */

static void mjcf_head(perp_mj *mj, const char *path)
{
  const mjModel *robot = mj->m;
  const char *slash = strrchr(path, '/');
  const double *g = robot->opt.gravity;
  const bool along = g[0] == 0 && g[1] == 0 && g[2] <= 0 && !perp_mj_disabled(mj, mjDSBL_GRAVITY);
  char *summary = perp_xprintf("Imported robot%s%s", robot->names[0] != '\0' ? " " : "",
                               robot->names);
  char *reference = perp_xprintf("%s, read by MuJoCo %s", slash != NULL ? slash + 1 : path,
                                 mj_versionString());
  fputs("schema: perp-scene/1\nscene:\n  summary: ", mj->out);
  perp_write_quoted(mj->out, summary);
  fputs("\n  reference: ", mj->out);
  perp_write_quoted(mj->out, reference);
  fputs("\n  gravity: ", mj->out);
  perp_mj_digits(mj, along ? -g[2] : 0);
  fputs("\n  h: ", mj->out);
  perp_mj_digits(mj, robot->opt.timestep);
  fputs("\n  friction: maximum\n", mj->out);
  if (mj->driven) fputs("  driven: true\n", mj->out);
  if (mj->dissipative) fputs("  dissipative: true\n", mj->out);
  free(summary);
  free(reference);
}

static void mjcf_convert(perp_mj *mj, const char *path, const char *key)
{
  if (!mjcf_key(mj, key)) return;
  char *body = NULL;
  size_t size = 0;
  mj->out = open_memstream(&body, &size);
  if (mj->out == NULL) return;
  static void (*const sections[])(perp_mj *) = { perp_mj_bodies, perp_mj_loops,  perp_mj_drives,
                                                 perp_mj_forces, perp_mj_shapes, perp_mj_rest };
  for (size_t i = 0; i < sizeof sections / sizeof *sections && mj->to->error.n == 0; i++)
    sections[i](mj);
  fclose(mj->out);
  char *text = perp_read_file(path, NULL);
  if (text != NULL) urdf_lost(text, mj->to);
  free(text);
  char *head = NULL;
  size_t head_size = 0;
  mj->out = open_memstream(&head, &head_size);
  if (mj->out != NULL && mj->to->error.n == 0) {
    for (const char *s = mj->to->said.n > 0 ? mj->to->said.s : ""; *s != '\0'; s += *s == '\n') {
      fprintf(mj->out, "# %.*s\n", (int)strcspn(s, "\n"), s);
      s += strcspn(s, "\n");
    }
    mjcf_head(mj, path);
    fclose(mj->out);
    perp_text_put(&mj->to->scene, head, head_size);
    perp_text_put(&mj->to->scene, body, size);
  } else if (mj->out != NULL)
    fclose(mj->out);
  free(head);
  free(body);
}

void perp_mjcf_convert(const char *path, const char *key, perp_mjcf *out)
{
  char message[1000] = "";
  perp_mj mj = { .to = out };
  mjcf_current = out;
  mju_user_error = mjcf_fatal;
  mju_user_warning = mjcf_warning;
  mjModel *robot = mj_loadXML(path, NULL, message, sizeof message);
  mj.m = robot;
  if (robot == NULL)
    mjcf_explain(path, message, out);
  else if ((mj.d = mj_makeData(robot)) == NULL)
    perp_text_add(&out->error, "libmujoco has no memory for the file");
  else {
    if (message[0] != '\0') mjcf_warning(message);
    mjcf_convert(&mj, path, key);
  }
  if (mj.d != NULL) mj_deleteData(mj.d);
  if (robot != NULL) mj_deleteModel(robot);
  perp_pool_free(&mj.pool);
}
