/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small LCP told pivot by pivot, from the trace of the solver itself. */
#include "experiments/lessons/lesson.h"
#include "solvers/lcp/lcp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = PERP_LESSON_ROWS, WIDE = 13, HIGH = 7 };

struct teller {
  const perp_lesson *l;
  FILE *out;
  void (*pause)(void);
  int told;
  double span, slack; /* scales of the diagrams */
};

static const char *set_name(signed char s)
{
  return s < 0 ? "at lo" : s > 0 ? "at hi" : "free";
}

/* A number in a fixed width. */
static void put(FILE *out, double v)
{
  if (isinf(v))
    fprintf(out, "%9s", v > 0 ? "inf" : "-inf");
  else
    fprintf(out, "%9.4g", fabs(v) < 1e-12 ? 0.0 : v);
}

/* The figure that Vondrak draws for one row (6.1): lambda to the right, w upwards; allowed are the vertical line at
 * lo with w >= 0, the axis between the bounds, the vertical line at hi with w <= 0.  '*' is the row. */
static void draw_diagram(char picture[HIGH][WIDE + 1], double lo, double hi, double lambda,
                         double w, double span, double slack)
{
  for (int y = 0; y < HIGH; y++) {
    memset(picture[y], ' ', WIDE);
    picture[y][WIDE] = '\0';
  }
  const int middle = HIGH / 2;
  int left = isinf(lo) ? 0 : 2, right = isinf(hi) ? WIDE - 1 : WIDE - 3;
  for (int x = 0; x < WIDE; x++) picture[middle][x] = x >= left && x <= right ? '-' : '.';
  for (int y = 0; y < HIGH; y++) {
    if (y < middle && !isinf(lo)) picture[y][left] = '|';
    if (y > middle && !isinf(hi)) picture[y][right] = '|';
  }
  if (!isinf(lo)) picture[middle][left] = '+';
  if (!isinf(hi)) picture[middle][right] = '+';
  double from = isinf(lo) ? -span : lo, to = isinf(hi) ? from + span : hi;
  double share = to > from ? (lambda - from) / (to - from) : 0;
  int x = left + (int)lround(share * (right - left)), y = middle - (int)lround(w / slack * middle);
  if (fabs(w) > 1e-9 * slack && y == middle) y += w > 0 ? -1 : 1;
  if (lambda > from + 1e-9 * span && x == left) x++;
  if (!isinf(hi) && lambda < to - 1e-9 * span && x == right) x--;
  x = x < 0 ? 0 : x >= WIDE ? WIDE - 1 : x;
  y = y < 0 ? 0 : y >= HIGH ? HIGH - 1 : y;
  picture[y][x] = '*';
}

static void put_diagrams(const struct teller *t, const double *lambda, const double *w)
{
  static char picture[N][HIGH][WIDE + 1];
  const perp_lesson *l = t->l;
  for (int i = 0; i < l->n; i++)
    draw_diagram(picture[i], l->lo[i], l->hi[i], lambda[i], w[i], t->span, t->slack);
  for (int y = 0; y < HIGH; y++) {
    fprintf(t->out, "   ");
    for (int i = 0; i < l->n; i++) fprintf(t->out, " %s", picture[i][y]);
    fprintf(t->out, "\n");
  }
}

/* The tableau of an index set: basic variables (lambda of free rows, w of the others) in terms of the nonbasic ones:
 * A exchanged on the free rows.  false when A_FF is singular. */
static bool exchange(const perp_lesson *l, const signed char *state, double *T, double *constant)
{
  int n = l->n;
  memcpy(T, l->A, (size_t)(n * n) * sizeof *T);
  memcpy(constant, l->b, (size_t)n * sizeof *constant);
  bool todo[N];
  for (int i = 0; i < n; i++) todo[i] = state[i] == 0;
  for (;;) {
    int p =
        -1; /* the largest pivot first: an exchange of single pairs reaches every nonsingular block of a symmetric one */
    for (int i = 0; i < n; i++)
      if (todo[i] && (p < 0 || fabs(T[i + i * n]) > fabs(T[p + p * n]))) p = i;
    if (p < 0) return true;
    double pivot = T[p + p * n];
    if (fabs(pivot) < 1e-12) return false;
    todo[p] = false;
    /* w_p = T_pp lambda_p + rest: solve for lambda_p, put it into the other rows */
    for (int j = 0; j < n; j++)
      if (j != p) T[p + j * n] /= -pivot;
    constant[p] /= -pivot;
    for (int i = 0; i < n; i++) {
      if (i == p) continue;
      double f = T[i + p * n];
      for (int j = 0; j < n; j++)
        if (j != p) T[i + j * n] += f * T[p + j * n];
      constant[i] += f * constant[p];
      T[i + p * n] = f / pivot;
    }
    T[p + p * n] = 1 / pivot;
  }
}

static void put_tableau(const struct teller *t, const signed char *state)
{
  double T[N * N], constant[N];
  const perp_lesson *l = t->l;
  if (!exchange(l, state, T, constant)) {
    fprintf(t->out, "    (no tableau: the free rows are dependent)\n");
    return;
  }
  fprintf(t->out, "    tableau      const");
  for (int j = 0; j < l->n; j++) fprintf(t->out, "%8s%d", state[j] == 0 ? "w" : "lambda", j + 1);
  fprintf(t->out, "\n");
  for (int i = 0; i < l->n; i++) {
    fprintf(t->out, "    %6s%d = ", state[i] == 0 ? "lambda" : "w", i + 1);
    put(t->out, constant[i]);
    for (int j = 0; j < l->n; j++) put(t->out, T[i + j * l->n]);
    fprintf(t->out, "\n");
  }
}

static void put_rows(const struct teller *t, const double *lambda, const double *w,
                     const signed char *state)
{
  fprintf(t->out, "    row   set      lambda        w\n");
  for (int i = 0; i < t->l->n; i++) {
    fprintf(t->out, "    %3d   %-6s", i + 1, set_name(state[i]));
    put(t->out, lambda[i]);
    put(t->out, w[i]);
    fprintf(t->out, "\n");
  }
}

/* Where a row is, by its numbers alone. */
static signed char set_of(const perp_lesson *l, int i, double lambda)
{
  if (lambda <= l->lo[i]) return PERP_ROW_LO;
  return lambda >= l->hi[i] ? PERP_ROW_HI : PERP_ROW_FREE;
}

static void on_event(void *user, const perp_trace_event *e)
{
  struct teller *t = user;
  int n = t->l->n;
  double w[N];
  signed char state[N];
  enum { MOST = 8 }; /* of a method that sweeps */
  if (e->n != n || e->x == NULL) return;
  t->told++;
  if (e->state == NULL && t->told > MOST) {
    if (t->told == MOST + 1) fprintf(t->out, "\n  ... and so on\n");
    return;
  }
  /* the sets of the event are those before the pivot, and sweeps have none */
  for (int i = 0; i < n; i++) {
    w[i] = t->l->b[i];
    for (int j = 0; j < n; j++) w[i] += t->l->A[i + j * n] * e->x[j];
    if (e->w != NULL) w[i] = e->w[i];
    state[i] = set_of(t->l, i, e->x[i]);
  }
  fprintf(t->out, "\n  %d. %s", t->told, e->what);
  if (e->entering >= 0) fprintf(t->out, ", row %d moves", e->entering + 1);
  if (e->leaving >= 0 && e->leaving != e->entering)
    fprintf(t->out, ", row %d meets a corner", e->leaving + 1);
  if (e->entering >= 0 && isfinite(e->step)) fprintf(t->out, ", step %.4g", e->step);
  if (strcmp(e->method, "lemke") == 0 && isfinite(e->residual))
    fprintf(t->out, ", artificial variable t = %.4g", e->residual);
  fprintf(t->out, "\n");
  put_rows(t, e->x, w, state);
  put_diagrams(t, e->x, w);
  if (e->state != NULL) put_tableau(t, state);
  if (t->pause != NULL) t->pause();
}

static void put_problem(const perp_lesson *l, FILE *out)
{
  fprintf(out, "  w = A lambda + b,  lo <= lambda <= hi,  w >= 0 at lo, w <= 0 at hi, w = 0 "
               "between\n\n       ");
  fprintf(out, "%*s        b       lo       hi\n", 9 * l->n, "A");
  for (int i = 0; i < l->n; i++) {
    fprintf(out, "   %2d  ", i + 1);
    for (int j = 0; j < l->n; j++) put(out, l->A[i + j * l->n]);
    put(out, l->b[i]);
    put(out, l->lo[i]);
    put(out, l->hi[i]);
    fprintf(out, "\n");
  }
}

/* All basic solutions, by trying every index set. */
static bool one_solution(void *user, const double *lambda, const double *w,
                         const signed char *state)
{
  struct teller *t = user;
  (void)state;
  t->told++;
  fprintf(t->out, "    solution %d: lambda =", t->told);
  for (int i = 0; i < t->l->n; i++) put(t->out, lambda[i]);
  fprintf(t->out, "   w =");
  for (int i = 0; i < t->l->n; i++) put(t->out, w[i]);
  fprintf(t->out, "\n");
  return true;
}

static perp_status tell_all(perp_ctx *ctx, struct teller *t, const perp_lcp *p)
{
  int count = 0;
  PERP_TRY(perp_lcp_all_solutions(ctx, p, 1e-10, one_solution, t, &count, NULL));
  fprintf(t->out,
          count == 0 ? "    no index set gives a solution: there is none\n"
                     : "    %d solution(s) among all index sets\n",
          count);
  return PERP_OK;
}

static perp_status tell_solver(perp_ctx *ctx, struct teller *t, const perp_lcp *p,
                               const char *solver)
{
  perp_spec spec;
  perp_lcp_solver *s;
  perp_stats stats;
  double lambda[N] = { 0 }, w[N];
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_lcp, solver, &spec));
  perp_status status = perp_lcp_create(ctx, &spec, p->n, 0, &s);
  if (status == PERP_OK) {
    ctx->trace = on_event;
    ctx->trace_user = t;
    status = perp_lcp_solve(ctx, s, p, 1e-10, lambda, w, NULL, &stats);
    ctx->trace = NULL;
    ctx->trace_user = NULL;
    if (status == PERP_OK) {
      fprintf(t->out, "\n  %s: %s after %d iteration(s)\n    lambda =", solver,
              perp_reason_name(stats.reason), stats.iterations);
      for (int i = 0; i < p->n; i++) put(t->out, lambda[i]);
      fprintf(t->out, "\n         w =");
      for (int i = 0; i < p->n; i++) put(t->out, w[i]);
      fprintf(t->out, "\n");
      const double *z = perp_lcp_certificate(s);
      if (z != NULL) {
        fprintf(t->out, "    proof: z =");
        for (int i = 0; i < p->n; i++) put(t->out, z[i]);
        fprintf(t->out, perp_lcp_proved(s) == PERP_PROOF_INFEASIBLE
                            ? "  (no lambda satisfies the linear conditions)\n"
                            : "  (a ray of the path: no proof by itself)\n");
      }
    }
    perp_lcp_destroy(s);
  }
  perp_spec_free(&spec);
  return status;
}

perp_status perp_lesson_pivots(perp_ctx *ctx, const perp_lesson *l, const char *solver, FILE *out,
                               void (*pause)(void))
{
  struct teller t = { .l = l, .out = out, .pause = pause, .span = 1, .slack = 1 };
  perp_lcp p = { .n = l->n, .A = l->A, .lda = l->n, .b = l->b, .lo = l->lo, .hi = l->hi };
  /* a scale for the diagrams: what one row alone would need */
  for (int i = 0; i < l->n; i++) {
    double a = fabs(l->A[i + i * l->n]);
    t.slack = fmax(t.slack, fabs(l->b[i]));
    if (a > 0) t.span = fmax(t.span, fabs(l->b[i]) / a);
  }
  if (strcmp(solver, "problem") == 0) {
    put_problem(l, out);
    return PERP_OK;
  }
  fprintf(out, "\n  ---- %s\n", strcmp(solver, "all") == 0 ? "every index set" : solver);
  if (strcmp(solver, "all") == 0) return tell_all(ctx, &t, &p);
  return tell_solver(ctx, &t, &p, solver);
}
