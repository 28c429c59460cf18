/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MuJoCo: joint coordinates of trees, contacts and limits that are soft by construction:
 * accelerations that minimize a convex cost, by Newton's method, conjugate gradients or projected
 * Gauss-Seidel.  adapters/mujoco.c */
#include "models/engines/engine.h"
#include "models/engines/options.h"

#include <math.h>

static const char *const mujoco_solvers[] = { "newton", "cg", "pgs", NULL };
static const char *const mujoco_cones[] = { "pyramidal", "elliptic", NULL };
static const char *const mujoco_integrators[] = { "euler", "rk4", "implicit", NULL };
static const perp_opt mujoco_options[] = {
  PERP_ENUM(perp_engine_mujoco_opts, solver, 0, mujoco_solvers,
            "Solver of the convex problem: Newton's method, conjugate gradients (cg) or projected "
            "Gauss-Seidel (pgs)."),
  PERP_ENUM(perp_engine_mujoco_opts, cone, 0, mujoco_cones, "Shape of the friction cone."),
  PERP_ENUM(perp_engine_mujoco_opts, integrator, 0, mujoco_integrators,
            "Integrator. euler is semi-implicit and of order 1."),
  PERP_INT(perp_engine_mujoco_opts, iterations, 100, 1, 1000000,
           "Largest number of iterations of the solver."),
  PERP_REAL(perp_engine_mujoco_opts, tolerance, 1e-8, 0, 1, 0, "", "Tolerance of the solver."),
  PERP_REAL(perp_engine_mujoco_opts, impratio, 1, 0, 1e9, PERP_OPEN_MIN, "",
            "Ratio of the stiffness of friction to that of normal forces, for elliptic cones."),
  PERP_REAL(perp_engine_mujoco_opts, timeconst, 0.02, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX,
            "s",
            "Time constant of contacts and limits (solref[0]). MuJoCo uses at least two steps."),
  PERP_REAL(perp_engine_mujoco_opts, dampratio, 1, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Damping ratio of contacts and limits (solref[1])."),
  PERP_OPTIONS_END
};

const perp_engine_desc perp_engine_mujoco = {
  .d = { .name = "mujoco",
         .summary = "MuJoCo: joint coordinates, compliant constraints as a convex problem",
         .reference = "E. Todorov, T. Erez, Y. Tassa, IROS 2012; MuJoCo documentation, Computation",
         .equation = "a = argmin |a - a_0|_M^2 / 2 + s(J a - a_ref)",
         PERP_OPTIONS(mujoco_options, perp_engine_mujoco_opts) },
  .package = "libmujoco-dev",
  .dims = 1u << 3,
  .joints = 1u << PERP_JOINT_BALL | 1u << PERP_JOINT_HINGE | 1u << PERP_JOINT_SLIDER |
            1u << PERP_JOINT_FIXED,
  .shapes = 1u << PERP_SHAPE_SPHERE | 1u << PERP_SHAPE_CAPSULE | 1u << PERP_SHAPE_BOX |
            1u << PERP_SHAPE_PLANE | 1u << PERP_SHAPE_CYLINDER | 1u << PERP_SHAPE_ELLIPSOID,
  .features = PERP_ENGINE_LIMITS | PERP_ENGINE_MOTORS | PERP_ENGINE_COMPOUNDS | PERP_ENGINE_PAIRS |
              PERP_ENGINE_FORCES,
};
