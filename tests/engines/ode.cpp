/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ODE: quick step by its defaults. */
#include "minimal.hpp"

#include <ode/ode.h>
#include <vector>

namespace {
dWorldID world;
dSpaceID space;
dJointGroupID contacts;
std::vector<dBodyID> body;
std::vector<Body> defs;
double step_size, friction, rebound;

void near(void *, dGeomID a, dGeomID b)
{
  dContactGeom point[8];
  const int n = dCollide(a, b, 8, point, sizeof *point);
  for (int i = 0; i < n; i++) {
    dContact c = {};
    c.surface.mode = dContactApprox1;
    c.surface.mu = friction;
    if (rebound > 0) {
      c.surface.mode |= dContactBounce;
      c.surface.bounce = rebound;
    }
    c.geom = point[i];
    dJointAttach(dJointCreateContact(world, contacts, &c), dGeomGetBody(a), dGeomGetBody(b));
  }
}
} // namespace

namespace engine {
const bool planar = false, rebounds = true, capsules = true;

void open(const double g[3], double h, double mu, double e, bool plane)
{
  static bool started;
  if (!started) dInitODE2(0);
  started = true;
  dRandSetSeed(1);
  world = dWorldCreate();
  space = dHashSpaceCreate(0);
  contacts = dJointGroupCreate(0);
  dWorldSetGravity(world, g[0], g[1], g[2]);
  step_size = h;
  friction = mu;
  rebound = e;
  if (plane) dCreatePlane(space, 0, 0, 1, 0);
}

int add(const Body &b)
{
  dBodyID made = nullptr;
  dMass mass;
  dGeomID geom = nullptr;
  if (b.radius > 0)
    geom = b.length > 0 ? dCreateCapsule(space, b.radius, b.length)
                        : dCreateSphere(space, b.radius);
  else if (b.half[0] > 0)
    geom = dCreateBox(space, 2 * b.half[0], 2 * b.half[1], 2 * b.half[2]);
  if (b.mass > 0) {
    made = dBodyCreate(world);
    if (b.inertia[0] > 0)
      dMassSetParameters(&mass, b.mass, 0, 0, 0, b.inertia[0], b.inertia[1], b.inertia[2], 0, 0, 0);
    else if (b.radius > 0)
      dMassSetSphereTotal(&mass, b.mass, b.radius);
    else
      dMassSetBoxTotal(&mass, b.mass, 2 * b.half[0], 2 * b.half[1], 2 * b.half[2]);
    dBodySetMass(made, &mass);
    dBodySetPosition(made, b.x[0], b.x[1], b.x[2]);
    dBodySetLinearVel(made, b.v[0], b.v[1], b.v[2]);
    dBodySetAngularVel(made, b.w[0], b.w[1], b.w[2]);
    if (geom) dGeomSetBody(geom, made);
  } else if (geom) {
    dGeomSetPosition(geom, b.x[0], b.x[1], b.x[2]);
  }
  body.push_back(made);
  defs.push_back(b);
  return (int)body.size() - 1;
}

void weld(int a, int b, const double *)
{
  dJointID j = dJointCreateFixed(world, 0);
  dJointAttach(j, body[b], a < 0 ? nullptr : body[a]);
  dJointSetFixed(j);
}

void ball(int a, int b, const double at[3])
{
  dJointID j = dJointCreateBall(world, 0);
  dJointAttach(j, body[b], a < 0 ? nullptr : body[a]);
  dJointSetBallAnchor(j, at[0], at[1], at[2]);
}

void slide(int b)
{
  dJointID j = dJointCreateSlider(world, 0);
  dJointAttach(j, body[b], nullptr);
  dJointSetSliderAxis(j, 1, 0, 0);
}

void hinge(int b, const double at[3], double lower, double upper)
{
  dJointID j = dJointCreateHinge(world, 0);
  dJointAttach(j, body[b], nullptr);
  dJointSetHingeAnchor(j, at[0], at[1], at[2]);
  dJointSetHingeAxis(j, 0, -1, 0);
  if (lower == upper) return;
  dJointSetHingeParam(j, dParamLoStop, lower);
  dJointSetHingeParam(j, dParamHiStop, upper);
}

void step()
{
  dSpaceCollide(space, nullptr, near);
  for (size_t i = 0; i < body.size(); i++)
    if (body[i]) dBodyAddForce(body[i], defs[i].force[0], defs[i].force[1], defs[i].force[2]);
  dWorldQuickStep(world, step_size);
  dJointGroupEmpty(contacts);
}

State get(int i)
{
  State s;
  for (int k = 0; k < 3; k++) {
    s.x[k] = dBodyGetPosition(body[i])[k];
    s.v[k] = dBodyGetLinearVel(body[i])[k];
    s.w[k] = dBodyGetAngularVel(body[i])[k];
  }
  for (int k = 0; k < 4; k++) s.q[k] = dBodyGetQuaternion(body[i])[k];
  return s;
}

void close()
{
  dJointGroupDestroy(contacts);
  dSpaceDestroy(space);
  dWorldDestroy(world);
  body.clear();
  defs.clear();
}
} // namespace engine
