/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The compiled shapes of a model. */
#include "models/multibody/model_private.h"
#include "models/shapes/shapes_private.h"

#include <stdlib.h>

perp_status perp_shapes_compile(perp_ctx *ctx, perp_model *model)
{
  if (model->n_shapes > PERP_SHAPES_MAX)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%d shapes, %d is the limit", model->n_shapes,
                     PERP_SHAPES_MAX);
  model->shape = calloc((size_t)(model->n_shapes + 1), sizeof *model->shape);
  if (model->shape == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for shapes");
  for (int i = 0; i < model->n_shapes; i++) {
    char buf[PERP_LABEL_MAX];
    const perp_shape_def *def = &model->shape_def[i];
    const char *who = perp_model_label(buf, "shape", i, def->name);
    perp_status status = perp_shape_compile(ctx, model->dim, def, who, &model->shape[i]);
    if (status != PERP_OK) {
      perp_shapes_free(model);
      return status;
    }
  }
  return PERP_OK;
}

void perp_shapes_free(perp_model *model)
{
  if (model->shape != NULL)
    for (int i = 0; i < model->n_shapes; i++) free(model->shape[i].hull);
  free(model->shape);
  model->shape = NULL;
}
