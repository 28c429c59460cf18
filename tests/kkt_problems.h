/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constrained systems for the KKT tests, and an independent solver: Gaussian elimination with
 * complete pivoting of the full KKT matrix in long double. */
#ifndef PERP_KKT_PROBLEMS_H
#define PERP_KKT_PROBLEMS_H

#include "solvers/core/core.h"
#include "solvers/kkt/kkt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* numbers go into long double on purpose */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdouble-promotion"

enum { PROBLEM_MOST = 8 }; /* columns of a block, rows of a group, blocks of a group */

typedef struct problem {
  const char *name;
  perp_blocks B; /* points into the arrays below */
  int *bptr, *mptr, *cptr, *jptr, *jblk, *joff, *jgrp, *tptr, *tsub;
  double *M, *Minv, *J, *s, *f, *c;
  unsigned char *diag;
  int cap_nb, cap_nc;
} problem;

/* n zeroed items; tests stop when memory ends */
static inline void *problem_memory(size_t n, size_t size)
{
  void *p = calloc(n > 0 ? n : 1, size);
  if (p == NULL) exit(99);
  return p;
}

static inline problem *problem_open(const char *name, int nb, int nc)
{
  problem *p = problem_memory(1, sizeof *p);
  size_t b = (size_t)nb, c = (size_t)nc, k = PROBLEM_MOST, m = c * k, subs = c * k;
  p->name = name;
  p->cap_nb = nb;
  p->cap_nc = nc;
  p->bptr = problem_memory(b + 1, sizeof(int));
  p->mptr = problem_memory(b + 1, sizeof(int));
  p->cptr = problem_memory(c + 1, sizeof(int));
  p->jptr = problem_memory(c + 1, sizeof(int));
  p->jblk = problem_memory(subs, sizeof(int));
  p->joff = problem_memory(subs + 1, sizeof(int));
  p->jgrp = problem_memory(subs, sizeof(int));
  p->tptr = problem_memory(b + 1, sizeof(int));
  p->tsub = problem_memory(subs, sizeof(int));
  p->M = problem_memory(b * k * k, sizeof(double));
  p->Minv = problem_memory(b * k * k, sizeof(double));
  p->J = problem_memory(subs * k * k, sizeof(double));
  p->s = problem_memory(m, sizeof(double));
  p->f = problem_memory(b * k, sizeof(double));
  p->c = problem_memory(m, sizeof(double));
  p->diag = problem_memory(b, 1);
  return p;
}

static inline void problem_free(problem *p)
{
  if (p == NULL) return;
  void *all[] = { p->bptr, p->mptr, p->cptr, p->jptr, p->jblk, p->joff, p->jgrp, p->tptr, p->tsub,
                  p->M,    p->Minv, p->J,    p->s,    p->f,    p->c,    p->diag, p };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* A body of d columns.  Space (6) and plane (3): mass and inertia of a rod of length 1, turned at
 * random unless `diagonal`; other d: random SPD. */
static inline int problem_body(problem *p, perp_rng *rng, int d, double mass, bool diagonal)
{
  int b = p->B.nb++, linear = d == 6 ? 3 : d == 3 ? 2 : 0;
  long double M[PROBLEM_MOST][PROBLEM_MOST] = { { 0 } }, L[PROBLEM_MOST][PROBLEM_MOST] = { { 0 } };
  p->bptr[b + 1] = p->bptr[b] + d;
  p->mptr[b + 1] = p->mptr[b] + d * d;
  p->diag[b] = diagonal;
  for (int i = 0; i < linear; i++) M[i][i] = mass;
  double v[PROBLEM_MOST];
  for (int i = linear; i < d; i++) v[i] = perp_rng_normal(rng);
  for (int i = linear; i < d; i++)
    for (int j = linear; j < d; j++) {
      M[i][j] = i == j ? mass * (0.05L + 0.03L * i) : 0;
      if (!diagonal) M[i][j] += mass * 0.05L * v[i] * v[j];
    }
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++) p->M[p->mptr[b] + i + j * d] = (double)M[i][j];
  /* inverse of the rounded matrix, column by column by Cholesky */
  for (int j = 0; j < d; j++)
    for (int i = j; i < d; i++) {
      long double sum = p->M[p->mptr[b] + i + j * d];
      for (int k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
      L[i][j] = i == j ? sqrtl(sum) : sum / L[j][j];
    }
  for (int c = 0; c < d; c++) {
    long double x[PROBLEM_MOST] = { 0 };
    x[c] = 1;
    for (int i = 0; i < d; i++) {
      for (int k = 0; k < i; k++) x[i] -= L[i][k] * x[k];
      x[i] /= L[i][i];
    }
    for (int i = d - 1; i >= 0; i--) {
      for (int k = i + 1; k < d; k++) x[i] -= L[k][i] * x[k];
      x[i] /= L[i][i];
    }
    for (int i = 0; i < d; i++) p->Minv[p->mptr[b] + i + c * d] = (double)x[i];
  }
  for (int i = 0; i < d; i++)
    p->f[p->bptr[b] + i] = mass * (i == linear - 1 ? -9.81 : 0.3 * perp_rng_normal(rng));
  return b;
}

/* r rows of a joint at arm s of a body: point rows, then axis rows; other sizes are random. */
static inline void problem_sub(problem *p, perp_rng *rng, int b, int r, double sign,
                               const double *s, double *J)
{
  int d = p->bptr[b + 1] - p->bptr[b], linear = d == 6 ? 3 : d == 3 ? 2 : 0;
  for (int i = 0; i < r; i++)
    for (int j = 0; j < d; j++) J[i + j * r] = linear == 0 ? sign * perp_rng_normal(rng) : 0;
  for (int i = 0; i < r && linear > 0; i++) {
    if (i < linear)
      J[i + i * r] = sign;
    else
      for (int j = linear; j < d; j++)
        J[i + j * r] = sign * ((j - linear == i - linear) + 0.2 * perp_rng_normal(rng));
  }
  if (d == 6) { /* point velocity: v + omega x s */
    const double X[3][3] = { { 0, s[2], -s[1] }, { -s[2], 0, s[0] }, { s[1], -s[0], 0 } };
    for (int i = 0; i < r && i < 3; i++)
      for (int j = 0; j < 3; j++) J[i + (3 + j) * r] = sign * X[i][j];
  }
  if (d == 3) {
    J[0 + 2 * r] = -sign * s[1];
    if (r > 1) J[1 + 2 * r] = sign * s[0];
  }
}

/* A joint of r rows between n bodies (n = 1: with the world). */
static inline void problem_joint(problem *p, perp_rng *rng, int r, int n, const int *bodies)
{
  int g = p->B.nc++, k = p->jptr[g];
  p->cptr[g + 1] = p->cptr[g] + r;
  for (int i = 0; i < n; i++, k++) {
    int b = bodies[i];
    double s[3] = { i == 0 ? -0.5 : 0.5 };
    for (int axis = 1; axis < 3; axis++) s[axis] = 0.1 * perp_rng_normal(rng);
    p->jblk[k] = b;
    p->joff[k + 1] = p->joff[k] + r * (p->bptr[b + 1] - p->bptr[b]);
    problem_sub(p, rng, b, r, i == 0 ? 1 : -1, s, p->J + p->joff[k]);
  }
  p->jptr[g + 1] = k;
  for (int i = 0; i < r; i++) p->c[p->cptr[g] + i] = perp_rng_normal(rng);
}

/* Joint g once more, with the same right-hand side. */
static inline void problem_repeat(problem *p, perp_rng *rng, int g)
{
  int r = p->cptr[g + 1] - p->cptr[g], n = p->jptr[g + 1] - p->jptr[g], h = p->B.nc;
  problem_joint(p, rng, r, n, p->jblk + p->jptr[g]);
  memcpy(p->J + p->joff[p->jptr[h]], p->J + p->joff[p->jptr[g]],
         sizeof(double) * (size_t)(p->joff[p->jptr[g + 1]] - p->joff[p->jptr[g]]));
  memcpy(p->c + p->cptr[h], p->c + p->cptr[g], sizeof(double) * (size_t)r);
}

static inline problem *problem_close(problem *p)
{
  perp_blocks *B = &p->B;
  B->nv = p->bptr[B->nb];
  B->m = p->cptr[B->nc];
  perp_blocks_transpose(B->nb, B->nc, p->jptr, p->jblk, p->jgrp, p->tptr, p->tsub);
  B->bptr = p->bptr, B->mptr = p->mptr, B->cptr = p->cptr, B->jptr = p->jptr;
  B->jblk = p->jblk, B->joff = p->joff, B->jgrp = p->jgrp, B->tptr = p->tptr, B->tsub = p->tsub;
  B->M = p->M, B->Minv = p->Minv, B->J = p->J, B->s = NULL, B->diag = NULL;
  return p;
}

/* ---- the family ---- */

/* N bodies of d columns in a row, joints of r rows; grounded: the first hangs on the world. */
static inline problem *problem_chain(const char *name, int N, int d, int r, bool grounded,
                                     bool diagonal)
{
  perp_rng *rng = perp_rng_create(7);
  problem *p = problem_open(name, N, N);
  for (int b = 0; b < N; b++) problem_body(p, rng, d, 1, diagonal);
  for (int b = 0; b < N; b++)
    if (b > 0)
      problem_joint(p, rng, r, 2, (int[]){ b, b - 1 });
    else if (grounded)
      problem_joint(p, rng, r, 1, (int[]){ 0 });
  problem_close(p);
  if (diagonal) p->B.diag = p->diag;
  perp_rng_destroy(rng);
  return p;
}

/* Heap order: the parent of i is (i - 1) / 2; the root hangs on the world. */
static inline problem *problem_heap(const char *name, int N, int r)
{
  perp_rng *rng = perp_rng_create(8);
  problem *p = problem_open(name, N, N);
  for (int b = 0; b < N; b++) problem_body(p, rng, 6, 1, b % 2);
  for (int b = 0; b < N; b++) problem_joint(p, rng, r, b > 0 ? 2 : 1, (int[]){ b, (b - 1) / 2 });
  problem_close(p);
  p->B.diag = p->diag; /* some blocks are diagonal, some are not */
  perp_rng_destroy(rng);
  return p;
}

/* A hub with a hinge to the world and `arms` chains of `length` bodies. */
static inline problem *problem_carousel(const char *name, int arms, int length)
{
  perp_rng *rng = perp_rng_create(9);
  problem *p = problem_open(name, 1 + arms * length, 1 + arms * length);
  problem_body(p, rng, 6, 10, false);
  problem_joint(p, rng, 5, 1, (int[]){ 0 });
  for (int arm = 0; arm < arms; arm++)
    for (int i = 0; i < length; i++) {
      int b = problem_body(p, rng, 6, 1, false);
      problem_joint(p, rng, 3, 2, (int[]){ b, i > 0 ? b - 1 : 0 });
    }
  perp_rng_destroy(rng);
  return problem_close(p);
}

/* A free body with `arms` bodies hinged to it, and nothing on the world. */
static inline problem *problem_drifting(const char *name, int arms)
{
  perp_rng *rng = perp_rng_create(10);
  problem *p = problem_open(name, 1 + arms, arms);
  problem_body(p, rng, 6, 10, false);
  for (int b = 1; b <= arms; b++) {
    problem_body(p, rng, 6, 1, false);
    problem_joint(p, rng, 5, 2, (int[]){ b, 0 });
  }
  perp_rng_destroy(rng);
  return problem_close(p);
}

/* A closed ring of N bodies held at one of them, and a bar across. */
static inline problem *problem_ring(const char *name, int N)
{
  perp_rng *rng = perp_rng_create(10);
  problem *p = problem_open(name, N, N + 2);
  for (int b = 0; b < N; b++) problem_body(p, rng, 6, 1, false);
  for (int b = 0; b < N; b++) problem_joint(p, rng, 3, 2, (int[]){ b, (b + 1) % N });
  problem_joint(p, rng, 3, 1, (int[]){ 0 });
  problem_joint(p, rng, 1, 2, (int[]){ 0, N / 2 });
  perp_rng_destroy(rng);
  return problem_close(p);
}

/* A chain between two walls. */
static inline problem *problem_bridge(const char *name, int N)
{
  problem *p = problem_chain(name, N, 6, 3, true, false), *q = problem_open(name, N, N + 1);
  perp_rng *rng = perp_rng_create(11);
  for (int b = 0; b < N; b++) problem_body(q, rng, 6, 1, false);
  for (int g = 0; g < p->B.nc; g++)
    problem_joint(q, rng, 3, p->jptr[g + 1] - p->jptr[g], p->jblk + p->jptr[g]);
  problem_joint(q, rng, 3, 1, (int[]){ N - 1 });
  problem_free(p);
  perp_rng_destroy(rng);
  return problem_close(q);
}

/* Random graph of bodies of mixed sizes; groups of 1 to 3 bodies, rows fewer than columns in all.
 */
static inline problem *problem_random(const char *name, uint64_t seed, int nb, int nc)
{
  static const int sizes[] = { 6, 6, 3, 6, 2, 5 };
  perp_rng *rng = perp_rng_create(seed);
  problem *p = problem_open(name, nb, nc);
  for (int b = 0; b < nb; b++) {
    const int size = sizes[perp_rng_int(rng, 6)];
    problem_body(p, rng, size, perp_rng_uniform(rng, 0.5, 2), false);
  }
  for (int g = 0; g < nc; g++) {
    int bodies[PROBLEM_MOST], n = 1 + perp_rng_int(rng, nb < 3 ? nb : 3);
    for (int i = 0; i < n; i++) {
      bodies[i] = perp_rng_int(rng, nb);
      for (int j = 0; j < i; j++)
        if (bodies[j] == bodies[i]) {
          i--;
          break;
        }
    }
    problem_joint(p, rng, 1 + perp_rng_int(rng, 2), n, bodies);
  }
  perp_rng_destroy(rng);
  return problem_close(p);
}

/* A chain whose masses are spread over 10^0 ... 10^decades. */
static inline problem *problem_masses(const char *name, int N, double decades)
{
  perp_rng *rng = perp_rng_create(12);
  problem *p = problem_open(name, N, N);
  for (int b = 0; b < N; b++)
    problem_body(p, rng, 6, pow(10, decades * ((b * 5) % N) / (N - 1)), false);
  for (int b = 0; b < N; b++) problem_joint(p, rng, 3, b > 0 ? 2 : 1, (int[]){ b, b - 1 });
  perp_rng_destroy(rng);
  return problem_close(p);
}

/* A chain of N bodies with one joint present twice; contradictory: with another right-hand side. */
static inline problem *problem_twice(const char *name, int N, int which, bool contradictory)
{
  perp_rng *rng = perp_rng_create(13);
  problem *p = problem_open(name, N, N + 1);
  for (int b = 0; b < N; b++) problem_body(p, rng, 6, 1, false);
  for (int b = 0; b < N; b++) problem_joint(p, rng, 3, b > 0 ? 2 : 1, (int[]){ b, b - 1 });
  problem_repeat(p, rng, which);
  if (contradictory) p->c[p->cptr[N] + 1] += 1;
  perp_rng_destroy(rng);
  return problem_close(p);
}

/* ---- the independent answer ---- */

/* Solve [M -J'; -J -S] (a, lambda) = (f, -c) by Gaussian elimination with complete pivoting in long
 * double.  Returns the smallest pivot relative to the largest. */
static inline double problem_solve_rank(const problem *p, double *a, double *lambda, int *rank)
{
  const perp_blocks *B = &p->B;
  int nv = B->nv, n = nv + B->m;
  size_t N = (size_t)n;
  long double *K = problem_memory(N * N, sizeof *K), *x = problem_memory(N, sizeof *x);
  int *column = problem_memory(N, sizeof *column);
  for (int b = 0; b < B->nb; b++) {
    int col = B->bptr[b], d = B->bptr[b + 1] - col;
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++)
        K[(size_t)(col + i) * N + (size_t)(col + j)] = B->M[B->mptr[b] + i + j * d];
  }
  for (int g = 0; g < B->nc; g++)
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++) {
      int col = B->bptr[B->jblk[k]], d = B->bptr[B->jblk[k] + 1] - col;
      int row = B->cptr[g], r = B->cptr[g + 1] - row;
      for (int i = 0; i < r; i++)
        for (int j = 0; j < d; j++) {
          double v = -B->J[B->joff[k] + i + j * r];
          K[(size_t)(nv + row + i) * N + (size_t)(col + j)] = v;
          K[(size_t)(col + j) * N + (size_t)(nv + row + i)] = v;
        }
    }
  for (int i = 0; i < B->m; i++) {
    if (B->s != NULL) K[(size_t)(nv + i) * N + (size_t)(nv + i)] = -B->s[i];
    x[nv + i] = -p->c[i];
  }
  for (int i = 0; i < nv; i++) x[i] = p->f[i];
  for (int i = 0; i < n; i++) column[i] = i;
  long double *unit = problem_memory(N, sizeof *unit); /* so that pivots can be compared */
  for (int i = 0; i < n; i++) unit[i] = 1;
  for (int round = 0; round < 10; round++)
    for (int i = 0; i < n; i++) {
      long double top = 0;
      for (int j = 0; j < n; j++)
        top = fmaxl(top, fabsl(K[(size_t)i * N + (size_t)j]) * unit[i] * unit[j]);
      if (top > 0) unit[i] /= sqrtl(top);
    }
  for (int i = 0; i < n; i++) {
    x[i] *= unit[i];
    for (int j = 0; j < n; j++) K[(size_t)i * N + (size_t)j] *= unit[i] * unit[j];
  }

  const long double dependent = 1e-15L; /* of the largest pivot: what is left is rounding */
  long double largest = 0, smallest = HUGE_VALL;
  *rank = 0;
  for (int k = 0; k < n; k++) {
    int pi = k, pj = k;
    long double best = -1;
    for (int i = k; i < n; i++)
      for (int j = k; j < n; j++)
        if (fabsl(K[(size_t)i * N + (size_t)j]) > best) {
          best = fabsl(K[(size_t)i * N + (size_t)j]);
          pi = i;
          pj = j;
        }
    if (k == 0) largest = best;
    if (best <= dependent * largest) break;
    smallest = fminl(smallest, best);
    *rank = k + 1;
    for (int j = 0; j < n; j++) {
      long double t = K[(size_t)k * N + (size_t)j];
      K[(size_t)k * N + (size_t)j] = K[(size_t)pi * N + (size_t)j];
      K[(size_t)pi * N + (size_t)j] = t;
    }
    for (int i = 0; i < n; i++) {
      long double t = K[(size_t)i * N + (size_t)k];
      K[(size_t)i * N + (size_t)k] = K[(size_t)i * N + (size_t)pj];
      K[(size_t)i * N + (size_t)pj] = t;
    }
    long double t = x[k];
    x[k] = x[pi];
    x[pi] = t;
    int swap = column[k];
    column[k] = column[pj];
    column[pj] = swap;
    for (int i = k + 1; i < n; i++) {
      long double l = K[(size_t)i * N + (size_t)k] / K[(size_t)k * N + (size_t)k];
      if (l == 0) continue;
      for (int j = k; j < n; j++) K[(size_t)i * N + (size_t)j] -= l * K[(size_t)k * N + (size_t)j];
      x[i] -= l * x[k];
    }
  }
  for (int k = *rank; k < n; k++) x[k] = 0;
  for (int k = *rank - 1; k >= 0; k--) {
    for (int j = k + 1; j < *rank; j++) x[k] -= K[(size_t)k * N + (size_t)j] * x[j];
    x[k] /= K[(size_t)k * N + (size_t)k];
  }
  for (int k = 0; k < n; k++)
    if (column[k] < nv)
      a[column[k]] = (double)(x[k] * unit[column[k]]);
    else
      lambda[column[k] - nv] = (double)(x[k] * unit[column[k]]);
  free(K);
  free(x);
  free(unit);
  free(column);
  return n > 0 ? (double)(smallest / largest) : 1;
}

static inline double problem_solve(const problem *p, double *a, double *lambda)
{
  int rank;
  return problem_solve_rank(p, a, lambda, &rank);
}

/* max |x - y| / max |y| */
static inline double problem_difference(int n, const double *x, const double *y)
{
  double diff = 0, size = 0;
  for (int i = 0; i < n; i++) {
    if (!(fabs(x[i] - y[i]) <= diff)) diff = fabs(x[i] - y[i]);
    size = fmax(size, fabs(y[i]));
  }
  return diff == 0 ? 0 : diff / size;
}

#pragma GCC diagnostic pop

#endif
