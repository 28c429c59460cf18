/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pattern of a factorization of bodies: which columns take part, order of the blocks (CHOLMOD),
 * symbolic factorization of their graph, supernodes, and where every block of H goes. */
#include "solvers/lcp/newton/bodylu_private.h"

#include <gsl/gsl_sort_int.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/cholmod.h>

/* ---- pattern ---- */

/* columns with some entry of J, and those that M couples to them */
static void used_columns(const perp_blocks *F, unsigned char *used)
{
  memset(used, 0, (size_t)F->nv);
  for (int c = 0; c < F->nc; c++) {
    int r = F->cptr[c + 1] - F->cptr[c];
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) {
      int col = F->bptr[F->jblk[k]], d = F->bptr[F->jblk[k] + 1] - col;
      const double *G = F->J + F->joff[k];
      for (int j = 0; j < d; j++)
        for (int i = 0; i < r; i++)
          if (G[i + j * r] != 0) used[col + j] = 1;
    }
  }
  for (int b = 0; b < F->nb; b++) {
    int col = F->bptr[b], d = F->bptr[b + 1] - col;
    const double *M = F->M + F->mptr[b];
    for (bool again = true; again;) {
      again = false;
      for (int j = 0; j < d; j++)
        for (int i = 0; i < d; i++)
          if (used[col + i] && !used[col + j] && M[i + j * d] != 0) used[col + j] = again = true;
    }
  }
}

/* the pattern before serves F when it has the same blocks and groups and F uses no further column
 */
static bool same_pattern(const perp_bodylu *L, const perp_blocks *F)
{
  if (L->arena.base == NULL || L->nb != F->nb || L->nc != F->nc || L->m != F->m || L->nv != F->nv ||
      L->ns != F->jptr[F->nc])
    return false;
  size_t nb = (size_t)F->nb, nc = (size_t)F->nc;
  if (memcmp(L->cptr, F->cptr, (nc + 1) * sizeof(int)) != 0 ||
      memcmp(L->jptr, F->jptr, (nc + 1) * sizeof(int)) != 0 ||
      memcmp(L->bptr, F->bptr, (nb + 1) * sizeof(int)) != 0 ||
      memcmp(L->jblk, F->jblk, (size_t)F->jptr[nc] * sizeof(int)) != 0)
    return false;
  for (int c = 0; c < F->nc; c++) {
    int r = F->cptr[c + 1] - F->cptr[c];
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) {
      int col = F->bptr[F->jblk[k]], d = F->bptr[F->jblk[k] + 1] - col;
      const double *G = F->J + F->joff[k];
      for (int j = 0; j < d; j++)
        if (!L->mask[col + j])
          for (int i = 0; i < r; i++)
            if (G[i + j * r] != 0) return false;
    }
  }
  for (int b = 0; b < F->nb; b++) {
    int d = F->bptr[b + 1] - F->bptr[b];
    const double *M = F->M + F->mptr[b];
    for (int j = 0; j < d; j++)
      for (int i = 0; i < d; i++)
        if (L->mask[F->bptr[b] + i] != L->mask[F->bptr[b] + j] && M[i + j * d] != 0) return false;
  }
  return true;
}

static void copy_values(perp_bodylu *L, const perp_blocks *F)
{
  for (int c = 0; c < F->nc; c++) {
    int r = F->cptr[c + 1] - F->cptr[c];
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) {
      int col = F->bptr[F->jblk[k]], d = F->bptr[F->jblk[k] + 1] - col;
      const double *G = F->J + F->joff[k];
      double *out = L->Jr + L->joff[k];
      for (int i = 0; i < r; i++) /* row-major: a row is read together */
        for (int j = 0; j < d; j++)
          if (L->mask[col + j]) *out++ = G[i + j * r];
    }
  }
}

/* order the graph of the blocks, which has so many pairs: perm [nb] */
static bool order_blocks(const perp_blocks *F, size_t pairs, int *perm)
{
  bool good = false;
  cholmod_common cm;
  cholmod_start(&cm);
  cm.print = 0;
  cm.error_handler = NULL;
  cm.supernodal = CHOLMOD_SIMPLICIAL;
  size_t nb = (size_t)F->nb;
  cholmod_triplet *T = cholmod_allocate_triplet(nb, nb, pairs + nb, 1, CHOLMOD_PATTERN, &cm);
  if (T != NULL) {
    int *ti = T->i, *tj = T->j;
    for (int c = 0; c < F->nc; c++)
      for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
        for (int l = F->jptr[c]; l < F->jptr[c + 1]; l++)
          if (F->jblk[k] < F->jblk[l]) {
            ti[T->nnz] = F->jblk[k];
            tj[T->nnz++] = F->jblk[l];
          }
    for (int b = 0; b < F->nb; b++) {
      ti[T->nnz] = b;
      tj[T->nnz++] = b;
    }
    cholmod_sparse *S = cholmod_triplet_to_sparse(T, 0, &cm);
    cholmod_factor *A = S != NULL ? cholmod_analyze(S, &cm) : NULL;
    if (A != NULL) {
      memcpy(perm, A->Perm, nb * sizeof(int));
      good = true;
    }
    cholmod_free_factor(&A, &cm);
    cholmod_free_sparse(&S, &cm);
    cholmod_free_triplet(&T, &cm);
  }
  cholmod_finish(&cm);
  return good;
}

/* ---- analysis: symbolic factorization of the graph of blocks ---- */

typedef struct symbolic {
  int nb, nv;
  size_t pairs; /* of blocks in one group */
  int *perm, *inv, *parent;
  int *ptr, *idx; /* adjacency of the permuted graph, only larger numbers */
  size_t *sptr;   /* [nb + 1] structure of each column ... */
  int *sidx;      /* ... strictly below the diagonal, ascending */
  size_t capacity;
  int *mark, *child, *sibling;
  unsigned char *used; /* [nv] columns that take part */
  int *width, *start;  /* of the permuted blocks, of the supernodes */
  perp_arena arena;    /* all but sidx, which grows */
} symbolic;

static void symbolic_layout(void *ws, perp_arena *a)
{
  symbolic *s = ws;
  PERP_INTS(a, s->nb + 1, &s->perm, &s->inv, &s->parent, &s->mark, &s->child, &s->sibling,
            &s->width, &s->start);
  PERP_INTS(a, s->nb + 2, &s->ptr);
  PERP_INTS(a, s->pairs, &s->idx);
  s->sptr = PERP_CARVE(a, size_t, s->nb + 1);
  s->used = PERP_CARVE(a, unsigned char, s->nv);
}

static bool symbolic_blocks(const perp_blocks *F, symbolic *s)
{
  int nb = F->nb;
  s->capacity = 8 * ((size_t)nb + 1) + s->pairs;
  s->sidx = malloc(s->capacity * sizeof(int));
  if (s->sidx == NULL || !order_blocks(F, s->pairs, s->perm)) return false;
  memset(s->ptr, 0, ((size_t)nb + 2) * sizeof *s->ptr);
  s->sptr[0] = 0;
  for (int k = 0; k < nb; k++) s->inv[s->perm[k]] = k;
  /* adjacency by smaller number; doubles are removed by the marks below */
  for (int pass = 0; pass < 2; pass++) {
    for (int c = 0; c < F->nc; c++)
      for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
        for (int l = F->jptr[c]; l < F->jptr[c + 1]; l++) {
          int i = s->inv[F->jblk[k]], j = s->inv[F->jblk[l]];
          if (i >= j) continue;
          if (pass == 0)
            s->ptr[i + 2]++;
          else
            s->idx[s->ptr[i + 1]++] = j;
        }
    if (pass == 0)
      for (int i = 0; i < nb; i++) s->ptr[i + 1] += s->ptr[i];
  }
  for (int j = 0; j < nb; j++) s->mark[j] = s->child[j] = s->parent[j] = -1;
  for (int j = 0; j < nb; j++) {
    size_t start = s->sptr[j], end = start;
    /* at most nb - j entries */
    if (end + (size_t)(nb - j) > s->capacity) {
      s->capacity = 2 * s->capacity + (size_t)nb;
      int *grown = realloc(s->sidx, s->capacity * sizeof(int));
      if (grown == NULL) return false;
      s->sidx = grown;
    }
    s->mark[j] = j;
    for (int k = s->ptr[j]; k < s->ptr[j + 1]; k++)
      if (s->mark[s->idx[k]] != j) {
        s->mark[s->idx[k]] = j;
        s->sidx[end++] = s->idx[k];
      }
    for (int c = s->child[j]; c >= 0; c = s->sibling[c])
      for (size_t k = s->sptr[c]; k < s->sptr[c + 1]; k++)
        if (s->sidx[k] != j && s->mark[s->sidx[k]] != j) {
          s->mark[s->sidx[k]] = j;
          s->sidx[end++] = s->sidx[k];
        }
    gsl_sort_int(s->sidx + start, 1, end - start);
    s->sptr[j + 1] = end;
    if (end > start) {
      int p = s->sidx[start];
      s->parent[j] = p;
      s->sibling[j] = s->child[p];
      s->child[p] = j;
    }
  }
  return true;
}

/* supernodes as runs of blocks: start [count + 1]; joined also when a little fill is the price */
static int find_supernodes(const symbolic *s, const int *width, int *start)
{
  int count = 0;
  long extra = 0;
  for (int j = 0; j < s->nb; j++) {
    bool join = false;
    if (j > 0 && s->parent[j - 1] == j) {
      size_t above = s->sptr[j] - s->sptr[j - 1], here = s->sptr[j + 1] - s->sptr[j];
      long missing = (long)here - ((long)above - 1); /* rows that j has and j - 1 has not */
      long total = extra;
      for (int k = start[count - 1]; k < j; k++) total += missing * width[k];
      long columns = 0;
      for (int k = start[count - 1]; k <= j; k++) columns += width[k];
      join = missing == 0 || total * 4 <= columns * ((long)here + j - start[count - 1]);
      if (join) extra = total;
    }
    if (!join) {
      start[count++] = j;
      extra = 0;
    }
  }
  start[count] = s->nb;
  return count;
}

static void bodylu_analyse_layout(perp_bodylu *L, perp_arena *a, size_t pairs, size_t nj, int n_sn,
                                  size_t scratch)
{
  size_t nb = (size_t)L->nb, nc = (size_t)L->nc;
  PERP_INTS(a, nc + 1, &L->cptr, &L->jptr);
  L->bptr = PERP_CARVE(a, int, nb + 1);
  L->jblk = PERP_CARVE(a, int, L->ns);
  L->mask = PERP_CARVE(a, unsigned char, L->nv);
  PERP_INTS(a, nb, &L->first, &L->width);
  L->sn = PERP_CARVE(a, supernode, n_sn);
  L->rows = PERP_CARVE(a, int, L->n_rows);
  L->owner = PERP_CARVE(a, int, L->N);
  L->at = PERP_CARVE(a, size_t, nb);
  L->ld = PERP_CARVE(a, int, nb);
  L->off = PERP_CARVE(a, size_t, pairs);
  L->jptr2 = PERP_CARVE(a, int, nc + 1);
  L->val = PERP_CARVE(a, double, L->size);
  L->uval = PERP_CARVE(a, double, L->unsymmetric ? L->size : 0);
  L->Jr = PERP_CARVE(a, double, nj);
  L->joff = PERP_CARVE(a, size_t, (size_t)L->ns + 1);
  L->update = PERP_CARVE(a, double, scratch);
  L->map = PERP_CARVE(a, int, L->N);
  PERP_INTS(a, n_sn, &L->head, &L->next, &L->pos);
  L->pivot = PERP_CARVE(a, int, L->N);
}

/* everything that follows from the symbolic factorization */
static perp_status bodylu_analyse_build(perp_ctx *ctx, perp_bodylu *L, const perp_blocks *F,
                                        const symbolic *s)
{
  int nb = F->nb, *width = s->width, *start = s->start, N = 0;
  size_t nj = 0;
  used_columns(F, s->used);
  for (int k = 0; k < nb; k++) {
    int b = s->perm[k];
    width[k] = 0;
    for (int j = F->bptr[b]; j < F->bptr[b + 1]; j++) width[k] += s->used[j];
    N += width[k];
  }
  int n_sn = find_supernodes(s, width, start);
  for (int c = 0; c < F->nc; c++)
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
      nj += (size_t)(F->cptr[c + 1] - F->cptr[c]) * (size_t)width[s->inv[F->jblk[k]]];
  /* sizes: the rows of a supernode are the structure of its last column */
  size_t size = 0, n_rows = 0, scratch = 0;
  for (int t = 0; t < n_sn; t++) {
    size_t w = 0, r = 0;
    for (int k = start[t]; k < start[t + 1]; k++) w += (size_t)width[k];
    int last = start[t + 1] - 1;
    for (size_t k = s->sptr[last]; k < s->sptr[last + 1]; k++) r += (size_t)width[s->sidx[k]];
    size += w * (w + r);
    n_rows += r;
    if ((w + r) * (w + r) > scratch) scratch = (w + r) * (w + r);
  }
  bool unsymmetric = L->unsymmetric;
  perp_arena_free(&L->arena);
  *L = (perp_bodylu){ .nb = nb,
                      .nc = F->nc,
                      .m = F->m,
                      .nv = F->nv,
                      .ns = F->jptr[F->nc],
                      .unsymmetric = unsymmetric,
                      .N = N,
                      .size = size,
                      .n_rows = n_rows };
  perp_arena a = { 0 };
  bodylu_analyse_layout(L, &a, s->pairs, nj, n_sn, scratch);
  PERP_TRY(perp_arena_reserve(ctx, &a));
  L->arena = a;
  bodylu_analyse_layout(L, &L->arena, s->pairs, nj, n_sn, scratch);
  memcpy(L->cptr, F->cptr, (size_t)(F->nc + 1) * sizeof(int));
  memcpy(L->jptr, F->jptr, (size_t)(F->nc + 1) * sizeof(int));
  memcpy(L->bptr, F->bptr, (size_t)(nb + 1) * sizeof(int));
  memcpy(L->jblk, F->jblk, (size_t)F->jptr[F->nc] * sizeof(int));
  memcpy(L->mask, s->used, (size_t)F->nv);

  int at = 0;
  for (int k = 0; k < nb; k++) { /* k: permuted block */
    int b = s->perm[k];
    L->first[b] = at;
    L->width[b] = width[k];
    at += width[k];
  }
  size_t panel = 0, row = 0;
  for (int t = 0; t < n_sn; t++) {
    supernode *n = &L->sn[t];
    *n = (supernode){ .first = L->first[s->perm[start[t]]], .rows = row, .panel = panel };
    for (int k = start[t]; k < start[t + 1]; k++) n->w += width[k];
    for (int i = n->first; i < n->first + n->w; i++) L->owner[i] = t;
    int last = start[t + 1] - 1;
    for (size_t k = s->sptr[last]; k < s->sptr[last + 1]; k++)
      for (int i = 0; i < width[s->sidx[k]]; i++)
        L->rows[row++] = L->first[s->perm[s->sidx[k]]] + i;
    n->r = (int)(row - n->rows);
    panel += (size_t)n->w * (size_t)(n->w + n->r);
  }
  /* where the blocks of H go: (row block, column block) with the later one as row */
  for (int b = 0; b < nb; b++) {
    L->at[b] = 0;
    L->ld[b] = 0;
    if (L->width[b] == 0) continue;
    const supernode *n = &L->sn[L->owner[L->first[b]]];
    L->ld[b] = n->w + n->r;
    L->at[b] = n->panel + (size_t)(L->first[b] - n->first) * (size_t)(L->ld[b] + 1);
  }
  L->jptr2[0] = 0;
  size_t nj2 = 0;
  for (int c = 0, p = 0; c < F->nc; c++) {
    for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++) {
      int b = F->jblk[k];
      L->joff[k] = nj2;
      nj2 += (size_t)(F->cptr[c + 1] - F->cptr[c]) * (size_t)width[s->inv[b]];
      for (int l = F->jptr[c]; l < F->jptr[c + 1]; l++, p++) {
        int b2 = F->jblk[l]; /* block (b, b2): stored when b is the later one or equal */
        L->off[p] = SIZE_MAX;
        if (s->inv[b] < s->inv[b2] || width[s->inv[b]] == 0 || width[s->inv[b2]] == 0) continue;
        const supernode *n = &L->sn[L->owner[L->first[b2]]];
        size_t ld = (size_t)(n->w + n->r), local;
        if (L->first[b] < n->first + n->w)
          local = (size_t)(L->first[b] - n->first);
        else {
          const int *low = L->rows + n->rows, *high = low + n->r;
          while (high - low > 1) {
            const int *mid = low + (high - low) / 2;
            if (*mid <= L->first[b])
              low = mid;
            else
              high = mid;
          }
          local = (size_t)n->w + (size_t)(low - (L->rows + n->rows));
        }
        L->off[p] = n->panel + (size_t)(L->first[b2] - n->first) * ld + local;
      }
    }
    L->jptr2[c + 1] = p;
  }
  return PERP_OK;
}

perp_status perp_bodylu_analyse(perp_ctx *ctx, perp_bodylu *L, const perp_blocks *F,
                                bool unsymmetric)
{
  if (!same_pattern(L, F) || (unsymmetric && !L->unsymmetric)) {
    symbolic s = { .nb = F->nb, .nv = F->nv };
    for (int c = 0; c < F->nc; c++) {
      size_t k = (size_t)(F->jptr[c + 1] - F->jptr[c]);
      s.pairs += k * k;
    }
    L->unsymmetric = unsymmetric;
    perp_status status = perp_arena_layout(ctx, &s.arena, symbolic_layout, &s);
    if (status == PERP_OK && !symbolic_blocks(F, &s))
      status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory to analyse %d blocks", F->nb);
    if (status == PERP_OK) status = bodylu_analyse_build(ctx, L, F, &s);
    free(s.sidx);
    perp_arena_free(&s.arena);
    if (status != PERP_OK) {
      perp_arena_free(&L->arena);
      return status;
    }
  }
  copy_values(L, F);
  return PERP_OK;
}
