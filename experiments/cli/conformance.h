/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_CONFORMANCE_H
#define PERP_CONFORMANCE_H

#include "solvers/core/core.h"

/* Run the contract tests on the outside plug-ins that are loaded and print the conformance report
 * of each: what it declares, what was checked, what held.  seconds: limit of one kind.  Returns an
 * exit status: 0 when all held, PERP_EXIT_FAILED when something did not, PERP_EXIT_USAGE when the
 * tests are not there. */
int perp_conformance(double seconds, bool json, bool verbose);

#endif
