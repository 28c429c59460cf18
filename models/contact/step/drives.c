/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/drives_private.h"

#include <stdlib.h>
#include <string.h>

#define PUSH      1.0   /* m/s or rad/s: no overrun is given back faster */
#define TOLERANCE 1e-10 /* of the LCP, relative */
#define REACHED   1e-9  /* m or rad: a limit that is nearer holds at the end of a step */

static void drives_layout(void *ws, perp_arena *a)
{
  perp_drives *d = ws;
  const perp_model *m = d->model;
  const int rows = DRIVES_ROWS_EACH * m->n_drives, alone = m->n_shapes > 0 ? 0 : rows;
  d->row = PERP_CARVE(a, perp_island_row, rows);
  d->slot = PERP_CARVE(a, int, rows);
  d->has_both = PERP_CARVE(a, bool, m->n_drives);
  PERP_DOUBLES(a, rows, &d->sign, &d->impulse, &d->kept[PERP_AT_START], &d->kept[PERP_AT_END]);
  d->open = PERP_CARVE(a, bool, rows);
  d->stop.before = PERP_CARVE(a, bool, m->n_drives);
  PERP_DOUBLES(a, rows, &d->gap_start, &d->speed_start);
  PERP_DOUBLES(a, m->n_drives, &d->stop.slip, &d->stop.h, &d->stop.force);
  PERP_DOUBLES(a, m->n_drives, &d->force, &d->force_start, &d->rate_start, &d->pushed);
  d->Y = PERP_CARVE(a, double, alone * m->nv);
  d->A = PERP_CARVE(a, double, alone *alone);
  PERP_DOUBLES(a, alone, &d->b, &d->lo, &d->hi, &d->unit, &d->lambda, &d->w);
  PERP_DOUBLES(a, m->m, &d->c, &d->mult);
  PERP_DOUBLES(a, m->nv, &d->f, &d->f0, &d->a0);
}

perp_status perp_drives_check(perp_ctx *ctx, const perp_model *m, perp_level level,
                              const perp_desc *lcp)
{
  unsigned need = 0;
  PERP_TRY(perp_lcp_unstructured(ctx, lcp, "limits and motors"));
  for (int i = 0; i < m->n_drives; i++) {
    const perp_drive_def *def = &m->drive_def[i];
    const bool force = level == PERP_LEVEL_ACCELERATION && perp_drive_is_servo(def);
    if (def->max_force > 0 && !force)
      need |= isfinite(def->max_force) ? PERP_LCP_BOX : PERP_LCP_FREE;
    if (def->lower == def->upper) need |= PERP_LCP_FREE;
  }
  if ((lcp->caps & need) == need) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "limits and motors of the model need an LCP solver for %s: '%s' does not "
                   "support them; use --lcp dantzig",
                   need & PERP_LCP_BOX ? "finite bounds" : "free rows", lcp->name);
}

perp_status perp_drives_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                               const perp_compliance *limits, double tol_data, double budget,
                               perp_drives **out)
{
  perp_drives like = { .model = model,
                       .named = parts->lcp.d->name,
                       .tol_data = tol_data,
                       .budget = budget,
                       .limits = *limits };
  void *ws;
  *out = NULL;
  PERP_TRY(perp_drives_check(ctx, model, PERP_LEVEL_VELOCITY, parts->lcp.d));
  PERP_TRY(perp_workspace_create(ctx, "drives", &like, sizeof like, drives_layout, &ws));
  perp_drives *d = ws;
  perp_status status = PERP_OK;
  if (model->n_shapes == 0)
    status = perp_lcp_create(ctx, &parts->lcp, DRIVES_ROWS_EACH * model->n_drives, 0, &d->lcp);
  if (status != PERP_OK) {
    perp_drives_destroy(d);
    return status;
  }
  memset(d->c, 0, (size_t)model->m * sizeof *d->c);
  perp_drives_restart(d);
  *out = d;
  return PERP_OK;
}

void perp_drives_destroy(perp_drives *d)
{
  if (d == NULL) return;
  perp_lcp_destroy(d->lcp);
  free(d);
}

void perp_drives_restart(perp_drives *d)
{
  d->n = 0;
  d->h_before = 0;
  d->stop.now = -1;
  memset(d->stop.before, 0, (size_t)d->model->n_drives * sizeof *d->stop.before);
  d->count = (perp_contact_count){ 0 };
  memset(d->force, 0, (size_t)d->model->n_drives * sizeof *d->force);
}

void perp_drives_keep(perp_drives *d, perp_step_end which)
{
  memcpy(d->kept[which], d->impulse,
         DRIVES_ROWS_EACH * (size_t)d->model->n_drives * sizeof **d->kept);
  d->h_kept[which] = d->h_before;
}

void perp_drives_within(perp_drives *d, double time)
{
  d->within = time;
}

void perp_drives_put_back(perp_drives *d, perp_step_end which)
{
  memcpy(d->impulse, d->kept[which],
         DRIVES_ROWS_EACH * (size_t)d->model->n_drives * sizeof **d->kept);
  d->h_before = d->h_kept[which];
}

const perp_contact_count *perp_drives_count(const perp_drives *d)
{
  return &d->count;
}

void perp_drives_observe(perp_drives *d, perp_contact_observer *observer, void *user)
{
  d->observer = observer;
  d->user = user;
}

const double *perp_drives_forces(const perp_drives *d)
{
  return d->force;
}

double perp_drives_speed(const perp_drives *d, double t)
{
  const perp_model *m = d->model;
  double fastest = 0;
  for (int i = 0; i < m->n_drives; i++)
    if (m->drive_def[i].max_force > 0)
      fastest = fmax(fastest,
                     fabs(perp_drive_velocity(m, i, t, NULL)) * (m->drive[i].slides ? 1 : m->size));
  return fastest;
}

/* ---- rows ---- */

/* Is it a spring at the start of the step, which is a force? */
static bool drives_pushes(const perp_drives *d, int i)
{
  const perp_drive_def *def = &d->model->drive_def[i];
  return d->symplectic && def->max_force > 0 && def->stiffness > 0 && def->damping == 0;
}

void perp_drives_symplectic(perp_drives *d)
{
  d->symplectic = true;
}

void perp_drives_push(perp_drives *d, perp_constrained *k, double h)
{
  const perp_model *m = d->model;
  for (int i = 0; i < m->n_drives; i++) {
    const perp_drive_def *def = &m->drive_def[i];
    if (!drives_pushes(d, i)) continue;
    perp_island_row row = { .body = { m->drive[i].a, m->drive[i].b } };
    double velocity;
    const double x = perp_drive_row(m, k->e, i, row.J[0], row.J[1]),
                 force = -def->stiffness * perp_drive_error(m, k->e, i, x, k->e->t, &velocity);
    d->pushed[i] = fmin(fmax(force, -def->max_force), def->max_force);
    perp_island_row_apply(m, &row, h * d->pushed[i], k->f);
  }
}

/* t: of the end of the step */
static void add_motor(perp_drives *d, const perp_eval *e, int i, double t, double x, double h,
                      perp_island_row row)
{
  const perp_drive_def *def = &d->model->drive_def[i];
  const double k = def->stiffness, c = def->damping;
  double velocity;
  const double error = perp_drive_error(d->model, e, i, x, t, &velocity);
  row.bias = -velocity;
  if (k > 0 || c > 0) {
    /* lambda = -h (k (x + h xdot - target) + c (xdot - velocity)), xdot at the end of the step; of
     * a spring at the start without h xdot */
    const double b = d->symplectic ? c : h * k + c;
    row.soft = 1 / (h * b);
    row.bias = (k * error - c * velocity) / b;
  }
  row.hi = h * def->max_force;
  if (d->end != PERP_DRIVES_WHOLE) { /* half the impulse: J v + S lambda of the whole one */
    row.hi *= 0.5;
    row.soft *= 2;
  }
  row.lo = -row.hi;
  perp_drives_add(d, DRIVES_ROWS_EACH * i + DRIVES_MOTOR, 1, h, row);
}

void perp_drives_half(perp_drives *d, perp_drives_end end)
{
  d->end = end;
}

/* Bias and softness of a limit: the way to it, or what is given back of its overrun. */
static void drives_give_back(const perp_drives *d, int slot, double gap, double h,
                             perp_island_row *row)
{
  if (d->limits.on) row->soft = perp_compliance_softness(&d->limits, h);
  if (d->within > 0 && (gap < 0 || d->impulse[slot] != 0))
    row->bias = gap / fmax(h, d->within);
  else if (gap > 0)
    row->bias = gap / h;
  else if (d->limits.on)
    row->bias = perp_compliance_alpha(&d->limits, h) * gap;
  else
    row->bias = fmax(DRIVES_GIVE_BACK * gap / h, -PUSH);
}

/* One of two limits; ahead: the rate of x by which it is told whether the step reaches it. */
static void drives_add_side(perp_drives *d, int i, bool lower, double x, double xdot, double ahead,
                            double h, perp_island_row row)
{
  const perp_drive_def *def = &d->model->drive_def[i];
  const double below = x - def->lower, above = def->upper - x, sign = lower ? 1 : -1,
               gap = lower ? below : above, beyond = lower ? above : below, rate = sign * xdot;
  const int slot = DRIVES_ROWS_EACH * i + (lower ? DRIVES_LOWER : DRIVES_UPPER);
  row.hi = HUGE_VAL;
  drives_give_back(d, slot, gap, h, &row);
  const bool reached = gap + h * sign * ahead < 0;
  /* no rebound goes beyond the other limit, which may be a row, too */
  if (reached && rate < -PERP_DRIVE_REBOUND && def->restitution > 0) {
    row.bias = fmax(def->restitution * rate, -fmax(beyond, 0) / h);
    row.soft = 0;
  }
  if (d->end ==
      PERP_DRIVES_END) { /* what arrives just now rebounds from the velocity of the start */
    const double arrived = sign * d->rate_start[i];
    row.bias = arrived < -PERP_DRIVE_REBOUND ? def->restitution * arrived : 0;
    if (gap > REACHED) row.hi = 0;
  }
  perp_drives_add(d, slot, sign, h, row);
}

static void add_limit(perp_drives *d, int i, double x, double xdot, double free_rate, double h,
                      perp_island_row row)
{
  const perp_drive_def *def = &d->model->drive_def[i];
  const double below = x - def->lower, above = def->upper - x;
  if (def->lower == def->upper) {
    row.hi = HUGE_VAL;
    row.lo = -HUGE_VAL;
    row.bias = d->end == PERP_DRIVES_END ? 0
               : d->within > 0           ? below / fmax(h, d->within)
                                         : DRIVES_GIVE_BACK * below / h;
    if (d->limits.on) {
      row.bias = perp_compliance_alpha(&d->limits, h) * below;
      row.soft = perp_compliance_softness(&d->limits, h);
    }
    perp_drives_add(d, DRIVES_ROWS_EACH * i + DRIVES_LOWER, 1, h, row);
  } else if (fmin(below, above) < HUGE_VAL)
    drives_add_side(d, i, below < above, x, xdot, free_rate, h, row);
}

int perp_drives_rows(perp_drives *d, const perp_constrained *k, double h, const double *v,
                     perp_island_row **rows)
{
  const perp_model *m = d->model;
  d->n = 0;
  for (int i = 0; i < m->n_drives; i++) d->has_both[i] = false;
  if (d->end == PERP_DRIVES_PREDICT || d->end == PERP_DRIVES_MIDDLE || d->end == PERP_DRIVES_IMPACT)
    return perp_drives_part_rows(d, k, h, v, rows);
  for (int i = 0; i < m->n_drives; i++) {
    perp_island_row row = { .body = { m->drive[i].a, m->drive[i].b } };
    const double x = perp_drive_row(m, k->e, i, row.J[0], row.J[1]);
    const double rate = perp_island_row_product(m, &row, v);
    if (d->end == PERP_DRIVES_START) d->rate_start[i] = rate;
    if (m->drive_def[i].max_force > 0 && !drives_pushes(d, i))
      add_motor(d, k->e, i, k->e->t + h, x, h, row);
    add_limit(d, i, x, rate, perp_island_row_product(m, &row, k->a), h, row);
  }
  *rows = d->row;
  return d->n;
}

int perp_drives_missed(perp_drives *d, const perp_constrained *k, double h, const double *v)
{
  const perp_model *m = d->model;
  const int before = d->end == PERP_DRIVES_WHOLE || d->end == PERP_DRIVES_START ? d->n : 0;
  for (int r = 0; r < before; r++) {
    const int i = d->slot[r] / DRIVES_ROWS_EACH, side = d->slot[r] % DRIVES_ROWS_EACH;
    const perp_drive_def *def = &m->drive_def[i];
    const bool other = side == DRIVES_UPPER; /* the lower limit is the other one */
    if (side == DRIVES_MOTOR || def->lower == def->upper || d->has_both[i] ||
        (other ? def->lower == -HUGE_VAL : def->upper == HUGE_VAL))
      continue;
    perp_island_row row = { .body = { m->drive[i].a, m->drive[i].b } };
    const double x = perp_drive_row(m, k->e, i, row.J[0], row.J[1]),
                 rate = perp_island_row_product(m, &row, k->a), end = x + h * rate;
    if (other ? end >= def->lower : end <= def->upper) continue;
    d->has_both[i] = true;
    drives_add_side(d, i, other, x, perp_island_row_product(m, &row, v), rate, h, row);
  }
  return before == 0 ? 0 : d->n - before;
}

void perp_drives_accept(perp_drives *d, double h)
{
  const int slots = DRIVES_ROWS_EACH * d->model->n_drives;
  for (int i = 0; i < slots; i++) d->impulse[i] = 0;
  for (int r = 0; r < d->n; r++) d->impulse[d->slot[r]] = d->sign[r] * d->row[r].lambda;
  for (int i = 0; i < d->model->n_drives; i++)
    if (drives_pushes(d, i)) d->impulse[DRIVES_ROWS_EACH * i + DRIVES_MOTOR] = h * d->pushed[i];
  for (int i = 0; i < d->model->n_drives; i++)
    d->force[i] = (d->end == PERP_DRIVES_END ? d->force_start[i] : 0) +
                  (d->impulse[DRIVES_ROWS_EACH * i + DRIVES_MOTOR] +
                   d->impulse[DRIVES_ROWS_EACH * i + DRIVES_LOWER] +
                   d->impulse[DRIVES_ROWS_EACH * i + DRIVES_UPPER]) /
                      h;
  if (d->end == PERP_DRIVES_START)
    memcpy(d->force_start, d->force, (size_t)d->model->n_drives * sizeof *d->force);
  d->h_before = h;
}

/* ---- all rows in one problem ---- */

/* A = J K J' + S, b = J v^ + bias */
static bool drives_form(perp_drives *d, perp_constrained *k)
{
  const perp_model *m = d->model;
  const int nv = m->nv, n = d->n;
  for (int r = 0; r < n; r++) {
    const perp_island_row *row = &d->row[r];
    memset(d->f, 0, (size_t)nv * sizeof *d->f);
    perp_island_row_apply(m, row, 1, d->f);
    if (!perp_constrained_response(k, d->f, d->c, d->Y + r * nv, d->mult)) return false;
    d->b[r] = row->bias + perp_island_row_product(m, row, k->a);
    d->lo[r] = row->lo;
    d->hi[r] = row->hi;
    d->unit[r] = m->drive[d->slot[r] / DRIVES_ROWS_EACH].slides || !(m->size > 0) ? 1 : m->size;
  }
  for (int r = 0; r < n; r++)
    for (int s = 0; s < n; s++)
      d->A[s + r * n] = perp_island_row_product(m, &d->row[s], d->Y + r * nv) +
                        (r == s ? d->row[r].soft : 0);
  return true;
}

/* The rows as they are, in one problem, from k->f and k->a without drives. */
static bool drives_solve(perp_drives *d, perp_constrained *k)
{
  if (!drives_form(d, k)) return false;
  perp_lcp problem = { .n = d->n,
                       .A = d->A,
                       .lda = d->n,
                       .b = d->b,
                       .lo = d->lo,
                       .hi = d->hi,
                       .unit = d->unit,
                       .tol_data = d->tol_data,
                       .brief = true };
  perp_stats stats = { 0 };
  problem.work = perp_lcp_afford(&problem, d->budget);
  memset(d->lambda, 0, (size_t)d->n * sizeof *d->lambda);
  k->status = perp_lcp_solve(k->ctx, d->lcp, &problem, TOLERANCE, d->lambda, d->w, NULL, &stats);
  if (k->status != PERP_OK) return false;
  if (d->n > d->count.rows) d->count.rows = d->n;
  perp_contact_count_solve(&d->count, d->named, &stats);
  if (d->observer != NULL) d->observer(d->user, NULL, &problem, d->lambda, &stats);
  if (stats.reason != PERP_SWEEPS_DONE) k->reason = stats.reason;
  if (stats.reason < 0 && stats.reason != PERP_SWEEPS_DONE) return false;
  for (int r = 0; r < d->n; r++) {
    d->row[r].lambda = d->lambda[r];
    perp_island_row_apply(d->model, &d->row[r], d->lambda[r], k->f);
  }
  return perp_constrained_response(k, k->f, k->c, k->a, k->lambda);
}

bool perp_drives_step(perp_drives *d, perp_constrained *k, double h, const double *v)
{
  const size_t size = (size_t)d->model->nv * sizeof *d->f0;
  perp_island_row *rows;
  if (perp_drives_rows(d, k, h, v, &rows) == 0) {
    perp_drives_accept(d, h);
    return true;
  }
  memcpy(d->f0, k->f, size);
  memcpy(d->a0, k->a, size);
  for (int round = 0; round < PERP_DRIVE_ROUNDS; round++) {
    if (round > 0) {
      memcpy(k->f, d->f0, size);
      memcpy(k->a, d->a0, size);
    }
    if (!drives_solve(d, k)) return false;
    if (round + 1 == PERP_DRIVE_ROUNDS || perp_drives_missed(d, k, h, v) == 0) break;
  }
  perp_drives_accept(d, h);
  return true;
}
