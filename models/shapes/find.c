/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All shapes: the broad phase, then the narrow phase pair by pair in the order of the pairs. */
#include "models/shapes/broad.h"

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

struct perp_collision {
  perp_broad broad;
  lane lane[LANES]; /* the first one has all contacts in the end */
  const perp_pose *pose;
  const unsigned char *rest;
  int64_t pairs;
};

/* for n contacts at least */
static bool room(lane *l, int n)
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
  if (!model->finished) return PERP_FAIL(ctx, PERP_ERR_ARG, "the model is not finished");
  if (!(margin >= 0) || !isfinite(margin))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "collision: margin must be in [0, inf): got %g m", margin);
  perp_collision *c = calloc(1, sizeof *c);
  if (c == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection");
  perp_status status = perp_broad_init(ctx, &c->broad, model, margin);
  if (status == PERP_OK && !room(&c->lane[0], 8 * (model->n_shapes + 8)))
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
  c->broad.margin = margin;
}

void perp_collision_rest(perp_collision *c, const unsigned char *rest)
{
  c->rest = rest;
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

/* centres of two spheres farther apart than the margin by more than rounding; else nothing is
 * said */
static bool spheres_apart(const perp_broad *b, int i, int j)
{
  const perp_shape *s = &b->model->shape[i], *t = &b->model->shape[j];
  if (s->kind != PERP_SHAPE_SPHERE || t->kind != PERP_SHAPE_SPHERE) return false;
  const perp_bounds *p = &b->box[i], *q = &b->box[j];
  double d2 = 0, scale = 0, reach = s->radius + t->radius + b->margin;
  for (int k = 0; k < 3; k++) {
    double x = 0.5 * (p->lo[k] + p->hi[k]), y = 0.5 * (q->lo[k] + q->hi[k]);
    d2 += (x - y) * (x - y);
    scale += fabs(x);
  }
  reach += 1e-12 * (reach + scale);
  return d2 > reach * reach;
}

static bool worth_asking(const perp_broad *b, int i, int j)
{
  return perp_bounds_overlap(&b->box[i], &b->box[j]) && !spheres_apart(b, i, j);
}

static bool rests(const perp_collision *c, int shape)
{
  const int body = c->broad.model->shape[shape].body;
  return body == PERP_WORLD || c->rest[body];
}

/* a contiguous share of the pairs, in order */
static void find_share(void *user, int member, int members)
{
  perp_collision *c = user;
  const perp_broad *b = &c->broad;
  const perp_model *m = b->model;
  lane *l = &c->lane[member];
  const int end = perp_share(b->n_pairs, member + 1, members);
  for (int k = perp_share(b->n_pairs, member, members); k < end; k++) {
    int i = b->pair[k].a, j = b->pair[k].b;
    if (c->rest != NULL && rests(c, i) && rests(c, j)) continue;
    if (!worth_asking(b, i, j)) continue;
    if (!room(l, l->n + PERP_MANIFOLD_MAX)) {
      l->full = true;
      return;
    }
    l->pairs++;
    l->n += perp_collide(m, i, &c->pose[m->shape[i].body], j, &c->pose[m->shape[j].body], b->margin,
                         l->contact + l->n);
  }
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
  bool full = all->full;
  for (int i = 1; i < LANES; i++) {
    const lane *l = &c->lane[i];
    full = full || l->full || !room(all, all->n + l->n);
    if (full) break;
    if (l->n > 0) memcpy(all->contact + all->n, l->contact, (size_t)l->n * sizeof *l->contact);
    all->n += l->n;
    all->pairs += l->pairs;
  }
  if (full) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts and more", all->n);
  c->pairs = all->pairs;
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
  if (perp_broad_update(ctx, &c->broad, pose) != PERP_OK) return NAN;
  for (int k = 0; k < b->n_pairs; k++) {
    int i = b->pair[k].a, j = b->pair[k].b;
    if (!worth_asking(b, i, j)) continue;
    c->pairs++;
    low = fmin(low, perp_shape_distance(m, i, &pose[m->shape[i].body], j, &pose[m->shape[j].body],
                                        NULL, NULL, NULL));
  }
  return low;
}
