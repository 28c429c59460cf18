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

void perp_collision_destroy(perp_collision *collision)
{
  if (collision == NULL) return;
  perp_broad_free(&collision->broad);
  for (int i = 0; i < LANES; i++) free(collision->lane[i].contact);
  free(collision);
}

perp_status perp_collision_create(perp_ctx *ctx, const perp_model *model, double margin,
                                  perp_collision **out)
{
  *out = NULL;
  if (!model->building.finished)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the model is not finished: call perp_model_finish first");
  if (!(margin >= 0) || !isfinite(margin))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "collision: margin must be in [0, inf): got %g m", margin);
  perp_collision *collision = calloc(1, sizeof *collision);
  if (collision == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection");
  collision->held = model->sim.held;
  perp_status status = perp_broad_init(ctx, &collision->broad, model, margin);
  if (status == PERP_OK && !find_room(&collision->lane[0], 8 * (model->n_shapes + 8)))
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for contacts");
  if (status != PERP_OK) {
    perp_collision_destroy(collision);
    return status;
  }
  *out = collision;
  return PERP_OK;
}

void perp_collision_margin(perp_collision *collision, double margin)
{
  collision->broad.margin = margin + collision->tolerance;
}

void perp_collision_tolerance(perp_collision *collision, double tolerance)
{
  collision->broad.margin += tolerance - collision->tolerance;
  collision->tolerance = tolerance;
}

void perp_collision_rest(perp_collision *collision, const unsigned char *rest)
{
  collision->rest = rest;
}

bool perp_collision_may_touch(const perp_collision *collision, int shape_a, int shape_b)
{
  return perp_broad_may_touch(&collision->broad, shape_a, shape_b);
}

bool perp_collision_crosses(const perp_collision *collision, const double *q0, const double *q1,
                            double target, perp_pair_filter *skip, void *user)
{
  return perp_broad_crosses(&collision->broad, q0, q1, target, skip, user);
}

void perp_collision_counters(const perp_collision *collision, int64_t *pairs, int64_t *contacts)
{
  *pairs = collision->pairs;
  *contacts = collision->lane[0].n;
}

/* Not for pairs that are farther apart than the margin by more than rounding. */
static bool worth_asking(const perp_broad *broad, int i, int j)
{
  const perp_ball *p = &broad->ball[i], *q = &broad->ball[j];
  if (p->radius < 0 || q->radius < 0) return perp_bounds_overlap(&broad->box[i], &broad->box[j]);
  const double x = q->x[0] - p->x[0], y = q->x[1] - p->x[1], z = q->x[2] - p->x[2];
  const double reach = (p->radius + q->radius + broad->margin) * (1 + 1e-12);
  return !(x * x + y * y + z * z > reach * reach);
}

/* contacts of a pair, written behind those of the lane */
static int find_ask(const perp_collision *collision, int i, int j, perp_contact *out)
{
  const perp_broad *broad = &collision->broad;
  const perp_ball *p = &broad->ball[i], *q = &broad->ball[j];
  if (p->radius < 0 || q->radius < 0)
    return perp_collide(broad->model, i, &collision->pose[p->body], j, &collision->pose[q->body],
                        broad->margin, out);
  perp_touch touch;
  if (!perp_ball_ball(p->x, p->radius, q->x, q->radius, broad->margin, &touch)) return 0;
  const perp_surface on_p = perp_ball_surface(p), on_q = perp_ball_surface(q);
  const perp_surface surface = perp_surface_pair(broad->model, &on_p, &on_q);
  perp_contact_write(i, p->body, j, q->body, &surface, &touch, out);
  return 1;
}

/* n contacts of the shapes become those of the grown ones: both points move along the normal. */
static void find_grow(const perp_collision *collision, perp_contact *contact, int n)
{
  for (int i = 0; i < n; i++) {
    contact[i].gap -= collision->tolerance;
    for (int k = 0; k < 3; k++) {
      contact[i].p[0][k] += 0.5 * collision->tolerance * contact[i].n[k];
      contact[i].p[1][k] -= 0.5 * collision->tolerance * contact[i].n[k];
    }
  }
}

static bool find_rests(const perp_collision *collision, int shape)
{
  const int body = collision->broad.ball[shape].body;
  return body == PERP_WORLD || (collision->rest != NULL && collision->rest[body]) ||
         (collision->held != NULL && collision->held[body]);
}

static void ask_share(perp_collision *collision, lane *l, int first, int end)
{
  const perp_broad *broad = &collision->broad;
  for (int k = first; k < end; k++) {
    int i = broad->pair[k].a, j = broad->pair[k].b;
    if (k + AHEAD < end) __builtin_prefetch(&broad->ball[broad->pair[k + AHEAD].b]);
    if ((collision->rest != NULL || collision->held != NULL) && find_rests(collision, i) &&
        find_rests(collision, j))
      continue;
    if (!worth_asking(broad, i, j)) continue;
    if (!find_room(l, l->n + PERP_MANIFOLD_MAX)) {
      l->full = true;
      return;
    }
    l->pairs++;
    const int found = find_ask(collision, i, j, l->contact + l->n);
    if (collision->tolerance > 0) find_grow(collision, l->contact + l->n, found);
    l->n += found;
  }
}

/* A contiguous share of the pairs, in order; then all contacts in one list. */
static void find_share(void *user, int member, int members)
{
  perp_collision *collision = user;
  const int pairs = collision->broad.n_pairs;
  ask_share(collision, &collision->lane[member], perp_share(pairs, member, members),
            perp_share(pairs, member + 1, members));
  perp_team_wait(members);
  if (member == 0) {
    collision->total = 0;
    collision->full = false;
    for (int i = 0; i < LANES; i++) {
      collision->total += collision->lane[i].n;
      collision->full = collision->full || collision->lane[i].full;
    }
    collision->full = collision->full || !find_room(&collision->lane[0], collision->total);
  }
  perp_team_wait(members);
  const int others = collision->total - collision->lane[0].n;
  if (!collision->full) {
    /* what the lanes but the first have, all in a row from `first` to `end`, behind the contacts of
     * the first lane */
    const int first = perp_share(others, member, members);
    const int end = perp_share(others, member + 1, members);
    const int own = collision->lane[0].n;
    for (int i = 1, start = 0; i < LANES && start < end; start += collision->lane[i++].n) {
      const lane *l = &collision->lane[i];
      const int from = first > start ? first - start : 0,
                to = end - start < l->n ? end - start : l->n;
      if (from < to)
        memcpy(collision->lane[0].contact + own + start + from, l->contact + from,
               (size_t)(to - from) * sizeof *l->contact);
    }
  }
}

perp_status perp_collision_find(perp_ctx *ctx, perp_collision *collision, const perp_pose *pose,
                                const perp_contact **contacts, int *n)
{
  lane *all = &collision->lane[0];
  *contacts = all->contact;
  *n = 0;
  collision->pairs = 0;
  for (int i = 0; i < LANES; i++)
    collision->lane[i].n = 0, collision->lane[i].pairs = 0, collision->lane[i].full = false;
  PERP_TRY(perp_broad_update(ctx, &collision->broad, pose));
  collision->pose = pose;
  const int threads = ctx->threads < LANES ? ctx->threads : LANES;
  perp_team(collision->broad.n_pairs >= TEAM_PAIRS ? threads : 1, find_share, collision);
  if (collision->full)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for more than %d contacts", collision->total);
  for (int i = 0; i < LANES; i++) collision->pairs += collision->lane[i].pairs;
  all->n = collision->total;
  *contacts = all->contact;
  *n = all->n;
  return PERP_OK;
}

double perp_collision_deepest(perp_ctx *ctx, perp_collision *collision, const perp_pose *pose)
{
  const perp_broad *broad = &collision->broad;
  const perp_model *model = broad->model;
  double low = HUGE_VAL;
  collision->lane[0].n = 0;
  collision->pairs = 0;
  if (perp_broad_update(ctx, &collision->broad, pose) != PERP_OK) return (double)NAN;
  for (int k = 0; k < broad->n_pairs; k++) {
    int i = broad->pair[k].a, j = broad->pair[k].b;
    if (!worth_asking(broad, i, j)) continue;
    collision->pairs++;
    low = fmin(low, perp_shape_distance(model, i, &pose[model->shape[i].body], j,
                                        &pose[model->shape[j].body], NULL, NULL, NULL));
  }
  return low;
}
