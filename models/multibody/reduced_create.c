/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of bodies and joints under joint coordinates: sorted breadth first from the world, with
 * the constant part of every joint.  The other files reduced_*.c evaluate it. */
#include "models/multibody/chain.h"
#include "models/multibody/reduced_private.h"

#include <stdlib.h>

/* By perp_joint_kind, in the plane and in space; PERP_REDUCED_FREE: a constraint, no edge of the
 * tree. */
static const perp_reduced_kind reduced_create_kinds[][2] = {
  [PERP_JOINT_BALL] = { PERP_REDUCED_HINGE, PERP_REDUCED_BALL },
  [PERP_JOINT_HINGE] = { PERP_REDUCED_HINGE, PERP_REDUCED_HINGE },
  [PERP_JOINT_UNIVERSAL] = { PERP_REDUCED_UNIVERSAL, PERP_REDUCED_UNIVERSAL },
  [PERP_JOINT_SLIDER] = { PERP_REDUCED_SLIDER, PERP_REDUCED_SLIDER },
  [PERP_JOINT_FIXED] = { PERP_REDUCED_FIXED, PERP_REDUCED_FIXED },
  [PERP_JOINT_DISTANCE] = { PERP_REDUCED_PLANAR_DISTANCE, PERP_REDUCED_DISTANCE },
  [PERP_JOINT_RECTANGULAR] = { PERP_REDUCED_CHAIN_2, PERP_REDUCED_CHAIN_2 },
  [PERP_JOINT_CARTESIAN] = { PERP_REDUCED_FREE, PERP_REDUCED_CHAIN_3 },
  [PERP_JOINT_SKEW_HINGES] = { PERP_REDUCED_FREE, PERP_REDUCED_CHAIN_2 },
  [PERP_JOINT_PIN_SLOT] = { PERP_REDUCED_FREE, PERP_REDUCED_CHAIN_2 },
  [PERP_JOINT_CHAIN] = { PERP_REDUCED_FREE, PERP_REDUCED_CHAIN_3 }, /* of as many axes */
  [PERP_JOINT_PLUGIN] = { PERP_REDUCED_FREE },
};

static const char *reduced_create_body(const perp_model *model, int b, char buf[PERP_LABEL_MAX])
{
  const char *name = b < 0 ? "world" : perp_model_body(model, b)->name;
  return name != NULL ? name : perp_model_label(buf, "body", b, NULL);
}

static perp_status reduced_create_refuse(perp_ctx *ctx, const perp_model *model, int j,
                                         const char *why)
{
  const perp_joint_def *def = perp_model_joint(model, j);
  char joint[PERP_LABEL_MAX], a[PERP_LABEL_MAX], b[PERP_LABEL_MAX];
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "reduced: %s (%s - %s) %s",
                   perp_model_label(joint, "joint", j, def->name),
                   reduced_create_body(model, def->a, a), reduced_create_body(model, def->b, b),
                   why);
}

void perp_reduced_pose(const perp_model *model, const double *qm, int b, double x[3], double R[9],
                       double *angle)
{
  int dim = perp_model_dim(model);
  memcpy(x, world_node.x, sizeof world_node.x);
  memcpy(R, world_node.R, sizeof world_node.R);
  *angle = 0;
  if (b < 0) return;
  const double *q = qm + b * (dim == 3 ? 7 : 3);
  for (int i = 0; i < dim; i++) x[i] = q[i];
  if (dim == 3) {
    perp_quat_matrix(q + 3, R);
  } else {
    *angle = q[2];
    R[0] = R[4] = cos(q[2]), R[1] = sin(q[2]), R[3] = -R[1];
  }
}

/* The constant part of a node whose joint j (-1: none) leads from its parent. */
static void reduced_create_attach(perp_reduced_tree *tree, int j, int parent_body, node *child)
{
  const perp_model *model = tree->model;
  const int dim = perp_model_dim(model);
  const double *q0 = perp_model_q0(model);
  double xp[3], Rp[9], xc[3], Rc[9], angle_p, angle_c;
  perp_reduced_pose(model, q0, parent_body, xp, Rp, &angle_p);
  perp_reduced_pose(model, q0, child->body, xc, Rc, &angle_c);
  multiply_transposed(Rp, Rc, child->rel);
  child->rel_angle = angle_c - angle_p;

  const perp_mass *mass = &perp_model_body(model, child->body)->mass;
  child->mass = mass->mass;
  memcpy(child->inertia, mass->inertia, sizeof child->inertia);
  if (dim == 2) {
    memset(child->inertia, 0, sizeof child->inertia);
    child->inertia[0] = child->inertia[4] = child->inertia[8] = mass->inertia[8];
  }

  child->kind = dim == 3 ? PERP_REDUCED_FREE : PERP_REDUCED_PLANAR;
  child->joint = j;
  if (j < 0) return;
  const perp_joint_def *def = perp_model_joint(model, j);
  const bool turned = child->turned = def->b != child->body;
  child->kind = reduced_create_kinds[def->kind][dim - 2];
  child->length = def->length;
  if (model->joint[j].chain != NULL) {
    perp_chain *chain = &tree->chain[tree->n_chains++];
    perp_chain_centred(model->joint[j].chain, turned, chain);
    child->kind = (perp_reduced_kind)(PERP_REDUCED_CHAIN_2 + chain->n - 2);
    child->chain = chain;
    return;
  }
  const double *axis_p = turned ? def->axis_b : def->axis_a,
               *axis_c = turned ? def->axis_a : def->axis_b;
  for (int i = 0; i < dim; i++) {
    child->anchor_p[i] = turned ? def->anchor_b[i] : def->anchor_a[i];
    child->anchor_c[i] = turned ? def->anchor_a[i] : def->anchor_b[i];
  }
  if (dim == 2 && child->kind == PERP_REDUCED_HINGE) {
    child->axis_p[2] = child->axis_c[2] = 1;
  } else if (child->kind == PERP_REDUCED_SLIDER) {
    /* the axis is given in a; the orientation never changes */
    double axis[3] = { def->axis_a[0], def->axis_a[1], dim == 3 ? def->axis_a[2] : 0 };
    unit(axis, axis);
    if (turned)
      turn(child->rel, axis, child->axis_p);
    else
      memcpy(child->axis_p, axis, sizeof axis);
  } else if (child->kind == PERP_REDUCED_HINGE || child->kind == PERP_REDUCED_UNIVERSAL) {
    unit(axis_p, child->axis_p);
    unit(axis_c, child->axis_c);
  }
}

/* While the bodies are sorted.  The joints of body b, -1: the world, are adj[ptr[b + 1] ... ptr[b +
 * 2] - 1]. */
typedef struct sorting {
  const perp_model *model;
  int n, nj, count;
  int *ptr, *adj;
  int *order, *parent,
      *via; /* [n] bodies, their parents (places in order), the joints to these; count of them */
  bool *placed, *used; /* [n] bodies, [nj] joints */
} sorting;

static void sorting_layout(void *sort, perp_arena *arena)
{
  sorting *work = sort;
  work->ptr = PERP_CARVE(arena, int, work->n + 3);
  work->adj = PERP_CARVE(arena, int, 2 * work->nj);
  PERP_INTS(arena, work->n, &work->order, &work->parent, &work->via);
  work->placed = PERP_CARVE(arena, bool, work->n);
  work->used = PERP_CARVE(arena, bool, work->nj);
}

static void sorting_place(sorting *work, int body, int parent, int via)
{
  work->placed[body] = true;
  work->parent[work->count] = parent;
  work->via[work->count] = via;
  work->order[work->count++] = body;
}

/* Has the joint coordinates here? */
static bool reduced_create_carries(const perp_joint_def *def)
{
  return reduced_create_kinds[def->kind][1] != PERP_REDUCED_FREE &&
         !(def->kind == PERP_JOINT_DISTANCE && !(def->length > 0));
}

/* What hangs on body b at place `parent`, by joints not used yet. */
static void sorting_neighbours(sorting *work, int b, int parent)
{
  for (int e = work->ptr[b + 1]; e < work->ptr[b + 2]; e++) {
    const int via = work->adj[e];
    const perp_joint_def *def = perp_model_joint(work->model, via);
    const int other = def->a == b ? def->b : def->a;
    if (work->used[via] || other < 0 || work->placed[other] || !reduced_create_carries(def))
      continue;
    work->used[via] = true;
    sorting_place(work, other, parent, via);
  }
}

static perp_status reduced_create_check(perp_ctx *ctx, const perp_model *model, int j)
{
  const perp_joint_def *def = perp_model_joint(model, j);
  perp_armature_def armature;
  char why[80];
  if (perp_model_armature_of(model, j, &armature)) return PERP_OK;
  snprintf(why, sizeof why, "is soft (%g); joint coordinates need rigid joints", def->softness);
  return def->softness > 0 ? reduced_create_refuse(ctx, model, j, why) : PERP_OK;
}

/* The armature that joint j is goes to the coordinate of its axis. */
static perp_status reduced_create_armature(perp_ctx *ctx, perp_reduced_tree *tree,
                                           const sorting *work, int j)
{
  perp_armature_def armature;
  if (!perp_model_armature_of(tree->model, j, &armature)) return PERP_OK;
  for (int i = 0; i < tree->n; i++) {
    node *child = &tree->node[i];
    if (work->via[i] != armature.joint) continue;
    const int axis = perp_chain_axis_of(armature.axis),
              chain = child->chain != NULL ? child->nu : 0;
    const int of = chain > 0 ? (child->turned ? chain - 1 - axis : axis)
                             : child->kind == PERP_REDUCED_UNIVERSAL &&
                                   (armature.axis == PERP_DRIVE_B) != child->turned;
    if (chain == 0 && child->kind != PERP_REDUCED_HINGE && child->kind != PERP_REDUCED_UNIVERSAL &&
        child->kind != PERP_REDUCED_SLIDER)
      break;
    child->armature[of] += armature.inertia;
    return PERP_OK;
  }
  return reduced_create_refuse(ctx, tree->model, j,
                               "is an armature on an axis without a coordinate of its own (of a "
                               "loop, or of a ball, cylindrical, planar, wheel or line joint): use "
                               "formulation acceleration or velocity");
}

static perp_status reduced_create_sort(perp_ctx *ctx, perp_reduced_tree *tree, sorting *work)
{
  const perp_model *model = tree->model;
  for (int j = 0; j < work->nj; j++) PERP_TRY(reduced_create_check(ctx, model, j));
  memset(work->ptr, 0, (size_t)(work->n + 3) * sizeof *work->ptr);
  memset(work->placed, 0, (size_t)work->n * sizeof *work->placed);
  memset(work->used, 0, (size_t)work->nj * sizeof *work->used);
  for (int j = 0; j < work->nj; j++) {
    const perp_joint_def *def = perp_model_joint(work->model, j);
    work->ptr[def->a + 3]++;
    work->ptr[def->b + 3]++;
  }
  for (int b = 1; b <= work->n + 1; b++) work->ptr[b + 1] += work->ptr[b];
  for (int j = 0; j < work->nj; j++) {
    const perp_joint_def *def = perp_model_joint(work->model, j);
    work->adj[work->ptr[def->a + 2]++] = j;
    work->adj[work->ptr[def->b + 2]++] = j;
  }
  /* Breadth first from the world, then from the first body of each part that floats. */
  sorting_neighbours(work, PERP_WORLD, -1);
  for (int done = 0, body = 0; body <= work->n; body++) {
    for (; done < work->count; done++) sorting_neighbours(work, work->order[done], done);
    if (body < work->n && !work->placed[body]) sorting_place(work, body, -1, -1);
  }
  for (int j = 0; j < work->nj; j++) {
    perp_armature_def armature;
    tree->cut[j] = !work->used[j] && !perp_model_armature_of(model, j, &armature);
    if (tree->cut[j]) tree->cut_rows += model->pattern.cptr[j + 1] - model->pattern.cptr[j];
  }
  for (int i = 0; i < tree->n; i++) {
    node *child = &tree->node[i];
    *child = (node){ .body = work->order[i], .parent = work->parent[i] };
    reduced_create_attach(tree, work->via[i],
                          child->parent < 0 ? PERP_WORLD : work->order[child->parent], child);
    child->nq = perp_reduced_joints[child->kind].nq,
    child->nu = perp_reduced_joints[child->kind].nu;
    child->iq = tree->nq, child->iu = tree->nu;
    tree->nq += child->nq, tree->nu += child->nu;
  }
  for (int j = 0; j < work->nj; j++) PERP_TRY(reduced_create_armature(ctx, tree, work, j));
  return PERP_OK;
}

static void reduced_create_layout(void *tree, perp_arena *arena)
{
  perp_reduced_tree *reduced_tree = tree;
  reduced_tree->node = PERP_CARVE(arena, node, reduced_tree->n);
  reduced_tree->cut = PERP_CARVE(arena, bool, reduced_tree->model->n_joints);
  reduced_tree->chain = PERP_CARVE(arena, perp_chain,
                                   reduced_tree->model->chains.n < reduced_tree->n
                                       ? reduced_tree->model->chains.n
                                       : reduced_tree->n);
}

perp_status perp_reduced_create(perp_ctx *ctx, const perp_model *model, perp_reduced_tree **out)
{
  *out = NULL;
  const int n = perp_model_bodies(model);
  sorting like = { .model = model, .n = n, .nj = perp_model_joints(model) };
  perp_reduced_tree tree_like = { .model = model, .dim = perp_model_dim(model), .n = n };
  void *sort, *tree;
  PERP_TRY(perp_workspace_create(ctx, "reduced", &like, sizeof like, sorting_layout, &sort));
  perp_status status = perp_workspace_create(ctx, "reduced", &tree_like, sizeof tree_like,
                                             reduced_create_layout, &tree);
  if (status == PERP_OK) status = reduced_create_sort(ctx, tree, sort);
  free(sort);
  if (status == PERP_OK)
    *out = tree;
  else
    free(tree);
  return status;
}

bool perp_reduced_position_only(const perp_reduced_tree *tree)
{
  const perp_model *model = tree->model;
  if (tree->cut_rows > 0) return false;
  for (int force = 0; force < model->n_forces; force++) {
    const perp_force_def *el = &model->force_def[force];
    if (el->kind == PERP_FORCE_DRAG || (el->kind == PERP_FORCE_SPRING && el->damping > 0))
      return false;
    if (el->kind == PERP_FORCE_PLUGIN && perp_force_promises(el) & PERP_FORCE_NEEDS_VELOCITY)
      return false;
  }
  for (int i = 0; i < tree->n; i++) {
    const node *child = &tree->node[i];
    if (child->parent >= 0) return false;
    /* centripetal forces and the gyroscopic torque of a turn about one fixed axis load the bearing
     * only; a rod pulls at the centre of mass: it does not turn the body */
    const bool still = child->kind == PERP_REDUCED_PLANAR_DISTANCE
                           ? !(dot(child->anchor_c, child->anchor_c) > 0)
                           : perp_reduced_joints[child->kind].still;
    if (!still) return false;
  }
  return true;
}
