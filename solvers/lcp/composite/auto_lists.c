/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lists of auto: which solvers for which structure, and how much work each may have first. */
#include "solvers/lcp/composite/auto_lists.h"

#include <math.h>

enum { ONE = 5, FEW = 24, FEW_SPARSE = 60, SMALL = 96, MANY = 1000, SPARSE_SHARE = 4, TINY = 8 };

/* Do all contacts with cones that have to be stopped have the same to be stopped, and the same mu?
 */
static perp_auto_loads auto_loads(const perp_lcp *lcp)
{
  double load[4] = { 0 }, size = 0, differ = 0;
  bool any = false, sheared = false;
  for (int i = 0; i < lcp->n; i++) {
    if (!lcp->cone[i]) continue;
    const double own[4] = { lcp->b[lcp->fric_of[i]], lcp->b[i], lcp->b[i + 1], lcp->mu[i] };
    if (own[0] == 0 && own[1] == 0 && own[2] == 0) continue;
    sheared = sheared || own[1] != 0 || own[2] != 0;
    for (int k = 0; k < 4; k++) {
      if (!any) load[k] = own[k];
      if (k < 3) size = fmax(size, fabs(own[k]));
      differ = fmax(differ, fabs(own[k] - load[k]));
    }
    any = true;
  }
  if (!any || !(differ <= 1e-6 * fmin(size, 1))) return PERP_AUTO_DIFFER;
  return sheared ? PERP_AUTO_SHEARED : PERP_AUTO_ALIKE;
}

perp_auto_structure perp_auto_look(const perp_lcp *lcp)
{
  perp_auto_structure structure = { .n = lcp->n,
                                    .needs = perp_lcp_needs(lcp),
                                    .storage = lcp->F != NULL   ? PERP_AUTO_FACTORED
                                               : lcp->C != NULL ? PERP_AUTO_COMPRESSED
                                                                : PERP_AUTO_DENSE,
                                    .symmetric = true };
  structure.numbers = perp_lcp_product_work(lcp);
  if (lcp->F != NULL) return structure;
  structure.symmetric = perp_lcp_asymmetry(lcp) <= 1e-12;
  bool negative = lcp->n > 1;
  for (int i = 0; i < lcp->n; i++) {
    double a = perp_lcp_entry(lcp, i, i);
    structure.n_negative += a < 0;
    structure.n_zero += a == 0;
    negative = negative && lcp->b[i] < 0;
  }
  structure.bimatrix = structure.n_zero == lcp->n && negative && structure.needs == 0;
  structure.sparse = lcp->C != NULL;
  if (structure.needs & PERP_LCP_CONE) structure.loads = auto_loads(lcp);
  if (lcp->A != NULL && structure.needs & PERP_LCP_CONE && structure.n >= PERP_SPARSE_ROWS) {
    const size_t n = (size_t)structure.n;
    size_t numbers = 0;
    for (size_t j = 0; j < n; j++)
      for (size_t i = 0; i < n; i++) numbers += lcp->A[i + j * (size_t)lcp->lda] != 0;
    structure.sparse = perp_lcp_mostly_zeros(structure.n, (double)numbers);
    if (structure.sparse) structure.numbers = (double)numbers;
  }
  if (structure.needs & (PERP_LCP_CONE | PERP_LCP_FRICTION)) return structure;
  structure.z_matrix = true;
  size_t numbers = 0;
  for (int j = 0; j < structure.n; j++) {
    const int first = lcp->C != NULL ? lcp->C->start[j] : 0,
              end = lcp->C != NULL ? lcp->C->start[j + 1] : structure.n;
    for (int k = first; k < end; k++) {
      const int i = lcp->C != NULL ? lcp->C->row[k] : k;
      const double a = lcp->C != NULL ? lcp->C->value[k] : lcp->A[i + (size_t)j * (size_t)lcp->lda];
      numbers += a != 0;
      structure.z_matrix = structure.z_matrix && (i == j || a <= 0);
    }
  }
  structure.sparse = (structure.n <= TINY && !structure.symmetric) ||
                     (double)numbers * SPARSE_SHARE <= (double)structure.n * structure.n;
  return structure;
}

enum { STAGES = 19 };

/* Methods that are done at once where few rows pivot come first, within little more than the
 * reading of A. */
static const perp_auto_stage symmetric[STAGES] = {
  { "dantzig", 2, 0, 0, 0 }, { "bpp", 25, 0.25, 0, 0 },        { "lemke", 30, 1, 0, 0 },
  { "psor", 60, 0.5, 0, 0 }, { "bpp", 60, 4, 0, 0 },           { "minmap-newton", 60, 2, 0, 0 },
  { "dantzig", 0, 3, 0, 0 }, { "interior-point", 0, 6, 0, 0 }, { "fischer-newton", 0, 6, 0, 0 },
  { NULL, 0, 0, 0, 0 }
};
/* sweeps where one row rules another; Lemke's path, which ends on copositive and on P-matrices */
static const perp_auto_stage general[STAGES] = {
  { "keller", 2, 0, 0, 0 },         { "pgs", 6, 0.05, 5, 0 },         { "lemke", 30, 1, 0, 0 },
  { "minmap-newton", 60, 1, 0, 0 }, { "bpp", 60, 2, 0, 0 },           { "keller", 0, 3, 0, 0 },
  { "interior-point", 0, 6, 0, 0 }, { "fischer-newton", 0, 6, 0, 0 }, { NULL, 0, 0, 0, 0 }
};
/* Few numbers: active sets are a few factorizations where nested iteration finds them, as in
 * M-matrices (the first list, which lets them go on) and mostly elsewhere; lists of their own where
 * A is dense all the same. */
static const perp_auto_stage grids[STAGES] = {
  { "pdas", 1e6, 0, 0, 0 },         { "psor", 300, 0, 5, 0 },  { "cone-newton", 3000, 0, 0, 0 },
  { "minmap-newton", 60, 2, 0, 0 }, { "prox", 3000, 0, 0, 0 }, { NULL, 0, 0, 0, 0 }
};
static const perp_auto_stage few_symmetric[STAGES] = {
  { "dantzig", 2, 0, 0, 0 },        { "pdas", 2, 0, 0, 0 },           { "bpp", 25, 0.25, 0, 0 },
  { "lemke", 30, 1, 0, 0 },         { "psor", 60, 0.5, 0, 0 },        { "pdas", 60, 1, 0, 0 },
  { "bpp", 60, 4, 0, 0 },           { "minmap-newton", 60, 2, 0, 0 }, { "dantzig", 0, 3, 0, 0 },
  { "interior-point", 0, 6, 0, 0 }, { "fischer-newton", 0, 6, 0, 0 }, { NULL, 0, 0, 0, 0 }
};
static const perp_auto_stage few_general[STAGES] = {
  { "keller", 2, 0, 0, 0 },         { "pdas", 2, 0, 0, 0 },   { "pgs", 6, 0.05, 5, 0 },
  { "lemke", 30, 1, 0, 0 },         { "pdas", 60, 1, 0, 0 },  { "minmap-newton", 60, 1, 0, 0 },
  { "bpp", 60, 2, 0, 0 },           { "keller", 0, 3, 0, 0 }, { "interior-point", 0, 6, 0, 0 },
  { "fischer-newton", 0, 6, 0, 0 }, { NULL, 0, 0, 0, 0 }
};
static const perp_auto_stage compressed[STAGES] = {
  { "pdas", 30, 0.5, 0, 0 },        { "psor", 100, 0, 5, 0 },
  { "bpp", 25, 0.25, 0, 0 },        { "lemke", 30, 1, 0, 0 },
  { "pdas", 2000, 1, 0, 0 },        { "bpp", 60, 4, 0, 0 },
  { "minmap-newton", 60, 2, 0, 0 }, { "cone-newton", 2000, 1, 0, 0 },
  { "prox", 2000, 1, 0, 0 },        { "dantzig", 0, 3, 0, 0 },
  { "keller", 0, 3, 0, 0 },         { "interior-point", 0, 6, 0, 0 },
  { "fischer-newton", 0, 6, 0, 0 }, { NULL, 0, 0, 0, 0 }
};
/* zeros on the diagonal: the rows of Stewart and Trinkle */
static const perp_auto_stage complementary[STAGES] = { { "lemke", 30, 3, 0, 0 },
                                                       { "bpp", 30, 3, 0, 0 },
                                                       { "keller", 0, 3, 0, 0 },
                                                       { "minmap-newton", 60, 2, 0, 0 },
                                                       { "fischer-newton", 0, 6, 0, 0 },
                                                       { "interior-point", 0, 6, 0, 0 },
                                                       { NULL, 0, 0, 0, 0 } };
static const perp_auto_stage games[STAGES] = { { "lemke-howson", 20, 1, 0, 0 },
                                               { "bpp", 30, 2, 0, 0 },
                                               { "lemke", 30, 2, 0, 0 },
                                               { "interior-point", 0, 6, 0, 0 },
                                               { NULL, 0, 0, 0, 0 } };
static const perp_auto_stage boxes[STAGES] = {
  { "fixed-point", 10, 0, 0, 0 },   { "dantzig", 60, 3, 0, 0 },
  { "fixed-point", 60, 3, 0, 0 },   { "minmap-newton", 60, 3, 0, 0 },
  { "bpp", 60, 3, 0, 0 },           { "psor", 300, 0, 0, 0 },
  { "apgd", 1000, 0, 0, 0 },        { "interior-point", 0, 6, 0, 0 },
  { "fischer-newton", 0, 6, 0, 0 }, { "dantzig", 60, 60, 0, 0 },
  { "prox", 300, 60, 0, 0 },        { "block-gs", 1000, 0, 0, 0 },
  { "staggered", 1000, 0, 0, 0 },   { NULL, 0, 0, 0, 0 }
};
/* factored, without cones: the systems of Newton methods are sparse; dantzig only where A is worth
 * forming */
static const perp_auto_stage sparse[STAGES] = { { "apgd", 3, 0, 0, 0 },
                                                { "dantzig", 12, 0, 0, 0 },
                                                { "pdas", 12, 0, 0, 0 },
                                                { "pgs-subspace", 20, 0, 0, 0 },
                                                { "pdas", 80, 0, 0, 0 },
                                                { "minmap-newton", 20, 0, 0, 0 },
                                                { "psor", 30, 0, 5, 0 },
                                                { "dantzig", 60, 0, 0, 0 },
                                                { "interior-point", 1200, 0, 4, 0 },
                                                { "fischer-newton", 1200, 0, 3, 0 },
                                                { "cone-newton", 1500, 0, 0, 0 },
                                                { "apgd", 900, 0, 3, 0 },
                                                { "prox", 20000, 0, 0, 0 },
                                                { "psor", 900, 0, 3, 0 },
                                                { "minmap-newton", 1200, 0, 0, 0 },
                                                { "block-gs", 3000, 0, 0, 0 },
                                                { "bpp", 600, 0, 0, 0 },
                                                { "staggered", 600, 0, 0, 0 },
                                                { NULL, 0, 0, 0, 0 } };
/* few of them: block rounds leave Dantzig's method little to do, and A is soon formed */
static const perp_auto_stage few_sparse[STAGES] = {
  { "dantzig:start=bpp", 12, 20, 0, 0 }, { "apgd", 30, 0, 0, 0 },
  { "minmap-newton", 60, 0, 0, 0 },      { "psor", 60, 0, 0, 0 },
  { "minmap-newton", 400, 0, 0, 0 },     { "apgd", 600, 0, 0, 0 },
  { "interior-point", 800, 0, 0, 0 },    { "fischer-newton", 800, 0, 0, 0 },
  { "block-gs", 800, 0, 0, 0 },          { "bpp", 800, 0, 0, 0 },
  { "staggered", 800, 0, 0, 0 },         { NULL, 0, 0, 0, 0 }
};
/* one contact: an exact block is the answer */
static const perp_auto_stage one_cone[STAGES] = {
  { "block-gs", 60, 0, 0, 0.01 }, { "cone-newton:warm=0", 200, 0, 0, 0 },
  { "apgd", 100, 0, 0, 0 },       { "block-gs", 700, 0, 0, 0 },
  { "apgd", 2000, 0, 0, 0 },      { "prox", 2000, 0, 0, 0 },
  { "staggered", 800, 0, 0, 0 },  { NULL, 0, 0, 0, 0 }
};
/* Cones: the first stage is tried with a guess only.  Newton steps from it are few, as contacts
 * mostly go on sticking or sliding, and go on to rounding: where A is ill-conditioned an answer
 * within the tolerance leaves the contact forces open, and the next step cannot use it again. */
static const perp_auto_stage few_cones[STAGES] = { { "cone-newton:warm=0,min_iter=1", 30, 3, 0,
                                                     0.01 },
                                                   { "apgd", 4, 0, 0, 0 },
                                                   { "cone-newton:warm=0", 16, 0.5, 0, 0.01 },
                                                   { "block-gs", 50, 0, 0, 0 },
                                                   { "prox", 60, 0, 0, 0 },
                                                   { "apgd", 100, 0, 0, 0 },
                                                   { "cone-newton", 200, 0, 0, 0 },
                                                   { "block-gs", 700, 0, 0, 0 },
                                                   { "apgd", 2000, 0, 0, 0 },
                                                   { "staggered", 800, 0, 0, 0 },
                                                   { "cone-newton:warm=0", 600, 0, 0, 0 },
                                                   { NULL, 0, 0, 0, 0 } };
/* Many: sweeps and gradients where contacts slide alike; convex programmes where they push each
 * other, of a symmetric A. */
static const perp_auto_stage cones[STAGES] = { { "cone-newton:warm=0,min_iter=1", 20, 4, 0, 1e-5 },
                                               { "cone-newton:warm=0", 10, 1, 0, 0 },
                                               { "staggered", 60, 0, 0, 0 },
                                               { "prox", 20, 1, 0, 0 },
                                               { "apgd", 15, 0, 5, 0 },
                                               { "block-gs", 60, 0, 0, 0 },
                                               { "apgd", 400, 0, 0, 0 },
                                               { "block-gs", 480, 0, 0, 0 },
                                               { "aclm", 400, 7, 0, 0 },
                                               { "apgd", 1500, 0, 0, 0 },
                                               { "prox", 3000, 0, 0, 0 },
                                               { "cone-newton", 2700, 0, 0, 0 },
                                               { "cone-newton:warm=0", 600, 3, 0, 0 },
                                               { "staggered", 800, 0, 0, 0 },
                                               { "nncg", 1000, 0, 0, 0 },
                                               { "apgd", 6000, 0, 0, 0 },
                                               { NULL, 0, 0, 0, 0 } };
/* Without a guess, contacts that are alike: they stick or slide alike, and Newton steps from zero
 * tell which.  The first stage is for what nothing moves sideways: one step may do. */
static const perp_auto_stage alike_cones[STAGES] = { { "apgd", 4, 0, 0, 0 },
                                                     { "cone-newton:warm=0", 60, 2, 0, 0 },
                                                     { "cone-newton", 100, 2, 0, 0 },
                                                     { "apgd", 100, 0, 5, 0 },
                                                     { "staggered", 60, 0, 0, 0 },
                                                     { "prox", 60, 1, 0, 0 },
                                                     { "block-gs", 480, 0, 0, 0 },
                                                     { "aclm", 400, 7, 0, 0 },
                                                     { "apgd", 2000, 0, 0, 0 },
                                                     { "cone-newton", 2700, 0, 0, 0 },
                                                     { "prox", 3000, 0, 0, 0 },
                                                     { "staggered", 800, 0, 0, 0 },
                                                     { "cone-newton:warm=0", 600, 3, 0, 0 },
                                                     { "nncg", 1000, 0, 0, 0 },
                                                     { "apgd", 6000, 0, 0, 0 },
                                                     { NULL, 0, 0, 0, 0 } };
/* Others: sweeps find out who sticks and who slides, about as many as there are rows, and Newton
 * steps go on, at few rows at least one, to rounding.  The first list by the number of rows: below
 * 16, 40, and more. */
static const perp_auto_stage first_cones[3][2] = {
  { { "cone-newton:warm=10,min_iter=1", 60, 2, 0, 0 }, { NULL, 0, 0, 0, 0 } },
  { { "cone-newton:warm=20,min_iter=1", 60, 2, 0, 0 }, { NULL, 0, 0, 0, 0 } },
  { { "cone-newton", 100, 2, 0, 0 }, { NULL, 0, 0, 0, 0 } }
};
static const perp_auto_stage cold_cones[STAGES] = { { "cone-newton:warm=0", 200, 4, 0, 0 },
                                                    { "nncg", 100, 4, 0, 0 },
                                                    { "aclm", 400, 7, 0, 0 },
                                                    { "block-gs", 60, 0, 0, 0 },
                                                    { "staggered", 60, 0, 0, 0 },
                                                    { "apgd", 400, 0, 5, 0 },
                                                    { "block-gs", 480, 0, 0, 0 },
                                                    { "apgd", 1500, 0, 0, 0 },
                                                    { "prox", 3000, 0, 0, 0 },
                                                    { "cone-newton", 2700, 0, 0, 0 },
                                                    { "cone-newton:warm=0", 600, 3, 0, 0 },
                                                    { "staggered", 800, 0, 0, 0 },
                                                    { "nncg", 1000, 0, 0, 0 },
                                                    { "apgd", 6000, 0, 0, 0 },
                                                    { NULL, 0, 0, 0, 0 } };
/* Products and systems by J are sparse, so that Newton steps are cheap. */
static const perp_auto_stage factored_cones[STAGES] = { { "cone-newton:warm=0,min_iter=1", 100, 0,
                                                          0, 1e-5 },
                                                        { "cone-newton", 4000, 0, 0, 1e-4 },
                                                        { "apgd", 15, 0, 5, 0 },
                                                        { "staggered", 60, 0, 0, 0 },
                                                        { "block-gs", 60, 0, 0, 0 },
                                                        { "prox", 150, 0, 0, 0 },
                                                        { "apgd", 400, 0, 0, 0 },
                                                        { "cone-newton", 6000, 0, 0, 0 },
                                                        { "aclm", 4000, 0, 0, 0 },
                                                        { "block-gs", 700, 0, 0, 0 },
                                                        { "prox", 3000, 0, 0, 0 },
                                                        { "apgd", 6000, 0, 0, 0 },
                                                        { "cone-newton:warm=0", 600, 3, 0, 0 },
                                                        { "block-gs", 6000, 0, 0, 0 },
                                                        { "staggered", 800, 0, 0, 0 },
                                                        { "nncg", 1000, 0, 0, 0 },
                                                        { NULL, 0, 0, 0, 0 } };
/* Of so many rows Newton's method needs 500 products in the median, or fails; gradients solve half
 * of the problems of a heap in fewer.  Chance leads Newton steps astray: from another number of
 * sweeps they get there. */
static const perp_auto_stage many_cones[STAGES] = { { "cone-newton:warm=0,min_iter=1", 60, 0, 0,
                                                      1e-5 },
                                                    { "apgd", 700, 0, 0, 0 },
                                                    { "cone-newton:warm=10", 4000, 0, 0, 1e-4 },
                                                    { "cone-newton:warm=0", 3000, 0, 0, 1e-4 },
                                                    { "cone-newton:warm=200", 3000, 0, 0, 1e-4 },
                                                    { "cone-newton", 2500, 0, 0, 1e-4 },
                                                    { "prox", 3000, 0, 0, 0 },
                                                    { "cone-newton", 6000, 0, 0, 0 },
                                                    { "aclm", 4000, 0, 0, 0 },
                                                    { "apgd", 6000, 0, 0, 0 },
                                                    { "block-gs", 6000, 0, 0, 0 },
                                                    { "staggered", 800, 0, 0, 0 },
                                                    { "nncg", 1000, 0, 0, 0 },
                                                    { NULL, 0, 0, 0, 0 } };
/* A mostly zeros: a sparse factorization costs few of its products */
static const perp_auto_stage sparse_cones[STAGES] = { { "prox", 400, 0, 0, 0 },
                                                      { "apgd", 1200, 0, 0, 0 },
                                                      { "block-gs", 300, 0, 0, 0 },
                                                      { "admm", 1500, 0, 0, 0 },
                                                      { "prox", 6000, 0, 0, 0 },
                                                      { "apgd", 6000, 0, 0, 0 },
                                                      { "block-gs", 6000, 0, 0, 0 },
                                                      { "cone-newton", 6000, 0, 0, 0 },
                                                      { "staggered", 3000, 0, 0, 0 },
                                                      { "aclm", 9000, 0, 0, 0 },
                                                      { NULL, 0, 0, 0, 0 } };

const perp_auto_stage *perp_auto_choose(const perp_auto_structure *structure, bool guess,
                                        const perp_auto_stage **first)
{
  const bool factored = structure->storage == PERP_AUTO_FACTORED;
  *first = NULL;
  if (structure->needs & PERP_LCP_CONE) {
    if (structure->n <= ONE) return one_cone;
    if (structure->n > FEW && structure->sparse) return sparse_cones;
    if (!guess && !factored && structure->n <= SMALL) {
      if (structure->loads != PERP_AUTO_DIFFER)
        return alike_cones + (structure->loads == PERP_AUTO_SHEARED || structure->n > FEW);
      *first = first_cones[structure->n < 16 ? 0 : structure->n < 40 ? 1 : 2];
      return cold_cones;
    }
    return (structure->n <= FEW    ? few_cones
            : !factored            ? cones
            : structure->n <= MANY ? factored_cones
                                   : many_cones) +
           !guess;
  }
  if (factored) return structure->n <= FEW_SPARSE ? few_sparse : sparse;
  if (structure->needs & PERP_LCP_FRICTION) return boxes;
  if (structure->bimatrix) return games;
  if (structure->n_negative == 0 && structure->n_zero == 0) {
    const bool stored = structure->storage == PERP_AUTO_COMPRESSED;
    if ((structure->sparse || stored) && structure->z_matrix) return grids;
    if (stored) return compressed;
    if (structure->sparse) return structure->symmetric ? few_symmetric : few_general;
  }
  if (structure->symmetric && structure->n_negative == 0) return symmetric;
  return structure->n_zero > 0 ? complementary : general;
}
