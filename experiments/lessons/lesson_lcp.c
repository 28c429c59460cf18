/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small LCP told pivot by pivot on the terminal. */
#include "experiments/lessons/lesson.h"
#include "experiments/lessons/pivots.h"

#include <math.h>
#include <string.h>

enum { N = PERP_LESSON_ROWS, WIDE = 13, HIGH = 7, SWEEPS = 8 /* told of a method that sweeps */ };

/* A number in a fixed width. */
static void lesson_lcp_put(FILE *out, double v)
{
  if (isinf(v))
    fprintf(out, "%9s", v > 0 ? "inf" : "-inf");
  else
    fprintf(out, fabs(v) < 1e-3 ? " %8.2g" : "%9.4g", fabs(v) < 1e-12 ? 0.0 : v);
}

/* The figure that Vondrak draws for one row (6.1): lambda to the right, w upwards; allowed are the
 * vertical line at lo with w >= 0, the axis between the bounds, the vertical line at hi with w <=
 * 0.  '*' is the row. */
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

/* The rows beside each other; all frames of a run share the scales. */
static void put_diagrams(const perp_pivots *pivots, const perp_pivot_frame *frame, FILE *out)
{
  char picture[N][HIGH][WIDE + 1];
  const perp_lcp *lcp = &pivots->problem;
  double span = 0, slack = 0;
  for (int k = 0; k < pivots->n_frames; k++)
    for (int i = 0; i < lcp->n; i++) {
      span = fmax(span, fabs(pivots->frame[k].lambda[i]));
      slack = fmax(slack, fabs(pivots->frame[k].w[i]));
    }
  if (span == 0) span = 1;
  if (slack == 0) slack = 1;
  for (int i = 0; i < lcp->n; i++)
    draw_diagram(picture[i], lcp->lo[i], lcp->hi[i], frame->lambda[i], frame->w[i], span, slack);
  for (int y = 0; y < HIGH; y++) {
    fprintf(out, "   ");
    for (int i = 0; i < lcp->n; i++) fprintf(out, " %s", picture[i][y]);
    fprintf(out, "\n");
  }
}

/* Basic variables in terms of the nonbasic ones.  The column that enters next is marked, and the
 * row that stops it. */
static void lesson_lcp_put_tableau(int n, const perp_pivot_frame *frame, FILE *out)
{
  const perp_tableau *tableau = &frame->tableau;
  char name[16], marked[20];
  if (tableau->columns == 0) return;
  fprintf(out, "    tableau      const");
  for (int column = 0; column < tableau->columns; column++) {
    perp_variable_name(n, tableau->nonbasic[column], name);
    snprintf(marked, sizeof marked, "%s%s", column == frame->enters ? ">" : "", name);
    fprintf(out, "%9s", marked);
  }
  fprintf(out, "\n");
  for (int leave = 0; leave < n; leave++) {
    perp_variable_name(n, tableau->basic[leave], name);
    fprintf(out, "    %7s = ", name);
    lesson_lcp_put(out, tableau->constant[leave]);
    for (int column = 0; column < tableau->columns; column++)
      lesson_lcp_put(out, tableau->T[leave][column]);
    fprintf(out, leave == frame->leaves ? "  <\n" : "\n");
  }
}

static void put_rows(int n, const perp_pivot_frame *frame, FILE *out)
{
  fprintf(out, "    row   set        lambda        w\n");
  for (int i = 0; i < n; i++) {
    fprintf(out, "    %3d   %-8s", i + 1, perp_set_name(frame->set[i]));
    lesson_lcp_put(out, frame->lambda[i]);
    lesson_lcp_put(out, frame->w[i]);
    fprintf(out, "\n");
  }
}

static void lesson_lcp_put_frame(const perp_pivots *pivots, int k, FILE *out)
{
  const perp_pivot_frame *frame = &pivots->frame[k];
  perp_text said = { 0 };
  perp_pivot_describe(pivots, k, &said);
  fprintf(out, "\n  %s\n", said.s);
  perp_text_free(&said);
  put_rows(pivots->problem.n, frame, out);
  put_diagrams(pivots, frame, out);
  lesson_lcp_put_tableau(pivots->problem.n, frame, out);
}

static void lesson_lcp_put_vector(const char *name, const double *v, int n, FILE *out)
{
  fprintf(out, "%s", name);
  for (int i = 0; i < n; i++) lesson_lcp_put(out, v[i]);
}

static void put_result(const perp_pivots *pivots, FILE *out)
{
  int n = pivots->problem.n;
  fprintf(out, "\n  %s: %s after %d iteration(s)\n", pivots->solver,
          perp_reason_name(pivots->stats.reason), pivots->stats.iterations);
  lesson_lcp_put_vector("    lambda =", pivots->lambda, n, out);
  lesson_lcp_put_vector("\n         w =", pivots->w, n, out);
  fprintf(out, "\n");
  if (!pivots->certified) return;
  lesson_lcp_put_vector("    proof: z =", pivots->certificate, n, out);
  fprintf(out, pivots->proof == PERP_PROOF_INFEASIBLE
                   ? "  (no lambda satisfies the linear conditions)\n"
               : pivots->proof == PERP_PROOF_WITHIN
                   ? "  (approximate proof: a lambda beyond a large radius is not excluded)\n"
                   : "  (a ray of the path; not a proof by itself)\n");
}

void perp_lesson_problem(const perp_lesson *lesson, FILE *out)
{
  fprintf(out, "  w = A lambda + b,  lo <= lambda <= hi\n"
               "  w >= 0 at lo,  w = 0 between,  w <= 0 at hi\n\n       ");
  fprintf(out, "%*s        b       lo       hi\n", 9 * lesson->n, "A");
  for (int i = 0; i < lesson->n; i++) {
    fprintf(out, "   %2d  ", i + 1);
    for (int j = 0; j < lesson->n; j++) lesson_lcp_put(out, lesson->A[i + j * lesson->n]);
    lesson_lcp_put(out, lesson->b[i]);
    lesson_lcp_put(out, lesson->lo[i]);
    lesson_lcp_put(out, lesson->hi[i]);
    fprintf(out, "\n");
  }
}

/* All basic solutions, by trying every index set. */
struct teller {
  const perp_lesson *l;
  FILE *out;
  int told;
};

static bool one_solution(void *user, const double *lambda, const double *w,
                         const signed char *state)
{
  struct teller *teller = user;
  (void)state;
  teller->told++;
  fprintf(teller->out, "    solution %d: ", teller->told);
  lesson_lcp_put_vector("lambda =", lambda, teller->l->n, teller->out);
  lesson_lcp_put_vector("   w =", w, teller->l->n, teller->out);
  fprintf(teller->out, "\n");
  return true;
}

static perp_status tell_all(perp_ctx *ctx, const perp_lesson *lesson, FILE *out)
{
  int count = 0;
  struct teller teller = { lesson, out, 0 };
  perp_lcp lcp = { .n = lesson->n,
                   .A = lesson->A,
                   .lda = lesson->n,
                   .b = lesson->b,
                   .lo = lesson->lo,
                   .hi = lesson->hi };
  fprintf(out, "\n  ---- all index sets\n");
  PERP_TRY(perp_lcp_all_solutions(ctx, &lcp, 1e-10, one_solution, &teller, &count, NULL));
  fprintf(out,
          count == 0 ? "    no index set gives a solution: no solution exists\n"
                     : "    %d solution(s) among all index sets\n",
          count);
  return PERP_OK;
}

perp_status perp_lesson_pivots(perp_ctx *ctx, const perp_lesson *lesson, const char *solver,
                               FILE *out, void (*pause)(void))
{
  perp_pivots pivots;
  if (strcmp(solver, "all") == 0) return tell_all(ctx, lesson, out);
  fprintf(out, "\n  ---- %s\n", solver);
  const perp_lcp problem = { .n = lesson->n,
                             .A = lesson->A,
                             .lda = lesson->n,
                             .b = lesson->b,
                             .lo = lesson->lo,
                             .hi = lesson->hi };
  PERP_TRY(perp_pivots_record(ctx, &problem, solver, &pivots));
  bool sweeps = pivots.n_frames > 0 && pivots.frame[pivots.n_frames - 1].tableau.columns == 0 &&
                isnan(pivots.frame[0].t);
  for (int k = 0; k < pivots.n_frames && (!sweeps || k < SWEEPS); k++) {
    lesson_lcp_put_frame(&pivots, k, out);
    if (pause != NULL) pause();
  }
  if (sweeps && pivots.n_events > SWEEPS) fprintf(out, "\n  ... (further sweeps are not shown)\n");
  put_result(&pivots, out);
  return PERP_OK;
}
