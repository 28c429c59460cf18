/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mechanisms: joints given by points of the world in the initial state.  Private. */
#ifndef PERP_MECHANISM_H
#define PERP_MECHANISM_H

#include "models/scenes/build.h"

/* The point p of the world in the frame of a body (PERP_WORLD: p itself), in the initial state; model
 * not yet finished. */
void perp_mechanism_local(const perp_model *model, int body, const double p[3], double s[3]);
/* Join bodies a and b at the point p of the world; axis (world, NULL: none) of hinges and sliders. */
perp_status perp_mechanism_join(perp_ctx *ctx, perp_model *model, perp_joint_kind kind, int a,
                                int b, const double p[3], const double *axis);
/* One body that moves in the vertical plane, to coordinates [3] or [7] and rates [3] or [6]: centre of
 * mass (x, height), angle from +x as in perp_links, and their rates. */
typedef struct perp_planar {
  double x, height, angle, vx, vheight, rate;
} perp_planar;
void perp_mechanism_state(int dim, const perp_planar *p, double *q, double *v);
/* A body definition in the state (q, v) of one body. */
perp_body_def perp_mechanism_body(int dim, const perp_mass *mass, const double *q, const double *v);
/* Published values of a problem against its first truth, into scene->published: n numbers published [n]
 * and their truth ref [n], of which the first n_q are positions (n = n_q: err_v is unknown, NaN). */
void perp_mechanism_published(perp_scene *scene, const char *what, double t, int n_q, int n,
                              const double *published, const double *ref);

#endif
