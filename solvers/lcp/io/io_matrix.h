/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matrices of files as sparse as they come: entries one by one, then compressed columns; not
 * installed. */
#ifndef PERP_LCP_IO_MATRIX_H
#define PERP_LCP_IO_MATRIX_H

#include "solvers/lcp/problem.h"

/* What becomes of entries at one place. */
typedef enum perp_twice { PERP_TWICE_ADDS, PERP_TWICE_REPLACES, PERP_TWICE_REFUSED } perp_twice;

typedef struct perp_entry {
  int i, j, line;
  double value;
} perp_entry;

typedef struct perp_io_matrix {
  int rows, columns;
  int *start, *row; /* [columns + 1], [start[columns]] once it is closed */
  double *value;
  perp_entry *entry; /* [room] while it is read */
  size_t count, room;
} perp_io_matrix;

/* An empty matrix; free it whatever happens afterwards. */
void perp_io_matrix_open(int rows, int columns, perp_io_matrix *matrix);
void perp_io_matrix_free(perp_io_matrix *matrix);
/* line: of the file, for PERP_TWICE_REFUSED.  PERP_ERR_NOMEM; PERP_ERR_UNSUPPORTED as
 * perp_lcp_affords. */
perp_status perp_io_matrix_add(perp_ctx *ctx, perp_io_matrix *matrix, int i, int j, double value,
                               int line);
/* Compress; in *twice (may be NULL) the second of two entries at one place, where that is refused:
 * line < 0: none. */
perp_status perp_io_matrix_close(perp_ctx *ctx, perp_io_matrix *matrix, perp_twice rule,
                                 perp_entry *twice);
/* A of problem, which has none, = m, square: sparse where m is mostly zeros (PERP_SPARSE_ROWS),
 * else dense. */
perp_status perp_io_matrix_into(perp_ctx *ctx, const perp_io_matrix *matrix,
                                perp_lcp_problem *problem);

/* Local friction problem u = W r + q in contacts of dim rows -> out. */
perp_status perp_lcp_friction_problem(perp_ctx *ctx, int dim, int nc, const perp_io_matrix *matrix,
                                      const double *q, const double *mu, perp_lcp_problem *out);
/* Global one: M v = H r + f, u = H'v + b, as W = H'M^-1 H, q = b + H'M^-1 f.  Where M is made of
 * symmetric positive definite blocks (bodies) and that is less work than a dense W, W stays
 * factored, without the blocks that no contact touches; else it is formed by sparse Cholesky, or LU
 * where M is not symmetric or not definite.  PERP_ERR_FORMAT when M is singular (message without
 * place); PERP_ERR_UNSUPPORTED as perp_lcp_affords. */
perp_status perp_lcp_condense(perp_ctx *ctx, int dim, int nc, const perp_io_matrix *M,
                              const perp_io_matrix *H, const double *f, const double *b,
                              const double *mu, perp_lcp_problem *out);

#endif
