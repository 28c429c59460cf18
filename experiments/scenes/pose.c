/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `pose` of a scene file: the state of the bodies turned about their joints, before it becomes the
 * initial one.
 *
 * A ball joint is three hinges in one point (perp_drive_axis in model.h): with the axes n_a of a
 * and n_b of b and the node n_a x n_b, all as they are before, its angles grow by a, node and b
 * when what hangs on its body b is turned by
 *
 *      R(n_a, a) R(node, node) R(n_b, b)
 *
 * about the point of the joint. */
#include "experiments/scenes/parts.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

/* A joint between two bodies, as its entry says; kind -1: one of a plug-in, which carries nothing
 * along. */
struct link {
  int kind;
  perp_joint_def def;
};
struct poser {
  perp_named named;
  struct link *link; /* [named.n] */
  int *head, *next,
      *to; /* of a body: its first link end, of an end: the next one and where it leads; -1: none */
  int *queue;    /* [bodies] those that are carried along */
  bool *carried; /* [bodies] */
};

/* ---- what hangs on what ---- */

static void pose_link(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  struct poser *poser = user;
  struct link link = { .kind = -1 };
  const perp_node *kind = perp_tree_get(entry, "kind"), *name = perp_tree_get(entry, "name");
  for (int i = 0; kind != NULL && kind->type == PERP_NODE_SCALAR && link.kind < 0 &&
                  perp_scene_joint_kinds[i] != NULL;
       i++)
    if (strcmp(kind->text, perp_scene_joint_kinds[i]) == 0) link.kind = i;
  if (link.kind >= 0 && !perp_scene_joint_read(reader, entry, &link.def)) return;
  const char *called = name != NULL ? perp_values_text(&reader->values, name) : NULL;
  const int i = perp_named_add(reader, &poser->named, "joint", called, entry);
  if (i < 0) return;
  poser->link = perp_pool_grown(reader->pool, poser->link, i, sizeof *poser->link);
  poser->link[i] = link;
}

/* All that hang on a body, itself first, but for what the joint `without` joins to it; their
 * number. */
static int pose_carry(const perp_scene_reader *reader, struct poser *poser, int body, int without)
{
  int n = 0;
  memset(poser->carried, 0, (size_t)reader->bodies.n * sizeof *poser->carried);
  poser->queue[n++] = body;
  poser->carried[body] = true;
  for (int k = 0; k < n; k++)
    for (int e = poser->head[poser->queue[k]]; e >= 0; e = poser->next[e])
      if (e / 2 != without && !poser->carried[poser->to[e]]) {
        poser->carried[poser->to[e]] = true;
        poser->queue[n++] = poser->to[e];
      }
  return n;
}

/* ---- turning ---- */

/* q becomes that of the turn by an angle about a unit axis, then q */
static void pose_turn(const double axis[3], double angle, double q[4])
{
  double by[4] = { cos(angle / 2) }, of[4];
  for (int i = 0; i < 3; i++) by[1 + i] = sin(angle / 2) * axis[i];
  memcpy(of, q, sizeof of);
  perp_quat_product(by, of, q);
}

static bool pose_unit(perp_scene_reader *reader, const perp_node *entry, const double x[3],
                      double unit[3])
{
  const double length = sqrt(perp_dot(3, x, x));
  for (int i = 0; i < 3; i++) unit[i] = x[i] / length;
  if (length > 1e-12) return true;
  PERP_SCENE_WRONG(reader, entry,
                   "the joint has no such angle here: its axes are parallel or not defined");
  return false;
}

/* The place and orientation of a body now, in space; of the world. */
static void pose_of(const perp_scene_reader *reader, int body, perp_pose *pose)
{
  static const perp_body_def world = { .quat = { 1 } };
  const perp_body_def *def = body == PERP_WORLD ? &world : &reader->body[body].def;
  double q[7];
  memcpy(q, def->x, 3 * sizeof *q);
  memcpy(q + 3, def->quat, 4 * sizeof *q);
  if (reader->dim == 2) q[2] = def->angle;
  perp_pose_of(reader->dim, q, pose);
}

/* The first n of the queue by the turn about a point of the world, and then moved. */
static void pose_move(perp_scene_reader *reader, const struct poser *poser, int n,
                      const double about[3], const double quat[4], double angle,
                      const double move[3])
{
  perp_pose turn = { 0 };
  const double q[7] = { 0, 0, reader->dim == 2 ? angle : 0, quat[0], quat[1], quat[2], quat[3] };
  perp_pose_of(reader->dim, q, &turn);
  for (int k = 0; k < n; k++) {
    perp_body_def *def = &reader->body[poser->queue[k]].def;
    double arm[3] = { 0 }, turned[3] = { 0 }, before[4];
    for (int i = 0; i < reader->dim; i++) arm[i] = def->x[i] - about[i];
    perp_turn(reader->dim, turn.R, arm, turned);
    for (int i = 0; i < reader->dim; i++) def->x[i] = about[i] + turned[i] + move[i];
    def->angle += angle;
    memcpy(before, def->quat, sizeof before);
    perp_quat_product(quat, before, def->quat);
  }
}

/* ---- entries ---- */

struct pose {
  int body;
  double a, node, b, move[3], angle, v[3];
};
static const perp_key pose_keys[] = { PERP_KEY_SPECIAL("joint"),
                                      PERP_KEY_REAL(struct pose, a, "a", "rad"),
                                      PERP_KEY_REAL(struct pose, node, "node", "rad"),
                                      PERP_KEY_REAL(struct pose, b, "b", "rad"),
                                      PERP_KEY_OF(struct pose, body, "body", PERP_KEY_BODY),
                                      PERP_KEY_REALS(struct pose, move, "move", "m", 3),
                                      PERP_KEY_REAL(struct pose, angle, "angle", "rad"),
                                      PERP_KEY_SPECIAL("turn"),
                                      PERP_KEY_REALS(struct pose, v, "v", "m/s", 3),
                                      PERP_KEY_SPECIAL("spin"),
                                      PERP_KEYS_ENTRY,
                                      PERP_KEYS_END };

static bool pose_has(const perp_node *entry, const char *key)
{
  return perp_tree_get(entry, key) != NULL;
}

static void pose_joint(perp_scene_reader *reader, struct poser *poser, const perp_node *entry,
                       const struct pose *given)
{
  static const double still[3] = { 0 };
  const perp_node *who = perp_tree_get(entry, "joint");
  const int link = perp_named_find(reader, &poser->named, "joint", false, who);
  if (link < 0) return;
  const perp_joint_def *def = &poser->link[link].def;
  const perp_joint_kind kind = poser->link[link].kind < 0 ? PERP_JOINT_PLUGIN : def->kind;
  const bool ball = kind == PERP_JOINT_BALL && reader->dim == 3,
             crossed = kind == PERP_JOINT_UNIVERSAL;
  if (!ball && !crossed && kind != PERP_JOINT_HINGE && kind != PERP_JOINT_BALL) {
    perp_diag_error(reader->diag, who, 0, "ball joints, hinges and universal joints have angles",
                    "this joint has no angle for a pose");
    return;
  }
  if ((!ball && pose_has(entry, "node")) || (!ball && !crossed && pose_has(entry, "b"))) {
    PERP_SCENE_WRONG(reader, entry, "this joint has only the angle%s",
                     crossed ? "s a and b" : " a");
    return;
  }
  if (def->b == PERP_WORLD) {
    PERP_SCENE_WRONG(reader, who,
                     "a pose rotates body b of a joint, but body b of this joint is the world");
    return;
  }
  const int n = pose_carry(reader, poser, def->b, link);
  if (def->a != PERP_WORLD && poser->carried[def->a]) {
    PERP_SCENE_WRONG(reader, who, "this joint is part of a closed loop, which a pose would open");
    return;
  }
  perp_pose A, B;
  double point[3] = { 0 }, quat[4] = { 1 }, na[3] = { 0 }, nb[3] = { 0 }, node[3], axis[3];
  pose_of(reader, def->a, &A);
  pose_of(reader, def->b, &B);
  perp_turn(reader->dim, B.R, def->anchor_b, point);
  for (int k = 0; k < reader->dim; k++) point[k] += B.x[k];
  if (reader->dim == 3) {
    perp_turn(3, A.R, def->axis_a, na);
    perp_turn(3, B.R, def->axis_b, nb);
    perp_cross(na, nb, node);
    if (given->b != 0 && (!pose_unit(reader, entry, nb, axis))) return;
    if (given->b != 0) pose_turn(axis, given->b, quat);
    if (given->node != 0 && (!pose_unit(reader, entry, node, axis))) return;
    if (given->node != 0) pose_turn(axis, given->node, quat);
    if (given->a != 0 && (!pose_unit(reader, entry, na, axis))) return;
    if (given->a != 0) pose_turn(axis, given->a, quat);
  }
  pose_move(reader, poser, n, point, quat, given->a, still);
  reader->turned[link][PERP_DRIVE_A] += given->a;
  reader->turned[link][PERP_DRIVE_B] += given->b;
  reader->turned[link][PERP_DRIVE_NODE] += given->node;
}

/* A body with all that hangs on it, as one rigid body: velocities too. */
static void pose_body(perp_scene_reader *reader, struct poser *poser, const perp_node *entry,
                      const struct pose *given)
{
  const perp_node *turn = perp_tree_get(entry, "turn"), *spin = perp_tree_get(entry, "spin");
  double quat[4] = { 1, 0, 0, 0 }, about[3], w[3] = { 0 }, none;
  if (pose_has(entry, reader->dim == 3 ? "angle" : "turn")) {
    PERP_SCENE_WRONG(reader, entry, "the body must be rotated by %s",
                     reader->dim == 3 ? "turn: { axis, angle } in space" : "an angle in the plane");
    return;
  }
  if (turn != NULL && !perp_scene_read_turn(reader, turn, quat, &none)) return;
  if (spin != NULL && !perp_scene_read_rate(reader, spin, w)) return;
  const int n = pose_carry(reader, poser, given->body, -1);
  memcpy(about, reader->body[given->body].def.x, sizeof about);
  pose_move(reader, poser, n, about, quat, given->angle, given->move);
  if (spin == NULL && !pose_has(entry, "v")) return;
  for (int k = 0; k < n; k++) {
    perp_body_def *def = &reader->body[poser->queue[k]].def;
    perp_pose pose = { 0 };
    double arm[3] = { 0 }, across[3];
    for (int i = 0; i < reader->dim; i++) arm[i] = def->x[i] - about[i] - given->move[i];
    perp_cross(w, arm, across);
    for (int i = 0; i < reader->dim; i++) def->v[i] = given->v[i] + across[i];
    pose_of(reader, poser->queue[k], &pose);
    if (reader->dim == 3)
      perp_turn_back(3, pose.R, w, def->w);
    else
      def->w[2] = w[2];
  }
}

static void pose_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  struct pose given = { .body = PERP_WORLD };
  static const char *const of_joint[] = { "a", "node", "b" }, *const of_body[] = { "move", "turn",
                                                                                   "angle", "v",
                                                                                   "spin" };
  if (!perp_keys_read(reader, entry, "pose", pose_keys, &given)) return;
  const bool joint = pose_has(entry, "joint");
  if (joint == pose_has(entry, "body")) {
    perp_diag_error(reader->diag, entry, 0,
                    "write { joint, a, node, b } or { body, move, turn, v, spin }",
                    "a pose needs either the key 'joint' or 'body'");
    return;
  }
  const char *const *others = joint ? of_body : of_joint;
  for (int i = 0; i < (joint ? 5 : 3); i++)
    if (pose_has(entry, others[i])) {
      PERP_SCENE_WRONG(reader, perp_tree_get(entry, others[i]), "%s is not allowed with %s",
                       others[i], joint ? "a joint" : "a body");
      return;
    }
  if (joint)
    pose_joint(reader, user, entry, &given);
  else if (given.body == PERP_WORLD)
    PERP_SCENE_WRONG(reader, perp_tree_get(entry, "body"), "the world cannot have a pose");
  else
    pose_body(reader, user, entry, &given);
}

void perp_scene_read_pose(perp_scene_reader *reader)
{
  const perp_node *section = perp_tree_get(reader->root, "pose");
  struct poser poser = { 0 };
  const int errors = reader->diag->errors;
  if (section == NULL) return;
  if (reader->section) {
    PERP_SCENE_WRONG(reader, section,
                     "a pose in space has no section: dim: 2 needs a pose of its own");
    return;
  }
  for (int body = 0; body < reader->bodies.n; body++) {
    perp_body_def *def = &reader->body[body].def;
    const double *q = def->quat;
    const double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int k = 0; k < 4; k++) def->quat[k] = length > 0 ? q[k] / length : k == 0;
    reader->body[body].before = *def;
  }
  reader->posed = true;
  perp_entries(reader, perp_tree_get(reader->root, "joints"), "joints", pose_link, &poser);
  if (reader->diag->errors > errors) return;
  reader->turned = perp_pool_alloc(reader->pool, (size_t)poser.named.n + 1, sizeof *reader->turned);
  const int n = reader->bodies.n, ends = 2 * poser.named.n;
  poser.head = perp_pool_alloc(reader->pool, (size_t)n, sizeof *poser.head);
  poser.queue = perp_pool_alloc(reader->pool, (size_t)n, sizeof *poser.queue);
  poser.carried = perp_pool_alloc(reader->pool, (size_t)n, sizeof *poser.carried);
  poser.next = perp_pool_alloc(reader->pool, (size_t)ends + 1, sizeof *poser.next);
  poser.to = perp_pool_alloc(reader->pool, (size_t)ends + 1, sizeof *poser.to);
  for (int i = 0; i < n; i++) poser.head[i] = -1;
  for (int end = 0; end < ends; end++) {
    const struct link *link = &poser.link[end / 2];
    const int from = end % 2 == 0 ? link->def.a : link->def.b;
    poser.to[end] = end % 2 == 0 ? link->def.b : link->def.a;
    if (link->kind < 0 || from == PERP_WORLD || poser.to[end] == PERP_WORLD) continue;
    poser.next[end] = poser.head[from];
    poser.head[from] = end;
  }
  perp_entries(reader, section, "pose", pose_entry, &poser);
}
