/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs by colours, and their numbers four by four.  Which pair has which colour depends on the
 * order of contacts alone, so that results do not depend on threads and processor.  Lanes without a
 * pair, or whose pair has fewer contacts than its neighbours, hold zeros, which change nothing.
 * Masses are those of scheme_contacts.c with a vector in place of each number. */
#include "models/formulations/schemes/scheme_lanes.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTHS = 8 }; /* numbers of contacts that are told apart where pairs are put side by side */

/* ---- memory ---- */

void perp_scheme_lanes_free(perp_scheme *scheme)
{
  if (scheme->coloured.lanes != NULL) perp_arena_free(&scheme->coloured.lanes->grown);
  free(scheme->coloured.lanes);
  scheme->coloured.lanes = NULL;
}

perp_status perp_scheme_lanes_create(perp_ctx *ctx, perp_scheme *scheme)
{
  scheme->coloured.lanes = calloc(1, sizeof *scheme->coloured.lanes);
  return scheme->coloured.lanes != NULL ? PERP_OK
                                        : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for colours");
}

static void lanes_layout(perp_scheme_lanes *lanes, perp_arena *arena)
{
  lanes->group = PERP_CARVE(arena, lanes_group, lanes->groups);
  lanes->row = PERP_CARVE(arena, lanes_row, lanes->rows);
  lanes->tie = PERP_CARVE(arena, lanes_tie, lanes->ties);
  lanes->inertia = PERP_CARVE(arena, perp_v4, lanes->inertias);
}

static perp_status lanes_reserve(perp_ctx *ctx, perp_scheme_lanes *lanes)
{
  perp_arena need = { 0 };
  lanes_layout(lanes, &need);
  if (need.used > lanes->capacity) {
    perp_arena_free(&lanes->grown);
    lanes->capacity = 0;
    lanes->grown.used = need.used + need.used / 4;
    const size_t capacity = lanes->grown.used;
    PERP_TRY(perp_arena_reserve(ctx, &lanes->grown));
    lanes->capacity = capacity;
  }
  lanes->grown.used = 0;
  lanes_layout(lanes, &lanes->grown);
  return PERP_OK;
}

/* ---- colours ---- */

static int lanes_depth(const perp_scheme_pair *pair)
{
  return pair->end - pair->first;
}

/* Each pair gets the first colour that no pair before has on its bodies; the last colour is of
 * those that find none.  key [pairs]: pairs of a colour by their number of contacts, the most
 * first; count [colours x depths]. */
static void lanes_colour(perp_scheme *scheme, int *key, int *count)
{
  uint64_t *used = scheme->coloured.used;
  memset(used, 0, ((size_t)scheme->model->n_bodies + 1) * sizeof *used);
  scheme->coloured.lanes->colours = 0;
  for (int i = 0; i < scheme->pairs; i++) {
    const perp_scheme_pair *pair = &scheme->pair[i];
    const uint64_t taken = used[pair->body[0]] | used[pair->body[1]] | 1ULL << (LANES_COLOURS - 1);
    const int colour = ~taken != 0 ? __builtin_ctzll(~taken) : LANES_COLOURS - 1,
              depth = lanes_depth(pair) < DEPTHS ? lanes_depth(pair) : DEPTHS;
    for (int side = 0; side < 2; side++)
      if (pair->body[side] != 0) used[pair->body[side]] |= 1ULL << colour;
    key[i] = colour * DEPTHS + DEPTHS - depth;
    count[key[i]]++;
    if (colour >= scheme->coloured.lanes->colours) scheme->coloured.lanes->colours = colour + 1;
  }
  scheme->coloured.lanes->alone = scheme->coloured.lanes->colours == LANES_COLOURS;
}

/* The pairs colour by colour */
static void lanes_sort(perp_scheme *scheme, int count[LANES_COLOURS * DEPTHS])
{
  int *order = scheme->coloured.order, *key = order + scheme->pairs, at = 0;
  memset(count, 0, LANES_COLOURS * DEPTHS * sizeof *count);
  lanes_colour(scheme, key, count);
  for (int k = 0; k < LANES_COLOURS * DEPTHS; k++) {
    const int n = count[k];
    count[k] = at;
    at += n;
  }
  for (int i = 0; i < scheme->pairs; i++) order[count[key[i]]++] = i;
}

/* A four of n pairs from pair_order[first] on, its numbers alone where there is no memory yet */
static void lanes_add(const perp_scheme *scheme, int first, int n, bool count)
{
  perp_scheme_lanes *lanes = scheme->coloured.lanes;
  const int *order = scheme->coloured.order + first;
  int depth = 0;
  bool round = scheme->model->dim == 3;
  for (int l = 0; l < n; l++) {
    const perp_scheme_pair *pair = &scheme->pair[order[l]];
    depth = lanes_depth(pair) > depth ? lanes_depth(pair) : depth;
    for (int side = 0; side < 2; side++) round = round && scheme->body[pair->body[side]].round;
  }
  if (!count) {
    lanes_group *group = &lanes->group[lanes->groups];
    group->depth = depth;
    group->round = round;
    group->row = lanes->rows;
    group->tie = lanes->ties;
    group->inertia = lanes->inertias;
    for (int l = 0; l < LANES; l++) group->pair[l] = l < n ? order[l] : -1;
  }
  lanes->groups++;
  lanes->rows += depth;
  lanes->ties += scheme_ties(depth);
  lanes->inertias += 2 * (round ? 1 : LANES_INERTIA);
}

/* Fours of the pairs in their order; the last colour has one pair in each. */
static void lanes_group_pairs(const perp_scheme *scheme, const int *end, bool count)
{
  perp_scheme_lanes *lanes = scheme->coloured.lanes;
  lanes->groups = lanes->rows = lanes->ties = lanes->inertias = 0;
  for (int colour = 0, i = 0; colour < lanes->colours; colour++) {
    const int last = end[(colour + 1) * DEPTHS - 1],
              most = lanes->alone && colour == LANES_COLOURS - 1 ? 1 : LANES;
    for (int n; i < last; i += n) {
      n = last - i < most ? last - i : most;
      lanes_add(scheme, i, n, count);
    }
    lanes->end[colour] = lanes->groups;
  }
}

/* ---- numbers between contacts and lanes ---- */

/* Contact number i of the pair of each lane; `none` where there is no such. */
static void lanes_contacts(const perp_scheme *scheme, const lanes_group *group, int i,
                           perp_scheme_contact *none, perp_scheme_contact *contact[LANES])
{
  for (int l = 0; l < LANES; l++) {
    const perp_scheme_pair *pair = group->pair[l] >= 0 ? &scheme->pair[group->pair[l]] : NULL;
    contact[l] = pair != NULL && i < lanes_depth(pair) ? &scheme->contact[pair->first + i] : none;
  }
}

/* What a step does not change of a four */
PERP_CLONE_INLINE void lanes_geometry(const perp_scheme *scheme, lanes_group *group)
{
  perp_scheme_contact none = { .mu = 0 }, *contact[LANES];
  const perp_scheme_pair zero = { .first = 0 }, *pair[LANES];
  perp_v4 x[LANES];
  for (int l = 0; l < LANES; l++) {
    pair[l] = group->pair[l] >= 0 ? &scheme->pair[group->pair[l]] : &zero;
    for (int side = 0; side < 2; side++) {
      const int body = group->body[side][l] = pair[l]->body[side];
      group->part[side][l] = scheme->body[body].part;
    }
  }
  for (int k = 0; k < 3; k++) {
    for (int l = 0; l < LANES; l++) x[l] = pair[l]->d[k];
    lanes_transpose(x);
    memcpy(group->d[k], x, sizeof group->d[k]);
  }
  for (int i = 0; i < group->depth; i++) {
    lanes_row *row = &scheme->coloured.lanes->row[group->row + i];
    lanes_contacts(scheme, group, i, &none, contact);
    for (int side = 0; side < 2; side++)
      for (int k = 0; k < 3; k++) {
        for (int l = 0; l < LANES; l++) x[l] = contact[l]->turn[side][k];
        lanes_transpose(x);
        memcpy(row->turn[side][k], x, sizeof row->turn[side][k]);
      }
    for (int l = 0; l < LANES; l++) row->mu[l] = contact[l]->mu;
    row->slides = (perp_i4){ 0 };
  }
}

_Static_assert(offsetof(perp_scheme_contact, bias) ==
                       offsetof(perp_scheme_contact, p) + 3 * sizeof(double) &&
                   offsetof(perp_scheme_contact, inverse) ==
                       offsetof(perp_scheme_contact, p) + 7 * sizeof(double),
               "p, bias, soft and inverse lie side by side");

/* p and a bias, and what follows */
PERP_CLONE_INLINE void lanes_load(const perp_scheme *scheme, const lanes_group *group)
{
  perp_scheme_contact none = { .mu = 0 }, *contact[LANES];
  for (int i = 0; i < group->depth; i++) {
    lanes_row *row = &scheme->coloured.lanes->row[group->row + i];
    perp_v4 x[LANES], y[LANES];
    lanes_contacts(scheme, group, i, &none, contact);
    for (int l = 0; l < LANES; l++) {
      x[l] = *(const perp_v4_any *)contact[l]->p;
      y[l] = *(const perp_v4_any *)(contact[l]->bias + 1);
    }
    lanes_transpose(x);
    lanes_transpose(y);
    for (int k = 0; k < 3; k++) row->p[k] = x[k];
    row->bias[0] = x[3];
    row->bias[1] = y[0];
    row->bias[2] = y[1];
    row->soft = y[2];
    row->inverse = y[3];
  }
}

/* p, and what slides; bias[0] comes along. */
PERP_CLONE_INLINE void lanes_store(const perp_scheme *scheme, const lanes_group *group)
{
  perp_scheme_contact none, *contact[LANES];
  for (int i = 0; i < group->depth; i++) {
    const lanes_row *row = &scheme->coloured.lanes->row[group->row + i];
    perp_v4 x[LANES] = { row->p[0], row->p[1], row->p[2], row->bias[0] };
    lanes_contacts(scheme, group, i, &none, contact);
    lanes_transpose(x);
    for (int l = 0; l < LANES; l++) {
      *(perp_v4_any *)contact[l]->p = x[l];
      if (scheme->dynamic) contact[l]->slides = row->slides[l] != 0;
    }
  }
}

/* ---- masses ---- */

PERP_CLONE_INLINE void lanes_inertia(const perp_scheme *scheme, const lanes_group *group)
{
  perp_v4 *inertia = scheme->coloured.lanes->inertia + group->inertia;
  const bool plane = scheme->model->dim == 2;
  for (int side = 0; side < 2; side++)
    for (int l = 0; l < LANES; l++) {
      const perp_v4 *I = scheme->body[group->body[side][l]].I;
      const double six[LANES_INERTIA] = { I[0][0], I[1][0], I[1][1],
                                          I[2][0], I[2][1], plane ? I[0][2] : I[2][2] };
      if (group->round)
        inertia[side][l] = six[0];
      else
        for (int k = 0; k < LANES_INERTIA; k++) inertia[LANES_INERTIA * side + k][l] = six[k];
    }
}

#define LANES_DOT(x, y) ((x)[0] * (y)[0] + (x)[1] * (y)[1] + (x)[2] * (y)[2])

/* J_k M^-1 of a contact, of what turns */
typedef struct lanes_weights {
  perp_v4 turn[2][3][3];
} lanes_weights;

/* J_k M^-1 J_l' of a contact with one that has these weights */
#define LANES_BETWEEN(row, weights, k, l, parts)                                                   \
  ((parts) + (LANES_DOT((row)->turn[0][k], (weights)->turn[0][l]) +                                \
              LANES_DOT((row)->turn[1][k], (weights)->turn[1][l])))

/* What the tangents are solved with */
PERP_CLONE_INLINE void lanes_stick(bool plane, lanes_row *row, const lanes_weights *own,
                                   const perp_v4 *parts)
{
  const perp_v4 zero = { 0 }, one = zero + 1;
  const perp_v4 xx = LANES_BETWEEN(row, own, 1, 1, *parts),
                xy = LANES_BETWEEN(row, own, 1, 2, zero),
                yy = LANES_BETWEEN(row, own, 2, 2, *parts);
  const perp_v4 det = xx * yy - xy * xy, mean = 0.5 * (xx + yy), apart = 0.5 * (xx - yy),
                square = apart * apart + xy * xy;
  perp_v4 most;
  for (int l = 0; l < LANES; l++) most[l] = mean[l] + sqrt(square[l]);
  const perp_v4 slide = one / most, safe = PERP_CHOOSE4(det > 1e-12 * xx * yy, one / det, zero);
  row->slide = PERP_CHOOSE4(most > 0, slide, zero);
  row->stick[0] = yy * safe;
  row->stick[1] = -xy * safe;
  row->stick[2] = xx * safe;
  if (!plane) return;
  const perp_v4 part = one / xx;
  row->stick[0] = PERP_CHOOSE4(xx > 0, part, zero);
  row->stick[1] = zero;
  row->stick[2] = one; /* of a tangent without velocity */
}

PERP_CLONE_INLINE void lanes_tie_of(bool plane, const lanes_row *x, const lanes_weights *other,
                                    const perp_v4 *parts, lanes_tie *tie)
{
  const perp_v4 zero = { 0 };
  tie->normal = LANES_BETWEEN(x, other, 0, 0, *parts);
  for (int l = 0; l < 2; l++) {
    const perp_v4 first = LANES_BETWEEN(x, other, 1, 1 + l, l == 0 ? *parts : zero);
    const perp_v4 second = plane ? zero : LANES_BETWEEN(x, other, 2, 1 + l, l == 1 ? *parts : zero);
    tie->tangents[2 * l] = LANES_TIMES(x->stick, 0, first, second);
    tie->tangents[2 * l + 1] = LANES_TIMES(x->stick, 1, first, second);
  }
}

/* What perp_scheme_bias and friction that falls ask for of a contact */
PERP_CLONE_INLINE void lanes_tell(const perp_scheme *scheme, const lanes_group *group, int i,
                                  const perp_v4 *A, const perp_v4 *slide)
{
  for (int l = 0; l < LANES; l++) {
    const perp_scheme_pair *pair = group->pair[l] >= 0 ? &scheme->pair[group->pair[l]] : NULL;
    if (pair == NULL || i >= lanes_depth(pair)) continue;
    scheme->gap[pair->first + i].A = (*A)[l];
    if (scheme->dynamic) scheme->contact[pair->first + i].slide = (*slide)[l];
  }
}

PERP_CLONE_INLINE void lanes_masses(const perp_scheme *scheme, bool plane, lanes_group *group)
{
  const bool round = group->round;
  const perp_v4 zero = { 0 }, parts = plane ? zero : group->part[0] + group->part[1];
  const perp_v4 *inertia = scheme->coloured.lanes->inertia + group->inertia;
  lanes_tie *tie = scheme->coloured.lanes->tie + group->tie;
  lanes_weights weights[SCHEME_FOUR];
  lanes_inertia(scheme, group);
  for (int i = 0, first = 0; i < group->depth; i++) {
    lanes_row *row = &scheme->coloured.lanes->row[group->row + i];
    if (i - first == SCHEME_FOUR) first = i;
    lanes_weights *own = &weights[i - first];
    for (int side = 0; side < 2; side++)
      for (int k = 0; k < 3; k++)
        lanes_weigh(plane, round, side, inertia, row->turn[side][k], own->turn[side][k]);
    const perp_v4 A = LANES_BETWEEN(row, own, 0, 0, parts);
    lanes_stick(plane, row, own, &parts);
    for (int j = first; j < i; j++) lanes_tie_of(plane, row, &weights[j - first], &parts, tie++);
    lanes_tell(scheme, group, i, &A, &row->slide);
  }
}

/* ---- all fours ---- */

/* again: masses alone, where turns change them */
PERP_CLONES_OF_FOUR static void lanes_run_begin(const perp_scheme *scheme, bool again, int first,
                                                int end)
{
  for (int i = first; i < end; i++) {
    lanes_group *group = &scheme->coloured.lanes->group[i];
    if (!again) lanes_geometry(scheme, group);
    if (again && (scheme->model->dim == 2 || group->round)) continue;
    if (scheme->model->dim == 2)
      lanes_masses(scheme, true, group);
    else
      lanes_masses(scheme, false, group);
  }
}

PERP_CLONES_OF_FOUR static void lanes_run_load(const perp_scheme *scheme, int first, int end)
{
  for (int i = first; i < end; i++) lanes_load(scheme, &scheme->coloured.lanes->group[i]);
}

void perp_scheme_lanes_load(const perp_scheme *scheme, int first, int end)
{
  lanes_run_load(scheme, first, end);
}

PERP_CLONES_OF_FOUR static void lanes_run_store(const perp_scheme *scheme, int first, int end)
{
  for (int i = first; i < end; i++) lanes_store(scheme, &scheme->coloured.lanes->group[i]);
}

void perp_scheme_lanes_store(const perp_scheme *scheme, int first, int end)
{
  lanes_run_store(scheme, first, end);
}

typedef struct lanes_task {
  perp_scheme *scheme;
  bool again;
} lanes_task;

static void lanes_begin_share(void *user, int member, int members)
{
  const lanes_task *task = user;
  const perp_scheme *scheme = task->scheme;
  const int groups = scheme->coloured.lanes->groups, first = perp_share(groups, member, members),
            end = perp_share(groups, member + 1, members);
  lanes_run_begin(scheme, task->again, first, end);
}

perp_status perp_scheme_lanes_begin(perp_scheme *scheme)
{
  int end[LANES_COLOURS * DEPTHS];
  lanes_sort(scheme, end);
  lanes_group_pairs(scheme, end, true);
  PERP_TRY(lanes_reserve(scheme->ctx, scheme->coloured.lanes));
  lanes_group_pairs(scheme, end, false);
  perp_scheme_lanes_masses(scheme, false);
  return PERP_OK;
}

void perp_scheme_lanes_masses(perp_scheme *scheme, bool again)
{
  lanes_task task = { .scheme = scheme, .again = again };
  perp_team(perp_scheme_threads(scheme), lanes_begin_share, &task);
}
