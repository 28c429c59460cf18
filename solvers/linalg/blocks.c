/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/linalg/blocks.h"

#include "solvers/core/clones.h"

#include <math.h>
#include <string.h>

/* y += alpha G x, G r x d column-major */
static inline void blocks_gemv(int r, int d, const double *G, double alpha, const double *x,
                               double *y)
{
  for (int j = 0; j < d; j++)
    for (int i = 0; i < r; i++) y[i] += alpha * G[i + j * r] * x[j];
}

/* y += alpha G' x */
static inline void blocks_gemvt(int r, int d, const double *G, double alpha, const double *x,
                                double *y)
{
  for (int j = 0; j < d; j++) {
    double sum = 0;
    for (int i = 0; i < r; i++) sum += G[i + j * r] * x[i];
    y[j] += alpha * sum;
  }
}

/* ---- contacts in space ----
 *
 * Most groups are contacts of one or two bodies, each with one or three rows, whose sub-matrices
 * (1 x 6 or 3 x 6) lie side by side.  Their sizes are known here, and what two bodies give is
 * added without a way through memory.  Operations on each number are those of above. */
enum { CONTACT_ROWS = 3, BODY_WIDTH = 6 };

/* How a group is: ANY, or a contact of one or two bodies.  *G: its numbers, *a and *b: the first
 * columns of the bodies. */
enum { ANY, CONTACT_ONE, CONTACT_TWO };
static inline __attribute__((always_inline)) int
contact_of(const perp_blocks *blocks, int c, int *r, const double **G, int *a, int *b)
{
  const int first = blocks->jptr[c], subs = blocks->jptr[c + 1] - first;
  *r = blocks->cptr[c + 1] - blocks->cptr[c];
  if ((*r != CONTACT_ROWS && *r != 1) || subs < 1 || subs > 2) return ANY;
  const int *bptr = blocks->bptr + blocks->jblk[first];
  *G = blocks->J + blocks->joff[first];
  *a = bptr[0];
  if (bptr[1] - bptr[0] != BODY_WIDTH) return ANY;
  if (subs == 1) return CONTACT_ONE;
  bptr = blocks->bptr + blocks->jblk[first + 1];
  *b = bptr[0];
  if (bptr[1] - bptr[0] != BODY_WIDTH ||
      blocks->joff[first + 1] - blocks->joff[first] != *r * BODY_WIDTH)
    return ANY;
  return CONTACT_TWO;
}

/* y += alpha G x, x of each body */
static inline __attribute__((always_inline)) void contact_gemv(const double *G, int bodies,
                                                               double alpha, const double *xa,
                                                               const double *xb, double *y)
{
  const int last = bodies * BODY_WIDTH - 1;
  perp_v4 sum = { y[0], y[1], y[2], 0 };
  for (int j = 0; j < last; j++) /* a number of the next column comes along */
    sum += alpha * *(const perp_v4_any *)(G + 3 * j) *
           (j < BODY_WIDTH ? xa[j] : xb[j - BODY_WIDTH]);
  const double *end = G + 3 * last;
  sum += alpha * (perp_v4){ end[0], end[1], end[2], 0 } *
         (bodies == 2 ? xb[BODY_WIDTH - 1] : xa[BODY_WIDTH - 1]);
  for (int i = 0; i < CONTACT_ROWS; i++) y[i] = sum[i];
}

static inline __attribute__((always_inline)) void
row_gemv(const double *G, int bodies, double alpha, const double *xa, const double *xb, double *y)
{
  double sum = y[0];
  for (int j = 0; j < BODY_WIDTH; j++) sum += alpha * G[j] * xa[j];
  for (int j = 0; j < BODY_WIDTH && bodies == 2; j++) sum += alpha * G[BODY_WIDTH + j] * xb[j];
  y[0] = sum;
}

/* sum = G' x of four columns of a contact; last: nothing may be read behind them. */
static inline __attribute__((always_inline)) void contact_four(const double *G, const perp_v4 *x,
                                                               bool last, perp_v4 *sum)
{
  const perp_v4 p = *(const perp_v4_any *)G * *x, q = *(const perp_v4_any *)(G + 3) * *x,
                r = *(const perp_v4_any *)(G + 6) * *x;
  perp_v4 s = *(const perp_v4_any *)(G + 8);
  if (last)
    s = __builtin_shufflevector(s, s, 1, 2, 3, 0);
  else
    s = *(const perp_v4_any *)(G + 9);
  s *= *x;
  const perp_v4 pq = __builtin_shufflevector(p, q, 0, 4, 2, 6),
                rs = __builtin_shufflevector(r, s, 0, 4, 2, 6),
                second = __builtin_shufflevector(__builtin_shufflevector(p, q, 1, 5, 3, 7),
                                                 __builtin_shufflevector(r, s, 1, 5, 3, 7), 0, 1, 4,
                                                 5);
  *sum = (__builtin_shufflevector(pq, rs, 0, 1, 4, 5) + second) +
         __builtin_shufflevector(pq, rs, 2, 3, 6, 7);
}

/* y += alpha G' x, y of each body */
static inline __attribute__((always_inline)) void
contact_gemvt(const double *G, int bodies, double alpha, const double *x, double *ya, double *yb)
{
  const perp_v4 all = { x[0], x[1], x[2], 0 };
  perp_v4 four;
  contact_four(G, &all, false, &four);
  *(perp_v4_any *)ya += alpha * four;
  if (bodies == 2) {
    contact_four(G + 12, &all, false, &four);
    four *= alpha;
    *(perp_v2_any *)(ya + 4) += (perp_v2){ four[0], four[1] };
    *(perp_v2_any *)yb += (perp_v2){ four[2], four[3] };
    contact_four(G + 24, &all, true, &four);
    *(perp_v4_any *)(yb + 2) += alpha * four;
  } else {
    for (int j = 4; j < BODY_WIDTH; j++) {
      const double *g = G + 3 * j;
      double sum = g[0] * x[0] + g[1] * x[1];
      sum += g[2] * x[2];
      ya[j] += alpha * sum;
    }
  }
}

static inline __attribute__((always_inline)) void row_gemvt(const double *G, double alpha, double x,
                                                            double *y)
{
  *(perp_v4_any *)y += alpha * (*(const perp_v4_any *)G * x);
  *(perp_v2_any *)(y + 4) += alpha * (*(const perp_v2_any *)(G + 4) * x);
}

static inline __attribute__((always_inline)) void sub_Jt(int r, int d, const double *G,
                                                         double alpha, const double *x, double *y)
{
  if (r == CONTACT_ROWS && d == BODY_WIDTH)
    contact_gemvt(G, 1, alpha, x, y, NULL);
  else if (r == 1 && d == BODY_WIDTH)
    row_gemvt(G, alpha, x[0], y);
  else
    blocks_gemvt(r, d, G, alpha, x, y);
}

/* y += alpha J x for the rows of group c */
static inline __attribute__((always_inline)) void group_J(const perp_blocks *blocks, int c,
                                                          double alpha, const double *x, double *y)
{
  int r, a, b = 0;
  const double *G;
  const int kind = contact_of(blocks, c, &r, &G, &a, &b), row = blocks->cptr[c];
  if (kind == CONTACT_TWO && r == 1) {
    row_gemv(G, 2, alpha, x + a, x + b, y + row);
  } else if (kind == CONTACT_TWO) {
    contact_gemv(G, 2, alpha, x + a, x + b, y + row);
  } else if (kind == CONTACT_ONE && r == 1) {
    row_gemv(G, 1, alpha, x + a, NULL, y + row);
  } else if (kind == CONTACT_ONE) {
    contact_gemv(G, 1, alpha, x + a, NULL, y + row);
  } else {
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      const int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      blocks_gemv(r, d, blocks->J + blocks->joff[k], alpha, x + col, y + row);
    }
  }
}

/* y += alpha J' x of group c */
static inline __attribute__((always_inline)) void group_Jt(const perp_blocks *blocks, int c,
                                                           double alpha, const double *x, double *y)
{
  int r, a, b = 0;
  const double *G;
  const int kind = contact_of(blocks, c, &r, &G, &a, &b), row = blocks->cptr[c];
  if (kind != ANY && r == 1) {
    row_gemvt(G, alpha, x[row], y + a);
    if (kind == CONTACT_TWO) row_gemvt(G + BODY_WIDTH, alpha, x[row], y + b);
  } else if (kind == CONTACT_TWO) {
    contact_gemvt(G, 2, alpha, x + row, y + a, y + b);
  } else {
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      const int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      sub_Jt(r, d, blocks->J + blocks->joff[k], alpha, x + row, y + col);
    }
  }
}

void perp_blocks_J(const perp_blocks *blocks, double alpha, const double *x, double *y)
{
  for (int c = 0; c < blocks->nc; c++) group_J(blocks, c, alpha, x, y);
}

void perp_blocks_Jt(const perp_blocks *blocks, double alpha, const double *x, double *y)
{
  for (int c = 0; c < blocks->nc; c++) group_Jt(blocks, c, alpha, x, y);
}

/* y_b = D_b x_b */
static inline void block_times(const perp_blocks *blocks, int b, const double *D, const double *x,
                               double *y)
{
  const int d = blocks->bptr[b + 1] - blocks->bptr[b];
  if (blocks->diag != NULL && blocks->diag[b]) {
    int step = d + 1;
    if (D == blocks->Minv + blocks->mptr[b]) D = perp_blocks_flat(blocks, b, &step);
    if (d == BODY_WIDTH)
      for (int i = 0; i < BODY_WIDTH; i++) y[i] = D[step * i] * x[i];
    else
      for (int i = 0; i < d; i++) y[i] = D[step * i] * x[i];
  } else {
    for (int i = 0; i < d; i++) y[i] = 0;
    blocks_gemv(d, d, D, 1, x, y);
  }
}

static void block_diagonal(const perp_blocks *blocks, const double *D, const double *x, double *y)
{
  for (int b = 0; b < blocks->nb; b++)
    block_times(blocks, b, D + blocks->mptr[b], x + blocks->bptr[b], y + blocks->bptr[b]);
}

void perp_blocks_M(const perp_blocks *blocks, const double *x, double *y)
{
  block_diagonal(blocks, blocks->M, x, y);
}
void perp_blocks_Minv(const perp_blocks *blocks, const double *x, double *y)
{
  block_diagonal(blocks, blocks->Minv, x, y);
}

typedef struct product {
  const perp_blocks *B;
  const double *x;
  double *y, *p, *v;
} product;

/* p = J' x and v = M^-1 p, block by block: each from the groups that touch it, by ascending number
 * as in perp_blocks_Jt. */
PERP_CLONES_OF_FOUR static void gather_share(const product *job, int member, int members)
{
  const perp_blocks *blocks = job->B;
  const int end = perp_share(blocks->nb, member + 1, members);
  for (int b = perp_share(blocks->nb, member, members); b < end; b++) {
    const int col = blocks->bptr[b], d = blocks->bptr[b + 1] - col;
    double *p = job->p + col;
    for (int i = 0; i < d; i++) p[i] = 0;
    for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
      const int k = blocks->tsub[t], row = blocks->cptr[blocks->jgrp[k]],
                r = blocks->cptr[blocks->jgrp[k] + 1] - row;
      sub_Jt(r, d, blocks->J + blocks->joff[k], 1, job->x + row, p);
    }
    block_times(blocks, b, blocks->Minv + blocks->mptr[b], p, job->v + col);
  }
}

PERP_CLONES_OF_FOUR static void product_share(void *user, int member, int members)
{
  const product *job = user;
  const perp_blocks *blocks = job->B;
  if (members > 1) {
    gather_share(job, member, members);
    perp_team_wait(members);
  } else { /* J is read in order */
    for (int i = 0; i < blocks->nv; i++) job->p[i] = 0;
    for (int c = 0; c < blocks->nc; c++) group_Jt(blocks, c, 1, job->x, job->p);
    perp_blocks_Minv(blocks, job->p, job->v);
  }
  const int end = perp_share(blocks->nc, member + 1, members);
  for (int c = perp_share(blocks->nc, member, members); c < end; c++) {
    for (int i = blocks->cptr[c]; i < blocks->cptr[c + 1]; i++)
      job->y[i] = blocks->s != NULL ? blocks->s[i] * job->x[i] : 0;
    group_J(blocks, c, 1, job->v, job->y);
  }
}

void perp_blocks_A(const perp_blocks *blocks, const double *x, double *y, double *scratch)
{
  product job = { blocks, x, y, scratch, scratch + blocks->nv };
  int i = 0;
  while (i < blocks->m && x[i] == 0) i++;
  if (i == blocks->m) /* a problem without a guess */
    memset(y, 0, (size_t)blocks->m * sizeof *y);
  else
    perp_team(blocks->threads, product_share, &job);
}

/* ---- bounds ---- */

/* y += |G| x, x >= 0 */
static inline __attribute__((always_inline)) void bound_J(int r, int d, const double *G,
                                                          const double *x, double *y)
{
  if (r == CONTACT_ROWS && d == BODY_WIDTH) {
    perp_v4 sum = { y[0], y[1], y[2], 0 };
    for (int j = 0; j < BODY_WIDTH - 1; j++) /* a number of the next column comes along */
      sum += PERP_SIZE4(*(const perp_v4_any *)(G + 3 * j)) * x[j];
    for (int i = 0; i < CONTACT_ROWS; i++)
      y[i] = sum[i] + fabs(G[3 * (BODY_WIDTH - 1) + i]) * x[BODY_WIDTH - 1];
    return;
  }
  if (r == 1 && d == BODY_WIDTH) { /* a contact without friction */
    double sum = y[0];
    for (int j = 0; j < BODY_WIDTH; j++) sum += fabs(G[j]) * x[j];
    y[0] = sum;
    return;
  }
  for (int j = 0; j < d; j++)
    for (int i = 0; i < r; i++) y[i] += fabs(G[i + j * r]) * x[j];
}

/* y += |G'| |x| */
static inline __attribute__((always_inline)) void bound_Jt(int r, int d, const double *G,
                                                           const double *x, double *y)
{
  if (r == CONTACT_ROWS && d == BODY_WIDTH) {
    const double a = fabs(x[0]), b = fabs(x[1]), c = fabs(x[2]);
    for (int j = 0; j < BODY_WIDTH; j++)
      y[j] += fabs(G[3 * j]) * a + fabs(G[3 * j + 1]) * b + fabs(G[3 * j + 2]) * c;
    return;
  }
  if (r == 1 && d == BODY_WIDTH) {
    const double a = fabs(x[0]);
    for (int j = 0; j < BODY_WIDTH; j++) y[j] += fabs(G[j]) * a;
    return;
  }
  for (int j = 0; j < d; j++)
    for (int i = 0; i < r; i++) y[j] += fabs(G[i + j * r]) * fabs(x[i]);
}

void perp_blocks_bound(const perp_blocks *blocks, const double *x, double tiny, double *y,
                       double *scratch)
{
  double *v = scratch + blocks->nv;
  for (int i = 0; i < blocks->nv; i++) scratch[i] = tiny;
  for (int c = 0; c < blocks->nc; c++) {
    const int row = blocks->cptr[c], r = blocks->cptr[c + 1] - row;
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      const int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      bound_Jt(r, d, blocks->J + blocks->joff[k], x + row, scratch + col);
    }
  }
  for (int b = 0; b < blocks->nb; b++) {
    const int col = blocks->bptr[b], d = blocks->bptr[b + 1] - col;
    int step = 1;
    if (blocks->diag != NULL && blocks->diag[b]) {
      const double *D = perp_blocks_flat(blocks, b, &step);
      for (int i = 0; i < d; i++) v[col + i] = tiny + fabs(D[step * i]) * scratch[col + i];
    } else {
      for (int i = 0; i < d; i++) v[col + i] = tiny;
      bound_J(d, d, blocks->Minv + blocks->mptr[b], scratch + col, v + col);
    }
  }
  for (int c = 0; c < blocks->nc; c++) {
    const int row = blocks->cptr[c], r = blocks->cptr[c + 1] - row;
    for (int i = row; i < row + r; i++)
      y[i] = tiny + (blocks->s != NULL ? fabs(blocks->s[i] * x[i]) : 0);
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      const int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      bound_J(r, d, blocks->J + blocks->joff[k], v + col, y + row);
    }
  }
}

double perp_blocks_roundings(const perp_blocks *B)
{
  int rows = 0, touching = 0, wide = 0, blocks = 0;
  for (int c = 0; c < B->nc; c++) {
    const int r = B->cptr[c + 1] - B->cptr[c], k = B->jptr[c + 1] - B->jptr[c];
    rows = r > rows ? r : rows;
    blocks = k > blocks ? k : blocks;
  }
  for (int b = 0; b < B->nb; b++) {
    const int d = B->bptr[b + 1] - B->bptr[b], t = B->tptr[b + 1] - B->tptr[b];
    wide = d > wide ? d : wide;
    touching = t > touching ? t : touching;
  }
  /* a product and a sum for each number, in the bound as well */
  return 2 * (2.0 + (double)rows * touching + wide + (double)wide * blocks + 6);
}

void perp_blocks_transpose(int nb, int nc, const int *jptr, const int *jblk, int *jgrp, int *tptr,
                           int *tsub)
{
  for (int b = 0; b <= nb; b++) tptr[b] = 0;
  for (int k = 0; k < jptr[nc]; k++) tptr[jblk[k] + 1]++;
  for (int b = 0; b < nb; b++) tptr[b + 1] += tptr[b];
  /* tptr[b] serves as the insertion point, and is shifted back afterwards */
  for (int c = 0; c < nc; c++)
    for (int k = jptr[c]; k < jptr[c + 1]; k++) {
      jgrp[k] = c;
      tsub[tptr[jblk[k]]++] = k;
    }
  for (int b = nb; b > 0; b--) tptr[b] = tptr[b - 1];
  tptr[0] = 0;
}

void perp_blocks_delassus(const perp_blocks *blocks, double *A, int lda, double *scratch)
{
  for (int j = 0; j < blocks->m; j++) {
    for (int i = 0; i < blocks->m; i++) A[i + (size_t)j * (size_t)lda] = 0;
    if (blocks->s != NULL) A[j + (size_t)j * (size_t)lda] = blocks->s[j];
  }
  for (int b = 0; b < blocks->nb; b++) {
    int d = blocks->bptr[b + 1] - blocks->bptr[b];
    const double *W = blocks->Minv + blocks->mptr[b];
    for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
      int k = blocks->tsub[t], row = blocks->cptr[blocks->jgrp[k]],
          r = blocks->cptr[blocks->jgrp[k] + 1] - row;
      const double *G = blocks->J + blocks->joff[k];
      for (int i = 0; i < r * d; i++) scratch[i] = 0; /* G M_b^-1, r x d */
      for (int j = 0; j < d; j++) blocks_gemv(r, d, G, 1, W + j * d, scratch + j * r);
      for (int u = blocks->tptr[b]; u < blocks->tptr[b + 1]; u++) {
        int l = blocks->tsub[u], col = blocks->cptr[blocks->jgrp[l]],
            rl = blocks->cptr[blocks->jgrp[l] + 1] - col;
        const double *H = blocks->J + blocks->joff[l];
        for (int j = 0; j < rl; j++)
          for (int p = 0; p < d; p++) {
            double h = H[j + p * rl];
            double *out = A + row + (size_t)(col + j) * (size_t)lda;
            for (int i = 0; i < r; i++) out[i] += scratch[i + p * r] * h;
          }
      }
    }
  }
}

/* sum += diag(G W G') of a contact in space on a body with diagonal inertia, W every step-th
 * number; last: nothing may be read behind G. */
static inline __attribute__((always_inline)) void
contact_diagonal(perp_v4 *sum, const double *G, const double *W, int step, bool last)
{
  for (int j = 0; j < BODY_WIDTH; j++) {
    const double *g = G + CONTACT_ROWS * j;
    perp_v4 x = { g[0], g[1], g[2], 0 };
    if (!last || j + 1 < BODY_WIDTH)
      x = *(const perp_v4_any *)g; /* a number of the next comes along */
    *sum += x * W[step * j] * x;
  }
}

static inline __attribute__((always_inline)) double row_diagonal(double sum, const double *G,
                                                                 const double *W, int step)
{
  for (int j = 0; j < BODY_WIDTH; j++) sum += G[j] * W[step * j] * G[j];
  return sum;
}

/* diag of a contact of which all bodies have diagonal inertia; false: it is none */
static inline __attribute__((always_inline)) bool diagonal_of_contact(const perp_blocks *blocks,
                                                                      int c, double *y)
{
  int r, a, b = 0, step = 1;
  const double *G;
  const int kind = contact_of(blocks, c, &r, &G, &a, &b), *block = blocks->jblk + blocks->jptr[c];
  if (kind == ANY || blocks->diag == NULL || !blocks->diag[block[0]]) return false;
  if (kind == CONTACT_TWO && !blocks->diag[block[1]]) return false;
  const double *W = perp_blocks_flat(blocks, block[0], &step), *V = W;
  if (kind == CONTACT_TWO) V = perp_blocks_flat(blocks, block[1], &step);
  if (r == 1) {
    y[0] = row_diagonal(y[0], G, W, step);
    if (kind == CONTACT_TWO) y[0] = row_diagonal(y[0], G + BODY_WIDTH, V, step);
    return true;
  }
  perp_v4 sum = { y[0], y[1], y[2], 0 };
  contact_diagonal(&sum, G, W, step, kind == CONTACT_ONE);
  if (kind == CONTACT_TWO) contact_diagonal(&sum, G + CONTACT_ROWS * BODY_WIDTH, V, step, true);
  for (int i = 0; i < CONTACT_ROWS; i++) y[i] = sum[i];
  return true;
}

PERP_CLONES_OF_FOUR static void blocks_diagonal_share(void *user, int member, int members)
{
  const product *job = user;
  const perp_blocks *blocks = job->B;
  const int end = perp_share(blocks->nc, member + 1, members);
  for (int c = perp_share(blocks->nc, member, members); c < end; c++) {
    const int row = blocks->cptr[c], r = blocks->cptr[c + 1] - row;
    double *y = job->y + row;
    for (int i = 0; i < r; i++) y[i] = blocks->s != NULL ? blocks->s[row + i] : 0;
    if (diagonal_of_contact(blocks, c, y)) continue;
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
      const double *G = blocks->J + blocks->joff[k], *W = blocks->Minv + blocks->mptr[b];
      int step;
      if (blocks->diag != NULL && blocks->diag[b]) {
        W = perp_blocks_flat(blocks, b, &step);
        for (int j = 0; j < d; j++)
          for (int i = 0; i < r; i++) y[i] += G[i + j * r] * W[step * j] * G[i + j * r];
        continue;
      }
      for (int j = 0; j < d; j++)
        for (int l = 0; l < d; l++)
          for (int i = 0; i < r; i++) y[i] += G[i + j * r] * W[j + l * d] * G[i + l * r];
    }
  }
}

void perp_blocks_diagonal(const perp_blocks *blocks, double *y)
{
  product job = { .B = blocks, .y = y };
  perp_team(blocks->threads, blocks_diagonal_share, &job);
}

perp_status perp_blocks_check(perp_ctx *ctx, const perp_blocks *blocks)
{
  if (blocks->nb < 0 || blocks->nc < 0 || blocks->nv < 0 || blocks->m < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: negative size (nb %d, nc %d, nv %d, m %d)",
                     blocks->nb, blocks->nc, blocks->nv, blocks->m);
  if (blocks->bptr[0] != 0 || blocks->bptr[blocks->nb] != blocks->nv)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: bptr runs from %d to %d, not from 0 to nv = %d",
                     blocks->bptr[0], blocks->bptr[blocks->nb], blocks->nv);
  if (blocks->cptr[0] != 0 || blocks->cptr[blocks->nc] != blocks->m || blocks->jptr[0] != 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: cptr runs from %d to %d, not from 0 to m = %d",
                     blocks->cptr[0], blocks->cptr[blocks->nc], blocks->m);
  for (int b = 0; b < blocks->nb; b++) {
    int64_t d = (int64_t)blocks->bptr[b + 1] - blocks->bptr[b];
    if (d < 1 || blocks->mptr[b + 1] - (int64_t)blocks->mptr[b] != d * d)
      return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: block %d has %d columns and %d mass entries", b,
                       (int)d, blocks->mptr[b + 1] - blocks->mptr[b]);
  }
  for (int c = 0; c < blocks->nc; c++) {
    int64_t r = (int64_t)blocks->cptr[c + 1] - blocks->cptr[c];
    if (r < 1 || blocks->jptr[c + 1] < blocks->jptr[c])
      return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: group %d has %d rows and %d sub-matrices", c,
                       (int)r, blocks->jptr[c + 1] - blocks->jptr[c]);
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      int b = blocks->jblk[k];
      if (b < 0 || b >= blocks->nb)
        return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: group %d touches block %d of %d", c, b,
                         blocks->nb);
      if (blocks->joff[k + 1] - (int64_t)blocks->joff[k] !=
          r * (blocks->bptr[b + 1] - blocks->bptr[b]))
        return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: sub-matrix %d of group %d has %d entries",
                         k - blocks->jptr[c], c, blocks->joff[k + 1] - blocks->joff[k]);
      for (int l = blocks->jptr[c]; l < k; l++)
        if (blocks->jblk[l] == b)
          return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: group %d touches block %d twice", c, b);
      if (blocks->jgrp[k] != c)
        return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: jgrp[%d] is %d, not %d", k, blocks->jgrp[k],
                         c);
    }
  }
  if (blocks->tptr[0] != 0 || blocks->tptr[blocks->nb] != blocks->jptr[blocks->nc])
    return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: the transpose has %d of %d sub-matrices",
                     blocks->tptr[blocks->nb], blocks->jptr[blocks->nc]);
  for (int b = 0; b < blocks->nb; b++)
    for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++)
      if (blocks->tsub[t] < 0 || blocks->tsub[t] >= blocks->jptr[blocks->nc] ||
          blocks->jblk[blocks->tsub[t]] != b)
        return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: tsub[%d] does not touch block %d", t, b);
      else if (t > blocks->tptr[b] &&
               blocks->jgrp[blocks->tsub[t]] <= blocks->jgrp[blocks->tsub[t - 1]])
        return PERP_FAIL(ctx, PERP_ERR_DIM, "blocks: tsub[%d] is not by ascending group", t);
  return PERP_OK;
}

/* ---- copies ---- */

static void *blocks_copy_part(perp_arena *arena, const void *from, size_t count, size_t size)
{
  void *to = from != NULL ? perp_arena_carve(arena, count, size) : NULL;
  if (to != NULL && arena->base != NULL && count > 0) memcpy(to, from, count * size);
  return to;
}
#define COPY(field, T, count) B.field = blocks_copy_part(a, F->field, (size_t)(count), sizeof(T))

perp_blocks *perp_blocks_copy(const perp_blocks *F, perp_arena *a)
{
  perp_blocks B = *F, *out = PERP_CARVE(a, perp_blocks, 1);
  int nb = F->nb, nc = F->nc, sub = F->jptr[nc];
  COPY(bptr, int, nb + 1);
  COPY(mptr, int, nb + 1);
  COPY(cptr, int, nc + 1);
  COPY(jptr, int, nc + 1);
  COPY(jblk, int, sub);
  COPY(joff, int, sub + 1);
  COPY(jgrp, int, sub);
  COPY(tptr, int, nb + 1);
  COPY(tsub, int, sub);
  COPY(M, double, F->mptr[nb]);
  COPY(Minv, double, F->mptr[nb]);
  COPY(J, double, F->joff[sub]);
  COPY(s, double, F->m);
  COPY(diag, unsigned char, nb);
  COPY(flat, double, F->nv);
  if (out != NULL) *out = B;
  return out;
}
#undef COPY
