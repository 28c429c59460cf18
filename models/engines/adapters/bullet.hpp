/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A world of Bullet.  Its bodies have their principal axes: frame of Bullet = frame of perp turned by `principal`. */
#ifndef PERP_ENGINE_BULLET_HPP
#define PERP_ENGINE_BULLET_HPP

#include "models/engines/engine.h"
#include "models/engines/options.h"

#include <BulletDynamics/Featherstone/btMultiBody.h>
#include <BulletDynamics/Featherstone/btMultiBodyConstraint.h>
#include <BulletDynamics/Featherstone/btMultiBodyLinkCollider.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>
#include <btBulletDynamicsCommon.h>
#include <memory>
#include <vector>

inline btVector3 bullet_vector(const double v[3])
{
  return btVector3(v[0], v[1], v[2]);
}
inline btQuaternion bullet_turn(const double q[4])
{
  return btQuaternion(q[1], q[2], q[3], q[0]);
}

struct bullet_world;

/* What a shape of Bullet knows of itself, for the callbacks. */
struct bullet_tag {
  const bullet_world *world;
  int shape;
};

struct bullet_filter : btOverlapFilterCallback { /* of pairs of objects */
  bool needBroadphaseCollision(btBroadphaseProxy *a, btBroadphaseProxy *b) const override;
};

/* A body as a link of a multibody. */
struct bullet_link {
  btMultiBody *tree = nullptr;
  int link = -1; /* -1: the base */
  int joint = -1, parent = PERP_WORLD;
  double sign = 1;    /* of the joint's coordinate, -1: this is the body a of the joint */
  btQuaternion zero;  /* from the parent to this at the start */
  btVector3 axis, x0; /* in this frame; this less its parent at the start, in the parent */
};

struct bullet_world {
  const perp_engine_world *w;
  perp_engine_bullet_opts o;
  btDefaultCollisionConfiguration config;
  btCollisionDispatcher dispatcher;
  btDbvtBroadphase broad;
  bullet_filter filter;
  std::unique_ptr<btMLCPSolverInterface> lcp;
  std::unique_ptr<btConstraintSolver> solver;
  std::unique_ptr<btDiscreteDynamicsWorld> world;
  std::vector<bullet_tag> tag; /* [shapes] */
  std::vector<std::unique_ptr<btCollisionShape>> shapes;
  std::vector<btCollisionShape *> shape_of;       /* [bodies] */
  std::vector<std::unique_ptr<btRigidBody>> body; /* [bodies]; empty: it is a link */
  std::vector<std::unique_ptr<btCollisionObject>>
      fixed; /* shapes of the world, colliders of links */
  std::vector<std::unique_ptr<btTypedConstraint>> joint;
  std::vector<bullet_link> link; /* [bodies] */
  std::vector<std::unique_ptr<btMultiBody>> tree;
  std::vector<std::unique_ptr<btMultiBodyConstraint>> drive;
  double h = 0;
  int fallbacks = 0; /* steps whose linear complementarity problem Bullet gave to its sweeps */

  bullet_world(const perp_engine_world *from, const perp_engine_bullet_opts *opts)
      : w(from), o(*opts), dispatcher(&config)
  {
  }
  ~bullet_world();

  btQuaternion principal(int b) const { return bullet_turn(w->body[b].principal); }
  btVector3 moment(int b) const { return bullet_vector(w->body[b].moment); }
  /* pose of body b, of the world, at a state */
  btTransform pose(int b, const perp_engine_state *state) const
  {
    if (b < 0) return btTransform::getIdentity();
    return btTransform(bullet_turn(state[b].quat) * principal(b), bullet_vector(state[b].x));
  }
  /* a vector of perp's frame of b in that of Bullet */
  btVector3 own(int b, const double v[3]) const
  {
    return b < 0 ? bullet_vector(v) : quatRotate(principal(b).inverse(), bullet_vector(v));
  }
};

/* The shapes of body b as one; where it has none, one that meets nothing: Bullet asks for it. */
btCollisionShape *bullet_shape(bullet_world &s, int b);
/* bullet_joints.cpp: constraints between rigid bodies; bullet_tree.cpp: multibodies.  What they cannot is told. */
perp_status bullet_joints(perp_ctx *ctx, bullet_world &s);
perp_status bullet_trees(perp_ctx *ctx, bullet_world &s);
void bullet_trees_set(bullet_world &s, const perp_engine_state *state);
void bullet_trees_get(bullet_world &s, perp_engine_state *state);

#endif
