/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows on coordinates of joint axes, in any number of joints,
 *
 *      x_k = coordinate of axis k (drives.c),   xdot_k = J_k v
 *
 *      coupling   C = sum factor_k x_k - value              J = sum factor_k J_k
 *      armature   J a + lambda / inertia = -Jdot v          lambda = -inertia d(J v)/dt
 *
 * A coupling is a gear, a belt, a screw, a rack, a differential.  Its angles count turns: x_k is
 * the one within half a turn of that at the last accepted state.
 *
 * An armature is the inertia of what turns with an axis alone, a rotor behind a gear of ratio n
 * has I n^2.  Its row is compliant, by softness 1 / inertia; it has no C, no feedback acts on it.
 * On the velocity level, for the impulse p,
 *
 *      J v+ + p / inertia = J v - h Jdot v
 *
 * R. Featherstone, Rigid Body Dynamics Algorithms, 2008, section 9.6: rotors and gears. */
#include "models/multibody/model_private.h"

#include <string.h>

typedef struct axes_row {
  int n_terms;
  perp_axis_term term[PERP_AXIS_TERMS];
  double value, inertia;
} axes_row;

static int axes_rows(const void *opts, int dim, int n, unsigned *angles)
{
  const axes_row *row = opts;
  (void)dim, (void)n;
  *angles = row->inertia > 0 ? 0 : row->n_terms > 0 && !row->term[0].slides;
  return 1;
}

static perp_status axes_check(perp_ctx *ctx, const void *opts, int dim, int n)
{
  const axes_row *row = opts;
  (void)dim, (void)n;
  if (row->n_terms > 0) return PERP_OK; /* they have been checked */
  return PERP_FAIL(ctx, PERP_ERR_ARG, "has no axis of a joint: scene files and models give them");
}

static const perp_opt coupling_options[] = {
  PERP_REAL(axes_row, value, 0, -HUGE_VAL, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Value of the sum of the coordinates times their factors, in radians or metres."),
  PERP_OPTIONS_END
};
static const perp_opt armature_options[] = {
  PERP_REAL(axes_row, inertia, 1, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "kg m^2",
            "Inertia on the axis; of a sliding axis a mass in kg."),
  PERP_OPTIONS_END
};

extern const perp_joint_desc perp_joint_coupling, perp_joint_armature;
const perp_joint_desc perp_joint_coupling = {
  .d = { .name = "coupling",
         .summary = "Gear, belt, screw, rack or differential: coordinates of joint axes in a fixed "
                    "linear relation; 1 row",
         .reference = "Featherstone 2008, section 9.6",
         .equation = "sum of factor x - value = 0, x: coordinates of joint axes",
         PERP_OPTIONS(coupling_options, axes_row),
         .caps = PERP_JOINT_OF_AXES | PERP_JOINT_IN_SPACE | PERP_JOINT_IN_PLANE },
  .bodies_min = 1,
  .bodies_max = PERP_ELEMENT_BODIES,
  .rows = axes_rows,
  .check = axes_check,
};
const perp_joint_desc perp_joint_armature = {
  .d = { .name = "armature",
         .summary = "Inertia on a joint axis, of a rotor behind a gear; 1 row that yields",
         .reference = "Featherstone 2008, section 9.6",
         .equation = "J a + lambda / inertia = -Jdot v, J v: rate of the axis",
         PERP_OPTIONS(armature_options, axes_row),
         .caps = PERP_JOINT_OF_AXES | PERP_JOINT_IN_SPACE | PERP_JOINT_IN_PLANE |
                 PERP_JOINT_NONHOLONOMIC },
  .bodies_min = 1,
  .bodies_max = 2,
  .rows = axes_rows,
  .check = axes_check,
};

bool perp_axes_are(const perp_joint_def *def)
{
  return def->plugin == &perp_joint_coupling || def->plugin == &perp_joint_armature;
}

static const axes_row *axes_of(const perp_model *model, int joint)
{
  const perp_joint_def *def = &model->joint_def[joint];
  return def->kind == PERP_JOINT_PLUGIN && perp_axes_are(def) ? def->opts : NULL;
}

/* ---- building ---- */

static perp_status axes_add(perp_ctx *ctx, perp_model *model, const char *name, axes_row *row,
                            perp_joint_start start, const char *who, int *index)
{
  int list[PERP_ELEMENT_BODIES], n = 0;
  for (int i = 0; i < row->n_terms; i++) {
    perp_axis_term *term = &row->term[i];
    PERP_TRY(perp_drive_check_axis(ctx, model, term->joint, term->axis, who));
    if (!isfinite(term->factor) || !isfinite(term->zero))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a value is not finite", who);
    if (term->factor == 0)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a factor of 0 couples nothing: leave the term out",
                       who);
    for (int k = 0; k < i; k++)
      if (row->term[k].joint == term->joint && row->term[k].axis == term->axis)
        return PERP_FAIL(ctx, PERP_ERR_ARG,
                         "%s: joint %d has the same axis in two terms: add their factors", who,
                         term->joint);
    const perp_joint_def *joint = &model->joint_def[term->joint];
    term->slides = perp_drive_slides(joint, model->dim, term->axis);
    const int body[2] = { joint->a, joint->b };
    for (int k = 0; k < 2; k++) {
      int at = 0;
      while (at < n && list[at] != body[k]) at++;
      if (at == n) list[n++] = body[k];
    }
  }
  const perp_joint_def def = {
    .name = name,
    .kind = PERP_JOINT_PLUGIN,
    .plugin = row->inertia > 0 ? &perp_joint_armature : &perp_joint_coupling,
    .opts = row,
    .body = list,
    .n_bodies = n,
    .softness = row->inertia > 0 ? 1 / row->inertia : 0,
    .start = start,
    .collide = true,
  };
  return perp_model_add_joint(ctx, model, &def, index);
}

perp_status perp_model_add_coupling(perp_ctx *ctx, perp_model *model, const perp_coupling_def *def,
                                    int *index)
{
  char buf[PERP_LABEL_MAX];
  const char *who = perp_model_label(buf, "joint", model->n_joints, def->name);
  axes_row row = { .n_terms = def->n_terms, .value = def->value };
  PERP_TRY(perp_model_building(ctx, model));
  if (def->n_terms < 1 || def->n_terms > PERP_AXIS_TERMS)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the number of terms must be from 1 to %d: got %d", who,
                     PERP_AXIS_TERMS, def->n_terms);
  if (!isfinite(def->value)) return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: value is not finite", who);
  memcpy(row.term, def->term, (size_t)def->n_terms * sizeof *def->term);
  if (def->start == PERP_START_ZERO) {
    row.value = 0;
    for (int term = 0; term < def->n_terms; term++)
      row.value += row.term[term].factor * row.term[term].zero;
  }
  return axes_add(ctx, model, def->name, &row,
                  def->start == PERP_START_ZERO ? PERP_START_HOLDS : def->start, who, index);
}

perp_status perp_model_add_armature(perp_ctx *ctx, perp_model *model, const perp_armature_def *def,
                                    int *index)
{
  char buf[PERP_LABEL_MAX];
  const char *who = perp_model_label(buf, "armature", model->n_joints, def->name);
  axes_row row = { .n_terms = 1,
                   .term = { { .joint = def->joint, .axis = def->axis, .factor = 1 } },
                   .inertia = def->inertia };
  PERP_TRY(perp_model_building(ctx, model));
  if (!(def->inertia > 0) || !isfinite(def->inertia) || !isfinite(1 / def->inertia))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: armature must be positive and finite (kg m^2, of a sliding axis kg): got "
                     "%g",
                     who, def->inertia);
  return axes_add(ctx, model, def->name, &row, PERP_START_HOLDS, who, index);
}

bool perp_model_coupling_of(const perp_model *model, int joint, perp_coupling_def *def)
{
  const axes_row *row = axes_of(model, joint);
  if (row == NULL || row->inertia > 0) return false;
  *def = (perp_coupling_def){ .name = model->joint_def[joint].name,
                              .n_terms = row->n_terms,
                              .value = row->value,
                              .start = model->joint_def[joint].start };
  memcpy(def->term, row->term, sizeof def->term);
  return true;
}

bool perp_model_armature_of(const perp_model *model, int joint, perp_armature_def *def)
{
  const axes_row *row = axes_of(model, joint);
  if (row == NULL || !(row->inertia > 0)) return false;
  *def = (perp_armature_def){ .name = model->joint_def[joint].name,
                              .joint = row->term[0].joint,
                              .axis = row->term[0].axis,
                              .inertia = row->inertia };
  return true;
}

int perp_axes_count(const perp_model *model, int joint)
{
  const axes_row *row = axes_of(model, joint);
  return row == NULL ? 0 : row->n_terms;
}

void perp_axes_renumber(perp_model *model, int joint, const int *joints, int n)
{
  axes_row *row = (void *)(uintptr_t)axes_of(model, joint); /* the model's own copy */
  for (int term = 0; row != NULL && term < row->n_terms; term++)
    for (int i = 0; i < n; i++)
      if (joints[i] == row->term[term].joint) {
        row->term[term].joint = i;
        break;
      }
}

void perp_axes_compile(const perp_model *model, const perp_eval *eval)
{
  int at = model->n_drives;
  for (int i = 0; i < model->n_joints; i++) {
    const axes_row *row = axes_of(model, i);
    if (row == NULL) continue;
    perp_joint *joint = &model->joint[i];
    joint->axes = 1 + at;
    joint->inertial = row->inertia > 0;
    for (int term = 0; term < row->n_terms; term++, at++) {
      const perp_drive_def def = { .joint = row->term[term].joint,
                                   .axis = row->term[term].axis,
                                   .zero = row->term[term].zero };
      model->sim.angle[at] = def.zero;
      perp_drive_compile(model, eval, &def, &model->drive[at]);
    }
  }
}

/* ---- evaluation ---- */

void perp_axes_evaluate(const perp_model *model, const perp_joint *joint, perp_eval *eval)
{
  const axes_row *row = joint->opts;
  const int nvb = model->nvb;
  double C = -row->value, J[2][6];
  int moving = 0;
  for (int body = 0; body < joint->n_bodies; body++) moving += joint->body[body] >= 0;
  for (int i = 0; eval->J != NULL && i < moving; i++)
    memset(eval->J + model->pattern.joff[joint->sub + i], 0, (size_t)nvb * sizeof *J[0]);
  for (int term = 0; term < row->n_terms; term++) {
    const perp_drive *drive = &model->drive[joint->axes - 1 + term];
    const double factor = row->term[term].factor;
    C += factor * perp_drive_row(model, eval, joint->axes - 1 + term, J[0], J[1]);
    if (eval->J == NULL) continue;
    for (int body = 0, sub = joint->sub; body < joint->n_bodies; body++) {
      if (joint->body[body] < 0) continue;
      double *to = eval->J + model->pattern.joff[sub++];
      if (joint->body[body] != drive->a && joint->body[body] != drive->b) continue;
      const double *from = J[joint->body[body] == drive->b];
      for (int c = 0; c < nvb; c++) to[c] += factor * from[c];
    }
  }
  eval->C[joint->row] = joint->inertial ? 0 : C;
}

double perp_axes_bias(const perp_model *model, const perp_joint *joint, const perp_eval *eval,
                      const double *v)
{
  const axes_row *row = joint->opts;
  double sum = 0;
  for (int term = 0; term < row->n_terms; term++)
    sum += row->term[term].factor * perp_drive_bias(model, eval, joint->axes - 1 + term, v);
  return sum;
}

double perp_axes_kinetic(const perp_model *model, const perp_eval *eval, const double *v)
{
  double T = 0, J[2][6];
  for (int i = 0; i < model->n_joints; i++) {
    const perp_joint *joint = &model->joint[i];
    if (!joint->inertial) continue;
    perp_drive_row(model, eval, joint->axes - 1, J[0], J[1]);
    const double rate = perp_drive_product(model, joint->axes - 1, J[0], J[1], v);
    T += 0.5 * ((const axes_row *)joint->opts)->inertia * rate * rate;
  }
  return T;
}

bool perp_axes_inertial(const perp_model *model, int row)
{
  int lo = 0, hi = model->n_joints - 1;
  while (lo < hi) {
    const int mid = (lo + hi + 1) / 2;
    if (model->pattern.cptr[mid] <= row)
      lo = mid;
    else
      hi = mid - 1;
  }
  return model->joint[lo].inertial;
}

const perp_axes_calls perp_axes_call = { perp_axes_evaluate, perp_axes_bias };
