/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/import/robot_tree.h"

#include "experiments/import/robot_inertia.h"
#include "experiments/import/robot_mesh.h"
#include "experiments/import/robot_search.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

enum { MOST_IN_A_ROW = 1000 };

struct perp_tree_file {
  const char *file;
  double scale[3];
  int asset;
};

/* ---- poses ---- */

void perp_tree_identity(perp_tree_pose *pose)
{
  *pose = (perp_tree_pose){ .quat = { 1 } };
}

static void tree_turn(const double quat[4], const double s[3], double y[3])
{
  double R[9], p[3];
  perp_quat_matrix(quat, R);
  for (int i = 0; i < 3; i++) p[i] = R[i] * s[0] + R[i + 3] * s[1] + R[i + 6] * s[2];
  memcpy(y, p, sizeof p);
}

static void tree_turn_back(const double quat[4], const double s[3], double y[3])
{
  const double back[4] = { quat[0], -quat[1], -quat[2], -quat[3] };
  tree_turn(back, s, y);
}

void perp_tree_times(const perp_tree_pose *a, const perp_tree_pose *b, perp_tree_pose *ab)
{
  perp_tree_pose c;
  tree_turn(a->quat, b->x, c.x);
  for (int i = 0; i < 3; i++) c.x[i] += a->x[i];
  perp_quat_product(a->quat, b->quat, c.quat);
  perp_quat_unit(c.quat);
  *ab = c;
}

void perp_tree_between(const perp_tree_pose *a, const perp_tree_pose *b, perp_tree_pose *ab)
{
  const double back[4] = { a->quat[0], -a->quat[1], -a->quat[2], -a->quat[3] };
  perp_tree_pose c;
  for (int i = 0; i < 3; i++) c.x[i] = b->x[i] - a->x[i];
  tree_turn(back, c.x, c.x);
  perp_quat_product(back, b->quat, c.quat);
  perp_quat_unit(c.quat);
  *ab = c;
}

void perp_tree_rpy(const double xyz[3], const double rpy[3], perp_tree_pose *pose)
{
  const double a[4] = { cos(rpy[0] / 2), sin(rpy[0] / 2), 0, 0 },
               b[4] = { cos(rpy[1] / 2), 0, sin(rpy[1] / 2), 0 },
               c[4] = { cos(rpy[2] / 2), 0, 0, sin(rpy[2] / 2) };
  double cb[4];
  memcpy(pose->x, xyz, sizeof pose->x);
  perp_quat_product(c, b, cb);
  perp_quat_product(cb, a, pose->quat);
  perp_quat_unit(pose->quat);
}

/* ---- elements ---- */

perp_tree_link *perp_tree_add_link(perp_tree *tree, const char *name, const xmlNode *at)
{
  if (tree->n_links == PERP_TREE_LINKS) {
    perp_xml_refuse(tree->robot, at, "divide the file", "it has more than %d links",
                    PERP_TREE_LINKS);
    return NULL;
  }
  tree->link = perp_pool_grown(&tree->robot->pool, tree->link, tree->n_links, sizeof *tree->link);
  perp_tree_link *link = &tree->link[tree->n_links++];
  *link = (perp_tree_link){ .name = name, .at = at, .carrier = -1, .body = -1 };
  perp_tree_identity(&link->pose);
  return link;
}

perp_tree_joint *perp_tree_add_joint(perp_tree *tree, const char *name, const xmlNode *at)
{
  if (tree->n_joints == 2 * PERP_TREE_LINKS) {
    perp_xml_refuse(tree->robot, at, "divide the file", "it has more than %d joints",
                    2 * PERP_TREE_LINKS);
    return NULL;
  }
  tree->joint = perp_pool_grown(&tree->robot->pool, tree->joint, tree->n_joints,
                                sizeof *tree->joint);
  perp_tree_joint *joint = &tree->joint[tree->n_joints++];
  *joint = (perp_tree_joint){ .name = name, .at = at, .parent = PERP_TREE_WORLD, .number = -1 };
  perp_tree_identity(&joint->pose);
  return joint;
}

perp_robot_joint *perp_tree_add_axis(perp_tree_joint *joint, perp_robot_joint_kind kind,
                                     const double axis[3])
{
  perp_robot_joint *one = &joint->axis[joint->n++];
  *one = (perp_robot_joint){ .name = joint->name, .kind = kind };
  memcpy(one->axis, axis, sizeof one->axis);
  if (kind == PERP_ROBOT_BALL) one->q[0] = 1;
  if (kind == PERP_ROBOT_FREE) one->q[3] = 1;
  return one;
}

perp_robot_geom *perp_tree_add_geom(perp_tree *tree, perp_tree_link *link,
                                    perp_robot_geom_kind kind, const perp_tree_pose *pose)
{
  /* the defaults are those of the robot: of its last geom, taken back */
  const perp_robot_geom own = *perp_robot_add_geom(tree->robot, 0, kind);
  tree->robot->n_geoms--;
  link->geom = perp_pool_grown(&tree->robot->pool, link->geom, link->n_geoms, sizeof *link->geom);
  perp_robot_geom *geom = &link->geom[link->n_geoms++];
  *geom = own;
  memcpy(geom->x, pose->x, sizeof geom->x);
  memcpy(geom->quat, pose->quat, sizeof geom->quat);
  return geom;
}

int perp_tree_find_link(const perp_tree *tree, const char *name)
{
  int link = tree->n_links - 1;
  while (link >= 0 && strcmp(tree->link[link].name, name) != 0) link--;
  return link;
}

int perp_tree_find_joint(const perp_tree *tree, const char *name)
{
  int joint = tree->n_joints - 1;
  while (joint >= 0 && strcmp(tree->joint[joint].name, name) != 0) joint--;
  return joint;
}

void perp_tree_inertial(perp_tree_link *link, double mass, const double inertia[6],
                        const perp_tree_pose *pose)
{
  const double own[9] = { inertia[0], inertia[3], inertia[4], inertia[3], inertia[1],
                          inertia[5], inertia[4], inertia[5], inertia[2] };
  double R[9], RI[9];
  perp_quat_matrix(pose->quat, R);
  link->inertial = true;
  link->mass = mass;
  memcpy(link->com, pose->x, sizeof link->com);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      RI[i + 3 * j] = 0;
      for (int k = 0; k < 3; k++) RI[i + 3 * j] += R[i + 3 * k] * own[k + 3 * j];
    }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int k = 0; k < 3; k++) sum += RI[i + 3 * k] * R[j + 3 * k];
      link->inertia[i + 3 * j] = link->inertia[j + 3 * i] = sum;
    }
}

int perp_tree_mesh(perp_tree *tree, const char *folder, const char *name, const double scale[3],
                   const xmlNode *at)
{
  perp_robot *robot = tree->robot;
  const char *in = perp_xml_file(at);
  const int line = perp_xml_line(at);
  const char *file = perp_robot_find(robot, folder, name, "mesh", in, line);
  if (file == NULL) return -1;
  for (int i = 0; i < tree->n_files; i++)
    if (strcmp(tree->file[i].file, file) == 0 &&
        memcmp(tree->file[i].scale, scale, sizeof tree->file[i].scale) == 0)
      return tree->file[i].asset;
  perp_robot_mesh *mesh = perp_robot_mesh_load(robot, file, scale, in, line);
  if (mesh == NULL) return -1;
  const char *slash = strrchr(file, '/');
  mesh->name = perp_pool_strdup(&robot->pool, slash != NULL ? slash + 1 : file);
  tree->file = perp_pool_grown(&robot->pool, tree->file, tree->n_files, sizeof *tree->file);
  struct perp_tree_file *kept = &tree->file[tree->n_files++];
  *kept = (struct perp_tree_file){ .file = file, .asset = (int)(mesh - robot->mesh) };
  memcpy(kept->scale, scale, sizeof kept->scale);
  return kept->asset;
}

/* ---- what is said ---- */

enum { NAMES = 6 };

struct perp_tree_said {
  bool lost;
  const char *what, *name[NAMES];
  int n;
};

void perp_tree_say(perp_tree *tree, bool lost, const char *what, const char *whose)
{
  int i = 0;
  while (i < tree->n_said && strcmp(tree->said[i].what, what) != 0) i++;
  if (i == tree->n_said) {
    tree->said = perp_pool_grown(&tree->robot->pool, tree->said, tree->n_said, sizeof *tree->said);
    tree->said[tree->n_said++] = (struct perp_tree_said){ .lost = lost, .what = what };
  }
  struct perp_tree_said *said = &tree->said[i];
  if (said->n < NAMES) said->name[said->n] = whose;
  said->n++;
}

void perp_tree_tell(perp_tree *tree)
{
  for (int i = 0; i < tree->n_said; i++) {
    const struct perp_tree_said *said = &tree->said[i];
    perp_text names = { 0 };
    const int shown = said->n <= NAMES ? said->n : NAMES - 1;
    for (int k = 0; k < shown; k++) perp_text_add(&names, "%s%s", k > 0 ? ", " : "", said->name[k]);
    if (said->n > shown) perp_text_add(&names, " and %d others", said->n - shown);
    if (said->lost)
      perp_robot_lost(tree->robot, "%s: %s", said->what, names.s);
    else
      perp_robot_note(tree->robot, "%s: %s", said->what, names.s);
    perp_text_free(&names);
  }
}

/* ---- mass ---- */

/* As MuJoCo has it: a link that says nothing of its mass has that of its shapes, as of water. */
static void tree_mass(perp_tree *tree, perp_tree_link *link)
{
  perp_robot_body body = { 0 };
  if (link->inertial || link->n_geoms == 0) return;
  for (int g = 0; g < link->n_geoms; g++) {
    perp_robot_solid solid;
    const perp_robot_geom *geom = &link->geom[g];
    perp_robot_solid_of(tree->robot, geom, false, PERP_ROBOT_INSIDE_LEGACY, &solid);
    if (!(solid.volume > 0)) continue;
    perp_robot_solid_place(&solid, geom->x, geom->quat);
    perp_robot_body_add(&body, 1000 * solid.volume, &solid);
  }
  link->mass = body.mass;
  memcpy(link->com, body.com, sizeof link->com);
  memcpy(link->inertia, body.inertia, sizeof link->inertia);
  if (link->mass > 0)
    perp_robot_note(tree->robot,
                    "link %s has no <inertial>: its mass, %.4g kg, is that of its collision shapes "
                    "at 1000 kg/m^3, as in MuJoCo",
                    link->name, link->mass);
}

/* Does a rigid body have that inertia?  The largest moment is at most the sum of both others. */
static void tree_check_inertia(perp_tree *tree, const perp_tree_link *link)
{
  double value[3], V[9];
  if (!(link->mass > 0)) return;
  perp_robot_eigen(link->inertia, value, V);
  if (value[0] < -1e-9 * fabs(value[2]))
    perp_xml_refuse(tree->robot, link->at, "correct its <inertia>",
                    "link '%s': its inertia is not positive definite: a principal moment is %.4g "
                    "kg m^2",
                    link->name, value[0]);
  else if (value[0] + value[1] < value[2] * (1 - 1e-9))
    perp_robot_note(tree->robot,
                    "link %s: no rigid body has its inertia (principal moments %.4g, %.4g, %.4g "
                    "kg m^2: the largest exceeds the sum of the others); it is used as it is",
                    link->name, value[0], value[1], value[2]);
}

/* ---- the tree ---- */

/* What moves as one: a link and all that fixed joints carry on it. */
typedef struct tree_cluster {
  double mass;
  int n_geoms, n_moving, moving; /* joints to others; the last one of them */
} tree_cluster;

static void tree_gather(const perp_tree *tree, int link, tree_cluster *all)
{
  all->mass += tree->link[link].mass;
  all->n_geoms += tree->link[link].n_geoms;
  for (int j = 0; j < tree->n_joints; j++) {
    const perp_tree_joint *joint = &tree->joint[j];
    if (joint->parent != link || tree->link[joint->child].carrier != j) continue;
    if (joint->n == 0)
      tree_gather(tree, joint->child, all);
    else {
      all->n_moving++;
      all->moving = j;
    }
  }
}

/* Pose of a link of a cluster in the frame of its first link. */
static void tree_in_cluster(const perp_tree *tree, int first, int link, perp_tree_pose *pose)
{
  perp_tree_identity(pose);
  for (int at = link; at != first; at = tree->joint[tree->link[at].carrier].parent)
    perp_tree_times(&tree->joint[tree->link[at].carrier].pose, pose, pose);
}

/* Joints of links without mass, that a body has before its own. */
typedef struct tree_chain {
  int n;
  perp_robot_joint axis[6];
  int joint[6]; /* of the tree; its first axis only, else -1 */
} tree_chain;

static void tree_emit(perp_tree *tree, int link, int parent, const perp_tree_pose *pose,
                      tree_chain *chain);

static bool tree_chain_add(tree_chain *chain, const perp_tree_joint *joint, int j)
{
  for (int axis = 0; axis < joint->n; axis++) {
    if (chain->n == 6) return false;
    chain->joint[chain->n] = axis == 0 ? j : -1;
    chain->axis[chain->n++] = joint->axis[axis];
  }
  return true;
}

/* The joints of a chain as seen from the next link, at `step` in the one that they were in. */
static void tree_chain_move(tree_chain *chain, const perp_tree_pose *step)
{
  for (int axis = 0; axis < chain->n; axis++) {
    double s[3];
    for (int i = 0; i < 3; i++) s[i] = chain->axis[axis].x[i] - step->x[i];
    tree_turn_back(step->quat, s, chain->axis[axis].x);
    tree_turn_back(step->quat, chain->axis[axis].axis, chain->axis[axis].axis);
  }
}

/* A link without mass that moves: between two joints it is none, else there is no equation for it.
 */
static void tree_massless(perp_tree *tree, int link, const tree_cluster *all, int parent,
                          const perp_tree_pose *pose, tree_chain *chain)
{
  const perp_tree_link *own = &tree->link[link];
  bool free = false;
  for (int axis = 0; axis < chain->n; axis++) free |= chain->axis[axis].kind == PERP_ROBOT_FREE;
  if (all->n_moving != 1 || all->n_geoms > 0 || free) {
    perp_xml_refuse(tree->robot, own->at,
                    "give it an <inertial> with a mass, or carry it by a fixed joint",
                    "link '%s' can move but has no mass (joint '%s')", own->name,
                    tree->joint[own->carrier].name);
    return;
  }
  const perp_tree_joint *next = &tree->joint[all->moving];
  perp_tree_pose step, whole;
  tree_in_cluster(tree, link, next->parent, &step);
  perp_tree_times(&step, &next->pose, &step);
  tree_chain_move(chain, &step);
  perp_tree_times(pose, &step, &whole);
  if (!tree_chain_add(chain, next, all->moving)) {
    perp_xml_refuse(tree->robot, own->at, "give some of these links a mass",
                    "link '%s' is one of several without mass, on more than 6 joint axes",
                    own->name);
    return;
  }
  perp_robot_note(tree->robot, "link %s has no mass: joints %s and %s act one after the other",
                  own->name, tree->joint[own->carrier].name, next->name);
  tree_emit(tree, next->child, parent, &whole, chain);
}

static void tree_emit_body(perp_tree *tree, int link, int parent, const perp_tree_pose *pose,
                           const tree_chain *chain)
{
  perp_robot *robot = tree->robot;
  perp_tree_link *own = &tree->link[link];
  const int number = own->body = robot->n_bodies;
  perp_robot_body *body = perp_robot_add_body(robot, parent);
  body->name = own->name;
  memcpy(body->x, pose->x, sizeof body->x);
  memcpy(body->quat, pose->quat, sizeof body->quat);
  body->mass = own->mass;
  memcpy(body->com, own->com, sizeof body->com);
  memcpy(body->inertia, own->inertia, sizeof body->inertia);
  body->gravcomp = own->no_gravity ? 1 : 0;
  for (int axis = 0; axis < chain->n; axis++) {
    if (chain->joint[axis] >= 0) tree->joint[chain->joint[axis]].number = robot->n_joints;
    perp_robot_joint *joint = perp_robot_add_joint(robot, number, chain->axis[axis].kind);
    *joint = chain->axis[axis];
    joint->body = number;
    if (joint->kind != PERP_ROBOT_FREE) continue;
    memcpy(joint->q, pose->x, sizeof pose->x);
    memcpy(joint->q + 3, pose->quat, sizeof pose->quat);
  }
  for (int g = 0; g < own->n_geoms; g++) {
    perp_robot_geom *geom = perp_robot_add_geom(robot, number, own->geom[g].kind);
    *geom = own->geom[g];
    geom->body = number;
  }
}

/* World pose of a body at the initial state, whose joints are all at zero. */
static void tree_world(const perp_robot *robot, int body, perp_tree_pose *pose)
{
  perp_tree_identity(pose);
  for (; body > 0; body = robot->body[body].parent) {
    perp_tree_pose own;
    memcpy(own.x, robot->body[body].x, sizeof own.x);
    memcpy(own.quat, robot->body[body].quat, sizeof own.quat);
    perp_tree_times(&own, pose, pose);
  }
}

/* chain: joints between the parent and this link, in the frame of this link. */
static void tree_emit(perp_tree *tree, int link, int parent, const perp_tree_pose *pose,
                      tree_chain *chain)
{
  static const tree_chain none = { 0 };
  if (perp_robot_refused(tree->robot)) return;
  if (chain->n > 0) {
    tree_cluster all = { 0 };
    tree_gather(tree, link, &all);
    if (!(all.mass > 0)) {
      tree_massless(tree, link, &all, parent, pose, chain);
      return;
    }
  }
  perp_tree_pose place = *pose;
  if (chain->n == 1 && chain->axis[0].kind == PERP_ROBOT_FREE && parent > 0) {
    perp_tree_pose from; /* nothing connects them */
    tree_world(tree->robot, parent, &from);
    perp_tree_times(&from, pose, &place);
    parent = 0;
  }
  tree_emit_body(tree, link, parent, &place, chain);
  const int body = tree->link[link].body;
  for (int j = 0; j < tree->n_joints; j++) {
    const perp_tree_joint *joint = &tree->joint[j];
    if (joint->parent != link || tree->link[joint->child].carrier != j) continue;
    tree_chain next = none;
    tree_chain_add(&next, joint, j);
    tree_emit(tree, joint->child, body, &joint->pose, &next);
  }
}

/* ---- loops ---- */

static void tree_close(perp_tree *tree, int j)
{
  const perp_tree_joint *joint = &tree->joint[j];
  perp_robot *robot = tree->robot;
  const int a = joint->parent >= 0 ? tree->link[joint->parent].body : 0,
            body = tree->link[joint->child].body;
  const bool hinge = joint->n == 1 && joint->axis[0].kind == PERP_ROBOT_HINGE,
             ball = joint->n == 1 && joint->axis[0].kind == PERP_ROBOT_BALL;
  if (a < 0 || body < 0 || !(joint->n == 0 || hinge || ball)) {
    perp_xml_refuse(robot, joint->at, "close loops by joints of type revolute, ball or fixed",
                    "joint '%s' closes a loop: link '%s' is carried by joint '%s', too",
                    joint->name, tree->link[joint->child].name,
                    tree->joint[tree->link[joint->child].carrier].name);
    return;
  }
  for (int k = 0; k < (hinge ? 2 : 1); k++) {
    perp_robot_equality *loop = perp_robot_add_equality(robot, joint->n == 0 ? PERP_ROBOT_WELD
                                                                             : PERP_ROBOT_CONNECT);
    double s[3] = { 0 };
    loop->name = hinge ? perp_pool_printf(&robot->pool, "%s_%d", joint->name, k) : joint->name;
    loop->a = a;
    loop->b = body;
    for (int i = 0; i < 3 && joint->n > 0; i++)
      s[i] = joint->axis[0].x[i] + (hinge ? (k == 0 ? -0.1 : 0.1) * joint->axis[0].axis[i] : 0);
    memcpy(loop->point[1], s, sizeof s);
    tree_turn(joint->pose.quat, s, loop->point[0]);
    for (int i = 0; i < 3; i++) loop->point[0][i] += joint->pose.x[i];
    memcpy(loop->turn, joint->pose.quat, sizeof loop->turn);
  }
  perp_robot_note(robot, "joint %s closes a loop: %s", joint->name,
                  hinge  ? "two points of its axis coincide"
                  : ball ? "its points coincide"
                         : "both links keep their orientation");
}

void perp_tree_build(perp_tree *tree)
{
  perp_robot *robot = tree->robot;
  for (int joint = 0; joint < tree->n_joints; joint++) {
    perp_tree_link *child = &tree->link[tree->joint[joint].child];
    if (child->carrier < 0) child->carrier = joint;
  }
  for (int link = 0; link < tree->n_links; link++) {
    tree_mass(tree, &tree->link[link]);
    tree_check_inertia(tree, &tree->link[link]);
    /* up to a link that nothing carries */
    int at = link, steps = 0;
    while (at >= 0 && tree->link[at].carrier >= 0 && steps++ <= tree->n_links)
      at = tree->joint[tree->link[at].carrier].parent;
    if (steps > MOST_IN_A_ROW && steps <= tree->n_links)
      perp_xml_refuse(robot, tree->link[link].at, "divide the file", "more than %d links in a row",
                      MOST_IN_A_ROW);
    if (steps > tree->n_links)
      perp_xml_refuse(robot, tree->link[link].at, "connect one of them with the world",
                      "link '%s' is in a circle of joints that nothing carries",
                      tree->link[link].name);
  }
  for (int i = 0; i < tree->n_links && !perp_robot_refused(robot); i++) {
    const int j = tree->link[i].carrier;
    tree_chain chain = { 0 };
    if (j >= 0 && tree->joint[j].parent >= 0) continue;
    if (j >= 0)
      tree_chain_add(&chain, &tree->joint[j], j);
    else if (tree->floating && !tree->link[i].fixed) {
      perp_tree_joint root = { .name = perp_pool_printf(&robot->pool, "%s_free",
                                                        tree->link[i].name) };
      perp_tree_add_axis(&root, PERP_ROBOT_FREE, (const double[3]){ 0, 0, 1 });
      tree_chain_add(&chain, &root, -1);
    } else if (!tree->link[i].fixed)
      perp_robot_note(robot,
                      "link %s is connected to no joint: it is a part of the world (perp import "
                      "--floating lets it move)",
                      tree->link[i].name);
    tree_emit(tree, i, 0, j >= 0 ? &tree->joint[j].pose : &tree->link[i].pose, &chain);
  }
  for (int carrier = 0; carrier < tree->n_joints && !perp_robot_refused(robot); carrier++)
    if (tree->link[tree->joint[carrier].child].carrier != carrier) tree_close(tree, carrier);
}
