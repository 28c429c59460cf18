/* SPDX-License-Identifier: GPL-3.0-or-later */
/* N-four-bar linkage: N + 1 vertical links hinged to the ground 1 m apart, their tips joined by N
 * horizontal ones, all uniform rods of 1 m and 1 kg; IFToMM library A02.  It starts upright, all
 * tips moving at `speed`.
 *
 * The links stay parallel: one degree of freedom, psi from the upright position, with
 *
 *      M psi'' = g W sin psi / L,   M = (N + 1)/3 + N,   W = (N + 1)/2 + N
 *
 * a pendulum that turns over: with nu^2 = g W / (M L) + psi'(0)^2 / 4 and k^2 = g W / (M L) / nu^2,
 *
 *      psi = pi - 2 am(K - nu t),   psi' = 2 nu dn
 *
 * When psi = +-90 degrees all links lie in one line: J loses rank and the mechanism could go on
 * with the links crossed.  The formulation must get through, twice a turn.  In space the hinges
 * about y make further rows redundant at all times. */
#include "models/scenes/elliptic.h"
#include "models/scenes/mechanism.h"

#include <math.h>
#include <stdlib.h>

struct bar_opts {
  int loops, dim;
  double length, speed, gravity;
};
static const perp_opt options[] = {
  PERP_INT(struct bar_opts, loops, 2, 1, 100000, "Number of loops N of the linkage."),
  PERP_OPT_POSITIVE(struct bar_opts, length, 1, "m", "Length of a link."),
  PERP_OPT_POSITIVE(struct bar_opts, speed, 1, "m/s",
                    "Initial speed of the upper ends of the vertical links."),
  PERP_OPT_G(struct bar_opts),
  PERP_INT(struct bar_opts, dim, 2, 2, 3,
           "Dimension: 2 is the plane, 3 is space with hinges about y."),
  PERP_OPTIONS_END
};

/* bodies 0 ... N vertical, N + 1 ... 2N horizontal, in the position psi */
static void four_bar_state_of(const struct bar_opts *opts, double psi, double rate, double *q,
                              double *v)
{
  const double L = opts->length, s = L * sin(psi), c = L * cos(psi);
  for (int i = 0; i <= opts->loops; i++) {
    const perp_planar planar = { i * L + s / 2, c / 2,         M_PI_2 - psi,
                                 rate * c / 2,  -rate * s / 2, -rate };
    perp_planar_state(opts->dim, i, &planar, q, v);
  }
  for (int i = 0; i < opts->loops; i++) {
    const perp_planar planar = { (i + 0.5) * L + s, c, 0, rate * c, -rate * s, 0 };
    perp_planar_state(opts->dim, opts->loops + 1 + i, &planar, q, v);
  }
}

static void four_bar_exact(void *user, double t, double *q, double *v)
{
  const struct bar_opts *opts = user;
  const double N = opts->loops, rate = opts->speed / opts->length;
  const double w2 = opts->gravity * ((N + 1) / 2 + N) / (((N + 1) / 3 + N) * opts->length);
  const double nu = sqrt(w2 + rate * rate / 4), kc = rate / (2 * nu);
  const double am = perp_elliptic_am(perp_elliptic_K(kc) - nu * t, kc);
  four_bar_state_of(opts, M_PI - 2 * am, 2 * nu * perp_elliptic_dn(am, kc), q, v);
}

static void four_bar_map_file(void *user, double t, const double *row, double *q, double *v)
{
  (void)t;
  four_bar_state_of(user, row[0], row[1], q, v);
}

static perp_status four_bar_truths(perp_ctx *ctx, perp_scene *scene, const struct bar_opts *opts)
{
  static const char *const columns[] = { "psi_from_upright", "psidot" };
  const bool benchmark = opts->length == 1 && opts->speed == 1 && opts->gravity == 9.81;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form: Jacobi elliptic functions", 1e-12,
                          four_bar_exact, opts, sizeof *opts));
  if (!benchmark || (opts->loops != 2 && opts->loops != 40)) return PERP_OK;
  return perp_truth_file(ctx, scene,
                         opts->loops == 2 ? "A02_four_bar_N2.csv" : "A02_four_bar_N40.csv", 1e-15,
                         2, columns, four_bar_map_file, opts, sizeof *opts);
}

static perp_status four_bar_add_joints(perp_ctx *ctx, perp_model *model,
                                       const struct bar_opts *opts)
{
  const double axis[3] = { 0, 1, 0 };
  const int loop = opts->loops;
  for (int i = 0; i <= loop; i++) {
    const double ground[3] = { i * opts->length };
    double tip[3];
    perp_scene_point(opts->dim, (const double[3]){ i * opts->length, 0, opts->length }, tip);
    PERP_TRY(perp_mechanism_join(ctx, model, PERP_JOINT_HINGE, PERP_WORLD, i, ground, axis));
    if (i > 0) PERP_TRY(perp_mechanism_join(ctx, model, PERP_JOINT_HINGE, i, loop + i, tip, axis));
    if (i < loop)
      PERP_TRY(perp_mechanism_join(ctx, model, PERP_JOINT_HINGE, i, loop + 1 + i, tip, axis));
  }
  return PERP_OK;
}

static perp_status four_bar_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct bar_opts *chosen = opts;
  const int n = 2 * chosen->loops + 1;
  const perp_mass rod = perp_mass_thin_rod(1, chosen->length);
  double *q = malloc((size_t)n * 13 * sizeof *q), *v = q + (size_t)n * 7;
  if (q == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "four-bar: no memory");
  four_bar_state_of(chosen, 0, chosen->speed / chosen->length, q, v);
  perp_status status = perp_model_create(ctx, chosen->dim, &scene->model);
  for (int i = 0; i < n && status == PERP_OK; i++) {
    perp_body_def def = perp_body_at(chosen->dim, rod, i, q, v);
    status = perp_model_add_body(ctx, scene->model, &def, NULL);
  }
  free(q);
  if (status == PERP_OK) status = four_bar_add_joints(ctx, scene->model, chosen);
  PERP_TRY(status);
  PERP_TRY(perp_scene_finish(ctx, scene, chosen->gravity, 10, 1e-3));
  scene->tip_body = 0; /* B0 */
  scene->tip[0] = chosen->length / 2;
  return four_bar_truths(ctx, scene, chosen);
}

const perp_scene_desc perp_scene_four_bar = {
  .d = { .name = "four-bar",
         .summary = "N-four-bar linkage that passes through its singular positions",
         .reference = "library of computational benchmark problems of IFToMM, A02; closed form",
         PERP_OPTIONS(options, struct bar_opts) },
  .build = four_bar_build,
};
