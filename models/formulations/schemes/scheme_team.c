/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that share the pairs of a step. */
#include "models/formulations/schemes/scheme.h"

enum { TEAM_PAIRS = 2000 }; /* that are worth a second thread */

int perp_scheme_threads(const perp_scheme *scheme)
{
  return scheme->pairs >= TEAM_PAIRS ? scheme->o.threads : 1;
}

typedef struct scheme_shares {
  perp_scheme *scheme;
  perp_scheme_part *part;
  const void *how;
} scheme_shares;

static void scheme_share(void *user, int member, int members)
{
  const scheme_shares *shares = user;
  const int pairs = shares->scheme->pairs;
  shares->part(shares->scheme, perp_share(pairs, member, members),
               perp_share(pairs, member + 1, members), shares->how);
}

void perp_scheme_shared(perp_scheme *scheme, perp_scheme_part *part, const void *how)
{
  scheme_shares shares = { scheme, part, how };
  perp_team(perp_scheme_threads(scheme), scheme_share, &shares);
}
