/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The linearized step: D = d(state after a step) / d(state) by central differences of whole steps,
 * tangent coordinates, and its eigenvalues (LAPACK).
 *
 * |eigenvalue| > 1 is growth, of the motion or of the method.  Growth of the motion is exp(h r),
 * r the largest real part of an eigenvalue of the equations of motion.  (For a linear motion with
 * frequency omega, r = 0; symplectic Euler grows from h omega = 2 on, RK4 from 2.83 on, explicit
 * Euler always.)
 *
 * Eigenvalues of the equations of motion are those of (D - I) / delta of an explicit Euler step of
 * delta -> 0 on accelerations, without stabilization.  Where there is none, the growth of the
 * motion is that of 16 steps of h / 16. */
#include "experiments/why/evidence.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  LINEAR_FINE = 16,
  LINEAR_SHORT = 64,
  LINEAR_FEW = 2,
  LINEAR_WORK = 34,
  LINEAR_POWER = 40,
  LINEAR_NV = 90
};
static const double LINEAR_EPS = 1e-6, /* of the size; velocities: of the size over the time */
    LINEAR_JUMP = 0.1, LINEAR_AGREE = 0.05,
                    LINEAR_REST = 3e-5; /* of three eps, or there is no derivative */

/* A model or a plain ODE problem with its solver. */
typedef struct linear_map {
  perp_scene scene;
  perp_parts parts;
  perp_sim *sim;
  perp_ode *ode;
  double h, until; /* s; of the wall clock: later ones are not measured */
  int nq, nv, n;   /* n: numbers of a tangent */
} linear_map;

static void linear_close(linear_map *map)
{
  perp_sim_destroy(map->sim);
  perp_ode_destroy(map->ode);
  perp_parts_free(&map->parts);
  perp_scene_destroy(&map->scene);
}

static bool linear_open(perp_ctx *ctx, const perp_request *request, double h, linear_map *map)
{
  perp_spec scene = { 0 };
  bool adaptive;
  *map = (linear_map){ .h = h };
  if (perp_spec_parse(ctx, PERP_KIND_scene, request->scene, &scene) != PERP_OK) return false;
  const char *name = scene.d->name;
  perp_request own = *request;
  own.h = h;
  perp_status status = perp_scene_create(ctx, &scene, &map->scene);
  if (status == PERP_OK)
    status = perp_parts_read(ctx, &own, &map->scene, name, &map->parts, &adaptive);
  perp_spec_free(&scene);
  if (status != PERP_OK) return false;
  perp_model *model = map->scene.model;
  if (model != NULL) {
    map->nq = perp_model_nq(model);
    map->nv = perp_model_nv(model);
    map->n = 2 * map->nv;
    return perp_sim_create(ctx, model, &map->parts, h, &map->sim) == PERP_OK;
  }
  const perp_ode_sys *sys = map->scene.ode;
  map->nq = sys->nq;
  map->nv = sys->nv;
  map->n = sys->nq + sys->nv;
  return sys->retract == NULL &&
         perp_ode_create(ctx, &map->parts.ode, sys, h, &map->ode) == PERP_OK;
}

/* The simulation from (t, q1, v1) over `span`: q1, v1. */
static bool linear_from(perp_ctx *ctx, const linear_map *map, double t, double span, double *q1,
                        double *v1)
{
  const size_t nq = (size_t)map->nq, nv = (size_t)map->nv;
  if (perp_sim_restart(ctx, map->sim, t, q1, v1) != PERP_OK) return false;
  perp_step_info info = { 0 };
  double now = t;
  const double *a, *b;
  for (int k = 0; k < 2 * LINEAR_SHORT && !perp_cell_same_time(now, t + span); k++) {
    if (perp_sim_step(ctx, map->sim, t + span, &info) != PERP_OK || info.reason < 0) return false;
    perp_sim_state(map->sim, &now, &a, &b);
  }
  perp_sim_state(map->sim, &now, &a, &b);
  memcpy(q1, a, nq * sizeof *q1);
  memcpy(v1, b, nv * sizeof *v1);
  return perp_cell_same_time(now, t + span);
}

/* From (t, q, v), moved by eps along coordinate j, over `span`: q1, v1. */
static bool linear_step(perp_ctx *ctx, const linear_map *map, double t, const double *q,
                        const double *v, int j, double eps, double span, double *q1, double *v1)
{
  const size_t nq = (size_t)map->nq, nv = (size_t)map->nv;
  memcpy(q1, q, nq * sizeof *q);
  if (nv > 0) memcpy(v1, v, nv * sizeof *v);
  if (map->sim == NULL) {
    *(j < map->nq ? &q1[j] : &v1[j - map->nq]) += eps;
    if (perp_ode_restart(ctx, map->ode, t, q1, v1) != PERP_OK) return false;
    if (perp_ode_advance(ctx, map->ode, t + span, NULL) != PERP_ODE_REACHED) return false;
    memcpy(q1, perp_ode_q(map->ode), nq * sizeof *q);
    if (nv > 0) memcpy(v1, perp_ode_v(map->ode), nv * sizeof *v);
    return true;
  }
  if (j < map->nv) {
    double *dq = perp_xalloc(nv, sizeof *dq);
    dq[j] = eps;
    perp_model_retract(map->scene.model, q, dq, q1);
    free(dq);
  } else
    v1[j - map->nv] += eps;
  return linear_from(ctx, map, t, span, q1, v1);
}

/* D [n n]; false: a step failed. */
static bool linear_matrix(perp_ctx *ctx, const linear_map *map, double t, const double *q,
                          const double *v, double span, double eps, double eps_v, double *D)
{
  const size_t nq = (size_t)map->nq, nv = (size_t)map->nv, n = (size_t)map->n;
  double *memory = perp_xalloc(2 * (nq + nv), sizeof *memory), *q0 = memory, *q1 = q0 + nq,
         *v0 = q1 + nq, *v1 = v0 + nv;
  bool done = true;
  for (int j = 0; j < map->n && done; j++) {
    if (map->until > 0 && perp_clock_wall() > map->until) done = false;
    if (!done) break;
    double *out = D + n * (size_t)j;
    const size_t split = n - nv;
    const double by = (size_t)j < split ? eps : eps_v;
    done = linear_step(ctx, map, t, q, v, j, -by, span, q0, v0) &&
           linear_step(ctx, map, t, q, v, j, by, span, q1, v1);
    if (!done) break;
    if (map->sim != NULL)
      perp_model_difference(map->scene.model, q0, q1, out);
    else
      for (size_t i = 0; i < nq; i++) out[i] = q1[i] - q0[i];
    for (size_t i = 0; i < nv; i++) out[split + i] = v1[i] - v0[i];
    for (size_t i = 0; i < n; i++) {
      out[i] /= 2 * by;
      done = done && isfinite(out[i]);
    }
  }
  free(memory);
  return done;
}

/* |eigenvalues| [n]; *real the largest real part; D is destroyed.  vector [n] (NULL: not wanted):
 * the real part of the eigenvector of the largest. */
static bool linear_eigenvalues(int n, double *D, double *size, double *real, double *vector)
{
  double *V = vector != NULL ? perp_xalloc((size_t)n * (size_t)n, sizeof *V) : NULL;
  const int room = LINEAR_WORK * n;
  double *imaginary = perp_xalloc((size_t)(n + room), sizeof *imaginary);
  const int info = LAPACKE_dgeev_work(LAPACK_COL_MAJOR, 'N', V != NULL ? 'V' : 'N', n, D, n, size,
                                      imaginary, NULL, 1, V, n, imaginary + n, room);
  *real = -HUGE_VAL;
  for (int i = 0; i < n; i++) {
    *real = fmax(*real, size[i]);
    size[i] = hypot(size[i], imaginary[i]);
  }
  for (int i = 0, at = 0; V != NULL && i < n; i++) {
    if (size[i] > size[at]) at = i;
    /* of a pair the first column is the real part */
    if (i == n - 1) memcpy(vector, V + (size_t)n * (size_t)at, (size_t)n * sizeof *vector);
  }
  free(V);
  free(imaginary);
  return info == 0;
}

static double linear_largest(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, x[i]);
  return most;
}

/* ln of the largest |eigenvalue| of the step over `span`; false where there is no derivative. Those
 * of three quotients must agree: eigenvalues that are double are moved by rounding, and a step that
 * grows by much leaves the linear part, unless eps is small. */
static bool linear_growth(perp_ctx *ctx, const linear_map *map, double t, const double *q,
                          const double *v, double span, double scale, double *D, double *size,
                          double *vector, double *growth)
{
  static const double eps[] = { 1, 1e-2, 1e-4 };
  for (int e = 0; e < 3; e++) {
    double ln[3] = { 0 }, least, most, real;
    int k = 0;
    for (; k < 3; k++) {
      const double by = LINEAR_EPS * scale * eps[e] / (1 << (2 * k));
      if (!linear_matrix(ctx, map, t, q, v, span, by, by / span, D) ||
          !linear_eigenvalues(map->n, D, size, &real, vector))
        break;
      ln[k] = log(fmax(linear_largest(map->n, size), 1e-300));
    }
    if (k < 3) continue;
    least = fmin(ln[0], fmin(ln[1], ln[2]));
    most = fmax(ln[0], fmax(ln[1], ln[2]));
    *growth = ln[1];
    if (most - least <= LINEAR_AGREE * fabs(ln[1]) + LINEAR_REST) return true;
  }
  return false;
}

static double linear_off(perp_model *model, double t, const double *q, const double *dq)
{
  const perp_blocks *blocks = perp_model_assemble(model, t, q);
  double rows = 0, moved = 0, violated = 0, *Jdq = perp_xalloc((size_t)blocks->m + 1, sizeof *Jdq);
  perp_blocks_J(blocks, 1, dq, Jdq);
  for (int i = 0; i < blocks->m; i++) violated = fmax(violated, fabs(Jdq[i]));
  for (int i = 0; i < blocks->joff[blocks->jptr[blocks->nc]]; i++)
    rows = fmax(rows, fabs(blocks->J[i]));
  for (int i = 0; i < blocks->nv; i++) moved = fmax(moved, fabs(dq[i]));
  free(Jdq);
  return rows * moved > 0 ? violated / (rows * moved) : 0;
}

/* *real: the largest real part, rad/s; false: not measured. */
static bool linear_rates(perp_ctx *ctx, const linear_map *map, const perp_why_states *states, int k,
                         double scale, double *D, double *size, double *real,
                         perp_why_evidence *evidence)
{
  const size_t n = (size_t)map->n;
  const double delta = map->h, eps = 10 * LINEAR_EPS * scale;
  if (!linear_matrix(ctx, map, states->t[k], states->q[k], states->v[k], delta, eps, 10 * eps, D))
    return false;
  for (size_t i = 0; i < n * n; i++) D[i] = (D[i] - (i % (n + 1) == 0 ? 1 : 0)) / delta;
  if (!linear_eigenvalues(map->n, D, size, real, NULL)) return false;
  /* A jump within delta (an impact, a projection) is no rate. */
  double fast = 0;
  for (int i = 0; i < map->n; i++)
    if (size[i] * delta < LINEAR_JUMP) fast = fmax(fast, size[i]);
  double slow = fast; /* what stays for the whole run has its rate */
  for (int i = 0; i < map->n; i++) slow = fmin(slow, fmax(size[i], 1 / evidence->t_end));
  if (evidence->linear.rates && fast <= evidence->linear.fast) return true;
  evidence->linear.fast = fast;
  evidence->linear.slow = slow;
  evidence->linear.rates = true;
  return true;
}

/* The equations of motion under an explicit Euler method of delta, without stabilization. */
static bool linear_motion(perp_ctx *ctx, const perp_request *request,
                          const perp_why_evidence *evidence, linear_map *map)
{
  const double delta = fmax(1e-10, 1e-5 * fmin(evidence->h, evidence->t_end / 100));
  perp_request plain = *request;
  for (int part = 0; part < PERP_PARTS; part++) *perp_part_text(&plain, part) = NULL;
  plain.ode = "euler";
  if (!evidence->bodies) return linear_open(ctx, &plain, delta, map);
  /* Springs in place of constraints are a part of the equations of motion. */
  if (strncmp(evidence->part[PERP_PART_FORMULATION], "penalty", 7) == 0) {
    plain.formulation = evidence->part[PERP_PART_FORMULATION];
    return linear_open(ctx, &plain, delta, map);
  }
  plain.formulation = "acceleration";
  plain.stab = "none";
  if (linear_open(ctx, &plain, delta, map)) return true;
  linear_close(map);
  plain.stab = NULL; /* nothing to stabilize */
  return linear_open(ctx, &plain, delta, map);
}

/* A run that stopped at once has no states but the first: those of a run in shorter steps. */
static void linear_states(perp_ctx *ctx, const perp_request *request, perp_why_states *states,
                          double h)
{
  linear_map fine;
  double t = 0;
  const double *q, *v;
  perp_step_info info = { 0 };
  if (states->n == 0 || !linear_open(ctx, request, h / LINEAR_SHORT, &fine) || fine.sim == NULL ||
      perp_sim_restart(ctx, fine.sim, 0, states->q[0], states->v[0]) != PERP_OK) {
    linear_close(&fine);
    return;
  }
  for (int k = states->n; k < PERP_WHY_STATES; k++) {
    const double until = h * (1 << (2 * k)) / 4;
    while (t < until && !perp_cell_same_time(t, until)) {
      if (perp_sim_step(ctx, fine.sim, until, &info) != PERP_OK || info.reason < 0) break;
      perp_sim_state(fine.sim, &t, &q, &v);
    }
    if (t < until && !perp_cell_same_time(t, until)) break;
    const size_t nq = (size_t)states->nq, nv = (size_t)states->nv;
    if (states->q[k] == NULL) states->q[k] = perp_xalloc(nq + nv + 1, sizeof *states->q[k]);
    states->v[k] = states->q[k] + nq;
    memcpy(states->q[k], q, nq * sizeof *q);
    memcpy(states->v[k], v, nv * sizeof *v);
    states->t[k] = t;
    states->n = k + 1;
  }
  linear_close(&fine);
}

/* Of large models: y = D x by a quotient of two steps, x = y / |y|, some times (power iteration).
 * *growth: ln of the mean |y| of the last times, which is that of the largest |eigenvalue|. */
static bool linear_power(perp_ctx *ctx, const linear_map *map, double t, const double *q,
                         const double *v, double span, double scale, double *growth)
{
  perp_model *model = map->scene.model;
  const size_t nq = (size_t)map->nq, nv = (size_t)map->nv;
  double *memory = perp_xalloc(4 * (nq + nv) + 2 * nv, sizeof *memory), *q0 = memory, *q1 = q0 + nq,
         *v0 = q1 + nq, *v1 = v0 + nv, *x = v1 + nv, *y = x + 2 * nv, *back = y + 2 * nv;
  const double eps = LINEAR_EPS * scale;
  double sum = 0;
  bool done = map->sim != NULL;
  for (size_t i = 0; i < 2 * nv; i++) x[i] = sin((double)i + 1) / sqrt((double)nv);
  for (int k = 0; k < LINEAR_POWER && done; k++) {
    for (int side = 0; side < 2 && done; side++) {
      const double by = side == 0 ? -eps : eps;
      double *to_q = side == 0 ? q0 : q1, *to_v = side == 0 ? v0 : v1;
      for (size_t i = 0; i < nv; i++) {
        back[i] = by * x[i];
        to_v[i] = v[i] + by * x[nv + i] / span;
      }
      perp_model_retract(model, q, back, to_q);
      done = (map->until == 0 || perp_clock_wall() < map->until) &&
             linear_from(ctx, map, t, span, to_q, to_v);
    }
    if (!done) break;
    perp_model_difference(model, q0, q1, y);
    double size = 0;
    for (size_t i = 0; i < nv; i++) {
      y[i] /= 2 * eps;
      y[nv + i] = (v1[i] - v0[i]) * span / (2 * eps);
    }
    for (size_t i = 0; i < 2 * nv; i++) size += y[i] * y[i];
    size = sqrt(size);
    done = isfinite(size) && size > 0;
    for (size_t i = 0; i < 2 * nv && done; i++) x[i] = y[i] / size;
    if (k >= LINEAR_POWER / 2) sum += log(size);
  }
  free(memory);
  *growth = sum / (LINEAR_POWER - LINEAR_POWER / 2);
  return done;
}

/* One more state, whose step grows by `growth` and whose motion by `same`.  True: it is the worst.
 */
static bool linear_take(perp_why_evidence *evidence, double growth, double same, double t,
                        double *worst)
{
  evidence->linear.states++;
  if (growth - same <= *worst) return false;
  *worst = growth - same;
  evidence->linear.growth = growth;
  evidence->linear.motion = fmax(0, same);
  evidence->linear.t = t;
  return evidence->linear.known = true;
}

/* As perp_why_linearize, of a large model; the growth of the motion is that of 64 shorter steps.
 */
static void linear_large(perp_ctx *ctx, const perp_request *request, const perp_why_states *states,
                         double scale, linear_map *step, perp_why_evidence *evidence)
{
  linear_map fine;
  const bool open = linear_open(ctx, request, evidence->h / LINEAR_SHORT, &fine);
  fine.until = step->until;
  double worst = -HUGE_VAL;
  for (int k = states->n - 1; k >= 0 && open; k--) {
    double growth, same;
    const double t = states->t[k], *q = states->q[k], *v = states->v[k];
    if (!linear_power(ctx, step, t, q, v, evidence->h, scale, &growth) ||
        !linear_power(ctx, &fine, t, q, v, evidence->h, scale, &same))
      continue;
    evidence->linear.excess += fmax(0, growth - 2 * fmax(0, same));
    linear_take(evidence, growth, same, t, &worst);
  }
  if (evidence->linear.states > 0) evidence->linear.excess /= evidence->linear.states;
  linear_close(&fine);
}

void perp_why_linearize(perp_ctx *ctx, const perp_request *request, perp_why_states *states,
                        double seconds, perp_why_evidence *evidence)
{
  const double until = perp_clock_wall() + seconds, scale = evidence->size > 0 ? evidence->size : 1;
  linear_map step, fine = { 0 }, motion;
  const bool open = linear_open(ctx, request, evidence->h, &step);
  evidence->linear.nv = step.nv;
  if (evidence->bodies && !evidence->adaptive && states->n <= LINEAR_FEW &&
      evidence->t < 10 * evidence->h)
    linear_states(ctx, request, states, evidence->h);
  step.until = until;
  if (!open || step.n > 2 * LINEAR_NV) {
    if (open && evidence->bodies && !evidence->adaptive)
      linear_large(ctx, request, states, scale, &step, evidence);
    linear_close(&step);
    return;
  }
  const bool rates = linear_motion(ctx, request, evidence, &motion) && motion.n == step.n,
             divided = !rates && linear_open(ctx, request, evidence->h / LINEAR_FINE, &fine);
  step.until = fine.until = motion.until = until;
  const size_t n = (size_t)step.n;
  double *D = perp_xalloc(n * n, sizeof *D), *size = perp_xalloc(2 * n, sizeof *size),
         *vector = size + n, worst = -HUGE_VAL;
  for (int k = 0; k < states->n && perp_clock_wall() < until; k++) {
    double growth, real = 0, same = 0;
    const double t = states->t[k], *q = states->q[k], *v = states->v[k];
    bool known = rates && linear_rates(ctx, &motion, states, k, scale, D, size, &real, evidence);
    same = evidence->h * fmax(0, real);
    if (evidence->adaptive ||
        !linear_growth(ctx, &step, t, q, v, evidence->h, scale, D, size, vector, &growth))
      continue;
    if (!known && divided)
      known = linear_growth(ctx, &fine, t, q, v, evidence->h, scale, D, size, NULL, &same);
    if (!known) continue;
    evidence->linear.excess += fmax(0, growth - 2 * same);
    if (linear_take(evidence, growth, same, t, &worst))
      evidence->linear.off = evidence->bodies ? linear_off(step.scene.model, t, q, vector) : 0;
  }
  if (evidence->linear.states > 0) evidence->linear.excess /= evidence->linear.states;
  free(D);
  free(size);
  linear_close(&motion);
  linear_close(&fine);
  linear_close(&step);
}
