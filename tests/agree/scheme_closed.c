/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time-stepping schemes of engines against closed forms of one body on one surface, in ever
 * smaller steps: what sticks, slides, rolls and does so in turn, in the plane and in space.  The
 * table says for each scheme the order at which the error goes with the step, or that it stays,
 * and how large it is at the smallest step. */
#include "experiments/scenes/scene_file.h"
#include "tests/run_model.h"

static perp_ctx ctx;

/* ---- a block on a belt, held by a spring ---- */

static const double G = 9.81, MASS = 2, BELT = 0.5, MU = 0.4, MU_DYNAMIC = 0.2;
static const double OMEGA = 4.5; /* rad/s, of the spring and the block */

/* Its place: carried along until k x = mu m g, then half an oscillation about mu_dynamic m g / k
 * with the same friction throughout, as it is always slower than the belt, until it has the speed
 * of the belt again. */
static double belt_place(double t)
{
  const double held = MU * G / (OMEGA * OMEGA), middle = MU_DYNAMIC * G / (OMEGA * OMEGA),
               off = held - middle;
  const double sliding = (2 * M_PI - 2 * atan2(off * OMEGA, BELT)) / OMEGA;
  double start = 0;
  for (;;) {
    const double sticking = (held - start) / BELT;
    if (t <= sticking) return start + BELT * t;
    t -= sticking;
    if (t <= sliding) return middle + off * cos(OMEGA * t) + BELT / OMEGA * sin(OMEGA * t);
    t -= sliding;
    start = middle - off;
  }
}

static perp_model *belt_model(int dim)
{
  const int up = dim - 1;
  const perp_surface surface = { .mu = MU, .mu_dynamic = MU_DYNAMIC };
  perp_model *model = run_model(&ctx, dim);
  perp_body_def block = { .mass = perp_mass_box(MASS, 0.2, 0.2, 0.1), .v = { BELT } };
  perp_shape_def box = { .kind = PERP_SHAPE_BOX, .half = { 0.1, 0.1, 0.05 }, .surface = surface },
                 under = { .kind = PERP_SHAPE_BOX,
                           .body = PERP_WORLD,
                           .half = { 20, 20, 20 },
                           .belt = { BELT },
                           .surface = surface };
  block.x[up] = box.half[up] = 0.05;
  under.x[up] = -20;
  perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                            .a = run_body(&ctx, model, block),
                            .b = PERP_WORLD,
                            .stiffness = MASS * OMEGA * OMEGA };
  spring.anchor_b[up] = 0.05;
  perp_model_gravity(model, G);
  run_shape(&ctx, model, box);
  run_shape(&ctx, model, under);
  run_force(&ctx, model, spring);
  return run_finish(&ctx, model);
}

/* Largest error of the place in 2 s. */
static double belt(const char *formulation, int dim, double h)
{
  perp_model *model = belt_model(dim);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ formulation }, h);
  double off = 0, t = 0;
  while (t < 2) {
    perp_step_info info;
    const double *q, *v;
    if (perp_sim_step(&ctx, sim, 2, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    off = fmax(off, fabs(q[0] - belt_place(t)));
    if (info.reason < 0) off = HUGE_VAL, t = 2;
  }
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  return off;
}

/* ---- scenes ---- */

/* `text` under `formulation`: the value of its gauge, "turn": the largest angle from its
 * reference, "path": distance. */
static double scene(const char *text, const char *gauge, const char *formulation, double h,
                    double t_end)
{
  perp_scene s;
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_scene_create(&ctx, &spec, &s) != PERP_OK) bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
  perp_sim *sim = run_start(&ctx, s.model, (run_parts){ formulation }, h);
  const int dim = perp_model_dim(s.model);
  const bool turn = strcmp(gauge, "turn") == 0, path = strcmp(gauge, "path") == 0;
  double want[64], rate[64], value = turn || path ? 0 : (double)NAN, t = 0;
  for (int i = 0; i < s.n_gauges; i++)
    if (s.gauge[i].restart != NULL) s.gauge[i].restart(s.gauge[i].user);
  const double end = t_end > 0 ? t_end : s.t_end;
  while (t < end) {
    const double *q, *v;
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, end, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    for (int i = 0; i < s.n_gauges; i++)
      if (s.gauge[i].sample != NULL) s.gauge[i].sample(s.gauge[i].user, t, q, v, &info);
    if (info.reason < 0) break;
    if (!turn && !path) continue;
    if (s.truth[0].state(s.truth[0].user, &ctx, t, want, rate) != PERP_OK) bail("%s", ctx.msg);
    double same = 0, square = 0;
    for (int i = 0; i < dim; i++) square += (q[i] - want[i]) * (q[i] - want[i]);
    for (int i = 3; i < 7 && dim == 3; i++) same += q[i] * want[i];
    const double angle = dim == 3 ? 2 * acos(fmin(1, fabs(same))) : fabs(q[2] - want[2]);
    value = fmax(value, turn ? angle : sqrt(square));
  }
  for (int i = 0; i < s.n_gauges; i++)
    if (strcmp(s.gauge[i].metric, gauge) == 0) value = s.gauge[i].value(s.gauge[i].user);
  if (t < end) value = HUGE_VAL;
  perp_sim_destroy(sim);
  perp_scene_destroy(&s);
  return value;
}

/* ---- table ---- */

static const struct {
  const char *name, *text, *gauge;
  double t_end;
} rows[] = { { "at rest", "stack:boxes=1,dim=%d", "pose.drift.max", 1 },
             { "sticks", "incline:theta=20deg,mu=0.5,dim=%d", "path", 1 },
             { "slides", "incline:theta=30deg,mu=0.3,dim=%d", "accel.rel.err", 0 },
             { "rolls", "rolling-sphere:dim=%d", "path", 0 },
             { "launched", "launched-box:dim=%d", "turn", 0 },
             { "stick-slip", NULL, NULL, 0 } };
enum { ROWS = sizeof rows / sizeof *rows, STEPS = 6, SWEEPING = 6 /* of the schemes, the first */ };

/* At least this order from 8 to 0.25 ms, and the error at 0.25 ms is below last (twice what was
 * seen). Order 0: the error stays at about last / 2 whatever the step is, which the descriptor
 * says. */
typedef struct expected {
  double order, last;
} expected;

static const struct {
  const char *name;
  expected row[2][ROWS]; /* in the plane, in space */
} schemes[] = {
  { "si-baumgarte",
    { { { 2, 6e-10 }, { 2, 1e-9 }, { 1, 2e-10 }, { 1, 4e-4 }, { 1, 1e-8 }, { 0.5, 5e-3 } },
      { { 2, 8e-10 }, { 2, 5e-9 }, { 1, 2e-7 }, { 1, 4e-4 }, { 1, 1e-7 }, { 0.5, 5e-3 } } } },
  { "si-split",
    { { { 2, 6e-10 }, { 2, 1e-9 }, { 1, 2e-10 }, { 1, 4e-4 }, { 1, 1e-8 }, { 0.5, 5e-3 } },
      { { 2, 8e-10 }, { 2, 5e-9 }, { 1, 2e-7 }, { 1, 4e-4 }, { 1, 1e-7 }, { 0.5, 5e-3 } } } },
  { "si-ngs",
    { { { 2, 6e-10 }, { 2, 1e-9 }, { 1, 2e-10 }, { 1, 4e-4 }, { 1, 1e-8 }, { 0.5, 5e-3 } },
      { { 2, 8e-10 }, { 2, 5e-9 }, { 1, 2e-7 }, { 1, 4e-4 }, { 1, 1e-7 }, { 0.5, 5e-3 } } } },
  { "soft-step",
    { { { 0, 2e-4 }, { 0, 2e-4 }, { 0, 1e-4 }, { 0.5, 6e-4 }, { 0, 2e-3 }, { 0.5, 5e-3 } },
      { { 0, 2e-4 }, { 0, 2e-4 }, { 0, 3e-5 }, { 0.5, 6e-4 }, { 0, 2e-3 }, { 0.5, 5e-3 } } } },
  { "small-steps",
    { { { 2, 1e-12 }, { 2, 1e-9 }, { 1, 1e-9 }, { 1, 2e-5 }, { 2, 4e-8 }, { 0.5, 5e-3 } },
      { { 2, 3e-12 }, { 1, 3e-5 }, { 1, 2e-7 }, { 1, 2e-5 }, { 1, 7e-4 }, { 0.5, 1e-3 } } } },
  { "tgs",
    { { { 2, 6e-9 }, { 2, 2e-8 }, { 1, 4e-8 }, { 1, 4e-4 }, { 2, 8e-7 }, { 0.5, 5e-3 } },
      { { 1, 8e-7 }, { 1, 8e-5 }, { 1, 5e-5 }, { 1, 4e-4 }, { 1, 3e-3 }, { 0.5, 2e-3 } } } },
  { "xpbd",
    { { { 2, 3e-13 }, { 1, 2e-4 }, { 0, 0.15 }, { 1, 2e-5 }, { 2, 2e-8 }, { 0, 0.09 } },
      { { 1, 7e-5 }, { 1, 2e-4 }, { 0, 0.18 }, { 1, 2e-5 }, { 0, 2 }, { 0, 0.08 } } } },
  { "soft-constraints",
    { { { 0, 4e-4 }, { 0, 4e-3 }, { 0.5, 0.012 }, { 1, 2e-3 }, { 0.9, 0.14 }, { 0, 0.045 } },
      { { 0, 3e-4 }, { 0, 2e-3 }, { 0.8, 6e-3 }, { 1, 2e-3 }, { 0.9, 0.08 }, { 0, 0.045 } } } },
  { "avbd",
    { { { 1, 7e-10 }, { 1, 6e-7 }, { 0, 0.013 }, { 0, 2e-3 }, { 1, 5e-7 }, { 0.5, 5e-3 } },
      { { 1, 3e-10 }, { 0.7, 2e-6 }, { 0, 0.014 }, { 0, 2e-3 }, { 1, 4e-7 }, { 0.5, 5e-3 } } } },
};

static double row_error(const char *name, int dim, int row, double h)
{
  char text[128];
  if (rows[row].text == NULL) return belt(name, dim, h);
  snprintf(text, sizeof text, rows[row].text, dim);
  return scene(text, rows[row].gauge, name, h, rows[row].t_end);
}

/* One pair of bodies has one colour: order=coloured differs by rounding. */
static void coloured(const char *name, int dim, int row)
{
  char other[64];
  snprintf(other, sizeof other, "%s:order=coloured", name);
  const double forward = row_error(name, dim, row, 4e-3), colour = row_error(other, dim, row, 4e-3);
  ok(fabs(colour - forward) < 1e-6 * forward + 1e-12, "%-12s %d %-10s by colours: %.3g, %.1e more",
     name, dim, rows[row].name, colour, colour - forward);
}

/* The same of a stone that rocks on its belly: its inertia turns within a step. */
static void rattles(const char *name)
{
  double end[2][7];
  for (int order = 0; order < 2; order++) {
    char formulation[64];
    snprintf(formulation, sizeof formulation, "%s%s", name, order == 0 ? "" : ":order=coloured");
    perp_scene scene = run_open(&ctx, "rattleback");
    perp_sim *sim = run_start(&ctx, scene.model, (run_parts){ formulation }, 4e-3);
    perp_step_info info;
    const double *q, *v;
    double t;
    for (int k = 0; k < 50; k++)
      if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    memcpy(end[order], q, sizeof end[order]);
    ok(info.n_contacts == 1, "%s: the stone lies on the floor", formulation);
    perp_sim_destroy(sim);
    perp_scene_destroy(&scene);
  }
  double off = 0;
  for (int i = 0; i < 7; i++) off = fmax(off, fabs(end[1][i] - end[0][i]));
  ok(off < 1e-10, "%s: and rattles the same by colours, to %.1e", name, off);
}

static void converges(const char *name, int dim, int row, expected want)
{
  double err[STEPS];
  for (int n = 0; n < STEPS; n++) err[n] = row_error(name, dim, row, 8e-3 / (1 << n));
  const double order = log2(err[0] / err[STEPS - 1]) / (STEPS - 1), last = err[STEPS - 1];
  const bool holds = want.order > 0 ? order > 0.8 * want.order : last > want.last / 6;
  ok(last <= want.last && holds,
     "%-12s %d %-10s order %.2f, from 8 to 0.25 ms: %.2g, %.2g, %.2g, %.2g, %.2g, %.2g", name, dim,
     rows[row].name, order, err[0], err[1], err[2], err[3], err[4], err[5]);
}

/* avbd measures its penalties in masses over h^2: a gram and a ton rest and slide alike. */
static void masses(void)
{
  double rest[3], slide[3];
  static const double mass[3] = { 1e-3, 1, 1e3 };
  for (int i = 0; i < 3; i++) {
    char text[64];
    snprintf(text, sizeof text, "stack:boxes=1,mass=%g", mass[i]);
    rest[i] = scene(text, "pose.drift.max", "avbd", 1e-3, 1);
    snprintf(text, sizeof text, "incline:theta=30deg,mu=0.3,mass=%g", mass[i]);
    slide[i] = scene(text, "accel.rel.err", "avbd", 1e-3, 0);
  }
  for (int i = 0; i < 3; i += 2) {
    near(rest[i], rest[1], 1e-12, 1e-3, "avbd: %g kg rest as 1 kg does", mass[i]);
    near(slide[i], slide[1], 1e-9, 1e-3, "avbd: %g kg slide as 1 kg does", mass[i]);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++)
    for (int i = 0; i < ROWS; i++)
      for (int dim = 2; dim <= 3; dim++) {
        converges(schemes[k].name, dim, i, schemes[k].row[dim - 2][i]);
        if (k < SWEEPING) coloured(schemes[k].name, dim, i);
      }
  for (int k = 0; k < SWEEPING; k++) rattles(schemes[k].name);
  masses();
  return tap_done();
}
