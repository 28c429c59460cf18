/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A running simulation: model and parts.  Empty parts that the formulation uses get defaults:
 *
 *      formulation   velocity when the ode is empty or makes one evaluation a step, else
 *                    acceleration
 *      ode           symplectic-euler; rk4 where joints are exact and velocities have no impulses,
 * as of a tree in joint coordinates: momenta depend on positions there, and no symplectic step of
 * one evaluation exists kkt           tree; with loops the sparse direct one that counts the least
 * work (kkt_default.h) lcp           (models with shapes or drives) auto; lemke for contact
 * polyhedral and elliptic, and on the acceleration level, whose sliding contacts make the matrix
 * nonsymmetric, where no contact is named contact       (models with shapes) cone, Coulomb's law,
 * wherever the lcp serves it: in space one for circular cones (auto, pgs, block-gs, prox, ...), in
 * the plane, where the cone is an interval, one for friction rows.  box for others with friction
 * rows (dantzig, bpp, ...), polyhedral:directions=8 for a pure LCP solver that serves nonsymmetric
 * matrices (lemke, ...), frictionless for the rest; on the acceleration level cone for blocks of
 * cones (block-gs) only stab          velocity: baumgarte (full feedback), split in models with
 * shapes, whose contacts feedback would throw apart, or what the formulation names for its options
 * (velocity with accuracy: post:velocity=true); acceleration: post:velocity=true (with shapes:
 * hold=true)
 *
 * All of it follows from capabilities, none from the name of a plug-in: one from outside gets the
 * same. */
#include "models/stepping/formulation.h"
#include "models/contact/step/switches.h"
#include "models/engines/engine_sim.h"
#include "models/formulations/stop_cause.h"
#include "models/multibody/servos.h"
#include "models/stepping/derivative.h"
#include "models/stepping/kkt_default.h"
#include "models/stepping/redundancy.h"
#include "models/stepping/turns.h"
#include "solvers/stabilization/stabilization.h"

#include <stdlib.h>
#include <string.h>

struct perp_sim {
  const perp_formulation_desc *form;
  perp_model *model;
  void *ws;
  perp_switches *switches;    /* NULL: no joint that is switched */
  const char *not_symplectic; /* perp_sim_not_symplectic */
  const perp_desc *ode, *kkt; /* NULL: the formulation has none */
  double h;
  char cause[PERP_STOP_CAUSE]; /* of the last step, where it failed */
  perp_turns *turns;           /* NULL: no drive turns */
  perp_redundancy *redundancy; /* NULL: no loops */
  double drift;                /* before the post-step of the last step */
  const perp_model *driven;    /* as the formulation sees it: drives that have let go are none */
  double *compensated; /* forces of drives with their gravity compensation, of a step and of its
                          end, [2 drives], and [nq] its start; NULL: no drive compensates */
};

enum { PARTS = 6 };

/* the i-th part, its kind */
static perp_spec *sim_part(perp_parts *parts, int i, perp_kind *kind)
{
  static const perp_kind kinds[PARTS] = {
    PERP_KIND_formulation, PERP_KIND_ode,  PERP_KIND_kkt,
    PERP_KIND_lcp,         PERP_KIND_stab, PERP_KIND_contact
  };
  perp_spec *const specs[PARTS] = { &parts->formulation, &parts->ode,  &parts->kkt,
                                    &parts->lcp,         &parts->stab, &parts->contact };
  *kind = kinds[i];
  return specs[i];
}

/* What chooses: few rows it gives to Dantzig's method after block rounds, the fastest exact one;
 * more, whose cost has no bound there, and cones to methods that go by what they spend. */
static const char CHOOSES[] = "auto";

/* On the acceleration level the matrix of sliding contacts is not symmetric. */
static const char *lcp_for(const perp_spec *contact, bool accelerations)
{
  if (contact->d == NULL) return accelerations ? "lemke" : CHOOSES;
  return contact->d->caps & PERP_CONTACT_DENSE ? "lemke" : CHOOSES;
}

/* Accelerations: a circle leaves no proof that there are no forces, and sliding directions are
 * known. */
static const char *contact_for(const perp_desc *lcp, int dim, bool accelerations)
{
  const unsigned caps = lcp->caps, serves = accelerations ? PERP_LCP_CONE_BLOCKS : PERP_LCP_CONE;
  const bool plane = dim == 2 && !accelerations;
  if (caps & PERP_LCP_FRICTION) return plane || caps & serves ? "cone" : "box";
  return caps & PERP_LCP_NONSYMMETRIC ? "polyhedral:directions=8" : "frictionless";
}

static const char *default_of(const perp_parts *parts, perp_kind kind, int dim, bool shapes,
                              bool drives)
{
  if (kind == PERP_KIND_formulation)
    return parts->ode.d == NULL || (parts->ode.d->caps & PERP_ODE_ONE_EVALUATION) ? "velocity"
                                                                                  : "acceleration";
  unsigned uses = parts->formulation.d->caps;
  if (kind == PERP_KIND_ode && (uses & PERP_FORM_USES_ODE))
    return (uses & PERP_FORM_EXACT_JOINTS) && !shapes && !drives ? "rk4" : "symplectic-euler";
  if (shapes && kind == PERP_KIND_lcp && (uses & PERP_FORM_USES_LCP))
    return lcp_for(&parts->contact, uses & PERP_FORM_EVENTS);
  if (drives && kind == PERP_KIND_lcp && (uses & PERP_FORM_USES_LCP)) return CHOOSES;
  if (shapes && kind == PERP_KIND_contact && (uses & PERP_FORM_USES_LCP))
    return contact_for(parts->lcp.d, dim, uses & PERP_FORM_EVENTS);
  if (kind == PERP_KIND_stab && (uses & PERP_FORM_USES_STAB)) {
    if ((uses & PERP_FORM_EXACT_JOINTS) && !shapes) return NULL;
    const perp_formulation_desc *desc = (const perp_formulation_desc *)parts->formulation.d;
    const char *own = desc->stab != NULL ? desc->stab(parts->formulation.opts) : NULL;
    if (own != NULL) return own;
    if (uses & PERP_FORM_FEEDBACK) return shapes ? "split" : "baumgarte";
    return shapes ? "post:velocity=true,hold=true" : "post:velocity=true";
  }
  return NULL;
}

perp_status perp_parts_formulation(perp_ctx *ctx, const perp_parts *parts, perp_spec *formulation)
{
  const perp_parts outer = { .ode = parts->ode };
  if (perp_engine_named(&parts->engine)) {
    *formulation = (perp_spec){ &perp_engine_formulation.d, NULL };
    return PERP_OK;
  }
  PERP_TRY(perp_spec_copy(ctx, &parts->formulation, formulation));
  for (;;) {
    perp_spec inner = { 0 };
    if (formulation->d == NULL)
      return perp_spec_parse(ctx, PERP_KIND_formulation,
                             default_of(&outer, PERP_KIND_formulation, 0, false, false),
                             formulation);
    if (!(formulation->d->caps & PERP_FORM_WRAPS)) return PERP_OK;
    const perp_formulation_desc *desc = (const perp_formulation_desc *)formulation->d;
    perp_status status = desc->inner(ctx, formulation->opts, &inner);
    perp_spec_free(formulation);
    PERP_TRY(status);
    *formulation = inner;
  }
}

void perp_parts_free(perp_parts *parts)
{
  perp_spec *const specs[] = { &parts->formulation, &parts->ode,     &parts->kkt,   &parts->lcp,
                               &parts->stab,        &parts->contact, &parts->engine };
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) perp_spec_free(specs[i]);
}

static perp_status complete_kkt(perp_ctx *ctx, const perp_model *model, perp_parts *parts)
{
  const perp_formulation_desc *desc = (const perp_formulation_desc *)parts->formulation.d;
  perp_model *lifted = NULL;
  const char *name;
  if (parts->kkt.d != NULL || !(desc->d.caps & PERP_FORM_USES_KKT)) return PERP_OK;
  /* what is refused below needs no other model */
  if (desc->lift != NULL && !perp_model_depends_on_time(model))
    PERP_TRY(desc->lift(ctx, model, parts->formulation.opts, &lifted));
  const perp_status status = perp_kkt_default(ctx, lifted != NULL ? lifted : model, &name);
  perp_model_destroy(lifted);
  PERP_TRY(status);
  return perp_spec_parse(ctx, PERP_KIND_kkt, name, &parts->kkt);
}

perp_status perp_parts_complete(perp_ctx *ctx, const perp_model *model, perp_parts *parts)
{
  perp_kind kind;
  if (perp_engine_named(&parts->engine)) return PERP_OK;
  if (parts->formulation.d != NULL && (parts->formulation.d->caps & PERP_FORM_WRAPS)) {
    /* a formulation that runs another one has the parts of that one */
    const perp_spec outer = parts->formulation;
    parts->formulation = (perp_spec){ 0 };
    perp_status status =
        ((const perp_formulation_desc *)outer.d)->inner(ctx, outer.opts, &parts->formulation);
    if (status == PERP_OK) status = perp_parts_complete(ctx, model, parts);
    perp_spec_free(&parts->formulation);
    parts->formulation = outer;
    return status;
  }
  const bool shapes = perp_model_shapes(model) > 0, drives = perp_model_drives(model) > 0;
  for (int i = 0; i < PARTS; i++) {
    perp_spec *spec = sim_part(parts, i, &kind);
    const char *text = spec->d == NULL ? default_of(parts, kind, model->dim, shapes, drives) : NULL;
    if (text != NULL) PERP_TRY(perp_spec_parse(ctx, kind, text, spec));
    if (kind == PERP_KIND_kkt) PERP_TRY(complete_kkt(ctx, model, parts));
  }
  return PERP_OK;
}

/* A formulation without a capability is refused; those that have it are named. */
static perp_status sim_refuse(perp_ctx *ctx, const perp_desc *desc, unsigned cap, const char *what)
{
  char others[256] = "";
  size_t used = 0;
  const perp_desc *other;
  for (int i = 0; (other = perp_plugin_at(ctx, PERP_KIND_formulation, i)) != NULL; i++)
    if ((other->caps & cap) && !(other->caps & PERP_FORM_WRAPS) && used < sizeof others)
      used += (size_t)snprintf(others + used, sizeof others - used, "%s%s", used > 0 ? ", " : "",
                               other->name);
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "formulation %s does not support %s; formulations that do: %s", desc->name, what,
                   others);
}

/* Drives of which a formulation that serves servos does not serve one. */
static perp_status sim_serves_servos(perp_ctx *ctx, const perp_model *model, const perp_desc *desc)
{
  const char *what = NULL;
  const int i = perp_servos_other(model, desc->caps & PERP_FORM_MOTORS, &what);
  if (i < 0) return PERP_OK;
  const int at = perp_model_drive(model, i)->joint;
  const char *name = perp_model_joint(model, at)->name;
  char joint[80];
  if (name != NULL)
    snprintf(joint, sizeof joint, "joint %d '%.48s'", at, name);
  else
    snprintf(joint, sizeof joint, "joint %d", at);
  return PERP_FAIL(
      ctx, PERP_ERR_UNSUPPORTED,
      "formulation %s supports servos (stiffness, damping, max_force), but the actuator of "
      "%s %s: use formulation velocity-midpoint or acceleration%s",
      desc->name, joint, what,
      strstr(what, "limits") != NULL ? "" : ", or give the motor a damping");
}

/* Has the model what the formulation does not serve? */
static perp_status sim_serves(perp_ctx *ctx, const perp_model *model, const perp_desc *desc)
{
  bool nonholonomic = false, breaks = false;
  for (int joint = 0; joint < model->n_joints; joint++) {
    nonholonomic |= perp_joint_nonholonomic_is(model, joint) && !model->joint[joint].inertial;
    breaks |= model->joint_def[joint].strength > 0;
  }
  const struct {
    bool has;
    unsigned cap;
    const char *what;
  } needs[] = {
    { perp_model_collides(model), PERP_FORM_CONTACTS,
      "models with colliding shapes (bodies would pass through each other)" },
    { perp_model_drives(model) > 0 && !(desc->caps & PERP_FORM_SERVOS), PERP_FORM_DRIVES,
      "limits and motors" },
    { model->surfaces.couples, PERP_FORM_COUPLES,
      "surfaces that resist spinning or rolling (torsion, rolling)" },
    { model->surfaces.anisotropic, PERP_FORM_ANISOTROPIC,
      "surfaces with anisotropic friction (mu_across)" },
    { model->soft.springs, PERP_FORM_SPRINGS, "joints with stiffness or damping" },
    { perp_model_prescribes(model), PERP_FORM_MOTIONS, "prescribed motions" },
    { perp_model_stops(model) > 0, PERP_FORM_DISABLED, "controllers that let go" },
    { perp_model_disabled(model) > 0, PERP_FORM_DISABLED, "bodies that are disabled for a time" },
    { breaks && !(desc->caps & PERP_FORM_WRAPS), PERP_FORM_BREAKS, "joints that break" },
    { nonholonomic, PERP_FORM_NONHOLONOMIC,
      "non-holonomic joints (constraints on velocities alone)" },
    { model->soft.armatures, PERP_FORM_ARMATURES, "inertia on joint axes (armature)" },
    { perp_model_depends_on_time(model), PERP_FORM_SIGNALS,
      "gravity, forces, limits or motors that depend on time, or moving surfaces" },
  };
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (needs[i].has && !(desc->caps & needs[i].cap))
      return sim_refuse(ctx, desc, needs[i].cap, needs[i].what);
  return desc->caps & PERP_FORM_SERVOS ? sim_serves_servos(ctx, model, desc) : PERP_OK;
}

/* Options of the stabilization that cannot act with the formulation are refused. */
static perp_status sim_stab_acts(perp_ctx *ctx, const perp_parts *parts)
{
  const perp_stab_desc *stab = (const perp_stab_desc *)parts->stab.d;
  const unsigned form = parts->formulation.d->caps;
  if (stab == NULL || stab->idle == NULL || !(form & PERP_FORM_USES_STAB) ||
      (form & PERP_FORM_WRAPS)) /* the formulation inside has a simulation of its own */
    return PERP_OK;
  const char *idle = stab->idle(
      parts->stab.opts, form & PERP_FORM_FEEDBACK ? PERP_LEVEL_VELOCITY : PERP_LEVEL_ACCELERATION);
  if (idle == NULL) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "stabilization %s with formulation %s: %s",
                   stab->d.name, parts->formulation.d->name, idle);
}

static perp_status sim_create_engine(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                     double h, perp_sim **out)
{
  perp_parts p = *parts;
  perp_kind kind;
  for (int i = 0; i < PARTS; i++)
    if (sim_part(&p, i, &kind)->d != NULL)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "%s %s has no effect with engine %s: leave it out", perp_kind_name(kind),
                       sim_part(&p, i, &kind)->d->name, parts->engine.d->name);
  perp_sim *sim = calloc(1, sizeof *sim);
  if (sim == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a simulation");
  *sim = (perp_sim){ .form = &perp_engine_formulation, .model = model };
  perp_status status = sim->form->create(ctx, model, parts, h, &sim->ws);
  if (status == PERP_OK)
    status = sim->form->restart(ctx, sim->ws, 0, perp_model_q0(model), perp_model_v0(model));
  if (status == PERP_OK)
    *out = sim;
  else
    perp_sim_destroy(sim);
  return status;
}

/* perp_sim_not_symplectic, for the parts in use. */
static perp_status sim_canonical(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                 const char **why)
{
  const unsigned form = parts->formulation.d->caps;
  const bool symplectic = parts->ode.d != NULL && (parts->ode.d->caps & PERP_ODE_SYMPLECTIC);
  bool forest = true;
  *why = NULL;
  if (!symplectic || !(form & PERP_FORM_USES_ODE) || (form & PERP_FORM_WRAPS)) return PERP_OK;
  PERP_TRY(perp_kkt_forest(ctx, model, &forest));
  if (form & PERP_FORM_CANONICAL)
    *why = forest ? NULL : "closed loops constrain accelerations or velocities";
  else if (perp_model_m(model) > 0)
    *why = "joints constrain accelerations or velocities";
  else if (perp_model_nq(model) != perp_model_nv(model))
    *why = "rotations in space have gyroscopic torques";
  return PERP_OK;
}

/* Is there a KKT system of the rows of the model, and can they be redundant? */
static bool sim_ranks(const perp_formulation_desc *form)
{
  const unsigned caps = form->d.caps;
  return (caps & PERP_FORM_USES_KKT) && !(caps & (PERP_FORM_WRAPS | PERP_FORM_COMPLIANT));
}

static perp_status sim_begin(perp_ctx *ctx, perp_sim *sim, double t, const double *q,
                             const double *v)
{
  if (sim->switches != NULL) return perp_switches_restart(ctx, sim->switches, sim->ws, t, q, v);
  return sim->form->restart(ctx, sim->ws, t, q, v);
}

perp_status perp_sim_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                            perp_sim **out)
{
  *out = NULL;
  if (!(h > 0) || !isfinite(h))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the step h must be positive: got %g s", h);
  if (perp_model_q0(model) == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the model is not finished: call perp_model_finish first");
  if (perp_engine_named(&parts->engine)) return sim_create_engine(ctx, model, parts, h, out);
  perp_parts p = *parts;
  bool given[PARTS];
  perp_kind kind;
  for (int i = 0; i < PARTS; i++) given[i] = sim_part(&p, i, &kind)->d != NULL;
  perp_status status = perp_parts_complete(ctx, model, &p);
  perp_sim *sim = NULL;
  if (status == PERP_OK) status = sim_serves(ctx, model, p.formulation.d);
  if (status == PERP_OK) status = sim_stab_acts(ctx, &p);
  if (status == PERP_OK) {
    sim = calloc(1, sizeof *sim);
    if (sim == NULL) status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a simulation");
  }
  if (status == PERP_OK) {
    sim->form = (const perp_formulation_desc *)p.formulation.d;
    sim->model = model;
    sim->ode = p.formulation.d->caps & PERP_FORM_USES_ODE ? p.ode.d : NULL;
    sim->kkt = p.formulation.d->caps & PERP_FORM_USES_KKT ? p.kkt.d : NULL;
    sim->h = h;
    sim->drift = (double)NAN;
    status = sim_canonical(ctx, model, &p, &sim->not_symplectic);
  }
  if (status == PERP_OK && model->carried.n > 0) {
    sim->compensated = calloc(2 * (size_t)model->n_drives + (size_t)model->nq, sizeof(double));
    if (sim->compensated == NULL)
      status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a simulation");
  }
  if (status == PERP_OK) {
    status = perp_turns_create(ctx, model, &model, &sim->turns);
    if (status == PERP_OK)
      status = perp_switches_create(ctx, model, sim->form, &p.kkt, &model, &sim->switches);
    if (status == PERP_OK && sim->switches == NULL && sim_ranks(sim->form))
      status = perp_redundancy_create(ctx, model, h, sim->form->d.caps & PERP_FORM_EVENTS, &model,
                                      &sim->redundancy);
    sim->driven = model;
    if (status == PERP_OK) status = sim->form->create(ctx, model, &p, h, &sim->ws);
    if (status == PERP_OK && sim->redundancy != NULL)
      status = perp_redundancy_restart(ctx, sim->redundancy, 0, perp_model_q0(model),
                                       perp_model_v0(model));
    if (status == PERP_OK) status = sim_begin(ctx, sim, 0, model->q0, model->v0);
  }
  /* options are read at creation only */
  for (int i = 0; i < PARTS; i++)
    if (!given[i]) perp_spec_free(sim_part(&p, i, &kind));
  if (status != PERP_OK) {
    perp_sim_destroy(sim);
    return status;
  }
  *out = sim;
  return PERP_OK;
}

void perp_sim_destroy(perp_sim *sim)
{
  if (sim == NULL) return;
  if (sim->ws != NULL) sim->form->destroy(sim->ws);
  perp_switches_destroy(sim->switches);
  perp_turns_destroy(sim->turns);
  perp_redundancy_destroy(sim->redundancy);
  free(sim->compensated);
  free(sim);
}

/* What drives compensate is a part of their forces: as it was at the start of the step, or where
 * forces belong to its middle the mean of both ends. */
static void sim_compensate(perp_sim *sim, double t0, double t1, const double *q1,
                           perp_step_info *info)
{
  const perp_model *model = sim->driven;
  double *told = sim->compensated, *end = told + model->n_drives,
         *q0 = told + 2 * (size_t)model->n_drives;
  if (info->drive != NULL) {
    const bool middle = info->forces_time == PERP_FORCES_MEAN_MIDDLE;
    memcpy(told, info->drive, (size_t)model->n_drives * sizeof *told);
    perp_model_compensation(model, t0, q0, middle ? 0.5 : 1, told, NULL);
    if (middle) perp_model_compensation(model, t1, q1, 0.5, told, NULL);
    info->drive = told;
  }
  if (info->drive_end == NULL) return;
  memcpy(end, info->drive_end, (size_t)model->n_drives * sizeof *end);
  perp_model_compensation(model, t1, q1, 1, end, NULL);
  info->drive_end = end;
}

perp_status perp_sim_restart(perp_ctx *ctx, perp_sim *sim, double t, const double *q,
                             const double *v)
{
  bool good = isfinite(t);
  for (int i = 0; i < perp_model_nq(sim->model); i++) good &= isfinite(q[i]) != 0;
  for (int i = 0; i < perp_model_nv(sim->model); i++) good &= isfinite(v[i]) != 0;
  if (!good) return PERP_FAIL(ctx, PERP_ERR_ARG, "the initial state is not finite");
  if (sim->turns != NULL) perp_turns_restart(sim->turns);
  if (sim->redundancy != NULL) PERP_TRY(perp_redundancy_restart(ctx, sim->redundancy, t, q, v));
  sim->drift = (double)NAN;
  return sim_begin(ctx, sim, t, q, v);
}

/* Which rows take part is decided at the start of the step, for all of it. */
static perp_status sim_step_ranked(perp_ctx *ctx, perp_sim *sim, double t_max, perp_step_info *info)
{
  double t;
  const double *q, *v;
  sim->form->state(sim->ws, &t, &q, &v);
  PERP_TRY(perp_redundancy_decide(ctx, sim->redundancy, t, q, v, sim->drift, &info->reason));
  if (info->reason < 0) {
    info->cause = "redundant constraints contradict each other: remove one of them, or its motion";
    return PERP_OK;
  }
  PERP_TRY(sim->form->step(ctx, sim->ws, t_max, info));
  sim->drift = info->drift_pos_pre;
  if (info->reason >= 0) info->lambda = perp_redundancy_share(sim->redundancy, info->lambda);
  return PERP_OK;
}

void perp_sim_turned(perp_sim *sim, int drive, double x)
{
  if (sim->turns != NULL) perp_turns_from(sim->turns, drive, x);
}

void perp_sim_chained(perp_sim *sim, const perp_model *whole, int from, int to)
{
  if (sim->turns != NULL) perp_turns_chains(sim->turns, whole, from, to);
}

/* The links of a chain would move infinitely fast: what follows is no motion of the mechanism. */
static void sim_dependent(perp_sim *sim, int joint, bool near, perp_step_info *info)
{
  char buf[PERP_LABEL_MAX];
  if (!near) info->reason = PERP_SINGULAR;
  snprintf(sim->cause, sizeof sim->cause,
           "the axes of %s %s dependent (a singular position of the chain): add limits that keep "
           "it away from there, or give the links between the axes a mass",
           perp_model_label(buf, "joint", joint, sim->model->joint_def[joint].name),
           near ? "are nearly" : "became");
  info->cause = sim->cause;
}

perp_status perp_sim_step(perp_ctx *ctx, perp_sim *sim, double t_max, perp_step_info *info)
{
  *info = (perp_step_info){ .reason = PERP_EXACT, .drift_pos_pre = (double)NAN };
  double t0, t;
  const double *q, *v;
  sim->form->state(sim->ws, &t0, &q, &v);
  if (sim->compensated != NULL)
    memcpy(sim->compensated + 2 * (size_t)sim->model->n_drives, q,
           (size_t)sim->model->nq * sizeof *q);
  const perp_status status = sim->switches != NULL
                                 ? perp_switches_step(ctx, sim->switches, sim->ws, t_max, info)
                             : sim->redundancy != NULL ? sim_step_ranked(ctx, sim, t_max, info)
                                                       : sim->form->step(ctx, sim->ws, t_max, info);
  if (status != PERP_OK) return status;
  info->forces_time = perp_sim_forces_time(sim);
  sim->form->state(sim->ws, &t, &q, &v);
  if (sim->compensated != NULL) sim_compensate(sim, t0, t, q, info);
  const int dependent = sim->turns != NULL ? perp_turns_follow(sim->turns, q) : -1;
  if (dependent >= 0 && info->reason >= 0) sim_dependent(sim, dependent, false, info);
  const bool silent = info->reason < 0 && (info->cause == NULL || info->cause[0] == '\0');
  const int near = silent && sim->turns != NULL ? perp_turns_near(sim->turns) : -1;
  if (near >= 0) sim_dependent(sim, near, true, info);
  if (info->reason >= 0 || (info->cause != NULL && info->cause[0] != '\0')) return PERP_OK;
  perp_stop_cause(ctx, sim->model, &sim->form->d, sim->ode, sim->kkt, perp_sim_redundant(sim),
                  sim->h, t, q, v, info->reason, sim->cause);
  info->cause = sim->cause;
  return PERP_OK;
}

perp_status perp_sim_dense_at(perp_ctx *ctx, perp_sim *sim, double t, double *q, double *v,
                              double *lambda)
{
  if (sim->form->dense == NULL || sim->switches != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "formulation %s has no dense output%s",
                     sim->form->d.name,
                     sim->switches != NULL ? " for joints that break or are switched" : "");
  PERP_TRY(sim->form->dense(ctx, sim->ws, t, q, v, lambda));
  if (sim->redundancy == NULL || lambda == NULL) return PERP_OK;
  return perp_redundancy_share_at(ctx, sim->redundancy, t, q, lambda);
}

const perp_formulation_desc *perp_sim_formulation(const perp_sim *sim, void **ws,
                                                  const perp_model **model, bool *switched)
{
  *ws = sim->ws;
  *model = sim->driven;
  *switched = sim->switches != NULL;
  return sim->form;
}

void perp_sim_state(const perp_sim *sim, double *t, const double **q, const double **v)
{
  sim->form->state(sim->ws, t, q, v);
}

void perp_sim_counters(const perp_sim *sim, perp_ode_counters *ode, perp_stats *kkt)
{
  sim->form->counters(sim->ws, ode, kkt);
  if (sim->switches != NULL && kkt != NULL) perp_switches_counters(sim->switches, kkt);
}

void perp_sim_timing(perp_sim *sim, bool on, perp_times *times)
{
  sim->form->timing(sim->ws, on, times);
}

const char *perp_sim_not_symplectic(const perp_sim *sim)
{
  return sim->not_symplectic;
}

const perp_contact_count *perp_sim_contacts(const perp_sim *sim)
{
  if (sim->switches != NULL) return perp_switches_contacts(sim->switches, sim->ws);
  return sim->form->contacts != NULL ? sim->form->contacts(sim->ws) : NULL;
}

bool perp_sim_observe(perp_sim *sim, perp_contact_observer *observer, void *user)
{
  if (sim->form->observe == NULL || perp_sim_contacts(sim) == NULL) return false;
  sim->form->observe(sim->ws, observer, user);
  return true;
}

const perp_redundant *perp_sim_redundant(const perp_sim *sim)
{
  return sim->redundancy != NULL ? perp_redundancy_report(sim->redundancy) : NULL;
}

bool perp_sim_resolved(const perp_sim *sim, char *text, size_t size)
{
  if (size > 0) text[0] = '\0';
  if (sim->form != &perp_engine_formulation) return false;
  perp_engine_resolved(sim->ws, text, size);
  return true;
}

double perp_sim_engine_energy(const perp_sim *sim)
{
  return sim->form == &perp_engine_formulation ? perp_engine_energy(sim->ws) : (double)NAN;
}

const perp_group_count *perp_sim_groups(const perp_sim *sim)
{
  return sim->form->groups != NULL ? sim->form->groups(sim->ws) : NULL;
}

void perp_sim_group(const perp_sim *sim, int i, perp_group_info *info)
{
  sim->form->group(sim->ws, i, info);
}

bool perp_sim_joint_coordinates(const perp_sim *sim)
{
  return (sim->form->d.caps & PERP_FORM_CANONICAL) != 0;
}

perp_forces_time perp_sim_forces_time(const perp_sim *sim)
{
  const unsigned caps = sim->form->d.caps;
  if (perp_sim_joint_coordinates(sim))
    return perp_model_collides(sim->model) || perp_model_drives(sim->model) > 0
               ? PERP_FORCES_MEAN
               : PERP_FORCES_AT_STATE;
  const bool bounds = sim->model->n_shapes > 0 || sim->model->n_drives > 0;
  if (caps & PERP_FORM_FORCES_AT_START && caps & PERP_FORM_FORCES_MIDDLE)
    return bounds ? PERP_FORCES_MEAN_MIDDLE : PERP_FORCES_AT_START;
  return caps & PERP_FORM_FORCES_AT_START ? PERP_FORCES_AT_START
         : caps & PERP_FORM_FORCES_MIDDLE ? PERP_FORCES_MEAN_MIDDLE
                                          : PERP_FORCES_MEAN;
}
