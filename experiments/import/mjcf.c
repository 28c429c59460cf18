/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MJCF, the format of MuJoCo 3: the order in which its sections are read. */
#include "experiments/import/mjcf_private.h"

#include <string.h>

/* Sections without physics are not listed; these have some. */
void mjcf_others_lost(mjcf *mj)
{
  for (const xmlNode *section = perp_xml_child(mj->root, "deformable"); section != NULL;
       section = perp_xml_next(section, "deformable"))
    for (const xmlNode *node = perp_xml_child(section, NULL); node != NULL;
         node = perp_xml_next(node, NULL)) {
      const char *name = perp_xml_text(mj->robot, node, "name");
      if (perp_xml_is(node, "flex"))
        perp_robot_lost(mj->robot, "flex %s: a deformable body, its elasticity and contacts",
                        name != NULL ? name : "");
    }
  for (const xmlNode *section = perp_xml_child(mj->root, "extension"); section != NULL;
       section = perp_xml_next(section, "extension"))
    for (const xmlNode *node = perp_xml_child(section, "plugin"); node != NULL;
         node = perp_xml_next(node, "plugin")) {
      const char *name = perp_xml_text(mj->robot, node, "plugin");
      perp_robot_lost(mj->robot, "plugin %s: forces and sensors that it computes",
                      name != NULL ? name : "");
    }
}

/* Masses after all bodies are known. */
static void mjcf_total_mass(mjcf *mj)
{
  perp_robot *robot = mj->robot;
  double sum = 0;
  for (int body = 1; body < robot->n_bodies; body++) sum += robot->body[body].mass;
  if (!(mj->compiler->total_mass > 0) || !(sum > 0)) return;
  const double scale = mj->compiler->total_mass / sum;
  for (int body = 1; body < robot->n_bodies; body++) {
    robot->body[body].mass *= scale;
    for (int i = 0; i < 9; i++) robot->body[body].inertia[i] *= scale;
  }
}

void perp_mjcf_read(perp_robot *robot, xmlDoc *doc)
{
  static void (*const steps[])(
      mjcf *) = { mjcf_option_read,    mjcf_classes_read, mjcf_assets_read,
                  mjcf_worldbody_read, mjcf_total_mass,   mjcf_joints_rest };
  static void (*const later[])(mjcf *) = { mjcf_contact_read,  mjcf_tendon_read, mjcf_equality_read,
                                           mjcf_actuator_read, mjcf_key_read,    mjcf_others_lost };
  mjcf mj = { .robot = robot, .root = perp_xml_calls.xmlDocGetRootElement(doc) };
  mjcf_source *source = perp_pool_alloc(&robot->pool, 1, sizeof *source);
  robot->format = "MJCF";
  source->xml.file = robot->path;
  mjcf_tree_include(&mj, mj.root, source);
  if (!perp_robot_refused(robot)) mjcf_schema_check(&mj, mj.root);
  if (perp_robot_refused(robot)) return;
  mj.compiler = mjcf_compiler_read(&mj, mj.root, robot->path);
  mjcf_tree_settings(mj.root, mj.compiler, false);
  mjcf_attach(&mj, mj.root);
  if (!perp_robot_refused(robot)) mjcf_replicate(&mj, mj.root);
  const char *name = perp_xml_text(robot, mj.root, "model");
  if (name != NULL) robot->name = name;
  for (size_t i = 0; i < sizeof steps / sizeof *steps && !perp_robot_refused(robot); i++)
    steps[i](&mj);
  if (perp_robot_refused(robot)) return;
  perp_robot_finish(robot); /* the pose as drawn: equalities are taken from it */
  perp_robot_pose(robot);
  for (size_t i = 0; i < sizeof later / sizeof *later && !perp_robot_refused(robot); i++)
    later[i](&mj);
}
