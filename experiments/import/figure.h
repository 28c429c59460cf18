/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Skeletons as figures: segments with masses, capsules and joints with limits, as the text of a
 * scene (docs/how-to/figures.md). */
#ifndef PERP_FIGURE_H
#define PERP_FIGURE_H

#include "experiments/import/figure_nodes.h"
#include "experiments/import/figure_tables.h"
#include "experiments/import/skeleton.h"

/* Where a segment is, by joint of the BVH. */
typedef struct perp_figure_segment {
  int joint;        /* of the BVH */
  int parent;       /* segment; -1: the root */
  const char *name; /* of the body in the scene */
  int class, side;
  double tip[3];    /* of its main bone, from the joint, unit of the file */
  double length;    /* of that */
  double share;     /* of the mass of its class */
  double mass;      /* kg at PERP_FIGURE_MASS */
  double centre[3]; /* of mass, from the joint, unit of the file, axes of perp */
} perp_figure_segment;

typedef struct perp_figure {
  const perp_bvh *bvh;
  perp_figure_nodes nodes; /* of it */
  perp_pool pool;
  int n;
  perp_figure_segment *segment;
  int *of;       /* [joints] the segment that begins there, -1: none */
  int *carrier;  /* [joints] the segment in which the joint has its place, -1: none */
  double height; /* as drawn, unit of the file */
  double unit;   /* m: the unit of length of the file, by the height; 0: not known */
  const char *unit_name;
} perp_figure;

/* Segments of a BVH: each joint from which bones go out.  false after a message: no bones, no
 * height. */
bool perp_figure_build(perp_diag *diag, const char *name, const perp_bvh *bvh, perp_figure *out);
void perp_figure_free(perp_figure *figure);
/* Orientation and place of the joint of a segment in the joint that carries it, of the root in the
 * world, in a frame (-1: as drawn), axes of perp; links in between are composed. */
void perp_figure_pose(const perp_figure *figure, int segment, int frame, double quat[4],
                      double place[3]);

/* ---- figure_axes.c ---- */

/* Axes of flexion (in the parent) and of twist (in the child), unit and orthogonal as drawn:
 * flexion moves the bone where the table of limits says.  false: the bone does not point where the
 * table needs it. */
bool perp_figure_axes(const perp_figure_segment *segment, double a[3], double b[3]);
/* Angles of the joint at which a segment begins, with those of links before it; axis: of the last
 * one. */
int perp_figure_turns(const perp_figure *figure, const perp_figure_segment *segment, int *axis);
/* An axis of the rotations of a joint, in the joint. */
void perp_figure_axis(const perp_bvh_joint *joint, int axis, double unit[3]);

typedef struct perp_figure_ranges {
  double a[3], b[3];         /* axes of a ball joint */
  double lower[3], upper[3]; /* of its angles a, node, b, degrees */
} perp_figure_ranges;

/* Limits that the file has for a joint of two or three rotations, as those of a ball joint; false:
 * it has none, or such that no angles of a ball joint are its own. */
bool perp_figure_ranges_of(const perp_figure *figure, const perp_figure_segment *segment,
                           perp_figure_ranges *out);

/* What a scene is made of. */
typedef struct perp_figure_source {
  const char *path;
  const perp_bvh *bvh;
  perp_skeleton_options options; /* that bvh was read with */
  bool parameters;               /* they are parameters of the scene, too */
} perp_figure_source;

/* The skeleton as the text of a scene; said: lines, *lost of them begin with "lost:". */
bool perp_figure_scene(perp_diag *diag, const perp_figure_source *source, perp_text *scene,
                       perp_text *said, int *lost);
/* What people should know of the figure and its motion, as lines (figure_said.c): nodes without
 * mass, masses, unit of length, jumps. */
void perp_figure_said(const perp_figure *figure, const perp_figure_source *source, perp_text *said);

#endif
