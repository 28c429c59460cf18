/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/drives_private.h"

#include <stdlib.h>
#include <string.h>

#define PUSH      1.0   /* m/s or rad/s: no overrun is given back faster */
#define TOLERANCE 1e-10 /* of the LCP, relative */
#define REACHED   1e-9  /* m or rad: a limit that is nearer holds at the end of a step */

static void drives_layout(void *ws, perp_arena *a)
{
  perp_drives *drives = ws;
  const perp_model *m = drives->model;
  const int rows = DRIVES_ROWS_EACH * m->n_drives, alone = m->n_shapes > 0 ? 0 : rows;
  drives->row = PERP_CARVE(a, perp_island_row, rows);
  drives->slot = PERP_CARVE(a, int, rows);
  drives->has_both = PERP_CARVE(a, bool, m->n_drives);
  PERP_DOUBLES(a, rows, &drives->sign, &drives->impulse, &drives->kept[PERP_AT_START],
               &drives->kept[PERP_AT_END]);
  drives->open = PERP_CARVE(a, bool, rows);
  drives->stop.before = PERP_CARVE(a, bool, m->n_drives);
  PERP_DOUBLES(a, rows, &drives->gap_start, &drives->speed_start);
  PERP_DOUBLES(a, m->n_drives, &drives->stop.slip, &drives->stop.h, &drives->stop.force);
  PERP_DOUBLES(a, m->n_drives, &drives->force, &drives->force_start, &drives->rate_start,
               &drives->pushed);
  drives->Y = PERP_CARVE(a, double, alone * m->nv);
  drives->A = PERP_CARVE(a, double, alone *alone);
  PERP_DOUBLES(a, alone, &drives->b, &drives->lo, &drives->hi, &drives->unit, &drives->lambda,
               &drives->w);
  PERP_DOUBLES(a, m->m, &drives->c, &drives->mult);
  PERP_DOUBLES(a, m->nv, &drives->f, &drives->f0, &drives->a0);
}

perp_status perp_drives_check(perp_ctx *ctx, const perp_model *model, perp_level level,
                              const perp_desc *lcp)
{
  unsigned need = 0;
  PERP_TRY(perp_lcp_unstructured(ctx, lcp, "limits and motors"));
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *def = &model->drive_def[i];
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
  perp_drives *drives = ws;
  perp_status status = PERP_OK;
  if (model->n_shapes == 0)
    status = perp_lcp_create(ctx, &parts->lcp, DRIVES_ROWS_EACH * model->n_drives, 0, &drives->lcp);
  if (status != PERP_OK) {
    perp_drives_destroy(drives);
    return status;
  }
  memset(drives->c, 0, (size_t)model->m * sizeof *drives->c);
  perp_drives_restart(drives);
  *out = drives;
  return PERP_OK;
}

void perp_drives_destroy(perp_drives *drives)
{
  if (drives == NULL) return;
  perp_lcp_destroy(drives->lcp);
  free(drives);
}

void perp_drives_restart(perp_drives *drives)
{
  drives->n = 0;
  drives->h_before = 0;
  drives->stop.now = -1;
  memset(drives->stop.before, 0, (size_t)drives->model->n_drives * sizeof *drives->stop.before);
  drives->count = (perp_contact_count){ 0 };
  memset(drives->force, 0, (size_t)drives->model->n_drives * sizeof *drives->force);
}

void perp_drives_keep(perp_drives *drives, perp_step_end which)
{
  memcpy(drives->kept[which], drives->impulse,
         DRIVES_ROWS_EACH * (size_t)drives->model->n_drives * sizeof **drives->kept);
  drives->h_kept[which] = drives->h_before;
}

void perp_drives_within(perp_drives *drives, double time)
{
  drives->within = time;
}

void perp_drives_put_back(perp_drives *drives, perp_step_end which)
{
  memcpy(drives->impulse, drives->kept[which],
         DRIVES_ROWS_EACH * (size_t)drives->model->n_drives * sizeof **drives->kept);
  drives->h_before = drives->h_kept[which];
}

const perp_contact_count *perp_drives_count(const perp_drives *drives)
{
  return &drives->count;
}

void perp_drives_observe(perp_drives *drives, perp_contact_observer *observer, void *user)
{
  drives->observer = observer;
  drives->user = user;
}

const double *perp_drives_forces(const perp_drives *drives)
{
  return drives->force;
}

double perp_drives_speed(const perp_drives *drives, double t)
{
  const perp_model *model = drives->model;
  double fastest = 0;
  for (int i = 0; i < model->n_drives; i++)
    if (model->drive_def[i].max_force > 0)
      fastest = fmax(fastest, fabs(perp_drive_velocity(model, i, t, NULL)) *
                                  (model->drive[i].slides ? 1 : model->size));
  return fastest;
}

/* ---- rows ---- */

/* Is it a spring at the start of the step, which is a force? */
static bool drives_pushes(const perp_drives *drives, int i)
{
  const perp_drive_def *def = &drives->model->drive_def[i];
  return drives->symplectic && def->max_force > 0 && def->stiffness > 0 && def->damping == 0;
}

void perp_drives_symplectic(perp_drives *drives)
{
  drives->symplectic = true;
}

void perp_drives_push(perp_drives *drives, perp_constrained *system, double h)
{
  const perp_model *model = drives->model;
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *def = &model->drive_def[i];
    if (!drives_pushes(drives, i)) continue;
    perp_island_row row = { .body = { model->drive[i].a, model->drive[i].b } };
    double velocity;
    const double x = perp_drive_row(model, system->e, i, row.J[0], row.J[1]),
                 force = -def->stiffness *
                         perp_drive_error(model, system->e, i, x, system->e->t, &velocity);
    drives->pushed[i] = fmin(fmax(force, -def->max_force), def->max_force);
    perp_island_row_apply(model, &row, h * drives->pushed[i], system->f);
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

void perp_drives_half(perp_drives *drives, perp_drives_end end)
{
  drives->end = end;
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
static void drives_add_side(perp_drives *drives, int i, bool lower, double x, double xdot,
                            double ahead, double h, perp_island_row row)
{
  const perp_drive_def *def = &drives->model->drive_def[i];
  const double below = x - def->lower, above = def->upper - x, sign = lower ? 1 : -1,
               gap = lower ? below : above, beyond = lower ? above : below, rate = sign * xdot;
  const int slot = DRIVES_ROWS_EACH * i + (lower ? DRIVES_LOWER : DRIVES_UPPER);
  row.hi = HUGE_VAL;
  drives_give_back(drives, slot, gap, h, &row);
  const bool reached = gap + h * sign * ahead < 0;
  /* no rebound goes beyond the other limit, which may be a row, too */
  if (reached && rate < -PERP_DRIVE_REBOUND && def->restitution > 0) {
    row.bias = fmax(def->restitution * rate, -fmax(beyond, 0) / h);
    row.soft = 0;
  }
  if (drives->end ==
      PERP_DRIVES_END) { /* what arrives just now rebounds from the velocity of the start */
    const double arrived = sign * drives->rate_start[i];
    row.bias = arrived < -PERP_DRIVE_REBOUND ? def->restitution * arrived : 0;
    if (gap > REACHED) row.hi = 0;
  }
  perp_drives_add(drives, slot, sign, h, row);
}

static void add_limit(perp_drives *drives, int i, double x, double xdot, double free_rate, double h,
                      perp_island_row row)
{
  const perp_drive_def *def = &drives->model->drive_def[i];
  const double below = x - def->lower, above = def->upper - x;
  if (def->lower == def->upper) {
    row.hi = HUGE_VAL;
    row.lo = -HUGE_VAL;
    row.bias = drives->end == PERP_DRIVES_END ? 0
               : drives->within > 0           ? below / fmax(h, drives->within)
                                              : DRIVES_GIVE_BACK * below / h;
    if (drives->limits.on) {
      row.bias = perp_compliance_alpha(&drives->limits, h) * below;
      row.soft = perp_compliance_softness(&drives->limits, h);
    }
    perp_drives_add(drives, DRIVES_ROWS_EACH * i + DRIVES_LOWER, 1, h, row);
  } else if (fmin(below, above) < HUGE_VAL)
    drives_add_side(drives, i, below < above, x, xdot, free_rate, h, row);
}

int perp_drives_rows(perp_drives *drives, const perp_constrained *system, double h, const double *v,
                     perp_island_row **rows)
{
  const perp_model *model = drives->model;
  drives->n = 0;
  for (int i = 0; i < model->n_drives; i++) drives->has_both[i] = false;
  if (drives->end == PERP_DRIVES_PREDICT || drives->end == PERP_DRIVES_MIDDLE ||
      drives->end == PERP_DRIVES_IMPACT)
    return perp_drives_part_rows(drives, system, h, v, rows);
  for (int i = 0; i < model->n_drives; i++) {
    perp_island_row row = { .body = { model->drive[i].a, model->drive[i].b } };
    const double x = perp_drive_row(model, system->e, i, row.J[0], row.J[1]);
    const double rate = perp_island_row_product(model, &row, v);
    if (drives->end == PERP_DRIVES_START) drives->rate_start[i] = rate;
    if (model->drive_def[i].max_force > 0 && !drives_pushes(drives, i))
      add_motor(drives, system->e, i, system->e->t + h, x, h, row);
    add_limit(drives, i, x, rate, perp_island_row_product(model, &row, system->a), h, row);
  }
  *rows = drives->row;
  return drives->n;
}

int perp_drives_missed(perp_drives *drives, const perp_constrained *system, double h,
                       const double *v)
{
  const perp_model *model = drives->model;
  const int before = drives->end == PERP_DRIVES_WHOLE || drives->end == PERP_DRIVES_START
                         ? drives->n
                         : 0;
  for (int r = 0; r < before; r++) {
    const int i = drives->slot[r] / DRIVES_ROWS_EACH, side = drives->slot[r] % DRIVES_ROWS_EACH;
    const perp_drive_def *def = &model->drive_def[i];
    const bool other = side == DRIVES_UPPER; /* the lower limit is the other one */
    if (side == DRIVES_MOTOR || def->lower == def->upper || drives->has_both[i] ||
        (other ? def->lower == -HUGE_VAL : def->upper == HUGE_VAL))
      continue;
    perp_island_row row = { .body = { model->drive[i].a, model->drive[i].b } };
    const double x = perp_drive_row(model, system->e, i, row.J[0], row.J[1]),
                 rate = perp_island_row_product(model, &row, system->a), end = x + h * rate;
    if (other ? end >= def->lower : end <= def->upper) continue;
    drives->has_both[i] = true;
    drives_add_side(drives, i, other, x, perp_island_row_product(model, &row, v), rate, h, row);
  }
  return before == 0 ? 0 : drives->n - before;
}

void perp_drives_accept(perp_drives *drives, double h)
{
  const int slots = DRIVES_ROWS_EACH * drives->model->n_drives;
  for (int i = 0; i < slots; i++) drives->impulse[i] = 0;
  for (int r = 0; r < drives->n; r++)
    drives->impulse[drives->slot[r]] = drives->sign[r] * drives->row[r].lambda;
  for (int i = 0; i < drives->model->n_drives; i++)
    if (drives_pushes(drives, i))
      drives->impulse[DRIVES_ROWS_EACH * i + DRIVES_MOTOR] = h * drives->pushed[i];
  for (int i = 0; i < drives->model->n_drives; i++)
    drives->force[i] = (drives->end == PERP_DRIVES_END ? drives->force_start[i] : 0) +
                       (drives->impulse[DRIVES_ROWS_EACH * i + DRIVES_MOTOR] +
                        drives->impulse[DRIVES_ROWS_EACH * i + DRIVES_LOWER] +
                        drives->impulse[DRIVES_ROWS_EACH * i + DRIVES_UPPER]) /
                           h;
  if (drives->end == PERP_DRIVES_START)
    memcpy(drives->force_start, drives->force,
           (size_t)drives->model->n_drives * sizeof *drives->force);
  drives->h_before = h;
}

/* ---- all rows in one problem ---- */

/* A = J K J' + S, b = J v^ + bias */
static bool drives_form(perp_drives *drives, perp_constrained *system)
{
  const perp_model *model = drives->model;
  const int nv = model->nv, n = drives->n;
  for (int r = 0; r < n; r++) {
    const perp_island_row *row = &drives->row[r];
    memset(drives->f, 0, (size_t)nv * sizeof *drives->f);
    perp_island_row_apply(model, row, 1, drives->f);
    if (!perp_constrained_response(system, drives->f, drives->c, drives->Y + r * nv, drives->mult))
      return false;
    drives->b[r] = row->bias + perp_island_row_product(model, row, system->a);
    drives->lo[r] = row->lo;
    drives->hi[r] = row->hi;
    drives->unit[r] = model->drive[drives->slot[r] / DRIVES_ROWS_EACH].slides || !(model->size > 0)
                          ? 1
                          : model->size;
  }
  for (int r = 0; r < n; r++)
    for (int s = 0; s < n; s++)
      drives->A[s + r * n] = perp_island_row_product(model, &drives->row[s], drives->Y + r * nv) +
                             (r == s ? drives->row[r].soft : 0);
  return true;
}

/* The rows as they are, in one problem, from system->f and system->a without drives. */
static bool drives_solve(perp_drives *drives, perp_constrained *system)
{
  if (!drives_form(drives, system)) return false;
  perp_lcp problem = { .n = drives->n,
                       .A = drives->A,
                       .lda = drives->n,
                       .b = drives->b,
                       .lo = drives->lo,
                       .hi = drives->hi,
                       .unit = drives->unit,
                       .tol_data = drives->tol_data,
                       .brief = true };
  perp_stats stats = { 0 };
  problem.work = perp_lcp_afford(&problem, drives->budget);
  memset(drives->lambda, 0, (size_t)drives->n * sizeof *drives->lambda);
  system->status = perp_lcp_solve(system->ctx, drives->lcp, &problem, TOLERANCE, drives->lambda,
                                  drives->w, NULL, &stats);
  if (system->status != PERP_OK) return false;
  if (drives->n > drives->count.rows) drives->count.rows = drives->n;
  perp_contact_count_solve(&drives->count, drives->named, &stats);
  if (drives->observer != NULL)
    drives->observer(drives->user, NULL, &problem, drives->lambda, &stats);
  if (stats.reason != PERP_SWEEPS_DONE) system->reason = stats.reason;
  if (stats.reason < 0 && stats.reason != PERP_SWEEPS_DONE) return false;
  for (int r = 0; r < drives->n; r++) {
    drives->row[r].lambda = drives->lambda[r];
    perp_island_row_apply(drives->model, &drives->row[r], drives->lambda[r], system->f);
  }
  return perp_constrained_response(system, system->f, system->c, system->a, system->lambda);
}

bool perp_drives_step(perp_drives *drives, perp_constrained *system, double h, const double *v)
{
  const size_t size = (size_t)drives->model->nv * sizeof *drives->f0;
  perp_island_row *rows;
  if (perp_drives_rows(drives, system, h, v, &rows) == 0) {
    perp_drives_accept(drives, h);
    return true;
  }
  memcpy(drives->f0, system->f, size);
  memcpy(drives->a0, system->a, size);
  for (int round = 0; round < PERP_DRIVE_ROUNDS; round++) {
    if (round > 0) {
      memcpy(system->f, drives->f0, size);
      memcpy(system->a, drives->a0, size);
    }
    if (!drives_solve(drives, system)) return false;
    if (round + 1 == PERP_DRIVE_ROUNDS || perp_drives_missed(drives, system, h, v) == 0) break;
  }
  perp_drives_accept(drives, h);
  return true;
}
