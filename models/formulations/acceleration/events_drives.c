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

static void events_drives_layout(void *ws, perp_arena *arena)
{
  perp_event_drives *drives = ws;
  const int n = drives->model->n_drives, rows = ROWS_EACH * n;
  drives->now = PERP_CARVE(arena, mode, n);
  drives->next = PERP_CARVE(arena, mode, n);
  drives->was = PERP_CARVE(arena, mode, n);
  drives->kept = PERP_CARVE(arena, bool, 2 * n);
  drives->struck = PERP_CARVE(arena, bool, 2 * n);
  drives->at = PERP_CARVE(arena, look, n);
  drives->plain = PERP_CARVE(arena, double, n);
  drives->force = PERP_CARVE(arena, double, rows);
  PERP_DOUBLES(arena, n, &drives->total, &drives->shown);
  drives->row = PERP_CARVE(arena, perp_island_row, rows);
  drives->slot = PERP_CARVE(arena, int, rows);
  drives->sign = PERP_CARVE(arena, double, rows);
}

perp_status perp_event_drives_create(perp_ctx *ctx, const perp_model *model,
                                     const perp_drive_tolerances *tol, perp_event_drives **out)
{
  perp_event_drives like = { .model = model, .o = *tol };
  void *ws;
  *out = NULL;
  PERP_TRY(perp_workspace_create(ctx, "drives", &like, sizeof like, events_drives_layout, &ws));
  perp_event_drives *drives = ws;
  perp_event_drives_restart(drives);
  *out = drives;
  return PERP_OK;
}

void perp_event_drives_destroy(perp_event_drives *drives)
{
  free(drives);
}

void perp_event_drives_restart(perp_event_drives *drives)
{
  const size_t n = (size_t)drives->model->n_drives;
  drives->fresh = true;
  drives->regular = false;
  drives->n = 0;
  memset(drives->now, 0, n * sizeof *drives->now);
  memset(drives->next, 0, n * sizeof *drives->next);
  memset(drives->was, 0, n * sizeof *drives->was);
  memset(drives->kept, 0, 2 * n * sizeof *drives->kept);
  memset(drives->struck, 0, 2 * n * sizeof *drives->struck);
  memset(drives->at, 0, n * sizeof *drives->at);
  memset(drives->plain, 0, n * sizeof *drives->plain);
  memset(drives->force, 0, ROWS_EACH * n * sizeof *drives->force);
  memset(drives->total, 0, n * sizeof *drives->total);
  memset(drives->shown, 0, n * sizeof *drives->shown);
}

/* ---- one drive ---- */

static bool is_servo(const perp_drive_def *def)
{
  return def->max_force > 0 && perp_drive_is_servo(def);
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

static look events_drives_look_at(const perp_event_drives *drives, const perp_constrained *system,
                                  const double *v, int drive)
{
  const perp_model *model = drives->model;
  const perp_drive_def *def = &model->drive_def[drive];
  look at = { .row = { .body = { model->drive[drive].a, model->drive[drive].b } } };
  at.x = perp_drive_row(model, system->e, drive, at.row.J[0], at.row.J[1]);
  at.rate = perp_island_row_product(model, &at.row, v);
  at.gap[LOWER] = at.x - def->lower;
  at.gap[UPPER] = def->upper - at.x;
  perp_drive_velocity(model, drive, system->e->t, &at.change);
  at.error = perp_drive_error(model, system->e, drive, at.x, system->e->t, &at.velocity);
  return at;
}

/* rad or m */
static double events_drives_tolerance(const perp_event_drives *drives, int i)
{
  return drives->o.tol[drives->model->drive[i].slides];
}

static double events_drives_hold(const perp_event_drives *drives, int i)
{
  return drives->o.hold[drives->model->drive[i].slides];
}

/* without its bound */
static double events_drives_spring(const perp_drive_def *def, const look *at)
{
  return -def->stiffness * at->error - def->damping * (at->rate - at->velocity);
}

/* ---- forces ---- */

void perp_event_drives_push(perp_event_drives *drives, const perp_constrained *system,
                            const double *v, double *f)
{
  for (int drive = 0; drive < drives->model->n_drives; drive++) {
    const perp_drive_def *def = &drives->model->drive_def[drive];
    drives->at[drive] = events_drives_look_at(drives, system, v, drive);
    const int motor = drives->now[drive].motor;
    drives->plain[drive] = motor != 0      ? motor * def->max_force
                           : is_servo(def) ? events_drives_spring(def, &drives->at[drive])
                                           : 0;
    perp_island_row_apply(drives->model, &drives->at[drive].row, drives->plain[drive], f);
  }
}

static void events_drives_add(perp_event_drives *drives, int slot, double sign, perp_island_row row)
{
  const int r = drives->n++;
  drives->slot[r] = slot;
  drives->sign[r] = sign;
  row.lambda = fmin(fmax(sign * drives->force[slot], row.lo), row.hi);
  for (int side = 0; side < 2; side++)
    for (int j = 0; j < drives->model->nvb; j++) row.J[side][j] *= sign;
  drives->row[r] = row;
}

/* What is left of velocities and gaps, as the rows of drive i feed it back. */
static void events_drives_errors(perp_event_drives *drives, int i, mode *at)
{
  const look *l = &drives->at[i];
  at->motor_fed = l->rate - l->velocity;
  at->fed_rate = l->rate;
  for (int side = LOWER; side <= UPPER; side++) at->fed_gap[side] = l->gap[side];
}

int perp_event_drives_rows(perp_event_drives *drives, const perp_constrained *system,
                           const double *v, bool frozen, perp_island_row **rows)
{
  const double tau = drives->o.relax;
  drives->n = 0;
  for (int i = 0; i < drives->model->n_drives; i++) {
    const perp_drive_def *def = &drives->model->drive_def[i];
    const look *at = &drives->at[i];
    const double bias = perp_drive_bias(drives->model, system->e, i, v);
    perp_island_row row = at->row;
    mode error = drives->now[i];
    if (!(frozen && error.fed)) events_drives_errors(drives, i, &error);
    if (is_motor(def) && drives->now[i].motor == 0) {
      row.bias = bias + error.motor_fed / tau - at->change;
      row.hi = frozen ? HUGE_VAL : def->max_force;
      row.lo = -row.hi;
      events_drives_add(drives, ROWS_EACH * i + MOTOR, 1, row);
    }
    if (is_locked(def)) {
      row.bias = bias + (2 * error.fed_rate + error.fed_gap[LOWER] / tau) / tau;
      row.hi = HUGE_VAL;
      row.lo = -HUGE_VAL;
      events_drives_add(drives, ROWS_EACH * i + LIMIT, 1, row);
      continue;
    }
    for (int side = LOWER; side <= UPPER; side++) {
      if (!drives->now[i].rests[side]) continue;
      const double gap = fmax(error.fed_gap[side], -2 * PART * tau),
                   tol = events_drives_tolerance(drives, i);
      const double left = gap > tol ? gap - tol : fmin(gap + tol, 0);
      row.bias = sign_of[side] * (bias + 2 * error.fed_rate / tau) + left / (tau * tau);
      row.lo = frozen ? -HUGE_VAL : 0;
      row.hi = HUGE_VAL;
      events_drives_add(drives, ROWS_EACH * i + LIMIT, sign_of[side], row);
    }
  }
  *rows = drives->row;
  return drives->n;
}

void perp_event_drives_feed(perp_event_drives *drives)
{
  for (int drive = 0; drive < drives->model->n_drives; drive++) {
    events_drives_errors(drives, drive, &drives->now[drive]);
    drives->now[drive].fed = true;
  }
}

/* ---- modes within a step ---- */

void perp_event_drives_part(perp_event_drives *drives, const double *a, double least)
{
  for (int r = 0; r < drives->n; r++) {
    const perp_island_row *row = &drives->row[r];
    mode *now = &drives->now[drives->slot[r] / ROWS_EACH];
    if (drives->slot[r] % ROWS_EACH == MOTOR || row->lo == -HUGE_VAL || row->lambda > 0) continue;
    if (perp_island_row_product(drives->model, row, a) + row->bias > least)
      now->rests[drives->sign[r] > 0 ? LOWER : UPPER] = false;
  }
}

double perp_event_drives_margin(const perp_event_drives *drives)
{
  double most = 0, least = HUGE_VAL;
  for (int row = 0; row < drives->n; row++) most = fmax(most, fabs(drives->row[row].lambda));
  for (int row = 0; row < drives->n; row++) {
    const perp_drive_def *def = &drives->model->drive_def[drives->slot[row] / ROWS_EACH];
    const double force = drives->row[row].lambda;
    if (drives->slot[row] % ROWS_EACH == MOTOR) {
      if (isfinite(def->max_force))
        least = fmin(least, (def->max_force - fabs(force)) / def->max_force);
    } else if (!is_locked(def) && most > 0) {
      least = fmin(least, force / most);
    }
  }
  return least;
}

int perp_event_drives_release(perp_event_drives *drives, double past, double *f)
{
  int released = 0;
  for (int row = 0; row < drives->n; row++) {
    const int i = drives->slot[row] / ROWS_EACH;
    const perp_drive_def *def = &drives->model->drive_def[i];
    const double force = drives->sign[row] * drives->row[row].lambda;
    if (drives->slot[row] % ROWS_EACH != MOTOR || !(fabs(force) > def->max_force * (1 + past)))
      continue;
    mode *now = &drives->now[i];
    now->motor = force > 0 ? 1 : -1;
    now->back = fmax(0, -now->motor * (drives->at[i].velocity - drives->at[i].rate));
    drives->plain[i] = now->motor * def->max_force;
    perp_island_row_apply(drives->model, &drives->at[i].row, drives->plain[i], f);
    released++;
  }
  return released;
}

double perp_event_drives_largest(const perp_event_drives *drives, const double *a)
{
  double most = 0;
  for (int row = 0; row < drives->n; row++)
    most = fmax(most, fabs(perp_island_row_product(drives->model, &drives->row[row], a) +
                           drives->row[row].bias));
  return most;
}

double perp_event_drives_apart(const perp_event_drives *drives, const double *a, const double *b)
{
  double most = 0;
  for (int row = 0; row < drives->n; row++)
    most = fmax(most, fabs(perp_island_row_product(drives->model, &drives->row[row], a) -
                           perp_island_row_product(drives->model, &drives->row[row], b)));
  return most;
}

void perp_event_drives_swap(perp_event_drives *drives)
{
  mode *swap = drives->now;
  drives->now = drives->was;
  drives->was = swap;
}

double perp_event_drives_violation(const perp_event_drives *drives, const double *a)
{
  double worst = 0;
  for (int r = 0; r < drives->n; r++) {
    const perp_island_row *row = &drives->row[r];
    const double w = perp_island_row_product(drives->model, row, a) + row->bias;
    const double low = row->lambda > row->lo ? w : 0, high = row->lambda < row->hi ? -w : 0;
    worst = fmax(worst, fmax(low, high));
  }
  return worst;
}

void perp_event_drives_remember(perp_event_drives *drives, bool intermediate, bool guess)
{
  const int n = drives->model->n_drives;
  memcpy(drives->total, drives->plain, (size_t)n * sizeof *drives->total);
  if (guess) memset(drives->force, 0, ROWS_EACH * (size_t)n * sizeof *drives->force);
  for (int row = 0; row < drives->n; row++) {
    const double force = drives->sign[row] * drives->row[row].lambda;
    if (guess) drives->force[drives->slot[row]] = force;
    drives->total[drives->slot[row] / ROWS_EACH] += force;
  }
  if (intermediate && (drives->regular || !guess)) return;
  memcpy(drives->shown, drives->total, (size_t)n * sizeof *drives->shown);
  drives->regular = !intermediate;
}

void perp_event_drives_apply(const perp_event_drives *drives, double *f)
{
  for (int drive = 0; drive < drives->model->n_drives; drive++)
    perp_island_row_apply(drives->model, &drives->at[drive].row, drives->total[drive], f);
}

const double *perp_event_drives_forces(const perp_event_drives *drives)
{
  return drives->shown;
}

/* ---- events ---- */

/* A limit that touched at the start of the step may be as deep as it was, and the tolerance. */
static double events_drives_allowance(const perp_event_drives *drives, int now, int side)
{
  const double gap = drives->now[now].gap[side], tol = events_drives_tolerance(drives, now);
  return gap <= 2 * tol ? tol + fmax(0, -gap) : 0;
}

void perp_event_drives_lows(const perp_event_drives *drives, const perp_constrained *system,
                            const double *v, double *gap, double *speed, double *load)
{
  for (int drive = 0; drive < drives->model->n_drives; drive++) {
    const perp_drive_def *def = &drives->model->drive_def[drive];
    const look at = events_drives_look_at(drives, system, v, drive);
    const int motor = drives->now[drive].motor;
    for (int side = LOWER; side <= UPPER && !is_locked(def); side++)
      if (!drives->now[drive].rests[side])
        *gap = fmin(*gap, at.gap[side] + events_drives_allowance(drives, drive, side));
    if (is_servo(def) && isfinite(def->max_force)) {
      const double force = events_drives_spring(def, &at);
      const double left = motor != 0 ? motor * force - def->max_force
                                     : def->max_force - fabs(force);
      *load = fmin(*load, left + NEARLY * def->max_force);
    } else if (motor != 0) {
      *speed = fmin(*speed, motor * (at.velocity - at.rate) + drives->now[drive].back);
    }
  }
}

bool perp_event_drives_touch(perp_event_drives *drives, const perp_constrained *system,
                             const double *v)
{
  const double held = drives->fresh ? drives->o.rest : drives->o.keep;
  bool impact = false;
  for (int drive = 0; drive < drives->model->n_drives; drive++) {
    const perp_drive_def *def = &drives->model->drive_def[drive];
    const look at = events_drives_look_at(drives, system, v, drive);
    const int side = at.gap[LOWER] <= at.gap[UPPER] ? LOWER : UPPER;
    const double rate = sign_of[side] * at.rate;
    const bool rests = drives->now[drive].rests[side];
    drives->kept[2 * drive] = drives->kept[2 * drive + 1] = false;
    impact |= (is_locked(def) && fabs(at.rate) > held) ||
              (is_kinematic(def) && fabs(at.rate - at.velocity) > held);
    if (is_locked(def)) continue;
    /* what closes before it could be located touches */
    drives->kept[2 * drive + side] = at.gap[side] <= events_drives_tolerance(drives, drive) -
                                                         drives->o.locate * fmin(rate, 0) ||
                                     (rests && at.gap[side] <= events_drives_hold(drives, drive));
    impact |= drives->kept[2 * drive + side] && rate < -(rests ? drives->o.keep : drives->o.rest);
  }
  return impact;
}

/* Speed that an impact takes out of the drive, below zero: none; side: of a limit, -1: a locked
 * drive. */
static double struck_at(const perp_event_drives *drives, int i, const look *at, int *side)
{
  *side = drives->kept[2 * i + LOWER] ? LOWER : drives->kept[2 * i + UPPER] ? UPPER : -1;
  if (is_locked(&drives->model->drive_def[i])) return fabs(at->rate);
  return *side < 0 ? -HUGE_VAL : -sign_of[*side] * at->rate;
}

double perp_event_drives_approach(const perp_event_drives *drives, const perp_constrained *system,
                                  const double *v)
{
  double fastest = 0;
  int side;
  for (int drive = 0; drive < drives->model->n_drives; drive++) {
    const perp_drive_def *def = &drives->model->drive_def[drive];
    const look at = events_drives_look_at(drives, system, v, drive);
    fastest = fmax(fastest, struck_at(drives, drive, &at, &side));
    if (is_kinematic(def)) fastest = fmax(fastest, fabs(at.rate - at.velocity));
  }
  return fastest;
}

int perp_event_drives_impact(perp_event_drives *drives, const perp_constrained *system,
                             const double *v, perp_island_row **rows, bool *bounces)
{
  drives->n = 0;
  *bounces = false;
  for (int i = 0; i < drives->model->n_drives; i++) {
    const perp_drive_def *def = &drives->model->drive_def[i];
    const look at = events_drives_look_at(drives, system, v, i);
    perp_island_row row = at.row;
    int side;
    const double speed = struck_at(drives, i, &at, &side);
    drives->struck[2 * i] = drives->struck[2 * i + 1] = false;
    row.lo = -HUGE_VAL;
    row.hi = HUGE_VAL;
    if (is_kinematic(def)) {
      row.bias = -at.velocity;
      events_drives_add(drives, ROWS_EACH * i + MOTOR, 1, row);
    }
    if (speed == -HUGE_VAL) continue;
    row.bias = 0;
    if (side >= 0) {
      row.lo = 0;
      drives->struck[2 * i + side] = speed > PERP_DRIVE_REBOUND && def->restitution > 0;
      if (drives->struck[2 * i + side]) row.bias = -def->restitution * speed;
      *bounces |= drives->struck[2 * i + side];
    }
    events_drives_add(drives, ROWS_EACH * i + LIMIT, side < 0 ? 1 : sign_of[side], row);
  }
  for (int r = 0; r < drives->n; r++) drives->row[r].lambda = 0;
  *rows = drives->row;
  return drives->n;
}

/* ---- a regular state ---- */

static int motor_of(const perp_event_drives *drives, int now, const look *at)
{
  const perp_drive_def *def = &drives->model->drive_def[now];
  if (def->max_force == 0 || def->max_force == HUGE_VAL) return 0;
  if (is_servo(def)) {
    const double force = events_drives_spring(def, at), beyond = 0.5 * NEARLY * def->max_force;
    const int motor = drives->fresh ? 0 : drives->now[now].motor;
    if (motor * force >= def->max_force - beyond && motor != 0) return motor;
    return fabs(force) >= def->max_force + beyond ? (force > 0 ? 1 : -1) : 0;
  }
  const double off = at->velocity - at->rate;
  return fabs(off) > drives->o.slip ? (off > 0 ? 1 : -1) : 0;
}

void perp_event_drives_stock(perp_event_drives *drives, const perp_constrained *system,
                             const double *v, bool impact)
{
  for (int drive = 0; drive < drives->model->n_drives; drive++) {
    const look at = events_drives_look_at(drives, system, v, drive);
    mode *next = &drives->next[drive];
    *next = (mode){ .motor = motor_of(drives, drive, &at),
                    .gap = { at.gap[LOWER], at.gap[UPPER] } };
    const int side = at.gap[LOWER] <= at.gap[UPPER] ? LOWER : UPPER;
    const double rate = sign_of[side] * at.rate;
    const bool rested = drives->now[drive].rests[side] &&
                        !(impact && drives->struck[2 * drive + side]);
    next->rests[side] = drives->kept[2 * drive + side] &&
                        at.gap[side] <= events_drives_hold(drives, drive) &&
                        rate <= (rested ? drives->o.keep : drives->o.rest);
  }
}

int perp_event_drives_adopt(perp_event_drives *drives)
{
  int changes = 0;
  for (int now = 0; now < drives->model->n_drives && !drives->fresh; now++) {
    changes += drives->now[now].motor != drives->next[now].motor;
    for (int side = LOWER; side <= UPPER; side++)
      changes += drives->now[now].rests[side] != drives->next[now].rests[side];
  }
  memcpy(drives->was, drives->now, (size_t)drives->model->n_drives * sizeof *drives->was);
  memcpy(drives->now, drives->next, (size_t)drives->model->n_drives * sizeof *drives->now);
  drives->fresh = drives->regular = false;
  return changes;
}
