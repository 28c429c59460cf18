/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of complementarity problems.
 *
 *   .lcp    perp's own text format (docs/reference/lcp-format.md), read and written
 *   .mtx    Matrix Market, read and written: one matrix [A b] or [A b lo hi], or A alone with b in
 * a second file NAME_b.mtx .dat    Siconos: LCP, MLCP, relay, FC2D, FC3D, global FC2D and FC3D;
 * read .json   as perp lcp generate --json writes it; read .hdf5   fclib: local and global
 * problems, read and written (needs the HDF5 library)
 *
 * The kind is told from the content.  Every refusal is PERP_ERR_FORMAT with "file:line: what is
 * wrong" (PERP_ERR_IO when the file cannot be read at all); nothing is allocated that the content
 * does not pay for, so a small file cannot ask for much memory.  Files of more bytes than
 * ctx->memory, endless devices and matrices that would take more are PERP_ERR_UNSUPPORTED, with the
 * bound in the message. */
#ifndef PERP_LCP_IO_H
#define PERP_LCP_IO_H

#include "solvers/lcp/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* path "-": standard input.  *out is owned by the caller, empty on failure. */
perp_status perp_lcp_read(perp_ctx *ctx, const char *path, perp_lcp_problem *out);
/* The same from memory; name stands for the file in messages.  Not for HDF5 and not for a Matrix
 * Market file that leaves b to a second one. */
perp_status perp_lcp_read_memory(perp_ctx *ctx, const char *name, const char *data, size_t size,
                                 perp_lcp_problem *out);
/* The problems of a sequence, from the files PREFIX-000.lcp, PREFIX-001.lcp, ...: as many as the
 * first one says.  *out [*n] is for perp_lcp_sequence_free, NULL on failure.  PERP_ERR_FORMAT also
 * where they do not follow on one another. */
perp_status perp_lcp_sequence_read(perp_ctx *ctx, const char *prefix, perp_lcp_problem **out,
                                   int *n);
void perp_lcp_sequence_free(perp_lcp_problem *problem, int n); /* NULL is fine */
/* A vector: n numbers separated by blanks, '#' comments; or the "lambda" array of a JSON object. */
perp_status perp_lcp_read_vector(perp_ctx *ctx, const char *path, int n, double *x);
perp_status perp_lcp_read_vector_memory(perp_ctx *ctx, const char *name, const char *data,
                                        size_t size, int n, double *x);

/* The .lcp format; numbers read back as they are.  PERP_ERR_IO: f reports an error. */
perp_status perp_lcp_write(perp_ctx *ctx, const perp_lcp_problem *problem, FILE *file);
/* Matrix Market, [A b] or [A b lo hi].  PERP_ERR_UNSUPPORTED for friction rows, which it cannot
 * say; PERP_ERR_IO. */
perp_status perp_lcp_write_mtx(perp_ctx *ctx, const perp_lcp_problem *problem, FILE *file);
/* A local fclib problem.  PERP_ERR_UNSUPPORTED unless every row belongs to a contact of the same
 * size (normal row and one or two friction rows); without the HDF5 library always. */
perp_status perp_lcp_write_fclib(perp_ctx *ctx, const perp_lcp_problem *problem, const char *path);

#ifdef __cplusplus
}
#endif

#endif
