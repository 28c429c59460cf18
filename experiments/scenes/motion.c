/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Truths in closed form: coordinates of bodies as expressions over the time t. */
#include "experiments/scenes/claims.h"

#include "models/scenes/truths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A body with its expressions, and the values that names had when its entry was read. */
struct mover {
  int body, t; /* t: which value is the time */
  perp_value *value;
  perp_expr *of[13]; /* by coordinate; NULL: as in the initial state */
};
struct motion {
  perp_pool pool;
  int dim, bodies, n;
  struct mover *mover;
  perp_ctx ctx; /* of the scopes */
  double *q0, *v0;
};

struct moment {
  const struct mover *m;
  double t;
};

static void motion_value(void *user, int row, int column, perp_value *value)
{
  const struct moment *now = user;
  (void)row;
  *value = column == now->m->t ? (perp_value){ PERP_VALUE_NUMBER, now->t, NULL }
                               : now->m->value[column];
}

/* Where coordinate k of a body is in q or v. */
static double *motion_place(const struct motion *m, int body, int k, double *q, double *v)
{
  const int nqb = m->dim == 3 ? 7 : 3, nvb = m->dim == 3 ? 6 : 3;
  return k < nqb ? q + body * nqb + k : v + body * nvb + k - nqb;
}

static perp_status motion_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  struct motion *m = user;
  const int nqb = m->dim == 3 ? 7 : 3, nvb = m->dim == 3 ? 6 : 3;
  memcpy(q, m->q0, (size_t)(m->bodies * nqb) * sizeof *q);
  memcpy(v, m->v0, (size_t)(m->bodies * nvb) * sizeof *v);
  for (int i = 0; i < m->n; i++) {
    struct moment now = { &m->mover[i], t };
    const perp_scope scope = {
      .ctx = &m->ctx, .arithmetic = true, .rows = 1, .value = motion_value, .user = &now
    };
    for (int k = 0; k < perp_coordinates(m->dim); k++) {
      if (now.m->of[k] == NULL) continue;
      const perp_value x = perp_expr_eval(now.m->of[k], &scope, 0);
      if (x.type != PERP_VALUE_NUMBER || !isfinite(x.number))
        return PERP_FAIL(ctx, PERP_ERR_ARG, "the closed form has no finite value at t = %g s", t);
      *motion_place(m, now.m->body, k, q, v) = x.number;
    }
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
  struct motion *m = user;
  perp_pool pool = m->pool;
  perp_pool_free(&pool);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static const perp_key motion_keys[] = {
  PERP_KEY_SPECIAL("body"),  PERP_KEY_SPECIAL("x"), PERP_KEY_SPECIAL("quat"),
  PERP_KEY_SPECIAL("angle"), PERP_KEY_SPECIAL("v"), PERP_KEY_SPECIAL("w"),
  PERP_KEY_SPECIAL("omega"), PERP_KEYS_ENTRY,       PERP_KEYS_END
};
/* Which coordinates a key means, in space and in the plane. */
static const struct group {
  const char *key;
  int space, n_space, plane, n_plane;
} groups[] = { { "x", 0, 3, 0, 2 }, { "quat", 3, 4, 0, 0 }, { "angle", 0, 0, 2, 1 },
               { "v", 7, 3, 3, 2 }, { "w", 10, 3, 0, 0 },   { "omega", 0, 0, 5, 1 } };

static bool motion_group(perp_scene_reader *r, perp_values *values, const perp_node *node,
                         const struct group *g, struct mover *m)
{
  const int first = r->dim == 3 ? g->space : g->plane, n = r->dim == 3 ? g->n_space : g->n_plane;
  if (n == 0) {
    PERP_SCENE_WRONG(r, node, "%s has no meaning with dim: %d", g->key, r->dim);
    return false;
  }
  if (n > 1 && (node->type != PERP_NODE_LIST || node->n != n)) {
    PERP_SCENE_WRONG(r, node, "a list of %d expressions is needed here", n);
    return false;
  }
  for (int i = 0; i < n; i++) {
    const perp_node *x = n > 1 ? node->item[i] : node;
    m->of[first + i] = perp_values_expression(values, x, perp_coordinate_unit(r->dim, first + i));
    if (m->of[first + i] == NULL) return false;
  }
  return true;
}

static void motion_entry(perp_scene_reader *r, const perp_node *entry, void *user)
{
  struct motion *m = user;
  const perp_node *who = perp_tree_get(entry, "body");
  struct mover one = { 0 };
  if (!perp_keys_read(r, entry, "motion", motion_keys, NULL)) return;
  if (who == NULL) {
    PERP_SCENE_WRONG(r, entry, "'body' is missing here");
    return;
  }
  one.body = perp_named_find(r, &r->bodies, "body", false, who);
  if (one.body < 0) return;
  const int known = r->values.n;
  if (!perp_values_add(&r->values, entry, "t", "s", (perp_value){ PERP_VALUE_NUMBER, 0, NULL },
                       NULL))
    return;
  /* what is read here outlives the scene that is being built */
  perp_values values = r->values;
  values.pool = &m->pool;
  values.kept = NULL;
  values.n_kept = values.n_slots = 0;
  one.t = known;
  one.value = perp_pool_alloc(&m->pool, (size_t)values.n, sizeof *one.value);
  memcpy(one.value, values.value, (size_t)values.n * sizeof *one.value);
  bool good = true;
  for (size_t i = 0; i < sizeof groups / sizeof *groups && good; i++) {
    const perp_node *node = perp_tree_get(entry, groups[i].key);
    if (node != NULL) good = motion_group(r, &values, node, &groups[i], &one);
  }
  perp_values_drop(&r->values, known);
  if (!good) return;
  m->mover = perp_pool_grown(&m->pool, m->mover, m->n, sizeof *m->mover);
  m->mover[m->n++] = one;
}

/* The motion begins in the initial state. */
static bool motion_begins(perp_scene_reader *r, struct motion *m, const perp_node *truth)
{
  const int nq = perp_model_nq(r->scene->model), nv = perp_model_nv(r->scene->model);
  double *q = perp_pool_alloc(r->pool, (size_t)(nq + nv), sizeof *q), *v = q + nq;
  if (motion_state(m, r->ctx, 0, q, v) != PERP_OK) {
    perp_scene_refused(r, truth);
    return false;
  }
  for (int b = 0; b < m->bodies; b++)
    for (int k = 0; k < perp_coordinates(m->dim); k++) {
      const double is = *motion_place(m, b, k, q, v), start = *motion_place(m, b, k, m->q0, m->v0);
      if (fabs(is - start) <= 1e-9 * fmax(1, fabs(start))) continue;
      PERP_SCENE_WRONG(r, truth,
                       "at t = 0 the motion contradicts the initial state: %s of body %d is "
                       "%.9g there and %.9g here",
                       perp_coordinate_name(m->dim, k), b, start, is);
      return false;
    }
  return true;
}

bool perp_scene_add_motion(perp_scene_reader *r, const perp_node *truth, const char *what,
                           double uncertainty)
{
  perp_pool pool = { 0 };
  struct motion *m = perp_pool_alloc(&pool, 1, sizeof *m);
  const perp_model *model = r->scene->model;
  m->pool = pool;
  m->dim = r->dim;
  m->bodies = perp_model_bodies(model);
  m->ctx = *r->ctx;
  m->q0 = (double *)(uintptr_t)perp_model_q0(model); /* the model outlives its truths */
  m->v0 = (double *)(uintptr_t)perp_model_v0(model);
  const int errors = r->diag->errors;
  perp_entries(r, perp_tree_get(truth, "motion"), "motion", motion_entry, m);
  if (r->diag->errors == errors && m->n == 0)
    PERP_SCENE_WRONG(r, perp_tree_get(truth, "motion"), "a motion has entries: { body, x, ... }");
  perp_truth *slot = NULL;
  if (r->diag->errors == errors && motion_begins(r, m, truth) &&
      (slot = perp_truth_slot(r->ctx, r->scene, what)) == NULL)
    perp_scene_refused(r, truth);
  if (slot == NULL) {
    motion_destroy(m);
    return false;
  }
  slot->t_end = HUGE_VAL;
  slot->uncertainty = uncertainty;
  slot->user = m;
  slot->state = motion_state;
  slot->next_time = motion_next;
  slot->destroy = motion_destroy;
  return true;
}
