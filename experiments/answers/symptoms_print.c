/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of symptoms on a terminal and as Markdown. */
#include "experiments/answers/answers.h"
#include "experiments/results/symptoms.h"
#include "experiments/base/table.h"

#include <string.h>

static int symptoms_width(perp_results *results, const perp_symptom_entry *entry, int column)
{
  const perp_study *study = results->study;
  size_t width = strlen(study->symptom_columns[column].name);
  for (int symptom = 0; symptom < study->n_symptoms; symptom++) {
    const size_t n = strlen(
        perp_symptom_text(&results->pool, &entry[symptom * study->n_symptom_columns + column]));
    width = n > width ? n : width;
  }
  return (int)width + 2; /* with the space between columns */
}

/* The columns from `first` that fit beside the names of the rows, at least one. */
static int symptoms_fit(perp_results *results, const perp_symptom_entry *entry, int first,
                        int width)
{
  const perp_study *study = results->study;
  size_t name = 0;
  for (int symptom = 0; symptom < study->n_symptoms; symptom++)
    name = strlen(study->symptoms[symptom].name) > name ? strlen(study->symptoms[symptom].name)
                                                        : name;
  int total = (int)name, n = 0;
  while (first + n < study->n_symptom_columns && n < PERP_TABLE_COLUMNS - 1) {
    total += symptoms_width(results, entry, first + n);
    if (n > 0 && total > width) break;
    n++;
  }
  return n;
}

static void symptoms_block(perp_results *results, const perp_symptom_entry *entry, int first, int n,
                           FILE *out)
{
  const perp_study *study = results->study;
  char align[PERP_TABLE_COLUMNS + 1] = "l";
  for (int k = 0; k < n; k++) strcat(align, "r");
  perp_table table;
  perp_table_init(&table, align);
  perp_table_put(&table, "%s", "");
  for (int k = 0; k < n; k++) perp_table_put(&table, "%s", study->symptom_columns[first + k].name);
  for (int symptom = 0; symptom < study->n_symptoms; symptom++) {
    perp_table_put(&table, "%s", study->symptoms[symptom].name);
    for (int k = 0; k < n; k++)
      perp_table_put(&table, "%s",
                     perp_symptom_text(&results->pool,
                                       &entry[symptom * study->n_symptom_columns + first + k]));
  }
  perp_table_print(&table, out);
  perp_table_free(&table);
}

/* Packages that are missing, each once: why columns are empty. */
static void symptoms_not_run(perp_results *results, const perp_symptom_entry *entry, FILE *out)
{
  const perp_study *study = results->study;
  for (int column = 0; column < study->n_symptom_columns; column++)
    for (int symptom = 0; symptom < study->n_symptoms; symptom++) {
      const perp_symptom_entry *one = &entry[symptom * study->n_symptom_columns + column];
      if (one->shown != PERP_SHOWN_NOT_RUN) continue;
      perp_wrapf(out, 2, "%s not run: %s", study->symptom_columns[column].name, one->why);
      break;
    }
}

void perp_symptoms_print(const perp_ctx *ctx, perp_results *results, FILE *out)
{
  const perp_study *study = results->study;
  if (study->n_symptoms == 0) return;
  const perp_symptom_entry *entry = perp_results_symptoms(ctx, results);
  putc('\n', out);
  perp_wrap(out, 0,
            "Reported problems and where they occur. !: shows the problem. ~: only some of the "
            "equivalent runs show it, with their number. -: the scene is outside "
            "the domain of the method. u: some contact problems were left unsolved. ?: the value "
            "is not available.");
  putc('\n', out);
  for (int column = 0, n; column < study->n_symptom_columns; column += n) {
    n = symptoms_fit(results, entry, column, perp_width(out));
    symptoms_block(results, entry, column, n, out);
    putc('\n', out);
  }
  symptoms_not_run(results, entry, out);
  for (int i = 0; i < study->n_symptoms; i++) {
    const perp_symptom *symptom = &study->symptoms[i];
    perp_wrapf(out, 2, "%s: %s (%s%s%s): %s", symptom->name, symptom->text, symptom->of,
               symptom->of[0] != '\0' && symptom->source[0] != '\0' ? ", " : "", symptom->source,
               perp_symptom_bound(&results->pool, study, symptom));
  }
}

/* A cell of a Markdown table: | is a border there. */
static void put_markdown(FILE *out, const char *text)
{
  for (const char *at = text; *at != '\0'; at++)
    fputs(*at == '|' ? "\\|" : (char[]){ *at, '\0' }, out);
}

static void put_source(perp_pool *pool, FILE *out, const char *source)
{
  const char *link = perp_symptom_link(pool, source);
  if (link == NULL)
    put_markdown(out, source);
  else
    fprintf(out, "[%s](%s)", source, link);
}

void perp_symptoms_markdown(const perp_ctx *ctx, perp_results *results, FILE *out)
{
  const perp_study *study = results->study;
  const perp_symptom_entry *entry = perp_results_symptoms(ctx, results);
  fputs("| reported problem | engine | thread | criterion |", out);
  for (int column = 0; column < study->n_symptom_columns; column++) {
    putc(' ', out);
    put_markdown(out, study->symptom_columns[column].name);
    fputs(" |", out);
  }
  fputs("\n|---|---|---|---|", out);
  for (int column = 0; column < study->n_symptom_columns; column++) fputs("--:|", out);
  putc('\n', out);
  for (int i = 0; i < study->n_symptoms; i++) {
    const perp_symptom *symptom = &study->symptoms[i];
    fputs("| ", out);
    put_markdown(out, symptom->text);
    fputs(" | ", out);
    put_markdown(out, symptom->of);
    fputs(" | ", out);
    put_source(&results->pool, out, symptom->source);
    fprintf(out, " | `%s` |", perp_symptom_bound(&results->pool, study, symptom));
    for (int column = 0; column < study->n_symptom_columns; column++, entry++) {
      const char *text = perp_symptom_text(&results->pool, entry);
      const char *bold = entry->shown == PERP_SHOWN_YES ? "**" : "";
      fprintf(out, " %s", bold);
      put_markdown(out, entry->shown == PERP_SHOWN_YES ? text + 2 : text);
      fprintf(out, "%s |", bold);
    }
    putc('\n', out);
  }
}
