/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `report` of a study file: which figures a page has, and which stands on top. */
#include "experiments/study/study_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const perp_plot_name perp_plot_names[] = {
  { "work-precision", "Error against work; points are joined in the order of h or tolerance" },
  { "convergence", "Error against h, with the observed order" },
  { "drift-vs-time", "Constraint error over time" },
  { "energy-vs-time", "Energy over time" },
  { "stability-map", "Runs that complete, over two parameters" },
  { "replay", "Motion; several runs overlaid" },
  { "time-vs-n", "CPU time against size, with the fitted exponent" },
  { "performance-profile",
    "Performance profile: share of problems solved within a factor of the best (Dolan and More)" },
  { "data-profile",
    "Data profile: share of problems solved within a budget of work (More and Wild)" },
  { "ecdf-targets", "Share of pairs of problem and target solved within a cost" },
  { "failure-matrix", "Outcome of the runs, with causes; for simulations with a parameter, as in "
                      "failure-matrix(engine)" },
  { "residual-history", "Residual against the iteration" },
  { "series", "Any recorded field over time" },
  { NULL, NULL }
};

/* A parameter of the study, which a figure compares. */
static const char *report_parameter(perp_study_reader *reader, const perp_node *node,
                                    const char *key)
{
  const perp_cell_kind *kind = reader->s->kind;
  const char *name = perp_study_text(reader, node, key, NULL), *names[64];
  if (name == NULL || perp_kind_param(kind, name) >= 0) return name;
  int n = 0;
  for (; n < perp_kind_params(kind) && n < 64; n++) names[n] = kind->params[n].key;
  perp_study_unknown(reader->diag, perp_tree_get(node, key), "parameter", name, "", names, n, NULL);
  return NULL;
}

/* report.figure: what stands on top of the page. */
static void report_figure(perp_study_reader *reader, const perp_node *report)
{
  static const char *const keys[] = { "y", "x", "colour", "panels", "where", NULL };
  perp_study *study = reader->s;
  const perp_node *node = perp_study_section(reader, report, "figure", keys);
  if (node == NULL) return;
  study->report.figure.given = true;
  study->report.figure.y = perp_study_text(reader, node, "y", NULL);
  if (study->report.figure.y != NULL)
    perp_study_check_metric(reader, perp_tree_get(node, "y"), study->report.figure.y);
  study->report.figure.x = perp_study_text(reader, node, "x", NULL);
  if (study->report.figure.x != NULL && perp_kind_param(study->kind, study->report.figure.x) < 0)
    perp_study_check_metric(reader, perp_tree_get(node, "x"), study->report.figure.x);
  study->report.figure.colour = report_parameter(reader, node, "colour");
  study->report.figure.panels = report_parameter(reader, node, "panels");
  if (perp_tree_get(node, "where") != NULL)
    study->report.figure.where = perp_study_expression(reader, node, "where", study->n_columns,
                                                       false);
}

void perp_study_read_report(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "plots", "tables", "summary", "figure", NULL };
  perp_study *study = reader->s;
  const perp_node *node = perp_study_section(reader, root, "report", keys);
  study->report.plots = perp_study_texts(reader, node, "plots", &study->report.n_plots);
  study->report.summary_text = perp_study_text(reader, node, "summary", NULL);
  if (study->report.summary_text != NULL)
    study->report.summary = perp_study_expression(reader, node, "summary", study->n_columns, false);
  study->report.tables = perp_study_texts(reader, node, "tables", &study->report.n_tables);
  for (int plot = 0; plot < study->report.n_plots; plot++) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(study->report.plots[plot], "("),
             study->report.plots[plot]);
    const char *plots[32];
    int n = 0;
    bool known = false;
    for (; perp_plot_names[n].name != NULL && n < 32; n++) {
      plots[n] = perp_plot_names[n].name;
      known = known || strcmp(plots[n], name) == 0;
    }
    if (!known)
      perp_study_unknown(reader->diag, perp_study_place(node, "plots", plot), "plot", name, "",
                         plots, n, NULL);
  }
  report_figure(reader, node);
}
