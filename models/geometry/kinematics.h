/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinematics of one rigid body: the two primitives from which all joints and forces are built.
 *
 * With the pose (x, R) of a body and its angular velocity w in the body frame (w [3] in space,
 * one number in the plane), a vector s fixed in the body has
 *
 *      direction   n = R s        ndot = D w         nddot = D wdot + R (w x (w x s))
 *      point       p = x + R s    pdot = xdot + D w  pddot = xddot + D wdot + R (w x (w x s))
 *
 * where D = d(R s)/d(theta) = -R [s]x in space, and R (-s_y, s_x)' in the plane (Vondrak 2005,
 * eq. 5.1, 5.2, 5.4 and 5.5; Cline 2002, eq. 2.7, 2.8 and 4.2; with the angular velocity turned
 * into the body frame).  The Jacobian block of a direction is (0 D) and that of a point (E D); the
 * last term is the bias, "Jdot v".
 *
 * Every function takes the dimension d (2 or 3) first; it is a literal where it matters, so that
 * the compiler makes one straight version for each. */
#ifndef PERP_KINEMATICS_H
#define PERP_KINEMATICS_H

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERP_INLINE static inline __attribute__((always_inline, unused))

enum { PERP_DIM_MAX = 3, PERP_RATES_MAX = 3 };

/* Pose of a body: R is d x d, column-major. */
typedef struct perp_pose {
  double x[3], R[9];
} perp_pose;

/* Number of rotational rates: 3 in space, 1 in the plane. */
PERP_INLINE int perp_rates(int d)
{
  return d == 3 ? 3 : 1;
}

PERP_INLINE double perp_dot(int d, const double *a, const double *b)
{
  double sum = a[0] * b[0] + a[1] * b[1];
  return d == 3 ? sum + a[2] * b[2] : sum;
}

PERP_INLINE void perp_cross(const double a[3], const double b[3], double c[3])
{
  double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2],
         z = a[0] * b[1] - a[1] * b[0];
  c[0] = x, c[1] = y, c[2] = z;
}

/* Rotation matrix of a quaternion of any length but zero (intermediate states of Runge-Kutta
 * methods are not exactly unit): the one of q / |q|. */
PERP_INLINE void perp_quat_matrix(const double q[4], double R[9])
{
  double w = q[0], x = q[1], y = q[2], z = q[3];
  double s = 2 / (w * w + x * x + y * y + z * z);
  double sx = s * x, sy = s * y, sz = s * z;
  double xx = sx * x, xy = sx * y, xz = sx * z, yy = sy * y, yz = sy * z, zz = sz * z;
  double wx = sx * w, wy = sy * w, wz = sz * w;
  R[0] = 1 - (yy + zz), R[3] = xy - wz, R[6] = xz + wy;
  R[1] = xy + wz, R[4] = 1 - (xx + zz), R[7] = yz - wx;
  R[2] = xz - wy, R[5] = yz + wx, R[8] = 1 - (xx + yy);
}

/* Pose from the coordinates of a body: (x, y, z, qw, qx, qy, qz) or (x, y, angle). */
PERP_INLINE void perp_pose_of(int d, const double *q, perp_pose *pose)
{
  pose->x[0] = q[0], pose->x[1] = q[1];
  if (d == 3) {
    pose->x[2] = q[2];
    perp_quat_matrix(q + 3, pose->R);
  } else {
    double c = cos(q[2]), s = sin(q[2]);
    pose->R[0] = c, pose->R[2] = -s;
    pose->R[1] = s, pose->R[3] = c;
  }
}

/* y = R s */
PERP_INLINE void perp_turn(int d, const double *R, const double *s, double *y)
{
  for (int i = 0; i < d; i++) {
    double sum = R[i] * s[0] + R[i + d] * s[1];
    y[i] = d == 3 ? sum + R[i + 2 * d] * s[2] : sum;
  }
}

/* y = R' s */
PERP_INLINE void perp_turn_back(int d, const double *R, const double *s, double *y)
{
  for (int j = 0; j < d; j++) y[j] = perp_dot(d, R + d * j, s);
}

/* D [d x rates], column-major: D e_k = R (e_k x s). */
PERP_INLINE void perp_direction_jacobian(int d, const double *R, const double *s, double *D)
{
  for (int i = 0; i < d; i++) {
    if (d == 3) {
      double x = R[i], y = R[i + 3], z = R[i + 6];
      D[i] = z * s[1] - y * s[2];
      D[i + 3] = x * s[2] - z * s[0];
      D[i + 6] = y * s[0] - x * s[1];
    } else {
      D[i] = R[i + 2] * s[0] - R[i] * s[1];
    }
  }
}

/* y = D w = R (w x s) */
PERP_INLINE void perp_direction_rate(int d, const double *R, const double *s, const double *w,
                                     double *y)
{
  double u[3] = { 0 };
  if (d == 3)
    perp_cross(w, s, u);
  else
    u[0] = -w[0] * s[1], u[1] = w[0] * s[0];
  perp_turn(d, R, u, y);
}

/* y = R (w x (w x s)) */
PERP_INLINE void perp_direction_bias(int d, const double *R, const double *s, const double *w,
                                     double *y)
{
  double u[3] = { 0 };
  if (d == 3) {
    perp_cross(w, s, u);
    perp_cross(w, u, u);
  } else {
    u[0] = -w[0] * w[0] * s[0], u[1] = -w[0] * w[0] * s[1];
  }
  perp_turn(d, R, u, y);
}

/* ---- quaternions ---- */

/* out = p q, the turn q and then p; out is neither of them */
PERP_INLINE void perp_quat_product(const double p[4], const double q[4], double out[4])
{
  double v[3];
  out[0] = p[0] * q[0] - perp_dot(3, p + 1, q + 1);
  perp_cross(p + 1, q + 1, v);
  for (int i = 0; i < 3; i++) out[1 + i] = v[i] + (p[0] * q[1 + i] + q[0] * p[1 + i]);
}

/* Scale back to unit length.  For a quaternion that left it by rounding only one Newton step for
 * 1/|q|, |q|^2 = 1 + e -> 1 - e/2, leaves 3/4 e^2 < 1e-16. */
PERP_INLINE void perp_quat_unit(double q[4])
{
  double n2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], e = n2 - 1;
  double scale = fabs(e) < 1e-8 ? 1 - 0.5 * e : 1 / sqrt(n2);
  for (int i = 0; i < 4; i++) q[i] *= scale;
}

/* out = q exp(dtheta / 2) (Cline 2002, eq. 2.3, 2.4): the rotation vector dtheta of the body frame.
 * Unit length is kept to rounding, and rounding is removed.  out may alias q. */
PERP_INLINE void perp_quat_retract(const double q[4], const double dtheta[3], double out[4])
{
  double y = 0.25 * (dtheta[0] * dtheta[0] + dtheta[1] * dtheta[1] + dtheta[2] * dtheta[2]);
  double c, half_sinc; /* cos(a), sin(a) / (2 a) with a^2 = y */
  if (y < 1.0 / 256) {
    /* the terms left out are below 1e-18 */
    c = 1 - y / 2 * (1 - y / 12 * (1 - y / 30 * (1 - y / 56)));
    half_sinc = 0.5 * (1 - y / 6 * (1 - y / 20 * (1 - y / 42 * (1 - y / 72))));
  } else {
    double a = sqrt(y);
    c = cos(a);
    half_sinc = 0.5 * sin(a) / a;
  }
  double ex = half_sinc * dtheta[0], ey = half_sinc * dtheta[1], ez = half_sinc * dtheta[2];
  double w = q[0], qx = q[1], qy = q[2], qz = q[3];
  out[0] = w * c - qx * ex - qy * ey - qz * ez;
  out[1] = w * ex + qx * c + qy * ez - qz * ey;
  out[2] = w * ey - qx * ez + qy * c + qz * ex;
  out[3] = w * ez + qx * ey - qy * ex + qz * c;
  perp_quat_unit(out);
}

/* du = dexp^-1_u(w): the rate of the rotation vector u of q0 exp(u / 2) that turns with w in the
 * body frame, du = w + u x w / 2 + (1 - (a / 2) cot(a / 2)) / a^2 u x (u x w), a = |u| < 2 pi
 * (Munthe-Kaas 1999).  du may alias w. */
PERP_INLINE void perp_quat_dexpinv(const double u[3], const double w[3], double du[3])
{
  const double a2 = perp_dot(3, u, u), half = 0.5 * sqrt(a2);
  double uw[3], uuw[3];
  perp_cross(u, w, uw);
  perp_cross(u, uw, uuw);
  /* the terms left out are below 1e-18 */
  const double c = a2 < 1e-3 ? 1.0 / 12 + a2 * (1.0 / 720 + a2 * (1.0 / 30240 + a2 / 1209600))
                             : (1 - half / tan(half)) / a2;
  for (int i = 0; i < 3; i++) du[i] = w[i] + 0.5 * uw[i] + c * uuw[i];
}

/* w = dexp_u(du), the inverse of that: w = du + (cos a - 1) / a^2 u x du + (a - sin a) / a^3 u x (u
 * x du), by the power series.  w may alias du. */
PERP_INLINE void perp_quat_dexp(const double u[3], const double du[3], double w[3])
{
  const double a2 = perp_dot(3, u, u);
  double term = -0.5, c1 = 0, c2 = 0, uw[3], uuw[3];
  for (int k = 0; k < 40 && fabs(term) > 1e-20; k++) {
    c1 += term;
    c2 -= term / (2 * k + 3);
    term *= -a2 / ((2. * k + 3) * (2 * k + 4));
  }
  perp_cross(u, du, uw);
  perp_cross(u, uw, uuw);
  for (int i = 0; i < 3; i++) w[i] = du[i] + c1 * uw[i] + c2 * uuw[i];
}

/* Rotation vector in the body frame that takes q0 to q1, from q0^-1 q1 (Cline 2002, eq. 2.5), of
 * length at most pi. */
PERP_INLINE void perp_quat_difference(const double q0[4], const double q1[4], double dtheta[3])
{
  double w = q0[0] * q1[0] + q0[1] * q1[1] + q0[2] * q1[2] + q0[3] * q1[3];
  double x = q0[0] * q1[1] - q0[1] * q1[0] - q0[2] * q1[3] + q0[3] * q1[2];
  double y = q0[0] * q1[2] + q0[1] * q1[3] - q0[2] * q1[0] - q0[3] * q1[1];
  double z = q0[0] * q1[3] - q0[1] * q1[2] + q0[2] * q1[1] - q0[3] * q1[0];
  double n = sqrt(x * x + y * y + z * z);
  /* q and -q are the same rotation: take the shorter way */
  double scale = n > 0 ? 2 * atan2(n, fabs(w)) / n : 2;
  if (w < 0) scale = -scale;
  dtheta[0] = scale * x, dtheta[1] = scale * y, dtheta[2] = scale * z;
}

/* Unit quaternion of a rotation matrix (3 x 3 column-major): the largest of its components first
 * (Shepperd 1978). */
PERP_INLINE void perp_matrix_quat(const double R[9], double q[4])
{
  double trace = R[0] + R[4] + R[8], best = trace;
  int k = 0;
  for (int i = 0; i < 3; i++)
    if (R[4 * i] > best) best = R[4 * i], k = i + 1;
  double r = sqrt(k == 0 ? 1 + trace : 1 + 2 * best - trace), s = 0.5 / r;
  if (k == 0) {
    q[0] = 0.5 * r;
    q[1] = s * (R[5] - R[7]), q[2] = s * (R[6] - R[2]), q[3] = s * (R[1] - R[3]);
  } else {
    int a = k - 1, b = k % 3, c = (k + 1) % 3;
    q[1 + a] = 0.5 * r;
    q[0] = s * (R[b * 3 + c] - R[c * 3 + b]);
    q[1 + b] = s * (R[a + 3 * b] + R[b + 3 * a]);
    q[1 + c] = s * (R[a + 3 * c] + R[c + 3 * a]);
  }
}

/* y [3]: the rotation vector of R, exp(y x) = R, |y| <= pi. */
PERP_INLINE void perp_matrix_log(const double R[9], double y[3])
{
  const double one[4] = { 1 };
  double q[4];
  perp_matrix_quat(R, q);
  perp_quat_difference(one, q, y);
}

/* qdot = q (0, w) / 2, w in the body frame (Cline 2002, eq. 2.9 has it in the world frame; STAR
 * 2012, eq. 1) */
PERP_INLINE void perp_quat_rate(const double q[4], const double w[3], double qdot[4])
{
  qdot[0] = -0.5 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]);
  qdot[1] = 0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
  qdot[2] = 0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]);
  qdot[3] = 0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
}

/* The derivative of a function of the step dtheta, q1 = q0 exp(dtheta / 2), by q1 and, negative, by
 * q0, each in its body frame; p is that by dtheta.  The transposed inverse derivative of the
 * exponential map at -dtheta and dtheta (Iserles, Munthe-Kaas, Norsett and Zanna 2000, section 2;
 * |dtheta| < 2 pi). */
PERP_INLINE void perp_quat_transport(const double dtheta[3], const double p[3], double start[3],
                                     double end[3])
{
  const double y = dtheta[0] * dtheta[0] + dtheta[1] * dtheta[1] + dtheta[2] * dtheta[2];
  /* (1 - a cot a) / y of half the angle, a */
  double c = 1.0 / 12 + y * (1.0 / 720 + y * (1.0 / 30240 + y / 1209600));
  if (y > 1.0 / 256) {
    const double a = 0.5 * sqrt(y);
    c = (1 - a / tan(a)) / y;
  }
  double u[3], uu[3];
  perp_cross(dtheta, p, u);
  perp_cross(dtheta, u, uu);
  for (int i = 0; i < 3; i++) {
    start[i] = p[i] + 0.5 * u[i] + c * uu[i];
    end[i] = p[i] - 0.5 * u[i] + c * uu[i];
  }
}

#ifdef __cplusplus
}
#endif

#endif
