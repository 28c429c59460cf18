/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies and joints.  Bodies that no joint lets move relative to each other are one.  A body of
 * MuJoCo may hang on several joints: those that together are a joint of perp become that one, where
 * both leave the same motions free:
 *
 *      hinge                                      hinge
 *      slide                                      slider
 *      ball                                       ball
 *      three hinges in one point, the second      ball, the hinges its angles
 *        across both others
 *      two hinges in one point at a right angle   universal
 *      two slides and a hinge across both         planar
 *      a slide and a hinge along one axis         cylindrical
 *      free; three slides and a ball              none
 *
 * Others are refused: a chain of hinges through bodies that hardly weigh anything would be another
 * system. */
#include "experiments/import/mjcf_model.h"
#include "experiments/base/json.h"

#include <math.h>
#include <string.h>

/* ---- bodies ---- */

/* I += R diag(a) R' + mass (|s|^2 - s s'), column-major. */
static void bodies_add_inertia(double I[9], const double R[9], const double a[3], double mass,
                               const double s[3])
{
  const double s2 = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j <= i; j++) {
      double sum = mass * ((i == j ? s2 : 0) - s[i] * s[j]);
      for (int k = 0; k < 3; k++) sum += R[3 * i + k] * a[k] * R[3 * j + k];
      I[i + 3 * j] += sum;
      if (i != j) I[j + 3 * i] += sum;
    }
}

/* Centre of mass and orientation of body b in the frame of its root r; Ri row-major. */
static void bodies_inertial(const perp_mj *mj, int b, int r, double s[3], double Ri[9])
{
  const mjModel *robot = mj->m;
  if (b == r) { /* to the last digit */
    memcpy(s, robot->body_ipos + 3 * b, 3 * sizeof *s);
    mju_quat2Mat(Ri, robot->body_iquat + 4 * b);
    return;
  }
  double d[3];
  for (int i = 0; i < 3; i++) d[i] = mj->d->xipos[3 * b + i] - mj->d->xpos[3 * r + i];
  mju_rotVecMatT(s, d, mj->d->xmat + 9 * r);
  mju_mulMatTMat(Ri, mj->d->xmat + 9 * r, mj->d->ximat + 9 * b, 3, 3, 3);
}

static void bodies_one(perp_mj *mj, int r)
{
  const mjModel *robot = mj->m;
  double mass = 0, *com = mj->com + 3 * r, I[9] = { 0 }, s[3], Ri[9], place[3], v[6], w[3];
  for (int b = r; b < robot->nbody; b++)
    if (mj->root[b] == r) {
      bodies_inertial(mj, b, r, s, Ri);
      mass += robot->body_mass[b];
      for (int i = 0; i < 3; i++) com[i] += robot->body_mass[b] * s[i];
    }
  if (!(mass > 0)) {
    perp_mj_refuse(mj, "add an <inertial>, or a geom with a mass",
                   "body '%s' can move but has no mass", mj->body[r]);
    return;
  }
  for (int i = 0; i < 3; i++) com[i] /= mass;
  if (mass == robot->body_mass[r]) memcpy(com, robot->body_ipos + 3 * r, 3 * sizeof *com);
  for (int b = r; b < robot->nbody; b++)
    if (mj->root[b] == r) {
      bodies_inertial(mj, b, r, s, Ri);
      for (int i = 0; i < 3; i++) s[i] -= com[i];
      bodies_add_inertia(I, Ri, robot->body_inertia + 3 * b, robot->body_mass[b], s);
    }
  mju_rotVecMat(place, com, mj->d->xmat + 9 * r);
  double arm[3] = { place[0], place[1], place[2] }, turned[3];
  for (int i = 0; i < 3; i++) place[i] += mj->d->xpos[3 * r + i];
  fputs("  - { name: ", mj->out);
  perp_write_quoted(mj->out, mj->body[r]);
  perp_mj_number(mj, "mass", mass);
  perp_mj_vector(mj, "inertia", 9, I);
  perp_mj_vector(mj, "x", 3, place);
  perp_mj_vector(mj, "quat", 4, mj->d->xquat + 4 * r);
  mj_objectVelocity(robot, mj->d, mjOBJ_XBODY, r, v,
                    0); /* (w, v) of the body's frame, world axes */
  mju_cross(turned, v, arm);
  for (int i = 0; i < 3; i++) v[3 + i] += turned[i];
  mju_rotVecMatT(w, v, mj->d->xmat + 9 * r);
  if (v[3] != 0 || v[4] != 0 || v[5] != 0) perp_mj_vector(mj, "v", 3, v + 3);
  if (w[0] != 0 || w[1] != 0 || w[2] != 0) perp_mj_vector(mj, "w", 3, w);
  fputs(" }\n", mj->out);
}

/* ---- joints ---- */

static bool bodies_same_point(const mjModel *robot, int j, int k)
{
  const double *p = robot->jnt_pos + 3 * j, *q = robot->jnt_pos + 3 * k;
  const double size = fmax(mju_norm3(p), 1e-3);
  return fabs(p[0] - q[0]) + fabs(p[1] - q[1]) + fabs(p[2] - q[2]) < 1e-12 * size;
}

static bool bodies_across(const mjModel *robot, int j, int k)
{
  return fabs(mju_dot3(robot->jnt_axis + 3 * j, robot->jnt_axis + 3 * k)) < 1e-10;
}

static bool bodies_types(const mjModel *robot, int first, int n, const mjtJoint *types, int n_types)
{
  if (n != n_types) return false;
  for (int i = 0; i < n; i++)
    if (robot->jnt_type[first + i] != (int)types[i]) return false;
  return true;
}

/* Slides whose axes span space. */
static bool bodies_span(const mjModel *robot, int first)
{
  double c[3];
  mju_cross(c, robot->jnt_axis + 3 * first, robot->jnt_axis + 3 * first + 3);
  return fabs(mju_dot3(c, robot->jnt_axis + 3 * first + 6)) > 1e-6;
}

typedef enum bodies_kind {
  KIND_NONE,
  KIND_HINGE,
  KIND_SLIDER,
  KIND_BALL,
  KIND_UNIVERSAL,
  KIND_PLANAR,
  KIND_CYLINDRICAL,
  KIND_NOT
} bodies_kind;

/* Of joints that are hinges and slides: the one hinge, -1 where there is another number of them. */
static int bodies_hinge(const mjModel *robot, int first, int n)
{
  int hinge = -1;
  for (int j = first; j < first + n; j++) {
    if (robot->jnt_type[j] == mjJNT_SLIDE) continue;
    if (robot->jnt_type[j] != mjJNT_HINGE || hinge >= 0) return -1;
    hinge = j;
  }
  return hinge;
}

/* Slides beside a hinge. */
static bodies_kind bodies_slides(const mjModel *robot, int first, int n)
{
  const int hinge = bodies_hinge(robot, first, n);
  double c[3], d[3];
  if (hinge < 0 || n < 2 || n > 3) return KIND_NOT;
  const int j = hinge == first ? first + 1 : first, k = hinge == first + 2 ? first + 1 : first + 2;
  mju_cross(c, robot->jnt_axis + 3 * hinge, robot->jnt_axis + 3 * j);
  if (n == 2) return mju_norm3(c) < 1e-10 ? KIND_CYLINDRICAL : KIND_NOT;
  mju_cross(d, robot->jnt_axis + 3 * j, robot->jnt_axis + 3 * k);
  return bodies_across(robot, hinge, j) && bodies_across(robot, hinge, k) && mju_norm3(d) > 1e-6
             ? KIND_PLANAR
             : KIND_NOT;
}

static bodies_kind bodies_joint_kind(const mjModel *robot, int first, int n)
{
  static const mjtJoint free[] = { mjJNT_FREE },
                        hinge[] = { mjJNT_HINGE, mjJNT_HINGE, mjJNT_HINGE },
                        slide[] = { mjJNT_SLIDE }, ball[] = { mjJNT_BALL },
                        place[] = { mjJNT_SLIDE, mjJNT_SLIDE, mjJNT_SLIDE, mjJNT_BALL };
  if (bodies_types(robot, first, n, free, 1)) return KIND_NONE;
  if (bodies_types(robot, first, n, hinge, 1)) return KIND_HINGE;
  if (bodies_types(robot, first, n, slide, 1)) return KIND_SLIDER;
  if (bodies_types(robot, first, n, ball, 1)) return KIND_BALL;
  if (bodies_types(robot, first, n, hinge, 2) && bodies_same_point(robot, first, first + 1) &&
      bodies_across(robot, first, first + 1))
    return KIND_UNIVERSAL;
  if (bodies_types(robot, first, n, hinge, 3) && bodies_same_point(robot, first, first + 1) &&
      bodies_same_point(robot, first, first + 2) && bodies_across(robot, first, first + 1) &&
      bodies_across(robot, first + 1, first + 2))
    return KIND_BALL;
  if (bodies_types(robot, first, n, place, 4) && bodies_span(robot, first)) return KIND_NONE;
  return bodies_slides(robot, first, n);
}

/* "hip_x, hip_z (hinge, hinge)" */
static const char *bodies_joint_words(perp_mj *mj, int first, int n)
{
  static const char *const types[] = { "free", "ball", "slide", "hinge" };
  const char *s = "";
  for (int i = 0; i < n; i++)
    s = perp_pool_printf(&mj->pool, "%s%s%s", s, i > 0 ? ", " : "",
                         perp_mj_name(mj, mjOBJ_JOINT, "joint", first + i));
  for (int i = 0; i < n; i++)
    s = perp_pool_printf(&mj->pool, "%s%s%s", s, i > 0 ? ", " : " (",
                         types[mj->m->jnt_type[first + i]]);
  return perp_pool_printf(&mj->pool, "%s)", s);
}

/* What joint j of MuJoCo is a coordinate of. */
static void bodies_axis(perp_mj *mj, int j, const char *joint, const char *axis, double sign)
{
  mj->axis[j] = (perp_mj_axis){ joint, axis, sign, -HUGE_VAL, HUGE_VAL };
}

/* Three hinges in one point: the angles of a ball joint.  The second one is about the node, axis_a
 * x axis_b or against it, and is known between the places where these are parallel. */
static void bodies_angles(perp_mj *mj, int r, const char *name)
{
  const int first = mj->m->body_jntadr[r];
  const double *a = mj->d->xaxis + 3 * first, *b = a + 6;
  double node[3], axis[3];
  mju_cross(node, a, b);
  const double size = mju_norm3(node), between = atan2(size, mju_dot3(a, b));
  if (size < 1e-6) {
    perp_mj_note(mj,
                 "joint %s: its first and last axis are parallel in the initial state, where its "
                 "angles are undefined",
                 name);
    return;
  }
  const double sign = mju_dot3(node, a + 3) < 0 ? -1 : 1;
  perp_mj_local(mj, mj->m->body_parentid[r], false, a, axis);
  perp_mj_vector(mj, "axis_a", 3, axis);
  perp_mj_local(mj, r, false, b, axis);
  perp_mj_vector(mj, "axis_b", 3, axis);
  bodies_axis(mj, first, name, "a", 1);
  bodies_axis(mj, first + 1, name, "node", sign);
  bodies_axis(mj, first + 2, name, "b", 1);
  perp_mj_axis *middle = &mj->axis[first + 1];
  const double q = mj->d->qpos[mj->m->jnt_qposadr[first + 1]];
  middle->least = q - (sign > 0 ? between : mjPI - between);
  middle->most = middle->least + mjPI;
}

static void bodies_joint(perp_mj *mj, int r)
{
  static const char *const kinds[] = { "",          "hinge",  "slider",     "ball",
                                       "universal", "planar", "cylindrical" };
  const mjModel *robot = mj->m;
  const int first = robot->body_jntadr[r], n = robot->body_jntnum[r],
            parent = robot->body_parentid[r];
  const bodies_kind kind = bodies_joint_kind(robot, first, n);
  const bool slides = kind == KIND_PLANAR || kind == KIND_CYLINDRICAL;
  const int lead = slides ? bodies_hinge(robot, first, n) : first,
            last = slides ? lead : first + n - 1; /* whose axes are those of perp */
  if (kind == KIND_NOT) {
    perp_mj_refuse(
        mj,
        "give each joint its own body with a mass; one body may have two hinges at a right angle, "
        "three in one point, or slides in the plane or along the axis of a hinge",
        "body '%s' is connected to %s: perp has no joint with these degrees of freedom",
        mj->body[r], bodies_joint_words(mj, first, n));
    return;
  }
  if (kind == KIND_NONE) return;
  const char *name = "";
  for (int i = 0; i < n; i++)
    name = perp_pool_printf(&mj->pool, "%s%s%s", name, i > 0 ? "+" : "",
                            perp_mj_name(mj, mjOBJ_JOINT, "joint", first + i));
  name = perp_mj_fresh(mj, &mj->joints, name);
  double anchor[3], axis[3];
  fprintf(mj->out, "  - { kind: %s, name: ", kinds[kind]);
  perp_write_quoted(mj->out, name);
  perp_mj_body(mj, "a", parent);
  perp_mj_body(mj, "b", r);
  perp_mj_local(mj, parent, true, mj->d->xanchor + 3 * lead, anchor);
  perp_mj_vector(mj, "anchor_a", 3, anchor);
  if (kind == KIND_SLIDER || slides)
    perp_mj_local(mj, r, true, mj->d->xanchor + 3 * lead, anchor);
  else /* fixed in the body, to the last digit */
    for (int i = 0; i < 3; i++) anchor[i] = robot->jnt_pos[3 * lead + i] - mj->com[3 * r + i];
  perp_mj_vector(mj, "anchor_b", 3, anchor);
  if (kind != KIND_BALL) {
    perp_mj_local(mj, parent, false, mj->d->xaxis + 3 * lead, axis);
    perp_mj_vector(mj, "axis_a", 3, axis);
    perp_mj_local(mj, r, false, mj->d->xaxis + 3 * last, axis);
    perp_mj_vector(mj, "axis_b", 3, axis);
    bodies_axis(mj, lead, name, "a", 1);
    if (kind == KIND_UNIVERSAL) bodies_axis(mj, last, name, "b", 1);
  } else if (n == 3)
    bodies_angles(mj, r, name);
  if (kind == KIND_CYLINDRICAL) {
    const int slide = lead == first ? first + 1 : first;
    const bool same = mju_dot3(mj->d->xaxis + 3 * lead, mj->d->xaxis + 3 * slide) > 0;
    bodies_axis(mj, slide, name, "along", same ? 1 : -1);
  }
  /* MuJoCo leaves out contacts of a body with its parent, but for those with the world */
  if (mj->root[parent] == 0 || perp_mj_disabled(mj, mjDSBL_FILTERPARENT))
    fputs(", collide: true", mj->out);
  fputs(" }\n", mj->out);
  if (n > 1)
    perp_mj_note(mj, "joints %s of body %s: one %s joint%s", bodies_joint_words(mj, first, n),
                 mj->body[r], kinds[kind], kind == KIND_BALL ? " with three angles" : "");
}

void perp_mj_bodies(perp_mj *mj)
{
  const mjModel *robot = mj->m;
  const size_t n = (size_t)robot->nbody;
  int moving = 0;
  mj->root = perp_pool_alloc(&mj->pool, n, sizeof *mj->root);
  mj->body = perp_pool_alloc(&mj->pool, n, sizeof *mj->body);
  mj->com = perp_pool_alloc(&mj->pool, 3 * n, sizeof *mj->com);
  mj->axis = perp_pool_alloc(&mj->pool, (size_t)robot->njnt + 1, sizeof *mj->axis);
  for (int b = 0; b < robot->nbody; b++) {
    mj->root[b] = robot->body_weldid[b];
    if (b == 0 || mj->root[b] != b) continue;
    mj->body[b] = perp_mj_fresh(mj, &mj->bodies, perp_mj_name(mj, mjOBJ_BODY, "body", b));
    moving++;
  }
  if (moving == 0) {
    perp_mj_refuse(mj, "add a <joint> or a <freejoint> to a body", "no body of the file can move");
    return;
  }
  fputs("bodies:\n", mj->out);
  for (int b = 1; b < robot->nbody; b++) {
    const int r = mj->root[b];
    if (r == b)
      bodies_one(mj, b);
    else
      perp_mj_note(mj, "body %s has no joint: it is a part of %s",
                   perp_mj_name(mj, mjOBJ_BODY, "body", b), r > 0 ? mj->body[r] : "the world");
  }
  fputs("joints:\n", mj->out);
  for (int b = 1; b < robot->nbody; b++)
    if (mj->root[b] == b) bodies_joint(mj, b);
}

/* Equality constraints, soft in MuJoCo and rigid here: connect is a ball joint, weld a fixed one.
 */

enum { DATA = mjNEQDATA };

/* "connect 0 (link3, base)" */
static const char *loops_who(perp_mj *mj, int e, const char *kind)
{
  const mjModel *robot = mj->m;
  const mjtObj type = robot->eq_type[e] == mjEQ_JOINT    ? mjOBJ_JOINT
                      : robot->eq_type[e] == mjEQ_TENDON ? mjOBJ_TENDON
                                                         : mjOBJ_BODY;
  const char *word = type == mjOBJ_JOINT ? "joint" : type == mjOBJ_TENDON ? "tendon" : "body";
  const int a = robot->eq_obj1id[e], b = robot->eq_obj2id[e];
  const char *name = mj_id2name(robot, mjOBJ_EQUALITY, e);
  const char *who = name != NULL && name[0] != '\0'
                        ? perp_pool_printf(&mj->pool, "%s %s", kind, name)
                        : perp_pool_printf(&mj->pool, "%s %d", kind, e);
  if (b < 0) return perp_pool_printf(&mj->pool, "%s (%s)", who, perp_mj_name(mj, type, word, a));
  return perp_pool_printf(&mj->pool, "%s (%s, %s)", who, perp_mj_name(mj, type, word, a),
                          perp_mj_name(mj, type, word, b));
}

/* World place of a point of a body of MuJoCo. */
static void loops_place(const perp_mj *mj, int body, const double s[3], double p[3])
{
  mju_rotVecMat(p, s, mj->d->xmat + 9 * body);
  for (int i = 0; i < 3; i++) p[i] += mj->d->xpos[3 * body + i];
}

static void loops_one(perp_mj *mj, int e, bool weld)
{
  const mjModel *robot = mj->m;
  const int a = robot->eq_obj1id[e], b = robot->eq_obj2id[e];
  const double *data = robot->eq_data + DATA * e;
  const char *who = loops_who(mj, e, weld ? "weld" : "connect");
  double pa[3], pb[3], sa[3], sb[3], off = 0, turned = 0;
  if (mj->root[a] == mj->root[b]) {
    perp_mj_note(
        mj, "%s: both bodies are parts of one body or fixed, so that no constraint is needed", who);
    return;
  }
  /* connect has the point in body 1, then in body 2; weld the other way round, then the orientation
   */
  loops_place(mj, a, weld ? data + 3 : data, pa);
  loops_place(mj, b, weld ? data : data + 3, pb);
  for (int i = 0; i < 3; i++) off = fmax(off, fabs(pb[i] - pa[i]));
  if (weld) {
    double wanted[4], back[4], between[4];
    mju_mulQuat(wanted, mj->d->xquat + 4 * a, data + 6);
    mju_negQuat(back, wanted);
    mju_mulQuat(between, back, mj->d->xquat + 4 * b);
    turned = 2 * mju_norm3(between + 1);
  }
  if (turned > 1e-6) { /* a fixed joint keeps the orientation of the initial state */
    perp_mj_lost(
        mj,
        "%s: a rotation of %.3g rad between the bodies; here they keep their initial orientation",
        who, turned);
  }
  perp_mj_local(mj, a, true, pa, sa);
  perp_mj_local(mj, b, true, pb, sb);
  fprintf(mj->out, "  - { kind: %s, name: ", weld ? "fixed" : "ball");
  perp_write_quoted(mj->out,
                    perp_mj_fresh(mj, &mj->joints, perp_pool_printf(&mj->pool, "equality%d", e)));
  perp_mj_body(mj, "a", a);
  perp_mj_body(mj, "b", b);
  perp_mj_vector(mj, "anchor_a", 3, sa);
  perp_mj_vector(mj, "anchor_b", 3, sb);
  fputs(", collide: true", mj->out);
  if (off > 1e-9) {
    fputs(", start: violates", mj->out);
    perp_mj_note(mj, "%s: open by %.3g m in the initial state", who, off);
  }
  fputs(" }\n", mj->out);
  perp_mj_note(mj, "%s: compliant in MuJoCo, a rigid %s joint here", who, weld ? "fixed" : "ball");
}

/* joint1 = polynomial of joint2 */
static void loops_joint(perp_mj *mj, int e)
{
  const mjModel *robot = mj->m;
  const double *data = robot->eq_data + DATA * e;
  const char *who = loops_who(mj, e, "joint");
  if (robot->eq_obj2id[e] < 0 && mj->axis[robot->eq_obj1id[e]].joint != NULL) {
    perp_mj_note(mj, "%s: compliant in MuJoCo, limits in both directions here", who);
    return; /* mjcf_drives.c writes it */
  }
  perp_mj_lost(
      mj, "equality %s: the first coordinate is %g %+g q %+g q^2 %+g q^3 %+g q^4 of the second",
      who, data[0], data[1], data[2], data[3], data[4]);
}

void perp_mj_loops(perp_mj *mj)
{
  const mjModel *robot = mj->m;
  for (int e = 0; e < robot->neq; e++) {
    const int type = robot->eq_type[e];
    const char *kind = type == mjEQ_CONNECT ? "connect"
                       : type == mjEQ_WELD  ? "weld"
                       : type == mjEQ_JOINT ? "joint"
                                            : "tendon";
    if (!robot->eq_active[e] || perp_mj_disabled(mj, mjDSBL_EQUALITY | mjDSBL_CONSTRAINT))
      perp_mj_note(mj, "%s is disabled", loops_who(mj, e, kind));
    else if (type == mjEQ_CONNECT || type == mjEQ_WELD)
      loops_one(mj, e, type == mjEQ_WELD);
    else if (type == mjEQ_JOINT)
      loops_joint(mj, e);
    else
      perp_mj_lost(mj, "equality %s: a constraint on the lengths of tendons",
                   loops_who(mj, e, kind));
  }
}
