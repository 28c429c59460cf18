/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/multibody/subset.h"

#include <string.h>

static void subset_layout(void *subset, perp_arena *arena)
{
  perp_subset *s = subset;
  s->body = PERP_CARVE(arena, int, s->n_bodies);
  s->joint = PERP_CARVE(arena, int, s->whole->n_joints);
  s->drive = PERP_CARVE(arena, int, s->whole->n_drives);
  s->shape = PERP_CARVE(arena, int, s->whole->n_shapes);
}

/* The number in the subset of a body of the whole: the world is in every subset, -2 is outside. */
enum { OUTSIDE = -2 };
static int subset_find(const perp_subset *subset, int body)
{
  if (body == PERP_WORLD) return PERP_WORLD;
  int lo = 0, hi = subset->n_bodies - 1;
  while (lo <= hi) {
    int mid = (lo + hi) / 2;
    if (subset->body[mid] == body) return mid;
    if (subset->body[mid] < body)
      lo = mid + 1;
    else
      hi = mid - 1;
  }
  return OUTSIDE;
}

/* Renumber the two bodies of a part; *inside is false, and they are untouched, when neither is in
 * the subset. */
static perp_status subset_pair(perp_ctx *ctx, const perp_subset *subset, const char *what, int i,
                               int *a, int *b, bool *inside)
{
  const int sa = subset_find(subset, *a), sb = subset_find(subset, *b);
  *inside = sa >= 0 || sb >= 0;
  if (!*inside) return PERP_OK;
  if (sa == OUTSIDE || sb == OUTSIDE)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s %d connects bodies %d and %d, one of which is outside of the subset", what,
                     i, *a, *b);
  *a = sa;
  *b = sb;
  return PERP_OK;
}

/* The same of an element of a plug-in: its bodies to own [PERP_ELEMENT_BODIES]. */
static perp_status subset_all(perp_ctx *ctx, const perp_subset *subset, const char *what, int i,
                              int n, const int **body, int *own, bool *inside)
{
  int in = 0, outside = 0;
  for (int k = 0; k < n; k++) {
    own[k] = subset_find(subset, (*body)[k]);
    if (own[k] >= 0) in++;
    if (own[k] == OUTSIDE) outside++;
  }
  *inside = in > 0;
  if (*inside && outside > 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s %d connects %d bodies, %d of which are outside of the subset", what, i, n,
                     outside);
  *body = own;
  return PERP_OK;
}

static perp_status add_parts(perp_ctx *ctx, perp_subset *subset)
{
  const perp_model *whole = subset->whole;
  perp_model *model = subset->model;
  bool inside;
  int own[PERP_ELEMENT_BODIES];
  model->gravity = whole->gravity;
  model->surfaces.friction = whole->surfaces.friction;
  for (int i = 0; i < whole->surfaces.n_pairs; i++)
    PERP_TRY(perp_model_add_pair(ctx, model, whole->surfaces.pair[i].a, whole->surfaces.pair[i].b,
                                 &whole->surfaces.pair[i].surface));
  for (int body = 0; body < subset->n_bodies; body++) {
    const perp_body_def *def = &whole->body_def[subset->body[body]];
    PERP_TRY(perp_model_add_body(ctx, model, def, NULL));
    /* the numbers of the whole, not normalized a second time */
    memcpy(model->body_def[body].quat, def->quat, sizeof def->quat);
  }
  for (int i = 0; i < whole->n_joints; i++) {
    perp_joint_def def = whole->joint_def[i];
    if (def.kind == PERP_JOINT_PLUGIN)
      PERP_TRY(subset_all(ctx, subset, "joint", i, def.n_bodies, &def.body, own, &inside));
    else
      PERP_TRY(subset_pair(ctx, subset, "joint", i, &def.a, &def.b, &inside));
    if (!inside) continue;
    PERP_TRY(perp_model_add_joint(ctx, model, &def, NULL));
    perp_axes_renumber(model, subset->n_joints, subset->joint, subset->n_joints);
    subset->joint[subset->n_joints++] = i;
  }
  for (int drive = 0; drive < whole->n_drives; drive++) {
    perp_drive_def def = whole->drive_def[drive];
    int joint;
    for (joint = 0; joint < subset->n_joints && subset->joint[joint] != def.joint;) joint++;
    if (joint == subset->n_joints) continue;
    def.joint = joint;
    PERP_TRY(perp_model_add_drive(ctx, model, &def, NULL));
    subset->drive[subset->n_drives++] = drive;
  }
  for (int force = 0; force < whole->n_forces; force++) {
    perp_force_def def = whole->force_def[force];
    if (def.kind == PERP_FORCE_PLUGIN)
      PERP_TRY(subset_all(ctx, subset, "force", force, def.n_bodies, &def.body, own, &inside));
    else
      PERP_TRY(subset_pair(ctx, subset, "force", force, &def.a, &def.b, &inside));
    if (inside) PERP_TRY(perp_model_add_force(ctx, model, &def));
  }
  for (int shape = 0; shape < whole->n_shapes; shape++) {
    perp_shape_def def = whole->shape_def[shape];
    def.body = subset_find(subset, def.body);
    if (def.body == OUTSIDE) continue;
    PERP_TRY(perp_model_add_shape(ctx, model, &def, NULL));
    memcpy(model->shape_def[subset->n_shapes].quat, def.quat, sizeof def.quat);
    subset->shape[subset->n_shapes++] = shape;
  }
  for (int i = 0; i < whole->no_contact.n; i++) {
    const perp_no_contact *pair = &whole->no_contact.pair[i];
    const int a = subset_find(subset, pair->a), b = subset_find(subset, pair->b);
    if (a == OUTSIDE || b == OUTSIDE) continue;
    PERP_TRY(perp_model_add_no_contact(ctx, model, a, b, pair->depth));
  }
  return perp_model_finish(ctx, model);
}

perp_status perp_subset_create(perp_ctx *ctx, const perp_model *whole, const int *bodies, int n,
                               perp_subset *out)
{
  *out = (perp_subset){ .whole = whole, .n_bodies = n };
  perp_status status = perp_model_create(ctx, whole->dim, &out->model);
  if (status == PERP_OK) status = perp_arena_layout(ctx, &out->arena, subset_layout, out);
  if (status == PERP_OK) {
    memcpy(out->body, bodies, (size_t)n * sizeof *bodies);
    status = add_parts(ctx, out);
  }
  if (status != PERP_OK) perp_subset_destroy(out);
  return status;
}

void perp_subset_destroy(perp_subset *subset)
{
  perp_model_destroy(subset->model);
  perp_arena_free(&subset->arena);
  *subset = (perp_subset){ 0 };
}

void perp_subset_gather(const perp_subset *subset, const double *q, const double *v, double *q_sub,
                        double *v_sub)
{
  const int nq = subset->whole->nqb, nv = subset->whole->nvb;
  for (int body = 0; body < subset->n_bodies; body++) {
    memcpy(q_sub + nq * body, q + nq * subset->body[body], (size_t)nq * sizeof *q);
    memcpy(v_sub + nv * body, v + nv * subset->body[body], (size_t)nv * sizeof *v);
  }
}

void perp_subset_scatter(const perp_subset *subset, const double *q_sub, const double *v_sub,
                         double *q, double *v)
{
  const int nq = subset->whole->nqb, nv = subset->whole->nvb;
  for (int body = 0; body < subset->n_bodies; body++) {
    memcpy(q + nq * subset->body[body], q_sub + nq * body, (size_t)nq * sizeof *q);
    memcpy(v + nv * subset->body[body], v_sub + nv * body, (size_t)nv * sizeof *v);
  }
}
