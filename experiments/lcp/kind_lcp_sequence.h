/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cells of sequences of problems, and the clock of a solve.  Private to kind_lcp*.c. */
#ifndef PERP_KIND_LCP_SEQUENCE_H
#define PERP_KIND_LCP_SEQUENCE_H

#include "experiments/simulate/clock_reference.h"
#include "experiments/study/kind.h"
#include "solvers/lcp/lcp.h"

/* Thread-CPU seconds of a call, repeated for `least` seconds so that the clock can tell. */
double perp_kind_lcp_timed(void (*call)(void *user), void *user, double least,
                           perp_clock_reference *pace);
/* A solver of another library ran in a process apart, so that its crash is an answer and no loss.
 * Once it has solved the problem it is called in place: a fork is no part of its time.  *solver, of
 * n rows and nv columns, is replaced where that is so. */
perp_status perp_kind_lcp_in_place(perp_ctx *ctx, const perp_spec *spec, int n, int nv,
                                   perp_lcp_solver **solver);
void perp_kind_lcp_failed(const perp_ctx *ctx, perp_status status, perp_outcome *out);

/* A cell of a sequence: each problem cold and warm. */
void perp_kind_lcp_sequence(perp_ctx *ctx, const perp_job *job, const perp_spec *spec,
                            const char *prefix, double tol, perp_outcome *out);

#endif
