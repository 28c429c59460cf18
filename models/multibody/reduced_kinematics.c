/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joint coordinates from the maximal state and back; positions, velocities, motion subspaces S and
 * the accelerations zeta that velocities cause, from the root to the leaves. */
#include "models/multibody/reduced_private.h"

/* R = rotation by angle about the unit vector n */
static void reduced_kinematics_rotation(const double n[3], double angle, double R[9])
{
  double s = sin(angle), h = sin(angle / 2), c = 2 * h * h; /* 1 - cos without cancellation */
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) R[i + 3 * j] = (i == j ? 1 - c : 0) + c * n[i] * n[j];
  R[1] += s * n[2], R[3] -= s * n[2];
  R[6] += s * n[1], R[2] -= s * n[1];
  R[5] += s * n[0], R[7] -= s * n[0];
}

/* ---- coordinates from the maximal state ---- */

/* angle of the rotation R about the unit vector n, in (-pi, pi] */
static double angle_about(const double R[9], const double n[3])
{
  double q[4];
  perp_matrix_quat(R, q);
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
    perp_reduced_pose(tree->model, qm, k->body, k->x, k->R, &k->angle);
    for (int d = 0; d < 3; d++) k->xdot[d] = d < dim ? vb[d] : 0;
    if (dim == 3)
      turn(k->R, vb + 3, k->w);
    else
      k->w[0] = k->w[1] = 0, k->w[2] = vb[2];
    const node *l = parent_of(tree, k);
    const double *Rp = l->R, *wp = l->w;

    /* relative motion: orientation, angular velocity, joint points */
    double rel[9], wrel[3], rho_p[3], rho_c[3], d[3], ddot[3], R1[9], R2[9], n1[3], n2[3], s[3];
    multiply_transposed(Rp, k->R, rel);
    turn(Rp, k->anchor_p, rho_p);
    turn(k->R, k->anchor_c, rho_c);
    for (int c = 0; c < 3; c++) {
      wrel[c] = k->w[c] - wp[c];
      d[c] = (k->x[c] + rho_c[c]) - (l->x[c] + rho_p[c]);
      ddot[c] = k->xdot[c] - l->xdot[c];
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
      perp_matrix_quat(rel, qi);
      turn_back(k->R, wrel, ui);
      break;
    case PERP_REDUCED_HINGE:
      if (dim == 2) {
        qi[0] = k->angle - l->angle - k->rel_angle; /* full turns are kept */
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
      reduced_kinematics_rotation(k->axis_p, qi[0], R1);
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
      perp_matrix_quat(rel, qi + 4);
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
      qi[1] = k->angle - l->angle - k->rel_angle;
      add_cross(-1, wp, d, ddot);
      ui[0] = (d[0] * ddot[1] - d[1] * ddot[0]) / (d[0] * d[0] + d[1] * d[1]);
      ui[1] = wrel[2];
      break;
    }
  }
}

/* ---- kinematics ---- */

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
  static const double none[3];
  const double *axes = world_node.R;
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
    reduced_kinematics_rotation(axes + 6, q[2], k->R);
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
    const node *l = parent_of(tree, k);
    const double *Rp = l->R, *wp = l->w;

    /* orientation, angular velocity and its bias zeta_w; n1, n2: joint directions in the world */
    double rel[9], R1[9], rod[9], n1[3], n2[3], wj[3] = { 0 }, *zeta_w = k->zeta;
    memset(k->zeta, 0, sizeof k->zeta);
    k->angle = l->angle + k->rel_angle;
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
        reduced_kinematics_rotation(e_z, k->angle, k->R);
      } else {
        reduced_kinematics_rotation(axis, angle, R1);
        multiply(R1, k->rel, rel);
        multiply(Rp, rel, k->R);
      }
      turn(Rp, axis, n1);
      for (int c = 0; c < 3; c++) wj[c] = n1[c] * rate;
      add_cross(1, wp, wj, zeta_w);
      break;
    }
    case PERP_REDUCED_UNIVERSAL:
      reduced_kinematics_rotation(k->axis_p, qi[0], R1);
      multiply(R1, k->rel, rel);
      reduced_kinematics_rotation(k->axis_c, qi[1], R1);
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
        reduced_kinematics_rotation(e_z, k->angle, k->R);
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
        reduced_kinematics_rotation(e_z, qi[0], R1);
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
      k->x[c] = l->x[c] + k->r[c];
      k->xdot[c] = l->xdot[c] + ddot[c];
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
      perp_matrix_quat(k->R, q + 3);
      memcpy(v, k->xdot, sizeof k->xdot);
      turn_back(k->R, k->w, v + 3);
    } else {
      double *q = qm + 3 * k->body, *v = vm + 3 * k->body;
      q[0] = k->x[0], q[1] = k->x[1], q[2] = k->angle;
      v[0] = k->xdot[0], v[1] = k->xdot[1], v[2] = k->w[2];
    }
  }
}
