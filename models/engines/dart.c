/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DART: articulated bodies in coordinates of their joints; contacts, limits and motors from a boxed
 * linear complementarity problem of a step, with a friction pyramid; semi-implicit Euler.
 * adapters/dart.cpp */
#include "models/engines/engine.h"
#include "models/engines/options.h"

static const char *const dart_solvers[] = { "dantzig", "pgs", NULL };
static const char *const dart_detectors[] = { "fcl", "primitive", "dart", NULL };
static const perp_opt dart_options[] = {
  PERP_ENUM(perp_engine_dart_opts, solver, 0, dart_solvers,
            "Solver. dantzig: pivoting, with pgs if it fails (counted as a failure). pgs: "
            "projected Gauss-Seidel."),
  PERP_INT(perp_engine_dart_opts, iterations, 30, 1, 1000000, "Largest number of sweeps of pgs."),
  PERP_ENUM(perp_engine_dart_opts, detector, 0, dart_detectors,
            "Collision detector. fcl: all shapes as triangles. primitive: fcl with its own shapes. "
            "dart: spheres, boxes and half-spaces."),
  PERP_REAL(perp_engine_dart_opts, erp, 0.01, 0, 1, 0, "",
            "Fraction of a penetration that is corrected in a step."),
  PERP_OPTIONS_END
};

const perp_engine_desc perp_engine_dart = {
  .d = { .name = "dart",
         .summary = "DART: joint coordinates, boxed LCP of a step by pivoting or sweeps",
         .reference =
             "J. Lee et al., DART: Dynamic Animation and Robotics Toolkit, Journal of Open "
             "Source Software 3 (2018), 500; version 6.12",
         .equation = "M (v+ - v) = h f + J' lambda,  J v+ + cfm lambda = -erp C / h - e J v,  "
                     "lo <= lambda <= hi",
         PERP_OPTIONS(dart_options, perp_engine_dart_opts) },
  .package = "libdart-dev",
  .dims = 1u << 3,
  .joints = 1u << PERP_JOINT_BALL | 1u << PERP_JOINT_HINGE | 1u << PERP_JOINT_UNIVERSAL |
            1u << PERP_JOINT_SLIDER | 1u << PERP_JOINT_FIXED,
  /* no capsules: its detectors put a ball of 0.1 m in their place, and go on */
  .shapes = 1u << PERP_SHAPE_SPHERE | 1u << PERP_SHAPE_BOX | 1u << PERP_SHAPE_PLANE |
            1u << PERP_SHAPE_CYLINDER | 1u << PERP_SHAPE_ELLIPSOID,
  .features = PERP_ENGINE_LIMITS | PERP_ENGINE_MOTORS | PERP_ENGINE_RESTITUTION |
              PERP_ENGINE_COMPOUNDS | PERP_ENGINE_FORCES,
};
