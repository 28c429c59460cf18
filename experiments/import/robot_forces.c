/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces that act from outside, and what the scene has not that nothing else speaks of. */
#include "experiments/import/robot_scene.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

static const double *forces_gravity(const perp_robot *robot)
{
  static const double none[3] = { 0 };
  return robot->acts & PERP_ROBOT_GRAVITY ? robot->gravity : none;
}

/* Gravity that is not along -z, as the scene has it. */
static void forces_weight(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  const double *g = forces_gravity(robot);
  if (g[0] == 0 && g[1] == 0 && g[2] <= 0) return;
  for (int body = 1; body < robot->n_bodies; body++) {
    double mass = 0, f[3];
    if (robot->body[body].root != body) continue;
    for (int b = body; b < robot->n_bodies; b++)
      if (robot->body[b].root == body) mass += robot->body[b].mass;
    for (int i = 0; i < 3; i++) f[i] = mass * g[i];
    fputs("  - { kind: point", rs->out);
    perp_rs_body(rs, "a", body);
    perp_rs_vector(rs, "value", 3, f);
    fputs(" }\n", rs->out);
  }
  perp_robot_note(
      rs->robot,
      "gravity (%g, %g, %g) m/s^2 is not along -z: a constant force on each body replaces it", g[0],
      g[1], g[2]);
}

/* Gravity compensation: a force against the weight of each body, at its centre of mass. */
static void forces_compensation(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  const double *g = forces_gravity(robot);
  int n = 0;
  if (!(robot->acts & (PERP_ROBOT_SPRINGS | PERP_ROBOT_DAMPERS))) return; /* a passive force, too */
  for (int b = 1; b < robot->n_bodies; b++) {
    const perp_robot_body *body = &robot->body[b];
    double f[3], p[3], s[3];
    if (body->gravcomp == 0 || body->root == 0 || !(body->mass > 0)) continue;
    for (int i = 0; i < 3; i++) f[i] = -body->gravcomp * body->mass * g[i];
    if (f[0] == 0 && f[1] == 0 && f[2] == 0) continue;
    perp_rs_world(rs, b, body->com, p);
    perp_rs_local(rs, b, true, p, s);
    if (body->root == b && memcmp(body->com, rs->com + 3 * b, sizeof body->com) == 0)
      memset(s, 0, sizeof s); /* exactly there */
    fputs("  - { kind: point", rs->out);
    perp_rs_body(rs, "a", b);
    perp_rs_vector(rs, "anchor_a", 3, s);
    perp_rs_vector(rs, "value", 3, f);
    fputs(" }\n", rs->out);
    n++;
  }
  if (n > 0) {
    rs->driven = true;
    perp_robot_note(rs->robot,
                    "gravity compensation of %d bod%s: a constant force at the centre of mass", n,
                    n > 1 ? "ies" : "y");
  }
}

/* Damping of a free joint brakes the point that is the origin of the body: a force through the
 * centre of mass where these are the same. */
static void forces_damping(perp_rs *rs, int joint)
{
  const perp_robot *robot = rs->robot;
  const int body = robot->joint[joint].body;
  const double c = robot->joint[joint].damping;
  if (c == 0 || !(robot->acts & PERP_ROBOT_DAMPERS)) return;
  if (sqrt(perp_dot(3, rs->com + 3 * body, rs->com + 3 * body)) > 1e-12) {
    perp_robot_lost(
        rs->robot,
        "damping %.4g of joint %s, a free body: a force at a point that is not the centre of mass",
        c, perp_rs_joint_name(rs, joint));
    return;
  }
  fputs("  - { kind: drag", rs->out);
  perp_rs_body(rs, "a", body);
  perp_rs_number(rs, "linear", c);
  perp_rs_number(rs, "angular", c);
  fputs(" }\n", rs->out);
  rs->dissipative = true;
}

/* The straight line between two sites, of different bodies or of one. */
static bool forces_is_line(const perp_robot *robot, int t, bool one)
{
  const perp_robot_tendon *tendon = &robot->tendon[t];
  return tendon->sites == 2 && tendon->joints == 0 && tendon->others == 0 &&
         (robot->body[tendon->body[0]].root == robot->body[tendon->body[1]].root) == one;
}

/* Its spring and its damper; false: it has none, or a spring of two lengths. */
static bool forces_has_spring(const perp_robot *robot, int t)
{
  const perp_robot_tendon *tendon = &robot->tendon[t];
  return forces_is_line(robot, t, false) &&
         ((tendon->stiffness > 0 && tendon->rest[0] == tendon->rest[1]) ||
          (tendon->stiffness == 0 && tendon->damping > 0));
}

static void forces_tendon(perp_rs *rs, int t)
{
  static const char *const bodies[] = { "a", "b" }, *const anchors[] = { "anchor_a", "anchor_b" };
  const perp_robot *robot = rs->robot;
  const perp_robot_tendon *tendon = &robot->tendon[t];
  const double k = robot->acts & PERP_ROBOT_SPRINGS ? tendon->stiffness : 0,
               c = robot->acts & PERP_ROBOT_DAMPERS ? tendon->damping : 0;
  double p[3], s[3];
  if (k == 0 && c == 0) return;
  fputs("  - { kind: spring", rs->out);
  for (int i = 0; i < 2; i++) {
    perp_rs_body(rs, bodies[i], tendon->body[i]);
    perp_rs_world(rs, tendon->body[i], tendon->point[i], p);
    perp_rs_local(rs, tendon->body[i], true, p, s);
    perp_rs_vector(rs, anchors[i], 3, s);
  }
  perp_rs_number(rs, "stiffness", k);
  perp_rs_number(rs, "length", k > 0 ? tendon->rest[0] : 0);
  perp_rs_number(rs, "damping", c);
  fputs(" }\n", rs->out);
  if (c > 0) rs->dissipative = true;
}

void perp_rs_forces(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  fputs("forces:\n", rs->out);
  forces_weight(rs);
  forces_compensation(rs);
  for (int joint = 0; joint < robot->n_joints; joint++)
    if (robot->joint[joint].kind == PERP_ROBOT_FREE) forces_damping(rs, joint);
  for (int tendon = 0; tendon < robot->n_tendons; tendon++)
    if (forces_has_spring(robot, tendon)) forces_tendon(rs, tendon);
}

/* ---- the rest ---- */

/* What a tendon does beyond what the scene has of it; "": nothing. */
static const char *rest_tendon(perp_rs *rs, int t)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_tendon *tendon = &robot->tendon[t];
  perp_pool *pool = &rs->robot->pool;
  const bool sprung = forces_has_spring(robot, t);
  const char *what = "";
  perp_rs_single single;
  if (perp_rs_tendon_single(rs, t, &single) || forces_is_line(robot, t, true)) return what;
  if (tendon->limited && robot->acts & PERP_ROBOT_LIMITS)
    what = perp_pool_printf(pool, "%s, limits of its length, [%.4g, %.4g] m", what,
                            tendon->range[0], tendon->range[1]);
  if (tendon->stiffness != 0 && robot->acts & PERP_ROBOT_SPRINGS && !sprung)
    what = perp_pool_printf(pool, "%s, a spring of %.4g N/m", what, tendon->stiffness);
  if (tendon->damping != 0 && robot->acts & PERP_ROBOT_DAMPERS && !sprung)
    what = perp_pool_printf(pool, "%s, a damper of %.4g Ns/m", what, tendon->damping);
  if (tendon->frictionloss != 0 && robot->acts & PERP_ROBOT_DRY)
    what = perp_pool_printf(pool, "%s, a dry friction of %.4g N", what, tendon->frictionloss);
  if (tendon->armature != 0)
    what = perp_pool_printf(pool, "%s, an inertia of %.4g kg", what, tendon->armature);
  return what;
}

static void rest_tendons(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  perp_pool *pool = &rs->robot->pool;
  for (int t = 0; t < robot->n_tendons; t++) {
    const perp_robot_tendon *tendon = &robot->tendon[t];
    const char *what = rest_tendon(rs, t), *name = perp_rs_name(rs, tendon->name, "tendon", t);
    const int n = tendon->joints > 0 ? tendon->joints : tendon->sites;
    if (what[0] == '\0') continue;
    perp_robot_lost(
        rs->robot, "tendon %s, %s: no force from it; in MuJoCo%s", name,
        perp_pool_printf(pool, "%d %s%s%s", n, tendon->joints > 0 ? "joint" : "site",
                         n != 1 ? "s" : "",
                         tendon->joints == 0 && tendon->others > 0 ? ", around geoms" : ""),
        what + 1);
  }
}

void perp_rs_rest(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  rest_tendons(rs);
  for (int body = 1; body < robot->n_bodies; body++)
    if (robot->body[body].mocap)
      perp_robot_note(rs->robot, "body %s is moved from outside (mocap): it is fixed here",
                      perp_rs_body_name(rs, body));
  if (robot->density != 0 || robot->viscosity != 0)
    perp_robot_lost(rs->robot,
                    "a medium of density %.4g kg/m^3 and viscosity %.4g: drag on all bodies",
                    robot->density, robot->viscosity);
}
