/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lessons: a story, a prediction, a run, figures, exercises.  Each is a folder.
 *
 * lesson.yaml:
 *   schema: perp-lesson/2
 *   title: Why constraints drift
 *   minutes: 15
 *   predict: { ask, choices: [...], answer: 2, because }     # counted from 1
 *   study: { scene, grid, metrics, claims, ... }             # as for perp run
 *   lcp: { A, b, lo, hi, solvers, vary }                     # or a problem solved pivot by pivot
 *   plots: [{ title, kind: cells | series | path, x, y, by, where, log: xy }]
 *   show: [{ text: "... {} ...", expr }]                     # the number replaces {}
 *   explore: { title, text, set: [...], slide: [{ text, of: stab.alpha }], plot, over,
 *              numbers: [{ text, of }] }
 *   live: { text, scene, formulation, ode, kkt, lcp, stab, contact, against, h, fixed,
 *           slide: [{ text, of: h | stab.alpha, values: [...] }] }
 *   exercises: [{ ask, try: stab, set: [h=4ms], check: expression, solution, wrong, hint, because,
 *                 stored: [...] }
 *               or { ask, expr, within: 10%, set, solution, wrong, hint, because }]
 * lesson.md: Markdown with $mathematics$; its headings of level 1 are Story, Conclusion, Slides.
 * notes.md: notes for the teacher.  Files of scenes lie beside.
 *
 * The page of a lesson has sliders.  `explore` is the study run once more with the settings `set`,
 * so that its grid has the cells of every position of the sliders; a slider goes over the values
 * that a parameter or the option of one has. `plot` shows the cells at the positions, `over`
 * (optional) a metric over the first slider, `numbers` are metrics of the cells.  In a pivoting
 * lesson, vary: { row, values, text } goes over values of one b.  `live` is a simulation that the
 * page itself computes.
 *
 * `try` is the parameter of the study that the answer of the reader sets before `check` is asked of
 * the results; with `expr` the answer is a number that must lie within a share of that of the
 * expression. */
#ifndef PERP_LESSON_H
#define PERP_LESSON_H

#include "experiments/results/results.h"

typedef struct perp_lesson_plot {
  const perp_node *at;
  const char *title, *x, *y, *by, *where, *log;
  const char *x_label, *y_label; /* NULL: from the names of the quantities */
  const char **names;            /* of the quantities of y in the legend; NULL: as in y */
  int n_names;
  bool series, path; /* path: of series, y against x in the order of time */
} perp_lesson_plot;

typedef struct perp_lesson_number {
  const perp_node *at;
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

typedef struct perp_lesson_exercise {
  const perp_node *at;
  const char *ask, *try, *check, *expr, *hint, *solution, *wrong, *because; /* because: or NULL */
  const char **set, **stored;
  int n_set, n_stored;
  double within;
} perp_lesson_exercise;

typedef struct perp_lesson {
  perp_pool pool;
  const char *name, *folder, *file, *title; /* file: lesson.yaml */
  const char *call;                         /* name or path, as a word of a shell */
  int minutes;
  const char *story, *conclusion, *slides, *notes; /* Markdown; slides, notes: or NULL */
  int n_choices, n_plots, n_show, n_solvers, n_exercises;
  const char **choices, **solvers;
  const char *ask, *because;
  int answer; /* 1 ... n_choices */
  perp_lesson_plot *plots;
  perp_lesson_number *show;
  const perp_node *study; /* as that of a study file; NULL: none */
  const perp_node *live;  /* NULL: none */
  int n;                  /* rows of the pivoting problem; 0: none */
  double A[PERP_LESSON_ROWS * PERP_LESSON_ROWS], b[PERP_LESSON_ROWS], lo[PERP_LESSON_ROWS],
      hi[PERP_LESSON_ROWS];
  struct {
    int row, n; /* n = 0: nothing varies */
    double value[PERP_LESSON_VALUES];
    const char *text;
  } vary;
  perp_lesson_explore explore;
  perp_lesson_exercise *exercises;
} perp_lesson;

/* A list of lessons: schema perp-course/1, title, text, lessons: [name, ./path, ...]. */
typedef struct perp_course {
  perp_pool pool;
  const char *title, *text;
  int n;
  struct perp_course_lesson {
    const char *name, *folder, *title, *call;
    int minutes, exercises;
  } * lesson;
} perp_course;
/* The file of all lessons that come with perp, in the order in which they are best taken; in pool,
 * NULL when there is none. */
const char *perp_course_file(perp_pool *pool);
/* Is it a course?  A file whose name ends in .yaml and whose schema is that of courses. */
bool perp_course_is(const char *path);
/* Read a course and the heads of its lessons; diag has the messages.  PERP_ERR_FORMAT, PERP_ERR_IO.
 */
perp_status perp_course_read(perp_ctx *ctx, const char *path, perp_diag *diag, perp_course **out);
void perp_course_free(perp_course *course);
/* Is it the folder of a lesson? */
bool perp_lesson_is(const char *path);

/* Read and check the lesson in a folder; diag has the messages.  PERP_ERR_FORMAT, PERP_ERR_IO. */
perp_status perp_lesson_read(perp_ctx *ctx, const char *folder, perp_diag *diag, perp_lesson **out);
void perp_lesson_free(perp_lesson *lesson);
/* Check what reading does not: the study and the methods it names, metrics, expressions, settings.
 * Errors are in diag with their lines. */
void perp_lesson_examine(perp_ctx *ctx, const perp_lesson *lesson, perp_diag *diag);

/* ---- what a lesson computes ---- */

/* Run the study of a lesson with further settings ("stab=post") in the folder dir.  Nothing is
 * printed but errors; PERP_ERR_OPTION when a setting is not valid, with the reason in ctx. */
perp_status perp_lesson_run(perp_ctx *ctx, const perp_lesson *lesson, const char *const *set,
                            int n_set, const char *dir, perp_results *results);
/* The study, without a run; NULL when a setting is not valid, with the reason in diag. */
perp_study *perp_lesson_study(perp_ctx *ctx, const perp_lesson *lesson, const char *const *set,
                              int n_set, perp_diag *diag);
/* A number of one cell: a column of the study, or an option of a plug-in ("scene.links"); NaN when
 * there is none. Angles in degrees; *unit (may be NULL) is what it is in. */
double perp_lesson_at(perp_ctx *ctx, perp_results *results, const char *name, int cell,
                      const char **unit);
/* "4 ms", "26 deg", "0.5" */
const char *perp_lesson_quantity(perp_pool *pool, double value, const char *unit);

/* The curves of a plot, in pool; with `only` [cells] of some cells.  Curves are sorted by x, but a
 * path, and have no point that their axes cannot show. */
typedef struct perp_lesson_curve {
  const char *label;
  int n;
  const double *x, *y;
  int cell;          /* of a series: the run, */
  const char *field; /* and its quantity; NULL: a curve over runs */
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

/* What a lesson has on its page, as a JSON object under `key`: the runs of the sliders and of the
 * exercises are made for it.  results NULL: a pivoting lesson.  dir: of the run; further runs go
 * there. */
perp_status perp_lesson_put(perp_ctx *ctx, const perp_lesson *lesson, perp_results *results,
                            const char *dir, perp_json *out);

/* Pages.  A lesson that was run (results NULL: it has no study), as one file. */
perp_status perp_lesson_page(perp_ctx *ctx, const perp_lesson *lesson, perp_results *results,
                             const char *dir, const char *path);
/* Every lesson of a course is run below dir.  As one file, or as the folder `path` of an index, a
 * page a lesson, and one script and one module for all. */
perp_status perp_course_pages(perp_ctx *ctx, const perp_course *course, const char *dir,
                              const char *path, bool single);

/* "the drift falls by a factor of {}": the number in place of the braces.  Is there one? */
bool perp_lesson_say(perp_ctx *ctx, perp_results *results, const perp_lesson_number *number,
                     perp_text *out);

/* One step of a scene in full, semi-implicit Euler on the velocity level: q, v, C, J, A, b, lambda,
 * the state after it. */
perp_status perp_lesson_step(perp_ctx *ctx, const char *scene, double h, FILE *out);

/* Is the answer to an exercise right?  *why: what came out.  PERP_ERR_OPTION when the answer is
 * not valid.  known: the run of the study, which is not repeated; NULL: it was not run.  want (may
 * be NULL): the number that was asked for. */
perp_status perp_lesson_check(perp_ctx *ctx, const perp_lesson *lesson,
                              const perp_lesson_exercise *exercise, const char *answer,
                              const char *dir, perp_results *known, bool *right, perp_text *why,
                              double *want);

#endif
