/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A robot on its way to a scene file.  Private to the converter, robot_*.c. */
#ifndef PERP_ROBOT_SCENE_H
#define PERP_ROBOT_SCENE_H

#include "experiments/import/robot.h"

#include <stdio.h>

typedef struct perp_rs_axis { /* the drive axis of a scalar joint */
  const char *joint;          /* name of the joint in the scene; NULL: it has none */
  const char *axis;           /* a, b, node, along, ... */
  double sign;                /* -1: its coordinate runs the other way */
  double least, most;         /* of the coordinate of the robot, beyond which it is not known */
} perp_rs_axis;

typedef struct perp_rs {
  perp_robot *robot;
  FILE *out;                 /* the scene */
  const char **body;         /* [n_bodies] name in the scene, of roots */
  double *com;               /* [3 n_bodies] centre of mass of a root and all that is welded
                                to it, in its frame */
  perp_names bodies, joints; /* names that are taken */
  perp_rs_axis *axis;        /* [n_joints] */
  const char **control;      /* [n_actuators] parameter that is its control; NULL: a constant */
  struct perp_rs_surface *surface; /* [n_surfaces] kinds of friction of geoms */
  int n_surfaces, *surface_of;     /* [n_geoms] */
  bool materials;                  /* they are materials of the scene */
  int n_apart;
  perp_robot_pair *apart; /* [n_apart] roots a < b, sorted, of which no shapes touch */
  bool driven, dissipative;
} perp_rs;

/* A name of an element as a scene can have it, "KIND NUMBER" where it has none. */
const char *perp_rs_name(perp_rs *rs, const char *name, const char *kind, int number);
const char *perp_rs_body_name(perp_rs *rs, int body);
const char *perp_rs_joint_name(perp_rs *rs, int joint);
const char *perp_rs_actuator_name(perp_rs *rs, int actuator);
/* The same or, where that is taken or is no name in a scene, one like it. */
const char *perp_rs_fresh(perp_rs *rs, perp_names *names, const char *name);
/* A number with all its digits. */
void perp_rs_digits(perp_rs *rs, double v);
/* ", KEY: [...]" and ", KEY: x" with all digits. */
void perp_rs_vector(perp_rs *rs, const char *key, int n, const double *v);
void perp_rs_number(perp_rs *rs, const char *key, double v);
/* A world point, or direction, in the frame of the body of the scene that a body of the robot
 * belongs to. */
void perp_rs_local(const perp_rs *rs, int body, bool place, const double p[3], double s[3]);
/* World place of a point of a body of the robot. */
void perp_rs_world(const perp_rs *rs, int body, const double s[3], double p[3]);
/* "world", or the name of the body in quotes. */
void perp_rs_body(perp_rs *rs, const char *key, int body);

/* Sections, in this order. */
void perp_rs_bodies(perp_rs *rs);
void perp_rs_joints(perp_rs *rs);
void perp_rs_loops(perp_rs *rs);    /* equality constraints, further joints */
void perp_rs_controls(perp_rs *rs); /* of actuators, as parameters */
void perp_rs_drives(perp_rs *rs);
void perp_rs_actuators(perp_rs *rs); /* further drives */
void perp_rs_forces(perp_rs *rs);
void perp_rs_surfaces(perp_rs *rs, const int *which, int n); /* of n geoms, before their shapes */
void perp_rs_shapes(perp_rs *rs);
void perp_rs_rest(perp_rs *rs); /* what nothing else has spoken of */

/* What a drive begins with: its name, joint, axis, and the coordinate of the initial state. */
void perp_rs_drive_begin(perp_rs *rs, const char *name, const perp_rs_axis *axis, double zero);
typedef struct perp_rs_single { /* a length that is factor q + offset of one joint */
  perp_robot_term term;
  double offset;
} perp_rs_single;

/* A fixed tendon of one joint, or of joints that couplings tie to one, whose coordinate the scene
 * has: what acts on its length is a drive of that joint.  false: it is none. */
bool perp_rs_tendon_single(const perp_rs *rs, int tendon, perp_rs_single *out);
/* What a shape says of its own surface. */
void perp_rs_surface_of(perp_rs *rs, int geom);

#endif
