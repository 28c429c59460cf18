/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elliptic cones of friction (STAR 2012, section 2.1.4) as circular ones in stretched tangents: see
 * islands_private.h. */
#include "models/contact/step/islands_private.h"
#include "models/multibody/model_private.h"

static const double ALONG = 1e-9; /* sine of the angle of a direction that is the normal */

double perp_islands_anisotropy(const perp_model *model, const perp_eval *e, const perp_contact *x,
                               double w[3])
{
  int shape;
  const double ratio = perp_surface_anisotropy(model, x->shape[0], x->shape[1], &shape);
  if (ratio == 1) return 1;
  const perp_shape_def *def = &model->shape_def[shape];
  double R[9], own[3], g[3];
  perp_quat_matrix(def->quat, R);
  perp_turn(3, R, def->surface.along, own);
  if (def->body >= 0)
    perp_turn(3, e->pose[def->body].R, own, g);
  else
    for (int i = 0; i < 3; i++) g[i] = own[i];
  perp_cross(x->n, g, w);
  const double length = sqrt(perp_dot(3, w, w));
  if (!(length > ALONG * sqrt(perp_dot(3, g, g)))) return 1;
  for (int i = 0; i < 3; i++) w[i] /= length;
  return ratio;
}
