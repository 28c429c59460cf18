/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `control`: what drives the joints of a scene along a motion. */
#include "experiments/scenes/control.h"

#include "experiments/import/motion_file.h"
#include "experiments/scenes/claims.h"
#include "experiments/scenes/parts.h"

#include <math.h>
#include <string.h>

enum { CONTROL_MOST = 64 };
static const double CONTROL_PLACE = 1e-6; /* m, rad: of the first pose, off the initial one */

static const char *const control_roots[] = { "free", "prescribed", "controlled", NULL };

struct control {
  double scale, origin[3];
  int start, end;
  double frame_time;
  int root;
  double release;
};
static const perp_key control_own[] = {
  PERP_KEY_SPECIAL("by"),
  PERP_KEY_SPECIAL("file"),
  PERP_KEY_REAL(struct control, scale, "scale", "m"),
  PERP_KEY_REALS(struct control, origin, "origin", "m", 3),
  PERP_KEY_OF(struct control, start, "start", PERP_KEY_WHOLE),
  PERP_KEY_OF(struct control, end, "end", PERP_KEY_WHOLE),
  PERP_KEY_REAL(struct control, frame_time, "frame_time", "s"),
  PERP_KEY_ONE_OF(struct control, root, "root", control_roots),
  PERP_KEY_SPECIAL("loose"),
  PERP_KEY_SPECIAL("besides"),
  PERP_KEY_REAL(struct control, release, "release", "rad"),
};
enum { CONTROL_OWN = sizeof control_own / sizeof *control_own };

/* The keys of the section: its own, and options of any controller. */
static const perp_key *control_keys(perp_scene_reader *reader)
{
  perp_key *keys = perp_pool_alloc(reader->pool, CONTROL_MOST + 1, sizeof *keys);
  int n = CONTROL_OWN;
  memcpy(keys, control_own, sizeof control_own);
  const perp_desc *desc;
  for (int i = 0; (desc = perp_plugin_at(reader->ctx, PERP_KIND_controller, i)) != NULL; i++)
    for (const perp_opt *opt = desc->opts; opt->type != PERP_OPT_END; opt++) {
      bool there = false;
      for (int k = 0; k < n; k++) there = there || strcmp(keys[k].name, opt->key) == 0;
      if (!there && n < CONTROL_MOST) keys[n++] = (perp_key)PERP_KEY_SPECIAL(opt->key);
    }
  keys[n] = (perp_key)PERP_KEYS_END;
  return keys;
}

/* The controller of `by`, NULL: none; false after an error. */
static bool control_by(perp_scene_reader *reader, const perp_node *map, const perp_desc **d)
{
  const char *names[CONTROL_MOST + 2] = { "none" };
  const perp_node *node = perp_tree_get(map, "by");
  int n = 1, which;
  *d = NULL;
  if (node == NULL) {
    perp_diag_error(reader->diag, map, 0, "perp list controllers",
                    "'control' needs the key 'by', the name of a controller");
    return false;
  }
  for (const perp_desc *desc;
       n < CONTROL_MOST &&
       (desc = perp_plugin_at(reader->ctx, PERP_KIND_controller, n - 1)) != NULL;
       n++)
    names[n] = desc->name;
  if (!perp_keys_choice(reader, node, names, &which)) return false;
  if (which > 0) *d = perp_find(reader->ctx, PERP_KIND_controller, names[which]);
  return true;
}

static bool control_loose(perp_scene_reader *reader, const perp_node *node, bool *loose)
{
  if (node == NULL) return true;
  if (node->type != PERP_NODE_LIST) {
    PERP_SCENE_WRONG(reader, node, "loose must be a list of bodies, as [LeftHand, RightHand]");
    return false;
  }
  for (int i = 0; i < node->n; i++) {
    const int body = perp_named_find(reader, &reader->bodies, "body", false, node->item[i]);
    if (body < 0) return false;
    loose[body] = true;
  }
  return true;
}

/* Numbers of controllers that are not chosen are numbers, too. */
static bool control_others(perp_scene_reader *reader, const perp_node *map)
{
  const perp_desc *desc;
  double x;
  for (int i = 0; i < map->n; i++) {
    const perp_opt *opt = NULL;
    for (int k = 0;
         opt == NULL && (desc = perp_plugin_at(reader->ctx, PERP_KIND_controller, k)) != NULL; k++)
      opt = perp_option(desc, map->key[i]->text);
    if (opt != NULL && opt->type == PERP_OPT_REAL &&
        !perp_values_number(&reader->values, map->item[i], opt->unit, &x))
      return false;
  }
  return true;
}

bool perp_scene_control_besides(perp_scene_reader *reader, const char *name)
{
  const perp_node *map = perp_tree_get(reader->root, "control"),
                  *list = map != NULL ? perp_tree_get(map, "besides") : NULL;
  for (int i = 0; list != NULL && list->type == PERP_NODE_LIST && i < list->n; i++)
    if (list->item[i]->type == PERP_NODE_SCALAR && strcmp(list->item[i]->text, name) == 0)
      return true;
  return false;
}

/* They are joints of the scene, behind those that the motion has, which are numbered as in its
 * model. */
static bool control_beside(perp_scene_reader *reader, const perp_node *list)
{
  if (list == NULL) return true;
  if (list->type != PERP_NODE_LIST) {
    PERP_SCENE_WRONG(reader, list, "besides must be a list of joints, as [pull, upright]");
    return false;
  }
  for (int i = 0; i < list->n; i++) {
    const int joint = perp_named_find(reader, &reader->joints, "joint", false, list->item[i]);
    if (joint < 0) return false;
    if (joint >= perp_model_joints(perp_goal_model(reader->goal))) continue;
    PERP_SCENE_WRONG(
        reader, list->item[i],
        "joints of besides come last: write this one behind the joints that the motion "
        "moves");
    return false;
  }
  return true;
}

static bool control_release(perp_scene_reader *reader, const perp_node *map,
                            const struct control *control)
{
  if (control->release >= 0) return true;
  PERP_SCENE_WRONG(reader, perp_tree_get(map, "release"),
                   "release must be an angle above 0, or 0: the controller never lets go");
  return false;
}

/* scale and origin go together, and with a file. */
static bool control_measures(perp_scene_reader *reader, const perp_node *map,
                             const struct control *control)
{
  const perp_node *scale = perp_tree_get(map, "scale"), *origin = perp_tree_get(map, "origin");
  if ((scale != NULL) == (origin != NULL) && (scale == NULL || control->scale > 0) &&
      (scale == NULL || perp_tree_get(map, "file") != NULL))
    return true;
  PERP_SCENE_WRONG(reader, scale != NULL ? scale : origin,
                   "'scale' (above 0) and 'origin' must be set together, with a file; without them "
                   "both are computed from the joints");
  return false;
}

const perp_node *perp_scene_control_of(perp_scene_reader *reader, const perp_desc **desc)
{
  const perp_node *map = perp_tree_get(reader->root, "control");
  struct control control = { 0 };
  *desc = NULL;
  if (map == NULL || !perp_keys_read(reader, map, "control", control_keys(reader), &control) ||
      !control_by(reader, map, desc) || !control_others(reader, map) ||
      !control_measures(reader, map, &control) || !control_release(reader, map, &control))
    return NULL;
  bool *loose = perp_pool_alloc(reader->pool, (size_t)reader->bodies.n + 1, sizeof *loose);
  return control_loose(reader, perp_tree_get(map, "loose"), loose) ? map : NULL;
}

/* ---- the motion ---- */

static void control_playback(void *user, double t, double *q, double *u, double *udot)
{
  perp_playback_joints(user, t, q, u, udot);
}

static void control_forget(void *user)
{
  perp_playback_destroy(user);
}

static bool control_goal(perp_scene_reader *reader, const perp_node *map,
                         const struct control *control, perp_model *bare)
{
  const perp_node *file = perp_tree_get(map, "file");
  if (file == NULL) {
    if (perp_goal_hold(reader->ctx, bare, &reader->goal) == PERP_OK) return true;
    perp_scene_refused(reader, map);
    return false;
  }
  const char *path = perp_scene_path(reader, file);
  const perp_motion_file from = {
    path,           control->scale, { control->origin[0], control->origin[1], control->origin[2] },
    control->start, control->end,   control->frame_time
  };
  perp_playback *playback;
  if (path == NULL ||
      !perp_motion_file_read(reader->ctx, reader->diag, file, bare, &from, &playback))
    return false;
  if (perp_goal_create(reader->ctx, bare, control_playback, playback, control_forget,
                       &reader->goal) == PERP_OK)
    return true;
  perp_playback_destroy(playback);
  perp_scene_refused(reader, map);
  return false;
}

static bool control_joined(const perp_model *model, int body)
{
  for (int joint = 0; joint < perp_model_joints(model); joint++)
    if (perp_model_joint(model, joint)->a == body || perp_model_joint(model, joint)->b == body)
      return true;
  return false;
}

/* Bodies with joints begin with the velocities of the motion, from its first pose. */
static bool control_start(perp_scene_reader *reader, const perp_node *map)
{
  const perp_model *bare = perp_goal_model(reader->goal);
  const int nq = perp_model_nq(bare), nv = perp_model_nv(bare), d = perp_model_dim(bare),
            nvb = d == 3 ? 6 : 3;
  double *q = perp_pool_alloc(reader->pool, (size_t)nq, sizeof *q),
         *v = perp_pool_alloc(reader->pool, 2 * (size_t)nv, sizeof *v), *off = v + nv;
  perp_goal_state(reader->goal, 0, q, v);
  perp_model_difference(bare, perp_model_q0(bare), q, off);
  for (int i = 0; i < nv; i++) {
    if (fabs(off[i]) <= CONTROL_PLACE) continue;
    PERP_SCENE_WRONG(reader, perp_tree_get(map, "file"),
                     "the motion begins in another pose than the scene: body %d '%s' is off by "
                     "%.3g %s; a figure of perp import begins with the first pose of its file",
                     i / nvb, perp_model_body(bare, i / nvb)->name, fabs(off[i]),
                     i % nvb < d ? "m" : "rad");
    return false;
  }
  for (int i = 0; i < nv; i++) {
    perp_body_def *body = &reader->body[i / nvb].def;
    const int k = i % nvb;
    if (!control_joined(bare, i / nvb)) continue;
    if (k < d)
      body->v[k] = v[i];
    else
      body->w[d == 3 ? k - 3 : 2] = v[i];
  }
  return true;
}

bool perp_scene_control_begin(perp_scene_reader *reader, const perp_node *map, perp_model *bare)
{
  struct control control = { 0 };
  if (!perp_keys_read(reader, map, "control", control_keys(reader), &control) ||
      !control_goal(reader, map, &control, bare)) {
    perp_model_destroy(bare);
    return false;
  }
  return perp_tree_get(map, "file") == NULL || control_start(reader, map);
}

/* ---- the controller ---- */

void perp_scene_add_control(perp_scene_reader *reader, perp_model *model)
{
  if (reader->goal == NULL) return;
  const perp_desc *desc;
  const perp_node *map = perp_scene_control_of(reader, &desc);
  struct control control = { .root = PERP_ROOT_PRESCRIBED };
  bool *loose = perp_pool_alloc(reader->pool, (size_t)reader->bodies.n + 1, sizeof *loose);
  if (map == NULL || desc == NULL ||
      !perp_keys_read(reader, map, "control", control_keys(reader), &control) ||
      !control_loose(reader, perp_tree_get(map, "loose"), loose) ||
      !control_beside(reader, perp_tree_get(map, "besides")))
    return;
  void *opts = perp_pool_alloc(reader->pool, 1, desc->opts_size + 1);
  perp_opts_default(desc, opts);
  for (int i = 0; i < map->n; i++) /* keys of other controllers are for them */
    if (!perp_scene_element_option(reader, map->key[i]->text, map->item[i], desc, opts)) return;
  const perp_control_def def = { .controller = (const perp_controller_desc *)(const void *)desc,
                                 .opts = opts,
                                 .root = (perp_control_root)control.root,
                                 .loose = loose,
                                 .release = control.release };
  if (perp_control_add(reader->ctx, model, reader->goal, &def) != PERP_OK)
    perp_scene_refused(reader, map);
}
