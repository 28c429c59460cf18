/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ODE.  Axes: bodies have their own frames; capsules and cylinders of ODE lie along z, those of
 * perp along x. */
#include "models/engines/engine.h"
#include "models/engines/options.h"

#include <ode/ode.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 8 }; /* of a pair of shapes, which two boxes need on a face */

typedef struct point {
  int a, b;
  dContactGeom geom;
  dJointFeedback feedback;
} point;

typedef struct ode_world {
  const perp_engine_world *w;
  perp_engine_ode_opts o;
  dWorldID world;
  dSpaceID space;
  dJointGroupID contacts;
  dBodyID *body;
  point *point; /* of the last step */
  int points, cap;
  bool lost; /* no memory for a point */
  double h;
} ode_world;

static int messages; /* of ODE, since it was asked */

static void ode_message(int number, const char *text, va_list list)
{
  (void)number, (void)text, (void)list;
  messages++;
}

static const char *ode_version(void)
{
  return dODE_VERSION;
}

static void ode_destroy(void *at)
{
  ode_world *world = at;
  dJointGroupDestroy(world->contacts);
  dSpaceDestroy(world->space);
  dWorldDestroy(world->world);
  free(world->body);
  free(world->point);
  free(world);
}

/* ---- building ---- */

/* x = z-axis of ODE's capsules and cylinders turned to the x axis of the shape */
static void ode_along_x(const double q[4], dQuaternion out)
{
  const double c = sqrt(0.5); /* a quarter turn about y */
  out[0] = c * (q[0] - q[2]);
  out[1] = c * (q[1] - q[3]);
  out[2] = c * (q[2] + q[0]);
  out[3] = c * (q[3] + q[1]);
}

static void ode_shape(ode_world *world, int i)
{
  const perp_engine_shape *shape = &world->w->shape[i];
  const perp_shape_def *def = shape->def;
  dGeomID geom;
  dQuaternion q;
  memcpy(q, shape->quat, sizeof q);
  if (def->kind == PERP_SHAPE_PLANE) {
    const double n[3] = { 2 * (q[1] * q[3] + q[0] * q[2]), 2 * (q[2] * q[3] - q[0] * q[1]),
                          1 - 2 * (q[1] * q[1] + q[2] * q[2]) };
    geom = dCreatePlane(world->space, n[0], n[1], n[2],
                        n[0] * shape->x[0] + n[1] * shape->x[1] + n[2] * shape->x[2]);
    dGeomSetData(geom, (void *)(uintptr_t)i);
    return;
  }
  if (def->kind == PERP_SHAPE_SPHERE) {
    geom = dCreateSphere(world->space, def->radius);
  } else if (def->kind == PERP_SHAPE_BOX) {
    geom = dCreateBox(world->space, 2 * def->half[0], 2 * def->half[1], 2 * def->half[2]);
  } else {
    geom = def->kind == PERP_SHAPE_CAPSULE
               ? dCreateCapsule(world->space, def->radius, def->length)
               : dCreateCylinder(world->space, def->radius, def->length);
    ode_along_x(shape->quat, q);
  }
  dGeomSetData(geom, (void *)(uintptr_t)i);
  if (def->body >= 0) {
    dGeomSetBody(geom, world->body[def->body]);
    dGeomSetOffsetPosition(geom, shape->x[0], shape->x[1], shape->x[2]);
    dGeomSetOffsetQuaternion(geom, q);
  } else {
    dGeomSetPosition(geom, shape->x[0], shape->x[1], shape->x[2]);
    dGeomSetQuaternion(geom, q);
  }
}

/* Parameter `what` of the axis a drive acts along: universal joints have a second one. */
static void ode_parameter(dJointID joint, const perp_engine_drive *drive, int what, double value)
{
  if (drive->axis == PERP_DRIVE_B) what += dParamGroup2;
  switch (dJointGetType(joint)) {
  case dJointTypeHinge:
    dJointSetHingeParam(joint, what, value);
    break;
  case dJointTypeSlider:
    dJointSetSliderParam(joint, what, value);
    break;
  default:
    dJointSetUniversalParam(joint, what, value);
    break;
  }
}

static perp_status ode_joint(perp_ctx *ctx, const ode_world *world, int i)
{
  const perp_engine_joint *j = &world->w->joint[i];
  const double *p = j->at, *n = j->along, *m = j->across;
  const dBodyID a = j->a >= 0 ? world->body[j->a] : 0, b = j->b >= 0 ? world->body[j->b] : 0;
  /* angles and ways of ODE are those of its first body against its second; it cannot have the world
   * first, and takes the other way round for what it says of hinges */
  const bool back = j->kind == PERP_JOINT_HINGE && j->b < 0;
  dJointID joint;
  switch (j->kind) {
  case PERP_JOINT_BALL:
    joint = dJointCreateBall(world->world, 0);
    dJointAttach(joint, b, a);
    dJointSetBallAnchor(joint, p[0], p[1], p[2]);
    break;
  case PERP_JOINT_HINGE:
    joint = dJointCreateHinge(world->world, 0);
    dJointAttach(joint, b, a);
    dJointSetHingeAnchor(joint, p[0], p[1], p[2]);
    dJointSetHingeAxis(joint, n[0], n[1], n[2]);
    break;
  case PERP_JOINT_UNIVERSAL:
    joint = dJointCreateUniversal(world->world, 0);
    dJointAttach(joint, a, b);
    dJointSetUniversalAnchor(joint, p[0], p[1], p[2]);
    dJointSetUniversalAxis1(joint, n[0], n[1], n[2]);
    dJointSetUniversalAxis2(joint, m[0], m[1], m[2]);
    break;
  case PERP_JOINT_SLIDER:
    joint = dJointCreateSlider(world->world, 0);
    dJointAttach(joint, b, a);
    dJointSetSliderAxis(joint, n[0], n[1], n[2]);
    break;
  default:
    joint = dJointCreateFixed(world->world, 0);
    dJointAttach(joint, b, a);
    dJointSetFixed(joint);
    break;
  }
  for (int k = 0; k < j->n_drives; k++) {
    const perp_engine_drive *drive = &world->w->drive[j->first_drive + k];
    if (j->kind == PERP_JOINT_BALL || j->kind == PERP_JOINT_UNIVERSAL)
      return world->w->fail(
          ctx, PERP_ERR_UNSUPPORTED,
          "the adapter of engine ode supports limits and motors of hinges and sliders only");
    if (j->kind == PERP_JOINT_HINGE && ((isfinite(drive->lower) && drive->lower < -M_PI) ||
                                        (isfinite(drive->upper) && drive->upper > M_PI)))
      return world->w->fail(ctx, PERP_ERR_UNSUPPORTED,
                            "engine ode supports limits of a hinge within half a turn only");
    const double lower = back ? -drive->upper : drive->lower,
                 upper = back ? -drive->lower : drive->upper;
    if (isfinite(upper)) ode_parameter(joint, drive, dParamHiStop, upper);
    if (isfinite(lower)) ode_parameter(joint, drive, dParamLoStop, lower);
    ode_parameter(joint, drive, dParamBounce, drive->restitution);
    if (drive->max_force > 0) {
      ode_parameter(joint, drive, dParamVel, back ? -drive->velocity : drive->velocity);
      ode_parameter(joint, drive, dParamFMax, drive->max_force);
    }
  }
  return PERP_OK;
}

static perp_status ode_create(perp_ctx *ctx, const perp_engine_world *w, const void *opts,
                              void **at)
{
  static bool started;
  *at = NULL;
  if (!started) dInitODE2(0);
  started = true;
  dSetMessageHandler(ode_message);
  dRandSetSeed(1); /* the order of the sweeps of quick */
  ode_world *s = calloc(1, sizeof *s);
  if (s == NULL) return w->fail(ctx, PERP_ERR_NOMEM, "no memory for a world of ODE");
  s->w = w;
  memcpy(&s->o, opts, sizeof s->o);
  s->world = dWorldCreate();
  s->space = dHashSpaceCreate(0);
  s->contacts = dJointGroupCreate(0);
  s->body = calloc((size_t)w->n_bodies + 1, sizeof *s->body);
  perp_status status = PERP_OK;
  if (s->body == NULL) status = w->fail(ctx, PERP_ERR_NOMEM, "no memory for a world of ODE");
  dWorldSetGravity(s->world, 0, 0, -w->gravity);
  dWorldSetERP(s->world, s->o.erp);
  dWorldSetCFM(s->world, s->o.cfm);
  dWorldSetQuickStepNumIterations(s->world, s->o.iterations);
  dWorldSetQuickStepW(s->world, s->o.over_relaxation);
  dWorldSetAutoDisableFlag(s->world, 0);
  for (int i = 0; i < w->n_bodies && status == PERP_OK; i++) {
    const perp_engine_body *body = &s->w->body[i];
    const double *I = body->inertia;
    dMass mass;
    s->body[i] = dBodyCreate(s->world);
    dMassSetParameters(&mass, body->mass, 0, 0, 0, I[0], I[4], I[8], I[3], I[6], I[7]);
    dBodySetMass(s->body[i], &mass);
    dBodySetPosition(s->body[i], body->start.x[0], body->start.x[1], body->start.x[2]);
    dBodySetQuaternion(s->body[i], body->start.quat);
  }
  for (int i = 0; i < w->n_shapes && status == PERP_OK; i++) ode_shape(s, i);
  for (int i = 0; i < w->n_joints && status == PERP_OK; i++) status = ode_joint(ctx, s, i);
  if (status == PERP_OK)
    *at = s;
  else
    ode_destroy(s);
  return status;
}

/* ---- marching ---- */

static void ode_set(void *at, const perp_engine_state *state)
{
  const ode_world *world = at;
  for (int i = 0; i < world->w->n_bodies; i++) {
    const perp_engine_state *x = &state[i];
    dBodySetPosition(world->body[i], x->x[0], x->x[1], x->x[2]);
    dBodySetQuaternion(world->body[i], x->quat);
    dBodySetLinearVel(world->body[i], x->v[0], x->v[1], x->v[2]);
    dBodySetAngularVel(world->body[i], x->w[0], x->w[1], x->w[2]);
  }
}

static void ode_get(void *at, perp_engine_state *state)
{
  const ode_world *world = at;
  for (int i = 0; i < world->w->n_bodies; i++) {
    perp_engine_state *x = &state[i];
    memcpy(x->x, dBodyGetPosition(world->body[i]), sizeof x->x);
    memcpy(x->quat, dBodyGetQuaternion(world->body[i]), sizeof x->quat);
    memcpy(x->v, dBodyGetLinearVel(world->body[i]), sizeof x->v);
    memcpy(x->w, dBodyGetAngularVel(world->body[i]), sizeof x->w);
  }
}

static void ode_near(void *user, dGeomID a, dGeomID b)
{
  ode_world *world = user;
  const int i = (int)(uintptr_t)dGeomGetData(a), k = (int)(uintptr_t)dGeomGetData(b);
  dContactGeom geom[POINTS_MAX];
  if (!world->w->touches(world->w, i, k)) return;
  const int n = dCollide(a, b, POINTS_MAX, geom, sizeof *geom);
  if (world->points + n > world->cap) {
    const int cap = 2 * (world->points + n);
    point *more = realloc(world->point, (size_t)cap * sizeof *more);
    world->lost |= more == NULL;
    if (more == NULL) return;
    world->point = more;
    world->cap = cap;
  }
  for (int c = 0; c < n; c++)
    world->point[world->points++] = (point){ .a = i, .b = k, .geom = geom[c] };
}

static perp_status ode_step(perp_ctx *ctx, void *at, double h)
{
  ode_world *world = at;
  world->points = 0;
  world->h = h;
  for (int i = 0; i < world->w->n_bodies; i++) {
    const double *f = world->w->body[i].force;
    dBodyAddForce(world->body[i], f[0], f[1], f[2]); /* for one step */
  }
  dSpaceCollide(world->space, world, ode_near);
  if (world->lost) return world->w->fail(ctx, PERP_ERR_NOMEM, "no memory for the contacts of ODE");
  for (int i = 0; i < world->points; i++) { /* the points stay where they are from here on */
    point *p = &world->point[i];
    const perp_surface pair = world->w->pair(world->w, p->a, p->b);
    dContact contact = { .surface = { .mode = dContactApprox1, .mu = pair.mu }, .geom = p->geom };
    if (pair.restitution > 0) {
      contact.surface.mode |= dContactBounce;
      contact.surface.bounce = pair.restitution;
      contact.surface.bounce_vel = 0;
    }
    dJointID joint = dJointCreateContact(world->world, world->contacts, &contact);
    dJointAttach(joint, dGeomGetBody(p->geom.g1), dGeomGetBody(p->geom.g2));
    dJointSetFeedback(joint, &p->feedback);
  }
  const int good = world->o.solver == 0 ? dWorldQuickStep(world->world, h)
                                        : dWorldStep(world->world, h);
  dJointGroupEmpty(world->contacts);
  return good ? PERP_OK
              : world->w->fail(ctx, PERP_ERR_EXTERNAL, "ODE reports that its step failed");
}

/* Dantzig's method writes a message where its pivot is not positive, and goes on. */
static perp_reason ode_ended(void *at, int *iterations)
{
  const ode_world *world = at;
  const bool failed = messages > 0;
  messages = 0;
  *iterations = world->o.solver == 0 ? world->o.iterations : 0;
  if (world->points == 0 && world->w->n_joints == 0) return PERP_RUNNING;
  if (failed) return PERP_SINGULAR;
  return world->o.solver == 0 ? PERP_SWEEPS_DONE : PERP_EXACT;
}

static int ode_contacts(void *at, perp_engine_contact *contact, int most)
{
  const ode_world *world = at;
  const int n = world->points < most ? world->points : most;
  for (int i = 0; i < n; i++) {
    const point *p = &world->point[i];
    const bool first = p->a < p->b; /* ODE's normal points into its first shape */
    /* dJointAttach puts a body that is alone first: f1 is then on it, whichever shape it has */
    const bool swapped = dGeomGetBody(p->geom.g1) == 0;
    const double sign = (first ? -1 : 1) * (swapped ? -1 : 1);
    contact[i] = (perp_engine_contact){ .shape_a = first ? p->a : p->b,
                                        .shape_b = first ? p->b : p->a,
                                        .gap = -p->geom.depth };
    for (int k = 0; k < 3; k++) {
      contact[i].p[k] = p->geom.pos[k];
      contact[i].n[k] = (first ? -1 : 1) * p->geom.normal[k];
      contact[i].impulse[k] = sign * world->h * p->feedback.f1[k];
    }
  }
  return n;
}

static void ode_resolved(void *at, char *text, size_t size)
{
  const ode_world *world = at;
  if (world->o.solver == 0)
    snprintf(text, size, "solver=quick, iterations=%d, over_relaxation=%g, erp=%g, cfm=%g",
             dWorldGetQuickStepNumIterations(world->world), dWorldGetQuickStepW(world->world),
             dWorldGetERP(world->world), dWorldGetCFM(world->world));
  else
    snprintf(text, size, "solver=step, erp=%g, cfm=%g", dWorldGetERP(world->world),
             dWorldGetCFM(world->world));
}

static const perp_engine_calls calls = { .abi = PERP_ABI,
                                         .layout = PERP_ENGINE_LAYOUT,
                                         .version = ode_version,
                                         .create = ode_create,
                                         .set = ode_set,
                                         .step = ode_step,
                                         .get = ode_get,
                                         .ended = ode_ended,
                                         .contacts = ode_contacts,
                                         .resolved = ode_resolved,
                                         .destroy = ode_destroy };
PERP_ENGINE_ADAPTER(calls);
