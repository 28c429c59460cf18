/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small systems with closed solutions, for the tests of the ODE solvers. */
#ifndef PERP_ODE_PROBLEMS_H
#define PERP_ODE_PROBLEMS_H

#include "solvers/solvers.h"

#include <gsl/gsl_integration.h>
#include <gsl/gsl_sf_ellint.h>
#include <gsl/gsl_sf_elljac.h>
#include <math.h>
#include <float.h>
#include <string.h>

typedef struct ode_problem {
  const char *name;
  perp_ode_sys sys;
  double t_end;
  double q0[4], v0[3];
  void (*exact)(const struct ode_problem *p, double t, double *q, double *v);
} ode_problem;

/* ---- harmonic oscillator: q'' = -q, q = cos t ---- */

static perp_ode_answer oscillator_deriv(void *user, double t, double h, const double *q,
                                        const double *v, bool intermediate, double *qdot, double *a)
{
  (void)user, (void)t, (void)h, (void)intermediate;
  if (qdot != NULL) qdot[0] = v[0];
  a[0] = -q[0];
  return PERP_ODE_OK;
}

static void oscillator_exact(const ode_problem *p, double t, double *q, double *v)
{
  (void)p;
  q[0] = cos(t);
  v[0] = -sin(t);
}

__attribute__((unused)) static ode_problem oscillator(void)
{
  return (ode_problem){
    .name = "oscillator",
    .sys = { .nq = 1, .nv = 1, .deriv = oscillator_deriv, .caps = PERP_ODE_SYS_POSITION_FORCES },
    .t_end = 4,
    .q0 = { 1 },
    .exact = oscillator_exact
  };
}

/* ---- circle field, a plain first-order system, made to depend on time: (x, y)' = (1 + t) (-y, x)
 * ---- */

static perp_ode_answer circle_deriv(void *user, double t, double h, const double *q,
                                    const double *v, bool intermediate, double *qdot, double *a)
{
  (void)user, (void)h, (void)v, (void)intermediate, (void)a;
  qdot[0] = -(1 + t) * q[1];
  qdot[1] = (1 + t) * q[0];
  return PERP_ODE_OK;
}

static void circle_exact(const ode_problem *p, double t, double *q, double *v)
{
  (void)p, (void)v;
  q[0] = cos(t + t * t / 2);
  q[1] = sin(t + t * t / 2);
}

__attribute__((unused)) static ode_problem circle(void)
{
  return (ode_problem){ .name = "circle field",
                        .sys = { .nq = 2, .nv = 0, .deriv = circle_deriv },
                        .t_end = 2,
                        .q0 = { 1, 0 },
                        .exact = circle_exact };
}

/* ---- pendulum of length 1 m, g = 9.81, from rest at 1 rad ---- */

static const double pendulum_g = 9.81;

static perp_ode_answer pendulum_deriv(void *user, double t, double h, const double *q,
                                      const double *v, bool intermediate, double *qdot, double *a)
{
  (void)user, (void)t, (void)h, (void)intermediate;
  if (qdot != NULL) qdot[0] = v[0];
  a[0] = -pendulum_g * sin(q[0]);
  return PERP_ODE_OK;
}

/* sin(theta / 2) = k sn(K - w t), k = sin(theta0 / 2), w^2 = g */
static void pendulum_exact(const ode_problem *p, double t, double *q, double *v)
{
  const double k = sin(p->q0[0] / 2), w = sqrt(pendulum_g);
  double K = gsl_sf_ellint_Kcomp(k, GSL_PREC_DOUBLE), sn, cn, dn;
  gsl_sf_elljac_e(K - w * t, k * k, &sn, &cn, &dn);
  q[0] = 2 * asin(k * sn);
  v[0] = -2 * k * w * cn;
}

__attribute__((unused)) static double pendulum_energy(const double *q, const double *v)
{
  return 0.5 * v[0] * v[0] - pendulum_g * cos(q[0]);
}

__attribute__((unused)) static ode_problem pendulum(void)
{
  return (ode_problem){
    .name = "pendulum",
    .sys = { .nq = 1, .nv = 1, .deriv = pendulum_deriv, .caps = PERP_ODE_SYS_POSITION_FORCES },
    .t_end = 2.5,
    .q0 = { 1 },
    .exact = pendulum_exact
  };
}

/* ---- driven oscillator q'' = 3 cos 2t - q: a method that forgets the times of its stages is seen
 * ---- */

static void driven_exact(const ode_problem *p, double t, double *q, double *v)
{
  (void)p;
  q[0] = cos(t) - cos(2 * t);
  v[0] = 2 * sin(2 * t) - sin(t);
}

static perp_ode_answer driven_deriv(void *user, double t, double h, const double *q,
                                    const double *v, bool intermediate, double *qdot, double *a)
{
  (void)user, (void)h, (void)intermediate;
  if (qdot != NULL) qdot[0] = v[0];
  a[0] = 3 * cos(2 * t) - q[0];
  return PERP_ODE_OK;
}

__attribute__((unused)) static ode_problem driven(void)
{
  return (ode_problem){
    .name = "driven oscillator",
    .sys = { .nq = 1, .nv = 1, .deriv = driven_deriv, .caps = PERP_ODE_SYS_POSITION_FORCES },
    .t_end = 2.5,
    .exact = driven_exact
  };
}

/* ---- free rigid body: q a unit quaternion (body to space), v = w in the body frame ---- */

typedef struct rigid_body {
  double I[3];
} rigid_body;

static perp_ode_answer rigid_deriv(void *user, double t, double h, const double *q, const double *w,
                                   bool intermediate, double *qdot, double *a);
static void rigid_qdot(void *user, const double *q, const double *w, double *qdot)
{
  (void)user; /* q' = q (0, w) / 2 */
  qdot[0] = 0.5 * (-q[1] * w[0] - q[2] * w[1] - q[3] * w[2]);
  qdot[1] = 0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
  qdot[2] = 0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]);
  qdot[3] = 0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
}

static perp_ode_answer rigid_deriv(void *user, double t, double h, const double *q, const double *w,
                                   bool intermediate, double *qdot, double *a)
{
  (void)t, (void)h, (void)intermediate;
  const double *I = ((const rigid_body *)user)->I;
  if (qdot != NULL) rigid_qdot(user, q, w, qdot);
  a[0] = (I[1] - I[2]) * w[1] * w[2] / I[0];
  a[1] = (I[2] - I[0]) * w[2] * w[0] / I[1];
  a[2] = (I[0] - I[1]) * w[0] * w[1] / I[2];
  return PERP_ODE_OK;
}

static void rigid_project(void *user, double *q)
{
  (void)user;
  double s = 1 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  for (int i = 0; i < 4; i++) q[i] *= s;
}

static void quaternion_product(const double *p, const double *r, double *out)
{
  double x[4] = { p[0] * r[0] - p[1] * r[1] - p[2] * r[2] - p[3] * r[3],
                  p[0] * r[1] + p[1] * r[0] + p[2] * r[3] - p[3] * r[2],
                  p[0] * r[2] + p[2] * r[0] + p[3] * r[1] - p[1] * r[3],
                  p[0] * r[3] + p[3] * r[0] + p[1] * r[2] - p[2] * r[1] };
  memcpy(out, x, sizeof x);
}

static void rigid_retract(void *user, const double *q, const double *dq, double *q_out)
{
  double angle = sqrt(dq[0] * dq[0] + dq[1] * dq[1] + dq[2] * dq[2]);
  double s = angle > 1e-8 ? sin(angle / 2) / angle : 0.5;
  double r[4] = { cos(angle / 2), s * dq[0], s * dq[1], s * dq[2] };
  quaternion_product(q, r, q_out);
  rigid_project(user, q_out);
}

/* By the inverse of dexp = 1 - (1 - cos a) / a^2 u^ + (a - sin a) / a^3 u^ u^, as a matrix */
static void rigid_dexpinv(void *user, const double *u, const double *w, double *du)
{
  (void)user;
  const double a = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
  const double s = a > 1e-2 ? (1 - cos(a)) / (a * a) : 0.5 - a * a / 24;
  const double r = a > 1e-2 ? (a - sin(a)) / (a * a * a) : 1.0 / 6 - a * a / 120;
  const double hat[3][3] = { { 0, -u[2], u[1] }, { u[2], 0, -u[0] }, { -u[1], u[0], 0 } };
  double m[3][3];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double square = 0;
      for (int k = 0; k < 3; k++) square += hat[i][k] * hat[k][j];
      m[i][j] = (i == j) - s * hat[i][j] + r * square;
    }
  double x[3];
  const double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                     m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                     m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  for (int j = 0; j < 3; j++) { /* Cramer's rule: column j replaced by w */
    double of[3][3];
    for (int i = 0; i < 3; i++)
      for (int k = 0; k < 3; k++) of[i][k] = k == j ? w[i] : m[i][k];
    x[j] = (of[0][0] * (of[1][1] * of[2][2] - of[1][2] * of[2][1]) -
            of[0][1] * (of[1][0] * of[2][2] - of[1][2] * of[2][0]) +
            of[0][2] * (of[1][0] * of[2][1] - of[1][1] * of[2][0])) /
           det;
  }
  memcpy(du, x, sizeof x);
}

/* R x with R of the unit quaternion q */
__attribute__((unused)) static void rotate(const double *q, const double *x, double *out)
{
  double c[4] = { q[0], -q[1], -q[2], -q[3] }, p[4] = { 0, x[0], x[1], x[2] };
  quaternion_product(q, p, p);
  quaternion_product(p, c, p);
  memcpy(out, p + 1, 3 * sizeof *out);
}

/* Angular velocity in the body frame, started at (A, 0, C) with energy and momentum that turn about
 * the axis of I3 (Landau and Lifshitz, Mechanics, section 37): w = (A cn, B sn, C dn)(s t). */
static void rigid_omega(const double *I, const double *w0, double t, double *w)
{
  double A = w0[0], C = w0[2];
  double twice_energy = I[0] * A * A + I[2] * C * C;
  double momentum2 = I[0] * I[0] * A * A + I[2] * I[2] * C * C;
  double p = twice_energy * I[2] - momentum2, r = momentum2 - twice_energy * I[0];
  double B = sqrt(p / (I[1] * (I[2] - I[1])));
  double s = sqrt((I[2] - I[1]) * r / (I[0] * I[1] * I[2]));
  double m = (I[1] - I[0]) * p / ((I[2] - I[1]) * r), sn, cn, dn;
  gsl_sf_elljac_e(s * t, m, &sn, &cn, &dn);
  w[0] = A * cn;
  w[1] = B * sn;
  w[2] = C * dn;
}

struct precession {
  const ode_problem *p;
};

/* rate of turning about the angular momentum: |L| (I1 w1^2 + I2 w2^2) / (I1^2 w1^2 + I2^2 w2^2) */
static double precession_rate(double t, void *user)
{
  const ode_problem *p = ((struct precession *)user)->p;
  const double *I = ((const rigid_body *)p->sys.user)->I;
  double w[3];
  rigid_omega(I, p->v0, t, w);
  double x = I[0] * w[0], y = I[1] * w[1], z = I[2] * w[2];
  return sqrt(x * x + y * y + z * z) * (x * w[0] + y * w[1]) / (x * x + y * y);
}

/* Attitude with the angular momentum along the third axis of space, and the precession angle phi.
 */
static void attitude(const double *I, const double *w, double phi, double *q)
{
  double x = I[0] * w[0], y = I[1] * w[1], z = I[2] * w[2];
  double theta = acos(z / sqrt(x * x + y * y + z * z)), psi = atan2(x, y);
  q[0] = cos(theta / 2) * cos((phi + psi) / 2);
  q[1] = sin(theta / 2) * cos((phi - psi) / 2);
  q[2] = sin(theta / 2) * sin((phi - psi) / 2);
  q[3] = cos(theta / 2) * sin((phi + psi) / 2);
}

static void rigid_exact(const ode_problem *p, double t, double *q, double *v)
{
  const double *I = ((const rigid_body *)p->sys.user)->I;
  struct precession data = { p };
  gsl_function rate = { precession_rate, &data };
  /* Gauss-Legendre to round-off: the rate is analytic and slow against the pieces */
  gsl_integration_glfixed_table *gauss = gsl_integration_glfixed_table_alloc(32);
  const int pieces = (int)ceil(4 * t);
  double phi = 0;
  for (int i = 0; i < pieces; i++)
    phi += gsl_integration_glfixed(&rate, t * i / pieces, t * (i + 1) / pieces, gauss);
  gsl_integration_glfixed_table_free(gauss);
  double w[3];
  rigid_omega(I, p->v0, t, w);
  attitude(I, w, phi, q);
  memcpy(v, w, sizeof w);
}

__attribute__((unused)) static ode_problem rigid(void)
{
  static rigid_body body = { { 1, 2, 3 } };
  ode_problem p = { .name = "free rigid body",
                    .sys = { .nq = 4,
                             .nv = 3,
                             .user = &body,
                             .deriv = rigid_deriv,
                             .retract = rigid_retract,
                             .dexpinv = rigid_dexpinv,
                             .project = rigid_project,
                             .qdot = rigid_qdot },
                    .t_end = 4,
                    .v0 = { 1.2, 0, 1.5 },
                    .exact = rigid_exact };
  attitude(body.I, p.v0, 0, p.q0);
  return p;
}

/* ---- errors ---- */

/* Largest error of q and v at the present time of the solver, quaternions up to sign. */
__attribute__((unused)) static double ode_error(const ode_problem *p, const perp_ode *ode)
{
  double q[4], v[3], worst = 0, mirrored = 0;
  p->exact(p, perp_ode_time(ode), q, v);
  for (int i = 0; i < p->sys.nq; i++) {
    worst = fmax(worst, fabs(perp_ode_q(ode)[i] - q[i]));
    mirrored = fmax(mirrored, fabs(perp_ode_q(ode)[i] + q[i]));
  }
  if (p->sys.nq == 4) worst = fmin(worst, mirrored);
  for (int i = 0; i < p->sys.nv; i++) worst = fmax(worst, fabs(perp_ode_v(ode)[i] - v[i]));
  return worst;
}

#endif
