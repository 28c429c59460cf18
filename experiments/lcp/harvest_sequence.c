/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The problems of successive steps of one simulation.
 *
 * Problem k is that of all islands of a step together, so that nothing is lost where islands meet
 * or part: rows of the islands one after the other, which A does not connect.  What a row has of
 * those of the problem before is what the simulation carries itself (contacts_memory.c): a contact
 * that goes by the same name, or is found at the same place, keeps its impulse in the world, times
 * the ratio of the steps.  With the frame F = (n, t1, t2) of the contact the multipliers become
 * F'^T F lambda. */
#include "experiments/lcp/harvest_sequence.h"

#include "solvers/lcp/io/io.h"
#include "experiments/base/table.h"
#include "experiments/base/files.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A contact of a step, whose rows begin at `row`. */
typedef struct member {
  uint64_t id, origin;
  int row;
  double frame[9]; /* n, t1, t2 */
} member;

/* The problem of a step. */
typedef struct posed {
  perp_lcp_problem *part; /* [n_parts] islands */
  int n_parts, rows;
  member *contact; /* [n] by rows */
  int n, per_contact;
  bool solved;
  double h;
} posed;

typedef struct gather {
  perp_ctx *ctx;
  double tol;
  int64_t call;
  int island; /* the last one of this call */
  posed now;
  perp_status status;
} gather;

static void posed_free(posed *p)
{
  for (int part = 0; part < p->n_parts; part++) perp_lcp_problem_free(&p->part[part]);
  free(p->part);
  free(p->contact);
  *p = (posed){ 0 };
}

/* Is lambda an answer?  The judge says so, whoever has found it. */
static bool harvest_sequence_solved(const perp_lcp *lcp, const double *lambda, double tol)
{
  perp_pool pool = { 0 };
  perp_lcp_judgement judgement;
  perp_lcp_judge(lcp, lambda, NULL, perp_lcp_room(&pool, lcp), &judgement);
  perp_pool_free(&pool);
  return judgement.rel <= tol;
}

static perp_status harvest_sequence_take(gather *work, const perp_contact_place *place,
                                         const perp_lcp *lcp, const double *lambda)
{
  if (place == NULL || place->origin == NULL)
    return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED,
                     "a sequence needs contact impulses that are carried over between steps: use "
                     "--formulation velocity");
  if (lcp->n != place->nc * place->rows || lcp->contact_of != NULL)
    return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED,
                     "a sequence needs one row per contact direction: use --contact frictionless, "
                     "box or cone, a scene without actuators, and eliminated joints");
  if (place->call == work->call && place->island == work->island)
    return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED,
                     "an island has two problems in one step (impact=poisson or limits=fixed): a "
                     "sequence needs one");
  for (int k = 0; k < 2 * place->nc && place->rows == 3; k++) {
    const double *t = place->frame + 3 * k;
    if (fabs(perp_dot(3, t, t) - 1) > 1e-9)
      return PERP_FAIL(work->ctx, PERP_ERR_UNSUPPORTED,
                       "a sequence needs isotropic friction: leave out mu_across");
  }
  if (place->call != work->call) posed_free(&work->now);
  work->call = place->call;
  work->island = place->island;
  posed *now = &work->now;
  const bool solved = harvest_sequence_solved(lcp, lambda, work->tol);
  now->solved = solved && (now->n_parts == 0 || now->solved);
  now->h = place->h;
  now->per_contact = place->rows;
  now->part = perp_xrealloc(now->part, (size_t)now->n_parts + 1, sizeof *now->part);
  now->contact = perp_xrealloc(now->contact, (size_t)(now->n + place->nc), sizeof *now->contact);
  for (int c = 0; c < place->nc; c++) {
    const int at = place->order[c];
    member *m = &now->contact[now->n + c];
    m->id = place->contact[at].id;
    m->origin = place->origin[at];
    m->row = now->rows + place->rows * c;
    memcpy(m->frame, place->contact[at].n, 3 * sizeof(double));
    memcpy(m->frame + 3, place->frame + 6 * c, 6 * sizeof(double));
  }
  now->n += place->nc;
  now->rows += lcp->n;
  const perp_lcp_problem view = { .p = *lcp,
                                  .solution = solved ? (double *)(uintptr_t)lambda : NULL };
  PERP_TRY(perp_lcp_problem_copy(work->ctx, &view, &now->part[now->n_parts]));
  now->n_parts++;
  return PERP_OK;
}

static void harvest_sequence_see(void *user, const perp_contact_place *place, const perp_lcp *lcp,
                                 const double *lambda, const perp_stats *stats)
{
  gather *work = user;
  (void)stats;
  if (work->status == PERP_OK) work->status = harvest_sequence_take(work, place, lcp, lambda);
}

static int harvest_sequence_by_id(const void *a, const void *b)
{
  const member *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* What the rows of `now` have of those of `before`, whose contacts come by id.  Returns how many.
 */
static int harvest_sequence_carries(const posed *before, const posed *now, perp_lcp_carry *carry)
{
  const double scale = now->h / before->h;
  const int contact = now->per_contact;
  int n = 0;
  for (int c = 0; c < now->n; c++) {
    const member *to = &now->contact[c], key = { .id = to->origin };
    const member *from = to->origin == PERP_NO_ORIGIN || before->n == 0
                             ? NULL
                             : bsearch(&key, before->contact, (size_t)before->n,
                                       sizeof *before->contact, harvest_sequence_by_id);
    for (int i = 0; i < contact && from != NULL; i++)
      for (int j = 0; j < contact; j++) {
        const double *x = to->frame + 3 * i, *y = from->frame + 3 * j;
        const double c_ij = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
        /* what is left of directions that are perpendicular is rounding */
        if (fabs(c_ij) > 8 * DBL_EPSILON)
          carry[n++] = (perp_lcp_carry){ to->row + i, from->row + j, scale * c_ij };
      }
  }
  return n;
}

static perp_status harvest_sequence_join(perp_ctx *ctx, const posed *before, posed *now, double t,
                                         int64_t step, const perp_harvest_wish *wish, int number,
                                         perp_lcp_problem *out)
{
  PERP_TRY(perp_lcp_join(ctx, now->part, now->n_parts, out));
  perp_lcp_carry *carry = perp_xalloc((size_t)(9 * now->n) + 1, sizeof *carry);
  const int n = number > 0 ? harvest_sequence_carries(before, now, carry) : 0;
  perp_status status = perp_lcp_problem_carry(ctx, out, number > 0 ? before->rows : 0, n, carry);
  free(carry);
  snprintf(out->sequence.name, sizeof out->sequence.name, "%.47s", wish->name);
  snprintf(out->family, sizeof out->family, "harvest-%.38s", wish->scene);
  out->sequence.number = number;
  if (status == PERP_OK)
    status = perp_lcp_problem_note(ctx, out, "perp lcp harvest %s: step %lld, t = %.6g s%s",
                                   wish->command, (long long)step, t,
                                   now->solved ? "" : "; not solved in the run");
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}

/* Steps until there are as many problems as wished for.  A step without a problem ends what has
 * begun. */
static perp_status harvest_sequence_march(perp_ctx *ctx, perp_sim *sim,
                                          const perp_harvest_wish *wish, perp_lcp_problem *all,
                                          int *n, int *islands)
{
  gather work = { .ctx = ctx, .tol = wish->tol, .call = -1 };
  posed before = { 0 };
  double t = 0;
  const double *q, *v;
  perp_step_info info;
  perp_status status = PERP_OK;
  if (!perp_sim_observe(sim, harvest_sequence_see, &work))
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "this scene has no contacts, or its formulation solves none: no problem to harvest");
  for (int64_t step = 1; *n < wish->n && t < wish->t_end * (1 - 1e-12); step++) {
    const double start = t;
    status = perp_sim_step(ctx, sim, wish->t_end, &info);
    if (status == PERP_OK) status = work.status;
    if (status != PERP_OK) break;
    if (info.reason < 0) {
      perp_say("the simulation ends at t = %g s: %s", t, perp_reason_name(info.reason));
      break;
    }
    perp_sim_state(sim, &t, &q, &v);
    if (work.now.n_parts == 0 && *n > 0) {
      perp_say("the sequence ends at t = %g s: a step without a problem", start);
      break;
    }
    if (work.now.n_parts > 0 && start >= wish->from * (1 - 1e-12)) {
      status = harvest_sequence_join(ctx, &before, &work.now, start, step, wish, *n, &all[*n]);
      if (status != PERP_OK) break;
      islands[(*n)++] = work.now.n_parts;
    }
    posed_free(&before);
    before = work.now;
    work.now = (posed){ 0 };
    if (before.n > 0)
      qsort(before.contact, (size_t)before.n, sizeof *before.contact, harvest_sequence_by_id);
  }
  perp_sim_observe(sim, NULL, NULL);
  posed_free(&before);
  posed_free(&work.now);
  return status;
}

static perp_status harvest_sequence_store(perp_ctx *ctx, const perp_harvest_wish *wish,
                                          perp_lcp_problem *problem, int of, int islands,
                                          perp_table *table)
{
  int born = 0, gone = 0;
  problem->sequence.of = of;
  if (problem->sequence.number > 0) PERP_TRY(perp_lcp_carry_count(ctx, problem, &born, &gone));
  char *path = perp_xprintf("%s/%s-%03d.lcp", wish->dir, wish->name, problem->sequence.number);
  perp_out out;
  perp_status status = perp_out_open(ctx, path, &out);
  if (status == PERP_OK) status = perp_lcp_write(ctx, problem, out.f);
  const perp_status closed = perp_out_close(ctx, &out, status == PERP_OK);
  if (status == PERP_OK) status = closed;
  char n[16], parts[16], b[16], d[16];
  snprintf(n, sizeof n, "%d", problem->p.n);
  snprintf(parts, sizeof parts, "%d", islands);
  snprintf(b, sizeof b, "%d", born);
  snprintf(d, sizeof d, "%d", gone);
  perp_table_row(table, (const char *const[]){ strrchr(path, '/') + 1, n, parts, b, d,
                                               problem->solution != NULL ? "yes" : "no" });
  free(path);
  return status;
}

perp_status perp_harvest_sequence(perp_ctx *ctx, perp_sim *sim, const perp_harvest_wish *wish)
{
  int n = 0, *islands = perp_xalloc((size_t)wish->n, sizeof *islands);
  perp_lcp_problem *all = perp_xalloc((size_t)wish->n, sizeof *all);
  perp_status status = harvest_sequence_march(ctx, sim, wish, all, &n, islands);
  if (status == PERP_OK && n < 2)
    status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "%s: %d step%s with contacts from t = %g s on: a sequence needs two",
                       wish->scene, n, n == 1 ? "" : "s", wish->from);
  if (status == PERP_OK) status = perp_make_dirs(ctx, wish->dir);
  perp_table table;
  perp_table_init(&table, "lrrrrl");
  perp_table_row(&table,
                 (const char *const[]){ "file", "rows", "islands", "born", "gone", "solved" });
  for (int i = 0; i < n && status == PERP_OK; i++)
    status = harvest_sequence_store(ctx, wish, &all[i], n, islands[i], &table);
  if (status == PERP_OK) {
    perp_table_print(&table, stdout);
    perp_say("%d problems of the sequence %s in %s", n, wish->name, wish->dir);
  }
  perp_table_free(&table);
  perp_lcp_sequence_free(all, n);
  free(islands);
  return status;
}
