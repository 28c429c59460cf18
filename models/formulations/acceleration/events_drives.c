/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/acceleration/events_drives.h"
#include "models/contact/step/drives.h"

#include <stdlib.h>
#include <string.h>

static const double PART = 1.0;    /* m/s or rad/s: no overrun is given back faster */
static const double NEARLY = 1e-9; /* of max_force: a servo changes this far beyond its bound */

enum { MOTOR, LIMIT, ROWS_EACH };
enum { LOWER, UPPER };
static const double sign_of[] = { 1, -1 };

/* What a drive does in a step. */
typedef struct mode {
  int motor;     /* 1, -1: force +-max_force; 0: holds its velocity, or is the spring of a servo */
  bool rests[2]; /* limits; one of them at most */
  double gap[2]; /* at the start */
  double back;   /* /s: speed of a motor against its direction at the start */
  bool fed;      /* feedback of the start: */
  double motor_fed, fed_rate, fed_gap[2];
} mode;

/* A drive at a state. */
typedef struct look {
  perp_island_row row; /* bodies and J only */
  double x, rate;
  double velocity, change, error; /* of the motor now, the rate of its velocity; x - target */
  double gap[2];
} look;

struct perp_event_drives {
  const perp_model *model;
  perp_drive_tolerances o;
  bool fresh;          /* no state has been accepted yet */
  mode *now, *next;    /* [drives] of the step; of the state accepted last */
  mode *was;           /* [drives] of the step before */
  bool *kept, *struck; /* [2 drives] limits that touch; that rebounded */
  look *at;            /* [drives] of the last evaluation */
  double *plain;       /* [drives] known force */
  double *force;       /* [slots] of rows, along x: guess */
  double *total;       /* [drives] of the last evaluation */
  double *shown;       /* [drives] of the last one at a regular state */
  perp_island_row *row;
  int *slot;    /* [rows] */
  double *sign; /* [rows] of J against x */
  int n;
  bool regular;
};

static void events_drives_layout(void *ws, perp_arena *a)
{
  perp_event_drives *d = ws;
  const int n = d->model->n_drives, rows = ROWS_EACH * n;
  d->now = PERP_CARVE(a, mode, n);
  d->next = PERP_CARVE(a, mode, n);
  d->was = PERP_CARVE(a, mode, n);
  d->kept = PERP_CARVE(a, bool, 2 * n);
  d->struck = PERP_CARVE(a, bool, 2 * n);
  d->at = PERP_CARVE(a, look, n);
  d->plain = PERP_CARVE(a, double, n);
  d->force = PERP_CARVE(a, double, rows);
  PERP_DOUBLES(a, n, &d->total, &d->shown);
  d->row = PERP_CARVE(a, perp_island_row, rows);
  d->slot = PERP_CARVE(a, int, rows);
  d->sign = PERP_CARVE(a, double, rows);
}

perp_status perp_event_drives_create(perp_ctx *ctx, const perp_model *model,
                                     const perp_drive_tolerances *tol, perp_event_drives **out)
{
  perp_event_drives like = { .model = model, .o = *tol };
  void *ws;
  *out = NULL;
  PERP_TRY(perp_workspace_create(ctx, "drives", &like, sizeof like, events_drives_layout, &ws));
  perp_event_drives *d = ws;
  perp_event_drives_restart(d);
  *out = d;
  return PERP_OK;
}

void perp_event_drives_destroy(perp_event_drives *d)
{
  free(d);
}

void perp_event_drives_restart(perp_event_drives *d)
{
  const size_t n = (size_t)d->model->n_drives;
  d->fresh = true;
  d->regular = false;
  d->n = 0;
  memset(d->now, 0, n * sizeof *d->now);
  memset(d->next, 0, n * sizeof *d->next);
  memset(d->was, 0, n * sizeof *d->was);
  memset(d->kept, 0, 2 * n * sizeof *d->kept);
  memset(d->struck, 0, 2 * n * sizeof *d->struck);
  memset(d->at, 0, n * sizeof *d->at);
  memset(d->plain, 0, n * sizeof *d->plain);
  memset(d->force, 0, ROWS_EACH * n * sizeof *d->force);
  memset(d->total, 0, n * sizeof *d->total);
  memset(d->shown, 0, n * sizeof *d->shown);
}

/* ---- one drive ---- */

static bool is_servo(const perp_drive_def *def)
{
  return def->max_force > 0 && (def->stiffness > 0 || def->damping > 0);
}

static bool is_motor(const perp_drive_def *def)
{
  return def->max_force > 0 && !is_servo(def);
}

static bool is_kinematic(const perp_drive_def *def)
{
  return is_motor(def) && def->max_force == HUGE_VAL;
}

static bool is_locked(const perp_drive_def *def)
{
  return def->lower == def->upper;
}

static look events_drives_look_at(const perp_event_drives *d, const perp_constrained *k,
                                  const double *v, int i)
{
  const perp_model *m = d->model;
  const perp_drive_def *def = &m->drive_def[i];
  look at = { .row = { .body = { m->drive[i].a, m->drive[i].b } } };
  at.x = perp_drive_row(m, k->e, i, at.row.J[0], at.row.J[1]);
  at.rate = perp_island_row_product(m, &at.row, v);
  at.gap[LOWER] = at.x - def->lower;
  at.gap[UPPER] = def->upper - at.x;
  perp_drive_velocity(m, i, k->e->t, &at.change);
  at.error = perp_drive_error(m, k->e, i, at.x, k->e->t, &at.velocity);
  return at;
}

/* rad or m */
static double events_drives_tolerance(const perp_event_drives *d, int i)
{
  return d->o.tol[d->model->drive[i].slides];
}

static double events_drives_hold(const perp_event_drives *d, int i)
{
  return d->o.hold[d->model->drive[i].slides];
}

/* without its bound */
static double events_drives_spring(const perp_drive_def *def, const look *at)
{
  return -def->stiffness * at->error - def->damping * (at->rate - at->velocity);
}

/* ---- forces ---- */

void perp_event_drives_push(perp_event_drives *d, const perp_constrained *k, const double *v,
                            double *f)
{
  for (int i = 0; i < d->model->n_drives; i++) {
    const perp_drive_def *def = &d->model->drive_def[i];
    d->at[i] = events_drives_look_at(d, k, v, i);
    const int motor = d->now[i].motor;
    d->plain[i] = motor != 0      ? motor * def->max_force
                  : is_servo(def) ? events_drives_spring(def, &d->at[i])
                                  : 0;
    perp_island_row_apply(d->model, &d->at[i].row, d->plain[i], f);
  }
}

static void events_drives_add(perp_event_drives *d, int slot, double sign, perp_island_row row)
{
  const int r = d->n++;
  d->slot[r] = slot;
  d->sign[r] = sign;
  row.lambda = fmin(fmax(sign * d->force[slot], row.lo), row.hi);
  for (int side = 0; side < 2; side++)
    for (int j = 0; j < d->model->nvb; j++) row.J[side][j] *= sign;
  d->row[r] = row;
}

/* What is left of velocities and gaps, as the rows of drive i feed it back. */
static void events_drives_errors(perp_event_drives *d, int i, mode *at)
{
  const look *l = &d->at[i];
  at->motor_fed = l->rate - l->velocity;
  at->fed_rate = l->rate;
  for (int side = LOWER; side <= UPPER; side++) at->fed_gap[side] = l->gap[side];
}

int perp_event_drives_rows(perp_event_drives *d, const perp_constrained *k, const double *v,
                           bool frozen, perp_island_row **rows)
{
  const double tau = d->o.relax;
  d->n = 0;
  for (int i = 0; i < d->model->n_drives; i++) {
    const perp_drive_def *def = &d->model->drive_def[i];
    const look *at = &d->at[i];
    const double bias = perp_drive_bias(d->model, k->e, i, v);
    perp_island_row row = at->row;
    mode error = d->now[i];
    if (!(frozen && error.fed)) events_drives_errors(d, i, &error);
    if (is_motor(def) && d->now[i].motor == 0) {
      row.bias = bias + error.motor_fed / tau - at->change;
      row.hi = frozen ? HUGE_VAL : def->max_force;
      row.lo = -row.hi;
      events_drives_add(d, ROWS_EACH * i + MOTOR, 1, row);
    }
    if (is_locked(def)) {
      row.bias = bias + (2 * error.fed_rate + error.fed_gap[LOWER] / tau) / tau;
      row.hi = HUGE_VAL;
      row.lo = -HUGE_VAL;
      events_drives_add(d, ROWS_EACH * i + LIMIT, 1, row);
      continue;
    }
    for (int side = LOWER; side <= UPPER; side++) {
      if (!d->now[i].rests[side]) continue;
      const double gap = fmax(error.fed_gap[side], -2 * PART * tau),
                   tol = events_drives_tolerance(d, i);
      const double left = gap > tol ? gap - tol : fmin(gap + tol, 0);
      row.bias = sign_of[side] * (bias + 2 * error.fed_rate / tau) + left / (tau * tau);
      row.lo = frozen ? -HUGE_VAL : 0;
      row.hi = HUGE_VAL;
      events_drives_add(d, ROWS_EACH * i + LIMIT, sign_of[side], row);
    }
  }
  *rows = d->row;
  return d->n;
}

void perp_event_drives_feed(perp_event_drives *d)
{
  for (int i = 0; i < d->model->n_drives; i++) {
    events_drives_errors(d, i, &d->now[i]);
    d->now[i].fed = true;
  }
}

/* ---- modes within a step ---- */

void perp_event_drives_part(perp_event_drives *d, const double *a, double least)
{
  for (int r = 0; r < d->n; r++) {
    const perp_island_row *row = &d->row[r];
    mode *now = &d->now[d->slot[r] / ROWS_EACH];
    if (d->slot[r] % ROWS_EACH == MOTOR || row->lo == -HUGE_VAL || row->lambda > 0) continue;
    if (perp_island_row_product(d->model, row, a) + row->bias > least)
      now->rests[d->sign[r] > 0 ? LOWER : UPPER] = false;
  }
}

double perp_event_drives_margin(const perp_event_drives *d)
{
  double most = 0, least = HUGE_VAL;
  for (int r = 0; r < d->n; r++) most = fmax(most, fabs(d->row[r].lambda));
  for (int r = 0; r < d->n; r++) {
    const perp_drive_def *def = &d->model->drive_def[d->slot[r] / ROWS_EACH];
    const double force = d->row[r].lambda;
    if (d->slot[r] % ROWS_EACH == MOTOR) {
      if (isfinite(def->max_force))
        least = fmin(least, (def->max_force - fabs(force)) / def->max_force);
    } else if (!is_locked(def) && most > 0) {
      least = fmin(least, force / most);
    }
  }
  return least;
}

int perp_event_drives_release(perp_event_drives *d, double past, double *f)
{
  int released = 0;
  for (int r = 0; r < d->n; r++) {
    const int i = d->slot[r] / ROWS_EACH;
    const perp_drive_def *def = &d->model->drive_def[i];
    const double force = d->sign[r] * d->row[r].lambda;
    if (d->slot[r] % ROWS_EACH != MOTOR || !(fabs(force) > def->max_force * (1 + past))) continue;
    mode *now = &d->now[i];
    now->motor = force > 0 ? 1 : -1;
    now->back = fmax(0, -now->motor * (d->at[i].velocity - d->at[i].rate));
    d->plain[i] = now->motor * def->max_force;
    perp_island_row_apply(d->model, &d->at[i].row, d->plain[i], f);
    released++;
  }
  return released;
}

double perp_event_drives_largest(const perp_event_drives *d, const double *a)
{
  double most = 0;
  for (int r = 0; r < d->n; r++)
    most = fmax(most, fabs(perp_island_row_product(d->model, &d->row[r], a) + d->row[r].bias));
  return most;
}

double perp_event_drives_apart(const perp_event_drives *d, const double *a, const double *b)
{
  double most = 0;
  for (int r = 0; r < d->n; r++)
    most = fmax(most, fabs(perp_island_row_product(d->model, &d->row[r], a) -
                           perp_island_row_product(d->model, &d->row[r], b)));
  return most;
}

void perp_event_drives_swap(perp_event_drives *d)
{
  mode *swap = d->now;
  d->now = d->was;
  d->was = swap;
}

double perp_event_drives_violation(const perp_event_drives *d, const double *a)
{
  double worst = 0;
  for (int r = 0; r < d->n; r++) {
    const perp_island_row *row = &d->row[r];
    const double w = perp_island_row_product(d->model, row, a) + row->bias;
    const double low = row->lambda > row->lo ? w : 0, high = row->lambda < row->hi ? -w : 0;
    worst = fmax(worst, fmax(low, high));
  }
  return worst;
}

void perp_event_drives_remember(perp_event_drives *d, bool intermediate, bool guess)
{
  const int n = d->model->n_drives;
  memcpy(d->total, d->plain, (size_t)n * sizeof *d->total);
  if (guess) memset(d->force, 0, ROWS_EACH * (size_t)n * sizeof *d->force);
  for (int r = 0; r < d->n; r++) {
    const double force = d->sign[r] * d->row[r].lambda;
    if (guess) d->force[d->slot[r]] = force;
    d->total[d->slot[r] / ROWS_EACH] += force;
  }
  if (intermediate && (d->regular || !guess)) return;
  memcpy(d->shown, d->total, (size_t)n * sizeof *d->shown);
  d->regular = !intermediate;
}

void perp_event_drives_apply(const perp_event_drives *d, double *f)
{
  for (int i = 0; i < d->model->n_drives; i++)
    perp_island_row_apply(d->model, &d->at[i].row, d->total[i], f);
}

const double *perp_event_drives_forces(const perp_event_drives *d)
{
  return d->shown;
}

/* ---- events ---- */

/* A limit that touched at the start of the step may be as deep as it was, and the tolerance. */
static double events_drives_allowance(const perp_event_drives *d, int i, int side)
{
  const double gap = d->now[i].gap[side], tol = events_drives_tolerance(d, i);
  return gap <= 2 * tol ? tol + fmax(0, -gap) : 0;
}

void perp_event_drives_lows(const perp_event_drives *d, const perp_constrained *k, const double *v,
                            double *gap, double *speed, double *load)
{
  for (int i = 0; i < d->model->n_drives; i++) {
    const perp_drive_def *def = &d->model->drive_def[i];
    const look at = events_drives_look_at(d, k, v, i);
    const int motor = d->now[i].motor;
    for (int side = LOWER; side <= UPPER && !is_locked(def); side++)
      if (!d->now[i].rests[side])
        *gap = fmin(*gap, at.gap[side] + events_drives_allowance(d, i, side));
    if (is_servo(def) && isfinite(def->max_force)) {
      const double force = events_drives_spring(def, &at);
      const double left = motor != 0 ? motor * force - def->max_force
                                     : def->max_force - fabs(force);
      *load = fmin(*load, left + NEARLY * def->max_force);
    } else if (motor != 0) {
      *speed = fmin(*speed, motor * (at.velocity - at.rate) + d->now[i].back);
    }
  }
}

bool perp_event_drives_touch(perp_event_drives *d, const perp_constrained *k, const double *v)
{
  const double held = d->fresh ? d->o.rest : d->o.keep;
  bool impact = false;
  for (int i = 0; i < d->model->n_drives; i++) {
    const perp_drive_def *def = &d->model->drive_def[i];
    const look at = events_drives_look_at(d, k, v, i);
    const int side = at.gap[LOWER] <= at.gap[UPPER] ? LOWER : UPPER;
    const double rate = sign_of[side] * at.rate;
    const bool rests = d->now[i].rests[side];
    d->kept[2 * i] = d->kept[2 * i + 1] = false;
    impact |= (is_locked(def) && fabs(at.rate) > held) ||
              (is_kinematic(def) && fabs(at.rate - at.velocity) > held);
    if (is_locked(def)) continue;
    /* what closes before it could be located touches */
    d->kept[2 * i + side] = at.gap[side] <=
                                events_drives_tolerance(d, i) - d->o.locate * fmin(rate, 0) ||
                            (rests && at.gap[side] <= events_drives_hold(d, i));
    impact |= d->kept[2 * i + side] && rate < -(rests ? d->o.keep : d->o.rest);
  }
  return impact;
}

/* Speed that an impact takes out of the drive, below zero: none; side: of a limit, -1: a locked
 * drive. */
static double struck_at(const perp_event_drives *d, int i, const look *at, int *side)
{
  *side = d->kept[2 * i + LOWER] ? LOWER : d->kept[2 * i + UPPER] ? UPPER : -1;
  if (is_locked(&d->model->drive_def[i])) return fabs(at->rate);
  return *side < 0 ? -HUGE_VAL : -sign_of[*side] * at->rate;
}

double perp_event_drives_approach(const perp_event_drives *d, const perp_constrained *k,
                                  const double *v)
{
  double fastest = 0;
  int side;
  for (int i = 0; i < d->model->n_drives; i++) {
    const perp_drive_def *def = &d->model->drive_def[i];
    const look at = events_drives_look_at(d, k, v, i);
    fastest = fmax(fastest, struck_at(d, i, &at, &side));
    if (is_kinematic(def)) fastest = fmax(fastest, fabs(at.rate - at.velocity));
  }
  return fastest;
}

int perp_event_drives_impact(perp_event_drives *d, const perp_constrained *k, const double *v,
                             perp_island_row **rows, bool *bounces)
{
  d->n = 0;
  *bounces = false;
  for (int i = 0; i < d->model->n_drives; i++) {
    const perp_drive_def *def = &d->model->drive_def[i];
    const look at = events_drives_look_at(d, k, v, i);
    perp_island_row row = at.row;
    int side;
    const double speed = struck_at(d, i, &at, &side);
    d->struck[2 * i] = d->struck[2 * i + 1] = false;
    row.lo = -HUGE_VAL;
    row.hi = HUGE_VAL;
    if (is_kinematic(def)) {
      row.bias = -at.velocity;
      events_drives_add(d, ROWS_EACH * i + MOTOR, 1, row);
    }
    if (speed == -HUGE_VAL) continue;
    row.bias = 0;
    if (side >= 0) {
      row.lo = 0;
      d->struck[2 * i + side] = speed > PERP_DRIVE_REBOUND && def->restitution > 0;
      if (d->struck[2 * i + side]) row.bias = -def->restitution * speed;
      *bounces |= d->struck[2 * i + side];
    }
    events_drives_add(d, ROWS_EACH * i + LIMIT, side < 0 ? 1 : sign_of[side], row);
  }
  for (int r = 0; r < d->n; r++) d->row[r].lambda = 0;
  *rows = d->row;
  return d->n;
}

/* ---- a regular state ---- */

static int motor_of(const perp_event_drives *d, int i, const look *at)
{
  const perp_drive_def *def = &d->model->drive_def[i];
  if (def->max_force == 0 || def->max_force == HUGE_VAL) return 0;
  if (is_servo(def)) {
    const double force = events_drives_spring(def, at), beyond = 0.5 * NEARLY * def->max_force;
    const int motor = d->fresh ? 0 : d->now[i].motor;
    if (motor * force >= def->max_force - beyond && motor != 0) return motor;
    return fabs(force) >= def->max_force + beyond ? (force > 0 ? 1 : -1) : 0;
  }
  const double off = at->velocity - at->rate;
  return fabs(off) > d->o.slip ? (off > 0 ? 1 : -1) : 0;
}

void perp_event_drives_stock(perp_event_drives *d, const perp_constrained *k, const double *v,
                             bool impact)
{
  for (int i = 0; i < d->model->n_drives; i++) {
    const look at = events_drives_look_at(d, k, v, i);
    mode *next = &d->next[i];
    *next = (mode){ .motor = motor_of(d, i, &at), .gap = { at.gap[LOWER], at.gap[UPPER] } };
    const int side = at.gap[LOWER] <= at.gap[UPPER] ? LOWER : UPPER;
    const double rate = sign_of[side] * at.rate;
    const bool rested = d->now[i].rests[side] && !(impact && d->struck[2 * i + side]);
    next->rests[side] = d->kept[2 * i + side] && at.gap[side] <= events_drives_hold(d, i) &&
                        rate <= (rested ? d->o.keep : d->o.rest);
  }
}

int perp_event_drives_adopt(perp_event_drives *d)
{
  int changes = 0;
  for (int i = 0; i < d->model->n_drives && !d->fresh; i++) {
    changes += d->now[i].motor != d->next[i].motor;
    for (int side = LOWER; side <= UPPER; side++)
      changes += d->now[i].rests[side] != d->next[i].rests[side];
  }
  memcpy(d->was, d->now, (size_t)d->model->n_drives * sizeof *d->was);
  memcpy(d->now, d->next, (size_t)d->model->n_drives * sizeof *d->now);
  d->fresh = d->regular = false;
  return changes;
}
