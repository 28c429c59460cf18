/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/drives_private.h"

static const double BOUND = 1e-9; /* of max_force: a motor with more is at it */

void perp_drives_of_part(perp_drives *d, perp_drives_end end, const perp_drives_part *part)
{
  d->end = end;
  d->part = *part;
}

/* A length of 1 m as the coordinate has it. */
static double part_unit(const perp_drives *d, int i)
{
  return d->model->drive[i].slides || !(d->model->size > 0) ? 1 : 1 / d->model->size;
}

/* From k->e to the end of the part. */
static double part_ahead(const perp_drives *d)
{
  return d->end == PERP_DRIVES_PREDICT  ? d->part.h
         : d->end == PERP_DRIVES_MIDDLE ? d->part.h / 2
                                        : 0;
}

static void part_servo(perp_drives *d, const perp_constrained *k, int i, double x, const double *v,
                       perp_island_row row)
{
  const perp_drive_def *def = &d->model->drive_def[i];
  const double h = d->part.h, b = h * def->stiffness / 4 + def->damping / 2,
               rate = perp_island_row_product(d->model, &row, v);
  double velocity;
  const double error = perp_drive_error(d->model, k->e, i, x, d->part.t + h / 2, &velocity);
  /* from x where k is evaluated to the mean of both ends, but for h / 4 xdot+ */
  const double shift = d->end == PERP_DRIVES_PREDICT
                           ? h / 4 * rate
                           : -h / 8 *
                                 (rate +
                                  perp_island_row_product(d->model, &row, d->part.predicted));
  row.soft = 1 / (h * b);
  row.bias = (def->stiffness * (error + shift) + def->damping * (rate / 2 - velocity)) / b;
  row.hi = h * def->max_force;
  row.lo = -row.hi;
  perp_drives_add(d, DRIVES_ROWS_EACH * i + DRIVES_MOTOR, 1, h, row);
}

static void part_motor(perp_drives *d, const perp_constrained *k, int i, double x, const double *v,
                       double curvature, perp_island_row row)
{
  const perp_drive_def *def = &d->model->drive_def[i];
  const bool servo = perp_drive_is_servo(def), impact = d->end == PERP_DRIVES_IMPACT;
  double velocity;
  if (!(def->max_force > 0) || (impact && (servo || isfinite(def->max_force)))) return;
  if (servo) {
    part_servo(d, k, i, x, v, row);
    return;
  }
  perp_drive_error(d->model, k->e, i, x, d->part.t + (impact ? 0 : d->part.h), &velocity);
  row.bias = curvature - velocity;
  row.hi = d->part.h * def->max_force;
  row.lo = -row.hi;
  perp_drives_add(d, DRIVES_ROWS_EACH * i + DRIVES_MOTOR, 1, d->part.h, row);
}

/* Does the approach end in an impact?  rates towards the inside, of the start and without drives.
 */
static bool part_fast(const perp_drives *d, double gap, double rate, double free, double unit)
{
  const double pull = fmax(0, rate - free) / d->part.h, threshold = d->part.threshold * unit;
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

int perp_drives_part_rows(perp_drives *d, const perp_constrained *k, double h, const double *v,
                          perp_island_row **rows)
{
  const perp_model *m = d->model;
  (void)h; /* that of the part */
  for (int i = 0; i < m->n_drives; i++) {
    const perp_drive_def *def = &m->drive_def[i];
    perp_island_row row = { .body = { m->drive[i].a, m->drive[i].b } };
    const double x = perp_drive_row(m, k->e, i, row.J[0], row.J[1]),
                 rate = perp_island_row_product(m, &row, v),
                 free = perp_island_row_product(m, &row, k->a),
                 curvature = part_ahead(d) * perp_drive_bias(m, k->e, i, v);
    part_motor(d, k, i, x, v, curvature, row);
    if (def->lower == def->upper) {
      row.hi = HUGE_VAL;
      row.lo = -HUGE_VAL;
      if (d->end != PERP_DRIVES_IMPACT)
        row.bias = curvature + DRIVES_GIVE_BACK * (x - def->lower) / d->part.whole;
      perp_drives_add(d, DRIVES_ROWS_EACH * i + DRIVES_LOWER, 1, d->part.h, row);
      continue;
    }
    part_side(d, i, true, x, rate, free, curvature, row);
    part_side(d, i, false, x, rate, free, curvature, row);
  }
  *rows = d->row;
  return d->n;
}

bool perp_drives_strike(perp_drives *d, const perp_constrained *k, const double *v)
{
  const perp_model *m = d->model;
  bool struck = false;
  for (int i = 0; i < m->n_drives; i++) {
    const perp_drive_def *def = &m->drive_def[i];
    perp_island_row row = { .body = { m->drive[i].a, m->drive[i].b } };
    const double x = perp_drive_row(m, k->e, i, row.J[0], row.J[1]), unit = part_unit(d, i),
                 rate = perp_island_row_product(m, &row, v);
    double velocity;
    perp_drive_error(m, k->e, i, x, d->part.t, &velocity);
    d->stop.slip[i] = rate - velocity;
    struck |= isinf(def->max_force) && !perp_drive_is_servo(def) &&
              fabs(rate - velocity) > d->part.threshold * unit;
    d->stop.h[i] = 0;
    for (int side = DRIVES_LOWER; side <= DRIVES_UPPER; side++) {
      const int slot = DRIVES_ROWS_EACH * i + side;
      d->gap_start[slot] = side == DRIVES_LOWER ? x - def->lower : def->upper - x;
      d->speed_start[slot] = side == DRIVES_LOWER ? rate : -rate;
      d->open[slot] = true;
      struck |= def->lower < def->upper && d->gap_start[slot] <= 2 * d->part.slop * unit &&
                d->speed_start[slot] < -d->part.threshold * unit;
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
static double part_stop(perp_drives *d, const perp_eval *end, int i, const double *v1)
{
  const perp_drive_def *def = &d->model->drive_def[i];
  const double h = d->part.h, slip = d->stop.slip[i], most = def->max_force,
               brakes = (slip > 0 ? -1 : 1) * d->impulse[DRIVES_ROWS_EACH * i + DRIVES_MOTOR] / h;
  if (perp_drive_is_servo(def) || !(most > 0) || !isfinite(most) || slip == 0 || d->stop.before[i])
    return HUGE_VAL;
  const double before = d->stop.h[i], force = d->stop.force[i];
  if (brakes < most * (1 - BOUND)) {
    d->stop.h[i] = h;
    d->stop.force[i] = brakes;
    if (!(before > 0) || before == h || force == brakes) return h / 2;
    const double beta = (brakes - force) / (1 / h - 1 / before), alpha = brakes - beta / h;
    return beta / (most - alpha);
  }
  if (!(before > 0)) return HUGE_VAL;
  perp_island_row row = { .body = { d->model->drive[i].a, d->model->drive[i].b } };
  double velocity;
  const double x = perp_drive_row(d->model, end, i, row.J[0], row.J[1]);
  perp_drive_error(d->model, end, i, x, d->part.t + h, &velocity);
  const double left = perp_island_row_product(d->model, &row, v1) - velocity;
  return left == slip ? HUGE_VAL : h * slip / (slip - left);
}

/* When a limit that is open is reached. */
static double part_reach(const perp_drives *d, const perp_eval *end, int i, double *speed)
{
  const perp_drive_def *def = &d->model->drive_def[i];
  double first = HUGE_VAL;
  if (def->lower == def->upper) return first;
  const double x = perp_drive_coordinate(d->model, end, i), unit = part_unit(d, i);
  for (int side = DRIVES_LOWER; side <= DRIVES_UPPER; side++) {
    const int slot = DRIVES_ROWS_EACH * i + side;
    const double gap = side == DRIVES_LOWER ? x - def->lower : def->upper - x,
                 start = d->gap_start[slot];
    if (!d->open[slot] || !(start < HUGE_VAL) || !(start > d->part.slop * unit)) continue;
    const double t = part_zero(start, d->speed_start[slot], gap, d->part.h);
    if (t >= first) continue;
    first = t;
    *speed = fabs(d->speed_start[slot]) / unit;
  }
  return first;
}

double perp_drives_event(perp_drives *d, const perp_eval *end, const double *v1, double *speed)
{
  double first = HUGE_VAL;
  *speed = 0;
  d->stop.now = -1;
  for (int i = 0; i < d->model->n_drives; i++) {
    double approach = 0;
    const double stop = part_stop(d, end, i, v1), reach = part_reach(d, end, i, &approach);
    if (stop < first) {
      first = stop;
      *speed = 0;
      d->stop.now = i;
    }
    if (reach < first) {
      first = reach;
      *speed = approach;
      d->stop.now = -1;
    }
  }
  return first;
}

void perp_drives_settle(perp_drives *d, bool settled)
{
  for (int i = 0; i < d->model->n_drives; i++) d->stop.before[i] = settled && d->stop.now == i;
}
