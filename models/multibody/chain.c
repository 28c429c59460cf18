/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chain of n slides and hinges between bodies a and b, whose links in between weigh nothing.  In
 * the frame of a, with the unit axes n_i and points p_i of the initial state,
 *
 *      T(q) = exp(S_1 q_1) ... exp(S_n q_n) T(0)
 *
 * (R. M. Murray, Z. Li, S. S. Sastry, A Mathematical Introduction to Robotic Manipulation, 1994,
 * section 3.2: the product of exponentials).  Of a pose (R, x) of b, x the place of a point fixed
 * in b, and the end (R_c, x_c) of the chain,
 *
 *      E(q) = ( x - x_c,   size skew(D) ),    D = R R_c',     skew(D) = (D - D')/2 as a vector
 *
 * is 0 where the pose is one of the chain.  With an orthonormal basis (A, B) of the six directions,
 * A those that the axes span at a state near by, B those across them,
 *
 *      A' E(q) = 0      defines the coordinates q of any pose,
 *      C = B' E(q)      are the 6 - n rows.
 *
 * Both are derived exactly: with M = -dE/dq, K = A' M, and E. the rate that the motion of the
 * bodies gives E where q is held,
 *
 *      u = K^-1 A' E.,      Cdot = (B - A K^-T M' B)' E.
 *
 * and once more for the bias.  A, B and the start of Newton's method are of the last accepted state
 * (perp_chain_memory), so that C is smooth in a step and q counts turns.  A far from the axes is
 * replaced at accepted states, B going on as it was as far as it can.
 *
 * Axes become dependent at singular positions, as a hinge that turns one slide along another: there
 * K is singular, q is not defined, and the links in between would move infinitely fast.
 * perp_chain_follow says so, and what passes such a position within a step. */
#include "models/multibody/chain.h"

#include <string.h>

/* rad, or (of size) a distance: of a pose off the chain by more than NEAR, with an angle that has
 * moved by more than TURNED, other coordinates may be meant; they are taken where they leave less.
 */
static const double NEAR = 1e-3, TURNED = 0.3;
static const double TORN = 0.1; /* rad, or (of size) a distance */
/* Part of an axis that the others have not, below which they are dependent. */
static const double DEPENDENT = 1e-6;
/* Cosine between what the axes span and the basis, below which there is a new one. */
static const double LEAN = 0.9;
enum { NEWTON = 20, NEAREST = 40 };

static double chain_dot6(const double *a, const double *b)
{
  double sum = 0;
  for (int i = 0; i < 6; i++) sum += a[i] * b[i];
  return sum;
}

static void chain_add_cross(double sign, const double a[3], const double b[3], double y[3])
{
  double c[3];
  perp_cross(a, b, c);
  for (int i = 0; i < 3; i++) y[i] += sign * c[i];
}

static void chain_multiply(const double A[9], const double B[9], double C[9])
{
  double P[9];
  for (int j = 0; j < 3; j++) perp_turn(3, A, B + 3 * j, P + 3 * j);
  memcpy(C, P, sizeof P);
}

static void chain_transposed(const double A[9], double T[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) T[i + 3 * j] = A[j + 3 * i];
}

/* skew(A) as a vector */
static void chain_skew(const double A[9], double y[3])
{
  y[0] = 0.5 * (A[5] - A[7]), y[1] = 0.5 * (A[6] - A[2]), y[2] = 0.5 * (A[1] - A[3]);
}

/* C = [w] A, w x each column */
static void chain_spin(const double w[3], const double A[9], double C[9])
{
  for (int j = 0; j < 3; j++) perp_cross(w, A + 3 * j, C + 3 * j);
}

/* C = A [w]: its transpose is -[w] A' */
static void chain_spun(const double A[9], const double w[3], double C[9])
{
  double T[9], P[9];
  chain_transposed(A, T);
  chain_spin(w, T, P);
  chain_transposed(P, C);
  for (int i = 0; i < 9; i++) C[i] = -C[i];
}

/* y = (tr D - D) s, transposed: (tr D - D') s; skew([s] D) is half of it, skew(D [s]) half of the
 * other */
static void chain_trace_less(const double D[9], bool transposed, const double s[3], double y[3])
{
  const double trace = D[0] + D[4] + D[8];
  double t[3];
  (transposed ? perp_turn_back : perp_turn)(3, D, s, t);
  for (int i = 0; i < 3; i++) y[i] = trace * s[i] - t[i];
}

/* R = rotation by angle about the unit vector n */
static void chain_rotation(const double n[3], double angle, double R[9])
{
  const double s = sin(angle), h = sin(angle / 2), c = 2 * h * h;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) R[i + 3 * j] = (i == j ? 1 - c : 0) + c * n[i] * n[j];
  R[1] += s * n[2], R[3] -= s * n[2];
  R[6] += s * n[1], R[2] -= s * n[1];
  R[5] += s * n[0], R[7] -= s * n[0];
}

/* ---- motion ---- */

/* The frame goes on to the place s of its own. */
static void chain_shift(const double s[3], bool rates, double sign, perp_chain_motion *motion)
{
  double d[3], spin[3], inner[3];
  perp_turn(3, motion->R, s, d);
  for (int k = 0; k < 3; k++) motion->x[k] += sign * d[k];
  if (!rates) return;
  perp_cross(motion->w, d, spin);
  perp_cross(motion->w, spin, inner);
  for (int k = 0; k < 3; k++) motion->v[k] += sign * spin[k], motion->a[k] += sign * inner[k];
  chain_add_cross(sign, motion->alpha, d, motion->a);
}

void perp_chain_move(const perp_chain *chain, const double *q, const double *u,
                     perp_chain_motion *motion)
{
  const bool rates = u != NULL;
  memset(motion->x, 0, sizeof motion->x);
  memset(motion->v, 0, sizeof motion->v);
  memset(motion->a, 0, sizeof motion->a);
  for (int i = 0; i < chain->n; i++) {
    double *n = motion->along[i];
    perp_turn(3, motion->R, chain->along[i], n);
    if (chain->slides[i]) {
      double d[3], spin[3], inner[3];
      for (int k = 0; k < 3; k++) d[k] = q[i] * n[k], motion->x[k] += d[k];
      memset(motion->at[i], 0, sizeof motion->at[i]);
      if (!rates) continue;
      perp_cross(motion->w, d, spin);
      perp_cross(motion->w, spin, inner);
      for (int k = 0; k < 3; k++) motion->v[k] += spin[k] + u[i] * n[k], motion->a[k] += inner[k];
      chain_add_cross(1, motion->alpha, d, motion->a);
      chain_add_cross(2 * u[i], motion->w, n, motion->a);
      continue;
    }
    double turn[9];
    chain_shift(chain->at[i], rates, 1, motion);
    memcpy(motion->at[i], motion->x, sizeof motion->x);
    if (rates) {
      chain_add_cross(u[i], motion->w, n, motion->alpha);
      for (int k = 0; k < 3; k++) motion->w[k] += u[i] * n[k];
    }
    chain_rotation(chain->along[i], q[i], turn);
    chain_multiply(motion->R, turn, motion->R);
    chain_shift(chain->at[i], rates, -1, motion);
  }
  chain_shift(chain->x, rates, 1, motion);
  chain_multiply(motion->R, chain->R, motion->R);
}

/* The columns that the axes have where the end of the chain is at x: (m, size rad). */
static void chain_columns(const perp_chain *chain, const perp_chain_motion *m, double *A)
{
  for (int i = 0; i < chain->n; i++, A += 6) {
    double arm[3];
    memcpy(A, m->along[i], 3 * sizeof *A);
    memset(A + 3, 0, 3 * sizeof *A);
    if (chain->slides[i]) continue;
    for (int k = 0; k < 3; k++) arm[k] = m->x[k] - m->at[i][k], A[3 + k] = chain->size * A[k];
    perp_cross(m->along[i], arm, A);
  }
}

/* ---- basis ---- */

/* v less its part along the first n of the basis, twice; returns what is left of its length */
static double chain_across(int n, const double *basis, double v[6])
{
  const double before = sqrt(chain_dot6(v, v));
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < n; i++) {
      const double part = chain_dot6(basis + 6 * i, v);
      for (int k = 0; k < 6; k++) v[k] -= part * basis[6 * i + k];
    }
  return before > 0 ? sqrt(chain_dot6(v, v)) / before : 0;
}

static void chain_unit(double v[6])
{
  const double length = sqrt(chain_dot6(v, v));
  for (int k = 0; k < 6; k++) v[k] /= length;
}

/* A basis for columns A, in which what it had across them goes on; before NULL: axes of the frame.
 * *volume: of the columns, of which each had length |A_i|.  Returns the least part of a column
 * across those before it; where that is below DEPENDENT there is no basis. */
static double chain_basis(int n, const double *A, const double *before, double *basis,
                          double *volume)
{
  double least = 1, out[36];
  *volume = 1;
  for (int i = 0; i < n; i++) {
    memcpy(out + 6 * i, A + 6 * i, 6 * sizeof *out);
    const double part = chain_across(i, out, out + 6 * i);
    least = fmin(least, part);
    *volume *= part * sqrt(chain_dot6(A + 6 * i, A + 6 * i));
    if (!(least > DEPENDENT)) return least;
    chain_unit(out + 6 * i);
  }
  for (int i = n; i < 6; i++) {
    double most = -1, *v = out + 6 * i;
    for (int k = 0; k < 6; k++) { /* a direction that has most across what is there */
      double try[6] = { 0 };
      if (before != NULL && k > 0) break;
      if (before != NULL)
        memcpy(try, before + 6 * i, sizeof try);
      else
        try[k] = 1;
      const double part = chain_across(i, out, try);
      if (part <= most * (1 + 1e-9)) continue;
      most = part;
      memcpy(v, try, sizeof try);
    }
    if (!(most > DEPENDENT)) return most;
    chain_unit(v);
  }
  memcpy(basis, out, sizeof out);
  return least;
}

static void chain_still(perp_chain_motion *motion)
{
  *motion = (perp_chain_motion){ .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
}

double perp_chain_start(const perp_chain *chain, const double *q, perp_chain_memory *memory)
{
  perp_chain_motion motion;
  double A[6 * PERP_CHAIN_AXES], volume;
  *memory = (perp_chain_memory){ 0 };
  for (int i = 0; q != NULL && i < chain->n; i++) memory->q[i] = q[i];
  chain_still(&motion);
  perp_chain_move(chain, memory->q, NULL, &motion);
  chain_columns(chain, &motion, A);
  return chain_basis(chain->n, A, NULL, memory->basis, &volume);
}

/* ---- coordinates ---- */

/* D, E, M and the axes of at, at its q */
static void chain_place(const perp_chain *chain, perp_chain_at *at, double A[])
{
  const int n = chain->n;
  perp_chain_motion motion;
  double back[9];
  chain_still(&motion);
  perp_chain_move(chain, at->q, NULL, &motion);
  chain_columns(chain, &motion, A);
  memcpy(at->along, motion.along, sizeof at->along);
  memcpy(at->at, motion.at, sizeof at->at);
  chain_transposed(motion.R, back);
  chain_multiply(at->R, back, at->D);
  for (int k = 0; k < 3; k++) at->E[k] = at->x[k] - motion.x[k];
  chain_skew(at->D, at->E + 3);
  for (int k = 3; k < 6; k++) at->E[k] *= chain->size;
  for (int i = 0; i < n; i++) {
    double *M = at->M + 6 * i;
    memcpy(M, A + 6 * i, 6 * sizeof *M);
    if (chain->slides[i]) continue;
    chain_trace_less(at->D, true, at->along[i], M + 3);
    for (int k = 3; k < 6; k++) M[k] *= 0.5 * chain->size;
  }
}

/* |E| with the angle of D itself */
static double chain_left(const perp_chain *chain, const perp_chain_at *at)
{
  double turn[3], sum = 0;
  perp_matrix_log(at->D, turn);
  for (int k = 0; k < 3; k++)
    sum += at->E[k] * at->E[k] + chain->size * chain->size * turn[k] * turn[k];
  return sqrt(sum);
}

/* X = inverse of the n x n matrix K, both row-major; returns its determinant, 0: it is singular */
static double chain_inverse(int n, double *K, double *X)
{
  double det = 1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) X[n * i + j] = i == j;
  for (int c = 0; c < n; c++) {
    int p = c;
    for (int r = c + 1; r < n; r++)
      if (fabs(K[n * r + c]) > fabs(K[n * p + c])) p = r;
    if (!(fabs(K[n * p + c]) > 0)) return 0;
    det *= p == c ? K[n * p + c] : -K[n * p + c];
    for (int j = 0; j < n && p != c; j++) {
      double x = K[n * p + j], y = X[n * p + j];
      K[n * p + j] = K[n * c + j], K[n * c + j] = x;
      X[n * p + j] = X[n * c + j], X[n * c + j] = y;
    }
    for (int r = 0; r < n; r++) {
      const double f = r == c ? 0 : K[n * r + c] / K[n * c + c];
      for (int j = 0; j < n && f != 0; j++) {
        K[n * r + j] -= f * K[n * c + j];
        X[n * r + j] -= f * X[n * c + j];
      }
    }
    const double pivot = K[n * c + c];
    for (int j = 0; j < n; j++) K[n * c + j] /= pivot, X[n * c + j] /= pivot;
  }
  return det;
}

/* Kinv and det of at; false: K is singular */
static bool chain_factor(const perp_chain *chain, perp_chain_at *at)
{
  const int n = chain->n;
  double K[PERP_CHAIN_AXES * PERP_CHAIN_AXES];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) K[n * i + j] = chain_dot6(at->basis + 6 * i, at->M + 6 * j);
  at->det = chain_inverse(n, K, at->Kinv);
  return at->det != 0 && isfinite(at->det);
}

/* Newton's method on A' E(q) = 0 from at->q.  false: it finds nothing. */
static bool chain_newton(const perp_chain *chain, perp_chain_at *at, double A[], double *left)
{
  const int n = chain->n;
  bool last = false;
  for (int k = 0; k < NEWTON; k++) {
    chain_place(chain, at, A);
    if (!chain_factor(chain, at)) return false;
    if (last) {
      *left = chain_left(chain, at);
      return isfinite(*left);
    }
    double dq[PERP_CHAIN_AXES] = { 0 }, most = 0, turn = 0;
    for (int j = 0; j < n; j++) {
      const double r = chain_dot6(at->basis + 6 * j, at->E);
      for (int i = 0; i < n; i++) dq[i] += at->Kinv[n * i + j] * r;
    }
    for (int i = 0; i < n; i++) {
      most = fmax(most, fabs(dq[i]) / (chain->slides[i] ? chain->size : 1));
      if (!chain->slides[i]) turn = fmax(turn, fabs(dq[i]));
    }
    const double part = turn > 0.5 ? 0.5 / turn : 1;
    for (int i = 0; i < n; i++) at->q[i] += part * dq[i];
    last = most < 1e-9; /* what is left is its square */
  }
  return false;
}

/* The nearest pose of the chain from at->q (Levenberg and Marquardt); returns the distance. */
static double chain_nearest(const perp_chain *chain, perp_chain_at *at)
{
  const int n = chain->n;
  double A[6 * PERP_CHAIN_AXES], damping = 1e-3;
  chain_place(chain, at, A);
  double left = chain_left(chain, at);
  for (int k = 0; k < NEAREST && left > 0; k++) {
    double H[PERP_CHAIN_AXES * PERP_CHAIN_AXES], X[PERP_CHAIN_AXES * PERP_CHAIN_AXES], turn[3],
        E[6];
    perp_chain_at next = *at;
    perp_matrix_log(at->D, turn);
    for (int i = 0; i < 3; i++) E[i] = at->E[i], E[3 + i] = chain->size * turn[i];
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        H[n * i + j] = chain_dot6(A + 6 * i, A + 6 * j) * (i == j ? 1 + damping : 1);
    if (chain_inverse(n, H, X) == 0) return left;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) next.q[i] += X[n * i + j] * chain_dot6(A + 6 * j, E);
    double B[6 * PERP_CHAIN_AXES];
    chain_place(chain, &next, B);
    const double then = chain_left(chain, &next);
    damping = then < left ? 0.1 * damping : 10 * damping;
    if (!(then < left)) {
      if (damping > 1e6) return left;
      continue;
    }
    const bool still = then > (1 - 1e-6) * left;
    *at = next;
    left = then;
    memcpy(A, B, sizeof A);
    if (still) break;
  }
  return left;
}

/* Far from the last accepted state: the nearest of some starts, with a basis of its own, where less
 * than *left is left. */
static bool chain_search(const perp_chain *chain, const perp_chain_memory *memory,
                         perp_chain_at *best, double *left)
{
  static const double offset[] = { 0, 2, -2 };
  int starts = 1;
  bool found = false;
  for (int i = 0; i < chain->n; i++) starts *= chain->slides[i] ? 1 : 3;
  for (int s = 0; s < starts && !(found && *left < NEAR * chain->size); s++) {
    perp_chain_at at = *best;
    double A[6 * PERP_CHAIN_AXES], volume;
    for (int i = 0, rest = s; i < chain->n; i++) {
      at.q[i] = memory->q[i] + (chain->slides[i] ? 0 : offset[rest % 3]);
      if (!chain->slides[i]) rest /= 3;
    }
    if (!(chain_nearest(chain, &at) < *left)) continue;
    chain_place(chain, &at, A);
    if (!(chain_basis(chain->n, A, NULL, at.basis, &volume) > DEPENDENT)) continue;
    double now;
    if (!chain_newton(chain, &at, A, &now) || !(now < *left)) continue;
    *best = at;
    *left = now;
    found = true;
  }
  return found;
}

/* Does the pose of `at` belong to its coordinates? */
static bool chain_fits(const perp_chain *chain, const perp_chain_memory *memory,
                       const perp_chain_at *at, double left)
{
  double turned = 0;
  for (int i = 0; i < chain->n; i++)
    if (!chain->slides[i]) turned = fmax(turned, fabs(at->q[i] - memory->q[i]));
  return left < NEAR * chain->size || turned < TURNED;
}

void perp_chain_solve(const perp_chain *chain, const perp_chain_memory *memory, const perp_pose *A,
                      const perp_pose *B, perp_chain_at *at)
{
  double end[3], columns[6 * PERP_CHAIN_AXES], left = HUGE_VAL;
  for (int j = 0; j < 3; j++) perp_turn_back(3, A->R, B->R + 3 * j, at->R + 3 * j);
  perp_turn(3, B->R, chain->end, end);
  for (int k = 0; k < 3; k++) end[k] += B->x[k] - A->x[k];
  perp_turn_back(3, A->R, end, at->x);
  memcpy(at->q, memory->q, sizeof at->q);
  memcpy(at->basis, memory->basis, sizeof at->basis);
  const bool near = chain_newton(chain, at, columns, &left);
  if (near && chain_fits(chain, memory, at, left)) return;
  left = near ? NEAR * chain->size : HUGE_VAL;
  perp_chain_at other = *at;
  if (chain_search(chain, memory, &other, &left))
    *at = other;
  else if (!near) { /* nowhere: no number is right */
    for (int k = 0; k < 6; k++) at->E[k] = (double)NAN;
    for (int k = 0; k < chain->n; k++) at->q[k] = (double)NAN;
  }
}

/* ---- derivatives ---- */

double perp_chain_covector(const perp_chain *chain, const perp_chain_at *at, int i, double y[6])
{
  const int n = chain->n;
  double z[PERP_CHAIN_AXES] = { 0 };
  if (i < n) {
    memset(y, 0, 6 * sizeof *y);
    for (int j = 0; j < n; j++)
      for (int k = 0; k < 6; k++) y[k] += at->Kinv[n * i + j] * at->basis[6 * j + k];
    return at->q[i];
  }
  const double *b = at->basis + 6 * i;
  for (int j = 0; j < n; j++) {
    const double part = chain_dot6(at->M + 6 * j, b);
    for (int k = 0; k < n; k++) z[k] += at->Kinv[n * j + k] * part;
  }
  memcpy(y, b, 6 * sizeof *y);
  for (int j = 0; j < n; j++)
    for (int k = 0; k < 6; k++) y[k] -= z[j] * at->basis[6 * j + k];
  return chain_dot6(b, at->E);
}

void perp_chain_jacobian(const perp_chain *chain, const perp_chain_at *at, const perp_pose *pose,
                         const double y[6], int ld, double *Ja, double *Jb)
{
  double f[3], turn[3], own[3], about[3], arm[3];
  perp_turn(3, pose->R, y, f);
  chain_trace_less(at->D, true, y + 3, turn);
  for (int k = 0; k < 3; k++) turn[k] *= 0.5 * chain->size;
  if (Ja != NULL) {
    perp_cross(at->x, y, arm);
    for (int k = 0; k < 3; k++) Ja[k * ld] = -f[k], Ja[(3 + k) * ld] = -arm[k] - turn[k];
  }
  if (Jb == NULL) return;
  perp_turn_back(3, at->R, y, own);
  perp_turn_back(3, at->R, turn, about);
  perp_cross(chain->end, own, arm);
  for (int k = 0; k < 3; k++) Jb[k * ld] = f[k], Jb[(3 + k) * ld] = arm[k] + about[k];
}

void perp_chain_bias(const perp_chain *chain, const perp_chain_at *at, const perp_pose *A,
                     const double *va, const double *vb, double *u, double g[6])
{
  const int n = chain->n;
  const double *wa = va + 3, *wb = vb + 3;
  double W[3], Wdot[3], spin[3], inner[3], rate[3], x1[3], x2[3], s[3], e[6];
  perp_turn(3, at->R, wb, W);
  for (int k = 0; k < 3; k++) W[k] -= wa[k], s[k] = vb[k] - va[k];
  perp_cross(W, wa, Wdot);
  /* of the point of b as seen from a: x1 = rate - wa x x, and its derivative x2 */
  perp_turn_back(3, A->R, s, rate);
  perp_cross(wb, chain->end, spin);
  perp_cross(wb, spin, inner);
  perp_turn(3, at->R, spin, s);
  perp_turn(3, at->R, inner, x2);
  for (int k = 0; k < 3; k++) rate[k] += s[k], x1[k] = rate[k];
  chain_add_cross(-1, wa, at->x, x1);
  chain_add_cross(-1, wa, rate, x2);
  chain_add_cross(-1, wa, x1, x2);
  memcpy(e, x1, sizeof x1);
  chain_trace_less(at->D, false, W, e + 3);
  for (int k = 3; k < 6; k++) e[k] *= 0.5 * chain->size;
  for (int i = 0; i < n; i++) {
    u[i] = 0;
    for (int j = 0; j < n; j++) u[i] += at->Kinv[n * i + j] * chain_dot6(at->basis + 6 * j, e);
  }
  perp_chain_motion m;
  double P[9], Q[9], D1[9], D2[9];
  chain_still(&m);
  perp_chain_move(chain, at->q, u, &m);
  chain_spin(W, at->D, P);
  chain_spun(at->D, m.w, Q);
  for (int k = 0; k < 9; k++) D1[k] = P[k] - Q[k];
  chain_spin(Wdot, at->D, P);
  chain_spun(at->D, m.alpha, Q);
  for (int k = 0; k < 9; k++) D2[k] = P[k] - Q[k];
  chain_spin(W, D1, P);
  chain_spun(D1, m.w, Q);
  for (int k = 0; k < 9; k++) D2[k] += P[k] - Q[k];
  chain_skew(D2, g + 3);
  for (int k = 0; k < 3; k++) g[k] = x2[k] - m.a[k], g[3 + k] *= chain->size;
}

bool perp_chain_follow(const perp_chain *chain, const perp_pose *A, const perp_pose *B,
                       perp_chain_memory *memory)
{
  perp_chain_at at;
  perp_chain_motion motion;
  double columns[6 * PERP_CHAIN_AXES], basis[36], volume;
  perp_chain_solve(chain, memory, A, B, &at);
  /* torn off the chain, as by a method that is not stable: its axes are not at fault */
  const bool lost = !isfinite(at.q[0]);
  if (lost) memcpy(at.q, memory->q, sizeof at.q);
  if (!((lost ? chain_nearest(chain, &at) : chain_left(chain, &at)) < TORN * chain->size))
    return true;
  if (lost) return false;
  const bool passed = memcmp(at.basis, memory->basis, sizeof at.basis) == 0 && !(at.det > 0);
  memcpy(memory->q, at.q, sizeof at.q);
  chain_still(&motion);
  perp_chain_move(chain, at.q, NULL, &motion);
  chain_columns(chain, &motion, columns);
  const double least = chain_basis(chain->n, columns, memory->basis, basis, &volume);
  if (passed || !(least > DEPENDENT)) return false;
  if (!(at.det >= LEAN * volume) || memcmp(at.basis, memory->basis, sizeof at.basis) != 0)
    memcpy(memory->basis, basis, sizeof basis);
  return true;
}
