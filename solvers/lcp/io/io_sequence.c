/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files PREFIX-000.lcp, PREFIX-001.lcp, ... of one sequence. */
#include "solvers/lcp/io/io.h"

#include <stdlib.h>
#include <string.h>

enum { SEQUENCE_MOST = 1000 }; /* three digits */

/* Does p stand at its place after the problem before it? */
static perp_status io_sequence_check(perp_ctx *ctx, const char *path, int number,
                                     const perp_lcp_problem *before,
                                     const perp_lcp_problem *problem)
{
  const perp_lcp_sequence *sequence = &problem->sequence;
  if (sequence->name[0] == '\0')
    return PERP_FAIL(ctx, PERP_ERR_FORMAT,
                     "%s: belongs to no sequence (section sequence is missing)", path);
  if (sequence->number != number)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: is problem %d of its sequence, not %d", path,
                     sequence->number, number);
  if (sequence->of > SEQUENCE_MOST)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: a sequence of %d problems is too long (at most %d)",
                     path, sequence->of, SEQUENCE_MOST);
  if (before == NULL) return PERP_OK;
  if (strcmp(sequence->name, before->sequence.name) != 0 || sequence->of != before->sequence.of)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT,
                     "%s: belongs to sequence %s of %d problems, but the previous file to %s of %d",
                     path, sequence->name, sequence->of, before->sequence.name,
                     before->sequence.of);
  if (sequence->rows != before->p.n)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT,
                     "%s: section before expects %d rows of the previous problem, which has %d",
                     path, sequence->rows, before->p.n);
  return PERP_OK;
}

void perp_lcp_sequence_free(perp_lcp_problem *problem, int n)
{
  for (int i = 0; problem != NULL && i < n; i++) perp_lcp_problem_free(&problem[i]);
  free(problem);
}

perp_status perp_lcp_sequence_read(perp_ctx *ctx, const char *prefix, perp_lcp_problem **out,
                                   int *n)
{
  perp_lcp_problem *all = NULL;
  perp_status status = PERP_OK;
  char *path = malloc(strlen(prefix) + sizeof "-000.lcp" + 8);
  int of = 1, read = 0;
  *out = NULL;
  *n = 0;
  if (path == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a file name");
  while (status == PERP_OK && read < of) {
    perp_lcp_problem problem;
    sprintf(path, "%s-%03d.lcp", prefix, read);
    status = perp_lcp_read(ctx, path, &problem);
    if (status != PERP_OK) break;
    status = io_sequence_check(ctx, path, read, read > 0 ? &all[read - 1] : NULL, &problem);
    if (status == PERP_OK && read == 0) {
      of = problem.sequence.of;
      all = calloc((size_t)of, sizeof *all);
      if (all == NULL) status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d problems", of);
    }
    if (status == PERP_OK)
      all[read++] = problem;
    else
      perp_lcp_problem_free(&problem);
  }
  free(path);
  if (status != PERP_OK) {
    perp_lcp_sequence_free(all, read);
    return status;
  }
  *out = all;
  *n = of;
  return PERP_OK;
}
