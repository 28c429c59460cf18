/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers as JSON. */
#include "experiments/answers/findings.h"

#include "experiments/results/symptoms.h"

#include <math.h>

static void entry_json(perp_json *json, const perp_answer *answer, const perp_answer_line *line,
                       int k)
{
  const perp_answer_entry *entry = &line->entry[k];
  if (entry->cell < 0 && entry->why[0] == '\0') return;
  perp_json_open(json, NULL, '{');
  perp_json_text(json, "who", answer->who[k]);
  if (entry->cell >= 0 && answer->question->kind == PERP_ASK_MOST)
    perp_json_members(json, "solved %d, asked %d, unsuited %d, proved_unsolvable %d",
                      (int)entry->value, entry->asked, entry->unsuited, entry->proved);
  else if (entry->cell >= 0)
    perp_json_real(json, "value", entry->value);
  else
    perp_json_text(json, "why", entry->why);
  if (!isnan(entry->stands)) perp_json_real(json, "stands", entry->stands);
  if (entry->floor) perp_json_bool(json, "below_floor", true);
  perp_json_bool(json, "best", entry->best);
  perp_json_close(json, '}');
}

static void answer_json(perp_json *json, const perp_answer *answer)
{
  static const char *const kinds[] = { "best", "most", "slope", "claims" };
  const perp_question *question = answer->question;
  perp_json_members(json, "kind %s, ask %s, asked %s, answer %s, basis %s, note %s, assumed? %d",
                    kinds[question->kind], question->ask, answer->asked, answer->text,
                    answer->basis, answer->note, question->assumed);
  if (question->kind == PERP_ASK_CLAIMS) return;
  perp_json_members(json, "by %s, for %s, unit %s", answer->by, answer->apart_by, answer->unit);
  perp_json_open(json, "comparisons", '[');
  for (int i = 0; i < answer->n_lines; i++) {
    const perp_answer_line *line = &answer->line[i];
    perp_json_members(json, "{ for %s, condition %s, unit %s, best: [", line->apart,
                      line->condition, line->cost ? answer->cost_unit : answer->unit);
    for (int entry = 0; entry < answer->n_who; entry++)
      if (line->entry[entry].best) perp_json_text(json, NULL, answer->who[entry]);
    perp_json_members(json, "] of: [");
    for (int k = 0; k < answer->n_who; k++) entry_json(json, answer, line, k);
    perp_json_members(json, "] }");
  }
  perp_json_close(json, ']');
}

/* Rows and columns of the table of symptoms, with what each entry is. */
static void symptoms_json(const perp_ctx *ctx, perp_results *results, perp_json *json)
{
  const perp_study *study = results->study;
  const perp_symptom_entry *entry = perp_results_symptoms(ctx, results);
  perp_json_open(json, "symptoms", '[');
  for (int i = 0; i < study->n_symptoms; i++) {
    const perp_symptom *symptom = &study->symptoms[i];
    perp_json_members(json, "{ name %s, text %s, of %s, source %s, bound %s, entries: [",
                      symptom->name, symptom->text, symptom->of, symptom->source,
                      perp_symptom_bound(&results->pool, study, symptom));
    for (int column = 0; column < study->n_symptom_columns; column++, entry++) {
      if (entry->shown == PERP_SHOWN_NOT_ASKED) continue;
      perp_json_members(json, "{ column %s, verdict %s, unsolved? %d",
                        study->symptom_columns[column].name, perp_shown_name(entry->shown),
                        entry->unsolved);
      if (!isnan(entry->value)) perp_json_real(json, "value", entry->value);
      if (entry->runs > 1) {
        perp_json_members(json, "runs %d, showing %d", entry->runs, entry->showing);
        if (!isnan(entry->least)) perp_json_real(json, "least", entry->least);
      }
      if (entry->why[0] != '\0') perp_json_text(json, "why", entry->why);
      if (entry->cell >= 0) perp_json_text(json, "cell", results->plan.cells[entry->cell].id);
      perp_json_close(json, '}');
    }
    perp_json_close(json, ']');
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
}

void perp_answers_json(const perp_ctx *ctx, perp_results *results, perp_json *json)
{
  const perp_answer *answers;
  const int n = perp_results_answers(ctx, results, &answers);
  perp_json_open(json, NULL, '{');
  perp_json_members(json, "schema %s, study %s, title %s, question %s, left_out %s",
                    "perp-answers/1", results->study->name, results->study->title,
                    results->study->question, perp_results_left_out(results));
  perp_findings_json(ctx, results, json);
  perp_json_open(json, "answers", '[');
  for (int answer = 0; answer < n; answer++) {
    perp_json_open(json, NULL, '{');
    answer_json(json, &answers[answer]);
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
  /* What the study claims and what became of it; the two sides of a comparison where the claim is
   * one. */
  const perp_claim_result *result = perp_results_claims(ctx, results);
  perp_json_open(json, "claims", '[');
  for (int claim = 0; claim < results->study->n_claims; claim++) {
    perp_json_members(json, "{ text %s, verdict %s", result[claim].claim->text,
                      perp_verdict_name(result[claim].verdict));
    if (!isnan(result[claim].left) && !isnan(result[claim].right)) {
      perp_json_real(json, "left", result[claim].left);
      perp_json_real(json, "right", result[claim].right);
    }
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
  if (results->study->n_symptoms > 0) symptoms_json(ctx, results, json);
  if (results->study->replicate.n_rows > 0) perp_replicate_json(ctx, results, json);
  perp_json_close(json, '}');
}
