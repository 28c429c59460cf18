/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/symptoms.h"

#include <math.h>
#include <string.h>

static perp_symptom_entry symptoms_of_cell(const perp_results *results, const perp_symptom *symptom,
                                           int cell)
{
  const perp_record *rec = &results->record[cell];
  const int m = perp_results_metric(results, symptom->metric);
  perp_symptom_entry entry = { .shown = PERP_SHOWN_FAILED,
                               .value = m < 0 ? (double)NAN : perp_results_value(results, cell, m),
                               .cell = cell,
                               .unsolved = rec->status == PERP_CELL_UNSOLVED,
                               .why = rec->reason[0] != '\0'
                                          ? rec->reason
                                          : perp_cell_status_names[rec->status] };
  if (perp_cell_whole(rec->status)) {
    entry.shown = isnan(entry.value)                                 ? PERP_SHOWN_NOTHING
                  : !symptom->spread && entry.value > symptom->above ? PERP_SHOWN_YES
                                                                     : PERP_SHOWN_NO;
    entry.why = "";
  } else {
    entry.value = (double)NAN;
    if (rec->status == PERP_CELL_UNSUITED) entry.shown = PERP_SHOWN_UNSUITED;
    if (rec->status == PERP_CELL_SKIPPED || rec->status == PERP_CELL_PLANNED) {
      entry.shown = PERP_SHOWN_NOT_RUN;
      entry.why = rec->status == PERP_CELL_SKIPPED ? rec->cause : "planned";
    }
  }
  return entry;
}

static bool symptoms_worse(const perp_symptom_entry *a, const perp_symptom_entry *b)
{
  static const int rank[] = {
    [PERP_SHOWN_NOT_ASKED] = 0, [PERP_SHOWN_UNSUITED] = 1, [PERP_SHOWN_NOT_RUN] = 2,
    [PERP_SHOWN_NOTHING] = 3,   [PERP_SHOWN_NO] = 4,       [PERP_SHOWN_FAILED] = 5,
    [PERP_SHOWN_YES] = 6
  };
  return rank[a->shown] != rank[b->shown] ? rank[a->shown] > rank[b->shown] : a->value > b->value;
}

/* Do two cells differ in their scene alone? */
static bool symptoms_pair(const perp_results *results, int cell, int b)
{
  const int scene = perp_kind_param(results->study->kind, "scene");
  for (int param = 0; param < results->study->n_params; param++)
    if (param != scene && strcmp(results->plan.cells[cell].value[param].text,
                                 results->plan.cells[b].value[param].text) != 0)
      return false;
  return true;
}

/* Entry of `cell`, or, of a row that asks how far scenes are apart, of the cells of `list` [n] that
 * go with it. */
static perp_symptom_entry symptoms_one(const perp_results *results, const perp_symptom *symptom,
                                       const int *list, int n, int cell)
{
  perp_symptom_entry entry = symptoms_of_cell(results, symptom, cell);
  if (!symptom->spread || entry.shown != PERP_SHOWN_NO) return entry;
  double least = entry.value, most = entry.value;
  int figures = 0;
  for (int i = 0; i < n; i++) {
    if (!symptoms_pair(results, cell, list[i])) continue;
    const perp_symptom_entry other = symptoms_of_cell(results, symptom, list[i]);
    if (other.shown == PERP_SHOWN_FAILED) return other;
    entry.unsolved = entry.unsolved || other.unsolved;
    figures += !isnan(other.value);
    least = fmin(least, other.value);
    most = fmax(most, other.value);
    if (other.value == most) entry.cell = other.cell;
  }
  entry.value = figures > 1 ? most - least : (double)NAN;
  entry.shown = isnan(entry.value)             ? PERP_SHOWN_NOTHING
                : entry.value > symptom->above ? PERP_SHOWN_YES
                                               : PERP_SHOWN_NO;
  return entry;
}

/* list [n]: the cells of the row and the column. */
static perp_symptom_entry symptoms_entry(const perp_results *results, const perp_symptom *symptom,
                                         const int *list, int n)
{
  perp_symptom_entry entry = { .value = (double)NAN, .cell = -1, .least = (double)NAN, .why = "" };
  bool unsolved = false;
  for (int i = 0; i < n; i++) {
    const perp_symptom_entry one = symptoms_one(results, symptom, list, n, list[i]);
    const bool shows = one.shown == PERP_SHOWN_YES || one.shown == PERP_SHOWN_FAILED;
    const int runs = entry.runs + (shows || one.shown == PERP_SHOWN_NO),
              showing = entry.showing + shows;
    const double least = fmin(entry.least, one.value);
    unsolved = unsolved || one.unsolved;
    if (symptoms_worse(&one, &entry)) entry = one;
    entry.runs = runs;
    entry.showing = showing;
    entry.least = least;
  }
  entry.unsolved = unsolved;
  if (entry.showing > 0 && entry.showing < entry.runs) entry.shown = PERP_SHOWN_DEPENDS;
  return entry;
}

/* [n]: is the condition true of each cell?  Once for all: it parses names of plug-ins. */
static bool *symptoms_true(perp_results *results, const perp_scope *scope, const perp_expr *where)
{
  bool *holds = perp_pool_alloc(&results->pool, (size_t)results->plan.n + 1, sizeof *holds);
  for (int row = 0; row < results->plan.n; row++) holds[row] = perp_expr_true(where, scope, row);
  return holds;
}

const perp_symptom_entry *perp_results_symptoms(const perp_ctx *ctx, perp_results *results)
{
  const perp_study *study = results->study;
  const int n = study->n_symptoms, m = study->n_symptom_columns;
  const perp_scope scope = perp_results_scope(ctx, results, false);
  perp_symptom_entry *list = perp_pool_alloc(&results->pool, (size_t)n * (size_t)m + 1,
                                             sizeof *list);
  int *cells = perp_pool_alloc(&results->pool, (size_t)results->plan.n + 1, sizeof *cells);
  bool **column = perp_pool_alloc(&results->pool, (size_t)m + 1, sizeof *column);
  for (int k = 0; k < m; k++)
    column[k] = symptoms_true(results, &scope, study->symptom_columns[k].where);
  for (int symptom = 0; symptom < n; symptom++) {
    const bool *row = symptoms_true(results, &scope, study->symptoms[symptom].where);
    for (int k = 0; k < m; k++) {
      int count = 0;
      for (int c = 0; c < results->plan.n; c++)
        if (row[c] && column[k][c]) cells[count++] = c;
      list[symptom * m + k] = symptoms_entry(results, &study->symptoms[symptom], cells, count);
    }
  }
  return list;
}

const char *perp_shown_name(perp_shown shown)
{
  static const char *const names[] = {
    [PERP_SHOWN_NOT_ASKED] = "",        [PERP_SHOWN_NO] = "does not",
    [PERP_SHOWN_YES] = "shows it",      [PERP_SHOWN_DEPENDS] = "depends",
    [PERP_SHOWN_NOTHING] = "no figure", [PERP_SHOWN_UNSUITED] = "unsuited",
    [PERP_SHOWN_FAILED] = "failed",     [PERP_SHOWN_NOT_RUN] = "not run"
  };
  return names[shown];
}

const char *perp_symptom_text(perp_pool *pool, const perp_symptom_entry *entry)
{
  switch (entry->shown) {
  case PERP_SHOWN_YES:
  case PERP_SHOWN_NO:
    return perp_pool_printf(pool, "%s%.2g%s", entry->shown == PERP_SHOWN_YES ? "! " : "",
                            entry->value, entry->unsolved ? " u" : "");
  case PERP_SHOWN_DEPENDS:
    return perp_pool_printf(pool, "~ %s (%d of %d)%s",
                            isnan(entry->value) ? entry->why
                                                : perp_pool_printf(pool, "%.2g", entry->value),
                            entry->showing, entry->runs, entry->unsolved ? " u" : "");
  case PERP_SHOWN_NOTHING:
    return "?";
  case PERP_SHOWN_UNSUITED:
    return "-";
  case PERP_SHOWN_FAILED:
    return entry->why;
  default:
    return "";
  }
}

const char *perp_symptom_bound(perp_pool *pool, const perp_study *study,
                               const perp_symptom *symptom)
{
  const perp_metric *metric = perp_study_metric(study, symptom->metric);
  return perp_pool_printf(pool, "%s%s > %g%s%s", symptom->metric, symptom->spread ? " apart" : "",
                          symptom->above, metric != NULL && metric->unit[0] != '\0' ? " " : "",
                          metric != NULL ? metric->unit : "");
}

const char *perp_symptom_link(perp_pool *pool, const char *source)
{
  const char *hash = strchr(source, '#');
  if (hash == NULL || strchr(source, '/') == NULL || strchr(source, ' ') != NULL) return NULL;
  return perp_pool_printf(pool, "https://github.com/%.*s/issues/%s", (int)(hash - source), source,
                          hash + 1);
}
