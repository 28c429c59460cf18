/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equality constraints, soft in MuJoCo and rigid here: connect is a ball joint, weld a fixed one.
 */
#include "experiments/base/json.h"
#include "experiments/import/robot_scene.h"
#include "models/geometry/kinematics.h"
#include "models/multibody/model.h"

#include <math.h>
#include <string.h>

static const char *const loops_kinds[] = { "connect", "weld", "joint", "tendon" };

static const char *loops_part(perp_rs *rs, const perp_robot_equality *equality, int number)
{
  if (equality->kind == PERP_ROBOT_COUPLE) return perp_rs_joint_name(rs, number);
  if (equality->kind == PERP_ROBOT_LENGTHS)
    return perp_rs_name(rs, rs->robot->tendon[number].name, "tendon", number);
  return perp_rs_body_name(rs, number);
}

/* "connect 0 (link3, base)" */
static const char *loops_who(perp_rs *rs, int e)
{
  const perp_robot_equality *equality = &rs->robot->equality[e];
  perp_pool *pool = &rs->robot->pool;
  const char *kind = loops_kinds[equality->kind];
  const char *who = equality->name[0] != '\0'
                        ? perp_pool_printf(pool, "%s %s", kind, equality->name)
                        : perp_pool_printf(pool, "%s %d", kind, e);
  if (equality->b < 0)
    return perp_pool_printf(pool, "%s (%s)", who, loops_part(rs, equality, equality->a));
  return perp_pool_printf(pool, "%s (%s, %s)", who, loops_part(rs, equality, equality->a),
                          loops_part(rs, equality, equality->b));
}

/* Angle by which body b is turned against where a weld wants it. */
static double loops_turned(const perp_robot *robot, const perp_robot_equality *equality)
{
  double wanted[4], between[4];
  perp_quat_product(robot->body[equality->a].turn, equality->turn, wanted);
  for (int i = 1; i < 4; i++) wanted[i] = -wanted[i];
  perp_quat_product(wanted, robot->body[equality->b].turn, between);
  return 2 * asin(fmin(1, sqrt(perp_dot(3, between + 1, between + 1))));
}

static void loops_one(perp_rs *rs, int e, bool weld)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_equality *equality = &robot->equality[e];
  const int a = equality->a, body = equality->b;
  const char *who = loops_who(rs, e);
  double pa[3], pb[3], sa[3], sb[3], off = 0;
  if (robot->body[a].root == robot->body[body].root) {
    perp_robot_note(rs->robot,
                    "%s: both bodies are parts of one body or fixed, so that no constraint is "
                    "needed",
                    who);
    return;
  }
  perp_rs_world(rs, a, equality->point[0], pa);
  perp_rs_world(rs, body, equality->point[1], pb);
  for (int i = 0; i < 3; i++) off = fmax(off, fabs(pb[i] - pa[i]));
  const double turned = weld ? loops_turned(robot, equality) : 0;
  if (turned > 1e-6) /* a fixed joint keeps the orientation of the initial state */
    perp_robot_lost(rs->robot,
                    "%s: a rotation of %.3g rad between the bodies; here they keep their initial "
                    "orientation",
                    who, turned);
  perp_rs_local(rs, a, true, pa, sa);
  perp_rs_local(rs, body, true, pb, sb);
  fprintf(rs->out, "  - { kind: %s, name: ", weld ? "fixed" : "ball");
  perp_write_quoted(
      rs->out, perp_rs_fresh(rs, &rs->joints, perp_pool_printf(&rs->robot->pool, "equality%d", e)));
  perp_rs_body(rs, "a", a);
  perp_rs_body(rs, "b", body);
  perp_rs_vector(rs, "anchor_a", 3, sa);
  perp_rs_vector(rs, "anchor_b", 3, sb);
  fputs(", collide: true", rs->out);
  if (off > 1e-9) {
    fputs(", start: violates", rs->out);
    perp_robot_note(rs->robot, "%s: open by %.3g m in the initial state", who, off);
  }
  fputs(" }\n", rs->out);
  perp_robot_note(rs->robot, "%s: compliant in MuJoCo, a rigid %s joint here", who,
                  weld ? "fixed" : "ball");
}

/* A term of a coupling: the coordinate of a joint, as its drives count it. */
static void loops_term(perp_rs *rs, int joint, double factor)
{
  const perp_rs_axis *axis = &rs->axis[joint];
  fputs("{ joint: ", rs->out);
  perp_write_quoted(rs->out, axis->joint);
  fprintf(rs->out, ", axis: %s", axis->axis);
  perp_rs_number(rs, "factor", axis->sign * factor);
  perp_rs_number(rs, "zero", axis->sign * rs->robot->joint[joint].q[0]);
  fputs(" }", rs->out);
}

/* sum factor q = value */
static void loops_coupling(perp_rs *rs, int e, const perp_robot_term *term, int n, double value)
{
  const perp_robot *robot = rs->robot;
  const char *who = loops_who(rs, e);
  double off = -value;
  fputs("  - { kind: coupling, name: ", rs->out);
  perp_write_quoted(
      rs->out, perp_rs_fresh(rs, &rs->joints, perp_pool_printf(&rs->robot->pool, "equality%d", e)));
  fputs(", terms: [", rs->out);
  for (int i = 0; i < n; i++) {
    if (i > 0) fputs(", ", rs->out);
    loops_term(rs, term[i].joint, term[i].factor);
    off += term[i].factor * robot->joint[term[i].joint].q[0];
  }
  fputs("]", rs->out);
  perp_rs_number(rs, "value", value);
  if (fabs(off) > 1e-9) {
    fputs(", start: violates", rs->out);
    perp_robot_note(rs->robot, "%s: open by %.3g in the initial state", who, off);
  }
  fputs(" }\n", rs->out);
  perp_robot_note(rs->robot, "%s: compliant in MuJoCo, a rigid coupling here", who);
}

/* joint1 = polynomial of joint2 */
static void loops_couple(perp_rs *rs, int e)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_equality *equality = &robot->equality[e];
  const double *poly = equality->poly;
  const char *who = loops_who(rs, e);
  const bool known = rs->axis[equality->a].joint != NULL;
  if (equality->b < 0 && known) {
    perp_robot_note(rs->robot, "%s: compliant in MuJoCo, limits in both directions here", who);
    return; /* robot_drives.c writes it */
  }
  if (equality->b >= 0 && known && rs->axis[equality->b].joint != NULL && poly[2] == 0 &&
      poly[3] == 0 && poly[4] == 0) {
    const perp_robot_joint *a = &robot->joint[equality->a], *b = &robot->joint[equality->b];
    const perp_robot_term term[2] = { { equality->a, 1 }, { equality->b, -poly[1] } };
    loops_coupling(rs, e, term, poly[1] != 0 ? 2 : 1, poly[0] + a->ref - poly[1] * b->ref);
    return;
  }
  perp_robot_lost(
      rs->robot,
      "equality %s: the first coordinate is %g %+g q %+g q^2 %+g q^3 %+g q^4 of the second", who,
      poly[0], poly[1], poly[2], poly[3], poly[4]);
}

/* l_1 - l_1(ref) = poly(l_2 - l_2(ref)) of fixed tendons, l = sum factor q: of first degree a
 * coupling of all their joints. */
static void loops_lengths(perp_rs *rs, int e)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_equality *equality = &robot->equality[e];
  const double *poly = equality->poly;
  const int tendon[2] = { equality->a, poly[1] != 0 ? equality->b : -1 };
  perp_robot_term term[PERP_AXIS_TERMS];
  double value = poly[0];
  int n = 0;
  bool good = equality->b < 0 || (poly[2] == 0 && poly[3] == 0 && poly[4] == 0);
  for (int k = 0; k < 2 && good && tendon[k] >= 0; k++) {
    const perp_robot_tendon *from = &robot->tendon[tendon[k]];
    good = from->n_terms > 0;
    for (int i = 0; i < from->n_terms && good; i++) {
      const perp_robot_term add = { from->term[i].joint,
                                    (k == 0 ? 1 : -poly[1]) * from->term[i].factor };
      int same = 0;
      while (same < n && term[same].joint != add.joint) same++;
      good = rs->axis[add.joint].joint != NULL && same < PERP_AXIS_TERMS;
      if (!good) break;
      if (same == n) term[n++] = (perp_robot_term){ add.joint, 0 };
      term[same].factor += add.factor;
      value += add.factor * robot->joint[add.joint].ref;
    }
  }
  for (int i = 0; i < n && good; i++) good = term[i].factor != 0;
  if (good)
    loops_coupling(rs, e, term, n, value);
  else
    perp_robot_lost(rs->robot, "equality %s: no force keeps this relation of lengths of tendons",
                    loops_who(rs, e));
}

void perp_rs_loops(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  for (int e = 0; e < robot->n_equalities; e++) {
    const perp_robot_equality *equality = &robot->equality[e];
    if (!equality->active || !(robot->acts & PERP_ROBOT_EQUALITIES))
      perp_robot_note(rs->robot, "%s is disabled", loops_who(rs, e));
    else if (equality->kind == PERP_ROBOT_CONNECT || equality->kind == PERP_ROBOT_WELD)
      loops_one(rs, e, equality->kind == PERP_ROBOT_WELD);
    else if (equality->kind == PERP_ROBOT_COUPLE)
      loops_couple(rs, e);
    else
      loops_lengths(rs, e);
  }
}
