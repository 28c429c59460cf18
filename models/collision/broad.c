/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pair list and its grid, see broad.h. */
#include "models/collision/broad.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 16 }; /* members of a level that is not worth cells */
static const double SLACK_MIN = 0.02, SLACK_MAX = 0.5; /* of the extent of a shape */
static const double SLACK_STEPS = 8;                   /* motions like the last one */
static const double REACH = 1.5; /* margins up to this times that of the list need no new one */
enum { TEAM_SHAPES = 2000 };

/* ---- lifetime ---- */

static void broad_join(perp_broad *b)
{
  const perp_model *m = b->model;
  int pair[2], n;
  for (int i = 0; i < m->n_joints; i++) {
    const int *body = perp_joint_bodies(&m->joint_def[i], pair, &n);
    for (int p = 0; p < n && !m->joint_def[i].collide; p++) b->first[body[p] + 1] += n - 1;
  }
  int sum = 0;
  for (int i = 0; i <= m->n_bodies; i++) {
    sum += b->first[i];
    b->first[i] = sum;
  }
  b->first[m->n_bodies + 1] = sum;
  for (int i = 0; i < m->n_joints; i++) {
    const int *body = perp_joint_bodies(&m->joint_def[i], pair, &n);
    for (int p = 0; p < n && !m->joint_def[i].collide; p++)
      for (int q = 0; q < n; q++)
        if (q != p) b->neighbour[--b->first[body[p] + 1]] = body[q];
  }
}

/* entries of all lists of neighbours */
static size_t broad_neighbours(const perp_model *m)
{
  size_t sum = 0;
  int pair[2], n;
  for (int i = 0; i < m->n_joints; i++) {
    perp_joint_bodies(&m->joint_def[i], pair, &n);
    sum += (size_t)n * (size_t)(n - 1);
  }
  return sum;
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
  _Static_assert(sizeof *b->ball == 64, "a line of the cache");
  b->ball = aligned_alloc(sizeof *b->ball, size * sizeof *b->ball);
  b->tag = calloc(size, sizeof *b->tag);
  b->moved = calloc(size, sizeof *b->moved);
  b->planes = calloc(size, sizeof *b->planes);
  b->count = calloc(size, sizeof *b->count);
  b->entry = calloc(size, sizeof *b->entry);
  b->sorted = calloc(size, sizeof *b->sorted);
  b->bucket = calloc((size_t)b->mask + 2, sizeof *b->bucket);
  b->neighbour = calloc(broad_neighbours(model) + 1, sizeof *b->neighbour);
  b->first = calloc((size_t)model->n_bodies + 3, sizeof *b->first);
  b->pair = calloc((size_t)b->cap_pairs, sizeof *b->pair);
  b->lane[0].pair = calloc((size_t)b->cap_pairs, sizeof *b->pair);
  b->lane[0].cap = b->cap_pairs;
  b->size = calloc(size, sizeof *b->size);
  b->at = calloc(size, sizeof *b->at);
  if (b->box == NULL || b->fat == NULL || b->ball == NULL || b->tag == NULL || b->moved == NULL ||
      b->planes == NULL || b->count == NULL || b->entry == NULL || b->sorted == NULL ||
      b->bucket == NULL || b->neighbour == NULL || b->first == NULL || b->pair == NULL ||
      b->lane[0].pair == NULL || b->size == NULL || b->at == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection of %d shapes", n);
  for (int i = 0; i < n; i++)
    b->ball[i] = (perp_ball){
      .radius = model->shape[i].kind == PERP_SHAPE_SPHERE ? model->shape[i].radius : -1,
      .mu = model->shape_def[i].surface.mu,
      .mu_dynamic = model->shape_def[i].surface.mu_dynamic,
      .restitution = model->shape_def[i].surface.restitution,
      .material = model->shape_def[i].surface.material,
      .body = model->shape[i].body,
    };
  for (int i = 0; i < n; i++)
    if (model->shape[i].kind == PERP_SHAPE_PLANE) b->planes[b->n_planes++] = i;
  b->plane_pose = calloc((size_t)b->n_planes + 1, sizeof *b->plane_pose);
  if (b->plane_pose == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection of %d planes",
                     b->n_planes);
  broad_join(b);
  for (int i = 0; i < n; i++) {
    const perp_shape_def *d = &model->shape_def[i];
    b->tag[i] = (perp_tag){ .body = d->body,
                            .group = d->group,
                            .joined = b->first[d->body + 1] < b->first[d->body + 2],
                            .collide_joined = d->collide_joined };
  }
  return PERP_OK;
}

void perp_broad_free(perp_broad *b)
{
  free(b->box);
  free(b->fat);
  free(b->ball);
  free(b->tag);
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
  free(b->size);
  free(b->at);
  for (int i = 0; i < PERP_BROAD_LANES; i++) free(b->lane[i].pair);
}

/* ---- pairs ---- */

bool perp_broad_may_touch(const perp_broad *b, int i, int j)
{
  const perp_tag *d = &b->tag[i], *e = &b->tag[j];
  int p = d->body, q = e->body;
  if (p == q || (d->group != 0 && d->group == e->group)) return false;
  if (d->collide_joined || e->collide_joined || !d->joined || !e->joined) return true;
  if (p == PERP_WORLD) p = q, q = PERP_WORLD; /* the world may have many neighbours */
  for (int k = b->first[p + 1]; k < b->first[p + 2]; k++)
    if (b->neighbour[k] == q) return false;
  return true;
}

static void add_pair(const perp_broad *b, perp_pair_lane *l, int i, int j)
{
  if (l->full || !perp_broad_may_touch(b, i, j)) return;
  if (l->n == l->cap) {
    size_t cap = 2 * (size_t)l->cap + 1024;
    perp_shape_pair *pair = cap > 1 << 29 ? NULL : realloc(l->pair, cap * sizeof *pair);
    l->full = pair == NULL;
    if (l->full) return;
    l->pair = pair;
    l->cap = (int)cap;
  }
  l->pair[l->n++] = i < j ? (perp_shape_pair){ i, j } : (perp_shape_pair){ j, i };
}

/* Pairs by (a, b): of a share of the shapes a, counting sort by a, then insertion within. */
static void sort_share(void *user, int member, int members)
{
  perp_broad *b = user;
  const int first = perp_share(b->n, member, members), end = perp_share(b->n, member + 1, members);
  int before = 0, *count = b->count;
  for (int a = first; a < end; a++) count[a] = 0;
  for (int l = 0; l < PERP_BROAD_LANES; l++)
    for (int i = 0; i < b->lane[l].n; i++) {
      const int a = b->lane[l].pair[i].a;
      if (a < first)
        before++;
      else if (a < end)
        count[a]++;
    }
  const int start = before;
  for (int a = first, sum = before; a < end; a++) {
    const int n = count[a];
    count[a] = sum;
    sum += n;
  }
  for (int l = 0; l < PERP_BROAD_LANES; l++)
    for (int i = 0; i < b->lane[l].n; i++) {
      const perp_shape_pair x = b->lane[l].pair[i];
      if (x.a >= first && x.a < end) b->pair[count[x.a]++] = x;
    }
  for (int i = start + 1; end > first && i < count[end - 1]; i++) {
    perp_shape_pair x = b->pair[i];
    int j = i;
    for (; j > start && b->pair[j - 1].a == x.a && b->pair[j - 1].b > x.b; j--)
      b->pair[j] = b->pair[j - 1];
    b->pair[j] = x;
  }
}

/* ---- grid ---- */

static double extent_of(const perp_bounds *b)
{
  return fmax(b->hi[0] - b->lo[0], fmax(b->hi[1] - b->lo[1], b->hi[2] - b->lo[2]));
}

/* cells beyond 2^30 fall together, which keeps neighbours neighbours */
static void broad_cell_of(const perp_bounds *b, double size, int cell[3])
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

/* the grown boxes of a share of the shapes */
static void grow_share(void *user, int member, int members)
{
  perp_broad *b = user;
  const int end = perp_share(b->n, member + 1, members);
  for (int i = perp_share(b->n, member, members); i < end; i++) {
    b->fat[i] = b->box[i];
    if (b->model->shape[i].kind == PERP_SHAPE_PLANE) continue;
    const double extent = extent_of(&b->box[i]), way = SLACK_STEPS * b->moved[i];
    const double slack = fmin(fmax(way, SLACK_MIN * extent), SLACK_MAX * extent);
    for (int k = 0; k < 3; k++) b->fat[i].lo[k] -= slack, b->fat[i].hi[k] += slack;
    b->size[i] = log(extent_of(&b->fat[i]));
  }
}

/* levels, cells and buckets of a share of the entries */
static void place_share(void *user, int member, int members)
{
  perp_broad *b = user;
  const int end = perp_share(b->n_entries, member + 1, members);
  for (int i = perp_share(b->n_entries, member, members); i < end; i++) {
    perp_grid_entry *e = &b->entry[i];
    e->fat = b->fat[e->shape];
    const double extent = extent_of(&e->fat);
    for (e->level = 0; e->level < PERP_GRID_LEVELS - 1 && b->cell[e->level] < extent; e->level++)
      continue;
    broad_cell_of(&e->fat, b->cell[e->level], e->cell);
    b->at[i] = bucket_of(b, e->level, e->cell);
  }
}

static void fill_grid(perp_broad *b, int threads)
{
  double mean = 0;
  int n = 0;
  memset(b->members, 0, sizeof b->members);
  memset(b->bucket, 0, (size_t)(b->mask + 2) * sizeof *b->bucket);
  for (int i = 0; i < b->n; i++) {
    if (b->model->shape[i].kind == PERP_SHAPE_PLANE) continue;
    mean += b->size[i];
    b->entry[n++].shape = i;
  }
  /* the geometric mean: a floor among pebbles does not count for more than one */
  b->cell[0] = n > 0 ? 1.25 * exp(mean / n) : 1;
  for (int l = 1; l < PERP_GRID_LEVELS; l++) b->cell[l] = 2 * b->cell[l - 1];
  b->n_entries = n;
  perp_team(threads, place_share, b);
  for (int i = 0; i < n; i++) {
    b->members[b->entry[i].level]++;
    b->bucket[b->at[i] + 1]++;
  }
  for (int i = 0; i <= b->mask; i++) b->bucket[i + 1] += b->bucket[i];
  /* from the end of each bucket: its start is right when all are in, shifted by one */
  for (int i = n - 1; i >= 0; i--) b->sorted[--b->bucket[b->at[i] + 1]] = b->entry[i];
  memmove(b->bucket, b->bucket + 1, (size_t)(b->mask + 1) * sizeof *b->bucket);
  b->bucket[b->mask + 1] = n;
}

static void broad_meet(const perp_broad *b, perp_pair_lane *l, const perp_grid_entry *e,
                       const perp_grid_entry *f)
{
  if (perp_bounds_overlap(&e->fat, &f->fat)) add_pair(b, l, e->shape, f->shape);
}

/* an entry against the members of one cell, those behind `after` only */
static void broad_meet_cell(const perp_broad *b, perp_pair_lane *l, const perp_grid_entry *e,
                            int level, const int cell[3], int after)
{
  int at = bucket_of(b, level, cell), end = b->bucket[at + 1];
  for (int k = after >= 0 ? after + 1 : b->bucket[at]; k < end; k++) {
    const perp_grid_entry *f = &b->sorted[k];
    if (f->cell[0] == cell[0] && f->cell[1] == cell[1] && f->cell[2] == cell[2] &&
        f->level == level)
      broad_meet(b, l, e, f);
  }
}

static void meet_neighbours(const perp_broad *b, perp_pair_lane *l, int at)
{
  const perp_grid_entry *e = &b->sorted[at];
  for (int level = e->level; level < PERP_GRID_LEVELS; level++) {
    if (b->members[level] <= FEW) continue;
    int centre[3], cell[3];
    broad_cell_of(&e->fat, b->cell[level], centre);
    /* in its own level only the cells after its own, and of its own those after it */
    for (int k = level == e->level ? 13 : 0; k < 27; k++) {
      cell[0] = centre[0] + k % 3 - 1;
      cell[1] = centre[1] + k / 3 % 3 - 1;
      cell[2] = centre[2] + k / 9 - 1;
      bool own = k == 13 && level == e->level;
      broad_meet_cell(b, l, e, level, cell, own ? at : -1);
    }
  }
}

static void meet_few(const perp_broad *b, perp_pair_lane *l, int i)
{
  const perp_grid_entry *e = &b->sorted[i];
  if (b->members[e->level] > FEW) return;
  for (int j = 0; j < b->n_entries; j++) {
    const perp_grid_entry *f = &b->sorted[j];
    if (f->level < e->level || (f->level == e->level && j < i)) broad_meet(b, l, e, f);
  }
}

/* lowest point of a box above a plane */
static double broad_above(const perp_bounds *box, const double n[3], double height)
{
  double low = 0;
  for (int k = 0; k < 3; k++) low += n[k] * (n[k] > 0 ? box->lo[k] : box->hi[k]);
  return low - height;
}

/* planes at the poses for which the list is built */
static void lay_planes(perp_broad *b, const perp_pose *pose)
{
  for (int p = 0; p < b->n_planes; p++)
    perp_lift(b->model->dim, &pose[b->model->shape[b->planes[p]].body], &b->plane_pose[p]);
}

static void meet_planes(const perp_broad *b, perp_pair_lane *l, int first, int end)
{
  for (int p = 0; p < b->n_planes; p++) {
    const perp_shape *plane = &b->model->shape[b->planes[p]];
    const perp_pose *at = &b->plane_pose[p];
    double n[3], o[3];
    perp_turn(3, at->R, plane->axis, n);
    perp_place(at, plane->c, o);
    const double height = perp_dot(3, n, o);
    for (int i = first; i < end; i++)
      if (b->model->shape[i].kind != PERP_SHAPE_PLANE &&
          broad_above(&b->fat[i], n, height) <= b->reach)
        add_pair(b, l, b->planes[p], i);
  }
}

/* the pairs of a share of the entries with those behind them, and of a share of
 * the shapes with planes */
static void meet_share(void *user, int member, int members)
{
  perp_broad *b = user;
  perp_pair_lane *l = &b->lane[member];
  const int first = perp_share(b->n_entries, member, members),
            end = perp_share(b->n_entries, member + 1, members);
  for (int i = first; i < end; i++) {
    meet_neighbours(b, l, i);
    meet_few(b, l, i);
  }
  /* in the order of shapes, as a plane may have very many pairs to be sorted */
  meet_planes(b, l, perp_share(b->n, member, members), perp_share(b->n, member + 1, members));
}

/* ---- the list ---- */

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

static perp_status broad_build(perp_ctx *ctx, perp_broad *b, const perp_pose *pose, int threads)
{
  bool full = false;
  size_t pairs = 0;
  perp_team(threads, grow_share, b);
  fill_grid(b, threads);
  lay_planes(b, pose);
  b->n_pairs = 0;
  for (int i = 0; i < PERP_BROAD_LANES; i++) b->lane[i].n = 0, b->lane[i].full = false;
  perp_team(threads, meet_share, b);
  for (int i = 0; i < PERP_BROAD_LANES; i++) {
    pairs += (size_t)b->lane[i].n;
    full = full || b->lane[i].full;
  }
  if (!full && pairs > (size_t)b->cap_pairs) {
    const size_t cap = pairs + pairs / 2;
    perp_shape_pair *pair = cap > 1 << 29 ? NULL : realloc(b->pair, cap * sizeof *pair);
    full = pair == NULL;
    if (!full) b->pair = pair, b->cap_pairs = (int)cap;
  }
  if (full) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %zu pairs of shapes", pairs);
  b->n_pairs = (int)pairs;
  perp_team(threads, sort_share, b);
  return PERP_OK;
}

/* one member's share of a look at all shapes */
typedef struct look {
  perp_broad *b;
  const perp_pose *pose;
  bool left; /* some shape has left its grown box */
  int bad;   /* the first shape whose pose is not finite, n: none */
} look;

static void broad_look_at(perp_broad *b, const perp_pose *pose, int i, look *found)
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
    broad_look_at(all->b, all->pose, i, &found);
  if (found.left) __atomic_store_n(&all->left, true, __ATOMIC_RELAXED);
  if (found.bad < all->b->n) __atomic_store_n(&all->bad, found.bad, __ATOMIC_RELAXED);
}

perp_status perp_broad_update(perp_ctx *ctx, perp_broad *b, const perp_pose *pose)
{
  look all = { .b = b, .pose = pose, .bad = b->n };
  int threads = ctx != NULL && b->n >= TEAM_SHAPES ? ctx->threads : 1;
  if (threads > PERP_BROAD_LANES) threads = PERP_BROAD_LANES;
  perp_team(threads, look_share, &all);
  if (all.bad < b->n) {
    b->listed = false;
    look_share(&all, 0, 1); /* the first one, whoever was first to say so */
    return PERP_FAIL(ctx, PERP_ERR_ARG, "collision: the pose of shape %d is not finite", all.bad);
  }
  b->seen = true;
  if (b->listed && b->margin <= b->reach && !all.left && !planes_moved(b, pose)) return PERP_OK;
  b->listed = false; /* unless the build succeeds */
  b->reach = REACH * b->margin;
  PERP_TRY(broad_build(ctx, b, pose, threads));
  b->listed = true;
  return PERP_OK;
}
