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

static perp_status penalty_found_serves(perp_ctx *ctx, const perp_penalty_found *found)
{
  for (int shape = 1; shape < found->model->n_shapes; shape++)
    for (int a = 0; a < shape; a++)
      if (perp_collision_may_touch(found->collision, a, shape) &&
          !perp_overlap_serves(found->model, a, shape) &&
          !(found->model->shape_def[a].kind == PERP_SHAPE_PLANE &&
            found->model->shape_def[shape].kind == PERP_SHAPE_PLANE))
        return PERP_FAIL(
            ctx, PERP_ERR_UNSUPPORTED,
            "penalty:overlap=volume: the overlap of shape %d (%s) and shape %d (%s) has no closed "
            "form; it has one for a plane with a sphere, box, polytope or ellipsoid, and for two "
            "spheres: use overlap=depth",
            a, penalty_found_name(found->model, a), shape, penalty_found_name(found->model, shape));
  return PERP_OK;
}

perp_status perp_penalty_found_open(perp_ctx *ctx, perp_penalty_found *found)
{
  PERP_TRY(perp_collision_create(ctx, found->model, 0, &found->collision));
  return found->law->volume ? penalty_found_serves(ctx, found) : PERP_OK;
}

void perp_penalty_found_close(perp_penalty_found *found)
{
  perp_collision_destroy(found->collision);
  free(found->pair);
  free(found->room);
}

void perp_penalty_found_forget(perp_penalty_found *found)
{
  found->n = 0;
  found->known = false;
}

static perp_status penalty_found_reserve(perp_ctx *ctx, perp_penalty_found *found, int n)
{
  if (n <= found->cap) return PERP_OK;
  const size_t cap = (size_t)n + (size_t)n / 2 + 16;
  free(found->pair);
  free(found->room);
  found->pair = malloc(cap * sizeof *found->pair);
  found->room = malloc(cap * sizeof *found->room);
  found->cap = found->pair != NULL && found->room != NULL ? (int)cap : 0;
  return found->cap > 0 ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", n);
}

perp_status perp_penalty_found_near(perp_ctx *ctx, perp_penalty_found *found, const perp_eval *eval,
                                    double margin)
{
  found->known = found->inside = false;
  perp_collision_margin(found->collision, margin);
  PERP_TRY(perp_collision_find(ctx, found->collision, eval->pose, &found->contact, &found->n));
  PERP_TRY(penalty_found_reserve(ctx, found, found->n));
  if (found->law->volume) {
    /* One contact for each pair of the contacts that were found. */
    int n = 0;
    for (int i = 0, end; i < found->n; i = end) {
      const perp_contact *contact = &found->contact[i];
      perp_overlap overlap;
      for (end = i + 1; end < found->n && perp_contact_pair(found->contact[end].id) ==
                                              perp_contact_pair(contact->id);)
        end++;
      perp_overlap_of(found->model, contact->shape[0], &eval->pose[contact->body[0]],
                      contact->shape[1], &eval->pose[contact->body[1]], &overlap);
      found->inside |= overlap.volume > 0 && !(overlap.area > 0);
      if (!(overlap.volume > 0 && overlap.area > 0)) continue;
      perp_contact *pair = &found->pair[n];
      *pair = *contact;
      pair->id = perp_contact_pair(contact->id) << 24;
      pair->gap = -overlap.volume / overlap.area;
      memcpy(pair->n, overlap.n, sizeof pair->n);
      for (int side = 0; side < 2; side++) memcpy(pair->p[side], overlap.p, sizeof overlap.p);
      found->room[n++] = perp_penalty_volume(found->law, overlap.volume, overlap.area);
    }
    found->contact = found->pair;
    found->n = n;
  } else
    for (int i = 0; i < found->n; i++)
      found->room[i] = perp_penalty_depth(found->law, -found->contact[i].gap);
  found->spring = found->room;
  return PERP_OK;
}

perp_status perp_penalty_found_at(perp_ctx *ctx, perp_penalty_found *found, const perp_eval *eval,
                                  double t, const double *q)
{
  const size_t size = (size_t)found->model->nq * sizeof *q;
  if (found->known && t == found->t && memcmp(q, found->q, size) == 0) return PERP_OK;
  PERP_TRY(perp_penalty_found_near(ctx, found, eval, 0));
  memcpy(found->q, q, size);
  found->t = t;
  found->known = true;
  return PERP_OK;
}
