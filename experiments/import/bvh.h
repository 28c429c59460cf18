/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Motion capture in BVH files (Biovision hierarchy): a tree of joints and, frame by frame, their
 * channels.
 *
 * The orientation of a joint in that of its parent is the product of its channels' rotations in
 * their order, the first one outermost; its place is its offset, of the root plus its position
 * channels.  Position channels of any other joint are its place, instead of its offset, unless they
 * are all 0 in all frames.  Lengths have no unit, angles are degrees, y points up.  There is no
 * library for it that is kept up (C, in Debian); the format is two pages. */
#ifndef PERP_BVH_H
#define PERP_BVH_H

#include "experiments/base/tree.h"

enum {
  PERP_BVH_JOINTS = 1000,
  PERP_BVH_DEPTH = 100,
  PERP_BVH_FRAMES = 1000000,
  PERP_BVH_CHANNELS = 6
};

typedef enum perp_bvh_channel {
  PERP_BVH_X,
  PERP_BVH_Y,
  PERP_BVH_Z,
  PERP_BVH_RX,
  PERP_BVH_RY,
  PERP_BVH_RZ
} perp_bvh_channel;

typedef struct perp_bvh_joint {
  const char *name; /* of an end site: that of its joint */
  bool end;         /* an end site: a place, no joint */
  int parent;       /* -1: the root; parents come before children */
  int line;         /* of the file, from 1 */
  double offset[3];
  int channels, first; /* place of the first one in a frame */
  perp_bvh_channel channel[PERP_BVH_CHANNELS];
  bool placed;  /* no root, and its position channels are its place */
  bool limited; /* by the file, all its rotations: */
  double lower[PERP_BVH_CHANNELS], upper[PERP_BVH_CHANNELS]; /* degrees, by channel */
  double frame[4]; /* orientation of the axes of its rotations; 0: those of the joint */
} perp_bvh_joint;

typedef struct perp_bvh {
  perp_pool pool;
  int n; /* joints and end sites */
  perp_bvh_joint *joint;
  int channels, frames;
  double frame_time;       /* s */
  double *value;           /* [frames][channels] */
  double unit;             /* m: of lengths, where the file says it; 0: it does not */
  double angle;            /* degrees: of angles in an AMC file, as its ASF file says */
  perp_bvh_channel *order; /* of the values of the root in an AMC file */
} perp_bvh;

/* Read a text of `size` bytes.  false after one message with file, line and mend: *out is empty.
 * Joints, depth and frames are bounded as above; numbers are finite and below 1e9.  O(size), no
 * recursion. */
bool perp_bvh_read(perp_diag *diag, const char *name, const char *text, size_t size, perp_bvh *out);
/* A file, of 64 MiB at most.  at: where it is named; NULL: on the command line. */
bool perp_bvh_load(perp_diag *diag, const perp_node *at, const char *path, perp_bvh *out);
void perp_bvh_free(perp_bvh *bvh);
/* Keep the frames from first to last (-1: the last one of the file), numbered from 0.  false: there
 * are no such frames. */
bool perp_bvh_cut(perp_bvh *bvh, int first, int last);
/* Set `placed` of all joints, of values that were filled in. */
void perp_bvh_placed(perp_bvh *bvh);
/* Does a joint move in its parent, by angles or by its place? */
bool perp_bvh_moves(const perp_bvh *bvh, int joint);
/* The same motion with rotations about the axes of the joints themselves, Z, X, Y, where they are
 * about other ones; *out is to be freed. */
void perp_bvh_plain(const perp_bvh *bvh, perp_bvh *out);
/* As a file that reads back to the last bit; of perp_bvh_plain where a BVH file cannot say
 * more.  "": no text yet. */
void perp_bvh_write(const perp_bvh *bvh, perp_text *out);
/* The skeleton of another BVH with so many frames of zeros, to be freed. */
void perp_bvh_like(const perp_bvh *skeleton, int frames, double frame_time, perp_bvh *out);

/* Of the joints, in frame k (-1: as drawn, all channels 0), with the axes of perp (x forward, y to
 * the left, z up: z, x, y of the file): orientation quat [4] in the parent, and its place offset
 * [3] in the parent. */
void perp_bvh_pose(const perp_bvh *bvh, int joint, int frame, double quat[4], double offset[3]);
/* The other way: channels of the joint in a frame.  Of the angles that say it, those next to the
 * frame before; a joint with fewer than three angles takes what it can.  offset counts for position
 * channels of the root. */
void perp_bvh_set_pose(perp_bvh *bvh, int joint, int frame, const double quat[4],
                       const double offset[3]);
/* The number of the joint of a name; -1: there is none. */
int perp_bvh_find(const perp_bvh *bvh, const char *name);

#endif
