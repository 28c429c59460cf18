/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contact steps by different solvers and in different forms: the velocity at the end of a step is
 * unique without friction (A is positive semidefinite, u = A lambda + b is the same for all
 * solutions), and in the friction scenes here; eliminated joints and joints as rows are one problem
 * in two forms; and the matrix that is assembled is the one that impulses and velocities at points
 * give by hand. */
#include "models/geometry/kinematics.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const double h = 1.0 / 240;
enum { BODIES = 5, STATES = 12 };

static void shape(perp_model *model, int body, perp_shape_kind kind, double mu)
{
  perp_shape_def def = { .kind = kind,
                         .body = body,
                         .radius = 0.2,
                         .half = { 0.2, 0.25, 0.15 },
                         .surface = { .mu = mu, .mu_dynamic = mu } };
  run_shape(&ctx, model, def);
}

static perp_model *heap(double mu, bool joints)
{
  perp_model *model = run_model(&ctx, 3);
  shape(model, PERP_WORLD, PERP_SHAPE_PLANE, mu);
  for (int i = 0; i < BODIES; i++) {
    bool ball = i % 2 == 1;
    perp_body_def body = { .mass = ball ? perp_mass_sphere(1, 0.2)
                                        : perp_mass_box(1.5 + i, 0.4, 0.5, 0.3),
                           .x = { 0.1 * i, 0.07 * (i % 2), 0.3 + 0.45 * i },
                           .quat = { 1, 0.1 * i, 0.05, 0 },
                           .v = { joints ? 0.3 : 0.3 * i, 0.1, -2 } };
    shape(model, run_body(&ctx, model, body), ball ? PERP_SHAPE_SPHERE : PERP_SHAPE_BOX, mu);
  }
  if (joints) {
    double d = hypot(0.2, 0.9);
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_DISTANCE, .a = 0, .b = 2, .length = d });
  }
  return run_finish(&ctx, model);
}

typedef struct states {
  double q[STATES][7 * BODIES], v[STATES][6 * BODIES], next[STATES][6 * BODIES];
  int contacts;
} states;

/* states along a run, and the velocities one step later */
static void sample(perp_model *model, run_parts parts, states *s)
{
  double t;
  const double *q, *v;
  perp_step_info info;
  perp_sim *sim = run_start(&ctx, model, parts, h);
  s->contacts = 0;
  for (int k = 0; k < STATES; k++) {
    for (int i = 0; i < 8; i++)
      if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0) bail("step");
    perp_sim_state(sim, &t, &q, &v);
    memcpy(s->q[k], q, sizeof s->q[k]);
    memcpy(s->v[k], v, sizeof s->v[k]);
    s->contacts += info.n_contacts;
  }
  for (int k = 0; k < STATES; k++) {
    if (perp_sim_restart(&ctx, sim, 0, s->q[k], s->v[k]) != PERP_OK ||
        perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("step from state %d", k);
    perp_sim_state(sim, &t, &q, &v);
    memcpy(s->next[k], v, sizeof s->next[k]);
  }
  perp_sim_destroy(sim);
}

/* largest difference of the velocities after one step from the same states */
static double differ(perp_model *model, run_parts parts, const states *s, int *failures)
{
  double t, worst = 0;
  const double *q, *v;
  perp_step_info info;
  perp_sim *sim = run_start(&ctx, model, parts, h);
  *failures = 0;
  for (int k = 0; k < STATES; k++) {
    if (perp_sim_restart(&ctx, sim, 0, s->q[k], s->v[k]) != PERP_OK ||
        perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s: step from state %d", parts.lcp, k);
    *failures += (int)perp_sim_contacts(sim)->failures;
    perp_sim_state(sim, &t, &q, &v);
    for (int i = 0; i < 6 * BODIES; i++) worst = fmax(worst, fabs(v[i] - s->next[k][i]));
  }
  perp_sim_destroy(sim);
  return worst;
}

static void test_solvers(void)
{
  static const char *const names[] = {
    "lemke",         "keller",         "pgs",  "psor", "jacobi",    "block-gs",    "fischer-newton",
    "minmap-newton", "interior-point", "apgd", "nncg", "staggered", "fixed-point", "auto"
  };
  static states s;
  int failures;
  /* the tolerance 1e-10 of impulses near 10 N s on bodies of 1 kg, magnified by nearly dependent
   * contacts */
  for (int joints = 0; joints <= 1; joints++) {
    perp_model *model = heap(0, joints);
    const char *form = "velocity:residual=1e-10";
    run_parts reference = { .lcp = "dantzig", .contact = "frictionless", .formulation = form };
    sample(model, reference, &s);
    ok(s.contacts > STATES, "there are contacts: %d", s.contacts);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      run_parts p = { .lcp = names[i], .contact = "frictionless", .formulation = form };
      double d = differ(model, p, &s, &failures);
      below(d, 1e-7, "without friction%s: %s agrees with dantzig, %d failures",
            joints ? ", with a joint" : "", names[i], failures);
    }
    perp_model_destroy(model);
  }
}

static void test_friction(void)
{
  static const run_parts box[] = {
    { .lcp = "fischer-newton", .contact = "box", .formulation = "velocity:residual=1e-10" },
    { .lcp = "block-gs", .contact = "box", .formulation = "velocity:residual=1e-10" },
    { .lcp = "pgs", .contact = "box", .formulation = "velocity:residual=1e-10" },
    { .lcp = "staggered", .contact = "box", .formulation = "velocity:residual=1e-10" },
    { .lcp = "dantzig", .contact = "box", .formulation = "velocity:residual=1e-10,joints=rows" },
    { .lcp = "dantzig",
      .contact = "box",
      .formulation = "velocity:residual=1e-10",
      .kkt = "schur-dense" },
    { .lcp = "dantzig",
      .contact = "box",
      .formulation = "velocity:residual=1e-10",
      .kkt = "kkt-sparse" },
  };
  static states s;
  int failures;
  for (int joints = 0; joints <= 1; joints++) {
    perp_model *model = heap(0.3, joints);
    sample(
        model,
        (run_parts){ .lcp = "dantzig", .contact = "box", .formulation = "velocity:residual=1e-10" },
        &s);
    for (size_t i = 0; i < sizeof box / sizeof *box; i++) {
      double d = differ(model, box[i], &s, &failures);
      /* nearly dependent contacts magnify the tolerance 1e-10 by 1e5 and more; sweeps may end at
       * their limit */
      below(d, failures > 0 ? 1e-4 : 2e-5, "friction%s: %s, %s %s agrees with dantzig, %d failures",
            joints ? ", with a joint" : "", box[i].lcp, box[i].formulation,
            box[i].kkt != NULL ? box[i].kkt : "", failures);
    }
    perp_model_destroy(model);
  }
}

/* A convex programme: the velocities are unique, whoever finds them, dense or factored. */
static void test_convex(void)
{
  static const char *const names[] = { "lemke",         "keller",         "bpp",  "fischer-newton",
                                       "minmap-newton", "interior-point", "apgd", "auto" };
  static states s;
  int failures;
  for (int joints = 0; joints <= 1; joints++) {
    perp_model *model = heap(0.3, joints);
    run_parts p = { .lcp = "dantzig",
                    .contact = "convex",
                    .formulation = "velocity:residual=1e-10" };
    sample(model, p, &s);
    for (size_t i = 0; i <= sizeof names / sizeof *names; i++) {
      p.lcp = i == 0 ? "dantzig" : names[i - 1];
      p.formulation = i == 0 ? "velocity:residual=1e-10,joints=rows" : "velocity:residual=1e-10";
      const double d = differ(model, p, &s, &failures);
      below(d, failures > 0 ? 1e-4 : 2e-5, "convex%s: %s, %s agrees with dantzig, %d failures",
            joints ? ", with a joint" : "", p.lcp, p.formulation, failures);
    }
    perp_model_destroy(model);
  }
}

/* ---- assembly by hand ---- */

typedef struct seen {
  int n;
  double A[60 * 60];
} seen;

static void look(void *user, const perp_contact_place *place, const perp_lcp *p,
                 const double *lambda, const perp_stats *stats)
{
  seen *s = user;
  double scratch[64];
  (void)place, (void)lambda, (void)stats;
  if (p->n > 60 || p->n <= s->n) return;
  s->n = p->n;
  perp_blocks_delassus(p->F, s->A, p->n, scratch);
}

/* velocity of the point p of a body that got the impulse d at the point c, without M and J */
static void kick(const perp_model *model, const double *q, int body, const double c[3],
                 const double d[3], const double p[3], double sign, double u[3])
{
  if (body < 0) return;
  const perp_mass *m = &perp_model_body(model, body)->mass;
  double x[3], R[9], rc[3], rp[3], L[3], w[3] = { 0 }, lin[3];
  perp_model_point(model, q, body, (const double[3]){ 0 }, x);
  perp_model_rotation(model, q, body, R);
  for (int i = 0; i < 3; i++) {
    rc[i] = c[i] - x[i];
    rp[i] = p[i] - x[i];
    lin[i] = d[i] / m->mass;
  }
  perp_cross(rc, d, L);
  for (int k = 0; k < 3; k++) { /* the boxes' inertia is diagonal: turn by principal axes */
    double along = (R[3 * k] * L[0] + R[3 * k + 1] * L[1] + R[3 * k + 2] * L[2]) /
                   m->inertia[4 * k];
    for (int i = 0; i < 3; i++) w[i] += along * R[3 * k + i];
  }
  perp_cross(w, rp, L);
  for (int i = 0; i < 3; i++) u[i] += sign * (lin[i] + L[i]);
}

static void test_assembly(void)
{
  static seen s;
  perp_model *model = heap(0.3, false);
  perp_sim *sim = run_start(&ctx, model,
                            (run_parts){ .lcp = "pgs",
                                         .contact = "box",
                                         .formulation = "velocity:align=none,reuse=false" },
                            h);
  double worst = 0, largest = 0, t, q0[7 * BODIES];
  const double *q, *v;
  perp_step_info info;
  perp_sim_observe(sim, look, &s);
  int compared = 0;
  for (int k = 0; k < 100; k++) {
    perp_sim_state(sim, &t, &q, &v);
    memcpy(q0, q, sizeof q0);
    s.n = 0;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("step");
    if (s.n == 0 || s.n != 3 * info.n_contacts) continue; /* one island with all contacts */
    compared++;
    for (int i = 0; i < s.n; i++)
      for (int j = 0; j < s.n; j++) {
        const perp_contact *a = &info.contacts[i / 3], *b = &info.contacts[j / 3];
        double dir[2][3], at[2][3], u[3] = { 0 }, hand = 0;
        for (int side = 0; side < 2; side++) {
          const perp_contact *x = side == 0 ? a : b;
          const double *n = x->n, axis = fabs(n[0]) < 0.9 ? 0 : 1;
          double t1[3], t2[3], length = 0;
          for (int l = 0; l < 3; l++) {
            t1[l] = (l == (int)axis) - n[(int)axis] * n[l];
            length += t1[l] * t1[l];
            at[side][l] = 0.5 * (x->p[0][l] + x->p[1][l]);
          }
          for (int l = 0; l < 3; l++) t1[l] /= sqrt(length);
          perp_cross(n, t1, t2);
          int row = side == 0 ? i % 3 : j % 3;
          memcpy(dir[side], row == 0 ? n : row == 1 ? t1 : t2, sizeof dir[side]);
        }
        const int body_b[2] = { b->body[0], b->body[1] }, body_a[2] = { a->body[0], a->body[1] };
        for (int y = 0; y < 2; y++)
          for (int z = 0; z < 2; z++)
            if (body_b[y] == body_a[z])
              kick(model, q0, body_b[y], at[1], dir[1], at[0], y == z ? 1 : -1, u);
        for (int l = 0; l < 3; l++) hand += u[l] * dir[0][l];
        worst = fmax(worst, fabs(hand - s.A[i + j * s.n]));
        largest = fmax(largest, fabs(hand));
      }
  }
  ok(compared > 5, "%d matrices compared", compared);
  below(worst, 1e-12 * largest, "J M^-1 J' is what impulses do to velocities");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_assembly();
  test_solvers();
  test_friction();
  test_convex();
  return tap_done();
}
