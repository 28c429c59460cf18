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

static void cmd_export_put_text(struct form *o, const char *s)
{
  if (o->column++ > 0) putc(o->gnuplot ? ' ' : ',', o->f);
  bool quote = o->gnuplot || strpbrk(s, ",\"\r\n") != NULL;
  if (quote) putc('"', o->f);
  for (; *s != '\0'; s++) {
    if (*s == '"' && !o->gnuplot) putc('"', o->f);
    putc(o->gnuplot && (*s == '"' || *s == '\n' || *s == '\r') ? '\'' : *s, o->f);
  }
  if (quote) putc('"', o->f);
}

static void put_real(struct form *o, double v)
{
  if (o->column++ > 0) putc(o->gnuplot ? ' ' : ',', o->f);
  if (isfinite(v))
    fprintf(o->f, "%.17g", v);
  else if (isinf(v))
    fputs(v > 0 ? "inf" : "-inf", o->f);
  else if (o->gnuplot)
    fputs("NaN", o->f);
}

static void end_row(struct form *o)
{
  putc('\n', o->f);
  o->column = 0;
}

static void write_table(const perp_ctx *ctx, perp_results *r, FILE *f, bool gnuplot)
{
  const perp_names parts = perp_results_part_columns(r);
  const perp_study *s = r->study;
  struct form o = { gnuplot, f, 0 };
  if (gnuplot)
    fprintf(f,
            "# %s: one row per run, missing numbers are NaN.  Columns by name:\n#   set key "
            "autotitle columnhead; plot 'FILE' using (column(\"h\")):(column(\"err.q.max\"))\n",
            s->name);
  cmd_export_put_text(&o, "cell");
  cmd_export_put_text(&o, "status");
  cmd_export_put_text(&o, "cause");
  static const char *const counts[] = { "problems", "unsolved", "share", "partial", "reached" };
  for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) cmd_export_put_text(&o, counts[k]);
  for (int p = 0; p < s->n_params; p++) cmd_export_put_text(&o, s->kind->params[p].key);
  for (int k = 0; k < parts.n; k++) cmd_export_put_text(&o, parts.text[k]);
  for (int m = 0; m < s->n_metrics; m++)
    if (!s->metric[m].timing) cmd_export_put_text(&o, s->metric[m].name);
  for (int m = 0; m < s->n_metrics; m++)
    for (int k = 0; s->metric[m].timing && k < 3; k++) {
      char name[80];
      snprintf(name, sizeof name, "%s.%s", s->metric[m].name, statistics[k]);
      cmd_export_put_text(&o, name);
    }
  end_row(&o);
  for (int i = 0; i < r->plan.n; i++) {
    cmd_export_put_text(&o, r->plan.cells[i].id);
    cmd_export_put_text(&o, perp_cell_status_names[r->record[i].status]);
    cmd_export_put_text(&o, r->record[i].cause);
    const perp_record *rec = &r->record[i];
    const double count[] = { rec->problems, rec->unsolved, perp_record_share(rec),
                             rec->partial ? 1 : 0, rec->reached };
    for (size_t k = 0; k < sizeof count / sizeof *count; k++) put_real(&o, count[k]);
    for (int p = 0; p < s->n_params; p++) {
      const perp_value *v = &r->plan.cells[i].value[p];
      if (s->columns[p].type == PERP_COLUMN_NUMBER && gnuplot)
        put_real(&o, perp_value_number(v));
      else
        cmd_export_put_text(&o, v->text);
    }
    for (int k = 0; k < parts.n; k++) {
      char text[PERP_TEXT_MAX + 2];
      perp_results_part(ctx, r, i, parts.text[k], text, sizeof text);
      cmd_export_put_text(&o, text);
    }
    for (int m = 0; m < s->n_metrics; m++)
      if (!s->metric[m].timing) put_real(&o, r->record[i].value[m]);
    for (int m = 0; m < s->n_metrics; m++) {
      if (!s->metric[m].timing) continue;
      const perp_quartiles q = perp_results_timing(r, i, m);
      put_real(&o, q.min);
      put_real(&o, q.median);
      put_real(&o, q.max);
    }
    end_row(&o);
  }
}

/* ---- jsonl ---- */

static void write_jsonl(const perp_results *r, FILE *f)
{
  const perp_study *s = r->study;
  for (int i = 0; i < r->plan.n; i++) {
    const perp_record *rec = &r->record[i];
    perp_json j = { .out = f };
    perp_json_open(&j, NULL, '{');
    perp_json_members(&j, "study %s, cell %s, status %s, cause %s, reason %s", s->name,
                      r->plan.cells[i].id, perp_cell_status_names[rec->status], rec->cause,
                      rec->reason);
    perp_command_record_json(&j, rec);
    perp_json_bool(&j, "partial", rec->partial);
    if (!isnan(rec->reached)) perp_json_real(&j, "reached", rec->reached);
    perp_json_int(&j, "schema", rec->schema);
    perp_json_open(&j, "parameters", '{');
    perp_cell_json(&j, s, &r->plan.cells[i]);
    perp_json_close(&j, '}');
    perp_json_open(&j, "metrics", '{');
    for (int m = 0; m < s->n_metrics; m++)
      if (!s->metric[m].timing && !isnan(rec->value[m]))
        perp_json_real(&j, s->metric[m].name, rec->value[m]);
    perp_json_close(&j, '}');
    perp_json_open(&j, "time", '{');
    for (int m = 0; m < s->n_metrics; m++) {
      if (!s->metric[m].timing) continue;
      perp_json_open(&j, s->metric[m].name, '[');
      for (int k = 0; k < rec->rounds; k++)
        if (rec->round[m] != NULL) perp_json_real(&j, NULL, rec->round[m][k]);
      perp_json_close(&j, ']');
    }
    perp_json_close(&j, '}');
    perp_json_close(&j, '}');
  }
}

static int cmd_export(perp_ctx *ctx, const perp_args *args)
{
  enum { CSV, JSONL, GNUPLOT, HDF5, FORMS };
  static const char *const forms[] = { "csv", "jsonl", "gnuplot", "hdf5" };
  perp_results r;
  const char *to = perp_args_get(args, "to"), *path = perp_args_get(args, "output");
  if (to == NULL)
    return perp_usage_error(args, "--to is missing; choose csv, jsonl, gnuplot or hdf5");
  const int form = perp_choose(args, "--to: unknown format", to, forms, FORMS, "");
  if (form < 0) return PERP_EXIT_USAGE;
  if (form == HDF5 && path == NULL)
    return perp_usage_error(args, "--to hdf5 needs a file: -o FILE");
  const int status = perp_results_open(ctx, args->arg[0], &r);
  if (status >= 0) return status;
  const bool to_stdout = path == NULL || strcmp(path, "-") == 0;
  perp_out o = { .f = stdout };
  perp_status done = PERP_OK;
  if (form == HDF5)
    done = perp_export_hdf5(ctx, &r, path);
  else if (to_stdout || (done = perp_out_open(ctx, path, &o)) == PERP_OK) {
    if (form == JSONL)
      write_jsonl(&r, o.f);
    else
      write_table(ctx, &r, o.f, form == GNUPLOT);
    if (!to_stdout) done = perp_out_close(ctx, &o, true);
  }
  perp_results_free(&r);
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
