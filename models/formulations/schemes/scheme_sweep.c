/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gauss-Seidel on the contacts of schemes, and what else changes or reads velocities by contacts.
 */
#include "models/formulations/schemes/scheme_motion.h"

/* J' p of several contacts of a pair: the p of each direction, and what turns the two */
typedef struct scheme_sum {
  perp_v4 turn[2];
  double p[3];
} scheme_sum;

PERP_CLONE_INLINE void scheme_add(scheme_sum *sum, const perp_scheme_contact *contact, int k,
                                  double p)
{
  sum->p[k] += p;
  sum->turn[0] += contact->turn[0][k] * p;
  sum->turn[1] += contact->turn[1][k] * p;
}

/* v += M^-1 J' p; directions from k on, before end */
PERP_CLONE_INLINE void scheme_push(bool plane, const perp_scheme_pair *pair, int k, int end,
                                   const scheme_sum *sum, const perp_scheme_body *a,
                                   const perp_scheme_body *b, scheme_motion *motion)
{
  perp_v4 wa, wb, along = pair->d[k] * sum->p[k];
  scheme_weigh(plane, a, &sum->turn[0], &wa);
  scheme_weigh(plane, b, &sum->turn[1], &wb);
  motion->wa += wa;
  motion->wb += wb;
  if (plane) return;
  for (k++; k < end; k++) along += pair->d[k] * sum->p[k];
  motion->va -= along * a->part;
  motion->vb += along * b->part;
}

/* Up to four contacts of a pair */
typedef struct scheme_block {
  const perp_scheme_pair *pair;
  perp_scheme_contact *contact;
  const perp_scheme_tie *tie;
  const perp_scheme_body *a, *b;
} scheme_block;

/* The normals of n contacts, 4 at most, one after the other.  What each would have with the
 * velocities of before is known at once; the changes of those in front then lower it.  So a contact
 * waits for one number of the contact in front, not for the velocity that this leaves. */
PERP_CLONE_INLINE void scheme_normals(const scheme_block *block, int n, bool plane,
                                      scheme_motion *motion)
{
  perp_scheme_contact *contact = block->contact;
  const perp_scheme_tie *tie = block->tie;
  const double along = scheme_along(plane, block->pair, 0, motion);
  double next[SCHEME_FOUR], change[SCHEME_FOUR];
  scheme_sum sum = { .p = { 0 } };
  PERP_FLAT4
  for (int i = 0; i < n; i++) {
    const double w = scheme_turning(&contact[i], 0, motion) + along + contact[i].bias[0] +
                     contact[i].soft * contact[i].p[0];
    next[i] = contact[i].p[0] - w * contact[i].inverse;
  }
  PERP_FLAT4
  for (int i = 0; i < n; i++) {
    PERP_FLAT4
    for (int j = 0; j < i; j++, tie++) next[i] -= tie->normal * contact[i].inverse * change[j];
    const double p = next[i] > 0 ? next[i] : 0;
    change[i] = p - contact[i].p[0];
    contact[i].p[0] = p;
  }
  PERP_FLAT4
  for (int i = 0; i < n; i++) scheme_add(&sum, &contact[i], 0, change[i]);
  scheme_push(plane, block->pair, 0, 1, &sum, block->a, block->b, motion);
}

/* A^-1 p, the columns of A given; 0 where A is singular */
PERP_CLONE_INLINE perp_v2 scheme_undo(const perp_v2 A[2], perp_v2 p)
{
  const double det = A[0][0] * A[1][1] - A[0][1] * A[1][0];
  const perp_v2 y = { A[1][1] * p[0] - A[1][0] * p[1], A[0][0] * p[1] - A[0][1] * p[0] };
  return det > 0 ? y / det : (perp_v2){ 0 };
}

/* The friction of a contact, from what it had before and p with which it would stick.  What would
 * leave the disk slides: a step before - w / a with one number a >= A for both tangents, back onto
 * the disk, has the fixed point p against w; p itself scaled would be A^-1 w, askew where bodies
 * turn. */
PERP_CLONE_INLINE perp_v2 scheme_disk(perp_scheme_contact *contact, perp_v2 before, perp_v2 p)
{
  const double bound = contact->mu * contact->p[0];
  contact->slides = scheme_square(p) > bound * bound;
  /* no branch here: whether a contact presses is as good as random from one to the next */
  p[0] = bound > 0 ? p[0] : 0;
  p[1] = bound > 0 ? p[1] : 0;
  if (scheme_square(p) <= bound * bound) return p;
  p = before - scheme_undo(contact->stick, before - p) * contact->slide;
  const double square = scheme_square(p);
  return square > bound * bound ? p * (bound / sqrt(square)) : p;
}

/* The friction of n contacts, one after the other, in the same way.  What sticks is solved for
 * exactly, both tangents at once. */
PERP_CLONE_INLINE void scheme_frictions(const scheme_block *block, int n, bool plane,
                                        scheme_motion *motion)
{
  perp_scheme_contact *contact = block->contact;
  const perp_scheme_tie *tie = block->tie;
  const perp_v2 along = scheme_slide(plane, block->pair, motion);
  perp_v2 p[SCHEME_FOUR], change[SCHEME_FOUR];
  scheme_sum sum = { .p = { 0 } };
  PERP_FLAT4
  for (int i = 0; i < n; i++)
    p[i] = *(perp_v2_any *)(contact[i].p + 1) -
           scheme_times(contact[i].stick, scheme_slip(plane, &contact[i], motion) + along);
  PERP_FLAT4
  for (int i = 0; i < n; i++) {
    perp_v2_any *friction = (perp_v2_any *)(contact[i].p + 1);
    const perp_v2 before = *friction;
    PERP_FLAT4
    for (int j = 0; j < i; j++, tie++) p[i] -= scheme_times(tie->tangents, change[j]);
    *friction = scheme_disk(&contact[i], before, p[i]);
    change[i] = *friction - before;
  }
  PERP_FLAT4
  for (int i = 0; i < n; i++) {
    scheme_add(&sum, &contact[i], 1, change[i][0]);
    if (!plane) scheme_add(&sum, &contact[i], 2, change[i][1]);
  }
  scheme_push(plane, block->pair, 1, 3, &sum, block->a, block->b, motion);
}

/* ---- all of them ---- */

PERP_CLONE_INLINE void scheme_four(const scheme_block *block, int n, bool plane, bool friction,
                                   scheme_motion *motion)
{
  if (friction)
    scheme_frictions(block, n, plane, motion);
  else
    scheme_normals(block, n, plane, motion);
}

/* The normals or the friction of all contacts of a pair, n known where the loops are compiled */
PERP_CLONE_INLINE void scheme_pair(const perp_scheme *scheme, const perp_scheme_pair *pair,
                                   bool plane, bool friction, scheme_motion *motion)
{
  scheme_block block = { pair, scheme->contact + pair->first, scheme->tie + pair->tie,
                         &scheme->body[pair->body[0]], &scheme->body[pair->body[1]] };
  for (int left = pair->end - pair->first; left > 0; left -= SCHEME_FOUR) {
    switch (left) {
    case 1:
      scheme_four(&block, 1, plane, friction, motion);
      break;
    case 2:
      scheme_four(&block, 2, plane, friction, motion);
      break;
    case 3:
      scheme_four(&block, 3, plane, friction, motion);
      break;
    default:
      scheme_four(&block, SCHEME_FOUR, plane, friction, motion);
    }
    block.contact += SCHEME_FOUR;
    block.tie += SCHEME_TIES;
  }
}

PERP_CLONE_INLINE void scheme_sweep(const perp_scheme *scheme, bool plane, bool friction)
{
  for (int i = 0; i < scheme->pairs; i++) {
    const perp_scheme_pair *pair = &scheme->pair[i];
    perp_scheme_body *a = &scheme->body[pair->body[0]], *b = &scheme->body[pair->body[1]];
    scheme_motion motion;
    scheme_motion_of(a, b, &motion);
    scheme_pair(scheme, pair, plane, false, &motion);
    if (friction) scheme_pair(scheme, pair, plane, true, &motion);
    scheme_motion_to(&motion, a, b);
  }
}

PERP_CLONES_OF_FOUR static void scheme_sweep_space(const perp_scheme *scheme, bool friction)
{
  scheme_sweep(scheme, false, friction);
}

PERP_CLONES_OF_FOUR static void scheme_sweep_plane(const perp_scheme *scheme, bool friction)
{
  scheme_sweep(scheme, true, friction);
}

PERP_CLONES_OF_FOUR static void scheme_contacts_push(const perp_scheme *scheme)
{
  const bool plane = scheme->model->dim == 2;
  for (int i = 0; i < scheme->pairs; i++) {
    const perp_scheme_pair *pair = &scheme->pair[i];
    perp_scheme_body *a = &scheme->body[pair->body[0]], *b = &scheme->body[pair->body[1]];
    scheme_motion motion;
    scheme_sum sum = { .p = { 0 } };
    scheme_motion_of(a, b, &motion);
    for (int c = pair->first; c < pair->end; c++)
      for (int k = 0; k < 3; k++) scheme_add(&sum, &scheme->contact[c], k, scheme->contact[c].p[k]);
    scheme_push(plane, pair, 0, 3, &sum, a, b, &motion);
    scheme_motion_to(&motion, a, b);
  }
}

void perp_scheme_contacts_sweep(perp_scheme *scheme, int n, bool friction, bool warm)
{
  if (scheme->n_contacts == 0) return;
  if (scheme->coloured.lanes != NULL) {
    perp_scheme_lanes_sweep(scheme, n, friction, warm);
    return;
  }
  if (warm) scheme_contacts_push(scheme);
  for (int sweep = 0; sweep < n; sweep++)
    if (scheme->model->dim == 2)
      scheme_sweep_plane(scheme, friction);
    else
      scheme_sweep_space(scheme, friction);
}

PERP_CLONES_OF_FOUR static void scheme_gap_share(const perp_scheme *scheme, int first, int end,
                                                 double h)
{
  const bool plane = scheme->model->dim == 2;
  for (int i = first; i < end; i++) {
    const perp_scheme_pair *pair = &scheme->pair[i];
    scheme_motion motion;
    scheme_motion_of(&scheme->body[pair->body[0]], &scheme->body[pair->body[1]], &motion);
    const double along = scheme_along(plane, pair, 0, &motion);
    for (int k = pair->first; k < pair->end; k++)
      scheme->gap[k].C += h * (scheme_turning(&scheme->contact[k], 0, &motion) + along);
  }
}

static void scheme_gap_part(perp_scheme *scheme, int first, int end, const void *how)
{
  scheme_gap_share(scheme, first, end, *(const double *)how);
}

void perp_scheme_contacts_move(perp_scheme *scheme, double h)
{
  perp_scheme_shared(scheme, scheme_gap_part, &h);
}

double perp_scheme_approach(const perp_scheme *scheme, const perp_scheme_pair *pair, int contact)
{
  const bool plane = scheme->model->dim == 2;
  scheme_motion motion;
  scheme_motion_of(&scheme->body[pair->body[0]], &scheme->body[pair->body[1]], &motion);
  return scheme_turning(&scheme->contact[contact], 0, &motion) +
         scheme_along(plane, pair, 0, &motion);
}

void perp_scheme_contact_push(perp_scheme *scheme, const perp_scheme_pair *pair, int contact,
                              double p)
{
  const bool plane = scheme->model->dim == 2;
  perp_scheme_body *a = &scheme->body[pair->body[0]], *b = &scheme->body[pair->body[1]];
  scheme_motion motion;
  scheme_sum sum = { .p = { 0 } };
  scheme_motion_of(a, b, &motion);
  scheme_add(&sum, &scheme->contact[contact], 0, p);
  scheme_push(plane, pair, 0, 1, &sum, a, b, &motion);
  scheme_motion_to(&motion, a, b);
}
