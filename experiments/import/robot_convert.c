/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a file to a robot to a scene: the reader of its format, the head of the scene, its sections.
 */
#include "experiments/base/json.h"
#include "experiments/import/robot_scene.h"
#include "experiments/import/robot_xml.h"

#include <stdlib.h>
#include <string.h>

static void convert_head(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  const char *slash = strrchr(robot->path, '/');
  const double *g = robot->gravity;
  const bool along = g[0] == 0 && g[1] == 0 && g[2] <= 0 && robot->acts & PERP_ROBOT_GRAVITY;
  char *summary = perp_xprintf("Imported robot%s%s", robot->name[0] != '\0' ? " " : "",
                               perp_rs_name(rs, robot->name[0] != '\0' ? robot->name : " ", "", 0));
  char *reference = perp_xprintf("%s (%s)", slash != NULL ? slash + 1 : robot->path, robot->format);
  fputs("schema: perp-scene/1\nscene:\n  summary: ", rs->out);
  perp_write_quoted(rs->out, summary);
  fputs("\n  reference: ", rs->out);
  perp_write_quoted(rs->out, reference);
  fputs("\n  gravity: ", rs->out);
  perp_rs_digits(rs, along && g[2] != 0 ? -g[2] : 0);
  fputs("\n  h: ", rs->out);
  perp_rs_digits(rs, robot->timestep);
  fputs("\n  friction: maximum\n", rs->out);
  if (rs->driven) fputs("  driven: true\n", rs->out);
  if (rs->dissipative) fputs("  dissipative: true\n", rs->out);
  free(summary);
  free(reference);
}

void perp_robot_scene(perp_robot *robot)
{
  static void (*const sections[])(perp_rs *) = {
    perp_rs_bodies,    perp_rs_joints, perp_rs_loops,  perp_rs_controls, perp_rs_drives,
    perp_rs_actuators, perp_rs_forces, perp_rs_shapes, perp_rs_rest
  };
  perp_rs rs = { .robot = robot };
  perp_robot_report *to = robot->to;
  char *body = NULL, *head = NULL;
  size_t size = 0, head_size = 0;
  rs.out = perp_memory_stream(&body, &size);
  for (size_t i = 0; i < sizeof sections / sizeof *sections && !perp_robot_refused(robot); i++)
    sections[i](&rs);
  perp_memory_stream_close(rs.out);
  if (!perp_robot_refused(robot)) {
    rs.out = perp_memory_stream(&head, &head_size);
    for (const char *at = to->said.n > 0 ? to->said.s : ""; *at != '\0'; at += *at == '\n') {
      fprintf(rs.out, "# %.*s\n", (int)strcspn(at, "\n"), at);
      at += strcspn(at, "\n");
    }
    convert_head(&rs);
    perp_memory_stream_close(rs.out);
    perp_text_put(&to->scene, head, head_size);
    perp_text_put(&to->scene, body, size);
  }
  free(head);
  free(body);
}

void perp_robot_document(perp_robot *robot, xmlDoc *doc)
{
  xmlNode *root = perp_xml_calls.xmlDocGetRootElement(doc);
  if (perp_xml_is(root, "mujoco") || perp_xml_is(root, "mujocoinclude"))
    perp_mjcf_read(robot, doc);
  else if (perp_xml_is(root, "robot"))
    perp_urdf_read(robot, doc);
  else if (perp_xml_is(root, "sdf") || perp_xml_is(root, "gazebo"))
    perp_sdf_read(robot, doc);
  else
    perp_xml_refuse(robot, root,
                    "the root element must be <mujoco> (MJCF), <robot> (URDF) or <sdf>",
                    "<%s> is no robot that perp reads", root->name);
  perp_xml_calls.xmlFreeDoc(doc);
  if (perp_robot_refused(robot)) return;
  perp_robot_finish(robot);
  perp_robot_pose(robot);
  perp_robot_scene(robot);
}

void perp_robot_convert(const char *path, const char *key, perp_robot_report *out)
{
  perp_robot robot;
  perp_robot_begin(&robot, out, path, key);
  xmlDoc *doc = perp_xml_open(&robot, path, NULL);
  const char *slash = strrchr(path, '/');
  if (doc != NULL && strcmp(slash != NULL ? slash + 1 : path, "model.config") == 0) {
    robot.path = perp_sdf_of_folder(&robot, path); /* it names the model */
    perp_xml_calls.xmlFreeDoc(doc);
    doc = robot.path != NULL ? perp_xml_open(&robot, robot.path, NULL) : NULL;
  }
  if (doc != NULL) perp_robot_document(&robot, doc);
  perp_pool_free(&robot.pool);
}
