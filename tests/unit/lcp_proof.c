/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Proofs that a problem has no solution: planted ones are found, solvable problems are never called
 * infeasible. What is planted is exact (integers times powers of two); vectors are checked in
 * rational arithmetic. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <float.h>
#include <gmp.h>
#include <string.h>

enum { N = 64, METHODS = 8 };

static perp_ctx ctx;
static perp_rng *rng;
static double A[N * N], b[N], lo[N], hi[N], mu[N], planted[N];
static int fric_of[N];
static signed char cone[N];
static perp_lcp p;

static perp_lcp_proof prove(const perp_lcp *q, const double *z, double *radius)
{
  int nv = q->F != NULL ? q->F->nv : 0;
  double *scratch = calloc(PERP_LCP_SCRATCH(q->n, nv) + 1, sizeof *scratch);
  perp_lcp_proof proof = perp_lcp_prove(q, z, radius, scratch);
  free(scratch);
  return proof;
}

static perp_lcp_problem make(perp_lcp_recipe recipe)
{
  perp_lcp_problem q;
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", recipe.family, ctx.msg);
  return q;
}

static struct method {
  const char *name, *lcp; /* lcp: NULL, name is its own */
  perp_lcp_solver *s;
  unsigned caps;
  int asked, proved, lies, solved, claims;
} method[METHODS] = {
  { .name = "lemke" },       { .name = "enumerate" },
  { .name = "auto" },        { .name = "dantzig" },
  { .name = "keller" },      { .name = "interior-point" },
  { .name = "fixed-point" }, { .name = "lemke, equilibrated", .lcp = "lemke" }
};

static void open_methods(void)
{
  for (int k = 0; k < METHODS; k++) {
    struct method *m = &method[k];
    perp_spec spec;
    const char *lcp = m->lcp != NULL ? m->lcp : m->name;
    if (lcp == NULL || perp_find(&ctx, PERP_KIND_lcp, lcp) == NULL) continue;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, lcp, &spec) != PERP_OK ||
        perp_lcp_create(&ctx, &spec, 2 * N, 2 * N, &m->s) != PERP_OK ||
        perp_lcp_equilibrate(&ctx, m->s, m->lcp != NULL) != PERP_OK)
      bail("%s", ctx.msg);
    m->caps = spec.d->caps;
    perp_spec_free(&spec);
  }
}

static void begin(int n)
{
  memset(A, 0, sizeof A);
  memset(planted, 0, sizeof planted);
  for (int i = 0; i < n; i++) {
    b[i] = lo[i] = mu[i] = 0;
    hi[i] = HUGE_VAL;
    fric_of[i] = -1;
    cone[i] = 0;
  }
  p = (perp_lcp){ .n = n, .A = A, .lda = n, .b = b, .lo = lo, .hi = hi };
}

#define AT(i, j) A[(i) + (j)*p.n]

static int integer(int least, int most)
{
  return least + perp_rng_int(rng, most - least + 1);
}

/* x 2^-k for a random k: up to 8 decades either way */
static double scale(int bits)
{
  return ldexp(1, integer(-bits, bits));
}

/* ---- the oracle: a Farkas vector in rational arithmetic ---- */

/* x + mu |(y, z)| <= 0 as x <= 0 and mu^2 (y^2 + z^2) <= x^2 */
static bool in_cone(mpq_srcptr x, double factor, mpq_srcptr y, mpq_srcptr z)
{
  mpq_t sum, t;
  mpq_inits(sum, t, NULL);
  mpq_mul(sum, y, y);
  mpq_mul(t, z, z);
  mpq_add(sum, sum, t);
  mpq_set_d(t, factor);
  mpq_mul(sum, sum, t);
  mpq_mul(sum, sum, t);
  mpq_mul(t, x, x);
  bool good = mpq_sgn(x) <= 0 && mpq_cmp(sum, t) <= 0;
  mpq_clears(sum, t, NULL);
  return good;
}

/* Is z a proof, exactly?  Written from the definition in lcp.h, boxes, box friction, a cone on rows
 * without others. */
static bool farkas(const perp_lcp *q, const double *z)
{
  int n = q->n;
  mpq_t *u = malloc((size_t)n * sizeof *u), top, s, t;
  mpq_inits(top, s, t, NULL);
  bool good = true;
  for (int j = 0; j < n; j++) {
    mpq_init(u[j]);
    for (int i = 0; i < n; i++) {
      mpq_set_d(s, q->A[i + j * q->lda]);
      mpq_set_d(t, z[i]);
      mpq_mul(s, s, t);
      mpq_add(u[j], u[j], s);
    }
  }
  for (int j = 0; j < n; j++) {
    if (q->fric_of == NULL || q->fric_of[j] < 0) continue;
    good = good && z[j] == 0;
    if (q->cone != NULL) {
      if (q->cone[j]) good = good && in_cone(u[q->fric_of[j]], q->mu[j], u[j], u[j + 1]);
      continue;
    }
    mpq_abs(s, u[j]);
    mpq_set_d(t, q->mu[j]);
    mpq_mul(s, s, t);
    mpq_add(u[q->fric_of[j]], u[q->fric_of[j]], s);
  }
  for (int j = 0; j < n; j++) {
    mpq_set_d(s, q->b[j]);
    mpq_set_d(t, z[j]);
    mpq_mul(s, s, t);
    mpq_add(top, top, s);
    if (q->fric_of != NULL && q->fric_of[j] >= 0) continue;
    double l = q->lo != NULL ? q->lo[j] : 0, h = q->hi != NULL ? q->hi[j] : HUGE_VAL;
    /* w >= 0 is known where the upper bound is never reached, w <= 0 where the lower one is not */
    good = good && (z[j] <= 0 || h == HUGE_VAL) && (z[j] >= 0 || l == -HUGE_VAL);
    double end = mpq_sgn(u[j]) > 0 ? h : l;
    if (mpq_sgn(u[j]) == 0) continue;
    if (fabs(end) == HUGE_VAL) {
      good = false;
      continue;
    }
    mpq_set_d(s, end);
    mpq_mul(s, s, u[j]);
    mpq_add(top, top, s);
  }
  good = good && mpq_sgn(top) < 0;
  for (int j = 0; j < n; j++) mpq_clear(u[j]);
  mpq_clears(top, s, t, NULL);
  free(u);
  return good;
}

/* ---- problems without a solution ---- */

enum { TIGHT, STRICT, SCALED, SEMIDEFINITE, MIXED, FRICTION, CONES, KINDS };
static const char *const kinds[] = { "tight",        "strict",         "scaled by 8 decades",
                                     "semidefinite", "free and boxed", "box friction",
                                     "cones" };

/* z'A = -slack by the row of one z = 1 */
static void plant_matrix(int one, int slack)
{
  for (int j = 0; j < p.n; j++) {
    double sum = slack > 0 ? integer(1, slack) : integer(0, 3) == 0;
    for (int i = 0; i < p.n; i++) {
      if (i == one) continue;
      AT(i, j) = integer(-9, 9);
      sum += planted[i] * AT(i, j);
    }
    AT(one, j) = -sum;
  }
}

static void plant_b(int one)
{
  double sum = 0;
  for (int i = 0; i < p.n; i++) {
    if (i == one) continue;
    b[i] = integer(-9, 9);
    sum += planted[i] * b[i];
  }
  b[one] = -integer(1, 4) - sum;
}

static void make_infeasible(int kind)
{
  int n = integer(2, kind == SEMIDEFINITE ? 24 : 14), one;
  begin(n);
  one = perp_rng_int(rng, n);
  for (int i = 0; i < n; i++) planted[i] = integer(0, 2) > 0 ? 0 : integer(1, 4);
  planted[one] = 1;
  if (kind == TIGHT || kind == STRICT || kind == SCALED) plant_matrix(one, kind == TIGHT ? 0 : 4);
  plant_b(one);
  switch (kind) {
  case SEMIDEFINITE: { /* A = G G', G'z = 0 */
    int rank = n / 2;
    double G[N];
    for (int k = 0; k < rank; k++) {
      double sum = 0;
      for (int i = 0; i < n; i++)
        if (i != one) sum += planted[i] * (G[i] = integer(-5, 5));
      G[one] = -sum;
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) AT(i, j) += G[i] * G[j];
    }
    break;
  }
  case SCALED:
    for (int i = 0; i < n; i++) {
      double r = scale(26);
      for (int j = 0; j < n; j++) AT(i, j) *= r;
      b[i] *= r;
      planted[i] /= r;
    }
    for (int j = 0; j < n; j++) {
      double c = scale(26);
      for (int i = 0; i < n; i++) AT(i, j) *= c;
    }
    break;
  case MIXED: /* free rows: A'z = 0 there, z of any sign; boxes: what they may add is taken off b */
    for (int i = 0; i < n; i++) {
      int what = i == one ? 0 : integer(0, 3);
      if (what == 1) {
        lo[i] = -HUGE_VAL;
        if (integer(0, 1)) planted[i] = -planted[i];
      }
      if (what == 2) {
        planted[i] = 0;
        lo[i] = -integer(0, 3);
        hi[i] = integer(1, 4);
      }
    }
    plant_matrix(one, 0);
    plant_b(one);
    for (int j = 0; j < n; j++) {
      double u = 0;
      for (int i = 0; i < n; i++) u += planted[i] * AT(i, j);
      if (lo[j] == -HUGE_VAL) AT(one, j) -= u;
      if (hi[j] < HUGE_VAL) b[one] -= fmax(u * lo[j], u * hi[j]);
    }
    break;
  case FRICTION:
  case CONES:
    n = 3 * integer(1, kind == CONES ? 6 : 3);
    begin(n);
    for (int i = 0; i < n; i += 3) {
      planted[i] = i == 0 ? 1 : integer(0, 3);
      fric_of[i + 1] = fric_of[i + 2] = i;
      cone[i + 1] = kind == CONES;
      mu[i + 1] = mu[i + 2] = integer(1, 12) / 8.0;
    }
    p.fric_of = fric_of;
    p.mu = mu;
    p.cone = kind == CONES ? cone : NULL;
    plant_matrix(0, 0);
    plant_b(0);
    for (int j = 0; j < n;
         j += 3) { /* u_n = -mu (|u_s| + |u_t|), or a little less than what a circle asks */
      double u[3] = { 0 };
      for (int k = 0; k < 3; k++)
        for (int i = 0; i < n; i += 3) u[k] += planted[i] * AT(i, j + k);
      double least = kind == CONES ? hypot(u[1], u[2]) + 0.125 : fabs(u[1]) + fabs(u[2]);
      AT(0, j) += -ceil(8 * mu[j + 1] * least) / 8 - u[0];
    }
    break;
  default:
    break;
  }
}

static void check_planted(int each)
{
  int problems = 0, vectors = 0, exact = 0, unplanted = 0, unseen = 0;
  for (int kind = 0; kind < KINDS; kind++) {
    for (int k = 0; k < METHODS; k++) method[k].asked = method[k].proved = method[k].lies = 0;
    /* cones take a hundred times as long as the others */
    for (int seed = 0; seed < (kind == CONES ? each / 4 : each); seed++) {
      problems++;
      make_infeasible(kind);
      p.tol_data = 1e-6; /* rel alone accepts a huge lambda: some of the scaled ones */
      unplanted += !farkas(&p, planted);
      unseen += prove(&p, planted, NULL) != PERP_PROOF_INFEASIBLE;
      for (int k = 0; k < METHODS; k++) {
        struct method *m = &method[k];
        perp_stats stats;
        double x[N] = { 0 };
        if (m->s == NULL || perp_lcp_needs(&p) & ~m->caps || (k == 1 && p.n > 9)) continue;
        if (perp_lcp_solve(&ctx, m->s, &p, 1e-10, x, NULL, NULL, &stats) != PERP_OK)
          bail("%s", ctx.msg);
        if (stats.reason == PERP_UNSUITED) continue;
        m->lies += stats.reason == PERP_CONVERGED;
        m->asked++;
        m->proved += stats.reason == PERP_INFEASIBLE;
        const double *z = perp_lcp_certificate(m->s);
        if (stats.reason != PERP_INFEASIBLE || z == NULL) continue;
        vectors++;
        exact += farkas(&p, z);
      }
    }
    for (int k = 0; k < METHODS; k++) {
      struct method *m = &method[k];
      if (m->asked == 0) continue;
      printf("# %-20s %-19s %d of %d proved, %d accepted\n", kinds[kind], m->name, m->proved,
             m->asked, m->lies);
      /* lemke's zeros are in one unit for all rows: rows in units of their own are equilibrated */
      const bool lemke = strcmp(m->name, "lemke") == 0 && kind != SCALED;
      const bool must = lemke || m->lcp != NULL || strcmp(m->name, "enumerate") == 0 ||
                        strcmp(m->name, "auto") == 0;
      if (must)
        ok(m->proved >= 0.95 * m->asked, "%s: %s proves %d of %d", kinds[kind], m->name, m->proved,
           m->asked);
      ok(m->lies == 0, "%s: %s solves none of them", kinds[kind], m->name);
    }
  }
  ok(unplanted == 0, "what is planted is a proof");
  ok(unseen <= 0.001 * problems, "and accepted as one, cones included (%d of %d not)", unseen,
     problems);
  ok(vectors > 0 && exact >= 0.95 * vectors,
     "%d of %d vectors handed over are proofs in rational arithmetic as they are", exact, vectors);
}

/* ---- problems with a solution ---- */

static void solvable(int kind, int most)
{
  int n = integer(1, most);
  double G[36];
  begin(n);
  p.lo = p.hi = NULL;
  if (kind == 0) { /* integers: G G' + 1, exactly positive definite */
    for (int i = 0; i < n * n; i++) G[i] = integer(-3, 3);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        AT(i, j) = i == j;
        for (int k = 0; k < n; k++) AT(i, j) += G[i + k * n] * G[j + k * n];
      }
  } else /* P: diagonally dominant (kind 1), or triangular */
    for (int i = 0; i < n; i++) {
      double sum = 0;
      for (int j = 0; j < n; j++)
        if (j != i && (kind == 1 || j < i)) sum += fabs(AT(i, j) = integer(-9, 9));
      AT(i, i) = kind == 1 ? sum + 1 : integer(1, 9);
    }
  /* powers of two: SPD and P remain what they are */
  int decades = integer(0, 26);
  for (int i = 0; i < n; i++) {
    double c = scale(decades), r = kind == 0 ? c : scale(decades);
    for (int j = 0; j < n; j++) AT(i, j) *= r;
    b[i] = integer(-99, 30) * r;
    if (integer(0, 3) == 0) b[i] *= scale(decades);
    for (int j = 0; j < n; j++) AT(j, i) *= c;
  }
}

static void check_solvable(int problems)
{
  for (int k = 0; k < METHODS; k++)
    method[k].asked = method[k].lies = method[k].claims = method[k].solved = 0;
  for (int seed = 0; seed < problems; seed++) {
    solvable(seed % 3, seed % 8 == 0 ? 6 : 4);
    for (int k = 0; k < METHODS; k++) {
      struct method *m = &method[k];
      perp_stats stats;
      double x[N] = { 0 };
      if (m->s == NULL || (k >= 1 && (seed / 3) % 8 != 0)) continue;
      if (perp_lcp_solve(&ctx, m->s, &p, 1e-10, x, NULL, NULL, &stats) != PERP_OK)
        bail("%s", ctx.msg);
      m->asked++;
      m->solved += stats.reason == PERP_CONVERGED;
      m->claims += stats.reason == PERP_NONE_WITHIN;
      m->lies += stats.reason == PERP_INFEASIBLE;
    }
  }
  for (int k = 0; k < METHODS; k++)
    if (method[k].asked > 0) {
      printf("# %-19s %d solvable, %d solved, %d none-within\n", method[k].name, method[k].asked,
             method[k].solved, method[k].claims);
      ok(method[k].lies == 0, "%s: none of %d solvable problems is called infeasible (%d)",
         method[k].name, method[k].asked, method[k].lies);
    }
}

/* Cubes on each other without friction, each ten times as heavy as (or lighter than) the one below;
 * solvable by theory: the stationary point of a convex problem that v = 0 satisfies.  J and v are
 * small dyadic numbers. */
static void check_stacks(bool all)
{
  enum { MOST = 16 };
  int lies = 0, asked = 0, solved = 0, within = 0;
  for (int boxes = 4; boxes <= MOST; boxes += all ? 1 : 4)
    for (int up = 0; up < 2; up++)
      for (int dense = 0; dense < 2; dense++) {
        int n = 4 * boxes, bptr[MOST + 1], mptr[MOST + 1], cptr[MOST + 1], jptr[MOST + 1],
            jblk[2 * MOST], joff[2 * MOST + 1], jgrp[2 * MOST], tptr[MOST + 1], tsub[2 * MOST];
        double M[9 * MOST] = { 0 }, inverse[9 * MOST] = { 0 }, J[24 * MOST], v[3 * MOST], inner[64];
        perp_blocks F = { .nv = 3 * boxes,
                          .m = n,
                          .nb = boxes,
                          .nc = boxes,
                          .bptr = bptr,
                          .mptr = mptr,
                          .cptr = cptr,
                          .jptr = jptr,
                          .jblk = jblk,
                          .joff = joff,
                          .jgrp = jgrp,
                          .tptr = tptr,
                          .tsub = tsub,
                          .M = M,
                          .Minv = inverse,
                          .J = J };
        begin(n);
        jptr[0] = joff[0] = 0;
        for (int k = 0; k <= boxes; k++) {
          bptr[k] = 3 * k;
          mptr[k] = 9 * k;
          cptr[k] = 4 * k;
        }
        for (int k = 0; k < boxes; k++) {
          double mass = pow(10, up ? k : -k);
          for (int d = 0; d < 3; d++) {
            M[9 * k + 4 * d] = d == 0 ? mass : mass / 6;
            inverse[9 * k + 4 * d] = d == 0 ? 1 / mass : 6 / mass;
            v[3 * k + d] = d == 0 ? -0.125 : 0;
          }
          int s = jptr[k];
          for (int side = 0; side < 2; side++) { /* the cube above, the cube below */
            if (k == 0 && side == 1) break;
            jblk[s] = k - side;
            for (int r = 0; r < 4; r++) {
              double sign = side == 0 ? 1 : -1, x = r & 1 ? 0.5 : -0.5, y = r & 2 ? 0.5 : -0.5;
              J[joff[s] + r] = sign;
              J[joff[s] + r + 4] = sign * y;
              J[joff[s] + r + 8] = -sign * x;
            }
            joff[s + 1] = joff[s] + 12;
            s++;
          }
          jptr[k + 1] = s;
        }
        perp_blocks_transpose(boxes, boxes, jptr, jblk, jgrp, tptr, tsub);
        perp_blocks_J(&F, 1, v, b);
        p.lo = p.hi = NULL;
        if (dense)
          perp_blocks_delassus(&F, A, n, inner);
        else {
          p.A = NULL;
          p.F = &F;
        }
        for (int k = 0; k < METHODS; k++) {
          struct method *m = &method[k];
          perp_stats stats;
          double x[N] = { 0 };
          if (m->s == NULL) continue;
          if (perp_lcp_solve(&ctx, m->s, &p, 1e-10, x, NULL, NULL, &stats) != PERP_OK)
            bail("%s", ctx.msg);
          if (stats.reason == PERP_UNSUITED) continue;
          asked++;
          solved += stats.reason == PERP_CONVERGED;
          within += stats.reason == PERP_NONE_WITHIN;
          if (stats.reason != PERP_INFEASIBLE) continue;
          lies++;
          printf("# %s: %d cubes, %s, heavier %s\n", m->name, boxes, dense ? "dense" : "factored",
                 up ? "above" : "below");
        }
      }
  printf("# stacks: %d solves, %d solved, %d none-within\n", asked, solved, within);
  ok(lies == 0, "no stack with mass ratios of 10 is called infeasible");
}

/* a P-matrix that rows of unlike size hide */
static void check_rows(void)
{
  begin(2);
  AT(0, 0) = 10, AT(1, 0) = 1e5, AT(1, 1) = 1e-4;
  b[0] = -0.001, b[1] = -11;
  for (int k = 0; k < METHODS; k++) {
    struct method *m = &method[k];
    perp_stats stats;
    double x[N] = { 0 };
    if (m->s == NULL || !(m->caps & PERP_LCP_NONSYMMETRIC)) continue;
    if (perp_lcp_solve(&ctx, m->s, &p, 1e-10, x, NULL, NULL, &stats) != PERP_OK)
      bail("%s", ctx.msg);
    ok(stats.reason != PERP_INFEASIBLE, "%s: (1e-4, 1e4) is a solution", m->name);
    if (k == 1) {
      ok(stats.reason == PERP_CONVERGED, "enumerate finds it");
      near(x[1], 1e4, 0, 1e-12, "as it is");
    }
  }
}

/* ---- single vectors ---- */
static void check_vectors(void)
{
  double radius;
  perp_lcp_problem q = make((perp_lcp_recipe){ .family = "nosol", .n = 4 });
  double z[4] = { 1, 1, 0, 0 }, wrong[4] = { 1, 0, 0, 0 };
  ok(prove(&q.p, z, &radius) == PERP_PROOF_INFEASIBLE && radius == HUGE_VAL,
     "a Farkas vector of v v' is accepted, without a radius");
  ok(prove(&q.p, wrong, NULL) == PERP_PROOF_NONE, "a vector that is none is refused");
  perp_lcp_problem_free(&q);

  /* a ray that proves nothing: every direction of the zero matrix, solvable for b >= 0 */
  double A0[4] = { 0, 0, 0, 0 }, b0[2] = { 1, 1 };
  perp_lcp q2 = { .n = 2, .A = A0, .lda = 2, .b = b0 };
  ok(prove(&q2, wrong, NULL) == PERP_PROOF_RAY, "a ray of a solvable problem is only a ray");
  double z0[2] = { 0, 0 }, zn[2] = { (double)NAN, 1 };
  ok(prove(&q2, z0, NULL) == PERP_PROOF_NONE, "the zero vector proves nothing");
  ok(prove(&q2, zn, NULL) != PERP_PROOF_INFEASIBLE, "NaN proves nothing");

  q = make((perp_lcp_recipe){ .family = "free-infeasible" });
  double f[2] = { 1, -1 }, g[2] = { -1, 1 };
  ok(prove(&q.p, f, NULL) == PERP_PROOF_INFEASIBLE && prove(&q.p, g, NULL) == PERP_PROOF_NONE,
     "free rows: multipliers of either sign, the right one proves");
  perp_lcp_problem_free(&q);

  /* bounded box: w_1 >= 0 is asked of row 1, row 2 is in [0, 1]: -1 + lambda_2 < 0 always, but not
   * for hi = 3 */
  double B[4] = { 0, 0, 1, 1 }, c[2] = { -2, 0 }, l[2] = { 0, 0 }, h[2] = { HUGE_VAL, 1 };
  q2 = (perp_lcp){ .n = 2, .A = B, .lda = 2, .b = c, .lo = l, .hi = h };
  double e[2] = { 1, 0 };
  ok(prove(&q2, e, NULL) == PERP_PROOF_INFEASIBLE, "a finite bound makes it impossible");
  h[1] = 3;
  ok(prove(&q2, e, NULL) == PERP_PROOF_NONE, "a wider one does not");

  /* no false proof: random nonnegative vectors on solvable problems */
  int lies = 0;
  for (int seed = 0; seed < 300; seed++) {
    static const char *const names[] = { "spd", "psd", "boxed", "boxed-psd", "copositive" };
    q = make((perp_lcp_recipe){ .family = names[seed % 5], .n = 4, .seed = (uint64_t)seed });
    for (int k = 0; k < 20; k++) {
      double v[4];
      for (int i = 0; i < 4; i++) v[i] = perp_rng_int(rng, 2) ? perp_rng_uniform(rng, -1, 1) : 0;
      lies += prove(&q.p, v, NULL) == PERP_PROOF_INFEASIBLE;
    }
    perp_lcp_problem_free(&q);
  }
  ok(lies == 0, "no vector proves a solvable problem infeasible");
}

/* A = v v' with v'z = 1e-14: solvable for lambda of 1e14, no vector proves more than a radius */
static void check_within(void)
{
  double z[2] = { 1, 1 }, e = ldexp(1, -46), radius;
  begin(2);
  p.lo = p.hi = NULL;
  AT(0, 0) = 1, AT(0, 1) = AT(1, 0) = -1, AT(1, 1) = 1 + e;
  b[0] = b[1] = -1;
  ok(prove(&p, z, &radius) == PERP_PROOF_WITHIN, "nearly singular: a proof within a radius only");
  near(radius, ldexp(2, 46), 0, 1e-12, "of the gap, 2, over what is left, 2^-46");
  AT(1, 1) = 1;
  ok(prove(&p, z, &radius) == PERP_PROOF_INFEASIBLE && radius == HUGE_VAL, "singular: everywhere");
  z[1] = 1 + 1e-9;
  ok(prove(&p, z, &radius) == PERP_PROOF_INFEASIBLE, "a rounded vector points to the exact one");
}

/* friction of a normal row that may pull: |lambda_t| <= mu max(lambda_n, 0) */
static void check_pulling(void)
{
  double z[2] = { 1, 0 };
  begin(3);
  /* w_0 = lambda_2 - lambda_1 - 1 >= 0 with |lambda_2| <= lambda_1 is impossible for lambda_1 >= 0
   * ... */
  AT(0, 1) = -1, AT(0, 2) = 1;
  b[0] = -1, b[1] = 1;
  fric_of[2] = 1;
  mu[2] = 1;
  p.fric_of = fric_of;
  p.mu = mu;
  double y[3] = { z[0], 0, 0 };
  ok(prove(&p, y, NULL) == PERP_PROOF_INFEASIBLE, "a normal force that pushes cannot help");
  lo[1] = -2; /* ... but lambda_1 = -2, lambda_2 = 0 gives w_0 = 1 */
  hi[1] = 5;
  ok(prove(&p, y, NULL) != PERP_PROOF_INFEASIBLE, "one that may pull can");
}

int main(int argc, char **argv)
{
  int times = argc > 1 ? atoi(argv[1]) : 1;
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  rng = perp_rng_create(20);
  open_methods();
  check_vectors();
  check_within();
  check_pulling();
  check_rows();
  check_stacks(times > 1);
  check_planted(200 * times);
  check_solvable(100000 * times);
  for (int k = 0; k < METHODS; k++) perp_lcp_destroy(method[k].s);
  perp_rng_destroy(rng);
  return tap_done();
}
