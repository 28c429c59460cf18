/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All linearised equations of point-mass at once (van Overveld and Barenbrug 1995, end of
 * section 2.3: "all linearised equations may be grouped together and be solved simultaneously by
 * means of a standard LU-decomposition method").
 *
 * With the multipliers s of rigidity and of joints, x1 = x_free + W s, where column r of W is the
 * displacement by s_r along the directions of t (van Overveld and Barenbrug 1995, eq. 12, 19 and
 * 20), and C(x1) = 0, one Newton step is
 *
 *      G W ds = -C(x1),    G = dC/dx1             (van Overveld and Barenbrug 1995, eq. 2)
 *
 * G W has a block for each two constraints with a body in common, is not symmetric (W belongs to t,
 * G to t + h), and is factored by perp_local: LAPACK's band LU, or KLU.  Rows of a hinge: both
 * points across the axis, and their sum along it, whose multiplier is the common component of both
 * forces (van Overveld and Barenbrug 1995, eq. 23).  Quadratic convergence; O(n width^2) or as
 * sparse as the factors are.  Constraints that depend on each other have no LU factors, and end the
 * step; the sweeps serve them. */
#include "models/formulations/particles/point_mass.h"
#include "solvers/linalg/local.h"

#include <stdlib.h>
#include <string.h>

typedef struct row {
  int body[2];      /* < 0: none */
  coordinates G[2]; /* gradient at x1 */
  coordinates W[2]; /* displacement by a unit multiplier */
  double C;         /* relative, or m */
  double *sum;      /* multiplier of rigidity, */
  int link;         /* or of a force: */
  double d[2][3];   /* its direction, that of the next link */
} row;

struct perp_point_mass_lu {
  const perp_model *model;
  const body *body;
  perp_local local;
  perp_local_lu factors;
  perp_arena arena;
  int *node;  /* [bodies + joints] -1: a particle, which has no rigidity */
  row *row;   /* [local.n] */
  double *A;  /* of perp_local */
  double *ds; /* [local.n] */
};

/* ---- pattern ---- */

static int lu_joint_rows(const perp_model *model, int joint)
{
  const perp_joint_kind kind = model->joint_def[joint].kind;
  if (kind == PERP_JOINT_DISTANCE) return 1;
  if (kind == PERP_JOINT_CURVE) return model->dim - 1;
  return kind == PERP_JOINT_HINGE && model->dim == 3 ? 5 : model->dim;
}

static bool lu_share(const perp_joint_def *x, const perp_joint_def *y)
{
  return (x->a >= 0 && (x->a == y->a || x->a == y->b)) ||
         (x->b >= 0 && (x->b == y->a || x->b == y->b));
}

/* pairs of nodes with a body in common; edge NULL: counts only */
static int lu_edges(const struct perp_point_mass_lu *lu, int *edge)
{
  const perp_model *model = lu->model;
  int n = 0;
  for (int joint = 0; joint < model->n_joints; joint++) {
    const perp_joint_def *def = &model->joint_def[joint];
    const int own = lu->node[model->n_bodies + joint];
    for (int k = -2; k < joint; k++) {
      int other = -1;
      if (k < 0) {
        const int i = k == -2 ? def->a : def->b;
        if (i >= 0) other = lu->node[i];
      } else if (lu_share(def, &model->joint_def[k])) {
        other = lu->node[model->n_bodies + k];
      }
      if (other < 0) continue;
      if (edge != NULL) edge[2 * n] = own, edge[2 * n + 1] = other;
      n++;
    }
  }
  return n;
}

static void lu_layout_nodes(void *ws, perp_arena *arena)
{
  struct perp_point_mass_lu *lu = ws;
  lu->node = PERP_CARVE(arena, int, lu->model->n_bodies + lu->model->n_joints);
}

static void lu_layout(void *ws, perp_arena *arena)
{
  struct perp_point_mass_lu *lu = ws;
  lu->row = PERP_CARVE(arena, row, lu->local.n);
  lu->A = PERP_CARVE(arena, double, perp_local_length(&lu->local));
  lu->ds = PERP_CARVE(arena, double, lu->local.n);
}

static perp_status lu_pattern(perp_ctx *ctx, struct perp_point_mass_lu *lu)
{
  const perp_model *model = lu->model;
  int *size = calloc((size_t)(model->n_bodies + model->n_joints) + 1, sizeof *size), *edge = NULL;
  int nodes = 0;
  for (int i = 0; size != NULL && i < model->n_bodies; i++) {
    const int n = lu->body[i].n;
    lu->node[i] = n == 0 ? -1 : nodes;
    if (n > 0) size[nodes++] = n * (n + 1) / 2;
  }
  for (int joint = 0; size != NULL && joint < model->n_joints; joint++) {
    lu->node[model->n_bodies + joint] = nodes;
    size[nodes++] = lu_joint_rows(model, joint);
  }
  const int n = size != NULL ? lu_edges(lu, NULL) : 0;
  if (size != NULL) edge = calloc(2 * (size_t)n + 1, sizeof *edge);
  perp_status status = PERP_ERR_NOMEM;
  if (edge == NULL) {
    PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the graph of %d joints", model->n_joints);
  } else {
    lu_edges(lu, edge);
    status = perp_local_create(ctx, nodes, size, n, edge, &lu->local);
  }
  free(edge);
  free(size);
  return status;
}

perp_status perp_point_mass_lu_open(perp_ctx *ctx, workspace *work)
{
  struct perp_point_mass_lu like = { .model = work->model, .body = work->body };
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "point-mass", &like, sizeof like, lu_layout_nodes, &ws));
  struct perp_point_mass_lu *lu = work->lu = ws;
  if (work->n_links == 0 && work->body[0].n == 0) return PERP_OK; /* particles: no constraint */
  PERP_TRY(lu_pattern(ctx, lu));
  PERP_TRY(perp_arena_layout(ctx, &lu->arena, lu_layout, lu));
  return perp_local_lu_create(ctx, &lu->local, false, &lu->factors);
}

void perp_point_mass_lu_close(workspace *work)
{
  struct perp_point_mass_lu *lu = work->lu;
  if (lu == NULL) return;
  perp_local_lu_destroy(&lu->local, &lu->factors);
  perp_local_destroy(&lu->local);
  perp_arena_free(&lu->arena);
  free(lu);
}

/* ---- rows ---- */

/* van Overveld and Barenbrug 1995, eq. 12: lengths and angles of the vectors of body i */
static void lu_rigidity(const workspace *work, int i, row *line)
{
  const body *b = &work->body[i];
  const double *x = work->x[i].B, *x1 = work->x1[i].B;
  for (int j = 0; j < b->n; j++)
    for (int k = 0; k <= j; k++, line++) {
      const double scale = sqrt(b->gamma[j] * b->gamma[k]);
      *line = (row){ .body = { i, -1 }, .link = -1 };
      line->C = (perp_dot(3, x1 + 3 * j, x1 + 3 * k) - (j == k ? b->gamma[j] : 0)) / scale;
      line->sum = work->rigid + 6 * i + (j == k ? j : 6 - j - k);
      for (int c = 0; c < 3; c++) {
        line->G[0].B[c + 3 * j] += x1[c + 3 * k] / scale;
        line->G[0].B[c + 3 * k] += x1[c + 3 * j] / scale;
        line->W[0].B[c + 3 * j] = x[c + 3 * k];
        line->W[0].B[c + 3 * k] = x[c + 3 * j];
      }
    }
}

/* What a force d on body a and -d on body b of link k displaces. */
static void lu_force(const workspace *work, const link *k, const double d[3], double scale,
                     row *line)
{
  const int index[2] = { k->a, k->b };
  const double *const arm[2] = { k->ra, k->rb };
  for (int side = 0; side < 2; side++) {
    double F[3], torque[3];
    for (int c = 0; c < 3; c++) F[c] = side == 0 ? d[c] : -d[c];
    if (index[side] < 0) continue;
    perp_cross(arm[side], F, torque);
    perp_point_mass_move(work, index[side], F, torque, scale, &line->W[side]);
  }
}

/* The gradient of d . (p_b - p_a), with p_a at rho_a. */
static void lu_gradient(const workspace *work, const link *k, const double rho_a[3],
                        const double d[3], row *line)
{
  const int index[2] = { k->a, k->b };
  const double *const rho[2] = { rho_a, k->rho_b };
  for (int side = 0; side < 2; side++)
    for (int c = 0; c < 3 && index[side] >= 0; c++) {
      const double along = side == 0 ? -d[c] : d[c];
      line->G[side].c[c] += along;
      for (int j = 0; j < work->body[index[side]].n; j++)
        line->G[side].B[c + 3 * j] += rho[side][j] * along;
    }
}

/* d . (p_b - p_a) = C, with a force along d */
static void lu_point(const workspace *work, int l, const double d[3], const double gap[3],
                     double scale, row *line)
{
  const link *k = &work->link[l];
  line->C += perp_dot(3, d, gap);
  lu_gradient(work, k, k->rho_a, d, line);
  lu_force(work, k, d, scale, line);
  memcpy(line->d[l - line->link], d, sizeof line->d[0]);
}

/* unit vectors across t */
static void lu_across(const double t[3], double e[2][3])
{
  int least = 0;
  double axis[3] = { 0 };
  for (int c = 1; c < 3; c++)
    if (fabs(t[c]) < fabs(t[least])) least = c;
  axis[least] = 1;
  perp_cross(t, axis, e[0]);
  const double size = sqrt(perp_dot(3, e[0], e[0]));
  for (int c = 0; c < 3; c++) e[0][c] /= size;
  perp_cross(t, e[0], e[1]);
}

static void lu_curve(const workspace *work, int l, const double pb[3], double scale, row *line)
{
  const link *k = &work->link[l];
  double gap[3], t1[3], rho_a[3] = { 0 }, e[2][3] = { { -k->n[1], k->n[0], 0 } };
  perp_point_mass_curve_gap(work, k, work->x1, pb, gap, t1);
  for (int j = 0; k->a >= 0 && j < work->body[k->a].n; j++) { /* where p_b is in a */
    double from[3];
    for (int c = 0; c < 3; c++) from[c] = pb[c] - work->x1[k->a].c[c];
    rho_a[j] = perp_dot(3, from, work->x1[k->a].B + 3 * j) / work->body[k->a].gamma[j];
  }
  if (work->model->dim == 3) lu_across(k->n, e);
  for (int i = 0; i < work->model->dim - 1; i++, line++) {
    double d[3];
    const double along = perp_dot(3, e[i], t1);
    for (int c = 0; c < 3; c++) d[c] = e[i][c] - along * t1[c]; /* the foot moves along t1 */
    line->link = l;
    line->C = perp_dot(3, e[i], gap);
    lu_gradient(work, k, rho_a, d, line);
    lu_force(work, k, e[i], scale, line);
    memcpy(line->d[0], e[i], sizeof e[i]);
  }
}

static void lu_hinge(const workspace *work, int l, double gap[2][3], double scale, row *line)
{
  const link *k = &work->link[l];
  double axis[3], e[2][3];
  for (int c = 0; c < 3; c++) axis[c] = k->a < 0 ? k[1].rb[c] - k->rb[c] : k[1].ra[c] - k->ra[c];
  const double size = sqrt(perp_dot(3, axis, axis));
  for (int c = 0; c < 3; c++) axis[c] /= size;
  lu_across(axis, e);
  for (int i = 0; i < 5; i++) line[i].link = l;
  for (int second = 0; second < 2; second++) {
    for (int i = 0; i < 2; i++)
      lu_point(work, l + second, e[i], gap[second], scale, line + 2 * second + i);
    lu_point(work, l + second, axis, gap[second], scale, line + 4);
  }
}

/* The rows of the joint whose first link is l. */
static void lu_joint(const workspace *work, int l, double scale, row *line)
{
  const link *k = &work->link[l];
  const int n = lu_joint_rows(work->model, k->joint);
  double gap[2][3], pa[3], pb[3];
  for (int i = 0; i < n; i++) line[i] = (row){ .body = { k->a, k->b }, .link = -1 };
  if (perp_point_mass_released(work, k)) return;
  for (int second = 1; second >= 0; second--) {
    const link *x = k + (second == 1 && n == 5);
    perp_point_mass_point(work, work->x1, x->a, x->rho_a, pa);
    perp_point_mass_point(work, work->x1, x->b, x->rho_b, pb);
    for (int c = 0; c < 3; c++) gap[second][c] = pb[c] - pa[c];
  }
  if (k->curve != NULL) {
    lu_curve(work, l, pb, scale, line);
  } else if (n == 5) {
    lu_hinge(work, l, gap, scale, line);
  } else if (k->distance) {
    double d[3];
    const double length = sqrt(perp_dot(3, gap[0], gap[0]));
    for (int c = 0; c < 3; c++) d[c] = gap[0][c] / length;
    line->link = l;
    line->C = length - k->length;
    lu_gradient(work, k, k->rho_a, d, line);
    lu_force(work, k, k->n, scale, line);
    memcpy(line->d[0], k->n, sizeof line->d[0]);
  } else {
    for (int i = 0; i < n; i++) {
      double d[3] = { 0 };
      d[i] = 1;
      line[i].link = l;
      lu_point(work, l, d, gap[0], scale, line + i);
    }
  }
}

/* ---- solution ---- */

/* Rows at x1; returns the largest violation. */
static double lu_rows(workspace *work, double scale)
{
  struct perp_point_mass_lu *lu = work->lu;
  const perp_model *model = work->model;
  double worst = 0;
  for (int i = 0; i < model->n_bodies; i++)
    if (lu->node[i] >= 0) lu_rigidity(work, i, lu->row + lu->local.first[lu->node[i]]);
  for (int l = 0; l < work->n_links; l++)
    if (!work->link[l].second)
      lu_joint(work, l, scale,
               lu->row + lu->local.first[lu->node[model->n_bodies + work->link[l].joint]]);
  for (int i = 0; i < lu->local.n; i++) {
    const row *line = &lu->row[i];
    const double size = line->sum != NULL ? 1 : model->size;
    if (!isfinite(line->C)) return (double)NAN;
    worst = fmax(worst, fabs(line->C) / size);
  }
  return worst;
}

static double lu_entry(const row *r, const row *s)
{
  double sum = 0;
  for (int x = 0; x < 2; x++)
    for (int y = 0; y < 2; y++)
      for (int c = 0; c < 12 && r->body[x] >= 0 && r->body[x] == s->body[y]; c++)
        sum += r->G[x].all[c] * s->W[y].all[c];
  return sum;
}

perp_reason perp_point_mass_lu_solve(workspace *work, double scale, double *worst)
{
  struct perp_point_mass_lu *lu = work->lu;
  *worst = lu_rows(work, scale);
  if (isnan(*worst)) return PERP_NOT_FINITE;
  if (*worst <= work->o.tol || lu->local.n == 0) return PERP_EXACT;
  const perp_local *local = &lu->local;
  memset(lu->A, 0, perp_local_length(local) * sizeof *lu->A);
  for (int J = 0; J < local->nodes; J++)
    for (int k = local->ptr[J]; k < local->ptr[J + 1]; k++)
      for (int j = local->first[J]; j < local->first[J] + local->size[J]; j++)
        for (int i = local->first[local->near[k]];
             i < local->first[local->near[k]] + local->size[local->near[k]]; i++)
          lu->A[perp_local_place(local, i, j)] = lu_entry(&lu->row[i], &lu->row[j]);
  for (int i = 0; i < local->n; i++) /* a released joint has no force */
    if (lu->row[i].link < 0 && lu->row[i].sum == NULL) lu->A[perp_local_place(local, i, i)] = 1;
  for (int i = 0; i < lu->local.n; i++) lu->ds[i] = -lu->row[i].C;
  if (!perp_local_factor(&lu->local, lu->A, &lu->factors)) return PERP_SINGULAR;
  perp_local_solve(&lu->local, lu->A, &lu->factors, lu->ds);
  for (int i = 0; i < lu->local.n; i++) {
    const row *r = &lu->row[i];
    const double ds = lu->ds[i];
    for (int side = 0; side < 2; side++)
      for (int c = 0; c < 12 && r->body[side] >= 0; c++)
        work->x1[r->body[side]].all[c] += ds * r->W[side].all[c];
    if (r->sum != NULL) *r->sum += ds;
    for (int l = r->link;
         l >= 0 && l < work->n_links && (l == r->link || work->link[l].second) && l < r->link + 2;
         l++)
      for (int c = 0; c < 3; c++) work->link[l].F[c] += ds * r->d[l - r->link][c];
  }
  return PERP_EXACT;
}
