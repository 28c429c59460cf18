/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sections of a scene are written with: names, numbers, places. */
#include "experiments/base/json.h"
#include "experiments/import/robot_scene.h"
#include "models/geometry/kinematics.h"
#include "solvers/core/core.h"

#include <string.h>

const char *perp_rs_name(perp_rs *rs, const char *name, const char *kind, int number)
{
  if (name[0] == '\0') return perp_pool_printf(&rs->robot->pool, "%s %d", kind, number);
  char *s = perp_pool_strdup(&rs->robot->pool, name);
  for (char *c = s; *c != '\0'; c++) /* braces hold expressions in a scene */
    if (*c == '{' || *c == '}' || (unsigned char)*c < ' ') *c = '_';
  return s;
}

const char *perp_rs_body_name(perp_rs *rs, int body)
{
  return perp_rs_name(rs, rs->robot->body[body].name, "body", body);
}

const char *perp_rs_joint_name(perp_rs *rs, int joint)
{
  return perp_rs_name(rs, rs->robot->joint[joint].name, "joint", joint);
}

const char *perp_rs_actuator_name(perp_rs *rs, int actuator)
{
  return perp_rs_name(rs, rs->robot->actuator[actuator].name, "actuator", actuator);
}

const char *perp_rs_fresh(perp_rs *rs, perp_names *names, const char *name)
{
  const char *at = name;
  if (strspn(at, "0123456789") == strlen(at) || strcmp(at, "world") == 0)
    at = perp_pool_printf(&rs->robot->pool, "b_%s", at);
  for (int before = names->n; perp_names_index(&rs->robot->pool, names, at, -1) < before;)
    at = perp_pool_printf(&rs->robot->pool, "%s_", at);
  return at;
}

void perp_rs_digits(perp_rs *rs, double v)
{
  char text[40];
  perp_format_real(v, text, sizeof text);
  fputs(text, rs->out);
}

void perp_rs_vector(perp_rs *rs, const char *key, int n, const double *v)
{
  fprintf(rs->out, ", %s: [", key);
  for (int i = 0; i < n; i++) {
    if (i > 0) fputs(", ", rs->out);
    perp_rs_digits(rs, v[i]);
  }
  fputs("]", rs->out);
}

void perp_rs_number(perp_rs *rs, const char *key, double v)
{
  fprintf(rs->out, ", %s: ", key);
  perp_rs_digits(rs, v);
}

void perp_rs_body(perp_rs *rs, const char *key, int body)
{
  const int root = rs->robot->body[body].root;
  fprintf(rs->out, ", %s: ", key);
  if (root == 0)
    fputs("world", rs->out);
  else
    perp_write_quoted(rs->out, rs->body[root]);
}

void perp_rs_local(const perp_rs *rs, int body, bool place, const double p[3], double s[3])
{
  const int r = rs->robot->body[body].root;
  const perp_robot_body *root = &rs->robot->body[r];
  double d[3];
  memcpy(s, p, 3 * sizeof *s);
  if (r == 0) return;
  for (int i = 0; i < 3; i++) d[i] = p[i] - (place ? root->at[i] : 0);
  for (int i = 0; i < 3; i++) s[i] = perp_dot(3, root->R + 3 * i, d);
  for (int i = 0; i < 3 && place; i++) s[i] -= rs->com[3 * r + i];
}

void perp_rs_world(const perp_rs *rs, int body, const double s[3], double p[3])
{
  const perp_robot_body *of = &rs->robot->body[body];
  for (int i = 0; i < 3; i++)
    p[i] = of->at[i] + (of->R[i] * s[0] + of->R[i + 3] * s[1] + of->R[i + 6] * s[2]);
}
