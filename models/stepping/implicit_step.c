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
static int implicit_edges(const perp_model *model, int motors, const int *drive, int *edge)
{
  int n = 0;
#define IMPLICIT_EDGE(i, j)                                                                        \
  do {                                                                                             \
    if (edge != NULL) edge[2 * n] = (i), edge[2 * n + 1] = (j);                                    \
    n++;                                                                                           \
  } while (0)
  for (int joint = 0; joint < model->n_joints; joint++) {
    const int *body = model->pattern.jblk + model->pattern.jptr[joint],
              bodies = model->pattern.jptr[joint + 1] - model->pattern.jptr[joint];
    for (int i = 0; i < bodies; i++) IMPLICIT_EDGE(model->n_bodies + joint, body[i]);
    for (int i = 0; i < bodies; i++)
      for (int j = i + 1; j < bodies; j++) IMPLICIT_EDGE(body[i], body[j]);
  }
  for (int force = 0; force < model->n_forces; force++) {
    const perp_force_def *def = &model->force_def[force];
    if (def->kind == PERP_FORCE_SPRING && def->a >= 0 && def->b >= 0) IMPLICIT_EDGE(def->a, def->b);
    for (int i = 0; def->kind == PERP_FORCE_PLUGIN && i < def->n_bodies; i++)
      for (int j = 0; j < i; j++)
        if (def->body[i] >= 0 && def->body[j] >= 0) IMPLICIT_EDGE(def->body[i], def->body[j]);
    if (def->kind == PERP_FORCE_PAIRS)
      for (int i = def->a; i <= def->b; i++)
        for (int j = def->a; j < i; j++) IMPLICIT_EDGE(i, j);
  }
  for (int motor = 0; motor < motors; motor++) {
    const int node = model->n_bodies + model->n_joints + motor;
    const int a = model->drive[drive[motor]].a, b = model->drive[drive[motor]].b;
    if (a >= 0) IMPLICIT_EDGE(node, a);
    if (b >= 0) IMPLICIT_EDGE(node, b);
  }
  for (int k = 0; k < model->n_drives && model->carried.n > 0; k++)
    for (int i = model->carried.ptr[k]; i < model->carried.ptr[k + 1]; i++) {
      const int body = model->carried.body[i], a = model->drive[k].a, b = model->drive[k].b;
      if (a >= 0 && a != body) IMPLICIT_EDGE(a, body);
      if (b >= 0 && b != body) IMPLICIT_EDGE(b, body);
    }
#undef IMPLICIT_EDGE
  return n;
}

static void implicit_layout(void *ws, perp_arena *arena)
{
  perp_implicit *implicit = ws;
  PERP_DOUBLES(arena, implicit->n, &implicit->x0, &implicit->about, &implicit->dx, &implicit->r,
               &implicit->step);
  implicit->soft = PERP_CARVE(arena, double, implicit->model->m);
  implicit->A = PERP_CARVE(arena, double, perp_local_length(&implicit->local));
}

perp_status perp_implicit_graph(perp_ctx *ctx, const perp_model *model, int per_velocity,
                                int per_row, perp_implicit *implicit)
{
  PERP_TRY(perp_implicit_graph_of(ctx, model, per_velocity * model->nvb, per_row, implicit));
  implicit->per_velocity = per_velocity;
  return PERP_OK;
}

static perp_status implicit_graph(perp_ctx *ctx, const perp_model *model, int per_body, int per_row,
                                  int motors, const int *drive, perp_implicit *implicit)
{
  *implicit = (perp_implicit){ .model = model, .per_row = per_row, .motors = motors };
  const int edges = implicit_edges(model, motors, drive, NULL),
            nodes = model->n_bodies + model->n_joints + motors;
  int *edge = calloc(2 * (size_t)edges + (size_t)nodes + 1, sizeof *edge);
  if (edge == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the graph of a model");
  int *size = edge + 2 * edges;
  implicit_edges(model, motors, drive, edge);
  for (int motor = 0; motor < motors; motor++) size[model->n_bodies + model->n_joints + motor] = 1;
  for (int body = 0; body < model->n_bodies; body++) size[body] = per_body;
  for (int joint = 0; joint < model->n_joints; joint++)
    size[model->n_bodies + joint] = implicit->per_row *
                                    (model->pattern.cptr[joint + 1] - model->pattern.cptr[joint]);
  const perp_status status = perp_local_create(ctx, nodes, size, edges, edge, &implicit->local);
  implicit->n = implicit->local.n;
  free(edge);
  return status;
}

perp_status perp_implicit_graph_of(perp_ctx *ctx, const perp_model *model, int per_body,
                                   int per_row, perp_implicit *implicit)
{
  return implicit_graph(ctx, model, per_body, per_row, 0, NULL, implicit);
}

perp_status perp_implicit_create(perp_ctx *ctx, const perp_model *model, int per_velocity,
                                 int per_row, perp_implicit *implicit)
{
  return perp_implicit_create_driven(ctx, model, per_velocity, per_row, 0, NULL, implicit);
}

perp_status perp_implicit_create_driven(perp_ctx *ctx, const perp_model *model, int per_velocity,
                                        int per_row, int n, const int *drive,
                                        perp_implicit *implicit)
{
  PERP_TRY(implicit_graph(ctx, model, per_velocity * model->nvb, per_row, n, drive, implicit));
  implicit->per_velocity = per_velocity;
  perp_status status = PERP_OK;
  if (perp_local_length(&implicit->local) > INT32_MAX)
    status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "the Newton iteration would need a band matrix of size %d x %d: use another "
                       "formulation, such as acceleration or velocity",
                       3 * implicit->local.width + 1, implicit->n);
  if (status == PERP_OK)
    status = perp_arena_layout(ctx, &implicit->arena, implicit_layout, implicit);
  if (status == PERP_OK) status = perp_local_lu_create(ctx, &implicit->local, false, &implicit->lu);
  if (status == PERP_OK) memset(implicit->soft, 0, (size_t)model->m * sizeof *implicit->soft);
  if (status != PERP_OK) perp_implicit_destroy(implicit);
  return status;
}

void perp_implicit_destroy(perp_implicit *implicit)
{
  perp_local_lu_destroy(&implicit->local, &implicit->lu);
  perp_local_destroy(&implicit->local);
  perp_arena_free(&implicit->arena);
  *implicit = (perp_implicit){ 0 };
}

void perp_implicit_restart(perp_implicit *implicit)
{
  implicit->factored = false;
  implicit->floor = 0;
}

/* ---- parts of x ---- */

static int implicit_body(const perp_implicit *implicit, int body, int k)
{
  return implicit->local.first[body] + k * implicit->model->nvb;
}

void perp_implicit_get_body(const perp_implicit *implicit, const double *x, int k, double *y)
{
  const int nvb = implicit->model->nvb;
  for (int body = 0; body < implicit->model->n_bodies; body++)
    memcpy(y + body * nvb, x + implicit_body(implicit, body, k), (size_t)nvb * sizeof *y);
}

void perp_implicit_put_body(const perp_implicit *implicit, int k, const double *y, double *x)
{
  const int nvb = implicit->model->nvb;
  for (int body = 0; body < implicit->model->n_bodies; body++)
    memcpy(x + implicit_body(implicit, body, k), y + body * nvb, (size_t)nvb * sizeof *y);
}

/* first unknown of part k of joint j, and how many */
static int implicit_row(const perp_implicit *implicit, int j, int k, int *rows)
{
  *rows = implicit->model->pattern.cptr[j + 1] - implicit->model->pattern.cptr[j];
  return implicit->local.first[implicit->model->n_bodies + j] + k * *rows;
}

void perp_implicit_get_row(const perp_implicit *implicit, const double *x, int k, double *y)
{
  for (int joint = 0; joint < implicit->model->n_joints; joint++) {
    int rows;
    const int at = implicit_row(implicit, joint, k, &rows);
    memcpy(y + implicit->model->pattern.cptr[joint], x + at, (size_t)rows * sizeof *y);
  }
}

void perp_implicit_put_row(const perp_implicit *implicit, int k, const double *y, double *x)
{
  for (int joint = 0; joint < implicit->model->n_joints; joint++) {
    int rows;
    const int at = implicit_row(implicit, joint, k, &rows);
    memcpy(x + at, y + implicit->model->pattern.cptr[joint], (size_t)rows * sizeof *y);
  }
}

void perp_implicit_get_motor(const perp_implicit *implicit, const double *x, double *y)
{
  const int *first = implicit->local.first + implicit->model->n_bodies + implicit->model->n_joints;
  for (int motor = 0; motor < implicit->motors; motor++) y[motor] = x[first[motor]];
}

void perp_implicit_put_motor(const perp_implicit *implicit, const double *y, double *x)
{
  const int *first = implicit->local.first + implicit->model->n_bodies + implicit->model->n_joints;
  for (int motor = 0; motor < implicit->motors; motor++) x[first[motor]] = y[motor];
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
  const equations *work = user;
  const perp_implicit *implicit = work->w;
  const perp_model *model = implicit->model;
  if (!work->F(work->user, x, r)) return false;
  for (int joint = 0; joint < model->n_joints; joint++)
    for (int k = 0; k < implicit->per_row; k++) {
      int rows;
      const int at = implicit_row(implicit, joint, k, &rows);
      for (int row = 0; row < rows; row++)
        r[at + row] += implicit->soft[model->pattern.cptr[joint] + row] *
                       (x[at + row] - implicit->about[at + row]);
    }
  return true;
}

/* Softness for the rows of blocks; a joint that was released has no rows and no force. */
static void implicit_soften(perp_implicit *implicit, const perp_blocks *blocks)
{
  if (implicit->model->m == 0 || implicit->softened) return;
  perp_blocks_diagonal(blocks, implicit->soft);
  for (int i = 0; i < implicit->model->m; i++)
    implicit->soft[i] = implicit->soft[i] > 0 ? SOFT * implicit->soft[i] : 1;
}

/* The largest error of a row by its softness at x. */
static double implicit_soft_error(const perp_implicit *implicit, const double *x)
{
  const perp_model *model = implicit->model;
  double most = 0;
  for (int joint = 0; joint < model->n_joints; joint++)
    for (int k = 0; k < implicit->per_row; k++) {
      int rows;
      const int at = implicit_row(implicit, joint, k, &rows);
      for (int row = 0; row < rows; row++)
        most = fmax(most, fabs(implicit->soft[model->pattern.cptr[joint] + row] *
                               (x[at + row] - implicit->about[at + row])));
    }
  return most;
}

/* F at an iterate to r */
static bool implicit_iterate(perp_implicit *implicit, equations *work, const double *x)
{
  implicit->evaluations++;
  if (implicit->hard) memcpy(implicit->about, x, (size_t)implicit->n * sizeof *x);
  return implicit_eval(work, x, implicit->r);
}

/* the factors of dF/dx at x, where F = r */
static perp_reason implicit_factor(perp_implicit *implicit, equations *work, double h,
                                   const double *x)
{
  /* Steps of the differences: a part of the size of the model, of radians; multipliers are linear.
   */
  const perp_model *model = implicit->model;
  const double part = sqrt(DBL_EPSILON), size = model->size > 0 ? model->size : 1;
  double mass = 0;
  for (int body = 0; body < model->n_bodies; body++)
    mass += model->inertia[body].mass / model->n_bodies;
  for (int i = 0; i < implicit->n; i++) implicit->step[i] = 1e-3 * mass * size;
  for (int b = 0; b < model->n_bodies; b++)
    for (int k = 0; k < implicit->per_velocity; k++)
      for (int i = 0; i < model->nvb; i++) {
        const int at = implicit_body(implicit, b, k) + i;
        implicit->step[at] = part * fmax(i < model->dim ? size : 1, fabs(x[at]));
      }
  implicit->jacobians++;
  implicit->h = h;
  if (!perp_local_jacobian(&implicit->local, implicit_eval, work, x, implicit->r, implicit->step,
                           implicit->A, &implicit->evaluations))
    return PERP_NOT_FINITE;
  return perp_local_factor(&implicit->local, implicit->A, &implicit->lu) ? PERP_EXACT
                                                                         : PERP_SINGULAR;
}

/* x += dx, shorter where F has no value; F there to r */
static bool implicit_move(perp_implicit *implicit, equations *work, double *x)
{
  for (int halved = 0; halved <= HALVINGS_MOST; halved++) {
    for (int i = 0; i < implicit->n; i++) x[i] += implicit->dx[i];
    if (implicit_iterate(implicit, work, x)) return true;
    for (int i = 0; i < implicit->n; i++) x[i] -= implicit->dx[i];
    for (int i = 0; i < implicit->n; i++) implicit->dx[i] /= 2;
  }
  return false;
}

static perp_reason implicit_newton(perp_implicit *implicit, perp_local_fn *F, void *user, double h,
                                   const perp_blocks *blocks, double tol, int most, double size,
                                   double *x)
{
  const int bodies = implicit->per_velocity * implicit->model->nv;
  bool stale = implicit->factored &&
               fabs(implicit->h - h) < 1e-6 * h; /* factors of an earlier step */
  equations work = { implicit, F, user };
  double last = HUGE_VAL;
  int jacobians = 0;
  if (!stale) {
    implicit->factored = false;
    implicit_soften(implicit, blocks);
  }
  memcpy(implicit->x0, x, (size_t)implicit->n * sizeof *x);
  if (!implicit_iterate(implicit, &work, x)) return PERP_NOT_FINITE;
  for (int i = 0; i < most; i++) {
    if (!implicit->factored) {
      if (jacobians++ == JACOBIANS_MOST) return PERP_MAX_ITER;
      const perp_reason reason = implicit_factor(implicit, &work, h, x);
      if (reason < 0) return reason;
      implicit->factored = true;
      stale = false;
    }
    for (int k = 0; k < implicit->n; k++) implicit->dx[k] = -implicit->r[k];
    perp_local_solve(&implicit->local, implicit->A, &implicit->lu, implicit->dx);
    double change = 0;
    for (int body = 0; body < bodies; body++)
      if (!(fabs(implicit->dx[body]) <= change)) change = fabs(implicit->dx[body]);
    change /= size;
    implicit->iterations++;
    const bool slow = i > 0 && !(change <= SLOW * last), moved = implicit_move(implicit, &work, x);
    if (moved && change <= tol) return PERP_EXACT;
    /* at round-off: corrections no longer fall though the Jacobian is good, or was seen so */
    if (moved && change < ROUND && change > last / 2 && (!stale || change <= 4 * implicit->floor)) {
      if (!stale) implicit->floor = change;
      return PERP_EXACT;
    }
    if (stale && (!moved || (slow && change >= ROUND))) { /* again, with a Jacobian of its own */
      memcpy(x, implicit->x0, (size_t)implicit->n * sizeof *x);
      implicit->factored = false;
      last = HUGE_VAL;
      if (!implicit_iterate(implicit, &work, x)) return PERP_NOT_FINITE;
      continue;
    }
    if (!moved) break;
    if (slow && (stale || change >= ROUND)) implicit->factored = false;
    last = change;
  }
  implicit->factored = false;
  return PERP_MAX_ITER;
}

perp_reason perp_implicit_solve(perp_implicit *implicit, perp_local_fn *F, void *user, double h,
                                const perp_blocks *blocks, double tol, int most, double size,
                                double *x)
{
  const size_t bytes = (size_t)implicit->n * sizeof *x;
  double last = HUGE_VAL;
  memset(implicit->about, 0, bytes);
  for (int pass = 0;; pass++) {
    const perp_reason reason = implicit_newton(implicit, F, user, h, blocks, tol, most, size, x);
    if (reason < 0) return reason;
    const double error = implicit_soft_error(implicit, x);
    if (error <= HARD * size) return PERP_EXACT;
    if (pass == ABOUT_MOST || !(error < 0.95 * last))
      return error <= LOST * size ? PERP_EXACT : PERP_INACCURATE;
    last = error;
    memcpy(implicit->about, x, bytes);
  }
}
