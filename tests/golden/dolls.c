/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figure of 18 segments as a rag doll: random poses within the limits of its joints, random
 * velocities, a fall on the floor, under every LCP solver that serves it.  Each run ends; a problem
 * whose answer is none, by the natural map computed here, is counted as not solved, and the status
 * of a run says so.  Where all problems are solved, joints and limits hold, nothing sinks into the
 * floor, and energy (kinetic and of gravity) does not grow but by what limits that were overrun
 * give back.  A run that is made again with the same workspaces is the same to the last bit.
 *
 * Arguments: a number of dolls for each solver, and names of solvers (none: all); none: a few
 * dolls. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "models/contact/laws/contact.h"
#include "models/geometry/kinematics.h"
#include "models/multibody/reduced_tree.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;
static double h = 2e-3;    /* s */
static double t_end = 0.5; /* s */

/* What the runs promise where all problems are solved: m, rad, and parts of the largest kinetic
 * energy. */
static const double JOINTS = 1e-9, LIMITS = 0.1, SUNK = 1e-7, GAIN = 1e-6;
/* An answer that is called one: its natural map, as a velocity over the largest |b|. */
static const double ANSWER = 1e-5;

struct doll {
  perp_scene scene;
  perp_reduced_tree *tree;
  double *q, *u, *q0, *v0; /* joint coordinates and rates, state */
  double *x;               /* [drives] their coordinates in the state before */
};

/* What was seen of all runs of a solver, from `joint` on of those in which all problems were
 * solved. */
struct seen {
  int runs, solved;
  bool ends;
  int64_t problems, failures, swept;
  double answer; /* the worst of those that are called solutions */
  double joint, over, sunk, gain;
  int over_drive;
};

/* The turns of a ball joint by its three angles, from the initial state, in which all bodies stand
 * upright. */
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

/* At most what the limits have done to the figure in the step: their forces times the way. */
static double doll_given_back(const struct doll *d, const double *q, const double *force)
{
  const perp_model *m = d->scene.model;
  double work = 0;
  for (int i = 0; i < perp_model_drives(m); i++) {
    const double x = perp_model_drive_coordinate(m, q, i);
    if (force != NULL) work += fmax(0, force[i] * (x - d->x[i]));
    d->x[i] = x;
  }
  return work;
}

/* The largest diagonal of the rows in which row i stands: velocity per impulse of its contact. */
static double doll_mobility(const perp_lcp *p, int i)
{
  double largest = 0;
  for (int k = 0; k < p->n; k++)
    if (p->A[i + k * p->lda] != 0) largest = fmax(largest, p->A[k + k * p->lda]);
  return largest;
}

/* An answer by its natural map lambda - clamp(lambda - w / A_ii), as velocities.  A row of
 * diagonal 0 is the friction bound of Stewart and Trinkle: there lambda is a velocity and w an
 * impulse. */
static void doll_judge(void *user, const perp_contact_place *place, const perp_lcp *p,
                       const double *lambda, const perp_stats *stats)
{
  struct seen *s = user;
  double worst = 0, largest = 0;
  (void)place;
  if (p->A == NULL || p->cone != NULL || (stats != NULL && stats->reason <= 0)) return;
  for (int i = 0; i < p->n; i++) {
    const double a = p->A[i + i * p->lda];
    double w = p->b[i], lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    for (int k = 0; k < p->n; k++) w += p->A[i + k * p->lda] * lambda[k];
    if (p->fric_of != NULL && p->fric_of[i] >= 0) {
      hi = p->mu[i] * fmax(lambda[p->fric_of[i]], 0);
      lo = -hi;
    }
    const double move = a > 0 ? w / a : w * doll_mobility(p, i);
    const double map = fabs(lambda[i] - fmin(fmax(lambda[i] - move, lo), hi));
    worst = fmax(worst, a > 0 ? a * map : map);
    largest = fmax(largest, fabs(p->b[i]));
  }
  if (largest > 0) s->answer = fmax(s->answer, worst / largest);
}

static void doll_run(struct doll *d, perp_sim *sim, int seed, struct seen *s)
{
  const perp_model *m = d->scene.model;
  double t = 0, least, gain = 0, size = 0, kinetic, potential, C[64];
  struct seen now = *s;
  doll_throw(d, (uint64_t)seed);
  if (perp_sim_restart(&ctx, sim, 0, d->q0, d->v0) != PERP_OK) bail("%s", ctx.msg);
  perp_sim_observe(sim, doll_judge, &now);
  doll_given_back(d, d->q0, NULL);
  perp_model_energy(m, 0, d->q0, d->v0, &kinetic, &potential);
  least = kinetic + potential;
  bool lives = true;
  for (int steps = 0; lives && t < t_end; steps++) {
    perp_step_info info;
    const double *q, *v;
    const perp_status status = perp_sim_step(&ctx, sim, t_end, &info);
    lives = status == PERP_OK && info.reason >= 0;
    /* a step that fails has a reason, and there are no more steps than the time has */
    now.ends = now.ends && status == PERP_OK && steps < 2 * t_end / h;
    if (!now.ends) break;
    perp_sim_state(sim, &t, &q, &v);
    perp_model_energy(m, t, q, v, &kinetic, &potential);
    now.ends = now.ends && isfinite(kinetic + potential);
    least = fmin(least + doll_given_back(d, q, info.drive), kinetic + potential);
    gain = fmax(gain, kinetic + potential - least);
    size = fmax(size, kinetic);
    perp_model_error(m, t, q, C);
    for (int i = 0; i < perp_model_m(m); i++) now.joint = fmax(now.joint, fabs(C[i]));
    now.sunk = fmax(now.sunk, doll_floor(m) - doll_lowest(m, q));
    doll_limits(d, q, &now);
  }
  const perp_contact_count *count = perp_sim_contacts(sim);
  struct seen all = lives && count->failures + count->swept == 0 ? now : *s;
  all.runs++;
  all.solved += lives && count->failures + count->swept == 0;
  all.ends = now.ends;
  all.answer = now.answer;
  all.problems += count->problems + count->reused;
  all.failures += count->failures;
  all.swept += count->swept;
  if (all.solved > s->solved) all.gain = fmax(s->gain, gain / size);
  *s = all;
}

/* false: the solver serves no dolls. */
static bool doll_solver(struct doll *d, const char *lcp, int dolls)
{
  perp_parts parts = { 0 };
  perp_sim *sim;
  struct seen s = { .ends = true };
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, lcp, &parts.lcp) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_stab, "post:passes=3", &parts.stab) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_status status = perp_sim_create(&ctx, d->scene.model, &parts, h, &sim);
  if (status != PERP_OK) {
    ok(status == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, "--lcp") != NULL,
       "%s is refused, and the message says what to take: %s", lcp, ctx.msg);
    perp_parts_free(&parts);
    return false;
  }
  /* the first one again behind the others, in the same workspaces, which have grown */
  const size_t size = (size_t)perp_model_nq(d->scene.model) * sizeof(double);
  double *end = perp_xalloc(1, size), t;
  const double *q, *v;
  for (int k = 1; k <= dolls; k++) {
    doll_run(d, sim, k, &s);
    perp_sim_state(sim, &t, &q, &v);
    if (k == 1) memcpy(end, q, size);
  }
  struct seen again = { .ends = true };
  doll_run(d, sim, 1, &again);
  perp_sim_state(sim, &t, &q, &v);
  ok(s.ends,
     "%s: %d dolls, all runs end; %d with all problems solved, %lld of %lld problems were not", lcp,
     s.runs, s.solved, (long long)(s.failures + s.swept), (long long)s.problems);
  ok(memcmp(end, q, size) == 0, "... the first one is the same again, to the last bit");
  below(s.answer, ANSWER, "... what is called a solution is one, to %.2g", s.answer);
  below(s.joint, JOINTS, "... joints hold to %.2g m", s.joint);
  below(s.over, LIMITS, "... limits are overrun by %.2g rad (%s)", s.over,
        perp_model_drive(d->scene.model, s.over_drive)->name);
  below(s.sunk, SUNK, "... nothing is deeper in the floor than %.2g m", s.sunk);
  below(s.gain, GAIN, "... energy grows by %.2g beyond what limits give back", s.gain);
  free(end);
  perp_sim_destroy(sim);
  perp_parts_free(&parts);
  return true;
}

/* The scene file, as perp simulate runs it: the status says what was not solved. */
static void doll_status(const char *folder, const char *lcp)
{
  char *scene = perp_xprintf("%s/rag-doll.yaml:seed=3", folder);
  perp_request request = { .scene = scene, .lcp = lcp, .t_end = 0.7 };
  perp_result r;
  if (perp_simulate(&ctx, &request, &r) != PERP_OK) bail("%s: %s", lcp, ctx.msg);
  const char *status = perp_result_status_name(&r);
  const perp_contact_count *c = &r.contact_count;
  if (r.status == PERP_OK)
    ok((c->failures > 0) == (strcmp(status, "unsolved") == 0) || r.reason < 0,
       "%s: %lld problems not solved, status %s", lcp, (long long)c->failures, status);
  perp_result_free(&r);
  free(scene);
}

int main(int argc, char **argv)
{
  static const char *const long_ones[] = { "enumerate", "jacobi", "murty", "psor",
                                           "extragradient" };
  const char *source = getenv("PERP_SOURCE");
  struct doll d = { 0 };
  perp_spec spec;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  char *folder = perp_xprintf("%s/experiments/scenes/examples", source != NULL ? source : ".");
  char *path = perp_xprintf("%s/figure.yaml", folder);
  if (perp_spec_parse(&ctx, PERP_KIND_scene, path, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &d.scene) != PERP_OK ||
      perp_reduced_create(&ctx, d.scene.model, &d.tree) != PERP_OK)
    bail("%s", ctx.msg);
  if (argc < 2) t_end = 0.3;
  d.q = perp_xalloc((size_t)d.tree->nq, sizeof *d.q);
  d.u = perp_xalloc((size_t)d.tree->nu, sizeof *d.u);
  d.q0 = perp_xalloc((size_t)perp_model_nq(d.scene.model), sizeof *d.q0);
  d.v0 = perp_xalloc((size_t)perp_model_nv(d.scene.model), sizeof *d.v0);
  d.x = perp_xalloc((size_t)perp_model_drives(d.scene.model), sizeof *d.x);
  const perp_desc *lcp;
  for (int i = 0; (lcp = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++) {
    bool asked = argc <= 2;
    for (int k = 2; k < argc; k++) asked = asked || strcmp(lcp->name, argv[k]) == 0;
    if (!asked) continue;
    bool quick = strchr(lcp->name, ':') == NULL;
    for (size_t k = 0; k < sizeof long_ones / sizeof *long_ones; k++)
      quick = quick && strcmp(lcp->name, long_ones[k]) != 0;
    if (!quick && (argc < 2 || strchr(lcp->name, ':') != NULL)) continue;
    /* it looks at all index sets of 20 rows at most */
    const bool slow = strcmp(lcp->name, "enumerate") == 0;
    const int dolls = argc > 1 ? (slow ? 5 : atoi(argv[1])) : 2;
    if (doll_solver(&d, lcp->name, dolls) && argc > 1) doll_status(folder, lcp->name);
  }
  if (argc > 1) { /* short steps, where limits give back faster */
    h = 5e-4;
    doll_solver(&d, "auto", atoi(argv[1]));
  }
  free(folder);
  free(d.x);
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
