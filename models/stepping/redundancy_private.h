/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pivots of redundant constraints: see redundancy_decide.c. */
#ifndef PERP_REDUNDANCY_PRIVATE_H
#define PERP_REDUNDANCY_PRIVATE_H

#include "models/multibody/model_private.h"
#include "models/stepping/redundancy.h"
#include "solvers/kkt/kkt.h"

struct perp_redundancy {
  perp_model view;
  const perp_model *model;
  perp_dropped dropped;
  perp_redundant report;
  double *softness; /* [m] of the view */
  perp_eval e;      /* all rows */
  double h, length;
  bool accelerations; /* the formulation looks for them: J a = -Jdot v */
  /* state of the decisions */
  bool decided;
  double t, moved, margin; /* moved: since the last decision, in turns of the size of the model */
  int64_t step;
  /* joints that form a forest, factored as they are */
  struct {
    perp_blocks blocks;
    perp_kkt_solver *solver;
    int nf, mf; /* its joints and rows */
    int *joint; /* [nf] */
    int *cptr, *jptr, *jblk, *joff, *jgrp, *tptr, *tsub;
    double *M, *Minv, *J, *s; /* s [mf] */
  } forest;
  /* rows that close loops, k of them */
  struct {
    int k, rank;
    int *row, *group, *order;   /* [k] order: of the pivots */
    bool *out, *used;           /* [k] */
    double *G, *P, *N;          /* [k k], [mf k], [m k] */
    double *pivot, *y;          /* [k] */
    int *drop_row, *drop_joint; /* [k] */
  } loops;
  bool *compliant;               /* [m] */
  double *d;                     /* [m] diagonal of J M^-1 J' */
  double *f, *a, *zero, *lambda; /* [nv], [nv], [mf], [m] */
  double *q;                     /* [nq] */
};

/* d, G (scaled) and P at the state of e.  *reason < 0: of the forest, no pivots.  O(N k + k^2). */
perp_status perp_redundancy_analyse(perp_ctx *ctx, perp_redundancy *redundancy,
                                    perp_reason *reason);
/* rank, order, used and, unless fixed, margin: the rows that take part at an error delta; fixed:
 * those that do.  O(k^3). */
void perp_redundancy_choose(perp_redundancy *redundancy, bool fixed, double delta);
/* Null vectors of J' into the first columns of N, one for each row that is not used, in their
 * order. */
void perp_redundancy_null(perp_redundancy *redundancy);
/* dropped.n columns of N become orthonormal. */
void perp_redundancy_orthonormal(perp_redundancy *redundancy);

#endif
