/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chipmunk 7, in doubles.  Pairs of shapes, friction and restitution are those of perp, in a
 * callback of each contact.  A half-space is a segment as thick as it is long. */
#include "models/engines/engine.h"
#include "models/engines/options.h"

#include <chipmunk/chipmunk.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CORNERS_MOST = 64 };

typedef struct chipmunk_world {
  const perp_engine_world *w;
  perp_engine_chipmunk_opts o;
  cpSpace *space;
  cpBody **body;
  perp_engine_contact *point;
  int points, cap;
  bool lost; /* no memory for a point */
} chipmunk_world;

static const char *chipmunk_version(void)
{
  return cpVersionString;
}

static void free_shape(cpSpace *space, void *shape, void *unused)
{
  (void)unused;
  cpSpaceRemoveShape(space, shape);
  cpShapeFree(shape);
}
static void free_constraint(cpSpace *space, void *constraint, void *unused)
{
  (void)unused;
  cpSpaceRemoveConstraint(space, constraint);
  cpConstraintFree(constraint);
}
static void later_shape(cpShape *shape, void *space)
{
  cpSpaceAddPostStepCallback(space, free_shape, shape, NULL);
}
static void later_constraint(cpConstraint *constraint, void *space)
{
  cpSpaceAddPostStepCallback(space, free_constraint, constraint, NULL);
}

static void chipmunk_destroy(void *at)
{
  chipmunk_world *world = at;
  cpSpaceEachShape(world->space, later_shape, world->space);
  cpSpaceEachConstraint(world->space, later_constraint, world->space);
  for (int b = 0; world->body != NULL && b < world->w->n_bodies; b++)
    if (world->body[b] != NULL) {
      cpSpaceRemoveBody(world->space, world->body[b]);
      cpBodyFree(world->body[b]);
    }
  cpSpaceFree(world->space);
  free(world->body);
  free(world->point);
  free(world);
}

/* ---- contacts ---- */

static cpBool chipmunk_begin(cpArbiter *arb, cpSpace *space, cpDataPointer user)
{
  const chipmunk_world *world = user;
  cpShape *a, *b;
  (void)space;
  cpArbiterGetShapes(arb, &a, &b);
  return world->w->touches(world->w, (int)(intptr_t)cpShapeGetUserData(a),
                           (int)(intptr_t)cpShapeGetUserData(b));
}

static cpBool chipmunk_before(cpArbiter *arb, cpSpace *space, cpDataPointer user)
{
  const chipmunk_world *world = user;
  cpShape *a, *b;
  (void)space;
  cpArbiterGetShapes(arb, &a, &b);
  const int i = (int)(intptr_t)cpShapeGetUserData(a), k = (int)(intptr_t)cpShapeGetUserData(b);
  const perp_surface pair = world->w->pair(world->w, i, k);
  cpArbiterSetFriction(arb, pair.mu);
  cpArbiterSetRestitution(arb, pair.restitution);
  return cpTrue;
}

static void chipmunk_after(cpArbiter *arb, cpSpace *space, cpDataPointer user)
{
  chipmunk_world *world = user;
  cpShape *a, *b;
  (void)space;
  cpArbiterGetShapes(arb, &a, &b);
  const int i = (int)(intptr_t)cpShapeGetUserData(a), k = (int)(intptr_t)cpShapeGetUserData(b);
  const double sign = i < k ? 1 : -1; /* its normal is from the first to the second */
  const cpContactPointSet set = cpArbiterGetContactPointSet(arb);
  /* one impulse of all points, on the first body */
  const cpVect impulse = cpArbiterTotalImpulse(arb);
  if (world->points + set.count > world->cap) {
    const int cap = 2 * (world->points + set.count);
    perp_engine_contact *more = realloc(world->point, (size_t)cap * sizeof *more);
    world->lost |= more == NULL;
    if (more == NULL) return;
    world->point = more;
    world->cap = cap;
  }
  for (int c = 0; c < set.count; c++) {
    const cpVect cpvect = cpvlerp(set.points[c].pointA, set.points[c].pointB, 0.5);
    world->point[world->points++] = (perp_engine_contact){
      .shape_a = i < k ? i : k,
      .shape_b = i < k ? k : i,
      .p = { cpvect.x, cpvect.y },
      .n = { sign * set.normal.x, sign * set.normal.y },
      .gap = set.points[c].distance,
      .impulse = { -sign * impulse.x / set.count, -sign * impulse.y / set.count }
    };
  }
}

/* ---- building ---- */

static cpVect vec(const double *x)
{
  return cpv(x[0], x[1]);
}

static perp_status chipmunk_shape(perp_ctx *ctx, chipmunk_world *world, int i)
{
  const perp_engine_shape *shape = &world->w->shape[i];
  const perp_shape_def *def = shape->def;
  cpBody *body = def->body < 0 ? cpSpaceGetStaticBody(world->space) : world->body[def->body];
  const cpTransform place = cpTransformRigid(vec(shape->x), shape->angle);
  cpVect corner[CORNERS_MOST];
  cpShape *made;
  if (def->kind == PERP_SHAPE_SPHERE) {
    made = cpCircleShapeNew(body, def->radius, vec(shape->x));
  } else if (def->kind == PERP_SHAPE_PLANE) {
    const double far = 1000 * fmax(1, world->w->size), thick = 10 * fmax(1, world->w->size);
    made = cpSegmentShapeNew(body, cpTransformPoint(place, cpv(-far, -thick)),
                             cpTransformPoint(place, cpv(far, -thick)), thick);
  } else {
    int n = def->kind == PERP_SHAPE_BOX ? 4 : def->n_vertices;
    if (n > CORNERS_MOST)
      return world->w->fail(ctx, PERP_ERR_UNSUPPORTED,
                            "engine chipmunk does not support polygons with so many corners");
    if (def->kind == PERP_SHAPE_BOX) {
      /* with the corners of cpBoxShapeNew: contacts are swept in an order that follows from theirs
       */
      for (int k = 0; k < n; k++)
        corner[k] = cpTransformPoint(place, cpv(k < 2 ? def->half[0] : -def->half[0],
                                                k == 1 || k == 2 ? def->half[1] : -def->half[1]));
      made = cpPolyShapeNewRaw(body, n, corner, 0);
    } else {
      for (int k = 0; k < n; k++) corner[k] = vec(def->vertices + 2 * k);
      made = cpPolyShapeNew(body, n, corner, place, 0);
    }
  }
  cpShapeSetUserData(made, (void *)(intptr_t)i);
  cpSpaceAddShape(world->space, made);
  return PERP_OK;
}

static void chipmunk_add(const chipmunk_world *world, cpConstraint *cpconstraint, double most)
{
  cpConstraintSetErrorBias(cpconstraint, world->o.bias);
  if (isfinite(most)) cpConstraintSetMaxForce(cpconstraint, most);
  cpConstraintSetCollideBodies(cpconstraint, cpTrue); /* pairs are those of perp */
  cpSpaceAddConstraint(world->space, cpconstraint);
}

static perp_status chipmunk_joint(perp_ctx *ctx, const chipmunk_world *world, int i)
{
  const perp_engine_joint *joint = &world->w->joint[i];
  cpBody *ground = cpSpaceGetStaticBody(world->space);
  cpBody *a = joint->a < 0 ? ground : world->body[joint->a],
         *b = joint->b < 0 ? ground : world->body[joint->b];
  if (joint->kind == PERP_JOINT_DISTANCE) {
    cpConstraint *pin = cpPinJointNew(a, b, vec(joint->anchor_a), vec(joint->anchor_b));
    cpPinJointSetDist(pin, joint->length);
    chipmunk_add(world, pin, INFINITY);
    return PERP_OK;
  }
  chipmunk_add(world, cpPivotJointNew2(a, b, vec(joint->anchor_a), vec(joint->anchor_b)), INFINITY);
  const double start = (joint->b < 0 ? 0 : world->w->body[joint->b].start.angle) -
                       (joint->a < 0 ? 0 : world->w->body[joint->a].start.angle);
  for (int k = 0; k < joint->n_drives; k++) {
    const perp_engine_drive *drive = &world->w->drive[joint->first_drive + k];
    if (drive->restitution > 0)
      return world->w->fail(ctx, PERP_ERR_UNSUPPORTED,
                            "engine chipmunk does not support limits with restitution");
    if (isfinite(drive->lower) || isfinite(drive->upper))
      chipmunk_add(world, cpRotaryLimitJointNew(a, b, start + drive->lower, start + drive->upper),
                   INFINITY);
    /* its motor asks for w_b - w_a = -rate */
    if (drive->max_force > 0)
      chipmunk_add(world, cpSimpleMotorNew(a, b, -drive->velocity), drive->max_force);
  }
  return PERP_OK;
}

static perp_status chipmunk_create(perp_ctx *ctx, const perp_engine_world *w, const void *opts,
                                   void **at)
{
  *at = NULL;
  chipmunk_world *s = calloc(1, sizeof *s);
  if (s == NULL) return w->fail(ctx, PERP_ERR_NOMEM, "no memory for a world of Chipmunk");
  s->w = w;
  memcpy(&s->o, opts, sizeof s->o);
  /* The library of Debian prints a line about itself when the first space is made; the program's
   * output is no place for it. */
  fflush(stdout);
  const int out = dup(STDOUT_FILENO), none = open("/dev/null", O_WRONLY);
  if (out >= 0 && none >= 0) dup2(none, STDOUT_FILENO);
  cpSpace *space = cpSpaceNew();
  fflush(stdout);
  if (out >= 0) dup2(out, STDOUT_FILENO);
  if (out >= 0) close(out);
  if (none >= 0) close(none);
  s->space = space;
  s->body = calloc((size_t)w->n_bodies + 1, sizeof(cpBody *));
  cpSpaceSetGravity(s->space, cpv(0, -w->gravity));
  cpSpaceSetIterations(s->space, s->o.iterations);
  cpSpaceSetCollisionSlop(s->space, s->o.slop);
  cpSpaceSetCollisionBias(s->space, s->o.bias);
  cpSpaceSetSleepTimeThreshold(s->space, INFINITY);
  cpCollisionHandler *handler = cpSpaceAddDefaultCollisionHandler(s->space);
  handler->beginFunc = chipmunk_begin;
  handler->preSolveFunc = chipmunk_before;
  handler->postSolveFunc = chipmunk_after;
  handler->userData = s;
  perp_status status = PERP_OK;
  if (s->body == NULL) status = w->fail(ctx, PERP_ERR_NOMEM, "no memory for a world of Chipmunk");
  for (int i = 0; i < w->n_bodies && status == PERP_OK; i++) {
    const double moment = w->body[i].inertia[8];
    s->body[i] = cpSpaceAddBody(s->space,
                                cpBodyNew(w->body[i].mass, moment > 0 ? moment : HUGE_VAL));
    cpBodySetPosition(s->body[i], vec(w->body[i].start.x));
    cpBodySetAngle(s->body[i], w->body[i].start.angle);
  }
  for (int i = 0; i < w->n_shapes && status == PERP_OK; i++) status = chipmunk_shape(ctx, s, i);
  for (int i = 0; i < w->n_joints && status == PERP_OK; i++) status = chipmunk_joint(ctx, s, i);
  if (status == PERP_OK)
    *at = s;
  else
    chipmunk_destroy(s);
  return status;
}

/* ---- marching ---- */

static void chipmunk_set(void *at, const perp_engine_state *state)
{
  const chipmunk_world *world = at;
  for (int i = 0; i < world->w->n_bodies; i++) {
    cpBodySetPosition(world->body[i], vec(state[i].x));
    cpBodySetAngle(world->body[i], state[i].angle);
    cpBodySetVelocity(world->body[i], vec(state[i].v));
    cpBodySetAngularVelocity(world->body[i], state[i].w[2]);
  }
}

static perp_status chipmunk_step(perp_ctx *ctx, void *at, double h)
{
  chipmunk_world *world = at;
  world->points = 0;
  for (int i = 0; i < world->w->n_bodies; i++)
    cpBodySetForce(world->body[i], vec(world->w->body[i].force)); /* for one step */
  cpSpaceStep(world->space, h);
  return world->lost ? world->w->fail(ctx, PERP_ERR_NOMEM, "no memory for the contacts of Chipmunk")
                     : PERP_OK;
}

static void chipmunk_get(void *at, perp_engine_state *state)
{
  const chipmunk_world *world = at;
  for (int i = 0; i < world->w->n_bodies; i++) {
    const cpVect x = cpBodyGetPosition(world->body[i]), v = cpBodyGetVelocity(world->body[i]);
    state[i].x[0] = x.x, state[i].x[1] = x.y;
    state[i].v[0] = v.x, state[i].v[1] = v.y;
    state[i].angle = cpBodyGetAngle(world->body[i]);
    state[i].w[2] = cpBodyGetAngularVelocity(world->body[i]);
  }
}

static perp_reason chipmunk_ended(void *at, int *iterations)
{
  const chipmunk_world *world = at;
  *iterations = world->o.iterations;
  return world->points == 0 && world->w->n_joints == 0 ? PERP_RUNNING : PERP_SWEEPS_DONE;
}

static int chipmunk_contacts(void *at, perp_engine_contact *contact, int most)
{
  const chipmunk_world *world = at;
  const int n = world->points < most ? world->points : most;
  if (n > 0) memcpy(contact, world->point, (size_t)n * sizeof *contact);
  return n;
}

static void chipmunk_resolved(void *at, char *text, size_t size)
{
  const chipmunk_world *world = at;
  snprintf(text, size, "iterations=%d, slop=%g m, bias=%g", cpSpaceGetIterations(world->space),
           cpSpaceGetCollisionSlop(world->space), cpSpaceGetCollisionBias(world->space));
}

static const perp_engine_calls calls = { .abi = PERP_ABI,
                                         .layout = PERP_ENGINE_LAYOUT,
                                         .version = chipmunk_version,
                                         .create = chipmunk_create,
                                         .set = chipmunk_set,
                                         .step = chipmunk_step,
                                         .get = chipmunk_get,
                                         .ended = chipmunk_ended,
                                         .contacts = chipmunk_contacts,
                                         .resolved = chipmunk_resolved,
                                         .destroy = chipmunk_destroy };
PERP_ENGINE_ADAPTER(calls);
