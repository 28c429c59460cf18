/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All shapes: the broad phase, then the narrow phase pair by pair in the order of the pairs. */
#include "models/collision/broad.h"
#include "models/collision/overlap.h"

#include <stdlib.h>
#include <string.h>

/* contacts of one member of the team */
typedef struct lane {
  perp_contact *contact;
  int n, cap;
  int64_t pairs; /* of the last find, handed to the narrow phase */
  bool full;     /* there was no memory for more */
} lane;

enum { LANES = 16, TEAM_PAIRS = 2000 };
enum { AHEAD = 8 }; /* pairs */

struct perp_collision {
  perp_broad broad;
  lane lane[LANES]; /* the first one has all contacts in the end */
  const perp_pose *pose;
  const unsigned char *rest;
  const unsigned char *held; /* of the model */
  double tolerance;
  int64_t pairs;
  int total; /* contacts of all lanes */
  bool full;
};

/* for n contacts at least */
static bool find_room(lane *l, int n)
{
  if (n <= l->cap) return true;
  size_t cap = (size_t)n + (size_t)n / 2;
  perp_contact *contact = cap > 1 << 29 ? NULL : realloc(l->contact, cap * sizeof *contact);
  if (contact == NULL) return false;
  l->contact = contact;
  l->cap = (int)cap;
  return true;
}

void perp_collision_destroy(perp_collision *c)
{
  if (c == NULL) return;
  perp_broad_free(&c->broad);
  for (int i = 0; i < LANES; i++) free(c->lane[i].contact);
  free(c);
}

perp_status perp_collision_create(perp_ctx *ctx, const perp_model *model, double margin,
                                  perp_collision **out)
{
  *out = NULL;
  if (!model->building.finished)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the model is not finished: call perp_model_finish first");
  if (!(margin >= 0) || !isfinite(margin))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "collision: margin must be in [0, inf): got %g m", margin);
  perp_collision *c = calloc(1, sizeof *c);
  if (c == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection");
  c->held = model->sim.held;
  perp_status status = perp_broad_init(ctx, &c->broad, model, margin);
  if (status == PERP_OK && !find_room(&c->lane[0], 8 * (model->n_shapes + 8)))
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for contacts");
  if (status != PERP_OK) {
    perp_collision_destroy(c);
    return status;
  }
  *out = c;
  return PERP_OK;
}

void perp_collision_margin(perp_collision *c, double margin)
{
  c->broad.margin = margin + c->tolerance;
}

void perp_collision_tolerance(perp_collision *c, double tolerance)
{
  c->broad.margin += tolerance - c->tolerance;
  c->tolerance = tolerance;
}

void perp_collision_rest(perp_collision *c, const unsigned char *rest)
{
  c->rest = rest;
}

bool perp_collision_may_touch(const perp_collision *c, int shape_a, int shape_b)
{
  return perp_broad_may_touch(&c->broad, shape_a, shape_b);
}

bool perp_collision_crosses(const perp_collision *c, const double *q0, const double *q1,
                            double target, perp_pair_filter *skip, void *user)
{
  return perp_broad_crosses(&c->broad, q0, q1, target, skip, user);
}

void perp_collision_counters(const perp_collision *c, int64_t *pairs, int64_t *contacts)
{
  *pairs = c->pairs;
  *contacts = c->lane[0].n;
}

/* Not for pairs that are farther apart than the margin by more than rounding. */
static bool worth_asking(const perp_broad *b, int i, int j)
{
  const perp_ball *p = &b->ball[i], *q = &b->ball[j];
  if (p->radius < 0 || q->radius < 0) return perp_bounds_overlap(&b->box[i], &b->box[j]);
  const double x = q->x[0] - p->x[0], y = q->x[1] - p->x[1], z = q->x[2] - p->x[2];
  const double reach = (p->radius + q->radius + b->margin) * (1 + 1e-12);
  return !(x * x + y * y + z * z > reach * reach);
}

/* contacts of a pair, written behind those of the lane */
static int find_ask(const perp_collision *c, int i, int j, perp_contact *out)
{
  const perp_broad *b = &c->broad;
  const perp_ball *p = &b->ball[i], *q = &b->ball[j];
  if (p->radius < 0 || q->radius < 0)
    return perp_collide(b->model, i, &c->pose[p->body], j, &c->pose[q->body], b->margin, out);
  perp_touch t;
  if (!perp_ball_ball(p->x, p->radius, q->x, q->radius, b->margin, &t)) return 0;
  const perp_surface on_p = perp_ball_surface(p), on_q = perp_ball_surface(q);
  const perp_surface surface = perp_surface_pair(b->model, &on_p, &on_q);
  perp_contact_write(i, p->body, j, q->body, &surface, &t, out);
  return 1;
}

/* n contacts of the shapes become those of the grown ones: both points move along the normal. */
static void find_grow(const perp_collision *c, perp_contact *x, int n)
{
  for (int i = 0; i < n; i++) {
    x[i].gap -= c->tolerance;
    for (int k = 0; k < 3; k++) {
      x[i].p[0][k] += 0.5 * c->tolerance * x[i].n[k];
      x[i].p[1][k] -= 0.5 * c->tolerance * x[i].n[k];
    }
  }
}

static bool find_rests(const perp_collision *c, int shape)
{
  const int body = c->broad.ball[shape].body;
  return body == PERP_WORLD || (c->rest != NULL && c->rest[body]) ||
         (c->held != NULL && c->held[body]);
}

static void ask_share(perp_collision *c, lane *l, int first, int end)
{
  const perp_broad *b = &c->broad;
  for (int k = first; k < end; k++) {
    int i = b->pair[k].a, j = b->pair[k].b;
    if (k + AHEAD < end) __builtin_prefetch(&b->ball[b->pair[k + AHEAD].b]);
    if ((c->rest != NULL || c->held != NULL) && find_rests(c, i) && find_rests(c, j)) continue;
    if (!worth_asking(b, i, j)) continue;
    if (!find_room(l, l->n + PERP_MANIFOLD_MAX)) {
      l->full = true;
      return;
    }
    l->pairs++;
    const int found = find_ask(c, i, j, l->contact + l->n);
    if (c->tolerance > 0) find_grow(c, l->contact + l->n, found);
    l->n += found;
  }
}

/* what the lanes but the first have, all in a row from `first` to `end`, behind the contacts of the
 * first lane */
static void join_share(perp_collision *c, int first, int end)
{
  const int own = c->lane[0].n;
  for (int i = 1, start = 0; i < LANES && start < end; start += c->lane[i++].n) {
    const lane *l = &c->lane[i];
    const int from = first > start ? first - start : 0,
              to = end - start < l->n ? end - start : l->n;
    if (from < to)
      memcpy(c->lane[0].contact + own + start + from, l->contact + from,
             (size_t)(to - from) * sizeof *l->contact);
  }
}

/* A contiguous share of the pairs, in order; then all contacts in one list. */
static void find_share(void *user, int member, int members)
{
  perp_collision *c = user;
  const int pairs = c->broad.n_pairs;
  ask_share(c, &c->lane[member], perp_share(pairs, member, members),
            perp_share(pairs, member + 1, members));
  perp_team_wait(members);
  if (member == 0) {
    c->total = 0;
    c->full = false;
    for (int i = 0; i < LANES; i++) {
      c->total += c->lane[i].n;
      c->full = c->full || c->lane[i].full;
    }
    c->full = c->full || !find_room(&c->lane[0], c->total);
  }
  perp_team_wait(members);
  const int others = c->total - c->lane[0].n;
  if (!c->full)
    join_share(c, perp_share(others, member, members), perp_share(others, member + 1, members));
}

perp_status perp_collision_find(perp_ctx *ctx, perp_collision *c, const perp_pose *pose,
                                const perp_contact **contacts, int *n)
{
  lane *all = &c->lane[0];
  *contacts = all->contact;
  *n = 0;
  c->pairs = 0;
  for (int i = 0; i < LANES; i++) c->lane[i].n = 0, c->lane[i].pairs = 0, c->lane[i].full = false;
  PERP_TRY(perp_broad_update(ctx, &c->broad, pose));
  c->pose = pose;
  const int threads = ctx->threads < LANES ? ctx->threads : LANES;
  perp_team(c->broad.n_pairs >= TEAM_PAIRS ? threads : 1, find_share, c);
  if (c->full)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for more than %d contacts", c->total);
  for (int i = 0; i < LANES; i++) c->pairs += c->lane[i].pairs;
  all->n = c->total;
  *contacts = all->contact;
  *n = all->n;
  return PERP_OK;
}

double perp_collision_deepest(perp_ctx *ctx, perp_collision *c, const perp_pose *pose)
{
  const perp_broad *b = &c->broad;
  const perp_model *m = b->model;
  double low = HUGE_VAL;
  c->lane[0].n = 0;
  c->pairs = 0;
  if (perp_broad_update(ctx, &c->broad, pose) != PERP_OK) return (double)NAN;
  for (int k = 0; k < b->n_pairs; k++) {
    int i = b->pair[k].a, j = b->pair[k].b;
    if (!worth_asking(b, i, j)) continue;
    c->pairs++;
    low = fmin(low, perp_shape_distance(m, i, &pose[m->shape[i].body], j, &pose[m->shape[j].body],
                                        NULL, NULL, NULL));
  }
  return low;
}
