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
static const double RESTS = 1e-12; /* of the size in a step: slower is rounding */
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

static bool radau_dae_index1(const workspace *work)
{
  return work->o.form == FORM_INDEX1;
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
  workspace *work = user;
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const int nv = model->nv, m = model->m;
  perp_implicit_get_body(&work->graph, y, PART_Q, work->d);
  perp_implicit_get_body(&work->graph, y, PART_V, work->v);
  perp_implicit_get_row(&work->graph, y, PART_LAMBDA, work->lambda);
  perp_model_retract(model, work->s.q, work->d, work->s.q1);
  if (!perp_all_finite(model->nq, work->s.q1)) return false;
  perp_constrained_at(system, t, work->s.q1);
  work->s.grid.count.rhs++;
  perp_stepper_forces(&work->s, t, work->v, system->f);
  if (m > 0) perp_blocks_Jt(&system->e->blocks, 1, work->lambda, system->f);
  memcpy(work->x, work->v, (size_t)nv * sizeof *work->x);
  if (radau_dae_index1(work)) {
    perp_implicit_get_body(&work->graph, y, PART_A, work->accel);
    perp_implicit_put_body(&work->graph, PART_V, work->accel, f);
    perp_blocks_M(&system->e->blocks, work->accel, work->z);
    for (int i = 0; i < nv; i++) work->z[i] = system->f[i] - work->z[i];
    perp_implicit_put_body(&work->graph, PART_A, work->z, f);
    perp_joints_bias(model, system->e, work->v, work->row);
    if (m > 0) perp_blocks_J(&system->e->blocks, 1, work->accel, work->row);
  } else {
    perp_blocks_Minv(&system->e->blocks, system->f, work->z);
    perp_implicit_put_body(&work->graph, PART_V, work->z, f);
    perp_implicit_get_row(&work->graph, y, PART_MU, work->mu);
    memset(work->d, 0, (size_t)nv * sizeof *work->d);
    if (m > 0) perp_blocks_Jt(&system->e->blocks, 1, work->mu, work->d);
    perp_blocks_Minv(&system->e->blocks, work->d, work->z);
    for (int i = 0; i < nv; i++) work->x[i] += work->z[i];
    for (int i = 0; i < m; i++) work->row[i] = -system->e->C[i] - work->soft[i] * work->mu[i];
    perp_implicit_put_row(&work->graph, PART_MU, work->row, f);
    perp_constrained_rate(system, work->v, work->row);
  }
  for (int i = 0; i < m; i++)
    work->row[i] = -work->row[i] - work->soft[i] * (work->lambda[i] - work->about[i]);
  perp_implicit_put_row(&work->graph, PART_LAMBDA, work->row, f);
  /* q' */
  perp_implicit_get_body(&work->graph, y, PART_Q, work->d);
  memcpy(work->z, work->x, (size_t)nv * sizeof *work->z);
  if (model->dim == 3)
    for (int body = 0; body < model->n_bodies; body++)
      radau_dae_rotation_rate(work->d + 6 * body + 3, work->x + 6 * body + 3,
                              work->z + 6 * body + 3);
  perp_implicit_put_body(&work->graph, PART_Q, work->z, f);
  return perp_all_finite(work->graph.n, f);
}

/* ---- the start ---- */

/* Accelerations and multipliers at the state: `about`, about which the rows are soft, and at the
 * start of a motion the first values.  Where they are not known (singular positions) rows are soft
 * about 0. */
static bool radau_dae_about(workspace *work, double t)
{
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const int m = model->m;
  if (m == 0 && work->begun) return true;
  perp_constrained_at(system, t, work->s.q);
  perp_stepper_forces(&work->s, t, work->s.v, system->f);
  perp_joints_bias(model, system->e, work->s.v, system->c);
  for (int i = 0; i < m; i++) system->c[i] = -system->c[i];
  const bool solved = perp_constrained_solve(system, PERP_LEVEL_ACCELERATION, work->s.grid.h,
                                             work->s.v);
  if (system->status != PERP_OK || (!solved && !work->begun)) return false;
  for (int i = 0; i < m; i++) work->about[i] = solved ? system->lambda[i] : 0;
  system->reason = PERP_EXACT;
  if (work->begun) return true;
  memcpy(work->accel, system->a, (size_t)model->nv * sizeof *work->accel);
  memcpy(work->force, system->lambda, (size_t)m * sizeof *work->force);
  if (m > 0) perp_blocks_diagonal(&system->e->blocks, work->soft);
  const double part = fmax(SOFT, 0.1 * work->o.tol) * (radau_dae_index1(work) ? 1 : work->s.grid.h);
  for (int i = 0; i < m; i++) work->soft[i] = work->soft[i] > 0 ? part * work->soft[i] : 1;
  memset(work->y, 0, (size_t)work->graph.n * sizeof *work->y);
  if (radau_dae_index1(work)) perp_implicit_put_body(&work->graph, PART_A, work->accel, work->y);
  work->begun = true;
  return true;
}

/* Error levels of y and steps of its differences, for a step h. */
static void radau_dae_levels(workspace *work, double h)
{
  const perp_model *model = work->s.k.model;
  const double size = model->size > 0 ? model->size : 1, part = sqrt(DBL_EPSILON),
               tol = work->o.tol > 0 ? work->o.tol : 1;
  double now[2] = { 0 }, mass = 0;
  for (int body = 0; body < model->n_bodies; body++) {
    mass += model->inertia[body].mass / model->n_bodies;
    for (int i = 0; i < model->nvb; i++) {
      double *most = &now[i >= model->dim];
      const int at = body * model->nvb + i;
      *most = fmax(*most, fmax(fabs(work->s.v[at]), h * fabs(work->accel[at])));
    }
  }
  for (int i = 0; i < 2; i++) work->speed[i] = fmax(work->speed[i], now[i]);
  for (int i = 0; i < work->graph.n; i++) { /* multipliers: f is linear in them */
    work->radau.scale[i] = HUGE_VAL;
    work->radau.difference[i] = mass * size / (h * h) * part;
  }
  for (int body = 0; body < model->n_bodies; body++)
    for (int i = 0; i < model->nvb; i++) {
      const bool turns = i >= model->dim;
      const int at = work->graph.local.first[body] + i;
      const double reach = turns ? 1 : size;
      const double speed = work->speed[turns] > RESTS * reach / h ? work->speed[turns]
                                                                  : 1e-3 * reach / h;
      work->radau.scale[at] = tol * reach;
      work->radau.difference[at] = part * reach;
      work->radau.scale[at + model->nvb] = tol * speed;
      work->radau.difference[at + model->nvb] = part * fmax(speed, 1e-3 * reach / h);
      if (radau_dae_index1(work))
        work->radau.difference[at + 2 * model->nvb] = part * fmax(speed, reach) / h;
    }
}

/* ---- a step ---- */

/* Z of a step from the state, q1 and v1; *error of the tolerance. */
static perp_reason radau_dae_attempt(workspace *work, double t, double h, double *error)
{
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  perp_radau *radau = &work->radau;
  const int nv = model->nv;
  *error = 0;
  if (!radau_dae_about(work, t)) return system->reason;
  memset(work->z, 0, (size_t)nv * sizeof *work->z);
  perp_implicit_put_body(&work->graph, PART_Q, work->z, work->y);
  perp_implicit_put_body(&work->graph, PART_V, work->s.v, work->y);
  perp_implicit_put_row(&work->graph, PART_LAMBDA, work->force, work->y);
  perp_stepper_servos(&work->s, t, work->s.q, work->s.v);
  if (!radau_dae_f(work, t, work->y, work->f)) return PERP_NOT_FINITE;
  perp_implicit_get_body(&work->graph, work->f, PART_V, work->accel);
  radau_dae_levels(work, h);
  const double tol = work->o.tol;
  const double enough = tol > 0 ? fmax(10 * DBL_EPSILON / tol, fmin(KAPPA, sqrt(tol))) : 0;
  const int64_t iterations = radau->iterations;
  const int factorizations = radau->factorizations;
  const bool first = radau->h_past == 0;
  const perp_reason reason = perp_radau_solve(radau, t, h, work->y, work->f, enough);
  work->s.grid.count.iterations += radau->iterations - iterations;
  system->count.factorizations += radau->factorizations - factorizations;
  if (reason < 0) return reason;
  if (tol > 0) {
    if (!perp_radau_error(radau, t, h, work->y, work->f, false, work->err)) return PERP_NOT_FINITE;
    *error = perp_radau_norm(radau, work->err);
    if (*error >= 1 && (first || work->refused)) {
      if (!perp_radau_error(radau, t, h, work->y, work->f, true, work->err)) return PERP_NOT_FINITE;
      *error = perp_radau_norm(radau, work->err);
    }
    if (isnan(*error)) return PERP_NOT_FINITE;
  }
  perp_implicit_get_body(&work->graph, radau->z[2], PART_Q, work->d);
  perp_model_retract(model, work->s.q, work->d, work->s.q1);
  perp_implicit_get_body(&work->graph, radau->z[2], PART_V, work->v);
  for (int i = 0; i < nv; i++) work->s.v1[i] = work->s.v[i] + work->v[i];
  if (!perp_all_finite(model->nq, work->s.q1) || !perp_all_finite(nv, work->s.v1))
    return PERP_NOT_FINITE;
  return PERP_EXACT;
}

/* The step is one: what is kept of it. */
static void radau_dae_keep(workspace *work, double t, double h)
{
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const int m = model->m;
  memcpy(work->qs, work->s.q, (size_t)model->nq * sizeof *work->qs);
  memcpy(work->vs, work->s.v, (size_t)model->nv * sizeof *work->vs);
  memcpy(work->ls, work->force, (size_t)m * sizeof *work->ls);
  memcpy(work->s.lambda, work->force, (size_t)m * sizeof *work->force);
  for (int i = 0; i < work->graph.n; i++) work->y[i] += work->radau.z[2][i];
  perp_implicit_get_row(&work->graph, work->y, PART_LAMBDA, work->force);
  perp_radau_accept(&work->radau, h);
  perp_model_project(model, work->s.q1);
  perp_constrained_at(system, t + h, work->s.q1);
  system->drift = perp_worst(m, system->e->C);
  work->t_start = t;
  work->h_start = h;
  work->dense = true;
}

static perp_reason radau_dae_make_step(perp_stepper *stepper, double t, double h)
{
  workspace *work = (workspace *)stepper;
  double error;
  const perp_reason reason = radau_dae_attempt(work, t, h, &error);
  work->dense = false;
  if (reason > 0) radau_dae_keep(work, t, h);
  if (reason > 0 && !radau_dae_index1(work) && stepper->k.drift > LOST * stepper->k.model->size)
    return PERP_INACCURATE;
  return reason;
}

/* The step after one of h with this error (Gustafsson's predictive controller, Hairer and Wanner
 * II, section IV.8). */
static double radau_dae_control(workspace *work, double h, double error)
{
  enum { MOST = 10 };
  static const double safety = 0.9, shrink = 5, grow = 1.0 / 8;
  const double e = fmax(error, 1e-10);
  const double factor = safety * (2 * MOST + 1) / (2 * MOST + work->radau.newton);
  double by = fmax(grow, fmin(shrink, pow(e, 0.25) / factor));
  if (error >= 1) return h / by;
  if (work->h_last > 0)
    by = fmax(by, fmax(grow, fmin(shrink, work->h_last / h * pow(e * e / work->error_last, 0.25) /
                                              safety)));
  if (work->refused) by = fmax(by, 1);
  work->h_last = h;
  work->error_last = fmax(0.01, e);
  /* the factors serve again */
  const double next = h / by;
  return next >= h && next <= 1.2 * h ? h : next;
}

static perp_reason radau_dae_adaptive(workspace *work, double t_max)
{
  enum { REFUSALS = 100 };
  perp_time_grid *grid = &work->s.grid;
  perp_reason reason = PERP_STALLED;
  work->refused = false;
  work->dense = false;
  for (int i = 0; i < REFUSALS; i++) {
    const double left = t_max - grid->t;
    double h = fmin(fmin(work->h_next, work->h_newton), work->o.h_max), error;
    const bool last = left <= h * (1 + 1e-12);
    if (last)
      h = left;
    else if (left < 2 * h)
      h = left / 2;
    const double end = last ? t_max : grid->t + h;
    if (!(end > grid->t)) return PERP_STEP_TOO_SMALL;
    const bool cut = h < fmin(work->h_next, work->h_newton);
    reason = radau_dae_attempt(work, grid->t, h, &error);
    if (work->s.k.status != PERP_OK || !work->begun) return reason;
    if (reason > 0 && error < 1) {
      const double next = radau_dae_control(work, h, error);
      work->h_next = cut ? fmax(next, work->h_next) : next;
      work->h_newton *= 1.1;
      radau_dae_keep(work, grid->t, h);
      perp_time_grid_accept(grid, end);
      return PERP_EXACT;
    }
    grid->count.rejected++;
    work->h_next = reason < 0         ? h / 2
                   : work->h_last > 0 ? radau_dae_control(work, h, error)
                                      : h / 10;
    if (reason < 0) work->h_newton = work->h_next;
    work->refused = true;
    if (work->h_next < work->o.h_min) return reason < 0 ? reason : PERP_STEP_TOO_SMALL;
    reason = PERP_STALLED;
  }
  return reason;
}

static perp_status radau_dae_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *work = ws;
  perp_constrained *system = &work->s.k;
  if (work->o.tol == 0) return perp_stepper_step(ctx, ws, t_max, info);
  const double start = perp_constrained_clock(system);
  system->ctx = ctx;
  system->status = PERP_OK;
  system->reason = PERP_EXACT;
  info->reason = PERP_EXACT;
  if (t_max > work->s.grid.t) {
    info->reason = radau_dae_adaptive(work, t_max);
    if (system->status != PERP_OK) return system->status;
    if (info->reason > 0) {
      memcpy(work->s.q, work->s.q1, (size_t)system->model->nq * sizeof *work->s.q);
      memcpy(work->s.v, work->s.v1, (size_t)system->model->nv * sizeof *work->s.v);
    }
  }
  system->spent.step += perp_constrained_clock(system) - start;
  system->count.reason = info->reason;
  info->drift_pos_pre = system->drift;
  info->lambda = work->s.lambda;
  info->drive = system->model->n_drives > 0 ? work->s.servo : NULL;
  return PERP_OK;
}

static perp_status radau_dae_dense(perp_ctx *ctx, void *ws, double t, double *q, double *v,
                                   double *lambda)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  const int nv = model->nv, m = model->m;
  if (!work->dense || !(t >= work->t_start && t <= work->s.grid.t))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "radau5: dense output at t = %.17g s is not available: t is outside of the last step", t);
  const bool ends = t == work->s.grid.t;
  double l[3];
  perp_radau_weights((t - work->t_start) / work->h_start, l);
  if (ends) l[0] = l[1] = 0, l[2] = 1;
  for (int i = 0; i < work->graph.n; i++)
    work->err[i] = l[0] * work->radau.past[0][i] + l[1] * work->radau.past[1][i] +
                   l[2] * work->radau.past[2][i];
  perp_implicit_get_body(&work->graph, work->err, PART_Q, work->d);
  perp_implicit_get_body(&work->graph, work->err, PART_V, work->v);
  perp_implicit_get_row(&work->graph, work->err, PART_LAMBDA, work->row);
  perp_model_retract(model, work->qs, work->d, q);
  for (int i = 0; i < nv; i++) v[i] = work->vs[i] + work->v[i];
  if (ends) memcpy(q, work->s.q, (size_t)model->nq * sizeof *q);
  if (ends) memcpy(v, work->s.v, (size_t)nv * sizeof *v);
  if (lambda != NULL)
    for (int i = 0; i < m; i++) lambda[i] = work->ls[i] + work->row[i];
  return PERP_OK;
}

/* ---- life ---- */

static void radau_dae_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  const int n = work->graph.n;
  perp_stepper_layout(&work->s, arena);
  PERP_DOUBLES(arena, n, &work->y, &work->f, &work->err);
  work->differential = PERP_CARVE(arena, unsigned char, n);
  PERP_DOUBLES(arena, model->nq, &work->qs);
  PERP_DOUBLES(arena, model->nv, &work->vs, &work->d, &work->v, &work->x, &work->z, &work->accel);
  PERP_DOUBLES(arena, model->m, &work->ls, &work->lambda, &work->mu, &work->row, &work->force,
               &work->soft, &work->about);
}

static void radau_dae_destroy(void *ws)
{
  workspace *work = ws;
  if (work == NULL) return;
  perp_radau_destroy(&work->radau);
  perp_implicit_destroy(&work->graph);
  perp_stepper_destroy(ws);
}

static perp_status radau_dae_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                     const double *v)
{
  workspace *work = ws;
  work->begun = work->refused = work->dense = false;
  work->h_next = work->s.grid.h;
  work->h_last = 0;
  work->h_newton = HUGE_VAL;
  work->speed[0] = work->speed[1] = 0;
  perp_radau_reset(&work->radau);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status radau_dae_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                    double h, void **ws)
{
  workspace like = { .s.make_step = radau_dae_make_step,
                     .o = *(const struct opts *)parts->formulation.opts };
  const bool index1 = radau_dae_index1(&like);
  *ws = NULL;
  PERP_TRY(perp_stepper_rigid(ctx, model, parts->formulation.d->name));
  PERP_TRY(perp_implicit_graph(ctx, model, index1 ? 3 : 2, index1 ? 1 : 2, &like.graph));
  perp_status status = perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like,
                                           radau_dae_layout, ws);
  if (status != PERP_OK) {
    perp_implicit_destroy(&like.graph);
    return status;
  }
  workspace *work = *ws;
  memset(work->differential, 0, (size_t)work->graph.n);
  for (int body = 0; body < model->n_bodies; body++) /* PART_Q and PART_V come first */
    memset(work->differential + work->graph.local.first[body], 1, 2 * (size_t)model->nvb);
  work->radau = (perp_radau){
    .local = &work->graph.local, .f = radau_dae_f, .user = work, .differential = work->differential
  };
  status = perp_radau_create(ctx, &work->radau);
  if (status == PERP_OK) return PERP_OK;
  radau_dae_destroy(work);
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
         .caps = PERP_FORM_FORCES_AT_START | PERP_FORM_BREAKS | PERP_FORM_USES_KKT |
                 PERP_CAP_ALLOCATES | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED |
                 PERP_FORM_SERVOS },
  .create = radau_dae_create,
  .restart = radau_dae_restart,
  .step = radau_dae_step,
  .dense = radau_dae_dense,
  PERP_STEPPER_CALLS,
  .destroy = radau_dae_destroy,
};
