/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Segments of a skeleton as parts of a person. */
#include "experiments/import/figure.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The segments of a skeleton: what they are, how long, how heavy.
 *
 * A joint from which bones go out defines a segment, with all these bones (Vondrak 2005,
 * section 8.2); one without is an end. The main bone of a trunk segment is the one that goes up
 * most, of others the longest one. */

#define FIGURE_TALLEST 2.6    /* m: no unit is guessed beyond, or as far below the mean */
#define FIGURE_WATER   1000.0 /* kg/m^3 (Cline 2002, section 5.1.1 takes it for the body) */
#define FIGURE_KNOB    0.02   /* length of a segment without one, of the height */
#define FIGURE_SLIM    8.0    /* length over radius of a segment that nothing is known of */

static bool figure_is_trunk(int class)
{
  return class >= PERP_FIGURE_PELVIS && class <= PERP_FIGURE_HEAD;
}

static void figure_segments(perp_figure *figure)
{
  const perp_bvh *bvh = figure->bvh;
  perp_names names = { .n = 0 };
  bool pelvis = false;
  figure->nodes = perp_figure_nodes_of(&figure->pool, bvh);
  figure->carrier = perp_pool_alloc(&figure->pool, (size_t)bvh->n, sizeof *figure->carrier);
  figure->of = perp_pool_alloc(&figure->pool, (size_t)bvh->n, sizeof *figure->of);
  for (int joint = 0; joint < bvh->n; joint++) {
    figure->of[joint] = -1;
    const int carrier = figure->nodes.carrier[joint];
    figure->carrier[joint] = carrier < 0 ? -1 : figure->of[carrier];
    if (figure->nodes.node[joint] != PERP_FIGURE_BODY) continue;
    const char *name = bvh->joint[joint].name;
    if (strspn(name, "0123456789") == strlen(name) || strcmp(name, "world") == 0)
      name = perp_pool_printf(&figure->pool, "b_%s", name);
    for (int before = names.n; perp_names_index(&figure->pool, &names, name, -1) < before;)
      name = perp_pool_printf(&figure->pool, "%s_", name);
    figure->segment = perp_pool_grown(&figure->pool, figure->segment, figure->n,
                                      sizeof *figure->segment);
    perp_figure_segment *s = &figure->segment[figure->n];
    *s = (perp_figure_segment){ .joint = joint, .parent = figure->carrier[joint], .name = name };
    s->class = perp_figure_class_of(bvh->joint[joint].name, &s->side);
    if (s->class < 0 && s->parent >= 0) {
      const perp_figure_segment *on = &figure->segment[s->parent];
      s->class = perp_figure_part_of(bvh->joint[joint].name, on->class);
      if (s->class >= 0 && s->side == 0) s->side = on->side;
    }
    pelvis = pelvis || s->class == PERP_FIGURE_PELVIS;
    figure->of[joint] = figure->n++;
  }
  /* a segment that carries parts of the pelvis or thighs is the pelvis, whatever its name */
  for (int segment = 1; segment < figure->n; segment++) {
    perp_figure_segment *on = &figure->segment[figure->segment[segment].parent];
    const int class = figure->segment[segment].class;
    if (on->class < 0 && (class == PERP_FIGURE_PELVIS || (class == PERP_FIGURE_THIGH && !pelvis)))
      on->class = PERP_FIGURE_PELVIS;
  }
  /* a shoulder with the forearm behind it is the upper arm, not the collar bone */
  for (int segment = 1; segment < figure->n; segment++) {
    perp_figure_segment *p = &figure->segment[figure->segment[segment].parent];
    if (figure->segment[segment].class == PERP_FIGURE_FOREARM && p->class == PERP_FIGURE_CHEST &&
        p->side != 0)
      p->class = PERP_FIGURE_UPPER_ARM;
  }
}

/* Which of the groups of segments that share the mass of a row: limbs have one on each side. */
static int figure_group(int class, int side)
{
  return 3 * class + (figure_is_trunk(class) ? 1 : side + 1);
}

static void figure_masses(perp_figure *figure)
{
  double mass[3 * PERP_FIGURE_CLASSES], length[3 * PERP_FIGURE_CLASSES], all = 0;
  const double unit = PERP_FIGURE_HEIGHT / figure->height, pi = 3.14159265358979323846;
  /* Masses of the groups; where there is no segment the heir has it. */
  for (int g = 0; g < 3 * PERP_FIGURE_CLASSES; g++) mass[g] = length[g] = 0;
  for (int i = 0; i < figure->n; i++)
    if (figure->segment[i].class >= 0)
      length[figure_group(figure->segment[i].class, figure->segment[i].side)] +=
          figure->segment[i].length;
  for (int classe = 0; classe < PERP_FIGURE_CLASSES; classe++)
    for (int side = -1; side <= 1; side++) {
      const bool middle = side == 0;
      if (figure_is_trunk(classe) != middle && !(middle && length[figure_group(classe, 0)] > 0))
        continue;
      int to = classe;
      for (int hops = 0;
           to >= 0 && !(length[figure_group(to, side)] > 0) && hops < PERP_FIGURE_CLASSES; hops++)
        to = perp_figure_classes[to].heir;
      if (to >= 0) mass[figure_group(to, side)] += perp_figure_classes[classe].mass;
    }
  for (int i = 0; i < figure->n; i++) {
    perp_figure_segment *segment = &figure->segment[i];
    double centre = 0.5;
    if (segment->class >= 0) {
      const int g = figure_group(segment->class, segment->side);
      segment->share = segment->length / length[g];
      segment->mass = PERP_FIGURE_MASS * mass[g] * segment->share;
      centre = perp_figure_classes[segment->class].centre;
    } else {
      const double l = segment->length * unit, r = l / FIGURE_SLIM;
      segment->share = 1;
      segment->mass = FIGURE_WATER * pi * r * r * (l + 4.0 / 3 * r);
    }
    for (int k = 0; k < 3; k++) segment->centre[k] = centre * segment->tip[k];
    all += segment->mass;
  }
  for (int i = 0; i < figure->n; i++) figure->segment[i].mass *= PERP_FIGURE_MASS / all;
}

/* The unit of length of the file: that in which the figure is nearest to the mean stature. */
static void figure_unit(perp_figure *figure)
{
  static const struct {
    const char *name;
    double metres;
  } units[] = { { "m", 1 },
                { "cm", 0.01 },
                { "mm", 1e-3 },
                { "inch", 0.0254 },
                { "1/0.45 inch (CMU)", 0.0254 / 0.45 } };
  double best = log(FIGURE_TALLEST / PERP_FIGURE_HEIGHT);
  if (figure->bvh->unit > 0 &&
      fabs(log(figure->height * figure->bvh->unit / PERP_FIGURE_HEIGHT)) < 2 * best) {
    figure->unit = figure->bvh->unit;
    figure->unit_name = "as the file says";
    return;
  }
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    const double off = fabs(log(figure->height * units[i].metres / PERP_FIGURE_HEIGHT));
    if (!(off < best)) continue;
    best = off;
    figure->unit = units[i].metres;
    figure->unit_name = units[i].name;
  }
}

/* Bones of all segments; the height of all that is of the figure. */
static void figure_bones(perp_figure *figure)
{
  const perp_bvh *bvh = figure->bvh;
  double *z = perp_xalloc((size_t)bvh->n, sizeof *z), low = 0, high = 0;
  for (int j = 0; j < bvh->n; j++) {
    const int on = figure->carrier[j];
    if (on < 0 || figure->nodes.node[j] == PERP_FIGURE_NONE) continue;
    z[j] = z[figure->segment[on].joint] + figure->nodes.bone[j][2];
    low = fmin(low, z[j]);
    high = fmax(high, z[j]);
  }
  free(z);
  figure->height = high - low;
  for (int j = 0; j < bvh->n; j++) {
    const int on = figure->carrier[j];
    if (on < 0 || figure->nodes.node[j] == PERP_FIGURE_NONE) continue;
    perp_figure_segment *segment = &figure->segment[on];
    const double *bone = figure->nodes.bone[j],
                 length = sqrt(bone[0] * bone[0] + bone[1] * bone[1] + bone[2] * bone[2]);
    const bool up = figure_is_trunk(segment->class);
    if (segment->length > 0 && !(up ? bone[2] > segment->tip[2] : length > segment->length))
      continue;
    memcpy(segment->tip, bone, sizeof segment->tip);
    segment->length = length;
  }
}

bool perp_figure_build(perp_diag *diag, const char *name, const perp_bvh *bvh, perp_figure *out)
{
  *out = (perp_figure){ .bvh = bvh };
  figure_segments(out);
  figure_bones(out);
  if (out->n == 0 || !(out->height > 1e-6)) {
    const perp_source src = { name, "" };
    const perp_node place = { .src = &src, .line = bvh->joint[0].line - 1 };
    perp_diag_error(
        diag, &place, 0,
        out->n == 0
            ? "add joints or an end site to the root"
            : "the axis y must point upwards, and the figure needs a height when all angles are 0",
        out->n == 0 ? "the skeleton has no bones" : "the skeleton has no height");
    perp_figure_free(out);
    return false;
  }
  figure_unit(out);
  for (int i = 0; i < out->n; i++) {
    perp_figure_segment *segment = &out->segment[i];
    if (segment->length >= 1e-3 * out->height) continue;
    segment->tip[0] = segment->tip[1] = 0;
    segment->tip[2] = segment->length = FIGURE_KNOB * out->height;
  }
  figure_masses(out);
  return true;
}

void perp_figure_pose(const perp_figure *figure, int segment, int frame, double quat[4],
                      double place[3])
{
  const perp_bvh *bvh = figure->bvh;
  int joint = figure->segment[segment].joint;
  const int carrier = figure->segment[segment].parent,
            stop = carrier >= 0 ? figure->segment[carrier].joint : -1;
  perp_bvh_pose(bvh, joint, frame, quat, place);
  for (joint = bvh->joint[joint].parent; joint != stop && joint >= 0;
       joint = bvh->joint[joint].parent) {
    double up[4], at[3], R[9], turned[3], whole[4];
    perp_bvh_pose(bvh, joint, frame, up, at);
    perp_quat_matrix(up, R);
    perp_turn(3, R, place, turned);
    for (int c = 0; c < 3; c++) place[c] = at[c] + turned[c];
    perp_quat_product(up, quat, whole);
    memcpy(quat, whole, sizeof whole);
  }
  if (carrier >= 0)
    memcpy(place, figure->nodes.bone[figure->segment[segment].joint], 3 * sizeof *place);
}

void perp_figure_free(perp_figure *figure)
{
  perp_pool_free(&figure->pool);
  *figure = (perp_figure){ .n = 0 };
}
