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

static void velocity_derivative_joints(const perp_velocity_stage *s, const perp_model *model,
                                       double *r1, double *r2)
{
  const perp_blocks *B = &s->eval.blocks;
  if (model->m == 0) return;
  perp_blocks_Jt(B, -1, s->lambda, r1);
  perp_blocks_J(B, 1, s->x, r2);
  for (int i = 0; B->s != NULL && i < model->m; i++) r2[i] += B->s[i] * s->lambda[i];
}

/* The sides of the balance at eval, in s->f and s->c. */
static void velocity_derivative_sides(perp_velocity_stage *s, const perp_model *model,
                                      const double *v)
{
  perp_stepping w = *s->w;
  w.k.model = model;
  w.k.e = &s->eval;
  w.k.f = s->f;
  w.k.c = s->c;
  if (w.drives != NULL) {
    s->drives = *w.drives;
    s->drives.model = model;
    s->drives.pushed = s->pushed;
    w.drives = &s->drives;
  }
  perp_velocity_step_sides(&w, s->t, s->h, v);
}

static void velocity_derivative_residual(void *user, const perp_model *model, int j, double eps,
                                         const double *q, const double *v, double *r)
{
  perp_velocity_stage *s = user;
  const int nv = model->nv, m = model->m;
  double *r1 = r, *r2 = r + nv, *r3 = r2 + m, *r4 = r3 + s->d->rows->n;
  perp_eval_at(&s->eval, model, s->t, q);
  perp_eval_impulse(&s->eval, model, s->t, 0, s->x, r1);
  if (s->pass == NULL) {
    velocity_derivative_sides(s, model, v);
    if (perp_derivative_acts(s->d, j, PERP_GRADIENT_FORCE)) s->f[s->d->wrt[j].index] += s->h * eps;
    for (int i = 0; i < nv; i++) r1[i] -= s->f[i];
    for (int i = 0; i < m; i++) r2[i] = -s->c[i];
  } else {
    memcpy(r2, s->eval.C, (size_t)m * sizeof *r2);
    perp_model_rigid_rows(model, r2);
  }
  velocity_derivative_joints(s, model, r1, r2);
  if (s->n_contacts > 0) perp_velocity_geometry(s, j);
  perp_velocity_rows_residual(s, model, j, eps, v, r1, r3, r4);
}

/* ---- stages ---- */

/* The factor of the joints at (t, q), and v^ of the sides at hand in k->a. */
static bool velocity_derivative_factor(perp_velocity_stage *s, const double *q, const double *v)
{
  perp_constrained *k = &s->w->k;
  const perp_model *m = s->d->model;
  perp_constrained_at(k, s->t, q);
  perp_eval_at(&s->eval, m, s->t, q);
  memset(k->lambda, 0, (size_t)m->m * sizeof *k->lambda);
  if (s->pass == NULL) {
    velocity_derivative_sides(s, m, v);
    memcpy(k->f, s->f, (size_t)m->nv * sizeof *k->f);
    memcpy(k->c, s->c, (size_t)m->m * sizeof *k->c);
  } else {
    memset(k->f, 0, (size_t)m->nv * sizeof *k->f);
    memset(k->c, 0, (size_t)m->m * sizeof *k->c);
  }
  return perp_constrained_solve(k, PERP_LEVEL_VELOCITY, s->h, v);
}

/* Rows that are not strictly complementary, once the answer is there. */
static perp_status velocity_derivative_kinks(perp_ctx *ctx, perp_velocity_stage *s)
{
  perp_derivative *d = s->d;
  bool others = false;
  for (int i = 0; i < s->n_margins; i++)
    PERP_TRY(perp_derivative_kink(ctx, d, &s->margin[i].row, d->margin + (size_t)d->n * (size_t)i));
  for (int j = 0; j < d->n; j++) {
    others |= s->features[j];
    if (s->features[j]) d->side[j] = PERP_GRADIENT_NEITHER;
    s->features[j] = false;
  }
  if (!others) return PERP_OK;
  const perp_gradient_row row = { .cause = PERP_GRADIENT_FEATURES,
                                  .body = { PERP_WORLD, PERP_WORLD },
                                  .drive = -1 };
  return perp_derivative_note(ctx, d, row, true);
}

/* d->x of the stage with dq, dv at q, v.  False: there is no derivative, or *status says more. */
static bool velocity_derivative_stage(perp_ctx *ctx, perp_velocity_stage *s, const double *q,
                                      const double *v, perp_status *status)
{
  perp_derivative *d = s->d;
  const perp_derivative_stage stage = { .k = &s->w->k,
                                        .q = q,
                                        .v = v,
                                        .dq = d->dq,
                                        .dv = d->dv,
                                        .residual = velocity_derivative_residual,
                                        .user = s };
  *status = PERP_OK;
  if (!velocity_derivative_factor(s, q, v)) return false;
  *status = perp_velocity_rows(ctx, s, s->w->k.a);
  if (*status != PERP_OK) return false;
  d->active += d->rows->n;
  if (!perp_derivative_solve(ctx, d, &stage, status)) return false;
  *status = velocity_derivative_kinks(ctx, s);
  return *status == PERP_OK;
}

/* From the start of the step to its end, with all passes on positions. */
static bool velocity_derivative_whole(perp_ctx *ctx, perp_velocity_stage *s, perp_status *status)
{
  perp_derivative *d = s->d;
  const perp_model *m = d->model;
  const size_t nv = (size_t)m->nv, n = (size_t)d->n;
  s->pass = NULL;
  s->t = d->t;
  s->h = d->t_end - d->t;
  s->x = d->v_end;
  s->lambda = s->impulse;
  for (int i = 0; i < m->m; i++) s->impulse[i] = s->h * s->w->lambda[i];
  if (!velocity_derivative_stage(ctx, s, d->q, d->v, status)) return false;
  const bool symplectic = s->w->symplectic;
  if (symplectic) {
    for (size_t i = 0; i < nv; i++) s->row[i] = s->h * d->v_end[i];
    perp_model_retract(m, d->q, s->row, s->q);
  } else {
    perp_model_qdot(m, d->q, d->v, s->q);
    for (int i = 0; i < m->nq; i++) s->q[i] = d->q[i] + s->h * s->q[i];
    perp_model_project(m, s->q);
  }
  for (size_t j = 0; j < n; j++)
    perp_derivative_move(d, !symplectic, d->q, s->h, symplectic ? d->v_end : d->v,
                         (symplectic ? d->x : d->dv) + nv * j, s->q, d->dq + nv * j);
  memcpy(d->dv, d->x, nv * n * sizeof *d->dv);
  for (int i = 0; i < s->passes.n; i++) {
    s->pass = &s->passes.pass[i];
    s->t = d->t_end;
    s->h = 1;
    s->x = s->pass->x;
    s->lambda = s->pass->lambda;
    if (!velocity_derivative_stage(ctx, s, s->pass->q, d->v_end, status)) return false;
    perp_model_retract(m, s->pass->q, s->x, s->q_end);
    for (size_t j = 0; j < n; j++)
      perp_derivative_move(d, false, s->pass->q, 1, s->x, d->x + nv * j, s->q_end, d->dq + nv * j);
  }
  return true;
}

/* ---- life ---- */

static void velocity_derivative_destroy(void *own)
{
  perp_velocity_stage *s = own;
  if (s->w->contacts != NULL && s->w->contacts->post != NULL)
    perp_contact_post_watch(s->w->contacts->post, NULL);
  perp_contact_passes_clear(&s->passes);
  free(s->contact);
  free(s->now);
  free(s->margin);
  free(s);
}

static void velocity_derivative_layout(void *ws, perp_arena *a)
{
  perp_velocity_stage *s = ws;
  const perp_model *m = s->w->k.model;
  perp_eval_layout(&s->eval, m, a);
  PERP_DOUBLES(a, m->nq, &s->q, &s->q_end);
  PERP_DOUBLES(a, m->nv, &s->f, &s->row);
  PERP_DOUBLES(a, m->m, &s->c, &s->impulse);
  PERP_DOUBLES(a, 6 * (size_t)m->n_bodies, &s->twist, &s->twist_before);
  s->pushed = PERP_CARVE(a, double, m->n_drives);
  s->features = PERP_CARVE(a, bool, s->d->n);
  s->drive = PERP_CARVE(a, perp_velocity_drive, DRIVES_ROWS_EACH * m->n_drives);
}

/* A reason why steps have no derivatives with these contacts; NULL: they have. */
static const char *velocity_derivative_contacts(const perp_contacts *c)
{
  const perp_model *m = c->model;
  const perp_contact_desc *law = c->islands->kind;
  const bool box = law->d.caps & PERP_CONTACT_BOX && m->dim == 2,
             cone = law->d.caps & PERP_CONTACT_CONE && !(law->d.caps & PERP_CONTACT_RELAXED);
  if (law->d.caps & PERP_CONTACT_FRICTION && !box && !cone)
    return "contact cone or frictionless, in the plane box: use --contact cone";
  if (c->o.substeps > 1 || c->o.halvings > 0 || c->o.sleep)
    return "whole steps of all bodies: leave out substeps, halvings and sleep";
  if (c->second.on) return "one velocity: leave out frequency and relax";
  if (m->surfaces.couples || m->surfaces.anisotropic || m->surfaces.belts)
    return "surfaces at rest with isotropic friction and without couples";
  for (int i = 0; i < m->n_shapes && c->o.impact != PERP_IMPACT_NEWTON; i++)
    if (m->shape_def[i].surface.restitution > 0) return "Newton's law of impact: leave out impact";
  return NULL;
}

perp_status perp_velocity_derivative_create(perp_ctx *ctx, void *ws, perp_derivative *d)
{
  perp_stepping *w = ws;
  const char *need = NULL;
  if (w->ode != NULL) need = "fixed steps: leave out the tolerance (tol)";
  if (w->k.stab != NULL && w->k.stab->post_step != NULL)
    need = "joints held by feedback: use --stab baumgarte, split or none";
  if (w->k.coordinates != NULL || w->prepare != NULL)
    need = "explicit steps in maximal coordinates";
  if (w->contacts != NULL && need == NULL) need = velocity_derivative_contacts(w->contacts);
  if (w->contacts != NULL && need == NULL && w->contacts->post != NULL &&
      perp_contact_post_stops(w->contacts->post))
    need = "contacts whose velocities are not projected: use --stab baumgarte, split or none";
  if (need != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "derivatives of steps of this formulation need %s",
                     need);
  perp_velocity_stage like = { .d = d, .w = w };
  void *memory;
  d->model = w->k.model;
  PERP_TRY(perp_workspace_create(ctx, "derivatives", &like, sizeof like, velocity_derivative_layout,
                                 &memory));
  perp_velocity_stage *s = memory;
  d->own = s;
  d->own_destroy = velocity_derivative_destroy;
  perp_eval_init(&s->eval, w->k.model);
  if (w->k.model->soft.springs) s->eval.blocks.s = w->k.S;
  memset(s->features, 0, (size_t)d->n * sizeof *s->features);
  if (w->contacts != NULL && w->contacts->post != NULL)
    perp_contact_post_watch(w->contacts->post, &s->passes);
  return perp_derivative_room(ctx, d, 0, 0);
}

void perp_velocity_derivative_before(void *ws, perp_derivative *d)
{
  (void)ws;
  perp_contact_passes_clear(&((perp_velocity_stage *)d->own)->passes);
}

perp_status perp_velocity_derivative_step(perp_ctx *ctx, void *ws, perp_derivative *d)
{
  perp_velocity_stage *s = d->own;
  perp_constrained *k = &s->w->k;
  perp_status status;
  (void)ws;
  if (s->passes.lost) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the passes of a step");
  if (s->passes.n > PERP_CONTACT_PASSES)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "derivatives of steps serve up to %d passes on penetration: set fewer (passes, "
        "contact_passes of --stab)",
        PERP_CONTACT_PASSES);
  k->ctx = ctx;
  perp_constrained_keep(k);
  if (!velocity_derivative_whole(ctx, s, &status) && status == PERP_OK)
    perp_derivative_worse(d, PERP_GRADIENT_NONE);
  perp_constrained_put_back(k);
  return status;
}
