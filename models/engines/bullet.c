/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bullet: velocities of a step by sweeps of sequential impulses over joints and contacts, or from a
 * mixed linear complementarity problem with a friction box; positions of deep contacts by impulses
 * of their own (split). adapters/bullet.cpp */
#include "models/engines/engine.h"
#include "models/engines/options.h"

static const char *const bullet_bodies[] = { "maximal", "featherstone", NULL };
static const char *const bullet_solvers[] = { "sequential", "nncg", "dantzig", NULL };
static const perp_opt bullet_options[] = {
  PERP_ENUM(perp_engine_bullet_opts, bodies, 0, bullet_bodies,
            "Representation of the bodies. maximal: rigid bodies with joints as constraints. "
            "featherstone: multibodies in joint coordinates, for trees of joints only."),
  PERP_ENUM(perp_engine_bullet_opts, solver, 0, bullet_solvers,
            "Solver. sequential: impulses by warm-started Gauss-Seidel. nncg: the same with "
            "nonlinear conjugate gradients, bodies=maximal only. dantzig: pivoting, with sweeps if "
            "it fails (counted as failures)."),
  PERP_INT(perp_engine_bullet_opts, iterations, 10, 1, 1000000,
           "Number of sweeps of sequential and nncg."),
  PERP_REAL(perp_engine_bullet_opts, erp, 0.2, 0, 1, 0, "",
            "Fraction of the error of joints that is corrected in a step."),
  PERP_REAL(perp_engine_bullet_opts, erp_contact, 0.2, 0, 1, 0, "",
            "Fraction of the error of contacts that is corrected in a step (erp2)."),
  PERP_REAL(perp_engine_bullet_opts, cfm, 0, 0, 1, 0, "",
            "Compliance of all constraints (globalCfm)."),
  PERP_BOOL(perp_engine_bullet_opts, split, true,
            "Correction of contacts deeper than 4 cm by separate impulses, which do not change the "
            "velocities."),
  PERP_BOOL(perp_engine_bullet_opts, warm, true,
            "Warm start of the sweeps from 0.85 times the impulses of the previous step."),
  PERP_INT(perp_engine_bullet_opts, directions, 0, 0, 2,
           "Number of friction directions at a contact point. 0 is Bullet's default: 1 with rigid "
           "bodies, 2 with multibodies. 1 is along the sliding (at contacts of multibodies a fixed "
           "direction), 2 adds the perpendicular one."),
  PERP_REAL(perp_engine_bullet_opts, rebound_speed, 0.2, 0, 1e6, 0, "m/s",
            "Approach speed below which contacts do not rebound."),
  PERP_BOOL(perp_engine_bullet_opts, gyroscopic, true,
            "Gyroscopic torques. For rigid bodies they are implicit."),
  PERP_OPTIONS_END
};

const perp_engine_desc perp_engine_bullet = {
  .d = { .name = "bullet",
         .summary =
             "Bullet: sequential impulses or pivoting; rigid bodies or Featherstone's method",
         .reference =
             "E. Coumans, Bullet physics simulation, SIGGRAPH course (2015); version 3.24; "
             "R. Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 7",
         .equation = "M (v+ - v) = h f + J' lambda,  J v+ + cfm lambda = -erp C / h - e J v,  "
                     "lo <= lambda <= hi,  |lambda_t| <= mu lambda_n",
         PERP_OPTIONS(bullet_options, perp_engine_bullet_opts) },
  .package = "libbullet-dev",
  .dims = 1u << 3,
  .joints = 1u << PERP_JOINT_BALL | 1u << PERP_JOINT_HINGE | 1u << PERP_JOINT_UNIVERSAL |
            1u << PERP_JOINT_SLIDER | 1u << PERP_JOINT_FIXED | 1u << PERP_JOINT_LINE |
            1u << PERP_JOINT_PLANAR | 1u << PERP_JOINT_CYLINDRICAL,
  .shapes = 1u << PERP_SHAPE_SPHERE | 1u << PERP_SHAPE_CAPSULE | 1u << PERP_SHAPE_BOX |
            1u << PERP_SHAPE_POLYTOPE | 1u << PERP_SHAPE_PLANE | 1u << PERP_SHAPE_CYLINDER |
            1u << PERP_SHAPE_CONE,
  .features = PERP_ENGINE_LIMITS | PERP_ENGINE_MOTORS | PERP_ENGINE_RESTITUTION |
              PERP_ENGINE_PARTICLES | PERP_ENGINE_COMPOUNDS | PERP_ENGINE_PAIRS |
              PERP_ENGINE_FORCES,
};
