/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiler settings and options: all elements of these names count, later ones more. */
#include "experiments/import/mjcf_private.h"

#include <string.h>

static const char *const compiler_bool[] = { "false", "true", NULL };

static void compiler_flag(mjcf *mj, const xmlNode *node, const char *key, bool *value)
{
  *value = perp_xml_word(mj->robot, node, key, compiler_bool, *value) != 0;
}

static const char *compiler_folder(mjcf *mj, const char *folder, const char *name)
{
  if (name[0] == '/' || strstr(name, "://") != NULL) return name;
  return perp_pool_printf(&mj->robot->pool, "%s/%s", folder, name);
}

static void compiler_one(mjcf *mj, const xmlNode *node, mjcf_compiler *compiler)
{
  static const char *const angles[] = { "degree", "radian", NULL },
                           *const places[] = { "local", "global", NULL },
                           *const from[] = { "false", "true", "auto", NULL };
  perp_robot *robot = mj->robot;
  compiler->radian = perp_xml_word(robot, node, "angle", angles, compiler->radian) != 0;
  if (perp_xml_word(robot, node, "coordinate", places, 0) == 1)
    perp_xml_refuse(robot, node, "load and save the file with MuJoCo 2.3.3 or older",
                    "coordinate=\"global\" has ended with MuJoCo 2.3.4");
  compiler->from_geom = (mjcf_from_geom)perp_xml_word(robot, node, "inertiafromgeom", from,
                                                      (int)compiler->from_geom);
  compiler_flag(mj, node, "autolimits", &compiler->limits);
  compiler_flag(mj, node, "balanceinertia", &compiler->balance);
  compiler_flag(mj, node, "fitaabb", &compiler->aabb);
  compiler_flag(mj, node, "strippath", &compiler->strip);
  const int exact = perp_xml_word(robot, node, "exactmeshinertia", compiler_bool, -1);
  if (exact >= 0)
    compiler->inside = exact == 1 ? PERP_ROBOT_INSIDE_EXACT : PERP_ROBOT_INSIDE_LEGACY;
  perp_xml_numbers(robot, node, "boundmass", 1, 1, &compiler->least_mass);
  perp_xml_numbers(robot, node, "boundinertia", 1, 1, &compiler->least_inertia);
  perp_xml_numbers(robot, node, "settotalmass", 1, 1, &compiler->total_mass);
  double group[2];
  if (perp_xml_numbers(robot, node, "inertiagrouprange", 2, 2, group) == 2)
    for (int i = 0; i < 2; i++)
      compiler->group[i] = group[i] < -1000 ? -1000 : group[i] > 1000 ? 1000 : (int)group[i];
  const char *text = perp_xml_text(robot, node, "eulerseq");
  if (text != NULL && (strlen(text) != 3 || strspn(text, "xyzXYZ") != 3))
    perp_xml_refuse(robot, node, "three of x, y, z (axes of the body), X, Y, Z (of its parent)",
                    "'eulerseq' of <compiler> is no sequence of axes: '%s'", text);
  else if (text != NULL)
    memcpy(compiler->sequence, text, 4);
  text = perp_xml_text(robot, node, "assetdir");
  if (text != NULL)
    compiler->mesh_folder = compiler->asset_folder = compiler_folder(mj, compiler->folder, text);
  text = perp_xml_text(robot, node, "meshdir");
  if (text != NULL) compiler->mesh_folder = compiler_folder(mj, compiler->folder, text);
  text = perp_xml_text(robot, node, "texturedir"); /* height fields are looked for there, too */
  if (text != NULL) compiler->asset_folder = compiler_folder(mj, compiler->folder, text);
}

mjcf_compiler *mjcf_compiler_read(mjcf *mj, const xmlNode *root, const char *file)
{
  mjcf_compiler *compiler = perp_pool_alloc(&mj->robot->pool, 1, sizeof *compiler);
  const char *slash = strrchr(file, '/');
  const char *folder = slash == NULL ? "."
                       : slash == file
                           ? "/"
                           : perp_pool_strndup(&mj->robot->pool, file, (size_t)(slash - file));
  *compiler = (mjcf_compiler){ .limits = true,
                               .inside = PERP_ROBOT_INSIDE_LEGACY,
                               .from_geom = MJCF_AUTO,
                               .group = { 0, 5 },
                               .sequence = "xyz",
                               .folder = folder,
                               .mesh_folder = folder,
                               .asset_folder = folder };
  for (const xmlNode *node = perp_xml_child(root, "compiler"); node != NULL;
       node = perp_xml_next(node, "compiler"))
    compiler_one(mj, node, compiler);
  return compiler;
}

const mjcf_compiler *mjcf_compiler_of(const xmlNode *node)
{
  return ((const mjcf_source *)node->_private)->compiler;
}

/* ---- options ---- */

/* *constraints: false while the flag of all of them disables them, beside their own flags. */
static void option_flags(mjcf *mj, const xmlNode *node, bool *constraints)
{
  static const char *const words[] = { "disable", "enable", NULL };
  static const struct {
    const char *key;
    unsigned what;
  } flags[] = {
    { "equality", PERP_ROBOT_EQUALITIES },
    { "frictionloss", PERP_ROBOT_DRY },
    { "limit", PERP_ROBOT_LIMITS },
    { "contact", PERP_ROBOT_CONTACTS },
    { "passive", PERP_ROBOT_SPRINGS | PERP_ROBOT_DAMPERS },
    { "spring", PERP_ROBOT_SPRINGS },
    { "damper", PERP_ROBOT_DAMPERS },
    { "gravity", PERP_ROBOT_GRAVITY },
    { "clampctrl", PERP_ROBOT_CLAMPS },
    { "filterparent", PERP_ROBOT_PARENT_FILTER },
    { "actuation", PERP_ROBOT_ACTUATORS },
  };
  unsigned *acts = &mj->robot->acts;
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    const int on = perp_xml_word(mj->robot, node, flags[i].key, words, -1);
    if (on >= 0) *acts = on ? *acts | flags[i].what : *acts & ~flags[i].what;
  }
  *constraints = perp_xml_word(mj->robot, node, "constraint", words, *constraints) != 0;
  if (perp_xml_word(mj->robot, node, "override", words, 0) == 1)
    perp_robot_note(mj->robot,
                    "the override of contact parameters has no effect: contacts are rigid");
}

void mjcf_option_read(mjcf *mj)
{
  static const char *const keys[] = { "timestep",
                                      "apirate",
                                      "impratio",
                                      "tolerance",
                                      "ls_tolerance",
                                      "noslip_tolerance",
                                      "ccd_tolerance",
                                      "mpr_tolerance",
                                      "sleep_tolerance",
                                      "gravity",
                                      "wind",
                                      "magnetic",
                                      "density",
                                      "viscosity",
                                      "o_margin",
                                      "o_solref",
                                      "o_solimp",
                                      "o_friction",
                                      "integrator",
                                      "collision",
                                      "cone",
                                      "jacobian",
                                      "solver",
                                      "iterations",
                                      "ls_iterations",
                                      "noslip_iterations",
                                      "ccd_iterations",
                                      "mpr_iterations",
                                      "sdf_iterations",
                                      "sdf_initpoints",
                                      "actuatorgroupdisable",
                                      NULL };
  perp_robot *robot = mj->robot;
  bool constraints = true;
  for (const xmlNode *node = perp_xml_child(mj->root, "option"); node != NULL;
       node = perp_xml_next(node, "option")) {
    int n;
    perp_xml_known(robot, node, keys);
    perp_xml_numbers(robot, node, "timestep", 1, 1, &robot->timestep);
    perp_xml_numbers(robot, node, "gravity", 3, 3, robot->gravity);
    perp_xml_numbers(robot, node, "wind", 3, 3, robot->wind);
    perp_xml_numbers(robot, node, "density", 1, 1, &robot->density);
    perp_xml_numbers(robot, node, "viscosity", 1, 1, &robot->viscosity);
    const double *groups = perp_xml_list(robot, node, "actuatorgroupdisable", &n);
    for (int i = 0; i < n; i++)
      if (groups[i] >= 0 && groups[i] <= 30) mj->groups_off |= (uint32_t)1 << (int)groups[i];
    const xmlNode *flag = perp_xml_child(node, "flag");
    if (flag != NULL) option_flags(mj, flag, &constraints);
    if (!(robot->timestep > 0))
      perp_xml_refuse(robot, node, "write a time in s", "the timestep is not positive: %g",
                      robot->timestep);
  }
  if (!constraints) robot->acts &= ~(unsigned)PERP_ROBOT_CONSTRAINTS;
}
