/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/splitting/block_contact.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* ---- one basis ---- */

static double block_entry(const perp_block_contact *b, int i, int j)
{
  return b->K[(size_t)i + (size_t)j * (size_t)b->r];
}

/* A normal force that is given, as in the friction problem of staggered: any w_n will do. */
static bool block_given(const perp_block_contact *b)
{
  return b->lo == b->hi;
}

/* What friction there can be: mu x_n + q_s, an upper bound of f'x_t. */
static double block_radius(const perp_block_contact *b)
{
  return block_entry(b, b->r - 1, 0) * b->x[0] + b->q[b->r - 1];
}

/* No friction, and the least slack that leaves all w_t >= 0. */
static void block_without_friction(perp_block_contact *b)
{
  const int s = b->r - 1;
  b->x[s] = 0;
  for (int t = 1; t < s; t++) b->x[t] = 0;
  for (int t = 1; t < s; t++) {
    const double need = -(b->q[t] + block_entry(b, t, 0) * b->x[0]) / block_entry(b, t, s);
    if (need > b->x[s]) b->x[s] = need;
  }
}

/* The open contact: where no friction goes with the least normal force, and w_n >= 0. */
static bool block_open(perp_block_contact *b)
{
  b->x[0] = b->lo;
  if (block_radius(b) != 0) return false;
  if (!block_given(b) && !(b->q[0] + block_entry(b, 0, 0) * b->lo >= 0)) return false;
  block_without_friction(b);
  memset(b->state, PERP_ROW_LO, (size_t)b->r);
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

/* x of the basis b->state; false when it is singular or no solution by more than `noise`. */
static bool block_basis(perp_block_contact *b, double noise)
{
  const int r = b->r, s = r - 1;
  int at[PERP_BLOCK_ROWS], m = 0;
  double *M = b->T, *x = b->x;
  b->x[0] = b->state[0] == PERP_ROW_HI ? b->hi : b->lo;
  for (int i = 0; i < r; i++) {
    if (i > 0) x[i] = 0;
    if (b->state[i] == PERP_ROW_FREE) at[m++] = i;
  }
  if (b->state[0] == PERP_ROW_LO && block_radius(b) == 0) return block_open(b);
  for (int k = 0; k < m; k++) {
    const int i = at[k];
    for (int l = 0; l < m; l++) M[k * (m + 1) + l] = block_entry(b, i, at[l]);
    M[k * (m + 1) + m] = -b->q[i] -
                         (b->state[0] == PERP_ROW_FREE ? 0 : block_entry(b, i, 0) * x[0]);
  }
  if (!block_eliminate(M, m)) return false;
  double force = 0, speed = 0;
  for (int k = 0; k < m; k++) x[at[k]] = M[k * (m + 1) + m];
  for (int i = 0; i < s; i++) force = fmax(force, fabs(x[i]));
  for (int i = 0; i < r; i++) {
    double w = b->q[i], scale = fabs(b->q[i]);
    for (int j = 0; j < r; j++) {
      w += block_entry(b, i, j) * x[j];
      scale = fmax(scale, fabs(block_entry(b, i, j)) * (j < s ? force : x[s]));
    }
    if (i > 0 && i < s) speed = fmax(speed, scale / block_entry(b, i, s));
    if (i == 0 && block_given(b)) continue;
    if (b->state[i] == PERP_ROW_LO ? !(w >= -noise * scale)
                                   : b->state[i] == PERP_ROW_HI && !(w <= noise * scale))
      return false;
  }
  if (!(x[0] >= b->lo - noise * force && x[0] <= b->hi + noise * force)) return false;
  x[0] = fmin(fmax(x[0], b->lo), b->hi);
  for (int i = 1; i < r; i++) {
    if (!(x[i] >= -noise * (i < s ? force : speed))) return false;
    x[i] = fmax(x[i], 0);
  }
  if (block_radius(b) == 0) block_without_friction(b);
  return true;
}

/* ---- Lemke's path ---- */

/* Variables: w_i, then z_i (i in 0 ... R - 1), then the covering z_0.  R = r, and one more row
 * where the normal has an upper bound: its multiplier u with  w_n = ... + u,  hi - x_n >= 0. */

/* The dictionary  w = constant + M z + d z_0  in scaled units; returns R, or 0 when there is no
 * such scale. */
static int block_dictionary(perp_block_contact *b, int attempt)
{
  const int r = b->r, s = r - 1, R = r + (b->hi < HUGE_VAL && !block_given(b)), width = R + 2;
  double D[PERP_BLOCK_ROWS], across[PERP_BLOCK_ROWS], along = 0, f = 0, q = 0;
  for (int t = 1; t < s; t++) { /* e tells the units of the directions: it becomes 1 */
    const double e = block_entry(b, t, s);
    if (!(e > 0 && block_entry(b, s, t) < 0)) return 0;
    along = fmax(along, block_entry(b, t, t) / (e * e));
    f = fmax(f, -block_entry(b, s, t) / e);
  }
  const double normal = block_entry(b, 0, 0);
  if (!(normal >= 0) || !(along >= 0) || normal + along == 0) return 0;
  D[s] = sqrt(along > 0 ? along : normal);
  D[0] = 1 / sqrt(normal > 0 ? normal : along);
  for (int t = 1; t < s; t++) D[t] = 1 / (D[s] * block_entry(b, t, s));
  for (int i = 0; i < s; i++) across[i] = D[i];
  across[s] = D[s] / f;
  memset(b->T, 0, (size_t)(R * width) * sizeof *b->T);
  for (int i = 0; i < r; i++) {
    const double constant = across[i] * (b->q[i] + block_entry(b, i, 0) * b->lo);
    for (int j = 0; j < r; j++) b->T[i * width + j] = across[i] * block_entry(b, i, j) * D[j];
    b->T[i * width + R + 1] = constant;
    q = fmax(q, fabs(constant));
  }
  if (block_given(b)) { /* w_n = 1, which no variable changes: x_n stays */
    memset(b->T, 0, (size_t)width * sizeof *b->T);
    b->T[R + 1] = 1;
  }
  if (R > r) {
    b->T[r] = 1;
    b->T[r * width] = -1;
    b->T[r * width + R + 1] = (b->hi - b->lo) / D[0];
  }
  for (int i = 0; i < R; i++) {
    /* any positive vector covers; where rounding spoils the path of one, that of another is asked
     */
    b->T[i * width + R] = 1 + attempt * (1 + (7 * i + 3 * attempt) % 11) / 11.0;
    if (q > 0) b->T[i * width + R + 1] /= q;
    b->basic[i] = i;
    b->where[i] = -1 - i;
    b->nonbasic[i] = R + i;
    b->where[R + i] = i;
  }
  b->nonbasic[R] = 2 * R;
  b->where[2 * R] = R;
  return R;
}

/* d basic_i / d eps_k, for constants raised by eps_1 >> eps_2 >> ... > 0 */
static double block_tilt(const perp_block_contact *b, int R, int i, int k)
{
  const int at = b->where[k];
  return at >= 0 ? -b->T[i * (R + 2) + at] : -1 - at == i;
}

/* Of two rows with the same ratio within rounding: does i stop the variable of column j before row
 * l does? */
static bool block_first(const perp_block_contact *b, int R, int i, int l, int j)
{
  const double *T = b->T;
  const double ti = -T[i * (R + 2) + j], tl = -T[l * (R + 2) + j];
  for (int k = 0; k < R; k++) {
    const double x = block_tilt(b, R, i, k) / ti, y = block_tilt(b, R, l, k) / tl;
    if (fabs(x - y) > 1e-10 * fmax(1, fmax(fabs(x), fabs(y)))) return x < y;
  }
  return ti > tl;
}

/* The row that stops the variable of column j, -1 for none. */
static int block_ratio(const perp_block_contact *b, int R, int j)
{
  const int width = R + 2;
  double top = 1, least = HUGE_VAL;
  int leaves = -1;
  for (int i = 0; i < R; i++) top = fmax(top, fabs(b->T[i * width + j]));
  for (int i = 0; i < R; i++) {
    const double rate = -b->T[i * width + j];
    if (rate > 1e-11 * top) least = fmin(least, b->T[i * width + R + 1] / rate);
  }
  for (int i = 0; i < R; i++) {
    const double rate = -b->T[i * width + j];
    if (!(rate > 1e-11 * top) || b->T[i * width + R + 1] - rate * least > 1e-12) continue;
    if (b->basic[i] == 2 * R) return i; /* the path ends where it can */
    if (leaves < 0 || block_first(b, R, i, leaves, j)) leaves = i;
  }
  return leaves;
}

static void block_pivot(perp_block_contact *b, int R, int p, int j)
{
  const int width = R + 2;
  double *T = b->T, *row = T + p * width;
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
  const int in = b->nonbasic[j], out = b->basic[p];
  b->basic[p] = in;
  b->nonbasic[j] = out;
  b->where[in] = -1 - p;
  b->where[out] = j;
}

/* b->state of the end of the path; false for a ray, or too many pivots. */
static bool block_path(perp_block_contact *b, int attempt)
{
  const int R = block_dictionary(b, attempt), width = R + 2, limit = 100 + 20 * R;
  int p = -1;
  if (R == 0) return false;
  for (int i = 0; i < R; i++) { /* the last of equal ones, by the lexico-minimum */
    const double ratio = b->T[i * width + R + 1] / b->T[i * width + R];
    if (ratio < 0 && (p < 0 || ratio <= b->T[p * width + R + 1] / b->T[p * width + R])) p = i;
  }
  for (int j = R, pivots = 0; p >= 0; pivots++) {
    const int out = b->basic[p];
    block_pivot(b, R, p, j);
    if (out == 2 * R) break;
    j = b->where[out < R ? R + out : out - R];
    p = block_ratio(b, R, j);
    if (p < 0 || pivots == limit) return false;
  }
  for (int i = 0; i < b->r; i++) b->state[i] = b->where[R + i] < 0 ? PERP_ROW_FREE : PERP_ROW_LO;
  if (R > b->r && b->where[2 * R - 1] < 0) b->state[0] = PERP_ROW_HI;
  return true;
}

/* All index sets in turn: of the normal lo, free, hi, of the others lo, free. */
static bool block_enumerate(perp_block_contact *b)
{
  const int normals = block_given(b) ? 1 : b->hi < HUGE_VAL ? 3 : 2;
  for (int k = 0; k < normals << (b->r - 1); k++) {
    static const signed char of_normal[] = { PERP_ROW_LO, PERP_ROW_FREE, PERP_ROW_HI };
    b->state[0] = of_normal[k % normals];
    for (int i = 1; i < b->r; i++)
      b->state[i] = (k / normals) >> (i - 1) & 1 ? PERP_ROW_FREE : PERP_ROW_LO;
    b->tried++;
    if (block_basis(b, 1e-9)) return true;
  }
  return false;
}

bool perp_block_contact_solve(perp_block_contact *b)
{
  enum { ATTEMPTS = 8 };
  b->tried = 1;
  if (block_given(b)) b->state[0] = PERP_ROW_LO;
  if (block_basis(b, 1e-12) || block_open(b)) return true;
  if (b->enumerate) return block_enumerate(b);
  b->tried++; /* as many pivots as rows, about */
  for (int k = 0; k < ATTEMPTS; k++)
    if (block_path(b, k) && block_basis(b, 1e-9)) return true;
  return false;
}

/* ---- in a sweep ---- */

void perp_block_contact_limit(const perp_rows *R, const int *row, int r, double *lambda)
{
  const int s = row[r - 1];
  const double radius = R->p->b[s] + perp_rows_entry(R, s, row[0]) * lambda[row[0]];
  double sum = 0;
  for (int k = 1; k < r - 1; k++) sum -= perp_rows_entry(R, s, row[k]) * lambda[row[k]];
  if (!(sum > radius)) return;
  const double factor = radius > 0 ? radius / sum : 0;
  for (int k = 1; k < r - 1; k++) lambda[row[k]] *= factor;
}

double perp_block_contact_step(perp_block_contact *b, perp_rows *R, const int *row, int r,
                               double omega, signed char *state, double *lambda)
{
  double old[PERP_BLOCK_ROWS], worst = 0;
  b->r = r;
  perp_lcp_bounds(R->p, lambda, row[0], &b->lo, &b->hi);
  for (int j = 0; j < r; j++) {
    for (int i = 0; i < r; i++) b->K[i + j * r] = perp_rows_entry(R, row[i], row[j]);
    old[j] = lambda[row[j]];
    b->state[j] = state[row[j]];
  }
  for (int i = 0; i < r; i++) { /* b' = b + sum of A_ij lambda_j over all others */
    b->q[i] = i == r - 1 ? R->p->b[row[i]] : R->w[row[i]];
    for (int j = 0; j < r && i < r - 1; j++) b->q[i] -= b->K[i + j * r] * old[j];
  }
  if (!perp_block_contact_solve(b)) return -1;
  for (int k = 0; k < r; k++) {
    state[row[k]] = b->state[k];
    const double to = old[k] + omega * (b->x[k] - old[k]);
    lambda[row[k]] = omega == 1 || k == r - 1 ? b->x[k]
                     : k > 0                  ? fmax(to, 0)
                                              : fmin(fmax(to, b->lo), b->hi);
  }
  if (omega != 1) perp_block_contact_limit(R, row, r, lambda);
  for (int k = 0; k < r; k++) {
    const double change = lambda[row[k]] - old[k];
    if (!(fabs(change) <= worst)) worst = fabs(change);
    if (k < r - 1)
      perp_rows_change(R, row[k], change);
    else /* it acts in its contact alone */
      for (int t = 1; t < r - 1; t++) R->w[row[t]] += b->K[t + k * r] * change;
  }
  return worst;
}
