/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Truths in closed form: coordinates of bodies as expressions over the time t. */
#include "experiments/scenes/motion.h"

#include "models/scenes/gauges.h"
#include "models/scenes/truths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A body with its expressions, and the values that names had when its entry was read. */
struct mover {
  int body, t; /* t: which value is the time */
  perp_value *value;
  int n_later; /* values that depend on t: those behind it, in order */
  perp_expr **later;
  perp_expr *of[13]; /* by coordinate; NULL: as in the initial state */
  bool minus[13];
  perp_expr *turn; /* NULL: none; about: */
  double axis[3];
  bool unknown;  /* its orientation, which is not compared */
  bool moves[2]; /* its place, its orientation */
};
struct motion {
  perp_pool pool;
  struct motion *next; /* paths that live as long as the scene */
  int dim, bodies, n;
  struct mover *mover;
  perp_ctx ctx; /* of the scopes */
  double *q0, *v0;
};

static void motion_value(void *user, int row, int column, perp_value *value)
{
  const struct mover *mover = user;
  (void)row;
  *value = mover->value[column];
}

/* Where coordinate k of a body is in q or v. */
static double *motion_place(const struct motion *motion, int body, int k, double *q, double *v)
{
  const int nqb = motion->dim == 3 ? 7 : 3, nvb = motion->dim == 3 ? 6 : 3;
  return k < nqb ? q + body * nqb + k : v + body * nvb + k - nqb;
}

/* The value of an expression now; false after an error. */
static bool motion_number(const struct motion *motion, struct mover *one, const perp_expr *expr,
                          perp_ctx *ctx, double *x)
{
  const perp_scope scope = {
    .ctx = &motion->ctx, .arithmetic = true, .rows = 1, .value = motion_value, .user = one
  };
  const perp_value value = perp_expr_eval(expr, &scope, 0);
  *x = value.number;
  if (value.type == PERP_VALUE_NUMBER && isfinite(value.number)) return true;
  PERP_FAIL(ctx, PERP_ERR_ARG, "the closed form has no finite value at t = %g s",
            one->value[one->t].number);
  return false;
}

/* Now is t. */
static bool motion_at(const struct motion *motion, struct mover *one, double t, perp_ctx *ctx)
{
  one->value[one->t].number = t;
  for (int i = 0; i < one->n_later; i++)
    if (!motion_number(motion, one, one->later[i], ctx, &one->value[one->t + 1 + i].number))
      return false;
  return true;
}

/* The orientation after a turn; of a section its angle. */
static void motion_turned(const struct motion *motion, const struct mover *mover, double angle,
                          double *q)
{
  double *to = motion_place(motion, mover->body, motion->dim == 3 ? 3 : 2, q, NULL);
  if (motion->dim == 2) {
    *to = -angle * mover->axis[1];
    return;
  }
  to[0] = cos(angle / 2);
  for (int i = 0; i < 3; i++) to[1 + i] = sin(angle / 2) * mover->axis[i];
}

/* What is not known, NaN: rates of what moves and of which places alone are given, and an
 * orientation that is left out. */
static void motion_unknown(const struct motion *motion, const struct mover *one, double *q,
                           double *v)
{
  const int d = motion->dim, nqb = d == 3 ? 7 : 3, n = perp_coordinates(d);
  for (int k = 0; k < n; k++) {
    const bool turns = k < nqb ? k >= d : k >= nqb + d;
    const bool lost = turns && one->unknown;
    if (lost || (k >= nqb && one->of[k] == NULL && one->moves[turns]))
      *motion_place(motion, one->body, k, q, v) = (double)NAN;
  }
}

static perp_status motion_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  struct motion *motion = user;
  const int nqb = motion->dim == 3 ? 7 : 3, nvb = motion->dim == 3 ? 6 : 3;
  memcpy(q, motion->q0, (size_t)(motion->bodies * nqb) * sizeof *q);
  memcpy(v, motion->v0, (size_t)(motion->bodies * nvb) * sizeof *v);
  for (int mover = 0; mover < motion->n; mover++) {
    struct mover *one = &motion->mover[mover];
    double x;
    if (!motion_at(motion, one, t, ctx)) return PERP_ERR_ARG;
    for (int k = 0; k < perp_coordinates(motion->dim); k++) {
      if (one->of[k] == NULL) continue;
      if (!motion_number(motion, one, one->of[k], ctx, &x)) return PERP_ERR_ARG;
      *motion_place(motion, one->body, k, q, v) = one->minus[k] ? -x : x;
    }
    if (one->turn != NULL) {
      if (!motion_number(motion, one, one->turn, ctx, &x)) return PERP_ERR_ARG;
      motion_turned(motion, one, x, q);
    }
    motion_unknown(motion, one, q, v);
  }
  return PERP_OK;
}

static double motion_next(void *user, double t)
{
  (void)user;
  return t;
}

static void motion_destroy(void *user)
{
  struct motion *motion = user;
  perp_pool pool = motion->pool;
  perp_pool_free(&pool);
}

/* ---- reading ---- */

static const perp_key motion_keys[] = { PERP_KEY_SPECIAL("body"),
                                        PERP_KEY_SPECIAL("x"),
                                        PERP_KEY_SPECIAL("quat"),
                                        PERP_KEY_SPECIAL("angle"),
                                        PERP_KEY_SPECIAL("v"),
                                        PERP_KEY_SPECIAL("w"),
                                        PERP_KEY_SPECIAL("omega"),
                                        PERP_KEY_SPECIAL("turn"),
                                        PERP_KEY_SPECIAL("let_t"),
                                        PERP_KEYS_ENTRY,
                                        PERP_KEYS_END };
static const perp_key path_keys[] = { PERP_KEY_SPECIAL("kind"), PERP_KEY_SPECIAL("body"),
                                      PERP_KEY_SPECIAL("x"),    PERP_KEY_SPECIAL("let_t"),
                                      PERP_KEYS_ENTRY,          PERP_KEYS_END };
static const perp_key motion_turn_keys[] = { PERP_KEY_SPECIAL("axis"), PERP_KEY_SPECIAL("angle"),
                                             PERP_KEYS_END };
/* Which coordinates a key means, in space and in the plane. */
static const struct group {
  const char *key;
  int space, n_space, plane, n_plane;
} groups[] = { { "x", 0, 3, 0, 2 }, { "quat", 3, 4, 0, 0 }, { "angle", 0, 0, 2, 1 },
               { "v", 7, 3, 3, 2 }, { "w", 10, 3, 0, 0 },   { "omega", 0, 0, 5, 1 } };

static bool motion_expression(perp_scene_reader *reader, perp_values *values, const perp_node *node,
                              int k, struct mover *mover)
{
  mover->of[k] = perp_values_expression(values, node, perp_coordinate_unit(reader->dim, k));
  return mover->of[k] != NULL;
}

/* { axis: numbers, angle: an expression }, none or unknown */
static bool motion_turn(perp_scene_reader *reader, perp_values *values, const perp_node *node,
                        struct mover *mover)
{
  if (node->type == PERP_NODE_SCALAR) {
    mover->unknown = strcmp(node->text, "unknown") == 0;
    if (mover->unknown || strcmp(node->text, "none") == 0) return true;
    PERP_SCENE_WRONG(reader, node, "a turn must be { axis, angle }, none or unknown");
    return false;
  }
  if (reader->dim == 2 && !reader->section) {
    PERP_SCENE_WRONG(reader, node, "turn is not allowed with dim: 2");
    return false;
  }
  if (!perp_keys_read(reader, node, "turn", motion_turn_keys, NULL)) return false;
  const perp_node *axis = perp_tree_get(node, "axis"), *angle = perp_tree_get(node, "angle");
  if (axis == NULL || angle == NULL) {
    PERP_SCENE_WRONG(reader, node, "a turn must be { axis, angle }, none or unknown");
    return false;
  }
  if (!perp_keys_vector(reader, axis, "", 3, 0, mover->axis)) return false;
  const double *a = mover->axis, length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
  if (!(length > 0) || (reader->section && (a[0] != 0 || a[2] != 0))) {
    PERP_SCENE_WRONG(reader, axis,
                     reader->section ? "a section (dim: 2) rotates about y only"
                                     : "'turn' needs an 'axis' that is not zero");
    return false;
  }
  for (int i = 0; i < 3; i++) mover->axis[i] /= length;
  mover->turn = perp_values_expression(values, angle, "rad");
  return mover->turn != NULL;
}

static bool motion_group(perp_scene_reader *reader, perp_values *values, const perp_node *node,
                         const struct group *group, struct mover *mover)
{
  const int first = reader->dim == 3 ? group->space : group->plane,
            n = reader->dim == 3 ? group->n_space : group->n_plane;
  if (reader->section && group->n_space == 3) {
    /* Of a section: (x, z) of a place or a velocity, minus the rate about y. */
    if (node->type != PERP_NODE_LIST || node->n != 3) {
      PERP_SCENE_WRONG(reader, node, "a list of 3 expressions is required here");
      return false;
    }
    if (group->n_plane > 0)
      return motion_expression(reader, values, node->item[0], group->plane, mover) &&
             motion_expression(reader, values, node->item[2], group->plane + 1, mover);
    mover->minus[5] = true;
    return motion_expression(reader, values, node->item[1], 5, mover);
  }
  if (n == 0) {
    PERP_SCENE_WRONG(reader, node, "%s is not allowed with dim: %d", group->key, reader->dim);
    return false;
  }
  if (n > 1 && (node->type != PERP_NODE_LIST || node->n != n)) {
    PERP_SCENE_WRONG(reader, node, "a list of %d expressions is required here", n);
    return false;
  }
  for (int i = 0; i < n; i++)
    if (!motion_expression(reader, values, n > 1 ? node->item[i] : node, first + i, mover))
      return false;
  return true;
}

/* Values that depend on t: each may use those before it. */
static bool motion_later(perp_scene_reader *reader, perp_values *values, const perp_node *let,
                         struct mover *mover)
{
  if (let == NULL) return true;
  if (let->type != PERP_NODE_MAP) {
    PERP_SCENE_WRONG(reader, let, "let_t must be a map of name: value");
    return false;
  }
  mover->later = perp_pool_alloc(values->pool, (size_t)let->n + 1, sizeof *mover->later);
  for (int i = 0; i < let->n; i++) {
    mover->later[i] = perp_values_expression(values, let->item[i], NULL);
    if (mover->later[i] == NULL ||
        !perp_values_add(values, let->key[i], let->key[i]->text,
                         perp_values_unit(values, let->item[i]),
                         (perp_value){ PERP_VALUE_NUMBER, 0, NULL }, NULL))
      return false;
    mover->n_later++;
  }
  return true;
}

/* Does an expression change between the start and the end of the scene? */
static bool motion_changes(const perp_scene_reader *reader, const struct motion *motion,
                           struct mover *one, const perp_expr *expr)
{
  enum { LOOKS = 16 };
  perp_ctx quiet = motion->ctx;
  double first = 0, x;
  for (int i = 0; expr != NULL && i <= LOOKS; i++) {
    if (!motion_at(motion, one, reader->scene->t_end * i / LOOKS, &quiet) ||
        !motion_number(motion, one, expr, &quiet, &x))
      continue;
    if (i > 0 && x != first) return true;
    first = x;
  }
  return false;
}

/* A body that can roll: one of its shapes is round and has friction. */
static bool motion_rolls(const perp_model *model, int body)
{
  for (int shape = 0; shape < perp_model_shapes(model); shape++) {
    const perp_shape_def *def = perp_model_shape(model, shape);
    const bool flat = def->kind == PERP_SHAPE_BOX || def->kind == PERP_SHAPE_POLYTOPE;
    if (def->body == body && !flat && def->surface.mu > 0) return true;
  }
  return false;
}

/* What moves, and whether the rotation of what may roll is given. */
static bool motion_complete(perp_scene_reader *reader, const perp_node *entry,
                            const struct motion *motion, struct mover *one)
{
  const int d = motion->dim, nqb = d == 3 ? 7 : 3;
  for (int k = 0; k < nqb; k++)
    one->moves[k >= d] = one->moves[k >= d] || motion_changes(reader, motion, one, one->of[k]);
  one->moves[1] = one->moves[1] || motion_changes(reader, motion, one, one->turn);
  const bool told = one->of[d] != NULL || perp_tree_get(entry, "turn") != NULL;
  if (told || !one->moves[0] || !motion_rolls(reader->scene->model, one->body)) return true;
  PERP_SCENE_WRONG(reader, entry,
                   "the motion of a round body with friction leaves out its rotation: add turn "
                   "(turn: none if it does not turn, turn: unknown if that is not to be compared)");
  return false;
}

/* The values of the scene with t and `let_t` of entry, for expressions that outlive the scene that
 * is being built; *good: let_t could be read.  Names from reader->values.n on are the caller's to
 * drop.  False: t is no name that may be added. */
static bool motion_values(perp_scene_reader *reader, const perp_node *entry, struct motion *motion,
                          struct mover *one, perp_values *values, bool *good)
{
  one->t = reader->values.n;
  if (!perp_values_add(&reader->values, entry, "t", "s", (perp_value){ PERP_VALUE_NUMBER, 0, NULL },
                       NULL))
    return false;
  *values = reader->values;
  values->pool = &motion->pool;
  values->kept = NULL;
  values->n_kept = values->n_slots = 0;
  *good = motion_later(reader, values, perp_tree_get(entry, "let_t"), one);
  one->value = perp_pool_alloc(&motion->pool, (size_t)values->n, sizeof *one->value);
  memcpy(one->value, values->value, (size_t)values->n * sizeof *one->value);
  return true;
}

static void motion_read(perp_scene_reader *reader, const perp_node *entry, const char *what,
                        const perp_key *keys, struct motion *motion)
{
  const perp_node *who = perp_tree_get(entry, "body");
  struct mover one = { 0 };
  if (!perp_keys_read(reader, entry, what, keys, NULL)) return;
  if (who == NULL) {
    PERP_SCENE_WRONG(reader, entry, "'body' is missing here");
    return;
  }
  one.body = perp_named_find(reader, &reader->bodies, "body", false, who);
  if (one.body < 0) return;
  const int known = reader->values.n;
  perp_values values;
  bool good;
  if (!motion_values(reader, entry, motion, &one, &values, &good)) return;
  for (size_t i = 0; i < sizeof groups / sizeof *groups && good; i++) {
    const perp_node *node = perp_tree_get(entry, groups[i].key);
    if (node != NULL) good = motion_group(reader, &values, node, &groups[i], &one);
  }
  const perp_node *turn = perp_tree_get(entry, "turn");
  if (good && turn != NULL) good = motion_turn(reader, &values, turn, &one);
  if (good && keys == motion_keys) good = motion_complete(reader, entry, motion, &one);
  if (good && turn != NULL && one.of[reader->dim == 3 ? 3 : 2] != NULL) {
    PERP_SCENE_WRONG(reader, turn, "turn and %s define the same quantity: remove one",
                     reader->dim == 3 ? "quat" : "angle");
    good = false;
  }
  perp_values_drop(&reader->values, known);
  if (!good) return;
  motion->mover = perp_pool_grown(&motion->pool, motion->mover, motion->n, sizeof *motion->mover);
  motion->mover[motion->n++] = one;
}

static void motion_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  motion_read(reader, entry, "motion", motion_keys, user);
}

/* The motion begins in the initial state. */
static bool motion_begins(perp_scene_reader *reader, struct motion *motion, const perp_node *truth,
                          double uncertainty)
{
  const int nq = perp_model_nq(reader->scene->model), nv = perp_model_nv(reader->scene->model);
  double *q = perp_pool_alloc(reader->pool, (size_t)(nq + nv), sizeof *q), *v = q + nq;
  if (motion_state(motion, reader->ctx, 0, q, v) != PERP_OK) {
    perp_scene_refused(reader, truth);
    return false;
  }
  for (int body = 0; body < motion->bodies; body++)
    for (int k = 0; k < perp_coordinates(motion->dim); k++) {
      const double is = *motion_place(motion, body, k, q, v),
                   start = *motion_place(motion, body, k, motion->q0, motion->v0);
      if (isnan(is) || fabs(is - start) <= fmax(1e-9, uncertainty) * fmax(1, fabs(start))) continue;
      PERP_SCENE_WRONG(reader, truth,
                       "at t = 0 the motion contradicts the initial state: %s of body %d is %.9g "
                       "in the motion and %.9g in the scene",
                       perp_coordinate_name(motion->dim, k), body, is, start);
      return false;
    }
  return true;
}

static struct motion *motion_create(const perp_scene_reader *reader)
{
  perp_pool pool = { 0 };
  struct motion *motion = perp_pool_alloc(&pool, 1, sizeof *motion);
  const perp_model *model = reader->scene->model;
  motion->pool = pool;
  motion->dim = reader->dim;
  motion->bodies = perp_model_bodies(model);
  motion->ctx = *reader->ctx;
  motion->q0 = (double *)(uintptr_t)perp_model_q0(model); /* the model outlives its truths */
  motion->v0 = (double *)(uintptr_t)perp_model_v0(model);
  return motion;
}

bool perp_scene_add_motion(perp_scene_reader *reader, const perp_node *truth, const char *what,
                           double uncertainty)
{
  struct motion *motion = motion_create(reader);
  const int errors = reader->diag->errors;
  perp_entries(reader, perp_tree_get(truth, "motion"), "motion", motion_entry, motion);
  if (reader->diag->errors == errors && motion->n == 0)
    PERP_SCENE_WRONG(reader, perp_tree_get(truth, "motion"),
                     "a motion needs entries: { body, x, ... }");
  perp_truth *slot = NULL;
  if (reader->diag->errors == errors && motion_begins(reader, motion, truth, uncertainty) &&
      (slot = perp_truth_slot(reader->ctx, reader->scene, what)) == NULL)
    perp_scene_refused(reader, truth);
  if (slot == NULL) {
    motion_destroy(motion);
    return false;
  }
  slot->t_end = HUGE_VAL;
  slot->uncertainty = uncertainty;
  slot->user = motion;
  slot->state = motion_state;
  slot->next_time = motion_next;
  slot->destroy = motion_destroy;
  return true;
}

/* ---- the path of a body ---- */

static void path_place(const void *user, double t, double p[3])
{
  const struct motion *motion = *(const struct motion *const *)user;
  struct mover *one = &motion->mover[0];
  perp_ctx quiet = motion->ctx;
  double x[3] = { 0 };
  const bool good = motion_at(motion, one, t, &quiet);
  for (int i = 0; i < motion->dim; i++)
    if (!good || !motion_number(motion, one, one->of[i], &quiet, &x[i])) x[i] = (double)NAN;
  p[0] = x[0];
  p[1] = motion->dim == 3 ? x[1] : 0;
  p[2] = motion->dim == 3 ? x[2] : x[1];
}

static void path_free(void *user)
{
  for (struct motion *motion = user, *next; motion != NULL; motion = next) {
    next = motion->next;
    motion_destroy(motion);
  }
}

void perp_scene_add_path(perp_scene_reader *reader, const perp_node *entry)
{
  struct motion *motion = motion_create(reader);
  const int errors = reader->diag->errors;
  motion_read(reader, entry, "gauges", path_keys, motion);
  if (reader->diag->errors == errors &&
      perp_gauge_path(reader->ctx, reader->scene, motion->mover[0].body, path_place, &motion,
                      sizeof motion) != PERP_OK)
    perp_scene_refused(reader, entry);
  motion->next = reader->scene->user;
  reader->scene->user = motion;
  reader->scene->destroy = path_free;
}

/* ---- the force of a joint ---- */

static void reaction_exact(const void *user, double t, double exact[3])
{
  const struct motion *motion = *(const struct motion *const *)user;
  struct mover *one = &motion->mover[0];
  perp_ctx quiet = motion->ctx;
  const bool good = motion_at(motion, one, t, &quiet);
  for (int i = 0; i < 3; i++) exact[i] = 0;
  for (int i = 0; i < motion->dim; i++)
    if (!good || !motion_number(motion, one, one->of[i], &quiet, &exact[i])) exact[i] = (double)NAN;
}

static bool reaction_read(perp_scene_reader *reader, const perp_node *entry, struct motion *motion)
{
  const perp_node *exact = perp_tree_get(entry, "exact");
  struct mover one = { 0 };
  const int known = reader->values.n;
  if (exact == NULL || exact->type != PERP_NODE_LIST || exact->n != motion->dim) {
    PERP_SCENE_WRONG(reader, exact != NULL ? exact : entry,
                     "exact must be the %d components of the force, which may depend on t",
                     motion->dim);
    return false;
  }
  perp_values values;
  bool good;
  if (!motion_values(reader, entry, motion, &one, &values, &good)) return false;
  for (int i = 0; i < motion->dim && good; i++) {
    one.of[i] = perp_values_expression(&values, exact->item[i], "N");
    good = one.of[i] != NULL;
  }
  perp_values_drop(&reader->values, known);
  if (!good) return false;
  motion->mover = perp_pool_grown(&motion->pool, motion->mover, motion->n, sizeof *motion->mover);
  motion->mover[motion->n++] = one;
  return true;
}

void perp_scene_add_reaction(perp_scene_reader *reader, const perp_node *entry, int joint,
                             double scale, double from)
{
  struct motion *motion = motion_create(reader);
  if (!reaction_read(reader, entry, motion)) {
    motion_destroy(motion);
    return;
  }
  if (perp_gauge_reaction(reader->ctx, reader->scene, joint, reaction_exact, &motion, sizeof motion,
                          scale, from) != PERP_OK)
    perp_scene_refused(reader, entry);
  motion->next = reader->scene->user;
  reader->scene->user = motion;
  reader->scene->destroy = path_free;
}
