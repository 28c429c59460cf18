/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the generators; not installed.  No function of the C library whose last digit may
 * differ from machine to machine (exp, log, sin ...) is used anywhere in them. */
#ifndef PERP_LCP_GENERATE_H
#define PERP_LCP_GENERATE_H

#include "solvers/lcp/problem.h"

/* Generators, by the file that has them; perp_lcp_family.kind. */
enum {
  /* generate_classic.c */
  PERP_GEN_MURTY1,
  PERP_GEN_MURTY2,
  PERP_GEN_FATHI,
  PERP_GEN_CSIZMADIA,
  PERP_GEN_KOSTREVA,
  PERP_GEN_BIMATRIX,
  PERP_GEN_HILBERT,
  PERP_GEN_TRIDIAG,
  PERP_GEN_AHN,
  PERP_GEN_HARKER_PANG,
  PERP_GEN_POISSON,
  PERP_GEN_NOSOL,
  PERP_GEN_TABLE, /* small problems written out, found by name */
  PERP_GEN_CLASSIC_END,
  /* generate_sparse.c, and those of the first file that have few numbers a row */
  PERP_GEN_PUT,
  PERP_GEN_OBSTACLE,
  PERP_GEN_BEARING,
  PERP_GEN_SPARSE_END,
  /* generate_random.c */
  PERP_GEN_SPD,
  PERP_GEN_SPD_DEGENERATE,
  PERP_GEN_PSD,
  PERP_GEN_SKEW,
  PERP_GEN_PMATRIX,
  PERP_GEN_COPOSITIVE,
  PERP_GEN_INFEASIBLE,
  PERP_GEN_BOXED,
  PERP_GEN_MIXED,
  PERP_GEN_RANDOM_END,
  /* generate_contact.c */
  PERP_GEN_CONTACT, /* found by name */
  PERP_GEN_WALL     /* the same */
};

perp_status perp_lcp_generate_classic(perp_ctx *ctx, const perp_lcp_family *family, int n,
                                      perp_rng *rng, perp_lcp_problem *out);
perp_status perp_lcp_generate_random(perp_ctx *ctx, const perp_lcp_family *family, int n,
                                     perp_rng *rng, perp_lcp_problem *out);
perp_status perp_lcp_generate_sparse(perp_ctx *ctx, const perp_lcp_family *family, int n,
                                     perp_lcp_problem *out);
double perp_lcp_sparse_memory(int n); /* bytes that it takes at most */
perp_status perp_lcp_generate_contact(perp_ctx *ctx, const perp_lcp_family *family, int n,
                                      bool factored, perp_rng *rng, perp_lcp_problem *out);

/* Walls: contacts of W x H, and the W x H nearest to a number of contacts or of boxes. */
int perp_lcp_wall_contacts(int W, int H);
int perp_lcp_wall_boxes(int W, int H);
void perp_lcp_wall_nearest(int contacts, int boxes, int *W, int *H);

#endif
