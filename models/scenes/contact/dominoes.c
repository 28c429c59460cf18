/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A train of dominoes: height h, thickness d, clear gap s, each hinged at its lower front edge,
 * frictionless, plastic impacts.  The first starts with the rate w_0; all that have fallen lean on
 * each other and on the front one, so that between impacts there is one degree of freedom and the
 * times of impact are quadratures.  The table below is of that quadrature (30 digits;
 * C13_domino_train.csv) for the parameters of the benchmark; other parameters have no truth. */
#include "models/scenes/scene_builder.h"
#include "models/scenes/truths.h"

#include <math.h>

struct domino_opts {
  int dominoes;
  double height, thickness, gap, rate, mass, gravity;
  int dim;
  bool events;
};
static const perp_opt options[] = {
  PERP_INT(struct domino_opts, dominoes, 30, 2, 10000, "Number of dominoes."),
  PERP_OPT_POSITIVE(struct domino_opts, height, 0.05, "m", "Height of a domino."),
  PERP_OPT_POSITIVE(struct domino_opts, thickness, 0.008, "m", "Thickness of a domino."),
  PERP_OPT_POSITIVE(struct domino_opts, gap, 0.02, "m", "Clear distance between neighbours."),
  PERP_OPT_POSITIVE(struct domino_opts, rate, 6, "rad/s",
                    "Initial angular velocity of the first domino."),
  PERP_OPT_POSITIVE(struct domino_opts, mass, 0.01, "kg", "Mass of a domino."),
  PERP_OPT_G(struct domino_opts),
  PERP_OPT_DIM(struct domino_opts, 2),
  PERP_BOOL(struct domino_opts, events, false,
            "Comparison with an event-driven reference solution, in addition to the exact times of "
            "impact."),
  PERP_OPTIONS_END
};

/* domino k + 2 is hit */
static const double impacts[] = { 0.071683437984709303, 0.14914577048722735, 0.19920162124127685,
                                  0.23635459762451932,  0.26733366546876181, 0.29503385038316204,
                                  0.32086112746552331,  0.34556592442612827, 0.36957676695095626,
                                  0.39315003087649575,  0.4164439439282448,  0.43955815270355797,
                                  0.46255622189450246,  0.48547902464800102, 0.50835297133158952,
                                  0.53119517665525662,  0.55401675006692208, 0.5768249096172593,
                                  0.59962434731960346,  0.62241811386835466, 0.64520819296311172,
                                  0.66799587450913545,  0.6907819972486271,  0.71356710653949085,
                                  0.73635155696312715,  0.75913557905238505, 0.7819193226841159,
                                  0.80470288529529233,  0.82748633022954443 };
enum { IMPACTS = sizeof impacts / sizeof *impacts };

struct watch {
  int dim;
  double rate;
};

static bool dominoes_moves(const void *user, int k, const double *q, const double *v,
                           const double *v_before)
{
  const struct watch *watch = user;
  (void)q, (void)v_before;
  return fabs(perp_build_rate(watch->dim, k + 1, v)) > watch->rate;
}

static perp_status dominoes_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct domino_opts *o = opts;
  const double d = o->thickness, h = o->height;
  perp_builder builder = perp_build_begin(ctx, scene, o->dim, o->gravity, 0, 0);
  builder.depth = h / 2;
  for (int i = 0; i < o->dominoes; i++) {
    const double front = i * (d + o->gap); /* the hinge */
    const double size[3] = { d, h / 2, h }, p[3] = { front - d / 2, 0, h / 2 };
    const double edge[3] = { front, 0, 0 }, in_body[3] = { d / 2, 0, -h / 2 };
    /* what keeps it from falling backwards, away from the hinge so that nothing is held twice */
    const double foot[3] = { d / 2, h / 2, d }, below[3] = { front - 0.75 * d, 0, -d / 2 };
    builder.collide_joined = true;
    perp_build_box(&builder, "foot", 0, foot, below, 0, 0);
    builder.collide_joined = false;
    if (i == 0) { /* falls forwards: w x (p - edge), from the height to x */
      builder.spin = -o->rate;
      builder.v[0] = o->rate * h / 2;
      builder.v[2] = o->rate * d / 2;
    }
    const int body = perp_build_box(&builder, "domino", o->mass, size, p, 0, 0);
    perp_joint_def hinge = perp_scene_joint(PERP_JOINT_HINGE, "hinge", PERP_WORLD, body, 1);
    perp_scene_point(o->dim, edge, hinge.anchor_a);
    perp_scene_point(o->dim, in_body, hinge.anchor_b);
    perp_build_joint(&builder, &hinge);
  }
  PERP_TRY(perp_build_end(&builder, h, 0.025 * (o->dominoes + 3)));
  scene->h = 1e-3;
  if (o->events) PERP_TRY(perp_truth_events(ctx, scene, scene->t_end, 1e-8));
  const bool benchmark = h == 0.05 && d == 0.008 && o->gap == 0.02 && o->rate == 6 &&
                         o->gravity == 9.81;
  if (!benchmark) return PERP_OK;
  const int n = o->dominoes - 1 < IMPACTS ? o->dominoes - 1 : IMPACTS;
  const struct watch watch = { o->dim, 1e-3 * o->rate };
  return perp_gauge_events(ctx, scene, n, impacts, 0.02, dominoes_moves, &watch, sizeof watch);
}

const perp_scene_desc perp_scene_dominoes = {
  .d = { .name = "dominoes",
         .summary = "Train of hinged dominoes: times of impact, front speed 1.7548 sqrt(g h)",
         .reference = "quadrature to 20 digits; McLachlan et al. 1983 (scaling)",
         .equation = "one degree of freedom between plastic impacts",
         PERP_OPTIONS(options, struct domino_opts) },
  .build = dominoes_build,
};
