/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of the engines, as their descriptors fill them and their adapters read them. */
#ifndef PERP_ENGINE_OPTIONS_H
#define PERP_ENGINE_OPTIONS_H

#include <stdbool.h>

typedef struct perp_engine_ode_opts {
  int solver; /* 0 quick, 1 step */
  int iterations;
  double erp, cfm, over_relaxation;
} perp_engine_ode_opts;

typedef struct perp_engine_bullet_opts {
  int bodies; /* 0 maximal, 1 featherstone */
  int solver; /* 0 sequential, 1 nncg, 2 dantzig */
  int iterations;
  double erp, erp_contact, cfm;
  bool split, warm, gyroscopic;
  int directions; /* 0: that of the world of Bullet */
  double rebound_speed;
} perp_engine_bullet_opts;

typedef struct perp_engine_dart_opts {
  int solver;   /* 0 dantzig, 1 pgs */
  int detector; /* 0 fcl, 1 primitive, 2 dart */
  int iterations;
  double erp;
} perp_engine_dart_opts;

typedef struct perp_engine_mujoco_opts {
  int solver;     /* 0 newton, 1 cg, 2 pgs */
  int cone;       /* 0 pyramidal, 1 elliptic */
  int integrator; /* 0 euler, 1 rk4, 2 implicit */
  int iterations;
  double tolerance, impratio, timeconst, dampratio;
} perp_engine_mujoco_opts;

typedef struct perp_engine_box2d_opts {
  int velocity, position; /* iterations */
  bool warm;
  double threshold;
} perp_engine_box2d_opts;

typedef struct perp_engine_chipmunk_opts {
  int iterations;
  double slop, bias;
} perp_engine_chipmunk_opts;

typedef struct perp_engine_simbody_opts {
  int integrator;        /* 0 rk-merson, 1 rk3, 2 rk2, 3 verlet, 4 semi-explicit-euler2, 5
                            semi-explicit-euler */
  double accuracy;       /* 0: steps of h */
  int boxes, resolution; /* 0 brick, 1 mesh */
  double stiffness, dissipation, thickness, transition;
  double stop_stiffness;
} perp_engine_simbody_opts;

#endif
