/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef KKT_ELIMINATION_H
#define KKT_ELIMINATION_H

#include "solvers/kkt/sparse.h"

/* An order of bodies and groups for L D L' without 2 x 2 pivots: graph->position of the graph of
 * nodes, bodies first. A group must find its pivot J_g W J_g', W the inverse inertia of what is
 * eliminated before: a group of the spanning forest (tree_plan.h) comes right after the body that
 * hangs on it; the group that closes a loop comes when all of the loop is gone.  Minimum degree
 * orders the pairs of body and group.  PERP_ERR_NOMEM, PERP_ERR_EXTERNAL.  Allocates; O((nodes +
 * edges) log) and the lengths of the loops. */
perp_status perp_kkt_elimination(perp_ctx *ctx, const char *name, const perp_blocks *blocks,
                                 kkt_graph *graph);

#endif
