/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finishing a model: its definitions become index arrays and packed data in one block of memory,
 * and the initial state is checked against the joints. */
#include "models/multibody/chain.h"
#include "models/multibody/model_private.h"
#include "models/geometry/shapes_private.h"

#include <stdlib.h>
#include <string.h>

static void finish_layout(void *model, perp_arena *arena)
{
  perp_model *m = model;
  const int nb = m->n_bodies, nc = m->n_joints, square = m->nvb * m->nvb;
  m->inertia = PERP_CARVE(arena, perp_inertia, nb);
  m->joint = PERP_CARVE(arena, perp_joint, nc);
  m->rows = PERP_CARVE(arena, perp_row, m->m);
  m->drive = PERP_CARVE(arena, perp_drive, m->n_drives + m->n_axes);
  m->masses.diagonal = PERP_CARVE(arena, unsigned char, nb);
  PERP_DOUBLES(arena, m->n_drives + m->n_axes, &m->sim.angle);
  m->chains.chain = PERP_CARVE(arena, perp_chain, m->chains.n);
  m->sim.chain = PERP_CARVE(arena, perp_chain_memory, m->chains.n);
  PERP_DOUBLES(arena, m->nq, &m->q0);
  PERP_DOUBLES(arena, m->nv, &m->v0, &m->masses.flat);
  PERP_DOUBLES(arena, nb * square, &m->masses.M, &m->masses.Minv);
  PERP_DOUBLES(arena, m->m, &m->soft.softness, &m->soft.stiffness, &m->soft.damping);
  PERP_INTS(arena, nb + 1, &m->pattern.bptr, &m->pattern.mptr, &m->pattern.tptr);
  PERP_INTS(arena, nc + 1, &m->pattern.cptr, &m->pattern.jptr);
  PERP_INTS(arena, m->pattern.n_subs, &m->pattern.jblk, &m->pattern.jgrp, &m->pattern.tsub);
  PERP_INTS(arena, m->pattern.n_subs + 1, &m->pattern.joff);
  perp_eval_layout(&m->eval, m, arena);
}

static void sym_inverse(const double A[9], double B[9])
{
  double a = A[0], b = A[3], c = A[6], d = A[4], e = A[7], f = A[8];
  double c00 = d * f - e * e, c01 = c * e - b * f, c02 = b * e - c * d;
  double det = a * c00 + b * c01 + c * c02;
  B[0] = c00 / det, B[3] = B[1] = c01 / det, B[6] = B[2] = c02 / det;
  B[4] = (a * f - c * c) / det, B[7] = B[5] = (b * c - a * e) / det;
  B[8] = (a * d - b * b) / det;
}

static bool is_diagonal(int d, const double *W)
{
  for (int i = 0; i < d * d; i++)
    if (i % (d + 1) != 0 && W[i] != 0) return false;
  return true;
}

static void fill_bodies(perp_model *model)
{
  int d = model->dim, n = model->nvb;
  memset(model->masses.M, 0, (size_t)(model->n_bodies * n * n) * sizeof *model->masses.M);
  memset(model->masses.Minv, 0, (size_t)(model->n_bodies * n * n) * sizeof *model->masses.Minv);
  for (int b = 0; b <= model->n_bodies; b++) {
    model->pattern.bptr[b] = b * n;
    model->pattern.mptr[b] = b * n * n;
  }
  for (int body = 0; body < model->n_bodies; body++) {
    const perp_body_def *def = &model->body_def[body];
    perp_inertia *in = &model->inertia[body];
    double *M = model->masses.M + model->pattern.mptr[body],
           *Minv = model->masses.Minv + model->pattern.mptr[body];
    double *q = model->q0 + body * model->nqb, *v = model->v0 + body * n;
    in->mass = def->mass.mass;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        in->I[i + 3 * j] = 0.5 * (def->mass.inertia[i + 3 * j] + def->mass.inertia[j + 3 * i]);
    if (d == 3) {
      sym_inverse(in->I, in->Iinv);
    } else {
      memset(in->Iinv, 0, sizeof in->Iinv);
      in->Iinv[8] = 1 / in->I[8];
    }
    for (int i = 0; i < d; i++) {
      M[i + i * n] = in->mass;
      Minv[i + i * n] = 1 / in->mass;
      q[i] = def->x[i];
      v[i] = def->v[i];
    }
    for (int rate = 0; rate < model->rates; rate++)
      for (int j = 0; j < model->rates; j++) {
        int at = d == 3 ? rate + 3 * j : 8;
        M[(d + rate) + (d + j) * n] = in->I[at];
        Minv[(d + rate) + (d + j) * n] = in->Iinv[at];
      }
    model->masses.diagonal[body] = is_diagonal(n, M) && is_diagonal(n, Minv);
    for (int i = 0; i < n; i++) model->masses.flat[body * n + i] = Minv[i + i * n];
    for (int rate = 0; rate < model->rates; rate++) v[d + rate] = def->w[d == 3 ? rate : 2];
    if (d == 3)
      memcpy(q + 3, def->quat, sizeof def->quat);
    else
      q[2] = def->angle;
  }
}

static perp_status define_zero(perp_ctx *ctx, perp_model *model, int i)
{
  char buf[PERP_LABEL_MAX];
  perp_joint_def *def = &model->joint_def[i];
  if (def->kind == PERP_JOINT_PLUGIN)
    return perp_joint_plugin_begin(ctx, model, i, perp_model_label(buf, "joint", i, def->name));
  if (def->start != PERP_START_ZERO) return PERP_OK;
  return perp_joint_define_zero(
      ctx, def, model->curve[i], model->dim, def->a < 0 ? NULL : model->q0 + def->a * model->nqb,
      def->b < 0 ? NULL : model->q0 + def->b * model->nqb, perp_model_is_particle(model, def->a),
      perp_model_is_particle(model, def->b), perp_model_label(buf, "joint", i, def->name));
}

/* The chain of a joint that has one, at the initial state. */
static void fill_chain(perp_model *model, int i, int place)
{
  const perp_joint_def *def = &model->joint_def[i];
  perp_joint *joint = &model->joint[i];
  perp_chain *chain = &model->chains.chain[place];
  perp_chain_compile(def, model->dim, def->a < 0 ? NULL : model->q0 + def->a * model->nqb,
                     def->b < 0 ? NULL : model->q0 + def->b * model->nqb, chain);
  perp_chain_start(chain, NULL, &model->sim.chain[place]);
  joint->chain = chain;
  joint->chain_memory = place;
  joint->chained = def->kind == PERP_JOINT_CHAIN;
}

static void fill_joints(perp_model *model)
{
  int row = 0, sub = 0, off = 0, scalars = 0, chains = 0;
  for (int i = 0; i < model->n_joints; i++) {
    const perp_joint_def *def = &model->joint_def[i];
    perp_joint *joint = &model->joint[i];
    int rows = perp_joint_rows(def, model->dim), pair[2], bodies;
    const int *body = perp_joint_bodies(def, pair, &bodies);
    if (def->kind == PERP_JOINT_PLUGIN)
      perp_joint_plugin_compile(def, model->dim, model->rows + scalars, joint);
    else
      perp_joint_compile(def, model->dim, def->a < 0 ? NULL : model->q0 + def->a * model->nqb,
                         def->b < 0 ? NULL : model->q0 + def->b * model->nqb, model->rows + scalars,
                         joint);
    joint->curve = model->curve[i];
    if (perp_chain_is(def)) fill_chain(model, i, chains++);
    model->soft.armatures |= perp_axes_are(def) && def->softness > 0;
    if (i >= model->n_joints - model->motions.n)
      joint->a = PERP_FRAME_OF(i - (model->n_joints - model->motions.n));
    scalars += joint->n_scalars;
    joint->row = row;
    model->pattern.cptr[i] = row;
    model->pattern.jptr[i] = sub;
    joint->sub = sub;
    for (int side = 0; side < bodies; side++) {
      if (body[side] < 0) continue;
      if (joint->plugin == NULL) *(side == 0 ? &joint->ja : &joint->jb) = off;
      model->pattern.jblk[sub] = body[side];
      model->pattern.joff[sub++] = off;
      off += rows * model->nvb;
    }
    for (int k = 0; k < rows; k++) {
      model->soft.softness[row + k] = def->softness + def->row[k].softness;
      model->soft.stiffness[row + k] = def->stiffness + def->row[k].stiffness;
      model->soft.damping[row + k] = def->damping + def->row[k].damping;
      if (model->soft.softness[row + k] > 0) model->soft.any = true;
      if (perp_row_springs(model, row + k)) model->soft.springs = true;
    }
    row += rows;
  }
  model->pattern.cptr[model->n_joints] = row;
  model->pattern.jptr[model->n_joints] = sub;
  model->pattern.joff[sub] = off;
  perp_blocks_transpose(model->n_bodies, model->n_joints, model->pattern.jptr, model->pattern.jblk,
                        model->pattern.jgrp, model->pattern.tptr, model->pattern.tsub);
}

/* extent of the centres of mass and anchors, 1 m for a single point; motions have none of their own
 */
static double finish_extent(const perp_model *model)
{
  double lo[3] = { HUGE_VAL, HUGE_VAL, HUGE_VAL }, hi[3] = { -HUGE_VAL, -HUGE_VAL, -HUGE_VAL };
  for (int i = -model->n_bodies; i < 2 * (model->n_joints - model->motions.n); i++) {
    double p[3] = { 0 };
    if (i < 0) {
      perp_model_point(model, model->q0, -1 - i, (const double[3]){ 0 }, p);
    } else {
      const perp_joint_def *def = &model->joint_def[i / 2];
      if (def->kind == PERP_JOINT_PLUGIN) continue; /* no anchors that anybody knew */
      perp_model_point(model, model->q0, i % 2 == 0 ? def->a : def->b,
                       i % 2 == 0 ? def->anchor_a : def->anchor_b, p);
    }
    for (int k = 0; k < model->dim; k++) {
      lo[k] = fmin(lo[k], p[k]);
      hi[k] = fmax(hi[k], p[k]);
    }
  }
  double size = 0;
  for (int k = 0; k < model->dim; k++) size = fmax(size, hi[k] - lo[k]);
  return size > 0 ? size : 1;
}

/* largest |x| over the rows of joint i, relative to `size` where the row is a length; NaN stays
 * NaN */
static double joint_norm(const perp_model *model, int i, const double *x, double size)
{
  const perp_joint *joint = &model->joint[i];
  double worst = 0;
  for (int k = 0; k < model->pattern.cptr[i + 1] - model->pattern.cptr[i]; k++) {
    if (perp_row_springs(model, joint->row + k)) continue;
    bool angle = k >= joint->points && joint->scalars[k - joint->points].kind == PERP_ROW_DOT;
    double e = fabs(x[joint->row + k]) / (angle ? 1 : size);
    if (!(e <= worst)) worst = e;
  }
  return worst;
}

/* a point that starts on a curve is within its domain */
static perp_status check_place(perp_ctx *ctx, const perp_model *model, int i)
{
  char buf[PERP_LABEL_MAX];
  if (model->curve[i] == NULL) return PERP_OK;
  const double s = perp_model_curve_place(model, model->q0, i);
  double lower, upper;
  if (perp_curve_beyond(model->curve[i], s) <= 0) return PERP_OK;
  perp_curve_domain(model->curve[i], &lower, &upper);
  return PERP_FAIL(ctx, PERP_ERR_ARG,
                   "%s: the point starts at s = %g, outside the domain [%g, %g] of its curve: move "
                   "the point or widen the domain",
                   perp_model_label(buf, "joint", i, model->joint_def[i].name), s, lower, upper);
}

static perp_status check_initial_state(perp_ctx *ctx, perp_model *model)
{
  char buf[PERP_LABEL_MAX];
  double fastest = 0,
         *x = model->eval.C; /* fastest: in lengths of the model, and turns, per second */
  for (int i = 0; i < model->nv; i++)
    fastest = fmax(fastest, fabs(model->v0[i]) / (i % model->nvb < model->dim ? model->size : 1));
  perp_eval_at(&model->eval, model, 0, model->q0);
  for (int joint = 0; joint < model->n_joints; joint++) PERP_TRY(check_place(ctx, model, joint));
  for (int level = 0; level < 2; level++) {
    for (int joint = 0; joint < model->n_joints; joint++) {
      if (level == 1 && model->joint_def[joint].softness > 0) continue; /* it may yield */
      double error = joint_norm(model, joint, x, model->size);
      if (model->joint_def[joint].start == PERP_START_VIOLATES && isfinite(error)) continue;
      if (error <= (level == 0 ? 1e-6 : 1e-6 * fastest)) continue;
      const int motion = perp_model_joint_motion(model, joint);
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the initial %s contradicts it: |%s| = %.3g",
                       perp_model_label(buf, motion < 0 ? "joint" : "motion",
                                        motion < 0 ? joint : motion, model->joint_def[joint].name),
                       level == 0 ? "position" : "velocity",
                       level == 0   ? "C"
                       : motion < 0 ? "J v"
                                    : "J v + dC/dt",
                       joint_norm(model, joint, x, 1));
    }
    /* C has been judged; the same memory takes J v */
    memset(x, 0, (size_t)model->m * sizeof *x);
    perp_blocks_J(&model->eval.blocks, 1, model->v0, x);
    for (int i = 0; model->driven && i < model->m; i++) x[i] += model->eval.Ct[i];
  }
  return PERP_OK;
}

/* Would contacts be looked for between two shapes? */
static bool finish_may_touch(const perp_model *model, int i, int j)
{
  const perp_shape_def *a = &model->shape_def[i], *b = &model->shape_def[j];
  if (a->body == b->body || (a->group != 0 && a->group == b->group)) return false;
  if (perp_model_no_contact(model, a->body, b->body)) return false;
  if (a->collide_joined || b->collide_joined) return true;
  for (int joint = 0; joint < model->n_joints; joint++) {
    const perp_joint_def *def = &model->joint_def[joint];
    if (def->collide) continue;
    if ((def->a == a->body && def->b == b->body) || (def->a == b->body && def->b == a->body))
      return false;
  }
  return true;
}

static perp_status finish_shapes(perp_ctx *ctx, perp_model *model)
{
  char buf[PERP_LABEL_MAX];
  if (model->n_shapes > PERP_SHAPES_MAX)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%d shapes exceed the limit of %d", model->n_shapes,
                     PERP_SHAPES_MAX);
  model->shape = calloc((size_t)(model->n_shapes + 1), sizeof *model->shape);
  if (model->shape == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for shapes");
  for (int shape = 0; shape < model->n_shapes; shape++) {
    const perp_shape_def *def = &model->shape_def[shape];
    PERP_TRY(perp_shape_compile(ctx, model->dim, def,
                                perp_model_label(buf, "shape", shape, def->name),
                                &model->shape[shape]));
  }
  /* Pairs that may touch and that nothing can test. */
  char of_i[PERP_LABEL_MAX], of_j[PERP_LABEL_MAX];
  for (int shape = 0; shape < model->n_shapes; shape++) {
    if (!perp_shape_partial(model->shape_def[shape].kind)) continue;
    for (int j = 0; j < model->n_shapes; j++) {
      const perp_shape_kind a = model->shape_def[shape].kind, b = model->shape_def[j].kind;
      if (shape == j || perp_shapes_tested(a, b) || !finish_may_touch(model, shape, j)) continue;
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "%s and %s could touch, but contacts between half-spaces are not supported: "
                       "put both in one collision group, or make one a box",
                       perp_model_label(of_i, "shape", shape, model->shape_def[shape].name),
                       perp_model_label(of_j, "shape", j, model->shape_def[j].name));
    }
  }
  return PERP_OK;
}

perp_status perp_model_finish(perp_ctx *ctx, perp_model *model)
{
  perp_model *m = model;
  PERP_TRY(perp_model_building(ctx, m));
  if (m->n_bodies == 0) return PERP_FAIL(ctx, PERP_ERR_ARG, "the model has no body");
  if (!isfinite(m->gravity)) return PERP_FAIL(ctx, PERP_ERR_ARG, "gravity is not finite");
  if (fabs(m->gravity) > 1e100)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "gravity is outside of [-1e100, 1e100] m/s2: got %g",
                     m->gravity);
  PERP_TRY(perp_surfaces_check(ctx, m));
  PERP_TRY(perp_disabled_join(ctx, m));
  perp_status status = perp_motions_join(ctx, m);
  if (status != PERP_OK) {
    perp_disabled_part(m);
    return status;
  }
  m->nq = m->n_bodies * m->nqb;
  m->nv = m->n_bodies * m->nvb;
  m->m = m->pattern.nnz_J = m->pattern.n_subs = m->n_axes = m->chains.n = 0;
  m->driven = m->motions.n > 0;
  m->axes = &perp_axes_call;
  for (int joint = 0; joint < m->n_joints; joint++) {
    const perp_joint_def *def = &m->joint_def[joint];
    int rows = perp_joint_rows(def, m->dim), pair[2], bodies, moving = 0;
    const int *body = perp_joint_bodies(def, pair, &bodies);
    for (int k = 0; k < bodies; k++) moving += body[k] >= 0;
    m->driven = m->driven || perp_joint_plugin_moves(def);
    m->n_axes += perp_axes_count(m, joint);
    m->chains.n += perp_chain_is(def);
    m->m += rows;
    m->pattern.n_subs += moving;
    m->pattern.nnz_J += rows * m->nvb * moving;
  }
  status = perp_arena_layout(ctx, &m->building.arena, finish_layout, m);
  if (status != PERP_OK) {
    perp_motions_part(m);
    perp_disabled_part(m);
    return status;
  }
  m->soft.any = m->soft.springs = m->soft.armatures = false;
  fill_bodies(m);
  for (int i = 0; i < m->n_joints && status == PERP_OK; i++) status = define_zero(ctx, m, i);
  fill_joints(m);
  m->velocity_forces = perp_model_forces_need_velocity(m);
  perp_eval_init(&m->eval, m);
  m->size = finish_extent(m);
  if (m->n_axes > 0) {
    perp_eval_poses(&m->eval, m, 0, m->q0);
    perp_axes_compile(m, &m->eval);
  }
  if (status == PERP_OK) status = check_initial_state(ctx, m);
  for (int drive = 0; drive < m->n_drives && status == PERP_OK; drive++) {
    m->sim.angle[drive] = m->drive_def[drive].zero;
    perp_drive_compile(m, &m->eval, &m->drive_def[drive],
                       &m->drive[drive]); /* at the poses that were just checked */
  }
  if (status == PERP_OK) status = perp_compensation_compile(ctx, m);
  if (status == PERP_OK) status = finish_shapes(ctx, m);
  if (status != PERP_OK) {
    perp_shapes_free(m);
    free(m->carried.block);
    m->carried = (perp_carried){ 0 };
    perp_arena_free(&m->building.arena);
    finish_layout(m, &m->building.arena); /* forget the addresses */
    m->building.arena = (perp_arena){ 0 };
    perp_motions_part(m);
    perp_disabled_part(m);
    return status;
  }
  m->building.finished = true;
  return PERP_OK;
}
