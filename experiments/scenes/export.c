/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model as a scene file, by the tables that files are read by. */
#include "experiments/scenes/scene_file.h"

#include "experiments/scenes/parts.h"
#include "models/multibody/conserved.h"
#include "experiments/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void export_number(FILE *out, double x)
{
  char text[40];
  perp_format_real(x, text, sizeof text);
  fputs(text, out);
}

static void export_vector(FILE *out, const char *key, int n, const double *x)
{
  fprintf(out, ", %s: [", key);
  for (int i = 0; i < n; i++) {
    if (i > 0) fputs(", ", out);
    export_number(out, x[i]);
  }
  fputs("]", out);
}

/* x + signal */
static void export_value(FILE *out, const perp_model *model, double x, perp_signal_ref signal)
{
  const perp_signal *s = perp_model_signal(model, signal);
  if (s == NULL) {
    export_number(out, x);
    return;
  }
  const perp_signal_def *def = perp_signal_definition(s);
  const struct {
    const char *key;
    double x;
  } of[] = { { "plus", x },
             { "offset", def->offset },
             { "amplitude", def->amplitude },
             { "rate", def->rate },
             { "phase", def->phase } };
  fprintf(out, "{ kind: %s", perp_signal_kind_name(def->kind));
  for (int i = 0; i < 5; i++) {
    if (of[i].x == 0) continue;
    fprintf(out, ", %s: ", of[i].key);
    export_number(out, of[i].x);
  }
  for (int i = 0; i < def->n; i++) {
    fputs(i > 0 ? ", [" : ", points: [[", out);
    export_number(out, def->t[i]);
    fputs(", ", out);
    export_number(out, def->y[i]);
    fputs(i + 1 < def->n ? "]" : "]]", out);
  }
  if (def->kind == PERP_SIGNAL_FUNCTION) {
    fputs(", of: ", out);
    perp_write_quoted(out, def->text);
  }
  fputs(" }", out);
}

static void export_values(FILE *out, const perp_model *model, const char *key, int n,
                          const double *x, const perp_signal_ref *signal)
{
  fprintf(out, n > 1 ? ", %s: [" : ", %s: ", key);
  for (int i = 0; i < n; i++) {
    if (i > 0) fputs(", ", out);
    export_value(out, model, x[i], signal[i]);
  }
  if (n > 1) fputs("]", out);
}

static bool export_moves(const perp_key *key, const void *def)
{
  const perp_signal_ref *signal = (const perp_signal_ref *)(const void *)((const char *)def +
                                                                          key->signal);
  for (int i = 0; i < key->n && key->signal != 0; i++)
    if (signal[i] != 0) return true;
  return false;
}

static void export_key(FILE *out, const perp_model *model, const perp_key *key, const void *def)
{
  const char *at = (const char *)def + key->at, *text;
  int which;
  memcpy(&which, at, sizeof which);
  if (key->signal != 0) {
    const int dim = perp_model_dim(model);
    export_values(out, model, key->name, key->n == 3 ? dim : key->n,
                  (const double *)(const void *)at,
                  (const perp_signal_ref *)(const void *)((const char *)def + key->signal));
    return;
  }
  if (key->type == PERP_KEY_VECTOR) {
    export_vector(out, key->name, key->n, (const double *)(const void *)at);
    return;
  }
  fprintf(out, ", %s: ", key->name);
  switch (key->type) {
  case PERP_KEY_NUMBER:
    export_number(out, *(const double *)(const void *)at);
    break;
  case PERP_KEY_BOOL:
    fputs(*(const bool *)at ? "true" : "false", out);
    break;
  case PERP_KEY_TEXT:
    memcpy(&text, at, sizeof text);
    perp_write_quoted(out, text);
    break;
  case PERP_KEY_CHOICE:
    fputs(key->names[which], out);
    break;
  default: /* a part by its number */
    if (which == PERP_WORLD)
      fputs("world", out);
    else
      fprintf(out, "%d", which);
  }
}

static size_t export_size(const perp_key *key)
{
  switch (key->type) {
  case PERP_KEY_NUMBER:
  case PERP_KEY_VECTOR:
    return (size_t)key->n * sizeof(double);
  case PERP_KEY_BOOL:
    return sizeof(bool);
  case PERP_KEY_TEXT:
    return sizeof(char *);
  case PERP_KEY_OTHER:
  case PERP_KEY_END:
    return 0;
  default:
    return sizeof(int);
  }
}

/* All members that are not as they are where nothing is said, and those named in `always`. */
static void export_keys(FILE *out, const perp_model *model, const perp_key *keys, const void *def,
                        const void *dflt, const char *const *always)
{
  for (const perp_key *key = keys; key->type != PERP_KEY_END; key++) {
    const size_t size = export_size(key);
    bool wanted = size > 0 &&
                  memcmp((const char *)def + key->at, (const char *)dflt + key->at, size) != 0;
    wanted = wanted || (size > 0 && export_moves(key, def));
    for (int i = 0; always[i] != NULL; i++) wanted = wanted || strcmp(always[i], key->name) == 0;
    if (wanted && size > 0) export_key(out, model, key, def);
  }
}

/* Maps begin with a key of their own, so that all others stand behind a comma. */
static void export_begin(FILE *out, const char *key, const char *word)
{
  fprintf(out, "  - { %s: %s", key, word);
}

/* ---- quaternions ----
 * A quaternion is normalized when it is read, which may change its last digits again.  Of the
 * multiples of it there is one that becomes the same to the last bit. */

typedef perp_status export_reads(perp_ctx *ctx, int dim, const void *def, const double quat[4],
                                 double back[4]);

static perp_status export_body_quat(perp_ctx *ctx, int dim, const void *def, const double quat[4],
                                    double back[4])
{
  perp_model *model;
  perp_body_def copy = *(const perp_body_def *)def;
  memcpy(copy.quat, quat, sizeof copy.quat);
  PERP_TRY(perp_model_create(ctx, dim, &model));
  const perp_status status = perp_model_add_body(ctx, model, &copy, NULL);
  if (status == PERP_OK) memcpy(back, perp_model_body(model, 0)->quat, sizeof copy.quat);
  perp_model_destroy(model);
  return status;
}

static perp_status export_shape_quat(perp_ctx *ctx, int dim, const void *def, const double quat[4],
                                     double back[4])
{
  perp_model *model;
  perp_shape_def copy = *(const perp_shape_def *)def;
  memcpy(copy.quat, quat, sizeof copy.quat);
  copy.body = PERP_WORLD;
  PERP_TRY(perp_model_create(ctx, dim, &model));
  const perp_status status = perp_model_add_shape(ctx, model, &copy, NULL);
  if (status == PERP_OK) memcpy(back, perp_model_shape(model, 0)->quat, sizeof copy.quat);
  perp_model_destroy(model);
  return status;
}

static perp_status export_quat(perp_ctx *ctx, FILE *out, int dim, const void *def,
                               const double q[4], export_reads *reads)
{
  enum { TRIES = 20000 };
  static const double identity[4] = { 1, 0, 0, 0 };
  if (dim == 2 || memcmp(q, identity, sizeof identity) == 0) return PERP_OK;
  for (int k = 0; k < TRIES; k++) {
    double x[4], back[4];
    for (int i = 0; i < 4; i++) x[i] = q[i] * (1 + k / 1024.0);
    PERP_TRY(reads(ctx, dim, def, x, back));
    if (memcmp(back, q, sizeof back) != 0) continue;
    export_vector(out, "quat", 4, x);
    return PERP_OK;
  }
  return PERP_FAIL(ctx, PERP_ERR_INTERNAL, "no multiple of a quaternion reads back as it is");
}

/* ---- parts ---- */

/* A name that can be read back: no other body before has it. */
static bool export_name(const perp_model *model, int body)
{
  const char *name = perp_model_body(model, body)->name;
  if (name == NULL || name[0] == '\0' || strpbrk(name, "{}\n") != NULL ||
      strspn(name, "0123456789") == strlen(name) || strcmp(name, "world") == 0)
    return false;
  for (int i = 0; i < body; i++) {
    const char *other = perp_model_body(model, i)->name;
    if (other != NULL && strcmp(other, name) == 0) return false;
  }
  return true;
}

static perp_status export_bodies(perp_ctx *ctx, const perp_model *model, FILE *out)
{
  const int dim = perp_model_dim(model);
  static const double zero[3] = { 0 };
  fputs("bodies:\n", out);
  for (int body = 0; body < perp_model_bodies(model); body++) {
    const perp_body_def *def = perp_model_body(model, body);
    fputs("  - { mass: ", out);
    export_number(out, def->mass.mass);
    if (export_name(model, body)) {
      fputs(", name: ", out);
      perp_write_quoted(out, def->name);
    }
    if (def->particle)
      fputs(", particle: true", out);
    else
      export_vector(out, "inertia", 9, def->mass.inertia);
    export_vector(out, "x", dim, def->x);
    PERP_TRY(export_quat(ctx, out, dim, def, def->quat, export_body_quat));
    if (dim == 2 && memcmp(&def->angle, zero, sizeof *zero) != 0) {
      fputs(", angle: ", out);
      export_number(out, def->angle);
    }
    if (memcmp(def->v, zero, sizeof zero) != 0) export_vector(out, "v", dim, def->v);
    if (dim == 3 && memcmp(def->w, zero, sizeof zero) != 0) export_vector(out, "w", 3, def->w);
    if (dim == 2 && memcmp(&def->w[2], zero, sizeof *zero) != 0) {
      fputs(", w: ", out);
      export_number(out, def->w[2]);
    }
    fputs(" }\n", out);
  }
  return PERP_OK;
}

static void export_points(FILE *out, const char *key, int n, int width, int stride, const double *x)
{
  fprintf(out, ", %s: [", key);
  for (int i = 0; i < n; i++) {
    fputs(i > 0 ? ", [" : "[", out);
    for (int k = 0; k < width; k++) {
      if (k > 0) fputs(", ", out);
      export_number(out, x[stride * i + k]);
    }
    fputs("]", out);
  }
  fputs("]", out);
}

static void export_triangles(FILE *out, int n, const int *t)
{
  fputs(", triangles: [", out);
  for (int i = 0; i < n; i++)
    fprintf(out, "%s[%d, %d, %d]", i > 0 ? ", " : "", t[3 * i], t[3 * i + 1], t[3 * i + 2]);
  fputs("]", out);
}

static const char *export_body(int body, char buf[16])
{
  if (body == PERP_WORLD) return "world";
  snprintf(buf, 16, "%d", body);
  return buf;
}

static perp_status export_shapes(perp_ctx *ctx, const perp_model *model, FILE *out)
{
  const int dim = perp_model_dim(model), n = perp_model_shapes(model);
  static const char *const always[] = { "mu_dynamic", NULL };
  int a, b;
  const bool pairs = perp_model_pair(model, 0, &a, &b) != NULL;
  if (n > 0) fputs("shapes:\n", out);
  for (int i = 0; i < n; i++) {
    char buf[16];
    perp_shape_def def = *perp_model_shape(model, i);
    perp_shape_def dflt = { .body = def.body, .kind = def.kind, .name = def.name };
    memcpy(dflt.quat, def.quat, sizeof def.quat); /* below */
    if (dim == 3) dflt.angle = def.angle;
    export_begin(out, "body", export_body(def.body, buf));
    fprintf(out, ", kind: %s", perp_scene_shape_kinds[def.kind]);
    if (pairs && def.surface.material > 0) fprintf(out, ", material: m%d", def.surface.material);
    export_keys(out, model, perp_scene_shape_keys, &def, &dflt, always);
    PERP_TRY(export_quat(ctx, out, dim, &def, def.quat, export_shape_quat));
    if (def.vertices != NULL)
      export_points(out, "vertices", def.n_vertices, dim, dim, def.vertices);
    if (def.triangles != NULL) export_triangles(out, def.n_triangles, def.triangles);
    if (def.heights != NULL)
      export_points(out, "heights", def.grid[1], def.grid[0], def.grid[0], def.heights);
    fputs(" }\n", out);
  }
  return PERP_OK;
}

/* Materials have no names in a model.  All are there that shapes or pairs have, in the order of
 * their numbers: they get the same ones when they are read. */
static void export_pairs(const perp_model *model, FILE *out)
{
  static const char *const none[] = { NULL };
  const perp_surface *surface, dflt = { .mu = NAN,
                                        .mu_dynamic = NAN,
                                        .mu_across = NAN,
                                        .restitution = NAN,
                                        .torsion = NAN,
                                        .rolling = NAN };
  int a, b, most = 0;
  for (int i = 0; perp_model_pair(model, i, &a, &b) != NULL; i++) most = b > most ? b : most;
  if (most == 0) return;
  for (int shape = 0; shape < perp_model_shapes(model); shape++) {
    const int of = perp_model_shape(model, shape)->surface.material;
    most = of > most ? of : most;
  }
  fputs("materials: {", out);
  for (int i = 1; i <= most; i++) fprintf(out, "%s m%d: {}", i > 1 ? "," : "", i);
  fputs(" }\npairs:\n", out);
  for (int i = 0; (surface = perp_model_pair(model, i, &a, &b)) != NULL; i++) {
    fprintf(out, "  - { a: m%d, b: m%d", a, b);
    export_keys(out, model, perp_scene_surface_keys, surface, &dflt, none);
    fputs(" }\n", out);
  }
}

static void export_curve(FILE *out, const perp_model *model, const perp_curve_def *curve)
{
  const int dim = perp_model_dim(model);
  static const char *const none[] = { NULL };
  const perp_curve_def dflt = { .kind = curve->kind };
  fprintf(out, ", curve: { kind: %s", perp_scene_curve_kinds[curve->kind]);
  export_keys(out, model, perp_scene_curve_keys, curve, &dflt, none);
  if (curve->data != NULL && curve->n > 0)
    export_points(out, "points", curve->n, dim, 3, curve->data);
  fputs(" }", out);
}

static void export_rows(FILE *out, const perp_model *model, const perp_joint_def *def)
{
  static const char *const none[] = { NULL };
  const perp_row_soft dflt = { 0 };
  int n = PERP_JOINT_ROWS;
  while (n > 0 && memcmp(&def->row[n - 1], &dflt, sizeof dflt) == 0) n--;
  if (n == 0) return;
  fputs(", rows: [", out);
  for (int row = 0; row < n; row++) {
    fputs(row > 0 ? ", { softness: " : "{ softness: ", out);
    export_number(out, def->row[row].softness);
    perp_row_soft rest = def->row[row];
    rest.softness = 0;
    export_keys(out, model, perp_scene_row_keys, &rest, &dflt, none);
    fputs(" }", out);
  }
  fputs("]", out);
}

/* Kind, bodies and all options of an element of a plug-in. */
static void export_plugin(FILE *out, const perp_desc *desc, const void *opts, int n,
                          const int *body)
{
  char text[PERP_TEXT_MAX + 64];
  export_begin(out, "kind", desc->name);
  fputs(", bodies: [", out);
  for (int i = 0; i < n; i++) fprintf(out, "%s%s", i > 0 ? ", " : "", export_body(body[i], text));
  fputs("]", out);
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->type != PERP_OPT_END; opt++) {
    fprintf(out, ", %s: ", opt->key);
    if (opt->type == PERP_OPT_TEXT) {
      perp_write_quoted(out, (const char *)opts + opt->offset);
      continue;
    }
    perp_opt_format(opt, opts, text, sizeof text);
    fputs(text, out);
  }
}

static void export_rate(FILE *out, const perp_model *model, const perp_rate_def *def)
{
  char buf[16];
  fputs("  - { kind: nonholonomic, value: ", out);
  export_value(out, model, def->value, def->value_signal);
  fputs(", terms: [", out);
  for (int i = 0; i < def->n_terms; i++) {
    const perp_rate_term *term = &def->term[i];
    fprintf(out, "%s{ body: %d, frame: %s", i > 0 ? ", " : "", term->body,
            export_body(term->frame, buf));
    export_vector(out, "at", 3, term->at);
    export_vector(out, "along", 3, term->along);
    if (perp_model_dim(model) == 3)
      export_vector(out, "about", 3, term->about);
    else {
      fputs(", about: ", out);
      export_number(out, term->about[2]);
    }
    fputs(" }", out);
  }
  fputs("] }\n", out);
}

static void export_joints(const perp_model *model, FILE *out)
{
  static const char *const none[] = { NULL };
  static const char *const always[] = { "a", "b", NULL };
  const int n = perp_model_joints(model) - perp_model_motions(model) - perp_model_disabled(model);
  if (n > 0) fputs("joints:\n", out);
  for (int i = 0; i < n; i++) {
    perp_joint_def def = *perp_model_joint(model, i), dflt = { .kind = def.kind };
    def.name = dflt.name = NULL; /* drives name joints by their numbers */
    if (def.start == PERP_START_ZERO) def.start = PERP_START_HOLDS; /* it has been moved */
    perp_rate_def rate;
    if (perp_model_rate_of(model, i, &rate)) {
      export_rate(out, model, &rate);
      continue;
    }
    perp_coupling_def coupling;
    perp_armature_def armature;
    if (perp_model_armature_of(model, i, &armature)) continue;
    if (perp_model_coupling_of(model, i, &coupling)) {
      perp_scene_export_coupling(out, model, &coupling);
      continue;
    }
    if (def.kind == PERP_JOINT_PLUGIN) {
      export_plugin(out, &def.plugin->d, def.opts, def.n_bodies, def.body);
      export_keys(out, model, perp_scene_joint_plugin_keys, &def, &dflt, none);
    } else {
      export_begin(out, "kind", perp_scene_joint_kinds[def.kind]);
      if (def.kind == PERP_JOINT_CHAIN) perp_scene_export_chain(out, &def);
      export_keys(out, model, perp_scene_joint_keys, &def, &dflt, always);
    }
    export_rows(out, model, &def);
    if (def.kind == PERP_JOINT_CURVE) export_curve(out, model, &def.curve);
    fputs(" }\n", out);
  }
}

static void export_drives(const perp_model *model, FILE *out)
{
  static const char *const said[] = { "max_force", "stiffness", NULL };
  static const char *const *const none = said + 2;
  const int n = perp_model_drives(model);
  perp_armature_def armature;
  bool any = n > 0;
  for (int joint = 0; joint < perp_model_joints(model); joint++)
    any |= perp_model_armature_of(model, joint, &armature);
  if (any) fputs("drives:\n", out);
  for (int i = 0; i < n; i++) {
    const perp_drive_def def = *perp_model_drive(model, i);
    const perp_drive_def dflt = {
      .joint = def.joint, .lower = -HUGE_VAL, .upper = HUGE_VAL, .name = def.name
    };
    char number[16];
    snprintf(number, sizeof number, "%d", perp_scene_joint_number(model, def.joint));
    export_begin(out, "joint", number);
    const bool moves = def.velocity != 0 || def.velocity_signal != 0 || def.stiffness != 0 ||
                       def.damping != 0 || def.target != 0 || def.target_signal != 0;
    export_keys(out, model, perp_scene_drive_keys, &def, &dflt,
                moves && def.max_force == 0 ? said : none);
    fputs(" }\n", out);
  }
  perp_scene_export_armatures(out, model);
}

static void export_forces(const perp_model *model, FILE *out)
{
  static const char *const always[] = { "a", NULL };
  static const double zero[3] = { 0 };
  const int n = perp_model_force_elements(model), dim = perp_model_dim(model);
  if (n > 0) fputs("forces:\n", out);
  for (int i = 0; i < n; i++) {
    const perp_force_def def = *perp_model_force_element(model, i);
    const perp_force_def dflt = { .kind = def.kind, .b = PERP_WORLD };
    if (def.kind == PERP_FORCE_PLUGIN) {
      export_plugin(out, &def.plugin->d, def.opts, def.n_bodies, def.body);
      fputs(" }\n", out);
      continue;
    }
    export_begin(out, "kind", perp_scene_force_kinds[def.kind]);
    export_keys(out, model, perp_scene_force_keys, &def, &dflt, always);
    if (def.kind == PERP_FORCE_TORQUE && dim == 2) {
      fputs(", value: ", out);
      export_value(out, model, def.value[2], def.value_signal[2]);
    } else if (memcmp(def.value, zero, sizeof zero) != 0 || def.value_signal[0] != 0 ||
               def.value_signal[1] != 0 || def.value_signal[2] != 0)
      export_values(out, model, "value", 3, def.value, def.value_signal);
    fputs(" }\n", out);
  }
}

static void export_motions(const perp_model *model, FILE *out)
{
  static const char *const always[] = { "x", NULL };
  const int n = perp_model_motions(model);
  if (n > 0) fputs("motions:\n", out);
  for (int i = 0; i < n; i++) {
    perp_motion_def def = *perp_model_motion(model, i);
    if (perp_model_dim(model) == 2) memset(def.axis, 0, sizeof def.axis);
    const perp_motion_def dflt = { .body = def.body };
    char number[16];
    snprintf(number, sizeof number, "%d", def.body);
    export_begin(out, "body", number);
    export_keys(out, model, perp_scene_motion_keys, &def, &dflt, always);
    fputs(" }\n", out);
  }
}

static void export_line(FILE *out, const char *key, double x)
{
  fprintf(out, "  %s: ", key);
  export_number(out, x);
  fputs("\n", out);
}

static void export_head(const perp_desc *desc, const perp_scene *scene, const char *name, FILE *out)
{
  char *source = perp_scene_file_source(desc);
  fprintf(
      out,
      "schema: perp-scene/1\n# the scene %s with all its numbers, without its `truth` and `gauges`",
      name);
  if (source != NULL || perp_scene_file_hash(desc) != 0) /* a file, readable now or not */
    fprintf(out, ":\n# perp info %s --source prints the file with them", desc->name);
  fputs("\nscene:\n  summary: ", out);
  free(source);
  perp_write_quoted(out, desc->summary);
  fputs("\n  reference: ", out);
  perp_write_quoted(out, desc->reference);
  fprintf(out, "\n  dim: %d\n", perp_model_dim(scene->model));
  fputs("  gravity: ", out);
  export_value(out, scene->model, perp_model_gravity_of(scene->model),
               perp_model_gravity_signal_of(scene->model));
  fputs("\n", out);
  if (perp_model_friction_of(scene->model) != PERP_FRICTION_GEOMETRIC)
    fprintf(out, "  friction: %s\n",
            perp_scene_friction_rules[perp_model_friction_of(scene->model)]);
  export_line(out, "t_end", scene->t_end);
  if (scene->h != 0) export_line(out, "h", scene->h);
  if (scene->size != 0) export_line(out, "size", scene->size);
  perp_conserved conserved;
  perp_model_conserved(scene->model, &conserved);
  /* without the key a file is dissipative where its contacts are */
  if (scene->dissipative || !conserved.elastic)
    fprintf(out, "  dissipative: %s\n", scene->dissipative ? "true" : "false");
  if (scene->driven) fputs("  driven: true\n", out);
  if (scene->isolated) fputs("  isolated: true\n", out);
  char buf[16];
  fprintf(out, "  tip: { body: %s", export_body(scene->tip_body, buf));
  export_vector(out, "at", 3, scene->tip);
  fputs(" }\n", out);
}

perp_status perp_scene_export(perp_ctx *ctx, const perp_desc *desc, const perp_scene *scene,
                              const char *name, FILE *out)
{
  if (scene->model == NULL)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "scene %s is a system of differential equations without bodies: it cannot be a scene file",
        desc->name);
  if (perp_model_controlled(scene->model))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "scene %s has a controller that follows a motion: export it without the "
                     "controller (by: none)",
                     desc->name);
  for (int signal = 1; signal <= perp_model_signals(scene->model); signal++)
    if (perp_signal_definition(perp_model_signal(scene->model, signal))->kind ==
            PERP_SIGNAL_FUNCTION &&
        perp_signal_definition(perp_model_signal(scene->model, signal))->text == NULL)
      return PERP_FAIL(
          ctx, PERP_ERR_UNSUPPORTED,
          "scene %s has a signal that is a function of C: a scene file cannot describe it",
          desc->name);
  export_head(desc, scene, name, out);
  PERP_TRY(export_bodies(ctx, scene->model, out));
  PERP_TRY(export_shapes(ctx, scene->model, out));
  export_pairs(scene->model, out);
  perp_scene_export_no_contact(scene->model, out);
  export_joints(scene->model, out);
  export_drives(scene->model, out);
  export_forces(scene->model, out);
  export_motions(scene->model, out);
  perp_scene_export_disabled(scene->model, out);
  return PERP_OK;
}
