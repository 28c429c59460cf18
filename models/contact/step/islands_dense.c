/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense problems: islands whose joints are eliminated, and those on the acceleration level. */
#include "models/contact/step/islands_private.h"

#include <string.h>

/* Has a body of island i a joint? */
static bool islands_dense_jointed(const perp_islands *s, int i)
{
  for (int l = s->start[i].first[BODIES]; l < s->start[i + 1].first[BODIES]; l++)
    if (s->jointed[s->bodies[l]]) return true;
  return false;
}

/* f [nv] of the whole = the row-th row of J of group c. */
static void islands_dense_push(const perp_islands *s, const perp_blocks *F, const int *bodies,
                               int c, int row)
{
  const int nvb = s->model->nvb, r = F->cptr[c + 1] - F->cptr[c];
  memset(s->f, 0, (size_t)s->model->nv * sizeof *s->f);
  for (int q = F->jptr[c]; q < F->jptr[c + 1]; q++) {
    double *f = s->f + (size_t)nvb * (size_t)bodies[F->jblk[q]];
    for (int l = 0; l < nvb; l++) f[l] += F->J[F->joff[q] + row + l * r];
  }
}

/* out [m] = J a, a [nv] of the whole. */
static void islands_dense_response(const perp_islands *s, const perp_blocks *F, const int *bodies,
                                   double *out)
{
  const int nvb = s->model->nvb;
  memset(out, 0, (size_t)F->m * sizeof *out);
  for (int c = 0; c < F->nc; c++) {
    double *w = out + F->cptr[c];
    const int r = F->cptr[c + 1] - F->cptr[c];
    for (int q = F->jptr[c]; q < F->jptr[c + 1]; q++) {
      const double *a = s->a + (size_t)nvb * (size_t)bodies[F->jblk[q]];
      for (int l = 0; l < nvb; l++)
        for (int y = 0; y < r; y++) w[y] += F->J[F->joff[q] + y + l * r] * a[l];
    }
  }
}

bool perp_islands_columns(perp_islands *s, perp_constrained *k, int i)
{
  const perp_blocks F = islands_blocks(s, i, true);
  const int *bodies = s->bodies + s->start[i].first[BODIES];
  const size_t n = (size_t)F.m;
  double *A = s->A + s->start[i].dense, *diag = s->diagonal + islands_first_row(s, i);
  if (!islands_dense_jointed(s, i)) { /* H = M^-1: bodies respond one by one */
    double scratch[JOINT_ROWS * 6];
    perp_blocks_delassus(&F, A, F.m, scratch);
  } else {
    for (int c = 0; c < F.nc; c++)
      for (int col = F.cptr[c]; col < F.cptr[c + 1]; col++) {
        double *out = A + n * (size_t)col;
        islands_dense_push(s, &F, bodies, c, col - F.cptr[c]);
        if (!perp_constrained_response(k, s->f, s->zero, s->a, s->lambda)) return false;
        islands_dense_response(s, &F, bodies, out);
        out[col] += F.s[col];
      }
    for (size_t y = 0; y < n; y++) /* symmetric up to rounding: make it exact */
      for (size_t z = 0; z < y; z++) {
        double *upper = &A[y + n * z], *lower = &A[z + n * y];
        *upper = *lower = 0.5 * (*upper + *lower);
      }
  }
  for (size_t y = 0; y < n; y++) diag[y] = A[y * (n + 1)];
  return true;
}
