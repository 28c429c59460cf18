/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collisions of point-mass, without friction (van Overveld and Barenbrug 1995, section 2.5).
 *
 * The force lambda n at a contact, found at the start of the step, displaces its points by M lambda
 * n (van Overveld and Barenbrug 1995, eq. 21).  With d the displacement of b relative to a along n
 * in the step, u that rate before it,
 *
 *      lambda >= 0,    d >= -gap      one that closes: the points stop on the surface
 *
 *                      d >= -e h u    one that closes faster than the threshold, u < 0
 *
 *                      d >= -gap / 5  one that is too deep, no faster than 1 m/s
 *
 * (the second: van Overveld and Barenbrug 1995, eq. 25, with 1 + e),
 *
 * and d at its bound where lambda > 0 (van Overveld and Barenbrug 1995, eq. 24, has d = 0 there, as
 * its point is on the plane, or is taken to be).  Like the forces of links, lambda is found in the
 * sweeps, from that of the step before; e is that of the paper's (1 + gamma), with the velocity
 * before the step, so that a rebound makes no energy.  The time of an impact is off by up to h, as
 * the paper has it.
 *
 * A problem counts as solved when the sweeps of its step end by the tolerance. */
#include "models/contact/step/contacts.h"
#include "models/formulations/particles/point_mass.h"

#include <stdlib.h>
#include <string.h>

static const double GIVE_BACK = 0.2, PUSH = 1; /* of a depth in a step; m/s */

perp_status perp_point_mass_contacts_open(perp_ctx *ctx, workspace *work)
{
  const perp_model *model = work->model;
  if (!perp_model_collides(model)) return PERP_OK;
  for (int a = 0; a < model->n_shapes; a++)
    for (int b = 0; b < a; b++) {
      const perp_shape_def *x = &model->shape_def[a], *y = &model->shape_def[b];
      if (x->body == y->body || (x->group != 0 && x->group == y->group)) continue;
      const perp_surface surface = perp_surface_pair(model, &x->surface, &y->surface);
      if (surface.mu > 0)
        return PERP_FAIL(
            ctx, PERP_ERR_UNSUPPORTED,
            "formulation point-mass does not support friction (van Overveld and Barenbrug, section "
            "2.5): shapes %d and %d have mu = %g; set mu to 0, or use --formulation impulse",
            b, a, surface.mu);
    }
  perp_contacts_reach(model, work->reach);
  return perp_collision_create(ctx, model, 0, &work->collision);
}

void perp_point_mass_contacts_close(workspace *work)
{
  perp_collision_destroy(work->collision);
  for (int i = 0; i < 2; i++) free(work->contacts[i].x);
  free(work->shown);
  free(work->shown_impulse);
}

static perp_status point_mass_contacts_reserve(workspace *work, int n)
{
  if (n <= work->contact_cap) return PERP_OK;
  const size_t cap = (size_t)n + (size_t)n / 2 + 16;
  /* what is shown of the last step stays, and is read until the next call */
  for (int i = 0; i < 2; i++) {
    contact *x = realloc(work->contacts[i].x, cap * sizeof *x);
    if (x != NULL) work->contacts[i].x = x;
    if (x == NULL) return PERP_FAIL(work->ctx, PERP_ERR_NOMEM, "no memory for %d contacts", n);
  }
  perp_contact *shown = realloc(work->shown, cap * sizeof *shown);
  if (shown != NULL) work->shown = shown;
  double *impulse = realloc(work->shown_impulse, 3 * cap * sizeof *impulse);
  if (impulse != NULL) work->shown_impulse = impulse;
  if (shown == NULL || impulse == NULL)
    return PERP_FAIL(work->ctx, PERP_ERR_NOMEM, "no memory for %d contacts", n);
  work->contact_cap = (int)cap;
  return PERP_OK;
}

/* rate or displacement of b relative to a along the normal, in coordinates dx */
static double point_mass_contacts_along(const workspace *work, const contact *k,
                                        const coordinates *dx)
{
  double d = 0;
  for (int side = 0; side < 2; side++) {
    const int i = k->at.body[side];
    if (i < 0) continue;
    double p[3];
    for (int a = 0; a < 3; a++) {
      p[a] = dx[i].c[a];
      for (int j = 0; j < work->body[i].n; j++) p[a] += k->rho[side][j] * dx[i].B[a + 3 * j];
    }
    d += (side == 0 ? -1 : 1) * perp_dot(3, k->at.n, p);
  }
  return d;
}

/* d of x1 from x */
static double point_mass_contacts_displacement(workspace *work, const contact *k)
{
  coordinates *dx = work->moved;
  for (int side = 0; side < 2; side++) {
    const int i = k->at.body[side];
    for (int a = 0; i >= 0 && a < 12; a++) dx[i].all[a] = work->x1[i].all[a] - work->x[i].all[a];
  }
  return point_mass_contacts_along(work, k, dx);
}

/* lambda n displaces x1 */
static void point_mass_contacts_apply(workspace *work, const contact *k, double lambda,
                                      double scale)
{
  for (int side = 0; side < 2; side++) {
    const int i = k->at.body[side];
    const double sign = side == 0 ? -lambda : lambda;
    double F[3], torque[3];
    if (i < 0) continue;
    for (int a = 0; a < 3; a++) F[a] = sign * k->at.n[a];
    perp_cross(k->r[side], F, torque);
    perp_point_mass_move(work, i, F, torque, scale, &work->x1[i]);
  }
}

/* m/s: of the fastest point of the body at these rates */
static double point_mass_contacts_speed(const workspace *work, int i)
{
  double speed = sqrt(perp_dot(3, work->w[i].c, work->w[i].c));
  for (int j = 0; j < work->body[i].n; j++)
    speed += work->reach[i] *
             sqrt(perp_dot(3, work->w[i].B + 3 * j, work->w[i].B + 3 * j) / work->body[i].gamma[j]);
  return speed;
}

static void point_mass_contacts_prepare(workspace *work, contact *k)
{
  double p[3];
  k->K = 0;
  perp_contact_middle(&k->at, p);
  for (int side = 0; side < 2; side++) {
    const int i = k->at.body[side];
    double P[9], torque[3], turn[3], d[3];
    if (i < 0) continue;
    const body *b = &work->body[i];
    for (int a = 0; a < 3; a++) k->r[side][a] = p[a] - work->x[i].c[a];
    for (int j = 0; j < b->n; j++)
      k->rho[side][j] = perp_dot(3, work->x[i].B + 3 * j, k->r[side]) / b->gamma[j];
    frame(b, &work->x[i], P);
    perp_cross(k->r[side], k->at.n, torque);
    turn_by(b, P, torque, turn);
    perp_cross(turn, k->r[side], d);
    k->K += perp_dot(3, k->at.n, d) + 1 / b->mass;
  }
}

perp_status perp_point_mass_contacts_find(workspace *work, double h)
{
  if (work->collision == NULL) return PERP_OK;
  const perp_model *model = work->model;
  const contacts *last = &work->contacts[work->now];
  contacts *now = &work->contacts[1 - work->now];
  const perp_contact *found;
  int n;
  double first = 0, second = 0;
  for (int i = 0; i < model->n_bodies; i++) {
    const double speed = point_mass_contacts_speed(work, i);
    second = fmax(second, fmin(first, speed));
    first = fmax(first, speed);
  }
  const double margin = h * (first + second) +
                        2 * h * h * fabs(perp_model_gravity_at(model, work->grid.t)) +
                        1e-6 * model->size;
  if (!isfinite(margin)) return PERP_OK; /* the sweeps will say so */
  perp_collision_margin(work->collision, margin);
  const double start = work->timing ? perp_clock_wall() : 0;
  PERP_TRY(perp_collision_find(work->ctx, work->collision, work->e.pose, &found, &n));
  if (work->timing) work->collision_s += perp_clock_wall() - start;
  PERP_TRY(point_mass_contacts_reserve(work, n));
  now->n = n;
  for (int i = 0, j = 0; i < n; i++) {
    contact *k = &now->x[i];
    *k = (contact){ .at = found[i] };
    while (j < last->n && last->x[j].at.id < found[i].id) j++;
    if (j < last->n && last->x[j].at.id == found[i].id && !last->x[j].impact)
      k->lambda = last->x[j].lambda;
    point_mass_contacts_prepare(work, k);
  }
  work->now = 1 - work->now;
  return PERP_OK;
}

void perp_point_mass_contacts_push(workspace *work, double h, double scale)
{
  contacts *all = &work->contacts[work->now];
  work->pressed = work->impact = false;
  for (int i = 0; work->collision != NULL && i < all->n; i++) {
    contact *k = &all->x[i];
    const double u = point_mass_contacts_along(work, k, work->w),
                 ahead = point_mass_contacts_displacement(work, k);
    const double depth = fmin(-GIVE_BACK * k->at.gap, PUSH * h);
    k->bound = k->at.gap > 0 ? -k->at.gap : depth;
    k->impact = k->at.e > 0 && u < -work->o.threshold && k->at.gap + ahead <= 0;
    if (k->impact) k->bound = -k->at.e * h * u;
    work->impact |= k->impact;
  }
  for (int i = 0; work->collision != NULL && i < all->n; i++)
    point_mass_contacts_apply(work, &all->x[i], all->x[i].lambda, scale);
}

double perp_point_mass_contacts_sweep(workspace *work, double scale)
{
  contacts *all = &work->contacts[work->now];
  double worst = 0;
  for (int i = 0; work->collision != NULL && i < all->n; i++) {
    contact *k = &all->x[i];
    const double off = point_mass_contacts_displacement(work, k) - k->bound;
    const double lambda = fmax(0, k->lambda - off / (k->K * scale)), more = lambda - k->lambda;
    if (isnan(off)) return off;
    if (more == 0) continue;
    k->lambda = lambda;
    point_mass_contacts_apply(work, k, more, scale);
    worst = fmax(worst, fabs(more) * k->K * scale);
    work->pressed = true;
  }
  return worst / work->model->size;
}

void perp_point_mass_contacts_count(workspace *work, perp_reason reason, double left, int sweeps)
{
  const contacts *all = &work->contacts[work->now];
  bool any = work->pressed;
  for (int i = 0; i < all->n; i++) any |= all->x[i].lambda > 0;
  if (work->collision == NULL || !any) return;
  const perp_stats stats = { .reason = reason == PERP_CONVERGED ? reason : PERP_MAX_ITER,
                             .iterations = sweeps,
                             .residual = left };
  perp_contact_count_solve(&work->count, "sweeps", &stats);
  work->count.contacts = all->n > work->count.contacts ? all->n : work->count.contacts;
  work->count.rows = work->count.contacts;
}

void perp_point_mass_contacts_show(workspace *work, double h)
{
  const contacts *all = &work->contacts[work->now];
  work->n_shown = work->collision != NULL ? all->n : 0;
  for (int i = 0; i < work->n_shown; i++) {
    work->shown[i] = all->x[i].at;
    for (int a = 0; a < 3; a++)
      work->shown_impulse[3 * i + a] = h * all->x[i].lambda * all->x[i].at.n[a];
  }
}
