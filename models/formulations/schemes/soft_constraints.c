/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Soft constraints as a convex problem of accelerations (E. Todorov, Convex and
 * analytically-invertible dynamics with contacts and constraints, ICRA 2014; the model of MuJoCo,
 * chapter "Computation" of its documentation).
 *
 * Every row has a reference acceleration and an impedance 0 < d < 1, from which its softness
 * follows,
 *
 *      aref = -b v - k r,   R = (1 - d) / d A_ii
 *
 *      b = 2 / (dmax timeconst),   k = d / (dmax timeconst dampratio)^2
 *
 * r the error, v = J v + C_t, d from dmin at r = 0 to dmax at |r| = width, a sigmoid of two powers
 * between.  The accelerations are
 *
 *      a = argmin 1/2 (a - a_0)' M (a - a_0) + sum s(J a - aref),   f = -ds/dw
 *
 *      v+ = v + h a,   q+ = q [+] h v+
 *
 * a_0 those without rows, w = J a - aref: s = w^2 / 2R of joints, of limits where w < 0, of motors
 * with the slope bounded by max_force.  A contact (elliptic cone, R of its tangents R / impratio)
 * has with m = mu / sqrt(impratio), N = m w_n, U = mu w_t, T = |U|
 *
 *      s = 0 for N >= m T;   sum w^2 / 2R for m N + T <= 0
 *
 *      s = (N - m T)^2 / (2 R_n m^2 (1 + m^2)) between:
 *
 * f is in the cone, w + R f in its dual, and they are complementary.  A pyramid has an edge n +- mu
 * t for each of the tangents of MuJoCo's choice (soft_frame), each a row of its own,
 *
 *      w_e = w_n +- mu w_t,   R_e = 2 mu^2 (1 + mu^2) R_n / impratio
 *
 *      s = w_e^2 / 2 R_e where w_e < 0
 *
 * so that friction between two tangents is up to 1 / sqrt(2) of mu.  Newton's method on the primal,
 * exact line search.
 *
 * What it gives up.  Order: 1, to the give of its rows: the reference has no Jdot v, so that joints
 * swing out by v^2 / (k l).  Drift and penetration: at rest what makes a_0 = the pull of the
 * reference, r with g (1 - d) = k d |r| of a body on one contact, whatever the mass; it does not go
 * with h.  Friction: sticks by damping alone, and creeps at a speed of (1 - d) / (d b) times the
 * acceleration held.  Energy: damped; there is no restitution, surfaces with one are refused.  Only
 * what is below 0 has rows, not a gap that is 0.  timeconst is at least 2 h, and A_ii a number of
 * the bodies instead of the state (soft_weight), both as in MuJoCo.
 *
 * Cost: (nv^3 / 3 + rows nv) a Newton iteration, 1 to 5 of them; one evaluation, one collision
 * detection.  No allocation in a step, but for more contacts than ever.  Fails: Newton's method
 * beyond 100 iterations (max-iter), states that are not finite. */
#include "models/formulations/schemes/scheme.h"

#include <float.h>
#include <lapacke.h>
#include <string.h>

enum { SOFT_NEWTON = 100, SOFT_SEARCH = 60 };

struct soft_constraints_opts {
  perp_scheme_opts scheme; /* first */
  int cone;                /* ELLIPTIC, PYRAMIDAL */
  double timeconst, dampratio, dmin, dmax, width, midpoint, power, impratio, tol;
};
enum { ELLIPTIC, PYRAMIDAL };
static const char *const soft_cones[] = { "elliptic", "pyramidal", NULL };
static const perp_opt soft_constraints_options[] = {
  PERP_ENUM(struct soft_constraints_opts, cone, ELLIPTIC, soft_cones,
            "Friction cone: elliptic, or pyramidal with edges along two tangents."),
  PERP_REAL(
      struct soft_constraints_opts, timeconst, 0.02, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX,
      "s", "Time constant of the reference acceleration (solref of MuJoCo); at least 2 h is used."),
  PERP_REAL(struct soft_constraints_opts, dampratio, 1, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX,
            "", "Damping ratio of the reference acceleration (solref of MuJoCo); 1 is critical."),
  PERP_REAL(struct soft_constraints_opts, dmin, 0.9, 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Impedance at zero constraint error (solimp of MuJoCo)."),
  PERP_REAL(struct soft_constraints_opts, dmax, 0.95, 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Impedance at constraint errors of width and more (solimp of MuJoCo)."),
  PERP_REAL(struct soft_constraints_opts, width, 0.001, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX,
            "m",
            "Constraint error at which dmax is reached (solimp of MuJoCo); in rad for angles."),
  PERP_REAL(struct soft_constraints_opts, midpoint, 0.5, 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Midpoint of the sigmoid between dmin and dmax (solimp of MuJoCo)."),
  PERP_REAL(struct soft_constraints_opts, power, 2, 1, HUGE_VAL, PERP_OPEN_MAX, "",
            "Power of the sigmoid between dmin and dmax (solimp of MuJoCo)."),
  PERP_REAL(struct soft_constraints_opts, impratio, 1, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX,
            "", "Ratio of the regularization R of normal rows to that of friction rows."),
  PERP_REAL(struct soft_constraints_opts, tol, 1e-10, 0, 1, PERP_OPEN_MIN, "",
            "Tolerance of the minimization: largest gradient component, relative to the largest of "
            "its terms."),
  PERP_REAL(perp_scheme_opts, slip, 1e-5, 0, HUGE_VAL, 0, "m/s",
            "Sliding speed above which a new contact uses mu_dynamic. Existing contacts use it if "
            "they slid in the previous step."),
  PERP_OPTIONS_END
};

/* w = J a - aref and R of a row, its force and the derivative of it by the weights of its contact
 */
typedef struct soft_row {
  double aref, R; /* R = 0: no row */
  double w, dw;   /* at a, and along the direction of search */
  double f;
} soft_row;

typedef struct soft_constraints {
  perp_scheme s; /* first */
  struct soft_constraints_opts o;
  double *a0, *a, *g, *d, *Md; /* [nv] */
  double *H;                   /* [nv nv] */
  soft_row *x;                 /* [rows] */
  int cap;
  perp_arena grown_x;
} soft_constraints;

/* ---- rows ---- */

/* d of an error r */
static double soft_impedance(const struct soft_constraints_opts *opts, double r)
{
  const double x = fmin(fabs(r) / opts->width, 1), p = opts->power, mid = opts->midpoint;
  const double y = x <= mid ? pow(x, p) / pow(mid, p - 1) : 1 - pow(1 - x, p) / pow(1 - mid, p - 1);
  return opts->dmin + y * (opts->dmax - opts->dmin);
}

/* A_ii as MuJoCo takes it, from mean masses of bodies that are free: rows that move centres count
 * these alone, others the mean of the inverse inertia. */
static double soft_weight(const perp_scheme *scheme, const perp_scheme_row *row)
{
  const int dim = scheme->model->dim;
  double line = 0, turn = 0;
  for (int p = 0; p < 2; p++) {
    if (row->body[p] < 0) continue;
    const perp_inertia *in = &scheme->model->inertia[row->body[p]];
    const double *J = row->J[p], *W = in->Iinv;
    line += perp_dot(dim, J, J) / in->mass;
    turn += dim == 3 ? perp_dot(3, J + 3, J + 3) * (W[0] + W[4] + W[8]) / 3 : J[2] * J[2] * W[8];
  }
  return line > 0 ? line : turn;
}

static void soft_reference(const soft_constraints *constraints, const perp_scheme_row *row,
                           double h, double mu_n, soft_row *x)
{
  const struct soft_constraints_opts *opts = &constraints->o;
  const perp_scheme *scheme = &constraints->s;
  const double v = perp_scheme_speed(scheme, row, scheme->v), tc = fmax(opts->timeconst, 2 * h);
  *x = (soft_row){ .R = 0 };
  if (!(row->A > 0)) return;
  if (row->kind == PERP_SCHEME_OWN && row->own > 0) { /* implicit in the step, as everywhere */
    x->R = row->own;
    x->aref = -(v + row->given) / h;
    return;
  }
  if ((row->kind == PERP_SCHEME_NORMAL || row->kind == PERP_SCHEME_LIMIT) && row->C >= 0) return;
  const bool slides = row->kind == PERP_SCHEME_TANGENT || row->kind == PERP_SCHEME_OWN;
  const double r = slides ? 0 : row->C,
               d = soft_impedance(opts, row->kind == PERP_SCHEME_TANGENT ? mu_n : r);
  const double b = 2 / (opts->dmax * tc), k = d / pow(opts->dmax * tc * opts->dampratio, 2);
  x->R = (1 - d) / d * soft_weight(scheme, row) + row->own;
  x->aref = -b * (v + row->given) - k * r;
}

static void soft_rows(soft_constraints *constraints, double h)
{
  perp_scheme *scheme = &constraints->s;
  for (int contact = 0; contact < scheme->contacts; contact++)
    soft_reference(constraints, &scheme->row[contact], h, 0, &constraints->x[contact]);
  for (int contact = 0; contact < scheme->n_contacts; contact++) {
    const int n = scheme->contact[contact].row;
    soft_reference(constraints, &scheme->row[n], h, 0, &constraints->x[n]);
    for (int k = 1; k < scheme->model->dim; k++) {
      soft_reference(constraints, &scheme->row[n + k], h, scheme->row[n].C, &constraints->x[n + k]);
      constraints->x[n + k].R = constraints->x[n].R / constraints->o.impratio;
    }
  }
}

/* ---- cost ---- */

/* Force of a scalar row at w, and minus its derivative. */
static double soft_scalar(const perp_scheme_row *row, double h, double R, double w, double *slope)
{
  const bool one_sided = row->kind == PERP_SCHEME_LIMIT || row->kind == PERP_SCHEME_NORMAL;
  const double lo = row->kind == PERP_SCHEME_OWN ? row->lo / h : one_sided ? 0 : -HUGE_VAL;
  const double hi = row->kind == PERP_SCHEME_OWN ? row->hi / h : HUGE_VAL;
  const double f = -w / R;
  *slope = f > lo && f < hi ? 1 / R : 0;
  return fmin(fmax(f, lo), hi);
}

/* Forces f [dim] of a contact at w [dim], and minus their derivatives D [dim dim]. */
static void soft_cone(int dim, double mu, double impratio, const double R[3], const double w[3],
                      double f[3], double D[9])
{
  const double m = mu / sqrt(impratio), N = m * w[0];
  double T = 0;
  memset(D, 0, 9 * sizeof *D);
  for (int k = 0; k < dim; k++) f[k] = 0;
  if (!(mu > 0)) {
    if (w[0] < 0) f[0] = -w[0] / R[0], D[0] = 1 / R[0];
    return;
  }
  for (int k = 1; k < dim; k++) T += mu * mu * w[k] * w[k];
  T = sqrt(T);
  if (N >= m * T) return;
  if (m * N + T <= 0) {
    for (int k = 0; k < dim; k++) f[k] = -w[k] / R[k], D[k + dim * k] = 1 / R[k];
    return;
  }
  const double c = 1 / (R[0] * m * m * (1 + m * m)), e = N - m * T;
  double g[3] = { m, 0, 0 };
  for (int k = 1; k < dim; k++) g[k] = -m * mu * mu * w[k] / T; /* of e by w */
  for (int k = 0; k < dim; k++) f[k] = -c * e * g[k];
  for (int k = 0; k < dim; k++)
    for (int l = 0; l < dim; l++) {
      D[k + dim * l] = c * g[k] * g[l];
      if (k > 0 && l > 0)
        D[k + dim * l] -= c * e * m * mu * mu *
                          ((k == l) / T - mu * mu * w[k] * w[l] / (T * T * T));
    }
}

/* The first tangent of MuJoCo's frame of a contact, as parts [2] along those of the contact: across
 * n, from the y axis of the world, or where n is along that from the z axis.  In the plane there is
 * one tangent. */
static void soft_frame(int dim, const perp_v4 d[3], double t[2])
{
  t[0] = 1, t[1] = 0;
  if (dim == 2) return;
  const int axis = fabs(d[0][1]) < 0.5 ? 1 : 2;
  const double size = hypot(d[1][axis], d[2][axis]);
  t[0] = d[1][axis] / size;
  t[1] = d[2][axis] / size;
}

/* The same as soft_cone for a pyramid, R that of its edges. */
static void soft_pyramid(int dim, double mu, const perp_v4 d[3], double R, const double w[3],
                         double f[3], double D[9])
{
  double t[2];
  soft_frame(dim, d, t);
  memset(D, 0, 9 * sizeof *D);
  for (int k = 0; k < dim; k++) f[k] = 0;
  for (int edge = 0; edge < 2 * (dim - 1); edge++) {
    const double side = edge % 2 == 0 ? mu : -mu;
    const double g[3] = { 1, side * (edge < 2 ? t[0] : -t[1]), side * (edge < 2 ? t[1] : t[0]) };
    const double at = perp_dot(dim, g, w);
    if (at >= 0) continue;
    for (int k = 0; k < dim; k++) f[k] -= at / R * g[k];
    for (int k = 0; k < dim; k++)
      for (int l = 0; l < dim; l++) D[k + dim * l] += g[k] * g[l] / R;
  }
}

/* Is the friction f of a contact at its bound? */
static bool soft_slides(const soft_constraints *constraints, int i)
{
  const perp_scheme_contact *contact = &constraints->s.contact[i];
  const int dim = constraints->s.model->dim;
  const double f1 = constraints->x[contact->row + 1].f,
               f2 = dim == 3 ? constraints->x[contact->row + 2].f : 0;
  double t[2], tangent = hypot(f1, f2);
  if (constraints->o.cone == PYRAMIDAL) {
    soft_frame(dim, constraints->s.pair[i].d, t);
    tangent = fabs(t[0] * f1 + t[1] * f2) + fabs(t[0] * f2 - t[1] * f1);
  }
  return tangent > (1 - 1e-9) * contact->mu * constraints->x[contact->row].f && tangent > 0;
}

/* D of rows i, l into H: both triangles of the blocks of their bodies */
static void soft_add(soft_constraints *constraints, const perp_scheme_row *x,
                     const perp_scheme_row *y, double D)
{
  const int nv = constraints->s.model->nv, n = constraints->s.model->nvb;
  for (int p = 0; p < 2; p++)
    for (int q = 0; q < 2; q++) {
      if (x->body[p] < 0 || y->body[q] < 0) continue;
      double *H = constraints->H + (n * x->body[p] + nv * n * y->body[q]);
      for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) H[i + nv * j] += D * x->J[p][i] * y->J[q][j];
    }
}

/* Forces at w + t dw, and (hessian) J' D J into H; the slope of the cost along dw. */
static double soft_forces(soft_constraints *constraints, double h, double t, bool hessian)
{
  perp_scheme *scheme = &constraints->s;
  double slope = 0, D[9];
  for (int contact = 0; contact < scheme->contacts; contact++) {
    soft_row *row = &constraints->x[contact];
    if (!(row->R > 0)) continue;
    row->f = soft_scalar(&scheme->row[contact], h, row->R, row->w + t * row->dw, D);
    slope -= row->f * row->dw;
    if (hessian && D[0] > 0)
      soft_add(constraints, &scheme->row[contact], &scheme->row[contact], D[0]);
  }
  const int dim = scheme->model->dim;
  for (int contact = 0; contact < scheme->n_contacts; contact++) {
    const int n = scheme->contact[contact].row;
    double R[3], at[3], f[3];
    if (!(constraints->x[n].R > 0)) continue;
    for (int k = 0; k < dim; k++) {
      R[k] = constraints->x[n + k].R;
      at[k] = constraints->x[n + k].w + t * constraints->x[n + k].dw;
    }
    const double mu = scheme->contact[contact].mu;
    if (constraints->o.cone == PYRAMIDAL && mu > 0)
      soft_pyramid(dim, mu, scheme->pair[contact].d,
                   2 * mu * mu * (1 + mu * mu) * R[0] / constraints->o.impratio, at, f, D);
    else
      soft_cone(dim, mu, constraints->o.impratio, R, at, f, D);
    for (int k = 0; k < dim; k++) {
      constraints->x[n + k].f = f[k];
      slope -= f[k] * constraints->x[n + k].dw;
      for (int l = 0; l < dim && hessian; l++)
        if (D[k + dim * l] != 0)
          soft_add(constraints, &scheme->row[n + k], &scheme->row[n + l], D[k + dim * l]);
    }
  }
  return slope;
}

/* ---- Newton ---- */

/* g = M (a - a0) - J' f; the largest of its terms */
static double soft_gradient(soft_constraints *constraints)
{
  const perp_scheme *scheme = &constraints->s;
  const int nv = scheme->model->nv, n = scheme->model->nvb;
  for (int i = 0; i < nv; i++) constraints->d[i] = constraints->a[i] - constraints->a0[i];
  perp_blocks_M(&scheme->e.blocks, constraints->d, constraints->g);
  double largest = 0;
  for (int i = 0; i < nv; i++) largest = fmax(largest, fabs(constraints->g[i]));
  for (int i = 0; i < scheme->n; i++) {
    const perp_scheme_row *row = &scheme->row[i];
    for (int p = 0; p < 2 && constraints->x[i].f != 0; p++)
      for (int j = 0; j < n && row->body[p] >= 0; j++) {
        const double term = row->J[p][j] * constraints->x[i].f;
        constraints->g[n * row->body[p] + j] -= term;
        largest = fmax(largest, fabs(term));
      }
  }
  return largest;
}

/* H = M + J' D J at a */
static void soft_hessian(soft_constraints *constraints, double h)
{
  const perp_scheme *scheme = &constraints->s;
  const int nv = scheme->model->nv, n = scheme->model->nvb;
  memset(constraints->H, 0, (size_t)nv * (size_t)nv * sizeof *constraints->H);
  for (int body = 0; body < scheme->model->n_bodies; body++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        constraints->H[n * body + i + nv * (n * body + j)] =
            scheme->e.blocks.M[scheme->e.blocks.mptr[body] + i + n * j];
  soft_forces(constraints, h, 0, true);
}

/* t > 0 with slope 0 of the cost along d, whose slope at 0 is negative; the cost is convex. */
static double soft_search(soft_constraints *constraints, double h)
{
  const perp_scheme *scheme = &constraints->s;
  const int nv = scheme->model->nv;
  double linear = 0, quadratic = 0;
  perp_blocks_M(&scheme->e.blocks, constraints->d, constraints->Md);
  for (int i = 0; i < nv; i++) {
    linear += constraints->Md[i] * (constraints->a[i] - constraints->a0[i]);
    quadratic += constraints->Md[i] * constraints->d[i];
  }
  for (int row = 0; row < scheme->n; row++)
    constraints->x[row].dw = perp_scheme_speed(scheme, &scheme->row[row], constraints->d);
  double lo = 0, hi = 1, at_lo = linear + soft_forces(constraints, h, 0, false);
  double at_hi = linear + quadratic + soft_forces(constraints, h, 1, false);
  if (fabs(at_hi) <= 1e-9 * fabs(at_lo)) return 1;
  for (int i = 0; i < SOFT_SEARCH && at_hi < 0; i++) {
    lo = hi, at_lo = at_hi;
    hi *= 2;
    at_hi = linear + hi * quadratic + soft_forces(constraints, h, hi, false);
  }
  for (int i = 0; i < SOFT_SEARCH && hi - lo > 1e-14 * hi; i++) {
    /* false position, every third time the middle: it must halve */
    double t = i % 3 == 2 ? 0.5 * (lo + hi) : lo - at_lo * (hi - lo) / (at_hi - at_lo);
    if (!(t > lo && t < hi)) t = 0.5 * (lo + hi);
    const double at = linear + t * quadratic + soft_forces(constraints, h, t, false);
    if (at < 0)
      lo = t, at_lo = at;
    else
      hi = t, at_hi = at;
    if (at == 0) break;
  }
  return hi;
}

static perp_reason soft_newton(soft_constraints *constraints, double h)
{
  perp_scheme *scheme = &constraints->s;
  const int nv = scheme->model->nv;
  double best = HUGE_VAL;
  /* a_0 is a difference of velocities: where nothing pulls, terms are its rounding, and no scale */
  perp_blocks_M(&scheme->e.blocks, scheme->v, constraints->Md);
  const double least = 16 * DBL_EPSILON * perp_worst(nv, constraints->Md) /
                       (h * constraints->o.tol);
  for (int k = 0; k < SOFT_NEWTON; k++) {
    for (int row = 0; row < scheme->n; row++)
      constraints->x[row].w = perp_scheme_speed(scheme, &scheme->row[row], constraints->a) -
                              constraints->x[row].aref;
    soft_hessian(constraints, h);
    const double largest = fmax(soft_gradient(constraints), least),
                 g = perp_worst(nv, constraints->g);
    if (!isfinite(g)) return PERP_NOT_FINITE;
    scheme->count.residual = fmax(scheme->count.residual, 0);
    if (g <= constraints->o.tol * largest) {
      scheme->count.residual = fmax(scheme->count.residual, largest > 0 ? g / largest : 0);
      scheme->count.data = scheme->count.residual;
      return PERP_CONVERGED;
    }
    best = fmin(best, g / largest);
    for (int i = 0; i < nv; i++) constraints->d[i] = -constraints->g[i];
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', nv, constraints->H, nv) != 0)
      return PERP_SINGULAR;
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', nv, 1, constraints->H, nv, constraints->d, nv);
    const double t = soft_search(constraints, h);
    for (int i = 0; i < nv; i++) constraints->a[i] += t * constraints->d[i];
    scheme->count.iterations++;
  }
  scheme->count.residual = fmax(scheme->count.residual, best);
  return PERP_MAX_ITER;
}

/* ---- a step ---- */

static void soft_layout_rows(void *ws, perp_arena *arena)
{
  soft_constraints *constraints = ws;
  constraints->x = PERP_CARVE(arena, soft_row, constraints->cap);
}

static bool soft_reserve(soft_constraints *constraints, int n)
{
  if (n <= constraints->cap) return true;
  constraints->cap = n + n / 2 + 64;
  constraints->s.status = perp_arena_layout(constraints->s.ctx, &constraints->grown_x,
                                            soft_layout_rows, constraints);
  if (constraints->s.status != PERP_OK) constraints->cap = 0;
  return constraints->s.status == PERP_OK;
}

static perp_reason soft_constraints_step(perp_scheme *scheme, double t, double h)
{
  soft_constraints *constraints = (soft_constraints *)scheme;
  const int nv = scheme->model->nv;
  if (!perp_scheme_begin(scheme, t, h, h) || !soft_reserve(constraints, scheme->n))
    return PERP_NOT_FINITE;
  perp_scheme_forces(scheme, t, h);
  for (int i = 0; i < nv; i++) constraints->a0[i] = (scheme->v1[i] - scheme->v[i]) / h;
  memcpy(constraints->a, constraints->a0, (size_t)nv * sizeof *constraints->a);
  soft_rows(constraints, h);
  const perp_reason reason = scheme->n > 0 ? soft_newton(constraints, h) : PERP_EXACT;
  if (scheme->n > 0) {
    scheme->count.problems++;
    if (reason > 0)
      scheme->count.solved++;
    else
      scheme->count.failures++, scheme->count.failed[-reason]++;
  }
  if (reason < 0) return reason;
  for (int i = 0; i < nv; i++) scheme->v1[i] = scheme->v[i] + h * constraints->a[i];
  for (int row = 0; row < scheme->n; row++)
    scheme->row[row].p = scheme->row[row].total = h * constraints->x[row].f;
  for (int contact = 0; contact < scheme->n_contacts; contact++)
    scheme->contact[contact].slides = soft_slides(constraints, contact);
  perp_scheme_move(scheme, h, scheme->v1);
  perp_scheme_remember(scheme, h, h);
  return PERP_EXACT;
}

/* ---- life ---- */

static void soft_constraints_layout(void *ws, perp_arena *arena)
{
  soft_constraints *constraints = ws;
  const size_t nv = (size_t)constraints->s.model->nv;
  perp_scheme_layout(constraints, arena);
  PERP_DOUBLES(arena, nv, &constraints->a0, &constraints->a, &constraints->g, &constraints->d,
               &constraints->Md);
  constraints->H = PERP_CARVE(arena, double, nv *nv);
}

static void soft_constraints_destroy(void *ws)
{
  soft_constraints *constraints = ws;
  if (constraints == NULL) return;
  perp_arena_free(&constraints->grown_x);
  perp_scheme_destroy(ws);
}

static perp_status soft_constraints_create(perp_ctx *ctx, perp_model *model,
                                           const perp_parts *parts, double h, void **ws)
{
  soft_constraints like = { .o = *(const struct soft_constraints_opts *)parts->formulation.opts };
  *ws = NULL;
  for (int shape = 0; shape < model->n_shapes; shape++)
    if (model->shape_def[shape].surface.restitution > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation soft-constraints does not support restitution: the surface of "
                       "shape %d has %g; use --formulation velocity",
                       shape, model->shape_def[shape].surface.restitution);
  like.s.o = like.o.scheme;
  like.s.step = soft_constraints_step;
  like.s.contact_rows = true;
  PERP_TRY(
      perp_scheme_create(ctx, model, parts, h, &like.s, sizeof like, soft_constraints_layout, ws));
  soft_constraints *constraints = *ws;
  constraints->s.ctx = ctx;
  if (soft_reserve(constraints, 3 * model->n_drives + model->m + 12 * model->n_shapes))
    return PERP_OK;
  const perp_status status = constraints->s.status;
  soft_constraints_destroy(constraints);
  *ws = NULL;
  return status;
}

static perp_status soft_constraints_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                            const double *v)
{
  PERP_TRY(perp_scheme_restart(ctx, ws, t, q, v));
  perp_scheme *scheme = ws;
  scheme->count = (perp_contact_count){ 0 };
  return PERP_OK;
}

const perp_formulation_desc perp_formulation_soft_constraints = {
  .d = { .name = "soft-constraints",
         .summary = "Convex soft constraints of MuJoCo on accelerations, with an impedance per "
                    "row; no restitution, order 1 down to the compliance of its rows",
         .reference = "Todorov 2014; MuJoCo documentation, chapter Computation",
         .equation = "min 1/2 (a - a_0)' M (a - a_0) + s(J a - aref), aref = -b v - k r, R = (1 - "
                     "d) / d A_ii",
         PERP_OPTIONS(soft_constraints_options, struct soft_constraints_opts),
         .caps = PERP_SCHEME_CAPS },
  .create = soft_constraints_create,
  .restart = soft_constraints_restart,
  .step = perp_scheme_step,
  .state = perp_scheme_state,
  .counters = perp_scheme_counters,
  .timing = perp_scheme_timing,
  .destroy = soft_constraints_destroy,
  .contacts = perp_scheme_contacts,
  .observe = perp_scheme_observe,
};
