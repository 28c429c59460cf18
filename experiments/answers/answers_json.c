/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers as JSON. */
#include "experiments/answers/answers.h"

#include "experiments/results/symptoms.h"

#include <math.h>

static void entry_json(perp_json *j, const perp_answer *a, const perp_answer_line *line, int k)
{
  const perp_answer_entry *e = &line->entry[k];
  if (e->cell < 0 && e->why[0] == '\0') return;
  perp_json_open(j, NULL, '{');
  perp_json_text(j, "who", a->who[k]);
  if (e->cell >= 0 && a->question->kind == PERP_ASK_MOST)
    perp_json_members(j, "solved %d, asked %d, unsuited %d, proved_unsolvable %d", (int)e->value,
                      e->asked, e->unsuited, e->proved);
  else if (e->cell >= 0)
    perp_json_real(j, "value", e->value);
  else
    perp_json_text(j, "why", e->why);
  if (!isnan(e->stands)) perp_json_real(j, "stands", e->stands);
  if (e->floor) perp_json_bool(j, "below_floor", true);
  perp_json_bool(j, "best", e->best);
  perp_json_close(j, '}');
}

static void answer_json(perp_json *j, const perp_answer *a)
{
  static const char *const kinds[] = { "best", "most", "slope", "claims" };
  const perp_question *q = a->question;
  perp_json_members(j, "kind %s, ask %s, asked %s, answer %s, basis %s, note %s, assumed? %d",
                    kinds[q->kind], q->ask, a->asked, a->text, a->basis, a->note, q->assumed);
  if (q->kind == PERP_ASK_CLAIMS) return;
  perp_json_members(j, "by %s, for %s, unit %s", a->by, a->apart_by, a->unit);
  perp_json_open(j, "comparisons", '[');
  for (int i = 0; i < a->n_lines; i++) {
    const perp_answer_line *line = &a->line[i];
    perp_json_members(j, "{ for %s, condition %s, unit %s, best: [", line->apart, line->condition,
                      line->cost ? a->cost_unit : a->unit);
    for (int k = 0; k < a->n_who; k++)
      if (line->entry[k].best) perp_json_text(j, NULL, a->who[k]);
    perp_json_members(j, "] of: [");
    for (int k = 0; k < a->n_who; k++) entry_json(j, a, line, k);
    perp_json_members(j, "] }");
  }
  perp_json_close(j, ']');
}

/* Rows and columns of the table of symptoms, with what each entry is. */
static void symptoms_json(const perp_ctx *ctx, perp_results *r, perp_json *j)
{
  const perp_study *s = r->study;
  const perp_symptom_entry *e = perp_results_symptoms(ctx, r);
  perp_json_open(j, "symptoms", '[');
  for (int i = 0; i < s->n_symptoms; i++) {
    const perp_symptom *p = &s->symptoms[i];
    perp_json_members(j, "{ name %s, text %s, of %s, source %s, bound %s, entries: [", p->name,
                      p->text, p->of, p->source, perp_symptom_bound(&r->pool, s, p));
    for (int k = 0; k < s->n_symptom_columns; k++, e++) {
      if (e->shown == PERP_SHOWN_NOT_ASKED) continue;
      perp_json_members(j, "{ column %s, verdict %s, unsolved? %d", s->symptom_columns[k].name,
                        perp_shown_name(e->shown), e->unsolved);
      if (!isnan(e->value)) perp_json_real(j, "value", e->value);
      if (e->runs > 1) {
        perp_json_members(j, "runs %d, showing %d", e->runs, e->showing);
        if (!isnan(e->least)) perp_json_real(j, "least", e->least);
      }
      if (e->why[0] != '\0') perp_json_text(j, "why", e->why);
      if (e->cell >= 0) perp_json_text(j, "cell", r->plan.cells[e->cell].id);
      perp_json_close(j, '}');
    }
    perp_json_close(j, ']');
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

void perp_answers_json(const perp_ctx *ctx, perp_results *r, perp_json *j)
{
  const perp_answer *answers;
  const int n = perp_results_answers(ctx, r, &answers);
  perp_json_open(j, NULL, '{');
  perp_json_members(j, "schema %s, study %s, title %s, question %s, left_out %s", "perp-answers/1",
                    r->study->name, r->study->title, r->study->question, perp_results_left_out(r));
  perp_json_open(j, "answers", '[');
  for (int i = 0; i < n; i++) {
    perp_json_open(j, NULL, '{');
    answer_json(j, &answers[i]);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
  /* What the study claims and what became of it; the two sides of a comparison where the claim is
 * one. */
  const perp_claim_result *c = perp_results_claims(ctx, r);
  perp_json_open(j, "claims", '[');
  for (int i = 0; i < r->study->n_claims; i++) {
    perp_json_members(j, "{ text %s, verdict %s", c[i].claim->text,
                      perp_verdict_name(c[i].verdict));
    if (!isnan(c[i].left) && !isnan(c[i].right)) {
      perp_json_real(j, "left", c[i].left);
      perp_json_real(j, "right", c[i].right);
    }
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
  if (r->study->n_symptoms > 0) symptoms_json(ctx, r, j);
  if (r->study->replicate.n_rows > 0) perp_replicate_json(ctx, r, j);
  perp_json_close(j, '}');
}
