/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run recorded for the eye: poses, joint errors and contact impulses at few times, in a small
 * file that the report replays.  Numbers to compute with are in the series. */
#ifndef PERP_REPLAY_H
#define PERP_REPLAY_H

#include "models/models.h"

typedef struct perp_replay perp_replay;

/* For a finished model, which must outlive it.  *out is NULL with PERP_OK for scenes that are too
 * large to be looked at (more than 256 bodies). */
perp_status perp_replay_create(perp_ctx *ctx, const perp_model *model, perp_replay **out);
void perp_replay_destroy(perp_replay *replay); /* NULL is fine */
/* One more state, t rising; info of the step that led there, NULL at the start.  Keeps at most
 * about 160 frames: when there are more, every other one is dropped.  replay NULL is fine. */
perp_status perp_replay_frame(perp_ctx *ctx, perp_replay *replay, double t, const double *q,
                              const perp_step_info *info);
/* JSON "perp-replay/1"; arrays are float32, little endian, in base64:
 *
 *   dim, bodies [{ name, half }]    half: edges of a box of the same inertia, where the body has no
 *   shape shapes [{ body, kind, x, turn, radius, length, half, vertices }]   body -1: the world;
 *   turn: quaternion or
 *                                   angle; vertices: 3 (2 in the plane) numbers each
 *   joints [{ kind, a, b, at_a, at_b }]   anchors in the body frames
 *   frames, t [frames], pose [frames, bodies, 7 or 3], error [frames, joints, 3]: p_b - p_a in the
 *   world, of
 *                                   distance joints its part that should not be
 *   contacts [frames]: their number; contact [sum of contacts, 6]: place and impulse on body b, N
 *   s, of the
 *                                   step that led to the frame */
perp_status perp_replay_write(perp_ctx *ctx, const perp_replay *replay, const char *path);

#endif
