/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same bodies in another order, and seen from another place: each kind of joint and of curve,
 * each formulation, with contacts and without.  Nothing in the equations knows the number of a body
 * or where the world ends. */
#include "experiments/scenes/scene_file.h"
#include "models/geometry/kinematics.h"
#include "tests/run_model.h"

enum { BODIES = 3 };
static const double SPAN = 0.05; /* s */
static perp_ctx ctx;
static perp_rng *rng;

/* A motion of the whole world and an order of the bodies. */
typedef struct view {
  const char *name;
  int order[BODIES]; /* body k of the description is number order[k] */
  bool reversed;     /* joints, forces and shapes from last to first */
  double quat[4], angle, shift[3];
} view;

static const view views[] = {
  { "as they are", { 0, 1, 2 }, false, { 1, 0, 0, 0 }, 0, { 0, 0, 0 } },
  { "in another order", { 2, 0, 1 }, true, { 1, 0, 0, 0 }, 0, { 0, 0, 0 } },
  { "moved and turned", { 0, 1, 2 }, false, { 0.6, -0.48, 0.4, 0.4966 }, 2.1, { 1, -0.7, 0.4 } },
  { "both", { 1, 2, 0 }, true, { 0.1, 0.7, -0.5, 0.5 }, -1.2, { -0.3, 2, 0.8 } },
};
enum { VIEWS = sizeof views / sizeof *views };

static void view_matrix(int d, const view *w, double R[9])
{
  if (d == 2) {
    R[0] = R[3] = cos(w->angle), R[1] = sin(w->angle), R[2] = -R[1];
    return;
  }
  double q[4], n = 0;
  for (int i = 0; i < 4; i++) n += w->quat[i] * w->quat[i];
  for (int i = 0; i < 4; i++) q[i] = w->quat[i] / sqrt(n);
  perp_quat_matrix(q, R);
}

/* a world vector, or a place in the world */
static void seen(int d, const view *w, bool place, const double *x, double *y)
{
  double R[9], out[3] = { 0 };
  view_matrix(d, w, R);
  perp_turn(d, R, x, out);
  for (int i = 0; i < d; i++) y[i] = out[i] + (place ? w->shift[i] : 0);
}

/* ---- the description ---- */

typedef struct things {
  int d, n_joints, n_forces, n_drives, n_shapes;
  perp_body_def body[BODIES];
  perp_joint_def joint[4];
  perp_force_def force[12];
  perp_drive_def drive[2];
  perp_shape_def shape[4];
} things;

static perp_body_def body_of(int d, const view *w, const perp_body_def *in)
{
  perp_body_def b = *in;
  seen(d, w, true, in->x, b.x);
  seen(d, w, false, in->v, b.v);
  b.angle += w->angle;
  double n = 0, p[4];
  const double *r = in->quat;
  for (int i = 0; i < 4; i++) n += w->quat[i] * w->quat[i];
  for (int i = 0; i < 4; i++) p[i] = w->quat[i] / sqrt(n);
  b.quat[0] = p[0] * r[0] - p[1] * r[1] - p[2] * r[2] - p[3] * r[3];
  b.quat[1] = p[0] * r[1] + p[1] * r[0] + p[2] * r[3] - p[3] * r[2];
  b.quat[2] = p[0] * r[2] - p[1] * r[3] + p[2] * r[0] + p[3] * r[1];
  b.quat[3] = p[0] * r[3] + p[1] * r[2] - p[2] * r[1] + p[3] * r[0];
  return b;
}

static perp_model *build(const things *s, const view *w)
{
  const int d = s->d;
  perp_model *m = run_model(&ctx, d);
  perp_model_gravity(m, 0);
  for (int number = 0; number < BODIES; number++)
    for (int k = 0; k < BODIES; k++)
      if (w->order[k] == number) run_body(&ctx, m, body_of(d, w, &s->body[k]));
  for (int i = 0; i < s->n_joints; i++) {
    perp_joint_def j = s->joint[w->reversed ? s->n_joints - 1 - i : i];
    if (j.a < 0) { /* what belongs to the world turns with it */
      seen(d, w, true, j.anchor_a, j.anchor_a);
      seen(d, w, false, j.axis_a, j.axis_a);
      if (j.kind == PERP_JOINT_CURVE) seen(d, w, false, j.axis_b, j.axis_b);
    } else {
      j.a = w->order[j.a];
    }
    j.b = w->order[j.b];
    run_joint(&ctx, m, j);
  }
  for (int i = 0; i < s->n_drives; i++) {
    perp_drive_def k = s->drive[i];
    if (w->reversed) k.joint = s->n_joints - 1 - k.joint;
    run_drive(&ctx, m, k);
  }
  for (int i = 0; i < s->n_forces; i++) {
    perp_force_def f = s->force[w->reversed ? s->n_forces - 1 - i : i];
    if (f.kind == PERP_FORCE_POINT || (f.kind == PERP_FORCE_TORQUE && d == 3))
      seen(d, w, false, f.value, f.value);
    if (f.kind == PERP_FORCE_SPRING && f.a < 0) seen(d, w, true, f.anchor_a, f.anchor_a);
    if (f.kind != PERP_FORCE_PAIRS) {
      if (f.a >= 0) f.a = w->order[f.a];
      if (f.kind == PERP_FORCE_SPRING) f.b = w->order[f.b];
    }
    run_force(&ctx, m, f);
  }
  for (int i = 0; i < s->n_shapes; i++) {
    perp_shape_def f = s->shape[w->reversed ? s->n_shapes - 1 - i : i];
    if (f.body >= 0) {
      f.body = w->order[f.body];
    } else {
      perp_body_def at = { .quat = { f.quat[0], f.quat[1], f.quat[2], f.quat[3] },
                           .angle = f.angle };
      memcpy(at.x, f.x, sizeof at.x);
      at = body_of(d, w, &at);
      memcpy(f.x, at.x, sizeof f.x);
      memcpy(f.quat, at.quat, sizeof f.quat);
      f.angle = at.angle;
    }
    run_shape(&ctx, m, f);
  }
  return run_finish(&ctx, m);
}

/* State after a while; false where the formulation does not serve this.  out: places of three
 * points of each body and their velocities, in the order and the frame of the description. */
enum { STATE = BODIES * 3 * 6 };
static bool motion(const things *s, const view *w, run_parts names, double h, double t_end,
                   double out[STATE])
{
  perp_model *m = build(s, w);
  perp_parts parts;
  perp_sim *sim = NULL;
  if (run_parse(&ctx, &names, &parts) != PERP_OK) bail("%s", ctx.msg);
  const bool served = perp_sim_create(&ctx, m, &parts, h, &sim) == PERP_OK;
  run_free(&parts);
  for (int i = 0; i < STATE; i++) out[i] = 0;
  if (served) {
    double t, R[9];
    const double *q, *v;
    if (run_to(&ctx, sim, t_end) < 0) out[0] = (double)NAN;
    perp_sim_state(sim, &t, &q, &v);
    view_matrix(s->d, w, R);
    for (int k = 0; k < BODIES; k++)
      for (int i = 0; i < 3; i++) {
        const double at[3] = { i == 1, i == 2, s->d == 3 ? 0.5 * i : 0 };
        double x[3], u[3], *p = out + 6 * (3 * k + i);
        perp_model_point(m, q, w->order[k], at, x);
        perp_model_point_velocity(m, q, v, w->order[k], at, u);
        for (int c = 0; c < s->d; c++) x[c] -= w->shift[c];
        double back[3] = { 0 };
        perp_turn_back(s->d, R, x, back);
        for (int c = 0; c < s->d; c++) p[c] += back[c];
        perp_turn_back(s->d, R, u, back);
        for (int c = 0; c < s->d; c++) p[3 + c] += back[c];
      }
  }
  perp_sim_destroy(sim);
  perp_model_destroy(m);
  return served;
}

static double apart(const double *a, const double *b)
{
  double most = 0;
  for (int i = 0; i < STATE; i++)
    if (!(fabs(a[i] - b[i]) <= most)) most = fabs(a[i] - b[i]);
  return most;
}

/* ---- joints ---- */

static const double spline[] = { -1, -0.3, 0.2, 0, 0, 0, 1, 0.2, -0.3, 2, 1, 0.4, 3, 1.5, 0 };
static const double flat[] = { -1, -0.3, 0, 0, 0, 0, 1, 0.2, 0, 2, 1, 0, 3, 1.5, 0 };
static const double ring[] = { 1, 0, 0.1, 0, 1.2, 0, -1.1, 0, -0.2, 0, -0.9, 0 };
static const double powers[] = { 0.1, 0, 0.2, 1, 0.3, 0.4, 0, 0.5, -0.2 };
static const double flat_powers[] = { 0.1, 0, 0, 1, 0.3, 0, 0, 0.5, 0 };

typedef struct joint_case {
  const char *name;
  perp_joint_kind kind;
  perp_curve_def curve;
  bool plane, space;
} joint_case;
static const joint_case kinds[] = {
  { "ball", PERP_JOINT_BALL, { 0 }, true, true },
  { "hinge", PERP_JOINT_HINGE, { 0 }, true, true },
  { "universal", PERP_JOINT_UNIVERSAL, { 0 }, false, true },
  { "slider", PERP_JOINT_SLIDER, { 0 }, true, true },
  { "fixed", PERP_JOINT_FIXED, { 0 }, true, true },
  { "distance", PERP_JOINT_DISTANCE, { 0 }, true, true },
  { "line", PERP_JOINT_LINE, { 0 }, true, true },
  { "wheel", PERP_JOINT_WHEEL, { 0 }, false, true },
  { "planar", PERP_JOINT_PLANAR, { 0 }, false, true },
  { "cylindrical", PERP_JOINT_CYLINDRICAL, { 0 }, false, true },
  { "straight curve", PERP_JOINT_CURVE, { PERP_CURVE_LINE }, true, true },
  { "circle", PERP_JOINT_CURVE, { PERP_CURVE_CIRCLE, .radius = 0.8 }, true, true },
  { "helix", PERP_JOINT_CURVE, { PERP_CURVE_HELIX, .radius = 0.7, .pitch = 1.5 }, false, true },
  { "cycloid", PERP_JOINT_CURVE, { PERP_CURVE_CYCLOID, .radius = 0.8 }, true, true },
  { "polynomial",
    PERP_JOINT_CURVE,
    { PERP_CURVE_POLYNOMIAL, .lower = -9, .upper = 9, .n = 3, .data = powers },
    false,
    true },
  { "plane polynomial",
    PERP_JOINT_CURVE,
    { PERP_CURVE_POLYNOMIAL, .lower = -9, .upper = 9, .n = 3, .data = flat_powers },
    true,
    false },
  { "spline", PERP_JOINT_CURVE, { PERP_CURVE_SPLINE, .n = 5, .data = spline }, false, true },
  { "plane spline", PERP_JOINT_CURVE, { PERP_CURVE_SPLINE, .n = 5, .data = flat }, true, false },
  { "closed spline",
    PERP_JOINT_CURVE,
    { PERP_CURVE_SPLINE, .n = 4, .data = ring, .closed = true },
    false,
    true },
};

/* where a curve starts, in its frame: on it */
static void on_curve(const perp_curve_def *c, double p[3])
{
  p[0] = p[1] = p[2] = 0;
  if (c->kind == PERP_CURVE_CIRCLE || c->kind == PERP_CURVE_HELIX) p[0] = c->radius;
  if (c->n > 0)
    memcpy(p, c->kind == PERP_CURVE_SPLINE && !c->closed ? c->data + 6 : c->data, 3 * sizeof *p);
}

/* world -> the joint -> body 0 -> the joint -> body 1 -> ball -> body 2, all with forces on them */
static things chain_of(int d, const joint_case *c)
{
  things s = { .d = d };
  double R[BODIES + 1][9] = { { 0 } };
  for (int i = 0; i < d; i++) R[0][i * (d + 1)] = 1;
  for (int k = 0; k < BODIES; k++) {
    perp_body_def *b = &s.body[k];
    double n = 0;
    b->mass = perp_mass_box(1 + k, 0.6, 0.8, 1);
    for (int i = 0; i < 4; i++) b->quat[i] = perp_rng_normal(rng), n += b->quat[i] * b->quat[i];
    for (int i = 0; i < 4; i++) b->quat[i] /= sqrt(n);
    b->angle = perp_rng_normal(rng);
    view w = { .angle = b->angle };
    memcpy(w.quat, b->quat, sizeof w.quat);
    view_matrix(d, &w, R[k + 1]);
    perp_joint_def j = {
      .name = "it", .kind = k < 2 ? c->kind : PERP_JOINT_BALL, .a = k - 1, .b = k
    };
    double n_a[3] = { 0 }, n_b[3] = { 0 }, world[3] = { 0 }, foot[3] = { 0 }, e[3][3] = { { 0 } };
    for (int i = 0; i < d; i++) {
      j.anchor_a[i] = 0.4 * perp_rng_normal(rng), j.anchor_b[i] = 0.4 * perp_rng_normal(rng);
      n_a[i] = perp_rng_normal(rng), n_b[i] = perp_rng_normal(rng);
    }
    double aa = perp_dot(d, n_a, n_a), ab = perp_dot(d, n_a, n_b), bb = 0;
    for (int i = 0; i < d; i++) n_b[i] -= ab / aa * n_a[i], bb += n_b[i] * n_b[i];
    for (int i = 0; i < d; i++) e[0][i] = n_a[i] / sqrt(aa), e[1][i] = n_b[i] / sqrt(bb);
    if (d == 2) e[1][0] = -e[0][1], e[1][1] = e[0][0];
    perp_cross(e[0], e[1], e[2]);
    memcpy(j.axis_a, n_a, sizeof n_a);
    /* axis_b along axis_a, or across it; of a curve it is seen from a */
    const bool across = c->kind == PERP_JOINT_UNIVERSAL || c->kind == PERP_JOINT_WHEEL;
    perp_turn(d, R[k], across ? n_b : n_a, world);
    perp_turn_back(d, R[k + 1], world, j.axis_b);
    if (j.kind == PERP_JOINT_CURVE) {
      double p[3];
      memcpy(j.axis_b, n_b, sizeof n_b);
      j.curve = c->curve;
      on_curve(&c->curve, p);
      for (int l = 0; l < 3; l++)
        for (int i = 0; i < d; i++) foot[i] += p[l] * e[l][i];
    }
    if (j.kind == PERP_JOINT_DISTANCE) {
      j.length = 0.7;
      for (int i = 0; i < d; i++) foot[i] = 0.7 * e[1][i];
    }
    if (j.kind == PERP_JOINT_SLIDER || j.kind == PERP_JOINT_LINE || j.kind == PERP_JOINT_WHEEL ||
        j.kind == PERP_JOINT_CYLINDRICAL)
      for (int i = 0; i < d; i++) foot[i] = 0.3 * e[0][i];
    double rb[3] = { 0 };
    for (int i = 0; i < d; i++) foot[i] += j.anchor_a[i];
    perp_turn(d, R[k], foot, world);
    perp_turn(d, R[k + 1], j.anchor_b, rb);
    for (int i = 0; i < d; i++) b->x[i] = (k > 0 ? s.body[k - 1].x[i] : 0) + world[i] - rb[i];
    s.joint[s.n_joints++] = j;
    perp_force_def pull = { .kind = PERP_FORCE_POINT, .a = k };
    for (int i = 0; i < d; i++)
      pull.value[i] = 3 * perp_rng_normal(rng), pull.anchor_a[i] = 0.1 * i;
    s.force[s.n_forces++] = pull;
  }
  s.force[s.n_forces++] = (perp_force_def){ .kind = PERP_FORCE_TORQUE,
                                            .a = 1,
                                            .value = { d == 3 ? 0.3 : 0, 0, 0.4 } };
  s.force[s.n_forces++] = (perp_force_def){ .kind = PERP_FORCE_SPRING,
                                            .a = PERP_WORLD,
                                            .b = 2,
                                            .anchor_a = { 0.1, 0.2 },
                                            .anchor_b = { 0.3, -0.1 },
                                            .stiffness = 20,
                                            .damping = 0.5,
                                            .length = 0.2 };
  s.force[s.n_forces++] = (perp_force_def){
    .kind = PERP_FORCE_SPRING, .a = 0, .b = 2, .anchor_a = { 0.2 }, .stiffness = 10, .damping = 0.2
  };
  s.force[s.n_forces++] = (perp_force_def){
    .kind = PERP_FORCE_DRAG, .a = 1, .linear = 0.2, .quadratic = 0.1, .angular = 0.05
  };
  return s;
}

/* Formulations, how far they are from the exact motion after SPAN and from the same motion seen
 * otherwise (of the way that the points have gone), and how many of the cases they serve. */
typedef struct method {
  run_parts parts;
  double h, error, same;
  int served;
} method;
static const method methods[] = {
  { { "acceleration", "dopri5" }, 1e-2, 5e-9, 1e-10, 28 },
  { { "velocity", "symplectic-euler" }, 1e-3, 0.006, 1e-9, 28 },
  { { "velocity-implicit" }, 1e-3, 0.006, 1e-9, 28 },
  { { "ggl" }, 1e-3, 3e-5, 1e-9, 28 },
  { { "generalized-alpha" }, 1e-3, 1e-4, 1e-9, 28 },
  { { "hht" }, 1e-3, 2e-4, 1e-9, 28 },
  { { "augmented-lagrangian" }, 1e-3, 2e-4, 1e-9, 28 },
  { { "bdf" }, 1e-3, 1e-5, 1e-9, 28 },
  { { "variational" }, 1e-2, 1e-6, 1e-9, 28 },
  { { "esdirk" }, 1e-2, 1e-6, 1e-9, 28 },
  { { "phem56" }, 1e-2, 1e-7, 1e-9, 28 },
  { { "coordinate-partitioning", "dopri5" }, 1e-2, 5e-8, 5e-8, 28 },
  { { "tangent-coordinates", "dopri5" }, 1e-2, 5e-9, 5e-9, 28 },
  { { "radau5" }, 1e-2, 1e-7, 1e-9, 28 },
  { { "penalty:stiffness=1e6,damping=100", "rk4" }, 2e-4, 0.3, 1e-5, 28 },
  { { "point-mass" }, 1e-3, 1e-4, 1e-6, 18 },
  /* the first body of a part that floats, and so the coordinates, are other ones where the order is
   */
  { { "reduced", "dopri5" }, 1e-2, 5e-9, 5e-9, 28 },
  { { "regularized", "symplectic-euler" }, 1e-3, 0.006, 1e-9, 28 },
  { { "impulse" }, 1e-3, 3e-5, 1e-10, 28 },
  { { "groups" }, 1e-3, 0.006, 1e-9, 22 },
};
enum { METHODS = sizeof methods / sizeof *methods };

static void joints(int d, const joint_case *c, int served[METHODS])
{
  const things s = chain_of(d, c);
  double exact[STATE], at[VIEWS][STATE], start[STATE];
  const run_parts truth = { "acceleration", "dopri5:tol=1e-11", .stab = "post" };
  if (!motion(&s, &views[0], truth, 1e-3, SPAN, exact) ||
      !motion(&s, &views[0], truth, 1e-9, 1e-9, start))
    bail("%s", ctx.msg);
  const double size = apart(exact, start);
  for (int k = 0; k < METHODS; k++) {
    const method *m = &methods[k];
    int views_served = 0;
    double same = 0;
    for (int w = 0; w < VIEWS; w++)
      views_served += motion(&s, &views[w], m->parts, m->h, SPAN, at[w]);
    if (views_served == 0) continue;
    served[k]++;
    for (int w = 1; w < VIEWS; w++) same = fmax(same, apart(at[w], at[0]));
    ok(views_served == VIEWS && same <= m->same * size,
       "dim %d, %s, %s: any order, any place: %.2g", d, c->name, m->parts.formulation, same / size);
    below(apart(at[0], exact), m->error * size, "  the exact motion");
  }
}

/* ---- contacts and drives ---- */

/* A box, a ball and a capsule above a floor, thrown at each other; the last two may be joined, with
 * a drive.  Friction of pyramids in space has directions of its own, so that there the world is not
 * turned. */
static things heap_of(int d, bool joined, double mu, double e)
{
  things s = { .d = d };
  const double up[2][3] = { { 0, 1, 0 }, { 0, 0, 1 } };
  for (int k = 0; k < BODIES; k++) {
    perp_body_def *b = &s.body[k];
    b->mass = perp_mass_box(1 + 0.5 * k, 0.4, 0.5, 0.6);
    b->x[0] = 0.7 * k, b->x[d - 1] = 0.45 + 0.05 * k;
    b->v[0] = 0.8 - 0.9 * k, b->v[d - 1] = -2.5;
    if (d == 3) b->x[1] = 0.03 * k, b->v[1] = 0.1 * k;
    b->angle = 0.2 * k, b->w[2] = 0.4 * k - 0.5;
    b->quat[0] = 1, b->quat[2] = 0.1 * k, b->quat[1] = 0.05 * k;
    double n = 0;
    for (int i = 0; i < 4; i++) n += b->quat[i] * b->quat[i];
    for (int i = 0; i < 4; i++) b->quat[i] /= sqrt(n);
    perp_force_def weight = { .kind = PERP_FORCE_POINT, .a = k };
    for (int i = 0; i < d; i++) weight.value[i] = -9.81 * b->mass.mass * up[d - 2][i];
    s.force[s.n_forces++] = weight;
    perp_shape_def f = { .body = k, .surface = { mu, mu, e } };
    f.kind = k == 0 ? PERP_SHAPE_BOX : k == 1 ? PERP_SHAPE_SPHERE : PERP_SHAPE_CAPSULE;
    f.radius = 0.2, f.length = 0.4;
    f.half[0] = 0.2, f.half[1] = 0.25, f.half[2] = 0.3;
    s.shape[s.n_shapes++] = f;
  }
  perp_shape_def floor = {
    .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .quat = { 1, 0, 0, 0 }, .surface = { mu, mu, e }
  };
  s.shape[s.n_shapes++] = floor;
  if (!joined) return s;
  for (int k = 1; k < BODIES; k++) { /* as one rigid body at the start */
    memcpy(s.body[k].v, s.body[1].v, sizeof s.body[1].v);
    memset(s.body[k].w, 0, sizeof s.body[k].w);
  }
  s.joint[s.n_joints++] = (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                            .a = 2,
                                            .b = 1,
                                            .anchor_a = { -0.4, 0, 0 },
                                            .axis_a = { 0, 1, 0 },
                                            .axis_b = { 0, 1, 0 },
                                            .start = PERP_START_ZERO };
  s.drive[s.n_drives++] = (perp_drive_def){ .axis = PERP_DRIVE_A,
                                            .lower = -0.1,
                                            .upper = 0.05,
                                            .restitution = 0.3,
                                            .velocity = 2,
                                            .max_force = 3 };
  return s;
}

static void heaps(int d, bool joined, double mu, double e, const run_parts *parts)
{
  const things s = heap_of(d, joined, mu, e);
  double at[VIEWS][STATE], start[STATE], same = 0;
  bool good = motion(&s, &views[0], *parts, 1e-9, 1e-9, start);
  for (int w = 0; w < VIEWS; w++) {
    if (d == 3 && mu > 0 && w > 1) continue;
    good &= motion(&s, &views[w], *parts, 1e-3, 0.14, at[w]);
    if (w > 0) same = fmax(same, apart(at[w], at[0]));
  }
  if (!good) printf("# %s\n", ctx.msg);
  /* the forces of pyramids at several contacts are not the only ones */
  const double room = d == 3 && mu > 0 ? 1e-3 : 1e-6;
  ok(good && same <= room && apart(at[0], start) > 0.5,
     "dim %d, mu = %g, e = %g, %s %s %s%s: any order, any place: %.2g", d, mu, e,
     parts->formulation, parts->lcp, parts->stab, joined ? ", joined" : "", same);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  rng = perp_rng_create(12);
  int served[METHODS] = { 0 };
  for (int d = 2; d <= 3; d++)
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
      if (d == 2 ? kinds[k].plane : kinds[k].space) joints(d, &kinds[k], served);
  for (int k = 0; k < METHODS; k++)
    ok(served[k] == methods[k].served, "%s serves %d cases", methods[k].parts.formulation,
       served[k]);
  static const run_parts with_contacts[] = {
    { "velocity", "", "", "split", "lemke" },  { "velocity", "", "", "post", "lemke" },
    { "velocity", "", "", "none", "dantzig" }, { "acceleration", "dopri5", "", "post", "lemke" },
    { "groups", "", "", "", "lemke" },         { "velocity-implicit", "", "", "split", "lemke" },
  };
  for (size_t k = 0; k < sizeof with_contacts / sizeof *with_contacts; k++)
    for (int d = 2; d <= 3; d++)
      for (int i = 0; i < 8; i++)
        if (d == 2 || i / 2 % 2 == 0 || k < 2)
          heaps(d, i % 2 != 0, i / 2 % 2 * 0.4, i / 4 * 0.6, &with_contacts[k]);
  perp_rng_destroy(rng);
  return tap_done();
}
