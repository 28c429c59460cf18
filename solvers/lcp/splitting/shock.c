/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gauss-Seidel sweeps with passes of shock propagation: bodies in layers from the ground, those
 * below as if they had infinite mass.
 *
 * Guendelman, Bridson and Fedkiw 2003 (STAR 2012, section 7.1): the graph of contacts has the
 * static bodies at its root, a body's level is its distance from there, and a contact belongs to
 * the higher level of its two bodies.  A pass goes through the layers from the ground; in each of
 * them the contacts are swept INNER times with the bodies of lower levels as they have become,
 *      lambda_i <- P(lambda_i - w_i / sum over upper bodies of g_ib' M_b^-1 g_ib),
 * so that what is above carries itself on what is below as on a floor.  The bodies below never feel
 * what is put on them: velocities come out, but impulses that do not add up (pass=up).  With
 * pass=both, ours, a second way from the top down looks for the impulses of these velocities: the
 * bodies of a layer feel all that is above them, those below move as the first way has left them.
 *
 * Neither solves the problem in general.  A pass is therefore a proposal: it is kept where its
 * residual is smaller than that of the sweeps, which go on from there, and what comes out is judged
 * like every answer.
 *
 * Layers come from the blocks of a factored problem: groups on one block alone stand on the ground.
 * Without blocks there are no layers, and this is pgs.  Memory beside pgs: that of J, when a
 * problem is larger than all before. */
#include "solvers/lcp/rows/rows.h"

#include <math.h>
#include <string.h>

/* Sweeps between two passes, and of a layer in a pass. */
enum { EVERY = 10, INNER = 20 };
enum { SHOCK_BOTH, SHOCK_UP };
static const char *const shock_passes[] = { "both", "up", NULL };

struct opts {
  int max_iter, sweeps, pass;
  double tol;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 10000, 1, 1e9, "Maximum number of sweeps."),
  PERP_ROWS_TOL(struct opts),
  PERP_INT(struct opts, sweeps, 0, 0, 1e9,
           "Exact number of sweeps, then one pass, without convergence test. 0: iterate until tol "
           "is reached."),
  PERP_ENUM(struct opts, pass, SHOCK_BOTH, shock_passes,
            "Shock propagation pass: both (upward for velocities, then downward for impulses), or "
            "up (upward only)."),
  PERP_OPTIONS_END
};

struct ws {
  perp_rows R; /* first */
  struct opts o;
  double *w, *keep, *before; /* [max_n] */
  perp_arena own;
  size_t capacity;
  int *level, *layer, *order, *queue; /* [nb] of blocks, [nc] of groups, groups by layer, [nb] */
  double *Y, *diag;                   /* M^-1 J' by sub-matrices, as J; [n] of the upper blocks */
  double *v, *rest;                   /* [nv] velocities; those of the bodies below */
  int layers;
};

static void shock_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->R.max_n, &work->w, &work->keep, &work->before);
}

static perp_status shock_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .R.max_n = max_n, .o = *(const struct opts *)opts };
  return perp_rows_create(ctx, "shock", &like, sizeof like, shock_layout, ws);
}

static void shock_destroy(void *ws)
{
  struct ws *work = ws;
  if (work != NULL) perp_arena_free(&work->own);
  perp_rows_destroy(work);
}

/* ---- layers ---- */

static void shock_layout_blocks(struct ws *work, const perp_blocks *blocks, perp_arena *arena)
{
  PERP_INTS(arena, blocks->nb, &work->level, &work->queue);
  PERP_INTS(arena, blocks->nc, &work->layer, &work->order);
  PERP_DOUBLES(arena, blocks->joff[blocks->jptr[blocks->nc]], &work->Y);
  PERP_DOUBLES(arena, blocks->nv, &work->v, &work->rest);
  PERP_DOUBLES(arena, blocks->m, &work->diag);
}

/* Levels of blocks, breadth first from the ground; what does not stand on it, on level 1, too. */
static void shock_levels(struct ws *work, const perp_blocks *blocks)
{
  int head = 0, tail = 0;
  for (int b = 0; b < blocks->nb; b++) work->level[b] = 0;
  for (int c = 0; c < blocks->nc; c++) {
    if (blocks->jptr[c + 1] - blocks->jptr[c] != 1) continue;
    const int b = blocks->jblk[blocks->jptr[c]];
    if (work->level[b] == 0) work->queue[tail++] = b;
    work->level[b] = 1;
  }
  for (int root = 0; root < blocks->nb || head < tail;) {
    if (head == tail) { /* the next part of the graph without ground */
      if (work->level[root] == 0) {
        work->level[root] = 1;
        work->queue[tail++] = root;
      }
      root++;
      continue;
    }
    const int b = work->queue[head++];
    for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
      const int c = blocks->jgrp[blocks->tsub[t]];
      for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++)
        if (work->level[blocks->jblk[k]] == 0) {
          work->level[blocks->jblk[k]] = work->level[b] + 1;
          work->queue[tail++] = blocks->jblk[k];
        }
    }
  }
}

/* Y = M^-1 J' and the diagonal of the upper bodies. */
static void shock_rows(struct ws *work, const perp_blocks *blocks)
{
  for (int i = 0; i < blocks->m; i++) work->diag[i] = blocks->s != NULL ? blocks->s[i] : 0;
  for (int c = 0; c < blocks->nc; c++)
    for (int k = blocks->jptr[c], r = blocks->cptr[c + 1] - blocks->cptr[c];
         k < blocks->jptr[c + 1]; k++) {
      const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
      const double *J = blocks->J + blocks->joff[k], *W = blocks->Minv + blocks->mptr[b];
      double *Y = work->Y + blocks->joff[k];
      for (int i = 0; i < r; i++)
        for (int q = 0; q < d; q++) {
          double sum = 0;
          for (int s = 0; s < d; s++) sum += W[q + s * d] * J[i + s * r];
          Y[i + q * r] = sum;
          if (work->level[b] == work->layer[c])
            work->diag[blocks->cptr[c] + i] += sum * J[i + q * r];
        }
    }
  work->R.work += 6.0 * blocks->joff[blocks->jptr[blocks->nc]];
}

static perp_status shock_open(perp_ctx *ctx, struct ws *work)
{
  const perp_blocks *blocks = work->R.p->F;
  work->layers = 0;
  if (blocks == NULL) return PERP_OK;
  perp_arena need = { 0 };
  shock_layout_blocks(work, blocks, &need);
  if (need.used > work->capacity) {
    perp_arena_free(&work->own);
    work->capacity = 0;
    work->own.used = need.used;
    PERP_TRY(perp_arena_reserve(ctx, &work->own));
    work->capacity = need.used;
  }
  work->own.used = 0;
  shock_layout_blocks(work, blocks, &work->own);
  shock_levels(work, blocks);
  /* Layers of groups, from 1, and the groups in their order. */
  work->layers = 0;
  for (int c = 0; c < blocks->nc; c++) {
    work->layer[c] = 1;
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++)
      if (work->level[blocks->jblk[k]] > work->layer[c])
        work->layer[c] = work->level[blocks->jblk[k]];
    if (work->layer[c] > work->layers) work->layers = work->layer[c];
  }
  int at = 0;
  for (int l = 1; l <= work->layers; l++)
    for (int c = 0; c < blocks->nc; c++)
      if (work->layer[c] == l) work->order[at++] = c;
  shock_rows(work, blocks);
  return PERP_OK;
}

/* ---- a pass ---- */

/* v of the bodies of group c that are of its layer, or of those below, += M^-1 J' of its row i
 * times change */
static void shock_push(struct ws *work, const perp_blocks *blocks, int c, int i, double change,
                       bool below)
{
  const int r = blocks->cptr[c + 1] - blocks->cptr[c];
  for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
    const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
    if ((work->level[b] < work->layer[c]) != below) continue;
    for (int q = 0; q < d; q++)
      work->v[blocks->bptr[b] + q] += work->Y[blocks->joff[k] + i + q * r] * change;
  }
}

static double shock_slack(const struct ws *work, const perp_blocks *blocks, int c, int i,
                          const double *lambda)
{
  const int r = blocks->cptr[c + 1] - blocks->cptr[c], row = blocks->cptr[c] + i;
  double sum = work->R.p->b[row] + (blocks->s != NULL ? blocks->s[row] * lambda[row] : 0);
  for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
    const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
    const double *v = work->level[b] < work->layer[c] ? work->rest : work->v;
    for (int q = 0; q < d; q++)
      sum += blocks->J[blocks->joff[k] + i + q * r] * v[blocks->bptr[b] + q];
  }
  return sum;
}

/* The rows of group c, one after the other. */
static void shock_group(struct ws *work, const perp_blocks *blocks, int c, double *lambda)
{
  const perp_rows *rows = &work->R;
  const int first = blocks->cptr[c], r = blocks->cptr[c + 1] - first;
  for (int i = 0; i < r; i++) {
    const int row = first + i, pair = rows->type[row] == PERP_ROW_CONE ? 2 : 1;
    const double size = fmax(work->diag[row], pair == 2 ? work->diag[row + 1] : 0);
    if (!(size > 0)) { /* no body of this layer feels it */
      i += pair - 1;
      continue;
    }
    double lo, hi, x[2];
    perp_rows_bounds(rows, lambda, row, &lo, &hi);
    for (int k = 0; k < pair; k++)
      x[k] = lambda[row + k] - shock_slack(work, blocks, c, i + k, lambda) / size;
    if (pair == 2)
      perp_disc(hi, &x[0], &x[1]);
    else
      x[0] = fmin(fmax(x[0], lo), hi);
    for (int k = 0; k < pair; k++) {
      shock_push(work, blocks, c, i + k, x[k] - lambda[row + k], false);
      lambda[row + k] = x[k];
    }
    i += pair - 1;
  }
}

/* v = M^-1 J' lambda */
static void shock_velocities(struct ws *work, const double *lambda)
{
  const perp_blocks *blocks = work->R.p->F;
  memset(work->v, 0, (size_t)blocks->nv * sizeof *work->v);
  for (int c = 0; c < blocks->nc; c++)
    for (int i = 0; i < blocks->cptr[c + 1] - blocks->cptr[c]; i++) {
      shock_push(work, blocks, c, i, lambda[blocks->cptr[c] + i], false);
      shock_push(work, blocks, c, i, lambda[blocks->cptr[c] + i], true);
    }
}

/* Groups from ... to - 1 of the order, one layer. */
static void shock_sweep(struct ws *work, int from, int to, double *lambda)
{
  for (int k = 0; k < INNER; k++)
    for (int g = from; g < to; g++) shock_group(work, work->R.p->F, work->order[g], lambda);
}

static void shock_up(struct ws *work, double *lambda)
{
  const perp_blocks *blocks = work->R.p->F;
  shock_velocities(work, lambda);
  for (int from = 0, to; from < blocks->nc; from = to) {
    const int layer = work->layer[work->order[from]];
    for (to = from; to < blocks->nc && work->layer[work->order[to]] == layer;) to++;
    memcpy(work->rest, work->v, (size_t)blocks->nv * sizeof *work->v); /* below all is done */
    shock_sweep(work, from, to, lambda);
  }
}

/* Impulses for the velocities in `rest`. */
static void shock_down(struct ws *work, double *lambda)
{
  const perp_blocks *blocks = work->R.p->F;
  shock_velocities(work, lambda);
  for (int to = blocks->nc, from; to > 0; to = from) {
    const int layer = work->layer[work->order[to - 1]];
    for (from = to; from > 0 && work->layer[work->order[from - 1]] == layer;) from--;
    memcpy(work->before, lambda, (size_t)blocks->m * sizeof *lambda);
    shock_sweep(work, from, to, lambda);
    for (int g = from; g < to; g++)
      for (int c = work->order[g], i = 0; i < blocks->cptr[c + 1] - blocks->cptr[c]; i++)
        shock_push(work, blocks, c, i,
                   lambda[blocks->cptr[c] + i] - work->before[blocks->cptr[c] + i], true);
  }
}

static void shock_pass(struct ws *work, double *lambda)
{
  const perp_blocks *blocks = work->R.p->F;
  const double way = (2.0 * INNER + 2) * blocks->joff[blocks->jptr[blocks->nc]];
  work->R.work += work->o.pass == SHOCK_BOTH ? 2 * way : way;
  shock_up(work, lambda);
  if (work->o.pass == SHOCK_UP) return;
  memcpy(work->rest, work->v, (size_t)blocks->nv * sizeof *work->v);
  memcpy(lambda, work->keep,
         (size_t)blocks->m * sizeof *lambda); /* what the way up has put on others is none of it */
  shock_down(work, lambda);
}

/* ---- the method ---- */

/* A pass from lambda of residual *rel; what is better stays. */
static void shock_propose(struct ws *work, double *lambda, double *rel, perp_stats *stats)
{
  const size_t bytes = (size_t)work->R.n * sizeof *lambda;
  if (work->layers == 0) return;
  memcpy(work->keep, lambda, bytes);
  shock_pass(work, lambda);
  perp_rows_project(&work->R, lambda, lambda);
  const double now = perp_rows_rate(&work->R, lambda, work->w, stats);
  if (now < *rel)
    *rel = now;
  else
    memcpy(lambda, work->keep, bytes);
}

static perp_status shock_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                               double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_rows *rows = &work->R;
  const size_t bytes = (size_t)lcp->n * sizeof *lambda;
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_rows_prepare(ctx, rows, lcp, 1));
  PERP_TRY(shock_open(ctx, work));
  const double tol = perp_rows_target(work->o.tol, lcp);
  const int most = work->o.sweeps > 0 ? work->o.sweeps : work->o.max_iter;
  perp_rows_project(rows, lambda, lambda);
  double rel = perp_rows_rate(&work->R, lambda, work->w, stats);
  bool moved = true;
  for (;;) {
    PERP_TRACE(ctx, .method = "shock", .what = "sweeps", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .residual = rel, .n = lcp->n, .x = lambda,
               .w = work->w);
    stats->reason = rel <= tol       ? PERP_CONVERGED
                    : !isfinite(rel) ? PERP_NOT_FINITE
                    : stats->iterations == most
                        ? (work->o.sweeps > 0 ? PERP_SWEEPS_DONE : PERP_MAX_ITER)
                    : perp_rows_spent(rows) ? PERP_MAX_ITER
                    : !moved                ? PERP_STALLED
                                            : PERP_RUNNING;
    if (stats->reason != PERP_RUNNING) break;
    memcpy(work->keep, lambda, bytes); /* the last finite one */
    perp_rows_reset(rows, lambda);
    moved = false;
    for (int k = 0; k < EVERY && stats->iterations < most && !perp_rows_spent(rows); k++) {
      moved = perp_rows_sweep(rows, lambda, NULL, false) != 0 || moved;
      stats->iterations++;
      stats->matvecs++;
    }
    rel = perp_rows_rate(&work->R, lambda, work->w, stats);
    if (!isfinite(rel))
      memcpy(lambda, work->keep, bytes);
    else if (rel > tol && (work->o.sweeps == 0 || stats->iterations == most) &&
             !perp_rows_spent(rows))
      shock_propose(work, lambda, &rel, stats);
  }
  stats->work = rows->work;
  if (stats->reason == PERP_STALLED && rows->zero_diagonal) stats->reason = PERP_UNSUITED;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_shock = {
  .d = { .name = "shock",
         .summary = "Gauss-Seidel sweeps with shock propagation through layers of bodies from the "
                    "ground up, matrix-free",
         .reference = "Guendelman, Bridson & Fedkiw 2003 (STAR 2012, section 7.1)",
         .equation = "lambda_i = P(lambda_i - w_i / sum over upper bodies of g_ib' M_b^-1 g_ib), "
                     "layer after layer",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_ROWS_CAPS | PERP_LCP_BY_ROWS },
  .create = shock_create,
  .solve = shock_solve,
  .destroy = shock_destroy,
  .serves = "Every problem that pgs serves. The passes help if bodies stand on each other. A dense "
            "A has no bodies and therefore no layers.",
  .ties = "None: sweeps in the order of the rows, without pivots.",
  .cost = "The sweeps of pgs, and a pass after every 10 of them. Memory: the numbers "
          "of J beyond A.",
  .counts = "Sweeps. Passes count as products.",
  .same = "pgs", /* without bodies */
};
