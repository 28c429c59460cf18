/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Row scales a_i = max_j |A_ij| of A = J M^-1 J' + S, which is never formed: by multiplying out
 * what can be multiplied, or for contacts only what a bound does not rule out. */
#include "solvers/core/clones.h"
#include "solvers/lcp/lcp_private.h"

#include <math.h>

void perp_lcp_factored_rows(const perp_blocks *blocks, const double *lambda, double *a, double *c,
                            double *acc, double *y)
{
  for (int i = 0; i < blocks->m; i++) acc[i] = 0;
  for (int g = 0; g < blocks->nc; g++) {
    int row = blocks->cptr[g], r = blocks->cptr[g + 1] - row;
    for (int l = 0; l < r; l++) {
      int i = row + l;
      acc[i] = blocks->s != NULL ? blocks->s[i] : 0;
      for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
        int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
        const double *G = blocks->J + blocks->joff[k], *W = blocks->Minv + blocks->mptr[b];
        for (int q = 0; q < d; q++) {
          y[q] = 0;
          for (int s = 0; s < d; s++) y[q] += W[q + s * d] * G[l + s * r];
        }
        for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
          int u = blocks->tsub[t], col = blocks->cptr[blocks->jgrp[u]],
              ru = blocks->cptr[blocks->jgrp[u] + 1] - col;
          const double *H = blocks->J + blocks->joff[u];
          for (int q = 0; q < d; q++)
            for (int j = 0; j < ru; j++) acc[col + j] += H[j + q * ru] * y[q];
        }
      }
      double most = fabs(acc[i]), sum = 0;
      if (lambda != NULL) sum = most * fabs(lambda[i]);
      acc[i] = 0;
      for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
        int b = blocks->jblk[k];
        for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
          int u = blocks->tsub[t];
          for (int j = blocks->cptr[blocks->jgrp[u]]; j < blocks->cptr[blocks->jgrp[u] + 1]; j++) {
            double v = fabs(acc[j]);
            if (v > most) most = v;
            if (lambda != NULL) sum += v * fabs(lambda[j]);
            acc[j] = 0;
          }
        }
      }
      a[i] = most;
      if (lambda != NULL) c[i] = sum;
    }
  }
}

/* acc += H y of a sub-matrix of r rows, d numbers long */
static inline __attribute__((always_inline)) void row_spread(const double *H, int r, int d,
                                                             const double *y, double *acc)
{
  for (int q = 0; q < d; q++)
    for (int j = 0; j < r; j++) acc[j] += H[j + q * r] * y[q];
}

/* the same of a contact in space */
static inline __attribute__((always_inline)) void row_spread_contact(const double *H,
                                                                     const double *y, double *acc)
{
  perp_v4 sum = { acc[0], acc[1], acc[2], 0 };
  for (int q = 0; q < 5; q++) /* a number of the next column comes along */
    sum += *(const perp_v4_any *)(H + 3 * q) * y[q];
  sum += (perp_v4){ H[15], H[16], H[17], 0 } * y[5];
  for (int j = 0; j < 3; j++) acc[j] = sum[j];
}

PERP_CLONES_OF_FOUR static double scales_row(const perp_blocks *blocks, int g, int l, double *acc,
                                             double *y)
{
  const int i = blocks->cptr[g] + l, r = blocks->cptr[g + 1] - blocks->cptr[g];
  acc[i] = blocks->s != NULL ? blocks->s[i] : 0;
  for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
    const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
    const double *G = blocks->J + blocks->joff[k] + l;
    int step;
    const double *W = perp_lcp_inverse(blocks, b, &step);
    for (int q = 0; q < d; q++) {
      y[q] = step > 0 ? W[step * q] * G[q * r] : 0;
      for (int s = 0; step == 0 && s < d; s++) y[q] += W[q + s * d] * G[s * r];
    }
    for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
      const int u = blocks->tsub[t], col = blocks->cptr[blocks->jgrp[u]],
                ru = blocks->cptr[blocks->jgrp[u] + 1] - col;
      const double *H = blocks->J + blocks->joff[u];
      if (ru == 3 && d == 6)
        row_spread_contact(H, y, acc + col);
      else if (ru == 1 && d == 6)
        row_spread(H, 1, 6, y, acc + col);
      else
        row_spread(H, ru, d, y, acc + col);
    }
  }
  double most = fabs(acc[i]);
  acc[i] = 0;
  for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++)
    for (int t = blocks->tptr[blocks->jblk[k]]; t < blocks->tptr[blocks->jblk[k] + 1]; t++) {
      const int h = blocks->jgrp[blocks->tsub[t]];
      for (int j = blocks->cptr[h]; j < blocks->cptr[h + 1]; j++) {
        const double size = fabs(acc[j]);
        most = size > most ? size : most;
        acc[j] = 0;
      }
    }
  return most;
}

double perp_lcp_factored_row(const perp_blocks *blocks, int g, int l, double *acc, double *y)
{
  return scales_row(blocks, g, l, acc, y);
}

/* The quick way where each group touches one or two narrow blocks, and the groups on the same two
 * blocks follow each other (the points of a contact).  With d_ib = g_ib' M_b^-1 g_ib, A_ii = sum_b
 * d_ib + s_i, and |A_ij| <= sqrt(d_ib d_jb) for rows that share the block b alone: rows of such a
 * run are multiplied out, and a row meets those of other groups only where the bound with the
 * largest d_jb of the block exceeds what has been found. */
enum { NARROW = 6, RUN_ROWS = 24 };
#define SAME                                                                                       \
  1e-13 /* what a bound may be exceeded by: less than the rounding that the judge allows for */

/* The end of the run of groups on the same blocks that starts with group g; at most RUN_ROWS rows.
 */
static int run_end(const perp_blocks *blocks, int g)
{
  const int first = blocks->jptr[g], subs = blocks->jptr[g + 1] - first;
  int h = g + 1;
  for (; h < blocks->nc && blocks->jptr[h + 1] - blocks->jptr[h] == subs; h++)
    for (int k = 0; k < subs; k++)
      if (blocks->jblk[blocks->jptr[h] + k] != blocks->jblk[first + k]) return h;
  return h;
}

/* Are the groups narrow, and all groups on two blocks in one run?  seen [nb] scratch. */
static bool scales_narrow(const perp_blocks *blocks, double *seen)
{
  for (int b = 0; b < blocks->nb; b++) {
    if (blocks->bptr[b + 1] - blocks->bptr[b] > NARROW) return false;
    seen[b] = -1;
  }
  for (int g = 0; g < blocks->nc; g++) {
    const int subs = blocks->jptr[g + 1] - blocks->jptr[g];
    if (subs < 1 || subs > 2) return false;
  }
  for (int b = 0; b < blocks->nb; b++) /* seen [c] = b: there has been a group on b and c */
    for (int t = blocks->tptr[b], last = -1; t < blocks->tptr[b + 1]; t++) {
      const int k = blocks->tsub[t], g = blocks->jgrp[k], start = blocks->jptr[g];
      if (blocks->jptr[g + 1] - start < 2) continue;
      const int c = blocks->jblk[k == start ? start + 1 : start];
      const bool follows = last >= 0 && last == g - 1 &&
                           blocks->jblk[blocks->jptr[last]] == blocks->jblk[start] &&
                           blocks->jblk[blocks->jptr[last] + 1] == blocks->jblk[start + 1];
      if (seen[c] == b && !follows) return false;
      seen[c] = b;
      last = g;
    }
  return true;
}

/* y = W g (diagonal: every step-th number of W) for a row g of a sub-matrix of r rows, d numbers
 * long; returns g'y */
static inline __attribute__((always_inline)) double
row_times(const double *G, const double *W, int step, int r, int d, bool diagonal, double y[NARROW])
{
  double sum = 0;
  if (diagonal)
    for (int q = 0; q < d; q++) y[q] = W[step * q] * G[q * r];
  else {
    for (int q = 0; q < d; q++) y[q] = 0;
    for (int s = 0; s < d; s++)
      for (int q = 0; q < d; q++) y[q] += W[q + s * d] * G[s * r];
  }
  for (int q = 0; q < d; q++) sum += G[q * r] * y[q];
  return sum;
}

/* y = M_b^-1 g for row l of sub-matrix k; returns g'y.  Sizes of contacts in space are known at
 * compile time. */
static double row_times_inverse(const perp_blocks *blocks, int k, int l, int r, double y[NARROW])
{
  const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
  const double *G = blocks->J + blocks->joff[k] + l;
  int step;
  const double *W = perp_lcp_inverse(blocks, b, &step);
  const bool diagonal = step > 0;
  if (r == 3 && d == 6 && diagonal) return row_times(G, W, step, 3, 6, true, y);
  return row_times(G, W, step, r, d, diagonal, y);
}

/* x = max(x, d) of what other members raise as well */
static inline void scales_raise_to(double *x, double d)
{
  double now;
  __atomic_load(x, &now, __ATOMIC_RELAXED);
  while (d > now)
    if (__atomic_compare_exchange(x, &now, &d, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
}

/* M_b^-1 g of the rows of a run, number by number; four rows at a time are multiplied out. */
typedef struct run_rows {
  double y[2][NARROW][RUN_ROWS + 4] __attribute__((aligned(32)));
} run_rows;

/* Contacts in space on bodies with diagonal inertia: y = W g of the three rows of a sub-matrix,
 * number by number, and their products g'y in part.  What comes behind the three in y is
 * overwritten. */
static inline __attribute__((always_inline)) void
contact_times(const double *G, const double *W, int step, double (*y)[RUN_ROWS + 4], double part[4])
{
  perp_v4 sum = { 0, 0, 0, 0 };
  for (int q = 0; q < NARROW; q++) {
    perp_v4 g = { G[3 * q], G[3 * q + 1], G[3 * q + 2], 0 };
    if (q + 1 < NARROW) g = *(const perp_v4_any *)(G + 3 * q);
    const perp_v4 x = W[step * q] * g;
    *(perp_v4_any *)y[q] = x;
    sum += g * x;
  }
  *(perp_v4 *)part = sum;
}

/* M_b^-1 g of each row of group h, the first of them at place `before` of the run, and their
 * diagonal.  d: length of the rows on each block, 0: not the same for all. */
static inline __attribute__((always_inline)) void
rows_of_group(const perp_blocks *blocks, int h, int before, int subs, int r, int d, bool diagonal,
              run_rows *run, double *a, double *own, double *most)
{
  const int at = blocks->cptr[h];
  for (int l = 0; l < r; l++) a[at + l] = blocks->s != NULL ? blocks->s[at + l] : 0;
  for (int k = 0; k < subs; k++) {
    const int b = blocks->jblk[blocks->jptr[h] + k],
              width = d > 0 ? d : blocks->bptr[b + 1] - blocks->bptr[b];
    const double *G = blocks->J + blocks->joff[blocks->jptr[h] + k],
                 *W = blocks->Minv + blocks->mptr[b];
    const bool flat = diagonal || (blocks->diag != NULL && blocks->diag[b]);
    int step = 0;
    if (flat) W = perp_blocks_flat(blocks, b, &step);
    double part[RUN_ROWS] __attribute__((aligned(32))), top = 0;
    if (r == 3 && d == NARROW && diagonal)
      contact_times(G, W, step, (double(*)[RUN_ROWS + 4]) & run->y[k][0][before], part);
    else
      for (int l = 0; l < r; l++) {
        double x[NARROW];
        part[l] = row_times(G + l, W, step, r, width, flat, x);
        for (int q = 0; q < width; q++) run->y[k][q][before + l] = x[q];
      }
    for (int l = 0; l < r; l++) {
      if (k == 0) own[at + l] = part[l];
      top = part[l] > top ? part[l] : top;
      a[at + l] += part[l];
    }
    scales_raise_to(&most[b], top);
  }
}

/* max_j |A_ij| over the run for row l of group h, n rows in all, at least `most`. */
static inline __attribute__((always_inline)) double row_of_run(const perp_blocks *blocks, int h,
                                                               int l, int n, int subs, int r, int d,
                                                               const run_rows *run, double most)
{
  perp_v4 top = { 0, 0, 0, 0 };
  for (int j = 0; j < n; j += 4) {
    perp_v4 sum = { 0, 0, 0, 0 };
    for (int k = 0; k < subs; k++) {
      const int b = blocks->jblk[blocks->jptr[h] + k],
                width = d > 0 ? d : blocks->bptr[b + 1] - blocks->bptr[b];
      const double *G = blocks->J + blocks->joff[blocks->jptr[h] + k] + l;
      for (int q = 0; q < width; q++) sum += G[q * r] * *(const perp_v4 *)&run->y[k][q][j];
    }
    sum = PERP_SIZE4(sum);
    top = PERP_LARGER4(sum, top);
  }
  for (int q = 0; q < 4; q++) most = top[q] > most ? top[q] : most;
  return most;
}

/* All rows of groups g ... end - 1, each with r rows of length d on each block.  |A_ij| <=
 * sqrt(A_ii A_jj): a row whose A_ii is the largest of the run, or equal to it but for rounding,
 * needs no products. */
static inline __attribute__((always_inline)) void
run_of_groups(const perp_blocks *blocks, int g, int end, int subs, int r, int d, bool diagonal,
              run_rows *run, double *a, double *own, double *most)
{
  const int first = blocks->cptr[g], n = blocks->cptr[end] - first;
  double largest = 0;
  for (int h = g; h < end; h++) {
    const int rows = r > 0 ? r : blocks->cptr[h + 1] - blocks->cptr[h];
    rows_of_group(blocks, h, blocks->cptr[h] - first, subs, rows, d, diagonal, run, a, own, most);
  }
  for (int i = n; i % 4 != 0; i++)
    for (int k = 0; k < subs; k++)
      for (int q = 0; q < NARROW; q++) run->y[k][q][i] = 0;
  for (int i = first; i < first + n; i++) largest = a[i] > largest ? a[i] : largest;
  for (int h = g; h < end; h++) {
    const int rows = r > 0 ? r : blocks->cptr[h + 1] - blocks->cptr[h];
    for (int l = 0; l < rows; l++) {
      double *x = &a[blocks->cptr[h] + l];
      if (!(*x * (1 + SAME) >= largest)) *x = row_of_run(blocks, h, l, n, subs, rows, d, run, *x);
    }
  }
}

/* Rows of the run of groups g ... end - 1 among themselves.  own [m]: d of the first block; most
 * [nb]: the largest d of each block so far.  False: too many rows. */
PERP_CLONES_OF_FOUR static bool scales_of_run(const perp_blocks *blocks, int g, int end, double *a,
                                              double *own, double *most)
{
  run_rows run;
  const int n = blocks->cptr[end] - blocks->cptr[g], subs = blocks->jptr[g + 1] - blocks->jptr[g];
  if (n > RUN_ROWS) return false;
  bool contacts = blocks->diag != NULL; /* in space, on bodies with diagonal inertia, */
  const int rows = blocks->cptr[g + 1] - blocks->cptr[g]; /* of so many rows each */
  for (int k = blocks->jptr[g]; k < blocks->jptr[g] + subs; k++)
    contacts = contacts && blocks->diag[blocks->jblk[k]] &&
               blocks->bptr[blocks->jblk[k] + 1] - blocks->bptr[blocks->jblk[k]] == 6;
  for (int h = g; h < end; h++)
    contacts = contacts && blocks->cptr[h + 1] - blocks->cptr[h] == rows;
  if (contacts && rows == 3 && subs == 2)
    run_of_groups(blocks, g, end, 2, 3, 6, true, &run, a, own, most);
  else if (contacts && rows == 3)
    run_of_groups(blocks, g, end, 1, 3, 6, true, &run, a, own, most);
  else if (contacts && rows == 1 && subs == 2)
    run_of_groups(blocks, g, end, 2, 1, 6, true, &run, a, own, most);
  else if (contacts && rows == 1)
    run_of_groups(blocks, g, end, 1, 1, 6, true, &run, a, own, most);
  else
    run_of_groups(blocks, g, end, subs, 0, 0, false, &run, a, own, most);
  return true;
}

static inline double row_dot(const double *G, const double *y, int r, int d)
{
  double sum = 0;
  for (int q = 0; q < d; q++) sum += G[q * r] * y[q];
  return sum;
}

/* Row l of sub-matrix k, row i of A, against the rows of other groups on its block that share this
 * block alone: those of other runs. */
static double scale_across(const perp_blocks *blocks, int g, int k, int l, double most)
{
  const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b],
            subs = blocks->jptr[g + 1] - blocks->jptr[g];
  const int other = subs == 2 ? blocks->jblk[k == blocks->jptr[g] ? k + 1 : k - 1] : -1;
  double y[NARROW];
  row_times_inverse(blocks, k, l, blocks->cptr[g + 1] - blocks->cptr[g], y);
  for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
    const int u = blocks->tsub[t], h = blocks->jgrp[u], start = blocks->jptr[h];
    const int rh = blocks->cptr[h + 1] - blocks->cptr[h];
    if (h == g) continue;
    if (other >= 0 && blocks->jptr[h + 1] - start == 2 &&
        blocks->jblk[u == start ? start + 1 : start] == other)
      continue;
    const double *H = blocks->J + blocks->joff[u];
    for (int j = 0; j < rh; j++) {
      const double sum = fabs(rh == 3 && d == NARROW ? row_dot(H + j, y, 3, NARROW)
                                                     : row_dot(H + j, y, rh, d));
      if (sum > most) most = sum;
    }
  }
  return most;
}

/* The rows of all runs, then each row against those of other runs. */
typedef struct survey {
  const perp_blocks *F;
  double *a, *own, *most;
  bool wide; /* some run has too many rows */
} survey;

static void scales_share(void *user, int member, int members)
{
  survey *job = user;
  const perp_blocks *blocks = job->F;
  const int from = perp_share(blocks->nc, member, members),
            to = perp_share(blocks->nc, member + 1, members);
  /* the runs that begin here */
  int g = from;
  if (g > 0 && g < to && run_end(blocks, g - 1) > g) g = run_end(blocks, g);
  while (g < to) {
    const int end = run_end(blocks, g);
    if (!scales_of_run(blocks, g, end, job->a, job->own, job->most))
      __atomic_store_n(&job->wide, true, __ATOMIC_RELAXED);
    g = end;
  }
  perp_team_wait(members);
  if (__atomic_load_n(&job->wide, __ATOMIC_RELAXED)) return;
  for (g = from; g < to; g++) {
    const int first = blocks->jptr[g], subs = blocks->jptr[g + 1] - first;
    for (int i = blocks->cptr[g]; i < blocks->cptr[g + 1]; i++)
      for (int k = 0; k < subs; k++) {
        const int b = blocks->jblk[first + k];
        /* a_i >= A_ii; room for rounding */
        const double d = k == 0 ? job->own[i] : job->a[i] - job->own[i];
        if (d * job->most[b] * (1 + 1e-9) >= job->a[i] * job->a[i])
          job->a[i] = scale_across(blocks, g, first + k, i - blocks->cptr[g], job->a[i]);
      }
  }
}

bool perp_lcp_contact_scales(const perp_blocks *blocks, double *a, double *scratch)
{
  survey job = { blocks, a, scratch, scratch + blocks->m, false };
  if (!scales_narrow(blocks, job.most)) return false;
  for (int b = 0; b < blocks->nb; b++) job.most[b] = 0;
  perp_team(blocks->threads, scales_share, &job);
  return !job.wide;
}
