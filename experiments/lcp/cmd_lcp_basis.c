/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp solve --all and --sensitivity: all solutions, and how one depends on the data. */
#include "experiments/lcp/lcp_cmd.h"

#include "experiments/base/numbers.h"
#include "solvers/lcp/io/convert.h"
#include "solvers/lcp/pivoting/sensitivity.h"
#include "solvers/lcp/pivoting/solution_set.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 6 }; /* columns of a matrix that fit a line of 80 columns */

static const char *basis_set_name(unsigned char set)
{
  static const char *const names[] = { "none", "lo",    "free",    "lo free",
                                       "hi",   "lo hi", "free hi", "fixed" };
  return names[set & 7];
}

/* Numbers after a "# " and a label, on lines of at most 80 columns. */
static void basis_line(const char *label, const double *x, int n)
{
  int at = printf("# %s", label);
  const int indent = at;
  for (int i = 0; i < n; i++) {
    char text[32];
    const int length = snprintf(text, sizeof text, " %.6g", x[i]);
    if (at + length > 80) at = printf("\n#%*s", indent - 1, "") - 1;
    at += printf("%s", text);
  }
  printf("\n");
}

/* ---- all solutions ---- */

static const char *basis_part_name(const perp_lcp_part *part)
{
  static const char *const names[] = { "an isolated point", "a segment", "a polygon" };
  return !part->known          ? "of unknown extent"
         : !part->bounded      ? "unbounded"
         : part->dimension > 2 ? "a polytope"
                               : names[part->dimension];
}

static void basis_json_all(const perp_lcp_solutions *solutions, const double *lambda, int n,
                           double tol)
{
  perp_json json = { .out = stdout };
  perp_json_members(&json, "{ status %s, count %d, complete? %d, rejected %d, tol %g, solutions: [",
                    solutions->count > 0 ? "solved" : "failed", solutions->count,
                    solutions->complete, solutions->rejected, tol);
  for (int judgement = 0; judgement < solutions->count; judgement++) {
    perp_json_members(&json, "{ status %s",
                      solutions->verdict[judgement] == PERP_CONVERGED ? "solved" : "undecided");
    perp_json_reals(&json, "lambda", lambda + (size_t)judgement * n, n);
    perp_json_reals(&json, "w", solutions->w + (size_t)judgement * solutions->n, solutions->n);
    perp_json_open(&json, "sets", '[');
    for (int i = 0; i < solutions->n; i++)
      perp_json_text(&json, NULL,
                     basis_set_name(solutions->sets[i + (size_t)judgement * solutions->n]));
    perp_json_close(&json, ']');
    perp_lcp_json_judgement(&json, "judgement", &solutions->judgement[judgement]);
    perp_json_close(&json, '}');
  }
  perp_json_close(&json, ']');
  if (solutions->parts >= 0) perp_json_open(&json, "parts", '[');
  for (int p = 0; p < solutions->parts; p++) {
    const perp_lcp_part *part = &solutions->part[p];
    perp_json_open(&json, NULL, '{');
    perp_json_ints(&json, "solutions", part->member, part->count);
    perp_json_int(&json, "dimension", part->dimension);
    if (part->known) perp_json_bool(&json, "bounded", part->bounded);
    if (part->ray != NULL) perp_json_reals(&json, "ray", part->ray, solutions->n);
    perp_json_close(&json, '}');
  }
  if (solutions->parts >= 0) perp_json_close(&json, ']');
  perp_json_close(&json, '}');
  printf("\n");
}

static void basis_print_all(const perp_lcp_solutions *solutions, const double *lambda, int n)
{
  char text[128];
  printf("# %d basic solution%s, %s\n", solutions->count, solutions->count == 1 ? "" : "s",
         solutions->complete ? "all of them: every index set was examined"
         : solutions->count == PERP_SOLUTIONS_MOST
             ? "not all: the search ends with so many"
             : "perhaps not all: the search was not complete");
  if (solutions->rejected > 0)
    printf("# %d further candidate%s: the nearest doubles are no solution (perp lcp solve)\n",
           solutions->rejected, solutions->rejected == 1 ? "" : "s");
  if (solutions->count == 0 && solutions->rejected == 0 && solutions->complete)
    printf("# no solution exists; every choice of free rows is excluded in exact arithmetic\n");
  for (int judgement = 0; judgement < solutions->count; judgement++) {
    snprintf(text, sizeof text, "%d: lambda", judgement);
    basis_line(text, lambda + (size_t)judgement * n, n);
    const double residual = perp_lcp_residual(&(perp_lcp){ 0 }, &solutions->judgement[judgement]);
    printf("#    %s, residual %.3g",
           solutions->verdict[judgement] == PERP_CONVERGED ? "solved" : "undecided", residual);
    int weak = 0;
    for (int i = 0; i < solutions->n; i++) {
      const unsigned char set = solutions->sets[i + (size_t)judgement * solutions->n];
      weak += set != 7 && (set & (set - 1)) != 0;
    }
    if (weak > 0) printf(", degenerate in %d row%s", weak, weak == 1 ? "" : "s");
    printf("\n");
  }
  if (solutions->parts < 0)
    printf("# the sets that they form are not listed: more than %d\n", PERP_SOLUTIONS_MOST);
  for (int p = 0; p < solutions->parts; p++) {
    const perp_lcp_part *part = &solutions->part[p];
    if (part->count == 1 && part->known && part->bounded) continue;
    printf("# set %d is %s, with the corners", p, basis_part_name(part));
    if (part->known && part->bounded && part->dimension > 2)
      printf(" (dimension %d)", part->dimension);
    for (int k = 0; k < part->count && k < 12; k++) printf(" %d", part->member[k]);
    printf(part->count > 12 ? " ... (%d; --json lists them)\n" : "\n", part->count);
    if (part->ray != NULL) basis_line("  and goes on along", part->ray, solutions->n);
  }
}

int perp_lcp_print_all(perp_ctx *ctx, const perp_lcp_problem *problem,
                       const perp_lcp_problem *contacts, int directions, double tol,
                       double tol_data, bool json)
{
  perp_lcp_problem dense = { 0 };
  perp_lcp_solutions solutions = { 0 };
  perp_pool pool = { 0 };
  perp_status status = perp_lcp_problem_form(ctx, problem, &dense);
  perp_lcp lcp = dense.p;
  lcp.tol_data = tol_data;
  for (int i = 0; i < lcp.n && status == PERP_OK; i++)
    if (perp_lcp_is_cone(&lcp, i))
      status = PERP_FAIL(
          ctx, PERP_ERR_UNSUPPORTED,
          "--all: circular cones have no finite number of index sets; add --friction "
          "box or --friction pyramid:4");
  if (status == PERP_OK)
    status = perp_lcp_solutions_find(ctx, &lcp, tol, PERP_LCP_ZERO, &solutions);
  int exit_status;
  if (status == PERP_OK) {
    const int n = contacts != NULL ? contacts->p.n : solutions.n;
    const double *lambda = solutions.lambda;
    if (contacts != NULL && directions > 0) {
      double *forces = perp_pool_alloc(&pool, (size_t)n * solutions.count + 1, sizeof *forces);
      for (int k = 0; k < solutions.count; k++)
        perp_lcp_pyramid_back(&contacts->p, directions, solutions.lambda + (size_t)k * solutions.n,
                              forces + (size_t)k * n);
      lambda = forces;
    }
    if (json)
      basis_json_all(&solutions, lambda, n, tol);
    else
      basis_print_all(&solutions, lambda, n);
    exit_status = solutions.count > 0 && solutions.complete ? PERP_EXIT_OK : PERP_EXIT_FAILED;
  } else
    exit_status = perp_lcp_refuse(ctx, status);
  perp_lcp_solutions_free(&solutions);
  perp_lcp_problem_free(&dense);
  perp_pool_free(&pool);
  return exit_status;
}

/* ---- sensitivity ---- */

perp_status perp_lcp_sensitivity_of(perp_ctx *ctx, const perp_lcp_problem *problem,
                                    const double *lambda, perp_pool *pool,
                                    perp_lcp_sensitivity *out)
{
  perp_lcp_problem dense;
  PERP_TRY(perp_lcp_problem_form(ctx, problem, &dense));
  for (int i = 0; i < dense.p.n; i++)
    if (perp_lcp_is_cone(&dense.p, i)) {
      perp_lcp_problem_free(&dense);
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "--sensitivity: circular cones have no basis; add --friction box");
    }
  const size_t n = (size_t)problem->p.n + 1;
  *out = (perp_lcp_sensitivity){
    .sets = perp_pool_alloc(pool, n, 1),
    .db = perp_pool_alloc(pool, n * n, sizeof(double)),
    .db_down = perp_pool_alloc(pool, n * n, sizeof(double)),
    .kind = perp_pool_alloc(pool, n, sizeof(perp_lcp_smooth)),
    .dbound = perp_pool_alloc(pool, n * n, sizeof(double)),
    .dmu = perp_pool_alloc(pool, n * n, sizeof(double)),
    .least = perp_pool_alloc(pool, n, sizeof(double)),
    .most = perp_pool_alloc(pool, n, sizeof(double)),
    .least_row = perp_pool_alloc(pool, n, sizeof(int)),
    .most_row = perp_pool_alloc(pool, n, sizeof(int)),
  };
  const perp_status status = perp_lcp_sensitivity_find(ctx, &dense.p, lambda, PERP_LCP_ZERO, out);
  perp_lcp_problem_free(&dense);
  return status;
}

static const char *const basis_names[] = { "regular", "degenerate", "singular", "none" };
static const char *const smooth_names[] = { "smooth",  "one-sided", "rising",
                                            "falling", "none",      "open" };

static void basis_json_matrix(perp_json *json, const char *key, const double *m, int n)
{
  perp_json_open(json, key, '[');
  for (int k = 0; k < n; k++) {
    perp_json_open(json, NULL, '[');
    for (int i = 0; i < n; i++) perp_json_real(json, NULL, m[k + (size_t)i * n]);
    perp_json_close(json, ']');
  }
  perp_json_close(json, ']');
}

void perp_lcp_json_sensitivity(perp_json *json, const perp_lcp *lcp,
                               const perp_lcp_sensitivity *sensitivity)
{
  const int n = lcp->n;
  perp_json_members(json, "sensitivity: { basis %s, free %d, degenerate %d, rcond %g",
                    basis_names[sensitivity->verdict], sensitivity->free_rows,
                    sensitivity->weak_rows, sensitivity->rcond);
  if (sensitivity->row >= 0) perp_json_int(json, "row", sensitivity->row);
  perp_json_open(json, "sets", '[');
  for (int i = 0; i < n; i++) perp_json_text(json, NULL, basis_set_name(sensitivity->sets[i]));
  perp_json_close(json, ']');
  if (sensitivity->verdict == PERP_BASIS_REGULAR || sensitivity->verdict == PERP_BASIS_DEGENERATE) {
    perp_json_open(json, "kind", '[');
    for (int i = 0; i < n; i++) perp_json_text(json, NULL, smooth_names[sensitivity->kind[i]]);
    perp_json_close(json, ']');
    basis_json_matrix(json, "dlambda_db", sensitivity->db, n);
    if (sensitivity->verdict == PERP_BASIS_DEGENERATE)
      basis_json_matrix(json, "dlambda_db_down", sensitivity->db_down, n);
    else
      basis_json_matrix(json, "dlambda_dbound", sensitivity->dbound, n);
    if (sensitivity->verdict == PERP_BASIS_REGULAR && lcp->fric_of != NULL && !lcp->frozen)
      basis_json_matrix(json, "dlambda_dmu", sensitivity->dmu, n);
    perp_json_reals(json, "b_least", sensitivity->least, n);
    perp_json_reals(json, "b_most", sensitivity->most, n);
    perp_json_ints(json, "row_least", sensitivity->least_row, n);
    perp_json_ints(json, "row_most", sensitivity->most_row, n);
  }
  perp_json_close(json, '}');
}

/* Columns 0 ... SHOWN - 1 of a matrix. */
static void basis_print_matrix(const char *label, const double *m, int n)
{
  const int columns = n < SHOWN ? n : SHOWN;
  printf("# %s\n#     ", label);
  for (int column = 0; column < columns; column++) printf(" %11d", column);
  printf("\n");
  for (int k = 0; k < n; k++) {
    printf("# %3d ", k);
    for (int column = 0; column < columns; column++) printf(" %11.5g", m[k + (size_t)column * n]);
    printf("\n");
  }
  if (n > columns) printf("# (further columns: --json)\n");
}

static void basis_print_end(char *text, size_t size, double b, int row)
{
  if (isnan(b))
    snprintf(text, size, "-");
  else if (row < 0)
    snprintf(text, size, "%.5g", b);
  else
    snprintf(text, size, "%.5g (row %d)", b, row);
}

void perp_lcp_print_sensitivity(const perp_lcp *lcp, const perp_lcp_sensitivity *sensitivity)
{
  const int n = lcp->n;
  printf("# sensitivity: the basis is %s, %d free row%s", basis_names[sensitivity->verdict],
         sensitivity->free_rows, sensitivity->free_rows == 1 ? "" : "s");
  if (sensitivity->verdict == PERP_BASIS_NONE)
    printf("; row %d is no solution: no derivatives\n", sensitivity->row);
  else if (sensitivity->verdict == PERP_BASIS_SINGULAR)
    printf(", rcond %.3g\n# lambda is not unique, or not differentiable: no derivatives\n",
           sensitivity->rcond);
  else {
    printf(", rcond %.3g\n", sensitivity->rcond);
    if (sensitivity->weak_rows > 0)
      printf("# lambda at a bound and w = 0 in %d row%s: derivatives to each side\n",
             sensitivity->weak_rows, sensitivity->weak_rows == 1 ? "" : "s");
    printf("# %3s %-8s %-9s %11s %20s %20s\n", "row", "set", "in b", "b", "linear from", "to");
    for (int i = 0; i < n; i++) {
      char least[64], most[64];
      basis_print_end(least, sizeof least, sensitivity->least[i], sensitivity->least_row[i]);
      basis_print_end(most, sizeof most, sensitivity->most[i], sensitivity->most_row[i]);
      printf("# %3d %-8s %-9s %11.5g %20s %20s\n", i, basis_set_name(sensitivity->sets[i]),
             smooth_names[sensitivity->kind[i]], lcp->b[i], least, most);
    }
    const bool sides = sensitivity->verdict == PERP_BASIS_DEGENERATE;
    basis_print_matrix(sides ? "d lambda / d b, b rising (rows: lambda; columns: b)"
                             : "d lambda / d b (rows: lambda; columns: b)",
                       sensitivity->db, n);
    if (sides) basis_print_matrix("d lambda / d b, b falling", sensitivity->db_down, n);
    printf("# d lambda_k / d A_ij = (d lambda_k / d b_i) lambda_j\n");
  }
}
