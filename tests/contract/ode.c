/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every ODE solver in the registry must do, without a line of its own here. */
#include "tests/contract/under_test.h"
#include "tests/ode_order.h"
#include "tests/count_malloc.h"
#include "tests/contract/watch.h"

#include <stdint.h>

/* ---- a pendulum that watches its caller and fails on demand ---- */

enum failure { NONE, FAILS, IS_NAN };
struct spy {
  enum failure failure;
  double t_failure; /* derivatives after it fail */
  long calls, regular;
  double h_regular; /* h of the last call at a regular state */
  double t_regular;
};

static perp_ode_answer spy_deriv(void *user, double t, double h, const double *q, const double *v,
                                 bool intermediate, double *qdot, double *a)
{
  struct spy *spy = user;
  spy->calls++;
  if (!intermediate) {
    spy->regular++;
    spy->h_regular = h;
    spy->t_regular = t;
  }
  pendulum_deriv(NULL, t, h, q, v, intermediate, qdot, a);
  if (t > spy->t_failure && spy->failure == FAILS) return PERP_ODE_FAILED;
  if (t > spy->t_failure && spy->failure == IS_NAN) a[0] = (double)NAN;
  return PERP_ODE_OK;
}

static ode_problem spied(struct spy *spy)
{
  ode_problem p = pendulum();
  p.sys.user = spy;
  p.sys.deriv = spy_deriv;
  return p;
}

static perp_ctx ctx;

static perp_status open_text(const char *text, const perp_ode_sys *sys, double h, perp_ode **ode)
{
  perp_spec spec;
  *ode = NULL;
  PERP_TRY(perp_spec_parse(&ctx, PERP_KIND_ode, text, &spec));
  perp_status status = perp_ode_create(&ctx, &spec, sys, h, ode);
  perp_spec_free(&spec);
  return status;
}

static perp_status open_with(const perp_desc *d, const char *options, const perp_ode_sys *sys,
                             double h, perp_ode **ode)
{
  char text[256];
  snprintf(text, sizeof text, options[0] != '\0' ? "%s:%s" : "%s", d->name, options);
  return open_text(text, sys, h, ode);
}

/* status of creating, and nothing left behind when it is refused */
static void refuses(const perp_desc *d, const char *options, const perp_ode_sys *sys, double h,
                    perp_status want, const char *why)
{
  perp_ode *ode = NULL;
  perp_status got = open_with(d, options, sys, h, &ode);
  if (!ok(got == want && ode == NULL, "%s: %s is refused", d->name, why))
    printf("# got %s: %s\n", perp_status_name(got), ctx.msg);
  perp_ode_destroy(ode);
}

static void validation(const perp_desc *d)
{
  const unsigned caps = d->caps;
  ode_problem p = pendulum();
  refuses(d, "", &p.sys, 0, PERP_ERR_ARG, "h = 0");
  refuses(d, "", &p.sys, -0.1, PERP_ERR_ARG, "h < 0");
  refuses(d, "", &p.sys, (double)NAN, PERP_ERR_ARG, "h = NaN");
  refuses(d, "", &p.sys, HUGE_VAL, PERP_ERR_ARG, "h = inf");
  refuses(d, "tol=1", &p.sys, 0.1, PERP_ERR_OPTION, "tol = 1");
  refuses(d, "tol=-1e-3", &p.sys, 0.1, PERP_ERR_OPTION, "tol < 0");
  refuses(d, "h_min=0", &p.sys, 0.1, PERP_ERR_OPTION, "h_min = 0");
  refuses(d, "tol=1e-6,h_max=1ms", &p.sys, 0.1, PERP_ERR_OPTION, "h above h_max");
  refuses(d, "h_min=1,h_max=0.5", &p.sys, 0.1, PERP_ERR_OPTION, "h_min above h_max");
  refuses(d, "tolerance=1e-6", &p.sys, 0.1, PERP_ERR_OPTION, "an unknown option");
  refuses(d, "control=sometimes", &p.sys, 0.1, PERP_ERR_OPTION, "an unknown control");
  if ((caps & PERP_ODE_EMBEDDED) == 0)
    refuses(d, "control=embedded", &p.sys, 0.1, PERP_ERR_UNSUPPORTED,
            "an embedded estimate that it does not have");
  if ((caps & PERP_ODE_VARIABLE_ORDER) != 0)
    refuses(d, "control=doubling", &p.sys, 0.1, PERP_ERR_UNSUPPORTED, "doubling at variable order");
  perp_ode_sys bad = p.sys;
  bad.nq = 0;
  refuses(d, "", &bad, 0.1, PERP_ERR_ARG, "nq = 0");
  bad = p.sys;
  bad.deriv = NULL;
  refuses(d, "", &bad, 0.1, PERP_ERR_ARG, "a system without deriv");
  bad = p.sys;
  bad.nq = 2;
  refuses(d, "", &bad, 0.1, PERP_ERR_ARG, "nq != nv without retract");
  ode_problem c = circle();
  if ((caps & PERP_ODE_SECOND_ORDER) != 0)
    refuses(d, "", &c.sys, 0.1, PERP_ERR_UNSUPPORTED, "a first-order system");
  perp_ode_destroy(NULL);
  ((const perp_ode_desc *)d)->destroy(NULL); /* is allowed */
}

static void states(const perp_desc *d)
{
  ode_problem p = pendulum();
  perp_ode *ode;
  perp_stats stats;
  if (open_with(d, "", &p.sys, 0.01, &ode) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
  ok(perp_ode_step(&ctx, ode, 1, &stats) == PERP_ODE_STOPPED && stats.reason == PERP_UNSUITED,
     "%s: no step before restart", d->name);
  double bad = (double)NAN;
  ok(perp_ode_restart(&ctx, ode, 0, &bad, p.v0) == PERP_ERR_ARG, "%s: q = NaN is refused", d->name);
  bad = HUGE_VAL;
  ok(perp_ode_restart(&ctx, ode, 0, p.q0, &bad) == PERP_ERR_ARG, "%s: v = inf is refused", d->name);
  ok(perp_ode_restart(&ctx, ode, (double)NAN, p.q0, p.v0) == PERP_ERR_ARG, "%s: t = NaN is refused",
     d->name);
  ok(perp_ode_step(&ctx, ode, 1, &stats) == PERP_ODE_STOPPED, "%s: a refused state is no state",
     d->name);
  ok(perp_ode_restart(&ctx, ode, 0, p.q0, p.v0) == PERP_OK, "%s: restart", d->name);
  ok(perp_ode_advance(&ctx, ode, (double)NAN, &stats) == PERP_ODE_STOPPED &&
         stats.reason == PERP_UNSUITED,
     "%s: t_to = NaN is refused", d->name);
  ok(perp_ode_advance(&ctx, ode, 0, &stats) == PERP_ODE_REACHED && perp_ode_time(ode) == 0 &&
         perp_ode_count(ode)->steps == 0,
     "%s: nothing to do", d->name);
  perp_ode_destroy(ode);
}

/* What a step costs and which states it asks about. */
static void evaluations(const perp_desc *d)
{
  const perp_ode_desc *desc = (const perp_ode_desc *)d;
  struct spy spy = { 0 };
  ode_problem p = spied(&spy);
  perp_ode *ode;
  perp_stats stats;
  const double h = 0.01;
  open_with(d, "", &p.sys, h, &ode);
  perp_ode_restart(&ctx, ode, 0, p.q0, p.v0);
  long wrong = 0;
  for (int k = 0; k < 20; k++) {
    long calls = spy.calls, regular = spy.regular;
    double t = perp_ode_time(ode);
    perp_ode_step(&ctx, ode, 1, &stats);
    if (stats.matvecs != spy.calls - calls) wrong++;
    if (desc->stages > 0 && spy.calls - calls != desc->stages) wrong++;
    if ((d->caps & PERP_ODE_VARIABLE_ORDER) != 0) continue; /* makes refused steps again */
    if (spy.regular - regular != 1 || spy.t_regular != t || spy.h_regular != h) wrong++;
  }
  ok(wrong == 0, "%s: derivatives counted, one of them at the regular state with h", d->name);
  ok(perp_ode_count(ode)->rhs == spy.calls && perp_ode_count(ode)->steps == 20, "%s: counters",
     d->name);
  if ((d->caps & PERP_ODE_ONE_EVALUATION) != 0)
    ok(spy.calls == spy.regular && spy.calls == 20, "%s: one evaluation a step", d->name);
  perp_ode_destroy(ode);
}

static void failures(const perp_desc *d, const char *options, enum failure failure)
{
  struct spy spy = { .failure = failure, .t_failure = 0.505 };
  ode_problem p = spied(&spy);
  perp_ode *ode;
  perp_stats stats;
  const char *what = failure == FAILS ? "no derivative" : "a derivative of NaN";
  open_with(d, options, &p.sys, 0.01, &ode);
  perp_ode_restart(&ctx, ode, 0, p.q0, p.v0);
  perp_ode_stop stop = perp_ode_advance(&ctx, ode, 1, &stats);
  perp_reason want = failure == FAILS ? PERP_SINGULAR : PERP_NOT_FINITE;
  /* an iteration may see the NaN first, as no convergence */
  bool said = stats.reason == want || (failure == IS_NAN && stats.reason == PERP_MAX_ITER);
  if (!ok(stop == PERP_ODE_STOPPED && said, "%s:%s: %s is reported", d->name, options, what))
    printf("# stop %d reason %s\n", stop, perp_reason_name(stats.reason));
  double error = ode_error(&p, ode), t = perp_ode_time(ode);
  /* euler with h = 0.01 is off by 0.09 there, the other methods by less */
  if (!ok(t > 0.45 && t < 0.53 && error < 0.12, "%s:%s: stops at the last good state", d->name,
          options))
    printf("# t = %.17g error %.3g\n", t, error);
  perp_ode_destroy(ode);

  /* the method itself, on a step that fails half-way or at once */
  const perp_ode_desc *desc = (const perp_ode_desc *)d;
  perp_spec spec;
  perp_spec_parse(&ctx, PERP_KIND_ode, d->name, &spec);
  void *ws;
  desc->create(&ctx, &p.sys, spec.opts, &ws);
  double q = 1, v = 2;
  perp_ode_answer answer = PERP_ODE_OK;
  if (failure == FAILS) {
    spy.t_failure = -1;
    stats = (perp_stats){ 0 };
    answer = desc->step(ws, &p.sys, 0, 0.01, &q, &v, NULL, &stats);
    ok(answer == PERP_ODE_FAILED && q == 1 && v == 2, "%s: a failed step leaves q and v", d->name);
    spy.t_failure = 0;
    answer = desc->step(ws, &p.sys, 0, 0.01, &q, &v, NULL, &stats);
    ok(answer == PERP_ODE_OK || (q == 1 && v == 2), "%s: so does one that fails inside", d->name);
  }
  desc->destroy(ws);
  perp_spec_free(&spec);
}

/* Two thirds of a second in steps of the driver's, in uneven pieces. */
static void run(perp_ode *ode, const ode_problem *p, double *out)
{
  perp_ode_restart(&ctx, ode, 0, p->q0, p->v0);
  for (int k = 1; k <= 7; k++) perp_ode_advance(&ctx, ode, 0.66 * k * k / 49, NULL);
  memcpy(out, perp_ode_q(ode), (size_t)p->sys.nq * sizeof *out);
  memcpy(out + p->sys.nq, perp_ode_v(ode), (size_t)p->sys.nv * sizeof *out);
}

static void repetition(const perp_desc *d, const char *options, ode_problem p)
{
  double first[7], second[7], other[7];
  perp_ode *ode, *twin;
  open_with(d, options, &p.sys, 0.01, &ode);
  open_with(d, options, &p.sys, 0.01, &twin);
  run(ode, &p, first);
  long before = count_malloc;
  run(ode, &p, second);
  long made = count_malloc - before;
  run(twin, &p, other);
  size_t bytes = (size_t)(p.sys.nq + p.sys.nv) * sizeof *first;
  ok(memcmp(first, second, bytes) == 0 && memcmp(first, other, bytes) == 0,
     "%s:%s: %s: the same again to the last bit", d->name, options, p.name);
  if (!COUNTS_MALLOC) {
    skip("allocations are not counted under a sanitizer", "%s: no allocation", d->name);
  } else if ((d->caps & PERP_CAP_ALLOCATES) != 0) {
    if (!ok(made > 0, "%s:%s: says that it allocates, and does", d->name, options))
      printf("# %ld allocations\n", made);
  } else if (!ok(made == 0, "%s:%s: no allocation after create", d->name, options)) {
    printf("# %ld allocations\n", made);
  }
  perp_ode_destroy(ode);
  perp_ode_destroy(twin);
}

/* Error control for every method: the error falls with the tolerance, as do the steps. */
static void controlled(const perp_desc *d, const char *how, ode_problem p)
{
  static const double tol[] = { 1e-3, 1e-5, 1e-7 };
  double error[3];
  int64_t steps[3];
  bool reached = true;
  for (int i = 0; i < 3; i++) {
    char options[64];
    snprintf(options, sizeof options, "tol=%g%s", tol[i], how);
    perp_ode *ode;
    perp_stats stats;
    if (open_with(d, options, &p.sys, 1e-3, &ode) != PERP_OK) bail("%s: %s", d->name, ctx.msg);
    perp_ode_restart(&ctx, ode, 0, p.q0, p.v0);
    reached = reached && perp_ode_advance(&ctx, ode, p.t_end, &stats) == PERP_ODE_REACHED &&
              perp_ode_time(ode) == p.t_end && stats.residual > 0 && stats.residual <= 1;
    error[i] = ode_error(&p, ode);
    steps[i] = perp_ode_count(ode)->steps;
    perp_ode_destroy(ode);
  }
  ok(reached, "%s%s: %s: adaptive steps get there", d->name, how, p.name);
  /* the error per step is bounded, so first order, with 1 / sqrt(tol) steps, has sqrt(tol) in the
   * end */
  bool falls = error[2] < 0.2 * error[0] && error[0] < 0.5 && error[2] < 5e-3;
  falls = falls || error[0] < tol[2]; /* as good as asked from the start */
  if (!ok(falls && steps[2] >= steps[0], "%s%s: %s: the error falls with the tolerance", d->name,
          how, p.name))
    printf("# errors %.2e %.2e %.2e, steps %ld %ld %ld\n", error[0], error[1], error[2],
           (long)steps[0], (long)steps[1], (long)steps[2]);
}

static void count_events(void *user, const perp_trace_event *event)
{
  long *counts = user;
  if (strcmp(event->what, "step") == 0) counts[0]++;
  if (strcmp(event->what, "reject") == 0) counts[1]++;
}

static void traced(const perp_desc *d)
{
  ode_problem p = pendulum();
  perp_ode *ode;
  long counts[2] = { 0 };
  open_with(d, "tol=1e-7", &p.sys, 4, &ode);
  perp_ode_restart(&ctx, ode, 0, p.q0, p.v0);
  ctx.trace = count_events;
  ctx.trace_user = counts;
  perp_ode_advance(&ctx, ode, 4, NULL);
  ctx.trace = NULL;
  ok(counts[0] == perp_ode_count(ode)->steps && counts[1] == perp_ode_count(ode)->rejected &&
         (counts[1] > 0 || d->caps & PERP_ODE_PEER), /* peers begin with steps of their own */
     "%s: each step and each refusal is traced", d->name);
  perp_ode_destroy(ode);
}

/* ---- what the descriptor claims ---- */

/* The order, measured.  A problem may be kinder than others to a method, none may be less kind. */
static void order(const perp_desc *d)
{
  const perp_ode_desc *desc = (const perp_ode_desc *)d;
  const ode_problem problems[] = { pendulum(), driven(), rigid(), circle() };
  static const double pace[] = { 2, 1, 1, 1 }; /* how fast they change */
  const bool variable = (d->caps & PERP_ODE_VARIABLE_ORDER) != 0;
  ok(desc->order >= 0 && (desc->order == 0) == (desc->current_order != NULL) && desc->stages >= 0 &&
         desc->error_order >= 0 && (!variable || desc->order == 0),
     "%s: order %d, or one that it can tell", d->name, desc->order);
  if (desc->order == 0) return;
  const double room = desc->order >= 7 ? 0.3 : 0.15;
  double least = HUGE_VAL;
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_ode, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++) {
    ode_problem p = problems[k];
    if (p.sys.nv == 0 && (d->caps & PERP_ODE_SECOND_ORDER) != 0) continue;
    double x[POINTS], y[POINTS];
    int points, first = (int)(p.t_end * pace[k] * coarsest(desc->order));
    double slope = observed(&ctx, &spec, &p, first, x, y, &points);
    least = fmin(least, slope);
    if (!ok(slope >= desc->order - room, "%s: order %d on the %s: %.3f (%d points)", d->name,
            desc->order, p.name, slope, points))
      for (int j = 0; j < points; j++) printf("# %4.0f steps: error %.3e\n", exp(-x[j]), exp(y[j]));
  }
  ok(least <= desc->order + 0.5, "%s: order %d is not less than it has: %.3f", d->name, desc->order,
     least);
  perp_spec_free(&spec);
}

/* The error estimate is filled, and falls with h as declared. */
static void estimate(const perp_desc *d)
{
  const perp_ode_desc *desc = (const perp_ode_desc *)d;
  if (!(d->caps & PERP_ODE_EMBEDDED) || desc->error_order == 0) return;
  ode_problem p = pendulum();
  p.q0[0] = 1;
  const double v0 = 1.5;
  perp_spec spec;
  void *ws;
  if (perp_spec_parse(&ctx, PERP_KIND_ode, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (desc->create(&ctx, &p.sys, spec.opts, &ws) != PERP_OK) bail("%s", ctx.msg);
  double x[POINTS], y[POINTS], slope = (double)NAN;
  int n = 0;
  bool filled = true;
  for (int i = 0; i < POINTS; i++) {
    double h = 0.2 * pow(0.5, 0.5 * i), q = p.q0[0], v = v0, err[2] = { (double)NAN, (double)NAN };
    perp_stats stats = { 0 };
    if (desc->reset != NULL) desc->reset(ws);
    filled = desc->step(ws, &p.sys, 0, h, &q, &v, err, &stats) == PERP_ODE_OK && filled &&
             watch_finite(2, err);
    double size = hypot(err[0], err[1]);
    if (!(size > 1e-14)) break;
    x[n] = log(h);
    y[n++] = log(size);
  }
  if (n >= 4) slope = theil_sen(n, x, y);
  desc->destroy(ws);
  perp_spec_free(&spec);
  ok(filled, "%s: fills its error estimate", d->name);
  ok(fabs(slope - desc->error_order - 1) <= 0.5,
     "%s: the estimate is of order h^%d: %.2f (%d points)", d->name, desc->error_order + 1, slope,
     n);
}

/* A symplectic method keeps the energy of a pendulum near its value for all times; others lose it
 * or gain. */
static void symplectic(const perp_desc *d)
{
  if (!(d->caps & PERP_ODE_SYMPLECTIC)) return;
  ode_problem p = pendulum();
  perp_ode *ode;
  if (open_with(d, "", &p.sys, 0.04, &ode) != PERP_OK) bail("%s", ctx.msg);
  perp_ode_restart(&ctx, ode, 0, p.q0, p.v0);
  const double start = pendulum_energy(p.q0, p.v0);
  double early = 0, late = 0;
  for (int k = 0; k < 20000; k++) {
    perp_ode_step(&ctx, ode, HUGE_VAL, NULL);
    double off = fabs(pendulum_energy(perp_ode_q(ode), perp_ode_v(ode)) - start);
    if (k < 1000) early = fmax(early, off);
    if (k >= 19000) late = fmax(late, off);
  }
  ok(late <= 1.5 * early + 1e-9,
     "%s: symplectic: the energy is off by %.2g, and by %.2g much later", d->name, early, late);
  perp_ode_destroy(ode);
}

/* ---- bodies that know nothing of each other ---- */

enum {
  COPIES = 8
}; /* 32 and 24 numbers fill whole lines of the cache: what is written beside an
      array is in the next one */

static perp_ode_answer copies_deriv(void *user, double t, double h, const double *q,
                                    const double *w, bool intermediate, double *qdot, double *a)
{
  for (int k = 0; k < COPIES; k++)
    rigid_deriv(user, t, h, q + 4 * k, w + 3 * k, intermediate, qdot != NULL ? qdot + 4 * k : NULL,
                a + 3 * k);
  return PERP_ODE_OK;
}

static void copies_retract(void *user, const double *q, const double *dq, double *out)
{
  for (int k = 0; k < COPIES; k++) rigid_retract(user, q + 4 * k, dq + 3 * k, out + 4 * k);
}

static void copies_dexpinv(void *user, const double *u, const double *w, double *du)
{
  for (int k = 0; k < COPIES; k++) rigid_dexpinv(user, u + 3 * k, w + 3 * k, du + 3 * k);
}

static void copies_project(void *user, double *q)
{
  for (int k = 0; k < COPIES; k++) rigid_project(user, q + 4 * k);
}

static void copies_qdot(void *user, const double *q, const double *w, double *qdot)
{
  for (int k = 0; k < COPIES; k++) rigid_qdot(user, q + 4 * k, w + 3 * k, qdot + 4 * k);
}

/* The largest difference between the bodies of a system and each of them alone. */
static double copies_apart(const perp_desc *d, const ode_problem *p, const perp_ode_sys *sys)
{
  double q[4 * COPIES], v[3 * COPIES], worst = 0;
  perp_ode *all, *one;
  for (int k = 0; k < COPIES; k++) {
    memcpy(q + 4 * k, p->q0, sizeof p->q0);
    for (int i = 0; i < 3; i++) v[3 * k + i] = p->v0[i] * (1 + 0.1 * k);
  }
  if (open_text(d->name, sys, 0.01, &all) != PERP_OK || perp_ode_restart(&ctx, all, 0, q, v) != 0)
    bail("%s: %s", d->name, ctx.msg);
  for (int i = 0; i < 9; i++)
    if (perp_ode_step(&ctx, all, HUGE_VAL, NULL) != PERP_ODE_REACHED) return HUGE_VAL;
  for (int k = 0; k < COPIES; k++) {
    open_text(d->name, &p->sys, 0.01, &one);
    perp_ode_restart(&ctx, one, 0, q + 4 * k, v + 3 * k);
    perp_ode_advance(&ctx, one, perp_ode_time(all), NULL);
    for (int i = 0; i < 4; i++)
      worst = fmax(worst, fabs(perp_ode_q(all)[4 * k + i] - perp_ode_q(one)[i]));
    for (int i = 0; i < 3; i++)
      worst = fmax(worst, fabs(perp_ode_v(all)[3 * k + i] - perp_ode_v(one)[i]));
    perp_ode_destroy(one);
  }
  perp_ode_destroy(all);
  return worst;
}

static void copies(const perp_desc *d)
{
  const ode_problem p = rigid();
  perp_ode_sys sys = p.sys;
  sys.nq *= COPIES, sys.nv *= COPIES;
  sys.deriv = copies_deriv, sys.retract = copies_retract, sys.dexpinv = copies_dexpinv;
  sys.project = copies_project, sys.qdot = copies_qdot;
  /* a step size that is chosen for all of them is another one */
  below(copies_apart(d, &p, &sys), (d->caps & PERP_ODE_VARIABLE_ORDER) != 0 ? 1e-6 : 1e-11,
        "%s: bodies of one system move as each of them alone", d->name);
}

/* ---- the method alone ---- */

static uint64_t hash_system(const perp_ode_sys *sys)
{
  return watch_hash(watch_hash(1, sys, sizeof *sys), sys->user, sizeof(rigid_body));
}

static void alone(const perp_desc *d)
{
  const perp_ode_desc *desc = (const perp_ode_desc *)d;
  static walled q, v, err;
  ode_problem p = rigid();
  perp_spec spec;
  void *ws;
  if (perp_spec_parse(&ctx, PERP_KIND_ode, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  const uint64_t before = hash_system(&p.sys);
  watch_begin();
  perp_status status = desc->create(&ctx, &p.sys, spec.opts, &ws);
  watch_end();
  if (status != PERP_OK) bail("%s", ctx.msg);
  memcpy(wall_set(&q, p.sys.nq, 0), p.q0, sizeof p.q0);
  memcpy(wall_set(&v, p.sys.nv, 0), p.v0, sizeof p.v0);
  wall_set(&err, p.sys.nq + p.sys.nv, 0);
  const bool embedded = (d->caps & PERP_ODE_EMBEDDED) != 0;
  bool walls = true, counts = true, answers = true, moves = true;
  for (int k = 0; k < 20; k++) {
    perp_stats stats = { 0 };
    double kept = q.x[0];
    watch_begin();
    perp_ode_answer answer = desc->step(ws, &p.sys, 0.01 * k, 0.01, q.x, v.x,
                                        embedded && k % 2 == 0 ? err.x : NULL, &stats);
    watch_end();
    walls = walls && wall_stands(&q) && wall_stands(&v) && wall_stands(&err);
    counts = counts && watch_counts(&stats) && stats.matvecs > 0;
    answers = answers && answer == PERP_ODE_OK &&
              (stats.reason == PERP_RUNNING || watch_reason(stats.reason));
    moves = moves && q.x[0] != kept && watch_finite(4, q.x) && watch_finite(3, v.x);
  }
  desc->destroy(ws);
  perp_spec_free(&spec);
  ok(walls, "%s: writes nothing beside q, v and its estimate", d->name);
  ok(hash_system(&p.sys) == before, "%s: only reads its system", d->name);
  ok(counts, "%s: its counts are counts", d->name);
  ok(answers && moves, "%s: makes each step", d->name);
}

/* A method without an estimate that is asked for one: the step as ever, or a refusal with its
 * reason and the state as it was; err is left alone either way. */
static void no_estimate(const perp_desc *d)
{
  const perp_ode_desc *desc = (const perp_ode_desc *)d;
  if (d->caps & PERP_ODE_EMBEDDED) return;
  static walled q, v, err;
  ode_problem p = rigid();
  perp_spec spec;
  void *ws;
  perp_stats stats = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_ode, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (desc->create(&ctx, &p.sys, spec.opts, &ws) != PERP_OK) bail("%s", ctx.msg);
  memcpy(wall_set(&q, p.sys.nq, 0), p.q0, sizeof p.q0);
  memcpy(wall_set(&v, p.sys.nv, 0), p.v0, sizeof p.v0);
  wall_set(&err, p.sys.nq + p.sys.nv, 7);
  perp_ode_answer answer = desc->step(ws, &p.sys, 0, 0.01, q.x, v.x, err.x, &stats);
  bool left = wall_stands(&err);
  for (int i = 0; i < p.sys.nq + p.sys.nv; i++) left = left && err.x[i] == 7;
  const bool refused = answer == PERP_ODE_FAILED && stats.reason == PERP_UNSUITED &&
                       memcmp(q.x, p.q0, sizeof p.q0) == 0 && memcmp(v.x, p.v0, sizeof p.v0) == 0;
  ok(left && (refused || answer == PERP_ODE_OK), "%s: asked for an estimate that it does not have",
     d->name);
  desc->destroy(ws);
  perp_spec_free(&spec);
}

static void life(void *user)
{
  const perp_desc *d = user;
  ode_problem p = pendulum();
  perp_ode *ode;
  if (open_with(d, "tol=1e-5", &p.sys, 1e-3, &ode) != PERP_OK) return;
  perp_ode_restart(&ctx, ode, 0, p.q0, p.v0);
  perp_ode_advance(&ctx, ode, 1, NULL);
  perp_ode_destroy(ode);
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register_solvers(&ctx);
  register_under_test(&ctx);
  const perp_desc *d;
  int n = 0;
  for (; (d = perp_plugin_at(&ctx, PERP_KIND_ode, n)) != NULL; n++) {
    if (!under_test(d)) continue;
    const bool second = (d->caps & PERP_ODE_SECOND_ORDER) != 0;
    const bool variable = (d->caps & PERP_ODE_VARIABLE_ORDER) != 0;
    ok(d->summary != NULL && d->reference != NULL && d->equation != NULL && d->opts != NULL,
       "%s: described", d->name);
    validation(d);
    states(d);
    evaluations(d);
    failures(d, "", FAILS);
    failures(d, "", IS_NAN);
    failures(d, "tol=1e-4", FAILS);
    failures(d, "tol=1e-4", IS_NAN);
    repetition(d, "", pendulum());
    repetition(d, "", rigid());
    repetition(d, "tol=1e-6", rigid());
    if (!second) repetition(d, "tol=1e-6", circle());
    controlled(d, "", pendulum());
    controlled(d, "", rigid());
    if (!second) controlled(d, "", circle());
    if (!variable) controlled(d, ",control=doubling", rigid());
    traced(d);
    order(d);
    estimate(d);
    symplectic(d);
    alone(d);
    copies(d);
    no_estimate(d);
    watch_begin();
    life((void *)(uintptr_t)d);
    watch_end();
    watch_memory(d->name, life, (void *)(uintptr_t)d);
    watch_silent(d->name);
  }
  ok(n >= 20, "%d methods in the registry", n);
  return tap_done();
}
