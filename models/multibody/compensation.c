/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gravity compensation: the force of a drive that carries the weight of what its joint carries,
 *
 *      tau_i = -sum over the carried bodies k of m_k g . dx_k / dx_i,   dx_k / dx_i = e x (x_k - p)
 *
 * of a turn about e through p, or e of a slide: inverse dynamics at rest (Featherstone 2008,
 * section 5.3).  Carried are the bodies that the joint alone connects with the world, or of a
 * mechanism that is free those on the side of b; couplings and rows on velocities connect nothing.
 * e is how b moves against a where x_i alone grows.  The force is that of poses alone, at most
 * max_force where that is above 0. */
#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

static int compensation_root(int *parent, int i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void compensation_unite(int *parent, int i, int j)
{
  parent[compensation_root(parent, i)] = compensation_root(parent, j);
}

/* Which bodies hang together without this joint; the world is n_bodies. */
static void compensation_parts(const perp_model *model, int joint, int *parent)
{
  const int world = model->n_bodies;
  for (int i = 0; i <= world; i++) parent[i] = i;
  for (int j = 0; j < model->n_joints; j++) {
    int pair[2], n;
    const int *body = perp_joint_bodies(&model->joint_def[j], pair, &n);
    if (j == joint || model->joint[j].axes > 0 || perp_joint_nonholonomic_is(model, j)) continue;
    for (int k = 1; k < n; k++)
      compensation_unite(parent, body[0] < 0 ? world : body[0], body[k] < 0 ? world : body[k]);
  }
}

static bool compensation_serves(perp_joint_kind kind)
{
  return kind == PERP_JOINT_HINGE || kind == PERP_JOINT_SLIDER || kind == PERP_JOINT_LINE ||
         kind == PERP_JOINT_CYLINDRICAL || kind == PERP_JOINT_UNIVERSAL || kind == PERP_JOINT_BALL;
}

/* Carried bodies of drive i to body (NULL: only counted); *sign -1: they move with a. */
static perp_status compensation_carried(perp_ctx *ctx, const perp_model *model, int i, int *parent,
                                        int *body, int *n, int *sign)
{
  const perp_drive_def *def = &model->drive_def[i];
  const perp_joint_def *joint = &model->joint_def[def->joint];
  char buf[PERP_LABEL_MAX];
  const char *who = perp_model_label(buf, "joint", def->joint, joint->name);
  if (!compensation_serves(joint->kind))
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "%s: gravity compensation supports hinges, sliders, cylindrical, universal and "
        "ball joints; this joint is of kind %s",
        who, perp_joint_name(joint));
  compensation_parts(model, def->joint, parent);
  const int world = compensation_root(parent, model->n_bodies),
            a = joint->a < 0 ? world : compensation_root(parent, joint->a),
            b = joint->b < 0 ? world : compensation_root(parent, joint->b);
  if (a == b)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: gravity compensation needs a joint that alone carries the bodies behind "
                     "it; this one closes a loop: leave gravity_compensation out, or cut the loop",
                     who);
  const int carried = b == world ? a : b;
  *sign = b == world ? -1 : 1;
  *n = 0;
  for (int k = 0; k < model->n_bodies; k++) {
    if (compensation_root(parent, k) != carried) continue;
    if (body != NULL) body[*n] = k;
    ++*n;
  }
  return PERP_OK;
}

perp_status perp_compensation_compile(perp_ctx *ctx, perp_model *model)
{
  perp_carried *carried = &model->carried;
  int wanted = 0, total = 0;
  *carried = (perp_carried){ 0 };
  for (int drive = 0; drive < model->n_drives; drive++)
    wanted += model->drive_def[drive].gravity_compensation;
  if (wanted == 0) return PERP_OK;
  const size_t ints = 2 * (size_t)model->n_drives + 1 + (size_t)model->n_bodies + 1;
  int *parent = calloc(ints, sizeof *parent), *ptr = parent + model->n_bodies + 1,
      *sign = ptr + model->n_drives + 1;
  if (parent == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for gravity compensation");
  perp_status status = PERP_OK;
  for (int i = 0; i < model->n_drives && status == PERP_OK; i++) {
    int n = 0;
    if (model->drive_def[i].gravity_compensation)
      status = compensation_carried(ctx, model, i, parent, NULL, &n, &sign[i]);
    ptr[i + 1] = total += n;
  }
  if (status == PERP_OK) {
    carried->block = calloc(ints + (size_t)total, sizeof *carried->block);
    if (carried->block == NULL)
      status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for gravity compensation");
  }
  if (status == PERP_OK) {
    memcpy(carried->block, parent, ints * sizeof *parent);
    carried->ptr = carried->block + model->n_bodies + 1;
    carried->sign = carried->ptr + model->n_drives + 1;
    carried->body = carried->block + ints;
    for (int i = 0; i < model->n_drives && status == PERP_OK; i++) {
      int n;
      if (model->drive_def[i].gravity_compensation)
        status = compensation_carried(ctx, model, i, parent, carried->body + carried->ptr[i], &n,
                                      &carried->sign[i]);
    }
    carried->n = wanted;
  }
  free(parent);
  return status;
}

/* e in the world, and p where it turns. */
static void compensation_axis(const perp_model *model, const perp_eval *eval, int drive,
                              double e[3], double p[3])
{
  const perp_drive_def *def = &model->drive_def[drive];
  const perp_joint_def *joint = &model->joint_def[def->joint];
  const perp_pose *A = &eval->pose[joint->a], *pose = &eval->pose[joint->b];
  const int d = model->dim;
  double a[3] = { 0 }, b[3] = { 0 }, s[3] = { 0 };
  memset(e, 0, 3 * sizeof *e);
  memset(p, 0, 3 * sizeof *p);
  perp_turn(d, pose->R, joint->anchor_b, s);
  for (int k = 0; k < d; k++) p[k] = pose->x[k] + s[k];
  if (d == 2 && !model->drive[drive].slides) {
    e[2] = 1;
    return;
  }
  if (def->axis == PERP_DRIVE_TURN) {
    perp_turn(3, pose->R, def->along, e);
    return;
  }
  perp_turn(d, A->R, joint->axis_a, a);
  perp_turn(d, pose->R, joint->axis_b, b);
  if (def->axis == PERP_DRIVE_NODE)
    perp_cross(a, b, e);
  else
    memcpy(e, def->axis == PERP_DRIVE_B ? b : a, sizeof a);
  const double length = sqrt(perp_dot(3, e, e));
  for (int k = 0; k < 3; k++) e[k] = length > 0 ? e[k] / length : 0;
}

static double compensation_of(const perp_model *model, const perp_eval *eval, double t, int drive)
{
  const perp_carried *carried = &model->carried;
  const perp_drive_def *def = &model->drive_def[drive];
  const double g = perp_model_gravity_at(model, t);
  double e[3], p[3], sum = 0;
  compensation_axis(model, eval, drive, e, p);
  const int up = model->dim - 1;
  for (int k = carried->ptr[drive]; k < carried->ptr[drive + 1]; k++) {
    const perp_pose *pose = &eval->pose[carried->body[k]];
    double r[3] = { 0 }, moves[3];
    for (int l = 0; l < model->dim; l++) r[l] = pose->x[l] - p[l];
    perp_cross(e, r, moves);
    sum += model->inertia[carried->body[k]].mass * (model->drive[drive].slides ? e : moves)[up];
  }
  const double force = carried->sign[drive] * g * sum,
               most = def->max_force > 0 ? def->max_force : HUGE_VAL;
  return fmin(fmax(force, -most), most);
}

void perp_compensation_apply(const perp_model *model, const perp_eval *eval, double t, double h,
                             double *f)
{
  for (int drive = 0; drive < model->n_drives; drive++) {
    double Ja[6], Jb[6];
    if (!model->drive_def[drive].gravity_compensation) continue;
    perp_drive_row(model, eval, drive, Ja, Jb);
    perp_drive_push(model, drive, Ja, Jb, h * compensation_of(model, eval, t, drive), f);
  }
}

void perp_model_compensation(const perp_model *model, double t, const double *q, double part,
                             double *force, double *f)
{
  perp_eval eval = model->eval;
  if (model->carried.n == 0) return;
  perp_eval_poses(&eval, model, t, q);
  for (int drive = 0; drive < model->n_drives && force != NULL; drive++)
    if (model->drive_def[drive].gravity_compensation)
      force[drive] += part * compensation_of(model, &eval, t, drive);
  if (f != NULL) perp_compensation_apply(model, &eval, t, part, f);
}
