/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of a model, and what their surfaces have with each other: a rule for all, and pairs of
 * materials that have numbers of their own. */
#include "models/multibody/model_private.h"
#include "models/geometry/shapes_private.h"
#include "solvers/core/finite.h"

#include <stdlib.h>
#include <string.h>

perp_status perp_model_friction(perp_ctx *ctx, perp_model *model, perp_friction_rule rule)
{
  PERP_TRY(perp_model_building(ctx, model));
  if (rule < PERP_FRICTION_GEOMETRIC || rule > PERP_FRICTION_MEAN)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "unknown rule for the friction of pairs: %d", (int)rule);
  model->surfaces.friction = rule;
  return PERP_OK;
}

perp_friction_rule perp_model_friction_of(const perp_model *model)
{
  return model->surfaces.friction;
}

/* Where the pair of a <= b is, or belongs. */
static int surfaces_place(const perp_model *model, int a, int b, bool *there)
{
  int lo = 0, hi = model->surfaces.n_pairs;
  while (lo < hi) {
    const int mid = (lo + hi) / 2;
    const perp_material_pair *pair = &model->surfaces.pair[mid];
    if (pair->a < a || (pair->a == a && pair->b < b))
      lo = mid + 1;
    else
      hi = mid;
  }
  *there = lo < model->surfaces.n_pairs && model->surfaces.pair[lo].a == a &&
           model->surfaces.pair[lo].b == b;
  return lo;
}

void perp_surface_couples(const perp_model *model, int shape_a, int shape_b, double *torsion,
                          double *rolling)
{
  const perp_surface pair = perp_surface_pair(model, &model->shape_def[shape_a].surface,
                                              &model->shape_def[shape_b].surface);
  *torsion = pair.torsion;
  *rolling = pair.rolling;
}

perp_status perp_model_add_pair(perp_ctx *ctx, perp_model *model, int a, int b,
                                const perp_surface *surface)
{
  char who[64];
  perp_material_pair pair = { a < b ? a : b, a < b ? b : a, *surface };
  snprintf(who, sizeof who, "the pair of materials %d and %d", a, b);
  PERP_TRY(perp_model_building(ctx, model));
  if (pair.a < 1 || pair.b > PERP_MATERIALS_MAX)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: materials are numbered from 1 to %d", who,
                     PERP_MATERIALS_MAX);
  if (isnan(surface->mu) && !isnan(surface->mu_dynamic))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: mu_dynamic of a pair needs mu as well", who);
  if (isnan(surface->mu) && surface->mu_across > 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: mu_across of a pair needs mu as well", who);
  perp_surface check = { .mu = isnan(surface->mu) ? 0 : surface->mu,
                         .mu_dynamic = surface->mu_dynamic,
                         .mu_across = isnan(surface->mu_across) ? 0 : surface->mu_across,
                         .along = { 1 }, /* that of the shape */
                         .restitution = isnan(surface->restitution) ? 0 : surface->restitution,
                         .torsion = isnan(surface->torsion) ? 0 : surface->torsion,
                         .rolling = isnan(surface->rolling) ? 0 : surface->rolling };
  PERP_TRY(perp_surface_check(ctx, model->dim, &check, who));
  if (!isnan(surface->mu)) pair.surface.mu_dynamic = check.mu_dynamic;
  pair.surface.material = 0;
  bool there;
  const int at = surfaces_place(model, pair.a, pair.b, &there);
  if (there) return PERP_FAIL(ctx, PERP_ERR_ARG, "%s is defined twice", who);
  perp_material_pair *more = realloc(model->surfaces.pair,
                                     (size_t)(model->surfaces.n_pairs + 1) * sizeof *more);
  if (more == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for pairs of materials");
  model->surfaces.pair = more;
  memmove(more + at + 1, more + at, (size_t)(model->surfaces.n_pairs - at) * sizeof *more);
  more[at] = pair;
  model->surfaces.n_pairs++;
  model->surfaces.rolling = model->surfaces.rolling || check.rolling > 0;
  model->surfaces.couples = model->surfaces.couples || check.torsion > 0 || check.rolling > 0;
  return PERP_OK;
}

const perp_surface *perp_model_pair(const perp_model *model, int pair, int *a, int *b)
{
  if (pair < 0 || pair >= model->surfaces.n_pairs) return NULL;
  *a = model->surfaces.pair[pair].a;
  *b = model->surfaces.pair[pair].b;
  return &model->surfaces.pair[pair].surface;
}

static double surfaces_friction(perp_friction_rule rule, double a, double b)
{
  if (a == b) return a;
  switch (rule) {
  case PERP_FRICTION_MAXIMUM:
    return fmax(a, b);
  case PERP_FRICTION_MINIMUM:
    return fmin(a, b);
  case PERP_FRICTION_MEAN:
    return (a + b) / 2;
  default:
    return sqrt(a * b);
  }
}

perp_surface perp_surface_pair_of(const perp_model *model, const perp_surface *a,
                                  const perp_surface *b)
{
  perp_surface s = { .mu = surfaces_friction(model->surfaces.friction, a->mu, b->mu),
                     .mu_dynamic = surfaces_friction(model->surfaces.friction, a->mu_dynamic,
                                                     b->mu_dynamic),
                     .restitution = fmax(a->restitution, b->restitution),
                     .torsion = fmax(a->torsion, b->torsion),
                     .rolling = fmax(a->rolling, b->rolling) };
  bool there = false;
  const int i = a->material < b->material ? surfaces_place(model, a->material, b->material, &there)
                                          : surfaces_place(model, b->material, a->material, &there);
  if (!there) return s;
  const perp_surface *own = &model->surfaces.pair[i].surface;
  if (!isnan(own->mu)) s.mu = own->mu, s.mu_dynamic = own->mu_dynamic;
  if (!isnan(own->restitution)) s.restitution = own->restitution;
  if (!isnan(own->torsion)) s.torsion = own->torsion;
  if (!isnan(own->rolling)) s.rolling = own->rolling;
  return s;
}

double perp_surface_anisotropy(const perp_model *model, int shape_a, int shape_b, int *shape)
{
  const perp_surface *a = &model->shape_def[shape_a].surface,
                     *b = &model->shape_def[shape_b].surface;
  *shape = a->mu_across > 0 ? shape_a : shape_b;
  if (!(a->mu_across > 0) && !(b->mu_across > 0)) return 1;
  bool there = false;
  const int pair = a->material < b->material
                       ? surfaces_place(model, a->material, b->material, &there)
                       : surfaces_place(model, b->material, a->material, &there);
  if (there && !isnan(model->surfaces.pair[pair].surface.mu)) {
    const perp_surface *own = &model->surfaces.pair[pair].surface;
    return own->mu_across > 0 && own->mu > 0 ? own->mu_across / own->mu : 1;
  }
  const double along = surfaces_friction(model->surfaces.friction, a->mu, b->mu);
  const double across = surfaces_friction(model->surfaces.friction,
                                          a->mu_across > 0 ? a->mu_across : a->mu,
                                          b->mu_across > 0 ? b->mu_across : b->mu);
  return along > 0 ? across / along : 1; /* no friction in all directions: mu of the pair is 0 */
}

perp_status perp_surfaces_check(perp_ctx *ctx, const perp_model *model)
{
  for (int i = 0; i < model->n_shapes && model->surfaces.anisotropic; i++)
    for (int j = 0; j < i; j++) {
      const perp_shape_def *a = &model->shape_def[i], *b = &model->shape_def[j];
      if (a->body == b->body || (a->group != 0 && a->group == b->group) ||
          perp_model_no_contact(model, a->body, b->body))
        continue;
      if (a->surface.mu_across > 0 && b->surface.mu_across > 0)
        return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                         "shapes %d and %d both have anisotropic friction (mu_across): of two that "
                         "may touch, one at most may have it",
                         j, i);
    }
  return PERP_OK;
}

bool perp_model_collides(const perp_model *model)
{
  for (int shape = 0; shape < model->n_shapes; shape++)
    for (int j = 0; j < shape; j++) {
      const perp_shape_def *a = &model->shape_def[shape], *b = &model->shape_def[j];
      if (a->body != b->body && (a->group == 0 || a->group != b->group) &&
          !perp_model_no_contact(model, a->body, b->body))
        return true;
    }
  return false;
}

/* ---- shapes ---- */

static bool shapes_positive(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!(x[i] > 0) || !isfinite(x[i])) return false;
  return true;
}

/* Surfaces of triangles stay where they are; what they hold is checked here, where its place in a
 * file is known. */
static perp_status shapes_check_mesh(perp_ctx *ctx, const perp_model *model,
                                     const perp_shape_def *def, const char *who)
{
  const char *what = def->kind == PERP_SHAPE_MESH ? "mesh" : "height field";
  if (model->dim == 2)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%s: a %s needs space (dim = 3)", who, what);
  if (def->body != PERP_WORLD)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: a %s belongs to the world: got body %d; use convex shapes (polytope) for "
                     "a moving body, several for a concave one",
                     who, what, def->body);
  perp_mesh *mesh;
  if (def->kind == PERP_SHAPE_MESH)
    PERP_TRY(perp_mesh_create(ctx, def->vertices, def->n_vertices, def->triangles, def->n_triangles,
                              who, &mesh));
  else
    PERP_TRY(perp_mesh_field(ctx, def->heights, def->grid, def->spacing, def->depth, who, &mesh));
  free(mesh);
  return PERP_OK;
}

/* sizes that the kind reads */
static perp_status shapes_check_extent(perp_ctx *ctx, const perp_model *model,
                                       const perp_shape_def *def, const char *who)
{
  const int dim = model->dim;
  switch (def->kind) {
  case PERP_SHAPE_CYLINDER:
  case PERP_SHAPE_CONE:
    if (dim == 2)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "%s: a %s needs space (dim = 3): in the plane use its section, a %s", who,
                       def->kind == PERP_SHAPE_CONE ? "cone" : "cylinder",
                       def->kind == PERP_SHAPE_CONE ? "polytope of three vertices"
                                                    : "sphere (a disc) or a box");
    /* fall through */
  case PERP_SHAPE_SPHERE:
  case PERP_SHAPE_CAPSULE:
    if (!shapes_positive(1, &def->radius))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: radius must be positive: got %g m", who,
                       def->radius);
    if (def->kind != PERP_SHAPE_SPHERE && !shapes_positive(1, &def->length))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: length must be positive: got %g m", who,
                       def->length);
    return PERP_OK;
  case PERP_SHAPE_ELLIPSOID:
    if (dim == 2)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%s: an ellipsoid needs space (dim = 3)", who);
    /* fall through */
  case PERP_SHAPE_BOX:
    if (!shapes_positive(dim, def->half))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: half edges must be positive: got %g, %g, %g m", who,
                       def->half[0], def->half[1], def->half[2]);
    return PERP_OK;
  case PERP_SHAPE_POLYTOPE:
    if (def->n_vertices <= dim || def->vertices == NULL)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a polytope needs at least %d vertices: got %d", who,
                       dim + 1, def->n_vertices);
    if (!perp_finite(dim * def->n_vertices, def->vertices))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: a vertex is not finite", who);
    return PERP_OK;
  case PERP_SHAPE_MESH:
  case PERP_SHAPE_HEIGHT_FIELD:
    return shapes_check_mesh(ctx, model, def, who);
  case PERP_SHAPE_PLANE:
    return PERP_OK;
  }
  return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: unknown kind of shape: %d", who, (int)def->kind);
}

/* A copy of what has a size, NULL of nothing; *lost: there was no memory. */
static void *shapes_copied(const void *from, size_t size, bool *lost)
{
  void *to = size > 0 && !*lost ? malloc(size) : NULL;
  *lost = *lost || (size > 0 && to == NULL);
  if (to != NULL) memcpy(to, from, size);
  return to;
}

/* The arrays that the kind reads become the model's own, others are forgotten. */
static perp_status shapes_own(perp_ctx *ctx, const perp_model *model, perp_shape_def *def,
                              const char *who)
{
  const bool mesh = def->kind == PERP_SHAPE_MESH, field = def->kind == PERP_SHAPE_HEIGHT_FIELD;
  const size_t points = mesh || def->kind == PERP_SHAPE_POLYTOPE ? (size_t)def->n_vertices : 0;
  bool lost = false;
  def->vertices = shapes_copied(def->vertices, (size_t)model->dim * points * sizeof(double), &lost);
  def->triangles = shapes_copied(def->triangles,
                                 mesh ? 3 * (size_t)def->n_triangles * sizeof(int) : 0, &lost);
  def->heights = shapes_copied(
      def->heights, field ? (size_t)def->grid[0] * (size_t)def->grid[1] * sizeof(double) : 0,
      &lost);
  if (!lost) return PERP_OK;
  perp_shape_disown(def);
  return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory for its points", who);
}

perp_status perp_model_add_shape(perp_ctx *ctx, perp_model *model, const perp_shape_def *def,
                                 int *index)
{
  char buf[PERP_LABEL_MAX];
  PERP_TRY(perp_model_building(ctx, model));
  const char *who = perp_model_label(buf, "shape", model->n_shapes, def->name);
  PERP_TRY(perp_model_check_body(ctx, model, def->body, true, who));
  if (!perp_finite(3, def->x) || !perp_finite(4, def->quat) || !isfinite(def->angle))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: its pose is not finite", who);
  if (perp_model_is_particle(model, def->body))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: body %d is a particle, which has no extent: use a small body instead",
                     who, def->body);
  PERP_TRY(shapes_check_extent(ctx, model, def, who));
  perp_shape_def copy = *def;
  PERP_TRY(perp_surface_check(ctx, model->dim, &copy.surface, who));
  if (!perp_finite(3, def->belt))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the velocity of its surface is not finite", who);
  bool runs = false;
  for (int i = 0; i < 3; i++) {
    PERP_TRY(perp_model_check_signal(ctx, model, def->belt_signal[i], who));
    runs = runs || def->belt[i] != 0 || def->belt_signal[i] != 0;
  }
  if (perp_all_zero(4, copy.quat)) copy.quat[0] = 1;
  perp_quat_unit(copy.quat);
  PERP_TRY(shapes_own(ctx, model, &copy, who));
  perp_status status = perp_model_push(ctx, &model->shape_def, &model->n_shapes,
                                       &model->building.shapes, sizeof copy, &copy, &copy.name,
                                       index);
  if (status != PERP_OK) {
    perp_shape_disown(&copy);
    return status;
  }
  model->surfaces.belts = model->surfaces.belts || runs;
  model->surfaces.rolling = model->surfaces.rolling || copy.surface.rolling > 0;
  model->surfaces.couples = model->surfaces.couples || copy.surface.torsion > 0 ||
                            copy.surface.rolling > 0;
  model->surfaces.anisotropic = model->surfaces.anisotropic || copy.surface.mu_across > 0;
  return PERP_OK;
}
