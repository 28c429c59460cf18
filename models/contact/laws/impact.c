/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The laws of impact.h.  Stronge's path is a sequence of phases.  A phase in which the direction d
 * = dp/dp_n is constant (no friction, sticking, slip along a line) is a parabola of the work over
 * p_n, solved in closed form.  Where the slip turns, polar coordinates of the slip s (cos phi, sin
 * phi) and a stretched impulse, dp_n = s dtau, keep the equations regular up to the stop:
 *
 *      (ln s)' = c_t . r(phi),   phi' = c_t . r'(phi),   p' = s d(phi),   W' = s u_n,   c = A d.
 *
 * Sources: Routh 1905; Stronge 1990; Bhatt and Koechling 1995 (directions after a stop); Chatterjee
 * and Ruina 1998. */
#include "models/contact/laws/impact.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *const perp_impact_names[] = { "newton", "poisson", "stronge", "chatterjee-ruina",
                                          NULL };

perp_status perp_impact_check(perp_ctx *ctx, int law, double tangential)
{
  if (tangential == 0 || law == PERP_IMPACT_CHATTERJEE_RUINA) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_OPTION,
                   "impact=%s has no tangential restitution: leave out tangential = %g, or use "
                   "impact=chatterjee-ruina",
                   perp_impact_names[law], tangential);
}

enum { PHASES_MOST = 64, STEPS_MOST = 100000, SECTORS = 256 };
static const double STOPPED = 1e-12; /* of the largest slip: it has stopped */
static const double TOL = 1e-12;     /* of one step of the integration */

static double impact_row(const perp_impact *impact, int i, const double *p)
{
  double sum = 0;
  for (int k = 0; k < impact->r; k++) sum += impact->A[i + k * impact->r] * p[k];
  return sum;
}

/* y [r - 1] of A_tt y = b, of least size where A_tt is singular */
static void impact_tangential(const perp_impact *impact, const double *b, double *y)
{
  const double *A = impact->A;
  if (impact->r == 2) {
    y[0] = A[3] > 0 ? b[0] / A[3] : 0;
    return;
  }
  const double a = A[4], c = A[5], d = A[8], det = a * d - c * c, trace = a + d;
  if (det > 4 * DBL_EPSILON * trace * trace) {
    y[0] = (d * b[0] - c * b[1]) / det;
    y[1] = (a * b[1] - c * b[0]) / det;
    return;
  }
  for (int k = 0; k < 2; k++) /* of rank one: A_tt / trace projects on its range */
    y[k] = trace > 0 ? (k == 0 ? a * b[0] + c * b[1] : c * b[0] + d * b[1]) / (trace * trace) : 0;
}

/* ---- Chatterjee and Ruina ---- */

static void impact_chatterjee_ruina(const perp_impact *x, double tangential, double *p)
{
  const double first = -x->u[0] / x->A[0]; /* p_I */
  double side[2] = { 0 }, b[2] = { 0 }, stick[3] = { 0 };
  p[0] = (1 + x->e) * first;
  for (int k = 1; k < x->r; k++) p[k] = 0;
  if (x->r == 1 || !(x->mu > 0)) return;
  /* p_II - p_I = (delta_n, stick_t) leaves u_n alone: A_nn delta_n + A_nt stick_t = 0, and ends the
   * slip */
  perp_impact s = *x;
  for (int i = 1; i < x->r; i++) {
    b[i - 1] = -(x->u[i] + x->A[i] * first);
    for (int k = 1; k < x->r; k++) s.A[i + k * x->r] -= x->A[i] * x->A[k] / x->A[0];
  }
  impact_tangential(&s, b, side);
  for (int k = 1; k < x->r; k++) {
    stick[k] = side[k - 1];
    stick[0] -= x->A[k] * side[k - 1] / x->A[0];
  }
  const double size = hypot(side[0], x->r > 2 ? side[1] : 0);
  double kappa = 1 + tangential;
  if (kappa * size > x->mu * (p[0] + kappa * stick[0]))
    kappa = x->mu * p[0] / (size - x->mu * stick[0]);
  for (int k = 0; k < x->r; k++) p[k] += kappa * stick[k];
}

/* ---- Stronge ---- */

typedef struct impact_path {
  const perp_impact *x;
  double p[3], u[3];
  double compression, restitution; /* J: normal work, <= 0 and >= 0 */
  bool opens;                      /* in restitution */
} impact_path;

static void impact_velocity(const impact_path *path, const double *p, double *u)
{
  for (int i = 0; i < path->x->r; i++) u[i] = path->x->u[i] + impact_row(path->x, i, p);
}

static double impact_slip(const perp_impact *impact, const double *u)
{
  return impact->r == 1 ? 0 : hypot(u[1], impact->r > 2 ? u[2] : 0);
}

/* Work of restitution that is left to be done. */
static double impact_left(const impact_path *w)
{
  return -w->x->e * w->x->e * w->compression - w->restitution;
}

/* Smallest positive delta with u delta + a delta^2 / 2 = work, u >= 0, work >= 0; HUGE_VAL: none.
 */
static double impact_reach(double u, double a, double work)
{
  const double root = u * u + 2 * a * work;
  if (root < 0) return HUGE_VAL;
  const double sum = u + sqrt(root);
  return sum > 0 ? 2 * work / sum : work > 0 ? HUGE_VAL : 0;
}

/* Along d = dp/dp_n up to p_n + most.  True: the impact has ended on the way. */
static bool impact_straight(impact_path *path, const double *d, double most)
{
  const double a = impact_row(path->x, 0, d);
  for (int turn = 0; turn < PHASES_MOST; turn++) {
    const double u = path->u[0];
    double zero = HUGE_VAL, end = HUGE_VAL;
    if (!path->opens && a > 0) zero = fmax(-u / a, 0);
    if (path->opens && a < 0) zero = u / -a;
    if (path->opens) end = impact_reach(u, a, fmax(impact_left(path), 0));
    const double way = fmin(fmin(zero, end), most);
    const bool ends = end <= fmin(zero, most), stops = most < zero;
    if (!isfinite(way)) return true; /* A is not positive semidefinite */
    const double work = u * way + a * way * way / 2;
    if (path->opens)
      path->restitution += work;
    else
      path->compression += work;
    for (int i = 0; i < path->x->r; i++) path->p[i] += way * d[i];
    impact_velocity(path, path->p, path->u);
    most -= way;
    if (ends) return true;
    if (stops) return false;
    path->u[0] = 0;
    path->opens = !path->opens;
  }
  return true;
}

/* State of a turning slip: ln s, phi, p, normal work. */
enum { LOG, ANGLE, IMPULSE, WORK = IMPULSE + 3, STATE };

static void impact_direction(const perp_impact *impact, double phi, double *d)
{
  d[0] = 1;
  d[1] = -impact->mu * cos(phi);
  d[2] = impact->r > 2 ? -impact->mu * sin(phi) : 0;
}

static void impact_rate(const impact_path *path, const double *y, double *f)
{
  const perp_impact *impact = path->x;
  double d[3], u[3];
  impact_direction(impact, y[ANGLE], d);
  const double s = exp(y[LOG]), c1 = impact_row(impact, 1, d), c2 = impact_row(impact, 2, d);
  f[LOG] = c1 * cos(y[ANGLE]) + c2 * sin(y[ANGLE]);
  f[ANGLE] = c2 * cos(y[ANGLE]) - c1 * sin(y[ANGLE]);
  for (int i = 0; i < 3; i++) f[IMPULSE + i] = s * d[i];
  impact_velocity(path, y + IMPULSE, u);
  f[WORK] = s * u[0];
}

static void impact_rk4(const impact_path *path, const double *y, double h, double *out)
{
  static const double at[] = { 0, 0.5, 0.5, 1 }, weight[] = { 1. / 6, 1. / 3, 1. / 3, 1. / 6 };
  double k[STATE] = { 0 }, stage[STATE], sum[STATE];
  memcpy(sum, y, sizeof sum);
  for (int j = 0; j < 4; j++) {
    for (int i = 0; i < STATE; i++) stage[i] = y[i] + h * at[j] * k[i];
    impact_rate(path, stage, k);
    for (int i = 0; i < STATE; i++) sum[i] += h * weight[j] * k[i];
  }
  memcpy(out, sum, sizeof sum);
}

/* Two halves, extrapolated (order 5).  Its error in units of size. */
static double impact_doubled(const impact_path *path, const double *y, double h, const double *size,
                             double *out)
{
  double whole[STATE], half[STATE], worst = 0;
  impact_rk4(path, y, h, whole);
  impact_rk4(path, y, h / 2, half);
  impact_rk4(path, half, h / 2, out);
  for (int i = 0; i < STATE; i++) {
    const double error = (out[i] - whole[i]) / 15;
    worst = fmax(worst, fabs(error) / size[i]);
    out[i] += error;
  }
  return worst;
}

/* Below zero: not yet.  Of the state y, the events that end a part of the path. */
static double impact_event(const impact_path *path, const double *y, bool *ends)
{
  double u[3];
  impact_velocity(path, y + IMPULSE, u);
  const double turns = path->opens ? -u[0] : u[0]; /* opening and closing */
  *ends = false;
  if (!path->opens) return turns;
  const double done = y[WORK] - impact_left(path);
  *ends = done >= turns || turns < 0;
  return *ends ? done : turns;
}

/* The slip turns: up to its stop, false, or the end of the impact, true. */
static bool impact_curved(impact_path *w)
{
  const perp_impact *x = w->x;
  const double largest = impact_slip(x, x->u);
  const double scale = fabs(x->u[0]) + largest, impulse = scale / x->A[0];
  const double size[STATE] = { 1, 1, impulse, impulse, impulse, impulse * scale };
  double y[STATE] = { log(impact_slip(x, w->u)), atan2(w->u[2], w->u[1]) }, next[STATE];
  memcpy(y + IMPULSE, w->p, sizeof w->p);
  double h = 0.01 / x->A[0];
  for (int step = 0; step < STEPS_MOST; step++) {
    const double error = impact_doubled(w, y, h, size, next);
    if (!(error <= TOL)) {
      h *= isfinite(error) ? fmax(0.2, 0.9 * pow(TOL / error, 0.2)) : 0.2;
      continue;
    }
    bool ends;
    const double grow = fmin(4, 0.9 * pow(TOL / fmax(error, 1e-18), 0.2));
    bool hit = impact_event(w, next, &ends) >= 0;
    if (hit) { /* by bisection of the step, to the last bit */
      double low = 0, high = h;
      for (int k = 0; k < 60 && high - low > DBL_EPSILON * h; k++) {
        const double middle = 0.5 * (low + high);
        impact_doubled(w, y, middle, size, next);
        if (impact_event(w, next, &ends) >= 0)
          high = middle;
        else
          low = middle;
      }
      impact_doubled(w, y, high, size, next);
      impact_event(w, next, &ends);
    }
    memcpy(y, next, sizeof y);
    h *= grow;
    memcpy(w->p, y + IMPULSE, sizeof w->p);
    if (hit) {
      if (w->opens)
        w->restitution += y[WORK];
      else
        w->compression += y[WORK];
      y[WORK] = 0;
      if (ends) return true;
      w->opens = !w->opens;
      if (w->opens && !(impact_left(w) > 0)) return true;
    }
    if (exp(y[LOG]) <= STOPPED * scale) break;
  }
  if (w->opens)
    w->restitution += y[WORK];
  else
    w->compression += y[WORK];
  impact_velocity(w, w->p, w->u);
  w->u[1] = w->u[2] = 0;
  return false;
}

/* d along which slip begins that friction cannot hold: it grows along itself. */
static void impact_begins(const perp_impact *impact, double *d)
{
  double best = -HUGE_VAL, angle = 0;
  if (impact->r == 2) {
    impact_direction(impact, impact_row(impact, 1, (const double[]){ 1, 0 }) < 0 ? M_PI : 0, d);
    return;
  }
  for (int k = 0; k < SECTORS; k++) {
    double phi[2] = { 2 * M_PI * k / SECTORS, 2 * M_PI * (k + 1) / SECTORS }, turn[2], grows = 0;
    for (int side = 0; side < 2; side++) {
      impact_direction(impact, phi[side], d);
      turn[side] = impact_row(impact, 2, d) * cos(phi[side]) -
                   impact_row(impact, 1, d) * sin(phi[side]);
    }
    if ((turn[0] > 0) == (turn[1] > 0)) continue;
    for (int bisect = 0; bisect < 60; bisect++) {
      const double middle = 0.5 * (phi[0] + phi[1]);
      impact_direction(impact, middle, d);
      const double t = impact_row(impact, 2, d) * cos(middle) -
                       impact_row(impact, 1, d) * sin(middle);
      phi[(t > 0) == (turn[1] > 0)] = middle;
    }
    impact_direction(impact, phi[0], d);
    grows = impact_row(impact, 1, d) * cos(phi[0]) + impact_row(impact, 2, d) * sin(phi[0]);
    if (grows > best) best = grows, angle = phi[0];
  }
  impact_direction(impact, angle, d);
}

/* One phase; true: the impact has ended. */
static bool impact_phase(impact_path *path, double scale)
{
  const perp_impact *impact = path->x;
  const double slip = impact_slip(impact, path->u);
  double d[3] = { 1, 0, 0 }, hold[2];
  if (impact->r == 1 || !(impact->mu > 0)) return impact_straight(path, d, HUGE_VAL);
  if (slip <= STOPPED * scale) {
    const double pull[2] = { -impact->A[1], impact->r > 2 ? -impact->A[2] : 0 };
    impact_tangential(impact, pull, hold);
    if (hypot(hold[0], impact->r > 2 ? hold[1] : 0) <= impact->mu) {
      d[1] = hold[0];
      if (impact->r > 2) d[2] = hold[1];
    } else {
      impact_begins(impact, d);
    }
    return impact_straight(path, d, HUGE_VAL);
  }
  for (int k = 1; k < impact->r; k++) d[k] = -impact->mu * path->u[k] / slip;
  double along = 0, across = 0, c[3] = { 0 };
  for (int k = 1; k < impact->r; k++) {
    c[k] = impact_row(impact, k, d);
    along += c[k] * path->u[k] / slip;
  }
  if (impact->r > 2) across = (c[2] * path->u[1] - c[1] * path->u[2]) / slip;
  if (fabs(across) > 1e-14 * impact->A[0]) return impact_curved(path);
  const bool ended = impact_straight(path, d, along < 0 ? slip / -along : HUGE_VAL);
  if (!ended)
    for (int k = 1; k < impact->r; k++) path->u[k] = 0;
  return ended;
}

static void impact_stronge(const perp_impact *impact, double *p)
{
  impact_path path = { .x = impact };
  memcpy(path.u, impact->u, (size_t)impact->r * sizeof *p);
  const double scale = fabs(impact->u[0]) + impact_slip(impact, impact->u);
  for (int phase = 0; phase < PHASES_MOST; phase++)
    if (impact_phase(&path, scale)) break;
  memcpy(p, path.p, (size_t)impact->r * sizeof *p);
}

void perp_impact_impulse(const perp_impact_rule *rule, const perp_impact *impact, double *p)
{
  for (int k = 0; k < impact->r; k++) p[k] = 0;
  if (!(impact->A[0] > 0) || !(impact->u[0] < 0)) return;
  if (rule->law == PERP_IMPACT_CHATTERJEE_RUINA)
    impact_chatterjee_ruina(impact, rule->tangential, p);
  else
    impact_stronge(impact, p);
}
