/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which contacts a step has: found within its reach, those that can close kept, late ones taken in.
 */
#include "models/contact/step/contacts_private.h"

#include <string.h>

/* a contact left out is taken in when it would be this deep at the end of the step, m */
static const double LATE = 1e-12;

/* ---- found ---- */

/* Without gap closed contacts are all there are, and a correction of the depth d at the end of the
 * step before has left some of them open by O(d^2 / size), as bodies have turned: without these
 * their bodies fall on, are put back in each step, and their speed grows. */
double perp_contacts_base(const perp_contacts *c, double h)
{
  const perp_model *model = c->model;
  const double rounding = 1e-6 * model->size, d = c->corrected;
  if (!c->o.gap) return rounding + d * d / model->size;
  return 2 * h * h * fabs(perp_model_gravity_at(model, c->t)) + rounding;
}

double perp_contacts_margin(const perp_contacts *c, double h, double drive_speed, const double *v)
{
  if (c->o.margin > 0) return c->o.margin;
  const double base = perp_contacts_base(c, h);
  const double fastest = (1 + c->relaxed) * perp_closing_speed(c->model, v, c->reach);
  return c->o.gap ? base + h * fastest + h * drive_speed : base;
}

perp_status perp_contacts_find(perp_contacts *c, perp_constrained *k, perp_collision *collision,
                               const perp_contact **contact, int *n)
{
  const int before = k->ctx->threads;
  k->ctx->threads = c->o.threads;
  const perp_status status = perp_collision_find(k->ctx, collision, k->e->pose, contact, n);
  k->ctx->threads = before;
  return status;
}

perp_status perp_contacts_find_start(perp_contacts *c, perp_constrained *k, double margin)
{
  const size_t size = (size_t)c->model->nq * sizeof *c->q_ahead;
  const bool known = c->ahead_holds && margin <= c->margin_ahead &&
                     memcmp(c->q_ahead, k->q_at[k->e - k->eval], size) == 0;
  c->margin = margin;
  c->ahead_holds = false;
  if (!known) {
    perp_collision_margin(c->collision, margin);
    return perp_contacts_find(c, k, c->collision, &c->contact, &c->n);
  }
  perp_collision *other = c->collision;
  c->collision = c->ahead;
  c->ahead = other;
  c->contact = c->contact_ahead;
  c->n = c->n_ahead;
  return PERP_OK;
}

/* ---- kept ---- */

typedef struct choice {
  perp_contacts *c;
  const perp_eval *e;
  double h, base;
  const double *v, *a; /* velocities before the step, and v^; v NULL: v+ */
  int found;
} choice;

/* What slides apart under a relaxed law has a force, all the same: its speed counts less mu times
 * the sliding. */
static double contacts_choose_speed(const choice *all, const perp_contact *x, const double *twist)
{
  const double mu = all->c->relaxed > 0 ? x->mu : 0;
  return perp_contact_speed(all->c->model->dim, all->e, x, mu, twist);
}

/* Is it closed, or does it come near with v^ or with the velocities before the step, which at rest
 * are nearer to those after it?  Near is twice the base, as an open contact costs three rows, a
 * late one another solve. */
static bool contacts_choose_near(const choice *all, const perp_contact *x)
{
  const perp_contacts *c = all->c;
  if (x->gap <= all->base || (c->within > 0 && c->pressed[x - c->contact])) return true;
  if (!c->o.gap || !(x->gap <= c->margin)) return false;
  const double free = contacts_choose_speed(all, x, c->free),
               before = contacts_choose_speed(all, x, c->before_step);
  return x->gap + all->h * fmin(free, before) <= 2 * all->base;
}

static bool contacts_choose_late(const choice *all, const perp_contact *x)
{
  const perp_contacts *c = all->c;
  return x->gap <= c->margin && x->gap + all->h * contacts_choose_speed(all, x, c->free) < -LATE;
}

static void contacts_choose_share(void *user, int member, int members)
{
  choice *all = user;
  perp_contacts *c = all->c;
  const int bodies = c->model->n_bodies;
  int end = perp_share(bodies, member + 1, members), found = 0;
  for (int b = perp_share(bodies, member, members); b < end; b++) {
    if (all->v != NULL) perp_twist(c->model, all->e, b, all->v, c->before_step);
    perp_twist(c->model, all->e, b, all->a, c->free);
  }
  perp_team_wait(members);
  end = perp_share(c->n, member + 1, members);
  for (int i = perp_share(c->n, member, members); i < end; i++) {
    const perp_contact *x = &c->contact[i];
    if (all->v == NULL && c->kept[i]) continue;
    c->kept[i] = all->v != NULL ? contacts_choose_near(all, x) : contacts_choose_late(all, x);
    found += c->kept[i];
  }
  __atomic_fetch_add(&all->found, found, __ATOMIC_RELAXED);
}

int perp_contacts_choose(perp_contacts *c, const perp_eval *e, double h, const double *v,
                         const double *a)
{
  choice all = { .c = c, .e = e, .h = h, .base = perp_contacts_base(c, h), .v = v, .a = a };
  perp_team(perp_contacts_team(c), contacts_choose_share, &all);
  return all.found;
}

bool perp_contacts_wake(perp_contacts *c)
{
  bool woken = false;
  for (int i = 0; i < c->n && c->sleep != NULL; i++)
    for (int side = 0; side < 2 && c->kept[i]; side++)
      if (c->contact[i].body[side] >= 0)
        woken |= perp_sleep_wake(c->sleep, c->contact[i].body[side]);
  return woken;
}
