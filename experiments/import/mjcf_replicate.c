/* SPDX-License-Identifier: GPL-3.0-or-later */
/* <replicate>: copies of what is in it, each one further by the offset and the rotation, with the
 * number of the copy at the end of its names; elements that refer to one of these are copied, too.
 */
#include "experiments/import/mjcf_private.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

enum { MOST_COUNT = 100000 };

static const char *const replicate_sections[] = { "contact",  "equality", "tendon",
                                                  "actuator", "sensor",   NULL };

/* The number of a copy, with as many digits as the count has. */
static const char *replicate_suffix(perp_pool *pool, const char *separator, int i, int count)
{
  int digits = 0;
  for (int c = count; c > 0; c /= 10) digits++;
  return perp_pool_printf(pool, "%s%0*d", separator, digits, i);
}

/* Elements of sections that refer to one of the names, copied with a suffix each. */
static void replicate_references(mjcf *mj, mjcf_table *names, const char *separator, int count)
{
  for (int k = 0; replicate_sections[k] != NULL; k++)
    for (xmlNode *section = perp_xml_child(mj->root, replicate_sections[k]); section != NULL;
         section = perp_xml_next(section, replicate_sections[k]))
      for (xmlNode *node = perp_xml_child(section, NULL), *next;
           node != NULL && !perp_robot_refused(mj->robot); node = next) {
        next = perp_xml_next(node, NULL);
        if (!mjcf_tree_refers(mj, node, names)) continue;
        for (int i = 0; i < count; i++) {
          xmlNode *copy = mjcf_tree_copy(mj, node);
          if (copy == NULL) return;
          mjcf_tree_rename(mj, copy, "", replicate_suffix(&mj->robot->pool, separator, i, count),
                           names);
          perp_xml_calls.xmlAddPrevSibling(node, copy);
        }
        perp_xml_calls.xmlUnlinkNode(node);
        perp_xml_calls.xmlFreeNode(node);
      }
}

static void replicate_one(mjcf *mj, xmlNode *node)
{
  perp_robot *robot = mj->robot;
  const xmlNode *at = node;
  const mjcf_element element = { .mj = mj, .node = node, .n = 1, .layer = &at };
  const int count = mjcf_integer(&element, "count", 0);
  const char *separator = perp_xml_text(robot, node, "sep");
  double offset[3] = { 0 }, turn[4], x[3] = { 0 }, quat[4] = { 1 };
  mjcf_table names = { 0 };
  if (separator == NULL) separator = "";
  if (count < 1 || count > MOST_COUNT) {
    perp_xml_refuse(robot, node, perp_pool_printf(&robot->pool, "1 to %d", MOST_COUNT),
                    "the count of <replicate> is %d", count);
    return;
  }
  mjcf_numbers(&element, "offset", 3, 3, offset);
  mjcf_orientation(&element, turn);
  mjcf_tree_names(mj, node, &names);
  for (int i = 0; i < count && !perp_robot_refused(robot); i++) {
    xmlNode *copy = mjcf_tree_copy(mj, node);
    if (copy == NULL) return;
    const char *suffix = replicate_suffix(&robot->pool, separator, i, count);
    perp_xml_calls.xmlNodeSetName(copy, (const xmlChar *)"frame");
    static const char *const gone[] = { "count",     "offset", "sep",   "euler", "quat",
                                        "axisangle", "xyaxes", "zaxis", "pos" };
    for (size_t k = 0; k < sizeof gone / sizeof *gone; k++)
      perp_xml_calls.xmlUnsetProp(copy, (const xmlChar *)gone[k]);
    mjcf_tree_rename(mj, copy, "", suffix, &names);
    perp_xml_calls.xmlSetProp(
        copy, (const xmlChar *)"pos",
        (const xmlChar *)perp_pool_printf(&robot->pool, "%.17g %.17g %.17g", x[0], x[1], x[2]));
    perp_xml_calls.xmlSetProp(copy, (const xmlChar *)"quat",
                              (const xmlChar *)perp_pool_printf(&robot->pool,
                                                                "%.17g %.17g %.17g %.17g", quat[0],
                                                                quat[1], quat[2], quat[3]));
    perp_xml_calls.xmlAddPrevSibling(node, copy);
    double R[9], next[4]; /* the next frame, from this one */
    perp_quat_matrix(quat, R);
    for (int k = 0; k < 3; k++)
      x[k] += R[k] * offset[0] + R[k + 3] * offset[1] + R[k + 6] * offset[2];
    perp_quat_product(quat, turn, next);
    memcpy(quat, next, sizeof next);
    perp_quat_unit(quat);
  }
  replicate_references(mj, &names, separator, count);
  perp_xml_calls.xmlUnlinkNode(node);
  perp_xml_calls.xmlFreeNode(node);
}

/* Inner ones first: their copies are copied again. */
static void replicate_tree(mjcf *mj, xmlNode *node)
{
  for (xmlNode *child = perp_xml_child(node, NULL), *next;
       child != NULL && !perp_robot_refused(mj->robot); child = next) {
    next = perp_xml_next(child, NULL);
    replicate_tree(mj, child);
    if (perp_xml_is(child, "replicate") && !perp_robot_refused(mj->robot)) replicate_one(mj, child);
  }
}

void mjcf_replicate(mjcf *mj, xmlNode *root)
{
  for (xmlNode *body = perp_xml_child(root, "worldbody"); body != NULL;
       body = perp_xml_next(body, "worldbody"))
    replicate_tree(mj, body);
}
