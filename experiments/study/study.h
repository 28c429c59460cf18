/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A study: what is varied, how it is measured, what it is compared with. */
#ifndef PERP_STUDY_H
#define PERP_STUDY_H

#include "experiments/expr/expr.h"
#include "experiments/study/kind.h"

typedef struct perp_axis {
  int param;
  int n;
  perp_value *value; /* [n] */
  /* [n] where the file names them; NULL, or NULL of one: a kind has made it */
  const perp_node *const *at;
} perp_axis;

/* One entry of `runs`, which a study may have instead of a grid: conditions under a name, the value
 * of the parameter `run`.  Its cells are all combinations of its values. */
typedef struct perp_run_set {
  const char *name;
  int *n;      /* [n_params] how many values; 1 where the parameter does not vary over the study */
  int **value; /* [n_params] of [n] their places in the axis of the parameter */
} perp_run_set;

typedef struct perp_published {
  const char *where_text, *metric, *source, *conditions_text;
  perp_expr *where; /* over the columns up to and including status */
  /* conditions of the source, over the parameters: only cells where they hold are compared */
  perp_expr *conditions;
  const perp_node *at;
  double value; /* in the unit of the metric */
} perp_published;

typedef struct perp_claim {
  const char *text, *expr_text;
  perp_expr *expr; /* over all columns */
  /* "" and NULL, or the source that the claim quotes, and its conditions, over the parameters */
  const char *paper, *conditions_text;
  perp_expr *conditions;
  const perp_node *at;
} perp_claim;

/* A sentence that the study finds, with figures of its runs in braces, and the test that it stands
 * on:
 *
 *   finding:
 *     - text: "RK4 is off by {max(err.tip.max, ode == rk4)} m."
 *       expr: 'max(err.tip.max, ode == rk4) < 1 mm'
 */
typedef struct perp_stated_finding {
  const char *text, *expr_text;
  perp_expr *expr; /* over all columns, as of a claim */
  int n_figures;
  perp_expr **figure; /* [n_figures] numbers, in the order of the text */
} perp_stated_finding;

/* What a run may show, and the columns in which it is looked for: `symptoms` of a study, a table of
 * its report.
 *
 *   symptoms:
 *     columns: [{ name: ode, text: ODE with its defaults, where: 'engine == ode' }, ...]
 *     rows:
 *       - { name: creep, text: a box on a slope creeps, of: engine of the report, source: its
 *           thread, where: 'scene == incline', metric: pose.drift.max, above: 1 mm }
 *
 * A cell belongs to the row and the column whose conditions hold.  It shows the symptom where its
 * figure is above the bound; spread: the figure is the distance of the largest from the least
 * figure of several cells. */
typedef struct perp_symptom {
  const char *name, *text, *of, *source, *metric, *where_text;
  perp_expr *where; /* over the parameters */
  double above;     /* in the unit of the metric */
  bool spread;
} perp_symptom;

typedef struct perp_symptom_column {
  const char *name, *text, *where_text;
  perp_expr *where; /* over the parameters */
} perp_symptom_column;

typedef struct perp_exclude {
  const char *where_text, *reason;
  perp_expr *where; /* over the parameters */
} perp_exclude;

/* What a study asks, as data.
 *
 *   answer:                                # one map, or a list of them
 *     ask: Which is the most accurate?     # in words; may be left out
 *     best: err.tip.max                    # least or most, as the metric says;
 *     at: time.cpu                         #   at equal work: a metric of cost
 *     budgets: [1 ms, 10 ms]               #   such costs, and
 *     targets: [1 cm, 1 mm]                #   such errors, whose cost is compared
 *     proxy: drift.pos.max                 #   does who is best by this have the best figure, too?
 *     by: stab                             # who is compared: parameters
 *     for: [scene, h]                      # what is never mixed: a comparison for each
 *     where: 'formulation == velocity'     # which cells
 *
 *   answer: { most: solved, by: lcp, for: problem.family }
 *
 *   answer: { slope: err.q.max, over: h, by: ode }  # a power law: observed order, exponent of time
 *
 *   answer: { claims: all }                         # the claims of the study say it
 *
 * Budgets and targets that are not given are chosen.  A key of by, for and over is a parameter
 * (stab), an option of a plug-in (scene.links), or the name without options (lcp.name,
 * problem.family). */
typedef struct perp_study_key {
  const char *text; /* "scene.links" */
  int param;
  const char *option; /* "links"; NULL: the whole value */
  bool name;          /* the value up to its options */
  bool without;       /* the value without that option: cells that differ in it alone are one */
} perp_study_key;

typedef enum perp_question_kind {
  PERP_ASK_BEST,
  PERP_ASK_MOST, /* solved */
  PERP_ASK_SLOPE,
  PERP_ASK_CLAIMS
} perp_question_kind;

typedef struct perp_question {
  perp_question_kind kind;
  const char *ask;         /* "" */
  const char *metric;      /* BEST, SLOPE */
  const char *at, *proxy;  /* BEST: metrics, NULL: none */
  perp_study_key over;     /* SLOPE */
  const char *over_metric; /* the same, when it is a metric */
  int n_by, n_apart;       /* n_by 0: left to the reader of the results */
  const perp_study_key *by, *apart;
  int n_budgets, n_targets; /* 0: chosen */
  const double *budget, *target;
  double floor;           /* differences below are none; 0: what the references say */
  const char *where_text; /* NULL: all cells */
  perp_expr *where;
  bool assumed; /* the study does not say it */
} perp_question;

typedef enum perp_replicated {
  PERP_REPLICATE_REPRODUCED,   /* within the reading error, or the factor that the row names */
  PERP_REPLICATE_CONTRADICTED, /* outside, and independent evidence agrees with perp */
  PERP_REPLICATE_UNDETERMINED, /* a condition is missing in the document, or a method in perp */
  PERP_REPLICATE_VERDICTS
} perp_replicated;

typedef enum perp_stated {
  PERP_STATED_NOTHING, /* a row that has no run: a method or a scene is missing */
  PERP_STATED_VALUE,   /* value or curve */
  PERP_STATED_BELOW,   /* a bound */
  PERP_STATED_HOLDS    /* a condition */
} perp_stated;

/* A point of a curve; a row with a value has one. */
typedef struct perp_replicate_point {
  const char *x;              /* "" of a single value */
  double value;               /* stated, in the unit of the row */
  perp_expr *measured, *twin; /* numbers; twin NULL where the row has none, or a condition */
} perp_replicate_point;

/* One statement of a document, beside what the runs of a study measure.
 *
 *   replicate:
 *     papers: { cline: "Cline 2002, Rigid Body Simulation with Contact and Constraints" }
 *     rows:
 *       - { paper: cline, at: figure 5.6, states: joints drift 20 mm apart, printed: 1 ms; 6 links,
 *           derived: gravity from ..., value: 20 mm, unit: m, factor: 1.4, reading: from the text,
 *           measured: 'max(drift.pos.max, run == fitted)', verdict: reproduced,
 *           twin: 'max(drift.pos.max, run == earth)' }
 *
 * verdict is what the row declares; results/replicate.h has what the runs say.  twin is the same
 * test under a condition that is wrong on purpose, and must fail: a number for what is reproduced
 * or undetermined, a condition elsewhere. */
typedef struct perp_replicate_row {
  int paper; /* index */
  const char *at, *states, *printed, *derived, *reading, *missing, *unit;
  perp_stated kind;
  int n_points;
  perp_replicate_point *point;
  double factor, within;              /* > 1, > 0: what counts as agreement; 0: not named */
  perp_expr *holds, *evidence, *twin; /* conditions, NULL: none */
  perp_expr *least, *most; /* numbers: the interval over plausible conditions; NULL: none */
  const char *measured_text, *twin_text, *evidence_text; /* "" where there is none */
  perp_replicated declared;
} perp_replicate_row;

typedef struct perp_replicate {
  int n_papers, n_rows;      /* both 0, or neither */
  const char **key, **paper; /* [n_papers] */
  perp_replicate_row *row;
} perp_replicate;

typedef struct perp_study {
  perp_pool pool; /* everything below lives here */
  const perp_cell_kind *kind;
  const char *file; /* as the user named it */
  const char *name, *title, *question;
  const char *profile; /* merged, NULL: none */
  uint64_t seed;
  perp_node *root; /* the effective study: profile and --set merged, without `profiles` */

  int n_params; /* those of the kind; `run`, the last one, only in a study with runs */
  /* [n_params] the value of what does not vary; NULL where there is an axis */
  const perp_value **fixed;
  const perp_node **fixed_at; /* [n_params] where the file names it; NULL: a default, or an axis */
  bool narrowed;              /* --set has changed it */
  int n_axes;
  perp_axis *axes;
  int n_runs; /* 0: the cells are those of the grid */
  perp_run_set *runs;

  /* columns of expressions and results: parameters, then status, then the metrics of the kind */
  int n_columns, n_metrics;
  const perp_metric *metric; /* [n_metrics] */
  perp_column *columns;
  perp_names option_columns; /* options that the grid varies in brackets: "stab.alpha" */

  int n_exclude, n_published, n_claims, n_findings;
  perp_exclude *exclude;
  perp_published *published;
  perp_claim *claims;
  perp_stated_finding *findings;
  double floor; /* differences of the primary metric below it are none; 0: not stated */
  int n_symptoms, n_symptom_columns; /* both 0, or neither */
  perp_symptom *symptoms;
  perp_symptom_column *symptom_columns;
  perp_replicate replicate;

  int n_questions; /* what `answer` asks; 0: the study does not say */
  perp_question *questions;

  struct {
    /* "auto", "closed-form", "file", "reduced"; with "": no comparison */
    const char *method, *with;
    double tol;   /* asked of the reference; 0: not given */
    double below; /* relative difference that is allowed */
  } reference;
  struct {
    int repeats;
    bool interleaved, thread_cpu;
  } measure;
  struct {
    double timeout, memory; /* s, bytes; 0: no limit */
  } limits;
  struct {
    /* share of the problems of a run that may be left unsolved in a cell that wins; 0: none */
    double unsolved;
  } accept;
  struct {
    const char *primary;
    int n_record;
    const char **record; /* names of metrics */
    double every;        /* s between rows of the series, 0: automatic */
    bool series;
    int n_fields;
    const char **fields;
    bool with_forces; /* the series have columns of forces, */
    int n_forces;
    const char **forces; /* [n_forces] those of record and primary that are figures of a force */
  } metrics;
  struct {
    int n_plots, n_tables;
    const char **plots, **tables;
    const char *summary_text; /* the cells that the table at the end of a run shows */
    perp_expr *summary;       /* over all columns; NULL: the best of each */
    struct {
      bool given;
      const char *y, *x;           /* a metric; a metric or a parameter; NULL: chosen by the page */
      const char *colour, *panels; /* parameters that are told apart so; NULL: chosen by the page */
      perp_expr *where;            /* the runs that it shows; NULL: all */
    } figure;                      /* on top of the page */
  } report;
} perp_study;

/* The figures that report.plots may name; the last one has no name. */
typedef struct perp_plot_name {
  const char *name, *what;
} perp_plot_name;
extern const perp_plot_name perp_plot_names[];

typedef struct perp_study_request {
  const char *file;       /* path; with text NULL it is read */
  const char *text;       /* the content, when it is in memory already */
  const perp_node *tree;  /* or when it was read already; it lives as long as the study */
  const char *profile;    /* NULL: `short` where the study has one; "": none */
  const char *const *set; /* "key=value" */
  int n_set;
  const perp_cell_kind *const *kinds; /* NULL: those registered */
} perp_study_request;

/* Loads a plug-in file that a study names; *kept, to be freed, is where it is for good.  received:
 * the study lies in a results folder, which may come from anybody.  Registered before the first
 * study is read; without, a study with plug-ins is refused. */
typedef perp_status (*perp_study_loader)(perp_ctx *ctx, const char *path, bool received,
                                         char **kept);
void perp_register_study_loader(perp_study_loader load);

/* Read, merge, check.  PERP_OK and *out; PERP_ERR_FORMAT: the file is not valid; PERP_ERR_OPTION:
 * the profile or a --set is not; PERP_ERR_IO: the file cannot be read.  diag has the messages. */
perp_status perp_study_read(perp_ctx *ctx, const perp_study_request *request, perp_diag *diag,
                            perp_study **out);
void perp_study_free(perp_study *study);

/* The value of a parameter of its canonical text, which is borrowed: REAL and INT are numbers, in
 * the unit of the parameter, all others texts; "" is missing.  `text` of a number is its canonical
 * text, too. */
perp_value perp_param_value(const perp_param *param, const char *text);
/* The canonical text of a number. */
void perp_param_format(const perp_param *param, double v, char *buf, size_t size);
/* As a member of a JSON object, or of a list (key NULL): a number as a number. */
void perp_param_json(perp_json *json, const char *key, const perp_value *value);
/* For kinds: add an axis, replace the values of one, or set a hidden parameter, with texts that are
 * canonical already. */
void perp_study_add_axis(perp_study *study, int param, const char *const *text, int n);
void perp_study_set_axis(perp_study *study, perp_axis *axis, const char *const *text, int n);
void perp_study_fix(perp_study *study, int param, const char *text);
/* Values of a parameter as a study file gives them: one is fixed, several are an axis. */
void perp_study_read_param(perp_ctx *ctx, perp_study *study, perp_diag *diag, int param,
                           const perp_node *node);
/* An error at a node, without a hint. */
#define PERP_WRONG(diag, at, ...) perp_diag_error(diag, at, 0, NULL, __VA_ARGS__)
/* Unknown members of a map become errors. */
void perp_study_check_keys(perp_diag *diag, const perp_node *map, const char *what,
                           const char *const *keys);
/* Canonical text of one value of a parameter; NULL after an error, which diag has.  `text` may be a
 * part of the scalar `at`. */
const char *perp_param_canonical(perp_ctx *ctx, perp_pool *pool, perp_diag *diag,
                                 const perp_param *param, const perp_node *at, const char *text);

/* A column by name, -1 when there is none. */
int perp_study_column(const perp_study *study, const char *name);
/* Metric of the kind by name; NULL when there is none. */
const perp_metric *perp_study_metric(const perp_study *study, const char *name);
/* Find a study that comes with perp, or a file.  NULL: neither (message in ctx). */
char *perp_study_find(perp_ctx *ctx, const char *name);

/* What a value of its parameter, in canonical form, is by the key; from pool. */
const char *perp_study_key_text(const perp_ctx *ctx, const perp_study *study, perp_pool *pool,
                                const perp_study_key *key, const char *value);

/* How long the name is in a value, before its options. */
size_t perp_study_name_length(const perp_param *param, const char *value);

extern const char *const perp_replicated_names[]; /* NULL-terminated, in the order of the enum */

#endif
