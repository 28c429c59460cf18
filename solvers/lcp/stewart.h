/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts in the rows of a Stewart-Trinkle problem (STAR 2012, section 3.1.4; Cline 2002,
 * section 2.7.3).
 *
 * The rows of one contact are a normal n, directions t and a slack s, the sliding speed:
 *
 *      [ w_n ]   [ A_nn  A_nt   0  ] [ x_n  ]
 *      [ w_t ] = [ A_tn  A_tt   e  ] [ x_t  ]  +  b  +  what other rows add to w_n and w_t
 *      [ w_s ]   [  mu   -f'    0  ] [ beta ]
 *
 *      0 <= x _|_ w >= 0
 *
 * with e, f > 0 (all 1, but for units of rows) and mu >= 0.  The slack is coupled to no row outside
 * its contact. */
#ifndef PERP_LCP_STEWART_H
#define PERP_LCP_STEWART_H

#include "solvers/lcp/lcp.h"

typedef struct perp_stewart {
  int contacts; /* with friction; 0: none */
  int *ptr;     /* [n + 1] rows of contact c: rows[ptr[c]] ... rows[ptr[c + 1] - 1] */
  int *rows;    /* [n] the normal, the directions in ascending order, the slack */
  int *home;    /* [n] contact of a row, -1: in none */
  bool unclear; /* something like a slack is in no contact: what its rows are is not known */
} perp_stewart;

/* The contacts of lcp, as lcp->contact_of says or else as the structure of A shows.  stewart->ptr,
 * rows, home in: arrays of the caller; all of *stewart out.
 *
 * Found from structure: a slack is a row with A_ss = 0, bounds [0, inf), whose column is positive
 * in the rows where its row is negative (the directions), and zero elsewhere, and whose row has one
 * more entry, positive: that of its normal.  Without a positive mu the normal cannot be found.
 * Where a row with A_ii = 0 has other entries and is no such slack, or two slacks share a row,
 * stewart->unclear is set and there are no contacts.
 *
 * Friction rows (fric_of) and factored matrices, which are symmetric, have no such contacts: none,
 * clear. PERP_ERR_ARG: contact_of names rows that do not make a contact.  O(n^2), no allocation. */
perp_status perp_stewart_find(perp_ctx *ctx, const perp_lcp *lcp, perp_stewart *stewart);

/* Does p have a row that is a slack as above: in a contact of contact_of, or with a normal by the
 * structure of A? O(n), and O(n) for each row with A_ii = 0. */
bool perp_stewart_slack(const perp_lcp *lcp);

#endif
