/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Truths that scenes share: closed forms, rest, joint coordinates, and tables of somebody's own. */
#ifndef PERP_TRUTHS_H
#define PERP_TRUTHS_H

#include "models/figures/playback.h"
#include "models/scenes/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Add a truth that answers at any time, from a copy of user [size bytes]. */
typedef void perp_truth_state(void *user, double t, double *q, double *v);
perp_status perp_truth_add(perp_ctx *ctx, perp_scene *scene, const char *what, double uncertainty,
                           perp_truth_state *state, const void *user, size_t size);

/* The initial state of the model, finished, in which it stays at rest. */
perp_status perp_truth_rest(perp_ctx *ctx, perp_scene *scene, const char *what);

/* The scene integrated in joint coordinates: formulation reduced, gsl:rk8pd with tolerance 1e-13,
 * made when first asked.  The model must be finished. */
perp_status perp_truth_reduced(perp_ctx *ctx, perp_scene *scene, double t_end, double uncertainty);

/* The scene event by event: formulation acceleration, dopri5 with tolerance 1e-11, made when first
 * asked.  The model must be finished, and scene->h set.  Where motions are sensitive (many impacts)
 * t_end is no later than two tolerances agree. */
perp_status perp_truth_events(perp_ctx *ctx, perp_scene *scene, double t_end, double uncertainty);

/* Rows of a reference file of perp, as text with all its digits: see
 * tests/data/reference/README.md, where perp_scene_create says it is looked for.  names [n]: the
 * columns that are wanted.  map turns their values at one time into (q, v), with a copy of user
 * [size bytes]; without it they are q and then v.  PERP_ERR_IO, PERP_ERR_FORMAT. */
typedef void perp_truth_map(void *user, double t, const double *row, double *q, double *v);
perp_status perp_truth_file(perp_ctx *ctx, perp_scene *scene, const char *file, double uncertainty,
                            int n, const char *const *names, perp_truth_map *map, const void *user,
                            size_t size);

/* A motion through poses (models/figures/playback.h), until its last pose: what the figure of the
 * scene should do, not what it does where nothing drives it.  Owns playback, which is destroyed
 * with the scene and on failure.  PERP_ERR_NOMEM. */
perp_status perp_truth_playback(perp_ctx *ctx, perp_scene *scene, const char *what,
                                perp_playback *playback, double uncertainty);
/* The first of these of a scene, for its accelerations; NULL: it has none. */
perp_playback *perp_truth_playback_of(const perp_scene *scene);

/* Room for one more truth, with its `what`; NULL and an error: there is none. */
perp_truth *perp_truth_slot(perp_ctx *ctx, perp_scene *scene, const char *what);

/* ---- tables ---- */

/* A table of somebody's own: comma-separated, lines with # are comments, the header has names with
 * units in brackets,
 *
 *      # uncertainty: 1e-9
 *      # source: measured by hand
 *      t [s], bob.x [mm], bob.z [mm]
 *      0, 100, 0
 *
 * the first column is the time, which does not fall.  A column `uncertainty` stands in the place of
 * that line; a column `event` has words.  All numbers are finite. */
typedef struct perp_data {
  char *path;
  int rows, n, header; /* header: its line */
  char **name, **unit; /* [n] */
  double *x;           /* [rows][n]; of a word its number */
  int n_words;
  char **word;        /* [n_words] */
  double uncertainty; /* the largest; NaN: not said */
  char source[96];
} perp_data;
/* PERP_ERR_IO, PERP_ERR_FORMAT with file and line; *out is then empty.  Allocates; O(file). */
perp_status perp_data_read(perp_ctx *ctx, const char *path, perp_data *out);
void perp_data_free(perp_data *columns);
int perp_data_find(const perp_data *columns, const char *name); /* -1: there is none */
/* Column k, which is a quantity with this SI unit, in SI.  PERP_ERR_FORMAT: it is something else.
 */
perp_status perp_data_si(perp_ctx *ctx, perp_data *columns, int k, const char *unit);

/* Coordinates of a body and their rates, as columns name them: x, y, z, qw ... qz, vx, vy, vz, wx,
 * wy, wz in space (w in the body frame), x, y, angle, vx, vy, omega in the plane. */
int perp_coordinates(int dim);
const char *perp_coordinate_name(int dim, int k);
const char *perp_coordinate_unit(int dim, int k);
/* "BODY.x", BODY the name or the number of a body.  PERP_ERR_ARG. */
perp_status perp_coordinate_find(perp_ctx *ctx, const perp_model *model, const char *text,
                                 int *body, int *k);

/* The states of all bodies, a row at each time, rising: all coordinates and rates of each.
 * uncertainty: NaN: that of the table, and 0 where it says none. */
perp_status perp_truth_columns(perp_ctx *ctx, perp_scene *scene, const char *path,
                               double uncertainty);
/* Any coordinates over time as the metric of this name, which lives as long as the scene: the
 * largest |x - x_exact| of a column at a row of the table, all in SI, within the run.  Between two
 * accepted states coordinates are taken from the cubic polynomial that has both and their rates,
 * rates and quaternions from the straight line.  A figure below the uncertainty of the table, which
 * is one of all its columns in SI, would mean nothing: that is its floor. */
perp_status perp_gauge_columns(perp_ctx *ctx, perp_scene *scene, const char *metric,
                               const char *path);
/* A table t, event: the times when events happen.  An event is that a coordinate of a body passes a
 * value: a place at the time of the straight line between two accepted states, a rate at the end of
 * the step, where an impact is.  The i-th time of an event is compared with the i-th row of its
 * name.  event.err: the largest difference, infinity when one that is due (time <= end of the run -
 * slack) was never seen; not below the uncertainty of the table [s]. */
typedef struct perp_event {
  const char *name;
  int body, k; /* coordinate: see above */
  double value;
  int direction; /* 1: rising, -1: falling, 0: both */
} perp_event;
perp_status perp_gauge_event_columns(perp_ctx *ctx, perp_scene *scene, const char *path, int n,
                                     const perp_event *events, double slack);
/* The same of times that are known here: times [n_times], those of each event rising, event
 * [n_times] which of the n. Copies both. */
perp_status perp_gauge_event_times(perp_ctx *ctx, perp_scene *scene, int n,
                                   const perp_event *events, int n_times, const double *times,
                                   const int *event, double slack);

#ifdef __cplusplus
}
#endif

#endif
