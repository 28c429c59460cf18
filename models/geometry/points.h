/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many points: equal ones left out, the farthest one along a direction, those in a slab. */
#ifndef PERP_POINTS_H
#define PERP_POINTS_H

#include "solvers/core/core.h"

typedef struct perp_points_node {
  double lo[3], hi[3];
  int first, n; /* points order[first ... first + n - 1]; n = 0: inner node, whose children are the
                   next node and `first` */
} perp_points_node;

/* A tree of boxes over points, halved along their longest sides. */
typedef struct perp_points {
  int n, n_nodes, *order, *next, mask, *bucket;
  const double *p; /* [3 n], of the caller */
  perp_points_node *node;
} perp_points;

/* Room for n points. */
void perp_points_layout(perp_points *points, int n, perp_arena *arena);
/* Leaves out points within `near` (> 0) of one before them that stays; moves the others to the
 * front and returns their number.  The room is that of n points or more.  O(n) unless very many are
 * that near. */
int perp_points_distinct(perp_points *points, double *p, int n, double near);
/* The tree over p [3 n], which stays the caller's and must not change. */
void perp_points_build(perp_points *points, const double *p, int n);
/* The point with the largest d . p; of equal ones the first that the tree meets.  O(log n) where
 * few are that far. */
int perp_points_farthest(const perp_points *points, const double d[3]);
/* Points with |d . p - s| <= width, in index; their number. */
int perp_points_slab(const perp_points *points, const double d[3], double s, double width,
                     int *index);

#endif
