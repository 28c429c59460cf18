/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Complementarity problems that own their data: generated, read from files, converted, harvested. */
#ifndef PERP_LCP_PROBLEM_H
#define PERP_LCP_PROBLEM_H

#include "solvers/lcp/lcp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of a problem (bits; a missing bit means unknown). */
enum {
  PERP_CLASS_SYMMETRIC = 1 << 0,
  PERP_CLASS_PSD = 1 << 1,        /* x'Ax >= 0 */
  PERP_CLASS_PD = 1 << 2,         /* x'Ax > 0 */
  PERP_CLASS_P = 1 << 3,          /* principal minors > 0: one solution for every b */
  PERP_CLASS_COPOSITIVE = 1 << 4, /* x'Ax >= 0 for x >= 0 */
  PERP_CLASS_Z = 1 << 5,          /* off-diagonal <= 0 */
  PERP_CLASS_BIMATRIX = 1 << 6,   /* [0 A; B' 0], A, B > 0, b = -1 */
  PERP_CLASS_SOLVABLE = 1 << 7,
  PERP_CLASS_UNSOLVABLE = 1 << 8,
  PERP_CLASS_DEGENERATE = 1 << 9 /* some solution has lambda at a bound and w = 0 there */
};

typedef struct perp_lcp_problem {
  perp_lcp p;                    /* view on the storage below */
  unsigned classes;              /* PERP_CLASS_* */
  char family[48];               /* "stack", "fclib", ...; "" when unknown */
  char *provenance;              /* where it comes from, one line; may be NULL */
  double *solution;              /* [n] one known solution, NULL when none is known */
  void *storage, *block_storage; /* owned */
} perp_lcp_problem;

/* Parts to allocate in perp_lcp_problem_new; lo = 0, hi = inf, fric_of = contact_of = -1, mu = cone = 0, unit = 1 to begin with. */
enum {
  PERP_PART_A = 1 << 0,
  PERP_PART_BOUNDS = 1 << 1,
  PERP_PART_FRICTION = 1 << 2,
  PERP_PART_CONE = 1 << 3,
  PERP_PART_SOLUTION = 1 << 4,
  PERP_PART_UNIT = 1 << 5,
  PERP_PART_CONTACTS = 1 << 6
};

/* Empty problem of n rows, all numbers zero.  PERP_ERR_DIM when n < 0, PERP_ERR_NOMEM when it does not fit memory;
 * *out is then empty, as it is after a failure of the functions below.  The arrays of p->p may be written through
 * perp_lcp_edit. */
perp_status perp_lcp_problem_new(perp_ctx *ctx, int n, unsigned parts, perp_lcp_problem *out);
void perp_lcp_problem_free(perp_lcp_problem *p); /* leaves an empty problem; NULL allowed */
/* Deep copy of a view or of a whole problem; family, provenance and solution included for the latter.
 * PERP_ERR_NOMEM. */
perp_status perp_lcp_copy(perp_ctx *ctx, const perp_lcp *p, perp_lcp_problem *out);
perp_status perp_lcp_problem_copy(perp_ctx *ctx, const perp_lcp_problem *p, perp_lcp_problem *out);
/* provenance = printf(...), owned.  PERP_ERR_NOMEM leaves it as it was. */
perp_status perp_lcp_problem_note(perp_ctx *ctx, perp_lcp_problem *p, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Writable pointers to the arrays of an owned problem (NULL where the part is absent). */
typedef struct perp_lcp_arrays {
  double *A, *b, *lo, *hi, *mu, *unit, *solution;
  int *fric_of, *contact_of;
  signed char *cone;
} perp_lcp_arrays;
perp_lcp_arrays perp_lcp_edit(perp_lcp_problem *p);

/* Give p the factored form of F (deep copy, m = n); p has no dense A.  PERP_ERR_DIM: another number of rows;
 * PERP_ERR_NOMEM. */
perp_status perp_lcp_problem_set_blocks(perp_ctx *ctx, perp_lcp_problem *p, const perp_blocks *F);
/* *out = p with a dense A (deep copy; a dense p is just copied).  PERP_ERR_NOMEM.  O(n^2), and the cost of
 * perp_blocks_delassus. */
perp_status perp_lcp_problem_form(perp_ctx *ctx, const perp_lcp_problem *p, perp_lcp_problem *out);
/* Reorder rows and columns: new row k is old row perm[k].  PERP_ERR_UNSUPPORTED: factored; PERP_ERR_ARG: no
 * permutation, or one that separates the two rows of a cone; PERP_ERR_NOMEM.  *p is then unchanged. */
perp_status perp_lcp_problem_permute(perp_ctx *ctx, perp_lcp_problem *p, const int *perm);
/* (A, b) -> s (A, b), s > 0: the solutions stay. */
void perp_lcp_problem_scale(perp_lcp_problem *p, double s);

/* ---- generators: generate*.c ----------------------------------------------------------------- */

typedef struct perp_lcp_recipe {
  const char *family; /* see perp_lcp_family_at */
  int n;              /* rows, or 0: take boxes */
  int boxes;          /* boxes of a contact family, 0: from n */
  uint64_t seed;
  bool permute;  /* random symmetric permutation (dense result) */
  bool factored; /* keep J M^-1 J' + S where the family has it */
  double scale;  /* (A, b) times this; 0 = 1 */
} perp_lcp_recipe;

typedef struct perp_lcp_family {
  const char *name, *summary;
  int least, most, step; /* valid n: least, least + step, ... most (walls: some of them) */
  bool contact;          /* boxes are meaningful */
  bool factored;         /* has a factored form */
  bool seeded;           /* the seed matters without permutation */
  unsigned classes;
  int kind; /* of the generator */
} perp_lcp_family;

const perp_lcp_family *perp_lcp_family_at(int i); /* NULL past the end */
const perp_lcp_family *perp_lcp_family_find(const char *name);
/* The valid number of rows nearest to n, and the one of a contact family nearest to a number of boxes. */
int perp_lcp_family_rows(const perp_lcp_family *f, int n);
int perp_lcp_family_rows_of_boxes(const perp_lcp_family *f, int boxes);
/* Make a problem, identical on every machine for the same recipe.  PERP_ERR_OPTION for an unknown family
 * (with the closest name) or a number of rows that the family does not have (with the valid ones).
 *
 * Contact families: unit cubes of 1 kg, g = 9.81 m/s^2, h = 0.01 s, at rest at the start of the step,
 * touching exactly; 4 contact points (the corners of the overlap) an interface; b = J (v + h g), lambda
 * in N s, w in m/s.  mu = 0.5.  A stack has its cubes on top of each other; a wall W x H has H rows of W
 * and W - 1 cubes in turn (running bond) with W <= 2 H, H <= 2 W: 4 W + 8 (H - 1)(W - 1) contacts. */
perp_status perp_lcp_generate(perp_ctx *ctx, const perp_lcp_recipe *recipe, perp_lcp_problem *out);

#ifdef __cplusplus
}
#endif

#endif
