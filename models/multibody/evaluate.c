/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a model answers at a state: poses once, then Jacobian, error, forces, energy, momentum;
 * and the manifold of positions. */
#include "models/multibody/chain.h"

#include <string.h>

/* ---- evaluation at one state ---- */

void perp_eval_layout(perp_eval *eval, const perp_model *model, perp_arena *arena)
{
  eval->pose = PERP_CARVE(arena, perp_pose, model->n_bodies + 1 + model->motions.n);
  eval->frame = PERP_CARVE(arena, perp_frame, model->motions.n);
  eval->Ct = PERP_CARVE(arena, double, model->driven ? model->m : 0);
  eval->J = PERP_CARVE(arena, double, model->pattern.nnz_J);
  eval->C = PERP_CARVE(arena, double, model->m);
  eval->chain = PERP_CARVE(arena, perp_chain_at, model->chains.n);
  perp_cells_layout(&eval->cells, model, arena);
}

perp_blocks perp_model_pattern(const perp_model *model)
{
  return (perp_blocks){
    .nv = model->nv,
    .m = model->m,
    .nb = model->n_bodies,
    .nc = model->n_joints,
    .bptr = model->pattern.bptr,
    .mptr = model->pattern.mptr,
    .cptr = model->pattern.cptr,
    .jptr = model->pattern.jptr,
    .jblk = model->pattern.jblk,
    .joff = model->pattern.joff,
    .jgrp = model->pattern.jgrp,
    .tptr = model->pattern.tptr,
    .tsub = model->pattern.tsub,
    .M = model->masses.M,
    .Minv = model->masses.Minv,
    .s = model->soft.any ? model->soft.softness : NULL,
    .diag = model->masses.diagonal,
    .flat = model->masses.flat,
  };
}

void perp_eval_init(perp_eval *eval, const perp_model *model)
{
  eval->t = 0;
  eval->set = 0;
  eval->pose += 1 + model->motions.n; /* pose[-1] is the world */
  eval->pose[-1] = (perp_pose){ 0 };
  for (int i = 0; i < model->dim; i++) eval->pose[-1].R[i + model->dim * i] = 1;
  perp_joints_constant(model, eval->J);
  eval->blocks = perp_model_pattern(model);
  eval->blocks.J = eval->J;
}

/* Other rows are left out than before: constant entries of J are set anew, and the softness is that
 * of the set. */
static void eval_renew(perp_eval *eval, const perp_model *model)
{
  if (eval->set == model->sim.dropped->set) return;
  eval->set = model->sim.dropped->set;
  if (eval->J != NULL) perp_joints_constant(model, eval->J);
  if (eval->blocks.s == NULL || eval->blocks.s == model->soft.softness)
    eval->blocks.s = model->soft.any || model->sim.dropped->n > 0 ? model->soft.softness : NULL;
}

void perp_eval_at(perp_eval *eval, const perp_model *model, double t, const double *q)
{
  perp_eval_poses(eval, model, t, q);
  if (model->sim.dropped != NULL) eval_renew(eval, model);
  perp_joints_evaluate(model, eval);
  if (model->driven) perp_joints_driven(model, eval, t, eval->Ct);
  if (model->sim.dropped != NULL) {
    const perp_dropped *dropped = model->sim.dropped;
    for (int i = 0; i < dropped->n; i++) {
      const int g = dropped->joint[i], r = dropped->row[i] - model->pattern.cptr[g];
      const int rows = model->pattern.cptr[g + 1] - model->pattern.cptr[g];
      eval->C[dropped->row[i]] = 0;
      for (int k = model->pattern.jptr[g]; k < model->pattern.jptr[g + 1] && eval->J != NULL; k++)
        for (int c = 0; c < model->nvb; c++) eval->J[model->pattern.joff[k] + r + c * rows] = 0;
    }
  }
}

void perp_eval_forces(const perp_eval *eval, const perp_model *model, double t, const double *v,
                      bool gyroscopic, double *f)
{
  const int d = model->dim, nvb = model->nvb;
  const double g = perp_model_gravity_at(model, t);
  for (int body = 0; body < model->n_bodies; body++) {
    const perp_inertia *in = &model->inertia[body];
    const double *w = v + nvb * body + 3;
    double *fb = f + nvb * body, L[3];
    memset(fb, 0, (size_t)nvb * sizeof *fb);
    fb[d - 1] = -in->mass * g;
    if (d == 2 || !gyroscopic) continue;
    perp_sym_mul(in->I, w, L);
    perp_cross(L, w, fb + 3);
  }
  if (model->n_forces > 0) perp_forces_add(model, eval, t, v, f);
  if (model->carried.n > 0) perp_compensation_apply(model, eval, t, 1, f);
}

void perp_eval_impulse(const perp_eval *eval, const perp_model *model, double t, double h,
                       const double *v, double *rhs)
{
  int n = model->n_bodies;
  if (model->n_forces > 0) {
    /* elements first: the loops below then add the rest in place */
    memset(rhs, 0, (size_t)model->nv * sizeof *rhs);
    perp_forces_add(model, eval, t, v, rhs);
    for (int i = 0; i < model->nv; i++) rhs[i] *= h;
  }
  double hg = h * perp_model_gravity_at(model, t);
  for (int inertia = 0; inertia < n; inertia++) {
    const perp_inertia *in = &model->inertia[inertia];
    double p[6];
    if (model->dim == 3) {
      const double *vb = v + 6 * inertia, *w = vb + 3;
      double L[3], g[3];
      perp_sym_mul(in->I, w, L);
      perp_cross(L, w, g);
      p[0] = in->mass * vb[0];
      p[1] = in->mass * vb[1];
      p[2] = in->mass * (vb[2] - hg);
      p[3] = L[0] + h * g[0], p[4] = L[1] + h * g[1], p[5] = L[2] + h * g[2];
    } else {
      const double *vb = v + 3 * inertia;
      p[0] = in->mass * vb[0];
      p[1] = in->mass * (vb[1] - hg);
      p[2] = in->I[8] * vb[2];
    }
    double *out = rhs + model->nvb * inertia;
    if (model->n_forces > 0)
      for (int i = 0; i < model->nvb; i++) out[i] += p[i];
    else
      for (int i = 0; i < model->nvb; i++) out[i] = p[i];
  }
  if (model->carried.n > 0) perp_compensation_apply(model, eval, t, h, rhs);
}

double perp_model_joint_force(const perp_model *model, const perp_blocks *blocks, int i,
                              const double *lambda)
{
  const int rows = model->pattern.cptr[i + 1] - model->pattern.cptr[i];
  const double *J = blocks->J + blocks->joff[blocks->jptr[i]], *x = lambda + model->pattern.cptr[i];
  double F[3] = { 0 };
  if (blocks->jptr[i] == blocks->jptr[i + 1]) return 0;
  for (int c = 0; c < model->dim; c++)
    for (int row = 0; row < rows; row++) F[c] += J[row + c * rows] * x[row];
  return sqrt(perp_dot(3, F, F));
}

/* ---- questions ---- */

int perp_model_dim(const perp_model *model)
{
  return model->dim;
}
int perp_model_bodies(const perp_model *model)
{
  return model->n_bodies;
}
int perp_model_joints(const perp_model *model)
{
  return model->n_joints;
}
int perp_model_shapes(const perp_model *model)
{
  return model->n_shapes;
}
const perp_shape_def *perp_model_shape(const perp_model *model, int i)
{
  return &model->shape_def[i];
}
int perp_model_force_elements(const perp_model *model)
{
  return model->n_forces;
}
const perp_force_def *perp_model_force_element(const perp_model *model, int i)
{
  return &model->force_def[i];
}
double perp_model_gravity_of(const perp_model *model)
{
  return model->gravity;
}
int perp_model_nq(const perp_model *model)
{
  return model->nq;
}
int perp_model_nv(const perp_model *model)
{
  return model->nv;
}
int perp_model_m(const perp_model *model)
{
  return model->m;
}
const double *perp_model_q0(const perp_model *model)
{
  return model->q0;
}
double perp_model_size(const perp_model *model)
{
  return model->size;
}

bool perp_model_compliant(const perp_model *model)
{
  return model->soft.any || model->soft.springs;
}

perp_surface perp_model_surface_pair(const perp_model *model, int shape_a, int shape_b)
{
  return perp_surface_pair(model, &model->shape_def[shape_a].surface,
                           &model->shape_def[shape_b].surface);
}

const double *perp_model_v0(const perp_model *model)
{
  return model->v0;
}
const perp_body_def *perp_model_body(const perp_model *model, int i)
{
  return i >= 0 && i < model->n_bodies ? &model->body_def[i] : NULL;
}
const perp_joint_def *perp_model_joint(const perp_model *model, int i)
{
  return i >= 0 && i < model->n_joints ? &model->joint_def[i] : NULL;
}
double perp_model_curve_place(const perp_model *model, const double *q, int i)
{
  const perp_joint_def *def = &model->joint_def[i];
  double a[3], b[3], R[9], r[3], gap[3], tangent[3], delta[3];
  perp_model_point(model, q, def->a, def->anchor_a, a);
  perp_model_point(model, q, def->b, def->anchor_b, b);
  perp_model_rotation(model, q, def->a, R);
  for (int k = 0; k < 3; k++) delta[k] = b[k] - a[k];
  perp_turn_back(3, R, delta, r);
  return perp_curve_gap(model->curve[i], r, gap, tangent);
}
void perp_model_curve_point(const perp_model *model, int i, double s, double c[3],
                            double tangent[3])
{
  perp_curve_point(model->curve[i], s, c, tangent);
}
int perp_model_joint_row(const perp_model *model, int i, int *rows)
{
  if (rows != NULL) *rows = model->pattern.cptr[i + 1] - model->pattern.cptr[i];
  return model->pattern.cptr[i];
}

void perp_model_point(const perp_model *model, const double *q, int body, const double s[3],
                      double p[3])
{
  perp_pose pose;
  memset(p, 0, 3 * sizeof *p);
  if (body < 0) {
    memcpy(p, s, (size_t)model->dim * sizeof *p);
    return;
  }
  perp_pose_of(model->dim, q + body * model->nqb, &pose);
  perp_turn(model->dim, pose.R, s, p);
  for (int i = 0; i < model->dim; i++) p[i] += pose.x[i];
}

void perp_model_point_velocity(const perp_model *model, const double *q, const double *v, int body,
                               const double s[3], double pdot[3])
{
  perp_pose pose;
  memset(pdot, 0, 3 * sizeof *pdot);
  if (body < 0) return;
  const double *vb = v + body * model->nvb;
  perp_pose_of(model->dim, q + body * model->nqb, &pose);
  perp_direction_rate(model->dim, pose.R, s, vb + model->dim, pdot);
  for (int i = 0; i < model->dim; i++) pdot[i] += vb[i];
}

void perp_model_rotation(const perp_model *model, const double *q, int body, double R[9])
{
  perp_pose pose;
  memset(R, 0, 9 * sizeof *R);
  R[0] = R[4] = R[8] = 1;
  if (body < 0) return;
  perp_pose_of(model->dim, q + body * model->nqb, &pose);
  for (int j = 0; j < model->dim; j++)
    for (int i = 0; i < model->dim; i++) R[i + 3 * j] = pose.R[i + model->dim * j];
}

void perp_model_energy(const perp_model *model, double t, const double *q, const double *v,
                       double *kinetic, double *potential)
{
  perp_eval eval = model->eval;
  int d = model->dim;
  double T = 0, V = 0;
  const double g = perp_model_gravity_at(model, t);
  perp_eval_poses(&eval, model, t, q);
  for (int body = 0; body < model->n_bodies; body++) {
    const perp_inertia *in = &model->inertia[body];
    const double *vb = v + body * model->nvb;
    double L[3];
    T += 0.5 * in->mass * perp_dot(d, vb, vb);
    if (d == 3) {
      perp_sym_mul(in->I, vb + 3, L);
      T += 0.5 * perp_dot(3, vb + 3, L);
    } else {
      T += 0.5 * in->I[8] * vb[2] * vb[2];
    }
    V += in->mass * g * eval.pose[body].x[d - 1];
  }
  if (model->soft.springs) {
    eval.J = NULL; /* C is scratch of the model, as the poses are */
    perp_joints_evaluate(model, &eval);
    for (int i = 0; i < model->m; i++) V += 0.5 * model->soft.stiffness[i] * eval.C[i] * eval.C[i];
  }
  if (model->soft.armatures) T += perp_axes_kinetic(model, &eval, v);
  *kinetic = T;
  *potential = V + perp_forces_potential(model, &eval) + perp_drives_potential(model, &eval, t);
}

/* P = sum m xdot, L = sum of x cross m xdot + R I w, about the origin (Vondrak 2005, eq. 3.1, 5.10,
 * 5.12 and 5.14; Cline 2002, eq. 2.12) */
void perp_model_momentum(const perp_model *model, const double *q, const double *v, double P[3],
                         double L[3])
{
  memset(P, 0, 3 * sizeof *P);
  memset(L, 0, 3 * sizeof *L);
  for (int body = 0; body < model->n_bodies; body++) {
    const perp_inertia *in = &model->inertia[body];
    const double *qb = q + body * model->nqb, *vb = v + body * model->nvb;
    double p[3] = { 0 }, x[3] = { 0 }, orbital[3], spin[3] = { 0 };
    for (int i = 0; i < model->dim; i++) {
      p[i] = in->mass * vb[i];
      x[i] = qb[i];
    }
    perp_cross(x, p, orbital);
    if (model->dim == 3) {
      double R[9], Iw[3];
      perp_quat_matrix(qb + 3, R);
      perp_sym_mul(in->I, vb + 3, Iw);
      perp_turn(3, R, Iw, spin);
    } else {
      spin[2] = in->I[8] * vb[2];
    }
    for (int i = 0; i < 3; i++) {
      P[i] += p[i];
      L[i] += orbital[i] + spin[i];
    }
  }
}

/* ---- what formulations use ---- */

void perp_model_error(const perp_model *model, double t, const double *q, double *C)
{
  perp_eval eval = model->eval; /* the poses are scratch of the model */
  eval.J = NULL;
  eval.C = C;
  perp_eval_at(&eval, model, t, q);
  perp_model_rigid_rows(model, C);
}

void perp_model_rigid_rows(const perp_model *model, double *x)
{
  for (int spring = 0; spring < model->m && model->soft.springs; spring++)
    if (perp_row_springs(model, spring)) x[spring] = 0;
  for (int armature = 0; armature < model->n_joints && model->soft.armatures; armature++)
    if (model->joint[armature].inertial) x[model->joint[armature].row] = 0;
}

const perp_blocks *perp_model_assemble(perp_model *model, double t, const double *q)
{
  perp_eval_at(&model->eval, model, t, q);
  return &model->eval.blocks;
}

const perp_blocks *perp_model_blocks(const perp_model *model)
{
  return &model->eval.blocks;
}

void perp_model_forces(const perp_model *model, double t, const double *q, const double *v,
                       double *f)
{
  perp_eval eval = model->eval;
  perp_eval_poses(&eval, model, t, q);
  perp_eval_forces(&eval, model, t, v, true, f);
}

void perp_model_rate(const perp_model *model, double t, const double *q, const double *v,
                     double *Cdot)
{
  perp_eval eval = model->eval; /* its memory is scratch of the model */
  perp_eval_at(&eval, model, t, q);
  memset(Cdot, 0, (size_t)model->m * sizeof *Cdot);
  perp_blocks_J(&eval.blocks, 1, v, Cdot);
  for (int i = 0; model->driven && i < model->m; i++) Cdot[i] += eval.Ct[i];
}

double perp_model_motion_power(const perp_model *model, double t, const double *q,
                               const double *lambda)
{
  perp_eval eval = model->eval;
  double power = 0;
  if (!model->driven) return 0;
  perp_eval_at(&eval, model, t, q);
  for (int i = 0; i < model->m; i++) power -= lambda[i] * eval.Ct[i];
  return power;
}

void perp_model_jdotv(const perp_model *model, double t, const double *q, const double *v,
                      double *gamma)
{
  perp_eval eval = model->eval;
  perp_eval_poses(&eval, model, t, q);
  perp_joints_bias(model, &eval, v, gamma);
}

int perp_model_force_gradient(const perp_model *model, int i, double t, const double *q,
                              const double *v, int body[PERP_ELEMENT_BODIES], double *dq,
                              double *dv)
{
  perp_eval eval = model->eval; /* its memory is scratch of the model */
  const perp_force_def *el = &model->force_def[i];
  if (el->kind == PERP_FORCE_PAIRS) return 0;
  perp_eval_poses(&eval, model, t, q);
  return perp_force_gradient_at(model, &eval, el, false, t, v, body, dq, dv);
}

bool perp_model_forces_need_velocity(const perp_model *model)
{
  for (int body = 0; body < model->n_bodies && model->dim == 3; body++) {
    const double *I = model->body_def[body].mass.inertia;
    bool spherical = I[0] == I[4] && I[4] == I[8] && I[3] == 0 && I[6] == 0 && I[7] == 0;
    if (!spherical) return true; /* gyroscopic torque */
  }
  for (int force = 0; force < model->n_forces; force++) {
    const perp_force_def *el = &model->force_def[force];
    if (el->kind == PERP_FORCE_DRAG || (el->kind == PERP_FORCE_SPRING && el->damping > 0))
      return true;
    if (el->kind == PERP_FORCE_PLUGIN && perp_force_promises(el) & PERP_FORCE_NEEDS_VELOCITY)
      return true;
  }
  return false;
}

/* ---- manifold ---- */

void perp_model_qdot(const perp_model *model, const double *q, const double *v, double *qdot)
{
  if (model->dim == 2) {
    memcpy(qdot, v, (size_t)model->nv * sizeof *qdot);
    return;
  }
  for (int body = 0; body < model->n_bodies; body++) {
    const double *vb = v + 6 * body;
    double *out = qdot + 7 * body;
    out[0] = vb[0], out[1] = vb[1], out[2] = vb[2];
    perp_quat_rate(q + 7 * body + 3, vb + 3, out + 3);
  }
}

void perp_model_retract(const perp_model *model, const double *q, const double *dq, double *q_out)
{
  if (model->dim == 2) {
    for (int i = 0; i < model->nq; i++) q_out[i] = q[i] + dq[i];
    return;
  }
  for (int body = 0; body < model->n_bodies; body++) {
    const double *qb = q + 7 * body, *db = dq + 6 * body;
    double *out = q_out + 7 * body;
    for (int i = 0; i < 3; i++) out[i] = qb[i] + db[i];
    perp_quat_retract(qb + 3, db + 3, out + 3);
  }
}

void perp_model_transport(const perp_model *model, const double *dq, const double *p, double *start,
                          double *end)
{
  memcpy(start, p, (size_t)model->nv * sizeof *p);
  memcpy(end, p, (size_t)model->nv * sizeof *p);
  for (int i = 3; model->dim == 3 && i < model->nv; i += 6)
    perp_quat_transport(dq + i, p + i, start + i, end + i);
}

void perp_model_difference(const perp_model *model, const double *q0, const double *q1, double *dq)
{
  if (model->dim == 2) {
    for (int i = 0; i < model->nq; i++) dq[i] = q1[i] - q0[i];
    return;
  }
  for (int body = 0; body < model->n_bodies; body++) {
    for (int i = 0; i < 3; i++) dq[6 * body + i] = q1[7 * body + i] - q0[7 * body + i];
    perp_quat_difference(q0 + 7 * body + 3, q1 + 7 * body + 3, dq + 6 * body + 3);
  }
}

void perp_model_dexpinv(const perp_model *model, const double *u, const double *v, double *du)
{
  if (du != v) memcpy(du, v, (size_t)model->nv * sizeof *v);
  for (int i = 3; model->dim == 3 && i < model->nv; i += 6) perp_quat_dexpinv(u + i, v + i, du + i);
}

void perp_model_dexp(const perp_model *model, const double *u, const double *du, double *v)
{
  if (v != du) memcpy(v, du, (size_t)model->nv * sizeof *v);
  for (int i = 3; model->dim == 3 && i < model->nv; i += 6) perp_quat_dexp(u + i, du + i, v + i);
}

void perp_model_project(const perp_model *model, double *q)
{
  if (model->dim == 2) return;
  for (int body = 0; body < model->n_bodies; body++) perp_quat_unit(q + 7 * body + 3);
}
