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
static void measure_spin(const perp_measure *m, int body, const double *q, const double *v,
                         const double about[3], const double along[3], double L[3], double *size)
{
  const perp_mass *mass = &perp_model_body(m->model, body)->mass;
  const int dim = perp_model_dim(m->model), nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3;
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
static void invariants_angular(const perp_measure *m, const double *q, const double *v,
                               const double center[3], const double velocity[3], double L[3],
                               double *size)
{
  static const double still[3] = { 0 };
  const perp_conserved *c = &m->conserved;
  for (int k = 0; k < 3; k++) {
    double all[3] = { 0 }, sum = 0;
    L[k] = 0;
    if (!c->L[k]) continue;
    for (int b = 0; b < perp_model_bodies(m->model); b++)
      measure_spin(m, b, q, v, c->fixed[k] ? c->center[k] : center, c->fixed[k] ? still : velocity,
                   all, &sum);
    L[k] = all[k];
    *size = fmax(*size, sum);
  }
}

/* Momenta of an accepted state into the figures of the run.  No allocation, O(bodies). */
static void measure_momentum(perp_measure *m, double t, const double *q, const double *v,
                             bool first)
{
  const int dim = perp_model_dim(m->model), nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3;
  double P[3] = { 0 }, L[3], x[3] = { 0 }, u[3] = { 0 }, dP[3], dL[3], mass = 0, P_size = 0,
         L_size = 0;
  for (int b = 0; b < perp_model_bodies(m->model); b++) {
    const double mb = perp_model_body(m->model, b)->mass.mass, *y = v + b * nvb;
    for (int i = 0; i < dim; i++) x[i] += mb * q[b * nqb + i], P[i] += mb * y[i];
    P_size += mb * sqrt(perp_dot(dim, y, y));
    mass += mb;
  }
  for (int i = 0; i < dim; i++) x[i] /= mass, u[i] = P[i] / mass;
  invariants_angular(m, q, v, x, u, L, &L_size);
  measure_raise(&m->momentum.P_size, P_size);
  measure_raise(&m->momentum.L_size, L_size);
  P[dim - 1] += mass * perp_model_gravity_of(m->model) * t;
  if (first) {
    memcpy(m->momentum.P0, P, sizeof P);
    memcpy(m->momentum.L0, L, sizeof L);
  }
  for (int i = 0; i < 3; i++) {
    dP[i] = m->conserved.P[i] ? P[i] - m->momentum.P0[i] : 0;
    dL[i] = L[i] - m->momentum.L0[i];
  }
  measure_raise(&m->momentum.P_err, sqrt(perp_dot(3, dP, dP)));
  measure_raise(&m->momentum.L_err, sqrt(perp_dot(3, dL, dL)));
}

/* m->conserved, from the model and from what its scene says: dissipative, driven, isolated. */
static void measure_conserved(perp_measure *m)
{
  perp_conserved *c = &m->conserved;
  if (m->model != NULL) {
    perp_model_follow(m->model, NULL);
    perp_model_conserved(m->model, c);
  }
  c->energy = (m->model == NULL || c->energy) && !m->scene->dissipative && !m->scene->driven;
  if (m->model == NULL || !m->scene->isolated) return;
  for (int k = 0; k < 3; k++) {
    c->P[k] = k < perp_model_dim(m->model);
    c->L[k] = k == 2 || perp_model_dim(m->model) == 3;
    c->fixed[k] = false;
  }
}

/* Measuring a run: its states one by one, and their differences from the truth. */

enum { LAMBDA_ROWS_MAX = 2000 }; /* beyond, reference multipliers cost more than the run */

static void measure_layout(void *measure, perp_arena *a)
{
  perp_measure *m = measure;
  PERP_DOUBLES(a, m->nq, &m->error.q_err, &m->error.q_ref, &m->before.q);
  PERP_DOUBLES(a, m->nv, &m->error.v_err, &m->error.v_ref, &m->before.v, &m->scratch.f,
               &m->scratch.a);
  PERP_DOUBLES(a, m->m, &m->error.lambda_err, &m->error.lambda_ref, &m->before.lambda_exact,
               &m->before.lambda_kept, &m->scratch.C, &m->scratch.rate, &m->scratch.c);
  if (m->model != NULL && perp_model_shapes(m->model) > 0) {
    perp_pose *pose = PERP_CARVE(a, perp_pose, 1 + perp_model_bodies(m->model));
    m->scratch.pose = pose != NULL ? pose + 1 : NULL; /* the counting pass has no memory yet */
  }
}

/* Has a surface a velocity of its own, or friction that depends on the direction? */
static bool measure_surfaces_plain(const perp_measure *m)
{
  for (int i = 0; i < perp_model_shapes(m->model); i++) {
    const perp_shape_def *def = perp_model_shape(m->model, i);
    for (int k = 0; k < 3; k++)
      if (def->belt[k] != 0 || def->belt_signal[k] != 0) return false;
    if (def->surface.mu_across > 0 || def->surface.torsion > 0 || def->surface.rolling > 0)
      return false;
  }
  return true;
}

/* collision detection of its own, so that penetration is judged at accepted states and alike for
 * all formulations, also for those that know no contact */
static perp_status create_collision(perp_ctx *ctx, perp_measure *m)
{
  if (m->scratch.pose == NULL) return PERP_OK;
  memset(&m->scratch.pose[-1], 0, sizeof *m->scratch.pose);
  const int dim = perp_model_dim(m->model);
  for (int i = 0; i < dim; i++) m->scratch.pose[-1].R[i * (dim + 1)] = 1;
  return perp_collision_create(ctx, m->model, 0, &m->scratch.collision);
}

/* Multipliers of the exact state: a direct solver that reports dependent rows.  Contacts, limits
 * and motors act on joints with forces that the state alone does not tell. */
static perp_status create_kkt(perp_ctx *ctx, perp_measure *m)
{
  if (m->m == 0 || m->m > LAMBDA_ROWS_MAX) return PERP_OK;
  if (perp_model_shapes(m->model) > 0 || perp_model_drives(m->model) > 0) return PERP_OK;
  const char *name = m->m <= 60 ? "schur-dense" : "tree";
  const perp_kkt_desc *kkt = (const perp_kkt_desc *)perp_find(ctx, PERP_KIND_kkt, name);
  perp_spec spec;
  if (kkt == NULL) return PERP_OK;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_kkt, name, &spec));
  perp_status status = kkt->create(ctx, perp_model_blocks(m->model), spec.opts, &m->scratch.kkt_ws);
  perp_spec_free(&spec);
  if (status == PERP_OK) m->scratch.kkt_desc = kkt;
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
  perp_measure *m = block;
  double *const columns[] = { m->error.q_err, m->error.q_ref,      m->error.v_err,
                              m->error.v_ref, m->error.lambda_err, m->error.lambda_ref };
  const int lengths[] = { m->nq, m->nq, m->nv, m->nv, m->m, m->m };
  for (int i = 0; i < 6; i++) memset(columns[i], 0, (size_t)lengths[i] * sizeof(double));
  for (int b = 0; model != NULL && b < perp_model_bodies(model); b++)
    m->contact.weight += perp_model_body(model, b)->mass.mass * fabs(scene->gravity);
  for (int i = 0; i < scene->n_gauges; i++)
    if (scene->gauge[i].restart != NULL) scene->gauge[i].restart(scene->gauge[i].user);
  const perp_desc *metric;
  for (int i = 0; (metric = perp_plugin_at(ctx, PERP_KIND_metric, i)) != NULL; i++)
    if (metric->caps & PERP_METRIC_MOTION) m->motion.wanted = true;
  measure_conserved(m);
  if (model != NULL && !measure_surfaces_plain(m)) m->contact.undissipated = nan("");
  perp_status status = create_collision(ctx, m);
  if (status == PERP_OK) status = create_kkt(ctx, m);
  if (status == PERP_OK)
    *out = m;
  else
    perp_measure_destroy(m);
  return status;
}

void perp_measure_destroy(perp_measure *m)
{
  if (m == NULL) return;
  if (m->scratch.kkt_desc != NULL)
    ((const perp_kkt_desc *)m->scratch.kkt_desc)->destroy(m->scratch.kkt_ws);
  perp_collision_destroy(m->scratch.collision);
  free(m->motion.row);
  free(m);
}

void perp_solution_steps_add(perp_solution_steps *s, const perp_contact_count *after,
                             const perp_contact_count *before)
{
  s->steps++;
  s->open += after->open > before->open;
  s->several += after->several > before->several;
  s->chosen += after->chosen > before->chosen;
  s->unexamined += after->unexamined > before->unexamined;
  s->undecided += after->undecided > before->undecided;
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

static double mean_error(const perp_measure *m)
{
  const int joints = perp_model_joints(m->model);
  double sum = 0;
  for (int j = 0; j < joints; j++) {
    int rows, row = perp_model_joint_row(m->model, j, &rows);
    double square = 0;
    for (int i = row; i < row + rows; i++) square += m->scratch.C[i] * m->scratch.C[i];
    sum += sqrt(square);
  }
  return joints > 0 ? sum / joints : 0;
}

/* rows of joints that hold no more are not violated */
static void forget_released(const perp_measure *m, const perp_step_info *info, double *x)
{
  for (int j = 0; info != NULL && info->released != NULL && j < perp_model_joints(m->model); j++) {
    int rows, row = perp_model_joint_row(m->model, j, &rows);
    for (int i = row; i < row + rows && info->released[j]; i++) x[i] = 0;
  }
}

/* |J a + Jdot v| with M a = f + J' lambda at the state before */
static double acceleration_error(perp_measure *m, const perp_step_info *info)
{
  const double t = m->before.t;
  const perp_blocks *B = perp_model_assemble(m->model, t, m->before.q);
  perp_model_forces(m->model, t, m->before.q, m->before.v, m->scratch.f);
  perp_blocks_Jt(B, 1, info->lambda, m->scratch.f);
  perp_blocks_Minv(B, m->scratch.f, m->scratch.a);
  perp_model_jdotv(m->model, t, m->before.q, m->before.v, m->scratch.c);
  perp_blocks_J(B, 1, m->scratch.a, m->scratch.c);
  forget_released(m, info, m->scratch.c);
  perp_model_rigid_rows(m->model, m->scratch.c);
  return measure_norm(m->m, m->scratch.c);
}

/* Forces of the joints in the step, with J at its start as last assembled. */
static void measure_forces(perp_measure *m, const perp_step_info *info)
{
  for (int i = 0; i < perp_model_joints(m->model); i++) {
    if (info->released != NULL && info->released[i]) continue;
    const double F = perp_model_joint_force(m->model, perp_model_blocks(m->model), i, info->lambda);
    m->joint.force_max = fmax(m->joint.force_max, F); /* NaN so far: F */
    m->joint.force_min = fmin(m->joint.force_min, F);
  }
}

static void measure_rigidity(perp_measure *m, const perp_step_info *info)
{
  for (int i = 0; i < 6 * perp_model_bodies(m->model); i++) {
    double *most = i % 6 < 3 ? &m->joint.length_max : &m->joint.angle_max;
    *most = fmax(*most, fabs(info->rigidity[i]));
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
static void measure_work(perp_measure *m, double t, const double *v, const perp_step_info *info)
{
  const double part = m->run.impulses ? 0.5 : 1;
  if (info == NULL || info->lambda == NULL) return;
  for (int end = 0; end < (m->run.impulses ? 2 : 1); end++) {
    perp_model_rate(m->model, m->before.t, m->before.q, end == 0 ? m->before.v : v,
                    m->scratch.rate);
    forget_released(m, info, m->scratch.rate);
    perp_model_rigid_rows(m->model, m->scratch.rate);
    for (int i = 0; i < m->m; i++)
      m->joint.work += part * (t - m->before.t) * info->lambda[i] * m->scratch.rate[i];
  }
  measure_raise_to(&m->joint.work_most, fabs(m->joint.work));
}

/* With a contact tolerance separations below it count, too. */
static void measure_penetration(perp_measure *m, const double *q, const perp_step_info *info)
{
  const double tolerance = info != NULL ? info->tolerance : 0;
  if (m->scratch.collision == NULL) return;
  const int dim = perp_model_dim(m->model), nqb = dim == 3 ? 7 : 3;
  for (int b = 0; b < perp_model_bodies(m->model); b++)
    perp_pose_of(dim, q + b * nqb, &m->scratch.pose[b]);
  perp_collision_margin(m->scratch.collision, tolerance);
  const double gap = perp_collision_deepest(NULL, m->scratch.collision, m->scratch.pose);
  measure_raise_to(&m->contact.pen, -gap);
  if (!(tolerance > 0)) return;
  if (isnan(m->contact.err)) m->contact.err = 0;
  measure_raise_to(&m->contact.err, tolerance - gap);
}

/* Is there a step with impulses?  A contact presses in it with a normal impulse above *least. */
static bool measure_pressing(const perp_measure *m, const perp_step_info *info, double *least)
{
  double most = 0;
  if (m->scratch.collision == NULL || info == NULL || info->impulse == NULL) return false;
  for (int c = 0; c < info->n_contacts; c++)
    most = fmax(most, perp_dot(3, info->contacts[c].n, info->impulse + 3 * c));
  *least = 1e-6 * most;
  return true;
}

/* How far the shapes that pressed each other in the step are apart at its end, at m->scratch.pose.
 */
static void measure_lift(perp_measure *m, const perp_step_info *info)
{
  double least;
  if (!measure_pressing(m, info, &least)) return;
  for (int c = 0; c < info->n_contacts; c++) {
    const perp_contact *x = &info->contacts[c];
    if (!(perp_dot(3, x->n, info->impulse + 3 * c) > least)) continue;
    measure_raise_to(&m->contact.lift,
                     perp_shape_distance(m->model, x->shape[0], &m->scratch.pose[x->body[0]],
                                         x->shape[1], &m->scratch.pose[x->body[1]], NULL, NULL,
                                         NULL));
  }
}

/* Velocity of b relative to a at a contact, at the end of the step; its arms are those of the
 * start, where it was found. */
static void contact_slip(const perp_measure *m, const perp_contact *x, const double *v, double u[3])
{
  const int dim = perp_model_dim(m->model), nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3;
  double middle[3];
  perp_contact_middle(x, middle);
  u[0] = u[1] = u[2] = 0;
  for (int side = 0; side < 2; side++) {
    const int b = x->body[side];
    if (b < 0) continue;
    double r[3] = { 0 }, w[3] = { 0 }, turn[3];
    for (int i = 0; i < dim; i++) r[i] = middle[i] - m->before.q[nqb * b + i];
    if (dim == 3)
      perp_turn(3, m->scratch.pose[b].R, v + nvb * b + 3, w);
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
static void measure_keep(perp_measure *m, double t, const double *q, const double *v)
{
  const size_t width = 1 + (size_t)m->nq + (size_t)m->nv;
  if (m->states >= m->motion.room && m->motion.room >= 0) {
    const int64_t room = 2 * m->states + 64;
    double *row = realloc(m->motion.row, (size_t)room * width * sizeof *row);
    if (row == NULL) free(m->motion.row);
    m->motion.row = row;
    m->motion.room = row != NULL ? room : -1;
  }
  if (m->motion.row == NULL) return;
  double *row = m->motion.row + (size_t)m->states * width;
  row[0] = t;
  memcpy(row + 1, q, (size_t)m->nq * sizeof *row);
  if (m->nv > 0) memcpy(row + 1 + m->nq, v, (size_t)m->nv * sizeof *row);
}

int64_t perp_measure_motion(const perp_measure *m, const double **row)
{
  *row = m->motion.row;
  if (m->motion.row != NULL || m->states == 0) return m->states;
  PERP_FAIL(m->ctx, PERP_ERR_NOMEM, "no memory for the motion of the run, which a metric reads");
  return -1;
}

void perp_measure_state(perp_measure *m, double t, const double *q, const double *v,
                        const perp_step_info *info)
{
  if (m->motion.wanted) measure_keep(m, t, q, v);
  const bool first = m->states++ == 0;
  m->now.t = t;
  m->now.err_q = m->now.err_v = m->now.err_tip = nan("");
  double kinetic = nan(""), potential = 0;
  if (m->model != NULL) {
    perp_model_follow(m->model, q);
    perp_model_energy(m->model, t, q, v, &kinetic, &potential);
  } else if (m->scene->ode_energy != NULL) {
    kinetic = m->scene->ode_energy(m->scene->ode->user, q, v);
  }
  m->now.energy = kinetic + potential;
  if (first) m->energy.start = m->energy.least = m->now.energy;
  m->energy.least = fmin(m->energy.least, m->now.energy);
  measure_raise_to(&m->energy.gain, m->now.energy - m->energy.least);
  measure_raise_to(&m->energy.err, fabs(m->now.energy - m->energy.start));
  measure_raise_to(&m->energy.kinetic_max, kinetic);
  m->energy.potential_lo = fmin(m->energy.potential_lo, potential);
  m->energy.potential_hi = fmax(m->energy.potential_hi, potential);
  if (m->model != NULL) measure_momentum(m, t, q, v, first);

  measure_penetration(m, q, info);
  measure_lift(m, info);
  if (!isnan(m->contact.undissipated)) measure_contact_laws(m, v, info);
  for (int i = 0; i < m->scene->n_gauges; i++)
    if (m->scene->gauge[i].sample != NULL)
      m->scene->gauge[i].sample(m->scene->gauge[i].user, t, q, v, info);

  if (info != NULL) m->run.h_stable = info->h_stable;
  m->before.released = info != NULL && info->n_releases > 0;
  m->now.drift_pos = m->now.drift_pos_mean = m->now.drift_pre = m->now.drift_vel = 0;
  m->now.drift_acc = nan("");
  if (m->model != NULL && info != NULL && info->rigidity != NULL) measure_rigidity(m, info);
  if (m->m > 0) {
    measure_work(m, t, v, info);
    if (info != NULL && info->lambda != NULL) {
      m->now.drift_acc = acceleration_error(m, info);
      measure_forces(m, info);
      if (m->before.lambda_waits) {
        measure_compare(m->m, info->lambda, m->before.lambda_exact, 1, m->error.lambda_err,
                        m->error.lambda_ref);
        m->error.lambda_compared++;
      }
    }
    if (!first && !isnan(m->now.drift_acc)) m->drift.acc = fmax(m->drift.acc, m->now.drift_acc);
    perp_model_error(m->model, t, q, m->scratch.C);
    forget_released(m, info, m->scratch.C);
    m->now.drift_pos = m->now.drift_pre = measure_norm(m->m, m->scratch.C);
    m->now.drift_pos_mean = mean_error(m);
    perp_model_rate(m->model, t, q, v, m->scratch.rate);
    forget_released(m, info, m->scratch.rate);
    perp_model_rigid_rows(m->model, m->scratch.rate);
    m->now.drift_vel = measure_norm(m->m, m->scratch.rate);
    if (info != NULL && !isnan(info->drift_pos_pre)) m->now.drift_pre = info->drift_pos_pre;
  }
  m->before.lambda_waits = false;
  m->before.t = t;
  memcpy(m->before.q, q, (size_t)m->nq * sizeof *q);
  if (m->nv > 0) memcpy(m->before.v, v, (size_t)m->nv * sizeof *v);
  measure_raise_to(&m->drift.pos, m->now.drift_pos);
  measure_raise_to(&m->drift.pre, m->now.drift_pre);
  measure_raise_to(&m->drift.vel, m->now.drift_vel);
  m->drift.mean_sum += m->now.drift_pos_mean;
}

/* multipliers of the exact state, for the step that starts there */
static void exact_lambda(perp_ctx *ctx, perp_measure *m, const double *q_ref, const double *v_ref)
{
  const perp_kkt_desc *kkt = m->scratch.kkt_desc;
  perp_stats stats = { 0 };
  for (int i = 0; i < m->nq; i++)
    if (isnan(q_ref[i])) return;
  for (int i = 0; i < m->nv; i++)
    if (isnan(v_ref[i])) return;
  const perp_blocks *B = perp_model_assemble(m->model, m->now.t, q_ref);
  perp_model_forces(m->model, m->now.t, q_ref, v_ref, m->scratch.f);
  perp_model_jdotv(m->model, m->now.t, q_ref, v_ref, m->scratch.c);
  for (int i = 0; i < m->m; i++) m->scratch.c[i] = -m->scratch.c[i];
  /* dependent rows have no multiplier to compare with; a failure here is no failure of the run */
  if (kkt->factor(ctx, m->scratch.kkt_ws, B, &stats) != PERP_OK || stats.reason != PERP_EXACT)
    return;
  memset(m->before.lambda_exact, 0, (size_t)m->m * sizeof *m->before.lambda_exact);
  if (kkt->solve(ctx, m->scratch.kkt_ws, B, m->scratch.f, m->scratch.c, m->scratch.a,
                 m->before.lambda_exact, &stats) != PERP_OK)
    return;
  m->before.lambda_waits = stats.reason == PERP_EXACT;
}

/* Places and orientations of bodies against the truth. */
static void measure_bodies(perp_measure *m, const double *q, const double *q_ref)
{
  const int d = perp_model_dim(m->model), nqb = d == 3 ? 7 : 3;
  for (int b = 0; b < perp_model_bodies(m->model); b++) {
    const double *x = q + nqb * b, *y = q_ref + nqb * b;
    double off[3] = { 0 }, turn[3] = { 0 };
    for (int k = 0; k < d; k++) off[k] = x[k] - y[k];
    if (d == 3)
      perp_quat_difference(y + 3, x + 3, turn);
    else
      turn[2] = remainder(x[2] - y[2], 2 * M_PI);
    measure_raise_to(&m->error.place_max, sqrt(perp_dot(3, off, off)));
    measure_raise_to(&m->error.turn_max, sqrt(perp_dot(3, turn, turn)));
  }
}

static void measure_errors(perp_measure *m, const double *q, const double *v, const double *q_ref,
                           const double *v_ref)
{
  m->error.compared++;
  m->error.compared_until = m->now.t;
  m->now.err_q = m->now.err_v = 0;
  m->now.err_tip = nan("");
  if (m->model != NULL && perp_model_dim(m->model) == 3) {
    for (int b = 0; b < perp_model_bodies(m->model); b++) {
      const double *x = q + 7 * b, *y = q_ref + 7 * b;
      double sign = x[3] * y[3] + x[4] * y[4] + x[5] * y[5] + x[6] * y[6] < 0 ? -1 : 1;
      measure_raise_to(&m->now.err_q,
                       measure_compare(3, x, y, 1, m->error.q_err + 7 * b, m->error.q_ref + 7 * b));
      if (!isnan(y[3])) /* an orientation that the reference leaves out */
        measure_raise_to(&m->now.err_q,
                         measure_compare(4, x + 3, y + 3, sign, m->error.q_err + 7 * b + 3,
                                         m->error.q_ref + 7 * b + 3));
    }
  } else {
    m->now.err_q = measure_compare(m->nq, q, q_ref, 1, m->error.q_err, m->error.q_ref);
  }
  m->now.err_v = measure_compare(m->nv, v, v_ref, 1, m->error.v_err, m->error.v_ref);
  if (m->model != NULL) measure_bodies(m, q, q_ref);
  if (m->error.compared == 1) m->run.start_off = perp_measure_largest(m->nq, m->error.q_err);
  if (m->model != NULL && m->scene->tip_body != PERP_WORLD) {
    double p[3], ref[3];
    perp_model_point(m->model, q, m->scene->tip_body, m->scene->tip, p);
    perp_model_point(m->model, q_ref, m->scene->tip_body, m->scene->tip, ref);
    for (int i = 0; i < 3; i++) p[i] -= ref[i];
    m->now.err_tip = sqrt(perp_dot(3, p, p));
    measure_raise_to(&m->error.tip_max, m->now.err_tip);
    m->error.tip_end = m->now.err_tip;
  }
}

void perp_measure_compare(perp_ctx *ctx, perp_measure *m, const double *q, const double *v,
                          const double *q_ref, const double *v_ref)
{
  measure_errors(m, q, v, q_ref, v_ref);
  if (m->scratch.kkt_desc != NULL && !m->before.released) exact_lambda(ctx, m, q_ref, v_ref);
}

void perp_measure_compare_between(perp_ctx *ctx, perp_measure *m, double t, const double *q,
                                  const double *v, const double *q_ref, const double *v_ref,
                                  const double *lambda)
{
  const double here = m->now.t;
  m->now.t = t;
  measure_errors(m, q, v, q_ref, v_ref);
  if (m->scratch.kkt_desc != NULL && !m->before.released && lambda != NULL && m->m > 0 &&
      !isnan(lambda[0])) {
    /* the multipliers that the accepted state before waits with are for the next one */
    const size_t size = (size_t)m->m * sizeof *lambda;
    const bool waits = m->before.lambda_waits;
    memcpy(m->before.lambda_kept, m->before.lambda_exact, size);
    m->before.lambda_waits = false;
    exact_lambda(ctx, m, q_ref, v_ref);
    if (m->before.lambda_waits) {
      measure_compare(m->m, lambda, m->before.lambda_exact, 1, m->error.lambda_err,
                      m->error.lambda_ref);
      m->error.lambda_compared++;
    }
    memcpy(m->before.lambda_exact, m->before.lambda_kept, size);
    m->before.lambda_waits = waits;
  }
  m->now.t = here;
}
