/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links and joints of URDF and SDF, in any order, and the tree of bodies that they are.  Private to
 * urdf.c and sdf*.c. */
#ifndef PERP_ROBOT_TREE_H
#define PERP_ROBOT_TREE_H

#include "experiments/import/robot_xml.h"

enum { PERP_TREE_LINKS = 4096, PERP_TREE_WORLD = -1 };

/* The frame b in the frame a: a point s of b is x + R(quat) s. */
typedef struct perp_tree_pose {
  double x[3], quat[4];
} perp_tree_pose;

typedef struct perp_tree_link {
  const char *name;
  const xmlNode *at;
  perp_tree_pose pose;             /* SDF: in the world */
  bool inertial;                   /* it says its mass */
  double mass, com[3], inertia[9]; /* about com, along the axes of the link */
  bool no_gravity, fixed;          /* fixed: a part of the world, whatever else floats */
  int n_geoms;
  perp_robot_geom *geom; /* in the frame of the link */
  /* by perp_tree_build */
  int carrier; /* joint whose child it is; -1: none */
  int body;    /* of the robot; -1: it has none (a link without mass) */
} perp_tree_link;

typedef struct perp_tree_joint {
  const char *name;
  const xmlNode *at;
  int parent, child;        /* links; parent PERP_TREE_WORLD */
  perp_tree_pose pose;      /* of the child in the parent, all coordinates zero */
  int n;                    /* axes: 0: fixed */
  perp_robot_joint axis[3]; /* in the frame of the child, in the order from the parent on */
  int number;               /* of axis 0 in the robot; -1: it is not there */
} perp_tree_joint;

typedef struct perp_tree {
  perp_robot *robot;
  int n_links, n_joints, n_files;
  perp_tree_link *link;
  perp_tree_joint *joint;
  struct perp_tree_file *file; /* meshes that are loaded */
  int n_said;
  struct perp_tree_said *said;
  bool floating; /* links that no joint carries are free; false: parts of the world */
} perp_tree;

void perp_tree_identity(perp_tree_pose *pose);
/* ab = a b: b in the frame that a is in. */
void perp_tree_times(const perp_tree_pose *a, const perp_tree_pose *b, perp_tree_pose *ab);
/* a^-1 b */
void perp_tree_between(const perp_tree_pose *a, const perp_tree_pose *b, perp_tree_pose *ab);
/* From x y z, roll, pitch, yaw (rad): R = Rz(yaw) Ry(pitch) Rx(roll). */
void perp_tree_rpy(const double xyz[3], const double rpy[3], perp_tree_pose *pose);

/* One more.  NULL after an error: too many of them. */
perp_tree_link *perp_tree_add_link(perp_tree *tree, const char *name, const xmlNode *at);
perp_tree_joint *perp_tree_add_joint(perp_tree *tree, const char *name, const xmlNode *at);
perp_robot_joint *perp_tree_add_axis(perp_tree_joint *joint, perp_robot_joint_kind kind,
                                     const double axis[3]);
perp_robot_geom *perp_tree_add_geom(perp_tree *tree, perp_tree_link *link,
                                    perp_robot_geom_kind kind, const perp_tree_pose *pose);
int perp_tree_find_link(const perp_tree *tree, const char *name);
int perp_tree_find_joint(const perp_tree *tree, const char *name);
/* Inertia (ixx, iyy, izz, ixy, ixz, iyz) along the axes of a pose in the link, and its centre. */
void perp_tree_inertial(perp_tree_link *link, double mass, const double inertia[6],
                        const perp_tree_pose *pose);
/* The mesh of a name that an element has: its number; -1 after an error. */
int perp_tree_mesh(perp_tree *tree, const char *folder, const char *name, const double scale[3],
                   const xmlNode *at);

/* "lost: WHAT: A, B, C and 9 others" (note: where it is not lost), one line for all calls with the
 * same words, which perp_tree_tell writes at the end. */
void perp_tree_say(perp_tree *tree, bool lost, const char *what, const char *whose);
void perp_tree_tell(perp_tree *tree);

/* Bodies, joints and geoms of the robot.  A link without mass between two joints becomes none: its
 * joints connect its neighbours.  Errors: a link that two joints carry (closes: a loop that is
 * closed by points that coincide), a circle, a link without mass that moves otherwise. */
void perp_tree_build(perp_tree *tree);

#endif
