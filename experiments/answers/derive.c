/* SPDX-License-Identifier: GPL-3.0-or-later */
/* derived/: answers (answers.h) and tidy tables for other programs, regenerated from the journal,
 * never edited.
 *
 * One row a planned cell, sorted by id; numbers as %.17g, not measured = empty field, infinities
 * inf and -inf.  cells.csv holds results only, so that the same results give the same bytes; what
 * differs from run to run is in timing.csv under the same key. */
#include "experiments/answers/answers.h"
#include "experiments/results/replicate.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One more field of a row. */
static void csv_text(FILE *file, const char *text)
{
  bool quoted = strpbrk(text, ",\"\r\n") != NULL;
  fputs(quoted ? ",\"" : ",", file);
  for (; *text != '\0'; text++) {
    if (*text == '"') putc('"', file);
    putc(*text, file);
  }
  if (quoted) putc('"', file);
}

static void csv_real(FILE *file, double v)
{
  if (isnan(v))
    putc(',', file);
  else if (isinf(v))
    fputs(v > 0 ? ",inf" : ",-inf", file);
  else
    fprintf(file, ",%.17g", v);
}

static void derive_schema(perp_json *json, const char *name, const char *type, const char *unit,
                          const char *meaning, int better)
{
  perp_json_members(json, "{ name %s, type %s, unit %s, meaning %s", name, type, unit, meaning);
  if (better != 0) perp_json_text(json, "better", better < 0 ? "less" : "more");
  perp_json_close(json, '}');
}

struct tables {
  const perp_ctx *ctx;
  perp_results *r;
  const int *order;       /* cells by id */
  perp_names parts;       /* names and options of plug-ins */
  int n_metrics, *metric; /* those of cells.csv */
  bool engines;           /* a cell is of a whole engine */
};

static int *sorted_cells(perp_results *results)
{
  int n = results->plan.n, *order = perp_pool_alloc(&results->pool, (size_t)n, sizeof *order);
  /* the ids are fixed-width hexadecimal: sort (id, index) pairs as texts */
  char(*key)[28] = perp_pool_alloc(&results->pool, (size_t)n, sizeof *key);
  for (int cell = 0; cell < n; cell++)
    snprintf(key[cell], sizeof key[cell], "%s%011d", results->plan.cells[cell].id, cell);
  qsort(key, (size_t)n, sizeof *key, (int (*)(const void *, const void *))strcmp);
  for (int i = 0; i < n; i++) order[i] = atoi(key[i] + 16);
  return order;
}

/* The recorded metrics, or all that some cell has. */
static int *chosen_metrics(perp_results *results, int *n)
{
  const perp_study *study = results->study;
  int *list = perp_pool_alloc(&results->pool, (size_t)study->n_metrics, sizeof *list);
  *n = 0;
  for (int k = 0; k < study->metrics.n_record; k++) {
    int m = perp_results_metric(results, study->metrics.record[k]);
    if (!study->metric[m].timing) list[(*n)++] = m;
  }
  if (study->metrics.n_record > 0) return list;
  for (int metric = 0; metric < study->n_metrics; metric++) {
    bool any = false;
    for (int record = 0; record < results->plan.n && !any; record++)
      any = !isnan(results->record[record].value[metric]);
    if (any && !study->metric[metric].timing) list[(*n)++] = metric;
  }
  return list;
}

static void derive_write_cells(const struct tables *tables, FILE *file)
{
  const perp_results *results = tables->r;
  const perp_study *study = results->study;
  fputs("cell,status,cause,reason,problems,unsolved,share,swept,partial,reached", file);
  for (int param = 0; param < study->n_params; param++)
    fprintf(file, ",%s", study->kind->params[param].key);
  for (int o = 0; o < tables->parts.n; o++) fprintf(file, ",%s", tables->parts.text[o]);
  for (int metric = 0; metric < tables->n_metrics; metric++)
    fprintf(file, ",%s", study->metric[tables->metric[metric]].name);
  if (tables->engines) fputs(",resolved", file);
  putc('\n', file);
  for (int row = 0; row < results->plan.n; row++) {
    int cell = tables->order[row];
    const perp_record *rec = &results->record[cell];
    fprintf(file, "%s,%s", results->plan.cells[cell].id, perp_cell_status_names[rec->status]);
    csv_text(file, rec->cause);
    csv_text(file, rec->reason);
    csv_real(file, rec->problems);
    csv_real(file, rec->unsolved);
    csv_real(file, perp_record_share(rec));
    csv_real(file, rec->swept);
    fprintf(file, ",%d", rec->partial);
    csv_real(file, rec->reached);
    for (int param = 0; param < study->n_params; param++)
      csv_text(file, results->plan.cells[cell].value[param].text);
    for (int o = 0; o < tables->parts.n; o++) {
      char buf[PERP_TEXT_MAX + 2];
      perp_results_part(tables->ctx, results, cell, tables->parts.text[o], buf, sizeof buf);
      csv_text(file, buf);
    }
    for (int metric = 0; metric < tables->n_metrics; metric++)
      csv_real(file, rec->value[tables->metric[metric]]);
    if (tables->engines) csv_text(file, rec->resolved);
    putc('\n', file);
  }
}

static void write_cells_schema(const struct tables *tables, FILE *file)
{
  const perp_study *study = tables->r->study;
  perp_json json = { .out = file, .indent = true };
  perp_json_open(&json, NULL, '[');
  derive_schema(&json, "cell", "text", "",
                "Id of the run: hash of its parameters. The key of every table.", 0);
  derive_schema(
      &json, "status", "text", "",
      study->kind->runs
          ? "ok: the run reached its end and the chosen solver solved every problem. unsolved: it "
            "reached its end with unsolved problems. fixed-work: it used a fixed number of sweeps. "
            "several solutions: solved, but the motion is one of several. "
            "unsuited: the scene is outside the domain of the method. planned: not run yet. "
            "Others: "
            "diverged, maxiter, timeout, oom, crash, setup-failed, skipped."
          : "ok: solved, or proved to have no solution (reason infeasible). fixed-work: a fixed "
            "number of sweeps was used. unsuited: the problem is outside the domain of the solver. "
            "planned: not run yet. Others: unsolved, maxiter, timeout, oom, crash, setup-failed, "
            "skipped.",
      0);
  derive_schema(&json, "cause", "text", "", "Cause of a failure, or why the run was skipped.", 0);
  derive_schema(&json, "reason", "text", "", "Reason for the end of the run.", 0);
  derive_schema(
      &json, "problems", "number", "",
      "Number of contact or complementarity problems of the run. Empty: none, or not recorded.", 0);
  derive_schema(&json, "unsolved", "number", "", "Number of problems left unsolved.", -1);
  derive_schema(&json, "share", "number", "", "Share of unsolved problems (unsolved / problems).",
                -1);
  derive_schema(&json, "swept", "number", "",
                "Number of problems above the tolerance after the requested number of sweeps.", 0);
  derive_schema(&json, "partial", "number", "",
                "1: the run stopped early; its values are those up to the time `reached`.", 0);
  derive_schema(&json, "reached", "number", "s", "Simulated time at which the run ended.", 0);
  for (int p = 0; p < study->n_params; p++) {
    const perp_param *param = &study->kind->params[p];
    bool number = param->type == PERP_PARAM_REAL || param->type == PERP_PARAM_INT;
    derive_schema(&json, param->key, number ? "number" : "text",
                  number && param->unit != NULL ? param->unit : "", param->help, 0);
  }
  for (int o = 0; o < tables->parts.n; o++)
    derive_schema(&json, tables->parts.text[o], "text", "",
                  strstr(tables->parts.text[o], ".name") != NULL
                      ? "Name of the method without its options."
                      : "Option set by a value of the grid. Empty: the method has no such option.",
                  0);
  for (int k = 0; k < tables->n_metrics; k++) {
    const perp_metric *metric = &study->metric[tables->metric[k]];
    derive_schema(&json, metric->name, "number", metric->unit, metric->meaning, metric->better);
  }
  if (tables->engines)
    derive_schema(&json, "resolved", "text", "",
                  "Version of the external engine and the options it used.", 0);
  perp_json_close(&json, ']');
}

static const char *const statistics[] = { "min", "q1", "median", "q3", "max", "sd" };

static void write_timing(const struct tables *tables, FILE *file)
{
  const perp_results *results = tables->r;
  const perp_metric *metrics = results->study->metric;
  fputs("cell,rounds,noisy,cpu_s,wall_s", file);
  for (int metric = 0; metric < results->study->n_metrics; metric++)
    for (int k = 0; metrics[metric].timing && k < 6; k++)
      fprintf(file, ",%s.%s", metrics[metric].name, statistics[k]);
  putc('\n', file);
  for (int row = 0; row < results->plan.n; row++) {
    int cell = tables->order[row];
    const perp_record *rec = &results->record[cell];
    fprintf(file, "%s,%d,%d", results->plan.cells[cell].id, rec->rounds, rec->noisy);
    csv_real(file, rec->attempt > 0 ? rec->cpu_s : (double)NAN);
    csv_real(file, rec->attempt > 0 ? rec->wall_s : (double)NAN);
    for (int metric = 0; metric < results->study->n_metrics; metric++) {
      if (!metrics[metric].timing) continue;
      perp_quartiles quartiles = perp_results_timing(results, cell, metric);
      const double v[] = { quartiles.min, quartiles.q1,  quartiles.median,
                           quartiles.q3,  quartiles.max, quartiles.sd };
      for (int k = 0; k < 6; k++) csv_real(file, v[k]);
    }
    putc('\n', file);
  }
}

static void write_timing_schema(const struct tables *tables, FILE *file)
{
  const perp_metric *metrics = tables->r->study->metric;
  perp_json json = { .out = file, .indent = true };
  perp_json_open(&json, NULL, '[');
  derive_schema(&json, "cell", "text", "", "Id of the run, as in cells.csv.", 0);
  derive_schema(&json, "rounds", "number", "",
                "Number of timing rounds. 0: the times are those of the first run.", 0);
  derive_schema(&json, "noisy", "number", "", "Number of rounds with wall time / CPU time > 1.05.",
                -1);
  derive_schema(&json, "cpu_s", "number", "s",
                "Thread CPU time of the run that produced the results.", 0);
  derive_schema(&json, "wall_s", "number", "s", "Wall time of the run that produced the results.",
                0);
  for (int metric = 0; metric < tables->r->study->n_metrics; metric++)
    for (int k = 0; metrics[metric].timing && k < 6; k++) {
      char name[80], meaning[200];
      snprintf(name, sizeof name, "%s.%s", metrics[metric].name, statistics[k]);
      snprintf(meaning, sizeof meaning, "%s: %s over the rounds", metrics[metric].meaning,
               statistics[k]);
      derive_schema(&json, name, "number", metrics[metric].unit, meaning,
                    k < 5 ? metrics[metric].better : 0);
    }
  perp_json_close(&json, ']');
}

/* The answers, as the terminal and the page have them. */
static void derive_write_answers(const struct tables *tables, FILE *file)
{
  perp_json json = { .out = file, .indent = true };
  perp_answers_json(tables->ctx, tables->r, &json);
}

static void derive_write_symptoms(const struct tables *tables, FILE *file)
{
  perp_symptoms_markdown(tables->ctx, tables->r, file);
}

static void derive_write_replicate(const struct tables *tables, FILE *file)
{
  perp_replicate_markdown(tables->ctx, tables->r, file);
}

/* One line a stated number: of a curve each point. */
static void derive_write_replicate_csv(const struct tables *tables, FILE *file)
{
  const perp_replicate *all = &tables->r->study->replicate;
  const perp_replicate_result *list = perp_results_replicate(tables->ctx, tables->r);
  fputs("paper,at,states,unit,x,stated,factor,within,measured,least,most,twin,declared,verdict,"
        "missing,printed,derived,reading\n",
        file);
  for (int i = 0; i < all->n_rows; i++) {
    const perp_replicate_row *row = list[i].row;
    for (int k = 0; k < (row->n_points > 0 ? row->n_points : 1); k++) {
      const bool point = k < row->n_points;
      fputs(all->key[row->paper], file);
      const char *head[] = { row->at, row->states, row->unit, point ? row->point[k].x : "" };
      for (int c = 0; c < 4; c++) csv_text(file, head[c]);
      const double figure[] = { point ? row->point[k].value : (double)NAN,
                                row->factor > 0 ? row->factor : (double)NAN,
                                row->within > 0 ? row->within : (double)NAN,
                                point ? list[i].measured[k] : (double)NAN,
                                list[i].least,
                                list[i].most,
                                point ? list[i].twin[k] : (double)NAN };
      for (int c = 0; c < 7; c++) csv_real(file, figure[c]);
      const char *tail[] = { perp_replicated_names[row->declared],
                             perp_replicate_word(&list[i]),
                             row->missing,
                             row->printed,
                             row->derived,
                             row->reading };
      for (int c = 0; c < 6; c++) csv_text(file, tail[c]);
      putc('\n', file);
    }
  }
}

perp_status perp_results_derive(perp_ctx *ctx, perp_results *results)
{
  const struct {
    const char *name;
    void (*write)(const struct tables *tables, FILE *file); /* NULL: the study has no such table */
  } files[] = {
    { "cells.csv", derive_write_cells },
    { "cells.schema.json", write_cells_schema },
    { "answers.json", derive_write_answers },
    { "symptoms.md", results->study->n_symptoms > 0 ? derive_write_symptoms : NULL },
    { "replicate.md", results->study->replicate.n_rows > 0 ? derive_write_replicate : NULL },
    { "replicate.csv", results->study->replicate.n_rows > 0 ? derive_write_replicate_csv : NULL },
    { "timing.csv", write_timing },
    { "timing.schema.json", write_timing_schema }
  };
  perp_status status = perp_make_part(ctx, results->dir, "derived");
  struct tables tables = { .ctx = ctx, .r = results, .order = sorted_cells(results) };
  tables.parts = perp_results_part_columns(results);
  tables.metric = chosen_metrics(results, &tables.n_metrics);
  for (int record = 0; record < results->plan.n; record++)
    tables.engines |= results->record[record].resolved[0] != '\0';
  for (size_t i = 0; i < sizeof files / sizeof *files && status == PERP_OK; i++) {
    perp_out out;
    if (files[i].write == NULL) continue;
    status = perp_out_open(
        ctx, perp_pool_printf(&results->pool, "%s/derived/%s", results->dir, files[i].name), &out);
    if (status == PERP_OK) {
      files[i].write(&tables, out.f);
      status = perp_out_close(ctx, &out, true);
    }
  }
  return status;
}
