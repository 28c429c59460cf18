/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a model has that an engine has not: told before anything is built. */
#include "models/engines/engine.h"

#include "models/geometry/kinematics.h"

static const char *const serves_shapes[] = {
  [PERP_SHAPE_SPHERE] = "spheres",
  [PERP_SHAPE_CAPSULE] = "capsules",
  [PERP_SHAPE_BOX] = "boxes",
  [PERP_SHAPE_POLYTOPE] = "convex polytopes",
  [PERP_SHAPE_PLANE] = "half-spaces",
  [PERP_SHAPE_ELLIPSOID] = "ellipsoids",
  [PERP_SHAPE_CYLINDER] = "cylinders",
  [PERP_SHAPE_CONE] = "cones",
  [PERP_SHAPE_MESH] = "triangle meshes",
  [PERP_SHAPE_HEIGHT_FIELD] = "height fields",
};

/* Has any pair of materials or surface two coefficients of friction? */
static bool serves_two_frictions(const perp_model *model)
{
  bool two = false;
  for (int shape = 0; shape < perp_model_shapes(model); shape++) {
    const perp_surface *surface = &perp_model_shape(model, shape)->surface;
    two |= !isnan(surface->mu_dynamic) && surface->mu_dynamic != surface->mu;
  }
  int a, b;
  const perp_surface *pair;
  for (int i = 0; (pair = perp_model_pair(model, i, &a, &b)) != NULL; i++)
    two |= !isnan(pair->mu_dynamic) && pair->mu_dynamic != pair->mu;
  return two;
}

static bool serves_pairs(const perp_model *model)
{
  int a, b;
  return perp_model_pair(model, 0, &a, &b) != NULL ||
         perp_model_friction_of(model) != PERP_FRICTION_GEOMETRIC;
}

static bool serves_anisotropy(const perp_model *model)
{
  bool any = false;
  for (int shape = 0; shape < perp_model_shapes(model); shape++)
    any |= perp_model_shape(model, shape)->surface.mu_across > 0;
  return any;
}

/* Torsional or rolling friction? */
static bool serves_couples(const perp_model *model)
{
  bool any = false;
  for (int shape = 0; shape < perp_model_shapes(model); shape++) {
    const perp_surface *surface = &perp_model_shape(model, shape)->surface;
    any |= surface->torsion > 0 || surface->rolling > 0;
  }
  int a, b;
  const perp_surface *pair;
  for (int i = 0; (pair = perp_model_pair(model, i, &a, &b)) != NULL; i++)
    any |= pair->torsion > 0 || pair->rolling > 0;
  return any;
}

static bool serves_rebounds(const perp_model *model)
{
  bool any = false;
  for (int shape = 0; shape < perp_model_shapes(model); shape++)
    any |= perp_model_shape(model, shape)->surface.restitution > 0;
  int a, b;
  const perp_surface *pair;
  for (int i = 0; (pair = perp_model_pair(model, i, &a, &b)) != NULL; i++)
    any |= pair->restitution > 0;
  return any;
}

/* A body with two shapes, or one that is not where its centre of mass is. */
static bool serves_compound(const perp_model *model)
{
  for (int shape = 0; shape < perp_model_shapes(model); shape++) {
    const perp_shape_def *def = perp_model_shape(model, shape);
    if (def->body < 0) continue;
    const bool turned = def->angle != 0 || perp_dot(3, def->quat + 1, def->quat + 1) > 0;
    if (turned || perp_dot(3, def->x, def->x) > 0) return true;
    for (int k = 0; k < shape; k++)
      if (perp_model_shape(model, k)->body == def->body) return true;
  }
  return false;
}

/* Forces beside those that are constant and act at a centre of mass? */
static bool serves_other_forces(const perp_model *model)
{
  bool other = false;
  for (int element = 0; element < perp_model_force_elements(model); element++) {
    const perp_force_def *def = perp_model_force_element(model, element);
    bool constant = def->kind == PERP_FORCE_POINT && def->a >= 0 &&
                    perp_dot(3, def->anchor_a, def->anchor_a) == 0;
    for (int k = 0; k < 3; k++) constant &= def->value_signal[k] == 0;
    other |= !constant;
  }
  return other;
}

static bool serves_particles(const perp_model *model)
{
  bool any = false;
  for (int body = 0; body < perp_model_bodies(model); body++)
    any |= perp_model_body(model, body)->particle;
  return any;
}

static bool serves_breaking(const perp_model *model)
{
  bool any = false;
  for (int i = 0; i < perp_model_joints(model); i++)
    any |= perp_model_joint(model, i)->strength > 0;
  return any;
}

perp_status perp_engine_serves(perp_ctx *ctx, const perp_engine_desc *engine,
                               const perp_model *model)
{
#define REFUSE(...) return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, __VA_ARGS__)
  const char *name = engine->d.name;
  const unsigned has = engine->features;
  perp_rate_def rate;
  bool limits = false, motors = false, servos = false;
  if (!(engine->dims & 1u << perp_model_dim(model)))
    REFUSE("engine %s does not support %s", name,
           perp_model_dim(model) == 2 ? "the plane" : "space");
  for (int i = 0; i < perp_model_joints(model); i++)
    if (perp_model_rate_of(model, i, &rate) ||
        !(engine->joints & 1u << perp_model_joint(model, i)->kind))
      REFUSE("engine %s does not support the joint '%s'", name,
             perp_joint_name(perp_model_joint(model, i)));
  for (int i = 0; i < perp_model_shapes(model); i++)
    if (!(engine->shapes & 1u << perp_model_shape(model, i)->kind))
      REFUSE("engine %s does not support %s", name,
             serves_shapes[perp_model_shape(model, i)->kind]);
  for (int i = 0; i < perp_model_drives(model); i++) {
    const perp_drive_def *def = perp_model_drive(model, i);
    for (int k = 0; k < i; k++)
      if (perp_model_drive(model, k)->joint == def->joint &&
          perp_model_drive(model, k)->axis == def->axis)
        REFUSE("engine %s supports one actuator for each coordinate of a joint: this model has two",
               name);
    limits |= isfinite(def->lower) || isfinite(def->upper);
    servos |= def->stiffness > 0 || def->damping > 0;
    motors |= def->max_force > 0 && !(def->stiffness > 0 || def->damping > 0);
    if (def->gravity_compensation)
      REFUSE("engine %s does not support gravity compensation of joint actuators", name);
    if (def->turning != NULL)
      REFUSE("engine %s does not support joint actuators that turn to an orientation", name);
  }
  const struct {
    bool in_model, served;
    const char *what;
  } others[] = {
    { limits, has & PERP_ENGINE_LIMITS, "limits of joints" },
    { motors, has & PERP_ENGINE_MOTORS, "motors" },
    { servos, has & PERP_ENGINE_SERVOS, "springs and dampers of joint actuators" },
    { serves_rebounds(model), has & PERP_ENGINE_RESTITUTION, "restitution" },
    { serves_particles(model), has & PERP_ENGINE_PARTICLES,
      "particles (bodies that never rotate)" },
    { serves_compound(model), has & PERP_ENGINE_COMPOUNDS,
      "bodies of several shapes, or with a shape off the centre of mass" },
    { serves_pairs(model), has & PERP_ENGINE_PAIRS,
      "friction of pairs of materials, or combined by another rule than sqrt(mu_a mu_b)" },
    { serves_two_frictions(model), false, "two coefficients of friction (mu and mu_dynamic)" },
    { serves_couples(model), false, "torsional and rolling friction" },
    { serves_breaking(model), false, "joints that break" },
    { serves_anisotropy(model), false, "anisotropic friction (mu_across)" },
    { perp_model_compliant(model), false, "compliant joints" },
    { serves_other_forces(model), false, "forces other than constant ones at centres of mass" },
    { perp_model_force_elements(model) > 0, has & PERP_ENGINE_FORCES, "forces other than gravity" },
    { perp_model_prescribes(model), false, "prescribed motions" },
    { perp_model_stops(model) > 0, false, "controllers that let go" },
    { perp_model_disabled(model) > 0, false, "bodies that are disabled for a time" },
    { perp_model_depends_on_time(model), false,
      "time-dependent gravity, joint actuators or surfaces" },
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i].in_model && !others[i].served)
      REFUSE("engine %s, or its adapter, does not support %s", name, others[i].what);
  return PERP_OK;
#undef REFUSE
}
