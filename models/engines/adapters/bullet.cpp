/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bullet in doubles: its world, shapes and contacts. */
#include "models/engines/adapters/bullet.hpp"

#include <BulletCollision/CollisionDispatch/btCollisionObjectWrapper.h>
#include <BulletCollision/CollisionDispatch/btCompoundCompoundCollisionAlgorithm.h>
#include <BulletDynamics/ConstraintSolver/btNNCGConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraintSolver.h>
#include <BulletDynamics/Featherstone/btMultiBodyDynamicsWorld.h>
#include <BulletDynamics/Featherstone/btMultiBodyMLCPConstraintSolver.h>
#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace {

/* m: rounding radius within boxes and cylinders, Bullet's own (CONVEX_DISTANCE_MARGIN) */
const btScalar MARGIN = 0.04;
enum { SEQUENTIAL, NNCG, DANTZIG };
const char *const solver_name[] = { "sequential", "nncg", "dantzig" };

const char *bullet_version()
{
  static char text[16];
  std::snprintf(text, sizeof text, "%d.%02d", btGetVersion() / 100, btGetVersion() % 100);
  return text;
}

/* ---- pairs of shapes --------------------------------------------------------------------------- */

const bullet_tag *tag_of(const btCollisionShape *shape)
{
  return static_cast<const bullet_tag *>(shape->getUserPointer());
}

bool pair_touches(const btCollisionShape *a, const btCollisionShape *b)
{
  const bullet_tag *s = tag_of(a), *t = tag_of(b);
  if (s == nullptr || t == nullptr) return true; /* a compound: its children are asked again */
  return s->world->w->touches(s->world->w, s->shape, t->shape);
}

bool pair_meets(btManifoldPoint &point, const btCollisionObjectWrapper *a, int, int,
                const btCollisionObjectWrapper *b, int, int)
{
  const bullet_tag *s = tag_of(a->getCollisionShape()), *t = tag_of(b->getCollisionShape());
  const perp_surface pair = s->world->w->pair(s->world->w, s->shape, t->shape);
  point.m_combinedFriction = pair.mu;
  point.m_combinedRestitution = pair.restitution;
  point.m_index0 = s->shape;
  point.m_index1 = t->shape;
  return true;
}

/* ---- shapes ------------------------------------------------------------------------------------ */

/* A shape in its own frame but for a shift along x; NULL: the adapter does not know it. */
btCollisionShape *shape_make(const perp_shape_def &d, double *shift)
{
  btConvexInternalShape *shape = nullptr;
  double least = d.radius;
  switch (d.kind) {
  case PERP_SHAPE_SPHERE:
    return new btSphereShape(d.radius);
  case PERP_SHAPE_CAPSULE:
    return new btCapsuleShapeX(d.radius, d.length);
  case PERP_SHAPE_BOX:
    shape = new btBoxShape(bullet_vector(d.half));
    least = std::min({ d.half[0], d.half[1], d.half[2] });
    break;
  case PERP_SHAPE_CYLINDER:
    shape = new btCylinderShapeX(btVector3(0.5 * d.length, d.radius, d.radius));
    least = std::min(d.radius, 0.5 * d.length);
    break;
  case PERP_SHAPE_CONE:
    shape = new btConeShapeX(d.radius, d.length);
    *shift = 0.25 * d.length; /* its origin is halfway up */
    least = 0;                /* its margin would lie outside */
    break;
  case PERP_SHAPE_POLYTOPE: {
    auto *hull = new btConvexHullShape;
    for (int i = 0; i < d.n_vertices; i++) hull->addPoint(bullet_vector(d.vertices + 3 * i), false);
    hull->recalcLocalAabb();
    shape = hull;
    least = 0; /* likewise */
    break;
  }
  default:
    return nullptr;
  }
  shape->setMargin(std::min(MARGIN, 0.1 * least));
  return shape;
}

btCollisionShape *shape_keep(bullet_world &s, btCollisionShape *shape, int i)
{
  if (i >= 0) shape->setUserPointer(&s.tag[i]);
  s.shapes.emplace_back(shape);
  return shape;
}

/* All shapes of a body as one; NULL: none. */
btCollisionShape *shape_body(bullet_world &s, int b)
{
  std::vector<btCollisionShape *> part;
  std::vector<btTransform> place;
  for (int i = 0; i < s.w->n_shapes; i++) {
    const perp_engine_shape &shape = s.w->shape[i];
    if (shape.def->body != b) continue;
    double shift = 0;
    part.push_back(shape_keep(s, shape_make(*shape.def, &shift), i));
    const btTransform own(bullet_turn(shape.quat), bullet_vector(shape.x));
    place.push_back(btTransform(s.principal(b).inverse()) * own *
                    btTransform(btQuaternion::getIdentity(), btVector3(shift, 0, 0)));
  }
  if (part.empty()) return nullptr;
  if (part.size() == 1 && place[0].getOrigin().isZero() &&
      place[0].getBasis() == btMatrix3x3::getIdentity())
    return part[0];
  auto *all = new btCompoundShape;
  for (size_t k = 0; k < part.size(); k++) all->addChildShape(place[k], part[k]);
  return shape_keep(s, all, -1);
}

void shape_world(bullet_world &s, int i)
{
  const perp_engine_shape &shape = s.w->shape[i];
  btTransform T(bullet_turn(shape.quat), bullet_vector(shape.x));
  btCollisionShape *made;
  if (shape.def->kind == PERP_SHAPE_PLANE) {
    const btVector3 n = T.getBasis().getColumn(2);
    made = new btStaticPlaneShape(n, n.dot(T.getOrigin()));
    T.setIdentity();
  } else {
    double shift = 0;
    made = shape_make(*shape.def, &shift);
    T = T * btTransform(btQuaternion::getIdentity(), btVector3(shift, 0, 0));
  }
  shape_keep(s, made, i);
  btRigidBody::btRigidBodyConstructionInfo info(0, nullptr, made);
  info.m_startWorldTransform = T;
  auto *body = new btRigidBody(info);
  body->setUserIndex(PERP_WORLD);
  s.fixed.emplace_back(body);
  s.world->addRigidBody(body);
}

/* ---- building ---------------------------------------------------------------------------------- */

void body_make(bullet_world &s, int b)
{
  btRigidBody::btRigidBodyConstructionInfo info(s.w->body[b].mass, nullptr, bullet_shape(s, b),
                                                s.moment(b));
  const perp_engine_state &start = s.w->body[b].start;
  info.m_startWorldTransform = btTransform(bullet_turn(start.quat) * s.principal(b),
                                           bullet_vector(start.x));
  auto *body = new btRigidBody(info);
  body->setUserIndex(b);
  body->setActivationState(DISABLE_DEACTIVATION);
  body->setCollisionFlags(body->getCollisionFlags() |
                          btCollisionObject::CF_CUSTOM_MATERIAL_CALLBACK);
  if (!s.o.gyroscopic || s.moment(b).isZero()) body->setFlags(0);
  s.body[b].reset(body);
  s.world->addRigidBody(body);
}

void solver_make(bullet_world &s)
{
  const bool trees = s.o.bodies == 1;
  if (s.o.solver == DANTZIG) s.lcp.reset(new btDantzigSolver);
  if (trees) {
    auto *solver = s.lcp ? new btMultiBodyMLCPConstraintSolver(s.lcp.get())
                         : new btMultiBodyConstraintSolver;
    s.solver.reset(solver);
    s.world.reset(new btMultiBodyDynamicsWorld(&s.dispatcher, &s.broad, solver, &s.config));
  } else {
    s.solver.reset(s.lcp                ? new btMLCPSolver(s.lcp.get())
                   : s.o.solver == NNCG ? new btNNCGConstraintSolver
                                        : new btSequentialImpulseConstraintSolver);
    s.world.reset(new btDiscreteDynamicsWorld(&s.dispatcher, &s.broad, s.solver.get(), &s.config));
  }
  btContactSolverInfo &info = s.world->getSolverInfo();
  info.m_numIterations = s.o.iterations;
  info.m_erp = s.o.erp;
  info.m_erp2 = s.o.erp_contact;
  info.m_globalCfm = s.o.cfm;
  info.m_splitImpulse = s.o.split;
  info.m_restitutionVelocityThreshold = s.o.rebound_speed;
  const int own = info.m_solverMode & SOLVER_USE_2_FRICTION_DIRECTIONS;
  info.m_solverMode = SOLVER_SIMD | (s.o.warm ? SOLVER_USE_WARMSTARTING : 0) |
                      (s.o.directions == 0   ? own
                       : s.o.directions == 2 ? SOLVER_USE_2_FRICTION_DIRECTIONS
                                             : 0);
}

perp_status world_fill(perp_ctx *ctx, bullet_world &s)
{
  const perp_engine_world *w = s.w;
  gContactAddedCallback = pair_meets;
  gCompoundChildShapePairCallback = pair_touches;
  gCompoundCompoundChildShapePairCallback = pair_touches;
  solver_make(s);
  s.broad.getOverlappingPairCache()->setOverlapFilterCallback(&s.filter);
  s.world->setGravity(btVector3(0, 0, -w->gravity));
  for (int i = 0; i < w->n_shapes; i++) s.tag.push_back({ &s, i });
  s.shape_of.resize(w->n_bodies);
  s.body.resize(w->n_bodies);
  s.link.resize(w->n_bodies);
  for (int b = 0; b < w->n_bodies; b++) s.shape_of[b] = shape_body(s, b);
  for (int i = 0; i < w->n_shapes; i++)
    if (w->shape[i].def->body < 0) shape_world(s, i);
  if (s.o.bodies == 1) PERP_TRY(bullet_trees(ctx, s));
  for (int b = 0; b < w->n_bodies; b++)
    if (s.link[b].tree == nullptr) body_make(s, b);
  return s.o.bodies == 1 ? PERP_OK : bullet_joints(ctx, s);
}

void bullet_destroy(void *at)
{
  delete static_cast<bullet_world *>(at);
}

perp_status bullet_create(perp_ctx *ctx, const perp_engine_world *w, const void *opts, void **at)
{
  const auto *o = static_cast<const perp_engine_bullet_opts *>(opts);
  *at = nullptr;
  if (o->bodies == 1 && o->solver == NNCG)
    return w->fail(ctx, PERP_ERR_UNSUPPORTED,
                   "engine bullet supports solver=nncg with bodies=maximal only");
  try {
    auto s = std::make_unique<bullet_world>(w, o);
    PERP_TRY(world_fill(ctx, *s));
    *at = s.release();
  } catch (const std::bad_alloc &) {
    return w->fail(ctx, PERP_ERR_NOMEM, "no memory for a world of Bullet");
  }
  return PERP_OK;
}

/* ---- marching ---------------------------------------------------------------------------------- */

void bullet_set(void *at, const perp_engine_state *state)
{
  auto &s = *static_cast<bullet_world *>(at);
  for (int b = 0; b < s.w->n_bodies; b++) {
    btRigidBody *body = s.body[b].get();
    if (body == nullptr) continue;
    body->setCenterOfMassTransform(s.pose(b, state));
    body->setLinearVelocity(bullet_vector(state[b].v));
    body->setAngularVelocity(bullet_vector(state[b].w));
    body->updateInertiaTensor();
  }
  bullet_trees_set(s, state);
}

perp_status bullet_step(perp_ctx *, void *at, double h)
{
  auto &s = *static_cast<bullet_world *>(at);
  s.h = h;
  for (int b = 0; b < s.w->n_bodies; b++) { /* Bullet forgets them after a step */
    const btVector3 force = bullet_vector(s.w->body[b].force);
    const bullet_link &l = s.link[b];
    if (s.body[b])
      s.body[b]->applyCentralForce(force);
    else if (l.link < 0)
      l.tree->addBaseForce(force);
    else
      l.tree->addLinkForce(l.link, force);
  }
  s.world->stepSimulation(h, 0);
  return PERP_OK;
}

void bullet_get(void *at, perp_engine_state *state)
{
  auto &s = *static_cast<bullet_world *>(at);
  for (int b = 0; b < s.w->n_bodies; b++) {
    const btRigidBody *body = s.body[b].get();
    if (body == nullptr) continue;
    const btTransform &T = body->getCenterOfMassTransform();
    const btQuaternion q = T.getRotation() * s.principal(b).inverse();
    const double quat[4] = { q.w(), q.x(), q.y(), q.z() };
    for (int k = 0; k < 4; k++) state[b].quat[k] = quat[k];
    for (int k = 0; k < 3; k++) {
      state[b].x[k] = T.getOrigin()[k];
      state[b].v[k] = body->getLinearVelocity()[k];
      state[b].w[k] = body->getAngularVelocity()[k];
    }
  }
  bullet_trees_get(s, state);
}

int contact_points(const bullet_world &s)
{
  int n = 0;
  for (int i = 0; i < s.dispatcher.getNumManifolds(); i++)
    n += s.dispatcher.getManifoldByIndexInternal(i)->getNumContacts();
  return n;
}

perp_reason bullet_ended(void *at, int *iterations)
{
  auto &s = *static_cast<bullet_world *>(at);
  *iterations = 0;
  if (s.joint.empty() && s.drive.empty() && contact_points(s) == 0) return PERP_RUNNING;
  if (s.lcp != nullptr) {
    const int before = s.fallbacks;
    s.fallbacks = s.o.bodies == 1
                      ? static_cast<btMultiBodyMLCPConstraintSolver &>(*s.solver).getNumFallbacks()
                      : static_cast<btMLCPSolver &>(*s.solver).getNumFallbacks();
    return s.fallbacks > before ? PERP_SINGULAR : PERP_EXACT;
  }
  *iterations = s.o.iterations;
  return PERP_SWEEPS_DONE;
}

int bullet_contacts(void *at, perp_engine_contact *contact, int most)
{
  auto &s = *static_cast<bullet_world *>(at);
  int n = 0;
  for (int i = 0; i < s.dispatcher.getNumManifolds(); i++) {
    const btPersistentManifold &m = *s.dispatcher.getManifoldByIndexInternal(i);
    for (int k = 0; k < m.getNumContacts() && n < most; k++) {
      const btManifoldPoint &p = m.getContactPoint(k);
      /* its normal is that of the second object, towards the first */
      const bool first = p.m_index0 < p.m_index1;
      const double sign = first ? -1 : 1;
      const btVector3 on_a = p.m_appliedImpulse * p.m_normalWorldOnB +
                             p.m_appliedImpulseLateral1 * p.m_lateralFrictionDir1 +
                             p.m_appliedImpulseLateral2 * p.m_lateralFrictionDir2;
      const btVector3 place = 0.5 * (p.getPositionWorldOnA() + p.getPositionWorldOnB());
      perp_engine_contact &c = contact[n++];
      c.shape_a = first ? p.m_index0 : p.m_index1;
      c.shape_b = first ? p.m_index1 : p.m_index0;
      c.gap = p.getDistance();
      for (int e = 0; e < 3; e++) {
        c.p[e] = place[e];
        c.n[e] = sign * p.m_normalWorldOnB[e];
        c.impulse[e] = sign * on_a[e];
      }
    }
  }
  return n;
}

void bullet_resolved(void *at, char *text, size_t size)
{
  const auto &s = *static_cast<bullet_world *>(at);
  const btContactSolverInfo &info = s.world->getSolverInfo();
  char solver[48];
  if (s.lcp)
    std::snprintf(solver, sizeof solver, "%s", solver_name[s.o.solver]);
  else
    std::snprintf(solver, sizeof solver, "%s, iterations=%d", solver_name[s.o.solver],
                  info.m_numIterations);
  std::snprintf(text, size,
                "doubles, bodies=%s, solver=%s, erp=%g, erp_contact=%g, cfm=%g, split=%s, warm=%s, "
                "directions=%d, rebound_speed=%g, gyroscopic=%s",
                s.o.bodies == 1 ? "featherstone" : "maximal", solver, info.m_erp, info.m_erp2,
                info.m_globalCfm, info.m_splitImpulse ? "true" : "false",
                info.m_solverMode & SOLVER_USE_WARMSTARTING ? "true" : "false",
                info.m_solverMode & SOLVER_USE_2_FRICTION_DIRECTIONS ? 2 : 1,
                info.m_restitutionVelocityThreshold, s.o.gyroscopic ? "true" : "false");
}

const perp_engine_calls calls = {
  .abi = PERP_ABI,
  .layout = PERP_ENGINE_LAYOUT,
  .version = bullet_version,
  .create = bullet_create,
  .set = bullet_set,
  .step = bullet_step,
  .get = bullet_get,
  .ended = bullet_ended,
  .contacts = bullet_contacts,
  .energy = nullptr,
  .resolved = bullet_resolved,
  .destroy = bullet_destroy,
};

} // namespace

/* Joints before bodies, bodies before shapes. */
bullet_world::~bullet_world()
{
  auto *multi = o.bodies == 1 ? static_cast<btMultiBodyDynamicsWorld *>(world.get()) : nullptr;
  for (auto &d : drive) multi->removeMultiBodyConstraint(d.get());
  for (auto &t : tree) multi->removeMultiBody(t.get());
  for (auto &j : joint) world->removeConstraint(j.get());
  for (auto &b : body)
    if (b) world->removeRigidBody(b.get());
  for (auto &f : fixed) world->removeCollisionObject(f.get());
  drive.clear();
  joint.clear();
  fixed.clear();
  tree.clear();
}

btCollisionShape *bullet_shape(bullet_world &s, int b)
{
  if (s.shape_of[b] == nullptr) s.shape_of[b] = shape_keep(s, new btEmptyShape, -1);
  return s.shape_of[b];
}

bool bullet_filter::needBroadphaseCollision(btBroadphaseProxy *a, btBroadphaseProxy *b) const
{
  const auto *p = static_cast<const btCollisionObject *>(a->m_clientObject),
             *q = static_cast<const btCollisionObject *>(b->m_clientObject);
  if (p->getUserIndex() == q->getUserIndex() ||
      p->getCollisionShape()->getShapeType() == EMPTY_SHAPE_PROXYTYPE ||
      q->getCollisionShape()->getShapeType() == EMPTY_SHAPE_PROXYTYPE)
    return false;
  return pair_touches(p->getCollisionShape(), q->getCollisionShape());
}

PERP_ENGINE_ADAPTER(calls);
