/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies: those that no joint lets move relative to each other are one. */
#include "experiments/base/json.h"
#include "experiments/import/robot_scene.h"
#include "models/geometry/kinematics.h"

#include <string.h>

/* I += R inertia R' + mass (|s|^2 - s s'), column-major. */
static void bodies_add_inertia(double I[9], const double R[9], const double inertia[9], double mass,
                               const double s[3])
{
  const double s2 = perp_dot(3, s, s);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j <= i; j++) {
      double sum = mass * ((i == j ? s2 : 0) - s[i] * s[j]);
      for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) sum += R[i + 3 * k] * inertia[k + 3 * l] * R[j + 3 * l];
      I[i + 3 * j] += sum;
      if (i != j) I[j + 3 * i] += sum;
    }
}

/* Centre of mass and orientation of body b in the frame of its root r. */
static void bodies_inertial(const perp_robot *robot, int b, int r, double s[3], double R[9])
{
  static const double identity[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
  const perp_robot_body *body = &robot->body[b], *root = &robot->body[r];
  if (b == r) { /* to the last digit */
    memcpy(s, body->com, 3 * sizeof *s);
    memcpy(R, identity, sizeof identity);
    return;
  }
  double d[3];
  for (int i = 0; i < 3; i++)
    d[i] = body->at[i] - root->at[i] +
           (body->R[i] * body->com[0] + body->R[i + 3] * body->com[1] +
            body->R[i + 6] * body->com[2]);
  for (int i = 0; i < 3; i++) {
    s[i] = perp_dot(3, root->R + 3 * i, d);
    for (int k = 0; k < 3; k++) R[i + 3 * k] = perp_dot(3, root->R + 3 * i, body->R + 3 * k);
  }
}

static void bodies_one(perp_rs *rs, int r)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_body *root = &robot->body[r];
  double mass = 0, *com = rs->com + 3 * r, I[9] = { 0 }, s[3], R[9], place[3], arm[3], turned[3],
         v[3], w[3];
  for (int body = r; body < robot->n_bodies; body++)
    if (robot->body[body].root == r) {
      bodies_inertial(robot, body, r, s, R);
      mass += robot->body[body].mass;
      for (int i = 0; i < 3; i++) com[i] += robot->body[body].mass * s[i];
    }
  if (!(mass > 0)) {
    perp_robot_refuse(rs->robot, root->file, root->line, "add an <inertial>, or a geom with a mass",
                      "body '%s' can move but has no mass", rs->body[r]);
    return;
  }
  for (int i = 0; i < 3; i++) com[i] /= mass;
  if (mass == root->mass) memcpy(com, root->com, 3 * sizeof *com);
  for (int body = r; body < robot->n_bodies; body++)
    if (robot->body[body].root == r) {
      bodies_inertial(robot, body, r, s, R);
      for (int i = 0; i < 3; i++) s[i] -= com[i];
      bodies_add_inertia(I, R, robot->body[body].inertia, robot->body[body].mass, s);
    }
  perp_rs_world(rs, r, com, place);
  for (int i = 0; i < 3; i++) arm[i] = place[i] - root->at[i];
  fputs("  - { name: ", rs->out);
  perp_write_quoted(rs->out, rs->body[r]);
  perp_rs_number(rs, "mass", mass);
  perp_rs_vector(rs, "inertia", 9, I);
  perp_rs_vector(rs, "x", 3, place);
  perp_rs_vector(rs, "quat", 4, root->turn);
  perp_cross(root->turning, arm, turned);
  for (int i = 0; i < 3; i++) {
    v[i] = root->velocity[i] + turned[i];
    w[i] = perp_dot(3, root->R + 3 * i, root->turning);
  }
  if (v[0] != 0 || v[1] != 0 || v[2] != 0) perp_rs_vector(rs, "v", 3, v);
  if (w[0] != 0 || w[1] != 0 || w[2] != 0) perp_rs_vector(rs, "w", 3, w);
  fputs(" }\n", rs->out);
}

void perp_rs_bodies(perp_rs *rs)
{
  perp_robot *robot = rs->robot;
  const size_t n = (size_t)robot->n_bodies;
  int moving = 0;
  rs->body = perp_pool_alloc(&robot->pool, n, sizeof *rs->body);
  rs->com = perp_pool_alloc(&robot->pool, 3 * n, sizeof *rs->com);
  for (int body = 1; body < robot->n_bodies; body++) {
    if (robot->body[body].root != body) continue;
    rs->body[body] = perp_rs_fresh(rs, &rs->bodies, perp_rs_body_name(rs, body));
    moving++;
  }
  if (moving == 0) {
    const char *hint = strcmp(robot->format, "URDF") == 0
                           ? "perp import --floating lets the root link move; or add a joint"
                       : strcmp(robot->format, "SDF") == 0
                           ? "add a joint, or a link that neither is static nor fixed to the world"
                           : "add a <joint> or a <freejoint> to a body";
    perp_robot_refuse(robot, NULL, 0, hint, "no body of the file can move");
    return;
  }
  fputs("bodies:\n", rs->out);
  for (int b = 1; b < robot->n_bodies && !perp_robot_refused(robot); b++) {
    const int root = robot->body[b].root;
    if (root == b)
      bodies_one(rs, b);
    else
      perp_robot_note(robot, "body %s has no joint: it is a part of %s", perp_rs_body_name(rs, b),
                      root > 0 ? rs->body[root] : "the world");
  }
}
