/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Andrews' squeezing mechanism: seven bodies K1 ... K7 and ten hinges in the plane, driven by a
 * constant torque, against a stiff spring; no gravity.  Problem and numbers: Schiehlen's handbook,
 * Hairer & Wanner II, section VII.7, and the test set for IVP solvers; IFToMM library A03.  There
 * it is written in seven relative angles with a dense mass matrix; here it is what it is, bodies
 * and joints:
 *
 *      O --K1-- F --K2-- E      K1 crank (angle beta), K2 rod (beta + Theta)
 *      B --K3-- E               K3 triangle (gamma), whose corner D the spring pulls towards C
 *      A --K5-- G --K4-- E      K5 (delta), K4 (Phi + delta)
 *      A --K7-- H --K6-- E      K7 (epsilon), K6 (Omega + epsilon)
 *
 * 21 coordinates, 20 constraints.  K1 turns at up to 1500 1/s, the time scale is below a
 * millisecond.  Energy minus the work of the torque, T + V - torque beta, is constant.
 *
 * start=ivp      beta(0) = -0.0617138900142764... of the test set (Theta = 0)
 * start=iftomm   beta(0) = -0.0620 of the library of IFToMM, the others as the joints dictate */
#include "models/scenes/mechanism.h"

#include <math.h>

enum { IVP, IFTOMM };
static const char *const starts[] = { "ivp", "iftomm", NULL };

struct andrews_opts {
  int start;
  double torque, stiffness;
};
#define TORQUE    0.033
#define STIFFNESS 4530
static const perp_opt options[] = { PERP_ENUM(struct andrews_opts, start, IVP, starts,
                                              "Initial angle of the crank, from the IVP test set "
                                              "(ivp) or from the IFToMM benchmark (iftomm)."),
                                    PERP_OPT_FINITE(struct andrews_opts, torque, TORQUE, "N m",
                                                    "Constant torque on the crank."),
                                    PERP_OPT_NONNEGATIVE(struct andrews_opts, stiffness, STIFFNESS,
                                                         "N/m", "Stiffness of the spring."),
                                    PERP_OPTIONS_END };

enum { K1, K2, K3, K4, K5, K6, K7, BODIES };

/* lengths of the mechanism [m] */
static const double rr = 0.007, d = 0.028, ss = 0.035, zt = 0.04, e = 0.02, u = 0.04, zf = 0.02;
static const double A[3] = { -0.06934, -0.00227 }, B[3] = { -0.03635, 0.03273 },
                    C[3] = { 0.014, 0.072 }, O[3] = { 0 };

static const struct {
  double mass, inertia; /* about the centre of mass */
  double com[2];        /* in the frame of the link, which begins where start_of says */
} bodies[BODIES] = {
  { 0.04325, 2.194e-6, { 0.00092, 0 } },        { 0.00365, 4.410e-7, { -0.0115, 0 } },
  { 0.02373, 5.255e-6, { 0.01043, -0.01874 } }, { 0.00706, 5.667e-7, { 0, -0.00579 } },
  { 0.07050, 1.169e-5, { 0.02308, -0.00916 } }, { 0.00706, 5.667e-7, { 0.00579, 0 } },
  { 0.05498, 1.912e-5, { 0.00449, -0.01228 } },
};

/* ---- positions ---- */

/* p = origin + R(angle) (x, y) */
static void andrews_at(const double origin[2], double angle, double x, double y, double p[3])
{
  p[0] = origin[0] + cos(angle) * x - sin(angle) * y;
  p[1] = origin[1] + sin(angle) * x + cos(angle) * y;
  p[2] = 0;
}

typedef struct angles {
  double of[BODIES]; /* absolute, of K1 ... K7 */
} angles;

typedef struct points {
  double F[3], E[3], G[3], H[3];
} points;

static void points_of(const angles *a, points *p)
{
  andrews_at(O, a->of[K1], rr, 0, p->F);
  andrews_at(p->F, a->of[K2], -d, 0, p->E);
  andrews_at(A, a->of[K5], zt, 0, p->G);
  andrews_at(A, a->of[K7], 0, -u, p->H);
}

/* Where the links start: K1 at O, K2 at F (it points away from E), K3 at B, K4 at G, K5 and K7 at
 * A, K6 at H. */
static const double *start_of(const points *p, int body)
{
  const double *const of[BODIES] = { O, p->F, B, p->G, A, p->H, A };
  return of[body];
}

/* The third corner of a triangle over p q with sides |p x| = r, |q x| = s; left: of p -> q. */
static void andrews_corner(const double p[2], const double q[2], double r, double s, bool left,
                           double x[2])
{
  double dx = q[0] - p[0], dy = q[1] - p[1], dist2 = dx * dx + dy * dy;
  double along = (r * r - s * s + dist2) / (2 * dist2);
  double height = sqrt(r * r / dist2 - along * along) * (left ? 1 : -1);
  x[0] = p[0] + along * dx - height * dy;
  x[1] = p[1] + along * dy + height * dx;
}

/* all angles from that of the crank, on the branch of the problem */
static void andrews_assemble(double beta, angles *a)
{
  points p;
  a->of[K1] = beta;
  andrews_at(O, beta, rr, 0, p.F);
  andrews_corner(p.F, B, d, ss, true, p.E);
  andrews_corner(A, p.E, zt, e, true, p.G);
  andrews_corner(A, p.E, u, zf, false, p.H);
  a->of[K2] = atan2(p.F[1] - p.E[1], p.F[0] - p.E[0]);
  a->of[K3] = atan2(p.E[0] - B[0], B[1] - p.E[1]);
  a->of[K4] = atan2(p.E[0] - p.G[0], p.G[1] - p.E[1]);
  a->of[K5] = atan2(p.G[1] - A[1], p.G[0] - A[0]);
  a->of[K6] = atan2(p.E[1] - p.H[1], p.E[0] - p.H[0]);
  a->of[K7] = atan2(p.H[0] - A[0], A[1] - p.H[1]);
}

/* ---- reference ---- */

/* beta, Theta, gamma, Phi, delta, Omega, epsilon to the absolute angles; linear, so for rates
 * too */
static void andrews_absolute(const double *rel, double *of)
{
  of[K1] = rel[0];
  of[K2] = rel[0] + rel[1];
  of[K3] = rel[2];
  of[K4] = rel[3] + rel[4];
  of[K5] = rel[4];
  of[K6] = rel[5] + rel[6];
  of[K7] = rel[6];
}

/* velocity of the end of a link: that of its start, and w x (end - start) */
static void andrews_carry(const double from[3], const double v[2], double w, const double to[3],
                          double out[2])
{
  out[0] = v[0] - w * (to[1] - from[1]);
  out[1] = v[1] + w * (to[0] - from[0]);
}

static void andrews_map(void *user, double t, const double *row, double *q, double *v)
{
  static const double at_rest[2] = { 0 };
  angles a, rate;
  points p;
  double vF[2], vG[2], vH[2];
  (void)user, (void)t;
  andrews_absolute(row, a.of);
  andrews_absolute(row + BODIES, rate.of);
  points_of(&a, &p);
  andrews_carry(O, at_rest, rate.of[K1], p.F, vF);
  andrews_carry(A, at_rest, rate.of[K5], p.G, vG);
  andrews_carry(A, at_rest, rate.of[K7], p.H, vH);
  const double *const v_start[BODIES] = { at_rest, vF, at_rest, vG, at_rest, vH, at_rest };
  for (int i = 0; i < BODIES; i++) {
    double x[3];
    const double *start = start_of(&p, i), *s = bodies[i].com;
    andrews_at(start, a.of[i], s[0], s[1], x);
    q[3 * i] = x[0], q[3 * i + 1] = x[1], q[3 * i + 2] = a.of[i];
    andrews_carry(start, v_start[i], rate.of[i], x, v + 3 * i);
    v[3 * i + 2] = rate.of[i];
  }
}

/* the angles of the source again, and their rates */
static void andrews_relative(const double *q, const double *v, double *ref)
{
  for (int level = 0; level < 2; level++) {
    const double *x = level == 0 ? q : v;
    double of[BODIES], *r = ref + 7 * level;
    for (int i = 0; i < BODIES; i++) of[i] = x[3 * i + 2];
    r[0] = of[K1], r[1] = of[K2] - of[K1], r[2] = of[K3], r[3] = of[K4] - of[K5];
    r[4] = of[K5], r[5] = of[K6] - of[K7], r[6] = of[K7];
  }
}

/* ---- model ---- */

static perp_status add_bodies(perp_ctx *ctx, perp_model *model, const angles *a, const points *p)
{
  for (int body = 0; body < BODIES; body++) {
    perp_body_def def = { .mass = { .mass = bodies[body].mass }, .angle = a->of[body] };
    char name[3] = { 'K', (char)('1' + body), 0 };
    def.name = name;
    def.mass.inertia[8] = bodies[body].inertia;
    andrews_at(start_of(p, body), a->of[body], bodies[body].com[0], bodies[body].com[1], def.x);
    PERP_TRY(perp_model_add_body(ctx, model, &def, NULL));
  }
  return PERP_OK;
}

static perp_status andrews_add_joints(perp_ctx *ctx, perp_model *model, const points *p)
{
  const struct {
    int a, b;
    const double *at;
  } joints[] = { { PERP_WORLD, K1, O }, { K1, K2, p->F },      { PERP_WORLD, K3, B },
                 { K2, K3, p->E },      { PERP_WORLD, K5, A }, { K5, K4, p->G },
                 { K3, K4, p->E },      { PERP_WORLD, K7, A }, { K7, K6, p->H },
                 { K3, K6, p->E } };
  for (size_t i = 0; i < sizeof joints / sizeof *joints; i++)
    PERP_TRY(perp_mechanism_join(ctx, model, PERP_JOINT_HINGE, joints[i].a, joints[i].b,
                                 joints[i].at, NULL));
  return PERP_OK;
}

static perp_status add_forces(perp_ctx *ctx, perp_model *model, const struct andrews_opts *opts,
                              const angles *a)
{
  const double sc = 0.018, sd = 0.02, l0 = 0.07785;
  double D[3];
  perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                            .a = K3,
                            .b = PERP_WORLD,
                            .anchor_b = { C[0], C[1], 0 },
                            .stiffness = opts->stiffness,
                            .length = l0 };
  andrews_at(B, a->of[K3], sd, -sc, D);
  perp_mechanism_local(model, K3, D, spring.anchor_a);
  PERP_TRY(perp_model_add_force(ctx, model, &spring));
  return perp_model_add_force(
      ctx, model,
      &(perp_force_def){ .kind = PERP_FORCE_TORQUE, .a = K1, .value = { 0, 0, opts->torque } });
}

static perp_status andrews_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  static const char *const columns[] = { "beta",  "Theta",   "gamma",  "Phi",     "delta",
                                         "Omega", "epsilon", "dbeta",  "dTheta",  "dgamma",
                                         "dPhi",  "ddelta",  "dOmega", "depsilon" };
  static const double printed[14] = {
    0.1581077119629904e2,  -0.1575637105984298e2, 0.4082224013073101e-1, -0.5347301163226948,
    0.5244099658805304,    0.5347301163226948,    0.1048080741042263e1,  0.1139920302151208e4,
    -0.1424379294994111e4, 0.1103291221937134e2,  0.1929337464421385e2,  0.5735699284790808,
    -0.1929337464421385e2, 0.3231791658026955
  };
  const struct andrews_opts *o = opts;
  angles a;
  points p;
  andrews_assemble(o->start == IVP ? -0.0617138900142764496358948458001 : -0.0620, &a);
  points_of(&a, &p);
  PERP_TRY(perp_model_create(ctx, 2, &scene->model));
  PERP_TRY(add_bodies(ctx, scene->model, &a, &p));
  PERP_TRY(andrews_add_joints(ctx, scene->model, &p));
  PERP_TRY(add_forces(ctx, scene->model, o, &a));
  PERP_TRY(perp_scene_finish(ctx, scene, 0, 0.05, 1e-5));
  scene->tip_body = K1; /* F, which the library of IFToMM compares */
  scene->tip[0] = rr - bodies[K1].com[0];
  scene->dissipative = scene->driven = o->torque != 0;
  if (o->torque != TORQUE || o->stiffness != STIFFNESS) return PERP_OK;
  PERP_TRY(perp_truth_file(ctx, scene,
                           o->start == IVP ? "A03_andrews_ivp.csv" : "A03_andrews_iftomm.csv",
                           1e-15, 14, columns, andrews_map, NULL, 0));
  if (o->start != IVP) return PERP_OK;
  return perp_truth_printed(ctx, scene,
                            "test set for IVP solvers: PSIDE, rtol = atol = 1e-14, Cray C90", 0.03,
                            7, 14, printed, andrews_relative);
}

const perp_scene_desc perp_scene_andrews = {
  .d = { .name = "andrews",
         .summary = "Andrews' squeezing mechanism: 7 bodies, 10 hinges, motor and spring",
         .reference =
             "Hairer & Wanner II, section VII.7; test set for IVP solvers; IFToMM library, A03",
         PERP_OPTIONS(options, struct andrews_opts) },
  .build = andrews_build,
};
