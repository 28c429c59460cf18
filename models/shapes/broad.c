/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pair list and its grid, see broad.h. */
#include "models/shapes/broad.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 16 }; /* members of a level that is not worth cells */
static const double SLACK_MIN = 0.02, SLACK_MAX = 0.5; /* of the extent of a shape */
static const double SLACK_STEPS = 8;                   /* motions like the last one */
static const double REACH = 1.5; /* margins up to this times that of the list need no new one */
enum { TEAM_SHAPES = 2000 };

/* ---- lifetime -------------------------------------------------------------------------------- */

static void join(perp_broad *b)
{
  const perp_model *m = b->model;
  for (int i = 0; i < m->n_joints; i++) {
    if (m->joint_def[i].collide) continue;
    b->first[m->joint_def[i].a + 1]++;
    b->first[m->joint_def[i].b + 1]++;
  }
  int sum = 0;
  for (int i = 0; i <= m->n_bodies; i++) {
    sum += b->first[i];
    b->first[i] = sum;
  }
  b->first[m->n_bodies + 1] = sum;
  for (int i = 0; i < m->n_joints; i++) {
    int p = m->joint_def[i].a, q = m->joint_def[i].b;
    if (m->joint_def[i].collide) continue;
    b->neighbour[--b->first[p + 1]] = q;
    b->neighbour[--b->first[q + 1]] = p;
  }
}

perp_status perp_broad_init(perp_ctx *ctx, perp_broad *b, const perp_model *model, double margin)
{
  const int n = model->n_shapes;
  *b = (perp_broad){ .model = model, .n = n, .margin = margin };
  b->cap_pairs = 8 * (n + 8);
  for (b->mask = 15; b->mask < 2 * n; b->mask = 2 * b->mask + 1) continue;
  size_t size = (size_t)n + 2;
  b->box = calloc(size, sizeof *b->box);
  b->fat = calloc(size, sizeof *b->fat);
  b->ball = aligned_alloc(sizeof *b->ball, size * sizeof *b->ball);
  b->moved = calloc(size, sizeof *b->moved);
  b->planes = calloc(size, sizeof *b->planes);
  b->count = calloc(size, sizeof *b->count);
  b->entry = calloc(size, sizeof *b->entry);
  b->sorted = calloc(size, sizeof *b->sorted);
  b->bucket = calloc((size_t)b->mask + 2, sizeof *b->bucket);
  b->neighbour = calloc(2 * (size_t)model->n_joints + 1, sizeof *b->neighbour);
  b->first = calloc((size_t)model->n_bodies + 3, sizeof *b->first);
  b->pair = calloc((size_t)b->cap_pairs, sizeof *b->pair);
  b->raw = calloc((size_t)b->cap_pairs, sizeof *b->raw);
  if (b->box == NULL || b->fat == NULL || b->ball == NULL || b->moved == NULL ||
      b->planes == NULL || b->count == NULL || b->entry == NULL || b->sorted == NULL ||
      b->bucket == NULL || b->neighbour == NULL || b->first == NULL || b->pair == NULL ||
      b->raw == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection of %d shapes", n);
  for (int i = 0; i < n; i++)
    b->ball[i] = (perp_ball){
      .radius = model->shape[i].kind == PERP_SHAPE_SPHERE ? model->shape[i].radius : -1,
      .surface = model->shape_def[i].surface,
      .body = model->shape[i].body,
    };
  for (int i = 0; i < n; i++)
    if (model->shape[i].kind == PERP_SHAPE_PLANE) b->planes[b->n_planes++] = i;
  b->plane_pose = calloc((size_t)b->n_planes + 1, sizeof *b->plane_pose);
  if (b->plane_pose == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection of %d planes",
                     b->n_planes);
  join(b);
  return PERP_OK;
}

void perp_broad_free(perp_broad *b)
{
  free(b->box);
  free(b->fat);
  free(b->ball);
  free(b->moved);
  free(b->planes);
  free(b->plane_pose);
  free(b->count);
  free(b->entry);
  free(b->sorted);
  free(b->bucket);
  free(b->neighbour);
  free(b->first);
  free(b->pair);
  free(b->raw);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

bool perp_broad_may_touch(const perp_broad *b, int i, int j)
{
  const perp_shape_def *d = &b->model->shape_def[i], *e = &b->model->shape_def[j];
  int p = d->body, q = e->body;
  if (p == q || (d->group != 0 && d->group == e->group)) return false;
  if (d->collide_joined || e->collide_joined) return true;
  if (p == PERP_WORLD) p = q, q = PERP_WORLD; /* the world may have many neighbours */
  for (int k = b->first[p + 1]; k < b->first[p + 2]; k++)
    if (b->neighbour[k] == q) return false;
  return true;
}

static perp_status add_pair(perp_ctx *ctx, perp_broad *b, int i, int j)
{
  if (!perp_broad_may_touch(b, i, j)) return PERP_OK;
  if (b->n_pairs == b->cap_pairs) {
    size_t cap = 2 * (size_t)b->cap_pairs;
    perp_shape_pair *pair = cap > 1 << 29 ? NULL : realloc(b->pair, cap * sizeof *pair);
    if (pair != NULL) b->pair = pair;
    perp_shape_pair *raw = pair == NULL ? NULL : realloc(b->raw, cap * sizeof *raw);
    if (raw != NULL) b->raw = raw;
    if (raw == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %zu pairs of shapes", cap);
    b->cap_pairs = (int)cap;
  }
  b->raw[b->n_pairs++] = i < j ? (perp_shape_pair){ i, j } : (perp_shape_pair){ j, i };
  return PERP_OK;
}

static perp_status meet(perp_ctx *ctx, perp_broad *b, int i, int j)
{
  return perp_bounds_overlap(&b->fat[i], &b->fat[j]) ? add_pair(ctx, b, i, j) : PERP_OK;
}

/* by (a, b): counting sort by a, then insertion within */
static void sort_pairs(perp_broad *b)
{
  memset(b->count, 0, (size_t)(b->n + 1) * sizeof *b->count);
  for (int i = 0; i < b->n_pairs; i++) b->count[b->raw[i].a + 1]++;
  for (int i = 0; i < b->n; i++) b->count[i + 1] += b->count[i];
  for (int i = 0; i < b->n_pairs; i++) {
    /* into the sorted part of its row, from the right */
    perp_shape_pair x = b->raw[i];
    b->pair[b->count[x.a]++] = x;
  }
  for (int i = 1; i < b->n_pairs; i++) {
    perp_shape_pair x = b->pair[i];
    int j = i;
    for (; j > 0 && b->pair[j - 1].a == x.a && b->pair[j - 1].b > x.b; j--)
      b->pair[j] = b->pair[j - 1];
    b->pair[j] = x;
  }
}

/* ---- grid ------------------------------------------------------------------------------------ */

static double extent_of(const perp_bounds *b)
{
  return fmax(b->hi[0] - b->lo[0], fmax(b->hi[1] - b->lo[1], b->hi[2] - b->lo[2]));
}

/* cells beyond 2^30 fall together, which keeps neighbours neighbours */
static void cell_of(const perp_bounds *b, double size, int cell[3])
{
  for (int k = 0; k < 3; k++) {
    double x = floor(0.5 * (b->lo[k] + b->hi[k]) / size);
    cell[k] = (int)fmin(fmax(x, -(1 << 30)), 1 << 30);
  }
}

static int bucket_of(const perp_broad *b, int level, const int cell[3])
{
  uint32_t h = (uint32_t)cell[0] * 73856093u ^ (uint32_t)cell[1] * 19349663u ^
               (uint32_t)cell[2] * 83492791u ^ (uint32_t)level * 2654435761u;
  return (int)((h ^ h >> 15) & (uint32_t)b->mask);
}

/* levels, cells and buckets; returns the number of shapes in the grid */
static int fill_grid(perp_broad *b)
{
  double mean = 0;
  int n = 0;
  memset(b->members, 0, sizeof b->members);
  memset(b->bucket, 0, (size_t)(b->mask + 2) * sizeof *b->bucket);
  for (int i = 0; i < b->n; i++) {
    if (b->model->shape[i].kind == PERP_SHAPE_PLANE) continue;
    mean += log(extent_of(&b->fat[i]));
    b->entry[n++].shape = i;
  }
  /* the geometric mean: a floor among pebbles does not count for more than one */
  b->cell[0] = n > 0 ? 1.25 * exp(mean / n) : 1;
  for (int l = 1; l < PERP_GRID_LEVELS; l++) b->cell[l] = 2 * b->cell[l - 1];
  for (int i = 0; i < n; i++) {
    perp_grid_entry *e = &b->entry[i];
    double extent = extent_of(&b->fat[e->shape]);
    for (e->level = 0; e->level < PERP_GRID_LEVELS - 1 && b->cell[e->level] < extent; e->level++)
      continue;
    cell_of(&b->fat[e->shape], b->cell[e->level], e->cell);
    b->members[e->level]++;
    b->bucket[bucket_of(b, e->level, e->cell) + 1]++;
  }
  for (int i = 0; i <= b->mask; i++) b->bucket[i + 1] += b->bucket[i];
  for (int i = n - 1; i >= 0; i--) {
    const perp_grid_entry *e = &b->entry[i];
    /* from the end of each bucket: its start is right when all are in, shifted by one */
    int *end = &b->bucket[bucket_of(b, e->level, e->cell) + 1];
    b->sorted[--*end] = *e;
  }
  memmove(b->bucket, b->bucket + 1, (size_t)(b->mask + 1) * sizeof *b->bucket);
  b->bucket[b->mask + 1] = n;
  return n;
}

/* shape i against the members of one cell, those behind `after` only */
static perp_status meet_cell(perp_ctx *ctx, perp_broad *b, int i, int level, const int cell[3],
                             int after)
{
  int at = bucket_of(b, level, cell), end = b->bucket[at + 1];
  for (int k = after >= 0 ? after + 1 : b->bucket[at]; k < end; k++) {
    const perp_grid_entry *e = &b->sorted[k];
    if (e->cell[0] != cell[0] || e->cell[1] != cell[1] || e->cell[2] != cell[2] ||
        e->level != level)
      continue;
    PERP_TRY(meet(ctx, b, i, e->shape));
  }
  return PERP_OK;
}

static perp_status meet_neighbours(perp_ctx *ctx, perp_broad *b, int at)
{
  const perp_grid_entry *e = &b->sorted[at];
  for (int level = e->level; level < PERP_GRID_LEVELS; level++) {
    if (b->members[level] <= FEW) continue;
    int centre[3], cell[3];
    cell_of(&b->fat[e->shape], b->cell[level], centre);
    /* in its own level only the cells after its own, and of its own those after it */
    for (int k = level == e->level ? 13 : 0; k < 27; k++) {
      cell[0] = centre[0] + k % 3 - 1;
      cell[1] = centre[1] + k / 3 % 3 - 1;
      cell[2] = centre[2] + k / 9 - 1;
      bool own = k == 13 && level == e->level;
      PERP_TRY(meet_cell(ctx, b, e->shape, level, cell, own ? at : -1));
    }
  }
  return PERP_OK;
}

static perp_status meet_few(perp_ctx *ctx, perp_broad *b, int n)
{
  for (int i = 0; i < n; i++) {
    const perp_grid_entry *e = &b->sorted[i];
    if (b->members[e->level] > FEW) continue;
    for (int j = 0; j < n; j++) {
      const perp_grid_entry *f = &b->sorted[j];
      if (f->level < e->level || (f->level == e->level && j < i))
        PERP_TRY(meet(ctx, b, e->shape, f->shape));
    }
  }
  return PERP_OK;
}

/* lowest point of a box above a plane */
static double above(const perp_bounds *box, const double n[3], double height)
{
  double low = 0;
  for (int k = 0; k < 3; k++) low += n[k] * (n[k] > 0 ? box->lo[k] : box->hi[k]);
  return low - height;
}

static perp_status meet_planes(perp_ctx *ctx, perp_broad *b, const perp_pose *pose)
{
  const perp_model *m = b->model;
  for (int p = 0; p < b->n_planes; p++) {
    const perp_shape *plane = &m->shape[b->planes[p]];
    perp_pose at;
    double n[3], o[3];
    perp_lift(m->dim, &pose[plane->body], &at);
    b->plane_pose[p] = at;
    perp_turn(3, at.R, plane->axis, n);
    perp_place(&at, plane->c, o);
    double height = perp_dot(3, n, o);
    for (int i = 0; i < b->n; i++) {
      if (m->shape[i].kind == PERP_SHAPE_PLANE) continue;
      if (above(&b->fat[i], n, height) <= b->reach) PERP_TRY(add_pair(ctx, b, b->planes[p], i));
    }
  }
  return PERP_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

static bool planes_moved(const perp_broad *b, const perp_pose *pose)
{
  for (int p = 0; p < b->n_planes; p++) {
    int body = b->model->shape[b->planes[p]].body;
    if (body == PERP_WORLD) continue;
    perp_pose at;
    perp_lift(b->model->dim, &pose[body], &at);
    if (memcmp(&at, &b->plane_pose[p], sizeof at) != 0) return true;
  }
  return false;
}

static perp_status build(perp_ctx *ctx, perp_broad *b, const perp_pose *pose)
{
  b->n_pairs = 0;
  int n = fill_grid(b);
  for (int i = 0; i < n; i++) PERP_TRY(meet_neighbours(ctx, b, i));
  PERP_TRY(meet_few(ctx, b, n));
  PERP_TRY(meet_planes(ctx, b, pose));
  sort_pairs(b);
  return PERP_OK;
}

/* one member's share of a look at all shapes */
typedef struct look {
  perp_broad *b;
  const perp_pose *pose;
  bool left; /* some shape has left its grown box */
  int bad;   /* the first shape whose pose is not finite, n: none */
} look;

static void look_at(perp_broad *b, const perp_pose *pose, int i, look *found)
{
  const perp_shape *s = &b->model->shape[i];
  const double grow = 0.5 * b->margin;
  perp_bounds *box = &b->box[i], now;
  const perp_bounds *fat = &b->fat[i];
  perp_pose at;
  if (b->model->dim == 2) perp_lift(2, &pose[s->body], &at);
  const perp_pose *lifted = b->model->dim == 2 ? &at : &pose[s->body];
  perp_shape_bounds(s, lifted, now.lo, now.hi);
  if (s->kind == PERP_SHAPE_SPHERE) perp_place(lifted, s->c, b->ball[i].x);
  if (s->kind == PERP_SHAPE_PLANE) {
    *box = now;
    return;
  }
  double moved = 0;
  for (int k = 0; k < 3; k++) {
    now.lo[k] -= grow;
    now.hi[k] += grow;
    if (!(fabs(now.lo[k]) <= DBL_MAX && fabs(now.hi[k]) <= DBL_MAX)) {
      if (i < found->bad) found->bad = i;
      return;
    }
    const double lo = fabs(now.lo[k] - box->lo[k]), hi = fabs(now.hi[k] - box->hi[k]);
    moved = lo > moved ? lo : moved;
    moved = hi > moved ? hi : moved;
    found->left |= now.lo[k] < fat->lo[k] || now.hi[k] > fat->hi[k];
  }
  *box = now;
  b->moved[i] = b->seen ? moved : 0;
}

static void look_share(void *user, int member, int members)
{
  look *all = user, found = { .bad = all->b->n };
  const int end = perp_share(all->b->n, member + 1, members);
  for (int i = perp_share(all->b->n, member, members); i < end; i++)
    look_at(all->b, all->pose, i, &found);
  if (found.left) __atomic_store_n(&all->left, true, __ATOMIC_RELAXED);
  if (found.bad < all->b->n) __atomic_store_n(&all->bad, found.bad, __ATOMIC_RELAXED);
}

perp_status perp_broad_update(perp_ctx *ctx, perp_broad *b, const perp_pose *pose)
{
  const perp_model *m = b->model;
  look all = { .b = b, .pose = pose, .bad = b->n };
  perp_team(b->n >= TEAM_SHAPES ? ctx->threads : 1, look_share, &all);
  if (all.bad < b->n) {
    b->listed = false;
    look_share(&all, 0, 1); /* the first one, whoever was first to say so */
    return PERP_FAIL(ctx, PERP_ERR_ARG, "collision: the pose of shape %d is not finite", all.bad);
  }
  b->seen = true;
  if (b->listed && b->margin <= b->reach && !all.left && !planes_moved(b, pose)) return PERP_OK;
  for (int i = 0; i < b->n; i++) {
    b->fat[i] = b->box[i];
    if (m->shape[i].kind == PERP_SHAPE_PLANE) continue;
    double extent = extent_of(&b->box[i]);
    double slack = fmin(fmax(SLACK_STEPS * b->moved[i], SLACK_MIN * extent), SLACK_MAX * extent);
    for (int k = 0; k < 3; k++) b->fat[i].lo[k] -= slack, b->fat[i].hi[k] += slack;
  }
  b->listed = false; /* unless the build succeeds */
  b->reach = REACH * b->margin;
  PERP_TRY(build(ctx, b, pose));
  b->listed = true;
  return PERP_OK;
}
