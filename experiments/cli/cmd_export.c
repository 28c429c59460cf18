/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp export: results in the form another program likes.  Everything in one table: parameters,
 * results and times. */
#include "experiments/cli/command.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const statistics[] = { "min", "median", "max" };

struct form {
  bool gnuplot;
  FILE *f;
  int column;
};

static void cmd_export_put_text(struct form *form, const char *text)
{
  if (form->column++ > 0) putc(form->gnuplot ? ' ' : ',', form->f);
  bool quote = form->gnuplot || strpbrk(text, ",\"\r\n") != NULL;
  if (quote) putc('"', form->f);
  for (; *text != '\0'; text++) {
    if (*text == '"' && !form->gnuplot) putc('"', form->f);
    putc(form->gnuplot && (*text == '"' || *text == '\n' || *text == '\r') ? '\'' : *text, form->f);
  }
  if (quote) putc('"', form->f);
}

static void put_real(struct form *form, double v)
{
  if (form->column++ > 0) putc(form->gnuplot ? ' ' : ',', form->f);
  if (isfinite(v))
    fprintf(form->f, "%.17g", v);
  else if (isinf(v))
    fputs(v > 0 ? "inf" : "-inf", form->f);
  else if (form->gnuplot)
    fputs("NaN", form->f);
}

static void end_row(struct form *form)
{
  putc('\n', form->f);
  form->column = 0;
}

static void write_table(const perp_ctx *ctx, perp_results *results, FILE *file, bool gnuplot)
{
  const perp_names parts = perp_results_part_columns(results);
  const perp_study *study = results->study;
  struct form form = { gnuplot, file, 0 };
  if (gnuplot)
    fprintf(file,
            "# %s: one row per run, missing numbers are NaN.  Columns by name:\n#   set key "
            "autotitle columnhead; plot 'FILE' using (column(\"h\")):(column(\"err.q.max\"))\n",
            study->name);
  cmd_export_put_text(&form, "cell");
  cmd_export_put_text(&form, "status");
  cmd_export_put_text(&form, "cause");
  static const char *const counts[] = { "problems", "unsolved", "share", "partial", "reached" };
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) cmd_export_put_text(&form, counts[k]);
  for (int param = 0; param < study->n_params; param++)
    cmd_export_put_text(&form, study->kind->params[param].key);
  for (int k = 0; k < parts.n; k++) cmd_export_put_text(&form, parts.text[k]);
  for (int metric = 0; metric < study->n_metrics; metric++)
    if (!study->metric[metric].timing) cmd_export_put_text(&form, study->metric[metric].name);
  for (int metric = 0; metric < study->n_metrics; metric++)
    for (int k = 0; study->metric[metric].timing && k < 3; k++) {
      char name[80];
      snprintf(name, sizeof name, "%s.%s", study->metric[metric].name, statistics[k]);
      cmd_export_put_text(&form, name);
    }
  end_row(&form);
  for (int cell = 0; cell < results->plan.n; cell++) {
    cmd_export_put_text(&form, results->plan.cells[cell].id);
    cmd_export_put_text(&form, perp_cell_status_names[results->record[cell].status]);
    cmd_export_put_text(&form, results->record[cell].cause);
    const perp_record *rec = &results->record[cell];
    const double count[] = { rec->problems, rec->unsolved, perp_record_share(rec),
                             rec->partial ? 1 : 0, rec->reached };
    for (size_t k = 0; k < sizeof count / sizeof *count; k++) put_real(&form, count[k]);
    for (int param = 0; param < study->n_params; param++) {
      const perp_value *value = &results->plan.cells[cell].value[param];
      if (study->columns[param].type == PERP_COLUMN_NUMBER && gnuplot)
        put_real(&form, perp_value_number(value));
      else
        cmd_export_put_text(&form, value->text);
    }
    for (int k = 0; k < parts.n; k++) {
      char text[PERP_TEXT_MAX + 2];
      perp_results_part(ctx, results, cell, parts.text[k], text, sizeof text);
      cmd_export_put_text(&form, text);
    }
    for (int metric = 0; metric < study->n_metrics; metric++)
      if (!study->metric[metric].timing) put_real(&form, results->record[cell].value[metric]);
    for (int metric = 0; metric < study->n_metrics; metric++) {
      if (!study->metric[metric].timing) continue;
      const perp_quartiles quartiles = perp_results_timing(results, cell, metric);
      put_real(&form, quartiles.min);
      put_real(&form, quartiles.median);
      put_real(&form, quartiles.max);
    }
    end_row(&form);
  }
}

/* ---- jsonl ---- */

static void write_jsonl(const perp_results *results, FILE *file)
{
  const perp_study *study = results->study;
  for (int cell = 0; cell < results->plan.n; cell++) {
    const perp_record *rec = &results->record[cell];
    perp_json json = { .out = file };
    perp_json_open(&json, NULL, '{');
    perp_json_members(&json, "study %s, cell %s, status %s, cause %s, reason %s", study->name,
                      results->plan.cells[cell].id, perp_cell_status_names[rec->status], rec->cause,
                      rec->reason);
    perp_command_record_json(&json, rec);
    perp_json_bool(&json, "partial", rec->partial);
    if (!isnan(rec->reached)) perp_json_real(&json, "reached", rec->reached);
    perp_json_int(&json, "schema", rec->schema);
    perp_json_open(&json, "parameters", '{');
    perp_cell_json(&json, study, &results->plan.cells[cell]);
    perp_json_close(&json, '}');
    perp_json_open(&json, "metrics", '{');
    for (int metric = 0; metric < study->n_metrics; metric++)
      if (!study->metric[metric].timing && !isnan(rec->value[metric]))
        perp_json_real(&json, study->metric[metric].name, rec->value[metric]);
    perp_json_close(&json, '}');
    perp_json_open(&json, "time", '{');
    for (int metric = 0; metric < study->n_metrics; metric++) {
      if (!study->metric[metric].timing) continue;
      perp_json_open(&json, study->metric[metric].name, '[');
      for (int round = 0; round < rec->rounds; round++)
        if (rec->round[metric] != NULL) perp_json_real(&json, NULL, rec->round[metric][round]);
      perp_json_close(&json, ']');
    }
    perp_json_close(&json, '}');
    perp_json_close(&json, '}');
  }
}

static int cmd_export(perp_ctx *ctx, const perp_args *args)
{
  enum { CSV, JSONL, GNUPLOT, HDF5, FORMS };
  static const char *const forms[] = { "csv", "jsonl", "gnuplot", "hdf5" };
  perp_results results;
  const char *to = perp_args_get(args, "to"), *path = perp_args_get(args, "output");
  if (to == NULL)
    return perp_usage_error(args, "--to is missing; choose csv, jsonl, gnuplot or hdf5");
  const int form = perp_choose(args, "--to: unknown format", to, forms, FORMS, "");
  if (form < 0) return PERP_EXIT_USAGE;
  if (form == HDF5 && path == NULL)
    return perp_usage_error(args, "--to hdf5 needs a file: -o FILE");
  const int status = perp_results_open(ctx, args->arg[0], &results);
  if (status >= 0) return status;
  const bool to_stdout = path == NULL || strcmp(path, "-") == 0;
  perp_out out = { .f = stdout };
  perp_status done = PERP_OK;
  if (form == HDF5)
    done = perp_export_hdf5(ctx, &results, path);
  else if (to_stdout || (done = perp_out_open(ctx, path, &out)) == PERP_OK) {
    if (form == JSONL)
      write_jsonl(&results, out.f);
    else
      write_table(ctx, &results, out.f, form == GNUPLOT);
    if (!to_stdout) done = perp_out_close(ctx, &out, true);
  }
  perp_results_free(&results);
  return done == PERP_OK ? PERP_EXIT_OK : perp_refuse(ctx, PERP_EXIT_INTERNAL);
}

static const perp_flag export_flags[] = {
  { "to", 0, "FORM", "Format: csv, jsonl, gnuplot or hdf5." },
  { "output", 'o', "FILE", "Output file (default: standard output; hdf5 needs a file)." },
  { 0 }
};

const perp_command perp_export_command = {
  .cli.name = "export",
  .cli.usage = "DIR --to csv|jsonl|gnuplot|hdf5 [-o FILE]",
  .cli.summary = "Writes all runs of a results folder as one table. It has columns for parameters, "
                 "for names and options of methods, and for every metric. Times are the minimum, "
                 "median and maximum over the rounds; jsonl has all rounds. The file "
                 "derived/cells.csv of the folder has the recorded metrics only.",
  .cli.example = "perp export results/chain6-stab --to gnuplot -o chain6.dat",
  .cli.flags = export_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Write all runs as one table for another program",
  .run = cmd_export
};
