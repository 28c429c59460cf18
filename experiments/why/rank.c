/* SPDX-License-Identifier: GPL-3.0-or-later */
/* W = D J M^-1/2 with rows of length 1; its singular values are 0 in the directions of redundant
 * rows, and the smallest other one is the sine of the angle by which a row misses the span of the
 * others (up to sqrt(m)). */
#include "experiments/why/evidence.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_ROWS = 300, RANK_WORK = 32 };
static const double RANK_ZERO = 1e-9, /* of the largest singular value: a row depends on others */
    RANK_PART = 0.1;                  /* of the largest entry of a null vector: a row of it */

void perp_why_place(perp_why_places *places, const char *text)
{
  for (int i = 0; i < places->n; i++)
    if (strcmp(places->at[i], text) == 0) return;
  if (places->n == PERP_WHY_PLACES)
    places->more++;
  else
    snprintf(places->at[places->n++], PERP_WHY_PLACE, "%s", text);
}

bool perp_why_svd(int rows, int columns, double *A, double *sigma, double *U)
{
  const int room = RANK_WORK * (rows + columns);
  for (size_t i = 0; i < (size_t)rows * (size_t)columns; i++)
    if (!isfinite(A[i])) return false;
  double *work = malloc((size_t)room * sizeof *work);
  if (work == NULL) return false;
  memset(sigma, 0, (size_t)rows * sizeof *sigma);
  const int info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, U != NULL ? 'A' : 'N', 'N', rows, columns,
                                       A, rows, sigma, U, rows, NULL, 1, work, room);
  free(work);
  return info == 0;
}

/* W [m nv] = J C with M^-1 = C C', blocks lower triangular. */
static bool rank_rows(const perp_blocks *blocks, double *W)
{
  double C[36];
  memset(W, 0, (size_t)blocks->m * (size_t)blocks->nv * sizeof *W);
  for (int c = 0; c < blocks->nc; c++)
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      const int at = blocks->bptr[blocks->jblk[k]], lda = blocks->bptr[blocks->jblk[k] + 1] - at,
                row = blocks->cptr[c], r = blocks->cptr[c + 1] - row;
      if (lda > 6) return false;
      memcpy(C, blocks->Minv + blocks->mptr[blocks->jblk[k]], (size_t)(lda * lda) * sizeof *C);
      if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', lda, C, lda) != 0) return false;
      for (int j = 0; j < lda; j++)
        for (int l = j; l < lda; l++)
          for (int i = 0; i < r; i++)
            W[row + i + (size_t)blocks->m * (size_t)(at + j)] +=
                blocks->J[blocks->joff[k] + i + l * r] * C[l + j * lda];
    }
  return true;
}

static void rank_name(const perp_model *model, int row, perp_why_places *places)
{
  for (int joint = 0; joint < perp_model_joints(model); joint++) {
    int rows;
    const int first = perp_model_joint_row(model, joint, &rows);
    if (row < first || row >= first + rows) continue;
    char text[PERP_WHY_PLACE];
    const char *name = perp_model_joint(model, joint)->name;
    if (name != NULL)
      snprintf(text, sizeof text, "joint %d '%.48s'", joint, name);
    else
      snprintf(text, sizeof text, "joint %d", joint);
    perp_why_place(places, text);
  }
}

double perp_why_rank(perp_model *model, double t, const double *q, perp_why_evidence *evidence)
{
  const int all = perp_model_m(model), nv = perp_model_nv(model);
  evidence->jacobian.left_out = all > RANK_ROWS;
  if (all == 0 || all > RANK_ROWS) return (double)NAN;
  const size_t m = (size_t)all, n = (size_t)nv;
  double *memory = malloc((2 * m * n + m * m + 4 * m) * sizeof *memory);
  if (memory == NULL) return (double)NAN;
  double result = (double)NAN, *W = memory, *V = W + m * n, *U = V + m * n, *sigma = U + m * m,
         *rigid = sigma + m, *raw = rigid + m;
  for (size_t i = 0; i < m; i++) rigid[i] = 1;
  perp_model_rigid_rows(model, rigid);
  const perp_blocks *blocks = perp_model_assemble(model, t, q);
  int rows = 0;
  if (rank_rows(blocks, W)) {
    /* Rows that hold something, together. */
    int *of = perp_xalloc(m, sizeof *of);
    for (int i = 0; i < all; i++) {
      double size = 0;
      for (size_t j = 0; j < n; j++) size += W[(size_t)i + m * j] * W[(size_t)i + m * j];
      if (rigid[i] == 0 || size == 0 || (blocks->s != NULL && blocks->s[i] > 0)) continue;
      of[rows] = i;
      raw[rows++] = sqrt(size);
    }
    for (size_t j = 0; j < n; j++)
      for (int row = 0; row < rows; row++) V[row + (size_t)rows * j] = W[(size_t)of[row] + m * j];
    double least = INFINITY, most = 0;
    if (rows > 0 && perp_why_svd(rows, nv, V, sigma, NULL)) {
      for (int row = 0; row < rows; row++)
        if (sigma[row] > RANK_ZERO * sigma[0]) least = fmin(least, sigma[row]);
      most = sigma[0];
      evidence->jacobian.condition = fmax(evidence->jacobian.condition,
                                          most * most / (least * least));
    }
    for (size_t j = 0; j < n; j++)
      for (int row = 0; row < rows; row++)
        V[row + (size_t)rows * j] = W[(size_t)of[row] + m * j] / raw[row];
    if (rows > 0 && perp_why_svd(rows, nv, V, sigma, U)) {
      int rank = 0;
      while (rank < rows && sigma[rank] > RANK_ZERO * sigma[0]) rank++;
      const double sine = sigma[rank - 1];
      result = sine;
      const bool first = evidence->jacobian.states == 0,
                 fewer = !first && rank < evidence->jacobian.least,
                 nearer = first || fewer ||
                          (rank == evidence->jacobian.least && sine < evidence->jacobian.sine);
      evidence->jacobian.scaled = fmax(evidence->jacobian.scaled,
                                       sigma[0] * sigma[0] / (sine * sine));
      if (first || rank < evidence->jacobian.least) {
        evidence->jacobian.least = rank;
        evidence->jacobian.t_least = t;
      }
      evidence->jacobian.most = first || rank > evidence->jacobian.most ? rank
                                                                        : evidence->jacobian.most;
      if (first || sine < evidence->jacobian.sine) {
        evidence->jacobian.sine = sine;
        evidence->jacobian.t_sine = t;
      }
      if (nearer) { /* null vector, or the one that is nearly one */
        const double *u = U + (size_t)rows * (size_t)(rank < rows ? rows - 1 : rank - 1);
        double largest = 0;
        memset(&evidence->jacobian.rows, 0, sizeof evidence->jacobian.rows);
        for (int row = 0; row < rows; row++) largest = fmax(largest, fabs(u[row]));
        for (int row = 0; row < rows; row++)
          if (fabs(u[row]) > RANK_PART * largest)
            rank_name(model, of[row], &evidence->jacobian.rows);
      }
      evidence->jacobian.m = rows;
      evidence->jacobian.states++;
    }
    free(of);
  }
  free(memory);
  return result;
}
