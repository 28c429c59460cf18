/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Redundant constraints.
 *
 * Rows of J that depend on others on the manifold C(q) = 0 are nearly independent beside it: at a
 * constraint error delta their distance from the span of the others is about sigma = delta /
 * length.  A solver that decides the rank at rounding takes them as constraints in their own right,
 * in directions that are noise, and they brake the motion.  So the rank is decided at the scale of
 * the error, once for all stages of a step and for all KKT formulations, and rows that depend on
 * others are left out: J = 0, C = 0 and S > 0, so that their multiplier is 0.
 *
 * Rank is kinematics: distances are measured with M = 1 for displacements and l^2 for turning, l
 * half the size of the model, whatever the masses.  A spanning forest of the joints has independent
 * rows.  With the answers of the forest to the other rows J_x, which close loops,
 *
 *      M a = J_x' + J_f' P,  J_f a = 0,      G = J_x a      (tree.c: O(N) for a row)
 *
 * G / sqrt(d_i d_j), d the diagonal of J M^-1 J', has pivots sigma^2, with sigma the sine of the
 * angle between a row and the span of the forest and the rows before it.  Cholesky with pivots
 * leaves out the rows below
 *
 *      tau = delta / max(sigma_min, 0.1)    between 1e-6 and 1e-3,
 *
 * delta the largest C_i / sqrt(d_i) / l at the state and before the last projection, sigma_min the
 * least pivot so far: C bounds the distance from the manifold by C / sigma_min.  A row that was
 * left out comes back above 10 tau only (between 1e-5 and 0.1), and rows that are in stay in unless
 * others are ten times as far apart: the set does not flicker.
 *
 * The multipliers of dependent rows are not unique.  A null vector n of J' has 1 in a row that is
 * left out and the coefficients of that row in the others; (1 - N N^+) lambda is the solution of
 * least norm, which is reported (up to 64 rows that close loops; beyond, the multipliers of rows
 * that are left out are 0).
 *
 * Compliant rows (softness, stiffness, damping) restrict nothing and take no part. */
#include "models/stepping/redundancy_private.h"
#include "solvers/core/sets.h"

#include <stdlib.h>
#include <string.h>

enum { LOOP_ROWS = 512, EACH_STEP = 10, SHARED = 64 };
static const double PART = 0.5;         /* of the way to a singular position, between two looks */
static const double EXPLAINS = 10;      /* times its size an error in other terms */
static const double ROUNDED = 1e-9;     /* of the largest term */
static const double CONTRADICTS = 1e-3; /* part of the terms, or of the size of the model */

/* ---- creation ---- */

/* in[j]: is joint j of the spanning forest, which each body joins once?  The world is body
 * n_bodies. */
static perp_status redundancy_forest(perp_ctx *ctx, const perp_model *model, bool *in)
{
  const int n = model->n_bodies;
  int *root = malloc(((size_t)n + 1) * sizeof *root);
  if (root == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d bodies", n);
  for (int i = 0; i <= n; i++) root[i] = i;
  for (int j = 0; j < model->n_joints; j++) {
    int pair[2], bodies;
    const int *body = perp_joint_bodies(&model->joint_def[j], pair, &bodies);
    const bool alone = bodies == 1; /* tied to the world */
    const int first = body[0] >= 0 ? body[0] : n;
    in[j] = true;
    for (int i = 1; i < bodies || (alone && i == 1); i++) {
      const int b = !alone && body[i] >= 0 ? body[i] : n;
      in[j] = in[j] && perp_root(root, first) != perp_root(root, b);
      for (int l = 1; l < i; l++) {
        const int other = body[l] >= 0 ? body[l] : n;
        in[j] = in[j] && perp_root(root, other) != perp_root(root, b);
      }
    }
    for (int i = 1; in[j] && (i < bodies || (alone && i == 1)); i++)
      perp_unite(root, first, !alone && body[i] >= 0 ? body[i] : n);
  }
  free(root);
  return PERP_OK;
}

static void redundancy_layout(void *ws, perp_arena *arena)
{
  perp_redundancy *redundancy = ws;
  const perp_model *model = redundancy->model;
  const int subs = model->pattern.n_subs;
  const size_t k = (size_t)redundancy->loops.k;
  perp_eval_layout(&redundancy->e, model, arena);
  perp_eval_layout(&redundancy->view.eval, model, arena);
  PERP_DOUBLES(arena, model->m, &redundancy->softness, &redundancy->d, &redundancy->lambda);
  redundancy->forest.joint = PERP_CARVE(arena, int, redundancy->forest.nf);
  PERP_INTS(arena, redundancy->forest.nf + 1, &redundancy->forest.cptr, &redundancy->forest.jptr);
  PERP_INTS(arena, subs + 1, &redundancy->forest.jblk, &redundancy->forest.joff,
            &redundancy->forest.jgrp, &redundancy->forest.tsub);
  redundancy->forest.tptr = PERP_CARVE(arena, int, model->n_bodies + 1);
  PERP_DOUBLES(arena, model->pattern.mptr[model->n_bodies], &redundancy->forest.M,
               &redundancy->forest.Minv);
  redundancy->forest.J = PERP_CARVE(arena, double, model->pattern.nnz_J);
  PERP_DOUBLES(arena, redundancy->forest.mf, &redundancy->forest.s, &redundancy->zero);
  PERP_INTS(arena, k, &redundancy->loops.row, &redundancy->loops.group, &redundancy->loops.order,
            &redundancy->loops.drop_row, &redundancy->loops.drop_joint);
  redundancy->loops.out = PERP_CARVE(arena, bool, k);
  redundancy->loops.used = PERP_CARVE(arena, bool, k);
  redundancy->compliant = PERP_CARVE(arena, bool, model->m);
  redundancy->loops.G = PERP_CARVE(arena, double, k *k);
  redundancy->loops.P = PERP_CARVE(arena, double, (size_t)redundancy->forest.mf *k);
  redundancy->loops.N = PERP_CARVE(arena, double, (size_t)model->m *k);
  PERP_DOUBLES(arena, k, &redundancy->loops.pivot, &redundancy->loops.y);
  PERP_DOUBLES(arena, model->nv, &redundancy->f, &redundancy->a);
  redundancy->q = PERP_CARVE(arena, double, model->nq);
}

/* Pattern and masses of the forest. */
static void redundancy_pattern(perp_redundancy *redundancy, const bool *in)
{
  const perp_model *model = redundancy->model;
  int g = 0, sub = 0, at = 0, row = 0, x = 0;
  for (int joint = 0; joint < model->n_joints; joint++) {
    const int rows = model->pattern.cptr[joint + 1] - model->pattern.cptr[joint];
    for (int i = model->pattern.cptr[joint]; i < model->pattern.cptr[joint + 1]; i++) {
      redundancy->compliant[i] = model->soft.softness[i] > 0 || perp_row_springs(model, i);
      if (in[joint] || redundancy->compliant[i]) continue;
      redundancy->loops.row[x] = i;
      redundancy->loops.group[x++] = joint;
    }
    if (!in[joint]) continue;
    redundancy->forest.joint[g] = joint;
    redundancy->forest.cptr[g] = row;
    redundancy->forest.jptr[g] = sub;
    for (int k = model->pattern.jptr[joint]; k < model->pattern.jptr[joint + 1];
         k++, at += rows * model->nvb) {
      redundancy->forest.jblk[sub] = model->pattern.jblk[k];
      redundancy->forest.joff[sub++] = at;
    }
    row += rows;
    g++;
  }
  redundancy->forest.cptr[g] = row;
  redundancy->forest.jptr[g] = sub;
  redundancy->forest.joff[sub] = at;
  perp_blocks_transpose(model->n_bodies, redundancy->forest.nf, redundancy->forest.jptr,
                        redundancy->forest.jblk, redundancy->forest.jgrp, redundancy->forest.tptr,
                        redundancy->forest.tsub);
  const double inertia = redundancy->length * redundancy->length;
  for (int body = 0; body < model->n_bodies; body++) {
    const int nvb = model->nvb;
    double *M = redundancy->forest.M + model->pattern.mptr[body],
           *Minv = redundancy->forest.Minv + model->pattern.mptr[body];
    memset(M, 0, (size_t)(nvb * nvb) * sizeof *M);
    memset(Minv, 0, (size_t)(nvb * nvb) * sizeof *Minv);
    for (int i = 0; i < nvb; i++) {
      M[i + i * nvb] = i < model->dim ? 1 : inertia;
      Minv[i + i * nvb] = 1 / M[i + i * nvb];
    }
  }
  redundancy->forest.blocks = perp_model_pattern(model);
  redundancy->forest.blocks.m = redundancy->forest.mf;
  redundancy->forest.blocks.nc = redundancy->forest.nf;
  redundancy->forest.blocks.cptr = redundancy->forest.cptr;
  redundancy->forest.blocks.jptr = redundancy->forest.jptr;
  redundancy->forest.blocks.jblk = redundancy->forest.jblk;
  redundancy->forest.blocks.joff = redundancy->forest.joff;
  redundancy->forest.blocks.jgrp = redundancy->forest.jgrp;
  redundancy->forest.blocks.tptr = redundancy->forest.tptr;
  redundancy->forest.blocks.tsub = redundancy->forest.tsub;
  redundancy->forest.blocks.M = redundancy->forest.M;
  redundancy->forest.blocks.Minv = redundancy->forest.Minv;
  redundancy->forest.blocks.J = redundancy->forest.J;
  redundancy->forest.blocks.s = redundancy->forest.s;
  redundancy->forest.blocks.diag = NULL;
  redundancy->forest.blocks.flat = NULL;
}

static perp_status redundancy_open(perp_ctx *ctx, perp_model *model, double h, const bool *in,
                                   perp_redundancy **out)
{
  perp_redundancy like = {
    .view = *model, .model = model, .h = h, .length = model->size > 0 ? model->size / 2 : 1
  };
  for (int joint = 0; joint < model->n_joints; joint++) {
    const int rows = model->pattern.cptr[joint + 1] - model->pattern.cptr[joint];
    like.forest.nf += in[joint];
    like.forest.mf += in[joint] ? rows : 0;
    for (int row = model->pattern.cptr[joint]; !in[joint] && row < model->pattern.cptr[joint + 1];
         row++)
      like.loops.k += !(model->soft.softness[row] > 0 || perp_row_springs(model, row));
  }
  if (like.loops.k == 0 || like.loops.k > LOOP_ROWS) return PERP_OK;
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "redundant constraints", &like, sizeof like,
                                 redundancy_layout, &ws));
  perp_redundancy *redundancy = ws;
  *out = redundancy;
  redundancy_pattern(redundancy, in);
  perp_eval_init(&redundancy->e, model);
  perp_eval_init(&redundancy->view.eval, model);
  memset(redundancy->zero, 0, (size_t)redundancy->forest.mf * sizeof *redundancy->zero);
  redundancy->dropped.row = redundancy->loops.drop_row;
  redundancy->dropped.joint = redundancy->loops.drop_joint;
  redundancy->view.sim.dropped = &redundancy->dropped;
  redundancy->view.soft.softness = redundancy->softness;
  memcpy(redundancy->softness, model->soft.softness,
         (size_t)model->m * sizeof *redundancy->softness);
  perp_spec spec;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_kkt, "tree", &spec));
  const perp_status status = perp_kkt_create(ctx, &spec, &redundancy->forest.blocks,
                                             &redundancy->forest.solver);
  perp_spec_free(&spec);
  return status;
}

perp_status perp_redundancy_create(perp_ctx *ctx, perp_model *model, double h, bool accelerations,
                                   perp_model **view, perp_redundancy **out)
{
  *out = NULL;
  *view = model;
  if (model->m == 0) return PERP_OK;
  bool *in = malloc((size_t)model->n_joints * sizeof *in);
  if (in == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d joints", model->n_joints);
  perp_status status = redundancy_forest(ctx, model, in);
  if (status == PERP_OK) status = redundancy_open(ctx, model, h, in, out);
  free(in);
  if (status != PERP_OK) {
    perp_redundancy_destroy(*out);
    *out = NULL;
  }
  if (*out == NULL) return status;
  (*out)->accelerations = accelerations;
  *view = &(*out)->view;
  return status;
}

void perp_redundancy_destroy(perp_redundancy *redundancy)
{
  if (redundancy == NULL) return;
  perp_kkt_destroy(redundancy->forest.solver);
  free(redundancy);
}

/* lambda -= N N' lambda */
static void redundancy_least(const perp_redundancy *redundancy, double *lambda)
{
  const int m = redundancy->model->m;
  for (int j = 0; j < redundancy->dropped.n; j++) {
    const double *x = redundancy->loops.N + (size_t)j * (size_t)m;
    double along = 0;
    for (int i = 0; i < m; i++) along += x[i] * lambda[i];
    for (int i = 0; i < m; i++) lambda[i] -= along * x[i];
  }
}

const double *perp_redundancy_share(perp_redundancy *redundancy, const double *lambda)
{
  if (redundancy->dropped.n == 0 || redundancy->loops.k > SHARED || lambda == NULL) return lambda;
  memcpy(redundancy->lambda, lambda, (size_t)redundancy->model->m * sizeof *lambda);
  redundancy_least(redundancy, redundancy->lambda);
  return redundancy->lambda;
}

perp_status perp_redundancy_share_at(perp_ctx *ctx, perp_redundancy *redundancy, double t,
                                     const double *q, double *lambda)
{
  perp_reason reason;
  if (redundancy->dropped.n == 0 || redundancy->loops.k > SHARED) return PERP_OK;
  const int rank = redundancy->loops.rank;
  perp_eval_at(&redundancy->e, redundancy->model, t, q);
  PERP_TRY(perp_redundancy_analyse(ctx, redundancy, &reason));
  if (reason < 0) return PERP_OK; /* as they are */
  perp_redundancy_choose(redundancy, true, 0);
  perp_redundancy_null(redundancy);
  perp_redundancy_orthonormal(redundancy);
  redundancy_least(redundancy, lambda);
  redundancy->loops.rank = rank;
  return PERP_OK;
}

/* ---- one decision ---- */

/* Which rows are left out now; another set than before? */
static bool redundancy_take(perp_redundancy *redundancy)
{
  bool other = false;
  int n = 0;
  for (int x = 0; x < redundancy->loops.k; x++) {
    other = other || redundancy->loops.out[x] == redundancy->loops.used[x];
    redundancy->loops.out[x] = !redundancy->loops.used[x];
    if (redundancy->loops.used[x]) continue;
    redundancy->loops.drop_row[n] = redundancy->loops.row[x];
    redundancy->loops.drop_joint[n++] = redundancy->loops.group[x];
  }
  if (!other) return false;
  memcpy(redundancy->softness, redundancy->model->soft.softness,
         (size_t)redundancy->model->m * sizeof *redundancy->softness);
  for (int i = 0; i < n; i++) {
    const double d = redundancy->d[redundancy->loops.drop_row[i]]; /* of the size of A, whose
                                                                largest entries decide elsewhere */
    redundancy->softness[redundancy->loops.drop_row[i]] = d > 0 ? d : 1;
  }
  redundancy->dropped.n = n;
  redundancy->dropped.set++;
  return true;
}

/* The largest C_i / sqrt(d_i) in units of the length. */
static double redundancy_error(const perp_redundancy *redundancy)
{
  double worst = 0;
  for (int i = 0; i < redundancy->model->m; i++)
    if (!redundancy->compliant[i] && redundancy->d[i] > 0)
      worst = fmax(worst, fabs(redundancy->e.C[i]) / sqrt(redundancy->d[i]));
  return worst / redundancy->length;
}

/* Is n' x more than a part of its terms, and more than the rounding of the largest x? */
static bool redundancy_differs(int m, const double *n, const double *x, double part)
{
  double sum = 0, terms = 0, size = 0, most = 0;
  for (int i = 0; i < m; i++) {
    sum += n[i] * x[i];
    terms += fabs(n[i] * x[i]);
    size += fabs(n[i]);
    most = fmax(most, fabs(x[i]));
  }
  return fabs(sum) > part * terms && fabs(sum) > ROUNDED * size * most;
}

/* Do rows that are left out contradict the others: n' C beyond what an error explains, n' C_t, or,
 * where accelerations are looked for, n' Jdot v? */
static bool redundancy_contradicts(perp_redundancy *redundancy, const double *v, double error)
{
  const perp_model *model = redundancy->model;
  const double part = CONTRADICTS + error;
  double *x = redundancy->lambda;
  if (redundancy->accelerations && redundancy->dropped.n > 0)
    perp_joints_bias(model, &redundancy->e, v, x);
  for (int j = 0; j < redundancy->dropped.n; j++) {
    const double *N = redundancy->loops.N + (size_t)j * (size_t)model->m,
                 d = redundancy->d[redundancy->loops.drop_row[j]];
    double C = 0;
    for (int i = 0; i < model->m; i++) C += N[i] * redundancy->e.C[i];
    if (fabs(C) / sqrt(d > 0 ? d : 1) / redundancy->length > part) return true;
    if (model->driven && redundancy_differs(model->m, N, redundancy->e.Ct, part)) return true;
    if (redundancy->accelerations && redundancy_differs(model->m, N, x, part)) return true;
  }
  return false;
}

static double redundancy_rate(const perp_model *model, const double *v)
{
  const double size = model->size > 0 ? model->size : 1;
  double rate = 0;
  for (int body = 0; body < model->n_bodies; body++)
    rate = fmax(rate, perp_point_speed(model->dim, v + model->nvb * body, size) / size);
  return rate;
}

/* Do rows need to be looked at, the motion having come so far?  Rarely where many rows close loops.
 */
static bool redundancy_due(perp_redundancy *redundancy, double turned)
{
  const int64_t k = redundancy->loops.k, now = redundancy->dropped.n > 0 && k <= SHARED;
  const int64_t every = now || k <= EACH_STEP ? 1 : k * k / (EACH_STEP * EACH_STEP);
  redundancy->moved += turned;
  if (!redundancy->decided) return true;
  if (redundancy->step++ % every != 0) return false;
  return redundancy->dropped.n > 0 || !(redundancy->moved < PART * redundancy->margin);
}

perp_status perp_redundancy_decide(perp_ctx *ctx, perp_redundancy *redundancy, double t,
                                   const double *q, const double *v, double drift,
                                   perp_reason *reason)
{
  const double turned = (redundancy->decided && t > redundancy->t ? t - redundancy->t
                                                                  : redundancy->h) *
                        redundancy_rate(redundancy->model, v);
  const int before = redundancy->dropped.n;
  *reason = PERP_EXACT;
  redundancy->t = t;
  if (!redundancy_due(redundancy, turned)) return PERP_OK;
  perp_eval_at(&redundancy->e, redundancy->model, t, q);
  PERP_TRY(perp_redundancy_analyse(ctx, redundancy, reason));
  if (*reason < 0) { /* of the formulation to say */
    *reason = PERP_EXACT;
    return PERP_OK;
  }
  const double error = redundancy_error(redundancy),
               pre = drift * fmax(1, redundancy->length) / redundancy->length;
  perp_redundancy_choose(redundancy, false, fmax(error, pre > 0 ? pre : 0));
  const bool other = redundancy_take(redundancy);
  perp_redundancy_null(redundancy);
  if (redundancy_contradicts(redundancy, v, EXPLAINS * error)) *reason = PERP_INFEASIBLE;
  perp_redundancy_orthonormal(redundancy);

  perp_redundant *report = &redundancy->report;
  report->rows = redundancy->dropped.n;
  if (redundancy->dropped.n > report->most) report->most = redundancy->dropped.n;
  if (redundancy->dropped.n > 0 && report->joint < 0)
    report->joint = redundancy->loops.drop_joint[0];
  if (redundancy->decided && other && redundancy->dropped.n != before) {
    if (report->changes++ == 0) report->t_change = t;
    report->joint_change = redundancy->dropped.n > 0 ? redundancy->loops.drop_joint[0]
                                                     : report->joint;
  }
  if (redundancy->margin < report->sigma) {
    report->sigma = redundancy->margin;
    report->t_sigma = t;
  }
  report->near += redundancy->margin < turned;
  redundancy->decided = true;
  redundancy->moved = 0;
  return PERP_OK;
}

perp_status perp_redundancy_restart(perp_ctx *ctx, perp_redundancy *redundancy, double t,
                                    const double *q, const double *v)
{
  perp_reason reason; /* which the first step says */
  memcpy(redundancy->softness, redundancy->model->soft.softness,
         (size_t)redundancy->model->m * sizeof *redundancy->softness);
  if (redundancy->dropped.n > 0) redundancy->dropped.set++;
  redundancy->dropped.n = 0;
  redundancy->decided = false;
  redundancy->step = 0;
  redundancy->loops.rank = 0;
  redundancy->report = (perp_redundant){
    .joint = -1, .sigma = HUGE_VAL, .t_sigma = (double)NAN, .t_change = (double)NAN
  };
  memset(redundancy->loops.out, 0, (size_t)redundancy->loops.k * sizeof *redundancy->loops.out);
  memcpy(redundancy->q, q, (size_t)redundancy->model->nq * sizeof *q);
  perp_model_project(redundancy->model, redundancy->q);
  PERP_TRY(perp_redundancy_decide(ctx, redundancy, t, redundancy->q, v, (double)NAN, &reason));
  redundancy->report.near = 0;
  return PERP_OK;
}

const perp_redundant *perp_redundancy_report(const perp_redundancy *redundancy)
{
  return &redundancy->report;
}
