/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes and materials of a scene file, and the mass of solids. */
#include "experiments/scenes/parts.h"

#include <math.h>
#include <string.h>

const char *const perp_scene_shape_kinds[] = { "sphere", "capsule",      "box",      "polytope",
                                               "plane",  "ellipsoid",    "cylinder", "cone",
                                               "mesh",   "height-field", NULL };
const char *const perp_scene_friction_rules[] = { "geometric", "maximum", "minimum", "mean", NULL };

const perp_key perp_scene_surface_keys[] = {
  PERP_KEY_REAL(perp_surface, mu, "mu", ""),
  PERP_KEY_REAL(perp_surface, mu_dynamic, "mu_dynamic", ""),
  PERP_KEY_REAL(perp_surface, mu_across, "mu_across", ""),
  PERP_KEY_REALS(perp_surface, along, "along", "", 3),
  PERP_KEY_REAL(perp_surface, restitution, "restitution", ""),
  PERP_KEY_REAL(perp_surface, torsion, "torsion", "m"),
  PERP_KEY_REAL(perp_surface, rolling, "rolling", "m"),
  PERP_KEYS_END
};

const perp_key perp_scene_shape_keys[] = {
  PERP_KEY_OF(perp_shape_def, name, "name", PERP_KEY_TEXT),
  PERP_KEY_ONE_OF(perp_shape_def, kind, "kind", perp_scene_shape_kinds),
  PERP_KEY_OF(perp_shape_def, body, "body", PERP_KEY_BODY),
  PERP_KEY_REALS(perp_shape_def, x, "x", "m", 3),
  PERP_KEY_REALS(perp_shape_def, quat, "quat", "", 4),
  PERP_KEY_REAL(perp_shape_def, angle, "angle", "rad"),
  PERP_KEY_SPECIAL("turn"),
  PERP_KEY_REAL(perp_shape_def, radius, "radius", "m"),
  PERP_KEY_REAL(perp_shape_def, length, "length", "m"),
  PERP_KEY_REALS(perp_shape_def, half, "half", "m", 3),
  PERP_KEY_SPECIAL("size"),
  PERP_KEY_SPECIAL("vertices"),
  PERP_KEY_SPECIAL("triangles"),
  PERP_KEY_SPECIAL("heights"),
  PERP_KEY_SPECIAL("file"),
  PERP_KEY_SPECIAL("grid"),
  PERP_KEY_REALS(perp_shape_def, spacing, "spacing", "m", 2),
  PERP_KEY_REAL(perp_shape_def, depth, "depth", "m"),
  PERP_KEY_SPECIAL("material"),
  PERP_KEY_REAL(perp_shape_def, surface.mu, "mu", ""),
  PERP_KEY_REAL(perp_shape_def, surface.mu_dynamic, "mu_dynamic", ""),
  PERP_KEY_REAL(perp_shape_def, surface.mu_across, "mu_across", ""),
  PERP_KEY_REALS(perp_shape_def, surface.along, "along", "", 3),
  PERP_KEY_REAL(perp_shape_def, surface.restitution, "restitution", ""),
  PERP_KEY_REAL(perp_shape_def, surface.torsion, "torsion", "m"),
  PERP_KEY_REAL(perp_shape_def, surface.rolling, "rolling", "m"),
  PERP_KEY_DRIVEN(perp_shape_def, belt, belt_signal, "belt", "m/s", 3),
  PERP_KEY_OF(perp_shape_def, group, "group", PERP_KEY_WHOLE),
  PERP_KEY_OF(perp_shape_def, collide_joined, "collide_joined", PERP_KEY_BOOL),
  PERP_KEYS_ENTRY,
  PERP_KEYS_END
};

/* The number of a material in the section, from 1 on; 0: it is not there, which is an error where a
 * node names it. */
static int shapes_named(perp_scene_reader *reader, const perp_node *node, const char *name)
{
  enum { SHOWN = 64 };
  const perp_node *m = reader->materials;
  const char *names[SHOWN];
  int n = 0;
  for (int i = 0; m != NULL && m->type == PERP_NODE_MAP && i < m->n; i++) {
    if (strcmp(m->key[i]->text, name) == 0) return i + 1;
    if (n < SHOWN) names[n++] = m->key[i]->text;
  }
  if (node != NULL) perp_scene_unknown(reader->diag, node, "material", name, names, n);
  return 0;
}

/* The surface of a material; `default` where none is named and there is one. */
static bool shapes_material(perp_scene_reader *reader, const perp_node *node, perp_surface *surface)
{
  *surface = (perp_surface){ .mu_dynamic = (double)NAN };
  const char *name = node != NULL ? perp_values_text(&reader->values, node) : "default";
  if (name == NULL) return false;
  surface->material = shapes_named(reader, node, name);
  if (surface->material == 0) return node == NULL;
  return perp_keys_read(reader, reader->materials->item[surface->material - 1], "a material",
                        perp_scene_surface_keys, surface);
}

static bool shapes_turn(perp_scene_reader *reader, const perp_node *node, perp_shape_def *def)
{
  const perp_node *turn = perp_tree_get(node, "turn"), *quat = perp_tree_get(node, "quat"),
                  *angle = perp_tree_get(node, "angle");
  if (reader->section && quat != NULL) {
    perp_diag_error(reader->diag, quat, 0, "turn: { axis: [0, 1, 0], angle: ... }",
                    "quat is not allowed in a section (dim: 2)");
    return false;
  }
  if (turn == NULL) return true;
  if (quat != NULL || angle != NULL) {
    perp_diag_error(reader->diag, turn, 0, "remove one of the two",
                    "the orientation of this shape is defined twice (first in line %d)",
                    (quat != NULL ? quat : angle)->line + 1);
    return false;
  }
  if (reader->dim == 2 && !reader->section) {
    perp_diag_error(reader->diag, turn, 0, "in the plane, write angle",
                    "turn is not allowed with dim: 2");
    return false;
  }
  return perp_scene_read_turn(reader, turn, def->quat, &def->angle);
}

/* What keys of the same length in two forms say, and the kind that is read here. */
static bool shapes_size(perp_scene_reader *reader, const perp_node *node, perp_shape_def *def)
{
  const perp_node *size = perp_tree_get(node, "size"), *vertices = perp_tree_get(node, "vertices");
  double edge[3] = { 0 }, *points = NULL;
  if (perp_tree_get(node, "kind") == NULL) {
    perp_diag_error(reader->diag, node, 0,
                    "kind: box, sphere, capsule, cylinder, cone, ellipsoid, polytope, plane, mesh "
                    "or height-field",
                    "'kind' is missing here");
    return false;
  }
  if (size != NULL && perp_tree_get(node, "half") != NULL) {
    PERP_SCENE_WRONG(
        reader, size,
        "size (full edges) and half (half of them) define the same quantity: remove one");
    return false;
  }
  if (size != NULL) {
    if (!perp_keys_spatial(reader, size, "m", edge)) return false;
    for (int i = 0; i < 3; i++) def->half[i] = edge[i] / 2;
  }
  if (vertices != NULL) {
    if (!perp_keys_points(reader, vertices, reader->dim, &points, &def->n_vertices)) return false;
    def->vertices = points;
  }
  return true;
}

bool perp_scene_read_shape(perp_scene_reader *reader, const perp_node *node, perp_shape_def *def)
{
  return shapes_material(reader, perp_tree_get(node, "material"), &def->surface) &&
         perp_keys_read(reader, node, "a shape", perp_scene_shape_keys, def) &&
         shapes_size(reader, node, def) && perp_scene_read_surface(reader, node, def) &&
         shapes_turn(reader, node, def);
}

/* ---- the section ---- */

static bool shapes_add(perp_scene_reader *reader, const perp_shape_def *def, const perp_node *at)
{
  reader->shape_at = perp_pool_grown(reader->pool, reader->shape_at, reader->n_shapes,
                                     sizeof *reader->shape_at);
  reader->shape_at[reader->n_shapes++] = at;
  if (perp_model_add_shape(reader->ctx, reader->scene->model, def, NULL) == PERP_OK) return true;
  perp_scene_refused(reader, at);
  return false;
}

static void shapes_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  (void)user;
  perp_shape_def def = { .body = PERP_WORLD };
  if (perp_tree_get(entry, "body") == NULL) {
    perp_diag_error(reader->diag, entry, 0, "body: world, or the name of a body",
                    "'body' is missing here");
    return;
  }
  if (perp_scene_read_shape(reader, entry, &def)) shapes_add(reader, &def, entry);
}

void perp_scene_add_shapes(perp_scene_reader *reader, perp_model *model)
{
  (void)model;
  perp_entries(reader, perp_tree_get(reader->root, "shapes"), "shapes", shapes_entry, NULL);
  for (int body = 0; body < reader->bodies.n && reader->diag->errors == 0; body++)
    for (int shape = 0; shape < reader->body[body].n_shapes; shape++) {
      perp_shape_def *def = &reader->body[body].shape[shape];
      def->body = body;
      if (def->name == NULL) def->name = reader->body[body].def.name;
      if (!shapes_add(reader, def, reader->body[body].shape_at[shape])) return;
    }
}

static const perp_key pair_keys[] = { PERP_KEY_SPECIAL("a"),
                                      PERP_KEY_SPECIAL("b"),
                                      PERP_KEY_REAL(perp_surface, mu, "mu", ""),
                                      PERP_KEY_REAL(perp_surface, mu_dynamic, "mu_dynamic", ""),
                                      PERP_KEY_REAL(perp_surface, mu_across, "mu_across", ""),
                                      PERP_KEY_REAL(perp_surface, restitution, "restitution", ""),
                                      PERP_KEY_REAL(perp_surface, torsion, "torsion", "m"),
                                      PERP_KEY_REAL(perp_surface, rolling, "rolling", "m"),
                                      PERP_KEYS_ENTRY,
                                      PERP_KEYS_END };

static void shapes_pair(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  static const char *const keys[] = { "a", "b" };
  perp_model *model = user;
  perp_surface surface = { .mu = NAN,
                           .mu_dynamic = NAN,
                           .mu_across = NAN,
                           .restitution = NAN,
                           .torsion = NAN,
                           .rolling = NAN };
  int of[2];
  if (!perp_keys_read(reader, entry, "a pair", pair_keys, &surface)) return;
  for (int i = 0; i < 2; i++) {
    const perp_node *node = perp_tree_get(entry, keys[i]);
    if (node == NULL) {
      perp_diag_error(reader->diag, entry, 0, "a and b are materials of the section `materials`",
                      "'%s' is missing here", keys[i]);
      return;
    }
    const char *name = perp_values_text(&reader->values, node);
    if (name == NULL || (of[i] = shapes_named(reader, node, name)) == 0) return;
  }
  if (perp_model_add_pair(reader->ctx, model, of[0], of[1], &surface) != PERP_OK)
    perp_scene_refused(reader, entry);
}

void perp_scene_add_pairs(perp_scene_reader *reader, perp_model *model)
{
  perp_entries(reader, perp_tree_get(reader->root, "pairs"), "pairs", shapes_pair, model);
}

/* ---- solids ---- */

/* A polygon of the plane, 1 m deep, moved to its centre of mass. */
static bool shapes_polygon(perp_scene_reader *reader, const perp_node *at,
                           const perp_shape_def *def, double mass, double density, perp_mass *out)
{
  double area = 0, centroid[2], polar, *v = (double *)(uintptr_t)def->vertices;
  if (def->n_vertices >= 3) perp_polygon_moments(def->n_vertices, v, &area, centroid, &polar);
  if (!(area > 0)) {
    PERP_SCENE_WRONG(reader, at, "a polygon needs at least three vertices, counter-clockwise");
    return false;
  }
  for (int vertex = 0; vertex < 2 * def->n_vertices; vertex++) v[vertex] -= centroid[vertex % 2];
  const double m = mass > 0 ? mass : density * area, I = m * polar / area;
  *out = (perp_mass){ m, { I, 0, 0, 0, I, 0, 0, 0, I } };
  return true;
}

static bool shapes_polytope(perp_scene_reader *reader, const perp_node *at,
                            const perp_node *triangles, const perp_shape_def *def, double mass,
                            double density, perp_mass *out)
{
  double centroid[3], *v = (double *)(uintptr_t)def->vertices;
  const double rho = mass > 0 ? 1 : density;
  perp_status status;
  if (def->n_vertices < 4) {
    PERP_SCENE_WRONG(reader, at, "a polytope needs at least four vertices");
    return false;
  }
  if (triangles != NULL) {
    int n;
    const int *t = perp_scene_triangles(reader, triangles, def->n_vertices, &n);
    if (t == NULL) return false;
    status = perp_mass_polytope(reader->ctx, rho, v, def->n_vertices, t, n, out, centroid);
  } else
    status = perp_mass_hull(reader->ctx, rho, v, def->n_vertices, out, centroid);
  if (status != PERP_OK) {
    perp_scene_refused(reader, at);
    return false;
  }
  const double scale = mass > 0 ? mass / out->mass : 1;
  for (int i = 0; i < 9; i++) out->inertia[i] *= scale;
  if (mass > 0) out->mass = mass;
  for (int vertex = 0; vertex < 3 * def->n_vertices; vertex++) v[vertex] -= centroid[vertex % 3];
  return true;
}

/* Second moment over the area of a stadium: a rectangle between two half discs. */
static double shapes_stadium(double r, double L, double *area)
{
  const double rectangle = 2 * r * L, disc = M_PI * r * r;
  *area = rectangle + disc;
  return (rectangle * (L * L + 4 * r * r) / 12 +
          disc * (r * r / 2 + L * L / 4 + 4 * r * L / (3 * M_PI))) /
         *area;
}

/* about z -> about x */
static void shapes_lie_down(perp_mass *mass)
{
  const double along = mass->inertia[8];
  mass->inertia[8] = mass->inertia[0];
  mass->inertia[0] = along;
}

/* The solid with mass m, and its volume (in the plane its area); false: it has none.  lies: a
 * cylinder along x, as the shape is, not along z. */
static bool shapes_of_form(int dim, const perp_shape_def *def, bool lies, double m, perp_mass *mass,
                           double *volume)
{
  const double *h = def->half, R = def->radius, L = def->length;
  switch (def->kind) {
  case PERP_SHAPE_BOX:
    *volume = 4 * h[0] * h[1] * (dim == 3 ? 2 * h[2] : 1);
    *mass = perp_mass_box(m, 2 * h[0], 2 * h[1], 2 * h[2]);
    return true;
  case PERP_SHAPE_SPHERE:
    *volume = dim == 3 ? 4 * M_PI / 3 * R * R * R : M_PI * R * R;
    *mass = dim == 3 ? perp_mass_sphere(m, R) : perp_mass_cylinder(m, R, R);
    return true;
  case PERP_SHAPE_CYLINDER:
    *volume = M_PI * R * R * (dim == 3 ? L : 1);
    *mass = perp_mass_cylinder(m, R, L);
    if (lies) shapes_lie_down(mass);
    return true;
  case PERP_SHAPE_CONE: { /* about its centre of mass, a quarter of its height above the base */
    const double across = m * (0.15 * R * R + 0.0375 * L * L);
    if (dim == 2) return false;
    *volume = M_PI / 3 * R * R * L;
    *mass = (perp_mass){ m, { 0.3 * m * R * R, 0, 0, 0, across, 0, 0, 0, across } };
    return true;
  }
  case PERP_SHAPE_CAPSULE: {
    *volume = M_PI * R * R * (L + 4 * R / 3);
    *mass = perp_mass_capsule(m, R, L);
    const double along = mass->inertia[8]; /* there z, of the shape x */
    mass->inertia[8] = dim == 3 ? mass->inertia[0] : m * shapes_stadium(R, L, volume);
    mass->inertia[0] = along;
    return true;
  }
  case PERP_SHAPE_ELLIPSOID:
    *volume = 4 * M_PI / 3 * h[0] * h[1] * h[2];
    *mass = (perp_mass){ m, { 0 } };
    for (int i = 0; i < 3; i++) {
      const double a = h[(i + 1) % 3], b = h[(i + 2) % 3];
      mass->inertia[4 * i] = m * (a * a + b * b) / 5;
    }
    return true;
  default:
    return false;
  }
}

bool perp_scene_solid(perp_scene_reader *reader, const perp_node *at, bool solid,
                      const perp_shape_def *shape, double mass, double density, perp_mass *out)
{
  perp_shape_def own = { 0 };
  if (solid && (!perp_keys_read(reader, at, "solid", perp_scene_shape_keys, &own) ||
                !shapes_size(reader, at, &own)))
    return false;
  const perp_shape_def *def = solid ? &own : shape;
  const double least = fmin(fmin(def->radius, def->length),
                            fmin(def->half[0], fmin(def->half[1], def->half[2])));
  if (least < 0) {
    PERP_SCENE_WRONG(reader, at, "a solid cannot have a negative size: got %g m", least);
    return false;
  }
  if (def->x[0] != 0 || def->x[1] != 0 || def->x[2] != 0 || def->angle != 0 || def->quat[1] != 0 ||
      def->quat[2] != 0 || def->quat[3] != 0) {
    perp_diag_error(reader->diag, at, 0,
                    "leave out x, quat and angle of the shape, or write inertia",
                    "the mass properties follow only from a shape at the centre of mass");
    return false;
  }
  if (def->kind == PERP_SHAPE_POLYTOPE)
    return reader->dim == 2 ? shapes_polygon(reader, at, def, mass, density, out)
                            : shapes_polytope(reader, at, perp_tree_get(at, "triangles"), def, mass,
                                              density, out);
  double volume = 0;
  if (!shapes_of_form(reader->dim, def, !solid, mass > 0 ? mass : 1, out, &volume)) {
    PERP_SCENE_WRONG(reader, at, "a %s has no mass properties%s: write inertia, or solid",
                     perp_scene_shape_kinds[def->kind],
                     def->kind == PERP_SHAPE_CONE ? " in the plane" : "");
    return false;
  }
  if (mass > 0) return true;
  out->mass = density * volume;
  for (int i = 0; i < 9; i++) out->inertia[i] *= out->mass;
  return true;
}
