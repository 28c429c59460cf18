/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The segments of a skeleton: what they are, how long, how heavy.
 *
 * A joint from which bones go out defines a segment, with all these bones (Vondrak 2005,
 * section 8.2); one without is an end. The main bone of a trunk segment is the one that goes up
 * most, of others the longest one. */
#include "experiments/import/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIGURE_WATER 1000.0 /* kg/m^3 (Cline 2002, section 5.1.1 takes it for the body) */
#define FIGURE_KNOB  0.02   /* length of a segment without one, of the height */
#define FIGURE_SLIM  8.0    /* length over radius of a segment that nothing is known of */

static double figure_length(const double x[3])
{
  return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

static bool figure_is_trunk(int class)
{
  return class >= PERP_FIGURE_PELVIS && class <= PERP_FIGURE_HEAD;
}

static double figure_height(const perp_bvh *bvh)
{
  double *z = perp_xalloc((size_t)bvh->n, sizeof *z), low = 0, high = 0;
  for (int j = 1; j < bvh->n; j++) {
    z[j] = z[bvh->joint[j].parent] + bvh->joint[j].offset[1];
    low = fmin(low, z[j]);
    high = fmax(high, z[j]);
  }
  free(z);
  return high - low;
}

static void figure_segments(perp_figure *f)
{
  const perp_bvh *bvh = f->bvh;
  bool *bones = perp_pool_alloc(&f->pool, (size_t)bvh->n, sizeof *bones);
  perp_names names = { .n = 0 };
  f->of = perp_pool_alloc(&f->pool, (size_t)bvh->n, sizeof *f->of);
  for (int j = 1; j < bvh->n; j++) bones[bvh->joint[j].parent] = true;
  for (int j = 0; j < bvh->n; j++) {
    f->of[j] = -1;
    if (bvh->joint[j].end || !bones[j]) continue;
    const char *name = bvh->joint[j].name;
    if (strspn(name, "0123456789") == strlen(name) || strcmp(name, "world") == 0)
      name = perp_pool_printf(&f->pool, "b_%s", name);
    for (int before = names.n; perp_names_index(&f->pool, &names, name, -1) < before;)
      name = perp_pool_printf(&f->pool, "%s_", name);
    f->segment = perp_pool_grown(&f->pool, f->segment, f->n, sizeof *f->segment);
    perp_figure_segment *s = &f->segment[f->n];
    *s = (perp_figure_segment){ .joint = j,
                                .parent = j == 0 ? -1 : f->of[bvh->joint[j].parent],
                                .name = name };
    s->class = perp_figure_class_of(bvh->joint[j].name, &s->side);
    f->of[j] = f->n++;
  }
  /* a shoulder with the forearm behind it is the upper arm, not the collar bone */
  for (int i = 1; i < f->n; i++) {
    perp_figure_segment *p = &f->segment[f->segment[i].parent];
    if (f->segment[i].class == PERP_FIGURE_FOREARM && p->class == PERP_FIGURE_CHEST && p->side != 0)
      p->class = PERP_FIGURE_UPPER_ARM;
  }
}

static void figure_bones(perp_figure *f)
{
  for (int j = 1; j < f->bvh->n; j++) {
    perp_figure_segment *s = &f->segment[f->of[f->bvh->joint[j].parent]];
    double quat[4], offset[3];
    perp_bvh_pose(f->bvh, j, -1, quat, offset);
    const double length = figure_length(offset);
    const bool up = figure_is_trunk(s->class);
    if (s->length > 0 && !(up ? offset[2] > s->tip[2] : length > s->length)) continue;
    memcpy(s->tip, offset, sizeof offset);
    s->length = length;
  }
  for (int i = 0; i < f->n; i++) {
    perp_figure_segment *s = &f->segment[i];
    if (s->length >= 1e-3 * f->height) continue;
    s->tip[0] = s->tip[1] = 0;
    s->tip[2] = s->length = FIGURE_KNOB * f->height;
  }
}

/* Which of the groups of segments that share the mass of a row: limbs have one on each side. */
static int figure_group(int class, int side)
{
  return 3 * class + (figure_is_trunk(class) ? 1 : side + 1);
}

/* Masses of the groups; where there is no segment the heir has it. */
static void figure_groups(const perp_figure *f, double mass[3 * PERP_FIGURE_CLASSES],
                          double length[3 * PERP_FIGURE_CLASSES])
{
  for (int g = 0; g < 3 * PERP_FIGURE_CLASSES; g++) mass[g] = length[g] = 0;
  for (int i = 0; i < f->n; i++)
    if (f->segment[i].class >= 0)
      length[figure_group(f->segment[i].class, f->segment[i].side)] += f->segment[i].length;
  for (int c = 0; c < PERP_FIGURE_CLASSES; c++)
    for (int side = -1; side <= 1; side++) {
      const bool middle = side == 0;
      if (figure_is_trunk(c) != middle && !(middle && length[figure_group(c, 0)] > 0)) continue;
      int to = c;
      for (int hops = 0;
           to >= 0 && !(length[figure_group(to, side)] > 0) && hops < PERP_FIGURE_CLASSES; hops++)
        to = perp_figure_classes[to].heir;
      if (to >= 0) mass[figure_group(to, side)] += perp_figure_classes[c].mass;
    }
}

static void figure_masses(perp_figure *f)
{
  double mass[3 * PERP_FIGURE_CLASSES], length[3 * PERP_FIGURE_CLASSES], all = 0;
  const double unit = PERP_FIGURE_HEIGHT / f->height, pi = 3.14159265358979323846;
  figure_groups(f, mass, length);
  for (int i = 0; i < f->n; i++) {
    perp_figure_segment *s = &f->segment[i];
    double centre = 0.5;
    if (s->class >= 0) {
      const int g = figure_group(s->class, s->side);
      s->share = s->length / length[g];
      s->mass = PERP_FIGURE_MASS * mass[g] * s->share;
      centre = perp_figure_classes[s->class].centre;
    } else {
      const double l = s->length * unit, r = l / FIGURE_SLIM;
      s->share = 1;
      s->mass = FIGURE_WATER * pi * r * r * (l + 4.0 / 3 * r);
    }
    for (int k = 0; k < 3; k++) s->centre[k] = centre * s->tip[k];
    all += s->mass;
  }
  for (int i = 0; i < f->n; i++) f->segment[i].mass *= PERP_FIGURE_MASS / all;
}

bool perp_figure_build(perp_diag *diag, const char *name, const perp_bvh *bvh, perp_figure *out)
{
  *out = (perp_figure){ .bvh = bvh };
  figure_segments(out);
  out->height = figure_height(bvh);
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
  figure_bones(out);
  figure_masses(out);
  return true;
}

void perp_figure_free(perp_figure *f)
{
  perp_pool_free(&f->pool);
  *f = (perp_figure){ .n = 0 };
}
