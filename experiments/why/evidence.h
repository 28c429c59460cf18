/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is measured in the process of the run. */
#ifndef PERP_WHY_EVIDENCE_H
#define PERP_WHY_EVIDENCE_H

#include "experiments/simulate/simulate_run.h"
#include "experiments/why/why.h"

enum { PERP_WHY_STATES = 5 };
/* States of the run at which its step is linearized. */
typedef struct perp_why_states {
  int n, nq, nv;
  double t[PERP_WHY_STATES];
  double *q[PERP_WHY_STATES], *v[PERP_WHY_STATES]; /* owned */
} perp_why_states;

/* Rank and condition of J at a state of the model, by a singular value decomposition.  Returns the
 * least sine; NaN: no rows, or more than 300.  O(m^2 nv).  Allocates. */
double perp_why_rank(perp_model *model, double t, const double *q, perp_why_evidence *e);
/* sigma [n] the singular values of A [n n], falling; U [n n] (NULL: not wanted) left vectors;
 * A is destroyed.  false: no convergence, no memory. */
bool perp_why_svd(int rows, int columns, double *A, double *sigma, double *U);

/* Eigenvalues of the step of the run, and of the equations of motion, at these states; of a run
 * that stopped at once some are added. */
void perp_why_linearize(perp_ctx *ctx, const perp_request *request, perp_why_states *states,
                        double seconds, perp_why_evidence *e);

/* A contact problem that was not solved: has it a solution?  model: for names. */
void perp_why_contact(perp_ctx *ctx, const perp_model *model, const perp_contact_place *place,
                      const perp_lcp *lcp, double t, perp_why_evidence *e);
/* Contacts at a state of the model that cannot be separated, as perp_why_contact. */
void perp_why_gaps(perp_ctx *ctx, perp_model *model, double t, const double *q,
                   perp_why_evidence *e);
/* Which bodies touch, in place of the pairs of a certificate whose rows have no contacts. */
void perp_why_touching(perp_ctx *ctx, perp_model *model, const double *q, perp_why_evidence *e);
void perp_why_pair(const perp_model *model, const perp_contact *contact, perp_why_places *pairs);
/* Condition numbers of a dense, sparse or factored A as it is and with its rows and columns
 * scaled; rank.  Nothing beyond 400 rows. */
void perp_why_condition(perp_ctx *ctx, const perp_lcp *lcp, double *condition, double *scaled,
                        int *rank, perp_why_places *rows);

/* Solve the problem of subject; figures and proofs. */
void perp_why_solve(perp_ctx *ctx, const perp_why_subject *subject, perp_why_evidence *e);

void perp_why_add_figure(perp_why_evidence *e, const perp_why_limits *limits, const char *name,
                         double value, double limit);

#endif
