/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Point-to-curve joint: C against the distance from the curve by search, J and Jdot v by
 * differences, every kind of curve, in space and in the plane, particles and bodies on either side;
 * and definitions that are no curve. */
#include "tests/run_model.h"

static perp_ctx ctx;
static perp_rng *rng;

static const double points[][3] = { { 0, 0, 0 },   { 1, 0.5, 0.2 }, { 2, 0.2, -0.3 },
                                    { 3, 1, 0.4 }, { 4, 1.5, 0 },   { 5, 0.5, 0.1 } };
static const double ring[][3] = { { 1, 0, 0.1 }, { 0, 1.2, 0 }, { -1.1, 0, -0.2 }, { 0, -0.9, 0 } };
static const double flat_points[][3] = { { 0, 0, 0 }, { 1, 0.5, 0 }, { 2, 0.2, 0 }, { 3, 1, 0 } };
static const double powers[][3] = {
  { 0.1, 0, 0.2 }, { 1, 0.3, 0.4 }, { 0, 0.5, -0.2 }, { 0, -0.3, 0.1 }
};
static const double flat_powers[][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 0.7, 0 } };

typedef struct curve_case {
  const char *name;
  perp_curve_def def;
  double from, to; /* s for the test */
  bool plane, space;
} curve_case;

#define DATA(x) .n = sizeof(x) / sizeof *(x), .data = (x)[0]
static const curve_case cases[] = {
  { "line", { PERP_CURVE_LINE }, -2, 2, true, true },
  { "circle", { PERP_CURVE_CIRCLE, .radius = 1.3 }, -3, 3, true, true },
  { "arc", { PERP_CURVE_CIRCLE, .radius = 2, .lower = 2, .upper = 5 }, 2.2, 4.8, true, true },
  { "helix", { PERP_CURVE_HELIX, .radius = 1, .pitch = 1.5 }, -7, 9, false, true },
  { "steep helix", { PERP_CURVE_HELIX, .radius = 0.3, .pitch = -9 }, -7, 9, false, true },
  { "cycloid", { PERP_CURVE_CYCLOID, .radius = 0.8 }, -1.8, 1.8, true, true },
  { "polynomial",
    { PERP_CURVE_POLYNOMIAL, .lower = -1, .upper = 2, DATA(powers) },
    -0.8,
    1.8,
    false,
    true },
  { "parabola",
    { PERP_CURVE_POLYNOMIAL, .lower = -3, .upper = 3, DATA(flat_powers) },
    -1,
    1,
    true,
    true },
  { "spline", { PERP_CURVE_SPLINE, DATA(points) }, 0.3, 4.7, false, true },
  { "flat spline", { PERP_CURVE_SPLINE, DATA(flat_points) }, 0.3, 2.7, true, false },
  { "closed spline", { PERP_CURVE_SPLINE, DATA(ring), .closed = true }, -3, 6, false, true },
};

/* the curve at s in the world, and the joint; body b is displaced from there by `off` */
typedef struct rig {
  perp_model *model;
  perp_joint_def def;
} rig;

static perp_model *rigged(int d, const curve_case *c, int a, bool particle, double s, rig *r)
{
  perp_model *m = run_model(&ctx, d);
  r->def = (perp_joint_def){
    .name = "track", .kind = PERP_JOINT_CURVE, .a = a, .b = 0, .curve = c->def
  };
  r->def.start = PERP_START_VIOLATES;
  for (int i = 0; i < d; i++) {
    r->def.axis_a[i] = perp_rng_normal(rng);
    r->def.axis_b[i] = perp_rng_normal(rng);
    r->def.anchor_a[i] = perp_rng_normal(rng);
  }
  perp_body_def body = { .particle = particle, .mass = perp_mass_box(2, 1, 2, 3) };
  /* a throw-away model tells where the curve is; body a has a pose of its own */
  perp_body_def other = { .mass = perp_mass_box(1, 1, 1, 2),
                          .angle = 0.7,
                          .quat = { 0.9, 0.1, -0.3, 0.2 } };
  for (int i = 0; i < d; i++) other.x[i] = perp_rng_normal(rng);
  if (!particle) {
    for (int i = 0; i < 4; i++) body.quat[i] = perp_rng_normal(rng);
    body.angle = perp_rng_normal(rng);
    for (int i = 0; i < d; i++) r->def.anchor_b[i] = 0.2 * perp_rng_normal(rng);
  }
  r->def.curve = c->def;
  /* where the curve is: from the same joint in a model that is not finished, and bodies without it
   */
  perp_model *loose = run_model(&ctx, d);
  double p[3] = { 0 }, t[3], place[3];
  for (int k = 0; k < 2; k++) {
    run_body(&ctx, m, body), run_body(&ctx, m, other);
    run_body(&ctx, loose, body), run_body(&ctx, loose, other);
    if (k == 1) break;
    run_joint(&ctx, m, r->def);
    run_finish(&ctx, loose);
    perp_model_curve_point(m, 0, s, p, t);
    for (int i = 0; i < 3; i++) p[i] += r->def.anchor_a[i];
    perp_model_point(loose, perp_model_q0(loose), a, p, place);
    perp_model_point(loose, perp_model_q0(loose), 0, r->def.anchor_b, p);
    for (int i = 0; i < d; i++) body.x[i] += place[i] - p[i] + 0.05 * perp_rng_normal(rng);
    perp_model_destroy(m);
    perp_model_destroy(loose);
    m = run_model(&ctx, d);
    loose = run_model(&ctx, d);
  }
  perp_model_destroy(loose);
  run_joint(&ctx, m, r->def);
  r->model = run_finish(&ctx, m);
  return r->model;
}

/* distance of the point from the curve by search over a fine grid, then by thirds */
static double distance(const perp_model *m, const double *q, const curve_case *c, double *where)
{
  const perp_joint_def *def = perp_model_joint(m, 0);
  const int d = perp_model_dim(m);
  double p[3], best = HUGE_VAL, at = 0, step = (c->to - c->from + 2) / 4000;
  perp_model_point(m, q, def->b, def->anchor_b, p);
  for (int level = 0; level < 12; level++) {
    const double centre = level == 0 ? (c->from + c->to) / 2 : at;
    const int n = level == 0 ? 2000 : 20;
    for (int i = -n; i <= n; i++) {
      double x[3], t[3], w[3], sum = 0;
      const double s = centre + i * step;
      perp_model_curve_point(m, 0, s, x, t);
      for (int k = 0; k < 3; k++) x[k] += def->anchor_a[k];
      perp_model_point(m, q, def->a, x, w);
      for (int k = 0; k < d; k++) sum += (w[k] - p[k]) * (w[k] - p[k]);
      if (sum < best) best = sum, at = s;
    }
    step /= 10;
  }
  *where = at;
  return sqrt(best);
}

static void J_times(perp_model *m, const double *q, const double *v, double *y)
{
  y[0] = y[1] = 0;
  perp_blocks_J(perp_model_assemble(m, 0, q), 1, v, y);
}

static void moved(perp_model *m, const double *q, const double *v, double s, double *out)
{
  double step[12];
  for (int i = 0; i < perp_model_nv(m); i++) step[i] = s * v[i];
  perp_model_retract(m, q, step, out);
}

static void check(int d, const curve_case *c, int a, bool particle)
{
  double eC = 0, eJ = 0, eG = 0, eS = 0, eT = 0, eZ = 0;
  for (int trial = 0; trial < 4; trial++) {
    rig r;
    perp_model *m = rigged(d, c, a, particle, perp_rng_uniform(rng, c->from, c->to), &r);
    const double *q = perp_model_q0(m), h = 1e-4;
    double v[12] = { 0 }, C[2] = { 0 }, Jv[2], g[2], x[14], Cs[4][2], Js[4][2];
    for (int i = 0; i < perp_model_nv(m); i++) v[i] = perp_rng_normal(rng);
    if (particle)
      for (int i = d; i < (d == 3 ? 6 : 3); i++) v[i] = 0;
    perp_model_error(m, 0, q, C);
    double where;
    eC = fmax(eC, fabs(hypot(C[0], C[1]) - distance(m, q, c, &where)));
    const double turn = c->def.kind == PERP_CURVE_CIRCLE ? 2 * M_PI
                        : c->def.closed                  ? c->def.n
                                                         : 0,
                 off = perp_model_curve_place(m, q, 0) - where;
    eS = fmax(eS, fabs(turn > 0 ? remainder(off, turn) : off));
    double p[4][3], t[3], unused[3];
    for (int k = 0; k < 4; k++)
      perp_model_curve_point(m, 0, where + 1e-3 * (double[]){ -2, -1, 1, 2 }[k], p[k], unused);
    perp_model_curve_point(m, 0, where, unused, t);
    for (int k = 0; k < 3; k++)
      eT = fmax(eT, fabs((p[0][k] - 8 * p[1][k] + 8 * p[2][k] - p[3][k]) / 12e-3 - t[k]));
    /* the same start, called the zero of the joint */
    perp_model *zero = run_model(&ctx, d);
    for (int k = 0; k < 2; k++) run_body(&ctx, zero, *perp_model_body(m, k));
    r.def.start = PERP_START_ZERO;
    run_joint(&ctx, zero, r.def);
    run_finish(&ctx, zero);
    perp_model_error(zero, 0, perp_model_q0(zero), g);
    for (int k = 0; k < d - 1; k++) eZ = fmax(eZ, fabs(g[k]));
    perp_model_destroy(zero);
    J_times(m, q, v, Jv);
    perp_model_jdotv(m, 0, q, v, g);
    for (int k = 0; k < 4; k++) {
      moved(m, q, v, (k % 2 == 0 ? h : -h) * (1 + k / 2), x);
      perp_model_error(m, 0, x, Cs[k]);
      J_times(m, x, v, Js[k]);
    }
    for (int i = 0; i < d - 1; i++) { /* order 4 */
      eJ = fmax(eJ, fabs((8 * (Cs[0][i] - Cs[1][i]) - (Cs[2][i] - Cs[3][i])) / (12 * h) - Jv[i]));
      eG = fmax(eG, fabs((8 * (Js[0][i] - Js[1][i]) - (Js[2][i] - Js[3][i])) / (12 * h) - g[i]));
    }
    perp_model_destroy(m);
  }
  const char *who = particle ? "particle" : "body";
  below(eC, 1e-8, "dim %d, %s of %s, %s: |C| is the distance from the curve", d, c->name,
        a < 0 ? "the world" : "a body", who);
  below(eS, 1e-6, "  the place on the curve");
  below(eT, 1e-8, "  the tangent there");
  below(eZ, 1e-13, "  the error of a joint whose zero is this start");
  below(eJ, 1e-7, "  J v");
  below(eG, 1e-6, "  Jdot v");
}

static void refuse(int dim, perp_joint_def def, const char *part)
{
  perp_model *m = run_model(&ctx, dim);
  run_body(&ctx, m, (perp_body_def){ .particle = true, .mass.mass = 1 });
  def.name = "track", def.kind = PERP_JOINT_CURVE, def.a = PERP_WORLD, def.b = 0;
  if (def.axis_a[1] == 0) def.axis_a[0] = 1;
  perp_status status = perp_model_add_joint(&ctx, m, &def, NULL);
  if (status == PERP_OK) status = perp_model_finish(&ctx, m);
  const bool good = status != PERP_OK && strstr(ctx.msg, part) != NULL &&
                    strstr(ctx.msg, "joint 0 'track'") != NULL && strchr(ctx.msg, '\n') == NULL;
  ok(good, "refused: %s", part);
  if (!good) printf("# %d %s\n", (int)status, ctx.msg);
  perp_model_destroy(m);
}

static void refusals(void)
{
  static const double nan_point[][3] = { { 0, 0, 0 }, { (double)NAN, 0, 0 } };
  static const double same[][3] = { { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } };
  static const double cusp[][3] = { { 0 }, { 0 }, { 1, 0, 0 }, { 0, 1, 0 } }; /* (s^2, s^3) */
  const double y[3] = { 0, 1, 0 };
#define TRACK(...)                                                                                 \
  (perp_joint_def)                                                                                 \
  {                                                                                                \
    .axis_b = { y[0], y[1], y[2] }, .curve = { __VA_ARGS__ }                                       \
  }
  refuse(3, TRACK(PERP_CURVE_CIRCLE), "radius of the circle must be positive: got 0 m");
  refuse(3, TRACK(PERP_CURVE_HELIX, .radius = 1), "pitch of the helix must not be 0");
  refuse(2, TRACK(PERP_CURVE_HELIX, .radius = 1, .pitch = 1), "a helix needs space");
  refuse(3, TRACK((perp_curve_kind)9), "unknown kind of curve: 9");
  refuse(3, TRACK(PERP_CURVE_LINE, .lower = 1, .upper = -1),
         "must be below its upper end: got [1, -1]");
  refuse(3, TRACK(PERP_CURVE_LINE, .lower = 1, .upper = 2),
         "starts at s = 0, outside the domain [1, 2]");
  refuse(3, TRACK(PERP_CURVE_CYCLOID, .radius = 1, .lower = -4, .upper = 1),
         "is defined in [-3.14");
  refuse(3, TRACK(PERP_CURVE_CYCLOID, .radius = 1, .lower = -M_PI, .upper = 1),
         "no tangent at s = -3.14");
  refuse(3, TRACK(PERP_CURVE_SPLINE, .n = 1, .data = points[0]), "at least 2 points: got 1");
  refuse(3, TRACK(PERP_CURVE_SPLINE, .n = 2, .data = points[0], .closed = true),
         "at least 3 points");
  refuse(3, TRACK(PERP_CURVE_SPLINE, DATA(nan_point)), "entry 1 of the spline is not finite");
  refuse(3, TRACK(PERP_CURVE_SPLINE, DATA(same)), "the spline has no tangent");
  refuse(2, TRACK(PERP_CURVE_SPLINE, DATA(points)), "leaves the plane");
  refuse(3, TRACK(PERP_CURVE_POLYNOMIAL, DATA(flat_powers)), "needs a finite domain");
  refuse(3, TRACK(PERP_CURVE_POLYNOMIAL, .lower = -1, .upper = 1, DATA(cusp)), "no tangent at s =");
  refuse(3, TRACK(PERP_CURVE_CIRCLE, .radius = 1), "initial position contradicts it: |C| = 1");
  perp_joint_def def = TRACK(PERP_CURVE_LINE);
  memset(def.axis_b, 0, sizeof def.axis_b);
  refuse(3, def, "must span the plane of the curve");
  def.axis_b[0] = 2;
  refuse(3, def, "parallel");
}

/* Cline's two readings of an initial state off the joint, for all kinds */
static void starts(void)
{
  static const struct {
    perp_joint_kind kind;
    bool plane;
  } kinds[] = { { PERP_JOINT_BALL, true },        { PERP_JOINT_HINGE, true },
                { PERP_JOINT_UNIVERSAL, false },  { PERP_JOINT_SLIDER, true },
                { PERP_JOINT_FIXED, true },       { PERP_JOINT_DISTANCE, true },
                { PERP_JOINT_LINE, true },        { PERP_JOINT_WHEEL, false },
                { PERP_JOINT_CURVE, true },       { PERP_JOINT_PLANAR, false },
                { PERP_JOINT_CYLINDRICAL, false } };
  for (int d = 2; d <= 3; d++)
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
      for (int start = PERP_START_HOLDS; start <= PERP_START_VIOLATES; start++) {
        if (d == 2 && !kinds[k].plane) continue;
        perp_model *m = run_model(&ctx, d);
        perp_model_gravity(m, 0);
        for (int b = 0; b < 2; b++)
          run_body(&ctx, m,
                   (perp_body_def){ .mass = perp_mass_box(1, 0.5, 0.3, 0.2),
                                    .x = { b, 0.02 * b, 0.01 * b * (d - 2) },
                                    .angle = 0.1 * b,
                                    .quat = { 1, 0.02 * b, 0.03 * b, -0.01 * b } });
        perp_joint_def j = { .name = "it",
                             .kind = kinds[k].kind,
                             .a = 0,
                             .b = 1,
                             .anchor_a[0] = 0.45,
                             .anchor_b[0] = -0.5,
                             .axis_a[0] = 1,
                             .axis_b[0] = 1,
                             .length = 0.1,
                             .curve = { PERP_CURVE_CIRCLE, .radius = 0.1 },
                             .start = (perp_joint_start)start };
        const char *name = perp_joint_kind_name(j.kind);
        if (j.kind == PERP_JOINT_UNIVERSAL || j.kind == PERP_JOINT_WHEEL ||
            j.kind == PERP_JOINT_CURVE)
          j.axis_b[0] = 0.05, j.axis_b[1] = 1;
        run_joint(&ctx, m, j);
        const perp_status status = perp_model_finish(&ctx, m);
        if (start == PERP_START_HOLDS) {
          ok(status == PERP_ERR_ARG && strstr(ctx.msg, "initial position contradicts it") != NULL,
             "dim %d: a %s joint off its zero is refused", d, name);
          perp_model_destroy(m);
          continue;
        }
        if (status != PERP_OK) bail("%s", ctx.msg);
        double C[6], q[14], worst[2] = { 0, 0 };
        perp_model_error(m, 0, perp_model_q0(m), C);
        for (int i = 0; i < perp_model_m(m); i++) worst[0] = fmax(worst[0], fabs(C[i]));
        if (start == PERP_START_ZERO) {
          below(worst[0], 1e-15, "dim %d: a %s joint whose zero is the initial state", d, name);
        } else {
          const perp_reason reason = run_fresh(
              &ctx, m, (run_parts){ "velocity", "symplectic-euler", "", "baumgarte:alpha=20" },
              1e-3, 1, q, NULL);
          perp_model_error(m, 0, q, C);
          for (int i = 0; i < perp_model_m(m); i++) worst[1] = fmax(worst[1], fabs(C[i]));
          ok(reason > 0 && worst[0] > 1e-3 && worst[1] < 1e-3 * worst[0],
             "dim %d: a %s joint that is violated comes back: %.2g to %.2g", d, name, worst[0],
             worst[1]);
        }
        perp_model_destroy(m);
      }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  rng = perp_rng_create(26);
  for (int d = 2; d <= 3; d++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      if (d == 2 ? !cases[i].plane : !cases[i].space) continue;
      check(d, &cases[i], PERP_WORLD, true);
      check(d, &cases[i], PERP_WORLD, false);
      check(d, &cases[i], 1, true);
      check(d, &cases[i], 1, false);
    }
  refusals();
  starts();
  perp_rng_destroy(rng);
  return tap_done();
}
