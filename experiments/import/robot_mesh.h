/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meshes of robots: STL, OBJ, DAE (Collada), glTF and GLB by assimp, and MuJoCo's own MSH.  Private
 * to experiments/import.
 *
 * Lengths are metres.  STL, OBJ and MSH have no unit: their numbers are taken as they are, as ROS
 * and MuJoCo do.  The <unit> of a DAE counts, and its axes are taken as they are, whatever its
 * <up_axis> says, as RViz and Gazebo do.  glTF is in metres with y up, and is turned: x, y, z
 * become x, -z, y. */
#ifndef PERP_ROBOT_MESH_H
#define PERP_ROBOT_MESH_H

#include "experiments/import/robot.h"

enum {
  PERP_ROBOT_MESH_BYTES = 256 << 20,
  PERP_ROBOT_MESH_VERTICES = 1 << 22, /* most of them, and of triangles */
  PERP_ROBOT_MESH_CORNERS = 1000      /* of a hull that collides */
};

/* A mesh of the robot from a file: equal vertices are one, polygons are triangles, triangles
 * without an area are left out.  Coordinates are multiplied by scale; where the product of scale is
 * negative, triangles turn round, so that they stay counter-clockwise seen from outside.  The file
 * and those that it needs (buffers of a glTF) are noted by perp_robot_read_file.  NULL after
 * perp_robot_refuse at a line of at_file: no regular file, too large, no mesh, a vertex that is not
 * finite, an index out of range.  O(n). */
perp_robot_mesh *perp_robot_mesh_load(perp_robot *robot, const char *file, const double scale[3],
                                      const char *at_file, int at_line);

/* Corners of the convex hull of a mesh: their numbers in the pool, at most `most` (>= 4) of them.
 * Where it has more, those are taken one after the other that are farthest beyond the hull of those
 * taken before, so that it is inscribed; *off: the largest distance of a vertex beyond it [m], 0
 * where the hull is whole.  NULL: the vertices lie in a plane, or there are none. */
int *perp_robot_mesh_hull(perp_robot *robot, const perp_robot_mesh *mesh, int most, int *n,
                          double *off);

#endif
