/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Complementarity problems that were not solved: is there a solution, and how is A scaled? */
#include "experiments/why/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONTACT_ROWS = 400, CONTACT_PROBLEMS = 4 };
static const double CONTACT_ZERO = 1e-11, /* of the largest singular value */
    CONTACT_PART = 1e-3,                  /* of the largest entry of a certificate: a row of it */
    CONTACT_WORK = 2e9;                   /* multiply-adds of the search for a solution */

/* s [n]: rows and columns times s are near 1 (Ruiz). */
static void contact_scale(int n, double *A)
{
  double *row = perp_xalloc(2 * (size_t)n, sizeof *row), *column = row + n;
  for (int pass = 0; pass < 8; pass++) {
    memset(row, 0, 2 * (size_t)n * sizeof *row);
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) {
        const double a = fabs(A[i + (size_t)n * (size_t)j]);
        row[i] = fmax(row[i], a);
        column[j] = fmax(column[j], a);
      }
    for (int i = 0; i < 2 * n; i++) row[i] = row[i] > 0 ? 1 / sqrt(row[i]) : 1;
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) A[i + (size_t)n * (size_t)j] *= row[i] * column[j];
  }
  free(row);
}

void perp_why_condition(perp_ctx *ctx, const perp_lcp *lcp, double *condition, double *scaled,
                        int *rank, perp_why_places *rows)
{
  const int n = lcp->n;
  perp_lcp_problem given = { 0 }, dense = { 0 };
  bool finite = false;
  if (n == 0 || n > CONTACT_ROWS || perp_lcp_check(ctx, lcp, &finite) != PERP_OK || !finite ||
      perp_lcp_copy(ctx, lcp, &given) != PERP_OK)
    return;
  if (perp_lcp_problem_form(ctx, &given, &dense) == PERP_OK) {
    const size_t nn = (size_t)n * (size_t)n;
    double *A = perp_xalloc(3 * nn + 2 * (size_t)n, sizeof *A), *B = A + nn, *U = B + nn,
           *raw = U + nn, *sigma = raw + n;
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        A[i + (size_t)n * (size_t)j] = B[i + (size_t)n * (size_t)j] = perp_lcp_entry(&dense.p, i,
                                                                                     j);
    contact_scale(n, B);
    if (perp_why_svd(n, n, A, raw, NULL) && perp_why_svd(n, n, B, sigma, U) && sigma[0] > 0) {
      int r = 0;
      while (r < n && sigma[r] > CONTACT_ZERO * sigma[0]) r++;
      *scaled = sigma[0] / sigma[r - 1];
      *condition = raw[r - 1] > 0 ? raw[0] / raw[r - 1] : HUGE_VAL;
      *rank = r;
      double largest = 0;
      const double *u = U + (size_t)n * (size_t)(n - 1);
      for (int i = 0; i < n; i++) largest = fmax(largest, fabs(u[i]));
      for (int i = 0; i < n && rows != NULL && r < n; i++) {
        char text[PERP_WHY_PLACE];
        snprintf(text, sizeof text, "row %d", i);
        if (fabs(u[i]) > 0.1 * largest) perp_why_place(rows, text);
      }
    }
    free(A);
  }
  perp_lcp_problem_free(&dense);
  perp_lcp_problem_free(&given);
}

static const char *contact_body(const perp_model *model, int body, char *buf, size_t size)
{
  const char *name = body >= 0 ? perp_model_body(model, body)->name : "world";
  if (name != NULL)
    snprintf(buf, size, "%.28s", name);
  else
    snprintf(buf, size, "body %d", body);
  return buf;
}

void perp_why_pair(const perp_model *model, const perp_contact *contact, perp_why_places *pairs)
{
  char a[32], b[32], text[PERP_WHY_PLACE];
  const int first = contact->body[0] < contact->body[1];
  snprintf(text, sizeof text, "%s and %s", contact_body(model, contact->body[!first], a, sizeof a),
           contact_body(model, contact->body[first], b, sizeof b));
  perp_why_place(pairs, text);
}

/* The pair of bodies of row i. */
static void contact_pair(const perp_model *model, const perp_contact_place *place,
                         const perp_lcp *lcp, int i, perp_why_places *pairs)
{
  char text[PERP_WHY_PLACE];
  int c = -1;
  if (place != NULL && lcp->contact_of != NULL && lcp->contact_of[i] >= 0)
    c = lcp->contact_of[i];
  else if (place != NULL && place->rows > 0 && lcp->contact_of == NULL &&
           i < place->nc * place->rows)
    c = i / place->rows;
  if (place == NULL)
    snprintf(text, sizeof text, "row %d", i);
  else if (c < 0 || c >= place->nc)
    snprintf(text, sizeof text, "a joint, limit or motor");
  else {
    perp_why_pair(model, &place->contact[place->order[c]], pairs);
    return;
  }
  perp_why_place(pairs, text);
}

void perp_why_contact(perp_ctx *ctx, const perp_model *model, const perp_contact_place *place,
                      const perp_lcp *lcp, double t, perp_why_evidence *evidence)
{
  if (evidence->contact.examined >= CONTACT_PROBLEMS || lcp->n > CONTACT_ROWS) return;
  if (evidence->contact.examined == 0) {
    evidence->contact.t_first = t;
    evidence->contact.n = lcp->n;
    perp_why_condition(ctx, lcp, &evidence->contact.condition, &evidence->contact.scaled,
                       &evidence->contact.rank, NULL);
  }
  evidence->contact.examined++;
  if (evidence->contact.infeasible > 0) return;
  perp_lcp whole = *lcp;
  whole.brief = false; /* a proof is wanted */
  whole.tol = 0;
  whole.work = CONTACT_WORK;
  whole.known = NULL;
  perp_spec spec = { 0 };
  perp_lcp_solver *solver = NULL;
  perp_stats stats = { 0 };
  const int n = lcp->n, nv = lcp->F != NULL ? lcp->F->nv : 0;
  double *lambda = perp_xalloc((size_t)n, sizeof *lambda);
  if (perp_spec_parse(ctx, PERP_KIND_lcp, "auto", &spec) == PERP_OK &&
      perp_lcp_create(ctx, &spec, n, nv, &solver) == PERP_OK &&
      perp_lcp_solve(ctx, solver, &whole, 1e-8, lambda, NULL, NULL, &stats) == PERP_OK) {
    const perp_lcp_proof proof = perp_lcp_proved(solver);
    const double *z = perp_lcp_certificate(solver);
    evidence->contact.infeasible += proof == PERP_PROOF_INFEASIBLE || proof == PERP_PROOF_EXCLUDED;
    evidence->contact.within += proof == PERP_PROOF_WITHIN;
    double largest = 0;
    for (int i = 0; z != NULL && i < n; i++) largest = fmax(largest, fabs(z[i]));
    for (int i = 0; z != NULL && proof != PERP_PROOF_RAY && i < n; i++)
      if (fabs(z[i]) > CONTACT_PART * largest)
        contact_pair(model, place, lcp, i, &evidence->contact.pairs);
  }
  perp_lcp_destroy(solver);
  perp_spec_free(&spec);
  free(lambda);
}

void perp_why_solve(perp_ctx *ctx, const perp_why_subject *subject, perp_why_evidence *evidence)
{
  perp_lcp lcp = subject->problem->p;
  const int n = lcp.n, nv = lcp.F != NULL ? lcp.F->nv : 0;
  perp_spec spec = { 0 };
  perp_lcp_solver *solver = NULL;
  perp_stats stats = { 0 };
  perp_lcp_judgement judgement;
  double *lambda = perp_xalloc(2 * (size_t)n + 1, sizeof *lambda), *w = lambda + n;
  lcp.tol_data = subject->tol_data;
  evidence->lcp.n = n;
  evidence->lcp.residual = NAN;
  const char *name = subject->part[PERP_PART_LCP];
  evidence->status = perp_spec_parse(ctx, PERP_KIND_lcp, name[0] != '\0' ? name : "auto", &spec);
  if (evidence->status == PERP_OK) evidence->status = perp_lcp_affords_form(ctx, spec.d, &lcp);
  if (evidence->status == PERP_OK) evidence->status = perp_lcp_create(ctx, &spec, n, nv, &solver);
  if (evidence->status == PERP_OK && subject->equilibrate)
    evidence->status = perp_lcp_equilibrate(ctx, solver, true);
  if (spec.d != NULL) perp_spec_format(&spec, evidence->part[PERP_PART_LCP], PERP_SPEC_MAX);
  const double start = perp_clock_thread();
  ctx->msg[0] = '\0';
  if (evidence->status == PERP_OK)
    evidence->status = perp_lcp_solve(ctx, solver, &lcp, subject->tol, lambda, w, &judgement,
                                      &stats);
  evidence->cpu = evidence->lcp.seconds = perp_clock_thread() - start;
  if (evidence->status != PERP_OK || stats.reason == PERP_UNSUITED)
    snprintf(evidence->message, sizeof evidence->message, "%s", ctx->msg);
  if (evidence->status == PERP_OK) {
    evidence->reason = stats.reason;
    evidence->lcp.residual = perp_lcp_residual(&lcp, &judgement);
    evidence->lcp.work = stats.work;
    evidence->iterations = stats.iterations;
    evidence->problems = 1;
    const bool solved = stats.reason == PERP_CONVERGED || stats.reason == PERP_SWEEPS_DONE;
    evidence->failures = !solved;
    if (!solved && stats.reason < 0 && -stats.reason < PERP_REASONS)
      evidence->failed[-stats.reason] = 1;
    snprintf(evidence->ended, sizeof evidence->ended, "%s", solved ? "solved" : "not solved");
    snprintf(evidence->why, sizeof evidence->why, "%s", perp_reason_name(stats.reason));
    if (!solved) {
      perp_why_contact(ctx, NULL, NULL, &subject->problem->p, 0, evidence);
      evidence->lcp.proved = evidence->contact.infeasible > 0;
      /* rows instead of pairs */
      perp_why_condition(ctx, &lcp, &evidence->contact.condition, &evidence->contact.scaled,
                         &evidence->contact.rank, &evidence->jacobian.rows);
    }
  }
  perp_lcp_destroy(solver);
  perp_spec_free(&spec);
  free(lambda);
}
