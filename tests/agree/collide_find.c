/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collision detection of a crowd of random shapes on the move: after every step the contacts are,
 * bit for bit, those of asking all pairs one by one with the rules of shape.h, and those of a
 * detection made anew; nothing is allocated; hostile poses are refused or answered with finite
 * numbers.  A cloud of so many that a team looks at it: the same bits for any number of threads.
 *
 * Arguments: number of crowds (default 12), steps each (default 40). */
#include "models/collision/pairs.h"
#include "tests/count_malloc.h"
#include "tests/tap.h"

#include <string.h>

enum { SHAPES = 90, CONTACTS = 1 << 16 };

static perp_ctx ctx;
static perp_rng *rng;
static perp_contact want[CONTACTS];

static double uniform(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

static perp_shape_def random_shape(int dim)
{
  static double v[30];
  perp_shape_def def = { .surface = { .mu = uniform(0, 1), .mu_dynamic = NAN } };
  double size = pow(10, uniform(-1.5, 0.3));
  def.kind = (perp_shape_kind)perp_rng_int(rng, dim == 3 ? PERP_SHAPE_CONE + 1 : 5);
  if (def.kind == PERP_SHAPE_PLANE && perp_rng_int(rng, 4) != 0) def.kind = PERP_SHAPE_BOX;
  def.radius = uniform(0.1, 0.6) * size;
  def.length = size;
  for (int k = 0; k < 3; k++) def.half[k] = uniform(0.05, 0.6) * size, def.x[k] = uniform(-1, 1);
  for (int k = 0; k < 4; k++) def.quat[k] = perp_rng_normal(rng);
  def.angle = uniform(-4, 4);
  def.vertices = v;
  def.n_vertices = 10;
  for (int k = 0; k < 30; k++) v[k] = size * uniform(-0.6, 0.6);
  def.group = perp_rng_int(rng, 8) == 0 ? 1 + perp_rng_int(rng, 2) : 0;
  def.collide_joined = perp_rng_int(rng, 8) == 0;
  return def;
}

static perp_model *random_crowd(int dim)
{
  perp_model *m = NULL;
  if (perp_model_create(&ctx, dim, &m) != PERP_OK) bail("%s", ctx.msg);
  int bodies = 0, on = 0;
  bool planes = false;
  for (int i = 0; i < SHAPES; i++) {
    perp_shape_def def = random_shape(dim);
    int where = perp_rng_int(rng, 10);
    def.body = PERP_WORLD;
    if (where > 1 || bodies == 0) { /* a body of its own */
      perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
      for (int k = 0; k < 3; k++) body.x[k] = uniform(-2, 2);
      if (perp_model_add_body(&ctx, m, &body, &def.body) != PERP_OK) bail("%s", ctx.msg);
      bodies++;
    } else if (where == 1) { /* one more shape on a body that exists */
      def.body = perp_rng_int(rng, bodies);
    }
    if (def.kind == PERP_SHAPE_PLANE) { /* all of them on one body: they cannot meet */
      if (planes && on != def.body) def.kind = PERP_SHAPE_BOX;
      if (!planes) on = def.body;
      planes = true;
    }
    if (perp_model_add_shape(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  for (int i = 0; i < 20; i++) {
    perp_joint_def joint = { .kind = PERP_JOINT_BALL, .softness = 1 };
    joint.a = perp_rng_int(rng, bodies + 1) - 1;
    joint.b = perp_rng_int(rng, bodies);
    if (joint.a == joint.b) continue;
    /* anchored where it holds: at the centre of b */
    const double *xb = perp_model_body(m, joint.b)->x, zero[3] = { 0 };
    const double *xa = joint.a < 0 ? zero : perp_model_body(m, joint.a)->x;
    for (int k = 0; k < dim; k++) joint.anchor_a[k] = xb[k] - xa[k];
    if (perp_model_add_joint(&ctx, m, &joint, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

/* the rules, read from the definitions */
static bool may_touch(const perp_model *m, int i, int j)
{
  const perp_shape_def *a = perp_model_shape(m, i), *b = perp_model_shape(m, j);
  if (a->body == b->body || (a->group != 0 && a->group == b->group)) return false;
  for (int k = 0; k < perp_model_joints(m); k++) {
    const perp_joint_def *joint = perp_model_joint(m, k);
    bool joins = (joint->a == a->body && joint->b == b->body) ||
                 (joint->a == b->body && joint->b == a->body);
    if (joins && !a->collide_joined && !b->collide_joined) return false;
  }
  return true;
}

static bool same(const perp_contact *a, int na, const perp_contact *b, int nb)
{
  if (na != nb) return false;
  for (int i = 0; i < na; i++)
    if (a[i].id != b[i].id || memcmp(a[i].p[0], b[i].p[0], sizeof a[i].p[0]) != 0 ||
        memcmp(a[i].p[1], b[i].p[1], sizeof a[i].p[1]) != 0 ||
        memcmp(a[i].n, b[i].n, sizeof a[i].n) != 0 || a[i].gap != b[i].gap || a[i].mu != b[i].mu ||
        a[i].shape[0] != b[i].shape[0] || a[i].body[1] != b[i].body[1])
      return false;
  return true;
}

static bool finite_contacts(const perp_contact *c, int n)
{
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++)
      if (!isfinite(c[i].p[0][k]) || !isfinite(c[i].p[1][k]) || !isfinite(c[i].n[k]) ||
          !isfinite(c[i].gap))
        return false;
  return true;
}

/* sometimes a step, sometimes a leap, sometimes rest */
static void move(const perp_model *m, double *q)
{
  int look = perp_rng_int(rng, 4);
  if (look == 0) return;
  for (int b = 0; b < m->n_bodies; b++) {
    double step = look == 1 ? 1e-3 : look == 2 ? 0.05 : perp_rng_int(rng, 20) == 0 ? 2 : 0;
    double *qb = q + m->nqb * b;
    for (int k = 0; k < m->nqb; k++) qb[k] += step * uniform(-1, 1);
    for (int k = 0; k < m->dim; k++) qb[k] = fmin(fmax(qb[k], -3), 3);
  }
  if (m->dim == 3)
    for (int b = 0; b < m->n_bodies; b++) {
      double *quat = q + 7 * b + 3, len = 0;
      for (int k = 0; k < 4; k++) len += quat[k] * quat[k];
      for (int k = 0; k < 4; k++) quat[k] /= sqrt(len);
    }
}

typedef struct tally {
  int differ, anew, grown, not_finite, deepest, disorder;
  long allocated;
  int64_t contacts, pairs;
} tally;

/* Shapes that are grown by half the tolerance each, whose margin is set afterwards: contacts whose
 * points lie nearer by it. */
static void run_grown(const perp_model *m, perp_collision *c, double margin, tally *t)
{
  const double tolerance = 0.03;
  const perp_contact *list;
  int n, n_want = 0;
  for (int i = 0; i < SHAPES; i++)
    for (int j = i + 1; j < SHAPES; j++)
      if (may_touch(m, i, j))
        n_want += perp_collide(m, i, &m->eval.pose[m->shape[i].body], j,
                               &m->eval.pose[m->shape[j].body], margin + tolerance, want + n_want);
  perp_collision_tolerance(c, tolerance);
  perp_collision_margin(c, margin);
  if (perp_collision_find(&ctx, c, m->eval.pose, &list, &n) != PERP_OK) bail("%s", ctx.msg);
  t->grown += n != n_want;
  for (int i = 0; i < n && n == n_want; i++) {
    t->grown += list[i].id != want[i].id || fabs(list[i].gap - want[i].gap + tolerance) > 1e-14;
    for (int k = 0; k < 6; k++)
      t->grown += fabs(list[i].p[k / 3][k % 3] - want[i].p[k / 3][k % 3] +
                       (k < 3 ? -0.5 : 0.5) * tolerance * want[i].n[k % 3]) > 1e-14;
  }
}

static void run_crowd(int dim, int steps, tally *t)
{
  perp_model *m = random_crowd(dim);
  perp_collision *c = NULL, *fresh = NULL;
  const perp_contact *list, *again;
  int n, n_again;
  double margin = perp_rng_int(rng, 3) == 0 ? 0 : uniform(0, 0.1);
  double *q = malloc((size_t)m->nq * sizeof *q);
  if (q == NULL || perp_collision_create(&ctx, m, margin, &c) != PERP_OK) bail("%s", ctx.msg);
  memcpy(q, m->q0, (size_t)m->nq * sizeof *q);
  for (int s = 0; s < steps; s++) {
    move(m, q);
    perp_eval_poses(&m->eval, m, 0, q);
    const perp_pose *pose = m->eval.pose;
    int n_want = 0;
    double low = HUGE_VAL;
    for (int i = 0; i < SHAPES; i++)
      for (int j = i + 1; j < SHAPES; j++) {
        if (!may_touch(m, i, j)) continue;
        const perp_pose *pi = &pose[m->shape[i].body], *pj = &pose[m->shape[j].body];
        int count = perp_collide(m, i, pi, j, pj, margin, want + n_want);
        n_want += count;
        if (count > 0) low = fmin(low, perp_shape_distance(m, i, pi, j, pj, NULL, NULL, NULL));
      }
    if (perp_collision_find(&ctx, c, pose, &list, &n) != PERP_OK) bail("%s", ctx.msg);
    t->differ += !same(list, n, want, n_want);
    t->not_finite += !finite_contacts(list, n);
    for (int i = 1; i < n; i++) t->disorder += list[i].id <= list[i - 1].id;
    t->contacts += n;
    /* the same question again must not allocate, nor change the answer */
    long before = count_malloc;
    if (perp_collision_find(&ctx, c, pose, &list, &n) != PERP_OK) bail("%s", ctx.msg);
    t->allocated += count_malloc - before;
    t->differ += !same(list, n, want, n_want);
    if (perp_collision_create(&ctx, m, margin, &fresh) != PERP_OK) bail("%s", ctx.msg);
    if (perp_collision_find(&ctx, fresh, pose, &again, &n_again) != PERP_OK) bail("%s", ctx.msg);
    t->anew += !same(list, n, again, n_again);
    double deepest = perp_collision_deepest(&ctx, fresh, pose);
    t->deepest += n_want > 0 ? deepest != low : deepest < margin;
    if (s == steps - 1) run_grown(m, fresh, margin, t);
    perp_collision_destroy(fresh);
  }
  free(q);
  perp_collision_destroy(c);
  perp_model_destroy(m);
}

/* so many that a team shares the work: spheres, some boxes, and a plane in their midst */
static perp_model *cloud(int shapes)
{
  perp_model *m = NULL;
  perp_shape_def def = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = { .mu = 0.4 } };
  if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < shapes; i++) {
    if (i != shapes / 2) {
      perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
      for (int k = 0; k < 3; k++) body.x[k] = uniform(-6, 6);
      if (perp_model_add_body(&ctx, m, &body, &def.body) != PERP_OK) bail("%s", ctx.msg);
      def.kind = perp_rng_int(rng, 6) == 0 ? PERP_SHAPE_BOX : PERP_SHAPE_SPHERE;
      def.radius = i % 50 == 0 ? 1.5 : uniform(0.2, 0.4);
      for (int k = 0; k < 3; k++) def.half[k] = uniform(0.1, 0.4);
      def.surface.mu = i % 2 == 0 ? 0.5 : uniform(0, 1);
      def.surface.mu_dynamic = NAN;
    } else {
      def.kind = PERP_SHAPE_PLANE;
      def.body = PERP_WORLD;
    }
    if (perp_model_add_shape(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

static void run_cloud(void)
{
  enum { CLOUD = 2100, TEAMS = 3, STEPS = 6 };
  perp_model *m = cloud(CLOUD);
  perp_collision *c[TEAMS];
  const perp_contact *list[TEAMS];
  const double margin = 0.02;
  int n[TEAMS], differ = 0, n_want = 0;
  double *q = malloc((size_t)m->nq * sizeof *q), low = HUGE_VAL;
  if (q == NULL) bail("no memory");
  memcpy(q, m->q0, (size_t)m->nq * sizeof *q);
  for (int k = 0; k < TEAMS; k++)
    if (perp_collision_create(&ctx, m, margin, &c[k]) != PERP_OK) bail("%s", ctx.msg);
  for (int s = 0; s < STEPS; s++) {
    if (s > 0) move(m, q);
    perp_eval_poses(&m->eval, m, 0, q);
    for (int k = 0; k < TEAMS; k++) {
      ctx.threads = k + 1;
      if (perp_collision_find(&ctx, c[k], m->eval.pose, &list[k], &n[k]) != PERP_OK)
        bail("%s", ctx.msg);
      differ += !same(list[k], n[k], list[0], n[0]);
    }
  }
  ctx.threads = 1;
  for (int i = 0; i < CLOUD; i++)
    for (int j = i + 1; j < CLOUD && n_want < CONTACTS - PERP_MANIFOLD_MAX; j++) {
      const perp_pose *pi = &m->eval.pose[m->shape[i].body], *pj = &m->eval.pose[m->shape[j].body];
      const int count = perp_collide(m, i, pi, j, pj, margin, want + n_want);
      for (int k = 0; k < count; k++) low = fmin(low, want[n_want + k].gap);
      n_want += count;
    }
  ok(n_want > CLOUD && same(list[0], n[0], want, n_want),
     "a cloud of %d shapes: find is the same as asking all pairs, %d contacts", CLOUD, n_want);
  ok(differ == 0, "for any number of threads (%d differences)", differ);
  /* a manifold over a face tells its distance that well */
  const double deepest = perp_collision_deepest(NULL, c[0], m->eval.pose);
  ok(fabs(deepest - low) <= 0.05 * fabs(low), "the deepest, asked without a context: %g of %g m",
     deepest, low);
  for (int k = 0; k < TEAMS; k++) perp_collision_destroy(c[k]);
  free(q);
  perp_model_destroy(m);
}

/* all shapes in one place, at the limits of numbers, and not numbers at all */
static void hostile(int dim)
{
  perp_model *m = random_crowd(dim);
  perp_collision *c = NULL;
  const perp_contact *list;
  int n;
  if (perp_collision_create(&ctx, m, 0.01, &c) != PERP_OK) bail("%s", ctx.msg);
  perp_pose *pose = m->eval.pose;
  perp_eval_poses(&m->eval, m, 0, m->q0);
  for (int b = 0; b < m->n_bodies; b++) memset(pose[b].x, 0, sizeof pose[b].x);
  bool found = perp_collision_find(&ctx, c, pose, &list, &n) == PERP_OK;
  ok(found && finite_contacts(list, n) && n > 0,
     "dim %d: all bodies in one place: %d finite contacts", dim, n);
  for (int b = 0; b < m->n_bodies; b++) pose[b].x[b % dim] = 1e12 * uniform(-1, 1);
  ok(perp_collision_find(&ctx, c, pose, &list, &n) == PERP_OK && finite_contacts(list, n),
     "dim %d: bodies 1e12 m away", dim);
  pose[m->n_bodies / 2].x[1] = NAN;
  ok(perp_collision_find(&ctx, c, pose, &list, &n) == PERP_ERR_ARG && n == 0,
     "dim %d: a position that is no number is refused: %s", dim, ctx.msg);
  ok(isnan(perp_collision_deepest(&ctx, c, pose)), "dim %d: nor has it a distance", dim);
  pose[m->n_bodies / 2].x[1] = HUGE_VAL;
  ok(perp_collision_find(&ctx, c, pose, &list, &n) == PERP_ERR_ARG, "dim %d: nor infinity", dim);
  perp_eval_poses(&m->eval, m, 0, m->q0);
  ok(perp_collision_find(&ctx, c, pose, &list, &n) == PERP_OK, "dim %d: it recovers", dim);
  perp_collision_destroy(c);
  perp_model_destroy(m);
}

int main(int argc, char **argv)
{
  int crowds = argc > 1 ? atoi(argv[1]) : 12, steps = argc > 2 ? atoi(argv[2]) : 40;
  tally t = { 0 };
  perp_ctx_init(&ctx);
  rng = perp_rng_create(77);
  for (int k = 0; k < crowds; k++) run_crowd(2 + k % 2, steps, &t);
  ok(t.contacts > crowds * steps, "%d crowds, %d steps, %d contacts", crowds, steps,
     (int)t.contacts);
  ok(t.differ == 0, "find is the same as asking all pairs (%d differences)", t.differ);
  ok(t.anew == 0, "the past does not matter (%d differences)", t.anew);
  ok(t.grown == 0, "grown shapes have the contacts of a larger margin (%d differences)", t.grown);
  ok(t.not_finite == 0, "all contacts are finite");
  ok(t.disorder == 0, "contacts are in the order of their ids");
  ok(t.deepest == 0, "the deepest is the least distance of all pairs (%d differences)", t.deepest);
  if (COUNTS_MALLOC)
    ok(t.allocated == 0, "a find allocates nothing (%ld)", t.allocated);
  else
    skip("this build has an allocator of its own", "a find allocates nothing");
  run_cloud();
  hostile(2);
  hostile(3);
  perp_rng_destroy(rng);
  return tap_done();
}
