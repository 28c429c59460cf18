/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/stewart.h"

#include <math.h>

static bool stewart_plain(const perp_lcp *p, int i)
{
  const double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
  return lo == 0 && hi == HUGE_VAL && (p->fric_of == NULL || p->fric_of[i] < 0);
}

/* A row that could be a slack: nothing on the diagonal, something beside it. */
static bool stewart_hollow(const perp_lcp *p, int i)
{
  if (perp_lcp_entry(p, i, i) != 0) return false;
  for (int j = 0; j < p->n; j++)
    if (perp_lcp_entry(p, i, j) != 0 || perp_lcp_entry(p, j, i) != 0) return true;
  return false;
}

/* Take row i into contact c; false where it is in another one. */
static bool stewart_take(perp_stewart *s, int i, int c)
{
  if (s->home[i] >= 0) return false;
  s->home[i] = c;
  return true;
}

/* Has row i the couplings of a slack, and to how many normals and directions? */
static bool stewart_couples(const perp_lcp *p, int row, int *normals, int *directions)
{
  *normals = *directions = 0;
  if (perp_lcp_entry(p, row, row) != 0 || !stewart_plain(p, row)) return false;
  for (int i = 0; i < p->n; i++) {
    const double down = perp_lcp_entry(p, i, row), across = perp_lcp_entry(p, row, i);
    if (down > 0 && across < 0)
      ++*directions;
    else if (down == 0 && across > 0)
      ++*normals;
    else if (down != 0 || across != 0)
      return false;
  }
  return *directions > 0;
}

bool perp_stewart_slack(const perp_lcp *p)
{
  int normals, directions;
  for (int i = 0; p->F == NULL && i < p->n; i++) {
    if (!stewart_couples(p, i, &normals, &directions)) continue;
    if (normals > 0 || (p->contact_of != NULL && p->contact_of[i] >= 0)) return true;
  }
  return false;
}

/* The contact of slack `row` by the structure of A; false when it has none. */
static bool stewart_by_structure(const perp_lcp *p, int row, int c, perp_stewart *s)
{
  int normals, directions;
  if (!stewart_couples(p, row, &normals, &directions) || normals != 1) return false;
  if (!stewart_take(s, row, c)) return false;
  for (int i = 0; i < p->n; i++) {
    const double across = perp_lcp_entry(p, row, i);
    if (across == 0) continue;
    if (across < 0 && !stewart_plain(p, i)) return false;
    if (!stewart_take(s, i, c)) return false;
  }
  return true;
}

/* rows and ptr from home, each contact in ascending order. */
static void stewart_gather(int n, perp_stewart *s)
{
  for (int c = 0; c <= s->contacts; c++) s->ptr[c] = 0;
  for (int i = 0; i < n; i++)
    if (s->home[i] >= 0) s->ptr[s->home[i] + 1]++;
  for (int c = 0; c < s->contacts; c++) s->ptr[c + 1] += s->ptr[c];
  for (int i = 0; i < n; i++)
    if (s->home[i] >= 0) s->rows[s->ptr[s->home[i]]++] = i;
  for (int c = s->contacts; c > 0; c--) s->ptr[c] = s->ptr[c - 1];
  s->ptr[0] = 0;
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
static const char *stewart_order(const perp_lcp *p, const perp_stewart *s, int c)
{
  int *row = s->rows + s->ptr[c], slack = -1, normal = -1;
  const int r = s->ptr[c + 1] - s->ptr[c];
  if (r < 3) return "has fewer than three rows: a normal, directions and a slack";
  for (int k = 0; k < r; k++) {
    if (p->fric_of != NULL && p->fric_of[row[k]] >= 0) return "has a friction row";
    if (perp_lcp_entry(p, row[k], row[k]) != 0) continue;
    bool column = false; /* a normal or direction without mobility is hollow as well, but couples
                            nothing so */
    for (int l = 0; l < r; l++)
      column = column ||
               (perp_lcp_entry(p, row[l], row[k]) > 0 && perp_lcp_entry(p, row[k], row[l]) < 0);
    if (!column) continue;
    bool all = true;
    int without = 0;
    for (int l = 0; l < r; l++) {
      if (l == k) continue;
      const double down = perp_lcp_entry(p, row[l], row[k]),
                   across = perp_lcp_entry(p, row[k], row[l]);
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
    if (perp_lcp_entry(p, row[k], slack) == 0) normal = k;
  stewart_move(row, normal, 0);
  for (int k = 1; k < r; k++)
    if (!stewart_plain(p, row[k])) return "has other bounds than [0, inf) on a direction or slack";
  for (int i = 0; i < p->n; i++)
    if (s->home[i] != c && (perp_lcp_entry(p, i, slack) != 0 || perp_lcp_entry(p, slack, i) != 0))
      return "has a slack that is coupled to rows of other contacts";
  return NULL;
}

perp_status perp_stewart_find(perp_ctx *ctx, const perp_lcp *p, perp_stewart *s)
{
  s->contacts = 0;
  s->unclear = false;
  for (int i = 0; i < p->n; i++) s->home[i] = -1;
  s->ptr[0] = 0;
  if (p->F != NULL || p->n == 0) return PERP_OK;
  if (p->contact_of != NULL) {
    /* Contacts of contact_of, numbered by their first rows. */
    int *number = s->ptr; /* of the contact of that name */
    for (int i = 0; i < p->n; i++) number[i] = -1;
    for (int i = 0; i < p->n; i++) {
      const int name = p->contact_of[i];
      if (name < 0) continue;
      if (number[name] < 0) number[name] = s->contacts++;
      s->home[i] = number[name];
    }
  } else {
    if (p->fric_of != NULL && !p->frozen) return PERP_OK;
    for (int i = 0; i < p->n && !s->unclear; i++)
      if (stewart_hollow(p, i)) s->unclear = !stewart_by_structure(p, i, s->contacts++, s);
    if (s->unclear) {
      for (int i = 0; i < p->n; i++) s->home[i] = -1;
      s->contacts = 0;
      return PERP_OK;
    }
  }
  stewart_gather(p->n, s);
  for (int c = 0; c < s->contacts; c++) {
    const char *wrong = stewart_order(p, s, c);
    if (wrong != NULL)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: its contact %s", s->rows[s->ptr[c]], wrong);
  }
  return PERP_OK;
}
