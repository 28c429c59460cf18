/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the scenes with contact share: building bodies with shapes, and gauges.  Private.
 *
 * Points are (x, y, height): world coordinates (x, y, z) in space; in the plane y is left out and
 * the point is (x, height).  Orientations are (tilt, azimuth): the axis that was up leans by `tilt`
 * [rad] from the vertical towards the horizontal direction `azimuth` (+x at 0), R = Rz(azimuth)
 * Ry(tilt); in the plane the azimuth is left out and a tilt is an angle of -tilt. */
#ifndef PERP_SCENE_BUILDER_H
#define PERP_SCENE_BUILDER_H

#include "models/scenes/build.h"

/* ---- building -------------------------------------------------------------------------------- */

/* Remembers the first failure: after it nothing is done any more, and perp_build_end returns it. */
typedef struct perp_builder {
  perp_ctx *ctx;
  perp_scene *scene;
  int dim;
  perp_surface surface; /* of the shapes to come */
  double v[3],
      spin;     /* of the next body, then zero: (x, y, height) m/s; rad/s from x to the height */
  double depth; /* m, of polygons in space, along y */
  bool collide_joined; /* of the shapes to come, see shape.h */
  perp_status status;
} perp_builder;

/* A model of the scene with gravity [m/s^2]; surface with mu and e for all shapes. */
perp_builder perp_build_begin(perp_ctx *ctx, perp_scene *scene, int dim, double gravity, double mu,
                              double e);
/* name: of the body and its shape, may be NULL. */
/* Half-space of the world through p, below its surface. */
void perp_build_plane(perp_builder *y, const char *name, const double p[3], double tilt,
                      double azimuth);
/* The floor: the half-space below height 0. */
void perp_build_floor(perp_builder *y);
/* A box of the world or, with m > 0, a body.  size: edges along x, y, height.  Returns the body. */
int perp_build_box(perp_builder *y, const char *name, double m, const double size[3],
                   const double p[3], double tilt, double azimuth);
/* A ball (a disc in the plane) of radius r, inertia factor k: I = k m r^2. */
int perp_build_ball(perp_builder *y, const char *name, double m, double r, double k,
                    const double p[3]);
/* A body whose contact has no torque: a ball of radius r above its centre of mass touches the
 * ground there. */
int perp_build_foot(perp_builder *y, const char *name, double m, double r, const double p[3],
                    double tilt, double azimuth);
/* A thin rod of length 2 half along x, as a mass; its shape is a needle whose ends are vertices: a
 * rhombus, an octahedron in space. */
int perp_build_needle(perp_builder *y, const char *name, double m, double half, const double p[3],
                      double tilt);
/* A convex polygon with n <= 16 corners (x, height) counter-clockwise, uniform density, mass m; in
 * space a prism from y = -depth/2 to depth/2.  The body frame is parallel to the world's, at the
 * centre of mass. */
int perp_build_polygon(perp_builder *y, const char *name, double m, int n, const double *corners);
/* A body of its own kind; position, orientation, velocity and spin as above are added to def. */
int perp_build_body(perp_builder *y, perp_body_def *def, const double p[3], double tilt,
                    double azimuth);
void perp_build_shape(perp_builder *y, perp_shape_def *def);
/* Such a body and its shape, which gets its name. */
int perp_build_solid(perp_builder *y, perp_body_def *def, perp_shape_def *shape, const double p[3],
                     double tilt, double azimuth);
void perp_build_joint(perp_builder *y, const perp_joint_def *def);
void perp_build_force(perp_builder *y, const perp_force_def *def);
/* Finish the model.  size [m]: of a typical body.  Sets t_end and h = 1/240 s; the scene is marked
 * dissipative. */
perp_status perp_build_end(perp_builder *y, double size, double t_end);

/* R = Rz(azimuth) Ry(tilt) as a quaternion. */
void perp_build_quat(double tilt, double azimuth, double quat[4]);
/* Area, centroid and second moment about the centroid (int r^2 dA) of a simple polygon,
 * counter-clockwise. */
void perp_polygon_moments(int n, const double *corners, double *area, double centroid[2],
                          double *polar);
/* Rate from x to the height of a body that turns in the vertical plane only. */
double perp_build_rate(int dim, int b, const double *v);

/* ---- gauges ---------------------------------------------------------------------------------- */

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
/* force.rel.err: sum of the normal contact forces between two bodies against statics, the largest
 * |F - exact| / scale over steps that start at t0 or later. */
enum {
  PERP_ANY_BODY = -2
}; /* as b with a = PERP_WORLD: vertical component of all that the world gives */
typedef struct perp_force_truth {
  int a, b;     /* bodies; PERP_WORLD = -1 */
  double exact; /* N */
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
/* event.err: the k-th event is seen at the first state for which happened(user, k, ...) holds,
 * which may look at the velocities before (NULL at first); events come in order.  The largest |t -
 * time_k|, infinity when one that is due (time_k <= end of the run - slack) was never seen.  times
 * [n] and user [size bytes] are copied. */
typedef bool perp_event_fn(const void *user, int k, const double *q, const double *v,
                           const double *v_before);
perp_status perp_gauge_events(perp_ctx *ctx, perp_scene *scene, int n, const double *times,
                              double slack, perp_event_fn *happened, const void *user, size_t size);

/* statics.err.max [m]: largest distance of the centre of bodies 0 ... n-1 from the places [3 n],
 * (x, y, height) each, where statics has them, in the last state of a run.  places are copied. */
perp_status perp_gauge_places(perp_ctx *ctx, perp_scene *scene, int n, const double *places);
/* period.rel.err: time between the first and the last passage of coordinate i of q through 0 in the
 * same direction, interpolated, against whole periods. */
perp_status perp_gauge_period(perp_ctx *ctx, perp_scene *scene, int i, double period);

/* ---- statics, for their scenes and for tests ------------------------------------------------- */

/* Positive iff a semicircular arch of n straight-edged voussoirs of thickness t = t/R stands with
 * friction mu: see arch.c. */
double perp_arch_margin(int n, double t, double mu);
/* Least friction with which a card house stands: see thresholds.c. */
double perp_card_house_mu(double theta, double length, double thickness);

#endif
