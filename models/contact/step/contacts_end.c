/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a step: does it penetrate, what the stabilization corrects, and what is reported of
 * it. */
#include "models/contact/step/contacts_private.h"

#include <string.h>

static const double TORN =
    1e-10; /* of the size of the model: errors of joints that are left after contacts were moved */
static const double DEEPER = 1e-3; /* of the slop: a step that ends deeper by more has penetrated */

/* The contacts ahead are those at q: false: k->status says why there are none. */
static bool contacts_end_look(perp_contacts *c, perp_constrained *k, double t, const double *q)
{
  const double start = perp_constrained_clock(k);
  perp_constrained_at(k, t, q);
  /* enough for the next step of bodies that fall */
  c->margin_ahead = c->o.gap && c->margin > 0
                        ? 1.25 * c->margin + 2 * c->part.whole * c->part.whole *
                                                 fabs(perp_model_gravity_at(c->model, t))
                        : 1e-3 * c->model->size;
  perp_collision_margin(c->ahead, c->margin_ahead);
  k->status = perp_contacts_find(c, k, c->ahead, &c->contact_ahead, &c->n_ahead);
  c->collision_s += perp_constrained_clock(k) - start;
  return k->status == PERP_OK;
}

/* The next step may use them, if it begins there. */
static void contacts_end_seen(perp_contacts *c, const double *q)
{
  memcpy(c->q_ahead, q, (size_t)c->model->nq * sizeof *q);
  c->ahead_holds = c->sleep == NULL; /* else bodies wake up in between */
}

/* ---- halvings ---- */

perp_status perp_contacts_halves(perp_ctx *ctx, const perp_contact_opts *o, const perp_parts *parts)
{
  if (o->halvings == 0) return PERP_OK;
  if (o->stiffness > 0 || o->damping > 0 || o->softness > 0 || o->frequency > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "halvings = %d needs rigid contacts: compliant ones (softness, stiffness, "
                     "damping, frequency) penetrate under load; leave out one of them",
                     o->halvings);
  if (o->sleep || o->substeps > 1)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "halvings = %d repeats whole steps: leave out sleep and substeps, or halvings",
                     o->halvings);
  if (o->closed > 0 || perp_ode_tol(&parts->ode) > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "halvings = %d and an error tolerance (tol) both choose the step: leave out "
                     "one of them",
                     o->halvings);
  return PERP_OK;
}

/* of the shapes themselves, m */
static double contacts_end_depth(const perp_contacts *c, const perp_contact *contact, int n)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, -(contact[i].gap + c->o.tolerance));
  return most;
}

perp_ode_answer perp_contacts_apart(perp_contacts *c, perp_constrained *k, double t,
                                    const double *q)
{
  if (c->o.halvings == 0) return PERP_ODE_OK;
  if (!contacts_end_look(c, k, t, q)) return PERP_ODE_FAILED;
  contacts_end_seen(c, q);
  const double before = contacts_end_depth(c, c->contact, c->n),
               after = contacts_end_depth(c, c->contact_ahead, c->n_ahead);
  return after > c->slop && after > before + DEEPER * c->slop ? PERP_ODE_INVALID : PERP_ODE_OK;
}

/* ---- corrections ---- */

/* Has moving contacts apart left the joints, which the scheme projects, off by the square of that
 * move? */
static bool contacts_end_tear(const perp_contacts *c, perp_constrained *k)
{
  double most = 0;
  if (!(c->stab->d.caps & PERP_STAB_PROJECTS) || c->model->m == 0) return false;
  perp_constrained_error(k, k->c);
  for (int i = 0; i < c->model->m; i++) most = fmax(most, fabs(k->c[i]));
  return most > TORN * c->model->size;
}

static perp_ode_answer contacts_end_project(perp_contacts *c, perp_constrained *k, double t,
                                            double *q, double *v, perp_contact_count *count)
{
  const int passes = perp_contact_post_passes(c->post);
  const bool stops = perp_contact_post_stops(c->post);
  bool changed = false;
  for (int pass = 0; pass < passes || stops; pass++) {
    if (!contacts_end_look(c, k, t, q)) return PERP_ODE_FAILED;
    if (pass == passes ||
        (!perp_contact_post_deep(c->post, c->contact_ahead, NULL, c->n_ahead, c->swept) &&
         !(changed && contacts_end_tear(c, k)))) {
      contacts_end_seen(c, q);
      break;
    }
    bool moved;
    if (!perp_contact_post_position(c->post, k, c->contact_ahead, NULL, c->n_ahead, q, &moved,
                                    count))
      return PERP_ODE_FAILED;
    if (!moved) break;
    for (int i = 0; i < c->n_ahead; i++)
      c->corrected = fmax(c->corrected, -c->contact_ahead[i].gap);
    changed = true;
  }
  if (!stops || c->within > 0) /* see perp_contacts_within */
    return changed ? PERP_ODE_CHANGED : PERP_ODE_OK;
  const perp_ode_answer answer = perp_contact_post_velocity(
      c->post, k, t, c->contact_ahead, c->n_ahead, fmax(c->slop, 1e-9), v, count);
  return answer == PERP_ODE_OK && changed ? PERP_ODE_CHANGED : answer;
}

perp_ode_answer perp_contacts_project(perp_contacts *c, perp_constrained *k, double t, double *q,
                                      double *v)
{
  if (c->part.last) c->corrected = 0;
  if (c->post == NULL || !c->part.last) return PERP_ODE_OK;
  c->ahead_holds = false;
  const double start = perp_constrained_own_clock(k) - c->collision_s;
  perp_contact_count count = { 0 };
  const perp_ode_answer answer = contacts_end_project(c, k, t, q, v, &count);
  perp_contact_count_add(perp_islands_count(c->velocity), &count);
  c->lcp_s += perp_constrained_own_clock(k) - c->collision_s - start;
  return answer;
}

/* ---- reports ---- */

void perp_contacts_info(const perp_contacts *c, perp_step_info *info)
{
  info->n_contacts = c->n;
  info->contacts = c->n > 0 ? c->found : NULL;
  info->impulse = c->n == 0 ? NULL : c->o.substeps > 1 ? c->total : c->impulse;
  info->asleep = c->sleep != NULL ? perp_sleep_count(c->sleep) : 0;
  info->tolerance = c->o.tolerance;
}

const perp_contact_count *perp_contacts_counters(const perp_contacts *c)
{
  return perp_islands_count(c->velocity);
}

void perp_contacts_observe(perp_contacts *c, perp_contact_observer *observer, void *user)
{
  perp_islands_observe(c->velocity, observer, user);
}

void perp_contacts_times(const perp_contacts *c, double *collision, double *lcp)
{
  *collision = c->collision_s;
  *lcp = c->lcp_s;
}
