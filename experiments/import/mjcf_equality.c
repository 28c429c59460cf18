/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts that are (not) wanted, tendons, equality constraints. */
#include "experiments/import/mjcf_private.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

/* Sections of a name: each of their elements. */
static const xmlNode *section_first(const mjcf *mj, const char *section)
{
  for (const xmlNode *at = perp_xml_child(mj->root, section); at != NULL;
       at = perp_xml_next(at, section)) {
    const xmlNode *node = perp_xml_child(at, NULL);
    if (node != NULL) return node;
  }
  return NULL;
}

static const xmlNode *section_next(const xmlNode *node, const char *section)
{
  const xmlNode *next = perp_xml_next(node, NULL);
  for (const xmlNode *at = perp_xml_next(node->parent, section); next == NULL && at != NULL;
       at = perp_xml_next(at, section))
    next = perp_xml_child(at, NULL);
  return next;
}

#define SECTION(node, name)                                                                        \
  for (const xmlNode *node = section_first(mj, name);                                              \
       node != NULL && !perp_robot_refused(mj->robot); node = section_next(node, name))

/* ---- contact ---- */

void mjcf_contact_read(mjcf *mj)
{
  SECTION(node, "contact")
  {
    const bool pair = perp_xml_is(node, "pair");
    mjcf_table *table = pair ? &mj->geoms : &mj->bodies;
    const char *kind = pair ? "geom" : "body";
    const int a = mjcf_reference(mj, table, node, pair ? "geom1" : "body1", kind),
              b = mjcf_reference(mj, table, node, pair ? "geom2" : "body2", kind);
    if (perp_robot_refused(mj->robot)) return;
    if (a < 0 || b < 0) continue;
    if (pair)
      perp_robot_add_pair(mj->robot, a, b);
    else
      perp_robot_add_exclude(mj->robot, a, b);
  }
}

/* p = x + R s */
static void equality_point(const double x[3], const double R[9], const double s[3], double p[3])
{
  for (int i = 0; i < 3; i++) p[i] = x[i] + (R[i] * s[0] + R[i + 3] * s[1] + R[i + 6] * s[2]);
}

/* ---- tendons ---- */

/* A joint of a fixed tendon; one that occurs again adds to its factor. */
static int tendon_joint(mjcf *mj, const xmlNode *part, bool fixed, perp_robot_tendon *own)
{
  perp_robot *robot = mj->robot;
  const int joint = mjcf_reference(mj, &mj->joints, part, "joint", "joint");
  double factor = 0;
  own->joints++;
  if (joint < 0 || !fixed) return joint;
  if (robot->joint[joint].kind != PERP_ROBOT_HINGE && robot->joint[joint].kind != PERP_ROBOT_SLIDE)
    perp_xml_refuse(robot, part, "use hinges and slides",
                    "joint '%s' of tendon '%s' has no single coordinate", robot->joint[joint].name,
                    own->name);
  if (perp_xml_numbers(robot, part, "coef", 1, 1, &factor) == 0)
    perp_xml_refuse(robot, part, "write coef=\"1\"",
                    "a joint of tendon '%s' needs the attribute 'coef'", own->name);
  int term = 0;
  while (term < own->n_terms && own->term[term].joint != joint) term++;
  if (term == own->n_terms) {
    own->term = perp_pool_grown(&robot->pool, own->term, own->n_terms, sizeof *own->term);
    own->term[own->n_terms++] = (perp_robot_term){ joint, 0 };
  }
  own->term[term].factor += factor;
  return joint;
}

static int tendon_site(mjcf *mj, const xmlNode *part, perp_robot_tendon *own)
{
  const int id = mjcf_reference(mj, &mj->sites, part, "site", "site");
  if (id >= 0 && own->sites < 2) {
    own->body[own->sites] = mj->site[id].body;
    memcpy(own->point[own->sites], mj->site[id].x, sizeof own->point[0]);
  }
  own->sites++;
  return id;
}

/* Length where all springs of joints are at rest; NAN where it takes a pose that is not drawn. */
static double tendon_slack(const perp_robot *robot, const perp_robot_tendon *own)
{
  double sum = 0, p[2][3], d[3];
  for (int term = 0; term < own->n_terms; term++)
    sum += own->term[term].factor * robot->joint[own->term[term].joint].springref;
  if (own->joints > 0) return sum;
  if (own->sites != 2 || own->others > 0) return NAN;
  for (int joint = 0; joint < robot->n_joints; joint++)
    if (robot->joint[joint].springref != robot->joint[joint].ref) return NAN;
  for (int k = 0; k < 2; k++) {
    const perp_robot_body *body = &robot->body[own->body[k]];
    equality_point(body->at, body->R, own->point[k], p[k]);
  }
  for (int i = 0; i < 3; i++) d[i] = p[1][i] - p[0][i];
  return sqrt(perp_dot(3, d, d));
}

static void tendon_numbers(const mjcf_element *element, perp_robot_tendon *own)
{
  perp_robot *robot = element->mj->robot;
  double bound[2];
  mjcf_numbers(element, "range", 2, 2, own->range);
  own->limited = mjcf_limited(element, "limited", "range", own->range);
  own->stiffness = mjcf_number(element, "stiffness", 0);
  own->damping = mjcf_number(element, "damping", 0);
  own->frictionloss = mjcf_number(element, "frictionloss", 0);
  own->armature = mjcf_number(element, "armature", 0);
  own->margin = mjcf_number(element, "margin", 0);
  const int n = mjcf_numbers(element, "springlength", 1, 2, own->rest);
  if (n == 0 || own->rest[0] == -1) own->rest[0] = own->rest[1] = tendon_slack(robot, own);
  if (n == 1) own->rest[1] = own->rest[0];
  if (mjcf_numbers(element, "actuatorfrcrange", 2, 2, bound) == 2)
    perp_robot_lost(robot,
                    "actuatorfrcrange [%.4g, %.4g] of tendon %s: nothing bounds the sum of its "
                    "actuators",
                    bound[0], bound[1], own->name);
}

void mjcf_tendon_read(mjcf *mj)
{
  perp_robot *robot = mj->robot;
  SECTION(node, "tendon")
  {
    const mjcf_element element = mjcf_layers(mj, node, "tendon", NULL);
    const char *name = perp_xml_text(robot, node, "name");
    perp_robot_tendon own = { .name = name != NULL ? name : "" };
    bool whole = true;
    for (const xmlNode *part = perp_xml_child(node, NULL); part != NULL;
         part = perp_xml_next(part, NULL)) {
      int found = 0;
      if (perp_xml_is(part, "joint"))
        found = tendon_joint(mj, part, perp_xml_is(node, "fixed"), &own);
      else if (perp_xml_is(part, "site"))
        found = tendon_site(mj, part, &own);
      else if (perp_xml_is(part, "geom")) {
        found = mjcf_reference(mj, &mj->geoms, part, "geom", "geom");
        own.others++;
      } else
        own.others++;
      whole = whole && found >= 0;
    }
    int n = 0;
    for (int term = 0; term < own.n_terms; term++)
      if (own.term[term].factor != 0) own.term[n++] = own.term[term];
    own.n_terms = n;
    tendon_numbers(&element, &own);
    if (!whole || perp_robot_refused(robot)) continue; /* parts that are not attached */
    mjcf_table_add(mj, &mj->tendons, node, "tendon", name, robot->n_tendons);
    *perp_robot_add_tendon(robot) = own;
  }
}

/* ---- equality constraints ---- */

/* A world point in the frame of a body. */
static void equality_local(const perp_robot_body *body, const double p[3], double s[3])
{
  double d[3];
  for (int i = 0; i < 3; i++) d[i] = p[i] - body->at[i];
  for (int i = 0; i < 3; i++) s[i] = perp_dot(3, body->R + 3 * i, d);
}

/* Both ends are sites: their places and, of a weld, their axes coincide. */
static void equality_sites(mjcf *mj, const xmlNode *node, perp_robot_equality *equality)
{
  const int one = mjcf_reference(mj, &mj->sites, node, "site1", "site"),
            two = mjcf_reference(mj, &mj->sites, node, "site2", "site");
  if (one < 0 || two < 0) return;
  const mjcf_site *a = &mj->site[one], *b = &mj->site[two];
  equality->a = a->body;
  equality->b = b->body;
  memcpy(equality->point[0], a->x, sizeof a->x);
  memcpy(equality->point[1], b->x, sizeof b->x);
  const double back[4] = { b->quat[0], -b->quat[1], -b->quat[2], -b->quat[3] };
  perp_quat_product(a->quat, back, equality->turn);
}

static void equality_connect(mjcf *mj, const xmlNode *node, perp_robot_equality *equality)
{
  const perp_robot_body *a = &mj->robot->body[equality->a], *b = &mj->robot->body[equality->b];
  double p[3];
  if (perp_xml_numbers(mj->robot, node, "anchor", 3, 3, equality->point[0]) == 0)
    perp_xml_refuse(mj->robot, node, "write anchor=\"x y z\", in the frame of body1",
                    "<connect> needs the attribute 'anchor'");
  equality_point(a->at, a->R, equality->point[0], p);
  equality_local(b, p, equality->point[1]);
}

/* anchor: a point of body b; relpose: pose of b in a, that of the drawn pose where its quaternion
 * is zero. */
static void equality_weld(mjcf *mj, const xmlNode *node, perp_robot_equality *equality)
{
  const perp_robot_body *a = &mj->robot->body[equality->a], *b = &mj->robot->body[equality->b];
  double pose[7] = { 0 }, p[3];
  perp_xml_numbers(mj->robot, node, "anchor", 3, 3, equality->point[1]);
  const int n = perp_xml_numbers(mj->robot, node, "relpose", 7, 7, pose);
  if (n == 7 && (pose[3] != 0 || pose[4] != 0 || pose[5] != 0 || pose[6] != 0)) {
    memcpy(equality->turn, pose + 3, sizeof equality->turn);
    perp_quat_unit(equality->turn);
    memcpy(equality->point[0], pose, sizeof equality->point[0]);
    return;
  }
  equality_point(b->at, b->R, equality->point[1], p);
  equality_local(a, p, equality->point[0]);
  const double back[4] = { a->turn[0], -a->turn[1], -a->turn[2], -a->turn[3] };
  perp_quat_product(back, b->turn, equality->turn);
}

static void equality_couple(mjcf *mj, const xmlNode *node, perp_robot_equality *equality,
                            bool joint)
{
  mjcf_table *table = joint ? &mj->joints : &mj->tendons;
  const char *kind = joint ? "joint" : "tendon";
  perp_robot *robot = mj->robot;
  equality->a = mjcf_reference(mj, table, node, joint ? "joint1" : "tendon1", kind);
  if (perp_xml_text(robot, node, joint ? "joint2" : "tendon2") != NULL) {
    equality->b = mjcf_reference(mj, table, node, joint ? "joint2" : "tendon2", kind);
    if (equality->b < 0) equality->a = -1;
  }
  perp_xml_numbers(robot, node, "polycoef", 1, 5, equality->poly);
  const int both[2] = { equality->a, equality->b };
  for (int i = 0; i < 2 && joint; i++)
    if (both[i] >= 0 && robot->joint[both[i]].kind != PERP_ROBOT_HINGE &&
        robot->joint[both[i]].kind != PERP_ROBOT_SLIDE)
      perp_xml_refuse(robot, node, "use hinges and slides",
                      "joint '%s' of <joint> has no single coordinate", robot->joint[both[i]].name);
}

static void equality_bodies(mjcf *mj, const xmlNode *node, perp_robot_equality *equality)
{
  static const char *const keys[] = { "body1", "body2" };
  equality->a = mjcf_reference(mj, &mj->bodies, node, keys[0], "body");
  equality->b = perp_xml_text(mj->robot, node, keys[1]) == NULL
                    ? 0
                    : mjcf_reference(mj, &mj->bodies, node, keys[1], "body");
}

void mjcf_equality_read(mjcf *mj)
{
  static const char *const kinds[] = { "connect", "weld", "joint", "tendon" };
  perp_robot *robot = mj->robot;
  SECTION(node, "equality")
  {
    const mjcf_element element = mjcf_layers(mj, node, "equality", NULL);
    const char *name = perp_xml_text(robot, node, "name");
    int kind = 0;
    while (kind < 4 && !perp_xml_is(node, kinds[kind])) kind++;
    if (kind == 4) {
      perp_robot_lost(robot, "equality %s %s: a constraint that perp does not have", node->name,
                      name != NULL ? name : "");
      continue;
    }
    perp_robot_equality own = { .a = -1, .b = -1, .turn = { 1 }, .poly = { 0, 1 } };
    own.kind = (perp_robot_equality_kind)kind;
    own.name = name != NULL ? name : "";
    own.active = mjcf_flag(&element, "active", true);
    if (kind >= 2)
      equality_couple(mj, node, &own, kind == 2);
    else if (perp_xml_text(robot, node, "site1") != NULL)
      equality_sites(mj, node, &own);
    else {
      equality_bodies(mj, node, &own);
      if (own.a >= 0 && own.b >= 0 && kind == 0) equality_connect(mj, node, &own);
      if (own.a >= 0 && own.b >= 0 && kind == 1) equality_weld(mj, node, &own);
    }
    if (own.a < 0 && !perp_robot_refused(robot) && !((mjcf_source *)node->_private)->attached)
      perp_xml_refuse(robot, node, "", "<%s> names no %s", node->name,
                      kind < 2 ? "bodies or sites" : kinds[kind]);
    if (own.a < 0 || (kind < 2 && own.b < 0)) continue;
    *perp_robot_add_equality(robot, own.kind) = own;
  }
}
