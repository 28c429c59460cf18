/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lessons: a story, a prediction, a run, figures, an exercise.  Each is one YAML file of this
 * folder; this is the engine that tells them.
 *
 *   schema: perp-lesson/1
 *   title: Why constraints drift
 *   story: [paragraph, ...]
 *   predict: { ask, choices: [...], answer: 2, because }     # counted from 1
 *   study: { scene, grid, metrics, claims, ... }             # as for perp run; what the lesson
 * computes lcp: { A, b, lo, hi, solvers, vary }                      # or a problem solved pivot by
 * pivot plots: [{ title, kind: cells | series, x, y, by, where, log: xy }] explore: { title, text,
 * set: [...], slide: [{ text, of: stab.alpha }], plot, over, numbers: [{ text, of }] } show: [{
 * text: "... {} ...", expr }]                     # numbers from the results, put in place of {}
 *   end: [paragraph, ...]
 *   exercise: { ask, try: stab, set: [h=4ms], check: expression, solution, wrong, hint }
 *             or { ask, expr, within: 10%, solution, wrong, hint }
 *
 * The page of a lesson has sliders.  `explore` is the study run once more with the settings `set`,
 * so that its grid has the cells of every position of the sliders; a slider goes over the values
 * that a parameter or the option of one has. `plot` shows the cells at the positions, `over`
 * (optional) what a metric does over the first slider, `numbers` are metrics of the cells.  In a
 * pivoting lesson, vary: { row, values, text } goes over values of one b.
 *
 * `try` is the parameter of the study that the answer of the reader sets before `check` is asked of
 * the results; with `expr` the answer is a number that must lie within a share of that of the
 * expression. */
#ifndef PERP_LESSON_H
#define PERP_LESSON_H

#include "experiments/results/results.h"

typedef struct perp_lesson_plot {
  const char *title, *x, *y, *by, *where, *log;
  bool series;
} perp_lesson_plot;

typedef struct perp_lesson_number {
  const char *text, *expr;
} perp_lesson_number;

enum { PERP_LESSON_ROWS = 8, PERP_LESSON_SLIDERS = 2, PERP_LESSON_VALUES = 24 };
typedef struct perp_lesson_explore {
  const char *title, *text; /* title NULL: none */
  int n_set, n_slide, n_numbers;
  const char **set;
  perp_lesson_plot plot, over;         /* over.title NULL: none */
  perp_lesson_number *slide, *numbers; /* expr: the parameter or option; the metric */
} perp_lesson_explore;

typedef struct perp_lesson {
  perp_pool pool;
  const char *name, *title;
  int n_story, n_end, n_choices, n_plots, n_show, n_set, n_solvers;
  const char **story, **end, **choices, **set, **solvers;
  const char *ask, *because;
  int answer; /* 1 ... n_choices; 0: nothing is predicted */
  perp_lesson_plot *plots;
  perp_lesson_number *show;
  char *study; /* text of a study file; NULL: none */
  int n;       /* rows of the pivoting problem; 0: none */
  double A[PERP_LESSON_ROWS * PERP_LESSON_ROWS], b[PERP_LESSON_ROWS], lo[PERP_LESSON_ROWS],
      hi[PERP_LESSON_ROWS];
  struct {
    int row, n; /* n = 0: nothing varies */
    double value[PERP_LESSON_VALUES];
    const char *text;
  } vary;
  perp_lesson_explore explore;
  struct {
    const char *ask, *try, *check, *expr, *hint, *solution, *wrong;
    double within;
  } exercise;
} perp_lesson;

typedef struct perp_lesson_file {
  const char *name, *path, *title;
} perp_lesson_file;
/* All lessons there are, in the order in which they are best taken (order.txt). */
int perp_lesson_files(perp_pool *pool, perp_lesson_file **files);

/* Read and check; diag has the messages.  PERP_ERR_FORMAT, PERP_ERR_IO. */
perp_status perp_lesson_read(perp_ctx *ctx, const char *path, const char *name, perp_diag *diag,
                             perp_lesson **out);
void perp_lesson_free(perp_lesson *lesson);

/* Run the study of a lesson with further settings ("stab=post") in the folder dir.  Nothing is
 * printed but errors; PERP_ERR_OPTION when a setting is not valid, with the reason in ctx. */
perp_status perp_lesson_run(perp_ctx *ctx, const perp_lesson *lesson, const char *const *set,
                            int n_set, const char *dir, perp_results *results);

/* A number of one cell: a column of the study, or an option of a plug-in ("scene.links"); NaN when
 * there is none. Angles in degrees; *unit (may be NULL) is what it is in. */
double perp_lesson_at(perp_ctx *ctx, perp_results *results, const char *name, int cell,
                      const char **unit);
/* "4 ms", "26 deg", "0.5" */
const char *perp_lesson_quantity(perp_pool *pool, double value, const char *unit);

/* The curves of a plot, in pool; with `only` [cells] of some cells.  Curves are sorted by x and
 * have no point that their axes cannot show. */
typedef struct perp_lesson_curve {
  const char *label;
  int n;
  const double *x, *y;
} perp_lesson_curve;
typedef struct perp_lesson_figure {
  int n;
  perp_lesson_curve *curve;
  const char *x, *y; /* axes with units */
} perp_lesson_figure;
void perp_lesson_pick(perp_ctx *ctx, perp_pool *pool, perp_results *results,
                      const perp_lesson_plot *plot, const bool *only, perp_lesson_figure *out);

/* Drawn by gnuplot as text for the terminal (pool).  NULL without gnuplot or without a point. */
const char *perp_lesson_draw(perp_pool *pool, const perp_lesson_figure *figure,
                             const perp_lesson_plot *plot);

/* The problem of a lesson, and how one solver solves it, told pivot by pivot: index sets, lambda
 * and w, where each row is on its (lambda, w) diagram, the tableau.  pause (may be NULL) is called
 * after each pivot.  Solver "all": every index set is tried. */
void perp_lesson_problem(const perp_lesson *lesson, FILE *out);
perp_status perp_lesson_pivots(perp_ctx *ctx, const perp_lesson *lesson, const char *solver,
                               FILE *out, void (*pause)(void));

/* Write the page (experiments/web): the runs of the sliders are made for it.  results NULL: a
 * pivoting lesson.  dir: of the run; those of the sliders go there. */
perp_status perp_lesson_page(perp_ctx *ctx, const perp_lesson *lesson, perp_results *results,
                             const char *dir, const char *path);

/* "the drift falls by a factor of {}": the number in place of the braces. */
void perp_lesson_say(perp_ctx *ctx, perp_results *results, const perp_lesson_number *number,
                     perp_text *out);

/* One step of a scene in full, semi-implicit Euler on the velocity level: q, v, C, J, A, b, lambda,
 * the state after it. */
perp_status perp_lesson_step(perp_ctx *ctx, const char *scene, double h, FILE *out);

/* Is the answer to the exercise right?  *why: what came out.  PERP_ERR_OPTION when the answer is
 * not valid. */
perp_status perp_lesson_check(perp_ctx *ctx, const perp_lesson *lesson, const char *answer,
                              const char *dir, bool *right, perp_text *why);

#endif
