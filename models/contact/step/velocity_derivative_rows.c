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

static perp_status derivative_rows_list(perp_ctx *ctx, perp_velocity_stage *stage, int contacts)
{
  const int margins = 2 * contacts + DRIVES_ROWS_EACH * stage->d->model->n_drives;
  if (contacts > stage->cap) {
    const size_t cap = (size_t)contacts + (size_t)contacts / 2 + 8;
    perp_velocity_contact *list = realloc(stage->contact, cap * sizeof *list);
    if (list != NULL) stage->contact = list;
    perp_contact *now = realloc(stage->now, cap * sizeof *now);
    if (now != NULL) stage->now = now;
    if (list == NULL || now == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", contacts);
    stage->cap = (int)cap;
  }
  if (margins > stage->margins_cap) {
    const size_t cap = (size_t)margins + (size_t)margins / 2 + 8;
    perp_velocity_margin *list = realloc(stage->margin, cap * sizeof *list);
    if (list == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d rows", margins);
    stage->margin = list;
    stage->margins_cap = (int)cap;
  }
  stage->n_contacts = stage->n_drives = stage->n_margins = 0;
  return PERP_OK;
}

static void derivative_rows_margin(perp_velocity_stage *stage, perp_gradient_cause cause,
                                   int contact, int drive, double margin)
{
  perp_velocity_margin *at = &stage->margin[stage->n_margins++];
  *at = (perp_velocity_margin){ .row = { .cause = cause,
                                         .body = { PERP_WORLD, PERP_WORLD },
                                         .drive = drive >= 0 ? stage->drive[drive].drive : -1,
                                         .margin = margin },
                                .contact = contact,
                                .drive = drive };
  for (int side = 0; side < 2 && contact >= 0; side++)
    at->row.body[side] = stage->contact[contact].at.body[side];
}

/* J_c v changed by a unit of impulse along y, without joints */
static double derivative_rows_mobility(perp_velocity_stage *stage, const perp_contact *contact,
                                       const double y[3])
{
  const perp_model *model = stage->d->model;
  double sum = 0;
  memset(stage->row, 0, (size_t)model->nv * sizeof *stage->row);
  perp_velocity_push(stage, contact, 1, y, stage->row);
  for (int side = 0; side < 2; side++) {
    const int b = contact->body[side];
    if (b < 0) continue;
    const perp_inertia *in = &model->inertia[b];
    const double *g = stage->row + model->nvb * b;
    double w[3];
    sum += perp_dot(model->dim, g, g) / in->mass;
    if (model->dim == 2) {
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
static void derivative_rows_law(perp_velocity_stage *stage, perp_velocity_contact *contact,
                                double un, double after)
{
  const perp_contacts *all = stage->w->contacts;
  const perp_contact_opts *opts = &all->o;
  const perp_contact *x = &contact->at;
  const bool springs = perp_contacts_mode(opts) == PERP_CONTACTS_SPRINGS;
  if (stage->pass != NULL) {
    contact->bias = PERP_VELOCITY_GAP;
    contact->soft = perp_contact_post_softness(all->post);
    return;
  }
  contact->soft = springs ? 1 / (stage->h * (stage->h * opts->stiffness + opts->damping))
                          : opts->softness;
  contact->alpha = springs ? opts->stiffness / (stage->h * opts->stiffness + opts->damping) : 0;
  if (x->gap >= -all->slop)
    contact->bias = opts->gap ? PERP_VELOCITY_GAP : PERP_VELOCITY_ZERO;
  else if (springs)
    contact->bias = PERP_VELOCITY_SPRING;
  else
    contact->bias = all->stab->contact != NULL ? PERP_VELOCITY_FEEDBACK : PERP_VELOCITY_ZERO;
  if (springs || !(x->e > 0) || !(un < -opts->threshold)) return;
  /* an approach with restitution has whichever of both rows is met */
  const double gap = perp_velocity_bias_at(stage, contact, x, un);
  if (fabs(after + x->e * un) < fabs(after + gap)) contact->bias = PERP_VELOCITY_RESTITUTION;
}

/* The impact of a contact begins or does not, by how fast or whether the gap closes in the step. */
static perp_status derivative_rows_strike(perp_ctx *ctx, perp_velocity_stage *stage,
                                          const perp_contact *contact, double un, double free)
{
  const perp_contacts *all = stage->w->contacts;
  const double length = KINK * stage->d->length, closing = contact->gap + stage->h * free,
               slow = un + all->o.threshold;
  if (stage->pass != NULL || !(contact->e > 0) ||
      perp_contacts_mode(&all->o) == PERP_CONTACTS_SPRINGS)
    return PERP_OK;
  const bool by_gap = un < -all->o.threshold && fabs(closing) < length,
             by_speed = closing <= 0 && fabs(slow) < KINK * stage->d->speed;
  if (!by_gap && !by_speed) return PERP_OK;
  const perp_gradient_row row = { .cause = PERP_GRADIENT_STRIKES,
                                  .body = { contact->body[0], contact->body[1] },
                                  .drive = -1,
                                  .margin = by_gap ? closing : slow };
  return perp_derivative_kink(ctx, stage->d, &row, NULL);
}

/* What a contact that presses does along its surface, and its margins. */
static void derivative_rows_active(perp_velocity_stage *stage, int i, const double u[3])
{
  perp_velocity_contact *contact = &stage->contact[i];
  const double *n = contact->at.n, un = perp_dot(3, n, u), pn = perp_dot(3, n, contact->P);
  double along[3], slide[3];
  for (int k = 0; k < 3; k++) along[k] = contact->P[k] - pn * n[k], slide[k] = u[k] - un * n[k];
  const double speed = sqrt(perp_dot(3, slide, slide)),
               left = contact->mu * pn - sqrt(perp_dot(3, along, along));
  const bool slides = speed > KINK * stage->d->speed;
  memcpy(contact->slide, slide, sizeof slide);
  contact->speed = speed;
  if (contact->friction != PERP_VELOCITY_FREE) {
    if (left > KINK * contact->mu * pn)
      contact->friction = PERP_VELOCITY_STICKS;
    else if (slides)
      contact->friction = PERP_VELOCITY_SLIDES;
    else if (contact->mu > 0)
      derivative_rows_margin(stage, PERP_GRADIENT_STICKS, i, -1, left);
    else
      contact->friction = PERP_VELOCITY_FREE;
  }
  if (contact->bias == PERP_VELOCITY_GAP && stage->pass == NULL &&
      fabs(contact->at.gap) <= KINK * stage->d->length + stage->w->contacts->slop)
    derivative_rows_margin(stage, PERP_GRADIENT_AT_GAP, i, -1, contact->at.gap);
}

/* The i-th contact of the stage with impulse P; most: the largest velocity that one changes. */
static perp_status derivative_rows_take(perp_ctx *ctx, perp_velocity_stage *stage,
                                        const perp_contact *x, const double *P, double mu,
                                        double most, const double *v_free, int *rows)
{
  perp_velocity_contact *c = &stage->contact[stage->n_contacts];
  double u[3], before[3] = { 0 }, free[3];
  const double *v = stage->d->v;
  *c = (perp_velocity_contact){ .at = *x, .mu = mu, .row = -1 };
  perp_velocity_slip(stage, x, stage->x, stage->twist, u);
  if (stage->pass == NULL) {
    perp_velocity_slip(stage, x, v, stage->twist_before, before);
    perp_velocity_slip(stage, x, v_free, stage->twist_before, free);
    PERP_TRY(
        derivative_rows_strike(ctx, stage, x, perp_dot(3, x->n, before), perp_dot(3, x->n, free)));
  }
  const double after = perp_dot(3, x->n, u), un = perp_dot(3, x->n, before),
               pressed = perp_dot(3, x->n, P) * derivative_rows_mobility(stage, x, x->n);
  derivative_rows_law(stage, c, un, after);
  const bool friction = stage->pass == NULL &&
                        stage->w->contacts->islands->kind->d.caps & PERP_CONTACT_FRICTION;
  c->friction = friction ? PERP_VELOCITY_STICKS : PERP_VELOCITY_FREE;
  c->dynamic = mu != x->mu;
  if (pressed > KINK * most) {
    memcpy(c->P, P, sizeof c->P);
    derivative_rows_frame(stage->d->model->dim, x->n, c->t);
    c->row = *rows;
    *rows += stage->d->model->dim;
    derivative_rows_active(stage, stage->n_contacts++, u);
    return PERP_OK;
  }
  const double w = after + perp_velocity_bias_at(stage, c, x, un),
               unit = stage->pass == NULL ? stage->d->speed : stage->d->length;
  if (w > KINK * unit) return PERP_OK;
  derivative_rows_margin(stage, PERP_GRADIENT_TOUCHES, stage->n_contacts++, -1, w);
  return PERP_OK;
}

static perp_status derivative_rows_contacts(perp_ctx *ctx, perp_velocity_stage *stage,
                                            const double *v_free, int *rows)
{
  static const double open[3] = { 0 };
  const perp_contacts *all = stage->w->contacts;
  const perp_contact_pass *pass = stage->pass;
  const int n = pass != NULL ? pass->n : all->task.n;
  const perp_contact *contact = pass != NULL ? pass->contact : all->task.contact;
  const double *impulse = pass != NULL ? pass->impulse : all->task.impulse;
  double most = pass != NULL ? 0
                             : fabs(perp_model_gravity_at(stage->d->model, stage->t)) * stage->h;
  for (int i = 0; i < n; i++)
    if (pass != NULL || all->kept[i])
      most = fmax(most, perp_dot(3, contact[i].n, impulse + 3 * i) *
                            derivative_rows_mobility(stage, &contact[i], contact[i].n));
  for (int i = 0; i < n; i++) {
    const bool kept = pass != NULL || all->kept[i];
    PERP_TRY(derivative_rows_take(ctx, stage, &contact[i], kept ? impulse + 3 * i : open,
                                  pass == NULL && kept ? all->mu[i] : contact[i].mu, most, v_free,
                                  rows));
  }
  return PERP_OK;
}

/* The bias of a limit, as drives_give_back and drives_add_side have it. */
static perp_velocity_bias derivative_rows_limit(const perp_velocity_stage *stage,
                                                const perp_velocity_drive *drive, double bias,
                                                double rate)
{
  const perp_model *model = stage->d->model;
  const perp_drive_def *def = &model->drive_def[drive->drive];
  double J[2][6];
  const double x = perp_drive_row(model, &stage->eval, drive->drive, J[0], J[1]),
               gap = drive->side == DRIVES_LOWER ? x - def->lower : def->upper - x,
               tiny = 1e-12 * fmax(fabs(bias), fabs(gap) / stage->h);
  if (def->lower != def->upper && def->restitution > 0 &&
      fabs(bias - def->restitution * rate) <= tiny && rate < 0)
    return PERP_VELOCITY_RESTITUTION;
  if (def->lower != def->upper && gap > 0)
    return fabs(bias - gap / stage->h) <= tiny ? PERP_VELOCITY_GAP : PERP_VELOCITY_ZERO;
  return fabs(bias - DRIVES_GIVE_BACK * gap / stage->h) <= tiny ? PERP_VELOCITY_FEEDBACK
                                                                : PERP_VELOCITY_ZERO;
}

static void derivative_rows_drives(perp_velocity_stage *stage, int *rows)
{
  const perp_model *model = stage->d->model;
  const perp_drives *all = stage->w->drives;
  for (int r = 0; r < all->n; r++) {
    const perp_island_row *row = &all->row[r];
    perp_velocity_drive *drive = &stage->drive[stage->n_drives];
    *drive = (perp_velocity_drive){ .drive = all->slot[r] / DRIVES_ROWS_EACH,
                                    .side = all->slot[r] % DRIVES_ROWS_EACH,
                                    .sign = all->sign[r],
                                    .lambda = row->lambda,
                                    .soft = row->soft,
                                    .row = -1 };
    const double rate = perp_island_row_product(model, row, stage->d->v),
                 w = perp_island_row_product(model, row, stage->x) + row->soft * row->lambda +
                     row->bias,
                 unit = model->drive[drive->drive].slides ? stage->d->speed
                                                          : stage->d->speed / stage->d->length;
    const bool limit = drive->side != DRIVES_MOTOR, locked = row->lo == -HUGE_VAL && limit;
    if (limit) drive->bias = derivative_rows_limit(stage, drive, row->bias, rate);
    const double inside = fmin(row->lambda - row->lo, row->hi - row->lambda),
                 most = isfinite(row->hi) ? row->hi : fabs(row->lambda);
    memset(stage->row, 0, (size_t)model->nv * sizeof *stage->row);
    if (locked || inside > KINK * most) {
      drive->row = (*rows)++;
    } else if (fabs(w) <= KINK * unit) {
      /* at its bound, and at what it aims at */
      if (!limit) drive->row = (*rows)++;
      derivative_rows_margin(stage, limit ? PERP_GRADIENT_TOUCHES : PERP_GRADIENT_BOUND, -1,
                             stage->n_drives, limit ? w : inside);
    } else if (limit) {
      continue; /* open: no force, no row */
    }
    stage->n_drives++;
  }
}

/* ---- the matrices ---- */

static void derivative_rows_matrix_contact(perp_velocity_stage *stage,
                                           const perp_velocity_contact *contact)
{
  perp_derivative_rows *R = stage->d->rows;
  const perp_model *model = stage->d->model;
  const size_t nv = (size_t)model->nv, n = (size_t)R->n, row = (size_t)contact->row;
  const double *N = contact->at.n, pn = perp_dot(3, N, contact->P);
  for (int k = 0; k < model->dim; k++) {
    double e[3] = { 0 };
    e[k] = 1;
    perp_velocity_push(stage, &contact->at, 1, e, R->G + nv * (row + (size_t)k));
    R->D[row + n * (row + (size_t)k)] = contact->soft * N[k];
  }
  perp_velocity_push(stage, &contact->at, 1, N, R->B + nv * row);
  for (int l = 1; l < model->dim; l++) {
    const double *t = contact->t[l - 1];
    double *B = R->B + nv * (row + (size_t)l), y[3];
    if (contact->friction == PERP_VELOCITY_STICKS) {
      perp_velocity_push(stage, &contact->at, 1, t, B);
      continue;
    }
    const bool slides = contact->friction == PERP_VELOCITY_SLIDES;
    const double along = slides ? perp_dot(3, t, contact->slide) / contact->speed : 0;
    for (int k = 0; k < model->dim; k++)
      R->D[row + (size_t)l + n * (row + (size_t)k)] = t[k] + contact->mu * along * N[k];
    for (int k = 0; k < 3 && slides; k++) y[k] = t[k] - along * contact->slide[k] / contact->speed;
    if (slides) perp_velocity_push(stage, &contact->at, contact->mu * pn / contact->speed, y, B);
  }
}

static void derivative_rows_matrix(perp_velocity_stage *stage)
{
  perp_derivative_rows *R = stage->d->rows;
  const perp_model *model = stage->d->model;
  const size_t nv = (size_t)model->nv, n = (size_t)R->n;
  perp_island_row row;
  for (int i = 0; i < stage->n_contacts; i++)
    if (stage->contact[i].row >= 0) derivative_rows_matrix_contact(stage, &stage->contact[i]);
  for (int i = 0; i < stage->n_drives; i++) {
    const perp_velocity_drive *drive = &stage->drive[i];
    if (drive->row < 0) continue;
    const size_t at = (size_t)drive->row;
    perp_velocity_drive_at(stage, drive, model, stage->d->v, &row);
    perp_island_row_apply(model, &row, 1, R->G + nv * at);
    perp_island_row_apply(model, &row, 1, R->B + nv * at);
    R->D[at + n * at] = drive->soft;
  }
  for (int i = 0; i < stage->n_margins; i++) {
    const perp_velocity_margin *at = &stage->margin[i];
    const bool length = at->row.cause == PERP_GRADIENT_AT_GAP || stage->pass != NULL;
    R->unit[i] = length ? stage->d->length : stage->d->speed;
    double *B = R->Bm + nv * (size_t)i, *D = R->Dm + n * (size_t)i;
    if (at->drive >= 0) {
      const perp_velocity_drive *drive = &stage->drive[at->drive];
      perp_velocity_drive_at(stage, drive, model, stage->d->v, &row);
      if (at->row.cause == PERP_GRADIENT_TOUCHES) perp_island_row_apply(model, &row, 1, B);
      if (at->row.cause == PERP_GRADIENT_BOUND) D[drive->row] = drive->lambda > 0 ? -1 : 1;
      if (at->row.cause == PERP_GRADIENT_BOUND) R->unit[i] = fabs(drive->lambda);
      continue;
    }
    const perp_velocity_contact *contact = &stage->contact[at->contact];
    if (at->row.cause == PERP_GRADIENT_TOUCHES)
      perp_velocity_push(stage, &contact->at, 1, contact->at.n, B);
    if (at->row.cause != PERP_GRADIENT_STICKS) continue;
    const double pn = perp_dot(3, contact->at.n, contact->P);
    R->unit[i] = contact->mu * pn;
    double along[3];
    for (int k = 0; k < 3; k++) along[k] = contact->P[k] - pn * contact->at.n[k];
    const double size = sqrt(perp_dot(3, along, along));
    for (int k = 0; k < model->dim; k++)
      D[contact->row + k] = contact->mu * contact->at.n[k] - (size > 0 ? along[k] / size : 0);
  }
}

perp_status perp_velocity_rows(perp_ctx *ctx, perp_velocity_stage *stage, const double *v_free)
{
  const perp_contacts *contacts = stage->w->contacts;
  const int n = contacts == NULL ? 0 : stage->pass != NULL ? stage->pass->n : contacts->task.n;
  int rows = 0;
  PERP_TRY(derivative_rows_list(ctx, stage, n));
  if (n > 0) PERP_TRY(derivative_rows_contacts(ctx, stage, v_free, &rows));
  if (stage->w->drives != NULL && stage->pass == NULL) derivative_rows_drives(stage, &rows);
  PERP_TRY(perp_derivative_room(ctx, stage->d, rows, stage->n_margins));
  derivative_rows_matrix(stage);
  return PERP_OK;
}
