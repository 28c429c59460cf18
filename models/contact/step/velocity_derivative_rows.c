/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The active rows of a step and of its passes on positions: contacts, limits and motors
 * (velocity_derivative.c).
 *
 * A contact whose impulse, as the velocity A_nn P_n that it changes, is above KINK of the largest
 * one presses; an open one moves apart faster than KINK of the speed at hand.  One that does
 * neither is at the end of its complementarity: it has no row, and its w = n . u+ + bias is a
 * margin, which must not fall.  Friction below its bound by more than KINK of it sticks, a contact
 * faster than KINK of the speed slides; one that does neither has the rows of sticking and the
 * margin mu P_n - |P_t|. */
#include "models/contact/step/velocity_derivative.h"

#include "models/contact/step/islands_problem.h"

#include <stdlib.h>
#include <string.h>

static const double KINK = 1e-6;  /* of a speed, an impulse, a length: strict complementarity */
static const double NEAR = 0.05;  /* of the smallest body: the same contact under another name */
static const double REACH = 0.05; /* of the smallest body: farther contacts are not asked for */

enum { ALL_FRICTION = -1 };

/* ---- one contact ---- */

/* g [nv] += scale J_c' y: what an impulse y on b at the contact does to both bodies. */
static void derivative_rows_push(const perp_velocity_stage *s, const perp_contact *x, double scale,
                                 const double y[3], double *g)
{
  const perp_model *m = s->d->model;
  perp_contact_arms arm;
  perp_contact_arms_of(m->dim, &s->eval, x, &arm);
  for (int side = 0; side < 2; side++) {
    const int body = x->body[side];
    if (body < 0) continue;
    const double by = side == 0 ? -scale : scale;
    double *gb = g + m->nvb * body, tau[3], turned[3];
    perp_cross(arm.r[side], y, tau);
    for (int i = 0; i < m->dim; i++) gb[i] += by * y[i];
    if (m->dim == 2) {
      gb[2] += by * tau[2];
      continue;
    }
    perp_turn_back(3, s->eval.pose[body].R, tau, turned);
    for (int i = 0; i < 3; i++) gb[3 + i] += by * turned[i];
  }
}

/* u [3] at a contact of the velocities x [nv] */
static void derivative_rows_velocity(const perp_velocity_stage *s, const perp_contact *x,
                                     const double *velocities, double *twist, double u[3])
{
  for (int side = 0; side < 2; side++)
    if (x->body[side] >= 0) perp_twist(s->d->model, &s->eval, x->body[side], velocities, twist);
  perp_contact_velocity(s->d->model->dim, &s->eval, x, twist, u);
}

/* Directions of the tangent plane of n that were t at the start: unit where n is the same. */
static void derivative_rows_tangent(const double n[3], const double t[3], double out[3])
{
  const double along = perp_dot(3, n, t);
  for (int i = 0; i < 3; i++) out[i] = t[i] - along * n[i];
}

static void derivative_rows_frame(int dim, const double n[3], double t[2][3])
{
  memset(t, 0, 6 * sizeof(double));
  if (dim == 2) {
    t[0][0] = -n[1], t[0][1] = n[0];
    return;
  }
  const int least = fabs(n[0]) <= fabs(n[1]) ? (fabs(n[0]) <= fabs(n[2]) ? 0 : 2)
                                             : (fabs(n[1]) <= fabs(n[2]) ? 1 : 2);
  double e[3] = { 0 };
  e[least] = 1;
  perp_cross(n, e, t[0]);
  const double size = sqrt(perp_dot(3, t[0], t[0]));
  for (int i = 0; i < 3; i++) t[0][i] /= size;
  perp_cross(n, t[0], t[1]);
}

/* The bias of the normal row at the state at hand; un: n . u at the start. */
static double derivative_rows_bias(const perp_velocity_stage *s, const perp_velocity_contact *c,
                                   const perp_contact *x, double un)
{
  const perp_contacts *all = s->w->contacts;
  switch (c->bias) {
  case PERP_VELOCITY_GAP:
    return x->gap / s->h;
  case PERP_VELOCITY_RESTITUTION:
    return c->at.e * un;
  case PERP_VELOCITY_SPRING:
    return c->alpha * x->gap;
  case PERP_VELOCITY_FEEDBACK:
    return -all->stab->contact(all->stab_ws, PERP_LEVEL_VELOCITY, s->h, x->gap, 0);
  case PERP_VELOCITY_ZERO:
    break;
  }
  return 0;
}

/* What column j does to the coefficient of friction of a contact. */
static double derivative_rows_friction(const perp_velocity_stage *s, int j,
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

static const perp_contact *derivative_rows_same(const perp_velocity_contact *c,
                                                const perp_contact *found, int n, double near)
{
  double at[3], best = near;
  const perp_contact *same = NULL;
  perp_contact_middle(&c->at, at);
  for (int i = 0; i < n; i++) {
    double p[3], off = 0;
    if (found[i].id == c->at.id) return &found[i];
    perp_contact_middle(&found[i], p);
    for (int k = 0; k < 3; k++) off += (p[k] - at[k]) * (p[k] - at[k]);
    if (!(sqrt(off) < best)) continue;
    best = sqrt(off);
    same = &found[i];
  }
  return same;
}

void perp_velocity_geometry(perp_velocity_stage *s, int j)
{
  const perp_contacts *all = s->w->contacts;
  const perp_pose *pose = s->eval.pose;
  const double reach = fmax(all->detect.margin, 0) + all->o.tolerance + REACH * s->d->length;
  perp_contact found[PERP_MANIFOLD_MAX];
  int n = 0;
  for (int i = 0; i < s->n_contacts; i++) {
    const perp_velocity_contact *c = &s->contact[i];
    const perp_contact *x = &c->at;
    if (i == 0 || perp_contact_pair(x->id) != perp_contact_pair(s->contact[i - 1].at.id)) {
      const int a = perp_contact_shape_a(x->id), b = perp_contact_shape_b(x->id);
      n = perp_collide(s->d->model, a, &pose[s->d->model->shape_def[a].body], b,
                       &pose[s->d->model->shape_def[b].body], reach, found);
    }
    const perp_contact *same = derivative_rows_same(c, found, n, NEAR * s->d->length);
    s->now[i] = same != NULL ? *same : *x;
    if (same != NULL) s->now[i].gap -= all->o.tolerance;
    s->features[j] |= same == NULL;
  }
}

/* ---- residuals ---- */

/* u_t / |u_t| to first order in its change, as slow sliding turns far within a difference. */
static void derivative_rows_direction(const perp_velocity_contact *c, const double slide[3],
                                      double out[3])
{
  double unit[3], change[3];
  for (int k = 0; k < 3; k++) {
    unit[k] = c->slide[k] / c->speed;
    change[k] = (slide[k] - c->slide[k]) / c->speed;
  }
  const double along = perp_dot(3, unit, change);
  for (int k = 0; k < 3; k++) out[k] = unit[k] + change[k] - along * unit[k];
}

static void derivative_rows_contact(perp_velocity_stage *s, int i, int j, double eps,
                                    const double *v, double *r1, double *r3)
{
  const perp_velocity_contact *c = &s->contact[i];
  const perp_contact *x = &s->now[i];
  double u[3], before[3] = { 0 }, t[3], slide[3], against[3] = { 0 }, *r = r3 + c->row;
  derivative_rows_push(s, x, -1, c->P, r1);
  derivative_rows_velocity(s, x, s->x, s->twist, u);
  if (c->bias == PERP_VELOCITY_RESTITUTION)
    derivative_rows_velocity(s, x, v, s->twist_before, before);
  const double un = perp_dot(3, x->n, u), pn = perp_dot(3, x->n, c->P);
  r[0] = un + c->soft * pn + derivative_rows_bias(s, c, x, perp_dot(3, x->n, before));
  const double mu = c->mu + eps * derivative_rows_friction(s, j, c);
  for (int k = 0; k < 3; k++) slide[k] = u[k] - un * x->n[k];
  if (c->friction == PERP_VELOCITY_SLIDES) derivative_rows_direction(c, slide, against);
  for (int k = 1; k < s->d->model->dim; k++) {
    derivative_rows_tangent(x->n, c->t[k - 1], t);
    r[k] = c->friction == PERP_VELOCITY_STICKS
               ? perp_dot(3, t, u)
               : perp_dot(3, t, c->P) + mu * pn * perp_dot(3, t, against);
  }
}

/* J of the row of a drive at eval, and its bias. */
static double derivative_rows_drive(perp_velocity_stage *s, const perp_velocity_drive *c,
                                    const perp_model *model, const double *v, perp_island_row *row)
{
  const int i = c->drive;
  const perp_drive_def *def = &model->drive_def[i];
  *row = (perp_island_row){ .body = { model->drive[i].a, model->drive[i].b } };
  const double x = perp_drive_row(model, &s->eval, i, row->J[0], row->J[1]);
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < model->nvb; k++) row->J[side][k] *= c->sign;
  if (c->side == DRIVES_MOTOR) {
    const double k = def->stiffness, damping = def->damping;
    double velocity;
    const double error = perp_drive_error(model, &s->eval, i, x, s->t + s->h, &velocity);
    if (!(k > 0 || damping > 0)) return -velocity;
    return (k * error - damping * velocity) /
           (s->w->drives->symplectic ? damping : s->h * k + damping);
  }
  const double gap = c->side == DRIVES_LOWER ? x - def->lower : def->upper - x;
  switch (c->bias) {
  case PERP_VELOCITY_GAP:
    return gap / s->h;
  case PERP_VELOCITY_FEEDBACK:
    return DRIVES_GIVE_BACK * gap / s->h;
  case PERP_VELOCITY_RESTITUTION:
    return def->restitution * perp_island_row_product(model, row, v);
  default:
    return 0;
  }
}

void perp_velocity_rows_residual(perp_velocity_stage *s, const perp_model *model, int j, double eps,
                                 const double *v, double *r1, double *r3, double *r4)
{
  perp_island_row row;
  double u[3], before[3] = { 0 };
  for (int i = 0; i < s->n_contacts; i++)
    if (s->contact[i].row >= 0) derivative_rows_contact(s, i, j, eps, v, r1, r3);
  for (int i = 0; i < s->n_drives; i++) {
    const perp_velocity_drive *c = &s->drive[i];
    const double bias = derivative_rows_drive(s, c, model, v, &row);
    perp_island_row_apply(model, &row, -c->lambda, r1);
    if (c->row >= 0)
      r3[c->row] = perp_island_row_product(model, &row, s->x) + c->soft * c->lambda + bias;
  }
  for (int i = 0; i < s->n_margins; i++) {
    const perp_velocity_margin *at = &s->margin[i];
    if (at->drive >= 0) {
      const perp_velocity_drive *c = &s->drive[at->drive];
      if (at->row.cause != PERP_GRADIENT_TOUCHES) continue;
      const double bias = derivative_rows_drive(s, c, model, v, &row);
      r4[i] = perp_island_row_product(model, &row, s->x) + bias;
      continue;
    }
    const perp_velocity_contact *c = &s->contact[at->contact];
    const perp_contact *x = &s->now[at->contact];
    if (at->row.cause == PERP_GRADIENT_AT_GAP) r4[i] = x->gap;
    if (at->row.cause == PERP_GRADIENT_TOUCHES) {
      derivative_rows_velocity(s, x, s->x, s->twist, u);
      if (c->bias == PERP_VELOCITY_RESTITUTION)
        derivative_rows_velocity(s, x, v, s->twist_before, before);
      r4[i] = perp_dot(3, x->n, u) + derivative_rows_bias(s, c, x, perp_dot(3, x->n, before));
    }
    if (at->row.cause != PERP_GRADIENT_STICKS) continue;
    const double pn = perp_dot(3, x->n, c->P), all = perp_dot(3, c->P, c->P);
    r4[i] = (c->mu + eps * derivative_rows_friction(s, j, c)) * pn - sqrt(fmax(all - pn * pn, 0));
  }
}

/* ---- which rows are active ---- */

static perp_status derivative_rows_list(perp_ctx *ctx, perp_velocity_stage *s, int contacts)
{
  const int margins = 2 * contacts + DRIVES_ROWS_EACH * s->d->model->n_drives;
  if (contacts > s->cap) {
    const size_t cap = (size_t)contacts + (size_t)contacts / 2 + 8;
    perp_velocity_contact *list = realloc(s->contact, cap * sizeof *list);
    if (list != NULL) s->contact = list;
    perp_contact *now = realloc(s->now, cap * sizeof *now);
    if (now != NULL) s->now = now;
    if (list == NULL || now == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", contacts);
    s->cap = (int)cap;
  }
  if (margins > s->margins_cap) {
    const size_t cap = (size_t)margins + (size_t)margins / 2 + 8;
    perp_velocity_margin *list = realloc(s->margin, cap * sizeof *list);
    if (list == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d rows", margins);
    s->margin = list;
    s->margins_cap = (int)cap;
  }
  s->n_contacts = s->n_drives = s->n_margins = 0;
  return PERP_OK;
}

static void derivative_rows_margin(perp_velocity_stage *s, perp_gradient_cause cause, int contact,
                                   int drive, double margin)
{
  perp_velocity_margin *at = &s->margin[s->n_margins++];
  *at = (perp_velocity_margin){ .row = { .cause = cause,
                                         .body = { PERP_WORLD, PERP_WORLD },
                                         .drive = drive >= 0 ? s->drive[drive].drive : -1,
                                         .margin = margin },
                                .contact = contact,
                                .drive = drive };
  for (int side = 0; side < 2 && contact >= 0; side++)
    at->row.body[side] = s->contact[contact].at.body[side];
}

/* J_c v changed by a unit of impulse along y, without joints */
static double derivative_rows_mobility(perp_velocity_stage *s, const perp_contact *x,
                                       const double y[3])
{
  const perp_model *m = s->d->model;
  double sum = 0;
  memset(s->row, 0, (size_t)m->nv * sizeof *s->row);
  derivative_rows_push(s, x, 1, y, s->row);
  for (int side = 0; side < 2; side++) {
    const int b = x->body[side];
    if (b < 0) continue;
    const perp_inertia *in = &m->inertia[b];
    const double *g = s->row + m->nvb * b;
    double w[3];
    sum += perp_dot(m->dim, g, g) / in->mass;
    if (m->dim == 2) {
      sum += g[2] * g[2] * in->Iinv[8];
    } else {
      perp_sym_mul(in->Iinv, g + 3, w);
      sum += perp_dot(3, g + 3, w);
    }
  }
  return sum;
}

/* Softness and bias of the normal row as the step has them (velocity_step_law); un, free: n . u at
 * the start and of v^, after: n . u+. */
static void derivative_rows_law(perp_velocity_stage *s, perp_velocity_contact *c, double un,
                                double after)
{
  const perp_contacts *all = s->w->contacts;
  const perp_contact_opts *o = &all->o;
  const perp_contact *x = &c->at;
  const bool springs = perp_contacts_mode(o) == PERP_CONTACTS_SPRINGS;
  if (s->pass != NULL) {
    c->bias = PERP_VELOCITY_GAP;
    c->soft = perp_contact_post_softness(all->post);
    return;
  }
  c->soft = springs ? 1 / (s->h * (s->h * o->stiffness + o->damping)) : o->softness;
  c->alpha = springs ? o->stiffness / (s->h * o->stiffness + o->damping) : 0;
  if (x->gap >= -all->slop)
    c->bias = o->gap ? PERP_VELOCITY_GAP : PERP_VELOCITY_ZERO;
  else if (springs)
    c->bias = PERP_VELOCITY_SPRING;
  else
    c->bias = all->stab->contact != NULL ? PERP_VELOCITY_FEEDBACK : PERP_VELOCITY_ZERO;
  if (springs || !(x->e > 0) || !(un < -o->threshold)) return;
  /* an approach with restitution has whichever of both rows is met */
  const double gap = derivative_rows_bias(s, c, x, un);
  if (fabs(after + x->e * un) < fabs(after + gap)) c->bias = PERP_VELOCITY_RESTITUTION;
}

/* The impact of a contact begins or does not, by how fast or whether the gap closes in the step. */
static perp_status derivative_rows_strike(perp_ctx *ctx, perp_velocity_stage *s,
                                          const perp_contact *x, double un, double free)
{
  const perp_contacts *all = s->w->contacts;
  const double length = KINK * s->d->length, closing = x->gap + s->h * free,
               slow = un + all->o.threshold;
  if (s->pass != NULL || !(x->e > 0) || perp_contacts_mode(&all->o) == PERP_CONTACTS_SPRINGS)
    return PERP_OK;
  const bool by_gap = un < -all->o.threshold && fabs(closing) < length,
             by_speed = closing <= 0 && fabs(slow) < KINK * s->d->speed;
  if (!by_gap && !by_speed) return PERP_OK;
  const perp_gradient_row row = { .cause = PERP_GRADIENT_STRIKES,
                                  .body = { x->body[0], x->body[1] },
                                  .drive = -1,
                                  .margin = by_gap ? closing : slow };
  return perp_derivative_kink(ctx, s->d, &row, NULL);
}

/* What a contact that presses does along its surface, and its margins. */
static void derivative_rows_active(perp_velocity_stage *s, int i, const double u[3])
{
  perp_velocity_contact *c = &s->contact[i];
  const double *n = c->at.n, un = perp_dot(3, n, u), pn = perp_dot(3, n, c->P);
  double along[3], slide[3];
  for (int k = 0; k < 3; k++) along[k] = c->P[k] - pn * n[k], slide[k] = u[k] - un * n[k];
  const double speed = sqrt(perp_dot(3, slide, slide)),
               left = c->mu * pn - sqrt(perp_dot(3, along, along));
  const bool slides = speed > KINK * s->d->speed;
  memcpy(c->slide, slide, sizeof slide);
  c->speed = speed;
  if (c->friction != PERP_VELOCITY_FREE) {
    if (left > KINK * c->mu * pn)
      c->friction = PERP_VELOCITY_STICKS;
    else if (slides)
      c->friction = PERP_VELOCITY_SLIDES;
    else if (c->mu > 0)
      derivative_rows_margin(s, PERP_GRADIENT_STICKS, i, -1, left);
    else
      c->friction = PERP_VELOCITY_FREE;
  }
  if (c->bias == PERP_VELOCITY_GAP && s->pass == NULL &&
      fabs(c->at.gap) <= KINK * s->d->length + s->w->contacts->slop)
    derivative_rows_margin(s, PERP_GRADIENT_AT_GAP, i, -1, c->at.gap);
}

/* The i-th contact of the stage with impulse P; most: the largest velocity that one changes. */
static perp_status derivative_rows_take(perp_ctx *ctx, perp_velocity_stage *s,
                                        const perp_contact *x, const double *P, double mu,
                                        double most, const double *v_free, int *rows)
{
  perp_velocity_contact *c = &s->contact[s->n_contacts];
  double u[3], before[3] = { 0 }, free[3];
  const double *v = s->d->v;
  *c = (perp_velocity_contact){ .at = *x, .mu = mu, .row = -1 };
  derivative_rows_velocity(s, x, s->x, s->twist, u);
  if (s->pass == NULL) {
    derivative_rows_velocity(s, x, v, s->twist_before, before);
    derivative_rows_velocity(s, x, v_free, s->twist_before, free);
    PERP_TRY(derivative_rows_strike(ctx, s, x, perp_dot(3, x->n, before), perp_dot(3, x->n, free)));
  }
  const double after = perp_dot(3, x->n, u), un = perp_dot(3, x->n, before),
               pressed = perp_dot(3, x->n, P) * derivative_rows_mobility(s, x, x->n);
  derivative_rows_law(s, c, un, after);
  const bool friction = s->pass == NULL &&
                        s->w->contacts->islands->kind->d.caps & PERP_CONTACT_FRICTION;
  c->friction = friction ? PERP_VELOCITY_STICKS : PERP_VELOCITY_FREE;
  c->dynamic = mu != x->mu;
  if (pressed > KINK * most) {
    memcpy(c->P, P, sizeof c->P);
    derivative_rows_frame(s->d->model->dim, x->n, c->t);
    c->row = *rows;
    *rows += s->d->model->dim;
    derivative_rows_active(s, s->n_contacts++, u);
    return PERP_OK;
  }
  const double w = after + derivative_rows_bias(s, c, x, un),
               unit = s->pass == NULL ? s->d->speed : s->d->length;
  if (w > KINK * unit) return PERP_OK;
  derivative_rows_margin(s, PERP_GRADIENT_TOUCHES, s->n_contacts++, -1, w);
  return PERP_OK;
}

static perp_status derivative_rows_contacts(perp_ctx *ctx, perp_velocity_stage *s,
                                            const double *v_free, int *rows)
{
  static const double open[3] = { 0 };
  const perp_contacts *all = s->w->contacts;
  const perp_contact_pass *pass = s->pass;
  const int n = pass != NULL ? pass->n : all->task.n;
  const perp_contact *x = pass != NULL ? pass->contact : all->task.contact;
  const double *impulse = pass != NULL ? pass->impulse : all->task.impulse;
  double most = pass != NULL ? 0 : fabs(perp_model_gravity_at(s->d->model, s->t)) * s->h;
  for (int i = 0; i < n; i++)
    if (pass != NULL || all->kept[i])
      most = fmax(most, perp_dot(3, x[i].n, impulse + 3 * i) *
                            derivative_rows_mobility(s, &x[i], x[i].n));
  for (int i = 0; i < n; i++) {
    const bool kept = pass != NULL || all->kept[i];
    PERP_TRY(derivative_rows_take(ctx, s, &x[i], kept ? impulse + 3 * i : open,
                                  pass == NULL && kept ? all->mu[i] : x[i].mu, most, v_free, rows));
  }
  return PERP_OK;
}

/* The bias of a limit, as drives_give_back and drives_add_side have it. */
static perp_velocity_bias derivative_rows_limit(const perp_velocity_stage *s,
                                                const perp_velocity_drive *c, double bias,
                                                double rate)
{
  const perp_model *m = s->d->model;
  const perp_drive_def *def = &m->drive_def[c->drive];
  double J[2][6];
  const double x = perp_drive_row(m, &s->eval, c->drive, J[0], J[1]),
               gap = c->side == DRIVES_LOWER ? x - def->lower : def->upper - x,
               tiny = 1e-12 * fmax(fabs(bias), fabs(gap) / s->h);
  if (def->lower != def->upper && def->restitution > 0 &&
      fabs(bias - def->restitution * rate) <= tiny && rate < 0)
    return PERP_VELOCITY_RESTITUTION;
  if (def->lower != def->upper && gap > 0)
    return fabs(bias - gap / s->h) <= tiny ? PERP_VELOCITY_GAP : PERP_VELOCITY_ZERO;
  return fabs(bias - DRIVES_GIVE_BACK * gap / s->h) <= tiny ? PERP_VELOCITY_FEEDBACK
                                                            : PERP_VELOCITY_ZERO;
}

static void derivative_rows_drives(perp_velocity_stage *s, int *rows)
{
  const perp_model *m = s->d->model;
  const perp_drives *all = s->w->drives;
  for (int r = 0; r < all->n; r++) {
    const perp_island_row *row = &all->row[r];
    perp_velocity_drive *c = &s->drive[s->n_drives];
    *c = (perp_velocity_drive){ .drive = all->slot[r] / DRIVES_ROWS_EACH,
                                .side = all->slot[r] % DRIVES_ROWS_EACH,
                                .sign = all->sign[r],
                                .lambda = row->lambda,
                                .soft = row->soft,
                                .row = -1 };
    const double rate = perp_island_row_product(m, row, s->d->v),
                 w = perp_island_row_product(m, row, s->x) + row->soft * row->lambda + row->bias,
                 unit = m->drive[c->drive].slides ? s->d->speed : s->d->speed / s->d->length;
    const bool limit = c->side != DRIVES_MOTOR, locked = row->lo == -HUGE_VAL && limit;
    if (limit) c->bias = derivative_rows_limit(s, c, row->bias, rate);
    const double inside = fmin(row->lambda - row->lo, row->hi - row->lambda),
                 most = isfinite(row->hi) ? row->hi : fabs(row->lambda);
    memset(s->row, 0, (size_t)m->nv * sizeof *s->row);
    if (locked || inside > KINK * most) {
      c->row = (*rows)++;
    } else if (fabs(w) <= KINK * unit) {
      /* at its bound, and at what it aims at */
      if (!limit) c->row = (*rows)++;
      derivative_rows_margin(s, limit ? PERP_GRADIENT_TOUCHES : PERP_GRADIENT_BOUND, -1,
                             s->n_drives, limit ? w : inside);
    } else if (limit) {
      continue; /* open: no force, no row */
    }
    s->n_drives++;
  }
}

/* ---- the matrices ---- */

static void derivative_rows_matrix_contact(perp_velocity_stage *s, const perp_velocity_contact *c)
{
  perp_derivative_rows *R = s->d->rows;
  const perp_model *m = s->d->model;
  const size_t nv = (size_t)m->nv, n = (size_t)R->n, row = (size_t)c->row;
  const double *N = c->at.n, pn = perp_dot(3, N, c->P);
  for (int k = 0; k < m->dim; k++) {
    double e[3] = { 0 };
    e[k] = 1;
    derivative_rows_push(s, &c->at, 1, e, R->G + nv * (row + (size_t)k));
    R->D[row + n * (row + (size_t)k)] = c->soft * N[k];
  }
  derivative_rows_push(s, &c->at, 1, N, R->B + nv * row);
  for (int l = 1; l < m->dim; l++) {
    const double *t = c->t[l - 1];
    double *B = R->B + nv * (row + (size_t)l), y[3];
    if (c->friction == PERP_VELOCITY_STICKS) {
      derivative_rows_push(s, &c->at, 1, t, B);
      continue;
    }
    const bool slides = c->friction == PERP_VELOCITY_SLIDES;
    const double along = slides ? perp_dot(3, t, c->slide) / c->speed : 0;
    for (int k = 0; k < m->dim; k++)
      R->D[row + (size_t)l + n * (row + (size_t)k)] = t[k] + c->mu * along * N[k];
    for (int k = 0; k < 3 && slides; k++) y[k] = t[k] - along * c->slide[k] / c->speed;
    if (slides) derivative_rows_push(s, &c->at, c->mu * pn / c->speed, y, B);
  }
}

static void derivative_rows_matrix(perp_velocity_stage *s)
{
  perp_derivative_rows *R = s->d->rows;
  const perp_model *m = s->d->model;
  const size_t nv = (size_t)m->nv, n = (size_t)R->n;
  perp_island_row row;
  for (int i = 0; i < s->n_contacts; i++)
    if (s->contact[i].row >= 0) derivative_rows_matrix_contact(s, &s->contact[i]);
  for (int i = 0; i < s->n_drives; i++) {
    const perp_velocity_drive *c = &s->drive[i];
    if (c->row < 0) continue;
    const size_t at = (size_t)c->row;
    derivative_rows_drive(s, c, m, s->d->v, &row);
    perp_island_row_apply(m, &row, 1, R->G + nv * at);
    perp_island_row_apply(m, &row, 1, R->B + nv * at);
    R->D[at + n * at] = c->soft;
  }
  for (int i = 0; i < s->n_margins; i++) {
    const perp_velocity_margin *at = &s->margin[i];
    const bool length = at->row.cause == PERP_GRADIENT_AT_GAP || s->pass != NULL;
    R->unit[i] = length ? s->d->length : s->d->speed;
    double *B = R->Bm + nv * (size_t)i, *D = R->Dm + n * (size_t)i;
    if (at->drive >= 0) {
      const perp_velocity_drive *c = &s->drive[at->drive];
      derivative_rows_drive(s, c, m, s->d->v, &row);
      if (at->row.cause == PERP_GRADIENT_TOUCHES) perp_island_row_apply(m, &row, 1, B);
      if (at->row.cause == PERP_GRADIENT_BOUND) D[c->row] = c->lambda > 0 ? -1 : 1;
      if (at->row.cause == PERP_GRADIENT_BOUND) R->unit[i] = fabs(c->lambda);
      continue;
    }
    const perp_velocity_contact *c = &s->contact[at->contact];
    if (at->row.cause == PERP_GRADIENT_TOUCHES) derivative_rows_push(s, &c->at, 1, c->at.n, B);
    if (at->row.cause != PERP_GRADIENT_STICKS) continue;
    const double pn = perp_dot(3, c->at.n, c->P);
    R->unit[i] = c->mu * pn;
    double along[3];
    for (int k = 0; k < 3; k++) along[k] = c->P[k] - pn * c->at.n[k];
    const double size = sqrt(perp_dot(3, along, along));
    for (int k = 0; k < m->dim; k++)
      D[c->row + k] = c->mu * c->at.n[k] - (size > 0 ? along[k] / size : 0);
  }
}

perp_status perp_velocity_rows(perp_ctx *ctx, perp_velocity_stage *s, const double *v_free)
{
  const perp_contacts *contacts = s->w->contacts;
  const int n = contacts == NULL ? 0 : s->pass != NULL ? s->pass->n : contacts->task.n;
  int rows = 0;
  PERP_TRY(derivative_rows_list(ctx, s, n));
  if (n > 0) PERP_TRY(derivative_rows_contacts(ctx, s, v_free, &rows));
  if (s->w->drives != NULL && s->pass == NULL) derivative_rows_drives(s, &rows);
  PERP_TRY(perp_derivative_room(ctx, s->d, rows, s->n_margins));
  derivative_rows_matrix(s);
  return PERP_OK;
}
