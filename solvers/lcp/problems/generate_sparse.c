/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Families whose matrix has a few numbers a row, on a line or on a grid; A is kept by them.
 *
 * american-put: one implicit step T of the Black-Scholes inequality for the price u of an American
 * put of strike 1 in x = log(price of the share), n points within (-3, 3):
 *
 *      (1 + T L) u >= pay,   u >= pay,   one of them equal;   pay(x) = max(1 - exp x, 0),
 *      L = -sigma^2/2 d2/dx2 - (r - sigma^2/2) d/dx + r,  central differences,
 *      lambda = u - pay,  sigma = 0.3,  r = 0.05,  T = 1
 *
 * A nonsymmetric M-matrix, and a definite one (Brennan and Schwartz 1977; Jaillet, Lamberton and
 * Lapeyre 1990).
 *
 * obstacle: the membrane under a load over the unit square, u >= psi = 1/2 - 2 |x - c|^2, in k x k
 * points: -laplace u + 10 >= 0, lambda = u - psi, times the square of the distance of the points
 * (Rodrigues 1987).
 *
 * bearing: Reynolds' equation with cavitation in a journal bearing of eccentricity e = 0.8 and
 * length 1 over the radius, in 2 l x l points: with the film H = 1 + e cos x,
 *
 *      -div(H^3 grad p) + dH/dx >= 0,  p >= 0,  one of them equal
 *
 * (Cryer 1971).  poisson, tridiag, ahn: as in generate_classic.c. */
#include "solvers/lcp/problems/generate.h"

#include <stdlib.h>

enum { STENCIL = 5 };

/* ---- functions whose digits are the same on every machine ---- */

/* exp x, |x| <= 3, to a few units in the last place */
static double sparse_exp(double x)
{
  const double y = x / 8;
  double sum = 1, term = 1;
  for (int k = 1; k <= 18; k++) {
    term *= y / k;
    sum += term;
  }
  sum *= sum;
  sum *= sum;
  return sum * sum;
}

/* cos x, |x| <= 7 */
static double sparse_cos(double x)
{
  const double y = x / 4;
  double sum = 1, term = 1;
  for (int k = 1; k <= 14; k++) {
    term *= -y * y / ((2 * k - 1) * (2 * k));
    sum += term;
  }
  sum = 2 * sum * sum - 1;
  return 2 * sum * sum - 1;
}

static const double PI = 3.14159265358979323846;

/* ---- one row of each: columns ascending and their numbers; b ---- */

typedef struct sparse_row {
  int n, col[STENCIL];
  double value[STENCIL], b;
} sparse_row;

static void sparse_add(sparse_row *row, bool inside, int col, double value)
{
  if (!inside) return;
  row->col[row->n] = col;
  row->value[row->n++] = value;
}

static double sparse_pay(int n, int i) /* -1 and n: the ends */
{
  const double x = -3 + 6.0 * (i + 1) / (n + 1);
  return x < 0 ? 1 - sparse_exp(x) : 0;
}

static void sparse_put(int n, int i, sparse_row *row)
{
  const double step = 1, sigma = 0.3, rate = 0.05, h = 6.0 / (n + 1);
  const double half = sigma * sigma / 2 / (h * h), drift = (rate - sigma * sigma / 2) / 2 / h;
  const double down = -step * (half - drift), up = -step * (half + drift),
               own = 1 + step * (2 * half + rate);
  sparse_add(row, i > 0, i - 1, down);
  sparse_add(row, true, i, own);
  sparse_add(row, i + 1 < n, i + 1, up);
  row->b = down * sparse_pay(n, i - 1) + (own - 1) * sparse_pay(n, i) + up * sparse_pay(n, i + 1);
}

/* Five points of a grid with k columns: below, left, own, right, above. */
static void sparse_five(int n, int k, int i, const double value[5], sparse_row *row)
{
  const int c = i % k;
  sparse_add(row, i >= k, i - k, value[0]);
  sparse_add(row, c > 0, i - 1, value[1]);
  sparse_add(row, true, i, value[2]);
  sparse_add(row, c + 1 < k, i + 1, value[3]);
  sparse_add(row, i + k < n, i + k, value[4]);
}

static double sparse_paraboloid(int k, int r, int c) /* psi */
{
  const double x = (c + 1.0) / (k + 1) - 0.5, y = (r + 1.0) / (k + 1) - 0.5;
  return 0.5 - 2 * (x * x + y * y);
}

static void sparse_square(int kind, int n, int k, int i, sparse_row *row)
{
  static const double laplace[5] = { -1, -1, 4, -1, -1 };
  const int r = i / k, c = i % k;
  const double square = (k + 1.0) * (k + 1.0);
  sparse_five(n, k, i, laplace, row);
  if (kind == PERP_GEN_POISSON) {
    const double x = (c + 1.0) / (k + 1), y = (r + 1.0) / (k + 1);
    row->b = ((x - 0.3) * (x - 0.3) + (y - 0.6) * (y - 0.6) - 0.15) / square;
    return;
  }
  /* A psi with u = 0 at the edge: psi of the neighbours inside alone */
  row->b = 10 / square + 4 * sparse_paraboloid(k, r, c);
  if (r > 0) row->b -= sparse_paraboloid(k, r - 1, c);
  if (r + 1 < k) row->b -= sparse_paraboloid(k, r + 1, c);
  if (c > 0) row->b -= sparse_paraboloid(k, r, c - 1);
  if (c + 1 < k) row->b -= sparse_paraboloid(k, r, c + 1);
}

static double sparse_film(double x)
{
  const double H = 1 + 0.8 * sparse_cos(x);
  return H * H * H;
}

static void sparse_bearing(int n, int k, int i, sparse_row *row)
{
  const int l = n / k, c = i % k;
  const double hx = 2 * PI / (k + 1), hy = 1.0 / (l + 1), x = (c + 1) * hx;
  /* between two points it is one number for both */
  const double left = sparse_film((c + 0.5) * hx) / (hx * hx),
               right = sparse_film((c + 1.5) * hx) / (hx * hx), across = sparse_film(x) / (hy * hy);
  const double value[5] = { -across, -left, left + right + 2 * across, -right, -across };
  sparse_five(n, k, i, value, row);
  row->b = -0.8 * sparse_cos(x - PI / 2); /* sin x */
}

static void sparse_line(int kind, int n, int i, sparse_row *row)
{
  sparse_add(row, i > 0, i - 1, kind == PERP_GEN_AHN ? 1 : -1);
  sparse_add(row, true, i, 4);
  sparse_add(row, i + 1 < n, i + 1, kind == PERP_GEN_AHN ? -2 : -1);
  row->b = -1;
}

/* ---- the problem ---- */

static int sparse_side(int n) /* the root of a square */
{
  int k = 1;
  while ((int64_t)k * k < n) k++;
  return k;
}

static void sparse_fill(int kind, int n, double *b, int *start, int *col, double *value)
{
  const int k = kind == PERP_GEN_BEARING                                ? 2 * sparse_side(n / 2)
                : kind == PERP_GEN_POISSON || kind == PERP_GEN_OBSTACLE ? sparse_side(n)
                                                                        : n;
  start[0] = 0;
  for (int i = 0; i < n; i++) {
    sparse_row row = { 0 };
    if (kind == PERP_GEN_PUT)
      sparse_put(n, i, &row);
    else if (kind == PERP_GEN_BEARING)
      sparse_bearing(n, k, i, &row);
    else if (kind == PERP_GEN_POISSON || kind == PERP_GEN_OBSTACLE)
      sparse_square(kind, n, k, i, &row);
    else
      sparse_line(kind, n, i, &row);
    for (int j = 0; j < row.n; j++) {
      col[start[i] + j] = row.col[j];
      value[start[i] + j] = row.value[j];
    }
    start[i + 1] = start[i] + row.n;
    b[i] = row.b;
  }
}

double perp_lcp_sparse_memory(int n)
{
  /* numbers and places by rows and by columns, while they are copied; pointers, b */
  return n *
         (2.0 * 2 * STENCIL * (sizeof(double) + sizeof(int)) + 4 * sizeof(int) + sizeof(double));
}

perp_status perp_lcp_generate_sparse(perp_ctx *ctx, const perp_lcp_family *family, int n,
                                     perp_lcp_problem *out)
{
  PERP_TRY(perp_lcp_problem_new(ctx, n, 0, out));
  const size_t rows = (size_t)n, numbers = STENCIL * rows;
  int *place = calloc(2 * (rows + 1) + 2 * numbers, sizeof *place);
  double *value = calloc(2 * numbers, sizeof *value);
  perp_status status = PERP_ERR_NOMEM;
  if (place != NULL && value != NULL) {
    int *rstart = place, *start = rstart + rows + 1, *col = start + rows + 1, *row = col + numbers;
    sparse_fill(family->kind, n, perp_lcp_edit(out).b, rstart, col, value);
    perp_columns_turn(n, rstart, col, value, start, row, value + numbers);
    const perp_columns columns = { .n = n,
                                   .start = start,
                                   .row = row,
                                   .value = value + numbers,
                                   .rstart = rstart,
                                   .col = col,
                                   .rvalue = value };
    status = perp_lcp_problem_set_columns(ctx, out, &columns);
  } else {
    PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %s of %d rows", family->name, n);
  }
  free(place);
  free(value);
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}
