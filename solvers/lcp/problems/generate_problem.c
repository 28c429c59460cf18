/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of problem families, and the recipe: make, permute, scale, label. */
#include "solvers/lcp/problems/generate.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  SYM = PERP_CLASS_SYMMETRIC,
  PSD = PERP_CLASS_PSD,
  PD = PERP_CLASS_PSD | PERP_CLASS_PD,
  P = PERP_CLASS_P,
  COP = PERP_CLASS_COPOSITIVE,
  OK = PERP_CLASS_SOLVABLE,
  NO = PERP_CLASS_UNSOLVABLE,
  DEG = PERP_CLASS_DEGENERATE,
  MOST = 20000,       /* dense */
  HUGE_N = 6000000,   /* factored or sparse */
  SPARSE_ABOVE = 2000 /* rows up to which A is dense in every family */
};

/* name, summary, least, most, step, contact, factored, seeded, classes, kind */
static const perp_lcp_family families[] = {
  { "spd", "R R' / n + I / 20, with a planted solution", 1, MOST, 1, 0, 0, 1, SYM | PD | P | OK,
    PERP_GEN_SPD },
  { "spd-degenerate", "As spd, but half of the zero multipliers have w = 0", 1, MOST, 1, 0, 0, 1,
    SYM | PD | P | OK | DEG, PERP_GEN_SPD_DEGENERATE },
  { "psd", "R R' of rank n / 2, with a planted solution", 1, MOST, 1, 0, 0, 1, SYM | PSD | OK | DEG,
    PERP_GEN_PSD },
  { "pd-nonsymmetric", "Positive definite plus skew, with a planted solution", 1, MOST, 1, 0, 0, 1,
    PD | P | OK, PERP_GEN_SKEW },
  { "boxed", "As spd with all kinds of bounds", 1, MOST, 1, 0, 0, 1, SYM | PD | P | OK,
    PERP_GEN_BOXED },
  { "boxed-psd", "As psd with all kinds of bounds", 1, MOST, 1, 0, 0, 1, SYM | PSD | OK | DEG,
    PERP_GEN_MIXED },
  { "p-matrix", "Diagonally dominant matrix with random signs", 1, MOST, 1, 0, 0, 1, P | OK,
    PERP_GEN_PMATRIX },
  { "copositive", "Nonnegative + skew + I / 10, strictly copositive", 1, MOST, 1, 0, 0, 1, COP | OK,
    PERP_GEN_COPOSITIVE },
  { "infeasible", "Semidefinite with a Farkas vector, no solution", 2, MOST, 1, 0, 0, 1,
    SYM | PSD | NO, PERP_GEN_INFEASIBLE },

  { "stack", "Frictionless stack of cubes, 4 contacts per interface", 4, HUGE_N, 4, 1, 1, 0,
    SYM | PSD | OK | DEG, PERP_GEN_CONTACT },
  { "stack-cfm", "As stack, with 1e-5 added to the diagonal", 4, HUGE_N, 4, 1, 1, 0,
    SYM | PD | P | OK, PERP_GEN_CONTACT },
  { "stack-box", "Stack with boxed friction, 3 rows per contact", 12, HUGE_N, 12, 1, 1, 0,
    SYM | PSD | OK | DEG, PERP_GEN_CONTACT },
  { "stack-cone", "Stack with circular cones, 3 rows per contact", 12, HUGE_N, 12, 1, 1, 0,
    SYM | PSD | OK | DEG, PERP_GEN_CONTACT },
  { "stack-friction", "Stack, Stewart-Trinkle, 4 directions, 6 rows per contact", 24, MOST, 24, 1,
    0, 0, COP | OK | DEG, PERP_GEN_CONTACT },
  { "wall", "Frictionless wall of cubes in running bond", 4, HUGE_N, 4, 1, 1, 0,
    SYM | PSD | OK | DEG, PERP_GEN_WALL },
  { "wall-box", "Wall with boxed friction, 3 rows per contact", 12, HUGE_N, 12, 1, 1, 0,
    SYM | PSD | OK | DEG, PERP_GEN_WALL },
  { "wall-cone", "Wall with circular cones, 3 rows per contact", 12, HUGE_N, 12, 1, 1, 0,
    SYM | PSD | OK | DEG, PERP_GEN_WALL },
  { "wall-friction", "Wall, Stewart-Trinkle, 4 directions, 6 rows per contact", 24, MOST, 24, 1, 0,
    0, COP | OK | DEG, PERP_GEN_WALL },
  /* has a solution, but that is not labelled: no solver is sure to reach it in doubles */
  { "heavy-cone", "Stack-cone, mass ratio 100 upwards, velocities 5 % off", 12, 60, 12, 1, 1, 1,
    SYM | PSD | DEG, PERP_GEN_CONTACT },
  { "pushed-cone", "Stack-cone, mu 0.3, top pushed at 1 m/s, velocities 2 % off", 12, HUGE_N, 12, 1,
    1, 1, SYM | PSD | OK | DEG, PERP_GEN_CONTACT },
  { "wall-rough-cone", "Wall-cone, velocities 5 % off", 12, HUGE_N, 12, 1, 1, 1,
    SYM | PSD | OK | DEG, PERP_GEN_WALL },
  { "incline-edge", "Cubes on a slope of 20 deg, mu = tan 20 deg, Stewart-Trinkle", 24, MOST, 24, 1,
    0, 0, COP | OK | DEG, PERP_GEN_CONTACT },
  { "incline-slide", "As incline-edge with mu = 0.2", 24, MOST, 24, 1, 0, 0, COP | OK | DEG,
    PERP_GEN_CONTACT },
  { "incline-stick", "As incline-edge with mu = 0.5", 24, MOST, 24, 1, 0, 0, COP | OK | DEG,
    PERP_GEN_CONTACT },

  { "incline-box", "As incline-slide with boxed friction", 12, HUGE_N, 12, 1, 1, 0,
    SYM | PSD | OK | DEG, PERP_GEN_CONTACT },
  { "incline-cone", "As incline-slide with circular cones", 12, HUGE_N, 12, 1, 1, 0,
    SYM | PSD | OK | DEG, PERP_GEN_CONTACT },

  { "murty1", "Murty I: 2^n - 1 least-index pivots", 1, MOST, 1, 0, 0, 0, P | OK, PERP_GEN_MURTY1 },
  { "murty2", "Murty II: 2^n - 1 Lemke pivots with d = e", 1, 48, 1, 0, 0, 0, P | OK,
    PERP_GEN_MURTY2 },
  { "fathi", "Fathi: symmetric positive definite, exponential for Lemke", 1, MOST, 1, 0, 0, 0,
    SYM | PD | P | OK, PERP_GEN_FATHI },
  { "csizmadia", "Csizmadia: P-matrix with exponential handicap", 1, 48, 1, 0, 0, 0,
    P | PERP_CLASS_Z | OK, PERP_GEN_CSIZMADIA },
  { "kostreva", "Circulant P-matrix on which Gauss-Seidel cycles", 3, 3, 1, 0, 0, 0, P | OK,
    PERP_GEN_KOSTREVA },
  { "bimatrix", "Bimatrix game: its solutions are Nash equilibria", 2, MOST, 2, 0, 0, 1,
    COP | PERP_CLASS_BIMATRIX | OK, PERP_GEN_BIMATRIX },
  { "hilbert", "Hilbert matrix, with a planted solution", 1, 12, 1, 0, 0, 0, SYM | PD | P | OK,
    PERP_GEN_HILBERT },
  { "tridiag", "Tridiagonal matrix tridiag(-1, 4, -1)", 1, HUGE_N, 1, 0, 0, 0,
    SYM | PD | P | PERP_CLASS_Z | OK, PERP_GEN_TRIDIAG },
  { "ahn", "Tridiagonal matrix tridiag(1, 4, -2)", 1, HUGE_N, 1, 0, 0, 0, PD | P | OK,
    PERP_GEN_AHN },
  { "harker-pang", "Harker-Pang, hard: A A' + B + D, b in (-500, 0)", 1, MOST, 1, 0, 0, 1,
    PD | P | OK, PERP_GEN_HARKER_PANG },
  { "poisson", "Obstacle problem on a square grid", 1, HUGE_N, 0, 0, 0, 0,
    SYM | PD | P | PERP_CLASS_Z | OK, PERP_GEN_POISSON },
  { "american-put", "American put, one implicit step: nonsymmetric M-matrix, tridiagonal", 2,
    HUGE_N, 1, 0, 0, 0, PD | P | PERP_CLASS_Z | OK, PERP_GEN_PUT },
  { "obstacle", "Membrane over a paraboloid, on a square grid", 4, HUGE_N, 0, 0, 0, 0,
    SYM | PD | P | PERP_CLASS_Z | OK, PERP_GEN_OBSTACLE },
  { "bearing", "Journal bearing with cavitation, on a grid of 2 l x l points", 8, HUGE_N, 0, 0, 0,
    0, SYM | PD | P | PERP_CLASS_Z | OK, PERP_GEN_BEARING },
  { "nosol", "Matrix v v' with v of both signs, no solution", 2, MOST, 1, 0, 0, 0, SYM | PSD | NO,
    PERP_GEN_NOSOL },
  { "cps-1", "Cottle-Pang-Stone, a segment of solutions", 2, 2, 1, 0, 0, 0, SYM | PSD | OK | DEG,
    PERP_GEN_TABLE },
  { "cps-2", "Cottle-Pang-Stone, zero diagonal", 3, 3, 1, 0, 0, 0, OK, PERP_GEN_TABLE },
  { "cps-3", "Cottle-Pang-Stone, bimatrix with 3 solutions", 4, 4, 1, 0, 0, 0,
    COP | PERP_CLASS_BIMATRIX | OK, PERP_GEN_TABLE },
  { "cps-4", "Cottle-Pang-Stone, optimality conditions", 4, 4, 1, 0, 0, 0, PSD | OK,
    PERP_GEN_TABLE },
  { "cps-4bis", "As cps-4, but degenerate", 4, 4, 1, 0, 0, 0, PSD | OK | DEG, PERP_GEN_TABLE },
  { "cps-5", "Cottle-Pang-Stone, a ray of solutions", 2, 2, 1, 0, 0, 0, SYM | PSD | OK | DEG,
    PERP_GEN_TABLE },
  { "pang", "Isolated degenerate solution, not copositive (Pang)", 3, 3, 1, 0, 0, 0, OK | DEG,
    PERP_GEN_TABLE },
  { "pang-perturbed", "Slightly infeasible, b_1 = -1e-4", 3, 3, 1, 0, 0, 0, NO, PERP_GEN_TABLE },
  { "skew-perturbed", "Skew-symmetric, many solutions", 3, 3, 1, 0, 0, 0, PSD | OK | DEG,
    PERP_GEN_TABLE },
  { "chen-ye", "P0-matrix with an unbounded solution set", 3, 3, 1, 0, 0, 0, OK | DEG,
    PERP_GEN_TABLE },
  { "negative", "Matrix of 1 x 1 without solution", 1, 1, 1, 0, 0, 0, SYM | NO, PERP_GEN_TABLE },
  { "zero-row", "Matrix of 2 x 2 with an infeasible zero row", 2, 2, 1, 0, 0, 0, SYM | PSD | NO,
    PERP_GEN_TABLE },
  { "free-infeasible", "Contradictory free rows, no solution", 2, 2, 1, 0, 0, 0, SYM | PSD | NO,
    PERP_GEN_TABLE },
};
enum { FAMILIES = sizeof families / sizeof families[0] };

const perp_lcp_family *perp_lcp_family_at(int i)
{
  return i >= 0 && i < FAMILIES ? &families[i] : NULL;
}

const perp_lcp_family *perp_lcp_family_find(const char *name)
{
  for (int i = 0; i < FAMILIES; i++)
    if (strcmp(families[i].name, name) == 0) return &families[i];
  return NULL;
}

int perp_lcp_family_rows(const perp_lcp_family *family, int n)
{
  if (n > family->most) n = family->most;
  if (n < family->least) n = family->least;
  if (family->kind == PERP_GEN_POISSON || family->kind == PERP_GEN_OBSTACLE ||
      family->kind == PERP_GEN_BEARING) { /* squares, and two of them */
    const int squares = family->kind == PERP_GEN_BEARING ? 2 : 1;
    int k = (int)lrint(sqrt((double)n / squares));
    while (squares * k * k > family->most) k--;
    return squares * k * k;
  }
  if (family->kind == PERP_GEN_WALL) {
    int rows = family->least / 4, contacts = (n + rows / 2) / rows, W, H; /* rows a contact */
    do /* the nearest one may be above the most */
      perp_lcp_wall_nearest(contacts--, 0, &W, &H);
    while (rows * perp_lcp_wall_contacts(W, H) > family->most);
    return rows * perp_lcp_wall_contacts(W, H);
  }
  int k = (n - family->least + family->step / 2) / family->step;
  n = family->least + k * family->step;
  return n > family->most ? n - family->step : n;
}

int perp_lcp_family_rows_of_boxes(const perp_lcp_family *family, int boxes)
{
  if (!family->contact || boxes < 1) return family->least;
  if (boxes > family->most / family->least) boxes = family->most / family->least;
  if (family->kind != PERP_GEN_WALL) return family->least * boxes;
  int W, H;
  perp_lcp_wall_nearest(0, boxes, &W, &H);
  return family->least / 4 * perp_lcp_wall_contacts(W, H);
}

static const perp_lcp_family *generate_lookup(perp_ctx *ctx, const char *name)
{
  const perp_lcp_family *family = perp_lcp_family_find(name);
  if (family != NULL) return family;
  const char *names[FAMILIES];
  for (int i = 0; i < FAMILIES; i++) names[i] = families[i].name;
  const char *near = perp_closest(name, names, FAMILIES);
  PERP_FAIL(ctx, PERP_ERR_OPTION,
            "unknown family '%s'%s%s%s (perp lcp generate --help lists all families)", name,
            near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
            near != NULL ? "'?" : "");
  return NULL;
}

static perp_status generate_permute(perp_ctx *ctx, perp_lcp_problem *problem, perp_rng *rng)
{
  int n = problem->p.n, units = 0, k = 0;
  int *unit = calloc(2 * (size_t)n + 1, sizeof *unit);
  if (unit == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d rows", n);
  int *perm = unit + n;
  for (int i = 0; i < n; i++) {
    unit[units++] = i;
    if (problem->p.cone != NULL && problem->p.cone[i])
      i++; /* the two rows of a cone stay together */
  }
  perp_rng_shuffle(rng, unit, units);
  for (int u = 0; u < units; u++) {
    perm[k++] = unit[u];
    if (problem->p.cone != NULL && problem->p.cone[unit[u]]) perm[k++] = unit[u] + 1;
  }
  perp_status status = perp_lcp_problem_permute(ctx, problem, perm);
  free(unit);
  return status;
}

/* Has A few numbers a row?  Up to SPARSE_ABOVE rows it is dense, all the same. */
static bool generate_few(const perp_lcp_family *family)
{
  switch (family->kind) {
  case PERP_GEN_PUT:
  case PERP_GEN_OBSTACLE:
  case PERP_GEN_BEARING:
  case PERP_GEN_TRIDIAG:
  case PERP_GEN_AHN:
  case PERP_GEN_POISSON:
    return true;
  default:
    return false;
  }
}

/* Those of few numbers a row that are made by them; the others in generate_classic.c as well. */
static perp_status generate_from_few(perp_ctx *ctx, const perp_lcp_family *family, int n,
                                     perp_lcp_problem *out)
{
  PERP_TRY(perp_lcp_generate_sparse(ctx, family, n, out));
  if (n > SPARSE_ABOVE) return PERP_OK;
  perp_lcp_problem few = *out;
  const perp_status status = perp_lcp_problem_form(ctx, &few, out);
  perp_lcp_problem_free(&few);
  return status;
}

double perp_lcp_recipe_memory(const perp_lcp_recipe *recipe)
{
  const perp_lcp_family *family = perp_lcp_family_find(recipe->family);
  if (family == NULL) return 0;
  int rows = recipe->n > 0 ? recipe->n : family->least;
  if (recipe->n <= 0 && recipe->boxes > 0)
    rows = perp_lcp_family_rows_of_boxes(family, recipe->boxes);
  if (generate_few(family) && rows > SPARSE_ABOVE)
    return perp_lcp_sparse_memory(rows) * (recipe->permute ? 2 : 1);
  const double n = rows, real = sizeof(double);
  /* of contacts: two sub-matrices of J of 6 columns a row, M and its inverse of a cube to four
   * contacts of at least one row, and their copy; vectors */
  const double factored = n * real * (2 * (2 * 6 + 2 * 36 / 4.0 + 6) + 8);
  if (recipe->factored) return factored;
  /* numbers of the size of A, of which there is one more while it is made; of pyramids half of the
   * rows, then all */
  double squares = !family->contact ? 2 : family->least % 24 == 0 ? 1.25 : 1;
  if (recipe->permute) squares = fmax(squares, 2);
  return squares * n * n * real + (family->contact ? factored : 0);
}

perp_status perp_lcp_generate(perp_ctx *ctx, const perp_lcp_recipe *recipe, perp_lcp_problem *out)
{
  *out = (perp_lcp_problem){ 0 };
  const perp_lcp_family *family = generate_lookup(ctx, recipe->family);
  if (family == NULL) return PERP_ERR_OPTION;
  if (recipe->boxes > 0 && !family->contact)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "family %s has no boxes; use --n to choose the number of rows", family->name);
  int n = recipe->n > 0 ? recipe->n : family->least;
  if (recipe->n <= 0 && recipe->boxes > 0) n = perp_lcp_family_rows_of_boxes(family, recipe->boxes);
  int valid = perp_lcp_family_rows(family, n);
  if (valid != n)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s has no problem of %d rows; the nearest has %d",
                     family->name, n, valid);
  if (recipe->factored && !family->factored)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "family %s has no factored form; omit --factored",
                     family->name);
  if (recipe->scale < 0 || !isfinite(recipe->scale))
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "scale = %g, must be finite and > 0", recipe->scale);
  perp_lcp_recipe sized = *recipe;
  sized.n = n;
  char what[160];
  snprintf(what, sizeof what, "%s of %d rows%s", family->name, n,
           family->factored && !recipe->factored ? " (less with --factored)" : "");
  PERP_TRY(perp_lcp_affords(ctx, perp_lcp_recipe_memory(&sized), what));
  perp_rng *rng = perp_rng_create(recipe->seed);
  if (rng == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a generator");
  perp_status status;
  if (family->kind > PERP_GEN_CLASSIC_END && family->kind < PERP_GEN_SPARSE_END)
    status = generate_from_few(ctx, family, n, out);
  else if (generate_few(family) && n > SPARSE_ABOVE)
    status = perp_lcp_generate_sparse(ctx, family, n, out);
  else if (family->kind < PERP_GEN_CLASSIC_END)
    status = perp_lcp_generate_classic(ctx, family, n, rng, out);
  else if (family->kind < PERP_GEN_RANDOM_END)
    status = perp_lcp_generate_random(ctx, family, n, rng, out);
  else
    status = perp_lcp_generate_contact(ctx, family, n, recipe->factored, rng, out);
  if (status == PERP_OK && recipe->permute) status = generate_permute(ctx, out, rng);
  perp_rng_destroy(rng);
  if (status == PERP_OK && recipe->scale > 0 && recipe->scale != 1)
    perp_lcp_problem_scale(out, recipe->scale);
  if (status == PERP_OK && out->provenance == NULL)
    status = perp_lcp_problem_note(ctx, out, "perp: %s", family->summary);
  if (status != PERP_OK) {
    perp_lcp_problem_free(out);
    return status;
  }
  out->classes = family->classes;
  memcpy(out->family, family->name, strlen(family->name) + 1);
  return PERP_OK;
}
