/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Articulated-body algorithm in joint coordinates (R. Featherstone, Rigid Body Dynamics Algorithms,
 * 2008).
 *
 * Every body i hangs on a parent l by one joint with rates u_i.  With accelerations a = (wdot,
 * xddot) of the centres of mass in world axes, and r = x_i - x_l,
 *
 *      a_i = X_i a_l + S_i udot_i + zeta_i,     X_i = [ 1 0 ; -[r]x 1 ]
 *
 * zeta collects all products of velocities.  The equation of motion of the tree that starts at body
 * i, seen from its joint, is  force = I_i a_i + p_i  with the articulated inertia and bias of i,
 * which follow from the leaves to the root,
 *
 *      U = I S,  D = S' U + armature,  y = D^-1 (-S' p),
 *      I_l += X' (I - U D^-1 U') X,   p_l += X' (p + (I - U D^-1 U') zeta + U y)
 *
 * and then, from the root to the leaves, a' = X a_l + zeta, udot = y - D^-1 U' a', a = a' + S udot.
 * The start is I_i = diag(R I_body R', m 1) and p_i = -(force and gyroscopic torque of the model).
 *
 * The plane is the space with joints that stay in it: a planar body turns about z only, so that one
 * code serves both (its inertia about x and y is never felt; any positive number does).
 *
 * Cost O(n), about 700 multiplications a ball joint; no allocation after create.  It fails where a
 * joint inertia D is singular to working precision, which positive masses exclude. */
#include "models/multibody/reduced_private.h"

/* D = L L' in place (lower triangle); false when D is not positive definite */
static bool reduced_dynamics_cholesky(int n, double *D)
{
  for (int j = 0; j < n; j++) {
    double d = D[j + n * j];
    for (int c = 0; c < j; c++) d -= D[j + n * c] * D[j + n * c];
    if (!(d > 0)) return false;
    d = sqrt(d);
    D[j + n * j] = d;
    for (int r = j + 1; r < n; r++) {
      double s = D[r + n * j];
      for (int c = 0; c < j; c++) s -= D[r + n * c] * D[j + n * c];
      D[r + n * j] = s / d;
    }
  }
  return true;
}

/* x = L^-1 x, x with stride */
static void reduced_dynamics_forward(int n, const double *L, double *x, int stride)
{
  for (int r = 0; r < n; r++) {
    double s = x[r * stride];
    for (int c = 0; c < r; c++) s -= L[r + n * c] * x[c * stride];
    x[r * stride] = s / L[r + n * r];
  }
}

static void reduced_dynamics_backward(int n, const double *L, double *x)
{
  for (int r = n - 1; r >= 0; r--) {
    double s = x[r];
    for (int c = r + 1; c < n; c++) s -= L[c + n * r] * x[c];
    x[r] = s / L[r + n * r];
  }
}

/* C += sign [r]x A on 3 x 3 blocks with leading dimension 6 */
static void add_skew_times(double sign, const double r[3], const double *A, double *C)
{
  for (int j = 0; j < 3; j++) {
    const double *a = A + 6 * j;
    double *c = C + 6 * j;
    c[0] += sign * (r[1] * a[2] - r[2] * a[1]);
    c[1] += sign * (r[2] * a[0] - r[0] * a[2]);
    c[2] += sign * (r[0] * a[1] - r[1] * a[0]);
  }
}

/* I <- X' I X with X = [1 0; -[r]x 1], I symmetric 6 x 6 column-major */
static void shift_inertia(const double r[3], double I[36])
{
  double *B = I + 18, *C = I + 21; /* the blocks (angular, linear) and (linear, linear) */
  /* the new B is B + [r]x C, the new A is A + G + G' with G = [r]x H, H = B' - C [r]x / 2 */
  double G[18] = { 0 }, H[18]; /* leading dimension 6 */
  for (int j = 0; j < 3; j++) {
    const int a = (j + 1) % 3, b = (j + 2) % 3; /* r x e_j = r_b e_a - r_a e_b */
    for (int i = 0; i < 3; i++)
      H[i + 6 * j] = B[j + 6 * i] - 0.5 * (C[i + 6 * a] * r[b] - C[i + 6 * b] * r[a]);
  }
  add_skew_times(1, r, H, G);
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) I[i + 6 * j] += G[i + 6 * j] + G[j + 6 * i];
  add_skew_times(1, r, C, B);
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) I[3 + j + 6 * i] = B[i + 6 * j];
}

/* p of the child: minus the force on the body alone; f NULL: none */
static void reduced_dynamics_force(const perp_reduced_tree *tree, node *child, const double *f)
{
  memset(child->p, 0, sizeof child->p);
  if (f == NULL) return;
  if (tree->dim == 3) {
    const double *fb = f + 6 * child->body;
    double tau[3];
    turn(child->R, fb + 3, tau);
    for (int a = 0; a < 3; a++) child->p[a] = -tau[a], child->p[3 + a] = -fb[a];
  } else {
    const double *fb = f + 3 * child->body;
    child->p[2] = -fb[2], child->p[3] = -fb[0], child->p[4] = -fb[1];
  }
}

/* Inertia and force of each body alone. */
static void reduced_dynamics_bodies(perp_reduced_tree *tree, const double *f)
{
  for (int i = 0; i < tree->n; i++) {
    node *child = &tree->node[i];
    memset(child->I, 0, sizeof child->I);
    double T[9];
    multiply(child->R, child->inertia, T);
    for (int a = 0; a < 3; a++) {
      for (int b = 0; b < 3; b++)
        child->I[a + 6 * b] = T[a] * child->R[b] + T[a + 3] * child->R[b + 3] +
                              T[a + 6] * child->R[b + 6];
      child->I[3 + a + 6 * (3 + a)] = child->mass;
    }
    reduced_dynamics_force(tree, child, f);
  }
}

/* udot and accelerations from the root to the leaves; moving: with those that velocities cause */
static void reduced_dynamics_descend(perp_reduced_tree *tree, double *udot, bool moving)
{
  for (int i = 0; i < tree->n; i++) {
    node *child = &tree->node[i];
    const int nu = child->nu;
    if (moving)
      memcpy(child->a, child->zeta, sizeof child->a);
    else
      memset(child->a, 0, sizeof child->a);
    if (child->parent >= 0) {
      const node *parent = &tree->node[child->parent];
      for (int a = 0; a < 6; a++) child->a[a] += parent->a[a];
      add_cross(1, parent->a, child->r, child->a + 3);
    }
    double *ud = udot + child->iu;
    for (int c = 0; c < nu; c++) {
      double s = child->y[c];
      for (int a = 0; a < 6; a++) s -= child->U[a + 6 * c] * child->a[a];
      ud[c] = s;
    }
    reduced_dynamics_backward(nu, child->L, ud);
    for (int c = 0; c < nu; c++)
      for (int a = 0; a < 6; a++) child->a[a] += child->S[a + 6 * c] * ud[c];
  }
}

/* udot from the bodies and the forces tau [nu] of the joints themselves; NULL: none */
static bool reduced_dynamics_solve(perp_reduced_tree *tree, const double *tau, double *udot)
{
  const int n = tree->n;
  /* leaves to root */
  for (int i = n - 1; i >= 0; i--) {
    node *child = &tree->node[i];
    const int nu = child->nu;
    /* U = I S, D = S' U = L L' */
    for (int c = 0; c < nu; c++) {
      double *U = child->U + 6 * c;
      memset(U, 0, 6 * sizeof *U);
      for (int b = 0; b < 6; b++)
        for (int a = 0; a < 6; a++) U[a] += child->I[a + 6 * b] * child->S[b + 6 * c];
    }
    for (int c = 0; c < nu; c++) {
      for (int r = c; r < nu; r++) {
        double s = 0;
        for (int a = 0; a < 6; a++) s += child->S[a + 6 * r] * child->U[a + 6 * c];
        child->L[r + nu * c] = r == c && c < PERP_CHAIN_AXES ? s + child->armature[c] : s;
      }
      double s = 0;
      for (int a = 0; a < 6; a++) s += child->S[a + 6 * c] * child->p[a];
      child->y[c] = tau == NULL ? -s : tau[child->iu + c] - s;
    }
    /* half of D^-1 goes to each side: y <- L^-1 y, U <- U L^-T */
    if (!reduced_dynamics_cholesky(nu, child->L)) return false;
    reduced_dynamics_forward(nu, child->L, child->y, 1);
    for (int a = 0; a < 6; a++) reduced_dynamics_forward(nu, child->L, child->U + a, 6);
    if (child->parent < 0) continue;
    double I[36], p[6];
    memcpy(I, child->I, sizeof I);
    memcpy(p, child->p, sizeof p);
    for (int c = 0; c < nu; c++)
      for (int b = 0; b < 6; b++)
        for (int a = 0; a < 6; a++) I[a + 6 * b] -= child->U[a + 6 * c] * child->U[b + 6 * c];
    for (int b = 0; b < 6; b++)
      for (int a = 0; a < 6; a++) p[a] += I[a + 6 * b] * child->zeta[b];
    for (int c = 0; c < nu; c++)
      for (int a = 0; a < 6; a++) p[a] += child->U[a + 6 * c] * child->y[c];
    /* to the centre of mass of the parent */
    node *parent = &tree->node[child->parent];
    shift_inertia(child->r, I);
    add_cross(1, child->r, p + 3, p);
    for (int a = 0; a < 36; a++) parent->I[a] += I[a];
    for (int a = 0; a < 6; a++) parent->p[a] += p[a];
  }
  reduced_dynamics_descend(tree, udot, true);
  return true;
}

bool perp_reduced_accelerate(perp_reduced_tree *tree, const double *f, double *udot)
{
  reduced_dynamics_bodies(tree, f);
  return reduced_dynamics_solve(tree, NULL, udot);
}

bool perp_reduced_velocity(perp_reduced_tree *tree, const double *p, double *u)
{
  /* H u = p is an acceleration from rest */
  for (int i = 0; i < tree->n; i++) memset(tree->node[i].zeta, 0, sizeof tree->node[i].zeta);
  reduced_dynamics_bodies(tree, NULL);
  return reduced_dynamics_solve(tree, p, u);
}

void perp_reduced_respond(perp_reduced_tree *tree, const double *f, double *du)
{
  for (int i = 0; i < tree->n; i++) reduced_dynamics_force(tree, &tree->node[i], f);
  for (int i = tree->n - 1; i >= 0; i--) {
    node *child = &tree->node[i];
    for (int c = 0; c < child->nu; c++) {
      double s = 0;
      for (int a = 0; a < 6; a++) s += child->S[a + 6 * c] * child->p[a];
      child->y[c] = -s;
    }
    reduced_dynamics_forward(child->nu, child->L, child->y, 1);
    if (child->parent < 0) continue;
    double p[6];
    memcpy(p, child->p, sizeof p);
    for (int c = 0; c < child->nu; c++)
      for (int a = 0; a < 6; a++) p[a] += child->U[a + 6 * c] * child->y[c];
    add_cross(1, child->r, p + 3, p);
    for (int a = 0; a < 6; a++) tree->node[child->parent].p[a] += p[a];
  }
  reduced_dynamics_descend(tree, du, false);
}

void perp_reduced_accelerations(const perp_reduced_tree *tree, double *a)
{
  for (int i = 0; i < tree->n; i++) {
    const node *child = &tree->node[i];
    if (tree->dim == 3) {
      memcpy(a + 6 * child->body, child->a + 3, 3 * sizeof *a);
      turn_back(child->R, child->a, a + 6 * child->body + 3);
    } else {
      double *ab = a + 3 * child->body;
      ab[0] = child->a[3], ab[1] = child->a[4], ab[2] = child->a[2];
    }
  }
}
