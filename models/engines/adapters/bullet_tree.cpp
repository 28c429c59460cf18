/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies of joints as multibodies of Bullet: Featherstone's articulated bodies in coordinates of the joints. */
#include "models/engines/adapters/bullet.hpp"
#include "models/engines/adapters/tree.hpp"

#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointLimitConstraint.h>
#include <BulletDynamics/Featherstone/btMultiBodyJointMotor.h>
#include <cmath>

namespace {

btMultiBodyDynamicsWorld &multi(bullet_world &s)
{
  return static_cast<btMultiBodyDynamicsWorld &>(*s.world);
}

perp_engine_state start_of(const bullet_world &s, int b)
{
  return b >= 0 ? s.w->body[b].start : perp_engine_state{ { 0 }, { 1 }, 0, { 0 }, { 0 } };
}

btTransform start_pose(const bullet_world &s, int b)
{
  const perp_engine_state state = start_of(s, b);
  return b >= 0 ? btTransform(bullet_turn(state.quat) * s.principal(b), bullet_vector(state.x))
                : btTransform::getIdentity();
}

perp_status link_setup(perp_ctx *ctx, bullet_world &s, int b)
{
  bullet_link &l = s.link[b];
  const perp_engine_joint &j = s.w->joint[l.joint];
  const btTransform child = start_pose(s, b), parent = start_pose(s, l.parent);
  const int above = l.parent < 0 ? -1 : s.link[l.parent].link;
  l.sign = j.b == b ? 1 : -1;
  /* from the centre of mass to the joint, in the child and in the parent */
  const btVector3 pivot = s.own(b, j.b == b ? j.anchor_b : j.anchor_a);
  const btVector3 from = parent.invXform(child * pivot);
  l.axis = l.sign * quatRotate(child.getRotation().inverse(), bullet_vector(j.along));
  l.zero = child.getRotation().inverse() * parent.getRotation();
  l.x0 = parent.invXform(child.getOrigin());
  const double mass = s.w->body[b].mass;
  switch (j.kind) {
  case PERP_JOINT_BALL:
    l.tree->setupSpherical(l.link, mass, s.moment(b), above, l.zero, from, -pivot, false);
    break;
  case PERP_JOINT_HINGE:
    l.tree->setupRevolute(l.link, mass, s.moment(b), above, l.zero, l.axis, from, -pivot, false);
    break;
  case PERP_JOINT_SLIDER:
    l.tree->setupPrismatic(l.link, mass, s.moment(b), above, l.zero, l.axis, from, -pivot, false);
    break;
  case PERP_JOINT_FIXED:
    l.tree->setupFixed(l.link, mass, s.moment(b), above, l.zero, from, -pivot, false);
    break;
  default:
    return s.w->fail(ctx, PERP_ERR_UNSUPPORTED,
                     "engine bullet with bodies=featherstone supports ball joints, hinges, sliders "
                     "and fixed joints only: use bodies=maximal");
  }
  return PERP_OK;
}

/* Limits and motors are constraints of the world, which looks for them at the colliders of links. */
perp_status link_drives(perp_ctx *ctx, bullet_world &s, int b)
{
  const bullet_link &l = s.link[b];
  const perp_engine_joint &j = s.w->joint[l.joint];
  for (int k = 0; k < j.n_drives; k++) {
    const perp_engine_drive &d = s.w->drive[j.first_drive + k];
    if (d.restitution > 0 || (j.kind != PERP_JOINT_HINGE && j.kind != PERP_JOINT_SLIDER))
      return s.w->fail(ctx, PERP_ERR_UNSUPPORTED,
                       "engine bullet with bodies=featherstone supports limits of hinges and "
                       "sliders without restitution only");
    if (std::isfinite(d.lower) || std::isfinite(d.upper))
      s.drive.emplace_back(new btMultiBodyJointLimitConstraint(
          l.tree, l.link, std::fmax(d.lower, -1e10), std::fmin(d.upper, 1e10)));
    if (d.max_force > 0)
      s.drive.emplace_back(
          new btMultiBodyJointMotor(l.tree, l.link, d.velocity, d.max_force * s.w->h));
  }
  return PERP_OK;
}

void collider(bullet_world &s, int b)
{
  const bullet_link &l = s.link[b];
  auto *c = new btMultiBodyLinkCollider(l.tree, l.link);
  c->setCollisionShape(bullet_shape(s, b));
  c->setCollisionFlags(c->getCollisionFlags() | btCollisionObject::CF_CUSTOM_MATERIAL_CALLBACK);
  c->setUserIndex(b);
  c->setActivationState(DISABLE_DEACTIVATION);
  if (l.link < 0)
    l.tree->setBaseCollider(c);
  else
    l.tree->getLink(l.link).m_collider = c;
  s.fixed.emplace_back(c);
  s.world->addCollisionObject(c);
}

/* Coordinate and rate of the joint of b from states. */
void link_set(bullet_world &s, const perp_engine_state *state, int b)
{
  const bullet_link &l = s.link[b];
  const perp_joint_kind kind = s.w->joint[l.joint].kind;
  const btTransform child = s.pose(b, state), parent = s.pose(l.parent, state);
  btVector3 w = bullet_vector(state[b].w), v = bullet_vector(state[b].v);
  if (l.parent >= 0) {
    const perp_engine_state &p = state[l.parent];
    w -= bullet_vector(p.w);
    v -= bullet_vector(p.v) + bullet_vector(p.w).cross(child.getOrigin() - bullet_vector(p.x));
  }
  const btQuaternion back = child.getRotation().inverse();
  btQuaternion turn = back * parent.getRotation() * l.zero.inverse(); /* back by the coordinate */
  const btVector3 own = quatRotate(back, w);
  if (kind == PERP_JOINT_BALL) {
    const double q[4] = { -turn.x(), -turn.y(), -turn.z(), turn.w() };
    const double rate[3] = { own.x(), own.y(), own.z() };
    l.tree->setJointPosMultiDof(l.link, q);
    l.tree->setJointVelMultiDof(l.link, rate);
  } else if (kind == PERP_JOINT_HINGE) {
    const btVector3 axis = l.axis;
    const double angle = -2 *
                         std::atan2(btVector3(turn.x(), turn.y(), turn.z()).dot(axis), turn.w());
    l.tree->setJointPos(l.link, std::remainder(angle, 2 * M_PI));
    l.tree->setJointVel(l.link, own.dot(axis));
  } else if (kind == PERP_JOINT_SLIDER) {
    const btVector3 way = quatRotate(l.zero, parent.invXform(child.getOrigin()) - l.x0);
    l.tree->setJointPos(l.link, way.dot(l.axis));
    l.tree->setJointVel(l.link, quatRotate(back, v).dot(l.axis));
  }
}

} // namespace

perp_status bullet_trees(perp_ctx *ctx, bullet_world &s)
{
  const engine_tree t(*s.w);
  if (!t.loops.empty())
    return s.w->fail(ctx, PERP_ERR_UNSUPPORTED,
                     "engine bullet with bodies=featherstone supports trees of joints, no loops: "
                     "use bodies=maximal");
  std::vector<int> root(s.w->n_bodies), links(s.w->n_bodies, 0);
  for (const int b : t.order) {
    s.link[b].parent = t.parent[b];
    s.link[b].joint = t.joint[b];
    root[b] = t.parent[b] < 0 ? b : root[t.parent[b]];
    links[root[b]]++;
  }
  for (const int b : t.order) {
    bullet_link &l = s.link[b];
    if (l.parent >= 0) {
      l.tree = s.link[root[b]].tree;
      l.link = links[root[b]]++;
      if (l.tree != nullptr) PERP_TRY(link_setup(ctx, s, b));
      continue;
    }
    const bool fixed = l.joint >= 0;
    if (!fixed && links[b] == 1) continue; /* alone: a rigid body */
    auto *tree = new btMultiBody(fixed ? links[b] : links[b] - 1, fixed ? 0 : s.w->body[b].mass,
                                 fixed ? btVector3(0, 0, 0) : s.moment(b), fixed, false);
    tree->setLinearDamping(0); /* a model of perp has none */
    tree->setAngularDamping(0);
    tree->setMaxCoordinateVelocity(1e30);
    tree->setMaxAppliedImpulse(1e30);
    tree->setUseGyroTerm(s.o.gyroscopic);
    s.tree.emplace_back(tree);
    l.tree = tree;
    links[b] = 0;
    if (!fixed) continue;
    l.link = links[b]++;
    PERP_TRY(link_setup(ctx, s, b));
  }
  for (auto &tree : s.tree) {
    tree->finalizeMultiDof();
    multi(s).addMultiBody(tree.get());
  }
  for (int b = 0; b < s.w->n_bodies; b++)
    if (s.link[b].tree != nullptr) collider(s, b);
  for (int b = 0; b < s.w->n_bodies; b++)
    if (s.link[b].joint >= 0) PERP_TRY(link_drives(ctx, s, b));
  for (auto &d : s.drive) {
    d->finalizeMultiDof();
    multi(s).addMultiBodyConstraint(d.get());
  }
  return PERP_OK;
}

void bullet_trees_set(bullet_world &s, const perp_engine_state *state)
{
  for (int b = 0; b < s.w->n_bodies; b++) {
    const bullet_link &l = s.link[b];
    if (l.tree != nullptr && l.joint >= 0) link_set(s, state, b);
    if (l.tree == nullptr || l.joint >= 0) continue;
    l.tree->setBaseWorldTransform(s.pose(b, state));
    l.tree->setBaseVel(bullet_vector(state[b].v));
    l.tree->setBaseOmega(bullet_vector(state[b].w));
  }
  btAlignedObjectArray<btQuaternion> turn;
  btAlignedObjectArray<btVector3> origin;
  for (auto &tree : s.tree) {
    tree->forwardKinematics(turn, origin);
    tree->updateCollisionObjectWorldTransforms(turn, origin);
  }
}

void bullet_trees_get(bullet_world &s, perp_engine_state *state)
{
  btAlignedObjectArray<btQuaternion> turn;
  btAlignedObjectArray<btVector3> origin, w, v;
  const btMultiBody *last = nullptr;
  for (auto &tree : s.tree) tree->forwardKinematics(turn, origin);
  for (int b = 0; b < s.w->n_bodies; b++) {
    const bullet_link &l = s.link[b];
    if (l.tree == nullptr) continue;
    if (l.tree != last) {
      w.resize(l.tree->getNumLinks() + 1);
      v.resize(l.tree->getNumLinks() + 1);
      l.tree->compTreeLinkVelocities(&w[0], &v[0]);
      last = l.tree;
    }
    const btTransform T = l.link < 0 ? l.tree->getBaseWorldTransform()
                                     : l.tree->getLink(l.link).m_cachedWorldTransform;
    const btQuaternion q = T.getRotation() * s.principal(b).inverse();
    const btVector3 speed = T.getBasis() * v[l.link + 1], spin = T.getBasis() * w[l.link + 1];
    for (int k = 0; k < 3; k++) {
      state[b].x[k] = T.getOrigin()[k];
      state[b].v[k] = speed[k];
      state[b].w[k] = spin[k];
    }
    const double quat[4] = { q.w(), q.x(), q.y(), q.z() };
    for (int k = 0; k < 4; k++) state[b].quat[k] = quat[k];
  }
}
