/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What two surfaces have with each other: a rule for all, and pairs of materials that have numbers
 * of their own. */
#include "models/multibody/model_private.h"
#include "models/geometry/shapes_private.h"

#include <stdlib.h>
#include <string.h>

perp_status perp_model_friction(perp_ctx *ctx, perp_model *model, perp_friction_rule rule)
{
  PERP_TRY(perp_model_building(ctx, model));
  if (rule < PERP_FRICTION_GEOMETRIC || rule > PERP_FRICTION_MEAN)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "unknown rule for the friction of pairs: %d", (int)rule);
  model->friction = rule;
  return PERP_OK;
}

perp_friction_rule perp_model_friction_of(const perp_model *model)
{
  return model->friction;
}

/* Where the pair of a <= b is, or belongs. */
static int surfaces_place(const perp_model *model, int a, int b, bool *there)
{
  int lo = 0, hi = model->n_pairs;
  while (lo < hi) {
    const int mid = (lo + hi) / 2;
    const perp_material_pair *p = &model->pair[mid];
    if (p->a < a || (p->a == a && p->b < b))
      lo = mid + 1;
    else
      hi = mid;
  }
  *there = lo < model->n_pairs && model->pair[lo].a == a && model->pair[lo].b == b;
  return lo;
}

void perp_surface_couples(const perp_model *model, int shape_a, int shape_b, double *torsion,
                          double *rolling)
{
  const perp_surface pair = perp_surface_pair(model, &model->shape_def[shape_a].surface,
                                              &model->shape_def[shape_b].surface);
  *torsion = pair.torsion;
  *rolling = pair.rolling;
}

perp_status perp_model_add_pair(perp_ctx *ctx, perp_model *model, int a, int b,
                                const perp_surface *surface)
{
  char who[64];
  perp_material_pair pair = { a < b ? a : b, a < b ? b : a, *surface };
  snprintf(who, sizeof who, "the pair of materials %d and %d", a, b);
  PERP_TRY(perp_model_building(ctx, model));
  if (pair.a < 1 || pair.b > PERP_MATERIALS_MAX)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: materials are numbered from 1 to %d", who,
                     PERP_MATERIALS_MAX);
  if (isnan(surface->mu) && !isnan(surface->mu_dynamic))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: mu_dynamic of a pair needs mu as well", who);
  if (isnan(surface->mu) && surface->mu_across > 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: mu_across of a pair needs mu as well", who);
  perp_surface check = { .mu = isnan(surface->mu) ? 0 : surface->mu,
                         .mu_dynamic = surface->mu_dynamic,
                         .mu_across = isnan(surface->mu_across) ? 0 : surface->mu_across,
                         .along = { 1 }, /* that of the shape */
                         .restitution = isnan(surface->restitution) ? 0 : surface->restitution,
                         .torsion = isnan(surface->torsion) ? 0 : surface->torsion,
                         .rolling = isnan(surface->rolling) ? 0 : surface->rolling };
  PERP_TRY(perp_surface_check(ctx, model->dim, &check, who));
  if (!isnan(surface->mu)) pair.surface.mu_dynamic = check.mu_dynamic;
  pair.surface.material = 0;
  bool there;
  const int at = surfaces_place(model, pair.a, pair.b, &there);
  if (there) return PERP_FAIL(ctx, PERP_ERR_ARG, "%s is defined twice", who);
  perp_material_pair *more = realloc(model->pair, (size_t)(model->n_pairs + 1) * sizeof *more);
  if (more == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for pairs of materials");
  model->pair = more;
  memmove(more + at + 1, more + at, (size_t)(model->n_pairs - at) * sizeof *more);
  more[at] = pair;
  model->n_pairs++;
  model->rolling = model->rolling || check.rolling > 0;
  model->couples = model->couples || check.torsion > 0 || check.rolling > 0;
  return PERP_OK;
}

const perp_surface *perp_model_pair(const perp_model *model, int i, int *a, int *b)
{
  if (i < 0 || i >= model->n_pairs) return NULL;
  *a = model->pair[i].a;
  *b = model->pair[i].b;
  return &model->pair[i].surface;
}

static double surfaces_friction(perp_friction_rule rule, double a, double b)
{
  if (a == b) return a;
  switch (rule) {
  case PERP_FRICTION_MAXIMUM:
    return fmax(a, b);
  case PERP_FRICTION_MINIMUM:
    return fmin(a, b);
  case PERP_FRICTION_MEAN:
    return (a + b) / 2;
  default:
    return sqrt(a * b);
  }
}

perp_surface perp_surface_pair_of(const perp_model *model, const perp_surface *a,
                                  const perp_surface *b)
{
  perp_surface s = { .mu = surfaces_friction(model->friction, a->mu, b->mu),
                     .mu_dynamic = surfaces_friction(model->friction, a->mu_dynamic, b->mu_dynamic),
                     .restitution = fmax(a->restitution, b->restitution),
                     .torsion = fmax(a->torsion, b->torsion),
                     .rolling = fmax(a->rolling, b->rolling) };
  bool there = false;
  const int i = a->material < b->material ? surfaces_place(model, a->material, b->material, &there)
                                          : surfaces_place(model, b->material, a->material, &there);
  if (!there) return s;
  const perp_surface *own = &model->pair[i].surface;
  if (!isnan(own->mu)) s.mu = own->mu, s.mu_dynamic = own->mu_dynamic;
  if (!isnan(own->restitution)) s.restitution = own->restitution;
  if (!isnan(own->torsion)) s.torsion = own->torsion;
  if (!isnan(own->rolling)) s.rolling = own->rolling;
  return s;
}

double perp_surface_anisotropy(const perp_model *model, int shape_a, int shape_b, int *shape)
{
  const perp_surface *a = &model->shape_def[shape_a].surface,
                     *b = &model->shape_def[shape_b].surface;
  *shape = a->mu_across > 0 ? shape_a : shape_b;
  if (!(a->mu_across > 0) && !(b->mu_across > 0)) return 1;
  bool there = false;
  const int i = a->material < b->material ? surfaces_place(model, a->material, b->material, &there)
                                          : surfaces_place(model, b->material, a->material, &there);
  if (there && !isnan(model->pair[i].surface.mu)) {
    const perp_surface *own = &model->pair[i].surface;
    return own->mu_across > 0 && own->mu > 0 ? own->mu_across / own->mu : 1;
  }
  const double along = surfaces_friction(model->friction, a->mu, b->mu);
  const double across = surfaces_friction(model->friction, a->mu_across > 0 ? a->mu_across : a->mu,
                                          b->mu_across > 0 ? b->mu_across : b->mu);
  return along > 0 ? across / along : 1; /* no friction in all directions: mu of the pair is 0 */
}

perp_status perp_surfaces_check(perp_ctx *ctx, const perp_model *model)
{
  for (int i = 0; i < model->n_shapes && model->anisotropic; i++)
    for (int j = 0; j < i; j++) {
      const perp_shape_def *a = &model->shape_def[i], *b = &model->shape_def[j];
      if (a->body == b->body || (a->group != 0 && a->group == b->group)) continue;
      if (a->surface.mu_across > 0 && b->surface.mu_across > 0)
        return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                         "shapes %d and %d both have anisotropic friction (mu_across): of two that "
                         "may touch, one at most may have it",
                         j, i);
    }
  return PERP_OK;
}

bool perp_model_collides(const perp_model *model)
{
  for (int i = 0; i < model->n_shapes; i++)
    for (int j = 0; j < i; j++) {
      const perp_shape_def *a = &model->shape_def[i], *b = &model->shape_def[j];
      if (a->body != b->body && (a->group == 0 || a->group != b->group)) return true;
    }
  return false;
}
