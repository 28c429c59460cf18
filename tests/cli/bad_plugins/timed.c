/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A joint whose rows depend on time (at_time): between the centres of two bodies a rod whose length
 * breathes, and a distance along x that does.  LIE 0 is honest; each other one is a lie that the
 * contract tests must find.
 *
 *      C_0 = |p_1 - p_0| - l(t),   l = length + swing sin(rate t)
 *      C_1 = (p_1 - p_0) . e_x - swing cos(rate t) - offset        in the world */
#include "perp.h"

#include <math.h>
#include <stdio.h>

#ifndef LIE
#define LIE 0
#endif

struct breathing {
  double length, offset, swing, rate;
};
static const perp_opt breathing_options[] = {
  PERP_REAL(struct breathing, length, 1, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "m", "mean"),
  PERP_REAL(struct breathing, offset, 0.5, -HUGE_VAL, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "m",
            "along x"),
  PERP_REAL(struct breathing, swing, 0.1, 0, 1, 0, "m", "of both"),
  PERP_REAL(struct breathing, rate, 3, 0, 100, 0, "1/s", "of both"), PERP_OPTIONS_END
};

static int breathing_rows(const void *opts, int dim, int n, unsigned *angles)
{
  (void)opts, (void)dim, (void)n;
  *angles = 0;
  return 2;
}

static void breathing_at(const void *opts, int dim, int n, const perp_body_state *body, double t,
                         double *C, double *J, double *Ct, double *gamma)
{
  const struct breathing *o = opts;
  const double s = o->swing * sin(o->rate * t), c = o->swing * cos(o->rate * t);
  double d[3], rate[3], length = 0, along = 0, square = 0;
  (void)dim, (void)n;
  for (int k = 0; k < 3; k++) {
    d[k] = body[1].x[k] - body[0].x[k];
    rate[k] = body[1].v[k] - body[0].v[k];
    length += d[k] * d[k];
    along += d[k] * rate[k];
    square += rate[k] * rate[k];
  }
  length = sqrt(length);
  C[0] = length - o->length - s;
  C[1] = d[0] - c - o->offset;
#if LIE == 8 /* C hangs on what else is asked */
  if (J != NULL) C[1] += 1e-12;
#endif
  if (J != NULL) {
    for (int k = 0; k < 3; k++) {
      J[2 * k] = -d[k] / length;
      J[12 + 2 * k] = d[k] / length;
    }
    J[1] = -1, J[13] = 1;
#if LIE == 3 /* half of J for one body */
    J[1] = -0.5;
#elif LIE == 4 /* something turns */
    J[7] = 0.1;
#endif
  }
  if (Ct != NULL) {
    Ct[0] = -c * o->rate;
    Ct[1] = s * o->rate;
#if LIE == 1 /* the other sign */
    Ct[1] = -Ct[1];
#elif LIE == 2 /* as if nothing depended on time */
    Ct[0] = Ct[1] = 0;
#elif LIE == 9
    Ct[2] = 1;
#elif LIE == 10 /* right where the tests begin */
    if (t > 1) Ct[0] *= 1.001;
#endif
  }
  if (gamma != NULL) {
    gamma[0] = (square - along * along / (length * length)) / length + s * o->rate * o->rate;
    gamma[1] = c * o->rate * o->rate;
#if LIE == 5 /* Jdot v alone */
    gamma[0] -= s * o->rate * o->rate;
    gamma[1] -= c * o->rate * o->rate;
#elif LIE == 6 /* parts of t alone */
    gamma[0] = s * o->rate * o->rate;
#elif LIE == 7 /* the other sign of t */
    gamma[1] = -gamma[1];
#endif
  }
#if LIE == 11 /* time of its own */
  static int calls;
  C[0] += 1e-12 * calls++;
#endif
}

static perp_status breathing_zero(perp_ctx *ctx, void *opts, int dim, int n,
                                  const perp_body_state *body)
{
  struct breathing *o = opts;
  double C[2];
  (void)ctx;
  o->length = o->offset = 0;
  breathing_at(opts, dim, n, body, 0, C, NULL, NULL, NULL);
  o->length = C[0], o->offset = C[1];
#if LIE == 12 /* of another time */
  breathing_at(opts, dim, n, body, 0.1, C, NULL, NULL, NULL);
  o->length += C[0];
#endif
  return o->length > 0 ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_ARG, "its bodies coincide");
}

static const perp_joint_desc breathing = {
  .d = { .name = "breathing",
         .summary = "a rod whose length breathes, and a distance along x that does",
         .reference = "tests",
         .equation = "C = (|d| - l(t), d . e_x - c(t))",
         PERP_OPTIONS(breathing_options, struct breathing),
         .caps = PERP_JOINT_IN_SPACE | PERP_JOINT_IN_PLANE | PERP_JOINT_AT_CENTRES
#if LIE == 13 /* the row along x turns with nothing */
                 | PERP_JOINT_INVARIANT
#endif
  },
  .bodies_min = 2,
  .bodies_max = 2,
  .rows = breathing_rows,
  .zero = breathing_zero,
  .at_time = breathing_at,
};

PERP_OUTSIDE({ PERP_KIND_joint, &breathing.d });
