/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The KKT systems that a simulation meets, as Matrix Market files for other solvers. */
#ifndef PERP_KKT_DUMP_H
#define PERP_KKT_DUMP_H

#include "experiments/simulate/simulate.h"

/* Run the cell of `request` and write the systems of some of its steps, and the last one of the run
 * - the one at which it failed - into the folder dir (made when missing):
 *
 *      step000004-2.mtx     K = [ M -J' ; -J -S ] of the second factorization of step 4 (step 0:
 *      before the first),
 *                           symmetric, n = nv + m rows, lower triangle
 *      step000004-2-b.mtx   right-hand sides [ f ; -c ], one column for each solve with that factor
 *      step000004-2-x.mtx   answers [ a ; lambda ] of the KKT formulation of the cell, K x = b
 *
 * (the signs of solvers/kkt/kkt.h).  steps: "1,10,100", "all", NULL: 1, 2, 4, 8, ...  One line a
 * system goes to out. PERP_ERR_OPTION: steps; PERP_ERR_UNSUPPORTED: the cell solves no KKT system;
 * PERP_ERR_IO; else what perp_simulate says.  A simulation that diverges is PERP_OK, with a message
 * on stderr. */
perp_status perp_kkt_dump(perp_ctx *ctx, const perp_request *request, const char *dir,
                          const char *steps, const char *title, FILE *out);

#endif
