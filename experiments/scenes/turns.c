/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orientations as turns, and rates of turning: in space, in the plane, of a section of space. */
#include "experiments/scenes/parts.h"

#include "models/kinematics/kinematics.h"

#include <math.h>
#include <string.h>

struct turn {
  double axis[3], angle;
};
static const perp_key turn_keys[] = { PERP_KEY_REALS(struct turn, axis, "axis", "", 3),
                                      PERP_KEY_REAL(struct turn, angle, "angle", "rad"),
                                      PERP_KEYS_END };

/* The rotation by an angle about an axis, after the one of quat; of a section, its angle. */
static bool turns_once(perp_scene_reader *r, const perp_node *node, double quat[4], double *angle)
{
  struct turn t = { 0 };
  const bool section = r->section;
  r->section = false; /* the axis is one of space */
  const bool good = perp_keys_read(r, node, "turn", turn_keys, &t);
  r->section = section;
  if (!good) return false;
  const double length = sqrt(perp_dot(3, t.axis, t.axis));
  if (!(length > 0)) {
    PERP_SCENE_WRONG(r, node, "turn needs an axis that is not zero");
    return false;
  }
  if (section && t.angle != 0 && (t.axis[0] != 0 || t.axis[2] != 0)) {
    perp_diag_error(r->diag, node, 0, "axis: [0, 1, 0]", "a section (dim: 2) turns about y only");
    return false;
  }
  if (section) *angle -= t.angle * t.axis[1] / length;
  double by[4] = { cos(t.angle / 2) }, q[4];
  for (int i = 0; i < 3; i++) by[1 + i] = sin(t.angle / 2) * t.axis[i] / length;
  memcpy(q, quat, sizeof q);
  quat[0] = by[0] * q[0] - by[1] * q[1] - by[2] * q[2] - by[3] * q[3];
  quat[1] = by[0] * q[1] + by[1] * q[0] + by[2] * q[3] - by[3] * q[2];
  quat[2] = by[0] * q[2] - by[1] * q[3] + by[2] * q[0] + by[3] * q[1];
  quat[3] = by[0] * q[3] + by[1] * q[2] - by[2] * q[1] + by[3] * q[0];
  return true;
}

bool perp_scene_read_turn(perp_scene_reader *r, const perp_node *node, double quat[4],
                          double *angle)
{
  const bool list = node->type == PERP_NODE_LIST;
  double q[4] = { 1, 0, 0, 0 };
  for (int i = 0; i < (list ? node->n : 1); i++)
    if (!turns_once(r, list ? node->item[i] : node, q, angle)) return false;
  if (r->dim == 3) memcpy(quat, q, sizeof q);
  return true;
}

/* The rate of turning: a vector of the body, in the plane a number, of a section minus that about y. */
bool perp_scene_read_rate(perp_scene_reader *r, const perp_node *node, double w[3])
{
  double x[3];
  if (r->dim == 2 && !(r->section && node->type == PERP_NODE_LIST))
    return perp_values_number(&r->values, node, "rad/s", &w[2]);
  if (!perp_keys_vector(r, node, "rad/s", 3, 0, x)) return false;
  if (r->dim == 3)
    memcpy(w, x, sizeof x);
  else
    w[2] = 0 - x[1];
  return true;
}
