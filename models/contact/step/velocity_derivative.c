/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of a step of the velocity level on its active set (gradient.h).
 *
 * The step solves, with x = v+ (velocity_step.c),
 *
 *      M x = M v + h f + J' lambda + J_c' P + J_d' lambda_d,     J x + S lambda = k
 *      active contacts       n . u+ + S_n P_n + bias = 0;  t . u+ = 0 where they stick,
 *                            P_t + mu P_n u_t+ / |u_t+| = 0 where they slide
 *      active limits, motors w = 0, or lambda_d at its bound
 *
 * with u+ = J_c x, and f, k, J, gaps, normals and bias at the start (q, v).  Those are
 * differentiated along a column by differences in which contacts are found again pair by pair and
 * keep their names; x, impulses and the active set are held.  Then q+ = q [+] h x.  A pass on
 * positions at the end (contacts_post.h) is a system of the same kind, with x = dq, gap in the
 * place of the bias and no friction.
 *
 * Contacts within the slop, whose bias is 0, have the derivative of open ones, gap / h: within 1e-8
 * of a body the program makes no difference, and beyond it this is the side of eps where they open.
 */
#include "models/contact/step/velocity_derivative.h"
#include "models/contact/step/velocity_derivative_residual.h"
#include "models/contact/step/velocity_derivative_rows.h"

#include "models/contact/step/islands_problem.h"

#include <stdlib.h>
#include <string.h>

/* ---- equations ---- */

static void velocity_derivative_joints(const perp_velocity_stage *stage, const perp_model *model,
                                       double *r1, double *r2)
{
  const perp_blocks *blocks = &stage->eval.blocks;
  if (model->m == 0) return;
  perp_blocks_Jt(blocks, -1, stage->lambda, r1);
  perp_blocks_J(blocks, 1, stage->x, r2);
  for (int i = 0; blocks->s != NULL && i < model->m; i++) r2[i] += blocks->s[i] * stage->lambda[i];
}

/* The sides of the balance at eval, in stage->f and stage->c. */
static void velocity_derivative_sides(perp_velocity_stage *stage, const perp_model *model,
                                      const double *v)
{
  perp_stepping stepping = *stage->w;
  stepping.k.model = model;
  stepping.k.e = &stage->eval;
  stepping.k.f = stage->f;
  stepping.k.c = stage->c;
  if (stepping.drives != NULL) {
    stage->drives = *stepping.drives;
    stage->drives.model = model;
    stage->drives.pushed = stage->pushed;
    stepping.drives = &stage->drives;
  }
  perp_velocity_step_sides(&stepping, stage->t, stage->h, v);
}

static void velocity_derivative_residual(void *user, const perp_model *model, int j, double eps,
                                         const double *q, const double *v, double *r)
{
  perp_velocity_stage *stage = user;
  const int nv = model->nv, m = model->m;
  double *r1 = r, *r2 = r + nv, *r3 = r2 + m, *r4 = r3 + stage->d->rows->n;
  perp_eval_at(&stage->eval, model, stage->t, q);
  perp_eval_impulse(&stage->eval, model, stage->t, 0, stage->x, r1);
  if (stage->pass == NULL) {
    velocity_derivative_sides(stage, model, v);
    if (perp_derivative_acts(stage->d, j, PERP_GRADIENT_FORCE))
      stage->f[stage->d->wrt[j].index] += stage->h * eps;
    for (int i = 0; i < nv; i++) r1[i] -= stage->f[i];
    for (int i = 0; i < m; i++) r2[i] = -stage->c[i];
  } else {
    memcpy(r2, stage->eval.C, (size_t)m * sizeof *r2);
    perp_model_rigid_rows(model, r2);
  }
  velocity_derivative_joints(stage, model, r1, r2);
  if (stage->n_contacts > 0) perp_velocity_geometry(stage, j);
  perp_velocity_rows_residual(stage, model, j, eps, v, r1, r3, r4);
}

/* ---- stages ---- */

/* The factor of the joints at (t, q), and v^ of the sides at hand in system->a. */
static bool velocity_derivative_factor(perp_velocity_stage *stage, const double *q, const double *v)
{
  perp_constrained *system = &stage->w->k;
  const perp_model *model = stage->d->model;
  perp_constrained_at(system, stage->t, q);
  perp_eval_at(&stage->eval, model, stage->t, q);
  memset(system->lambda, 0, (size_t)model->m * sizeof *system->lambda);
  if (stage->pass == NULL) {
    velocity_derivative_sides(stage, model, v);
    memcpy(system->f, stage->f, (size_t)model->nv * sizeof *system->f);
    memcpy(system->c, stage->c, (size_t)model->m * sizeof *system->c);
  } else {
    memset(system->f, 0, (size_t)model->nv * sizeof *system->f);
    memset(system->c, 0, (size_t)model->m * sizeof *system->c);
  }
  return perp_constrained_solve(system, PERP_LEVEL_VELOCITY, stage->h, v);
}

/* Rows that are not strictly complementary, once the answer is there. */
static perp_status velocity_derivative_kinks(perp_ctx *ctx, perp_velocity_stage *stage)
{
  perp_derivative *derivative = stage->d;
  bool others = false;
  for (int i = 0; i < stage->n_margins; i++)
    PERP_TRY(perp_derivative_kink(ctx, derivative, &stage->margin[i].row,
                                  derivative->margin + (size_t)derivative->n * (size_t)i));
  for (int j = 0; j < derivative->n; j++) {
    others |= stage->features[j];
    if (stage->features[j]) derivative->side[j] = PERP_GRADIENT_NEITHER;
    stage->features[j] = false;
  }
  if (!others) return PERP_OK;
  const perp_gradient_row row = { .cause = PERP_GRADIENT_FEATURES,
                                  .body = { PERP_WORLD, PERP_WORLD },
                                  .drive = -1 };
  return perp_derivative_note(ctx, derivative, row, true);
}

/* derivative->x of the stage with dq, dv at q, v.  False: there is no derivative, or *status says
 * more. */
static bool velocity_derivative_stage(perp_ctx *ctx, perp_velocity_stage *velocity_stage,
                                      const double *q, const double *v, perp_status *status)
{
  perp_derivative *derivative = velocity_stage->d;
  const perp_derivative_stage stage = { .k = &velocity_stage->w->k,
                                        .q = q,
                                        .v = v,
                                        .dq = derivative->dq,
                                        .dv = derivative->dv,
                                        .residual = velocity_derivative_residual,
                                        .user = velocity_stage };
  *status = PERP_OK;
  if (!velocity_derivative_factor(velocity_stage, q, v)) return false;
  *status = perp_velocity_rows(ctx, velocity_stage, velocity_stage->w->k.a);
  if (*status != PERP_OK) return false;
  derivative->active += derivative->rows->n;
  if (!perp_derivative_solve(ctx, derivative, &stage, status)) return false;
  *status = velocity_derivative_kinks(ctx, velocity_stage);
  return *status == PERP_OK;
}

/* From the start of the step to its end, with all passes on positions. */
static bool velocity_derivative_whole(perp_ctx *ctx, perp_velocity_stage *stage,
                                      perp_status *status)
{
  perp_derivative *derivative = stage->d;
  const perp_model *model = derivative->model;
  const size_t nv = (size_t)model->nv, n = (size_t)derivative->n;
  stage->pass = NULL;
  stage->t = derivative->t;
  stage->h = derivative->t_end - derivative->t;
  stage->x = derivative->v_end;
  stage->lambda = stage->impulse;
  for (int i = 0; i < model->m; i++) stage->impulse[i] = stage->h * stage->w->lambda[i];
  if (!velocity_derivative_stage(ctx, stage, derivative->q, derivative->v, status)) return false;
  const bool symplectic = stage->w->symplectic;
  if (symplectic) {
    for (size_t i = 0; i < nv; i++) stage->row[i] = stage->h * derivative->v_end[i];
    perp_model_retract(model, derivative->q, stage->row, stage->q);
  } else {
    perp_model_qdot(model, derivative->q, derivative->v, stage->q);
    for (int i = 0; i < model->nq; i++) stage->q[i] = derivative->q[i] + stage->h * stage->q[i];
    perp_model_project(model, stage->q);
  }
  for (size_t j = 0; j < n; j++)
    perp_derivative_move(derivative, !symplectic, derivative->q, stage->h,
                         symplectic ? derivative->v_end : derivative->v,
                         (symplectic ? derivative->x : derivative->dv) + nv * j, stage->q,
                         derivative->dq + nv * j);
  memcpy(derivative->dv, derivative->x, nv * n * sizeof *derivative->dv);
  for (int i = 0; i < stage->passes.n; i++) {
    stage->pass = &stage->passes.pass[i];
    stage->t = derivative->t_end;
    stage->h = 1;
    stage->x = stage->pass->x;
    stage->lambda = stage->pass->lambda;
    if (!velocity_derivative_stage(ctx, stage, stage->pass->q, derivative->v_end, status))
      return false;
    perp_model_retract(model, stage->pass->q, stage->x, stage->q_end);
    for (size_t j = 0; j < n; j++)
      perp_derivative_move(derivative, false, stage->pass->q, 1, stage->x, derivative->x + nv * j,
                           stage->q_end, derivative->dq + nv * j);
  }
  return true;
}

/* ---- life ---- */

static void velocity_derivative_destroy(void *own)
{
  perp_velocity_stage *stage = own;
  if (stage->w->contacts != NULL && stage->w->contacts->post != NULL)
    perp_contact_post_watch(stage->w->contacts->post, NULL);
  perp_contact_passes_clear(&stage->passes);
  free(stage->contact);
  free(stage->now);
  free(stage->margin);
  free(stage);
}

static void velocity_derivative_layout(void *ws, perp_arena *arena)
{
  perp_velocity_stage *stage = ws;
  const perp_model *model = stage->w->k.model;
  perp_eval_layout(&stage->eval, model, arena);
  PERP_DOUBLES(arena, model->nq, &stage->q, &stage->q_end);
  PERP_DOUBLES(arena, model->nv, &stage->f, &stage->row);
  PERP_DOUBLES(arena, model->m, &stage->c, &stage->impulse);
  PERP_DOUBLES(arena, 6 * (size_t)model->n_bodies, &stage->twist, &stage->twist_before);
  stage->pushed = PERP_CARVE(arena, double, model->n_drives);
  stage->features = PERP_CARVE(arena, bool, stage->d->n);
  stage->drive = PERP_CARVE(arena, perp_velocity_drive, DRIVES_ROWS_EACH * model->n_drives);
}

/* A reason why steps have no derivatives with these contacts; NULL: they have. */
static const char *velocity_derivative_contacts(const perp_contacts *contacts)
{
  const perp_model *model = contacts->model;
  const perp_contact_desc *law = contacts->islands->kind;
  const bool box = law->d.caps & PERP_CONTACT_BOX && model->dim == 2,
             cone = law->d.caps & PERP_CONTACT_CONE && !(law->d.caps & PERP_CONTACT_RELAXED);
  if (law->d.caps & PERP_CONTACT_FRICTION && !box && !cone)
    return "contact cone or frictionless, in the plane box: use --contact cone";
  if (contacts->o.substeps > 1 || contacts->o.halvings > 0 || contacts->o.sleep)
    return "whole steps of all bodies: leave out substeps, halvings and sleep";
  if (contacts->second.on) return "one velocity: leave out frequency and relax";
  if (model->surfaces.couples || model->surfaces.anisotropic || model->surfaces.belts)
    return "surfaces at rest with isotropic friction and without couples";
  for (int i = 0; i < model->n_shapes && contacts->o.impact != PERP_IMPACT_NEWTON; i++)
    if (model->shape_def[i].surface.restitution > 0)
      return "Newton's law of impact: leave out impact";
  return NULL;
}

perp_status perp_velocity_derivative_create(perp_ctx *ctx, void *ws, perp_derivative *derivative)
{
  perp_stepping *stepping = ws;
  const char *need = NULL;
  if (stepping->ode != NULL) need = "fixed steps: leave out the tolerance (tol)";
  if (stepping->k.stab != NULL && stepping->k.stab->post_step != NULL)
    need = "joints held by feedback: use --stab baumgarte, split or none";
  if (stepping->k.coordinates != NULL || stepping->prepare != NULL)
    need = "explicit steps in maximal coordinates";
  if (stepping->contacts != NULL && need == NULL)
    need = velocity_derivative_contacts(stepping->contacts);
  if (stepping->contacts != NULL && need == NULL && stepping->contacts->post != NULL &&
      perp_contact_post_stops(stepping->contacts->post))
    need = "contacts whose velocities are not projected: use --stab baumgarte, split or none";
  if (need != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "derivatives of steps of this formulation need %s",
                     need);
  perp_velocity_stage like = { .d = derivative, .w = stepping };
  void *memory;
  derivative->model = stepping->k.model;
  PERP_TRY(perp_workspace_create(ctx, "derivatives", &like, sizeof like, velocity_derivative_layout,
                                 &memory));
  perp_velocity_stage *stage = memory;
  derivative->own = stage;
  derivative->own_destroy = velocity_derivative_destroy;
  perp_eval_init(&stage->eval, stepping->k.model);
  if (stepping->k.model->soft.springs) stage->eval.blocks.s = stepping->k.S;
  memset(stage->features, 0, (size_t)derivative->n * sizeof *stage->features);
  if (stepping->contacts != NULL && stepping->contacts->post != NULL)
    perp_contact_post_watch(stepping->contacts->post, &stage->passes);
  return perp_derivative_room(ctx, derivative, 0, 0);
}

void perp_velocity_derivative_before(void *ws, perp_derivative *derivative)
{
  (void)ws;
  perp_contact_passes_clear(&((perp_velocity_stage *)derivative->own)->passes);
}

perp_status perp_velocity_derivative_step(perp_ctx *ctx, void *ws, perp_derivative *derivative)
{
  perp_velocity_stage *stage = derivative->own;
  perp_constrained *system = &stage->w->k;
  perp_status status;
  (void)ws;
  if (stage->passes.lost)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the passes of a step");
  if (stage->passes.n > PERP_CONTACT_PASSES)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "derivatives of steps serve up to %d passes on penetration: set fewer (passes, "
        "contact_passes of --stab)",
        PERP_CONTACT_PASSES);
  system->ctx = ctx;
  perp_constrained_keep(system);
  if (!velocity_derivative_whole(ctx, stage, &status) && status == PERP_OK)
    perp_derivative_worse(derivative, PERP_GRADIENT_NONE);
  perp_constrained_put_back(system);
  return status;
}
