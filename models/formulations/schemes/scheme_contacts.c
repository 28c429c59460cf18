/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of schemes: from what was found at the start of a step to what is left for the next. */
#include "models/contact/step/belts.h"
#include "models/formulations/schemes/scheme_motion.h"

#include <string.h>

/* Part of the slip that the friction of a whole step stops, above which a contact slides: one cold
 * sweep leaves a tenth of it to a box that sticks on four contacts.  Sliding is thus seen late by
 * a time that goes with the square root of the step. */
static const double SLIDES = 0.2;

/* ---- bodies ---- */

void perp_scheme_bodies(perp_scheme *scheme)
{
  const perp_model *model = scheme->model;
  scheme->body[0] = (perp_scheme_body){ .round = true };
  for (int i = 0; i < model->n_bodies; i++) {
    perp_scheme_body *body = &scheme->body[i + 1];
    const double part = 1 / model->inertia[i].mass, *I = model->inertia[i].Iinv;
    const bool round = I[0] == I[4] && I[4] == I[8] && I[1] == 0 && I[2] == 0 && I[5] == 0;
    *body = (perp_scheme_body){ .part = part, .round = model->dim == 2 || round };
    if (model->dim == 2)
      body->I[0] = (perp_v4){ part, part, I[8] };
    else
      for (int k = 0; k < 3; k++) body->I[k][k] = I[8];
  }
}

/* R I^-1 R' of bodies with contacts, where turns change it */
static void scheme_turn_inertia(perp_scheme *scheme)
{
  for (int i = 0; i < scheme->model->n_bodies; i++) {
    perp_scheme_body *body = &scheme->body[i + 1];
    const double *R = scheme->e.pose[i].R;
    for (int k = 0; k < 3 && body->touched && !body->round; k++) {
      const double row[3] = { R[k], R[k + 3], R[k + 6] };
      double turned[3], column[3];
      perp_sym_mul(scheme->model->inertia[i].Iinv, row, turned);
      perp_turn(3, R, turned, column);
      body->I[k] = (perp_v4){ column[0], column[1], column[2] };
    }
  }
}

void perp_scheme_load(perp_scheme *scheme, const double *v)
{
  const perp_model *model = scheme->model;
  if (scheme->n_contacts == 0) return;
  for (int i = 0; i < model->n_bodies; i++) {
    perp_scheme_body *body = &scheme->body[i + 1];
    const double *vb = v + (size_t)model->nvb * (size_t)i;
    if (!body->touched) continue;
    if (model->dim == 2) {
      body->w = (perp_v4){ vb[0], vb[1], vb[2] };
    } else {
      double w[3];
      perp_turn(3, scheme->e.pose[i].R, vb + 3, w);
      body->v = (perp_v4){ vb[0], vb[1], vb[2] };
      body->w = body->before = (perp_v4){ w[0], w[1], w[2] };
    }
  }
}

/* The change of w is turned back: what did not change stays as it was to the bit. */
void perp_scheme_store(const perp_scheme *scheme, double *v)
{
  const perp_model *model = scheme->model;
  if (scheme->n_contacts == 0) return;
  for (int i = 0; i < model->n_bodies; i++) {
    const perp_scheme_body *body = &scheme->body[i + 1];
    double *vb = v + (size_t)model->nvb * (size_t)i, change[3], w[3];
    if (!body->touched) continue;
    for (int k = 0; k < 3; k++) vb[k] = model->dim == 2 ? body->w[k] : body->v[k];
    if (model->dim == 2) continue;
    for (int k = 0; k < 3; k++) change[k] = body->w[k] - body->before[k];
    perp_turn_back(3, scheme->e.pose[i].R, change, w);
    for (int k = 0; k < 3; k++) vb[3 + k] += w[k];
  }
}

/* ---- masses ---- */

/* J_k M^-1 of a contact, of what turns: the two bodies */
typedef struct scheme_weights {
  perp_v4 turn[2][3];
} scheme_weights;

/* J M^-1 J' of the normal of contact x with that of one of its pair that has these weights; parts:
 * what moves along d, 0 in the plane */
PERP_CLONE_INLINE double scheme_between(const perp_scheme_contact *x, const scheme_weights *weights,
                                        double parts)
{
  const perp_v4 sum = x->turn[0][0] * weights->turn[0][0] + x->turn[1][0] * weights->turn[1][0];
  return parts + SCHEME_SUM4(sum);
}

/* The same of both tangents with tangent l */
PERP_CLONE_INLINE perp_v2 scheme_column(const perp_scheme_contact *x, int l,
                                        const scheme_weights *weights, double parts)
{
  const perp_v4 *a = weights->turn[0] + l, *b = weights->turn[1] + l;
  const perp_v4 first = x->turn[0][1] * *a + x->turn[1][1] * *b,
                second = x->turn[0][2] * *a + x->turn[1][2] * *b;
  return scheme_sums(&first, &second) + (l == 1 ? (perp_v2){ parts, 0 } : (perp_v2){ 0, parts });
}

/* What the tangents of a contact are solved with */
PERP_CLONE_INLINE void scheme_stick(bool plane, perp_scheme_contact *contact,
                                    const scheme_weights *own, double parts)
{
  const perp_v2 x = scheme_column(contact, 1, own, parts),
                y = scheme_column(contact, 2, own, parts);
  const double xx = x[0], xy = x[1], yy = y[1];
  const double det = xx * yy - xy * xy, mean = 0.5 * (xx + yy), apart = 0.5 * (xx - yy),
               most = mean + sqrt(apart * apart + xy * xy);
  contact->stick[0] = contact->stick[1] = (perp_v2){ 0 };
  if (plane) {
    contact->stick[1][1] = 1; /* of a tangent without velocity */
    if (xx > 0) contact->stick[0][0] = 1 / xx;
  } else if (det > 1e-12 * xx * yy) {
    contact->stick[0] = (perp_v2){ yy / det, -xy / det };
    contact->stick[1] = (perp_v2){ -xy / det, xx / det };
  }
  contact->slide = most > 0 ? 1 / most : 0;
}

/* A of contacts, and what couples those of one four; again: where it changes as bodies turn */
PERP_CLONES_OF_FOUR static void scheme_contacts_masses(const perp_scheme *scheme, bool again)
{
  const bool plane = scheme->model->dim == 2;
  for (int i = 0; i < scheme->pairs; i++) {
    const perp_scheme_pair *pair = &scheme->pair[i];
    const perp_scheme_body *a = &scheme->body[pair->body[0]], *b = &scheme->body[pair->body[1]];
    const double parts = plane ? 0 : a->part + b->part;
    perp_scheme_tie *tie = &scheme->tie[pair->tie];
    if (again && a->round && b->round) continue;
    scheme_weights weights[SCHEME_FOUR];
    for (int c = pair->first, first = c; c < pair->end; c++) {
      perp_scheme_contact *x = &scheme->contact[c];
      if (c - first == SCHEME_FOUR) first = c;
      scheme_weights *own = &weights[c - first];
      for (int k = 0; k < 3; k++) {
        scheme_weigh(plane, a, &x->turn[0][k], &own->turn[0][k]);
        scheme_weigh(plane, b, &x->turn[1][k], &own->turn[1][k]);
      }
      scheme->gap[c].A = scheme_between(x, own, parts);
      scheme_stick(plane, x, own, parts);
      for (int j = first; j < c; j++) {
        const scheme_weights *other = &weights[j - first];
        tie->normal = scheme_between(x, other, parts);
        for (int l = 0; l < 2; l++)
          tie->tangents[l] = scheme_times(x->stick, scheme_column(x, 1 + l, other, parts));
        tie++;
      }
    }
  }
}

/* Where contacts are rows, masses say what slides and nothing else. */
static void scheme_weigh_contacts(perp_scheme *scheme, bool again)
{
  if (scheme->contact_rows && !scheme->dynamic) return;
  scheme_turn_inertia(scheme);
  if (scheme->coloured.lanes == NULL)
    scheme_contacts_masses(scheme, again);
  else if (again)
    perp_scheme_lanes_masses(scheme, true);
  else
    scheme->status = perp_scheme_lanes_begin(scheme);
}

void perp_scheme_contacts_refresh(perp_scheme *scheme)
{
  if (scheme->n_contacts > 0) scheme_weigh_contacts(scheme, true);
}

/* ---- the start of a step ---- */

/* t1 across n and, where there is any, along u; t2 = n x t1 */
static void scheme_tangents(int dim, const double n[3], const double u[3], double t1[3],
                            double t2[3])
{
  double along[3], normal = perp_dot(3, n, u), size;
  for (int i = 0; i < 3; i++) along[i] = u[i] - normal * n[i];
  size = sqrt(perp_dot(3, along, along));
  if (dim == 2) {
    t1[0] = -n[1], t1[1] = n[0], t1[2] = 0;
    t2[0] = t2[1] = t2[2] = 0;
    return;
  }
  if (!(size > 1e-9 * fabs(normal) && size > 0)) {
    const int k = fabs(n[0]) < 0.6 ? 0 : 1; /* an axis that n is not along */
    for (int i = 0; i < 3; i++) along[i] = (i == k) - n[k] * n[i];
    size = sqrt(perp_dot(3, along, along));
  }
  for (int i = 0; i < 3; i++) t1[i] = along[i] / size;
  perp_cross(n, t1, t2);
}

static void scheme_arms(const perp_scheme *scheme, const perp_contact *x, double r[2][3])
{
  double middle[3];
  perp_contact_middle(x, middle);
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < 3; k++)
      r[side][k] = x->body[side] >= 0 && k < scheme->model->dim
                       ? middle[k] - scheme->e.pose[x->body[side]].x[k]
                       : 0;
}

/* Velocity of b less that of a at a contact, with what belts add */
static void scheme_parting(const perp_scheme *scheme, const perp_contact *x, double r[2][3],
                           const double belt[3], double u[3])
{
  const int dim = scheme->model->dim;
  for (int k = 0; k < 3; k++) u[k] = belt[k];
  for (int side = 0; side < 2; side++) {
    const perp_scheme_body *body = &scheme->body[x->body[side] + 1];
    const perp_v4 v = dim == 2 ? body->w : body->v;
    const double w[3] = { dim == 2 ? 0 : body->w[0], dim == 2 ? 0 : body->w[1], body->w[2] };
    double turn[3];
    perp_cross(w, r[side], turn);
    for (int k = 0; k < dim; k++) u[k] += (side == 0 ? -1 : 1) * (v[k] + turn[k]);
  }
}

const perp_scheme_memory *perp_scheme_recall(const perp_scheme *scheme, uint64_t id, int *at)
{
  while (*at < scheme->memory.n && scheme->memory.now[*at].id < id) ++*at;
  return *at < scheme->memory.n && scheme->memory.now[*at].id == id ? &scheme->memory.now[*at]
                                                                    : NULL;
}

/* Where to look for what was with id */
static int scheme_recall_from(const perp_scheme *scheme, uint64_t id)
{
  int low = 0, high = scheme->memory.n;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (scheme->memory.now[middle].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* r x d_k = sum r_l (e_l x d_k); in the plane J, d_k and that */
typedef struct scheme_frame {
  double d[3][3];
  perp_v4 fixed[3], cross[3][3];
} scheme_frame;

/* That of a pair, tangents along u */
static void scheme_frame_of(int dim, const double n[3], const double u[3], scheme_frame *frame,
                            perp_scheme_pair *pair)
{
  memcpy(frame->d[0], n, sizeof frame->d[0]);
  scheme_tangents(dim, n, u, frame->d[1], frame->d[2]);
  for (int k = 0; k < 3; k++) {
    const double *d = frame->d[k];
    pair->d[k] = (perp_v4){ d[0], d[1], d[2] };
    frame->fixed[k] = dim == 2 ? pair->d[k] : (perp_v4){ 0 };
    frame->cross[k][0] = (perp_v4){ 0, -d[2], d[1] };
    frame->cross[k][1] = (perp_v4){ d[2], 0, -d[0] };
    frame->cross[k][2] = (perp_v4){ -d[1], d[0], 0 };
  }
}

/* Is its friction that of sliding, where that is another one? */
static bool scheme_slid(const perp_scheme *scheme, const perp_contact *x, const double u[3],
                        const perp_scheme_memory *before)
{
  double slip[3];
  if (before != NULL) return before->slides;
  for (int k = 0; k < 3; k++) slip[k] = u[k] - perp_dot(3, x->n, u) * x->n[k];
  return sqrt(perp_dot(3, slip, slip)) > scheme->o.slip;
}

/* The end of the step, and what guesses are multiplied by */
typedef struct scheme_found_how {
  double t_end, scale;
} scheme_found_how;

/* Contact i of those found, in the pair; motion: of its bodies, belts apart */
PERP_CLONE_INLINE void scheme_contact(perp_scheme *scheme, int i, const scheme_found_how *how,
                                      const perp_scheme_memory *before, scheme_frame *frame,
                                      const scheme_motion *motion, perp_scheme_pair *pair)
{
  const perp_contact *x = &scheme->found[i];
  perp_scheme_contact *contact = &scheme->contact[i];
  double r[2][3], u[3], belt[3] = { 0 };
  scheme_arms(scheme, x, r);
  if (scheme->model->surfaces.belts)
    perp_belts_velocity(scheme->model, &scheme->e, x, how->t_end, belt);
  if (pair->first == i || x->mu != x->mu_dynamic) scheme_parting(scheme, x, r, belt, u);
  if (pair->first == i) scheme_frame_of(scheme->model->dim, x->n, u, frame, pair);
  contact->mu = x->mu != x->mu_dynamic && scheme_slid(scheme, x, u, before) ? x->mu_dynamic : x->mu;
  contact->slides = false;
  for (int k = 0; k < 3; k++) {
    for (int side = 0; side < 2; side++) {
      const perp_v4 *cross = frame->cross[k];
      const perp_v4 turn = frame->fixed[k] + cross[0] * r[side][0] + cross[1] * r[side][1] +
                           cross[2] * r[side][2];
      contact->turn[side][k] = side == 0 ? -turn : turn;
    }
    contact->bias[k] = k > 0 ? perp_dot(3, belt, frame->d[k]) : 0;
    contact->p[k] = before != NULL ? how->scale * perp_dot(3, before->impulse, frame->d[k]) : 0;
  }
  contact->p[0] = contact->p[0] > 0 ? contact->p[0] : 0;
  scheme->gap[i] = (perp_scheme_gap){ .C = x->gap,
                                      .approach = scheme_turning(contact, 0, motion) +
                                                  scheme_along(scheme->model->dim == 2, pair, 0,
                                                               motion),
                                      .e = x->e };
}

/* Are these two contacts, one after the other, of one pair?  Where contacts are rows each has
 * tangents of its own. */
static bool scheme_together(const perp_scheme *scheme, const perp_contact *x, const perp_contact *y)
{
  return !scheme->contact_rows && perp_contact_pair(x->id) == perp_contact_pair(y->id) &&
         memcmp(x->n, y->n, sizeof x->n) == 0;
}

static void scheme_pairs_found(perp_scheme *scheme)
{
  int ties = 0;
  scheme->pairs = 0;
  for (int i = 0; i < scheme->n_contacts; i++) {
    const perp_contact *x = &scheme->found[i];
    if (i == 0 || !scheme_together(scheme, x - 1, x)) {
      if (i > 0) ties += scheme_ties(i - scheme->pair[scheme->pairs - 1].first);
      scheme->pair[scheme->pairs++] = (perp_scheme_pair){
        .first = i, .body = { x->body[0] + 1, x->body[1] + 1 }, .tie = ties
      };
    }
    scheme->pair[scheme->pairs - 1].end = i + 1;
  }
}

PERP_CLONES_OF_FOUR static void scheme_found_share(perp_scheme *scheme, int first, int end,
                                                   const scheme_found_how *how)
{
  int at = first < end ? scheme_recall_from(scheme, scheme->found[scheme->pair[first].first].id)
                       : 0;
  for (int i = first; i < end; i++) {
    perp_scheme_pair *pair = &scheme->pair[i];
    scheme_frame frame;
    scheme_motion motion;
    scheme_motion_of(&scheme->body[pair->body[0]], &scheme->body[pair->body[1]], &motion);
    for (int k = pair->first; k < pair->end; k++)
      scheme_contact(scheme, k, how, perp_scheme_recall(scheme, scheme->found[k].id, &at), &frame,
                     &motion, pair);
  }
}

static void scheme_found_part(perp_scheme *scheme, int first, int end, const void *how)
{
  scheme_found_share(scheme, first, end, how);
}

void perp_scheme_contacts_begin(perp_scheme *scheme, double t_end, double scale)
{
  scheme->dynamic = false;
  for (int i = 0; i < scheme->model->n_bodies; i++) scheme->body[i + 1].touched = false;
  for (int i = 0; i < scheme->n_contacts; i++) {
    const perp_contact *x = &scheme->found[i];
    for (int side = 0; side < 2; side++)
      if (x->body[side] >= 0) scheme->body[x->body[side] + 1].touched = true;
    scheme->dynamic = scheme->dynamic || x->mu != x->mu_dynamic;
  }
  perp_scheme_load(scheme, scheme->v);
  const scheme_found_how how = { t_end, scale };
  scheme_pairs_found(scheme);
  perp_scheme_shared(scheme, scheme_found_part, &how);
  scheme_weigh_contacts(scheme, false);
}

/* ---- its end ---- */

/* Did the contact slide in the step?  Its friction was at its bound when it was solved for, and it
 * moves faster at the end than SLIDES of its friction would stop: a fixed number of sweeps takes
 * the friction of one contact to its bound while others hold the body.  A contact that does not
 * press slides as a new one does. */
static bool scheme_slides(const perp_scheme *scheme, const perp_scheme_pair *pair,
                          const perp_scheme_contact *contact, double total,
                          const scheme_motion *motion)
{
  const bool plane = scheme->model->dim == 2;
  const double u = sqrt(
      scheme_square(scheme_slip(plane, contact, motion) + scheme_slide(plane, pair, motion)));
  const double A = contact->slide > 0 ? 1 / contact->slide : 0;
  if (!(total > 0)) return u > scheme->o.slip;
  return contact->slides && u > fmax(scheme->o.slip, SLIDES * A * contact->mu * total);
}

PERP_CLONES_OF_FOUR static void scheme_remember_share(perp_scheme *scheme, int first, int end)
{
  for (int i = first; i < end; i++) {
    const perp_scheme_pair *pair = &scheme->pair[i];
    scheme_motion motion;
    scheme_motion_of(&scheme->body[pair->body[0]], &scheme->body[pair->body[1]], &motion);
    for (int k = pair->first; k < pair->end; k++) {
      const perp_scheme_contact *contact = &scheme->contact[k];
      perp_scheme_memory *memory = &scheme->memory.next[k];
      const double *p = contact->p, *total = scheme->gap[k].total;
      const perp_v4 last = pair->d[0] * p[0] + pair->d[1] * p[1] + pair->d[2] * p[2];
      const perp_v4 all = pair->d[0] * total[0] + pair->d[1] * total[1] + pair->d[2] * total[2];
      *memory = (perp_scheme_memory){
        .id = scheme->found[k].id,
        .impulse = { last[0], last[1], last[2] },
        .slides = scheme->dynamic && scheme_slides(scheme, pair, contact, total[0], &motion)
      };
      for (int l = 0; l < 3; l++) scheme->impulse[3 * k + l] = all[l];
    }
  }
}

static void scheme_remember_part(perp_scheme *scheme, int first, int end, const void *how)
{
  (void)how;
  scheme_remember_share(scheme, first, end);
}

void perp_scheme_contacts_remember(perp_scheme *scheme)
{
  if (scheme->dynamic) perp_scheme_load(scheme, scheme->v1);
  perp_scheme_shared(scheme, scheme_remember_part, NULL);
  perp_scheme_memory *old = scheme->memory.now;
  scheme->memory.now = scheme->memory.next;
  scheme->memory.next = old;
  scheme->memory.n = scheme->n_contacts;
}
