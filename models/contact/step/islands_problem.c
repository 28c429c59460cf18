/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The problems of all islands: their memory, which bodies belong together, dense matrices, and the
 * way back from their answers to impulses of contacts and bodies. */
#include "models/contact/step/islands_problem.h"

#include "solvers/core/sets.h"

#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

enum { TEAM_HAND = 500 }; /* contacts whose impulses are handed over by one */

/* ---- memory ---- */

void perp_islands_layout(void *ws, perp_arena *arena)
{
  perp_islands *islands = ws;
  const perp_model *model = islands->model;
  size_t nb = (size_t)model->n_bodies, square = (size_t)model->nvb * (size_t)model->nvb;
  islands->lanes = PERP_CARVE(arena, lane, islands->threads);
  islands->body.joint_root = PERP_CARVE(arena, int, nb);
  islands->body.jointed = PERP_CARVE(arena, bool, nb);
  islands->body.mass = PERP_CARVE(arena, double, nb);
  islands->body.known = PERP_CARVE(arena, island_known, nb);
  for (int i = 0; i < PERP_ENDS; i++) islands->body.kept[i] = PERP_CARVE(arena, island_known, nb);
  islands->body.mass_place = PERP_CARVE(arena, int, nb);
  islands->body.diag = PERP_CARVE(arena, unsigned char, nb);
  PERP_INTS(arena, nb, &islands->body.parent, &islands->body.island_of, &islands->body.local,
            &islands->body.order);
  PERP_INTS(arena, model->n_joints, &islands->joints, &islands->joint_body);
  islands->start = PERP_CARVE(arena, island, nb + 1);
  PERP_INTS(arena, islands->max_bounded, &islands->bounded, &islands->bounded_body);
  islands->work.cursor = PERP_CARVE(arena, int, nb + 1);
  PERP_INTS(arena, 2 * nb + 1, &islands->F.bptr, &islands->F.mptr, &islands->F.tptr);
  PERP_DOUBLES(arena, nb * square, &islands->F.M, &islands->F.Minv);
  PERP_DOUBLES(arena, model->nv, &islands->F.flat, &islands->work.v_star);
  PERP_DOUBLES(arena, 6 * nb, &islands->work.twist_star, &islands->work.twist_end);
  islands->work.product = PERP_CARVE(arena, double, 2 * (size_t)model->nv);
  PERP_DOUBLES(arena, model->nv, &islands->work.f, &islands->work.a);
  PERP_DOUBLES(arena, model->m, &islands->work.zero, &islands->work.lambda);
}

static void islands_layout_grown(void *ws, perp_arena *arena)
{
  perp_islands *s = ws;
  const perp_model *model = s->model;
  size_t n = (size_t)s->cap, nj = s->rows ? (size_t)model->n_joints : 0;
  const size_t coupled = s->couples ? n : 0, nb = (size_t)s->max_bounded;
  size_t groups = n + nj + nb + coupled, further = (size_t)model->m + nb + 3 * coupled;
  size_t r = (size_t)s->r, nv = (size_t)model->nvb, islands = (size_t)model->n_bodies + 1;
  size_t rows = r * n + further;
  s->work.impulse = PERP_CARVE(arena, double, 4 * n);
  PERP_INTS(arena, n, &s->contact.owner, &s->contact.order);
  s->contact.frame = PERP_CARVE(arena, double, 6 * n);
  PERP_DOUBLES(arena, rows, &s->row.b, &s->row.x, &s->row.s, &s->row.diagonal);
  PERP_DOUBLES(arena, n, &s->contact.mu, &s->contact.slip, &s->contact.restitution,
               &s->contact.least);
  s->contact.drag = PERP_CARVE(arena, double, 2 * n);
  s->row.b_decompression = PERP_CARVE(arena, double, rows + n);
  s->row.x_decompression = PERP_CARVE(arena, double, rows);
  PERP_DOUBLES(arena, further, &s->row.lo, &s->row.hi, &s->row.left_lo, &s->row.left_hi);
  s->row.of = PERP_CARVE(arena, int, s->couples ? further : 0);
  s->row.mu = PERP_CARVE(arena, double, s->couples ? further : 0);
  s->row.pair = PERP_CARVE(arena, signed char, s->couples ? further : 0);
  PERP_DOUBLES(arena, coupled, &s->contact.torsion, &s->contact.rolling);
  size_t subs = 2 * (n + nb + coupled) + (s->rows ? (size_t)model->pattern.n_subs : 0);
  s->F.J = PERP_CARVE(arena, double,
                      2 * nv * (r * n + nb + 3 * coupled) +
                          (s->rows ? (size_t)model->pattern.nnz_J : 0));
  PERP_INTS(arena, groups + islands, &s->F.cptr, &s->F.jptr);
  s->F.joff = PERP_CARVE(arena, int, subs + islands);
  PERP_INTS(arena, subs, &s->F.jblk, &s->F.jgrp, &s->F.tsub);
}

perp_status perp_islands_room(perp_ctx *ctx, perp_islands *islands, int n)
{
  if (n <= islands->cap && islands->cap > 0) return PERP_OK;
  islands->cap = n + n / 2 + 16;
  perp_status status = perp_arena_layout(ctx, &islands->grown, islands_layout_grown, islands);
  if (status != PERP_OK) islands->cap = 0;
  return status;
}

/* Memory for the matrices of eliminated islands. */
perp_status perp_islands_reserve_dense(perp_ctx *ctx, perp_islands *islands)
{
  const size_t dense = islands->start[islands->n_islands].dense;
  if (dense <= islands->cap_A) return PERP_OK;
  free(islands->A);
  islands->cap_A = 0;
  islands->A = malloc((dense + dense / 2) * sizeof *islands->A);
  if (islands->A == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the matrix of an island");
  islands->cap_A = dense + dense / 2;
  return PERP_OK;
}

/* ---- which bodies belong together ---- */

/* The moving bodies of what takes part; bodies that have any are marked by island_of = 0, others by
 * -1. */
static void islands_partition_owners(perp_islands *islands, const perp_island_task *task)
{
  for (int b = 0; b < islands->model->n_bodies; b++) islands->body.island_of[b] = -1;
  for (int i = 0; i < task->n; i++) {
    const bool takes_part = task->kept == NULL || task->kept[i];
    islands->contact.owner[i] = takes_part ? islands_moving(task->contact[i].body) : -1;
    if (takes_part) islands->body.island_of[islands->contact.owner[i]] = 0;
  }
  for (int i = 0; i < task->n_rows; i++) {
    islands->bounded_body[i] = islands_moving(task->row[i].body);
    islands->body.island_of[islands->bounded_body[i]] = 0;
  }
}

/* torsion and rolling [n] of all contacts that take part; 0 where the task has no couples. */
static void islands_problem_couples(perp_islands *islands, const perp_island_task *task)
{
  for (int i = 0; i < task->n; i++) {
    islands->contact.torsion[i] = islands->contact.rolling[i] = 0;
    if (task->couple == NULL || islands->contact.owner[i] < 0) continue;
    const int *shape = task->contact[i].shape;
    perp_surface_couples(islands->model, shape[0], shape[1], &islands->contact.torsion[i],
                         &islands->contact.rolling[i]);
  }
}

/* Numbers the islands that have a problem by their first bodies: island_of of all bodies. */
static void islands_partition_number(perp_islands *islands, const perp_island_task *task)
{
  const int nb = islands->model->n_bodies;
  memcpy(islands->body.parent, islands->body.joint_root, (size_t)nb * sizeof *islands->body.parent);
  for (int i = 0; i < task->n; i++) {
    const int *body = task->contact[i].body;
    if (islands->contact.owner[i] >= 0 && body[0] >= 0 && body[1] >= 0)
      perp_unite(islands->body.parent, body[0], body[1]);
  }
  /* no body comes before its parent: one step leads to the root, which comes before the rest of its
   * island */
  for (int b = 0; b < nb; b++) {
    islands->body.parent[b] = islands->body.parent[islands->body.parent[b]];
    if (islands->body.island_of[b] == 0) islands->body.island_of[islands->body.parent[b]] = 0;
  }
  islands->n_islands = 0;
  for (int b = 0; b < nb; b++) {
    if (islands->body.parent[b] != b) {
      islands->body.island_of[b] = islands->body.island_of[islands->body.parent[b]];
    } else if (islands->body.island_of[b] == 0) {
      islands->start[islands->n_islands] = (island){ .eliminate = task->offset != NULL };
      islands->body.island_of[b] = islands->n_islands++;
    }
    if (islands->body.island_of[b] >= 0 && islands->body.jointed[b] && !islands->rows)
      islands->start[islands->body.island_of[b]].eliminate = true;
  }
  islands->start[islands->n_islands] = (island){ 0 };
}

/* Counting sort: order lists what belongs to island 0, 1, ..., each in the order 0 ... n - 1. owner
 * [n]: a body of each, -1: none; NULL: the bodies themselves. */
static void islands_partition_sort(perp_islands *islands, int part, int n, const int *owner,
                                   int *order)
{
  int *at = islands->work.cursor, sum = 0;
  memset(at, 0, (size_t)islands->n_islands * sizeof *at);
  for (int i = 0; i < n; i++) {
    const int body = owner != NULL ? owner[i] : i;
    if (body >= 0 && islands->body.island_of[body] >= 0) at[islands->body.island_of[body]]++;
  }
  for (int i = 0; i <= islands->n_islands; i++) {
    islands->start[i].first[part] = sum;
    if (i < islands->n_islands) sum += at[i];
    at[i] = islands->start[i].first[part];
  }
  for (int i = 0; i < n; i++) {
    const int body = owner != NULL ? owner[i] : i;
    if (body >= 0 && islands->body.island_of[body] >= 0)
      order[at[islands->body.island_of[body]]++] = i;
  }
}

void perp_islands_partition(perp_islands *islands, const perp_island_task *task)
{
  const perp_model *model = islands->model;
  islands_partition_owners(islands, task);
  if (islands->couples) islands_problem_couples(islands, task);
  islands_partition_number(islands, task);
  islands_partition_sort(islands, CONTACTS, task->n, islands->contact.owner,
                         islands->contact.order);
  islands_partition_sort(islands, BODIES, model->n_bodies, NULL, islands->body.order);
  islands_partition_sort(islands, BOUNDED, task->n_rows, islands->bounded_body, islands->bounded);
  if (islands->rows)
    islands_partition_sort(islands, JOINTS, model->n_joints, islands->joint_body, islands->joints);
  for (int i = 0; i < islands->n_islands; i++) {
    island *p = &islands->start[i], *next = p + 1;
    for (int l = p->first[BODIES]; l < next->first[BODIES]; l++)
      islands->body.local[islands->body.order[l]] = l - p->first[BODIES];
    next->couples = p->couples;
    next->couple_rows = p->couple_rows;
    for (int l = p->first[CONTACTS]; l < next->first[CONTACTS] && islands->couples; l++) {
      const int rows = islands_couple_count(islands, islands->contact.order[l]);
      next->couples += rows > 0;
      next->couple_rows += rows;
    }
    next->joint_rows = p->joint_rows;
    next->joint_subs = p->joint_subs;
    next->joint_numbers = p->joint_numbers;
    for (int j = p->first[JOINTS]; j < next->first[JOINTS]; j++) {
      const int joint = islands->joints[j], sub = model->pattern.jptr[joint],
                end = model->pattern.jptr[joint + 1];
      next->joint_rows += model->pattern.cptr[joint + 1] - model->pattern.cptr[joint];
      next->joint_subs += end - sub;
      next->joint_numbers += (size_t)(model->pattern.joff[end] - model->pattern.joff[sub]);
    }
    const size_t rows = (size_t)islands->r * (size_t)islands_number(islands, i, CONTACTS) +
                        (size_t)islands_number(islands, i, BOUNDED) +
                        (size_t)(next->couple_rows - p->couple_rows);
    next->dense = p->dense + (p->eliminate ? rows * rows : 0);
  }
}

/* ---- dense problems: islands whose joints are eliminated, and the acceleration level ---- */

/* f [nv] of the whole = the row-th row of J of group c. */
static void islands_dense_push(const perp_islands *islands, const perp_blocks *blocks,
                               const int *bodies, int c, int row)
{
  const int nvb = islands->model->nvb, r = blocks->cptr[c + 1] - blocks->cptr[c];
  memset(islands->work.f, 0, (size_t)islands->model->nv * sizeof *islands->work.f);
  for (int q = blocks->jptr[c]; q < blocks->jptr[c + 1]; q++) {
    double *f = islands->work.f + (size_t)nvb * (size_t)bodies[blocks->jblk[q]];
    for (int l = 0; l < nvb; l++) f[l] += blocks->J[blocks->joff[q] + row + l * r];
  }
}

/* Group c of J a, a [nv] of the whole. */
PERP_INLINE void islands_response_group(const perp_blocks *blocks, const int *bodies,
                                        const double *a_all, int c, const int nvb, const int r,
                                        double *out)
{
  double w[JOINT_ROWS] = { 0 };
  for (int q = blocks->jptr[c]; q < blocks->jptr[c + 1]; q++) {
    const double *a = a_all + (size_t)nvb * (size_t)bodies[blocks->jblk[q]],
                 *J = blocks->J + blocks->joff[q];
    for (int l = 0; l < nvb; l++)
      for (int y = 0; y < r; y++) w[y] += J[y + l * r] * a[l];
  }
  for (int y = 0; y < r; y++) out[y] = w[y];
}

/* out [m] = J a, a [nv] of the whole. */
static void islands_dense_response(const perp_islands *islands, const perp_blocks *blocks,
                                   const int *bodies, double *out)
{
  const int nvb = islands->model->nvb;
  const double *a = islands->work.a;
  for (int c = 0; c < blocks->nc; c++) {
    double *w = out + blocks->cptr[c];
    const int r = blocks->cptr[c + 1] - blocks->cptr[c];
    if (nvb == 6 && r == 3)
      islands_response_group(blocks, bodies, a, c, 6, 3, w);
    else if (nvb == 6 && r == 1)
      islands_response_group(blocks, bodies, a, c, 6, 1, w);
    else
      islands_response_group(blocks, bodies, a, c, nvb, r, w);
  }
}

bool perp_islands_columns(perp_islands *islands, perp_constrained *system, int i)
{
  const perp_blocks blocks = islands_blocks(islands, i, true);
  const int *bodies = islands->body.order + islands->start[i].first[BODIES];
  const size_t n = (size_t)blocks.m;
  double *A = islands->A + islands->start[i].dense,
         *diag = islands->row.diagonal + islands_first_row(islands, i);
  bool jointed = false;
  for (int l = 0; l < blocks.nb; l++) jointed |= islands->body.jointed[bodies[l]];
  if (!jointed) { /* H = M^-1: bodies respond one by one */
    double scratch[JOINT_ROWS * 6];
    perp_blocks_delassus(&blocks, A, blocks.m, scratch);
  } else {
    for (int c = 0; c < blocks.nc; c++)
      for (int col = blocks.cptr[c]; col < blocks.cptr[c + 1]; col++) {
        double *out = A + n * (size_t)col;
        islands_dense_push(islands, &blocks, bodies, c, col - blocks.cptr[c]);
        if (!perp_constrained_response(system, islands->work.f, islands->work.zero, islands->work.a,
                                       islands->work.lambda))
          return false;
        islands_dense_response(islands, &blocks, bodies, out);
        out[col] += blocks.s[col];
      }
    for (size_t y = 0; y < n; y++) /* symmetric up to rounding: make it exact */
      for (size_t z = 0; z < y; z++) {
        double *upper = &A[y + n * z], *lower = &A[z + n * y];
        *upper = *lower = 0.5 * (*upper + *lower);
      }
  }
  for (size_t y = 0; y < n; y++) diag[y] = A[y * (n + 1)];
  return true;
}

/* ---- the way back ---- */

/* The answers of a share of the contacts. */
PERP_INLINE void islands_hand_back(const islands_job *job, int member, int members, const int dim,
                                   const int r)
{
  const perp_islands *islands = job->s;
  const perp_island_task *task = job->task;
  const int contacts = islands->start[islands->n_islands].first[CONTACTS];
  int end = perp_share(task->n, member + 1, members);
  for (int at = perp_share(task->n, member, members); at < end; at++)
    if (islands->contact.owner[at] < 0)
      memset(task->impulse + 3 * (size_t)at, 0, 3 * sizeof *task->impulse);
  for (int at = perp_share(task->n, member, members); at < end && task->couple != NULL; at++)
    if (islands->contact.owner[at] < 0)
      memset(task->couple + 3 * (size_t)at, 0, 3 * sizeof *task->couple);
  end = perp_share(contacts, member + 1, members);
  for (int place = perp_share(contacts, member, members); place < end; place++) {
    const int at = islands->contact.order[place],
              i = islands->body.island_of[islands->contact.owner[at]];
    const double *t = islands->contact.frame + 6 * (size_t)place, *n = task->contact[at].n;
    const double *x = islands->row.x + islands_first_further(islands, i) +
                      (size_t)r * (size_t)place;
    double *P = task->impulse + 3 * (size_t)at;
    task->slip[at] = islands->contact.slip[place];
    if (task->fresh != NULL) task->fresh[at] = islands->start[i].solved;
    if (task->none != NULL) task->none[at] = islands->start[i].none;
    P[0] = P[1] = P[2] = 0;
    for (int q = 0; q < dim; q++) {
      P[q] = x[0] * n[q];
      if (r > 1) P[q] += x[1] * t[q];
      if (r > 2) P[q] += x[2] * t[3 + q];
    }
  }
}

static void islands_hand_back_share(void *user, int member, int members)
{
  const islands_job *job = user;
  const int dim = job->s->model->dim, r = job->s->r;
  if (dim == 3 && r == 3)
    islands_hand_back(job, member, members, 3, 3);
  else if (dim == 3 && r == 1)
    islands_hand_back(job, member, members, 3, 1);
  else
    islands_hand_back(job, member, members, dim, r);
}

void perp_islands_hand_back(perp_islands *islands, const perp_constrained *system,
                            const perp_island_task *task, int threads)
{
  islands_job job = { .s = islands, .k = system, .task = task };
  perp_team(task->n >= TEAM_HAND ? threads : 1, islands_hand_back_share, &job);
}

/* All contacts, but a share of the bodies: each body adds in the order of contacts, whoever does
 * it. */
PERP_INLINE void islands_apply_bodies(const islands_job *job, int first, int end, const int dim)
{
  const int nvb = dim == 3 ? 6 : 3;
  for (int i = 0; i < job->task->n; i++) {
    const perp_contact *contact = &job->task->contact[i];
    const double *P = job->task->impulse + 3 * (size_t)i;
    if (P[0] == 0 && P[1] == 0 && P[2] == 0) continue;
    double p[3];
    perp_contact_middle(contact, p);
    for (int side = 0; side < 2; side++) {
      const int body = contact->body[side];
      if (body < first || body >= end) continue;
      const perp_pose *pose = &job->k->e->pose[body];
      double sign = side == 0 ? -1 : 1, *f = job->f + (size_t)nvb * (size_t)body;
      for (int q = 0; q < dim; q++) f[q] += sign * P[q];
      if (dim == 3) {
        const double r[3] = { p[0] - pose->x[0], p[1] - pose->x[1], p[2] - pose->x[2] };
        double torque[3], turned[3];
        perp_cross(r, P, torque);
        perp_turn_back(3, pose->R, torque, turned);
        for (int q = 0; q < 3; q++) f[3 + q] += sign * turned[q];
      } else {
        f[2] += sign * ((p[0] - pose->x[0]) * P[1] - (p[1] - pose->x[1]) * P[0]);
      }
    }
  }
}

static void islands_apply_share(void *user, int member, int members)
{
  const islands_job *job = user;
  const perp_model *model = job->s->model;
  const int first = perp_share(model->n_bodies, member, members),
            end = perp_share(model->n_bodies, member + 1, members);
  if (model->dim == 3)
    islands_apply_bodies(job, first, end, 3);
  else
    islands_apply_bodies(job, first, end, 2);
}

/* f [nv] += the couples of all contacts. */
static void islands_problem_apply_couples(const perp_islands *s, const perp_constrained *k,
                                          const perp_island_task *task, double *f)
{
  const int dim = s->model->dim, nvb = s->model->nvb;
  for (int i = 0; i < task->n; i++) {
    const double *tau = task->couple + 3 * (size_t)i;
    if (tau[0] == 0 && tau[1] == 0 && tau[2] == 0) continue;
    for (int side = 0; side < 2; side++) {
      const int body = task->contact[i].body[side];
      if (body < 0) continue;
      double turned[3] = { tau[2] }, *fb = f + (size_t)nvb * (size_t)body;
      if (dim == 3) perp_turn_back(3, k->e->pose[body].R, tau, turned);
      for (int l = dim; l < nvb; l++) fb[l] += (side == 0 ? -1 : 1) * turned[l - dim];
    }
  }
}

void perp_islands_apply(perp_islands *islands, const perp_constrained *system,
                        const perp_island_task *task, double *f)
{
  islands_job job = { .s = islands, .k = system, .task = task, .f = f };
  for (int i = 0; i < task->n_rows; i++)
    perp_island_row_apply(islands->model, &task->row[i], task->row[i].lambda, f);
  if (task->couple != NULL) islands_problem_apply_couples(islands, system, task, f);
  perp_team(task->n >= TEAM_HAND ? islands->threads : 1, islands_apply_share, &job);
}
