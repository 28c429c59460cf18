/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Warm start: which contact of this step was which of the last, and what impulse it had. */
#include "models/formulations/contacts_impl.h"

#include <string.h>

static int compare(const perp_contact_memory *a, const perp_contact *b)
{
  if (a->shape_a != b->shape_a) return a->shape_a < b->shape_a ? -1 : 1;
  if (a->shape_b != b->shape_b) return a->shape_b < b->shape_b ? -1 : 1;
  return a->id < b->id ? -1 : a->id > b->id;
}

/* where a contact is, in the frame of a moving body */
static void place_of(const perp_contacts *c, const perp_eval *e, const perp_contact *x,
                     double at[3])
{
  const int dim = c->model->dim;
  const perp_pose *pose = &e->pose[x->body_b >= 0 ? x->body_b : x->body_a];
  double r[3] = { 0 };
  for (int i = 0; i < dim; i++) r[i] = 0.5 * (x->p_a[i] + x->p_b[i]) - pose->x[i];
  at[0] = at[1] = at[2] = 0;
  perp_turn_back(dim, pose->R, r, at);
}

static void take(perp_contacts *c, int i, perp_contact_memory *m, double scale)
{
  for (int k = 0; k < 3; k++) c->impulse[3 * i + k] = scale * m->impulse[k];
  c->slip[i] = m->slip;
  c->fresh[i] = m->fresh;
  m->used = 1;
}

/* The contacts of one pair of shapes that have no namesake: the nearest one within a tenth of the body. */
static void take_nearest(perp_contacts *c, const perp_eval *e, int i, int first, int end,
                         double scale)
{
  const perp_contact *x = &c->contact[i];
  double at[3], reach = c->reach[x->body_b >= 0 ? x->body_b : x->body_a], best = 0.1 * reach;
  int found = -1;
  place_of(c, e, x, at);
  for (int k = first; k < end; k++) {
    const perp_contact_memory *m = &c->before[k];
    double d = hypot(hypot(at[0] - m->at[0], at[1] - m->at[1]), at[2] - m->at[2]);
    if (m->used || !(d < best)) continue;
    best = d;
    found = k;
  }
  if (found >= 0) take(c, i, &c->before[found], scale);
}

/* Guesses: both lists are sorted alike.  Where two faces meet, the features that name a contact may
 * change although nothing moves; such contacts are found by their place. */
void perp_contacts_recall(perp_contacts *c, const perp_eval *e, double h)
{
  double scale = c->h > 0 ? h / c->h : 0;
  if (c->n > 0) memset(c->impulse, 0, (size_t)3 * (size_t)c->n * sizeof *c->impulse);
  for (int i = 0; i < c->n; i++) {
    c->slip[i] = 0;
    c->fresh[i] = c->kept[i] = 0;
  }
  for (int k = 0; k < c->n_before; k++) c->before[k].used = 0;
  if (!c->o.warm || scale == 0) return;
  for (int i = 0, at = 0; i < c->n; i++) {
    while (at < c->n_before && compare(&c->before[at], &c->contact[i]) < 0) at++;
    if (at == c->n_before) break;
    if (compare(&c->before[at], &c->contact[i]) != 0) continue;
    take(c, i, &c->before[at++], scale);
    c->kept[i] = 1; /* found */
  }
  for (int i = 0, first = 0, end; i < c->n; i++) {
    const perp_contact *x = &c->contact[i];
    if (c->kept[i]) continue;
    while (first < c->n_before &&
           (c->before[first].shape_a < x->shape_a ||
            (c->before[first].shape_a == x->shape_a && c->before[first].shape_b < x->shape_b)))
      first++;
    for (end = first; end < c->n_before && c->before[end].shape_a == x->shape_a &&
                      c->before[end].shape_b == x->shape_b;)
      end++;
    if (end > first) take_nearest(c, e, i, first, end, scale);
  }
}

/* of two bodies at rest: not looked for, but of use when they wake */
static bool dormant(const perp_contacts *c, const perp_contact_memory *m)
{
  const unsigned char *asleep = perp_sleep_asleep(c->sleep);
  const int a = c->model->shape_def[m->shape_a].body, b = c->model->shape_def[m->shape_b].body;
  return (a < 0 || asleep[a]) && (b < 0 || asleep[b]);
}

/* Merge of both lists, which are sorted alike. */
void perp_contacts_remember(perp_contacts *c, const perp_eval *e, double h)
{
  const double scale = c->h > 0 ? h / c->h : 0;
  int n = 0, k = c->sleep != NULL ? 0 : c->n_before;
  for (int i = 0; i <= c->n; i++) {
    for (; k < c->n_before && (i == c->n || compare(&c->before[k], &c->contact[i]) <= 0); k++) {
      if (!dormant(c, &c->before[k])) continue;
      c->after[n] = c->before[k];
      c->after[n].used = 0;
      for (int q = 0; q < 3; q++) c->after[n].impulse[q] *= scale;
      n++;
    }
    if (i == c->n) break;
    perp_contact_memory *m = &c->after[n++];
    m->shape_a = c->contact[i].shape_a;
    m->shape_b = c->contact[i].shape_b;
    m->id = c->contact[i].id;
    memcpy(m->impulse, c->impulse + (size_t)3 * (size_t)i, sizeof m->impulse);
    m->slip = c->slip[i];
    m->fresh = c->fresh[i];
    m->used = 0;
    place_of(c, e, &c->contact[i], m->at);
  }
  perp_contact_memory *swap = c->before;
  c->before = c->after;
  c->after = swap;
  c->n_before = n;
  c->h = h;
}
