/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The workspace, coordinates, and the recursion in joint coordinates
 * (models/multibody/reduced_inverse.c). */
#include "models/figures/inverse_private.h"
#include "models/multibody/chain.h"

#include "models/geometry/kinematics.h"
#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

static void inverse_layout(void *ws, perp_arena *arena)
{
  perp_inverse *inverse = ws;
  PERP_INTS(arena, inverse->tree->n, &inverse->joint, &inverse->node_of);
  inverse->qm = PERP_CARVE(arena, double, perp_model_nq(inverse->model));
  inverse->q = PERP_CARVE(arena, double, inverse->tree->nq);
  PERP_DOUBLES(arena, perp_model_nv(inverse->model), &inverse->vm, &inverse->f);
  inverse->u = PERP_CARVE(arena, double, inverse->tree->nu);
}

static perp_status inverse_refuse(perp_ctx *ctx, const perp_model *model,
                                  const perp_reduced_tree *tree)
{
  if (perp_model_motions(model) > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "inverse dynamics: the model has prescribed motions, whose forces are no "
                     "joint forces; remove them");
  for (int joint = 0; joint < perp_model_joints(model); joint++) {
    const perp_joint_def *def = perp_model_joint(model, joint);
    const char *name = def->name != NULL ? def->name : "";
    if (tree->cut[joint])
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "inverse dynamics: joint %d '%s' (%s) closes a loop or has no coordinates: "
                       "the forces of a motion are not unique there",
                       joint, name, perp_joint_kind_name(def->kind));
    if (def->stiffness > 0 || def->damping > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "inverse dynamics: joint %d '%s' is soft; make it rigid", joint, name);
  }
  return PERP_OK;
}

/* The joint to the parent: the only one of the tree between both. */
static void inverse_index(perp_inverse *inverse)
{
  int *node_of = inverse->node_of;
  for (int i = 0; i < inverse->tree->n; i++) inverse->joint[i] = -1;
  for (int node = 0; node < inverse->tree->n; node++)
    node_of[inverse->tree->node[node].body] = node;
  for (int joint = 0; joint < perp_model_joints(inverse->model); joint++) {
    const perp_joint_def *def = perp_model_joint(inverse->model, joint);
    const int a = def->a < 0 ? -1 : node_of[def->a], parent = def->b < 0 ? -1 : node_of[def->b];
    if (parent >= 0 && inverse->tree->node[parent].parent == a && inverse->joint[parent] < 0)
      inverse->joint[parent] = joint;
    else if (a >= 0 && inverse->tree->node[a].parent == parent)
      inverse->joint[a] = joint;
  }
  /* a root that floats has no parent, as one that hangs on the world */
  for (int node = 0; node < inverse->tree->n; node++) {
    const perp_reduced_kind kind = inverse->tree->node[node].kind;
    if (kind == PERP_REDUCED_FREE || kind == PERP_REDUCED_PLANAR) inverse->joint[node] = -1;
  }
}

perp_status perp_inverse_create(perp_ctx *ctx, const perp_model *model, perp_inverse **out)
{
  *out = NULL;
  perp_inverse like = { .model = model };
  void *ws = NULL;
  PERP_TRY(perp_reduced_create(ctx, model, &like.tree));
  perp_status status = inverse_refuse(ctx, model, like.tree);
  if (status == PERP_OK)
    status = perp_workspace_create(ctx, "inverse", &like, sizeof like, inverse_layout, &ws);
  if (status != PERP_OK) {
    free(like.tree);
    return status;
  }
  *out = ws;
  inverse_index(*out);
  return PERP_OK;
}

void perp_inverse_destroy(perp_inverse *inverse)
{
  if (inverse == NULL) return;
  free(inverse->tree);
  free(inverse);
}

int perp_inverse_nq(const perp_inverse *inverse)
{
  return inverse->tree->nq;
}

int perp_inverse_nu(const perp_inverse *inverse)
{
  return inverse->tree->nu;
}

perp_inverse_coordinate perp_inverse_what(const perp_inverse *inverse, int i)
{
  static const char *const turns[] = { "rx", "ry", "rz" }, *const moves[] = { "x", "y", "z" },
                           *const axes[] = { "a", "b", "c", "d", "e" };
  int n = 0;
  while (n + 1 < inverse->tree->n && inverse->tree->node[n + 1].iu <= i) n++;
  while (inverse->tree->node[n].nu == 0) n--;
  const perp_reduced_node *node = &inverse->tree->node[n];
  const int c = i - node->iu;
  perp_inverse_coordinate what = { node->body, inverse->joint[n], "angle", "Nm" };
  switch (node->kind) {
  case PERP_REDUCED_FREE:
    what.part = c < 3 ? moves[c] : turns[c - 3];
    what.unit = c < 3 ? "N" : "Nm";
    break;
  case PERP_REDUCED_PLANAR:
    what.part = c < 2 ? moves[c] : turns[2];
    what.unit = c < 2 ? "N" : "Nm";
    break;
  case PERP_REDUCED_BALL:
    what.part = turns[c];
    break;
  case PERP_REDUCED_SLIDER:
    what.part = moves[0];
    what.unit = "N";
    break;
  case PERP_REDUCED_DISTANCE: /* the rod turns about its y and z */
    what.part = c < 2 ? (c == 0 ? "rod_y" : "rod_z") : turns[c - 2];
    break;
  case PERP_REDUCED_PLANAR_DISTANCE:
    what.part = c == 0 ? "rod" : "angle";
    break;
  case PERP_REDUCED_UNIVERSAL:
    what.part = c == 0 ? "angle" : "angle2";
    break;
  case PERP_REDUCED_CHAIN_2:
  case PERP_REDUCED_CHAIN_3:
  case PERP_REDUCED_CHAIN_4:
  case PERP_REDUCED_CHAIN_5:
    what.part = axes[node->turned ? node->nu - 1 - c : c];
    what.unit = node->chain->slides[c] ? "N" : "Nm";
    break;
  case PERP_REDUCED_HINGE:
  case PERP_REDUCED_FIXED:
    break;
  }
  return what;
}

void perp_inverse_joints(perp_inverse *inverse, const double *qm, const double *vm, double *q,
                         double *u)
{
  perp_reduced_from_model(inverse->tree, qm, vm, q, u);
}

void perp_inverse_state(perp_inverse *inverse, const double *q, const double *u, const double *udot,
                        double *qm, double *vm, double *am)
{
  perp_reduced_kinematics(inverse->tree, q, u);
  perp_reduced_to_model(inverse->tree, qm, vm);
  if (am == NULL) return;
  perp_reduced_move(inverse->tree, udot);
  perp_reduced_accelerations(inverse->tree, am);
}

void perp_inverse_recursive(perp_inverse *inverse, double t, const double *q, const double *u,
                            const double *udot, const double *external, double *tau)
{
  perp_reduced_kinematics(inverse->tree, q, u);
  perp_reduced_to_model(inverse->tree, inverse->qm, inverse->vm);
  perp_reduced_move(inverse->tree, udot);
  perp_model_forces(inverse->model, t, inverse->qm, inverse->vm, inverse->f);
  perp_model_compensation(inverse->model, t, inverse->qm, -1, NULL, inverse->f);
  for (int i = 0; external != NULL && i < perp_model_nv(inverse->model); i++)
    inverse->f[i] += external[i];
  perp_reduced_inverse(inverse->tree, inverse->f, tau);
}

void perp_inverse_add_force(const perp_model *model, const double *qm, int body, const double s[3],
                            const double force[3], double *f)
{
  const int d = perp_model_dim(model), nvb = d == 3 ? 6 : 3, nqb = d == 3 ? 7 : 3;
  double D[9];
  perp_pose pose;
  perp_pose_of(d, qm + nqb * body, &pose);
  perp_direction_jacobian(d, pose.R, s, D);
  double *fb = f + nvb * body;
  for (int i = 0; i < d; i++) fb[i] += force[i];
  for (int r = 0; r < perp_rates(d); r++) fb[d + r] += perp_dot(d, D + d * r, force);
}
