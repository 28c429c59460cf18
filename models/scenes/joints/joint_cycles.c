/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joint cycles: a platform hangs on parallel cranks, in space (Vondrak 2005, section 9.1.3,
 * TestJointCycles: loops, and more constraints than the effect needs; the geometry is ours, his is
 * not given).
 *
 * n cranks of length L hang on hinges about y in the world, and carry the platform on hinges at
 * their ends: 10 n rows for the 6 n + 5 degrees of freedom that they take, 4 n - 5 of them
 * redundant, n - 1 cycles.  twice: each hinge is there a second time, 10 n more redundant rows.
 *
 * The platform only moves along a circle, so that with phi from the vertical
 *
 *      phi'' = -w^2 sin phi,   w^2 = g (n m / 2 + M) / (L (n m / 3 + M))
 *
 * which is a pendulum: sin(phi / 2) = k sn(K - w t), k = sin(alpha / 2). */
#include "models/scenes/elliptic.h"
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cycles_opts {
  int cranks;
  double length, mass, platform, amplitude, gravity;
  bool twice;
};
static const perp_opt options[] = {
  PERP_INT(struct cycles_opts, cranks, 4, 1, 1000, "Number of parallel cranks."),
  PERP_OPT_POSITIVE(struct cycles_opts, length, 1, "m", "Length of a crank (a thin rod)."),
  PERP_OPT_POSITIVE(struct cycles_opts, mass, 1, "kg", "Mass of a crank."),
  PERP_OPT_POSITIVE(struct cycles_opts, platform, 2, "kg", "Mass of the platform."),
  PERP_REAL(struct cycles_opts, amplitude, 1, 0, M_PI, PERP_OPEN_MIN | PERP_OPEN_MAX, "rad",
            "Initial angle of the cranks from the vertical, at rest."),
  PERP_OPT_G(struct cycles_opts),
  PERP_BOOL(struct cycles_opts, twice, false, "Doubling of each hinge by a second, redundant one."),
  PERP_OPTIONS_END
};

/* cranks at x = 0, L/2, ..., alternately on both sides in y */
static void joint_cycles_foot(const struct cycles_opts *opts, int i, double p[3])
{
  p[0] = 0.5 * opts->length * i;
  p[1] = 0.25 * opts->length * (i % 2 == 0 ? 1 : -1);
  p[2] = 0;
}

/* phi > 0: towards -x */
static void state_at(const struct cycles_opts *opts, double phi, double rate, double *q, double *v)
{
  const double s = sin(phi), c = cos(phi), L = opts->length;
  const double middle = 0.25 * L * (opts->cranks - 1);
  for (int i = 0; i <= opts->cranks; i++) {
    const double arm = i < opts->cranks ? L / 2 : L;
    double p[3] = { middle, 0, 0 };
    if (i < opts->cranks) joint_cycles_foot(opts, i, p);
    const bool turns = i < opts->cranks;
    /* a crank turns from x to the height by -phi */
    const perp_planar body = { p[0] - arm * s,  -arm * c,       turns ? -phi : 0,
                               -arm * c * rate, arm * s * rate, turns ? -rate : 0 };
    perp_planar_state(3, i, &body, q, v);
    q[7 * i + 1] = p[1];
  }
}

static void joint_cycles_exact(void *user, double t, double *q, double *v)
{
  const struct cycles_opts *opts = user;
  const double n = opts->cranks, m = opts->mass, M = opts->platform;
  const double w = sqrt(opts->gravity * (n * m / 2 + M) / (opts->length * (n * m / 3 + M)));
  const double k = sin(opts->amplitude / 2), kc = cos(opts->amplitude / 2);
  const double am = perp_elliptic_am(perp_elliptic_K(kc) - w * t, kc);
  state_at(opts, 2 * asin(k * sin(am)), -2 * k * w * cos(am), q, v);
}

static perp_status joint_cycles_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct cycles_opts *o = opts;
  const int n = o->cranks;
  const double L = o->length, middle = 0.25 * L * (n - 1);
  double *q = malloc((size_t)(n + 1) * 13 * sizeof *q), *v = q + 7 * (n + 1);
  if (q == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "joint-cycles: no memory for %d cranks", n);
  state_at(o, o->amplitude, 0, q, v);
  memset(v, 0, 6 * (size_t)(n + 1) * sizeof *v);
  perp_builder builder = perp_build_begin(ctx, scene, 3, o->gravity, 0, 0);
  for (int i = 0; i <= n; i++) {
    const double edge = fmax(1, 0.5 * (n - 1)) * L;
    /* a thin rod along z: its moment about the axis is not felt */
    const double across = o->mass * L * L / 12;
    const perp_mass rod = { o->mass, { across, 0, 0, 0, across, 0, 0, 0, across / 50 } };
    const perp_mass platform = perp_mass_box(o->platform, edge, L / 2, 0.05 * L);
    const perp_body_def body = perp_body_at(3, i < n ? rod : platform, i, q, v);
    if (builder.status == PERP_OK)
      builder.status = perp_model_add_body(ctx, scene->model, &body, NULL);
  }
  free(q);
  for (int i = 0; i < 2 * n * (o->twice ? 2 : 1); i++) {
    const int crank = i / 2 % n;
    const bool top = i % 2 == 0;
    perp_joint_def hinge = perp_scene_joint(PERP_JOINT_HINGE, NULL, top ? PERP_WORLD : crank,
                                            top ? crank : n, 1);
    double p[3];
    joint_cycles_foot(o, crank, p);
    if (top) {
      hinge.anchor_a[0] = p[0], hinge.anchor_a[1] = p[1];
      hinge.anchor_b[2] = L / 2;
    } else {
      hinge.anchor_a[2] = -L / 2;
      hinge.anchor_b[0] = p[0] - middle, hinge.anchor_b[1] = p[1];
    }
    perp_build_joint(&builder, &hinge);
  }
  PERP_TRY(builder.status);
  PERP_TRY(perp_scene_finish(ctx, scene, o->gravity, 2, 1e-3));
  return perp_truth_add(ctx, scene, "closed form: Jacobi elliptic functions", 1e-14,
                        joint_cycles_exact, o, sizeof *o);
}

const perp_scene_desc perp_scene_joint_cycles = {
  .d = { .name = "joint-cycles",
         .summary = "Platform on parallel cranks: kinematic loops and redundant joints in space",
         .reference = "Vondrak 2005, section 9.1.3 (TestJointCycles); closed form",
         .equation = "phi'' = -g (n m / 2 + M) / (L (n m / 3 + M)) sin phi",
         PERP_OPTIONS(options, struct cycles_opts) },
  .build = joint_cycles_build,
};
