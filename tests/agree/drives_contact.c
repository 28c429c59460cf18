/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits and motors in one problem with contacts, against statics and uniformly accelerated motion:
 * with every contact model and several LCP solvers, joints eliminated by KKT solvers or as free
 * rows, islands apart. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double gravity = 9.81;

typedef struct way {
  const char *lcp, *contact, *formulation, *kkt;
  double tol; /* relative, of forces: ten times that of the solver, or what iterations leave */
} way;
static const way ways[] = {
  { "dantzig", "box", "velocity", "tree", 1e-7 },
  { "dantzig", "box", "velocity:threads=2", "kkt-sparse", 1e-7 },
  { "dantzig", "box", "velocity:joints=rows", "schur-dense", 1e-7 },
  { "dantzig", "box", "velocity:impact=poisson", "schur-svd", 1e-7 },
  { "lemke", "polyhedral:directions=4", "velocity", "kkt-dense", 1e-7 },
  { "pgs:max_iter=100000", "box", "velocity", "schur-cg", 1e-6 },
  { "fischer-newton", "box", "velocity", "schur-sparse", 1e-6 },
  { "fischer-newton", "polyhedral:directions=4", "velocity", "tree", 1e-6 },
  { "block-gs:max_iter=100000", "cone", "velocity", "tree", 1e-6 },
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void add_shape(perp_model *model, perp_shape_def def)
{
  def.surface.mu_dynamic = (double)NAN;
  run_shape(&ctx, model, def);
}

static void add_ground(perp_model *model, double mu)
{
  add_shape(model, (perp_shape_def){
                       .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = { .mu = mu } });
}

typedef struct outcome {
  bool good;
  double v[18], q[21];
  double drive[3];
  double normal[4]; /* N on the bodies 0 to 3, summed over their contacts as body b or a, along z */
  double side;      /* N between bodies, along x, on the higher one */
  int islands;
} outcome;

static outcome run(perp_model *model, const way *w, double h, int steps)
{
  outcome o = { .good = true };
  perp_step_info info = { 0 };
  double t;
  const double *q, *v;
  perp_sim *sim = run_start(
      &ctx, model,
      (run_parts){ w->formulation, .kkt = w->kkt, .lcp = w->lcp, .contact = w->contact }, h);
  for (int i = 0; i < steps && o.good; i++)
    o.good = perp_sim_step(&ctx, sim, HUGE_VAL, &info) == PERP_OK && info.reason >= 0;
  if (!o.good) printf("# %s %s\n", perp_reason_name(info.reason), ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  memcpy(o.q, q, (size_t)perp_model_nq(model) * sizeof *q);
  memcpy(o.v, v, (size_t)perp_model_nv(model) * sizeof *v);
  for (int i = 0; i < perp_model_drives(model); i++) o.drive[i] = info.drive[i];
  for (int i = 0; i < info.n_contacts; i++) {
    const perp_contact *c = &info.contacts[i];
    const double *P = info.impulse + 3 * i;
    if (c->body[0] >= 0 && c->body[1] >= 0)
      o.side += (c->body[1] > c->body[0] ? P[0] : -P[0]) / h;
    else if (c->body[0] < 0)
      o.normal[c->body[1]] += P[2] / h;
    else
      o.normal[c->body[0]] -= P[2] / h;
  }
  o.islands = perp_sim_contacts(sim)->islands;
  perp_sim_destroy(sim);
  return o;
}

/* A cart on a rail, driven by a motor of limited force, pushes a block over the ground. */
static void push(const way *w, double force)
{
  const double m_cart = 2, m_block = 3, mu = 0.4, h = 1e-2;
  perp_model *model = run_model(&ctx, 3);
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_box(m_cart, 1, 1, 1), .x = { -1, 0, 0.6 } });
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_box(m_block, 1, 1, 1), .x = { 0, 0, 0.5 } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_SLIDER,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_a = { 0, 0, 0.6 },
                              .axis_a = { 1 } });
  run_drive(
      &ctx, model,
      (perp_drive_def){ .lower = -HUGE_VAL, .upper = HUGE_VAL, .velocity = 3, .max_force = force });
  add_ground(model, mu);
  /* the cart pushes at the height of the centre: no moment but that of friction; with two knobs,
   * since a block that is pushed at one point turns away */
  for (int side = -1; side <= 1; side += 2)
    add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE,
                                       .body = 0,
                                       .x = { 0.3, 0.3 * side, -0.1 },
                                       .radius = 0.2 });
  add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_BOX,
                                     .body = 1,
                                     .half = { 0.5, 0.5, 0.5 },
                                     .surface = { .mu = mu } });
  run_finish(&ctx, model);
  outcome o = run(model, w, h, 50);
  const double friction = mu * m_block * gravity,
               a = fmax(0, force - friction) / (m_cart + m_block);
  const char *what = w->lcp;
  ok(o.good, "%s, %s, %s, %s: a motor of %g N pushes a block", what, w->contact, w->formulation,
     w->kkt, force);
  near(o.v[0], a * 50 * h, 1e-7, 10 * w->tol, "%s: speed of the cart", what);
  near(o.v[6], a * 50 * h, 1e-7, 10 * w->tol, "%s: speed of the block", what);
  near(o.q[7], a * h * h * 50 * 51 / 2, 1e-6, 0, "%s: way of the block", what);
  near(o.drive[0], force, 0, w->tol, "%s: the motor is at its bound", what);
  near(o.side, force - m_cart * a, 0, 10 * w->tol, "%s: force between cart and block", what);
  near(o.normal[1], m_block * gravity, 0, 10 * w->tol, "%s: the ground carries the block", what);
  perp_model_destroy(model);
}

/* A motor lifts a box off a table; a second box beside it hangs on a weaker one. */
static void lift(const way *w)
{
  const double m = 2, force[] = { 30, 12 }, h = 1e-2;
  perp_model *model = run_model(&ctx, 3);
  for (int i = 0; i < 2; i++) {
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_box(m, 1, 1, 1), .x = { 3.0 * i, 0, 0.5 } });
    run_joint(&ctx, model,
              (perp_joint_def){ .kind = PERP_JOINT_SLIDER,
                                .a = PERP_WORLD,
                                .b = i,
                                .anchor_a = { 3.0 * i, 0, 0.5 },
                                .axis_a = { 0, 0, 1 } });
    run_drive(&ctx, model,
              (perp_drive_def){ .joint = i,
                                .lower = -HUGE_VAL,
                                .upper = HUGE_VAL,
                                .velocity = 3,
                                .max_force = force[i] });
    add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_BOX,
                                       .body = i,
                                       .half = { 0.5, 0.5, 0.5 },
                                       .surface = { .mu = 0.5 },
                                       .collide_joined = true });
  }
  add_ground(model, 0.5);
  run_finish(&ctx, model);
  outcome o = run(model, w, h, 50);
  const double a = force[0] / m - gravity;
  ok(o.good, "%s, %s, %s, %s: motors lift boxes", w->lcp, w->contact, w->formulation, w->kkt);
  near(o.v[2], a * 50 * h, 1e-6, 0, "%s: the strong motor lifts its box", w->lcp);
  near(o.v[8], 0, w->tol, 0, "%s: the weak one does not", w->lcp);
  near(o.normal[0], 0, 1e-6, 0, "%s: the table no longer carries the first", w->lcp);
  near(o.normal[1], m * gravity - force[1], 0, 10 * w->tol, "%s: and the rest of the second",
       w->lcp);
  ok(o.islands == 2, "%s: two islands: got %d", w->lcp, o.islands);
  perp_model_destroy(model);
}

/* An arm on a carriage that slides up and down: the tip of the arm stands on the ground, a limit of
 * its hinge keeps the carriage from sinking.  Without friction: it would have a lever.  N = (M + m)
 * g at the tip, and the moment N L - m g L / 2 at the limit. */
static void stop(const way *w)
{
  const double M = 4, m = 1, L = 1.2, r = 0.1, h = 1e-2;
  perp_model *model = run_model(&ctx, 3);
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_box(M, 0.2, 0.2, 0.2), .x = { 0, 0, r } });
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_box(m, L, 0.1, 0.1), .x = { L / 2, 0, r } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_SLIDER,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_a = { 0, 0, r },
                              .axis_a = { 0, 0, 1 } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                              .a = 0,
                              .b = 1,
                              .anchor_b = { -L / 2 },
                              .axis_a = { 0, 1 },
                              .axis_b = { 0, 1 } });
  /* the arm would turn up against the carriage: to negative angles about +y */
  run_drive(&ctx, model, (perp_drive_def){ .joint = 1, .lower = 0, .upper = HUGE_VAL });
  add_ground(model, 0);
  add_shape(model,
            (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = 1, .x = { L / 2 }, .radius = r });
  run_finish(&ctx, model);
  outcome o = run(model, w, h, 100);
  const double N = (M + m) * gravity;
  ok(o.good, "%s, %s, %s, %s: an arm stands on its limit", w->lcp, w->contact, w->formulation,
     w->kkt);
  near(o.normal[1], N, 0, 10 * w->tol, "%s: the tip carries all", w->lcp);
  near(o.drive[0], N * L - m * gravity * L / 2, 0, 10 * w->tol, "%s: moment at the limit", w->lcp);
  near(o.v[2], 0, w->tol, 0, "%s: the carriage is at rest", w->lcp);
  perp_model_destroy(model);
}

/* What no contact touches goes on as without shapes: a motor against the dry friction of its
 * slider. */
static void alone(const way *w)
{
  perp_model *model = run_model(&ctx, 3);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_box(2, 1, 1, 1), .x = { 0, 0, 9 } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_SLIDER,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_a = { 0, 0, 9 },
                              .axis_a = { 1 } });
  const perp_drive_def motor = {
    .lower = -HUGE_VAL, .upper = HUGE_VAL, .velocity = 3, .max_force = 3
  };
  perp_drive_def friction = motor;
  friction.velocity = 0;
  friction.max_force = 2;
  run_drive(&ctx, model, motor);
  run_drive(&ctx, model, friction);
  add_ground(model, 0.5);
  add_shape(model,
            (perp_shape_def){
                .kind = PERP_SHAPE_SPHERE, .body = 0, .radius = 0.5, .collide_joined = true });
  run_finish(&ctx, model);
  outcome o = run(model, w, 1e-2, 100);
  near(o.v[0], 0.5, 1e-7, 0, "%s, %s: a motor in the air", w->lcp, w->formulation);
  near(o.drive[1], -2, 1e-6, 0, "%s: against friction", w->lcp);
  perp_model_destroy(model);
}

static void refusal(void)
{
  perp_model *model = run_model(&ctx, 3);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_box(2, 1, 1, 1) });
  run_joint(
      &ctx, model,
      (perp_joint_def){ .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = 0, .axis_a = { 1 } });
  run_drive(&ctx, model, (perp_drive_def){ .lower = -HUGE_VAL, .upper = HUGE_VAL, .max_force = 3 });
  add_ground(model, 0.5);
  run_finish(&ctx, model);
  run_refused(&ctx, model,
              (run_parts){ "velocity", .lcp = "lemke-howson", .contact = "frictionless" },
              "lemke-howson");
  perp_model_destroy(model);
}

/* A ball on the ground that is faster than its range is long: of two limits the one that it leaves
 * is nearer. */
static void through(const way *w)
{
  const double m = 3, r = 0.1, h = 2e-3, v0 = 100;
  perp_model *model = run_model(&ctx, 3);
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_sphere(m, r), .x = { 0, 0, r }, .v = { v0 } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_SLIDER,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_a = { 0, 0, r },
                              .axis_a = { 1 } });
  run_drive(&ctx, model, (perp_drive_def){ .joint = 0, .zero = 0.02, .lower = 0, .upper = 0.1 });
  add_ground(model, 0);
  add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = 0, .radius = r });
  run_finish(&ctx, model);
  const outcome o = run(model, w, h, 1);
  ok(o.good, "%s, %s, %s, %s: a step through all the range", w->lcp, w->contact, w->formulation,
     w->kkt);
  near(o.q[0], 0.08, 10 * w->tol * v0 * h, 0, "%s: it ends at the far limit", w->lcp);
  near(o.drive[0], m * (0.08 / h - v0) / h, 0, 10 * w->tol, "%s: whose force is reported", w->lcp);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < WAYS; i++) {
    push(&ways[i], 8);  /* sticks */
    push(&ways[i], 20); /* slides */
    lift(&ways[i]);
    stop(&ways[i]);
    alone(&ways[i]);
    through(&ways[i]);
  }
  refusal();
  return tap_done();
}
