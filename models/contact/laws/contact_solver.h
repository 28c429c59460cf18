/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the contact models share; private to this folder: one problem solved, judged and counted. */
#ifndef PERP_CONTACT_CONTACT_SOLVER_H
#define PERP_CONTACT_CONTACT_SOLVER_H

#include "models/contact/laws/contact.h"
#include "solvers/lcp/gain.h"

/* Dense problems beyond this many rows are refused (PERP_UNSUITED): A alone would take 0.5 GB. */
enum { PERP_DENSE_ROWS = 8000 };

typedef struct perp_contact_solver {
  perp_contact_setup setup; /* its spec points to the one below */
  perp_spec lcp;
  perp_lcp_solver *solver;
  int max_n, max_nv; /* what it was created for */
  /* Of models with unknowns that the impulses determine (NULL: none): bring lambda [n], an answer
   * or guess, into the form that is used, with a [n] the row scales of the judge.  A residual is
   * measured against the largest unknown, which must not be one that means nothing. */
  void (*settle)(struct perp_contact_solver *j, const perp_lcp *p, double *lambda);
  /* ... and perp_lcp_gain of the impulses that lambda stands for. */
  double (*gain)(struct perp_contact_solver *j, const perp_lcp *p, const double *lambda);
  perp_contact_observer *observer;
  void *user;
  perp_arena arena;
  double mass; /* of the island, see contact.h */
  double rel;  /* residual of the guess */
  int cap_n, cap_nv;
  double *best, *first;          /* [cap_n] */
  double *w, *w0, *none, *a;     /* [cap_n] */
  double *unit;                  /* [cap_n], of the models */
  double *scratch;               /* [PERP_LCP_SCRATCH] */
  double *lo, *hi, *mu, *lambda; /* [cap_n], of the models */
  int *fric_of, *contact_of;     /* [cap_n], of the models */
  signed char *cone;
} perp_contact_solver;

perp_status perp_contact_solver_open(perp_ctx *ctx, const perp_contact_setup *setup,
                                     perp_contact_solver *j);
void perp_contact_solver_close(perp_contact_solver *j);
/* Create and destroy a workspace of `size` bytes that begins with a perp_contact_solver, zeros
 * behind it.  name stands in the message when there is no memory. */
perp_status perp_contact_solver_new(perp_ctx *ctx, const perp_contact_setup *setup,
                                    const char *name, size_t size, void **ws);
void perp_contact_solver_free(void *ws); /* NULL is fine */
/* observe of all models: ws begins with its perp_contact_solver. */
void perp_contact_solver_observe(void *ws, perp_contact_observer *observer, void *user);
/* Room for n rows and nv columns of J.  Allocates only when that is more than ever; the arrays then
 * lose their contents. */
perp_status perp_contact_solver_reserve(perp_ctx *ctx, perp_contact_solver *j, int n, int nv);
/* Room for n * n numbers at *A, which has *cap; they are lost. */
perp_status perp_contact_solver_square(perp_ctx *ctx, double **A, size_t *cap, int n);
/* The problem of an island with r rows a contact: its normal row, then its friction rows, at the
 * end the joints.  Room as by perp_contact_solver_reserve. */
perp_status perp_contact_solver_rows(perp_ctx *ctx, perp_contact_solver *j,
                                     const perp_contact_island *island, int r, perp_lcp *p);
/* Is lambda a solution already, to the tolerance `accept` and that of the data?  With the row
 * scales a [n] of the caller, which should not be larger than those of the judge, and w = A lambda
 * + b.  An answer that is used again leaves again what it left, step after step: so that light
 * bodies under heavy ones keep still, that must be at most ten times `accept` in units of the data,
 * too. */
bool perp_contact_solver_reuse(perp_contact_solver *j, const perp_lcp *p, double accept,
                               const double *a, const double *lambda, const double *w, double *rel,
                               perp_contact_count *count);
/* The same for a problem whose rows are those of the island: scales are the diagonal of A. */
bool perp_contact_solver_good(perp_contact_solver *j, const perp_lcp *p,
                              const perp_contact_island *island, const double *lambda, double *rel,
                              perp_contact_count *count);
/* Solve from the guess lambda, whose residual with the row scales j->a is `rel` and whose w is in
 * j->w, and count.  Of a failed solve the better one of guess and answer is kept (perp_lcp_better),
 * unless the solver chooses itself.  lambda [n] out, finite. */
perp_status perp_contact_solver_solve(perp_ctx *ctx, perp_contact_solver *j, const perp_lcp *p,
                                      const perp_contact_island *island, double rel, double *lambda,
                                      perp_contact_count *count);
/* The same for a problem whose rows are those of the island; a guess that is `good` is the
 * answer. */
perp_status perp_contact_solver_answer(perp_ctx *ctx, perp_contact_solver *j, const perp_lcp *p,
                                       const perp_contact_island *island, double *lambda,
                                       perp_contact_count *count);
/* A problem that is too large for its matrix: a failure with the guess as its answer. */
void perp_contact_solver_refused(const perp_stats *stats, perp_contact_count *count);

#endif
