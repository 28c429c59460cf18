/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was recorded of a pivoting method as JSON: of the pages of lessons and of the playground. */
#include "experiments/lessons/pivots_json.h"

#include <math.h>

void perp_pivots_put_reals(perp_json *j, const char *key, const double *v, int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++) perp_json_real(j, NULL, v[i]);
  perp_json_close(j, ']');
}

static void pivots_put_variables(perp_json *j, const perp_lcp *l, const char *key, const int *v,
                                 int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++)
    perp_json_text(j, NULL, perp_variable_name(l->n, v[i], (char[16]){ 0 }));
  perp_json_close(j, ']');
}

static void pivots_put_tableau_of(perp_json *j, const perp_lcp *l, const perp_pivot_frame *f)
{
  const perp_tableau *t = &f->tableau;
  if (t->columns == 0) return;
  perp_json_open(j, "tableau", '{');
  pivots_put_variables(j, l, "basic", t->basic, l->n);
  pivots_put_variables(j, l, "nonbasic", t->nonbasic, t->columns);
  perp_pivots_put_reals(j, "constant", t->constant, l->n);
  perp_json_open(j, "T", '[');
  for (int i = 0; i < l->n; i++) perp_pivots_put_reals(j, NULL, t->T[i], t->columns);
  perp_json_close(j, ']');
  perp_json_members(j, "enters %d, leaves %d, sign %g", f->enters, f->leaves, f->sign);
  perp_pivots_put_reals(j, "ratio", f->ratio, l->n);
  perp_json_close(j, '}');
}

static void pivots_put_frame(perp_json *j, const perp_pivots *r, int k)
{
  const perp_pivot_frame *f = &r->frame[k];
  int n = r->problem.n;
  perp_text said = { 0 };
  perp_pivot_describe(r, k, &said);
  perp_json_members(j, "{ what %s, text %s, row %d", f->what, said.s, f->row);
  perp_pivots_put_reals(j, "lambda", f->lambda, n);
  perp_pivots_put_reals(j, "w", f->w, n);
  if (!isnan(f->t)) perp_json_real(j, "t", f->t);
  perp_json_open(j, "set", '[');
  for (int i = 0; i < n; i++) perp_json_text(j, NULL, perp_set_name(f->set[i]));
  perp_json_close(j, ']');
  pivots_put_tableau_of(j, &r->problem, f);
  perp_json_close(j, '}');
  perp_text_free(&said);
}

void perp_pivots_put_run(perp_json *j, const perp_pivots *r, int variant)
{
  perp_json_members(
      j, "{ solver %s, method %s, variant %d, reason %s, events %d, iterations %d, proved? %d",
      r->solver, r->method, variant, perp_reason_name(r->stats.reason), r->n_events,
      r->stats.iterations, r->certified && r->proof == PERP_PROOF_INFEASIBLE);
  perp_json_open(j, "frames", '[');
  for (int k = 0; k < r->n_frames; k++) pivots_put_frame(j, r, k);
  perp_json_close(j, ']');
  perp_json_close(j, '}');
}
