/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random trees of bodies: joints of all kinds that joint coordinates have, bodies in any
 * orientation. */
#ifndef TESTS_RANDOM_TREES_H
#define TESTS_RANDOM_TREES_H

#include "models/models.h"
#include "models/geometry/kinematics.h"
#include "models/multibody/reduced_tree.h"
#include "tests/tap.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static inline void tree_direction(perp_rng *rng, double n[3])
{
  double s = 0;
  for (int i = 0; i < 3; i++) n[i] = perp_rng_normal(rng), s += n[i] * n[i];
  for (int i = 0; i < 3; i++) n[i] /= sqrt(s);
}

static inline int tree_body(perp_ctx *ctx, perp_rng *rng, perp_model *m, int dim)
{
  int index;
  double side[3]; /* one draw after the other: C leaves the order of arguments to the compiler */
  const double mass = perp_rng_uniform(rng, 0.5, 3);
  for (int i = 0; i < 3; i++) side[i] = perp_rng_uniform(rng, 0.1, 0.4);
  perp_body_def def = { .mass = perp_mass_box(mass, side[0], side[1], side[2]) };
  for (int i = 0; i < dim; i++) def.x[i] = perp_rng_uniform(rng, -1, 1);
  for (int i = 0; i < 4; i++) def.quat[i] = perp_rng_normal(rng);
  def.angle = perp_rng_uniform(rng, -1, 1);
  if (perp_model_add_body(ctx, m, &def, &index) != PERP_OK) bail("%s", ctx->msg);
  return index;
}

/* A point (place) or direction of the world in the frame of a body. */
static inline void tree_local(const perp_model *m, int body, bool place, const double p[3],
                              double s[3])
{
  const int dim = perp_model_dim(m);
  double d[3];
  memcpy(s, p, 3 * sizeof *s);
  if (body < 0) return;
  const perp_body_def *b = perp_model_body(m, body);
  perp_pose pose;
  double q[7];
  memcpy(q, b->x, sizeof b->x);
  if (dim == 3)
    memcpy(q + 3, b->quat, sizeof b->quat);
  else
    q[2] = b->angle;
  perp_pose_of(dim, q, &pose);
  for (int i = 0; i < 3; i++) d[i] = i < dim ? p[i] - (place ? pose.x[i] : 0) : 0;
  perp_turn_back(dim, pose.R, d, s);
}

static inline void tree_join(perp_ctx *ctx, perp_rng *rng, perp_model *m, perp_joint_kind kind,
                             int a, int b)
{
  const int dim = perp_model_dim(m);
  perp_joint_def def = { .kind = kind, .a = a, .b = b };
  double p[3] = { 0 }, n[3], n2[3], other[3], end[3];
  const double *x = perp_model_body(m, b)->x;
  for (int i = 0; i < dim; i++) p[i] = x[i] + perp_rng_uniform(rng, -0.3, 0.3);
  tree_direction(rng, n);
  tree_direction(rng, other);
  if (dim == 2) n[2] = 0;
  memcpy(n2, n, sizeof n2);
  memcpy(end, p, sizeof end);
  if (kind == PERP_JOINT_UNIVERSAL) perp_cross(n, other, n2);
  if (kind == PERP_JOINT_BALL) memcpy(n2, other, sizeof n2);
  if (kind == PERP_JOINT_DISTANCE) {
    end[0] += 0.3, end[1] -= 0.2;
    def.length = sqrt(0.13);
  }
  const bool slides = kind == PERP_JOINT_RECTANGULAR || kind == PERP_JOINT_CARTESIAN,
             chain = slides || kind == PERP_JOINT_SKEW_HINGES || kind == PERP_JOINT_PIN_SLOT;
  if (dim == 2) other[2] = 0;
  if (dim == 3 && (chain || kind == PERP_JOINT_CHAIN)) { /* far from parallel */
    double across[3], size;
    perp_cross(n, other, across);
    size = sqrt(perp_dot(3, across, across));
    for (int i = 0; i < 3; i++) other[i] = across[i] / size + 0.5 * n[i];
  }
  if (chain) memcpy(n2, other, sizeof n2);
  double third[3];
  perp_cross(n, other, third);
  for (int i = 0; i < dim && chain; i++)
    end[i] += 0.2 * n[i] + (slides                           ? 0.3 * other[i]
                            : kind == PERP_JOINT_SKEW_HINGES ? 0.4 * third[i]
                                                             : 0);
  if (kind == PERP_JOINT_CARTESIAN) tree_local(m, b, false, third, def.axis_c);
  if (kind == PERP_JOINT_CHAIN) { /* a hinge, a slide, one or two hinges that it moves */
    def.n_axes = 3 + perp_rng_int(rng, 2);
    for (int i = 0; i < def.n_axes; i++) {
      const double *along = i == 0 ? n : i == 1 ? other : third;
      double at[3] = { p[0] + 0.1 * i * i, p[1] - 0.2 * i, p[2] + 0.3 * i };
      def.axes[i].slides = i == 1;
      tree_local(m, a, false, i == 3 ? other : along, def.axes[i].along);
      tree_local(m, a, true, at, def.axes[i].at);
    }
  }
  tree_local(m, a, true, p, def.anchor_a);
  tree_local(m, b, true, end, def.anchor_b);
  tree_local(m, a, false, n, def.axis_a);
  tree_local(m, b, false, n2, def.axis_b);
  if (perp_model_add_joint(ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx->msg);
}

/* n bodies; kinds: those to choose from; floats: the root hangs on nothing; branches: parents are
 * any, else the last one. */
static inline perp_model *tree_random(perp_ctx *ctx, perp_rng *rng, int dim, int n, bool floats,
                                      int kinds, const perp_joint_kind *kind)
{
  perp_model *m;
  if (perp_model_create(ctx, dim, &m) != PERP_OK) bail("%s", ctx->msg);
  for (int i = 0; i < n; i++) {
    const int b = tree_body(ctx, rng, m, dim);
    const int parent = i == 0                     ? PERP_WORLD
                       : perp_rng_int(rng, 3) > 0 ? i - 1
                                                  : perp_rng_int(rng, i);
    if (i == 0 && floats) continue;
    const perp_joint_kind what = kind[perp_rng_int(rng, kinds)];
    /* written from either side; on the world it is always the first one */
    if (i > 0 && what != PERP_JOINT_DISTANCE && perp_rng_int(rng, 2) == 0)
      tree_join(ctx, rng, m, what, b, parent);
    else
      tree_join(ctx, rng, m, what, parent, b);
  }
  if (perp_model_finish(ctx, m) != PERP_OK) bail("%s", ctx->msg);
  return m;
}

/* A random state and accelerations in joint coordinates. */
static inline void tree_state(perp_ctx *ctx, perp_rng *rng, const perp_model *m, double *q,
                              double *u, double *udot)
{
  perp_reduced_tree *t;
  if (perp_reduced_create(ctx, m, &t) != PERP_OK) bail("%s", ctx->msg);
  double *q0 = calloc((size_t)t->nq + 1, sizeof *q0), *d = calloc((size_t)t->nu + 1, sizeof *d);
  perp_reduced_from_model(t, perp_model_q0(m), perp_model_v0(m), q0, u);
  for (int i = 0; i < t->nu; i++) {
    d[i] = perp_rng_uniform(rng, -0.8, 0.8);
    u[i] = perp_rng_uniform(rng, -2, 2);
    udot[i] = perp_rng_uniform(rng, -5, 5);
  }
  perp_reduced_retract(t, q0, d, q);
  free(q0);
  free(d);
  free(t);
}

#endif
