/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ODE: dWorldQuickStep, successive over-relaxation in random order. */
#include "tests/bench/engines.h"

#include <ode/ode.h>
#include <stdlib.h>

enum { POINTS = 4 };

typedef struct ode_world {
  dWorldID world;
  dSpaceID space;
  dJointGroupID contacts;
  dBodyID *body;
  int bodies;
  double mu;
} ode_world;

static void *ode_create(const bench_world *w, int sweeps)
{
  static int started;
  if (!started++) dInitODE2(0);
  ode_world *at = calloc(1, sizeof *at);
  at->world = dWorldCreate();
  at->space = dHashSpaceCreate(0);
  at->contacts = dJointGroupCreate(0);
  at->body = calloc((size_t)w->bodies, sizeof(dBodyID));
  at->mu = w->mu;
  dWorldSetGravity(at->world, 0, 0, -w->gravity);
  dWorldSetQuickStepNumIterations(at->world, sweeps);
  dWorldSetAutoDisableFlag(at->world, 0);
  for (int i = 0; i < w->bodies; i++) {
    const bench_body *b = &w->body[i];
    if (b->kind == BENCH_PLANE) {
      const double *n = b->normal, d = n[0] * b->x[0] + n[1] * b->x[1] + n[2] * b->x[2];
      dCreatePlane(at->space, n[0], n[1], n[2], d);
      continue;
    }
    dGeomID geom = b->kind == BENCH_BOX
                       ? dCreateBox(at->space, 2 * b->half[0], 2 * b->half[1], 2 * b->half[2])
                   : b->kind == BENCH_CYLINDER ? dCreateCylinder(at->space, b->radius, b->length)
                                               : dCreateSphere(at->space, b->radius);
    const dQuaternion q = { b->quat[0], b->quat[1], b->quat[2], b->quat[3] };
    if (b->fixed) {
      dGeomSetPosition(geom, b->x[0], b->x[1], b->x[2]);
      dGeomSetQuaternion(geom, q);
      continue;
    }
    dMass mass;
    dBodyID body = dBodyCreate(at->world);
    dMassSetParameters(&mass, b->mass, 0, 0, 0, b->inertia[0], b->inertia[1], b->inertia[2], 0, 0,
                       0);
    dBodySetMass(body, &mass);
    dBodySetPosition(body, b->x[0], b->x[1], b->x[2]);
    dBodySetQuaternion(body, q);
    dBodySetLinearVel(body, b->v[0], b->v[1], b->v[2]);
    dBodySetAngularVel(body, b->w[0], b->w[1], b->w[2]);
    dGeomSetBody(geom, body);
    if (b->kind == BENCH_CYLINDER) { /* from along z to along x */
      dMatrix3 turn;
      dRFromAxisAndAngle(turn, 0, 1, 0, 0.5 * M_PI);
      dGeomSetOffsetRotation(geom, turn);
    }
    at->body[at->bodies++] = body;
  }
  return at;
}

static void ode_near(void *user, dGeomID a, dGeomID b)
{
  ode_world *at = user;
  dContact contact[POINTS];
  const int n = dCollide(a, b, POINTS, &contact[0].geom, sizeof *contact);
  for (int i = 0; i < n; i++) {
    contact[i].surface.mode = dContactApprox1;
    contact[i].surface.mu = at->mu;
    dJointAttach(dJointCreateContact(at->world, at->contacts, &contact[i]), dGeomGetBody(a),
                 dGeomGetBody(b));
  }
}

static void ode_step(void *world, double h)
{
  ode_world *at = world;
  dSpaceCollide(at->space, at, ode_near);
  dWorldQuickStep(at->world, h);
  dJointGroupEmpty(at->contacts);
}

static void ode_state(void *world, double *q)
{
  const ode_world *at = world;
  for (int i = 0; i < at->bodies; i++, q += 7) {
    const dReal *x = dBodyGetPosition(at->body[i]), *turn = dBodyGetQuaternion(at->body[i]);
    for (int k = 0; k < 3; k++) q[k] = x[k];
    for (int k = 0; k < 4; k++) q[3 + k] = turn[k];
  }
}

static void ode_destroy(void *world)
{
  ode_world *at = world;
  dJointGroupDestroy(at->contacts);
  dSpaceDestroy(at->space);
  dWorldDestroy(at->world);
  free(at->body);
  free(at);
}

const bench_engine bench_ode = { "ODE quick", 3, 0, ode_create, ode_step, ode_state, ode_destroy };
