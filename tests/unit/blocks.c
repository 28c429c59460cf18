/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Block matrices against dense ones built entry by entry, and refusal of wrong patterns. */
#include "tests/kkt_problems.h"
#include "tests/tap.h"

/* dense J [m x nv], M [nv x nv], row-major */
static void expand(const perp_blocks *B, double *J, double *M, double *Minv)
{
  for (int g = 0; g < B->nc; g++)
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++) {
      int r = B->cptr[g + 1] - B->cptr[g], b = B->jblk[k];
      for (int i = 0; i < r; i++)
        for (int j = 0; j < B->bptr[b + 1] - B->bptr[b]; j++)
          J[(B->cptr[g] + i) * B->nv + B->bptr[b] + j] = B->J[B->joff[k] + i + j * r];
    }
  for (int b = 0; b < B->nb; b++) {
    int d = B->bptr[b + 1] - B->bptr[b];
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++) {
        M[(B->bptr[b] + i) * B->nv + B->bptr[b] + j] = B->M[B->mptr[b] + i + j * d];
        Minv[(B->bptr[b] + i) * B->nv + B->bptr[b] + j] = B->Minv[B->mptr[b] + i + j * d];
      }
  }
}

/* y = G x or G' x, row-major rows x columns */
static void times(int rows, int columns, bool transposed, const double *G, const double *x,
                  double *y)
{
  for (int i = 0; i < (transposed ? columns : rows); i++) y[i] = 0;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      if (transposed)
        y[j] += G[i * columns + j] * x[i];
      else
        y[i] += G[i * columns + j] * x[j];
    }
}

/* The longest sums of J' x, M^-1 and J, one after the other: each number meets a product and a sum,
 * in perp_blocks_A and in its bound. */
static void check_roundings(const problem *p, const double *J, const double *Minv)
{
  const int nv = p->B.nv, m = p->B.m;
  int down = 0, through = 0, along = 0;
  for (int j = 0; j < nv; j++) {
    int column = 0, mass = 0;
    for (int i = 0; i < m; i++) column += J[i * nv + j] != 0;
    for (int i = 0; i < nv; i++) mass += Minv[i * nv + j] != 0;
    down = column > down ? column : down;
    through = mass > through ? mass : through;
  }
  for (int i = 0; i < m; i++) {
    int row = 0;
    for (int j = 0; j < nv; j++) row += J[i * nv + j] != 0;
    along = row > along ? row : along;
  }
  ok(perp_blocks_roundings(&p->B) >= 2 * (down + through + along),
     "%s: at least %d + %d + %d roundings, twice", p->name, down, through, along);
}

/* |J| |M^-1| |J'| |x| + S |x|, from dense matrices of absolute values, which are changed */
static void check_bound(const problem *p, double *J, double *Minv, const double *x)
{
  const perp_blocks *B = &p->B;
  const int nv = B->nv, m = B->m;
  const size_t n = (size_t)(nv > m ? nv : m);
  double *y = problem_memory(n, 8), *z = problem_memory(n, 8), *u = problem_memory(n, 8),
         *v = problem_memory(n, 8), *scratch = problem_memory(2 * n, 8);
  for (int i = 0; i < m; i++) z[i] = fabs(x[i]);
  for (int i = 0; i < m * nv; i++) J[i] = fabs(J[i]);
  for (int i = 0; i < nv * nv; i++) Minv[i] = fabs(Minv[i]);
  times(m, nv, true, J, z, u);
  times(nv, nv, false, Minv, u, v);
  times(m, nv, false, J, v, z);
  for (int i = 0; i < m; i++) {
    z[i] += B->s != NULL ? fabs(B->s[i] * x[i]) : 0;
    y[i] = -1;
  }
  perp_blocks_bound(B, x, 0, y, scratch);
  below(problem_difference(m, y, z), 1e-14, "%s: the sum of the sizes in J M^-1 J' x + S x",
        p->name);
  /* the smallest number that is added comes out of every sum */
  perp_blocks_bound(B, x, 1e-3, z, scratch);
  double least = HUGE_VAL;
  for (int i = 0; i < m; i++) least = fmin(least, z[i] - y[i]);
  ok(m == 0 || least >= 1e-3 * (1 - 1e-12), "%s: and a little more", p->name);
  free(y), free(z), free(u), free(v), free(scratch);
}

static void check(problem *p)
{
  const perp_blocks *B = &p->B;
  int nv = B->nv, m = B->m;
  size_t n = (size_t)(nv > m ? nv : m);
  double *J = problem_memory((size_t)m * (size_t)nv, 8),
         *M = problem_memory((size_t)nv * (size_t)nv, 8),
         *Minv = problem_memory((size_t)nv * (size_t)nv, 8),
         *A = problem_memory((size_t)(m + 1) * (size_t)m, 8), *x = problem_memory(n, 8),
         *y = problem_memory(n, 8), *z = problem_memory(n, 8), *t = problem_memory(n, 8),
         *scratch = problem_memory(2 * n + 64, 8);
  expand(B, J, M, Minv);
  for (size_t i = 0; i < n; i++) x[i] = sin(1.0 + (double)i);

  /* sums of at most 20 products of numbers of order one: round-off stays below 1e-13 */
  times(m, nv, false, J, x, z);
  for (int i = 0; i < m; i++) y[i] = 3, z[i] = 3 - 2 * z[i];
  perp_blocks_J(B, -2, x, y);
  below(problem_difference(m, y, z), 1e-13, "%s: y += alpha J x", p->name);
  times(m, nv, true, J, x, z);
  for (int i = 0; i < nv; i++) y[i] = 3, z[i] = 3 - 2 * z[i];
  perp_blocks_Jt(B, -2, x, y);
  below(problem_difference(nv, y, z), 1e-13, "%s: y += alpha J' x", p->name);
  times(nv, nv, false, M, x, z);
  perp_blocks_M(B, x, y);
  below(problem_difference(nv, y, z), 1e-13, "%s: y = M x", p->name);
  perp_blocks_Minv(B, y, t);
  below(problem_difference(nv, t, x), 1e-12, "%s: M^-1 M x = x", p->name);

  /* A by columns from the dense matrices */
  perp_blocks_delassus(B, A, m + 1, scratch);
  double worst = 0, diagonal = 0, size = 0;
  double *a = problem_memory(n, 8);
  perp_blocks_diagonal(B, a);
  for (int j = 0; j < m; j++) {
    for (int i = 0; i < m; i++) y[i] = i == j;
    times(m, nv, true, J, y, z);
    times(nv, nv, false, Minv, z, t);
    times(m, nv, false, J, t, z);
    if (B->s != NULL) z[j] += B->s[j];
    for (int i = 0; i < m; i++) {
      worst = fmax(worst, fabs(A[i + j * (m + 1)] - z[i]));
      size = fmax(size, fabs(z[i]));
    }
    diagonal = fmax(diagonal, fabs(a[j] - z[j]));
  }
  below(worst, 1e-13 * size, "%s: A = J M^-1 J' + S", p->name);
  below(diagonal, 1e-13 * size, "%s: diagonal of A", p->name);
  perp_blocks_A(B, x, y, scratch);
  for (int i = 0; i < m; i++) {
    z[i] = 0;
    for (int j = 0; j < m; j++) z[i] += A[i + j * (m + 1)] * x[j];
  }
  below(problem_difference(m, y, z), 1e-12, "%s: y = A x without forming A", p->name);
  check_roundings(p, J, Minv);
  check_bound(p, J, Minv, x);

  free(J), free(M), free(Minv), free(A), free(x), free(y), free(z), free(t), free(scratch), free(a);
}

static void refused(const char *what, const problem *p)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  ok(perp_blocks_check(&ctx, &p->B) == PERP_ERR_DIM && ctx.msg[0] != '\0', "refused: %s", what);
}

int main(void)
{
  problem *family[] = { problem_chain("chain", 4, 6, 3, true, true), problem_heap("heap", 7, 5),
                        problem_carousel("carousel", 3, 2), problem_random("random", 5, 8, 9),
                        problem_chain("free body", 2, 6, 1, false, false) };
  for (size_t i = 0; i < sizeof family / sizeof *family; i++) {
    check(family[i]);
    perp_ctx ctx;
    perp_ctx_init(&ctx);
    ok(perp_blocks_check(&ctx, &family[i]->B) == PERP_OK, "%s: the pattern is accepted",
       family[i]->name);
  }
  for (int i = 0; i < family[3]->B.m; i++) family[3]->s[i] = 0.1 * i;
  family[3]->B.s = family[3]->s;
  check(family[3]);

  /* the judge: zero for an exact answer, the relative size of a planted error otherwise */
  problem *p = problem_chain("judge", 1, 6, 3, true, true);
  double a[6], lambda[3], scratch[18];
  problem_solve(p, a, lambda);
  double exact = perp_kkt_residual(&p->B, p->f, p->c, a, lambda, scratch);
  below(exact, 1e-14, "judge: the answer in long double, rounded");
  a[1] += 1e-3 * fabs(a[1]);
  double planted = perp_kkt_residual(&p->B, p->f, p->c, a, lambda, scratch);
  ok(planted > 1e-4 && planted < 1e-3, "judge: an error of 1e-3 in one number is seen (%g)",
     planted);
  for (int i = 0; i < 3; i++) p->c[i] *= 1e9;
  for (int i = 0; i < p->joff[1]; i++) p->J[i] *= 1e9;
  for (int i = 0; i < 3; i++) lambda[i] /= 1e9;
  near(perp_kkt_residual(&p->B, p->f, p->c, a, lambda, scratch), planted, 0, 1e-9,
       "judge: scaling rows changes nothing");
  a[2] = (double)NAN;
  ok(isnan(perp_kkt_residual(&p->B, p->f, p->c, a, lambda, scratch)), "judge: NaN stays NaN");
  for (int i = 0; i < 6; i++) a[i] = p->f[i] = 0;
  for (int i = 0; i < 3; i++) lambda[i] = p->c[i] = 0;
  ok(perp_kkt_residual(&p->B, p->f, p->c, a, lambda, scratch) == 0, "judge: 0/0 is 0");
  problem_free(p);

  p = problem_chain("wrong", 3, 6, 3, true, true);
  p->jblk[1] = 7;
  refused("a block that does not exist", p);
  p->jblk[1] = 0;
  refused("a group that touches a block twice", p);
  p->jblk[1] = 1;
  p->mptr[1] = 30;
  refused("a mass block of the wrong size", p);
  p->mptr[1] = 36;
  p->joff[1]++;
  refused("a sub-matrix of the wrong size", p);
  p->joff[1]--;
  p->B.nv++;
  refused("nv that is not the sum of the blocks", p);
  p->B.nv--;
  p->B.m--;
  refused("m that is not the sum of the groups", p);
  p->B.m++;
  p->cptr[1] = p->cptr[2];
  refused("a group without rows", p);
  p->cptr[1] = 3;
  p->tsub[0] = 2;
  refused("a wrong transpose", p);
  problem_free(p);
  for (size_t i = 0; i < sizeof family / sizeof *family; i++) problem_free(family[i]);
  return tap_done();
}
