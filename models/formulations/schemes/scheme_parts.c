/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts that steps are made of. */
#include "models/formulations/schemes/scheme.h"

#include <string.h>

void perp_scheme_forces(perp_scheme *s, double t, double h)
{
  const perp_model *model = s->model;
  perp_eval_impulse(&s->e, model, t, h, s->v1, s->f);
  perp_gyro_implicit(model, h, s->v1, s->f);
  perp_blocks_Minv(&s->e.blocks, s->f, s->v1);
}

void perp_scheme_move(perp_scheme *s, double h, const double *u)
{
  const perp_model *model = s->model;
  for (int i = 0; i < s->n_contacts; i++) {
    perp_scheme_row *row = &s->row[s->contact[i].row];
    row->C += h * perp_scheme_speed(s, row, u);
  }
  for (int i = 0; i < model->nv; i++) s->f[i] = h * u[i];
  perp_model_retract(model, s->q1, s->f, s->moved);
  memcpy(s->q1, s->moved, (size_t)model->nq * sizeof *s->q1);
}

void perp_scheme_bias(perp_scheme *s, double h, perp_scheme_feedback *feedback, bool bounce)
{
  for (int i = 0; i < s->n; i++) {
    perp_scheme_row *row = &s->row[i];
    row->bias = row->given;
    row->soft = row->own;
    if (row->kind == PERP_SCHEME_OWN || row->kind == PERP_SCHEME_TANGENT) continue;
    const bool one_sided = row->kind != PERP_SCHEME_JOINT;
    if (one_sided && row->C > 0)
      row->bias += row->C / h;
    else if (feedback != NULL)
      row->bias += feedback(s, row, h);
    if (bounce && one_sided && row->e > 0 && row->approach < -s->o.threshold &&
        row->C + h * perp_scheme_speed(s, row, s->v1) <= 0)
      row->bias = row->e * row->approach;
  }
}

void perp_scheme_warm(perp_scheme *s, double *v)
{
  for (int i = 0; i < s->n; i++)
    if (s->row[i].p != 0) perp_scheme_push(s, &s->row[i], s->row[i].p, v);
}

static void scheme_solve(const perp_scheme *s, perp_scheme_row *row, double *v)
{
  const double A = row->A + row->soft;
  if (!(A > 0)) return;
  const double w = perp_scheme_speed(s, row, v) + row->soft * row->p + row->bias;
  const double p = fmin(fmax(row->p - w / A, row->lo), row->hi);
  perp_scheme_push(s, row, p - row->p, v);
  row->p = p;
}

/* M^-1-weighted product of two rows of one contact */
static double scheme_between(const perp_scheme *s, const perp_scheme_row *x,
                             const perp_scheme_row *y)
{
  double sum = 0;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < s->model->nvb && x->body[side] >= 0; i++)
      sum += x->J[side][i] * y->W[side][i];
  return sum;
}

/* What sticks is solved for exactly, both tangents at once.  What would leave the disk slides: a
 * step p - w / a with one number a >= A for both, back onto the disk, has the fixed point p
 * against w; that of the exact step scaled would be A^-1 w, askew where bodies turn. */
static void scheme_friction(const perp_scheme *s, perp_scheme_contact *c, double *v)
{
  const bool plane = s->model->dim == 2;
  perp_scheme_row *x = &s->row[c->row + 1], *y = plane ? NULL : x + 1;
  const double bound = c->mu * s->row[c->row].p, wx = perp_scheme_speed(s, x, v) + x->bias;
  double p[2] = { x->p, plane ? 0 : y->p }, d[2] = { 0, 0 }, wy = 0, most = x->A;
  if (plane) {
    if (x->A > 0) d[0] = -wx / x->A;
  } else {
    const double off = scheme_between(s, x, y), det = x->A * y->A - off * off;
    wy = perp_scheme_speed(s, y, v) + y->bias;
    most = 0.5 * (x->A + y->A) + hypot(0.5 * (x->A - y->A), off);
    if (det > 1e-12 * x->A * y->A) {
      d[0] = (off * wy - y->A * wx) / det;
      d[1] = (off * wx - x->A * wy) / det;
    }
  }
  c->slides = hypot(p[0] + d[0], p[1] + d[1]) > bound;
  if (c->slides && most > 0) d[0] = -wx / most, d[1] = -wy / most;
  for (int k = 0; k < 2; k++) p[k] += d[k];
  const double size = hypot(p[0], p[1]);
  if (size > bound) p[0] *= bound / size, p[1] *= bound / size;
  perp_scheme_push(s, x, p[0] - x->p, v);
  x->p = p[0];
  if (plane) return;
  perp_scheme_push(s, y, p[1] - y->p, v);
  y->p = p[1];
}

/* Contacts of one pair of shapes follow each other: where those of contact i end. */
static int scheme_manifold(const perp_scheme *s, int i)
{
  const uint64_t pair = perp_contact_pair(s->found[i].id);
  do i++;
  while (i < s->n_contacts && perp_contact_pair(s->found[i].id) == pair);
  return i;
}

void perp_scheme_sweep(perp_scheme *s, double *v)
{
  for (int i = 0; i < s->contacts; i++) scheme_solve(s, &s->row[i], v);
  for (int i = 0, end; i < s->n_contacts; i = end) {
    end = scheme_manifold(s, i);
    for (int k = i; k < end; k++) scheme_solve(s, &s->row[s->contact[k].row], v);
    for (int k = i; k < end; k++) scheme_friction(s, &s->contact[k], v);
  }
  if (s->n > 0) s->count.iterations++;
}

void perp_scheme_bounce(perp_scheme *s, double *v)
{
  for (int i = 0; i < s->n; i++) {
    perp_scheme_row *row = &s->row[i];
    if (row->kind != PERP_SCHEME_LIMIT && row->kind != PERP_SCHEME_NORMAL) continue;
    if (!(row->e > 0) || !(row->approach < -s->o.threshold) || !(row->total > 0)) continue;
    const double p = fmax(-(perp_scheme_speed(s, row, v) + row->e * row->approach) / row->A,
                          -row->total);
    perp_scheme_push(s, row, p, v);
    row->total += p;
    row->p = fmax(0, row->p + p);
  }
}

void perp_scheme_sum(perp_scheme *s)
{
  for (int i = 0; i < s->n; i++) s->row[i].total += s->row[i].p;
}

void perp_scheme_counted(perp_scheme *s)
{
  if (s->n == 0) return;
  s->count.problems++;
  s->count.swept++;
}
