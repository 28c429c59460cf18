/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A problem that was not solved is one: with a solver that gives up at its k-th call, for each k,
 * every formulation with every stabilization ends a run with at least one failure, whatever the
 * problem was for: a step, an impact, restitution, relaxation, a projection of positions or of
 * velocities, an event.  A problem of the search for a second solution (choice=least-norm) is none
 * of the step's: such a run is marked as undecided. */
#include "solvers/lcp/lcp.h"
#include "tests/run_model.h"

static perp_ctx ctx;

/* ---- the solver ---- */

static struct {
  int calls, fails_at;
  perp_spec of;
} plan;

typedef struct kth {
  perp_lcp_solver *of;
  int max_n;
  double *w;
} kth;

static void kth_destroy(void *ws)
{
  kth *s = ws;
  if (s == NULL) return;
  perp_lcp_destroy(s->of);
  free(s->w);
  free(s);
}

static perp_status kth_create(perp_ctx *c, int max_n, const void *opts, void **ws)
{
  (void)opts;
  kth *s = calloc(1, sizeof *s);
  *ws = s;
  if (s == NULL) return PERP_FAIL(c, PERP_ERR_NOMEM, "kth: no memory");
  s->w = calloc((size_t)max_n + 1, sizeof *s->w);
  return perp_lcp_create(c, &plan.of, max_n, 0, &s->of);
}

static perp_status kth_solve(perp_ctx *c, void *ws, const perp_lcp *p, double *lambda,
                             double *certificate, perp_stats *stats)
{
  kth *s = ws;
  perp_no_certificate(p, certificate);
  PERP_TRY(perp_lcp_solve(c, s->of, p, p->tol, lambda, s->w, NULL, stats));
  if (++plan.calls != plan.fails_at) return PERP_OK;
  /* zeros may be the solution, and what solves a problem counts as solved whatever is said of it */
  double largest = 0;
  for (int i = 0; i < p->n; i++) largest = fmax(largest, fabs(lambda[i]));
  for (int i = 0; i < p->n; i++) lambda[i] += 1 + largest;
  stats->reason = PERP_MAX_ITER;
  return PERP_OK;
}

#define SERVES                                                                                     \
  (PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE)
static perp_lcp_desc perp_lcp_kth = {
  .d = { .name = "kth", .summary = "fails at its k-th call", .caps = SERVES | PERP_CAP_ALLOCATES },
  .create = kth_create,
  .solve = kth_solve,
  .destroy = kth_destroy
};

/* ---- two scenes ---- */

/* A ball falls on a box that lies 1 mm deep in the floor and slides. */
static perp_model *bodies(void)
{
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, 9.81);
  const perp_surface rough = { .mu = 0.3, .mu_dynamic = 0.3, .restitution = 0.5 };
  const perp_shape_def shapes[] = {
    { .body = PERP_WORLD, .kind = PERP_SHAPE_PLANE, .surface = rough },
    { .body = 0, .kind = PERP_SHAPE_BOX, .half = { 0.5, 0.2 }, .surface = rough },
    { .body = 1, .kind = PERP_SHAPE_SPHERE, .radius = 0.1, .surface = rough },
  };
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_box(2, 1, 0.4, 0.4), .x = { 0, 0.199 }, .v = { 1 } });
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { 0.1, 0.51 }, .v = { 0, -2 } });
  for (int i = 0; i < 3; i++)
    if (perp_model_add_shape(&ctx, model, &shapes[i], NULL) != PERP_OK) bail("%s", ctx.msg);
  return run_finish(&ctx, model);
}

/* A rod on a hinge, driven by a motor of limited force, meets its limit. */
static perp_model *arm(void)
{
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, 9.81);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_box(1, 1, 0.1, 0.1), .x = { 0.5, 0 } });
  run_joint(
      &ctx, model,
      (perp_joint_def){ .kind = PERP_JOINT_HINGE, .a = PERP_WORLD, .b = 0, .anchor_b = { -0.5 } });
  run_drive(&ctx, model,
            (perp_drive_def){ .joint = 0,
                              .lower = -0.1,
                              .upper = HUGE_VAL,
                              .restitution = 0.5,
                              .velocity = -1,
                              .max_force = 1 });
  return run_finish(&ctx, model);
}

/* ---- runs ---- */

typedef struct outcome {
  int calls;
  int64_t failures, undecided;
  perp_reason reason;
} outcome;

static bool run_kth(perp_model *model, run_parts parts, double t_end, int fails_at, outcome *end)
{
  perp_parts spec;
  perp_sim *sim = NULL;
  plan.calls = 0;
  plan.fails_at = fails_at;
  if (run_parse(&ctx, &parts, &spec) != PERP_OK) bail("%s", ctx.msg);
  const perp_status status = perp_sim_create(&ctx, model, &spec, 5e-3, &sim);
  run_free(&spec);
  if (status != PERP_OK) return false;
  end->reason = run_to(&ctx, sim, t_end);
  end->calls = plan.calls;
  const perp_contact_count *count = perp_sim_contacts(sim);
  end->failures = count != NULL ? count->failures : 0;
  end->undecided = count != NULL ? count->undecided : 0;
  perp_sim_destroy(sim);
  return true;
}

static void each_call(perp_model *model, const char *what, run_parts parts)
{
  outcome whole, one;
  /* steps that are chosen are many */
  const bool chosen = strstr(parts.formulation, "tol=") != NULL;
  const double t_end = chosen ? 0.02 : 0.1;
  parts.lcp = "kth";
  if (!run_kth(model, parts, t_end, 0, &whole)) bail("%s", ctx.msg);
  int silent = 0, first = 0;
  for (int k = 1; k <= whole.calls; k += chosen ? 7 : 1) {
    if (!run_kth(model, parts, t_end, k, &one)) bail("%s", ctx.msg);
    if (one.failures + one.undecided > 0) continue;
    silent++;
    if (first == 0) first = k;
  }
  ok(whole.calls > 0 && whole.failures + whole.undecided == 0 && whole.reason > 0 && silent == 0,
     "%s, %s, %s: %d calls; %d failures of them do not count (the first: %d)", what,
     parts.formulation, parts.stab, whole.calls, silent, first);
}

/* Overlaps that a projection cannot take out count, whether the scheme is soft or not. */
static void test_narrow(void)
{
  static const char *const formulations[] = { "velocity", "reduced", "impulse", "acceleration" };
  static const char *const stabs[] = { "split", "split:softness=0", "post", "post:softness=1e-7" };
  perp_model *model = run_model(&ctx, 2);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1) });
  perp_shape_def ball = { .body = 0, .kind = PERP_SHAPE_SPHERE, .radius = 0.1 };
  run_shape(&ctx, model, ball);
  for (int side = -1; side <= 1; side += 2) {
    const perp_shape_def wall = {
      .body = PERP_WORLD, .kind = PERP_SHAPE_BOX, .half = { 0.1, 1 }, .x = { side * 0.199 }
    };
    run_shape(&ctx, model, wall);
  }
  run_finish(&ctx, model);
  for (int f = 0; f < 4; f++)
    for (int i = 0; i < 4; i++) {
      const run_parts parts = { .formulation = formulations[f],
                                .stab = stabs[i],
                                .lcp = "dantzig" };
      perp_sim *sim = run_start(&ctx, model, parts, 2e-3);
      run_to(&ctx, sim, 0.02);
      const perp_contact_count *count = perp_sim_contacts(sim);
      const int64_t none = perp_contact_count_none(count);
      ok(none > 0 && count->failures == none,
         "a ball in too narrow a gap, %s, %s: %d problems without a solution", formulations[f],
         stabs[i], (int)none);
      perp_sim_destroy(sim);
    }
  perp_model_destroy(model);
}

/* A ball that touches one wall 2 nm deeper than the gap is too narrow: the projection, which leaves
 * 1 nm alone, is solved where both walls keep less than that, however much of the overlap it is. */
static void test_within_tol(void)
{
  static const double narrow[] = { 1e-9, 4e-9 }; /* half of it is left at each wall */
  for (int i = 0; i < 2; i++) {
    perp_model *model = run_model(&ctx, 2);
    run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { 2e-9, 0, 0 } });
    run_shape(&ctx, model, (perp_shape_def){ .body = 0, .kind = PERP_SHAPE_SPHERE, .radius = 0.1 });
    for (int side = -1; side <= 1; side += 2)
      run_shape(&ctx, model,
                (perp_shape_def){ .body = PERP_WORLD,
                                  .kind = PERP_SHAPE_BOX,
                                  .half = { 0.1, 1 },
                                  .x = { side * (0.2 - 0.5 * narrow[i]) } });
    run_finish(&ctx, model);
    const run_parts parts = { .formulation = "velocity", .stab = "split", .lcp = "dantzig" };
    perp_sim *sim = run_start(&ctx, model, parts, 1e-3);
    run_to(&ctx, sim, 1e-3);
    const perp_contact_count *count = perp_sim_contacts(sim);
    const double *q, *v;
    double t;
    perp_sim_state(sim, &t, &q, &v);
    near(q[0], 0, 1e-12, 0, "a gap too narrow by %g m: the walls share it", narrow[i]);
    ok((count->failures > 0) == (i == 1), "... %s within tol: %d problems without a solution",
       i == 0 ? "what is left is" : "not", (int)count->failures);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

int main(void)
{
  static const struct {
    const char *formulation, *ode;
    bool rigid; /* serves joints, limits and motors */
  } formulations[] = { { "velocity", NULL, true },
                       { "velocity:choice=least-norm", NULL, true },
                       { "velocity:choice=none", NULL, true },
                       { "reduced:choice=least-norm", NULL, true },
                       { "impulse:contact.choice=least-norm", NULL, true },
                       { "velocity:substeps=2", NULL, true },
                       { "velocity:relax=yes", NULL, true },
                       { "velocity:frequency=30", NULL, true },
                       { "velocity:impact=poisson", NULL, true },
                       { "velocity:tol=1e-3", NULL, true },
                       { "velocity-midpoint", NULL, false },
                       { "velocity-implicit", NULL, true },
                       { "reduced", NULL, true },
                       { "regularized", NULL, true },
                       { "impulse", NULL, true },
                       { "acceleration", NULL, true },
                       { "acceleration", "rk4", true },
                       { "acceleration", "dopri5", true },
                       { "groups", NULL, true } };
  static const char *const stabs[] = { "none",
                                       "baumgarte",
                                       "split",
                                       "post",
                                       "post:velocity=true",
                                       "post:velocity=true,hold=true",
                                       "velocity-projection" };
  static const perp_plugin mine[] = { { PERP_KIND_lcp, &perp_lcp_kth.d }, { 0, NULL } };
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register(&ctx, mine) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_lcp, "auto", &plan.of) != PERP_OK)
    bail("%s", ctx.msg);
  perp_model *contacts = bodies(), *drives = arm();
  for (size_t f = 0; f < sizeof formulations / sizeof *formulations; f++)
    for (size_t i = 0; i < sizeof stabs / sizeof *stabs; i++) {
      run_parts parts = { .formulation = formulations[f].formulation,
                          .ode = formulations[f].ode,
                          .stab = stabs[i],
                          .contact = "box" };
      /* methods that go from a basis, or a guess, are not asked again either */
      perp_lcp_kth.d.caps = SERVES | PERP_CAP_ALLOCATES |
                            (i % 2 == 0 ? 0 : PERP_LCP_PIVOTING | PERP_LCP_WARM);
      each_call(contacts, "contacts", parts);
      parts.contact = NULL;
      if (formulations[f].rigid) each_call(drives, "a limit and a motor", parts);
    }
  test_narrow();
  test_within_tol();
  perp_model_destroy(contacts);
  perp_model_destroy(drives);
  perp_spec_free(&plan.of);
  return tap_done();
}
