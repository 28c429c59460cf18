/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convex hulls: every point is inside every face, faces are whole, and the volume is the known
 * one. */
#include "models/collision/pairs.h"
#include "models/geometry/shapes_private.h"
#include "tests/tap.h"

#include <string.h>

enum { POINTS = 600 };

static perp_ctx ctx;
static perp_rng *rng;
static double p[3 * POINTS];

static perp_hull *hull_of(int dim, int n)
{
  perp_hull *h = NULL;
  if (perp_hull_create(&ctx, dim, p, 3, n, "shape", &h) != PERP_OK) printf("# %s\n", ctx.msg);
  return h;
}

/* volume (area) by fans from the origin */
static double volume(const perp_hull *h)
{
  double sum = 0;
  for (int f = 0; f < h->n_faces; f++) {
    const double *a = h->v + 3 * h->loop[h->start[f]];
    if (h->dim == 2) {
      const double *b = h->v + 3 * h->loop[h->start[f] + 1];
      sum += 0.5 * (a[0] * b[1] - a[1] * b[0]);
      continue;
    }
    for (int k = h->start[f] + 1; k + 1 < h->start[f + 1]; k++) {
      double c[3];
      perp_cross(h->v + 3 * h->loop[k], h->v + 3 * h->loop[k + 1], c);
      sum += perp_dot(3, a, c) / 6;
    }
  }
  return sum;
}

/* highest point above a face; faces lie in their planes; normals are unit, edges join their
 * faces */
static double outside(const perp_hull *h, int n)
{
  double worst = 0;
  for (int f = 0; f < h->n_faces; f++) {
    const double *m = h->n + 3 * f;
    for (int i = 0; i < n; i++) worst = fmax(worst, perp_dot(3, m, p + 3 * i) - h->d[f]);
    for (int k = h->start[f]; k < h->start[f + 1]; k++) {
      const int *e = h->edge + 4 * h->rim[k];
      worst = fmax(worst, fabs(perp_dot(3, m, h->v + 3 * h->loop[k]) - h->d[f]));
      worst = fmax(worst, fabs(perp_dot(3, m, h->side + 3 * k)));
      if (e[2] != f && e[3] != f) worst = HUGE_VAL;
    }
    worst = fmax(worst, fabs(perp_norm(m) - 1));
  }
  return worst;
}

static void turn_points(int dim, int n)
{
  perp_pose pose;
  double q[7] = { 0 }, y[3];
  for (int k = 3; k < 7; k++) q[k] = perp_rng_normal(rng);
  if (dim == 2) q[2] = q[3];
  perp_pose_of(dim, q, &pose);
  for (int i = 0; i < n; i++) {
    perp_turn(dim, pose.R, p + 3 * i, y);
    memcpy(p + 3 * i, y, (size_t)dim * sizeof *y);
  }
}

/* turned at random: the shape must come out the same */
static void expect(const char *what, int dim, int n, int faces, int edges, double size)
{
  for (int turned = 0; turned < 4; turned++) {
    if (turned > 0) turn_points(dim, n);
    perp_hull *h = hull_of(dim, n);
    if (!ok(h != NULL, "%s: has a hull", what)) return;
    ok(h->n_faces == faces && h->n_edges == edges, "%s: %d faces, %d edges (%d, %d)", what, faces,
       edges, h->n_faces, h->n_edges);
    below(outside(h, n), 1e-9, "%s: nothing outside", what);
    near(volume(h), size, 0, 1e-9, "%s: volume", what);
    free(h);
  }
}

static void test_known(void)
{
  int n = 0;
  for (int i = 0; i < 5; i++) /* a lattice: faces full of points that are no corners */
    for (int j = 0; j < 5; j++)
      for (int k = 0; k < 5; k++) memcpy(p + 3 * n++, (double[3]){ i, j, 2 * k }, 3 * sizeof *p);
  expect("lattice", 3, n, 6, 12, 128);
  n = 0;
  for (int i = 0; i < 40; i++) /* a prism, each corner twice */
    for (int k = 0; k < 4; k++) {
      double a = 2 * acos(-1.0) * i / 40;
      memcpy(p + 3 * n++, (double[3]){ cos(a), sin(a), k % 2 }, 3 * sizeof *p);
    }
  expect("prism", 3, n, 42, 120, 20 * sin(2 * acos(-1.0) / 40));
  n = 0;
  for (int k = 0; k < 3; k++)
    for (int s = -1; s <= 1; s += 2) {
      memset(p + 3 * n, 0, 3 * sizeof *p);
      p[3 * n++ + k] = s;
    }
  expect("octahedron", 3, n, 8, 12, 4.0 / 3);
  /* a plate of 1 m and 1 um */
  for (n = 0; n < 8; n++)
    for (int k = 0; k < 3; k++) p[3 * n + k] = (n >> k & 1) * (k == 2 ? 1e-6 : 1);
  expect("plate", 3, n, 6, 12, 1e-6);
  n = 0;
  for (int i = 0; i < 7; i++)
    for (int j = 0; j < 7; j++) memcpy(p + 3 * n++, (double[3]){ i, j, 0 }, 3 * sizeof *p);
  expect("square of points", 2, n, 4, 4, 36);
}

/* Points on the edges, where the nearest point of the hull is often the point itself: their
 * distance from the hull; HUGE_VAL without a unit normal. */
static double on_rim(const perp_hull *h)
{
  double worst = 0;
  for (int e = 0; e < h->n_edges; e++)
    for (int k = 0; k <= 4; k++) {
      double x[3], on[3], n[3], r[3];
      for (int i = 0; i < 3; i++) x[i] = h->v[3 * h->edge[4 * e] + i] + k / 4.0 * h->dir[3 * e + i];
      worst = fmax(worst, fabs(perp_hull_point(h, x, on, n)));
      perp_sub(x, on, r);
      worst = fmax(worst, perp_norm(r));
      if (!(fabs(perp_norm(n) - 1) < 1e-12)) return HUGE_VAL;
    }
  return worst;
}

static void test_random(void)
{
  double worst = 0, ball = 0, rim = 0;
  int refused = 0, corners = 0;
  for (int k = 0; k < 200; k++) {
    int n = 4 + perp_rng_int(rng, k % 10 == 0 ? POINTS - 4 : 40), on = k % 3;
    for (int i = 0; i < n; i++) {
      double len = 0;
      for (int l = 0; l < 3; l++) p[3 * i + l] = perp_rng_normal(rng);
      for (int l = 0; l < 3; l++) len += p[3 * i + l] * p[3 * i + l];
      for (int l = 0; l < 3; l++)
        if (on == 0)
          p[3 * i + l] /= sqrt(len); /* all of them corners */
        else if (on == 1)
          p[3 * i + l] = round(3 * p[3 * i + l]); /* many in one plane, many equal */
    }
    perp_hull *h = hull_of(3, n);
    if (h == NULL) {
      refused++;
      continue;
    }
    worst = fmax(worst, outside(h, n));
    rim = fmax(rim, on_rim(h));
    if (on == 0) corners += h->n_vertices != n;
    if (on == 0 && n > 400) ball = fmax(ball, fabs(volume(h) / (4.0 / 3 * acos(-1.0)) - 1));
    free(h);
  }
  /* four points of a coarse lattice may lie in one plane */
  ok(refused <= 4, "random points: %d of 200 refused", refused);
  below(worst, 1e-9, "random points: nothing outside");
  below(rim, 1e-12, "random points: points on the edges are on the hull, with a normal");
  ok(corners == 0, "points of a sphere are all corners (%d)", corners);
  below(ball, 0.05, "many points of a sphere: almost its volume");
}

static void refuse(const char *what, int dim, int n)
{
  perp_hull *h = NULL;
  ok(perp_hull_create(&ctx, dim, p, 3, n, "shape 7 'plate'", &h) == PERP_ERR_ARG && h == NULL,
     "%s is refused: %s", what, ctx.msg);
  ok(strstr(ctx.msg, "shape 7 'plate'") != NULL, "%s: the message names it", what);
}

static void test_refused(void)
{
  memset(p, 0, sizeof p);
  refuse("a point", 3, 5);
  refuse("a point of the plane", 2, 5);
  for (int i = 0; i < 9; i++) p[3 * i] = i;
  refuse("a line", 3, 9);
  refuse("a line of the plane", 2, 9);
  for (int i = 0; i < 9; i++) p[3 * i + 1] = i % 3;
  refuse("a flat figure", 3, 9);
  turn_points(3, 9);
  refuse("a flat figure, turned", 3, 9);
}

int main(void)
{
  perp_ctx_init(&ctx);
  rng = perp_rng_create(3);
  test_known();
  test_random();
  test_refused();
  perp_rng_destroy(rng);
  return tap_done();
}
