/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the importer says of a figure: what has no mass, what the masses are, its size, its jumps.
 */
#include "experiments/import/figure.h"

#include "models/figures/jumps.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAID_BLOCK = 2048, SAID_JUMPS = 1000 };

__attribute__((format(printf, 2, 3))) static void said_note(perp_text *said, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text_add(said, "note: ");
  perp_text_vadd(said, fmt, ap);
  perp_text_add(said, "\n");
  va_end(ap);
}

/* ---- nodes and masses ---- */

/* The largest distance of a joint from its mean place in its parent, unit of the file. */
static double said_stretch(const perp_bvh *bvh, int joint)
{
  double mean[3] = { 0 }, quat[4], place[3], most = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int frame = 0; frame < bvh->frames; frame++) {
      perp_bvh_pose(bvh, joint, frame, quat, place);
      for (int c = 0; c < 3; c++) {
        if (pass == 0) mean[c] += place[c] / bvh->frames;
        place[c] -= mean[c];
      }
      if (pass == 1) most = fmax(most, sqrt(perp_dot(3, place, place)));
    }
  return most;
}

static void said_lost(const perp_figure *figure, perp_text *said)
{
  const perp_bvh *bvh = figure->bvh;
  perp_text limits = { 0 };
  for (int j = 1; j < bvh->n; j++) {
    const perp_bvh_joint *joint = &bvh->joint[j];
    if (joint->placed && figure->of[j] >= 0 && figure->carrier[j] >= 0) {
      const double off = said_stretch(bvh, j);
      if (off > 1e-4 * figure->height)
        perp_text_add(said,
                      "lost: %s: its position channels; bones have constant lengths, and it moves "
                      "by %.3g of the height\n",
                      joint->name, off / figure->height);
    }
    perp_figure_ranges ranges;
    if (joint->limited && joint->channels > 1 && figure->of[j] >= 0 &&
        !perp_figure_ranges_of(figure, &figure->segment[figure->of[j]], &ranges))
      perp_text_add(&limits, "%s%s", limits.n > 0 ? ", " : "", joint->name);
  }
  if (limits.n > 0)
    perp_text_add(said,
                  "lost: limits of the file for joints with several angles: these turn as far as "
                  "the table says, or freely where it has no limits: %s\n",
                  limits.s);
  perp_text_free(&limits);
}

static void said_nodes(const perp_figure *figure, perp_text *said)
{
  const perp_bvh *bvh = figure->bvh;
  perp_text none = { 0 }, ends = { 0 };
  for (int j = 0; j < bvh->n; j++) {
    const perp_bvh_joint *joint = &bvh->joint[j];
    if (joint->end) continue;
    if (figure->nodes.why[j] != NULL)
      perp_text_add(&none, "%s%s (%s)", none.n > 0 ? ", " : "", joint->name, figure->nodes.why[j]);
    else if (figure->nodes.node[j] == PERP_FIGURE_END)
      perp_text_add(&ends, "%s%s", ends.n > 0 ? ", " : "", joint->name);
  }
  if (none.n > 0) said_note(said, "nodes without mass and body: %s", none.s);
  if (ends.n > 0) said_note(said, "joints without bones are end sites: %s", ends.s);
  perp_text_free(&none);
  perp_text_free(&ends);
}

static void said_masses(const perp_figure *figure, perp_text *said)
{
  perp_text unknown = { 0 }, masses = { 0 };
  double water = 0;
  for (int i = 0; i < figure->n; i++) {
    const perp_figure_segment *segment = &figure->segment[i];
    perp_text_add(&masses, "%s%s %.3g", i > 0 ? ", " : "", segment->name,
                  100 * segment->mass / PERP_FIGURE_MASS);
    if (segment->class >= 0) continue;
    water += segment->mass;
    perp_text_add(&unknown, "%s%s", unknown.n > 0 ? ", " : "", segment->name);
  }
  if (unknown.n > 0)
    said_note(said,
              "segments with names that are not in the table of masses are capsules of water, with "
              "a length of eight radii, with %.3g %% of the mass: %s",
              100 * water / PERP_FIGURE_MASS, unknown.s);
  said_note(said, "shares of the mass [%%] (de Leva 1996, table 4): %s", masses.s);
  perp_text_free(&unknown);
  perp_text_free(&masses);
}

static void said_size(const perp_figure *figure, perp_text *said)
{
  if (figure->unit > 0)
    said_note(said,
              "unit of length: %s, %.6g m, since the figure is %.4g units high: height=%.4g m; "
              "change it with height= or unit=",
              figure->unit_name, figure->unit, figure->height, figure->unit * figure->height);
  else
    said_note(
        said,
        "unit of length: none of m, cm, mm and inch fits a figure that is %.4g units high; it "
        "is scaled to height=%g m; change it with height= or unit=",
        figure->height, PERP_FIGURE_HEIGHT);
}

/* ---- jumps ---- */

/* Places and orientations of all segments in a frame, in the world, [segments][7]. */
static void said_pose(const perp_figure *figure, int frame, double *q)
{
  for (int segment = 0; segment < figure->n; segment++) {
    double *to = q + (ptrdiff_t)7 * segment, quat[4], place[3], R[9], arm[3];
    perp_figure_pose(figure, segment, frame, quat, place);
    if (figure->segment[segment].parent < 0) {
      memcpy(to, place, sizeof place);
      memcpy(to + 3, quat, sizeof quat);
    } else {
      const double *up = q + (ptrdiff_t)7 * figure->segment[segment].parent;
      perp_quat_matrix(up + 3, R);
      perp_turn(3, R, place, arm);
      for (int c = 0; c < 3; c++) to[c] = up[c] + arm[c];
      perp_quat_product(up + 3, quat, to + 3);
    }
    perp_quat_unit(to + 3);
  }
}

/* All jumps of the motion, the first `most` of them; blocks of frames overlap by two. */
static int said_jumps(const perp_figure *figure, double unit, perp_jump *jump, int most)
{
  const int frames = figure->bvh->frames;
  double *q = perp_xalloc((size_t)SAID_BLOCK * 7 * (size_t)figure->n, sizeof *q),
         *t = perp_xalloc(SAID_BLOCK, sizeof *t);
  int found = 0;
  for (int first = 0; first + 2 < frames; first += SAID_BLOCK - 2) {
    const int n = frames - first < SAID_BLOCK ? frames - first : SAID_BLOCK;
    for (int k = 0; k < n; k++) {
      t[k] = k * figure->bvh->frame_time;
      said_pose(figure, first + k, q + (size_t)k * 7 * (size_t)figure->n);
    }
    const int now = perp_jumps_find(n, t, figure->n, q, unit, first == 0, first + n == frames,
                                    jump + (found < most ? found : most),
                                    found < most ? most - found : 0);
    for (int i = found; i < found + now && i < most; i++) jump[i].after += first;
    found += now;
  }
  free(q);
  free(t);
  return found;
}

/* Are all angles of a frame 0? */
static bool said_drawn(const perp_figure *figure, int frame)
{
  const perp_bvh *bvh = figure->bvh;
  for (int joint = 0; joint < bvh->n; joint++)
    for (int c = 0; c < bvh->joint[joint].channels && figure->nodes.node[joint] == PERP_FIGURE_BODY;
         c++)
      if (bvh->joint[joint].channel[c] >= PERP_BVH_RX &&
          fabs(bvh->value[(size_t)frame * (size_t)bvh->channels +
                          (size_t)(bvh->joint[joint].first + c)]) > 1e-6)
        return false;
  return true;
}

static void said_motion(const perp_figure *figure, const perp_figure_source *source,
                        perp_text *said)
{
  const int skipped = source->options.start, frames = figure->bvh->frames;
  const double unit = figure->unit > 0 ? figure->unit : PERP_FIGURE_HEIGHT / figure->height;
  perp_jump *jump = perp_xalloc(SAID_JUMPS, sizeof *jump);
  const int found = said_jumps(figure, unit, jump, SAID_JUMPS),
            n = found < SAID_JUMPS ? found : SAID_JUMPS;
  int start = 0, end = 0; /* the longest part without jumps */
  for (int i = 0; i <= n; i++) {
    const int from = i > 0 ? jump[i - 1].after + 1 : 0, to = i < n ? jump[i].after : frames - 1;
    if (i == 0 || to - from > end - start) start = from, end = to;
  }
  for (int i = 0; i < n && i < 3; i++) {
    char how[60];
    if (jump[i].turns)
      snprintf(how, sizeof how, "rotates with %.3g rad/s^2", jump[i].acceleration);
    else
      snprintf(how, sizeof how, "moves with %.3g g", jump[i].acceleration / 9.81);
    said_note(said,
              "jump: between the frames %d and %d %s %s%s (limits are 50 g, and for turns of more "
              "than 20 degrees 490 rad/s^2; a fifth for a first or last frame that stands alone)",
              skipped + jump[i].after, skipped + jump[i].after + 1,
              figure->segment[jump[i].body].name, how,
              jump[i].after == 0 && skipped == 0 && said_drawn(figure, 0)
                  ? ": frame 0 is a calibration pose, as drawn with all angles 0"
                  : "");
  }
  if (found > 3) said_note(said, "jump: there are %d more", found - 3);
  if (found > 0) {
    perp_text options = { 0 };
    if (start > 0) perp_text_add(&options, "start=%d", skipped + start);
    if (end < frames - 1)
      perp_text_add(&options, "%send=%d", options.n > 0 ? "," : "", skipped + end);
    said_note(said, "jump: the longest part without jumps is %s:%s", source->path, options.s);
    perp_text_free(&options);
  }
  free(jump);
}

void perp_figure_said(const perp_figure *figure, const perp_figure_source *source, perp_text *said)
{
  said_lost(figure, said);
  said_nodes(figure, said);
  said_masses(figure, said);
  said_size(figure, said);
  said_motion(figure, source, said);
}
