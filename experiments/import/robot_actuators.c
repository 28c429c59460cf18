/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actuators as drives.  A motor of gear G on a fixed tendon, of length sum c_i q_i, is one of gear
 * G c_i on each joint; others are on one joint.  An actuator of gear G on a joint, with F = g ctrl
 * + b0 + b1 (G q) + b2 (G q') within its range, acts by G F: the servo of stiffness -b1 G^2,
 * damping -b2 G^2 and the target, or velocity, where G F = 0; without both it is a motor that
 * pushes by |G F| until it is faster than anything. */
#include "experiments/base/json.h"
#include "experiments/import/robot_scene.h"
#include "solvers/core/core.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MOST_CONTROLS = 60 };               /* a scene has at most 64 parameters */
static const double actuators_fast = 1000; /* rad/s or m/s */

static double actuators_clip(const perp_robot *robot, int u, double ctrl)
{
  const perp_robot_actuator *actuator = &robot->actuator[u];
  if (!actuator->ctrl_limited || !(robot->acts & PERP_ROBOT_CLAMPS)) return ctrl;
  return fmin(fmax(ctrl, actuator->ctrl_range[0]), actuator->ctrl_range[1]);
}

/* Joints that an actuator drives: of a servo on tied joints the one that they are tied to. */
static int actuators_terms(const perp_rs *rs, int u, const perp_robot_term **term,
                           perp_rs_single *own)
{
  const perp_robot_actuator *actuator = &rs->robot->actuator[u];
  *own = (perp_rs_single){ { actuator->target, 1 }, 0 };
  *term = &own->term;
  if (actuator->target < 0 || actuator->at > PERP_ROBOT_AT_TENDON) return 0;
  if (actuator->at == PERP_ROBOT_AT_JOINT) return 1;
  if ((actuator->bias[1] != 0 || actuator->bias[2] != 0) &&
      perp_rs_tendon_single(rs, actuator->target, own))
    return 1;
  own->offset = 0;
  *term = rs->robot->tendon[actuator->target].term;
  return rs->robot->tendon[actuator->target].n_terms;
}

/* Why a joint has no drive of an actuator; NULL: it has one. */
static const char *actuators_unfit_joint(const perp_rs *rs, int joint)
{
  const perp_robot_joint_kind kind = rs->robot->joint[joint].kind;
  if (kind == PERP_ROBOT_FREE) return "a free body";
  if (kind == PERP_ROBOT_BALL) return "a ball joint";
  if (rs->axis[joint].joint == NULL)
    return kind == PERP_ROBOT_SLIDE ? "a motion in a plane" : "an angle of a ball joint";
  return NULL;
}

/* Why an actuator has no drive; NULL: it has one. */
static const char *actuators_unfit(const perp_rs *rs, int u)
{
  static const char *const transmissions[] = { "", "tendon", "a site", "a slider-crank",
                                               "contacts of a body" };
  const perp_robot_actuator *actuator = &rs->robot->actuator[u];
  const perp_robot_term *term;
  perp_rs_single own;
  const int n = actuators_terms(rs, u, &term, &own);
  const bool tendon = actuator->at == PERP_ROBOT_AT_TENDON;
  if (n == 0) return transmissions[actuator->at];
  for (int i = 0; i < n; i++) {
    const char *why = actuators_unfit_joint(rs, term[i].joint);
    if (why != NULL) return tendon ? transmissions[actuator->at] : why;
  }
  if (actuator->beyond != NULL)
    return perp_pool_printf(&rs->robot->pool, "a %s, with %s", tendon ? "tendon" : "joint",
                            actuator->beyond);
  if (tendon && n > 1 && (actuator->bias[1] != 0 || actuator->bias[2] != 0))
    return "the length of tendon";
  if (actuator->bias[1] > 0 || actuator->bias[2] > 0)
    return "a joint, with a spring or damper of negative coefficient";
  return NULL;
}

/* "A" or "A * control" or "A * control + B": a value that follows the control. */
static void actuators_value(perp_rs *rs, int actuator, const char *key, double a, double b)
{
  char factor[40], rest[40];
  if (rs->control[actuator] == NULL) {
    perp_rs_number(rs, key,
                   a * actuators_clip(rs->robot, actuator, rs->robot->actuator[actuator].ctrl) + b);
    return;
  }
  perp_format_real(a, factor, sizeof factor);
  perp_format_real(b, rest, sizeof rest);
  fprintf(rs->out, ", %s: \"%s * %s + (%s)\"", key, factor, rs->control[actuator], rest);
}

/* The bound of the force: that of the actuator, by its gear at this joint, and that of the joint
 * where it is the only one. */
static double actuators_most(perp_rs *rs, int u, int j, double G, bool first)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_actuator *actuator = &robot->actuator[u];
  const perp_robot_joint *joint = &robot->joint[j];
  const double *range = actuator->force;
  double most = HUGE_VAL;
  if (actuator->force_limited) {
    most = fabs(G) * fmax(fabs(range[0]), fabs(range[1]));
    if (range[0] != -range[1] && first)
      perp_robot_lost(rs->robot,
                      "force range [%.4g, %.4g] of actuator %s: the larger bound is used for both "
                      "signs",
                      range[0], range[1], perp_rs_actuator_name(rs, u));
  }
  if (!joint->bounded) return most;
  int others = 0, before = 0;
  for (int i = 0; i < robot->n_actuators; i++) {
    const perp_robot_term *term;
    perp_rs_single own;
    const int n = actuators_terms(rs, i, &term, &own);
    for (int k = 0; k < n; k++) {
      others += i != u && term[k].joint == j;
      before += i < u && term[k].joint == j;
    }
  }
  const double bound = fmax(fabs(joint->force[0]), fabs(joint->force[1]));
  if (before > 0) return fmin(most, bound); /* it has been said */
  if (others > 0)
    perp_robot_lost(rs->robot,
                    "force range [%.4g, %.4g] of joint %s: it bounds the sum of its %d actuators, "
                    "here the force of each one",
                    joint->force[0], joint->force[1], perp_rs_joint_name(rs, j), others + 1);
  else if (joint->force[0] != -joint->force[1])
    perp_robot_lost(rs->robot,
                    "force range [%.4g, %.4g] of joint %s: the larger bound is used for both signs",
                    joint->force[0], joint->force[1], perp_rs_joint_name(rs, j));
  return fmin(most, bound);
}

static void actuators_lost(perp_rs *rs, int u, const char *unfit)
{
  const perp_robot_actuator *actuator = &rs->robot->actuator[u];
  const char *of = actuator->at == PERP_ROBOT_AT_JOINT && actuator->target >= 0
                       ? perp_rs_joint_name(rs, actuator->target)
                       : actuator->whose;
  perp_robot_lost(rs->robot, "actuator %s: no force from it; in %s it drives %s%s%s",
                  perp_rs_actuator_name(rs, u),
                  strcmp(rs->robot->format, "MJCF") == 0 ? "MuJoCo" : "the file", unfit,
                  of[0] != '\0' ? " " : "", of);
}

/* A force that does not follow the motion: by the sign of the velocity that it never reaches. */
static void actuators_motor(perp_rs *rs, int u, double G, double most)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_actuator *actuator = &robot->actuator[u];
  const double g = actuator->gain, b = actuator->bias[0];
  if (rs->control[u] == NULL) {
    const double f = G * (g * actuators_clip(robot, u, actuator->ctrl) + b);
    perp_rs_number(rs, "velocity", f < 0 ? -actuators_fast : actuators_fast);
    perp_rs_number(rs, "max_force", fmin(fabs(f), most));
    return;
  }
  char a[40], c[40], bound[40];
  perp_format_real(G * g, a, sizeof a);
  perp_format_real(G * b, c, sizeof c);
  perp_format_real(most, bound, sizeof bound);
  fprintf(rs->out, ", velocity: \"if(%s * %s + (%s) < 0, -%g, %g)\"", a, rs->control[u], c,
          actuators_fast, actuators_fast);
  if (most < HUGE_VAL)
    fprintf(rs->out, ", max_force: \"min(abs(%s * %s + (%s)), %s)\"", a, rs->control[u], c, bound);
  else
    fprintf(rs->out, ", max_force: \"abs(%s * %s + (%s))\"", a, rs->control[u], c);
}

/* The drive on one joint, of which the length of the transmission has factor q + offset. */
static void actuators_drive(perp_rs *rs, int u, const char *name, const perp_rs_single *part,
                            bool first)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_actuator *actuator = &robot->actuator[u];
  const int joint = part->term.joint;
  const double G = rs->axis[joint].sign * actuator->gear * part->term.factor, g = actuator->gain,
               *b = actuator->bias, constant = b[0] + b[1] * actuator->gear * part->offset;
  const double stiffness = -b[1] * G * G, damping = -b[2] * G * G,
               most = actuators_most(rs, u, joint, G, first);
  perp_rs_drive_begin(rs, name, &rs->axis[joint], robot->joint[joint].q[0]);
  if (stiffness > 0) {
    perp_rs_number(rs, "stiffness", stiffness);
    actuators_value(rs, u, "target", G * g / stiffness, G * constant / stiffness);
  } else if (damping > 0)
    actuators_value(rs, u, "velocity", G * g / damping, G * constant / damping);
  if (damping > 0) perp_rs_number(rs, "damping", damping);
  if (stiffness > 0 || damping > 0)
    perp_rs_number(rs, "max_force", most);
  else
    actuators_motor(rs, u, G, most);
  fputs(" }\n", rs->out);
  rs->driven = true;
}

static void actuators_one(perp_rs *rs, int actuator)
{
  const char *name = perp_rs_actuator_name(rs, actuator), *unfit = actuators_unfit(rs, actuator);
  const perp_robot_term *term;
  perp_rs_single own;
  const int n = actuators_terms(rs, actuator, &term, &own);
  if (unfit != NULL) {
    actuators_lost(rs, actuator, unfit);
    return;
  }
  for (int i = 0; i < n; i++) {
    const perp_rs_single part = { term[i], own.offset };
    actuators_drive(rs, actuator,
                    n == 1 ? name
                           : perp_pool_printf(&rs->robot->pool, "%s, %s", name,
                                              perp_rs_joint_name(rs, term[i].joint)),
                    &part, i == 0);
  }
}

/* ---- controls ---- */

/* A name that an expression can use, unlike those before. */
static const char *actuators_control(perp_rs *rs, int actuator)
{
  static const char *const known[] = { "pi",   "sqrt", "sin", "cos",  "tan",   "asin",
                                       "acos", "atan", "exp", "log",  "abs",   "floor",
                                       "ceil", "mod",  "min", "max",  "if",    "atan2",
                                       "and",  "or",   "not", "true", "false", "filter" };
  perp_pool *pool = &rs->robot->pool;
  char *s = perp_pool_strdup(pool, perp_rs_actuator_name(rs, actuator));
  for (char *c = s; *c != '\0'; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
  bool bad = !isalpha((unsigned char)s[0]);
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) bad = bad || strcmp(s, known[k]) == 0;
  if (bad) s = perp_pool_printf(pool, "u_%s", s);
  for (int k = 0; k < actuator; k++)
    if (rs->control[k] != NULL && strcmp(rs->control[k], s) == 0) {
      s = perp_pool_printf(pool, "%s_%d", s, actuator);
      k = -1;
    }
  return s;
}

static bool actuators_filter = true;

void perp_robot_filter(bool filter)
{
  actuators_filter = filter;
}

void perp_rs_controls(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  rs->control = perp_pool_alloc(&rs->robot->pool, (size_t)robot->n_actuators + 1,
                                sizeof *rs->control);
  fprintf(rs->out,
          "parameters:\n  filter: { default: %s, help: Bodies that overlap as drawn do not collide "
          "with each other. }\n",
          actuators_filter ? "true" : "false");
  if (!(robot->acts & PERP_ROBOT_ACTUATORS) || robot->n_actuators == 0) return;
  if (robot->n_actuators > MOST_CONTROLS) {
    perp_robot_note(
        rs->robot,
        "%d actuators: their controls are constants, as a scene has at most %d parameters",
        robot->n_actuators, MOST_CONTROLS);
    return;
  }
  for (int u = 0; u < robot->n_actuators; u++) {
    const perp_robot_actuator *actuator = &robot->actuator[u];
    if (actuators_unfit(rs, u) != NULL) continue;
    rs->control[u] = actuators_control(rs, u);
    fprintf(rs->out, "  %s:", rs->control[u]);
    fputs(" { type: real", rs->out);
    perp_rs_number(rs, "default", actuators_clip(robot, u, actuator->ctrl));
    if (actuator->ctrl_limited && robot->acts & PERP_ROBOT_CLAMPS) {
      perp_rs_number(rs, "min", actuator->ctrl_range[0]);
      perp_rs_number(rs, "max", actuator->ctrl_range[1]);
    }
    fputs(", help: ", rs->out);
    perp_write_quoted(rs->out, perp_pool_printf(&rs->robot->pool, "Control of actuator %s.",
                                                perp_rs_actuator_name(rs, u)));
    fputs(" }\n", rs->out);
  }
}

void perp_rs_actuators(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  if (!(robot->acts & PERP_ROBOT_ACTUATORS) && robot->n_actuators > 0)
    perp_robot_note(rs->robot, "all actuators are disabled");
  for (int u = 0; u < robot->n_actuators && robot->acts & PERP_ROBOT_ACTUATORS; u++)
    actuators_one(rs, u);
}
