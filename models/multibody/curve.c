/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Curves that points slide on (van Overveld & Barenbrug 1995, section 2.6), and their rows.
 *
 * y is the point in the frame of the curve, s its foot: (y - c(s)) . c'(s) = 0.  With e = y - c(s),
 * and n_k(s) unit vectors perpendicular to c'(s) and to each other,
 *
 *      C_k = n_k . e,      s' = c' . y' / D,   D = |c'|^2 - c'' . e,
 *      grad C_k = n_k + (n_k' . e) c' / D,
 *      C_k'' = (n_k' . y' + n_k'' . e s' + n_k' . e') s' + n_k' . e s''    along y + t y',
 *
 * so that J and Jdot v are exact off the curve too.  The foot is the closest point: the closest of
 * a table of samples (line, circle and helix: directly), then Newton's method.  It has no memory,
 * so that a state alone says what J is; a curve must not come near to itself closer than the point
 * may stray from it.
 *
 * n_1 lies along a x c', n_2 = c' x n_1 / |c'|; a = e_3, or e_1 where the curve runs along e_3. */
#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 200, PER_SPAN = 16, NEWTON = 60 };

struct perp_curve {
  perp_curve_kind kind;
  int dim;
  double radius, rise; /* rise: pitch / 2 pi */
  double lower, upper; /* domain; infinite when there is no end */
  double period;       /* of a closed curve, else 0 */
  double frame[9];     /* columns e_i in the frame of body a */
  int n_data;
  double *data;       /* [n_data][3] of the definition */
  int n;              /* polynomial: coefficients; spline: spans */
  double *c;          /* [n][3], or [n][4][3] in powers of s - span */
  double *moments;    /* spline: [n_data][3] second derivatives */
  int samples;        /* 0: the foot is found directly */
  double first, step; /* of s over the samples */
  double *sample;     /* [samples][3] */
};

static const char *const names[] = {
  [PERP_CURVE_LINE] = "line",
  [PERP_CURVE_CIRCLE] = "circle",
  [PERP_CURVE_HELIX] = "helix",
  [PERP_CURVE_CYCLOID] = "cycloid",
  [PERP_CURVE_POLYNOMIAL] = "polynomial",
  [PERP_CURVE_SPLINE] = "spline",
};

/* ---- points ---- */

/* sum c_k x^k and three derivatives of n vectors */
static void curve_horner(const double *c, int n, double x, double p[4][3])
{
  memset(p, 0, 4 * sizeof *p);
  for (int k = n - 1; k >= 0; k--)
    for (int i = 0; i < 3; i++) {
      p[3][i] = p[3][i] * x + 3 * p[2][i];
      p[2][i] = p[2][i] * x + 2 * p[1][i];
      p[1][i] = p[1][i] * x + p[0][i];
      p[0][i] = p[0][i] * x + c[3 * k + i];
    }
}

/* c, c', c'', c''' at s */
static void curve_at(const perp_curve *curve, double s, double p[4][3])
{
  const double r = curve->radius, cs = cos(s), sn = sin(s);
  memset(p, 0, 4 * sizeof *p);
  switch (curve->kind) {
  case PERP_CURVE_LINE:
    p[0][0] = s, p[1][0] = 1;
    return;
  case PERP_CURVE_HELIX:
    p[0][2] = curve->rise * s, p[1][2] = curve->rise;
    /* fall through */
  case PERP_CURVE_CIRCLE:
    p[0][0] = r * cs, p[0][1] = r * sn;
    p[1][0] = -r * sn, p[1][1] = r * cs;
    for (int i = 0; i < 2; i++) p[2][i] = -p[0][i], p[3][i] = -p[1][i];
    return;
  case PERP_CURVE_CYCLOID:
    p[0][0] = r * (s + sn), p[0][1] = 2 * r * sin(s / 2) * sin(s / 2);
    p[1][0] = r * (1 + cs), p[1][1] = r * sn;
    p[2][0] = -r * sn, p[2][1] = r * cs;
    p[3][0] = -r * cs, p[3][1] = -r * sn;
    return;
  case PERP_CURVE_POLYNOMIAL:
    curve_horner(curve->c, curve->n, s, p);
    return;
  case PERP_CURVE_SPLINE: {
    if (curve->period > 0) s -= curve->period * floor(s / curve->period);
    int span = (int)fmax(0, fmin(curve->n - 1, floor(s)));
    curve_horner(curve->c + 12 * span, 4, s - span, p);
    return;
  }
  }
}

/* ---- foot ---- */

static double curve_guess(const perp_curve *curve, const double y[3])
{
  double angle = atan2(y[1], y[0]);
  switch (curve->kind) {
  case PERP_CURVE_LINE:
    return y[0];
  case PERP_CURVE_HELIX:
    return angle + 2 * M_PI * nearbyint((y[2] / curve->rise - angle) / (2 * M_PI));
  case PERP_CURVE_CIRCLE:
    if (!isfinite(curve->lower) || !isfinite(curve->upper)) return angle;
    /* the turn that is closest to the middle of the arc */
    return angle + 2 * M_PI * nearbyint(((curve->lower + curve->upper) / 2 - angle) / (2 * M_PI));
  default:
    break;
  }
  double least = HUGE_VAL;
  int best = 0;
  for (int i = 0; i < curve->samples; i++) {
    double d = 0;
    for (int j = 0; j < 3; j++) d += pow(y[j] - curve->sample[3 * i + j], 2);
    if (d < least) least = d, best = i;
  }
  return curve->first + best * curve->step;
}

static double curve_foot(const perp_curve *curve, const double y[3], double p[4][3])
{
  const double margin = 0.1 * (curve->upper - curve->lower);
  double s = curve_guess(curve, y);
  for (int i = 0; i < NEWTON; i++) {
    double e[3], slope, f;
    curve_at(curve, s, p);
    for (int j = 0; j < 3; j++) e[j] = y[j] - p[0][j];
    f = perp_dot(3, e, p[1]);
    const double speed = perp_dot(3, p[1], p[1]);
    slope = speed - perp_dot(3, e, p[2]);
    if (!(slope > 0.1 * speed)) slope = speed; /* beyond the centre of curvature */
    double step = f / slope, last = s;
    s += step;
    if (curve->samples > 0 && curve->period == 0) /* it is not defined far from its domain */
      s = fmax(curve->lower - margin, fmin(curve->upper + margin, s));
    if (!(fabs(s - last) > 4e-16 * (1 + fabs(s)))) break;
  }
  curve_at(curve, s, p);
  return s;
}

/* ---- rows ---- */

/* u = w / |w| with its first two derivatives, from those of w */
static void curve_unit(double w[3][3], double u[3][3])
{
  const double r = sqrt(perp_dot(3, w[0], w[0]));
  for (int i = 0; i < 3; i++) u[0][i] = w[0][i] / r;
  const double r1 = perp_dot(3, u[0], w[1]);
  for (int i = 0; i < 3; i++) u[1][i] = (w[1][i] - u[0][i] * r1) / r;
  const double r2 = perp_dot(3, u[1], w[1]) + perp_dot(3, u[0], w[2]);
  for (int i = 0; i < 3; i++) u[2][i] = (w[2][i] - u[0][i] * r2 - 2 * u[1][i] * r1) / r;
}

double perp_curve_rows(const perp_curve *curve, const double r[3], const double *rate, double C[2],
                       double g[2][3], double *bias)
{
  double y[3], p[4][3], n[2][3][3], e[3], ydot[3] = { 0 };
  perp_turn_back(3, curve->frame, r, y);
  if (rate != NULL) perp_turn_back(3, curve->frame, rate, ydot);
  const double s = curve_foot(curve, y, p);
  /* n_1, n_2 with two derivatives each */
  double w[3][3], t[3][3], a[3] = { 0, 0, 1 }, x[3], z[3];
  if (p[1][2] * p[1][2] > 0.81 * perp_dot(3, p[1], p[1])) a[0] = 1, a[2] = 0;
  for (int i = 0; i < 3; i++) perp_cross(a, p[1 + i], w[i]);
  curve_unit(w, n[0]);
  memcpy(w, p[1], sizeof w);
  curve_unit(w, t);
  perp_cross(t[0], n[0][0], n[1][0]);
  perp_cross(t[1], n[0][0], x);
  perp_cross(t[0], n[0][1], z);
  for (int i = 0; i < 3; i++) n[1][1][i] = x[i] + z[i];
  perp_cross(t[2], n[0][0], x);
  perp_cross(t[0], n[0][2], z);
  for (int i = 0; i < 3; i++) n[1][2][i] = x[i] + z[i];
  perp_cross(t[1], n[0][1], x);
  for (int i = 0; i < 3; i++) n[1][2][i] += 2 * x[i];
  for (int i = 0; i < 3; i++) e[i] = y[i] - p[0][i];
  const double D = perp_dot(3, p[1], p[1]) - perp_dot(3, e, p[2]);
  const double sdot = perp_dot(3, p[1], ydot) / D;
  double edot[3];
  for (int i = 0; i < 3; i++) edot[i] = ydot[i] - p[1][i] * sdot;
  /* the foot condition e . c' = 0, differentiated twice with y'' = 0 */
  const double sddot = (perp_dot(3, e, p[3]) * sdot * sdot + 2 * perp_dot(3, edot, p[2]) * sdot -
                        perp_dot(3, p[1], p[2]) * sdot * sdot) /
                       D;
  for (int row = 0; row < curve->dim - 1; row++) {
    const double *n0 = n[row][0], *n1 = n[row][1], *n2 = n[row][2];
    double grad[3];
    C[row] = perp_dot(3, n0, e);
    for (int i = 0; i < 3; i++) grad[i] = n0[i] + perp_dot(3, n1, e) * p[1][i] / D;
    perp_turn(3, curve->frame, grad, g[row]);
    if (bias == NULL) continue;
    /* d/dt of  n . y' + (n' . e) s' */
    bias[row] = perp_dot(3, n1, ydot) * sdot + perp_dot(3, n2, e) * sdot * sdot +
                perp_dot(3, n1, edot) * sdot + perp_dot(3, n1, e) * sddot;
  }
  return s;
}

double perp_curve_gap(const perp_curve *curve, const double r[3], double gap[3], double tangent[3])
{
  double y[3], p[4][3], e[3];
  perp_turn_back(3, curve->frame, r, y);
  const double s = curve_foot(curve, y, p), speed = sqrt(perp_dot(3, p[1], p[1]));
  for (int i = 0; i < 3; i++) e[i] = y[i] - p[0][i];
  for (int i = 0; i < 3; i++) y[i] = p[1][i] / speed;
  perp_turn(3, curve->frame, e, gap);
  perp_turn(3, curve->frame, y, tangent);
  return s;
}

double perp_curve_beyond(const perp_curve *curve, double s)
{
  return fmax(s - curve->upper, curve->lower - s);
}

void perp_curve_point(const perp_curve *curve, double s, double c[3], double tangent[3])
{
  double p[4][3];
  curve_at(curve, s, p);
  perp_turn(3, curve->frame, p[0], c);
  perp_turn(3, curve->frame, p[1], tangent);
}

void perp_curve_domain(const perp_curve *curve, double *lower, double *upper)
{
  *lower = curve->lower;
  *upper = curve->upper;
}

/* ---- from a definition ---- */

/* e_1, e_2, e_3; false when the axes do not give them */
static bool make_frame(const perp_joint_def *def, int dim, double F[9])
{
  double e1[3] = { 0 }, e2[3] = { 0 };
  memcpy(e1, def->axis_a, (size_t)dim * sizeof *e1);
  const double l1 = sqrt(perp_dot(3, e1, e1));
  for (int i = 0; i < 3; i++) e1[i] /= l1;
  if (dim == 2)
    e2[0] = -e1[1], e2[1] = e1[0];
  else
    memcpy(e2, def->axis_b, sizeof e2);
  const double before = sqrt(perp_dot(3, e2, e2)), along = perp_dot(3, e1, e2);
  for (int i = 0; i < 3; i++) e2[i] -= along * e1[i];
  const double l2 = sqrt(perp_dot(3, e2, e2));
  if (!(l1 > 0) || !(l2 > 1e-9 * before)) return false;
  for (int i = 0; i < 3; i++) F[i] = e1[i], F[3 + i] = e2[i] / l2;
  perp_cross(F, F + 3, F + 6);
  return true;
}

/* Second derivatives m_i of the spline at its n points, from  m_(i-1) + 4 m_i + m_(i+1) = 6 (second
 * difference of x): m = 0 at both ends, or periodic, by Gauss-Seidel on a strictly dominant
 * matrix. */
static void spline_moments(int n, bool closed, const double *x, double *m)
{
  memset(m, 0, (size_t)n * 3 * sizeof *m);
  double change = HUGE_VAL, size = 1;
  for (int sweep = 0; sweep < 200 && change > 1e-17 * size; sweep++) {
    change = 0;
    for (int i = closed ? 0 : 1; i < (closed ? n : n - 1); i++) {
      const int a = (i + n - 1) % n, b = (i + 1) % n;
      for (int j = 0; j < 3; j++) {
        const double next = (6 * (x[3 * a + j] - 2 * x[3 * i + j] + x[3 * b + j]) - m[3 * a + j] -
                             m[3 * b + j]) /
                            4;
        change = fmax(change, fabs(next - m[3 * i + j]));
        size = fmax(size, fabs(next));
        m[3 * i + j] = next;
      }
    }
  }
}

static void make_spline(perp_curve *curve)
{
  const int n = curve->n_data;
  const double *x = curve->data, *m = curve->moments;
  spline_moments(n, curve->period > 0, x, curve->moments);
  for (int i = 0; i < curve->n; i++)
    for (int j = 0; j < 3; j++) {
      const int b = 3 * ((i + 1) % n) + j, a = 3 * i + j;
      double *c = curve->c + 12 * i + j;
      c[0] = x[a];
      c[3] = x[b] - x[a] - (2 * m[a] + m[b]) / 6;
      c[6] = m[a] / 2;
      c[9] = (m[b] - m[a]) / 6;
    }
}

static double speed_at(const perp_curve *curve, double s)
{
  double p[4][3];
  curve_at(curve, s, p);
  return sqrt(perp_dot(3, p[1], p[1]));
}

static perp_status make_samples(perp_ctx *ctx, perp_curve *curve, const char *who)
{
  double p[4][3], size = 0, slowest = HUGE_VAL, where = 0, near;
  const double from = isfinite(curve->lower) ? curve->lower : 0,
               to = isfinite(curve->upper) ? curve->upper : 2 * M_PI;
  const int n = curve->samples > 0 ? curve->samples : SAMPLES;
  curve->first = curve->period > 0 ? 0 : from;
  curve->step = (curve->period > 0 ? curve->period : to - from) / (n - 1);
  for (int i = 0; i < n; i++) {
    const double s = curve->first + i * curve->step;
    curve_at(curve, s, p);
    if (curve->samples > 0) memcpy(curve->sample + 3 * i, p[0], sizeof *p);
    const double speed = sqrt(perp_dot(3, p[1], p[1]));
    size = fmax(size, speed);
    if (speed < slowest) slowest = speed, where = s;
  }
  /* the slowest place within one step of s, by thirds */
  double lo = curve->first;
  double hi = curve->first + (n - 1) * curve->step;
  lo = fmax(lo, where - fabs(curve->step)), hi = fmin(hi, where + fabs(curve->step));
  for (int i = 0; i < 100; i++) {
    const double a = lo + (hi - lo) / 3, b = hi - (hi - lo) / 3;
    if (speed_at(curve, a) < speed_at(curve, b))
      hi = b;
    else
      lo = a;
  }
  near = (lo + hi) / 2;
  if (speed_at(curve, near) < slowest) slowest = speed_at(curve, near), where = near;
  if (!(slowest > 1e-6 * size))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: the %s has no tangent at s = %g (|dc/ds| = %.3g): exclude that point "
                     "from its domain [%g, %g]",
                     who, names[curve->kind], where, slowest, curve->lower, curve->upper);
  return PERP_OK;
}

static perp_status set_domain(perp_ctx *ctx, const perp_curve_def *def, perp_curve *curve,
                              const char *who)
{
  double lo = -HUGE_VAL, hi = HUGE_VAL, lower = def->lower, upper = def->upper;
  if (curve->kind == PERP_CURVE_CYCLOID) lo = -M_PI, hi = M_PI;
  if (curve->kind == PERP_CURVE_SPLINE && !def->closed) lo = 0, hi = curve->n;
  if (lower == 0 && upper == 0) {
    lower = lo, upper = hi;
    if (curve->kind == PERP_CURVE_CYCLOID) lower *= 0.999, upper *= 0.999;
  }
  if (!(lower < upper))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: the lower end of the %s must be below its upper end: got [%g, %g]", who,
                     names[curve->kind], lower, upper);
  if (lower < lo || upper > hi)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the %s is defined in [%g, %g] only: got [%g, %g]", who,
                     names[curve->kind], lo, hi, lower, upper);
  if (curve->kind == PERP_CURVE_POLYNOMIAL && !(isfinite(lower) && isfinite(upper)))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a polynomial needs a finite domain: got [%g, %g]", who,
                     lower, upper);
  if (curve->kind == PERP_CURVE_CIRCLE && upper - lower >= 2 * M_PI)
    lower = -HUGE_VAL, upper = HUGE_VAL;
  if (curve->period > 0) lower = -HUGE_VAL, upper = HUGE_VAL;
  curve->lower = lower;
  curve->upper = upper;
  return PERP_OK;
}

static perp_status curve_check(perp_ctx *ctx, const perp_joint_def *def, int dim, const char *who)
{
  const perp_curve_def *curve = &def->curve;
  if ((unsigned)curve->kind >= sizeof names / sizeof *names)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: unknown kind of curve: %d", who, (int)curve->kind);
  const char *name = names[curve->kind];
  if (curve->kind == PERP_CURVE_HELIX && dim == 2)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%s: a helix needs space (dim = 3)", who);
  const bool round = curve->kind == PERP_CURVE_CIRCLE || curve->kind == PERP_CURVE_HELIX ||
                     curve->kind == PERP_CURVE_CYCLOID;
  if (round && !(curve->radius > 0 && isfinite(curve->radius)))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: radius of the %s must be positive: got %g m", who,
                     name, curve->radius);
  if (curve->kind == PERP_CURVE_HELIX && (curve->pitch == 0 || !isfinite(curve->pitch)))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: pitch of the helix must not be 0: use a circle instead", who);
  if (isnan(curve->lower) || isnan(curve->upper))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: the domain of the %s is not finite or infinite: a bound is NaN", who,
                     name);
  const int least = curve->kind == PERP_CURVE_SPLINE       ? (curve->closed ? 3 : 2)
                    : curve->kind == PERP_CURVE_POLYNOMIAL ? 2
                                                           : 0;
  if (curve->n < least || (least > 0 && curve->data == NULL))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the %s needs at least %d %s: got %d", who, name, least,
                     curve->kind == PERP_CURVE_SPLINE ? "points" : "coefficients", curve->n);
  for (int i = 0; least > 0 && i < 3 * curve->n; i++)
    if (!isfinite(curve->data[i]) || (dim == 2 && i % 3 == 2 && curve->data[i] != 0))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: entry %d of the %s is not finite%s", who, i / 3,
                       name, dim == 2 ? ", or leaves the plane" : "");
  return PERP_OK;
}

static void curve_layout(void *curve, perp_arena *arena)
{
  perp_curve *k = curve;
  const bool spline = k->kind == PERP_CURVE_SPLINE;
  PERP_DOUBLES(arena, 3 * k->n_data, &k->data);
  PERP_DOUBLES(arena, spline ? 3 * k->n_data : 0, &k->moments);
  PERP_DOUBLES(arena, (spline ? 12 : 3) * k->n, &k->c);
  PERP_DOUBLES(arena, 3 * k->samples, &k->sample);
}

perp_status perp_curve_create(perp_ctx *ctx, const perp_joint_def *def, int dim, const char *who,
                              perp_curve **out)
{
  const perp_curve_def *curve_def = &def->curve;
  const bool spline = curve_def->kind == PERP_CURVE_SPLINE,
             polynomial = curve_def->kind == PERP_CURVE_POLYNOMIAL;
  *out = NULL;
  PERP_TRY(curve_check(ctx, def, dim, who));
  perp_curve like = { .kind = curve_def->kind,
                      .dim = dim,
                      .radius = curve_def->radius,
                      .rise = curve_def->pitch / (2 * M_PI),
                      .n_data = spline || polynomial ? curve_def->n : 0 };
  like.n = spline && !curve_def->closed ? curve_def->n - 1 : like.n_data;
  if (spline && curve_def->closed) like.period = like.n;
  if (spline) like.samples = PER_SPAN * like.n + 1;
  if (polynomial || curve_def->kind == PERP_CURVE_CYCLOID) like.samples = SAMPLES;
  if (!make_frame(def, dim, like.frame))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: axis_a and axis_b must span the plane of the curve: one is zero, or "
                     "they are parallel",
                     who);
  PERP_TRY(set_domain(ctx, curve_def, &like, who));
  void *block;
  PERP_TRY(perp_workspace_create(ctx, who, &like, sizeof like, curve_layout, &block));
  perp_curve *curve = block;
  if (curve->n_data > 0)
    memcpy(curve->data, curve_def->data, 3 * (size_t)curve->n_data * sizeof *curve->data);
  if (polynomial) memcpy(curve->c, curve_def->data, 3 * (size_t)curve->n * sizeof *curve->c);
  if (spline) make_spline(curve);
  perp_status status = make_samples(ctx, curve, who);
  if (status != PERP_OK) {
    free(curve);
    return status;
  }
  *out = curve;
  return PERP_OK;
}

const double *perp_curve_data(const perp_curve *curve)
{
  return curve->n_data > 0 ? curve->data : NULL;
}
