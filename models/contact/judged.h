/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the contact models share; private to this folder: one problem solved, judged and counted. */
#ifndef PERP_CONTACT_JUDGED_H
#define PERP_CONTACT_JUDGED_H

#include "models/contact/contact.h"

/* Dense problems beyond this many rows are refused (PERP_UNSUITED): A alone would take 0.5 GB. */
enum { PERP_DENSE_ROWS = 8000 };

/* Up to this residual the impulses of a failed solve are used as they are, beyond it they are worth sweeps. */
#define PERP_USABLE 1e-3

/* Impulses of a failed solve with a larger gain, see below, throw bodies: they lose to any that do not. */
#define PERP_THROWN 10

/* Impulses that did not solve their problem: perp_judged_rating (or the residual) and perp_judged_gain. */
typedef struct perp_candidate {
  double rating, gain;
} perp_candidate;

/* rescue.c; grown when needed */
typedef struct perp_rescue {
  perp_lcp_solver *sweeps;
  int max_n, max_nv, cap_n;
  double *x, *w, *s, *w0, *none; /* [cap_n] */
  double *A;                     /* [cap_A] */
  size_t cap_A;
  perp_arena arena;
} perp_rescue;

typedef struct perp_judged {
  perp_contact_setup setup; /* its specs point to the two below */
  perp_spec lcp, fallback;
  perp_lcp_solver *solver[2];
  int max_n[2], max_nv[2]; /* what each was created for */
  /* Of models with unknowns that the impulses determine (NULL: none): bring lambda [n], an answer or guess, into the
   * form that is used, and return its residual with the row scales of the judge.  A residual is measured
   * against the largest unknown, which must not be one that means nothing. */
  double (*settle)(struct perp_judged *j, const perp_lcp *p, double *lambda);
  /* ... and perp_judged_gain of the impulses that lambda stands for. */
  double (*gain)(struct perp_judged *j, const perp_lcp *p, const double *lambda);
  perp_contact_observer *observer;
  void *user;
  perp_arena arena;
  double mass;         /* of the island, see contact.h */
  perp_candidate left; /* of the last problem that no solver solved */
  int cap_n, cap_nv;
  double *guess, *best;          /* [cap_n] */
  double *w, *w0, *none, *a;     /* [cap_n] */
  double *scratch;               /* [2 cap_nv] */
  double *lo, *hi, *mu, *lambda; /* [cap_n], of the models */
  int *fric_of;
  signed char *cone;
  perp_rescue rescue;
} perp_judged;

perp_status perp_judged_open(perp_ctx *ctx, const perp_contact_setup *setup, perp_judged *j);
void perp_judged_close(perp_judged *j);
/* For models with nothing of their own: create and destroy a workspace that is a perp_judged.  name stands in
 * the message when there is no memory. */
perp_status perp_judged_new(perp_ctx *ctx, const perp_contact_setup *setup, const char *name,
                            void **ws);
void perp_judged_free(void *ws); /* NULL is fine */
/* observe of all models: ws begins with its perp_judged. */
void perp_judged_observe(void *ws, perp_contact_observer *observer, void *user);
/* Room for n rows and nv columns of J.  Allocates only when that is more than ever; the arrays then lose
 * their contents. */
perp_status perp_judged_reserve(perp_ctx *ctx, perp_judged *j, int n, int nv);
/* Is lambda a solution already, to the tolerance `accept`?  With the row scales a [n] of the caller, which
 * should not be larger than those of the judge, and w = A lambda + b.  The residual is measured against the
 * largest impulse; so that light bodies under heavy ones keep still, it must also be small as a velocity:
 * ten times the tolerance, of the largest |b|. */
bool perp_judged_reuse(const perp_lcp *p, double accept, const double *a, const double *lambda,
                       const double *w, double *rel, perp_contact_count *count);
/* Of impulses that no solver found good: the residual, or, where that is more, PERP_USABLE times its largest row as a
 * velocity over the largest |b|.  What is nothing beside the impulses of heavy bodies may throw a light one. */
double perp_judged_rating(const perp_lcp *p, const double *a, const double *lambda,
                          const double *w);
/* How far beyond what the contacts ask for impulses go.  With the least impulses lambda_0 = clamp(0, lo, hi) and
 * w_0 = A lambda_0 + b, the larger one of
 *
 *      max_i |w - w_0|_i / s,     sqrt(max(K, W) / max(E, mass s^2 / 2)),     s = max_i |w_0|_i,
 *      K = |(lambda - lambda_0)' (w - w_0)| / 2,     W = sum_i max((lambda - lambda_0)_i w_i, 0),
 *      E = sum_i a_i r_i^2 / 2,     r the natural map at lambda_0:
 *
 * changes of velocity at the contacts; and, as a ratio of velocities, the kinetic energy of the change or what the
 * rows feed in, over what each contact alone would need, or all bodies of the island at the speed s (a light body
 * that carries a heavy one: the contact of the light one knows nothing of it).  A solution has W = 0, as each row is
 * complementary, hence K + b' lambda <= -K (lambda_0 = 0): the bodies gain at most the work -bias' lambda that gaps
 * and stabilization ask for.  Of contacts that contradict each other that bound says nothing: impulses along z >= 0,
 * A z = 0, b' z < 0 may be of any size, and bodies are thrown by their rounding.  So it is K itself that is
 * measured.  0 where lambda changes nothing; infinite where w is not finite.  none, w0 [n] and scratch [2 nv] are
 * written.  O(n) where zero is within the bounds, else a product. */
double perp_judged_gain(const perp_lcp *p, const double *a, double mass, const double *lambda,
                        const double *w, double *none, double *w0, double *scratch);
/* Is `now` better than `best`?  Of two that throw bodies the one that throws less, of two that do not the one
 * with the smaller rating. */
bool perp_judged_better(perp_candidate now, perp_candidate best);
/* Can x be used as it is, with a rating of at most `enough`? */
bool perp_judged_useful(perp_candidate x, double enough);
/* The same for a problem whose rows are those of the island: scales are the diagonal of A. */
bool perp_judged_good(perp_judged *j, const perp_lcp *p, const perp_contact_island *island,
                      const double *lambda, double *rel, perp_contact_count *count);
/* Solve from the guess lambda, whose residual with the row scales j->a is `rel`; on failure the second solver,
 * and in the end the best of the three, or what rescue makes of it.  lambda [n] out, finite. */
perp_status perp_judged_solve(perp_ctx *ctx, perp_judged *j, const perp_lcp *p, double rel,
                              double *lambda, perp_contact_count *count);
/* Its parts, for models whose rows are not those of the island.  stats out: the reason of the last solver, and the
 * residual of lambda. */
perp_status perp_judged_attempt(perp_ctx *ctx, perp_judged *j, const perp_lcp *p, double rel,
                                double *lambda, perp_stats *stats, perp_contact_count *count);
/* ... does the answer ask for rescue? */
bool perp_judged_unusable(const perp_judged *j, const perp_stats *stats);
/* ... count and show the answer that is used. */
void perp_judged_used(perp_judged *j, const perp_lcp *p, const double *lambda,
                      const perp_stats *stats, perp_contact_count *count);
/* Better impulses than lambda [n], by their rating with the row scales a [n], where there are any, by sweeps.  lambda
 * and *count in and out, *rel out: the residual.  See rescue.c. */
perp_status perp_judged_rescue(perp_ctx *ctx, perp_judged *j, const perp_lcp *p, const double *a,
                               double *lambda, double *rel, perp_contact_count *count);
void perp_rescue_close(perp_rescue *r);

#endif
