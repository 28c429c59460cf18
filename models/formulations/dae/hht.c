/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HHT-I3: the method of Hilber, Hughes and Taylor 1977 for the index-3 equations of constrained
 * bodies (Negrut, Rampalli, Ottarsson and Sajdak 2007), the implicit method of Adams and Chrono.
 * With the force F = f + J' lambda of bodies and joints and -1/3 <= alpha < 0,
 *
 *      M a1 = (1 + alpha) F(t1, q1, v1) - alpha F(t0, q0, v0),      C(q1) = 0,
 *      q1 = q0 [+] h (v0 + (1/2 - beta) h a0 + beta h a1),
 *      v1 = v0 + h ((1 - gamma) a0 + gamma a1),
 *
 *      gamma = 1/2 - alpha,      beta = (1 - alpha)^2 / 4.
 *
 * As M is constant in the frames of the bodies, the first equation is a1 = (1 + alpha) v1' - alpha
 * v0' with M v' = F: generalized-alpha in index-3 form with alpha_m = 0 and alpha_f = -alpha, whose
 * steps these are.  Of that family with one parameter rho it is no member: its spectral radius at
 * infinity is (1 + alpha) / (1 - alpha) too (0.54 at -0.3), but there alpha_m = 3 alpha_f - 1.
 *
 * a0 stands for the acceleration at t0 + alpha h; the start makes it so (generalized_alpha.c),
 * where the paper takes v'(0).  Rotations are vectors in the frame of the body, where the paper has
 * Euler parameters; steps are fixed, where it controls their error.
 *
 * Order 2 in q, v and lambda; J v1 = 0 is held to O(h^2).  alpha near 0 dissipates little, and
 * errors of lambda die out slowly.  Cost as of generalized-alpha:form=index3. */
#include "models/formulations/dae/generalized_alpha.h"
#include "models/stepping/stepper.h"

static const perp_opt options[] = {
  PERP_REAL(perp_generalized_alpha_opts, alpha, -0.3, -1. / 3, 0, PERP_OPEN_MAX, "",
            "Weight of the forces at the start of a step, with the sign turned: -1/3 dissipates "
            "most, values near 0 least."),
  PERP_GENERALIZED_ALPHA_OPTIONS, PERP_OPTIONS_END
};

static perp_status hht_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                              void **ws)
{
  perp_generalized_alpha_opts o = *(const perp_generalized_alpha_opts *)parts->formulation.opts;
  o.form = PERP_GENERALIZED_ALPHA_INDEX3;
  return perp_generalized_alpha_create(ctx, model, parts, h, 0, -o.alpha, &o, ws);
}

const perp_formulation_desc perp_formulation_hht = {
  .d = { .name = "hht",
         .summary = "HHT-I3: Hilber, Hughes and Taylor's method for index-3 equations; order 2",
         .reference = "Negrut, Rampalli, Ottarsson and Sajdak 2007; Hilber, Hughes and Taylor 1977",
         .equation = "M a+ = (1 + alpha) F+ - alpha F,  F = f + J' lambda,  C(q+) = 0",
         PERP_OPTIONS(options, perp_generalized_alpha_opts),
         .caps = PERP_GENERALIZED_ALPHA_CAPS },
  .create = hht_create,
  PERP_GENERALIZED_ALPHA_CALLS,
};
