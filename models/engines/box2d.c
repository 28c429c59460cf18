/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Box2D 2.4: the plane, in floats; sequential impulses on velocities, then non-linear Gauss-Seidel
 * on positions (Catto 2006, 2014).  adapters/box2d.cpp */
#include "models/engines/engine.h"
#include "models/engines/options.h"

#include <math.h>

static const perp_opt box2d_options[] = {
  PERP_INT(perp_engine_box2d_opts, velocity, 8, 1, 1000000,
           "Number of sweeps over the velocities."),
  PERP_INT(perp_engine_box2d_opts, position, 3, 0, 1000000, "Number of sweeps over the positions."),
  PERP_BOOL(perp_engine_box2d_opts, warm, true,
            "Warm start from the impulses of the previous step."),
  PERP_REAL(perp_engine_box2d_opts, threshold, 1, 0, HUGE_VAL, PERP_OPEN_MAX, "m/s",
            "Approach speed below which contacts do not rebound."),
  PERP_OPTIONS_END
};

const perp_engine_desc perp_engine_box2d = {
  .d = { .name = "box2d",
         .summary =
             "Box2D: sequential impulses and position sweeps, in the plane, in single precision",
         .reference = "E. Catto, Iterative dynamics with temporal coherence, GDC 2005; Box2D 2.4",
         .equation = "sweeps of J M^-1 J' d lambda = -J v with 0 <= lambda; then J M^-1 J' d "
                     "lambda = -beta C",
         PERP_OPTIONS(box2d_options, perp_engine_box2d_opts) },
  .package = "libbox2d-dev",
  .dims = 1u << 2,
  .joints = 1u << PERP_JOINT_BALL | 1u << PERP_JOINT_HINGE | 1u << PERP_JOINT_SLIDER |
            1u << PERP_JOINT_FIXED | 1u << PERP_JOINT_DISTANCE,
  .shapes = 1u << PERP_SHAPE_SPHERE | 1u << PERP_SHAPE_BOX | 1u << PERP_SHAPE_POLYTOPE |
            1u << PERP_SHAPE_PLANE,
  .features = PERP_ENGINE_LIMITS | PERP_ENGINE_MOTORS | PERP_ENGINE_RESTITUTION |
              PERP_ENGINE_PARTICLES | PERP_ENGINE_COMPOUNDS | PERP_ENGINE_PAIRS |
              PERP_ENGINE_FORCES,
};
