/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collisions of point-mass, without friction (van Overveld and Barenbrug 1995, section 2.5).
 *
 * The force lambda n at a contact, found at the start of the step, displaces its points by M lambda
 * n (van Overveld and Barenbrug 1995, eq. 21).  With d the displacement of b relative to a along n
 * in the step, u that rate before it,
 *
 *      lambda >= 0,    d >= -gap      one that closes: the points stop on the surface
 *                      d >= -e h u    one that closes faster than the threshold, u < 0: van
 * Overveld and Barenbrug 1995, eq. 25, with 1 + e d >= -gap / 5  one that is too deep, no faster
 * than 1 m/s
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

perp_status perp_point_mass_contacts_open(perp_ctx *ctx, workspace *w)
{
  const perp_model *m = w->model;
  if (!perp_model_collides(m)) return PERP_OK;
  for (int a = 0; a < m->n_shapes; a++)
    for (int b = 0; b < a; b++) {
      const perp_shape_def *x = &m->shape_def[a], *y = &m->shape_def[b];
      if (x->body == y->body || (x->group != 0 && x->group == y->group)) continue;
      const perp_surface s = perp_surface_pair(m, &x->surface, &y->surface);
      if (s.mu > 0)
        return PERP_FAIL(
            ctx, PERP_ERR_UNSUPPORTED,
            "formulation point-mass does not support friction (van Overveld and Barenbrug, section "
            "2.5): shapes %d and %d have mu = %g; set mu to 0, or use --formulation impulse",
            b, a, s.mu);
    }
  perp_contacts_reach(m, w->reach);
  return perp_collision_create(ctx, m, 0, &w->collision);
}

void perp_point_mass_contacts_close(workspace *w)
{
  perp_collision_destroy(w->collision);
  for (int i = 0; i < 2; i++) free(w->contacts[i].x);
  free(w->shown);
  free(w->shown_impulse);
}

static perp_status point_mass_contacts_reserve(workspace *w, int n)
{
  if (n <= w->contact_cap) return PERP_OK;
  const size_t cap = (size_t)n + (size_t)n / 2 + 16;
  /* what is shown of the last step stays, and is read until the next call */
  for (int i = 0; i < 2; i++) {
    contact *x = realloc(w->contacts[i].x, cap * sizeof *x);
    if (x != NULL) w->contacts[i].x = x;
    if (x == NULL) return PERP_FAIL(w->ctx, PERP_ERR_NOMEM, "no memory for %d contacts", n);
  }
  perp_contact *shown = realloc(w->shown, cap * sizeof *shown);
  if (shown != NULL) w->shown = shown;
  double *impulse = realloc(w->shown_impulse, 3 * cap * sizeof *impulse);
  if (impulse != NULL) w->shown_impulse = impulse;
  if (shown == NULL || impulse == NULL)
    return PERP_FAIL(w->ctx, PERP_ERR_NOMEM, "no memory for %d contacts", n);
  w->contact_cap = (int)cap;
  return PERP_OK;
}

/* rate or displacement of b relative to a along the normal, in coordinates dx */
static double point_mass_contacts_along(const workspace *w, const contact *k, const coordinates *dx)
{
  double d = 0;
  for (int side = 0; side < 2; side++) {
    const int i = k->at.body[side];
    if (i < 0) continue;
    double p[3];
    for (int a = 0; a < 3; a++) {
      p[a] = dx[i].c[a];
      for (int j = 0; j < w->body[i].n; j++) p[a] += k->rho[side][j] * dx[i].B[a + 3 * j];
    }
    d += (side == 0 ? -1 : 1) * perp_dot(3, k->at.n, p);
  }
  return d;
}

/* d of x1 from x */
static double point_mass_contacts_displacement(workspace *w, const contact *k)
{
  coordinates *dx = w->moved;
  for (int side = 0; side < 2; side++) {
    const int i = k->at.body[side];
    for (int a = 0; i >= 0 && a < 12; a++) dx[i].all[a] = w->x1[i].all[a] - w->x[i].all[a];
  }
  return point_mass_contacts_along(w, k, dx);
}

/* lambda n displaces x1 */
static void point_mass_contacts_apply(workspace *w, const contact *k, double lambda, double scale)
{
  for (int side = 0; side < 2; side++) {
    const int i = k->at.body[side];
    const double sign = side == 0 ? -lambda : lambda;
    double F[3], torque[3];
    if (i < 0) continue;
    for (int a = 0; a < 3; a++) F[a] = sign * k->at.n[a];
    perp_cross(k->r[side], F, torque);
    perp_point_mass_move(w, i, F, torque, scale, &w->x1[i]);
  }
}

/* m/s: of the fastest point of the body at these rates */
static double point_mass_contacts_speed(const workspace *w, int i)
{
  double speed = sqrt(perp_dot(3, w->w[i].c, w->w[i].c));
  for (int j = 0; j < w->body[i].n; j++)
    speed += w->reach[i] *
             sqrt(perp_dot(3, w->w[i].B + 3 * j, w->w[i].B + 3 * j) / w->body[i].gamma[j]);
  return speed;
}

static void point_mass_contacts_prepare(workspace *w, contact *k)
{
  double p[3];
  k->K = 0;
  perp_contact_middle(&k->at, p);
  for (int side = 0; side < 2; side++) {
    const int i = k->at.body[side];
    double P[9], torque[3], turn[3], d[3];
    if (i < 0) continue;
    const body *b = &w->body[i];
    for (int a = 0; a < 3; a++) k->r[side][a] = p[a] - w->x[i].c[a];
    for (int j = 0; j < b->n; j++)
      k->rho[side][j] = perp_dot(3, w->x[i].B + 3 * j, k->r[side]) / b->gamma[j];
    frame(b, &w->x[i], P);
    perp_cross(k->r[side], k->at.n, torque);
    turn_by(b, P, torque, turn);
    perp_cross(turn, k->r[side], d);
    k->K += perp_dot(3, k->at.n, d) + 1 / b->mass;
  }
}

perp_status perp_point_mass_contacts_find(workspace *w, double h)
{
  if (w->collision == NULL) return PERP_OK;
  const perp_model *m = w->model;
  const contacts *last = &w->contacts[w->now];
  contacts *now = &w->contacts[1 - w->now];
  const perp_contact *found;
  int n;
  double first = 0, second = 0;
  for (int i = 0; i < m->n_bodies; i++) {
    const double speed = point_mass_contacts_speed(w, i);
    second = fmax(second, fmin(first, speed));
    first = fmax(first, speed);
  }
  const double margin = h * (first + second) +
                        2 * h * h * fabs(perp_model_gravity_at(m, w->grid.t)) + 1e-6 * m->size;
  if (!isfinite(margin)) return PERP_OK; /* the sweeps will say so */
  perp_collision_margin(w->collision, margin);
  const double start = w->timing ? perp_clock_wall() : 0;
  PERP_TRY(perp_collision_find(w->ctx, w->collision, w->e.pose, &found, &n));
  if (w->timing) w->collision_s += perp_clock_wall() - start;
  PERP_TRY(point_mass_contacts_reserve(w, n));
  now->n = n;
  for (int i = 0, j = 0; i < n; i++) {
    contact *k = &now->x[i];
    *k = (contact){ .at = found[i] };
    while (j < last->n && last->x[j].at.id < found[i].id) j++;
    if (j < last->n && last->x[j].at.id == found[i].id && !last->x[j].impact)
      k->lambda = last->x[j].lambda;
    point_mass_contacts_prepare(w, k);
  }
  w->now = 1 - w->now;
  return PERP_OK;
}

void perp_point_mass_contacts_push(workspace *w, double h, double scale)
{
  contacts *all = &w->contacts[w->now];
  w->pressed = w->impact = false;
  for (int i = 0; w->collision != NULL && i < all->n; i++) {
    contact *k = &all->x[i];
    const double u = point_mass_contacts_along(w, k, w->w),
                 ahead = point_mass_contacts_displacement(w, k);
    const double depth = fmin(-GIVE_BACK * k->at.gap, PUSH * h);
    k->bound = k->at.gap > 0 ? -k->at.gap : depth;
    k->impact = k->at.e > 0 && u < -w->o.threshold && k->at.gap + ahead <= 0;
    if (k->impact) k->bound = -k->at.e * h * u;
    w->impact |= k->impact;
  }
  for (int i = 0; w->collision != NULL && i < all->n; i++)
    point_mass_contacts_apply(w, &all->x[i], all->x[i].lambda, scale);
}

double perp_point_mass_contacts_sweep(workspace *w, double scale)
{
  contacts *all = &w->contacts[w->now];
  double worst = 0;
  for (int i = 0; w->collision != NULL && i < all->n; i++) {
    contact *k = &all->x[i];
    const double off = point_mass_contacts_displacement(w, k) - k->bound;
    const double lambda = fmax(0, k->lambda - off / (k->K * scale)), more = lambda - k->lambda;
    if (isnan(off)) return off;
    if (more == 0) continue;
    k->lambda = lambda;
    point_mass_contacts_apply(w, k, more, scale);
    worst = fmax(worst, fabs(more) * k->K * scale);
    w->pressed = true;
  }
  return worst / w->model->size;
}

void perp_point_mass_contacts_count(workspace *w, perp_reason reason, double left, int sweeps)
{
  const contacts *all = &w->contacts[w->now];
  bool any = w->pressed;
  for (int i = 0; i < all->n; i++) any |= all->x[i].lambda > 0;
  if (w->collision == NULL || !any) return;
  const perp_stats stats = { .reason = reason == PERP_CONVERGED ? reason : PERP_MAX_ITER,
                             .iterations = sweeps,
                             .residual = left };
  perp_contact_count_solve(&w->count, "sweeps", &stats);
  w->count.contacts = all->n > w->count.contacts ? all->n : w->count.contacts;
  w->count.rows = w->count.contacts;
}

void perp_point_mass_contacts_show(workspace *w, double h)
{
  const contacts *all = &w->contacts[w->now];
  w->n_shown = w->collision != NULL ? all->n : 0;
  for (int i = 0; i < w->n_shown; i++) {
    w->shown[i] = all->x[i].at;
    for (int a = 0; a < 3; a++)
      w->shown_impulse[3 * i + a] = h * all->x[i].lambda * all->x[i].at.n[a];
  }
}
