/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The equivalent model: each definition of the given one, mirrored and in another order. */
#include "models/formulations/equivalent_private.h"

#include <stdlib.h>
#include <string.h>

const char *const perp_equivalence_names[] = { "given",    "mirrored",          "reversed",
                                               "shuffled", "mirrored-shuffled", NULL };

int perp_equivalence_named(const char *name)
{
  for (int i = 0; i < PERP_EQUIVALENCES; i++)
    if (strcmp(perp_equivalence_names[i], name) == 0) return i;
  return -1;
}

typedef struct making { /* of an equivalent */
  perp_equivalent *e;
  perp_equivalence kind;
} making;

static bool reorders(const making *m)
{
  return m->kind >= PERP_EQUIVALENT_REVERSED;
}

/* ---- order ---- */

static int common_divisor(int a, int b)
{
  while (b != 0) {
    const int r = a % b;
    a = b;
    b = r;
  }
  return a;
}

/* Which of n elements comes as the i-th. */
static int equivalent_number(perp_equivalence kind, int i, int n)
{
  if (kind == PERP_EQUIVALENT_REVERSED) return n - 1 - i;
  if (kind < PERP_EQUIVALENT_REVERSED) return i;
  int k = (int)(n / 1.618033988749895 + 0.5);
  if (k < 1) k = 1;
  while (common_divisor(k, n) != 1) k++; /* n + 1 has none */
  return (int)((1 + (int64_t)i * k) % n);
}

static int there(const perp_equivalent *equivalent, int body)
{
  return body < 0 ? body : equivalent->body_there[body];
}

static void equivalent_layout(void *user, perp_arena *arena)
{
  perp_equivalent *equivalent = user;
  const perp_model *model = equivalent->given;
  equivalent->body = PERP_CARVE(arena, int, model->n_bodies);
  equivalent->body_there = PERP_CARVE(arena, int, model->n_bodies);
  equivalent->joint = PERP_CARVE(arena, int, model->n_joints);
  equivalent->shape = PERP_CARVE(arena, int, model->n_shapes);
  equivalent->flips = PERP_CARVE(arena, signed char, model->n_drives);
  equivalent->lambda = PERP_CARVE(arena, double, 2 * model->m);
  equivalent->drive = PERP_CARVE(arena, double, 2 * model->n_drives);
  equivalent->released = PERP_CARVE(arena, bool, model->n_joints);
  equivalent->release = PERP_CARVE(arena, perp_release, model->n_joints + model->disabled.n);
}

/* ---- reflection ---- */

/* Of a vector, of an axial vector, of a quaternion (w, x, y, z). */
static void mirror(const perp_equivalent *equivalent, double u[3])
{
  if (equivalent->mirrored) u[0] = -u[0];
}
static void mirror_axial(const perp_equivalent *equivalent, double u[3])
{
  if (equivalent->mirrored) u[1] = -u[1], u[2] = -u[2];
}
static void mirror_turn(const perp_equivalent *equivalent, double quat[4], double *angle)
{
  if (!equivalent->mirrored) return;
  quat[2] = -quat[2], quat[3] = -quat[3];
  *angle = -*angle;
}

static perp_status unsupported(perp_ctx *ctx, const char *what)
{
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "the scene has no mirror image: it has %s", what);
}

/* ---- the elements ---- */

static perp_status equivalent_bodies(perp_ctx *ctx, perp_equivalent *equivalent)
{
  for (int body = 0; body < equivalent->given->n_bodies; body++) {
    perp_body_def def = equivalent->given->body_def[equivalent->body[body]];
    mirror(equivalent, def.x);
    mirror(equivalent, def.v);
    mirror_axial(equivalent, def.w);
    mirror_turn(equivalent, def.quat, &def.angle);
    for (int k = 1; k < 3 && equivalent->mirrored; k++) {
      def.mass.inertia[k] = -def.mass.inertia[k];
      def.mass.inertia[3 * k] = -def.mass.inertia[3 * k];
    }
    PERP_TRY(perp_model_add_body(ctx, equivalent->model, &def, NULL));
    /* not normalized a second time */
    memcpy(equivalent->model->body_def[body].quat, def.quat, sizeof def.quat);
  }
  return PERP_OK;
}

static perp_status equivalent_rate(perp_ctx *ctx, perp_equivalent *equivalent, perp_rate_def *def)
{
  for (int k = 0; k < def->n_terms; k++) {
    perp_rate_term *term = &def->term[k];
    term->body = there(equivalent, term->body);
    term->frame = there(equivalent, term->frame);
    mirror(equivalent, term->at);
    mirror(equivalent, term->along);
    mirror_axial(equivalent, term->about);
  }
  return perp_model_add_rate(ctx, equivalent->model, def, NULL);
}

static bool has_single_rows(const perp_joint_def *def)
{
  static const perp_row_soft none[PERP_JOINT_ROWS];
  return memcmp(def->row, none, sizeof none) != 0;
}

/* Axes of joints are mirrored as vectors: what slides along one keeps its sign, what turns about
 * one changes it. */
static perp_status equivalent_joints(perp_ctx *ctx, perp_equivalent *equivalent)
{
  const perp_model *given = equivalent->given;
  for (int i = 0; i < perp_disabled_joint(given, 0); i++) {
    int own[PERP_ELEMENT_BODIES];
    perp_rate_def rate;
    if (perp_model_rate_of(given, equivalent->joint[i], &rate)) {
      PERP_TRY(equivalent_rate(ctx, equivalent, &rate));
      continue;
    }
    if (perp_axes_count(given, equivalent->joint[i]) > 0)
      return unsupported(ctx, "couplings and inertia of joint axes");
    perp_joint_def def = given->joint_def[equivalent->joint[i]];
    if (equivalent->mirrored && def.kind == PERP_JOINT_PLUGIN)
      return unsupported(ctx, "joints of plug-ins");
    if (equivalent->mirrored && def.kind == PERP_JOINT_CURVE)
      return unsupported(ctx, "joints on curves");
    if (equivalent->mirrored && has_single_rows(&def))
      return unsupported(ctx, "joints with single compliant rows");
    for (int k = 0; k < def.n_bodies && def.kind == PERP_JOINT_PLUGIN; k++)
      own[k] = there(equivalent, def.body[k]);
    if (def.kind == PERP_JOINT_PLUGIN) def.body = own;
    def.a = there(equivalent, def.a);
    def.b = there(equivalent, def.b);
    mirror(equivalent, def.anchor_a);
    mirror(equivalent, def.anchor_b);
    mirror(equivalent, def.axis_a);
    mirror(equivalent, def.axis_b);
    mirror(equivalent, def.axis_c);
    for (int axis = 0; axis < def.n_axes; axis++) {
      mirror(equivalent, def.axes[axis].along);
      mirror(equivalent, def.axes[axis].at);
    }
    PERP_TRY(perp_model_add_joint(ctx, equivalent->model, &def, NULL));
  }
  return PERP_OK;
}

/* Does the coordinate of a drive change its sign in the mirror?  The node of a ball joint is a
 * product of two axes, and so axial: angles about it do not. */
static bool drive_flips(const perp_model *given, const perp_drive_def *def)
{
  if (def->axis == PERP_DRIVE_ACROSS) return true; /* a product of two axes */
  if (def->axis == PERP_DRIVE_NODE) return false;
  return !perp_drive_slides(&given->joint_def[def->joint], given->dim, def->axis);
}

static perp_status equivalent_drives(perp_ctx *ctx, perp_equivalent *equivalent)
{
  for (int i = 0; i < equivalent->given->n_drives; i++) {
    perp_drive_def def = equivalent->given->drive_def[i];
    const bool flips = equivalent->mirrored && drive_flips(equivalent->given, &def);
    equivalent->flips[i] = flips ? -1 : 1;
    if (flips) {
      const double lower = def.lower;
      if (def.velocity_signal != 0 || def.target_signal != 0 || def.axis == PERP_DRIVE_TURN)
        return unsupported(ctx, "joint actuators that turn as functions of time");
      def.zero = -def.zero;
      def.lower = -def.upper;
      def.upper = -lower;
      def.velocity = -def.velocity;
      def.target = -def.target;
    }
    int joint = 0;
    while (equivalent->joint[joint] != def.joint) joint++;
    def.joint = joint;
    PERP_TRY(perp_model_add_drive(ctx, equivalent->model, &def, NULL));
  }
  return PERP_OK;
}

static perp_status equivalent_motions(perp_ctx *ctx, perp_equivalent *equivalent)
{
  for (int i = 0; i < equivalent->given->motions.n; i++) {
    perp_motion_def def = equivalent->given->motions.def[i];
    const bool turns = equivalent->given->dim == 2 && def.angle_signal != 0;
    if (equivalent->mirrored && (def.x_signal[0] != 0 || turns))
      return unsupported(ctx, "prescribed motions along the normal of the mirror");
    def.body = there(equivalent, def.body);
    mirror(equivalent, def.x);
    mirror_axial(equivalent, def.axis);
    if (equivalent->mirrored && equivalent->given->dim == 2) def.angle = -def.angle;
    PERP_TRY(perp_model_add_motion(ctx, equivalent->model, &def, NULL));
  }
  return PERP_OK;
}

/* What a coordinate of a body becomes in the mirror: x, and angles and rates about axes in its
 * plane, change signs. */
static void equivalent_cue(const perp_equivalent *equivalent, perp_cue *cue)
{
  static const bool space[13] = {
    [0] = true, [5] = true, [6] = true, [7] = true, [11] = true, [12] = true
  };
  static const bool plane[6] = { [0] = true, [2] = true, [3] = true, [5] = true };
  if (cue->kind != PERP_CUE_COORDINATE) return;
  cue->body = there(equivalent, cue->body);
  if (!equivalent->mirrored || !(equivalent->given->dim == 3 ? space : plane)[cue->coordinate])
    return;
  cue->value = -cue->value;
  cue->direction = -cue->direction;
}

static perp_status equivalent_disabled(perp_ctx *ctx, perp_equivalent *equivalent)
{
  for (int i = 0; i < equivalent->given->disabled.n; i++) {
    perp_disabled_def def = equivalent->given->disabled.def[i];
    def.body = there(equivalent, def.body);
    equivalent_cue(equivalent, &def.from);
    equivalent_cue(equivalent, &def.until);
    PERP_TRY(perp_model_add_disabled(ctx, equivalent->model, &def, NULL));
  }
  return PERP_OK;
}

/* The bodies a ... b of a `pairs` force must still follow each other. */
static perp_status equivalent_range(perp_ctx *ctx, const perp_equivalent *equivalent,
                                    perp_force_def *def)
{
  int first = there(equivalent, def->a), last = first;
  for (int b = def->a; b <= def->b; b++) {
    const int at = there(equivalent, b);
    first = at < first ? at : first;
    last = at > last ? at : last;
  }
  if (last - first != def->b - def->a)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "the bodies of the scene cannot be shuffled: those of a force 'pairs' must "
                     "follow each other");
  def->a = first;
  def->b = last;
  return PERP_OK;
}

static perp_status equivalent_forces(perp_ctx *ctx, perp_equivalent *equivalent)
{
  for (int i = 0; i < equivalent->given->n_forces; i++) {
    perp_force_def def = equivalent->given->force_def[i];
    int own[PERP_ELEMENT_BODIES];
    const perp_signal_ref *signal = def.value_signal;
    if (equivalent->mirrored && def.kind == PERP_FORCE_PLUGIN)
      return unsupported(ctx, "forces of plug-ins");
    if (equivalent->mirrored &&
        (def.kind == PERP_FORCE_TORQUE ? signal[1] != 0 || signal[2] != 0 : signal[0] != 0))
      return unsupported(ctx, "forces that are functions of time");
    for (int k = 0; k < def.n_bodies && def.kind == PERP_FORCE_PLUGIN; k++)
      own[k] = there(equivalent, def.body[k]);
    if (def.kind == PERP_FORCE_PLUGIN) def.body = own;
    if (def.kind == PERP_FORCE_PAIRS) {
      PERP_TRY(equivalent_range(ctx, equivalent, &def));
    } else {
      def.a = there(equivalent, def.a);
      def.b = there(equivalent, def.b);
    }
    mirror(equivalent, def.anchor_a);
    mirror(equivalent, def.anchor_b);
    if (def.kind == PERP_FORCE_TORQUE)
      mirror_axial(equivalent, def.value);
    else
      mirror(equivalent, def.value);
    PERP_TRY(perp_model_add_force(ctx, equivalent->model, &def));
  }
  return PERP_OK;
}

/* ---- shapes ---- */

/* Vertices of a polytope in the other order; those of a mesh keep theirs, by which triangles name
 * them. */
static void shape_vertices(const making *m, const perp_shape_def *given, double *vertices)
{
  const int d = m->e->given->dim, n = given->n_vertices;
  for (int i = 0; i < n; i++) {
    const bool order = given->kind == PERP_SHAPE_POLYTOPE;
    const int from = order ? equivalent_number(m->kind, i, n) : i;
    memcpy(vertices + d * i, given->vertices + d * from, (size_t)d * sizeof *vertices);
    if (m->e->mirrored) vertices[d * i] = -vertices[d * i];
  }
}

/* A box in the plane with another corner first. */
static void shape_corners(const making *m, perp_shape_def *def)
{
  if (def->kind != PERP_SHAPE_BOX || m->e->given->dim == 3 || !reorders(m)) return;
  const bool half = m->kind == PERP_EQUIVALENT_REVERSED;
  def->angle += half ? M_PI : M_PI / 2;
  const double side = def->half[0], along = def->belt[0];
  if (half) {
    def->belt[0] = -along;
    def->belt[1] = -def->belt[1];
    return;
  }
  def->half[0] = def->half[1];
  def->half[1] = side;
  def->belt[0] = def->belt[1];
  def->belt[1] = -along;
}

static perp_status equivalent_shape(perp_ctx *ctx, const making *m, int i, double *vertices)
{
  perp_equivalent *equivalent = m->e;
  perp_shape_def def = equivalent->given->shape_def[equivalent->shape[i]];
  const bool runs = def.belt_signal[0] != 0 || def.belt_signal[1] != 0;
  if (equivalent->mirrored && def.kind == PERP_SHAPE_HEIGHT_FIELD)
    return unsupported(ctx, "height fields");
  if (runs && (equivalent->mirrored || (def.kind == PERP_SHAPE_BOX && equivalent->given->dim == 2)))
    return unsupported(ctx, "surfaces whose speed is a function of time");
  def.body = there(equivalent, def.body);
  mirror(equivalent, def.x);
  mirror(equivalent, def.belt);
  mirror_turn(equivalent, def.quat, &def.angle);
  if (equivalent->mirrored &&
      def.kind == PERP_SHAPE_CONE) { /* its apex is on the other side: half a turn about z */
    if (perp_dot(4, def.quat, def.quat) == 0) def.quat[0] = 1;
    const double q[4] = { def.quat[0], def.quat[1], def.quat[2], def.quat[3] };
    def.quat[0] = -q[3], def.quat[1] = q[2], def.quat[2] = -q[1], def.quat[3] = q[0];
    def.belt[0] = -def.belt[0], def.belt[1] = -def.belt[1];
  }
  shape_corners(m, &def);
  if (def.n_vertices > 0) {
    shape_vertices(m, &equivalent->given->shape_def[equivalent->shape[i]], vertices);
    def.vertices = vertices;
  }
  PERP_TRY(perp_model_add_shape(ctx, equivalent->model, &def, NULL));
  memcpy(equivalent->model->shape_def[i].quat, def.quat, sizeof def.quat);
  return PERP_OK;
}

static perp_status equivalent_shapes(perp_ctx *ctx, const making *m)
{
  const perp_model *given = m->e->given;
  int most = 0;
  for (int shape = 0; shape < given->n_shapes; shape++)
    most = given->shape_def[shape].n_vertices > most ? given->shape_def[shape].n_vertices : most;
  double *vertices = malloc(((size_t)most * 3 + 1) * sizeof *vertices);
  if (vertices == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for an equivalent model");
  perp_status status = PERP_OK;
  for (int i = 0; i < given->n_shapes && status == PERP_OK; i++)
    status = equivalent_shape(ctx, m, i, vertices);
  free(vertices);
  return status;
}

/* ---- the whole ---- */

/* The signals stay those of the given model. */
static perp_status equivalent_signals(perp_ctx *ctx, perp_equivalent *equivalent)
{
  for (int signal = 1; signal <= equivalent->given->signals.n; signal++) {
    perp_signal_ref same;
    perp_signal_def def = *perp_signal_definition(perp_model_signal(equivalent->given, signal));
    def.destroy = NULL;
    PERP_TRY(perp_model_add_signal(ctx, equivalent->model, &def, &same));
  }
  return perp_model_gravity_signal(ctx, equivalent->model, equivalent->given->signals.gravity);
}

static perp_status equivalent_build(perp_ctx *ctx, const making *m)
{
  perp_equivalent *equivalent = m->e;
  const perp_model *given = equivalent->given;
  if (given->stops.n > 0) return unsupported(ctx, "a controller that lets go");
  equivalent->model->gravity = given->gravity;
  equivalent->model->surfaces.friction = given->surfaces.friction;
  if (given->signals.n > 0) PERP_TRY(equivalent_signals(ctx, equivalent));
  for (int i = 0; i < given->surfaces.n_pairs; i++)
    PERP_TRY(perp_model_add_pair(ctx, equivalent->model, given->surfaces.pair[i].a,
                                 given->surfaces.pair[i].b, &given->surfaces.pair[i].surface));
  PERP_TRY(equivalent_bodies(ctx, equivalent));
  for (int i = 0; i < given->no_contact.n; i++) {
    const perp_no_contact *pair = &given->no_contact.pair[i];
    PERP_TRY(perp_model_add_no_contact(ctx, equivalent->model, there(equivalent, pair->a),
                                       there(equivalent, pair->b), pair->depth));
  }
  PERP_TRY(equivalent_joints(ctx, equivalent));
  PERP_TRY(equivalent_drives(ctx, equivalent));
  PERP_TRY(equivalent_motions(ctx, equivalent));
  PERP_TRY(equivalent_disabled(ctx, equivalent));
  PERP_TRY(equivalent_forces(ctx, equivalent));
  return equivalent_shapes(ctx, m);
}

static perp_status equivalent_make(perp_ctx *ctx, const perp_model *model, perp_equivalence kind,
                                   perp_equivalent_extend *extend, void *user,
                                   perp_equivalent **out)
{
  *out = NULL;
  perp_equivalent *equivalent = calloc(1, sizeof *equivalent);
  if (equivalent == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for an equivalent model");
  equivalent->given = model;
  equivalent->mirrored = kind == PERP_EQUIVALENT_MIRRORED ||
                         kind == PERP_EQUIVALENT_MIRRORED_SHUFFLED;
  const making m = { equivalent, kind };
  perp_status status = perp_model_create(ctx, model->dim, &equivalent->model);
  if (status == PERP_OK)
    status = perp_arena_layout(ctx, &equivalent->arena, equivalent_layout, equivalent);
  if (status == PERP_OK) {
    const int joints = perp_disabled_joint(model, 0);
    for (int body = 0; body < model->n_bodies; body++)
      equivalent->body[body] = equivalent_number(kind, body, model->n_bodies);
    for (int body = 0; body < model->n_bodies; body++)
      equivalent->body_there[equivalent->body[body]] = body;
    for (int joint = 0; joint < model->n_joints; joint++)
      equivalent->joint[joint] = joint < joints ? equivalent_number(kind, joint, joints) : joint;
    for (int shape = 0; shape < model->n_shapes; shape++)
      equivalent->shape[shape] = equivalent_number(kind, shape, model->n_shapes);
    status = equivalent_build(ctx, &m);
  }
  if (status == PERP_OK && extend != NULL) status = extend(ctx, user, equivalent->model);
  if (status == PERP_OK) status = perp_model_finish(ctx, equivalent->model);
  if (status != PERP_OK) {
    perp_equivalent_destroy(equivalent);
    return status;
  }
  *out = equivalent;
  return PERP_OK;
}

perp_status perp_equivalent_create(perp_ctx *ctx, const perp_model *model, perp_equivalence kind,
                                   perp_equivalent **out)
{
  return equivalent_make(ctx, model, kind, NULL, NULL, out);
}

perp_status perp_equivalent_extended(perp_ctx *ctx, const perp_model *model,
                                     perp_equivalent_extend *extend, void *user,
                                     perp_equivalent **out)
{
  return equivalent_make(ctx, model, PERP_EQUIVALENT_GIVEN, extend, user, out);
}

void perp_equivalent_destroy(perp_equivalent *equivalent)
{
  if (equivalent == NULL) return;
  perp_model_destroy(equivalent->model);
  perp_arena_free(&equivalent->arena);
  free(equivalent->contact);
  free(equivalent->impulse);
  free(equivalent);
}
