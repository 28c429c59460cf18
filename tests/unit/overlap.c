/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volumes of overlap and their gradients against closed forms, sums and differences; and the
 * penalty force that they make: depth at rest, energy without damping, restitution, and pairs that
 * are refused. */
#include "models/collision/overlap.h"
#include "models/multibody/model_private.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const char *const exact = "dopri5:tol=1e-11";

static void shape_of(perp_model *m, perp_shape_def def)
{
  run_shape(&ctx, m, def);
}

/* ---- geometry ---- */

static const double corners[] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.7, 0.8, 0.6 };
static const double polygon[] = { 0, 0, 1, 0.2, 0.9, 0.8, 0.3, 1 };

/* Shape 0 is a plane, 1 and 2 are spheres, 3 a box, 4 a polytope, 5 an ellipsoid (space); each but
 * the plane on its body. */
static perp_model *all_shapes(int dim)
{
  perp_model *m = run_model(&ctx, dim);
  shape_of(m, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD });
  perp_shape_def def[] = {
    { .kind = PERP_SHAPE_SPHERE, .radius = 0.5 },
    { .kind = PERP_SHAPE_SPHERE, .radius = 0.8 },
    { .kind = PERP_SHAPE_BOX, .half = { 0.5, 0.3, 0.4 }, .x = { 0.1, 0.2, 0 } },
    { .kind = PERP_SHAPE_POLYTOPE,
      .vertices = dim == 3 ? corners : polygon,
      .n_vertices = dim == 3 ? 5 : 4 },
    { .kind = PERP_SHAPE_ELLIPSOID, .half = { 0.5, 0.3, 0.4 }, .x = { 0.1, 0.2, 0 } },
  };
  for (int i = 0; i < (dim == 3 ? 5 : 4); i++) {
    def[i].body = run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(1, 1) });
    shape_of(m, def[i]);
  }
  return run_finish(&ctx, m);
}

static perp_pose pose_at(int dim, double x, double y, double z, double turn)
{
  perp_pose p;
  const double q2[3] = { x, y, turn };
  const double s = sin(turn / 2), axis[3] = { 0.36, 0.48, 0.8 };
  const double q3[7] = { x, y, z, cos(turn / 2), s * axis[0], s * axis[1], s * axis[2] };
  perp_pose_of(dim, dim == 2 ? q2 : q3, &p);
  return p;
}

/* the body moved by dx and turned by dw about its centre */
static perp_pose moved(int dim, const perp_pose *p, const double dx[3], const double dw[3])
{
  perp_pose out = *p;
  for (int i = 0; i < dim; i++) out.x[i] += dx[i];
  const double size = sqrt(perp_dot(3, dw, dw));
  for (int c = 0; c < dim; c++) {
    double v[3] = { 0 }, w[3], ww[3];
    for (int r = 0; r < dim; r++) v[r] = p->R[dim * c + r];
    perp_cross(dw, v, w);
    perp_cross(dw, w, ww);
    for (int r = 0; r < dim && size > 0; r++)
      out.R[dim * c + r] = v[r] + sin(size) / size * w[r] + (1 - cos(size)) / (size * size) * ww[r];
  }
  return out;
}

/* dV of all motions of the body of b by central differences, against area, n and p */
static double gradient_off(const perp_model *m, int a, const perp_pose *pa, int b,
                           const perp_pose *pb)
{
  const double step = 1e-6;
  double worst = 0;
  perp_overlap o, back;
  perp_overlap_of(m, a, pa, b, pb, &o);
  perp_overlap_of(m, b, pb, a, pa, &back);
  for (int i = 0; i < 3 && o.area > 0; i++) worst = fmax(worst, fabs(o.n[i] + back.n[i]));
  for (int k = 0; k < 6; k++) {
    if (m->dim == 2 && (k == 2 || k == 3 || k == 4)) continue;
    double d[2][3] = { { 0 } }, r[3], turn[3], V[2];
    d[k / 3][k % 3] = step;
    for (int side = 0; side < 2; side++) {
      perp_overlap at;
      const perp_pose p = moved(m->dim, pb, d[0], d[1]);
      perp_overlap_of(m, a, pa, b, &p, &at);
      V[side] = at.volume;
      d[k / 3][k % 3] *= -1;
    }
    for (int i = 0; i < 3; i++) r[i] = o.p[i] - (i < m->dim ? pb->x[i] : 0);
    perp_cross(r, o.n, turn);
    const double exactly = -o.area * (k < 3 ? o.n[k] : turn[k - 3]);
    worst = fmax(worst, fabs((V[0] - V[1]) / (2 * step) - exactly));
  }
  return worst;
}

static double total_of(int dim, int shape)
{
  const double pi = M_PI;
  if (dim == 2) {
    const double area[] = { 0, pi * 0.25, pi * 0.64, 0.6, 0 };
    if (shape < 4) return area[shape];
    double sum = 0;
    for (int i = 0; i < 4; i++) {
      const double *p = polygon + 2 * i, *q = polygon + 2 * ((i + 1) % 4);
      sum += (p[0] * q[1] - p[1] * q[0]) / 2;
    }
    return sum;
  }
  /* the polytope: the corner tetrahedron 1/6, and another one over its slanted face, (0.7 + 0.8 +
   * 0.6 - 1) / 6 */
  const double volume[] = {
    0, pi / 6, 4 * pi / 3 * 0.512, 0.48, 1.0 / 6 + 1.1 / 6, 4 * pi / 3 * 0.06
  };
  return volume[shape];
}

static void geometry(int dim)
{
  perp_model *m = all_shapes(dim);
  perp_pose world = pose_at(dim, 0, 0, 0, 0);
  perp_overlap o;
  double sum = 0, gradient = 0, inside = 0, lens = 0;
  for (int shape = 1; shape <= (dim == 3 ? 5 : 4); shape++) {
    ok(perp_overlap_serves(m, 0, shape) && perp_overlap_serves(m, shape, 0),
       "%d-d: the plane and shape %d have a volume", dim, shape);
    for (int k = 0; k < 60; k++) {
      const double z = -1 + k * 0.031;
      const perp_pose pose = dim == 3 ? pose_at(3, 0.3, -0.2, z, 0.3 + 0.1 * k)
                                      : pose_at(2, 0.3, z, 0, 0.3 + 0.1 * k);
      /* what is above the plane: the body turned upside down and mirrored at it is below */
      perp_pose over = pose;
      for (int c = 0; c < dim; c++)
        for (int r = 0; r < dim; r++)
          over.R[dim * c + r] = pose.R[dim * c + r] * (r == 0 || r == dim - 1 ? -1 : 1);
      over.x[0] *= -1, over.x[dim - 1] *= -1;
      perp_overlap below, above;
      perp_overlap_of(m, 0, &world, shape, &pose, &below);
      perp_overlap_of(m, 0, &world, shape, &over, &above);
      sum = fmax(sum, fabs(below.volume + above.volume - total_of(dim, shape)));
      sum = fmax(sum, fabs(below.area - above.area));
      gradient = fmax(gradient, gradient_off(m, 0, &world, shape, &pose));
      if (below.area > 0) inside = fmax(inside, fabs(below.p[dim - 1]));
    }
  }
  below(sum, 1e-14, "%d-d: both sides of a plane have all of the volume, to %.2g", dim, sum);
  below(gradient, 1e-8, "%d-d: force and moment are the gradient of the volume, to %.2g", dim,
        gradient);
  below(inside, 1e-15, "%d-d: the centroid of the section is in the plane, to %.2g", dim, inside);
  gradient = 0;
  for (int k = 1; k < 50; k++) {
    const double d = 0.3 + k * 0.02, ra = 0.5, rb = 0.8;
    const perp_pose pa = pose_at(dim, 0.1, 0.2, 0.3, 1),
                    pb = pose_at(dim, 0.1 + 0.6 * d, 0.2 + 0.8 * d, 0.3, 2);
    perp_overlap_of(m, 1, &pa, 2, &pb, &o);
    /* Simpson's rule on the sections of both, in t with x = the middle - cos(t) half of the way */
    double integral = 0, x0 = d - rb, x1 = ra;
    enum { N = 2000 };
    for (int i = 0; i <= N; i++) {
      const double t = M_PI * i / N, x = (x0 + x1) / 2 - (x1 - x0) / 2 * cos(t);
      const double half2 = fmax(0, fmin(ra * ra - x * x, rb * rb - (x - d) * (x - d)));
      const double section = dim == 3 ? M_PI * half2 : 2 * sqrt(half2);
      integral += (i == 0 || i == N ? 1 : i % 2 == 1 ? 4 : 2) * section * (x1 - x0) / 2 * sin(t);
    }
    lens = fmax(lens, fabs(o.volume - integral * M_PI / N / 3));
    gradient = fmax(gradient, gradient_off(m, 1, &pa, 2, &pb));
  }
  below(lens, 1e-6, "%d-d: the lens of two balls is the integral of its sections, to %.2g", dim,
        lens);
  below(gradient, 1e-8, "%d-d: and its area is the gradient, to %.2g", dim, gradient);
  const perp_pose in = pose_at(dim, 0.1, 0, 0, 0), out = pose_at(dim, 3, 0, 0, 0);
  perp_overlap_of(m, 1, &in, 2, &world, &o);
  near(o.volume, total_of(dim, 1), 0, 1e-15, "%d-d: a ball inside another one", dim);
  ok(o.area == 0, "%d-d: and no force", dim);
  perp_overlap_of(m, 1, &out, 2, &world, &o);
  ok(o.volume == 0 && o.area == 0, "%d-d: balls that are apart", dim);
  ok(!perp_overlap_serves(m, 3, 4) && !perp_overlap_serves(m, 1, 3),
     "%d-d: a box has no volume with a polytope or a ball", dim);
  perp_model_destroy(m);
}

/* A corner of the unit cube cut off by x + y + z = d: d^3 / 6, sqrt(3) / 2 d^2, and the centroid
 * (d, d, d) / 3. */
static void corner_of_cube(void)
{
  const double d = 0.37, c = 1 / sqrt(3);
  perp_model *m = run_model(&ctx, 3);
  perp_pose body, world;
  perp_overlap o;
  /* the normal of the plane, its z axis, is (1, 1, 1) / sqrt(3) */
  const double half = acos(c) / 2, s = sin(half) / sqrt(2);
  shape_of(m, (perp_shape_def){ .kind = PERP_SHAPE_PLANE,
                                .body = PERP_WORLD,
                                .x = { d / 3, d / 3, d / 3 },
                                .quat = { cos(half), -s, s, 0 } });
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1), .x = { 0.5, 0.5, 0.5 } });
  shape_of(m, (perp_shape_def){ .kind = PERP_SHAPE_BOX, .half = { 0.5, 0.5, 0.5 } });
  run_finish(&ctx, m);
  body = pose_at(3, 0.5, 0.5, 0.5, 0);
  world = pose_at(3, 0, 0, 0, 0);
  perp_overlap_of(m, 0, &world, 1, &body, &o);
  near(o.volume, d * d * d / 6, 0, 1e-13, "a corner of a cube: its volume");
  near(o.area, sqrt(3) / 2 * d * d, 0, 1e-13, "its section");
  for (int i = 0; i < 3; i++) near(o.p[i], d / 3, 1e-15, 1e-13, "its centroid");
  for (int i = 0; i < 3; i++) near(o.n[i], c, 1e-15, 1e-13, "its normal");
  perp_model_destroy(m);
}

/* ---- force ---- */

static const double mass = 2, radius = 0.5, k3 = 1e5, G = 9.81;

typedef struct drop {
  int dim;
  perp_shape_kind kind;
  double z, w, turn, spin, gravity, e; /* height of the centre and its velocity */
} drop;

static perp_model *drop_model(drop s)
{
  perp_model *m = run_model(&ctx, s.dim);
  const int up = s.dim - 1;
  perp_model_gravity(m, s.gravity);
  shape_of(m, (perp_shape_def){
                  .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface.restitution = s.e });
  perp_body_def body = { .mass = s.kind == PERP_SHAPE_SPHERE ? perp_mass_sphere(mass, radius)
                                                             : perp_mass_box(mass, 1, 1, 1) };
  body.x[up] = s.z;
  body.v[up] = s.w;
  if (s.dim == 3) {
    body.quat[0] = cos(s.turn / 2);
    body.quat[1] = 0.6 * sin(s.turn / 2), body.quat[2] = 0.8 * sin(s.turn / 2);
    body.w[1] = s.spin;
  } else {
    body.angle = s.turn;
    body.w[2] = s.spin;
  }
  run_body(&ctx, m, body);
  shape_of(m, (perp_shape_def){ .kind = s.kind,
                                .radius = radius,
                                .length = 1,
                                .half = { 0.5, 0.5, 0.5 },
                                .surface.restitution = s.e });
  return run_finish(&ctx, m);
}

/* volume and section of a ball, or of a box that stands flat, at a depth; closed forms of their own
 */
static double force_at(int dim, perp_shape_kind kind, double d)
{
  if (kind == PERP_SHAPE_BOX) return k3 * d;
  const double half = sqrt(d * (2 * radius - d));
  if (dim == 3) return k3 * M_PI * d * d * (radius - d / 3) * M_PI * half * half;
  return k3 * (radius * radius * acos(1 - d / radius) - (radius - d) * half) * 2 * half;
}

static void at_rest(int dim, perp_shape_kind kind)
{
  double low = 0, high = radius, q[7], v[6];
  for (int i = 0; i < 100; i++) {
    const double d = (low + high) / 2;
    if (force_at(dim, kind, d) < mass * G)
      low = d;
    else
      high = d;
  }
  perp_model *m = drop_model(
      (drop){ .dim = dim, .kind = kind, .z = 0.5 - low, .gravity = G, .e = 1 });
  const run_parts parts = { "penalty:overlap=volume,contact_stiffness=1e5", exact };
  if (run_fresh(&ctx, m, parts, 1e-3, 1, q, v) < 0) bail("the run stops");
  near(q[dim - 1], 0.5 - low, 1e-10, 0, "%d-d: shape %d rests at the depth of its volume, %.3g m",
       dim, (int)kind, low);
  below(fabs(v[dim - 1]), 1e-9, "%d-d: and does not move", dim);
  perp_model_destroy(m);
}

/* largest change of kinetic energy + weight + k V^2 / 2, over the largest kinetic energy; *deepest:
 * J of the spring */
static double energy_off(perp_model *m, const char *formulation, double *deepest)
{
  perp_sim *sim = run_start(&ctx, m, (run_parts){ formulation, exact }, 1e-3);
  const int dim = m->dim;
  double t = 0, first = 0, worst = 0,
         most = 0; /* short steps: free fall has no error that meets a floor */
  const double *q, *v;
  *deepest = 0;
  for (int n = 0; n <= 3000; n++) {
    perp_step_info info;
    if (n > 0 && (perp_sim_step(&ctx, sim, t + 0.01, &info) != PERP_OK || info.reason < 0))
      bail("step %d: %s", n, perp_reason_name(info.reason));
    perp_sim_state(sim, &t, &q, &v);
    if (t > 1.5) break;
    double kinetic, potential, spring = 0;
    perp_pose pose[3], *at = pose + 1;
    memset(pose, 0, sizeof pose);
    perp_pose_or_world(dim, NULL, &pose[0]);
    for (int b = 0; b < m->n_bodies; b++) perp_pose_of(dim, q + m->nqb * b, &at[b]);
    perp_model_energy(m, t, q, v, &kinetic, &potential);
    for (int b = 1; b < m->n_shapes; b++)
      for (int a = 0; a < b; a++) {
        perp_overlap o;
        perp_overlap_of(m, a, &at[m->shape_def[a].body], b, &at[m->shape_def[b].body], &o);
        spring += k3 * o.volume * o.volume / 2;
      }
    if (n == 0) first = kinetic + potential + spring;
    worst = fmax(worst, fabs(kinetic + potential + spring - first));
    most = fmax(most, kinetic);
    *deepest = fmax(*deepest, spring);
  }
  perp_sim_destroy(sim);
  return worst / most;
}

static void energy(int dim)
{
  double deepest;
  perp_model *m = drop_model((drop){ dim, PERP_SHAPE_BOX, 1.2, 0, 0.4, 1.5, G, 1 });
  double off = energy_off(m, "penalty:overlap=volume,contact_stiffness=1e5", &deepest);
  ok(deepest > 1, "%d-d: a box that falls on a corner presses, %.2g J", dim, deepest);
  below(off, 1e-7, "%d-d: it keeps its energy to %.2g", dim, off);
  perp_model_destroy(m);
  m = run_model(&ctx, dim);
  perp_model_gravity(m, 0);
  for (int b = 0; b < 2; b++) {
    perp_body_def body = { .mass = perp_mass_sphere(1 + b, radius) };
    body.x[0] = 1.2 * b, body.x[1] = 0.2 * b;
    body.v[0] = 1 - 2 * b;
    run_body(&ctx, m, body);
    shape_of(
        m, (perp_shape_def){
               .kind = PERP_SHAPE_SPHERE, .body = b, .radius = radius, .surface.restitution = 1 });
  }
  run_finish(&ctx, m);
  off = energy_off(m, "penalty:overlap=volume,contact_stiffness=1e5", &deepest);
  ok(deepest > 0.1, "%d-d: balls press on each other, %.2g J", dim, deepest);
  below(off, 1e-8, "%d-d: they keep their energy to %.2g", dim, off);
  perp_model_destroy(m);
}

static void restitution(int dim)
{
  static const double es[] = { 1, 0.8, 0.5 };
  for (int i = 0; i < 3; i++) {
    double q[7], v[6];
    perp_model *m = drop_model((drop){ dim, PERP_SHAPE_BOX, 0.6, -1, 0, 0, 0, es[i] });
    if (run_fresh(&ctx, m, (run_parts){ "penalty:overlap=volume,contact_stiffness=1e5", exact },
                  1e-3, 1, q, v) < 0)
      bail("the run stops");
    near(v[dim - 1], es[i], 1e-6, 0, "%d-d: a box leaves at e = %g of its speed", dim, es[i]);
    perp_model_destroy(m);
  }
}

static void refused(void)
{
  perp_model *m = drop_model((drop){ 3, PERP_SHAPE_CAPSULE, 1, 0, 0, 0, G, 0 });
  run_refused(&ctx, m, (run_parts){ "penalty:overlap=volume" }, "closed form");
  perp_model_destroy(m);
  m = run_model(&ctx, 3);
  for (int b = 0; b < 2; b++) {
    run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1), .x = { 2 * b } });
    shape_of(m, (perp_shape_def){
                    .kind = PERP_SHAPE_BOX, .body = b, .half = { 0.5, 0.5, 0.5 }, .group = 7 });
  }
  run_finish(&ctx, m);
  perp_sim_destroy(run_start(&ctx, m, (run_parts){ "penalty:overlap=volume" }, 1e-3));
  ok(true, "boxes of one group never touch, and are no reason to refuse");
  perp_model_destroy(m);
}

/* A ball that its spring cannot hold is stopped when it is all inside, and does not go on without a
 * force; another one lies beside it. */
static void through(void)
{
  perp_model *m = run_model(&ctx, 3);
  perp_model_gravity(m, 0);
  shape_of(m, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD });
  for (int i = 0; i < 2; i++) {
    perp_body_def body = { .mass = perp_mass_sphere(mass, radius), .x = { 5 * i, 0, radius } };
    body.v[2] = i - 1;
    body.x[2] -= 0.1 * radius * i;
    run_body(&ctx, m, body);
    shape_of(m, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = i, .radius = radius });
  }
  run_finish(&ctx, m);
  perp_sim *sim = run_start(
      &ctx, m, (run_parts){ "penalty:overlap=volume,contact_stiffness=0.1", exact }, 0.1);
  perp_step_info info = { .reason = PERP_EXACT };
  for (int n = 0; n < 10000 && info.reason >= 0; n++)
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  ok(t < 2 && info.reason == PERP_INVALID_STATE && info.cause != NULL &&
         strstr(info.cause, "all inside") != NULL,
     "a ball that goes through a plane is stopped: %s", info.cause);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  corner_of_cube();
  for (int dim = 2; dim <= 3; dim++) {
    geometry(dim);
    at_rest(dim, PERP_SHAPE_BOX);
    at_rest(dim, PERP_SHAPE_SPHERE);
    energy(dim);
    restitution(dim);
  }
  refused();
  through();
  return tap_done();
}
