/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run recorded for the eye: poses, joint errors, forces of drives, contacts and their impulses,
 * energy and the reference at few times, in a file that reports and `perp view` show
 * (experiments/web).  Numbers to compute with are in the series. */
#ifndef PERP_REPLAY_H
#define PERP_REPLAY_H

#include "experiments/simulate/replay_model.h"
#include "models/models.h"
#include "models/multibody/reaction.h"

enum { PERP_REPLAY_FRAMES = 600 }; /* of a film, at most */

/* How much is kept.  SMALL, one of many in a report: 160 frames, 60 000 numbers, 256 bodies, 96
 * contacts.  FILM: 600 frames, 1 200 000 numbers (6.4 MB of a page), 10 000 bodies, 6000
 * contacts. */
typedef enum perp_replay_size { PERP_REPLAY_SMALL, PERP_REPLAY_FILM } perp_replay_size;

typedef struct perp_replay perp_replay;

/* One state. */
typedef struct perp_replay_state {
  double t;
  const double *q, *v;           /* v NULL: not known */
  const perp_step_info *info;    /* of the step that led there, NULL at the start */
  const perp_reaction *reaction; /* [joints] of that step; NULL: not known */
  double energy, drift;          /* J; |C| of the joints, m or rad */
  const double *ref;             /* q of the truth at t; NULL: not known */
  bool end;                      /* the last one: kept in any case */
} perp_replay_state;

/* For a finished model, which must outlive it.  reactions: with reaction forces of joints.  *out is
 * NULL with PERP_OK for scenes that have more bodies than that. */
perp_status perp_replay_create(perp_ctx *ctx, const perp_model *model, perp_replay_size size,
                               bool reactions, perp_replay **out);
void perp_replay_destroy(perp_replay *replay); /* NULL is fine */
/* One more state, t rising.  When there are too many, every other one is dropped, so that frames
 * stay even in time where states are; but the last one.  replay NULL is fine. */
perp_status perp_replay_frame(perp_ctx *ctx, perp_replay *replay, const perp_replay_state *state);
/* JSON "perp-replay/2"; arrays are float32, little endian, in base64:
 *
 *   dim, gravity (along -z, in the plane -y; m/s^2)
 *   bodies [{ name, mass, particle, half }]
 *       half: edges of a box of the same inertia, where the body has no shape
 *   shapes [{ body, kind, x, turn, radius, length, half, vertices }]
 *       body -1: the world; turn: quaternion or angle; vertices: 3 (2 in the plane) numbers each
 *   joints [{ kind, a, b, at_a, at_b, axis, curve }]
 *       anchors and the axis in the frames of the bodies; curve: points in the frame of a, 3
 *       numbers each, of curves only
 *   springs [{ a, b, at_a, at_b }]   force elements
 *   drives [{ name, joint, unit, part }]
 *       what acts along the axes of joints (experiments/metrics/joint_loads.h); name may be null;
 * unit: Nm of what turns, N along an axis; part: one component of the torque of a joint frames,
 * contacts_left_out: of all frames, those beyond the limit t, energy, drift, depth [frames]: s; J;
 * |C|; m, the deepest penetration of the step pose [frames, bodies, 7 or 3] error [frames, joints,
 * 3]: p_b - p_a in the world, of distance joints its part that should not be drive [frames,
 * drives]: Nm or N, of drives the force of the step that led to the frame, limits included, of
 * others the size at the frame; NaN: not known, as of drives at the start reaction [frames, joints,
 * 6], where reactions were asked for: place and force on body b, N, of the step that led to the
 * frame, 0: not known; contacts [frames]: their
 * number; contact [sum of contacts, 6]: place and impulse on body b, N s, of the step that led to
 * the frame known [frames]: 1 where the truth is known; reference [sum of known, bodies, 7 or 3]:
 * its poses */
perp_status perp_replay_write(perp_ctx *ctx, const perp_replay *replay, const char *path);

#endif
