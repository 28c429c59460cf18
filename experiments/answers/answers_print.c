/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers as tables on a terminal. */
#include "experiments/answers/answers_parts.h"

#include "experiments/study/words.h"
#include "experiments/base/table.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = PERP_TABLE_COLUMNS - 1 };

/* May the lines be columns?  They have one condition, and there is room. */
static bool print_fits(perp_results *results, const perp_answer *answer, int width)
{
  if (answer->n_lines > COLUMNS || answer->n_who < 2) return false;
  int total = 0;
  for (int k = 0; k < answer->n_who; k++) total = (int)fmax(total, (double)strlen(answer->who[k]));
  total = total > 24 ? 24 : total;
  for (int i = 0; i < answer->n_lines; i++) {
    const perp_answer_line *line = &answer->line[i];
    if (line->condition[0] != '\0') return false;
    size_t w = strlen(line->brief);
    for (int entry = 0; entry < answer->n_who; entry++) {
      const size_t n = strlen(perp_answer_entry_text(&results->pool, answer, &line->entry[entry])) +
                       1;
      w = n > w ? n : w;
    }
    total += (int)w + 2;
  }
  return total <= width;
}

/* How far a competitor is behind the best, in decades, over all comparisons; what it lacks counts
 * as more than any distance. */
static double behind(const perp_answer *answer, int who)
{
  enum { LACKS = 400 };
  double sum = 0;
  for (int i = 0; i < answer->n_lines; i++) {
    const perp_answer_line *line = &answer->line[i];
    const perp_answer_entry *entry = &line->entry[who];
    if (entry->cell < 0 || isnan(entry->value))
      sum += strcmp(entry->why, "fixed-work") == 0 ? LACKS
             : isnan(entry->stands)                ? 3 * LACKS
                                                   : 2 * LACKS;
    else if (entry->best)
      continue;
    else if (answer->question->kind == PERP_ASK_MOST)
      sum += line->value - entry->value;
    else if (line->value != 0 && entry->value / line->value > 0)
      sum += fabs(log10(entry->value / line->value));
    else
      sum += 1;
  }
  return sum;
}

/* The best first; exponents as the study has them. */
static int *row_order(perp_results *results, const perp_answer *answer)
{
  perp_ranked *list = perp_pool_alloc(&results->pool, (size_t)answer->n_who + 1, sizeof *list);
  int *order = perp_pool_alloc(&results->pool, (size_t)answer->n_who + 1, sizeof *order);
  for (int who = 0; who < answer->n_who; who++)
    list[who] = (perp_ranked){ who, 0, behind(answer, who), who };
  if (answer->question->kind != PERP_ASK_SLOPE) perp_ranked_sort(list, answer->n_who);
  for (int k = 0; k < answer->n_who; k++) order[k] = list[k].cell;
  return order;
}

/* One row a competitor, one column a comparison; the best is marked. */
static void print_pivot(perp_results *results, const perp_answer *answer, int most, FILE *out)
{
  perp_table table;
  char align[COLUMNS + 2] = "l";
  for (int line = 0; line < answer->n_lines; line++) align[line + 1] = 'r';
  perp_table_init(&table, align);
  table.strong = true;
  perp_table_put(&table, "%s", answer->by);
  for (int line = 0; line < answer->n_lines; line++)
    perp_table_put(&table, "%s",
                   answer->line[line].brief[0] != '\0' ? answer->line[line].brief
                   : answer->question->metric == NULL  ? ""
                   : answer->unit[0] == '\0'
                       ? "value"
                       : perp_pool_printf(&results->pool, "value [%s]", answer->unit));
  int rows = 0;
  const int *order = row_order(results, answer);
  bool marked = false;
  for (int row = 0; row < answer->n_who; row++) {
    const int k = order[row];
    for (int line = 0; line < answer->n_lines; line++)
      marked = marked ||
               (answer->line[line].entry[k].cell < 0 && !isnan(answer->line[line].entry[k].stands));
    if (rows++ >= most) continue;
    perp_table_put(&table, "%s", answer->who[k]);
    for (int line = 0; line < answer->n_lines; line++) {
      const perp_answer_entry *entry = &answer->line[line].entry[k];
      perp_table_put(&table, "%s%s", perp_answer_entry_text(&results->pool, answer, entry),
                     entry->best ? "*" : "");
    }
  }
  perp_table_print(&table, out);
  perp_table_free(&table);
  if (rows > most) fprintf(out, "... and %d more\n", rows - most);
  if (marked)
    perp_wrap(
        out, 0,
        "* marks the best. Values in parentheses cannot win: the run left problems unsolved, was "
        "limited to fixed work, or its motion is one of several solutions.");
}

/* Of those that share a line the one that is best most often. */
static int first_best(const perp_answer *answer, const perp_answer_line *line)
{
  int first = -1, often = -1;
  for (int entry = 0; entry < answer->n_who; entry++) {
    int n = 0;
    for (int i = 0; i < answer->n_lines && line->entry[entry].best; i++)
      n += answer->line[i].entry[entry].best;
    if (!line->entry[entry].best || n <= often) continue;
    first = entry;
    often = n;
  }
  return first;
}

/* The lines to print: the first ones, and in place of the last a line of who is best most often,
 * where none of the others is. */
static void lines_shown(const perp_answer *answer, int shown, int *line)
{
  int often = -1, winner = -1;
  for (int i = 0; i < shown; i++) line[i] = i;
  for (int entry = 0; entry < answer->n_who; entry++) {
    int n = 0;
    for (int i = 0; i < answer->n_lines; i++) n += answer->line[i].entry[entry].best;
    if (n <= often) continue;
    winner = entry;
    often = n;
  }
  int first = 0;
  while (first < answer->n_lines && winner >= 0 &&
         first_best(answer, &answer->line[first]) != winner)
    first++;
  if (first >= shown && first < answer->n_lines) line[shown - 1] = first;
}

static int parts_of(const char *label)
{
  int n = 1;
  for (const char *at = label; (at = strstr(at, ", ")) != NULL; at += 2) n++;
  return n;
}

/* Columns of what is held apart: one each part where all lines have the same parts, else one; 0
 * where there is none. */
static int apart_columns(const perp_answer *answer)
{
  enum { MOST_APART = 6 };
  const int n = parts_of(answer->apart_by);
  bool any = false, alike = n <= MOST_APART;
  for (int line = 0; line < answer->n_lines; line++) {
    any = any || answer->line[line].brief[0] != '\0';
    alike = alike && parts_of(answer->line[line].brief) == n;
  }
  return !any ? 0 : alike ? n : 1;
}

static void put_apart(perp_table *table, const char *label, int columns)
{
  for (int column = 1; column < columns; column++) {
    const char *comma = strstr(label, ", ");
    perp_table_put(table, "%.*s", (int)(comma - label), label);
    label = comma + 2;
  }
  if (columns > 0) perp_table_put(table, "%s", label);
}

/* With its unit where costs and errors are in one column. */
static const char *list_value(perp_results *results, const perp_answer *answer,
                              const perp_answer_line *line, double v)
{
  char number[32];
  if (line->condition[0] != '\0')
    return answers_quantity(&results->pool, v, line->cost ? answer->cost_unit : answer->unit);
  return perp_pool_strdup(&results->pool, perp_number(v, number));
}

/* One row a comparison: who is best, and who is next. */
static void print_list(perp_results *results, const perp_answer *answer, int most, FILE *out)
{
  bool condition = false, ties = false;
  const int apart = apart_columns(answer);
  for (int i = 0; i < answer->n_lines; i++) {
    condition = condition || answer->line[i].condition[0] != '\0';
    ties = ties || answer->line[i].n_best > 1;
  }
  if (condition)
    perp_wrapf(
        out, 0,
        "\"in\" rows: smallest %s within that %s. \"to\" rows: smallest %s that reaches that "
        "%s.",
        perp_words_ranked(answer->question->metric), perp_words_ranked(answer->question->at),
        perp_words_ranked(answer->question->at), perp_words_ranked(answer->question->metric));
  perp_table table;
  char align[PERP_TABLE_COLUMNS + 1] = "";
  for (int c = 0; c < apart; c++) strcat(align, "l");
  strcat(align, condition ? "l" : "");
  strcat(align, ties ? "llrlr" : "lrlr");
  perp_table_init(&table, align);
  table.fold = apart;
  put_apart(&table, answer->apart_by, apart);
  if (condition) perp_table_put(&table, "at");
  perp_table_put(&table, "best");
  if (ties) perp_table_put(&table, "ties");
  perp_table_put(&table, "%s",
                 answer->question->metric == NULL ? "solved"
                 : condition || answer->unit[0] == '\0'
                     ? "value"
                     : perp_pool_printf(&results->pool, "value [%s]", answer->unit));
  perp_table_put(&table, "next");
  perp_table_put(&table, "%s",
                 condition || answer->unit[0] == '\0' || answer->question->metric == NULL
                     ? "value"
                     : perp_pool_printf(&results->pool, "[%s]", answer->unit));
  const int shown = answer->n_lines < most ? answer->n_lines : most;
  int *chosen = perp_pool_alloc(&results->pool, (size_t)shown + 1, sizeof *chosen);
  lines_shown(answer, shown, chosen);
  for (int i = 0; i < shown; i++) {
    const perp_answer_line *line = &answer->line[chosen[i]];
    const int best = first_best(answer, line);
    put_apart(&table, line->brief, apart);
    if (condition) perp_table_put(&table, "%s", line->limit);
    perp_table_put(&table, "%s", best < 0 ? "-" : answer->who[best]);
    if (ties && line->n_best > 1) perp_table_put(&table, "+%d", line->n_best - 1);
    if (ties && line->n_best <= 1) perp_table_put(&table, "%s", "");
    perp_table_put(&table, "%s", list_value(results, answer, line, line->value));
    perp_table_put(&table, "%s", line->second);
    perp_table_put(&table, "%s",
                   isnan(line->next) ? "" : list_value(results, answer, line, line->next));
  }
  table.spare = 2;
  if (!perp_table_print(&table, out))
    perp_wrap(out, 0,
              "The runner-up is shown in a wider terminal, in the report and in "
              "derived/answers.json.");
  perp_table_free(&table);
  if (answer->n_lines > most)
    fprintf(out, "... and %d more rows: see perp answer %s\n", answer->n_lines - most,
            results->dir);
}

/* Slopes of many comparisons: one row each comparison and competitor. */
static void print_slopes(perp_results *results, const perp_answer *answer, int most, FILE *out)
{
  perp_table table;
  int rows = 0;
  const int apart = apart_columns(answer);
  char align[PERP_TABLE_COLUMNS + 1] = "";
  for (int c = 0; c < apart; c++) strcat(align, "l");
  perp_table_init(&table, strcat(align, "lr"));
  table.fold = apart;
  put_apart(&table, answer->apart_by, apart);
  perp_table_put(&table, "%s", answer->by);
  perp_table_put(&table, "exponent");
  for (int line = 0; line < answer->n_lines; line++)
    for (int entry = 0; entry < answer->n_who; entry++) {
      if (answer->line[line].entry[entry].cell < 0 || rows++ >= most) continue;
      put_apart(&table, answer->line[line].brief, apart);
      perp_table_put(&table, "%s", answer->who[entry]);
      perp_table_put(
          &table, "%s",
          perp_answer_entry_text(&results->pool, answer, &answer->line[line].entry[entry]));
    }
  perp_table_print(&table, out);
  perp_table_free(&table);
  if (rows > most)
    fprintf(out, "... and %d more rows: see perp answer %s\n", rows - most, results->dir);
}

void perp_answer_print(perp_results *results, const perp_answer *answer, int most, FILE *out)
{
  putc('\n', out);
  if (answer->question->ask[0] != '\0') perp_wrap(out, 0, answer->question->ask);
  perp_wrap(out, 2, answer->text);
  if (answer->basis[0] != '\0' || answer->note[0] != '\0')
    perp_wrapf(out, 2, "%s%s%s", answer->basis,
               answer->basis[0] != '\0' && answer->note[0] != '\0' ? " " : "", answer->note);
  if (answer->n_lines == 0 || answer->n_who < 2) return;
  const bool matrix = answer->question->kind == PERP_ASK_MOST &&
                      perp_kind_param(results->study->kind, "problem") >= 0;
  if (matrix) return; /* the table of families has it */
  putc('\n', out);
  if (print_fits(results, answer, perp_width(out)))
    print_pivot(results, answer, most, out);
  else if (answer->question->kind == PERP_ASK_SLOPE)
    print_slopes(results, answer, most, out);
  else
    print_list(results, answer, most, out);
}
