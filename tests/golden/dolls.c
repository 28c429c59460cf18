/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figure of 18 segments as a rag doll: random poses within the limits of its joints, random velocities, a fall on the floor, under each
 * LCP solver.  Each run ends, and what is left unsolved is counted.  Where all is solved, joints hold, limits hold to a
 * stated overrun, nothing sinks into the floor, and energy (kinetic and of gravity: nothing does work on a doll) does not grow.
 *
 * Arguments: a number of dolls and names of solvers; none: a few of each. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/contact/contact.h"
#include "models/kinematics/kinematics.h"
#include "models/reduced/reduced_tree.h"
#include "tests/tap.h"

#include <string.h>
#include <time.h>

static perp_ctx ctx;
static const double H = 2e-3, T_END = 0.5;

struct doll {
  perp_scene scene;
  perp_reduced_tree *tree;
  double *q, *u, *q0, *v0; /* joint coordinates and rates, state */
};

/* What was seen of all runs of a solver. */
struct seen {
  int runs, solved; /* runs in which all problems were */
  int64_t problems, failures, swept;
  double joint, over, sunk, gain, work;
  int over_drive;
};

/* The turns of a ball joint by its three angles, from the initial state, in which all bodies stand upright. */
static void doll_turns(const perp_joint_def *j, const double angle[4], double quat[4])
{
  double axis[4][3], q[4] = { 1, 0, 0, 0 };
  memcpy(axis[PERP_DRIVE_A], j->axis_a, sizeof axis[0]);
  memcpy(axis[PERP_DRIVE_B], j->axis_b, sizeof axis[0]);
  perp_cross(j->axis_a, j->axis_b, axis[PERP_DRIVE_NODE]);
  static const perp_drive_axis order[] = { PERP_DRIVE_B, PERP_DRIVE_NODE, PERP_DRIVE_A };
  for (int k = 0; k < 3; k++) {
    const double *n = axis[order[k]], a = angle[order[k]] / 2, length = sqrt(perp_dot(3, n, n));
    const double by[4] = { cos(a), sin(a) * n[0] / length, sin(a) * n[1] / length,
                           sin(a) * n[2] / length };
    double product[4];
    perp_quat_product(by, q, product);
    memcpy(q, product, sizeof q);
  }
  memcpy(quat, q, sizeof q);
}

/* The lowest point of all capsules. */
static double doll_lowest(const perp_model *m, const double *q)
{
  double lowest = HUGE_VAL;
  for (int i = 0; i < perp_model_shapes(m); i++) {
    const perp_shape_def *s = perp_model_shape(m, i);
    if (s->kind != PERP_SHAPE_CAPSULE) continue;
    double R[9], end[3], p[3];
    perp_quat_matrix(s->quat, R);
    for (int side = -1; side <= 1; side += 2) {
      for (int k = 0; k < 3; k++) end[k] = s->x[k] + side * s->length / 2 * R[k];
      perp_model_point(m, q, s->body, end, p);
      lowest = fmin(lowest, p[2] - s->radius);
    }
  }
  return lowest;
}

static double doll_floor(const perp_model *m)
{
  for (int i = 0; i < perp_model_shapes(m); i++)
    if (perp_model_shape(m, i)->kind == PERP_SHAPE_PLANE) return perp_model_shape(m, i)->x[2];
  bail("there is no floor");
}

/* Pose and velocities of a seed, a little above the floor. */
static void doll_throw(struct doll *d, uint64_t seed)
{
  const perp_model *m = d->scene.model;
  perp_rng *rng = perp_rng_create(seed);
  if (rng == NULL) bail("no memory");
  double angle[64][4] = { { 0 } };
  for (int j = 0; j < perp_model_joints(m); j++) {
    const bool arm = strstr(perp_model_joint(m, j)->name, "UpperArm") != NULL;
    for (int k = 0; k < 4; k++) angle[j][k] = perp_rng_uniform(rng, -0.4, 0.4) * (arm ? 3 : 1);
  }
  for (int i = 0; i < perp_model_drives(m); i++) {
    const perp_drive_def *drive = perp_model_drive(m, i);
    angle[drive->joint][drive->axis] = perp_rng_uniform(rng, drive->lower, drive->upper);
  }
  perp_reduced_from_model(d->tree, perp_model_q0(m), perp_model_v0(m), d->q, d->u);
  for (int k = 0; k < d->tree->n; k++) {
    const perp_reduced_node *node = &d->tree->node[k];
    if (node->kind == PERP_REDUCED_BALL)
      doll_turns(perp_model_joint(m, node->body - 1), angle[node->body - 1], d->q + node->iq);
    else
      for (int c = 3; c < 7; c++) d->q[node->iq + c] = perp_rng_uniform(rng, -1, 1);
    for (int c = 0; c < node->nu; c++) d->u[node->iu + c] = perp_rng_uniform(rng, -3, 3);
  }
  perp_reduced_project(d->tree, d->q);
  perp_reduced_kinematics(d->tree, d->q, d->u);
  perp_reduced_to_model(d->tree, d->q0, d->v0);
  const double up = doll_floor(m) + perp_rng_uniform(rng, 0, 0.2) - doll_lowest(m, d->q0);
  perp_rng_destroy(rng);
  for (int b = 0; b < perp_model_bodies(m); b++) d->q0[7 * b + 2] += up;
}

/* What the limits are overrun by. */
static void doll_limits(const struct doll *d, const double *q, struct seen *s)
{
  const perp_model *m = d->scene.model;
  for (int i = 0; i < perp_model_drives(m); i++) {
    const perp_drive_def *drive = perp_model_drive(m, i);
    const double x = perp_model_drive_coordinate(m, q, i);
    const double over = fmax(drive->lower - x, x - drive->upper);
    if (over > s->over) s->over = over, s->over_drive = i;
  }
}

static void doll_run(struct doll *d, perp_sim *sim, uint64_t seed, const char *lcp, struct seen *s)
{
  const perp_model *m = d->scene.model;
  double t = 0, least = HUGE_VAL, gain = 0, size = 0, C[64];
  struct seen now = *s;
  doll_throw(d, seed);
  if (perp_sim_restart(&ctx, sim, 0, d->q0, d->v0) != PERP_OK) bail("%s", ctx.msg);
  bool lives = true;
  for (int steps = 0; lives && t < T_END; steps++) {
    perp_step_info info;
    const double *q, *v;
    double kinetic, potential;
    const perp_status status = perp_sim_step(&ctx, sim, T_END, &info);
    lives = status == PERP_OK && info.reason >= 0 && steps < 2 * T_END / H;
    if (!lives) {
      ok(status == PERP_OK && info.reason < 0, "%s, doll %d: a step that fails says why: %s", lcp,
         (int)seed, ctx.msg);
      break;
    }
    perp_sim_state(sim, &t, &q, &v);
    perp_model_energy(m, t, q, v, &kinetic, &potential);
    const double energy = kinetic + potential;
    if (!isfinite(energy)) bail("%s, doll %d: no finite state at t = %g", lcp, (int)seed, t);
    size = fmax(size, kinetic);
    if (energy < least) least = energy;
    gain = fmax(gain, energy - least);
    perp_model_error(m, t, q, C);
    for (int i = 0; i < perp_model_m(m); i++) now.joint = fmax(now.joint, fabs(C[i]));
    now.sunk = fmax(now.sunk, doll_floor(m) - doll_lowest(m, q));
    doll_limits(d, q, &now);
  }
  now.gain = fmax(now.gain, gain / size);
  const perp_contact_count *count = perp_sim_contacts(sim);
  now.problems += count->problems + count->reused;
  now.failures += count->failures;
  now.swept += count->swept;
  now.work = fmax(now.work, count->work);
  now.runs++;
  if (getenv("DOLLS") != NULL)
    printf("# %s %d: failures %d swept %d joint %.2g over %.2g sunk %.2g gain %.2g\n", lcp,
           (int)seed, (int)count->failures, (int)count->swept, now.joint, now.over, now.sunk,
           gain / size);
  if (lives && count->failures + count->swept == 0) {
    *s = now;
    s->solved++;
    return;
  }
  s->runs = now.runs;
  s->problems = now.problems;
  s->failures = now.failures;
  s->swept = now.swept;
  s->work = now.work;
}

static void doll_solver(struct doll *d, const char *lcp, int dolls)
{
  perp_parts parts = { 0 };
  perp_sim *sim;
  struct seen s = { 0 };
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, lcp, &parts.lcp) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_stab, "post", &parts.stab) != PERP_OK)
    bail("%s", ctx.msg);
  if (perp_sim_create(&ctx, d->scene.model, &parts, H, &sim) != PERP_OK) {
    printf("# %s: %s\n", lcp, ctx.msg);
    perp_parts_free(&parts);
    return;
  }
  const clock_t start = clock();
  for (int k = 0; k < dolls; k++) doll_run(d, sim, (uint64_t)k + 1, lcp, &s);
  printf("# %-18s %3d of %3d solved, %lld of %lld problems failed, %lld swept; joints %.2g over %.3g (%s) "
         "sunk %.2g gain %.2g work %.2g, %.1f s\n",
         lcp, s.solved, s.runs, (long long)s.failures, (long long)s.problems, (long long)s.swept,
         s.joint, s.over, perp_model_drive(d->scene.model, s.over_drive)->name, s.sunk, s.gain,
         s.work, (double)(clock() - start) / CLOCKS_PER_SEC);
  perp_sim_destroy(sim);
  perp_parts_free(&parts);
}

int main(int argc, char **argv)
{
  static const char *const few[] = { "auto", "dantzig" };
  const char *source = getenv("PERP_SOURCE");
  struct doll d = { 0 };
  perp_spec spec;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  char *path = perp_xprintf("%s/experiments/scenes/examples/figure.yaml",
                            source != NULL ? source : ".");
  if (perp_spec_parse(&ctx, PERP_KIND_scene, path, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &d.scene) != PERP_OK ||
      perp_reduced_create(&ctx, d.scene.model, &d.tree) != PERP_OK)
    bail("%s", ctx.msg);
  d.q = perp_xalloc((size_t)d.tree->nq, sizeof *d.q);
  d.u = perp_xalloc((size_t)d.tree->nu, sizeof *d.u);
  d.q0 = perp_xalloc((size_t)perp_model_nq(d.scene.model), sizeof *d.q0);
  d.v0 = perp_xalloc((size_t)perp_model_nv(d.scene.model), sizeof *d.v0);
  for (size_t i = 0; argc < 3 && i < sizeof few / sizeof *few; i++)
    doll_solver(&d, few[i], argc > 1 ? atoi(argv[1]) : 3);
  for (int i = 2; i < argc; i++) doll_solver(&d, argv[i], atoi(argv[1]));
  free(d.q);
  free(d.u);
  free(d.q0);
  free(d.v0);
  free(d.tree);
  perp_scene_destroy(&d.scene);
  perp_spec_free(&spec);
  free(path);
  return tap_done();
}
