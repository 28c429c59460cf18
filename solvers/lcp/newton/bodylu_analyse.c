/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pattern of a factorization of bodies: which columns take part, order of the blocks (CHOLMOD),
 * symbolic factorization of their graph, supernodes, and where every block of H goes. */
#include "solvers/lcp/newton/bodylu_private.h"

#include <gsl/gsl_sort_int.h>
#include <stdlib.h>
#include <string.h>

/* ---- pattern ---- */

/* columns with some entry of J, and those that M couples to them */
static void used_columns(const perp_blocks *blocks, unsigned char *used)
{
  memset(used, 0, (size_t)blocks->nv);
  for (int c = 0; c < blocks->nc; c++) {
    int r = blocks->cptr[c + 1] - blocks->cptr[c];
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      const double *G = blocks->J + blocks->joff[k];
      for (int j = 0; j < d; j++)
        for (int i = 0; i < r; i++)
          if (G[i + j * r] != 0) used[col + j] = 1;
    }
  }
  for (int b = 0; b < blocks->nb; b++) {
    int col = blocks->bptr[b], d = blocks->bptr[b + 1] - col;
    const double *M = blocks->M + blocks->mptr[b];
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
static bool same_pattern(const perp_bodylu *bodylu, const perp_blocks *blocks)
{
  if (bodylu->arena.base == NULL || bodylu->nb != blocks->nb || bodylu->nc != blocks->nc ||
      bodylu->m != blocks->m || bodylu->nv != blocks->nv || bodylu->ns != blocks->jptr[blocks->nc])
    return false;
  size_t nb = (size_t)blocks->nb, nc = (size_t)blocks->nc;
  if (memcmp(bodylu->cptr, blocks->cptr, (nc + 1) * sizeof(int)) != 0 ||
      memcmp(bodylu->jptr, blocks->jptr, (nc + 1) * sizeof(int)) != 0 ||
      memcmp(bodylu->bptr, blocks->bptr, (nb + 1) * sizeof(int)) != 0 ||
      memcmp(bodylu->jblk, blocks->jblk, (size_t)blocks->jptr[nc] * sizeof(int)) != 0)
    return false;
  for (int c = 0; c < blocks->nc; c++) {
    int r = blocks->cptr[c + 1] - blocks->cptr[c];
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      const double *G = blocks->J + blocks->joff[k];
      for (int j = 0; j < d; j++)
        if (!bodylu->mask[col + j])
          for (int i = 0; i < r; i++)
            if (G[i + j * r] != 0) return false;
    }
  }
  for (int b = 0; b < blocks->nb; b++) {
    int d = blocks->bptr[b + 1] - blocks->bptr[b];
    const double *M = blocks->M + blocks->mptr[b];
    for (int j = 0; j < d; j++)
      for (int i = 0; i < d; i++)
        if (bodylu->mask[blocks->bptr[b] + i] != bodylu->mask[blocks->bptr[b] + j] &&
            M[i + j * d] != 0)
          return false;
  }
  return true;
}

static void copy_values(perp_bodylu *bodylu, const perp_blocks *blocks)
{
  for (int c = 0; c < blocks->nc; c++) {
    int r = blocks->cptr[c + 1] - blocks->cptr[c];
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      int col = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - col;
      const double *G = blocks->J + blocks->joff[k];
      double *out = bodylu->Jr + bodylu->joff[k];
      for (int i = 0; i < r; i++) /* row-major: a row is read together */
        for (int j = 0; j < d; j++)
          if (bodylu->mask[col + j]) *out++ = G[i + j * r];
    }
  }
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

static void symbolic_layout(void *ws, perp_arena *arena)
{
  symbolic *s = ws;
  PERP_INTS(arena, s->nb + 1, &s->perm, &s->inv, &s->parent, &s->mark, &s->child, &s->sibling,
            &s->width, &s->start);
  PERP_INTS(arena, s->nb + 2, &s->ptr);
  PERP_INTS(arena, s->pairs, &s->idx);
  s->sptr = PERP_CARVE(arena, size_t, s->nb + 1);
  s->used = PERP_CARVE(arena, unsigned char, s->nv);
}

/* The graph of blocks in the order of elimination: an edge for two blocks of one group, kept at the
 * one that is eliminated first.  Edges may come twice. */
static void symbolic_graph(const perp_blocks *blocks, symbolic *s)
{
  const int nb = blocks->nb;
  memset(s->ptr, 0, ((size_t)nb + 2) * sizeof *s->ptr);
  for (int k = 0; k < nb; k++) s->inv[s->perm[k]] = k;
  for (int pass = 0; pass < 2; pass++) { /* count, then fill in */
    for (int c = 0; c < blocks->nc; c++)
      for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++)
        for (int l = blocks->jptr[c]; l < blocks->jptr[c + 1]; l++) {
          const int i = s->inv[blocks->jblk[k]], j = s->inv[blocks->jblk[l]];
          if (i >= j) continue;
          if (pass == 0)
            s->ptr[i + 2]++;
          else
            s->idx[s->ptr[i + 1]++] = j;
        }
    for (int i = 0; i < nb && pass == 0; i++) s->ptr[i + 1] += s->ptr[i];
  }
}

/* Block i is below the diagonal of column j, whose structure ends at *end so far. */
static inline void symbolic_add(symbolic *s, int j, int i, size_t *end)
{
  if (s->mark[i] == j) return;
  s->mark[i] = j;
  s->sidx[(*end)++] = i;
}

/* Structure of each column of the factor: its own edges and, since eliminating a column joins all
 * that it touches, the structures of its children in the elimination tree; its parent is the first
 * block below its diagonal (Davis 2006, section 4.1).  false: no memory. */
static bool symbolic_columns(symbolic *s)
{
  for (int j = 0; j < s->nb; j++) s->mark[j] = s->child[j] = s->parent[j] = -1;
  s->sptr[0] = 0;
  for (int j = 0; j < s->nb; j++) {
    const size_t start = s->sptr[j];
    size_t end = start;
    if (end + (size_t)(s->nb - j) > s->capacity) { /* it has at most nb - j entries */
      s->capacity = 2 * s->capacity + (size_t)s->nb;
      int *grown = realloc(s->sidx, s->capacity * sizeof(int));
      if (grown == NULL) return false;
      s->sidx = grown;
    }
    s->mark[j] = j;
    for (int k = s->ptr[j]; k < s->ptr[j + 1]; k++) symbolic_add(s, j, s->idx[k], &end);
    for (int c = s->child[j]; c >= 0; c = s->sibling[c])
      for (size_t k = s->sptr[c]; k < s->sptr[c + 1]; k++) symbolic_add(s, j, s->sidx[k], &end);
    gsl_sort_int(s->sidx + start, 1, end - start);
    s->sptr[j + 1] = end;
    if (end == start) continue;
    const int parent = s->parent[j] = s->sidx[start];
    s->sibling[j] = s->child[parent];
    s->child[parent] = j;
  }
  return true;
}

static bool symbolic_factor(const perp_blocks *blocks, symbolic *s)
{
  s->capacity = 8 * ((size_t)blocks->nb + 1) + s->pairs;
  s->sidx = malloc(s->capacity * sizeof(int));
  if (s->sidx == NULL || !perp_bodylu_order(blocks, s->pairs, s->perm)) return false;
  symbolic_graph(blocks, s);
  return symbolic_columns(s);
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

static void bodylu_analyse_layout(perp_bodylu *bodylu, perp_arena *arena, size_t pairs, size_t nj,
                                  int n_sn, size_t scratch)
{
  size_t nb = (size_t)bodylu->nb, nc = (size_t)bodylu->nc;
  PERP_INTS(arena, nc + 1, &bodylu->cptr, &bodylu->jptr);
  bodylu->bptr = PERP_CARVE(arena, int, nb + 1);
  bodylu->jblk = PERP_CARVE(arena, int, bodylu->ns);
  bodylu->mask = PERP_CARVE(arena, unsigned char, bodylu->nv);
  PERP_INTS(arena, nb, &bodylu->first, &bodylu->width);
  bodylu->sn = PERP_CARVE(arena, supernode, n_sn);
  bodylu->rows = PERP_CARVE(arena, int, bodylu->n_rows);
  bodylu->owner = PERP_CARVE(arena, int, bodylu->N);
  bodylu->at = PERP_CARVE(arena, size_t, nb);
  bodylu->ld = PERP_CARVE(arena, int, nb);
  bodylu->off = PERP_CARVE(arena, size_t, pairs);
  bodylu->jptr2 = PERP_CARVE(arena, int, nc + 1);
  bodylu->val = PERP_CARVE(arena, double, bodylu->size);
  bodylu->uval = PERP_CARVE(arena, double, bodylu->unsymmetric ? bodylu->size : 0);
  bodylu->Jr = PERP_CARVE(arena, double, nj);
  bodylu->joff = PERP_CARVE(arena, size_t, (size_t)bodylu->ns + 1);
  bodylu->update = PERP_CARVE(arena, double, scratch);
  bodylu->map = PERP_CARVE(arena, int, bodylu->N);
  PERP_INTS(arena, n_sn, &bodylu->head, &bodylu->next, &bodylu->pos);
  bodylu->pivot = PERP_CARVE(arena, int, bodylu->N);
}

/* everything that follows from the symbolic factorization */
static perp_status bodylu_analyse_build(perp_ctx *ctx, perp_bodylu *bodylu,
                                        const perp_blocks *blocks, const symbolic *s)
{
  int nb = blocks->nb, *width = s->width, *start = s->start, N = 0;
  size_t nj = 0;
  used_columns(blocks, s->used);
  for (int k = 0; k < nb; k++) {
    int b = s->perm[k];
    width[k] = 0;
    for (int j = blocks->bptr[b]; j < blocks->bptr[b + 1]; j++) width[k] += s->used[j];
    N += width[k];
  }
  int n_sn = find_supernodes(s, width, start);
  for (int c = 0; c < blocks->nc; c++)
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++)
      nj += (size_t)(blocks->cptr[c + 1] - blocks->cptr[c]) *
            (size_t)width[s->inv[blocks->jblk[k]]];
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
  bool unsymmetric = bodylu->unsymmetric;
  perp_arena_free(&bodylu->arena);
  *bodylu = (perp_bodylu){ .nb = nb,
                           .nc = blocks->nc,
                           .m = blocks->m,
                           .nv = blocks->nv,
                           .ns = blocks->jptr[blocks->nc],
                           .unsymmetric = unsymmetric,
                           .N = N,
                           .size = size,
                           .n_rows = n_rows };
  perp_arena arena = { 0 };
  bodylu_analyse_layout(bodylu, &arena, s->pairs, nj, n_sn, scratch);
  PERP_TRY(perp_arena_reserve(ctx, &arena));
  bodylu->arena = arena;
  bodylu_analyse_layout(bodylu, &bodylu->arena, s->pairs, nj, n_sn, scratch);
  memcpy(bodylu->cptr, blocks->cptr, (size_t)(blocks->nc + 1) * sizeof(int));
  memcpy(bodylu->jptr, blocks->jptr, (size_t)(blocks->nc + 1) * sizeof(int));
  memcpy(bodylu->bptr, blocks->bptr, (size_t)(nb + 1) * sizeof(int));
  memcpy(bodylu->jblk, blocks->jblk, (size_t)blocks->jptr[blocks->nc] * sizeof(int));
  memcpy(bodylu->mask, s->used, (size_t)blocks->nv);

  int at = 0;
  for (int k = 0; k < nb; k++) { /* k: permuted block */
    int b = s->perm[k];
    bodylu->first[b] = at;
    bodylu->width[b] = width[k];
    at += width[k];
  }
  size_t panel = 0, row = 0;
  for (int t = 0; t < n_sn; t++) {
    supernode *n = &bodylu->sn[t];
    *n = (supernode){ .first = bodylu->first[s->perm[start[t]]], .rows = row, .panel = panel };
    for (int k = start[t]; k < start[t + 1]; k++) n->w += width[k];
    for (int i = n->first; i < n->first + n->w; i++) bodylu->owner[i] = t;
    int last = start[t + 1] - 1;
    for (size_t k = s->sptr[last]; k < s->sptr[last + 1]; k++)
      for (int i = 0; i < width[s->sidx[k]]; i++)
        bodylu->rows[row++] = bodylu->first[s->perm[s->sidx[k]]] + i;
    n->r = (int)(row - n->rows);
    panel += (size_t)n->w * (size_t)(n->w + n->r);
  }
  /* where the blocks of H go: (row block, column block) with the later one as row */
  for (int b = 0; b < nb; b++) {
    bodylu->at[b] = 0;
    bodylu->ld[b] = 0;
    if (bodylu->width[b] == 0) continue;
    const supernode *n = &bodylu->sn[bodylu->owner[bodylu->first[b]]];
    bodylu->ld[b] = n->w + n->r;
    bodylu->at[b] = n->panel + (size_t)(bodylu->first[b] - n->first) * (size_t)(bodylu->ld[b] + 1);
  }
  bodylu->jptr2[0] = 0;
  size_t nj2 = 0;
  for (int c = 0, p = 0; c < blocks->nc; c++) {
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      int b = blocks->jblk[k];
      bodylu->joff[k] = nj2;
      nj2 += (size_t)(blocks->cptr[c + 1] - blocks->cptr[c]) * (size_t)width[s->inv[b]];
      for (int l = blocks->jptr[c]; l < blocks->jptr[c + 1]; l++, p++) {
        int b2 = blocks->jblk[l]; /* block (b, b2): stored when b is the later one or equal */
        bodylu->off[p] = SIZE_MAX;
        if (s->inv[b] < s->inv[b2] || width[s->inv[b]] == 0 || width[s->inv[b2]] == 0) continue;
        const supernode *n = &bodylu->sn[bodylu->owner[bodylu->first[b2]]];
        size_t ld = (size_t)(n->w + n->r), local;
        if (bodylu->first[b] < n->first + n->w)
          local = (size_t)(bodylu->first[b] - n->first);
        else {
          const int *low = bodylu->rows + n->rows, *high = low + n->r;
          while (high - low > 1) {
            const int *mid = low + (high - low) / 2;
            if (*mid <= bodylu->first[b])
              low = mid;
            else
              high = mid;
          }
          local = (size_t)n->w + (size_t)(low - (bodylu->rows + n->rows));
        }
        bodylu->off[p] = n->panel + (size_t)(bodylu->first[b2] - n->first) * ld + local;
      }
    }
    bodylu->jptr2[c + 1] = p;
  }
  return PERP_OK;
}

perp_status perp_bodylu_analyse(perp_ctx *ctx, perp_bodylu *bodylu, const perp_blocks *blocks,
                                bool unsymmetric)
{
  if (!same_pattern(bodylu, blocks) || (unsymmetric && !bodylu->unsymmetric)) {
    symbolic s = { .nb = blocks->nb, .nv = blocks->nv };
    for (int c = 0; c < blocks->nc; c++) {
      size_t k = (size_t)(blocks->jptr[c + 1] - blocks->jptr[c]);
      s.pairs += k * k;
    }
    bodylu->unsymmetric = unsymmetric;
    perp_status status = perp_arena_layout(ctx, &s.arena, symbolic_layout, &s);
    if (status == PERP_OK && !symbolic_factor(blocks, &s))
      status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory to analyse %d blocks", blocks->nb);
    if (status == PERP_OK) status = bodylu_analyse_build(ctx, bodylu, blocks, &s);
    free(s.sidx);
    perp_arena_free(&s.arena);
    if (status != PERP_OK) {
      perp_arena_free(&bodylu->arena);
      return status;
    }
  }
  copy_values(bodylu, blocks);
  return PERP_OK;
}
