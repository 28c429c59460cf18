/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sessions: steps against those of perp_simulate, forces from outside against their closed form,
 * derivatives, what is refused; nothing is allocated in a step, and all is freed. */
#include "experiments/session/session.h"

#include "experiments/simulate/simulate.h"
#include "tests/count_malloc.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static perp_session *opened(perp_session_request request)
{
  perp_session *s = NULL;
  if (perp_session_open(&ctx, &request, &s) != PERP_OK) bail("%s: %s", request.scene, ctx.msg);
  return s;
}

static void same_bits(const char *scene, const char *formulation, const char *ode)
{
  perp_request request = { .scene = scene, .formulation = formulation, .ode = ode, .t_end = 0.1 };
  perp_result result;
  perp_session *s = opened((perp_session_request){
      .scene = scene, .formulation = formulation, .ode = ode, .t_end = 0.1 });
  const bool ran = perp_session_step(s, INT64_MAX, s->t_end) == PERP_OK;
  if (perp_simulate(&ctx, &request, &result) != PERP_OK) bail("%s: %s", scene, ctx.msg);
  ok(ran && s->t == result.t && memcmp(s->q, result.q, (size_t)s->nq * sizeof *s->q) == 0 &&
         memcmp(s->v, result.v, (size_t)s->nv * sizeof *s->v) == 0,
     "%s %s: the bits of perp simulate", scene, formulation != NULL ? formulation : "");
  perp_result_free(&result);
  perp_session_close(s);
}

#define FREE                                                                                       \
  "schema: perp-scene/1\nscene: { dim: 3, gravity: 0 }\nbodies: [{ name: ball, mass: 2, "          \
  "inertia: [1, 1, 1] }]\n"
#define HINGED                                                                                     \
  "schema: perp-scene/1\nscene: { dim: 3, gravity: 0 }\nbodies: [{ mass: 2, inertia: [1, 1, 1], "  \
  "x: [1, 0, 0] }]\njoints: [{ name: pivot, kind: hinge, a: world, b: 0, at: [0, 0, 0], axis: "    \
  "[0, 2, 0] }]\n"

static void spring(void *user, int body, double t, const perp_body_state *state, double f[6])
{
  int *calls = user;
  (void)body;
  (void)t;
  for (int i = 0; i < 3; i++) f[i] = -8 * state->x[i];
  ++*calls;
}

static void forces_from_outside(void)
{
  const signed char forced[] = { 1 };
  const double v[] = { 1, 0, 0, 0, 0, 0 };
  int calls = 0;
  perp_session *s = opened((perp_session_request){
      .scene = "free", .text = FREE, .h = 1e-2, .t_end = 1, .pushed = true });
  s->push[0] = 3;
  s->push[5] = 0.5;
  ok(perp_session_step(s, 10, HUGE_VAL) == PERP_OK && s->steps == 10, "ten steps");
  near(s->v[0], 3.0 / 2 * 0.1, 0, 1e-12, "a push accelerates");
  near(s->v[5], 0.5 * 0.1, 0, 1e-12, "and turns");
  perp_session_close(s);

  s = opened((perp_session_request){ .scene = "free",
                                     .text = FREE,
                                     .h = 1e-2,
                                     .t_end = 1,
                                     .formulation = "acceleration",
                                     .ode = "rk4",
                                     .forced = forced,
                                     .force = spring,
                                     .user = &calls });
  const double q[] = { 0, 0, 0, 1, 0, 0, 0 };
  ok(perp_session_restart(s, 0, q, v) == PERP_OK && perp_session_step(s, INT64_MAX, 1) == PERP_OK &&
         calls >= 400,
     "a force is called in each stage");
  near(s->q[0], sin(2.0) / 2, 0, 1e-6, "it is a spring");
  perp_session_close(s);

  s = opened((perp_session_request){
      .scene = "hinged", .text = HINGED, .h = 1e-3, .t_end = 1, .pushed = true });
  ok(perp_session_push_joint(s, 0, 3) == PERP_OK && perp_session_step(s, 1, HUGE_VAL) == PERP_OK,
     "a torque on a hinge");
  near(s->v[4], 3 / (1 + 2 * 1.0) * 1e-3, 0, 1e-9, "about its axis, which is of any length");
  ok(strcmp(perp_session_name(s, "joint", 0), "pivot") == 0 &&
         perp_session_name(s, "body", 0) == NULL && perp_session_name(s, "joint", 1) == NULL,
     "names");
  ok(perp_session_push_joint(s, 1, 3) == PERP_ERR_ARG, "a joint that does not exist");
  perp_session_close(s);
}

static void derivatives(void)
{
  const perp_gradient_wrt wrt[] = { { PERP_GRADIENT_V, 0 }, { PERP_GRADIENT_MASS, 0 } };
  perp_gradient *g = NULL;
  perp_session *s = opened((perp_session_request){
      .scene = "free", .text = FREE, .h = 1e-2, .t_end = 1, .pushed = true });
  s->push[0] = 3;
  ok(perp_session_gradient(s, wrt, 2, &g) == PERP_OK &&
         perp_session_step(s, 10, HUGE_VAL) == PERP_OK,
     "steps with derivatives");
  near(perp_gradient_dq(g)[0], 0.1, 0, 1e-9, "d x / d v");
  near(perp_gradient_dv(g)[6], -3.0 / 4 * 0.1, 0, 1e-9, "d v / d m");
  ok(perp_session_gradient(s, NULL, 0, &g) == PERP_OK && g == NULL &&
         perp_session_step(s, 1, HUGE_VAL) == PERP_OK,
     "and without any more");
  perp_session_close(s);
}

static void refused(void)
{
  static const struct {
    perp_session_request request;
    const char *says;
  } bad[] = {
    { { .scene = "" }, "no scene" },
    { { .scene = "no-such" }, "no-such" },
    { { .scene = "x", .text = "bodies: 3" }, "schema" },
    { { .scene = "stack", .lcp = "lemk" }, "lemk" },
    { { .scene = "pendulum", .lcp = "lemke" }, "has no effect" },
    { { .scene = "pendulum", .h = -1 }, "must be positive" },
    { { .scene = "oscillator", .pushed = true }, "no bodies" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    perp_session *s = NULL;
    const perp_status status = perp_session_open(&ctx, &bad[i].request, &s);
    ok(status != PERP_OK && s == NULL && strstr(ctx.msg, bad[i].says) != NULL, "refused: %s",
       ctx.msg);
  }
  perp_session *s = opened((perp_session_request){ .scene = "wall" });
  double q[512], v[512];
  ok(perp_session_forces(s) == NULL && strstr(ctx.msg, "before the first step") != NULL,
     "no forces before the first step");
  ok(perp_session_truth(s, 0, q, v) == PERP_ERR_UNSUPPORTED, "no reference solution");
  perp_session_close(s);
  perp_session_close(NULL);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_session_register(&ctx) != PERP_OK) bail("%s", ctx.msg);
  same_bits("pendulum", NULL, NULL);
  same_bits("chain:links=3", "acceleration", "dopri5");
  same_bits("stack:boxes=2", NULL, NULL);
  same_bits("belt-drive", NULL, NULL);
  same_bits("oscillator", NULL, "rk4");
  forces_from_outside();
  derivatives();
  refused();

  perp_session *s = opened((perp_session_request){ .scene = "stack:boxes=2", .lcp = "dantzig" });
  perp_session_step(s, 20, HUGE_VAL);
  const perp_step_forces *forces = perp_session_forces(s);
  ok(forces != NULL && forces->n_pairs == 2 && s->n_contacts == 8, "contacts and their pairs");
  double kinetic, potential;
  perp_session_energy(s, &kinetic, &potential);
  near(kinetic + potential, 9.81 * (0.5 + 1.5), 0, 1e-9, "energy");
  const long before = count_malloc;
  perp_session_step(s, 20, HUGE_VAL);
  ok(!COUNTS_MALLOC || count_malloc == before, "no allocation in steps");
  perp_session_close(s);
  const long alive = count_alive;
  for (int i = 0; i < 3; i++) {
    s = opened(
        (perp_session_request){ .scene = "stack:boxes=2", .lcp = "dantzig", .pushed = true });
    perp_session_step(s, 5, HUGE_VAL);
    perp_session_forces(s);
    perp_session_close(s);
  }
  ok(!COUNTS_MALLOC || count_alive == alive, "all is given back");
  return tap_done();
}
