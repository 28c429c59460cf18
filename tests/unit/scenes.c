/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenes: every one of the registry builds and is complete; its parameters and numbers; bad
 * values and damaged reference files are refused with their place. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "models/scenes/build.h"
#include "tests/option_values.h"
#include "tests/tap.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static perp_ctx ctx;

static perp_status open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec;
  perp_status status = perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec);
  if (status != PERP_OK) return status;
  status = perp_scene_create(&ctx, &spec, scene);
  perp_spec_free(&spec);
  return status;
}

static void must_open(const char *text, perp_scene *scene)
{
  if (open_scene(text, scene) != PERP_OK) bail("%s: %s", text, ctx.msg);
}

static void every_scene(void)
{
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_scene, i)) != NULL; i++) {
    perp_scene s;
    if (!ok(open_scene(d->name, &s) == PERP_OK, "%s: built with its defaults", d->name)) {
      printf("# %s\n", ctx.msg);
      continue;
    }
    ok(d->summary != NULL && d->summary[0] && d->reference != NULL && d->reference[0],
       "%s: says what it is and where it comes from", d->name);
    ok((s.model != NULL) != (s.ode != NULL), "%s: bodies or a plain problem, one of them", d->name);
    ok(s.t_end > 0 && s.h > 0, "%s: default run of %g s with h = %g s", d->name, s.t_end, s.h);
    /* a crowd is judged by its energy and penetration, an isolated system by momentum and energy */
    ok(s.n_truths + s.n_gauges > 0 || s.isolated ||
           (s.model != NULL && perp_model_shapes(s.model) > 0),
       "%s: has a truth, figures of its own, contacts or conserved momentum", d->name);
    for (int k = 0; k < s.n_gauges; k++) {
      const perp_gauge *g = &s.gauge[k];
      ok(g->value != NULL && (k > 0 || (g->sample != NULL && g->restart != NULL)),
         "%s: %s is measured", d->name, g->metric);
    }
    for (int k = 0; k < s.n_truths; k++) {
      const perp_truth *t = &s.truth[k];
      ok(t->what[0] && t->t_end > 0 && t->uncertainty > 0 && t->uncertainty < 1e-5,
         "%s: %s, %.2g, until %g s", d->name, t->what, t->uncertainty, t->t_end);
    }
    if (s.model != NULL)
      ok(s.tip_body >= PERP_WORLD && s.tip_body < perp_model_bodies(s.model),
         "%s: the marked point is on a body", d->name);
    perp_scene_destroy(&s);
    perp_scene_destroy(&s); /* an empty scene may be destroyed */
  }
}

/* Of another kind in space: x and y instead of x and the height, or bodies all over space. */
static bool spatial(const char *name)
{
  static const char *const names[] = { "kepler", "particles", "falling", "jam" };
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (strcmp(name, names[k]) == 0) return true;
  return false;
}

/* How far body b in the plane is from that in the plane y = 0 of space: place, motion, mass; and
 * its moment of inertia, if no ball is a disc in the plane. */
static double plane_off(const perp_scene *flat, const perp_scene *space, int b, bool disc)
{
  const double *q = perp_model_q0(flat->model) + 3 * b, *v = perp_model_v0(flat->model) + 3 * b;
  const double *p = perp_model_q0(space->model) + 7 * b, *u = perp_model_v0(space->model) + 6 * b;
  const perp_mass *mass = &perp_model_body(flat->model, b)->mass,
                  *full = &perp_model_body(space->model, b)->mass;
  double R[9], w[3];
  perp_quat_matrix(p + 3, R);
  perp_turn(3, R, u + 3, w);
  const double off[] = { q[0] - p[0],
                         q[1] - p[2],
                         p[1],
                         cos(q[2]) - R[0],
                         R[1],
                         sin(q[2]) - R[2],
                         v[0] - u[0],
                         v[1] - u[2],
                         u[1],
                         w[0],
                         v[2] + w[1],
                         w[2],
                         mass->mass - full->mass,
                         disc ? 0 : mass->inertia[8] - full->inertia[4] };
  double worst = 0;
  for (size_t k = 0; k < sizeof off / sizeof *off; k++) worst = fmax(worst, fabs(off[k]));
  return worst;
}

/* The same bodies in the plane and in the plane y = 0 of space?  HUGE_VAL: of different numbers; 0:
 * one of them is refused. */
static double plane_and_space(const perp_desc *d, const char *options)
{
  perp_scene s[2];
  char text[200];
  int opened = 0;
  double worst = 0;
  for (; opened < 2; opened++) {
    snprintf(text, sizeof text, "%s:dim=%d%s", d->name, opened + 2, options);
    if (open_scene(text, &s[opened]) != PERP_OK) break;
  }
  if (opened == 2) {
    char *file = perp_scene_file_path(d);
    const int n = perp_model_bodies(s[0].model);
    if (n != perp_model_bodies(s[1].model)) worst = HUGE_VAL;
    for (int b = 0; b < n && worst < HUGE_VAL; b++)
      worst = fmax(worst, plane_off(&s[0], &s[1], b, file != NULL));
    free(file);
  }
  for (int k = 0; k < opened; k++) perp_scene_destroy(&s[k]);
  return worst;
}

/* Each value of an option is built, or refused as an option.  What scenes have in the plane and in
 * space is the same. */
static void every_option(void)
{
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_scene, i)) != NULL; i++) {
    char value[32], text[160];
    int built = 0, odd = 0;
    double worst = 0;
    bool dim = false;
    for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
      dim = dim || strcmp(o->key, "dim") == 0;
    dim = dim && !spatial(d->name);
    for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
      for (int k = 0; golden_option(o, k, value, sizeof value); k++) {
        perp_scene s;
        snprintf(text, sizeof text, "%s:%s=%s", d->name, o->key, value);
        const perp_status status = open_scene(text, &s);
        built += status == PERP_OK;
        if (status == PERP_OK)
          perp_scene_destroy(&s);
        else if (status != PERP_ERR_OPTION && status != PERP_ERR_FORMAT)
          odd++, printf("# %s: %s\n", text, ctx.msg);
        if (!dim || strcmp(o->key, "dim") == 0) continue;
        *strchr(text, ':') = ',';
        const double off = plane_and_space(d, strchr(text, ','));
        if (!(off <= 1e-12)) printf("# %s: %g\n", text, off);
        worst = fmax(worst, off);
      }
    ok(odd == 0, "%s: %d values of options are built, others refused as such", d->name, built);
    if (dim) below(worst, 1e-12, "%s: the same bodies in the plane and in space", d->name);
  }
}

static double energy(const perp_scene *s)
{
  double kinetic, potential;
  perp_model_energy(s->model, 0, perp_model_q0(s->model), perp_model_v0(s->model), &kinetic,
                    &potential);
  return kinetic + potential;
}

static void numbers(void)
{
  perp_scene s;
  double p[3], P[3], L[3];

  must_open("chain:links=32,joint=hinge", &s);
  ok(perp_model_bodies(s.model) == 32 && perp_model_m(s.model) == 32 * 5,
     "chain: hinges have 5 rows");
  perp_model_point(s.model, perp_model_q0(s.model), s.tip_body, s.tip, p);
  near(p[0], 3.2, 1e-13, 0, "chain: the tip of 32 links of 0.1 m");
  perp_scene_destroy(&s);

  must_open("chain:links=3,link=box", &s);
  const perp_mass *m = &perp_model_body(s.model, 1)->mass;
  near(m->mass, 0.04, 0, 1e-15, "box link: 0.04 kg");
  near(m->inertia[0], 2.667e-6, 0, 2e-4, "box link: axial inertia as printed");
  near(m->inertia[4], 3.467e-5, 0, 2e-4, "box link: transverse inertia as printed");
  perp_scene_destroy(&s);

  must_open("chain:links=2,mass=3,length=0.2", &s);
  m = &perp_model_body(s.model, 0)->mass;
  near(m->inertia[4], 3 * 0.04 / 12, 0, 1e-14, "rod: m L^2 / 12");
  near(m->inertia[0], 3 * 0.04 / 600, 0, 1e-14, "rod: m L^2 / 600 along its axis");
  perp_scene_destroy(&s);

  must_open("chain:links=4,start=hanging,dim=2", &s);
  perp_model_point(s.model, perp_model_q0(s.model), s.tip_body, s.tip, p);
  near(p[1], -0.4, 1e-15, 0, "hanging chain: straight down");
  ok(s.n_truths == 1, "hanging chain: no file claims it");
  perp_scene_destroy(&s);

  must_open("pendulum", &s);
  perp_model_point(s.model, perp_model_q0(s.model), s.tip_body, s.tip, p);
  near(p[0], -1, 1e-15, 0, "pendulum: P(0) = (-1, 0)");
  near(p[1], 0, 1e-15, 0, "pendulum: P(0) = (-1, 0)");
  perp_scene_destroy(&s);
  must_open("pendulum:body=rod,amplitude=30deg,length=2", &s);
  perp_model_point(s.model, perp_model_q0(s.model), s.tip_body, s.tip, p);
  near(p[0], -1, 1e-14, 0, "pendulum, rod: the marked point is at the reduced length");
  near(p[1], -sqrt(3), 1e-14, 0, "pendulum, rod: the marked point is at the reduced length");
  perp_scene_destroy(&s);

  must_open("spherical-pendulum", &s);
  perp_model_momentum(s.model, perp_model_q0(s.model), perp_model_v0(s.model), P, L);
  near(L[2], 2, 1e-15, 0, "spherical pendulum: L_z = 2");
  perp_scene_destroy(&s);

  must_open("free-body:preset=box149", &s);
  /* the source rounds the moments to five digits */
  near(energy(&s), 368.54641249999997, 0, 2e-8, "box149: energy of its source");
  perp_scene_destroy(&s);
  must_open("free-body:preset=box149-simple", &s);
  near(energy(&s), 5.001041625, 0, 1e-7, "box149-simple: energy of its source");
  perp_scene_destroy(&s);

  must_open("heavy-top", &s);
  near(energy(&s), 5435.696790865546875, 0, 1e-14, "heavy top: energy of the reference");
  perp_model_momentum(s.model, perp_model_q0(s.model), perp_model_v0(s.model), P, L);
  near(L[1], 70.3125, 0, 1e-14, "heavy top: angular momentum of the reference");
  near(L[2], -70.3124296875, 0, 1e-13, "heavy top: angular momentum of the reference");
  perp_scene_destroy(&s);

  /* bricks a quarter as high as long, the top one 25/24 of its length beyond the table at most */
  must_open("overhang:length=2,factor=1,mass=3,dim=3", &s);
  const double *top = perp_model_q0(s.model) + 7 * 3;
  near(top[0], 2 * (25.0 / 24 - 0.5), 1e-15, 0, "overhang: the top brick, along the table");
  near(top[2], 3.5 * 0.5, 1e-15, 0, "overhang: the top brick, above the table");
  m = &perp_model_body(s.model, 3)->mass;
  near(m->inertia[0], 3 * (1 + 0.25) / 12, 0, 1e-15, "overhang: half as deep as long");
  near(m->inertia[4], 3 * (4 + 0.25) / 12, 0, 1e-15, "overhang: a quarter as high");
  near(m->inertia[8], 3 * (4 + 1) / 12.0, 0, 1e-15, "overhang: as deep as said");
  perp_scene_destroy(&s);

  for (int dim = 2; dim <= 3; dim++) {
    char text[64];
    snprintf(text, sizeof text, "particles:side=4,spacing=1.3,speed=2,drift=0.3,dim=%d", dim);
    must_open(text, &s);
    const int n = perp_model_bodies(s.model), nq = dim == 3 ? 7 : 3;
    double least = HUGE_VAL, sum[3] = { 0 };
    for (int a = 0; a < n; a++) {
      for (int b = 0; b < a; b++) {
        double apart = 0;
        for (int k = 0; k < dim; k++)
          apart = hypot(apart,
                        perp_model_q0(s.model)[nq * a + k] - perp_model_q0(s.model)[nq * b + k]);
        least = fmin(least, apart);
      }
      for (int k = 0; k < dim; k++) sum[k] += perp_model_q0(s.model)[nq * a + k];
    }
    ok(n == (dim == 3 ? 64 : 16), "%s: %d particles", text, n);
    near(least, 1.3, 1e-14, 0, "%s: distance of neighbours", text);
    perp_model_momentum(s.model, perp_model_q0(s.model), perp_model_v0(s.model), P, L);
    near(P[0], 0.3 * n, 1e-13, 0, "%s: the centre of mass drifts along x", text);
    below(hypot(P[1], P[2]), 1e-13, "%s: and not across", text);
    /* 2 J for each direction; dim (n - 1) squares of normal numbers vary by sqrt(2) of their root
     */
    const double free = dim * (n - 1);
    double moving, still;
    perp_model_energy(s.model, 0, perp_model_q0(s.model), perp_model_v0(s.model), &moving, &still);
    near((moving - 0.5 * n * 0.3 * 0.3) / (2 * free), 1, 4 * sqrt(2 / free), 0, "%s: the speeds",
         text);
    below(hypot(hypot(sum[0], sum[1]), sum[2]), 1e-13, "%s: around the origin", text);
    perp_scene_destroy(&s);
  }

  must_open("ball-and-chain", &s);
  ok(perp_model_bodies(s.model) == 11 && perp_model_m(s.model) == 33,
     "ball and chain: 10 rods and a ball");
  near(perp_model_body(s.model, 10)->mass.mass / perp_model_body(s.model, 9)->mass.mass, 100, 0,
       1e-14, "ball and chain: mass ratio 100 at one joint");
  perp_scene_destroy(&s);

  must_open("tree", &s);
  ok(perp_model_bodies(s.model) == 127 && perp_model_m(s.model) == 381,
     "tree: 127 bodies, ball joints");
  bool heap = true;
  for (int i = 1; i < 127; i++) heap = heap && perp_model_joint(s.model, i)->a == (i - 1) / 2;
  ok(heap, "tree: heap order");
  const double c = cos(M_PI / 6), h = 0.1;
  const double end1[3] = { h + h * c, h / 2, 0 }, tip[3] = { 0.05, 0, 0 };
  perp_model_point(s.model, perp_model_q0(s.model), 1, tip, p);
  near(p[0], end1[0], 1e-15, 0, "tree: link 1 is turned by +30 degrees about z, x");
  near(p[1], end1[1], 1e-15, 0, "tree: link 1 is turned by +30 degrees about z, y");
  perp_model_point(s.model, perp_model_q0(s.model), 3, tip, p);
  /* (c, 1/2, 0) turned by +30 degrees about y: (c c, 1/2, -c/2) */
  near(p[0], end1[0] + h * c * c, 1e-15, 0, "tree: link 3 is turned by +30 degrees about y, x");
  near(p[1], end1[1] + h / 2, 1e-15, 0, "tree: link 3 is turned by +30 degrees about y, y");
  near(p[2], -h * c / 2, 1e-15, 0, "tree: link 3 is turned by +30 degrees about y, z");
  perp_scene_destroy(&s);

  must_open("carousel", &s);
  ok(perp_model_bodies(s.model) == 21 && perp_model_m(s.model) == 5 + 60,
     "carousel: a hub, 4 chains of 5");
  m = &perp_model_body(s.model, 0)->mass;
  near(m->inertia[0], 0.6333, 1e-4, 0, "carousel: hub inertia as printed");
  near(m->inertia[8], 1.25, 0, 1e-14, "carousel: hub inertia as printed");
  double off = 0;
  for (int b = 0; b < 21; b++) { /* any point of any body: v = omega x r */
    const double corner[3] = { 0.03, 0.01, -0.02 };
    double v[3];
    perp_model_point(s.model, perp_model_q0(s.model), b, corner, p);
    perp_model_point_velocity(s.model, perp_model_q0(s.model), perp_model_v0(s.model), b, corner,
                              v);
    off = fmax(off, fmax(fabs(v[0] + 4 * p[1]), fmax(fabs(v[1] - 4 * p[0]), fabs(v[2]))));
  }
  below(off, 1e-14, "carousel: all bodies start in one rigid rotation");
  perp_model_point(s.model, perp_model_q0(s.model), 10, (const double[3]){ 0.05, 0, 0 }, p);
  near(p[1], 0.5, 1e-15, 0, "carousel: the second chain hangs from (0, 0.5, 0)");
  near(p[2], -0.5, 1e-15, 0, "carousel: and ends 0.5 m lower");
  perp_scene_destroy(&s);
}

/* Links that turn in the plane y = 0 of space have the joints' velocities, else finish refuses
 * them, and the energy of links in the plane. */
static void turning_links(void)
{
  const double theta[2] = { 0.3, -0.8 }, omega[2] = { 1.5, -2.5 };
  double energy[2];
  for (int dim = 2; dim <= 3; dim++) {
    perp_scene s = { 0 };
    perp_links *links = perp_links_create(&ctx, dim, 2);
    if (links == NULL) bail("%s", ctx.msg);
    for (int i = 0; i < 2; i++)
      links->link[i] = (perp_link){ PERP_LINK_BODY, 1, 0.5, perp_mass_box(2, 1, 0.1, 0.1) };
    if (!ok(perp_links_model(&ctx, &s, links, PERP_JOINT_HINGE, 9.81, 1, theta, omega) == PERP_OK,
            "two links that turn, dim = %d", dim))
      bail("%s", ctx.msg);
    double parts[3] = { 0 };
    perp_model_energy(s.model, 0, perp_model_q0(s.model), perp_model_v0(s.model), &parts[0],
                      &parts[1]);
    energy[dim - 2] = parts[0];
    free(links);
    perp_model_destroy(s.model);
  }
  near(energy[1], energy[0], 0, 1e-13, "their kinetic energy is that of the plane");
}

/* A joint breaks under strengths between its force at the start and at the lowest point, of a
 * pendulum from 60 degrees in units of its weight: cos 60 and 3 - 2 cos 60, of a rod, on whose
 * hinge a quarter of the weight acts across it, sqrt(19) / 8 and 1 + 3/2 (1 - cos 60). */
static void strengths(void)
{
  static const struct {
    const char *body;
    double force[2];
  } rows[] = { { "point", { 0.5, 2 } }, { "rod", { 0.54486236794258424698, 1.75 } } };
  for (size_t k = 0; k < 2; k++)
    for (int side = 0; side < 2; side++)
      for (int inside = 0; inside < 2; inside++) {
        const double off = inside == side ? -1e-9 : 1e-9;
        char text[128];
        perp_scene s = { 0 };
        snprintf(text, sizeof text, "pendulum:gravity=10,amplitude=60deg,body=%s,strength=%.17g",
                 rows[k].body, 10 * rows[k].force[side] * (1 + off));
        ctx.msg[0] = '\0';
        const perp_status status = open_scene(text, &s);
        ok(inside ? status == PERP_OK : strstr(ctx.msg, "strength must be between") != NULL,
           "%s: %s", text, inside ? "breaks" : "refused");
        if (status == PERP_OK) perp_scene_destroy(&s);
      }
}

static void bad_values(void)
{
  static const struct {
    const char *scene, *says;
  } bad[] = {
    { "chain:links=0", "chain.links must be an integer in [1, 1000000]: got 0" },
    { "chain:links=2.5", "chain.links must be an integer" },
    { "chain:mass=-1", "chain.mass must be in [0, inf) kg: got -1" },
    { "chain:length=0", "chain.length must be in (0, inf) m: got 0" },
    { "chain:length=1kg", "wrong unit 'kg'" },
    { "chain:links=3,truth=file", "truth=file needs 2, 4, 6, 8 or 16" },
    { "chain:start=sideways", "horizontal | hanging" },
    { "chian", "did you mean 'chain'?" },
    { "chain:lenght=1", "did you mean 'length'?" },
    { "pendulum:amplitude=180deg", "pendulum.amplitude must be in (0, 3.14" },
    { "pendulum:dim=4", "pendulum.dim" },
    { "pendulum:mass=nan", "is not a number" },
    { "spring:damping=20", "below the critical 20" },
    { "tree:bodies=0", "tree.bodies" },
    { "tree:truth=file", "no reference file" },
    { "tree:collide=true,truth=reduced", "have no contacts" },
    { "tree:collide=true,bodies=128", "bodies <= 127" },
    { "free-body:ix=3", "ix needs preset=custom" },
    { "free-body:preset=custom,ix=1,iy=1,iz=3", "triangle" },
    { "heavy-top:mass=-15", "heavy-top.mass" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    perp_scene s = { 0 };
    perp_status status = open_scene(bad[i].scene, &s);
    if (!ok(status != PERP_OK && strstr(ctx.msg, bad[i].says) != NULL, "%s: %s", bad[i].scene,
            status == PERP_OK ? "accepted" : ctx.msg))
      printf("# expected: %s\n", bad[i].says);
    if (status == PERP_OK) perp_scene_destroy(&s);
  }
}

/* a reference folder of our own, found through PERP_HOME before the real one */
static void damaged_files(void)
{
  static const struct {
    const char *text, *says;
  } bad[] = {
    { "", "C_chain100mm_N2.csv:1: expected a header" },
    { "x,theta1\n", ":1: expected a header that starts with 't,'" },
    { "t,theta1,theta2,omega1\n0,0,0,0\n", ":1: the column 'omega2' is missing" },
    { "t,theta1,theta2,omega1,omega2\n", "no rows" },
    { "t,theta1,theta2,omega1,omega2\n0,0,0,0,0\n0.1,0,zero,0,0\n",
      ":3: column 3 is not a number" },
    { "t,theta1,theta2,omega1,omega2\n0,0,0,0,0\n0.1,0,nan,0,0\n", ":3: column 3 is not a number" },
    { "t,theta1,theta2,omega1,omega2\n0,0,0\n", ":2: the row has too few columns" },
    { "t,theta1,theta2,omega1,omega2\n0,0,0,0,0\n0,0,0,0,0\n", ":3: the time must increase" },
  };
  char home[] = "/tmp/perp-scenes-XXXXXX", path[256];
  if (mkdtemp(home) == NULL) bail("no temporary folder");
  static const char *const folders[] = { "/tests", "/tests/data", "/tests/data/reference" };
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s%s", home, folders[i]);
    if (mkdir(path, 0700) != 0) bail("no folder %s", path);
  }
  snprintf(path, sizeof path, "%s/tests/data/reference/C_chain100mm_N2.csv", home);
  setenv("PERP_HOME", home, 1);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    FILE *out = fopen(path, "w");
    if (out == NULL) bail("cannot write %s", path);
    fputs(bad[i].text, out);
    fclose(out);
    perp_scene s;
    perp_status status = open_scene("chain:links=2", &s);
    ok(status == PERP_ERR_FORMAT && strstr(ctx.msg, bad[i].says) != NULL, "damaged file: %s",
       ctx.msg);
    if (status == PERP_OK) perp_scene_destroy(&s);
  }
  remove(path);
  unsetenv("PERP_HOME");
  for (int i = 2; i >= 0; i--) {
    snprintf(path, sizeof path, "%s%s", home, folders[i]);
    rmdir(path);
  }
  rmdir(home);
}

/* The reduced truth of a scene that is not asked for it is told up to so many bodies. */
static void truths(void)
{
  static const struct {
    const char *text;
    bool told;
  } known[] = { { "carousel:chains=2,links=127", true },
                { "carousel:chains=1,links=255", false },
                { "chain:links=64", true },
                { "chain:links=65", false },
                { "tree:bodies=255", true },
                { "tree:bodies=256", false } };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    perp_scene s;
    must_open(known[k].text, &s);
    ok((s.n_truths > 0) == known[k].told, "%s: %d truths", known[k].text, s.n_truths);
    perp_scene_destroy(&s);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  unsetenv("PERP_HOME");
  every_scene();
  every_option();
  numbers();
  truths();
  turning_links();
  strengths();
  bad_values();
  damaged_files();
  return tap_done();
}
