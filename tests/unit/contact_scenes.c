/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Truths of the contact scenes against independent computations: tabulated digits of other
 * programs, equations of motion on finite differences, quadrature, statics; and the gauges on
 * states made by hand. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/geometry/kinematics.h"
#include "models/models.h"
#include "models/scenes/scene_builder.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static void open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_scene_create(&ctx, &spec, scene) != PERP_OK) bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
  for (int i = 0; i < scene->n_gauges; i++)
    if (scene->gauge[i].restart != NULL) scene->gauge[i].restart(scene->gauge[i].user);
}

static void truth(const perp_scene *s, double t, double *q, double *v)
{
  if (s->truth[0].state(s->truth[0].user, &ctx, t, q, v) != PERP_OK) bail("%s", ctx.msg);
}

static void sample(const perp_scene *s, double t, const double *q, const double *v,
                   const perp_step_info *info)
{
  for (int i = 0; i < s->n_gauges; i++)
    if (s->gauge[i].sample != NULL) s->gauge[i].sample(s->gauge[i].user, t, q, v, info);
}

static double gauge(const perp_scene *s, const char *metric)
{
  for (int i = 0; i < s->n_gauges; i++)
    if (strcmp(s->gauge[i].metric, metric) == 0) return s->gauge[i].value(s->gauge[i].user);
  bail("no gauge %s", metric);
}

/* ---- closed forms against tabulated digits (25 digits of another program) ---- */

static void incline(void)
{
  static const struct {
    const char *scene;
    double a;
  } slides[] = {
    { "incline:theta=30deg,mu=0.3,dim=2", 2.3562872366624 },
    { "incline:theta=20deg,mu=0.5,dim=2", 0 },
    { "incline:theta=45deg,mu=1,dim=2",
      0 }, /* at the limit it sticks, but for rounding of tan 45 */
  };
  perp_scene s;
  double q[7], v[6], q0[7], v0[6];
  for (size_t i = 0; i < sizeof slides / sizeof *slides; i++) {
    open_scene(slides[i].scene, &s);
    truth(&s, 0, q0, v0);
    truth(&s, 1, q, v);
    near(hypot(v[0], v[1]), slides[i].a, 1e-11, 0, "%s: v(1 s) = %.12g", slides[i].scene,
         slides[i].a);
    near(hypot(q[0] - q0[0], q[1] - q0[1]), slides[i].a / 2, 1e-11, 0, "%s: way in 1 s",
         slides[i].scene);
    perp_scene_destroy(&s);
  }
  /* launched up at 4 m/s: where it turns, back after t_return with v_return (mu = 0.3); stays (mu =
   * 0.7) */
  open_scene("incline:theta=30deg,mu=0.3,speed=-4,dim=2", &s);
  truth(&s, 0, q0, v0);
  truth(&s, 0.5366453104652359900484729, q, v);
  near(hypot(q[0] - q0[0], q[1] - q0[1]), 1.073290620930471980096946, 0, 1e-14, "launch: distance");
  below(hypot(v[0], v[1]), 1e-14, "launch: at rest there");
  truth(&s, 1.491109303909725808139786, q, v);
  below(hypot(q[0] - q0[0], q[1] - q0[1]), 1e-14, "launch: back where it was");
  near(hypot(v[0], v[1]), 2.248991325607073178491148, 0, 1e-14, "launch: speed on return");
  perp_scene_destroy(&s);
  open_scene("incline:theta=30deg,mu=0.7,speed=-4,azimuth=50deg", &s);
  truth(&s, 0, q0, v0);
  truth(&s, 7, q, v);
  double way = sqrt(pow(q[0] - q0[0], 2) + pow(q[1] - q0[1], 2) + pow(q[2] - q0[2], 2));
  near(way, 0.7371915424493950349203806, 0, 1e-14, "launch, mu = 0.7: it stays there");
  near(atan2(q[1] - q0[1], q[0] - q0[0]), 50 * M_PI / 180 - M_PI, 0, 1e-14,
       "and it went against the azimuth");
  perp_scene_destroy(&s);
}

static void rolling(void)
{
  static const struct {
    const char *options;
    double t, v, x;
  } rows[] = {
    { "", 0.7281199941750400465996796, 3.571428571428571428571429, 3.120514260750171628284341 },
    { "speed=2,spin=-100,", 1.747487986020096111839231, -1.428571428571428571428571,
      0.4992822817200274605254946 },
    { "body=cylinder,", 0.8494733265375467210329596, 3.333333333333333333333333,
      3.539472193906444670970665 },
    { "body=hoop,", 1.274209989806320081549439, 2.5, 4.778287461773700305810398 },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    perp_scene s;
    char text[100];
    double q[3], v[3];
    snprintf(text, sizeof text, "rolling-sphere:%sdim=2", rows[i].options);
    open_scene(text, &s);
    truth(&s, rows[i].t, q, v);
    near(v[0], rows[i].v, 0, 1e-14, "%s: velocity when it rolls", text);
    near(q[0], rows[i].x, 0, 1e-13, "%s: place", text);
    near(v[2], -rows[i].v / 0.1, 0, 1e-13, "%s: no slip", text);
    truth(&s, 0.99 * rows[i].t, q, v);
    ok(fabs(v[0] + 0.1 * v[2]) > 1e-3, "%s: slip before", text);
    perp_scene_destroy(&s);
  }
  static const struct {
    const char *scene;
    double a, alpha_R;
  } slopes[] = {
    { "rolling-slope:theta=30deg,mu=0.1,dim=2", 4.055429078887465687524788,
      2.123927302781335781188031 },
    { "rolling-slope:theta=30deg,mu=0.3,dim=2", 3.503571428571428571428571,
      3.503571428571428571428571 },
    { "rolling-slope:theta=60deg,mu=0.3,dim=2", 7.024209211125343124752124, 3.67875 },
    { "rolling-slope:theta=60deg,mu=0.6,body=cylinder,dim=2", 5.66380614075022874983475,
      5.66380614075022874983475 },
  };
  for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++) {
    perp_scene s;
    double q[3], v[3];
    open_scene(slopes[i].scene, &s);
    truth(&s, 1, q, v);
    near(hypot(v[0], v[1]), slopes[i].a, 0, 1e-14, "%s: acceleration", slopes[i].scene);
    near(-0.1 * v[2], slopes[i].alpha_R, 0, 1e-14, "%s: spin", slopes[i].scene);
    perp_scene_destroy(&s);
  }
}

static void bouncing(void)
{
  static const struct {
    double e, t[3], apex, zeno;
  } rows[] = {
    { 0.5,
      { 0.4515236409857309, 0.9030472819714618, 1.128809102464327 },
      0.25,
      1.354570922957192713 },
    { 0.8,
      { 0.4515236409857309, 1.173961466562900, 1.751911727024636 },
      0.64,
      4.0637127688715781400 },
    { 0.9, { 0.4515236409857309, 1.264266194760047, 1.995734493156931 }, 0.81, 8.578949178728887 },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const double e = rows[i].e;
    perp_scene s;
    char text[64];
    double q[3], v[3];
    snprintf(text, sizeof text, "bouncing-ball:e=%g,dim=2", e);
    open_scene(text, &s);
    for (int k = 0; k < 3; k++) {
      truth(&s, rows[i].t[k], q, v);
      below(fabs(q[1] - 0.1), 1e-14, "%s: on the floor at impact %d", text, k + 1);
      truth(&s, rows[i].t[k] + 1e-9, q, v);
      near(v[1], pow(e, k + 1) * 4.429446918070020, 1e-7, 0, "%s: velocity after impact %d", text,
           k + 1);
    }
    truth(&s, (rows[i].t[0] + rows[i].t[1]) / 2, q, v);
    near(q[1] - 0.1, rows[i].apex, 1e-14, 0, "%s: first apex e^2 h", text);
    truth(&s, rows[i].zeno - 1e-9, q, v);
    ok(fabs(v[1]) < 1e-6 && q[1] - 0.1 < 1e-9, "%s: almost at rest before the Zeno time", text);
    truth(&s, rows[i].zeno + 1e-9, q, v);
    ok(v[1] == 0 && q[1] == 0.1, "%s: at rest after it", text);
    perp_scene_destroy(&s);
  }
}

static void impacts(void)
{
  static const struct {
    const char *scene;
    double v[3];
  } rows[] = {
    { "oblique-impact:dim=2", { 2.142857142857142857, 3.2, -21.42857142857142857 } },
    { "oblique-impact:mu=0.05,dim=2", { 2.64, 3.2, -9 } },
    { "oblique-impact:spin=-80,dim=2", { 1.56, 3.2, 44 } },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    perp_scene s;
    double q[3], v[3];
    open_scene(rows[i].scene, &s);
    truth(&s, 0.15, q, v);
    for (int k = 0; k < 3; k++) near(v[k], rows[i].v[k], 0, 1e-14, "%s: v[%d]", rows[i].scene, k);
    perp_scene_destroy(&s);
  }

  /* chains: digits of sequences of two-body impacts */
  static const struct {
    const char *scene;
    int n;
    double v[5];
  } chains[] = {
    { "impact-chain:balls=5,gap=0,dim=2", 5, { 0, 0, 0, 0, 1 } },
    { "impact-chain:balls=5,gap=0,e=0.9,dim=2",
      5,
      { 0.04352508203125, 0.04537296484375, 0.047296640625, 0.0492990625, 0.81450625 } },
    { "impact-chain:ratio=2,dim=2", 3, { -1.0 / 3, -2.0 / 9, 4.0 / 9 } },
  };
  for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
    perp_scene s;
    double v[15] = { 0 };
    open_scene(chains[i].scene, &s);
    for (int k = 0; k < chains[i].n; k++) v[3 * k] = chains[i].v[k];
    const double *q = perp_model_q0(s.model);
    ok(isnan(gauge(&s, "impact.rel.err")), "%s: no word before its time", chains[i].scene);
    sample(&s, s.t_end, q, v, NULL);
    below(gauge(&s, "impact.rel.err"), 1e-14, "%s: velocities after all impacts", chains[i].scene);
    perp_scene_destroy(&s);
    open_scene(chains[i].scene, &s);
    v[3 * (chains[i].n - 1)] += 0.01;
    sample(&s, s.t_end, q, v, NULL);
    near(gauge(&s, "impact.rel.err"), 0.01, 1e-14, 0, "%s: an error of 1 %% is one",
         chains[i].scene);
    perp_scene_destroy(&s);
  }

  /* the cradle: energy of the truth is constant, and after half a period the other side is up */
  perp_scene s;
  double q[21], v[21], T, V, E0 = 0, t = 0;
  open_scene("cradle:balls=7,moving=2,amplitude=60deg,dim=2", &s);
  double worst = 0;
  for (int i = 0; i <= 100; i++) {
    t = s.t_end * i / 100;
    truth(&s, t, q, v);
    perp_model_energy(s.model, t, q, v, &T, &V);
    if (i == 0) E0 = T + V;
    worst = fmax(worst, fabs(T + V - E0) / fabs(E0));
  }
  below(worst, 1e-14, "cradle: energy of the truth");
  near(q[3 * 6], 0.6 + sin(M_PI / 3), 1e-13, 0, "cradle: the last ball is up after half a period");
  near(q[0], 0, 1e-15, 0, "cradle: the first hangs");
  perp_scene_destroy(&s);
}

static void oscillator(void)
{
  static const double turning[11] = { 0.2,     -0.18038, 0.16076, -0.14114, 0.12152, -0.1019,
                                      0.08228, -0.06266, 0.04304, -0.02342, 0.0038 };
  perp_scene s;
  double q[3], v[3], a[3], b[3];
  open_scene("coulomb-oscillator:dim=2", &s);
  for (int i = 0; i < 11; i++) {
    truth(&s, i * M_PI / 10, q, v);
    near(q[0], turning[i], 1e-15, 0, "oscillator: turning point %d", i);
    below(fabs(v[0]), 1e-13, "oscillator: at rest there");
  }
  truth(&s, 5, q, v);
  ok(q[0] == 0.2 - 10 * 0.01962 || fabs(q[0] - 0.0038) < 1e-16, "oscillator: it stays at 0.0038");
  /* m x'' + k x = -mu m g sign x' on finite differences, h = 1e-4: error h^2 x'''' / 12 ~ 2e-6 */
  double worst = 0;
  for (double t = 0.05; t < 3; t += 0.0317) {
    if (fabs(remainder(t, M_PI / 10)) < 2e-4) continue;
    truth(&s, t - 1e-4, a, v);
    truth(&s, t + 1e-4, b, v);
    truth(&s, t, q, v);
    const double acc = (a[0] - 2 * q[0] + b[0]) / 1e-8;
    worst = fmax(worst, fabs(acc + 100 * q[0] + 0.981 * copysign(1, v[0])));
  }
  below(worst, 1e-5, "oscillator: equation of motion");
  perp_scene_destroy(&s);
}

/* ---- equations of motion on the truth ---- */

/* Steady wheel: no slip at the lowest point, and d/dt of momenta = force and torque of one contact
 * force. */
static void wheel(void)
{
  perp_scene s;
  double q[7], v[6], P[2][3], L[2][3], R[9], arm[3], spin[3], slip[3];
  open_scene("spinning-wheel:lean=35deg,turn=0.7", &s);
  const double radius = 0.25, g = 9.81, dt = 1e-4, t = 0.37;
  for (int i = 0; i < 2; i++) {
    truth(&s, t + (2 * i - 1) * dt, q, v);
    perp_model_momentum(s.model, q, v, P[i], L[i]);
    for (int k = 0; k < 3; k++) { /* about the centre of mass */
      const int a = (k + 1) % 3, b = (k + 2) % 3;
      L[i][k] -= q[a] * P[i][b] - q[b] * P[i][a];
    }
  }
  truth(&s, t, q, v);
  perp_quat_matrix(q + 3, R);
  /* lowest point of a thin disc: -radius (z - (z.n) n) / |...| with n its axis */
  const double n[3] = { R[6], R[7], R[8] };
  for (int k = 0; k < 3; k++) arm[k] = -((k == 2) - n[2] * n[k]);
  const double size = sqrt(perp_dot(3, arm, arm));
  for (int k = 0; k < 3; k++) arm[k] *= radius / size;
  near(arm[2], -q[2], 1e-14, 0, "wheel: it touches the floor");
  perp_turn(3, R, v + 3, spin);
  perp_cross(spin, arm, slip);
  for (int k = 0; k < 3; k++) below(fabs(slip[k] + v[k]), 1e-13, "wheel: no slip, %d", k);
  double force[3], torque[3];
  for (int k = 0; k < 3; k++) force[k] = (P[1][k] - P[0][k]) / (2 * dt) + (k == 2) * g;
  perp_cross(arm, force, torque);
  for (int k = 0; k < 3; k++) /* second differences: dt^2 W^3 L ~ 1e-7 */
    near((L[1][k] - L[0][k]) / (2 * dt), torque[k], 1e-7, 0, "wheel: dL/dt = r x F, %d", k);
  ok(hypot(force[0], force[1]) < 0.8 * force[2], "wheel: the force is in the cone");
  perp_scene_destroy(&s);
}

/* Painleve: after the impact the contact rests, and the impulse is in the cone. */
static void painleve(void)
{
  perp_scene s;
  open_scene("painleve:theta=60deg,mu=2.2", &s);
  const double c = 0.5, sn = sqrt(3) / 2;
  const double *v0 = perp_model_v0(s.model);
  double v[3], arm[2] = { c, -sn };
  near(v0[0] - v0[2] * arm[1], 10, 1e-14, 0, "painleve: slip of 10 m/s at the start");
  /* angular momentum about the contact is kept by a force there: I w + arm x m v, arm to the
   * contact; the rod then turns about the contact with v = -w x arm: I w (1 + m l^2/I) = what it
   * was */
  const double I = 1.0 / 3;
  const double about = I * v0[2] - (arm[0] * v0[1] - arm[1] * v0[0]);
  v[2] = about / (I + 1);
  v[0] = v[2] * arm[1];
  v[1] = -v[2] * arm[0];
  sample(&s, 1e-3, perp_model_q0(s.model), v, NULL);
  below(gauge(&s, "impact.rel.err"), 1e-15, "painleve: angular momentum about the contact");
  const double pn = v[1] - v0[1], pt = v[0] - v0[0];
  ok(pn > 0 && fabs(pt) <= 2.2 * pn, "painleve: impulse in the cone");
  perp_scene_destroy(&s);
}

/* first domino: t = integral of d theta / omega with energy conservation, by Simpson's rule */
static void dominoes(void)
{
  const double h = 0.05, d = 0.008, g = 9.81, w0 = 6, end = asin(0.02 / h);
  const double arm = hypot(h, d) / 2, start = atan2(d, h); /* of the centre, behind the hinge */
  const double I = (h * h + d * d) / 3;                    /* per mass, about the edge */
  enum { N = 2000 };
  double t = 0;
  for (int i = 0; i <= N; i++) {
    const double a = end * i / N;
    const double w = sqrt(w0 * w0 + 2 * g * arm * (cos(start) - cos(a - start)) / I);
    t += (i == 0 || i == N ? 1 : i % 2 == 1 ? 4 : 2) / w;
  }
  t *= end / (3 * N);
  near(t, 0.07168343798470930929, 0, 1e-13, "dominoes: time of the first impact by quadrature");

  /* the table of the scene is that of the reference file */
  perp_scene s;
  open_scene("dominoes", &s);
  char path[512], line[512];
  snprintf(path, sizeof path, "%s/tests/data/reference/C13_domino_train.csv",
           getenv("PERP_SOURCE"));
  FILE *in = fopen(path, "r");
  if (in == NULL || fgets(line, sizeof line, in) == NULL) bail("cannot read %s", path);
  double v[90] = { 0 };
  const double *q = perp_model_q0(s.model);
  sample(&s, 0, q, v, NULL);
  int rows = 0;
  for (int k; fgets(line, sizeof line, in) != NULL; rows++) {
    if (sscanf(line, "%d,%lf", &k, &t) != 2) bail("bad row %s", line);
    v[3 * k + 2] = -1; /* domino k + 1 of the file starts to move */
    sample(&s, t, q, v, NULL);
  }
  fclose(in);
  ok(rows == 29, "dominoes: 29 impacts in the file");
  below(gauge(&s, "event.err"), 1e-15, "dominoes: the times of the scene are those of the file");
  perp_scene_destroy(&s);
}

/* ---- statics ---- */

static double critical(double (*margin)(int, double, double), int n, double fixed, bool thickness)
{
  double lo = 0.01, hi = 1;
  for (int i = 0; i < 60; i++) {
    const double x = (lo + hi) / 2;
    const bool stands = thickness ? margin(n, x, fixed) > 0 : margin(n, fixed, x) > 0;
    if (stands)
      hi = x;
    else
      lo = x;
  }
  return hi;
}

static void statics(void)
{
  /* thresholds of another program: bisection with a linear program, accurate to 1e-6 */
  static const struct {
    int n;
    double t, mu;
  } arches[] = { { 7, 0.095703, 0.299827 },
                 { 9, 0.101525, 0.308988 },
                 { 11, 0.104589, 0.307033 },
                 { 21, 0.106695, 0.308988 },
                 { 41, 0.107286, 0.309214 } };
  for (size_t i = 0; i < sizeof arches / sizeof *arches; i++) {
    near(critical(perp_arch_margin, arches[i].n, 20, true), arches[i].t, 2e-6, 0,
         "arch of %d: critical thickness", arches[i].n);
    near(critical(perp_arch_margin, arches[i].n, 0.2, false), arches[i].mu, 2e-6, 0,
         "arch of %d: critical friction", arches[i].n);
  }
  near(perp_card_house_mu(M_PI / 6, 1, 1e-9), tan(M_PI / 6) / 2, 1e-8, 0,
       "thin cards: mu = tan(theta) / 2");

  const double triangle[6] = { 3, 1, 6, 1, 3, 5 }; /* legs 3 and 4 */
  double area, centroid[3], polar;
  perp_polygon_moments(3, triangle, &area, centroid, &polar);
  near(area, 6, 1e-14, 0, "triangle: area");
  near(centroid[0], 4, 1e-14, 0, "triangle: centroid");
  near(centroid[1], 1 + 4.0 / 3, 1e-14, 0, "triangle: centroid");
  near(polar, 3 * 4 * (9 + 16) / 36.0, 1e-13, 0, "triangle: b h (b^2 + h^2) / 36");

  /* a prism in space: against perp_mass_polytope on its triangles */
  perp_scene s;
  open_scene("wedge:angle=25deg,size=0.7,mass=2", &s);
  const perp_mass *m = &perp_model_body(s.model, 0)->mass;
  const double w = 0.7 * tan(25 * M_PI / 180), y = 0.35;
  const double vertex[18] = { 0, -y, 0, w, -y, 0.7, -w, -y, 0.7, 0, y, 0, w, y, 0.7, -w, y, 0.7 };
  const int tri[24] = { 0, 1, 2, 3, 5, 4, 0, 4, 1, 0, 3, 4, 1, 5, 2, 1, 4, 5, 2, 3, 0, 2, 5, 3 };
  perp_mass want;
  if (perp_mass_polytope(&ctx, 2 / (w * 0.7 * 2 * y), vertex, 6, tri, 8, &want, centroid) !=
      PERP_OK)
    bail("%s", ctx.msg);
  near(want.mass, 2, 1e-14, 0, "prism: mass");
  for (int i = 0; i < 9; i++)
    near(m->inertia[i], want.inertia[i], 1e-15, 1e-13, "prism: inertia %d", i);
  perp_scene_destroy(&s);
}

/* ---- gauges ---- */

static void gauges(void)
{
  perp_scene s;
  open_scene("stack:boxes=2,dim=2,mass=3,settle=0.5", &s);
  double q[6], v[6] = { 0 };
  memcpy(q, perp_model_q0(s.model), sizeof q);
  /* impulses of a step of 0.1 s: the floor gives too much by 1 %, and before 0.5 s all is wrong */
  perp_contact c[3] = { { .body[0] = -1, .body[1] = 0, .n = { 0, 1 } },
                        { .body[0] = -1, .body[1] = 0, .n = { 0, 1 } },
                        { .body[0] = 1, .body[1] = 0, .n = { 0, -1 } } };
  double p[9] = { 0.2, 0.6 * 9.81 * 0.25, 0, -0.2, 0.6 * 9.81 * 0.76, 0, 0, -0.3 * 9.81, 0 };
  perp_step_info info = { .reason = PERP_EXACT, .n_contacts = 3, .contacts = c, .impulse = p };
  perp_step_info none = { .reason = PERP_EXACT };
  sample(&s, 0, q, v, NULL);
  sample(&s, 0.4, q, v, &none);
  ok(isnan(gauge(&s, "force.rel.err")) && isnan(gauge(&s, "pose.drift.max")),
     "before the settling time there is no figure");
  sample(&s, 0.5, q, v, &none);
  sample(&s, 0.6, q, v, &info);
  near(gauge(&s, "force.rel.err"), 0.01, 1e-13, 0, "force: 1 %% of the weight too much");
  below(gauge(&s, "pose.drift.max"), 0, "rest: nothing has moved");
  q[3] += 3e-3, q[4] -= 4e-3;
  v[5] = 0.2;
  sample(&s, 0.7, q, v, &info);
  near(gauge(&s, "pose.drift.max"), 5e-3, 1e-15, 0, "rest: displacement of a centre");
  near(gauge(&s, "creep.vel.max"), 0.1, 1e-15, 0, "rest: speed of the rim, half an edge away");
  q[2] = 0.1;
  sample(&s, 0.8, q, v, &info);
  near(gauge(&s, "pose.drift.max"), sin(0.05), 1e-14, 0, "rest: a turn counts at half an edge");
  for (int i = 0; i < s.n_gauges; i++)
    if (s.gauge[i].restart != NULL) s.gauge[i].restart(s.gauge[i].user);
  ok(isnan(gauge(&s, "force.rel.err")) && isnan(gauge(&s, "creep.vel.max")), "a run starts afresh");
  v[0] = nan("");
  sample(&s, 0.5, q, v, NULL);
  sample(&s, 0.6, q, v, &info);
  v[0] = 0;
  sample(&s, 0.7, q, v, &info);
  ok(isnan(gauge(&s, "creep.vel.max")), "a NaN stays");
  perp_scene_destroy(&s);

  open_scene("arch:thickness=0.05", &s);
  double *arch = malloc((size_t)perp_model_nq(s.model) * sizeof *arch);
  double *still = calloc((size_t)perp_model_nv(s.model), sizeof *still);
  if (arch == NULL || still == NULL) bail("no memory");
  memcpy(arch, perp_model_q0(s.model), (size_t)perp_model_nq(s.model) * sizeof *arch);
  sample(&s, 0, arch, still, NULL);
  near(gauge(&s, "verdict.err"), 1, 0, 0, "verdict: it should fall and stands");
  arch[1] -= 0.1;
  sample(&s, 1, arch, still, NULL);
  near(gauge(&s, "verdict.err"), 0, 0, 0, "verdict: it falls");
  free(arch);
  free(still);
  perp_scene_destroy(&s);

  /* a rod on its limit: 2 kg, 1 m, 0.7 rad below the horizontal, at rest three quarters of a second
   * after it has come down at 0.46 s */
  open_scene("stop", &s);
  double hold[7] = { 0, 0, 0, 1 }, no[6] = { 0 };
  for (int i = 0; i <= 140; i++) {
    const double moment = -9.81 * cos(0.7) * (i == 50 ? 3 : i == 130 ? 1.25 : 1);
    const perp_step_info step = { .reason = PERP_EXACT, .drive = &moment };
    sample(&s, 0.01 * i, hold, no, i > 0 ? &step : NULL);
  }
  near(gauge(&s, "force.rel.err"), 0.25, 1e-14, 0, "moment of a limit: the largest error at rest");
  perp_scene_destroy(&s);

  open_scene("incline:theta=30deg,mu=0.3,dim=2", &s);
  double x[3], u[3];
  for (int i = 0; i <= 10; i++) {
    truth(&s, 0.1 * i, x, u);
    u[0] *= 1.02, u[1] *= 1.02;
    sample(&s, 0.1 * i, x, u, NULL);
  }
  near(gauge(&s, "accel.rel.err"), 0.02, 1e-13, 0, "acceleration: 2 %% too fast");
  perp_scene_destroy(&s);

  open_scene("bouncing-ball:e=0.5,dim=2,impacts=3", &s);
  for (int i = 0; i <= 130; i++) {
    truth(&s, 0.01 * i, x, u);
    sample(&s, 0.01 * i, x, u, NULL);
  }
  /* seen at the samples 0.46, 0.91, 1.13 after 0.45152, 0.90305, 1.12881 */
  near(gauge(&s, "event.err"), 0.46 - 0.4515236409857309, 1e-14, 0, "events: the latest one");
  below(gauge(&s, "apex.rel.err"), 0.005, "apex: of the exact motion, sampled at 10 ms");
  perp_scene_destroy(&s);
  open_scene("bouncing-ball:e=0.5,dim=2,impacts=3", &s);
  truth(&s, 0, x, u);
  for (int i = 0; i <= 130; i++) sample(&s, 0.01 * i, x, u, NULL);
  ok(gauge(&s, "event.err") == HUGE_VAL, "events: a ball that never falls has missed them");
  perp_scene_destroy(&s);
}

/* Parabolas whose highest points are `factor` [n] times those of a ball with e, then rest on the
 * floor (`rests`) or a fall through it, until t_end, sampled each 1 ms. */
static void bounce(perp_scene *s, double e, int n, const double *factor, bool rests, double t_end)
{
  const double g = 9.81, h = 1, radius = 0.1;
  double start = 0, height = h, up = 0; /* of the flight: its time, highest point, speed upwards */
  int flight = 0;
  for (int i = 0; i <= (int)(t_end / 1e-3); i++) {
    const double t = 1e-3 * i;
    double q[3] = { 0, radius, 0 }, v[3] = { 0 };
    while (flight <= n && t >= start + (up + sqrt(2 * g * height)) / g) {
      start += (up + sqrt(2 * g * height)) / g;
      flight++;
      height = flight <= n ? factor[flight - 1] * pow(e, 2 * flight) * h : 0;
      up = sqrt(2 * g * height);
    }
    const double at = t - start;
    if (flight <= n) {
      q[1] += (flight == 0 ? h : 0) + up * at - g * at * at / 2;
      v[1] = up - g * at;
    } else if (!rests)
      q[1] -= at, v[1] = -1;
    sample(s, t, q, v, NULL);
  }
}

/* Every bounce counts, and which way it is off. */
static void every_bounce(void)
{
  static const struct {
    const char *what;
    double e;
    int n;
    double factor[8], t_end;
    bool rests;
    double gain, loss; /* relative to the first bounce */
  } rows[] = {
    { "as they should be", 1, 5, { 1, 1, 1, 1, 1 }, 4.5, true, 0, 0 },
    { "as they should be", 0.8, 6, { 1, 1, 1, 1, 1, 1 }, 2.9, true, 0, 0 },
    { "the first too high", 0.8, 3, { 1.1, 1, 1 }, 1.8, true, 0.1, 0 },
    { "right at first, the third too high", 0.8, 5, { 1, 1, 1.3, 1, 1 }, 2.4, true, 0.12288, 0 },
    { "right at first, the third too low", 0.8, 5, { 1, 1, 0.7, 1, 1 }, 2.4, true, 0, 0.12288 },
    { "higher and higher", 1, 5, { 0.999, 1.278, 1.281, 1.499, 1.671 }, 5.1, true, 0.671, 0.001 },
    { "it sticks after the first", 0.8, 1, { 1 }, 2.5, true, 0, 0.64 },
    { "it sticks after the third", 1, 3, { 1, 1, 1 }, 5, true, 0, 1 },
    { "it falls through the floor after the second", 1, 2, { 1, 1 }, 5, false, 0, 1 },
    { "it never bounces", 0.8, 0, { 0 }, 2.5, true, 0, 1 },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    perp_scene s;
    char text[64];
    snprintf(text, sizeof text, "bouncing-ball:dim=2,e=%g", rows[i].e);
    open_scene(text, &s);
    bounce(&s, rows[i].e, rows[i].n, rows[i].factor, rows[i].rests, rows[i].t_end);
    const char *what = rows[i].what;
    near(gauge(&s, "apex.rel.gain"), rows[i].gain, 1e-5, 0, "bounces: %s: gain", what);
    near(gauge(&s, "apex.rel.loss"), rows[i].loss, 1e-5, 0, "bounces: %s: loss", what);
    near(gauge(&s, "apex.rel.err"), fmax(rows[i].gain, rows[i].loss), 1e-5, 0,
         "bounces: %s: largest error", what);
    perp_scene_destroy(&s);
  }
  perp_scene s;
  open_scene("bouncing-ball:dim=2,e=1", &s);
  bounce(&s, 1, 5, (const double[]){ 1, 1, 1, 1, 1 }, true, 0.5);
  ok(isnan(gauge(&s, "apex.rel.err")), "bounces: none before the first has turned");
  perp_scene_destroy(&s);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  incline();
  rolling();
  bouncing();
  every_bounce();
  impacts();
  oscillator();
  wheel();
  painleve();
  dominoes();
  statics();
  gauges();
  return tap_done();
}
