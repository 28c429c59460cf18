/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Problem families of the literature, with their solutions where known.
 *
 * Murty I, II: exponentially many pivots for the least-index method and for Lemke's (d = e); Fathi:
 * the symmetric positive definite counterpart; Csizmadia: P-matrix whose handicap grows
 * exponentially; Kostreva: a P-matrix on which projected Gauss-Seidel does not converge; bimatrix
 * games: Lemke's method with d = e ends in a ray, Lemke-Howson does not; Hilbert: condition 1e10 (n
 * = 8) ... 1e16 (12); the small ones: examples of Cottle, Pang and Stone's book, Pang, Chen and Ye,
 * and unsolvable ones. */
#include "solvers/lcp/problems/generate.h"

#include <math.h>
#include <string.h>

#define AT(i, j) x.A[(size_t)(i) + (size_t)(j) * (size_t)n]

static void generate_classic_fill(perp_lcp_arrays x, int kind, int n, perp_rng *rng)
{
  for (int i = 0; i < n; i++) x.b[i] = -1; /* of most */
  switch (kind) {
  case PERP_GEN_MURTY1:
  case PERP_GEN_MURTY2: /* upper triangular, 1 and 2; z = (0, ..., 0, -b_n) */
    for (int j = 0; j < n; j++)
      for (int i = 0; i <= j; i++) AT(i, j) = i == j ? 1 : 2;
    for (int i = 0; i < n && kind == PERP_GEN_MURTY2; i++)
      x.b[i] = ldexp(1, i + 1) - 2 * ldexp(1, n); /* exact up to 2^53 */
    x.solution[n - 1] = -x.b[n - 1];
    break;
  case PERP_GEN_FATHI: /* U'U of Murty's U */
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) AT(i, j) = 4 * (i < j ? i : j) + (i == j ? 1 : 2);
    x.solution[0] = 1;
    break;
  case PERP_GEN_CSIZMADIA:
    for (int j = 0; j < n; j++)
      for (int i = j; i < n; i++) AT(i, j) = i == j ? 1 : -1;
    for (int i = 0; i < n; i++) x.solution[i] = i == 0 ? 1 : 2 * x.solution[i - 1];
    break;
  case PERP_GEN_KOSTREVA: /* c = 2 */
    for (int i = 0; i < n; i++) {
      AT(i, i) = 1;
      AT(i, (i + 1) % n) = 2;
      x.solution[i] = 1.0 / 3;
    }
    break;
  case PERP_GEN_BIMATRIX:
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        if ((i < n / 2) != (j < n / 2)) AT(i, j) = perp_rng_uniform(rng, 1, 2);
    break;
  case PERP_GEN_HILBERT: /* planted: 1, 0, 1, 0 ... with w = 1 at the zeros */
    for (int i = 0; i < n; i++) x.solution[i] = i % 2 == 0;
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) AT(i, j) = 1.0 / (i + j + 1);
    for (int i = 0; i < n; i++) {
      double sum = 0;
      for (int j = 0; j < n; j++) sum += AT(i, j) * x.solution[j];
      x.b[i] = (i % 2 == 0 ? 0 : 1) - sum;
    }
    break;
  case PERP_GEN_TRIDIAG:
  case PERP_GEN_AHN:
    for (int i = 0; i < n; i++) {
      AT(i, i) = 4;
      if (i > 0) AT(i, i - 1) = kind == PERP_GEN_AHN ? 1 : -1;
      if (i + 1 < n) AT(i, i + 1) = kind == PERP_GEN_AHN ? -2 : -1;
    }
    break;
  case PERP_GEN_HARKER_PANG: { /* A A' + B + D: A, B uniform(-5, 5), B skew, D uniform(0, 0.3) */
    double *R = x.lo;          /* [n n] of the caller, borrowed */
    for (int i = 0; i < n * n; i++) R[i] = perp_rng_uniform(rng, -5, 5);
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) AT(i, j) += R[i + k * n] * R[j + k * n];
    for (int j = 0; j < n; j++) {
      for (int i = 0; i < j; i++) {
        double skew = perp_rng_uniform(rng, -5, 5);
        AT(i, j) += skew;
        AT(j, i) -= skew;
      }
      AT(j, j) += perp_rng_uniform(rng, 0, 0.3);
      x.b[j] = perp_rng_uniform(rng, -500, 0);
    }
    break;
  }
  case PERP_GEN_POISSON: { /* obstacle problem on a k x k grid: 5-point Laplacian, load of both
                              signs */
    int k = 1;
    while (k * k < n) k++;
    for (int i = 0; i < n; i++) {
      int r = i / k, c = i % k;
      AT(i, i) = 4;
      if (r > 0) AT(i, i - k) = -1;
      if (r + 1 < k) AT(i, i + k) = -1;
      if (c > 0) AT(i, i - 1) = -1;
      if (c + 1 < k) AT(i, i + 1) = -1;
      double X = (c + 1.0) / (k + 1), Y = (r + 1.0) / (k + 1);
      x.b[i] = ((X - 0.3) * (X - 0.3) + (Y - 0.6) * (Y - 0.6) - 0.15) / ((k + 1.0) * (k + 1.0));
    }
    break;
  }
  case PERP_GEN_NOSOL: /* v v', v of both signs: w >= 0 asks for v'z >= 1 and v'z <= -1 */
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) AT(i, j) = (i + j) % 2 == 0 ? 1 : -1;
    break;
  default:
    break;
  }
}

/* ---- small problems written out: A by rows ---- */

static const struct small {
  const char *name, *note;
  double A[16], b[4], z[4];
  bool free;
} table[] = {
  { .name = "cps-1",
    .note = "Cottle-Pang-Stone, remark 4.1.14: solutions z1 + z2 = 1",
    .A = { 1, 1, 1, 1 },
    .b = { -1, -1 },
    .z = { 0.5, 0.5 } },
  { .name = "cps-2",
    .note = "Cottle-Pang-Stone, example 4.4.7: zero diagonal",
    .A = { 0, -1, 2, 2, 0, -2, -1, 1, 0 },
    .b = { -3, 6, -1 },
    .z = { 0, 1, 3 } },
  { .name = "cps-3",
    .note = "Cottle-Pang-Stone, example 4.4.23: bimatrix, 3 solutions",
    .A = { 0, 0, 10, 20, 0, 0, 30, 15, 10, 20, 0, 0, 30, 15, 0, 0 },
    .b = { -1, -1, -1, -1 },
    .z = { 0.1, 0, 0.1, 0 } },
  { .name = "cps-4",
    .note = "Cottle-Pang-Stone: optimality conditions of a quadratic programme",
    .A = { 11, 0, 10, -1, 0, 11, 10, -1, 10, 10, 21, -1, 1, 1, 1, 0 },
    .b = { 50, 50, 10, -6 },
    .z = { 2, 2, 2, 92 } },
  { .name = "cps-4bis",
    .note = "As cps-4 with a degenerate solution",
    .A = { 11, 0, 10, -1, 0, 11, 10, -1, 10, 10, 21, -1, 1, 1, 1, 0 },
    .b = { 50, 50, 23, -6 },
    .z = { 3, 3, 0, 83 } },
  { .name = "cps-5",
    .note = "Cottle-Pang-Stone, example 4.4.16: a ray of solutions",
    .A = { 1, -1, -1, 1 },
    .b = { 1, -1 },
    .z = { 0, 1 } },
  { .name = "pang",
    .note = "Pang: isolated solution with two degenerate pairs, A not copositive",
    .A = { 0, -1, -1, 1, 0, 0, -1, 0, 0 },
    .b = { 0, -1, 1 },
    .z = { 1, 0, 0 } },
  { .name = "pang-perturbed",
    .note = "As pang with b_1 = -1e-4: w_1 < 0 for every lambda >= 0",
    .A = { 0, -1, -1, 1, 0, 0, -1, 0, 0 },
    .b = { -1e-4, -1, 1 } },
  { .name = "skew-perturbed",
    .note = "Skew-symmetric, many solutions",
    .A = { 0, -1, 1, 1, 0, 0, -1, 0, 0 },
    .b = { -1e-4, -1, 1 },
    .z = { 1, 0, 1e-4 } },
  { .name = "chen-ye",
    .note = "Chen and Ye: P0, solutions (t, 0, 0)",
    .A = { 0, 1, 0, 0, 0, 1, 0, 1, 1 },
    .b = { 0, 0, 1 } },
  { .name = "negative", .note = "1 x 1, A < 0, b < 0: no solution", .A = { -1 }, .b = { -1 } },
  { .name = "zero-row",
    .note = "Zero row with b < 0: no solution",
    .A = { 1, 0, 0, 0 },
    .b = { -1, -1 } },
  { .name = "free-infeasible",
    .note = "Two contradictory free rows: no solution",
    .A = { 1, 1, 1, 1 },
    .b = { -1, 1 },
    .free = true },
};

perp_status perp_lcp_generate_classic(perp_ctx *ctx, const perp_lcp_family *family, int n,
                                      perp_rng *rng, perp_lcp_problem *out)
{
  if (family->kind == PERP_GEN_TABLE) {
    const struct small *small = table;
    while (strcmp(small->name, family->name) != 0) small++;
    bool solved = (family->classes & PERP_CLASS_SOLVABLE) != 0;
    unsigned parts = PERP_PART_A | (solved ? PERP_PART_SOLUTION : 0u) |
                     (small->free ? PERP_PART_BOUNDS : 0u);
    PERP_TRY(perp_lcp_problem_new(ctx, n, parts, out));
    perp_lcp_arrays x = perp_lcp_edit(out);
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) AT(i, j) = small->A[i * n + j];
      x.b[i] = small->b[i];
      if (solved) x.solution[i] = small->z[i];
      if (small->free) x.lo[i] = -__builtin_inf();
    }
    perp_status status = perp_lcp_problem_note(ctx, out, "%s", small->note);
    if (status != PERP_OK) perp_lcp_problem_free(out);
    return status;
  }
  bool solved = family->kind <= PERP_GEN_KOSTREVA || family->kind == PERP_GEN_HILBERT;
  PERP_TRY(perp_lcp_problem_new(ctx, n, PERP_PART_A | (solved ? PERP_PART_SOLUTION : 0u), out));
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  perp_lcp_problem scratch = { 0 };
  if (family->kind == PERP_GEN_HARKER_PANG) {
    perp_status status = perp_lcp_problem_new(ctx, n, PERP_PART_A, &scratch);
    if (status != PERP_OK) {
      perp_lcp_problem_free(out);
      return status;
    }
    arrays.lo = perp_lcp_edit(&scratch).A;
  }
  generate_classic_fill(arrays, family->kind, n, rng);
  perp_lcp_problem_free(&scratch);
  return PERP_OK;
}
