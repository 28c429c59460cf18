/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of what documents state on a terminal, as Markdown, CSV and JSON. */
#include "experiments/answers/answers.h"
#include "experiments/results/replicate.h"
#include "experiments/base/table.h"

#include <math.h>
#include <string.h>

void perp_replicate_print(const perp_ctx *ctx, perp_results *results, FILE *out)
{
  const perp_replicate *all = &results->study->replicate;
  if (all->n_rows == 0) return;
  const perp_replicate_result *list = perp_results_replicate(ctx, results);
  fprintf(out, "\nStatements of the documents\n");
  for (int paper = 0; paper < all->n_papers; paper++) {
    const perp_replicate_count count = perp_replicate_counted(results->study, list, paper);
    if (count.rows == 0) continue;
    putc('\n', out);
    perp_wrapf(out, 0, "%s: %s", all->paper[paper],
               perp_replicate_count_text(&results->pool, &count));
    for (int row = 0; row < all->n_rows; row++) {
      const perp_replicate_result *result = &list[row];
      const char *stated = perp_replicate_stated_text(&results->pool, result->row);
      if (result->row->paper != paper) continue;
      perp_wrapf(out, 2, "%s: %s, %s%s%s%s%s", perp_replicate_word(result), result->row->at,
                 result->row->states,
                 stated[0] != '\0' && result->row->kind != PERP_STATED_HOLDS ? ": " : "",
                 result->row->kind != PERP_STATED_HOLDS ? stated : "",
                 result->run
                     ? perp_pool_printf(&results->pool, "; perp: %s",
                                        perp_replicate_measured_text(&results->pool, result))
                     : "",
                 result->row->missing[0] != '\0'
                     ? perp_pool_printf(&results->pool, " (missing: %s)", result->row->missing)
                     : "");
      if (!result->confirmed)
        perp_wrapf(out, 4, "declared %s, but %s", perp_replicated_names[result->row->declared],
                   result->why);
    }
  }
  const perp_replicate_count count = perp_replicate_counted(results->study, list, -1);
  putc('\n', out);
  perp_wrapf(out, 0, "All documents: %s", perp_replicate_count_text(&results->pool, &count));
}

/* A cell of a Markdown table: | is a border there. */
static void replicate_markdown(FILE *out, const char *text)
{
  for (const char *at = text; *at != '\0'; at++)
    fputs(*at == '|' ? "\\|" : (char[]){ *at, '\0' }, out);
}

void perp_replicate_markdown(const perp_ctx *ctx, perp_results *results, FILE *out)
{
  const perp_replicate *all = &results->study->replicate;
  const perp_replicate_result *list = perp_results_replicate(ctx, results);
  fputs("| document | statements | reproduced | contradicted | undetermined | of these not run |\n"
        "|---|--:|--:|--:|--:|--:|\n",
        out);
  for (int k = 0; k <= all->n_papers; k++) {
    const perp_replicate_count count = perp_replicate_counted(results->study, list,
                                                              k < all->n_papers ? k : -1);
    fprintf(out, "| %s | %d | %d | %d | %d | %d |\n", k < all->n_papers ? all->paper[k] : "all",
            count.rows, count.verdict[PERP_REPLICATE_REPRODUCED],
            count.verdict[PERP_REPLICATE_CONTRADICTED], count.verdict[PERP_REPLICATE_UNDETERMINED],
            count.not_run);
  }
  for (int paper = 0; paper < all->n_papers; paper++) {
    fprintf(out,
            "\n### %s\n\n| where | statement | stated | perp | verdict | conditions |\n"
            "|---|---|---|---|---|---|\n",
            all->paper[paper]);
    for (int i = 0; i < all->n_rows; i++) {
      const perp_replicate_row *row = list[i].row;
      if (row->paper != paper) continue;
      const char *cell[] = { row->at,
                             row->states,
                             perp_replicate_stated_text(&results->pool, row),
                             perp_replicate_measured_text(&results->pool, &list[i]),
                             perp_replicate_word(&list[i]),
                             perp_pool_printf(
                                 &results->pool, "%s%s%s%s%s%s%s", row->printed,
                                 row->derived[0] != '\0' ? "; derived: " : "", row->derived,
                                 row->reading[0] != '\0' ? "; reading: " : "", row->reading,
                                 row->missing[0] != '\0' ? "; missing: " : "", row->missing) };
      putc('|', out);
      for (int c = 0; c < 6; c++) {
        putc(' ', out);
        replicate_markdown(out, cell[c]);
        fputs(" |", out);
      }
      putc('\n', out);
    }
  }
}

void perp_replicate_json(const perp_ctx *ctx, perp_results *results, perp_json *json)
{
  const perp_replicate *all = &results->study->replicate;
  const perp_replicate_result *list = perp_results_replicate(ctx, results);
  perp_json_open(json, "replicate", '{');
  perp_json_open(json, "papers", '[');
  for (int paper = 0; paper < all->n_papers; paper++) {
    const perp_replicate_count count = perp_replicate_counted(results->study, list, paper);
    perp_json_members(json,
                      "{ paper %s, title %s, rows %d, reproduced %d, contradicted %d, "
                      "undetermined %d, not_run %d, refuted %d }",
                      all->key[paper], all->paper[paper], count.rows,
                      count.verdict[PERP_REPLICATE_REPRODUCED],
                      count.verdict[PERP_REPLICATE_CONTRADICTED],
                      count.verdict[PERP_REPLICATE_UNDETERMINED], count.not_run, count.refuted);
  }
  perp_json_close(json, ']');
  perp_json_open(json, "rows", '[');
  for (int row = 0; row < all->n_rows; row++) {
    const perp_replicate_result *result = &list[row];
    perp_json_members(json, "{ paper %s, at %s, states %s, declared %s, verdict %s, confirmed? %d",
                      all->key[result->row->paper], result->row->at, result->row->states,
                      perp_replicated_names[result->row->declared], perp_replicate_word(result),
                      result->confirmed);
    perp_json_members(json, "stated %s, measured %s",
                      perp_replicate_stated_text(&results->pool, result->row),
                      perp_replicate_measured_text(&results->pool, result));
    if (result->row->missing[0] != '\0') perp_json_text(json, "missing", result->row->missing);
    if (result->why[0] != '\0') perp_json_text(json, "why", result->why);
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
  perp_json_close(json, '}');
}
