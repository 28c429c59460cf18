/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chipmunk 7: the plane, sequential impulses with a feedback of penetration and of joints by bias.
 * adapters/chipmunk.c */
#include "models/engines/engine.h"
#include "models/engines/options.h"

#include <math.h>

static const perp_opt chipmunk_options[] = {
  PERP_INT(perp_engine_chipmunk_opts, iterations, 10, 1, 1000000, "Number of sweeps."),
  PERP_REAL(perp_engine_chipmunk_opts, slop, 0.1, 0, HUGE_VAL, PERP_OPEN_MAX, "m",
            "Penetration that is not corrected. The default is the engine's own, which is made for "
            "pixels."),
  PERP_REAL(perp_engine_chipmunk_opts, bias, 0.0017970102999144, 0, 1, 0, "",
            "Fraction of an error of contacts and joints that remains after one second."),
  PERP_OPTIONS_END
};

const perp_engine_desc perp_engine_chipmunk = {
  .d = { .name = "chipmunk",
         .summary = "Chipmunk: sequential impulses in the plane",
         .reference = "S. Lembcke, Chipmunk2D 7 manual, sections cpSpace and cpConstraint",
         .equation = "sweeps of J M^-1 J' d lambda = -(J v + (1 - bias^h) C / h), 0 <= lambda",
         PERP_OPTIONS(chipmunk_options, perp_engine_chipmunk_opts) },
  .package = "chipmunk-dev",
  .dims = 1u << 2,
  .joints = 1u << PERP_JOINT_BALL | 1u << PERP_JOINT_HINGE | 1u << PERP_JOINT_DISTANCE,
  .shapes = 1u << PERP_SHAPE_SPHERE | 1u << PERP_SHAPE_BOX | 1u << PERP_SHAPE_POLYTOPE |
            1u << PERP_SHAPE_PLANE,
  .features = PERP_ENGINE_RESTITUTION | PERP_ENGINE_PARTICLES | PERP_ENGINE_COMPOUNDS |
              PERP_ENGINE_PAIRS | PERP_ENGINE_FORCES | PERP_ENGINE_LIMITS | PERP_ENGINE_MOTORS,
};
