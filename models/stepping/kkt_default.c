/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/kkt_default.h"

#include "models/multibody/model_private.h"
#include "solvers/core/sets.h"

#include <stdlib.h>

enum { SOLVES = 2 }; /* with a factorization, about: the step and what stabilizes it */

perp_status perp_kkt_forest(perp_ctx *ctx, const perp_model *model, bool *forest)
{
  const int n = model->n_bodies;
  int *root = malloc(((size_t)n + 1) * sizeof *root);
  if (root == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d bodies", n);
  for (int i = 0; i <= n; i++) root[i] = i;
  *forest = true;
  for (int joint = 0; joint < model->n_joints; joint++) {
    int pair[2], bodies;
    const int *body = perp_joint_bodies(&model->joint_def[joint], pair, &bodies), none = PERP_WORLD;
    for (int k = 1; k < bodies || k == 1; k++) { /* one alone is tied to the world */
      const int at = k < bodies ? body[k] : none, a = body[0] >= 0 ? body[0] : n,
                b = at >= 0 ? at : n;
      *forest = *forest && perp_root(root, a) != perp_root(root, b);
      perp_unite(root, a, b);
    }
  }
  free(root);
  return PERP_OK;
}

static perp_status kkt_default_cost(perp_ctx *ctx, const perp_kkt_desc *desc,
                                    const perp_blocks *pattern, double *cost)
{
  perp_spec spec = { 0 };
  void *ws = NULL;
  double factor = 0, solve = 0;
  perp_status status = perp_spec_parse(ctx, PERP_KIND_kkt, desc->d.name, &spec);
  if (status == PERP_OK) status = desc->create(ctx, pattern, spec.opts, &ws);
  if (status == PERP_OK) desc->cost(ws, &factor, &solve);
  desc->destroy(ws);
  perp_spec_free(&spec);
  *cost = factor + SOLVES * solve;
  return status;
}

perp_status perp_kkt_default(perp_ctx *ctx, const perp_model *model, const char **name)
{
  const unsigned asked = PERP_KKT_SPARSE | PERP_KKT_REDUNDANT | PERP_KKT_LOOPS;
  const perp_blocks pattern = perp_model_pattern(model);
  const perp_desc *desc;
  double least = HUGE_VAL, cost;
  perp_status lack = PERP_OK;
  bool forest = false;
  *name = "tree";
  PERP_TRY(perp_kkt_forest(ctx, model, &forest));
  for (int i = 0; !forest && (desc = perp_plugin_at(ctx, PERP_KIND_kkt, i)) != NULL; i++) {
    const perp_kkt_desc *kkt = (const perp_kkt_desc *)(const void *)desc;
    if (!perp_is_own(ctx, desc) || kkt->cost == NULL || (desc->caps & asked) != asked) continue;
    const perp_status status = kkt_default_cost(ctx, kkt, &pattern, &cost);
    if (status == PERP_ERR_NOMEM) lack = status; /* of this one: a wide band; others may fit */
    if (status != PERP_ERR_NOMEM && status != PERP_OK) return status;
    if (status != PERP_OK || !(cost < least)) continue;
    least = cost;
    *name = desc->name;
  }
  return least < HUGE_VAL ? PERP_OK : lack;
}
