/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Complementarity problems that own their data: generated, read from files, converted, harvested.
 */
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

/* A part of a guess: lambda[to] begins with c lambda[from] of the problem before. */
typedef struct perp_lcp_carry {
  int to, from;
  double c;
} perp_lcp_carry;

/* Where a problem stands among those that successive steps of one simulation have posed.  The rows
 * of two of them differ: contacts are born and gone, and tangents turn.  See sequence.c. */
typedef struct perp_lcp_sequence {
  char name[48];         /* "": no sequence */
  int number, of;        /* 0 <= number < of */
  int rows;              /* of the problem before; 0 in the first one */
  int n;                 /* carries, */
  perp_lcp_carry *carry; /* [n] owned: at most one for each (to, from) */
} perp_lcp_sequence;

typedef struct perp_lcp_problem {
  perp_lcp p;                    /* view on the storage below */
  unsigned classes;              /* PERP_CLASS_* */
  char family[48];               /* "stack", "fclib", ...; "" when unknown */
  char *provenance;              /* where it comes from, one line; may be NULL */
  double *solution;              /* [n] one known solution, NULL when none is known */
  void *storage, *block_storage; /* owned */
  perp_lcp_sequence sequence;
} perp_lcp_problem;

/* Parts to allocate in perp_lcp_problem_new; lo = 0, hi = inf, fric_of = contact_of = -1, mu = cone
 * = 0, unit = 1 to begin with. */
enum {
  PERP_PART_A = 1 << 0,
  PERP_PART_BOUNDS = 1 << 1,
  PERP_PART_FRICTION = 1 << 2,
  PERP_PART_CONE = 1 << 3,
  PERP_PART_SOLUTION = 1 << 4,
  PERP_PART_UNIT = 1 << 5,
  PERP_PART_CONTACTS = 1 << 6
};

/* May a problem, or its file, take so many bytes?  PERP_ERR_UNSUPPORTED where ctx->memory is less:
 * the message says what it would take, the bound and how to raise it.  what: "A of 5000 rows", for
 * the message. */
perp_status perp_lcp_affords(perp_ctx *ctx, double bytes, const char *what);
/* The same of the dense A of a sparse or factored problem, where the method (of kind lcp) takes no
 * other.  To be asked before perp_lcp_create, whose workspace is as large. */
perp_status perp_lcp_affords_form(perp_ctx *ctx, const perp_desc *method, const perp_lcp *lcp);
/* Empty problem of n rows, all numbers zero.  PERP_ERR_DIM when n < 0, PERP_ERR_UNSUPPORTED where
 * its A would take more than ctx->memory, PERP_ERR_NOMEM when it does not fit memory; *out is then
 * empty, as it is after a failure of the functions below.  The arrays of p->p may be written
 * through perp_lcp_edit. */
perp_status perp_lcp_problem_new(perp_ctx *ctx, int n, unsigned parts, perp_lcp_problem *out);
void perp_lcp_problem_free(perp_lcp_problem *problem); /* leaves an empty problem; NULL allowed */
/* Deep copy of a view or of a whole problem; family, provenance, solution and sequence included for
 * the latter. PERP_ERR_NOMEM. */
perp_status perp_lcp_copy(perp_ctx *ctx, const perp_lcp *lcp, perp_lcp_problem *out);
perp_status perp_lcp_problem_copy(perp_ctx *ctx, const perp_lcp_problem *problem,
                                  perp_lcp_problem *out);
/* provenance = printf(...), owned.  PERP_ERR_NOMEM leaves it as it was. */
perp_status perp_lcp_problem_note(perp_ctx *ctx, perp_lcp_problem *problem, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Writable pointers to the arrays of an owned problem (NULL where the part is absent). */
typedef struct perp_lcp_arrays {
  double *A, *b, *lo, *hi, *mu, *unit, *solution;
  int *fric_of, *contact_of;
  signed char *cone;
} perp_lcp_arrays;
perp_lcp_arrays perp_lcp_edit(perp_lcp_problem *problem);

/* Give p the factored form of F (deep copy, m = n); p has no dense A.  PERP_ERR_DIM: another number
 * of rows; PERP_ERR_NOMEM. */
perp_status perp_lcp_problem_set_blocks(perp_ctx *ctx, perp_lcp_problem *problem,
                                        const perp_blocks *blocks);
/* Give p, which has no A, a dense one of zeros.  As perp_lcp_problem_new. */
perp_status perp_lcp_problem_add_dense(perp_ctx *ctx, perp_lcp_problem *problem);
/* Give p the sparse A of C (deep copy of n columns); p has no dense A.  PERP_ERR_DIM: another
 * number of rows; PERP_ERR_NOMEM. */
perp_status perp_lcp_problem_set_columns(perp_ctx *ctx, perp_lcp_problem *problem,
                                         const perp_columns *columns);
/* *out = p with a dense A (deep copy; a dense p is just copied).  PERP_ERR_NOMEM,
 * PERP_ERR_UNSUPPORTED as perp_lcp_problem_new.  O(n^2), and the cost of perp_blocks_delassus. */
perp_status perp_lcp_problem_form(perp_ctx *ctx, const perp_lcp_problem *problem,
                                  perp_lcp_problem *out);
/* Reorder rows and columns: new row k is old row perm[k].  PERP_ERR_UNSUPPORTED: factored;
 * PERP_ERR_ARG: no permutation, or one that separates the two rows of a cone; PERP_ERR_NOMEM.
 * *problem is then unchanged. */
perp_status perp_lcp_problem_permute(perp_ctx *ctx, perp_lcp_problem *problem, const int *perm);
/* (A, b) -> s (A, b), s > 0: the solutions stay. */
void perp_lcp_problem_scale(perp_lcp_problem *problem, double s);

/* ---- sequences: sequence.c, and problem.c ---- */

/* problem->sequence.carry = a copy of n parts of the guess, from a problem of `rows` rows.
 * PERP_ERR_ARG: a row that does not exist, or a number that is not finite; PERP_ERR_NOMEM.  p is
 * then unchanged.
 */
perp_status perp_lcp_problem_carry(perp_ctx *ctx, perp_lcp_problem *problem, int rows, int n,
                                   const perp_lcp_carry *carry);
/* lambda [n] = sum of c before[from] over the carries of problem, before [problem->sequence.rows]
 * the multipliers of the problem before, cut to the bounds of rows that are no friction rows: where
 * the normal of a contact has turned it may not pull, and what its friction may be is the business
 * of the solver.  Rows that are born begin with 0.  O(n + carries). */
void perp_lcp_carry_over(const perp_lcp_problem *problem, const double *before, double *lambda);
/* Rows of problem that nothing is carried to, and rows of the problem before of which nothing is
 * carried. PERP_ERR_NOMEM. */
perp_status perp_lcp_carry_count(perp_ctx *ctx, const perp_lcp_problem *problem, int *born,
                                 int *gone);
/* One problem of `parts` ones that have nothing to do with each other: its rows are theirs one
 * after the other, A has theirs on the diagonal, factored where all of them are, else dense.  It
 * has a solution where all of them have one; no family, provenance or sequence.  PERP_ERR_ARG:
 * frozen and others; PERP_ERR_NOMEM, PERP_ERR_UNSUPPORTED as perp_lcp_problem_new. */
perp_status perp_lcp_join(perp_ctx *ctx, const perp_lcp_problem *part, int parts,
                          perp_lcp_problem *out);

/* ---- generators: generate*.c ---- */

typedef struct perp_lcp_recipe {
  const char *family; /* see perp_lcp_family_at */
  int n;              /* rows, or 0: take boxes */
  int boxes;          /* boxes of a contact family, 0: from n */
  uint64_t seed;
  bool permute;  /* random symmetric permutation (of A, not of factors) */
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
/* The valid number of rows nearest to n, and the one of a contact family nearest to a number of
 * boxes. */
int perp_lcp_family_rows(const perp_lcp_family *family, int n);
int perp_lcp_family_rows_of_boxes(const perp_lcp_family *family, int boxes);
/* Bytes that making r takes at most, as far as arrays of the size of A go. */
double perp_lcp_recipe_memory(const perp_lcp_recipe *recipe);
/* Make a problem, identical on every machine for the same recipe.  PERP_ERR_OPTION for an unknown
 * family (with the closest name) or a number of rows that the family does not have (with the valid
 * ones); PERP_ERR_UNSUPPORTED where it would take more than ctx->memory.
 *
 * Contact families: unit cubes of 1 kg, g = 9.81 m/s^2, h = 0.01 s, at rest at the start of the
 * step, touching exactly; 4 contact points (the corners of the overlap) an interface; b = J (v + h
 * g), lambda in N s, w in m/s.  mu = 0.5.  A stack has its cubes on top of each other; a wall W x H
 * has H rows of W and W - 1 cubes in turn (running bond) with W <= 2 H, H <= 2 W: 4 W + 8 (H - 1)(W
 * - 1) contacts. */
perp_status perp_lcp_generate(perp_ctx *ctx, const perp_lcp_recipe *recipe, perp_lcp_problem *out);

#ifdef __cplusplus
}
#endif

#endif
