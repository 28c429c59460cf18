/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signed distances of ellipsoids, cylinders and cones to each other and to all other shapes, each one proved in long
 * double.
 *
 * The judge knows a shape by two things that it writes down itself: its support function, and how far a point is outside
 * of it.  A claim is a signed distance sigma, a normal n and two points.
 *
 *      lower bound   -(h_A(n) + h_B(-n)) = sigma: the plane along n parts them by sigma (overlaps by no more than -sigma);
 *      upper bound   apart: the two points are in the shapes and sigma from each other;
 *                    overlapping: no direction d of the sphere has h_A(d) + h_B(-d) below -sigma - 1e-9 of the size.  The
 *                    sphere is cut into triangles until each is ruled out: s . d <= h(d) for every point s of A - B,
 *                    so the support point s along the middle of a triangle bounds h on all of it, by its least value in
 *                    the corners.
 *
 * No bound comes from the method under test, and the second one is a search of all directions, not of local minima.
 * Where many directions are as deep as the least (parallel axes, concentric shapes), a triangle must be very small to
 * be ruled out: after BUDGET of them the pair is proved to a coarser bound, how many that are is told, and walks down
 * from WALKS random directions must not get below either.
 *
 * The size of a pair is that of its smaller shape.  It may be 1e-6 of the coordinates (a small ball beside a large cone): what
 * doubles of that size cannot tell, four units of their last place, is no error of a point or of a distance.  No room is
 * left for the rounding of the normal, which moves the point of a flat ellipsoid by eps times its radius of curvature: up
 * to 1e-10 of the size here.
 *
 * Pairs that are known to be hard come first (tests/solid_pairs.h), then random ones.  Arguments: number of pairs of each
 * two kinds (default 500), the first and the second kind of shape (default all).  The acceptance, 10^5 pairs of each two
 * kinds, takes one or two minutes a pair:
 *
 *      build/tests/agree/test_solids 100000 cone cone */
#include "models/collision/collision.h"
#include "models/multibody/model_private.h"
#include "models/shapes/shapes_private.h"
#include "tests/solid_pairs.h"
#include "tests/tap.h"

#include <float.h>
#include <string.h>

typedef long double real;

enum { VERTICES = 10, FACES = 64, BUDGET = 5000, WALKS = 4, WALK_STEPS = 150, STACK = 400 };

static perp_ctx ctx;
static perp_rng *rng;
static const char *const kind_name[] = { "sphere", "capsule",   "box",      "polytope",
                                         "plane",  "ellipsoid", "cylinder", "cone" };

static real dot(const real *a, const real *b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static real length(const real *a)
{
  return sqrtl(dot(a, a));
}

static double uniform(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

/* ---- what the judge knows of a shape ----------------------------------------------------------- */

typedef struct body {
  perp_shape_def def;
  double vertices[3 * VERTICES];
  int n_faces;
  real n[FACES][3], d[FACES]; /* of a polytope, in its frame */
  real R[9], x[3];            /* pose, by columns */
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
}

/* s: the point of the shape farthest along d */
static void support(const body *b, const real d[3], real s[3])
{
  const perp_shape_def *f = &b->def;
  const real m[3] = { dot(b->R, d), dot(b->R + 3, d), dot(b->R + 6, d) };
  real y[3] = { 0 }, len = length(m);
  const real r = f->radius, half = f->length / 2.0L, across = hypotl(m[1], m[2]);
  switch (f->kind) {
  case PERP_SHAPE_CAPSULE:
    y[0] = m[0] < 0 ? -half : half;
    /* fall through */
  case PERP_SHAPE_SPHERE:
    for (int i = 0; i < 3; i++) y[i] += r * m[i] / len;
    break;
  case PERP_SHAPE_BOX:
    for (int i = 0; i < 3; i++) y[i] = m[i] < 0 ? -f->half[i] : f->half[i];
    break;
  case PERP_SHAPE_ELLIPSOID: {
    real q = 0;
    for (int i = 0; i < 3; i++) q += f->half[i] * m[i] * (f->half[i] * m[i]);
    for (int i = 0; i < 3; i++) y[i] = f->half[i] * (real)f->half[i] * m[i] / sqrtl(q);
    break;
  }
  case PERP_SHAPE_CYLINDER:
    y[0] = m[0] < 0 ? -half : half;
    if (across > 0) y[1] = r * m[1] / across, y[2] = r * m[2] / across;
    break;
  case PERP_SHAPE_CONE:
    y[0] = 1.5L * half;
    if (r * across - 0.5L * half * m[0] > 1.5L * half * m[0]) {
      y[0] = -0.5L * half;
      y[1] = r * m[1] / across, y[2] = r * m[2] / across;
    }
    break;
  default: {
    real high = -HUGE_VALL;
    for (int k = 0; k < f->n_vertices; k++) {
      const real v[3] = { b->vertices[3 * k], b->vertices[3 * k + 1], b->vertices[3 * k + 2] };
      if (dot(m, v) <= high) continue;
      high = dot(m, v);
      memcpy(y, v, sizeof v);
    }
  }
  }
  for (int i = 0; i < 3; i++)
    s[i] = b->x[i] + b->R[i] * y[0] + b->R[3 + i] * y[1] + b->R[6 + i] * y[2];
}

/* how far a point is outside, at least; up to a factor sqrt(3) in a corner; 0 or less: in it */
static real outside(const body *b, const double p[3])
{
  const perp_shape_def *f = &b->def;
  const real r[3] = { p[0] - b->x[0], p[1] - b->x[1], p[2] - b->x[2] };
  const real y[3] = { dot(b->R, r), dot(b->R + 3, r), dot(b->R + 6, r) };
  const real R = f->radius, L = f->length, across = hypotl(y[1], y[2]);
  real worst = -HUGE_VALL;
  switch (f->kind) {
  case PERP_SHAPE_SPHERE:
    return length(y) - R;
  case PERP_SHAPE_CAPSULE:
    return hypotl(across, fmaxl(0, fabsl(y[0]) - L / 2)) - R;
  case PERP_SHAPE_BOX:
    for (int i = 0; i < 3; i++) worst = fmaxl(worst, fabsl(y[i]) - f->half[i]);
    return worst;
  case PERP_SHAPE_ELLIPSOID: {
    real q = 0, g = 0; /* the level over its slope */
    for (int i = 0; i < 3; i++) {
      q += y[i] / f->half[i] * (y[i] / f->half[i]);
      g += y[i] / f->half[i] / f->half[i] * (y[i] / f->half[i] / f->half[i]);
    }
    return g > 0 ? (q - 1) / (2 * sqrtl(g)) : -1;
  }
  case PERP_SHAPE_CYLINDER:
    return fmaxl(fabsl(y[0]) - L / 2, across - R);
  case PERP_SHAPE_CONE:
    return fmaxl(-L / 4 - y[0], (across * L - R * (0.75L * L - y[0])) / hypotl(L, R));
  default:
    for (int k = 0; k < b->n_faces; k++) worst = fmaxl(worst, dot(b->n[k], y) - b->d[k]);
    return worst;
  }
}

/* h_A(d) + h_B(-d), d a unit vector; s: where it is attained */
static real gap_along(const body *a, const body *b, const real d[3], real s[3])
{
  const real back[3] = { -d[0], -d[1], -d[2] };
  real t[3];
  support(a, d, s);
  support(b, back, t);
  for (int i = 0; i < 3; i++) s[i] -= t[i];
  return dot(s, d);
}

/* ---- all directions ---------------------------------------------------------------------------- */

typedef struct triangle {
  real v[3][3];
} triangle;

static void unit_sum(const real *a, const real *b, const real *c, real *y)
{
  for (int i = 0; i < 3; i++) y[i] = a[i] + b[i] + (c != NULL ? c[i] : 0);
  const real len = length(y);
  for (int i = 0; i < 3; i++) y[i] /= len;
}

/* Is h at least `level` everywhere?  1: yes, 0: *lower is a value below, -1: the budget does not tell. */
static int ruled_out(const body *a, const body *b, real level, int budget, real *lower)
{
  static triangle stack[STACK];
  int n = 0;
  *lower = HUGE_VALL;
  for (int octant = 0; octant < 8; octant++) {
    triangle *t = &stack[n++];
    memset(t, 0, sizeof *t);
    for (int i = 0; i < 3; i++) t->v[i][i] = octant >> i & 1 ? -1 : 1;
  }
  while (n > 0) {
    const triangle t = stack[--n];
    real c[3], s[3], low = HUGE_VALL, m[3][3];
    if (budget-- == 0) return -1;
    unit_sum(t.v[0], t.v[1], t.v[2], c);
    const real h = gap_along(a, b, c, s);
    if (h < level) {
      *lower = h;
      return 0;
    }
    for (int i = 0; i < 3; i++) low = fminl(low, dot(s, t.v[i]));
    /* a unit vector is a mean of the corners over its length, which is above cos(60 degrees) */
    if ((low > 0 ? low : 2 * low) >= level) continue;
    if (n + 4 > STACK) bail("the stack of the oracle is full");
    for (int i = 0; i < 3; i++) unit_sum(t.v[i], t.v[(i + 1) % 3], NULL, m[i]);
    for (int i = 0; i < 4; i++) {
      triangle *part = &stack[n++];
      memcpy(part->v[0], i < 3 ? t.v[i] : m[0], sizeof c);
      memcpy(part->v[1], i < 3 ? m[i] : m[1], sizeof c);
      memcpy(part->v[2], i < 3 ? m[(i + 2) % 3] : m[2], sizeof c);
    }
  }
  return 1;
}

/* The least h that walks from `starts` random directions find: steps along the sphere that shrink when none of eight ways
 * leads down. */
static real walked(const body *a, const body *b, int starts)
{
  real best = HUGE_VALL, s[3];
  for (int k = 0; k < starts; k++) {
    real d[3], h;
    for (int i = 0; i < 3; i++) d[i] = perp_rng_normal(rng);
    unit_sum(d, (real[3]){ 0 }, NULL, d);
    h = gap_along(a, b, d, s);
    real step = 0.3L;
    for (int turn = 0; turn < WALK_STEPS && step > 1e-8L; turn++) {
      real u[3] = { 0 }, w[3], low = h, to[3] = { 0 };
      const int least = fabsl(d[0]) < 0.6L ? 0 : 1;
      u[least] = 1;
      const real along = d[least];
      for (int i = 0; i < 3; i++) u[i] -= along * d[i];
      unit_sum(u, (real[3]){ 0 }, NULL, u);
      for (int i = 0; i < 3; i++)
        w[i] = d[(i + 1) % 3] * u[(i + 2) % 3] - d[(i + 2) % 3] * u[(i + 1) % 3];
      for (int way = 0; way < 8; way++) {
        const real x = step * cosl(0.7853981633974483L * way),
                   y = step * sinl(0.7853981633974483L * way);
        real e[3];
        for (int i = 0; i < 3; i++) e[i] = d[i] + x * u[i] + y * w[i];
        unit_sum(e, (real[3]){ 0 }, NULL, e);
        const real g = gap_along(a, b, e, s);
        if (g < low) low = g, memcpy(to, e, sizeof e);
      }
      if (low < h)
        h = low, memcpy(d, to, sizeof d);
      else
        step *= 0.5L;
    }
    best = fminl(best, h);
  }
  return best;
}

/* ---- pairs ------------------------------------------------------------------------------------- */

/* lengths of sides from 1e-3 to 1 of the shape, and sizes from 1 to 1e3 */
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
  double q[7] = { 0 };
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
  int64_t pairs, overlapping, touching, contacts, coarse;
  double lower, upper, points, depth, missed, surface, gap, order;
} figures;

static void raise_to(double *w, double x)
{
  if (!(x <= *w)) *w = x;
}

/* what the last places of numbers as large as the coordinates leave of an error */
static double beyond_rounding(double error, const body *a, const body *b, double reach)
{
  const double extent = (double)(length(a->x) + length(b->x)) + reach;
  return fmax(0, error - 4 * DBL_EPSILON * extent);
}

static void judge(const body *a, const body *b, const double n[3], double sigma, const double pa[3],
                  const double pb[3], double size, double reach, figures *w)
{
  const real d[3] = { n[0], n[1], n[2] };
  real u[3], s[3], lower;
  const real len = length(d);
  for (int i = 0; i < 3; i++) u[i] = d[i] / len;
  const double below = (double)fabsl(gap_along(a, b, u, s) + sigma);
  raise_to(&w->lower, beyond_rounding(below, a, b, reach) / size);
  raise_to(&w->lower, (double)fabsl(len - 1));
  double off = (double)fmaxl(outside(a, pa), outside(b, pb));
  for (int i = 0; i < 3; i++) off = fmax(off, fabs(pb[i] - pa[i] - sigma * n[i]));
  raise_to(sigma > 0 ? &w->upper : &w->points, beyond_rounding(off, a, b, reach) / size);
  if (sigma > 0) return;
  int answer = -1;
  for (double tolerance = 1e-9; answer < 0 && tolerance < 1; tolerance *= 1e3) {
    answer = ruled_out(a, b, (real)-sigma - tolerance * size, BUDGET, &lower);
    if (answer < 0 && tolerance == 1e-9) {
      w->coarse++;
      raise_to(&w->depth, (double)(-sigma - walked(a, b, WALKS)) / size);
    }
    if (answer == 0) raise_to(&w->depth, (double)(-sigma - lower) / size);
  }
}

static void compare(const perp_model *m, const body *a, const body *b, const perp_pose pose[2],
                    double size, figures *w)
{
  double n[3], p[2][3], low = HUGE_VAL;
  perp_contact c[PERP_MANIFOLD_MAX];
  const double sigma = perp_shape_distance(m, 0, &pose[0], 1, &pose[1], p[0], p[1], n);
  judge(a, b, n, sigma, p[0], p[1], size, m->shape[0].bound + m->shape[1].bound, w);
  const double margin = perp_rng_int(rng, 2) == 0 ? 0 : size * pow(10, uniform(-4, 0));
  const int count = perp_collide(m, 0, &pose[0], 1, &pose[1], margin, c);
  w->pairs++;
  w->overlapping += sigma < 0;
  w->touching += fabs(sigma) < 1e-6 * size;
  w->contacts += count;
  /* sigma has been proved */
  if (fabs(sigma - margin) > 1e-9 * size) raise_to(&w->missed, (count > 0) != (sigma < margin));
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

/* Overlapping by chance, concentric, or moved from there until they touch up to 1e-6 of the size. */
static void random_poses(const perp_model *m, perp_pose pose[2], double size)
{
  double dir[3], len = 0;
  const int look = perp_rng_int(rng, 8);
  for (int k = 0; k < 3; k++) {
    pose[0].x[k] = size * uniform(-3, 3);
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
         "bound %.1e, "
         "depth %.1e of the size (%d of them proved to more than 1e-9 only)\n",
         a, b, (int)w->pairs, (int)w->overlapping, (int)w->touching, w->missed, w->lower, w->upper,
         w->depth, (int)w->coarse);
  ok(w->overlapping > w->pairs / 10 && w->contacts > w->overlapping / 2,
     "%s-%s: %d pairs, %d overlap, %d contacts", a, b, (int)w->pairs, (int)w->overlapping,
     (int)w->contacts);
  below(w->missed, 0, "%s-%s: contacts exactly when nearer than the margin", a, b);
  below(w->lower, 1e-10, "%s-%s: the normal proves the distance from below", a, b);
  below(w->upper, 1e-9, "%s-%s: the points are in the shapes and that far from each other", a, b);
  below(w->points, 1e-9, "%s-%s: so are the points of shapes that overlap", a, b);
  below(w->depth, 1e-9, "%s-%s: no direction is less deep", a, b);
  below(w->surface, 3e-6, "%s-%s: contacts are in both shapes", a, b);
  below(w->gap, 1e-5, "%s-%s: the least gap is the distance", a, b);
  below(w->order, 0, "%s-%s: identities increase", a, b);
}

static void run_pair(perp_shape_kind ka, perp_shape_kind kb, int pairs)
{
  static body a, b;
  figures w = { 0 };
  while (w.pairs < pairs) {
    const double scale = perp_rng_int(rng, 4) == 0 ? pow(10, uniform(0, 3)) : 1;
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

/* ---- fixed pairs ------------------------------------------------------------------------------- */

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
    below(fmax(w.upper, w.points), 1e-9, "pair %d, %s-%s: points", (int)i, kind_name[s->kind_a],
          kind_name[s->kind_b]);
  }
}

/* ---- half-spaces ------------------------------------------------------------------------------- */

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
      random_rotation(&pose[0], &pose[0]);
      random_rotation(&pose[0], &pose[1]);
      if (k % 4 == 0) /* the axis of the shape upright on it, or along it */
        for (int i = 0; i < 9; i++) pose[0].R[i] = pose[1].R[(i + 3 * (k / 4 % 3)) % 9];
      pose_body(&a, &pose[0]);
      real up[3], down[3], s[3];
      for (int i = 0; i < 3; i++) up[i] = pose[1].R[6 + i];
      const real len = length(up);
      for (int i = 0; i < 3; i++) down[i] = -up[i] / len;
      support(&a, down, s);
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
  const int pairs = argc > 1 ? atoi(argv[1]) : 500;
  perp_ctx_init(&ctx);
  rng = perp_rng_create(20261126);
  if (argc <= 2) run_fixed();
  perp_rng_destroy(rng);
  for (int b = PERP_SHAPE_ELLIPSOID; b <= PERP_SHAPE_CONE; b++)
    for (int a = PERP_SHAPE_SPHERE; a <= b; a++) {
      if (argc > 2 && strcmp(argv[2], kind_name[a]) != 0) continue;
      if (argc > 3 && strcmp(argv[3], kind_name[b]) != 0) continue;
      rng = perp_rng_create(20261126 + (unsigned)(a + 8 * b));
      if (a == PERP_SHAPE_PLANE)
        run_plane((perp_shape_kind)b, pairs);
      else
        run_pair((perp_shape_kind)a, (perp_shape_kind)b, pairs);
      perp_rng_destroy(rng);
    }
  return tap_done();
}
