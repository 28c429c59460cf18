/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of a step and of its passes on positions at a state beside the start, unknowns and
 * active set held (velocity_derivative.c). */
#include "models/contact/step/velocity_derivative_residual.h"

#include "models/contact/step/islands_problem.h"

#include <stdlib.h>
#include <string.h>

static const double NEAR = 0.05;  /* of the smallest body: the same contact under another name */
static const double REACH = 0.05; /* of the smallest body: farther contacts are not asked for */

enum { ALL_FRICTION = -1 };

/* ---- one contact ---- */

/* g [nv] += scale J_c' y: what an impulse y on b at the contact does to both bodies. */
void perp_velocity_push(const perp_velocity_stage *stage, const perp_contact *contact, double scale,
                        const double y[3], double *g)
{
  const perp_model *model = stage->d->model;
  perp_contact_arms arm;
  perp_contact_arms_of(model->dim, &stage->eval, contact, &arm);
  for (int side = 0; side < 2; side++) {
    const int body = contact->body[side];
    if (body < 0) continue;
    const double by = side == 0 ? -scale : scale;
    double *gb = g + model->nvb * body, tau[3], turned[3];
    perp_cross(arm.r[side], y, tau);
    for (int i = 0; i < model->dim; i++) gb[i] += by * y[i];
    if (model->dim == 2) {
      gb[2] += by * tau[2];
      continue;
    }
    perp_turn_back(3, stage->eval.pose[body].R, tau, turned);
    for (int i = 0; i < 3; i++) gb[3 + i] += by * turned[i];
  }
}

/* u [3] at a contact of the velocities x [nv] */
void perp_velocity_slip(const perp_velocity_stage *stage, const perp_contact *x,
                        const double *velocities, double *twist, double u[3])
{
  for (int side = 0; side < 2; side++)
    if (x->body[side] >= 0)
      perp_twist(stage->d->model, &stage->eval, x->body[side], velocities, twist);
  perp_contact_velocity(stage->d->model->dim, &stage->eval, x, twist, u);
}

/* Directions of the tangent plane of n that were t at the start: unit where n is the same. */
static void derivative_residual_tangent(const double n[3], const double t[3], double out[3])
{
  const double along = perp_dot(3, n, t);
  for (int i = 0; i < 3; i++) out[i] = t[i] - along * n[i];
}

/* The bias of the normal row at the state at hand; un: n . u at the start. */
double perp_velocity_bias_at(const perp_velocity_stage *stage, const perp_velocity_contact *c,
                             const perp_contact *x, double un)
{
  const perp_contacts *all = stage->w->contacts;
  switch (c->bias) {
  case PERP_VELOCITY_GAP:
    return x->gap / stage->h;
  case PERP_VELOCITY_RESTITUTION:
    return c->at.e * un;
  case PERP_VELOCITY_SPRING:
    return c->alpha * x->gap;
  case PERP_VELOCITY_FEEDBACK:
    return -all->stab->contact(all->stab_ws, PERP_LEVEL_VELOCITY, stage->h, x->gap, 0);
  case PERP_VELOCITY_ZERO:
    break;
  }
  return 0;
}

/* What column j does to the coefficient of friction of a contact. */
static double derivative_residual_friction(const perp_velocity_stage *s, int j,
                                           const perp_velocity_contact *c)
{
  const perp_model *m = s->d->model;
  const int shape = s->d->wrt[j].index;
  double sum = 0;
  if (c->friction == PERP_VELOCITY_FREE || !perp_derivative_acts(s->d, j, PERP_GRADIENT_FRICTION))
    return 0;
  if (shape == ALL_FRICTION) return 1;
  if (c->at.shape[0] != shape && c->at.shape[1] != shape) return 0;
  const double mu = m->shape_def[shape].surface.mu, eps = 1e-3 * (mu > 0 ? mu : 1);
  for (int p = 0; p < PERP_DERIVATIVE_POINTS; p++) {
    perp_surface on[2] = { m->shape_def[c->at.shape[0]].surface,
                           m->shape_def[c->at.shape[1]].surface };
    for (int side = 0; side < 2; side++) {
      if (c->at.shape[side] != shape) continue;
      on[side].mu += eps * perp_derivative_at[p];
      on[side].mu_dynamic += eps * perp_derivative_at[p];
    }
    const perp_surface pair = perp_surface_pair(m, &on[0], &on[1]);
    sum += perp_derivative_weight[p] / eps * (c->dynamic ? pair.mu_dynamic : pair.mu);
  }
  return sum;
}

/* ---- geometry ---- */

static const perp_contact *derivative_residual_same(const perp_velocity_contact *contact,
                                                    const perp_contact *found, int n, double near)
{
  double at[3], best = near;
  const perp_contact *same = NULL;
  perp_contact_middle(&contact->at, at);
  for (int i = 0; i < n; i++) {
    double p[3], off = 0;
    if (found[i].id == contact->at.id) return &found[i];
    perp_contact_middle(&found[i], p);
    for (int k = 0; k < 3; k++) off += (p[k] - at[k]) * (p[k] - at[k]);
    if (!(sqrt(off) < best)) continue;
    best = sqrt(off);
    same = &found[i];
  }
  return same;
}

void perp_velocity_geometry(perp_velocity_stage *stage, int j)
{
  const perp_contacts *all = stage->w->contacts;
  const perp_pose *pose = stage->eval.pose;
  const double reach = fmax(all->detect.margin, 0) + all->o.tolerance + REACH * stage->d->length;
  perp_contact found[PERP_MANIFOLD_MAX];
  int n = 0;
  for (int i = 0; i < stage->n_contacts; i++) {
    const perp_velocity_contact *c = &stage->contact[i];
    const perp_contact *x = &c->at;
    if (i == 0 || perp_contact_pair(x->id) != perp_contact_pair(stage->contact[i - 1].at.id)) {
      const int a = perp_contact_shape_a(x->id), b = perp_contact_shape_b(x->id);
      n = perp_collide(stage->d->model, a, &pose[stage->d->model->shape_def[a].body], b,
                       &pose[stage->d->model->shape_def[b].body], reach, found);
    }
    const perp_contact *same = derivative_residual_same(c, found, n, NEAR * stage->d->length);
    stage->now[i] = same != NULL ? *same : *x;
    if (same != NULL) stage->now[i].gap -= all->o.tolerance;
    stage->features[j] |= same == NULL;
  }
}

/* ---- residuals ---- */

/* u_t / |u_t| to first order in its change, as slow sliding turns far within a difference. */
static void derivative_residual_direction(const perp_velocity_contact *contact,
                                          const double slide[3], double out[3])
{
  double unit[3], change[3];
  for (int k = 0; k < 3; k++) {
    unit[k] = contact->slide[k] / contact->speed;
    change[k] = (slide[k] - contact->slide[k]) / contact->speed;
  }
  const double along = perp_dot(3, unit, change);
  for (int k = 0; k < 3; k++) out[k] = unit[k] + change[k] - along * unit[k];
}

static void derivative_residual_contact(perp_velocity_stage *stage, int i, int j, double eps,
                                        const double *v, double *r1, double *r3)
{
  const perp_velocity_contact *c = &stage->contact[i];
  const perp_contact *x = &stage->now[i];
  double u[3], before[3] = { 0 }, t[3], slide[3], against[3] = { 0 }, *r = r3 + c->row;
  perp_velocity_push(stage, x, -1, c->P, r1);
  perp_velocity_slip(stage, x, stage->x, stage->twist, u);
  if (c->bias == PERP_VELOCITY_RESTITUTION)
    perp_velocity_slip(stage, x, v, stage->twist_before, before);
  const double un = perp_dot(3, x->n, u), pn = perp_dot(3, x->n, c->P);
  r[0] = un + c->soft * pn + perp_velocity_bias_at(stage, c, x, perp_dot(3, x->n, before));
  const double mu = c->mu + eps * derivative_residual_friction(stage, j, c);
  for (int k = 0; k < 3; k++) slide[k] = u[k] - un * x->n[k];
  if (c->friction == PERP_VELOCITY_SLIDES) derivative_residual_direction(c, slide, against);
  for (int k = 1; k < stage->d->model->dim; k++) {
    derivative_residual_tangent(x->n, c->t[k - 1], t);
    r[k] = c->friction == PERP_VELOCITY_STICKS
               ? perp_dot(3, t, u)
               : perp_dot(3, t, c->P) + mu * pn * perp_dot(3, t, against);
  }
}

/* J of the row of a drive at eval, and its bias. */
double perp_velocity_drive_at(perp_velocity_stage *stage, const perp_velocity_drive *drive,
                              const perp_model *model, const double *v, perp_island_row *row)
{
  const int i = drive->drive;
  const perp_drive_def *def = &model->drive_def[i];
  *row = (perp_island_row){ .body = { model->drive[i].a, model->drive[i].b } };
  const double x = perp_drive_row(model, &stage->eval, i, row->J[0], row->J[1]);
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < model->nvb; k++) row->J[side][k] *= drive->sign;
  if (drive->side == DRIVES_MOTOR) {
    const double k = def->stiffness, damping = def->damping;
    double velocity;
    const double error = perp_drive_error(model, &stage->eval, i, x, stage->t + stage->h,
                                          &velocity);
    if (!(k > 0 || damping > 0)) return -velocity;
    return (k * error - damping * velocity) /
           (stage->w->drives->symplectic ? damping : stage->h * k + damping);
  }
  const double gap = drive->side == DRIVES_LOWER ? x - def->lower : def->upper - x;
  switch (drive->bias) {
  case PERP_VELOCITY_GAP:
    return gap / stage->h;
  case PERP_VELOCITY_FEEDBACK:
    return DRIVES_GIVE_BACK * gap / stage->h;
  case PERP_VELOCITY_RESTITUTION:
    return def->restitution * perp_island_row_product(model, row, v);
  default:
    return 0;
  }
}

void perp_velocity_rows_residual(perp_velocity_stage *stage, const perp_model *model, int j,
                                 double eps, const double *v, double *r1, double *r3, double *r4)
{
  perp_island_row row;
  double u[3], before[3] = { 0 };
  for (int i = 0; i < stage->n_contacts; i++)
    if (stage->contact[i].row >= 0) derivative_residual_contact(stage, i, j, eps, v, r1, r3);
  for (int i = 0; i < stage->n_drives; i++) {
    const perp_velocity_drive *drive = &stage->drive[i];
    const double bias = perp_velocity_drive_at(stage, drive, model, v, &row);
    perp_island_row_apply(model, &row, -drive->lambda, r1);
    if (drive->row >= 0)
      r3[drive->row] = perp_island_row_product(model, &row, stage->x) +
                       drive->soft * drive->lambda + bias;
  }
  for (int i = 0; i < stage->n_margins; i++) {
    const perp_velocity_margin *at = &stage->margin[i];
    if (at->drive >= 0) {
      const perp_velocity_drive *drive = &stage->drive[at->drive];
      if (at->row.cause != PERP_GRADIENT_TOUCHES) continue;
      const double bias = perp_velocity_drive_at(stage, drive, model, v, &row);
      r4[i] = perp_island_row_product(model, &row, stage->x) + bias;
      continue;
    }
    const perp_velocity_contact *c = &stage->contact[at->contact];
    const perp_contact *x = &stage->now[at->contact];
    if (at->row.cause == PERP_GRADIENT_AT_GAP) r4[i] = x->gap;
    if (at->row.cause == PERP_GRADIENT_TOUCHES) {
      perp_velocity_slip(stage, x, stage->x, stage->twist, u);
      if (c->bias == PERP_VELOCITY_RESTITUTION)
        perp_velocity_slip(stage, x, v, stage->twist_before, before);
      r4[i] = perp_dot(3, x->n, u) + perp_velocity_bias_at(stage, c, x, perp_dot(3, x->n, before));
    }
    if (at->row.cause != PERP_GRADIENT_STICKS) continue;
    const double pn = perp_dot(3, x->n, c->P), all = perp_dot(3, c->P, c->P);
    r4[i] = (c->mu + eps * derivative_residual_friction(stage, j, c)) * pn -
            sqrt(fmax(all - pn * pn, 0));
  }
}
