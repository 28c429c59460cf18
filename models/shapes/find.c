/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All shapes: the broad phase, then the narrow phase pair by pair in the order of the pairs. */
#include "models/shapes/broad.h"

#include <stdlib.h>

struct perp_collision {
  perp_broad broad;
  perp_contact *contact;
  int n_contacts, cap_contacts;
  int64_t pairs; /* of the last find, handed to the narrow phase */
};

void perp_collision_destroy(perp_collision *c)
{
  if (c == NULL) return;
  perp_broad_free(&c->broad);
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
  perp_collision *c = calloc(1, sizeof *c);
  if (c == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for collision detection");
  perp_status status = perp_broad_init(ctx, &c->broad, model, margin);
  c->cap_contacts = 8 * (model->n_shapes + 8);
  c->contact = malloc((size_t)c->cap_contacts * sizeof *c->contact);
  if (status == PERP_OK && c->contact == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", c->cap_contacts);
  if (status != PERP_OK) {
    perp_collision_destroy(c);
    return status;
  }
  *out = c;
  return PERP_OK;
}

void perp_collision_margin(perp_collision *c, double margin)
{
  if (margin != c->broad.margin) c->broad.listed = false;
  c->broad.margin = margin;
}

void perp_collision_counters(const perp_collision *c, int64_t *pairs, int64_t *contacts)
{
  *pairs = c->pairs;
  *contacts = c->n_contacts;
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

perp_status perp_collision_find(perp_ctx *ctx, perp_collision *c, const perp_pose *pose,
                                const perp_contact **contacts, int *n)
{
  const perp_broad *b = &c->broad;
  const perp_model *m = b->model;
  *contacts = c->contact;
  *n = c->n_contacts = 0;
  c->pairs = 0;
  PERP_TRY(perp_broad_update(ctx, &c->broad, pose));
  for (int k = 0; k < b->n_pairs; k++) {
    int i = b->pair[k].a, j = b->pair[k].b;
    if (!worth_asking(b, i, j)) continue;
    if (c->n_contacts + PERP_MANIFOLD_MAX > c->cap_contacts) {
      size_t cap = 2 * (size_t)c->cap_contacts;
      perp_contact *contact = cap > 1 << 29 ? NULL : realloc(c->contact, cap * sizeof *contact);
      if (contact == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %zu contacts", cap);
      c->contact = contact;
      c->cap_contacts = (int)cap;
    }
    c->pairs++;
    c->n_contacts += perp_collide(m, i, &pose[m->shape[i].body], j, &pose[m->shape[j].body],
                                  b->margin, c->contact + c->n_contacts);
  }
  *contacts = c->contact;
  *n = c->n_contacts;
  return PERP_OK;
}

double perp_collision_deepest(perp_ctx *ctx, perp_collision *c, const perp_pose *pose)
{
  const perp_broad *b = &c->broad;
  const perp_model *m = b->model;
  double low = HUGE_VAL;
  c->n_contacts = 0;
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
