/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Articulated-body algorithm in joint coordinates (R. Featherstone, Rigid Body Dynamics Algorithms, 2008).
 *
 * Every body i hangs on a parent l by one joint with rates u_i.  With accelerations a = (wdot, xddot) of
 * the centres of mass in world axes, and r = x_i - x_l,
 *
 *      a_i = X_i a_l + S_i udot_i + zeta_i,     X_i = [ 1 0 ; -[r]x 1 ]
 *
 * zeta collects all products of velocities.  The equation of motion of the tree that starts at body i,
 * seen from its joint, is  force = I_i a_i + p_i  with the articulated inertia and bias of i, which follow
 * from the leaves to the root,
 *
 *      U = I S,  D = S' U,  y = D^-1 (-S' p),
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
#include "models/formulations/reduced_tree.h"

#include "models/model_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef perp_reduced_node node;

static const double world_x[3], world_R[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };

static void turn(const double R[9], const double s[3], double y[3])
{
  perp_turn(3, R, s, y);
}
static void turn_back(const double R[9], const double s[3], double y[3])
{
  perp_turn_back(3, R, s, y);
}
static double dot(const double a[3], const double b[3])
{
  return perp_dot(3, a, b);
}

/* y += w x (w x s) */
static void add_centripetal(const double w[3], const double s[3], double y[3])
{
  double u[3];
  perp_cross(w, s, u);
  perp_cross(w, u, u);
  for (int i = 0; i < 3; i++) y[i] += u[i];
}

/* y += sign w x s */
static void add_cross(double sign, const double w[3], const double s[3], double y[3])
{
  double u[3];
  perp_cross(w, s, u);
  for (int i = 0; i < 3; i++) y[i] += sign * u[i];
}

/* C = A B, 3 x 3 */
static void multiply(const double A[9], const double B[9], double C[9])
{
  for (int j = 0; j < 3; j++) turn(A, B + 3 * j, C + 3 * j);
}

/* C = A' B */
static void multiply_transposed(const double A[9], const double B[9], double C[9])
{
  for (int j = 0; j < 3; j++) turn_back(A, B + 3 * j, C + 3 * j);
}

/* R = rotation by angle about the unit vector n */
static void rotation(const double n[3], double angle, double R[9])
{
  double s = sin(angle), h = sin(angle / 2), c = 2 * h * h; /* 1 - cos without cancellation */
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) R[i + 3 * j] = (i == j ? 1 - c : 0) + c * n[i] * n[j];
  R[1] += s * n[2], R[3] -= s * n[2];
  R[6] += s * n[1], R[2] -= s * n[1];
  R[5] += s * n[0], R[7] -= s * n[0];
}

/* Unit quaternion of a rotation matrix: the largest of its components first (Shepperd 1978). */
static void quaternion(const double R[9], double q[4])
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

/* ---- the tree ---------------------------------------------------------------------------------------- */

static const struct {
  int nq, nu;
} sizes[] = {
  [PERP_REDUCED_FREE] = { 7, 6 },
  [PERP_REDUCED_BALL] = { 4, 3 },
  [PERP_REDUCED_HINGE] = { 1, 1 },
  [PERP_REDUCED_UNIVERSAL] = { 2, 2 },
  [PERP_REDUCED_SLIDER] = { 1, 1 },
  [PERP_REDUCED_FIXED] = { 0, 0 },
  [PERP_REDUCED_DISTANCE] = { 8, 5 },
  [PERP_REDUCED_PLANAR] = { 3, 3 },
  [PERP_REDUCED_PLANAR_DISTANCE] = { 2, 2 },
};

static perp_reduced_kind kind_of(perp_joint_kind kind, int dim)
{
  switch (kind) {
  case PERP_JOINT_BALL:
    return dim == 3 ? PERP_REDUCED_BALL : PERP_REDUCED_HINGE;
  case PERP_JOINT_HINGE:
    return PERP_REDUCED_HINGE;
  case PERP_JOINT_UNIVERSAL:
    return PERP_REDUCED_UNIVERSAL;
  case PERP_JOINT_SLIDER:
    return PERP_REDUCED_SLIDER;
  case PERP_JOINT_DISTANCE:
    return dim == 3 ? PERP_REDUCED_DISTANCE : PERP_REDUCED_PLANAR_DISTANCE;
  case PERP_JOINT_FIXED:
  case PERP_JOINT_LINE: /* refused before */
  case PERP_JOINT_WHEEL:
  case PERP_JOINT_CURVE:
    break;
  }
  return PERP_REDUCED_FIXED;
}

/* Pose of body b of the maximal state; the plane is z = 0. */
static void pose_of(const perp_model *model, const double *qm, int b, double x[3], double R[9],
                    double *angle)
{
  int dim = perp_model_dim(model);
  memcpy(x, world_x, sizeof world_x);
  memcpy(R, world_R, sizeof world_R);
  *angle = 0;
  if (b < 0) return;
  const double *q = qm + b * (dim == 3 ? 7 : 3);
  for (int i = 0; i < dim; i++) x[i] = q[i];
  if (dim == 3) {
    perp_quat_matrix(q + 3, R);
  } else {
    *angle = q[2];
    R[0] = R[4] = cos(q[2]), R[1] = sin(q[2]), R[3] = -R[1];
  }
}

static void unit(const double s[3], double n[3])
{
  double most = fmax(fabs(s[0]), fmax(fabs(s[1]), fabs(s[2]))), u[3];
  for (int i = 0; i < 3; i++) u[i] = s[i] / most;
  double length = sqrt(dot(u, u));
  for (int i = 0; i < 3; i++) n[i] = u[i] / length;
}

static void name_body(const perp_model *model, int b, char *buf, size_t size)
{
  const char *name = b < 0 ? "world" : perp_model_body(model, b)->name;
  if (name != NULL)
    snprintf(buf, size, "%s", name);
  else
    snprintf(buf, size, "body %d", b);
}

static void name_joint(const perp_model *model, int j, char *buf, size_t size)
{
  const perp_joint_def *def = perp_model_joint(model, j);
  char a[48], b[48];
  name_body(model, def->a, a, sizeof a);
  name_body(model, def->b, b, sizeof b);
  if (def->name != NULL)
    snprintf(buf, size, "joint %d '%s' (%s - %s)", j, def->name, a, b);
  else
    snprintf(buf, size, "joint %d (%s - %s)", j, a, b);
}

/* The constant part of a node whose joint j (-1: none) leads from its parent. */
static void attach(const perp_model *model, int j, int parent_body, node *k)
{
  const int dim = perp_model_dim(model);
  const double *q0 = perp_model_q0(model);
  double xp[3], Rp[9], xc[3], Rc[9], angle_p, angle_c;
  pose_of(model, q0, parent_body, xp, Rp, &angle_p);
  pose_of(model, q0, k->body, xc, Rc, &angle_c);
  multiply_transposed(Rp, Rc, k->rel);
  k->rel_angle = angle_c - angle_p;

  const perp_mass *mass = &perp_model_body(model, k->body)->mass;
  k->mass = mass->mass;
  memcpy(k->inertia, mass->inertia, sizeof k->inertia);
  if (dim == 2) {
    memset(k->inertia, 0, sizeof k->inertia);
    k->inertia[0] = k->inertia[4] = k->inertia[8] = mass->inertia[8];
  }

  k->kind = dim == 3 ? PERP_REDUCED_FREE : PERP_REDUCED_PLANAR;
  if (j < 0) return;
  const perp_joint_def *def = perp_model_joint(model, j);
  bool turned = def->b != k->body; /* the joint was written from child to parent */
  k->kind = kind_of(def->kind, dim);
  k->length = def->length;
  const double *axis_p = turned ? def->axis_b : def->axis_a,
               *axis_c = turned ? def->axis_a : def->axis_b;
  for (int i = 0; i < dim; i++) {
    k->anchor_p[i] = turned ? def->anchor_b[i] : def->anchor_a[i];
    k->anchor_c[i] = turned ? def->anchor_a[i] : def->anchor_b[i];
  }
  if (dim == 2 && k->kind == PERP_REDUCED_HINGE) {
    k->axis_p[2] = k->axis_c[2] = 1;
  } else if (k->kind == PERP_REDUCED_SLIDER) {
    /* the axis is given in a; the orientation never changes */
    double axis[3] = { def->axis_a[0], def->axis_a[1], dim == 3 ? def->axis_a[2] : 0 };
    unit(axis, axis);
    if (turned)
      turn(k->rel, axis, k->axis_p);
    else
      memcpy(k->axis_p, axis, sizeof axis);
  } else if (k->kind == PERP_REDUCED_HINGE || k->kind == PERP_REDUCED_UNIVERSAL) {
    unit(axis_p, k->axis_p);
    unit(axis_c, k->axis_c);
  }
}

/* Breadth first from the bodies in `order[first ... last-1]`, over joints not used yet. */
static int sweep(const perp_model *model, const int *ptr, const int *adj, int first, int last,
                 int *order, int *parent, int *via, bool *placed, bool *used)
{
  for (int k = first; k < last; k++) {
    int b = order[k];
    for (int e = ptr[b + 1]; e < ptr[b + 2]; e++) {
      const perp_joint_def *def = perp_model_joint(model, adj[e]);
      int other = def->a == b ? def->b : def->a;
      if (used[adj[e]] || other < 0 || placed[other]) continue;
      used[adj[e]] = placed[other] = true;
      parent[last] = k;
      via[last] = adj[e];
      order[last++] = other;
    }
  }
  return last;
}

static perp_status sort(perp_ctx *ctx, perp_reduced_tree *tree, int *scratch, bool *flags)
{
  const perp_model *model = tree->model;
  const int n = tree->n, nj = perp_model_joints(model);
  int *ptr = scratch, *adj = ptr + n + 3, *order = adj + 2 * nj, *parent = order + n,
      *via = parent + n;
  bool *placed = flags, *used = flags + n;
  char name[160];

  /* joints of each body, the world being body -1 */
  for (int j = 0; j < nj; j++) {
    const perp_joint_def *def = perp_model_joint(model, j);
    if (def->softness > 0) {
      name_joint(model, j, name, sizeof name);
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "reduced: %s is soft (%g); joint coordinates hold joints rigidly", name,
                       def->softness);
    }
    if (def->kind == PERP_JOINT_LINE || def->kind == PERP_JOINT_WHEEL ||
        def->kind == PERP_JOINT_CURVE) {
      name_joint(model, j, name, sizeof name);
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "reduced: %s is of a kind that has no joint coordinates here", name);
    }
    ptr[def->a + 3]++;
    ptr[def->b + 3]++;
  }
  for (int b = 1; b <= n + 1; b++) ptr[b + 1] += ptr[b];
  for (int j = 0; j < nj; j++) {
    const perp_joint_def *def = perp_model_joint(model, j);
    adj[ptr[def->a + 2]++] = j;
    adj[ptr[def->b + 2]++] = j;
  }
  /* now the joints of body b are adj[ptr[b + 1] ... ptr[b + 2] - 1] */

  /* from the world, then from the first body of each part that floats */
  int count = 0;
  for (int e = ptr[0]; e < ptr[1]; e++) {
    const perp_joint_def *def = perp_model_joint(model, adj[e]);
    int b = def->a < 0 ? def->b : def->a;
    if (b < 0 || placed[b]) continue;
    used[adj[e]] = placed[b] = true;
    parent[count] = -1;
    via[count] = adj[e];
    order[count++] = b;
  }
  count = sweep(model, ptr, adj, 0, count, order, parent, via, placed, used);
  for (int b = 0; b < n; b++) {
    if (placed[b]) continue;
    placed[b] = true;
    parent[count] = via[count] = -1;
    order[count] = b;
    count = sweep(model, ptr, adj, count, count + 1, order, parent, via, placed, used);
  }

  for (int j = 0; j < nj; j++)
    if (!used[j]) {
      name_joint(model, j, name, sizeof name);
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "reduced: %s closes a loop; joint coordinates serve open chains and trees, "
                       "use formulation acceleration or velocity",
                       name);
    }

  for (int i = 0; i < n; i++) {
    node *k = &tree->node[i];
    k->body = order[i];
    k->parent = parent[i];
    attach(model, via[i], parent[i] < 0 ? PERP_WORLD : order[parent[i]], k);
    k->nq = sizes[k->kind].nq, k->nu = sizes[k->kind].nu;
    k->iq = tree->nq, k->iu = tree->nu;
    tree->nq += k->nq, tree->nu += k->nu;
    if (k->kind == PERP_REDUCED_DISTANCE || k->kind == PERP_REDUCED_PLANAR_DISTANCE) {
      if (!(k->length > 0)) {
        name_joint(model, via[i], name, sizeof name);
        return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "reduced: %s has length 0; use a ball joint",
                         name);
      }
    }
  }
  return PERP_OK;
}

perp_status perp_reduced_create(perp_ctx *ctx, const perp_model *model, perp_reduced_tree **out)
{
  *out = NULL;
  const int n = perp_model_bodies(model), nj = perp_model_joints(model);
  perp_reduced_tree *tree = calloc(1, sizeof *tree);
  int *scratch = calloc((size_t)(4 * n + 2 * nj + 3), sizeof *scratch);
  bool *flags = calloc((size_t)(n + nj + 1), sizeof *flags);
  perp_status status = PERP_OK;
  if (tree != NULL) tree->node = calloc((size_t)n + 1, sizeof *tree->node);
  if (tree == NULL || tree->node == NULL || scratch == NULL || flags == NULL) {
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "reduced: no memory for %d bodies", n);
  } else {
    tree->model = model;
    tree->dim = perp_model_dim(model);
    tree->n = n;
    status = sort(ctx, tree, scratch, flags);
  }
  free(scratch);
  free(flags);
  if (status == PERP_OK)
    *out = tree;
  else
    perp_reduced_destroy(tree);
  return status;
}

void perp_reduced_destroy(perp_reduced_tree *tree)
{
  if (tree == NULL) return;
  free(tree->node);
  free(tree);
}

/* ---- coordinates from the maximal state ------------------------------------------------------------------ */

/* angle of the rotation R about the unit vector n, in (-pi, pi] */
static double angle_about(const double R[9], const double n[3])
{
  double q[4];
  quaternion(R, q);
  double s = dot(q + 1, n);
  return q[0] < 0 ? 2 * atan2(-s, -q[0]) : 2 * atan2(s, q[0]);
}

/* quaternion of the rotation that takes e_x to the unit vector e the shortest way */
static void rod_quaternion(const double e[3], double q[4])
{
  if (e[0] > -0.5) {
    double c = sqrt(0.5 * (1 + e[0])); /* cos of half the angle */
    q[0] = c, q[1] = 0, q[2] = -e[2] / (2 * c), q[3] = e[1] / (2 * c);
  } else {
    /* half a turn about z first, then the way from -e_x */
    double c = sqrt(0.5 * (1 - e[0]));
    q[0] = e[1] / (2 * c), q[1] = e[2] / (2 * c), q[2] = 0, q[3] = c;
  }
}

void perp_reduced_from_model(perp_reduced_tree *tree, const double *qm, const double *vm, double *q,
                             double *u)
{
  const int dim = tree->dim, nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3;
  for (int i = 0; i < tree->n; i++) {
    node *k = &tree->node[i];
    const double *qb = qm + k->body * nqb, *vb = vm + k->body * nvb;
    double *qi = q + k->iq, *ui = u + k->iu;
    /* pose and velocity, as given */
    pose_of(tree->model, qm, k->body, k->x, k->R, &k->angle);
    for (int d = 0; d < 3; d++) k->xdot[d] = d < dim ? vb[d] : 0;
    if (dim == 3)
      turn(k->R, vb + 3, k->w);
    else
      k->w[0] = k->w[1] = 0, k->w[2] = vb[2];
    const node *l = k->parent < 0 ? NULL : &tree->node[k->parent];
    const double *xp = l ? l->x : world_x, *Rp = l ? l->R : world_R;
    const double *vp = l ? l->xdot : world_x, *wp = l ? l->w : world_x;

    /* relative motion: orientation, angular velocity, joint points */
    double rel[9], wrel[3], rho_p[3], rho_c[3], d[3], ddot[3], R1[9], R2[9], n1[3], n2[3], s[3];
    multiply_transposed(Rp, k->R, rel);
    turn(Rp, k->anchor_p, rho_p);
    turn(k->R, k->anchor_c, rho_c);
    for (int c = 0; c < 3; c++) {
      wrel[c] = k->w[c] - wp[c];
      d[c] = (k->x[c] + rho_c[c]) - (xp[c] + rho_p[c]);
      ddot[c] = k->xdot[c] - vp[c];
    }
    add_cross(1, k->w, rho_c, ddot);
    add_cross(-1, wp, rho_p, ddot);

    switch (k->kind) {
    case PERP_REDUCED_FREE:
    case PERP_REDUCED_PLANAR:
      memcpy(qi, qb, (size_t)k->nq * sizeof *qi);
      memcpy(ui, vb, (size_t)k->nu * sizeof *ui);
      break;
    case PERP_REDUCED_BALL:
      quaternion(rel, qi);
      turn_back(k->R, wrel, ui);
      break;
    case PERP_REDUCED_HINGE:
      if (dim == 2) {
        qi[0] = k->angle - (l ? l->angle : 0) - k->rel_angle; /* full turns are kept */
      } else {
        for (int a = 0; a < 3; a++)
          for (int b = 0; b < 3; b++) R1[a + 3 * b] = k->rel[b + 3 * a];
        multiply(rel, R1, R2);
        qi[0] = angle_about(R2, k->axis_p);
      }
      turn(Rp, k->axis_p, n1);
      ui[0] = dot(n1, wrel);
      break;
    case PERP_REDUCED_UNIVERSAL:
      /* the axis of the child turns about the axis of the parent */
      turn(k->rel, k->axis_c, n1);
      turn(rel, k->axis_c, n2);
      perp_cross(n1, n2, s);
      qi[0] = atan2(dot(k->axis_p, s), dot(n1, n2));
      rotation(k->axis_p, qi[0], R1);
      multiply(R1, k->rel, R2);
      multiply_transposed(R2, rel, R1);
      qi[1] = angle_about(R1, k->axis_c);
      turn(Rp, k->axis_p, n1);
      turn(k->R, k->axis_c, n2);
      ui[0] = dot(n1, wrel), ui[1] = dot(n2, wrel);
      break;
    case PERP_REDUCED_SLIDER:
      turn(Rp, k->axis_p, n1);
      qi[0] = dot(n1, d);
      ui[0] = dot(n1, ddot);
      break;
    case PERP_REDUCED_FIXED:
      break;
    case PERP_REDUCED_DISTANCE:
      turn_back(Rp, d, s);
      unit(s, n1);
      rod_quaternion(n1, qi);
      quaternion(rel, qi + 4);
      /* the rate of the rod seen from the parent, in the frame of the rod: L w x e_x */
      add_cross(-1, wp, d, ddot);
      turn_back(Rp, ddot, s);
      perp_quat_matrix(qi, R1);
      turn_back(R1, s, n2);
      ui[0] = -n2[2] / k->length, ui[1] = n2[1] / k->length;
      turn_back(k->R, wrel, ui + 2);
      break;
    case PERP_REDUCED_PLANAR_DISTANCE:
      turn_back(Rp, d, s);
      qi[0] = atan2(s[1], s[0]);
      qi[1] = k->angle - (l ? l->angle : 0) - k->rel_angle;
      add_cross(-1, wp, d, ddot);
      ui[0] = (d[0] * ddot[1] - d[1] * ddot[0]) / (d[0] * d[0] + d[1] * d[1]);
      ui[1] = wrel[2];
      break;
    }
  }
}

/* ---- kinematics --------------------------------------------------------------------------------------------- */

/* column c of S: rotation about the world direction n through the joint point at -rho from x */
static void rotation_column(node *k, int c, const double n[3], const double rho[3])
{
  double *S = k->S + 6 * c;
  memcpy(S, n, 3 * sizeof *S);
  memset(S + 3, 0, 3 * sizeof *S);
  add_cross(-1, n, rho, S + 3);
}

static void translation_column(node *k, int c, const double n[3])
{
  double *S = k->S + 6 * c;
  memset(S, 0, 3 * sizeof *S);
  memcpy(S + 3, n, 3 * sizeof *S);
}

static void free_body(node *k, const double *q, const double *u)
{
  static const double axes[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, none[3];
  if (k->kind == PERP_REDUCED_FREE) {
    perp_quat_matrix(q + 3, k->R);
    turn(k->R, u + 3, k->w);
    for (int c = 0; c < 3; c++) {
      k->x[c] = q[c], k->xdot[c] = u[c];
      translation_column(k, c, axes + 3 * c);
      rotation_column(k, 3 + c, k->R + 3 * c, none);
    }
  } else {
    k->angle = q[2];
    rotation(axes + 6, q[2], k->R);
    k->w[0] = k->w[1] = 0, k->w[2] = u[2];
    for (int c = 0; c < 2; c++) {
      k->x[c] = q[c], k->xdot[c] = u[c];
      translation_column(k, c, axes + 3 * c);
    }
    k->x[2] = k->xdot[2] = 0;
    rotation_column(k, 2, axes + 6, none);
  }
  memcpy(k->r, k->x, sizeof k->r);
  memset(k->zeta, 0, sizeof k->zeta);
}

void perp_reduced_kinematics(perp_reduced_tree *tree, const double *q, const double *u)
{
  static const double e_z[3] = { 0, 0, 1 };
  for (int i = 0; i < tree->n; i++) {
    node *k = &tree->node[i];
    const double *qi = q + k->iq, *ui = u + k->iu;
    if (k->kind == PERP_REDUCED_FREE || k->kind == PERP_REDUCED_PLANAR) {
      free_body(k, qi, ui);
      continue;
    }
    const node *l = k->parent < 0 ? NULL : &tree->node[k->parent];
    const double *xp = l ? l->x : world_x, *Rp = l ? l->R : world_R;
    const double *vp = l ? l->xdot : world_x, *wp = l ? l->w : world_x;
    const double angle_p = l ? l->angle : 0;

    /* orientation, angular velocity and its bias zeta_w; n1, n2: joint directions in the world */
    double rel[9], R1[9], rod[9], n1[3], n2[3], wj[3] = { 0 }, *zeta_w = k->zeta;
    memset(k->zeta, 0, sizeof k->zeta);
    k->angle = angle_p + k->rel_angle;
    switch (k->kind) {
    case PERP_REDUCED_BALL:
    case PERP_REDUCED_DISTANCE:
      perp_quat_matrix(qi + (k->kind == PERP_REDUCED_BALL ? 0 : 4), rel);
      multiply(Rp, rel, k->R);
      turn(k->R, ui + (k->kind == PERP_REDUCED_BALL ? 0 : 2), wj);
      add_cross(1, wp, wj, zeta_w); /* R_c w turns with the child: (wp + wj) x wj */
      break;
    case PERP_REDUCED_HINGE:
    case PERP_REDUCED_PLANAR_DISTANCE: {
      const double *axis = k->kind == PERP_REDUCED_HINGE ? k->axis_p : e_z;
      const double angle = qi[k->nq - 1], rate = ui[k->nu - 1];
      if (tree->dim == 2) {
        k->angle += angle;
        rotation(e_z, k->angle, k->R);
      } else {
        rotation(axis, angle, R1);
        multiply(R1, k->rel, rel);
        multiply(Rp, rel, k->R);
      }
      turn(Rp, axis, n1);
      for (int c = 0; c < 3; c++) wj[c] = n1[c] * rate;
      add_cross(1, wp, wj, zeta_w);
      break;
    }
    case PERP_REDUCED_UNIVERSAL:
      rotation(k->axis_p, qi[0], R1);
      multiply(R1, k->rel, rel);
      rotation(k->axis_c, qi[1], R1);
      multiply(rel, R1, k->R); /* child -> parent */
      memcpy(rel, k->R, sizeof rel);
      multiply(Rp, rel, k->R);
      turn(Rp, k->axis_p, n1);
      turn(k->R, k->axis_c, n2);
      for (int c = 0; c < 3; c++) wj[c] = n1[c] * ui[0];
      add_cross(1, wp, wj, zeta_w);
      {
        double w1[3] = { wp[0] + wj[0], wp[1] + wj[1], wp[2] + wj[2] }, w2[3];
        for (int c = 0; c < 3; c++) w2[c] = n2[c] * ui[1];
        add_cross(1, w1, w2, zeta_w); /* n2 turns with the cross-piece */
        for (int c = 0; c < 3; c++) wj[c] += w2[c];
      }
      break;
    default: /* slider, fixed: the orientation of the parent */
      if (tree->dim == 2)
        rotation(e_z, k->angle, k->R);
      else
        multiply(Rp, k->rel, k->R);
      break;
    }
    for (int c = 0; c < 3; c++) k->w[c] = wp[c] + wj[c];

    /* joint point on the parent, and on the child where the joint moves it */
    double rho_p[3], rho_c[3], d[3] = { 0 }, ddot[3] = { 0 }, dbias[3] = { 0 };
    turn(Rp, k->anchor_p, rho_p);
    turn(k->R, k->anchor_c, rho_c);
    if (k->kind == PERP_REDUCED_SLIDER) {
      /* d = n s,  ddot = n sdot + wp x n s,  dbias = 2 wp x n sdot + wp x (wp x n s) */
      turn(Rp, k->axis_p, n1);
      for (int c = 0; c < 3; c++) d[c] = n1[c] * qi[0], ddot[c] = n1[c] * ui[0];
      add_cross(2, wp, ddot, dbias);
      add_centripetal(wp, d, dbias);
      add_cross(1, wp, d, ddot);
      translation_column(k, 0, n1);
    } else if (k->kind == PERP_REDUCED_DISTANCE || k->kind == PERP_REDUCED_PLANAR_DISTANCE) {
      /* a rod of its own angular velocity wr = wp + wrel; its bias is wp x wrel */
      double wrel[3], wr[3], bias[3] = { 0 }, s[3] = { 0 };
      if (k->kind == PERP_REDUCED_DISTANCE) {
        perp_quat_matrix(qi, R1);
        s[1] = ui[0], s[2] = ui[1];
      } else {
        rotation(e_z, qi[0], R1);
        s[2] = ui[0];
      }
      multiply(Rp, R1, rod);
      turn(rod, s, wrel);
      for (int c = 0; c < 3; c++) d[c] = k->length * rod[c], wr[c] = wp[c] + wrel[c];
      add_cross(1, wr, d, ddot);
      add_cross(1, wp, wrel, bias);
      add_cross(1, bias, d, dbias);
      add_centripetal(wr, d, dbias);
      for (int c = 0; c < 3; c++) n1[c] = -k->length * rod[6 + c], n2[c] = k->length * rod[3 + c];
      if (k->kind == PERP_REDUCED_DISTANCE) translation_column(k, 0, n1);
      translation_column(k, k->kind == PERP_REDUCED_DISTANCE ? 1 : 0, n2);
    }
    switch (k->kind) { /* rotations of the child about its joint point */
    case PERP_REDUCED_BALL:
      for (int c = 0; c < 3; c++) rotation_column(k, c, k->R + 3 * c, rho_c);
      break;
    case PERP_REDUCED_DISTANCE:
      for (int c = 0; c < 3; c++) rotation_column(k, 2 + c, k->R + 3 * c, rho_c);
      break;
    case PERP_REDUCED_HINGE:
      rotation_column(k, 0, n1, rho_c);
      break;
    case PERP_REDUCED_PLANAR_DISTANCE:
      rotation_column(k, 1, e_z, rho_c);
      break;
    case PERP_REDUCED_UNIVERSAL:
      rotation_column(k, 0, n1, rho_c);
      rotation_column(k, 1, n2, rho_c);
      break;
    default:
      break;
    }

    /* centre of mass:  x = xp + rho_p + d - rho_c */
    for (int c = 0; c < 3; c++) {
      k->r[c] = rho_p[c] + d[c] - rho_c[c];
      k->x[c] = xp[c] + k->r[c];
      k->xdot[c] = vp[c] + ddot[c];
      k->zeta[3 + c] = dbias[c];
    }
    add_cross(1, wp, rho_p, k->xdot);
    add_cross(-1, k->w, rho_c, k->xdot);
    add_centripetal(wp, rho_p, k->zeta + 3);
    double minus[3] = { -rho_c[0], -rho_c[1], -rho_c[2] };
    add_centripetal(k->w, minus, k->zeta + 3);
    add_cross(1, zeta_w, minus, k->zeta + 3);
  }
}

void perp_reduced_to_model(const perp_reduced_tree *tree, double *qm, double *vm)
{
  for (int i = 0; i < tree->n; i++) {
    const node *k = &tree->node[i];
    if (tree->dim == 3) {
      double *q = qm + 7 * k->body, *v = vm + 6 * k->body;
      memcpy(q, k->x, sizeof k->x);
      quaternion(k->R, q + 3);
      memcpy(v, k->xdot, sizeof k->xdot);
      turn_back(k->R, k->w, v + 3);
    } else {
      double *q = qm + 3 * k->body, *v = vm + 3 * k->body;
      q[0] = k->x[0], q[1] = k->x[1], q[2] = k->angle;
      v[0] = k->xdot[0], v[1] = k->xdot[1], v[2] = k->w[2];
    }
  }
}

/* ---- articulated bodies --------------------------------------------------------------------------------------- */

/* D = L L' in place (lower triangle); false when D is not positive definite */
static bool cholesky(int n, double *D)
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
static void forward(int n, const double *L, double *x, int stride)
{
  for (int r = 0; r < n; r++) {
    double s = x[r * stride];
    for (int c = 0; c < r; c++) s -= L[r + n * c] * x[c * stride];
    x[r * stride] = s / L[r + n * r];
  }
}

static void backward(int n, const double *L, double *x)
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

bool perp_reduced_accelerate(perp_reduced_tree *tree, const double *f, double *udot)
{
  const int n = tree->n;
  /* each body alone */
  for (int i = 0; i < n; i++) {
    node *k = &tree->node[i];
    memset(k->I, 0, sizeof k->I);
    double T[9], tau[3];
    multiply(k->R, k->inertia, T);
    for (int a = 0; a < 3; a++) {
      for (int b = 0; b < 3; b++)
        k->I[a + 6 * b] = T[a] * k->R[b] + T[a + 3] * k->R[b + 3] + T[a + 6] * k->R[b + 6];
      k->I[3 + a + 6 * (3 + a)] = k->mass;
    }
    if (tree->dim == 3) {
      const double *fb = f + 6 * k->body;
      turn(k->R, fb + 3, tau);
      for (int a = 0; a < 3; a++) k->p[a] = -tau[a], k->p[3 + a] = -fb[a];
    } else {
      const double *fb = f + 3 * k->body;
      memset(k->p, 0, sizeof k->p);
      k->p[2] = -fb[2], k->p[3] = -fb[0], k->p[4] = -fb[1];
    }
  }

  /* leaves to root */
  for (int i = n - 1; i >= 0; i--) {
    node *k = &tree->node[i];
    const int nu = k->nu;
    /* U = I S, D = S' U = L L' */
    for (int c = 0; c < nu; c++) {
      double *U = k->U + 6 * c;
      memset(U, 0, 6 * sizeof *U);
      for (int b = 0; b < 6; b++)
        for (int a = 0; a < 6; a++) U[a] += k->I[a + 6 * b] * k->S[b + 6 * c];
    }
    for (int c = 0; c < nu; c++) {
      for (int r = c; r < nu; r++) {
        double s = 0;
        for (int a = 0; a < 6; a++) s += k->S[a + 6 * r] * k->U[a + 6 * c];
        k->L[r + nu * c] = s;
      }
      double s = 0;
      for (int a = 0; a < 6; a++) s += k->S[a + 6 * c] * k->p[a];
      k->y[c] = -s;
    }
    /* half of D^-1 goes to each side: y <- L^-1 y, U <- U L^-T */
    if (!cholesky(nu, k->L)) return false;
    forward(nu, k->L, k->y, 1);
    for (int a = 0; a < 6; a++) forward(nu, k->L, k->U + a, 6);
    if (k->parent < 0) continue;
    double I[36], p[6];
    memcpy(I, k->I, sizeof I);
    memcpy(p, k->p, sizeof p);
    for (int c = 0; c < nu; c++)
      for (int b = 0; b < 6; b++)
        for (int a = 0; a < 6; a++) I[a + 6 * b] -= k->U[a + 6 * c] * k->U[b + 6 * c];
    for (int b = 0; b < 6; b++)
      for (int a = 0; a < 6; a++) p[a] += I[a + 6 * b] * k->zeta[b];
    for (int c = 0; c < nu; c++)
      for (int a = 0; a < 6; a++) p[a] += k->U[a + 6 * c] * k->y[c];
    /* to the centre of mass of the parent */
    node *l = &tree->node[k->parent];
    shift_inertia(k->r, I);
    add_cross(1, k->r, p + 3, p);
    for (int a = 0; a < 36; a++) l->I[a] += I[a];
    for (int a = 0; a < 6; a++) l->p[a] += p[a];
  }

  /* root to leaves */
  for (int i = 0; i < n; i++) {
    node *k = &tree->node[i];
    const int nu = k->nu;
    memcpy(k->a, k->zeta, sizeof k->a);
    if (k->parent >= 0) {
      const node *l = &tree->node[k->parent];
      for (int a = 0; a < 6; a++) k->a[a] += l->a[a];
      add_cross(1, l->a, k->r, k->a + 3);
    }
    double *ud = udot + k->iu;
    for (int c = 0; c < nu; c++) {
      double s = k->y[c];
      for (int a = 0; a < 6; a++) s -= k->U[a + 6 * c] * k->a[a];
      ud[c] = s;
    }
    backward(nu, k->L, ud);
    for (int c = 0; c < nu; c++)
      for (int a = 0; a < 6; a++) k->a[a] += k->S[a + 6 * c] * ud[c];
  }
  return true;
}

/* ---- manifold -------------------------------------------------------------------------------------------------- */

/* Where the quaternions of a joint are and which rates turn them: q[quat] by u[rate ... ] (rod: two rates) */
typedef struct rotor {
  int quat, rate;
  bool rod;
} rotor;

static int rotors(const node *k, rotor r[2])
{
  switch (k->kind) {
  case PERP_REDUCED_FREE:
    r[0] = (rotor){ k->iq + 3, k->iu + 3, false };
    return 1;
  case PERP_REDUCED_BALL:
    r[0] = (rotor){ k->iq, k->iu, false };
    return 1;
  case PERP_REDUCED_DISTANCE:
    r[0] = (rotor){ k->iq, k->iu, true };
    r[1] = (rotor){ k->iq + 4, k->iu + 2, false };
    return 2;
  default:
    return 0;
  }
}

static void spin(const rotor *r, const double *u, double w[3])
{
  const double *s = u + r->rate;
  w[0] = r->rod ? 0 : s[0];
  w[1] = r->rod ? s[0] : s[1];
  w[2] = r->rod ? s[1] : s[2];
}

/* coordinates of a joint before its quaternions, which are plain numbers */
static int plain(const node *k)
{
  rotor r[2];
  return rotors(k, r) > 0 ? r[0].quat - k->iq : k->nq;
}

void perp_reduced_qdot(const perp_reduced_tree *tree, const double *q, const double *u,
                       double *qdot)
{
  for (int i = 0; i < tree->n; i++) {
    const node *k = &tree->node[i];
    rotor r[2];
    const int n = rotors(k, r), np = plain(k);
    for (int c = 0; c < np; c++) qdot[k->iq + c] = u[k->iu + c];
    for (int c = 0; c < n; c++) {
      double w[3];
      spin(&r[c], u, w);
      perp_quat_rate(q + r[c].quat, w, qdot + r[c].quat);
    }
  }
}

void perp_reduced_retract(const perp_reduced_tree *tree, const double *q, const double *dq,
                          double *q_out)
{
  for (int i = 0; i < tree->n; i++) {
    const node *k = &tree->node[i];
    rotor r[2];
    const int n = rotors(k, r), np = plain(k);
    for (int c = 0; c < np; c++) q_out[k->iq + c] = q[k->iq + c] + dq[k->iu + c];
    for (int c = 0; c < n; c++) {
      double w[3];
      spin(&r[c], dq, w);
      perp_quat_retract(q + r[c].quat, w, q_out + r[c].quat);
    }
  }
}

void perp_reduced_difference(const perp_reduced_tree *tree, const double *q0, const double *q1,
                             double *dq)
{
  for (int i = 0; i < tree->n; i++) {
    const node *k = &tree->node[i];
    rotor r[2];
    const int n = rotors(k, r), np = plain(k);
    for (int c = 0; c < np; c++) dq[k->iu + c] = q1[k->iq + c] - q0[k->iq + c];
    for (int c = 0; c < n; c++) {
      double w[3], *d = dq + r[c].rate;
      perp_quat_difference(q0 + r[c].quat, q1 + r[c].quat, w);
      if (r[c].rod)
        d[0] = w[1], d[1] = w[2]; /* the spin of a rod has no meaning */
      else
        memcpy(d, w, sizeof w);
    }
  }
}

void perp_reduced_project(const perp_reduced_tree *tree, double *q)
{
  for (int i = 0; i < tree->n; i++) {
    rotor r[2];
    const int n = rotors(&tree->node[i], r);
    for (int c = 0; c < n; c++) perp_quat_unit(q + r[c].quat);
  }
}

bool perp_reduced_position_only(const perp_reduced_tree *tree)
{
  const perp_model *model = tree->model;
  for (int i = 0; i < model->n_forces; i++) {
    const perp_force_def *el = &model->force_def[i];
    if (el->kind == PERP_FORCE_DRAG || (el->kind == PERP_FORCE_SPRING && el->damping > 0))
      return false;
  }
  for (int i = 0; i < tree->n; i++) {
    const node *k = &tree->node[i];
    if (k->parent >= 0) return false;
    switch (k->kind) {
    /* centripetal forces and the gyroscopic torque of a turn about one fixed axis load the bearing only */
    case PERP_REDUCED_HINGE:
    case PERP_REDUCED_SLIDER:
    case PERP_REDUCED_FIXED:
    case PERP_REDUCED_PLANAR:
      break;
    case PERP_REDUCED_PLANAR_DISTANCE:
      /* the rod pulls at the centre of mass: it does not turn the body */
      if (dot(k->anchor_c, k->anchor_c) > 0) return false;
      break;
    default:
      return false;
    }
  }
  return true;
}
