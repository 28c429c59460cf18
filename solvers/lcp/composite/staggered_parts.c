/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/composite/staggered_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void stagger_layout(void *ws, perp_arena *a)
{
  perp_stagger *S = ws;
  const size_t n = (size_t)S->max_n;
  double **const v[] = { &S->lo, &S->hi, &S->b, &S->lambda, &S->unit, &S->y };
  for (size_t k = 0; k < sizeof v / sizeof *v; k++) *v[k] = PERP_CARVE(a, double, n);
  S->contacts.ptr = PERP_CARVE(a, int, n + 1);
  PERP_INTS(a, n, &S->contacts.rows, &S->contacts.home, &S->index);
  S->second = PERP_CARVE(a, signed char, n);
  const size_t qp = S->qp ? n : 0;
  PERP_INTS(a, qp, &S->place, &S->local);
  S->slack = PERP_CARVE(a, signed char, qp);
  PERP_DOUBLES(a, qp, &S->f, &S->z, &S->g, &S->last, &S->bound);
}

void perp_stagger_close(perp_stagger *S)
{
  perp_stagger_part *parts[] = { &S->normal, &S->boxes, &S->cones, &S->pyramids };
  for (int k = 0; k < 4; k++) {
    perp_lcp_destroy(parts[k]->s);
    perp_spec_free(&parts[k]->spec);
  }
  perp_rows_close(&S->rows);
  perp_arena_free(&S->arena);
  free(S->A);
}

static perp_status stagger_part(perp_ctx *ctx, perp_stagger_part *part, const char *text)
{
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_lcp, text, &part->spec));
  const char *name = part->spec.d->name;
  if (strcmp(name, "staggered") == 0 || strcmp(name, "auto") == 0)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "staggered: '%s' cannot solve its normal or friction problem; use "
                     "minmap-newton, for example",
                     name);
  return PERP_OK;
}

/* solvers for max_nv columns; the one of Stewart-Trinkle friction is made with the first such
 * problem */
static perp_status stagger_solvers(perp_ctx *ctx, perp_stagger *S, int max_nv)
{
  perp_stagger_part *parts[] = { &S->normal, &S->boxes, &S->cones };
  for (int k = 0; k < 3; k++) {
    perp_lcp_destroy(parts[k]->s);
    parts[k]->s = NULL;
    PERP_TRY(perp_lcp_create(ctx, &parts[k]->spec, S->max_n, max_nv, &parts[k]->s));
  }
  S->max_nv = max_nv;
  return PERP_OK;
}

perp_status perp_stagger_open(perp_ctx *ctx, perp_stagger *S, int max_n, const char *normal,
                              const char *friction, bool qp)
{
  S->max_n = max_n;
  S->qp = qp;
  if (qp && friction[0] != '\0')
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "staggered: qp=true solves the friction problem itself: leave out friction=%s",
                     friction);
  PERP_TRY(stagger_part(ctx, &S->normal, normal));
  PERP_TRY(stagger_part(ctx, &S->boxes, friction[0] ? friction : "minmap-newton"));
  PERP_TRY(stagger_part(ctx, &S->cones, friction[0] ? friction : "cone-newton"));
  PERP_TRY(stagger_part(ctx, &S->pyramids, friction[0] ? friction : "lemke"));
  PERP_TRY(stagger_solvers(ctx, S, 0));
  PERP_TRY(perp_arena_layout(ctx, &S->arena, stagger_layout, S));
  return perp_rows_open(ctx, &S->rows, max_n);
}

/* ---- which rows ---- */

/* A_NN and, behind it, A_TT (with the slacks). */
static perp_status stagger_copy(perp_ctx *ctx, perp_stagger *S, const perp_lcp *p)
{
  const size_t n = (size_t)p->n, N = (size_t)S->first, T = n - N, need = N * N + T * T;
  if (need > S->cap_A) {
    free(S->A);
    S->cap_A = 0;
    S->A = malloc(need * sizeof *S->A);
    if (S->A == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "staggered: no memory for %d rows", p->n);
    S->cap_A = need;
  }
  double *to = S->A;
  for (size_t j = 0; j < n; j++) {
    const double *column = p->A + (size_t)S->index[j] * (size_t)p->lda;
    const size_t from = j < N ? 0 : N, end = j < N ? N : n;
    for (size_t i = from; i < end; i++) *to++ = column[S->index[i]];
  }
  return PERP_OK;
}

/* The rows of Stewart-Trinkle contacts, by part. */
static perp_status stagger_contacts(perp_ctx *ctx, perp_stagger *S, const perp_lcp *p,
                                    perp_stats *stats)
{
  const perp_stewart *c = &S->contacts;
  const perp_desc *friction = S->pyramids.spec.d;
  if (S->rows.friction) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK,
              "staggered does not serve Stewart-Trinkle rows and friction rows in one problem; use "
              "one kind only");
    return PERP_OK;
  }
  if (S->qp && !perp_stagger_qp_fits(S, p)) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK,
              "staggered: qp=true needs slacks with the same coefficients in rows and columns; use "
              "qp=false");
    return PERP_OK;
  }
  if (!S->qp && !(friction->caps & PERP_LCP_NONSYMMETRIC)) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK,
              "staggered: friction=%s does not serve Stewart-Trinkle rows, whose friction problem "
              "is not symmetric; use friction=lemke",
              friction->name);
    return PERP_OK;
  }
  for (int k = 0; k < c->contacts; k++)
    for (int i = c->ptr[k] + 1; i < c->ptr[k + 1]; i++) S->second[c->rows[i]] = 1;
  S->first = 0;
  for (int i = 0; i < p->n; i++)
    if (!S->second[i]) S->index[S->first++] = i;
  for (int i = 0, at = S->first; i < p->n; i++)
    if (S->second[i]) {
      if (S->qp) S->place[i] = at - S->first;
      S->index[at++] = i;
    }
  if (S->pyramids.s == NULL && !S->qp)
    PERP_TRY(perp_lcp_create(ctx, &S->pyramids.spec, S->max_n, 0, &S->pyramids.s));
  return stagger_copy(ctx, S, p);
}

perp_status perp_stagger_prepare(perp_ctx *ctx, perp_stagger *S, const perp_lcp *p,
                                 perp_stats *stats)
{
  PERP_TRY(perp_rows_prepare(ctx, &S->rows, p, 1));
  if (p->F != NULL && p->F->nv > S->max_nv) PERP_TRY(stagger_solvers(ctx, S, p->F->nv));
  PERP_TRY(perp_stewart_find(ctx, p, &S->contacts));
  for (int i = 0; i < p->n; i++) S->second[i] = S->rows.type[i] != PERP_ROW_BOUNDED;
  if (S->contacts.unclear) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK,
              "staggered: rows with a zero on the diagonal cannot be assigned to a contact; "
              "specify the contacts (contact_of) or use lemke");
    return PERP_OK;
  }
  return S->contacts.contacts > 0 ? stagger_contacts(ctx, S, p, stats) : PERP_OK;
}

/* ---- one round ---- */

static perp_status stagger_solve(perp_ctx *ctx, const perp_stagger *S,
                                 const perp_stagger_part *part, const perp_lcp *q, double tol,
                                 double *lambda, perp_stats *stats, bool *good)
{
  const double whole = S->rows.p->work;
  perp_lcp limited = *q;
  perp_stats inner;
  limited.work = whole > 0 ? fmax(whole - stats->work - S->rows.work, 1) : 0;
  PERP_TRY(perp_lcp_solve(ctx, part->s, &limited, tol, lambda, NULL, NULL, &inner));
  stats->matvecs += inner.matvecs;
  stats->work += inner.work;
  stats->factorizations += inner.factorizations;
  *good = *good && inner.reason == PERP_CONVERGED;
  if (inner.reason == PERP_UNSUITED) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK,
              "staggered: %s does not serve the %s problem; choose another solver for it",
              part->spec.d->name, part == &S->normal ? "normal" : "friction");
  }
  return PERP_OK;
}

/* Part k of a Stewart-Trinkle problem (0: N, 1: T).  tol is relative to the whole, what its solver
 * is asked for to the part, whose b is another. */
static perp_status stagger_stewart(perp_ctx *ctx, perp_stagger *S, const perp_lcp *p, int k,
                                   double tol, double *lambda, perp_stats *stats, bool *good)
{
  const perp_rows *R = &S->rows;
  const int n = p->n, m = k ? n - S->first : S->first;
  const int *row = S->index + (k ? S->first : 0);
  if (m == 0) return PERP_OK;
  double size = R->bnorm, part = 0, data = 0, part_data = 0;
  for (int i = 0; i < n; i++) {
    S->y[i] = S->second[i] == k ? 0 : lambda[i];
    size = fmax(size, fabs(lambda[i]));
    data = fmax(data, fabs(p->b[i]) * (p->unit != NULL ? p->unit[i] : 1));
  }
  perp_rows_A(&S->rows, S->y, S->b);
  stats->matvecs++;
  for (int i = 0; i < m; i++) { /* ascending, so that the places read are not yet overwritten */
    const int r = row[i];
    S->b[i] = S->b[r] + p->b[r];
    S->lambda[i] = lambda[r];
    S->lo[i] = R->lo[r];
    S->hi[i] = R->hi[r];
    S->unit[i] = p->unit != NULL ? p->unit[r] : 1;
    part = fmax(part, fabs(S->b[i]) / R->big[r]);
    part_data = fmax(part_data, fabs(S->b[i]) * S->unit[i]);
  }
  perp_lcp q = { .n = m,
                 .A = S->A + (k ? (size_t)S->first * (size_t)S->first : 0),
                 .lda = m,
                 .b = S->b,
                 .lo = k ? NULL : S->lo,
                 .hi = k ? NULL : S->hi,
                 .tol_data = 0.1 * p->tol_data,
                 .unit = p->unit != NULL ? S->unit : NULL,
                 .brief = p->brief };
  if (k && S->qp) { /* in units of the whole */
    perp_stagger_qp(S, &q, 0.1 * tol * size, 0.1 * q.tol_data * data, S->lambda, stats, good);
    for (int i = 0; i < m; i++) lambda[row[i]] = S->lambda[i];
    return PERP_OK;
  }
  if (part > size) tol = fmax(1e-15, tol * size / part);
  if (part_data > data && data > 0) q.tol_data *= data / part_data;
  PERP_TRY(stagger_solve(ctx, S, k ? &S->pyramids : &S->normal, &q, tol, S->lambda, stats, good));
  for (int i = 0; i < m; i++) lambda[row[i]] = S->lambda[i];
  return PERP_OK;
}

/* Both parts of a problem with friction rows, or the only one of a problem without. */
static perp_status stagger_rows(perp_ctx *ctx, perp_stagger *S, const perp_lcp *p, double tol,
                                double *lambda, perp_stats *stats, bool *good)
{
  const perp_rows *R = &S->rows;
  perp_lcp q = *p;
  bool cones = false;
  q.lo = S->lo;
  q.hi = S->hi;
  q.fric_of = NULL;
  q.mu = NULL;
  q.cone = NULL;
  q.tol_data = 0.1 * p->tol_data; /* b, and so the unit of the data, is that of the whole */
  for (int i = 0; i < p->n; i++) {
    S->lo[i] = S->second[i] ? lambda[i] : R->lo[i];
    S->hi[i] = S->second[i] ? lambda[i] : R->hi[i];
  }
  PERP_TRY(stagger_solve(ctx, S, &S->normal, &q, tol, lambda, stats, good));
  if (!R->friction || stats->reason == PERP_UNSUITED) return PERP_OK;
  for (int i = 0; i < p->n; i++) {
    cones = cones || R->type[i] == PERP_ROW_CONE;
    if (S->second[i])
      perp_rows_bounds(R, lambda, i, &S->lo[i], &S->hi[i]);
    else
      S->lo[i] = S->hi[i] = lambda[i];
  }
  if (cones) {
    q.fric_of = p->fric_of;
    q.mu = p->mu;
    q.cone = p->cone;
  }
  return stagger_solve(ctx, S, cones ? &S->cones : &S->boxes, &q, tol, lambda, stats, good);
}

perp_status perp_stagger_round(perp_ctx *ctx, perp_stagger *S, const perp_lcp *p, double tol,
                               double *lambda, perp_stats *stats, bool *good)
{
  *good = true;
  if (S->contacts.contacts == 0) return stagger_rows(ctx, S, p, tol, lambda, stats, good);
  PERP_TRY(stagger_stewart(ctx, S, p, 0, tol, lambda, stats, good));
  if (stats->reason == PERP_UNSUITED) return PERP_OK;
  if (!S->qp && (S->pyramids.spec.d->caps & PERP_LCP_CONE_BLOCKS)) {
    /* The friction of a Stewart-Trinkle problem by a solver that goes contact by contact: the
     * problem itself, in which the rows of N are fixed. */
    const perp_rows *R = &S->rows;
    perp_lcp q = *p;
    q.lo = S->lo;
    q.hi = S->hi;
    q.tol_data = 0.1 * p->tol_data;
    for (int i = 0; i < p->n; i++) {
      S->lo[i] = S->second[i] ? R->lo[i] : lambda[i];
      S->hi[i] = S->second[i] ? R->hi[i] : lambda[i];
    }
    return stagger_solve(ctx, S, &S->pyramids, &q, tol, lambda, stats, good);
  }
  return stagger_stewart(ctx, S, p, 1, tol, lambda, stats, good);
}
