/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every stabilization scheme of the registry must do. */
#include "tests/contract/under_test.h"
#include "tests/count_malloc.h"
#include "tests/contract/watch.h"
#include "tests/stab_pendulum.h"
#include "tests/tap.h"

static void create(const perp_desc *d, const char *options, pendulum *s, perp_spec *spec, void **ws)
{
  char text[128];
  snprintf(text, sizeof text, "%s%s%s", d->name, options[0] != '\0' ? ":" : "", options);
  if (perp_spec_parse(&pendulum_ctx, PERP_KIND_stab, text, spec) != PERP_OK)
    bail("%s", pendulum_ctx.msg);
  const perp_stab_desc *stab = (const perp_stab_desc *)d;
  if (stab->create(&pendulum_ctx, &s->sys, spec->opts, ws) != PERP_OK) bail("%s", pendulum_ctx.msg);
}

struct lived {
  const perp_stab_desc *stab;
  pendulum *s;
  const void *opts;
};

static void life(void *user)
{
  struct lived *x = user;
  void *ws = NULL;
  double q[16], v[16], rhs[8] = { 0 }, zero[8] = { 0 };
  perp_stats stats = { 0 };
  for (int i = 0; i < 8; i++) {
    q[i] = (i % 2 == 0 ? i / 2 + 1 : 0) + 1e-3 * sin(i);
    v[i] = cos(3 * i);
  }
  if (x->stab->create(&pendulum_ctx, &x->s->sys, x->opts, &ws) != PERP_OK) return;
  if (x->stab->rhs != NULL) x->stab->rhs(ws, PERP_LEVEL_VELOCITY, 0.01, zero, zero, rhs);
  if (x->stab->post_step != NULL) x->stab->post_step(ws, 0, q, v, &stats);
  x->stab->destroy(ws);
}

/* contacts: one-sided, against the error, nothing without one; corrections that do something */
static void check_contacts(const perp_stab_desc *stab, const void *ws)
{
  const char *name = stab->d.name;
  const double h = 0.01;
  if (stab->contact != NULL) {
    const double deep = stab->contact(ws, PERP_LEVEL_VELOCITY, h, -1e-3, 0);
    ok(stab->contact(ws, PERP_LEVEL_VELOCITY, h, 0, 0) == 0 &&
           stab->contact(ws, PERP_LEVEL_VELOCITY, h, 1e-3, 0) == 0 && deep >= 0 &&
           deep <= 1e-3 / h && stab->contact(ws, PERP_LEVEL_VELOCITY, h, -1e-2, 0) >= deep,
       "%s: the feedback of a contact on the velocity level is one-sided: %g m/s", name, deep);
    const double out = stab->contact(ws, PERP_LEVEL_ACCELERATION, h, -1e-3, 0);
    const double slow = stab->contact(ws, PERP_LEVEL_ACCELERATION, h, 0, 1e-3);
    ok(stab->contact(ws, PERP_LEVEL_ACCELERATION, h, 0, 0) == 0 && out >= 0 && slow <= 0 &&
           isfinite(stab->contact(ws, PERP_LEVEL_ACCELERATION, h, -1, 0)),
       "%s: and against depth and rate on the acceleration level: %g, %g m/s^2", name, out, slow);
  }
  if (stab->contacts != NULL) {
    perp_stab_contacts how = { 0 };
    stab->contacts(ws, &how);
    ok((how.passes > 0 || how.velocity) && how.passes >= 0 && how.tol >= 0 && how.swept >= 0 &&
           how.tol_v >= 0,
       "%s: corrects contacts after a step, in positions %d times", name, how.passes);
  }
}

static void check(const perp_desc *d, const char *options)
{
  const perp_stab_desc *stab = (const perp_stab_desc *)d;
  pendulum s;
  double q[16], v[16], q0[16], v0[16], C[8];
  perp_spec spec;
  void *ws;
  pendulum_open(&s, 4, q, v);
  create(d, options, &s, &spec, &ws);
  ok(d->summary != NULL && d->reference != NULL && d->equation != NULL,
     "%s: summary, reference and equation", d->name);
  ok((stab->rhs != NULL) == !!(d->caps & PERP_STAB_FEEDBACK) &&
         (stab->post_step != NULL) == !!(d->caps & PERP_STAB_PROJECTS),
     "%s: the capability bits are those of its functions", d->name);
  char text[128];
  snprintf(text, sizeof text, "%s:nothing=1", d->name);
  perp_spec wrong;
  ok(perp_spec_parse(&pendulum_ctx, PERP_KIND_stab, text, &wrong) == PERP_ERR_OPTION,
     "%s: an unknown option is refused", d->name);
  stab->destroy(NULL); /* is allowed */
  check_contacts(stab, ws);

  if (stab->rhs != NULL) { /* without error there is no feedback */
    double zero[8] = { 0 }, rhs[8] = { 1, 2, 3, 4 };
    stab->rhs(ws, PERP_LEVEL_VELOCITY, 0.01, zero, zero, rhs);
    stab->rhs(ws, PERP_LEVEL_ACCELERATION, 0.01, zero, zero, rhs);
    ok(rhs[0] == 1 && rhs[3] == 4, "%s: no error, no feedback", d->name);
    double error[8] = { 1e-3, -2e-3, 0, 0 }, back[8] = { 0 };
    stab->rhs(ws, PERP_LEVEL_VELOCITY, 0.01, error, zero, back);
    ok(back[0] <= 0 && back[1] >= 0 && back[2] == 0 && (back[0] < 0) == (back[1] > 0),
       "%s: feedback is against the error: %g, %g", d->name, back[0], back[1]);
  }
  if (stab->post_step == NULL) goto done;

  /* an exact state is left bit by bit, at the cost of looking at it */
  perp_stats stats = { 0 };
  memcpy(q0, q, sizeof q), memcpy(v0, v, sizeof v);
  s.linearized = 0;
  ok(stab->post_step(ws, 0, q, v, &stats) == PERP_OK && stats.reason == PERP_CONVERGED &&
         memcmp(q, q0, sizeof q) == 0 && memcmp(v, v0, sizeof v) == 0,
     "%s: an exact state is left alone", d->name);
  ok(s.linearized == 0, "%s: and needs no factorization", d->name);

  /* an error in q and v: none grows, and what is promised vanishes */
  for (int i = 0; i < 8; i++) q[i] += 1e-3 * sin(i), v[i] += cos(3 * i);
  memcpy(q0, q, sizeof q), memcpy(v0, v, sizeof v);
  pendulum_error(&s, 0, q, C);
  double before = 0, after = 0, rate = 0, rate0 = 0;
  for (int i = 0; i < 4; i++) before = fmax(before, fabs(C[i]));
  pendulum_rate(&s, 0, q, v, C);
  for (int i = 0; i < 4; i++) rate0 = fmax(rate0, fabs(C[i]));
  stab->post_step(ws, 0, q, v, &stats); /* once before counting: lazy work of libraries */
  memcpy(q, q0, sizeof q), memcpy(v, v0, sizeof v);
  long allocated = count_malloc;
  stab->post_step(ws, 0, q, v, &stats);
  if (COUNTS_MALLOC)
    ok(allocated > 0 && allocated == count_malloc, "%s: post_step allocates nothing", d->name);
  else
    skip("not counted", "%s: post_step allocates nothing", d->name);
  ok(stats.reason == PERP_CONVERGED, "%s: reason %s", d->name, perp_reason_name(stats.reason));
  pendulum_error(&s, 0, q, C);
  for (int i = 0; i < 4; i++) after = fmax(after, fabs(C[i]));
  pendulum_rate(&s, 0, q, v, C);
  for (int i = 0; i < 4; i++) rate = fmax(rate, fabs(C[i]));
  bool moves_q = memcmp(q, q0, sizeof q) != 0, moves_v = memcmp(v, v0, sizeof v) != 0;
  ok(moves_q || moves_v, "%s %s: corrects something", d->name, options);
  if (moves_q) /* Newton: quadratic */
    below(after, 10 * before * before, "%s %s: position error %g becomes %g", d->name, options,
          before, after);
  if (moves_v) below(rate, 1e-12, "%s %s: velocity error %g vanishes", d->name, options, rate0);

  /* within its arrays, with counts, and reading its errors only */
  static walled wq, wv, wc;
  memcpy(wall_set(&wq, 8, 0), q0, 8 * sizeof *q);
  memcpy(wall_set(&wv, 8, 0), v0, 8 * sizeof *v);
  stats = (perp_stats){ 0 };
  watch_begin();
  stab->post_step(ws, 0, wq.x, wv.x, &stats);
  watch_end();
  ok(wall_stands(&wq) && wall_stands(&wv), "%s %s: writes nothing beside q and v", d->name,
     options);
  ok(watch_reason(stats.reason) && watch_counts(&stats) && stats.factorizations > 0,
     "%s %s: counts its factorizations", d->name, options);
  if (stab->rhs != NULL) {
    wall_set(&wc, 4, 0);
    pendulum_error(&s, 0, q0, C);
    double kept[8], Cdot[8] = { 0 };
    memcpy(kept, C, sizeof C);
    stab->rhs(ws, PERP_LEVEL_VELOCITY, 0.01, C, Cdot, wc.x);
    ok(wall_stands(&wc) && memcmp(kept, C, sizeof C) == 0,
       "%s %s: feedback is written to its rows only", d->name, options);
  }

  /* the same again is identical */
  double q1[16], v1[16];
  memcpy(q1, q0, sizeof q), memcpy(v1, v0, sizeof v);
  stab->post_step(ws, 0, q1, v1, &stats);
  ok(memcmp(q1, q, 8 * sizeof *q) == 0 && memcmp(v1, v, 8 * sizeof *v) == 0, "%s %s: deterministic",
     d->name, options);

  /* failures leave the state as it was */
  memcpy(q, q0, sizeof q), memcpy(v, v0, sizeof v);
  s.broken = true;
  stab->post_step(ws, 0, q, v, &stats);
  ok(stats.reason < 0 && memcmp(q, q0, sizeof q) == 0 && memcmp(v, v0, sizeof v) == 0,
     "%s %s: a failed linear solve leaves the state (%s)", d->name, options,
     perp_reason_name(stats.reason));
  s.broken = false;
  for (int k = 0; k < 2; k++) {
    memcpy(q1, q0, sizeof q), memcpy(v1, v0, sizeof v);
    *(k == 0 ? &q1[3] : &v1[3]) = (double)NAN;
    memcpy(q, q1, sizeof q), memcpy(v, v1, sizeof v);
    stab->post_step(ws, 0, q1, v1, &stats);
    if (k == 1 && !moves_v) {
      ok(memcmp(v, v1, sizeof v) == 0, "%s %s: v is not looked at", d->name, options);
      continue;
    }
    ok(stats.reason == PERP_NOT_FINITE && memcmp(q, q1, sizeof q) == 0 &&
           memcmp(v, v1, sizeof v) == 0,
       "%s %s: NaN in %s is refused", d->name, options, k == 0 ? "q" : "v");
  }
done:
  stab->destroy(ws);
  struct lived x = { stab, &s, spec.opts };
  s.broken = false;
  watch_begin();
  life(&x);
  watch_end();
  watch_memory(d->name, life, &x);
  watch_silent(d->name);
  perp_spec_free(&spec);
  pendulum_close(&s);
}

int main(void)
{
  pendulum s;
  double q[16], v[16];
  pendulum_open(&s, 1, q, v);
  register_under_test(&pendulum_ctx);
  for (int i = 0;; i++) {
    const perp_desc *d = perp_plugin_at(&pendulum_ctx, PERP_KIND_stab, i);
    if (d == NULL) break;
    if (under_test(d)) check(d, "");
  }
  if (only_outside) return tap_done();
  const perp_desc *post = perp_find(&pendulum_ctx, PERP_KIND_stab, "post");
  check(post, "passes=3");
  check(post, "velocity=true");
  pendulum_close(&s);
  return tap_done();
}
