/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a part of a step ends: a gap that closes, friction that is no longer enough. */
#include "models/formulations/velocity/midpoint.h"

#include <string.h>

static const double SAME = 1e-6; /* of a part: times of sliding that are one */
static const double FULL = 1e-9; /* of friction */

/* ---- gaps ---- */

/* gap at the end of the part */
static double midpoint_gap(const perp_midpoint *s, const perp_midpoint_closing *c)
{
  const perp_model *model = s->step.k.model;
  const perp_pose *pose = s->pose + 1;
  perp_contact list[PERP_MANIFOLD_MAX];
  const perp_contact *x = &c->contact;
  double u[3];
  const int n = perp_collide(model, x->shape[0], &pose[x->body[0]], x->shape[1], &pose[x->body[1]],
                             x->gap + s->slop + model->size, list);
  for (int i = 0; i < n; i++)
    if (list[i].id == x->id) return list[i].gap;
  perp_midpoint_velocity(model, pose, x, s->step.v1, u);
  return x->gap + s->h / 2 * (c->speed + perp_dot(3, x->n, u));
}

/* g0 + u t + b t^2 with g1 at h: its first zero, HUGE_VAL where there is none */
static double midpoint_zero(double g0, double u, double g1, double h)
{
  const double b = (g1 - g0 - u * h) / (h * h), root = u * u - 4 * b * g0;
  if (root < 0) return HUGE_VAL;
  const double q = -u + sqrt(root); /* the zero that is nearer: 2 g0 / q */
  return q > 0 ? 2 * g0 / q : HUGE_VAL;
}

/* ---- friction ---- */

/* When is friction used up, of a pair of shapes that sticks with contacts first ... end - 1?  The
 * part of it that is used is known in the middle of this part and of the one before, as the mean
 * over a part is that in its middle to second order; where this part has slid, from the two before.
 */
static double midpoint_slides(const perp_midpoint *s, int first, int end, double used)
{
  const perp_midpoint_memory *m = NULL;
  for (int i = first; i < end; i++) {
    if (!s->kept[i] || !(perp_dot(3, s->impulse + 3 * (size_t)i, s->contact[i].n) > 0)) continue;
    m = s->known[i];
    if (m == NULL || m->slides || s->contact[i].mu == s->contact[i].mu_dynamic) return HUGE_VAL;
  }
  if (m == NULL) return HUGE_VAL;
  if (used >= 1 - FULL)
    return m->h > 0 && m->rate > 0 ? fmax(0, (1 - m->used) / m->rate - m->h / 2) : 0;
  const double rate = perp_midpoint_rate(s, m, used);
  return rate > 0 ? fmax(0, s->h / 2 + (1 - used) / rate) : HUGE_VAL;
}

/* ---- both ---- */

double perp_midpoint_event(perp_midpoint *s, double most, bool *settled, int *slips)
{
  const perp_model *model = s->step.k.model;
  double first = HUGE_VAL;
  *settled = false;
  *slips = -1;
  if (s->islands == NULL) return first;
  for (int b = 0; b < model->n_bodies && s->n_closing > 0; b++)
    perp_pose_of(model->dim, s->step.q1 + (size_t)model->nqb * (size_t)b, &s->pose[b + 1]);
  for (int i = 0; i < s->n_closing; i++) {
    const perp_midpoint_closing *c = &s->closing[i];
    const double t = midpoint_zero(c->contact.gap, c->speed, midpoint_gap(s, c), s->h);
    if (t > fmin(most, 2 * s->h) || t >= first) continue;
    first = t;
    *settled = fabs(t - s->h) * fmax(fabs(c->speed), s->o.threshold) <= s->slop;
  }
  for (int i = 0, end; i < s->n; i = end) {
    double used;
    end = perp_midpoint_pair(s, i, &used);
    const double t = midpoint_slides(s, i, end, used);
    if (t > fmin(most, 2 * s->h) || t >= first) continue;
    first = t;
    *settled = fabs(t - s->h) <= SAME * most;
    *slips = i;
  }
  return first;
}

int perp_midpoint_reversals(perp_midpoint *s)
{
  int found = 0;
  for (int i = 0; i < s->n; i++) {
    const perp_contact *x = &s->contact[i];
    perp_midpoint_memory *m = s->known[i];
    double u[3], left, change[3], before = 0;
    if (!s->kept[i] || m == NULL || !m->slides || m->back || x->mu == x->mu_dynamic) continue;
    if (!(perp_dot(3, s->impulse + 3 * (size_t)i, x->n) > 0)) continue;
    const double speed = perp_midpoint_sliding(s, i, u, &left);
    if (!(speed > left)) continue;
    /* along the sliding at the end: that at the start differs from it by what v1 - v makes */
    for (int j = 0; j < s->step.k.model->nv; j++) s->move[j] = s->step.v[j] - s->step.v1[j];
    perp_midpoint_velocity(s->step.k.model, s->step.k.e->pose, x, s->move, change);
    for (int j = 0; j < 3; j++) before += u[j] * (u[j] + change[j]) / speed;
    if (!(before < -left)) continue;
    m->slides = 0;
    m->back = 1;
    m->h = 0;
    found++;
  }
  return found;
}
