/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Retargeting and blending of motions of skeletons: see motion_edit.h. */
#include "experiments/import/motion_edit.h"

#include "models/geometry/kinematics.h"
#include "models/figures/blend.h"

#include <math.h>
#include <string.h>

static bool edit_wrong(perp_diag *diag, const char *hint, const char *text)
{
  perp_diag_error(diag, NULL, 0, hint, "%s", text);
  return false;
}

/* ---- retargeting ---- */

/* The rotations of a frame as they stand, where both joints have the same channels. */
static bool edit_copy(const perp_bvh *from, int joint, int frame, perp_bvh *out, int i, int k)
{
  const perp_bvh_joint *a = &from->joint[joint], *b = &out->joint[i];
  if (a->channels != b->channels ||
      memcmp(a->channel, b->channel, (size_t)a->channels * sizeof *a->channel) != 0 ||
      memcmp(a->frame, b->frame, sizeof a->frame) != 0)
    return false;
  const double *x = from->value + (size_t)frame * (size_t)from->channels + a->first;
  double *y = out->value + (size_t)k * (size_t)out->channels + b->first;
  for (int channel = 0; channel < a->channels; channel++)
    if (a->channel[channel] >= PERP_BVH_RX) y[channel] = x[channel];
  return true;
}

/* How high the root is above the lowest joint or end, as drawn. */
static double edit_height(const perp_bvh *bvh)
{
  double lowest = 0, y[PERP_BVH_JOINTS];
  for (int joint = 0; joint < bvh->n; joint++) {
    y[joint] = bvh->joint[joint].parent < 0
                   ? 0
                   : y[bvh->joint[joint].parent] + bvh->joint[joint].offset[1];
    lowest = fmin(lowest, y[joint]);
  }
  return -lowest;
}

bool perp_motion_retarget(perp_diag *diag, const perp_bvh *motion, const perp_bvh *skeleton,
                          perp_bvh *out)
{
  const double from = edit_height(motion), to = edit_height(skeleton);
  int found = 0;
  *out = (perp_bvh){ .n = 0 };
  if (motion->frames == 0)
    return edit_wrong(diag, "name the file with the motion first", "the motion has no frames");
  for (int joint = 0; joint < skeleton->n; joint++)
    found += !skeleton->joint[joint].end && perp_bvh_find(motion, skeleton->joint[joint].name) >= 0;
  if (found == 0)
    return edit_wrong(diag, "rename the joints of one of both",
                      "no joint of the skeleton has the name of a joint of the motion");
  if (perp_bvh_find(motion, skeleton->joint[0].name) != 0)
    return edit_wrong(diag, "rename the root of one of both",
                      "the roots of motion and skeleton have different names");
  if (!(from > 0) || !(to > 0))
    return edit_wrong(diag, "draw the legs downwards, along -y",
                      "nothing of the skeletons is below their roots as drawn: their sizes cannot "
                      "be compared");
  perp_bvh_like(skeleton, motion->frames, motion->frame_time, out);
  for (int frame = 0; frame < out->frames; frame++)
    for (int joint = 0; joint < out->n; joint++) {
      const int j = out->joint[joint].end ? -1 : perp_bvh_find(motion, out->joint[joint].name);
      double quat[4] = { 1 }, offset[3], place[3];
      if (out->joint[joint].end) continue;
      perp_bvh_pose(out, joint, -1, quat, offset);
      if (j >= 0) perp_bvh_pose(motion, j, frame, quat, place);
      for (int c = 0; c < 3 && j == 0 && joint == 0; c++) offset[c] = place[c] * to / from;
      perp_bvh_set_pose(out, joint, frame, quat, offset);
      if (j >= 0) edit_copy(motion, j, frame, out, joint, frame);
    }
  return true;
}

/* ---- blending ---- */

/* R exp(b log(R' Q)) */
static void edit_slerp(const double R[4], const double Q[4], double b, double out[4])
{
  double turn[3];
  perp_quat_difference(R, Q, turn);
  for (int c = 0; c < 3; c++) turn[c] *= b;
  perp_quat_retract(R, turn, out);
}

/* The pose of a joint at any time, between two frames by the same interpolation. */
static void edit_sample(const perp_bvh *bvh, int joint, double t, double quat[4], double offset[3])
{
  const double at = fmin(fmax(t / bvh->frame_time, 0), bvh->frames - 1);
  int frame = (int)floor(at + 1e-9);
  const double part = at - frame;
  if (frame > bvh->frames - 1) frame = bvh->frames - 1;
  perp_bvh_pose(bvh, joint, frame, quat, offset);
  if (part <= 1e-9 || frame + 1 >= bvh->frames) return;
  double next[4], there[3], from[4];
  memcpy(from, quat, sizeof from);
  perp_bvh_pose(bvh, joint, frame + 1, next, there);
  edit_slerp(from, next, part, quat);
  for (int c = 0; c < 3; c++) offset[c] += part * (there[c] - offset[c]);
}

/* [joints of the first] those of the second; false after a message. */
static bool edit_pairs(perp_diag *diag, const perp_bvh *first, const perp_bvh *second, int *pair)
{
  int joints = 0, others = 0;
  for (int i = 0; i < second->n; i++) others += !second->joint[i].end;
  for (int i = 0; i < first->n; i++) {
    const perp_bvh_joint *joint = &first->joint[i];
    pair[i] = -1;
    if (joint->end) continue;
    joints++;
    pair[i] = perp_bvh_find(second, joint->name);
    if (pair[i] < 0) {
      perp_diag_error(diag, NULL, 0, "perp motion retarget SECOND.bvh FIRST.bvh",
                      "the second motion has no joint '%s'", joint->name);
      return false;
    }
    for (int c = 0; c < 3 && joint->parent >= 0; c++)
      if (fabs(joint->offset[c] - second->joint[pair[i]].offset[c]) >
          1e-6 * (1 + fabs(joint->offset[c]))) {
        perp_diag_error(diag, NULL, 0, "perp motion retarget SECOND.bvh FIRST.bvh",
                        "the joint '%s' has another place in the second skeleton", joint->name);
        return false;
      }
  }
  return joints == others || edit_wrong(diag, "perp motion retarget SECOND.bvh FIRST.bvh",
                                        "the second skeleton has joints that the first one lacks");
}

bool perp_motion_blend(perp_diag *diag, const perp_bvh *first, const perp_bvh *second, double at,
                       double over, bool follow, perp_bvh *out)
{
  const double end = (first->frames - 1) * first->frame_time,
               last = (second->frames - 1) * second->frame_time;
  int pair[PERP_BVH_JOINTS];
  double shift[3] = { 0 }, quat[4], x[3], y[3];
  *out = (perp_bvh){ .n = 0 };
  if (first->frames == 0 || second->frames == 0)
    return edit_wrong(diag, NULL, "a motion has no frames");
  if (!(at >= 0) || !(over > 0) || at + over > end * (1 + 1e-12) || over > last * (1 + 1e-12)) {
    perp_diag_error(diag, NULL, 0, "let the blending end before both motions do",
                    "from %g s over %g s both motions are needed: the first one ends at %g s, the "
                    "second one at %g s",
                    at, over, end, at + last);
    return false;
  }
  if (!edit_pairs(diag, first, second, pair)) return false;
  edit_sample(first, 0, at, quat, x);
  edit_sample(second, pair[0], 0, quat, y);
  for (int c = 0; c < 2 && follow; c++) shift[c] = x[c] - y[c]; /* x and y are the ground */
  const double intervals = floor((at + last) / first->frame_time + 1e-9);
  if (!(intervals < PERP_BVH_FRAMES))
    return edit_wrong(diag, NULL, "the motion would have too many frames");
  const int frames = 1 + (int)intervals;
  perp_bvh_like(first, frames, first->frame_time, out);
  for (int frame = 0; frame < frames; frame++) {
    const double t = frame * first->frame_time, b = perp_blend_weight((t - at) / over);
    for (int joint = 0; joint < out->n; joint++) {
      double Q[4], place[3], offset[3], R[4];
      if (pair[joint] < 0) continue;
      edit_sample(first, joint, t, quat, offset);
      edit_sample(second, pair[joint], t - at, Q, place);
      for (int c = 0; c < 3; c++)
        offset[c] += b * (place[c] + (joint == 0 ? shift[c] : 0) - offset[c]);
      edit_slerp(quat, Q, b, R);
      perp_bvh_set_pose(out, joint, frame, b <= 0 ? quat : b >= 1 ? Q : R, offset);
      if (b <= 0) edit_copy(first, joint, frame, out, joint, frame);
    }
  }
  return true;
}
