/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals: numbers that are functions of time, s(t), with their first and second derivative.
 *
 *      constant   offset
 *      sine       offset + amplitude sin(rate t + phase)
 *      table      straight lines through (t_i, y_i); before the first and after the last as there
 *      spline     the natural cubic spline through (t_i, y_i); beyond its ends straight on, as it
 * leaves them function   whatever `of` says: it gives all three exactly
 *
 * The rate of a table jumps at its points: there it is that of the line that begins, and what needs
 * an acceleration (the motion of a body) refuses tables. */
#ifndef PERP_SIGNAL_H
#define PERP_SIGNAL_H

#include "solvers/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum perp_signal_kind {
  PERP_SIGNAL_CONSTANT,
  PERP_SIGNAL_SINE,
  PERP_SIGNAL_TABLE,
  PERP_SIGNAL_SPLINE,
  PERP_SIGNAL_FUNCTION
} perp_signal_kind;

/* y [3] out: s, ds/dt and d2s/dt2 at t.  The same numbers for the same t, whenever it is asked. */
typedef void perp_signal_fn(const void *user, double t, double y[3]);

typedef struct perp_signal_def {
  perp_signal_kind kind;
  double offset, amplitude, rate, phase; /* rate: rad/s; phase: rad */
  int n;                                 /* points of a table or spline: at least 2, times rise */
  const double *t, *y;                   /* [n] s, and the unit of the signal; copied */
  perp_signal_fn *of;
  void *user;                  /* of `of` */
  void (*destroy)(void *user); /* with the signal, when it has been made; NULL: user outlives it */
  const char *text;            /* how a scene file says the function; copied; NULL: it cannot */
} perp_signal_def;

typedef struct perp_signal perp_signal;

/* "constant", "sine", ...; NULL when there is no such kind. */
const char *perp_signal_kind_name(perp_signal_kind kind);
/* A signal of its own; who: begins messages.  PERP_ERR_ARG: numbers that are not finite, points
 * that are too few or out of order, no function; PERP_ERR_NOMEM; *out is NULL then.  O(n). */
perp_status perp_signal_create(perp_ctx *ctx, const perp_signal_def *def, const char *who,
                               perp_signal **out);
void perp_signal_destroy(perp_signal *signal); /* NULL is fine */
/* The same, but user is the caller's again. */
void perp_signal_forget(perp_signal *signal);
/* y [3] out: s, its first and its second derivative at t.  Allocates nothing; O(log n). */
void perp_signal_at(const perp_signal *signal, double t, double y[3]);
/* What it was made of, with arrays of its own. */
const perp_signal_def *perp_signal_definition(const perp_signal *signal);

#ifdef __cplusplus
}
#endif

#endif
