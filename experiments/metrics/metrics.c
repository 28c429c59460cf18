/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the measurements of a run: metrics.def says what each metric is, here is what its
 * expressions use. */
#include "experiments/metrics/metrics.h"

#include <math.h>
#include <string.h>

double perp_measure_largest(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

static double when(bool defined, double value)
{
  return defined ? value : nan("");
}

/* ---- errors against the truth ---- */

/* Worst column over its size.  Columns repeat with `period`; those below `lengths` in a period are
 * lengths, the others rotations. */
static double worst(int n, int period, int lengths, const double *err, const double *size)
{
  double kind[2] = { 0, 0 }, most = 0;
  for (int i = 0; i < n; i++)
    kind[i % period >= lengths] = fmax(kind[i % period >= lengths], size[i]);
  for (int i = 0; i < n; i++) {
    const double of_kind = kind[i % period >= lengths];
    const double scale = size[i] >= 1e-9 * of_kind ? size[i] : of_kind;
    const double e = err[i] / (scale > 0 ? scale : 1);
    if (isnan(e)) return e;
    most = fmax(most, e);
  }
  return most;
}

/* Has anything but the start been compared?  That agrees by itself. */
static bool has_errors(const perp_measure *measure)
{
  return measure->error.compared > 0 && measure->error.compared_until > 0;
}

static double positions(const perp_measure *measure, const double *err)
{
  if (!has_errors(measure) || measure->nq == 0) return nan("");
  if (measure->model == NULL)
    return worst(measure->nq, measure->nq, measure->nq, err, measure->error.q_ref);
  const int dim = perp_model_dim(measure->model);
  return worst(measure->nq, dim == 2 ? 3 : 7, dim, err, measure->error.q_ref);
}

static double velocities(const perp_measure *measure)
{
  if (!has_errors(measure) || measure->nv == 0) return nan("");
  if (measure->model == NULL)
    return worst(measure->nv, measure->nv, measure->nv, measure->error.v_err, measure->error.v_ref);
  const int dim = perp_model_dim(measure->model);
  return worst(measure->nv, dim == 2 ? 3 : 6, dim, measure->error.v_err, measure->error.v_ref);
}

static double lambda_error(const perp_measure *measure)
{
  if (measure->error.lambda_compared == 0) return nan("");
  return worst(measure->m, measure->m, measure->m, measure->error.lambda_err,
               measure->error.lambda_ref);
}

static bool has_tip(const perp_measure *measure)
{
  return has_errors(measure) && measure->model != NULL && measure->scene->tip_body != PERP_WORLD;
}

/* ---- invariants ---- */

/* max kinetic energy + range of potential energy */
static double energy_swing(const perp_measure *measure)
{
  return measure->energy.kinetic_max +
         (measure->energy.potential_hi - measure->energy.potential_lo);
}

static double energy_gain(const perp_measure *measure)
{
  if (measure->model == NULL || !measure->scene->dissipative || measure->scene->driven)
    return nan("");
  const double scale = energy_swing(measure) + measure->contact.weight * measure->scene->size;
  return when(scale > 0, measure->energy.gain / scale);
}

/* Energy that the constraints took or gave: all that a model that keeps it lost or gained, where
 * there are no contacts, else the work of the multipliers. */
static double constraints_work(const perp_measure *measure)
{
  if (measure->model == NULL || measure->m == 0) return nan("");
  const bool alone = measure->conserved.energy && measure->scratch.collision == NULL;
  const double scale = energy_swing(measure),
               work = alone ? measure->energy.err : measure->joint.work_most;
  return when(scale > 0, work / scale);
}

/* Any component of it? */
static bool conserves(const perp_measure *measure, const bool component[3])
{
  return measure->model != NULL && (component[0] || component[1] || component[2]);
}

static double relative(double error, double size)
{
  return size > 0 ? error / size : error;
}

/* ---- counts ---- */

static double rhs_bodies(const perp_measure *measure)
{
  if (measure->run.has_groups) return (double)measure->run.groups.rhs_bodies;
  return measure->model == NULL ? nan("")
                                : (double)measure->run.ode.rhs * perp_model_bodies(measure->model);
}

static double groups_skipped(const perp_measure *measure)
{
  const double all = (double)(measure->run.groups.advanced + measure->run.groups.skipped);
  return all > 0 ? (double)measure->run.groups.skipped / all : 0;
}

static double lcp_solved(const perp_measure *measure)
{
  const double all = (double)(measure->run.contacts.problems + measure->run.contacts.reused);
  return all > 0 ? (double)(measure->run.contacts.solved + measure->run.contacts.reused) / all : 1;
}

static bool examined(const perp_measure *measure)
{
  return measure->run.has_contacts && measure->run.contacts.examined > 0;
}

static double a_step(const perp_measure *measure, int64_t count)
{
  return measure->run.ode.steps > 0 ? (double)count / (double)measure->run.ode.steps : 0;
}

static double coulomb(const perp_measure *measure, double value)
{
  return when(measure->run.has_contacts && measure->run.contacts.coulomb.measured, value);
}

static bool has_events(const perp_measure *measure)
{
  return measure->run.has_contacts && measure->run.contacts.events;
}

/* Are the laws of contact measured: by impulses of steps, of surfaces that are those of bodies? */
static bool laws(const perp_measure *measure)
{
  return measure->run.has_contacts && !has_events(measure) && measure->scratch.collision != NULL &&
         !isnan(measure->contact.undissipated);
}

/* ---- the scene's own figures ---- */

/* The largest of the scene's checks by this name (all are errors), NAN where none has a figure. */
static double gauge(const perp_measure *measure, const char *name)
{
  double worst = nan("");
  for (int i = 0; i < measure->scene->n_gauges; i++)
    if (strcmp(measure->scene->gauge[i].metric, name) == 0)
      worst = fmax(worst, measure->scene->gauge[i].value(measure->scene->gauge[i].user));
  return worst;
}

static double truth_error(const perp_measure *measure)
{
  for (int i = 0; i < measure->scene->n_gauges; i++) {
    double x = measure->scene->gauge[i].value(measure->scene->gauge[i].user);
    if (!isnan(x)) return x;
  }
  return positions(measure, measure->error.q_err);
}

/* ---- the table ---- */

#define METRIC(id, title, units, way, bits, expression, meaning)                                   \
  static double metric_##id(const perp_measure *m)                                                 \
  {                                                                                                \
    return expression;                                                                             \
  }                                                                                                \
  static const perp_metric_desc desc_##id = {                                                      \
    .d = { .name = title,                                                                          \
           .summary = meaning,                                                                     \
           .reference = "definitions of perp, section metrics",                                    \
           .caps = bits },                                                                         \
    .unit = units,                                                                                 \
    .better = way,                                                                                 \
    .value = metric_##id,                                                                          \
  };
#define GAUGE(id, title, units, way, meaning)                                                      \
  METRIC(id, title, units, way, PERP_METRIC_GAUGE, gauge(m, title), meaning)
#include "experiments/metrics/metrics.def"
#undef METRIC

const char *perp_metric_count(const char *name)
{
  const size_t n = strlen(name);
  const bool largest = n > 4 && strcmp(name + n - 4, ".max") == 0;
  if (strcmp(name, "lambda.err.max") == 0) return "lambda.compared";
  return largest && strncmp(name, "err.", 4) == 0 ? "err.compared" : NULL;
}

#define METRIC(id, title, units, way, bits, expression, meaning) { PERP_KIND_metric, &desc_##id.d },
static const perp_plugin table[] = {
#include "experiments/metrics/metrics.def"
  { PERP_KIND_NONE, NULL }
};
#undef METRIC
#undef GAUGE

perp_status perp_register_metrics(perp_ctx *ctx)
{
  return perp_register_own(ctx, table);
}

bool perp_measure_figure(const perp_measure *measure, int i, const char **name, double *value)
{
  if (table[i].kind == PERP_KIND_NONE) return false;
  *name = table[i].d->name;
  *value = ((const perp_metric_desc *)(const void *)table[i].d)->value(measure);
  return true;
}
