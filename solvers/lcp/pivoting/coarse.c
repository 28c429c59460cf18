/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/pivoting/coarse.h"

#include <math.h>
#include <stdlib.h>

/* an entry this part of the largest negative one of its row makes a row depend on another one */
static const double STRONG = 0.25;
/* A coarser problem has at most this part of the rows, and at most DENSER times the numbers. */
static const double SMALLER = 0.8, DENSER = 1.5;

enum { UNDECIDED, COARSE, FINE };

/* The coarse rows get their numbers, others -1; returns how many there are. */
static int level_split(const perp_level *fine, int *number, double *largest)
{
  const int *start = fine->A->p, *row = fine->A->i;
  const double *value = fine->A->x;
  int count = 0;
  for (int i = 0; i < fine->n; i++) {
    number[i] = UNDECIDED;
    largest[i] = 0;
  }
  for (int j = 0; j < fine->n; j++)
    for (int k = start[j]; k < start[j + 1]; k++)
      if (row[k] != j && -value[k] > largest[row[k]]) largest[row[k]] = -value[k];
  for (int j = 0; j < fine->n; j++) {
    if (number[j] != UNDECIDED) continue;
    number[j] = COARSE;
    for (int k = start[j]; k < start[j + 1]; k++)
      if (number[row[k]] == UNDECIDED && value[k] < 0 && -value[k] >= STRONG * largest[row[k]])
        number[row[k]] = FINE;
  }
  for (int i = 0; i < fine->n; i++) number[i] = number[i] == COARSE ? count++ : -1;
  return count;
}

/* P', column by column: what row i is interpolated from. */
static bool level_weights(perp_level *fine, const int *number, const double *largest, int count,
                          cholmod_common *cm)
{
  const int *start = fine->turned->p, *col = fine->turned->i;
  const double *value = fine->turned->x;
  fine->weights = cholmod_allocate_sparse((size_t)count, (size_t)fine->n,
                                          (size_t)start[fine->n] + (size_t)fine->n, 1, 1, 0,
                                          CHOLMOD_REAL, cm);
  if (fine->weights == NULL) return false;
  int *ends = fine->weights->p, *from = fine->weights->i, n = 0;
  double *weight = fine->weights->x;
  for (int i = 0; i < fine->n; i++) {
    double diagonal = 0, negative = 0, strong = 0;
    ends[i] = n;
    if (number[i] >= 0) {
      from[n] = number[i];
      weight[n++] = 1;
      continue;
    }
    for (int k = start[i]; k < start[i + 1]; k++) {
      if (col[k] == i || value[k] > 0)
        diagonal += value[k];
      else
        negative += value[k];
      if (col[k] == i || number[col[k]] < 0 || -value[k] < STRONG * largest[i]) continue;
      strong += value[k];
      from[n] = number[col[k]];
      weight[n++] = value[k];
    }
    const double factor = -negative / (strong * diagonal);
    for (int k = ends[i]; k < n; k++) weight[k] *= factor;
  }
  ends[fine->n] = n;
  return true;
}

/* A, b and the bounds of the coarser problem. */
static bool level_project(const perp_level *fine, perp_level *coarse, const int *number,
                          cholmod_common *cm)
{
  cholmod_sparse *P = cholmod_transpose(fine->weights, 1, cm);
  cholmod_sparse *AP = P != NULL ? cholmod_ssmult(fine->A, P, 0, 1, 0, cm) : NULL;
  coarse->A = AP != NULL ? cholmod_ssmult(fine->weights, AP, 0, 1, 1, cm) : NULL;
  cholmod_free_sparse(&AP, cm);
  cholmod_free_sparse(&P, cm);
  const size_t n = (size_t)coarse->n;
  coarse->own = calloc(3 * n + 1, sizeof *coarse->own);
  coarse->set = calloc(n + 1, 1);
  if (coarse->A == NULL || coarse->own == NULL || coarse->set == NULL) {
    cm->status = CHOLMOD_OUT_OF_MEMORY;
    return false;
  }
  double *b = coarse->own, *lo = b + n, *hi = lo + n;
  const int *ends = fine->weights->p, *from = fine->weights->i;
  const double *weight = fine->weights->x;
  for (int i = 0; i < fine->n; i++) {
    for (int k = ends[i]; k < ends[i + 1]; k++) b[from[k]] += weight[k] * fine->b[i];
    if (number[i] >= 0) {
      lo[number[i]] = fine->lo[i];
      hi[number[i]] = fine->hi[i];
    }
  }
  coarse->b = b;
  coarse->lo = lo;
  coarse->hi = hi;
  return true;
}

bool perp_level_coarsen(perp_level *fine, perp_level *coarse, cholmod_common *cm)
{
  *coarse = (perp_level){ .symmetric = fine->symmetric };
  if (fine->turned == NULL)
    fine->turned = fine->symmetric ? fine->A : cholmod_transpose(fine->A, 1, cm);
  int *number = malloc(((size_t)fine->n + 1) * sizeof *number);
  double *largest = malloc(((size_t)fine->n + 1) * sizeof *largest);
  bool good = fine->turned != NULL && number != NULL && largest != NULL;
  if (!good) cm->status = CHOLMOD_OUT_OF_MEMORY;
  if (good) {
    coarse->n = level_split(fine, number, largest);
    good = coarse->n <= SMALLER * fine->n && level_weights(fine, number, largest, coarse->n, cm) &&
           level_project(fine, coarse, number, cm);
  }
  if (good && (double)cholmod_nnz(coarse->A, cm) > DENSER * (double)cholmod_nnz(fine->A, cm))
    good = false;
  if (!good) {
    cholmod_free_sparse(&fine->weights, cm);
    perp_level_free(coarse, false, cm);
  }
  free(number);
  free(largest);
  return good;
}

void perp_level_prolong(const perp_level *coarse, perp_level *fine, signed char *scratch)
{
  const int *ends = fine->weights->p, *from = fine->weights->i;
  for (int i = 0; i < fine->n; i++) {
    signed char set = ends[i] < ends[i + 1] ? coarse->set[from[ends[i]]] : PERP_BETWEEN;
    for (int k = ends[i] + 1; k < ends[i + 1]; k++)
      if (coarse->set[from[k]] != set) set = PERP_BETWEEN;
    scratch[i] = set;
  }
  const int *start = fine->turned->p, *col = fine->turned->i;
  for (int i = 0; i < fine->n; i++) {
    fine->set[i] = scratch[i];
    for (int k = start[i]; k < start[i + 1]; k++)
      if (scratch[col[k]] == PERP_BETWEEN) fine->set[i] = PERP_BETWEEN;
    if (!(fine->lo[i] < fine->hi[i]) || (fine->set[i] == PERP_AT_LO && fine->lo[i] == -HUGE_VAL) ||
        (fine->set[i] == PERP_AT_HI && fine->hi[i] == HUGE_VAL))
      fine->set[i] = fine->lo[i] < fine->hi[i] ? PERP_BETWEEN : PERP_AT_LO;
  }
}

void perp_level_free(perp_level *level, bool finest, cholmod_common *cm)
{
  if (level->turned != level->A) cholmod_free_sparse(&level->turned, cm);
  cholmod_free_sparse(&level->weights, cm);
  if (!finest) cholmod_free_sparse(&level->A, cm);
  free(level->own);
  free(level->set);
  *level = (perp_level){ 0 };
}
