/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/force_gradient.h"

#include "models/multibody/model_private.h"

#include <lapacke.h>
#include <string.h>

/* Directions with less of the largest stiffness have none. */
static const double LEAST = 1e-14;

/* ---- rows that others fill ---- */

struct rows {
  int n;
};

static int force_gradient_number(const void *opts, int dim, int n, unsigned *angles)
{
  (void)dim, (void)n;
  *angles = 0;
  return ((const struct rows *)opts)->n;
}

static void force_gradient_empty(const void *opts, int dim, int n, const perp_body_state *body,
                                 double *C, double *J)
{
  (void)opts, (void)dim, (void)n, (void)body, (void)C, (void)J; /* zeros */
}

static void force_gradient_still(const void *opts, int dim, int n, const perp_body_state *body,
                                 double *gamma)
{
  (void)opts, (void)dim, (void)n, (void)body, (void)gamma;
}

static const perp_joint_desc rows_of_gradient = {
  .d = { .name = "gradient",
         .opts_size = sizeof(struct rows),
         .caps = PERP_JOINT_IN_SPACE | PERP_JOINT_IN_PLANE | PERP_JOINT_AT_CENTRES },
  .bodies_min = 1,
  .bodies_max = PERP_ELEMENT_BODIES,
  .rows = force_gradient_number,
  .evaluate = force_gradient_empty,
  .bias = force_gradient_still,
};

perp_status perp_force_gradient_add(perp_ctx *ctx, perp_model *model, const perp_force_def *el,
                                    bool differences, perp_force_gradient *out)
{
  int pair[2], body[PERP_ELEMENT_BODIES], all, n = 0;
  const int *of = perp_force_bodies(el, pair, &all);
  PERP_TRY(perp_model_add_force(ctx, model, el));
  for (int i = 0; i < all; i++)
    if (of[i] >= 0) body[n++] = of[i];
  *out = (perp_force_gradient){ .force = model->n_forces - 1,
                                .joint = model->n_joints,
                                .size = n * model->nvb,
                                .differences = differences };
  for (int first = 0; first < out->size; first += PERP_JOINT_ROWS) {
    const struct rows rows = { out->size - first < PERP_JOINT_ROWS ? out->size - first
                                                                   : PERP_JOINT_ROWS };
    perp_joint_def def;
    PERP_TRY(perp_joint_define(ctx, &rows_of_gradient, &rows, n, body, &def));
    def.stiffness = 1; /* there is some */
    def.collide = true;
    PERP_TRY(perp_model_add_joint(ctx, model, &def, NULL));
  }
  return PERP_OK;
}

/* ---- in a step ---- */

void perp_force_gradient_layout(perp_force_gradient_room *room, int size, perp_arena *arena)
{
  const size_t n = (size_t)size;
  PERP_DOUBLES(arena, n * n, &room->dq, &room->dv);
  PERP_DOUBLES(arena, n, &room->sigma, &room->g);
  room->work = PERP_CARVE(arena, double, 4 * n);
}

/* Row i: weight u, and what its softness is of. */
static void force_gradient_row(const perp_force_gradient *gradient, perp_model *model,
                               perp_eval *eval, int i, const double *u, double weight,
                               double stiffness)
{
  const int joint = gradient->joint + i / PERP_JOINT_ROWS, at = i % PERP_JOINT_ROWS,
            rows = model->pattern.cptr[joint + 1] - model->pattern.cptr[joint], nvb = model->nvb;
  for (int sub = model->pattern.jptr[joint], k = 0; sub < model->pattern.jptr[joint + 1];
       sub++, k += nvb)
    for (int l = 0; l < nvb; l++)
      eval->J[model->pattern.joff[sub] + at + l * rows] = weight * u[k + l];
  model->soft.stiffness[model->pattern.cptr[joint] + at] = stiffness;
  model->soft.damping[model->pattern.cptr[joint] + at] = 0;
}

void perp_force_gradient_rows(const perp_force_gradient *gradient,
                              const perp_force_gradient_room *room, perp_model *model,
                              perp_constrained *system, double h, const double *v)
{
  const int N = gradient->size, nvb = model->nvb;
  int body[PERP_ELEMENT_BODIES];
  double *A = room->dq, *D = room->dv, size = 0;
  perp_force_gradient_at(model, system->e, &model->force_def[gradient->force],
                         gradient->differences, system->e->t, v, body, A, D);
  for (int j = 0; j < N; j++)
    for (int i = 0; i <= j; i++) {
      const double d = 0.5 * (D[i + j * N] + D[j + i * N]);
      A[i + j * N] = A[j + i * N] = -h * (h * 0.5 * (A[i + j * N] + A[j + i * N]) + d);
      D[i + j * N] = D[j + i * N] = d;
      size += fabs(A[i + j * N]);
    }
  const bool good = isfinite(size) && LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', N, A, N,
                                                         room->sigma, room->work, 4 * N) == 0;
  if (!good) {
    system->f[body[0] * nvb] = (double)NAN;
    return;
  }
  for (int i = 0; i < N; i++) { /* -h df/dv v */
    room->g[i] = 0;
    for (int j = 0; j < N; j++) room->g[i] -= h * D[i + j * N] * v[body[j / nvb] * nvb + j % nvb];
  }
  for (int i = 0; i < N; i++) {
    const double *u = A + (size_t)i * (size_t)N, sigma = room->sigma[i];
    const bool soft = sigma > LEAST * room->sigma[N - 1] && sigma > 0;
    double along = 0;
    force_gradient_row(gradient, model, system->e, i, u, soft ? 1 : 0,
                       (soft ? sigma : 1) / (h * h));
    for (int j = 0; j < N && soft; j++) along += u[j] * room->g[j];
    for (int j = 0; j < N; j++) system->f[body[j / nvb] * nvb + j % nvb] += along * u[j];
  }
}
