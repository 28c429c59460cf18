/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signed distances of ellipsoids, cylinders and cones to each other and to all other shapes, each
 * one proved in long double.
 *
 * The judge knows a shape by two things that it writes down itself: its support function, and how
 * far a point is outside of it.  A claim is a signed distance sigma, a normal n and two points.
 *
 * Lower bound: the plane along n parts them by sigma (overlaps by no more than -sigma):
 *
 *      -(h_A(n) + h_B(-n)) = sigma
 *
 * Upper bound, apart: the two points are in the shapes and sigma from each other; overlapping: no
 * direction d of the sphere has h_A(d) + h_B(-d) below -sigma - 1e-9 of the size
 * (tests/depth_proof.h).
 *
 * No bound comes from the method under test, and the second one is a search of all directions, not
 * of local minima.  Where very many directions are as deep as the least (concentric shapes of very
 * different sizes) BUDGET cells may not do: the share of the overlaps that is proved is told and
 * demanded.
 *
 * The size of a pair is that of its smaller shape.  It may be 1e-7 of the coordinates (a thin body
 * beside a large cone, or far from the origin): what doubles of that size cannot tell, four units
 * of their last place, is no error of a point or of a distance.
 *
 * Pairs that are known to be hard come first (tests/solid_pairs.h), then random ones.  Arguments:
 * number of pairs of each two kinds (default 300), the first and the second kind of shape (default
 * all), the seed.  The acceptance, 10^5 pairs of each two kinds, takes one to four minutes a pair:
 *
 *      build/tests/agree/test_solids 100000 cone cone */
#include "models/collision/collision.h"
#include "models/multibody/model_private.h"
#include "models/geometry/shapes_private.h"
#include "tests/depth_proof.h"
#include "tests/solid_pairs.h"
#include "tests/tap.h"

#include <float.h>
#include <string.h>

enum { VERTICES = 10, FACES = 64, BUDGET = 200000 };

static perp_ctx ctx;
static perp_rng *rng;
static const char *const kind_name[] = { "sphere", "capsule",   "box",      "polytope",
                                         "plane",  "ellipsoid", "cylinder", "cone" };

static double uniform(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

/* ---- what the judge knows of a shape ---- */

typedef struct body {
  perp_shape_def def;
  double vertices[3 * VERTICES];
  int n_faces;
  real n[FACES][3], d[FACES]; /* of a polytope, in its frame */
  real R[9], x[3];            /* pose, by columns */
  round_body round;
} body;

/* all triples of vertices with the others on one side */
static void find_faces(body *b)
{
  const double *v = b->vertices;
  const int n = b->def.n_vertices;
  b->n_faces = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++) {
        real e[3], f[3], m[3], high = 0;
        if (i == j || j == k || i == k) continue;
        for (int c = 0; c < 3; c++) {
          e[c] = (real)v[3 * j + c] - v[3 * i + c];
          f[c] = (real)v[3 * k + c] - v[3 * i + c];
        }
        for (int c = 0; c < 3; c++)
          m[c] = e[(c + 1) % 3] * f[(c + 2) % 3] - e[(c + 2) % 3] * f[(c + 1) % 3];
        const real len = length(m);
        for (int c = 0; c < 3; c++) m[c] /= len;
        for (int l = 0; l < n; l++) {
          const real p[3] = { (real)v[3 * l] - v[3 * i], (real)v[3 * l + 1] - v[3 * i + 1],
                              (real)v[3 * l + 2] - v[3 * i + 2] };
          high = fmaxl(high, dot(m, p));
        }
        if (!(len > 0) || high > 1e-17L) continue;
        if (i > j || i > k) continue; /* each once */
        if (b->n_faces == FACES) bail("too many faces in the oracle");
        memcpy(b->n[b->n_faces], m, sizeof m);
        b->d[b->n_faces++] = m[0] * v[3 * i] + m[1] * v[3 * i + 1] + m[2] * v[3 * i + 2];
      }
}

static void pose_body(body *b, const perp_pose *pose)
{
  for (int i = 0; i < 9; i++) b->R[i] = pose->R[i];
  for (int i = 0; i < 3; i++) b->x[i] = pose->x[i];
  if (b->def.kind != PERP_SHAPE_PLANE) round_body_of(&b->def, pose, &b->round);
}

static real outside(const body *b, const double p[3])
{
  if (b->def.kind != PERP_SHAPE_POLYTOPE) return round_outside(&b->def, b->R, b->x, p);
  const real r[3] = { p[0] - b->x[0], p[1] - b->x[1], p[2] - b->x[2] };
  const real y[3] = { dot(b->R, r), dot(b->R + 3, r), dot(b->R + 6, r) };
  real worst = -HUGE_VALL;
  for (int k = 0; k < b->n_faces; k++) worst = fmaxl(worst, dot(b->n[k], y) - b->d[k]);
  return worst;
}

/* ---- pairs ---- */

/* lengths of sides from 1e-3 to 1 of the shape, and sizes from 1 to 1e4 */
static void random_shape(perp_shape_kind kind, double scale, body *b)
{
  perp_shape_def *d = &b->def;
  const int look = perp_rng_int(rng, 8);
  *d = (perp_shape_def){ .kind = kind };
  d->radius = uniform(0.1, 1);
  d->length = uniform(0.1, 2);
  for (int k = 0; k < 3; k++) d->half[k] = uniform(0.1, 1);
  if (look == 0) d->length *= 1e-3, d->half[perp_rng_int(rng, 3)] = 1e-3;
  if (look == 1) d->radius *= 1e-3, d->half[0] = d->half[1] = 2e-3;
  if (look == 2) d->half[1] = d->half[2] = d->half[0];
  if (look == 3) d->half[1] = d->half[2], d->length = 2 * d->radius;
  if (look == 4) { /* all of any length */
    d->radius = pow(10, uniform(-3, 0)), d->length = pow(10, uniform(-3, 0));
    for (int k = 0; k < 3; k++) d->half[k] = pow(10, uniform(-3, 0));
  }
  d->radius *= scale;
  d->length *= scale;
  for (int k = 0; k < 3; k++) d->half[k] *= scale;
  if (kind != PERP_SHAPE_POLYTOPE) return;
  d->n_vertices = 4 + perp_rng_int(rng, VERTICES - 3);
  d->vertices = b->vertices;
  for (int i = 0; i < d->n_vertices; i++) {
    double x[3], len = 0;
    for (int k = 0; k < 3; k++) x[k] = perp_rng_normal(rng), len += x[k] * x[k];
    for (int k = 0; k < 3; k++) b->vertices[3 * i + k] = scale * uniform(0.5, 1) * x[k] / sqrt(len);
  }
  find_faces(b);
}

static void random_rotation(const perp_pose *other, perp_pose *pose)
{
  double q[7] = { pose->x[0], pose->x[1], pose->x[2] };
  const int look = perp_rng_int(rng, 8);
  for (int k = 3; k < 7; k++) q[k] = perp_rng_normal(rng);
  if (look < 2) { /* about an axis: by multiples of 45 degrees, or almost unturned */
    const int axis = 4 + perp_rng_int(rng, 3);
    const double turn = look == 0 ? acos(-1.0) / 8 * perp_rng_int(rng, 8)
                                  : pow(10, uniform(-9, -1));
    for (int k = 3; k < 7; k++) q[k] = 0;
    q[3] = cos(turn), q[axis] = sin(turn);
  }
  perp_pose_of(3, q, pose);
  if (look == 2) memcpy(pose->R, other->R, sizeof pose->R); /* parallel axes */
}

typedef struct figures {
  int64_t pairs, overlapping, touching, contacts, open, cells;
  double lower, upper, points, depth, missed, surface, gap, order;
} figures;

static void raise_to(double *w, double x)
{
  if (!(x <= *w)) *w = x;
}

/* what the last places of numbers as large as the coordinates leave of an error */
static double rounding(const body *a, const body *b, double reach)
{
  return 4 * DBL_EPSILON * ((double)(length(a->x) + length(b->x)) + reach);
}

/* The depth of a ball whose middle is in a cylinder or a cone is that to the nearest of its
 * surfaces: these are planes, or bend around the axis. */
static bool closed_form(const body *a, const body *b, real *depth)
{
  if (a->def.kind != PERP_SHAPE_SPHERE) return false;
  if (b->def.kind != PERP_SHAPE_CYLINDER && b->def.kind != PERP_SHAPE_CONE) return false;
  const double x[3] = { (double)a->x[0], (double)a->x[1], (double)a->x[2] };
  *depth = a->def.radius - outside(b, x);
  return *depth >= a->def.radius;
}

static void judge(const body *a, const body *b, const double n[3], double sigma, const double pa[3],
                  const double pb[3], double size, double reach, figures *w)
{
  const real d[3] = { n[0], n[1], n[2] };
  real u[3], lower;
  int used;
  const real len = length(d);
  for (int i = 0; i < 3; i++) u[i] = d[i] / len;
  const double blur = rounding(a, b, reach);
  const double below = (double)fabsl(round_gap(&a->round, &b->round, u) + sigma);
  raise_to(&w->lower, fmax(0, below - blur) / size);
  raise_to(&w->lower, (double)fabsl(len - 1));
  double off = (double)fmaxl(outside(a, pa), outside(b, pb));
  for (int i = 0; i < 3; i++) off = fmax(off, fabs(pb[i] - pa[i] - sigma * n[i]));
  raise_to(sigma > 0 ? &w->upper : &w->points, fmax(0, off - blur) / size);
  if (sigma > 0) return;
  if (closed_form(a, b, &lower)) {
    raise_to(&w->depth, fmax(0, (double)(-sigma - lower) - blur) / size);
    return;
  }
  const int answer = prove_depth(&a->round, &b->round, -(real)sigma - 1e-9L * size - blur, BUDGET,
                                 &lower, &used);
  w->cells += used;
  w->open += answer < 0;
  if (answer == 0) raise_to(&w->depth, (double)(-sigma - lower - blur) / size);
}

static void compare(const perp_model *m, const body *a, const body *b, const perp_pose pose[2],
                    double size, figures *w)
{
  double n[3], p[2][3], low = HUGE_VAL;
  perp_contact c[PERP_MANIFOLD_MAX];
  const double sigma = perp_shape_distance(m, 0, &pose[0], 1, &pose[1], p[0], p[1], n);
  const double reach = m->shape[0].bound + m->shape[1].bound;
  judge(a, b, n, sigma, p[0], p[1], size, reach, w);
  const double margin = perp_rng_int(rng, 2) == 0 ? 0 : size * pow(10, uniform(-4, 0));
  const int count = perp_collide(m, 0, &pose[0], 1, &pose[1], margin, c);
  w->pairs++;
  w->overlapping += sigma < 0;
  w->touching += fabs(sigma) < 1e-6 * size;
  w->contacts += count;
  /* sigma has been proved */
  if (fabs(sigma - margin) > 1e-9 * size + rounding(a, b, reach))
    raise_to(&w->missed, (count > 0) != (sigma < margin));
  for (int k = 0; k < count; k++) {
    double gap = 0;
    for (int i = 0; i < 3; i++) gap += c[k].n[i] * (c[k].p[1][i] - c[k].p[0][i]);
    raise_to(&w->surface, fabs(gap - c[k].gap) / size);
    raise_to(&w->surface, (double)fmaxl(outside(a, c[k].p[0]), outside(b, c[k].p[1])) / size);
    if (k > 0) raise_to(&w->order, !(c[k].id > c[k - 1].id));
    low = fmin(low, c[k].gap);
  }
  if (count > 0) raise_to(&w->gap, (fabs(low - sigma) - 0.05 * fabs(sigma)) / size);
}

static perp_model *model_of(const body *a, const body *b)
{
  perp_model *m = NULL;
  const body *const both[2] = { a, b };
  if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 2; i++) {
    perp_body_def ball = { .mass = perp_mass_sphere(1, 1) };
    perp_shape_def def = both[i]->def;
    if (perp_model_add_body(&ctx, m, &ball, &def.body) != PERP_OK ||
        perp_model_add_shape(&ctx, m, &def, NULL) != PERP_OK)
      bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

/* Overlapping by chance, concentric, or moved from there until they touch up to 1e-6 of the size.
 */
static void random_poses(const perp_model *m, perp_pose pose[2], double size)
{
  double dir[3], len = 0;
  const int look = perp_rng_int(rng, 8);
  const double far = perp_rng_int(rng, 8) == 0 ? 1e3 : 3;
  for (int k = 0; k < 3; k++) {
    pose[0].x[k] = far * size * uniform(-1, 1);
    dir[k] = perp_rng_normal(rng);
    len += dir[k] * dir[k];
  }
  random_rotation(&pose[0], &pose[0]);
  random_rotation(&pose[0], &pose[1]);
  if (look == 0) /* along an axis of the first */
    for (int k = 0, axis = perp_rng_int(rng, 3); k < 3; k++) dir[k] = pose[0].R[3 * axis + k];
  if (look == 0) len = 1;
  const double reach = m->shape[0].bound + m->shape[1].bound;
  const double way = look == 1 ? 0 : reach * uniform(0, look < 5 ? 0.6 : 1.05) / sqrt(len);
  for (int k = 0; k < 3; k++) pose[1].x[k] = pose[0].x[k] + way * dir[k];
  if (look < 6) return;
  double n[3];
  const double sigma = perp_shape_distance(m, 0, &pose[0], 1, &pose[1], NULL, NULL, n);
  const double left = look == 6
                          ? 0
                          : size * pow(10, uniform(-15, -6)) * (perp_rng_int(rng, 2) ? 1 : -1);
  for (int k = 0; k < 3; k++) pose[1].x[k] += (left - sigma) * n[k];
}

static void say(const char *a, const char *b, const figures *w)
{
  printf("# %s-%s: %d pairs, %d overlap, %d touch; missed or spurious %g, lower bound %.1e, upper "
         "bound %.1e, depth %.1e of the size; %.4f %% of the overlaps proved, %.0f cells each\n",
         a, b, (int)w->pairs, (int)w->overlapping, (int)w->touching, w->missed, w->lower,
         fmax(w->upper, w->points), w->depth,
         100 - 100.0 * (double)w->open / (double)w->overlapping,
         (double)w->cells / (double)w->overlapping);
  ok(w->overlapping > w->pairs / 10 && w->contacts > w->overlapping / 2,
     "%s-%s: %d pairs, %d overlap, %d contacts", a, b, (int)w->pairs, (int)w->overlapping,
     (int)w->contacts);
  below(w->missed, 0, "%s-%s: contacts exactly when nearer than the margin", a, b);
  below(w->lower, 1e-10, "%s-%s: the normal proves the distance from below", a, b);
  below(w->upper, 1e-9, "%s-%s: the points are in the shapes and that far from each other", a, b);
  below(w->points, 1e-9, "%s-%s: so are the points of shapes that overlap", a, b);
  below(w->depth, 1e-9, "%s-%s: no direction is less deep", a, b);
  below((double)w->open, 1e-3 * (double)w->overlapping, "%s-%s: which is proved", a, b);
  below(w->surface, 3e-6, "%s-%s: contacts are in both shapes", a, b);
  below(w->gap, 1e-5, "%s-%s: the least gap is the distance", a, b);
  below(w->order, 0, "%s-%s: identities increase", a, b);
}

static void run_pair(perp_shape_kind ka, perp_shape_kind kb, int pairs)
{
  static body a, b;
  figures w = { 0 };
  while (w.pairs < pairs) {
    const double scale = perp_rng_int(rng, 4) == 0 ? pow(10, uniform(0, 4)) : 1;
    const bool first = perp_rng_int(rng, 2) == 0;
    random_shape(ka, first ? scale : 1, &a);
    random_shape(kb, first ? 1 : scale, &b);
    perp_model *m = model_of(&a, &b);
    const double size = fmin(m->shape[0].bound, m->shape[1].bound);
    for (int k = 0; k < 20 && w.pairs < pairs; k++) {
      perp_pose pose[2] = { 0 };
      random_poses(m, pose, size);
      pose_body(&a, &pose[0]);
      pose_body(&b, &pose[1]);
      compare(m, &a, &b, pose, size, &w);
    }
    perp_model_destroy(m);
  }
  say(kind_name[ka], kind_name[kb], &w);
}

/* ---- fixed pairs ---- */

static void fixed_shape(perp_shape_kind kind, const double size[3], body *b)
{
  b->def = (perp_shape_def){ .kind = kind };
  if (kind == PERP_SHAPE_BOX || kind == PERP_SHAPE_ELLIPSOID)
    memcpy(b->def.half, size, sizeof b->def.half);
  else
    b->def.radius = size[0], b->def.length = size[1];
}

/* each in a few frames, as rounding differs from one to another */
static void run_fixed(void)
{
  static body a, b;
  for (size_t i = 0; i < sizeof solid_pairs / sizeof *solid_pairs; i++) {
    const solid_pair *s = &solid_pairs[i];
    figures w = { 0 };
    fixed_shape(s->kind_a, s->a, &a);
    fixed_shape(s->kind_b, s->b, &b);
    perp_model *m = model_of(&a, &b);
    for (int frame = 0; frame < 6; frame++) {
      double q[7] = { 0, 0, 0, 1 }, r[7];
      perp_pose pose[2] = { 0 }, of_b;
      for (int k = 3; k < 7 && frame > 0; k++) q[k] = perp_rng_normal(rng);
      perp_pose_of(3, q, &pose[0]);
      memcpy(r, s->x, sizeof s->x);
      memcpy(r + 3, s->quat, sizeof s->quat);
      perp_pose_of(3, r, &of_b);
      perp_place(&pose[0], of_b.x, pose[1].x);
      for (int k = 0; k < 3; k++) perp_turn(3, pose[0].R, of_b.R + 3 * k, pose[1].R + 3 * k);
      pose_body(&a, &pose[0]);
      pose_body(&b, &pose[1]);
      compare(m, &a, &b, pose, fmin(m->shape[0].bound, m->shape[1].bound), &w);
    }
    perp_model_destroy(m);
    below(fmax(w.lower, w.depth), 1e-9, "pair %d, %s-%s: distance", (int)i, kind_name[s->kind_a],
          kind_name[s->kind_b]);
    below((double)w.open, 0, "pair %d, %s-%s: proved", (int)i, kind_name[s->kind_a],
          kind_name[s->kind_b]);
    below(fmax(w.upper, w.points), 1e-9, "pair %d, %s-%s: points", (int)i, kind_name[s->kind_a],
          kind_name[s->kind_b]);
  }
}

/* ---- half-spaces ---- */

static void run_plane(perp_shape_kind kind, int pairs)
{
  static body a, b = { .def = { .kind = PERP_SHAPE_PLANE } };
  figures w = { 0 };
  while (w.pairs < pairs) {
    random_shape(kind, 1, &a);
    perp_model *m = model_of(&a, &b);
    const double size = m->shape[0].bound;
    for (int k = 0; k < 20 && w.pairs < pairs; k++, w.pairs++) {
      perp_pose pose[2] = { 0 };
      perp_contact c[PERP_MANIFOLD_MAX];
      double n[3], p[2][3], low = HUGE_VAL;
      for (int i = 0; i < 3; i++) pose[0].x[i] = size * uniform(-1, 1);
      if (k % 5 == 0) /* far from the origin */
        for (int i = 0; i < 6; i++) pose[i % 2].x[i / 2] += 1e3 * size * (i / 2 - 1);
      random_rotation(&pose[0], &pose[0]);
      random_rotation(&pose[0], &pose[1]);
      if (k % 4 == 0) /* the axis of the shape upright on it, or along it */
        for (int i = 0; i < 9; i++) pose[0].R[i] = pose[1].R[(i + 3 * (k / 4 % 3)) % 9];
      if (k % 3 == 0) { /* until they touch up to 1e-6 of the size */
        const double gap = perp_shape_distance(m, 0, &pose[0], 1, &pose[1], NULL, NULL, n);
        const double left = size * pow(10, uniform(-15, -6)) * (perp_rng_int(rng, 2) ? 1 : -1);
        for (int i = 0; i < 3; i++) pose[0].x[i] -= (left - gap) * n[i];
      }
      pose_body(&a, &pose[0]);
      real up[3], down[3], s[3];
      for (int i = 0; i < 3; i++) up[i] = pose[1].R[6 + i];
      const real len = length(up);
      for (int i = 0; i < 3; i++) down[i] = -up[i] / len;
      round_support(&a.round, 1, down, s);
      for (int i = 0; i < 3; i++) s[i] += a.round.radius * down[i];
      for (int i = 0; i < 3; i++) s[i] -= pose[1].x[i];
      const double truth = (double)-dot(s, down);
      const double sigma = perp_shape_distance(m, 0, &pose[0], 1, &pose[1], p[0], p[1], n);
      const double margin = k % 2 == 0 ? 0 : size * pow(10, uniform(-4, 0));
      const int count = perp_collide(m, 0, &pose[0], 1, &pose[1], margin, c);
      raise_to(&w.lower, fabs(sigma - truth) / size);
      raise_to(&w.depth, fabs(sigma - truth) / size);
      raise_to(&w.upper, (double)outside(&a, p[0]) / size);
      w.overlapping += truth < 0;
      w.touching += fabs(truth) < 1e-6 * size;
      w.contacts += count;
      if (fabs(truth - margin) > 1e-9 * size) raise_to(&w.missed, (count > 0) != (truth < margin));
      for (int l = 0; l < count; l++) {
        raise_to(&w.surface, (double)outside(&a, c[l].p[0]) / size);
        low = fmin(low, c[l].gap);
        if (l > 0) raise_to(&w.order, !(c[l].id > c[l - 1].id));
      }
      if (count > 0) raise_to(&w.gap, fabs(low - truth) / size);
    }
    perp_model_destroy(m);
  }
  say(kind_name[kind], "plane", &w);
}

int main(int argc, char **argv)
{
  const int pairs = argc > 1 ? atoi(argv[1]) : 300;
  const unsigned seed = argc > 4 ? (unsigned)atoi(argv[4]) : 20261126;
  perp_ctx_init(&ctx);
  rng = perp_rng_create(20261126);
  if (argc <= 2) run_fixed();
  perp_rng_destroy(rng);
  for (int b = PERP_SHAPE_ELLIPSOID; b <= PERP_SHAPE_CONE; b++)
    for (int a = PERP_SHAPE_SPHERE; a <= b; a++) {
      if (argc > 2 && strcmp(argv[2], kind_name[a]) != 0) continue;
      if (argc > 3 && strcmp(argv[3], kind_name[b]) != 0) continue;
      rng = perp_rng_create(seed + (unsigned)(a + 8 * b));
      if (a == PERP_SHAPE_PLANE)
        run_plane((perp_shape_kind)b, pairs);
      else
        run_pair((perp_shape_kind)a, (perp_shape_kind)b, pairs);
      perp_rng_destroy(rng);
    }
  return tap_done();
}
