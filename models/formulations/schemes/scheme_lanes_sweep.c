/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps colour by colour: pairs of one colour have no moving body in common, so that four of them
 * are done at once, one in each lane of a vector, and all of a colour by several threads.  The
 * steps are those of scheme_sweep.c with a vector in place of each number. */
#include "models/formulations/schemes/scheme_lanes.h"

/* ---- sweeps ---- */

/* The velocities of the bodies */
typedef struct lanes_motion {
  perp_v4 v[2][3], w[2][3];
} lanes_motion;

PERP_CLONE_INLINE void lanes_gather(bool plane, const perp_scheme *scheme, const lanes_group *group,
                                    lanes_motion *motion)
{
  for (int side = 0; side < 2; side++) {
    const perp_scheme_body *body[LANES];
    perp_v4 x[LANES];
    for (int l = 0; l < LANES; l++) body[l] = &scheme->body[group->body[side][l]];
    for (int l = 0; l < LANES; l++) x[l] = body[l]->w;
    lanes_transpose(x);
    for (int k = 0; k < 3; k++) motion->w[side][k] = x[k];
    if (plane) continue;
    for (int l = 0; l < LANES; l++) x[l] = body[l]->v;
    lanes_transpose(x);
    for (int k = 0; k < 3; k++) motion->v[side][k] = x[k];
  }
}

/* Nobody writes to the world, which is in many fours. */
PERP_CLONE_INLINE void lanes_scatter(bool plane, const perp_scheme *scheme,
                                     const lanes_group *group, const lanes_motion *motion)
{
  const perp_v4 zero = { 0 };
  perp_v4 nobody;
  for (int side = 0; side < 2; side++) {
    const int *at = group->body[side];
    perp_v4 x[LANES] = { motion->w[side][0], motion->w[side][1], motion->w[side][2], zero };
    lanes_transpose(x);
    for (int l = 0; l < LANES; l++) *(at[l] > 0 ? &scheme->body[at[l]].w : &nobody) = x[l];
    if (plane) continue;
    for (int k = 0; k < 3; k++) x[k] = motion->v[side][k];
    x[3] = zero;
    lanes_transpose(x);
    for (int l = 0; l < LANES; l++) *(at[l] > 0 ? &scheme->body[at[l]].v : &nobody) = x[l];
  }
}

#define LANES_TURNING(row, k, motion)                                                              \
  ((row)->turn[0][k][0] * (motion)->w[0][0] + (row)->turn[1][k][0] * (motion)->w[1][0] +           \
   ((row)->turn[0][k][1] * (motion)->w[0][1] + (row)->turn[1][k][1] * (motion)->w[1][1]) +         \
   ((row)->turn[0][k][2] * (motion)->w[0][2] + (row)->turn[1][k][2] * (motion)->w[1][2]))

/* n.(v_b - v_a) and the same of tangents; 0 in the plane, where turn has it */
PERP_CLONE_INLINE void lanes_along(bool plane, const lanes_group *group, int k,
                                   const lanes_motion *motion, perp_v4 *along)
{
  *along = (perp_v4){ 0 };
  if (plane) return;
  *along = group->d[k][0] * (motion->v[1][0] - motion->v[0][0]) +
           group->d[k][1] * (motion->v[1][1] - motion->v[0][1]) +
           group->d[k][2] * (motion->v[1][2] - motion->v[0][2]);
}

/* J' p of several contacts */
typedef struct lanes_sum {
  perp_v4 turn[2][3], p[3];
} lanes_sum;

PERP_CLONE_INLINE void lanes_add_to(lanes_sum *sum, const lanes_row *row, int k, const perp_v4 *p)
{
  sum->p[k] += *p;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < 3; i++) sum->turn[side][i] += row->turn[side][k][i] * *p;
}

/* Contacts of a four, as many as are done at once; what else is read with them */
typedef struct lanes_block {
  const lanes_group *group;
  lanes_row *row;
  const lanes_tie *tie;
  const perp_v4 *inertia;
} lanes_block;

/* v += M^-1 J' p; directions from k on, before end */
PERP_CLONE_INLINE void lanes_push(bool plane, const lanes_block *block, int k, int end,
                                  const lanes_sum *sum, lanes_motion *motion)
{
  const lanes_group *group = block->group;
  for (int side = 0; side < 2; side++) {
    perp_v4 w[3];
    lanes_weigh(plane, group->round, side, block->inertia, sum->turn[side], w);
    for (int i = 0; i < 3; i++) motion->w[side][i] += w[i];
  }
  for (int i = 0; i < 3 && !plane; i++) {
    perp_v4 along = group->d[k][i] * sum->p[k];
    for (int l = k + 1; l < end; l++) along += group->d[l][i] * sum->p[l];
    motion->v[0][i] -= along * group->part[0];
    motion->v[1][i] += along * group->part[1];
  }
}

PERP_CLONE_INLINE void lanes_normals(const lanes_block *block, int n, bool plane,
                                     lanes_motion *motion)
{
  lanes_row *row = block->row;
  const lanes_tie *tie = block->tie;
  const perp_v4 zero = { 0 };
  perp_v4 along, next[SCHEME_FOUR], change[SCHEME_FOUR];
  lanes_sum sum = { .p = { { 0 } } };
  lanes_along(plane, block->group, 0, motion, &along);
  PERP_FLAT4
  for (int i = 0; i < n; i++) {
    const perp_v4 w = LANES_TURNING(&row[i], 0, motion) + along + row[i].bias[0] +
                      row[i].soft * row[i].p[0];
    next[i] = row[i].p[0] - w * row[i].inverse;
  }
  PERP_FLAT4
  for (int i = 0; i < n; i++) {
    PERP_FLAT4
    for (int j = 0; j < i; j++, tie++) next[i] -= tie->normal * row[i].inverse * change[j];
    const perp_v4 p = PERP_CHOOSE4(next[i] > zero, next[i], zero);
    change[i] = p - row[i].p[0];
    row[i].p[0] = p;
    lanes_add_to(&sum, &row[i], 0, &change[i]);
  }
  lanes_push(plane, block, 0, 1, &sum, motion);
}

/* Is it so in any lane? */
#define LANES_ANY(x) (((x)[0] | (x)[1] | (x)[2] | (x)[3]) != 0)

/* The friction of contacts that would leave their disks, of p: from `before`, a step with one
 * number for both tangents, back onto the disk */
PERP_CLONE_INLINE void lanes_disk(const lanes_row *row, const perp_v4 *bound, perp_v4 p[2])
{
  const perp_v4 zero = { 0 }, *before = row->p + 1, *stick = row->stick;
  const perp_v4 det = stick[0] * stick[2] - stick[1] * stick[1];
  const perp_v4 x = before[0] - p[0], y = before[1] - p[1];
  const perp_v4 part = PERP_CHOOSE4(det > zero, row->slide / det, zero);
  p[0] = before[0] - (stick[2] * x - stick[1] * y) * part;
  p[1] = before[1] - (stick[0] * y - stick[1] * x) * part;
  const perp_v4 square = p[0] * p[0] + p[1] * p[1];
  perp_v4 size;
  for (int l = 0; l < LANES; l++) size[l] = sqrt(square[l]);
  const perp_v4 shrink = *bound / size;
  const perp_i4 over = square > *bound * *bound;
  const perp_v4 x1 = p[0] * shrink, y1 = p[1] * shrink;
  p[0] = PERP_CHOOSE4(over, x1, p[0]);
  p[1] = PERP_CHOOSE4(over, y1, p[1]);
}

PERP_CLONE_INLINE void lanes_frictions(const lanes_block *block, int n, bool plane,
                                       lanes_motion *motion)
{
  lanes_row *row = block->row;
  const lanes_tie *tie = block->tie;
  const perp_v4 zero = { 0 };
  perp_v4 along[2], next[SCHEME_FOUR][2], change[SCHEME_FOUR][2];
  lanes_sum sum = { .p = { { 0 } } };
  lanes_along(plane, block->group, 1, motion, &along[0]);
  lanes_along(plane, block->group, 2, motion, &along[1]);
  PERP_FLAT4
  for (int i = 0; i < n; i++) {
    const perp_v4 x = LANES_TURNING(&row[i], 1, motion) + row[i].bias[1] + along[0];
    const perp_v4 y = plane ? row[i].bias[2]
                            : LANES_TURNING(&row[i], 2, motion) + row[i].bias[2] + along[1];
    next[i][0] = row[i].p[1] - LANES_TIMES(row[i].stick, 0, x, y);
    next[i][1] = row[i].p[2] - LANES_TIMES(row[i].stick, 1, x, y);
  }
  PERP_FLAT4
  for (int i = 0; i < n; i++) {
    PERP_FLAT4
    for (int j = 0; j < i; j++, tie++) {
      next[i][0] -= tie->tangents[0] * change[j][0] + tie->tangents[2] * change[j][1];
      next[i][1] -= tie->tangents[1] * change[j][0] + tie->tangents[3] * change[j][1];
    }
    perp_v4 bound = row[i].mu * row[i].p[0], p[2];
    const perp_i4 held = bound > zero;
    bound = PERP_CHOOSE4(held, bound, zero);
    const perp_i4 slides = next[i][0] * next[i][0] + next[i][1] * next[i][1] > bound * bound;
    p[0] = PERP_CHOOSE4(held, next[i][0], zero);
    p[1] = PERP_CHOOSE4(held, next[i][1], zero);
    const perp_i4 over = slides & held;
    row[i].slides = slides;
    if (LANES_ANY(over)) {
      perp_v4 back[2] = { p[0], p[1] };
      lanes_disk(&row[i], &bound, back);
      p[0] = PERP_CHOOSE4(over, back[0], p[0]);
      p[1] = PERP_CHOOSE4(over, back[1], p[1]);
    }
    for (int k = 0; k < 2; k++) {
      change[i][k] = p[k] - row[i].p[1 + k];
      row[i].p[1 + k] = p[k];
      if (!(plane && k == 1)) lanes_add_to(&sum, &row[i], 1 + k, &change[i][k]);
    }
  }
  lanes_push(plane, block, 1, 3, &sum, motion);
}

/* What a pass over contacts does: one after the other, normals and, where it has friction, that of
 * each; or v += M^-1 J' p of all. */
typedef enum lanes_pass { LANES_NORMALS, LANES_FRICTIONS, LANES_PUSH } lanes_pass;

PERP_CLONE_INLINE void lanes_impulses(const perp_scheme_lanes *lanes, const lanes_group *group,
                                      bool plane, lanes_motion *motion)
{
  const lanes_block block = { group, lanes->row + group->row, NULL,
                              lanes->inertia + group->inertia };
  lanes_sum sum = { .p = { { 0 } } };
  for (int i = 0; i < group->depth; i++)
    for (int k = 0; k < (plane ? 2 : 3); k++)
      lanes_add_to(&sum, &block.row[i], k, &block.row[i].p[k]);
  lanes_push(plane, &block, 0, 3, &sum, motion);
}

/* All normals or frictions of a four, n of a block known where the loops are compiled */
PERP_CLONE_INLINE void lanes_rows(const perp_scheme_lanes *lanes, const lanes_group *group,
                                  bool plane, bool friction, lanes_motion *motion)
{
  lanes_block block = { group, lanes->row + group->row, lanes->tie + group->tie,
                        lanes->inertia + group->inertia };
#define LANES_BLOCK(n)                                                                             \
  if (friction)                                                                                    \
    lanes_frictions(&block, n, plane, motion);                                                     \
  else                                                                                             \
    lanes_normals(&block, n, plane, motion)
  for (int left = group->depth; left > 0; left -= SCHEME_FOUR) {
    switch (left) {
    case 1:
      LANES_BLOCK(1);
      break;
    case 2:
      LANES_BLOCK(2);
      break;
    case 3:
      LANES_BLOCK(3);
      break;
    default:
      LANES_BLOCK(SCHEME_FOUR);
    }
    block.row += SCHEME_FOUR;
    block.tie += SCHEME_TIES;
  }
#undef LANES_BLOCK
}

PERP_CLONE_INLINE void lanes_four(const perp_scheme *scheme, const lanes_group *group, bool plane,
                                  lanes_pass pass)
{
  lanes_motion motion;
  lanes_gather(plane, scheme, group, &motion);
  if (pass == LANES_PUSH)
    lanes_impulses(scheme->coloured.lanes, group, plane, &motion);
  else
    lanes_rows(scheme->coloured.lanes, group, plane, false, &motion);
  if (pass == LANES_FRICTIONS) lanes_rows(scheme->coloured.lanes, group, plane, true, &motion);
  lanes_scatter(plane, scheme, group, &motion);
}

/* ---- all fours ---- */

PERP_CLONES_OF_FOUR static void lanes_run_space(const perp_scheme *scheme, lanes_pass pass,
                                                int first, int end)
{
  for (int i = first; i < end; i++)
    lanes_four(scheme, &scheme->coloured.lanes->group[i], false, pass);
}

PERP_CLONES_OF_FOUR static void lanes_run_plane(const perp_scheme *scheme, lanes_pass pass,
                                                int first, int end)
{
  for (int i = first; i < end; i++)
    lanes_four(scheme, &scheme->coloured.lanes->group[i], true, pass);
}

static void lanes_run(const perp_scheme *scheme, lanes_pass pass, int first, int end)
{
  if (scheme->model->dim == 2)
    lanes_run_plane(scheme, pass, first, end);
  else
    lanes_run_space(scheme, pass, first, end);
}

typedef struct lanes_task {
  perp_scheme *scheme;
  int sweeps;
  bool friction, warm;
} lanes_task;

/* Colour by colour, each member its share */
static void lanes_sweep_once(const perp_scheme *scheme, lanes_pass pass, int member, int members)
{
  const perp_scheme_lanes *lanes = scheme->coloured.lanes;
  for (int colour = 0, start = 0; colour < lanes->colours; start = lanes->end[colour++]) {
    const int n = lanes->end[colour] - start,
              parts = lanes->alone && colour == LANES_COLOURS - 1 ? 1 : members;
    if (member < parts)
      lanes_run(scheme, pass, start + perp_share(n, member, parts),
                start + perp_share(n, member + 1, parts));
    perp_team_wait(members);
  }
}

static void lanes_sweep_share(void *user, int member, int members)
{
  const lanes_task *task = user;
  const perp_scheme *scheme = task->scheme;
  const int groups = scheme->coloured.lanes->groups, first = perp_share(groups, member, members),
            end = perp_share(groups, member + 1, members);
  perp_scheme_lanes_load(scheme, first, end);
  perp_team_wait(members);
  if (task->warm) lanes_sweep_once(scheme, LANES_PUSH, member, members);
  for (int sweep = 0; sweep < task->sweeps; sweep++)
    lanes_sweep_once(scheme, task->friction ? LANES_FRICTIONS : LANES_NORMALS, member, members);
  perp_scheme_lanes_store(scheme, first, end);
}

void perp_scheme_lanes_sweep(perp_scheme *scheme, int n, bool friction, bool warm)
{
  lanes_task task = { .scheme = scheme, .sweeps = n, .friction = friction, .warm = warm };
  perp_team(perp_scheme_threads(scheme), lanes_sweep_share, &task);
}
