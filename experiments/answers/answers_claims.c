/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer to `claims: all`: what became of the claims of a study, and of the statements of
 * documents. */
#include "experiments/answers/answers_parts.h"

#include "experiments/results/replicate.h"

static void claims_add(struct answering *w, const char **text, const char *more)
{
  *text = perp_pool_printf(&w->r->pool, "%s%s%s", *text, (*text)[0] ? " " : "", more);
}

/* Statements of documents, and which of the declared verdicts the runs do not confirm. */
static void claims_replicate(struct answering *w)
{
  const perp_study *s = w->r->study;
  const perp_replicate_result *list = perp_results_replicate(w->ctx, w->r);
  const perp_replicate_count count = perp_replicate_counted(s, list, -1);
  claims_add(w, &w->a->text,
             perp_pool_printf(&w->r->pool, "Of %d statements: %s.", count.rows,
                              perp_replicate_count_text(&w->r->pool, &count)));
  for (int i = 0; i < s->replicate.n_rows; i++)
    if (!list[i].confirmed)
      claims_add(w, &w->a->text,
                 perp_pool_printf(&w->r->pool, "Refuted: %s, %s: declared %s, but %s.",
                                  s->replicate.paper[list[i].row->paper], list[i].row->at,
                                  perp_replicated_names[list[i].row->declared], list[i].why));
}

void answers_say_claims(struct answering *w)
{
  const int n = w->r->study->n_claims;
  w->a->asked = "Claims of the study";
  if (n == 0) {
    w->a->text = "";
    if (w->r->study->replicate.n_rows > 0)
      claims_replicate(w);
    else
      w->a->text = "The study makes no claims with this profile.";
    return;
  }
  const perp_claim_result *c = perp_results_claims(w->ctx, w->r);
  int count[3] = { 0 };
  for (int i = 0; i < n; i++) count[c[i].verdict]++;
  w->a->text = count[PERP_CLAIM_PROVED] == n
                   ? perp_pool_printf(&w->r->pool,
                                      n == 1 ? "The claim of the study is proved."
                                             : "All %d claims of the study are proved.",
                                      n)
                   : perp_pool_printf(&w->r->pool,
                                      "%d of %d claims are proved, %d refuted, %d undecided.",
                                      count[PERP_CLAIM_PROVED], n, count[PERP_CLAIM_REFUTED],
                                      count[PERP_CLAIM_UNDECIDED]);
  for (int i = 0; i < n; i++)
    if (c[i].verdict != PERP_CLAIM_PROVED)
      claims_add(w, &w->a->text,
                 perp_pool_printf(&w->r->pool, "%s: %s.",
                                  c[i].verdict == PERP_CLAIM_REFUTED ? "Refuted" : "Undecided",
                                  c[i].claim->text));
  if (w->r->study->replicate.n_rows > 0) claims_replicate(w);
}
