/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/islands.h"

#include "models/contact/step/islands_problem.h"
#include "solvers/core/sets.h"

#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { TEAM_CONTACTS = 1000 }; /* an island this large is a team's work */

/* ---- life ---- */

double *perp_islands_scratch(perp_islands *islands)
{
  return islands->work.impulse;
}

void perp_islands_destroy(perp_islands *islands)
{
  if (islands == NULL) return;
  for (int i = 0; i < islands->threads; i++) {
    islands->kind->destroy(islands->lanes[i].ws);
    perp_islands_choice_destroy(islands->lanes[i].choice);
  }
  free(islands->A);
  perp_arena_free(&islands->grown);
  perp_arena_free(&islands->factors.grown);
  free(islands);
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
  PERP_TRY(perp_workspace_create(ctx, "islands", &like, sizeof like, perp_islands_layout, &ws));
  perp_islands *islands = ws;
  memset(islands->lanes, 0, (size_t)islands->threads * sizeof *islands->lanes);
  memset(islands->body.known, 0, (size_t)model->n_bodies * sizeof *islands->body.known);
  perp_status status = PERP_OK;
  islands->tol = setup->tol;
  islands->tol_data = setup->tol_data;
  for (int i = 0; i < islands->threads && status == PERP_OK; i++) {
    status = kind->create(ctx, setup, opts, &islands->lanes[i].ws);
    if (status != PERP_OK || setup->choice == PERP_CHOICE_NONE ||
        !(kind->d.caps & PERP_CONTACT_FRICTION) || islands->r < 2)
      continue;
    islands->lanes[i].choice = perp_islands_choice_create(ctx, setup->choice);
    if (islands->lanes[i].choice == NULL) status = PERP_ERR_NOMEM;
  }
  if (status != PERP_OK) {
    perp_islands_destroy(islands);
    return status;
  }
  for (int i = 0; i < model->n_bodies; i++) {
    islands->body.joint_root[i] = i;
    islands->body.jointed[i] = false;
    islands->body.mass_place[i] = -1;
    islands->body.mass[i] = model->inertia[i].mass;
  }
  for (int i = 0; i < model->n_joints; i++) {
    const int *body = model->pattern.jblk + model->pattern.jptr[i];
    islands->joint_body[i] = body[0];
    for (int k = 0; k < model->pattern.jptr[i + 1] - model->pattern.jptr[i]; k++) {
      islands->body.jointed[body[k]] = true;
      perp_unite(islands->body.joint_root, body[0], body[k]);
    }
  }
  for (int i = 0; i < model->n_bodies; i++)
    islands->body.joint_root[i] = perp_root(islands->body.joint_root, i);
  memset(islands->work.zero, 0, (size_t)model->m * sizeof *islands->work.zero);
  *out = islands;
  return PERP_OK;
}

perp_contact_count *perp_islands_count(perp_islands *islands)
{
  return &islands->count;
}

void perp_islands_restart(perp_islands *islands)
{
  islands->count = (perp_contact_count){ 0 };
  memset(islands->body.known, 0, (size_t)islands->model->n_bodies * sizeof *islands->body.known);
}

void perp_islands_keep(perp_islands *islands, perp_step_end which)
{
  memcpy(islands->body.kept[which], islands->body.known,
         (size_t)islands->model->n_bodies * sizeof *islands->body.known);
}

void perp_islands_put_back(perp_islands *islands, perp_step_end which)
{
  memcpy(islands->body.known, islands->body.kept[which],
         (size_t)islands->model->n_bodies * sizeof *islands->body.known);
}

void perp_islands_observe(perp_islands *islands, perp_contact_observer *observer, void *user)
{
  islands->observer = observer;
  islands->user = user;
  for (int i = 0; i < islands->threads; i++)
    islands->kind->observe(islands->lanes[i].ws, observer, user);
}

/* ---- problems ---- */

/* Poisson's law (Anitescu and Potra): after the compression that x holds, each impact gives back at
 * least the part e of its normal impulse; a second problem of the same kind, with that least
 * impulse and the velocities at the end of compression.  x becomes the sum of both. */
static perp_status islands_decompress(perp_islands *islands, lane *own,
                                      const perp_contact_island *problem, int i)
{
  const int contact = islands->start[i].first[CONTACTS], body = islands->start[i].first[BODIES];
  const size_t first = islands_first_row(islands, i), further = islands_first_further(islands, i);
  const int n = islands->r * problem->nc, m = n + problem->joints;
  double *x = islands->row.x + first, *b2 = islands->row.b_decompression + first,
         *x2 = islands->row.x_decompression + first;
  double *least = islands->contact.least + contact, *lo = islands->row.left_lo + further,
         *hi = islands->row.left_hi + further;
  bool any = false;
  for (int c = 0; c < problem->nc; c++) {
    const double e = islands->contact.restitution[contact + c];
    least[c] = e * fmax(x[islands->r * c], 0);
    any |= least[c] > 0;
    for (int k = 0; k < islands->r; k++) x2[islands->r * c + k] = e * x[islands->r * c + k];
  }
  if (!any) return PERP_OK;
  const perp_lcp base = {
    .n = m, .A = problem->A, .lda = problem->lda, .F = problem->F, .b = problem->b
  };
  perp_lcp_product(&base, x, b2,
                   islands->work.product + 2 * (size_t)islands->model->nvb * (size_t)body);
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
  PERP_TRY(islands->kind->solve(&own->ctx, own->ws, &second, x2, islands->contact.slip + contact,
                                &own->count));
  for (int j = 0; j < m; j++) x[j] += x2[j];
  return PERP_OK;
}

/* Island i as the contact law sees it; F and place: those of the problem. */
static perp_contact_island islands_pose(const perp_islands *islands, const perp_island_task *task,
                                        int i, const perp_blocks *F,
                                        const perp_contact_place *place)
{
  const island *p = &islands->start[i];
  const int nc = place->nc, contact = p->first[CONTACTS];
  const size_t first = islands_first_row(islands, i), further = islands_first_further(islands, i);
  perp_contact_island problem = { .nc = nc,
                                  .joints = islands_further(islands, i),
                                  .row_lo = islands->row.lo + further,
                                  .row_hi = islands->row.hi + further,
                                  .row_of = islands->couples ? islands->row.of + further : NULL,
                                  .row_mu = islands->couples ? islands->row.mu + further : NULL,
                                  .row_pair = islands->couples ? islands->row.pair + further : NULL,
                                  .mu = islands->contact.mu + contact,
                                  .F = p->eliminate ? NULL : F,
                                  .A = p->eliminate ? islands->A + p->dense : NULL,
                                  .lda = F->m,
                                  .diag = islands->row.diagonal + first,
                                  .b = islands->row.b + first,
                                  .reuse = task->reuse,
                                  .place = place };
  for (int l = p->first[BODIES]; l < p[1].first[BODIES]; l++)
    problem.mass += islands->body.mass[islands->body.order[l]];
  for (int c = 0; c < nc && task->fresh != NULL; c++)
    if (task->fresh[islands->contact.order[contact + c]]) problem.reuse = 0.1 * task->reuse;
  return problem;
}

/* Its answer, from the guess, by the contact law; *known: one of them slides in a known
 * direction. */
static perp_status islands_ask(perp_islands *islands, lane *own, const perp_island_task *task,
                               const perp_contact_island *problem, int i, bool *known)
{
  const int contact = islands->start[i].first[CONTACTS];
  const size_t first = islands_first_row(islands, i);
  double *x = islands->row.x + first, *slip = islands->contact.slip + contact;
  *known = false;
  for (int c = 2 * contact; c < 2 * (contact + problem->nc) && task->sliding != NULL; c++)
    *known |= islands->contact.drag[c] != 0;
  if (task->sliding == NULL || islands->r == 1)
    return islands->kind->solve(&own->ctx, own->ws, problem, x, slip, &own->count);
  perp_contact_sliding sliding = { .rule = task->rule,
                                   .rows = islands->r,
                                   .drag = islands->contact.drag + 2 * contact,
                                   .A = islands->A + islands->start[i].dense,
                                   .diag = islands->row.diagonal + first,
                                   .scratch = islands->row.b_decompression + first + contact };
  return perp_contact_solve_sliding(&own->ctx, islands->kind, own->ws, problem, &sliding, x, slip,
                                    &own->count);
}

/* What is not spent on an island whose last problem was not solved: what has no solution in one
 * step has none in the next one as a rule, and every method of a chain would be asked again.  A
 * quarter is left, which solves what the whole does in all scenes of perp. */
static const double UNSOLVED_SPARE = 0.75;

static const double LOCKED = 1e-10;      /* of the response of a body: joints leave none */
static const double LOCKED_SPEED = 1e-9; /* m/s, m/s^2: slower approaches are rounding */

/* Contacts that approach along a direction in which joints let nothing move: w_n = b_n < 0 whatever
 * the impulses are, so that the problem has no solution.  It is counted as one without; the row
 * asks for nothing then, and the others are solved.  Else every method of a chain would look for
 * impulses of the size 1 / rounding. */
static void islands_locked(perp_islands *islands, lane *own, const perp_contact_island *problem,
                           size_t first)
{
  double most = 0;
  if (problem->joints == 0 && problem->F != NULL) return;
  for (int c = 0; c < problem->nc; c++) {
    const size_t row = (size_t)islands->r * (size_t)c;
    double *b = &islands->row.b[first + row];
    if (!(problem->diag[row] * problem->mass < LOCKED && *b < 0)) continue;
    if (*b < -LOCKED_SPEED) most = fmax(most, -*b);
    *b = 0;
  }
  if (!(most > 0)) return;
  const perp_stats none = { .reason = PERP_INFEASIBLE, .data = 1, .residual = 1 };
  perp_contact_count_solve(&own->count, "", &none);
}

static perp_status islands_solve_one(perp_islands *islands, lane *own,
                                     const perp_constrained *system, const perp_island_task *task,
                                     int i)
{
  island *p = &islands->start[i];
  const int nc = islands_number(islands, i, CONTACTS), contact = p->first[CONTACTS];
  const int bounded = islands_number(islands, i, BOUNDED),
            couples = p[1].couple_rows - p->couple_rows;
  const bool soft = task->soft || bounded > 0 ||
                    (system->e->blocks.s != NULL && islands_number(islands, i, JOINTS) > 0);
  perp_blocks blocks = islands_blocks(islands, i, soft);
  blocks.threads = nc >= TEAM_CONTACTS ? own->ctx.threads : 1;
  const perp_contact_place place = { .contact = task->contact,
                                     .order = islands->contact.order + contact,
                                     .frame = islands->contact.frame + 6 * (size_t)contact,
                                     .origin = task->origin,
                                     .nc = nc,
                                     .rows = islands->r,
                                     .h = task->h,
                                     .call = islands->calls,
                                     .island = i };
  perp_contact_island problem = islands_pose(islands, task, i, &blocks, &place);
  double *x = islands->row.x + islands_first_row(islands, i),
         *slip = islands->contact.slip + contact;
  const bool impacts = task->impact != NULL && perp_impact_single(task->impact->law) &&
                       perp_islands_impact(islands, own, task, &problem, i);
  const int64_t left = own->count.failures + own->count.swept, problems = own->count.problems,
                none = perp_contact_count_none(&own->count);
  const double work = own->count.work;
  const int body = p->first[BODIES];
  island_known *before = &islands->body.known[islands->body.order[body]];
  const int64_t failures = own->count.failures;
  bool known;
  problem.spare = before->unsolved ? UNSOLVED_SPARE : 0;
  islands_locked(islands, own, &problem, islands_first_row(islands, i));
  perp_islands_choice_guess(own, &problem, islands->r, x);
  PERP_TRY(islands_ask(islands, own, task, &problem, i, &known));
  const double done = own->count.problems == problems ? 0 : fmax(own->count.work - work, 1);
  if (own->count.problems > problems) before->unsolved = own->count.failures > failures;
  if (own->choice != NULL && own->count.failures + own->count.swept == left && !known)
    PERP_TRY(perp_islands_choose(islands, own, &problem, task, before, done, x, slip,
                                 islands->work.product +
                                     2 * (size_t)islands->model->nvb * (size_t)body));
  if (task->impact != NULL && task->impact->law == PERP_IMPACT_POISSON)
    PERP_TRY(islands_decompress(islands, own, &problem, i));
  if (impacts) perp_islands_impact_add(islands, i);
  p->solved = own->count.problems > problems;
  p->none = perp_contact_count_none(&own->count) > none;
  const double *last = islands->row.x + islands_first_row(islands, i + 1) - couples - bounded;
  for (int j = 0; j < bounded; j++)
    task->row[islands->bounded[p->first[BOUNDED] + j]].lambda = last[j];
  if (couples > 0) perp_islands_couples_back(islands, task, i);
  return PERP_OK;
}

static void islands_solve(perp_islands *islands, lane *own, const perp_constrained *system,
                          const perp_island_task *task, int i)
{
  const perp_status status = islands_solve_one(islands, own, system, task, i);
  if (status != PERP_OK) own->ctx.status = status;
}

/* Large islands one after the other, each by the whole team, the others at the same time. */
static void islands_solve_all(perp_islands *s, const perp_constrained *system,
                              const perp_island_task *task, int threads)
{
  for (int i = 0; i < s->n_islands; i++) {
    if (threads > 1 && islands_number(s, i, CONTACTS) < TEAM_CONTACTS) continue;
    s->lanes[0].ctx.threads = threads;
    islands_solve(s, &s->lanes[0], system, task, i);
  }
#ifdef _OPENMP
  if (threads < 2) return;
  s->lanes[0].ctx.threads = 1;
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
  for (int i = 0; i < s->n_islands; i++)
    if (islands_number(s, i, CONTACTS) < TEAM_CONTACTS)
      islands_solve(s, &s->lanes[omp_get_thread_num()], system, task, i);
#endif
}

const int *perp_islands_roots(const perp_islands *islands, bool single)
{
  return single ? islands->body.joint_root : islands->body.parent;
}

bool perp_islands_solve(perp_islands *islands, perp_constrained *system, perp_island_task *task)
{
  const int threads = islands->observer != NULL || system->ctx->trace != NULL ? 1
                                                                              : islands->threads;
  system->status = perp_islands_room(system->ctx, islands, task->n);
  if (system->status != PERP_OK) return false;
  islands->factors.call = ++islands->calls;
  perp_islands_partition(islands, task);
  system->status = perp_islands_reserve_dense(system->ctx, islands);
  if (system->status != PERP_OK) return false;
  perp_islands_fill(islands, system, task, threads);
  for (int i = 0; i < islands->n_islands; i++)
    if (islands->start[i].eliminate && !perp_islands_columns(islands, system, i)) return false;
  if (task->frozen != NULL) {
    if (!perp_islands_freeze(islands, system, task)) return false;
    islands->count.examined++;
    islands->count.open += task->redundant;
    perp_islands_hand_back(islands, system, task, threads);
    return true;
  }
  for (int i = 0; i < threads; i++) {
    islands->lanes[i].ctx = *system->ctx;
    islands->lanes[i].ctx.status = PERP_OK;
    islands->lanes[i].count = (perp_contact_count){ 0 };
  }
  islands_solve_all(islands, system, task, threads);
  perp_islands_hand_back(islands, system, task, threads);
  for (int i = 0; i < threads; i++) {
    const perp_ctx *ctx = &islands->lanes[i].ctx;
    perp_contact_count_add(&islands->count, &islands->lanes[i].count);
    if (ctx->status != PERP_OK && system->status == PERP_OK)
      system->status = PERP_FAIL(system->ctx, ctx->status, "%s", ctx->msg);
  }
  const int contacts = islands->start[islands->n_islands].first[CONTACTS];
  if (contacts > islands->count.contacts) islands->count.contacts = contacts;
  if (islands->n_islands > islands->count.islands) islands->count.islands = islands->n_islands;
  return system->status == PERP_OK;
}
