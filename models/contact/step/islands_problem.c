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

void perp_islands_layout(void *ws, perp_arena *a)
{
  perp_islands *s = ws;
  const perp_model *model = s->model;
  size_t nb = (size_t)model->n_bodies, square = (size_t)model->nvb * (size_t)model->nvb;
  s->lanes = PERP_CARVE(a, lane, s->threads);
  s->body.joint_root = PERP_CARVE(a, int, nb);
  s->body.jointed = PERP_CARVE(a, bool, nb);
  s->body.mass = PERP_CARVE(a, double, nb);
  s->body.known = PERP_CARVE(a, island_known, nb);
  for (int i = 0; i < PERP_ENDS; i++) s->body.kept[i] = PERP_CARVE(a, island_known, nb);
  s->body.mass_place = PERP_CARVE(a, int, nb);
  s->body.diag = PERP_CARVE(a, unsigned char, nb);
  PERP_INTS(a, nb, &s->body.parent, &s->body.island_of, &s->body.local, &s->body.order);
  PERP_INTS(a, model->n_joints, &s->joints, &s->joint_body);
  s->start = PERP_CARVE(a, island, nb + 1);
  PERP_INTS(a, s->max_bounded, &s->bounded, &s->bounded_body);
  s->work.cursor = PERP_CARVE(a, int, nb + 1);
  PERP_INTS(a, 2 * nb + 1, &s->F.bptr, &s->F.mptr, &s->F.tptr);
  PERP_DOUBLES(a, nb * square, &s->F.M, &s->F.Minv);
  PERP_DOUBLES(a, model->nv, &s->F.flat, &s->work.v_star);
  PERP_DOUBLES(a, 6 * nb, &s->work.twist_star, &s->work.twist_end);
  s->work.product = PERP_CARVE(a, double, 2 * (size_t)model->nv);
  PERP_DOUBLES(a, model->nv, &s->work.f, &s->work.a);
  PERP_DOUBLES(a, model->m, &s->work.zero, &s->work.lambda);
}

static void islands_layout_grown(void *ws, perp_arena *a)
{
  perp_islands *s = ws;
  const perp_model *model = s->model;
  size_t n = (size_t)s->cap, nj = s->rows ? (size_t)model->n_joints : 0;
  const size_t coupled = s->couples ? n : 0, nb = (size_t)s->max_bounded;
  size_t groups = n + nj + nb + coupled, further = (size_t)model->m + nb + 3 * coupled;
  size_t r = (size_t)s->r, nv = (size_t)model->nvb, islands = (size_t)model->n_bodies + 1;
  size_t rows = r * n + further;
  s->work.impulse = PERP_CARVE(a, double, 4 * n);
  PERP_INTS(a, n, &s->contact.owner, &s->contact.order);
  s->contact.frame = PERP_CARVE(a, double, 6 * n);
  PERP_DOUBLES(a, rows, &s->row.b, &s->row.x, &s->row.s, &s->row.diagonal);
  PERP_DOUBLES(a, n, &s->contact.mu, &s->contact.slip, &s->contact.restitution, &s->contact.least);
  s->contact.drag = PERP_CARVE(a, double, 2 * n);
  s->row.b_decompression = PERP_CARVE(a, double, rows + n);
  s->row.x_decompression = PERP_CARVE(a, double, rows);
  PERP_DOUBLES(a, further, &s->row.lo, &s->row.hi, &s->row.left_lo, &s->row.left_hi);
  s->row.of = PERP_CARVE(a, int, s->couples ? further : 0);
  s->row.mu = PERP_CARVE(a, double, s->couples ? further : 0);
  s->row.pair = PERP_CARVE(a, signed char, s->couples ? further : 0);
  PERP_DOUBLES(a, coupled, &s->contact.torsion, &s->contact.rolling);
  size_t subs = 2 * (n + nb + coupled) + (s->rows ? (size_t)model->pattern.n_subs : 0);
  s->F.J = PERP_CARVE(a, double,
                      2 * nv * (r * n + nb + 3 * coupled) +
                          (s->rows ? (size_t)model->pattern.nnz_J : 0));
  PERP_INTS(a, groups + islands, &s->F.cptr, &s->F.jptr);
  s->F.joff = PERP_CARVE(a, int, subs + islands);
  PERP_INTS(a, subs, &s->F.jblk, &s->F.jgrp, &s->F.tsub);
}

perp_status perp_islands_room(perp_ctx *ctx, perp_islands *s, int n)
{
  if (n <= s->cap && s->cap > 0) return PERP_OK;
  s->cap = n + n / 2 + 16;
  perp_status status = perp_arena_layout(ctx, &s->grown, islands_layout_grown, s);
  if (status != PERP_OK) s->cap = 0;
  return status;
}

/* Memory for the matrices of eliminated islands. */
perp_status perp_islands_reserve_dense(perp_ctx *ctx, perp_islands *s)
{
  const size_t dense = s->start[s->n_islands].dense;
  if (dense <= s->cap_A) return PERP_OK;
  free(s->A);
  s->cap_A = 0;
  s->A = malloc((dense + dense / 2) * sizeof *s->A);
  if (s->A == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the matrix of an island");
  s->cap_A = dense + dense / 2;
  return PERP_OK;
}

/* ---- which bodies belong together ---- */

/* The moving bodies of what takes part; bodies that have any are marked by island_of = 0, others by
 * -1. */
static void islands_partition_owners(perp_islands *s, const perp_island_task *task)
{
  for (int b = 0; b < s->model->n_bodies; b++) s->body.island_of[b] = -1;
  for (int i = 0; i < task->n; i++) {
    const bool takes_part = task->kept == NULL || task->kept[i];
    s->contact.owner[i] = takes_part ? islands_moving(task->contact[i].body) : -1;
    if (takes_part) s->body.island_of[s->contact.owner[i]] = 0;
  }
  for (int i = 0; i < task->n_rows; i++) {
    s->bounded_body[i] = islands_moving(task->row[i].body);
    s->body.island_of[s->bounded_body[i]] = 0;
  }
}

/* torsion and rolling [n] of all contacts that take part; 0 where the task has no couples. */
static void islands_problem_couples(perp_islands *s, const perp_island_task *task)
{
  for (int i = 0; i < task->n; i++) {
    s->contact.torsion[i] = s->contact.rolling[i] = 0;
    if (task->couple == NULL || s->contact.owner[i] < 0) continue;
    const int *shape = task->contact[i].shape;
    perp_surface_couples(s->model, shape[0], shape[1], &s->contact.torsion[i],
                         &s->contact.rolling[i]);
  }
}

/* Numbers the islands that have a problem by their first bodies: island_of of all bodies. */
static void islands_partition_number(perp_islands *s, const perp_island_task *task)
{
  const int nb = s->model->n_bodies;
  memcpy(s->body.parent, s->body.joint_root, (size_t)nb * sizeof *s->body.parent);
  for (int i = 0; i < task->n; i++) {
    const int *body = task->contact[i].body;
    if (s->contact.owner[i] >= 0 && body[0] >= 0 && body[1] >= 0)
      perp_unite(s->body.parent, body[0], body[1]);
  }
  /* no body comes before its parent: one step leads to the root, which comes before the rest of its
   * island */
  for (int b = 0; b < nb; b++) {
    s->body.parent[b] = s->body.parent[s->body.parent[b]];
    if (s->body.island_of[b] == 0) s->body.island_of[s->body.parent[b]] = 0;
  }
  s->n_islands = 0;
  for (int b = 0; b < nb; b++) {
    if (s->body.parent[b] != b) {
      s->body.island_of[b] = s->body.island_of[s->body.parent[b]];
    } else if (s->body.island_of[b] == 0) {
      s->start[s->n_islands] = (island){ .eliminate = task->offset != NULL };
      s->body.island_of[b] = s->n_islands++;
    }
    if (s->body.island_of[b] >= 0 && s->body.jointed[b] && !s->rows)
      s->start[s->body.island_of[b]].eliminate = true;
  }
  s->start[s->n_islands] = (island){ 0 };
}

/* Counting sort: order lists what belongs to island 0, 1, ..., each in the order 0 ... n - 1. owner
 * [n]: a body of each, -1: none; NULL: the bodies themselves. */
static void islands_partition_sort(perp_islands *s, int part, int n, const int *owner, int *order)
{
  int *at = s->work.cursor, sum = 0;
  memset(at, 0, (size_t)s->n_islands * sizeof *at);
  for (int i = 0; i < n; i++) {
    const int body = owner != NULL ? owner[i] : i;
    if (body >= 0 && s->body.island_of[body] >= 0) at[s->body.island_of[body]]++;
  }
  for (int i = 0; i <= s->n_islands; i++) {
    s->start[i].first[part] = sum;
    if (i < s->n_islands) sum += at[i];
    at[i] = s->start[i].first[part];
  }
  for (int i = 0; i < n; i++) {
    const int body = owner != NULL ? owner[i] : i;
    if (body >= 0 && s->body.island_of[body] >= 0) order[at[s->body.island_of[body]]++] = i;
  }
}

void perp_islands_partition(perp_islands *s, const perp_island_task *task)
{
  const perp_model *model = s->model;
  islands_partition_owners(s, task);
  if (s->couples) islands_problem_couples(s, task);
  islands_partition_number(s, task);
  islands_partition_sort(s, CONTACTS, task->n, s->contact.owner, s->contact.order);
  islands_partition_sort(s, BODIES, model->n_bodies, NULL, s->body.order);
  islands_partition_sort(s, BOUNDED, task->n_rows, s->bounded_body, s->bounded);
  if (s->rows) islands_partition_sort(s, JOINTS, model->n_joints, s->joint_body, s->joints);
  for (int i = 0; i < s->n_islands; i++) {
    island *p = &s->start[i], *next = p + 1;
    for (int l = p->first[BODIES]; l < next->first[BODIES]; l++)
      s->body.local[s->body.order[l]] = l - p->first[BODIES];
    next->couples = p->couples;
    next->couple_rows = p->couple_rows;
    for (int l = p->first[CONTACTS]; l < next->first[CONTACTS] && s->couples; l++) {
      const int rows = islands_couple_count(s, s->contact.order[l]);
      next->couples += rows > 0;
      next->couple_rows += rows;
    }
    next->joint_rows = p->joint_rows;
    next->joint_subs = p->joint_subs;
    next->joint_numbers = p->joint_numbers;
    for (int j = p->first[JOINTS]; j < next->first[JOINTS]; j++) {
      const int joint = s->joints[j], sub = model->pattern.jptr[joint],
                end = model->pattern.jptr[joint + 1];
      next->joint_rows += model->pattern.cptr[joint + 1] - model->pattern.cptr[joint];
      next->joint_subs += end - sub;
      next->joint_numbers += (size_t)(model->pattern.joff[end] - model->pattern.joff[sub]);
    }
    const size_t rows = (size_t)s->r * (size_t)islands_number(s, i, CONTACTS) +
                        (size_t)islands_number(s, i, BOUNDED) +
                        (size_t)(next->couple_rows - p->couple_rows);
    next->dense = p->dense + (p->eliminate ? rows * rows : 0);
  }
}

/* ---- dense problems: islands whose joints are eliminated, and the acceleration level ---- */

/* f [nv] of the whole = the row-th row of J of group c. */
static void islands_dense_push(const perp_islands *s, const perp_blocks *F, const int *bodies,
                               int c, int row)
{
  const int nvb = s->model->nvb, r = F->cptr[c + 1] - F->cptr[c];
  memset(s->work.f, 0, (size_t)s->model->nv * sizeof *s->work.f);
  for (int q = F->jptr[c]; q < F->jptr[c + 1]; q++) {
    double *f = s->work.f + (size_t)nvb * (size_t)bodies[F->jblk[q]];
    for (int l = 0; l < nvb; l++) f[l] += F->J[F->joff[q] + row + l * r];
  }
}

/* out [m] = J a, a [nv] of the whole. */
static void islands_dense_response(const perp_islands *s, const perp_blocks *F, const int *bodies,
                                   double *out)
{
  const int nvb = s->model->nvb;
  memset(out, 0, (size_t)F->m * sizeof *out);
  for (int c = 0; c < F->nc; c++) {
    double *w = out + F->cptr[c];
    const int r = F->cptr[c + 1] - F->cptr[c];
    for (int q = F->jptr[c]; q < F->jptr[c + 1]; q++) {
      const double *a = s->work.a + (size_t)nvb * (size_t)bodies[F->jblk[q]];
      for (int l = 0; l < nvb; l++)
        for (int y = 0; y < r; y++) w[y] += F->J[F->joff[q] + y + l * r] * a[l];
    }
  }
}

bool perp_islands_columns(perp_islands *s, perp_constrained *k, int i)
{
  const perp_blocks F = islands_blocks(s, i, true);
  const int *bodies = s->body.order + s->start[i].first[BODIES];
  const size_t n = (size_t)F.m;
  double *A = s->A + s->start[i].dense, *diag = s->row.diagonal + islands_first_row(s, i);
  bool jointed = false;
  for (int l = 0; l < F.nb; l++) jointed |= s->body.jointed[bodies[l]];
  if (!jointed) { /* H = M^-1: bodies respond one by one */
    double scratch[JOINT_ROWS * 6];
    perp_blocks_delassus(&F, A, F.m, scratch);
  } else {
    for (int c = 0; c < F.nc; c++)
      for (int col = F.cptr[c]; col < F.cptr[c + 1]; col++) {
        double *out = A + n * (size_t)col;
        islands_dense_push(s, &F, bodies, c, col - F.cptr[c]);
        if (!perp_constrained_response(k, s->work.f, s->work.zero, s->work.a, s->work.lambda))
          return false;
        islands_dense_response(s, &F, bodies, out);
        out[col] += F.s[col];
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
  const perp_islands *s = job->s;
  const perp_island_task *task = job->task;
  const int contacts = s->start[s->n_islands].first[CONTACTS];
  int end = perp_share(task->n, member + 1, members);
  for (int at = perp_share(task->n, member, members); at < end; at++)
    if (s->contact.owner[at] < 0)
      memset(task->impulse + 3 * (size_t)at, 0, 3 * sizeof *task->impulse);
  for (int at = perp_share(task->n, member, members); at < end && task->couple != NULL; at++)
    if (s->contact.owner[at] < 0)
      memset(task->couple + 3 * (size_t)at, 0, 3 * sizeof *task->couple);
  end = perp_share(contacts, member + 1, members);
  for (int place = perp_share(contacts, member, members); place < end; place++) {
    const int at = s->contact.order[place], i = s->body.island_of[s->contact.owner[at]];
    const double *t = s->contact.frame + 6 * (size_t)place, *n = task->contact[at].n;
    const double *x = s->row.x + islands_first_further(s, i) + (size_t)r * (size_t)place;
    double *P = task->impulse + 3 * (size_t)at;
    task->slip[at] = s->contact.slip[place];
    if (task->fresh != NULL) task->fresh[at] = s->start[i].solved;
    if (task->none != NULL) task->none[at] = s->start[i].none;
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

void perp_islands_hand_back(perp_islands *s, const perp_constrained *k,
                            const perp_island_task *task, int threads)
{
  islands_job job = { .s = s, .k = k, .task = task };
  perp_team(task->n >= TEAM_HAND ? threads : 1, islands_hand_back_share, &job);
}

/* All contacts, but a share of the bodies: each body adds in the order of contacts, whoever does
 * it. */
PERP_INLINE void islands_apply_bodies(const islands_job *job, int first, int end, const int dim)
{
  const int nvb = dim == 3 ? 6 : 3;
  for (int i = 0; i < job->task->n; i++) {
    const perp_contact *x = &job->task->contact[i];
    const double *P = job->task->impulse + 3 * (size_t)i;
    if (P[0] == 0 && P[1] == 0 && P[2] == 0) continue;
    double p[3];
    perp_contact_middle(x, p);
    for (int side = 0; side < 2; side++) {
      const int body = x->body[side];
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

void perp_islands_apply(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                        double *f)
{
  islands_job job = { .s = s, .k = k, .task = task, .f = f };
  for (int i = 0; i < task->n_rows; i++)
    perp_island_row_apply(s->model, &task->row[i], task->row[i].lambda, f);
  if (task->couple != NULL) islands_problem_apply_couples(s, k, task, f);
  perp_team(task->n >= TEAM_HAND ? s->threads : 1, islands_apply_share, &job);
}
