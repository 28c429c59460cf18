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

static bool build_values(perp_scene_reader *reader, const perp_scene_file *file, const void *opts)
{
  static const char *const truths[] = { "false", "true", NULL };
  for (int option = 0; option < file->n_options; option++) {
    const perp_opt *opt = &file->options[option];
    const char *at = (const char *)opts + opt->offset;
    const char *const *choices = opt->type == PERP_OPT_BOOL ? truths : opt->choices;
    perp_value value = { PERP_VALUE_NUMBER, 0, NULL };
    if (opt->type == PERP_OPT_REAL) value.number = *(const double *)(const void *)at;
    if (opt->type == PERP_OPT_INT) value.number = *(const int *)(const void *)at;
    if (choices != NULL)
      value = (perp_value){
        PERP_VALUE_TEXT, 0,
        choices[opt->type == PERP_OPT_BOOL ? *(const bool *)at : *(const int *)(const void *)at]
      };
    if (!perp_values_add(&reader->values, file->at[option], opt->key, opt->unit, value, choices))
      return false;
  }
  return true;
}

/* ---- options that do not go together ---- */

struct refusal {
  const char *name; /* of the scene */
  bool refused;
};
static const perp_key refuse_keys[] = { PERP_KEY_SPECIAL("why"), PERP_KEYS_ENTRY, PERP_KEYS_END };

static void build_refuse(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  struct refusal *refusal = user;
  const perp_node *why = perp_tree_get(entry, "why");
  if (!perp_keys_read(reader, entry, "refuse", refuse_keys, NULL)) return;
  if (why == NULL) {
    PERP_SCENE_WRONG(reader, entry, "'why' is missing here");
    return;
  }
  const char *text = perp_values_text(&reader->values, why);
  if (text == NULL) return;
  refusal->refused = true;
  perp_diag_error(reader->diag, NULL, 0, NULL, "%s: %s", refusal->name, text);
}

/* ---- the whole ---- */

static bool build_head(perp_scene_reader *reader, int *friction)
{
  struct head head = { .dim = 3, .t_end = 1 };
  const perp_node *node = perp_tree_get(reader->root, "scene");
  if (node != NULL && !perp_keys_read(reader, node, "scene", head_keys, &head)) return false;
  if (head.dim != 2 && head.dim != 3) {
    PERP_SCENE_WRONG(reader, perp_tree_get(node, "dim"),
                     "dim must be 2 (the plane) or 3 (space): got %d", head.dim);
    return false;
  }
  const struct {
    const char *key;
    double value;
  } checks[] = { { "t_end", head.t_end }, { "h", head.h }, { "size", head.size } };
  for (int check = 0; check < 3; check++)
    if (perp_tree_get(node, checks[check].key) != NULL &&
        (!(checks[check].value > 0) || isinf(checks[check].value))) {
      PERP_SCENE_WRONG(reader, perp_tree_get(node, checks[check].key),
                       "%s must be positive: got %g", checks[check].key, checks[check].value);
      return false;
    }
  if (head.h > head.t_end) {
    PERP_SCENE_WRONG(reader, perp_tree_get(node, "h"),
                     "the step h = %g s is longer than the run, which ends at t_end = %g s", head.h,
                     head.t_end);
    return false;
  }
  if (head.h > 0 && head.t_end / head.h > 1e12) {
    PERP_SCENE_WRONG(reader, perp_tree_get(node, "h"),
                     "steps of h = %g s to the end t_end = %g s are more than 1e12", head.h,
                     head.t_end);
    return false;
  }
  perp_scene *scene = reader->scene;
  reader->dim = head.dim;
  reader->section = head.section && head.dim == 2;
  scene->t_end = head.t_end;
  scene->h = head.h;
  scene->size = head.size;
  scene->dissipative = head.dissipative;
  scene->driven = head.driven;
  scene->isolated = head.isolated;
  *friction = head.friction;
  return true;
}

/* The part that a message about a finished model begins with ("joint 3 'x': ..."): where it stands.
 */
static const perp_node *build_culprit(const perp_scene_reader *reader)
{
  int i;
  if (sscanf(reader->ctx->msg, "joint %d", &i) == 1 && i >= 0 && i < reader->joints.n)
    return reader->joints.at[i];
  if (sscanf(reader->ctx->msg, "motion %d", &i) == 1 && i >= 0 && i < reader->n_motions)
    return reader->motion_at[i];
  if (sscanf(reader->ctx->msg, "disabled body %d", &i) == 1 && i >= 0 && i < reader->n_disabled)
    return reader->disabled_at[i];
  if (sscanf(reader->ctx->msg, "shape %d", &i) == 1 && i >= 0 && i < reader->n_shapes)
    return reader->shape_at[i];
  return reader->root;
}

static void build_tip(perp_scene_reader *reader)
{
  const perp_node *scene = perp_tree_get(reader->root, "scene");
  const perp_node *node = scene != NULL ? perp_tree_get(scene, "tip") : NULL;
  struct tip tip = { .body = reader->bodies.n - 1 };
  if (node != NULL && node->type == PERP_NODE_SCALAR)
    tip.body = perp_named_find(reader, &reader->bodies, "body", true, node);
  else if (node != NULL && !perp_keys_read(reader, node, "tip", tip_keys, &tip))
    return;
  reader->scene->tip_body = tip.body < PERP_WORLD ? PERP_WORLD : tip.body;
  memcpy(reader->scene->tip, tip.at, sizeof tip.at);
}

static bool build_gravity(perp_scene_reader *reader)
{
  const perp_node *scene = perp_tree_get(reader->root, "scene");
  const perp_node *node = scene != NULL ? perp_tree_get(scene, "gravity") : NULL;
  perp_signal_ref signal = 0;
  reader->scene->gravity = 9.81;
  if (node != NULL &&
      !reader->signals(reader, node, "m/s^2", 1, 0, &reader->scene->gravity, &signal))
    return false;
  perp_model_gravity(reader->scene->model, reader->scene->gravity);
  return perp_model_gravity_signal(reader->ctx, reader->scene->model, signal) == PERP_OK;
}

/* Forces of plug-ins whose energy nobody knows may do work, unless the file says that they take it;
 * others than internal ones change the momentum. */
static bool build_forces(perp_scene_reader *reader)
{
  perp_scene *scene = reader->scene;
  for (int element = 0; element < perp_model_force_elements(scene->model); element++) {
    const perp_force_def *def = perp_model_force_element(scene->model, element);
    const unsigned caps = perp_force_promises(def);
    if (def->kind != PERP_FORCE_PLUGIN) continue;
    if (!(caps & PERP_FORCE_CONSERVATIVE) && !scene->dissipative) scene->driven = true;
    if (!scene->isolated || caps & PERP_FORCE_INTERNAL) continue;
    PERP_SCENE_WRONG(reader, perp_tree_get(perp_tree_get(reader->root, "scene"), "isolated"),
                     "the scene cannot be isolated: force '%s' is not declared as internal",
                     perp_force_name(def));
    return false;
  }
  return true;
}

/* What depends on time is driven from outside. */
static bool build_driven(perp_scene_reader *reader)
{
  if (!perp_model_depends_on_time(reader->scene->model)) return true;
  reader->scene->driven = true;
  if (!reader->scene->isolated) return true;
  PERP_SCENE_WRONG(reader, perp_tree_get(perp_tree_get(reader->root, "scene"), "isolated"),
                   "the scene cannot be isolated: a part of it depends on time");
  return false;
}

/* A file that does not say whether it is dissipative is where contacts have friction or lose speed.
 */
static void build_dissipative(perp_scene_reader *reader)
{
  const perp_node *scene = perp_tree_get(reader->root, "scene");
  perp_conserved conserved;
  if (scene != NULL && perp_tree_get(scene, "dissipative") != NULL) return;
  perp_model_conserved(reader->scene->model, &conserved);
  reader->scene->dissipative = !conserved.elastic;
}

static void build_forget(void *goal)
{
  perp_goal_destroy(goal);
}

static bool build_sections(perp_scene_reader *reader, const perp_scene_file *file, const void *opts,
                           struct refusal *refusal);

/* What a controller follows: a motion of the same scene without it, which is built first. */
static bool build_goal(perp_scene_reader *reader, const perp_scene_file *file, const void *opts,
                       struct refusal *refusal)
{
  const perp_desc *desc;
  const int errors = reader->diag->errors;
  const perp_node *map = perp_scene_control_of(reader, &desc);
  if (reader->diag->errors > errors) return false;
  if (map == NULL || desc == NULL) return true;
  perp_scene scene = { .tip_body = PERP_WORLD };
  perp_scene_reader bare = { .ctx = reader->ctx,
                             .diag = reader->diag,
                             .pool = reader->pool,
                             .root = reader->root,
                             .scene = &scene,
                             .materials = reader->materials,
                             .folder = reader->folder,
                             .signals = reader->signals,
                             .bare = true };
  perp_values_init(&bare.values, reader->ctx, reader->diag, reader->pool);
  if (!build_sections(&bare, file, opts, refusal)) {
    perp_scene_destroy(&scene);
    return false;
  }
  perp_model *model = scene.model;
  scene.model = NULL;
  perp_scene_destroy(&scene);
  const bool good = perp_scene_control_begin(reader, map, model);
  if (reader->goal == NULL) return false;
  if (perp_model_keep(reader->ctx, reader->scene->model, reader->goal, build_forget) == PERP_OK)
    return good;
  perp_goal_destroy(reader->goal);
  perp_scene_refused(reader, map);
  return false;
}

static bool build_sections(perp_scene_reader *reader, const perp_scene_file *file, const void *opts,
                           struct refusal *refusal)
{
  perp_scene *scene = reader->scene;
  const int errors = reader->diag->errors;
  int friction;
  if (!build_values(reader, file, opts)) return false;
  perp_entries(reader, perp_tree_get(reader->root, "refuse"), "refuse", build_refuse, refusal);
  const perp_node *let = perp_tree_get(reader->root, "let");
  if (reader->diag->errors > errors || (let != NULL && !perp_scene_let(reader, let)) ||
      !build_head(reader, &friction))
    return false;
  if (perp_model_create(reader->ctx, reader->dim, &scene->model) != PERP_OK ||
      perp_model_friction(reader->ctx, scene->model, (perp_friction_rule)friction) != PERP_OK) {
    perp_scene_refused(reader, reader->root);
    return false;
  }
  if (!build_gravity(reader)) return false;
  perp_scene_read_bodies(reader);
  if (reader->diag->errors > errors) return false;
  perp_scene_read_motions(reader);
  if (reader->diag->errors > errors) return false;
  perp_scene_read_pose(reader);
  if (reader->diag->errors > errors) return false;
  if (!reader->bare && !build_goal(reader, file, opts, refusal)) return false;
  static void (*const sections[])(perp_scene_reader *, perp_model *) = {
    perp_scene_add_bodies,     perp_scene_add_shapes,  perp_scene_add_pairs,
    perp_scene_add_no_contact, perp_scene_add_joints,  perp_scene_add_drives,
    perp_scene_add_forces,     perp_scene_add_motions, perp_scene_add_disabled,
    perp_scene_add_control
  };
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
    sections[i](reader, scene->model);
    if (reader->diag->errors > errors) return false;
  }
  if (perp_model_finish(reader->ctx, scene->model) != PERP_OK) {
    perp_scene_refused(reader, build_culprit(reader));
    return false;
  }
  if (reader->bare) return true;
  if (!perp_scene_filter(reader)) return false;
  if (!build_forces(reader) || !build_driven(reader)) return false;
  build_dissipative(reader);
  build_tip(reader);
  perp_scene_add_gauges(reader);
  perp_scene_add_truths(reader);
  return reader->diag->errors == errors;
}

perp_status perp_scene_file_build(perp_ctx *ctx, perp_diag *diag, const perp_scene_file *file,
                                  const void *opts, perp_scene *scene)
{
  perp_pool pool = { 0 };
  struct refusal refusal = { file->name, false };
  *scene = (perp_scene){ .tip_body = PERP_WORLD };
  if (file->variant != NULL && (file = file->variant(ctx, diag, file, opts)) == NULL)
    return PERP_ERR_FORMAT;
  perp_scene_reader reader = { .ctx = ctx,
                               .diag = diag,
                               .pool = &pool,
                               .root = file->root,
                               .scene = scene,
                               .materials = perp_tree_get(file->root, "materials"),
                               .folder = file->folder,
                               .signals = perp_scene_read_signals };
  perp_values_init(&reader.values, ctx, diag, &pool);
  const bool good = build_sections(&reader, file, opts, &refusal);
  if (!good) perp_scene_destroy(scene);
  perp_pool_free(&pool);
  return good ? PERP_OK : refusal.refused ? PERP_ERR_OPTION : PERP_ERR_FORMAT;
}
