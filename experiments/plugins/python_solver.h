/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods that are written in Python, as a plug-in: LCP solvers, integrators, contact laws,
 * metrics. */
#ifndef PERP_PYTHON_SOLVER_H
#define PERP_PYTHON_SOLVER_H

#include "experiments/plugins/perp.h"

/* Ask a Python file (an absolute path, which stays) what methods it has, and make descriptors of
 * them, which live until the program ends.  seconds: of patience.  PERP_ERR_FORMAT with one line.
 */
perp_status perp_python_open(perp_ctx *ctx, const char *path, int seconds,
                             const perp_outside **out);

#endif
