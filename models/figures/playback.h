/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A motion of a model as it was captured or computed: poses at times, and the smooth motion through
 * them.
 *
 * Poses become joint coordinates (models/figures/inverse.h says which), and each coordinate a curve
 * of models/figures/blend.h: five continuous derivatives, joints hold exactly, whatever the time.
 * The motion stands still before the first pose and after the last one; there its rates jump. */
#ifndef PERP_PLAYBACK_H
#define PERP_PLAYBACK_H

#include "models/figures/jumps.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_playback perp_playback;

/* Poses q [n][model nq] at the times t [n], s, rising; copied.  A pose off the joints is projected:
 * each joint takes the part that it allows.  The model must be finished and outlive *out.
 * PERP_ERR_ARG: no poses, times that do not rise, numbers that are not finite, neighbours that are
 * half a turn apart (naming frame and body); PERP_ERR_UNSUPPORTED: loops, soft joints, distance
 * joints, whose rod has no orientation; PERP_ERR_NOMEM; *out is NULL then.  O(n nq), allocates. */
perp_status perp_playback_create(perp_ctx *ctx, const perp_model *model, int n, const double *t,
                                 const double *q, perp_playback **out);
void perp_playback_destroy(perp_playback *playback); /* NULL is fine */
/* s, of the first and the last pose. */
void perp_playback_span(const perp_playback *playback, double *begin, double *end);
/* Poses in space that do not continue each other (perp_jumps_find): the first ones in jump [most];
 * returns their number, 0 in the plane.  One thread at a time.  O(n nq), allocates. */
int perp_playback_jumps(perp_playback *playback, perp_jump *jump, int most);
/* Joint coordinates: q [nq], u [nu] and udot [nu] of perp_inverse.  O(nq log n), no allocation. */
void perp_playback_joints(const perp_playback *playback, double t, double *q, double *u,
                          double *udot);
/* The model: q [nq], v and a [nv]; a may be NULL.  One thread at a time.  O(nq log n), no
 * allocation. */
void perp_playback_state(perp_playback *playback, double t, double *q, double *v, double *a);

#ifdef __cplusplus
}
#endif

#endif
