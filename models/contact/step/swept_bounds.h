/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Geometry hulls of bodies over a stretch of time, and which of them meet.
 *
 * The hull of a body is the axis-aligned box around all of its shapes (Vondrak 2005,
 * section 7.3.2), here around all places where the body was seen since the stretch began, so that
 * bodies may be moved one after the other. Bodies that meet, or that a joint or a force connects,
 * form components (union-find, the smallest body is the root; the result does not depend on the
 * order of anything). */
#ifndef PERP_SWEPT_BOUNDS_H
#define PERP_SWEPT_BOUNDS_H

#include "models/multibody/model_private.h"
#include "solvers/core/sets.h"

typedef struct perp_swept_bounds perp_swept_bounds;

/* margin >= 0 m: hulls closer than that (and a millionth of the size of the bodies) meet.  For a
 * finished model, which must outlive it. */
perp_status perp_swept_bounds_create(perp_ctx *ctx, const perp_model *model, double margin,
                                     perp_swept_bounds **out);
void perp_swept_bounds_destroy(perp_swept_bounds *s); /* NULL is fine */
/* The stretch of a body begins at q_b (its coordinates), or goes on through it.  O(shapes of the
 * body). */
void perp_swept_bounds_begin(perp_swept_bounds *s, int body, const double *q_b);
void perp_swept_bounds_extend(perp_swept_bounds *s, int body, const double *q_b);
/* Radius of a sphere around the centre of mass that holds all shapes of a body but planes, m. */
double perp_swept_bounds_reach(const perp_swept_bounds *s, int body);
/* root [bodies]: the smallest body of the component of each.  Sort and sweep along x (Baraff;
 * Vondrak 2005, section 7.3.2), O(bodies) for small motions since the call before, and the pairs
 * that overlap along x.  No allocation. */
void perp_swept_bounds_components(perp_swept_bounds *s, int *root);

#endif
