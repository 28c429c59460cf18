/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spatial interaction (Vondrak 2005, section 3.3): forces between each two bodies of a range,
 * depending on the distance r of their centres,
 *
 *      F_i = -V'(r) n = -F_j,     n the direction from j to i,
 *
 * so that momentum, angular momentum and energy are conserved.  Without a cut-off all n (n - 1) / 2
 * pairs are visited.  With one, bodies are put one after the other into the cells of a grid with
 * edges of one cut-off, each meets those that are in the cells around it already, and no pair is
 * met twice: O(n) while the density is bounded.  Cells are found by hashing, so that the region has
 * no border; bodies of other cells in the same list are told apart by the coordinates of their
 * cells.  No allocation. */
#include "models/multibody/model_private.h"

typedef struct law {
  const char *name;
  bool needs_length; /* s must be positive */
  /* V and V' for the product m of both masses */
  void (*potential)(const perp_force_def *el, double m, double r, double *V, double *slope);
} law;

static void force_pairs_gravity(const perp_force_def *el, double m, double r, double *V,
                                double *slope)
{
  *V = -el->strength * m / r;
  *slope = -*V / r;
}

static void lennard_jones(const perp_force_def *el, double m, double r, double *V, double *slope)
{
  const double s = el->length / r, s2 = s * s, s6 = s2 * s2 * s2;
  (void)m;
  *V = 4 * el->strength * s6 * (s6 - 1);
  *slope = -24 * el->strength * s6 * (2 * s6 - 1) / r;
}

static void force_pairs_repulsion(const perp_force_def *el, double m, double r, double *V,
                                  double *slope)
{
  const double e = el->strength * exp(-r / el->length);
  (void)m;
  *V = e * el->length;
  *slope = -e;
}

static const law laws[] = {
  [PERP_LAW_GRAVITY] = { "gravity", false, force_pairs_gravity },
  [PERP_LAW_LENNARD_JONES] = { "lennard-jones", true, lennard_jones },
  [PERP_LAW_REPULSION] = { "repulsion", true, force_pairs_repulsion },
};

perp_status perp_pairs_check(perp_ctx *ctx, const perp_model *model, const perp_force_def *el,
                             const char *who)
{
  if ((unsigned)el->law >= sizeof laws / sizeof *laws)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: unknown law: %d", who, (int)el->law);
  if (el->a < 0 || el->b >= model->n_bodies || el->b <= el->a)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: bodies %d ... %d are not a range of at least two of the %d bodies", who,
                     el->a, el->b, model->n_bodies);
  if (!isfinite(el->strength))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: strength is not finite", who);
  if (laws[el->law].needs_length && !(el->length > 0))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: length of %s must be positive: got %g m", who,
                     laws[el->law].name, el->length);
  if (!(el->cutoff >= 0) || !isfinite(el->cutoff))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: cutoff must be in [0, inf), 0: no cutoff: got %g m",
                     who, el->cutoff);
  return PERP_OK;
}

/* ---- one pair ---- */

typedef struct sum {
  const perp_model *model;
  const perp_eval *e;
  const perp_force_def *el;
  double *f;        /* NULL: the potential only */
  double potential; /* J */
} sum;

/* V and V' with the cut-off */
static void force_pairs_shifted(const sum *s, double m, double r, double *V, double *slope)
{
  const perp_force_def *el = s->el;
  double V_c, slope_c;
  laws[el->law].potential(el, m, r, V, slope);
  if (el->cutoff == 0) return;
  laws[el->law].potential(el, m, el->cutoff, &V_c, &slope_c);
  *V -= V_c + (r - el->cutoff) * slope_c;
  *slope -= slope_c;
}

static void force_pairs_meet(sum *sums, int pose, int inertia)
{
  const perp_model *model = sums->model;
  const double *xi = sums->e->pose[pose].x, *xj = sums->e->pose[inertia].x;
  const int d = model->dim;
  double n[3] = { 0 }, V, slope;
  for (int k = 0; k < d; k++) n[k] = xi[k] - xj[k];
  const double r = sqrt(perp_dot(d, n, n));
  if ((sums->el->cutoff > 0 && r >= sums->el->cutoff) || r == 0)
    return; /* r = 0 has no direction */
  force_pairs_shifted(sums, model->inertia[pose].mass * model->inertia[inertia].mass, r, &V,
                      &slope);
  sums->potential += V;
  if (sums->f == NULL) return;
  double *fi = sums->f + pose * model->nvb, *fj = sums->f + inertia * model->nvb;
  for (int k = 0; k < d; k++) {
    fi[k] -= slope * n[k] / r;
    fj[k] += slope * n[k] / r;
  }
}

/* ---- all pairs ---- */

void perp_cells_layout(perp_cells *cells, const perp_model *model, perp_arena *arena)
{
  cells->table = 0;
  for (int force = 0; force < model->n_forces; force++)
    if (model->force_def[force].kind == PERP_FORCE_PAIRS && model->force_def[force].cutoff > 0)
      cells->table = 16;
  if (cells->table == 0) return;
  while (cells->table < 2 * model->n_bodies) cells->table *= 2;
  cells->cell = PERP_CARVE(arena, int, 3 * model->n_bodies);
  cells->first = PERP_CARVE(arena, int, cells->table);
  cells->next = PERP_CARVE(arena, int, model->n_bodies);
}

static int force_pairs_hash(const perp_cells *cells, const int cell[3])
{
  const unsigned x = (unsigned)cell[0] * 73856093u ^ (unsigned)cell[1] * 19349663u ^
                     (unsigned)cell[2] * 83492791u;
  return (int)(x & (unsigned)(cells->table - 1));
}

/* whatever lies in a cell already */
static void force_pairs_meet_cell(sum *sums, int pose, const int cell[3])
{
  const perp_cells *cells = &sums->e->cells;
  for (int inertia = cells->first[force_pairs_hash(cells, cell)]; inertia >= 0;
       inertia = cells->next[inertia]) {
    const int *other = cells->cell + 3 * inertia;
    if (other[0] == cell[0] && other[1] == cell[1] && other[2] == cell[2])
      force_pairs_meet(sums, pose, inertia);
  }
}

static void force_pairs_by_cells(sum *s)
{
  const perp_cells *cells = &s->e->cells;
  const int d = s->model->dim, most = 1 << 29;
  for (int i = 0; i < cells->table; i++) cells->first[i] = -1;
  for (int i = s->el->a; i <= s->el->b; i++) {
    int *cell = cells->cell + 3 * i, near[3];
    cell[2] = 0;
    for (int k = 0; k < d; k++) /* states that have diverged share the last cell */
      cell[k] = (int)fmax(-most, fmin(most, floor(s->e->pose[i].x[k] / s->el->cutoff)));
    for (int x = -1; x <= 1; x++)
      for (int y = -1; y <= 1; y++)
        for (int z = d == 3 ? -1 : 0; z <= (d == 3 ? 1 : 0); z++) {
          near[0] = cell[0] + x, near[1] = cell[1] + y, near[2] = cell[2] + z;
          force_pairs_meet_cell(s, i, near);
        }
    const int at = force_pairs_hash(cells, cell);
    cells->next[i] = cells->first[at];
    cells->first[at] = i;
  }
}

static void force_pairs_all(sum *sums)
{
  if (sums->el->cutoff > 0) {
    force_pairs_by_cells(sums);
    return;
  }
  for (int pose = sums->el->a; pose <= sums->el->b; pose++)
    for (int inertia = sums->el->a; inertia < pose; inertia++)
      force_pairs_meet(sums, pose, inertia);
}

void perp_pairs_add(const perp_model *model, const perp_eval *eval, const perp_force_def *el,
                    double *f)
{
  sum sums = { .model = model, .e = eval, .el = el, .f = f };
  force_pairs_all(&sums);
}

double perp_pairs_potential(const perp_model *model, const perp_eval *eval,
                            const perp_force_def *el)
{
  sum sums = { .model = model, .e = eval, .el = el };
  force_pairs_all(&sums);
  return sums.potential;
}
