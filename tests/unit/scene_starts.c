/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenes at their start, with options that are not the default: places, velocities, masses and
 * elements against closed forms, symmetry and statics. */
#include "models/geometry/kinematics.h"
#include "models/models.h"
#include "models/scenes/scene_builder.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static void must_open(const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, scene) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
}

/* The place of a point of a body at the start. */
static void place_of(const perp_scene *s, int body, double x, double y, double z, double p[3])
{
  perp_model_point(s->model, perp_model_q0(s->model), body, (const double[3]){ x, y, z }, p);
}

/* Sum of the linear drag of all force elements; n: the springs, and strained: the largest
 * difference between the length of one and the distance of its ends at the start. */
static double elements_of(const perp_scene *s, int *n, double *strained)
{
  double drag = 0;
  *n = 0, *strained = 0;
  for (int i = 0; i < perp_model_force_elements(s->model); i++) {
    const perp_force_def *f = perp_model_force_element(s->model, i);
    double a[3], b[3];
    drag += f->linear;
    if (f->kind != PERP_FORCE_SPRING) continue;
    perp_model_point(s->model, perp_model_q0(s->model), f->a, f->anchor_a, a);
    perp_model_point(s->model, perp_model_q0(s->model), f->b, f->anchor_b, b);
    const double d = hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
    *strained = fmax(*strained, fabs(d - f->length));
    ++*n;
  }
  return drag;
}

/* Largest derivative of the potential energy by a coordinate of a place, by central differences, of
 * bodies from `first` on, in space. */
static double unbalanced(const perp_scene *s, int first)
{
  const int n = perp_model_bodies(s->model);
  double *q = malloc(7 * (size_t)n * sizeof *q), most = 0, T, V[2];
  if (q == NULL) bail("no memory");
  memcpy(q, perp_model_q0(s->model), 7 * (size_t)n * sizeof *q);
  for (int b = first; b < n; b++)
    for (int c = 0; c < 3; c++) {
      const double at = q[7 * b + c];
      for (int side = 0; side < 2; side++) {
        q[7 * b + c] = at + (side == 0 ? -1e-5 : 1e-5);
        perp_model_energy(s->model, 0, q, perp_model_v0(s->model), &T, &V[side]);
      }
      q[7 * b + c] = at;
      most = fmax(most, fabs(V[1] - V[0]) / 2e-5);
    }
  free(q);
  return most;
}

/* Cloth and ropes: springs, drag, statics under their own weight, shapes at the start. */
static void particle_scenes(void)
{
  perp_scene s;
  int n;
  double strained;
  must_open("cloth:side=4,shear=50,drag=3", &s);
  near(elements_of(&s, &n, &strained), 3, 1e-14, 0, "cloth: drag of all particles");
  ok(n == 2 * 4 * 3 + 2 * 3 * 3, "cloth: springs along 24 edges and 18 diagonals: %d", n);
  below(strained, 1e-15, "cloth: no spring is strained when it is flat");
  perp_scene_destroy(&s);

  must_open("cloth:side=4,start=hang,stiffness=50", &s); /* held at its first row */
  below(unbalanced(&s, 4), 1e-6, "cloth: hangs in equilibrium");
  perp_scene_destroy(&s);
  must_open("rope:particles=5,link=spring,stiffness=100", &s);
  below(unbalanced(&s, 0), 1e-6, "rope of springs: sags in equilibrium");
  perp_scene_destroy(&s);

  for (int k = 0; k < 2; k++) { /* half of it goes down along a straight line */
    must_open(k == 0 ? "rope:particles=5,start=drop,span=0.6,length=3"
                     : "rope:particles=5,start=drop,span=0.6,length=3,drag=2",
              &s);
    near(perp_model_q0(s.model)[7 * 2 + 2], -0.8 * 1.5, 1e-15, 0, "rope: lowest point of the V");
    near(elements_of(&s, &n, &strained), k == 0 ? 8 : 2, 1e-14, 0, "rope: drag of all particles");
    perp_scene_destroy(&s);
  }
  must_open("rope:particles=5,start=swing,amplitude=0.2", &s);
  const double *last = perp_model_q0(s.model) + 7 * 4, *above = last - 7;
  near(atan2(last[0] - above[0], above[2] - last[2]), 0.2, 1e-14, 0,
       "rope: angle of its lowest link");
  perp_scene_destroy(&s);
}

/* ---- contacts ---- */

static void contact_scenes(void)
{
  perp_scene s;
  double p[3];
  /* floor and four walls of a container of 6 m, each half of it from its middle at 3 m */
  must_open("falling:side=6,objects=8,shape=solids", &s);
  static const perp_shape_kind kinds[4] = { PERP_SHAPE_SPHERE, PERP_SHAPE_BOX, PERP_SHAPE_CYLINDER,
                                            PERP_SHAPE_CONE };
  int planes = 0;
  bool in_turn = true;
  double off = 0;
  for (int i = 0; i < perp_model_shapes(s.model); i++) {
    const perp_shape_def *shape = perp_model_shape(s.model, i);
    if (shape->kind != PERP_SHAPE_PLANE) {
      in_turn = in_turn && shape->kind == kinds[shape->body % 4];
      continue;
    }
    double R[9], n = 0;
    perp_quat_matrix(shape->quat, R);
    for (int c = 0; c < 3; c++) n += R[6 + c] * ((c == 2 ? 3 : 0) - shape->x[c]);
    planes++, off = fmax(off, fabs(n - 3));
  }
  ok(planes == 5, "falling: a floor and four walls");
  below(off, 1e-15, "falling: all of them look inwards");
  ok(in_turn, "falling: a sphere, a cube, a cylinder and a cone in turn");
  perp_scene_destroy(&s);

  must_open("crush:edge=0.5,squeeze=0.1", &s);
  off = HUGE_VAL;
  for (int i = 0; i < perp_model_shapes(s.model); i++) {
    const perp_shape_def *shape = perp_model_shape(s.model, i);
    if (shape->kind == PERP_SHAPE_BOX && shape->body == PERP_WORLD)
      off = shape->x[2] - shape->half[2];
  }
  near(off, 0.9 * 0.5, 1e-15, 0, "crush: the plate leaves nine tenths of an edge");
  perp_scene_destroy(&s);

  must_open("stack:boxes=3,edge=0.5,overlap=0.125", &s);
  for (int i = 0; i < 3; i++) {
    place_of(&s, i, 0, 0, -0.25, p);
    near(p[2], i * 0.375 - 0.125, 1e-15, 0, "stack: cube %d overlaps with what is below it", i);
  }
  perp_scene_destroy(&s);

  /* Two cards: the foot carries m g anywhere under the card, the other card pushes at any height
   * of the face that both share; the least friction that holds the moments. */
  const double theta = 0.4, L = 0.3, w = 0.03, meet = L * sin(theta), top = L * cos(theta);
  const double low = top * (meet - w) / meet;
  /* between the lines to (meet, top) from (0, 0) and to (meet, low) from (w, 0), over x */
  double area = 0, moment = 0, least = HUGE_VAL;
  for (int i = 0; i < 20000; i++) {
    const double x = meet * (i + 0.5) / 20000;
    const double h = top * x / meet - (x > w ? low * (x - w) / (meet - w) : 0);
    area += h, moment += h * x;
  }
  for (int i = 0; i <= 20; i++)
    for (int k = 0; k <= 20; k++)
      least = fmin(least, (moment / area - w * i / 20) / (low + (top - low) * k / 20));
  near(perp_card_house_mu(theta, L, w), least, 1e-7, 0, "card-house: least friction");
}

/* ---- joints ---- */

static void joint_scenes(void)
{
  perp_scene s, exact;
  double p[3], v[3];
  must_open("chain:links=4,error=0.01,start=horizontal", &s);
  for (int i = 0; i < 4; i++) {
    place_of(&s, i, 0, 0, 0, p);
    near(p[2], i % 2 == 0 ? 0.01 : -0.01, 1e-15, 0, "chain: link %d starts off its place", i);
  }
  perp_scene_destroy(&s);

  must_open("projectile:linear=0", &s);
  ok(s.isolated && !s.dissipative, "projectile: isolated without drag");
  perp_scene_destroy(&s);

  must_open("joint-cycles:cranks=3", &exact);
  must_open("joint-cycles:cranks=3,twice=true", &s);
  ok(perp_model_joints(exact.model) == 6 && perp_model_joints(s.model) == 12,
     "joint-cycles: two hinges a crank, or each twice");
  perp_scene_destroy(&exact);
  perp_scene_destroy(&s);

  must_open("tree:bodies=15,kick=2", &s);
  double off = 0;
  for (int b = 0; b < 15; b++) {
    const double corner[3] = { 0.03, 0.01, -0.02 };
    place_of(&s, b, corner[0], corner[1], corner[2], p);
    perp_model_point_velocity(s.model, perp_model_q0(s.model), perp_model_v0(s.model), b, corner,
                              v);
    off = fmax(off, fmax(fabs(v[0] + 2 * p[1]), fmax(fabs(v[1] - 2 * p[0]), fabs(v[2]))));
  }
  below(off, 1e-14, "tree: it starts as one rigid body that turns about z");
  perp_scene_destroy(&s);
}

/* ---- mechanisms ---- */

static void mechanism_scenes(void)
{
  perp_scene s;
  double p[3];
  must_open("andrews:torque=0", &s);
  place_of(&s, s.tip_body, s.tip[0], s.tip[1], s.tip[2], p);
  near(hypot(p[0], p[1]), 0.007, 1e-16, 0, "andrews: the marked point is the end of the crank");
  ok(!s.dissipative && !s.driven, "andrews: a spring alone does no work");
  perp_scene_destroy(&s);
  must_open("andrews", &s);
  ok(s.driven, "andrews: its motor does work");
  perp_scene_destroy(&s);

  /* a rod of 0.3 kg, 1 m, 0.01 m thick, with 5 kg at its end: about the hinge, less the mass at
   * the centre of mass */
  must_open("flyball", &s);
  const perp_mass *m = &perp_model_body(s.model, 2)->mass;
  const double centre = (0.3 * 0.5 + 5) / 5.3,
               about = 0.3 * (1 + 1e-4) / 12 + 0.3 / 4 + 5 - 5.3 * centre * centre;
  near(m->inertia[4], about, 0, 1e-12, "flyball: moment of a rod about y");
  near(m->inertia[8], about, 0, 1e-12, "flyball: and about z");
  double length[2], drag, strained;
  int n = 0;
  for (int i = 0; i < perp_model_force_elements(s.model) && n < 2; i++) {
    const perp_force_def *f = perp_model_force_element(s.model, i);
    double q[3];
    place_of(&s, f->a, f->anchor_a[0], f->anchor_a[1], f->anchor_a[2], p);
    place_of(&s, f->b, f->anchor_b[0], f->anchor_b[1], f->anchor_b[2], q);
    length[n++] = hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]);
  }
  drag = elements_of(&s, &n, &strained);
  ok(n == 2 && drag == 0, "flyball: two springs");
  near(length[0], length[1], 1e-15, 0, "flyball: both springs are alike");
  perp_scene_destroy(&s);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  particle_scenes();
  contact_scenes();
  joint_scenes();
  mechanism_scenes();
  return tap_done();
}
