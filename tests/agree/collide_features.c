/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What contacts are called: a contact that names a vertex lies at that vertex, one that names two
 * edges on both, with either shape first, at any gap.  And which contacts there are at the very
 * margin, where exact numbers say so. */
#include "models/collision/pairs.h"
#include "models/multibody/model_private.h"
#include "models/collision/collision.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;
static perp_rng *rng;

static double uniform(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

static perp_model *pair_of(int dim, const perp_shape_def def[2])
{
  perp_model *m = NULL;
  if (perp_model_create(&ctx, dim, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 2; i++) {
    perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
    perp_shape_def s = def[i];
    if (perp_model_add_body(&ctx, m, &body, &s.body) != PERP_OK ||
        perp_model_add_shape(&ctx, m, &s, NULL) != PERP_OK)
      bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

static double store[2][48];

static perp_shape_def random_shape(int dim, perp_shape_kind kind, int which)
{
  perp_shape_def def = { .kind = kind, .radius = uniform(0.1, 0.5), .length = uniform(0.3, 2) };
  for (int k = 0; k < 3; k++) def.half[k] = uniform(0.2, 1);
  for (int k = 0; k < dim; k++) def.x[k] = uniform(-0.3, 0.3);
  if (kind != PERP_SHAPE_POLYTOPE) return def;
  def.n_vertices = dim + 1 + perp_rng_int(rng, 8);
  def.vertices = store[which];
  for (int i = 0; i < def.n_vertices; i++) {
    double x[3], len = 0;
    for (int k = 0; k < dim; k++) x[k] = perp_rng_normal(rng), len += x[k] * x[k];
    for (int k = 0; k < dim; k++) store[which][dim * i + k] = def.half[k] * x[k] / sqrt(len);
  }
  return def;
}

static void random_pose(int dim, int look, const perp_pose *other, perp_pose *pose)
{
  double q[7] = { 0 };
  for (int k = 0; k < dim; k++) q[k] = uniform(-2, 2);
  for (int k = dim; k < (dim == 3 ? 7 : 3); k++) q[k] = perp_rng_normal(rng);
  perp_pose_of(dim, q, pose);
  /* as the other one, so that faces and edges are parallel */
  if (look == 0 && other != NULL) memcpy(pose->R, other->R, sizeof pose->R);
}

/* The distance of p from vertex v of a hull, or from its edge e */
static double from_vertex(const perp_hull *h, const perp_pose *at, int v, const double p[3])
{
  double x[3], d[3];
  if (v >= h->n_vertices) return HUGE_VAL;
  perp_place(at, h->v + 3 * v, x);
  perp_sub(p, x, d);
  return perp_norm(d);
}

static double from_edge(const perp_hull *h, const perp_pose *at, int e, const double p[3])
{
  double a[3], b[3], u[3], d[3], y[3], uu, s;
  if (e >= h->n_edges) return HUGE_VAL;
  perp_place(at, h->v + 3 * h->edge[4 * e], a);
  perp_place(at, h->v + 3 * h->edge[4 * e + 1], b);
  perp_sub(b, a, u);
  perp_sub(p, a, d);
  uu = perp_dot(3, u, u);
  s = fmax(0, fmin(1, perp_dot(3, d, u) / uu));
  perp_along(a, s, u, y);
  perp_sub(p, y, d);
  return perp_norm(d);
}

typedef struct tally {
  double vertex, edges, both, ends;
  int seen[4], clipped;
} tally;

static void raise_to(double *most, double x)
{
  if (!(x <= *most)) *most = x;
}

static void named(const perp_model *m, const perp_contact *c, const perp_pose pose[2], tally *t)
{
  perp_pose lift[2];
  const perp_hull *h[2] = { m->shape[0].hull, m->shape[1].hull };
  for (int i = 0; i < 2; i++) perp_lift(m->dim, &pose[i], &lift[i]);
  const unsigned type = c->id >> 22 & 3;
  const int a = (int)(c->id >> 11 & 0x7ff), b = (int)(c->id & 0x7ff);
  const double va = from_vertex(h[0], &lift[0], a, c->p[0]),
               vb = from_vertex(h[1], &lift[1], b, c->p[1]);
  t->seen[type]++;
  if (type == PERP_VERTEX_A)
    raise_to(&t->vertex, from_vertex(h[0], &lift[0], a + b, c->p[0]));
  else if (type == PERP_VERTEX_B)
    raise_to(&t->vertex, from_vertex(h[1], &lift[1], a + b, c->p[1]));
  else if (type == PERP_EDGES)
    raise_to(&t->edges,
             fmax(from_edge(h[0], &lift[0], a, c->p[0]), from_edge(h[1], &lift[1], b, c->p[1])));
  else if (fmax(va, vb) > 1e-5)
    t->clipped++; /* two edges of one face that cut a third one at a point */
  /* a point of two edges is no end of them: that has names of its own */
  if (type == PERP_EDGES && c->gap > 1e-3 && m->dim == 3) {
    const int *ea = h[0]->edge + 4 * a, *eb = h[1]->edge + 4 * b;
    for (int i = 0; i < 2; i++) {
      const bool at_end = from_vertex(h[0], &lift[0], ea[i], c->p[0]) < 1e-12 ||
                          from_vertex(h[1], &lift[1], eb[i], c->p[1]) < 1e-12;
      raise_to(&t->ends, at_end);
    }
  }
  raise_to(&t->both, type == PERP_VERTICES && t->clipped > t->seen[PERP_VERTICES] / 2 + 2);
}

static void hulls(int dim, perp_shape_kind ka, perp_shape_kind kb)
{
  static const char *const names[] = {
    [PERP_SHAPE_BOX] = "box", [PERP_SHAPE_POLYTOPE] = "polytope"
  };
  tally t = { 0 };
  for (int k = 0; k < 150; k++) {
    const perp_shape_def def[2] = { random_shape(dim, ka, 0), random_shape(dim, kb, 1) };
    perp_model *m = pair_of(dim, def);
    for (int trial = 0; trial < 12; trial++) {
      perp_pose pose[2] = { 0 };
      perp_contact c[PERP_MANIFOLD_MAX];
      double n[3];
      random_pose(dim, 1, NULL, &pose[0]);
      random_pose(dim, trial % 4, &pose[0], &pose[1]);
      for (int l = 0; l < dim && trial % 2 == 0; l++)
        pose[1].x[l] = pose[0].x[l] + 4 * (l == trial / 2 % dim); /* along an axis */
      const double d = perp_shape_distance(m, 0, &pose[0], 1, &pose[1], NULL, NULL, n);
      /* as far apart as wanted, overlapping a little, or as they were */
      const double gap = trial % 3 == 0 ? uniform(0, 1) : trial % 3 == 1 ? uniform(-0.05, 0.05) : d;
      for (int l = 0; l < dim; l++) pose[1].x[l] += (gap - d) * n[l];
      const int count = perp_collide(m, 0, &pose[0], 1, &pose[1], fmax(0, 1.2 * d) + 1.2, c);
      for (int l = 0; l < count; l++) named(m, &c[l], pose, &t);
    }
    perp_model_destroy(m);
  }
  char who[64];
  snprintf(who, sizeof who, "dim %d, %s and %s", dim, names[ka], names[kb]);
  ok(t.seen[PERP_VERTEX_A] > 100 && t.seen[PERP_VERTEX_B] > 100 &&
         (dim == 2 || t.seen[PERP_EDGES] > 100) && t.seen[PERP_VERTICES] > 50,
     "%s: %d and %d at vertices of a and b, %d of edges, %d of two vertices", who,
     t.seen[PERP_VERTEX_A], t.seen[PERP_VERTEX_B], t.seen[PERP_EDGES], t.seen[PERP_VERTICES]);
  below(t.vertex, 1e-5, "%s: at the vertex", who);
  below(t.edges, 1e-5, "%s: on both edges", who);
  below(t.both, 0, "%s: at both vertices, mostly (%d otherwise)", who, t.clipped);
  below(t.ends, 0, "%s: not at the end of an edge", who);
}

/* Ends of capsules side by side, and the angle from which on they touch once: sin^2 = 1e-3. */
static void capsules(int dim)
{
  double worst = 0, angle[2] = { 0.0314, 0.0318 }; /* sin^2: 0.000986 and 0.00101 */
  int wrong = 0, seen[2] = { 0, 0 };
  for (int k = 0; k < 400; k++) {
    const perp_shape_def def[2] = { random_shape(dim, PERP_SHAPE_CAPSULE, 0),
                                    random_shape(dim, PERP_SHAPE_CAPSULE, 1) };
    perp_model *m = pair_of(dim, def);
    perp_pose pose[2] = { 0 }, lift[2];
    perp_contact c[PERP_MANIFOLD_MAX];
    double q[7] = { 0 }, half[2], axis[2][3], centre[2][3];
    q[3] = 1;
    perp_pose_of(dim, q, &pose[0]);
    const double turn = (k % 2 == 0 ? 0 : M_PI) + uniform(-1e-6, 1e-6);
    if (dim == 2)
      q[2] = turn;
    else
      q[3] = cos(turn / 2), q[6] = sin(turn / 2);
    perp_pose_of(dim, q, &pose[1]);
    /* beside each other, so that they face each other along a part of their lengths */
    const double reach = def[0].radius + def[1].radius;
    for (int i = 0; i < 2; i++) half[i] = def[i].length / 2;
    const double slip = uniform(-0.9, 0.9) * (half[0] + half[1]);
    double off[3], want[3] = { slip, reach + 0.01, 0 };
    perp_turn(dim, pose[1].R, def[1].x, off);
    for (int i = 0; i < dim; i++) pose[1].x[i] = def[0].x[i] + want[i] - off[i];
    const int count = perp_collide(m, 0, &pose[0], 1, &pose[1], 0.05, c);
    for (int i = 0; i < 2; i++) {
      perp_lift(dim, &pose[i], &lift[i]);
      perp_turn(3, lift[i].R, m->shape[i].axis, axis[i]);
      perp_place(&lift[i], m->shape[i].c, centre[i]);
    }
    wrong += count != 2;
    for (int l = 0; l < count; l++) {
      const unsigned type = c[l].id >> 22 & 3;
      const int end = (int)(c[l].id & 1) | (int)(c[l].id >> 11 & 1);
      if (type != PERP_VERTEX_A && type != PERP_VERTEX_B) {
        wrong++;
        continue;
      }
      const int i = type == PERP_VERTEX_A ? 0 : 1;
      const double *p = i == 0 ? c[l].p[0] : c[l].p[1];
      double x[3], d[3];
      perp_along(centre[i], end == 0 ? -1 : 1, axis[i], x);
      perp_sub(p, x, d);
      seen[i]++;
      worst = fmax(worst, fabs(perp_norm(d) - def[i].radius));
      worst = fmax(worst, fabs(fabs(d[1]) - def[i].radius));
    }
    perp_model_destroy(m);
  }
  ok(wrong == 0 && seen[0] > 100 && seen[1] > 100,
     "dim %d: capsules side by side touch at an end of a (%d) or b (%d) twice", dim, seen[0],
     seen[1]);
  below(worst, 1e-5, "  at the end that is named");
  for (int k = 0; k < 2; k++)
    for (int sign = -1; sign <= 1; sign += 2) {
      const perp_shape_def pill = { .kind = PERP_SHAPE_CAPSULE, .radius = 0.25, .length = 2 };
      const perp_shape_def def[2] = { pill, pill };
      perp_model *m = pair_of(dim, def);
      perp_contact c[PERP_MANIFOLD_MAX];
      perp_pose pose[2] = { 0 };
      double q[7] = { 0, 0, 0, 1 }, turned[7] = { 0.1, 0.6 };
      if (dim == 2)
        q[2] = 0, turned[2] = sign * angle[k];
      else
        turned[3] = cos(angle[k] / 2), turned[6] = sign * sin(angle[k] / 2);
      if (dim == 2) q[3] = 0;
      perp_pose_of(dim, q, &pose[0]);
      perp_pose_of(dim, turned, &pose[1]);
      const int count = perp_collide(m, 0, &pose[0], 1, &pose[1], 1, c);
      ok(count == 2 - k, "dim %d: capsules %g rad apart touch %s", dim, sign * angle[k],
         k == 0 ? "twice" : "once");
      perp_model_destroy(m);
    }
}

/* Sizes and places in binary fractions: the gap is 0.5 exactly, which is not below a margin of 0.5.
 */
static void margins(int dim)
{
  static const double
      cube[] = { -0.5, -0.5, -0.5, 0.5, -0.5, -0.5, -0.5, 0.5, -0.5, 0.5, 0.5, -0.5,
                 -0.5, -0.5, 0.5,  0.5, -0.5, 0.5,  -0.5, 0.5, 0.5,  0.5, 0.5, 0.5 },
      square[] = { -0.5, -0.5, 0.5, -0.5, 0.5, 0.5, -0.5, 0.5 };
  const perp_shape_def defs[] = {
    { .kind = PERP_SHAPE_SPHERE, .radius = 0.5 },
    { .kind = PERP_SHAPE_CAPSULE, .radius = 0.5, .length = 2 },
    { .kind = PERP_SHAPE_BOX, .half = { 0.5, 0.5, 0.5 } },
    { .kind = PERP_SHAPE_POLYTOPE,
      .vertices = dim == 3 ? cube : square,
      .n_vertices = dim == 3 ? 8 : 4 },
    { .kind = PERP_SHAPE_PLANE, .x = { 0 } },
  };
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 5; j++) {
      const perp_shape_def def[2] = { defs[i], defs[j] };
      perp_model *m = pair_of(dim, def);
      perp_contact c[PERP_MANIFOLD_MAX];
      perp_pose pose[2] = { 0 };
      /* half extents of 0.5 along the last axis; planes look along it */
      double low[7] = { 0 }, high[7] = { 0 };
      if (dim == 3) low[3] = high[3] = 1;
      high[dim - 1] = j == 4 ? 1 : 1.5;
      perp_pose_of(dim, j == 4 ? high : low, &pose[0]);
      perp_pose_of(dim, j == 4 ? low : high, &pose[1]);
      const int at = perp_collide(m, 0, &pose[0], 1, &pose[1], 0.5, c),
                over = perp_collide(m, 0, &pose[0], 1, &pose[1], nextafter(0.5, 1), c);
      const double d = perp_shape_distance(m, 0, &pose[0], 1, &pose[1], NULL, NULL, NULL);
      ok(at == 0 && over > 0 && d == 0.5 && c[0].gap == 0.5,
         "dim %d, shapes %d and %d: a gap of 0.5 is not below a margin of 0.5", dim, i, j);
      if (at != 0 || over == 0 || d != 0.5) printf("# %d %d %.17g\n", at, over, d);
      perp_model_destroy(m);
    }
}

int main(void)
{
  perp_ctx_init(&ctx);
  rng = perp_rng_create(5);
  for (int dim = 2; dim <= 3; dim++) {
    for (int k = 0; k < 4; k++)
      hulls(dim, k % 2 == 0 ? PERP_SHAPE_BOX : PERP_SHAPE_POLYTOPE,
            k / 2 == 0 ? PERP_SHAPE_BOX : PERP_SHAPE_POLYTOPE);
    capsules(dim);
    margins(dim);
  }
  perp_rng_destroy(rng);
  return tap_done();
}
