/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies of a scene file: mass properties, given or of a shape, and the initial state. */
#include "experiments/scenes/parts.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

/* ---- bodies ---- */

/* Of a mass or a density: 1 / m is finite. */
static const double bodies_least = 1e-100;

/* These may stand with the body or in `initial`. */
#define BODIES_STATE                                                                               \
  PERP_KEY_REALS(perp_scene_body, def.x, "x", "m", 3),                                             \
      PERP_KEY_REALS(perp_scene_body, def.quat, "quat", "", 4),                                    \
      PERP_KEY_REAL(perp_scene_body, def.angle, "angle", "rad"), PERP_KEY_SPECIAL("turn"),         \
      PERP_KEY_REALS(perp_scene_body, def.v, "v", "m/s", 3), PERP_KEY_SPECIAL("w")

static const perp_key bodies_keys[] = {
  PERP_KEY_OF(perp_scene_body, def.name, "name", PERP_KEY_TEXT),
  PERP_KEY_REAL(perp_scene_body, def.mass.mass, "mass", "kg"),
  PERP_KEY_SPECIAL("inertia"),
  PERP_KEY_REAL(perp_scene_body, density, "density", "kg/m^3"),
  PERP_KEY_SPECIAL("solid"),
  PERP_KEY_SPECIAL("shape"),
  BODIES_STATE,
  PERP_KEY_OF(perp_scene_body, def.particle, "particle", PERP_KEY_BOOL),
  PERP_KEYS_ENTRY,
  PERP_KEYS_END
};

/* What belongs together: said twice is a contradiction. */
static const struct state {
  const char *key;
  int part;
  bool plane, space; /* where it has a meaning */
} states[] = { { "x", 0, true, true },     { "quat", 1, false, true }, { "angle", 1, true, false },
               { "turn", 1, false, true }, { "v", 2, true, true },     { "w", 3, true, true } };
static const char *const state_names[] = { "place", "orientation", "velocity", "angular velocity" };

static bool bodies_state(perp_scene_reader *reader, const perp_node *entry, perp_scene_body *body)
{
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    const perp_node *node = perp_tree_get(entry, states[i].key);
    const struct state *state = &states[i];
    if (node == NULL) continue;
    const bool turn = strcmp(state->key, "turn") == 0;
    if (reader->dim == 2 ? !state->plane && !(turn && reader->section) : !state->space) {
      perp_diag_error(reader->diag, node, 0,
                      reader->section    ? "in a section, write turn: { axis: [0, 1, 0], angle }"
                      : reader->dim == 2 ? "in the plane, write angle"
                                         : "in space, write quat, or turn: { axis, angle }",
                      "%s is not allowed with dim: %d", state->key, reader->dim);
      return false;
    }
    if (body->set[state->part] != NULL) {
      perp_diag_error(reader->diag, node, 0, "remove one of the two",
                      "the %s of this body is defined twice (first in line %d)",
                      state_names[state->part], body->set[state->part]->line + 1);
      return false;
    }
    body->set[state->part] = node;
    if (turn && !perp_scene_read_turn(reader, node, body->def.quat, &body->def.angle)) return false;
    if (strcmp(state->key, "w") == 0 && !perp_scene_read_rate(reader, node, body->def.w))
      return false;
  }
  return true;
}

/* A number (the plane), three principal moments, or nine numbers. */
static bool bodies_inertia(perp_scene_reader *reader, const perp_node *node, double I[9])
{
  double x[9];
  if (reader->dim == 2 && node->type == PERP_NODE_SCALAR) {
    if (!perp_values_number(&reader->values, node, "kg m^2", &x[0])) return false;
    I[0] = I[4] = I[8] = x[0];
    return true;
  }
  if (node->type == PERP_NODE_LIST && node->n == 9) {
    if (!perp_keys_vector(reader, node, "kg m^2", 9, 0, I)) return false;
    if (reader->section) I[8] = I[0] = I[4];
    return true;
  }
  if (!perp_keys_vector(reader, node, "kg m^2", 3, 0, x)) return false;
  for (int i = 0; i < 3; i++) I[4 * i] = reader->section ? x[1] : x[i];
  return true;
}

static bool bodies_mass(perp_scene_reader *reader, const perp_node *entry, perp_scene_body *body)
{
  const perp_node *inertia = perp_tree_get(entry, "inertia"),
                  *solid = perp_tree_get(entry, "solid");
  const bool mass = perp_tree_get(entry, "mass") != NULL,
             density = perp_tree_get(entry, "density") != NULL;
  if (!mass && !density) {
    perp_diag_error(reader->diag, entry, 0, "write mass, or density with a shape",
                    "a body needs the key 'mass' or 'density'");
    return false;
  }
  const double given = mass ? body->def.mass.mass : body->density;
  if (!(given >= bodies_least) || isinf(given)) {
    PERP_SCENE_WRONG(reader, perp_tree_get(entry, mass ? "mass" : "density"),
                     given > 0 ? "%s must be in [1e-100, 1e100]: got %g"
                               : "%s must be positive: got %g",
                     mass ? "mass" : "density", given);
    return false;
  }
  if (mass && density) {
    PERP_SCENE_WRONG(reader, perp_tree_get(entry, "density"),
                     "a body needs either the key 'mass' or 'density', not both");
    return false;
  }
  if (inertia != NULL) {
    if (solid != NULL || density) {
      PERP_SCENE_WRONG(reader, inertia, "the inertia is defined twice: it also follows from %s",
                       solid != NULL ? "solid" : "density");
      return false;
    }
    return bodies_inertia(reader, inertia, body->def.mass.inertia);
  }
  if (body->def.particle && mass) return true;
  if (solid == NULL && body->n_shapes != 1) {
    perp_diag_error(reader->diag, entry, 0,
                    "write inertia, or solid: { kind: box, size: [...] }, or one shape",
                    "the inertia of this body is not known");
    return false;
  }
  return perp_scene_solid(reader, solid != NULL ? solid : body->shape_at[0], solid != NULL,
                          body->shape, mass ? body->def.mass.mass : 0, body->density,
                          &body->def.mass);
}

static void bodies_shape(perp_scene_reader *reader, const perp_node *node, void *user)
{
  perp_scene_body *body = user;
  perp_shape_def def = { 0 };
  if (!perp_scene_read_shape(reader, node, &def)) return;
  body->shape = perp_pool_grown(reader->pool, body->shape, body->n_shapes, sizeof *body->shape);
  body->shape_at = perp_pool_grown(reader->pool, body->shape_at, body->n_shapes,
                                   sizeof *body->shape_at);
  body->shape[body->n_shapes] = def;
  body->shape_at[body->n_shapes++] = node;
}

static void bodies_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  (void)user;
  perp_scene_body body = { .at = entry };
  const int errors = reader->diag->errors;
  if (!perp_keys_read(reader, entry, "bodies", bodies_keys, &body)) return;
  const perp_node *shape = perp_tree_get(entry, "shape");
  if (shape != NULL && shape->type == PERP_NODE_LIST)
    perp_entries(reader, shape, "shape", bodies_shape, &body);
  else if (shape != NULL && shape->type == PERP_NODE_MAP)
    perp_entry(reader, shape, bodies_shape, &body);
  else if (shape != NULL)
    PERP_SCENE_WRONG(reader, shape, "a shape is a map of key: value");
  if (reader->diag->errors > errors || !bodies_state(reader, entry, &body) ||
      !bodies_mass(reader, entry, &body))
    return;
  const int i = perp_named_add(reader, &reader->bodies, "body", body.def.name, entry);
  if (i < 0) return;
  reader->body = perp_pool_grown(reader->pool, reader->body, i, sizeof *reader->body);
  reader->body[i] = body;
}

/* ---- initial ---- */

static const perp_key initial_keys[] = { PERP_KEY_SPECIAL("body"), BODIES_STATE, PERP_KEYS_ENTRY,
                                         PERP_KEYS_END };

static void initial_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  (void)user;
  const perp_node *who = perp_tree_get(entry, "body");
  if (who == NULL) {
    PERP_SCENE_WRONG(reader, entry, "'body' is missing here");
    return;
  }
  const int body = perp_named_find(reader, &reader->bodies, "body", false, who);
  if (body < 0 || !bodies_state(reader, entry, &reader->body[body])) return;
  perp_keys_read(reader, entry, "initial", initial_keys, &reader->body[body]);
}

void perp_scene_read_bodies(perp_scene_reader *reader)
{
  perp_entries(reader, perp_tree_get(reader->root, "bodies"), "bodies", bodies_entry, NULL);
  perp_entries(reader, perp_tree_get(reader->root, "initial"), "initial", initial_entry, NULL);
  if (reader->bodies.n == 0 && reader->diag->errors == 0)
    PERP_SCENE_WRONG(reader, reader->root,
                     "the scene has no bodies with these parameters: it needs at least one");
}

void perp_scene_add_bodies(perp_scene_reader *reader, perp_model *model)
{
  for (int body = 0; body < reader->bodies.n; body++)
    if (perp_model_add_body(reader->ctx, model, &reader->body[body].def, NULL) != PERP_OK) {
      perp_scene_refused(reader, reader->body[body].at);
      return;
    }
}

void perp_scene_local(const perp_scene_reader *reader, int body, bool place, const double p[3],
                      double s[3])
{
  memcpy(s, p, 3 * sizeof *s);
  if (body == PERP_WORLD) return;
  const perp_body_def *def = reader->posed ? &reader->body[body].before
                                           : perp_model_body(reader->scene->model, body);
  double q[7] = { 0 }, d[3] = { 0 };
  perp_pose pose;
  memcpy(q, def->x, (size_t)reader->dim * sizeof *q);
  if (reader->dim == 3)
    memcpy(q + 3, def->quat, sizeof def->quat);
  else
    q[2] = def->angle;
  for (int i = 0; i < reader->dim; i++) d[i] = p[i] - (place ? def->x[i] : 0);
  perp_pose_of(reader->dim, q, &pose);
  s[2] = 0;
  perp_turn_back(reader->dim, pose.R, d, s);
}
