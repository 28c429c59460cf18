/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside unique*.c: the workspace. */
#ifndef PERP_LCP_UNIQUE_PRIVATE_H
#define PERP_LCP_UNIQUE_PRIVATE_H

#include "solvers/lcp/unique.h"

/* of the largest normal impulse: none */
#define PERP_UNIQUE_NONE 1e-9

/* A direction in which the impulses of a contact, or a row, may change. */
typedef struct column {
  int row, rows;
  double d[3];
} column;

struct perp_unique {
  column column[2 * PERP_UNIQUE_ROWS];
  double G[4 * PERP_UNIQUE_ROWS * PERP_UNIQUE_ROWS]; /* Gram matrix; the factor L of a rank */
  double square[PERP_UNIQUE_ROWS * PERP_UNIQUE_ROWS];
  double diag[2 * PERP_UNIQUE_ROWS], d[2 * PERP_UNIQUE_ROWS], g[2 * PERP_UNIQUE_ROWS];
  int order[2 * PERP_UNIQUE_ROWS], row[PERP_UNIQUE_ROWS];
  double b[PERP_UNIQUE_ROWS], c[PERP_UNIQUE_ROWS], x[PERP_UNIQUE_ROWS], y[PERP_UNIQUE_ROWS],
      z[PERP_UNIQUE_ROWS], q[PERP_UNIQUE_ROWS], scale[PERP_UNIQUE_ROWS];
};

#endif
