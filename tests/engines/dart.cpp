/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DART: free bodies and weld joints, its collision detector and its solver by default. */
#include "minimal.hpp"

#include <cmath>
#include <memory>
#include <dart/constraint/ConstraintSolver.hpp>
#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/BallJoint.hpp>
#include <dart/dynamics/BoxShape.hpp>
#include <dart/dynamics/FreeJoint.hpp>
#include <dart/dynamics/PrismaticJoint.hpp>
#include <dart/dynamics/RevoluteJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/dynamics/SphereShape.hpp>
#include <dart/dynamics/WeldJoint.hpp>
#include <dart/simulation/World.hpp>
#include <vector>

namespace {
using namespace dart;
simulation::WorldPtr world;
std::vector<dynamics::BodyNode *> body;
std::vector<Body> defs;
double friction, rebound;

dynamics::ShapePtr shape_of(const Body &b)
{
  if (b.radius > 0) return std::make_shared<dynamics::SphereShape>(b.radius);
  return std::make_shared<dynamics::BoxShape>(2 * Eigen::Vector3d(b.half[0], b.half[1], b.half[2]));
}

void surface(dynamics::BodyNode *node, const dynamics::ShapePtr &shape)
{
  auto *at = node->createShapeNodeWith<dynamics::CollisionAspect, dynamics::DynamicsAspect>(shape);
  at->getDynamicsAspect()->setFrictionCoeff(friction);
  at->getDynamicsAspect()->setRestitutionCoeff(std::sqrt(rebound)); /* of a pair: the product */
}

void fixed(const dynamics::ShapePtr &shape, const Eigen::Vector3d &x)
{
  auto skeleton = dynamics::Skeleton::create();
  auto *node = skeleton->createJointAndBodyNodePair<dynamics::WeldJoint>().second;
  Eigen::Isometry3d place = Eigen::Isometry3d::Identity();
  place.translation() = x;
  node->getParentJoint()->setTransformFromParentBodyNode(place);
  surface(node, shape);
  world->addSkeleton(skeleton);
}

dynamics::Inertia inertia_of(const Body &b)
{
  dynamics::Inertia I;
  I.setMass(b.mass);
  if (b.inertia[0] > 0)
    I.setMoment(Eigen::Vector3d(b.inertia[0], b.inertia[1], b.inertia[2]).asDiagonal());
  else
    I.setMoment(shape_of(b)->computeInertia(b.mass));
  return I;
}

/* b, added last, becomes a child of a by a joint at a point of the world */
template <class Joint> Joint *child(int a, int b, const double at[3])
{
  auto skeleton = body[b]->getSkeleton();
  world->removeSkeleton(skeleton);
  auto home = a < 0 ? dynamics::Skeleton::create() : body[a]->getSkeleton();
  dynamics::BodyNode *parent = a < 0 ? nullptr : body[a];
  auto made = home->createJointAndBodyNodePair<Joint>(parent);
  Eigen::Isometry3d before = Eigen::Isometry3d::Identity(), after = before;
  for (int i = 0; i < 3; i++) {
    before.translation()[i] = at[i] - (a < 0 ? 0 : defs[a].x[i]);
    after.translation()[i] = at[i] - defs[b].x[i];
  }
  made.first->setTransformFromParentBodyNode(before);
  made.first->setTransformFromChildBodyNode(after);
  made.second->setInertia(inertia_of(defs[b]));
  if (defs[b].radius > 0 || defs[b].half[0] > 0) surface(made.second, shape_of(defs[b]));
  body[b] = made.second;
  if (a < 0) world->addSkeleton(home);
  return made.first;
}
} // namespace

namespace engine {
const bool planar = false, rebounds = true,
           capsules = false; /* its detectors put balls in their place */

void open(const double g[3], double h, double mu, double e, bool plane)
{
  world = simulation::World::create();
  world->setGravity(Eigen::Vector3d(g[0], g[1], g[2]));
  world->setTimeStep(h);
  friction = mu;
  rebound = e;
  if (plane) { /* a large box: meshes have no half-space */
    auto slab = std::make_shared<dynamics::BoxShape>(Eigen::Vector3d(200, 200, 2));
    fixed(slab, Eigen::Vector3d(0, 0, -1));
  }
}

int add(const Body &b)
{
  const Eigen::Vector3d x(b.x[0], b.x[1], b.x[2]);
  defs.push_back(b);
  if (b.mass == 0) {
    fixed(shape_of(b), x);
    body.push_back(nullptr);
    return (int)body.size() - 1;
  }
  auto skeleton = dynamics::Skeleton::create();
  auto pair = skeleton->createJointAndBodyNodePair<dynamics::FreeJoint>();
  pair.second->setInertia(inertia_of(b));
  if (b.radius > 0 || b.half[0] > 0) surface(pair.second, shape_of(b));
  Eigen::Isometry3d place = Eigen::Isometry3d::Identity();
  place.translation() = x;
  pair.first->setTransform(place);
  pair.first->setLinearVelocity(Eigen::Vector3d(b.v[0], b.v[1], b.v[2]));
  pair.first->setAngularVelocity(Eigen::Vector3d(b.w[0], b.w[1], b.w[2]));
  world->addSkeleton(skeleton);
  body.push_back(pair.second);
  return (int)body.size() - 1;
}

void weld(int a, int b, const double at[3])
{
  child<dynamics::WeldJoint>(a, b, at);
}

void ball(int a, int b, const double at[3])
{
  child<dynamics::BallJoint>(a, b, at);
}

void slide(int b)
{
  child<dynamics::PrismaticJoint>(-1, b, defs[b].x)->setAxis(Eigen::Vector3d::UnitX());
}

void hinge(int b, const double at[3], double lower, double upper)
{
  auto *joint = child<dynamics::RevoluteJoint>(-1, b, at);
  joint->setAxis(-Eigen::Vector3d::UnitY());
  if (lower == upper) return;
  joint->setLimitEnforcement(true);
  joint->setPositionLowerLimit(0, lower);
  joint->setPositionUpperLimit(0, upper);
}

void step()
{
  for (size_t i = 0; i < body.size(); i++)
    if (body[i])
      body[i]->addExtForce(Eigen::Vector3d(defs[i].force[0], defs[i].force[1], defs[i].force[2]),
                           Eigen::Vector3d::Zero(), false, true);
  world->step();
}

State get(int i)
{
  State s;
  const Eigen::Isometry3d &place = body[i]->getTransform();
  const Eigen::Quaterniond q(place.linear());
  const Eigen::Vector3d v = body[i]->getLinearVelocity(), w = body[i]->getAngularVelocity();
  for (int k = 0; k < 3; k++) s.x[k] = place.translation()[k], s.v[k] = v[k], s.w[k] = w[k];
  s.q[0] = q.w(), s.q[1] = q.x(), s.q[2] = q.y(), s.q[3] = q.z();
  return s;
}

void close()
{
  world.reset();
  body.clear();
  defs.clear();
}
} // namespace engine
