/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A force and a joint with options of all types, for scene files that have them; nothing is wrong
 * with these. */
#include "perp.h"

#include <math.h>
#include <string.h>

struct pull {
  double strength, along[3];
  int times;
  bool back;
  int shape;
  char note[PERP_TEXT_MAX];
};
static const char *const shapes[] = { "constant", "linear", NULL };
static const perp_opt pull_options[] = {
  PERP_REAL(struct pull, strength, 1, 0, 100, 0, "N", "of the pull"),
  PERP_VECTOR(struct pull, along, "along", 1, 0, 0, "", "direction"),
  PERP_INT(struct pull, times, 1, 1, 5, "so many pulls"),
  PERP_BOOL(struct pull, back, 0, "the other way"),
  PERP_ENUM(struct pull, shape, 0, shapes, "with the distance from the origin"),
  PERP_TEXT(struct pull, note, "none", "is not read"),
  PERP_OPTIONS_END
};

static void pull_force(const void *opts, int dim, int n, const perp_body_state *body, double t,
                       double *f)
{
  const struct pull *o = opts;
  (void)dim, (void)t;
  for (int i = 0; i < n; i++) {
    const double *x = body[i].x, r = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    const double F = o->strength * o->times * (o->back ? -1 : 1) * (o->shape == 1 ? r : 1);
    for (int k = 0; k < 3; k++) f[6 * i + k] = F * o->along[k];
  }
}

static const perp_force_desc pull = {
  .d = { .name = "pull",
         .summary = "a pull along a direction of the world",
         .reference = "tests",
         .equation = "f = F along",
         PERP_OPTIONS(pull_options, struct pull),
         .caps = PERP_FORCE_IN_SPACE | PERP_FORCE_IN_PLANE | PERP_FORCE_AT_CENTRES },
  .bodies_min = 1,
  .bodies_max = 3,
  .force = pull_force,
};

/* ---- a rod between points of two bodies ---- */

struct rod {
  double length, at[3], of[3];
};
static const perp_opt rod_options[] = {
  PERP_REAL(struct rod, length, 1, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "m", "of the rod"),
  PERP_VECTOR(struct rod, at, "at", 0, 0, 0, "m", "its end on the first body"),
  PERP_VECTOR(struct rod, of, "of", 0, 0, 0, "m", "its end on the second body"), PERP_OPTIONS_END
};

static int rod_rows(const void *opts, int dim, int n, unsigned *angles)
{
  (void)opts, (void)dim, (void)n;
  *angles = 0;
  return 1;
}

static perp_status rod_check(perp_ctx *ctx, const void *opts, int dim, int n)
{
  const struct rod *o = opts;
  (void)dim, (void)n;
  return o->length < 1000
             ? PERP_OK
             : PERP_FAIL(ctx, PERP_ERR_ARG, "a rod of %g m is too long: 1000 m at most", o->length);
}

static void rod_evaluate(const void *opts, int dim, int n, const perp_body_state *body, double *C,
                         double *J)
{
  const struct rod *o = opts;
  double p[2][3], u[3], d = 0;
  (void)dim, (void)n;
  perp_body_point(&body[0], o->at, p[0]);
  perp_body_point(&body[1], o->of, p[1]);
  for (int k = 0; k < 3; k++) u[k] = p[1][k] - p[0][k], d += u[k] * u[k];
  d = sqrt(d);
  for (int k = 0; k < 3; k++) u[k] = d > 0 ? u[k] / d : 0;
  C[0] = d - o->length;
  if (J == NULL) return;
  perp_body_row(&body[0], o->at, u, -1, 1, J);
  perp_body_row(&body[1], o->of, u, 1, 1, J + 6);
}

static perp_status rod_zero(perp_ctx *ctx, void *opts, int dim, int n, const perp_body_state *body)
{
  struct rod *o = opts;
  double C;
  (void)ctx;
  o->length = 0;
  rod_evaluate(opts, dim, n, body, &C, NULL);
  o->length = C;
  return PERP_OK;
}

static const perp_joint_desc rod = {
  .d = { .name = "rod",
         .summary = "a rod between points of two bodies",
         .reference = "tests",
         .equation = "|p_1 - p_0| - length = 0",
         PERP_OPTIONS(rod_options, struct rod),
         .caps = PERP_JOINT_IN_SPACE | PERP_JOINT_IN_PLANE | PERP_JOINT_INVARIANT },
  .bodies_min = 2,
  .bodies_max = 2,
  .rows = rod_rows,
  .check = rod_check,
  .zero = rod_zero,
  .evaluate = rod_evaluate,
};

PERP_OUTSIDE({ PERP_KIND_force, &pull.d }, { PERP_KIND_joint, &rod.d });
