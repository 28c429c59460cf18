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
#include "models/contact/step/velocity_derivative_rows.h"

#include "models/contact/step/islands_problem.h"

#include <stdlib.h>
#include <string.h>

static const double KINK = 1e-6; /* of a speed, an impulse, a length: strict complementarity */

/* ---- which rows are active ---- */

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
  perp_velocity_push(s, x, 1, y, s->row);
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
  const double gap = perp_velocity_bias_at(s, c, x, un);
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
  perp_velocity_slip(s, x, s->x, s->twist, u);
  if (s->pass == NULL) {
    perp_velocity_slip(s, x, v, s->twist_before, before);
    perp_velocity_slip(s, x, v_free, s->twist_before, free);
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
  const double w = after + perp_velocity_bias_at(s, c, x, un),
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
    perp_velocity_push(s, &c->at, 1, e, R->G + nv * (row + (size_t)k));
    R->D[row + n * (row + (size_t)k)] = c->soft * N[k];
  }
  perp_velocity_push(s, &c->at, 1, N, R->B + nv * row);
  for (int l = 1; l < m->dim; l++) {
    const double *t = c->t[l - 1];
    double *B = R->B + nv * (row + (size_t)l), y[3];
    if (c->friction == PERP_VELOCITY_STICKS) {
      perp_velocity_push(s, &c->at, 1, t, B);
      continue;
    }
    const bool slides = c->friction == PERP_VELOCITY_SLIDES;
    const double along = slides ? perp_dot(3, t, c->slide) / c->speed : 0;
    for (int k = 0; k < m->dim; k++)
      R->D[row + (size_t)l + n * (row + (size_t)k)] = t[k] + c->mu * along * N[k];
    for (int k = 0; k < 3 && slides; k++) y[k] = t[k] - along * c->slide[k] / c->speed;
    if (slides) perp_velocity_push(s, &c->at, c->mu * pn / c->speed, y, B);
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
    perp_velocity_drive_at(s, c, m, s->d->v, &row);
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
      perp_velocity_drive_at(s, c, m, s->d->v, &row);
      if (at->row.cause == PERP_GRADIENT_TOUCHES) perp_island_row_apply(m, &row, 1, B);
      if (at->row.cause == PERP_GRADIENT_BOUND) D[c->row] = c->lambda > 0 ? -1 : 1;
      if (at->row.cause == PERP_GRADIENT_BOUND) R->unit[i] = fabs(c->lambda);
      continue;
    }
    const perp_velocity_contact *c = &s->contact[at->contact];
    if (at->row.cause == PERP_GRADIENT_TOUCHES) perp_velocity_push(s, &c->at, 1, c->at.n, B);
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
