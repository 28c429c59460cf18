/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of bodies whose shapes never touch each other, sorted by a, then b. */
#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

/* Where the pair is, or would be; a < b. */
static int no_contact_place(const perp_model *model, int a, int b, bool *there)
{
  int lo = 0, hi = model->no_contact.n;
  while (lo < hi) {
    const int mid = (lo + hi) / 2;
    const perp_no_contact *pair = &model->no_contact.pair[mid];
    if (pair->a < a || (pair->a == a && pair->b < b))
      lo = mid + 1;
    else
      hi = mid;
  }
  *there = lo < model->no_contact.n && model->no_contact.pair[lo].a == a &&
           model->no_contact.pair[lo].b == b;
  return lo;
}

perp_status perp_model_add_no_contact(perp_ctx *ctx, perp_model *model, int a, int b, double depth)
{
  const perp_no_contact pair = { a < b ? a : b, a < b ? b : a, depth };
  if (pair.a < PERP_WORLD || pair.b >= model->n_bodies)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "bodies %d and %d are to have no contact: there are %d", a,
                     b, model->n_bodies);
  if (a == b)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "body %d and itself are to have no contact: shapes of one body never touch",
                     a);
  bool there;
  const int at = no_contact_place(model, pair.a, pair.b, &there);
  if (there) return PERP_OK;
  perp_no_contact *more = realloc(model->no_contact.pair,
                                  (size_t)(model->no_contact.n + 1) * sizeof *more);
  if (more == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for pairs of bodies without contact");
  model->no_contact.pair = more;
  memmove(more + at + 1, more + at, (size_t)(model->no_contact.n - at) * sizeof *more);
  more[at] = pair;
  model->no_contact.n++;
  return PERP_OK;
}

bool perp_model_no_contact(const perp_model *model, int a, int b)
{
  bool there = false;
  if (model->no_contact.n > 0) no_contact_place(model, a < b ? a : b, a < b ? b : a, &there);
  return there;
}

bool perp_model_no_contact_of(const perp_model *model, int pair, int *a, int *b, double *depth)
{
  if (pair < 0 || pair >= model->no_contact.n) return false;
  *a = model->no_contact.pair[pair].a;
  *b = model->no_contact.pair[pair].b;
  *depth = model->no_contact.pair[pair].depth;
  return true;
}
