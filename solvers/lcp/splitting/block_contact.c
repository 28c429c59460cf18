/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/splitting/block_contact.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* ---- one basis ---- */

static double block_entry(const perp_block_contact *contact, int i, int j)
{
  return contact->K[(size_t)i + (size_t)j * (size_t)contact->r];
}

/* A normal force that is given, as in the friction problem of staggered: any w_n will do. */
static bool block_given(const perp_block_contact *contact)
{
  return contact->lo == contact->hi;
}

/* What friction there can be: mu x_n + q_s, an upper bound of f'x_t. */
static double block_radius(const perp_block_contact *contact)
{
  return block_entry(contact, contact->r - 1, 0) * contact->x[0] + contact->q[contact->r - 1];
}

/* No friction, and the least slack that leaves all w_t >= 0. */
static void block_without_friction(perp_block_contact *contact)
{
  const int s = contact->r - 1;
  contact->x[s] = 0;
  for (int t = 1; t < s; t++) contact->x[t] = 0;
  for (int t = 1; t < s; t++) {
    const double need = -(contact->q[t] + block_entry(contact, t, 0) * contact->x[0]) /
                        block_entry(contact, t, s);
    if (need > contact->x[s]) contact->x[s] = need;
  }
}

/* The open contact: where no friction goes with the least normal force, and w_n >= 0. */
static bool block_open(perp_block_contact *contact)
{
  contact->x[0] = contact->lo;
  if (block_radius(contact) != 0) return false;
  if (!block_given(contact) && !(contact->q[0] + block_entry(contact, 0, 0) * contact->lo >= 0))
    return false;
  block_without_friction(contact);
  memset(contact->state, PERP_ROW_LO, (size_t)contact->r);
  return true;
}

/* M [m (m + 1)], by rows with the right-hand side behind, becomes the identity and the solution;
 * false: singular. */
static bool block_eliminate(double *M, int m)
{
  const int width = m + 1;
  for (int j = 0; j < m; j++) {
    int best = -1;
    double top = 0;
    for (int i = j; i < m; i++) { /* the rows have units of their own */
      double size = 0;
      for (int k = 0; k < m; k++) size = fmax(size, fabs(M[i * width + k]));
      const double pivot = size > 0 ? fabs(M[i * width + j]) / size : 0;
      if (pivot > top) top = pivot, best = i;
    }
    if (!(top > 1e-13)) return false;
    if (best != j) cblas_dswap(width, M + j * width, 1, M + best * width, 1);
    for (int i = 0; i < m; i++) {
      if (i == j || M[i * width + j] == 0) continue;
      const double f = M[i * width + j] / M[j * width + j];
      for (int k = j + 1; k < width; k++) M[i * width + k] -= f * M[j * width + k];
      M[i * width + j] = 0;
    }
  }
  for (int i = 0; i < m; i++) M[i * width + m] /= M[i * width + i];
  return true;
}

/* x of the basis contact->state; false when it is singular or no solution by more than `noise`. */
static bool block_basis(perp_block_contact *contact, double noise)
{
  const int r = contact->r, s = r - 1;
  int at[PERP_BLOCK_ROWS], m = 0;
  double *M = contact->T, *x = contact->x;
  contact->x[0] = contact->state[0] == PERP_ROW_HI ? contact->hi : contact->lo;
  for (int i = 0; i < r; i++) {
    if (i > 0) x[i] = 0;
    if (contact->state[i] == PERP_ROW_FREE) at[m++] = i;
  }
  if (contact->state[0] == PERP_ROW_LO && block_radius(contact) == 0) return block_open(contact);
  for (int k = 0; k < m; k++) {
    const int i = at[k];
    for (int l = 0; l < m; l++) M[k * (m + 1) + l] = block_entry(contact, i, at[l]);
    M[k * (m + 1) + m] = -contact->q[i] - (contact->state[0] == PERP_ROW_FREE
                                               ? 0
                                               : block_entry(contact, i, 0) * x[0]);
  }
  if (!block_eliminate(M, m)) return false;
  double force = 0, speed = 0;
  for (int k = 0; k < m; k++) x[at[k]] = M[k * (m + 1) + m];
  for (int i = 0; i < s; i++) force = fmax(force, fabs(x[i]));
  for (int i = 0; i < r; i++) {
    double w = contact->q[i], scale = fabs(contact->q[i]);
    for (int j = 0; j < r; j++) {
      w += block_entry(contact, i, j) * x[j];
      scale = fmax(scale, fabs(block_entry(contact, i, j)) * (j < s ? force : x[s]));
    }
    if (i > 0 && i < s) speed = fmax(speed, scale / block_entry(contact, i, s));
    if (i == 0 && block_given(contact)) continue;
    if (contact->state[i] == PERP_ROW_LO
            ? !(w >= -noise * scale)
            : contact->state[i] == PERP_ROW_HI && !(w <= noise * scale))
      return false;
  }
  if (!(x[0] >= contact->lo - noise * force && x[0] <= contact->hi + noise * force)) return false;
  x[0] = fmin(fmax(x[0], contact->lo), contact->hi);
  for (int i = 1; i < r; i++) {
    if (!(x[i] >= -noise * (i < s ? force : speed))) return false;
    x[i] = fmax(x[i], 0);
  }
  if (block_radius(contact) == 0) block_without_friction(contact);
  return true;
}

/* ---- Lemke's path ---- */

/* Variables: w_i, then z_i (i in 0 ... R - 1), then the covering z_0.  R = r, and one more row
 * where the normal has an upper bound: its multiplier u with  w_n = ... + u,  hi - x_n >= 0. */

/* The dictionary  w = constant + M z + d z_0  in scaled units; returns R, or 0 when there is no
 * such scale. */
static int block_dictionary(perp_block_contact *contact, int attempt)
{
  const int r = contact->r, s = r - 1, R = r + (contact->hi < HUGE_VAL && !block_given(contact)),
            width = R + 2;
  double D[PERP_BLOCK_ROWS], across[PERP_BLOCK_ROWS], along = 0, f = 0, q = 0;
  for (int t = 1; t < s; t++) { /* e tells the units of the directions: it becomes 1 */
    const double e = block_entry(contact, t, s);
    if (!(e > 0 && block_entry(contact, s, t) < 0)) return 0;
    along = fmax(along, block_entry(contact, t, t) / (e * e));
    f = fmax(f, -block_entry(contact, s, t) / e);
  }
  const double normal = block_entry(contact, 0, 0);
  if (!(normal >= 0) || !(along >= 0) || normal + along == 0) return 0;
  D[s] = sqrt(along > 0 ? along : normal);
  D[0] = 1 / sqrt(normal > 0 ? normal : along);
  for (int t = 1; t < s; t++) D[t] = 1 / (D[s] * block_entry(contact, t, s));
  for (int i = 0; i < s; i++) across[i] = D[i];
  across[s] = D[s] / f;
  memset(contact->T, 0, (size_t)(R * width) * sizeof *contact->T);
  for (int i = 0; i < r; i++) {
    const double constant = across[i] * (contact->q[i] + block_entry(contact, i, 0) * contact->lo);
    for (int j = 0; j < r; j++)
      contact->T[i * width + j] = across[i] * block_entry(contact, i, j) * D[j];
    contact->T[i * width + R + 1] = constant;
    q = fmax(q, fabs(constant));
  }
  if (block_given(contact)) { /* w_n = 1, which no variable changes: x_n stays */
    memset(contact->T, 0, (size_t)width * sizeof *contact->T);
    contact->T[R + 1] = 1;
  }
  if (R > r) {
    contact->T[r] = 1;
    contact->T[r * width] = -1;
    contact->T[r * width + R + 1] = (contact->hi - contact->lo) / D[0];
  }
  for (int i = 0; i < R; i++) {
    /* any positive vector covers; where rounding spoils the path of one, that of another is asked
     */
    contact->T[i * width + R] = 1 + attempt * (1 + (7 * i + 3 * attempt) % 11) / 11.0;
    if (q > 0) contact->T[i * width + R + 1] /= q;
    contact->basic[i] = i;
    contact->where[i] = -1 - i;
    contact->nonbasic[i] = R + i;
    contact->where[R + i] = i;
  }
  contact->nonbasic[R] = 2 * R;
  contact->where[2 * R] = R;
  return R;
}

/* d basic_i / d eps_k, for constants raised by eps_1 >> eps_2 >> ... > 0 */
static double block_tilt(const perp_block_contact *contact, int R, int i, int k)
{
  const int at = contact->where[k];
  return at >= 0 ? -contact->T[i * (R + 2) + at] : -1 - at == i;
}

/* Of two rows with the same ratio within rounding: does i stop the variable of column j before row
 * l does? */
static bool block_first(const perp_block_contact *contact, int R, int i, int l, int j)
{
  const double *T = contact->T;
  const double ti = -T[i * (R + 2) + j], tl = -T[l * (R + 2) + j];
  for (int k = 0; k < R; k++) {
    const double x = block_tilt(contact, R, i, k) / ti, y = block_tilt(contact, R, l, k) / tl;
    if (fabs(x - y) > 1e-10 * fmax(1, fmax(fabs(x), fabs(y)))) return x < y;
  }
  return ti > tl;
}

/* The row that stops the variable of column j, -1 for none. */
static int block_ratio(const perp_block_contact *contact, int R, int j)
{
  const int width = R + 2;
  double top = 1, least = HUGE_VAL;
  int leaves = -1;
  for (int i = 0; i < R; i++) top = fmax(top, fabs(contact->T[i * width + j]));
  for (int i = 0; i < R; i++) {
    const double rate = -contact->T[i * width + j];
    if (rate > 1e-11 * top) least = fmin(least, contact->T[i * width + R + 1] / rate);
  }
  for (int i = 0; i < R; i++) {
    const double rate = -contact->T[i * width + j];
    if (!(rate > 1e-11 * top) || contact->T[i * width + R + 1] - rate * least > 1e-12) continue;
    if (contact->basic[i] == 2 * R) return i; /* the path ends where it can */
    if (leaves < 0 || block_first(contact, R, i, leaves, j)) leaves = i;
  }
  return leaves;
}

static void block_pivot(perp_block_contact *contact, int R, int p, int j)
{
  const int width = R + 2;
  double *T = contact->T, *row = T + p * width;
  const double pivot = row[j];
  for (int k = 0; k < width; k++) row[k] /= -pivot;
  row[j] = 1 / pivot;
  for (int i = 0; i < R; i++) {
    const double f = T[i * width + j];
    if (i == p || f == 0) continue;
    for (int k = 0; k < width; k++)
      if (k != j) T[i * width + k] += f * row[k];
    T[i * width + j] = f * row[j];
    if (T[i * width + R + 1] < 0 && T[i * width + R + 1] > -1e-11) T[i * width + R + 1] = 0;
  }
  const int in = contact->nonbasic[j], out = contact->basic[p];
  contact->basic[p] = in;
  contact->nonbasic[j] = out;
  contact->where[in] = -1 - p;
  contact->where[out] = j;
}

/* contact->state of the end of the path; false for a ray, or too many pivots. */
static bool block_path(perp_block_contact *contact, int attempt)
{
  const int R = block_dictionary(contact, attempt), width = R + 2, limit = 100 + 20 * R;
  int p = -1;
  if (R == 0) return false;
  for (int i = 0; i < R; i++) { /* the last of equal ones, by the lexico-minimum */
    const double ratio = contact->T[i * width + R + 1] / contact->T[i * width + R];
    if (ratio < 0 && (p < 0 || ratio <= contact->T[p * width + R + 1] / contact->T[p * width + R]))
      p = i;
  }
  for (int j = R, pivots = 0; p >= 0; pivots++) {
    const int out = contact->basic[p];
    block_pivot(contact, R, p, j);
    if (out == 2 * R) break;
    j = contact->where[out < R ? R + out : out - R];
    p = block_ratio(contact, R, j);
    if (p < 0 || pivots == limit) return false;
  }
  for (int i = 0; i < contact->r; i++)
    contact->state[i] = contact->where[R + i] < 0 ? PERP_ROW_FREE : PERP_ROW_LO;
  if (R > contact->r && contact->where[2 * R - 1] < 0) contact->state[0] = PERP_ROW_HI;
  return true;
}

/* All index sets in turn: of the normal lo, free, hi, of the others lo, free. */
static bool block_enumerate(perp_block_contact *contact)
{
  const int normals = block_given(contact) ? 1 : contact->hi < HUGE_VAL ? 3 : 2;
  for (int k = 0; k < normals << (contact->r - 1); k++) {
    static const signed char of_normal[] = { PERP_ROW_LO, PERP_ROW_FREE, PERP_ROW_HI };
    contact->state[0] = of_normal[k % normals];
    for (int i = 1; i < contact->r; i++)
      contact->state[i] = (k / normals) >> (i - 1) & 1 ? PERP_ROW_FREE : PERP_ROW_LO;
    contact->tried++;
    if (block_basis(contact, 1e-9)) return true;
  }
  return false;
}

bool perp_block_contact_solve(perp_block_contact *contact)
{
  enum { ATTEMPTS = 8 };
  contact->tried = 1;
  if (block_given(contact)) contact->state[0] = PERP_ROW_LO;
  if (block_basis(contact, 1e-12) || block_open(contact)) return true;
  if (contact->enumerate) return block_enumerate(contact);
  contact->tried++; /* as many pivots as rows, about */
  for (int k = 0; k < ATTEMPTS; k++)
    if (block_path(contact, k) && block_basis(contact, 1e-9)) return true;
  return false;
}

/* ---- in a sweep ---- */

void perp_block_contact_limit(const perp_rows *rows, const int *row, int r, double *lambda)
{
  const int s = row[r - 1];
  const double radius = rows->p->b[s] + perp_rows_entry(rows, s, row[0]) * lambda[row[0]];
  double sum = 0;
  for (int k = 1; k < r - 1; k++) sum -= perp_rows_entry(rows, s, row[k]) * lambda[row[k]];
  if (!(sum > radius)) return;
  const double factor = radius > 0 ? radius / sum : 0;
  for (int k = 1; k < r - 1; k++) lambda[row[k]] *= factor;
}

double perp_block_contact_step(perp_block_contact *contact, perp_rows *rows, const int *row, int r,
                               double omega, signed char *state, double *lambda)
{
  double old[PERP_BLOCK_ROWS], worst = 0;
  contact->r = r;
  perp_lcp_bounds(rows->p, lambda, row[0], &contact->lo, &contact->hi);
  for (int j = 0; j < r; j++) {
    for (int i = 0; i < r; i++) contact->K[i + j * r] = perp_rows_entry(rows, row[i], row[j]);
    old[j] = lambda[row[j]];
    contact->state[j] = state[row[j]];
  }
  for (int i = 0; i < r; i++) { /* b' = b + sum of A_ij lambda_j over all others */
    contact->q[i] = i == r - 1 ? rows->p->b[row[i]] : rows->w[row[i]];
    for (int j = 0; j < r && i < r - 1; j++) contact->q[i] -= contact->K[i + j * r] * old[j];
  }
  if (!perp_block_contact_solve(contact)) return -1;
  for (int k = 0; k < r; k++) {
    state[row[k]] = contact->state[k];
    const double to = old[k] + omega * (contact->x[k] - old[k]);
    lambda[row[k]] = omega == 1 || k == r - 1 ? contact->x[k]
                     : k > 0                  ? fmax(to, 0)
                                              : fmin(fmax(to, contact->lo), contact->hi);
  }
  if (omega != 1) perp_block_contact_limit(rows, row, r, lambda);
  for (int k = 0; k < r; k++) {
    const double change = lambda[row[k]] - old[k];
    if (!(fabs(change) <= worst)) worst = fabs(change);
    if (k < r - 1)
      perp_rows_change(rows, row[k], change);
    else /* it acts in its contact alone */
      for (int t = 1; t < r - 1; t++) rows->w[row[t]] += contact->K[t + k * r] * change;
  }
  return worst;
}
