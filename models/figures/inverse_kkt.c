/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inverse dynamics as a saddle point system (Cline 2002, eq. 5.3).
 *
 * Of each joint of the tree, of each root that floats, one group of rows G_k = (J_k; H_k) in the
 * coordinates of the model: as many as the body has freedoms (Cline 2002, eq. 5.4), so that G is
 * square and regular, and its pattern a forest.  The rows of J are those that the model has
 * assembled.  Those of H, with rho the arms of the joint point and R_p, R_c the orientations of
 * both bodies:
 *
 *      ball        u = w_c - R_c' R_p w_p
 *      hinge       u = n . (R_c w_c - R_p w_p),  n the axis in the world;  universal: both axes,
 * which are orthogonal slider      u = n . (velocity of the point of c - that of the point of p
 * that coincides with it) distance    the same velocity across the rod, divided by its length, and
 * the rates of a ball
 *
 * M a = f + G' mu, G a = G a_given: mu = (lambda, tau).  Nothing here asks the recursion. */
#include "models/figures/inverse_private.h"

#include "models/multibody/model_private.h"
#include "solvers/kkt/kkt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One node with its rows. */
typedef struct inverse_rows {
  int d, nvb;
  const perp_reduced_node *k;
  const perp_pose *P, *C; /* parent (the world, at rest, has one too) and child */
  double *p, *c;          /* [rows x nvb] column-major, rows apart: ld; p NULL: the world */
  int ld;
} inverse_rows;

/* Row r += the angular velocity of one of both about the world direction n, times sign. */
static void inverse_turn_row(const inverse_rows *x, bool child, int r, const double n[3],
                             double sign)
{
  double *to = child ? x->c : x->p, b[3];
  if (to == NULL) return;
  if (x->d == 2) {
    to[r + x->ld * 2] += sign;
    return;
  }
  perp_turn_back(3, child ? x->C->R : x->P->R, n, b);
  for (int i = 0; i < 3; i++) to[r + x->ld * (3 + i)] += sign * b[i];
}

/* Row r += the velocity along n (world) of a point with the arm rho (world). */
static void inverse_move_row(const inverse_rows *x, bool child, int r, const double n[3],
                             const double rho[3], double sign)
{
  double *to = child ? x->c : x->p, arm[3];
  if (to == NULL) return;
  for (int i = 0; i < x->d; i++) to[r + x->ld * i] += sign * n[i];
  if (x->d == 2)
    to[r + x->ld * 2] += sign * (rho[0] * n[1] - rho[1] * n[0]);
  else {
    perp_cross(rho, n, arm);
    inverse_turn_row(x, child, r, arm, sign);
  }
}

static void inverse_turn_both(const inverse_rows *x, int r, const double n[3])
{
  inverse_turn_row(x, true, r, n, 1);
  inverse_turn_row(x, false, r, n, -1);
}

/* Rows r, ... of H. */
static void inverse_free_rows(const inverse_rows *x, const double *q, int r)
{
  const perp_reduced_node *k = x->k;
  const int d = x->d;
  double n[3] = { 0 }, rho_p[3] = { 0 }, rho_c[3] = { 0 }, gap[3] = { 0 }, at[3];
  const double z[3] = { 0, 0, 1 };
  perp_turn(d, x->P->R, k->anchor_p, rho_p);
  perp_turn(d, x->C->R, k->anchor_c, rho_c);
  for (int i = 0; i < d; i++) gap[i] = x->C->x[i] + rho_c[i] - x->P->x[i] - rho_p[i];
  for (int i = 0; i < 3; i++) at[i] = rho_p[i] + gap[i];
  switch (k->kind) {
  case PERP_REDUCED_FREE:
  case PERP_REDUCED_PLANAR:
    for (int i = 0; i < x->nvb; i++) x->c[r + i + x->ld * i] = 1;
    break;
  case PERP_REDUCED_BALL:
    for (int i = 0; i < 3; i++) inverse_turn_both(x, r + i, x->C->R + 3 * i);
    break;
  case PERP_REDUCED_HINGE:
    if (d == 3) perp_turn(3, x->P->R, k->axis_p, n);
    inverse_turn_both(x, r, n);
    break;
  case PERP_REDUCED_UNIVERSAL:
    perp_turn(3, x->P->R, k->axis_p, n);
    inverse_turn_both(x, r, n);
    perp_turn(3, x->C->R, k->axis_c, n);
    inverse_turn_both(x, r + 1, n);
    break;
  case PERP_REDUCED_SLIDER:
    perp_turn(d, x->P->R, k->axis_p, n);
    inverse_move_row(x, true, r, n, rho_c, 1);
    inverse_move_row(x, false, r, n, at, -1);
    break;
  case PERP_REDUCED_DISTANCE: {
    double R1[9], e[3];
    perp_quat_matrix(q + k->iq, R1);
    for (int i = 0; i < 2; i++) { /* about y of the rod: -z moves; about z: y does */
      perp_turn(3, x->P->R, R1 + (i == 0 ? 6 : 3), e);
      for (int c = 0; c < 3; c++) e[c] *= (i == 0 ? -1 : 1) / k->length;
      inverse_move_row(x, true, r + i, e, rho_c, 1);
      inverse_move_row(x, false, r + i, e, at, -1);
    }
    for (int i = 0; i < 3; i++) inverse_turn_both(x, r + 2 + i, x->C->R + 3 * i);
    break;
  }
  case PERP_REDUCED_PLANAR_DISTANCE: {
    const double l2 = k->length * k->length, across[3] = { -gap[1] / l2, gap[0] / l2, 0 };
    inverse_move_row(x, true, r, across, rho_c, 1);
    inverse_move_row(x, false, r, across, at, -1);
    inverse_turn_both(x, r + 1, z);
    break;
  }
  case PERP_REDUCED_FIXED:
    break;
  }
}

/* The system G, and vectors of one solve, in one block. */
typedef struct inverse_system {
  const perp_inverse *v;
  int n, nvb, subs;
  int *cptr, *jptr, *jblk, *joff, *jgrp, *tptr, *tsub;
  double *G, *f, *c, *a, *mu;
  perp_blocks B;
} inverse_system;

static void inverse_kkt_layout(void *ws, perp_arena *ar)
{
  inverse_system *s = ws;
  const int n = s->n, nv = n * s->nvb;
  PERP_INTS(ar, n + 1, &s->cptr, &s->jptr, &s->tptr);
  PERP_INTS(ar, s->subs + 1, &s->jblk, &s->joff, &s->jgrp, &s->tsub);
  s->G = PERP_CARVE(ar, double, s->subs * s->nvb * s->nvb);
  PERP_DOUBLES(ar, nv, &s->f, &s->c, &s->a, &s->mu);
}

static void inverse_pattern(inverse_system *s)
{
  const perp_reduced_tree *tree = s->v->tree;
  const perp_blocks *model = perp_model_blocks(s->v->model);
  int sub = 0;
  for (int i = 0; i < s->n; i++) {
    const perp_reduced_node *k = &tree->node[i];
    s->cptr[i] = s->nvb * i;
    s->jptr[i] = sub;
    s->jblk[sub++] = k->body;
    if (k->parent >= 0) s->jblk[sub++] = tree->node[k->parent].body;
  }
  s->cptr[s->n] = s->nvb * s->n;
  s->jptr[s->n] = sub;
  for (int e = 0; e <= sub; e++) s->joff[e] = e * s->nvb * s->nvb;
  perp_blocks_transpose(s->n, s->n, s->jptr, s->jblk, s->jgrp, s->tptr, s->tsub);
  s->B = *model;
  s->B.m = s->nvb * s->n;
  s->B.nc = s->n;
  s->B.cptr = s->cptr, s->B.jptr = s->jptr, s->B.jblk = s->jblk, s->B.joff = s->joff;
  s->B.jgrp = s->jgrp, s->B.tptr = s->tptr, s->B.tsub = s->tsub;
  s->B.J = s->G, s->B.s = NULL;
}

/* The values of G: q of the tree and the model assembled at the state. */
static void inverse_values(inverse_system *s, const double *q)
{
  const perp_model *m = s->v->model;
  const perp_blocks *J = perp_model_blocks(m);
  const perp_pose *pose = m->eval.pose;
  memset(s->G, 0, (size_t)(s->subs * s->nvb * s->nvb) * sizeof *s->G);
  for (int i = 0; i < s->n; i++) {
    const perp_reduced_node *k = &s->v->tree->node[i];
    const int j = s->v->joint[i], rows = j < 0 ? 0 : J->cptr[j + 1] - J->cptr[j];
    const int parent = k->parent < 0 ? PERP_WORLD : s->v->tree->node[k->parent].body;
    double *c = s->G + s->joff[s->jptr[i]], *p = parent < 0 ? NULL : c + s->nvb * s->nvb;
    for (int e = j < 0 ? 0 : J->jptr[j]; j >= 0 && e < J->jptr[j + 1]; e++) {
      double *to = J->jblk[e] == k->body ? c : p;
      for (int col = 0; to != NULL && col < s->nvb; col++)
        for (int r = 0; r < rows; r++) to[r + s->nvb * col] = J->J[J->joff[e] + r + rows * col];
    }
    const inverse_rows x = { m->dim, s->nvb, k, &pose[parent], &pose[k->body], p, c, s->nvb };
    inverse_free_rows(&x, q, rows);
  }
}

static perp_status inverse_solve(perp_ctx *ctx, inverse_system *s, const char *kkt)
{
  perp_spec spec;
  perp_kkt_solver *solver = NULL;
  perp_stats stats = { 0 };
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_kkt, kkt, &spec));
  perp_status status = perp_kkt_create(ctx, &spec, &s->B, &solver);
  if (status == PERP_OK) status = perp_kkt_factor(ctx, solver, &s->B, &stats);
  if (status == PERP_OK && stats.reason >= 0)
    status = perp_kkt_solve(ctx, solver, &s->B, s->f, s->c, s->a, s->mu, &stats);
  if (status == PERP_OK && stats.reason < 0)
    status = PERP_FAIL(ctx, PERP_ERR_ARG, "inverse dynamics: %s stopped: %s", kkt,
                       perp_reason_name(stats.reason));
  perp_kkt_destroy(solver);
  perp_spec_free(&spec);
  return status;
}

/* The multipliers of rows of J to lambda, the others to tau. */
static void inverse_share(const inverse_system *s, double *tau, double *lambda)
{
  const perp_blocks *J = perp_model_blocks(s->v->model);
  for (int i = 0; i < s->n; i++) {
    const perp_reduced_node *k = &s->v->tree->node[i];
    const int j = s->v->joint[i], rows = j < 0 ? 0 : J->cptr[j + 1] - J->cptr[j];
    const double *mu = s->mu + s->cptr[i];
    if (rows > 0) memcpy(lambda + J->cptr[j], mu, (size_t)rows * sizeof *mu);
    memcpy(tau + k->iu, mu + rows, (size_t)k->nu * sizeof *mu);
  }
}

perp_status perp_inverse_kkt(perp_ctx *ctx, perp_inverse *v, const char *kkt, double t,
                             const double *qm, const double *vm, const double *am,
                             const double *external, double *tau, double *lambda)
{
  const perp_model *m = v->model;
  inverse_system like = { .v = v, .n = v->tree->n, .nvb = m->dim == 3 ? 6 : 3 };
  for (int i = 0; i < like.n; i++) like.subs += v->tree->node[i].parent >= 0 ? 2 : 1;
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "inverse", &like, sizeof like, inverse_kkt_layout, &ws));
  inverse_system *s = ws;
  /* the scratch of questions, as perp_model_forces has it */
  perp_model_assemble((perp_model *)(uintptr_t)m, t, qm);
  perp_reduced_from_model(v->tree, qm, vm, v->q, v->u);
  inverse_pattern(s);
  inverse_values(s, v->q);
  perp_model_forces(m, t, qm, vm, s->f);
  for (int i = 0; external != NULL && i < s->B.nv; i++) s->f[i] += external[i];
  memset(s->c, 0, (size_t)s->B.m * sizeof *s->c);
  memset(s->mu, 0, (size_t)s->B.m * sizeof *s->mu);
  perp_blocks_J(&s->B, 1, am, s->c);
  const perp_status status = inverse_solve(ctx, s,
                                           kkt != NULL && kkt[0] != '\0' ? kkt : "kkt-sparse");
  if (status == PERP_OK) inverse_share(s, tau, lambda);
  free(s);
  return status;
}
