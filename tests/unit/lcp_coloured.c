/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps in the order of colours: which units share one, that the sweeps are those of the textbook
 * in that order, and that neither the processor nor threads change a bit. */
#include "solvers/lcp/rows/rows_private.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

enum { BLOCKS = 24, GROUPS = 90, ROWS = 3 * GROUPS, COPIES = 40 };

/* Contacts on bodies of which `odd` have an inertia that is not diagonal. */
typedef struct coloured {
  random_lcp r;
  unsigned char diag[BLOCKS];
} coloured;

static void coloured_make(perp_rng *g, int friction, double softness, int odd, coloured *c)
{
  double inner[64];
  c->r = random_factored(g, BLOCKS, GROUPS, SHAPE_CONTACTS, friction, softness);
  perp_blocks *F = &c->r.F;
  for (int b = 0; b < BLOCKS; b++) {
    double *W = (double *)(uintptr_t)F->Minv + F->mptr[b]; /* belongs to r */
    c->diag[b] = b >= odd;
    for (int i = 0; i < 36 && c->diag[b]; i++)
      if (i % 7 != 0) W[i] = 0;
  }
  F->diag = c->diag;
  perp_blocks_delassus(F, c->r.A, c->r.p.n, inner);
}

/* one sweep, units in the given order, w from scratch for each row */
static void coloured_textbook(const perp_lcp *p, const double *A, double omega, const perp_rows *R,
                              double *x)
{
  const int n = p->n;
  for (int t = 0; t < R->n_units; t++)
    for (int i = R->unit[t].row, pair; i < R->unit[t].row + R->unit[t].r; i += pair) {
      const bool bounded = p->fric_of == NULL || p->fric_of[i] < 0;
      const double hi = bounded ? p->hi[i] : p->mu[i] * fmax(x[p->fric_of[i]], 0);
      double y[2] = { 0, 0 }, a = A[i + i * n];
      pair = !bounded && p->cone != NULL ? 2 : 1;
      for (int k = 0; k < pair; k++) {
        y[k] = p->b[i + k];
        for (int j = 0; j < n; j++) y[k] += A[i + k + j * n] * x[j];
      }
      if (pair == 2) {
        const double c = A[i + 1 + (i + 1) * n], b = A[i + 1 + i * n];
        a = (a + c + sqrt((a - c) * (a - c) + 4 * b * b)) / 2;
      }
      for (int k = 0; k < pair; k++) y[k] = x[i + k] - omega * y[k] / a;
      const double size = hypot(y[0], y[1]);
      for (int k = 0; k < pair; k++)
        x[i + k] = pair == 2 ? (size > hi ? y[k] * hi / size : y[k])
                             : fmin(fmax(y[k], bounded ? p->lo[i] : -hi), hi);
    }
}

/* Do units t and s have a block in common? */
static bool coloured_meet(const perp_blocks *F, const perp_unit *s, const perp_unit *t)
{
  for (int k = F->jptr[s->group]; k < F->jptr[s->group + 1]; k++)
    for (int l = F->jptr[t->group]; l < F->jptr[t->group + 1]; l++)
      if (F->jblk[k] == F->jblk[l]) return true;
  return false;
}

static void check_sweeps(perp_ctx *ctx, perp_rng *g)
{
  double worst = 0, told = 0, product = 0;
  int shared = 0, missed = 0, waits = 0, fours = 0, least = GROUPS;
  for (int trial = 0; trial < 24; trial++) {
    coloured c;
    double x[2][ROWS], y[ROWS], before[ROWS];
    coloured_make(g, trial % 3, trial % 2 ? 0.3 : 0, trial % 4 == 3 ? 4 : 0, &c);
    const perp_lcp p = *random_as_factored(&c.r);
    const int n = p.n;
    perp_rows R;
    if (perp_rows_open(ctx, &R, n) != PERP_OK) bail("%s", ctx->msg);
    R.coloured = true;
    if (perp_rows_prepare(ctx, &R, &p, 1.2) != PERP_OK) bail("prepare: %s", ctx->msg);
    /* each row once; a level shares nothing; a unit of a level beyond the first has a neighbour in
     * each before it */
    char seen[ROWS] = { 0 };
    int inside = 0;
    for (int t = 0, l = 0; t < R.n_units; t++) {
      while (t >= R.schedule.count[l]) l++;
      const int start = l > 0 ? R.schedule.count[l - 1] : 0;
      for (int i = 0; i < R.unit[t].r; i++) missed += seen[R.unit[t].row + i]++ != 0;
      for (int s = start; s < t; s++) shared += coloured_meet(p.F, &R.unit[s], &R.unit[t]);
      for (int m = 0, s = 0; m < l; m++) {
        bool met = false;
        for (; s < R.schedule.count[m]; s++) met |= coloured_meet(p.F, &R.unit[s], &R.unit[t]);
        waits += !met;
      }
      inside += R.unit[t].shape == FOURS;
    }
    for (int i = 0; i < n; i++) missed += !seen[i];
    fours += inside;
    if (trial % 3 > 0 && inside < least) least = inside;
    for (int i = 0; i < n; i++) x[0][i] = x[1][i] = perp_rng_uniform(g, 0, 1);
    perp_rows_A(&R, x[0], y);
    for (int i = 0; i < n; i++) {
      before[i] = 0;
      for (int j = 0; j < n; j++) before[i] += c.r.A[i + j * n] * x[0][j];
      product = fmax(product, fabs(y[i] - before[i]));
    }
    perp_rows_reset(&R, x[0]);
    for (int sweep = 0; sweep < 4; sweep++) {
      memcpy(before, x[0], sizeof before);
      const double said = perp_rows_sweep(&R, x[0], NULL, false);
      double most = 0, size = 0;
      coloured_textbook(&p, c.r.A, 1.2, &R, x[1]);
      for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(x[0][i] - before[i]));
        size = fmax(size, fabs(x[1][i]));
      }
      for (int i = 0; i < n; i++) worst = fmax(worst, fabs(x[0][i] - x[1][i]) / size);
      told = fmax(told, fabs(said - most) / size);
    }
    perp_rows_close(&R);
    random_free(&c.r);
  }
  ok(missed == 0, "every row has one place in the order");
  ok(shared == 0, "units of a colour share no body");
  ok(waits == 0, "a unit has the first colour that is free");
  ok(least >= 4, "contacts with friction are done by fours (at least %d, %d in all)", least, fours);
  below(worst, 1e-11, "coloured sweeps are the textbook's in that order");
  below(told, 1e-14, "a coloured sweep returns its largest change");
  below(product, 1e-13, "coloured products are the dense ones");
}

/* A contact without any mobility among the others is taken out of its four. */
static void check_fixed(perp_ctx *ctx, perp_rng *g)
{
  coloured c;
  double x[2][ROWS] = { { 0 } };
  coloured_make(g, 1, 0, 0, &c);
  perp_blocks *F = &c.r.F;
  for (int k = F->joff[F->jptr[5]]; k < F->joff[F->jptr[6]]; k++)
    ((double *)(uintptr_t)F->J)[k] = 0; /* belongs to r */
  double inner[64];
  perp_blocks_delassus(F, c.r.A, c.r.p.n, inner);
  const perp_lcp p = *random_as_factored(&c.r);
  perp_rows R;
  if (perp_rows_open(ctx, &R, p.n) != PERP_OK) bail("%s", ctx->msg);
  for (int way = 0; way < 2; way++) {
    R.coloured = way;
    if (perp_rows_prepare(ctx, &R, &p, 1) != PERP_OK) bail("prepare: %s", ctx->msg);
    perp_rows_reset(&R, x[way]);
    for (int sweep = 0; sweep < 3; sweep++) perp_rows_sweep(&R, x[way], NULL, false);
  }
  bool same = true;
  for (int i = 15; i < 18; i++) same = same && x[0][i] == x[1][i] && isfinite(x[1][i]);
  ok(same, "a contact that nothing can move gets what it gets in the order of rows");
  perp_rows_close(&R);
  random_free(&c.r);
}

/* COPIES of a problem that do not meet, with b of other sizes: enough for a team */
static void coloured_tile(const perp_lcp *p, random_lcp *big)
{
  const perp_blocks *F = p->F;
  const int nb = F->nb, nc = F->nc, n = p->n, subs = F->jptr[nc], numbers = F->joff[subs];
  *big = (random_lcp){ 0 };
#define TILED(type, from, count)                                                                   \
  type *from = random_own(big, (size_t)COPIES * (size_t)(count) + 1, sizeof(type))
  TILED(int, bptr, nb);
  TILED(int, mptr, nb);
  TILED(int, cptr, nc);
  TILED(int, jptr, nc);
  TILED(int, jblk, subs);
  TILED(int, joff, subs);
  TILED(int, jgrp, subs);
  TILED(int, tptr, nb);
  TILED(int, tsub, subs);
  TILED(int, fric_of, n);
  TILED(unsigned char, diag, nb);
  TILED(double, W, F->mptr[nb]);
  TILED(double, J, numbers);
  TILED(double, s, n);
  TILED(double, b, n);
  TILED(double, lo, n);
  TILED(double, hi, n);
  TILED(double, mu, n);
  TILED(signed char, cone, n);
#undef TILED
  for (int k = 0; k < COPIES; k++) {
    for (int i = 0; i < nb; i++) {
      bptr[k * nb + i + 1] = k * F->nv + F->bptr[i + 1];
      mptr[k * nb + i + 1] = k * F->mptr[nb] + F->mptr[i + 1];
      diag[k * nb + i] = F->diag[i];
    }
    for (int i = 0; i < nc; i++) {
      cptr[k * nc + i + 1] = k * n + F->cptr[i + 1];
      jptr[k * nc + i + 1] = k * subs + F->jptr[i + 1];
    }
    for (int i = 0; i < subs; i++) {
      jblk[k * subs + i] = k * nb + F->jblk[i];
      joff[k * subs + i + 1] = k * numbers + F->joff[i + 1];
    }
    memcpy(W + k * F->mptr[nb], F->Minv, (size_t)F->mptr[nb] * sizeof *W);
    memcpy(J + k * numbers, F->J, (size_t)numbers * sizeof *J);
    for (int i = 0, at = k * n; i < n; i++, at++) {
      s[at] = F->s != NULL ? F->s[i] : 0;
      b[at] = p->b[i] * (1 + 0.01 * k);
      lo[at] = p->lo[i];
      hi[at] = p->hi[i];
      mu[at] = p->mu != NULL ? p->mu[i] : 0;
      fric_of[at] = p->mu == NULL || p->fric_of[i] < 0 ? -1 : k * n + p->fric_of[i];
      cone[at] = p->cone != NULL ? p->cone[i] : 0;
    }
  }
  perp_blocks_transpose(COPIES * nb, COPIES * nc, jptr, jblk, jgrp, tptr, tsub);
  big->F = (perp_blocks){ .nv = COPIES * F->nv,
                          .m = COPIES * n,
                          .nb = COPIES * nb,
                          .nc = COPIES * nc,
                          .bptr = bptr,
                          .mptr = mptr,
                          .cptr = cptr,
                          .jptr = jptr,
                          .jblk = jblk,
                          .joff = joff,
                          .jgrp = jgrp,
                          .tptr = tptr,
                          .tsub = tsub,
                          .Minv = W,
                          .J = J,
                          .diag = diag,
                          .s = F->s != NULL ? s : NULL };
  big->p = (perp_lcp){ .n = COPIES * n,
                       .b = b,
                       .lo = lo,
                       .hi = hi,
                       .mu = mu,
                       .fric_of = fric_of,
                       .cone = p->cone != NULL ? cone : NULL };
}

/* the answer of so many sweeps, n numbers, and how many threads swept */
static int coloured_solve(perp_ctx *ctx, const perp_lcp *p, int threads, bool plain, double *x)
{
  perp_rows R;
  perp_fours_force_plain(plain);
  ctx->threads = threads;
  memset(x, 0, (size_t)p->n * sizeof *x);
  if (perp_rows_open(ctx, &R, p->n) != PERP_OK) bail("%s", ctx->msg);
  R.coloured = true;
  if (perp_rows_prepare(ctx, &R, p, 1.3) != PERP_OK) bail("%s", ctx->msg);
  const int team = perp_rows_threads(&R);
  perp_rows_reset(&R, x);
  for (int sweep = 0; sweep < 7; sweep++) perp_rows_sweep(&R, x, NULL, false);
  double *w = calloc((size_t)p->n, sizeof *w);
  if (w == NULL) bail("no memory");
  perp_rows_w(&R, x, w);
  for (int i = 0; i < p->n; i++) x[i] += 1e-3 * w[i]; /* both in one number */
  free(w);
  perp_rows_close(&R);
  perp_fours_force_plain(false);
  ctx->threads = 1;
  return team;
}

/* Copies that share no body have the answer of one alone, by the size of b: compliant rows, of
 * which many are alone in their group, and so in fours. */
static void check_copies(perp_ctx *ctx, perp_rng *g)
{
  coloured c;
  random_lcp big;
  double one[ROWS], worst = 0;
  coloured_make(g, 0, 0.3, 0, &c);
  coloured_tile(random_as_factored(&c.r), &big);
  const int n = c.r.p.n;
  double *x = calloc((size_t)(COPIES * n), sizeof *x);
  if (x == NULL) bail("no memory");
  coloured_solve(ctx, random_as_factored(&c.r), 1, false, one);
  coloured_solve(ctx, random_as_factored(&big), 1, false, x);
  for (int i = 0; i < COPIES * n; i++)
    worst = fmax(worst, fabs(x[i] / (1 + 0.01 * (i / n)) - one[i % n]));
  below(worst, 1e-12, "copies of compliant rows have the answer of one");
  free(x);
  random_free(&big);
  random_free(&c.r);
}

static void check_bits(perp_ctx *ctx, perp_rng *g)
{
  int plain = 0, team = 0, size = 2;
  for (int trial = 0; trial < 8; trial++) {
    coloured c;
    random_lcp big;
    coloured_make(g, 1 + trial % 2, trial % 4 > 1 ? 0.2 : 0, trial > 5 ? 4 : 0, &c);
    coloured_tile(random_as_factored(&c.r), &big);
    const perp_lcp *p = random_as_factored(&big);
    const size_t n = (size_t)p->n;
    double *x = calloc(3 * n, sizeof *x);
    if (x == NULL) bail("no memory");
    coloured_solve(ctx, p, 1, false, x);
    coloured_solve(ctx, p, 1, true, x + n);
    const int threads = coloured_solve(ctx, p, 2, false, x + 2 * n);
    if (threads < size) size = threads;
    plain += memcmp(x, x + n, n * sizeof *x) != 0;
    team += memcmp(x, x + 2 * n, n * sizeof *x) != 0;
    free(x);
    random_free(&big);
    random_free(&c.r);
  }
  ok(plain == 0, "with and without AVX2: the same bits");
  ok(team == 0, "on one thread and on two: the same bits");
  ok(size == 2, "two threads were at work");
}

/* Dense A: colours of its pattern; tridiagonal matrices have two. */
static void check_dense(perp_ctx *ctx)
{
  enum { N = 9 };
  double A[N * N] = { 0 }, b[N], x[N] = { 0 }, y[N] = { 0 };
  for (int i = 0; i < N; i++) {
    A[i + N * i] = 4;
    if (i > 0) A[i + N * (i - 1)] = -1, A[i - 1 + N * i] = -2;
    b[i] = i % 3 - 1.5;
  }
  const perp_lcp p = { .n = N, .A = A, .lda = N, .b = b };
  perp_rows R;
  if (perp_rows_open(ctx, &R, N) != PERP_OK) bail("%s", ctx->msg);
  R.coloured = true;
  if (perp_rows_prepare(ctx, &R, &p, 1) != PERP_OK) bail("%s", ctx->msg);
  perp_rows_reset(&R, x);
  for (int sweep = 0; sweep < 3; sweep++) {
    perp_rows_sweep(&R, x, NULL, false);
    for (int colour = 0; colour < 2; colour++)
      for (int i = colour; i < N; i += 2) {
        double w = b[i];
        for (int j = 0; j < N; j++) w += A[i + N * j] * y[j];
        y[i] = fmax(y[i] - w / 4, 0);
      }
  }
  double worst = 0;
  for (int i = 0; i < N; i++) worst = fmax(worst, fabs(x[i] - y[i]));
  below(worst, 1e-14, "dense and tridiagonal: even rows, then odd ones");
  perp_rows_close(&R);
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  perp_rng *g = perp_rng_create(11);
  check_sweeps(&ctx, g);
  check_fixed(&ctx, g);
  check_copies(&ctx, g);
  check_bits(&ctx, g);
  check_dense(&ctx);
  perp_rng_destroy(g);
  return tap_done();
}
