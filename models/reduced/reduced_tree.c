/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of bodies and joints under joint coordinates: sorted breadth first from the world, with the constant part
 * of every joint.  The other files reduced_*.c evaluate it. */
#include "models/reduced/reduced_private.h"

#include <stdlib.h>

static const struct {
  int nq, nu;
} sizes[] = {
  [PERP_REDUCED_FREE] = { 7, 6 },
  [PERP_REDUCED_BALL] = { 4, 3 },
  [PERP_REDUCED_HINGE] = { 1, 1 },
  [PERP_REDUCED_UNIVERSAL] = { 2, 2 },
  [PERP_REDUCED_SLIDER] = { 1, 1 },
  [PERP_REDUCED_FIXED] = { 0, 0 },
  [PERP_REDUCED_DISTANCE] = { 8, 5 },
  [PERP_REDUCED_PLANAR] = { 3, 3 },
  [PERP_REDUCED_PLANAR_DISTANCE] = { 2, 2 },
};

static perp_reduced_kind kind_of(perp_joint_kind kind, int dim)
{
  switch (kind) {
  case PERP_JOINT_BALL:
    return dim == 3 ? PERP_REDUCED_BALL : PERP_REDUCED_HINGE;
  case PERP_JOINT_HINGE:
    return PERP_REDUCED_HINGE;
  case PERP_JOINT_UNIVERSAL:
    return PERP_REDUCED_UNIVERSAL;
  case PERP_JOINT_SLIDER:
    return PERP_REDUCED_SLIDER;
  case PERP_JOINT_DISTANCE:
    return dim == 3 ? PERP_REDUCED_DISTANCE : PERP_REDUCED_PLANAR_DISTANCE;
  case PERP_JOINT_FIXED:
  case PERP_JOINT_LINE: /* refused before */
  case PERP_JOINT_WHEEL:
  case PERP_JOINT_CURVE:
    break;
  }
  return PERP_REDUCED_FIXED;
}

static void name_body(const perp_model *model, int b, char *buf, size_t size)
{
  const char *name = b < 0 ? "world" : perp_model_body(model, b)->name;
  if (name != NULL)
    snprintf(buf, size, "%s", name);
  else
    snprintf(buf, size, "body %d", b);
}

static void name_joint(const perp_model *model, int j, char *buf, size_t size)
{
  const perp_joint_def *def = perp_model_joint(model, j);
  char a[48], b[48];
  name_body(model, def->a, a, sizeof a);
  name_body(model, def->b, b, sizeof b);
  if (def->name != NULL)
    snprintf(buf, size, "joint %d '%s' (%s - %s)", j, def->name, a, b);
  else
    snprintf(buf, size, "joint %d (%s - %s)", j, a, b);
}

void perp_reduced_pose(const perp_model *model, const double *qm, int b, double x[3], double R[9],
                       double *angle)
{
  int dim = perp_model_dim(model);
  memcpy(x, world_x, sizeof world_x);
  memcpy(R, world_R, sizeof world_R);
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
static void reduced_tree_attach(const perp_model *model, int j, int parent_body, node *k)
{
  const int dim = perp_model_dim(model);
  const double *q0 = perp_model_q0(model);
  double xp[3], Rp[9], xc[3], Rc[9], angle_p, angle_c;
  perp_reduced_pose(model, q0, parent_body, xp, Rp, &angle_p);
  perp_reduced_pose(model, q0, k->body, xc, Rc, &angle_c);
  multiply_transposed(Rp, Rc, k->rel);
  k->rel_angle = angle_c - angle_p;

  const perp_mass *mass = &perp_model_body(model, k->body)->mass;
  k->mass = mass->mass;
  memcpy(k->inertia, mass->inertia, sizeof k->inertia);
  if (dim == 2) {
    memset(k->inertia, 0, sizeof k->inertia);
    k->inertia[0] = k->inertia[4] = k->inertia[8] = mass->inertia[8];
  }

  k->kind = dim == 3 ? PERP_REDUCED_FREE : PERP_REDUCED_PLANAR;
  if (j < 0) return;
  const perp_joint_def *def = perp_model_joint(model, j);
  bool turned = def->b != k->body; /* the joint was written from child to parent */
  k->kind = kind_of(def->kind, dim);
  k->length = def->length;
  const double *axis_p = turned ? def->axis_b : def->axis_a,
               *axis_c = turned ? def->axis_a : def->axis_b;
  for (int i = 0; i < dim; i++) {
    k->anchor_p[i] = turned ? def->anchor_b[i] : def->anchor_a[i];
    k->anchor_c[i] = turned ? def->anchor_a[i] : def->anchor_b[i];
  }
  if (dim == 2 && k->kind == PERP_REDUCED_HINGE) {
    k->axis_p[2] = k->axis_c[2] = 1;
  } else if (k->kind == PERP_REDUCED_SLIDER) {
    /* the axis is given in a; the orientation never changes */
    double axis[3] = { def->axis_a[0], def->axis_a[1], dim == 3 ? def->axis_a[2] : 0 };
    unit(axis, axis);
    if (turned)
      turn(k->rel, axis, k->axis_p);
    else
      memcpy(k->axis_p, axis, sizeof axis);
  } else if (k->kind == PERP_REDUCED_HINGE || k->kind == PERP_REDUCED_UNIVERSAL) {
    unit(axis_p, k->axis_p);
    unit(axis_c, k->axis_c);
  }
}

/* Breadth first from the bodies in `order[first ... last-1]`, over joints not used yet. */
static int reduced_tree_sweep(const perp_model *model, const int *ptr, const int *adj, int first,
                              int last, int *order, int *parent, int *via, bool *placed, bool *used)
{
  for (int k = first; k < last; k++) {
    int b = order[k];
    for (int e = ptr[b + 1]; e < ptr[b + 2]; e++) {
      const perp_joint_def *def = perp_model_joint(model, adj[e]);
      int other = def->a == b ? def->b : def->a;
      if (used[adj[e]] || other < 0 || placed[other]) continue;
      used[adj[e]] = placed[other] = true;
      parent[last] = k;
      via[last] = adj[e];
      order[last++] = other;
    }
  }
  return last;
}

static perp_status reduced_tree_sort(perp_ctx *ctx, perp_reduced_tree *tree, int *scratch,
                                     bool *flags)
{
  const perp_model *model = tree->model;
  const int n = tree->n, nj = perp_model_joints(model);
  int *ptr = scratch, *adj = ptr + n + 3, *order = adj + 2 * nj, *parent = order + n,
      *via = parent + n;
  bool *placed = flags, *used = flags + n;
  char name[160];

  /* joints of each body, the world being body -1 */
  for (int j = 0; j < nj; j++) {
    const perp_joint_def *def = perp_model_joint(model, j);
    if (def->softness > 0) {
      name_joint(model, j, name, sizeof name);
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "reduced: %s is soft (%g); joint coordinates hold joints rigidly", name,
                       def->softness);
    }
    if (def->kind == PERP_JOINT_LINE || def->kind == PERP_JOINT_WHEEL ||
        def->kind == PERP_JOINT_CURVE) {
      name_joint(model, j, name, sizeof name);
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "reduced: %s is of a kind that has no joint coordinates here", name);
    }
    ptr[def->a + 3]++;
    ptr[def->b + 3]++;
  }
  for (int b = 1; b <= n + 1; b++) ptr[b + 1] += ptr[b];
  for (int j = 0; j < nj; j++) {
    const perp_joint_def *def = perp_model_joint(model, j);
    adj[ptr[def->a + 2]++] = j;
    adj[ptr[def->b + 2]++] = j;
  }
  /* now the joints of body b are adj[ptr[b + 1] ... ptr[b + 2] - 1] */

  /* from the world, then from the first body of each part that floats */
  int count = 0;
  for (int e = ptr[0]; e < ptr[1]; e++) {
    const perp_joint_def *def = perp_model_joint(model, adj[e]);
    int b = def->a < 0 ? def->b : def->a;
    if (b < 0 || placed[b]) continue;
    used[adj[e]] = placed[b] = true;
    parent[count] = -1;
    via[count] = adj[e];
    order[count++] = b;
  }
  count = reduced_tree_sweep(model, ptr, adj, 0, count, order, parent, via, placed, used);
  for (int b = 0; b < n; b++) {
    if (placed[b]) continue;
    placed[b] = true;
    parent[count] = via[count] = -1;
    order[count] = b;
    count = reduced_tree_sweep(model, ptr, adj, count, count + 1, order, parent, via, placed, used);
  }

  for (int j = 0; j < nj; j++)
    if (!used[j]) {
      name_joint(model, j, name, sizeof name);
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "reduced: %s closes a loop; joint coordinates serve open chains and trees, "
                       "use formulation acceleration or velocity",
                       name);
    }

  for (int i = 0; i < n; i++) {
    node *k = &tree->node[i];
    k->body = order[i];
    k->parent = parent[i];
    reduced_tree_attach(model, via[i], parent[i] < 0 ? PERP_WORLD : order[parent[i]], k);
    k->nq = sizes[k->kind].nq, k->nu = sizes[k->kind].nu;
    k->iq = tree->nq, k->iu = tree->nu;
    tree->nq += k->nq, tree->nu += k->nu;
    if (k->kind == PERP_REDUCED_DISTANCE || k->kind == PERP_REDUCED_PLANAR_DISTANCE) {
      if (!(k->length > 0)) {
        name_joint(model, via[i], name, sizeof name);
        return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "reduced: %s has length 0; use a ball joint",
                         name);
      }
    }
  }
  return PERP_OK;
}

perp_status perp_reduced_create(perp_ctx *ctx, const perp_model *model, perp_reduced_tree **out)
{
  *out = NULL;
  const int n = perp_model_bodies(model), nj = perp_model_joints(model);
  perp_reduced_tree *tree = calloc(1, sizeof *tree);
  int *scratch = calloc((size_t)(4 * n + 2 * nj + 3), sizeof *scratch);
  bool *flags = calloc((size_t)(n + nj + 1), sizeof *flags);
  perp_status status = PERP_OK;
  if (tree != NULL) tree->node = calloc((size_t)n + 1, sizeof *tree->node);
  if (tree == NULL || tree->node == NULL || scratch == NULL || flags == NULL) {
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "reduced: no memory for %d bodies", n);
  } else {
    tree->model = model;
    tree->dim = perp_model_dim(model);
    tree->n = n;
    status = reduced_tree_sort(ctx, tree, scratch, flags);
  }
  free(scratch);
  free(flags);
  if (status == PERP_OK)
    *out = tree;
  else
    perp_reduced_destroy(tree);
  return status;
}

void perp_reduced_destroy(perp_reduced_tree *tree)
{
  if (tree == NULL) return;
  free(tree->node);
  free(tree);
}

bool perp_reduced_position_only(const perp_reduced_tree *tree)
{
  const perp_model *model = tree->model;
  for (int i = 0; i < model->n_forces; i++) {
    const perp_force_def *el = &model->force_def[i];
    if (el->kind == PERP_FORCE_DRAG || (el->kind == PERP_FORCE_SPRING && el->damping > 0))
      return false;
  }
  for (int i = 0; i < tree->n; i++) {
    const node *k = &tree->node[i];
    if (k->parent >= 0) return false;
    switch (k->kind) {
    /* centripetal forces and the gyroscopic torque of a turn about one fixed axis load the bearing only */
    case PERP_REDUCED_HINGE:
    case PERP_REDUCED_SLIDER:
    case PERP_REDUCED_FIXED:
    case PERP_REDUCED_PLANAR:
      break;
    case PERP_REDUCED_PLANAR_DISTANCE:
      /* the rod pulls at the centre of mass: it does not turn the body */
      if (dot(k->anchor_c, k->anchor_c) > 0) return false;
      break;
    default:
      return false;
    }
  }
  return true;
}
