/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a scene file and its parameters to a scene: sections in the order in which they need each
 * other. */
#include "experiments/scenes/build.h"

#include "experiments/scenes/claims.h"
#include "experiments/scenes/control.h"
#include "experiments/scenes/parts.h"
#include "models/multibody/conserved.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct head {
  int dim, friction;
  double t_end, h, size;
  bool dissipative, driven, isolated, section;
};
static const perp_key head_keys[] = {
  PERP_KEY_SPECIAL("name"), /* texts as they stand */
  PERP_KEY_SPECIAL("summary"),
  PERP_KEY_SPECIAL("reference"),
  PERP_KEY_SPECIAL("equation"),
  PERP_KEY_OF(struct head, dim, "dim", PERP_KEY_WHOLE),
  PERP_KEY_OF(struct head, section, "section", PERP_KEY_BOOL),
  PERP_KEY_SPECIAL("gravity"), /* with the model */
  PERP_KEY_ONE_OF(struct head, friction, "friction", perp_scene_friction_rules),
  PERP_KEY_REAL(struct head, t_end, "t_end", "s"),
  PERP_KEY_REAL(struct head, h, "h", "s"),
  PERP_KEY_REAL(struct head, size, "size", "m"),
  PERP_KEY_OF(struct head, dissipative, "dissipative", PERP_KEY_BOOL),
  PERP_KEY_OF(struct head, driven, "driven", PERP_KEY_BOOL),
  PERP_KEY_OF(struct head, isolated, "isolated", PERP_KEY_BOOL),
  PERP_KEY_SPECIAL("tip"),
  PERP_KEYS_END
};

struct tip {
  int body;
  double at[3];
};
static const perp_key tip_keys[] = { PERP_KEY_OF(struct tip, body, "body", PERP_KEY_BODY),
                                     PERP_KEY_REALS(struct tip, at, "at", "m", 3), PERP_KEYS_END };

static bool build_values(perp_scene_reader *r, const perp_scene_file *file, const void *opts)
{
  static const char *const truths[] = { "false", "true", NULL };
  for (int i = 0; i < file->n_options; i++) {
    const perp_opt *o = &file->options[i];
    const char *at = (const char *)opts + o->offset;
    const char *const *choices = o->type == PERP_OPT_BOOL ? truths : o->choices;
    perp_value value = { PERP_VALUE_NUMBER, 0, NULL };
    if (o->type == PERP_OPT_REAL) value.number = *(const double *)(const void *)at;
    if (o->type == PERP_OPT_INT) value.number = *(const int *)(const void *)at;
    if (choices != NULL)
      value = (perp_value){
        PERP_VALUE_TEXT, 0,
        choices[o->type == PERP_OPT_BOOL ? *(const bool *)at : *(const int *)(const void *)at]
      };
    if (!perp_values_add(&r->values, file->at[i], o->key, o->unit, value, choices)) return false;
  }
  return true;
}

/* ---- options that do not go together ---- */

struct refusal {
  const char *name; /* of the scene */
  bool refused;
};
static const perp_key refuse_keys[] = { PERP_KEY_SPECIAL("why"), PERP_KEYS_ENTRY, PERP_KEYS_END };

static void build_refuse(perp_scene_reader *r, const perp_node *entry, void *user)
{
  struct refusal *refusal = user;
  const perp_node *why = perp_tree_get(entry, "why");
  if (!perp_keys_read(r, entry, "refuse", refuse_keys, NULL)) return;
  if (why == NULL) {
    PERP_SCENE_WRONG(r, entry, "'why' is missing here");
    return;
  }
  const char *text = perp_values_text(&r->values, why);
  if (text == NULL) return;
  refusal->refused = true;
  perp_diag_error(r->diag, NULL, 0, NULL, "%s: %s", refusal->name, text);
}

/* ---- the whole ---- */

static bool build_head(perp_scene_reader *r, int *friction)
{
  struct head h = { .dim = 3, .t_end = 1 };
  const perp_node *node = perp_tree_get(r->root, "scene");
  if (node != NULL && !perp_keys_read(r, node, "scene", head_keys, &h)) return false;
  if (h.dim != 2 && h.dim != 3) {
    PERP_SCENE_WRONG(r, perp_tree_get(node, "dim"),
                     "dim must be 2 (the plane) or 3 (space): got %d", h.dim);
    return false;
  }
  const struct {
    const char *key;
    double value;
    bool zero;
  } checks[] = { { "t_end", h.t_end, false }, { "h", h.h, true }, { "size", h.size, true } };
  for (int i = 0; i < 3; i++)
    if (!(checks[i].value > 0 || (checks[i].zero && checks[i].value == 0)) ||
        isinf(checks[i].value)) {
      PERP_SCENE_WRONG(r, perp_tree_get(node, checks[i].key), "%s must be positive: got %g",
                       checks[i].key, checks[i].value);
      return false;
    }
  if (h.h > h.t_end) {
    PERP_SCENE_WRONG(r, perp_tree_get(node, "h"),
                     "the step h = %g s is longer than the run, which ends at t_end = %g s", h.h,
                     h.t_end);
    return false;
  }
  perp_scene *s = r->scene;
  r->dim = h.dim;
  r->section = h.section && h.dim == 2;
  s->t_end = h.t_end;
  s->h = h.h;
  s->size = h.size;
  s->dissipative = h.dissipative;
  s->driven = h.driven;
  s->isolated = h.isolated;
  *friction = h.friction;
  return true;
}

/* The part that a message about a finished model begins with ("joint 3 'x': ..."): where it stands.
 */
static const perp_node *build_culprit(const perp_scene_reader *r)
{
  int i;
  if (sscanf(r->ctx->msg, "joint %d", &i) == 1 && i >= 0 && i < r->joints.n) return r->joints.at[i];
  if (sscanf(r->ctx->msg, "motion %d", &i) == 1 && i >= 0 && i < r->n_motions)
    return r->motion_at[i];
  if (sscanf(r->ctx->msg, "disabled body %d", &i) == 1 && i >= 0 && i < r->n_disabled)
    return r->disabled_at[i];
  if (sscanf(r->ctx->msg, "shape %d", &i) == 1 && i >= 0 && i < r->n_shapes) return r->shape_at[i];
  return r->root;
}

static void build_tip(perp_scene_reader *r)
{
  const perp_node *scene = perp_tree_get(r->root, "scene");
  const perp_node *node = scene != NULL ? perp_tree_get(scene, "tip") : NULL;
  struct tip t = { .body = r->bodies.n - 1 };
  if (node != NULL && node->type == PERP_NODE_SCALAR)
    t.body = perp_named_find(r, &r->bodies, "body", true, node);
  else if (node != NULL && !perp_keys_read(r, node, "tip", tip_keys, &t))
    return;
  r->scene->tip_body = t.body < PERP_WORLD ? PERP_WORLD : t.body;
  memcpy(r->scene->tip, t.at, sizeof t.at);
}

static bool build_gravity(perp_scene_reader *r)
{
  const perp_node *scene = perp_tree_get(r->root, "scene");
  const perp_node *node = scene != NULL ? perp_tree_get(scene, "gravity") : NULL;
  perp_signal_ref signal = 0;
  r->scene->gravity = 9.81;
  if (node != NULL && !r->signals(r, node, "m/s^2", 1, 0, &r->scene->gravity, &signal))
    return false;
  perp_model_gravity(r->scene->model, r->scene->gravity);
  return perp_model_gravity_signal(r->ctx, r->scene->model, signal) == PERP_OK;
}

/* Forces of plug-ins whose energy nobody knows may do work, unless the file says that they take it;
 * others than internal ones change the momentum. */
static bool build_forces(perp_scene_reader *r)
{
  perp_scene *s = r->scene;
  for (int i = 0; i < perp_model_force_elements(s->model); i++) {
    const perp_force_def *def = perp_model_force_element(s->model, i);
    const unsigned caps = perp_force_promises(def);
    if (def->kind != PERP_FORCE_PLUGIN) continue;
    if (!(caps & PERP_FORCE_CONSERVATIVE) && !s->dissipative) s->driven = true;
    if (!s->isolated || caps & PERP_FORCE_INTERNAL) continue;
    PERP_SCENE_WRONG(r, perp_tree_get(perp_tree_get(r->root, "scene"), "isolated"),
                     "the scene cannot be isolated: force '%s' is not declared as internal",
                     perp_force_name(def));
    return false;
  }
  return true;
}

/* What depends on time is driven from outside. */
static bool build_driven(perp_scene_reader *r)
{
  if (!perp_model_depends_on_time(r->scene->model)) return true;
  r->scene->driven = true;
  if (!r->scene->isolated) return true;
  PERP_SCENE_WRONG(r, perp_tree_get(perp_tree_get(r->root, "scene"), "isolated"),
                   "the scene cannot be isolated: a part of it depends on time");
  return false;
}

/* A file that does not say whether it is dissipative is where contacts have friction or lose speed.
 */
static void build_dissipative(perp_scene_reader *r)
{
  const perp_node *scene = perp_tree_get(r->root, "scene");
  perp_conserved conserved;
  if (scene != NULL && perp_tree_get(scene, "dissipative") != NULL) return;
  perp_model_conserved(r->scene->model, &conserved);
  r->scene->dissipative = !conserved.elastic;
}

static void build_forget(void *goal)
{
  perp_goal_destroy(goal);
}

static bool build_sections(perp_scene_reader *r, const perp_scene_file *file, const void *opts,
                           struct refusal *refusal);

/* What a controller follows: a motion of the same scene without it, which is built first. */
static bool build_goal(perp_scene_reader *r, const perp_scene_file *file, const void *opts,
                       struct refusal *refusal)
{
  const perp_desc *d;
  const int errors = r->diag->errors;
  const perp_node *map = perp_scene_control_of(r, &d);
  if (r->diag->errors > errors) return false;
  if (map == NULL || d == NULL) return true;
  perp_scene scene = { .tip_body = PERP_WORLD };
  perp_scene_reader bare = { .ctx = r->ctx,
                             .diag = r->diag,
                             .pool = r->pool,
                             .root = r->root,
                             .scene = &scene,
                             .materials = r->materials,
                             .folder = r->folder,
                             .signals = r->signals,
                             .bare = true };
  perp_values_init(&bare.values, r->ctx, r->diag, r->pool);
  if (!build_sections(&bare, file, opts, refusal)) {
    perp_scene_destroy(&scene);
    return false;
  }
  perp_model *model = scene.model;
  scene.model = NULL;
  perp_scene_destroy(&scene);
  const bool good = perp_scene_control_begin(r, map, model);
  if (r->goal == NULL) return false;
  if (perp_model_keep(r->ctx, r->scene->model, r->goal, build_forget) == PERP_OK) return good;
  perp_goal_destroy(r->goal);
  perp_scene_refused(r, map);
  return false;
}

static bool build_sections(perp_scene_reader *r, const perp_scene_file *file, const void *opts,
                           struct refusal *refusal)
{
  perp_scene *s = r->scene;
  const int errors = r->diag->errors;
  int friction;
  if (!build_values(r, file, opts)) return false;
  perp_entries(r, perp_tree_get(r->root, "refuse"), "refuse", build_refuse, refusal);
  const perp_node *let = perp_tree_get(r->root, "let");
  if (r->diag->errors > errors || (let != NULL && !perp_scene_let(r, let)) ||
      !build_head(r, &friction))
    return false;
  if (perp_model_create(r->ctx, r->dim, &s->model) != PERP_OK ||
      perp_model_friction(r->ctx, s->model, (perp_friction_rule)friction) != PERP_OK) {
    perp_scene_refused(r, r->root);
    return false;
  }
  if (!build_gravity(r)) return false;
  perp_scene_read_bodies(r);
  if (r->diag->errors > errors) return false;
  perp_scene_read_motions(r);
  if (r->diag->errors > errors) return false;
  perp_scene_read_pose(r);
  if (r->diag->errors > errors) return false;
  if (!r->bare && !build_goal(r, file, opts, refusal)) return false;
  static void (*const sections[])(perp_scene_reader *, perp_model *) = {
    perp_scene_add_bodies,  perp_scene_add_shapes,   perp_scene_add_pairs,
    perp_scene_add_joints,  perp_scene_add_drives,   perp_scene_add_forces,
    perp_scene_add_motions, perp_scene_add_disabled, perp_scene_add_control
  };
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
    sections[i](r, s->model);
    if (r->diag->errors > errors) return false;
  }
  if (perp_model_finish(r->ctx, s->model) != PERP_OK) {
    perp_scene_refused(r, build_culprit(r));
    return false;
  }
  if (r->bare) return true;
  if (!build_forces(r) || !build_driven(r)) return false;
  build_dissipative(r);
  build_tip(r);
  perp_scene_add_gauges(r);
  perp_scene_add_truths(r);
  return r->diag->errors == errors;
}

perp_status perp_scene_file_build(perp_ctx *ctx, perp_diag *diag, const perp_scene_file *file,
                                  const void *opts, perp_scene *scene)
{
  perp_pool pool = { 0 };
  struct refusal refusal = { file->name, false };
  *scene = (perp_scene){ .tip_body = PERP_WORLD };
  perp_scene_reader r = { .ctx = ctx,
                          .diag = diag,
                          .pool = &pool,
                          .root = file->root,
                          .scene = scene,
                          .materials = perp_tree_get(file->root, "materials"),
                          .folder = file->folder,
                          .signals = perp_scene_read_signals };
  perp_values_init(&r.values, ctx, diag, &pool);
  const bool good = build_sections(&r, file, opts, &refusal);
  if (!good) perp_scene_destroy(scene);
  perp_pool_free(&pool);
  return good ? PERP_OK : refusal.refused ? PERP_ERR_OPTION : PERP_ERR_FORMAT;
}
