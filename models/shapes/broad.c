/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All shapes: sweep and prune, then the narrow phase pair by pair. */
#include "models/shapes/shapes_private.h"

#include <stdlib.h>
#include <string.h>

typedef struct bounds {
  double lo[3], hi[3];
} bounds;

typedef struct shape_pair {
  int a, b; /* a < b */
} shape_pair;

struct perp_collision {
  const perp_model *model;
  double margin;
  bounds *box; /* [shapes] at the last poses, grown by half of the margin */
  int *order;  /* finite shapes along the sweep axis, as the last find left them */
  int n_order;
  int *planes, n_planes;
  int *neighbour,
      *first; /* bodies joined to body i: neighbour[first[i + 1] ...], i = -1 the world */
  int *count; /* [shapes + 1] for the counting sort of pairs */
  shape_pair *pair, *sorted;
  int n_pairs, cap_pairs;
  perp_contact *contact;
  int n_contacts, cap_contacts;
};

/* ---- which pairs may touch --------------------------------------------------------------------- */

static void join(const perp_model *m, perp_collision *c)
{
  memset(c->first, 0, (size_t)(m->n_bodies + 2) * sizeof *c->first);
  for (int i = 0; i < m->n_joints; i++) {
    c->first[m->joint_def[i].a + 1]++;
    c->first[m->joint_def[i].b + 1]++;
  }
  int sum = 0;
  for (int i = 0; i <= m->n_bodies; i++) {
    sum += c->first[i];
    c->first[i] = sum;
  }
  c->first[m->n_bodies + 1] = sum;
  for (int i = 0; i < m->n_joints; i++) {
    int a = m->joint_def[i].a, b = m->joint_def[i].b;
    c->neighbour[--c->first[a + 1]] = b;
    c->neighbour[--c->first[b + 1]] = a;
  }
}

static bool may_touch(const perp_collision *c, int a, int b)
{
  const perp_model *m = c->model;
  const perp_shape_def *da = &m->shape_def[a], *db = &m->shape_def[b];
  int i = da->body, j = db->body;
  if (i == j || (da->group != 0 && da->group == db->group)) return false;
  if (da->collide_joined || db->collide_joined) return true;
  if (i == PERP_WORLD) i = j, j = PERP_WORLD; /* the world may have many neighbours */
  for (int k = c->first[i + 1]; k < c->first[i + 2]; k++)
    if (c->neighbour[k] == j) return false;
  return true;
}

/* ---- lifetime ---------------------------------------------------------------------------------- */

void perp_collision_destroy(perp_collision *c)
{
  if (c == NULL) return;
  free(c->box);
  free(c->order);
  free(c->planes);
  free(c->neighbour);
  free(c->first);
  free(c->count);
  free(c->pair);
  free(c->sorted);
  free(c->contact);
  free(c);
}

perp_status perp_collision_create(perp_ctx *ctx, const perp_model *model, double margin,
                                  perp_collision **out)
{
  *out = NULL;
  if (!model->finished) return PERP_FAIL(ctx, PERP_ERR_ARG, "the model is not finished");
  if (!(margin >= 0) || !isfinite(margin))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "collision: margin must be in [0, inf): got %g m", margin);
  size_t n = (size_t)model->n_shapes + 2;
  perp_collision *c = calloc(1, sizeof *c);
  if (c == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection");
  c->model = model;
  c->margin = margin;
  c->cap_pairs = c->cap_contacts = 8 * (model->n_shapes + 8);
  c->box = calloc(n, sizeof *c->box);
  c->order = calloc(n, sizeof *c->order);
  c->planes = calloc(n, sizeof *c->planes);
  c->neighbour = calloc(2 * (size_t)model->n_joints + 1, sizeof *c->neighbour);
  c->first = calloc((size_t)model->n_bodies + 3, sizeof *c->first);
  c->count = calloc(n, sizeof *c->count);
  c->pair = calloc((size_t)c->cap_pairs, sizeof *c->pair);
  c->sorted = calloc((size_t)c->cap_pairs, sizeof *c->sorted);
  c->contact = calloc((size_t)c->cap_contacts, sizeof *c->contact);
  if (c->box == NULL || c->order == NULL || c->planes == NULL || c->neighbour == NULL ||
      c->first == NULL || c->count == NULL || c->pair == NULL || c->sorted == NULL ||
      c->contact == NULL) {
    perp_collision_destroy(c);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection of %d shapes",
                     model->n_shapes);
  }
  for (int i = 0; i < model->n_shapes; i++) {
    if (model->shape[i].kind == PERP_SHAPE_PLANE)
      c->planes[c->n_planes++] = i;
    else
      c->order[c->n_order++] = i;
  }
  join(model, c);
  *out = c;
  return PERP_OK;
}

void perp_collision_margin(perp_collision *c, double margin)
{
  c->margin = margin;
}

void perp_collision_counters(const perp_collision *c, int64_t *pairs, int64_t *contacts)
{
  *pairs = c->n_pairs;
  *contacts = c->n_contacts;
}

/* ---- broad phase ------------------------------------------------------------------------------- */

static perp_status add_pair(perp_ctx *ctx, perp_collision *c, int a, int b)
{
  if (!may_touch(c, a, b)) return PERP_OK;
  if (c->n_pairs == c->cap_pairs) {
    size_t cap = 2 * (size_t)c->cap_pairs;
    shape_pair *pair = realloc(c->pair, cap * sizeof *pair);
    if (pair != NULL) c->pair = pair;
    shape_pair *sorted = realloc(c->sorted, cap * sizeof *sorted);
    if (sorted != NULL) c->sorted = sorted;
    if (pair == NULL || sorted == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %zu pairs of shapes", cap);
    c->cap_pairs = (int)cap;
  }
  c->pair[c->n_pairs++] = a < b ? (shape_pair){ a, b } : (shape_pair){ b, a };
  return PERP_OK;
}

static perp_status sweep(perp_ctx *ctx, perp_collision *c)
{
  const bounds *box = c->box;
  int *order = c->order, n = c->n_order, axis = 0;
  double mean[3] = { 0 }, variance[3] = { 0 };
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) mean[k] += box[order[i]].lo[k] / n;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) {
      double d = box[order[i]].lo[k] - mean[k];
      variance[k] += d * d;
    }
  for (int k = 1; k < 3; k++)
    if (variance[k] > variance[axis]) axis = k;
  for (int i = 1; i < n; i++) {
    int k = order[i], j = i;
    double x = box[k].lo[axis];
    for (; j > 0 && box[order[j - 1]].lo[axis] > x; j--) order[j] = order[j - 1];
    order[j] = k;
  }
  int s = (axis + 1) % 3, t = (axis + 2) % 3;
  for (int i = 0; i < n; i++) {
    const bounds *a = &box[order[i]];
    for (int j = i + 1; j < n && box[order[j]].lo[axis] <= a->hi[axis]; j++) {
      const bounds *b = &box[order[j]];
      if (a->lo[s] > b->hi[s] || b->lo[s] > a->hi[s] || a->lo[t] > b->hi[t] || b->lo[t] > a->hi[t])
        continue;
      PERP_TRY(add_pair(ctx, c, order[i], order[j]));
    }
  }
  return PERP_OK;
}

/* every plane against every finite shape, by the box of the latter */
static perp_status over_planes(perp_ctx *ctx, perp_collision *c, const perp_pose *pose)
{
  const perp_model *m = c->model;
  for (int p = 0; p < c->n_planes; p++) {
    const perp_shape *plane = &m->shape[c->planes[p]];
    perp_pose at;
    double n[3], o[3];
    perp_lift(m->dim, &pose[plane->body], &at);
    perp_turn(3, at.R, plane->axis, n);
    perp_place(&at, plane->c, o);
    double height = perp_dot(3, n, o);
    for (int i = 0; i < m->n_shapes; i++) {
      if (m->shape[i].kind == PERP_SHAPE_PLANE) continue;
      const bounds *b = &c->box[i];
      double low = 0;
      for (int k = 0; k < 3; k++) low += n[k] * (n[k] > 0 ? b->lo[k] : b->hi[k]);
      /* the box has been grown by half of the margin along its axes */
      if (low - height <= c->margin) PERP_TRY(add_pair(ctx, c, c->planes[p], i));
    }
  }
  return PERP_OK;
}

/* by (a, b): counting sort by a, then insertion within */
static void sort_pairs(perp_collision *c)
{
  int n = c->model->n_shapes;
  memset(c->count, 0, (size_t)(n + 1) * sizeof *c->count);
  for (int i = 0; i < c->n_pairs; i++) c->count[c->pair[i].a + 1]++;
  for (int i = 0; i < n; i++) c->count[i + 1] += c->count[i];
  for (int i = 0; i < c->n_pairs; i++) c->sorted[c->count[c->pair[i].a]++] = c->pair[i];
  for (int i = 1; i < c->n_pairs; i++) {
    shape_pair x = c->sorted[i];
    int j = i;
    for (; j > 0 && c->sorted[j - 1].a == x.a && c->sorted[j - 1].b > x.b; j--)
      c->sorted[j] = c->sorted[j - 1];
    c->sorted[j] = x;
  }
}

static perp_status find_pairs(perp_ctx *ctx, perp_collision *c, const perp_pose *pose)
{
  const perp_model *m = c->model;
  for (int i = 0; i < m->n_shapes; i++) {
    bounds *b = &c->box[i];
    perp_pose at;
    perp_lift(m->dim, &pose[m->shape[i].body], &at);
    perp_shape_bounds(&m->shape[i], &at, b->lo, b->hi);
    if (m->shape[i].kind == PERP_SHAPE_PLANE) continue;
    for (int k = 0; k < 3; k++) {
      if (!isfinite(b->lo[k]) || !isfinite(b->hi[k]))
        return PERP_FAIL(ctx, PERP_ERR_ARG, "collision: the pose of shape %d is not finite", i);
      b->lo[k] -= 0.5 * c->margin;
      b->hi[k] += 0.5 * c->margin;
    }
  }
  c->n_pairs = 0;
  PERP_TRY(sweep(ctx, c));
  PERP_TRY(over_planes(ctx, c, pose));
  sort_pairs(c);
  return PERP_OK;
}

perp_status perp_collision_find(perp_ctx *ctx, perp_collision *c, const perp_pose *pose,
                                const perp_contact **contacts, int *n)
{
  const perp_model *m = c->model;
  *contacts = c->contact;
  *n = c->n_contacts = 0;
  PERP_TRY(find_pairs(ctx, c, pose));
  for (int i = 0; i < c->n_pairs; i++) {
    if (c->n_contacts + PERP_MANIFOLD_MAX > c->cap_contacts) {
      size_t cap = 2 * (size_t)c->cap_contacts;
      perp_contact *contact = realloc(c->contact, cap * sizeof *contact);
      if (contact == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %zu contacts", cap);
      c->contact = contact;
      c->cap_contacts = (int)cap;
    }
    int a = c->sorted[i].a, b = c->sorted[i].b;
    c->n_contacts += perp_collide(m, a, &pose[m->shape[a].body], b, &pose[m->shape[b].body],
                                  c->margin, c->contact + c->n_contacts);
  }
  *contacts = c->contact;
  *n = c->n_contacts;
  return PERP_OK;
}

double perp_collision_deepest(perp_ctx *ctx, perp_collision *c, const perp_pose *pose)
{
  const perp_model *m = c->model;
  double low = HUGE_VAL;
  c->n_contacts = 0;
  if (find_pairs(ctx, c, pose) != PERP_OK) return NAN;
  for (int i = 0; i < c->n_pairs; i++) {
    int a = c->sorted[i].a, b = c->sorted[i].b;
    low = fmin(low, perp_shape_distance(m, a, &pose[m->shape[a].body], b, &pose[m->shape[b].body],
                                        NULL, NULL, NULL));
  }
  return low;
}
