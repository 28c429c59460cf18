/* SPDX-License-Identifier: GPL-3.0-or-later */
/* BVH files as text, and poses as channels. */
#include "experiments/import/bvh.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

static const char *const bvh_words[] = { "Xposition", "Yposition", "Zposition",
                                         "Xrotation", "Yrotation", "Zrotation" };

/* ---- text ---- */

static void bvh_write_number(perp_text *out, double x)
{
  char text[40];
  perp_format_real(x, text, sizeof text);
  perp_text_add(out, " %s", text);
}

static bool bvh_turned(const perp_bvh_joint *joint)
{
  return perp_dot(4, joint->frame, joint->frame) > 0;
}

static bool bvh_is_plain(const perp_bvh *bvh)
{
  for (int joint = 0; joint < bvh->n; joint++)
    if (bvh_turned(&bvh->joint[joint])) return false;
  return true;
}

void perp_bvh_plain(const perp_bvh *bvh, perp_bvh *out)
{
  static const perp_bvh_channel turns[] = { PERP_BVH_RZ, PERP_BVH_RX, PERP_BVH_RY };
  perp_bvh_like(bvh, 0, bvh->frame_time, out);
  out->frames = bvh->frames;
  out->channels = 0;
  for (int j = 0; j < out->n; j++) {
    perp_bvh_joint *joint = &out->joint[j];
    const perp_bvh_joint *from = &bvh->joint[j];
    joint->first = out->channels;
    if (bvh_turned(from)) {
      joint->channels = 0;
      for (int channel = 0; channel < from->channels; channel++)
        if (from->channel[channel] < PERP_BVH_RX)
          joint->channel[joint->channels++] = from->channel[channel];
      const bool rotates = from->channels > joint->channels;
      for (int c = 0; c < 3 && rotates; c++) joint->channel[joint->channels++] = turns[c];
      for (int c = 0; c < 4; c++) joint->frame[c] = 0;
      joint->limited = false;
    }
    out->channels += joint->channels;
  }
  out->value = perp_pool_alloc(&out->pool, (size_t)out->frames * (size_t)out->channels + 1,
                               sizeof *out->value);
  for (int frame = 0; frame < out->frames; frame++)
    for (int j = 0; j < out->n; j++) {
      double quat[4], place[3];
      perp_bvh_pose(bvh, j, frame, quat, place);
      if (bvh_turned(&bvh->joint[j])) {
        perp_bvh_set_pose(out, j, frame, quat, place);
        continue;
      }
      memcpy(out->value + (size_t)frame * (size_t)out->channels + out->joint[j].first,
             bvh->value + (size_t)frame * (size_t)bvh->channels + bvh->joint[j].first,
             (size_t)bvh->joint[j].channels * sizeof *out->value);
    }
}

void perp_bvh_write(const perp_bvh *bvh, perp_text *out)
{
  if (!bvh_is_plain(bvh)) {
    perp_bvh plain;
    perp_bvh_plain(bvh, &plain);
    perp_bvh_write(&plain, out);
    perp_bvh_free(&plain);
    return;
  }
  int open[PERP_BVH_DEPTH + 1], depth = 0;
  perp_text_add(out, "HIERARCHY\n");
  for (int i = 0; i < bvh->n; i++) { /* parents come first, and then all that hangs on them */
    for (; depth > 0 && open[depth - 1] != bvh->joint[i].parent; depth--)
      perp_text_add(out, "%*s}\n", 2 * (depth - 1), "");
    const perp_bvh_joint *joint = &bvh->joint[i];
    const int in = 2 * depth;
    if (joint->end)
      perp_text_add(out, "%*sEnd Site\n", in, "");
    else
      perp_text_add(out, "%*s%s %s\n", in, "", joint->parent < 0 ? "ROOT" : "JOINT", joint->name);
    perp_text_add(out, "%*s{\n%*sOFFSET", in, "", in + 2, "");
    for (int k = 0; k < 3; k++) bvh_write_number(out, joint->offset[k]);
    if (!joint->end) {
      perp_text_add(out, "\n%*sCHANNELS %d", in + 2, "", joint->channels);
      for (int channel = 0; channel < joint->channels; channel++)
        perp_text_add(out, " %s", bvh_words[joint->channel[channel]]);
    }
    perp_text_add(out, "\n");
    open[depth++] = i;
  }
  for (; depth > 0; depth--) perp_text_add(out, "%*s}\n", 2 * (depth - 1), "");
  perp_text_add(out, "MOTION\nFrames: %d\nFrame Time:", bvh->frames);
  bvh_write_number(out, bvh->frame_time);
  perp_text_add(out, "\n");
  for (int frame = 0; frame < bvh->frames; frame++) {
    for (int channel = 0; channel < bvh->channels; channel++)
      bvh_write_number(out, bvh->value[(size_t)frame * (size_t)bvh->channels + (size_t)channel]);
    perp_text_add(out, "\n");
  }
}

void perp_bvh_like(const perp_bvh *skeleton, int frames, double frame_time, perp_bvh *out)
{
  *out = (perp_bvh){
    .n = skeleton->n, .channels = skeleton->channels, .frames = frames, .frame_time = frame_time
  };
  out->joint = perp_pool_alloc(&out->pool, (size_t)out->n, sizeof *out->joint);
  memcpy(out->joint, skeleton->joint, (size_t)out->n * sizeof *out->joint);
  for (int joint = 0; joint < out->n; joint++)
    out->joint[joint].name = perp_pool_strdup(&out->pool, skeleton->joint[joint].name);
  out->value = perp_pool_alloc(&out->pool, (size_t)frames * (size_t)out->channels + 1,
                               sizeof *out->value);
}

int perp_bvh_find(const perp_bvh *bvh, const char *name)
{
  for (int joint = 0; joint < bvh->n; joint++)
    if (!bvh->joint[joint].end && strcmp(bvh->joint[joint].name, name) == 0) return joint;
  return -1;
}

/* ---- poses as channels ---- */

static const double BVH_DEGREES = 180 / 3.14159265358979323846;

/* The angles about the axes x[0], x[1], x[2] (all different) of R = R_x0(a) R_x1(b) R_x2(c),
 * degrees; n of them are free, the others 0. */
static void bvh_angles(const double R[9], const int x[3], int n, double angle[3])
{
  const int i = x[0], j = x[1], k = x[2];
  const double sign = (j - i + 3) % 3 == 1 ? 1 : -1;
#define BVH_R(row, column) R[(row) + 3 * (column)]
  angle[1] = angle[2] = 0;
  if (n == 1) {
    angle[0] = atan2(sign * (BVH_R(k, j) - BVH_R(j, k)), BVH_R(j, j) + BVH_R(k, k));
  } else if (n == 2) {
    angle[0] = atan2(sign * BVH_R(k, j), BVH_R(j, j));
    angle[1] = atan2(sign * BVH_R(i, k), BVH_R(i, i));
  } else {
    const double across = hypot(BVH_R(i, i), BVH_R(i, j));
    angle[1] = atan2(sign * BVH_R(i, k), across);
    if (across > 1e-9) {
      angle[0] = atan2(-sign * BVH_R(j, k), BVH_R(k, k));
      angle[2] = atan2(-sign * BVH_R(i, j), BVH_R(i, i));
    } else { /* both turn about one axis: all of it is in the first */
      angle[0] = atan2(sign * BVH_R(k, j), BVH_R(j, j));
    }
  }
#undef BVH_R
  for (int c = 0; c < 3; c++) angle[c] *= BVH_DEGREES;
}

void perp_bvh_set_pose(perp_bvh *bvh, int joint, int frame, const double quat[4],
                       const double offset[3])
{
  const perp_bvh_joint *bvh_joint = &bvh->joint[joint];
  double *value = bvh->value + (size_t)frame * (size_t)bvh->channels + bvh_joint->first;
  double R[9], angle[3], last[3] = { 0 };
  int x[3] = { 0, 1, 2 }, at[3], n = 0;
  for (int channel = 0; channel < bvh_joint->channels; channel++) {
    const int k = (int)bvh_joint->channel[channel];
    if (k < PERP_BVH_RX) {
      value[channel] = bvh_joint->parent < 0 ? offset[(k + 1) % 3] - bvh_joint->offset[k]
                       : bvh_joint->placed   ? offset[(k + 1) % 3]
                                             : 0;
    } else if (n < 3) {
      x[n] = (k - PERP_BVH_RX + 1) % 3;
      at[n++] = channel;
    }
  }
  if (n == 0) return;
  if (n == 1) x[1] = (x[0] + 1) % 3;
  if (n <= 2) x[2] = 3 - x[0] - x[1];
  double turn[4] = { quat[0], quat[1], quat[2], quat[3] }, half[4];
  if (perp_dot(4, bvh_joint->frame, bvh_joint->frame) > 0) { /* F' q F */
    const double back[4] = { bvh_joint->frame[0], -bvh_joint->frame[1], -bvh_joint->frame[2],
                             -bvh_joint->frame[3] };
    perp_quat_product(back, quat, half);
    perp_quat_product(half, bvh_joint->frame, turn);
  }
  perp_quat_matrix(turn, R);
  bvh_angles(R, x, n, angle);
  for (int c = 0; c < n && frame > 0; c++) last[c] = (value - bvh->channels)[at[c]];
  /* The same rotation next to `last`: whole turns, and of three angles the other solution. */
  double other[3] = { angle[0] + 180, 180 - angle[1], angle[2] + 180 }, off[2] = { 0, 0 };
  double *const two[] = { angle, other };
  for (int s = 0; s < 2; s++)
    for (int c = 0; c < n; c++) {
      two[s][c] -= 360 * nearbyint((two[s][c] - last[c]) / 360);
      off[s] += fabs(two[s][c] - last[c]);
    }
  if (n == 3 && off[1] < off[0]) memcpy(angle, other, sizeof other);
  for (int c = 0; c < n; c++) value[at[c]] = angle[c];
}
