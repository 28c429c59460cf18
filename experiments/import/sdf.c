/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/import/robot_tree.h"

void perp_sdf_read(perp_robot *robot, xmlDoc *doc)
{
  perp_xml_refuse(robot, xmlDocGetRootElement(doc), "", "SDF is not read");
}
