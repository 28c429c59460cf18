/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was recorded of a pivoting method as JSON: of the pages of lessons and of the playground. */
#include "experiments/lessons/pivots_json.h"

#include <math.h>

void perp_pivots_put_reals(perp_json *json, const char *key, const double *v, int n)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < n; i++) perp_json_real(json, NULL, v[i]);
  perp_json_close(json, ']');
}

static void pivots_put_variables(perp_json *json, const perp_lcp *lcp, const char *key,
                                 const int *v, int n)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < n; i++)
    perp_json_text(json, NULL, perp_variable_name(lcp->n, v[i], (char[16]){ 0 }));
  perp_json_close(json, ']');
}

static void pivots_put_tableau_of(perp_json *json, const perp_lcp *lcp,
                                  const perp_pivot_frame *frame)
{
  const perp_tableau *tableau = &frame->tableau;
  if (tableau->columns == 0) return;
  perp_json_open(json, "tableau", '{');
  pivots_put_variables(json, lcp, "basic", tableau->basic, lcp->n);
  pivots_put_variables(json, lcp, "nonbasic", tableau->nonbasic, tableau->columns);
  perp_pivots_put_reals(json, "constant", tableau->constant, lcp->n);
  perp_json_open(json, "T", '[');
  for (int i = 0; i < lcp->n; i++)
    perp_pivots_put_reals(json, NULL, tableau->T[i], tableau->columns);
  perp_json_close(json, ']');
  perp_json_members(json, "enters %d, leaves %d, sign %g", frame->enters, frame->leaves,
                    frame->sign);
  perp_pivots_put_reals(json, "ratio", frame->ratio, lcp->n);
  perp_json_close(json, '}');
}

static void pivots_put_frame(perp_json *json, const perp_pivots *pivots, int k)
{
  const perp_pivot_frame *frame = &pivots->frame[k];
  int n = pivots->problem.n;
  perp_text said = { 0 };
  perp_pivot_describe(pivots, k, &said);
  perp_json_members(json, "{ what %s, text %s, row %d", frame->what, said.s, frame->row);
  perp_pivots_put_reals(json, "lambda", frame->lambda, n);
  perp_pivots_put_reals(json, "w", frame->w, n);
  if (!isnan(frame->t)) perp_json_real(json, "t", frame->t);
  perp_json_open(json, "set", '[');
  for (int i = 0; i < n; i++) perp_json_text(json, NULL, perp_set_name(frame->set[i]));
  perp_json_close(json, ']');
  pivots_put_tableau_of(json, &pivots->problem, frame);
  perp_json_close(json, '}');
  perp_text_free(&said);
}

void perp_pivots_put_run(perp_json *json, const perp_pivots *pivots, int variant)
{
  perp_json_members(
      json, "{ solver %s, method %s, variant %d, reason %s, events %d, iterations %d, proved? %d",
      pivots->solver, pivots->method, variant, perp_reason_name(pivots->stats.reason),
      pivots->n_events, pivots->stats.iterations,
      pivots->certified && pivots->proof == PERP_PROOF_INFEASIBLE);
  perp_json_open(json, "frames", '[');
  for (int frame = 0; frame < pivots->n_frames; frame++) pivots_put_frame(json, pivots, frame);
  perp_json_close(json, ']');
  perp_json_close(json, '}');
}
