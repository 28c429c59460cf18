/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Integrators, contact laws and metrics in Python.
 *
 * An integrator asks back while it makes a step: for derivatives, retractions and projections of
 * the system.  Its questions are answered in the thread that asked for the step, and what they need
 * may be solved in Python as well. */
#include "experiments/plugins/python_method.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- integrators ---- */

/* What stands before q and v; serve.py reads the same. */
struct step_head {
  int32_t nq, nv, flags, unused;
  double t, h;
};
enum { STEP_RETRACTS = 1, STEP_PROJECTS = 2, STEP_WANTS_ERROR = 4 };
enum { ASK_DERIVATIVE = 1, ASK_RETRACT = 2, ASK_PROJECT = 3 };

/* One step at a time: its questions and answers are in turn. */
static pthread_mutex_t stepping = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static perp_status stepper_create(perp_ctx *ctx, int which, const perp_ode_sys *sys,
                                  const void *opts, void **ws)
{
  PERP_TRY(perp_python_create(ctx, which, 0, opts, ws));
  perp_python_work *work = *ws;
  work->room = malloc((4 * (size_t)(sys->nq + sys->nv) + 2) * sizeof *work->room);
  if (work->room != NULL) return PERP_OK;
  perp_python_destroy(work);
  *ws = NULL;
  return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory", perp_python_methods[which].desc.d.name);
}

/* in: what was received; out: what is sent, `size` bytes. */
static void stepper_reply(const perp_ode_sys *sys, int what, double h, const double *in,
                          double *out, size_t *size)
{
  const size_t nq = (size_t)sys->nq, nv = (size_t)sys->nv;
  if (what == ASK_DERIVATIVE) {
    const perp_ode_answer answer = sys->deriv(sys->user, in[0], h, in + 2, in + 2 + nq, in[1] == 0,
                                              out + 1, out + 1 + nq);
    out[0] = answer;
    *size = (1 + nq + nv) * sizeof *out;
    return;
  }
  if (what == ASK_RETRACT)
    sys->retract(sys->user, in, in + nq, out);
  else {
    memcpy(out, in, nq * sizeof *out);
    sys->project(sys->user, out);
  }
  *size = nq * sizeof *out;
}

/* Until the step has come: size bytes wait to be received. */
static perp_status stepper_talk(perp_python_work *work, const perp_ode_sys *sys, double h,
                                perp_stats *stats, size_t *size)
{
  perp_python *python = work->method->python;
  double *in = work->room, *out = in + 2 + sys->nq + sys->nv + 1;
  for (;;) {
    int what;
    PERP_TRY(perp_python_listen(work->ctx, python, &what, size));
    if (what == 0) return PERP_OK;
    PERP_TRY(perp_python_receive(work->ctx, python, in, *size));
    perp_python_end(python);
    stepper_reply(sys, what, h, in, out, size);
    stats->matvecs += what == ASK_DERIVATIVE;
    perp_python_begin(python);
    perp_python_ask(python, PERP_PYTHON_REPLY, 0, *size);
    perp_python_send(python, out, *size);
  }
}

static perp_status stepper_ask(perp_python_work *work, const perp_ode_sys *sys, double t, double h,
                               const double *q, const double *v, bool error, perp_stats *stats,
                               size_t *size)
{
  perp_python *python = work->method->python;
  const size_t nq = (size_t)sys->nq * sizeof *q, nv = (size_t)sys->nv * sizeof *v;
  const struct step_head head = { .nq = sys->nq,
                                  .nv = sys->nv,
                                  .flags = (sys->retract != NULL ? STEP_RETRACTS : 0) |
                                           (sys->project != NULL ? STEP_PROJECTS : 0) |
                                           (error ? STEP_WANTS_ERROR : 0),
                                  .t = t,
                                  .h = h };
  perp_python_ask(python, PERP_PYTHON_STEP, work->id, sizeof head + nq + nv);
  perp_python_send(python, &head, sizeof head);
  perp_python_send(python, q, nq);
  perp_python_send(python, v, nv);
  PERP_TRY(stepper_talk(work, sys, h, stats, size));
  return perp_python_receive(work->ctx, python, work->room, *size);
}

/* The answer: what a derivative said, 0: the step; then q, v and the estimate where it is wanted.
 */
static perp_ode_answer stepper_step(void *ws, const perp_ode_sys *sys, double t, double h,
                                    double *q, double *v, double *err, perp_stats *stats)
{
  perp_python_work *work = ws;
  const size_t nq = (size_t)sys->nq, nv = (size_t)sys->nv;
  const bool error = err != NULL && work->method->desc.ode.error_order > 0;
  size_t size = 0;
  if (!work->failed) {
    pthread_mutex_lock(&stepping);
    perp_python_begin(work->method->python);
    work->failed = stepper_ask(work, sys, t, h, q, v, error, stats, &size) != PERP_OK;
    perp_python_end(work->method->python);
    pthread_mutex_unlock(&stepping);
  }
  if (work->failed) {
    stats->reason = PERP_UNSUITED;
    return PERP_ODE_FAILED;
  }
  const double *answer = work->room;
  if (answer[0] != PERP_ODE_OK) return (perp_ode_answer)answer[0];
  memcpy(q, answer + 1, nq * sizeof *q);
  if (nv > 0) memcpy(v, answer + 1 + nq, nv * sizeof *v);
  if (error) memcpy(err, answer + 1 + nq + nv, (nq + nv) * sizeof *err);
  return PERP_ODE_OK;
}

/* ---- contact laws ---- */

/* What stands before A, b, x, mu, lo, hi; serve.py reads the same. */
struct island_head {
  int32_t nc, r, n, unused;
};

static perp_status law_create(perp_ctx *ctx, int which, const perp_contact_setup *setup,
                              const void *opts, void **ws)
{
  PERP_TRY(perp_python_create(ctx, which, 0, opts, ws));
  ((perp_python_work *)*ws)->rows = perp_python_methods[which].desc.contact.rows(setup->dim);
  return PERP_OK;
}

static int law_rows(int dim)
{
  return dim;
}

static int law_rows_normal(int dim)
{
  (void)dim;
  return 1;
}

static perp_status law_fits(perp_ctx *ctx, const void *opts, int dim, const perp_desc *lcp)
{
  (void)ctx, (void)opts, (void)dim, (void)lcp;
  return PERP_OK;
}

/* The problem of an island as boxed friction has it, with room for its arrays, which is freed by
 * lcp->A; what a law makes of its friction rows is its own. */
static perp_status law_problem(perp_ctx *ctx, const perp_contact_island *island, int r,
                               perp_lcp *lcp)
{
  const int contacts = r * island->nc, n = contacts + island->joints;
  const size_t rows = (size_t)n;
  const perp_blocks *blocks = island->F;
  int most = 1;
  for (int g = 0; blocks != NULL && g < blocks->nc; g++)
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      const int b = blocks->jblk[k], size = (blocks->cptr[g + 1] - blocks->cptr[g]) *
                                            (blocks->bptr[b + 1] - blocks->bptr[b]);
      if (size > most) most = size;
    }
  double *A = malloc((rows * rows + 4 * rows + (size_t)most) * sizeof *A);
  if (A == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for an island of %d rows", n);
  double *lo = A + rows * rows, *hi = lo + rows, *mu = hi + rows, *scratch = mu + 2 * rows;
  int *fric_of = (int *)(void *)(mu + rows);
  if (blocks != NULL)
    perp_blocks_delassus(blocks, A, n, scratch);
  else
    for (size_t j = 0; j < rows; j++)
      memcpy(A + j * rows, island->A + j * (size_t)island->lda, rows * sizeof *A);
  for (int i = 0; i < n; i++) {
    const bool normal = i < contacts && i % r == 0, tangent = i < contacts && !normal;
    mu[i] = tangent ? island->mu[i / r] : 0;
    fric_of[i] = tangent ? i - i % r : -1;
    lo[i] = !normal ? -HUGE_VAL : island->lo != NULL ? island->lo[i / r] : 0;
    hi[i] = HUGE_VAL;
    if (i >= contacts) perp_contact_row_bounds(island, i - contacts, &lo[i], &hi[i]);
  }
  *lcp = (perp_lcp){
    .n = n, .A = A, .lda = n, .b = island->b, .lo = lo, .hi = hi, .mu = mu, .fric_of = fric_of
  };
  return PERP_OK;
}

static void law_ask(const perp_python_work *work, const perp_contact_island *island,
                    const perp_lcp *lcp, const double *impulse)
{
  perp_python *python = work->method->python;
  const struct island_head head = { .nc = island->nc, .r = work->rows, .n = lcp->n };
  const size_t n = (size_t)lcp->n, numbers = n * sizeof(double),
               contacts = (size_t)island->nc * sizeof(double);
  perp_python_ask(python, PERP_PYTHON_CONTACT, work->id,
                  sizeof head + (n + 4) * numbers + contacts);
  perp_python_send(python, &head, sizeof head);
  perp_python_send(python, lcp->A, n * numbers);
  perp_python_send(python, lcp->b, numbers);
  perp_python_send(python, impulse, numbers);
  perp_python_send(python, island->mu, contacts);
  perp_python_send(python, lcp->lo, numbers);
  perp_python_send(python, lcp->hi, numbers);
}

static bool law_finite(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* x [n]: what Python answers.  Velocities that are no numbers are a failure that keeps the guess.
 */
static perp_status law_answer(perp_ctx *ctx, const perp_python_work *work,
                              const perp_contact_island *island, const perp_lcp *lcp,
                              double *impulse, double *x, perp_stats *stats)
{
  perp_python *python = work->method->python;
  if (!law_finite(lcp->n, impulse)) memset(impulse, 0, (size_t)lcp->n * sizeof *impulse);
  if (!law_finite(lcp->n, lcp->b)) {
    stats->reason = PERP_NOT_FINITE;
    return PERP_OK;
  }
  perp_python_begin(python);
  law_ask(work, island, lcp, impulse);
  const perp_status status = perp_python_solution(ctx, python, lcp->n, x, NULL, stats);
  perp_python_end(python);
  PERP_TRY(status);
  if (!law_finite(lcp->n, x))
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s: %s: the impulses are not finite", python->file,
                     work->method->desc.d.name);
  if (stats->reason == PERP_EXACT) stats->reason = PERP_CONVERGED;
  memcpy(impulse, x, (size_t)lcp->n * sizeof *x);
  return PERP_OK;
}

static perp_status law_solve(perp_ctx *ctx, void *ws, const perp_contact_island *island,
                             double *impulse, double *slip, perp_contact_count *count)
{
  const perp_python_work *work = ws;
  perp_stats stats = { .residual = (double)NAN, .data = (double)NAN };
  perp_lcp lcp;
  (void)slip;
  PERP_TRY(law_problem(ctx, island, work->rows, &lcp));
  double *x = malloc((size_t)(lcp.n + 1) * sizeof *x);
  perp_status status = x != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory");
  if (status == PERP_OK) status = law_answer(ctx, work, island, &lcp, impulse, x, &stats);
  if (status == PERP_OK) {
    if (lcp.n > count->rows) count->rows = lcp.n;
    perp_contact_count_solve(count, work->method->desc.d.name, &stats);
    if (work->observer != NULL) work->observer(work->user, island->place, &lcp, impulse, &stats);
  }
  free(x);
  free((double *)(uintptr_t)lcp.A);
  return status;
}

static void law_observe(void *ws, perp_contact_observer *observer, void *user)
{
  perp_python_work *work = ws;
  work->observer = observer;
  work->user = user;
}

/* ---- metrics ---- */

/* What stands before the motion, the names (a line each) and their values; serve.py reads the same.
 */
struct run_head {
  int64_t states, names, figures; /* names: bytes */
  int32_t nq, nv;
};

static double metric_value(int which, const perp_measure *measure)
{
  const perp_python_method *method = &perp_python_methods[which];
  perp_python *python = method->python;
  struct run_head head = { .nq = measure->nq, .nv = measure->nv };
  const double *motion;
  const char *name;
  double value, answer = (double)NAN;
  size_t size;
  if (method->desc.d.caps & PERP_METRIC_MOTION) {
    head.states = perp_measure_motion(measure, &motion);
    if (head.states < 0) return answer;
  }
  for (; perp_measure_figure(measure, (int)head.figures, &name, &value); head.figures++)
    head.names += (int64_t)strlen(name) + 1;
  const size_t rows = (size_t)head.states * (size_t)(1 + head.nq + head.nv) * sizeof *motion;
  perp_python_begin(python);
  perp_status status = perp_python_start(measure->ctx, python, 0);
  if (status == PERP_OK) {
    perp_python_ask(python, PERP_PYTHON_METRIC, method->number,
                    sizeof head + rows + (size_t)head.names +
                        (size_t)head.figures * sizeof(double));
    perp_python_send(python, &head, sizeof head);
    if (rows > 0) perp_python_send(python, motion, rows);
    for (int i = 0; perp_measure_figure(measure, i, &name, &value); i++) {
      perp_python_send(python, name, strlen(name));
      perp_python_send(python, "\n", 1);
    }
    for (int i = 0; perp_measure_figure(measure, i, &name, &value); i++)
      perp_python_send(python, &value, sizeof value);
    status = perp_python_answer(measure->ctx, python, &size);
  }
  if (status == PERP_OK) perp_python_receive(measure->ctx, python, &answer, sizeof answer);
  perp_python_end(python);
  return answer;
}

/* ---- descriptors ---- */

/* clang-format off */
#define CREATE(k) \
  static perp_status stepper_create_##k(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts, \
                                        void **ws) \
  { \
    return stepper_create(ctx, k, sys, opts, ws); \
  } \
  static perp_status law_create_##k(perp_ctx *ctx, const perp_contact_setup *setup, \
                                    const void *opts, void **ws) \
  { \
    return law_create(ctx, k, setup, opts, ws); \
  } \
  static double metric_value_##k(const perp_measure *measure) \
  { \
    return metric_value(k, measure); \
  }
#define NAMES(k) { stepper_create_##k, law_create_##k, metric_value_##k },
PERP_PYTHON_EACH(CREATE)
static const struct {
  perp_status (*stepper)(perp_ctx *, const perp_ode_sys *, const void *, void **);
  perp_status (*law)(perp_ctx *, const perp_contact_setup *, const void *, void **);
  double (*metric)(const perp_measure *);
} each[PERP_PYTHON_MOST] = { PERP_PYTHON_EACH(NAMES) };
/* clang-format on */

void perp_python_integrator(int which)
{
  perp_ode_desc *desc = &perp_python_methods[which].desc.ode;
  desc->create = each[which].stepper;
  desc->step = stepper_step;
  desc->destroy = perp_python_destroy;
}

void perp_python_law(int which)
{
  perp_contact_desc *desc = &perp_python_methods[which].desc.contact;
  desc->rows = desc->d.caps & PERP_CONTACT_FRICTION ? law_rows : law_rows_normal;
  desc->fits = law_fits;
  desc->create = each[which].law;
  desc->solve = law_solve;
  desc->observe = law_observe;
  desc->destroy = perp_python_destroy;
}

void perp_python_metric(int which)
{
  perp_python_methods[which].desc.metric.value = each[which].metric;
}
