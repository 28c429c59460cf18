/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a study found out, as members of report.json: the answers, tables and verdicts that terminal
 * and LaTeX print too.  The page only lays them out. */
#include "experiments/base/messages.h"
#include "experiments/base/files.h"
#include "experiments/answers/findings.h"
#include "experiments/report/page.h"
#include "experiments/results/endings.h"
#include "experiments/results/replicate.h"
#include "experiments/results/symptoms.h"
#include "experiments/results/warned.h"
#include "experiments/study/words.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

static void findings_answer(perp_page *page, perp_json *json, const perp_answer *answer)
{
  perp_json_members(json, "{ ask %s, asked %s, text %s, basis %s, note %s", answer->question->ask,
                    answer->asked, answer->text, answer->basis, answer->note);
  perp_json_members(json, "counted? %d, by %s, apart_by %s",
                    answer->question->kind == PERP_ASK_MOST, answer->n_lines > 0 ? answer->by : "",
                    answer->n_lines > 0 ? answer->apart_by : "");
  perp_json_texts(json, "who", answer->who, answer->n_who);
  perp_json_open(json, "lines", '[');
  for (int i = 0; i < answer->n_lines; i++) {
    const perp_answer_line *line = &answer->line[i];
    perp_json_members(json,
                      "{ apart %s, brief %s, limit %s, condition %s, words %s, who %s, second %s",
                      line->apart, line->brief, line->limit, line->condition, line->words,
                      line->who, line->second);
    perp_json_real(json, "value", line->value);
    perp_json_real(json, "next", line->next);
    perp_json_open(json, "entries", '[');
    for (int k = 0; k < answer->n_who; k++) {
      const perp_answer_entry *entry = &line->entry[k];
      perp_json_members(json, "{ text %s, class %s }",
                        perp_answer_entry_text(&page->pool, answer, entry),
                        entry->best                                             ? "best"
                        : entry->cell >= 0                                      ? ""
                        : strcmp(entry->why, "unsuited") == 0 || !entry->why[0] ? "unsuited"
                                                                                : "mark");
    }
    perp_json_members(json, "] }");
  }
  perp_json_members(json, "] }");
}

static void findings_answers(perp_page *page, perp_json *json)
{
  const perp_answer *answer;
  const int n = perp_results_answers(page->ctx, page->results, &answer);
  perp_json_open(json, "answers", '[');
  for (int i = 0; i < n; i++) findings_answer(page, json, &answer[i]);
  perp_json_members(json, "] left_out %s, counts: {", perp_results_left_out(page->results));
  for (int s = 0; s < PERP_CELL_STATUSES; s++)
    if (page->results->count[s] > 0)
      perp_json_int(json, perp_cell_status_names[s], page->results->count[s]);
  perp_json_members(json, "} proved %d, schema_1 %d, accept_unsolved %g",
                    perp_results_proved(page->results), page->results->as_recorded,
                    page->study->accept.unsolved);
}

static void findings_claims(perp_page *page, perp_json *json)
{
  const int n = page->study->n_claims;
  perp_json_open(json, "claims", '[');
  if (n > 0) {
    const perp_claim_result *result = perp_results_claims(page->ctx, page->results);
    for (int i = 0; i < n; i++) {
      const perp_claim_result *claim_result = &result[i];
      const bool absent = perp_expr_absent(claim_result->claim->expr) != NULL;
      perp_json_members(json, "{ text %s, test %s, verdict %s, sides %s", claim_result->claim->text,
                        claim_result->claim->expr_text, perp_verdict_name(claim_result->verdict),
                        absent ? perp_claim_sides(&page->results->pool, claim_result) : "");
      perp_json_bool(json, "proved", claim_result->verdict == PERP_CLAIM_PROVED);
      perp_json_real(json, "measured", claim_result->left);
      perp_json_close(json, '}');
    }
  }
  perp_json_close(json, ']');
}

/* ---- tables of some studies ---- */

static void findings_symptoms(perp_page *page, perp_json *json)
{
  static const char *const colour[] = {
    [PERP_SHOWN_NOT_ASKED] = "",       [PERP_SHOWN_NO] = "",
    [PERP_SHOWN_YES] = "bad",          [PERP_SHOWN_DEPENDS] = "mark",
    [PERP_SHOWN_NOTHING] = "unsuited", [PERP_SHOWN_UNSUITED] = "unsuited",
    [PERP_SHOWN_FAILED] = "mark",      [PERP_SHOWN_NOT_RUN] = "unsuited"
  };
  const perp_study *study = page->study;
  if (study->n_symptoms == 0) return;
  const perp_symptom_entry *entry = perp_results_symptoms(page->ctx, page->results);
  perp_json_members(json, "symptoms: { columns: [");
  for (int column = 0; column < study->n_symptom_columns; column++)
    perp_json_members(json, "{ name %s, text %s }", study->symptom_columns[column].name,
                      study->symptom_columns[column].text);
  perp_json_members(json, "] rows: [");
  for (int symptom = 0; symptom < study->n_symptoms; symptom++) {
    const perp_symptom *p = &study->symptoms[symptom];
    perp_json_members(json, "{ text %s, of %s, source %s, link %s, bound %s, entries: [", p->text,
                      p->of, p->source, perp_symptom_link(&page->pool, p->source),
                      perp_symptom_bound(&page->pool, study, p));
    for (int column = 0; column < study->n_symptom_columns; column++, entry++) {
      perp_json_members(json, "{ verdict %s, class %s, why %s, runs %d, showing %d, unsolved? %d",
                        perp_shown_name(entry->shown), colour[entry->shown], entry->why,
                        entry->runs, entry->showing, entry->unsolved);
      perp_json_members(json, "measured? %d, shown? %d, depends? %d",
                        entry->shown == PERP_SHOWN_YES || entry->shown == PERP_SHOWN_NO ||
                            entry->shown == PERP_SHOWN_DEPENDS,
                        entry->shown == PERP_SHOWN_YES, entry->shown == PERP_SHOWN_DEPENDS);
      perp_json_real(json, "value", entry->value);
      perp_json_real(json, "least", entry->least);
      perp_json_close(json, '}');
    }
    perp_json_members(json, "] }");
  }
  perp_json_members(json, "] }");
}

static void findings_replicate(perp_page *page, perp_json *json)
{
  const perp_replicate *all = &page->study->replicate;
  if (all->n_rows == 0) return;
  const perp_replicate_result *list = perp_results_replicate(page->ctx, page->results);
  perp_json_open(json, "replicate", '[');
  for (int paper = 0; paper < all->n_papers; paper++) {
    const perp_replicate_count count = perp_replicate_counted(page->study, list, paper);
    if (count.rows == 0) continue;
    perp_json_members(json, "{ paper %s, count %s, rows: [", all->paper[paper],
                      perp_replicate_count_text(&page->pool, &count));
    for (int i = 0; i < all->n_rows; i++) {
      static const char *const colour[] = { "good", "bad", "mark" };
      const perp_replicate_result *result = &list[i];
      const perp_replicate_row *row = result->row;
      if (row->paper != paper) continue;
      perp_json_members(json, "{ at %s, states %s, printed %s, derived %s, reading %s, missing %s",
                        row->at, row->states, row->printed, row->derived, row->reading,
                        row->missing);
      perp_json_members(json, "test %s, evidence %s, wrong_condition %s, stated %s, measured %s",
                        row->measured_text, row->evidence_text, row->twin_text,
                        perp_replicate_stated_text(&page->pool, row),
                        perp_replicate_measured_text(&page->pool, result));
      perp_json_members(json, "verdict %s, class %s, confirmed? %d, declared %s, why %s }",
                        perp_replicate_word(result),
                        result->confirmed ? colour[result->verdict] : "bad", result->confirmed,
                        perp_replicated_names[row->declared], result->why);
    }
    perp_json_members(json, "] }");
  }
  perp_json_close(json, ']');
}

/* The best of each curve, as \perpSummary of tables.tex shows them too. */
static void findings_summary(perp_page *page, perp_json *json)
{
  enum { MOST = 40, COLUMNS = 24 };
  if (!perp_page_has(page, page->study->metrics.primary) || perp_page_has_problems(page)) return;
  int row[MOST];
  const char *shown[COLUMNS];
  const int n = perp_page_ranked(page, row, MOST),
            columns = perp_page_shown_metrics(page, shown, COLUMNS);
  const double x = perp_page_shown_x(page);
  perp_json_open(json, "summary", '{');
  perp_json_bool(json, "complete", n < MOST);
  perp_json_text(json, "abscissa", isnan(x) ? "" : perp_page_abscissa(page));
  perp_json_real(json, "x", x);
  const char *label[MOST];
  perp_json_text(json, "constant", perp_page_labels(page, row, n, label));
  perp_json_texts(json, "metrics", shown, columns);
  perp_json_open(json, "rows", '[');
  for (int i = 0; i < n; i++) {
    perp_json_members(json, "{ run %d, label %s, mark %s", row[i], label[i],
                      perp_view_mark(&page->pool, &page->view, row[i]));
    perp_json_open(json, "values", '[');
    for (int column = 0; column < columns; column++)
      perp_json_real(json, NULL, perp_page_value(page, row[i], shown[column]));
    perp_json_members(json, "] best: [");
    for (int column = 0; column < columns; column++)
      perp_json_bool(json, NULL, perp_page_best_of_scene(page, row, n, i, shown[column]));
    perp_json_members(json, "] }");
  }
  perp_json_members(json, "] }");
}

/* Published figures beside ours, a row for each choice of what the source leaves open. */
static void findings_published(perp_page *page, perp_json *json)
{
  const perp_study *study = page->study;
  int *row = perp_pool_alloc(&page->pool, (size_t)page->results->plan.n + 1, sizeof *row);
  perp_json_open(json, "published", '[');
  for (int published = 0; published < study->n_published; published++) {
    const char *metric = study->published[published].metric;
    perp_json_members(json, "{ metric %s, words %s, source %s, where %s", metric,
                      perp_page_title(page, metric), study->published[published].source,
                      study->published[published].where_text);
    perp_json_real(json, "value", study->published[published].value);
    perp_json_ints(json, "cells", row, perp_page_published_cells(page, published, row));
    perp_json_close(json, '}');
  }
  perp_json_members(json, "] variants: [");
  perp_variant *variant;
  const int n = study->n_published == 0 ? 0
                                        : perp_results_variants(page->ctx, page->results, &variant);
  for (int v = 0; v < n; v++) {
    perp_json_members(json, "{ label %s", variant[v].label);
    perp_json_real(json, "factor", pow(10, variant[v].mismatch));
    perp_json_open(json, "values", '[');
    for (int published = 0; published < study->n_published; published++) {
      const int cell = variant[v].cell[published];
      if (cell >= 0 && !perp_results_wins(page->results, cell))
        perp_json_text(json, NULL, perp_cell_status_names[page->results->record[cell].status]);
      else
        perp_json_real(json, NULL,
                       cell < 0 ? (double)NAN
                                : perp_page_value(page, cell, study->published[published].metric));
    }
    perp_json_members(json, "] }");
  }
  perp_json_close(json, ']');
}

/* failure-matrix(PART): the worst ending of each part on each scene. */
static void findings_endings(perp_page *page, perp_json *json)
{
  perp_endings endings;
  if (!perp_results_endings(page->results, &endings)) return;
  perp_json_members(json, "endings: { part %s", endings.part);
  perp_json_texts(json, "rows", endings.rows.text, endings.rows.n);
  perp_json_texts(json, "scenes", endings.scenes.text, endings.scenes.n);
  perp_json_open(json, "fields", '['); /* row by row; null: nothing was run */
  for (int k = 0; k < endings.rows.n * endings.scenes.n; k++) {
    const perp_ending *ending = &endings.at[k];
    if (ending->worst == PERP_CELL_PLANNED)
      perp_json_raw(json, NULL, "null");
    else
      perp_json_members(json, "{ status %s, n %d, of %d, run %d, failed? %d }",
                        perp_cell_status_names[ending->worst], ending->n, ending->of, ending->cell,
                        ending->worst > PERP_CELL_FIXED_WORK);
  }
  perp_json_members(json, "] }");
}

static void findings_warnings(perp_page *page, perp_json *json)
{
  perp_tally warnings;
  const char **text = perp_results_warnings(page->results, &page->pool, &warnings);
  perp_json_open(json, "warnings", '[');
  for (int k = 0; k < warnings.n; k++)
    perp_json_members(json, "{ n %d, text %s, run %d }", warnings.count[k].n, text[k],
                      warnings.count[k].first);
  perp_json_close(json, ']');
  free(warnings.count);
}

/* ---- what was used ---- */

/* Is this text the plug-in `name`, with options or without? */
static bool findings_plugin(const char *text, const char *name)
{
  size_t n = strlen(name);
  if (strncmp(text, name, n) != 0) return false;
  return text[n] == '\0' || (text[n] == ':' && strcspn(text + n, "=") < strlen(text + n));
}

static void findings_card(perp_json *json, perp_kind kind, const perp_desc *desc)
{
  perp_json_members(json, "{ kind %s, name %s, summary %s, equation %s, reference %s, options: [",
                    perp_kind_name(kind), desc->name, desc->summary, desc->equation,
                    desc->reference);
  for (const perp_opt *option = desc->opts; option != NULL && option->type != PERP_OPT_END;
       option++) {
    char range[256];
    perp_opt_range(option, range, sizeof range);
    perp_json_members(json, "{ key %s, range %s, unit %s, help %s }", option->key, range,
                      option->unit, option->help);
  }
  perp_json_members(json, "] }");
}

static void findings_methods(perp_page *page, perp_json *json)
{
  const perp_cell_kind *kind = page->study->kind;
  perp_json_open(json, "methods", '[');
  for (int param = 0; param < perp_kind_params(kind); param++) {
    if (kind->params[param].type != PERP_PARAM_PLUGIN) continue;
    const perp_desc *desc;
    for (int i = 0; (desc = perp_plugin_at(page->ctx, kind->params[param].plugin, i)) != NULL; i++)
      for (int cell = 0; cell < page->results->plan.n; cell++)
        if (findings_plugin(perp_view_text(&page->view, cell, param), desc->name)) {
          findings_card(json, kind->params[param].plugin, desc);
          break;
        }
  }
  perp_json_members(json, "] definitions: [");
  for (int i = 0; i < page->study->metrics.n_record; i++) {
    const perp_metric *metric = perp_study_metric(page->study, page->study->metrics.record[i]);
    double least, most;
    if (metric == NULL) continue;
    perp_json_members(json, "{ name %s, meaning %s, unit %s", metric->name, metric->meaning,
                      metric->unit);
    if (perp_results_compared(page->results, metric->name, &least, &most))
      perp_json_reals(json, "comparisons", (double[]){ least, most }, 2);
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
}

static void findings_environment(perp_page *page, perp_json *json)
{
  perp_text unlike = { 0 };
  perp_results_unlike(page->results, &unlike);
  perp_json_text(json, "unlike", unlike.n > 0 ? unlike.s : "");
  perp_text_free(&unlike);
  perp_json_open(json, "environment", '[');
  for (int i = 0; i < page->results->n_envs; i++) {
    json_t *env = perp_json_read_file(perp_pool_printf(
        &page->pool, "%s/env/%s.json", page->results->envs[i].dir, page->results->envs[i].id));
    char *text = json_is_object(env) ? json_dumps(env, JSON_COMPACT) : NULL;
    perp_json_raw(json, NULL, text != NULL ? text : "{}");
    free(text);
    json_decref(env);
  }
  perp_json_close(json, ']');
  const char *path = perp_pool_printf(&page->pool, "%s/study.yaml", page->dir);
  char *study = perp_read_file(path, NULL);
  if (study == NULL) perp_say_unread(path);
  perp_json_text(json, "study_file", study != NULL ? study : "");
  free(study);
}

void perp_page_findings(perp_page *page, perp_json *json)
{
  perp_findings_json(page->ctx, page->results, json);
  findings_answers(page, json);
  findings_claims(page, json);
  findings_symptoms(page, json);
  findings_replicate(page, json);
  findings_summary(page, json);
  findings_published(page, json);
  findings_endings(page, json);
  findings_warnings(page, json);
  findings_methods(page, json);
  findings_environment(page, json);
}
