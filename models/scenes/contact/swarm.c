/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles under spatial interaction (Vondrak 2005, section 3.3): two that attract each other,
 * whose motion is known, and many. */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- kepler ---- */

/* Two mass points with the potential -k m_1 m_2 / r about their centre of mass, which drifts;
 * relative orbit with semi-major axis a and eccentricity e, from the closest point: Kepler's
 * equation
 *
 *      E - e sin E = omega t,  omega^2 a^3 = k (m_1 + m_2)
 *
 *      r = a (cos E - e, sqrt(1 - e^2) sin E) */
struct kepler_opts {
  double axis, eccentricity, mass_1, mass_2, strength, drift;
  int dim;
};
static const perp_opt kepler_options[] = {
  PERP_OPT_POSITIVE(struct kepler_opts, axis, 1, "m", "Semi-major axis of the relative orbit."),
  PERP_REAL(struct kepler_opts, eccentricity, 0.5, 0, 1, PERP_OPEN_MAX, "",
            "Eccentricity of the orbit."),
  PERP_OPT_POSITIVE(struct kepler_opts, mass_1, 3, "kg", "Mass of the first particle."),
  PERP_OPT_POSITIVE(struct kepler_opts, mass_2, 1, "kg", "Mass of the second particle."),
  PERP_OPT_POSITIVE(struct kepler_opts, strength, 1, "N m^2/kg^2",
                    "Strength k of the attraction k m_1 m_2 / r^2."),
  PERP_OPT_FINITE(struct kepler_opts, drift, 0.1, "m/s", "Velocity of the centre of mass along x."),
  PERP_OPT_DIM(struct kepler_opts, 2),
  PERP_OPTIONS_END
};

static void kepler_state(void *user, double t, double *q, double *v)
{
  const struct kepler_opts *opts = user;
  const double e = opts->eccentricity, a = opts->axis, mass = opts->mass_1 + opts->mass_2;
  const double omega = sqrt(opts->strength * mass / (a * a * a)),
               M = remainder(omega * t, 2 * M_PI);
  const double b = a * sqrt(1 - e * e);
  double E = e < 0.8 ? M : copysign(M_PI, M);
  for (int i = 0; i < 60; i++) {
    const double step = (E - e * sin(E) - M) / (1 - e * cos(E));
    E -= step;
    if (fabs(step) < 1e-16) break;
  }
  const double r[2] = { a * (cos(E) - e), b * sin(E) }, rate = omega / (1 - e * cos(E));
  const double rdot[2] = { -a * sin(E) * rate, b * cos(E) * rate };
  const int nq = opts->dim == 3 ? 7 : 3, nv = opts->dim == 3 ? 6 : 3;
  memset(q, 0, 2 * (size_t)nq * sizeof *q);
  memset(v, 0, 2 * (size_t)nv * sizeof *v);
  for (int i = 0; i < 2; i++) {
    const double part = i == 0 ? -opts->mass_2 / mass : opts->mass_1 / mass;
    for (int k = 0; k < 2; k++) {
      q[nq * i + k] = part * r[k];
      v[nv * i + k] = part * rdot[k];
    }
    q[nq * i] += opts->drift * t;
    v[nv * i] += opts->drift;
    if (opts->dim == 3) q[nq * i + 3] = 1;
  }
}

static perp_status build_kepler(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct kepler_opts *chosen = opts;
  struct kepler_opts start = *chosen;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form: Kepler's equation", 1e-14, kepler_state, chosen,
                          sizeof *chosen));
  double q[14], v[12];
  kepler_state(&start, 0, q, v);
  perp_body_def body[2];
  for (int i = 0; i < 2; i++) {
    const perp_mass mass = { .mass = i == 0 ? chosen->mass_1 : chosen->mass_2 };
    body[i] = perp_body_at(chosen->dim, mass, i, q, v);
    body[i].particle = true;
  }
  const perp_force_def pull = {
    .kind = PERP_FORCE_PAIRS, .a = 0, .b = 1, .law = PERP_LAW_GRAVITY, .strength = chosen->strength
  };
  const double period = 2 * M_PI *
                        sqrt(chosen->axis /
                             (chosen->strength * (chosen->mass_1 + chosen->mass_2))) *
                        chosen->axis;
  const perp_scene_parts parts = {
    .dim = chosen->dim, .body = body, .n_bodies = 2, .force = &pull
  };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 2 * period, period / 2000));
  scene->isolated = true;
  return PERP_OK;
}

const perp_scene_desc perp_scene_kepler = {
  .d = { .name = "kepler",
         .summary = "Two particles that attract each other",
         .reference = "closed form: Kepler's equation",
         .equation = "x1'' = k m2 (x2 - x1) / r^3,  x2'' = k m1 (x1 - x2) / r^3",
         PERP_OPTIONS(kepler_options, struct kepler_opts) },
  .build = build_kepler,
};

/* ---- particles ---- */

/* N^dim particles on a lattice with random velocities, each pair with the potential of the law; the
 * centre of mass drifts along x.  Units of Lennard-Jones: masses, lengths and energies of 1. */
enum { LENNARD_JONES, REPULSION };
static const char *const laws[] = { "lennard-jones", "repulsion", NULL };

struct swarm_opts {
  int side, law, dim;
  double spacing, cutoff, speed, drift;
};
static const perp_opt swarm_options[] = {
  PERP_INT(struct swarm_opts, side, 5, 2, 100,
           "Number of particles along each side of the lattice."),
  PERP_ENUM(struct swarm_opts, law, LENNARD_JONES, laws,
            "Law of the interaction: Lennard-Jones potential, or repulsion only."),
  PERP_OPT_POSITIVE(struct swarm_opts, spacing, 1.2, "m",
                    "Lattice constant (initial distance of neighbours)."),
  PERP_OPT_NONNEGATIVE(
      struct swarm_opts, cutoff, 2.5, "m",
      "Distance beyond which the interaction is zero. 0: no cut-off, all pairs interact."),
  PERP_OPT_NONNEGATIVE(struct swarm_opts, speed, 0.5, "m/s",
                       "Standard deviation of each initial velocity component."),
  PERP_OPT_FINITE(struct swarm_opts, drift, 0.1, "m/s", "Velocity of the centre of mass along x."),
  PERP_OPT_DIM(struct swarm_opts, 3),
  PERP_OPTIONS_END
};

static perp_status swarm_bodies(perp_ctx *ctx, const struct swarm_opts *opts, perp_model *model,
                                perp_rng *rng, int n)
{
  double *v = malloc((size_t)(opts->dim * n) * sizeof *v), mean[3] = { 0 };
  if (v == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "particles: no memory");
  for (int i = 0; i < opts->dim * n; i++) {
    v[i] = opts->speed * perp_rng_normal(rng);
    mean[i % opts->dim] += v[i] / n;
  }
  perp_status status = PERP_OK;
  for (int i = 0; i < n && status == PERP_OK; i++) {
    perp_body_def body = { .particle = true, .mass = { .mass = 1 } };
    for (int k = 0, rest = i; k < opts->dim; k++, rest /= opts->side) {
      body.x[k] = opts->spacing * (rest % opts->side - 0.5 * (opts->side - 1));
      body.v[k] = v[opts->dim * i + k] - mean[k] + (k == 0 ? opts->drift : 0);
    }
    status = perp_model_add_body(ctx, model, &body, NULL);
  }
  free(v);
  return status;
}

static perp_status build_particles(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct swarm_opts *chosen = opts;
  const int n = chosen->side * chosen->side * (chosen->dim == 3 ? chosen->side : 1);
  PERP_TRY(perp_model_create(ctx, chosen->dim, &scene->model));
  perp_rng *rng = perp_rng_create(2005);
  if (rng == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "particles: no memory");
  perp_status status = swarm_bodies(ctx, chosen, scene->model, rng, n);
  perp_rng_destroy(rng);
  PERP_TRY(status);
  const perp_force_def law = { .kind = PERP_FORCE_PAIRS,
                               .a = 0,
                               .b = n - 1,
                               .law = chosen->law == REPULSION ? PERP_LAW_REPULSION
                                                               : PERP_LAW_LENNARD_JONES,
                               .strength = 1,
                               .length = 1,
                               .cutoff = chosen->cutoff };
  PERP_TRY(perp_model_add_force(ctx, scene->model, &law));
  PERP_TRY(perp_scene_finish(ctx, scene, 0, 1, 1e-3));
  scene->tip_body = PERP_WORLD;
  scene->isolated = true;
  return PERP_OK;
}

const perp_scene_desc perp_scene_particles = {
  .d = { .name = "particles",
         .summary = "Lattice of particles with a spatial interaction and a cut-off",
         .reference = "Vondrak 2005, section 3.3; conserved: momentum, angular momentum, energy",
         .equation = "V(r) = 4 (r^-12 - r^-6), shifted to V = V' = 0 at the cut-off",
         PERP_OPTIONS(swarm_options, struct swarm_opts) },
  .build = build_particles,
};
