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
static perp_status redundancy_forest(perp_ctx *ctx, const perp_model *m, bool *in)
{
  const int n = m->n_bodies;
  int *root = malloc(((size_t)n + 1) * sizeof *root);
  if (root == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d bodies", n);
  for (int i = 0; i <= n; i++) root[i] = i;
  for (int j = 0; j < m->n_joints; j++) {
    int pair[2], bodies;
    const int *body = perp_joint_bodies(&m->joint_def[j], pair, &bodies);
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

static void redundancy_layout(void *ws, perp_arena *a)
{
  perp_redundancy *r = ws;
  const perp_model *m = r->model;
  const int subs = m->n_subs;
  const size_t k = (size_t)r->k;
  perp_eval_layout(&r->e, m, a);
  perp_eval_layout(&r->view.eval, m, a);
  PERP_DOUBLES(a, m->m, &r->softness, &r->d, &r->lambda);
  r->joint = PERP_CARVE(a, int, r->nf);
  PERP_INTS(a, r->nf + 1, &r->cptr, &r->jptr);
  PERP_INTS(a, subs + 1, &r->jblk, &r->joff, &r->jgrp, &r->tsub);
  r->tptr = PERP_CARVE(a, int, m->n_bodies + 1);
  PERP_DOUBLES(a, m->mptr[m->n_bodies], &r->M, &r->Minv);
  r->J = PERP_CARVE(a, double, m->nnz_J);
  PERP_DOUBLES(a, r->mf, &r->s, &r->zero);
  PERP_INTS(a, k, &r->row, &r->group, &r->order, &r->drop_row, &r->drop_joint);
  r->out = PERP_CARVE(a, bool, k);
  r->used = PERP_CARVE(a, bool, k);
  r->compliant = PERP_CARVE(a, bool, m->m);
  r->G = PERP_CARVE(a, double, k *k);
  r->P = PERP_CARVE(a, double, (size_t)r->mf *k);
  r->N = PERP_CARVE(a, double, (size_t)m->m *k);
  PERP_DOUBLES(a, k, &r->pivot, &r->y);
  PERP_DOUBLES(a, m->nv, &r->f, &r->a);
  r->q = PERP_CARVE(a, double, m->nq);
}

/* Pattern and masses of the forest. */
static void redundancy_pattern(perp_redundancy *r, const bool *in)
{
  const perp_model *m = r->model;
  int g = 0, sub = 0, at = 0, row = 0, x = 0;
  for (int j = 0; j < m->n_joints; j++) {
    const int rows = m->cptr[j + 1] - m->cptr[j];
    for (int i = m->cptr[j]; i < m->cptr[j + 1]; i++) {
      r->compliant[i] = m->softness[i] > 0 || perp_row_springs(m, i);
      if (in[j] || r->compliant[i]) continue;
      r->row[x] = i;
      r->group[x++] = j;
    }
    if (!in[j]) continue;
    r->joint[g] = j;
    r->cptr[g] = row;
    r->jptr[g] = sub;
    for (int k = m->jptr[j]; k < m->jptr[j + 1]; k++, at += rows * m->nvb) {
      r->jblk[sub] = m->jblk[k];
      r->joff[sub++] = at;
    }
    row += rows;
    g++;
  }
  r->cptr[g] = row;
  r->jptr[g] = sub;
  r->joff[sub] = at;
  perp_blocks_transpose(m->n_bodies, r->nf, r->jptr, r->jblk, r->jgrp, r->tptr, r->tsub);
  const double inertia = r->length * r->length;
  for (int b = 0; b < m->n_bodies; b++) {
    const int d = m->nvb;
    double *M = r->M + m->mptr[b], *Minv = r->Minv + m->mptr[b];
    memset(M, 0, (size_t)(d * d) * sizeof *M);
    memset(Minv, 0, (size_t)(d * d) * sizeof *Minv);
    for (int i = 0; i < d; i++) {
      M[i + i * d] = i < m->dim ? 1 : inertia;
      Minv[i + i * d] = 1 / M[i + i * d];
    }
  }
  r->forest = perp_model_pattern(m);
  r->forest.m = r->mf;
  r->forest.nc = r->nf;
  r->forest.cptr = r->cptr;
  r->forest.jptr = r->jptr;
  r->forest.jblk = r->jblk;
  r->forest.joff = r->joff;
  r->forest.jgrp = r->jgrp;
  r->forest.tptr = r->tptr;
  r->forest.tsub = r->tsub;
  r->forest.M = r->M;
  r->forest.Minv = r->Minv;
  r->forest.J = r->J;
  r->forest.s = r->s;
  r->forest.diag = NULL;
  r->forest.flat = NULL;
}

static perp_status redundancy_open(perp_ctx *ctx, perp_model *model, double h, const bool *in,
                                   perp_redundancy **out)
{
  perp_redundancy like = {
    .view = *model, .model = model, .h = h, .length = model->size > 0 ? model->size / 2 : 1
  };
  for (int j = 0; j < model->n_joints; j++) {
    const int rows = model->cptr[j + 1] - model->cptr[j];
    like.nf += in[j];
    like.mf += in[j] ? rows : 0;
    for (int i = model->cptr[j]; !in[j] && i < model->cptr[j + 1]; i++)
      like.k += !(model->softness[i] > 0 || perp_row_springs(model, i));
  }
  if (like.k == 0 || like.k > LOOP_ROWS) return PERP_OK;
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "redundant constraints", &like, sizeof like,
                                 redundancy_layout, &ws));
  perp_redundancy *r = ws;
  *out = r;
  redundancy_pattern(r, in);
  perp_eval_init(&r->e, model);
  perp_eval_init(&r->view.eval, model);
  memset(r->zero, 0, (size_t)r->mf * sizeof *r->zero);
  r->dropped.row = r->drop_row;
  r->dropped.joint = r->drop_joint;
  r->view.dropped = &r->dropped;
  r->view.softness = r->softness;
  memcpy(r->softness, model->softness, (size_t)model->m * sizeof *r->softness);
  perp_spec spec;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_kkt, "tree", &spec));
  const perp_status status = perp_kkt_create(ctx, &spec, &r->forest, &r->solver);
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

void perp_redundancy_destroy(perp_redundancy *r)
{
  if (r == NULL) return;
  perp_kkt_destroy(r->solver);
  free(r);
}

/* lambda -= N N' lambda */
static void redundancy_least(const perp_redundancy *r, double *lambda)
{
  const int m = r->model->m;
  for (int j = 0; j < r->dropped.n; j++) {
    const double *x = r->N + (size_t)j * (size_t)m;
    double along = 0;
    for (int i = 0; i < m; i++) along += x[i] * lambda[i];
    for (int i = 0; i < m; i++) lambda[i] -= along * x[i];
  }
}

const double *perp_redundancy_share(perp_redundancy *r, const double *lambda)
{
  if (r->dropped.n == 0 || r->k > SHARED || lambda == NULL) return lambda;
  memcpy(r->lambda, lambda, (size_t)r->model->m * sizeof *lambda);
  redundancy_least(r, r->lambda);
  return r->lambda;
}

perp_status perp_redundancy_share_at(perp_ctx *ctx, perp_redundancy *r, double t, const double *q,
                                     double *lambda)
{
  perp_reason reason;
  if (r->dropped.n == 0 || r->k > SHARED) return PERP_OK;
  const int rank = r->rank;
  perp_eval_at(&r->e, r->model, t, q);
  PERP_TRY(perp_redundancy_analyse(ctx, r, &reason));
  if (reason < 0) return PERP_OK; /* as they are */
  perp_redundancy_choose(r, true, 0);
  perp_redundancy_null(r);
  perp_redundancy_orthonormal(r);
  redundancy_least(r, lambda);
  r->rank = rank;
  return PERP_OK;
}

/* ---- one decision ---- */

/* Which rows are left out now; another set than before? */
static bool redundancy_take(perp_redundancy *r)
{
  bool other = false;
  int n = 0;
  for (int x = 0; x < r->k; x++) {
    other = other || r->out[x] == r->used[x];
    r->out[x] = !r->used[x];
    if (r->used[x]) continue;
    r->drop_row[n] = r->row[x];
    r->drop_joint[n++] = r->group[x];
  }
  if (!other) return false;
  memcpy(r->softness, r->model->softness, (size_t)r->model->m * sizeof *r->softness);
  for (int i = 0; i < n; i++) {
    const double d =
        r->d[r->drop_row[i]]; /* of the size of A, whose largest entries decide elsewhere */
    r->softness[r->drop_row[i]] = d > 0 ? d : 1;
  }
  r->dropped.n = n;
  r->dropped.set++;
  return true;
}

/* The largest C_i / sqrt(d_i) in units of the length. */
static double redundancy_error(const perp_redundancy *r)
{
  double worst = 0;
  for (int i = 0; i < r->model->m; i++)
    if (!r->compliant[i] && r->d[i] > 0) worst = fmax(worst, fabs(r->e.C[i]) / sqrt(r->d[i]));
  return worst / r->length;
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
static bool redundancy_contradicts(perp_redundancy *r, const double *v, double error)
{
  const perp_model *m = r->model;
  const double part = CONTRADICTS + error;
  double *x = r->lambda;
  if (r->accelerations && r->dropped.n > 0) perp_joints_bias(m, &r->e, v, x);
  for (int j = 0; j < r->dropped.n; j++) {
    const double *N = r->N + (size_t)j * (size_t)m->m, d = r->d[r->drop_row[j]];
    double C = 0;
    for (int i = 0; i < m->m; i++) C += N[i] * r->e.C[i];
    if (fabs(C) / sqrt(d > 0 ? d : 1) / r->length > part) return true;
    if (m->driven && redundancy_differs(m->m, N, r->e.Ct, part)) return true;
    if (r->accelerations && redundancy_differs(m->m, N, x, part)) return true;
  }
  return false;
}

static double redundancy_rate(const perp_model *m, const double *v)
{
  const double size = m->size > 0 ? m->size : 1;
  double rate = 0;
  for (int b = 0; b < m->n_bodies; b++)
    rate = fmax(rate, perp_point_speed(m->dim, v + m->nvb * b, size) / size);
  return rate;
}

/* Do rows need to be looked at, the motion having come so far?  Rarely where many rows close loops.
 */
static bool redundancy_due(perp_redundancy *r, double turned)
{
  const int64_t k = r->k, now = r->dropped.n > 0 && k <= SHARED;
  const int64_t every = now || k <= EACH_STEP ? 1 : k * k / (EACH_STEP * EACH_STEP);
  r->moved += turned;
  if (!r->decided) return true;
  if (r->step++ % every != 0) return false;
  return r->dropped.n > 0 || !(r->moved < PART * r->margin);
}

perp_status perp_redundancy_decide(perp_ctx *ctx, perp_redundancy *r, double t, const double *q,
                                   const double *v, double drift, perp_reason *reason)
{
  const double turned = (r->decided && t > r->t ? t - r->t : r->h) * redundancy_rate(r->model, v);
  const int before = r->dropped.n;
  *reason = PERP_EXACT;
  r->t = t;
  if (!redundancy_due(r, turned)) return PERP_OK;
  perp_eval_at(&r->e, r->model, t, q);
  PERP_TRY(perp_redundancy_analyse(ctx, r, reason));
  if (*reason < 0) { /* of the formulation to say */
    *reason = PERP_EXACT;
    return PERP_OK;
  }
  const double error = redundancy_error(r), pre = drift * fmax(1, r->length) / r->length;
  perp_redundancy_choose(r, false, fmax(error, pre > 0 ? pre : 0));
  const bool other = redundancy_take(r);
  perp_redundancy_null(r);
  if (redundancy_contradicts(r, v, EXPLAINS * error)) *reason = PERP_INFEASIBLE;
  perp_redundancy_orthonormal(r);

  perp_redundant *report = &r->report;
  report->rows = r->dropped.n;
  if (r->dropped.n > report->most) report->most = r->dropped.n;
  if (r->dropped.n > 0 && report->joint < 0) report->joint = r->drop_joint[0];
  if (r->decided && other && r->dropped.n != before) {
    if (report->changes++ == 0) report->t_change = t;
    report->joint_change = r->dropped.n > 0 ? r->drop_joint[0] : report->joint;
  }
  if (r->margin < report->sigma) {
    report->sigma = r->margin;
    report->t_sigma = t;
  }
  report->near += r->margin < turned;
  r->decided = true;
  r->moved = 0;
  return PERP_OK;
}

perp_status perp_redundancy_restart(perp_ctx *ctx, perp_redundancy *r, double t, const double *q,
                                    const double *v)
{
  perp_reason reason; /* which the first step says */
  memcpy(r->softness, r->model->softness, (size_t)r->model->m * sizeof *r->softness);
  if (r->dropped.n > 0) r->dropped.set++;
  r->dropped.n = 0;
  r->decided = false;
  r->step = 0;
  r->rank = 0;
  r->report = (perp_redundant){
    .joint = -1, .sigma = HUGE_VAL, .t_sigma = (double)NAN, .t_change = (double)NAN
  };
  memset(r->out, 0, (size_t)r->k * sizeof *r->out);
  memcpy(r->q, q, (size_t)r->model->nq * sizeof *q);
  perp_model_project(r->model, r->q);
  PERP_TRY(perp_redundancy_decide(ctx, r, t, r->q, v, (double)NAN, &reason));
  r->report.near = 0;
  return PERP_OK;
}

const perp_redundant *perp_redundancy_report(const perp_redundancy *r)
{
  return &r->report;
}
