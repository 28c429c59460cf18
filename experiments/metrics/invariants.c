/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/metrics/invariants.h"

#include <math.h>
#include <string.h>

/* *most = max(*most, x); a NaN stays */
static void invariants_raise(double *most, double x)
{
  if (!(x <= *most) && !isnan(*most)) *most = x;
}

/* L of a body about the point, world; its parts add to *size. */
static void invariants_spin(const perp_measure *m, int body, const double *q, const double *v,
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
      invariants_spin(m, b, q, v, c->fixed[k] ? c->center[k] : center,
                      c->fixed[k] ? still : velocity, all, &sum);
    L[k] = all[k];
    *size = fmax(*size, sum);
  }
}

void perp_invariants_momentum(perp_measure *m, double t, const double *q, const double *v,
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
  invariants_raise(&m->P_size, P_size);
  invariants_raise(&m->L_size, L_size);
  P[dim - 1] += mass * perp_model_gravity_of(m->model) * t;
  if (first) {
    memcpy(m->P0, P, sizeof P);
    memcpy(m->L0, L, sizeof L);
  }
  for (int i = 0; i < 3; i++) {
    dP[i] = m->conserved.P[i] ? P[i] - m->P0[i] : 0;
    dL[i] = L[i] - m->L0[i];
  }
  invariants_raise(&m->P_err, sqrt(perp_dot(3, dP, dP)));
  invariants_raise(&m->L_err, sqrt(perp_dot(3, dL, dL)));
}

void perp_invariants_begin(perp_measure *m)
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
