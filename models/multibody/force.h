/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces: those of model.h, and plug-ins of kind `force`, functions of the states of one body or
 * more. */
#ifndef PERP_FORCE_H
#define PERP_FORCE_H

#include "models/multibody/element.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Capability bits, promises:
 *      IN_SPACE, IN_PLANE  serves models of 3, of 2 dimensions; one of both at least must be there
 *      AT_CENTRES          no orientation is read, and there is no torque: bodies may be particles
 *      INTERNAL            forces and torques on all its bodies together are zero: between bodies
 * (not the world) it keeps momentum and angular momentum CONSERVATIVE        `energy` is there, and
 * the power of the force is -d energy / dt NEEDS_VELOCITY      without it v and w are not read
 *      NEEDS_TIME          without it t is not read */
enum {
  PERP_FORCE_IN_SPACE = 1 << 0,
  PERP_FORCE_IN_PLANE = 1 << 1,
  PERP_FORCE_AT_CENTRES = 1 << 2,
  PERP_FORCE_INTERNAL = 1 << 3,
  PERP_FORCE_CONSERVATIVE = 1 << 4,
  PERP_FORCE_NEEDS_VELOCITY = 1 << 5,
  PERP_FORCE_NEEDS_TIME = 1 << 6
};

/* The functions depend on nothing but what they are given, and opts is not changed; they may be
 * called by several threads at a time, and for states that no simulation has accepted.  Numbers
 * that are not finite end a run as diverged. */
typedef struct perp_force_desc {
  perp_desc d;
  int bodies_min, bodies_max; /* how many it takes, at most PERP_ELEMENT_BODIES; the world may be
                               * one of them, once */
  /* Do options and number of bodies fit together?  PERP_ERR_ARG with a message that says what the
   * user can do.  NULL: they always do. */
  perp_status (*check)(perp_ctx *ctx, const void *opts, int dim, int n);
  /* f [6 n] += of each body in turn the force (world) and the torque (body frame); it comes filled
   * with zeros.  What is said of the world is not read. */
  void (*force)(const void *opts, int dim, int n, const perp_body_state *body, double t, double *f);
  /* Potential energy, J; v and w are not there.  NULL: there is none. */
  double (*energy)(const void *opts, int dim, int n, const perp_body_state *body, double t);
  /* Derivatives of f, N x N column-major with N = 6 n, filled with zeros: dq by small turns and
   * displacements (x + dx, R exp(dtheta x), dtheta in the body frame), dv by (v, w).  For
   * formulations that are implicit in forces.  NULL: central differences of `force`, 24 n calls. */
  void (*gradient)(const void *opts, int dim, int n, const perp_body_state *body, double t,
                   double *dq, double *dv);
  /* Capabilities with these options, where they decide about more than d.caps; NULL: d.caps. */
  unsigned (*promises)(const void *opts);
  int own; /* 1 + perp_force_kind of a force of model.h, whose options are a perp_force_def; 0: a
              plug-in */
} perp_force_desc;

#ifdef __cplusplus
}
#endif

#endif
