/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which function serves a pair of kinds of solids. */
#include "models/collision/pairs.h"

enum { SPHERE, CAPSULE, HULL, PLANE, ELLIPSOID, SOLID, CLASSES };

static int pair_table_class(perp_shape_kind kind)
{
  switch (kind) {
  case PERP_SHAPE_SPHERE:
    return SPHERE;
  case PERP_SHAPE_CAPSULE:
    return CAPSULE;
  case PERP_SHAPE_PLANE:
    return PLANE;
  case PERP_SHAPE_ELLIPSOID:
    return ELLIPSOID;
  case PERP_SHAPE_CYLINDER:
  case PERP_SHAPE_CONE:
    return SOLID;
  default:
    return HULL;
  }
}

/* upper triangle; what is missing never touches */
static perp_pair_fn *const table[CLASSES][CLASSES] = {
  [SPHERE] = { perp_sphere_sphere, perp_sphere_capsule, perp_sphere_hull, perp_sphere_plane,
               perp_sphere_ellipsoid, perp_solid_solid },
  [CAPSULE] = { NULL, perp_capsule_capsule, perp_capsule_hull, perp_capsule_plane, perp_solid_solid,
                perp_solid_solid },
  [HULL] = { NULL, NULL, perp_hull_hull, perp_hull_plane, perp_solid_solid, perp_solid_solid },
  [PLANE] = { [ELLIPSOID] = perp_plane_ellipsoid, [SOLID] = perp_plane_solid },
  [ELLIPSOID] = { [ELLIPSOID] = perp_solid_solid, [SOLID] = perp_solid_solid },
  [SOLID] = { [SOLID] = perp_solid_solid },
};

perp_pair_fn *perp_pair_of_solids(perp_shape_kind a, perp_shape_kind b, bool *flip)
{
  int ca = pair_table_class(a), cb = pair_table_class(b);
  *flip = ca > cb;
  return *flip ? table[cb][ca] : table[ca][cb];
}

perp_pair_fn *perp_pair_with_piece(perp_shape_kind kind, bool *flip)
{
  perp_pair_fn *fn = perp_pair_of_solids(kind, PERP_SHAPE_POLYTOPE, flip);
  /* of two polytopes the first one gives the normal where both could */
  if (pair_table_class(kind) == HULL) *flip = true;
  return fn;
}
