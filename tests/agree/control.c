/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Controllers against what is known without them: forces of inverse dynamics give back a motion
 * with the order of the integrator; all ways to the same law agree; the implicit one goes to the
 * continuous one with order 1; the explicit one is unstable where the eigenvalues of its linear
 * equation say. */
#include "models/figures/control.h"
#include "models/figures/control_private.h"
#include "models/figures/inverse.h"
#include "models/geometry/kinematics.h"
#include "models/multibody/model_private.h"
#include "tests/run_model.h"

#include <complex.h>
#include <lapacke.h>
#include <stdlib.h>

static perp_ctx ctx;

enum { LINKS = 8, MOST = LINKS + 1 };

/* ---- a chain and its motion ----
 * Links of 0.1 and 0.2 m that hang down, joined in turn by `kind`; a root that floats, or the
 * world. */

typedef struct chain {
  int dim, n;
  perp_joint_kind kind[LINKS];
  bool floats;  /* link 0 has no joint */
  bool turned;  /* joints have their outer body as a */
  double scale; /* of the motion */
} chain;

static const double length[2] = { 0.1, 0.2 };

static void chain_build(const chain *c, perp_model *m, const double *v)
{
  const int nvb = c->dim == 3 ? 6 : 3, up = c->dim - 1;
  double x = 0;
  for (int i = 0; i < c->n; i++) {
    const double l = length[i % 2];
    perp_body_def link = { .mass = perp_mass_box(1 + 0.1 * i, 0.12, up == 1 ? l : 0.1,
                                                 up == 2 ? l : 0.1) };
    link.x[up] = -x - l / 2;
    for (int k = 0; v != NULL && k < c->dim; k++) link.v[k] = v[nvb * i + k];
    for (int k = 0; v != NULL && k < nvb - c->dim; k++)
      link.w[c->dim == 3 ? k : 2] = v[nvb * i + c->dim + k];
    run_body(&ctx, m, link);
    perp_joint_def j = { .kind = c->kind[i],
                         .a = i - 1,
                         .b = i,
                         .axis_a = { i % 2, i % 2 == 0 },
                         .axis_b = { i % 2, i % 2 == 0 } };
    j.anchor_a[up] = i == 0 ? 0 : -length[(i + 1) % 2] / 2;
    j.anchor_b[up] = l / 2;
    if (c->turned) {
      const perp_joint_def k = j;
      j.a = k.b, j.b = k.a;
      memcpy(j.anchor_a, k.anchor_b, sizeof j.anchor_a);
      memcpy(j.anchor_b, k.anchor_a, sizeof j.anchor_b);
    }
    if (i > 0 || !c->floats) run_joint(&ctx, m, j);
    x += l;
  }
}

/* an angle that begins at 0, with its rates */
static void swing(int i, double scale, double t, double y[3])
{
  const double w = 2 + 0.4 * i, a = scale * (i % 3 == 1 ? -0.5 : 0.4);
  y[0] = a * sin(w * t), y[1] = a * w * cos(w * t), y[2] = -a * w * w * sin(w * t);
}

/* R = (turn about x by a) (turn about z by b): q, w and wdot in the frame that turns */
static void swing_turn(int i, double scale, double t, double q[4], double w[3], double wdot[3])
{
  double a[3], b[3];
  swing(i, scale, t, a);
  swing(i + 4, scale, t, b);
  const double qa[4] = { cos(a[0] / 2), sin(a[0] / 2) },
               qb[4] = { cos(b[0] / 2), 0, 0, sin(b[0] / 2) };
  perp_quat_product(qa, qb, q);
  const double c = cos(b[0]), s = sin(b[0]);
  w[0] = a[1] * c, w[1] = -a[1] * s, w[2] = b[1];
  wdot[0] = a[2] * c - a[1] * s * b[1];
  wdot[1] = -a[2] * s - a[1] * c * b[1];
  wdot[2] = b[2];
}

static void chain_motion(void *user, double t, double *q, double *u, double *udot)
{
  const chain *c = user;
  int iq = 0, iu = 0;
  for (int i = 0; i < c->n; i++) {
    const bool root = i == 0 && c->floats;
    for (int k = 0; root && k < c->dim; k++) {
      double y[3];
      swing(k, 0.3 * c->scale, t, y);
      q[iq] = y[0] - (k == c->dim - 1 ? length[0] / 2 : 0), iq++;
      u[iu] = y[1], udot[iu] = y[2], iu++;
    }
    if (c->dim == 3 && (root || c->kind[i] == PERP_JOINT_BALL)) {
      swing_turn(i, c->scale, t, q + iq, u + iu, udot + iu);
      iq += 4, iu += 3;
      continue;
    }
    double y[3];
    swing(i, c->scale * (!root && c->kind[i] == PERP_JOINT_SLIDER ? 0.2 : 1), t, y);
    q[iq++] = y[0];
    u[iu] = y[1], udot[iu++] = y[2];
  }
}

static perp_goal *chain_goal(chain *c)
{
  perp_goal *goal;
  perp_model *m = run_model(&ctx, c->dim);
  chain_build(c, m, NULL);
  run_finish(&ctx, m);
  if (perp_goal_create(&ctx, m, chain_motion, c, NULL, &goal) != PERP_OK) bail("%s", ctx.msg);
  return goal;
}

typedef struct control {
  const char *spec;
  perp_control_root root;
} control;

/* The chain with a controller; *goal is kept by it. */
static perp_model *chain_control(chain *c, control k, perp_goal **goal)
{
  double q[7 * MOST], v[6 * MOST];
  perp_spec spec;
  *goal = chain_goal(c);
  perp_goal_state(*goal, 0, q, v);
  perp_model *m = run_model(&ctx, c->dim);
  chain_build(c, m, v);
  if (perp_spec_parse(&ctx, PERP_KIND_controller, k.spec, &spec) != PERP_OK) bail("%s", ctx.msg);
  const perp_control_def def = { .controller = (const perp_controller_desc *)(const void *)spec.d,
                                 .opts = spec.opts,
                                 .root = k.root };
  if (perp_control_add(&ctx, m, *goal, &def) != PERP_OK ||
      perp_model_keep(&ctx, m, *goal, (void (*)(void *))perp_goal_destroy) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&spec);
  return run_finish(&ctx, m);
}

/* Largest distance of a state from the motion, m and rad. */
static double distance(const perp_model *m, const perp_goal *goal, double t, const double *q)
{
  double is[7 * MOST], v[6 * MOST], d[6 * MOST], worst = 0;
  perp_goal_state(goal, t, is, v);
  perp_model_difference(m, is, q, d);
  for (int i = 0; i < perp_model_nv(m); i++) worst = fmax(worst, fabs(d[i]));
  return worst;
}

static double run_error(chain *c, control k, run_parts parts, double h, double t_end)
{
  perp_goal *goal;
  perp_model *m = chain_control(c, k, &goal);
  double q[7 * MOST], v[6 * MOST], e = HUGE_VAL;
  if (run_fresh(&ctx, m, parts, h, t_end, q, v) >= 0) e = distance(m, goal, t_end, q);
  perp_model_destroy(m);
  return e;
}

/* ---- feed-forward ---- */

#define B  PERP_JOINT_BALL
#define HI PERP_JOINT_HINGE
#define SL PERP_JOINT_SLIDER
#define ALL(x)                                                                                     \
  {                                                                                                \
    x, x, x, x, x, x, x, x                                                                         \
  }

/* Whatever nobody feeds back grows: a torque that is fixed in a link turns with it.  Chains of
 * which it grows much have less time. */
static void feed_forward(void)
{
  static struct {
    chain c;
    double t_end;
  } all[] = {
    { { 3, 8, ALL(B), .scale = 0.3 }, 1 },
    { { 3, 8, { B, HI, B, SL, HI, B, HI, B }, .scale = 0.3 }, 0.25 },
    { { 3, 8, { B, HI, B, SL, HI, B, HI, B }, .scale = 0.3, .turned = true }, 0.25 },
    { { 3, 8, ALL(B), .floats = true, .scale = 0.3 }, 0.5 },
    { { 2, 8, ALL(HI), .scale = 0.7 }, 1 },
    { { 2, 8, { HI, HI, SL, HI, HI, HI, SL, HI }, .floats = true, .scale = 0.5 }, 1 },
  };
  for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
    double e[3];
    for (int k = 0; k < 3; k++)
      e[k] = run_error(&all[i].c, (control){ "feed-forward", PERP_ROOT_CONTROLLED },
                       (run_parts){ "acceleration", "rk4" }, 4e-3 / (1 << k), all[i].t_end);
    const double order = log2(e[0] / e[1]);
    e[2] = run_error(&all[i].c, (control){ "feed-forward", PERP_ROOT_CONTROLLED },
                     (run_parts){ "acceleration", "rk4" }, 5e-4, all[i].t_end);
    ok(fabs(order - 4) < 0.4 && e[2] < 1e-9,
       "feed-forward forces at the stages give back the motion of chain %d over %g s: order %.2f, "
       "%.2g at 0.5 ms",
       i, all[i].t_end, order, e[2]);
  }
}

/* ---- one law in several ways ---- */

static chain mixed = { 3, 8, { B, HI, B, SL, HI, B, HI, B }, .scale = 0.3 },
             mixed_turned = { 3, 8, { B, HI, B, SL, HI, B, HI, B }, .scale = 0.3, .turned = true },
             plane = { 2, 8, { HI, HI, SL, HI, HI, HI, SL, HI }, .scale = 0.5 };

/* The state of a run, against that of another one. */
static double runs_apart(chain *c, control a, control b, run_parts pa, run_parts pb, double h,
                         double t_end)
{
  perp_goal *goal[2];
  perp_model *m[2] = { chain_control(c, a, &goal[0]), chain_control(c, b, &goal[1]) };
  double q[2][7 * MOST], v[6 * MOST], d[6 * MOST], worst = 0;
  for (int k = 0; k < 2; k++)
    if (run_fresh(&ctx, m[k], k == 0 ? pa : pb, h, t_end, q[k], v) < 0) worst = HUGE_VAL;
  perp_model_difference(m[0], q[0], q[1], d);
  for (int i = 0; i < perp_model_nv(m[0]); i++) worst = fmax(worst, fabs(d[i]));
  for (int k = 0; k < 2; k++) perp_model_destroy(m[k]);
  return worst;
}

/* A servo under an integrator is the force: drives of the model against elements that are forces.
 */
static void servo_is_force(void)
{
  const struct {
    chain *c;
    const char *name;
  } all[] = { { &mixed, "in space" }, { &mixed_turned, "turned" }, { &plane, "in the plane" } };
  for (int i = 0; i < 3; i++) {
    /* gains of ball joints whose outer body is a are equal about all axes for servos: not compared
     */
    const double d = runs_apart(all[i].c, (control){ "pd:frequency=0.5,ratio=0.1" },
                                (control){ "implicit-pd:frequency=0.5,ratio=0.1" },
                                (run_parts){ "acceleration", "rk4" },
                                (run_parts){ "acceleration", "rk4", "", "", "dantzig" }, 1e-3, 0.3);
    if (all[i].c == &mixed_turned)
      ok(isfinite(d) && d < 0.1, "pd as force and as servo, %s: close (%.2g)", all[i].name, d);
    else
      ok(d < 1e-10, "pd as force and as servo, %s: the same law to %.2g", all[i].name, d);
  }
}

/* Bounds of forces: those of the force are those of the drive, and they act. */
static void bounded(void)
{
  const run_parts force = { "acceleration", "rk4" },
                  drive = { "acceleration", "rk4", "", "", "dantzig" };
  const control pd = { "pd:frequency=0.5,ratio=0.1,max_force=0.1" },
                servo = { "implicit-pd:frequency=0.5,ratio=0.1,max_force=0.1" },
                free = { "pd:frequency=0.5,ratio=0.1" };
  const double d = runs_apart(&plane, pd, servo, force, drive, 2.5e-4, 0.3),
               acts = runs_apart(&plane, pd, free, force, force, 2.5e-4, 0.3);
  below(d, 1e-6, "pd of 0.1 Nm at most, as force and as servo: the same law");
  ok(acts > 1e-2, "the bound acts: %.2g", acts);
}

/* Muscles off by e add |tau_ref| stiffness e to the torque of inverse dynamics: of one hinge, by
 * how much faster it turns. */
static void muscles(void)
{
  static chain one = { 2, 1, { HI }, .scale = 1 };
  static const char *const specs[] = { "feed-forward", "muscle:stiffness=10,damping=0" };
  const double t = 0.5, dt = 1e-6, off = 0.01, arm = length[0] / 2;
  const double inertia = perp_mass_box(1, 0.12, length[0], 0.1).inertia[8] + arm * arm;
  double at[3], rate[2];
  swing(0, one.scale, t, at);
  for (int k = 0; k < 2; k++) {
    perp_goal *goal;
    const double angle = at[0] - off, q[3] = { arm * sin(angle), -arm * cos(angle), angle },
                 v[3] = { arm * cos(angle) * at[1], arm * sin(angle) * at[1], at[1] };
    perp_model *m = chain_control(&one, (control){ specs[k] }, &goal);
    perp_sim *sim = run_start(&ctx, m, (run_parts){ "acceleration", "euler" }, dt);
    if (perp_sim_restart(&ctx, sim, t, q, v) != PERP_OK) bail("%s", ctx.msg);
    run_to(&ctx, sim, t + dt);
    double now;
    const double *q1, *v1;
    perp_sim_state(sim, &now, &q1, &v1);
    rate[k] = (v1[2] - v[2]) / (now - t);
    perp_sim_destroy(sim);
    perp_model_destroy(m);
  }
  const double torque = inertia * at[2] + 9.81 * arm * sin(at[0]);
  near(rate[1] - rate[0], fabs(torque) * 10 * off / inertia, 0, 1e-6,
       "muscles are as stiff as the torque of %.2g Nm is large", torque);
}

/* Servos go to the continuous law, a force under a fine integrator, with h. */
static void implicit_order(void)
{
  const run_parts fine = { "acceleration", "rk4" }, rows = { "velocity", "", "", "", "dantzig" };
  const control pd = { "pd:frequency=0.5,ratio=0.1" },
                implicit = { "implicit-pd:frequency=0.5,ratio=0.1" },
                marks = { "markers:frequency=4,ratio=1", PERP_ROOT_CONTROLLED },
                both = { "feed-forward+implicit-pd:frequency=0.5,ratio=0.1" },
                sum = { "feed-forward+pd:frequency=0.5,ratio=0.1" };
  const struct {
    chain *c;
    control exact, step;
    run_parts parts;
    const char *what;
    double fine, h; /* rows of joints with stiffness are of order 1 under an integrator, too */
  } all[] = { { &mixed, pd, implicit, rows, "rows, in space", 2.5e-4, 1e-3 },
              { &plane, pd, implicit, rows, "rows, in the plane", 2.5e-4, 1e-3 },
              { &mixed, sum, both, rows, "rows with feed-forward", 2.5e-4, 1e-3 },
              { &mixed, marks, marks, rows, "markers, in space", 2e-5, 4e-3 },
              { &plane, marks, marks, rows, "markers, in the plane", 2e-5, 4e-3 } };
  for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
    perp_goal *goal;
    double truth[7 * MOST], q[7 * MOST], v[6 * MOST], d[6 * MOST], e[3] = { 0 };
    perp_model *m = chain_control(all[i].c, all[i].exact, &goal);
    if (run_fresh(&ctx, m, fine, all[i].fine, 0.4, truth, v) < 0) bail("the fine run failed");
    perp_model_destroy(m);
    m = chain_control(all[i].c, all[i].step, &goal);
    for (int k = 0; k < 3; k++) {
      if (run_fresh(&ctx, m, all[i].parts, all[i].h / (1 << k), 0.4, q, v) < 0) e[k] = HUGE_VAL;
      perp_model_difference(m, truth, q, d);
      for (int j = 0; j < perp_model_nv(m); j++) e[k] = fmax(e[k], fabs(d[j]));
    }
    perp_model_destroy(m);
    const double order = log2(e[1] / e[2]);
    ok(fabs(order - 1) < 0.15,
       "implicit pd goes to the continuous law, %s: order %.2f, %.2g at 0.25 ms", all[i].what,
       order, e[2]);
  }
}

/* Prescribed joints are where they should be, on all levels. */
static void prescribed(void)
{
  const struct {
    run_parts parts;
    double h, bound;
  } all[] = { { { "acceleration", "rk4", "", "none" }, 2e-3, 1e-6 }, /* second derivatives alone */
              { { "acceleration", "rk4", "", "post" }, 2e-3, 1e-9 },
              { { "acceleration", "rk4", "kkt-dense", "post" }, 2e-3, 1e-9 },
              { { "velocity", "", "", "post" }, 1e-3, 1e-4 },
              { { "radau5:tol=1e-8" }, 1e-2, 1e-6 },
              { { "generalized-alpha" }, 1e-3, 1e-4 } };
  chain *chains[] = { &mixed, &mixed_turned, &plane };
  static chain floats = { 3, 4, { B, HI, B, SL }, .floats = true, .scale = 0.3 };
  for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
    for (int k = 0; k < 4; k++) {
      const double e = run_error(k < 3 ? chains[k] : &floats,
                                 (control){ "prescribed", PERP_ROOT_PRESCRIBED }, all[i].parts,
                                 all[i].h, 0.5);
      ok(e < all[i].bound, "prescribed joints under %s, chain %d: %.2g off",
         all[i].parts.formulation, k, e);
    }
}

/* A root that is led along a turning motion, with links that are not: its rows turn with time, too,
 * within a step of a method with stages. */
static void led(void)
{
  static chain floats = { 3, 4, { B, HI, B, SL }, .floats = true, .scale = 0.3 };
  const control pd = { "pd:frequency=0.5,ratio=0.1", PERP_ROOT_PRESCRIBED };
  static const char *const methods[] = { "phem56", "esdirk", "radau5" };
  for (int i = 0; i < 3; i++) {
    const double d = runs_apart(&floats, pd, pd,
                                (run_parts){ "acceleration", "dopri5", "", "post" },
                                (run_parts){ methods[i] }, 5e-3, 0.3);
    below(d, 1e-8, "a root that is led, under %s: %.2g off", methods[i], d);
  }
}

/* Rows that follow one motion, along another one of the same chain: J v + C_t is the derivative of
 * C, J a + gamma that of J v + C_t.  `rows` of them are not 0. */
static void rows_move(const char *spec, perp_control_root root, chain *c)
{
  enum { MANY = 16 * MOST };
  static const double t = 0.37, dt = 1e-5;
  perp_goal *goal, *other;
  chain bent = *c;
  bent.scale *= 1.7;
  perp_model *m = chain_control(c, (control){ spec, root }, &goal);
  other = chain_goal(&bent);
  double q[7 * MOST], v[3][6 * MOST], C[3][MANY], rate[3][MANY], gamma[MANY], off[2] = { 0 },
                                                                              size = 0;
  if (m->m > MANY) bail("%d rows", m->m);
  perp_eval e;
  perp_arena arena = { 0 };
  perp_eval_layout(&e, m, &arena);
  if (perp_arena_reserve(&ctx, &arena) != PERP_OK) bail("%s", ctx.msg);
  perp_eval_layout(&e, m, &arena);
  perp_eval_init(&e, m);
  for (int k = 0; k < 3; k++) {
    const double at = t + (k - 1) * dt;
    perp_goal_state(other, at, q, v[k]);
    perp_eval_at(&e, m, at, q);
    memcpy(C[k], e.C, (size_t)m->m * sizeof *e.C);
    perp_model_rate(m, at, q, v[k], rate[k]);
  }
  perp_goal_state(other, t, q, v[1]);
  perp_eval_at(&e, m, t, q);
  perp_joints_bias(m, &e, v[1], gamma);
  for (int i = 0; i < m->nv; i++) v[0][i] = (v[2][i] - v[0][i]) / (2 * dt);
  perp_blocks_J(&e.blocks, 1, v[0], gamma);
  for (int i = 0; i < m->m; i++) {
    off[0] = fmax(off[0], fabs((C[2][i] - C[0][i]) / (2 * dt) - rate[1][i]));
    off[1] = fmax(off[1], fabs((rate[2][i] - rate[0][i]) / (2 * dt) - gamma[i]));
    size = fmax(size, fabs(rate[1][i]));
  }
  ok(size > 0.01 && off[0] < 1e-8 && off[1] < 1e-7,
     "%s, %dD, root %d: rates and accelerations of the rows are derivatives (%.2g, %.2g of %.2g)",
     spec, c->dim, (int)root, off[0], off[1], size);
  perp_arena_free(&arena);
  perp_goal_destroy(other);
  perp_model_destroy(m);
}

/* ---- where explicit pd becomes unstable ----
 * At rest without gravity M y'' + C y' + K y = 0 in joint coordinates, with K = w^2 diag(M), C = 2
 * ratio w diag(M): modes of diag(M) x = mu M x have kappa = mu w^2 and c = 2 ratio w mu. */

static double spectrum(const perp_model *m)
{
  enum { N = 3 * LINKS };
  perp_inverse *inverse;
  double q[7 * MOST], u[N] = { 0 }, udot[N] = { 0 }, rest[N], A[N * N] = { 0 }, M[N * N], mu[N];
  if (perp_inverse_create(&ctx, m, &inverse) != PERP_OK) bail("%s", ctx.msg);
  const int n = perp_inverse_nu(inverse);
  perp_inverse_joints(inverse, perp_model_q0(m), perp_model_v0(m), q, u);
  memset(u, 0, sizeof u);
  perp_inverse_recursive(inverse, 0, q, u, udot, NULL, rest);
  for (int i = 0; i < n; i++) {
    udot[i] = 1;
    perp_inverse_recursive(inverse, 0, q, u, udot, NULL, M + i * n);
    udot[i] = 0;
    for (int k = 0; k < n; k++) M[k + i * n] -= rest[k];
    A[i + i * n] = M[i + i * n];
  }
  perp_inverse_destroy(inverse);
  if (LAPACKE_dsygv(LAPACK_COL_MAJOR, 1, 'N', 'U', n, A, n, M, n, mu) != 0) bail("dsygv");
  return mu[n - 1];
}

/* Largest growth of a mode in a step: symplectic Euler with forces at the start, l^2 - (2 - h c -
 * h^2 kappa) l + (1 - h c) = 0; of the classical Runge-Kutta method |1 + z + z^2/2 + z^3/6 +
 * z^4/24|, z^2 + h c z + h^2 kappa = 0. */
static double growth(bool rk4, double h, double kappa, double c)
{
  const double complex b = rk4 ? h * c : -(2 - h * c - h * h * kappa),
                       a0 = rk4 ? h * h * kappa : 1 - h * c, root = csqrt(b * b / 4 - a0);
  double most = 0;
  for (int k = -1; k < 2; k += 2) {
    const double complex z = -b / 2 + k * root;
    most = fmax(most, cabs(rk4 ? 1 + z * (1 + z / 2 * (1 + z / 3 * (1 + z / 4))) : z));
  }
  return most;
}

static double limit(bool rk4, double kappa, double c)
{
  double low = 1e-6 / sqrt(kappa), high = 10 / sqrt(kappa);
  for (int k = 0; k < 60; k++) {
    const double h = (low + high) / 2;
    if (growth(rk4, h, kappa, c) <= 1 + 1e-12)
      low = h;
    else
      high = h;
  }
  return low;
}

/* Does a push of 1e-9 grow? */
static bool grows(chain *c, const char *spec, run_parts parts, double h)
{
  perp_goal *goal;
  perp_spec s;
  double q[7 * MOST], v[6 * MOST], v0[6 * MOST] = { 0 }, d[6 * MOST], far = 0;
  perp_model *bare = run_model(&ctx, c->dim), *m = run_model(&ctx, c->dim);
  chain_build(c, bare, NULL);
  perp_model_gravity(bare, 0);
  run_finish(&ctx, bare);
  if (perp_goal_hold(&ctx, bare, &goal) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_controller, spec, &s) != PERP_OK)
    bail("%s", ctx.msg);
  chain_build(c, m, v0);
  perp_model_gravity(m, 0);
  const perp_control_def def = { .controller = (const perp_controller_desc *)(const void *)s.d,
                                 .opts = s.opts };
  if (perp_control_add(&ctx, m, goal, &def) != PERP_OK) bail("%s", ctx.msg);
  perp_spec_free(&s);
  run_finish(&ctx, m);
  perp_sim *sim = run_start(&ctx, m, parts, h);
  perp_rng *rng = perp_rng_create(7);
  perp_inverse *inverse;
  double x[7 * MOST], u[3 * LINKS];
  if (perp_inverse_create(&ctx, perp_goal_model(goal), &inverse) != PERP_OK) bail("%s", ctx.msg);
  perp_inverse_joints(inverse, perp_model_q0(bare), perp_model_v0(bare), x, u);
  for (int i = 0; i < perp_inverse_nu(inverse); i++) u[i] = 1e-9 * perp_rng_normal(rng);
  perp_inverse_state(inverse, x, u, NULL, q, v, NULL);
  perp_inverse_destroy(inverse);
  perp_rng_destroy(rng);
  if (perp_sim_restart(&ctx, sim, 0, q, v) != PERP_OK) bail("%s", ctx.msg);
  const bool good = run_to(&ctx, sim, 1000 * h) >= 0;
  double t;
  const double *qe, *ve;
  perp_sim_state(sim, &t, &qe, &ve);
  perp_model_difference(m, perp_model_q0(m), qe, d);
  for (int i = 0; i < perp_model_nv(m); i++) far = fmax(far, fabs(d[i]));
  perp_sim_destroy(sim);
  perp_model_destroy(m);
  perp_goal_destroy(goal);
  return !good || !(far < 1e-6);
}

static void stability(void)
{
  static chain space = { 3, 4, { B, B, B, B } }, flat = { 2, 8, ALL(HI) };
  chain *chains[] = { &space, &flat };
  static const double ratios[] = { 0.05, 0.7, 2 };
  for (int i = 0; i < 12; i++) {
    chain *c = chains[i % 2];
    const bool rk4 = i % 4 >= 2;
    const double ratio = ratios[i / 4], w = 2 * M_PI * 2;
    char spec[80];
    perp_model *bare = run_model(&ctx, c->dim);
    chain_build(c, bare, NULL);
    perp_model_gravity(bare, 0);
    const double mu = spectrum(run_finish(&ctx, bare)),
                 h = limit(rk4, mu * w * w, 2 * ratio * w * mu);
    perp_model_destroy(bare);
    snprintf(spec, sizeof spec, "pd:frequency=2,ratio=%g", ratio);
    const run_parts parts = { rk4 ? "acceleration" : "velocity", rk4 ? "rk4" : "" },
                    implicit = { "velocity", "", "", "", "dantzig" };
    const bool below = grows(c, spec, parts, 0.97 * h), above = grows(c, spec, parts, 1.03 * h);
    ok(!below && above, "pd, %s, ratio %g, in %dD: stable up to %.3g ms within 3 %% (%d, %d)",
       rk4 ? "rk4" : "velocity", ratio, c->dim, 1e3 * h, below, above);
    snprintf(spec, sizeof spec, "implicit-pd:frequency=2,ratio=%g", ratio);
    if (!rk4) ok(!grows(c, spec, implicit, 20 * h), "implicit-pd is stable at 20 times that");
  }
}

/* Velocities count in a force that has damping or, as its target moves, stiffness: no other. */
static void promised(void)
{
  int wrong = 0;
  for (int which = 0; which < 4; which++) {
    const perp_follow follow = {
      .kind = PERP_REDUCED_BALL, .nu = 3, .k = { [1] = which & 1 }, .c = { [2] = which >> 1 }
    };
    const unsigned caps = perp_follow_force.promises(&follow);
    wrong += ((caps & PERP_FORCE_NEEDS_VELOCITY) != 0) != (which > 0);
    wrong += (caps & PERP_FORCE_INTERNAL) == 0;
  }
  ok(wrong == 0, "forces of a controller without gains do not look at velocities, others do");
}

int main(void)
{
  perp_ctx_init(&ctx);
  promised();
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  feed_forward();
  servo_is_force();
  bounded();
  muscles();
  implicit_order();
  prescribed();
  led();
  static chain floats = { 3, 4, { B, HI, B, SL }, .floats = true, .scale = 0.3 },
               floats_plane = { 2, 4, { HI, HI, SL, HI }, .floats = true, .scale = 0.5 };
  chain *all[] = { &mixed, &mixed_turned, &plane, &floats, &floats_plane };
  for (int i = 0; i < 5; i++) {
    rows_move("prescribed", PERP_ROOT_PRESCRIBED, all[i]);
    rows_move("markers", PERP_ROOT_CONTROLLED, all[i]);
  }
  stability();
  return tap_done();
}
