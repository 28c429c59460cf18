/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/penalty/penalty_found.h"

#include "models/collision/overlap.h"

#include <stdlib.h>
#include <string.h>

static const char *penalty_found_name(const perp_model *model, int shape)
{
  const char *name = model->shape_def[shape].name;
  return name != NULL ? name : "without a name";
}

static perp_status penalty_found_serves(perp_ctx *ctx, const perp_penalty_found *f)
{
  for (int b = 1; b < f->model->n_shapes; b++)
    for (int a = 0; a < b; a++)
      if (perp_collision_may_touch(f->collision, a, b) && !perp_overlap_serves(f->model, a, b) &&
          !(f->model->shape_def[a].kind == PERP_SHAPE_PLANE &&
            f->model->shape_def[b].kind == PERP_SHAPE_PLANE))
        return PERP_FAIL(
            ctx, PERP_ERR_UNSUPPORTED,
            "penalty:overlap=volume: the overlap of shape %d (%s) and shape %d (%s) has no closed "
            "form; it has one for a plane with a sphere, box, polytope or ellipsoid, and for two "
            "spheres: use overlap=depth",
            a, penalty_found_name(f->model, a), b, penalty_found_name(f->model, b));
  return PERP_OK;
}

perp_status perp_penalty_found_open(perp_ctx *ctx, perp_penalty_found *f)
{
  PERP_TRY(perp_collision_create(ctx, f->model, 0, &f->collision));
  return f->law->volume ? penalty_found_serves(ctx, f) : PERP_OK;
}

void perp_penalty_found_close(perp_penalty_found *f)
{
  perp_collision_destroy(f->collision);
  free(f->pair);
  free(f->room);
}

void perp_penalty_found_forget(perp_penalty_found *f)
{
  f->n = 0;
  f->known = false;
}

static perp_status penalty_found_reserve(perp_ctx *ctx, perp_penalty_found *f, int n)
{
  if (n <= f->cap) return PERP_OK;
  const size_t cap = (size_t)n + (size_t)n / 2 + 16;
  free(f->pair);
  free(f->room);
  f->pair = malloc(cap * sizeof *f->pair);
  f->room = malloc(cap * sizeof *f->room);
  f->cap = f->pair != NULL && f->room != NULL ? (int)cap : 0;
  return f->cap > 0 ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", n);
}

perp_status perp_penalty_found_near(perp_ctx *ctx, perp_penalty_found *f, const perp_eval *e,
                                    double margin)
{
  f->known = f->inside = false;
  perp_collision_margin(f->collision, margin);
  PERP_TRY(perp_collision_find(ctx, f->collision, e->pose, &f->contact, &f->n));
  PERP_TRY(penalty_found_reserve(ctx, f, f->n));
  if (f->law->volume) {
    /* One contact for each pair of the contacts that were found. */
    int n = 0;
    for (int i = 0, end; i < f->n; i = end) {
      const perp_contact *x = &f->contact[i];
      perp_overlap o;
      for (end = i + 1;
           end < f->n && perp_contact_pair(f->contact[end].id) == perp_contact_pair(x->id);)
        end++;
      perp_overlap_of(f->model, x->shape[0], &e->pose[x->body[0]], x->shape[1],
                      &e->pose[x->body[1]], &o);
      f->inside |= o.volume > 0 && !(o.area > 0);
      if (!(o.volume > 0 && o.area > 0)) continue;
      perp_contact *pair = &f->pair[n];
      *pair = *x;
      pair->id = perp_contact_pair(x->id) << 24;
      pair->gap = -o.volume / o.area;
      memcpy(pair->n, o.n, sizeof pair->n);
      for (int side = 0; side < 2; side++) memcpy(pair->p[side], o.p, sizeof o.p);
      f->room[n++] = perp_penalty_volume(f->law, o.volume, o.area);
    }
    f->contact = f->pair;
    f->n = n;
  } else
    for (int i = 0; i < f->n; i++) f->room[i] = perp_penalty_depth(f->law, -f->contact[i].gap);
  f->spring = f->room;
  return PERP_OK;
}

perp_status perp_penalty_found_at(perp_ctx *ctx, perp_penalty_found *f, const perp_eval *e,
                                  double t, const double *q)
{
  const size_t size = (size_t)f->model->nq * sizeof *q;
  if (f->known && t == f->t && memcmp(q, f->q, size) == 0) return PERP_OK;
  PERP_TRY(perp_penalty_found_near(ctx, f, e, 0));
  memcpy(f->q, q, size);
  f->t = t;
  f->known = true;
  return PERP_OK;
}
