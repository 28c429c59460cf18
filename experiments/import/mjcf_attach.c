/* SPDX-License-Identifier: GPL-3.0-or-later */
/* <attach>: a body of another file, or all that is in its world, with a prefix at all its names;
 * its defaults, assets and sections come with it. */
#include "experiments/import/mjcf_private.h"
#include "experiments/import/robot_search.h"

#include <string.h>

enum { MOST_MODELS = 64 };

/* The <model> of a name. */
static const xmlNode *attach_asset(mjcf *mj, const xmlNode *root, const char *name)
{
  for (const xmlNode *asset = perp_xml_child(root, "asset"); asset != NULL;
       asset = perp_xml_next(asset, "asset"))
    for (const xmlNode *model = perp_xml_child(asset, "model"); model != NULL;
         model = perp_xml_next(model, "model")) {
      const char *own = perp_xml_text(mj->robot, model, "name");
      if (own != NULL && strcmp(own, name) == 0) return model;
    }
  return NULL;
}

static xmlNode *attach_find(mjcf *mj, xmlNode *node, const char *kind, const char *name)
{
  for (xmlNode *child = perp_xml_child(node, NULL); child != NULL;
       child = perp_xml_next(child, NULL)) {
    const char *own = perp_xml_text(mj->robot, child, "name");
    if (perp_xml_is(child, kind) && own != NULL && strcmp(own, name) == 0) return child;
    xmlNode *inner = attach_find(mj, child, kind, name);
    if (inner != NULL) return inner;
  }
  return NULL;
}

/* Classes of the other file are below its own main class, "PREFIXmain": its elements begin there.
 */
static void attach_defaults(mjcf *mj, xmlNode *root, const char *prefix)
{
  const char *main_class = perp_pool_printf(&mj->robot->pool, "%smain", prefix);
  for (xmlNode *node = perp_xml_child(root, "default"); node != NULL;
       node = perp_xml_next(node, "default")) {
    const char *name = perp_xml_text(mj->robot, node, "class");
    if (name == NULL || strcmp(name, perp_pool_printf(&mj->robot->pool, "%smain", prefix)) == 0)
      perp_xml_calls.xmlSetProp(node, (const xmlChar *)"class", (const xmlChar *)main_class);
  }
}

/* Elements without a class get the main class of their file. */
static void attach_classes(xmlNode *top, const char *main_class)
{
  for (xmlNode *node = perp_xml_child(top, NULL); node != NULL; node = perp_xml_next(node, NULL))
    if (perp_xml_calls.xmlHasProp(node, (const xmlChar *)"class") == NULL)
      perp_xml_calls.xmlSetProp(node, (const xmlChar *)"class", (const xmlChar *)main_class);
}

/* Sections of the other file become sections of this one. */
static void attach_sections(mjcf *mj, xmlNode *other, xmlNode *root, const char *main_class)
{
  static const char *const sections[] = { "default", "asset",    "contact", "equality",
                                          "tendon",  "actuator", NULL };
  for (int k = 0; sections[k] != NULL; k++)
    for (xmlNode *section = perp_xml_child(other, sections[k]);
         section != NULL && !perp_robot_refused(mj->robot);
         section = perp_xml_next(section, sections[k])) {
      xmlNode *copy = mjcf_tree_copy(mj, section);
      if (copy == NULL) return;
      if (k >= 4 || k == 3 || k == 2) attach_classes(copy, main_class);
      if (k == 2) /* <exclude> has no class */
        for (xmlNode *node = perp_xml_child(copy, "exclude"); node != NULL;
             node = perp_xml_next(node, "exclude"))
          perp_xml_calls.xmlUnsetProp(node, (const xmlChar *)"class");
      if (k == 1)
        for (xmlNode *node = perp_xml_child(copy, "mesh"); node != NULL;
             node = perp_xml_next(node, "mesh"))
          if (perp_xml_calls.xmlHasProp(node, (const xmlChar *)"class") == NULL)
            perp_xml_calls.xmlSetProp(node, (const xmlChar *)"class", (const xmlChar *)main_class);
      perp_xml_calls.xmlAddChild(root, copy);
    }
}

/* Names of meshes and fields without one are those of their files, before the prefix. */
static void attach_name_assets(mjcf *mj, xmlNode *root)
{
  for (xmlNode *asset = perp_xml_child(root, "asset"); asset != NULL;
       asset = perp_xml_next(asset, "asset"))
    for (xmlNode *node = perp_xml_child(asset, NULL); node != NULL;
         node = perp_xml_next(node, NULL)) {
      const char *file = perp_xml_text(mj->robot, node, "file");
      if (file == NULL || perp_xml_text(mj->robot, node, "name") != NULL) continue;
      const char *slash = strrchr(file, '/'), *base = slash != NULL ? slash + 1 : file,
                 *dot = strrchr(base, '.');
      perp_xml_calls.xmlSetProp(
          node, (const xmlChar *)"name",
          (const xmlChar *)perp_pool_strndup(&mj->robot->pool, base,
                                             dot != NULL ? (size_t)(dot - base) : strlen(base)));
    }
}

static void attach_one(mjcf *mj, xmlNode *at, xmlNode *root)
{
  perp_robot *robot = mj->robot;
  const char *model = perp_xml_text(robot, at, "model"),
             *prefix = perp_xml_text(robot, at, "prefix"), *body = perp_xml_text(robot, at, "body"),
             *frame = perp_xml_text(robot, at, "frame");
  if (prefix == NULL) prefix = "";
  const xmlNode *asset = model != NULL ? attach_asset(mj, root, model) : NULL;
  const char *file = asset != NULL ? perp_xml_text(robot, asset, "file") : NULL;
  if (file == NULL) {
    perp_xml_refuse(robot, at, "add <model name=... file=...> to <asset>",
                    "<attach> needs a model that <asset> names: '%s'", model != NULL ? model : "");
    return;
  }
  const char *path = perp_robot_find(robot, mj->compiler->folder, file, "attached model",
                                     perp_xml_file(asset), perp_xml_line(asset));
  xmlDoc *doc = path != NULL ? perp_xml_open(robot, path, at) : NULL;
  if (doc == NULL) return;
  xmlNode *other = perp_xml_calls.xmlDocGetRootElement(doc);
  mjcf_source *source = perp_pool_alloc(&robot->pool, 1, sizeof *source);
  source->xml.file = path;
  mjcf_tree_include(mj, other, source);
  if (!perp_xml_is(other, "mujoco"))
    perp_xml_refuse(robot, at, "attach a file of MJCF", "the root of %s is <%s>", path,
                    other->name);
  if (!perp_robot_refused(robot)) mjcf_schema_check(mj, other);
  if (!perp_robot_refused(robot)) {
    mjcf_compiler *compiler = mjcf_compiler_read(mj, other, path);
    mjcf_tree_settings(other, compiler, true);
    attach_name_assets(mj, other);
    mjcf_tree_rename(mj, other, prefix, "", NULL);
    attach_defaults(mj, other, prefix);
    const char *main_class = perp_pool_printf(&robot->pool, "%smain", prefix);
    xmlNode *own = perp_xml_calls.xmlNewDocNode(mj->root->doc, NULL, (const xmlChar *)"default",
                                                NULL);
    own->_private = source; /* the class exists, whatever the file has */
    perp_xml_calls.xmlSetProp(own, (const xmlChar *)"class", (const xmlChar *)main_class);
    perp_xml_calls.xmlAddChild(root, own);
    attach_sections(mj, other, root, main_class);
    xmlNode *group = perp_xml_calls.xmlNewDocNode(mj->root->doc, NULL, (const xmlChar *)"frame",
                                                  NULL);
    group->_private = source;
    perp_xml_calls.xmlSetProp(group, (const xmlChar *)"childclass", (const xmlChar *)main_class);
    perp_xml_calls.xmlAddPrevSibling(at, group);
    xmlNode *wanted = NULL;
    if (body != NULL || frame != NULL) {
      const char *name = perp_pool_printf(&robot->pool, "%s%s", prefix,
                                          body != NULL ? body : frame);
      for (xmlNode *world = perp_xml_child(other, "worldbody"); world != NULL && wanted == NULL;
           world = perp_xml_next(world, "worldbody"))
        wanted = attach_find(mj, world, body != NULL ? "body" : "frame", name);
      if (wanted == NULL)
        perp_xml_refuse(robot, at, "use the name of one of its bodies",
                        "the attached model has no %s '%s'", body != NULL ? "body" : "frame",
                        body != NULL ? body : frame);
      else {
        xmlNode *copy = mjcf_tree_copy(mj, wanted);
        if (copy != NULL) perp_xml_calls.xmlAddChild(group, copy);
      }
    } else
      for (xmlNode *world = perp_xml_child(other, "worldbody"); world != NULL;
           world = perp_xml_next(world, "worldbody"))
        for (xmlNode *node = perp_xml_child(world, NULL);
             node != NULL && !perp_robot_refused(robot); node = perp_xml_next(node, NULL)) {
          xmlNode *copy = mjcf_tree_copy(mj, node);
          if (copy != NULL) perp_xml_calls.xmlAddChild(group, copy);
        }
  }
  perp_xml_calls.xmlFreeDoc(doc);
  perp_xml_calls.xmlUnlinkNode(at);
  perp_xml_calls.xmlFreeNode(at);
}

static xmlNode *attach_next(xmlNode *node)
{
  for (xmlNode *child = perp_xml_child(node, NULL); child != NULL;
       child = perp_xml_next(child, NULL)) {
    if (perp_xml_is(child, "attach")) return child;
    xmlNode *inner = attach_next(child);
    if (inner != NULL) return inner;
  }
  return NULL;
}

void mjcf_attach(mjcf *mj, xmlNode *root)
{
  xmlNode *at;
  int n = 0;
  for (xmlNode *world = perp_xml_child(root, "worldbody"); world != NULL;
       world = perp_xml_next(world, "worldbody"))
    while (!perp_robot_refused(mj->robot) && (at = attach_next(world)) != NULL) {
      if (n++ == MOST_MODELS) {
        perp_xml_refuse(mj->robot, at, "attach less", "more than %d models are attached",
                        MOST_MODELS);
        return;
      }
      attach_one(mj, at, root);
    }
}
