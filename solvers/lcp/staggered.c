/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Staggered solution of contact problems with friction: normal and friction problems in turn.
 *
 * With N the rows without and T those with friction limits,
 *      A_NN lambda_N + (b_N + A_NT lambda_T)  for lambda_N with its bounds, lambda_T as it is,
 *      A_TT lambda_T + (b_T + A_TN lambda_N)  with limits mu lambda_N, lambda_N as it is,
 * until a fixed point, STAR 2012, section 4.3.4 and the QP (83)-(84) of the friction problem; here with
 * boxes or circular cones instead of the pyramid.  Both are convex for A symmetric positive semidefinite,
 * and any registered solver may be taken for each (options `normal` and `friction`; nothing of A is copied:
 * the rows of the other problem are fixed by lo = hi, box limits become plain bounds).  Both start
 * from the last answer.
 *
 * The map lambda_N -> lambda_N need not contract (large mu, strong coupling).  Anderson acceleration over the
 * last `depth` iterates extrapolates it, kept only where the change of the map falls; an iterate that comes
 * back after 2 to 6 rounds is a cycle, answered by halving the relaxation, and reported as PERP_CYCLED when
 * that does not help either.  Cost: two solves a round. */
#include "solvers/lcp/rows.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 8, MEMORY = 6 };

struct opts {
  int max_iter, depth;
  double tol, relax;
  char normal[PERP_TEXT_MAX], friction[PERP_TEXT_MAX];
};

static const perp_opt options[] = {
  PERP_TEXT(struct opts, normal, "minmap-newton", "solver of the normal problem, with options"),
  PERP_TEXT(struct opts, friction, "",
            "solver of the friction problem, with options; empty: minmap-newton for boxes, pgs for "
            "cones"),
  PERP_INT(struct opts, max_iter, 500, 1, 1e9, "rounds before giving up"),
  PERP_REAL(struct opts, tol, 0, 0, 1, 0, "",
            "stop when the scaled residual is at or below this; 0: what the caller accepts"),
  PERP_REAL(struct opts, relax, 1, 0, 1, PERP_OPEN_MIN, "", "relaxation of the normal multipliers"),
  PERP_INT(struct opts, depth, 5, 0, MOST_DEPTH, "iterates of the Anderson acceleration; 0: none"),
  PERP_OPTIONS_END
};

/* a chosen solver, made again when a problem needs more columns */
struct part {
  perp_spec spec;
  perp_lcp_solver *s;
};

struct ws {
  struct opts o;
  int max_n, max_nv;
  struct part normal, boxes, cones;
  perp_rows rows;
  perp_arena arena;
  double *w, *lo, *hi, *x, *g, *f, *last_g, *last_f, *keep;
  double *dg, *df; /* [MOST_DEPTH max_n] differences of the last iterates */
  double *past;    /* [MEMORY max_n] */
  double *Q;       /* [MOST_DEPTH max_n] for least squares */
};

static void layout(struct ws *w, perp_arena *a)
{
  size_t n = (size_t)w->max_n;
  double **const v[] = { &w->w, &w->lo,   &w->hi,     &w->x,     &w->g,
                         &w->f, &w->keep, &w->last_g, &w->last_f };
  for (size_t k = 0; k < sizeof v / sizeof *v; k++) *v[k] = PERP_CARVE(a, double, n);
  w->dg = PERP_CARVE(a, double, MOST_DEPTH *n);
  w->df = PERP_CARVE(a, double, MOST_DEPTH *n);
  w->Q = PERP_CARVE(a, double, MOST_DEPTH *n);
  w->past = PERP_CARVE(a, double, MEMORY *n);
}

static void destroy(void *ws)
{
  struct ws *w = ws;
  if (w == NULL) return;
  struct part *parts[] = { &w->normal, &w->boxes, &w->cones };
  for (int k = 0; k < 3; k++) {
    perp_lcp_destroy(parts[k]->s);
    perp_spec_free(&parts[k]->spec);
  }
  perp_rows_close(&w->rows);
  perp_arena_free(&w->arena);
  free(w);
}

static perp_status open_part(perp_ctx *ctx, struct part *part, const char *text)
{
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_lcp, text, &part->spec));
  const char *name = part->spec.d->name;
  if (strcmp(name, "staggered") == 0 || strcmp(name, "auto") == 0)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "staggered: '%s' cannot be one of its parts", name);
  return PERP_OK;
}

/* solvers for max_nv columns */
static perp_status make_solvers(perp_ctx *ctx, struct ws *w, int max_nv)
{
  struct part *parts[] = { &w->normal, &w->boxes, &w->cones };
  for (int k = 0; k < 3; k++) {
    perp_lcp_destroy(parts[k]->s);
    parts[k]->s = NULL;
    PERP_TRY(perp_lcp_create(ctx, &parts[k]->spec, w->max_n, max_nv, &parts[k]->s));
  }
  w->max_nv = max_nv;
  return PERP_OK;
}

static perp_status create_parts(perp_ctx *ctx, struct ws *w)
{
  const char *friction = w->o.friction;
  PERP_TRY(open_part(ctx, &w->normal, w->o.normal));
  PERP_TRY(open_part(ctx, &w->boxes, friction[0] ? friction : "minmap-newton"));
  PERP_TRY(open_part(ctx, &w->cones, friction[0] ? friction : "pgs"));
  PERP_TRY(make_solvers(ctx, w, 0));
  layout(w, &w->arena);
  PERP_TRY(perp_arena_reserve(ctx, &w->arena));
  layout(w, &w->arena);
  return perp_rows_open(ctx, &w->rows, w->max_n);
}

static perp_status create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  *ws = NULL;
  if (max_n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "staggered: max_n = %d", max_n);
  struct ws *w = calloc(1, sizeof *w);
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a workspace");
  w->o = *(const struct opts *)opts;
  w->max_n = max_n;
  perp_status status = create_parts(ctx, w);
  if (status != PERP_OK) {
    destroy(w);
    return status;
  }
  *ws = w;
  return PERP_OK;
}

/* normal problem from lambda_T, then friction problem from lambda_N; lambda in place */
static perp_status one_round(perp_ctx *ctx, struct ws *w, const perp_lcp *p, double tol,
                             double *lambda, perp_stats *stats, bool *good)
{
  const perp_rows *R = &w->rows;
  perp_lcp q = *p;
  perp_stats inner;
  bool cones = false;
  q.lo = w->lo;
  q.hi = w->hi;
  q.fric_of = NULL;
  q.mu = NULL;
  q.cone = NULL;
  if (p->work > 0) q.work = fmax(p->work - stats->work - w->rows.work, 1);
  q.tol_data = 0.1 * p->tol_data; /* b, and so the unit of the data, is that of the whole */
  for (int i = 0; i < p->n; i++) {
    bool normal = R->type[i] == PERP_ROW_BOUNDED;
    w->lo[i] = normal ? R->lo[i] : lambda[i];
    w->hi[i] = normal ? R->hi[i] : lambda[i];
  }
  PERP_TRY(perp_lcp_solve(ctx, w->normal.s, &q, tol, lambda, NULL, NULL, &inner));
  stats->matvecs += inner.matvecs;
  stats->work += inner.work;
  stats->factorizations += inner.factorizations;
  *good = inner.reason == PERP_CONVERGED;
  for (int i = 0; i < p->n; i++) {
    cones = cones || R->type[i] == PERP_ROW_CONE;
    if (R->type[i] != PERP_ROW_BOUNDED) {
      perp_rows_bounds(R, lambda, i, &w->lo[i], &w->hi[i]);
    } else
      w->lo[i] = w->hi[i] = lambda[i];
  }
  if (cones) {
    q.fric_of = p->fric_of;
    q.mu = p->mu;
    q.cone = p->cone;
  }
  PERP_TRY(
      perp_lcp_solve(ctx, cones ? w->cones.s : w->boxes.s, &q, tol, lambda, NULL, NULL, &inner));
  stats->matvecs += inner.matvecs;
  stats->work += inner.work;
  stats->factorizations += inner.factorizations;
  *good = *good && inner.reason == PERP_CONVERGED;
  return PERP_OK;
}

/* Anderson: x <- g - sum theta_k dg_k with theta = argmin |f - sum theta_k df_k|; m columns */
static bool anderson(struct ws *w, int n, int m, double *x)
{
  double G[MOST_DEPTH * MOST_DEPTH], rhs[MOST_DEPTH], top = 0;
  for (int a = 0; a < m; a++) {
    rhs[a] = 0;
    for (int i = 0; i < n; i++) rhs[a] += w->df[a * n + i] * w->f[i];
    for (int b = 0; b < m; b++) {
      double sum = 0;
      for (int i = 0; i < n; i++) sum += w->df[a * n + i] * w->df[b * n + i];
      G[a + b * m] = sum;
    }
    top = fmax(top, G[a + a * m]);
  }
  /* normal equations, regularized: f only has to shrink */
  for (int a = 0; a < m; a++) G[a + a * m] += 1e-12 * top;
  if (!(top > 0) || LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', m, 1, G, m, rhs, m) != 0)
    return false;
  for (int i = 0; i < n; i++) {
    x[i] = w->g[i];
    for (int a = 0; a < m; a++) x[i] -= rhs[a] * w->dg[a * n + i];
    if (!isfinite(x[i])) return false;
  }
  return true;
}

/* largest |x - y| over the rows without friction, relative to the largest |y| */
static double distance(const perp_rows *R, const double *x, const double *y)
{
  double d = 0, size = DBL_MIN;
  for (int i = 0; i < R->n; i++) {
    if (R->type[i] != PERP_ROW_BOUNDED) continue;
    d = fmax(d, fabs(x[i] - y[i]));
    size = fmax(size, fabs(y[i]));
  }
  return d / size;
}

static perp_status solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                         double *certificate, perp_stats *stats)
{
  struct ws *w = ws;
  perp_rows *R = &w->rows;
  int n = p->n, columns = 0, failures = 0, cycles = 0;
  size_t bytes = (size_t)n * sizeof *lambda;
  double tol = perp_rows_target(w->o.tol, p), relax = w->o.relax, least_f = HUGE_VAL;
  perp_no_certificate(p, certificate);
  PERP_TRY(perp_rows_prepare(ctx, R, p, 1));
  if (p->F != NULL && p->F->nv > w->max_nv) PERP_TRY(make_solvers(ctx, w, p->F->nv));
  perp_rows_w(R, lambda, w->w);
  double best = perp_rows_residual(R, lambda, w->w);
  memcpy(w->keep, lambda, bytes);
  memcpy(w->x, lambda, bytes);
  if (best <= tol) stats->reason = PERP_CONVERGED;

  while (stats->reason == PERP_RUNNING) {
    if (stats->iterations == w->o.max_iter || perp_lcp_spent(p, stats->work + R->work)) {
      stats->reason = PERP_MAX_ITER;
      break;
    }
    int k = stats->iterations++;
    bool good, accelerated = false;
    memcpy(w->g, w->x, bytes);
    /* the parts are solved somewhat better than the whole, by both rules */
    PERP_TRY(one_round(ctx, w, p, 0.1 * tol, w->g, stats, &good));
    perp_rows_w(R, w->g, w->w);
    double rel = perp_rows_residual(R, w->g, w->w);
    bool better = rel < best;
    if (better) {
      best = rel;
      memcpy(w->keep, w->g, bytes);
    }
    PERP_TRACE(ctx, .method = "staggered", .what = "round", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .step = relax, .residual = rel, .n = n, .x = w->g,
               .w = w->w);
    if (best <= tol) {
      stats->reason = PERP_CONVERGED;
      break;
    }
    /* parts that fail again and again, now and then one good round between, will not carry the whole */
    failures = better ? 0 : failures + !good;
    if (failures == 20) {
      stats->reason = PERP_INACCURATE;
      break;
    }
    if (!R->friction) { /* one problem only, and its solver did what it could */
      stats->reason = PERP_STALLED;
      break;
    }
    double size = 0;
    for (int i = 0; i < n; i++) {
      w->f[i] = w->g[i] - w->x[i];
      size = fmax(size, fabs(w->f[i]));
    }
    /* back at an earlier iterate while the last step was not small: a cycle */
    double step = distance(R, w->g, w->past + (size_t)((k + MEMORY - 1) % MEMORY) * (size_t)n);
    bool cycle = false;
    for (int back = 2; back <= MEMORY && back <= k; back++)
      cycle = cycle ||
              distance(R, w->g, w->past + (size_t)((k + MEMORY - back) % MEMORY) * (size_t)n) <
                  1e-3 * step;
    memcpy(w->past + (size_t)(k % MEMORY) * (size_t)n, w->g, bytes);
    if (k == 0) cycle = false;
    if (cycle) {
      relax *= 0.5;
      columns = 0;
      if (++cycles > 10) {
        stats->reason = PERP_CYCLED;
        break;
      }
    }
    if (k > 0 && w->o.depth > 0 && !cycle) {
      int slot = k % w->o.depth;
      for (int i = 0; i < n; i++) {
        w->dg[slot * n + i] = w->g[i] - w->last_g[i];
        w->df[slot * n + i] = w->f[i] - w->last_f[i];
      }
      columns = columns < w->o.depth ? columns + 1 : columns;
      /* slots are filled in turn: the first `columns` of them only after a restart at slot 0 */
      bool complete = columns == w->o.depth;
      if (size > 2 * least_f) /* the extrapolation led astray */
        columns = 0;
      else if (complete)
        accelerated = anderson(w, n, columns, w->last_g);
    }
    least_f = fmin(least_f, size);
    if (accelerated) {
      memcpy(w->x, w->last_g, bytes);
      perp_rows_project(R, w->x, w->x);
    } else
      for (int i = 0; i < n; i++) w->x[i] += relax * w->f[i];
    memcpy(w->last_g, w->g, bytes);
    memcpy(w->last_f, w->f, bytes);
  }
  memcpy(lambda, w->keep, bytes);
  stats->work += R->work;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_staggered = {
  .d = { .name = "staggered",
         .summary =
             "normal and friction problems in turn, a solver of choice for each, accelerated",
         .reference = "STAR 2012, section 4.3.4, eq. 83-84",
         .equation = "lambda_N from lambda_T, lambda_T from lambda_N, until both stay",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                 PERP_LCP_SEMIDEFINITE | PERP_LCP_NONSYMMETRIC | PERP_LCP_FACTORED |
                 PERP_LCP_ITERATIVE | PERP_LCP_WARM },
  .create = create,
  .solve = solve,
  .destroy = destroy
};
