/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bullet: rigid bodies, sequential impulses by its defaults; no body sleeps. */
#include "minimal.hpp"

#include <BulletDynamics/btBulletDynamicsCommon.h>
#include <cmath>
#include <vector>

namespace {
struct World {
  btDefaultCollisionConfiguration config;
  btCollisionDispatcher dispatcher{ &config };
  btDbvtBroadphase broad;
  btSequentialImpulseConstraintSolver solver;
  btDiscreteDynamicsWorld world{ &dispatcher, &broad, &solver, &config };
};
World *w;
std::vector<btRigidBody *> body;
std::vector<Body> defs;
std::vector<btCollisionShape *> shapes;
std::vector<btTypedConstraint *> joints;
double step_size, friction, rebound;

btVector3 vec(const double *a)
{
  return btVector3(a[0], a[1], a[2]);
}

btRigidBody *make(double mass, btCollisionShape *shape, const btVector3 &inertia,
                  const btVector3 &x)
{
  btRigidBody::btRigidBodyConstructionInfo info(mass, nullptr, shape, inertia);
  info.m_startWorldTransform = btTransform(btQuaternion::getIdentity(), x);
  info.m_friction = std::sqrt(friction); /* of a pair: the product */
  info.m_restitution = std::sqrt(rebound);
  auto *b = new btRigidBody(info);
  b->setActivationState(DISABLE_DEACTIVATION);
  w->world.addRigidBody(b);
  shapes.push_back(shape);
  return b;
}
} // namespace

namespace engine {
const bool planar = false, rebounds = true, capsules = true;

void open(const double g[3], double h, double mu, double e, bool plane)
{
  w = new World;
  w->world.setGravity(vec(g));
  step_size = h;
  friction = mu;
  rebound = e;
  if (plane) {
    btRigidBody *floor = make(0, new btStaticPlaneShape(btVector3(0, 0, 1), 0), btVector3(0, 0, 0),
                              btVector3(0, 0, 0));
    joints.push_back(nullptr);
    (void)floor;
  }
}

int add(const Body &b)
{
  btCollisionShape *shape;
  if (b.length > 0)
    shape = new btCapsuleShapeZ(b.radius, b.length);
  else if (b.radius > 0)
    shape = new btSphereShape(b.radius);
  else if (b.half[0] > 0)
    shape = new btBoxShape(vec(b.half));
  else
    shape = new btEmptyShape;
  btVector3 inertia(b.inertia[0], b.inertia[1], b.inertia[2]);
  if (b.mass > 0 && b.inertia[0] == 0) shape->calculateLocalInertia(b.mass, inertia);
  btRigidBody *made = make(b.mass, shape, inertia, vec(b.x));
  made->setLinearVelocity(vec(b.v));
  made->setAngularVelocity(vec(b.w));
  body.push_back(made);
  defs.push_back(b);
  return (int)body.size() - 1;
}

void weld(int a, int b, const double at[3])
{
  btTransform fa, fb;
  fa.setIdentity();
  fb.setIdentity();
  fb.setOrigin(vec(at) - body[b]->getCenterOfMassPosition());
  btTypedConstraint *j;
  if (a < 0) {
    fa.setOrigin(vec(at));
    j = new btFixedConstraint(*body[b], btTypedConstraint::getFixedBody(), fb, fa);
  } else {
    fa.setOrigin(vec(at) - body[a]->getCenterOfMassPosition());
    j = new btFixedConstraint(*body[a], *body[b], fa, fb);
  }
  w->world.addConstraint(j, true);
  joints.push_back(j);
}

void ball(int a, int b, const double at[3])
{
  const btVector3 in_b = vec(at) - body[b]->getCenterOfMassPosition();
  auto *j = a < 0 ? new btPoint2PointConstraint(*body[b], in_b)
                  : new btPoint2PointConstraint(*body[a], *body[b],
                                                vec(at) - body[a]->getCenterOfMassPosition(), in_b);
  w->world.addConstraint(j, true);
  joints.push_back(j);
}

void slide(int b)
{
  btTransform frame;
  frame.setIdentity();
  auto *j = new btSliderConstraint(*body[b], frame, false);
  j->setLowerAngLimit(0);
  j->setUpperAngLimit(0);
  w->world.addConstraint(j, true);
  joints.push_back(j);
}

void hinge(int b, const double at[3], double lower, double upper)
{
  auto *j = new btHingeConstraint(*body[b], vec(at) - body[b]->getCenterOfMassPosition(),
                                  btVector3(0, -1, 0));
  if (lower < upper) j->setLimit(lower, upper);
  w->world.addConstraint(j, true);
  joints.push_back(j);
}

void step()
{
  for (size_t i = 0; i < body.size(); i++)
    if (defs[i].mass > 0) body[i]->applyCentralForce(vec(defs[i].force));
  w->world.stepSimulation(step_size, 0);
}

State get(int i)
{
  State s;
  const btTransform &t = body[i]->getCenterOfMassTransform();
  const btQuaternion q = t.getRotation();
  for (int k = 0; k < 3; k++) {
    s.x[k] = t.getOrigin()[k];
    s.v[k] = body[i]->getLinearVelocity()[k];
    s.w[k] = body[i]->getAngularVelocity()[k];
  }
  s.q[0] = q.w(), s.q[1] = q.x(), s.q[2] = q.y(), s.q[3] = q.z();
  return s;
}

void close()
{
  for (auto *j : joints) {
    if (j) w->world.removeConstraint(j);
    delete j;
  }
  for (int i = w->world.getNumCollisionObjects() - 1; i >= 0; i--) {
    auto *b = btRigidBody::upcast(w->world.getCollisionObjectArray()[i]);
    w->world.removeRigidBody(b);
    delete b;
  }
  for (auto *s : shapes) delete s;
  shapes.clear();
  joints.clear();
  body.clear();
  defs.clear();
  delete w;
}
} // namespace engine
