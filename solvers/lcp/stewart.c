/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/stewart.h"

#include <math.h>

static bool stewart_plain(const perp_lcp *lcp, int i)
{
  const double lo = lcp->lo != NULL ? lcp->lo[i] : 0, hi = lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL;
  return lo == 0 && hi == HUGE_VAL && (lcp->fric_of == NULL || lcp->fric_of[i] < 0);
}

/* A row that could be a slack: nothing on the diagonal, something beside it. */
static bool stewart_hollow(const perp_lcp *lcp, int i)
{
  if (perp_lcp_entry(lcp, i, i) != 0) return false;
  for (int j = 0; j < lcp->n; j++)
    if (perp_lcp_entry(lcp, i, j) != 0 || perp_lcp_entry(lcp, j, i) != 0) return true;
  return false;
}

/* Take row i into contact c; false where it is in another one. */
static bool stewart_take(perp_stewart *stewart, int i, int c)
{
  if (stewart->home[i] >= 0) return false;
  stewart->home[i] = c;
  return true;
}

/* Has row i the couplings of a slack, and to how many normals and directions? */
static bool stewart_couples(const perp_lcp *lcp, int row, int *normals, int *directions)
{
  *normals = *directions = 0;
  if (perp_lcp_entry(lcp, row, row) != 0 || !stewart_plain(lcp, row)) return false;
  for (int i = 0; i < lcp->n; i++) {
    const double down = perp_lcp_entry(lcp, i, row), across = perp_lcp_entry(lcp, row, i);
    if (down > 0 && across < 0)
      ++*directions;
    else if (down == 0 && across > 0)
      ++*normals;
    else if (down != 0 || across != 0)
      return false;
  }
  return *directions > 0;
}

bool perp_stewart_slack(const perp_lcp *lcp)
{
  int normals, directions;
  for (int i = 0; lcp->F == NULL && i < lcp->n; i++) {
    if (!stewart_couples(lcp, i, &normals, &directions)) continue;
    if (normals > 0 || (lcp->contact_of != NULL && lcp->contact_of[i] >= 0)) return true;
  }
  return false;
}

/* The contact of slack `row` by the structure of A; false when it has none. */
static bool stewart_by_structure(const perp_lcp *lcp, int row, int c, perp_stewart *stewart)
{
  int normals, directions;
  if (!stewart_couples(lcp, row, &normals, &directions) || normals != 1) return false;
  if (!stewart_take(stewart, row, c)) return false;
  for (int i = 0; i < lcp->n; i++) {
    const double across = perp_lcp_entry(lcp, row, i);
    if (across == 0) continue;
    if (across < 0 && !stewart_plain(lcp, i)) return false;
    if (!stewart_take(stewart, i, c)) return false;
  }
  return true;
}

/* rows and ptr from home, each contact in ascending order. */
static void stewart_gather(int n, perp_stewart *stewart)
{
  for (int c = 0; c <= stewart->contacts; c++) stewart->ptr[c] = 0;
  for (int i = 0; i < n; i++)
    if (stewart->home[i] >= 0) stewart->ptr[stewart->home[i] + 1]++;
  for (int c = 0; c < stewart->contacts; c++) stewart->ptr[c + 1] += stewart->ptr[c];
  for (int i = 0; i < n; i++)
    if (stewart->home[i] >= 0) stewart->rows[stewart->ptr[stewart->home[i]]++] = i;
  for (int c = stewart->contacts; c > 0; c--) stewart->ptr[c] = stewart->ptr[c - 1];
  stewart->ptr[0] = 0;
}

/* Move the row at place `from` to place `to`, those between by one. */
static void stewart_move(int *row, int from, int to)
{
  const int moved = row[from], step = from < to ? 1 : -1;
  for (int k = from; k != to; k += step) row[k] = row[k + step];
  row[to] = moved;
}

/* Bring the r rows of contact c into the order normal, directions, slack; NULL, or what is wrong
 * with them. */
static const char *stewart_order(const perp_lcp *lcp, const perp_stewart *stewart, int c)
{
  int *row = stewart->rows + stewart->ptr[c], slack = -1, normal = -1;
  const int r = stewart->ptr[c + 1] - stewart->ptr[c];
  if (r < 3) return "has fewer than three rows: a normal, directions and a slack";
  for (int k = 0; k < r; k++) {
    if (lcp->fric_of != NULL && lcp->fric_of[row[k]] >= 0) return "has a friction row";
    if (perp_lcp_entry(lcp, row[k], row[k]) != 0) continue;
    bool column = false; /* a normal or direction without mobility is hollow as well, but couples
                            nothing so */
    for (int l = 0; l < r; l++)
      column = column ||
               (perp_lcp_entry(lcp, row[l], row[k]) > 0 && perp_lcp_entry(lcp, row[k], row[l]) < 0);
    if (!column) continue;
    bool all = true;
    int without = 0;
    for (int l = 0; l < r; l++) {
      if (l == k) continue;
      const double down = perp_lcp_entry(lcp, row[l], row[k]),
                   across = perp_lcp_entry(lcp, row[k], row[l]);
      without += down == 0;
      all = all && (down == 0 ? across >= 0 : down > 0 && across < 0);
    }
    if (!all || without != 1) continue;
    if (slack >= 0) return "has two rows that could be its slack";
    slack = k;
  }
  if (slack < 0)
    return "has no slack row (A_ss = 0, e > 0 in its column, -f < 0 and mu >= 0 in its row)";
  stewart_move(row, slack, r - 1);
  slack = row[r - 1];
  for (int k = 0; k < r - 1; k++)
    if (perp_lcp_entry(lcp, row[k], slack) == 0) normal = k;
  stewart_move(row, normal, 0);
  for (int k = 1; k < r; k++)
    if (!stewart_plain(lcp, row[k]))
      return "has other bounds than [0, inf) on a direction or slack";
  for (int i = 0; i < lcp->n; i++)
    if (stewart->home[i] != c &&
        (perp_lcp_entry(lcp, i, slack) != 0 || perp_lcp_entry(lcp, slack, i) != 0))
      return "has a slack that is coupled to rows of other contacts";
  return NULL;
}

perp_status perp_stewart_find(perp_ctx *ctx, const perp_lcp *lcp, perp_stewart *stewart)
{
  stewart->contacts = 0;
  stewart->unclear = false;
  for (int i = 0; i < lcp->n; i++) stewart->home[i] = -1;
  stewart->ptr[0] = 0;
  if (lcp->F != NULL || lcp->n == 0) return PERP_OK;
  if (lcp->contact_of != NULL) {
    /* Contacts of contact_of, numbered by their first rows. */
    int *number = stewart->ptr; /* of the contact of that name */
    for (int i = 0; i < lcp->n; i++) number[i] = -1;
    for (int i = 0; i < lcp->n; i++) {
      const int name = lcp->contact_of[i];
      if (name < 0) continue;
      if (number[name] < 0) number[name] = stewart->contacts++;
      stewart->home[i] = number[name];
    }
  } else {
    if (lcp->fric_of != NULL && !lcp->frozen) return PERP_OK;
    for (int i = 0; i < lcp->n && !stewart->unclear; i++)
      if (stewart_hollow(lcp, i))
        stewart->unclear = !stewart_by_structure(lcp, i, stewart->contacts++, stewart);
    if (stewart->unclear) {
      for (int i = 0; i < lcp->n; i++) stewart->home[i] = -1;
      stewart->contacts = 0;
      return PERP_OK;
    }
  }
  stewart_gather(lcp->n, stewart);
  for (int c = 0; c < stewart->contacts; c++) {
    const char *wrong = stewart_order(lcp, stewart, c);
    if (wrong != NULL)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: its contact %s", stewart->rows[stewart->ptr[c]],
                       wrong);
  }
  return PERP_OK;
}
