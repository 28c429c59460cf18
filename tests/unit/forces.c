/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces: power and work, Newton's third law, the gyroscopic term against the rate of L, and the
 * impulse form M v + h f. */
#include "models/models.h"
#include "models/multibody/model_private.h"
#include "tests/tap.h"

#include <string.h>

enum { N = 3 };
static perp_ctx ctx;
static perp_rng *rng;

static perp_model *bodies(int dim)
{
  perp_model *m;
  if (perp_model_create(&ctx, dim, &m) != PERP_OK) bail("%s", ctx.msg);
  perp_model_gravity(m, 0);
  for (int b = 0; b < N; b++) {
    perp_body_def def = { .mass = perp_mass_box(1 + b, 1, 2 + b, 0.5) };
    /* a full inertia tensor: the one of the box plus products within the triangle inequality */
    def.mass.inertia[1] = def.mass.inertia[3] = 0.02;
    def.mass.inertia[5] = def.mass.inertia[7] = -0.03;
    def.angle = perp_rng_normal(rng);
    for (int i = 0; i < 4; i++) def.quat[i] = perp_rng_normal(rng);
    for (int i = 0; i < 3; i++) {
      def.x[i] = perp_rng_normal(rng);
      def.v[i] = perp_rng_normal(rng);
      def.w[i] = perp_rng_normal(rng);
    }
    if (perp_model_add_body(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  return m;
}

static void random3(int dim, double x[3])
{
  for (int i = 0; i < 3; i++) x[i] = i < dim ? perp_rng_normal(rng) : 0;
}

static void add(perp_model *m, const perp_force_def *def)
{
  if (perp_model_add_force(&ctx, m, def) != PERP_OK) bail("%s", ctx.msg);
}

static void finish(perp_model *m)
{
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
}

static double power(const perp_model *m, const double *q, const double *v)
{
  double f[6 * N], sum = 0;
  perp_model_forces(m, 0, q, v, f);
  for (int i = 0; i < perp_model_nv(m); i++) sum += f[i] * v[i];
  return sum;
}

/* gravity and springs without damping: f . v = -dV/dt along q [+] t v */
static void conservative(int dim)
{
  perp_model *m = bodies(dim);
  perp_model_gravity(m, 9.81);
  for (int k = 0; k < 3; k++) {
    perp_force_def s = { .kind = PERP_FORCE_SPRING,
                         .a = k,
                         .b = k == 2 ? PERP_WORLD : k + 1,
                         .stiffness = 5 + k,
                         .length = 0.7 * k };
    random3(dim, s.anchor_a);
    random3(dim, s.anchor_b);
    add(m, &s);
  }
  finish(m);
  const double *q = perp_model_q0(m), *v = perp_model_v0(m);
  double eps = 1e-5, dq[6 * N], qp[7 * N], qm[7 * N], T, Vp, Vm;
  for (int i = 0; i < perp_model_nv(m); i++) dq[i] = eps * v[i];
  perp_model_retract(m, q, dq, qp);
  for (int i = 0; i < perp_model_nv(m); i++) dq[i] = -eps * v[i];
  perp_model_retract(m, q, dq, qm);
  perp_model_energy(m, 0, qp, v, &T, &Vp);
  perp_model_energy(m, 0, qm, v, &T, &Vm);
  near(power(m, q, v), -(Vp - Vm) / (2 * eps), 1e-7, 1e-9,
       "dim %d: power of gravity and springs is -dV/dt (eps^2 and rounding / eps)", dim);
  ok(dim == 2 || perp_model_forces_need_velocity(m), "gyroscopic torque depends on velocity");
  ok(dim == 3 || !perp_model_forces_need_velocity(m), "in the plane there is none");
  perp_model_destroy(m);
}

/* internal springs change neither P nor L; gyroscopic terms belong to the frame: with a = M^-1 f
 * the rate of the world's L = sum x x p + R I w is the external torque, here 0 */
static void internal(int dim)
{
  perp_model *m = bodies(dim);
  for (int k = 0; k < 2; k++) {
    perp_force_def s = {
      .kind = PERP_FORCE_SPRING, .a = k, .b = k + 1, .stiffness = 5, .damping = 2, .length = 1
    };
    random3(dim, s.anchor_a);
    random3(dim, s.anchor_b);
    add(m, &s);
  }
  finish(m);
  int nv = perp_model_nv(m);
  const double *q = perp_model_q0(m), *v = perp_model_v0(m);
  double f[6 * N], a[6 * N], dq[6 * N], q1[7 * N], v1[6 * N], P[2][3], L[2][3], worst = 0;
  perp_model_forces(m, 0, q, v, f);
  perp_blocks_Minv(perp_model_blocks(m), f, a);
  double eps = 1e-5;
  for (int side = 0; side < 2; side++) {
    double s = side == 0 ? eps : -eps;
    for (int i = 0; i < nv; i++) dq[i] = s * v[i], v1[i] = v[i] + s * a[i];
    perp_model_retract(m, q, dq, q1);
    perp_model_momentum(m, q1, v1, P[side], L[side]);
  }
  for (int i = 0; i < 3; i++)
    worst = fmax(worst, fmax(fabs(P[0][i] - P[1][i]), fabs(L[0][i] - L[1][i])) / (2 * eps));
  below(worst, 1e-8, "dim %d: dP/dt = dL/dt = 0 under internal forces (eps^2, rounding / eps)",
        dim);
  ok(perp_model_forces_need_velocity(m), "damping depends on velocity");
  perp_model_destroy(m);
}

static void applied(int dim)
{
  perp_model *m = bodies(dim);
  perp_force_def push = { .kind = PERP_FORCE_POINT, .a = 1 }, twist = { .kind = PERP_FORCE_TORQUE };
  perp_force_def drag = {
    .kind = PERP_FORCE_DRAG, .a = 2, .linear = 0.3, .quadratic = 0.2, .angular = 0.1
  };
  random3(dim, push.anchor_a);
  random3(dim, push.value);
  twist.value[0] = dim == 3 ? 0.4 : 7;
  twist.value[1] = dim == 3 ? -1.1 : 7;
  twist.value[2] = 0.6;
  add(m, &push);
  add(m, &twist);
  add(m, &drag);
  finish(m);
  const double *q = perp_model_q0(m), *v = perp_model_v0(m);
  int nvb = dim == 3 ? 6 : 3;
  double pdot[3], R[9], want = 0, wz[3] = { 0 }, speed2 = 0, spin2 = 0;
  perp_model_point_velocity(m, q, v, 1, push.anchor_a, pdot);
  want += perp_dot(3, push.value, pdot);
  perp_model_rotation(m, q, 0, R);
  if (dim == 3)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) wz[i] += R[i + 3 * j] * v[3 + j];
  else
    wz[2] = v[2];
  for (int i = dim == 3 ? 0 : 2; i < 3; i++) want += twist.value[i] * wz[i];
  for (int i = 0; i < dim; i++) speed2 += v[2 * nvb + i] * v[2 * nvb + i];
  for (int i = dim; i < nvb; i++) spin2 += v[2 * nvb + i] * v[2 * nvb + i];
  want -= 0.3 * speed2 + 0.2 * speed2 * sqrt(speed2) + 0.1 * spin2;
  near(power(m, q, v), want, 1e-13, 1e-13, "dim %d: power of point force, torque and drag", dim);

  /* the packed form used by time stepping is the same as its definition */
  double f[6 * N], Mv[6 * N], rhs[6 * N], worst = 0, h = 0.125;
  perp_model_gravity(m, 9.81);
  perp_model_forces(m, 0, q, v, f);
  perp_blocks_M(perp_model_blocks(m), v, Mv);
  perp_eval e = m->eval;
  perp_eval_poses(&e, m, 0, q);
  perp_eval_impulse(&e, m, 0, h, v, rhs);
  for (int i = 0; i < perp_model_nv(m); i++) worst = fmax(worst, fabs(rhs[i] - Mv[i] - h * f[i]));
  below(worst, 1e-13, "dim %d: M v + h f in one pass, with elements", dim);
  perp_model_destroy(m);
  m = bodies(dim);
  perp_model_gravity(m, 9.81);
  finish(m);
  perp_model_forces(m, 0, q = perp_model_q0(m), v = perp_model_v0(m), f);
  perp_blocks_M(perp_model_blocks(m), v, Mv);
  e = m->eval;
  perp_eval_poses(&e, m, 0, q);
  perp_eval_impulse(&e, m, 0, h, v, rhs);
  worst = 0;
  for (int i = 0; i < perp_model_nv(m); i++) worst = fmax(worst, fabs(rhs[i] - Mv[i] - h * f[i]));
  below(worst, 1e-13, "dim %d: M v + h f in one pass, gravity only", dim);
  perp_model_destroy(m);
}

/* a spring whose ends meet has no direction: no force, but no NaN either */
static void degenerate(void)
{
  perp_model *m = bodies(3);
  perp_force_def s = {
    .kind = PERP_FORCE_SPRING, .a = 0, .b = PERP_WORLD, .stiffness = 5, .length = 1, .damping = 1
  };
  for (int i = 0; i < 3; i++) s.anchor_b[i] = perp_model_body(m, 0)->x[i];
  add(m, &s);
  finish(m);
  double p = power(m, perp_model_q0(m), perp_model_v0(m));
  near(p, 0, 1e-13, 0, "a spring of length zero pulls nowhere");
  perp_model_destroy(m);
}

/* Texts of elements say which field of their definition. */
static void texts(void)
{
  static const char *const vectors[] = { "anchor_a", "anchor_b", "axis_a",
                                         "axis_b",   "axis_c",   "value" };
  static const size_t joint_at[] = {
    offsetof(perp_joint_def, anchor_a), offsetof(perp_joint_def, anchor_b),
    offsetof(perp_joint_def, axis_a),   offsetof(perp_joint_def, axis_b),
    offsetof(perp_joint_def, axis_c),   0
  };
  static const size_t force_at[] = {
    offsetof(perp_force_def, anchor_a), offsetof(perp_force_def, anchor_b), 0, 0, 0,
    offsetof(perp_force_def, value)
  };
  const perp_force_desc *pairs = NULL;
  for (int kind = 0; kind < 2; kind++) {
    const perp_desc *d;
    for (int i = 0; (d = perp_plugin_at(&ctx, kind == 0 ? PERP_KIND_joint : PERP_KIND_force, i));
         i++) {
      bool right = true;
      for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
        for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
          for (int c = 0; c < 3; c++) {
            char key[16];
            snprintf(key, sizeof key, "%s_%c", vectors[k], "xyz"[c]);
            const size_t at = (kind == 0 ? joint_at : force_at)[k] + (size_t)c * sizeof(double);
            if (strcmp(o->key, key) == 0) right = right && o->offset == at;
          }
      ok(right, "%s: each vector has its own field", d->name);
      if (strcmp(d->name, "pairs") == 0) pairs = (const perp_force_desc *)(const void *)d;
    }
  }

  static const struct {
    const char *text;
    bool hinge_first, slides[3];
    perp_curve_kind curve;
  } joints[] = { { "pin-slot:first=hinge", true, { false }, PERP_CURVE_LINE },
                 { "pin-slot:first=slide", false, { false }, PERP_CURVE_LINE },
                 { "chain:a_kind=slide", false, { true }, PERP_CURVE_LINE },
                 { "chain:b_kind=slide", false, { false, true }, PERP_CURVE_LINE },
                 { "chain:c_kind=slide", false, { false, false, true }, PERP_CURVE_LINE },
                 { "curve:curve.kind=circle", false, { false }, PERP_CURVE_CIRCLE },
                 { "curve:curve.kind=helix", false, { false }, PERP_CURVE_HELIX },
                 { "curve:curve.kind=cycloid", false, { false }, PERP_CURVE_CYCLOID },
                 { "curve:curve.kind=polynomial", false, { false }, PERP_CURVE_POLYNOMIAL },
                 { "curve:curve.kind=spline", false, { false }, PERP_CURVE_SPLINE } };
  for (size_t i = 0; i < sizeof joints / sizeof *joints; i++) {
    perp_spec spec;
    if (perp_spec_parse(&ctx, PERP_KIND_joint, joints[i].text, &spec) != PERP_OK)
      bail("%s", ctx.msg);
    const perp_joint_def *def = spec.opts;
    bool same = def->hinge_first == joints[i].hinge_first && def->curve.kind == joints[i].curve;
    for (int k = 0; k < 3; k++) same = same && def->axes[k].slides == joints[i].slides[k];
    ok(same, "%s: as it says", joints[i].text);
    perp_spec_free(&spec);
  }

  perp_force_def def;
  ok(pairs != NULL &&
         perp_force_define(&ctx, pairs, NULL, 4, (const int[]){ 2, 3, 4, 5 }, &def) == PERP_OK &&
         def.a == 2 && def.b == 5,
     "pairs: of four bodies");
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  texts();
  rng = perp_rng_create(5);
  for (int dim = 2; dim <= 3; dim++) {
    conservative(dim);
    internal(dim);
    applied(dim);
  }
  degenerate();
  perp_rng_destroy(rng);
  return tap_done();
}
