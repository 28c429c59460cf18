/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heaps event by event: TestFallingObjects with round bodies, boxes and both.  Energies and the
 * gaps of spheres are computed here, from the state alone. */
#include "models/collision/collision.h"
#include "models/multibody/model_private.h"
#include "models/scenes/scene.h"
#include "models/geometry/shapes_private.h"
#include "tests/run_model.h"

#include <string.h>

static perp_ctx ctx;
static const double G = 9.81, HALF = 1.5;

static double energy(const perp_model *m, const double *q, const double *v)
{
  double sum = 0;
  for (int b = 0; b < m->n_bodies; b++) {
    const perp_inertia *in = &m->inertia[b];
    const double *u = v + 6 * b;
    sum += in->mass * G * q[7 * b + 2];
    for (int i = 0; i < 3; i++) {
      sum += 0.5 * in->mass * u[i] * u[i];
      for (int j = 0; j < 3; j++) sum += 0.5 * u[3 + i] * in->I[3 * i + j] * u[3 + j];
    }
  }
  return sum;
}

static double kinetic(const perp_model *m, const double *q, const double *v)
{
  double sum = energy(m, q, v);
  for (int b = 0; b < m->n_bodies; b++) sum -= m->inertia[b].mass * G * q[7 * b + 2];
  return sum;
}

/* of balls of this radius, to each other, the floor and the walls */
static double ball_gap(int n, double radius, const double *q)
{
  double least = HUGE_VAL;
  for (int b = 0; b < n; b++) {
    const double *x = q + 7 * b;
    least = fmin(least, x[2] - radius);
    for (int i = 0; i < 2; i++) least = fmin(least, HALF - fabs(x[i]) - radius);
    for (int c = 0; c < b; c++) {
      const double *y = q + 7 * c;
      least = fmin(least, hypot(hypot(x[0] - y[0], x[1] - y[1]), x[2] - y[2]) - 2 * radius);
    }
  }
  return least;
}

/* of all pairs of shapes: by the exact distance, not by the contacts of the run */
static double least_gap(const perp_model *m, const double *q)
{
  double least = HUGE_VAL;
  perp_pose pose[64] = { { .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } } }; /* the world first */
  for (int b = 0; b < m->n_bodies; b++) perp_pose_of(3, q + 7 * b, &pose[b + 1]);
  for (int i = 0; i < m->n_shapes; i++)
    for (int j = 0; j < i; j++) {
      const int a = m->shape[j].body, b = m->shape[i].body;
      if (a == b) continue;
      least = fmin(least,
                   perp_shape_distance(m, j, &pose[a + 1], i, &pose[b + 1], NULL, NULL, NULL));
    }
  return least;
}

/* Momentum [3] of all bodies, world. */
static void momentum(const perp_model *m, const double *v, double P[3])
{
  P[0] = P[1] = P[2] = 0;
  for (int b = 0; b < m->n_bodies; b++)
    for (int i = 0; i < 3; i++) P[i] += m->inertia[b].mass * v[6 * b + i];
}

/* What the contacts of steps do, over weight times step: the most of it. */
typedef struct balance {
  double P[3], t; /* of the step before */
  int64_t impacts, piled;
  /* momentum that nothing has given, of steps without impacts, and weight times these steps: forces
   * are those of the start of a step, and change within it but where it is hasty */
  double lost, weight;
  double smooth, hasty; /* the most of it in one step, of weight times step */
  double pulls, beyond; /* normal impulses < 0, friction beyond mu times them */
  int steps;
} balance;

/* Momentum: P1 - P0 = h sum m g + impulses of floor and walls, which are all that act from outside.
 */
static void balance_step(balance *B, const perp_model *m, const perp_contact_count *c,
                         const perp_step_info *info, double t, const double *v)
{
  double P[3], off[3], weight = 0;
  for (int b = 0; b < m->n_bodies; b++) weight += m->inertia[b].mass * G;
  momentum(m, v, P);
  const double h = t - B->t, unit = h > 0 ? weight * h : 1; /* impacts take no time */
  for (int i = 0; i < 3; i++) off[i] = P[i] - B->P[i] + (i == 2 ? weight * h : 0);
  for (int i = 0; i < info->n_contacts; i++) {
    const perp_contact *x = &info->contacts[i];
    const double *J = info->impulse + 3 * i, normal = perp_dot(3, x->n, J);
    double slide = 0;
    for (int j = 0; j < 3; j++) {
      if (x->body[0] < 0) off[j] -= J[j];
      if (x->body[1] < 0) off[j] += J[j];
      slide += pow(J[j] - normal * x->n[j], 2);
    }
    B->pulls = fmax(B->pulls, -normal / unit);
    /* the limit is that of each of two directions */
    B->beyond = fmax(B->beyond, (sqrt(slide) - sqrt(2) * x->mu * normal) / unit);
  }
  /* impacts tell no impulses; shorter: rounding of velocities */
  if (c->impacts == B->impacts && h > 1e-4) {
    const double most = sqrt(perp_dot(3, off, off)) / (weight * h);
    B->lost += most * weight * h;
    B->weight += weight * h;
    if (c->piled > B->piled)
      B->hasty = fmax(B->hasty, most);
    else
      B->smooth = fmax(B->smooth, most);
    B->steps++;
  }
  memcpy(B->P, P, sizeof P);
  B->t = t;
  B->impacts = c->impacts;
  B->piled = c->piled;
}

static perp_sim *heap_start(const char *shape, int n, const char *lcp, perp_scene *scene)
{
  char text[64];
  perp_spec spec = { 0 };
  snprintf(text, sizeof text, "falling:objects=%d,side=3,shape=%s", n, shape);
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, scene) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&spec);
  return run_start(&ctx, scene->model,
                   (run_parts){ .formulation = "acceleration", .ode = "rk4", .lcp = lcp },
                   scene->h);
}

static bool slow; /* the large heaps */

/* calm: part of the energy at the start that may be left as motion */
static void heap(const char *shape, int n, const char *lcp, double t_end, double calm)
{
  perp_scene scene;
  perp_sim *sim = heap_start(shape, n, lcp, &scene);
  const bool balls = strcmp(shape, "spheres") == 0;
  double t = 0, least = HUGE_VAL, gained = 0, gap = HUGE_VAL, first = NAN;
  const double *q, *v;
  perp_step_info info = { 0 };
  int steps = 0;
  balance B = { .P = { 0 } };
  while (t < t_end && steps++ < 5000) {
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK) bail("%s", ctx.msg);
    if (info.reason < 0) break;
    perp_sim_state(sim, &t, &q, &v);
    balance_step(&B, scene.model, perp_sim_contacts(sim), &info, t, v);
    const double E = energy(scene.model, q, v);
    if (isnan(first)) first = E;
    gained = fmax(gained, E - least);
    least = fmin(least, E);
    gap = fmin(gap, balls ? ball_gap(n, 0.5, q) : least_gap(scene.model, q));
  }
  const perp_contact_count *c = perp_sim_contacts(sim);
  /* Bodies that jam between others that slide may have no forces by Coulomb's law, and the step is
   * made with another creep: of five such problems of up to 21 rows no regular complementary basis
   * comes nearer than g / 3 (singular ones were not tried).  They count, with the evaluations that
   * a step of the integrator discards: up to 12 of 7578 in large heaps, 1 of 4375 in small ones. */
  const int64_t most = slow                        ? c->problems / 400
                       : strcmp(lcp, "lemke") == 0 ? c->problems / 1000
                                                   : 0;
  ok(info.reason >= 0 && t == t_end && c->failures <= most,
     "%d %s, %s: %d steps, %d of first order, to %g s, %d of %d problems not solved", n, shape, lcp,
     steps, (int)c->piled, t, (int)c->failures, (int)c->problems);
  below(gained, 2e-6 * first, "... no energy is made: %.1g of it", gained / first);
  below(least, first, "... and some is lost");
  /* boxes: where collision detection lets a corner be beyond a rim, 1e-6 of the body */
  below(-gap, balls ? 1e-8 : 2e-6, "... no body is in another one, or in a wall: %.1g m", -gap);
  below(kinetic(scene.model, q, v), calm * first,
        "... and they come to rest: %.1g of it is left as motion",
        kinetic(scene.model, q, v) / first);
  /* worst of all heaps here: 4e-11 (auto, by its tolerance) where forces hold, 0.09 where they
   * change within the step */
  below(B.hasty, 1e-8, "... momentum of steps of first order: %.1g of weight times step", B.hasty);
  below(B.smooth, 0.2, "... and of the %d steps without impacts: %.1g", B.steps, B.smooth);
  below(B.lost, 2e-3 * B.weight,
        "... and in all %.1g of it is not that of the forces at the starts of steps",
        B.lost / B.weight);
  below(fmax(B.pulls, B.beyond), 1e-8, "... contacts push, with friction within its limits: %.1g",
        fmax(B.pulls, B.beyond));
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
}

/* Bodies that lie still ask for no solution again, though their forces are not unique: balls are as
 * cheap as cubes. */
static void rest(const char *shape, const char *lcp)
{
  enum { N = 8 };
  static const double CALM = 5, END = 6;
  perp_scene scene;
  perp_sim *sim = heap_start(shape, N, lcp, &scene);
  const perp_contact_count *c = perp_sim_contacts(sim);
  perp_contact_count calm = { 0 };
  perp_step_info info = { 0 };
  const double *q, *v;
  double t = 0;
  int steps = 0;
  while (t < END) {
    const bool falls = t < CALM;
    if (perp_sim_step(&ctx, sim, falls ? CALM : END, &info) != PERP_OK || info.reason < 0)
      bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (falls)
      calm = *c;
    else
      steps++;
  }
  double fastest = 0;
  for (int i = 0; i < scene.model->nv; i++) fastest = fmax(fastest, fabs(v[i]));
  below(fastest, 1e-12, "%d %s, %s, are at rest: %.1g m/s, rad/s", N, shape, lcp, fastest);
  ok(c->problems == calm.problems && c->piled == calm.piled && c->switches == calm.switches &&
         info.n_contacts >= 2 * N,
     "... %d contacts in %d steps: %d problems asked, %d steps of first order", info.n_contacts,
     steps, (int)(c->problems - calm.problems), (int)(c->piled - calm.piled));
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
}

static const struct {
  const char *shape;
  int n;
  const char *lcp;
  double calm;
  bool slow;
} heaps[] = { { "spheres", 3, "dantzig", 0.02, false }, { "spheres", 3, "lemke", 0.02, false },
              { "spheres", 3, "auto", 0.02, false },    { "spheres", 8, "dantzig", 0.02, true },
              { "spheres", 8, "lemke", 0.02, false },   { "spheres", 8, "auto", 0.02, true },
              { "cubes", 3, "dantzig", 0.02, false },   { "cubes", 8, "dantzig", 0.02, false },
              { "cubes", 8, "lemke", 0.02, false },     { "cubes", 8, "auto", 0.02, false },
              { "mixed", 3, "dantzig", 0.02, false },   { "mixed", 3, "lemke", 0.02, false },
              { "mixed", 3, "auto", 0.02, false },      { "mixed", 8, "lemke", 0.02, true },
              { "mixed", 8, "dantzig", 0.02, true },    { "mixed", 8, "auto", 0.02, true },
              { "cubes", 20, "dantzig", 0.02, true },   { "cubes", 20, "lemke", 0.02, true },
              { "cubes", 20, "auto", 0.02, true },      { "spheres", 10, "lemke", 0.02, true },
              { "spheres", 20, "lemke", 0.02, true },   { "mixed", 20, "lemke", 0.02, true },
              { "spheres", 5, "dantzig", 0.02, false }, { "mixed", 5, "auto", 0.02, false },
              { "spheres", 16, "dantzig", 0.02, true }, { "spheres", 20, "dantzig", 0.02, true },
              { "spheres", 20, "auto", 0.02, true },    { "mixed", 16, "dantzig", 0.02, true },
              { "spheres", 13, "lemke", 0.02, false },  { "spheres", 13, "auto", 0.02, true } };

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  slow = argc > 1 && strcmp(argv[1], "slow") == 0;
  if (!slow) rest("spheres", "dantzig"), rest("spheres", "lemke"), rest("cubes", "dantzig");
  for (size_t i = 0; i < sizeof heaps / sizeof *heaps; i++)
    if (heaps[i].slow == slow) heap(heaps[i].shape, heaps[i].n, heaps[i].lcp, 2.5, heaps[i].calm);
  return tap_done();
}
