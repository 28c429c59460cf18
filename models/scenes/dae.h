/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small differential-algebraic problems that are no rigid-body models, as plain ODE problems.
 * Private.
 *
 *      M(q) q'' = f(t, q, v) - G' lambda,   0 = g(t, q),   G = dg/dq
 *
 * is integrated in the form of index 1, gddot = -2 alpha gdot - alpha^2 g: at each evaluation the
 * dense system [M G'; G 0] (a, lambda) = (f, -gamma - ...) is solved.  stabilize=project brings q
 * and v back to g = 0 and gdot = 0 after each step along M^-1 G' (multistep methods then lose their
 * history). */
#ifndef PERP_DAE_H
#define PERP_DAE_H

#include "models/scenes/build.h"

enum { PERP_DAE_N = 8, PERP_DAE_M = 4 };
enum { PERP_DAE_NONE, PERP_DAE_BAUMGARTE, PERP_DAE_PROJECT };
extern const char *const perp_dae_stabilizations[];

/* What a problem computes at (t, q, v). */
typedef struct perp_dae_terms {
  double M[PERP_DAE_N * PERP_DAE_N]; /* n x n column-major */
  double f[PERP_DAE_N];
  double g[PERP_DAE_M], gdot[PERP_DAE_M]; /* gdot: dg/dt at rest, to which G v is added */
  double gamma[PERP_DAE_M];               /* gddot = G a + gamma */
  double G[PERP_DAE_M][PERP_DAE_N];
} perp_dae_terms;

typedef struct perp_dae_options {
  int stabilize;
  double alpha; /* 1/s */
} perp_dae_options;
#define PERP_DAE_OPTIONS(default_alpha)                                                            \
  PERP_ENUM(perp_dae_options, stabilize, PERP_DAE_PROJECT, perp_dae_stabilizations,                \
            "Method against drift from g = 0: none, feedback (baumgarte), or projection after "    \
            "each step."),                                                                         \
      PERP_REAL(perp_dae_options, alpha, default_alpha, 0, HUGE_VAL, PERP_OPEN_MAX, "1/s",         \
                "Parameter alpha of the feedback (stabilize=baumgarte)."),                         \
      PERP_OPTIONS_END

/* Terms are zero on entry.  All entries of q0, v0 [n] must satisfy the constraints. */
typedef void perp_dae_fn(double t, const double *q, const double *v, perp_dae_terms *terms);
/* Put the problem into the scene (model NULL). */
perp_status perp_dae_scene(perp_ctx *ctx, perp_scene *scene, int n, int m, perp_dae_fn *fn,
                           const perp_dae_options *options, const double *q0, const double *v0);

#endif
