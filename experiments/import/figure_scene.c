/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A figure as the text of a scene.
 *
 * Bodies have the frames of their joints in the file (x forward, y to the left, z up as drawn), so
 * that an orientation of the file is one of the scene; their origin is the centre of mass.  All
 * lengths are k times those of the file, k = height / H. */
#include "experiments/import/figure.h"

#include "models/geometry/kinematics.h"
#include "models/figures/blend.h"
#include "experiments/base/json.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct figure_pose { /* of a joint of the file at t = 0 */
  double quat[4], R[9], p[3];
  double w[3], v[3]; /* world, unit of the file */
} figure_pose;

typedef struct figure_writer {
  const perp_figure *f;
  const perp_figure_source *source;
  FILE *out;
  perp_text said;
  figure_pose *pose; /* [joints] */
  double *radius;    /* [segments] unit of the file */
  double low;        /* of all capsules in all frames */
} figure_writer;

/* ---- where joints are ---- */

/* Rates of a joint in its parent at the start of the motion, by the curve that playback has: of a
 * place fixed in it (the centre of mass of the root). */
static void figure_rates(const perp_figure *figure, int segment, const double place[3], double w[3],
                         double v[3])
{
  enum { NEAR = 5 };
  double t[NEAR], knots[NEAR][7], q[4], wdot[3], y[3], R[9], arm[3];
  const perp_bvh *bvh = figure->bvh;
  const int n = bvh->frames < NEAR ? bvh->frames : NEAR;
  memset(w, 0, 3 * sizeof *w);
  memset(v, 0, 3 * sizeof *v);
  if (n < 2) return;
  for (int frame = 0; frame < n; frame++) {
    t[frame] = frame * bvh->frame_time;
    perp_figure_pose(figure, segment, frame, knots[frame], knots[frame] + 4);
    perp_quat_matrix(knots[frame], R);
    perp_turn(3, R, place, arm);
    for (int i = 0; i < 3; i++) knots[frame][4 + i] += arm[i];
  }
  perp_blend_rotation(n, t, knots[0], 7, 0, q, w, wdot);
  for (int i = 0; i < 3; i++) {
    perp_blend_number(n, t, knots[0] + 4 + i, 7, 0, y);
    v[i] = y[1];
  }
}

/* All joints of the figure at a frame; with rates where it is the first one. */
static void figure_poses(const perp_figure *figure, int frame, figure_pose *pose)
{
  const perp_bvh *bvh = figure->bvh;
  for (int j = 0; j < bvh->n; j++) {
    figure_pose *now = &pose[j];
    const int own = figure->of[j], on = figure->carrier[j];
    const figure_pose *up = on >= 0 ? &pose[figure->segment[on].joint] : NULL;
    double quat[4] = { 1 }, offset[3], w[3] = { 0 }, v[3] = { 0 }, u[3];
    *now = (figure_pose){ .quat = { 1 } };
    memcpy(offset, figure->nodes.bone[j], sizeof offset);
    if (own < 0 && up == NULL) continue;
    if (own >= 0) perp_figure_pose(figure, own, frame, quat, offset);
    if (frame == 0 && own >= 0) figure_rates(figure, own, figure->segment[0].centre, w, v);
    if (up != NULL) {
      perp_quat_product(up->quat, quat, now->quat);
      perp_turn(3, up->R, offset, u);
      perp_cross(up->w, u, now->v);
      for (int i = 0; i < 3; i++)
        now->p[i] = up->p[i] + u[i], now->v[i] += up->v[i], now->w[i] = up->w[i];
    } else {
      memcpy(now->quat, quat, sizeof quat);
      memcpy(now->p, offset, sizeof offset);
      memcpy(now->v, v, sizeof v);
    }
    perp_quat_unit(now->quat);
    perp_quat_matrix(now->quat, now->R);
    perp_turn(3, now->R, w, u);
    for (int i = 0; i < 3; i++) now->w[i] += u[i];
    if (up != NULL) continue;
    /* of the joint, from that of the centre of mass */
    perp_turn(3, now->R, figure->segment[0].centre, offset);
    perp_cross(now->w, offset, u);
    for (int i = 0; i < 3; i++) now->v[i] -= u[i];
  }
}

/* Is there a bone of the figure to this joint? */
static bool figure_bone(const perp_figure *figure, int joint)
{
  return figure->carrier[joint] >= 0 && (figure->nodes.node[joint] == PERP_FIGURE_BODY ||
                                         figure->nodes.node[joint] == PERP_FIGURE_END);
}

static void figure_lowest(figure_writer *writer)
{
  const perp_bvh *bvh = writer->f->bvh;
  figure_pose *pose = perp_xalloc((size_t)bvh->n, sizeof *pose);
  /* of a very long motion every so many frames tell where the floor is */
  const int frames = bvh->frames, step = frames > 10000 ? frames / 10000 : 1;
  writer->low = HUGE_VAL;
  for (int frame = frames > 0 ? 0 : -1; frame < frames; frame += frame < 0 ? 1 : step) {
    figure_poses(writer->f, frame, pose);
    for (int joint = 0; joint < bvh->n; joint++) {
      const int s = writer->f->carrier[joint], own = writer->f->of[joint];
      if (own < 0 && !figure_bone(writer->f, joint)) continue;
      const double r = fmax(s >= 0 ? writer->radius[s] : 0, own >= 0 ? writer->radius[own] : 0);
      writer->low = fmin(writer->low, pose[joint].p[2] - r);
    }
  }
  free(pose);
}

/* r with pi r^2 S + 4/3 pi r^3 = V: capsules of bones S long, one pair of ends */
static double figure_radius(double S, double V)
{
  double lo = 0, hi = cbrt(V);
  for (int i = 0; i < 60; i++) {
    const double r = 0.5 * (lo + hi);
    if (3.14159265358979323846 * r * r * (S + 4.0 / 3 * r) < V)
      lo = r;
    else
      hi = r;
  }
  return lo;
}

static void figure_radii(figure_writer *writer)
{
  const perp_figure *figure = writer->f;
  const double unit = PERP_FIGURE_HEIGHT / figure->height;
  double *bones = perp_xalloc((size_t)figure->n, sizeof *bones);
  for (int joint = 1; joint < figure->bvh->n; joint++) {
    const double *o = figure->nodes.bone[joint]; /* x, y, z of the file */
    if (figure_bone(figure, joint))
      bones[figure->carrier[joint]] += sqrt(o[1] * o[1] + o[2] * o[2] + o[0] * o[0]);
  }
  for (int segment = 0; segment < figure->n; segment++)
    writer->radius[segment] = figure_radius(fmax(bones[segment], 1e-9) * unit,
                                            figure->segment[segment].mass / 1000) /
                              unit;
  free(bones);
}

/* ---- writing ---- */

static void figure_digits(figure_writer *writer, double v)
{
  char text[40];
  perp_format_real(fabs(v) < 1e-14 ? 0 : v, text, sizeof text);
  fputs(text, writer->out);
}

/* [WITH * a, ...] */
static void figure_list(figure_writer *writer, const char *with, int n, const double *v)
{
  for (int i = 0; i < n; i++) {
    const bool none = fabs(v[i]) < 1e-12;
    fprintf(writer->out, "%s%s", i > 0 ? ", " : "[", none ? "" : with);
    figure_digits(writer, none ? 0 : v[i]);
  }
  fputs("]", writer->out);
}

/* ", KEY: [WITH * a, ...]"; a factor of "" is none. */
static void figure_vector(figure_writer *writer, const char *key, const char *with, int n,
                          const double *v)
{
  fprintf(writer->out, ", %s: ", key);
  figure_list(writer, with, n, v);
}

static void figure_name(figure_writer *writer, const char *key, const char *name)
{
  fprintf(writer->out, "%s: ", key);
  perp_write_quoted(writer->out, name);
}

/* The turn from e_x to the direction d. */
static void figure_along(const double d[3], double q[4])
{
  const double length = sqrt(perp_dot(3, d, d)), c = d[0] / length;
  if (c < -0.999999) {
    q[0] = q[1] = q[2] = 0, q[3] = 1;
    return;
  }
  q[0] = sqrt(0.5 * (1 + c)), q[1] = 0;
  q[2] = -d[2] / length / (2 * q[0]), q[3] = d[1] / length / (2 * q[0]);
}

/* What of a scene is the same for all figures; the number: mm between floor and motion, which
 * between two frames may be a little lower than it is in any. */
static const char figure_parameters[] =
    " s\n  h: 1 ms\n  size: height / 10\n"
    "parameters:\n"
    "  height: { default: %s m, above: 0, unit: m, help: Height of the drawn figure "
    "from head to toe. }\n"
    "  mass: { default: 73 kg, above: 0, unit: kg, help: Mass of the whole figure. }\n"
    "  moving: { default: 1, min: 0, max: 1, help: \"Initial velocities: those of the motion (1), "
    "or zero (0).\" }\n"
    "  limits: { default: true, help: Limits of the joints. }\n"
    "  floor: { default: true, help: Floor under the lowest point of the motion. }\n"
    "  gap: { default: %d mm, min: 0, unit: m, help: Distance between the floor and the lowest "
    "point of the motion. }\n"
    "  controller: { default: none, choices: [none, feed-forward, pd, feed-forward+pd, muscle, "
    "implicit-pd,\n"
    "    feed-forward+implicit-pd, soft, prescribed, markers], help: Controller that moves the "
    "figure along the motion. }\n"
    "  root: { default: prescribed, choices: [free, prescribed, controlled], help: \"Control of "
    "the root, with a controller: free, prescribed motion, or controlled as the joints.\" }\n"
    "  frequency: { default: 5 Hz, above: 0, unit: 1/s, help: Frequency of the controllers with "
    "springs. }\n"
    "  ratio: { default: 1, min: 0, help: Damping ratio of the controllers with springs. 1 is "
    "critical. }\n"
    "  rate: { default: 5 Hz, above: 0, unit: 1/s, help: Rate of the controller soft. }\n"
    "  max_force: { default: 1e5 Nm, above: 0, unit: Nm, help: Largest torque of a joint. }\n";
static const char figure_choice[] =
    "  start: { default: 0, min: 0, help: First frame of the file that is used. Frames are "
    "numbered "
    "from 0. }\n"
    "  end: { default: 0, min: 0, help: Last frame of the file that is used. 0 is the last one of "
    "the file. }\n"
    "  frame_time: { default: 0 s, min: 0, unit: s, help: Time between frames. 0 is that of the "
    "file; an AMC file has 1/120 s. }\n";
static const char figure_lengths[] =
    "  unit: { default: 0 m, min: 0, unit: m, help: Length of one unit of the file. 0 computes it "
    "from height. }\n"
    "let:\n  k: if(unit > 0, unit, height / ";

static void figure_head(figure_writer *writer)
{
  const perp_bvh *bvh = writer->f->bvh;
  const double end = bvh->frames > 1 ? (bvh->frames - 1) * bvh->frame_time : 1;
  char *base = perp_base_name(writer->source->path, "");
  char *summary = perp_xprintf("Figure of %d segments, %s", writer->f->n, base);
  fputs("schema: perp-scene/1\nscene:\n  summary: ", writer->out);
  perp_write_quoted(writer->out, summary);
  fputs("\n  reference: \"masses: de Leva 1996, table 4; limits: MSD Manual, ranges of motion\"\n"
        "  dissipative: true\n  t_end: ",
        writer->out);
  figure_digits(writer, end);
  char height[40];
  perp_format_real(writer->f->unit > 0 ? writer->f->unit * writer->f->height : PERP_FIGURE_HEIGHT,
                   height, sizeof height);
  fprintf(writer->out, figure_parameters, height, bvh->frames > 0 ? 1 : 0);
  if (writer->source->parameters) fputs(figure_choice, writer->out);
  fputs(figure_lengths, writer->out);
  figure_digits(writer, writer->f->height);
  fputs(")               # m, the unit of length of the file\n"
        "  i: mass * k^2\n  c: moving * k / (1 s)\n",
        writer->out);
  free(summary);
  free(base);
}

/* Inertia about the centre of mass, of mass 1 and unit 1: radii about the bone and across it. */
static void figure_inertia(const perp_figure_segment *segment, double height, double I[9])
{
  double along, across, length = segment->length, n[3];
  if (segment->class >= 0) {
    const perp_figure_class *class = &perp_figure_classes[segment->class];
    if (class->length > 0) length = class->length * height * segment->share;
    along = class->gyration[2] * class->gyration[2];
    across = 0.5 *
             (class->gyration[0] * class->gyration[0] + class->gyration[1] * class->gyration[1]);
  } else { /* a cylinder with the slenderness of a segment that nothing is known of */
    along = 0.5 / 64;
    across = 1.0 / 12 + 0.25 / 64;
  }
  for (int k = 0; k < 3; k++) n[k] = segment->tip[k] / segment->length;
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++)
      I[a + 3 * b] = length * length * ((a == b ? across : 0) + (along - across) * n[a] * n[b]);
}

static void figure_shapes(figure_writer *writer, int segment)
{
  const perp_figure *figure = writer->f;
  const perp_figure_segment *figure_segment = &figure->segment[segment];
  bool first = true;
  fputs(", shape: [", writer->out);
  for (int joint = 1; joint < figure->bvh->n; joint++) {
    if (!figure_bone(figure, joint) || figure->carrier[joint] != segment) continue;
    double quat[4], at[3];
    const double *d = figure->nodes.bone[joint];
    const double length = sqrt(perp_dot(3, d, d));
    for (int k = 0; k < 3; k++) at[k] = 0.5 * d[k] - figure_segment->centre[k];
    fprintf(writer->out, "%s\n      { kind: %s, group: 1, radius: k * ", first ? "" : ",",
            length > 1e-3 * figure->height ? "capsule" : "sphere");
    figure_digits(writer, writer->radius[segment]);
    if (length > 1e-3 * figure->height) {
      fputs(", length: k * ", writer->out);
      figure_digits(writer, length);
      figure_along(d, quat);
      figure_vector(writer, "quat", "", 4, quat);
    }
    figure_vector(writer, "x", "k * ", 3, at);
    fputs(" }", writer->out);
    first = false;
  }
  fputs("] }\n", writer->out);
}

static void figure_bodies(figure_writer *writer)
{
  fputs("bodies:\n", writer->out);
  for (int i = 0; i < writer->f->n; i++) {
    const perp_figure_segment *segment = &writer->f->segment[i];
    const figure_pose *pose = &writer->pose[segment->joint];
    double at[3], v[3], w[3], I[9];
    perp_turn(3, pose->R, segment->centre, at);
    perp_cross(pose->w, at, v);
    for (int k = 0; k < 3; k++) at[k] += pose->p[k], v[k] += pose->v[k];
    perp_turn_back(3, pose->R, pose->w, w);
    figure_inertia(segment, writer->f->height, I);
    for (int k = 0; k < 9; k++) I[k] *= segment->mass / PERP_FIGURE_MASS;
    figure_name(writer, "  - { name", segment->name);
    fputs(", mass: mass * ", writer->out);
    figure_digits(writer, segment->mass / PERP_FIGURE_MASS);
    figure_vector(writer, "inertia", "i * ", 9, I);
    fputs(",\n      x: ", writer->out);
    figure_list(writer, "k * ", 3, at);
    figure_vector(writer, "quat", "", 4, pose->quat);
    figure_vector(writer, "v", "c * ", 3, v);
    figure_vector(writer, "w", "moving * ", 3, w);
    figure_shapes(writer, i);
  }
}

/* ---- joints, limits ---- */

/* Angles of the turn about a, about the node a x b, about b: rel = exp(a x[0]) exp(node x[1]) exp(b
 * x[2]). */
static void figure_angles(const double rel[9], const double a[3], const double b[3], double x[3])
{
  double e2[3], M[3][3], u[3];
  const double *e[3] = { a, e2, b };
  perp_cross(b, a, e2);
  for (int j = 0; j < 3; j++) {
    perp_turn(3, rel, e[j], u);
    for (int i = 0; i < 3; i++) M[i][j] = perp_dot(3, e[i], u);
  }
  x[0] = atan2(-M[1][2], M[2][2]);
  x[1] = -asin(fmax(-1, fmin(1, M[0][2])));
  x[2] = atan2(-M[0][1], M[0][0]);
}

static void figure_joints(figure_writer *writer)
{
  const perp_figure *figure = writer->f;
  if (figure->n > 1) fputs("joints:\n", writer->out);
  for (int segment = 0; segment < figure->n; segment++) {
    const perp_figure_segment *s = &figure->segment[segment];
    if (s->parent < 0) continue;
    const perp_figure_segment *p = &figure->segment[s->parent];
    double offset[3], minus[3], a[3], b[3];
    int axis = 0;
    const int turns = perp_figure_turns(figure, s, &axis);
    for (int k = 0; k < 3; k++)
      offset[k] = figure->nodes.bone[s->joint][k] - p->centre[k], minus[k] = -s->centre[k];
    fprintf(writer->out, "  - { kind: %s, ", turns == 0 ? "fixed" : turns == 1 ? "hinge" : "ball");
    figure_name(writer, "name", s->name);
    figure_name(writer, ", a", p->name);
    figure_name(writer, ", b", s->name);
    figure_vector(writer, "anchor_a", "k * ", 3, offset);
    figure_vector(writer, "anchor_b", "k * ", 3, minus);
    if (turns == 1) {
      double unit[3];
      perp_figure_axis(&figure->bvh->joint[s->joint], axis, unit);
      figure_vector(writer, "axis_a", "", 3, unit);
      figure_vector(writer, "axis_b", "", 3, unit);
    } else if (turns > 1) {
      perp_figure_ranges ranges;
      if (perp_figure_ranges_of(figure, s, &ranges)) {
        memcpy(a, ranges.a, sizeof a);
        memcpy(b, ranges.b, sizeof b);
      } else
        perp_figure_axes(s, a, b);
      figure_vector(writer, "axis_a", "", 3, a);
      figure_vector(writer, "axis_b", "", 3, b);
    }
    fputs(" }\n", writer->out);
  }
}

static void figure_drive(figure_writer *writer, const perp_figure_segment *segment,
                         const char *axis, double zero, double lower, double upper, bool *first)
{
  if (!isfinite(lower) && !isfinite(upper)) return;
  fputs(*first ? "drives:\n" : "", writer->out);
  *first = false;
  fputs("  - { when: limits, ", writer->out);
  char *name = perp_xprintf("%s.%s", segment->name, axis);
  figure_name(writer, "name", name);
  free(name);
  figure_name(writer, ", joint", segment->name);
  fprintf(writer->out, ", axis: %s, zero: ", axis);
  figure_digits(writer, zero);
  if (isfinite(lower)) fprintf(writer->out, ", lower: %g deg", lower);
  if (isfinite(upper)) fprintf(writer->out, ", upper: %g deg", upper);
  fputs(" }\n", writer->out);
}

/* Limits that the file has for a hinge, whose angle at the start is that of its channel. */
static void figure_hinge_limit(figure_writer *writer, const perp_figure_segment *segment,
                               bool *first)
{
  const perp_bvh *bvh = writer->f->bvh;
  const perp_bvh_joint *joint = &bvh->joint[segment->joint];
  if (!joint->limited || joint->channels != 1 || !(joint->lower[0] < joint->upper[0])) return;
  const double zero = bvh->frames > 0 ? bvh->value[joint->first] * 3.14159265358979323846 / 180 : 0;
  fputs(*first ? "drives:\n" : "", writer->out);
  *first = false;
  fputs("  - { when: limits, ", writer->out);
  figure_name(writer, "name", segment->name);
  figure_name(writer, ", joint", segment->name);
  fputs(", zero: ", writer->out);
  figure_digits(writer, zero);
  if (isfinite(joint->lower[0])) fprintf(writer->out, ", lower: %g deg", joint->lower[0]);
  if (isfinite(joint->upper[0])) fprintf(writer->out, ", upper: %g deg", joint->upper[0]);
  fputs(" }\n", writer->out);
}

/* Angles of a ball joint at the start. */
static void figure_start(const figure_writer *writer, const perp_figure_segment *segment,
                         const double a[3], const double b[3], double angle[3])
{
  double R[9];
  for (int c = 0; c < 3; c++)
    perp_turn_back(3, writer->pose[writer->f->segment[segment->parent].joint].R,
                   writer->pose[segment->joint].R + 3 * c, R + 3 * c);
  figure_angles(R, a, b, angle);
}

static void figure_file_limits(figure_writer *writer, const perp_figure_segment *segment,
                               const perp_figure_ranges *ranges, bool *first)
{
  static const char *const axes[] = { "a", "node", "b" };
  double angle[3];
  figure_start(writer, segment, ranges->a, ranges->b, angle);
  for (int i = 0; i < 3; i++)
    figure_drive(writer, segment, axes[i], angle[i], ranges->lower[i], ranges->upper[i], first);
}

static void figure_limits(figure_writer *writer)
{
  const perp_figure *figure = writer->f;
  bool first = true;
  perp_text none = { 0 };
  for (int i = 0; i < figure->n; i++) {
    const perp_figure_segment *segment = &figure->segment[i];
    int axis = 0;
    if (segment->parent < 0) continue;
    if (perp_figure_turns(figure, segment, &axis) < 2) {
      figure_hinge_limit(writer, segment, &first);
      continue;
    }
    double a[3], b[3], angle[3];
    perp_figure_ranges ranges;
    if (perp_figure_ranges_of(figure, segment, &ranges)) {
      figure_file_limits(writer, segment, &ranges, &first);
      continue;
    }
    const bool fits = perp_figure_axes(segment, a, b);
    const perp_figure_limits *limits = segment->class >= 0 && fits
                                           ? &perp_figure_limit[segment->class]
                                           : NULL;
    if (limits == NULL || !(isfinite(limits->flexion[0]) || isfinite(limits->twist[0]))) {
      perp_text_add(&none, "%s%s", none.n > 0 ? ", " : "", segment->name);
      continue;
    }
    figure_start(writer, segment, a, b, angle);
    const bool right = segment->side < 0;
    figure_drive(writer, segment, "a", angle[0], limits->flexion[0], limits->flexion[1], &first);
    figure_drive(writer, segment, "node", angle[1],
                 right ? -limits->abduction[1] : limits->abduction[0],
                 right ? -limits->abduction[0] : limits->abduction[1], &first);
    figure_drive(writer, segment, "b", angle[2], right ? -limits->twist[1] : limits->twist[0],
                 right ? -limits->twist[0] : limits->twist[1], &first);
  }
  if (none.n > 0)
    perp_text_add(&writer->said,
                  "note: joints without limits (the table has no fitting ones): %s\n", none.s);
  perp_text_free(&none);
}

/* ---- the rest ---- */

/* The file, and what the joints of this scene do not tell of it. */
static void figure_source(figure_writer *writer, const char *base)
{
  fputs("file: ", writer->out);
  perp_write_quoted(writer->out, base);
  const perp_skeleton_options *options = &writer->source->options;
  if (options->start > 0) fprintf(writer->out, ", start: %d", options->start);
  if (options->end > 0) fprintf(writer->out, ", end: %d", options->end);
  if (options->frame_time > 0) {
    fputs(", frame_time: ", writer->out);
    figure_digits(writer, options->frame_time);
  }
  bool deep = false;
  for (int segment = 0; segment < writer->f->n; segment++)
    deep = deep || (writer->f->segment[segment].parent >= 0 &&
                    writer->f->segment[writer->f->segment[segment].parent].parent >= 0);
  if (deep) return; /* else no bone between two joints tells the scale */
  double origin[3];
  for (int k = 0; k < 3; k++) origin[k] = -writer->f->segment[0].centre[k];
  fputs(", scale: k", writer->out);
  figure_vector(writer, "origin", "k * ", 3, origin);
}

static void figure_motion(figure_writer *writer)
{
  char *base = perp_base_name(writer->source->path, "");
  fputs("control: { by: \"{controller}\", root: \"{root}\", frequency: frequency, ratio: ratio, "
        "rate: rate,\n"
        "  max_force: max_force",
        writer->out);
  if (writer->f->bvh->frames > 0) {
    fputs(", ", writer->out);
    figure_source(writer, base);
    fputs(" }\ntruth:\n  - { kind: playback, ", writer->out);
    figure_source(writer, base);
  }
  fputs(" }\n", writer->out);
  free(base);
}

bool perp_figure_scene(perp_diag *diag, const perp_figure_source *source, perp_text *scene,
                       perp_text *said, int *lost)
{
  const perp_bvh *bvh = source->bvh;
  perp_figure figure;
  char *text = NULL;
  size_t size = 0;
  if (!perp_figure_build(diag, source->path, bvh, &figure)) return false;
  figure_writer writer = { .f = &figure, .source = source };
  writer.pose = perp_xalloc((size_t)bvh->n, sizeof *writer.pose);
  writer.radius = perp_xalloc((size_t)figure.n, sizeof *writer.radius);
  writer.out = perp_memory_stream(&text, &size);
  figure_radii(&writer);
  figure_lowest(&writer);
  figure_poses(&figure, bvh->frames > 0 ? 0 : -1, writer.pose);
  perp_figure_said(&figure, source, &writer.said);
  figure_head(&writer);
  figure_bodies(&writer);
  figure_joints(&writer);
  figure_limits(&writer);
  fputs("materials: { default: { mu: 0.8 } }\n"
        "shapes:\n  - { when: floor, body: world, kind: plane, x: [0, 0, -gap + k * ",
        writer.out);
  figure_digits(&writer, writer.low);
  fputs("] }\n", writer.out);
  figure_motion(&writer);
  perp_memory_stream_close(writer.out);
  for (const char *at = writer.said.n > 0 ? writer.said.s : ""; *at != '\0'; at += *at == '\n') {
    perp_text_add(scene, "# %.*s\n", (int)strcspn(at, "\n"), at);
    *lost += strncmp(at, "lost:", 5) == 0;
    at += strcspn(at, "\n");
  }
  perp_text_put(scene, text, size);
  *said = writer.said;
  free(text);
  free(writer.pose);
  free(writer.radius);
  perp_figure_free(&figure);
  return true;
}
