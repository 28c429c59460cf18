/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variational integrators of order 2, 4 and 6 for holonomic constraints: Galerkin with Lobatto
 * quadrature (Marsden and West 2001, parts 2 and 3; on Lie groups Leok 2004, Hall and Leok
 * 2017), the Lobatto IIIA-IIIB pair of Jay 1996 where M is constant.  In a step the motion is
 *
 *      q(t) = q0 [+] x(t),   x a polynomial through x_1 = 0, x_2, ..., x_s at the nodes c_i,
 *
 * [+] the exponential map in the body frame (quaternions stay of unit length).  Velocities at the
 * nodes are w_i = T(x_i) x'_i, T = dexp_-x, x'_i = 1/h sum_k D_ik x_k, and the action
 *
 *      sum_i h b_i (w_i . M w_i / 2 - V(q_i) + lambda_i . C(t_i, q_i)),   b: Lobatto's weights,
 *
 * is stationary.  With p_i = M w_i, F_i = f(t_i, q_i, w_i) + J_i' lambda_i and g_i the derivative
 * of p_i . T(x) x'_i by x at x_i this says, R_i = exp(x_i) on torques and 1 on forces,
 *
 *      0 = sum_i b_i D_ik T_i' p_i + h b_k (g_k + T_k' F_k),            k = 2 ... s - 1,
 *      T_s^-1 (sum_i b_i D_is T_i' p_i + h b_s g_s) = P0 + h sum_{i < s} b_i R_i F_i,
 *      0 = C(t_k, q_k),                                                 k = 2 ... s,
 *      R_s P1 = P0 + h sum_i b_i R_i F_i,    M v1 = P1,    J_s v1 + C_t = 0,
 *
 * which are s - 1 positions and multipliers by Newton's method (implicit_step.h), and lambda_s by
 * the KKT system of the end.  s = 2 is RATTLE as formulation impulse has it.
 *
 * Symplectic on the constraints, and the last line is the balance of momentum itself: linear
 * momentum, and angular momentum about an axis that forces and joints leave alone, are kept to
 * rounding.  Order 2 s - 2 in q and v.  Forces of velocities are those of Lagrange and d'Alembert
 * at the nodes; then nothing is symplectic, and the order holds.
 *
 * Rows are soft in the Jacobian of Newton's method alone (hard of implicit_step.h): dependent ones
 * are like others, and C = 0 holds to rounding.  In a step that ends beside a position in which J
 * loses rank it may fail with PERP_MAX_ITER, or leave C at 1e-9 of the size.  lambda_1 is reported,
 * of order s - 1.
 *
 * Cost per step: s - 1 evaluations and one solve with (s - 1) (nv + m) unknowns per correction, one
 * factorization of the KKT system.  No allocation, but for new pivots of wide models (local.h). */
#include "models/multibody/servos.h"
#include "models/stepping/implicit_step.h"
#include "models/stepping/stepper.h"

#include <float.h>
#include <string.h>

enum { STAGES = 4 };

struct opts {
  int stages;
  int iterations;
};
static const perp_opt options[] = {
  PERP_INT(struct opts, stages, 3, 2, STAGES,
           "Lobatto nodes in a step: order 2 (RATTLE), 4 or 6 for 2, 3 or 4."),
  PERP_INT(struct opts, iterations, 50, 1, 1000, "Largest number of Newton corrections in a step."),
  PERP_OPTIONS_END
};

static const double NODES[STAGES - 1][STAGES] = {
  { 0, 1 }, { 0, 0.5, 1 }, { 0, 0.27639320225002103, 0.72360679774997897, 1 }
};
static const double WEIGHTS[STAGES - 1][STAGES] = { { 1. / 2, 1. / 2 },
                                                    { 1. / 6, 2. / 3, 1. / 6 },
                                                    { 1. / 12, 5. / 12, 5. / 12, 1. / 12 } };

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  perp_implicit newton;
  double D[STAGES][STAGES]; /* D[i][k]: derivative of the Lagrange polynomial of k at node i */
  double t, h;
  int known;                      /* velocities before this one, 2 at most; -1: no forces either */
  perp_eval start;                /* at q0 */
  double *x[STAGES], *w[STAGES];  /* [nv] increments and velocities at the nodes */
  double *E[STAGES];              /* [nv] derivative of the action by x, at those after the first */
  double *lambda[STAGES - 1];     /* [m] h^2 lambda_i */
  double *unknown;                /* [newton.n] */
  double *rate, *p, *F, *sum, *y; /* [nv] */
  double *momentum;               /* [nv] P0 */
  double *before[2];              /* [nv] velocities of one step ago and of two; at first v' */
  double *force;                  /* [m] lambda of the last step, the first guess */
} workspace;

/* ---- the exponential map of a rotation ---- */

/* T(x) = 1 + a [x] + b [x]^2 with a = (cos r - 1) / r^2, b = (r - sin r) / r^3, r = |x|, and their
 * derivatives by r, over r. */
typedef struct tangent {
  double r2, a, b, da, db;
} tangent;

static tangent lobatto_tangent(const double x[3])
{
  tangent T = { .r2 = perp_dot(3, x, x) };
  double term = -0.5; /* of a = sum (-1)^(k+1) r^2k / (2k+2)!, b = sum (-1)^k r^2k / (2k+3)! */
  for (int k = 0; k < 40 && fabs(term) > 1e-3 * DBL_EPSILON; k++) {
    T.a += term;
    T.b -= term / (2 * k + 3);
    term /= -(2. * k + 3) * (2 * k + 4);
    T.da += 2 * (k + 1) * term;
    T.db -= 2 * (k + 1) * term / (2 * k + 5);
    term *= T.r2;
  }
  return T;
}

/* z = y + a x x y + b x x (x x y); z may be y */
static void lobatto_rodrigues(double a, double b, const double x[3], const double y[3], double z[3])
{
  double u[3], v[3];
  perp_cross(x, y, u);
  perp_cross(x, u, v);
  for (int i = 0; i < 3; i++) z[i] = y[i] + a * u[i] + b * v[i];
}

/* Of all bodies; nothing turns in the plane and about centres of mass.  y becomes T(x)' y or exp(x)
 * y. */
enum { MAP_PULL, MAP_EXP };
static void lobatto_map(const perp_model *model, int map, const double *x, double *y)
{
  for (int i = 3; model->dim == 3 && i < model->nv; i += 6) {
    const tangent T = lobatto_tangent(x + i);
    if (map == MAP_EXP)
      lobatto_rodrigues(1 - T.b * T.r2, -T.a, x + i, y + i, y + i);
    else
      lobatto_rodrigues(-T.a, T.b, x + i, y + i, y + i);
  }
}

/* E += scale d/dx (p . T(x) x'), x' = rate */
static void lobatto_gradient(const perp_model *model, double scale, const double *x,
                             const double *rate, const double *p, double *E)
{
  for (int b = 3; model->dim == 3 && b < model->nv; b += 6) {
    const double *u = x + b, *w = rate + b, *m = p + b;
    const tangent T = lobatto_tangent(u);
    double turn[3], across[3], twice[3];
    perp_cross(w, m, across);
    perp_cross(u, w, turn);
    perp_cross(u, turn, twice);
    const double along = T.da * perp_dot(3, m, turn) + T.db * perp_dot(3, m, twice) -
                         2 * T.b * perp_dot(3, m, w),
                 mu = perp_dot(3, m, u), uw = perp_dot(3, u, w);
    for (int i = 0; i < 3; i++)
      E[b + i] += scale * (along * u[i] + T.a * across[i] + T.b * (mu * w[i] + uw * m[i]));
  }
}

/* ---- the equations of a step ---- */

/* F = f(t, q, v) + J' lambda / h^2 at eval; lambda NULL: 0 */
static void lobatto_force(workspace *work, const perp_eval *eval, double t, const double *v,
                          const double *lambda)
{
  const perp_model *model = work->s.k.model;
  perp_eval_forces(eval, model, t, v, false, work->F);
  perp_servos_apply(model, eval, t, v, NULL, work->F);
  work->s.grid.count.rhs++;
  if (lambda != NULL && model->m > 0)
    perp_blocks_Jt(&eval->blocks, 1 / (work->h * work->h), lambda, work->F);
}

/* w_i, and E of the kinetic energy */
static void lobatto_kinetic(workspace *work)
{
  const perp_model *model = work->s.k.model;
  const int n = work->o.stages, nv = model->nv;
  const double h = work->h;
  for (int k = 1; k < n; k++) memset(work->E[k], 0, (size_t)nv * sizeof *work->E[k]);
  for (int i = 0; i < n; i++) {
    const double b = WEIGHTS[n - 2][i];
    memset(work->rate, 0, (size_t)nv * sizeof *work->rate);
    for (int k = 1; k < n; k++)
      for (int j = 0; j < nv; j++) work->rate[j] += work->D[i][k] / h * work->x[k][j];
    perp_model_dexp(model, work->x[i], work->rate, work->w[i]);
    perp_blocks_M(&work->start.blocks, work->w[i], work->p);
    if (i > 0) lobatto_gradient(model, h * b, work->x[i], work->rate, work->p, work->E[i]);
    lobatto_map(model, MAP_PULL, work->x[i], work->p);
    for (int k = 1; k < n; k++)
      for (int j = 0; j < nv; j++) work->E[k][j] += b * work->D[i][k] * work->p[j];
  }
}

static bool lobatto_residual(void *user, const double *unknown, double *r)
{
  workspace *work = user;
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const int n = work->o.stages, nv = model->nv, m = model->m;
  const double h = work->h, *c = NODES[n - 2], *b = WEIGHTS[n - 2];
  for (int k = 1; k < n; k++) {
    perp_implicit_get_body(&work->newton, unknown, k - 1, work->x[k]);
    perp_implicit_get_row(&work->newton, unknown, k - 1, work->lambda[k - 1]);
  }
  lobatto_kinetic(work);
  memcpy(work->sum, work->momentum, (size_t)nv * sizeof *work->sum);
  for (int i = 0; i < n; i++) {
    const double t = work->t + c[i] * h;
    if (i > 0) {
      perp_model_retract(model, work->s.q, work->x[i], work->s.q1);
      if (!perp_all_finite(model->nq, work->s.q1)) return false;
      perp_constrained_at(system, t, work->s.q1);
      perp_implicit_put_row(&work->newton, i - 1, system->e->C, r);
    }
    if (i == n - 1) break;
    lobatto_force(work, i > 0 ? system->e : &work->start, t, work->w[i], work->lambda[i]);
    memcpy(work->y, work->F, (size_t)nv * sizeof *work->y);
    lobatto_map(model, MAP_EXP, work->x[i], work->y);
    for (int j = 0; j < nv; j++) work->sum[j] += h * b[i] * work->y[j];
    if (i == 0) continue;
    lobatto_map(model, MAP_PULL, work->x[i], work->F);
    for (int j = 0; j < nv; j++) work->F[j] = h * (work->E[i][j] + h * b[i] * work->F[j]);
    perp_implicit_put_body(&work->newton, i - 1, work->F, r);
  }
  perp_model_dexpinv(model, work->x[n - 1], work->E[n - 1], work->y);
  for (int j = 0; j < nv; j++) work->y[j] = h * (work->y[j] - work->sum[j]);
  perp_implicit_put_body(&work->newton, n - 2, work->y, r);
  system->drift = perp_worst(m, system->e->C);
  return perp_all_finite(work->newton.n, r);
}

/* ---- a step ---- */

/* Increments of v' and v'' at the start, of the velocities before; the largest of them */
static double lobatto_guess(workspace *work)
{
  const perp_model *model = work->s.k.model;
  const int n = work->o.stages;
  const double h = work->h;
  double fastest = 0;
  for (int k = 1; k < n; k++) {
    const double s = NODES[n - 2][k] * h;
    for (int i = 0; i < model->nv; i++) {
      const double v = work->s.v[i], last = work->before[0][i], prior = work->before[1][i];
      const double jerk = work->known == 2 ? (v - 2 * last + prior) / (h * h) : 0;
      const double accel = work->known == 0 ? last : (v - last) / h + h / 2 * jerk;
      work->x[k][i] = s * (v + s / 2 * (accel + s / 3 * jerk));
      fastest = fmax(fastest, fabs(work->x[k][i]));
    }
    for (int i = 0; i < model->m; i++) work->lambda[k - 1][i] = h * h * work->force[i];
    perp_implicit_put_body(&work->newton, k - 1, work->x[k], work->unknown);
    perp_implicit_put_row(&work->newton, k - 1, work->lambda[k - 1], work->unknown);
  }
  return fastest;
}

/* v1 by the balance of momentum */
static bool lobatto_end(workspace *work)
{
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const int n = work->o.stages, nv = model->nv;
  const double h = work->h, t = work->t + h;
  perp_constrained_at(system, t, work->s.q1);
  lobatto_force(work, system->e, t, work->w[n - 1], NULL);
  for (int i = 0; i < nv; i++) work->y[i] = -work->x[n - 1][i];
  lobatto_map(model, MAP_EXP, work->y, work->sum);
  for (int i = 0; i < nv; i++) system->f[i] = work->sum[i] + h * WEIGHTS[n - 2][n - 1] * work->F[i];
  memset(system->c, 0, (size_t)model->m * sizeof *system->c);
  memset(system->lambda, 0, (size_t)model->m * sizeof *system->lambda);
  perp_constrained_driven(system, t, 1, system->c);
  if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, h, work->s.v)) return false;
  memcpy(work->s.v1, system->a, (size_t)nv * sizeof *work->s.v1);
  return true;
}

static perp_reason lobatto_make_step(perp_stepper *stepper, double t, double h)
{
  workspace *work = (workspace *)stepper;
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  work->t = t;
  if (!(fabs(h - work->h) < 1e-6 * h)) work->known = -1;
  work->h = h;
  if (work->known < 0) {
    if (!perp_stepper_accelerate(&work->s, t, h, work->s.q, work->s.v)) return system->reason;
    memcpy(work->before[0], system->a, (size_t)model->nv * sizeof *system->a);
    memcpy(work->force, system->lambda, (size_t)model->m * sizeof *work->force);
    work->known = 0;
  }
  perp_eval_at(&work->start, model, t, work->s.q);
  perp_blocks_M(&work->start.blocks, work->s.v, work->momentum);
  perp_stepper_servos(&work->s, t, work->s.q, work->s.v);
  const double fastest = lobatto_guess(work);
  const int64_t before = work->newton.iterations, jacobians = work->newton.jacobians;
  const perp_reason reason = perp_implicit_solve(
      &work->newton, lobatto_residual, work, h, &work->start.blocks, PERP_IMPLICIT_TOL,
      work->o.iterations, model->size + fastest, work->unknown);
  work->s.grid.count.iterations += work->newton.iterations - before;
  system->count.factorizations += (int)(work->newton.jacobians - jacobians);
  if (reason < 0) return reason;
  perp_model_project(model, work->s.q1);
  if (!lobatto_end(work)) return system->reason;
  for (int i = 0; i < model->m; i++) work->s.lambda[i] = work->lambda[0][i] / (h * h);
  return perp_all_finite(model->nv, work->s.v1) ? PERP_EXACT : PERP_NOT_FINITE;
}

static void lobatto_keep(perp_stepper *stepper)
{
  workspace *work = (workspace *)stepper;
  const perp_model *model = work->s.k.model;
  double *oldest = work->before[1];
  work->before[1] = work->before[0];
  work->before[0] = oldest;
  perp_blocks_Minv(&work->start.blocks, work->momentum, oldest);
  memcpy(work->force, work->s.lambda, (size_t)model->m * sizeof *work->force);
  if (work->known < 2) work->known++;
}

/* D of the nodes: D_ik = a_i / (a_k (c_i - c_k)) with a_k = prod_{j != k} (c_k - c_j) */
static void lobatto_derivatives(int n, double D[STAGES][STAGES])
{
  const double *c = NODES[n - 2];
  double a[STAGES];
  for (int k = 0; k < n; k++) {
    a[k] = 1;
    for (int j = 0; j < n; j++)
      if (j != k) a[k] *= c[k] - c[j];
  }
  for (int i = 0; i < n; i++) {
    D[i][i] = 0;
    for (int k = 0; k < n; k++) {
      if (k == i) continue;
      D[i][k] = a[i] / (a[k] * (c[i] - c[k]));
      D[i][i] += 1 / (c[i] - c[k]);
    }
  }
}

static void lobatto_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  const int n = work->o.stages;
  perp_stepper_layout(&work->s, arena);
  perp_eval_layout(&work->start, model, arena);
  PERP_DOUBLES(arena, (n - 1) * (model->nv + model->m), &work->unknown);
  for (int i = 0; i < n; i++) PERP_DOUBLES(arena, model->nv, &work->x[i], &work->w[i], &work->E[i]);
  for (int i = 0; i < n - 1; i++) PERP_DOUBLES(arena, model->m, &work->lambda[i]);
  PERP_DOUBLES(arena, model->nv, &work->rate, &work->p, &work->F, &work->sum, &work->y,
               &work->momentum, &work->before[0], &work->before[1]);
  PERP_DOUBLES(arena, model->m, &work->force);
}

static void lobatto_destroy(void *ws)
{
  if (ws != NULL) perp_implicit_destroy(&((workspace *)ws)->newton);
  perp_stepper_destroy(ws);
}

static perp_status lobatto_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                   const double *v)
{
  workspace *work = ws;
  work->known = -1;
  perp_implicit_restart(&work->newton);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status lobatto_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                  double h, void **ws)
{
  workspace like = { .s = { .make_step = lobatto_make_step, .keep = lobatto_keep },
                     .o = *(const struct opts *)parts->formulation.opts };
  const int n = like.o.stages;
  *ws = NULL;
  PERP_TRY(perp_stepper_rigid(ctx, model, parts->formulation.d->name));
  lobatto_derivatives(n, like.D);
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, lobatto_layout, ws));
  workspace *work = *ws;
  perp_eval_init(&work->start, model);
  memset(work->x[0], 0, (size_t)model->nv * sizeof *work->x[0]);
  const perp_status status = perp_implicit_create(ctx, model, n - 1, n - 1, &work->newton);
  work->newton.hard = true;
  if (status == PERP_OK) return PERP_OK;
  perp_stepper_destroy(work);
  *ws = NULL;
  return status;
}

const perp_formulation_desc perp_formulation_variational = {
  .d = { .name = "variational",
         .summary = "Variational integrator of order 2, 4 or 6 (Galerkin, Lobatto nodes) on the "
                    "group of positions; symplectic, keeps momenta",
         .reference = "Marsden and West 2001, parts 2 and 3; Jay 1996; Hall and Leok 2017",
         .equation = "0 = d/dx_k sum_i h b_i (w_i . M w_i / 2 - V_i + lambda_i . C_i)",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_FORCES_AT_START | PERP_FORM_BREAKS | PERP_FORM_USES_KKT |
                 PERP_CAP_ALLOCATES | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED |
                 PERP_FORM_SERVOS },
  .create = lobatto_create,
  .restart = lobatto_restart,
  .step = perp_stepper_step,
  .destroy = lobatto_destroy,
  PERP_STEPPER_CALLS,
};
