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

struct opts {
  double stiffness, damping;
  double contact_stiffness, exponent, damping_ratio, threshold;
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
  PERP_REAL(struct opts, threshold, 0.01, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "m/s",
            "Approach speed below which the damping of a contact no longer depends on the speed."),
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

static double penalty_now(const workspace *w)
{
  return w->timing ? perp_clock_wall() : 0;
}

/* Did collision detection work?  Poses that are not finite are a failure of the step, and no error.
 */
static bool penalty_found(workspace *w)
{
  if (w->status == PERP_OK) return true;
  if (w->status == PERP_ERR_ARG) w->status = PERP_OK;
  return false;
}

/* w->f += contact forces; false: w->status says why, or the state is not finite */
static bool penalty_contact_forces(workspace *w, double t, const double *q, const double *v)
{
  const double start = penalty_now(w);
  if (!perp_all_finite(w->model->nq, q) || !perp_all_finite(w->model->nv, v)) return false;
  w->status = perp_penalty_contacts_force(w->ctx, w->contacts, &w->e, t, q, v, w->f);
  const double spent = penalty_now(w) - start;
  w->collision_s += spent;
  w->assembly_s -= spent;
  return penalty_found(w);
}

static perp_ode_answer penalty_deriv(void *user, double t, double h, const double *q,
                                     const double *v, bool intermediate, double *qdot, double *a)
{
  workspace *w = user;
  const perp_model *model = w->model;
  const double start = penalty_now(w);
  (void)h;
  perp_eval_at(&w->e, model, t, q);
  perp_eval_forces(&w->e, model, t, v, true, w->f);
  memset(w->trial, 0, (size_t)model->m * sizeof *w->trial);
  perp_blocks_J(&w->e.blocks, -w->o.damping, v, w->trial);
  for (int i = 0; model->driven && i < model->m; i++) w->trial[i] -= w->o.damping * w->e.Ct[i];
  for (int i = 0; i < model->m; i++) w->trial[i] -= w->o.stiffness * w->e.C[i];
  perp_blocks_Jt(&w->e.blocks, 1, w->trial, w->f);
  if (w->drives != NULL) perp_penalty_drives_force(w->drives, &w->e, t, v, w->f);
  if (w->contacts != NULL && !penalty_contact_forces(w, t, q, v)) return PERP_ODE_FAILED;
  if (w->contacts != NULL && perp_penalty_contacts_inside(w->contacts)) return PERP_ODE_INVALID;
  perp_blocks_Minv(&w->e.blocks, w->f, a);
  if (!intermediate) memcpy(w->lambda, w->trial, (size_t)model->m * sizeof *w->lambda);
  if (qdot != NULL) perp_model_qdot(model, q, v, qdot);
  w->assembly_s += penalty_now(w) - start;
  return perp_all_finite(model->nv, a) ? PERP_ODE_OK : PERP_ODE_FAILED;
}

static perp_ode_answer penalty_accept(void *user, double t, double *q, double *v)
{
  workspace *w = user;
  if (!perp_all_finite(w->model->nq, q) || !perp_all_finite(w->model->nv, v))
    return PERP_ODE_FAILED;
  perp_eval_at(&w->e, w->model, t, q);
  w->drift = perp_worst(w->model->m, w->e.C);
  bool passive = true, still = true;
  if (w->drives != NULL) perp_penalty_drives_accept(w->drives, &w->e, t, v, &passive);
  if (w->contacts != NULL)
    w->status = perp_penalty_contacts_accept(w->ctx, w->contacts, &w->e, t, q, v, &still);
  if (!penalty_found(w)) return PERP_ODE_FAILED;
  if (w->contacts != NULL && perp_penalty_contacts_inside(w->contacts)) return PERP_ODE_INVALID;
  w->active = !passive || !still;
  return w->active ? PERP_ODE_FAILED : PERP_ODE_OK;
}

/* K x and D x of all springs and dampers at the last evaluation, [nv] */
static void penalty_springs(workspace *w, const double *x, double *K, double *D)
{
  const perp_model *model = w->model;
  const size_t size = (size_t)model->nv * sizeof *K;
  memset(K, 0, size);
  memset(D, 0, size);
  memset(w->trial, 0, (size_t)model->m * sizeof *w->trial);
  perp_blocks_J(&w->e.blocks, 1, x, w->trial);
  perp_blocks_Jt(&w->e.blocks, w->o.stiffness, w->trial, K);
  perp_blocks_Jt(&w->e.blocks, w->o.damping, w->trial, D);
  if (w->drives != NULL) perp_penalty_drives_stiffness(w->drives, &w->e, x, K, D);
  if (w->contacts != NULL) perp_penalty_contacts_stiffness(w->contacts, &w->e, x, K, D);
}

/* The largest eigenvalue of M^-1 K, or of M^-1 D: power iteration, with the quotient of Rayleigh in
 * the norm of M. */
static double penalty_largest(workspace *w, bool damping)
{
  const int nv = w->model->nv;
  double value = 0, *x = w->x, *y = damping ? w->D : w->K;
  for (int i = 0; i < nv; i++) x[i] = 1 + 0.1 * sin(i); /* orthogonal to no eigenvector, likely */
  for (int k = 0; k < POWER_ITERATIONS; k++) {
    double top = 0, bottom = 0;
    penalty_springs(w, x, w->K, w->D);
    perp_blocks_M(&w->e.blocks, x, w->f);
    for (int i = 0; i < nv; i++) top += x[i] * y[i], bottom += x[i] * w->f[i];
    if (!(top > 0)) return 0;
    value = top / bottom;
    perp_blocks_Minv(&w->e.blocks, y, x);
    double size = 0;
    for (int i = 0; i < nv; i++) size += x[i] * x[i];
    size = sqrt(size);
    for (int i = 0; i < nv; i++) x[i] /= size;
  }
  return value;
}

/* The longest step of symplectic Euler at the start. */
static perp_status penalty_longest(perp_ctx *ctx, workspace *w, double t)
{
  perp_eval_at(&w->e, w->model, t, w->q);
  if (w->contacts != NULL) PERP_TRY(perp_penalty_contacts_near(ctx, w->contacts, &w->e));
  const double k = penalty_largest(w, false), d = penalty_largest(w, true);
  w->h_stable = k > 0 ? (sqrt(d * d + 4 * k) - d) / k : HUGE_VAL;
  return PERP_OK;
}

static void penalty_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->model;
  perp_eval_layout(&w->e, model, a);
  w->q = PERP_CARVE(a, double, model->nq);
  PERP_DOUBLES(a, model->nv, &w->f, &w->x, &w->K, &w->D);
  PERP_DOUBLES(a, model->m, &w->trial, &w->lambda);
}

static void penalty_destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  if (w->ode != NULL) perp_ode_destroy(w->ode);
  perp_penalty_contacts_destroy(w->contacts);
  perp_penalty_drives_destroy(w->drives);
  free(w);
}

static perp_status penalty_open(perp_ctx *ctx, workspace *w, const perp_parts *parts, double h)
{
  const perp_model *model = w->model;
  const struct opts *o = &w->o;
  const perp_penalty_law contact = { .stiffness = o->contact_stiffness,
                                     .exponent = o->exponent,
                                     .volume = o->overlap == OVERLAP_VOLUME,
                                     .damping_ratio = o->damping_ratio,
                                     .threshold = o->threshold,
                                     .tangent_stiffness = o->tangent_stiffness,
                                     .tangent_ratio = o->tangent_ratio };
  perp_penalty_law drive = contact;
  drive.stiffness = o->stiffness;
  drive.exponent = 1;
  if (model->n_shapes > 0)
    PERP_TRY(perp_penalty_contacts_create(ctx, model, &contact, &w->contacts));
  if (model->n_drives > 0)
    PERP_TRY(perp_penalty_drives_create(ctx, model, &drive, o->damping, &w->drives));
  return perp_ode_create(ctx, &parts->ode, &w->sys, h, &w->ode);
}

static perp_status penalty_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                  double h, void **ws)
{
  *ws = NULL;
  workspace like = { .model = model, .o = *(const struct opts *)parts->formulation.opts };
  PERP_TRY(perp_workspace_create(ctx, "penalty", &like, sizeof like, penalty_layout, ws));
  workspace *w = *ws;
  perp_eval_init(&w->e, model);
  w->e.blocks.s = NULL; /* the penalty is all the softness there is */
  w->sys = perp_formulation_ode_sys(w);
  w->sys.deriv = penalty_deriv;
  w->sys.accept = penalty_accept;
  if (!model->velocity_forces && w->o.damping == 0 && model->n_shapes == 0 && model->n_drives == 0)
    w->sys.caps |= PERP_ODE_SYS_POSITION_FORCES;
  const perp_status status = penalty_open(ctx, w, parts, h);
  if (status != PERP_OK) {
    penalty_destroy(w);
    *ws = NULL;
  }
  return status;
}

static perp_status penalty_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                   const double *v)
{
  workspace *w = ws;
  memset(w->lambda, 0, (size_t)w->model->m * sizeof *w->lambda);
  memcpy(w->q, q, (size_t)w->model->nq * sizeof *q);
  w->assembly_s = w->step_s = w->collision_s = 0;
  w->ctx = ctx;
  w->status = PERP_OK;
  w->active = false;
  PERP_TRY(perp_constrained_check_start(ctx, w->model, w->q, v));
  PERP_TRY(penalty_longest(ctx, w, t));
  if (w->contacts != NULL) perp_penalty_contacts_restart(w->contacts);
  if (w->drives != NULL) perp_penalty_drives_restart(w->drives);
  const perp_status status = perp_ode_restart(ctx, w->ode, t, w->q, v);
  return w->status != PERP_OK ? w->status : status;
}

static perp_status penalty_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *w = ws;
  perp_stats stats = { 0 };
  const double start = penalty_now(w);
  w->ctx = ctx;
  w->status = PERP_OK;
  w->active = false;
  perp_ode_stop stop = perp_ode_step(ctx, w->ode, t_max, &stats);
  w->step_s += penalty_now(w) - start;
  if (w->status != PERP_OK) return w->status;
  info->reason = stop != PERP_ODE_STOPPED        ? PERP_EXACT
                 : w->active                     ? PERP_DIVERGED
                 : stats.reason == PERP_SINGULAR ? PERP_NOT_FINITE /* all that deriv refuses */
                                                 : stats.reason;
  info->drift_pos_pre = w->drift;
  info->lambda = w->lambda;
  info->h_stable = w->h_stable;
  if (w->contacts != NULL) perp_penalty_contacts_info(w->contacts, info);
  if (w->drives != NULL) info->drive = perp_penalty_drives_forces(w->drives);
  if (w->active && w->h_stable > 0 && isfinite(w->h_stable)) {
    snprintf(
        w->cause, sizeof w->cause,
        "a contact or limit returned more energy than it absorbed: the step is too long for its "
        "stiffness; use the longest stable step of the start (--h %.2gs) or a lower stiffness",
        0.95 * w->h_stable); /* %.2g rounds up by less */
    info->cause = w->cause;
  } else if (w->active) {
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
  const workspace *w = ws;
  *t = perp_ode_time(w->ode);
  *q = perp_ode_q(w->ode);
  *v = perp_ode_v(w->ode);
}

static perp_status penalty_dense(perp_ctx *ctx, void *ws, double t, double *q, double *v,
                                 double *lambda)
{
  workspace *w = ws;
  if (w->drives != NULL || (w->contacts != NULL && perp_penalty_contacts_remembers(w->contacts)))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "formulation penalty: dense output is not available with touching contacts, "
                     "limits or motors, whose memory is updated at the end of the step only");
  w->ctx = ctx;
  PERP_TRY(perp_ode_dense_at(ctx, w->ode, t, q, v));
  if (lambda == NULL) return PERP_OK;
  penalty_deriv(w, t, 0, q, v, true, NULL, w->x);
  memcpy(lambda, w->trial, (size_t)w->model->m * sizeof *lambda);
  return PERP_OK;
}

static void penalty_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *w = ws;
  if (ode != NULL) *ode = *perp_ode_count(w->ode);
  if (kkt != NULL) *kkt = (perp_stats){ .reason = PERP_EXACT, .residual = (double)NAN };
}

static void penalty_timing(void *ws, bool on, perp_times *times)
{
  workspace *w = ws;
  if (times != NULL)
    *times = (perp_times){ .assembly = w->assembly_s,
                           .collision = w->collision_s,
                           .integrate = w->step_s - w->assembly_s - w->collision_s };
  w->timing = on;
}

static const perp_contact_count *penalty_contact_count(const void *ws)
{
  const workspace *w = ws;
  return w->contacts != NULL ? perp_penalty_contacts_count(w->contacts) : NULL;
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
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_ODE | PERP_FORM_CONTACTS | PERP_FORM_DRIVES |
                 PERP_FORM_SIGNALS | PERP_FORM_MOTIONS },
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
