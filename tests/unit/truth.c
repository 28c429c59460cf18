/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ground truths: closed forms against published digits and the equations of motion, reference files
 * and joint coordinates against them and each other. */
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "models/scenes/build.h"
#include "models/scenes/elliptic.h"
#include "tests/tap.h"

#include <gsl/gsl_sf_ellint.h>
#include <gsl/gsl_sf_elljac.h>
#include <string.h>

enum { NQ = 7 * 96, NV = 6 * 96, ROWS = 5 * 96 };

static perp_ctx ctx;

static bool open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  perp_status status = perp_scene_create(&ctx, &spec, scene);
  perp_spec_free(&spec);
  return ok(status == PERP_OK, "%s: built%s%s", text, status == PERP_OK ? "" : ": ",
            status == PERP_OK ? "" : ctx.msg);
}

static double worst(int n, const double *a, const double *b)
{
  double most = 0;
  for (int i = 0; i < n; i++) {
    double d = fabs(a[i] - b[i]);
    if (!(d <= most)) most = d;
  }
  return most;
}

/* quaternions up to sign */
static double distance(const perp_scene *s, const double *a, const double *b)
{
  const int dim = s->model == NULL ? 2 : perp_model_dim(s->model);
  if (dim == 2) return worst(s->model == NULL ? s->ode->nq : perp_model_nq(s->model), a, b);
  double most = 0;
  for (int i = 0; i < perp_model_bodies(s->model); i++) {
    const double *x = a + 7 * i, *y = b + 7 * i;
    double same = worst(7, x, y), z[7];
    for (int c = 0; c < 7; c++) z[c] = c < 3 ? y[c] : -y[c];
    most = fmax(most, fmin(same, worst(7, x, z)));
  }
  return most;
}

/* ---- elliptic functions ---- */

static void elliptic(void)
{
  /* GSL takes k^2, whose rounding it amplifies near 1: compare where kc >= 0.1 */
  static const double moduli[] = { 1, 0.9, 0.7071067811865476, 0.3, 0.1 };
  for (int i = 0; i < 5; i++) {
    const double kc = moduli[i], k = sqrt(1 - kc * kc);
    double jacobi = 0, inverse = 0, third = 0;
    for (int j = -60; j <= 60; j++) {
      double u = 0.37 * j, sn, cn, dn, am = perp_elliptic_am(u, kc);
      gsl_sf_elljac_e(u, k * k, &sn, &cn, &dn);
      jacobi = fmax(jacobi, fmax(fabs(sin(am) - sn), fabs(cos(am) - cn)));
      jacobi = fmax(jacobi, fabs(perp_elliptic_dn(am, kc) - dn));
      inverse = fmax(inverse, fabs(perp_elliptic_F(am, kc) - u));
      double phi = 0.025 * j;
      third = fmax(third, fabs(perp_elliptic_Pi(phi, 0.7, kc) - gsl_sf_ellint_P(phi, k, 0.7, 0)));
    }
    near(perp_elliptic_K(kc), gsl_sf_ellint_Kcomp(k, 0), 0, 1e-14, "K(kc = %g) as GSL's", kc);
    below(jacobi, 5e-14, "sn, cn, dn (kc = %g) as GSL's over many periods", kc);
    below(inverse, 1e-13, "F(am(u)) = u (kc = %g) over many periods", kc);
    below(third, 1e-14, "Pi (kc = %g) as GSL's", kc);
  }
  /* quarter periods add up, also far from the first one and close to the separatrix */
  for (double kc = 1e-1; kc > 1e-9; kc /= 100) {
    double K = perp_elliptic_K(kc);
    near(perp_elliptic_am(K, kc), M_PI_2, 1e-8, 0, "am(K) = pi/2, kc = %g", kc);
    near(perp_elliptic_am(6 * K, kc), 3 * M_PI, 1e-12 / kc, 0, "am(6 K) = 3 pi, kc = %g", kc);
    near(perp_elliptic_Pi(2 * M_PI, 0.3, kc), 4 * perp_elliptic_Pi(M_PI_2, 0.3, kc), 0, 1e-14,
         "Pi over a full turn, kc = %g", kc);
  }
}

/* ---- pendulum ---- */

static void pendulum_digits(void)
{
  perp_scene s;
  double q[3], v[3];
  /* 25 digits of an evaluation in 50 digits; the closed form in double loses a few ulp of g t */
  if (!open_scene("pendulum", &s)) return;
  s.truth[0].state(s.truth[0].user, &ctx, 10, q, v);
  near(q[0], -0.27508746257611686005, 2e-14, 0, "pendulum: x(10)");
  near(q[1], -0.96141920509912506427, 2e-14, 0, "pendulum: y(10)");
  near(v[0], 4.1755981009517288365, 1e-13, 0, "pendulum: xdot(10)");
  near(v[1], -1.1947490545604752716, 1e-13, 0, "pendulum: ydot(10)");
  ok(perp_model_dim(s.model) == 2, "pendulum: one rod in the plane");
  perp_scene_destroy(&s);

  /* periods T / T0 = 2 K(sin(a / 2)) / pi: after T the state is the initial one, at rest at the top
   */
  static const struct {
    int degrees;
    double ratio;
  } periods[] = {
    { 1, 1.00001903892100550793971570358 },   { 10, 1.00190718814321660696251689894 },
    { 90, 1.18034059901609622604533794056 },  { 150, 1.76220372950375602793997450412 },
    { 170, 2.43936271967388406493887008668 }, { 179, 3.90106516038908573485755051099 },
  };
  for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
    char text[64];
    snprintf(text, sizeof text, "pendulum:amplitude=%ddeg,length=2", periods[i].degrees);
    if (!open_scene(text, &s)) continue;
    double T = periods[i].ratio * 2 * M_PI * sqrt(2 / 9.81);
    s.truth[0].state(s.truth[0].user, &ctx, T, q, v);
    below(worst(3, q, perp_model_q0(s.model)), 1e-13, "%s: back after one period", text);
    below(worst(3, v, perp_model_v0(s.model)), 1e-12, "%s: at rest after one period", text);
    s.truth[0].state(s.truth[0].user, &ctx, T / 4, q, v);
    near(q[0], 0, 1e-12, 0, "%s: hangs straight after a quarter", text);
    perp_scene_destroy(&s);
  }
}

/* ---- free body ---- */

/* Euler's equations, attitude and angular momentum of a truth that answers at any time */
static void euler_equations(const char *text, double t_end)
{
  perp_scene s;
  if (!open_scene(text, &s)) return;
  const perp_truth *truth = &s.truth[0];
  const double *I = perp_model_body(s.model, 0)->mass.inertia;
  double euler = 0, attitude = 0, momentum = 0, L0[3], P[3];
  perp_model_momentum(s.model, perp_model_q0(s.model), perp_model_v0(s.model), P, L0);
  double size = sqrt(L0[0] * L0[0] + L0[1] * L0[1] + L0[2] * L0[2]);
  ok(strncmp(truth->what, "closed form", 11) == 0, "%s: the truth is a %s", text, truth->what);
  const double h = 1e-4;
  for (int k = 0; k <= 40; k++) {
    double t = t_end * k / 40, q[7], v[6], qp[7], vp[6], qn[7], vn[6], dq[6], L[3];
    truth->state(truth->user, &ctx, t, q, v);
    if (k == 0) below(worst(6, v, perp_model_v0(s.model)), 1e-13, "%s: starts as the scene", text);
    truth->state(truth->user, &ctx, t + h, qp, vp);
    truth->state(truth->user, &ctx, t - h, qn, vn);
    const double *w = v + 3;
    for (int i = 0; i < 3; i++) {
      int a = (i + 1) % 3, b = (i + 2) % 3;
      double wdot = (I[4 * a] - I[4 * b]) * w[a] * w[b] / I[4 * i];
      euler = fmax(euler, fabs((vp[3 + i] - vn[3 + i]) / (2 * h) - wdot));
    }
    perp_model_difference(s.model, qn, qp, dq);
    for (int i = 0; i < 6; i++) attitude = fmax(attitude, fabs(dq[i] / (2 * h) - v[i]));
    perp_model_momentum(s.model, q, v, P, L);
    for (int i = 0; i < 3; i++) /* about the centre of mass */
      L[i] -= q[(i + 1) % 3] * P[(i + 2) % 3] - q[(i + 2) % 3] * P[(i + 1) % 3];
    momentum = fmax(momentum, worst(3, L, L0) / size);
  }
  /* central differences: h^2/6 times third derivatives of rates up to 5 1/s */
  below(euler, 2e-6, "%s: Euler's equations", text);
  below(attitude, 2e-6, "%s: the attitude turns with w", text);
  below(momentum, 1e-12, "%s: angular momentum is constant in space", text);
  perp_scene_destroy(&s);
}

/* D_2 = I_1 (I_1 - I_2) w_1^2 + I_3 (I_3 - I_2) w_3^2 = -3 * 4 + 12 * 1 = 0 whatever w_2: no closed
 * form, however the axes are called; a little beside it on either side there is one. */
static void separatrix(void)
{
  static const double I[3] = { 3, 4, 6 }, w[3] = { 2, 0.5, 1 };
  for (int k = 0; k < 18; k++) {
    const int x = k % 3, y = (x + 1 + k / 3 % 2) % 3, z = 3 - x - y, aside = k / 6;
    const double turn[3] = { w[0] * (aside == 1 ? 1.1 : 1), w[1], w[2] * (aside == 2 ? -1.1 : 1) };
    char text[200];
    snprintf(text, sizeof text, "free-body:preset=custom,ix=%g,iy=%g,iz=%g,wx=%g,wy=%g,wz=%g", I[x],
             I[y], I[z], turn[x], turn[y], turn[z]);
    if (aside != 0) {
      euler_equations(text, 5);
      continue;
    }
    perp_scene s;
    if (!open_scene(text, &s)) return;
    ok(s.n_truths > 0 && strncmp(s.truth[0].what, "closed form", 11) != 0,
       "%s: no closed form on the separatrix", text);
    perp_scene_destroy(&s);
  }
}

/* ---- all scenes: truths agree ---- */

static const struct {
  const char *scene;
  double t_end, bound; /* of |q - q'| over the span, in m and rad */
} agreements[] = {
  /* bounds are 10 to 30 x the worst seen: the integrated reference makes 1e-13 a step, and motions
     amplify it */
  { "oscillator", 10, 0 },
  { "oscillator:zeta=0.1,v0=2", 10, 0 },
  { "circle", 10, 0 },
  { "projectile", 2, 1e-12 },
  { "projectile:linear=0,dim=2", 2, 1e-12 },
  { "projectile:linear=3", 2, 1e-12 },
  { "projectile:linear=1e-3", 2, 1e-12 },
  { "spring", 10, 1e-12 },
  { "spring:damping=1,dim=3", 10, 1e-12 },
  { "pendulum", 10, 1e-11 },
  { "pendulum:body=rod,dim=3", 10, 1e-11 },
  { "pendulum:body=rod,amplitude=170deg", 10, 3e-10 },
  { "pendulum:dim=3,length=0.3,amplitude=30deg", 10, 1e-11 },
  { "pendulum:dim=3,length=0.3,amplitude=60deg,gravity=10,strength=15", 1, 0 },
  { "pendulum:body=rod,amplitude=60deg,gravity=10,strength=15", 1, 0 },
  { "spherical-pendulum", 10, 3e-11 },
  { "double-pendulum", 10, 5e-9 },
  { "double-pendulum:gravity=5", 1, 1e-11 },
  { "double-pendulum:body=point", 10, 3e-11 },
  { "double-pendulum:body=point,dim=3", 10, 3e-11 },
  { "chain:links=2", 2, 1e-11 },
  { "chain:links=4", 1, 1e-12 },
  { "chain:links=6", 1, 1e-12 },
  { "chain:links=6,dim=2", 1, 1e-12 },
  { "chain:links=6,joint=hinge", 1, 1e-12 },
  { "chain:links=8", 1, 1e-12 },
  { "chain:links=16", 0.8, 1e-12 },
  { "ball-and-chain", 1, 1e-12 },
  { "ball-and-chain:gravity=5", 1, 1e-12 },
  { "free-body", 60, 1e-9 },
  { "free-body:preset=box149", 10, 1e-10 },
  { "free-body:preset=box149-simple", 10, 1e-12 },
  { "free-body:preset=spin", 20, 1e-9 },
  { "free-body:preset=custom", 10, 1e-12 },
  { "heavy-top", 2, 3e-10 },
  { "pendulum-dae", 10, 0 },
  { "four-bar", 10, 1e-11 },
  { "four-bar:dim=3", 10, 1e-11 },
  { "four-bar:loops=40", 20, 1e-10 },
  { "andrews", 0.05, 0 },
  { "andrews:start=iftomm", 0.05, 0 },
  { "bricard", 10, 0 },
  { "flyball", 10, 0 },
  { "cubes:count=2", 10, 0 },
  { "cubes:held=false", 10, 0 },
  { "motor", 2, 0 },
  { "rolling-sphere:spin=-20,dim=2", 2, 0 },
  { "rolling-sphere:spin=20,radius=0.2", 2, 0 },
  { "bead:radius=0.5", 3, 0 },
  { "bead:track=ramp,radius=0.5,gravity=4", 3, 0 },
  { "bead:track=helix,radius=0.5,pitch=0.7", 2, 0 },
  { "bead:track=hoop,radius=0.4,spin=6", 2, 0 },
  { "rail:angle=0.5,speed=2,length=0.6", 1, 0 },
  { "soft:mass=2,stiffness=50,damping=6", 2, 0 },
  { "four-bar:loops=3,length=0.5,speed=2", 5, 0 },
};

/* How far velocities are from the rates of positions, by central differences, and how far the
 * energy is from that of the start, of a closed form at t; its bodies have the same quaternions at
 * close times. */
static void closed_form(const perp_scene *s, double t, double *rate, double *gain)
{
  static double q[3][NQ], v[3][NV], moved[NV];
  const perp_truth *truth = &s->truth[0];
  const double h = 1e-4;
  double start[2], now[2];
  for (int i = 0; i < 3; i++)
    if (truth->state(truth->user, &ctx, t + (i - 1) * h, q[i], v[i]) != PERP_OK)
      bail("%s", ctx.msg);
  perp_model_difference(s->model, q[0], q[2], moved);
  for (int i = 0; i < perp_model_nv(s->model); i++) moved[i] /= 2 * h;
  *rate = fmax(*rate, worst(perp_model_nv(s->model), moved, v[1]));
  perp_model_energy(s->model, 0, perp_model_q0(s->model), perp_model_v0(s->model), &start[0],
                    &start[1]);
  perp_model_energy(s->model, 0, q[1], v[1], &now[0], &now[1]);
  *gain = fmax(*gain, fabs(now[0] + now[1] - start[0] - start[1]));
}

static void agreement(const char *text, double t_end, double bound)
{
  perp_scene s;
  static double q[PERP_SCENE_TRUTHS][NQ], v[PERP_SCENE_TRUTHS][NV], C[ROWS], rate[ROWS];
  if (!open_scene(text, &s)) return;
  ok(s.n_truths >= 1, "%s: %d truths, the first a %s", text, s.n_truths, s.truth[0].what);
  const double *q0 = s.model != NULL ? perp_model_q0(s.model) : s.ode_q0;
  double worst_q = 0, worst_C = 0, size = 1, rate_off = 0, gain = 0;
  const bool closed = s.model != NULL && s.n_truths > 0 &&
                      strncmp(s.truth[0].what, "file", 4) != 0 &&
                      strncmp(s.truth[0].what, "reduced", 7) != 0;
  for (int k = 0; k < s.n_truths; k++) {
    const perp_truth *truth = &s.truth[k];
    if (truth->state(truth->user, &ctx, 0, q[k], v[k]) != PERP_OK) bail("%s", ctx.msg);
    below(distance(&s, q[k], q0), 1e-14, "%s: the %s starts where the scene does", text,
          truth->what);
    if (s.model != NULL)
      below(worst(perp_model_nv(s.model), v[k], perp_model_v0(s.model)), 1e-12, "%s: and as fast",
            text);
  }
  for (int step = 1; step <= 20; step++) {
    /* times that all truths answer: the grid of the coarsest file */
    double t = t_end * step / 20;
    for (int k = 0; k < s.n_truths; k++) t = fmax(t, s.truth[k].next_time(s.truth[k].user, t));
    if (t > t_end * (1 + 1e-9)) break;
    if (closed) closed_form(&s, t, &rate_off, &gain);
    for (int k = 0; k < s.n_truths; k++) {
      const perp_truth *truth = &s.truth[k];
      if (truth->state(truth->user, &ctx, t, q[k], v[k]) != PERP_OK) bail("%s", ctx.msg);
      double d = distance(&s, q[0], q[k]);
      if (!(d <= worst_q)) worst_q = d;
      if (s.model == NULL || perp_model_m(s.model) == 0) continue;
      perp_model_error(s.model, t, q[k], C);
      memset(rate, 0, sizeof rate);
      perp_blocks_J(perp_model_assemble(s.model, t, q[k]), 1, v[k], rate);
      for (int i = 0; i < perp_model_m(s.model); i++)
        worst_C = fmax(worst_C, fmax(fabs(C[i]), fabs(rate[i])));
    }
    for (int i = 0; s.model != NULL && i < perp_model_nv(s.model); i++)
      size = fmax(size, fabs(v[0][i]));
  }
  if (s.n_truths > 1) below(worst_q, bound, "%s: its %d truths agree", text, s.n_truths);
  if (closed) /* h^2 / 6 times third derivatives; h / 4 times a jump of the acceleration */
    below(rate_off, 2e-5 * size, "%s: velocities of the %s", text, s.truth[0].what);
  if (closed && !s.dissipative && !s.driven)
    below(gain, 1e-11 * size * size, "%s: energy of the %s", text, s.truth[0].what);
  if (s.n_gauges > 0 && strcmp(s.gauge[0].metric, "event.err") == 0) {
    perp_scene_destroy(&s); /* a joint is released */
    return;
  }
  below(worst_C, 1e-13 * size, "%s: truths hold the joints, C = 0 and J v = 0", text);
  perp_scene_destroy(&s);
}

/* The closed form of a plain problem solves its differential equation, by central differences whose
 * error is h^2 / 6 times third derivatives of up to 50, and keeps its energy. */
static void plain_problem(const char *text)
{
  perp_scene s;
  if (!open_scene(text, &s)) return;
  const double h = 1e-4;
  double off = 0, gain = 0;
  bool declared = true;
  for (int k = 0; k <= 20; k++) {
    double q[3][2], v[3][1], qdot[2], a[1];
    for (int i = 0; i < 3; i++)
      s.truth[0].state(s.truth[0].user, &ctx, 0.1 * k + (i - 1) * h, q[i], v[i]);
    s.ode->deriv(s.ode->user, 0.1 * k, 0, q[1], v[1], false, qdot, a);
    for (int i = 0; i < s.ode->nq; i++)
      off = fmax(off, fabs((q[2][i] - q[0][i]) / (2 * h) - qdot[i]));
    for (int i = 0; i < s.ode->nv; i++) off = fmax(off, fabs((v[2][i] - v[0][i]) / (2 * h) - a[i]));
    if (s.ode->caps & PERP_ODE_SYS_POSITION_FORCES) { /* the same accelerations at any velocity */
      const double before = a[0], faster[1] = { v[1][0] + 1 };
      s.ode->deriv(s.ode->user, 0.1 * k, 0, q[1], faster, false, qdot, a);
      declared = declared && a[0] == before;
    }
    if (s.ode_energy != NULL)
      gain = fmax(gain, fabs(s.ode_energy(s.ode->user, q[1], v[1]) /
                                 s.ode_energy(s.ode->user, s.ode_q0, s.ode_v0) -
                             1));
  }
  below(off, 2e-7, "%s: the closed form solves the differential equation", text);
  below(gain, 1e-14, "%s: and keeps its energy", text);
  ok(declared, "%s: forces depend on positions alone where it is declared", text);
  perp_scene_destroy(&s);
}

/* position of the centre of the last link, found alike by two other programs to 1e-7 */
static void engines_chain(void)
{
  perp_scene s;
  double q[7 * 6], v[6 * 6];
  if (!open_scene("chain:links=6,link=box", &s)) return;
  ok(s.n_truths == 1, "boxes have no file");
  s.truth[0].state(s.truth[0].user, &ctx, 0.8, q, v);
  near(q[35], -0.4898451, 1e-7, 0, "chain of boxes: x of the last link at 0.8 s");
  near(q[36], 0, 1e-12, 0, "chain of boxes: y");
  near(q[37], -0.0511352, 1e-7, 0, "chain of boxes: z");
  /* an earlier time starts again, and gives the same as a fresh run */
  double early[7 * 6], again[7 * 6];
  s.truth[0].state(s.truth[0].user, &ctx, 0.4, early, v);
  s.truth[0].state(s.truth[0].user, &ctx, 0.8, again, v);
  below(worst(42, q, again), 1e-9, "chain of boxes: an integrated truth may be asked backwards");
  perp_scene_destroy(&s);
}

/* Printed values are as wrong as the worst of them. */
static void printed(void)
{
  perp_scene s;
  double q[2], v[1], wrong[2];
  if (!open_scene("circle", &s)) return;
  s.truth[0].state(s.truth[0].user, &ctx, 1, q, v);
  wrong[0] = 1.25 * q[0], wrong[1] = 1.125 * q[1];
  if (perp_truth_printed(&ctx, &s, "by hand", 1, 2, 2, wrong, NULL) != PERP_OK) bail("%s", ctx.msg);
  near(s.published.err_q, 0.25, 1e-14, 0, "printed values: the largest relative error");
  perp_scene_destroy(&s);
  /* numbers that another program prints for the angles of Andrews' mechanism and their rates */
  if (!open_scene("andrews", &s)) return;
  below(fmax(s.published.err_q, s.published.err_v), 1e-6, "andrews: values in print");
  perp_scene_destroy(&s);
}

/* An event-driven reference solution may be asked backwards: it starts again. */
static void earlier(void)
{
  perp_scene s[2];
  double q[2][7 * 2], v[2][6 * 2];
  for (int k = 0; k < 2; k++) {
    if (!open_scene("dominoes:dominoes=2,events=true", &s[k])) return;
    const perp_truth *truth = &s[k].truth[0];
    for (int back = k; back < 2; back++)
      if (truth->state(truth->user, &ctx, back == 0 ? 0.02 : 0.01, q[k], v[k]) != PERP_OK)
        bail("%s", ctx.msg);
  }
  below(distance(&s[0], q[0], q[1]), 0, "dominoes: the same state after a later one");
  for (int k = 0; k < 2; k++) perp_scene_destroy(&s[k]);
}

static void files_answer_on_their_grid(void)
{
  perp_scene s;
  double q[NQ], v[NV];
  if (!open_scene("chain:links=6,truth=file", &s)) return;
  const perp_truth *truth = &s.truth[0];
  near(truth->t_end, 5, 0, 0, "file: the span is that of the file");
  near(truth->next_time(truth->user, 0.051), 0.1, 1e-15, 0, "file: the next row");
  near(truth->next_time(truth->user, 0.1 + 1e-13), 0.1, 1e-15, 0,
       "file: rounding of a time is forgiven");
  ok(truth->next_time(truth->user, 5.1) == HUGE_VAL, "file: nothing past the end");
  ok(truth->state(truth->user, &ctx, 0.051, q, v) == PERP_ERR_ARG, "file: no row, no answer: %s",
     ctx.msg);
  perp_scene_destroy(&s);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  elliptic();
  pendulum_digits();
  euler_equations("free-body", 60);
  euler_equations("free-body:preset=box149", 10);
  euler_equations("free-body:preset=box149-simple", 10);
  euler_equations("free-body:preset=spin", 20);
  /* every order of the moments, both sides of the separatrix, negative rotation, symmetric and
   * spherical bodies */
  static const char *const customs[] = {
    "ix=1,iy=2,iz=2.5,wx=1,wy=0.5,wz=0.7",    "ix=1,iy=2,iz=2.5,wx=0.1,wy=0.5,wz=-0.7",
    "ix=2,iy=1,iz=2.5,wx=-1,wy=0.5,wz=0.3",   "ix=2,iy=2.5,iz=1,wx=1,wy=0.5,wz=-2",
    "ix=2.5,iy=1,iz=2,wx=1.3,wy=-0.5,wz=0.7", "ix=2.5,iy=2,iz=1,wx=-0.3,wy=-0.5,wz=0.7",
    "ix=1,iy=2.5,iz=2,wx=1,wy=0.5,wz=0.7",    "ix=2,iy=2,iz=3,wx=1,wy=0.5,wz=0.7",
    "ix=2,iy=3,iz=2,wx=1,wy=0.5,wz=0.7",      "ix=3,iy=2,iz=2,wx=1,wy=0.5,wz=0.7",
    "ix=3,iy=3,iz=2,wx=1,wy=0.5,wz=-0.7",     "ix=2,iy=2,iz=2,wx=1,wy=0.5,wz=0.7",
    "ix=1,iy=2,iz=2.5,wx=0,wy=2,wz=0",        "ix=1,iy=2,iz=2.5,wx=0.6,wy=0,wz=0.9",
  };
  for (size_t i = 0; i < sizeof customs / sizeof *customs; i++) {
    char text[128];
    snprintf(text, sizeof text, "free-body:preset=custom,%s", customs[i]);
    euler_equations(text, 20);
  }
  separatrix();
  for (size_t i = 0; i < sizeof agreements / sizeof *agreements; i++)
    agreement(agreements[i].scene, agreements[i].t_end, agreements[i].bound);
  plain_problem("circle:rate=-2,radius=3");
  plain_problem("oscillator:omega=2,x0=-1,v0=3");
  plain_problem("oscillator:omega=2,zeta=0.3,x0=-1,v0=3");
  engines_chain();
  earlier();
  printed();
  files_answer_on_their_grid();
  return tap_done();
}
