/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simbody: trees of mobilizers whose equations an integrator solves, loops as constraints that it
 * projects on; contacts are forces of compliant materials, friction is a force of the speed of
 * sliding.  adapters/simbody.cpp */
#include "models/engines/engine.h"
#include "models/engines/options.h"

#include <math.h>

static const char *const simbody_integrators[] = {
  "rk-merson", "rk3", "rk2", "verlet", "semi-explicit-euler2", "semi-explicit-euler", NULL
};
static const char *const simbody_boxes[] = { "brick", "mesh", NULL };
static const perp_opt simbody_options[] = {
  PERP_ENUM(perp_engine_simbody_opts, integrator, 0, simbody_integrators,
            "Integrator. The orders are 4, 3, 2, 2, 1 and 1. All but the last one "
            "(semi-explicit-euler) have error control."),
  PERP_REAL(
      perp_engine_simbody_opts, accuracy, 1e-3, 0, 1, 0, "",
      "Accuracy of the error control, with internal steps of at most h. 0: fixed steps of h."),
  PERP_ENUM(perp_engine_simbody_opts, boxes, 0, simbody_boxes,
            "Contact model of boxes. brick: springs at the corners, against half-spaces only. "
            "mesh: triangles with an elastic foundation, against all shapes but ellipsoids."),
  PERP_INT(perp_engine_simbody_opts, resolution, 2, 0, 50, "Resolution of the meshes of boxes."),
  PERP_REAL(perp_engine_simbody_opts, stiffness, 1e7, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX,
            "Pa",
            "Contact stiffness of all materials: the plane strain modulus. At the corners of "
            "bricks its unit is N/m."),
  PERP_REAL(perp_engine_simbody_opts, dissipation, 10, 0, HUGE_VAL, PERP_OPEN_MAX, "s/m",
            "Dissipation of all materials (Hunt and Crossley). At low speeds the restitution is 1 "
            "- dissipation * speed."),
  PERP_REAL(perp_engine_simbody_opts, thickness, 0.1, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX,
            "m", "Thickness of the elastic foundation of meshes."),
  PERP_REAL(perp_engine_simbody_opts, transition, 0.01, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX,
            "m/s", "Sliding speed above which friction has its full value (transition velocity)."),
  PERP_REAL(perp_engine_simbody_opts, stop_stiffness, 1e5, 0, HUGE_VAL,
            PERP_OPEN_MIN | PERP_OPEN_MAX, "N/m or N m", "Stiffness of joint limits."),
  PERP_OPTIONS_END
};

const perp_engine_desc perp_engine_simbody = {
  .d = { .name = "simbody",
         .summary = "Simbody: joint coordinates, integrators with error control, compliant contact",
         .reference = "M. Sherman, A. Seth, S. Delp, Simbody: multibody dynamics for biomedical "
                      "research, Procedia IUTAM 2 (2011), 241-261; version 3.7",
         .equation = "M u' = f(q, u) + f_contact(q, u) + G' lambda, projected on g(q) = 0",
         PERP_OPTIONS(simbody_options, perp_engine_simbody_opts) },
  .package = "libsimbody-dev",
  .dims = 1u << 3,
  .joints = 1u << PERP_JOINT_BALL | 1u << PERP_JOINT_HINGE | 1u << PERP_JOINT_UNIVERSAL |
            1u << PERP_JOINT_SLIDER | 1u << PERP_JOINT_CYLINDRICAL | 1u << PERP_JOINT_PLANAR |
            1u << PERP_JOINT_FIXED,
  .shapes = 1u << PERP_SHAPE_SPHERE | 1u << PERP_SHAPE_BOX | 1u << PERP_SHAPE_PLANE |
            1u << PERP_SHAPE_ELLIPSOID,
  .features = PERP_ENGINE_LIMITS | PERP_ENGINE_MOTORS | PERP_ENGINE_COMPOUNDS | PERP_ENGINE_FORCES,
};
