/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/stop_cause.h"

#include "models/multibody/model_private.h"

#include <lapacke.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_MOST = 600 }; /* of which the rank is counted */
/* Pivots of J M^-1 J' with diagonals 1 below this are of dependent rows; the rank_tol that is recommended. */
static const double DEPENDENT = 1e-8;

typedef struct stop_rank {
  const perp_model *model;
  perp_eval eval;
  double *A, *scratch; /* [m m], [6 m] */
  int *pivots;         /* [m] */
} stop_rank;

static void stop_cause_layout(void *ws, perp_arena *a)
{
  stop_rank *r = ws;
  const size_t m = (size_t)r->model->m;
  perp_eval_layout(&r->eval, r->model, a);
  r->A = PERP_CARVE(a, double, m *m);
  PERP_DOUBLES(a, 6 * m, &r->scratch);
  PERP_INTS(a, m, &r->pivots);
}

/* Rows of J that depend on others at (t, q); 0 where that is not known. */
static int stop_cause_redundant(const perp_model *model, double t, const double *q)
{
  const int m = model->m;
  perp_ctx ctx;
  void *ws;
  perp_ctx_init(&ctx);
  stop_rank like = { .model = model };
  if (m == 0 || m > ROWS_MOST ||
      perp_workspace_create(&ctx, "rank", &like, sizeof like, stop_cause_layout, &ws) != PERP_OK)
    return 0;
  stop_rank *r = ws;
  perp_eval_init(&r->eval, model);
  perp_eval_at(&r->eval, model, t, q);
  perp_blocks rigid = r->eval.blocks;
  rigid.s = NULL;
  perp_blocks_delassus(&rigid, r->A, m, r->scratch);
  bool zero = false;
  for (int i = 0; i < m; i++) {
    const double d = r->A[(size_t)i * (size_t)m + (size_t)i];
    zero |= !(d > 0);
    r->scratch[i] = 1 / sqrt(d);
  }
  for (int j = 0; j < m && !zero; j++)
    for (int i = 0; i < m; i++)
      r->A[(size_t)j * (size_t)m + (size_t)i] *= r->scratch[i] * r->scratch[j];
  int rank = m;
  if (!zero)
    LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', m, r->A, m, r->pivots, &rank, DEPENDENT, r->scratch);
  free(r);
  return m - rank;
}

static int stop_cause_add(char *text, int at, const char *more)
{
  return at + (at < PERP_STOP_CAUSE
                   ? snprintf(text + at, (size_t)(PERP_STOP_CAUSE - at), "%s", more)
                   : 0);
}

void perp_stop_cause(const perp_model *model, const perp_desc *formulation, const perp_desc *ode,
                     const perp_desc *kkt, double h, double t, const double *q, perp_reason reason,
                     char *text)
{
  const bool rows = reason == PERP_INFEASIBLE || reason == PERP_SINGULAR;
  char part[200];
  text[0] = '\0';
  if (reason == PERP_INACCURATE && ode == NULL && model->m > 0) {
    snprintf(text, PERP_STOP_CAUSE,
             "formulation %s did not find the joint forces of bodies of very different mass; use "
             "joint coordinates (--formulation reduced)",
             formulation->name);
    return;
  }
  if (reason != PERP_MAX_ITER && !rows) return;
  const int redundant = stop_cause_redundant(model, t, q);
  int at = 0;
  if (reason == PERP_MAX_ITER) {
    snprintf(part, sizeof part, "the iteration of %s %s did not converge in a step of %.4g s; ",
             ode != NULL ? "ode" : "formulation", ode != NULL ? ode->name : formulation->name, h);
    at = stop_cause_add(text, at, part);
  } else if (redundant == 0) {
    snprintf(part, sizeof part,
             "the constraint rows of the step have no solution at this position; ");
    at = stop_cause_add(text, at, part);
  }
  if (redundant > 0) {
    snprintf(part, sizeof part, "%d of %d constraint rows depend on others%s; ", redundant,
             model->m, rows ? " and contradict them by their error" : "");
    at = stop_cause_add(text, at, part);
  }
  if (redundant > 0 && kkt != NULL && rows) {
    stop_cause_add(text, at, "use --kkt schur-svd:rank_tol=1e-8");
  } else if (ode != NULL && (redundant > 0 || (formulation->caps & PERP_FORM_EXACT_JOINTS))) {
    /* Accelerations jump with the rank that is decided, and momenta of joint coordinates may have no velocity,
     * however short the step is. */
    stop_cause_add(text, at, "use an explicit method (--ode rk4)");
  } else {
    snprintf(part, sizeof part, "use a shorter step (--h %.2gs)", h / 10);
    stop_cause_add(text, at, part);
  }
}
