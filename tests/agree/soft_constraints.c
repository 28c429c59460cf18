/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formulation soft-constraints beside libmujoco, whose equations it has: the same world, the
 * same parameters of rows, and the states after a tenth of a second.  A cube and a sphere slide and
 * roll on slopes whose normal is along no axis, so that the tangents of the pyramid count, too. */
#include "models/models.h"
#include "tests/tap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 100, NQ = 7, NV = 6 };

static perp_ctx ctx;

static void add_shape(perp_model *m, perp_shape_def shape)
{
  shape.surface = (perp_surface){ .mu = 0.4, .mu_dynamic = NAN };
  if (perp_model_add_shape(&ctx, m, &shape, NULL) != PERP_OK) bail("%s", ctx.msg);
}

/* A body on a slope with the unit quaternion `turn`; a cube is turned with it.  It starts 0.1 mm
 * deep. */
static perp_model *slope(bool cube, const double turn[4])
{
  perp_model *m;
  perp_body_def b = { .mass = cube ? perp_mass_box(2, 0.4, 0.4, 0.4) : perp_mass_sphere(2, 0.2) };
  perp_shape_def plane = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD };
  double R[9];
  if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
  perp_model_gravity(m, 9.81);
  perp_quat_matrix(turn, R); /* column-major */
  for (int k = 0; k < 3; k++) b.x[k] = (0.2 - 1e-4) * R[6 + k];
  for (int k = 0; k < 3; k++) b.v[k] = R[k] + 0.6 * R[3 + k];
  memcpy(plane.quat, turn, sizeof plane.quat);
  memcpy(b.quat, turn, sizeof b.quat);
  if (perp_model_add_body(&ctx, m, &b, NULL) != PERP_OK) bail("%s", ctx.msg);
  add_shape(m, plane);
  add_shape(m, (perp_shape_def){ .kind = cube ? PERP_SHAPE_BOX : PERP_SHAPE_SPHERE,
                                 .body = 0,
                                 .half = { 0.2, 0.2, 0.2 },
                                 .radius = 0.2 });
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

static void march(perp_model *m, bool engine, const char *text, double state[NQ + NV])
{
  perp_parts parts = { 0 };
  perp_sim *sim;
  const double *q, *v;
  double t;
  if (perp_spec_parse(&ctx, engine ? PERP_KIND_engine : PERP_KIND_formulation, text,
                      engine ? &parts.engine : &parts.formulation) != PERP_OK ||
      perp_sim_create(&ctx, m, &parts, 1e-3, &sim) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  perp_parts_free(&parts);
  for (int n = 0; n < STEPS; n++) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, 10, &info) != PERP_OK || info.reason < 0)
      bail("%s: %s", text, ctx.msg);
  }
  perp_sim_state(sim, &t, &q, &v);
  memcpy(state, q, NQ * sizeof *q);
  memcpy(state + NQ, v, NV * sizeof *v);
  perp_sim_destroy(sim);
}

static double apart(const double a[NQ + NV], const double b[NQ + NV])
{
  double most = 0;
  for (int i = 0; i < NQ + NV; i++) most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

static void compare(bool cube, const double turn[4], const char *rows)
{
  static const char *const cones[] = { "elliptic", "pyramidal" };
  double ours[2][NQ + NV], theirs[NQ + NV];
  perp_model *m = slope(cube, turn);
  for (int c = 0; c < 2; c++) {
    char text[200];
    snprintf(text, sizeof text, "soft-constraints:cone=%s,%s,tol=1e-12", cones[c], rows);
    march(m, false, text, ours[c]);
    snprintf(text, sizeof text, "mujoco:cone=%s,%s,tolerance=1e-15", cones[c], rows);
    march(m, true, text, theirs);
    below(apart(ours[c], theirs), 1e-9, "%s, %s, %s: the state of libmujoco after %d steps",
          cube ? "cube" : "sphere", cones[c], rows, STEPS);
  }
  ok(apart(ours[0], ours[1]) > 1e-3, "and cones are %.2g apart", apart(ours[0], ours[1]));
  perp_model_destroy(m);
}

int main(void)
{
  static const double flat[4] = { 1 }, tilted[4] = { 0.96, -0.1, 0.22, 0.14142135623730951 };
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const perp_engine_calls *calls;
  const perp_engine_desc *d = (const perp_engine_desc *)perp_find(&ctx, PERP_KIND_engine, "mujoco");
  if (d == NULL) bail("no engine mujoco");
  if (perp_engine_load(&ctx, d, &calls) != PERP_OK) {
    skip("no libmujoco here", "soft-constraints beside libmujoco");
    return tap_done();
  }
  for (int cube = 0; cube < 2; cube++) {
    compare(cube, flat, "impratio=1");
    compare(cube, tilted, "impratio=1");
    compare(cube, tilted, "impratio=5,timeconst=0.01,dampratio=1.5");
  }
  return tap_done();
}
