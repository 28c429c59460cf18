/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/drives_private.h"

static const double BOUND = 1e-9; /* of max_force: a motor with more is at it */

void perp_drives_of_part(perp_drives *drives, perp_drives_end end, const perp_drives_part *part)
{
  drives->end = end;
  drives->part = *part;
}

/* A length of 1 m as the coordinate has it. */
static double part_unit(const perp_drives *drives, int i)
{
  return drives->model->drive[i].slides || !(drives->model->size > 0) ? 1 : 1 / drives->model->size;
}

/* From k->e to the end of the part. */
static double part_ahead(const perp_drives *drives)
{
  return drives->end == PERP_DRIVES_PREDICT  ? drives->part.h
         : drives->end == PERP_DRIVES_MIDDLE ? drives->part.h / 2
                                             : 0;
}

static void part_servo(perp_drives *drives, const perp_constrained *k, int i, double x,
                       const double *v, perp_island_row row)
{
  const perp_drive_def *def = &drives->model->drive_def[i];
  const double h = drives->part.h, b = h * def->stiffness / 4 + def->damping / 2,
               rate = perp_island_row_product(drives->model, &row, v);
  double velocity;
  const double error = perp_drive_error(drives->model, k->e, i, x, drives->part.t + h / 2,
                                        &velocity);
  /* from x where k is evaluated to the mean of both ends, but for h / 4 xdot+ */
  const double shift = drives->end == PERP_DRIVES_PREDICT
                           ? h / 4 * rate
                           : -h / 8 *
                                 (rate + perp_island_row_product(drives->model, &row,
                                                                 drives->part.predicted));
  row.soft = 1 / (h * b);
  row.bias = (def->stiffness * (error + shift) + def->damping * (rate / 2 - velocity)) / b;
  row.hi = h * def->max_force;
  row.lo = -row.hi;
  perp_drives_add(drives, DRIVES_ROWS_EACH * i + DRIVES_MOTOR, 1, h, row);
}

static void part_motor(perp_drives *drives, const perp_constrained *system, int i, double x,
                       const double *v, double curvature, perp_island_row row)
{
  const perp_drive_def *def = &drives->model->drive_def[i];
  const bool servo = perp_drive_is_servo(def), impact = drives->end == PERP_DRIVES_IMPACT;
  double velocity;
  if (!(def->max_force > 0) || (impact && (servo || isfinite(def->max_force)))) return;
  if (servo) {
    part_servo(drives, system, i, x, v, row);
    return;
  }
  perp_drive_error(drives->model, system->e, i, x, drives->part.t + (impact ? 0 : drives->part.h),
                   &velocity);
  row.bias = curvature - velocity;
  row.hi = drives->part.h * def->max_force;
  row.lo = -row.hi;
  perp_drives_add(drives, DRIVES_ROWS_EACH * i + DRIVES_MOTOR, 1, drives->part.h, row);
}

/* Does the approach end in an impact?  rates towards the inside, of the start and without drives.
 */
static bool part_fast(const perp_drives *drives, double gap, double rate, double free, double unit)
{
  const double pull = fmax(0, rate - free) / drives->part.h,
               threshold = drives->part.threshold * unit;
  return fmin(rate, free) < 0 && rate * rate + 2 * pull * gap > threshold * threshold;
}

static void part_side(perp_drives *d, int i, bool lower, double x, double rate, double free,
                      double curvature, perp_island_row row)
{
  const perp_drive_def *def = &d->model->drive_def[i];
  const int slot = DRIVES_ROWS_EACH * i + (lower ? DRIVES_LOWER : DRIVES_UPPER);
  const double sign = lower ? 1 : -1, gap = lower ? x - def->lower : def->upper - x,
               unit = part_unit(d, i), h = d->part.h;
  if (!(gap < HUGE_VAL)) return;
  row.hi = HUGE_VAL;
  if (d->end == PERP_DRIVES_IMPACT) {
    if (gap > 2 * d->part.slop * unit) return;
    row.bias = -sign * rate > d->part.threshold * unit ? def->restitution * sign * rate : 0;
    perp_drives_add(d, slot, sign, h, row);
    return;
  }
  if (d->end == PERP_DRIVES_PREDICT) {
    const bool soon = gap + h * fmin(fmin(sign * rate, sign * free), 0) <= d->part.near * unit;
    d->open[slot] = gap > d->part.slop * unit &&
                    (!soon || part_fast(d, gap, sign * rate, sign * free, unit));
  }
  if (d->open[slot]) return;
  row.bias = sign * curvature;
  if (gap > d->part.slop * unit)
    row.bias += gap / h;
  else if (gap < -d->part.slop * unit)
    row.bias += fmax(DRIVES_GIVE_BACK * gap / d->part.whole, -d->part.push * unit);
  perp_drives_add(d, slot, sign, h, row);
}

int perp_drives_part_rows(perp_drives *drives, const perp_constrained *system, double h,
                          const double *v, perp_island_row **rows)
{
  const perp_model *model = drives->model;
  (void)h; /* that of the part */
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *def = &model->drive_def[i];
    perp_island_row row = { .body = { model->drive[i].a, model->drive[i].b } };
    const double x = perp_drive_row(model, system->e, i, row.J[0], row.J[1]),
                 rate = perp_island_row_product(model, &row, v),
                 free = perp_island_row_product(model, &row, system->a),
                 curvature = part_ahead(drives) * perp_drive_bias(model, system->e, i, v);
    part_motor(drives, system, i, x, v, curvature, row);
    if (def->lower == def->upper) {
      row.hi = HUGE_VAL;
      row.lo = -HUGE_VAL;
      if (drives->end != PERP_DRIVES_IMPACT)
        row.bias = curvature + DRIVES_GIVE_BACK * (x - def->lower) / drives->part.whole;
      perp_drives_add(drives, DRIVES_ROWS_EACH * i + DRIVES_LOWER, 1, drives->part.h, row);
      continue;
    }
    part_side(drives, i, true, x, rate, free, curvature, row);
    part_side(drives, i, false, x, rate, free, curvature, row);
  }
  *rows = drives->row;
  return drives->n;
}

bool perp_drives_strike(perp_drives *drives, const perp_constrained *system, const double *v)
{
  const perp_model *model = drives->model;
  bool struck = false;
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *def = &model->drive_def[i];
    perp_island_row row = { .body = { model->drive[i].a, model->drive[i].b } };
    const double x = perp_drive_row(model, system->e, i, row.J[0], row.J[1]),
                 unit = part_unit(drives, i), rate = perp_island_row_product(model, &row, v);
    double velocity;
    perp_drive_error(model, system->e, i, x, drives->part.t, &velocity);
    drives->stop.slip[i] = rate - velocity;
    struck |= isinf(def->max_force) && !perp_drive_is_servo(def) &&
              fabs(rate - velocity) > drives->part.threshold * unit;
    drives->stop.h[i] = 0;
    for (int side = DRIVES_LOWER; side <= DRIVES_UPPER; side++) {
      const int slot = DRIVES_ROWS_EACH * i + side;
      drives->gap_start[slot] = side == DRIVES_LOWER ? x - def->lower : def->upper - x;
      drives->speed_start[slot] = side == DRIVES_LOWER ? rate : -rate;
      drives->open[slot] = true;
      struck |= def->lower < def->upper &&
                drives->gap_start[slot] <= 2 * drives->part.slop * unit &&
                drives->speed_start[slot] < -drives->part.threshold * unit;
    }
  }
  return struck;
}

/* g0 + u t + b t^2 with g1 at h: its first zero behind 0, HUGE_VAL where there is none */
static double part_zero(double g0, double u, double g1, double h)
{
  const double b = (g1 - g0 - u * h) / (h * h), root = u * u - 4 * b * g0;
  const double q = root < 0 ? 0 : -u + sqrt(root);
  return q > 0 ? 2 * g0 / q : HUGE_VAL;
}

/* When motor i, which slips at the start, stops.  Its force brakes with its bound until then.  In a
 * part of the length h that stops it, the mean force is alpha + beta / h. */
static double part_stop(perp_drives *drives, const perp_eval *end, int i, const double *v1)
{
  const perp_drive_def *def = &drives->model->drive_def[i];
  const double h = drives->part.h, slip = drives->stop.slip[i], most = def->max_force,
               brakes = (slip > 0 ? -1 : 1) * drives->impulse[DRIVES_ROWS_EACH * i + DRIVES_MOTOR] /
                        h;
  if (perp_drive_is_servo(def) || !(most > 0) || !isfinite(most) || slip == 0 ||
      drives->stop.before[i])
    return HUGE_VAL;
  const double before = drives->stop.h[i], force = drives->stop.force[i];
  if (brakes < most * (1 - BOUND)) {
    drives->stop.h[i] = h;
    drives->stop.force[i] = brakes;
    if (!(before > 0) || before == h || force == brakes) return h / 2;
    const double beta = (brakes - force) / (1 / h - 1 / before), alpha = brakes - beta / h;
    return beta / (most - alpha);
  }
  if (!(before > 0)) return HUGE_VAL;
  perp_island_row row = { .body = { drives->model->drive[i].a, drives->model->drive[i].b } };
  double velocity;
  const double x = perp_drive_row(drives->model, end, i, row.J[0], row.J[1]);
  perp_drive_error(drives->model, end, i, x, drives->part.t + h, &velocity);
  const double left = perp_island_row_product(drives->model, &row, v1) - velocity;
  return left == slip ? HUGE_VAL : h * slip / (slip - left);
}

/* When a limit that is open is reached. */
static double part_reach(const perp_drives *drives, const perp_eval *end, int i, double *speed)
{
  const perp_drive_def *def = &drives->model->drive_def[i];
  double first = HUGE_VAL;
  if (def->lower == def->upper) return first;
  const double x = perp_drive_coordinate(drives->model, end, i), unit = part_unit(drives, i);
  for (int side = DRIVES_LOWER; side <= DRIVES_UPPER; side++) {
    const int slot = DRIVES_ROWS_EACH * i + side;
    const double gap = side == DRIVES_LOWER ? x - def->lower : def->upper - x,
                 start = drives->gap_start[slot];
    if (!drives->open[slot] || !(start < HUGE_VAL) || !(start > drives->part.slop * unit)) continue;
    const double t = part_zero(start, drives->speed_start[slot], gap, drives->part.h);
    if (t >= first) continue;
    first = t;
    *speed = fabs(drives->speed_start[slot]) / unit;
  }
  return first;
}

double perp_drives_event(perp_drives *drives, const perp_eval *end, const double *v1, double *speed)
{
  double first = HUGE_VAL;
  *speed = 0;
  drives->stop.now = -1;
  for (int i = 0; i < drives->model->n_drives; i++) {
    double approach = 0;
    const double stop = part_stop(drives, end, i, v1),
                 reach = part_reach(drives, end, i, &approach);
    if (stop < first) {
      first = stop;
      *speed = 0;
      drives->stop.now = i;
    }
    if (reach < first) {
      first = reach;
      *speed = approach;
      drives->stop.now = -1;
    }
  }
  return first;
}

void perp_drives_settle(perp_drives *drives, bool settled)
{
  for (int i = 0; i < drives->model->n_drives; i++)
    drives->stop.before[i] = settled && drives->stop.now == i;
}
