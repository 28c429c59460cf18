/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Point masses with rigidity as a constraint (eq. numbers of van Overveld and Barenbrug 1995).
 *
 * A body is its centre c and three vectors B_j along its principal axes, scaled to
 * |B_j|^2 = gamma_j = tr(I)/2 - I_j, so that its kinetic energy is (m |c'|^2 + sum |B_j'|^2) / 2
 * (eq. 5-9): no angular velocity, no torque, no gyroscopic term.  All coordinates make the Verlet
 * step
 *
 *      x(t + h) = 2 x(t) - x(t - h) + h^2 F / m                                        (eq. 3, 4)
 *
 * and the constraints say what F is, at t + h, along directions of t, by iteration (eq. 1, 2):
 *
 *      rigidity   |B_j|^2 = gamma_j,  B_j' . B_j'' = 0      Lambda, lambda of eq. 12, linearized
 *
 *      ball       p_a = p_b                                 F = (M_a + M_b)^-1 (p_b - p_a) (eq. 22)
 *
 *      hinge      two of them on its axis, F_1 . e = F_2 . e   (eq. 23: the null component removed)
 *
 *      distance   |p_b - p_a| = length                      the same along p_b - p_a
 *
 *      curve      p_b on the curve (section 2.6)            the same across the tangent
 *
 *      contact    no penetration, no friction (section 2.5) lambda of eq. 25, point_mass_contacts.c
 *
 * The foot of p_b on the curve is found directly, where the paper iterates its parameter.  M F is
 * the displacement of a point by a force there that leaves the body rigid to first order
 * (eq. 13-21).  Forces of the step before are the first guess.  `iterations` is the fixed
 * number of sweeps of the paper unless `tol` is reached before; what is left is the drift of the
 * joints.  The error of a sweep falls exponentially, slower for long chains.  solve=simultaneous
 * makes an iteration one Newton step of all of them but contacts, by LU (end of section 2.3;
 * point_mass_lu.c), whose error falls quadratically.
 *
 * Order 2.  The velocity at the end of a step is the mean of its rates and those of the next one,
 * as Verlet's method has it, so that each step is made one ahead, and once more where the next one
 * is not as long; forces of velocity take that which is extrapolated by half a step.  Cost per
 * step: iterations x (bodies + joints).  No allocation.  Refuses joints other than ball, hinge,
 * curve and distance, flat bodies (gamma_j = 0: all mass in a plane), friction, limits and motors.
 */
#include "models/formulations/particles/point_mass.h"

#include <stdlib.h>
#include <string.h>

enum { RIGIDITY = 2 };
static const char *const orders[] = { "rigidity-first", "joints-first", NULL };
static const char *const solves[] = { "sweeps", "simultaneous", NULL };

static const perp_opt options[] = {
  PERP_REAL(struct point_mass_opts, tol, 1e-12, 0, 1, 0, "",
            "Constraint error at which the sweeps end, relative to the size of the model."),
  PERP_INT(struct point_mass_opts, iterations, 2000, 1, 1000000,
           "Largest number of sweeps over all constraints, or of simultaneous solutions."),
  PERP_INT(struct point_mass_opts, rigidity, RIGIDITY, 1, 100,
           "Rigidity corrections of each body per sweep; solve=simultaneous has none."),
  PERP_ENUM(struct point_mass_opts, order, POINT_MASS_RIGIDITY_FIRST, orders,
            "Order of a sweep: rigidity of the bodies, then joints, or joints first. With few "
            "sweeps the constraints "
            "that come last hold best."),
  PERP_ENUM(struct point_mass_opts, solve, POINT_MASS_SWEEPS, solves,
            "Solution of the constraints of joints and rigidity in an iteration: one after the "
            "other (sweeps), or all "
            "linearised equations at once by LU (simultaneous)."),
  PERP_REAL(struct point_mass_opts, threshold, 0.01, 0, HUGE_VAL, 0, "m/s",
            "Approach speed above which restitution is applied."),
  PERP_OPTIONS_END
};

/* ---- step ---- */

/* free flight with external forces and the forces of the step before, into x1 */
static void point_mass_fly(workspace *work, double h, double scale)
{
  const perp_model *model = work->model;
  perp_eval_forces(&work->e, model, work->grid.t, work->v_out, false, work->f);
  for (int i = 0; i < model->n_bodies; i++) {
    const double *f = work->f + i * model->nvb;
    double torque[3] = { 0 }, force[3] = { 0 };
    memcpy(force, f, (size_t)model->dim * sizeof *f);
    if (model->dim == 3)
      perp_turn(3, work->e.pose[i].R, f + 3, torque);
    else
      torque[2] = f[2];
    for (int k = 0; k < 12; k++) work->x1[i].all[k] = work->x[i].all[k] + h * work->w[i].all[k];
    perp_point_mass_move(work, i, force, torque, scale, &work->x1[i]);
  }
  memset(work->rigid, 0, 6 * (size_t)model->n_bodies * sizeof *work->rigid);
  perp_point_mass_push(work, scale);
  perp_point_mass_contacts_push(work, h, scale);
}

/* x1 and the forces of the step from x */
static perp_reason point_mass_solve(workspace *work, double h)
{
  /* the rates w belong to the middle of the step before: forces of t act until the middle of this
   * one */
  const double scale = h * (work->h_last + h) / 2;
  perp_reason reason = PERP_EXACT;
  work->grid.count.rhs++;
  double worst = 0;
  int sweep;
  perp_point_mass_prepare(work);
  perp_eval_poses(&work->e, work->model, work->grid.t, work->q_out);
  work->status = perp_point_mass_contacts_find(work, h);
  if (work->status != PERP_OK) return PERP_RUNNING;
  point_mass_fly(work, h, scale);
  for (sweep = 0; sweep < work->o.iterations; sweep++) {
    if (work->lu != NULL) {
      const perp_reason solved = perp_point_mass_lu_solve(work, scale, &worst);
      if (solved < 0) return solved;
    } else {
      worst = perp_point_mass_sweep(work, scale);
    }
    const double touching = perp_point_mass_contacts_sweep(work, scale);
    if (isnan(worst) || isnan(touching)) return PERP_NOT_FINITE;
    worst = fmax(worst, touching);
    work->grid.count.iterations++;
    if (worst <= work->o.tol) {
      reason = PERP_CONVERGED;
      break;
    }
  }
  perp_point_mass_contacts_count(work, reason, worst, sweep);
  for (int i = 0; i < work->model->n_bodies; i++)
    if (!perp_all_finite(12, work->x1[i].all)) return PERP_NOT_FINITE;
  return reason;
}

/* Both forces of a hinge: the force on body b, and what of their torque is that of rows t_k .
 * axis_b. */
static void point_mass_report_hinge(const workspace *work, const link *k, double *lambda)
{
  const perp_joint *joint = &work->model->joint[k->joint];
  double arm[3], off[3], torque[3];
  for (int i = 0; i < 3; i++) {
    arm[i] = (k->a < 0 ? k->rb[i] - k[1].rb[i] : k->ra[i] - k[1].ra[i]) / 2;
    off[i] = k[1].F[i] - k->F[i];
    lambda[i] = -(k->F[i] + k[1].F[i]);
  }
  perp_cross(arm, off, torque);
  for (int s = 0; s < 2; s++) {
    double na[3], nb[3], d[3]; /* the row turns b about d */
    perp_turn(3, work->e.pose[k->a].R, joint->scalars[s].ua, na);
    perp_turn(3, work->e.pose[k->b].R, joint->scalars[s].ub, nb);
    perp_cross(nb, na, d);
    lambda[3 + s] = perp_dot(3, torque, d) / perp_dot(3, d, d);
  }
}

/* forces of the links as multipliers of the rows, see model.h: forces on body b */
static void point_mass_report(workspace *work)
{
  for (int l = 0; l < work->n_links; l++) {
    const link *k = &work->link[l];
    double *lambda = work->lambda + work->model->pattern.cptr[k->joint];
    const bool hinge = l + 1 < work->n_links && work->link[l + 1].second;
    if (hinge) point_mass_report_hinge(work, k, lambda);
    if (hinge || k->second) continue;
    if (k->distance)
      lambda[0] = -perp_dot(3, k->F, k->n);
    else
      for (int i = 0; i < work->model->dim; i++) lambda[i] = -k->F[i];
  }
}

static perp_reason point_mass_make_step(workspace *work, double h)
{
  const perp_model *model = work->model;
  if (work->h_ahead != h) work->ahead = point_mass_solve(work, h);
  const perp_reason reason = work->status == PERP_OK ? work->ahead : PERP_INVALID_STATE;
  work->h_ahead = 0;
  if (reason < 0) return reason;
  /* rates: mean of the step, and at its end by half a step of its acceleration */
  const double mean = (work->h_last + h) / 2;
  for (int i = 0; i < model->n_bodies; i++) {
    double *x = work->x[i].all, *x1 = work->x1[i].all, *rate = work->w[i].all,
           *end = work->v[i].all;
    for (int k = 0; k < 12; k++) {
      const double now = (x1[k] - x[k]) / h;
      end[k] = now + h / 2 * (now - rate[k]) / mean;
      rate[k] = now;
      x[k] = x1[k];
    }
  }
  if (work->reports) point_mass_report(work);
  memcpy(work->rigid_out, work->rigid, 6 * (size_t)model->n_bodies * sizeof *work->rigid);
  perp_point_mass_leave(work, work->x, work->v);
  perp_point_mass_contacts_show(work, h);
  work->h_last = h;
  work->grid.t += h; /* the state that the next step starts from */
  work->ahead = point_mass_solve(work, h);
  work->grid.t -= h;
  if (work->ahead < 0) return reason; /* the next step says so */
  work->h_ahead = h;
  /* the mean of the rates before and after a rebound is none that the bodies ever had: those
   * before, to O(h) */
  for (int i = 0; i < model->n_bodies; i++)
    for (int k = 0; k < 12; k++)
      work->v[i].all[k] = work->impact
                              ? work->w[i].all[k]
                              : (work->w[i].all[k] + (work->x1[i].all[k] - work->x[i].all[k]) / h) /
                                    2;
  perp_point_mass_leave(work, work->x, work->v);
  return reason;
}

/* ---- life ---- */

static void point_mass_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->model;
  perp_eval_layout(&work->e, model, arena);
  work->body = PERP_CARVE(arena, body, model->n_bodies);
  work->link = PERP_CARVE(arena, link, 2 * model->n_joints);
  work->x = PERP_CARVE(arena, coordinates, model->n_bodies);
  work->x1 = PERP_CARVE(arena, coordinates, model->n_bodies);
  work->w = PERP_CARVE(arena, coordinates, model->n_bodies);
  work->v = PERP_CARVE(arena, coordinates, model->n_bodies);
  work->moved = PERP_CARVE(arena, coordinates, model->n_bodies);
  work->reach = PERP_CARVE(arena, double, model->n_bodies);
  PERP_DOUBLES(arena, model->nq, &work->q, &work->q_out);
  PERP_DOUBLES(arena, model->nv, &work->v_out, &work->f);
  PERP_DOUBLES(arena, model->m, &work->lambda);
  PERP_DOUBLES(arena, 6 * model->n_bodies, &work->rigid, &work->rigid_out);
}

static void point_mass_destroy(void *ws)
{
  if (ws == NULL) return;
  perp_point_mass_contacts_close(ws);
  perp_point_mass_lu_close(ws);
  free(ws);
}

static perp_status point_mass_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                     double h, void **ws)
{
  workspace like = { .model = model,
                     .o = *(const struct point_mass_opts *)parts->formulation.opts,
                     .grid.h = h };
  const bool swept = like.o.rigidity != RIGIDITY || like.o.order != POINT_MASS_RIGIDITY_FIRST;
  if (like.o.solve == POINT_MASS_SIMULTANEOUS && swept)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "formulation point-mass: %s has no effect with solve=simultaneous, which has "
                     "no sweeps: leave it "
                     "out, or use solve=sweeps",
                     like.o.rigidity != RIGIDITY ? "rigidity" : "order");
  PERP_TRY(perp_workspace_create(ctx, "point-mass", &like, sizeof like, point_mass_layout, ws));
  workspace *work = *ws;
  perp_eval_init(&work->e, model);
  perp_status status = PERP_OK;
  for (int i = 0; i < model->n_bodies && status == PERP_OK; i++)
    status = perp_point_mass_body(ctx, model, i, &work->body[i]);
  if (status == PERP_OK) status = perp_point_mass_links(ctx, work);
  if (status == PERP_OK && work->o.solve == POINT_MASS_SIMULTANEOUS)
    status = perp_point_mass_lu_open(ctx, work);
  if (status == PERP_OK) status = perp_point_mass_contacts_open(ctx, work);
  if (status != PERP_OK) {
    point_mass_destroy(work);
    *ws = NULL;
  }
  return status;
}

static perp_status point_mass_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                      const double *v)
{
  workspace *work = ws;
  const perp_model *model = work->model;
  memcpy(work->q, q, (size_t)model->nq * sizeof *q);
  PERP_TRY(perp_constrained_check_start(ctx, model, work->q, v));
  memcpy(work->q_out, work->q, (size_t)model->nq * sizeof *q);
  memcpy(work->v_out, v, (size_t)model->nv * sizeof *v);
  perp_point_mass_enter(work, work->q, v);
  work->h_last = work->h_ahead = 0;
  work->contacts[0].n = work->contacts[1].n = work->n_shown = 0;
  work->count = (perp_contact_count){ 0 };
  work->status = PERP_OK;
  work->drift = 0;
  work->step_s = work->collision_s = 0;
  memset(work->lambda, 0, (size_t)model->m * sizeof *work->lambda);
  memset(work->rigid_out, 0, 6 * (size_t)model->n_bodies * sizeof *work->rigid_out);
  for (int l = 0; l < work->n_links; l++) memset(work->link[l].F, 0, sizeof work->link[l].F);
  perp_time_grid_restart(&work->grid, t);
  return PERP_OK;
}

static perp_status point_mass_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *work = ws;
  const double start = work->timing ? perp_clock_wall() : 0;
  const double end = perp_time_grid_next(&work->grid, t_max);
  work->ctx = ctx;
  work->status = PERP_OK;
  info->reason = PERP_EXACT;
  if (end > work->grid.t) {
    info->reason = point_mass_make_step(work, end - work->grid.t);
    if (info->reason > 0) {
      perp_eval_at(&work->e, work->model, end, work->q_out);
      work->drift = perp_worst(work->model->m, work->e.C);
      perp_time_grid_accept(&work->grid, end);
    }
  }
  if (work->timing) work->step_s += perp_clock_wall() - start;
  if (work->status != PERP_OK) return work->status;
  info->drift_pos_pre = work->drift;
  info->n_contacts = work->n_shown;
  info->contacts = work->n_shown > 0 ? work->shown : NULL;
  info->impulse = work->n_shown > 0 ? work->shown_impulse : NULL;
  info->lambda = work->reports ? work->lambda : NULL;
  info->rigidity = work->rigid_out;
  return PERP_OK;
}

static void point_mass_state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *work = ws;
  *t = work->grid.t;
  *q = work->q_out;
  *v = work->v_out;
}

static void point_mass_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *work = ws;
  if (ode != NULL) *ode = work->grid.count;
  if (kkt != NULL) *kkt = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
}

static void point_mass_timing(void *ws, bool on, perp_times *times)
{
  workspace *work = ws;
  if (times != NULL)
    *times = (perp_times){ .collision = work->collision_s,
                           .integrate = work->step_s - work->collision_s };
  work->timing = on;
}

static const perp_contact_count *point_mass_contacts(const void *ws)
{
  const workspace *work = ws;
  return work->collision != NULL ? &work->count : NULL;
}

const perp_formulation_desc perp_formulation_point_mass = {
  .d = { .name = "point-mass",
         .summary =
             "Bodies as points (centre and scaled axes) with rigidity constraints, Verlet; order 2",
         .reference = "van Overveld and Barenbrug 1995, sections 2.2 to 2.5, eq. 3-25",
         .equation = "x(t+h) = 2 x(t) - x(t-h) + h^2 F/m,  |B_j|^2 = gamma_j,  B_j . B_k = 0; "
                     "contacts without friction",
         PERP_OPTIONS(options, struct point_mass_opts),
         .caps = PERP_FORM_CONTACTS | PERP_FORM_BREAKS },
  .create = point_mass_create,
  .restart = point_mass_restart,
  .step = point_mass_step,
  .state = point_mass_state,
  .counters = point_mass_counters,
  .timing = point_mass_timing,
  .destroy = point_mass_destroy,
  .contacts = point_mass_contacts,
};
