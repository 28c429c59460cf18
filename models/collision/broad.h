/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Broad phase: which pairs of shapes may be nearer than the margin.
 *
 * Temporal coherence by a list that outlives the step: pairs are listed whose boxes, grown by half
 * of the margin and a slack, overlap, and the list holds until some shape has left its grown box
 * (what Verlet 1967 does for molecules).  The slack of a shape follows its last motion.  The list
 * is built on a hierarchical grid: a shape lives at its centre in the level whose cells are no
 * smaller than its grown box, and meets its 27 neighbours there and in each coarser level; levels
 * of few shapes are compared with all. O(shapes + pairs) for a build and O(shapes + listed pairs)
 * for a step.  What a pair yields never depends on the list. */
#ifndef PERP_BROAD_H
#define PERP_BROAD_H

#include "models/collision/pairs.h"

typedef struct perp_bounds {
  double lo[3], hi[3];
} perp_bounds;

/* What a sphere needs to meet others, on one line of the cache: its surface is that of shape.h
 * without couples. */
typedef struct perp_ball {
  double x[3], radius; /* centre at the last poses; radius < 0: no sphere */
  double mu, mu_dynamic, restitution;
  int material, body;
} perp_ball;
PERP_INLINE perp_surface perp_ball_surface(const perp_ball *ball)
{
  return (perp_surface){ .mu = ball->mu,
                         .mu_dynamic = ball->mu_dynamic,
                         .restitution = ball->restitution,
                         .material = ball->material };
}

/* What decides whether a pair may touch at all. */
typedef struct perp_tag {
  int body, group;
  bool joined, collide_joined; /* the body has neighbours */
  bool no_contact;             /* it is of a pair that has none */
} perp_tag;

typedef struct perp_shape_pair {
  int a, b; /* a < b */
} perp_shape_pair;

enum { PERP_GRID_LEVELS = 64, PERP_BROAD_LANES = 16 };

typedef struct perp_grid_entry {
  int shape, level, cell[3];
  perp_bounds fat;
} perp_grid_entry;

/* pairs found by one member of the team, in no order */
typedef struct perp_pair_lane {
  perp_shape_pair *pair;
  int n, cap;
  bool full; /* there was no memory for more */
} perp_pair_lane;

typedef struct perp_broad {
  const perp_model *model;
  int n; /* shapes */
  double margin;
  perp_bounds *box; /* [n] at the last poses, grown by half of the margin; of planes everything */
  perp_bounds *fat; /* [n] when the list was built */
  perp_ball *ball;  /* [n] */
  perp_tag *tag;    /* [n] */
  double *moved;    /* [n] of a side of the box since the update before */
  perp_pose *plane_pose; /* [n_planes] then */
  int *planes, n_planes;
  perp_shape_pair *pair; /* the list, ordered by (a, b) */
  int n_pairs;
  bool seen;    /* box has been set */
  bool listed;  /* there is a list ... */
  double reach; /* ... for margins up to this */
  /* of the construction */
  perp_pair_lane lane[PERP_BROAD_LANES];
  int cap_pairs;
  int *count;             /* [n + 2] counting sort of pairs */
  double *size;           /* [n] logarithm of the extent of fat */
  int *neighbour, *first; /* bodies joined to body i: neighbour[first[i+1] ... first[i+2]-1] */
  perp_grid_entry *entry, *sorted; /* [n] */
  int n_entries;                   /* shapes that are no planes */
  int *at, *bucket, mask;          /* [n] bucket of an entry; [mask + 2] first of a bucket */
  double cell[PERP_GRID_LEVELS];
  int members[PERP_GRID_LEVELS];
} perp_broad;

/* Allocates; perp_broad_free also after failure. */
perp_status perp_broad_init(perp_ctx *ctx, perp_broad *broad, const perp_model *model,
                            double margin);
void perp_broad_free(perp_broad *broad);
/* Shapes of two bodies that no joint and no group keeps apart? */
bool perp_broad_may_touch(const perp_broad *broad, int i, int j);
/* perp_collision_crosses, see collision.h. */
bool perp_broad_crosses(const perp_broad *broad, const double *q0, const double *q1, double target,
                        perp_pair_filter *skip, void *user);
/* Boxes at the poses, and a list that holds for them.  Allocates when there are more pairs than
 * ever. */
perp_status perp_broad_update(perp_ctx *ctx, perp_broad *broad, const perp_pose *pose);

/* Do the boxes of the last update overlap? */
PERP_INLINE bool perp_bounds_overlap(const perp_bounds *a, const perp_bounds *b)
{
  return !(a->lo[0] > b->hi[0] || b->lo[0] > a->hi[0] || a->lo[1] > b->hi[1] ||
           b->lo[1] > a->hi[1] || a->lo[2] > b->hi[2] || b->lo[2] > a->hi[2]);
}

#endif
