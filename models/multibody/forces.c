/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Force elements: what they add to the generalized force f.
 *
 * A world force F at the point s of a body does the work F . pdot = F . (xdot + D w), so that it
 * adds (F, D' F), with D of models/geometry/kinematics.h; a world torque tau adds (0, R' tau), in
 * the plane (0, tau_z).
 *
 * Torque of a force and sums over forces: Vondrak 2005, eq. 5.7-5.9. */
#include "models/multibody/model_private.h"

static const char *const names[] = {
  [PERP_FORCE_POINT] = "point force", [PERP_FORCE_TORQUE] = "torque",
  [PERP_FORCE_SPRING] = "spring",     [PERP_FORCE_DRAG] = "drag",
  [PERP_FORCE_PAIRS] = "pairs",       [PERP_FORCE_PLUGIN] = "plug-in",
};

const char *perp_force_kind_name(perp_force_kind kind)
{
  return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

/* fb += sign (F, D' F), fb the force on the body; nothing for the world */
static void add_point_force(int d, const perp_pose *pose, const double *s, double sign,
                            const double *F, double *fb)
{
  double D[9];
  if (fb == NULL) return;
  perp_direction_jacobian(d, pose->R, s, D);
  for (int i = 0; i < d; i++) fb[i] += sign * F[i];
  for (int k = 0; k < perp_rates(d); k++) fb[d + k] += sign * perp_dot(d, F, D + d * k);
}

typedef struct line {
  double n[3]; /* from a to b; 0 when the points coincide */
  double length;
} line;

static line forces_line_of(int d, const perp_force_def *el, const perp_eval *eval)
{
  const perp_pose *A = &eval->pose[el->a], *B = &eval->pose[el->b];
  line l = { { 0 }, 0 };
  perp_between(d, A, el->anchor_a, B, el->anchor_b, l.n);
  l.length = sqrt(perp_dot(d, l.n, l.n));
  for (int i = 0; i < d; i++) l.n[i] = l.length > 0 ? l.n[i] / l.length : 0;
  return l;
}

static void point_velocity(int d, const perp_pose *pose, const double *s, const double *vb,
                           double *rate)
{
  for (int i = 0; i < d; i++) rate[i] = 0;
  if (vb == NULL) return;
  perp_direction_rate(d, pose->R, s, vb + d, rate);
  for (int i = 0; i < d; i++) rate[i] += vb[i];
}

static void forces_spring(int d, const perp_force_def *el, const perp_eval *eval, const double *va,
                          const double *vb, double *fa, double *fb)
{
  line l = forces_line_of(d, el, eval);
  double pa[3], pb[3], rate = 0, F[3];
  point_velocity(d, &eval->pose[el->a], el->anchor_a, va, pa);
  point_velocity(d, &eval->pose[el->b], el->anchor_b, vb, pb);
  for (int i = 0; i < d; i++) rate += l.n[i] * (pb[i] - pa[i]);
  double tension = el->stiffness * (l.length - el->length) + el->damping * rate;
  for (int i = 0; i < d; i++) F[i] = tension * l.n[i];
  add_point_force(d, &eval->pose[el->a], el->anchor_a, 1, F, fa);
  add_point_force(d, &eval->pose[el->b], el->anchor_b, -1, F, fb);
}

static void forces_value(const perp_model *model, const perp_force_def *el, double t, double x[3])
{
  for (int k = 0; k < 3; k++) x[k] = perp_model_value(model, el->value[k], el->value_signal[k], t);
}

void perp_force_one(const perp_model *model, const perp_eval *eval, const perp_force_def *el,
                    double t, const double *va, const double *vb, double *fa, double *fb)
{
  const int d = model->dim;
  double value[3];
  switch (el->kind) {
  case PERP_FORCE_POINT:
    forces_value(model, el, t, value);
    add_point_force(d, &eval->pose[el->a], el->anchor_a, 1, value, fa);
    break;
  case PERP_FORCE_TORQUE:
    forces_value(model, el, t, value);
    if (d == 3) {
      double tau[3];
      perp_turn_back(3, eval->pose[el->a].R, value, tau);
      for (int k = 0; k < 3; k++) fa[3 + k] += tau[k];
    } else {
      fa[2] += value[2];
    }
    break;
  case PERP_FORCE_SPRING:
    forces_spring(d, el, eval, va, vb, fa, fb);
    break;
  case PERP_FORCE_DRAG: {
    double c = el->linear + el->quadratic * sqrt(perp_dot(d, va, va));
    for (int k = 0; k < d; k++) fa[k] -= c * va[k];
    for (int k = 0; k < model->rates; k++) fa[d + k] -= el->angular * va[d + k];
    break;
  }
  case PERP_FORCE_PAIRS:
  case PERP_FORCE_PLUGIN:
    break;
  }
}

void perp_forces_add(const perp_model *model, const perp_eval *eval, double t, const double *v,
                     double *f)
{
  const int nvb = model->nvb;
  for (int force = 0; force < model->n_forces; force++) {
    const perp_force_def *el = &model->force_def[force];
    if (el->kind == PERP_FORCE_PAIRS)
      perp_pairs_add(model, eval, el, f);
    else if (el->kind == PERP_FORCE_PLUGIN)
      perp_force_plugin_add(model, eval, el, t, v, f);
    else
      perp_force_one(model, eval, el, t, el->a < 0 ? NULL : v + el->a * nvb,
                     el->b < 0 ? NULL : v + el->b * nvb, el->a < 0 ? NULL : f + el->a * nvb,
                     el->b < 0 ? NULL : f + el->b * nvb);
  }
}

double perp_forces_potential(const perp_model *model, const perp_eval *eval)
{
  double sum = 0;
  for (int force = 0; force < model->n_forces; force++) {
    const perp_force_def *el = &model->force_def[force];
    if (el->kind == PERP_FORCE_PAIRS) sum += perp_pairs_potential(model, eval, el);
    if (el->kind == PERP_FORCE_PLUGIN) sum += perp_force_plugin_potential(model, eval, el);
    if (el->kind != PERP_FORCE_SPRING) continue;
    double stretch = forces_line_of(model->dim, el, eval).length - el->length;
    sum += 0.5 * el->stiffness * stretch * stretch;
  }
  return sum;
}
