/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_KIND_LCP_H
#define PERP_KIND_LCP_H

#include "experiments/study/kind.h"
#include "solvers/lcp/problem.h"

/* Complementarity problems, each with every solver at every target: `kind: lcp`. */
extern const perp_cell_kind perp_kind_lcp;

/* The problem that a cell names: "file:NAME", "stack:n=64,seed=1".  Errors as of perp_lcp_read and
 * perp_lcp_generate; PERP_ERR_FORMAT: it names none. */
perp_status perp_kind_lcp_problem(perp_ctx *ctx, const struct perp_study *study, const char *text,
                                  perp_lcp_problem *problem);

#endif
