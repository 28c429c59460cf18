/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders of methods for constrained motion, on mechanisms against their references: a constraint in
 * the plane, a body that turns in space, closed loops, redundant rows, a singular position.  Study
 * mechanism-orders has all eight mechanisms.
 *
 * order = least slope of log(error) over log(h) of two pairs of steps, each half of the last. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"

#include <math.h>

static perp_ctx ctx;

enum { PENDULUM = 1, TOP = 2, ANDREWS = 4, SARRUS = 8, FOUR_BAR = 16, ALL = 31 };

/* h: the longest step for each order */
static const struct mechanism {
  const char *scene;
  double t_end, h[6];
} mechanisms[] = {
  { "pendulum", 1, { 0, 0.5e-3, 4e-3, 4e-3, 8e-3, 16e-3 } },
  { "heavy-top", 0.1, { 0, 0.1e-3, 1e-3, 1e-3, 1e-3, 1e-3 } },
  { "andrews", 0.01, { 0, 10e-6, 20e-6, 20e-6, 80e-6, 80e-6 } },
  { "sarrus", 0.3, { 0, 0.5e-3, 4e-3, 4e-3, 8e-3, 16e-3 } },
  { "four-bar", 1.5, { 0, 0.1e-3, 1e-3, 2e-3, 8e-3, 16e-3 } }, /* singular at 1.22 s */
};
enum { MECHANISMS = sizeof mechanisms / sizeof *mechanisms };

typedef struct method {
  const char *formulation, *ode, *stab, *kkt;
  int order, on; /* on: mechanisms */
} method;

#define ACCELERATION(ode_, stab_, kkt_)                                                            \
  .formulation = "acceleration", .ode = ode_, .stab = stab_, .kkt = kkt_

static const method methods[] = {
  /* through the singular position it has order 4 */
  { .formulation = "phem56", .order = 5, .on = ALL & ~FOUR_BAR },
  { .formulation = "augmented-lagrangian", .order = 2, .on = ALL },
  { .formulation = "hht", .order = 2, .on = ALL },
  { .formulation = "bdf:order=1", .order = 1, .on = ALL & ~FOUR_BAR },
  { .formulation = "bdf:order=2", .order = 2, .on = ALL },
  { .formulation = "bdf", .order = 3, .on = ALL },
  { .formulation = "bdf:order=4", .order = 4, .on = ALL },
  { .formulation = "bdf:order=5", .order = 5, .on = ALL },
  { .formulation = "moreau-jean", .order = 2, .on = ALL & ~FOUR_BAR },
  { .formulation = "moreau-jean:theta=1", .order = 1, .on = ALL & ~FOUR_BAR },
  { .formulation = "moreau-jean:projection=combined", .order = 2, .on = ALL },
  { .formulation = "nonsmooth-alpha", .order = 2, .on = ALL & ~FOUR_BAR },
  { .formulation = "tgs:positions=50", .order = 1, .on = ALL & ~FOUR_BAR },
  { .formulation = "coordinate-partitioning", .ode = "rk4", .order = 4, .on = ALL & ~FOUR_BAR },
  { .formulation = "tangent-coordinates", .ode = "rk4", .order = 4, .on = ALL & ~FOUR_BAR },
  { ACCELERATION("rodas4", "post:velocity=true", "schur-sparse"), 4, ALL & ~FOUR_BAR },
  { ACCELERATION("lie-newmark", "post:velocity=true", "schur-sparse"), 2, ALL },
  { ACCELERATION("rkmk4", "post:velocity=true", "schur-sparse"), 4, ALL },
  { ACCELERATION("crouch-grossman", "post:velocity=true", "schur-sparse"), 4, ALL },
  { ACCELERATION("commutator-free", "post:velocity=true", "schur-sparse"), 4, ALL },
  { ACCELERATION("rk4", "velocity-projection", "schur-sparse"), 4, ALL & ~FOUR_BAR },
  { ACCELERATION("rk4", "gradient-flow:rate=10", "schur-sparse"), 4, ALL },
  { ACCELERATION("rk4", "gradient-flow", "schur-sparse"), 2, ALL & ~TOP },
  { ACCELERATION("rk4", "post:velocity=true", "null-space"), 4, ALL },
  { ACCELERATION("rk4", "post:velocity=true", "udwadia-kalaba"), 4, ALL },
};
/* Methods and options of a lower order than is claimed here. */
static const method liars[] = {
  { ACCELERATION("midpoint", "post:velocity=true", "schur-sparse"), 4, PENDULUM | ANDREWS },
  { ACCELERATION("lie-newmark:gamma=0.6", "post:velocity=true", "schur-sparse"), 2, TOP | SARRUS },
  { ACCELERATION("rk4", "gradient-flow", "schur-sparse"), 4, PENDULUM | ANDREWS | SARRUS },
  { .formulation = "moreau-jean:theta=0.55", .order = 2, .on = PENDULUM | TOP | SARRUS },
  { .formulation = "nonsmooth-alpha:reactions=end", .order = 2, .on = PENDULUM | TOP },
  { .formulation = "bdf:order=4", .order = 5, .on = PENDULUM | ANDREWS },
  { .formulation = "hht", .order = 3, .on = PENDULUM | FOUR_BAR },
};

/* The least slope of three errors, of steps h, h/2, h/4; NaN: a run did not end. */
static double order_of(const method *x, const struct mechanism *on, double err[3])
{
  double least = INFINITY;
  for (int k = 0; k < 3; k++) {
    const perp_request request = { .scene = on->scene,
                                   .formulation = x->formulation,
                                   .ode = x->ode,
                                   .stab = x->stab,
                                   .kkt = x->kkt,
                                   .h = ldexp(on->h[x->order], -k),
                                   .t_end = on->t_end };
    perp_result r;
    if (perp_simulate(&ctx, &request, &r) != PERP_OK) bail("%s: %s", on->scene, ctx.msg);
    err[k] = perp_result_metric(&r, "err.q.max");
    if (r.reason <= 0) {
      printf("# %s, h = %g s: %s\n", on->scene, request.h, r.message);
      err[k] = (double)NAN;
    }
    perp_result_free(&r);
    if (k > 0) {
      const double slope = log2(err[k - 1] / err[k]);
      if (!(slope >= least)) least = slope;
    }
  }
  return least;
}

static bool kept(int order, double slope)
{
  return slope > order - 0.45 && slope < order + 1.5;
}

static void all(const method *x, bool honest)
{
  for (int i = 0; i < MECHANISMS; i++) {
    if ((x->on >> i & 1) == 0) continue;
    double err[3];
    const double slope = order_of(x, &mechanisms[i], err);
    ok(kept(x->order, slope) == honest,
       "%s %s %s %s on %s: order %.2f, %d claimed%s (errors %.1e %.1e %.1e)", x->formulation,
       x->ode ? x->ode : "", x->stab ? x->stab : "", x->kkt ? x->kkt : "", mechanisms[i].scene,
       slope, x->order, honest ? "" : ", refused", err[0], err[1], err[2]);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) all(&methods[i], true);
  for (size_t i = 0; i < sizeof liars / sizeof *liars; i++) all(&liars[i], false);
  return tap_done();
}
