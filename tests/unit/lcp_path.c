/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The path that lemke and keller follow, vertex by vertex: the inverse of the basis, slacks,
 * bounds, complements and the perturbation against their definitions, and each step the longest one
 * that keeps all bounds. */
#include "solvers/lcp/pivoting/path.h"
#include "tests/lcp_random.h"
#include "tests/lcp_rel.h"
#include "tests/tap.h"

enum { MOST = 40 };
static perp_ctx ctx;

/* ---- what holds at every vertex ---- */

typedef struct seen {
  perp_path *L;
  double shift[MOST]; /* b of the perturbation: w' = A l' + shift + c t' */
  double inverse, slack, perturbation, outside, entered;
  int sets, expected, expected_is_lambda, pivots, wrong, not_blocking;
} seen;

static double entry(const perp_path *L, int c, int u)
{
  const int i = L->crow[c], j = L->uvar[u];
  return j < 0 ? L->c[i] : L->P.A[(size_t)i + (size_t)j * L->P.lda];
}

/* max |K R - 1| relative to the terms */
static double inverse_off(const perp_path *L)
{
  double worst = 0;
  for (int a = 0; a < L->K.m; a++)
    for (int c = 0; c < L->K.m; c++) {
      double sum = -(a == c), size = 1;
      for (int u = 0; u < L->K.m; u++) {
        const double term = entry(L, a, u) * L->K.R[(size_t)u + (size_t)c * L->K.ld];
        sum += term;
        size += fabs(term);
      }
      worst = fmax(worst, fabs(sum) / size);
    }
  return worst;
}

static int sets_off(const perp_path *L)
{
  int off = 0, unknowns = 0, equations = 0;
  for (int i = 0; i < L->P.n; i++) {
    if (L->upos[i] >= 0) unknowns++, off += L->uvar[L->upos[i]] != i;
    if (L->cpos[i] >= 0) equations++, off += L->crow[L->cpos[i]] != i;
    off += (L->upos[i] >= 0) != (L->st[i] == PERP_ROW_FREE && L->kind[i] != PERP_PATH_PARKED);
  }
  if (L->with_t) off += L->uvar[0] != -1;
  return off + (unknowns + L->with_t != L->K.m) + (equations != L->K.m);
}

/* w - A x - b - c t, with b or the perturbation of it */
static double slack_off(const perp_path *L, const double *w, const double *x, const double *b,
                        double t)
{
  double worst = 0;
  for (int i = 0; i < L->P.n; i++) {
    double sum = w[i] - b[i], size = fabs(w[i]) + fabs(b[i]) + L->P.a[i];
    if (t != 0) sum -= L->c[i] * t, size += fabs(L->c[i] * t);
    for (int j = 0; j < L->P.n; j++) {
      const double term = L->P.A[(size_t)i + (size_t)j * L->P.lda] * x[j];
      sum -= term;
      size += fabs(term);
    }
    worst = fmax(worst, fabs(sum) / size);
  }
  return worst;
}

/* How far lambda and w are on the wrong side, in units of lambda; e: the row that is between two.
 */
static double outside(const perp_path *L, int e)
{
  double worst = 0;
  for (int i = 0; i < L->P.n; i++) {
    const double x = L->lambda[i], y = L->w[i] / L->P.a[i];
    double off = fmax(L->P.lo[i] - x, x - L->P.hi[i]);
    if (L->st[i] == PERP_ROW_FREE)
      off = fmax(off, L->kind[i] == PERP_PATH_PARKED ? 0 : fabs(y));
    else if (L->kind[i] == PERP_PATH_NORMAL)
      off = fmax(off, L->st[i] == PERP_ROW_LO ? -y : y);
    if (i != e && L->st[i] != PERP_ROW_FREE)
      off = fmax(off, fabs(x - (L->st[i] == PERP_ROW_LO ? L->P.lo[i] : L->P.hi[i])));
    if (!(off <= worst)) worst = off;
  }
  return worst;
}

static void largest(double *most, double x)
{
  if (!(x <= *most)) *most = x;
}

/* Called after the step and before the change of the basis. */
static void watch(void *user, const perp_trace_event *e)
{
  seen *s = user;
  const perp_path *L = s->L;
  s->pivots++;
  if (e->iteration != L->stats->iterations || strcmp(e->what, "pivot") != 0 ||
      strcmp(e->method, "test") != 0 || e->n != L->P.n)
    s->wrong++;
  largest(&s->inverse, inverse_off(L));
  s->sets += sets_off(L);
  largest(&s->slack, slack_off(L, L->w, L->lambda, L->P.b, L->t));
  largest(&s->perturbation, slack_off(L, L->wp, L->lp, s->shift, L->tp));
  largest(&s->outside, outside(L, e->entering));
  if (e->step < 0 || L->t < -1e-9) s->wrong++;
  /* what enters is the complement of what left */
  if (e->entering != s->expected) s->wrong++;
  const int l = e->leaving;
  if (l < 0) {
    if (fabs(L->t) > 1e-9 * (1 + L->P.bscale / L->ct)) s->not_blocking++;
    return;
  }
  /* what leaves is at a bound */
  const double lo = L->lambda[l] - L->P.lo[l], hi = L->P.hi[l] - L->lambda[l];
  const double at = L->st[l] == PERP_ROW_FREE || l == e->entering ? fmin(fabs(lo), fabs(hi))
                                                                  : fabs(L->w[l]) / L->P.a[l];
  if (!(at <= 1e-8 * (1 + L->P.bscale))) s->not_blocking++;
  s->expected = l;
}

/* ---- the start of a path ---- */

typedef struct machine {
  perp_path L;
  perp_arena arena;
  perp_stats stats;
  double lambda[MOST];
} machine;

static void open_machine(machine *k, int max_n)
{
  *k = (machine){ .L.P.max_n = max_n };
  if (perp_arena_layout(&ctx, &k->arena, perp_path_layout, &k->L) != PERP_OK) bail("%s", ctx.msg);
}

static void take(machine *k, const perp_lcp *p)
{
  perp_path *L = &k->L;
  if (perp_pivot_take(&ctx, &L->P, p) != PERP_OK) bail("%s", ctx.msg);
  k->stats = (perp_stats){ 0 };
  L->ctx = &ctx;
  L->stats = &k->stats;
  L->lambda = k->lambda;
  L->name = "test";
  L->target = -1;
  L->sharp = 1;
  L->lexico = 0;
  L->limit = 5000;
  L->t = L->tp = 0;
}

/* Rows at their bounds get a cover and a perturbation; t replaces the slack of the row that needs
 * it most: that row, or -1 when none does. */
static int first_t(perp_path *L, seen *s)
{
  int n = L->P.n, r = -1;
  double t = 0, tp = 0;
  L->ct = 0;
  for (int i = 0; i < n; i++) {
    const int moves = L->kind[i] == PERP_PATH_NORMAL && L->st[i] != PERP_ROW_FREE;
    const double sign = !moves ? 0 : L->st[i] == PERP_ROW_LO ? 1 : -1;
    L->lp[i] = 0;
    L->c[i] = sign * L->P.a[i] * (1 + 0.3 * (i % 4));
    s->shift[i] = L->wp[i] = sign * L->P.a[i] * perp_pivot_generic(i);
    L->tilt[i] = sign < 0 ? -1 : 1;
    L->ct = fmax(L->ct, fabs(L->c[i]) / L->P.a[i]);
    if (!moves || sign * L->w[i] >= -1e-11 * L->P.a[i]) continue;
    const double need = -L->w[i] / L->c[i], needp = -L->wp[i] / L->c[i];
    if (r < 0 || need > t + 1e-11 || (need > t - 1e-11 && needp > tp)) r = i, t = need, tp = needp;
  }
  if (r < 0) return -1;
  for (int i = 0; i < n; i++) {
    L->w[i] += t * L->c[i];
    L->wp[i] += tp * L->c[i];
  }
  L->t = t;
  L->tp = tp;
  for (int c = 0; c < L->K.m; c++) L->f[c] = 0; /* basic rows have no cover */
  perp_path_append(L, r, -1, L->c[r]);
  perp_path_t_first(L, L->K.m - 1);
  L->w[r] = L->wp[r] = 0;
  return r;
}

/* Scale of A and b together, and of A alone: lambda grows. */
static void scale(random_lcp *q, double both, double of_A)
{
  double *b = (double *)(uintptr_t)q->p.b;
  for (int i = 0; i < q->p.n * q->p.n; i++) q->A[i] *= both * of_A;
  for (int i = 0; i < q->p.n; i++) b[i] *= both;
}

/* Paths from cold and warm starts, on problems of either symmetry and every kind of bounds; garbage
 * in the inverse is found and repaired on the way. */
static void check_paths(void)
{
  perp_rng *g = perp_rng_create(3);
  machine k;
  open_machine(&k, MOST);
  perp_path *L = &k.L;
  seen s = { .L = L };
  int ended = 0, followed = 0, direct = 0, total = 0, dirty_factored = 0;
  double rel = 0, rest = 0;
  ctx.trace = watch;
  ctx.trace_user = &s;
  for (int trial = 0; trial < 160; trial++) {
    const int n = trial % 20 == 7 ? MOST : 2 + trial % 13;
    random_lcp q = random_dense(g, n, n, 0.3, trial % 2 ? 0.5 : 0,
                                trial % 3 == 2 ? BOUNDS_CONTACT : BOUNDS_MIXED);
    /* no vertex at which two rows meet: random slopes instead of a planted solution */
    for (int i = 0; i < n; i++) ((double *)(uintptr_t)q.p.b)[i] = perp_rng_uniform(g, -1, 1);
    scale(&q, trial % 7 == 3 ? 1e-8 : trial % 7 == 5 ? 1e8 : 1, 1);
    take(&k, &q.p);
    L->lexico = trial % 5 == 4;
    const int guess = trial % 4 == 1;
    for (int i = 0; i < n; i++) k.lambda[i] = guess ? perp_rng_uniform(g, -0.2, 0.6) : 0;
    perp_path_sets(L, guess);
    perp_path_core(L);
    largest(&s.inverse, inverse_off(L));
    s.sets += sets_off(L);
    if (guess) {
      if (!perp_path_clean(L)) bail("a guess that cannot be cleaned");
    } else
      perp_path_recompute(L, 3);
    largest(&s.slack, slack_off(L, L->w, L->lambda, L->P.b, 0));
    for (int u = 0; u < L->K.m; u++) { /* basic ones solve their equations within their bounds */
      const int i = L->uvar[u];
      largest(&rest, fabs(L->w[i]) / L->P.a[i]);
      largest(&rest, fmax(L->P.lo[i] - k.lambda[i], k.lambda[i] - L->P.hi[i]));
    }
    const int first = first_t(L, &s);
    total++;
    if (first < 0) {
      direct++;
    } else {
      s.expected = first;
      const int dirty = trial % 11 == 6, before = (int)k.stats.factorizations;
      for (int c = 0; dirty && c < L->K.m; c++)
        for (int u = 0; u < L->K.m; u++)
          L->K.R[(size_t)u + (size_t)c * L->K.ld] *= 1 + 1e-3 * perp_rng_uniform(g, -1, 1);
      const perp_reason reason = perp_path_follow(L, first, 1);
      followed += reason == PERP_RUNNING && !L->with_t;
      dirty_factored += dirty && k.stats.factorizations > before;
      s.sets += sets_off(L);
    }
    perp_path_recompute(L, 3);
    ended += k.stats.iterations > 0;
    largest(&rel, independent_rel(&q.p, q.A, k.lambda));
    random_free(&q);
  }
  ctx.trace = NULL;
  ok(followed + direct == total && followed > 100 && ended >= followed,
     "%d paths led to t = 0 (%d had nothing to follow)", followed, direct);
  ok(s.pivots > 500, "%d pivots", s.pivots);
  below(s.inverse, 1e-9, "the inverse of the basis at every vertex");
  below(s.slack, 1e-9, "w = A lambda + b + c t at every vertex");
  below(s.perturbation, 1e-8, "... and so has the perturbation");
  below(s.outside, 1e-8, "nothing leaves its bounds");
  below(rest, 1e-9, "before the path basic rows have w = 0 within their bounds");
  ok(s.sets == 0, "the places of rows and unknowns fit (%d do not)", s.sets);
  ok(s.wrong == 0, "what enters is the complement of what left (%d wrong)", s.wrong);
  ok(s.not_blocking == 0, "what leaves has met its bound (%d had not)", s.not_blocking);
  ok(dirty_factored > 0, "%d inverses with garbage were made afresh", dirty_factored);
  below(rel, 1e-9, "at t = 0 the problem is solved");
  perp_arena_free(&k.arena);
  perp_rng_destroy(g);
}

/* ---- the start where rows depend on each other ---- */

/* Free rows of low rank and saddle points: what is in the basis is regular, what is left out
 * depends on it. */
static void check_core(void)
{
  perp_rng *g = perp_rng_create(8);
  machine k;
  open_machine(&k, MOST);
  perp_path *L = &k.L;
  double inverse = 0, rest = 0, parked_w = 0;
  int sets = 0, pairs = 0, parked = 0, deep = 0, lost = 0;
  for (int trial = 0; trial < 120; trial++) {
    const int n = 3 + trial % 14, half = n / 2;
    random_lcp q = random_dense(g, n, trial % 3 ? half : n, 0, 0, BOUNDS_MIXED);
    double *lo = (double *)(uintptr_t)q.p.lo, *hi = (double *)(uintptr_t)q.p.hi;
    for (int i = 0; i < n; i++)
      if (trial % 2 || i >= half) lo[i] = -HUGE_VAL, hi[i] = HUGE_VAL;
    if (trial % 3 == 0) /* no diagonal where multipliers are */
      for (int i = half; i < n; i++)
        for (int j = half; j < n; j++) q.A[i + j * n] = 0;
    scale(&q, trial % 5 == 3 ? 1e-8 : trial % 5 == 4 ? 1e6 : 1, 1);
    take(&k, &q.p);
    for (int i = 0; i < n; i++) k.lambda[i] = 0;
    perp_path_sets(L, 0);
    perp_path_core(L);
    perp_path_recompute(L, 3);
    sets += sets_off(L);
    if (trial % 3 == 0 && inverse_off(L) > 1e-7) {
      lost++;
      random_free(&q);
      continue;
    }
    largest(&inverse, inverse_off(L));
    for (int u = 0; u < L->K.m; u++) largest(&rest, fabs(L->w[L->crow[u]]) / L->P.a[L->crow[u]]);
    for (int u = 0; u < L->K.m; u++) pairs += L->kind[L->uvar[u]] == PERP_PATH_NORMAL;
    /* the Schur complement of a parked row with itself and with rows that could join it vanishes */
    for (int i = 0; i < n; i++) {
      if (L->kind[i] != PERP_PATH_PARKED) continue;
      parked++;
      if (k.lambda[i] != 0) deep++;
      double z[MOST], row[MOST];
      perp_path_row(L, i, row);
      perp_inverse_apply_t(&L->K, row, z);
      for (int j = 0; j < n; j++) {
        if (L->kind[j] != PERP_PATH_PARKED && j != i) continue;
        double sum = q.A[i + j * n], size = fabs(sum);
        for (int c = 0; c < L->K.m; c++) {
          sum -= z[c] * q.A[L->crow[c] + j * n];
          size += fabs(z[c] * q.A[L->crow[c] + j * n]);
        }
        largest(&parked_w, size > 0 ? fabs(sum) / (size + L->P.a[i]) : 0);
      }
    }
    random_free(&q);
  }
  ok(lost <= 2, "%d of 40 saddle points were too much for rounding", lost);
  below(inverse, 1e-7, "the inverse of the first basis");
  below(rest, 1e-7, "its rows have w = 0");
  ok(sets == 0 && deep == 0, "places of rows and unknowns (%d wrong)", sets + deep);
  ok(pairs > 0 && parked > 0, "%d rows joined by pairs, %d left out", pairs, parked);
  below(parked_w, 1e-8, "what is left out depends on what is in");
  perp_arena_free(&k.arena);
  perp_rng_destroy(g);
}

/* Two equations that contradict each other by so much of b, at any size of A. */
static void check_parked(void)
{
  machine k;
  open_machine(&k, MOST);
  perp_path *L = &k.L;
  int wrong = 0, false_proof = 0, not_seen = 0;
  for (int e = -8; e <= 8; e += 2)
    for (int sign = -1; sign <= 1; sign += 2)
      for (int gap = 0; gap < 3; gap++) {
        const double s = pow(10, e), inf = HUGE_VAL;
        static const double gaps[] = { 0.5, 1e-13, 0 };
        const double A[16] = { 2 * s, s, 2 * s, 0, s, 3 * s, s, 0, 2 * s, s, 2 * s, 0, 0, 0, 0, s };
        const double b[4] = { s, -2 * s, s + sign * gaps[gap] * s, s };
        const double lo[4] = { -inf, -inf, -inf, 0 }, hi[4] = { inf, inf, inf, inf };
        const perp_lcp p = { .n = 4, .A = A, .lda = 4, .b = b, .lo = lo, .hi = hi };
        take(&k, &p);
        for (int i = 0; i < 4; i++) k.lambda[i] = 0;
        perp_path_sets(L, 0);
        perp_path_core(L);
        perp_path_recompute(L, 3);
        const int proof = perp_path_parked_proof(L);
        if (L->kind[0] != PERP_PATH_PARKED && L->kind[2] != PERP_PATH_PARKED) wrong++;
        false_proof += proof && gap > 0;
        not_seen += !proof && gap == 0;
        double most = 0, Av[4] = { 0 }, bv = 0;
        for (int i = 0; proof && i < 4; i++) {
          most = fmax(most, fabs(L->dp[i]));
          bv += b[i] * L->dp[i];
          for (int j = 0; j < 4; j++) Av[j] += A[i + 4 * j] * L->dp[i];
        }
        for (int j = 0; proof && j < 3; j++) wrong += fabs(Av[j]) > 1e-12 * s * most;
        wrong += proof && !(bv < -0.1 * s * most);
      }
  /* rows of zeros with b, in any place: each proves by itself */
  for (int at = 0; at < 3; at++)
    for (int sign = -1; sign <= 1; sign += 2) {
      const double inf = HUGE_VAL, lo[3] = { -inf, -inf, -inf }, hi[3] = { inf, inf, inf };
      double A[9] = { 2, 1, 0, 1, 3, 1, 0, 1, 4 }, b[3] = { 1, -1, 1 };
      for (int j = 0; j < 3; j++) A[at + 3 * j] = A[j + 3 * at] = 0;
      b[at] = 0.5 * sign;
      const perp_lcp p = { .n = 3, .A = A, .lda = 3, .b = b, .lo = lo, .hi = hi };
      take(&k, &p);
      for (int i = 0; i < 3; i++) k.lambda[i] = 0;
      perp_path_sets(L, 0);
      perp_path_core(L);
      perp_path_recompute(L, 3);
      wrong += L->kind[at] != PERP_PATH_PARKED;
      not_seen += !perp_path_parked_proof(L);
      for (int i = 0; i < 3; i++) wrong += L->dp[i] != (i == at ? -sign : 0);
    }
  ok(wrong == 0 && false_proof == 0 && not_seen == 0,
     "free rows that contradict each other are proved to (%d not, %d falsely, %d wrong)", not_seen,
     false_proof, wrong);
  perp_arena_free(&k.arena);
}

/* ---- ends other than t = 0 ---- */

static void check_ends(void)
{
  machine k;
  open_machine(&k, MOST);
  perp_path *L = &k.L;
  seen s = { .L = L };
  /* w = (x - y - 1, y - x - 1): no solution, a ray with x = y */
  const double A[4] = { 1, -1, -1, 1 }, b[2] = { -1, -1 };
  const perp_lcp p = { .n = 2, .A = A, .lda = 2, .b = b };
  take(&k, &p);
  k.lambda[0] = k.lambda[1] = 0;
  perp_path_sets(L, 0);
  perp_path_core(L);
  perp_path_recompute(L, 1);
  int r = first_t(L, &s);
  ok(r >= 0 && perp_path_follow(L, r, 1) == PERP_RAY, "no solution: a ray");
  ok(L->dp[0] > 0 && fabs(L->dp[0] - L->dp[1]) < 1e-12, "... in which both grow alike");
  /* the limit of pivots is one of all of them */
  perp_rng *g = perp_rng_create(5);
  random_lcp q = random_dense(g, 12, 12, 0.3, 0, BOUNDS_CONTACT);
  for (int limit = 0; limit < 3; limit++) {
    take(&k, &q.p);
    for (int i = 0; i < 12; i++) k.lambda[i] = 0;
    perp_path_sets(L, 0);
    perp_path_core(L);
    perp_path_recompute(L, 1);
    r = first_t(L, &s);
    k.stats.iterations = 7;
    L->limit = 7 + limit;
    ok(perp_path_follow(L, r, 1) == PERP_MAX_ITER && k.stats.iterations == 7 + limit,
       "%d pivots are allowed and done", limit);
    ok(slack_off(L, L->w, L->lambda, L->P.b, L->t) < 1e-12, "... and the vertex is one");
  }
  /* the basis has become singular behind its back, and its inverse is garbage */
  take(&k, &q.p);
  for (int i = 0; i < 12; i++) k.lambda[i] = 0.1;
  perp_path_sets(L, 1);
  perp_path_core(L);
  perp_path_recompute(L, 3);
  L->ct = 1;
  for (int i = 0; i < 12; i++) L->c[i] = 0, L->wp[i] = L->lp[i] = 0;
  for (int i = 0; i < 12; i++) q.A[3 + 12 * i] = q.A[4 + 12 * i];
  perp_path_remove(L, L->upos[0], L->cpos[0]);
  L->st[0] = PERP_ROW_LO;
  L->K.R[0] += 10;
  L->t = 0;
  ok(perp_path_follow(L, 0, 1) == PERP_SINGULAR, "a basis that is not regular is told");
  random_free(&q);
  perp_rng_destroy(g);
  perp_arena_free(&k.arena);
}

int main(void)
{
  perp_ctx_init(&ctx);
  check_paths();
  check_core();
  check_parked();
  check_ends();
  return tap_done();
}
