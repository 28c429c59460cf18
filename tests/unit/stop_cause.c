/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run that stops because equations were not solved says which method, why, and what to change:
 * each remedy of the message is taken by itself, and the same run then reaches its end. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/run_model.h"

#include <string.h>

static perp_ctx ctx;

/* The value of an option in a message: "(--h 0.05s)" or "--kkt schur-svd:rank_tol=1e-8". */
static const char *option_in(const char *message, const char *name, char *value, size_t size)
{
  const char *at = strstr(message, name);
  if (at == NULL) return NULL;
  at += strlen(name);
  const size_t length = strcspn(at, " ,;)");
  snprintf(value, size, "%.*s", (int)length, at);
  return value;
}

static void run(const perp_request *request, perp_result *r)
{
  if (perp_simulate(&ctx, request, r) != PERP_OK) bail("%s", ctx.msg);
}

static void remedy(const perp_request *request, const char *what)
{
  perp_result r;
  run(request, &r);
  ok(r.reason > 0, "... %s: the run reaches its end: %s", what, r.message);
  perp_result_free(&r);
}

static void stops(perp_request request, const char *method, const char *cause)
{
  char message[1024], kkt[64], ode[64], h[64];
  perp_result r;
  run(&request, &r);
  snprintf(message, sizeof message, "%s", r.message);
  ok(r.reason < 0 && strstr(message, method) != NULL && strstr(message, cause) != NULL,
     "%s, %s: %s", request.scene, request.formulation, message);
  perp_result_free(&r);
  perp_request other = request;
  int remedies = 0;
  other.kkt = option_in(message, "--kkt ", kkt, sizeof kkt);
  if (other.kkt != NULL) remedy(&other, other.kkt), remedies++;
  other = request;
  other.ode = option_in(message, "--ode ", ode, sizeof ode);
  if (other.ode != NULL) remedy(&other, other.ode), remedies++;
  other = request;
  if (option_in(message, "--h ", h, sizeof h) != NULL) {
    other.h = strtod(h, NULL);
    remedy(&other, h);
    remedies++;
  }
  ok(remedies > 0, "... %d remedies", remedies);
}

/* A light link between the world and a heavy one: the motion keeps its energy at every mass ratio,
 * or the run ends with a cause.  (Ratio 1: 2e-6 at 1 ms.) */
static void test_ratios(void)
{
  static const char *const formulations[] = { "ggl", "generalized-alpha", "radau5" };
  static const double ratios[] = { 1, 1e6, 1e9, 1e12 };
  for (int f = 0; f < 3; f++)
    for (int i = 0; i < 4; i++) {
      perp_model *model = run_model(&ctx, 2);
      perp_model_gravity(model, 9.81);
      for (int b = 0; b < 2; b++) {
        perp_body_def link = { .mass = perp_mass_box(b == 0 ? 1 : ratios[i], 1, 0.1, 0.1) };
        link.x[0] = 0.5 + b;
        run_body(&ctx, model, link);
        perp_joint_def hinge = {
          .kind = PERP_JOINT_HINGE, .a = b - 1, .b = b, .anchor_b[0] = -0.5
        };
        if (b > 0) hinge.anchor_a[0] = 0.5;
        run_joint(&ctx, model, hinge);
      }
      run_finish(&ctx, model);
      perp_sim *sim = run_start(&ctx, model, (run_parts){ .formulation = formulations[f] }, 1e-3);
      perp_step_info info = { .reason = PERP_EXACT };
      const double *q, *v;
      double t = 0, E = 0, worst = 0;
      while (t < 0.3 && info.reason >= 0) {
        if (perp_sim_step(&ctx, sim, 0.3, &info) != PERP_OK) bail("%s", ctx.msg);
        perp_sim_state(sim, &t, &q, &v);
        E = 0;
        for (int b = 0; b < 2; b++) {
          const double m = b == 0 ? 1 : ratios[i], *u = v + 3 * b;
          E += m *
               (0.5 * (u[0] * u[0] + u[1] * u[1] + 1.01 / 12 * u[2] * u[2]) + 9.81 * q[3 * b + 1]);
        }
        worst = fmax(worst, fabs(E) / (9.81 * ratios[i]));
      }
      ok(info.reason < 0 ? i > 1 && strstr(info.cause, formulations[f]) != NULL : worst < 1e-5,
         "%s, masses 1 : %g: energy is off by %.2g of m g at 1 m until %g s: %s", formulations[f],
         ratios[i], worst, t, info.reason < 0 ? info.cause : "the end");
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  stops((perp_request){ .scene = "chain:links=70",
                        .formulation = "reduced",
                        .ode = "symplectic-euler",
                        .t_end = 0.2 },
        "symplectic-euler", "did not converge");
  stops((perp_request){ .scene = "pendulum", .formulation = "impulse", .h = 0.5, .t_end = 2 },
        "impulse", "did not converge");
  stops((perp_request){ .scene = "double-pendulum", .formulation = "radau5", .h = 0.3, .t_end = 2 },
        "radau5", "did not converge");
  stops((perp_request){ .scene = "double-pendulum", .formulation = "ggl", .h = 0.3, .t_end = 3 },
        "ggl", "did not converge");
  stops((perp_request){ .scene = "chain",
                        .formulation = "acceleration",
                        .ode = "implicit-midpoint",
                        .h = 0.1,
                        .t_end = 0.4 },
        "implicit-midpoint", "did not converge");
  stops((perp_request){ .scene = "bricard", .formulation = "radau5", .h = 0.5, .t_end = 0.5 },
        "radau5", "1 of 30 constraint rows depend on others");
  stops((perp_request){ .scene = "bricard", .formulation = "impulse", .h = 1, .t_end = 1.5 },
        "impulse", "1 of 30 constraint rows depend on others");
  test_ratios();
  stops((perp_request){ .scene = "stack", .formulation = "penalty", .t_end = 1 }, "stiffness",
        "too long");
  return tap_done();
}
