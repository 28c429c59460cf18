/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of two shapes where the answer is known by hand. */
#include "models/multibody/model_private.h"
#include "models/collision/collision.h"
#include "models/collision/pairs.h"
#include "models/geometry/convex.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

/* ---- scenes of free bodies, one shape each ---- */

static const double ROOM = 1e-12; /* rounding of a few operations on lengths of about 1 m */

static perp_model *begin(int dim)
{
  perp_model *m = NULL;
  if (perp_model_create(&ctx, dim, &m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

/* a body at x (orientation as in def) with the shape; world: on PERP_WORLD at x */
static void put(perp_model *m, bool world, perp_shape_def def, double x, double y, double z)
{
  perp_body_def body = { .mass = perp_mass_sphere(1, 1), .x = { x, y, z } };
  if (world) {
    def.body = PERP_WORLD;
    memcpy(def.x, body.x, sizeof def.x);
  } else {
    memcpy(body.quat, def.quat, sizeof body.quat);
    body.angle = def.angle;
    memset(def.quat, 0, sizeof def.quat);
    def.angle = 0;
    if (perp_model_add_body(&ctx, m, &body, &def.body) != PERP_OK) bail("%s", ctx.msg);
  }
  if (perp_model_add_shape(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
}

static int contacts_of(perp_model *m, double margin, perp_contact *out, int max)
{
  perp_collision *c = NULL;
  const perp_contact *list;
  int n;
  if (!m->building.finished && perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  perp_eval_poses(&m->eval, m, 0, m->q0);
  if (perp_collision_create(&ctx, m, margin, &c) != PERP_OK) bail("%s", ctx.msg);
  if (perp_collision_find(&ctx, c, m->eval.pose, &list, &n) != PERP_OK) bail("%s", ctx.msg);
  memcpy(out, list, (size_t)(n < max ? n : max) * sizeof *out);
  perp_collision_destroy(c);
  return n;
}

static const perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .radius = 0.5 };
static const perp_shape_def cube = { .kind = PERP_SHAPE_BOX, .half = { 0.5, 0.5, 0.5 } };
static const perp_shape_def pill = { .kind = PERP_SHAPE_CAPSULE, .radius = 0.25, .length = 2 };
static const perp_shape_def ground = { .kind = PERP_SHAPE_PLANE };

static int two(int dim, perp_shape_def a, bool world, const double xa[3], perp_shape_def b,
               const double xb[3], double margin, perp_contact *out)
{
  perp_model *m = begin(dim);
  put(m, world, a, xa[0], xa[1], xa[2]);
  put(m, false, b, xb[0], xb[1], xb[2]);
  int n = contacts_of(m, margin, out, 8);
  perp_model_destroy(m);
  return n;
}
#define AT(...) ((const double[3]){ __VA_ARGS__ })

static void check(const perp_contact *c, const double n[3], double gap, const char *what)
{
  double worst = 0, along = 0;
  for (int i = 0; i < 3; i++) {
    worst = fmax(worst, fabs(c->n[i] - n[i]));
    along += c->n[i] * (c->p[1][i] - c->p[0][i]);
  }
  below(worst, ROOM, "%s: normal", what);
  near(c->gap, gap, ROOM, 0, "%s: gap", what);
  near(along, c->gap, ROOM, 0, "%s: gap is n . (p_b - p_a)", what);
}

static void test_round(void)
{
  perp_contact c[8];
  int n = two(3, ball, false, AT(0, 0, 0), ball, AT(0, 0, 0.9), 0, c);
  if (ok(n == 1, "two balls touch once")) check(c, AT(0, 0, 1), -0.1, "balls");
  ok(two(3, ball, false, AT(0, 0, 0), ball, AT(0, 0, 1.1), 0.05, c) == 0, "apart: no contact");
  n = two(3, ball, false, AT(0, 0, 0), ball, AT(0, 0, 1.1), 0.2, c);
  if (ok(n == 1, "within the margin: one")) check(c, AT(0, 0, 1), 0.1, "balls apart");
  n = two(3, ball, false, AT(1, 1, 1), ball, AT(1, 1, 1), 0, c);
  if (ok(n == 1, "coincident balls touch")) near(c->gap, -1, ROOM, 0, "coincident balls: gap");
  n = two(3, ground, true, AT(0, 0, 1), ball, AT(3, 4, 1.4), 0, c);
  if (ok(n == 1, "ball on a plane")) check(c, AT(0, 0, 1), -0.1, "ball and plane");
  n = two(2, ground, true, AT(0, 1, 0), ball, AT(3, 1.4, 0), 0, c);
  if (ok(n == 1, "disc on a line")) check(c, AT(0, 1, 0), -0.1, "disc and line");
  n = two(3, ground, true, AT(0, 0, 0), pill, AT(0, 0, 0.2), 0, c);
  if (ok(n == 2, "lying capsule touches a plane at both ends")) {
    check(&c[0], AT(0, 0, 1), -0.05, "capsule, one end");
    check(&c[1], AT(0, 0, 1), -0.05, "capsule, other end");
    near(c[1].p[1][0] - c[0].p[1][0], 2, ROOM, 0, "capsule: the ends are apart by its length");
  }
  n = two(3, cube, true, AT(0, 0, 0), ball, AT(0.1, 0.2, 0.9), 0, c);
  if (ok(n == 1, "ball over a face")) check(c, AT(0, 0, 1), -0.1, "ball and face");
  double r = 0.4 / sqrt(3);
  n = two(3, cube, true, AT(0, 0, 0), ball, AT(0.5 + r, 0.5 + r, 0.5 + r), 0, c);
  if (ok(n == 1, "ball at a corner"))
    check(c, AT(r / 0.4, r / 0.4, r / 0.4), -0.1, "ball and corner");
  n = two(3, cube, true, AT(0, 0, 0), ball, AT(0.1, 0.2, 0.3), 0, c);
  if (ok(n == 1, "ball in a box"))
    check(c, AT(0, 0, 1), -0.7, "ball in a box leaves the near side");
  n = two(3, pill, true, AT(0, 0, 0), ball, AT(0.5, 0.7, 0), 0, c);
  if (ok(n == 1, "ball at a capsule")) check(c, AT(0, 1, 0), -0.05, "ball and capsule");
}

/* every contact at a corner of a square of half edge h at height z, all four different */
static void check_corners(const perp_contact *c, int n, double h, double z, double gap,
                          const char *what)
{
  unsigned seen = 0;
  if (!ok(n == 4, "%s: four contacts (%d)", what, n)) return;
  for (int k = 0; k < 4; k++) {
    const double *p = c[k].p[1];
    if (fabs(fabs(p[0]) - h) < ROOM && fabs(fabs(p[1]) - h) < ROOM)
      seen |= 1u << (p[0] > 0) << 2 * (p[1] > 0);
    near(p[2], z, ROOM, 0, "%s: height", what);
    check(&c[k], AT(0, 0, 1), gap, what);
    if (k > 0) ok(c[k].id > c[k - 1].id, "%s: ids increase", what);
  }
  ok(seen == 15, "%s: the four corners", what);
}

static void test_boxes(void)
{
  perp_contact c[8], d[8];
  int n = two(3, ground, true, AT(0, 0, 0), cube, AT(0, 0, 0.49), 0, c);
  check_corners(c, n, 0.5, -0.01, -0.01, "box on a plane");
  n = two(3, cube, true, AT(0, 0, 0), cube, AT(0, 0, 0.99), 0, c);
  check_corners(c, n, 0.5, 0.49, -0.01, "box on a box");
  bool exact = n == 4;
  for (int k = 0; k < n; k++) exact = exact && c[k].n[0] == 0 && c[k].n[1] == 0 && c[k].n[2] == 1;
  ok(exact, "box on a box: the normals are exactly z");
  /* drift of rounding size changes neither the number nor the identities */
  int m = two(3, cube, true, AT(0, 0, 0), cube, AT(1e-9, -1e-9, 0.99), 0, d);
  bool same = n == m;
  for (int k = 0; k < n && same; k++) same = c[k].id == d[k].id;
  ok(same, "box on a box: a drift of 1e-9 keeps the identities");
  perp_shape_def turned = cube;
  turned.quat[0] = cos(1e-9), turned.quat[3] = sin(1e-9);
  m = two(3, cube, true, AT(0, 0, 0), turned, AT(0, 0, 0.99), 0, d);
  same = n == m;
  for (int k = 0; k < n && same; k++) same = c[k].id == d[k].id;
  ok(same, "box on a box: a turn of 1e-9 keeps the identities");
  n = two(3, cube, true, AT(0, 0, 0), cube, AT(0, 0, 1.01), 0.02, c);
  check_corners(c, n, 0.5, 0.51, 0.01, "box over a box, apart");
  perp_shape_def small = { .kind = PERP_SHAPE_BOX, .half = { 0.2, 0.2, 0.2 } };
  n = two(3, cube, true, AT(0, 0, 0), small, AT(0, 0, 0.69), 0, c);
  check_corners(c, n, 0.2, 0.49, -0.01, "small box on a box");
  n = two(3, small, true, AT(0, 0, 0), cube, AT(0, 0, 0.69), 0, c);
  check_corners(c, n, 0.2, 0.19, -0.01, "box on a small box");
  /* crossed edges: roof ridges along x and y, ridge heights sqrt(1/2) from the centres */
  double s = sqrt(0.5), a = acos(-1.0) / 8;
  perp_shape_def lower = cube, upper = cube;
  lower.quat[0] = cos(a), lower.quat[1] = sin(a);
  upper.quat[0] = cos(a), upper.quat[2] = sin(a);
  n = two(3, lower, true, AT(0, 0, 0), upper, AT(0.1, 0.2, 2 * s - 0.01), 0, c);
  if (ok(n == 1, "crossed edges: one contact (%d)", n)) {
    check(c, AT(0, 0, 1), -0.01, "crossed edges");
    near(c->p[0][0], 0.1, ROOM, 0, "crossed edges: x of the crossing");
    near(c->p[0][1], 0, ROOM, 0, "crossed edges: y of the crossing");
  }
  n = two(3, lower, true, AT(0, 0, 0), upper, AT(0.1, 0.2, 2 * s + 0.01), 0.1, c);
  if (ok(n == 1, "crossed edges apart: one contact (%d)", n))
    check(c, AT(0, 0, 1), 0.01, "crossed edges apart");
  /* corner to corner */
  double g = 0.03 / sqrt(3);
  n = two(3, cube, true, AT(0, 0, 0), cube, AT(1 + g, 1 + g, 1 + g), 0.05, c);
  if (ok(n == 1, "corner to corner: one contact (%d)", n))
    check(c, AT(g / 0.03, g / 0.03, g / 0.03), 0.03, "corner to corner");
  ok(two(3, cube, true, AT(0, 0, 0), cube, AT(1 + g, 1 + g, 1 + g), 0.02, c) == 0,
     "corner to corner beyond the margin: none");
  /* the plane */
  n = two(2, ground, true, AT(0, 0, 0), cube, AT(0, 0.49, 0), 0, c);
  if (ok(n == 2, "square on a line: two contacts (%d)", n)) {
    check(&c[0], AT(0, 1, 0), -0.01, "square on a line");
    near(fabs(c[1].p[1][0] - c[0].p[1][0]), 1, ROOM, 0, "square on a line: its corners");
  }
  n = two(2, cube, true, AT(0, 0, 0), cube, AT(0.3, 0.99, 0), 0, c);
  if (ok(n == 2, "square on a square: two contacts (%d)", n)) {
    check(&c[0], AT(0, 1, 0), -0.01, "square on a square");
    near(fabs(c[1].p[1][0] - c[0].p[1][0]), 0.7, ROOM, 0, "square on a square: the overlap");
  }
  n = two(2, cube, true, AT(0, 0, 0), cube, AT(1.03, 1.04, 0), 0.1, c);
  if (ok(n == 1, "squares corner to corner (%d)", n))
    check(c, AT(0.6, 0.8, 0), 0.05, "squares corner to corner");
}

/* ---- cylinders and cones ---- */

static const perp_shape_def rod = { .kind = PERP_SHAPE_CYLINDER, .radius = 0.25, .length = 2 };
static const perp_shape_def hat = { .kind = PERP_SHAPE_CONE, .radius = 0.5, .length = 1 };

/* the axis upright: x along z */
static perp_shape_def upright(perp_shape_def def, double turn)
{
  const double a = acos(-1.0) / 4;
  def.quat[0] = cos(a + turn), def.quat[2] = -sin(a + turn);
  return def;
}

/* the same number and identities after a drift of rounding size */
static void check_lasting(perp_shape_def floor, perp_shape_def def, double z, const perp_contact *c,
                          int n, const char *who)
{
  perp_contact d[16];
  perp_shape_def turned = def;
  if (turned.quat[0] == 0 && turned.quat[2] == 0) turned.quat[0] = 1;
  turned.quat[1] += 1e-9, turned.quat[3] -= 2e-9;
  const int m = two(3, floor, true, AT(0, 0, 0), turned, AT(1e-9, -1e-9, z + 1e-10), 0, d);
  bool same = n == m;
  for (int k = 0; k < n && same; k++) same = c[k].id == d[k].id;
  ok(same, "%s: a drift of 1e-9 keeps the identities (%d, %d)", who, n, m);
}

static void test_solids(void)
{
  perp_contact c[16];
  perp_shape_def plate = { .kind = PERP_SHAPE_BOX, .half = { 3, 3, 1 } };
  for (int k = 0; k < 2; k++) { /* on a half-space and on the face of a box */
    const perp_shape_def floor = k == 0 ? ground : plate;
    const double h = k == 0 ? 0 : 1;
    perp_shape_def up = upright(rod, 0), cone = upright(hat, 0);
    int n = two(3, floor, true, AT(0, 0, 0), up, AT(0, 0, h + 0.99), 0, c);
    ok(n == 4, "cylinder on its end: four contacts (%d)", n);
    double x = 0, y = 0;
    for (int i = 0; i < n; i++) {
      check(&c[i], AT(0, 0, 1), -0.01, "cylinder on its end");
      near(hypot(c[i].p[1][0], c[i].p[1][1]), 0.25, ROOM, 0, "cylinder on its end: on the rim");
      x += c[i].p[1][0], y += c[i].p[1][1];
    }
    near(hypot(x, y), 0, ROOM, 0, "cylinder on its end: its contacts are around its axis");
    check_lasting(floor, up, h + 0.99, c, n, "cylinder on its end");
    n = two(3, floor, true, AT(0, 0, 0), rod, AT(0, 0, h + 0.24), 0, c);
    if (ok(n == 2, "cylinder on its side: two contacts (%d)", n)) {
      check(&c[0], AT(0, 0, 1), -0.01, "cylinder on its side");
      near(fabs(c[0].p[1][0] - c[1].p[1][0]), 2, ROOM, 0, "cylinder on its side: its ends");
    }
    check_lasting(floor, rod, h + 0.24, c, n, "cylinder on its side");
    n = two(3, floor, true, AT(0, 0, 0), upright(rod, 0.1), AT(0, 0, h + 1), 0, c);
    if (ok(n == 1, "tilted cylinder: one contact (%d)", n))
      check(c, AT(0, 0, 1), 1 - cos(0.2) - 0.25 * sin(0.2), "tilted cylinder: its rim");
    n = two(3, floor, true, AT(0, 0, 0), cone, AT(0, 0, h + 0.24), 0, c);
    ok(n == 4, "cone on its base: four contacts (%d)", n);
    for (int i = 0; i < n; i++) check(&c[i], AT(0, 0, 1), -0.01, "cone on its base");
    check_lasting(floor, cone, h + 0.24, c, n, "cone on its base");
    n = two(3, floor, true, AT(0, 0, 0), upright(hat, acos(-1.0) / 2), AT(0, 0, h + 0.74), 0, c);
    if (ok(n == 1, "cone on its apex: one contact (%d)", n))
      check(c, AT(0, 0, 1), -0.01, "cone on its apex");
    /* on its side: the normal of the side is (R, L) / S from the axis */
    const double s = hypot(0.5, 1), lean = atan2(0.5, 1) / 2;
    perp_shape_def side = hat;
    side.quat[0] = cos(lean), side.quat[2] = sin(lean);
    n = two(3, floor, true, AT(0, 0, 0), side, AT(0, 0, h + 0.75 * 0.5 / s - 0.01), 0, c);
    if (ok(n == 2, "cone on its side: two contacts (%d)", n)) {
      check(&c[0], AT(0, 0, 1), -0.01, "cone on its side");
      near(fabs(c[0].p[1][0] - c[1].p[1][0]), s, 1e-9, 0, "cone on its side: apex and rim");
    }
  }
  /* crossed, parallel and end to end */
  perp_shape_def across = rod;
  across.quat[0] = across.quat[3] = sqrt(0.5);
  int n = two(3, rod, true, AT(0, 0, 0), across, AT(0.1, 0.2, 0.49), 0, c);
  if (ok(n == 1, "crossed cylinders: one contact (%d)", n)) {
    check(c, AT(0, 0, 1), -0.01, "crossed cylinders");
    near(c->p[0][0], 0.1, ROOM, 0, "crossed cylinders: where");
  }
  n = two(3, rod, true, AT(0, 0, 0), rod, AT(1.5, 0, 0.49), 0, c);
  if (ok(n == 2, "parallel cylinders: two contacts (%d)", n))
    near(fabs(c[0].p[0][0] - c[1].p[0][0]), 0.5, ROOM, 0, "parallel cylinders: the stretch");
  int alike[3];
  for (int k = 0; k < 9; k++) { /* nearly parallel, or not: the same in any size */
    const double size = (double[]){ 1, 1e-3, 1e3 }[k / 3], turn = 0.015 + 0.03 * (k % 3);
    perp_shape_def small = rod, askew;
    small.radius *= size, small.length *= size;
    askew = small;
    askew.quat[0] = cos(turn / 2), askew.quat[3] = sin(turn / 2);
    n = two(3, small, true, AT(0, 0, 0), askew, AT(0, 0, 0.49 * size), 0, c);
    if (k < 3) alike[k] = n;
    ok(n == alike[k % 3] && n > 0, "cylinders of %g m, %g rad askew: %d contacts", 2 * size, turn,
       n);
  }
  for (int side = -1; side < 2; side += 2) {
    n = two(3, rod, true, AT(0, 0, 0), rod, AT(1.99 * side, 0.1, 0), 0, c);
    ok(n >= 3, "cylinders end to end: three contacts or more (%d)", n);
    for (int i = 0; i < n; i++) check(&c[i], AT(side, 0, 0), -0.01, "cylinders end to end");
  }
  /* half-spaces of two bodies */
  perp_model *m = begin(3);
  put(m, true, ground, 0, 0, 0);
  put(m, false, ground, 0, 0, 1);
  ok(perp_model_finish(&ctx, m) == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, "shape 0") != NULL &&
         strstr(ctx.msg, "shape 1") != NULL,
     "half-spaces of two bodies are refused, by name: %s", ctx.msg);
  perp_model_destroy(m);
  m = begin(2);
  perp_shape_def flat = rod;
  perp_body_def body = { .mass = perp_mass_sphere(1, 1) };
  if (perp_model_add_body(&ctx, m, &body, &flat.body) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_model_add_shape(&ctx, m, &flat, NULL) == PERP_ERR_UNSUPPORTED,
     "a cylinder in the plane is refused: %s", ctx.msg);
  perp_model_destroy(m);
}

/* A disc flies through a thin plate, end first and edge first. */
static void test_solids_impact(void)
{
  const perp_shape_def disc = { .kind = PERP_SHAPE_CYLINDER, .radius = 0.5, .length = 0.02 };
  const perp_shape_def plate = { .kind = PERP_SHAPE_BOX, .half = { 1e-3, 2, 2 } };
  const double start[7] = { -60, 0, 0, 1 }, end[7] = { 40, 0, 0, 1 }, h = sqrt(0.5);
  const double start_edge[7] = { -60, 0, 0, h, 0, 0, h }, end_edge[7] = { 40, 0, 0, h, 0, 0, h };
  bool hit;
  perp_model *m = begin(3);
  put(m, false, disc, 0, 0, 0);
  put(m, true, plate, 0, 0, 0);
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  double s = perp_time_of_impact(m, 0, start, end, 1, NULL, NULL, 0, &hit);
  ok(hit, "a disc flies through a plate");
  near(s, (60 - 0.011) / 100, 1e-10, 0, "disc through a plate: when");
  s = perp_time_of_impact(m, 0, start_edge, end_edge, 1, NULL, NULL, 0, &hit);
  near(s, (60 - 0.501) / 100, 1e-10, 0, "disc through a plate, edge first: when");
  perp_model_destroy(m);
}

static void test_hulls(void)
{
  static const double flat[12] = { 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0 };
  double corners[30];
  perp_contact c[8];
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 3; k++) corners[3 * i + k] = (i >> k & 1) != 0 ? 0.5 : -0.5;
  /* neither of these is a vertex of the hull */
  memcpy(corners + 24, (double[6]){ 0.1, 0.2, 0.3, 0.5, 0.1, 0.1 }, 6 * sizeof(double));
  perp_shape_def hull = { .kind = PERP_SHAPE_POLYTOPE, .vertices = corners, .n_vertices = 10 };
  int n = two(3, hull, true, AT(0, 0, 0), cube, AT(0, 0, 0.99), 0, c);
  check_corners(c, n, 0.5, 0.49, -0.01, "box on the hull of a cube");
  hull.vertices = flat, hull.n_vertices = 4;
  perp_model *m = begin(3);
  put(m, true, hull, 0, 0, 0);
  put(m, false, ball, 0, 0, 0);
  ok(perp_model_finish(&ctx, m) == PERP_ERR_ARG, "a flat hull is refused: %s", ctx.msg);
  perp_model_destroy(m);
}

/* A box that leans a little over a triangle: the normal of the surface counts, not that of the box.
 */
static void test_leaning(void)
{
  static const double corners[] = { 0.2, 0.2, 0, 0.4, 0.2, 0, 0.2, 0.4, 0 };
  static const int triangles[] = { 0, 1, 2 };
  perp_shape_def floor = { .kind = PERP_SHAPE_MESH, .n_vertices = 3, .n_triangles = 1 };
  perp_shape_def leans = cube;
  perp_contact c[16];
  floor.vertices = corners, floor.triangles = triangles;
  for (int k = 0; k < 4; k++) {
    const double by = 0.01 * (k < 2 ? 1 : -1);
    leans.quat[0] = cos(by / 2), leans.quat[1 + k % 2] = sin(by / 2);
    leans.quat[2 - k % 2] = 0;
    const int n = two(3, floor, true, AT(0, 0, 0), leans, AT(0, 0, 0.495), 0.02, c);
    ok(n == 3, "a cube leans over a triangle: three contacts (%d)", n);
    for (int i = 0; i < n; i++)
      check(&c[i], AT(0, 0, 1), c[i].p[1][2], "a cube leans over a triangle");
  }
}

/* A ball deep in the ground of a cell whose two triangles rise differently: it leaves along the
 * normal of the one that it is under. */
static void test_deep(void)
{
  static const double heights[] = { 0, 0, 0, 2 };
  perp_shape_def field = { .kind = PERP_SHAPE_HEIGHT_FIELD, .grid = { 2, 2 }, .depth = 4 };
  perp_contact c[16];
  field.heights = heights, field.spacing[0] = field.spacing[1] = 10;
  for (int k = 0; k < 2; k++) {
    const double x = k == 0 ? 5 : 4, y = k == 0 ? 4 : 5, s = hypot(1, 0.2);
    const double n[3] = { k == 0 ? 0 : -0.2 / s, k == 0 ? -0.2 / s : 0, 1 / s };
    if (ok(two(3, field, true, AT(0, 0, 0), ball, AT(x, y, -2), 0, c) == 1,
           "a ball deep in a field"))
      check(c, n, n[0] * x + n[1] * y - 2 * n[2] - 0.5, "a ball deep in a field");
  }
}

/* A corner keeps its identity where it goes on to another triangle of the same face. */
static void test_facet(void)
{
  static const double corners[] = { -5, -5, 0, 5, -5, 0, 5, 5, 0, -5, 5, 0 };
  static const int triangles[] = { 0, 1, 2, 0, 2, 3 };
  perp_shape_def floor = { .kind = PERP_SHAPE_MESH, .n_vertices = 4, .n_triangles = 2 };
  perp_contact c[2][16];
  floor.vertices = corners, floor.triangles = triangles;
  const int n = two(3, floor, true, AT(0, 0, 0), cube, AT(2, -2, 0.49), 0, c[0]);
  int same = n == two(3, floor, true, AT(0, 0, 0), cube, AT(-2, 2, 0.49), 0, c[1]);
  for (int i = 0; i < n && same; i++) same = c[0][i].id == c[1][i].id;
  ok(n == 4 && same, "a cube on two triangles of one face: the same contacts");
}

/* two bodies, at their poses */
static perp_model *placed(perp_shape_def a, const double xa[3], perp_shape_def b,
                          const double xb[3])
{
  perp_model *m = begin(3);
  put(m, false, a, xa[0], xa[1], xa[2]);
  put(m, false, b, xb[0], xb[1], xb[2]);
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  perp_eval_poses(&m->eval, m, 0, m->q0);
  return m;
}

/* The ridge of a hip roof lies on the top of a box, its ends beside the box, where the hips are the
 * flattest faces. */
static void test_ridge(void)
{
  static const double corners[] = { -1, 0,   0,   1, 0,    0,   -4, 0.3, 0.5, -4, -0.3, 0.5,
                                    4,  0.3, 0.5, 4, -0.3, 0.5, 0,  0.3, 3,   0,  -0.3, 3 };
  const perp_shape_def roof = { .kind = PERP_SHAPE_POLYTOPE, .vertices = corners, .n_vertices = 8 };
  for (int k = 0; k < 2; k++) { /* the roof first, the box first */
    perp_model *m = k == 0 ? placed(roof, AT(2, 3, 1), cube, AT(2, 3, 0.51))
                           : placed(cube, AT(2, 3, 0.51), roof, AT(2, 3, 1));
    double n[3], p[2][3];
    near(perp_shape_distance(m, 0, &m->eval.pose[0], 1, &m->eval.pose[1], p[0], p[1], n), -0.01,
         ROOM, 0, "a ridge on a box: depth");
    near(p[k][2], 1, ROOM, 0, "a ridge on a box: on the ridge");
    near(p[1 - k][2], 1.01, ROOM, 0, "a ridge on a box: on the box");
    ok(fabs(p[0][0] - 2) < 0.5 + ROOM && fabs(p[0][1] - 3) < ROOM, "a ridge on a box: where");
    perp_model_destroy(m);
  }
}

/* A cylinder and a capsule in either order. */
static void test_exchanged(void)
{
  perp_model *m = placed(rod, AT(0, 0, 0), pill, AT(0.3, 0, 1));
  for (int k = 0; k < 2; k++) {
    const double origin[3] = { 0 };
    perp_convex a, b;
    double n[3], p[2][3];
    perp_convex_set(&a, &m->shape[k], &m->eval.pose[k], origin);
    perp_convex_set(&b, &m->shape[1 - k], &m->eval.pose[1 - k], origin);
    near(perp_convex_distance(&a, &b, HUGE_VAL, n, p[0], p[1]), 0.5, ROOM, 0,
         "a cylinder and a capsule: distance");
    near(p[k][2], 0.25, ROOM, 0, "a cylinder and a capsule: on the cylinder");
    near(p[1 - k][2], 0.75, ROOM, 0, "a cylinder and a capsule: on the capsule");
  }
  perp_model_destroy(m);
}

/* Of many points of a plane a deepest one is kept, whatever their order. */
static void test_reduce(void)
{
  enum { MANY = 9 };
  perp_rng *rng = perp_rng_create(3);
  int lost = 0;
  for (int k = 0; k < 400; k++) {
    perp_touch t[MANY] = { { .gap = 0 } };
    double least = 0, kept = 0;
    for (int i = 0; i < MANY; i++) {
      t[i].n[2] = 1, t[i].feature = (uint32_t)i;
      t[i].gap = -perp_rng_uniform(rng, 0, 0.1);
      for (int s = 0; s < 2; s++) t[i].p[s][0] = cos(i + 0.1 * k), t[i].p[s][1] = sin(i + 0.1 * k);
      least = fmin(least, t[i].gap);
    }
    const int n = k % 2 == 0 ? perp_manifold_reduce(MANY, t, 1) : perp_manifold_spread(MANY, t, 1);
    for (int i = 0; i < n; i++) kept = fmin(kept, t[i].gap);
    lost += kept != least;
  }
  ok(lost == 0, "the deepest of many points is kept (%d of 400 not)", lost);
  perp_rng_destroy(rng);
}

/* ---- time of impact ---- */

static void test_impact(void)
{
  bool hit;
  perp_model *m = begin(3);
  put(m, true, ground, 0, 0, 0);
  put(m, false, ball, 0, 0, 0);
  put(m, false, pill, 0, 0, 0);
  perp_shape_def plate = { .kind = PERP_SHAPE_BOX, .half = { 2, 2, 1e-3 } };
  put(m, false, plate, 0, 0, 0);
  put(m, false, cube, 0, 0, 0);
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  const double up[7] = { 0, 0, 2, 1 }, down[7] = { 1, 2, 0, 1 }, still[7] = { 0, 0, 0, 1 };
  double s = perp_time_of_impact(m, 0, NULL, NULL, 1, up, down, 0, &hit);
  ok(hit, "ball falls on a plane");
  near(s, 0.75, 1e-9, 0, "ball falls on a plane: at 3/4 of its way");
  s = perp_time_of_impact(m, 1, up, down, 0, NULL, NULL, 0.1, &hit);
  near(s, 0.7, 1e-9, 0, "ball to 0.1 above a plane, arguments exchanged");
  s = perp_time_of_impact(m, 0, NULL, NULL, 1, down, up, 0, &hit);
  ok(hit && s == 0, "ball that starts in the plane: 0");
  const double far[7] = { 5, 0, 2, 1 };
  s = perp_time_of_impact(m, 0, NULL, NULL, 1, up, far, 0, &hit);
  ok(!hit && s == 1, "ball along a plane: never");
  /* 100 m in one step through a plate of 2 mm */
  const double high[7] = { 0.3, 0.2, 60, 1 }, deep[7] = { 0.3, 0.2, -40, 1 };
  s = perp_time_of_impact(m, 1, high, deep, 3, still, still, 0, &hit);
  ok(hit, "fast ball through a thin plate is found");
  near(s, (60 - 0.501) / 100, 1e-10, 0, "fast ball: when");
  /* a capsule of half length 1 turns about z; a ball of radius 0.5 waits at 60 degrees, distance
   * 0.9: contact when the distance of its centre to the axis is 0.75 */
  double wait = acos(-1.0) / 3, turn = 1.5;
  const double turned[7] = { 0, 0, 0, cos(turn / 2), 0, 0, sin(turn / 2) };
  const double at[7] = { 0.9 * cos(wait), 0.9 * sin(wait), 0, 1 };
  s = perp_time_of_impact(m, 2, still, turned, 1, at, at, 0, &hit);
  ok(hit, "turning capsule hits a ball");
  near(s, (wait - asin(0.75 / 0.9)) / turn, 1e-9, 0, "turning capsule: when");
  /* a cube turns about y above the plane: its lower edge is at z - cos(pi/4 - angle) sqrt(1/2) */
  double angle = acos(-1.0) / 4;
  const double flat[7] = { 0, 0, 0.6, 1 };
  const double edge[7] = { 0, 0, 0.6, cos(angle / 2), 0, sin(angle / 2), 0 };
  s = perp_time_of_impact(m, 0, NULL, NULL, 4, flat, edge, 0, &hit);
  ok(hit, "turning cube hits a plane");
  near(s, (angle - acos(0.6 / sqrt(0.5))) / angle, 1e-9, 0, "turning cube: when");
  perp_model_destroy(m);
  /* a half-space that turns towards a ball: its surface passes (2, 0.5) less the radius */
  m = begin(2);
  put(m, false, ground, 0, 0, 0);
  put(m, false, ball, 0, 0, 0);
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  const double p0[3] = { 0 }, p1[3] = { 0, 0, 1 }, b0[3] = { 2, 1.5, 0 };
  /* -2 sin t + 1.5 cos t = 0.5, with 2.5 the hypotenuse */
  s = perp_time_of_impact(m, 0, p0, p1, 1, b0, b0, 0, &hit);
  ok(hit, "turning half-plane hits a disc");
  near(s, acos(0.5 / 2.5) - atan2(2, 1.5), 1e-9, 0, "turning half-plane: when");
  perp_model_destroy(m);
}

/* ---- reduction ---- */

static double area_of(int n, const perp_touch *t)
{
  double sum = 0;
  for (int i = 0; i < n; i++) {
    const double *a = t[i].p[0], *b = t[(i + 1) % n].p[0];
    sum += 0.5 * (a[0] * b[1] - a[1] * b[0]);
  }
  return sum;
}

/* Convex polygons, corners in order of their features: four of five to eight are kept, with a
 * quarter of the area at least, as all lie within the farthest distance of the first, to both sides
 * of it. */
static void test_reduction(void)
{
  perp_rng *g = perp_rng_create(5);
  int lost = 0, edges = 0, total = 3000;
  double least = 1;
  for (int k = 0; k < total; k++) {
    const int n = 5 + perp_rng_int(g, 4);
    const double arc = perp_rng_uniform(g, 1, 2 * M_PI), deepest = perp_rng_int(g, n);
    perp_touch t[8] = { 0 };
    for (int i = 0; i < n; i++) {
      const double angle = arc * (i + perp_rng_uniform(g, 0, 0.8)) / n;
      t[i] = (perp_touch){ .p[0] = { cos(angle), 0.3 * sin(angle), 0 },
                           .n = { 0, 0, 1 },
                           .gap = i == deepest ? -1e-3 : 0,
                           .feature = (uint32_t)i };
    }
    const double whole = area_of(n, t);
    const int kept = k % 2 ? perp_manifold_reduce(n, t, 1) : perp_manifold_spread(n, t, 1);
    lost += kept != PERP_MANIFOLD_CONVEX;
    edges += arc < M_PI;
    least = fmin(least, area_of(kept, t) / whole);
  }
  perp_rng_destroy(g);
  ok(lost == 0,
     "of %d polygons, %d of them with an edge from end to end, four points are kept: %d not", total,
     edges, lost);
  ok(least > 0.25, "and at least a quarter of the area: %.3f", least);
}

int main(void)
{
  perp_ctx_init(&ctx);
  test_reduction();
  test_impact();
  test_round();
  test_boxes();
  test_hulls();
  test_leaning();
  test_deep();
  test_facet();
  test_ridge();
  test_exchanged();
  test_reduce();
  test_solids();
  test_solids_impact();
  return tap_done();
}
