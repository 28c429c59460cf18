/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From joints to chains: those of kind chain, and two or three slides and hinges of other kinds. */
#include "models/multibody/chain.h"

#include <string.h>

bool perp_chain_is(const perp_joint_def *def)
{
  return def->kind == PERP_JOINT_CHAIN || def->kind == PERP_JOINT_RECTANGULAR ||
         def->kind == PERP_JOINT_CARTESIAN || def->kind == PERP_JOINT_SKEW_HINGES ||
         def->kind == PERP_JOINT_PIN_SLOT;
}

static void chain_build_pose(int dim, const double *q, perp_pose *pose)
{
  perp_pose plane;
  perp_pose_or_world(dim, q, &plane);
  *pose = plane;
  if (dim == 3) return;
  *pose = (perp_pose){ .x = { plane.x[0], plane.x[1] },
                       .R = { plane.R[0], plane.R[1], 0, plane.R[2], plane.R[3], 0, 0, 0, 1 } };
}

static void chain_build_add(perp_chain *chain, bool slides, const double along[3],
                            const double at[3])
{
  const double length = sqrt(perp_dot(3, along, along));
  const int i = chain->n++;
  chain->slides[i] = slides;
  for (int k = 0; k < 3; k++) chain->along[i][k] = along[k] / length, chain->at[i][k] = at[k];
}

/* What the rows of the joint do not allow of the displacement d in the frame of a. */
static void chain_build_gap(const perp_chain *chain, perp_joint_kind kind, const double d[3],
                            double gap[3])
{
  double n[3], along = 0;
  memset(gap, 0, 3 * sizeof *gap);
  if (kind == PERP_JOINT_RECTANGULAR) {
    perp_cross(chain->along[0], chain->along[1], n);
    along = perp_dot(3, n, d) / perp_dot(3, n, n);
    for (int k = 0; k < 3; k++) gap[k] = along * n[k];
  } else if (kind == PERP_JOINT_PIN_SLOT) {
    const double *slide = chain->along[chain->slides[0] ? 0 : 1];
    along = perp_dot(3, slide, d);
    for (int k = 0; k < 3; k++) gap[k] = d[k] - along * slide[k];
  }
}

void perp_chain_compile(const perp_joint_def *def, int dim, const double *qa, const double *qb,
                        perp_chain *chain)
{
  perp_pose A, B;
  double axis_a[3] = { 0 }, s[3] = { 0 }, b[3], c[3], p[3], d[3], gap[3];
  *chain = (perp_chain){ 0 };
  chain_build_pose(dim, qa, &A);
  chain_build_pose(dim, qb, &B);
  for (int j = 0; j < 3; j++) perp_turn_back(3, A.R, B.R + 3 * j, chain->R + 3 * j);
  for (int k = 0; k < 3; k++) s[k] = B.x[k] - A.x[k];
  perp_turn_back(3, A.R, s, chain->x); /* the centre of b */
  memcpy(axis_a, def->axis_a, (size_t)dim * sizeof *s);
  memset(s, 0, sizeof s);
  memcpy(s, def->axis_b, (size_t)dim * sizeof *s);
  perp_turn(3, chain->R, s, b);
  perp_turn(3, chain->R, def->axis_c, c);
  memset(s, 0, sizeof s);
  memcpy(s, def->anchor_b, (size_t)dim * sizeof *s);
  perp_turn(3, chain->R, s, p);
  memset(d, 0, sizeof d);
  memcpy(d, def->anchor_a, (size_t)dim * sizeof *d);
  for (int k = 0; k < 3; k++) p[k] += chain->x[k], d[k] = p[k] - d[k];
  if (def->kind == PERP_JOINT_CHAIN) {
    for (int axis = 0; axis < def->n_axes; axis++)
      chain_build_add(chain, def->axes[axis].slides != 0, def->axes[axis].along,
                      def->axes[axis].at);
  } else {
    const bool hinges = def->kind == PERP_JOINT_SKEW_HINGES,
               slot = def->kind == PERP_JOINT_PIN_SLOT;
    chain_build_add(chain, !hinges && !(slot && def->hinge_first != 0), axis_a, def->anchor_a);
    chain_build_add(chain, !hinges && !(slot && def->hinge_first == 0), b, p);
    if (def->kind == PERP_JOINT_CARTESIAN) chain_build_add(chain, true, c, p);
    chain_build_gap(chain, def->kind, d, gap); /* start: violates */
    for (int k = 0; k < 3; k++) {
      chain->x[k] -= gap[k];
      if (!hinges) chain->at[1][k] -= gap[k];
    }
  }
  /* the end is at the last hinge, and the distance of hinges from it the arm of an angle */
  int last = -1;
  for (int i = 0; i < chain->n; i++) last = chain->slides[i] ? last : i;
  for (int k = 0; k < 3; k++) d[k] = last < 0 ? 0 : chain->at[last][k] - chain->x[k];
  perp_turn_back(3, chain->R, d, chain->end);
  for (int i = 0; i < chain->n; i++) {
    double arm[3];
    if (chain->slides[i]) continue;
    for (int k = 0; k < 3; k++) arm[k] = chain->at[i][k] - chain->at[last][k];
    chain->size = fmax(chain->size, sqrt(perp_dot(3, arm, arm)));
  }
  if (!(chain->size > 1e-9)) chain->size = sqrt(perp_dot(3, d, d));
  if (!(chain->size > 1e-9)) chain->size = 1;
  for (int k = 0; k < 3; k++) chain->x[k] += d[k];
}

void perp_chain_centred(const perp_chain *chain, bool turned, perp_chain *out)
{
  double end[3], x[3], s[3];
  *out = *chain;
  perp_turn(3, chain->R, chain->end, end);
  for (int k = 0; k < 3; k++) x[k] = chain->x[k] - end[k];
  memset(out->end, 0, sizeof out->end);
  memcpy(out->x, x, sizeof x);
  if (!turned) return;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) out->R[i + 3 * j] = chain->R[j + 3 * i];
  perp_turn_back(3, chain->R, x, s);
  for (int k = 0; k < 3; k++) out->x[k] = -s[k];
  for (int i = 0; i < chain->n; i++) {
    const int from = chain->n - 1 - i;
    out->slides[i] = chain->slides[from];
    perp_turn_back(3, chain->R, chain->along[from], out->along[i]);
    for (int k = 0; k < 3; k++) s[k] = chain->at[from][k] - x[k], out->along[i][k] *= -1;
    perp_turn_back(3, chain->R, s, out->at[i]);
  }
}
