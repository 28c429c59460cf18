/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Benchmark: perp and engines on the same worlds, step by step in turn, so that a slow moment of
 * the machine meets all of them.
 *
 *      bench_engines [--sweeps] [SCENE...]        (default: all of the table; --sweeps: the first
 * race only)
 *
 * Two races a scene.  Equal sweeps: each makes ten a step.  perp has three ways: a complementarity
 * problem for the velocities and one for the positions, whose answers it judges (in a stack five
 * sweeps in each of two substeps, rows from the bottom up: coloured, an impulse comes one box
 * further in a sweep, and 50 boxes fall; in a pyramid the conjugate steps of nncg); si-baumgarte,
 * as ODE's quick step has it; soft-step, that of Box2D v3, five substeps of two sweeps; both by
 * colours.
 * Equal accuracy: perp solves each step; each engine gets as many sweeps as it takes, from a
 * ladder, until it drifts and sinks no more than the scene allows.  Prints the CPU time of a step
 * of the calling thread (median and 99 of 100), the deepest penetration and the largest lateral
 * drift from the start, both measured by perp's geometry, and engine / perp for each way of perp:
 * above 1 perp is faster.  Below it are the parts of perp's steps.  Not a test. */
#include "models/collision/collision.h"
#include "tests/bench/engines.h"
#include "tests/run_model.h"

static perp_ctx ctx;

static const bench_engine *const engines[] = {
#ifdef BENCH_ODE
  &bench_ode,
#endif
#ifdef BENCH_BULLET
  &bench_bullet,
#endif
#ifdef BENCH_BOX2D
  &bench_box2d,
#endif
};
enum { ENGINES = sizeof engines / sizeof *engines };

typedef struct race {
  const char *name, *scene;
  double h;
  int first; /* steps of perp before the race, all start from there */
  int steps;
  double drift, depth;                     /* m: what equal accuracy asks for; 0: no such race */
  const char *swept, *formulation, *exact; /* lcp of perp, with this formulation; lcp */
} race;

#define SWEPT    "pgs:sweeps=10,order=coloured"
#define SUBSTEPS "pgs:sweeps=5,order=coloured", "velocity:substeps=2"
#define STACKED  "pgs:sweeps=5", "velocity:substeps=2"
static const race races[] = {
  { "stack", "stack:boxes=50", 0.01, 0, 250, 1e-3, 0.02, STACKED, "auto" },
  { "pyramid", "pyramid:rows=20", 0.01, 0, 250, 1e-3, 0.02, "nncg:sweeps=10", NULL, "auto" },
  { "wall", "wall:rows=10,columns=12", 0.01, 0, 250, 1e-3, 0.02, SWEPT, NULL, "apgd" },
  { "spheres", "falling:objects=10000,side=30,shape=spheres", 0.01, 300, 20, 0, 0, SWEPT, NULL,
    NULL },
  { "boxes", "falling:objects=216,side=9,shape=cubes", 0.01, 100, 100, 0, 0, SWEPT, NULL, NULL },
  { "cylinders", "falling:objects=216,side=9,shape=cylinders", 0.01, 100, 100, 0, 0, SWEPT, NULL,
    NULL },
  { "cones", "falling:objects=216,side=9,shape=cones", 0.01, 100, 100, 0, 0, SWEPT, NULL, NULL },
  { "stack-plane", "stack:boxes=50,dim=2", 0.01, 0, 250, 1e-3, 0.02, STACKED, "auto" },
  { "pyramid-plane", "pyramid:rows=20,dim=2", 0.01, 0, 250, 1e-3, 0.02, SUBSTEPS, "auto" },
  { "wall-plane", "wall:rows=10,columns=12,dim=2", 0.01, 0, 250, 1e-3, 0.02, SUBSTEPS, "apgd" },
};
static const int ladder[] = { 10, 50, 250, 1000 };
static const char *const schemes[] = { "si-baumgarte:order=coloured",
                                       "soft-step:order=coloured,substeps=5" };
enum { SCHEMES = sizeof schemes / sizeof *schemes, WAYS = 1 + SCHEMES };

/* One that runs: perp, or an engine. */
typedef struct runner {
  char name[64];
  const bench_engine *engine; /* NULL: perp */
  perp_sim *sim;
  void *at;
  double *us;
  double depth, drift;
  bool fell; /* perp gave up */
} runner;

/* ---- worlds ---- */

static bench_world world_of(const perp_model *model, const double *q, const double *v)
{
  const int dim = perp_model_dim(model), shapes = perp_model_shapes(model);
  bench_body *body = calloc((size_t)shapes, sizeof *body);
  bench_world world = { .dim = dim, .bodies = shapes, .body = body, .gravity = 9.81 };
  if (body == NULL) bail("no memory");
  for (int i = 0; i < shapes; i++, body++) {
    const perp_shape_def *s = perp_model_shape(model, i);
    perp_pose pose = { .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
    body->kind = s->kind == PERP_SHAPE_PLANE      ? BENCH_PLANE
                 : s->kind == PERP_SHAPE_BOX      ? BENCH_BOX
                 : s->kind == PERP_SHAPE_CYLINDER ? BENCH_CYLINDER
                 : s->kind == PERP_SHAPE_CONE     ? BENCH_CONE
                                                  : BENCH_BALL;
    memcpy(body->half, s->half, sizeof body->half);
    body->radius = s->radius;
    body->length = s->length;
    world.mu = s->surface.mu;
    body->fixed = s->body < 0;
    body->quat[0] = 1;
    if (body->fixed) {
      const bool turned = s->quat[0] != 0 || s->quat[1] != 0 || s->quat[2] != 0 || s->quat[3] != 0;
      double place[7] = { s->x[0], s->x[1], s->x[2], 1 };
      if (turned) memcpy(place + 3, s->quat, sizeof s->quat);
      if (dim == 2) place[2] = s->angle;
      perp_pose_of(dim, place, &pose);
      memcpy(body->x, s->x, sizeof body->x);
      if (turned) memcpy(body->quat, s->quat, sizeof s->quat);
      body->angle = s->angle;
      for (int k = 0; k < dim; k++) body->normal[k] = pose.R[dim * (dim - 1) + k];
      continue;
    }
    const perp_mass *mass = &perp_model_body(model, s->body)->mass;
    const double *at = q + (dim == 3 ? 7 : 3) * s->body, *rate = v + (dim == 3 ? 6 : 3) * s->body;
    body->mass = mass->mass;
    for (int k = 0; k < 3; k++) body->inertia[k] = mass->inertia[4 * k];
    memcpy(body->x, at, (size_t)dim * sizeof *at);
    memcpy(body->v, rate, (size_t)dim * sizeof *at);
    if (dim == 2) {
      body->angle = at[2];
      body->w[2] = rate[2];
    } else {
      memcpy(body->quat, at + 3, sizeof body->quat);
      perp_pose_of(3, at, &pose);
      perp_turn(3, pose.R, rate + 3, body->w);
    }
  }
  return world;
}

/* The deepest penetration of all pairs at q, and the largest way sideways from `start`. */
static void measure(perp_collision *collision, perp_pose *pose, const perp_model *model,
                    const double *q, const double *start, runner *r)
{
  const int dim = perp_model_dim(model), nq = dim == 3 ? 7 : 3;
  const perp_contact *contact;
  int n;
  for (int i = 0; i < perp_model_bodies(model); i++) {
    const double *x = q + nq * i, *y = start + nq * i;
    perp_pose_of(dim, x, &pose[i + 1]);
    r->drift = fmax(r->drift, dim == 3 ? hypot(x[0] - y[0], x[1] - y[1]) : fabs(x[0] - y[0]));
  }
  if (perp_collision_find(&ctx, collision, pose + 1, &contact, &n) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < n; i++) r->depth = fmax(r->depth, -contact[i].gap);
}

/* ---- races ---- */

static int by_value(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* All runners from (q, v), one step of each in turn.  Their times are sorted afterwards. */
static void run(const race *c, const perp_model *model, const double *q, const double *v,
                runner *runners, int n)
{
  const int bodies = perp_model_bodies(model), nq = perp_model_nq(model);
  const bench_world world = world_of(model, q, v);
  perp_collision *collision;
  perp_pose *pose = calloc((size_t)bodies + 1, sizeof *pose);
  double *now = calloc((size_t)nq, sizeof *now), t;
  if (pose == NULL || now == NULL) bail("no memory");
  for (int k = 0; k < 3; k++) pose[0].R[4 * k] = 1;
  if (perp_model_dim(model) == 2) pose[0].R[3] = 1;
  if (perp_collision_create(&ctx, model, 0, &collision) != PERP_OK) bail("%s", ctx.msg);
  for (runner *r = runners; r < runners + n; r++) {
    r->us = calloc((size_t)c->steps, sizeof *r->us);
    if (r->us == NULL) bail("no memory");
    if (r->sim != NULL && perp_sim_restart(&ctx, r->sim, 0, q, v) != PERP_OK) bail("%s", ctx.msg);
  }
  for (int k = 0; k < c->steps; k++)
    for (runner *r = runners; r < runners + n; r++) {
      const double *x = now, *rate;
      perp_step_info info;
      const double start = perp_clock_thread();
      if (r->sim == NULL)
        r->engine->step(r->at, c->h);
      else if (perp_sim_step(&ctx, r->sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
        r->fell = true;
      r->us[k] = 1e6 * (perp_clock_thread() - start);
      if (r->sim == NULL)
        r->engine->state(r->at, now);
      else
        perp_sim_state(r->sim, &t, &x, &rate);
      measure(collision, pose, model, x, q, r);
    }
  for (runner *r = runners; r < runners + n; r++)
    qsort(r->us, (size_t)c->steps, sizeof *r->us, by_value);
  perp_collision_destroy(collision);
  free((void *)(uintptr_t)world.body);
  free(pose);
  free(now);
}

/* formulation NULL: the default; lcp NULL: the sweeps of the formulation */
static runner perp_runner(perp_model *model, const race *c, const char *lcp,
                          const char *formulation)
{
  const run_parts parts = { .lcp = lcp,
                            .contact = lcp != NULL ? "box" : NULL,
                            .formulation = formulation };
  runner r = { .sim = run_start(&ctx, model, parts, c->h) };
  const char *options = formulation != NULL ? strchr(formulation, ':') : NULL;
  if (lcp == NULL)
    snprintf(r.name, sizeof r.name, "perp %s", formulation);
  else
    snprintf(r.name, sizeof r.name, "perp %s%s%s", lcp, options != NULL ? " " : "",
             options != NULL ? options + 1 : "");
  return r;
}

static runner engine_runner(const bench_engine *engine, const perp_model *model, const double *q,
                            const double *v, int sweeps)
{
  const bench_world world = world_of(model, q, v);
  runner r = { .engine = engine, .at = engine->create(&world, sweeps) };
  snprintf(r.name, sizeof r.name, "%s %d", engine->name, sweeps);
  free((void *)(uintptr_t)world.body);
  return r;
}

/* r, and its time over that of perp [ways] */
static void tell(const race *c, const runner *r, const runner *perp, int ways)
{
  const int last = c->steps - 1;
  printf("%-14s %-36s %9.0f %9.0f %9.3f %9.3f", c->name, r->name, r->us[c->steps / 2],
         r->us[(int)(0.99 * last)], 1e3 * r->depth, 1e3 * r->drift);
  for (int i = 0; i < ways; i++) printf(" %6.2f", r->us[c->steps / 2] / perp[i].us[c->steps / 2]);
  printf("%s\n", r->fell ? "  gave up" : "");
  fflush(stdout);
}

static void runner_free(runner *r)
{
  if (r->at != NULL) r->engine->destroy(r->at);
  perp_sim_destroy(r->sim);
  free(r->us);
}

/* Where the time of perp goes. */
static void tell_parts(const race *c, runner *r, const double *q, const double *v)
{
  perp_step_info info;
  perp_times times;
  const double per = 1e6 / c->steps;
  perp_sim_restart(&ctx, r->sim, 0, q, v);
  perp_sim_timing(r->sim, true, NULL);
  for (int k = 0; k < c->steps; k++) perp_sim_step(&ctx, r->sim, HUGE_VAL, &info);
  perp_sim_timing(r->sim, false, &times);
  printf("%-14s   %s, us: collision %.0f, rows %.0f, ", c->name, r->name, per * times.collision,
         per * (times.assembly + times.kkt));
  if (times.lcp > 0) printf("problems and their solution %.0f, ", per * times.lcp);
  printf("%s %.0f\n", times.lcp > 0 ? "rest" : "sweeps and rest", per * times.integrate);
}

static void equal_sweeps(const race *c, perp_model *model, const double *q, const double *v)
{
  runner runners[WAYS + ENGINES];
  int n = 0;
  runners[n++] = perp_runner(model, c, c->swept, c->formulation);
  for (int i = 0; i < SCHEMES; i++) runners[n++] = perp_runner(model, c, NULL, schemes[i]);
  for (int i = 0; i < ENGINES; i++)
    if (engines[i]->dim == perp_model_dim(model) &&
        (engines[i]->cones || strcmp(c->name, "cones") != 0))
      runners[n++] = engine_runner(engines[i], model, q, v, 10);
  run(c, model, q, v, runners, n);
  for (int i = 0; i < n; i++) tell(c, &runners[i], runners, i < WAYS ? 0 : WAYS);
  for (int i = 0; i < WAYS; i++) tell_parts(c, &runners[i], q, v);
  for (int i = 0; i < n; i++) runner_free(&runners[i]);
}

static void equal_accuracy(const race *c, perp_model *model, const double *q, const double *v)
{
  for (int i = 0; i < ENGINES; i++) {
    if (engines[i]->dim != perp_model_dim(model)) continue;
    const int rungs = sizeof ladder / sizeof *ladder;
    for (int k = 0; k < rungs; k++) {
      runner runners[2] = { perp_runner(model, c, c->exact, NULL),
                            engine_runner(engines[i], model, q, v, ladder[k]) };
      run(c, model, q, v, runners, 2);
      const bool there = runners[1].drift <= c->drift && runners[1].depth <= c->depth;
      if (there || k + 1 == rungs) {
        tell(c, &runners[0], NULL, 0);
        tell(c, &runners[1], &runners[0], 1);
        if (!there) printf("%-14s   %s never gets there\n", c->name, engines[i]->name);
      }
      runner_free(&runners[0]);
      runner_free(&runners[1]);
      if (there) break;
    }
  }
}

static void scene_run(const race *c, bool both)
{
  perp_spec spec;
  perp_scene scene;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, c->scene, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&spec);
  const size_t nq = (size_t)perp_model_nq(scene.model), nv = (size_t)perp_model_nv(scene.model);
  double *q = malloc(nq * sizeof *q), *v = malloc(nv * sizeof *v), t;
  if (q == NULL || v == NULL) bail("no memory");
  memcpy(q, perp_model_q0(scene.model), nq * sizeof *q);
  memcpy(v, perp_model_v0(scene.model), nv * sizeof *v);
  if (c->first > 0) {
    runner r = perp_runner(scene.model, c, c->swept, c->formulation);
    perp_step_info info;
    const double *x, *rate;
    for (int k = 0; k < c->first; k++)
      if (perp_sim_step(&ctx, r.sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(r.sim, &t, &x, &rate);
    memcpy(q, x, nq * sizeof *q);
    memcpy(v, rate, nv * sizeof *v);
    runner_free(&r);
  }
  equal_sweeps(c, scene.model, q, v);
  if (both && c->exact != NULL) equal_accuracy(c, scene.model, q, v);
  perp_scene_destroy(&scene);
  free(q);
  free(v);
}

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  printf("engine / perp in columns: perp with problems, with si-baumgarte, with soft-step\n");
  printf("%-14s %-36s %9s %9s %9s %9s %6s %6s %6s\n", "scene", "solver, sweeps", "us/step", "p99",
         "depth mm", "drift mm", "/ lcp", "/ si", "/ soft");
  const bool both = argc < 2 || strcmp(argv[1], "--sweeps") != 0;
  const int first = both ? 1 : 2;
  for (size_t i = 0; i < sizeof races / sizeof *races; i++) {
    bool wanted = argc <= first;
    for (int k = first; k < argc; k++) wanted |= strcmp(argv[k], races[i].name) == 0;
    if (wanted) scene_run(&races[i], both);
  }
  return 0;
}
