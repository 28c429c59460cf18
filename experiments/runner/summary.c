/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run prints at its end: 80 columns, the best cells, claims, published figures. */
#include "experiments/runner/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 12, MOST_METRICS = 4 };

static void print_counts(const perp_results *r, FILE *out)
{
  fprintf(out, "%d cells:", r->plan.n);
  const char *comma = "";
  for (int s = PERP_CELL_OK; s < PERP_CELL_STATUSES; s++)
    if (r->count[s] > 0) {
      fprintf(out, "%s %d %s", comma, r->count[s], perp_cell_status_names[s]);
      comma = ",";
    }
  if (r->count[PERP_CELL_PLANNED] > 0)
    fprintf(out, "%s %d not run yet", comma, r->count[PERP_CELL_PLANNED]);
  putc('\n', out);
}

/* Failures with their causes, the most frequent first. */
static void print_failures(const perp_results *r, FILE *out)
{
  int n = r->plan.n, shown = 0;
  bool *seen = perp_xalloc((size_t)n, sizeof *seen);
  for (int pass = 0; pass < 5; pass++) {
    int best = -1, most = 0;
    for (int i = 0; i < n; i++) {
      const perp_record *a = &r->record[i];
      if (seen[i] || a->status == PERP_CELL_OK || a->status == PERP_CELL_PLANNED ||
          a->status == PERP_CELL_SKIPPED)
        continue;
      int same = 0;
      for (int k = i; k < n; k++)
        same += r->record[k].status == a->status && strcmp(r->record[k].reason, a->reason) == 0 &&
                strcmp(r->record[k].cause, a->cause) == 0;
      if (same > most) {
        most = same;
        best = i;
      }
    }
    if (best < 0) break;
    const perp_record *a = &r->record[best];
    if (shown++ == 0) fprintf(out, "\nfailures\n");
    perp_text line = { 0 };
    perp_text_add(&line, "%d %s: %s", most, perp_cell_status_names[a->status],
                  a->cause[0] ? a->cause : a->reason);
    if (most == 1) perp_text_add(&line, " (cell %s)", r->plan.cells[best].id);
    perp_wrap(out, 2, line.s);
    perp_text_free(&line);
    for (int k = 0; k < n; k++)
      seen[k] = seen[k] ||
                (r->record[k].status == a->status && strcmp(r->record[k].reason, a->reason) == 0 &&
                 strcmp(r->record[k].cause, a->cause) == 0);
  }
  free(seen);
}

struct ranked {
  int cell;
  double key;
};

static int by_key(const void *a, const void *b)
{
  const struct ranked *x = a, *y = b;
  return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->cell - y->cell;
}

/* The axis that the table has one row for each value of: the last one that names a plug-in. */
static int chosen_axis(const perp_study *s)
{
  for (int a = s->n_axes - 1; a >= 0; a--)
    if (s->kind->params[s->axes[a].param].type == PERP_PARAM_PLUGIN && s->axes[a].n <= MOST_ROWS)
      return a;
  return -1;
}

static void print_best(const perp_results *r, FILE *out)
{
  const perp_study *s = r->study;
  int primary = perp_results_metric(r, s->metrics.primary), n = 0;
  double sign = s->metric[primary].better > 0 ? -1 : 1;
  struct ranked *rank = perp_xalloc((size_t)r->plan.n + 1, sizeof *rank);
  for (int i = 0; i < r->plan.n; i++) {
    double v = perp_results_value(r, i, primary);
    if (r->record[i].status == PERP_CELL_OK && !isnan(v))
      rank[n++] = (struct ranked){ i, sign * v };
  }
  if (n > 0) qsort(rank, (size_t)n, sizeof *rank, by_key);
  int axis = chosen_axis(s), rows = 0, total = n;
  if (axis >= 0) {
    /* keep the first of each value */
    int p = s->axes[axis].param, kept = 0;
    for (int i = 0; i < n; i++) {
      bool before = false;
      for (int k = 0; k < kept; k++)
        before = before || strcmp(r->plan.cells[rank[k].cell].value[p],
                                  r->plan.cells[rank[i].cell].value[p]) == 0;
      if (!before) rank[kept++] = rank[i];
    }
    n = kept;
  }
  if (n == 0) {
    fprintf(out, "\nno cell has %s\n", s->metrics.primary);
    free(rank);
    return;
  }
  int metric[MOST_METRICS + 1], n_metrics = 0;
  metric[n_metrics++] = primary;
  for (int k = 0; k < s->metrics.n_record && n_metrics < MOST_METRICS; k++) {
    int m = perp_results_metric(r, s->metrics.record[k]);
    if (m != primary && s->metric[m].better != 0 && !s->metric[m].timing) metric[n_metrics++] = m;
  }
  int step = perp_results_metric(r, "time.step_us");
  if (step >= 0 && step != primary) metric[n_metrics++] = step;
  if (axis >= 0)
    fprintf(out, "\nbest cell for each %s by %s (of %d)\n",
            s->kind->params[s->axes[axis].param].key, s->metrics.primary, total);
  else
    fprintf(out, "\nbest cells by %s (of %d)\n", s->metrics.primary, total);

  char align[PERP_TABLE_COLUMNS + 1] = "";
  const char *text[PERP_TABLE_COLUMNS];
  char unit[PERP_TABLE_COLUMNS][64], buf[PERP_TABLE_COLUMNS][32];
  int columns = 0, params[PERP_TABLE_COLUMNS], n_params = 0;
  for (int a = 0; a < s->n_axes && n_params < 6; a++) params[n_params++] = s->axes[a].param;
  perp_table t;
  for (; columns < n_params; columns++) {
    align[columns] = 'l';
    text[columns] = s->kind->params[params[columns]].key;
  }
  for (int k = 0; k < n_metrics; k++, columns++) {
    const perp_metric *m = &s->metric[metric[k]];
    align[columns] = 'r';
    snprintf(unit[columns], sizeof unit[columns], "%s%s%s%s", m->name, m->unit[0] ? "[" : "",
             m->unit, m->unit[0] ? "]" : "");
    text[columns] = unit[columns];
  }
  perp_table_init(&t, align);
  perp_table_row(&t, text);
  for (; rows < n && rows < MOST_ROWS; rows++) {
    int i = rank[rows].cell;
    for (int c = 0; c < n_params; c++) {
      text[c] = r->plan.cells[i].value[params[c]];
      if (text[c][0] == '\0') text[c] = "-";
    }
    for (int k = 0; k < n_metrics; k++) {
      double v = perp_results_value(r, i, metric[k]);
      snprintf(buf[k], sizeof buf[k], isnan(v) ? "-" : "%.3g", v);
      text[n_params + k] = buf[k];
    }
    perp_table_row(&t, text);
  }
  perp_table_print(&t, out);
  perp_table_free(&t);
  free(rank);
}

static void print_claims(const perp_ctx *ctx, perp_results *r, FILE *out)
{
  if (r->study->n_claims == 0) return;
  perp_claim_result *c = perp_xalloc((size_t)r->study->n_claims, sizeof *c);
  perp_results_claims(ctx, r, c);
  fprintf(out, "\nclaims\n");
  for (int i = 0; i < r->study->n_claims; i++) {
    perp_text line = { 0 };
    perp_text_add(&line, "%-9s  %s", perp_verdict_name(c[i].verdict), c[i].claim->text);
    if (!isnan(c[i].left) && !isnan(c[i].right))
      perp_text_add(&line, " [%.4g against %.4g]", c[i].left, c[i].right);
    perp_wrap(out, 2, line.s);
    perp_text_free(&line);
  }
  free(c);
}

static void print_published(const perp_ctx *ctx, perp_results *r, FILE *out)
{
  perp_variant *v;
  int n = perp_results_variants(ctx, r, &v);
  if (n == 0) return;
  const perp_study *s = r->study;
  fprintf(out, "\npublished figures beside ours\n");
  if (isnan(v[0].mismatch))
    perp_wrap(out, 2, "no variant has all of them");
  else {
    perp_text line = { 0 };
    perp_text_add(&line, "closest: %s, all within a factor of %.3g", v[0].label,
                  pow(10, v[0].mismatch));
    perp_wrap(out, 2, line.s);
    perp_text_free(&line);
  }
  perp_table t;
  perp_table_init(&t, "lrrl");
  perp_table_row(&t, (const char *const[]){ "  where", "published", "ours", "source" });
  for (int k = 0; k < s->n_published; k++) {
    int i = v[0].cell[k], m = perp_results_metric(r, s->published[k].metric);
    char where[200], published[32], ours[32] = "-";
    snprintf(where, sizeof where, "  %s of %s", s->published[k].metric, s->published[k].where_text);
    perp_brief(s->published[k].value, published);
    if (i >= 0) perp_brief(perp_results_value(r, i, m), ours);
    perp_table_row(&t, (const char *const[]){ where, published, ours, s->published[k].source });
  }
  perp_table_print(&t, out);
  perp_table_free(&t);
  perp_variants_free(v, n);
}

void perp_results_summary(const perp_ctx *ctx, perp_results *r, FILE *out)
{
  const perp_study *s = r->study;
  fprintf(out, "%s: %s\n", s->name, s->title);
  if (s->question[0] != '\0') perp_wrap(out, 2, s->question);
  putc('\n', out);
  print_counts(r, out);
  print_best(r, out);
  print_failures(r, out);
  print_published(ctx, r, out);
  print_claims(ctx, r, out);
  int rounds = 0, noisy = 0;
  for (int i = 0; i < r->plan.n; i++) {
    rounds += r->record[i].rounds;
    noisy += r->record[i].noisy;
  }
  if (noisy > 0)
    fprintf(out, "\n%d of %d timing rounds were noisy (wall time / CPU time > 1.05)\n", noisy,
            rounds);
  if (r->torn > 0)
    fprintf(out, "%d journal line(s) were torn by a kill and are left out\n", r->torn);
}
