/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friction rows to the Stewart-Trinkle / Anitescu-Potra LCP; see convert.h.
 *
 * With the contacts' rows gathered in G (columns: kept rows, then d_k on the friction rows of each
 * contact),  A_out = [ G'AG  E ; mu  -E'  0 ].  O(n^2 n_d). */
#include "solvers/lcp/io/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool convert_friction_is_friction(const perp_lcp *lcp, int i)
{
  return lcp->fric_of != NULL && lcp->fric_of[i] >= 0 && !lcp->frozen;
}

/* Friction rows of the contact that starts at friction row i: 1 or 2. */
static int rows_of_contact(const perp_lcp *lcp, int i)
{
  if (lcp->cone != NULL && lcp->cone[i]) return 2;
  bool pair = i + 1 < lcp->n && convert_friction_is_friction(lcp, i + 1) &&
              lcp->fric_of[i + 1] == lcp->fric_of[i] && lcp->mu[i + 1] == lcp->mu[i];
  return pair ? 2 : 1;
}

/* Direction k of n_d.  Four directions are exact: +-x, +-y. */
static void convert_friction_direction(int rows, int n_d, int k, double d[2])
{
  static const double quarter[4][2] = { { 1, 0 }, { 0, 1 }, { -1, 0 }, { 0, -1 } };
  d[0] = d[1] = 0;
  if (rows == 1)
    d[0] = k == 0 ? 1 : -1;
  else if (4 * k % n_d == 0)
    memcpy(d, quarter[4 * k / n_d], sizeof quarter[0]);
  else {
    d[0] = cos(2 * M_PI * k / n_d);
    d[1] = sin(2 * M_PI * k / n_d);
  }
}

/* One column of G: a kept row, or the combination of one or two friction rows. */
struct column {
  int row, rows;
  double d[2];
};

struct map {
  perp_arena arena;
  int kept, beta, contacts; /* columns of each kind */
  struct column *col;       /* [kept + beta] */
  int *normal;              /* [contacts] its column */
  int *first;               /* [contacts + 1] its first beta, from 0 */
  int *column_of;           /* [rows] of the kept ones */
  double *mu;               /* [contacts] */
  double *ag;               /* [rows] scratch */
  int rows;                 /* of the problem with friction */
};

static void friction_map_layout(void *map, perp_arena *arena)
{
  struct map *m = map;
  m->col = PERP_CARVE(arena, struct column, m->kept + m->beta);
  PERP_INTS(arena, m->rows + 1, &m->normal, &m->first, &m->column_of);
  PERP_DOUBLES(arena, m->rows + 1, &m->mu, &m->ag);
}

static perp_status make_map(perp_ctx *ctx, const perp_lcp *lcp, int n_d, struct map *map)
{
  *map = (struct map){ .rows = lcp->n };
  for (int i = 0; i < lcp->n; i++) {
    if (!convert_friction_is_friction(lcp, i)) {
      map->kept++;
      continue;
    }
    int rows = rows_of_contact(lcp, i);
    map->beta += rows == 2 ? n_d : 2;
    map->contacts++;
    i += rows - 1;
  }
  PERP_TRY(perp_arena_layout(ctx, &map->arena, friction_map_layout, map));
  int kept = 0, beta = 0, contact = 0;
  for (int i = 0; i < lcp->n; i++)
    if (!convert_friction_is_friction(lcp, i)) {
      map->column_of[i] = kept;
      map->col[kept++] = (struct column){ .row = i, .rows = 1, .d = { 1, 0 } };
    }
  for (int i = 0; i < lcp->n; i++) {
    if (!convert_friction_is_friction(lcp, i)) continue;
    int rows = rows_of_contact(lcp, i), count = rows == 2 ? n_d : 2;
    map->normal[contact] = map->column_of[lcp->fric_of[i]];
    map->mu[contact] = lcp->mu[i];
    map->first[contact++] = beta;
    for (int k = 0; k < count; k++) {
      struct column *column = &map->col[kept + beta++];
      column->row = i;
      column->rows = rows;
      convert_friction_direction(rows, n_d, k, column->d);
    }
    i += rows - 1;
  }
  map->first[contact] = beta;
  return PERP_OK;
}

static double convert_friction_combine(const struct column *column, const double *x)
{
  return column->d[0] * x[column->row] +
         (column->rows == 2 ? column->d[1] * x[column->row + 1] : 0);
}

/* G'AG into the leading block of out. */
static void convert_friction_project(const perp_lcp *lcp, const struct map *map, double *out,
                                     size_t ld)
{
  double *ag = map->ag;
  int columns = map->kept + map->beta;
  for (int j = 0; j < columns; j++) {
    const struct column *column = &map->col[j];
    const double *x = lcp->A + (size_t)column->row * (size_t)lcp->lda, *y = x + lcp->lda;
    for (int i = 0; i < lcp->n; i++)
      ag[i] = column->d[0] * x[i] + (column->rows == 2 ? column->d[1] * y[i] : 0);
    for (int i = 0; i < columns; i++)
      out[(size_t)i + (size_t)j * ld] = convert_friction_combine(&map->col[i], ag);
  }
}

perp_status perp_lcp_pyramid(perp_ctx *ctx, const perp_lcp_problem *problem, int n_d,
                             perp_lcp_problem *out)
{
  const perp_lcp *lcp = &problem->p;
  struct map map;
  *out = (perp_lcp_problem){ 0 };
  if (n_d < 3 || n_d > 64)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "the number of pyramid directions must be in [3, 64]: got %d", n_d);
  PERP_TRY(perp_lcp_check(ctx, lcp, NULL));
  if (lcp->A == NULL && lcp->n > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "the conversion to a pyramid needs a dense A");
  PERP_TRY(make_map(ctx, lcp, n_d, &map));
  int n = map.kept + map.beta + map.contacts;
  unsigned parts = PERP_PART_A | PERP_PART_UNIT | PERP_PART_CONTACTS;
  bool still = problem->solution != NULL;
  for (int i = 0; still && i < lcp->n; i++)
    if (convert_friction_is_friction(lcp, i) && problem->solution[i] != 0) still = false;
  if (lcp->lo != NULL || lcp->hi != NULL) parts |= PERP_PART_BOUNDS;
  if (still) parts |= PERP_PART_SOLUTION;
  perp_status status = perp_lcp_problem_new(ctx, n, parts, out);
  if (status == PERP_OK) {
    perp_lcp_arrays arrays = perp_lcp_edit(out);
    size_t ld = (size_t)n;
    bool shared =
        false; /* a normal with friction of two kinds: no contact of Stewart and Trinkle */
    convert_friction_project(lcp, &map, arrays.A, ld);
    for (int c = 0; c < map.contacts; c++) {
      size_t gamma = (size_t)(map.kept + map.beta + c);
      const int normal =
          map.col[map.normal[c]].row; /* a slack is an impulse: A_nn brings it to a velocity */
      const double A_nn = fabs(lcp->A[(size_t)normal * ((size_t)lcp->lda + 1)]);
      arrays.unit[gamma] = (lcp->unit != NULL ? lcp->unit[normal] : 1) * (A_nn > 0 ? A_nn : 1);
      arrays.A[gamma + (size_t)map.normal[c] * ld] = map.mu[c];
      if (arrays.contact_of[map.normal[c]] >= 0) shared = true;
      arrays.contact_of[gamma] = arrays.contact_of[map.normal[c]] = c;
      for (int k = map.first[c]; k < map.first[c + 1]; k++) {
        arrays.A[gamma + (size_t)(map.kept + k) * ld] = -1;
        arrays.A[(size_t)(map.kept + k) + gamma * ld] = 1;
        arrays.contact_of[map.kept + k] = c;
      }
    }
    if (shared || map.contacts == 0) out->p.contact_of = NULL;
    for (int i = 0; i < map.kept + map.beta; i++) {
      arrays.b[i] = convert_friction_combine(&map.col[i], lcp->b);
      if (lcp->unit != NULL) arrays.unit[i] = lcp->unit[map.col[i].row];
    }
    for (int i = 0; i < map.kept; i++) {
      if (arrays.lo != NULL) {
        arrays.lo[i] = lcp->lo != NULL ? lcp->lo[map.col[i].row] : 0;
        arrays.hi[i] = lcp->hi != NULL ? lcp->hi[map.col[i].row] : HUGE_VAL;
      }
      if (still) arrays.solution[i] = problem->solution[map.col[i].row];
    }
    out->classes = PERP_CLASS_COPOSITIVE | (problem->classes & PERP_CLASS_SOLVABLE);
    memcpy(out->family, problem->family, sizeof out->family);
    if (problem->provenance != NULL)
      status = perp_lcp_problem_note(ctx, out, "%s; pyramid of %d directions", problem->provenance,
                                     n_d);
  }
  if (status == PERP_OK && still) {
    /* no friction, but slip where mu lambda_n = 0: gamma would not be zero */
    double *a = calloc(PERP_LCP_SCRATCH(n, 0) + 1, sizeof *a), *w = a + n;
    if (a == NULL)
      status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d rows", n);
    else {
      perp_lcp_scales(&out->p, a, NULL);
      perp_lcp_product(&out->p, out->solution, w, NULL);
      if (!(perp_lcp_rel(&out->p, a, out->solution, w) <= 1e-8)) out->solution = NULL;
    }
    free(a);
  }
  perp_arena_free(&map.arena);
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}

void perp_lcp_pyramid_back(const perp_lcp *lcp, int n_d, const double *z, double *lambda)
{
  int kept = 0;
  for (int i = 0; i < lcp->n; i++)
    if (!convert_friction_is_friction(lcp, i)) lambda[i] = z[kept++];
  const double *beta = z + kept;
  for (int i = 0; i < lcp->n; i++) {
    if (!convert_friction_is_friction(lcp, i)) continue;
    int rows = rows_of_contact(lcp, i), count = rows == 2 ? n_d : 2;
    double sum[2] = { 0, 0 };
    for (int k = 0; k < count; k++) {
      double d[2];
      convert_friction_direction(rows, n_d, k, d);
      sum[0] += beta[k] * d[0];
      sum[1] += beta[k] * d[1];
    }
    for (int k = 0; k < rows; k++) lambda[i + k] = sum[k];
    beta += count;
    i += rows - 1;
  }
}

perp_status perp_lcp_boxes(perp_ctx *ctx, const perp_lcp_problem *problem, double factor,
                           perp_lcp_problem *out)
{
  *out = (perp_lcp_problem){ 0 };
  if (!(factor > 0 && factor <= 1))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "factor = %g must be in (0, 1]", factor);
  PERP_TRY(perp_lcp_problem_copy(ctx, problem, out));
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  for (int i = 0; arrays.cone != NULL && i < problem->p.n; i++)
    if (arrays.cone[i]) {
      arrays.mu[i] *= factor;
      arrays.mu[i + 1] *= factor;
    }
  if (arrays.cone != NULL) out->solution = NULL;
  out->p.cone = NULL;
  return PERP_OK;
}
