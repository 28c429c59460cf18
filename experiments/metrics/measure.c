/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* *most = max(*most, x); a NaN stays */
static void measure_raise(double *most, double x)
{
  if (!(x <= *most) && !isnan(*most)) *most = x;
}

/* L of a body about the point, world; its parts add to *size. */
static void measure_spin(const perp_measure *measure, int body, const double *q, const double *v,
                         const double about[3], const double along[3], double L[3], double *size)
{
  const perp_mass *mass = &perp_model_body(measure->model, body)->mass;
  const int dim = perp_model_dim(measure->model), nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3;
  const double *x = q + body * nqb, *y = v + body * nvb;
  double r[3] = { 0 }, p[3] = { 0 }, orbital[3], spin[3] = { 0 };
  for (int i = 0; i < dim; i++) r[i] = x[i] - about[i], p[i] = mass->mass * (y[i] - along[i]);
  perp_cross(r, p, orbital);
  if (dim == 3) {
    double R[9], Iw[3];
    perp_quat_matrix(x + 3, R);
    for (int i = 0; i < 3; i++) Iw[i] = perp_dot(3, mass->inertia + 3 * i, y + 3);
    perp_turn(3, R, Iw, spin);
  } else {
    spin[2] = mass->inertia[8] * y[2];
  }
  for (int i = 0; i < 3; i++) L[i] += orbital[i] + spin[i];
  *size += sqrt(perp_dot(3, orbital, orbital)) + sqrt(perp_dot(3, spin, spin));
}

/* L about each point that the model says, and about the centre of mass: the components that it
 * conserves. */
static void invariants_angular(const perp_measure *measure, const double *q, const double *v,
                               const double center[3], const double velocity[3], double L[3],
                               double *size)
{
  static const double still[3] = { 0 };
  const perp_conserved *conserved = &measure->conserved;
  for (int k = 0; k < 3; k++) {
    double all[3] = { 0 }, sum = 0;
    L[k] = 0;
    if (!conserved->L[k]) continue;
    for (int body = 0; body < perp_model_bodies(measure->model); body++)
      measure_spin(measure, body, q, v, conserved->fixed[k] ? conserved->center[k] : center,
                   conserved->fixed[k] ? still : velocity, all, &sum);
    L[k] = all[k];
    *size = fmax(*size, sum);
  }
}

/* Momenta of an accepted state into the figures of the run.  No allocation, O(bodies). */
static void measure_momentum(perp_measure *measure, double t, const double *q, const double *v,
                             bool first)
{
  const int dim = perp_model_dim(measure->model), nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3;
  double P[3] = { 0 }, L[3], x[3] = { 0 }, u[3] = { 0 }, dP[3], dL[3], mass = 0, P_size = 0,
         L_size = 0;
  for (int body = 0; body < perp_model_bodies(measure->model); body++) {
    const double mb = perp_model_body(measure->model, body)->mass.mass, *y = v + body * nvb;
    for (int i = 0; i < dim; i++) x[i] += mb * q[body * nqb + i], P[i] += mb * y[i];
    P_size += mb * sqrt(perp_dot(dim, y, y));
    mass += mb;
  }
  for (int i = 0; i < dim; i++) x[i] /= mass, u[i] = P[i] / mass;
  invariants_angular(measure, q, v, x, u, L, &L_size);
  measure_raise(&measure->momentum.P_size, P_size);
  measure_raise(&measure->momentum.L_size, L_size);
  P[dim - 1] += mass * perp_model_gravity_of(measure->model) * t;
  if (first) {
    memcpy(measure->momentum.P0, P, sizeof P);
    memcpy(measure->momentum.L0, L, sizeof L);
  }
  for (int i = 0; i < 3; i++) {
    dP[i] = measure->conserved.P[i] ? P[i] - measure->momentum.P0[i] : 0;
    dL[i] = L[i] - measure->momentum.L0[i];
  }
  measure_raise(&measure->momentum.P_err, sqrt(perp_dot(3, dP, dP)));
  measure_raise(&measure->momentum.L_err, sqrt(perp_dot(3, dL, dL)));
}

/* measure->conserved, from the model and from what its scene says: dissipative, driven, isolated.
 */
static void measure_conserved(perp_measure *measure)
{
  perp_conserved *conserved = &measure->conserved;
  if (measure->model != NULL) {
    perp_model_follow(measure->model, NULL);
    perp_model_conserved(measure->model, conserved);
  }
  conserved->energy = (measure->model == NULL || conserved->energy) &&
                      !measure->scene->dissipative && !measure->scene->driven;
  if (measure->model == NULL || !measure->scene->isolated) return;
  for (int k = 0; k < 3; k++) {
    conserved->P[k] = k < perp_model_dim(measure->model);
    conserved->L[k] = k == 2 || perp_model_dim(measure->model) == 3;
    conserved->fixed[k] = false;
  }
}

/* Measuring a run: its states one by one, and their differences from the truth. */

enum { LAMBDA_ROWS_MAX = 2000 }; /* beyond, reference multipliers cost more than the run */

static void measure_layout(void *measure, perp_arena *arena)
{
  perp_measure *m = measure;
  PERP_DOUBLES(arena, m->nq, &m->error.q_err, &m->error.q_ref, &m->before.q);
  PERP_DOUBLES(arena, m->nv, &m->error.v_err, &m->error.v_ref, &m->before.v, &m->scratch.f,
               &m->scratch.a);
  PERP_DOUBLES(arena, m->m, &m->error.lambda_err, &m->error.lambda_ref, &m->before.lambda_exact,
               &m->before.lambda_kept, &m->scratch.C, &m->scratch.rate, &m->scratch.c);
  if (m->model != NULL && perp_model_shapes(m->model) > 0) {
    perp_pose *pose = PERP_CARVE(arena, perp_pose, 1 + perp_model_bodies(m->model));
    m->scratch.pose = pose != NULL ? pose + 1 : NULL; /* the counting pass has no memory yet */
  }
}

/* Has a surface a velocity of its own, or friction that depends on the direction? */
static bool measure_surfaces_plain(const perp_measure *measure)
{
  for (int shape = 0; shape < perp_model_shapes(measure->model); shape++) {
    const perp_shape_def *def = perp_model_shape(measure->model, shape);
    for (int k = 0; k < 3; k++)
      if (def->belt[k] != 0 || def->belt_signal[k] != 0) return false;
    if (def->surface.mu_across > 0 || def->surface.torsion > 0 || def->surface.rolling > 0)
      return false;
  }
  return true;
}

/* collision detection of its own, so that penetration is judged at accepted states and alike for
 * all formulations, also for those that know no contact */
static perp_status create_collision(perp_ctx *ctx, perp_measure *measure)
{
  if (measure->scratch.pose == NULL) return PERP_OK;
  memset(&measure->scratch.pose[-1], 0, sizeof *measure->scratch.pose);
  const int dim = perp_model_dim(measure->model);
  for (int i = 0; i < dim; i++) measure->scratch.pose[-1].R[i * (dim + 1)] = 1;
  return perp_collision_create(ctx, measure->model, 0, &measure->scratch.collision);
}

/* Multipliers of the exact state: a direct solver that reports dependent rows.  Contacts, limits
 * and motors act on joints with forces that the state alone does not tell. */
static perp_status create_kkt(perp_ctx *ctx, perp_measure *measure)
{
  if (measure->m == 0 || measure->m > LAMBDA_ROWS_MAX) return PERP_OK;
  if (perp_model_shapes(measure->model) > 0 || perp_model_drives(measure->model) > 0)
    return PERP_OK;
  const char *name = measure->m <= 60 ? "schur-dense" : "tree";
  const perp_kkt_desc *kkt = (const perp_kkt_desc *)perp_find(ctx, PERP_KIND_kkt, name);
  perp_spec spec;
  if (kkt == NULL) return PERP_OK;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_kkt, name, &spec));
  perp_status status = kkt->create(ctx, perp_model_blocks(measure->model), spec.opts,
                                   &measure->scratch.kkt_ws);
  perp_spec_free(&spec);
  if (status == PERP_OK) measure->scratch.kkt_desc = kkt;
  return status;
}

perp_status perp_measure_create(perp_ctx *ctx, const perp_scene *scene, perp_measure **out)
{
  perp_model *model = scene->model;
  perp_measure like = { .ctx = ctx,
                        .scene = scene,
                        .model = model,
                        .nq = model != NULL ? perp_model_nq(model) : scene->ode->nq,
                        .nv = model != NULL ? perp_model_nv(model) : scene->ode->nv,
                        .m = model != NULL ? perp_model_m(model) : 0,
                        .energy = { .potential_lo = HUGE_VAL, .potential_hi = -HUGE_VAL },
                        .drift = { .acc = nan("") },
                        .joint = { .force_max = nan(""),
                                   .force_min = nan(""),
                                   .length_max = nan(""),
                                   .angle_max = nan("") },
                        .contact = { .err = nan("") },
                        .run = { .cpu_s = nan(""),
                                 .step_us = nan(""),
                                 .alone_us = { nan(""), nan(""), nan(""), nan("") },
                                 .work = { nan(""), nan(""), nan(""), nan("") } } };
  void *block;
  *out = NULL;
  PERP_TRY(perp_workspace_create(ctx, "measurements", &like, sizeof like, measure_layout, &block));
  perp_measure *measure = block;
  double *const columns[] = { measure->error.q_err,      measure->error.q_ref,
                              measure->error.v_err,      measure->error.v_ref,
                              measure->error.lambda_err, measure->error.lambda_ref };
  const int lengths[] = {
    measure->nq, measure->nq, measure->nv, measure->nv, measure->m, measure->m
  };
  for (int i = 0; i < 6; i++) memset(columns[i], 0, (size_t)lengths[i] * sizeof(double));
  for (int body = 0; model != NULL && body < perp_model_bodies(model); body++)
    measure->contact.weight += perp_model_body(model, body)->mass.mass * fabs(scene->gravity);
  for (int gauge = 0; gauge < scene->n_gauges; gauge++)
    if (scene->gauge[gauge].restart != NULL) scene->gauge[gauge].restart(scene->gauge[gauge].user);
  const perp_desc *metric;
  for (int i = 0; (metric = perp_plugin_at(ctx, PERP_KIND_metric, i)) != NULL; i++)
    if (metric->caps & PERP_METRIC_MOTION) measure->motion.wanted = true;
  measure_conserved(measure);
  if (model != NULL && !measure_surfaces_plain(measure)) measure->contact.undissipated = nan("");
  perp_status status = create_collision(ctx, measure);
  if (status == PERP_OK) status = create_kkt(ctx, measure);
  if (status == PERP_OK)
    *out = measure;
  else
    perp_measure_destroy(measure);
  return status;
}

void perp_measure_destroy(perp_measure *measure)
{
  if (measure == NULL) return;
  if (measure->scratch.kkt_desc != NULL)
    ((const perp_kkt_desc *)measure->scratch.kkt_desc)->destroy(measure->scratch.kkt_ws);
  perp_collision_destroy(measure->scratch.collision);
  free(measure->motion.row);
  free(measure);
}

void perp_solution_steps_add(perp_solution_steps *steps, const perp_contact_count *after,
                             const perp_contact_count *before)
{
  steps->steps++;
  steps->open += after->open > before->open;
  steps->several += after->several > before->several;
  steps->chosen += after->chosen > before->chosen;
  steps->unexamined += after->unexamined > before->unexamined;
  steps->undecided += after->undecided > before->undecided;
}

/* *most = max(*most, x); a NaN stays */
static void measure_raise_to(double *most, double x)
{
  if (!(x <= *most) && !isnan(*most)) *most = x;
}

/* largest |x_i|; NaN when there is one */
static double measure_norm(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++) measure_raise_to(&most, fabs(x[i]));
  return most;
}

static double mean_error(const perp_measure *measure)
{
  const int joints = perp_model_joints(measure->model);
  double sum = 0;
  for (int joint = 0; joint < joints; joint++) {
    int rows, row = perp_model_joint_row(measure->model, joint, &rows);
    double square = 0;
    for (int i = row; i < row + rows; i++) square += measure->scratch.C[i] * measure->scratch.C[i];
    sum += sqrt(square);
  }
  return joints > 0 ? sum / joints : 0;
}

/* rows of joints that hold no more are not violated */
static void forget_released(const perp_measure *measure, const perp_step_info *info, double *x)
{
  for (int joint = 0;
       info != NULL && info->released != NULL && joint < perp_model_joints(measure->model);
       joint++) {
    int rows, row = perp_model_joint_row(measure->model, joint, &rows);
    for (int i = row; i < row + rows && info->released[joint]; i++) x[i] = 0;
  }
}

/* |J a + Jdot v| with M a = f + J' lambda at the state before */
static double acceleration_error(perp_measure *measure, const perp_step_info *info)
{
  const double t = measure->before.t;
  const perp_blocks *blocks = perp_model_assemble(measure->model, t, measure->before.q);
  perp_model_forces(measure->model, t, measure->before.q, measure->before.v, measure->scratch.f);
  perp_blocks_Jt(blocks, 1, info->lambda, measure->scratch.f);
  perp_blocks_Minv(blocks, measure->scratch.f, measure->scratch.a);
  perp_model_jdotv(measure->model, t, measure->before.q, measure->before.v, measure->scratch.c);
  perp_blocks_J(blocks, 1, measure->scratch.a, measure->scratch.c);
  forget_released(measure, info, measure->scratch.c);
  perp_model_rigid_rows(measure->model, measure->scratch.c);
  return measure_norm(measure->m, measure->scratch.c);
}

/* Forces of the joints in the step, with J at its start as last assembled. */
static void measure_forces(perp_measure *measure, const perp_step_info *info)
{
  for (int joint = 0; joint < perp_model_joints(measure->model); joint++) {
    if (info->released != NULL && info->released[joint]) continue;
    const double F = perp_model_joint_force(measure->model, perp_model_blocks(measure->model),
                                            joint, info->lambda);
    measure->joint.force_max = fmax(measure->joint.force_max, F); /* NaN so far: F */
    measure->joint.force_min = fmin(measure->joint.force_min, F);
  }
}

static void measure_rigidity(perp_measure *measure, const perp_step_info *info)
{
  for (int body = 0; body < 6 * perp_model_bodies(measure->model); body++) {
    double *most = body % 6 < 3 ? &measure->joint.length_max : &measure->joint.angle_max;
    *most = fmax(*most, fabs(info->rigidity[body]));
  }
}

/* one comparison of n numbers, raising the columns; returns the largest difference */
static double measure_compare(int n, const double *x, const double *ref, double sign, double *err,
                              double *size)
{
  double most = 0;
  for (int i = 0; i < n; i++) {
    double e = fabs(x[i] - sign * ref[i]);
    measure_raise_to(&err[i], e);
    measure_raise_to(&size[i], fabs(ref[i]));
    measure_raise_to(&most, e);
  }
  return most;
}

/* Energy that the multipliers of the step gave to the bodies: an impulse h lambda gives h lambda' J
 * (v + v+) / 2 with the J where it acts, a force h lambda' J v.  J v + C_t in place of J v: motions
 * may do work. */
static void measure_work(perp_measure *measure, double t, const double *v,
                         const perp_step_info *info)
{
  const double part = measure->run.impulses ? 0.5 : 1;
  if (info == NULL || info->lambda == NULL) return;
  for (int end = 0; end < (measure->run.impulses ? 2 : 1); end++) {
    perp_model_rate(measure->model, measure->before.t, measure->before.q,
                    end == 0 ? measure->before.v : v, measure->scratch.rate);
    forget_released(measure, info, measure->scratch.rate);
    perp_model_rigid_rows(measure->model, measure->scratch.rate);
    for (int i = 0; i < measure->m; i++)
      measure->joint.work += part * (t - measure->before.t) * info->lambda[i] *
                             measure->scratch.rate[i];
  }
  measure_raise_to(&measure->joint.work_most, fabs(measure->joint.work));
}

/* With a contact tolerance separations below it count, too. */
static void measure_penetration(perp_measure *measure, const double *q, const perp_step_info *info)
{
  const double tolerance = info != NULL ? info->tolerance : 0;
  if (measure->scratch.collision == NULL) return;
  const int dim = perp_model_dim(measure->model), nqb = dim == 3 ? 7 : 3;
  for (int body = 0; body < perp_model_bodies(measure->model); body++)
    perp_pose_of(dim, q + body * nqb, &measure->scratch.pose[body]);
  perp_collision_margin(measure->scratch.collision, tolerance);
  const double gap = perp_collision_deepest(NULL, measure->scratch.collision,
                                            measure->scratch.pose);
  measure_raise_to(&measure->contact.pen, -gap);
  if (!(tolerance > 0)) return;
  if (isnan(measure->contact.err)) measure->contact.err = 0;
  measure_raise_to(&measure->contact.err, tolerance - gap);
}

/* Is there a step with impulses?  A contact presses in it with a normal impulse above *least. */
static bool measure_pressing(const perp_measure *measure, const perp_step_info *info, double *least)
{
  double most = 0;
  if (measure->scratch.collision == NULL || info == NULL || info->impulse == NULL) return false;
  for (int contact = 0; contact < info->n_contacts; contact++)
    most = fmax(most, perp_dot(3, info->contacts[contact].n, info->impulse + 3 * contact));
  *least = 1e-6 * most;
  return true;
}

/* How far the shapes that pressed each other in the step are apart at its end, at
 * measure->scratch.pose.
 */
static void measure_lift(perp_measure *measure, const perp_step_info *info)
{
  double least;
  if (!measure_pressing(measure, info, &least)) return;
  for (int contact = 0; contact < info->n_contacts; contact++) {
    const perp_contact *touch = &info->contacts[contact];
    if (!(perp_dot(3, touch->n, info->impulse + 3 * contact) > least)) continue;
    measure_raise_to(&measure->contact.lift,
                     perp_shape_distance(measure->model, touch->shape[0],
                                         &measure->scratch.pose[touch->body[0]], touch->shape[1],
                                         &measure->scratch.pose[touch->body[1]], NULL, NULL, NULL));
  }
}

/* Velocity of b relative to a at a contact, at the end of the step; its arms are those of the
 * start, where it was found. */
static void contact_slip(const perp_measure *measure, const perp_contact *contact, const double *v,
                         double u[3])
{
  const int dim = perp_model_dim(measure->model), nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3;
  double middle[3];
  perp_contact_middle(contact, middle);
  u[0] = u[1] = u[2] = 0;
  for (int side = 0; side < 2; side++) {
    const int b = contact->body[side];
    if (b < 0) continue;
    double r[3] = { 0 }, w[3] = { 0 }, turn[3];
    for (int i = 0; i < dim; i++) r[i] = middle[i] - measure->before.q[nqb * b + i];
    if (dim == 3)
      perp_turn(3, measure->scratch.pose[b].R, v + nvb * b + 3, w);
    else
      w[2] = v[nvb * b + 2];
    perp_cross(w, r, turn);
    for (int i = 0; i < dim; i++) u[i] += (side == 0 ? -1 : 1) * (v[nvb * b + i] + turn[i]);
  }
}

/* Signorini's law on velocities, and the principle of maximum dissipation, of the reported impulses
 * P = n P_N + P_T and the slip u at the end of the step: P_N > 0 and no restitution has u_N = 0,
 * and friction takes mu P_N |u_T|, not -P_T . u_T.  Not of surfaces that move, resist rolling or
 * have a grain.
 */
static void measure_contact_laws(perp_measure *m, const double *v, const perp_step_info *info)
{
  double least;
  if (!measure_pressing(m, info, &least)) return;
  for (int c = 0; c < info->n_contacts; c++) {
    const perp_contact *x = &info->contacts[c];
    const double *P = info->impulse + 3 * c, normal = perp_dot(3, x->n, P);
    double u[3], along = 0, square = 0;
    if (!(normal > least)) continue;
    contact_slip(m, x, v, u);
    const double speed = perp_dot(3, x->n, u);
    if (!(x->e > 0)) measure_raise_to(&m->contact.signorini, fabs(speed));
    for (int i = 0; i < 3; i++) {
      const double slip = u[i] - speed * x->n[i];
      square += slip * slip;
      along += slip * P[i];
    }
    m->contact.undissipated += fabs(x->mu_dynamic * normal * sqrt(square) + along);
  }
}

/* A further state of the motion.  Without memory there is none any more: row NULL, room < 0. */
static void measure_keep(perp_measure *measure, double t, const double *q, const double *v)
{
  const size_t width = 1 + (size_t)measure->nq + (size_t)measure->nv;
  if (measure->states >= measure->motion.room && measure->motion.room >= 0) {
    const int64_t room = 2 * measure->states + 64;
    double *row = realloc(measure->motion.row, (size_t)room * width * sizeof *row);
    if (row == NULL) free(measure->motion.row);
    measure->motion.row = row;
    measure->motion.room = row != NULL ? room : -1;
  }
  if (measure->motion.row == NULL) return;
  double *row = measure->motion.row + (size_t)measure->states * width;
  row[0] = t;
  memcpy(row + 1, q, (size_t)measure->nq * sizeof *row);
  if (measure->nv > 0) memcpy(row + 1 + measure->nq, v, (size_t)measure->nv * sizeof *row);
}

int64_t perp_measure_motion(const perp_measure *measure, const double **row)
{
  *row = measure->motion.row;
  if (measure->motion.row != NULL || measure->states == 0) return measure->states;
  PERP_FAIL(measure->ctx, PERP_ERR_NOMEM,
            "no memory for the motion of the run, which a metric reads");
  return -1;
}

void perp_measure_state(perp_measure *measure, double t, const double *q, const double *v,
                        const perp_step_info *info)
{
  if (measure->motion.wanted) measure_keep(measure, t, q, v);
  const bool first = measure->states++ == 0;
  measure->now.t = t;
  measure->now.err_q = measure->now.err_v = measure->now.err_tip = nan("");
  double kinetic = nan(""), potential = 0;
  if (measure->model != NULL) {
    perp_model_follow(measure->model, q);
    perp_model_energy(measure->model, t, q, v, &kinetic, &potential);
  } else if (measure->scene->ode_energy != NULL) {
    kinetic = measure->scene->ode_energy(measure->scene->ode->user, q, v);
  }
  measure->now.energy = kinetic + potential;
  if (first) measure->energy.start = measure->energy.least = measure->now.energy;
  measure->energy.least = fmin(measure->energy.least, measure->now.energy);
  measure_raise_to(&measure->energy.gain, measure->now.energy - measure->energy.least);
  measure_raise_to(&measure->energy.err, fabs(measure->now.energy - measure->energy.start));
  measure_raise_to(&measure->energy.kinetic_max, kinetic);
  measure->energy.potential_lo = fmin(measure->energy.potential_lo, potential);
  measure->energy.potential_hi = fmax(measure->energy.potential_hi, potential);
  if (measure->model != NULL) measure_momentum(measure, t, q, v, first);

  measure_penetration(measure, q, info);
  measure_lift(measure, info);
  if (!isnan(measure->contact.undissipated)) measure_contact_laws(measure, v, info);
  for (int gauge = 0; gauge < measure->scene->n_gauges; gauge++)
    if (measure->scene->gauge[gauge].sample != NULL)
      measure->scene->gauge[gauge].sample(measure->scene->gauge[gauge].user, t, q, v, info);

  if (info != NULL) measure->run.h_stable = info->h_stable;
  measure->before.released = info != NULL && info->n_releases > 0;
  measure->now.drift_pos = measure->now.drift_pos_mean = measure->now.drift_pre =
      measure->now.drift_vel = 0;
  measure->now.drift_acc = nan("");
  if (measure->model != NULL && info != NULL && info->rigidity != NULL)
    measure_rigidity(measure, info);
  if (measure->m > 0) {
    measure_work(measure, t, v, info);
    if (info != NULL && info->lambda != NULL) {
      measure->now.drift_acc = acceleration_error(measure, info);
      measure_forces(measure, info);
      if (measure->before.lambda_waits) {
        measure_compare(measure->m, info->lambda, measure->before.lambda_exact, 1,
                        measure->error.lambda_err, measure->error.lambda_ref);
        measure->error.lambda_compared++;
      }
    }
    if (!first && !isnan(measure->now.drift_acc))
      measure->drift.acc = fmax(measure->drift.acc, measure->now.drift_acc);
    perp_model_error(measure->model, t, q, measure->scratch.C);
    forget_released(measure, info, measure->scratch.C);
    measure->now.drift_pos = measure->now.drift_pre = measure_norm(measure->m, measure->scratch.C);
    measure->now.drift_pos_mean = mean_error(measure);
    perp_model_rate(measure->model, t, q, v, measure->scratch.rate);
    forget_released(measure, info, measure->scratch.rate);
    perp_model_rigid_rows(measure->model, measure->scratch.rate);
    measure->now.drift_vel = measure_norm(measure->m, measure->scratch.rate);
    if (info != NULL && !isnan(info->drift_pos_pre)) measure->now.drift_pre = info->drift_pos_pre;
  }
  measure->before.lambda_waits = false;
  measure->before.t = t;
  memcpy(measure->before.q, q, (size_t)measure->nq * sizeof *q);
  if (measure->nv > 0) memcpy(measure->before.v, v, (size_t)measure->nv * sizeof *v);
  measure_raise_to(&measure->drift.pos, measure->now.drift_pos);
  measure_raise_to(&measure->drift.pre, measure->now.drift_pre);
  measure_raise_to(&measure->drift.vel, measure->now.drift_vel);
  measure->drift.mean_sum += measure->now.drift_pos_mean;
}

/* multipliers of the exact state, for the step that starts there */
static void exact_lambda(perp_ctx *ctx, perp_measure *measure, const double *q_ref,
                         const double *v_ref)
{
  const perp_kkt_desc *kkt = measure->scratch.kkt_desc;
  perp_stats stats = { 0 };
  for (int i = 0; i < measure->nq; i++)
    if (isnan(q_ref[i])) return;
  for (int i = 0; i < measure->nv; i++)
    if (isnan(v_ref[i])) return;
  const perp_blocks *blocks = perp_model_assemble(measure->model, measure->now.t, q_ref);
  perp_model_forces(measure->model, measure->now.t, q_ref, v_ref, measure->scratch.f);
  perp_model_jdotv(measure->model, measure->now.t, q_ref, v_ref, measure->scratch.c);
  for (int i = 0; i < measure->m; i++) measure->scratch.c[i] = -measure->scratch.c[i];
  /* dependent rows have no multiplier to compare with; a failure here is no failure of the run */
  if (kkt->factor(ctx, measure->scratch.kkt_ws, blocks, &stats) != PERP_OK ||
      stats.reason != PERP_EXACT)
    return;
  memset(measure->before.lambda_exact, 0,
         (size_t)measure->m * sizeof *measure->before.lambda_exact);
  if (kkt->solve(ctx, measure->scratch.kkt_ws, blocks, measure->scratch.f, measure->scratch.c,
                 measure->scratch.a, measure->before.lambda_exact, &stats) != PERP_OK)
    return;
  measure->before.lambda_waits = stats.reason == PERP_EXACT;
}

/* Places and orientations of bodies against the truth. */
static void measure_bodies(perp_measure *measure, const double *q, const double *q_ref)
{
  const int d = perp_model_dim(measure->model), nqb = d == 3 ? 7 : 3;
  for (int body = 0; body < perp_model_bodies(measure->model); body++) {
    const double *x = q + nqb * body, *y = q_ref + nqb * body;
    double off[3] = { 0 }, turn[3] = { 0 };
    for (int k = 0; k < d; k++) off[k] = x[k] - y[k];
    if (d == 3)
      perp_quat_difference(y + 3, x + 3, turn);
    else
      turn[2] = remainder(x[2] - y[2], 2 * M_PI);
    measure_raise_to(&measure->error.place_max, sqrt(perp_dot(3, off, off)));
    measure_raise_to(&measure->error.turn_max, sqrt(perp_dot(3, turn, turn)));
  }
}

static void measure_errors(perp_measure *measure, const double *q, const double *v,
                           const double *q_ref, const double *v_ref)
{
  measure->error.compared++;
  measure->error.compared_until = measure->now.t;
  measure->now.err_q = measure->now.err_v = 0;
  measure->now.err_tip = nan("");
  if (measure->model != NULL && perp_model_dim(measure->model) == 3) {
    for (int body = 0; body < perp_model_bodies(measure->model); body++) {
      const double *x = q + 7 * body, *y = q_ref + 7 * body;
      double sign = x[3] * y[3] + x[4] * y[4] + x[5] * y[5] + x[6] * y[6] < 0 ? -1 : 1;
      measure_raise_to(&measure->now.err_q,
                       measure_compare(3, x, y, 1, measure->error.q_err + 7 * body,
                                       measure->error.q_ref + 7 * body));
      if (!isnan(y[3])) /* an orientation that the reference leaves out */
        measure_raise_to(&measure->now.err_q,
                         measure_compare(4, x + 3, y + 3, sign, measure->error.q_err + 7 * body + 3,
                                         measure->error.q_ref + 7 * body + 3));
    }
  } else {
    measure->now.err_q = measure_compare(measure->nq, q, q_ref, 1, measure->error.q_err,
                                         measure->error.q_ref);
  }
  measure->now.err_v = measure_compare(measure->nv, v, v_ref, 1, measure->error.v_err,
                                       measure->error.v_ref);
  if (measure->model != NULL) measure_bodies(measure, q, q_ref);
  if (measure->error.compared == 1)
    measure->run.start_off = perp_measure_largest(measure->nq, measure->error.q_err);
  if (measure->model != NULL && measure->scene->tip_body != PERP_WORLD) {
    double p[3], ref[3];
    perp_model_point(measure->model, q, measure->scene->tip_body, measure->scene->tip, p);
    perp_model_point(measure->model, q_ref, measure->scene->tip_body, measure->scene->tip, ref);
    for (int i = 0; i < 3; i++) p[i] -= ref[i];
    measure->now.err_tip = sqrt(perp_dot(3, p, p));
    measure_raise_to(&measure->error.tip_max, measure->now.err_tip);
    measure->error.tip_end = measure->now.err_tip;
  }
}

void perp_measure_compare(perp_ctx *ctx, perp_measure *measure, const double *q, const double *v,
                          const double *q_ref, const double *v_ref)
{
  measure_errors(measure, q, v, q_ref, v_ref);
  if (measure->scratch.kkt_desc != NULL && !measure->before.released)
    exact_lambda(ctx, measure, q_ref, v_ref);
}

void perp_measure_compare_between(perp_ctx *ctx, perp_measure *measure, double t, const double *q,
                                  const double *v, const double *q_ref, const double *v_ref,
                                  const double *lambda)
{
  const double here = measure->now.t;
  measure->now.t = t;
  measure_errors(measure, q, v, q_ref, v_ref);
  if (measure->scratch.kkt_desc != NULL && !measure->before.released && lambda != NULL &&
      measure->m > 0 && !isnan(lambda[0])) {
    /* the multipliers that the accepted state before waits with are for the next one */
    const size_t size = (size_t)measure->m * sizeof *lambda;
    const bool waits = measure->before.lambda_waits;
    memcpy(measure->before.lambda_kept, measure->before.lambda_exact, size);
    measure->before.lambda_waits = false;
    exact_lambda(ctx, measure, q_ref, v_ref);
    if (measure->before.lambda_waits) {
      measure_compare(measure->m, lambda, measure->before.lambda_exact, 1,
                      measure->error.lambda_err, measure->error.lambda_ref);
      measure->error.lambda_compared++;
    }
    memcpy(measure->before.lambda_exact, measure->before.lambda_kept, size);
    measure->before.lambda_waits = waits;
  }
  measure->now.t = here;
}
