/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/simulate_warn.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *metric, *name;
} invariants[] = { { "energy.rel.max", "energy" },
                   { "momentum.lin.max", "momentum" },
                   { "momentum.ang.max", "angular momentum" } };
enum { INVARIANTS = sizeof invariants / sizeof *invariants };

/* " x y": the components that are conserved, where they are not all. */
static const char *warn_components(const perp_measure *m, int i, char buf[8])
{
  static const char *const axis[] = { " x", " y", " z" };
  const bool *part = i == 1 ? m->conserved.P : m->conserved.L;
  buf[0] = '\0';
  if (i == 0 || (part[0] && part[1] && part[2]) || perp_model_dim(m->model) == 2) return buf;
  for (int k = 0; k < 3; k++)
    if (part[k]) strcat(buf, axis[k]);
  return buf;
}

/* "energy to 2.1e-09, angular momentum z to 3e-15" */
static void warn_list(const perp_measure *m, perp_result *r)
{
  char component[8];
  size_t used = 0;
  for (int i = 0; i < INVARIANTS; i++) {
    const double loss = perp_result_metric(r, invariants[i].metric);
    if (isnan(loss) || used >= sizeof r->invariants) continue;
    used += (size_t)snprintf(r->invariants + used, sizeof r->invariants - used, "%s%s%s to %.2g",
                             used > 0 ? ", " : "", invariants[i].name,
                             warn_components(m, i, component), loss);
  }
}

/* Does the run damp springs of drives by an implicit step, which it could leave? */
static bool warn_servo(const perp_cell_run *r, const perp_result *result)
{
  const perp_model *model = r->scene.model;
  const char *f = result->formulation;
  bool springs = false;
  for (int i = 0; model != NULL && i < perp_model_drives(model); i++)
    springs = springs || perp_model_drive(model, i)->stiffness > 0;
  return springs && strncmp(f, "velocity", 8) == 0 && (f[8] == '\0' || f[8] == ':') &&
         strstr(f, "servo=") == NULL;
}

/* What mends a loss: an integrator that conserves, where the run has none and nothing touches; or a
 * step that is so much shorter that an error of order 1 is half of what is allowed. */
static void warn_remedy(const perp_cell_run *r, const perp_result *result, double most,
                        perp_text *text)
{
  const double h = result->h * 0.5 * PERP_LOSS_MOST / most;
  const bool smooth = result->engine[0] == '\0' && result->contact_count.contacts == 0,
             midpoint = strncmp(result->ode, "implicit-midpoint", 17) == 0;
  if (r->adaptive) {
    perp_text_add(text, "a smaller tolerance tol");
    return;
  }
  if (warn_servo(r, result))
    perp_text_add(text, "--formulation %s%cservo=symplectic, ", result->formulation,
                  strchr(result->formulation, ':') != NULL ? ',' : ':');
  if (smooth && !midpoint)
    perp_text_add(text, "--formulation acceleration --ode implicit-midpoint, ");
  perp_text_add(text, "%s--h %.2gs", text->n > 0 ? "or " : "", h);
}

/* A start that violates its joints: stabilization brings it back, which changes the energy whatever
 * the step. */
static bool warn_expected(const perp_cell_run *r)
{
  const perp_model *model = r->scene.model;
  bool violates = r->measure->perturbed;
  for (int i = 0; model != NULL && i < perp_model_joints(model); i++)
    violates = violates || perp_model_joint(model, i)->start == PERP_START_VIOLATES;
  return violates;
}

static void warn_losses(const perp_cell_run *r, perp_result *result)
{
  char lost[160] = "";
  perp_text remedy = { 0 };
  double most = 0;
  size_t used = 0;
  for (int i = 0; i < INVARIANTS; i++) {
    const double loss = perp_result_metric(result, invariants[i].metric);
    if (!(loss > PERP_LOSS_MOST) || used >= sizeof lost) continue;
    most = fmax(most, loss);
    used += (size_t)snprintf(lost + used, sizeof lost - used, "%s%s by %.2g %%",
                             used > 0 ? ", " : "", invariants[i].name, 100 * loss);
  }
  if (used == 0) return;
  warn_remedy(r, result, most, &remedy);
  perp_warn(&result->warnings, "conserved quantities change: %s. Try %s.", lost, remedy.s);
  perp_text_free(&remedy);
}

void perp_simulate_warn(const perp_cell_run *r, perp_result *result)
{
  if (result->cut != PERP_CUT_NONE || result->reason < 0) return;
  warn_list(r->measure, result);
  if (!warn_expected(r)) warn_losses(r, result);
}
