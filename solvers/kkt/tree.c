/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Linear-time elimination of the block KKT matrix of a tree of bodies and joints (Baraff's method;
 * Vondrak 2005, section 7.3.5).
 *
 * Bodies and joints are the vertices of a graph, sub-matrices of J its edges.  Eliminated from the
 * leaves to the root, a tree makes no fill.  With the blocks ordered so, a joint g whose parent is
 * body p has
 *
 *      D_g = S_g + sum over child bodies b of J_gb Mt_b^-1 J_gb'          (pivot of the joint, SPD)
 *      Mt_p = M_p + sum over child joints g of J_gp' D_g^-1 J_gp          (pivot of the body, SPD).
 *
 * A body with a single child joint h and an ancestor joint g, every inner link of a chain, is
 * eliminated together with its joint by the Woodbury identity, which needs M^-1 only: with H = D_h
 * + J_hb M^-1 J_hb'
 *
 *      J_gb Mt_b^-1 J_gb' = J_gb M_b^-1 J_gb' - E H^-1 E',   E = J_gb M_b^-1 J_hb',
 *
 * so that r x r pivots are factored in place of d x d ones.  Each pivot is L Delta L'.
 *
 * Loops: a spanning tree of bodies and world is eliminated; the rows of the other joints (index x)
 * are auxiliary, M^ is the response of the tree (Vondrak 2005, eq. 7.1, 7.2):
 *
 *      (J_x M^^-1 J_x' + S_x) mu = c_x - J_x a(f),   then (a, lambda) = tree(f + J_x' mu).
 *
 * Cost: O(N) for the factor and each solve of a tree with bounded joint sizes, whatever its shape;
 * k auxiliary rows add O(N k + k^3) to the factor and O(N + k^2) to a solve.  Memory O(N + k^2).
 * Dependent rows: regularized and refined, see kkt_private.h.  The kernels are compiled for the
 * usual (columns, rows) and for any other. */
#include "solvers/kkt/kkt_private.h"
#include "solvers/kkt/kernels.h"
#include "solvers/kkt/tree_links.h"

#include <lapacke.h>

/* Eliminate joint g and its child bodies. */
INLINE bool factor_link(const struct kkt_tree *tree, const perp_blocks *blocks,
                        const struct kkt_tree_link *g, double tol, int D, int R)
{
  const int r = R != 0 ? R : g->r;
  double W_[MOST * MOST], X_[MOST * MOST], V_[MOST * MOST], ref_[MOST];
  double *W = R != 0 ? W_ : tree->scratch, *X = R != 0 ? X_ : W + tree->large,
         *V = R != 0 ? V_ : X + tree->large, *ref = R != 0 ? ref_ : V + tree->large;
  double A_[MOST * MOST], *A = R != 0 ? A_ : tree->L + g->L;
  bool good = true;

  EACH (j, 0, r) {
    EACH (i, 0, r) A[i + j * r] = 0;
    A[j + j * r] = tree->shift + (blocks->s != NULL ? blocks->s[g->row + j] : 0);
    ref[j] = 0; /* what is subtracted from A_jj */
  }
  for (int n = g->first; n < g->last; n++) {
    const struct kkt_tree_child *child = &tree->child[n];
    const int d = D != 0 ? D : child->d;
    const double *J = blocks->J + child->J;
    if (child->kind != KKT_HUB) {
      times_minv(r, d, is_diagonal(blocks, child->body), J, blocks->Minv + child->M, W);
      add_symmetric(r, d, W, J, A);
    }
    if (child->kind ==
        KKT_PASS) { /* Y = E L_h'^-1 Delta_h^-1, E = J M^-1 J_h'; X keeps Y Delta_h */
      const int rh = R != 0 ? R : child->rh;
      const double *J_h = blocks->J + child->J_h, *L = tree->L + child->L_h;
      double *Y = tree->L + child->Y;
      EACH (j, 0, rh)
        EACH (i, 0, r) X[i + j * r] = 0;
      EACH (l, 0, d)
        EACH (j, 0, rh)
          EACH (i, 0, r) X[i + j * r] += W[i + l * r] * J_h[j + l * rh];
      EACH (k, 0, rh)
        EACH (j, k + 1, rh)
          EACH (i, 0, r) X[i + j * r] -= X[i + k * r] * L[j + k * rh];
      EACH (j, 0, rh)
        EACH (i, 0, r) Y[i + j * r] = X[i + j * r] * L[j + j * rh];
      EACH (l, 0, rh)
        EACH (j, 0, r) {
          EACH (i, j, r) A[i + j * r] -= X[i + l * r] * Y[j + l * r];
          ref[j] += X[j + l * r] * Y[j + l * r];
        }
    }
    if (child->kind == KKT_HUB) { /* Mt = L Delta L', V = L^-1 J' : A += V' Delta^-1 V */
      double *H = tree->H + child->H;
      good &= ldl(d, H, blocks->M + child->M, d + 1, DBL_EPSILON);
      EACH (j, 0, r) {
        EACH (i, 0, d) V[i + j * d] = J[j + i * r];
        forward(d, H, V + j * d);
      }
      EACH (l, 0, d)
        EACH (j, 0, r)
          EACH (i, j, r) A[i + j * r] += V[l + i * d] * V[l + j * d] * H[l + l * d];
    }
  }
  const int d = D != 0 ? D : g->d;
  if (g->parent == KKT_PASS) {
    times_minv(r, d, is_diagonal(blocks, g->body), blocks->J + g->J, blocks->Minv + g->M, W);
    add_symmetric(r, d, W, blocks->J + g->J, A);
  }
  EACH (j, 0, r) ref[j] += A[j + j * r];
  good &= ldl(r, A, ref, 1, tol);
  if (R != 0)
    EACH (j, 0, r)
      EACH (i, j, r) tree->L[g->L + i + j * r] = A[i + j * r];

  if (g->parent == KKT_HUB) { /* V = L^-1 J : Mt += V' Delta^-1 V */
    const double *J = blocks->J + g->J;
    double *H = tree->H + g->H;
    EACH (j, 0, d) {
      EACH (i, 0, r) V[i + j * r] = J[i + j * r];
      forward(r, A, V + j * r);
    }
    EACH (j, 0, d)
      EACH (i, j, d) {
        double sum = 0;
        EACH (l, 0, r) sum += V[l + i * r] * V[l + j * r] * A[l + l * r];
        H[i + j * d] += sum;
      }
  }
  return good;
}

static bool factor_tree(const struct kkt_tree *w, const perp_blocks *B, double tol)
{
  bool good = true;
  for (int b = 0; b < B->nb; b++)
    if (w->hub[b] >= 0)
      memcpy(w->H + w->hub[b], B->M + B->mptr[b],
             sizeof(double) * (size_t)(B->mptr[b + 1] - B->mptr[b]));
  for (int link = 0; link < w->n_links; link++) {
    const struct kkt_tree_link *g = &w->link[link];
#define FACTOR(D, R) good &= factor_link(w, B, g, tol, D, R)
    KERNEL_SWITCH(g->kernel, FACTOR)
#undef FACTOR
  }
  for (int root = 0; root < w->n_roots; root++) {
    int b = w->root[root], d = B->bptr[b + 1] - B->bptr[b];
    good &= ldl(d, w->H + w->hub[b], B->M + B->mptr[b], d + 1, DBL_EPSILON);
  }
  return good;
}

/* Leaves to root: z_g = L^-1 of the right-hand side, a_b = Mt^-1 f~ of KKT_HUB bodies. */
INLINE void forward_link(const struct kkt_tree *tree, const perp_blocks *blocks,
                         const struct kkt_tree_link *link, const double *c, double *a, int D, int R)
{
  const int r = R != 0 ? R : link->r;
  double *z = tree->z + link->row, z_[MOST];
  double *b = R != 0 ? z_ : z;
  EACH (i, 0, r) b[i] = c[link->row + i];
  for (int n = link->first; n < link->last; n++) {
    const struct kkt_tree_child *child = &tree->child[n];
    const int d = D != 0 ? D : child->d;
    double *x = a + child->col;
    if (child->kind == KKT_HUB) { ldl_solve(d, tree->H + child->H, x); }
    gemv(r, d, -1, blocks->J + child->J, x, b);
    if (child->kind == KKT_PASS)
      gemv(r, R != 0 ? R : child->rh, -1, tree->L + child->Y, tree->z + child->row_h, b);
  }
  const int d = D != 0 ? D : link->d;
  if (link->parent == KKT_PASS) gemv(r, d, -1, blocks->J + link->J, a + link->col, b);
  forward(r, tree->L + link->L, b);
  if (R != 0)
    EACH (i, 0, r) z[i] = b[i];
  if (link->parent == KKT_HUB) { /* f~ += J' D^-1 b */
    double t_[MOST], *t = R != 0 ? t_ : tree->scratch;
    EACH (i, 0, r) t[i] = z[i];
    middle(r, tree->L + link->L, t);
    backward(r, tree->L + link->L, t);
    gemvt(r, d, blocks->J + link->J, t, a + link->col);
  }
}

/* Root to leaves: lambda_g, then the bodies around it whose multipliers are then all known. */
INLINE void backward_link(const struct kkt_tree *tree, const perp_blocks *blocks,
                          const struct kkt_tree_link *link, double *a, double *lambda, int D, int R)
{
  const int r = R != 0 ? R : link->r;
  const double *L = tree->L + link->L;
  double l_[MOST], p_[MOST], y_[MOST];
  double *l = R != 0 ? l_ : lambda + link->row;
  double *p = R != 0 ? p_ : tree->scratch, *y = R != 0 ? y_ : tree->scratch + tree->large;
  EACH (i, 0, r) l[i] = tree->z[link->row + i];
  const int d = D != 0 ? D : link->d, up = R != 0 && link->up != 0 ? R : link->up;
  if (link->parent == KKT_HUB) {
    EACH (i, 0, r) p[i] = 0;
    gemv(r, d, 1, blocks->J + link->J, a + link->col, p);
    forward(r, L, p);
    EACH (i, 0, r) l[i] -= p[i];
  }
  middle(r, L, l);
  if (up != 0)
    EACH (j, 0, r)
      EACH (i, 0, up) l[j] -= tree->L[link->Y + i + j * up] * lambda[link->row_up + i];
  backward(r, L, l);
  if (R != 0)
    EACH (i, 0, r) lambda[link->row + i] = l[i];

  if (link->parent == KKT_PASS) { /* a = y + M^-1 (J' lambda + J_up' lambda_up) */
    EACH (i, 0, d) p[i] = 0;
    if (up != 0) gemvt(up, d, blocks->J + link->J_up, lambda + link->row_up, p);
    gemvt(r, d, blocks->J + link->J, l, p);
    minv_times(d, is_diagonal(blocks, link->body), blocks->Minv + link->M, p, y);
    EACH (i, 0, d) a[link->col + i] += y[i];
  }
  for (int n = link->first; n < link->last; n++) {
    const struct kkt_tree_child *child = &tree->child[n];
    const int dk = D != 0 ? D : child->d;
    if (child->kind == KKT_PASS) continue;
    EACH (i, 0, dk) p[i] = 0;
    gemvt(r, dk, blocks->J + child->J, l, p);
    if (child->kind == KKT_LEAF) {
      minv_times(dk, is_diagonal(blocks, child->body), blocks->Minv + child->M, p, y);
      EACH (i, 0, dk) a[child->col + i] += y[i];
    } else {
      ldl_solve(dk, tree->H + child->H, p);
      EACH (i, 0, dk) a[child->col + i] += p[i];
    }
  }
}

/* The tree alone: rows of auxiliary joints are neither read nor written. */
static void solve_tree(const struct kkt_tree *w, const perp_blocks *B, const double *f,
                       const double *c, double *a, double *lambda)
{
  for (int b = 0; b < B->nb; b++) {
    int col = B->bptr[b], d = B->bptr[b + 1] - col;
    if (w->hub[b] >= 0)
      for (int i = 0; i < d; i++) a[col + i] = f[col + i];
    else if (d == 6)
      minv_times(6, is_diagonal(B, b), B->Minv + B->mptr[b], f + col, a + col);
    else
      minv_times(d, is_diagonal(B, b), B->Minv + B->mptr[b], f + col, a + col);
  }
  for (int link = 0; link < w->n_links; link++) {
    const struct kkt_tree_link *g = &w->link[link];
#define FORWARD(D, R) forward_link(w, B, g, c, a, D, R)
    KERNEL_SWITCH(g->kernel, FORWARD)
#undef FORWARD
  }
  for (int root = 0; root < w->n_roots; root++) {
    int b = w->root[root], d = B->bptr[b + 1] - B->bptr[b];
    ldl_solve(d, w->H + w->hub[b], a + B->bptr[b]);
  }
  for (int i = w->n_links - 1; i >= 0; i--) {
    const struct kkt_tree_link *g = &w->link[i];
#define BACKWARD(D, R) backward_link(w, B, g, a, lambda, D, R)
    KERNEL_SWITCH(g->kernel, BACKWARD)
#undef BACKWARD
  }
}

/* y = J_x x for the auxiliary rows, y [k] */
static void aux_times(const struct kkt_tree *tree, const perp_blocks *blocks, const double *x,
                      double *y)
{
  for (int n = 0; n < tree->n_aux; n++) {
    int g = tree->aux[n], r = blocks->cptr[g + 1] - blocks->cptr[g];
    for (int i = 0; i < r; i++) y[i] = 0;
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++)
      gemv(r, blocks->bptr[blocks->jblk[k] + 1] - blocks->bptr[blocks->jblk[k]], 1,
           blocks->J + blocks->joff[k], x + blocks->bptr[blocks->jblk[k]], y);
    y += r;
  }
}

/* y += J_x' mu */
static void aux_transposed(const struct kkt_tree *tree, const perp_blocks *blocks, const double *mu,
                           double *y)
{
  for (int n = 0; n < tree->n_aux; n++) {
    int g = tree->aux[n], r = blocks->cptr[g + 1] - blocks->cptr[g];
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++)
      gemvt(r, blocks->bptr[blocks->jblk[k] + 1] - blocks->bptr[blocks->jblk[k]],
            blocks->J + blocks->joff[k], mu, y + blocks->bptr[blocks->jblk[k]]);
    mu += r;
  }
}

/* C = J_x M^^-1 J_x' + S_x, one column a tree solve, and its Cholesky factor. */
static bool factor_aux(const struct kkt_tree *tree, const perp_blocks *blocks, double tol)
{
  int lda = tree->k;
  perp_blocks_diagonal(blocks, tree->diag);
  for (int i = 0; i < blocks->m; i++) tree->zero[i] = 0;
  for (int i = 0; i < lda; i++) tree->mu[i] = 0;
  for (int n = 0, at = 0; n < tree->n_aux; n++)
    for (int row = blocks->cptr[tree->aux[n]]; row < blocks->cptr[tree->aux[n] + 1]; row++, at++) {
      double *column = tree->C + (size_t)at * (size_t)lda;
      for (int i = 0; i < blocks->nv; i++) tree->f[i] = 0;
      tree->mu[at] = 1;
      aux_transposed(tree, blocks, tree->mu, tree->f);
      tree->mu[at] = 0;
      solve_tree(tree, blocks, tree->f, tree->zero, tree->x, tree->l);
      aux_times(tree, blocks, tree->x, column);
      column[at] += tree->shift + (blocks->s != NULL ? blocks->s[row] : 0);
      tree->ref[at] = tree->diag[row];
    }
  bool good = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', lda, tree->C, lda) == 0;
  for (int i = 0; i < lda; i++) {
    double l = tree->C[i + (size_t)i * (size_t)lda];
    good = good && l * l > tol * tree->ref[i] && l <= DBL_MAX;
  }
  return good;
}

static bool tree_factor(void *ws, const perp_blocks *blocks, double tol, double shift)
{
  struct kkt_tree *tree = ws;
  tree->shift = shift;
  return factor_tree(tree, blocks, tol) && (tree->k == 0 || factor_aux(tree, blocks, tol));
}

static void tree_apply(void *ws, const perp_blocks *blocks, const double *f, const double *c,
                       double *a, double *lambda)
{
  struct kkt_tree *tree = ws;
  solve_tree(tree, blocks, f, c, a, lambda);
  if (tree->k == 0) return;
  aux_times(tree, blocks, a, tree->mu);
  for (int n = 0, at = 0; n < tree->n_aux; n++)
    for (int row = blocks->cptr[tree->aux[n]]; row < blocks->cptr[tree->aux[n] + 1]; row++, at++)
      tree->mu[at] = c[row] - tree->mu[at];
  LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', tree->k, 1, tree->C, tree->k, tree->mu, tree->k);
  for (int i = 0; i < blocks->nv; i++) tree->f[i] = f[i];
  aux_transposed(tree, blocks, tree->mu, tree->f);
  solve_tree(tree, blocks, tree->f, c, a, lambda);
  for (int n = 0, at = 0; n < tree->n_aux; n++)
    for (int row = blocks->cptr[tree->aux[n]]; row < blocks->cptr[tree->aux[n] + 1]; row++, at++)
      lambda[row] = tree->mu[at];
}

static perp_status tree_create(perp_ctx *ctx, const perp_blocks *blocks, const void *opts,
                               void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, blocks));
  struct kkt_tree like = { .direct = perp_kkt_direct_of("tree", blocks, opts, tree_factor,
                                                        tree_apply) };
  return perp_kkt_tree_create(ctx, blocks, &like, ws);
}

const perp_kkt_desc perp_kkt_tree = {
  .d = { .name = "tree",
         .summary = "Linear-time elimination of bodies and joints from the leaves to the root",
         .reference = "Vondrak 2005, section 7.3.5, eq. 7.1, 7.2 (Baraff's method)",
         .equation = "P [M -J'; -J -S] P' = L D L' without fill; loops by a dense Schur complement",
         PERP_OPTIONS(perp_kkt_direct_options, struct kkt_direct_opts),
         .caps = PERP_KKT_SPARSE | PERP_KKT_REDUNDANT | PERP_KKT_MIN_NORM | PERP_KKT_LOOPS },
  .create = tree_create,
  .factor = perp_kkt_direct_factor,
  .solve = perp_kkt_direct_solve,
  .destroy = free,
  .cost = perp_kkt_direct_cost,
};
