/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What contacts must not depend on: which shape is called a, and where the world's origin is; that
 * identities outlive small motions; and that nothing touches before the time of impact. */
#include "models/collision/pairs.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;
static perp_rng *rng;

enum { KINDS = 4, EACH = 6, SHAPES = KINDS * EACH };

static double uniform(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

/* sphere, capsule, box, polytope in turns, off from the centres of their bodies by as much;
 * backwards: the same shapes numbered from the end */
static void crowd(int dim, double off, perp_model *m[2])
{
  static double v[SHAPES][30];
  perp_shape_def def[SHAPES];
  for (int i = 0; i < SHAPES; i++) {
    def[i] = (perp_shape_def){ .kind = (perp_shape_kind)(i % KINDS),
                               .radius = uniform(0.2, 0.6),
                               .length = uniform(0.3, 1.5),
                               .vertices = v[i],
                               .n_vertices = 10 };
    for (int k = 0; k < 3; k++) def[i].half[k] = uniform(0.1, 0.7);
    for (int k = 0; k < dim && off > 0; k++) def[i].x[k] = uniform(-off, off);
    for (int k = 0; k < 30; k++) v[i][k] = uniform(-0.6, 0.6);
  }
  for (int way = 0; way < 2; way++) {
    if (perp_model_create(&ctx, dim, &m[way]) != PERP_OK) bail("%s", ctx.msg);
    for (int i = 0; i < SHAPES; i++) {
      perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
      perp_shape_def *d = &def[way == 0 ? i : SHAPES - 1 - i];
      if (perp_model_add_body(&ctx, m[way], &body, &d->body) != PERP_OK ||
          perp_model_add_shape(&ctx, m[way], d, NULL) != PERP_OK)
        bail("%s", ctx.msg);
    }
    if (perp_model_finish(&ctx, m[way]) != PERP_OK) bail("%s", ctx.msg);
  }
}

/* coordinates of a body at x, turned at random */
static void coordinates(int dim, const double x[3], double q[7])
{
  for (int k = 0; k < 7; k++) q[k] = perp_rng_normal(rng);
  for (int k = 0; k < dim; k++) q[k] = x[k];
  if (dim == 3) perp_quat_unit(q + 3);
}

static void random_pair(const perp_model *m, int i, int j, perp_pose *pi, perp_pose *pj)
{
  double x[3], y[3], q[7], len = 0, reach = m->shape[i].bound + m->shape[j].bound;
  for (int k = 0; k < 3; k++) {
    x[k] = uniform(-1, 1);
    y[k] = perp_rng_normal(rng);
    if (k < m->dim) len += y[k] * y[k];
  }
  double way = reach * uniform(0, 1) / sqrt(len);
  for (int k = 0; k < 3; k++) y[k] = x[k] + way * y[k];
  coordinates(m->dim, x, q);
  perp_pose_of(m->dim, q, pi);
  coordinates(m->dim, y, q);
  perp_pose_of(m->dim, q, pj);
}

static double far(int dim, const double *a, const double *b, double sign)
{
  double d = 0;
  for (int k = 0; k < dim; k++) d = fmax(d, fabs(a[k] - sign * b[k]));
  return d;
}

/* ---- the roles of a and b ---- */

/* largest difference between two manifolds with the roles exchanged, each point against its
 * nearest */
static double mirrored(int dim, const perp_contact *c, int n, const perp_contact *d)
{
  double worst = 0;
  for (int i = 0; i < n; i++) {
    double best = HUGE_VAL;
    for (int j = 0; j < n; j++) {
      double x = fmax(far(dim, c[i].p[0], d[j].p[1], 1), far(dim, c[i].p[1], d[j].p[0], 1));
      best = fmin(best, fmax(x, far(dim, c[i].n, d[j].n, -1)));
    }
    worst = fmax(worst, best);
  }
  return worst;
}

static void test_mirror(int dim, int poses)
{
  perp_model *m[2];
  perp_contact c[PERP_MANIFOLD_MAX], d[PERP_MANIFOLD_MAX];
  double worst = 0;
  int counts = 0, arguments = 0, manifolds = 0;
  crowd(dim, 0, m);
  for (int k = 0; k < poses; k++) {
    perp_pose pi = { 0 }, pj = { 0 };
    int i = perp_rng_int(rng, SHAPES), j = perp_rng_int(rng, SHAPES);
    if (i == j) continue;
    random_pair(m[0], i, j, &pi, &pj);
    int n = perp_collide(m[0], i, &pi, j, &pj, 0.05, c);
    int o = perp_collide(m[1], SHAPES - 1 - i, &pi, SHAPES - 1 - j, &pj, 0.05, d);
    counts += n != o;
    manifolds += n > 1;
    /* four points may be the choice of more, which goes by identity */
    if (n == o && n < PERP_MANIFOLD_MAX) worst = fmax(worst, mirrored(dim, c, n, d));
    o = perp_collide(m[0], j, &pj, i, &pi, 0.05, d);
    arguments += n != o;
    for (int l = 0; l < n && n == o; l++) arguments += c[l].id != d[l].id || c[l].gap != d[l].gap;
  }
  ok(manifolds > poses / 50, "dim %d: %d manifolds of several points", dim, manifolds);
  ok(counts == 0, "dim %d: as many contacts with the roles exchanged (%d differ)", dim, counts);
  below(worst, 1e-9, "dim %d: the mirrored contacts", dim);
  ok(arguments == 0, "dim %d: the order of the arguments does not matter (%d differ)", dim,
     arguments);
  for (int way = 0; way < 2; way++) perp_model_destroy(m[way]);
}

/* ---- the frame of the world ---- */

/* y = T x */
static void compose(int dim, const perp_pose *T, const perp_pose *x, perp_pose *y)
{
  perp_turn(dim, T->R, x->x, y->x);
  for (int k = 0; k < dim; k++) {
    y->x[k] += T->x[k];
    perp_turn(dim, T->R, x->R + dim * k, y->R + dim * k);
  }
}

static void test_frame(int dim, int poses)
{
  perp_model *m[2];
  perp_contact c[PERP_MANIFOLD_MAX], d[PERP_MANIFOLD_MAX];
  double worst = 0;
  int ids = 0, contacts = 0;
  crowd(dim, 0, m);
  for (int k = 0; k < poses; k++) {
    perp_pose pi = { 0 }, pj = { 0 }, T = { 0 }, ti = { 0 }, tj = { 0 };
    double q[7], x[3] = { uniform(-5, 5), uniform(-5, 5), uniform(-5, 5) };
    int i = perp_rng_int(rng, SHAPES), j = perp_rng_int(rng, SHAPES);
    if (i == j) continue;
    random_pair(m[0], i, j, &pi, &pj);
    coordinates(dim, x, q);
    perp_pose_of(dim, q, &T);
    compose(dim, &T, &pi, &ti);
    compose(dim, &T, &pj, &tj);
    int n = perp_collide(m[0], i, &pi, j, &pj, 0.05, c);
    int o = perp_collide(m[0], i, &ti, j, &tj, 0.05, d);
    contacts += n;
    ids += n != o;
    for (int l = 0; l < n && n == o; l++) {
      perp_pose point = { .x = { c[l].p[0][0], c[l].p[0][1], c[l].p[0][2] } }, moved = { 0 };
      double normal[3];
      compose(dim, &T, &point, &moved);
      perp_turn(dim, T.R, c[l].n, normal);
      ids += c[l].id != d[l].id;
      worst = fmax(worst, far(dim, moved.x, d[l].p[0], 1));
      worst = fmax(worst, fmax(far(dim, normal, d[l].n, 1), fabs(c[l].gap - d[l].gap)));
    }
  }
  ok(ids == 0, "dim %d: %d contacts keep their identities in another frame (%d differ)", dim,
     contacts, ids);
  below(worst, 1e-9, "dim %d: contacts move with the frame", dim);
  for (int way = 0; way < 2; way++) perp_model_destroy(m[way]);
}

/* ---- small motions ---- */

/* bodies that rest on each other, face on face, turned about the vertical and shifted */
static void test_rest(int poses)
{
  perp_model *m = NULL;
  perp_contact c[PERP_MANIFOLD_MAX], d[PERP_MANIFOLD_MAX];
  perp_shape_def box = { .kind = PERP_SHAPE_BOX, .half = { 0.5, 0.4, 0.3 } };
  int changed = 0, contacts = 0;
  if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 2; i++) {
    perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
    if (perp_model_add_body(&ctx, m, &body, &box.body) != PERP_OK ||
        perp_model_add_shape(&ctx, m, &box, NULL) != PERP_OK)
      bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  for (int k = 0; k < poses; k++) {
    double yaw = k % 3 == 0 ? 0 : uniform(-2, 2), shift = k % 2 == 0 ? 0 : 0.3;
    double q[7] = { uniform(-shift, shift), uniform(-shift, shift), 0.6, cos(yaw), 0, 0, sin(yaw) };
    perp_pose below_pose, pose;
    perp_pose_of(3, (const double[7]){ 0, 0, 0, 1 }, &below_pose);
    perp_pose_of(3, q, &pose);
    int n = perp_collide(m, 0, &below_pose, 1, &pose, 1e-3, c);
    contacts += n;
    for (int l = 0; l < 7; l++) q[l] += 1e-8 * uniform(-1, 1);
    perp_pose_of(3, q, &pose);
    int o = perp_collide(m, 0, &below_pose, 1, &pose, 1e-3, d);
    bool same = n == o;
    for (int l = 0; l < n && same; l++) same = c[l].id == d[l].id;
    changed += !same;
  }
  ok(contacts >= 4 * poses, "boxes at rest: %d contacts in %d poses", contacts, poses);
  /* edges that cross at less than 0.1 degrees, 1 in 500 of these poses, meet elsewhere after it */
  ok(changed <= poses / 500, "boxes at rest: a motion of 1e-8 keeps the identities (%d changed)",
     changed);
  perp_model_destroy(m);
}

/* ---- time of impact ---- */

/* pose at s as collision.h defines it */
static void pose_at(int dim, const double *q0, const double *q1, double s, perp_pose *pose)
{
  double q[7], turn[3];
  for (int k = 0; k < 3; k++) q[k] = q0[k] + s * (q1[k] - q0[k]);
  if (dim == 3) {
    perp_quat_difference(q0 + 3, q1 + 3, turn);
    for (int k = 0; k < 3; k++) turn[k] *= s;
    perp_quat_retract(q0 + 3, turn, q + 3);
  }
  perp_pose_of(dim, q, pose);
}

/* all pairs but one */
static bool others(void *user, int a, int b)
{
  const int *pair = user;
  return a != (int)fmin(pair[0], pair[1]) || b != (int)fmax(pair[0], pair[1]);
}

static void test_impact(int dim, double off, int poses)
{
  enum { SAMPLES = 200 };
  perp_model *m[2];
  perp_collision *all;
  double early = 0, late = 0;
  int hits = 0, unlike = 0;
  crowd(dim, off, m);
  if (perp_collision_create(&ctx, m[0], 0, &all) != PERP_OK) bail("%s", ctx.msg);
  for (int k = 0; k < poses; k++) {
    int i = perp_rng_int(rng, SHAPES), j = perp_rng_int(rng, SHAPES);
    if (i == j) continue;
    double q[4][7], target = perp_rng_int(rng, 2) * 0.01;
    bool hit;
    for (int l = 0; l < 4; l++) { /* far from the origin, which must not matter */
      double x[3] = { 20 + uniform(-2, 2), uniform(-2, 2), uniform(-2, 2) };
      coordinates(dim, x, q[l]);
    }
    double s = perp_time_of_impact(m[0], i, q[0], q[1], j, q[2], q[3], target, &hit);
    hits += hit && s > 0;
    double at[2][7 * SHAPES] = { { 0 } };
    for (int l = 0, nqb = dim == 3 ? 7 : 3; l < 4; l++)
      memcpy(at[l % 2] + nqb * (l < 2 ? i : j), q[l], (size_t)nqb * sizeof(double));
    /* all shapes are less than 1.4 wide somewhere */
    if (!hit || far(dim, q[0], q[1], 1) > 0.7)
      unlike += perp_collision_crosses(all, at[0], at[1], target, others, (int[2]){ i, j }) != hit;
    for (int l = 0; l <= SAMPLES; l++) {
      perp_pose pi = { 0 }, pj = { 0 };
      double when = s * l / SAMPLES;
      pose_at(dim, q[0], q[1], when, &pi);
      pose_at(dim, q[2], q[3], when, &pj);
      double d = perp_shape_distance(m[0], i, &pi, j, &pj, NULL, NULL, NULL);
      if (s > 0) early = fmax(early, target - d);
      if (l == SAMPLES && hit && s > 0) late = fmax(late, d - target);
    }
  }
  ok(hits > poses / 10, "dim %d: %d of %d motions hit", dim, hits, poses);
  below(early, 1e-9, "dim %d: nothing is nearer before the time of impact", dim);
  below(late, 1e-9, "dim %d: the distance then is the target", dim);
  ok(unlike == 0, "dim %d: the same motions cross (%d differ)", dim, unlike);
  perp_collision_destroy(all);
  for (int way = 0; way < 2; way++) perp_model_destroy(m[way]);
}

int main(int argc, char **argv)
{
  int poses = argc > 1 ? atoi(argv[1]) : 2000;
  perp_ctx_init(&ctx);
  rng = perp_rng_create(5);
  for (int dim = 2; dim <= 3; dim++) {
    test_mirror(dim, poses);
    test_frame(dim, poses);
    test_impact(dim, 0, poses / 10);
  }
  test_rest(poses);
  for (int dim = 2; dim <= 3; dim++) test_impact(dim, 1, poses / 10);
  perp_rng_destroy(rng);
  return tap_done();
}
