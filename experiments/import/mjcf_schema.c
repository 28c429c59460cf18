/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which elements and attributes MJCF has, of version 3 and of those before that libmujoco 2 reads:
 * others are mistakes, and named with their line.  Attributes of elements without physics are not
 * looked at ("*"). */
#include "experiments/import/mjcf_private.h"

#include <string.h>

#define TURN       "quat axisangle xyaxes zaxis euler "
#define SOFT       "solref solimp "
#define LIMIT_SOFT "solreflimit solimplimit solreffriction solimpfriction "
#define JOINT                                                                                      \
  "type group pos axis springdamper limited actuatorfrclimited " LIMIT_SOFT                        \
  "stiffness range actuatorfrcrange actuatorgravcomp margin ref springref armature damping "       \
  "frictionloss user "
#define GEOM_CONTACT                                                                               \
  "contype conaffinity condim priority friction solmix " SOFT "margin gap surfacevel adhesion "
#define GEOM                                                                                       \
  "type group size material mass density shellinertia fromto pos " TURN GEOM_CONTACT               \
  "hfield mesh fitscale rgba fluidshape fluidcoef user "
#define TENDON                                                                                     \
  "group limited actuatorfrclimited range actuatorfrcrange " LIMIT_SOFT                            \
  "frictionloss springlength width material margin stiffness damping armature rgba user "
#define PAIR "condim friction solreffriction gap margin adhesion " SOFT
#define ACTUATOR                                                                                   \
  "group nsample interp delay ctrlrange user ctrllimited forcelimited forcerange gear damping "    \
  "armature cranklength lengthrange "
#define WHERE "name class joint jointinparent tendon slidersite cranksite site refsite body "
#define GENERAL                                                                                    \
  "actlimited actrange actdim input velrange ffrange dyntype gaintype biastype dynprm gainprm "    \
  "biasprm actearly "
#define SERVO   "kp kv dampratio inheritrange "
#define INERTIA "mass diaginertia fullinertia pos " TURN

typedef struct schema_row {
  const char *parent, *name, *keys;
} schema_row;

/* Elements named "+" are those of the parent `body`. */
static const schema_row schema_rows[] = {
  { "", "mujoco", "model" },
  { "mujoco", "compiler",
    "autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate angle "
    "fitaabb eulerseq meshdir texturedir discardvisual usethread fusestatic inertiafromgeom "
    "inertiagrouprange saveinertial assetdir alignfree conflict convexhull exactmeshinertia" },
  { "compiler", "lengthrange", "*" },
  { "mujoco", "option", "*" },
  { "option", "flag",
    "constraint equality frictionloss limit contact passive spring damper gravity clampctrl "
    "warmstart filterparent actuation refsafe sensor midphase eulerdamp autoreset nativeccd island "
    "multiccd override energy fwdinv invdiscrete sensornoise sleep diagexact ipc" },
  { "mujoco", "size", "*" },
  { "mujoco", "statistic", "*" },
  { "mujoco", "visual", "*" },
  { "visual", "*", "*" },
  { "mujoco", "default", "class" },
  { "default", "default", "class" },
  { "default", "mesh", "scale maxhullvert inertia" },
  { "default", "material", "*" },
  { "default", "joint", JOINT },
  { "default", "geom", GEOM },
  { "default", "site", "*" },
  { "default", "camera", "*" },
  { "default", "light", "*" },
  { "default", "pair", PAIR },
  { "default", "equality", "active " SOFT },
  { "default", "tendon", TENDON },
  { "default", "general", ACTUATOR GENERAL },
  { "default", "motor", ACTUATOR },
  { "default", "position", ACTUATOR SERVO "timeconst" },
  { "default", "velocity", ACTUATOR "kv" },
  { "default", "intvelocity", ACTUATOR SERVO "actlimited actrange" },
  { "default", "orientation", ACTUATOR SERVO "input" },
  { "default", "pid", ACTUATOR SERVO "posrange velrange ffrange ki imax slewmax input" },
  { "default", "damper", ACTUATOR "kv" },
  { "default", "cylinder", ACTUATOR "timeconst area diameter bias" },
  { "default", "muscle",
    ACTUATOR "timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax" },
  { "default", "adhesion", ACTUATOR "gain" },
  { "default", "dcmotor", "*" },
  { "mujoco", "extension", "" },
  { "extension", "plugin", "plugin" },
  { "plugin", "*", "*" },
  { "instance", "*", "*" },
  { "mujoco", "asset", "" },
  { "asset", "mesh",
    "name class content_type file vertex normal texcoord face refpos refquat scale smoothnormal "
    "maxhullvert inertia builtin params material" },
  { "mesh", "plugin", "*" },
  { "asset", "hfield", "name content_type file nrow ncol size elevation" },
  { "asset", "skin", "*" },
  { "skin", "bone", "*" },
  { "asset", "texture", "*" },
  { "asset", "material", "*" },
  { "material", "layer", "*" },
  { "asset", "model", "name file content_type" },
  { "mujoco", "worldbody", "childclass" },
  { "body", "inertial", INERTIA },
  { "body", "joint", "name class " JOINT },
  { "body", "freejoint", "name group align" },
  { "body", "geom", "name class " GEOM },
  { "geom", "plugin", "*" },
  { "body", "attach", "model body frame prefix" },
  { "body", "site", "*" },
  { "body", "camera", "*" },
  { "body", "light", "*" },
  { "body", "plugin", "*" },
  { "body", "body", "name childclass mocap gravcomp sleep simple fuse user pos " TURN },
  { "body", "frame", "name childclass pos " TURN },
  { "body", "replicate", "count offset sep euler" },
  { "body", "composite", "*" },
  { "composite", "*", "*" },
  { "body", "flexcomp", "*" },
  { "flexcomp", "*", "*" },
  { "mujoco", "deformable", "" },
  { "deformable", "flex", "*" },
  { "deformable", "skin", "*" },
  { "flex", "*", "*" },
  { "mujoco", "contact", "" },
  { "contact", "pair", "name class geom1 geom2 " PAIR },
  { "contact", "exclude", "name body1 body2" },
  { "mujoco", "tendon", "" },
  { "tendon", "spatial", "name class " TENDON },
  { "tendon", "fixed", "name class " TENDON },
  { "spatial", "site", "site" },
  { "spatial", "geom", "geom sidesite" },
  { "spatial", "pulley", "divisor" },
  { "fixed", "joint", "joint coef" },
  { "mujoco", "equality", "" },
  { "equality", "connect", "name class active body1 body2 anchor site1 site2 " SOFT },
  { "equality", "weld",
    "name class active body1 body2 relpose anchor site1 site2 torquescale " SOFT },
  { "equality", "joint", "name class active joint1 joint2 polycoef " SOFT },
  { "equality", "tendon", "name class active tendon1 tendon2 polycoef " SOFT },
  { "equality", "flex", "*" },
  { "equality", "flexvert", "*" },
  { "equality", "flexstrain", "*" },
  { "equality", "distance", "*" },
  { "mujoco", "actuator", "" },
  { "actuator", "general", WHERE ACTUATOR GENERAL },
  { "actuator", "motor", WHERE ACTUATOR },
  { "actuator", "position", WHERE ACTUATOR SERVO "timeconst" },
  { "actuator", "velocity", WHERE ACTUATOR "kv" },
  { "actuator", "intvelocity", WHERE ACTUATOR SERVO "actlimited actrange" },
  { "actuator", "orientation", WHERE ACTUATOR SERVO "input" },
  { "actuator", "pid", WHERE ACTUATOR SERVO "posrange velrange ffrange ki imax slewmax input" },
  { "actuator", "damper", WHERE ACTUATOR "kv" },
  { "actuator", "cylinder", WHERE ACTUATOR "timeconst area diameter bias" },
  { "actuator", "muscle",
    WHERE ACTUATOR "timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax" },
  { "actuator", "adhesion", WHERE ACTUATOR "gain" },
  { "actuator", "dcmotor", "*" },
  { "actuator", "plugin", "*" },
  { "mujoco", "sensor", "" },
  { "sensor", "*", "*" },
  { "mujoco", "custom", "" },
  { "custom", "*", "*" },
  { "tuple", "*", "*" },
  { "mujoco", "keyframe", "" },
  { "keyframe", "key", "name time qpos qvel act mpos mquat ctrl" },
};

static bool schema_has(const char *keys, const char *key)
{
  const size_t n = strlen(key);
  for (const char *at = keys; (at = strstr(at, key)) != NULL; at += n)
    if ((at == keys || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
  return false;
}

/* Children are looked for under another name: those of frames, copies and the world are a body's.
 */
static const char *schema_parent(const xmlNode *node)
{
  const char *name = (const char *)node->name;
  if (strcmp(name, "frame") == 0 || strcmp(name, "replicate") == 0 ||
      strcmp(name, "worldbody") == 0)
    return "body";
  return strcmp(name, "mujocoinclude") == 0 ? "mujoco" : name;
}

static void schema_element(mjcf *mj, const xmlNode *node, const char *parent)
{
  const schema_row *row = NULL;
  perp_text known = { 0 };
  for (size_t i = 0; i < sizeof schema_rows / sizeof *schema_rows; i++) {
    if (strcmp(schema_rows[i].parent, parent) != 0) continue;
    if (row == NULL &&
        (perp_xml_is(node, schema_rows[i].name) || strcmp(schema_rows[i].name, "*") == 0))
      row = &schema_rows[i];
    perp_text_add(&known, "%s%s", known.n > 0 ? ", " : "its elements: ", schema_rows[i].name);
  }
  if (row == NULL) {
    perp_text_put(&known, known.n > 0 ? "" : "it has no elements", known.n > 0 ? 0 : 18);
    perp_xml_refuse(mj->robot, node, known.s, "unrecognized element <%s> in <%s>", node->name,
                    node->parent != NULL && node->parent->type == XML_ELEMENT_NODE
                        ? (const char *)node->parent->name
                        : parent);
  }
  perp_text_free(&known);
  if (row == NULL || strcmp(row->keys, "*") == 0) return;
  for (const xmlAttr *at = node->properties; at != NULL; at = at->next)
    if (!schema_has(row->keys, (const char *)at->name))
      perp_xml_refuse(mj->robot, node,
                      perp_pool_printf(&mj->robot->pool, "its attributes: %s", row->keys),
                      "unrecognized attribute '%s': <%s>", at->name, node->name);
}

static void schema_tree(mjcf *mj, const xmlNode *node)
{
  const char *parent = schema_parent(node);
  for (const xmlNode *child = perp_xml_child(node, NULL);
       child != NULL && !perp_robot_refused(mj->robot); child = perp_xml_next(child, NULL)) {
    schema_element(mj, child, parent);
    /* what is in an element that is looked at no closer */
    if (strcmp(parent, "sensor") != 0 && strcmp(parent, "composite") != 0 &&
        strcmp(parent, "flexcomp") != 0 && strcmp(parent, "flex") != 0 &&
        strcmp(parent, "visual") != 0 && strcmp(parent, "plugin") != 0 &&
        strcmp(parent, "instance") != 0)
      schema_tree(mj, child);
  }
}

void mjcf_schema_check(mjcf *mj, const xmlNode *root)
{
  if (perp_xml_is(root, "mujoco")) schema_element(mj, root, "");
  schema_tree(mj, root);
}
