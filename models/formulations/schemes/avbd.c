/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Augmented vertex block descent (C. Giles, E. Diaz, C. Yuksel, Augmented vertex block descent,
 * ACM Transactions on Graphics 44(4), 2025; rigid bodies: a vertex is a body of six coordinates).
 *
 * A step minimizes 1/(2 h^2) |x - y|^2_M + sum of k C^2 / 2 + lambda C of its rows, y = q [+] h (v
 * + h M^-1 f), body by body: for each one
 *
 *      (M / h^2 + sum k J' J) dx = -(M (x - y) / h^2 - sum J' f),   f = clamp(lambda - k C, bounds)
 *
 * f of the row in the direction of J.  After each of the `iterations` sweeps over bodies the rows
 * follow (his algorithm 1),
 *
 *      lambda <- clamp(lambda - k C),      k <- k + growth |C| / (A h^2 size) if not clamped,
 *
 * and from one step to the next lambda <- alpha gamma lambda, k <- max(gamma k, k_start / (A
 * h^2)). Rigid rows have C - alpha C_0 in place of C, so that an error of the start is taken out
 * in many steps.  Springs have the k that is theirs, and no lambda.  Friction: |lambda_t| <= mu
 * lambda_n. J and C of joints are those of the state of each sweep, within it C + J dx: the
 * derivative of J, of which the paper takes the diagonal, is not needed then. In velocities here:
 * u = (x - q) / h, p = h f, h^2 k in kg.
 *
 * Penalties are measured in the mass of their row over h^2, A = J M^-1 J': k_start, growth and
 * k_most are numbers, and a step does the same to a body of a gram and of a ton, at each h.  The
 * paper leaves its numbers (N/m, N/m^2) to masses, lengths and steps of the user; as such they
 * hold 1 kg at 1/60 s, and the smaller the step and the heavier the body, the more steps pass
 * until a contact carries.  k_start = 1 halves the error of a lone row in each sweep; above 2 what
 * slides is slowed down, as the matrix keeps the penalty of friction that is at its bound in the
 * published program and a sweep then moves by 1 / (1 + k_start) of the way only.
 *
 * What it gives up.  Order: 1 of what is at rest, sticks or is jointed; of what slides, down to
 * what the sweeps leave of friction at its bound, 0.7 % with ten and 0.007 % with twenty, whatever
 * h is.  Drift: rows lose 1 - alpha gamma of lambda in each step, which an error has to bring
 * back, O(h^2).  Momentum: bodies are moved one by one, so that it is kept to what the sweeps
 * leave. Energy: damped.  Penetration: as the drift.  Friction: sticks as far as k has grown.
 * There is no restitution, surfaces with one are refused.
 *
 * Cost: iterations (bodies nvb^3 / 3 + rows (nvb^2 + 3 nvb)) and as many evaluations; one
 * collision detection.  No allocation in a step, but for more contacts than ever.  Fails: states
 * that are not finite. */
#include "models/formulations/schemes/scheme.h"

#include <lapacke.h>
#include <string.h>

/* Part of the error at the start of a step that it does not correct, decay of penalties from step
 * to step: as in the paper.  In effective mass / h^2: growth of a penalty per sweep and error in
 * sizes of the model, the least and the largest one. */
static const double ALPHA = 0.95, GAMMA = 0.99, GROWTH = 30, K_START = 1, K_MOST = 1e6;

struct avbd_opts {
  perp_scheme_opts scheme; /* first */
  int iterations;
};
static const perp_opt avbd_options[] = {
  PERP_INT(struct avbd_opts, iterations, 10, 1, 100000, "Number of sweeps over all bodies."),
  PERP_REAL(perp_scheme_opts, slip, 1e-5, 0, HUGE_VAL, 0, "m/s",
            "Sliding speed above which a new contact uses mu_dynamic. Existing contacts use it if "
            "they slid in the previous step."),
  PERP_SCHEME_OPTION_WARM, PERP_OPTIONS_END
};

typedef struct avbd {
  perp_scheme s; /* first */
  struct avbd_opts o;
  double *y;  /* [nv] velocity that leads to the inertial place */
  int *first; /* [bodies + 1] its rows in list */
  int *list;  /* [2 rows] 2 row + side */
  int cap;
  perp_arena grown_list;
} avbd;

/* ---- rows ---- */

static bool avbd_hard(const perp_scheme_row *row)
{
  return row->kind != PERP_SCHEME_OWN || !(row->own > 0);
}

/* Rows by body. */
static void avbd_index(avbd *work)
{
  const perp_scheme *scheme = &work->s;
  const int n = scheme->model->n_bodies;
  memset(work->first, 0, (size_t)(n + 1) * sizeof *work->first);
  for (int row = 0; row < scheme->n; row++)
    for (int side = 0; side < 2; side++)
      if (scheme->row[row].body[side] >= 0) work->first[scheme->row[row].body[side] + 1]++;
  for (int b = 0; b < n; b++) work->first[b + 1] += work->first[b];
  for (int row = scheme->n - 1; row >= 0;
       row--) /* fills each from its end: first becomes the start again below */
    for (int side = 0; side < 2; side++)
      if (scheme->row[row].body[side] >= 0)
        work->list[--work->first[scheme->row[row].body[side] + 1]] = 2 * row + side;
  /* first[b + 1] is now the start of b: move down, the end is the total */
  int total = 0;
  for (int row = 0; row < scheme->n; row++)
    total += (scheme->row[row].body[0] >= 0) + (scheme->row[row].body[1] >= 0);
  for (int b = 0; b < n; b++) work->first[b] = work->first[b + 1];
  work->first[n] = total;
}

/* Bias such that J u + bias = (C - alpha C_0) / h, at the state that u leads to. */
static void avbd_rows(avbd *work, double t, double h)
{
  perp_scheme *scheme = &work->s;
  for (int i = 0; i < scheme->model->nv; i++) scheme->f[i] = h * scheme->v1[i];
  perp_model_retract(scheme->model, scheme->q, scheme->f, scheme->q1);
  perp_scheme_refresh(scheme, t + h, h);
  for (int i = 0; i < scheme->n; i++) {
    perp_scheme_row *row = &scheme->row[i];
    const double left = row->start > 0 && row->kind != PERP_SCHEME_JOINT ? 0 : ALPHA;
    row->soft = row->own;
    if (row->kind == PERP_SCHEME_OWN)
      row->bias = row->start; /* what it was at the start, see avbd_begin */
    else if (row->kind == PERP_SCHEME_TANGENT)
      row->bias = row->given;
    else if (row->kind == PERP_SCHEME_NORMAL)
      row->bias = (row->C - left * row->start) / h; /* the gap of the start */
    else
      row->bias = (row->C - left * row->start) / h - perp_scheme_speed(scheme, row, scheme->v1);
  }
}

/* Penalties and multipliers that the step before has left; the rows as they are at the start. */
static void avbd_begin(avbd *work)
{
  perp_scheme *scheme = &work->s;
  for (int i = 0; i < scheme->n; i++) {
    perp_scheme_row *row = &scheme->row[i];
    if (row->kind == PERP_SCHEME_OWN) row->start = row->given;
    row->k = !avbd_hard(row) ? 1 / row->own
             : row->A > 0    ? fmax(GAMMA * row->k, K_START / row->A)
                             : 0;
    row->p = avbd_hard(row) ? ALPHA * GAMMA * row->p : 0;
  }
}

/* p - k w of a row, within its bounds */
static double avbd_force(const perp_scheme *scheme, const perp_scheme_row *row)
{
  const double w = perp_scheme_speed(scheme, row, scheme->v1) + row->bias;
  const double p = (avbd_hard(row) ? row->p : 0) - row->k * w;
  return fmin(fmax(p, row->lo), row->hi);
}

/* ---- primal and dual ---- */

/* One body to the least of its part, all others held. */
static void avbd_body(avbd *work, int body)
{
  const perp_scheme *scheme = &work->s;
  const perp_blocks *blocks = &scheme->e.blocks;
  const int n = scheme->model->nvb;
  double H[36], g[6], *u = scheme->v1 + n * body;
  const double *M = blocks->M + blocks->mptr[body];
  memcpy(H, M, (size_t)(n * n) * sizeof *H);
  for (int i = 0; i < n; i++) {
    g[i] = 0;
    for (int j = 0; j < n; j++) g[i] -= M[i + n * j] * (u[j] - work->y[n * body + j]);
  }
  for (int l = work->first[body]; l < work->first[body + 1]; l++) {
    const perp_scheme_row *row = &scheme->row[work->list[l] / 2];
    const double *J = row->J[work->list[l] % 2], p = avbd_force(scheme, row);
    for (int i = 0; i < n; i++) {
      g[i] += J[i] * p;
      /* a row that is open and has no multiplier does not press: without its penalty the body is
       * free */
      if (p != 0 || row->p != 0)
        for (int j = 0; j < n; j++) H[i + n * j] += row->k * J[i] * J[j];
    }
  }
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, H, n) != 0) return; /* M alone is definite */
  LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', n, 1, H, n, g, n);
  for (int i = 0; i < n; i++) u[i] += g[i];
}

/* |C - alpha C_0| of a row in units of the size of the model, or rad */
static double avbd_error(const perp_scheme *scheme, const perp_scheme_row *row, double h)
{
  double line = 0;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < scheme->model->dim && row->body[side] >= 0; i++)
      line += fabs(row->J[side][i]);
  const double C = h * fabs(perp_scheme_speed(scheme, row, scheme->v1) + row->bias);
  return line > 0 ? C / scheme->model->size : C;
}

static void avbd_dual(avbd *work, double h)
{
  perp_scheme *scheme = &work->s;
  for (int i = 0; i < scheme->n; i++) {
    perp_scheme_row *row = &scheme->row[i];
    const double p = avbd_force(scheme, row);
    if (avbd_hard(row) && row->A > 0 && p > row->lo && p < row->hi)
      row->k = fmin(row->k + GROWTH / row->A * avbd_error(scheme, row, h), K_MOST / row->A);
    row->p = p;
  }
}

/* ---- a step ---- */

static void avbd_layout_rows(void *ws, perp_arena *arena)
{
  avbd *work = ws;
  work->list = PERP_CARVE(arena, int, 2 * (size_t)work->cap);
}

static bool avbd_reserve(avbd *work, int n)
{
  if (n <= work->cap) return true;
  work->cap = n + n / 2 + 64;
  work->s.status = perp_arena_layout(work->s.ctx, &work->grown_list, avbd_layout_rows, work);
  if (work->s.status != PERP_OK) work->cap = 0;
  return work->s.status == PERP_OK;
}

static perp_reason avbd_step(perp_scheme *scheme, double t, double h)
{
  avbd *work = (avbd *)scheme;
  if (!perp_scheme_begin(scheme, t, h, h) || !avbd_reserve(work, scheme->n)) return PERP_NOT_FINITE;
  perp_scheme_forces(scheme, t, h);
  memcpy(work->y, scheme->v1, (size_t)scheme->model->nv * sizeof *work->y);
  avbd_begin(work);
  avbd_index(work);
  for (int sweep = 0; sweep < work->o.iterations && scheme->n > 0; sweep++) {
    avbd_rows(work, t, h);
    for (int i = 0; i < scheme->n_contacts; i++) {
      /* The bounds of friction, by the multiplier of the normal row: of what would leave its disk
       * the share of each tangent, of what is inside the way to the circle. */
      perp_scheme_contact *contact = &scheme->contact[i];
      const int n = contact->row;
      double p[2] = { 0, 0 };
      const double bound = contact->mu * scheme->row[n].p;
      for (int k = 1; k < scheme->model->dim; k++) {
        const perp_scheme_row *row = &scheme->row[n + k];
        p[k - 1] = row->p - row->k * (perp_scheme_speed(scheme, row, scheme->v1) + row->bias);
      }
      const double size = hypot(p[0], p[1]);
      contact->slides = size > bound;
      for (int k = 1; k < scheme->model->dim; k++) {
        const double most = contact->slides ? fabs(p[k - 1]) * bound / size
                                            : sqrt((bound - p[2 - k]) * (bound + p[2 - k]));
        scheme->row[n + k].hi = most;
        scheme->row[n + k].lo = -most;
      }
    }
    for (int body = 0; body < scheme->model->n_bodies; body++) avbd_body(work, body);
    avbd_dual(work, h);
    if (!perp_all_finite(scheme->model->nv, scheme->v1)) return PERP_NOT_FINITE;
    scheme->count.iterations++;
  }
  memcpy(scheme->q1, scheme->q, (size_t)scheme->model->nq * sizeof *scheme->q1);
  perp_scheme_move(scheme, h, scheme->v1);
  perp_scheme_sum(scheme);
  perp_scheme_remember(scheme, h, h);
  perp_scheme_counted(scheme);
  return PERP_EXACT;
}

/* ---- life ---- */

static void avbd_layout(void *ws, perp_arena *arena)
{
  avbd *work = ws;
  perp_scheme_layout(work, arena);
  work->y = PERP_CARVE(arena, double, work->s.model->nv);
  work->first = PERP_CARVE(arena, int, work->s.model->n_bodies + 1);
}

static void avbd_destroy(void *ws)
{
  avbd *work = ws;
  if (work == NULL) return;
  perp_arena_free(&work->grown_list);
  perp_scheme_destroy(ws);
}

static perp_status avbd_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                               void **ws)
{
  avbd like = { .o = *(const struct avbd_opts *)parts->formulation.opts };
  *ws = NULL;
  for (int shape = 0; shape < model->n_shapes; shape++)
    if (model->shape_def[shape].surface.restitution > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation avbd does not support restitution: the surface of shape %d has "
                       "%g; use --formulation velocity",
                       shape, model->shape_def[shape].surface.restitution);
  like.s.o = like.o.scheme;
  like.s.step = avbd_step;
  like.s.contact_rows = true;
  PERP_TRY(perp_scheme_create(ctx, model, parts, h, &like.s, sizeof like, avbd_layout, ws));
  avbd *work = *ws;
  work->s.ctx = ctx;
  if (avbd_reserve(work, 3 * model->n_drives + model->m + 12 * model->n_shapes)) return PERP_OK;
  const perp_status status = work->s.status;
  avbd_destroy(work);
  *ws = NULL;
  return status;
}

const perp_formulation_desc perp_formulation_avbd = {
  .d = { .name = "avbd",
         .summary = "Augmented vertex block descent: body by body, multipliers and growing "
                    "penalties; no restitution, order 1 down to what its sweeps leave",
         .reference = "Giles, Diaz, Yuksel 2025, algorithm 1",
         .equation =
             "(M / h^2 + sum k J' J) dx = -(M (x - y) / h^2 - sum J' f), f = clamp(lambda - "
             "k C), lambda <- f, k <- k + growth |C| / (A h^2 size)",
         PERP_OPTIONS(avbd_options, struct avbd_opts),
         .caps = PERP_SCHEME_CAPS },
  .create = avbd_create,
  .restart = perp_scheme_restart,
  .step = perp_scheme_step,
  .state = perp_scheme_state,
  .counters = perp_scheme_counters,
  .timing = perp_scheme_timing,
  .destroy = avbd_destroy,
  .contacts = perp_scheme_contacts,
  .observe = perp_scheme_observe,
};
