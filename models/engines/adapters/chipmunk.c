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
  chipmunk_world *s = at;
  cpSpaceEachShape(s->space, later_shape, s->space);
  cpSpaceEachConstraint(s->space, later_constraint, s->space);
  for (int b = 0; s->body != NULL && b < s->w->n_bodies; b++)
    if (s->body[b] != NULL) {
      cpSpaceRemoveBody(s->space, s->body[b]);
      cpBodyFree(s->body[b]);
    }
  cpSpaceFree(s->space);
  free(s->body);
  free(s->point);
  free(s);
}

/* ---- contacts ---- */

static cpBool chipmunk_begin(cpArbiter *arb, cpSpace *space, cpDataPointer user)
{
  const chipmunk_world *s = user;
  cpShape *a, *b;
  (void)space;
  cpArbiterGetShapes(arb, &a, &b);
  return s->w->touches(s->w, (int)(intptr_t)cpShapeGetUserData(a),
                       (int)(intptr_t)cpShapeGetUserData(b));
}

static cpBool chipmunk_before(cpArbiter *arb, cpSpace *space, cpDataPointer user)
{
  const chipmunk_world *s = user;
  cpShape *a, *b;
  (void)space;
  cpArbiterGetShapes(arb, &a, &b);
  const int i = (int)(intptr_t)cpShapeGetUserData(a), k = (int)(intptr_t)cpShapeGetUserData(b);
  const perp_surface pair = s->w->pair(s->w, i, k);
  cpArbiterSetFriction(arb, pair.mu);
  cpArbiterSetRestitution(arb, pair.restitution);
  return cpTrue;
}

static void chipmunk_after(cpArbiter *arb, cpSpace *space, cpDataPointer user)
{
  chipmunk_world *s = user;
  cpShape *a, *b;
  (void)space;
  cpArbiterGetShapes(arb, &a, &b);
  const int i = (int)(intptr_t)cpShapeGetUserData(a), k = (int)(intptr_t)cpShapeGetUserData(b);
  const double sign = i < k ? 1 : -1; /* its normal is from the first to the second */
  const cpContactPointSet set = cpArbiterGetContactPointSet(arb);
  /* one impulse of all points, on the first body */
  const cpVect impulse = cpArbiterTotalImpulse(arb);
  if (s->points + set.count > s->cap) {
    const int cap = 2 * (s->points + set.count);
    perp_engine_contact *more = realloc(s->point, (size_t)cap * sizeof *more);
    s->lost |= more == NULL;
    if (more == NULL) return;
    s->point = more;
    s->cap = cap;
  }
  for (int c = 0; c < set.count; c++) {
    const cpVect p = cpvlerp(set.points[c].pointA, set.points[c].pointB, 0.5);
    s->point[s->points++] = (perp_engine_contact){
      .shape_a = i < k ? i : k,
      .shape_b = i < k ? k : i,
      .p = { p.x, p.y },
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

static perp_status chipmunk_shape(perp_ctx *ctx, chipmunk_world *s, int i)
{
  const perp_engine_shape *shape = &s->w->shape[i];
  const perp_shape_def *d = shape->def;
  cpBody *body = d->body < 0 ? cpSpaceGetStaticBody(s->space) : s->body[d->body];
  const cpTransform place = cpTransformRigid(vec(shape->x), shape->angle);
  cpVect corner[CORNERS_MOST];
  cpShape *made;
  if (d->kind == PERP_SHAPE_SPHERE) {
    made = cpCircleShapeNew(body, d->radius, vec(shape->x));
  } else if (d->kind == PERP_SHAPE_PLANE) {
    const double far = 1000 * fmax(1, s->w->size), thick = 10 * fmax(1, s->w->size);
    made = cpSegmentShapeNew(body, cpTransformPoint(place, cpv(-far, -thick)),
                             cpTransformPoint(place, cpv(far, -thick)), thick);
  } else {
    int n = d->kind == PERP_SHAPE_BOX ? 4 : d->n_vertices;
    if (n > CORNERS_MOST)
      return s->w->fail(ctx, PERP_ERR_UNSUPPORTED,
                        "engine chipmunk does not support polygons with so many corners");
    if (d->kind == PERP_SHAPE_BOX) {
      /* with the corners of cpBoxShapeNew: contacts are swept in an order that follows from theirs
       */
      for (int k = 0; k < n; k++)
        corner[k] = cpTransformPoint(place, cpv(k < 2 ? d->half[0] : -d->half[0],
                                                k == 1 || k == 2 ? d->half[1] : -d->half[1]));
      made = cpPolyShapeNewRaw(body, n, corner, 0);
    } else {
      for (int k = 0; k < n; k++) corner[k] = vec(d->vertices + 2 * k);
      made = cpPolyShapeNew(body, n, corner, place, 0);
    }
  }
  cpShapeSetUserData(made, (void *)(intptr_t)i);
  cpSpaceAddShape(s->space, made);
  return PERP_OK;
}

static void chipmunk_add(const chipmunk_world *s, cpConstraint *c, double most)
{
  cpConstraintSetErrorBias(c, s->o.bias);
  if (isfinite(most)) cpConstraintSetMaxForce(c, most);
  cpConstraintSetCollideBodies(c, cpTrue); /* pairs are those of perp */
  cpSpaceAddConstraint(s->space, c);
}

static perp_status chipmunk_joint(perp_ctx *ctx, const chipmunk_world *s, int i)
{
  const perp_engine_joint *j = &s->w->joint[i];
  cpBody *ground = cpSpaceGetStaticBody(s->space);
  cpBody *a = j->a < 0 ? ground : s->body[j->a], *b = j->b < 0 ? ground : s->body[j->b];
  if (j->kind == PERP_JOINT_DISTANCE) {
    cpConstraint *pin = cpPinJointNew(a, b, vec(j->anchor_a), vec(j->anchor_b));
    cpPinJointSetDist(pin, j->length);
    chipmunk_add(s, pin, INFINITY);
    return PERP_OK;
  }
  chipmunk_add(s, cpPivotJointNew2(a, b, vec(j->anchor_a), vec(j->anchor_b)), INFINITY);
  const double start = (j->b < 0 ? 0 : s->w->body[j->b].start.angle) -
                       (j->a < 0 ? 0 : s->w->body[j->a].start.angle);
  for (int k = 0; k < j->n_drives; k++) {
    const perp_engine_drive *d = &s->w->drive[j->first_drive + k];
    if (d->restitution > 0)
      return s->w->fail(ctx, PERP_ERR_UNSUPPORTED,
                        "engine chipmunk does not support limits with restitution");
    if (isfinite(d->lower) || isfinite(d->upper))
      chipmunk_add(s, cpRotaryLimitJointNew(a, b, start + d->lower, start + d->upper), INFINITY);
    /* its motor asks for w_b - w_a = -rate */
    if (d->max_force > 0) chipmunk_add(s, cpSimpleMotorNew(a, b, -d->velocity), d->max_force);
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
  const chipmunk_world *s = at;
  for (int i = 0; i < s->w->n_bodies; i++) {
    cpBodySetPosition(s->body[i], vec(state[i].x));
    cpBodySetAngle(s->body[i], state[i].angle);
    cpBodySetVelocity(s->body[i], vec(state[i].v));
    cpBodySetAngularVelocity(s->body[i], state[i].w[2]);
  }
}

static perp_status chipmunk_step(perp_ctx *ctx, void *at, double h)
{
  chipmunk_world *s = at;
  s->points = 0;
  for (int i = 0; i < s->w->n_bodies; i++)
    cpBodySetForce(s->body[i], vec(s->w->body[i].force)); /* for one step */
  cpSpaceStep(s->space, h);
  return s->lost ? s->w->fail(ctx, PERP_ERR_NOMEM, "no memory for the contacts of Chipmunk")
                 : PERP_OK;
}

static void chipmunk_get(void *at, perp_engine_state *state)
{
  const chipmunk_world *s = at;
  for (int i = 0; i < s->w->n_bodies; i++) {
    const cpVect x = cpBodyGetPosition(s->body[i]), v = cpBodyGetVelocity(s->body[i]);
    state[i].x[0] = x.x, state[i].x[1] = x.y;
    state[i].v[0] = v.x, state[i].v[1] = v.y;
    state[i].angle = cpBodyGetAngle(s->body[i]);
    state[i].w[2] = cpBodyGetAngularVelocity(s->body[i]);
  }
}

static perp_reason chipmunk_ended(void *at, int *iterations)
{
  const chipmunk_world *s = at;
  *iterations = s->o.iterations;
  return s->points == 0 && s->w->n_joints == 0 ? PERP_RUNNING : PERP_SWEEPS_DONE;
}

static int chipmunk_contacts(void *at, perp_engine_contact *contact, int most)
{
  const chipmunk_world *s = at;
  const int n = s->points < most ? s->points : most;
  if (n > 0) memcpy(contact, s->point, (size_t)n * sizeof *contact);
  return n;
}

static void chipmunk_resolved(void *at, char *text, size_t size)
{
  const chipmunk_world *s = at;
  snprintf(text, size, "iterations=%d, slop=%g m, bias=%g", cpSpaceGetIterations(s->space),
           cpSpaceGetCollisionSlop(s->space), cpSpaceGetCollisionBias(s->space));
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
