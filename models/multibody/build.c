/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building a model: checked definitions in growing lists, until perp_model_finish (finish.c). */
#include "models/multibody/model_private.h"
#include "models/geometry/shapes_private.h"
#include "solvers/core/finite.h"

#include <stdlib.h>
#include <string.h>

/* ---- checks ---- */

const char *perp_model_label(char buf[PERP_LABEL_MAX], const char *what, int index,
                             const char *name)
{
  if (name != NULL)
    snprintf(buf, PERP_LABEL_MAX, "%s %d '%.48s'", what, index, name);
  else
    snprintf(buf, PERP_LABEL_MAX, "%s %d", what, index);
  return buf;
}

/* A symmetric 3 x 3 (upper triangle) positive definite? */
static bool positive_definite(const double A[9])
{
  double a = A[0], b = A[3], c = A[6], d = A[4], e = A[7], f = A[8];
  double minor2 = a * d - b * b;
  double det = a * (d * f - e * e) - b * (b * f - e * c) + c * (b * e - d * c);
  return a > 0 && minor2 > 0 && det > 0;
}

/* Products of three numbers up to this are finite, and so is the inverse of a mass. */
static const double build_most = 1e100;

static bool build_within(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= build_most)) return false;
  return true;
}

static perp_status check_inertia(perp_ctx *ctx, int dim, const perp_mass *mass, const char *who)
{
  const double *I = mass->inertia;
  if (!(mass->mass > 0) || !isfinite(mass->mass))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: mass must be positive: got %g kg", who, mass->mass);
  if (mass->mass < 1 / build_most || mass->mass > build_most)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: mass must be in [1e-100, 1e100] kg: got %g", who,
                     mass->mass);
  if (dim == 2) {
    if (!(I[8] >= 1 / build_most) || !(I[8] <= build_most))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: inertia about z must be positive: got %g kg m2", who,
                       I[8]);
    return PERP_OK;
  }
  if (!perp_finite(9, I)) return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: inertia is not finite", who);
  /* in units of the trace, so that no size of body under- or overflows */
  double trace = I[0] + I[4] + I[8], unit[9], moments[9];
  if (trace > 0 && (trace < 1 / build_most || trace > build_most))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: inertia must be in [1e-100, 1e100] kg m2: got %g", who,
                     trace / 2);
  for (int i = 0; i < 9; i++) unit[i] = I[i] / trace;
  if (!(trace > 0) || !positive_definite(unit))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: inertia is not positive definite", who);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < i; j++)
      if (fabs(unit[i + 3 * j] - unit[j + 3 * i]) > 1e-12)
        return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: inertia is not symmetric", who);
  /* the principal moments obey the triangle inequality exactly when tr(I)/2 E - I, the second
   * moment of the mass, has no negative eigenvalue; flat bodies are at the limit, hence the
   * rounding allowed */
  for (int i = 0; i < 9; i++) moments[i] = (i % 4 == 0 ? 0.5 + 1e-9 : 0) - unit[i];
  if (!positive_definite(moments))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: inertia violates the triangle inequality (one principal moment exceeds "
                     "the sum of the others)",
                     who);
  return PERP_OK;
}

perp_status perp_model_check_body(perp_ctx *ctx, const perp_model *model, int body, bool world,
                                  const char *who)
{
  if ((world && body == PERP_WORLD) || (body >= 0 && body < model->n_bodies)) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: body %d does not exist (there are %d)", who, body,
                   model->n_bodies);
}

perp_status perp_model_check_pair(perp_ctx *ctx, const perp_model *model, int body, int b,
                                  const char *who)
{
  PERP_TRY(perp_model_check_body(ctx, model, body, true, who));
  PERP_TRY(perp_model_check_body(ctx, model, b, true, who));
  if (body != b) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: connects %s with itself", who,
                   body == PERP_WORLD ? "the world" : "a body");
}

perp_status perp_model_check_spring(perp_ctx *ctx, double stiffness, double damping,
                                    const char *who)
{
  if (stiffness >= 0 && isfinite(stiffness) && damping >= 0 && isfinite(damping)) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_ARG,
                   "%s: stiffness and damping must be in [0, inf): got %g and %g", who, stiffness,
                   damping);
}

bool perp_model_is_particle(const perp_model *model, int body)
{
  return body >= 0 && model->body_def[body].particle;
}

perp_status perp_model_check_particle(perp_ctx *ctx, const perp_model *model, int body,
                                      const double anchor[3], const char *who)
{
  if (!perp_model_is_particle(model, body) || perp_all_zero(3, anchor)) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_ARG,
                   "%s: body %d is a particle: its anchor must be its centre, [0, 0, 0]", who,
                   body);
}

/* ---- lists ---- */

perp_status perp_model_push(perp_ctx *ctx, void *list, int *n, int *cap, size_t size, void *part,
                            const char **name, int *index)
{
  char *parts, *own = NULL;
  memcpy(&parts, list, sizeof parts);
  if (*n == *cap) {
    const int wanted = *cap < 8 ? 8 : 2 * *cap;
    parts = realloc(parts, (size_t)wanted * size);
    if (parts == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d elements of the model", wanted);
    memcpy(list, &parts, sizeof parts);
    *cap = wanted;
  }
  if (name != NULL && *name != NULL) {
    own = strdup(*name);
    if (own == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a name");
    *name = own;
  }
  memcpy(parts + (size_t)*n * size, part, size);
  if (index != NULL) *index = *n;
  ++*n;
  return PERP_OK;
}

perp_status perp_model_building(perp_ctx *ctx, const perp_model *model)
{
  return model->building.finished
             ? PERP_FAIL(ctx, PERP_ERR_ARG,
                         "the model is finished already: add elements before perp_model_finish")
             : PERP_OK;
}

perp_status perp_model_create(perp_ctx *ctx, int dim, perp_model **out)
{
  *out = NULL;
  if (dim != 2 && dim != 3)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "a model has 2 or 3 dimensions: got %d", dim);
  perp_model *model = calloc(1, sizeof *model);
  if (model == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a model");
  model->dim = dim;
  model->rates = perp_rates(dim);
  model->nvb = dim + model->rates;
  model->nqb = dim == 3 ? 7 : 3;
  model->gravity = 9.81;
  *out = model;
  return PERP_OK;
}

void perp_shape_disown(const perp_shape_def *def)
{
  free((double *)(uintptr_t)def->vertices);
  free((int *)(uintptr_t)def->triangles);
  free((double *)(uintptr_t)def->heights);
}

void perp_shapes_free(perp_model *model)
{
  for (int shape = 0; model->shape != NULL && shape < model->n_shapes; shape++) {
    free(model->shape[shape].hull);
    free(model->shape[shape].mesh);
  }
  free(model->shape);
  model->shape = NULL;
}

void perp_model_destroy(perp_model *model)
{
  if (model == NULL) return;
  for (int body = 0; body < model->n_bodies; body++)
    free((char *)(uintptr_t)model->body_def[body].name);
  for (int joint = 0; joint < model->n_joints; joint++) {
    free((char *)(uintptr_t)model->joint_def[joint].name);
    perp_element_free(model->joint_def[joint].opts, model->joint_def[joint].body);
    free(model->curve[joint]);
  }
  for (int force = 0; force < model->n_forces; force++)
    perp_element_free(model->force_def[force].opts, model->force_def[force].body);
  free(model->curve);
  perp_shapes_free(model);
  for (int shape = 0; shape < model->n_shapes; shape++) {
    free((char *)(uintptr_t)model->shape_def[shape].name);
    perp_shape_disown(&model->shape_def[shape]);
  }
  for (int drive = 0; drive < model->n_drives; drive++)
    free((char *)(uintptr_t)model->drive_def[drive].name);
  for (int i = 0; i < model->motions.n; i++) free((char *)(uintptr_t)model->motions.def[i].name);
  for (int i = 0; i < model->signals.n; i++) perp_signal_destroy(model->signals.list[i]);
  free(model->surfaces.pair);
  free(model->no_contact.pair);
  free(model->motions.def);
  free(model->disabled.def);
  free(model->stops.def);
  free(model->signals.list);
  free(model->drive_def);
  free(model->carried.block);
  free(model->shape_def);
  free(model->body_def);
  free(model->joint_def);
  free(model->force_def);
  perp_arena_free(&model->building.arena);
  for (int kept = model->building.n_kept - 1; kept >= 0; kept--)
    model->building.kept[kept].destroy(model->building.kept[kept].what);
  free(model->building.kept);
  free(model);
}

perp_status perp_model_keep(perp_ctx *ctx, perp_model *model, void *what,
                            void (*destroy)(void *what))
{
  perp_kept kept = { what, destroy };
  return perp_model_push(ctx, &model->building.kept, &model->building.n_kept,
                         &model->building.cap_kept, sizeof kept, &kept, NULL, NULL);
}

void perp_model_gravity(perp_model *model, double g)
{
  model->gravity = g;
}

perp_status perp_model_add_signal(perp_ctx *ctx, perp_model *model, const perp_signal_def *def,
                                  perp_signal_ref *signal)
{
  char buf[PERP_LABEL_MAX];
  perp_signal *s;
  int index = 0;
  PERP_TRY(perp_model_building(ctx, model));
  PERP_TRY(perp_signal_create(ctx, def, perp_model_label(buf, "signal", model->signals.n + 1, NULL),
                              &s));
  const perp_status status = perp_model_push(ctx, &model->signals.list, &model->signals.n,
                                             &model->signals.cap, sizeof s, &s, NULL, &index);
  if (status != PERP_OK) {
    perp_signal_forget(s); /* what it was made of stays with the caller */
    return status;
  }
  *signal = index + 1;
  return PERP_OK;
}

perp_status perp_model_gravity_signal(perp_ctx *ctx, perp_model *model, perp_signal_ref signal)
{
  PERP_TRY(perp_model_building(ctx, model));
  PERP_TRY(perp_model_check_signal(ctx, model, signal, "gravity"));
  model->signals.gravity = signal;
  return PERP_OK;
}

perp_status perp_model_add_motion(perp_ctx *ctx, perp_model *model, const perp_motion_def *def,
                                  int *index)
{
  char buf[PERP_LABEL_MAX];
  const char *who = perp_model_label(buf, "motion", model->motions.n, def->name);
  PERP_TRY(perp_model_building(ctx, model));
  PERP_TRY(perp_model_check_body(ctx, model, def->body, false, who));
  for (int i = 0; i < model->motions.n; i++)
    if (model->motions.def[i].body == def->body)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the motion of body %d is prescribed already", who,
                       def->body);
  const bool turned = def->angle != 0 || def->angle_signal != 0;
  if (!perp_finite(3, def->x) || !isfinite(def->angle))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a value is not finite", who);
  if (turned && def->free_turn)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: a free rotation excludes an angle: leave out one of them", who);
  if (turned && model->dim == 3 && (!perp_finite(3, def->axis) || perp_all_zero(3, def->axis)))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: an angle needs a nonzero axis", who);
  if (!def->free_turn && perp_model_is_particle(model, def->body))
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "%s: body %d is a particle, which has no orientation: declare its rotation free", who,
        def->body);
  const perp_signal_ref used[] = { def->x_signal[0], def->x_signal[1], def->x_signal[2],
                                   def->angle_signal };
  for (int i = 0; i < 4; i++) {
    PERP_TRY(perp_model_check_signal(ctx, model, used[i], who));
    if (used[i] != 0 &&
        perp_signal_definition(model->signals.list[used[i] - 1])->kind == PERP_SIGNAL_TABLE)
      return PERP_FAIL(
          ctx, PERP_ERR_ARG,
          "%s: the derivative of a table is discontinuous, a body cannot follow it: use a spline",
          who);
  }
  perp_motion_def copy = *def;
  if (model->dim == 2) copy.axis[0] = copy.axis[1] = 0, copy.axis[2] = 1;
  return perp_model_push(ctx, &model->motions.def, &model->motions.n, &model->motions.cap,
                         sizeof copy, &copy, &copy.name, index);
}

/* The rotation of a particle is uncoupled from everything and at rest; its inertia is not felt and
 * makes the mass matrix regular. */
static perp_status make_particle(perp_ctx *ctx, perp_body_def *def, const char *who)
{
  const bool straight = perp_all_zero(4, def->quat) ||
                        (def->quat[0] == 1 && perp_all_zero(3, def->quat + 1));
  if (!straight || def->angle != 0 || !perp_all_zero(3, def->w))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: a particle does not rotate: leave out quat, angle and w", who);
  const double m = def->mass.mass;
  def->mass = (perp_mass){ m, { m, 0, 0, 0, m, 0, 0, 0, m } };
  return PERP_OK;
}

perp_status perp_model_add_body(perp_ctx *ctx, perp_model *model, const perp_body_def *def,
                                int *index)
{
  char buf[PERP_LABEL_MAX];
  const char *who = perp_model_label(buf, "body", model->n_bodies, def->name);
  PERP_TRY(perp_model_building(ctx, model));
  perp_body_def copy = *def;
  if (def->particle) PERP_TRY(make_particle(ctx, &copy, who));
  PERP_TRY(check_inertia(ctx, model->dim, &copy.mass, who));
  if (!perp_finite(3, def->x) || !perp_finite(4, def->quat) || !isfinite(def->angle))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the initial position is not finite", who);
  if (!perp_finite(3, def->v) || !perp_finite(3, def->w))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the initial velocity is not finite", who);
  if (!build_within(3, def->x) || !build_within(4, def->quat) || !build_within(3, def->v) ||
      !build_within(3, def->w) || !build_within(1, &def->angle))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: the initial position or velocity is outside of [-1e100, 1e100]", who);
  if (perp_all_zero(4, copy.quat)) copy.quat[0] = 1;
  double largest = 0; /* scaled first: a tiny quaternion must not underflow */
  for (int i = 0; i < 4; i++) largest = fmax(largest, fabs(copy.quat[i]));
  for (int i = 0; i < 4; i++) copy.quat[i] /= largest;
  perp_quat_unit(copy.quat);
  return perp_model_push(ctx, &model->body_def, &model->n_bodies, &model->building.bodies,
                         sizeof copy, &copy, &copy.name, index);
}

/* What a force of model.h must have. */
static perp_status check_own_force(perp_ctx *ctx, const perp_model *model,
                                   const perp_force_def *def, const char *who)
{
  if (def->kind == PERP_FORCE_PAIRS)
    PERP_TRY(perp_pairs_check(ctx, model, def, who));
  else if (def->kind == PERP_FORCE_SPRING)
    PERP_TRY(perp_model_check_pair(ctx, model, def->a, def->b, who));
  else
    PERP_TRY(perp_model_check_body(ctx, model, def->a, false, who));
  static const char *const names[] = { "stiffness", "damping",   "length",
                                       "linear",    "quadratic", "angular" };
  const double numbers[] = { def->stiffness, def->damping,   def->length,
                             def->linear,    def->quadratic, def->angular };
  if (!perp_finite(3, def->anchor_a) || !perp_finite(3, def->anchor_b) ||
      !perp_finite(3, def->value) || !perp_finite(6, numbers))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a value is not finite", who);
  for (int i = 0; i < 6; i++)
    if (numbers[i] < 0)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: %s must not be negative: got %g", who, names[i],
                       numbers[i]);
  const bool valued = def->kind == PERP_FORCE_POINT || def->kind == PERP_FORCE_TORQUE;
  for (int i = 0; i < 3; i++) {
    PERP_TRY(perp_model_check_signal(ctx, model, def->value_signal[i], who));
    if (def->value_signal[i] != 0 && !valued)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: this kind of force has no value that a signal could set", who);
  }
  PERP_TRY(perp_model_check_particle(ctx, model, def->a, def->anchor_a, who));
  if (def->kind == PERP_FORCE_SPRING)
    PERP_TRY(perp_model_check_particle(ctx, model, def->b, def->anchor_b, who));
  if (def->kind == PERP_FORCE_TORQUE && perp_model_is_particle(model, def->a))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: body %d is a particle, on which no torque acts: use a point force", who,
                     def->a);
  return PERP_OK;
}

perp_status perp_model_add_force(perp_ctx *ctx, perp_model *model, const perp_force_def *def)
{
  char buf[PERP_LABEL_MAX];
  PERP_TRY(perp_model_building(ctx, model));
  const char *kind = perp_force_kind_name(def->kind);
  const char *who = perp_model_label(buf, "force", model->n_forces, kind);
  perp_force_def copy = *def;
  if (kind == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: unknown kind of force: %d", who, (int)def->kind);
  const bool plugin = def->kind == PERP_FORCE_PLUGIN;
  if (plugin)
    PERP_TRY(perp_force_plugin_take(ctx, &copy, who));
  else
    copy.opts = copy.body = NULL;
  perp_status status = plugin ? perp_force_plugin_check(ctx, model, &copy, who)
                              : check_own_force(ctx, model, def, who);
  if (copy.kind != PERP_FORCE_SPRING && copy.kind != PERP_FORCE_PAIRS && !plugin)
    copy.b = PERP_WORLD;
  if (status == PERP_OK)
    status = perp_model_push(ctx, &model->force_def, &model->n_forces, &model->building.forces,
                             sizeof copy, &copy, NULL, NULL);
  if (status != PERP_OK) perp_element_free(copy.opts, copy.body);
  return status;
}

/* A ball joint in space has angles where its axes are not parallel. */
static perp_status check_angles(perp_ctx *ctx, const perp_model *model, const perp_joint_def *def,
                                const char *who)
{
  static const double still[4] = { 1 };
  double Ra[9], Rb[9], a[3], b[3], u[3];
  if (def->kind != PERP_JOINT_BALL || model->dim == 2) return PERP_OK;
  if (!perp_finite(3, def->axis_a) || !perp_finite(3, def->axis_b) ||
      perp_all_zero(3, def->axis_a) || perp_all_zero(3, def->axis_b))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: a ball joint has angles only with axis_a and axis_b: add both axes", who);
  perp_quat_matrix(def->a < 0 ? still : model->body_def[def->a].quat, Ra);
  perp_quat_matrix(def->b < 0 ? still : model->body_def[def->b].quat, Rb);
  perp_turn(3, Ra, def->axis_a, a);
  perp_turn(3, Rb, def->axis_b, b);
  perp_cross(a, b, u);
  if (perp_dot(3, u, u) > 1e-12 * perp_dot(3, a, a) * perp_dot(3, b, b)) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_ARG,
                   "%s: axis_a and axis_b of the ball joint are parallel: its angles are undefined",
                   who);
}

static perp_status check_turning(perp_ctx *ctx, const perp_drive_def *def, const char *who)
{
  const double length = perp_dot(3, def->along, def->along);
  if (def->turning == NULL || def->turning->at == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: a servo for the orientation needs a target orientation", who);
  if (!(fabs(length - 1) <= 1e-9))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: along is not a unit vector: |along| = %g", who,
                     sqrt(length));
  if (!def->gravity_compensation && !(def->max_force > 0 && perp_drive_is_servo(def)))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: a servo for the orientation needs max_force, and stiffness or damping",
                     who);
  if (def->lower != -HUGE_VAL || def->upper != HUGE_VAL)
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: a servo for the orientation has no limits: put limits on the axes of the joint", who);
  return PERP_OK;
}

perp_status perp_drive_check_axis(perp_ctx *ctx, const perp_model *model, int joint,
                                  perp_drive_axis axis, const char *who)
{
  if (joint < 0 || joint >= model->n_joints)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: joint %d does not exist (there are %d)", who, joint,
                     model->n_joints);
  const perp_joint_kind kind = model->joint_def[joint].kind;
  if (!perp_drive_serves(kind, model->dim, axis))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: joint %d, a %s joint, does not leave a coordinate %s free", who, joint,
                     perp_joint_kind_name(kind),
                     axis == PERP_DRIVE_B        ? "about axis_b"
                     : axis == PERP_DRIVE_ALONG  ? "along axis_a"
                     : axis == PERP_DRIVE_NODE   ? "about axis_a x axis_b"
                     : axis == PERP_DRIVE_TURN   ? "about an arbitrary axis"
                     : axis == PERP_DRIVE_C      ? "along axis_c"
                     : axis == PERP_DRIVE_ACROSS ? "across axis_c"
                     : axis == PERP_DRIVE_D      ? "d, as a chain has"
                     : axis == PERP_DRIVE_E      ? "e, as a chain has"
                                                 : "about or along axis_a");
  if (model->joint_def[joint].strength > 0)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "%s: joint %d can break, and has no limits, motors or servos: remove its `break`", who,
        joint);
  const perp_joint_def *own = &model->joint_def[joint];
  if (kind == PERP_JOINT_CHAIN && perp_chain_axis_of(axis) >= own->n_axes)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%s: joint %d, a chain, has %d axes: a to %c", who,
                     joint, own->n_axes, 'a' + own->n_axes - 1);
  return axis == PERP_DRIVE_TURN ? PERP_OK
                                 : check_angles(ctx, model, &model->joint_def[joint], who);
}

perp_status perp_model_add_drive(perp_ctx *ctx, perp_model *model, const perp_drive_def *def,
                                 int *index)
{
  char buf[PERP_LABEL_MAX];
  const char *who = perp_model_label(buf, "drive", model->n_drives, def->name);
  PERP_TRY(perp_model_building(ctx, model));
  PERP_TRY(perp_drive_check_axis(ctx, model, def->joint, def->axis, who));
  if (!(def->lower <= def->upper) || def->lower == HUGE_VAL || def->upper == -HUGE_VAL)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: no finite value lies within the limits: got [%g, %g]",
                     who, def->lower, def->upper);
  const double numbers[] = { def->zero, def->velocity, def->target };
  if (!perp_finite(3, numbers))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a value is not finite", who);
  PERP_TRY(perp_restitution_check(ctx, def->restitution, who));
  if (!(def->max_force >= 0))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: max_force must not be negative: got %g", who,
                     def->max_force);
  PERP_TRY(perp_model_check_spring(ctx, def->stiffness, def->damping, who));
  if (def->axis == PERP_DRIVE_TURN) PERP_TRY(check_turning(ctx, def, who));
  PERP_TRY(perp_model_check_signal(ctx, model, def->velocity_signal, who));
  PERP_TRY(perp_model_check_signal(ctx, model, def->target_signal, who));
  perp_drive_def copy = *def;
  return perp_model_push(ctx, &model->drive_def, &model->n_drives, &model->building.drives,
                         sizeof copy, &copy, &copy.name, index);
}
