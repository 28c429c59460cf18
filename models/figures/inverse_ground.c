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

static void inverse_ground_layout(void *ws, perp_arena *arena)
{
  inverse_ground *ground = ws;
  ground->W = PERP_CARVE(arena, double, ground->roots * ground->n);
  PERP_DOUBLES(arena, ground->n * ground->n, &ground->A, &ground->L);
  PERP_DOUBLES(arena, ground->n, &ground->g, &ground->Wb, &ground->z, &ground->s);
  PERP_DOUBLES(arena, ground->roots, &ground->b, &ground->scale);
  ground->f = PERP_CARVE(arena, double, ground->nv);
  ground->tau = PERP_CARVE(arena, double, ground->nu);
  ground->row = PERP_CARVE(arena, int, ground->roots);
  ground->active = PERP_CARVE(arena, int, ground->n);
}

static bool ground_is_root(const perp_reduced_node *node)
{
  return node->kind == PERP_REDUCED_FREE || node->kind == PERP_REDUCED_PLANAR;
}

/* The direction of edge e of a contact, its part along the normal 1. */
static void ground_edge(int dim, int edges, const perp_inverse_contact *contact, int e,
                        double dir[3])
{
  double t1[3] = { 0 }, t2[3] = { 0 };
  memcpy(dir, contact->normal, 3 * sizeof *dir);
  if (dim == 2) {
    const double sign = e == 0 ? 1 : -1;
    dir[0] = contact->normal[0] - sign * contact->mu * contact->normal[1];
    dir[1] = contact->normal[1] + sign * contact->mu * contact->normal[0];
    dir[2] = 0;
    return;
  }
  const int least = fabs(contact->normal[0]) < 0.6 ? 0 : 1;
  t2[least] = 1;
  perp_cross(contact->normal, t2, t1);
  const double length = sqrt(perp_dot(3, t1, t1));
  for (int i = 0; i < 3; i++) t1[i] /= length;
  perp_cross(contact->normal, t1, t2);
  const double angle = 2 * 3.14159265358979323846 * e / edges;
  for (int i = 0; i < 3; i++) dir[i] += contact->mu * (cos(angle) * t1[i] + sin(angle) * t2[i]);
}

/* L L' = A of the set, in place of both; x = the solution with the right-hand side g.  false: not
 * positive definite */
static bool ground_solve(const inverse_ground *ground, double *x)
{
  const int n = ground->n;
  for (int j = 0; j < n; j++) {
    if (!ground->active[j]) continue;
    for (int i = j; i < n; i++) {
      if (!ground->active[i]) continue;
      double s = ground->A[i + n * j];
      for (int k = 0; k < j; k++)
        if (ground->active[k]) s -= ground->L[i + n * k] * ground->L[j + n * k];
      if (i == j && !(s > 0)) return false;
      ground->L[i + n * j] = i == j ? sqrt(s) : s / ground->L[j + n * j];
    }
  }
  for (int i = 0; i < n; i++) {
    x[i] = 0;
    if (!ground->active[i]) continue;
    double s = ground->g[i];
    for (int k = 0; k < i; k++)
      if (ground->active[k]) s -= ground->L[i + n * k] * x[k];
    x[i] = s / ground->L[i + n * i];
  }
  for (int i = n - 1; i >= 0; i--) {
    if (!ground->active[i]) continue;
    double s = x[i];
    for (int k = i + 1; k < n; k++)
      if (ground->active[k]) s -= ground->L[k + n * i] * x[k];
    x[i] = s / ground->L[i + n * i];
  }
  return true;
}

/* The inner loop: leave the set until all of it is positive. */
static bool ground_shrink(inverse_ground *ground)
{
  for (int inner = 0; inner <= ground->n; inner++) {
    double step = 1;
    int out = -1;
    if (!ground_solve(ground, ground->s)) return false;
    for (int i = 0; i < ground->n; i++)
      if (ground->active[i] && ground->s[i] <= 0) {
        const double part = ground->z[i] / (ground->z[i] - ground->s[i]);
        if (out < 0 || part < step) step = part, out = i;
      }
    if (out < 0) {
      memcpy(ground->z, ground->s, (size_t)ground->n * sizeof *ground->z);
      return true;
    }
    for (int i = 0; i < ground->n; i++) {
      if (!ground->active[i]) continue;
      ground->z[i] += step * (ground->s[i] - ground->z[i]);
      if (i == out || !(ground->z[i] > 0)) ground->active[i] = 0, ground->z[i] = 0;
    }
  }
  return false;
}

static void ground_nnls(inverse_ground *ground)
{
  const int n = ground->n;
  double most = 0;
  for (int i = 0; i < n; i++)
    ground->z[i] = 0, ground->active[i] = 0, most = fmax(most, fabs(ground->g[i]));
  for (int outer = 0; outer < 3 * n; outer++) {
    int in = -1;
    double best = 1e-14 * most;
    for (int i = 0; i < n; i++) {
      if (ground->active[i]) continue;
      double s = ground->g[i];
      for (int k = 0; k < n; k++) s -= ground->A[i + n * k] * ground->z[k];
      if (s > best) best = s, in = i;
    }
    if (in < 0) return;
    ground->active[in] = 1;
    if (!ground_shrink(ground)) return;
  }
}

static perp_status ground_check(perp_ctx *ctx, const perp_model *model, int n,
                                const perp_inverse_contact *contact)
{
  const int d = perp_model_dim(model);
  for (int i = 0; i < n; i++) {
    const perp_inverse_contact *inverse_contact = &contact[i];
    if (inverse_contact->body < 0 || inverse_contact->body >= perp_model_bodies(model))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "contact %d: body %d does not exist", i,
                       inverse_contact->body);
    const double n2 = perp_dot(d, inverse_contact->normal, inverse_contact->normal);
    if (!(fabs(n2 - 1) < 1e-6) || !(inverse_contact->mu >= 0) || !isfinite(inverse_contact->mu) ||
        !isfinite(perp_dot(d, inverse_contact->point, inverse_contact->point)))
      return PERP_FAIL(
          ctx, PERP_ERR_ARG,
          "contact %d: the point must be finite, the normal a unit vector, and mu >= 0", i);
  }
  return PERP_OK;
}

/* W, b and what follows of them; the root forces of the motion are in tau. */
static void ground_system(perp_inverse *inverse, inverse_ground *ground,
                          const perp_inverse_contact *contacts)
{
  double largest = 0;
  for (int k = 0; k < ground->n; k++) {
    const perp_inverse_contact *contact = &contacts[k / ground->edges];
    double dir[3];
    ground_edge(perp_model_dim(inverse->model), ground->edges, contact, k % ground->edges, dir);
    memset(ground->f, 0, (size_t)ground->nv * sizeof *ground->f);
    perp_inverse_add_force(inverse->model, inverse->qm, contact->body, contact->point, dir,
                           ground->f);
    /* what a force does to the root: the recursion without masses, f = 0 but this; tau falls by it
     */
    for (int node = 0; node < inverse->tree->n; node++)
      memset(inverse->tree->node[node].a, 0, sizeof inverse->tree->node[node].a);
    perp_reduced_inverse(inverse->tree, ground->f, ground->tau);
    for (int root = 0; root < ground->roots; root++)
      ground->W[root + ground->roots * k] = -ground->tau[ground->row[root]] * ground->scale[root];
  }
  for (int i = 0; i < ground->n; i++) {
    ground->g[i] = 0;
    for (int root = 0; root < ground->roots; root++)
      ground->g[i] += ground->W[root + ground->roots * i] * ground->b[root];
    for (int k = 0; k < ground->n; k++) {
      double s = 0;
      for (int root = 0; root < ground->roots; root++)
        s += ground->W[root + ground->roots * i] * ground->W[root + ground->roots * k];
      ground->A[i + ground->n * k] = s;
    }
    largest = fmax(largest, ground->A[i + ground->n * i]);
  }
  ground->delta = 1e-9 * largest;
  for (int i = 0; i < ground->n; i++) ground->A[i + ground->n * i] += ground->delta;
}

/* The regularization holds z to 0 first, which makes it small, then to where it is: proximal
 * points, after which nothing of the regularization is left in the sum. */
static void ground_forces(inverse_ground *ground)
{
  for (int i = 0; i < ground->n; i++) ground->Wb[i] = ground->g[i];
  ground_nnls(ground);
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < ground->n; i++) ground->g[i] = ground->Wb[i] + ground->delta * ground->z[i];
    ground_nnls(ground);
  }
}

perp_status perp_inverse_ground(perp_ctx *ctx, perp_inverse *inverse, double t, const double *q,
                                const double *u, const double *udot, double length, int n,
                                perp_inverse_contact *contacts, double *tau, double *left)
{
  PERP_TRY(ground_check(ctx, inverse->model, n, contacts));
  if (!(length > 0) || !isfinite(length))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the length that weighs torques must be positive");
  const int edges = perp_model_dim(inverse->model) == 2 ? 2 : GROUND_EDGES;
  inverse_ground like = {
    .n = n * edges, .edges = edges, .nv = perp_model_nv(inverse->model), .nu = inverse->tree->nu
  };
  for (int i = 0; i < inverse->tree->n; i++)
    if (ground_is_root(&inverse->tree->node[i])) like.roots += inverse->tree->node[i].nu;
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "inverse", &like, sizeof like, inverse_ground_layout, &ws));
  inverse_ground *ground = ws;
  for (int i = 0, r = 0; i < inverse->tree->n; i++) {
    const perp_reduced_node *node = &inverse->tree->node[i];
    for (int c = 0; ground_is_root(node) && c < node->nu; c++, r++) {
      ground->row[r] = node->iu + c;
      ground->scale[r] = c < inverse->tree->dim ? 1 : 1 / length;
      ground->b[r] = tau[ground->row[r]] * ground->scale[r];
    }
  }
  perp_reduced_kinematics(inverse->tree, q, u);
  perp_reduced_to_model(inverse->tree, inverse->qm, inverse->vm);
  ground_system(inverse, ground, contacts);
  ground_forces(ground);
  memset(ground->f, 0, (size_t)ground->nv * sizeof *ground->f);
  for (int k = 0; k < n; k++) {
    perp_inverse_contact *contact = &contacts[k];
    memset(contact->force, 0, sizeof contact->force);
    for (int edge = 0; edge < edges; edge++) {
      double dir[3];
      ground_edge(inverse->tree->dim, edges, contact, edge, dir);
      for (int i = 0; i < inverse->tree->dim; i++)
        contact->force[i] += ground->z[k * edges + edge] * dir[i];
    }
    perp_inverse_add_force(inverse->model, inverse->qm, contact->body, contact->point,
                           contact->force, ground->f);
  }
  perp_inverse_recursive(inverse, t, q, u, udot, ground->f, tau);
  *left = 0;
  for (int root = 0; root < ground->roots; root++)
    *left = fmax(*left, fabs(tau[ground->row[root]]));
  free(ground);
  return PERP_OK;
}
