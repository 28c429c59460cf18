/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that must not be loaded; UNFIT says what is wrong with this one. */
#include "perp.h"

#include <stdlib.h>
#include <unistd.h>

__attribute__((unused)) static double value(const perp_measure *m)
{
  return m->now.t;
}

#define METRIC(IDENT, NAME)                                                                        \
  static const perp_metric_desc IDENT = {                                                          \
    .d = { .name = NAME, .summary = "a metric", .reference = "tests" },                            \
    .unit = "s",                                                                                   \
    .better = "",                                                                                  \
    .value = value                                                                                 \
  }

#if UNFIT == 1 /* no entry */
METRIC(metric, "unfit");
extern const perp_metric_desc *unfit_only;
const perp_metric_desc *unfit_only = &metric;
#elif UNFIT == 2  /* another interface version */
METRIC(metric, "unfit");
extern const perp_outside perp_outside_plugin;
const perp_outside perp_outside_plugin = { PERP_OUTSIDE_MAGIC, PERP_ABI + 1, NULL,
                                           (const perp_plugin[]){ { PERP_KIND_metric, &metric.d },
                                                                  { PERP_KIND_NONE, NULL } } };
#elif UNFIT == 3  /* a structure of another size */
METRIC(metric, "unfit");
extern const perp_outside perp_outside_plugin;
const perp_outside perp_outside_plugin = {
  PERP_OUTSIDE_MAGIC, PERP_ABI,
  (const perp_layout[]){ { "perp_ctx", sizeof(perp_ctx) + 8 }, { NULL, 0 } },
  (const perp_plugin[]){ { PERP_KIND_metric, &metric.d }, { PERP_KIND_NONE, NULL } }
};
#elif UNFIT == 4  /* a name that is taken */
METRIC(metric, "steps");
PERP_OUTSIDE({ PERP_KIND_metric, &metric.d });
#elif UNFIT == 5  /* a function that does not exist */
METRIC(metric, "unfit");
extern int perp_no_such_function(void);
extern int (*unfit_call)(void);
int (*unfit_call)(void) = perp_no_such_function;
PERP_OUTSIDE({ PERP_KIND_metric, &metric.d });
#elif UNFIT == 6  /* crashes while it is loaded */
METRIC(metric, "unfit");
PERP_OUTSIDE({ PERP_KIND_metric, &metric.d });
__attribute__((constructor)) static void crash(void)
{
  abort();
}
#elif UNFIT == 7  /* ends the program while it is loaded */
METRIC(metric, "unfit");
PERP_OUTSIDE({ PERP_KIND_metric, &metric.d });
__attribute__((constructor)) static void leave(void)
{
  _exit(3);
}
#elif UNFIT == 8  /* an incomplete descriptor */
static const perp_metric_desc metric = {
  .d = { .name = "unfit", .summary = "a metric", .reference = "tests" }, .unit = "s", .better = ""
};
PERP_OUTSIDE({ PERP_KIND_metric, &metric.d });
#elif UNFIT == 9  /* a name that a study file cannot hold */
METRIC(metric, "Un fit");
PERP_OUTSIDE({ PERP_KIND_metric, &metric.d });
#elif UNFIT >= 10 /* forces and joints that cannot be */
#if UNFIT < 19
static void force(const void *opts, int dim, int n, const perp_body_state *body, double t,
                  double *f)
{
  (void)opts, (void)dim, (void)n, (void)body, (void)t, (void)f;
}
static const perp_force_desc unfit = {
  .d = { .name = UNFIT == 13 ? "spring" : "unfit",
         .summary = "a force",
         .reference = "tests",
         .caps = UNFIT == 11   ? PERP_FORCE_INTERNAL
                 : UNFIT == 12 ? PERP_FORCE_IN_SPACE | PERP_FORCE_CONSERVATIVE
                               : PERP_FORCE_IN_SPACE },
  .bodies_min = 1,
  .bodies_max = UNFIT == 10 ? PERP_ELEMENT_BODIES + 1 : 2,
  .own = UNFIT == 14,
  .force = force,
};
#endif
#if UNFIT > 15 && UNFIT < 19
static int rows(const void *opts, int dim, int n, unsigned *angles)
{
  (void)opts, (void)dim, (void)n;
  *angles = 0;
  return 1;
}
#if UNFIT > 16
static void evaluate(const void *opts, int dim, int n, const perp_body_state *body, double *C,
                     double *J)
{
  (void)opts, (void)dim, (void)n, (void)body, (void)J;
  C[0] = 0;
}
static void at_time(const void *opts, int dim, int n, const perp_body_state *body, double t,
                    double *C, double *J, double *Ct, double *gamma)
{
  (void)opts, (void)dim, (void)n, (void)body, (void)t, (void)J, (void)Ct, (void)gamma;
  C[0] = 0;
}
static void prescribed(const void *opts, double t, double *g, double *gdot)
{
  (void)opts, (void)t;
  g[0] = gdot[0] = 0;
}
#endif
#endif
#if UNFIT == 19
static const perp_desc controller = { .name = "unfit",
                                      .summary = "a controller",
                                      .reference = "tests" };
PERP_OUTSIDE({ PERP_KIND_controller, &controller });
#elif UNFIT >= 15
static const perp_joint_desc joint = {
  .d = { .name = "unfit", .summary = "a joint", .reference = "tests", .caps = PERP_JOINT_IN_SPACE },
  .bodies_min = 1,
  .bodies_max = 2,
#if UNFIT > 15
  .rows = rows,
#endif
#if UNFIT > 16
  .evaluate = UNFIT == 17 ? evaluate : NULL,
  .at_time = at_time,
  .prescribed = UNFIT == 18 ? prescribed : NULL,
#endif
};
PERP_OUTSIDE({ PERP_KIND_force, &unfit.d }, { PERP_KIND_joint, &joint.d });
#else
PERP_OUTSIDE({ PERP_KIND_force, &unfit.d });
#endif
#endif
