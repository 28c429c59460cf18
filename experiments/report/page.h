/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page being written: what the sections of a report share. */
#ifndef PERP_REPORT_PAGE_H
#define PERP_REPORT_PAGE_H

#include "experiments/pages/csv.h"
#include "experiments/pages/plot_draw.h"
#include "experiments/answers/headline.h"
#include "experiments/base/progress.h"

/* Of the figures that grow with the study so many are drawn; all with --figs all. */
enum { PERP_PAGE_FACETS = 12 };

typedef struct perp_page {
  perp_ctx *ctx;
  const char *dir;     /* the results folder, of several the first */
  const char *figs;    /* folder of the figures */
  const char *link;    /* the same as the page refers to it */
  const char *formats; /* of the figures */
  double width;        /* of the figures in print, cm */
  bool all_figures;    /* else those of the best PERP_PAGE_FACETS choices of the other parts */
  perp_results *results;
  const perp_study *study; /* of the results */
  perp_view view;
  perp_headline top; /* the figure on top */
  perp_pool pool;
  const char *section; /* of the page, to which the next figures belong */
  bool lesser;         /* they are not the chief ones */
  perp_text drawn;     /* the figures as LaTeX macros (tex.h) */
  perp_text chief;     /* the names of those that are not the lesser ones, a line each */
  perp_json figures;   /* those that are drawn or have no point, for drawn_json */
  char *drawn_json;
  bool counting;          /* figures are counted, not drawn */
  int n_figures;          /* that will be drawn */
  perp_progress progress; /* of the drawing */
  perp_text warnings;     /* one line each: what could not be drawn and why */
  int undrawn;            /* had points, but gnuplot failed or the files could not be written */
  perp_text failed;       /* names of the last ones of these, which all failed for one reason ... */
  const char *reason;     /* ... that is not said yet */
} perp_page;

/* Value of a metric of a cell; NaN when it has none. */
double perp_page_value(const perp_page *page, int cell, const char *metric);
/* "err.tip.max [m]": name and unit of a metric. */
const char *perp_page_axis(perp_page *page, const char *metric);
/* "largest error of the tip [m]": the same in words, for the axis of a figure. */
const char *perp_page_title(perp_page *page, const char *metric);
/* "step size h [s]" */
const char *perp_page_abscissa(perp_page *page);
/* What the values of a metric cannot be told from: ten times the uncertainty of the reference of
 * the coordinates, for relative errors the rounding 1e-13; 0 else.  *shade out: the first of these
 * alone, 0 without. */
double perp_page_noise(perp_page *page, const char *metric, double *shade);
/* Has some cell whose figures stand this metric? */
bool perp_page_has(const perp_page *page, const char *metric);

/* "DIR/series/CELL.csv" of a cell, in the pool. */
const char *perp_page_file(perp_page *page, int cell, const char *folder, const char *suffix);
/* The series of a cell, if it has any. */
bool perp_page_read_series(perp_page *page, int cell, perp_csv *csv);
/* A curve without a point yet, in the pool, with room for `most`; and one more point of it. */
perp_curve perp_page_curve(perp_page *page, const char *label, perp_plot_style style, int colour,
                           int most);
void perp_page_point(perp_curve *curve, double x, double y);
/* One column of a series over another one; without a point when it lacks one of them. */
perp_curve perp_page_series_curve(perp_page *page, const perp_csv *series, const char *x,
                                  const char *y, const char *label, int colour);
/* Draw a figure into figs; what goes wrong becomes a warning of the page. */
void perp_page_figure(perp_page *page, const perp_figure *f, const char *caption);
/* Name on stderr those that failed and are not named yet: when all is drawn. */
void perp_page_say_failed(perp_page *page);

/* ---- the figures of gnuplot, for documents; each draws nothing when it has nothing to show ----
 */

void perp_page_top(perp_page *page);      /* the figure on top of the page */
void perp_page_problems(perp_page *page); /* profiles of problems x solvers */
void perp_page_curves(perp_page *page);   /* work-precision, convergence, time against size */
void perp_page_series(perp_page *page);   /* drift and energy over time */

/* What distributions over problems are: one description for the pictures and for the script of the
 * page. */
enum { PERP_PROFILE_PERFORMANCE, PERP_PROFILE_DATA, PERP_PROFILE_ECDF, PERP_PROFILES };
typedef struct perp_profile_words {
  const char *id, *title, *caption;
} perp_profile_words;
extern const perp_profile_words perp_profiles[PERP_PROFILES];

/* report.json (docs/reference/report.md): one object of all that the page shows: study, findings,
 * cells column by column (parameters, status, metrics), the abscissa, thinned series, replays. Long
 * arrays are float32, little endian, in base64. */
void perp_page_data(perp_page *page, FILE *out);
/* Members of it that are numbers [n] into a list of so many: `of`, `bytes`; returns their bytes. */
size_t perp_page_indices(perp_json *j, const int *of, int n, int many);
/* The member `top`. */
void perp_page_top_json(perp_page *page, perp_json *j);
/* The members of it that are answers, claims and tables. */
void perp_page_findings(perp_page *page, perp_json *j);

/* Tables and numbers for a LaTeX document.  Write into the folder dir, which is made:
 *   tables.tex    \perpFindings, what was found; \perpMoreFindings; \perpAnswers, the answers in
 * words; booktabs tables, each a macro that a table environment takes: \perpAnswerTable{1}, ... of
 * a column's width, \perpSummary (and \perpSummaryRows, what all its rows share), \perpClaims,
 *                 \perpPublished, \perpStatus, \perpSolvers (those that the study has)
 *   numbers.tex   \perpvalue{cells}, \perpvalue{cells.ok}, \perpvalue{best.err.tip.max}, ...: an
 * unknown name is an error of the document, so that no number of another study slips in; the file
 * lists all names figures.tex   \perpFigure{work-precision}: \includegraphics of the pictures in
 * figs, with their captions, or of the pictures that LaTeX draws (--figs tikz); \perpfigs says
 * where they are example.tex   a document with all of it */
perp_status perp_page_tex(perp_page *page, const char *dir);
/* The answers of tables.tex: \perpAnswers, \perpAnswerTable{1}, ...  Returns how many there are. */
int perp_page_tex_answers(perp_page *page, FILE *out);

/* ---- shared by sections ---- */

bool perp_page_has_problems(const perp_page *page); /* are the cells problems x solvers? */
/* The cells that stand for the i-th published figure of the study, row [cells]; returns their
 * number. */
int perp_page_published_cells(const perp_page *page, int i, int *row);
/* What tells a cell from the others: the varying plug-ins, then the abscissa. */
const char *perp_page_row_label(perp_page *page, int cell);
/* Rows of a table: what they have in common, for its caption ("chain, rk4, h = 0.001"; "" where
 * they differ in all), and in label [n] what tells each from the others. */
const char *perp_page_labels(perp_page *page, const int *row, int n, const char **label);
/* The scene of a cell; "" without one. */
const char *perp_page_scene(const perp_page *page, int row);
/* The best cell of each curve by the primary metric at the step that is shown, scene by scene, the
 * best first; at most `most`.  Returns their number. */
int perp_page_ranked(perp_page *page, int *cell, int most);
/* The metrics worth a column: the primary one, those recorded, the time of a step.  Returns their
 * number. */
int perp_page_shown_metrics(perp_page *page, const char **metric, int most);
/* The abscissa at which series are shown: 1 ms when it was run, else the middle one; NaN without
 * one. */
double perp_page_shown_x(const perp_page *page);
/* Is row[i] the best of its scene among row [n] in a metric, or equal to it below the floor, and
 * may it win? */
bool perp_page_best_of_scene(perp_page *page, const int *row, int n, int i, const char *metric);

#endif
