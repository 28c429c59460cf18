/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Penalty method: joints are springs and dampers (Vondrak 2005, eq. 3.9; STAR 2012, section 3.2.1),
 *
 *      M v' = f + J' lambda,      lambda = -stiffness C - damping J v
 *
 * under any ODE solver.  No linear system is solved.  A joint gives way by lambda / stiffness, so
 * that positions are in error by O(1 / stiffness) however small the step; the joint vibrates at
 * sqrt(stiffness a), a an eigenvalue of A = J M^-1 J', which is what limits the step of explicit
 * methods. Symplectic Euler is stable for
 *
 *      h < (sqrt(delta^2 + 4 kappa) - delta) / kappa,
 *
 * kappa and delta the largest eigenvalues of M^-1 K and M^-1 D, of all springs and all dampers at
 * the start: reported (h.stable); by power iteration.  Exact for joints alone, else a bound that a
 * shorter step keeps.
 *
 * Contacts, limits and motors (STAR 2012, section 7.1) are springs with bounds: the laws are in
 * models/formulations/penalty/penalty_law.h, contacts in penalty_contacts.h, limits, motors and
 * servos in penalty_drives.h.  At rest a contact is deep by (force / contact_stiffness)^(1 /
 * exponent), m g / (n k) on n points; forces that statics leaves open are those of equal springs;
 * friction sticks on a spring, off by force / tangent_stiffness, and creeps only as far as that.
 * overlap = volume makes them of the volume of overlap; a shape that is all inside of another one
 * has no force then, and such a state is refused: the step is shortened.  An impact lasts pi sqrt(m
 * / k) instead of no time: impulses spread, and steps must resolve it.  Bodies that are farther in
 * a step than they are thick pass through each other.  A contact that has given a quarter more
 * energy than it had taken is no motion of these laws any more: the step is too long, and the run
 * ends as diverged.
 *
 * Cost per evaluation: assembly and collision detection.  No allocation in the steady state. Fails:
 * states that are not finite; contacts that make energy.
 *
 * The stiffness keeps C small: the force is minus the gradient of Vondrak 2005, eq. 3.7, 3.8 with a
 * damper. */
#include "models/formulations/penalty/penalty_contacts.h"
#include "models/formulations/penalty/penalty_drives.h"
#include "models/stepping/constrained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* m/s: slower contacts have the damping of this speed, which else had no bound */
static const double THRESHOLD = 0.01;

struct opts {
  double stiffness, damping;
  double contact_stiffness, exponent, damping_ratio;
  double tangent_stiffness, tangent_ratio;
  int overlap;
};
enum { OVERLAP_DEPTH, OVERLAP_VOLUME };
static const char *const overlaps[] = { "depth", "volume", NULL };
static const perp_opt options[] = {
  PERP_REAL(struct opts, stiffness, 1e5, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Stiffness of joint rows, limits and motors, in N/m or N m/rad."),
  PERP_REAL(struct opts, damping, 10, 0, HUGE_VAL, PERP_OPEN_MAX, "",
            "Damping of joint rows and of locked joint coordinates, in N s/m or N m s/rad."),
  PERP_REAL(struct opts, contact_stiffness, 1e5, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Stiffness k of each contact point, in N/m^exponent. With overlap=volume of each pair "
            "of shapes, in N/m^5 (N/m^3 in the plane) for an exponent of 1."),
  PERP_REAL(struct opts, exponent, 1, 1, 3, 0, "",
            "Exponent n of the normal contact force k d^n, or k V^n A with overlap=volume. 1.5 "
            "of a depth: Hertz contact of round bodies."),
  PERP_REAL(struct opts, damping_ratio, 1, 0, HUGE_VAL, PERP_OPEN_MAX, "",
            "Upper bound on the damping ratio of contacts and limits. Restitution e is exact down "
            "to e = 0.27 with 1, and to 0.1 with 2."),
  PERP_REAL(struct opts, tangent_stiffness, 1e5, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "N/m",
            "Tangential stiffness of a sticking contact."),
  PERP_REAL(struct opts, tangent_ratio, 0.25, 0, HUGE_VAL, PERP_OPEN_MAX, "",
            "Damping ratio of the tangential spring (see tangent_stiffness) and of motors."),
  PERP_ENUM(struct opts, overlap, OVERLAP_DEPTH, overlaps,
            "Penetration that makes contact forces. depth: of each contact point. volume: overlap "
            "volume V of each pair of shapes. Its force k V A, A the area of the section, is minus "
            "the gradient of k V^2 / 2. Served are planes with spheres, boxes, polytopes and "
            "ellipsoids, and two spheres."),
  PERP_OPTIONS_END
};

enum { POWER_ITERATIONS = 200 };

typedef struct workspace {
  const perp_model *model; /* first */
  struct opts o;
  perp_eval e;
  perp_ode_sys sys;
  perp_ode *ode;
  perp_penalty_contacts *contacts; /* NULL: no shapes */
  perp_penalty_drives *drives;     /* NULL: none */
  double *q;                       /* [nq] start of a restart */
  double *f, *x, *K, *D;           /* [nv] */
  double *trial, *lambda; /* [m] penalty forces of an evaluation, at the last regular state */
  double drift, h_stable;
  perp_ctx *ctx;      /* of the call in progress */
  perp_status status; /* of collision detection */
  bool active;        /* contacts or limits have made energy: they are not passive */
  bool timing;
  double assembly_s, step_s, collision_s; /* the last with contact forces */
  char cause[200];
} workspace;

static double penalty_now(const workspace *work)
{
  return work->timing ? perp_clock_wall() : 0;
}

/* Did collision detection work?  Poses that are not finite are a failure of the step, and no error.
 */
static bool penalty_found(workspace *work)
{
  if (work->status == PERP_OK) return true;
  if (work->status == PERP_ERR_ARG) work->status = PERP_OK;
  return false;
}

/* work->f += contact forces; false: work->status says why, or the state is not finite */
static bool penalty_contact_forces(workspace *work, double t, const double *q, const double *v)
{
  const double start = penalty_now(work);
  if (!perp_all_finite(work->model->nq, q) || !perp_all_finite(work->model->nv, v)) return false;
  work->status = perp_penalty_contacts_force(work->ctx, work->contacts, &work->e, t, q, v, work->f);
  const double spent = penalty_now(work) - start;
  work->collision_s += spent;
  work->assembly_s -= spent;
  return penalty_found(work);
}

static perp_ode_answer penalty_deriv(void *user, double t, double h, const double *q,
                                     const double *v, bool intermediate, double *qdot, double *a)
{
  workspace *work = user;
  const perp_model *model = work->model;
  const double start = penalty_now(work);
  (void)h;
  perp_eval_at(&work->e, model, t, q);
  perp_eval_forces(&work->e, model, t, v, true, work->f);
  memset(work->trial, 0, (size_t)model->m * sizeof *work->trial);
  perp_blocks_J(&work->e.blocks, -work->o.damping, v, work->trial);
  for (int i = 0; model->driven && i < model->m; i++)
    work->trial[i] -= work->o.damping * work->e.Ct[i];
  for (int i = 0; i < model->m; i++) work->trial[i] -= work->o.stiffness * work->e.C[i];
  perp_blocks_Jt(&work->e.blocks, 1, work->trial, work->f);
  if (work->drives != NULL) perp_penalty_drives_force(work->drives, &work->e, t, v, work->f);
  if (work->contacts != NULL && !penalty_contact_forces(work, t, q, v)) return PERP_ODE_FAILED;
  if (work->contacts != NULL && perp_penalty_contacts_inside(work->contacts))
    return PERP_ODE_INVALID;
  perp_blocks_Minv(&work->e.blocks, work->f, a);
  if (!intermediate) memcpy(work->lambda, work->trial, (size_t)model->m * sizeof *work->lambda);
  if (qdot != NULL) perp_model_qdot(model, q, v, qdot);
  work->assembly_s += penalty_now(work) - start;
  return perp_all_finite(model->nv, a) ? PERP_ODE_OK : PERP_ODE_FAILED;
}

static perp_ode_answer penalty_accept(void *user, double t, double *q, double *v)
{
  workspace *work = user;
  if (!perp_all_finite(work->model->nq, q) || !perp_all_finite(work->model->nv, v))
    return PERP_ODE_FAILED;
  perp_eval_at(&work->e, work->model, t, q);
  work->drift = perp_worst(work->model->m, work->e.C);
  bool passive = true, still = true;
  if (work->drives != NULL) perp_penalty_drives_accept(work->drives, &work->e, t, v, &passive);
  if (work->contacts != NULL)
    work->status = perp_penalty_contacts_accept(work->ctx, work->contacts, &work->e, t, q, v,
                                                &still);
  if (!penalty_found(work)) return PERP_ODE_FAILED;
  if (work->contacts != NULL && perp_penalty_contacts_inside(work->contacts))
    return PERP_ODE_INVALID;
  work->active = !passive || !still;
  return work->active ? PERP_ODE_FAILED : PERP_ODE_OK;
}

/* K x and D x of all springs and dampers at the last evaluation, [nv] */
static void penalty_springs(workspace *work, const double *x, double *K, double *D)
{
  const perp_model *model = work->model;
  const size_t size = (size_t)model->nv * sizeof *K;
  memset(K, 0, size);
  memset(D, 0, size);
  memset(work->trial, 0, (size_t)model->m * sizeof *work->trial);
  perp_blocks_J(&work->e.blocks, 1, x, work->trial);
  perp_blocks_Jt(&work->e.blocks, work->o.stiffness, work->trial, K);
  perp_blocks_Jt(&work->e.blocks, work->o.damping, work->trial, D);
  if (work->drives != NULL) perp_penalty_drives_stiffness(work->drives, &work->e, x, K, D);
  if (work->contacts != NULL) perp_penalty_contacts_stiffness(work->contacts, &work->e, x, K, D);
}

/* The largest eigenvalue of M^-1 K, or of M^-1 D: power iteration, with the quotient of Rayleigh in
 * the norm of M. */
static double penalty_largest(workspace *work, bool damping)
{
  const int nv = work->model->nv;
  double value = 0, *x = work->x, *y = damping ? work->D : work->K;
  for (int i = 0; i < nv; i++) x[i] = 1 + 0.1 * sin(i); /* orthogonal to no eigenvector, likely */
  for (int k = 0; k < POWER_ITERATIONS; k++) {
    double top = 0, bottom = 0;
    penalty_springs(work, x, work->K, work->D);
    perp_blocks_M(&work->e.blocks, x, work->f);
    for (int i = 0; i < nv; i++) top += x[i] * y[i], bottom += x[i] * work->f[i];
    if (!(top > 0)) return 0;
    value = top / bottom;
    perp_blocks_Minv(&work->e.blocks, y, x);
    double size = 0;
    for (int i = 0; i < nv; i++) size += x[i] * x[i];
    size = sqrt(size);
    for (int i = 0; i < nv; i++) x[i] /= size;
  }
  return value;
}

/* The longest step of symplectic Euler at the start. */
static perp_status penalty_longest(perp_ctx *ctx, workspace *work, double t)
{
  perp_eval_at(&work->e, work->model, t, work->q);
  if (work->contacts != NULL) PERP_TRY(perp_penalty_contacts_near(ctx, work->contacts, &work->e));
  const double k = penalty_largest(work, false), d = penalty_largest(work, true);
  work->h_stable = k > 0 ? (sqrt(d * d + 4 * k) - d) / k : HUGE_VAL;
  return PERP_OK;
}

static void penalty_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->model;
  perp_eval_layout(&work->e, model, arena);
  work->q = PERP_CARVE(arena, double, model->nq);
  PERP_DOUBLES(arena, model->nv, &work->f, &work->x, &work->K, &work->D);
  PERP_DOUBLES(arena, model->m, &work->trial, &work->lambda);
}

static void penalty_destroy(void *ws)
{
  workspace *work = ws;
  if (work == NULL) return;
  if (work->ode != NULL) perp_ode_destroy(work->ode);
  perp_penalty_contacts_destroy(work->contacts);
  perp_penalty_drives_destroy(work->drives);
  free(work);
}

static perp_status penalty_open(perp_ctx *ctx, workspace *work, const perp_parts *parts, double h)
{
  const perp_model *model = work->model;
  const struct opts *o = &work->o;
  const perp_penalty_law contact = { .stiffness = o->contact_stiffness,
                                     .exponent = o->exponent,
                                     .volume = o->overlap == OVERLAP_VOLUME,
                                     .damping_ratio = o->damping_ratio,
                                     .threshold = THRESHOLD,
                                     .tangent_stiffness = o->tangent_stiffness,
                                     .tangent_ratio = o->tangent_ratio };
  perp_penalty_law drive = contact;
  drive.stiffness = o->stiffness;
  drive.exponent = 1;
  if (model->n_shapes > 0)
    PERP_TRY(perp_penalty_contacts_create(ctx, model, &contact, &work->contacts));
  if (model->n_drives > 0)
    PERP_TRY(perp_penalty_drives_create(ctx, model, &drive, o->damping, &work->drives));
  return perp_ode_create(ctx, &parts->ode, &work->sys, h, &work->ode);
}

static perp_status penalty_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                  double h, void **ws)
{
  *ws = NULL;
  workspace like = { .model = model, .o = *(const struct opts *)parts->formulation.opts };
  PERP_TRY(perp_workspace_create(ctx, "penalty", &like, sizeof like, penalty_layout, ws));
  workspace *work = *ws;
  perp_eval_init(&work->e, model);
  work->e.blocks.s = NULL; /* the penalty is all the softness there is */
  work->sys = perp_formulation_ode_sys(work);
  work->sys.deriv = penalty_deriv;
  work->sys.accept = penalty_accept;
  if (!model->velocity_forces && work->o.damping == 0 && model->n_shapes == 0 &&
      model->n_drives == 0)
    work->sys.caps |= PERP_ODE_SYS_POSITION_FORCES;
  const perp_status status = penalty_open(ctx, work, parts, h);
  if (status != PERP_OK) {
    penalty_destroy(work);
    *ws = NULL;
  }
  return status;
}

static perp_status penalty_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                   const double *v)
{
  workspace *work = ws;
  memset(work->lambda, 0, (size_t)work->model->m * sizeof *work->lambda);
  memcpy(work->q, q, (size_t)work->model->nq * sizeof *q);
  work->assembly_s = work->step_s = work->collision_s = 0;
  work->ctx = ctx;
  work->status = PERP_OK;
  work->active = false;
  PERP_TRY(perp_constrained_check_start(ctx, work->model, work->q, v));
  PERP_TRY(penalty_longest(ctx, work, t));
  if (work->contacts != NULL) perp_penalty_contacts_restart(work->contacts);
  if (work->drives != NULL) perp_penalty_drives_restart(work->drives);
  const perp_status status = perp_ode_restart(ctx, work->ode, t, work->q, v);
  return work->status != PERP_OK ? work->status : status;
}

static perp_status penalty_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *work = ws;
  perp_stats stats = { 0 };
  const double start = penalty_now(work);
  work->ctx = ctx;
  work->status = PERP_OK;
  work->active = false;
  perp_ode_stop stop = perp_ode_step(ctx, work->ode, t_max, &stats);
  work->step_s += penalty_now(work) - start;
  if (work->status != PERP_OK) return work->status;
  info->reason = stop != PERP_ODE_STOPPED        ? PERP_EXACT
                 : work->active                  ? PERP_DIVERGED
                 : stats.reason == PERP_SINGULAR ? PERP_NOT_FINITE /* all that deriv refuses */
                                                 : stats.reason;
  info->drift_pos_pre = work->drift;
  info->lambda = work->lambda;
  info->h_stable = work->h_stable;
  if (work->contacts != NULL) perp_penalty_contacts_info(work->contacts, info);
  if (work->drives != NULL) info->drive = perp_penalty_drives_forces(work->drives);
  if (work->active && work->h_stable > 0 && isfinite(work->h_stable)) {
    snprintf(
        work->cause, sizeof work->cause,
        "a contact or limit returned more energy than it absorbed: the step is too long for its "
        "stiffness; use the longest stable step of the start (--h %.2gs) or a lower stiffness",
        0.95 * work->h_stable); /* %.2g rounds up by less */
    info->cause = work->cause;
  } else if (work->active) {
    info->cause = "a contact or limit returned more energy than it absorbed: the step is too long "
                  "for its stiffness; use a shorter step or error control";
  } else if (info->reason == PERP_INVALID_STATE) {
    info->cause = "a shape is all inside of another one, where the volume of overlap has no "
                  "gradient; use a larger contact_stiffness or a shorter step";
  }
  return PERP_OK;
}

static void penalty_state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *work = ws;
  *t = perp_ode_time(work->ode);
  *q = perp_ode_q(work->ode);
  *v = perp_ode_v(work->ode);
}

static perp_status penalty_dense(perp_ctx *ctx, void *ws, double t, double *q, double *v,
                                 double *lambda)
{
  workspace *work = ws;
  if (work->drives != NULL ||
      (work->contacts != NULL && perp_penalty_contacts_remembers(work->contacts)))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "formulation penalty: dense output is not available with touching contacts, "
                     "limits or motors, whose memory is updated at the end of the step only");
  work->ctx = ctx;
  PERP_TRY(perp_ode_dense_at(ctx, work->ode, t, q, v));
  if (lambda == NULL) return PERP_OK;
  penalty_deriv(work, t, 0, q, v, true, NULL, work->x);
  memcpy(lambda, work->trial, (size_t)work->model->m * sizeof *lambda);
  return PERP_OK;
}

static void penalty_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *work = ws;
  if (ode != NULL) *ode = *perp_ode_count(work->ode);
  if (kkt != NULL) *kkt = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
}

static void penalty_timing(void *ws, bool on, perp_times *times)
{
  workspace *work = ws;
  if (times != NULL)
    *times = (perp_times){ .assembly = work->assembly_s,
                           .collision = work->collision_s,
                           .integrate = work->step_s - work->assembly_s - work->collision_s };
  work->timing = on;
}

static const perp_contact_count *penalty_contact_count(const void *ws)
{
  const workspace *work = ws;
  return work->contacts != NULL ? perp_penalty_contacts_count(work->contacts) : NULL;
}

static void penalty_observe(void *ws, perp_contact_observer *observer, void *user)
{
  (void)ws, (void)observer, (void)user; /* no problems */
}

const perp_formulation_desc perp_formulation_penalty = {
  .d = { .name = "penalty",
         .summary = "Joints and contacts as stiff springs and dampers: no linear system, errors of "
                    "order 1 / stiffness",
         .reference =
             "Vondrak 2005, section 3.4, eq. 3.9; STAR 2012, sections 3.2.1 and 7.1; contacts: "
             "Hunt & Crossley 1975, Cundall & Strack 1979",
         .equation = "M v' = f - J' (stiffness C + damping J v); contacts: "
                     "f_n = max(0, k d^n (1 + c d')), |f_t| <= mu f_n",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_FORCES_AT_START | PERP_FORM_BREAKS | PERP_FORM_USES_ODE |
                 PERP_FORM_CONTACTS | PERP_FORM_DRIVES | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS },
  .create = penalty_create,
  .restart = penalty_restart,
  .step = penalty_step,
  .state = penalty_state,
  .dense = penalty_dense,
  .counters = penalty_counters,
  .timing = penalty_timing,
  .destroy = penalty_destroy,
  .contacts = penalty_contact_count,
  .observe = penalty_observe,
};
