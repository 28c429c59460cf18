/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Critical contacts (Vondrak 2005, section 6.5.2): where the acceleration level has no solution is
 * known in closed form for Painleve's rod and by a certificate for a crushed box; what stops the
 * bodies is judged by momenta, energy and the law of friction, and the motion after it by an
 * equation of motion of its own. */
#include "experiments/scenes/scene_file.h"
#include "models/scenes/scene.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const double g = 9.81, RAD = M_PI / 180;
static const char FAIL[] = "acceleration", STOP[] = "acceleration:critical=stop";

static void open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, scene) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&spec);
}

static double product(int n, const double *x, const double *y)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* ---- when ---- */

static int critical_at(double theta, double mu, double spin)
{
  char text[128];
  perp_scene s;
  snprintf(text, sizeof text, "painleve:theta=%.17g,mu=%.17g,spin=%.17g", theta, mu, spin);
  open_scene(text, &s);
  perp_sim *sim = run_start(&ctx, s.model, (run_parts){ FAIL, "rk4", .lcp = "lemke" }, 1e-12);
  perp_step_info info;
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
  const perp_contact_count *c = perp_sim_contacts(sim);
  const int critical = (int)c->critical;
  if ((info.reason < 0) != (critical == 1) || info.n_critical != critical || c->stopped != 0 ||
      c->refuted != 0)
    bail("%s: reason %s, %d critical", text, perp_reason_name(info.reason), critical);
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  return critical;
}

/* p < 0 and b < 0: nowhere else */
static void when(void)
{
  static const double mus[] = { 0.5, 1.3, 1.5, 2, 3 }, spins[] = { 0, 2, 3.3, 4, 6 };
  int wrong = 0, found = 0, cases = 0;
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++)
      for (int k = 1; k < 45; k++) {
        const double theta = 2 * k * RAD, c = cos(theta), s = sin(theta);
        const double p = 1 + 3 * c * (c - mus[i] * s), b = spins[j] * spins[j] * s - g;
        const int critical = critical_at(theta, mus[i], spins[j]);
        wrong += critical != (p < 0 && b < 0);
        found += critical;
        cases++;
      }
  ok(wrong == 0 && found > 100, "Painleve's rod: %d of %d states are critical, %d wrongly", found,
     cases, wrong);
  /* the ends of the intervals */
  static const double ends[][3] = { { 1.5, 50.64159816, 73.04846937 },
                                    { 2, 37.37736815, 79.18768304 } };
  for (int i = 0; i < 2; i++) {
    const double d = 1e-5 * RAD, lo = ends[i][1] * RAD, hi = ends[i][2] * RAD;
    ok(!critical_at(lo - d, ends[i][0], 0) && critical_at(lo + d, ends[i][0], 0) &&
           critical_at(hi - d, ends[i][0], 0) && !critical_at(hi + d, ends[i][0], 0),
       "mu = %g: between %.8f and %.8f degrees, to 1e-5", ends[i][0], ends[i][1], ends[i][2]);
  }
}

/* ---- the stop ---- */

static void impulse(const char *options, const char *formulation, const char *lcp,
                    const char *contact)
{
  const double theta = 1.1071487177940904, c = cos(theta), s = sin(theta), mu = 2;
  const bool space = strstr(options, "dim=3") != NULL;
  char text[128];
  perp_scene scene;
  snprintf(text, sizeof text, "painleve%s", options);
  open_scene(text, &scene);
  const run_parts parts = {
    .formulation = formulation, .ode = "rk4", .lcp = lcp, .contact = contact
  };
  perp_sim *sim = run_start(&ctx, scene.model, parts, 1e-9);
  perp_step_info info;
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
  double t;
  const double *q, *v, *v0 = perp_model_v0(scene.model);
  perp_sim_state(sim, &t, &q, &v);
  /* x, height, rate from x to the height: before, after */
  const double before[3] = { v0[0], v0[space ? 2 : 1], space ? -v0[4] : v0[2] };
  const double after[3] = { v[0], v[space ? 2 : 1], space ? -v[4] : v[2] };
  /* contact = centre + (c, -s) */
  const double slip0 = before[0] + s * before[2], slip = after[0] + s * after[2];
  const double normal = after[1] + c * after[2];
  ok(info.reason > 0 && info.n_critical == 1, "%s, %s, %s: it goes on", text, formulation, lcp);
  below(hypot(slip, normal), 1e-6, "... and the contact has stopped, from %.3g m/s", slip0);
  const double P[2] = { after[0] - before[0], after[1] - before[1] };
  near((after[2] - before[2]) / 3, c * P[1] + s * P[0], 1e-7, 0,
       "... by an impulse at the contact");
  ok(P[1] > 0 && fabs(P[0]) <= mu * P[1], "... that pushes and is in the cone: %.4g of %.4g",
     fabs(P[0]), mu * P[1]);
  /* T falls by u_t^2 / 2 of the mass that the contact feels when it may not leave the floor */
  const double nn = 1 + 3 * c * c, tt = 1 + 3 * s * s, nt = 3 * s * c;
  const double T0 = 0.5 * (product(2, before, before) + before[2] * before[2] / 3);
  const double T1 = 0.5 * (product(2, after, after) + after[2] * after[2] / 3);
  near(T0 - T1, 0.5 * slip0 * slip0 * nn / (nn * tt - nt * nt), 1e-6, 0,
       "... which takes the energy of the slip, %.4g J of %.4g", T0 - T1, T0);
  const perp_contact_count *count = perp_sim_contacts(sim);
  ok(count->critical == 1 && count->stopped == 1 && count->failures == 0 && count->refuted >= 1 &&
         count->problems == count->solved + count->refuted,
     "... counted: critical %d, stopped %d, failures %d, refuted %d of %d", (int)count->critical,
     (int)count->stopped, (int)count->failures, (int)count->refuted, (int)count->problems);
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
}

/* A solver that has no proof does not make contacts critical: the run ends, and nothing is stopped.
 */
static void no_proof(void)
{
  static const char *const lcps[] = { "pgs", "fischer-newton" };
  for (int i = 0; i < 2; i++) {
    perp_scene s;
    open_scene("painleve", &s);
    perp_sim *sim = run_start(&ctx, s.model, (run_parts){ STOP, "rk4", .lcp = lcps[i] }, 1e-3);
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
    const perp_contact_count *c = perp_sim_contacts(sim);
    ok(info.reason < 0 && info.n_critical == 0 && c->critical == 0 && c->stopped == 0 &&
           c->failures > 0,
       "%s: a failure (%s) and no critical contact", lcps[i], perp_reason_name(info.reason));
    perp_sim_destroy(sim);
    perp_scene_destroy(&s);
  }
}

/* ---- after it ---- */

/* A slow rod stays on its end and falls over it: 4/3 theta'' = -g cos theta, by rk4 of this test.
 */
static void pivot(const char *formulation)
{
  perp_scene scene;
  open_scene("painleve:speed=1", &scene);
  const double theta0 = 1.1071487177940904, end = 0.1;
  perp_sim *sim = run_start(&ctx, scene.model, (run_parts){ formulation, "rk4", .lcp = "lemke" },
                            1e-4);
  double t, x[2] = { theta0, 0 };
  const double *q, *v;
  perp_step_info info = { .reason = PERP_EXACT };
  /* angular momentum about the contact: m u_c l sin theta = 4/3 theta' */
  x[1] = 0.75 * sin(theta0);
  const int n = 1000;
  for (int i = 0; i < n; i++) {
    double k[4][2], y[2] = { x[0], x[1] };
    for (int j = 0; j < 4; j++) {
      k[j][0] = y[1], k[j][1] = -0.75 * g * cos(y[0]);
      const double h = j < 2 ? 0.5 * end / n : end / n;
      for (int l = 0; l < 2; l++) y[l] = x[l] + h * k[j][l];
    }
    for (int l = 0; l < 2; l++)
      x[l] += end / n / 6 * (k[0][l] + 2 * k[1][l] + 2 * k[2][l] + k[3][l]);
  }
  perp_sim_state(sim, &t, &q, &v);
  while (t < end && info.reason >= 0) {
    if (perp_sim_step(&ctx, sim, end, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
  }
  near(t, end, 1e-12, 0, "%s, a slow rod: it goes on", formulation);
  near(-q[2], x[0], 1e-7, 0, "... and turns about its end: angle");
  near(-v[2], x[1], 1e-6, 0, "... and rate");
  below(hypot(q[0] + cos(x[0]), q[1] - sin(x[0])), 1e-7, "... which stays where it was");
  const perp_contact_count *c = perp_sim_contacts(sim);
  ok(c->critical == 1 && c->stopped == 1 && info.n_critical == 0,
     "... one stop was enough, and later steps tell of none");
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
}

/* A rod that slides with p > 0 towards the angle where p = 0: forces grow without bound, and trial
 * states beyond have none.  They are rolled back to what can be reached. */
static void rolled_back(void)
{
  perp_scene scene;
  open_scene("painleve:theta=37deg", &scene);
  perp_step_info info;
  perp_sim *sim = run_start(&ctx, scene.model, (run_parts){ FAIL, "rk4", .lcp = "lemke" }, 1e-4);
  ok(run_to(&ctx, sim, 0.01) < 0, "sliding into the paradox: without a stop the run ends");
  perp_sim_destroy(sim);
  sim = run_start(&ctx, scene.model, (run_parts){ STOP, "rk4", .lcp = "lemke" }, 1e-4);
  double t, edge = 0, least, gained = 0, T, V;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  perp_model_energy(scene.model, 0, q, v, &T, &V);
  least = T + V;
  while (t < 0.01) {
    if (perp_sim_step(&ctx, sim, 0.01, &info) != PERP_OK) bail("%s", ctx.msg);
    if (info.reason < 0) break;
    perp_sim_state(sim, &t, &q, &v);
    if (edge == 0 && fabs(v[0] - sin(q[2]) * v[2]) < 0.01) edge = -q[2] / RAD;
    perp_model_energy(scene.model, 0, q, v, &T, &V);
    gained = fmax(gained, T + V - least);
    least = fmin(least, T + V);
  }
  perp_ode_counters ode;
  perp_sim_counters(sim, &ode, NULL);
  const perp_contact_count *c = perp_sim_contacts(sim);
  ok(info.reason > 0 && t == 0.01 && c->refuted > 0 && c->failures == 0 && ode.bisections > 0,
     "... with it, it goes on: %d problems refuted, %d bisections", (int)c->refuted,
     (int)ode.bisections);
  near(edge, 37.37736815, 2e-3, 0, "... sliding ends where p = 0");
  below(gained, 1e-12 * least, "... and no energy is made");
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
}

/* ---- joints, and bodies that have nothing to do with it ---- */

static void add_shape(perp_model *model, perp_shape_def def)
{
  def.surface = (perp_surface){ .mu = 2, .mu_dynamic = 2 };
  run_shape(&ctx, model, def);
}

static void jointed(void)
{
  const double theta = 1.1, c = cos(theta), s = sin(theta), m = 0.1, u = 5;
  const double needle[8] = { 1, 0, 0, 1e-3, -1, 0, 0, -1e-3 };
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, g);
  run_body(&ctx, model,
           (perp_body_def){ .name = "rod",
                            .mass = { 1, { 0.1, 0, 0, 0, 0.1, 0, 0, 0, 1. / 3 } },
                            .x = { -c, s },
                            .angle = -theta,
                            .v = { u, 0 } });
  run_body(&ctx, model,
           (perp_body_def){ .name = "weight",
                            .mass = { m, { 0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01 } },
                            .x = { -2 * c, 2 * s },
                            .v = { u, 0 } });
  run_body(&ctx, model,
           (perp_body_def){ .name = "sledge",
                            .mass = perp_mass_box(1, 2, 0.1, 2),
                            .x = { 10, 0.05 },
                            .v = { 1, 0 } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_BALL, .a = 0, .b = 1, .anchor_a = { -1, 0 } });
  add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD });
  add_shape(model,
            (perp_shape_def){
                .kind = PERP_SHAPE_POLYTOPE, .body = 0, .vertices = needle, .n_vertices = 4 });
  add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_BOX, .body = 2, .half = { 1, 0.05 } });
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ STOP, "rk4", .lcp = "lemke" }, 1e-9);
  perp_step_info info;
  double t;
  const double *q, *v, *v0 = perp_model_v0(model);
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  ok(info.reason > 0 && info.n_critical == 1 && perp_sim_contacts(sim)->stopped == 1,
     "a rod with a weight on a joint, and a sledge: stopped (%s)", perp_reason_name(info.reason));
  below(hypot(v[0] + s * v[2], v[1] + c * v[2]), 1e-6, "... the end of the rod");
  /* the joint is at (-c, s) from the centre of the rod: v + w x r */
  below(hypot(v[0] - s * v[2] - v[3], v[1] - c * v[2] - v[4]), 1e-6, "... and the joint holds");
  double L[2] = { 0 }, T[2] = { 0 };
  for (int i = 0; i < 2; i++) {
    const double *w = i == 0 ? v0 : v;
    L[i] = w[2] / 3 + (-c * w[1] - s * w[0]) + 0.01 * w[5] + m * (-2 * c * w[4] - 2 * s * w[3]);
    T[i] = 0.5 *
           (product(2, w, w) + w[2] * w[2] / 3 + m * product(2, w + 3, w + 3) + 0.01 * w[5] * w[5]);
  }
  near(L[1], L[0], 1e-7, 0, "... angular momentum about the contact is kept");
  ok(T[1] < T[0], "... energy falls, from %.4g to %.4g J", T[0], T[1]);
  near(v[5], 0, 1e-7, 0, "... the weight, which hangs on a point, does not begin to turn");
  near(v[6], 1, 1e-6, 0, "... and the sledge slides on");
  below(hypot(v[7], v[8]), 1e-6, "... flat");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* ---- crush ---- */

/* z >= 0, A' z = 0, z' b < 0 would be a sum of rows that says 0 <= z' w < 0: without friction the
 * rows of both plates, each plate with the same sum, are such a z. */
static void certificate(void *user, const perp_contact_place *place, const perp_lcp *p,
                        const double *lambda, const perp_stats *stats)
{
  double *worst = user, size = 0, zb = 0, zA = 0;
  (void)place, (void)lambda;
  if (p->A == NULL || stats == NULL) return;
  for (int j = 0; j < p->n; j++) {
    double sum = 0;
    for (int i = 0; i < p->n; i++) {
      sum += p->A[j * p->lda + i];
      size = fmax(size, fabs(p->A[j * p->lda + i]));
    }
    zA = fmax(zA, fabs(sum));
    zb += p->b[j];
  }
  worst[0] = zA / size;
  worst[1] = zb;
  worst[2] = p->n;
}

/* With feedback, as Vondrak has it: a projection of positions first moves the cube into the middle.
 */
static void crush(void)
{
  static const char *const scenes[] = { "crush:dim=2", "crush" };
  for (int i = 0; i < 2; i++) {
    perp_scene s;
    double found[3] = { 1, 1, 0 };
    open_scene(scenes[i], &s);
    const int nq = perp_model_nq(s.model);
    perp_step_info info;
    perp_sim *sim = run_start(
        &ctx, s.model,
        (run_parts){ FAIL, "rk4", .lcp = "lemke", .stab = "baumgarte", .contact = "frictionless" },
        1e-3);
    perp_sim_observe(sim, certificate, found);
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
    ok(found[0] < 1e-14 && found[1] < -1 && found[2] >= 4,
       "%s: |A' z| = %.1g |A|, z' b = %.3g: no forces", scenes[i], found[0], found[1]);
    ok(info.reason < 0 && info.n_critical == (int)found[2] &&
           perp_sim_contacts(sim)->critical == 1 && perp_sim_contacts(sim)->failures == 1,
       "... and all %d contacts are critical: %s", info.n_critical, info.cause);
    perp_sim_destroy(sim);
    static const char *const contacts[] = { "frictionless", "polyhedral:directions=8" };
    for (int j = 0; j < 2; j++) {
      sim = run_start(
          &ctx, s.model,
          (run_parts){ STOP, "rk4", .lcp = "lemke", .stab = "baumgarte", .contact = contacts[j] },
          1e-2);
      double t, moved = 0, force = 0;
      const double *q, *v;
      for (int k = 0; k < 100; k++) {
        if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
        perp_sim_state(sim, &t, &q, &v);
        if (info.reason < 0) break;
        for (int l = 0; l < nq; l++) moved = fmax(moved, fabs(q[l] - perp_model_q0(s.model)[l]));
        force = 0;
        for (int l = 0; l < info.n_contacts; l++) {
          const double sign = info.contacts[l].body[1] == 0 ? 1 : -1;
          force += sign * info.impulse[3 * l + (i == 0 ? 1 : 2)] / 1e-2;
        }
      }
      ok(info.reason > 0 && perp_sim_contacts(sim)->critical == 1 &&
             perp_sim_contacts(sim)->stopped == 1,
         "%s, %s, stopped: once, and for 1 s", scenes[i], contacts[j]);
      below(moved, 1e-13, "... it stays");
      near(force, g, 1e-9, 0, "... and is carried");
      perp_sim_destroy(sim);
    }
    perp_scene_destroy(&s);
  }
  /* plates that do not squeeze: nothing is critical */
  perp_scene s;
  open_scene("crush:squeeze=0", &s);
  perp_sim *sim = run_start(&ctx, s.model, (run_parts){ STOP, "rk4", .lcp = "lemke" }, 1e-2);
  const perp_reason reason = run_to(&ctx, sim, 0.1);
  ok(reason > 0 && perp_sim_contacts(sim)->critical == 0 && perp_sim_contacts(sim)->refuted == 0,
     "plates that do not squeeze: no critical contacts");
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  when();
  impulse("", STOP, "lemke", "polyhedral:directions=8");
  impulse("", STOP, "auto", "box");
  impulse("", STOP, "enumerate", "box");
  impulse("", "acceleration:critical=stop,state=momentum", "lemke", "polyhedral:directions=8");
  impulse(":dim=3", STOP, "lemke", "polyhedral:directions=8");
  impulse(":dim=3", "acceleration:critical=stop,state=momentum", "auto", "cone");
  impulse(":speed=0.1", STOP, "lemke", "polyhedral:directions=8");
  no_proof();
  pivot(STOP);
  pivot("acceleration:critical=stop,state=momentum");
  rolled_back();
  jointed();
  crush();
  return tap_done();
}
