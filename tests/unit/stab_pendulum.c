/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stabilization formulas, and what the schemes do to trajectory and energy of a triple pendulum on
 * the velocity level. */
#include "tests/stab_pendulum.h"
#include "tests/tap.h"

static void run(const char *text, bool start_known, double kick, double h, double t_end, double *q,
                double *drift, double *energy)
{
  pendulum s;
  double v[16], C[8] = { 0 };
  perp_spec spec;
  void *ws;
  pendulum_open(&s, 3, q, v);
  if (start_known) s.sys.solve_start = pendulum_solve_start;
  if (perp_spec_parse(&pendulum_ctx, PERP_KIND_stab, text, &spec) != PERP_OK)
    bail("%s", pendulum_ctx.msg);
  const perp_stab_desc *stab = (const perp_stab_desc *)spec.d;
  if (stab->create(&pendulum_ctx, &s.sys, spec.opts, &ws) != PERP_OK) bail("%s", pendulum_ctx.msg);
  double E0 = pendulum_energy(&s, q, v);
  for (int i = 0; i < 3; i++) v[2 * i + 1] += kick;
  int n = (int)(t_end / h + 0.5);
  for (int k = 0; k < n; k++) pendulum_step(&s, stab, ws, h, q, v);
  pendulum_error(&s, 0, q, C);
  *drift = fmax(fabs(C[0]), fmax(fabs(C[1]), fabs(C[2])));
  *energy = pendulum_energy(&s, q, v) - E0;
  stab->destroy(ws);
  perp_spec_free(&spec);
  pendulum_close(&s);
}

static void feedback(const char *text, double alpha_v, double two_alpha, double beta2)
{
  perp_spec spec;
  void *ws;
  pendulum s;
  double q[16], v[16];
  pendulum_open(&s, 3, q, v);
  if (perp_spec_parse(&pendulum_ctx, PERP_KIND_stab, text, &spec) != PERP_OK)
    bail("%s", pendulum_ctx.msg);
  const perp_stab_desc *stab = (const perp_stab_desc *)spec.d;
  stab->create(&pendulum_ctx, &s.sys, spec.opts, &ws);
  const double C[3] = { 1e-3, -2e-3, 0 }, Cdot[3] = { 0.5, 0, 0.25 }, h = 0.01;
  double k[3] = { 1, 1, 1 }, c[3] = { 1, 1, 1 };
  stab->rhs(ws, PERP_LEVEL_VELOCITY, h, C, Cdot, k);
  stab->rhs(ws, PERP_LEVEL_ACCELERATION, h, C, Cdot, c);
  for (int i = 0; i < 3; i++) {
    near(k[i], 1 - alpha_v * C[i], 0, 1e-15, "%s: J v = k - alpha C, row %d", text, i);
    near(c[i], 1 - two_alpha * Cdot[i] - beta2 * C[i], 0, 1e-14,
         "%s: J a = c - 2 alpha Cdot - beta^2 C, row %d", text, i);
  }
  stab->destroy(ws);
  perp_spec_free(&spec);
  pendulum_close(&s);
}

/* The feedback of a contact with a gap of -0.16 ... 0.02 m and rates of both signs (Vondrak 6.34,
 * one-sided): its speed is bounded on the velocity level, and on the other one that to which it
 * leads. */
static void contacts(void)
{
  static const struct {
    const char *text;
    double alpha, beta, push;
  } known[] = { { "baumgarte", 20, 20, 0.1 }, /* 1 / 5 h */
                { "baumgarte:alpha=0.5", 0.5, 0.5, 0.1 },
                { "baumgarte:alpha=4,beta=3,push=3", 4, 3, 3 },
                { "baumgarte:push=1", 20, 20, 1 } };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    const double a = known[k].alpha, b = known[k].beta, push = known[k].push;
    perp_spec spec;
    void *ws;
    if (perp_spec_parse(&pendulum_ctx, PERP_KIND_stab, known[k].text, &spec) != PERP_OK)
      bail("%s", pendulum_ctx.msg);
    const perp_stab_desc *stab = (const perp_stab_desc *)spec.d;
    const perp_stab_sys none = { .m = 0 };
    if (stab->create(&pendulum_ctx, &none, spec.opts, &ws) != PERP_OK) bail("%s", pendulum_ctx.msg);
    double off = 0, off_acceleration = 0;
    for (int i = 0; i < 6; i++) {
      const double gap = i > 0 ? -0.01 * (1 << i) / 2 : 0.02, rate = 0.3 * (i % 3 - 1);
      const double speed = gap < 0 ? fmin(-a * gap, push) : 0;
      const double wanted = -2 * a * rate - b * b * fmax(gap, -2 * a * push / (b * b));
      off = fmax(off, fabs(stab->contact(ws, PERP_LEVEL_VELOCITY, 0.01, gap, rate) - speed));
      off_acceleration = fmax(
          off_acceleration,
          fabs(stab->contact(ws, PERP_LEVEL_ACCELERATION, 0.01, gap, rate) - wanted));
    }
    below(off, 1e-14, "%s: the speed at which a contact parts", known[k].text);
    below(off_acceleration, 1e-12, "%s: its acceleration", known[k].text);
    stab->destroy(ws);
    perp_spec_free(&spec);
  }
}

/* post-stabilization feeds nothing back, but for contacts at rest on the acceleration level where
 * they are held: g'' = -2 g' / tau - g / tau^2, tau = 5 h. */
static void held(void)
{
  static const char *const known[] = { "post", "post:velocity=true", "post:hold=true" };
  for (int k = 0; k < 3; k++) {
    perp_spec spec;
    void *ws;
    pendulum s;
    double q[16], v[16];
    pendulum_open(&s, 3, q, v);
    if (perp_spec_parse(&pendulum_ctx, PERP_KIND_stab, known[k], &spec) != PERP_OK)
      bail("%s", pendulum_ctx.msg);
    const perp_stab_desc *stab = (const perp_stab_desc *)spec.d;
    if (stab->create(&pendulum_ctx, &s.sys, spec.opts, &ws) != PERP_OK)
      bail("%s", pendulum_ctx.msg);
    const double gap = -1e-3, rate = 0.2, tau = 0.05;
    const double wanted = k == 2 ? -2 * rate / tau - gap / (tau * tau) : 0;
    near(stab->contact(ws, PERP_LEVEL_VELOCITY, 0.01, gap, rate), 0, 0, 0,
         "%s: nothing on the velocity level", known[k]);
    near(stab->contact(ws, PERP_LEVEL_ACCELERATION, 0.01, gap, rate), wanted, 1e-12, 1e-12,
         "%s: what it feeds back", known[k]);
    stab->destroy(ws);
    perp_spec_free(&spec);
    pendulum_close(&s);
  }
}

/* A mass on a rod of 1 m, off by e along it: a pass takes e away, with a limit no more than that;
 * so many passes a step, and from the start of a step (h) the velocity is that of the correction,
 * projected in the end. */
static void limited(void)
{
  static const struct {
    const char *text;
    bool start_known;
    double e, left;
  } known[] = { { "post", false, 0.5, 0 },
                { "post:limit=0.1", false, 0.5, 0.4 },
                { "post:limit=0.1,passes=3", false, 0.5, 0.2 },
                { "post:limit=0.1,passes=3", false, -0.5, -0.2 },
                { "post:limit=0.1,passes=3", false, 0.25, 0 },
                { "post:limit=0.1,passes=100", false, 0.75, 0 },
                { "post:limit=0.6,passes=3", false, 0.5, 0 },
                { "post:limit=0.1,sweeps=2,velocity=true", true, 0.5, 0.3 } };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    pendulum s;
    double q[16], v[16], zero[16] = { 0 };
    perp_spec spec;
    void *ws;
    perp_stats stats = { 0 };
    pendulum_open(&s, 1, q, v);
    if (known[i].start_known) s.sys.solve_start = pendulum_solve_start;
    if (perp_spec_parse(&pendulum_ctx, PERP_KIND_stab, known[i].text, &spec) != PERP_OK)
      bail("%s", pendulum_ctx.msg);
    const perp_stab_desc *stab = (const perp_stab_desc *)spec.d;
    if (stab->create(&pendulum_ctx, &s.sys, spec.opts, &ws) != PERP_OK)
      bail("%s", pendulum_ctx.msg);
    s.h = 0.01;
    q[0] = 1 + known[i].e;
    pendulum_jacobian(q, s.start);
    pendulum_kkt(&pendulum_ctx)->factor(&pendulum_ctx, s.kkt_start, &s.start->B, &stats);
    if (stab->post_step(ws, 0, q, v, &stats) != PERP_OK) bail("%s", pendulum_ctx.msg);
    near(q[0], 1 + known[i].left, 0, 1e-14, "%s: an error of %g m becomes", known[i].text,
         known[i].e);
    ok(q[1] == 0 && memcmp(v, zero, 2 * sizeof *v) == 0, "%s: nothing else moves", known[i].text);
    stab->destroy(ws);
    perp_spec_free(&spec);
    pendulum_close(&s);
  }
}

/* A system with rows but without its functions. */
static void bare(const char *text)
{
  const perp_stab_sys sys = { .nq = 2, .nv = 2, .m = 1 };
  perp_spec spec;
  void *ws = NULL;
  if (perp_spec_parse(&pendulum_ctx, PERP_KIND_stab, text, &spec) != PERP_OK)
    bail("%s", pendulum_ctx.msg);
  ok(((const perp_stab_desc *)spec.d)->create(&pendulum_ctx, &sys, spec.opts, &ws) ==
             PERP_ERR_ARG &&
         ws == NULL,
     "%s: a system without its functions is refused: %s", text, pendulum_ctx.msg);
  perp_spec_free(&spec);
}

int main(void)
{
  feedback("baumgarte:alpha=50", 50, 100, 2500);
  feedback("baumgarte:alpha=5,beta=3", 5, 10, 9);
  feedback("baumgarte", 100, 2 * 5.0, 25); /* h = 0.01: 1/h, and 1/(20 h) */
  bare("post");
  bare("velocity-projection");
  contacts();
  held();
  limited();

  /* two seconds, which the chaos of this motion does not blur; the reference starts with half a
   * kick, so that its velocities are those between the positions: second order */
  double ref[16], q[16], drift, energy;
  const double h = 0.001, t_end = 2, g = 9.81;
  run("post:velocity=true", true, 2e-5 / 2 * g, 2e-5, t_end, ref, &drift, &energy);
  static const struct {
    const char *text;
    bool start_known;
    double drift_least, drift_most, err_least, err_most;
  } cases[] = {
    /* observed: 7.2e-3, 3.1e-2 */
    { "none", true, 3e-3, 2e-2, 1e-2, 1e-1 },
    /* 2.3e-6, 1.0e-3 */
    { "baumgarte", true, 1e-8, 1e-5, 0, 3e-3 },
    /* 1.6e-12, 2.2e-2: the joints are exact, the trajectory is not */
    { "post", true, 0, 1e-10, 1e-2, 5e-2 },
    { "post:passes=2", true, 0, 1e-13, 1e-2, 5e-2 },
    /* 8e-15, 1.0e-3: RATTLE */
    { "post:velocity=true", true, 0, 1e-13, 0, 3e-3 },
    /* without the start of the step the velocity part of the correction is lost */
    { "post:velocity=true", false, 0, 1e-10, 1e-2, 5e-2 },
    { "velocity-projection", true, 3e-3, 2e-2, 1e-2, 1e-1 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run(cases[i].text, cases[i].start_known, 0, h, t_end, q, &drift, &energy);
    double err = 0;
    for (int j = 0; j < 6; j++) err = fmax(err, fabs(q[j] - ref[j]));
    const char *known = cases[i].start_known ? "" : " (start unknown)";
    ok(drift >= cases[i].drift_least && drift <= cases[i].drift_most, "%s%s: drift %.2g m",
       cases[i].text, known, drift);
    ok(err >= cases[i].err_least && err <= cases[i].err_most, "%s%s: position error %.2g m",
       cases[i].text, known, err);
  }

  /* started with half a kick the RATTLE form is of second order */
  double err[2];
  for (int k = 0; k < 2; k++) {
    double hk = k == 0 ? 2e-3 : 1e-3;
    run("post:velocity=true", true, hk / 2 * g, hk, t_end, q, &drift, &energy);
    err[k] = 0;
    for (int j = 0; j < 6; j++) err[k] = fmax(err[k], fabs(q[j] - ref[j]));
  }
  double order = log2(err[0] / err[1]);
  ok(order > 1.8 && order < 2.2, "post:velocity=true: order %.2f (%.2g, %.2g m)", order, err[0],
     err[1]);
  return tap_done();
}
