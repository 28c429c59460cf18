/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that a page calls of the WebAssembly module (experiments/web/live/module.ts).
 * Texts are UTF-8 that ends with a zero byte; what is returned as text or array lives until the
 * next call that returns one of the same name.  Nothing is thread-safe: a page has one thread. */
#ifndef PERP_LIVE_H
#define PERP_LIVE_H

#include "experiments/base/json.h"
#include "models/formulations/equivalent.h"
#include "models/models.h"

#ifdef __wasm__
#define LIVE_EXPORT(name) __attribute__((export_name(#name)))
#else
#define LIVE_EXPORT(name) /* of tests, which compare the module with the same functions here */
#endif

/* The registry of the module; made at the first call. */
perp_ctx *live_ctx(void);
/* A text that grows, for JSON: open_memstream.  live_text_end: what was written. */
FILE *live_text_begin(void);
const char *live_text_end(void);

/* ---- simulations ---- */

enum {
  LIVE_BALLS = 12,
  LIVE_EVENTS = 1024, /* of the solvers in one step */
  LIVE_EVENT = 6,     /* numbers of each: problem, iteration, residual, step, entering, leaving */
  LIVE_CONTACT = 8,   /* numbers of each: place, impulse (N s, on body b), gap (m), bodies a, b */
  LIVE_ROWS = 600,
  LIVE_ROW = 6, /* numbers of each: problem, lambda, w, lo, hi, normal row (-1) */
  LIVE_FIGURES = 24,
  LIVE_NOW = 8 /* of a measured run: live_now */
};

/* A problem of the pane of matrices.  fric_of, mu, cone: of friction rows whose limits follow a
 * normal row, as perp_lcp has them; -1, 0, 0 elsewhere.  name: what a row is; "" where not known.
 */
enum { LIVE_SMALL = 8 };
typedef struct live_problem {
  int n, fric_of[LIVE_SMALL];
  double A[LIVE_SMALL * LIVE_SMALL], b[LIVE_SMALL], lo[LIVE_SMALL], hi[LIVE_SMALL], mu[LIVE_SMALL];
  signed char cone[LIVE_SMALL];
  char name[LIVE_SMALL][160];
} live_problem;

/* What acts on a body and is no part of the scene: a spring from a point of it to the mouse, and
 * balls that were shot. */
typedef struct live_ball {
  double x[3], v[3], radius, mass;
} live_ball;

typedef struct live_measure live_measure;

typedef struct live_run {
  perp_scene scene;
  perp_equivalent *extended; /* NULL: the scene as it is, without a spring */
  perp_model *model;         /* of the scene, or extended */
  perp_parts parts;
  perp_sim *sim;
  double h;
  bool playable;
  int spring; /* force element of the mouse, -1 */
  int n_balls;
  live_ball ball[LIVE_BALLS];
  perp_step_info info;
  double energy0;
  /* of the last step */
  int64_t calls, problems_before, iterations_before;
  double work_before;
  int n_events, seen, n_contacts, n_rows, problem_number;
  double event[LIVE_EVENTS * LIVE_EVENT], row[LIVE_ROWS * LIVE_ROW], figure[LIVE_FIGURES];
  double *contact;
  int contact_room;
  double *error; /* C(q) after the step */
  int error_room;
  live_measure *measure; /* NULL: not measured */
  live_problem problem;  /* the largest of at most 8 rows; n 0: none */
} live_run;

/* ---- measured runs ---- */

void live_measure_free(live_measure *measure);
/* Where the run ends: infinity where it is not measured. */
double live_measure_end(const live_measure *measure);
void live_measure_state(live_run *run, const perp_step_info *info);

/* ---- what the page calls: each is described where it is ---- */

void *live_room(size_t bytes);
void live_free(void *room);
const char *live_message(void);
const char *live_scene(const char *name, const char *json);
void live_put_problem(perp_json *json, const live_problem *problem);
const char *live_methods(void);
const char *live_spec(const char *kind, const char *method);
const char *live_matrix(const char *text, int directions);
const char *live_solve(const char *solver, const char *text);
int live_answer(const char *solver, int n, const double *A, const double *b, const double *lo,
                const double *hi, double *lambda, double *figures);
live_run *live_open(const char *scene, const char *formulation, const char *ode, const char *kkt,
                    const char *lcp, const char *stab, const char *contact, double h, int playable);
void live_close(live_run *run);
const char *live_describe(live_run *run);
int live_step(live_run *run);
int live_measured(live_run *run, double t_end, double every);
double live_metric(live_run *run, const char *name);
const double *live_now(live_run *run);
const double *live_figures(live_run *run);
const double *live_events(live_run *run);
const double *live_rows(live_run *run);
const double *live_contacts(live_run *run);
const double *live_q(live_run *run);
const double *live_v(live_run *run);
int live_set(live_run *run, double t, const double *q, const double *v);
void live_grab(live_run *run, int body, double s0, double s1, double s2, double x0, double x1,
               double x2, double frequency, double ratio);
int live_push(live_run *run, int body, double v0, double v1, double v2);
int live_shoot(live_run *run, double x0, double x1, double x2, double v0, double v1, double v2,
               double radius, double mass);
const char *live_problem_of(live_run *run);
const char *live_export(live_run *run, const char *name);

#endif
