/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DART.  Bodies have their own frames; a skeleton for each tree of joints, its joint frames along the axes of the world at the
 * start; balls and fixed joints that close loops are constraints. */
#include "models/engines/adapters/tree.hpp"
#include "models/engines/options.h"

#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <unordered_map>

#include <dart/collision/CollisionFilter.hpp>
#include <dart/collision/CollisionObject.hpp>
#include <dart/collision/dart/DARTCollisionDetector.hpp>
#include <dart/collision/fcl/FCLCollisionDetector.hpp>
#include <dart/constraint/BallJointConstraint.hpp>
#include <dart/constraint/BoxedLcpConstraintSolver.hpp>
#include <dart/constraint/ContactConstraint.hpp>
#include <dart/constraint/DantzigBoxedLcpSolver.hpp>
#include <dart/constraint/PgsBoxedLcpSolver.hpp>
#include <dart/constraint/WeldJointConstraint.hpp>
#include <dart/dynamics/BallJoint.hpp>
#include <dart/dynamics/BodyNode.hpp>
#include <dart/dynamics/BoxShape.hpp>
#include <dart/dynamics/CylinderShape.hpp>
#include <dart/dynamics/EllipsoidShape.hpp>
#include <dart/dynamics/FreeJoint.hpp>
#include <dart/dynamics/PrismaticJoint.hpp>
#include <dart/dynamics/RevoluteJoint.hpp>
#include <dart/dynamics/Skeleton.hpp>
#include <dart/dynamics/SphereShape.hpp>
#include <dart/dynamics/UniversalJoint.hpp>
#include <dart/dynamics/WeldJoint.hpp>
#include <dart/simulation/World.hpp>

namespace {

constexpr double CFM = 1e-5; /* of contacts, over the diagonal of the problem: that of DART */

using Eigen::Isometry3d, Eigen::Matrix3d, Eigen::Quaterniond, Eigen::Vector3d;
using namespace dart;

enum { FCL, PRIMITIVE, DART };
const char *const detector_name[] = { "fcl", "primitive", "dart" };

/* A solver of DART that remembers how it ended. */
template <class Base> struct counted : Base {
  int solved = 0, failed = 0;
  bool solve(int n, double *A, double *x, double *b, int nub, double *lo, double *hi, int *index,
             bool early) override
  {
    const bool good = Base::solve(n, A, x, b, nub, lo, hi, index, early);
    (good ? solved : failed)++;
    return good;
  }
};

struct dart_world : collision::CollisionFilter {
  const perp_engine_world *w;
  perp_engine_dart_opts o;
  engine_tree tree;
  simulation::WorldPtr world;
  std::shared_ptr<counted<constraint::DantzigBoxedLcpSolver>> dantzig;
  std::shared_ptr<counted<constraint::PgsBoxedLcpSolver>> pgs;
  std::vector<dynamics::SkeletonPtr> skeleton;
  std::vector<dynamics::BodyNode *> body;
  std::unordered_map<const dynamics::ShapeFrame *, int> shape;

  dart_world(const perp_engine_world *from, const perp_engine_dart_opts *opts)
      : w(from), o(*opts), tree(*from)
  {
  }
  int shape_of(const collision::CollisionObject *object) const
  {
    return shape.at(object->getShapeFrame());
  }
  bool ignoresCollision(const collision::CollisionObject *a,
                        const collision::CollisionObject *b) const override
  {
    return !w->touches(w, shape_of(a), shape_of(b));
  }
};

const char *dart_version()
{
  return DART_VERSION;
}

Vector3d vector(const double v[3])
{
  return Vector3d(v[0], v[1], v[2]);
}

Isometry3d pose(const double x[3], const double q[4])
{
  Isometry3d T = Isometry3d::Identity();
  T.linear() = Quaterniond(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix();
  T.translation() = vector(x);
  return T;
}

/* of body b, or of the world */
Isometry3d pose_of(int b, const perp_engine_state *state)
{
  return b < 0 ? Isometry3d::Identity() : pose(state[b].x, state[b].quat);
}

/* ---- shapes ------------------------------------------------------------------------------------ */

void shape_add(dart_world &s, int i, dynamics::BodyNode *node, double mu, double e)
{
  const perp_engine_shape &shape = s.w->shape[i];
  const perp_shape_def &d = *shape.def;
  const double far = 100 * (1 + s.w->size);
  Isometry3d T = pose(shape.x, shape.quat), lie = Isometry3d::Identity();
  dynamics::ShapePtr made;
  switch (d.kind) {
  case PERP_SHAPE_SPHERE:
    made = std::make_shared<dynamics::SphereShape>(d.radius);
    break;
  case PERP_SHAPE_BOX:
    made = std::make_shared<dynamics::BoxShape>(2 * vector(d.half));
    break;
  case PERP_SHAPE_ELLIPSOID:
    made = std::make_shared<dynamics::EllipsoidShape>(2 * vector(d.half));
    break;
  case PERP_SHAPE_PLANE: /* as the detectors have none that all shapes meet */
    made = std::make_shared<dynamics::BoxShape>(Vector3d(2 * far, 2 * far, 2 * far));
    lie.translation().z() = -far;
    break;
  default: /* DART's lie along z */
    made = std::make_shared<dynamics::CylinderShape>(d.radius, d.length);
    lie.linear() = Eigen::AngleAxisd(M_PI_2, Vector3d::UnitY()).toRotationMatrix();
    break;
  }
  auto *shape_node = node->createShapeNodeWith<dynamics::CollisionAspect, dynamics::DynamicsAspect>(
      made);
  shape_node->setRelativeTransform(T * lie);
  shape_node->getDynamicsAspect()->setFrictionCoeff(mu);
  shape_node->getDynamicsAspect()->setRestitutionCoeff(e);
  s.shape[shape_node] = i;
}

/* The surface that all shapes get: DART takes the smaller friction and the product of restitutions, so that pairs can be
 * as perp has them only where all that may touch are alike. */
perp_status surface_find(perp_ctx *ctx, const dart_world &s, double *mu, double *e)
{
  const perp_engine_world &w = *s.w;
  bool any = false;
  *mu = *e = 0;
  for (int i = 0; i < w.n_shapes; i++)
    for (int k = 0; k < i; k++) {
      if (!w.touches(&w, k, i)) continue;
      const perp_surface pair = w.pair(&w, k, i);
      if (any && (pair.mu != *mu || pair.restitution != *e))
        return w.fail(ctx, PERP_ERR_UNSUPPORTED,
                      "engine dart supports one friction and restitution for all pairs of shapes "
                      "that may touch");
      any = true;
      *mu = pair.mu;
      *e = pair.restitution;
    }
  *e = std::sqrt(*e);
  return PERP_OK;
}

perp_status shapes_add(perp_ctx *ctx, dart_world &s)
{
  const perp_engine_world &w = *s.w;
  double mu, e;
  PERP_TRY(surface_find(ctx, s, &mu, &e));
  dynamics::BodyNode *ground = nullptr;
  for (int i = 0; i < w.n_shapes; i++) {
    const perp_shape_kind kind = w.shape[i].def->kind;
    if (s.o.detector == DART && kind != PERP_SHAPE_SPHERE && kind != PERP_SHAPE_BOX &&
        kind != PERP_SHAPE_PLANE)
      return w.fail(ctx, PERP_ERR_UNSUPPORTED,
                    "engine dart with detector=dart supports spheres, boxes and half-spaces only");
    const int b = w.shape[i].def->body;
    if (b < 0 && ground == nullptr) {
      auto skeleton = s.skeleton.emplace_back(dynamics::Skeleton::create("ground"));
      ground = skeleton->createJointAndBodyNodePair<dynamics::WeldJoint>().second;
      skeleton->setMobile(false);
    }
    shape_add(s, i, b < 0 ? ground : s.body[b], mu, e);
  }
  /* with their shapes: what comes later is found in an order of addresses, another one each time */
  for (const dynamics::SkeletonPtr &skeleton : s.skeleton) s.world->addSkeleton(skeleton);
  return PERP_OK;
}

/* ---- bodies and joints ------------------------------------------------------------------------- */

/* Frames of the joint that holds b, parallel to the world at the start. */
void joint_frames(const dart_world &s, int b, Isometry3d &in_parent, Isometry3d &in_child)
{
  const engine_link l = s.tree.link(*s.w, b);
  const perp_engine_state &c = s.w->body[b].start;
  const Isometry3d child = pose(c.x, c.quat);
  Isometry3d at = Isometry3d::Identity(), parent = at;
  at.translation() = child * vector(l.sign > 0 ? l.j->anchor_b : l.j->anchor_a);
  if (l.parent >= 0) parent = pose(s.w->body[l.parent].start.x, s.w->body[l.parent].start.quat);
  in_parent = parent.inverse() * at;
  in_child = child.inverse() * at;
}

template <class Joint>
dynamics::BodyNode *joint_make(const dart_world &s, const dynamics::SkeletonPtr &skeleton, int b,
                               typename Joint::Properties p)
{
  joint_frames(s, b, p.mT_ParentBodyToJoint, p.mT_ChildBodyToJoint);
  p.mName = "joint " + std::to_string(b); /* or DART says on standard output that it makes others */
  dynamics::BodyNode *parent = s.tree.parent[b] < 0 ? nullptr : s.body[s.tree.parent[b]];
  return skeleton->createJointAndBodyNodePair<Joint>(parent, p).second;
}

dynamics::BodyNode *joint_of(const dart_world &s, const dynamics::SkeletonPtr &skeleton, int b)
{
  const engine_link l = s.tree.link(*s.w, b);
  const Vector3d along = l.sign * vector(l.j->along), across = l.sign * vector(l.j->across);
  switch (l.j->kind) {
  case PERP_JOINT_BALL:
    return joint_make<dynamics::BallJoint>(s, skeleton, b, {});
  case PERP_JOINT_HINGE: {
    dynamics::RevoluteJoint::Properties p;
    p.mAxis = along;
    return joint_make<dynamics::RevoluteJoint>(s, skeleton, b, p);
  }
  case PERP_JOINT_SLIDER: {
    dynamics::PrismaticJoint::Properties p;
    p.mAxis = along;
    return joint_make<dynamics::PrismaticJoint>(s, skeleton, b, p);
  }
  case PERP_JOINT_UNIVERSAL: { /* the first axis is fixed in the parent */
    dynamics::UniversalJoint::Properties p;
    p.mAxis = { l.sign > 0 ? along : across, l.sign > 0 ? across : along };
    return joint_make<dynamics::UniversalJoint>(s, skeleton, b, p);
  }
  default:
    return joint_make<dynamics::WeldJoint>(s, skeleton, b, {});
  }
}

perp_status drives_add(perp_ctx *ctx, const dart_world &s, int b)
{
  const engine_link l = s.tree.link(*s.w, b);
  dynamics::Joint *joint = s.body[b]->getParentJoint();
  for (int k = 0; k < l.j->n_drives; k++) {
    const perp_engine_drive &d = s.w->drive[l.j->first_drive + k];
    if (joint->getNumDofs() != 1 || d.restitution > 0)
      return s.w->fail(ctx, PERP_ERR_UNSUPPORTED,
                       "the adapter of engine dart supports limits without restitution and motors, "
                       "of hinges and sliders only");
    joint->setLimitEnforcement(true);
    joint->setPositionLowerLimit(0, d.lower);
    joint->setPositionUpperLimit(0, d.upper);
    if (d.max_force <= 0) continue;
    joint->setActuatorType(dynamics::Joint::SERVO);
    joint->setForceLowerLimit(0, -d.max_force);
    joint->setForceUpperLimit(0, d.max_force);
    joint->setCommand(0, d.velocity);
  }
  return PERP_OK;
}

perp_status bodies_add(perp_ctx *ctx, dart_world &s)
{
  s.body.resize(s.w->n_bodies);
  for (const int b : s.tree.order) {
    const perp_engine_body &d = s.w->body[b];
    const int parent = s.tree.parent[b];
    char name[32];
    std::snprintf(name, sizeof name, "body %d", b); /* or DART says that it makes others */
    if (parent < 0) s.skeleton.push_back(dynamics::Skeleton::create(name));
    auto skeleton = parent < 0 ? s.skeleton.back() : s.body[parent]->getSkeleton();
    s.body[b] = s.tree.joint[b] >= 0
                    ? joint_of(s, skeleton, b)
                    : skeleton->createJointAndBodyNodePair<dynamics::FreeJoint>().second;
    s.body[b]->setName(name);
    const double *I = d.inertia;
    s.body[b]->setInertia(dynamics::Inertia(
        d.mass, Vector3d::Zero(),
        (Matrix3d() << I[0], I[3], I[6], I[1], I[4], I[7], I[2], I[5], I[8]).finished()));
    s.body[b]->setExtForce(vector(d.force)); /* stays, as steps do not reset */
  }
  for (const int b : s.tree.order)
    if (s.tree.joint[b] >= 0) PERP_TRY(drives_add(ctx, s, b));
  return PERP_OK;
}

perp_status loops_add(perp_ctx *ctx, dart_world &s)
{
  for (const int i : s.tree.loops) {
    const perp_engine_joint &j = s.w->joint[i];
    dynamics::BodyNode *a = s.body[j.a >= 0 ? j.a : j.b],
                       *b = j.a >= 0 && j.b >= 0 ? s.body[j.b] : nullptr;
    constraint::ConstraintBasePtr loop;
    if (j.kind == PERP_JOINT_BALL && b != nullptr)
      loop = std::make_shared<constraint::BallJointConstraint>(a, b, vector(j.at));
    else if (j.kind == PERP_JOINT_BALL)
      loop = std::make_shared<constraint::BallJointConstraint>(a, vector(j.at));
    else if (j.kind == PERP_JOINT_FIXED && b != nullptr)
      loop = std::make_shared<constraint::WeldJointConstraint>(a, b);
    else if (j.kind == PERP_JOINT_FIXED)
      loop = std::make_shared<constraint::WeldJointConstraint>(a);
    if (loop == nullptr || j.n_drives > 0)
      return s.w->fail(ctx, PERP_ERR_UNSUPPORTED,
                       "engine dart supports loops closed by ball joints and fixed joints only");
    s.world->getConstraintSolver()->addConstraint(loop);
  }
  return PERP_OK;
}

/* ---- states ------------------------------------------------------------------------------------ */

double turn_about(const Vector3d &axis, const Matrix3d &R)
{
  const Quaterniond q(R);
  return std::remainder(2 * std::atan2(axis.dot(q.vec()), q.w()), 2 * M_PI);
}

/* Coordinates and rates of the joint that holds b. */
void joint_set(const dart_world &s, const perp_engine_state *state, int b)
{
  dynamics::Joint *joint = s.body[b]->getParentJoint();
  const engine_link l = s.tree.link(*s.w, b);
  const Isometry3d child = pose_of(b, state), parent = pose_of(l.parent, state);
  const Isometry3d from = parent * joint->getTransformFromParentBodyNode(),
                   to = child * joint->getTransformFromChildBodyNode();
  const Matrix3d R = from.linear().transpose() * to.linear();
  Vector3d w = vector(state[b].w), v = vector(state[b].v);
  if (l.parent >= 0) {
    const perp_engine_state &p = state[l.parent];
    w -= vector(p.w);
    v -= vector(p.v) + vector(p.w).cross(vector(state[b].x) - vector(p.x));
  }
  w = to.linear().transpose() * w; /* in the child's frame of the joint */
  if (auto *ball = dynamic_cast<dynamics::BallJoint *>(joint)) {
    ball->setPositions(dynamics::BallJoint::convertToPositions(R));
    ball->setVelocities(w);
  } else if (auto *hinge = dynamic_cast<dynamics::RevoluteJoint *>(joint)) {
    hinge->setPosition(0, turn_about(hinge->getAxis(), R));
    hinge->setVelocity(0, hinge->getAxis().dot(w));
  } else if (auto *slider = dynamic_cast<dynamics::PrismaticJoint *>(joint)) {
    const Vector3d axis = from.linear() * slider->getAxis();
    slider->setPosition(0, axis.dot(to.translation() - from.translation()));
    slider->setVelocity(0, axis.dot(v));
  } else if (auto *universal = dynamic_cast<dynamics::UniversalJoint *>(joint)) {
    const Vector3d first = universal->getAxis1(), second = universal->getAxis2(), now = R * second;
    const double q1 = std::atan2(first.dot(second.cross(now)), second.dot(now));
    const Matrix3d back = Eigen::AngleAxisd(-q1, first).toRotationMatrix() * R;
    const double q2 = turn_about(second, back);
    /* w = R' first q1' + second q2', and both are perpendicular */
    universal->setPositions(Eigen::Vector2d(q1, q2));
    universal->setVelocities(Eigen::Vector2d((R.transpose() * first).dot(w), second.dot(w)));
  }
}

void dart_set(void *at, const perp_engine_state *state)
{
  const auto &s = *static_cast<dart_world *>(at);
  for (const int b : s.tree.order) {
    if (s.tree.joint[b] >= 0) {
      joint_set(s, state, b);
      continue;
    }
    auto *joint = static_cast<dynamics::FreeJoint *>(s.body[b]->getParentJoint());
    joint->setTransform(pose_of(b, state));
    joint->setLinearVelocity(vector(state[b].v));
    joint->setAngularVelocity(vector(state[b].w));
  }
}

void dart_get(void *at, perp_engine_state *state)
{
  const auto &s = *static_cast<dart_world *>(at);
  for (int b = 0; b < s.w->n_bodies; b++) {
    const Isometry3d &T = s.body[b]->getWorldTransform();
    const Quaterniond q(T.linear());
    const Vector3d v = s.body[b]->getLinearVelocity(), w = s.body[b]->getAngularVelocity();
    const double quat[4] = { q.w(), q.x(), q.y(), q.z() };
    for (int k = 0; k < 4; k++) state[b].quat[k] = quat[k];
    for (int k = 0; k < 3; k++) {
      state[b].x[k] = T.translation()[k];
      state[b].v[k] = v[k];
      state[b].w[k] = w[k];
    }
  }
}

/* ---- building and marching --------------------------------------------------------------------- */

void dart_destroy(void *at)
{
  delete static_cast<dart_world *>(at);
}

void solver_make(dart_world &s)
{
  constraint::BoxedLcpSolverPtr first, second;
  s.dantzig = std::make_shared<counted<constraint::DantzigBoxedLcpSolver>>();
  s.pgs = std::make_shared<counted<constraint::PgsBoxedLcpSolver>>();
  auto option = s.pgs->getOption();
  option.mMaxIteration = s.o.iterations;
  s.pgs->setOption(option);
  if (s.o.solver == 0) {
    first = s.dantzig;
    second = s.pgs;
  } else {
    first = s.pgs;
  }
  auto solver = std::make_unique<constraint::BoxedLcpConstraintSolver>(first, second);
  if (s.o.detector == DART) {
    solver->setCollisionDetector(collision::DARTCollisionDetector::create());
  } else {
    auto fcl = collision::FCLCollisionDetector::create();
    /* DART warns of primitive shapes with each world; docs/how-to/engines.md tells it once */
    std::streambuf *errors = std::cerr.rdbuf(nullptr);
    fcl->setPrimitiveShapeType(s.o.detector == FCL ? collision::FCLCollisionDetector::MESH
                                                   : collision::FCLCollisionDetector::PRIMITIVE);
    std::cerr.rdbuf(errors);
    fcl->setContactPointComputationMethod(collision::FCLCollisionDetector::DART);
    solver->setCollisionDetector(fcl);
  }
  solver->getCollisionOption().maxNumContacts = 1000 + 100 * (size_t)s.w->n_shapes;
  /* it does not own the filter */
  solver->getCollisionOption().collisionFilter = std::shared_ptr<collision::CollisionFilter>(
      std::shared_ptr<void>(), &s);
  s.world->setConstraintSolver(std::move(solver));
  constraint::ContactConstraint::setErrorReductionParameter(s.o.erp);
  constraint::ContactConstraint::setConstraintForceMixing(CFM);
}

perp_status dart_create(perp_ctx *ctx, const perp_engine_world *w, const void *opts, void **at)
{
  *at = nullptr;
  try {
    auto s = std::make_unique<dart_world>(w, static_cast<const perp_engine_dart_opts *>(opts));
    s->world = simulation::World::create();
    s->world->setGravity(Vector3d(0, 0, -w->gravity));
    s->world->setTimeStep(w->h);
    solver_make(*s);
    PERP_TRY(bodies_add(ctx, *s));
    PERP_TRY(shapes_add(ctx, *s));
    PERP_TRY(loops_add(ctx, *s));
    *at = s.release();
  } catch (const std::bad_alloc &) {
    return w->fail(ctx, PERP_ERR_NOMEM, "no memory for a world of DART");
  }
  return PERP_OK;
}

perp_status dart_step(perp_ctx *, void *at, double h)
{
  auto &s = *static_cast<dart_world *>(at);
  if (s.world->getTimeStep() != h) s.world->setTimeStep(h);
  s.dantzig->solved = s.dantzig->failed = s.pgs->solved = s.pgs->failed = 0;
  s.world->step(false); /* motors keep their commands */
  return PERP_OK;
}

perp_reason dart_ended(void *at, int *iterations)
{
  const auto &s = *static_cast<dart_world *>(at);
  *iterations = 0;
  if (s.dantzig->failed > 0) return PERP_SINGULAR; /* whatever the sweeps made of it */
  if (s.pgs->failed > 0) return PERP_MAX_ITER;
  if (s.dantzig->solved > 0) return PERP_EXACT;
  return s.pgs->solved > 0 ? PERP_CONVERGED : PERP_RUNNING;
}

int dart_contacts(void *at, perp_engine_contact *contact, int most)
{
  const auto &s = *static_cast<dart_world *>(at);
  int n = 0;
  for (const collision::Contact &c : s.world->getLastCollisionResult().getContacts()) {
    if (n == most) break;
    const int i = s.shape_of(c.collisionObject1), k = s.shape_of(c.collisionObject2);
    const double sign = i < k ? -1 : 1; /* DART's normal and force are those on its first */
    perp_engine_contact &to = contact[n++];
    to.shape_a = std::min(i, k);
    to.shape_b = std::max(i, k);
    to.gap = -c.penetrationDepth;
    for (int e = 0; e < 3; e++) {
      to.p[e] = c.point[e];
      to.n[e] = sign * c.normal[e];
      to.impulse[e] = sign * c.force[e] * s.world->getTimeStep();
    }
  }
  return n;
}

double dart_energy(void *at)
{
  const auto &s = *static_cast<dart_world *>(at);
  double sum = 0;
  for (size_t i = 0; i < s.world->getNumSkeletons(); i++) {
    const auto skeleton = s.world->getSkeleton(i);
    if (skeleton->isMobile())
      sum += skeleton->computeKineticEnergy() + skeleton->computePotentialEnergy();
  }
  return sum;
}

void dart_resolved(void *at, char *text, size_t size)
{
  const auto &s = *static_cast<dart_world *>(at);
  char solver[64];
  const int most = s.pgs->getOption().mMaxIteration;
  if (s.o.solver == 0)
    std::snprintf(solver, sizeof solver, "dantzig (pgs where it fails), iterations=%d", most);
  else
    std::snprintf(solver, sizeof solver, "pgs, iterations=%d", most);
  std::snprintf(text, size, "solver=%s, detector=%s (%s), erp=%g, cfm=%g", solver,
                detector_name[s.o.detector],
                s.world->getConstraintSolver()->getCollisionDetector()->getType().c_str(),
                constraint::ContactConstraint::getErrorReductionParameter(),
                constraint::ContactConstraint::getConstraintForceMixing());
}

const perp_engine_calls calls = {
  .abi = PERP_ABI,
  .layout = PERP_ENGINE_LAYOUT,
  .version = dart_version,
  .create = dart_create,
  .set = dart_set,
  .step = dart_step,
  .get = dart_get,
  .ended = dart_ended,
  .contacts = dart_contacts,
  .energy = dart_energy,
  .resolved = dart_resolved,
  .destroy = dart_destroy,
};

} // namespace

PERP_ENGINE_ADAPTER(calls);
