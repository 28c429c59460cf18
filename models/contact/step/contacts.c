/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/contacts_private.h"

#include <stdlib.h>
#include <string.h>

const char *const perp_align_names[] = { "none", "slip", NULL };
const char *const perp_choice_names[] = { "least-norm", "previous", "solver", "none", NULL };
const char *const perp_relax_names[] = { "auto", "no", "yes", NULL };
const char *const perp_gyro_names[] = { "implicit", "explicit", "none", NULL };
const char *const perp_servo_names[] = { "implicit", "symplectic", NULL };
const char *const perp_joints_names[] = { "auto", "eliminate", "rows", NULL };

enum { ROUNDS = 4 }; /* of taking in what was left out */

/* ---- life ---- */

static void contacts_layout(void *ws, perp_arena *a)
{
  perp_contacts *c = ws;
  c->reach = PERP_CARVE(a, double, c->model->n_bodies);
  c->f = PERP_CARVE(a, double, c->model->nv);
  PERP_DOUBLES(a, 6 * (size_t)c->model->n_bodies, &c->before_step, &c->free);
  c->q_ahead = PERP_CARVE(a, double, c->model->nq);
  c->ball = PERP_CARVE(a, bool, c->model->n_shapes);
  c->met = PERP_CARVE(a, bool, c->model->n_bodies);
  PERP_DOUBLES(a, c->second ? c->model->nv : 0, &c->v_kept, &c->moving);
}

static void contacts_layout_grown(void *ws, perp_arena *a)
{
  perp_contacts *c = ws;
  c->impulse = PERP_CARVE(a, double, 3 * (size_t)c->cap);
  c->couple = c->model->surfaces.couples ? PERP_CARVE(a, double, 3 * (size_t)c->cap) : NULL;
  PERP_DOUBLES(a, c->cap, &c->slip, &c->mu);
  c->kept = PERP_CARVE(a, unsigned char, c->cap);
  c->fresh = PERP_CARVE(a, unsigned char, c->cap);
  c->pressed = PERP_CARVE(a, unsigned char, c->cap);
  c->friction = PERP_CARVE(a, unsigned char, c->cap);
  const int parted = c->o.substeps > 1 ? c->cap : 0, second = c->second ? c->cap : 0;
  c->carried = PERP_CARVE(a, perp_contact, parted);
  c->carry = PERP_CARVE(a, perp_contact_carry, parted);
  c->total = PERP_CARVE(a, double, 3 * (size_t)parted);
  PERP_DOUBLES(a, second, &c->approach, &c->reached);
  c->rebounds = PERP_CARVE(a, bool, second);
  c->origin = PERP_CARVE(a, uint64_t, c->cap);
  c->after = PERP_CARVE(a, perp_contact_memory, c->cap);
  c->before = PERP_CARVE(a, perp_contact_memory, c->cap);
}

/* room for n contacts; what is remembered stays, where there is memory */
static perp_status contacts_reserve(perp_ctx *ctx, perp_contacts *c, int n)
{
  if (n <= c->cap) return PERP_OK;
  perp_arena old = c->grown;
  const perp_contact_memory *before = c->before;
  c->grown = (perp_arena){ 0 };
  c->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(ctx, &c->grown, contacts_layout_grown, c);
  if (status != PERP_OK) c->cap = c->n_before = 0;
  if (c->n_before > 0) memcpy(c->before, before, (size_t)c->n_before * sizeof *before);
  perp_arena_free(&old);
  return status;
}

void perp_contacts_destroy(perp_contacts *c)
{
  if (c == NULL) return;
  perp_collision_destroy(c->collision);
  perp_collision_destroy(c->ahead);
  perp_islands_destroy(c->velocity);
  perp_contact_post_destroy(c->post);
  perp_sleep_destroy(c->sleep);
  if (c->stab != NULL) c->stab->destroy(c->stab_ws);
  perp_arena_free(&c->grown);
  for (int k = 0; k < PERP_ENDS; k++) perp_arena_free(&c->aside[k].arena);
  free(c);
}

/* Springs and dampers at the contact points, implicit in the step: with the depth -gap and the
 * impulse lambda = -h (k (gap + h u+) + c u+),
 *
 *      u+ + S lambda + alpha gap = 0,     S = 1 / (h (h k + c)),     alpha = k / (h k + c)
 *
 * so that softness and feedback (restitution of error: the part h alpha of the depth is given back
 * in a step) stand for a spring alpha / (h S) and a damper (1 - h alpha) / (h S).  Open contacts
 * are free up to the surface, w = u+ + S lambda + gap / h: spring and damper act on the way beyond
 * it. */
static bool contacts_springs(const perp_contact_opts *o)
{
  return o->stiffness > 0 || o->damping > 0;
}

/* Contacts that give way by compliance lambda / h are such springs, too, of stiffness 1 /
 * compliance (0: none, rigid) and a damper relaxation / compliance.  An impact with restitution is
 * Newton's, of a rigid row, in the step in which it takes place (Lacoursiere 2007); what presses
 * afterwards gives way again. */
static bool contacts_give_way(const perp_contact_opts *o)
{
  return contacts_springs(o) || o->compliance.on;
}

/* Soft contact, of a frequency in place of a stiffness (E. Catto, soft step, solver2d 2024): of a
 * contact that is closed, with omega = 2 pi frequency, zeta the damping ratio and A_ii the diagonal
 * of its normal row,
 *
 *      u+ + S lambda + max(rate gap, -push) = 0,   c = h omega (2 zeta + h omega),   S = A_ii / c,
 *                                                  rate = omega / (2 zeta + h omega)
 *
 * These are the springs above with k = m omega^2 and 2 zeta omega m for the effective mass m = 1 /
 * A_ii, as rate / (h S) = omega^2 m and (1 - h rate) / (h S) = 2 zeta omega m.  A sweep of
 * Gauss-Seidel changes such a row by
 *
 *      -(u+ + S lambda + rate gap) / (A_ii + S) = -m c / (1 + c) (u+ + rate gap) - 1 / (1 + c)
 * lambda,
 *
 * the mass scale c / (1 + c) and impulse scale 1 / (1 + c) of the engines.  At rest the depth is
 * that of a spring that bears lambda / h: g A_ii m_b / (k omega^2) of a body of mass m_b on k alike
 * contacts, whatever the step.
 *
 * What such rows, or the feedback of a stabilization, push apart has a velocity that is none of the
 * motion: relax takes it out.  The same problem is solved again without softness and feedback (of
 * contacts; joints, limits and motors keep theirs), from the impulses of the first solve. Positions
 * move with the first velocity, the second one is kept, and its impulses are those of the step.
 * What has been open closes by as much as is left of its gap.
 *
 * With soft contact, relax or substeps, restitution is applied once, to the velocity that is kept
 * at the end of the step: what has approached faster than the threshold before the step, and has
 * pressed in it, gets  n . u+ >= -e n . u. */
static bool contacts_soft(const perp_contact_opts *o)
{
  return o->frequency > 0;
}

static bool contacts_relaxes(const perp_contact_opts *o)
{
  return o->relax == PERP_RELAX_YES || (o->relax == PERP_RELAX_AUTO && contacts_soft(o));
}

/* A law that lets contacts part where they slide (contact.h) needs the gap to bring them back. */
static perp_status contacts_relaxed(perp_ctx *ctx, perp_contacts *c, const perp_desc *law)
{
  if (!(law->caps & PERP_CONTACT_RELAXED)) return PERP_OK;
  for (int i = 0; i < c->model->n_shapes; i++)
    c->relaxed = fmax(c->relaxed, c->model->shape_def[i].surface.mu);
  if (!c->o.gap)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact %s needs gap=true: without the gap a sliding contact separates at mu "
                     "|u_t| in each step; use --contact polyhedral with gap=false",
                     law->name);
  if (c->o.impact == PERP_IMPACT_POISSON)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact %s does not define least normal impulses, which impact=poisson "
                     "requires; use impact=newton with it, or --contact polyhedral",
                     law->name);
  if (contacts_soft(&c->o) || contacts_relaxes(&c->o) || c->o.substeps > 1)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact %s needs the gap in each solve, but substeps, frequency and relax "
                     "also solve without it; use --contact polyhedral with them",
                     law->name);
  return PERP_OK;
}

/* options that do not go together */
static perp_status contacts_check(perp_ctx *ctx, const perp_contact_opts *o,
                                  const perp_parts *parts)
{
  const bool springs = contacts_springs(o), second = contacts_soft(o) || contacts_relaxes(o);
  if (springs && o->softness > 0)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "softness = %g 1/kg and stiffness = %g N/m, damping = %g N s/m exclude each "
                     "other: leave out one of them",
                     o->softness, o->stiffness, o->damping);
  if (contacts_soft(o) && (springs || o->softness > 0))
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "frequency = %g Hz and softness = %g 1/kg, stiffness = %g N/m, damping = %g N "
                     "s/m exclude each other: leave out one of them",
                     o->frequency, o->softness, o->stiffness, o->damping);
  if (springs && o->relax == PERP_RELAX_YES)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "relax removes the velocity that contact springs (stiffness, damping) "
                     "produce: use frequency and damping_ratio instead of them");
  PERP_TRY(perp_impact_check(ctx, o->impact, o->tangential));
  if (o->impact != PERP_IMPACT_NEWTON && (second || o->substeps > 1))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "impact=%s needs the impulses of compression of a single solve: use "
                     "impact=newton with substeps, frequency and relax",
                     perp_impact_names[o->impact]);
  if (perp_impact_single(o->impact) && o->softness > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "impact=%s is a law of rigid contacts, softness = %g 1/kg makes them "
                     "compliant: leave out one of them",
                     perp_impact_names[o->impact], o->softness);
  if (o->sleep && o->substeps > 1)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "substeps = %d and sleep exclude each other: bodies wake by contacts found at "
                     "the start of a step; leave out one of them",
                     o->substeps);
  if (second && !(parts->ode.d->caps & PERP_ODE_SYMPLECTIC))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "frequency and relax need an ODE method that moves positions with the new "
                     "velocity: '%s' does not; use --ode symplectic-euler",
                     parts->ode.d->name);
  return PERP_OK;
}

/* Steps whose length follows their error tell sliding from sticking by what is left of a speed that
 * is zero: their problems are solved to this part of the tolerances where the solver can. */
static const double CLOSE = 1e-4;

/* Collision detection at the end of steps. */
static perp_status contacts_ahead(perp_ctx *ctx, perp_contacts *c)
{
  PERP_TRY(perp_collision_create(ctx, c->model, 0, &c->ahead));
  perp_collision_tolerance(c->ahead, c->o.tolerance);
  if (c->sleep != NULL) perp_collision_rest(c->ahead, perp_sleep_asleep(c->sleep));
  return PERP_OK;
}

static perp_status open_parts(perp_ctx *ctx, perp_contacts *c, const perp_parts *parts)
{
  const perp_model *model = c->model;
  PERP_TRY(contacts_relaxed(ctx, c, parts->contact.d));
  PERP_TRY(perp_contact_stab(ctx, parts, &c->stab, &c->stab_ws));
  PERP_TRY(perp_collision_create(ctx, model, 0, &c->collision));
  perp_collision_tolerance(c->collision, c->o.tolerance);
  bool rows = c->o.joints == PERP_JOINTS_ROWS ||
              (c->o.joints == PERP_JOINTS_AUTO && parts->kkt.d != NULL &&
               (parts->kkt.d->caps & PERP_KKT_ITERATIVE));
  if (rows && model->m > 0 && perp_impact_single(c->o.impact))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "impact=%s needs joints that are eliminated from contact problems: use "
                     "joints=eliminate, with a KKT solver that is not iterative",
                     perp_impact_names[c->o.impact]);
  const perp_contact_setup solving = { .tol = c->o.residual,
                                       .tol_data = c->o.residual_data,
                                       .budget = c->o.budget,
                                       .part = c->o.closed > 0 ? CLOSE : 0,
                                       .choice = c->o.choice };
  PERP_TRY(perp_contacts_islands(ctx, model, parts, &solving, c->o.threads, rows, &c->velocity));
  if (c->o.sleep) {
    PERP_TRY(
        perp_sleep_create(ctx, model, c->o.sleep_time, c->o.sleep_velocity, c->reach, &c->sleep));
    perp_collision_rest(c->collision, perp_sleep_asleep(c->sleep));
  }
  if (c->o.halvings > 0) PERP_TRY(contacts_ahead(ctx, c));
  if (contacts_give_way(&c->o) || contacts_soft(&c->o))
    return PERP_OK; /* what is deep is under load */
  double size = 0;
  for (int b = 0; b < model->n_bodies; b++) size = fmax(size, c->reach[b]);
  const perp_contact_post_setup setup = { .tol = c->o.residual,
                                          .tol_data = c->o.residual_data,
                                          .budget = c->o.budget,
                                          .slop = c->slop,
                                          .size = size,
                                          .threshold = c->o.threshold,
                                          .rubs = true,
                                          .threads = c->o.threads,
                                          .rows = rows,
                                          .sleep = c->sleep };
  PERP_TRY(perp_contact_post_create(ctx, model, parts, c->stab, c->stab_ws, &setup, &c->post));
  return c->post == NULL || c->ahead != NULL ? PERP_OK : contacts_ahead(ctx, c);
}

perp_status perp_contacts_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                 const perp_contact_opts *opts, perp_contacts **out)
{
  perp_contacts like = { .model = model, .o = *opts };
  void *ws;
  *out = NULL;
  PERP_TRY(contacts_check(ctx, opts, parts));
  PERP_TRY(perp_contacts_halves(ctx, opts, parts));
  if (opts->sleep && model->surfaces.belts)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "sleep does not support moving surfaces: sleeping bodies would not be carried "
                     "along; leave it out");
  like.second = opts->substeps > 1 || contacts_soft(opts) || contacts_relaxes(opts);
  PERP_TRY(perp_workspace_create(ctx, "contacts", &like, sizeof like, contacts_layout, &ws));
  perp_contacts *c = ws;
  perp_contacts_reach(model, c->reach);
  for (int i = 0; i < model->n_shapes; i++)
    c->ball[i] = model->shape_def[i].kind == PERP_SHAPE_SPHERE;
  for (int b = 0; b < model->n_bodies; b++)
    c->slop = fmax(c->slop, perp_contacts_closed(opts) * c->reach[b]);
  perp_status status = open_parts(ctx, c, parts);
  if (status != PERP_OK) {
    perp_contacts_destroy(c);
    return status;
  }
  *out = c;
  return PERP_OK;
}

void perp_contacts_restart(perp_contacts *c)
{
  c->n = c->n_before = 0;
  c->h = 0;
  c->part = (perp_contact_part){ .first = true, .last = true }; /* the start is corrected, too */
  c->swept = c->keeps = false;
  c->margin = c->corrected = 0;
  c->collision_s = c->lcp_s = 0;
  if (c->sleep != NULL) perp_sleep_restart(c->sleep);
  perp_islands_restart(c->velocity);
  if (c->post != NULL) perp_contact_post_restart(c->post);
  c->ahead_holds = false;
}

/* ---- a step ---- */

static double contacts_softness(const perp_contact_opts *o, double h)
{
  if (o->compliance.on) return 0; /* contacts_compliance */
  return contacts_springs(o) ? 1 / (h * (h * o->stiffness + o->damping)) : o->softness;
}

/* Does a gap that is `reached` at the end of the step close in it?  Within the slop it is closed,
 * see contacts_bias, if another gap of a body closes: points that meet together do not by rounding
 * meet one step after the other. */
static bool contacts_closes(const perp_contacts *c, const perp_contact *x, double reached)
{
  if (reached <= 0 || reached > c->slop) return reached <= 0;
  for (int s = 0; s < 2; s++)
    if (x->body[s] >= 0 && c->met[x->body[s]]) return true;
  return false;
}

/* An approach with restitution whose gap closes in this step.  Laws of one contact have a course of
 * the impact without restitution, too. */
static bool contacts_impact(const perp_contacts *c, const perp_contact *x, double h,
                            const double *before, const double *free)
{
  const double gap = fabs(x->gap) > c->slop ? x->gap : 0;
  return !contacts_springs(&c->o) && !c->second && (x->e > 0 || perp_impact_single(c->o.impact)) &&
         before[0] < -c->o.threshold && contacts_closes(c, x, gap + h * free[0]);
}

/* Which bodies meet others in this step. */
static void contacts_meet(perp_contacts *c, const perp_eval *e, double h)
{
  const int dim = c->model->dim;
  memset(c->met, 0, (size_t)c->model->n_bodies * sizeof *c->met);
  for (int i = 0; i < c->n; i++) {
    const perp_contact *x = &c->contact[i];
    if (!(x->e > 0) && !perp_impact_single(c->o.impact)) continue;
    if (perp_contact_speed(dim, e, x, 0, c->before_step) < -c->o.threshold &&
        x->gap + h * perp_contact_speed(dim, e, x, 0, c->free) <= 0)
      for (int s = 0; s < 2; s++)
        if (x->body[s] >= 0) c->met[x->body[s]] = true;
  }
}

/* S of a contact that gives way */
static double contacts_compliance(void *user, const perp_contact *x, double h, const double *before,
                                  const double *free)
{
  const perp_contacts *c = user;
  return contacts_impact(c, x, h, before, free) ? 0 : perp_compliance_softness(&c->o.compliance, h);
}

static double contacts_spring_rate(const perp_contact_opts *o, double h)
{
  const double omega = 2 * M_PI * o->frequency;
  return omega / (2 * o->damping_ratio + h * omega);
}

/* Bias of the normal row, see contact.h.  Gaps within the slop, the tolerance of a solution in
 * units of the largest body, count as closed: solutions leave errors of that size, and bodies at
 * rest would go on correcting them, now on some of their contacts, now on others. */
static double contacts_bias(void *user, const perp_contact *x, double h, const double *before,
                            const double *free)
{
  const perp_contacts *c = user;
  double gap = fabs(x->gap) > c->slop || c->o.compliance.on ? x->gap : 0, bias = 0;
  if (gap > 0)
    bias = c->o.gap ? gap / (c->pressed[x - c->contact] ? fmax(h, c->within) : h) : 0;
  else if (c->o.compliance.on)
    bias = perp_compliance_alpha(&c->o.compliance, h) * gap;
  else if (contacts_springs(&c->o))
    return c->o.stiffness / (h * c->o.stiffness + c->o.damping) * x->gap;
  else if (contacts_soft(&c->o))
    return fmax(contacts_spring_rate(&c->o, h) * x->gap, -c->o.push);
  else if (gap < 0 && c->stab->contact != NULL)
    bias = -c->stab->contact(c->stab_ws, PERP_LEVEL_VELOCITY, h, gap, 0);
  if (contacts_impact(c, x, h, before, free)) {
    if (gap > 0 || perp_impact_single(c->o.impact)) bias = 0;
    if (c->o.impact == PERP_IMPACT_NEWTON) bias = fmin(bias, x->e * before[0]);
  }
  return bias;
}

static double contacts_restitution(void *user, const perp_contact *x, double h,
                                   const double *before, const double *free)
{
  const perp_contacts *c = user;
  if (perp_impact_single(c->o.impact))
    return !contacts_springs(&c->o) &&
                   (x->gap <= c->slop || contacts_closes(c, x, x->gap + h * free[0]))
               ? x->e
               : -1;
  return contacts_impact(c, x, h, before, free) ? x->e : 0;
}

/* ---- the velocity that is kept ---- */

/* Does it part with the velocity of an impact at the end of the step? */
static bool contacts_rebounds(const perp_contacts *c, int i)
{
  const perp_contact *x = &c->contact[i];
  const double *P = c->impulse + 3 * (size_t)i;
  if (!c->part.last || !(x->e > 0) || !(c->approach[i] < -c->o.threshold)) return false;
  double pressed = perp_dot(3, x->n, P);
  if (c->o.substeps > 1) pressed += perp_dot(3, x->n, c->total + 3 * (size_t)i);
  return !contacts_springs(&c->o) && pressed > 0;
}

/* S of a closed contact, in parts of A_ii */
static double contacts_part(void *user, const perp_contact *x, double h, const double *before,
                            const double *free)
{
  const perp_contacts *c = user;
  const double omega = 2 * M_PI * c->o.frequency;
  (void)before, (void)free;
  return x->gap > c->slop ? 0 : 1 / (h * omega * (2 * c->o.damping_ratio + h * omega));
}

static double contacts_part_kept(void *user, const perp_contact *x, double h, const double *before,
                                 const double *free)
{
  const perp_contacts *c = user;
  return c->rebounds[x - c->contact] ? 0 : contacts_part(user, x, h, before, free);
}

static double contacts_bias_kept(void *user, const perp_contact *x, double h, const double *before,
                                 const double *free)
{
  const perp_contacts *c = user;
  const size_t i = (size_t)(x - c->contact);
  if (c->rebounds[i]) return x->e * c->approach[i];
  if (!contacts_relaxes(&c->o)) return contacts_bias(user, x, h, before, free);
  return c->o.gap && c->reached[i] > c->slop ? c->reached[i] / h : 0;
}

static double contacts_friction(void *user, const perp_contact *x, const double *before, int dim)
{
  const perp_contacts *c = user;
  const int did = c->friction[x - c->contact];
  bool slides = did == PERP_FRICTION_SLIDES;
  if (did == PERP_FRICTION_NEW) {
    double t = dim == 3 ? sqrt(before[1] * before[1] + before[2] * before[2]) : fabs(before[1]);
    slides = t > c->o.slip;
  }
  return c->mu[x - c->contact] = slides ? x->mu_dynamic : x->mu;
}

/* v+ from k->f, those asleep stay where they are */
static bool contacts_velocities(perp_contacts *c, perp_constrained *k, double h, const double *v)
{
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, v)) return false;
  if (c->sleep != NULL) perp_sleep_still(c->sleep, k->a);
  return true;
}

/* After the first solve: the velocity that is kept, where it is another one. */
static bool contacts_keep(perp_contacts *c, perp_constrained *k, perp_island_task task, double h,
                          const double *v)
{
  const perp_model *model = c->model;
  const size_t size = (size_t)model->nv * sizeof *c->f;
  const bool relaxes = contacts_relaxes(&c->o);
  bool any = relaxes;
  for (int i = 0; i < c->n; i++) {
    c->rebounds[i] = contacts_rebounds(c, i);
    any |= c->rebounds[i];
  }
  if (!any) return true;
  memcpy(c->moving, k->a, size);
  perp_twists(model, k->e, k->a, c->free);
  for (int i = 0; i < c->n; i++) {
    const perp_contact *x = &c->contact[i];
    c->reached[i] = x->gap + h * perp_contact_speed(model->dim, k->e, x, 0, c->free);
    c->kept[i] |= c->rebounds[i];
  }
  memcpy(k->f, c->f, size); /* back to v^ */
  if (!contacts_velocities(c, k, h, v)) return false;
  perp_twists(model, k->e, k->a, c->free);
  task.bias = contacts_bias_kept;
  if (relaxes)
    task.part = NULL;
  else if (task.part != NULL)
    task.part = contacts_part_kept;
  if (!perp_islands_step(c->velocity, k, &task, PERP_LEVEL_VELOCITY, h, v, &c->lcp_s)) return false;
  if (c->sleep != NULL) perp_sleep_still(c->sleep, k->a);
  memcpy(c->v_kept, k->a, size);
  memcpy(k->a, c->moving, size);
  c->keeps = true;
  return true;
}

/* FREE: no island has had a problem; WOKEN: bodies have been woken, the step is to be made again.
 */
typedef enum outcome { FAILED, FREE, SOLVED, WOKEN } outcome;

/* Contacts at the start of the step, with the guesses of the first part h. */
static bool contacts_begin(perp_contacts *c, perp_constrained *k, double drive_speed, double h)
{
  c->t = k->e->t;
  const double margin = perp_contacts_margin(c, c->part.whole, drive_speed, k->a);
  if (!isfinite(margin)) {
    k->reason = PERP_NOT_FINITE;
    return false;
  }
  k->status = perp_contacts_find_start(c, k, margin);
  if (k->status == PERP_OK)
    k->status = contacts_reserve(k->ctx, c, c->n + (c->sleep != NULL ? c->n_before : 0));
  if (k->status != PERP_OK) return false;
  perp_contacts_recall(c, k->e, h);
  c->found = c->contact;
  if (c->o.substeps == 1) return true;
  perp_contacts_carry_start(c, k->e);
  if (c->n > 0) memset(c->total, 0, 3 * (size_t)c->n * sizeof *c->total);
  return true;
}

static outcome contacts_solve_step(perp_contacts *c, perp_constrained *k, perp_drives *drives,
                                   double h, const double *v)
{
  const size_t size = (size_t)c->model->nv * sizeof *c->f;
  const double start = perp_constrained_clock(k);
  perp_island_row *row = NULL;
  const int rows = drives != NULL ? perp_drives_rows(drives, k, h, v, &row) : 0;
  const double drive_speed = drives != NULL ? perp_drives_speed(drives, k->e->t + h) : 0;
  if (c->part.first && !contacts_begin(c, k, drive_speed, h)) return FAILED;
  if (!c->part.first) {
    perp_contacts_carry_to(c, k->e);
    perp_contacts_recall_part(c, h);
  }
  const int kept = perp_contacts_choose(c, k->e, h, v, k->a);
  for (int i = 0; i < c->n && c->part.first && c->second; i++)
    c->approach[i] = perp_contact_speed(c->model->dim, k->e, &c->contact[i], 0, c->before_step);
  c->collision_s += perp_constrained_clock(k) - start;
  if (perp_contacts_wake(c)) return WOKEN;
  if (kept == 0 && rows == 0) {
    if (c->n > 0) memset(c->impulse, 0, 3 * (size_t)c->n * sizeof *c->impulse);
    if (c->couple != NULL && c->n > 0) memset(c->couple, 0, 3 * (size_t)c->n * sizeof *c->couple);
    if (c->n > 0) memset(c->friction, PERP_FRICTION_NEW, (size_t)c->n);
    return FREE;
  }
  contacts_meet(c, k->e, h);
  const perp_impact_rule impact = { .law = c->o.impact,
                                    .tangential = c->o.tangential,
                                    .threshold = c->o.threshold };
  perp_island_task task = { .contact = c->contact,
                            .n = c->n,
                            .kept = c->kept,
                            .impulse = c->impulse,
                            .slip = c->slip,
                            .couple = c->couple,
                            .reuse = c->o.reuse ? c->o.residual : 0,
                            .fresh = c->fresh,
                            .origin = c->origin,
                            .h = h,
                            .before = c->before_step,
                            .free = c->free,
                            .belts = c->model->surfaces.belts,
                            .t_belts = k->e->t + h,
                            .align = c->o.align == PERP_ALIGN_SLIP,
                            .softness = contacts_softness(&c->o, h),
                            .soft = c->o.compliance.on ? contacts_compliance : NULL,
                            .part = contacts_soft(&c->o) ? contacts_part : NULL,
                            .row = row,
                            .n_rows = rows,
                            .bias = contacts_bias,
                            .friction = contacts_friction,
                            .restitution = c->o.impact != PERP_IMPACT_NEWTON ? contacts_restitution
                                                                             : NULL,
                            .impact = c->o.impact != PERP_IMPACT_NEWTON ? &impact : NULL,
                            .user = c };
  for (int round = 0; round < ROUNDS; round++) {
    if (round > 0) { /* back to v^ */
      if (perp_contacts_wake(c)) return WOKEN;
      memcpy(k->f, c->f, size);
      if (!contacts_velocities(c, k, h, v)) return FAILED;
      perp_twists(c->model, k->e, k->a, c->free);
    }
    if (!perp_islands_step(c->velocity, k, &task, PERP_LEVEL_VELOCITY, h, v, &c->lcp_s))
      return FAILED;
    if (c->sleep != NULL) perp_sleep_still(c->sleep, k->a);
    if (round + 1 == ROUNDS) break;
    const int more = drives != NULL ? perp_drives_missed(drives, k, h, v) : 0;
    task.n_rows += more;
    const int late = c->o.gap ? perp_contacts_choose(c, k->e, h, NULL, k->a) : 0;
    const int reversed = perp_contacts_friction(c, k->e, h, k->a, true);
    if (late == 0 && more == 0 && reversed == 0) break;
  }
  if (c->second && !contacts_keep(c, k, task, h, v)) return FAILED;
  perp_contacts_friction(c, k->e, h, c->keeps ? c->v_kept : k->a, false);
  if (drives != NULL) perp_drives_accept(drives, h);
  return SOLVED;
}

bool perp_contacts_velocity(perp_contacts *c, double *v)
{
  if (!c->keeps) return false;
  memcpy(v, c->v_kept, (size_t)c->model->nv * sizeof *v);
  c->keeps = false;
  return true;
}

bool perp_contacts_step(perp_contacts *c, perp_constrained *k, perp_drives *drives,
                        const perp_contact_part *part, double h, const double *v)
{
  outcome end;
  const int64_t swept = perp_islands_count(c->velocity)->swept;
  c->part = *part;
  c->keeps = false;
  memcpy(c->f, k->f, (size_t)c->model->nv * sizeof *c->f);
  if (c->sleep != NULL) {
    perp_sleep_forces(c->sleep, k->f, h);
    perp_sleep_still(c->sleep, k->a);
  }
  while ((end = contacts_solve_step(c, k, drives, h, v)) == WOKEN) {
    memcpy(k->f, c->f, (size_t)c->model->nv * sizeof *c->f);
    if (!contacts_velocities(c, k, h, v)) return false;
  }
  if (end == FAILED) return false;
  c->swept = (c->swept && !part->first) || perp_islands_count(c->velocity)->swept > swept;
  for (int i = 0; i < 3 * c->n && c->o.substeps > 1; i++) c->total[i] += c->impulse[i];
  perp_contacts_remember(c, k->e, h);
  if (c->sleep != NULL)
    perp_sleep_update(c->sleep, h, perp_islands_roots(c->velocity, end == FREE), k->a);
  return true;
}

void perp_contacts_within(perp_contacts *c, double time)
{
  c->within = time;
}
