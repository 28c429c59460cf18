/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bullet in doubles: sequential impulses, warm-started. */
#include "tests/bench/engines.h"

#include <btBulletDynamicsCommon.h>
#include <cmath>
#include <vector>

namespace {

struct bullet_world {
  btDefaultCollisionConfiguration config;
  btCollisionDispatcher dispatcher;
  btDbvtBroadphase broad;
  btSequentialImpulseConstraintSolver solver;
  btDiscreteDynamicsWorld world;
  std::vector<btRigidBody *> moving, all;
  std::vector<btCollisionShape *> shapes, parts;
  bullet_world() : dispatcher(&config), world(&dispatcher, &broad, &solver, &config) {}
};

/* its cone has the origin at half its height, a body in its centre of mass */
btCollisionShape *bullet_cone(const bench_body &b, bullet_world *at)
{
  btCompoundShape *whole = new btCompoundShape(false);
  btCollisionShape *cone = new btConeShapeX(b.radius, b.length);
  at->parts.push_back(cone);
  whole->addChildShape(btTransform(btQuaternion::getIdentity(), btVector3(0.25 * b.length, 0, 0)),
                       cone);
  return whole;
}

btCollisionShape *bullet_shape(const bench_body &b, bullet_world *at)
{
  if (b.kind == BENCH_CYLINDER)
    return new btCylinderShapeX(btVector3(0.5 * b.length, b.radius, b.radius));
  if (b.kind == BENCH_CONE) return bullet_cone(b, at);
  if (b.kind == BENCH_PLANE)
    return new btStaticPlaneShape(btVector3(b.normal[0], b.normal[1], b.normal[2]), 0);
  if (b.kind == BENCH_BALL) return new btSphereShape(b.radius);
  return new btBoxShape(btVector3(b.half[0], b.half[1], b.half[2]));
}

void *bullet_create(const bench_world *w, int sweeps)
{
  bullet_world *at = new bullet_world;
  at->world.setGravity(btVector3(0, 0, -w->gravity));
  at->world.getSolverInfo().m_numIterations = sweeps;
  for (int i = 0; i < w->bodies; i++) {
    const bench_body &b = w->body[i];
    btCollisionShape *shape = bullet_shape(b, at);
    btRigidBody::btRigidBodyConstructionInfo info(
        b.fixed ? 0 : b.mass, nullptr, shape, btVector3(b.inertia[0], b.inertia[1], b.inertia[2]));
    btQuaternion turn(b.quat[1], b.quat[2], b.quat[3], b.quat[0]);
    if (b.kind == BENCH_PLANE) turn = btQuaternion::getIdentity(); /* its normal is in the world */
    info.m_startWorldTransform = btTransform(turn, btVector3(b.x[0], b.x[1], b.x[2]));
    info.m_friction = std::sqrt(w->mu); /* of a pair: the product */
    btRigidBody *body = new btRigidBody(info);
    body->setLinearVelocity(btVector3(b.v[0], b.v[1], b.v[2]));
    body->setAngularVelocity(btVector3(b.w[0], b.w[1], b.w[2]));
    body->setActivationState(DISABLE_DEACTIVATION);
    at->world.addRigidBody(body);
    at->shapes.push_back(shape);
    at->all.push_back(body);
    if (!b.fixed) at->moving.push_back(body);
  }
  return at;
}

void bullet_step(void *world, double h)
{
  static_cast<bullet_world *>(world)->world.stepSimulation(h, 0);
}

void bullet_state(void *world, double *q)
{
  for (btRigidBody *body : static_cast<bullet_world *>(world)->moving) {
    const btVector3 x = body->getWorldTransform().getOrigin();
    const btQuaternion turn = body->getWorldTransform().getRotation();
    const double values[] = { x.x(), x.y(), x.z(), turn.w(), turn.x(), turn.y(), turn.z() };
    for (double value : values) *q++ = value;
  }
}

void bullet_destroy(void *world)
{
  bullet_world *at = static_cast<bullet_world *>(world);
  for (btRigidBody *body : at->all) {
    at->world.removeRigidBody(body);
    delete body;
  }
  for (btCollisionShape *shape : at->shapes) delete shape;
  for (btCollisionShape *part : at->parts) delete part;
  delete at;
}

} // namespace

const bench_engine bench_bullet = { "Bullet",      3, 1, bullet_create, bullet_step, bullet_state,
                                    bullet_destroy };
