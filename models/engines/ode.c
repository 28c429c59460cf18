/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ODE, the Open Dynamics Engine: velocities and impulses of a step from one mixed linear
 * complementarity problem with joints and contacts, Baumgarte's feedback (erp), softness of all
 * rows (cfm), a friction pyramid along two directions of the world's choice, explicit gyroscopic
 * torques.  adapters/ode.c */
#include "models/engines/engine.h"
#include "models/engines/options.h"

#include <math.h>

static const char *const ode_solvers[] = { "quick", "step", NULL };
static const perp_opt ode_options[] = {
  PERP_ENUM(perp_engine_ode_opts, solver, 0, ode_solvers,
            "Solver. quick: projected successive over-relaxation in random order. step: Dantzig's "
            "method."),
  PERP_INT(perp_engine_ode_opts, iterations, 20, 1, 1000000, "Number of sweeps of quick."),
  PERP_REAL(perp_engine_ode_opts, over_relaxation, 1.3, 0, 2, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Over-relaxation factor of quick."),
  PERP_REAL(perp_engine_ode_opts, erp, 0.2, 0, 1, 0, "",
            "Fraction of the error of joints and contacts that is corrected in a step."),
  PERP_REAL(
      perp_engine_ode_opts, cfm, 1e-10, 0, 1, 0, "",
      "Compliance of all constraints in m/(s N), which is added to the diagonal of the problem."),
  PERP_OPTIONS_END
};

const perp_engine_desc perp_engine_ode = {
  .d = { .name = "ode",
         .summary = "ODE: mixed LCP of a step, over-relaxed sweeps or Dantzig's method",
         .reference = "R. Smith, Open Dynamics Engine, user guide (2006); version 0.16",
         .equation =
             "M (v+ - v) = h f + J' lambda,  J v+ + cfm lambda = -erp C / h,  lo <= lambda <= hi",
         PERP_OPTIONS(ode_options, perp_engine_ode_opts) },
  .package = "libode-dev",
  .dims = 1u << 3,
  .joints = 1u << PERP_JOINT_BALL | 1u << PERP_JOINT_HINGE | 1u << PERP_JOINT_UNIVERSAL |
            1u << PERP_JOINT_SLIDER | 1u << PERP_JOINT_FIXED,
  .shapes = 1u << PERP_SHAPE_SPHERE | 1u << PERP_SHAPE_CAPSULE | 1u << PERP_SHAPE_BOX |
            1u << PERP_SHAPE_PLANE | 1u << PERP_SHAPE_CYLINDER,
  .features = PERP_ENGINE_LIMITS | PERP_ENGINE_MOTORS | PERP_ENGINE_RESTITUTION |
              PERP_ENGINE_COMPOUNDS | PERP_ENGINE_PAIRS | PERP_ENGINE_FORCES,
};
