/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chain of n point masses in the plane hung on the origin by rigid massless rods, C_i = |p_i -
 * p_(i-1)| - 1, as the system of stabilization schemes; linear algebra by the `tree` formulation.
 */
#ifndef PERP_STAB_PENDULUM_H
#define PERP_STAB_PENDULUM_H

#include "solvers/solvers.h"
#include "tests/kkt_problems.h"

typedef struct pendulum {
  problem *p;
  perp_stab_sys sys;
  void *kkt, *kkt_start; /* workspaces: of linearize, and of the start of the step */
  problem *start;        /* J at the start of the step */
  double h;
  int linearized; /* how often */
  bool broken;    /* linear solves fail */
} pendulum;

static const perp_kkt_desc *pendulum_kkt(perp_ctx *ctx)
{
  return (const perp_kkt_desc *)perp_find(ctx, PERP_KIND_kkt, "tree");
}

static inline void pendulum_error(void *user, double t, const double *q, double *C)
{
  (void)t;
  int n = ((pendulum *)user)->sys.m;
  for (int i = 0; i < n; i++)
    C[i] = hypot(q[2 * i] - (i > 0 ? q[2 * i - 2] : 0), q[2 * i + 1] - (i > 0 ? q[2 * i - 1] : 0)) -
           1;
}

static inline void pendulum_jacobian(const double *q, problem *p)
{
  for (int i = 0; i < p->B.nc; i++) {
    double dx = q[2 * i] - (i > 0 ? q[2 * i - 2] : 0),
           dy = q[2 * i + 1] - (i > 0 ? q[2 * i - 1] : 0);
    double *J = p->J + p->joff[p->jptr[i]], l = hypot(dx, dy);
    J[0] = dx / l, J[1] = dy / l;
    if (i > 0) J[2] = -dx / l, J[3] = -dy / l;
  }
}

static inline void pendulum_rate(void *user, double t, const double *q, const double *v,
                                 double *Cdot)
{
  pendulum *s = user;
  (void)t;
  double keep[64];
  memcpy(keep, s->p->J, sizeof keep);
  pendulum_jacobian(q, s->p);
  for (int i = 0; i < s->sys.m; i++) Cdot[i] = 0;
  perp_blocks_J(&s->p->B, 1, v, Cdot);
  memcpy(s->p->J, keep, sizeof keep);
}

static perp_ctx pendulum_ctx;

static inline perp_status pendulum_linearize(void *user, double t, const double *q,
                                             perp_stats *stats)
{
  pendulum *s = user;
  (void)t;
  s->linearized++;
  pendulum_jacobian(q, s->p);
  return pendulum_kkt(&pendulum_ctx)->factor(&pendulum_ctx, s->kkt, &s->p->B, stats);
}

static inline perp_status pendulum_solve(void *user, const double *c, double *x, double *lambda,
                                         perp_stats *stats)
{
  pendulum *s = user;
  double zero[16] = { 0 };
  perp_status status = pendulum_kkt(&pendulum_ctx)
                           ->solve(&pendulum_ctx, s->kkt, &s->p->B, zero, c, x, lambda, stats);
  if (s->broken) stats->reason = PERP_SINGULAR;
  return status;
}

static inline perp_status pendulum_solve_start(void *user, const double *c, double *x,
                                               double *lambda, double *h, perp_stats *stats)
{
  pendulum *s = user;
  double zero[16] = { 0 };
  *h = s->h;
  return pendulum_kkt(&pendulum_ctx)
      ->solve(&pendulum_ctx, s->kkt_start, &s->start->B, zero, c, x, lambda, stats);
}

static inline void pendulum_retract(void *user, const double *q, const double *dq, double *q_out)
{
  for (int i = 0; i < ((pendulum *)user)->sys.nq; i++) q_out[i] = q[i] + dq[i];
}

/* Masses 1, 2, ..., n (n <= 8), straight along +x. */
static inline void pendulum_open(pendulum *s, int n, double *q, double *v)
{
  *s = (pendulum){ 0 };
  if (pendulum_ctx.n_tables == 0) {
    perp_ctx_init(&pendulum_ctx);
    if (perp_register_solvers(&pendulum_ctx) != PERP_OK) exit(99);
  }
  for (int k = 0; k < 2; k++) {
    problem *p = problem_chain("pendulum", n, 2, 1, true, true);
    for (int b = 0; b < n; b++)
      for (int i = 0; i < 4; i++) {
        p->M[4 * b + i] = i % 3 == 0 ? b + 1 : 0;
        p->Minv[4 * b + i] = i % 3 == 0 ? 1.0 / (b + 1) : 0;
      }
    *(k == 0 ? &s->p : &s->start) = p;
  }
  perp_spec spec;
  if (perp_spec_parse(&pendulum_ctx, PERP_KIND_kkt, "tree", &spec) != PERP_OK) exit(99);
  const perp_kkt_desc *kkt = pendulum_kkt(&pendulum_ctx);
  kkt->create(&pendulum_ctx, &s->p->B, spec.opts, &s->kkt);
  kkt->create(&pendulum_ctx, &s->start->B, spec.opts, &s->kkt_start);
  perp_spec_free(&spec);
  s->sys = (perp_stab_sys){ .nq = 2 * n,
                            .nv = 2 * n,
                            .m = n,
                            .user = s,
                            .error = pendulum_error,
                            .rate = pendulum_rate,
                            .linearize = pendulum_linearize,
                            .solve = pendulum_solve,
                            .retract = pendulum_retract };
  for (int i = 0; i < n; i++) {
    q[2 * i] = i + 1;
    q[2 * i + 1] = v[2 * i] = v[2 * i + 1] = 0;
  }
}

static inline void pendulum_close(pendulum *s)
{
  pendulum_kkt(&pendulum_ctx)->destroy(s->kkt);
  pendulum_kkt(&pendulum_ctx)->destroy(s->kkt_start);
  problem_free(s->p);
  problem_free(s->start);
}

/* One velocity-level step: M (v1 - v) = h f + J' lambda, J v1 = rhs, q1 = q + h v1, then the
 * scheme. */
static inline void pendulum_step(pendulum *s, const perp_stab_desc *stab, void *ws, double h,
                                 double *q, double *v)
{
  double f[16], k[8] = { 0 }, C[8], a[16], lambda[8];
  perp_stats stats = { 0 };
  s->h = h;
  pendulum_jacobian(q, s->start);
  const perp_kkt_desc *kkt = pendulum_kkt(&pendulum_ctx);
  kkt->factor(&pendulum_ctx, s->kkt_start, &s->start->B, &stats);
  for (int i = 0; i < s->sys.nv; i++) f[i] = (i / 2 + 1) * (v[i] - (i % 2 == 1 ? h * 9.81 : 0));
  if (stab->rhs != NULL) {
    pendulum_error(s, 0, q, C);
    stab->rhs(ws, PERP_LEVEL_VELOCITY, h, C, NULL, k);
  }
  kkt->solve(&pendulum_ctx, s->kkt_start, &s->start->B, f, k, a, lambda, &stats);
  for (int i = 0; i < s->sys.nv; i++) {
    v[i] = a[i];
    q[i] += h * v[i];
  }
  if (stab->post_step != NULL) stab->post_step(ws, 0, q, v, &stats);
}

static inline double pendulum_energy(const pendulum *s, const double *q, const double *v)
{
  double E = 0;
  for (int i = 0; i < s->sys.m; i++)
    E += (i + 1) * ((v[2 * i] * v[2 * i] + v[2 * i + 1] * v[2 * i + 1]) / 2 + 9.81 * q[2 * i + 1]);
  return E;
}

#endif
