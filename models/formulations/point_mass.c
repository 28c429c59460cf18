/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Point masses with rigidity as a constraint (van Overveld & Barenbrug 1995).
 *
 * A body is its centre c and three vectors B_j along its principal axes, scaled to |B_j|^2 = gamma_j =
 * tr(I)/2 - I_j, so that its kinetic energy is (m |c'|^2 + sum |B_j'|^2) / 2 (eqs. 5 to 9): no angular
 * velocity, no torque, no gyroscopic term.  All coordinates make the Verlet step
 *
 *      x(t + h) = 2 x(t) - x(t - h) + h^2 F / m                                        (eq. 4)
 *
 * and the constraints say what F is, at t + h, along directions of t, by iteration:
 *
 *      rigidity   |B_j|^2 = gamma_j,  B_j' . B_j'' = 0      Lambda, lambda of eq. 12, linearized
 *      ball       p_a = p_b                                 F = (M_a + M_b)^-1 (p_b - p_a)   (eq. 22)
 *      hinge      two of them on its axis, F_1 . e = F_2 . e   (eq. 23: the null component removed)
 *      distance   |p_b - p_a| = length                      the same along p_b - p_a
 *      curve      p_b on the curve (section 2.6)            the same across the tangent: the foot of p_b is found
 *                                                           directly, where the paper iterates its parameter
 *
 * where M F is the displacement of a point by a force there that leaves the body rigid to first order (eqs.
 * 13 to 21).  Forces of the step before are the first guess.  `iterations` is the fixed number of sweeps of
 * the paper unless `tol` is reached before; what is left is the drift of the joints.  The error of a sweep
 * falls exponentially, slower for long chains.
 *
 * Order 2; velocities, needed for output and for forces of velocity, are extrapolated by half a step.
 * Cost per step: iterations x (bodies + joints).  No allocation.  Refuses joints other than ball, hinge, curve and
 * distance, and flat bodies (gamma_j = 0: all mass in a plane). */
#include "models/formulations/constrained.h"
#include "models/formulations/march.h"

#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

#undef I /* of complex.h: inertia here */

struct opts {
  double tol;
  int iterations, rigidity;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, tol, 1e-12, 0, 1, 0, "",
            "sweeps end when all constraints hold to this part of the size of the model"),
  PERP_INT(struct opts, iterations, 2000, 1, 1000000, "sweeps over all constraints at most"),
  PERP_INT(struct opts, rigidity, 2, 1, 100, "rigidity corrections of each body in a sweep"),
  PERP_OPTIONS_END
};

typedef struct body {
  int n; /* vectors: 3, 2 in the plane, none of a particle */
  double mass;
  double I[3];     /* principal moments; the plane uses I[2] */
  double axes[9];  /* principal axes in the body frame, columns */
  double gamma[3]; /* |B_j|^2 */
} body;

/* a coupling of two points, the distance of them, or a point on a curve */
typedef struct link {
  int a, b, joint;
  const perp_curve *curve; /* NULL: none */
  bool distance, second;   /* second: of a pair that makes a hinge */
  double length;
  double rho_a[3], rho_b[3]; /* point = c + sum rho_j B_j; world: the point */
  double K[9];               /* (M_a + M_b)^-1 of this step */
  double ra[3], rb[3];       /* arms of this step, 0 for the world */
  double n[3];               /* direction of a distance */
  double F[3];               /* force that acts on a, and -F on b */
} link;

typedef struct coordinates {
  double c[3], B[9];
} coordinates;

typedef struct workspace {
  const perp_model *model;
  struct opts o;
  perp_eval e;
  perp_march march;
  body *body;
  link *link;
  int n_links;
  bool reports;                /* multipliers are forces of points: ball and distance only */
  coordinates *x, *x1, *w, *v; /* at t, at t + h, mean rates of the last step, rates at t */
  double h_last;               /* 0: w is the rate at the start */
  double *q, *q_out, *v_out, *f, *lambda;
  double drift;
  bool timing;
  double step_s;
  perp_arena arena;
} workspace;

static double norm_inf(int n, const double *x)
{
  double worst = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= worst)) worst = fabs(x[i]); /* NaN stays */
  return worst;
}

/* ---- bodies ----------------------------------------------------------------------------------------------- */

static perp_status make_body(perp_ctx *ctx, const perp_model *model, int index, body *b)
{
  const perp_inertia *in = &model->inertia[index];
  *b = (body){ .n = model->dim, .mass = in->mass, .axes = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
  if (model->body_def[index].particle) {
    b->n = 0;
    return PERP_OK;
  }
  if (model->dim == 2) {
    b->I[2] = in->I[8];
    b->gamma[0] = b->gamma[1] = in->I[8] / 2;
    return PERP_OK;
  }
  double work[32];
  memcpy(b->axes, in->I, sizeof b->axes);
  if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'U', 3, b->axes, 3, b->I, work, 32) != 0)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "point-mass: no principal axes of body %d", index);
  double third[3];
  perp_cross(b->axes, b->axes + 3, third);
  memcpy(b->axes + 6, third, sizeof third); /* right-handed */
  for (int j = 0; j < 3; j++) {
    b->gamma[j] = (b->I[0] + b->I[1] + b->I[2]) / 2 - b->I[j];
    if (!(b->gamma[j] > 1e-6 * b->I[2]))
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation point-mass: body %d is flat, a vector would have no mass",
                       index);
  }
  return PERP_OK;
}

/* principal axes in the world: columns of P [9], unit */
static void frame(const body *b, const coordinates *x, double P[9])
{
  for (int j = 0; j < b->n; j++)
    for (int i = 0; i < 3; i++) P[i + 3 * j] = x->B[i + 3 * j] / sqrt(b->gamma[j]);
  if (b->n == 2) P[6] = P[7] = 0, P[8] = 1;
}

/* y = I^-1 torque, in the world; P: frame */
static void turn_by(const body *b, const double P[9], const double torque[3], double y[3])
{
  double local[3];
  if (b->n == 0) {
    y[0] = y[1] = y[2] = 0;
    return;
  }
  if (b->n == 2) {
    y[0] = y[1] = 0;
    y[2] = torque[2] / b->I[2];
    return;
  }
  perp_turn_back(3, P, torque, local);
  for (int j = 0; j < 3; j++) local[j] /= b->I[j];
  perp_turn(3, P, local, y);
}

/* quaternion of the rotation matrix R, with the sign closest to q */
static void quaternion(const double R[9], double q[4])
{
  double p[4], trace = R[0] + R[4] + R[8];
  int i = R[4] > R[0] ? 1 : 0;
  if (R[8] > R[4 * i]) i = 2;
  if (trace > R[4 * i]) {
    const double s = 2 * sqrt(1 + trace);
    p[0] = s / 4, p[1] = (R[5] - R[7]) / s, p[2] = (R[6] - R[2]) / s, p[3] = (R[1] - R[3]) / s;
  } else {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const double s = 2 * sqrt(1 + R[4 * i] - R[4 * j] - R[4 * k]);
    p[0] = (R[k + 3 * j] - R[j + 3 * k]) / s;
    p[1 + i] = s / 4;
    p[1 + j] = (R[i + 3 * j] + R[j + 3 * i]) / s;
    p[1 + k] = (R[i + 3 * k] + R[k + 3 * i]) / s;
  }
  const double dot = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
  for (int j = 0; j < 4; j++) q[j] = dot < 0 ? -p[j] : p[j];
  perp_quat_unit(q);
}

/* coordinates and rates from the state of the model */
static void enter(workspace *w, const double *q, const double *v)
{
  const perp_model *m = w->model;
  perp_eval_poses(&w->e, m, q);
  for (int i = 0; i < m->n_bodies; i++) {
    const body *b = &w->body[i];
    coordinates *x = &w->x[i], *rate = &w->w[i];
    memset(x, 0, sizeof *x);
    memset(rate, 0, sizeof *rate);
    memcpy(x->c, w->e.pose[i].x, (size_t)m->dim * sizeof(double));
    memcpy(rate->c, v + i * m->nvb, (size_t)m->dim * sizeof(double));
    for (int j = 0; j < b->n; j++) {
      double s[3];
      for (int k = 0; k < 3; k++) s[k] = sqrt(b->gamma[j]) * b->axes[k + 3 * j];
      perp_turn(m->dim, w->e.pose[i].R, s, x->B + 3 * j);
      perp_direction_rate(m->dim, w->e.pose[i].R, s, v + i * m->nvb + m->dim, rate->B + 3 * j);
    }
  }
}

/* the state of the model from coordinates x and rates v */
static void leave(workspace *w, const coordinates *x, const coordinates *v)
{
  const perp_model *m = w->model;
  for (int i = 0; i < m->n_bodies; i++) {
    const body *b = &w->body[i];
    double *q = w->q_out + i * m->nqb, *out = w->v_out + i * m->nvb, P[9], L[3] = { 0 };
    memcpy(q, x[i].c, (size_t)m->dim * sizeof(double));
    memcpy(out, v[i].c, (size_t)m->dim * sizeof(double));
    if (b->n == 0) continue;
    frame(b, &x[i], P);
    for (int j = 0; j < b->n; j++) { /* angular momentum: unit masses at B_j */
      double spin[3];
      perp_cross(x[i].B + 3 * j, v[i].B + 3 * j, spin);
      for (int k = 0; k < 3; k++) L[k] += spin[k];
    }
    if (m->dim == 2) {
      const double turn = atan2(P[1], P[0]);
      q[2] += remainder(turn - q[2], 2 * M_PI); /* continuous */
      out[2] = L[2] / b->I[2];
      continue;
    }
    double R[9], local[3];
    for (int r = 0; r < 3; r++)
      for (int s = 0; s < 3; s++)
        R[r + 3 * s] = P[r] * b->axes[s] + P[r + 3] * b->axes[s + 3] + P[r + 6] * b->axes[s + 6];
    quaternion(R, q + 3);
    perp_turn_back(3, P, L, local);
    for (int j = 0; j < 3; j++) local[j] /= b->I[j];
    perp_turn(3, b->axes, local, out + 3);
  }
}

/* ---- constraints -------------------------------------------------------------------------------------------- */

static void point(const workspace *w, const coordinates *x, int index, const double rho[3],
                  double p[3])
{
  memcpy(p, rho, 3 * sizeof *p);
  if (index < 0) return;
  for (int i = 0; i < 3; i++) {
    p[i] = x[index].c[i];
    for (int j = 0; j < w->body[index].n; j++) p[i] += rho[j] * x[index].B[i + 3 * j];
  }
}

/* Displacement of body i by force F at the arm r, times `scale`, in place of x1. */
static void push(workspace *w, int i, const double r[3], const double F[3], double scale)
{
  if (i < 0) return;
  const body *b = &w->body[i];
  double P[9], torque[3], turn[3], dB[3];
  frame(b, &w->x[i], P);
  perp_cross(r, F, torque);
  turn_by(b, P, torque, turn);
  for (int k = 0; k < 3; k++) w->x1[i].c[k] += scale * F[k] / b->mass;
  for (int j = 0; j < b->n; j++) {
    perp_cross(turn, w->x[i].B + 3 * j, dB);
    for (int k = 0; k < 3; k++) w->x1[i].B[k + 3 * j] += scale * dB[k];
  }
}

/* K += displacement of the point at r by unit forces there */
static void add_mobility(const workspace *w, int i, const double r[3], double K[9])
{
  if (i < 0) return;
  const body *b = &w->body[i];
  double P[9];
  frame(b, &w->x[i], P);
  for (int j = 0; j < 3; j++) {
    double F[3] = { 0 }, torque[3], turn[3], d[3];
    F[j] = 1;
    perp_cross(r, F, torque);
    turn_by(b, P, torque, turn);
    perp_cross(turn, r, d);
    for (int k = 0; k < 3; k++) K[k + 3 * j] += d[k] + F[k] / b->mass;
  }
}

static void invert3(const double A[9], double B[9])
{
  double c[9];
  perp_cross(A + 3, A + 6, c);
  perp_cross(A + 6, A, c + 3);
  perp_cross(A, A + 3, c + 6);
  const double det = perp_dot(3, A, c);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) B[i + 3 * j] = c[j + 3 * i] / det;
}

/* gap [3] from the curve of body a to the point p of the world, at the coordinates x; tangent there */
static void curve_gap(const workspace *w, const link *k, const coordinates *x, const double p[3],
                      double gap[3], double tangent[3])
{
  double P[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, R[9], r[3], local[3], g[3], t[3];
  memcpy(R, P, sizeof R);
  memcpy(r, p, sizeof r);
  if (k->a >= 0) {
    const body *b = &w->body[k->a];
    frame(b, &x[k->a], P);
    for (int i = 0; i < 3; i++) /* R = P axes', as in leave() */
      for (int j = 0; j < 3; j++)
        R[i + 3 * j] = P[i] * b->axes[j] + P[i + 3] * b->axes[j + 3] + P[i + 6] * b->axes[j + 6];
    for (int i = 0; i < 3; i++) r[i] -= x[k->a].c[i];
  }
  perp_turn_back(3, R, r, local);
  const double *anchor = w->model->joint_def[k->joint].anchor_a;
  for (int i = 0; i < 3; i++) local[i] -= i < w->model->dim ? anchor[i] : 0;
  perp_curve_gap(k->curve, local, g, t);
  perp_turn(3, R, g, gap);
  perp_turn(3, R, t, tangent);
}

/* K becomes the stiffness across the tangent: (T + N' M N)^-1 with T along it */
static void prepare_curve(workspace *w, link *k, const double p[3], double K[9])
{
  double gap[3], t[3], across[9], KN[9] = { 0 };
  curve_gap(w, k, w->x, p, gap, t);
  for (int i = 0; i < 3; i++) k->ra[i] = k->a < 0 ? 0 : p[i] - w->x[k->a].c[i];
  add_mobility(w, k->a, k->ra, K);
  add_mobility(w, k->b, k->rb, K);
  const double scale = K[0] + K[4] + K[8], along = perp_dot(3, k->F, t);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) across[i + 3 * j] = (i == j) - t[i] * t[j];
  /* N K N + scale t t' is regular, its inverse maps gaps across the tangent to forces across it */
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int l = 0; l < 9; l++)
        KN[i + 3 * j] += across[i + 3 * (l % 3)] * K[l % 3 + 3 * (l / 3)] * across[l / 3 + 3 * j];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) KN[i + 3 * j] += scale * t[i] * t[j];
  invert3(KN, k->K);
  for (int i = 0; i < 3; i++) {
    k->F[i] -= along * t[i];
    k->n[i] = t[i];
  }
}

static bool is_released(const workspace *w, const link *k)
{
  return w->model->released != NULL && w->model->released[k->joint];
}

/* arms, mobilities and directions at t */
static void prepare_links(workspace *w)
{
  for (int l = 0; l < w->n_links; l++) {
    link *k = &w->link[l];
    double pa[3], pb[3], K[9] = { 0 };
    if (is_released(w, k)) continue;
    const double tension = perp_dot(3, k->F, k->n); /* of a distance; it turns with it */
    point(w, w->x, k->a, k->rho_a, pa);
    point(w, w->x, k->b, k->rho_b, pb);
    for (int i = 0; i < 3; i++) {
      k->ra[i] = k->a < 0 ? 0 : pa[i] - w->x[k->a].c[i];
      k->rb[i] = k->b < 0 ? 0 : pb[i] - w->x[k->b].c[i];
      k->n[i] = pb[i] - pa[i];
    }
    if (k->curve != NULL) { /* the force acts at p_b on both */
      prepare_curve(w, k, pb, K);
      continue;
    }
    add_mobility(w, k->a, k->ra, K);
    add_mobility(w, k->b, k->rb, K);
    if (k->distance) {
      const double length = sqrt(perp_dot(3, k->n, k->n));
      for (int i = 0; i < 3; i++) {
        k->n[i] /= length;
        k->F[i] = tension * k->n[i];
      }
      double Kn[3];
      perp_turn(3, K, k->n, Kn);
      memset(k->K, 0, sizeof k->K);
      k->K[0] = 1 / perp_dot(3, k->n, Kn);
    } else {
      invert3(K, k->K);
    }
  }
}

static void apply(workspace *w, link *k, const double F[3], double scale)
{
  const double minus[3] = { -F[0], -F[1], -F[2] };
  push(w, k->a, k->ra, F, scale);
  push(w, k->b, k->rb, minus, scale);
}

/* one link at t + h; returns its violation before */
static double couple(workspace *w, link *k, double scale)
{
  double pa[3], pb[3], gap[3], F[3], error;
  point(w, w->x1, k->a, k->rho_a, pa);
  point(w, w->x1, k->b, k->rho_b, pb);
  for (int i = 0; i < 3; i++) gap[i] = pb[i] - pa[i];
  if (k->distance) {
    error = sqrt(perp_dot(3, gap, gap)) - k->length;
    for (int i = 0; i < 3; i++) F[i] = k->K[0] * error / scale * k->n[i];
  } else if (k->curve != NULL) {
    double tangent[3];
    curve_gap(w, k, w->x1, pb, gap, tangent);
    error = norm_inf(3, gap);
    /* without the part along the tangent of t: no friction */
    const double along = perp_dot(3, gap, k->n);
    for (int i = 0; i < 3; i++) gap[i] -= along * k->n[i];
    perp_turn(3, k->K, gap, F);
    for (int i = 0; i < 3; i++) F[i] /= scale;
  } else {
    error = norm_inf(3, gap);
    perp_turn(3, k->K, gap, F);
    for (int i = 0; i < 3; i++) F[i] /= scale;
  }
  for (int i = 0; i < 3; i++) k->F[i] += F[i];
  apply(w, k, F, scale);
  return fabs(error);
}

/* eq. 23: both forces of a hinge have the same component along its axis */
static void remove_null(link *first, link *second)
{
  double e[3];
  for (int i = 0; i < 3; i++) e[i] = second->ra[i] - first->ra[i];
  if (first->a < 0)
    for (int i = 0; i < 3; i++) e[i] = second->rb[i] - first->rb[i];
  double along = 0;
  for (int i = 0; i < 3; i++) along += (second->F[i] - first->F[i]) * e[i];
  along /= 2 * perp_dot(3, e, e);
  for (int i = 0; i < 3; i++) {
    first->F[i] += along * e[i];
    second->F[i] -= along * e[i];
  }
}

/* rigidity of one body at t + h; returns the violation before, relative */
static double rigidity(const body *b, const coordinates *x, coordinates *x1)
{
  double worst = 0, correction[9] = { 0 };
  for (int j = 0; j < b->n; j++) {
    const double *B1 = x1->B + 3 * j;
    const double stretch = perp_dot(3, B1, B1) - b->gamma[j];
    const double lambda = -stretch / (2 * b->gamma[j]);
    worst = fmax(worst, fabs(stretch) / b->gamma[j]);
    for (int i = 0; i < 3; i++) correction[i + 3 * j] += lambda * x->B[i + 3 * j];
    for (int k = 0; k < j; k++) {
      const double skew = perp_dot(3, B1, x1->B + 3 * k);
      const double Lambda = -skew / (b->gamma[j] + b->gamma[k]);
      worst = fmax(worst, fabs(skew) / sqrt(b->gamma[j] * b->gamma[k]));
      for (int i = 0; i < 3; i++) {
        correction[i + 3 * j] += Lambda * x->B[i + 3 * k];
        correction[i + 3 * k] += Lambda * x->B[i + 3 * j];
      }
    }
  }
  for (int i = 0; i < 3 * b->n; i++) x1->B[i] += correction[i];
  return isnan(worst) || !isfinite(x1->B[0]) ? (double)NAN : worst;
}

/* ---- step ------------------------------------------------------------------------------------------------------ */

/* free flight with external forces and the forces of the step before, into x1 */
static void fly(workspace *w, double h, double scale)
{
  const perp_model *m = w->model;
  perp_eval_poses(&w->e, m, w->q_out);
  perp_eval_forces(&w->e, m, w->march.t, w->v_out, false, w->f);
  for (int i = 0; i < m->n_bodies; i++) {
    const double *f = w->f + i * m->nvb;
    const body *b = &w->body[i];
    double P[9], torque[3] = { 0 }, turn[3], force[3] = { 0 }, dB[3];
    memcpy(force, f, (size_t)m->dim * sizeof *f);
    if (m->dim == 3)
      perp_turn(3, w->e.pose[i].R, f + 3, torque);
    else
      torque[2] = f[2];
    frame(b, &w->x[i], P);
    turn_by(b, P, torque, turn);
    for (int k = 0; k < 3; k++)
      w->x1[i].c[k] = w->x[i].c[k] + h * w->w[i].c[k] + scale * force[k] / b->mass;
    for (int j = 0; j < b->n; j++) {
      perp_cross(turn, w->x[i].B + 3 * j, dB);
      for (int k = 3 * j; k < 3 * j + 3; k++)
        w->x1[i].B[k] = w->x[i].B[k] + h * w->w[i].B[k] + scale * dB[k - 3 * j];
    }
    for (int k = 3 * b->n; k < 9; k++) w->x1[i].B[k] = 0;
  }
  for (int l = 0; l < w->n_links; l++) apply(w, &w->link[l], w->link[l].F, scale);
}

static perp_reason make_step(workspace *w, double h)
{
  const perp_model *m = w->model;
  /* the rates w belong to the middle of the step before: forces of t act until the middle of this one */
  const double mean = (w->h_last + h) / 2, scale = h * mean;
  perp_reason reason = PERP_EXACT;
  prepare_links(w);
  fly(w, h, scale);
  for (int sweep = 0; sweep < w->o.iterations; sweep++) {
    double worst = 0, e;
    for (int i = 0; i < m->n_bodies; i++)
      for (int pass = 0; pass < w->o.rigidity; pass++) {
        e = rigidity(&w->body[i], &w->x[i], &w->x1[i]);
        if (isnan(e)) return PERP_NOT_FINITE;
        if (pass == 0) worst = fmax(worst, e);
      }
    for (int l = 0; l < w->n_links; l++) {
      if (is_released(w, &w->link[l])) continue;
      e = couple(w, &w->link[l], scale);
      if (isnan(e)) return PERP_NOT_FINITE;
      worst = fmax(worst, e / m->size);
      if (w->link[l].second) remove_null(&w->link[l - 1], &w->link[l]);
    }
    w->march.count.iterations++;
    if (worst <= w->o.tol) {
      reason = PERP_CONVERGED;
      break;
    }
  }
  /* rates: mean of the step, and at its end by half a step of its acceleration */
  for (int i = 0; i < m->n_bodies; i++) {
    double *x = w->x[i].c, *x1 = w->x1[i].c, *rate = w->w[i].c, *end = w->v[i].c;
    for (int k = 0; k < 12; k++) { /* c and B lie side by side */
      const double now = (x1[k] - x[k]) / h;
      end[k] = now + h / 2 * (now - rate[k]) / mean;
      rate[k] = now;
      x[k] = x1[k];
    }
    if (!perp_all_finite(12, x)) return PERP_NOT_FINITE;
  }
  w->h_last = h;
  w->march.count.rhs++;
  return reason;
}
_Static_assert(sizeof(coordinates) == 12 * sizeof(double), "c and B lie side by side");

/* ---- life ------------------------------------------------------------------------------------------------------- */

static perp_status make_links(perp_ctx *ctx, workspace *w)
{
  const perp_model *m = w->model;
  w->n_links = 0;
  w->reports = true;
  for (int i = 0; i < m->n_joints; i++) {
    const perp_joint_def *def = &m->joint_def[i];
    const bool hinge = def->kind == PERP_JOINT_HINGE && m->dim == 3;
    if (def->kind == PERP_JOINT_CURVE) w->reports = false;
    if (def->kind != PERP_JOINT_BALL && def->kind != PERP_JOINT_HINGE &&
        def->kind != PERP_JOINT_DISTANCE && def->kind != PERP_JOINT_CURVE)
      return PERP_FAIL(
          ctx, PERP_ERR_UNSUPPORTED,
          "formulation point-mass couples points: it has ball, hinge, distance and curve joints, "
          "joint %d is a %s joint",
          i, perp_joint_kind_name(def->kind));
    if (hinge) w->reports = false;
    for (int n = 0; n < (hinge ? 2 : 1); n++) {
      link *k = &w->link[w->n_links++];
      *k = (link){ .a = def->a,
                   .b = def->b,
                   .joint = i,
                   .curve = m->curve[i],
                   .distance = def->kind == PERP_JOINT_DISTANCE,
                   .second = n == 1,
                   .length = def->length };
      for (int side = 0; side < 2; side++) {
        const int index = side == 0 ? def->a : def->b;
        const double *anchor = side == 0 ? def->anchor_a : def->anchor_b;
        const double *axis = side == 0 ? def->axis_a : def->axis_b;
        double *rho = side == 0 ? k->rho_a : k->rho_b, s[3] = { 0 };
        const double arm = hinge ? (n == 0 ? 0.5 : -0.5) * m->size / sqrt(perp_dot(3, axis, axis))
                                 : 0;
        for (int c = 0; c < m->dim; c++) s[c] = anchor[c] + arm * axis[c];
        memcpy(rho, s, sizeof s);
        for (int j = 0; index >= 0 && j < m->dim; j++)
          rho[j] = perp_dot(3, w->body[index].axes + 3 * j, s) / sqrt(w->body[index].gamma[j]);
      }
    }
  }
  return PERP_OK;
}

static void layout(workspace *w, const perp_model *model, perp_arena *a)
{
  perp_eval_layout(&w->e, model, a);
  w->body = PERP_CARVE(a, body, model->n_bodies);
  w->link = PERP_CARVE(a, link, 2 * model->n_joints);
  w->x = PERP_CARVE(a, coordinates, model->n_bodies);
  w->x1 = PERP_CARVE(a, coordinates, model->n_bodies);
  w->w = PERP_CARVE(a, coordinates, model->n_bodies);
  w->v = PERP_CARVE(a, coordinates, model->n_bodies);
  w->q = PERP_CARVE(a, double, model->nq);
  w->q_out = PERP_CARVE(a, double, model->nq);
  w->v_out = PERP_CARVE(a, double, model->nv);
  w->f = PERP_CARVE(a, double, model->nv);
  w->lambda = PERP_CARVE(a, double, model->m);
}

static void destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  perp_arena_free(&w->arena);
  free(w);
}

static perp_status create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                          void **ws)
{
  *ws = NULL;
  workspace *w = calloc(1, sizeof *w);
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "point-mass: no memory");
  perp_arena a = { 0 };
  layout(w, model, &a);
  perp_status status = perp_arena_reserve(ctx, &a);
  if (status != PERP_OK) {
    free(w);
    return status;
  }
  w->arena = a;
  layout(w, model, &a);
  perp_eval_init(&w->e, model);
  w->model = model;
  w->o = *(const struct opts *)parts->formulation.opts;
  w->march.h = h;
  for (int i = 0; i < model->n_bodies && status == PERP_OK; i++)
    status = make_body(ctx, model, i, &w->body[i]);
  if (status == PERP_OK) status = make_links(ctx, w);
  if (status != PERP_OK) {
    destroy(w);
    return status;
  }
  *ws = w;
  return PERP_OK;
}

static perp_status restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  workspace *w = ws;
  const perp_model *m = w->model;
  memcpy(w->q, q, (size_t)m->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, m, w->q, v));
  memcpy(w->q_out, w->q, (size_t)m->nq * sizeof *q);
  memcpy(w->v_out, v, (size_t)m->nv * sizeof *v);
  enter(w, w->q, v);
  w->h_last = 0;
  w->drift = 0;
  w->step_s = 0;
  memset(w->lambda, 0, (size_t)m->m * sizeof *w->lambda);
  for (int l = 0; l < w->n_links; l++) memset(w->link[l].F, 0, sizeof w->link[l].F);
  perp_march_restart(&w->march, t);
  return PERP_OK;
}

/* forces of the links as multipliers of the rows, see model.h: forces on body b */
static void report(workspace *w)
{
  for (int l = 0; l < w->n_links; l++) {
    const link *k = &w->link[l];
    double *lambda = w->lambda + w->model->cptr[k->joint];
    if (k->distance)
      lambda[0] = -perp_dot(3, k->F, k->n);
    else
      for (int i = 0; i < w->model->dim; i++) lambda[i] = -k->F[i];
  }
}

static perp_status step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *w = ws;
  const double start = w->timing ? perp_clock_thread() : 0;
  const double end = perp_march_next(&w->march, t_max);
  (void)ctx;
  info->reason = PERP_EXACT;
  if (end > w->march.t) {
    info->reason = make_step(w, end - w->march.t);
    if (info->reason > 0) {
      leave(w, w->x, w->v);
      perp_eval_at(&w->e, w->model, w->q_out);
      w->drift = norm_inf(w->model->m, w->e.C);
      if (w->reports) report(w);
      perp_march_accept(&w->march, end);
    }
  }
  if (w->timing) w->step_s += perp_clock_thread() - start;
  info->drift_pos_pre = w->drift;
  info->lambda = w->reports ? w->lambda : NULL;
  return PERP_OK;
}

static void state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *w = ws;
  *t = w->march.t;
  *q = w->q_out;
  *v = w->v_out;
}

static void counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *w = ws;
  if (ode != NULL) *ode = w->march.count;
  if (kkt != NULL) *kkt = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
}

static void timing(void *ws, bool on, perp_times *times)
{
  workspace *w = ws;
  if (times != NULL) *times = (perp_times){ .integrate = w->step_s };
  w->timing = on;
}

const perp_formulation_desc perp_formulation_point_mass = {
  .d = { .name = "point-mass",
         .summary = "centre and scaled axes as points, rigidity as a constraint, Verlet; order 2",
         .reference = "van Overveld and Barenbrug 1995, sections 2.2 to 2.4, eqs. 4 to 23",
         .equation = "x(t+h) = 2 x(t) - x(t-h) + h^2 F/m,  |B_j|^2 = gamma_j,  B_j . B_k = 0",
         .opts = options,
         .opts_size = sizeof(struct opts) },
  .create = create,
  .restart = restart,
  .step = step,
  .state = state,
  .counters = counters,
  .timing = timing,
  .destroy = destroy,
};
