/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every formulation of the registry with every fitting part: what all must do.  Time,
 * determinism, restart, failure that leaves the last good state, refusals, clocks, and no
 * allocation in the steady state. */
#include "experiments/scenes/scene_file.h"
#include "tests/contract/under_test.h"
#include "tests/run_model.h"

#include "tests/count_malloc.h" /* last: looks for the C library */
#include "tests/contract/watch.h"

static perp_ctx ctx;

/* a swinging chain with a side branch; every formulation serves it */
static perp_model *tree(void)
{
  perp_model *model = run_model(&ctx, 3);
  for (int i = 0; i < 4; i++) {
    perp_body_def link = { .mass = perp_mass_box(1, 0.1, 0.02, 0.03), .x[0] = 0.1 * i + 0.05 };
    int parent = i - 1;
    if (i == 3) { /* branches off the second link */
      link.x[0] = 0.25, link.x[1] = 0.0;
      parent = 1;
    }
    run_body(&ctx, model, link);
    perp_joint_def joint = { .kind = PERP_JOINT_BALL, .a = parent, .b = i, .anchor_b[0] = -0.05 };
    if (parent >= 0) joint.anchor_a[0] = 0.05;
    run_joint(&ctx, model, joint);
  }
  return run_finish(&ctx, model);
}

static const char *describe(char *buf, size_t size, run_parts p)
{
  snprintf(buf, size, "%s + %s + %s + %s", p.formulation, p.ode, p.kkt, p.stab);
  return buf;
}

static bool all_finite(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

static bool may_allocate(run_parts p)
{
  const char *names[] = { p.ode, p.kkt };
  perp_kind kinds[] = { PERP_KIND_ode, PERP_KIND_kkt };
  for (int i = 0; i < 2; i++) {
    const perp_desc *d = names[i] == NULL ? NULL : perp_find(&ctx, kinds[i], names[i]);
    if (d != NULL && (d->caps & PERP_CAP_ALLOCATES)) return true;
  }
  return false;
}

/* one combination of parts on the tree */
static void contract(perp_model *model, run_parts p)
{
  char who[160];
  describe(who, sizeof who, p);
  int nq = perp_model_nq(model), nv = perp_model_nv(model), m = perp_model_m(model);
  double h = 1e-3, t, q1[64], v1[64];
  const double *q, *v;
  perp_step_info info = { .reason = PERP_RUNNING };
  perp_sim *sim = run_start(&ctx, model, p, h);
  perp_sim_state(sim, &t, &q, &v);
  bool start = t == 0 && q != NULL && v != NULL;

  /* steps go on, end at t_max exactly, and say all that they should */
  bool good = true, moved = false;
  for (int k = 0; k < 20; k++) {
    double before = t;
    good &= perp_sim_step(&ctx, sim, HUGE_VAL, &info) == PERP_OK && info.reason > 0;
    perp_sim_state(sim, &t, &q, &v);
    good &= t > before && all_finite(nq, q) && all_finite(nv, v) &&
            !(info.drift_pos_pre < 0); /* NaN: unknown */
    if (info.lambda != NULL) good &= all_finite(m, info.lambda);
    moved |= memcmp(q, perp_model_q0(model), (size_t)nq * sizeof *q) != 0;
  }
  double end = t + 0.3 * h;
  good &= run_to(&ctx, sim, end) > 0;
  perp_sim_state(sim, &t, &q, &v);
  ok(start && good && moved && t == end, "%s: 20 steps and on to a time", who);

  perp_ode_counters ode;
  perp_stats kkt;
  perp_sim_counters(sim, &ode, &kkt);
  ok(ode.steps >= 21 && ode.rhs >= 21, "%s: counters: %ld steps, %ld derivatives", who,
     (long)ode.steps, (long)ode.rhs);

  /* the same run again, by restart and by a new simulation: the same bits */
  memcpy(q1, q, (size_t)nq * sizeof *q);
  memcpy(v1, v, (size_t)nv * sizeof *v);
  perp_sim *twin = run_start(&ctx, model, p, h);
  for (int round = 0; round < 2; round++) {
    perp_sim *s = round == 0 ? sim : twin;
    perp_sim_restart(&ctx, s, 0, perp_model_q0(model), perp_model_v0(model));
    for (int k = 0; k < 20; k++) perp_sim_step(&ctx, s, HUGE_VAL, &info);
    run_to(&ctx, s, end);
    perp_sim_state(s, &t, &q, &v);
    ok(memcmp(q, q1, (size_t)nq * sizeof *q) == 0 && memcmp(v, v1, (size_t)nv * sizeof *v) == 0,
       "%s: %s gives the same bits", who, round == 0 ? "restart" : "another simulation");
  }
  perp_sim_destroy(twin);

  /* the state to start from is checked */
  double bad[64];
  memcpy(bad, perp_model_q0(model), (size_t)nq * sizeof *bad);
  bad[1] = (double)NAN;
  ok(perp_sim_restart(&ctx, sim, 0, bad, perp_model_v0(model)) == PERP_ERR_ARG,
     "%s: NaN in the start is refused", who);

  if (!COUNTS_MALLOC || may_allocate(p)) {
    skip(COUNTS_MALLOC ? "a part may allocate" : "sanitizer", "%s: no allocation", who);
  } else {
    perp_sim_restart(&ctx, sim, 0, perp_model_q0(model), perp_model_v0(model));
    for (int k = 0; k < 3; k++) perp_sim_step(&ctx, sim, HUGE_VAL, &info);
    long before = count_malloc;
    for (int k = 0; k < 20; k++) perp_sim_step(&ctx, sim, HUGE_VAL, &info);
    ok(count_malloc == before, "%s: the steady state allocates nothing (%ld)", who,
       count_malloc - before);
  }
  perp_sim_destroy(sim);
}

struct lived {
  perp_model *model;
  perp_parts parts;
};

static void life(void *user)
{
  struct lived *x = user;
  perp_sim *sim = NULL;
  perp_step_info info;
  if (perp_sim_create(&ctx, x->model, &x->parts, 1e-3, &sim) != PERP_OK) return;
  for (int k = 0; k < 5; k++) perp_sim_step(&ctx, sim, HUGE_VAL, &info);
  perp_sim_destroy(sim);
}

/* What a run prints, and what it leaves behind. */
static void traces(perp_model *model, const char *formulation)
{
  struct lived x = { .model = model };
  run_parts p = { .formulation = formulation };
  if (run_parse(&ctx, &p, &x.parts) != PERP_OK) bail("%s", ctx.msg);
  watch_begin();
  life(&x);
  watch_end();
  watch_memory(formulation, life, &x);
  watch_silent(formulation);
  run_free(&x.parts);
}

/* The motion is that of the same bodies under another formulation (penalty: to the give of its
 * springs; soft constraints, which are compliant by 3 mm with the impedance of MuJoCo: with a
 * stiffer one). */
static void motion(perp_model *model, const char *formulation)
{
  if (strcmp(formulation, "soft-constraints") == 0)
    formulation = "soft-constraints:timeconst=2e-3,dmin=0.99,dmax=0.999";
  const double end = 0.1;
  double want[64], rate[64], q[64], v[64], off[2];
  run_fresh(&ctx, model, (run_parts){ "acceleration", "rk4", "", "" }, 1e-3, end, want, rate);
  for (int i = 0; i < 2; i++) {
    run_fresh(&ctx, model, (run_parts){ formulation, "", "", "" }, i == 0 ? 1e-3 : 1e-4, end, q, v);
    off[i] = 0;
    for (int k = 0; k < perp_model_bodies(model); k++)
      for (int c = 0; c < 3; c++) off[i] = fmax(off[i], fabs(q[7 * k + c] - want[7 * k + c]));
  }
  ok(off[1] <= 1e-3, "%s: falls as bodies fall: off by %.2g m, %.2g m", formulation, off[0],
     off[1]);
}

/* Does an outside formulation take this method?  Those of perp are known. */
static bool serves(perp_model *model, run_parts p)
{
  perp_parts parts;
  perp_sim *sim = NULL;
  if (!only_outside) return true;
  if (run_parse(&ctx, &p, &parts) != PERP_OK) bail("%s", ctx.msg);
  perp_status status = perp_sim_create(&ctx, model, &parts, 1e-3, &sim);
  run_free(&parts);
  perp_sim_destroy(sim);
  if (status == PERP_ERR_UNSUPPORTED) skip(ctx.msg, "%s + %s", p.formulation, p.ode);
  return status != PERP_ERR_UNSUPPORTED;
}

static void all_parts(perp_model *model)
{
  static const char *const stabs[] = {
    "none", "baumgarte", "post", "post:velocity=true", "velocity-projection", "gradient-flow"
  };
  const perp_desc *form, *part;
  for (int f = 0; (form = perp_plugin_at(&ctx, PERP_KIND_formulation, f)) != NULL; f++) {
    if (!under_test(form)) continue;
    run_parts p = { form->name, "", "", "" };
    bool velocity = strncmp(form->name, "velocity", 8) == 0 ||
                    strcmp(form->name, "regularized") == 0;
    if (only_outside &&
        form->caps & PERP_FORM_USES_ODE) { /* which of the two it is, it says itself */
      p.ode = "rk4";
      velocity = !serves(model, p);
    }
    /* every ode with one kkt and stab, every kkt with one ode, every stab with one of each */
    if (form->caps & PERP_FORM_USES_ODE)
      for (int i = 0; (part = perp_plugin_at(&ctx, PERP_KIND_ode, i)) != NULL; i++) {
        if (velocity && !(part->caps & PERP_ODE_ONE_EVALUATION)) continue;
        p.ode = part->name;
        if (serves(model, p)) contract(model, p);
      }
    p.ode = form->caps & PERP_FORM_USES_ODE ? (velocity ? "symplectic-euler" : "rk4") : "";
    if (form->caps & PERP_FORM_USES_KKT)
      for (int i = 0; (part = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++) {
        p.kkt = part->name;
        contract(model, p);
      }
    p.kkt = "";
    if (form->caps & PERP_FORM_USES_STAB)
      for (size_t i = 0; i < sizeof stabs / sizeof *stabs; i++) {
        p.stab = stabs[i];
        contract(model, p);
      }
    motion(model, form->name);
    traces(model, form->name);
    if (strcmp(form->name, "acceleration") == 0)
      contract(model, (run_parts){ "acceleration:state=momentum", "rk4", "tree", "post" });
  }
}

static void refused(perp_model *model, run_parts p, double h, perp_status want, const char *part)
{
  perp_parts parts;
  perp_sim *sim = (perp_sim *)&parts;
  if (run_parse(&ctx, &p, &parts) != PERP_OK) bail("%s", ctx.msg);
  perp_status got = perp_sim_create(&ctx, model, &parts, h, &sim);
  run_free(&parts);
  ok(got == want && sim == NULL && strstr(ctx.msg, part) != NULL, "refused: %s", part);
  if (got != want || strstr(ctx.msg, part) == NULL) printf("# %s\n", ctx.msg);
}

static void refusals(perp_model *model)
{
  run_parts none = { "", "", "", "" };
  refused(model, none, 0, PERP_ERR_ARG, "h must be positive: got 0 s");
  refused(model, none, -1, PERP_ERR_ARG, "h must be positive: got -1 s");
  refused(model, none, (double)NAN, PERP_ERR_ARG, "h must be positive");
  refused(model, none, HUGE_VAL, PERP_ERR_ARG, "h must be positive: got inf s");
  refused(model, (run_parts){ "velocity", "rk4", "", "" }, 1e-3, PERP_ERR_UNSUPPORTED,
          "one evaluation per step");
  refused(model, (run_parts){ "acceleration:state=momentum", "symplectic-euler", "", "" }, 1e-3,
          PERP_ERR_UNSUPPORTED, "symplectic-euler");
  perp_model *raw = run_model(&ctx, 3);
  refused(raw, none, 1e-3, PERP_ERR_ARG, "the model is not finished");
  perp_model_destroy(raw);
  perp_sim_destroy(NULL);
}

/* empty parts: what runs then */
static void defaults(perp_model *model)
{
  static const struct {
    run_parts given, same;
  } cases[] = {
    { { "", "", "", "" }, { "velocity", "symplectic-euler", "tree", "baumgarte" } },
    { { "", "euler", "", "" }, { "velocity", "euler", "tree", "baumgarte" } },
    { { "", "rk4", "", "" }, { "acceleration", "rk4", "tree", "post:velocity=true" } },
    { { "", "gsl:msadams", "", "" },
      { "acceleration", "gsl:msadams", "tree", "post:velocity=true" } },
    { { "acceleration", "", "", "" },
      { "acceleration", "symplectic-euler", "tree", "post:velocity=true" } },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double q1[64], q2[64], v1[64], v2[64];
    run_fresh(&ctx, model, cases[i].given, 1e-3, 0.02, q1, v1);
    run_fresh(&ctx, model, cases[i].same, 1e-3, 0.02, q2, v2);
    char who[160];
    ok(memcmp(q1, q2, (size_t)perp_model_nq(model) * sizeof *q1) == 0 &&
           memcmp(v1, v2, (size_t)perp_model_nv(model) * sizeof *v1) == 0,
       "defaults: '%s' '%s' is %s", cases[i].given.formulation, cases[i].given.ode,
       describe(who, sizeof who, cases[i].same));
  }
}

static void clocks(perp_model *model)
{
  static const char *const forms[] = { "velocity", "acceleration" };
  for (int i = 0; i < 2; i++) {
    perp_times times;
    perp_sim *sim = run_start(&ctx, model, (run_parts){ forms[i], "", "", "" }, 1e-3);
    run_to(&ctx, sim, 0.01);
    perp_sim_timing(sim, true, &times);
    ok(times.kkt == 0 && times.assembly == 0 && times.integrate == 0,
       "%s: nothing is clocked before it is asked", forms[i]);
    run_to(&ctx, sim, 0.1);
    perp_sim_timing(sim, false, &times);
    ok(times.kkt > 0 && times.assembly > 0 && times.integrate >= 0 && times.lcp == 0 &&
           times.collision == 0 && times.kkt < 10,
       "%s: the breakdown has its parts", forms[i]);
    perp_times again;
    run_to(&ctx, sim, 0.12);
    perp_sim_timing(sim, false, &again);
    ok(again.kkt == times.kkt, "%s: and stands still when switched off", forms[i]);
    perp_sim_destroy(sim);
  }
}

/* The parts of the breakdown, and their sum. */
static bool breakdown(perp_sim *sim, bool on, double part[5], double *sum)
{
  perp_times x;
  perp_sim_timing(sim, on, &x);
  const double all[5] = { x.collision, x.assembly, x.kkt, x.lcp, x.integrate };
  bool good = true;
  *sum = 0;
  for (int i = 0; i < 5; i++) {
    /* what is left over is a difference of sums: to rounding */
    good &= all[i] >= (i < 4 ? 0 : -1e-9);
    part[i] = all[i];
    *sum += all[i];
  }
  return good;
}

/* The seconds of a run are parts of its wall time: no part is negative or shrinks, the sum is no
 * more than what passed; a restart forgets all.  Nothing depends on the speed. */
static void seconds(perp_model *model, run_parts p, const char *what, bool kkt, bool lcp)
{
  double part[2][5], sum[2], t;
  perp_parts parts;
  perp_sim *sim = NULL;
  if (run_parse(&ctx, &p, &parts) != PERP_OK) bail("%s", ctx.msg);
  const perp_status status = perp_sim_create(&ctx, model, &parts, 1e-3, &sim);
  run_free(&parts);
  if (status != PERP_OK) {
    skip(ctx.msg, "%s: %s: seconds", p.formulation, what);
    return;
  }
  const double *q, *v;
  perp_sim_timing(sim, true, NULL);
  const double before = perp_clock_wall();
  perp_reason reason = run_to(&ctx, sim, 0.06);
  bool good = breakdown(sim, true, part[0], &sum[0]);
  reason = reason > 0 ? run_to(&ctx, sim, 0.15) : reason;
  const double passed = perp_clock_wall() - before;
  good &= breakdown(sim, false, part[1], &sum[1]);
  perp_sim_state(sim, &t, &q, &v);
  if (reason <= 0) bail("%s: %s: %s at %g s", p.formulation, what, perp_reason_name(reason), t);
  for (int i = 0; i < 4; i++) good &= part[1][i] >= part[0][i];
  const double *x = part[1];
  const bool touching = perp_model_shapes(model) > 0;
  if (!only_outside) { /* those of perp clock all that they do */
    good &= sum[1] > sum[0];
    good &= touching == (x[0] > 0) && (touching && lcp) == (x[3] > 0) && kkt == (x[2] > 0);
  }
  ok(good && sum[1] <= passed + 1e-9, "%s: %s: seconds: %.2g + %.2g + %.2g + %.2g + %.2g of %.2g",
     p.formulation, what, x[0], x[1], x[2], x[3], x[4], passed);
  const perp_group_count *groups = perp_sim_groups(sim);
  if (groups != NULL)
    ok(groups->advance_s >= sum[1] - 1e-9 && groups->advance_s <= passed + 1e-9 &&
           (groups->restart_s > 0) == touching && groups->restart_s <= groups->advance_s,
       "%s: %s: %.2g s of advances, %.2g s of them restarts", p.formulation, what,
       groups->advance_s, groups->restart_s);
  perp_sim_restart(&ctx, sim, 0, perp_model_q0(model), perp_model_v0(model));
  breakdown(sim, false, part[0], &sum[0]);
  good = true;
  for (int i = 0; i < 5; i++) good &= part[0][i] == 0;
  ok(good, "%s: %s: a restart forgets the seconds", p.formulation, what);
  perp_sim_destroy(sim);
}

/* four balls in a row: two on a rod slide and bounce, and of two in the air one flies into the
 * other */
static perp_model *balls(void)
{
  perp_model *model = run_model(&ctx, 3);
  const perp_surface surface = { .mu = 0.3, .mu_dynamic = 0.3, .restitution = 0.5 };
  perp_shape_def ground = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface };
  run_shape(&ctx, model, ground);
  for (int i = 0; i < 4; i++) {
    perp_body_def def = { .mass = perp_mass_sphere(1, 0.1),
                          .x = { 0.3 * i, 0, i < 2 ? 0.1 + 0.002 * i : 1 },
                          .v = { i == 3 ? -5 : 0, 0.1, i < 2 ? -0.3 : 0 } };
    perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE,
                            .body = run_body(&ctx, model, def),
                            .radius = 0.1,
                            .surface = surface };
    run_shape(&ctx, model, ball);
  }
  run_joint(
      &ctx, model,
      (perp_joint_def){ .kind = PERP_JOINT_DISTANCE, .a = 0, .b = 1, .length = hypot(0.3, 0.002) });
  return run_finish(&ctx, model);
}

static void all_seconds(perp_model *model)
{
  perp_model *touching = balls();
  const perp_desc *form;
  for (int f = 0; (form = perp_plugin_at(&ctx, PERP_KIND_formulation, f)) != NULL; f++) {
    if (!under_test(form)) continue;
    const bool kkt = (form->caps & PERP_FORM_USES_KKT) != 0 || strcmp(form->name, "reduced") == 0;
    const bool lcp = (form->caps & PERP_FORM_USES_LCP) != 0; /* penalty has contacts without */
    seconds(model, (run_parts){ .formulation = form->name }, "tree", kkt, lcp);
    seconds(touching, (run_parts){ .formulation = form->name }, "contacts", kkt, lcp);
  }
  perp_model_destroy(touching);
}

/* A bead between two ropes on one line, moving across: both accelerations along the line are
 * prescribed and differ, -v^2 / 1 and +v^2 / 2. */
static void jammed(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x[0] = 1, .v[1] = 1 });
  for (int i = 0; i < 2; i++)
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_DISTANCE,
                                .a = PERP_WORLD,
                                .b = 0,
                                .anchor_a[0] = 3 * i,
                                .length = 1 + i });
  run_finish(&ctx, model);
  const perp_desc *kkt;
  for (int i = 0; (kkt = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++)
    for (int level = 0; level < 2; level++) {
      run_parts p = { level == 0 ? "acceleration" : "velocity",
                      level == 0 ? "rk4" : "symplectic-euler", kkt->name, "none" };
      double q[7], v[6], t;
      const double *now;
      perp_sim *sim = run_start(&ctx, model, p, 1e-3);
      perp_reason reason = run_to(&ctx, sim, 3);
      perp_sim_state(sim, &t, &now, &(const double *){ NULL });
      memcpy(q, now, sizeof q);
      (void)v;
      if (level == 0)
        ok(reason == PERP_INFEASIBLE && t == 0 && memcmp(q, perp_model_q0(model), sizeof q) == 0,
           "%s: contradicting joints stop the run at its start (%s at %g s)", kkt->name,
           perp_reason_name(reason), t);
      else
        ok(all_finite(7, q), "%s: velocity level: finite, %s at %g s", kkt->name,
           perp_reason_name(reason), t);
      perp_sim_destroy(sim);
    }
  perp_model_destroy(model);
}

/* Feedback far beyond stability: the run ends by itself, at a finite state, with a reason. */
static void diverging(perp_model *model)
{
  static const run_parts runs[] = {
    { "velocity", "symplectic-euler", "tree", "baumgarte:alpha=1e6" },
    { "acceleration", "rk4", "tree", "baumgarte:alpha=1e7" },
    { "acceleration", "euler", "schur-dense", "baumgarte:alpha=1e5" }
  };
  for (int i = 0; i < 3; i++) {
    char who[160];
    describe(who, sizeof who, runs[i]);
    perp_sim *sim = run_start(&ctx, model, runs[i], 1e-3);
    perp_reason reason = run_to(&ctx, sim, 5);
    double t;
    const double *q, *v;
    perp_sim_state(sim, &t, &q, &v);
    ok(reason < 0 && t < 5 && all_finite(perp_model_nq(model), q) &&
           all_finite(perp_model_nv(model), v),
       "%s: diverges (%s at %g s), the last state is finite", who, perp_reason_name(reason), t);
    /* and stays stopped there */
    perp_step_info info;
    double before = t;
    perp_sim_step(&ctx, sim, 5, &info);
    perp_sim_state(sim, &t, &q, &v);
    ok(info.reason < 0 || t > before, "%s: another step fails or goes on", who);
    perp_sim_destroy(sim);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  register_under_test(&ctx);
  perp_model *model = tree();
  all_parts(model);
  all_seconds(model);
  if (!only_outside) { /* named formulations of perp */
    refusals(model);
    defaults(model);
    clocks(model);
    diverging(model);
    jammed();
  }
  perp_model_destroy(model);
  return tap_done();
}
