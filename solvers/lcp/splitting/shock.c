/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gauss-Seidel sweeps with passes of shock propagation: bodies in layers from the ground, those
 * below as if they had infinite mass.
 *
 * Guendelman, Bridson and Fedkiw 2003 (STAR 2012, section 7.1): the graph of contacts has the
 * static bodies at its root, a body's level is its distance from there, and a contact belongs to
 * the higher level of its two bodies.  A pass goes through the layers from the ground; in each of
 * them the contacts are swept `inner` times with the bodies of lower levels as they have become,
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

enum { SHOCK_BOTH, SHOCK_UP };
static const char *const shock_passes[] = { "both", "up", NULL };

struct opts {
  int max_iter, sweeps, every, inner, pass;
  double tol;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 10000, 1, 1e9, "Maximum number of sweeps."),
  PERP_ROWS_TOL(struct opts),
  PERP_INT(struct opts, sweeps, 0, 0, 1e9,
           "Exact number of sweeps, then one pass, without convergence test. 0: iterate until tol "
           "is reached."),
  PERP_INT(struct opts, every, 10, 1, 1e9,
           "Number of sweeps between two shock propagation passes."),
  PERP_INT(struct opts, inner, 20, 1, 1e9,
           "Number of sweeps per layer in a shock propagation pass."),
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

static void shock_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  PERP_DOUBLES(a, w->R.max_n, &w->w, &w->keep, &w->before);
}

static perp_status shock_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .R.max_n = max_n, .o = *(const struct opts *)opts };
  return perp_rows_create(ctx, "shock", &like, sizeof like, shock_layout, ws);
}

static void shock_destroy(void *ws)
{
  struct ws *w = ws;
  if (w != NULL) perp_arena_free(&w->own);
  perp_rows_destroy(w);
}

/* ---- layers ---- */

static void shock_layout_blocks(struct ws *w, const perp_blocks *F, perp_arena *a)
{
  PERP_INTS(a, F->nb, &w->level, &w->queue);
  PERP_INTS(a, F->nc, &w->layer, &w->order);
  PERP_DOUBLES(a, F->joff[F->jptr[F->nc]], &w->Y);
  PERP_DOUBLES(a, F->nv, &w->v, &w->rest);
  PERP_DOUBLES(a, F->m, &w->diag);
}

/* Levels of blocks, breadth first from the ground; what does not stand on it, on level 1, too. */
static void shock_levels(struct ws *w, const perp_blocks *F)
{
  int head = 0, tail = 0;
  for (int b = 0; b < F->nb; b++) w->level[b] = 0;
  for (int c = 0; c < F->nc; c++) {
    if (F->jptr[c + 1] - F->jptr[c] != 1) continue;
    const int b = F->jblk[F->jptr[c]];
    if (w->level[b] == 0) w->queue[tail++] = b;
    w->level[b] = 1;
  }
  for (int root = 0; root < F->nb || head < tail;) {
    if (head == tail) { /* the next part of the graph without ground */
      if (w->level[root] == 0) {
        w->level[root] = 1;
        w->queue[tail++] = root;
      }
      root++;
      continue;
    }
    const int b = w->queue[head++];
    for (int t = F->tptr[b]; t < F->tptr[b + 1]; t++) {
      const int c = F->jgrp[F->tsub[t]];
      for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
        if (w->level[F->jblk[k]] == 0) {
          w->level[F->jblk[k]] = w->level[b] + 1;
          w->queue[tail++] = F->jblk[k];
        }
    }
  }
}

/* Y = M^-1 J' and the diagonal of the upper bodies. */
static void shock_rows(struct ws *w, const perp_blocks *F)
{
  for (int i = 0; i < F->m; i++) w->diag[i] = F->s != NULL ? F->s[i] : 0;
  for (int c = 0; c < F->nc; c++)
    for (int k = F->jptr[c], r = F->cptr[c + 1] - F->cptr[c]; k < F->jptr[c + 1]; k++) {
      const int b = F->jblk[k], d = F->bptr[b + 1] - F->bptr[b];
      const double *J = F->J + F->joff[k], *W = F->Minv + F->mptr[b];
      double *Y = w->Y + F->joff[k];
      for (int i = 0; i < r; i++)
        for (int q = 0; q < d; q++) {
          double sum = 0;
          for (int s = 0; s < d; s++) sum += W[q + s * d] * J[i + s * r];
          Y[i + q * r] = sum;
          if (w->level[b] == w->layer[c]) w->diag[F->cptr[c] + i] += sum * J[i + q * r];
        }
    }
  w->R.work += 6.0 * F->joff[F->jptr[F->nc]];
}

static perp_status shock_open(perp_ctx *ctx, struct ws *w)
{
  const perp_blocks *F = w->R.p->F;
  w->layers = 0;
  if (F == NULL) return PERP_OK;
  perp_arena need = { 0 };
  shock_layout_blocks(w, F, &need);
  if (need.used > w->capacity) {
    perp_arena_free(&w->own);
    w->capacity = 0;
    w->own.used = need.used;
    PERP_TRY(perp_arena_reserve(ctx, &w->own));
    w->capacity = need.used;
  }
  w->own.used = 0;
  shock_layout_blocks(w, F, &w->own);
  shock_levels(w, F);
  /* Layers of groups, from 1, and the groups in their order. */
  w->layers = 0;
  for (int c = 0; c < F->nc; c++) {
    w->layer[c] = 1;
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
      if (w->level[F->jblk[k]] > w->layer[c]) w->layer[c] = w->level[F->jblk[k]];
    if (w->layer[c] > w->layers) w->layers = w->layer[c];
  }
  int at = 0;
  for (int l = 1; l <= w->layers; l++)
    for (int c = 0; c < F->nc; c++)
      if (w->layer[c] == l) w->order[at++] = c;
  shock_rows(w, F);
  return PERP_OK;
}

/* ---- a pass ---- */

/* v of the bodies of group c that are of its layer, or of those below, += M^-1 J' of its row i
 * times change */
static void shock_push(struct ws *w, const perp_blocks *F, int c, int i, double change, bool below)
{
  const int r = F->cptr[c + 1] - F->cptr[c];
  for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) {
    const int b = F->jblk[k], d = F->bptr[b + 1] - F->bptr[b];
    if ((w->level[b] < w->layer[c]) != below) continue;
    for (int q = 0; q < d; q++) w->v[F->bptr[b] + q] += w->Y[F->joff[k] + i + q * r] * change;
  }
}

static double shock_slack(const struct ws *w, const perp_blocks *F, int c, int i,
                          const double *lambda)
{
  const int r = F->cptr[c + 1] - F->cptr[c], row = F->cptr[c] + i;
  double sum = w->R.p->b[row] + (F->s != NULL ? F->s[row] * lambda[row] : 0);
  for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) {
    const int b = F->jblk[k], d = F->bptr[b + 1] - F->bptr[b];
    const double *v = w->level[b] < w->layer[c] ? w->rest : w->v;
    for (int q = 0; q < d; q++) sum += F->J[F->joff[k] + i + q * r] * v[F->bptr[b] + q];
  }
  return sum;
}

/* The rows of group c, one after the other. */
static void shock_group(struct ws *w, const perp_blocks *F, int c, double *lambda)
{
  const perp_rows *R = &w->R;
  const int first = F->cptr[c], r = F->cptr[c + 1] - first;
  for (int i = 0; i < r; i++) {
    const int row = first + i, pair = R->type[row] == PERP_ROW_CONE ? 2 : 1;
    const double size = fmax(w->diag[row], pair == 2 ? w->diag[row + 1] : 0);
    if (!(size > 0)) { /* no body of this layer feels it */
      i += pair - 1;
      continue;
    }
    double lo, hi, x[2];
    perp_rows_bounds(R, lambda, row, &lo, &hi);
    for (int k = 0; k < pair; k++)
      x[k] = lambda[row + k] - shock_slack(w, F, c, i + k, lambda) / size;
    if (pair == 2)
      perp_disc(hi, &x[0], &x[1]);
    else
      x[0] = fmin(fmax(x[0], lo), hi);
    for (int k = 0; k < pair; k++) {
      shock_push(w, F, c, i + k, x[k] - lambda[row + k], false);
      lambda[row + k] = x[k];
    }
    i += pair - 1;
  }
}

/* v = M^-1 J' lambda */
static void shock_velocities(struct ws *w, const double *lambda)
{
  const perp_blocks *F = w->R.p->F;
  memset(w->v, 0, (size_t)F->nv * sizeof *w->v);
  for (int c = 0; c < F->nc; c++)
    for (int i = 0; i < F->cptr[c + 1] - F->cptr[c]; i++) {
      shock_push(w, F, c, i, lambda[F->cptr[c] + i], false);
      shock_push(w, F, c, i, lambda[F->cptr[c] + i], true);
    }
}

/* Groups from ... to - 1 of the order, one layer. */
static void shock_sweep(struct ws *w, int from, int to, double *lambda)
{
  for (int k = 0; k < w->o.inner; k++)
    for (int g = from; g < to; g++) shock_group(w, w->R.p->F, w->order[g], lambda);
}

static void shock_up(struct ws *w, double *lambda)
{
  const perp_blocks *F = w->R.p->F;
  shock_velocities(w, lambda);
  for (int from = 0, to; from < F->nc; from = to) {
    const int layer = w->layer[w->order[from]];
    for (to = from; to < F->nc && w->layer[w->order[to]] == layer;) to++;
    memcpy(w->rest, w->v, (size_t)F->nv * sizeof *w->v); /* below all is done */
    shock_sweep(w, from, to, lambda);
  }
}

/* Impulses for the velocities in `rest`. */
static void shock_down(struct ws *w, double *lambda)
{
  const perp_blocks *F = w->R.p->F;
  shock_velocities(w, lambda);
  for (int to = F->nc, from; to > 0; to = from) {
    const int layer = w->layer[w->order[to - 1]];
    for (from = to; from > 0 && w->layer[w->order[from - 1]] == layer;) from--;
    memcpy(w->before, lambda, (size_t)F->m * sizeof *lambda);
    shock_sweep(w, from, to, lambda);
    for (int g = from; g < to; g++)
      for (int c = w->order[g], i = 0; i < F->cptr[c + 1] - F->cptr[c]; i++)
        shock_push(w, F, c, i, lambda[F->cptr[c] + i] - w->before[F->cptr[c] + i], true);
  }
}

static void shock_pass(struct ws *w, double *lambda)
{
  const perp_blocks *F = w->R.p->F;
  const double way = (2.0 * w->o.inner + 2) * F->joff[F->jptr[F->nc]];
  w->R.work += w->o.pass == SHOCK_BOTH ? 2 * way : way;
  shock_up(w, lambda);
  if (w->o.pass == SHOCK_UP) return;
  memcpy(w->rest, w->v, (size_t)F->nv * sizeof *w->v);
  memcpy(lambda, w->keep,
         (size_t)F->m * sizeof *lambda); /* what the way up has put on others is none of it */
  shock_down(w, lambda);
}

/* ---- the method ---- */

/* A pass from lambda of residual *rel; what is better stays. */
static void shock_propose(struct ws *w, double *lambda, double *rel, perp_stats *stats)
{
  const size_t bytes = (size_t)w->R.n * sizeof *lambda;
  if (w->layers == 0) return;
  memcpy(w->keep, lambda, bytes);
  shock_pass(w, lambda);
  perp_rows_project(&w->R, lambda, lambda);
  const double now = perp_rows_rate(&w->R, lambda, w->w, stats);
  if (now < *rel)
    *rel = now;
  else
    memcpy(lambda, w->keep, bytes);
}

static perp_status shock_solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                               double *certificate, perp_stats *stats)
{
  struct ws *w = ws;
  perp_rows *R = &w->R;
  const size_t bytes = (size_t)p->n * sizeof *lambda;
  perp_no_certificate(p, certificate);
  PERP_TRY(perp_rows_prepare(ctx, R, p, 1));
  PERP_TRY(shock_open(ctx, w));
  const double tol = perp_rows_target(w->o.tol, p);
  const int most = w->o.sweeps > 0 ? w->o.sweeps : w->o.max_iter;
  perp_rows_project(R, lambda, lambda);
  double rel = perp_rows_rate(&w->R, lambda, w->w, stats);
  bool moved = true;
  for (;;) {
    PERP_TRACE(ctx, .method = "shock", .what = "sweeps", .iteration = stats->iterations,
               .entering = -1, .leaving = -1, .residual = rel, .n = p->n, .x = lambda, .w = w->w);
    stats->reason = rel <= tol       ? PERP_CONVERGED
                    : !isfinite(rel) ? PERP_NOT_FINITE
                    : stats->iterations == most
                        ? (w->o.sweeps > 0 ? PERP_SWEEPS_DONE : PERP_MAX_ITER)
                    : perp_rows_spent(R) ? PERP_MAX_ITER
                    : !moved             ? PERP_STALLED
                                         : PERP_RUNNING;
    if (stats->reason != PERP_RUNNING) break;
    memcpy(w->keep, lambda, bytes); /* the last finite one */
    perp_rows_reset(R, lambda);
    moved = false;
    for (int k = 0; k < w->o.every && stats->iterations < most && !perp_rows_spent(R); k++) {
      moved = perp_rows_sweep(R, lambda, NULL, false) != 0 || moved;
      stats->iterations++;
      stats->matvecs++;
    }
    rel = perp_rows_rate(&w->R, lambda, w->w, stats);
    if (!isfinite(rel))
      memcpy(lambda, w->keep, bytes);
    else if (rel > tol && (w->o.sweeps == 0 || stats->iterations == most) && !perp_rows_spent(R))
      shock_propose(w, lambda, &rel, stats);
  }
  stats->work = R->work;
  if (stats->reason == PERP_STALLED && R->zero_diagonal) stats->reason = PERP_UNSUITED;
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
  .cost = "The sweeps of pgs, and a pass after every 10 of them (see every). Memory: the numbers "
          "of J beyond A.",
  .counts = "Sweeps. Passes count as products.",
  .same = "pgs", /* without bodies */
};
