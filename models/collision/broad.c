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

static void broad_join(perp_broad *broad)
{
  const perp_model *model = broad->model;
  int pair[2], n;
  for (int i = 0; i < model->n_joints; i++) {
    const int *body = perp_joint_bodies(&model->joint_def[i], pair, &n);
    for (int p = 0; p < n && !model->joint_def[i].collide; p++) broad->first[body[p] + 1] += n - 1;
  }
  int sum = 0;
  for (int i = 0; i <= model->n_bodies; i++) {
    sum += broad->first[i];
    broad->first[i] = sum;
  }
  broad->first[model->n_bodies + 1] = sum;
  for (int i = 0; i < model->n_joints; i++) {
    const int *body = perp_joint_bodies(&model->joint_def[i], pair, &n);
    for (int p = 0; p < n && !model->joint_def[i].collide; p++)
      for (int q = 0; q < n; q++)
        if (q != p) broad->neighbour[--broad->first[body[p] + 1]] = body[q];
  }
}

/* entries of all lists of neighbours */
static size_t broad_neighbours(const perp_model *model)
{
  size_t sum = 0;
  int pair[2], n;
  for (int i = 0; i < model->n_joints; i++) {
    perp_joint_bodies(&model->joint_def[i], pair, &n);
    sum += (size_t)n * (size_t)(n - 1);
  }
  return sum;
}

perp_status perp_broad_init(perp_ctx *ctx, perp_broad *broad, const perp_model *model,
                            double margin)
{
  const int n = model->n_shapes;
  *broad = (perp_broad){ .model = model, .n = n, .margin = margin };
  broad->cap_pairs = 8 * (n + 8);
  for (broad->mask = 15; broad->mask < 2 * n; broad->mask = 2 * broad->mask + 1) continue;
  size_t size = (size_t)n + 2;
  broad->box = calloc(size, sizeof *broad->box);
  broad->fat = calloc(size, sizeof *broad->fat);
  _Static_assert(sizeof *broad->ball == 64, "a line of the cache");
  broad->ball = aligned_alloc(sizeof *broad->ball, size * sizeof *broad->ball);
  broad->tag = calloc(size, sizeof *broad->tag);
  broad->moved = calloc(size, sizeof *broad->moved);
  broad->planes = calloc(size, sizeof *broad->planes);
  broad->count = calloc(size, sizeof *broad->count);
  broad->entry = calloc(size, sizeof *broad->entry);
  broad->sorted = calloc(size, sizeof *broad->sorted);
  broad->bucket = calloc((size_t)broad->mask + 2, sizeof *broad->bucket);
  broad->neighbour = calloc(broad_neighbours(model) + 1, sizeof *broad->neighbour);
  broad->first = calloc((size_t)model->n_bodies + 3, sizeof *broad->first);
  broad->pair = calloc((size_t)broad->cap_pairs, sizeof *broad->pair);
  broad->lane[0].pair = calloc((size_t)broad->cap_pairs, sizeof *broad->pair);
  broad->lane[0].cap = broad->cap_pairs;
  broad->size = calloc(size, sizeof *broad->size);
  broad->at = calloc(size, sizeof *broad->at);
  if (broad->box == NULL || broad->fat == NULL || broad->ball == NULL || broad->tag == NULL ||
      broad->moved == NULL || broad->planes == NULL || broad->count == NULL ||
      broad->entry == NULL || broad->sorted == NULL || broad->bucket == NULL ||
      broad->neighbour == NULL || broad->first == NULL || broad->pair == NULL ||
      broad->lane[0].pair == NULL || broad->size == NULL || broad->at == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection of %d shapes", n);
  for (int i = 0; i < n; i++)
    broad->ball[i] = (perp_ball){
      .radius = model->shape[i].kind == PERP_SHAPE_SPHERE ? model->shape[i].radius : -1,
      .mu = model->shape_def[i].surface.mu,
      .mu_dynamic = model->shape_def[i].surface.mu_dynamic,
      .restitution = model->shape_def[i].surface.restitution,
      .material = model->shape_def[i].surface.material,
      .body = model->shape[i].body,
    };
  for (int i = 0; i < n; i++)
    if (model->shape[i].kind == PERP_SHAPE_PLANE) broad->planes[broad->n_planes++] = i;
  broad->plane_pose = calloc((size_t)broad->n_planes + 1, sizeof *broad->plane_pose);
  if (broad->plane_pose == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection of %d planes",
                     broad->n_planes);
  broad_join(broad);
  for (int i = 0; i < n; i++) {
    const perp_shape_def *def = &model->shape_def[i];
    broad->tag[i] = (perp_tag){ .body = def->body,
                                .group = def->group,
                                .joined = broad->first[def->body + 1] < broad->first[def->body + 2],
                                .collide_joined = def->collide_joined };
    for (int k = 0; k < model->no_contact.n && !broad->tag[i].no_contact; k++)
      broad->tag[i].no_contact = model->no_contact.pair[k].a == def->body ||
                                 model->no_contact.pair[k].b == def->body;
  }
  return PERP_OK;
}

void perp_broad_free(perp_broad *broad)
{
  free(broad->box);
  free(broad->fat);
  free(broad->ball);
  free(broad->tag);
  free(broad->moved);
  free(broad->planes);
  free(broad->plane_pose);
  free(broad->count);
  free(broad->entry);
  free(broad->sorted);
  free(broad->bucket);
  free(broad->neighbour);
  free(broad->first);
  free(broad->pair);
  free(broad->size);
  free(broad->at);
  for (int i = 0; i < PERP_BROAD_LANES; i++) free(broad->lane[i].pair);
}

/* ---- pairs ---- */

bool perp_broad_may_touch(const perp_broad *broad, int i, int j)
{
  const perp_tag *d = &broad->tag[i], *e = &broad->tag[j];
  int p = d->body, q = e->body;
  if (p == q || (d->group != 0 && d->group == e->group)) return false;
  if (d->no_contact && e->no_contact && perp_model_no_contact(broad->model, p, q)) return false;
  if (d->collide_joined || e->collide_joined || !d->joined || !e->joined) return true;
  if (p == PERP_WORLD) p = q, q = PERP_WORLD; /* the world may have many neighbours */
  for (int k = broad->first[p + 1]; k < broad->first[p + 2]; k++)
    if (broad->neighbour[k] == q) return false;
  return true;
}

static void add_pair(const perp_broad *broad, perp_pair_lane *lane, int i, int j)
{
  if (lane->full || !perp_broad_may_touch(broad, i, j)) return;
  if (lane->n == lane->cap) {
    size_t cap = 2 * (size_t)lane->cap + 1024;
    perp_shape_pair *pair = cap > 1 << 29 ? NULL : realloc(lane->pair, cap * sizeof *pair);
    lane->full = pair == NULL;
    if (lane->full) return;
    lane->pair = pair;
    lane->cap = (int)cap;
  }
  lane->pair[lane->n++] = i < j ? (perp_shape_pair){ i, j } : (perp_shape_pair){ j, i };
}

/* Pairs by (a, b): of a share of the shapes a, counting sort by a, then insertion within. */
static void sort_share(void *user, int member, int members)
{
  perp_broad *broad = user;
  const int first = perp_share(broad->n, member, members),
            end = perp_share(broad->n, member + 1, members);
  int before = 0, *count = broad->count;
  for (int a = first; a < end; a++) count[a] = 0;
  for (int l = 0; l < PERP_BROAD_LANES; l++)
    for (int i = 0; i < broad->lane[l].n; i++) {
      const int a = broad->lane[l].pair[i].a;
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
    for (int i = 0; i < broad->lane[l].n; i++) {
      const perp_shape_pair pair = broad->lane[l].pair[i];
      if (pair.a >= first && pair.a < end) broad->pair[count[pair.a]++] = pair;
    }
  for (int i = start + 1; end > first && i < count[end - 1]; i++) {
    perp_shape_pair pair = broad->pair[i];
    int j = i;
    for (; j > start && broad->pair[j - 1].a == pair.a && broad->pair[j - 1].b > pair.b; j--)
      broad->pair[j] = broad->pair[j - 1];
    broad->pair[j] = pair;
  }
}

/* ---- grid ---- */

static double extent_of(const perp_bounds *bounds)
{
  return fmax(bounds->hi[0] - bounds->lo[0],
              fmax(bounds->hi[1] - bounds->lo[1], bounds->hi[2] - bounds->lo[2]));
}

/* cells beyond 2^30 fall together, which keeps neighbours neighbours */
static void broad_cell_of(const perp_bounds *bounds, double size, int cell[3])
{
  for (int k = 0; k < 3; k++) {
    double x = floor(0.5 * (bounds->lo[k] + bounds->hi[k]) / size);
    cell[k] = (int)fmin(fmax(x, -(1 << 30)), 1 << 30);
  }
}

static int bucket_of(const perp_broad *broad, int level, const int cell[3])
{
  uint32_t h = (uint32_t)cell[0] * 73856093u ^ (uint32_t)cell[1] * 19349663u ^
               (uint32_t)cell[2] * 83492791u ^ (uint32_t)level * 2654435761u;
  return (int)((h ^ h >> 15) & (uint32_t)broad->mask);
}

/* the grown boxes of a share of the shapes */
static void grow_share(void *user, int member, int members)
{
  perp_broad *broad = user;
  const int end = perp_share(broad->n, member + 1, members);
  for (int i = perp_share(broad->n, member, members); i < end; i++) {
    broad->fat[i] = broad->box[i];
    if (broad->model->shape[i].kind == PERP_SHAPE_PLANE) continue;
    const double extent = extent_of(&broad->box[i]), way = SLACK_STEPS * broad->moved[i];
    const double slack = fmin(fmax(way, SLACK_MIN * extent), SLACK_MAX * extent);
    for (int k = 0; k < 3; k++) broad->fat[i].lo[k] -= slack, broad->fat[i].hi[k] += slack;
    broad->size[i] = log(extent_of(&broad->fat[i]));
  }
}

/* levels, cells and buckets of a share of the entries */
static void place_share(void *user, int member, int members)
{
  perp_broad *broad = user;
  const int end = perp_share(broad->n_entries, member + 1, members);
  for (int i = perp_share(broad->n_entries, member, members); i < end; i++) {
    perp_grid_entry *entry = &broad->entry[i];
    entry->fat = broad->fat[entry->shape];
    const double extent = extent_of(&entry->fat);
    for (entry->level = 0;
         entry->level < PERP_GRID_LEVELS - 1 && broad->cell[entry->level] < extent; entry->level++)
      continue;
    broad_cell_of(&entry->fat, broad->cell[entry->level], entry->cell);
    broad->at[i] = bucket_of(broad, entry->level, entry->cell);
  }
}

static void fill_grid(perp_broad *broad, int threads)
{
  double mean = 0;
  int n = 0;
  memset(broad->members, 0, sizeof broad->members);
  memset(broad->bucket, 0, (size_t)(broad->mask + 2) * sizeof *broad->bucket);
  for (int i = 0; i < broad->n; i++) {
    if (broad->model->shape[i].kind == PERP_SHAPE_PLANE) continue;
    mean += broad->size[i];
    broad->entry[n++].shape = i;
  }
  /* the geometric mean: a floor among pebbles does not count for more than one */
  broad->cell[0] = n > 0 ? 1.25 * exp(mean / n) : 1;
  for (int l = 1; l < PERP_GRID_LEVELS; l++) broad->cell[l] = 2 * broad->cell[l - 1];
  broad->n_entries = n;
  perp_team(threads, place_share, broad);
  for (int i = 0; i < n; i++) {
    broad->members[broad->entry[i].level]++;
    broad->bucket[broad->at[i] + 1]++;
  }
  for (int i = 0; i <= broad->mask; i++) broad->bucket[i + 1] += broad->bucket[i];
  /* from the end of each bucket: its start is right when all are in, shifted by one */
  for (int i = n - 1; i >= 0; i--)
    broad->sorted[--broad->bucket[broad->at[i] + 1]] = broad->entry[i];
  memmove(broad->bucket, broad->bucket + 1, (size_t)(broad->mask + 1) * sizeof *broad->bucket);
  broad->bucket[broad->mask + 1] = n;
}

static void broad_meet(const perp_broad *broad, perp_pair_lane *lane, const perp_grid_entry *e,
                       const perp_grid_entry *f)
{
  if (perp_bounds_overlap(&e->fat, &f->fat)) add_pair(broad, lane, e->shape, f->shape);
}

/* an entry against the members of one cell, those behind `after` only */
static void broad_meet_cell(const perp_broad *broad, perp_pair_lane *lane, const perp_grid_entry *e,
                            int level, const int cell[3], int after)
{
  int at = bucket_of(broad, level, cell), end = broad->bucket[at + 1];
  for (int k = after >= 0 ? after + 1 : broad->bucket[at]; k < end; k++) {
    const perp_grid_entry *entry = &broad->sorted[k];
    if (entry->cell[0] == cell[0] && entry->cell[1] == cell[1] && entry->cell[2] == cell[2] &&
        entry->level == level)
      broad_meet(broad, lane, e, entry);
  }
}

static void meet_few(const perp_broad *broad, perp_pair_lane *lane, int i)
{
  const perp_grid_entry *e = &broad->sorted[i];
  if (broad->members[e->level] > FEW) return;
  for (int j = 0; j < broad->n_entries; j++) {
    const perp_grid_entry *f = &broad->sorted[j];
    if (f->level < e->level || (f->level == e->level && j < i)) broad_meet(broad, lane, e, f);
  }
}

/* lowest point of a box above a plane */
static double broad_above(const perp_bounds *box, const double n[3], double height)
{
  double low = 0;
  for (int k = 0; k < 3; k++) low += n[k] * (n[k] > 0 ? box->lo[k] : box->hi[k]);
  return low - height;
}

static void meet_planes(const perp_broad *broad, perp_pair_lane *lane, int first, int end)
{
  for (int p = 0; p < broad->n_planes; p++) {
    const perp_shape *plane = &broad->model->shape[broad->planes[p]];
    const perp_pose *at = &broad->plane_pose[p];
    double n[3], o[3];
    perp_turn(3, at->R, plane->axis, n);
    perp_place(at, plane->c, o);
    const double height = perp_dot(3, n, o);
    for (int i = first; i < end; i++)
      if (broad->model->shape[i].kind != PERP_SHAPE_PLANE &&
          broad_above(&broad->fat[i], n, height) <= broad->reach)
        add_pair(broad, lane, broad->planes[p], i);
  }
}

/* the pairs of a share of the entries with those behind them, and of a share of
 * the shapes with planes */
static void meet_share(void *user, int member, int members)
{
  perp_broad *broad = user;
  perp_pair_lane *lane = &broad->lane[member];
  const int first = perp_share(broad->n_entries, member, members),
            end = perp_share(broad->n_entries, member + 1, members);
  for (int i = first; i < end; i++) {
    const perp_grid_entry *entry = &broad->sorted[i];
    for (int level = entry->level; level < PERP_GRID_LEVELS; level++) {
      if (broad->members[level] <= FEW) continue;
      int centre[3], cell[3];
      broad_cell_of(&entry->fat, broad->cell[level], centre);
      /* in its own level only the cells after its own, and of its own those after it */
      for (int k = level == entry->level ? 13 : 0; k < 27; k++) {
        cell[0] = centre[0] + k % 3 - 1;
        cell[1] = centre[1] + k / 3 % 3 - 1;
        cell[2] = centre[2] + k / 9 - 1;
        bool own = k == 13 && level == entry->level;
        broad_meet_cell(broad, lane, entry, level, cell, own ? i : -1);
      }
    }
    meet_few(broad, lane, i);
  }
  /* in the order of shapes, as a plane may have very many pairs to be sorted */
  meet_planes(broad, lane, perp_share(broad->n, member, members),
              perp_share(broad->n, member + 1, members));
}

/* ---- the list ---- */

static bool planes_moved(const perp_broad *broad, const perp_pose *pose)
{
  for (int p = 0; p < broad->n_planes; p++) {
    int body = broad->model->shape[broad->planes[p]].body;
    if (body == PERP_WORLD) continue;
    perp_pose at;
    perp_lift(broad->model->dim, &pose[body], &at);
    if (memcmp(&at, &broad->plane_pose[p], sizeof at) != 0) return true;
  }
  return false;
}

static perp_status broad_build(perp_ctx *ctx, perp_broad *broad, const perp_pose *pose, int threads)
{
  bool full = false;
  size_t pairs = 0;
  perp_team(threads, grow_share, broad);
  fill_grid(broad, threads);
  /* planes at the poses for which the list is built */
  for (int p = 0; p < broad->n_planes; p++)
    perp_lift(broad->model->dim, &pose[broad->model->shape[broad->planes[p]].body],
              &broad->plane_pose[p]);
  broad->n_pairs = 0;
  for (int i = 0; i < PERP_BROAD_LANES; i++) broad->lane[i].n = 0, broad->lane[i].full = false;
  perp_team(threads, meet_share, broad);
  for (int i = 0; i < PERP_BROAD_LANES; i++) {
    pairs += (size_t)broad->lane[i].n;
    full = full || broad->lane[i].full;
  }
  if (!full && pairs > (size_t)broad->cap_pairs) {
    const size_t cap = pairs + pairs / 2;
    perp_shape_pair *pair = cap > 1 << 29 ? NULL : realloc(broad->pair, cap * sizeof *pair);
    full = pair == NULL;
    if (!full) broad->pair = pair, broad->cap_pairs = (int)cap;
  }
  if (full) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %zu pairs of shapes", pairs);
  broad->n_pairs = (int)pairs;
  perp_team(threads, sort_share, broad);
  return PERP_OK;
}

/* one member's share of a look at all shapes */
typedef struct look {
  perp_broad *b;
  const perp_pose *pose;
  bool left; /* some shape has left its grown box */
  int bad;   /* the first shape whose pose is not finite, n: none */
} look;

static void broad_look_at(perp_broad *broad, const perp_pose *pose, int i, look *found)
{
  const perp_shape *shape = &broad->model->shape[i];
  const double grow = 0.5 * broad->margin;
  perp_bounds *box = &broad->box[i], now;
  const perp_bounds *fat = &broad->fat[i];
  perp_pose at;
  if (broad->model->dim == 2) perp_lift(2, &pose[shape->body], &at);
  const perp_pose *lifted = broad->model->dim == 2 ? &at : &pose[shape->body];
  perp_shape_bounds(shape, lifted, now.lo, now.hi);
  if (shape->kind == PERP_SHAPE_SPHERE) perp_place(lifted, shape->c, broad->ball[i].x);
  if (shape->kind == PERP_SHAPE_PLANE) {
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
  broad->moved[i] = broad->seen ? moved : 0;
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

perp_status perp_broad_update(perp_ctx *ctx, perp_broad *broad, const perp_pose *pose)
{
  look all = { .b = broad, .pose = pose, .bad = broad->n };
  int threads = ctx != NULL && broad->n >= TEAM_SHAPES ? ctx->threads : 1;
  if (threads > PERP_BROAD_LANES) threads = PERP_BROAD_LANES;
  perp_team(threads, look_share, &all);
  if (all.bad < broad->n) {
    broad->listed = false;
    look_share(&all, 0, 1); /* the first one, whoever was first to say so */
    return PERP_FAIL(ctx, PERP_ERR_ARG, "collision: the pose of shape %d is not finite", all.bad);
  }
  broad->seen = true;
  if (broad->listed && broad->margin <= broad->reach && !all.left && !planes_moved(broad, pose))
    return PERP_OK;
  broad->listed = false; /* unless the build succeeds */
  broad->reach = REACH * broad->margin;
  PERP_TRY(broad_build(ctx, broad, pose, threads));
  broad->listed = true;
  return PERP_OK;
}
