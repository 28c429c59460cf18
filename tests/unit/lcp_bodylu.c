/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The factorization in the space of velocities against a dense one: y = J H^-1 J' x of random
 * blocks, and what it says of its work and its size where both have a closed form. */
#include "solvers/lcp/newton/bodylu.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

enum { MOST = 160 };
static perp_ctx ctx;

/* x <- H^-1 x with complete freedom of pivots by columns; false: H is singular to rounding */
static bool dense_solve(int n, double *H, double *x)
{
  for (int k = 0; k < n; k++) {
    int top = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(H[i + k * n]) > fabs(H[top + k * n])) top = i;
    if (fabs(H[top + k * n]) < 1e-11) return false;
    double t = x[k];
    x[k] = x[top], x[top] = t;
    for (int j = 0; j < n; j++) {
      t = H[k + j * n];
      H[k + j * n] = H[top + j * n], H[top + j * n] = t;
    }
    for (int i = k + 1; i < n; i++) {
      const double f = H[i + k * n] / H[k + k * n];
      for (int j = k; j < n; j++) H[i + j * n] -= f * H[k + j * n];
      x[i] -= f * x[k];
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    for (int j = k + 1; j < n; j++) x[k] -= H[k + j * n] * x[j];
    x[k] /= H[k + k * n];
  }
  return true;
}

/* J, dense [m x nv] */
static void dense_J(const perp_blocks *F, double *J)
{
  memset(J, 0, (size_t)(F->m * F->nv) * sizeof *J);
  for (int c = 0; c < F->nc; c++)
    for (int k = F->jptr[c], r = F->cptr[c + 1] - F->cptr[c]; k < F->jptr[c + 1]; k++) {
      const int col = F->bptr[F->jblk[k]], d = F->bptr[F->jblk[k] + 1] - col;
      for (int i = 0; i < r; i++)
        for (int j = 0; j < d; j++)
          J[F->cptr[c] + i + (col + j) * F->m] = F->J[F->joff[k] + i + j * r];
    }
}

/* y = J H^-1 J' x, all of it dense */
static bool dense_answer(const perp_blocks *F, const double *omega, const double *sigma,
                         const int *of, const double *x, double *y)
{
  const int n = F->nv, m = F->m;
  double *H = calloc((size_t)(n * n), sizeof *H), *J = calloc((size_t)(n * m + 1), sizeof *J);
  double *f = calloc((size_t)n, sizeof *f);
  if (H == NULL || J == NULL || f == NULL) bail("no memory");
  dense_J(F, J);
  for (int b = 0; b < F->nb; b++) {
    const int col = F->bptr[b], d = F->bptr[b + 1] - col;
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++) H[col + i + (col + j) * n] = F->M[F->mptr[b] + i + j * d];
  }
  for (int i = 0; i < m; i++)
    for (int a = 0; a < n; a++) {
      f[a] += J[i + a * m] * x[i];
      for (int b = 0; b < n; b++) {
        H[a + b * n] += omega[i] * J[i + a * m] * J[i + b * m];
        if (sigma != NULL && sigma[i] != 0)
          H[a + b * n] += sigma[i] * J[i + a * m] * J[of[i] + b * m];
      }
    }
  const bool good = dense_solve(n, H, f);
  for (int i = 0; i < m; i++) {
    y[i] = 0;
    for (int a = 0; a < n; a++) y[i] += J[i + a * m] * f[a];
  }
  free(H);
  free(J);
  free(f);
  return good;
}

static void answer(perp_bodylu *L, const double *x, double *y, int m)
{
  double f[400];
  perp_bodylu_Jt(L, x, f);
  perp_bodylu_solve(L, f);
  for (int i = 0; i < m; i++) y[i] = 0;
  perp_bodylu_J(L, f, y);
  for (int i = 0; i < m; i++) y[i] = -y[i];
}

static double *values(const double *x)
{
  return (double *)(uintptr_t)x; /* the tables belong to the test */
}

/* Some columns of J are zero throughout, and M is diagonal there: what is left of the matrix. */
static int thin(perp_blocks *F, perp_rng *g)
{
  double *M = values(F->M), *J = values(F->J);
  int left = F->nv;
  for (int b = 0; b < F->nb; b++) {
    const int d = F->bptr[b + 1] - F->bptr[b];
    bool touched = false;
    for (int k = 0; k < F->jptr[F->nc]; k++) touched = touched || F->jblk[k] == b;
    for (int i = 0; i < d * d; i++)
      if (i % (d + 1) != 0) M[F->mptr[b] + i] = 0;
    for (int j = 0; j < d; j++) {
      const bool gone = perp_rng_int(g, 3) == 0;
      for (int c = 0; gone && c < F->nc; c++)
        for (int k = F->jptr[c], r = F->cptr[c + 1] - F->cptr[c]; k < F->jptr[c + 1]; k++)
          for (int i = 0; F->jblk[k] == b && i < r; i++) J[F->joff[k] + i + j * r] = 0;
      if (gone || !touched) left--;
    }
  }
  return left;
}

/* One factorization object serves patterns large and small, with LU and without. */
static void check_solves(void)
{
  perp_rng *g = perp_rng_create(11);
  perp_bodylu *L;
  if (perp_bodylu_create(&ctx, &L) != PERP_OK) bail("%s", ctx.msg);
  double worst[2] = { 0 }, omega[MOST], sigma[MOST], x[MOST], y[MOST], z[MOST];
  int of[MOST], failed = 0, reduced = 0, solved[2] = { 0 };
  for (int trial = 0; trial < 90; trial++) {
    const bool large = trial % 9 == 4;
    random_lcp q = random_factored(g, large ? 14 + trial % 7 : 1 + trial % 11,
                                   large ? 24 + trial % 20 : 1 + trial % 19, trial % 3,
                                   large || trial % 2 ? 1 : 0, 0);
    perp_blocks *F = &q.F;
    const int m = F->m;
    const bool lu = trial % 4 > 1;
    const int left = trial % 5 == 2 ? thin(F, g) : -1;
    for (int round = 0; round < 3; round++) {
      /* the same pattern with other numbers; the second time without LU in a factorization that has
       * room for it */
      for (int k = 0; round > 0 && k < F->joff[F->jptr[F->nc]]; k++)
        values(F->J)[k] *= perp_rng_uniform(g, 0.5, 1.5);
      if (perp_bodylu_analyse(&ctx, L, F, lu && round == 0) != PERP_OK) bail("%s", ctx.msg);
      if (left >= 0 && perp_bodylu_N(L) != left) reduced++;
      for (int i = 0; i < m; i++) {
        const int kind = perp_rng_int(g, 4);
        omega[i] = kind == 0 ? 0 : kind == 1 ? 1e3 : perp_rng_uniform(g, 0, 5);
        int c = 0;
        while (i >= F->cptr[c + 1]) c++;
        of[i] = F->cptr[c] + perp_rng_int(g, F->cptr[c + 1] - F->cptr[c]);
        sigma[i] = perp_rng_int(g, 2) ? perp_rng_uniform(g, -0.8, 0.8) : 0;
        x[i] = perp_rng_uniform(g, -1, 1);
      }
      const bool with = lu && round != 1;
      if (!dense_answer(F, omega, with ? sigma : NULL, of, x, z)) continue;
      if (!perp_bodylu_factor(L, F, omega, with ? sigma : NULL, with ? of : NULL)) {
        failed++;
        continue;
      }
      solved[with]++;
      answer(L, x, y, m);
      double size = 1, off = 0;
      for (int i = 0; i < m; i++) {
        size = fmax(size, fabs(z[i]));
        off = fabs(y[i] - z[i]) > off || isnan(y[i]) ? fabs(y[i] - z[i]) : off;
      }
      if (!(off / size <= worst[with])) worst[with] = off / size;
    }
    random_free(&q);
  }
  ok(failed == 0, "every regular matrix is factored (%d not)", failed);
  ok(reduced == 0, "columns that nothing touches are left out (%d others)", reduced);
  ok(solved[0] > 100 && solved[1] > 50, "%d symmetric, %d unsymmetric", solved[0], solved[1]);
  below(worst[0], 1e-9, "symmetric: J H^-1 J' x as dense elimination has it");
  below(worst[1], 1e-8, "unsymmetric: the same");
  perp_bodylu_destroy(L);
  perp_rng_destroy(g);
}

/* A star of `leaves` blocks of width d around a centre of width c, one group of r rows at each
 * leaf. */
typedef struct star {
  int bptr[12], mptr[12], cptr[12], jptr[12], jblk[24], joff[24];
  double M[4096], J[4096];
  perp_blocks F;
} star;

static void make_star(star *s, int leaves, int d, int c, int r)
{
  *s = (star){ .bptr = { 0, c }, .mptr = { 0, c * c } };
  for (int b = 1; b <= leaves; b++) {
    s->bptr[b + 1] = s->bptr[b] + d;
    s->mptr[b + 1] = s->mptr[b] + d * d;
    s->jblk[2 * b - 1] = b;
    s->cptr[b] = r * b;
    s->jptr[b] = 2 * b;
    s->joff[2 * b - 1] = s->joff[2 * b - 2] + r * c;
    s->joff[2 * b] = s->joff[2 * b - 1] + r * d;
  }
  for (int b = 0; b <= leaves; b++) {
    const int w = s->bptr[b + 1] - s->bptr[b];
    for (int i = 0; i < w; i++) s->M[s->mptr[b] + i * (w + 1)] = 1;
  }
  for (int k = 0; k < s->joff[2 * leaves]; k++) s->J[k] = 1 + k % 5;
  s->F = (perp_blocks){ .nv = s->bptr[leaves + 1],
                        .m = r * leaves,
                        .nb = leaves + 1,
                        .nc = leaves,
                        .bptr = s->bptr,
                        .mptr = s->mptr,
                        .cptr = s->cptr,
                        .jptr = s->jptr,
                        .jblk = s->jblk,
                        .joff = s->joff,
                        .M = s->M,
                        .J = s->J };
}

/* Leaves are eliminated first, each alone; the last one joins the centre, as nothing is filled in
 * by that. */
static void check_counts(void)
{
  perp_bodylu *L;
  if (perp_bodylu_create(&ctx, &L) != PERP_OK) bail("%s", ctx.msg);
  for (int leaves = 2; leaves <= 7; leaves += 5)
    for (int lu = 0; lu < 2; lu++) {
      enum { D = 5, C = 3, R = 2 };
      const int last = C + D;
      double omega[20], sigma[20] = { 0 };
      int of[20] = { 0 };
      static star s;
      make_star(&s, leaves, D, C, R);
      for (int i = 0; i < 20; i++) omega[i] = 1;
      if (perp_bodylu_analyse(&ctx, L, &s.F, lu) != PERP_OK) bail("%s", ctx.msg);
      ok(perp_bodylu_factor(L, &s.F, omega, lu ? sigma : NULL, lu ? of : NULL), "a star");
      const double one = lu ? 2 : 1, part = leaves - 1;
      const double gather = one * leaves * R * (D * D + C * C + D * C),
                   panels = one * (part * D * D * (D / 6.0 + C / 2.0) + last * last * last / 6.0),
                   updates = part * (lu ? 2 * C - C : C) * C * D;
      near(perp_bodylu_work(L), gather + panels + updates, 0, 1e-12, "%d leaves%s: its work",
           leaves, lu ? ", LU" : "");
      ok(perp_bodylu_nnz(L) == (size_t)((leaves - 1) * D * (D + C) + last * last),
         "... and its size: %zu", perp_bodylu_nnz(L));
    }
  perp_bodylu_destroy(L);
}

/* What is singular, indefinite or no number has no factors; the next one has. */
static void check_refusals(void)
{
  perp_bodylu *L;
  if (perp_bodylu_create(&ctx, &L) != PERP_OK) bail("%s", ctx.msg);
  for (int large = 0; large < 2; large++)
    for (int lu = 0; lu < 2; lu++) {
      double omega[20], sigma[20] = { 0 };
      int of[20] = { 0 };
      static star s;
      const int w = large ? 30 : 4;
      make_star(&s, 1, large ? 10 : 2, large ? 20 : 2, 1);
      for (int i = 0; i < 20; i++) omega[i] = 1;
      const double *sig = lu ? sigma : NULL;
      const char *what = lu ? "LU" : "LL'";
      if (perp_bodylu_analyse(&ctx, L, &s.F, lu) != PERP_OK) bail("%s", ctx.msg);
      ok(perp_bodylu_factor(L, &s.F, omega, sig, of), "%s of width %d", what, w);
      omega[0] = (double)NAN;
      ok(!perp_bodylu_factor(L, &s.F, omega, sig, of), "... not with NaN");
      omega[0] = 0;
      s.M[0] = 0;
      ok(!perp_bodylu_factor(L, &s.F, omega, sig, of), "... nor singular");
      s.M[0] = HUGE_VAL;
      ok(!perp_bodylu_factor(L, &s.F, omega, sig, of), "... nor infinite");
      s.M[0] = -1;
      ok(perp_bodylu_factor(L, &s.F, omega, sig, of) == (lu == 1), "... negative: LU alone");
      s.M[0] = 1;
      ok(perp_bodylu_factor(L, &s.F, omega, sig, of), "... and the good one again");
    }
  perp_bodylu_destroy(L);
}

int main(void)
{
  perp_ctx_init(&ctx);
  check_solves();
  check_counts();
  check_refusals();
  return tap_done();
}
