/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/symptoms.h"

#include <math.h>
#include <string.h>

static perp_symptom_entry symptoms_of_cell(const perp_results *r, const perp_symptom *p, int cell)
{
  const perp_record *rec = &r->record[cell];
  const int m = perp_results_metric(r, p->metric);
  perp_symptom_entry e = { PERP_SHOWN_FAILED, m < 0 ? (double)NAN : perp_results_value(r, cell, m),
                           cell, rec->status == PERP_CELL_UNSOLVED,
                           rec->reason[0] != '\0' ? rec->reason
                                                  : perp_cell_status_names[rec->status] };
  if (perp_cell_whole(rec->status)) {
    e.shown = isnan(e.value)                     ? PERP_SHOWN_NOTHING
              : !p->spread && e.value > p->above ? PERP_SHOWN_YES
                                                 : PERP_SHOWN_NO;
    e.why = "";
  } else {
    e.value = (double)NAN;
    if (rec->status == PERP_CELL_UNSUITED) e.shown = PERP_SHOWN_UNSUITED;
    if (rec->status == PERP_CELL_SKIPPED || rec->status == PERP_CELL_PLANNED) {
      e.shown = PERP_SHOWN_NOT_RUN;
      e.why = rec->status == PERP_CELL_SKIPPED ? rec->cause : "planned";
    }
  }
  return e;
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

static perp_symptom_entry symptoms_entry(const perp_scope *scope, const perp_results *r,
                                         const perp_symptom *p, const perp_symptom_column *column)
{
  perp_symptom_entry e = { PERP_SHOWN_NOT_ASKED, (double)NAN, -1, false, "" };
  double least = HUGE_VAL, most = -HUGE_VAL;
  bool unsolved = false;
  int figures = 0;
  for (int c = 0; c < r->plan.n; c++) {
    if (!perp_expr_true(p->where, scope, c) || !perp_expr_true(column->where, scope, c)) continue;
    const perp_symptom_entry one = symptoms_of_cell(r, p, c);
    figures += !isnan(one.value);
    least = fmin(least, one.value);
    most = fmax(most, one.value);
    unsolved = unsolved || one.unsolved;
    if (symptoms_worse(&one, &e)) e = one;
  }
  e.unsolved = unsolved;
  if (p->spread && e.shown == PERP_SHOWN_NO) {
    e.value = figures > 1 ? most - least : (double)NAN;
    e.shown = isnan(e.value)       ? PERP_SHOWN_NOTHING
              : e.value > p->above ? PERP_SHOWN_YES
                                   : PERP_SHOWN_NO;
  }
  return e;
}

const perp_symptom_entry *perp_results_symptoms(const perp_ctx *ctx, perp_results *r)
{
  const perp_study *s = r->study;
  const int n = s->n_symptoms, m = s->n_symptom_columns;
  const perp_scope scope = perp_results_scope(ctx, r, false);
  perp_symptom_entry *list = perp_pool_alloc(&r->pool, (size_t)n * (size_t)m + 1, sizeof *list);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++)
      list[i * m + k] = symptoms_entry(&scope, r, &s->symptoms[i], &s->symptom_columns[k]);
  return list;
}

const char *perp_shown_name(perp_shown shown)
{
  static const char *const names[] = {
    [PERP_SHOWN_NOT_ASKED] = "",        [PERP_SHOWN_NO] = "does not",
    [PERP_SHOWN_YES] = "shows it",      [PERP_SHOWN_NOTHING] = "no figure",
    [PERP_SHOWN_UNSUITED] = "unsuited", [PERP_SHOWN_FAILED] = "failed",
    [PERP_SHOWN_NOT_RUN] = "not run"
  };
  return names[shown];
}

const char *perp_symptom_text(perp_pool *pool, const perp_symptom_entry *e)
{
  switch (e->shown) {
  case PERP_SHOWN_YES:
  case PERP_SHOWN_NO:
    return perp_pool_printf(pool, "%s%.2g%s", e->shown == PERP_SHOWN_YES ? "! " : "", e->value,
                            e->unsolved ? " u" : "");
  case PERP_SHOWN_NOTHING:
    return "?";
  case PERP_SHOWN_UNSUITED:
    return "-";
  case PERP_SHOWN_FAILED:
    return e->why;
  default:
    return "";
  }
}

const char *perp_symptom_bound(perp_pool *pool, const perp_study *s, const perp_symptom *p)
{
  const perp_metric *m = perp_study_metric(s, p->metric);
  return perp_pool_printf(pool, "%s%s > %g%s%s", p->metric, p->spread ? " apart" : "", p->above,
                          m != NULL && m->unit[0] != '\0' ? " " : "", m != NULL ? m->unit : "");
}

const char *perp_symptom_link(perp_pool *pool, const char *source)
{
  const char *hash = strchr(source, '#');
  if (hash == NULL || strchr(source, '/') == NULL || strchr(source, ' ') != NULL) return NULL;
  return perp_pool_printf(pool, "https://github.com/%.*s/issues/%s", (int)(hash - source), source,
                          hash + 1);
}
