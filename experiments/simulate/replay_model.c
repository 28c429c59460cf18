/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a recording says of the model itself. */
#include "experiments/simulate/replay_model.h"

#include <math.h>
#include <stddef.h>

enum { CURVE_POINTS = 97 };
/* a curve without ends is drawn this far to both sides of where its point starts */
static const double endless = 20;

static void replay_reals(perp_json *json, const char *key, const double *v, int n)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < n; i++) {
    char text[32];
    snprintf(text, sizeof text, "%.7g", v[i]);
    perp_json_raw(json, NULL, isfinite(v[i]) ? text : "null");
  }
  perp_json_close(json, ']');
}

static void replay_bodies(perp_json *json, const perp_model *model)
{
  perp_json_open(json, "bodies", '[');
  for (int body = 0; body < perp_model_bodies(model); body++) {
    const perp_body_def *def = perp_model_body(model, body);
    /* I_x = m (b^2 + c^2) / 12 and so on, for the edges a, b, c */
    const double *I = def->mass.inertia, sum = I[0] + I[4] + I[8];
    double half[3];
    for (int k = 0; k < 3; k++)
      half[k] = sqrt(fmax(0, 1.5 * (sum - 2 * I[4 * k]) / def->mass.mass));
    if (perp_model_dim(model) == 2) half[0] = half[1] = sqrt(1.5 * I[8] / def->mass.mass);
    perp_json_open(json, NULL, '{');
    perp_json_text(json, "name", def->name);
    perp_json_real(json, "mass", def->mass.mass);
    perp_json_bool(json, "particle", def->particle);
    replay_reals(json, "half", half, 3);
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
}

static void replay_shapes(perp_json *json, const perp_model *model)
{
  static const char *const kinds[] = { "sphere",    "capsule",  "box",  "polytope", "plane",
                                       "ellipsoid", "cylinder", "cone", "mesh",     "field" };
  const int dim = perp_model_dim(model);
  perp_json_open(json, "shapes", '[');
  for (int shape = 0; shape < perp_model_shapes(model); shape++) {
    const perp_shape_def *def = perp_model_shape(model, shape);
    perp_json_open(json, NULL, '{');
    perp_json_members(json, "body %d, kind %s", def->body, kinds[def->kind]);
    replay_reals(json, "x", def->x, 3);
    if (dim == 3)
      replay_reals(json, "turn", def->quat, 4);
    else
      replay_reals(json, "turn", &def->angle, 1);
    replay_reals(json, "radius", &def->radius, 1);
    replay_reals(json, "length", &def->length, 1);
    replay_reals(json, "half", def->half, 3);
    if (def->vertices != NULL) replay_reals(json, "vertices", def->vertices, dim * def->n_vertices);
    if (def->triangles != NULL)
      perp_json_ints(json, "triangles", def->triangles, 3 * def->n_triangles);
    if (def->heights != NULL) {
      replay_reals(json, "heights", def->heights, def->grid[0] * def->grid[1]);
      perp_json_ints(json, "grid", def->grid, 2);
      replay_reals(json, "spacing", def->spacing, 2);
    }
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
}

/* A curve as points in the frame of body a, within its ends. */
static void replay_curve(perp_json *json, const perp_model *model, int joint)
{
  const perp_curve_def *def = &perp_model_joint(model, joint)->curve;
  double point[3 * CURVE_POINTS], tangent[3], lower = def->lower, upper = def->upper;
  if (lower == 0 && upper == 0) {
    const double start = perp_model_curve_place(model, perp_model_q0(model), joint);
    lower = def->kind == PERP_CURVE_CIRCLE    ? 0
            : def->kind == PERP_CURVE_CYCLOID ? -M_PI
            : def->kind == PERP_CURVE_SPLINE  ? 0
                                              : start - endless;
    upper = def->kind == PERP_CURVE_CIRCLE    ? 2 * M_PI
            : def->kind == PERP_CURVE_CYCLOID ? M_PI
            : def->kind == PERP_CURVE_SPLINE  ? (def->closed ? def->n : def->n - 1)
                                              : start + endless;
  }
  for (int i = 0; i < CURVE_POINTS; i++) {
    const double s = lower + (upper - lower) * i / (CURVE_POINTS - 1);
    perp_model_curve_point(model, joint, s, &point[3 * (ptrdiff_t)i], tangent);
    if (perp_model_dim(model) == 2) point[3 * i + 2] = 0;
  }
  replay_reals(json, "curve", point, 3 * CURVE_POINTS);
}

static void replay_joints(perp_json *json, const perp_model *model)
{
  perp_json_open(json, "joints", '[');
  for (int joint = 0; joint < perp_model_joints(model); joint++) {
    const perp_joint_def *def = perp_model_joint(model, joint);
    perp_json_open(json, NULL, '{');
    const bool turned = def->kind == PERP_JOINT_PLUGIN && def->a < 0; /* no anchor in the world */
    perp_json_members(json, "kind %s, a %d, b %d", perp_joint_name(def), turned ? def->b : def->a,
                      turned ? def->a : def->b);
    replay_reals(json, "at_a", def->anchor_a, 3);
    replay_reals(json, "at_b", def->anchor_b, 3);
    replay_reals(json, "axis", def->axis_a, 3);
    if (def->kind == PERP_JOINT_CURVE) replay_curve(json, model, joint);
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
}

static void replay_springs(perp_json *json, const perp_model *model)
{
  perp_json_open(json, "springs", '[');
  for (int element = 0; element < perp_model_force_elements(model); element++) {
    const perp_force_def *def = perp_model_force_element(model, element);
    if (def->kind != PERP_FORCE_SPRING) continue;
    perp_json_open(json, NULL, '{');
    perp_json_members(json, "a %d, b %d", def->a, def->b);
    replay_reals(json, "at_a", def->anchor_a, 3);
    replay_reals(json, "at_b", def->anchor_b, 3);
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
}

void perp_replay_model(perp_json *json, const perp_model *model)
{
  perp_json_members(json, "schema %s, dim %d, gravity %g", PERP_REPLAY_SCHEMA,
                    perp_model_dim(model), perp_model_gravity_of(model));
  replay_bodies(json, model);
  replay_shapes(json, model);
  replay_joints(json, model);
  replay_springs(json, model);
}
