/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/simulate_warn.h"
#include "experiments/scenes/overlaps.h"

#include "models/formulations/servo_damping.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double ENERGY = 0.05; /* of the energy: above, constraint forces brake the motion */

/* "joint 3 'elbow'" */
static const char *warn_joint(const perp_cell_run *run, int joint, char *buf, size_t size)
{
  const char *name = perp_model_joint(run->scene.model, joint)->name;
  if (name != NULL)
    snprintf(buf, size, "joint %d '%.48s'", joint, name);
  else
    snprintf(buf, size, "joint %d", joint);
  return buf;
}

static void warn_rows(const perp_cell_run *run, const perp_redundant *rows)
{
  perp_result *result = run->result;
  char joint[80];
  const size_t used = strlen(result->events), room = sizeof result->events - used;
  if (rows->most == 0) return;
  snprintf(result->events + used, room, "%s%d redundant constraint row%s, the first at %s",
           used > 0 ? "\n         " : "", rows->most, rows->most == 1 ? "" : "s",
           warn_joint(run, rows->joint, joint, sizeof joint));
}

static void warn_overlap(void *user, bool filtered, const char *sentence)
{
  perp_result *result = user;
  if (!filtered) {
    perp_warn(&result->warnings, "%s", sentence);
    return;
  }
  const size_t used = strlen(result->events), room = sizeof result->events - used;
  if (strlen(sentence) + 16 < room) /* perp check tells all */
    snprintf(result->events + used, room, "%s%s", used > 0 ? "\n         " : "", sentence);
}

perp_status perp_warn_overlaps(perp_ctx *ctx, const perp_cell_run *run)
{
  return run->scene.model != NULL
             ? perp_overlaps_tell(ctx, run->scene.model, warn_overlap, run->result)
             : PERP_OK;
}

void perp_warn_constraints(const perp_ctx *ctx, const perp_cell_run *run)
{
  const perp_redundant *rows = run->sim != NULL ? perp_sim_redundant(run->sim) : NULL;
  perp_warnings *warnings = &run->result->warnings;
  const perp_metric_desc *work;
  char joint[80];
  if (rows == NULL) return;
  warn_rows(run, rows);
  if (rows->changes > 0)
    perp_warn(
        warnings,
        "The number of independent constraints changes %d time%s, first at t = %.4g s (%s): "
        "at a singular position the motion may branch. Compare with half the step (--h %.3gs).",
        rows->changes, rows->changes == 1 ? "" : "s", rows->t_change,
        warn_joint(run, rows->joint_change, joint, sizeof joint), run->h / 2);
  else if (rows->near > 0)
    perp_warn(warnings,
              "%d step%s of a singular position, the closest at t = %.4g s (%.2g rad between "
              "constraints): the motion may branch there. Compare with half the step (--h %.3gs).",
              rows->near, rows->near == 1 ? " comes within reach" : "s come within reach",
              rows->t_sigma, rows->sigma, run->h / 2);
  work = (const perp_metric_desc *)perp_find(ctx, PERP_KIND_metric, "constraints.work");
  const double part = work != NULL ? work->value(run->measure) : 0;
  if (part > ENERGY)
    perp_warn(warnings,
              "Constraint forces changed the energy by %.2g %%; exact ones do no work. Use a "
              "shorter step (--h %.3gs), or --formulation acceleration --ode rk4.",
              100 * part, run->h / 2);
}

static const struct {
  const char *metric, *name;
} invariants[] = { { "energy.rel.max", "energy" },
                   { "momentum.lin.max", "momentum" },
                   { "momentum.ang.max", "angular momentum" } };
enum { INVARIANTS = sizeof invariants / sizeof *invariants };

/* " x y": the components that are conserved, where they are not all. */
static const char *warn_components(const perp_measure *measure, int i, char buf[8])
{
  static const char *const axis[] = { " x", " y", " z" };
  const bool *part = i == 1 ? measure->conserved.P : measure->conserved.L;
  buf[0] = '\0';
  if (i == 0 || (part[0] && part[1] && part[2]) || perp_model_dim(measure->model) == 2) return buf;
  for (int k = 0; k < 3; k++)
    if (part[k]) strcat(buf, axis[k]);
  return buf;
}

/* The name of the formulation, without its options, is one of these. */
static bool warn_is(const char *formulation, const char *const *names)
{
  const size_t n = strcspn(formulation, ":");
  for (; *names != NULL; names++)
    if (strlen(*names) == n && strncmp(formulation, *names, n) == 0) return true;
  return false;
}

static const double ADDED = 1e-3, SHARE = 0.1; /* of the critical damping, of the servo's own */

static void warn_servo_line(const perp_cell_run *run, const perp_servo_damping *servo, int most,
                            bool symplectic)
{
  perp_result *result = run->result;
  const size_t used = strlen(result->events), room = sizeof result->events - used;
  char joint[80];
  warn_joint(run, perp_model_drive(run->scene.model, most)->joint, joint, sizeof joint);
  snprintf(result->events + used, room,
           "%sthe spring of the servo of %s is implicit, which adds %.2g to its damping ratio of "
           "%.2g (h omega / 2 at %.3g rad/s); --formulation %svelocity-midpoint adds none",
           used > 0 ? "\n         " : "", joint, servo->added, servo->ratio, servo->omega,
           symplectic ? "velocity:servo=symplectic or " : "");
}

perp_status perp_warn_servos(perp_ctx *ctx, const perp_cell_run *run)
{
  static const char *const implicit[] = { "velocity",    "velocity-implicit", "reduced",  "impulse",
                                          "regularized", "si-baumgarte",      "si-split", "si-ngs",
                                          NULL };
  static const char *const option[] = { "velocity", NULL };
  const perp_result *result = run->result;
  const char *formulation = result->formulation, *substeps = strstr(formulation, "substeps=");
  perp_model *model = run->scene.model;
  const int n = model != NULL ? perp_model_drives(model) : 0;
  int most = -1;
  if (n == 0 || run->adaptive || result->engine[0] != '\0' || !warn_is(formulation, implicit) ||
      strstr(formulation, "servo=symplectic") != NULL || strstr(formulation, ":tol=") != NULL)
    return PERP_OK;
  const int parts = substeps != NULL ? atoi(substeps + strlen("substeps=")) : 1;
  perp_servo_damping *servo = calloc((size_t)n, sizeof *servo);
  if (servo == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d servos", n);
  const perp_status status = perp_servo_damping_of(ctx, model, run->h / (parts > 0 ? parts : 1),
                                                   servo);
  if (status == PERP_OK)
    for (int i = 0; i < n; i++)
      if (servo[i].added >= ADDED && servo[i].added >= SHARE * servo[i].ratio &&
          (most < 0 || servo[i].added > servo[most].added))
        most = i;
  if (most >= 0) warn_servo_line(run, &servo[most], most, warn_is(formulation, option));
  free(servo);
  return status == PERP_ERR_NOMEM ? status : PERP_OK; /* other errors: nothing to warn of */
}

/* Does the run damp springs of drives by an implicit step, which it could leave? */
static bool warn_servo(const perp_cell_run *run, const perp_result *result)
{
  const perp_model *model = run->scene.model;
  const char *at = result->formulation;
  bool springs = false;
  for (int drive = 0; model != NULL && drive < perp_model_drives(model); drive++)
    springs = springs || perp_model_drive(model, drive)->stiffness > 0;
  return springs && strncmp(at, "velocity", 8) == 0 && (at[8] == '\0' || at[8] == ':') &&
         strstr(at, "servo=") == NULL;
}

/* What mends a loss: an integrator that conserves, where the run has none and nothing touches; or a
 * step that is so much shorter that an error of order 1 is half of what is allowed. */
static void warn_remedy(const perp_cell_run *run, const perp_result *result, double most,
                        perp_text *text)
{
  const double h = result->h * 0.5 * PERP_LOSS_MOST / most;
  const bool smooth = result->engine[0] == '\0' && result->contact_count.contacts == 0,
             midpoint = strncmp(result->ode, "implicit-midpoint", 17) == 0;
  if (run->adaptive) {
    perp_text_add(text, "a smaller tolerance tol");
    return;
  }
  if (warn_servo(run, result))
    perp_text_add(text, "--formulation %s%cservo=symplectic, ", result->formulation,
                  strchr(result->formulation, ':') != NULL ? ',' : ':');
  if (smooth && !midpoint)
    perp_text_add(text, "--formulation acceleration --ode implicit-midpoint, ");
  perp_text_add(text, "%s--h %.2gs", text->n > 0 ? "or " : "", h);
}

/* A start that violates its joints: stabilization brings it back, which changes the energy whatever
 * the step. */
static bool warn_expected(const perp_cell_run *run)
{
  const perp_model *model = run->scene.model;
  bool violates = run->measure->run.perturbed;
  for (int joint = 0; model != NULL && joint < perp_model_joints(model); joint++)
    violates = violates || perp_model_joint(model, joint)->start == PERP_START_VIOLATES;
  return violates;
}

static void warn_losses(const perp_cell_run *run, perp_result *result)
{
  char lost[160] = "";
  perp_text remedy = { 0 };
  double most = 0;
  size_t used = 0;
  for (int invariant = 0; invariant < INVARIANTS; invariant++) {
    const double loss = perp_result_metric(result, invariants[invariant].metric);
    if (!(loss > PERP_LOSS_MOST) || used >= sizeof lost) continue;
    most = fmax(most, loss);
    used += (size_t)snprintf(lost + used, sizeof lost - used, "%s%s by %.2g %%",
                             used > 0 ? ", " : "", invariants[invariant].name, 100 * loss);
  }
  if (used == 0) return;
  warn_remedy(run, result, most, &remedy);
  perp_warn(&result->warnings, "conserved quantities change: %s. Try %s.", lost, remedy.s);
  perp_text_free(&remedy);
}

void perp_simulate_warn(const perp_cell_run *run, perp_result *result)
{
  if (result->cut != PERP_CUT_NONE || result->reason < 0) return;
  /* "energy to 2.1e-09, angular momentum z to 3e-15" */
  const perp_measure *measure = run->measure;
  char component[8];
  size_t used = 0;
  for (int invariant = 0; invariant < INVARIANTS; invariant++) {
    const double loss = perp_result_metric(result, invariants[invariant].metric);
    if (isnan(loss) || used >= sizeof result->invariants) continue;
    used += (size_t)snprintf(result->invariants + used, sizeof result->invariants - used,
                             "%s%s%s to %.2g", used > 0 ? ", " : "", invariants[invariant].name,
                             warn_components(measure, invariant, component), loss);
  }
  if (!warn_expected(run)) warn_losses(run, result);
}

void perp_warn_forces(const perp_cell_run *run)
{
  const perp_force_log *log = run->log;
  perp_warnings *warnings = &run->result->warnings;
  if (log->samples > 0 && !log->ever_known)
    perp_warn(warnings,
              "This formulation reports no forces of joints: their columns are empty. Use "
              "--formulation velocity or --formulation acceleration.");
  else if (log->ever_shared)
    perp_warn(
        warnings,
        "Redundant constraints share some reaction forces: where the column unique is 0, the "
        "force of the joint is that of the least norm and not the only one with this motion.");
}
