/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The joints of a world as trees, for engines whose bodies hang from each other: breadth first from the world, then from
 * each body that is left. */
#ifndef PERP_ENGINE_TREE_HPP
#define PERP_ENGINE_TREE_HPP

#include "models/engines/engine.h"

#include <vector>

struct engine_link { /* a body and the joint that holds it */
  int parent, sign;
  const perp_engine_joint *j;
};

struct engine_tree {
  std::vector<int> parent; /* [bodies] body, or PERP_WORLD */
  std::vector<int> joint;  /* [bodies] that holds it to its parent; -1: it is free */
  std::vector<int> order;  /* [bodies] parents first */
  std::vector<int> loops;  /* joints that close one */

  explicit engine_tree(const perp_engine_world &w)
      : parent(w.n_bodies, PERP_WORLD), joint(w.n_bodies, -1)
  {
    std::vector<bool> reached(w.n_bodies, false), used(w.n_joints, false);
    size_t next = 0;
    int free_from = 0;
    for (int from = PERP_WORLD;;) {
      for (int i = 0; i < w.n_joints; i++) {
        const perp_engine_joint &j = w.joint[i];
        const int to = j.a == from ? j.b : j.b == from ? j.a : PERP_WORLD;
        if (to < 0 || reached[to]) continue;
        reached[to] = used[i] = true;
        parent[to] = from;
        joint[to] = i;
        order.push_back(to);
      }
      if (next == order.size()) { /* nothing hangs from what was reached */
        while (free_from < w.n_bodies && reached[free_from]) free_from++;
        if (free_from == w.n_bodies) break;
        reached[free_from] = true;
        order.push_back(free_from);
      }
      from = order[next++];
    }
    for (int i = 0; i < w.n_joints; i++)
      if (!used[i]) loops.push_back(i);
  }

  /* of a body that a joint holds; sign: 1 where it is the second one of the joint */
  engine_link link(const perp_engine_world &w, int b) const
  {
    const perp_engine_joint *j = &w.joint[joint[b]];
    return { parent[b], j->b == b ? 1 : -1, j };
  }
};

#endif
