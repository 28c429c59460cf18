/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/lessons/pivots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = PERP_PIVOT_ROWS };
static const double SMALL = 1e-9; /* what counts as zero here */

/* ---- the tableau ---- */

/* basic variable of row p against nonbasic one of column q */
static void pivots_exchange(perp_tableau *tableau, int n, int p, int q)
{
  double pivot = tableau->T[p][q];
  int v = tableau->basic[p];
  tableau->basic[p] = tableau->nonbasic[q];
  tableau->nonbasic[q] = v;
  /* solve row p for the variable of column q ... */
  for (int column = 0; column < tableau->columns; column++)
    tableau->T[p][column] = column == q ? 1 / pivot : -tableau->T[p][column] / pivot;
  tableau->constant[p] /= -pivot;
  /* ... and put it into the others */
  for (int i = 0; i < n; i++) {
    if (i == p) continue;
    double f = tableau->T[i][q];
    tableau->T[i][q] = 0;
    for (int column = 0; column < tableau->columns; column++)
      tableau->T[i][column] += f * tableau->T[p][column];
    tableau->constant[i] += f * tableau->constant[p];
  }
}

/* w = A lambda + b (+ c t, where c is not NULL) solved for the variables with `basic` set; false
 * (and no columns) when they are not n in number or their block is singular.  O(n^3). */
static bool tableau_make(const perp_lcp *lcp, const double *b, const double *c, const bool *basic,
                         perp_tableau *out)
{
  int n = lcp->n, count = 0;
  perp_tableau t = { .columns = c != NULL ? n + 1 : n };
  for (int v = 0; v <= 2 * n; v++) count += basic[v] && (v < 2 * n || c != NULL);
  *out = (perp_tableau){ 0 };
  if (count != n) return false;
  for (int i = 0; i < n; i++) {
    t.basic[i] = n + i;
    t.nonbasic[i] = i;
    t.constant[i] = b[i];
    for (int j = 0; j < n; j++) t.T[i][j] = lcp->A[i + j * lcp->lda];
    if (c != NULL) t.T[i][n] = c[i];
  }
  if (c != NULL) t.nonbasic[n] = 2 * n;
  for (;;) { /* the largest pivot first: this reaches every nonsingular block */
    int p = -1, q = -1;
    double most = 0;
    for (int i = 0; i < n; i++)
      for (int column = 0; column < t.columns; column++)
        if (!basic[t.basic[i]] && basic[t.nonbasic[column]] && fabs(t.T[i][column]) > most) {
          most = fabs(t.T[i][column]);
          p = i;
          q = column;
        }
    if (p < 0) break;
    if (most < 1e-12) return false;
    pivots_exchange(&t, n, p, q);
  }
  for (int i = 0; i < n; i++)
    if (!basic[t.basic[i]]) return false;
  *out = t;
  return true;
}

/* ---- what the trace says ---- */

/* One event as it came: lambda and w after it, the sets before it. */
struct event {
  bool sets;
  signed char state[N];
};
struct record {
  perp_pivots *p;
  struct event event[PERP_PIVOT_FRAMES];
};

/* Of the two rows from i on of a circular cone: on the circle w is opposed to lambda. */
static signed char set_of_cone(const perp_lcp *lcp, int i, const double *lambda, const double *w)
{
  double lo, radius;
  perp_lcp_bounds(lcp, lambda, i, &lo, &radius);
  const double size = hypot(lambda[i], lambda[i + 1]), slip = hypot(w[i], w[i + 1]);
  if (slip <= SMALL && size <= radius * (1 + SMALL)) return PERP_ROW_FREE;
  const double cross = lambda[i] * w[i + 1] - lambda[i + 1] * w[i],
               dot = lambda[i] * w[i] + lambda[i + 1] * w[i + 1];
  return fabs(size - radius) <= SMALL * fmax(radius, 1) && fabs(cross) <= SMALL * size * slip &&
                 dot <= 0
             ? PERP_ROW_SLIDES
             : PERP_ROW_OPEN;
}

static signed char set_of(const perp_lcp *lcp, int i, const double *all, const double *slack)
{
  if (perp_lcp_is_cone(lcp, i)) return set_of_cone(lcp, i, all, slack);
  if (i > 0 && perp_lcp_is_cone(lcp, i - 1)) return set_of_cone(lcp, i - 1, all, slack);
  const double w = slack[i];
  double lo, hi, lambda = all[i];
  perp_lcp_bounds(lcp, all, i, &lo, &hi);
  /* limits of friction are rounded products */
  if (lcp->fric_of != NULL && lcp->fric_of[i] >= 0 && hi - fabs(lambda) <= SMALL * hi)
    lambda = lambda < 0 ? fmin(lambda, lo) : fmax(lambda, hi);
  if (fabs(w) <= SMALL && lambda >= lo && lambda <= hi) /* a corner: by lambda */
    return lambda <= lo ? PERP_ROW_LO : lambda >= hi ? PERP_ROW_HI : PERP_ROW_FREE;
  if (lambda <= lo && w > 0) return PERP_ROW_LO;
  if (lambda >= hi && w < 0) return PERP_ROW_HI;
  return PERP_ROW_OPEN;
}

static void on_event(void *user, const perp_trace_event *event)
{
  struct record *record = user;
  perp_pivots *pivots = record->p;
  const perp_lcp *lcp = &pivots->problem;
  if (event->n != lcp->n || event->x == NULL) return;
  pivots->n_events++;
  if (pivots->n_frames == PERP_PIVOT_FRAMES) return;
  perp_pivot_frame *frame = &pivots->frame[pivots->n_frames];
  struct event *kept = &record->event[pivots->n_frames++];
  *frame = (perp_pivot_frame){ .row = event->entering,
                               .corner = event->leaving,
                               .step = event->step,
                               .enters = -1,
                               .leaves = -1 };
  frame->what = strcmp(event->what, "start") == 0   ? "start"
                : strcmp(event->what, "cover") == 0 ? "cover"
                : strcmp(event->what, "pivot") == 0 ? "pivot"
                : strcmp(event->what, "sweep") == 0 ? "sweep"
                                                    : "step";
  frame->t = strcmp(event->method, "lemke") == 0 ? event->residual : (double)NAN;
  kept->sets = event->state != NULL;
  for (int i = 0; i < lcp->n; i++) {
    frame->lambda[i] = event->x[i];
    frame->w[i] = pivots->b[i];
    for (int j = 0; j < lcp->n; j++) frame->w[i] += lcp->A[i + j * lcp->lda] * event->x[j];
    if (event->w != NULL) frame->w[i] = event->w[i];
    if (event->state != NULL) kept->state[i] = event->state[i];
  }
}

/* ---- what follows from it ---- */

static int pivots_index_of(const int *list, int n, int v)
{
  for (int i = 0; i < n; i++)
    if (list[i] == v) return i;
  return -1;
}

static double value_of(const perp_pivot_frame *frame, int n, int v)
{
  return v < n ? frame->lambda[v] : v < 2 * n ? frame->w[v - n] : frame->t;
}

/* How far the entering variable may go until basic variable v, changing at the rate r, meets its
 * corner. */
static double ratio_of(const perp_lcp *lcp, const perp_pivot_frame *frame, int v, double r,
                       bool driven)
{
  int n = lcp->n;
  if (v < n) {
    double room = r < 0 ? frame->lambda[v] - lcp->lo[v] : lcp->hi[v] - frame->lambda[v];
    return r == 0 ? HUGE_VAL : room / fabs(r);
  }
  double x = value_of(frame, n, v);
  /* t and the w of the row that is driven go to zero; a row at a bound keeps the sign of its w */
  if (v == 2 * n || driven) return x * r < 0 ? -x / r : HUGE_VAL;
  int set = frame->set[v - n];
  if ((set == PERP_ROW_LO && r < 0) || (set == PERP_ROW_HI && r > 0)) return fabs(x / r);
  return HUGE_VAL;
}

/* c of Lemke's w = A lambda + b + c t, from the first event with t > 0 */
static bool pivots_cover_of(const perp_pivots *pivots, double *c)
{
  const perp_lcp *lcp = &pivots->problem;
  for (int frame = 0; frame < pivots->n_frames; frame++) {
    const perp_pivot_frame *pivot_frame = &pivots->frame[frame];
    if (!(pivot_frame->t > 0)) continue;
    for (int i = 0; i < lcp->n; i++) {
      double w = pivots->b[i];
      for (int j = 0; j < lcp->n; j++) w += lcp->A[i + j * lcp->lda] * pivot_frame->lambda[j];
      c[i] = (pivot_frame->w[i] - w) / pivot_frame->t;
    }
    return true;
  }
  return false;
}

/* Which basis frame k stands on: that of the sets the next event found, or of the last numbers.
 * Lemke, while t > 0: t is basic, and neither member of the pair of the row that met its corner. */
static bool basis_of(const struct record *record, int k, int pair, bool *basic)
{
  const perp_pivots *pivots = record->p;
  const perp_pivot_frame *frame = &pivots->frame[k];
  int n = pivots->problem.n;
  bool follows = k + 1 < pivots->n_frames && pivots->frame[k + 1].row >= 0;
  for (int i = 0; i < n; i++) {
    int state = follows ? record->event[k + 1].state[i] : frame->set[i];
    bool clamped = state == PERP_ROW_FREE && fabs(frame->w[i]) <= SMALL;
    basic[i] = clamped;
    basic[n + i] = !clamped;
  }
  if (frame->t > 0) {
    if (pair < 0) return false;
    basic[pair] = basic[n + pair] = false;
    basic[2 * n] = true;
  }
  return true;
}

static void pivots_put_tableau(struct record *record, int event, const double *c)
{
  perp_pivots *pivots = record->p;
  const perp_lcp *lcp = &pivots->problem;
  int n = lcp->n;
  perp_pivot_frame *frame = &pivots->frame[event];
  const perp_pivot_frame *g = event + 1 < pivots->n_frames ? &pivots->frame[event + 1] : NULL;
  bool with_t = frame->t > 0, covers = g != NULL && strcmp(g->what, "cover") == 0;
  bool follows = g != NULL && g->row >= 0, basic[2 * N + 1] = { false };
  int pair = with_t ? frame->corner : follows ? g->row : -1;
  frame->enters = frame->leaves = -1;
  for (int i = 0; i < n; i++) frame->ratio[i] = HUGE_VAL;
  if (!record->event[event].sets || !basis_of(record, event, pair, basic) ||
      !tableau_make(lcp, pivots->b, with_t || covers ? c : NULL, basic, &frame->tableau))
    return;
  int columns = frame->tableau.columns;
  if (covers) { /* t enters, and stops when the last w is no longer negative */
    frame->enters = pivots_index_of(frame->tableau.nonbasic, columns, 2 * n);
    frame->leaves = pivots_index_of(frame->tableau.basic, n, n + g->corner);
    frame->sign = 1;
    return;
  }
  if (pair < 0) return;
  /* Dantzig drives lambda of the row; with Lemke the complement of what left enters */
  bool flipped = frame->row == pair;
  int enters = with_t && (flipped || record->event[event].state[pair] == PERP_ROW_FREE) ? n + pair
                                                                                        : pair;
  frame->enters = pivots_index_of(frame->tableau.nonbasic, columns, enters);
  if (frame->enters < 0) return;
  frame->sign = with_t ? (frame->lambda[pair] >= lcp->hi[pair] ? -1 : 1)
                       : (g->lambda[pair] >= frame->lambda[pair] ? 1 : -1);
  double rounding = 0; /* of a column that A makes zero in exact arithmetic */
  for (int i = 0; i < n; i++)
    rounding = fmax(rounding, 1e-13 * fabs(frame->tableau.T[i][frame->enters]));
  for (int i = 0; i < n; i++) {
    int v = frame->tableau.basic[i];
    const double rate = frame->sign * frame->tableau.T[i][frame->enters];
    frame->ratio[i] = ratio_of(lcp, frame, v, fabs(rate) > rounding ? rate : 0, v == n + pair);
  }
  if (!follows) return;
  int row = g->corner, leaves = -1;
  if (row >= 0 && row != pair)
    leaves = record->event[event + 1].state[row] == PERP_ROW_FREE && fabs(frame->w[row]) <= SMALL
                 ? row
                 : n + row;
  else if (row < 0 && with_t)
    leaves = 2 * n;
  else if (row < 0 && fabs(g->w[pair]) <= SMALL)
    leaves = n + pair;
  frame->leaves = leaves >= 0 ? pivots_index_of(frame->tableau.basic, n, leaves) : -1;
}

static void pivots_finish(struct record *record)
{
  perp_pivots *pivots = record->p;
  double c[N] = { 0 };
  for (int frame = 0; frame < pivots->n_frames; frame++)
    for (int i = 0; i < pivots->problem.n; i++) {
      perp_pivot_frame *pivot_frame = &pivots->frame[frame];
      const struct event *next = frame + 1 < pivots->n_frames ? &record->event[frame + 1] : NULL;
      pivot_frame->set[i] = set_of(&pivots->problem, i, pivot_frame->lambda, pivot_frame->w);
      /* on a corner two sets meet: the solver says which it is */
      if (fabs(pivot_frame->w[i]) <= SMALL && next != NULL && next->sets &&
          pivots->frame[frame + 1].row >= 0)
        pivot_frame->set[i] = next->state[i];
    }
  if (pivots->problem.fric_of != NULL) return;
  pivots_cover_of(pivots, c);
  for (int frame = 0; frame < pivots->n_frames; frame++) pivots_put_tableau(record, frame, c);
}

perp_status perp_pivots_record(perp_ctx *ctx, const perp_lcp *problem, const char *solver,
                               perp_pivots *out)
{
  perp_spec spec;
  perp_lcp_solver *lcp_solver;
  struct record record = { .p = out };
  const int n = problem->n;
  *out = (perp_pivots){ .problem = *problem, .solver = solver };
  memcpy(out->b, problem->b, (size_t)n * sizeof *problem->b);
  out->problem.b = out->b;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_lcp, solver, &spec));
  snprintf(out->method, sizeof out->method, "%s", spec.d->name);
  perp_status status = perp_lcp_create(ctx, &spec, n, 0, &lcp_solver);
  if (status == PERP_OK) {
    ctx->trace = on_event;
    ctx->trace_user = &record;
    status = perp_lcp_solve(ctx, lcp_solver, &out->problem, 1e-10, out->lambda, out->w, NULL,
                            &out->stats);
    ctx->trace = NULL;
    ctx->trace_user = NULL;
    const double *z = perp_lcp_certificate(lcp_solver);
    if (status == PERP_OK && z != NULL) {
      memcpy(out->certificate, z, (size_t)n * sizeof *z);
      out->certified = true;
      out->proof = perp_lcp_proved(lcp_solver);
    }
    perp_lcp_destroy(lcp_solver);
  }
  perp_spec_free(&spec);
  if (status == PERP_OK) pivots_finish(&record);
  return status;
}

/* ---- in words ---- */

const char *perp_set_name(int set)
{
  return set == PERP_ROW_LO       ? "at lo"
         : set == PERP_ROW_HI     ? "at hi"
         : set == PERP_ROW_FREE   ? "clamped"
         : set == PERP_ROW_SLIDES ? "slides"
                                  : "open";
}

const char *perp_variable_name(int n, int v, char buf[16])
{
  if (v == 2 * n)
    snprintf(buf, 16, "t");
  else
    snprintf(buf, 16, "%s%c", v < n ? "lambda" : "w", '1' + v % n);
  return buf;
}

/* an event before the first pivot */
static bool pivots_prepares(const perp_pivot_frame *frame)
{
  return strcmp(frame->what, "start") == 0 || strcmp(frame->what, "cover") == 0;
}

void perp_pivot_describe(const perp_pivots *pivots, int k, perp_text *out)
{
  const perp_pivot_frame *frame = &pivots->frame[k], *before = k > 0 ? &pivots->frame[k - 1] : NULL;
  int number = 0;
  for (int i = 0; i <= k; i++) number += !pivots_prepares(&pivots->frame[i]);
  if (strcmp(frame->what, "start") == 0) {
    perp_text_add(out, "start: before the first pivot");
  } else if (strcmp(frame->what, "cover") == 0) {
    perp_text_add(out, "cover: t = %.4g makes every w >= 0; w%d becomes 0", frame->t,
                  frame->corner + 1);
  } else {
    perp_text_add(out, "%s %d", frame->what, number);
    char in[16], away[16];
    if (frame->row >= 0 && before != NULL && before->enters >= 0) {
      perp_variable_name(pivots->problem.n, before->tableau.nonbasic[before->enters], in);
      perp_text_add(out, ": %s %s by %.4g", in, before->sign > 0 ? "grows" : "falls", frame->step);
    } else if (frame->row >= 0) {
      perp_text_add(out, ": row %d moves by %.4g", frame->row + 1, frame->step);
    }
    if (frame->row >= 0 && before != NULL && before->leaves >= 0) {
      int v = before->tableau.basic[before->leaves];
      perp_variable_name(pivots->problem.n, v, away);
      double reached = value_of(frame, pivots->problem.n, v);
      perp_text_add(out, " until %s = %.4g", away, fabs(reached) <= SMALL ? 0 : reached);
    } else if (frame->row >= 0 && frame->corner < 0 && fabs(frame->w[frame->row]) <= SMALL) {
      perp_text_add(out, " until w%d = 0", frame->row + 1);
    } else if (frame->row >= 0) {
      perp_text_add(out,
                    frame->corner >= 0 && frame->corner != frame->row
                        ? " until row %d reaches a corner"
                        : " until it reaches its own bound",
                    frame->corner + 1);
    }
  }
}
