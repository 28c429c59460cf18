/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gauges that scenes share: figures of their own by which a run is judged where the truth is no
 * trajectory.  Each adds a gauge to the scene, whose model is finished; PERP_ERR_NOMEM: there is no
 * room (PERP_SCENE_GAUGES).
 */
#ifndef PERP_GAUGES_H
#define PERP_GAUGES_H

#include "models/scenes/places.h"
#include "models/scenes/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The gauge is a copy of user [size bytes], which sample and value (as in scene.h) get; each run
 * starts with it as it is here. */
perp_status perp_gauge_add(perp_ctx *ctx, perp_scene *scene, const char *metric, const void *user,
                           size_t size, perp_gauge_sample *sample, perp_gauge_value *value);
/* One more figure of the gauge that was added last. */
perp_status perp_gauge_also(perp_ctx *ctx, perp_scene *scene, const char *metric,
                            perp_gauge_value *value);

/* accel.rel.err: mean acceleration of the centre of mass of a body from the first state at or after
 * t0 to the last at or before t1, against the exact one (x, y, height), |a - exact| / |exact|, or /
 * scale when exact = 0. */
perp_status perp_gauge_accel(perp_ctx *ctx, perp_scene *scene, int body, const double exact[3],
                             double scale, double t0, double t1);
/* pose.drift.max and creep.vel.max of bodies first ... first + n - 1, which should rest from t0 on:
 * the largest displacement [m] of the centre of mass or of the points `radius` from it along the
 * body axes, and the largest speed of these points [m/s]. */
perp_status perp_gauge_rest(perp_ctx *ctx, perp_scene *scene, int first, int n, double radius,
                            double t0);
/* verdict.err of a structure of bodies first ... first + n - 1: 0 when in the run they move by more
 * than `limit` [m] exactly if `stands` is false, else 1; pose.drift.max as above. */
perp_status perp_gauge_stands(perp_ctx *ctx, perp_scene *scene, int first, int n, double radius,
                              double limit, bool stands);
/* force.rel.err: sum of the normal contact forces between two bodies, or the vertical force of a
 * joint on its body b, against statics, the largest |F - exact| / scale over steps that start at t0
 * or later. */
enum {
  PERP_ANY_BODY = -2, /* as b with a = PERP_WORLD: vertical component of all that the world gives */
  PERP_OF_JOINT = -3  /* as a: b is a joint whose first rows are p_b - p_a */
};
typedef struct perp_force_truth {
  int a, b;     /* bodies; PERP_WORLD = -1 */
  double exact; /* N; NaN: F is added to that of the next one, as those of the parts of a foot */
} perp_force_truth;
perp_status perp_gauge_force(perp_ctx *ctx, perp_scene *scene, int n,
                             const perp_force_truth *truths, double scale, double t0);
/* Error of the velocities at the first state at or after t: max over i with a positive weight of
 * weight |v_i - exact_i| / scale.  weight [nv of a body]: the same for all; exact [nv]. */
perp_status perp_gauge_velocity(perp_ctx *ctx, perp_scene *scene, const char *metric, double t,
                                const double *weight, const double *exact, double scale);
/* The same where all bodies move alike: exact [nv of a body]. */
perp_status perp_gauge_velocities(perp_ctx *ctx, perp_scene *scene, const char *metric, double t,
                                  const double *weight, const double *exact, double scale);
/* impact.rel.err: the same of one body that moves in the vertical plane, with the rates of `exact`;
 * its turning weighs `radius`. */
perp_status perp_gauge_planar_velocity(perp_ctx *ctx, perp_scene *scene, double t, double radius,
                                       const perp_planar *exact, double scale);
/* path.err.max: largest distance of the centre of a body from its exact place p (x, y, height) at
 * time t. */
typedef void perp_path_fn(const void *user, double t, double p[3]);
perp_status perp_gauge_path(perp_ctx *ctx, perp_scene *scene, int body, perp_path_fn *path,
                            const void *user, size_t size);
/* force.rel.err of a joint over time: the largest |F - exact(t)| / scale, F the reaction force on
 * body b in world axes (reaction.h) and t the time that it belongs to: the start, the end or the
 * middle of a step (perp_forces_time); of forces from t0 on.  exact: F(t) [3] in N.  user [size
 * bytes] is copied.  Steps whose forces are
 * unknown are left out; NaN where all are, as with reduced. */
typedef void perp_reaction_fn(const void *user, double t, double exact[3]);
perp_status perp_gauge_reaction(perp_ctx *ctx, perp_scene *scene, int joint,
                                perp_reaction_fn *exact, const void *user, size_t size,
                                double scale, double t0);
/* event.err: the k-th event is seen at the first state for which happened(user, k, ...) holds,
 * which may look at the velocities before (NULL at first); events come in order.  The largest |t -
 * time_k|, infinity when one that is due (time_k <= end of the run - slack) was never seen.  times
 * [n] and user [size bytes] are copied. */
typedef bool perp_event_fn(const void *user, int k, const double *q, const double *v,
                           const double *v_before);
perp_status perp_gauge_events(perp_ctx *ctx, perp_scene *scene, int n, const double *times,
                              double slack, perp_event_fn *happened, const void *user, size_t size);

/* event.err: |t - exact| of the first joint that is released, infinity when none was although the
 * run goes on beyond. */
perp_status perp_gauge_release(perp_ctx *ctx, perp_scene *scene, double exact);

/* statics.err.max [m]: largest distance of the centre of bodies 0 ... n-1 from the places [3 n],
 * (x, y, height) each, where statics has them, in the last state of a run.  places are copied. */
perp_status perp_gauge_places(perp_ctx *ctx, perp_scene *scene, int n, const double *places);
/* period.rel.err: time between the first and the last passage of coordinate i of q through 0 in the
 * same direction, interpolated, against whole periods. */
perp_status perp_gauge_period(perp_ctx *ctx, perp_scene *scene, int i, double period);

#ifdef __cplusplus
}
#endif

#endif
