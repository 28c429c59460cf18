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
 *
 *      hinge       u = n . (R_c w_c - R_p w_p),  n the axis in the world
 *
 *      universal   both axes, which are orthogonal
 *
 *      slider      u = n . (velocity of the point of c - that of the point of p)
 *
 *      distance    the same velocity across the rod, divided by its length, and the rates of a ball
 *
 * Of a slider the point of p is the one that coincides with that of c.
 *
 * M a = f + G' mu, G a = G a_given: mu = (lambda, tau).  Nothing here asks the recursion. */
#include "models/figures/inverse_private.h"
#include "models/multibody/chain.h"

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
static void inverse_turn_row(const inverse_rows *rows, bool child, int r, const double n[3],
                             double sign)
{
  double *to = child ? rows->c : rows->p, b[3];
  if (to == NULL) return;
  if (rows->d == 2) {
    to[r + rows->ld * 2] += sign;
    return;
  }
  perp_turn_back(3, child ? rows->C->R : rows->P->R, n, b);
  for (int i = 0; i < 3; i++) to[r + rows->ld * (3 + i)] += sign * b[i];
}

/* Row r += the velocity along n (world) of a point with the arm rho (world). */
static void inverse_move_row(const inverse_rows *rows, bool child, int r, const double n[3],
                             const double rho[3], double sign)
{
  double *to = child ? rows->c : rows->p, arm[3];
  if (to == NULL) return;
  for (int i = 0; i < rows->d; i++) to[r + rows->ld * i] += sign * n[i];
  if (rows->d == 2)
    to[r + rows->ld * 2] += sign * (rho[0] * n[1] - rho[1] * n[0]);
  else {
    perp_cross(rho, n, arm);
    inverse_turn_row(rows, child, r, arm, sign);
  }
}

static void inverse_turn_both(const inverse_rows *rows, int r, const double n[3])
{
  inverse_turn_row(rows, true, r, n, 1);
  inverse_turn_row(rows, false, r, n, -1);
}

/* A pose of the plane in space. */
static void inverse_in_space(int d, const perp_pose *pose, perp_pose *out)
{
  *out = *pose;
  if (d == 3) return;
  *out = (perp_pose){ .x = { pose->x[0], pose->x[1] },
                      .R = { pose->R[0], pose->R[1], 0, pose->R[2], pose->R[3], 0, 0, 0, 1 } };
}

/* Rates of the axes of a chain that is at q. */
static void inverse_chain_rows(const inverse_rows *rows, const double *q, int r)
{
  const perp_chain *chain = rows->k->chain;
  perp_chain_memory memory;
  perp_chain_at at;
  perp_pose P, C;
  inverse_in_space(rows->d, rows->P, &P);
  inverse_in_space(rows->d, rows->C, &C);
  perp_chain_start(chain, q, &memory);
  perp_chain_solve(chain, &memory, &P, &C, &at);
  for (int i = 0; i < chain->n; i++) {
    double y[6], Jp[6], Jc[6];
    perp_chain_covector(chain, &at, i, y);
    perp_chain_jacobian(chain, &at, &P, y, 1, Jp, Jc);
    for (int k = 0; k < rows->nvb; k++) {
      const int of = rows->d == 3 || k < 2 ? k : 5;
      if (rows->p != NULL) rows->p[r + i + rows->ld * k] += Jp[of];
      rows->c[r + i + rows->ld * k] += Jc[of];
    }
  }
}

/* Rows r, ... of H. */
static void inverse_free_rows(const inverse_rows *rows, const double *q, int r)
{
  const perp_reduced_node *node = rows->k;
  const int d = rows->d;
  double n[3] = { 0 }, rho_p[3] = { 0 }, rho_c[3] = { 0 }, gap[3] = { 0 }, at[3];
  const double z[3] = { 0, 0, 1 };
  perp_turn(d, rows->P->R, node->anchor_p, rho_p);
  perp_turn(d, rows->C->R, node->anchor_c, rho_c);
  for (int i = 0; i < d; i++) gap[i] = rows->C->x[i] + rho_c[i] - rows->P->x[i] - rho_p[i];
  for (int i = 0; i < 3; i++) at[i] = rho_p[i] + gap[i];
  switch (node->kind) {
  case PERP_REDUCED_FREE:
  case PERP_REDUCED_PLANAR:
    for (int i = 0; i < rows->nvb; i++) rows->c[r + i + rows->ld * i] = 1;
    break;
  case PERP_REDUCED_BALL:
    for (int i = 0; i < 3; i++) inverse_turn_both(rows, r + i, rows->C->R + 3 * i);
    break;
  case PERP_REDUCED_HINGE:
    if (d == 3) perp_turn(3, rows->P->R, node->axis_p, n);
    inverse_turn_both(rows, r, n);
    break;
  case PERP_REDUCED_UNIVERSAL:
    perp_turn(3, rows->P->R, node->axis_p, n);
    inverse_turn_both(rows, r, n);
    perp_turn(3, rows->C->R, node->axis_c, n);
    inverse_turn_both(rows, r + 1, n);
    break;
  case PERP_REDUCED_SLIDER:
    perp_turn(d, rows->P->R, node->axis_p, n);
    inverse_move_row(rows, true, r, n, rho_c, 1);
    inverse_move_row(rows, false, r, n, at, -1);
    break;
  case PERP_REDUCED_DISTANCE: {
    double R1[9], e[3];
    perp_quat_matrix(q + node->iq, R1);
    for (int i = 0; i < 2; i++) { /* about y of the rod: -z moves; about z: y does */
      perp_turn(3, rows->P->R, R1 + (i == 0 ? 6 : 3), e);
      for (int c = 0; c < 3; c++) e[c] *= (i == 0 ? -1 : 1) / node->length;
      inverse_move_row(rows, true, r + i, e, rho_c, 1);
      inverse_move_row(rows, false, r + i, e, at, -1);
    }
    for (int i = 0; i < 3; i++) inverse_turn_both(rows, r + 2 + i, rows->C->R + 3 * i);
    break;
  }
  case PERP_REDUCED_PLANAR_DISTANCE: {
    const double l2 = node->length * node->length, across[3] = { -gap[1] / l2, gap[0] / l2, 0 };
    inverse_move_row(rows, true, r, across, rho_c, 1);
    inverse_move_row(rows, false, r, across, at, -1);
    inverse_turn_both(rows, r + 1, z);
    break;
  }
  case PERP_REDUCED_CHAIN_2:
  case PERP_REDUCED_CHAIN_3:
  case PERP_REDUCED_CHAIN_4:
  case PERP_REDUCED_CHAIN_5:
    inverse_chain_rows(rows, q + node->iq, r);
    break;
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
  inverse_system *system = ws;
  const int n = system->n, nv = n * system->nvb;
  PERP_INTS(ar, n + 1, &system->cptr, &system->jptr, &system->tptr);
  PERP_INTS(ar, system->subs + 1, &system->jblk, &system->joff, &system->jgrp, &system->tsub);
  system->G = PERP_CARVE(ar, double, system->subs * system->nvb * system->nvb);
  PERP_DOUBLES(ar, nv, &system->f, &system->c, &system->a, &system->mu);
}

/* The values of G: q of the tree and the model assembled at the state. */
static void inverse_values(inverse_system *system, const double *q)
{
  const perp_model *model = system->v->model;
  const perp_blocks *blocks = perp_model_blocks(model);
  const perp_pose *pose = model->eval.pose;
  memset(system->G, 0, (size_t)(system->subs * system->nvb * system->nvb) * sizeof *system->G);
  for (int i = 0; i < system->n; i++) {
    const perp_reduced_node *node = &system->v->tree->node[i];
    const int j = system->v->joint[i], rows = j < 0 ? 0 : blocks->cptr[j + 1] - blocks->cptr[j];
    const int parent = node->parent < 0 ? PERP_WORLD : system->v->tree->node[node->parent].body;
    double *c = system->G + system->joff[system->jptr[i]],
           *p = parent < 0 ? NULL : c + system->nvb * system->nvb;
    for (int e = j < 0 ? 0 : blocks->jptr[j]; j >= 0 && e < blocks->jptr[j + 1]; e++) {
      double *to = blocks->jblk[e] == node->body ? c : p;
      for (int col = 0; to != NULL && col < system->nvb; col++)
        for (int row = 0; row < rows; row++)
          to[row + system->nvb * col] = blocks->J[blocks->joff[e] + row + rows * col];
    }
    const inverse_rows x = { model->dim,        system->nvb, node, &pose[parent],
                             &pose[node->body], p,           c,    system->nvb };
    inverse_free_rows(&x, q, rows);
  }
}

static perp_status inverse_solve(perp_ctx *ctx, inverse_system *system, const char *kkt)
{
  perp_spec spec;
  perp_kkt_solver *solver = NULL;
  perp_stats stats = { 0 };
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_kkt, kkt, &spec));
  perp_status status = perp_kkt_create(ctx, &spec, &system->B, &solver);
  if (status == PERP_OK) status = perp_kkt_factor(ctx, solver, &system->B, &stats);
  if (status == PERP_OK && stats.reason >= 0)
    status = perp_kkt_solve(ctx, solver, &system->B, system->f, system->c, system->a, system->mu,
                            &stats);
  if (status == PERP_OK && stats.reason < 0)
    status = PERP_FAIL(ctx, PERP_ERR_ARG, "inverse dynamics: %s stopped: %s", kkt,
                       perp_reason_name(stats.reason));
  perp_kkt_destroy(solver);
  perp_spec_free(&spec);
  return status;
}

/* The multipliers of rows of blocks to lambda, the others to tau. */
static void inverse_share(const inverse_system *system, double *tau, double *lambda)
{
  const perp_blocks *blocks = perp_model_blocks(system->v->model);
  for (int i = 0; i < system->n; i++) {
    const perp_reduced_node *node = &system->v->tree->node[i];
    const int j = system->v->joint[i], rows = j < 0 ? 0 : blocks->cptr[j + 1] - blocks->cptr[j];
    const double *mu = system->mu + system->cptr[i];
    if (rows > 0) memcpy(lambda + blocks->cptr[j], mu, (size_t)rows * sizeof *mu);
    memcpy(tau + node->iu, mu + rows, (size_t)node->nu * sizeof *mu);
  }
}

perp_status perp_inverse_kkt(perp_ctx *ctx, perp_inverse *inverse, const char *kkt, double t,
                             const double *qm, const double *vm, const double *am,
                             const double *external, double *tau, double *lambda)
{
  const perp_model *m = inverse->model;
  inverse_system like = { .v = inverse, .n = inverse->tree->n, .nvb = m->dim == 3 ? 6 : 3 };
  for (int i = 0; i < like.n; i++) like.subs += inverse->tree->node[i].parent >= 0 ? 2 : 1;
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "inverse", &like, sizeof like, inverse_kkt_layout, &ws));
  inverse_system *system = ws;
  /* the scratch of questions, as perp_model_forces has it */
  perp_model_assemble((perp_model *)(uintptr_t)m, t, qm);
  perp_reduced_from_model(inverse->tree, qm, vm, inverse->q, inverse->u);
  const perp_reduced_tree *tree = system->v->tree;
  const perp_blocks *model = perp_model_blocks(system->v->model);
  int sub = 0;
  for (int i = 0; i < system->n; i++) {
    const perp_reduced_node *node = &tree->node[i];
    system->cptr[i] = system->nvb * i;
    system->jptr[i] = sub;
    system->jblk[sub++] = node->body;
    if (node->parent >= 0) system->jblk[sub++] = tree->node[node->parent].body;
  }
  system->cptr[system->n] = system->nvb * system->n;
  system->jptr[system->n] = sub;
  for (int e = 0; e <= sub; e++) system->joff[e] = e * system->nvb * system->nvb;
  perp_blocks_transpose(system->n, system->n, system->jptr, system->jblk, system->jgrp,
                        system->tptr, system->tsub);
  system->B = *model;
  system->B.m = system->nvb * system->n;
  system->B.nc = system->n;
  system->B.cptr = system->cptr, system->B.jptr = system->jptr, system->B.jblk = system->jblk,
  system->B.joff = system->joff;
  system->B.jgrp = system->jgrp, system->B.tptr = system->tptr, system->B.tsub = system->tsub;
  system->B.J = system->G, system->B.s = NULL;
  inverse_values(system, inverse->q);
  perp_model_forces(m, t, qm, vm, system->f);
  perp_model_compensation(m, t, qm, -1, NULL, system->f); /* a part of what is asked for */
  for (int i = 0; external != NULL && i < system->B.nv; i++) system->f[i] += external[i];
  memset(system->c, 0, (size_t)system->B.m * sizeof *system->c);
  memset(system->mu, 0, (size_t)system->B.m * sizeof *system->mu);
  perp_blocks_J(&system->B, 1, am, system->c);
  const perp_status status = inverse_solve(ctx, system,
                                           kkt != NULL && kkt[0] != '\0' ? kkt : "kkt-sparse");
  if (status == PERP_OK) inverse_share(system, tau, lambda);
  free(system);
  return status;
}
