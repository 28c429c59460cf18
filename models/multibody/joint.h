/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints: those of model.h, and plug-ins of kind `joint`, rows C(q) = 0 between one body or more
 * and the world. */
#ifndef PERP_JOINT_H
#define PERP_JOINT_H

#include "models/multibody/element.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Capability bits, promises:
 *      IN_SPACE, IN_PLANE  serves models of 3, of 2 dimensions; one of both at least must be there
 *      AT_CENTRES          no orientation is read, and nothing turns: bodies may be particles
 *      INVARIANT           C stays as it is when all its bodies are moved and turned together:
 * between bodies (not the world) it keeps momentum and angular momentum, whatever its error.  Rows
 * in axes of the world, as those of a ball joint, turn with them and are not NONHOLONOMIC rows on
 * velocities, J v = g(t), that are no derivative of rows on positions: C = 0 always */
enum {
  PERP_JOINT_IN_SPACE = 1 << 0,
  PERP_JOINT_IN_PLANE = 1 << 1,
  PERP_JOINT_AT_CENTRES = 1 << 2,
  PERP_JOINT_INVARIANT = 1 << 3,
  PERP_JOINT_NONHOLONOMIC = 1 << 4,
  PERP_JOINT_OF_AXES = 1 << 5 /* perp's own: rows are those of axes of other joints */
};

/* The functions depend on nothing but what they are given, and `evaluate` and `bias` do not change
 * opts; they may be called by several threads at a time, and for states that no simulation has
 * accepted: C must be smooth near C = 0, and finite everywhere. */
typedef struct perp_joint_desc {
  perp_desc d;
  int bodies_min, bodies_max; /* how many it takes, at most PERP_ELEMENT_BODIES; the world may be
                               * one of them, once */
  /* Number of rows, 1 ... PERP_JOINT_ROWS, constant.  *angles: bit k is set where row k is an angle
   * or a sine; others are lengths in metres. */
  int (*rows)(const void *opts, int dim, int n, unsigned *angles);
  /* Do options and number of bodies fit together?  PERP_ERR_ARG with a message that says what the
   * user can do.  NULL: they always do. */
  perp_status (*check)(perp_ctx *ctx, const void *opts, int dim, int n);
  /* Before anything else, at the initial state: what of it the joint keeps, such as relative
   * orientations, into members of opts that no row of the table has.  Repeated for the same state
   * it must say the same.  NULL: nothing. */
  void (*begin)(void *opts, int dim, int n, const perp_body_state *body);
  /* start: zero (PERP_START_ZERO): options change so that C = 0 in the initial state. PERP_ERR_ARG:
   * none fit it.  NULL: such a start is refused. */
  perp_status (*zero)(perp_ctx *ctx, void *opts, int dim, int n, const perp_body_state *body);
  /* C [rows], and unless it is NULL J: for each body in turn rows x 6, column-major, with Cdot =
   * sum of J_k (v_k, w_k), the exact derivative of C everywhere; it comes filled with zeros.  What
   * is said of the world is not read; v and w are 0. */
  void (*evaluate)(const void *opts, int dim, int n, const perp_body_state *body, double *C,
                   double *J);
  /* gamma [rows] = Jdot v: the second derivative of C where all v and w are constant.  NULL: a
   * difference of J v along that motion, of order 6 with steps of 1/200 of the size of the model
   * (or of radians): off by about 1e-13 of its terms for a C that is smooth on that scale; 6 calls
   * of `evaluate`. */
  void (*bias)(const void *opts, int dim, int n, const perp_body_state *body, double *gamma);
  /* Of a NONHOLONOMIC one: g [rows] and its derivative by t.  NULL: 0. */
  void (*prescribed)(const void *opts, double t, double *g, double *gdot);
  /* Of rows C(q, t) = 0 that depend on time, in the place of `evaluate`, `bias` and `prescribed`,
   * which are NULL then: C, and unless they are NULL J as of `evaluate`, Ct [rows], the derivative
   * of C by t where nothing moves, and gamma [rows], the second derivative of C where all v and w
   * are constant, parts of t among it.  All but gamma come with v and w of 0.  A joint with it does
   * work on its bodies, for which nothing pays. */
  void (*at_time)(const void *opts, int dim, int n, const perp_body_state *body, double t,
                  double *C, double *J, double *Ct, double *gamma);
  int own; /* 1 + perp_joint_kind of a joint of model.h, whose options are a perp_joint_def; 0: a
              plug-in */
} perp_joint_desc;

#ifdef __cplusplus
}
#endif

#endif
