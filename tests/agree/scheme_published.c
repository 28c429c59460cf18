/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time-stepping schemes of engines against their publications, step by step to rounding: each one
 * once more, plainly, for bodies in the plane that touch.  Positions are positions here,
 * multipliers and penalties are forces where the paper has forces; perp writes all of them in
 * velocities and impulses.
 *
 * Given are the contacts of each step (pair, normal, gap, place), as perp has found them at its
 * start, and that within a step the normal and the arms stay: a gap changes by n . (displacement
 * of b less that of a).  Extensions that no paper has are the same on both sides: what is open may
 * close (C / h), and restitution of those that have none (once, at the end). */
#include "models/multibody/model_private.h"
#include "tests/run_model.h"

static perp_ctx ctx;

enum { BODIES = 2, POINTS = 16 };
static const double G = 9.81, THRESHOLD = 0.01;

typedef struct body {
  double m, I, q[3], v[3];
} body;

typedef struct point {
  uint64_t id;
  int body[2];
  double n[2], t[2], r[2][2], gap, mu, e;
  double An, At;   /* 1 / effective mass */
  double approach; /* n . u at the start of the step */
  double pn, pt;   /* impulses, or for xpbd lambda = h p, for avbd forces */
  double total;    /* normal impulse of the step */
  double kn, kt;   /* N/m, penalties of avbd */
} point;

typedef struct world {
  int bodies, points;
  body b[BODIES];
  point p[POINTS];
} world;

/* ---- shared ---- */

/* d . (what of b less that of a): of velocities or displacements x[3 bodies] */
static double along(const point *p, const double d[2], double x[][3])
{
  double sum = 0;
  for (int s = 0; s < 2; s++) {
    if (p->body[s] < 0) continue;
    const double *y = x[p->body[s]], *r = p->r[s];
    sum += (s == 0 ? -1 : 1) * (d[0] * y[0] + d[1] * y[1] + (r[0] * d[1] - r[1] * d[0]) * y[2]);
  }
  return sum;
}

static void push(const world *w, const point *p, const double d[2], double size, double x[][3])
{
  for (int s = 0; s < 2; s++) {
    if (p->body[s] < 0) continue;
    const body *b = &w->b[p->body[s]];
    const double signed_size = s == 0 ? -size : size, *r = p->r[s];
    x[p->body[s]][0] += d[0] * signed_size / b->m;
    x[p->body[s]][1] += d[1] * signed_size / b->m;
    x[p->body[s]][2] += (r[0] * d[1] - r[1] * d[0]) * signed_size / b->I;
  }
}

static double inverse_mass(const world *w, const point *p, const double d[2])
{
  double sum = 0;
  for (int s = 0; s < 2; s++) {
    if (p->body[s] < 0) continue;
    const body *b = &w->b[p->body[s]];
    const double arm = p->r[s][0] * d[1] - p->r[s][1] * d[0];
    sum += 1 / b->m + arm * arm / b->I;
  }
  return sum;
}

/* velocities as one table */
static void get(const world *w, double v[][3])
{
  for (int i = 0; i < w->bodies; i++) memcpy(v[i], w->b[i].v, sizeof w->b[i].v);
}

static void put(world *w, double v[][3])
{
  for (int i = 0; i < w->bodies; i++) memcpy(w->b[i].v, v[i], sizeof w->b[i].v);
}

static void gravity(const world *w, double h, double v[][3])
{
  for (int i = 0; i < w->bodies; i++) v[i][1] -= h * G;
}

static void move(world *w, double h, double v[][3])
{
  for (int i = 0; i < w->points; i++) w->p[i].gap += h * along(&w->p[i], w->p[i].n, v);
  for (int i = 0; i < w->bodies; i++)
    for (int k = 0; k < 3; k++) w->b[i].q[k] += h * v[i][k];
}

/* positions and gaps by dx; velocities are what has moved */
static void displace(world *w, double h, double dx[][3])
{
  move(w, 1, dx);
  for (int i = 0; i < w->bodies; i++)
    for (int k = 0; k < 3; k++) w->b[i].v[k] = dx[i][k] / h;
}

static void warm(world *w, double v[][3])
{
  for (int i = 0; i < w->points; i++) {
    push(w, &w->p[i], w->p[i].n, w->p[i].pn, v);
    push(w, &w->p[i], w->p[i].t, w->p[i].pt, v);
  }
}

static int end_of_pair(const world *w, int i)
{
  const uint64_t pair = perp_contact_pair(w->p[i].id);
  while (i < w->points && perp_contact_pair(w->p[i].id) == pair) i++;
  return i;
}

/* Catto 2006 and solver2d: accumulated impulses are clamped, normals of a pair first, then
 * friction. bias, mass scale and impulse scale of each contact; NULL: 1 and 0. */
static void sweep(world *w, const double *bias, const double *mass, const double *decay,
                  double v[][3])
{
  for (int i = 0, end; i < w->points; i = end) {
    end = end_of_pair(w, i);
    for (int k = i; k < end; k++) {
      point *p = &w->p[k];
      const double before = p->pn, scale = mass != NULL ? mass[k] : 1;
      const double change = -scale / p->An * (along(p, p->n, v) + bias[k]) -
                            (decay != NULL ? decay[k] * before : 0);
      p->pn = fmax(0, before + change);
      push(w, p, p->n, p->pn - before, v);
    }
    for (int k = i; k < end; k++) {
      point *p = &w->p[k];
      const double before = p->pt, bound = p->mu * p->pn;
      p->pt = fmin(fmax(before - along(p, p->t, v) / p->At, -bound), bound);
      push(w, p, p->t, p->pt - before, v);
    }
  }
}

/* Restitution of impulses: the bias of a contact that closes in this step, fast enough. */
static void rebound_bias(const world *w, double h, double v[][3], double *bias)
{
  for (int i = 0; i < w->points; i++) {
    const point *p = &w->p[i];
    if (p->e > 0 && p->approach < -THRESHOLD && p->gap + h * along(p, p->n, v) <= 0)
      bias[i] = p->e * p->approach;
  }
}

/* solver2d, apply restitution: once, at the end */
static void rebound(world *w, double v[][3])
{
  for (int i = 0; i < w->points; i++) {
    point *p = &w->p[i];
    if (!(p->e > 0 && p->approach < -THRESHOLD && p->total > 0)) continue;
    const double change = fmax(-(along(p, p->n, v) + p->e * p->approach) / p->An, -p->total);
    push(w, p, p->n, change, v);
    p->pn = fmax(0, p->pn + change);
  }
}

/* ---- sequential impulses ---- */

/* Catto 2006 (Box2D-Lite): 0.2 of what is deeper than the slop is fed back. */
static void baumgarte(world *w, double h)
{
  double v[BODIES][3], bias[POINTS];
  get(w, v);
  gravity(w, h, v);
  for (int i = 0; i < w->points; i++)
    bias[i] = w->p[i].gap > 0 ? w->p[i].gap / h : 0.2 / h * fmin(0, w->p[i].gap + 0.005);
  rebound_bias(w, h, v, bias);
  warm(w, v);
  for (int k = 0; k < 10; k++) sweep(w, bias, NULL, NULL, v);
  move(w, h, v);
  put(w, v);
}

/* The velocity of both others: no feedback. */
static void unbiased(world *w, double h, double v[][3])
{
  double bias[POINTS];
  get(w, v);
  gravity(w, h, v);
  for (int i = 0; i < w->points; i++) bias[i] = fmax(0, w->p[i].gap) / h;
  rebound_bias(w, h, v, bias);
  warm(w, v);
  for (int k = 0; k < 10; k++) sweep(w, bias, NULL, NULL, v);
}

/* The same without feedback; a second velocity, cold, corrects. */
static void split(world *w, double h)
{
  double v[BODIES][3], u[BODIES][3] = { { 0 } }, s[POINTS] = { 0 };
  unbiased(w, h, v);
  for (int k = 0; k < 10; k++)
    for (int i = 0; i < w->points; i++) {
      const point *p = &w->p[i];
      if (p->gap > 0) continue;
      const double before = s[i];
      s[i] = fmax(0, before - (along(p, p->n, u) + 0.2 / h * fmin(0, p->gap + 0.005)) / p->An);
      push(w, p, p->n, s[i] - before, u);
    }
  put(w, v);
  for (int i = 0; i < w->bodies; i++)
    for (int k = 0; k < 3; k++) u[i][k] += v[i][k];
  move(w, h, u);
}

/* solver2d PGS NGS: positions move, then passes over positions that clamp nothing but the sign of
 * the error. */
static void ngs(world *w, double h)
{
  double v[BODIES][3];
  unbiased(w, h, v);
  move(w, h, v);
  put(w, v);
  for (int k = 0; k < 4; k++) {
    double dq[BODIES][3] = { { 0 } };
    for (int i = 0; i < w->points; i++) {
      const point *p = &w->p[i];
      const double C = 0.2 * fmin(0, p->gap + along(p, p->n, dq) + 0.005);
      push(w, p, p->n, -C / p->An, dq);
    }
    move(w, 1, dq);
  }
}

/* ---- substeps ---- */

/* Catto 2024, solver2d, solve_soft_step.c: mass and impulse scale of soft contacts, twice the
 * frequency against what does not move, impulses kept from substep to substep, a relaxing sweep. */
static void soft(world *w, double whole)
{
  enum { SUBSTEPS = 4 };
  const double h = whole / SUBSTEPS, zeta = 10, push_speed = 4;
  double v[BODIES][3], bias[POINTS], mass[POINTS], decay[POINTS];
  get(w, v);
  for (int part = 0; part < SUBSTEPS; part++) {
    gravity(w, h, v);
    warm(w, v);
    for (int relax = 0; relax < 2; relax++) {
      for (int i = 0; i < w->points; i++) {
        const point *p = &w->p[i];
        const bool fixed = p->body[0] < 0 || p->body[1] < 0;
        const double omega = 2 * M_PI * fmin(fixed ? 60 : 30, 0.25 / h);
        const double c = h * omega * (2 * zeta + h * omega);
        bias[i] = 0, mass[i] = 1, decay[i] = 0;
        if (p->gap > 0) {
          bias[i] = p->gap / h;
        } else if (!relax) {
          bias[i] = fmax(omega / (2 * zeta + h * omega) * p->gap, -push_speed);
          mass[i] = c / (1 + c), decay[i] = 1 / (1 + c);
        }
      }
      sweep(w, bias, mass, decay, v);
      if (!relax) move(w, h, v);
    }
    for (int i = 0; i < w->points; i++) w->p[i].total += w->p[i].pn;
  }
  rebound(w, v);
  put(w, v);
}

/* Macklin et al. 2019, algorithm 1 with positions: x~ = x + h v + h^2 g, one sweep of dx = -M^-1
 * J' C / A from lambda = 0, v = (x - x_0) / h; friction is the projection of the tangential
 * displacement onto the disk of mu lambda_n. */
static void small_steps(world *w, double whole)
{
  enum { SUBSTEPS = 20 };
  const double h = whole / SUBSTEPS;
  for (int part = 0; part < SUBSTEPS; part++) {
    double dx[BODIES][3];
    for (int i = 0; i < w->bodies; i++)
      for (int k = 0; k < 3; k++) dx[i][k] = h * (w->b[i].v[k] - (k == 1 ? h * G : 0));
    for (int i = 0, end; i < w->points; i = end) {
      end = end_of_pair(w, i);
      for (int k = i; k < end; k++) {
        point *p = &w->p[k];
        p->pn = fmax(0, -(p->gap + along(p, p->n, dx)) / p->An);
        push(w, p, p->n, p->pn, dx);
      }
      for (int k = i; k < end; k++) {
        point *p = &w->p[k];
        const double bound = p->mu * p->pn;
        p->pt = fmin(fmax(-along(p, p->t, dx) / p->At, -bound), bound);
        push(w, p, p->t, p->pt, dx);
      }
    }
    for (int i = 0; i < w->points; i++) w->p[i].total += w->p[i].pn / h;
    displace(w, h, dx);
  }
  double v[BODIES][3];
  get(w, v);
  rebound(w, v);
  put(w, v);
}

/* PhysX 5, eTGS, as its defaults are: four sweeps over the time of the step, all gravity before the
 * first one, impulses of the whole step; then one without feedback. */
static void temporal_steps(world *w, double whole, bool each)
{
  enum { SUBSTEPS = 4 };
  const double h = whole / SUBSTEPS;
  double v[BODIES][3], bias[POINTS];
  bool bounces[POINTS];
  get(w, v);
  gravity(w, each ? h : whole, v);
  for (int i = 0; i < w->points; i++) {
    point *p = &w->p[i];
    p->pn = p->pt = 0;
    bounces[i] = p->e > 0 && p->approach < -THRESHOLD && p->gap + whole * along(p, p->n, v) <= 0;
  }
  for (int part = 0; part <= SUBSTEPS; part++) {
    const double back = part < SUBSTEPS ? 0.8 : 0;
    if (each && part > 0 && part < SUBSTEPS) gravity(w, h, v);
    for (int i = 0; i < w->points; i++) {
      const point *p = &w->p[i];
      bias[i] = bounces[i] ? p->e * p->approach : (p->gap > 0 ? 1 : back) * p->gap / h;
    }
    sweep(w, bias, NULL, NULL, v);
    if (part < SUBSTEPS) move(w, h, v);
  }
  put(w, v);
}

static void temporal(world *w, double whole)
{
  temporal_steps(w, whole, false);
}

static void temporal_each(world *w, double whole)
{
  temporal_steps(w, whole, true);
}

/* Mueller et al. 2020, algorithm 2, one iteration: per contact the gap, then static friction where
 * lambda_t < mu lambda_n; velocities from displacements; per contact dynamic friction (30), then
 * restitution (34).  (30) as printed, min(h mu |f_n|, |v_t|) as a change of velocity, has the unit
 * of an impulse on its left: here the impulse is mu lambda_n / h at most. */
static void xpbd(world *w, double whole)
{
  enum { SUBSTEPS = 20 };
  const double h = whole / SUBSTEPS;
  for (int part = 0; part < SUBSTEPS; part++) {
    double dx[BODIES][3], v[BODIES][3] = { { 0 } }, before[BODIES][3];
    get(w, v);
    gravity(w, h, v);
    memcpy(before, v, sizeof v);
    for (int i = 0; i < w->bodies; i++)
      for (int k = 0; k < 3; k++) dx[i][k] = h * v[i][k];
    for (int i = 0; i < w->points; i++) {
      point *p = &w->p[i];
      p->pn = 0;
      const double C = p->gap + along(p, p->n, dx);
      if (C >= 0) continue;
      p->pn = -C / p->An;
      push(w, p, p->n, p->pn, dx);
      const double lambda_t = -along(p, p->t, dx) / p->At;
      if (fabs(lambda_t) < p->mu * p->pn) push(w, p, p->t, lambda_t, dx);
    }
    displace(w, h, dx);
    get(w, v);
    for (int i = 0; i < w->points; i++) {
      const point *p = &w->p[i];
      if (!(p->pn > 0)) continue;
      const double vt = along(p, p->t, v), most = p->mu * p->pn / h;
      push(w, p, p->t, -copysign(fmin(most, fabs(vt) / p->At), vt), v);
      const double vn = along(p, p->n, v), was = along(p, p->n, before);
      const double leaves = fabs(was) > fmax(THRESHOLD, 2 * G * h) ? fmax(-p->e * was, 0) : 0;
      push(w, p, p->n, (leaves - vn) / p->An, v);
    }
    put(w, v);
  }
}

/* ---- descent ---- */

static void solve3(double H[3][3], double g[3])
{
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) {
      const double factor = k == i ? 0 : H[k][i] / H[i][i];
      for (int l = 0; l < 3; l++) H[k][l] -= factor * H[i][l];
      g[k] -= factor * g[i];
    }
  for (int i = 0; i < 3; i++) g[i] /= H[i][i];
}

/* Force of a contact along n or t, lambda - k C within its bounds, C with alpha of the
 * error of the start left. */
static double descent_force(const point *p, int tangent, double dx[][3], double lambda_n)
{
  if (tangent) {
    const double bound = p->mu * lambda_n;
    return fmin(fmax(p->pt - p->kt * along(p, p->t, dx), -bound), bound);
  }
  const double C = along(p, p->n, dx) + (p->gap > 0 ? p->gap : 0.05 * p->gap);
  return fmax(0, p->pn - p->kn * C);
}

/* Giles, Diaz, Yuksel 2025, algorithm 1, forces in N, penalties in N/m: alpha 0.95, gamma 0.99,
 * ten iterations from the inertial place; a step of 1 effective mass / h^2 for the first penalty,
 * and 30 of them per size of the model for growth. */
static void descent(world *w, double h, double size)
{
  double dx[BODIES][3], y[BODIES][3];
  for (int i = 0; i < w->points; i++) {
    point *p = &w->p[i];
    p->pn *= 0.95 * 0.99, p->pt *= 0.95 * 0.99;
    p->kn = fmax(0.99 * p->kn, 1 / (p->An * h * h));
    p->kt = fmax(0.99 * p->kt, 1 / (p->At * h * h));
  }
  for (int i = 0; i < w->bodies; i++)
    for (int k = 0; k < 3; k++) dx[i][k] = y[i][k] = h * (w->b[i].v[k] - (k == 1 ? h * G : 0));
  for (int sweep = 0; sweep < 10; sweep++) {
    double bound_by[POINTS]; /* lambda_n of the iteration before */
    for (int i = 0; i < w->points; i++) bound_by[i] = w->p[i].pn;
    for (int b = 0; b < w->bodies; b++) {
      const double M[3] = { w->b[b].m, w->b[b].m, w->b[b].I };
      double H[3][3] = { { 0 } }, g[3];
      for (int k = 0; k < 3; k++) H[k][k] = M[k] / (h * h), g[k] = -H[k][k] * (dx[b][k] - y[b][k]);
      for (int i = 0; i < w->points; i++)
        for (int s = 0; s < 2; s++)
          for (int tangent = 0; tangent < 2 && w->p[i].body[s] == b; tangent++) {
            const point *p = &w->p[i];
            const double *d = tangent ? p->t : p->n, sign = s == 0 ? -1 : 1;
            const double J[3] = { sign * d[0], sign * d[1],
                                  sign * (p->r[s][0] * d[1] - p->r[s][1] * d[0]) };
            const double f = descent_force(p, tangent, dx, bound_by[i]);
            /* a contact that neither presses nor has a multiplier is no part of the problem */
            const bool acts = f != 0 || (tangent ? p->pt : p->pn) != 0;
            for (int k = 0; k < 3; k++) {
              g[k] += J[k] * f;
              for (int l = 0; l < 3 && acts; l++)
                H[k][l] += (tangent ? p->kt : p->kn) * J[k] * J[l];
            }
          }
      solve3(H, g);
      for (int k = 0; k < 3; k++) dx[b][k] += g[k];
    }
    for (int i = 0; i < w->points; i++) {
      point *p = &w->p[i];
      const double fn = descent_force(p, 0, dx, 0), ft = descent_force(p, 1, dx, bound_by[i]);
      const double C = along(p, p->n, dx) + (p->gap > 0 ? p->gap : 0.05 * p->gap);
      if (fn > 0)
        p->kn = fmin(p->kn + 30 / (p->An * h * h) * fabs(C) / size, 1e6 / (p->An * h * h));
      if (fabs(ft) < p->mu * bound_by[i])
        p->kt = fmin(p->kt + 30 / (p->At * h * h) * fabs(along(p, p->t, dx)) / size,
                     1e6 / (p->At * h * h));
      p->pn = fn, p->pt = ft;
    }
  }
  displace(w, h, dx);
}

/* ---- scenes ---- */

/* Gaps that are closed to rounding have either sign: the discs end before they bounce again. */
typedef struct scene {
  const char *name;
  int n;
  struct {
    double mu, e, end; /* end: s */
  } of;
  struct {
    double m, I, x, y, angle, vx, vy, w, half[2]; /* half[1] = 0: a disc */
  } body[BODIES];
} scene;

static const scene scenes[] = {
  { "a disc that slides, then rolls",
    1,
    { 0.3, 0, 0.4 },
    { { 2, 0.03, 0, 0.2 - 1e-6, 0, 0.3, 0, 0, { 0.2 } } } },
  { "a box that falls onto its corner",
    1,
    { 0.4, 0, 0.4 },
    { { 1.5, 0.02, 0, 0.165, 0.3, 1, -0.5, 2, { 0.2, 0.1 } } } },
  { "a box on a box, off its centre",
    2,
    { 0.5, 0, 0.4 },
    { { 1, 0.02, 0, 0.1 - 1e-4, 0, 0, 0, 0, { 0.2, 0.1 } },
      { 5, 0.06, 0.07, 0.3 - 2e-4, 0, 0.4, 0, 0, { 0.15, 0.1 } } } },
  { "boxes that overlap",
    2,
    { 0.5, 0, 0.2 },
    { { 1, 0.02, 0, 0.088, 0, 0, 0, 0, { 0.2, 0.1 } },
      { 5, 0.06, 0.07, 0.278, 0, 0.4, 0, 0, { 0.15, 0.1 } } } },
  { "a disc that hits a disc",
    2,
    { 0.5, 0.5, 0.08 },
    { { 1, 0.02, 0, 0.2 - 1e-4, 0, 0, -0.4, 0, { 0.2 } },
      { 3, 0.05, 0.1, 0.585, 0, 0.2, -1, -4, { 0.2 } } } },
};

static perp_model *scene_model(const scene *s, world *w)
{
  perp_model *model = run_model(&ctx, 2);
  const perp_surface surface = { .mu = s->of.mu, .mu_dynamic = s->of.mu, .restitution = s->of.e };
  perp_shape_def ground = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface };
  perp_model_gravity(model, G);
  run_shape(&ctx, model, ground);
  *w = (world){ .bodies = s->n };
  for (int i = 0; i < s->n; i++) {
    perp_body_def def = { .mass = { .mass = s->body[i].m, .inertia[8] = s->body[i].I },
                          .x = { s->body[i].x, s->body[i].y },
                          .angle = s->body[i].angle,
                          .v = { s->body[i].vx, s->body[i].vy },
                          .w[2] = s->body[i].w };
    const bool disc = s->body[i].half[1] == 0;
    perp_shape_def shape = { .kind = disc ? PERP_SHAPE_SPHERE : PERP_SHAPE_BOX,
                             .radius = disc ? s->body[i].half[0] : 0,
                             .half = { disc ? 0 : s->body[i].half[0], s->body[i].half[1] },
                             .body = run_body(&ctx, model, def),
                             .surface = surface };
    run_shape(&ctx, model, shape);
    w->b[i] = (body){ .m = def.mass.mass,
                      .I = s->body[i].I,
                      .q = { def.x[0], def.x[1], def.angle },
                      .v = { def.v[0], def.v[1], def.w[2] } };
  }
  return run_finish(&ctx, model);
}

/* The contacts of a step; what they had in the step before by their identity. */
static void contacts(world *w, const perp_step_info *info)
{
  point old[POINTS];
  const int n = w->points;
  memcpy(old, w->p, sizeof old);
  double v[BODIES][3];
  get(w, v);
  w->points = info->n_contacts;
  if (w->points > POINTS) bail("too many contacts");
  for (int i = 0; i < w->points; i++) {
    const perp_contact *c = &info->contacts[i];
    point *p = &w->p[i];
    *p = (point){ .id = c->id,
                  .body = { c->body[0], c->body[1] },
                  .n = { c->n[0], c->n[1] },
                  .t = { -c->n[1], c->n[0] },
                  .gap = c->gap,
                  .mu = c->mu,
                  .e = c->e };
    for (int s = 0; s < 2; s++)
      for (int k = 0; k < 2 && c->body[s] >= 0; k++)
        p->r[s][k] = 0.5 * (c->p[0][k] + c->p[1][k]) - w->b[c->body[s]].q[k];
    p->An = inverse_mass(w, p, p->n);
    p->At = inverse_mass(w, p, p->t);
    p->approach = along(p, p->n, v);
    for (int k = 0; k < n; k++)
      if (old[k].id == c->id) {
        /* as a vector: the normal may have turned */
        const double P[2] = { old[k].pn * old[k].n[0] + old[k].pt * old[k].t[0],
                              old[k].pn * old[k].n[1] + old[k].pt * old[k].t[1] };
        p->pn = fmax(0, P[0] * p->n[0] + P[1] * p->n[1]);
        p->pt = P[0] * p->t[0] + P[1] * p->t[1];
        p->kn = old[k].kn;
        p->kt = old[k].kt;
      }
  }
}

static const struct published {
  const char *name;
  void (*step)(world *w, double h);
  const char *paper;
} published[] = { { "si-baumgarte", baumgarte, "Catto 2006" },
                  { "si-split", split, "Catto 2006" },
                  { "si-ngs", ngs, "solver2d" },
                  { "soft-step", soft, "solver2d" },
                  { "small-steps", small_steps, "Macklin et al. 2019" },
                  { "tgs", temporal, "PhysX 5" },
                  { "tgs:external=each", temporal_each, "PhysX 5" },
                  { "xpbd", xpbd, "Mueller et al. 2020" },
                  { "avbd", NULL, "Giles et al. 2025" } };

static void compare(const struct published *x, const scene *s, double h)
{
  const int steps = (int)(s->of.end / h + 0.5);
  if (x->step == NULL && s->of.e > 0) return; /* it has no restitution */
  world w;
  perp_model *model = scene_model(s, &w);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ x->name }, h);
  double off = 0, t = 0;
  int touching = 0;
  for (int i = 0; i < steps; i++) {
    perp_step_info info;
    const double *q, *v;
    perp_sim_state(sim, &t, &q,
                   &v); /* each step from the state of perp: rounding does not add up */
    for (int b = 0; b < s->n; b++) {
      memcpy(w.b[b].q, q + 3 * b, sizeof w.b[b].q);
      memcpy(w.b[b].v, v + 3 * b, sizeof w.b[b].v);
    }
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
    contacts(&w, &info);
    if (x->step != NULL)
      x->step(&w, h);
    else
      descent(&w, h, model->size);
    perp_sim_state(sim, &t, &q, &v);
    for (int b = 0; b < s->n; b++)
      for (int k = 0; k < 3; k++)
        off = fmax(off, fmax(fabs(q[3 * b + k] - w.b[b].q[k]), fabs(v[3 * b + k] - w.b[b].v[k])));
    touching += w.points > 0;
  }
  ok(touching > 0, "%s: %s: touches in %d steps", x->name, s->name, touching);
  below(off, 1e-12, "%s: as %s says, each of %d steps of %g s: %s", x->name, x->paper, steps, h,
        s->name);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof published / sizeof *published; i++)
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
      compare(&published[i], &scenes[k], 4e-3);
      compare(&published[i], &scenes[k], 1e-3);
    }
  return tap_done();
}
