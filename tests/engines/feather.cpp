/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bullet's multibodies (Featherstone) wherever bodies have joints, and rigid bodies else; without the damping that a multibody has
 * by default, as rigid bodies have none. */
#include "minimal.hpp"

#include <BulletDynamics/btBulletDynamicsCommon.h>
#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointLimitConstraint.h>
#include <BulletDynamics/Featherstone/btMultiBodyLinkCollider.h>
#include <cmath>
#include <vector>

namespace {
struct World {
  btDefaultCollisionConfiguration config;
  btCollisionDispatcher dispatcher{ &config };
  btDbvtBroadphase broad;
  btMultiBodyConstraintSolver solver;
  btMultiBodyDynamicsWorld world{ &dispatcher, &broad, &solver, &config };
};
enum Kind { FREE, FIXED, BALL, HINGE, SLIDE };
struct Member { /* a body, its joint to the parent (-1: the world), and what it became */
  Body def;
  Kind kind = FREE;
  int parent = -1, link = -1;
  double at[3], lower = 0, upper = 0;
  btMultiBody *tree = nullptr;
  btRigidBody *rigid = nullptr;
};
World *w;
std::vector<Member> member;
std::vector<btMultiBody *> trees;
std::vector<btCollisionShape *> shapes;
std::vector<btCollisionObject *> colliders;
std::vector<btMultiBodyConstraint *> limits;
double step_size, friction, rebound;
bool built;

btVector3 vec(const double *a)
{
  return btVector3(a[0], a[1], a[2]);
}

btCollisionShape *shape_of(const Body &b)
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
  shapes.push_back(shape);
  return shape;
}

btVector3 inertia_of(const Body &b, btCollisionShape *shape)
{
  btVector3 inertia = vec(b.inertia);
  if (b.mass > 0 && b.inertia[0] == 0) shape->calculateLocalInertia(b.mass, inertia);
  return inertia;
}

void surface(btCollisionObject *c)
{
  c->setFriction(std::sqrt(friction)); /* of a pair: the product */
  c->setRestitution(std::sqrt(rebound));
  c->setActivationState(DISABLE_DEACTIVATION);
}

btRigidBody *rigid(const Body &b, btCollisionShape *shape)
{
  btRigidBody::btRigidBodyConstructionInfo info(b.mass, nullptr, shape, inertia_of(b, shape));
  info.m_startWorldTransform = btTransform(btQuaternion::getIdentity(), vec(b.x));
  auto *made = new btRigidBody(info);
  surface(made);
  made->setLinearVelocity(vec(b.v));
  made->setAngularVelocity(vec(b.w));
  w->world.addRigidBody(made);
  return made;
}

int root_of(int i)
{
  while (member[i].kind != FREE && member[i].parent >= 0) i = member[i].parent;
  return i;
}

/* of body i, whose parent is there; multibodies ask for the inertia alone, shapes come with the collider */
void link(int i)
{
  Member &m = member[i];
  const btVector3 at = vec(m.at), to_com = vec(m.def.x) - at,
                  from = m.parent < 0 ? at : at - vec(member[m.parent].def.x);
  const btQuaternion none = btQuaternion::getIdentity();
  const btVector3 inertia = inertia_of(m.def, shape_of(m.def));
  const int above = m.parent < 0 ? -1 : member[m.parent].link;
  if (m.kind == FIXED)
    m.tree->setupFixed(m.link, m.def.mass, inertia, above, none, from, to_com, false);
  if (m.kind == BALL)
    m.tree->setupSpherical(m.link, m.def.mass, inertia, above, none, from, to_com, false);
  if (m.kind == HINGE)
    m.tree->setupRevolute(m.link, m.def.mass, inertia, above, none, btVector3(0, -1, 0), from,
                          to_com, false);
  if (m.kind == SLIDE)
    m.tree->setupPrismatic(m.link, m.def.mass, inertia, above, none, btVector3(1, 0, 0), from,
                           to_com, false);
}

void collider(int i)
{
  Member &m = member[i];
  auto *c = new btMultiBodyLinkCollider(m.tree, m.link);
  c->setCollisionShape(shape_of(m.def));
  surface(c);
  c->setWorldTransform(btTransform(btQuaternion::getIdentity(), vec(m.def.x)));
  if (m.link < 0)
    m.tree->setBaseCollider(c);
  else
    m.tree->getLink(m.link).m_collider = c;
  w->world.addCollisionObject(c);
  colliders.push_back(c);
}

btMultiBody *tree_of(int root, int links)
{
  const Body &b = member[root].def;
  const bool fixed = member[root].kind != FREE;
  auto *tree = new btMultiBody(links, fixed ? 0 : b.mass,
                               fixed ? btVector3(0, 0, 0) : inertia_of(b, shape_of(b)), fixed,
                               false);
  tree->setLinearDamping(0);
  tree->setAngularDamping(0);
  tree->setMaxCoordinateVelocity(1e30);
  trees.push_back(tree);
  return tree;
}

/* Parents come before their children. */
void build()
{
  std::vector<int> links(member.size(), 0), used(member.size(), 0);
  built = true;
  for (size_t i = 0; i < member.size(); i++) links[root_of((int)i)] += member[i].kind != FREE;
  for (size_t i = 0; i < member.size(); i++) {
    Member &m = member[i];
    const int root = root_of((int)i);
    if (links[root] == 0) {
      m.rigid = rigid(m.def, shape_of(m.def));
      continue;
    }
    m.tree = root == (int)i ? tree_of(root, links[root]) : member[root].tree;
    if (m.kind == FREE) continue;
    m.link = used[root]++;
    link((int)i);
  }
  for (btMultiBody *tree : trees) {
    tree->finalizeMultiDof();
    w->world.addMultiBody(tree);
  }
  for (size_t i = 0; i < member.size(); i++) {
    Member &m = member[i];
    if (m.tree == nullptr) continue;
    if (m.kind == FREE) {
      m.tree->setBaseWorldTransform(btTransform(btQuaternion::getIdentity(), vec(m.def.x)));
      m.tree->setBaseVel(vec(m.def.v));
      m.tree->setBaseOmega(vec(m.def.w));
    }
    collider((int)i);
    if (m.lower >= m.upper) continue;
    limits.push_back(new btMultiBodyJointLimitConstraint(m.tree, m.link, m.lower, m.upper));
    limits.back()->finalizeMultiDof();
    w->world.addMultiBodyConstraint(limits.back());
  }
}

void join(int a, int b, Kind kind, const double at[3])
{
  member[b].kind = kind;
  member[b].parent = a;
  for (int k = 0; k < 3; k++) member[b].at[k] = at[k];
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
  built = false;
  if (!plane) return;
  btRigidBody::btRigidBodyConstructionInfo info(0, nullptr,
                                                new btStaticPlaneShape(btVector3(0, 0, 1), 0));
  shapes.push_back(info.m_collisionShape);
  auto *floor = new btRigidBody(info);
  surface(floor);
  w->world.addRigidBody(floor);
}

int add(const Body &b)
{
  member.emplace_back();
  member.back().def = b;
  return (int)member.size() - 1;
}

void weld(int a, int b, const double at[3])
{
  join(a, b, FIXED, at);
}

void ball(int a, int b, const double at[3])
{
  join(a, b, BALL, at);
}

void hinge(int b, const double at[3], double lower, double upper)
{
  join(-1, b, HINGE, at);
  member[b].lower = lower;
  member[b].upper = upper;
}

void slide(int b)
{
  join(-1, b, SLIDE, member[b].def.x);
}

void step()
{
  if (!built) build();
  for (Member &m : member) {
    const btVector3 f = vec(m.def.force);
    if (m.rigid != nullptr) m.rigid->applyCentralForce(f);
    if (m.tree != nullptr && m.link >= 0) m.tree->addLinkForce(m.link, f);
    if (m.tree != nullptr && m.link < 0) m.tree->addBaseForce(f);
  }
  w->world.stepSimulation(step_size, 0);
}

State get(int i)
{
  if (!built) build();
  const Member &m = member[i];
  btTransform t;
  btVector3 v, omega;
  if (m.rigid != nullptr) {
    t = m.rigid->getCenterOfMassTransform();
    v = m.rigid->getLinearVelocity();
    omega = m.rigid->getAngularVelocity();
  } else {
    btAlignedObjectArray<btQuaternion> turn;
    btAlignedObjectArray<btVector3> origin, turning, going;
    m.tree->forwardKinematics(turn, origin);
    turning.resize(m.tree->getNumLinks() + 1);
    going.resize(m.tree->getNumLinks() + 1);
    m.tree->compTreeLinkVelocities(&turning[0], &going[0]); /* in the frames of the links */
    t = m.link < 0 ? m.tree->getBaseWorldTransform()
                   : m.tree->getLink(m.link).m_cachedWorldTransform;
    v = t.getBasis() * going[m.link + 1];
    omega = t.getBasis() * turning[m.link + 1];
  }
  State s;
  const btQuaternion q = t.getRotation();
  for (int k = 0; k < 3; k++) s.x[k] = t.getOrigin()[k], s.v[k] = v[k], s.w[k] = omega[k];
  s.q[0] = q.w(), s.q[1] = q.x(), s.q[2] = q.y(), s.q[3] = q.z();
  return s;
}

void close()
{
  for (auto *l : limits) w->world.removeMultiBodyConstraint(l), delete l;
  for (auto *c : colliders) w->world.removeCollisionObject(c), delete c;
  for (auto *t : trees) w->world.removeMultiBody(t), delete t;
  for (int i = w->world.getNumCollisionObjects() - 1; i >= 0; i--) {
    auto *b = btRigidBody::upcast(w->world.getCollisionObjectArray()[i]);
    w->world.removeRigidBody(b);
    delete b;
  }
  for (auto *s : shapes) delete s;
  limits.clear();
  colliders.clear();
  trees.clear();
  shapes.clear();
  member.clear();
  delete w;
}
} // namespace engine
