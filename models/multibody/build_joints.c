/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints of a model that is being built, and what they must have. */
#include "models/multibody/chain.h"
#include "solvers/core/finite.h"

#include <stdlib.h>
#include <string.h>

/* No row may turn a particle: it has a place and no direction. */
static perp_status build_joints_particle_joint(perp_ctx *ctx, const perp_model *model,
                                               const perp_joint_def *def, const char *who)
{
  const bool a = perp_model_is_particle(model, def->a), b = perp_model_is_particle(model, def->b);
  const bool points = def->kind == PERP_JOINT_BALL || def->kind == PERP_JOINT_DISTANCE ||
                      (def->kind == PERP_JOINT_HINGE && model->dim == 2);
  const bool track = def->kind == PERP_JOINT_LINE || def->kind == PERP_JOINT_CURVE;
  if ((!a && !b) || points || (!a && track)) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "%s: body %d is a particle, which has no orientation: use a ball or distance "
                   "joint%s instead of a %s joint",
                   who, a ? def->a : def->b, track ? "" : ", or a line or curve as body b",
                   perp_joint_kind_name(def->kind));
}

/* Directions of slides that span what they should, lines of hinges that are not one line. */
static perp_status build_joints_chain(perp_ctx *ctx, const perp_model *model,
                                      const perp_joint_def *def, const char *who)
{
  static const double still[4] = { 1 };
  double Ra[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, Rb[9], pa[3], pb[3], a[3], b[3], n[3], d[3];
  const bool slides = def->kind == PERP_JOINT_RECTANGULAR || def->kind == PERP_JOINT_CARTESIAN;
  if (!slides && def->kind != PERP_JOINT_SKEW_HINGES) return PERP_OK;
  const perp_body_def *A = def->a < 0 ? NULL : &model->body_def[def->a],
                      *B = def->b < 0 ? NULL : &model->body_def[def->b];
  memcpy(Rb, Ra, sizeof Rb);
  if (model->dim == 3) {
    perp_quat_matrix(A == NULL ? still : A->quat, Ra);
    perp_quat_matrix(B == NULL ? still : B->quat, Rb);
  } else {
    const double turn = (B == NULL ? 0 : B->angle) - (A == NULL ? 0 : A->angle);
    Rb[0] = Rb[4] = cos(turn), Rb[1] = sin(turn), Rb[3] = -Rb[1];
  }
  perp_turn(3, Ra, def->axis_a, a);
  perp_turn(3, Rb, def->axis_b, b);
  if (model->dim == 2) a[2] = b[2] = 0;
  perp_cross(a, b, n);
  const double sine = sqrt(perp_dot(3, n, n) / (perp_dot(3, a, a) * perp_dot(3, b, b)));
  if (slides && !(sine > 1e-6))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: both slides have one direction: use a slider, or another axis_b", who);
  if (def->kind == PERP_JOINT_CARTESIAN) {
    if (!perp_finite(3, def->axis_c) || perp_all_zero(3, def->axis_c))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: axis_c is zero or not finite", who);
    perp_turn(3, Rb, def->axis_c, d);
    if (!(fabs(perp_dot(3, n, d)) > 1e-6 * sqrt(perp_dot(3, n, n) * perp_dot(3, d, d))))
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: the three slides lie in one plane: use a rectangular joint, or another "
                       "axis_c",
                       who);
  }
  if (slides) return PERP_OK;
  perp_turn(3, Ra, def->anchor_a, pa);
  perp_turn(3, Rb, def->anchor_b, pb);
  for (int i = 0; i < 3; i++)
    d[i] = pb[i] + (B == NULL ? 0 : B->x[i]) - pa[i] - (A == NULL ? 0 : A->x[i]);
  perp_cross(a, d, n);
  if (perp_joint_hinges_parallel(a, b) &&
      !(perp_dot(3, n, n) > 1e-20 * perp_dot(3, a, a) * fmax(perp_dot(3, d, d), 1e-20)))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: both hinges have one line, so that nothing tells their angles apart: use "
                     "a hinge",
                     who);
  return PERP_OK;
}

/* The rows and anchors of a chain follow from its axes: the hinge that it ends in, else the first
 * axis, is where its bodies are joined.  PERP_ERR_ARG: the axes depend on each other. */
static perp_status build_joints_axes(perp_ctx *ctx, const perp_model *model, perp_joint_def *def,
                                     const char *who)
{
  const double still[7] = { 0, 0, 0, 1 };
  double q[2][7], s[3], p[3];
  const int body[2] = { def->a, def->b };
  if (def->n_axes < 3 || def->n_axes > PERP_CHAIN_AXES)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: a chain has 3 to %d axes: got %d (for fewer use hinge, slider, "
                     "cylindrical, universal, rectangular, skew-hinges or pin-slot)",
                     who, PERP_CHAIN_AXES, def->n_axes);
  int last = -1, hinge = -1;
  for (int i = 0; i < def->n_axes; i++) {
    const perp_chain_axis *axis = &def->axes[i];
    if (!perp_finite(3, axis->along) || perp_all_zero(3, axis->along))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the direction of axis %d is zero or not finite", who,
                       i + 1);
    if (!perp_finite(3, axis->at))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the place of axis %d is not finite", who, i + 1);
    hinge = axis->slides != 0 ? hinge : i;
  }
  last = hinge >= 0 ? hinge : 0;
  memcpy(def->axis_a, def->axes[0].along, sizeof def->axis_a);
  memcpy(def->anchor_a, def->axes[last].at, sizeof def->anchor_a);
  for (int k = 0; k < 2; k++) {
    memcpy(q[k], still, sizeof still);
    if (body[k] < 0) continue;
    memcpy(q[k], model->body_def[body[k]].x, 3 * sizeof *q[k]);
    memcpy(q[k] + 3, model->body_def[body[k]].quat, 4 * sizeof *q[k]);
  }
  perp_pose A, B;
  perp_pose_of(3, q[0], &A);
  perp_pose_of(3, q[1], &B);
  perp_turn(3, A.R, def->anchor_a, s);
  for (int k = 0; k < 3; k++) s[k] += A.x[k] - B.x[k];
  perp_turn_back(3, B.R, s, def->anchor_b);
  perp_turn(3, A.R, def->axes[def->n_axes - 1].along, p);
  perp_turn_back(3, B.R, p, def->axis_b);
  perp_chain chain;
  perp_chain_memory memory;
  perp_chain_compile(def, 3, q[0], q[1], &chain);
  if (perp_chain_start(&chain, NULL, &memory) > 1e-6) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_ARG,
                   "%s: its axes depend on each other in the initial state, so that nothing tells "
                   "their coordinates apart: leave one out, or start from another state",
                   who);
}

/* What a joint of model.h must have. */
static perp_status build_joints_own_joint(perp_ctx *ctx, const perp_model *model,
                                          const perp_joint_def *def, const char *who)
{
  if (def->kind == PERP_JOINT_CHAIN ? model->dim == 2
                                    : perp_joint_kind_rows(def->kind, model->dim) == 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%s: a %s joint does not exist in the plane", who,
                     perp_joint_kind_name(def->kind));
  PERP_TRY(perp_model_check_pair(ctx, model, def->a, def->b, who));
  if (!perp_finite(3, def->anchor_a) || !perp_finite(3, def->anchor_b))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: an anchor is not finite", who);
  PERP_TRY(perp_model_check_particle(ctx, model, def->a, def->anchor_a, who));
  PERP_TRY(perp_model_check_particle(ctx, model, def->b, def->anchor_b, who));
  PERP_TRY(build_joints_particle_joint(ctx, model, def, who));
  bool two = def->kind == PERP_JOINT_UNIVERSAL || def->kind == PERP_JOINT_WHEEL ||
             def->kind == PERP_JOINT_PLANAR || def->kind == PERP_JOINT_CYLINDRICAL ||
             def->kind == PERP_JOINT_RECTANGULAR || def->kind == PERP_JOINT_CARTESIAN ||
             def->kind == PERP_JOINT_SKEW_HINGES || def->kind == PERP_JOINT_PIN_SLOT ||
             (def->kind == PERP_JOINT_HINGE && model->dim == 3);
  if (two || def->kind == PERP_JOINT_SLIDER || def->kind == PERP_JOINT_LINE) {
    if (!perp_finite(3, def->axis_a) || perp_all_zero(model->dim, def->axis_a))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: axis_a is zero or not finite", who);
    if (two && (!perp_finite(3, def->axis_b) || perp_all_zero(model->dim, def->axis_b)))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: axis_b is zero or not finite", who);
  }
  PERP_TRY(build_joints_chain(ctx, model, def, who));
  if (def->kind == PERP_JOINT_DISTANCE && !(def->length > 0 && isfinite(def->length)))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: length must be positive: got %g m", who, def->length);
  return PERP_OK;
}

/* A joint that can break: no energy of a spring, no limit or motor remains behind. */
static perp_status build_joints_strength(perp_ctx *ctx, const perp_joint_def *def, const char *who)
{
  bool spring = def->stiffness > 0 || def->damping > 0;
  for (int row = 0; row < PERP_JOINT_ROWS; row++)
    spring |= def->row[row].stiffness > 0 || def->row[row].damping > 0;
  if (!(def->strength >= 0) || !isfinite(def->strength))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: the force that breaks it must be in [0, inf) N: got %g", who,
                     def->strength);
  if (def->strength > 0 && (spring || def->kind == PERP_JOINT_PLUGIN))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: a %s does not break: remove `break`, or use a rigid joint of perp", who,
                     spring ? "joint with stiffness or damping" : "joint of a plug-in");
  return PERP_OK;
}

static perp_status build_joints_check(perp_ctx *ctx, const perp_model *model,
                                      const perp_joint_def *def, const char *who)
{
  PERP_TRY(def->kind == PERP_JOINT_PLUGIN ? perp_joint_plugin_check(ctx, model, def, who)
                                          : build_joints_own_joint(ctx, model, def, who));
  if (!(def->softness >= 0) || !isfinite(def->softness))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: softness must be in [0, inf): got %g", who,
                     def->softness);
  if ((unsigned)def->start > PERP_START_VIOLATES)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: unknown start: %d", who, (int)def->start);
  PERP_TRY(perp_model_check_spring(ctx, def->stiffness, def->damping, who));
  PERP_TRY(build_joints_strength(ctx, def, who));
  const int rows = perp_joint_rows(def, model->dim);
  for (int row = 0; row < PERP_JOINT_ROWS; row++) {
    const double x[] = { def->row[row].softness, def->row[row].stiffness, def->row[row].damping };
    for (int i = 0; i < 3; i++)
      if (!(x[i] >= 0) || !isfinite(x[i]) || (row >= rows && x[i] != 0))
        return PERP_FAIL(ctx, PERP_ERR_ARG,
                         "%s: softness, stiffness and damping of row %d must be in [0, inf), and 0 "
                         "beyond its %d rows: got %g",
                         who, row, rows, x[i]);
  }
  return PERP_OK;
}

perp_status perp_model_add_joint(perp_ctx *ctx, perp_model *model, const perp_joint_def *def,
                                 int *index)
{
  char buf[PERP_LABEL_MAX];
  const char *who = perp_model_label(buf, "joint", model->n_joints, def->name);
  perp_joint_def copy = *def;
  perp_curve *curve = NULL;
  PERP_TRY(perp_model_building(ctx, model));
  if (perp_joint_kind_name(def->kind) == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: unknown kind of joint: %d", who, (int)def->kind);
  if (def->kind == PERP_JOINT_PLUGIN)
    PERP_TRY(perp_joint_plugin_take(ctx, &copy, who));
  else
    copy.opts = copy.body = NULL;
  perp_status status = PERP_OK;
  if (def->kind == PERP_JOINT_CHAIN && model->dim == 3) {
    status = perp_model_check_pair(ctx, model, def->a, def->b, who);
    if (status == PERP_OK) status = build_joints_axes(ctx, model, &copy, who);
  }
  if (status == PERP_OK) status = build_joints_check(ctx, model, &copy, who);
  if (status == PERP_OK && def->kind == PERP_JOINT_CURVE)
    status = perp_curve_create(ctx, def, model->dim, who, &curve);
  copy.curve.data = curve != NULL ? perp_curve_data(curve) : NULL;
  int n_curves = model->n_joints;
  if (status == PERP_OK)
    status = perp_model_push(ctx, &model->curve, &n_curves, &model->building.curves, sizeof curve,
                             &curve, NULL, NULL);
  if (status == PERP_OK)
    status = perp_model_push(ctx, &model->joint_def, &model->n_joints, &model->building.joints,
                             sizeof copy, &copy, &copy.name, index);
  if (status == PERP_OK) return PERP_OK;
  free(curve);
  perp_element_free(copy.opts, copy.body);
  return status;
}
