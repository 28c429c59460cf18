/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals: see the header.  The spline has its second derivatives m_i at the points,
 *
 *      h_(i-1) m_(i-1) + 2 (h_(i-1) + h_i) m_i + h_i m_(i+1) = 6 (d_i - d_(i-1))
 *
 *      d_i = (y_(i+1) - y_i) / h_i
 *
 * m = 0 at both ends: a tridiagonal system that is diagonally dominant. */
#include "models/multibody/signal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct perp_signal {
  perp_signal_def def;
  double *m; /* [n] second derivatives of the spline */
};

static const char *const names[] = { [PERP_SIGNAL_CONSTANT] = "constant",
                                     [PERP_SIGNAL_SINE] = "sine",
                                     [PERP_SIGNAL_TABLE] = "table",
                                     [PERP_SIGNAL_SPLINE] = "spline",
                                     [PERP_SIGNAL_FUNCTION] = "function" };

const char *perp_signal_kind_name(perp_signal_kind kind)
{
  return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

static bool signal_has_points(perp_signal_kind kind)
{
  return kind == PERP_SIGNAL_TABLE || kind == PERP_SIGNAL_SPLINE;
}

static perp_status signal_check(perp_ctx *ctx, const perp_signal_def *def, const char *who)
{
  if (perp_signal_kind_name(def->kind) == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: unknown kind of signal: %d", who, (int)def->kind);
  if (!isfinite(def->offset) || !isfinite(def->amplitude) || !isfinite(def->rate) ||
      !isfinite(def->phase))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a value of its signal is not finite", who);
  if (def->kind == PERP_SIGNAL_FUNCTION && def->of == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: its signal is a function, but the function is missing",
                     who);
  if (!signal_has_points(def->kind)) return PERP_OK;
  if (def->n < 2 || def->t == NULL || def->y == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a %s needs at least two points: got %d", who,
                     names[def->kind], def->n);
  for (int i = 0; i < def->n; i++) {
    if (!isfinite(def->t[i]) || !isfinite(def->y[i]))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: point %d of its %s is not finite", who, i,
                       names[def->kind]);
    if (i > 0 && !(def->t[i] > def->t[i - 1]))
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: the times of its %s must increase: %g s is followed by %g s", who,
                       names[def->kind], def->t[i - 1], def->t[i]);
  }
  return PERP_OK;
}

/* m [n]; c [n]: scratch */
static void signal_moments(int n, const double *t, const double *y, double *m, double *c)
{
  memset(m, 0, (size_t)n * sizeof *m);
  c[0] = 0;
  for (int i = 1; i < n - 1; i++) {
    const double a = t[i] - t[i - 1], b = t[i + 1] - t[i];
    const double pivot = 2 * (a + b) - a * c[i - 1];
    c[i] = b / pivot;
    m[i] = (6 * ((y[i + 1] - y[i]) / b - (y[i] - y[i - 1]) / a) - a * m[i - 1]) / pivot;
  }
  for (int i = n - 2; i > 0; i--) m[i] -= c[i] * m[i + 1];
}

perp_status perp_signal_create(perp_ctx *ctx, const perp_signal_def *def, const char *who,
                               perp_signal **out)
{
  *out = NULL;
  PERP_TRY(signal_check(ctx, def, who));
  const size_t n = signal_has_points(def->kind) ? (size_t)def->n : 0;
  const size_t text = def->text != NULL ? strlen(def->text) + 1 : 0;
  perp_signal *signal = calloc(1, sizeof *signal + 4 * n * sizeof(double) + text);
  if (signal == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory for its signal", who);
  double *t = (double *)(void *)(signal + 1), *y = t + n;
  signal->def = *def;
  signal->def.n = (int)n;
  signal->def.t = signal->def.y = NULL;
  if (n > 0) {
    memcpy(t, def->t, n * sizeof *t);
    memcpy(y, def->y, n * sizeof *y);
    signal->def.t = t;
    signal->def.y = y;
  }
  signal->m = y + n;
  if (def->kind == PERP_SIGNAL_SPLINE) signal_moments((int)n, t, y, signal->m, signal->m + n);
  if (text > 0) signal->def.text = memcpy(signal->m + 2 * n, def->text, text);
  *out = signal;
  return PERP_OK;
}

void perp_signal_destroy(perp_signal *signal)
{
  if (signal != NULL && signal->def.destroy != NULL) signal->def.destroy(signal->def.user);
  free(signal);
}

void perp_signal_forget(perp_signal *signal)
{
  free(signal);
}

const perp_signal_def *perp_signal_definition(const perp_signal *signal)
{
  return &signal->def;
}

/* the span that t is in: 0 ... n-2 */
static int signal_span(const perp_signal_def *def, double t)
{
  int lo = 0, hi = def->n - 1;
  while (hi - lo > 1) {
    const int mid = (lo + hi) / 2;
    if (def->t[mid] <= t)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

static void signal_spline(const perp_signal *signal, double t, double y[3])
{
  const perp_signal_def *def = &signal->def;
  const double at = fmin(fmax(t, def->t[0]), def->t[def->n - 1]);
  const int i = signal_span(def, at);
  const double h = def->t[i + 1] - def->t[i], u = at - def->t[i], w = def->t[i + 1] - at;
  const double a = signal->m[i], b = signal->m[i + 1], slope = (def->y[i + 1] - def->y[i]) / h;
  y[0] = (a * w * w * w + b * u * u * u) / (6 * h) + (def->y[i] - a * h * h / 6) * w / h +
         (def->y[i + 1] - b * h * h / 6) * u / h;
  y[1] = (b * u * u - a * w * w) / (2 * h) + slope - (b - a) * h / 6;
  y[2] = t == at ? (a * w + b * u) / h : 0;
  if (t != at) y[0] += (t - at) * y[1];
}

static void signal_table(const perp_signal_def *def, double t, double y[3])
{
  y[1] = y[2] = 0;
  if (t < def->t[0] || t >= def->t[def->n - 1]) {
    y[0] = t < def->t[0] ? def->y[0] : def->y[def->n - 1];
    return;
  }
  const int i = signal_span(def, t);
  y[1] = (def->y[i + 1] - def->y[i]) / (def->t[i + 1] - def->t[i]);
  y[0] = def->y[i] + (t - def->t[i]) * y[1];
}

void perp_signal_at(const perp_signal *signal, double t, double y[3])
{
  const perp_signal_def *def = &signal->def;
  y[0] = def->offset, y[1] = y[2] = 0;
  switch (def->kind) {
  case PERP_SIGNAL_CONSTANT:
    return;
  case PERP_SIGNAL_SINE: {
    const double phase = def->rate * t + def->phase, sine = def->amplitude * sin(phase);
    y[0] += sine;
    y[1] = def->amplitude * def->rate * cos(phase);
    y[2] = -def->rate * def->rate * sine;
    return;
  }
  case PERP_SIGNAL_TABLE:
    signal_table(def, t, y);
    return;
  case PERP_SIGNAL_SPLINE:
    signal_spline(signal, t, y);
    return;
  case PERP_SIGNAL_FUNCTION:
    def->of(def->user, t, y);
    return;
  }
}
