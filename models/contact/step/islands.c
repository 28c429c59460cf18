/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/islands_private.h"

#include "solvers/core/sets.h"

#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { TEAM_CONTACTS = 1000 }; /* an island this large is a team's work */
enum { TEAM_HAND = 500 };      /* contacts whose impulses are handed over by one */

/* ---- life ---- */

static void islands_layout(void *ws, perp_arena *a)
{
  perp_islands *s = ws;
  const perp_model *model = s->model;
  size_t nb = (size_t)model->n_bodies, square = (size_t)model->nvb * (size_t)model->nvb;
  s->lanes = PERP_CARVE(a, lane, s->threads);
  s->joint_root = PERP_CARVE(a, int, nb);
  s->jointed = PERP_CARVE(a, bool, nb);
  s->mass = PERP_CARVE(a, double, nb);
  s->known = PERP_CARVE(a, island_known, nb);
  s->mass_place = PERP_CARVE(a, int, nb);
  s->diag = PERP_CARVE(a, unsigned char, nb);
  PERP_INTS(a, nb, &s->parent, &s->island_of, &s->local, &s->bodies);
  PERP_INTS(a, model->n_joints, &s->joints, &s->joint_body);
  s->start = PERP_CARVE(a, island, nb + 1);
  PERP_INTS(a, s->max_bounded, &s->bounded, &s->bounded_body);
  s->cursor = PERP_CARVE(a, int, nb + 1);
  PERP_INTS(a, 2 * nb + 1, &s->bptr, &s->mptr, &s->tptr);
  PERP_DOUBLES(a, nb * square, &s->M, &s->Minv);
  PERP_DOUBLES(a, model->nv, &s->flat, &s->v_star);
  PERP_DOUBLES(a, 6 * nb, &s->twist_star, &s->twist_end);
  s->product = PERP_CARVE(a, double, 2 * (size_t)model->nv);
  PERP_DOUBLES(a, model->nv, &s->f, &s->a);
  PERP_DOUBLES(a, model->m, &s->zero, &s->lambda);
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
  s->scratch = PERP_CARVE(a, double, 4 * n);
  PERP_INTS(a, n, &s->owner, &s->order);
  s->frame = PERP_CARVE(a, double, 6 * n);
  PERP_DOUBLES(a, rows, &s->b, &s->x, &s->s, &s->diagonal);
  PERP_DOUBLES(a, n, &s->mu, &s->slip, &s->restitution, &s->least);
  s->drag = PERP_CARVE(a, double, 2 * n);
  s->b_decompression = PERP_CARVE(a, double, rows + n);
  s->x_decompression = PERP_CARVE(a, double, rows);
  PERP_DOUBLES(a, further, &s->row_lo, &s->row_hi, &s->left_lo, &s->left_hi);
  s->row_of = PERP_CARVE(a, int, s->couples ? further : 0);
  s->row_mu = PERP_CARVE(a, double, s->couples ? further : 0);
  s->row_pair = PERP_CARVE(a, signed char, s->couples ? further : 0);
  PERP_DOUBLES(a, coupled, &s->torsion, &s->rolling);
  size_t subs = 2 * (n + nb + coupled) + (s->rows ? (size_t)model->pattern.n_subs : 0);
  s->J = PERP_CARVE(a, double,
                    2 * nv * (r * n + nb + 3 * coupled) +
                        (s->rows ? (size_t)model->pattern.nnz_J : 0));
  PERP_INTS(a, groups + islands, &s->cptr, &s->jptr);
  s->joff = PERP_CARVE(a, int, subs + islands);
  PERP_INTS(a, subs, &s->jblk, &s->jgrp, &s->tsub);
}

perp_status perp_islands_room(perp_ctx *ctx, perp_islands *s, int n)
{
  if (n <= s->cap && s->cap > 0) return PERP_OK;
  s->cap = n + n / 2 + 16;
  perp_status status = perp_arena_layout(ctx, &s->grown, islands_layout_grown, s);
  if (status != PERP_OK) s->cap = 0;
  return status;
}

double *perp_islands_scratch(perp_islands *s)
{
  return s->scratch;
}

void perp_islands_destroy(perp_islands *s)
{
  if (s == NULL) return;
  for (int i = 0; i < s->threads; i++) {
    s->kind->destroy(s->lanes[i].ws);
    perp_islands_choice_destroy(s->lanes[i].choice);
  }
  free(s->A);
  perp_arena_free(&s->grown);
  perp_arena_free(&s->frozen_grown);
  free(s);
}

perp_status perp_islands_create(perp_ctx *ctx, const perp_model *model,
                                const perp_contact_desc *kind, const void *opts,
                                const perp_contact_setup *setup, int threads, bool rows,
                                perp_islands **out)
{
  const unsigned couples = PERP_CONTACT_COUPLES | PERP_CONTACT_SPIN;
  perp_islands like = { .model = model,
                        .kind = kind,
                        .r = kind->rows(model->dim),
                        .rows = rows,
                        .threads = threads,
                        .couples = model->surfaces.couples && (kind->d.caps & couples),
                        .max_bounded = 3 * model->n_drives };
#ifndef _OPENMP
  like.threads = 1;
#endif
  void *ws;
  *out = NULL;
  if (model->surfaces.couples && !like.couples && (kind->d.caps & PERP_CONTACT_FRICTION))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact %s does not support couples against spinning and rolling (torsion, "
                     "rolling of a surface): use --contact cone or box",
                     kind->d.name);
  if (model->surfaces.rolling && !(kind->d.caps & PERP_CONTACT_COUPLES) && like.couples)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact %s does not support couples against rolling (rolling of a surface): "
                     "use --contact cone or box",
                     kind->d.name);
  PERP_TRY(perp_workspace_create(ctx, "islands", &like, sizeof like, islands_layout, &ws));
  perp_islands *s = ws;
  memset(s->lanes, 0, (size_t)s->threads * sizeof *s->lanes);
  memset(s->known, 0, (size_t)model->n_bodies * sizeof *s->known);
  perp_status status = PERP_OK;
  s->tol = setup->tol;
  s->tol_data = setup->tol_data;
  for (int i = 0; i < s->threads && status == PERP_OK; i++) {
    status = kind->create(ctx, setup, opts, &s->lanes[i].ws);
    if (status != PERP_OK || setup->choice == PERP_CHOICE_NONE ||
        !(kind->d.caps & PERP_CONTACT_FRICTION) || s->r < 2)
      continue;
    s->lanes[i].choice = perp_islands_choice_create(ctx, setup->choice);
    if (s->lanes[i].choice == NULL) status = PERP_ERR_NOMEM;
  }
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
    const int *body = model->pattern.jblk + model->pattern.jptr[i];
    s->joint_body[i] = body[0];
    for (int k = 0; k < model->pattern.jptr[i + 1] - model->pattern.jptr[i]; k++) {
      s->jointed[body[k]] = true;
      perp_unite(s->joint_root, body[0], body[k]);
    }
  }
  for (int i = 0; i < model->n_bodies; i++) s->joint_root[i] = perp_root(s->joint_root, i);
  memset(s->zero, 0, (size_t)model->m * sizeof *s->zero);
  *out = s;
  return PERP_OK;
}

perp_contact_count *perp_islands_count(perp_islands *s)
{
  return &s->count;
}

void perp_islands_restart(perp_islands *s)
{
  s->count = (perp_contact_count){ 0 };
  memset(s->known, 0, (size_t)s->model->n_bodies * sizeof *s->known);
}

void perp_islands_observe(perp_islands *s, perp_contact_observer *observer, void *user)
{
  s->observer = observer;
  s->user = user;
  for (int i = 0; i < s->threads; i++) s->kind->observe(s->lanes[i].ws, observer, user);
}

/* ---- problems ---- */

/* Poisson's law (Anitescu and Potra): after the compression that x holds, each impact gives back at
 * least the part e of its normal impulse; a second problem of the same kind, with that least
 * impulse and the velocities at the end of compression.  x becomes the sum of both. */
static perp_status islands_decompress(perp_islands *s, lane *own,
                                      const perp_contact_island *problem, int i)
{
  const int contact = s->start[i].first[CONTACTS], body = s->start[i].first[BODIES];
  const size_t first = islands_first_row(s, i), further = islands_first_further(s, i);
  const int n = s->r * problem->nc, m = n + problem->joints;
  double *x = s->x + first, *b2 = s->b_decompression + first, *x2 = s->x_decompression + first;
  double *least = s->least + contact, *lo = s->left_lo + further, *hi = s->left_hi + further;
  bool any = false;
  for (int c = 0; c < problem->nc; c++) {
    const double e = s->restitution[contact + c];
    least[c] = e * fmax(x[s->r * c], 0);
    any |= least[c] > 0;
    for (int k = 0; k < s->r; k++) x2[s->r * c + k] = e * x[s->r * c + k];
  }
  if (!any) return PERP_OK;
  const perp_lcp base = {
    .n = m, .A = problem->A, .lda = problem->lda, .F = problem->F, .b = problem->b
  };
  perp_lcp_product(&base, x, b2, s->product + 2 * (size_t)s->model->nvb * (size_t)body);
  for (int j = 0; j < problem->joints; j++) { /* the sum of both keeps the bounds */
    x2[n + j] = 0;
    lo[j] = problem->row_lo[j] - x[n + j];
    hi[j] = problem->row_hi[j] - x[n + j];
  }
  perp_contact_island second = *problem;
  second.row_lo = lo;
  second.row_hi = hi;
  second.b = b2;
  second.lo = least;
  PERP_TRY(s->kind->solve(&own->ctx, own->ws, &second, x2, s->slip + contact, &own->count));
  for (int j = 0; j < m; j++) x[j] += x2[j];
  return PERP_OK;
}

/* Does one of them slide in a known direction? */
static bool islands_known(const perp_islands *s, int contact, int nc)
{
  for (int i = 2 * contact; i < 2 * (contact + nc); i++)
    if (s->drag[i] != 0) return true;
  return false;
}

static perp_status islands_solve_one(perp_islands *s, lane *own, const perp_constrained *k,
                                     const perp_island_task *task, int i)
{
  island *p = &s->start[i];
  const int nc = islands_number(s, i, CONTACTS), contact = p->first[CONTACTS];
  const int bounded = islands_number(s, i, BOUNDED);
  const size_t first = islands_first_row(s, i), further = islands_first_further(s, i);
  const bool soft = task->softness > 0 || task->soft != NULL || task->part != NULL || bounded > 0 ||
                    (k->e->blocks.s != NULL && islands_number(s, i, JOINTS) > 0);
  perp_blocks F = islands_blocks(s, i, soft);
  F.threads = nc >= TEAM_CONTACTS ? own->ctx.threads : 1;
  const perp_contact_place place = { .contact = task->contact,
                                     .order = s->order + contact,
                                     .frame = s->frame + 6 * (size_t)contact,
                                     .origin = task->origin,
                                     .nc = nc,
                                     .rows = s->r,
                                     .h = task->h,
                                     .call = s->calls,
                                     .island = i };
  perp_contact_island problem = { .nc = nc,
                                  .joints = islands_further(s, i),
                                  .row_lo = s->row_lo + further,
                                  .row_hi = s->row_hi + further,
                                  .mu = s->mu + contact,
                                  .F = p->eliminate ? NULL : &F,
                                  .A = p->eliminate ? s->A + p->dense : NULL,
                                  .lda = F.m,
                                  .diag = s->diagonal + first,
                                  .b = s->b + first,
                                  .reuse = task->reuse,
                                  .place = &place };
  if (s->couples) {
    problem.row_of = s->row_of + further;
    problem.row_mu = s->row_mu + further;
    problem.row_pair = s->row_pair + further;
  }
  for (int l = p->first[BODIES]; l < p[1].first[BODIES]; l++) problem.mass += s->mass[s->bodies[l]];
  for (int c = 0; c < nc && task->fresh != NULL; c++)
    if (task->fresh[s->order[contact + c]]) problem.reuse = 0.1 * task->reuse;
  const bool impacts = task->impact != NULL && perp_impact_single(task->impact->law) &&
                       perp_islands_impact(s, own, task, &problem, i);
  const int64_t left = own->count.failures + own->count.swept;
  const double work = own->count.work;
  perp_islands_choice_guess(own, &problem, s->r, s->x + first);
  const int64_t problems = own->count.problems, none = perp_contact_count_none(&own->count);
  if (task->sliding != NULL && s->r > 1) {
    perp_contact_sliding sliding = { .rule = task->rule,
                                     .rows = s->r,
                                     .drag = s->drag + 2 * contact,
                                     .A = s->A + p->dense,
                                     .diag = s->diagonal + first,
                                     .scratch = s->b_decompression + first + contact };
    PERP_TRY(perp_contact_solve_sliding(&own->ctx, s->kind, own->ws, &problem, &sliding,
                                        s->x + first, s->slip + contact, &own->count));
  } else {
    PERP_TRY(
        s->kind->solve(&own->ctx, own->ws, &problem, s->x + first, s->slip + contact, &own->count));
  }
  const double done = own->count.problems == problems ? 0 : fmax(own->count.work - work, 1);
  if (own->choice != NULL && own->count.failures + own->count.swept == left &&
      !(task->sliding != NULL && islands_known(s, contact, nc)))
    PERP_TRY(perp_islands_choose(
        s, own, &problem, task, &s->known[s->bodies[p->first[BODIES]]], done, s->x + first,
        s->slip + contact, s->product + 2 * (size_t)s->model->nvb * (size_t)p->first[BODIES]));
  if (task->impact != NULL && task->impact->law == PERP_IMPACT_POISSON)
    PERP_TRY(islands_decompress(s, own, &problem, i));
  if (impacts) perp_islands_impact_add(s, i);
  p->solved = own->count.problems > problems;
  p->none = perp_contact_count_none(&own->count) > none;
  const int couples = p[1].couple_rows - p->couple_rows;
  const double *last = s->x + islands_first_row(s, i + 1) - couples - bounded;
  for (int j = 0; j < bounded; j++) task->row[s->bounded[p->first[BOUNDED] + j]].lambda = last[j];
  if (couples > 0) perp_islands_couples_back(s, task, i);
  return PERP_OK;
}

static void islands_solve(perp_islands *s, lane *own, const perp_constrained *k,
                          const perp_island_task *task, int i)
{
  const perp_status status = islands_solve_one(s, own, k, task, i);
  if (status != PERP_OK) own->ctx.status = status;
}

/* Large islands one after the other, each by the whole team, the others at the same time. */
static void islands_solve_all(perp_islands *s, const perp_constrained *k,
                              const perp_island_task *task, int threads)
{
  for (int i = 0; i < s->n_islands; i++) {
    if (threads > 1 && islands_number(s, i, CONTACTS) < TEAM_CONTACTS) continue;
    s->lanes[0].ctx.threads = threads;
    islands_solve(s, &s->lanes[0], k, task, i);
  }
#ifdef _OPENMP
  if (threads < 2) return;
  s->lanes[0].ctx.threads = 1;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
  for (int i = 0; i < s->n_islands; i++)
    if (islands_number(s, i, CONTACTS) < TEAM_CONTACTS)
      islands_solve(s, &s->lanes[omp_get_thread_num()], k, task, i);
#endif
}

/* The answers of a share of the contacts. */
static void islands_hand_back(void *user, int member, int members)
{
  const islands_job *job = user;
  const perp_islands *s = job->s;
  const perp_island_task *task = job->task;
  const int dim = s->model->dim, contacts = s->start[s->n_islands].first[CONTACTS];
  int end = perp_share(task->n, member + 1, members);
  for (int at = perp_share(task->n, member, members); at < end; at++)
    if (s->owner[at] < 0) memset(task->impulse + 3 * (size_t)at, 0, 3 * sizeof *task->impulse);
  for (int at = perp_share(task->n, member, members); at < end && task->couple != NULL; at++)
    if (s->owner[at] < 0) memset(task->couple + 3 * (size_t)at, 0, 3 * sizeof *task->couple);
  end = perp_share(contacts, member + 1, members);
  for (int place = perp_share(contacts, member, members); place < end; place++) {
    const int at = s->order[place], i = s->island_of[s->owner[at]];
    const double *t = s->frame + 6 * (size_t)place, *n = task->contact[at].n;
    const double *x = s->x + islands_first_further(s, i) + (size_t)s->r * (size_t)place;
    double *P = task->impulse + 3 * (size_t)at;
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

/* Memory for the matrices of eliminated islands. */
static perp_status islands_reserve_dense(perp_ctx *ctx, perp_islands *s)
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

static int islands_largest(int a, int b)
{
  return a > b ? a : b;
}

bool perp_islands_solve(perp_islands *s, perp_constrained *k, perp_island_task *task)
{
  islands_job job = { .s = s, .k = k, .task = task };
  const int threads = s->observer != NULL || k->ctx->trace != NULL ? 1 : s->threads;
  k->status = perp_islands_room(k->ctx, s, task->n);
  if (k->status != PERP_OK) return false;
  s->calls++;
  perp_islands_partition(s, task);
  k->status = islands_reserve_dense(k->ctx, s);
  if (k->status != PERP_OK) return false;
  perp_islands_fill(s, k, task, threads);
  for (int i = 0; i < s->n_islands; i++)
    if (s->start[i].eliminate && !perp_islands_columns(s, k, i)) return false;
  if (task->frozen != NULL) {
    if (!perp_islands_freeze(s, k, task)) return false;
    s->count.examined++;
    s->count.open += task->redundant;
    perp_team(task->n >= TEAM_HAND ? threads : 1, islands_hand_back, &job);
    return true;
  }
  for (int i = 0; i < threads; i++) {
    s->lanes[i].ctx = *k->ctx;
    s->lanes[i].ctx.status = PERP_OK;
    s->lanes[i].count = (perp_contact_count){ 0 };
  }
  islands_solve_all(s, k, task, threads);
  perp_team(task->n >= TEAM_HAND ? threads : 1, islands_hand_back, &job);
  for (int i = 0; i < threads; i++) {
    const perp_ctx *ctx = &s->lanes[i].ctx;
    perp_contact_count_add(&s->count, &s->lanes[i].count);
    if (ctx->status != PERP_OK && k->status == PERP_OK)
      k->status = PERP_FAIL(k->ctx, ctx->status, "%s", ctx->msg);
  }
  s->count.contacts = islands_largest(s->count.contacts, s->start[s->n_islands].first[CONTACTS]);
  s->count.islands = islands_largest(s->count.islands, s->n_islands);
  return k->status == PERP_OK;
}

/* All contacts, but a share of the bodies: each body adds in the order of contacts, whoever does
 * it. */
static void islands_apply_share(void *user, int member, int members)
{
  const islands_job *job = user;
  const perp_model *model = job->s->model;
  const int dim = model->dim, first = perp_share(model->n_bodies, member, members),
            end = perp_share(model->n_bodies, member + 1, members);
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
      double sign = side == 0 ? -1 : 1, *f = job->f + (size_t)model->nvb * (size_t)body;
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

void perp_islands_apply(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                        double *f)
{
  islands_job job = { .s = s, .k = k, .task = task, .f = f };
  for (int i = 0; i < task->n_rows; i++)
    perp_island_row_apply(s->model, &task->row[i], task->row[i].lambda, f);
  if (task->couple != NULL) perp_islands_couples_apply(s, k, task, f);
  perp_team(task->n >= TEAM_HAND ? s->threads : 1, islands_apply_share, &job);
}

bool perp_islands_step(perp_islands *s, perp_constrained *k, perp_island_task *task,
                       perp_level level, double h, const double *v, double *seconds)
{
  const double start = perp_constrained_own_clock(k);
  const bool good = perp_islands_solve(s, k, task);
  if (good) perp_islands_apply(s, k, task, k->f);
  *seconds += perp_constrained_own_clock(k) - start;
  if (!good || !perp_constrained_solve(k, level, h, v)) return false;
  if (level == PERP_LEVEL_VELOCITY && task->friction != NULL && s->r > 1)
    perp_islands_coulomb(s, k, task);
  return true;
}
