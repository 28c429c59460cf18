/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces of the ground in the place of those of the root: non-negative least squares over the edges
 * of friction pyramids.
 *
 * The root part of tau depends linearly on forces at contacts, tau_root - W z with a column of W
 * for each edge; z >= 0 are the forces along edges.  Lawson and Hanson's active sets (Solving Least
 * Squares Problems, 1974, chapter 23, algorithm NNLS) on the normal equations (W'W + delta I) z =
 * W'b + delta z_before, z_before = 0 at first: the regularization makes the answer one, of small
 * forces where many are as good. */
#include "models/figures/inverse_private.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUND_EDGES = 8 };

typedef struct inverse_ground {
  int n, roots, edges; /* columns of W, rows of W, edges of a pyramid */
  double *W, *b, *A, *L, *g, *Wb, *z, *s, delta;
  double *f, *tau, *scale;
  int *row, *active; /* rows of tau; is edge k in the set? */
  int nv, nu;
} inverse_ground;

static void inverse_ground_layout(void *ws, perp_arena *a)
{
  inverse_ground *w = ws;
  w->W = PERP_CARVE(a, double, w->roots * w->n);
  PERP_DOUBLES(a, w->n * w->n, &w->A, &w->L);
  PERP_DOUBLES(a, w->n, &w->g, &w->Wb, &w->z, &w->s);
  PERP_DOUBLES(a, w->roots, &w->b, &w->scale);
  w->f = PERP_CARVE(a, double, w->nv);
  w->tau = PERP_CARVE(a, double, w->nu);
  w->row = PERP_CARVE(a, int, w->roots);
  w->active = PERP_CARVE(a, int, w->n);
}

static bool ground_is_root(const perp_reduced_node *k)
{
  return k->kind == PERP_REDUCED_FREE || k->kind == PERP_REDUCED_PLANAR;
}

/* The direction of edge e of a contact, its part along the normal 1. */
static void ground_edge(int dim, int edges, const perp_inverse_contact *c, int e, double dir[3])
{
  double t1[3] = { 0 }, t2[3] = { 0 };
  memcpy(dir, c->normal, 3 * sizeof *dir);
  if (dim == 2) {
    const double sign = e == 0 ? 1 : -1;
    dir[0] = c->normal[0] - sign * c->mu * c->normal[1];
    dir[1] = c->normal[1] + sign * c->mu * c->normal[0];
    dir[2] = 0;
    return;
  }
  const int least = fabs(c->normal[0]) < 0.6 ? 0 : 1;
  t2[least] = 1;
  perp_cross(c->normal, t2, t1);
  const double length = sqrt(perp_dot(3, t1, t1));
  for (int i = 0; i < 3; i++) t1[i] /= length;
  perp_cross(c->normal, t1, t2);
  const double angle = 2 * 3.14159265358979323846 * e / edges;
  for (int i = 0; i < 3; i++) dir[i] += c->mu * (cos(angle) * t1[i] + sin(angle) * t2[i]);
}

/* L L' = A of the set, in place of both; x = the solution with the right-hand side g.  false: not
 * positive definite */
static bool ground_solve(const inverse_ground *w, double *x)
{
  const int n = w->n;
  for (int j = 0; j < n; j++) {
    if (!w->active[j]) continue;
    for (int i = j; i < n; i++) {
      if (!w->active[i]) continue;
      double s = w->A[i + n * j];
      for (int k = 0; k < j; k++)
        if (w->active[k]) s -= w->L[i + n * k] * w->L[j + n * k];
      if (i == j && !(s > 0)) return false;
      w->L[i + n * j] = i == j ? sqrt(s) : s / w->L[j + n * j];
    }
  }
  for (int i = 0; i < n; i++) {
    x[i] = 0;
    if (!w->active[i]) continue;
    double s = w->g[i];
    for (int k = 0; k < i; k++)
      if (w->active[k]) s -= w->L[i + n * k] * x[k];
    x[i] = s / w->L[i + n * i];
  }
  for (int i = n - 1; i >= 0; i--) {
    if (!w->active[i]) continue;
    double s = x[i];
    for (int k = i + 1; k < n; k++)
      if (w->active[k]) s -= w->L[k + n * i] * x[k];
    x[i] = s / w->L[i + n * i];
  }
  return true;
}

/* The inner loop: leave the set until all of it is positive. */
static bool ground_shrink(inverse_ground *w)
{
  for (int inner = 0; inner <= w->n; inner++) {
    double step = 1;
    int out = -1;
    if (!ground_solve(w, w->s)) return false;
    for (int i = 0; i < w->n; i++)
      if (w->active[i] && w->s[i] <= 0) {
        const double part = w->z[i] / (w->z[i] - w->s[i]);
        if (out < 0 || part < step) step = part, out = i;
      }
    if (out < 0) {
      memcpy(w->z, w->s, (size_t)w->n * sizeof *w->z);
      return true;
    }
    for (int i = 0; i < w->n; i++) {
      if (!w->active[i]) continue;
      w->z[i] += step * (w->s[i] - w->z[i]);
      if (i == out || !(w->z[i] > 0)) w->active[i] = 0, w->z[i] = 0;
    }
  }
  return false;
}

static void ground_nnls(inverse_ground *w)
{
  const int n = w->n;
  double most = 0;
  for (int i = 0; i < n; i++) w->z[i] = 0, w->active[i] = 0, most = fmax(most, fabs(w->g[i]));
  for (int outer = 0; outer < 3 * n; outer++) {
    int in = -1;
    double best = 1e-14 * most;
    for (int i = 0; i < n; i++) {
      if (w->active[i]) continue;
      double s = w->g[i];
      for (int k = 0; k < n; k++) s -= w->A[i + n * k] * w->z[k];
      if (s > best) best = s, in = i;
    }
    if (in < 0) return;
    w->active[in] = 1;
    if (!ground_shrink(w)) return;
  }
}

static perp_status ground_check(perp_ctx *ctx, const perp_model *model, int n,
                                const perp_inverse_contact *contact)
{
  const int d = perp_model_dim(model);
  for (int i = 0; i < n; i++) {
    const perp_inverse_contact *c = &contact[i];
    if (c->body < 0 || c->body >= perp_model_bodies(model))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "contact %d: body %d does not exist", i, c->body);
    const double n2 = perp_dot(d, c->normal, c->normal);
    if (!(fabs(n2 - 1) < 1e-6) || !(c->mu >= 0) || !isfinite(c->mu) ||
        !isfinite(perp_dot(d, c->point, c->point)))
      return PERP_FAIL(
          ctx, PERP_ERR_ARG,
          "contact %d: the point must be finite, the normal a unit vector, and mu >= 0", i);
  }
  return PERP_OK;
}

/* W, b and what follows of them; the root forces of the motion are in tau. */
static void ground_system(perp_inverse *v, inverse_ground *w, const perp_inverse_contact *contacts)
{
  double largest = 0;
  for (int k = 0; k < w->n; k++) {
    const perp_inverse_contact *c = &contacts[k / w->edges];
    double dir[3];
    ground_edge(perp_model_dim(v->model), w->edges, c, k % w->edges, dir);
    memset(w->f, 0, (size_t)w->nv * sizeof *w->f);
    perp_inverse_add_force(v->model, v->qm, c->body, c->point, dir, w->f);
    /* what a force does to the root: the recursion without masses, f = 0 but this; tau falls by it
     */
    for (int i = 0; i < v->tree->n; i++) memset(v->tree->node[i].a, 0, sizeof v->tree->node[i].a);
    perp_reduced_inverse(v->tree, w->f, w->tau);
    for (int r = 0; r < w->roots; r++) w->W[r + w->roots * k] = -w->tau[w->row[r]] * w->scale[r];
  }
  for (int i = 0; i < w->n; i++) {
    w->g[i] = 0;
    for (int r = 0; r < w->roots; r++) w->g[i] += w->W[r + w->roots * i] * w->b[r];
    for (int k = 0; k < w->n; k++) {
      double s = 0;
      for (int r = 0; r < w->roots; r++) s += w->W[r + w->roots * i] * w->W[r + w->roots * k];
      w->A[i + w->n * k] = s;
    }
    largest = fmax(largest, w->A[i + w->n * i]);
  }
  w->delta = 1e-9 * largest;
  for (int i = 0; i < w->n; i++) w->A[i + w->n * i] += w->delta;
}

/* The regularization holds z to 0 first, which makes it small, then to where it is: proximal
 * points, after which nothing of the regularization is left in the sum. */
static void ground_forces(inverse_ground *w)
{
  for (int i = 0; i < w->n; i++) w->Wb[i] = w->g[i];
  ground_nnls(w);
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < w->n; i++) w->g[i] = w->Wb[i] + w->delta * w->z[i];
    ground_nnls(w);
  }
}

perp_status perp_inverse_ground(perp_ctx *ctx, perp_inverse *v, double t, const double *q,
                                const double *u, const double *udot, double length, int n,
                                perp_inverse_contact *contacts, double *tau, double *left)
{
  PERP_TRY(ground_check(ctx, v->model, n, contacts));
  if (!(length > 0) || !isfinite(length))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the length that weighs torques must be positive");
  const int edges = perp_model_dim(v->model) == 2 ? 2 : GROUND_EDGES;
  inverse_ground like = {
    .n = n * edges, .edges = edges, .nv = perp_model_nv(v->model), .nu = v->tree->nu
  };
  for (int i = 0; i < v->tree->n; i++)
    if (ground_is_root(&v->tree->node[i])) like.roots += v->tree->node[i].nu;
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "inverse", &like, sizeof like, inverse_ground_layout, &ws));
  inverse_ground *w = ws;
  for (int i = 0, r = 0; i < v->tree->n; i++) {
    const perp_reduced_node *k = &v->tree->node[i];
    for (int c = 0; ground_is_root(k) && c < k->nu; c++, r++) {
      w->row[r] = k->iu + c;
      w->scale[r] = c < v->tree->dim ? 1 : 1 / length;
      w->b[r] = tau[w->row[r]] * w->scale[r];
    }
  }
  perp_reduced_kinematics(v->tree, q, u);
  perp_reduced_to_model(v->tree, v->qm, v->vm);
  ground_system(v, w, contacts);
  ground_forces(w);
  memset(w->f, 0, (size_t)w->nv * sizeof *w->f);
  for (int k = 0; k < n; k++) {
    perp_inverse_contact *c = &contacts[k];
    memset(c->force, 0, sizeof c->force);
    for (int e = 0; e < edges; e++) {
      double dir[3];
      ground_edge(v->tree->dim, edges, c, e, dir);
      for (int i = 0; i < v->tree->dim; i++) c->force[i] += w->z[k * edges + e] * dir[i];
    }
    perp_inverse_add_force(v->model, v->qm, c->body, c->point, c->force, w->f);
  }
  perp_inverse_recursive(v, t, q, u, udot, w->f, tau);
  *left = 0;
  for (int r = 0; r < w->roots; r++) *left = fmax(*left, fabs(tau[w->row[r]]));
  free(w);
  return PERP_OK;
}
