/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/implicit_step.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* See the header; JACOBIANS_MOST of a step, corrections below ROUND may stall. */
static const double SOFT = 1e-9, SLOW = 0.1, ROUND = 1e-9;
enum { JACOBIANS_MOST = 20, HALVINGS_MOST = 12, ABOUT_MOST = 100 };
/* Errors of rows by their softness, of the size: what is left alone, and what is no solution. */
static const double HARD = 1e-10, LOST = 1e-7;

/* ---- the graph of a model ---- */

/* Pairs of nodes of which one reads the other, to edge when it is not NULL; how many.  Bodies are
 * nodes 0 ... n_bodies - 1, joints those after them. */
static int implicit_edges(const perp_model *m, int *edge)
{
  int n = 0;
#define IMPLICIT_EDGE(i, j)                                                                        \
  do {                                                                                             \
    if (edge != NULL) edge[2 * n] = (i), edge[2 * n + 1] = (j);                                    \
    n++;                                                                                           \
  } while (0)
  for (int k = 0; k < m->n_joints; k++) {
    const int *body = m->jblk + m->jptr[k], bodies = m->jptr[k + 1] - m->jptr[k];
    for (int i = 0; i < bodies; i++) IMPLICIT_EDGE(m->n_bodies + k, body[i]);
    for (int i = 0; i < bodies; i++)
      for (int j = i + 1; j < bodies; j++) IMPLICIT_EDGE(body[i], body[j]);
  }
  for (int k = 0; k < m->n_forces; k++) {
    const perp_force_def *f = &m->force_def[k];
    if (f->kind == PERP_FORCE_SPRING && f->a >= 0 && f->b >= 0) IMPLICIT_EDGE(f->a, f->b);
    for (int i = 0; f->kind == PERP_FORCE_PLUGIN && i < f->n_bodies; i++)
      for (int j = 0; j < i; j++)
        if (f->body[i] >= 0 && f->body[j] >= 0) IMPLICIT_EDGE(f->body[i], f->body[j]);
    if (f->kind == PERP_FORCE_PAIRS)
      for (int i = f->a; i <= f->b; i++)
        for (int j = f->a; j < i; j++) IMPLICIT_EDGE(i, j);
  }
#undef IMPLICIT_EDGE
  return n;
}

static void implicit_layout(void *ws, perp_arena *a)
{
  perp_implicit *w = ws;
  PERP_DOUBLES(a, w->n, &w->x0, &w->about, &w->dx, &w->r, &w->step);
  w->soft = PERP_CARVE(a, double, w->model->m);
  w->A = PERP_CARVE(a, double, perp_local_length(&w->local));
}

perp_status perp_implicit_graph(perp_ctx *ctx, const perp_model *m, int per_velocity, int per_row,
                                perp_implicit *w)
{
  PERP_TRY(perp_implicit_graph_of(ctx, m, per_velocity * m->nvb, per_row, w));
  w->per_velocity = per_velocity;
  return PERP_OK;
}

perp_status perp_implicit_graph_of(perp_ctx *ctx, const perp_model *m, int per_body, int per_row,
                                   perp_implicit *w)
{
  *w = (perp_implicit){ .model = m, .per_row = per_row };
  const int edges = implicit_edges(m, NULL), nodes = m->n_bodies + m->n_joints;
  int *edge = calloc(2 * (size_t)edges + (size_t)nodes + 1, sizeof *edge);
  if (edge == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the graph of a model");
  int *size = edge + 2 * edges;
  implicit_edges(m, edge);
  for (int i = 0; i < m->n_bodies; i++) size[i] = per_body;
  for (int k = 0; k < m->n_joints; k++)
    size[m->n_bodies + k] = w->per_row * (m->cptr[k + 1] - m->cptr[k]);
  const perp_status status = perp_local_create(ctx, nodes, size, edges, edge, &w->local);
  w->n = w->local.n;
  free(edge);
  return status;
}

perp_status perp_implicit_create(perp_ctx *ctx, const perp_model *model, int per_velocity,
                                 int per_row, perp_implicit *w)
{
  PERP_TRY(perp_implicit_graph(ctx, model, per_velocity, per_row, w));
  perp_status status = PERP_OK;
  if (perp_local_length(&w->local) > INT32_MAX)
    status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "the Newton iteration would need a band matrix of size %d x %d: use another "
                       "formulation, such as acceleration or velocity",
                       3 * w->local.width + 1, w->n);
  if (status == PERP_OK) status = perp_arena_layout(ctx, &w->arena, implicit_layout, w);
  if (status == PERP_OK) status = perp_local_lu_create(ctx, &w->local, false, &w->lu);
  if (status != PERP_OK) perp_implicit_destroy(w);
  return status;
}

void perp_implicit_destroy(perp_implicit *w)
{
  perp_local_lu_destroy(&w->local, &w->lu);
  perp_local_destroy(&w->local);
  perp_arena_free(&w->arena);
  *w = (perp_implicit){ 0 };
}

void perp_implicit_restart(perp_implicit *w)
{
  w->factored = false;
  w->floor = 0;
}

/* ---- parts of x ---- */

static int implicit_body(const perp_implicit *w, int body, int k)
{
  return w->local.first[body] + k * w->model->nvb;
}

void perp_implicit_get_body(const perp_implicit *w, const double *x, int k, double *y)
{
  const int d = w->model->nvb;
  for (int b = 0; b < w->model->n_bodies; b++)
    memcpy(y + b * d, x + implicit_body(w, b, k), (size_t)d * sizeof *y);
}

void perp_implicit_put_body(const perp_implicit *w, int k, const double *y, double *x)
{
  const int d = w->model->nvb;
  for (int b = 0; b < w->model->n_bodies; b++)
    memcpy(x + implicit_body(w, b, k), y + b * d, (size_t)d * sizeof *y);
}

/* first unknown of part k of joint j, and how many */
static int implicit_row(const perp_implicit *w, int j, int k, int *rows)
{
  *rows = w->model->cptr[j + 1] - w->model->cptr[j];
  return w->local.first[w->model->n_bodies + j] + k * *rows;
}

void perp_implicit_get_row(const perp_implicit *w, const double *x, int k, double *y)
{
  for (int j = 0; j < w->model->n_joints; j++) {
    int rows;
    const int at = implicit_row(w, j, k, &rows);
    memcpy(y + w->model->cptr[j], x + at, (size_t)rows * sizeof *y);
  }
}

void perp_implicit_put_row(const perp_implicit *w, int k, const double *y, double *x)
{
  for (int j = 0; j < w->model->n_joints; j++) {
    int rows;
    const int at = implicit_row(w, j, k, &rows);
    memcpy(x + at, y + w->model->cptr[j], (size_t)rows * sizeof *y);
  }
}

/* ---- Newton's method ---- */

/* F with the softness of the rows: a perp_local_fn of an equations. */
typedef struct equations {
  perp_implicit *w;
  perp_local_fn *F;
  void *user;
} equations;

static bool implicit_eval(void *user, const double *x, double *r)
{
  const equations *e = user;
  const perp_implicit *w = e->w;
  const perp_model *m = w->model;
  if (!e->F(e->user, x, r)) return false;
  for (int j = 0; j < m->n_joints; j++)
    for (int k = 0; k < w->per_row; k++) {
      int rows;
      const int at = implicit_row(w, j, k, &rows);
      for (int i = 0; i < rows; i++)
        r[at + i] += w->soft[m->cptr[j] + i] * (x[at + i] - w->about[at + i]);
    }
  return true;
}

/* Softness for the rows of B; a joint that was released has no rows and no force. */
static void implicit_soften(perp_implicit *w, const perp_blocks *B)
{
  if (w->model->m == 0) return;
  perp_blocks_diagonal(B, w->soft);
  for (int i = 0; i < w->model->m; i++) w->soft[i] = w->soft[i] > 0 ? SOFT * w->soft[i] : 1;
}

/* The largest error of a row by its softness at x. */
static double implicit_soft_error(const perp_implicit *w, const double *x)
{
  const perp_model *m = w->model;
  double most = 0;
  for (int j = 0; j < m->n_joints; j++)
    for (int k = 0; k < w->per_row; k++) {
      int rows;
      const int at = implicit_row(w, j, k, &rows);
      for (int i = 0; i < rows; i++)
        most = fmax(most, fabs(w->soft[m->cptr[j] + i] * (x[at + i] - w->about[at + i])));
    }
  return most;
}

/* the factors of dF/dx at x, where F = r */
static perp_reason implicit_factor(perp_implicit *w, equations *e, double h, const double *x)
{
  /* Steps of the differences: a part of the size of the model, of radians; multipliers are linear.
   */
  const perp_model *m = w->model;
  const double part = sqrt(DBL_EPSILON), size = m->size > 0 ? m->size : 1;
  double mass = 0;
  for (int i = 0; i < m->n_bodies; i++) mass += m->inertia[i].mass / m->n_bodies;
  for (int i = 0; i < w->n; i++) w->step[i] = 1e-3 * mass * size;
  for (int b = 0; b < m->n_bodies; b++)
    for (int k = 0; k < w->per_velocity; k++)
      for (int i = 0; i < m->nvb; i++) {
        const int at = implicit_body(w, b, k) + i;
        w->step[at] = part * fmax(i < m->dim ? size : 1, fabs(x[at]));
      }
  w->jacobians++;
  w->h = h;
  if (!perp_local_jacobian(&w->local, implicit_eval, e, x, w->r, w->step, w->A, &w->evaluations))
    return PERP_NOT_FINITE;
  return perp_local_factor(&w->local, w->A, &w->lu) ? PERP_EXACT : PERP_SINGULAR;
}

/* x += dx, shorter where F has no value; F there to r */
static bool implicit_move(perp_implicit *w, equations *e, double *x)
{
  for (int halved = 0; halved <= HALVINGS_MOST; halved++) {
    for (int i = 0; i < w->n; i++) x[i] += w->dx[i];
    w->evaluations++;
    if (implicit_eval(e, x, w->r)) return true;
    for (int i = 0; i < w->n; i++) x[i] -= w->dx[i];
    for (int i = 0; i < w->n; i++) w->dx[i] /= 2;
  }
  return false;
}

static perp_reason implicit_newton(perp_implicit *w, perp_local_fn *F, void *user, double h,
                                   const perp_blocks *B, double tol, int most, double size,
                                   double *x)
{
  const int bodies = w->per_velocity * w->model->nv;
  bool stale = w->factored && fabs(w->h - h) < 1e-6 * h; /* factors of an earlier step */
  equations e = { w, F, user };
  double last = HUGE_VAL;
  int jacobians = 0;
  if (!stale) {
    w->factored = false;
    implicit_soften(w, B);
  }
  memcpy(w->x0, x, (size_t)w->n * sizeof *x);
  w->evaluations++;
  if (!implicit_eval(&e, x, w->r)) return PERP_NOT_FINITE;
  for (int i = 0; i < most; i++) {
    if (!w->factored) {
      if (jacobians++ == JACOBIANS_MOST) return PERP_MAX_ITER;
      const perp_reason reason = implicit_factor(w, &e, h, x);
      if (reason < 0) return reason;
      w->factored = true;
      stale = false;
    }
    for (int k = 0; k < w->n; k++) w->dx[k] = -w->r[k];
    perp_local_solve(&w->local, w->A, &w->lu, w->dx);
    double change = 0;
    for (int k = 0; k < bodies; k++)
      if (!(fabs(w->dx[k]) <= change)) change = fabs(w->dx[k]);
    change /= size;
    w->iterations++;
    const bool slow = i > 0 && !(change <= SLOW * last), moved = implicit_move(w, &e, x);
    if (moved && change <= tol) return PERP_EXACT;
    /* at round-off: corrections no longer fall though the Jacobian is good, or was seen so */
    if (moved && change < ROUND && change > last / 2 && (!stale || change <= 4 * w->floor)) {
      if (!stale) w->floor = change;
      return PERP_EXACT;
    }
    if (stale && (!moved || (slow && change >= ROUND))) { /* again, with a Jacobian of its own */
      memcpy(x, w->x0, (size_t)w->n * sizeof *x);
      w->factored = false;
      last = HUGE_VAL;
      w->evaluations++;
      if (!implicit_eval(&e, x, w->r)) return PERP_NOT_FINITE;
      continue;
    }
    if (!moved) break;
    if (slow && (stale || change >= ROUND)) w->factored = false;
    last = change;
  }
  w->factored = false;
  return PERP_MAX_ITER;
}

perp_reason perp_implicit_solve(perp_implicit *w, perp_local_fn *F, void *user, double h,
                                const perp_blocks *B, double tol, int most, double size, double *x)
{
  const size_t bytes = (size_t)w->n * sizeof *x;
  double last = HUGE_VAL;
  memset(w->about, 0, bytes);
  for (int pass = 0;; pass++) {
    const perp_reason reason = implicit_newton(w, F, user, h, B, tol, most, size, x);
    if (reason < 0) return reason;
    const double error = implicit_soft_error(w, x);
    if (error <= HARD * size) return PERP_EXACT;
    if (pass == ABOUT_MOST || !(error < 0.95 * last))
      return error <= LOST * size ? PERP_EXACT : PERP_INACCURATE;
    last = error;
    memcpy(w->about, x, bytes);
  }
}
