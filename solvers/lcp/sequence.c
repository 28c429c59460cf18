/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequences of problems: what successive steps of one simulation have posed, and how the answer of
 * one becomes the guess of the next.
 *
 * An impulse stays what it is in the world, P = n lambda_n + t1 lambda_1 + t2 lambda_2, while the
 * frame (n, t1, t2) of its contact turns, so that a guess is linear in the answer before: lambda' =
 * h' / h F' F^T lambda, one small matrix a contact, with nothing for contacts that are born. */
#include "solvers/lcp/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp_lcp_carry_over(const perp_lcp_problem *problem, const double *before, double *lambda)
{
  const perp_lcp_sequence *sequence = &problem->sequence;
  memset(lambda, 0, (size_t)problem->p.n * sizeof *lambda);
  for (int k = 0; k < sequence->n; k++)
    lambda[sequence->carry[k].to] += sequence->carry[k].c * before[sequence->carry[k].from];
  for (int i = 0; i < problem->p.n; i++) {
    double lo, hi;
    if (problem->p.fric_of != NULL && problem->p.fric_of[i] >= 0 && !problem->p.frozen) continue;
    perp_lcp_bounds(&problem->p, lambda, i, &lo, &hi);
    lambda[i] = fmin(fmax(lambda[i], lo), hi);
  }
}

static int sequence_by_number(const void *a, const void *b)
{
  const int *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

static int sequence_distinct(int *x, int n)
{
  int distinct = n > 0;
  if (n > 0) qsort(x, (size_t)n, sizeof *x, sequence_by_number);
  for (int k = 1; k < n; k++) distinct += x[k] != x[k - 1];
  return distinct;
}

perp_status perp_lcp_carry_count(perp_ctx *ctx, const perp_lcp_problem *problem, int *born,
                                 int *gone)
{
  const perp_lcp_sequence *sequence = &problem->sequence;
  int *row = malloc((size_t)(sequence->n + 1) * sizeof *row);
  if (row == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d carries", sequence->n);
  for (int k = 0; k < sequence->n; k++) row[k] = sequence->carry[k].to;
  *born = problem->p.n - sequence_distinct(row, sequence->n);
  for (int k = 0; k < sequence->n; k++) row[k] = sequence->carry[k].from;
  *gone = sequence->rows - sequence_distinct(row, sequence->n);
  free(row);
  return PERP_OK;
}

/* ---- joined ---- */

static unsigned sequence_parts_of(const perp_lcp_problem *problem)
{
  const perp_lcp *lcp = &problem->p;
  return (lcp->lo != NULL || lcp->hi != NULL ? PERP_PART_BOUNDS : 0u) |
         (lcp->fric_of != NULL ? PERP_PART_FRICTION : 0u) |
         (lcp->cone != NULL ? PERP_PART_CONE : 0u) | (lcp->unit != NULL ? PERP_PART_UNIT : 0u) |
         (lcp->contact_of != NULL ? PERP_PART_CONTACTS : 0u);
}

/* The vectors of part q at row `at` of all. */
static void sequence_join_vectors(const perp_lcp_problem *problem, int at, perp_lcp_arrays arrays)
{
  const perp_lcp *lcp = &problem->p;
  for (int i = 0, k = at; i < lcp->n; i++, k++) {
    arrays.b[k] = lcp->b[i];
    if (lcp->lo != NULL) arrays.lo[k] = lcp->lo[i];
    if (lcp->hi != NULL) arrays.hi[k] = lcp->hi[i];
    if (lcp->fric_of != NULL && lcp->fric_of[i] >= 0) {
      arrays.fric_of[k] = at + lcp->fric_of[i];
      arrays.mu[k] = lcp->mu[i];
    }
    if (lcp->cone != NULL) arrays.cone[k] = lcp->cone[i];
    if (lcp->unit != NULL) arrays.unit[k] = lcp->unit[i];
    if (lcp->contact_of != NULL && lcp->contact_of[i] >= 0)
      arrays.contact_of[k] = at + lcp->contact_of[i];
    if (arrays.solution != NULL) arrays.solution[k] = problem->solution[i];
  }
}

static perp_status sequence_join_dense(perp_ctx *ctx, const perp_lcp_problem *part, int parts,
                                       perp_lcp_problem *out)
{
  PERP_TRY(perp_lcp_problem_add_dense(ctx, out));
  const size_t n = (size_t)out->p.n;
  double *A = perp_lcp_edit(out).A;
  for (int i = 0; i < parts; i++) {
    const size_t rows = (size_t)part[i].p.n;
    perp_lcp_problem dense;
    PERP_TRY(perp_lcp_problem_form(ctx, &part[i], &dense));
    for (size_t j = 0; j < rows; j++)
      memcpy(A + j * n, dense.p.A + j * (size_t)dense.p.lda, rows * sizeof *A);
    A += rows * (n + 1);
    perp_lcp_problem_free(&dense);
  }
  return PERP_OK;
}

/* dst [n] = src [n] + add, for the next of such arrays */
static int *sequence_shifted(int *dst, const int *src, int n, int add)
{
  for (int i = 0; i < n; i++) dst[i] = src[i] + add;
  return dst + n;
}

static double *sequence_put(double *dst, const double *src, int n)
{
  if (n > 0) memcpy(dst, src, (size_t)n * sizeof *dst);
  return dst + n;
}

static perp_status sequence_join_blocks(perp_ctx *ctx, const perp_lcp_problem *part, int parts,
                                        perp_lcp_problem *out)
{
  size_t nb = 0, nc = 0, sub = 0, masses = 0, numbers = 0;
  bool soft = false;
  for (int i = 0; i < parts; i++) {
    const perp_blocks *blocks = part[i].p.F;
    nb += (size_t)blocks->nb;
    nc += (size_t)blocks->nc;
    sub += (size_t)blocks->jptr[blocks->nc];
    masses += (size_t)blocks->mptr[blocks->nb];
    numbers += (size_t)blocks->joff[blocks->jptr[blocks->nc]];
    soft |= blocks->s != NULL;
  }
  int *index = calloc(3 * (nb + 1) + 2 * (nc + 1) + 4 * (sub + 1), sizeof *index);
  double *room = calloc(2 * masses + numbers + (size_t)out->p.n + 1, sizeof *room);
  perp_status status = PERP_OK;
  if (index == NULL || room == NULL) {
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %zu blocks", nb);
  } else {
    int *bptr = index, *mptr = bptr + nb + 1, *tptr = mptr + nb + 1, *cptr = tptr + nb + 1,
        *jptr = cptr + nc + 1, *joff = jptr + nc + 1, *jblk = joff + sub + 1,
        *jgrp = jblk + sub + 1, *tsub = jgrp + sub + 1;
    double *M = room, *Minv = M + masses, *J = Minv + masses, *s = J + numbers;
    perp_blocks B = { .bptr = bptr,
                      .mptr = mptr,
                      .cptr = cptr,
                      .jptr = jptr,
                      .jblk = jblk,
                      .joff = joff,
                      .jgrp = jgrp,
                      .tptr = tptr,
                      .tsub = tsub,
                      .M = M,
                      .Minv = Minv,
                      .J = J,
                      .s = soft ? s : NULL };
    int at_sub = 0, at_mass = 0, at_number = 0;
    for (int i = 0; i < parts; i++) {
      const perp_blocks *blocks = part[i].p.F;
      const int n_sub = blocks->jptr[blocks->nc];
      bptr = sequence_shifted(bptr, blocks->bptr, blocks->nb, B.nv);
      mptr = sequence_shifted(mptr, blocks->mptr, blocks->nb, at_mass);
      cptr = sequence_shifted(cptr, blocks->cptr, blocks->nc, B.m);
      jptr = sequence_shifted(jptr, blocks->jptr, blocks->nc, at_sub);
      joff = sequence_shifted(joff, blocks->joff, n_sub, at_number);
      jblk = sequence_shifted(jblk, blocks->jblk, n_sub, B.nb);
      M = sequence_put(M, blocks->M, blocks->mptr[blocks->nb]);
      Minv = sequence_put(Minv, blocks->Minv, blocks->mptr[blocks->nb]);
      J = sequence_put(J, blocks->J, blocks->joff[n_sub]);
      s = blocks->s != NULL ? sequence_put(s, blocks->s, blocks->m) : s + blocks->m;
      B.nv += blocks->nv;
      B.m += blocks->m;
      B.nb += blocks->nb;
      B.nc += blocks->nc;
      at_sub += n_sub;
      at_mass += blocks->mptr[blocks->nb];
      at_number += blocks->joff[n_sub];
    }
    *bptr = B.nv, *mptr = at_mass, *cptr = B.m, *jptr = at_sub, *joff = at_number;
    perp_blocks_transpose(B.nb, B.nc, B.jptr, B.jblk, jgrp, tptr, tsub);
    status = perp_lcp_problem_set_blocks(ctx, out, &B);
  }
  free(index);
  free(room);
  return status;
}

perp_status perp_lcp_join(perp_ctx *ctx, const perp_lcp_problem *part, int parts,
                          perp_lcp_problem *out)
{
  unsigned has = PERP_PART_SOLUTION;
  int n = 0;
  bool factored = parts > 0;
  *out = (perp_lcp_problem){ 0 };
  for (int i = 0; i < parts; i++) {
    has |= sequence_parts_of(&part[i]);
    factored = factored && part[i].p.F != NULL;
    n += part[i].p.n;
    if (part[i].p.frozen != part[0].p.frozen)
      return PERP_FAIL(
          ctx, PERP_ERR_ARG,
          "problem %d and problem 0 differ: only one of them has frozen friction limits", i);
  }
  for (int i = 0; i < parts; i++)
    if (part[i].solution == NULL) has &= ~(unsigned)PERP_PART_SOLUTION;
  PERP_TRY(perp_lcp_problem_new(ctx, n, has, out));
  out->p.frozen = parts > 0 && part[0].p.frozen;
  out->classes = has & PERP_PART_SOLUTION ? PERP_CLASS_SOLVABLE : 0;
  for (int i = 0, at = 0; i < parts; at += part[i++].p.n)
    sequence_join_vectors(&part[i], at, perp_lcp_edit(out));
  const perp_status status = factored ? sequence_join_blocks(ctx, part, parts, out)
                                      : sequence_join_dense(ctx, part, parts, out);
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}
