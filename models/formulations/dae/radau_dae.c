/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Radau IIA of order 5 for the equations of constrained motion as a DAE (Hairer and Wanner, Solving
 * Ordinary Differential Equations II, sections IV.8 and VII.4-VII.6), in the form of Gear, Gupta
 * and Leimkuhler,
 *
 *      q' = N(q) (v + M^-1 J' mu),   M v' = f + J' lambda,   0 = J v,   0 = C(q),
 *
 * of index 2, or of index 1, with accelerations among the unknowns,
 *
 *      q' = N(q) v,   v' = a,   M a = f + J' lambda,   0 = J a + J' v,
 *
 * which drifts off C = 0 as its errors let it.  L-stable and stiffly accurate: C = 0 and J v = 0
 * hold at the ends of steps.  q and v are of order 5, lambda of order 3 in index 2 (Hairer and
 * Wanner II, section VII.4), of order 5 in index 1.
 *
 * The core is solvers/ode/radau.h, with Jacobians and factors on the graph of the model (local.h).
 * The numbers of q are, in each step, the increment d from its start, q = q0 [+] d; of rotations,
 * with w in the body frame,
 *
 *      d' = w + d x w / 2 + (1 - |d|/2 cot |d|/2) / |d|^2 d x (d x w).
 *
 * Dependent rows: 0 = J v + s (lambda - lambda_0) and 0 = C + s mu with s = 1e-9 h J M^-1 J' (or
 * 0.1 tol in the place of 1e-9), h the first step, and lambda_0 the answer of the KKT formulation
 * at the start of the step, which says what multipliers are that are not unique.  It moves the
 * velocities by 1e-9 of what forces change in a step.
 *
 * Error control (tol > 0): of q and v, the mean of squares; multipliers are not held to it. Steps
 * by the predictive controller of Gustafsson (section IV.8).  tol = 0: steps of h, stages solved to
 * round-off.  Dense output: the collocation polynomial, O(h^4) off within a step.
 *
 * Fails with PERP_MAX_ITER at fixed steps in which J loses rank: the Jacobian of the iteration is
 * one for all stages.
 *
 * Cost: 3 evaluations and two solves, one complex, per iteration; Jacobian and factors when they
 * must.  No allocation, but for new pivots of wide models (local.h). */
#include "models/stepping/stepper.h"
#include "models/stepping/implicit_step.h"
#include "solvers/ode/radau.h"

#include <float.h>
#include <string.h>

enum { FORM_GGL, FORM_INDEX1 };
static const char *const forms[] = { "ggl", "index1", NULL };

struct opts {
  double tol, h_min, h_max;
  int form;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, tol, 0, 0, 1, PERP_OPEN_MAX, "",
            "Error tolerance per step, relative to the size of the model, to one radian and to the "
            "speed. 0: fixed step."),
  PERP_REAL(struct opts, h_min, 1e-14, 0, HUGE_VAL, PERP_OPEN_MIN, "s",
            "Shortest step. The run ends when a shorter one would be needed."),
  PERP_REAL(struct opts, h_max, HUGE_VAL, 0, HUGE_VAL, PERP_OPEN_MIN, "s", "Longest step."),
  PERP_ENUM(struct opts, form, FORM_GGL, forms,
            "Form of the DAE. ggl: stabilized index 2 (Gear, Gupta, Leimkuhler). index1: "
            "constraints on accelerations."),
  PERP_OPTIONS_END
};

/* Parts of the bodies and of the joints. */
enum { PART_Q, PART_V, PART_A };
enum { PART_LAMBDA, PART_MU };

/* Of the rows, a part of J M^-1 J'; and what Newton's method may leave of the tolerance:
 * multipliers of dependent rows answer an error of the velocities by 1 / SOFT, and the more it must
 * be small. */
static const double SOFT = 1e-9, KAPPA = 1e-3;
static const double LOST =
    1e-7; /* of the size: a position error that the softness has left is no solution */

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  perp_implicit graph; /* its parts; it solves nothing */
  perp_radau radau;
  bool begun, refused, dense;        /* since the restart; the last trial; there is a last step */
  double t_start, h_start;           /* the last step */
  double h_next, h_last, error_last; /* of the controller; h_last 0: no step yet */
  double h_newton; /* longest that may converge: half of one that did not, a tenth more a step */
  double speed[2]; /* largest velocities so far, of translation and rotation */
  double *y, *f, *err; /* [graph.n] at the start */
  unsigned char *differential;
  double *qs, *vs, *ls;      /* [nq], [nv], [m] start of the last step */
  double *d, *v, *x, *z;     /* [nv] */
  double *accel;             /* [nv] at the start */
  double *lambda, *mu, *row; /* [m] */
  double *force, *soft;      /* [m] lambda at the start, s */
  double *about;             /* [m] lambda of the KKT system there */
} workspace;

static bool radau_dae_index1(const workspace *w)
{
  return w->o.form == FORM_INDEX1;
}

/* ---- the equations ---- */

/* The rate of the increment d [3] of a rotation with the angular velocity w [3]. */
static void radau_dae_rotation_rate(const double d[3], const double w[3], double rate[3])
{
  const double n2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], half = sqrt(n2) / 2;
  const double c = n2 < 1e-3 ? 1.0 / 12 + n2 / 720 + n2 * n2 / 30240 + n2 * n2 * n2 / 1209600
                             : (1 - half / tan(half)) / n2;
  double u[3];
  for (int i = 0; i < 3; i++)
    u[i] = d[(i + 1) % 3] * w[(i + 2) % 3] - d[(i + 2) % 3] * w[(i + 1) % 3];
  for (int i = 0; i < 3; i++)
    rate[i] = w[i] + u[i] / 2 +
              c * (d[(i + 1) % 3] * u[(i + 2) % 3] - d[(i + 2) % 3] * u[(i + 1) % 3]);
}

/* y' or the sides of 0 = ... , as the core asks; the model is evaluated at q0 [+] d. */
static bool radau_dae_f(void *user, double t, const double *y, double *f)
{
  workspace *w = user;
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int nv = model->nv, m = model->m;
  perp_implicit_get_body(&w->graph, y, PART_Q, w->d);
  perp_implicit_get_body(&w->graph, y, PART_V, w->v);
  perp_implicit_get_row(&w->graph, y, PART_LAMBDA, w->lambda);
  perp_model_retract(model, w->s.q, w->d, w->s.q1);
  if (!perp_all_finite(model->nq, w->s.q1)) return false;
  perp_constrained_at(k, t, w->s.q1);
  w->s.grid.count.rhs++;
  perp_eval_forces(k->e, model, t, w->v, true, k->f);
  if (m > 0) perp_blocks_Jt(&k->e->blocks, 1, w->lambda, k->f);
  memcpy(w->x, w->v, (size_t)nv * sizeof *w->x);
  if (radau_dae_index1(w)) {
    perp_implicit_get_body(&w->graph, y, PART_A, w->accel);
    perp_implicit_put_body(&w->graph, PART_V, w->accel, f);
    perp_blocks_M(&k->e->blocks, w->accel, w->z);
    for (int i = 0; i < nv; i++) w->z[i] = k->f[i] - w->z[i];
    perp_implicit_put_body(&w->graph, PART_A, w->z, f);
    perp_joints_bias(model, k->e, w->v, w->row);
    if (m > 0) perp_blocks_J(&k->e->blocks, 1, w->accel, w->row);
  } else {
    perp_blocks_Minv(&k->e->blocks, k->f, w->z);
    perp_implicit_put_body(&w->graph, PART_V, w->z, f);
    perp_implicit_get_row(&w->graph, y, PART_MU, w->mu);
    memset(w->d, 0, (size_t)nv * sizeof *w->d);
    if (m > 0) perp_blocks_Jt(&k->e->blocks, 1, w->mu, w->d);
    perp_blocks_Minv(&k->e->blocks, w->d, w->z);
    for (int i = 0; i < nv; i++) w->x[i] += w->z[i];
    for (int i = 0; i < m; i++) w->row[i] = -k->e->C[i] - w->soft[i] * w->mu[i];
    perp_implicit_put_row(&w->graph, PART_MU, w->row, f);
    perp_constrained_rate(k, w->v, w->row);
  }
  for (int i = 0; i < m; i++) w->row[i] = -w->row[i] - w->soft[i] * (w->lambda[i] - w->about[i]);
  perp_implicit_put_row(&w->graph, PART_LAMBDA, w->row, f);
  /* q' */
  perp_implicit_get_body(&w->graph, y, PART_Q, w->d);
  memcpy(w->z, w->x, (size_t)nv * sizeof *w->z);
  if (model->dim == 3)
    for (int b = 0; b < model->n_bodies; b++)
      radau_dae_rotation_rate(w->d + 6 * b + 3, w->x + 6 * b + 3, w->z + 6 * b + 3);
  perp_implicit_put_body(&w->graph, PART_Q, w->z, f);
  return perp_all_finite(w->graph.n, f);
}

/* ---- the start ---- */

/* Accelerations and multipliers at the state: `about`, about which the rows are soft, and at the
 * start of a motion the first values.  Where they are not known (singular positions) rows are soft
 * about 0. */
static bool radau_dae_about(workspace *w, double t)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int m = model->m;
  if (m == 0 && w->begun) return true;
  perp_constrained_at(k, t, w->s.q);
  perp_eval_forces(k->e, model, t, w->s.v, true, k->f);
  perp_joints_bias(model, k->e, w->s.v, k->c);
  for (int i = 0; i < m; i++) k->c[i] = -k->c[i];
  const bool solved = perp_constrained_solve(k, PERP_LEVEL_ACCELERATION, w->s.grid.h, w->s.v);
  if (k->status != PERP_OK || (!solved && !w->begun)) return false;
  for (int i = 0; i < m; i++) w->about[i] = solved ? k->lambda[i] : 0;
  k->reason = PERP_EXACT;
  if (w->begun) return true;
  memcpy(w->accel, k->a, (size_t)model->nv * sizeof *w->accel);
  memcpy(w->force, k->lambda, (size_t)m * sizeof *w->force);
  if (m > 0) perp_blocks_diagonal(&k->e->blocks, w->soft);
  const double part = fmax(SOFT, 0.1 * w->o.tol) * (radau_dae_index1(w) ? 1 : w->s.grid.h);
  for (int i = 0; i < m; i++) w->soft[i] = w->soft[i] > 0 ? part * w->soft[i] : 1;
  memset(w->y, 0, (size_t)w->graph.n * sizeof *w->y);
  if (radau_dae_index1(w)) perp_implicit_put_body(&w->graph, PART_A, w->accel, w->y);
  w->begun = true;
  return true;
}

/* Error levels of y and steps of its differences, for a step h. */
static void radau_dae_levels(workspace *w, double h)
{
  const perp_model *model = w->s.k.model;
  const double size = model->size > 0 ? model->size : 1, part = sqrt(DBL_EPSILON),
               tol = w->o.tol > 0 ? w->o.tol : 1;
  double now[2] = { 0 }, mass = 0;
  for (int b = 0; b < model->n_bodies; b++) {
    mass += model->inertia[b].mass / model->n_bodies;
    for (int i = 0; i < model->nvb; i++) {
      double *most = &now[i >= model->dim];
      const int at = b * model->nvb + i;
      *most = fmax(*most, fmax(fabs(w->s.v[at]), h * fabs(w->accel[at])));
    }
  }
  for (int i = 0; i < 2; i++) w->speed[i] = fmax(w->speed[i], now[i]);
  for (int i = 0; i < w->graph.n; i++) { /* multipliers: f is linear in them */
    w->radau.scale[i] = HUGE_VAL;
    w->radau.difference[i] = mass * size / (h * h) * part;
  }
  for (int b = 0; b < model->n_bodies; b++)
    for (int i = 0; i < model->nvb; i++) {
      const bool turns = i >= model->dim;
      const int at = w->graph.local.first[b] + i;
      const double reach = turns ? 1 : size;
      const double speed = w->speed[turns] > 0 ? w->speed[turns] : 1e-3 * reach / h;
      w->radau.scale[at] = tol * reach;
      w->radau.difference[at] = part * reach;
      w->radau.scale[at + model->nvb] = tol * speed;
      w->radau.difference[at + model->nvb] = part * fmax(speed, 1e-3 * reach / h);
      if (radau_dae_index1(w))
        w->radau.difference[at + 2 * model->nvb] = part * fmax(speed, reach) / h;
    }
}

/* ---- a step ---- */

/* Z of a step from the state, q1 and v1; *error of the tolerance. */
static perp_reason radau_dae_attempt(workspace *w, double t, double h, double *error)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  perp_radau *r = &w->radau;
  const int nv = model->nv;
  *error = 0;
  if (!radau_dae_about(w, t)) return k->reason;
  memset(w->z, 0, (size_t)nv * sizeof *w->z);
  perp_implicit_put_body(&w->graph, PART_Q, w->z, w->y);
  perp_implicit_put_body(&w->graph, PART_V, w->s.v, w->y);
  perp_implicit_put_row(&w->graph, PART_LAMBDA, w->force, w->y);
  if (!radau_dae_f(w, t, w->y, w->f)) return PERP_NOT_FINITE;
  perp_implicit_get_body(&w->graph, w->f, PART_V, w->accel);
  radau_dae_levels(w, h);
  const double tol = w->o.tol;
  const double enough = tol > 0 ? fmax(10 * DBL_EPSILON / tol, fmin(KAPPA, sqrt(tol))) : 0;
  const int64_t iterations = r->iterations;
  const int factorizations = r->factorizations;
  const bool first = r->h_past == 0;
  const perp_reason reason = perp_radau_solve(r, t, h, w->y, w->f, enough);
  w->s.grid.count.iterations += r->iterations - iterations;
  k->count.factorizations += r->factorizations - factorizations;
  if (reason < 0) return reason;
  if (tol > 0) {
    if (!perp_radau_error(r, t, h, w->y, w->f, false, w->err)) return PERP_NOT_FINITE;
    *error = perp_radau_norm(r, w->err);
    if (*error >= 1 && (first || w->refused)) {
      if (!perp_radau_error(r, t, h, w->y, w->f, true, w->err)) return PERP_NOT_FINITE;
      *error = perp_radau_norm(r, w->err);
    }
    if (isnan(*error)) return PERP_NOT_FINITE;
  }
  perp_implicit_get_body(&w->graph, r->z[2], PART_Q, w->d);
  perp_model_retract(model, w->s.q, w->d, w->s.q1);
  perp_implicit_get_body(&w->graph, r->z[2], PART_V, w->v);
  for (int i = 0; i < nv; i++) w->s.v1[i] = w->s.v[i] + w->v[i];
  if (!perp_all_finite(model->nq, w->s.q1) || !perp_all_finite(nv, w->s.v1)) return PERP_NOT_FINITE;
  return PERP_EXACT;
}

/* The step is one: what is kept of it. */
static void radau_dae_keep(workspace *w, double t, double h)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int m = model->m;
  memcpy(w->qs, w->s.q, (size_t)model->nq * sizeof *w->qs);
  memcpy(w->vs, w->s.v, (size_t)model->nv * sizeof *w->vs);
  memcpy(w->ls, w->force, (size_t)m * sizeof *w->ls);
  memcpy(w->s.lambda, w->force, (size_t)m * sizeof *w->force);
  for (int i = 0; i < w->graph.n; i++) w->y[i] += w->radau.z[2][i];
  perp_implicit_get_row(&w->graph, w->y, PART_LAMBDA, w->force);
  perp_radau_accept(&w->radau, h);
  perp_model_project(model, w->s.q1);
  perp_constrained_at(k, t + h, w->s.q1);
  k->drift = perp_worst(m, k->e->C);
  w->t_start = t;
  w->h_start = h;
  w->dense = true;
}

static perp_reason radau_dae_make_step(perp_stepper *s, double t, double h)
{
  workspace *w = (workspace *)s;
  double error;
  const perp_reason reason = radau_dae_attempt(w, t, h, &error);
  w->dense = false;
  if (reason > 0) radau_dae_keep(w, t, h);
  if (reason > 0 && !radau_dae_index1(w) && s->k.drift > LOST * s->k.model->size)
    return PERP_INACCURATE;
  return reason;
}

/* The step after one of h with this error (Gustafsson's predictive controller, Hairer and Wanner
 * II, section IV.8). */
static double radau_dae_control(workspace *w, double h, double error)
{
  enum { MOST = 10 };
  static const double safety = 0.9, shrink = 5, grow = 1.0 / 8;
  const double e = fmax(error, 1e-10);
  const double factor = safety * (2 * MOST + 1) / (2 * MOST + w->radau.newton);
  double by = fmax(grow, fmin(shrink, pow(e, 0.25) / factor));
  if (error >= 1) return h / by;
  if (w->h_last > 0)
    by = fmax(by,
              fmax(grow, fmin(shrink, w->h_last / h * pow(e * e / w->error_last, 0.25) / safety)));
  if (w->refused) by = fmax(by, 1);
  w->h_last = h;
  w->error_last = fmax(0.01, e);
  /* the factors serve again */
  const double next = h / by;
  return next >= h && next <= 1.2 * h ? h : next;
}

static perp_reason radau_dae_adaptive(workspace *w, double t_max)
{
  enum { REFUSALS = 100 };
  perp_time_grid *g = &w->s.grid;
  perp_reason reason = PERP_STALLED;
  w->refused = false;
  w->dense = false;
  for (int i = 0; i < REFUSALS; i++) {
    const double left = t_max - g->t;
    double h = fmin(fmin(w->h_next, w->h_newton), w->o.h_max), error;
    const bool last = left <= h * (1 + 1e-12);
    if (last)
      h = left;
    else if (left < 2 * h)
      h = left / 2;
    const double end = last ? t_max : g->t + h;
    if (!(end > g->t)) return PERP_STEP_TOO_SMALL;
    const bool cut = h < fmin(w->h_next, w->h_newton);
    reason = radau_dae_attempt(w, g->t, h, &error);
    if (w->s.k.status != PERP_OK || !w->begun) return reason;
    if (reason > 0 && error < 1) {
      const double next = radau_dae_control(w, h, error);
      w->h_next = cut ? fmax(next, w->h_next) : next;
      w->h_newton *= 1.1;
      radau_dae_keep(w, g->t, h);
      perp_time_grid_accept(g, end);
      return PERP_EXACT;
    }
    g->count.rejected++;
    w->h_next = reason < 0 ? h / 2 : w->h_last > 0 ? radau_dae_control(w, h, error) : h / 10;
    if (reason < 0) w->h_newton = w->h_next;
    w->refused = true;
    if (w->h_next < w->o.h_min) return reason < 0 ? reason : PERP_STEP_TOO_SMALL;
    reason = PERP_STALLED;
  }
  return reason;
}

static perp_status radau_dae_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *w = ws;
  perp_constrained *k = &w->s.k;
  if (w->o.tol == 0) return perp_stepper_step(ctx, ws, t_max, info);
  const double start = perp_constrained_clock(k);
  k->ctx = ctx;
  k->status = PERP_OK;
  k->reason = PERP_EXACT;
  info->reason = PERP_EXACT;
  if (t_max > w->s.grid.t) {
    info->reason = radau_dae_adaptive(w, t_max);
    if (k->status != PERP_OK) return k->status;
    if (info->reason > 0) {
      memcpy(w->s.q, w->s.q1, (size_t)k->model->nq * sizeof *w->s.q);
      memcpy(w->s.v, w->s.v1, (size_t)k->model->nv * sizeof *w->s.v);
    }
  }
  k->step_s += perp_constrained_clock(k) - start;
  k->count.reason = info->reason;
  info->drift_pos_pre = k->drift;
  info->lambda = w->s.lambda;
  return PERP_OK;
}

static perp_status radau_dae_dense(perp_ctx *ctx, void *ws, double t, double *q, double *v,
                                   double *lambda)
{
  workspace *w = ws;
  const perp_model *model = w->s.k.model;
  const int nv = model->nv, m = model->m;
  if (!w->dense || !(t >= w->t_start && t <= w->s.grid.t))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "radau5: dense output at t = %.17g s is not available: t is outside of the last step", t);
  const bool ends = t == w->s.grid.t;
  double l[3];
  perp_radau_weights((t - w->t_start) / w->h_start, l);
  if (ends) l[0] = l[1] = 0, l[2] = 1;
  for (int i = 0; i < w->graph.n; i++)
    w->err[i] = l[0] * w->radau.past[0][i] + l[1] * w->radau.past[1][i] +
                l[2] * w->radau.past[2][i];
  perp_implicit_get_body(&w->graph, w->err, PART_Q, w->d);
  perp_implicit_get_body(&w->graph, w->err, PART_V, w->v);
  perp_implicit_get_row(&w->graph, w->err, PART_LAMBDA, w->row);
  perp_model_retract(model, w->qs, w->d, q);
  for (int i = 0; i < nv; i++) v[i] = w->vs[i] + w->v[i];
  if (ends) memcpy(q, w->s.q, (size_t)model->nq * sizeof *q);
  if (ends) memcpy(v, w->s.v, (size_t)nv * sizeof *v);
  if (lambda != NULL)
    for (int i = 0; i < m; i++) lambda[i] = w->ls[i] + w->row[i];
  return PERP_OK;
}

/* ---- life ---- */

static void radau_dae_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->s.k.model;
  const int n = w->graph.n;
  perp_stepper_layout(&w->s, a);
  PERP_DOUBLES(a, n, &w->y, &w->f, &w->err);
  w->differential = PERP_CARVE(a, unsigned char, n);
  PERP_DOUBLES(a, model->nq, &w->qs);
  PERP_DOUBLES(a, model->nv, &w->vs, &w->d, &w->v, &w->x, &w->z, &w->accel);
  PERP_DOUBLES(a, model->m, &w->ls, &w->lambda, &w->mu, &w->row, &w->force, &w->soft, &w->about);
}

static void radau_dae_destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  perp_radau_destroy(&w->radau);
  perp_implicit_destroy(&w->graph);
  perp_stepper_destroy(ws);
}

static perp_status radau_dae_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                     const double *v)
{
  workspace *w = ws;
  w->begun = w->refused = w->dense = false;
  w->h_next = w->s.grid.h;
  w->h_last = 0;
  w->h_newton = HUGE_VAL;
  w->speed[0] = w->speed[1] = 0;
  perp_radau_reset(&w->radau);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status radau_dae_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                    double h, void **ws)
{
  workspace like = { .s.make_step = radau_dae_make_step,
                     .o = *(const struct opts *)parts->formulation.opts };
  const bool index1 = radau_dae_index1(&like);
  *ws = NULL;
  for (int i = 0; i < model->m; i++)
    if (model->softness[i] > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation radau5 does not support joints with softness: use rigid "
                       "joints, or --formulation velocity");
  PERP_TRY(perp_implicit_graph(ctx, model, index1 ? 3 : 2, index1 ? 1 : 2, &like.graph));
  perp_status status = perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like,
                                           radau_dae_layout, ws);
  if (status != PERP_OK) {
    perp_implicit_destroy(&like.graph);
    return status;
  }
  workspace *w = *ws;
  memset(w->differential, 0, (size_t)w->graph.n);
  for (int b = 0; b < model->n_bodies; b++) /* PART_Q and PART_V come first */
    memset(w->differential + w->graph.local.first[b], 1, 2 * (size_t)model->nvb);
  w->radau = (perp_radau){
    .local = &w->graph.local, .f = radau_dae_f, .user = w, .differential = w->differential
  };
  status = perp_radau_create(ctx, &w->radau);
  if (status == PERP_OK) return PERP_OK;
  radau_dae_destroy(w);
  *ws = NULL;
  return status;
}

const perp_formulation_desc perp_formulation_radau5 = {
  .d = { .name = "radau5",
         .summary =
             "Radau IIA of order 5 for the DAE of index 2 (stabilized) or 1; for stiff forces",
         .reference = "Hairer and Wanner II, sections IV.8 and VII.4 to VII.6",
         .equation = "q' = N (v + M^-1 J' mu),  M v' = f + J' lambda,  C = 0,  J v = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_KKT | PERP_CAP_ALLOCATES | PERP_FORM_SIGNALS |
                 PERP_FORM_MOTIONS | PERP_FORM_DISABLED },
  .create = radau_dae_create,
  .restart = radau_dae_restart,
  .step = radau_dae_step,
  .state = perp_stepper_state,
  .dense = radau_dae_dense,
  .counters = perp_stepper_counters,
  .timing = perp_stepper_timing,
  .destroy = radau_dae_destroy,
};
