/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/drives.h"

#include <stdlib.h>
#include <string.h>

#define GIVE_BACK 0.2   /* of an overrun limit, in a step */
#define PUSH      1.0   /* m/s or rad/s: no overrun is given back faster */
#define REBOUND   1e-3  /* m/s or rad/s: slower impacts do not rebound */
#define TOLERANCE 1e-10 /* of the LCP, relative */
enum { ROWS_EACH = 2 }; /* of a drive: motor, nearer limit */

struct perp_drives {
  const perp_model *model;
  perp_lcp_solver *lcp;
  int n; /* rows of the step */
  int *owner;
  double *sign;               /* of a row: -1 for an upper limit */
  double *J, *Y;              /* [rows x nv] rows, and K J' */
  double *A, *b, *lo, *hi;    /* the LCP */
  double *lambda, *w, *force; /* [rows], [rows], [drives] */
  double *row, *c, *mult;     /* [nv], [m], [m] */
  perp_arena arena;
};

static void layout(perp_drives *d, const perp_model *m, perp_arena *a)
{
  const int rows = ROWS_EACH * m->n_drives;
  d->owner = PERP_CARVE(a, int, rows);
  d->sign = PERP_CARVE(a, double, rows);
  d->J = PERP_CARVE(a, double, rows * m->nv);
  d->Y = PERP_CARVE(a, double, rows * m->nv);
  d->A = PERP_CARVE(a, double, rows *rows);
  d->b = PERP_CARVE(a, double, rows);
  d->lo = PERP_CARVE(a, double, rows);
  d->hi = PERP_CARVE(a, double, rows);
  d->lambda = PERP_CARVE(a, double, rows);
  d->w = PERP_CARVE(a, double, rows);
  d->force = PERP_CARVE(a, double, m->n_drives);
  d->row = PERP_CARVE(a, double, m->nv);
  d->c = PERP_CARVE(a, double, m->m);
  d->mult = PERP_CARVE(a, double, m->m);
}

perp_status perp_drives_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                               perp_drives **out)
{
  *out = NULL;
  if (model->n_shapes > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "limits and motors in a model with shapes: not both in one model");
  perp_drives *d = calloc(1, sizeof *d);
  if (d == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for drives");
  d->model = model;
  layout(d, model, &d->arena);
  perp_status status = perp_arena_reserve(ctx, &d->arena);
  if (status == PERP_OK)
    status = perp_lcp_create(ctx, &parts->lcp, ROWS_EACH * model->n_drives, 0, &d->lcp);
  if (status != PERP_OK) {
    perp_drives_destroy(d);
    return status;
  }
  layout(d, model, &d->arena);
  memset(d->force, 0, (size_t)model->n_drives * sizeof *d->force);
  memset(d->c, 0, (size_t)model->m * sizeof *d->c);
  *out = d;
  return PERP_OK;
}

void perp_drives_destroy(perp_drives *d)
{
  if (d == NULL) return;
  perp_lcp_destroy(d->lcp);
  perp_arena_free(&d->arena);
  free(d);
}

const double *perp_drives_forces(const perp_drives *d)
{
  return d->force;
}

static double dot(int n, const double *a, const double *b)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* the next row: sign times the row at hand, its bias, bounds and softness (in A, for now) */
static void add(perp_drives *d, int owner, double sign, double bias, double lo, double hi,
                double soft)
{
  const int nv = d->model->nv, r = d->n++;
  d->owner[r] = owner;
  d->sign[r] = sign;
  for (int i = 0; i < nv; i++) d->J[r * nv + i] = sign * d->row[i];
  d->b[r] = bias;
  d->lo[r] = lo;
  d->hi[r] = hi;
  d->w[r] = soft; /* until A is made */
}

static void add_motor(perp_drives *d, int i, const perp_drive_def *def, double x, double h)
{
  const double k = def->stiffness, c = def->damping;
  double bias = -def->velocity, soft = 0;
  if (k > 0 || c > 0) {
    /* lambda = -h (k (x + h xdot - target) + c (xdot - velocity)), xdot at the end of the step */
    soft = 1 / (h * (h * k + c));
    bias = (k * (x - def->target) - c * def->velocity) / (h * k + c);
  }
  add(d, i, 1, bias, -h * def->max_force, h * def->max_force, soft);
}

static void add_limit(perp_drives *d, int i, const perp_drive_def *def, double x, double xdot,
                      double free_rate, double h)
{
  const double below = x - def->lower, above = def->upper - x;
  if (def->lower == def->upper) {
    add(d, i, 1, GIVE_BACK * below / h, -HUGE_VAL, HUGE_VAL, 0);
    return;
  }
  const bool lower = below < above;
  const double sign = lower ? 1 : -1, gap = lower ? below : above, rate = sign * xdot;
  if (gap == HUGE_VAL) return;
  double bias = gap > 0 ? gap / h : fmax(GIVE_BACK * gap / h, -PUSH);
  const bool reached = gap + h * sign * free_rate < 0;
  if (reached && rate < -REBOUND && def->restitution > 0) bias = def->restitution * rate;
  add(d, i, sign, bias, 0, HUGE_VAL, 0);
}

/* A = J K J' + S, b = J v^ + bias */
static bool form(perp_drives *d, perp_constrained *k)
{
  const int nv = d->model->nv, n = d->n;
  for (int r = 0; r < n; r++) {
    if (!perp_constrained_response(k, d->J + r * nv, d->c, d->Y + r * nv, d->mult)) return false;
    d->b[r] += dot(nv, d->J + r * nv, k->a);
  }
  for (int r = 0; r < n; r++)
    for (int s = 0; s < n; s++)
      d->A[s + r * n] = dot(nv, d->J + s * nv, d->Y + r * nv) + (r == s ? d->w[r] : 0);
  return true;
}

bool perp_drives_step(perp_drives *d, perp_constrained *k, double h, const double *v)
{
  const perp_model *m = d->model;
  d->n = 0;
  for (int i = 0; i < m->n_drives; i++) {
    const perp_drive_def *def = &m->drive_def[i];
    const double x = perp_drive_row(m, k->e, i, d->row);
    if (def->max_force > 0) add_motor(d, i, def, x, h);
    add_limit(d, i, def, x, dot(m->nv, d->row, v), dot(m->nv, d->row, k->a), h);
  }
  memset(d->force, 0, (size_t)m->n_drives * sizeof *d->force);
  if (d->n == 0) return true;
  if (!form(d, k)) return false;
  const perp_lcp problem = {
    .n = d->n, .A = d->A, .lda = d->n, .b = d->b, .lo = d->lo, .hi = d->hi
  };
  perp_stats stats = { 0 };
  memset(d->lambda, 0, (size_t)d->n * sizeof *d->lambda);
  k->status = perp_lcp_solve(k->ctx, d->lcp, &problem, TOLERANCE, d->lambda, d->w, NULL, &stats);
  k->reason = stats.reason;
  if (k->status != PERP_OK || stats.reason < 0) return false;
  for (int r = 0; r < d->n; r++) {
    for (int i = 0; i < m->nv; i++) k->f[i] += d->lambda[r] * d->J[r * m->nv + i];
    d->force[d->owner[r]] += d->sign[r] * d->lambda[r] / h;
  }
  return perp_constrained_response(k, k->f, k->c, k->a, k->lambda);
}
