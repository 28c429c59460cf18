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
static bool print_fits(perp_results *r, const perp_answer *a, int width)
{
  if (a->n_lines > COLUMNS || a->n_who < 2) return false;
  int total = 0;
  for (int k = 0; k < a->n_who; k++) total = (int)fmax(total, (double)strlen(a->who[k]));
  total = total > 24 ? 24 : total;
  for (int i = 0; i < a->n_lines; i++) {
    const perp_answer_line *line = &a->line[i];
    if (line->condition[0] != '\0') return false;
    size_t w = strlen(line->brief);
    for (int k = 0; k < a->n_who; k++) {
      const size_t n = strlen(perp_answer_entry_text(&r->pool, a, &line->entry[k])) + 1;
      w = n > w ? n : w;
    }
    total += (int)w + 2;
  }
  return total <= width;
}

/* Of one comparison those that may win first, the best first, then fixed work, then the others; of
 * several as the study has them. */
static int *row_order(perp_results *r, const perp_answer *a)
{
  perp_ranked *list = perp_pool_alloc(&r->pool, (size_t)a->n_who + 1, sizeof *list);
  int *order = perp_pool_alloc(&r->pool, (size_t)a->n_who + 1, sizeof *order);
  const char *metric = a->question->metric;
  const int better = metric != NULL ? perp_study_metric(r->study, metric)->better : 0;
  for (int k = 0; k < a->n_who; k++) {
    const perp_answer_entry *e = &a->line[0].entry[k];
    const int group = e->cell >= 0                        ? 0
                      : strcmp(e->why, "fixed-work") == 0 ? 1
                      : isnan(e->stands)                  ? 3
                                                          : 2;
    list[k] = (perp_ranked){ k, group, -better * (e->cell >= 0 ? e->value : e->stands), 0 };
    if (isnan(list[k].key)) list[k].key = 0;
  }
  if (a->n_lines == 1 && a->question->kind == PERP_ASK_BEST) perp_ranked_sort(list, a->n_who);
  for (int k = 0; k < a->n_who; k++) order[k] = list[k].cell;
  return order;
}

/* One row a competitor, one column a comparison; the best is marked. */
static void print_pivot(perp_results *r, const perp_answer *a, int most, FILE *out)
{
  perp_table t;
  char align[COLUMNS + 2] = "l";
  for (int i = 0; i < a->n_lines; i++) align[i + 1] = 'r';
  perp_table_init(&t, align);
  perp_table_put(&t, "%s", a->by);
  for (int i = 0; i < a->n_lines; i++)
    perp_table_put(&t, "%s",
                   a->line[i].brief[0] != '\0'   ? a->line[i].brief
                   : a->question->metric == NULL ? ""
                   : a->unit[0] == '\0'          ? "value"
                                        : perp_pool_printf(&r->pool, "value [%s]", a->unit));
  int rows = 0;
  const int *order = row_order(r, a);
  bool marked = false;
  for (int row = 0; row < a->n_who; row++) {
    const int k = order[row];
    for (int i = 0; i < a->n_lines; i++)
      marked = marked || (a->line[i].entry[k].cell < 0 && !isnan(a->line[i].entry[k].stands));
    if (rows++ >= most) continue;
    perp_table_put(&t, "%s", a->who[k]);
    for (int i = 0; i < a->n_lines; i++) {
      const perp_answer_entry *e = &a->line[i].entry[k];
      perp_table_put(&t, "%s%s", perp_answer_entry_text(&r->pool, a, e), e->best ? "*" : "");
    }
  }
  perp_table_print(&t, out);
  perp_table_free(&t);
  if (rows > most) fprintf(out, "... and %d more\n", rows - most);
  if (marked)
    perp_wrap(
        out, 0,
        "* marks the best. Values in parentheses cannot win: the run left problems unsolved, was "
        "limited to fixed work, or its motion is one of several solutions.");
}

static const char *first_best(const perp_answer *a, const perp_answer_line *line)
{
  for (int k = 0; k < a->n_who; k++)
    if (line->entry[k].best) return a->who[k];
  return "-";
}

static int parts_of(const char *label)
{
  int n = 1;
  for (const char *s = label; (s = strstr(s, ", ")) != NULL; s += 2) n++;
  return n;
}

/* Columns of what is held apart: one each part where all lines have the same parts, else one; 0
 * where there is none. */
static int apart_columns(const perp_answer *a)
{
  enum { MOST_APART = 6 };
  const int n = parts_of(a->apart_by);
  bool any = false, alike = n <= MOST_APART;
  for (int i = 0; i < a->n_lines; i++) {
    any = any || a->line[i].brief[0] != '\0';
    alike = alike && parts_of(a->line[i].brief) == n;
  }
  return !any ? 0 : alike ? n : 1;
}

static void put_apart(perp_table *t, const char *label, int columns)
{
  for (int c = 1; c < columns; c++) {
    const char *comma = strstr(label, ", ");
    perp_table_put(t, "%.*s", (int)(comma - label), label);
    label = comma + 2;
  }
  if (columns > 0) perp_table_put(t, "%s", label);
}

/* With its unit where costs and errors are in one column. */
static const char *list_value(perp_results *r, const perp_answer *a, const perp_answer_line *line,
                              double v)
{
  char number[32];
  if (line->condition[0] != '\0')
    return answers_quantity(&r->pool, v, line->cost ? a->cost_unit : a->unit);
  return perp_pool_strdup(&r->pool, perp_number(v, number));
}

/* One row a comparison: who is best, and who is next. */
static void print_list(perp_results *r, const perp_answer *a, int most, FILE *out)
{
  bool condition = false, ties = false;
  const int apart = apart_columns(a);
  for (int i = 0; i < a->n_lines; i++) {
    condition = condition || a->line[i].condition[0] != '\0';
    ties = ties || a->line[i].n_best > 1;
  }
  if (condition)
    perp_wrapf(
        out, 0,
        "\"in\" rows: smallest %s within that %s. \"to\" rows: smallest %s that reaches that "
        "%s.",
        perp_words_ranked(a->question->metric), perp_words_ranked(a->question->at),
        perp_words_ranked(a->question->at), perp_words_ranked(a->question->metric));
  perp_table t;
  char align[PERP_TABLE_COLUMNS + 1] = "";
  for (int c = 0; c < apart; c++) strcat(align, "l");
  strcat(align, condition ? "l" : "");
  strcat(align, ties ? "llrlr" : "lrlr");
  perp_table_init(&t, align);
  t.fold = apart;
  put_apart(&t, a->apart_by, apart);
  if (condition) perp_table_put(&t, "at");
  perp_table_put(&t, "best");
  if (ties) perp_table_put(&t, "ties");
  perp_table_put(&t, "%s",
                 a->question->metric == NULL ? "solved"
                 : condition || a->unit[0] == '\0'
                     ? "value"
                     : perp_pool_printf(&r->pool, "value [%s]", a->unit));
  perp_table_put(&t, "next");
  perp_table_put(&t, "value");
  for (int i = 0; i < a->n_lines && i < most; i++) {
    const perp_answer_line *line = &a->line[i];
    put_apart(&t, line->brief, apart);
    if (condition) perp_table_put(&t, "%s", line->limit);
    perp_table_put(&t, "%s", first_best(a, line));
    if (ties && line->n_best > 1) perp_table_put(&t, "+%d", line->n_best - 1);
    if (ties && line->n_best <= 1) perp_table_put(&t, "%s", "");
    perp_table_put(&t, "%s", list_value(r, a, line, line->value));
    perp_table_put(&t, "%s", line->second);
    perp_table_put(&t, "%s", isnan(line->next) ? "" : list_value(r, a, line, line->next));
  }
  t.spare = 2;
  if (!perp_table_print(&t, out))
    perp_wrap(out, 0,
              "The runner-up is shown in a wider terminal, in the report and in "
              "derived/answers.json.");
  perp_table_free(&t);
  if (a->n_lines > most)
    fprintf(out, "... and %d more rows: see perp answer %s\n", a->n_lines - most, r->dir);
}

/* Slopes of many comparisons: one row each comparison and competitor. */
static void print_slopes(perp_results *r, const perp_answer *a, int most, FILE *out)
{
  perp_table t;
  int rows = 0;
  const int apart = apart_columns(a);
  char align[PERP_TABLE_COLUMNS + 1] = "";
  for (int c = 0; c < apart; c++) strcat(align, "l");
  perp_table_init(&t, strcat(align, "lr"));
  t.fold = apart;
  put_apart(&t, a->apart_by, apart);
  perp_table_put(&t, "%s", a->by);
  perp_table_put(&t, "exponent");
  for (int i = 0; i < a->n_lines; i++)
    for (int k = 0; k < a->n_who; k++) {
      if (a->line[i].entry[k].cell < 0 || rows++ >= most) continue;
      put_apart(&t, a->line[i].brief, apart);
      perp_table_put(&t, "%s", a->who[k]);
      perp_table_put(&t, "%s", perp_answer_entry_text(&r->pool, a, &a->line[i].entry[k]));
    }
  perp_table_print(&t, out);
  perp_table_free(&t);
  if (rows > most) fprintf(out, "... and %d more rows: see perp answer %s\n", rows - most, r->dir);
}

void perp_answer_print(perp_results *r, const perp_answer *a, int most, FILE *out)
{
  putc('\n', out);
  if (a->question->ask[0] != '\0') perp_wrap(out, 0, a->question->ask);
  perp_wrap(out, 2, a->text);
  if (a->basis[0] != '\0' || a->note[0] != '\0')
    perp_wrapf(out, 2, "%s%s%s", a->basis, a->basis[0] != '\0' && a->note[0] != '\0' ? " " : "",
               a->note);
  if (a->n_lines == 0 || a->n_who < 2) return;
  const bool matrix = a->question->kind == PERP_ASK_MOST &&
                      perp_kind_param(r->study->kind, "problem") >= 0;
  if (matrix) return; /* the table of families has it */
  putc('\n', out);
  if (print_fits(r, a, perp_width(out)))
    print_pivot(r, a, most, out);
  else if (a->question->kind == PERP_ASK_SLOPE)
    print_slopes(r, a, most, out);
  else
    print_list(r, a, most, out);
}
