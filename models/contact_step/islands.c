/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact_step/islands_private.h"

#include "solvers/core/sets.h"

#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { TEAM_CONTACTS = 1000 }; /* an island this large is a team's work */
enum { TEAM_HAND = 500 };      /* contacts whose impulses are handed over by one */

/* ---- life ------------------------------------------------------------------------------------ */

static void islands_layout(void *ws, perp_arena *a)
{
  perp_islands *s = ws;
  const perp_model *model = s->model;
  size_t nb = (size_t)model->n_bodies, square = (size_t)model->nvb * (size_t)model->nvb;
  s->joint_root = PERP_CARVE(a, int, nb);
  s->jointed = PERP_CARVE(a, bool, nb);
  s->mass = PERP_CARVE(a, double, nb);
  s->mass_place = PERP_CARVE(a, int, nb);
  s->diag = PERP_CARVE(a, unsigned char, nb);
  PERP_INTS(a, nb, &s->parent, &s->island_of);
  s->touched = PERP_CARVE(a, signed char, nb);
  PERP_INTS(a, nb, &s->local, &s->bodies);
  s->joints = PERP_CARVE(a, int, model->n_joints);
  s->start = PERP_CARVE(a, island, nb + 1);
  s->bounded = PERP_CARVE(a, int, s->max_bounded);
  s->cursor = PERP_CARVE(a, int, 4 * (nb + 1));
  PERP_INTS(a, 2 * nb + 1, &s->bptr, &s->mptr, &s->tptr);
  PERP_DOUBLES(a, nb * square, &s->M, &s->Minv);
  PERP_DOUBLES(a, model->nv, &s->flat, &s->v_star);
  s->twist_star = PERP_CARVE(a, double, 6 * nb);
  s->product = PERP_CARVE(a, double, 2 * (size_t)model->nv);
  PERP_DOUBLES(a, model->nv, &s->f, &s->a);
  PERP_DOUBLES(a, model->m, &s->zero, &s->lambda);
}

static void islands_layout_grown(void *ws, perp_arena *a)
{
  perp_islands *s = ws;
  const perp_model *model = s->model;
  size_t n = (size_t)s->cap, nj = s->rows ? (size_t)model->n_joints : 0;
  size_t nb = (size_t)s->max_bounded, groups = n + nj + nb, further = (size_t)model->m + nb;
  size_t r = (size_t)s->r, nv = (size_t)model->nvb, islands = (size_t)model->n_bodies + 1;
  size_t rows = r * n + further;
  s->scratch = PERP_CARVE(a, double, 4 * n);
  PERP_INTS(a, n, &s->part, &s->owner, &s->order);
  s->frame = PERP_CARVE(a, double, 6 * n);
  PERP_DOUBLES(a, rows, &s->b, &s->x, &s->s, &s->diagonal);
  PERP_DOUBLES(a, n, &s->mu, &s->slip, &s->restitution, &s->least);
  s->drag = PERP_CARVE(a, double, 2 * n);
  s->b_decompression = PERP_CARVE(a, double, rows + n);
  s->x_decompression = PERP_CARVE(a, double, rows);
  PERP_DOUBLES(a, further, &s->row_lo, &s->row_hi, &s->row_lo_decompression,
               &s->row_hi_decompression);
  s->J = PERP_CARVE(a, double, 2 * nv * (r * n + JOINT_ROWS * nj + nb));
  PERP_INTS(a, groups + islands, &s->cptr, &s->jptr);
  s->joff = PERP_CARVE(a, int, 2 * groups + islands);
  PERP_INTS(a, 2 * groups, &s->jblk, &s->jgrp, &s->tsub);
}

perp_status perp_islands_room(perp_ctx *ctx, perp_islands *s, int n)
{
  if (n <= s->cap && s->cap > 0) return PERP_OK;
  s->cap = n + n / 2 + 16;
  perp_status status = perp_arena_layout(ctx, &s->grown, islands_layout_grown, s);
  if (status != PERP_OK) {
    s->cap = 0;
    return status;
  }
  return PERP_OK;
}

double *perp_islands_scratch(perp_islands *s)
{
  return s->scratch;
}

void perp_islands_destroy(perp_islands *s)
{
  if (s == NULL) return;
  for (int i = 0; i < s->threads && s->lanes != NULL; i++) s->kind->destroy(s->lanes[i].ws);
  free(s->lanes);
  free(s->A);
  perp_arena_free(&s->arena);
  perp_arena_free(&s->grown);
  free(s);
}

perp_status perp_islands_create(perp_ctx *ctx, const perp_model *model,
                                const perp_contact_desc *kind, const void *opts,
                                const perp_contact_setup *setup, int threads, bool rows,
                                perp_islands **out)
{
  *out = NULL;
  perp_islands *s = calloc(1, sizeof *s);
  if (s == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for islands");
  s->model = model;
  s->kind = kind;
  s->r = kind->rows(model->dim);
  s->rows = rows;
  s->max_bounded = 2 * model->n_drives;
#ifdef _OPENMP
  s->threads = threads;
#else
  (void)threads;
  s->threads = 1;
#endif
  perp_status status = perp_arena_layout(ctx, &s->arena, islands_layout, s);
  if (status == PERP_OK) {
    s->lanes = calloc((size_t)s->threads, sizeof *s->lanes);
    if (s->lanes == NULL) status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for islands");
  }
  for (int i = 0; i < s->threads && status == PERP_OK; i++)
    status = kind->create(ctx, setup, opts, &s->lanes[i].ws);
  if (status != PERP_OK) {
    perp_islands_destroy(s);
    return status;
  }
  for (int i = 0; i < model->n_bodies; i++) {
    s->joint_root[i] = i;
    s->jointed[i] = false;
    s->mass_place[i] = -1;
    s->mass[i] = model->inertia[i].mass;
  }
  for (int i = 0; i < model->n_joints; i++) {
    const perp_joint *j = &model->joint[i];
    if (j->a >= 0) s->jointed[j->a] = true;
    if (j->b >= 0) s->jointed[j->b] = true;
    if (j->a >= 0 && j->b >= 0) perp_unite(s->joint_root, j->a, j->b);
  }
  for (int i = 0; i < model->n_bodies; i++) s->joint_root[i] = perp_root(s->joint_root, i);
  memset(s->zero, 0, (size_t)model->m * sizeof *s->zero);
  *out = s;
  return PERP_OK;
}

void perp_islands_restart(perp_islands *s)
{
  s->count = (perp_contact_count){ 0 };
}

const perp_contact_count *perp_islands_count(const perp_islands *s)
{
  return &s->count;
}

void perp_islands_add(perp_islands *s, const perp_contact_count *count)
{
  perp_contact_count_add(&s->count, count);
}

int64_t perp_islands_none(const perp_contact_count *count)
{
  return count->failed[-PERP_INFEASIBLE] + count->failed[-PERP_NONE_WITHIN];
}

void perp_islands_refute(perp_islands *s, const perp_contact_count *before)
{
  const perp_contact_count after = s->count;
  s->count = *before;
  s->count.problems = after.problems;
  s->count.refuted += after.problems - before->problems;
  s->count.iterations = after.iterations;
  s->count.rows = after.rows;
  s->count.contacts = after.contacts;
  s->count.islands = after.islands;
}

void perp_islands_observe(perp_islands *s, perp_contact_observer *observer, void *user)
{
  s->observed = observer != NULL;
  for (int i = 0; i < s->threads; i++) s->kind->observe(s->lanes[i].ws, observer, user);
}

/* ---- islands --------------------------------------------------------------------------------- */

/* Partition the bodies, and lay out contacts, bodies, joints and bounded rows by island. */
static void islands_partition(perp_islands *s, const perp_island_task *task)
{
  const perp_model *model = s->model;
  const int nb = model->n_bodies;
  int *const contacts = s->cursor, *const bodies = contacts + nb + 1,
             *const joints = bodies + nb + 1, *const bounded = joints + nb + 1;
  int parts = 0;
  memcpy(s->parent, s->joint_root, (size_t)nb * sizeof *s->parent);
  for (int b = 0; b < nb; b++) s->island_of[b] = s->touched[b] = -1;
  for (int i = 0; i < task->n; i++) {
    if (!takes_part(task, i)) continue;
    const perp_contact *x = &task->contact[i];
    s->part[parts] = i;
    s->owner[parts++] = body_of(x);
    s->touched[body_of(x)] = 0;
    if (x->body_a >= 0 && x->body_b >= 0) perp_unite(s->parent, x->body_a, x->body_b);
  }
  for (int i = 0; i < task->n_rows; i++) s->touched[body_of_row(&task->row[i])] = 0;
  /* no body comes before its parent: one step leads to the root */
  for (int b = 0; b < nb; b++) {
    s->parent[b] = s->parent[s->parent[b]];
    if (s->touched[b] == 0) s->island_of[s->parent[b]] = 0;
  }
  s->n_islands = 0;
  for (int b = 0; b < nb; b++) { /* a root comes before the rest of its island */
    if (s->parent[b] == b && s->island_of[b] == 0) {
      contacts[s->n_islands] = bodies[s->n_islands] = joints[s->n_islands] = 0;
      bounded[s->n_islands] = 0;
      s->start[s->n_islands].eliminate = false;
      s->island_of[b] = s->n_islands++;
    }
    int at = s->island_of[s->parent[b]];
    s->island_of[b] = at;
    if (at < 0) continue;
    s->local[b] = bodies[at]++;
    if ((s->jointed[b] && !s->rows) || task->offset != NULL) s->start[at].eliminate = true;
  }
  for (int i = 0; i < parts; i++) contacts[s->island_of[s->owner[i]]]++;
  for (int i = 0; i < task->n_rows; i++) bounded[s->island_of[body_of_row(&task->row[i])]]++;
  for (int j = 0; j < model->n_joints && s->rows; j++) {
    int b = model->joint[j].a >= 0 ? model->joint[j].a : model->joint[j].b;
    if (s->island_of[b] >= 0) joints[s->island_of[b]]++;
  }
  island sum = { 0 };
  for (int i = 0; i < s->n_islands; i++) {
    island *p = &s->start[i];
    size_t rows = (size_t)s->r * (size_t)contacts[i] + (size_t)bounded[i];
    sum.eliminate = p->eliminate;
    *p = sum;
    if (sum.eliminate) sum.dense += rows * rows;
    sum.contact += contacts[i];
    sum.body += bodies[i];
    sum.joint += joints[i];
    sum.bounded += bounded[i];
    contacts[i] = p->contact;
    joints[i] = p->joint;
    bounded[i] = p->bounded;
  }
  s->start[s->n_islands] = sum;
  for (int b = 0; b < nb; b++)
    if (s->island_of[b] >= 0) s->bodies[s->start[s->island_of[b]].body + s->local[b]] = b;
  for (int i = 0; i < parts; i++) s->order[contacts[s->island_of[s->owner[i]]]++] = s->part[i];
  for (int i = 0; i < task->n_rows; i++)
    s->bounded[bounded[s->island_of[body_of_row(&task->row[i])]]++] = i;
  if (!s->rows) return;
  for (int j = 0; j < model->n_joints; j++) {
    int b = model->joint[j].a >= 0 ? model->joint[j].a : model->joint[j].b;
    if (s->island_of[b] >= 0) s->joints[joints[s->island_of[b]]++] = j;
  }
  int rows = 0;
  for (int i = 0; i <= s->n_islands; i++) {
    s->start[i].joint_rows = rows;
    if (i == s->n_islands) break;
    for (int j = s->start[i].joint; j < s->start[i + 1].joint; j++)
      rows += model->cptr[s->joints[j] + 1] - model->cptr[s->joints[j]];
  }
}

/* Poisson's law (Anitescu and Potra): after the compression that x holds, each impact gives back at least
 * the part e of its normal impulse; a second problem of the same kind, with that least impulse and
 * the velocities at the end of compression.  x becomes the sum of both. */
static perp_status islands_decompress(perp_islands *s, lane *own,
                                      const perp_contact_island *problem, int i)
{
  const island *p = &s->start[i];
  const size_t first = first_row(s, i), n = (size_t)s->r * (size_t)problem->nc;
  double *x = s->x + first, *b2 = s->b_decompression + first, *x2 = s->x_decompression + first,
         *lo = s->least + p->contact;
  bool any = false;
  for (int c = 0; c < problem->nc; c++) {
    double e = s->restitution[p->contact + c];
    lo[c] = e * fmax(x[s->r * c], 0);
    any |= lo[c] > 0;
    for (int k = 0; k < s->r; k++) x2[s->r * c + k] = e * x[s->r * c + k];
  }
  if (!any) return PERP_OK;
  const int m = (int)n + problem->joints;
  perp_lcp base = {
    .n = m, .A = problem->A, .lda = problem->lda, .F = problem->F, .b = problem->b
  };
  perp_contact_island second = *problem;
  perp_lcp_product(&base, x, b2, s->product + (size_t)(2 * s->model->nvb * p->body));
  double *lo2 = s->row_lo_decompression + first_further(s, i),
         *hi2 = s->row_hi_decompression + first_further(s, i);
  for (int j = 0; j < problem->joints; j++) { /* the sum of both keeps the bounds */
    x2[(int)n + j] = 0;
    lo2[j] = problem->row_lo[j] - x[(int)n + j];
    hi2[j] = problem->row_hi[j] - x[(int)n + j];
  }
  second.row_lo = lo2;
  second.row_hi = hi2;
  second.b = b2;
  second.lo = lo;
  PERP_TRY(s->kind->solve(&own->ctx, own->ws, &second, x2, s->slip + p->contact, &own->count));
  for (int j = 0; j < m; j++) x[j] += x2[j];
  return PERP_OK;
}

static perp_status solve_one(perp_islands *s, lane *own, const perp_constrained *k,
                             const perp_island_task *task, int i)
{
  const island *p = &s->start[i], *next = p + 1;
  const int nc = next->contact - p->contact;
  const size_t first = first_row(s, i);
  bool soft = task->softness > 0 || (k->e->blocks.s != NULL && next->joint > p->joint) ||
              next->bounded > p->bounded;
  perp_blocks F = blocks_of(s, i, soft);
  F.threads = nc >= TEAM_CONTACTS ? own->ctx.threads : 1;
  perp_contact_island problem = { .nc = nc,
                                  .joints = further_rows(s, i),
                                  .row_lo = s->row_lo + first_further(s, i),
                                  .row_hi = s->row_hi + first_further(s, i),
                                  .mu = s->mu + p->contact,
                                  .F = p->eliminate ? NULL : &F,
                                  .A = p->eliminate ? s->A + p->dense : NULL,
                                  .lda = F.m,
                                  .diag = s->diagonal + first,
                                  .b = s->b + first,
                                  .reuse = task->reuse };
  for (int l = p->body; l < next->body; l++) problem.mass += s->mass[s->bodies[l]];
  for (int place = p->contact; place < next->contact && task->fresh != NULL; place++)
    if (task->fresh[s->order[place]]) problem.reuse = 0.1 * task->reuse;
  const int64_t solved = own->count.problems, none = perp_islands_none(&own->count);
  if (task->sliding != NULL && s->r > 1) {
    perp_contact_sliding sliding = { .rule = task->rule,
                                     .rows = s->r,
                                     .drag = s->drag + 2 * p->contact,
                                     .A = s->A + p->dense,
                                     .diag = s->diagonal + first,
                                     .scratch = s->b_decompression + first + p->contact };
    PERP_TRY(perp_contact_solve_sliding(&own->ctx, s->kind, own->ws, &problem, &sliding,
                                        s->x + first, s->slip + p->contact, &own->count));
  } else
    PERP_TRY(s->kind->solve(&own->ctx, own->ws, &problem, s->x + first, s->slip + p->contact,
                            &own->count));
  if (task->restitution != NULL) PERP_TRY(islands_decompress(s, own, &problem, i));
  s->start[i].solved = own->count.problems > solved;
  s->start[i].none = perp_islands_none(&own->count) > none;
  const double *last = s->x + first_row(s, i + 1) - (next->bounded - p->bounded);
  for (int j = p->bounded; j < next->bounded; j++) task->row[s->bounded[j]].lambda = *last++;
  return PERP_OK;
}

static void islands_solve(perp_islands *s, lane *own, const perp_constrained *k,
                          const perp_island_task *task, int i)
{
  perp_status status = solve_one(s, own, k, task, i);
  if (status != PERP_OK) own->ctx.status = status;
}

/* Large islands one after the other, each by the whole team, the others at the same time. */
static void islands_solve_all(perp_islands *s, const perp_constrained *k,
                              const perp_island_task *task, int threads)
{
  for (int i = 0; i < s->n_islands; i++) {
    const bool large = s->start[i + 1].contact - s->start[i].contact >= TEAM_CONTACTS;
    if (threads > 1 && !large) continue;
    s->lanes[0].ctx.threads = threads;
    islands_solve(s, &s->lanes[0], k, task, i);
  }
#ifdef _OPENMP
  if (threads < 2) return;
  s->lanes[0].ctx.threads = 1;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
  for (int i = 0; i < s->n_islands; i++)
    if (s->start[i + 1].contact - s->start[i].contact < TEAM_CONTACTS)
      islands_solve(s, &s->lanes[omp_get_thread_num()], k, task, i);
#endif
}

typedef struct handing {
  perp_islands *s;
  const perp_island_task *task;
} handing;

/* The answers of a share of the contacts. */
static void hand_back_share(void *user, int member, int members)
{
  const handing *job = user;
  const perp_islands *s = job->s;
  const perp_island_task *task = job->task;
  const int dim = s->model->dim;
  int end = perp_share(task->n, member + 1, members);
  for (int at = perp_share(task->n, member, members); at < end; at++)
    if (!takes_part(task, at))
      memset(task->impulse + (size_t)3 * (size_t)at, 0, 3 * sizeof *task->impulse);
  const int all = s->start[s->n_islands].contact;
  end = perp_share(all, member + 1, members);
  for (int place = perp_share(all, member, members); place < end; place++) {
    const int at = s->order[place], i = s->island_of[body_of(&task->contact[at])];
    const double *t = s->frame + (size_t)6 * (size_t)place, *n = task->contact[at].n;
    const double *x = s->x + first_row(s, i) + (size_t)(s->r * (place - s->start[i].contact));
    double *P = task->impulse + (size_t)3 * (size_t)at;
    task->slip[at] = s->slip[place];
    if (task->fresh != NULL) task->fresh[at] = s->start[i].solved;
    if (task->none != NULL) task->none[at] = s->start[i].none;
    P[0] = P[1] = P[2] = 0;
    for (int q = 0; q < dim; q++) {
      P[q] = x[0] * n[q];
      if (s->r > 1) P[q] += x[1] * t[q];
      if (s->r > 2) P[q] += x[2] * t[3 + q];
    }
  }
}

const int *perp_islands_roots(const perp_islands *s, bool single)
{
  return single ? s->joint_root : s->parent;
}

bool perp_islands_solve(perp_islands *s, perp_constrained *k, perp_island_task *task)
{
  k->status = perp_islands_room(k->ctx, s, task->n);
  if (k->status != PERP_OK) return false;
  islands_partition(s, task);
  const size_t dense = s->start[s->n_islands].dense;
  if (dense > s->cap_A) {
    free(s->A);
    s->cap_A = 0;
    s->A = malloc((dense + dense / 2) * sizeof *s->A);
    if (s->A == NULL) {
      k->status = PERP_FAIL(k->ctx, PERP_ERR_NOMEM, "no memory for the matrix of an island");
      return false;
    }
    s->cap_A = dense + dense / 2;
  }
  const int threads = s->observed || k->ctx->trace != NULL ? 1 : s->threads;
  for (int i = 0; i < threads; i++) {
    s->lanes[i].ctx = *k->ctx;
    s->lanes[i].ctx.status = PERP_OK;
    s->lanes[i].count = (perp_contact_count){ 0 };
  }
  perp_islands_fill(s, k, task, threads);
  for (int i = 0; i < s->n_islands; i++)
    if (s->start[i].eliminate && !perp_islands_columns(s, k, i)) return false;
  islands_solve_all(s, k, task, threads);
  handing back = { s, task };
  perp_team(task->n >= TEAM_HAND ? threads : 1, hand_back_share, &back);
  for (int i = 0; i < threads; i++) {
    perp_contact_count_add(&s->count, &s->lanes[i].count);
    if (s->lanes[i].ctx.status == PERP_OK || k->status != PERP_OK) continue;
    perp_ctx *ctx = &s->lanes[i].ctx;
    k->status = PERP_FAIL(k->ctx, ctx->status, "%s", ctx->msg);
  }
  const int kept = s->start[s->n_islands].contact;
  if (kept > s->count.contacts) s->count.contacts = kept;
  if (s->n_islands > s->count.islands) s->count.islands = s->n_islands;
  return k->status == PERP_OK;
}

typedef struct applying {
  const perp_islands *s;
  const perp_constrained *k;
  const perp_island_task *task;
  double *f;
} applying;

/* All contacts, but a share of the bodies: each body adds in the order of contacts, whoever does it. */
static void apply_share(void *user, int member, int members)
{
  const applying *job = user;
  const perp_model *model = job->s->model;
  const int dim = model->dim, first = perp_share(model->n_bodies, member, members),
            end = perp_share(model->n_bodies, member + 1, members);
  for (int i = 0; i < job->task->n; i++) {
    const perp_contact *x = &job->task->contact[i];
    const double *P = job->task->impulse + (size_t)3 * (size_t)i;
    const bool mine[2] = { x->body_a >= first && x->body_a < end,
                           x->body_b >= first && x->body_b < end };
    if (!(mine[0] || mine[1]) || (P[0] == 0 && P[1] == 0 && P[2] == 0)) continue;
    double p[3];
    perp_contact_middle(x, p);
    for (int side = 0; side < 2; side++) {
      int body = side == 0 ? x->body_a : x->body_b;
      if (!mine[side]) continue;
      const perp_pose *pose = &job->k->e->pose[body];
      double sign = side == 0 ? -1 : 1, *fb = job->f + (size_t)model->nvb * (size_t)body;
      for (int q = 0; q < dim; q++) fb[q] += sign * P[q];
      if (dim == 3) {
        double r[3] = { p[0] - pose->x[0], p[1] - pose->x[1], p[2] - pose->x[2] }, c[3], w[3];
        perp_cross(r, P, c);
        perp_turn_back(3, pose->R, c, w);
        for (int q = 0; q < 3; q++) fb[3 + q] += sign * w[q];
      } else {
        fb[2] += sign * ((p[0] - pose->x[0]) * P[1] - (p[1] - pose->x[1]) * P[0]);
      }
    }
  }
}

void perp_islands_apply(const perp_islands *s, const perp_constrained *k,
                        const perp_island_task *task, double *f)
{
  applying job = { s, k, task, f };
  for (int i = 0; i < task->n_rows; i++)
    perp_island_row_apply(s->model, &task->row[i], task->row[i].lambda, f);
  perp_team(task->n >= TEAM_HAND ? s->threads : 1, apply_share, &job);
}
