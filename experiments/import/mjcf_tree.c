/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One tree of a file and all that it includes; copies of parts of it under other names. */
#include "experiments/import/mjcf_private.h"
#include "experiments/import/robot_search.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 20, MOST_COPIES = 200000 };

static void tree_mark(xmlNode *node, mjcf_source *source)
{
  for (; node != NULL; node = node->next) {
    node->_private = source;
    if (node->type == XML_ELEMENT_NODE) tree_mark(node->children, source);
  }
}

static void tree_include(mjcf *mj, xmlNode *node, const char *folder, const char *const *open,
                         int depth, mjcf_source *source);

/* The elements of a file in the place of <include>. */
static void tree_one(mjcf *mj, xmlNode *at, const char *folder, const char *const *open, int depth,
                     mjcf_source *source)
{
  const char *inner[MOST_DEPTH + 1], *file = perp_xml_text(mj->robot, at, "file");
  if (file == NULL) {
    perp_xml_refuse(mj->robot, at, "write file=\"NAME.xml\"",
                    "<include> needs the attribute 'file'");
    return;
  }
  const char *path = perp_robot_find(mj->robot, folder, file, "included file", perp_xml_file(at),
                                     perp_xml_line(at));
  if (path == NULL) return;
  for (int i = 0; i < depth; i++)
    if (strcmp(open[i], path) == 0) {
      perp_xml_refuse(mj->robot, at, "remove one of the two", "%s includes itself", file);
      return;
    }
  if (depth >= MOST_DEPTH) {
    perp_xml_refuse(mj->robot, at, "", "more than %d files include each other", MOST_DEPTH);
    return;
  }
  xmlDoc *doc = perp_xml_open(mj->robot, path, at);
  if (doc == NULL) return;
  xmlNode *root = perp_xml_calls.xmlDocGetRootElement(doc);
  if (!perp_xml_is(root, "mujocoinclude") && !perp_xml_is(root, "mujoco"))
    perp_xml_refuse(mj->robot, root, "",
                    "the root element of an included file is <mujocoinclude>, "
                    "not <%s>",
                    root->name);
  memcpy(inner, open, (size_t)depth * sizeof *inner);
  inner[depth] = path;
  mjcf_source *own = perp_pool_alloc(&mj->robot->pool, 1, sizeof *own);
  *own = *source;
  own->xml.file = path;
  tree_mark(root, own);
  tree_include(mj, root, folder, inner, depth + 1, own);
  for (xmlNode *child = root->children; child != NULL && !perp_robot_refused(mj->robot);
       child = child->next) {
    if (child->type != XML_ELEMENT_NODE) continue;
    xmlNode *copy = mjcf_tree_copy(mj, child);
    if (copy != NULL) perp_xml_calls.xmlAddPrevSibling(at, copy);
  }
  perp_xml_calls.xmlFreeDoc(doc);
  perp_xml_calls.xmlUnlinkNode(at);
  perp_xml_calls.xmlFreeNode(at);
}

static void tree_include(mjcf *mj, xmlNode *node, const char *folder, const char *const *open,
                         int depth, mjcf_source *source)
{
  for (xmlNode *child = perp_xml_child(node, NULL), *next;
       child != NULL && !perp_robot_refused(mj->robot); child = next) {
    next = perp_xml_next(child, NULL);
    if (perp_xml_is(child, "include"))
      tree_one(mj, child, folder, open, depth, source);
    else
      tree_include(mj, child, folder, open, depth, source);
  }
}

void mjcf_tree_include(mjcf *mj, xmlNode *root, mjcf_source *source)
{
  const char *slash = strrchr(source->xml.file, '/'), *open[] = { source->xml.file };
  const char *folder = slash != NULL ? perp_pool_strndup(&mj->robot->pool, source->xml.file,
                                                         (size_t)(slash - source->xml.file))
                                     : ".";
  tree_mark(root, source);
  tree_include(mj, root, folder[0] != '\0' ? folder : "/", open, 1, source);
}

void mjcf_tree_settings(xmlNode *node, mjcf_compiler *compiler, bool attached)
{
  for (; node != NULL; node = node->next) {
    mjcf_source *source = node->_private;
    if (source != NULL) {
      source->compiler = compiler;
      source->attached = attached;
    }
    if (node->type == XML_ELEMENT_NODE) mjcf_tree_settings(node->children, compiler, attached);
  }
}

/* ---- copies ---- */

/* Sources of a copy are those of its model; false: too many elements. */
static bool tree_follow(mjcf *mj, xmlNode *copy, const xmlNode *model)
{
  for (; copy != NULL && model != NULL; copy = copy->next, model = model->next) {
    copy->_private = model->_private;
    if (copy->type != XML_ELEMENT_NODE) continue;
    if (++mj->n_copies > MOST_COPIES || !tree_follow(mj, copy->children, model->children))
      return false;
  }
  return true;
}

xmlNode *mjcf_tree_copy(mjcf *mj, const xmlNode *node)
{
  xmlNode *from = (xmlNode *)(uintptr_t)node,
          *copy = perp_xml_calls.xmlDocCopyNode(from, mj->root->doc, 1);
  if (copy == NULL) {
    perp_xml_refuse(mj->robot, node, "", "no memory for a copy of <%s>", node->name);
    return NULL;
  }
  copy->_private = node->_private;
  if (!tree_follow(mj, copy->children, from->children)) {
    perp_xml_refuse(mj->robot, node, "replicate, attach or include less",
                    "the file copies more than %d elements", MOST_COPIES);
    perp_xml_calls.xmlFreeNode(copy);
    return NULL;
  }
  return copy;
}

/* Attributes whose values are names of elements. */
static bool tree_names_something(const xmlNode *node, const char *key)
{
  static const char *const keys[] = {
    "name",    "body",     "body1",      "body2",     "joint",      "joint1",
    "joint2",  "geom",     "geom1",      "geom2",     "site",       "site1",
    "site2",   "tendon",   "tendon1",    "tendon2",   "mesh",       "hfield",
    "target",  "sidesite", "refsite",    "cranksite", "slidersite", "jointinparent",
    "refname", "objname",  "actuator",   "camera",    "flex",       "material",
    "texture", "class",    "childclass", "prefix",    "instance",   NULL
  };
  if (strcmp(key, "name") == 0 && perp_xml_is(node, "mujoco")) return false;
  for (int i = 0; keys[i] != NULL; i++)
    if (strcmp(keys[i], key) == 0) return true;
  return false;
}

static bool tree_class_key(const char *key)
{
  return strcmp(key, "class") == 0 || strcmp(key, "childclass") == 0 ||
         strcmp(key, "material") == 0 || strcmp(key, "texture") == 0 || strcmp(key, "mesh") == 0 ||
         strcmp(key, "hfield") == 0;
}

void mjcf_tree_rename(mjcf *mj, xmlNode *top, const char *prefix, const char *suffix,
                      mjcf_table *only)
{
  for (xmlAttr *at = top->properties; at != NULL; at = at->next) {
    const char *key = (const char *)at->name;
    if (!tree_names_something(top, key)) continue;
    /* copies of a part share its classes and assets */
    if (only != NULL && tree_class_key(key)) continue;
    const char *value = perp_xml_text(mj->robot, top, key);
    if (value == NULL || value[0] == '\0') continue;
    if (strcmp(key, "body") == 0 && strcmp(value, "world") == 0) continue;
    if (only != NULL && strcmp(key, "name") != 0 && mjcf_table_find(mj, only, value) < 0) continue;
    perp_xml_calls.xmlSetProp(
        top, at->name,
        (const xmlChar *)perp_pool_printf(&mj->robot->pool, "%s%s%s", prefix, value, suffix));
  }
  for (xmlNode *child = perp_xml_child(top, NULL); child != NULL;
       child = perp_xml_next(child, NULL))
    mjcf_tree_rename(mj, child, prefix, suffix, only);
}

void mjcf_tree_names(mjcf *mj, const xmlNode *top, mjcf_table *table)
{
  const char *name = perp_xml_text(mj->robot, top, "name");
  if (name != NULL && mjcf_table_find(mj, table, name) < 0)
    mjcf_table_add(mj, table, top, "element", name, 1);
  for (const xmlNode *child = perp_xml_child(top, NULL); child != NULL;
       child = perp_xml_next(child, NULL))
    mjcf_tree_names(mj, child, table);
}

bool mjcf_tree_refers(mjcf *mj, const xmlNode *top, mjcf_table *table)
{
  for (const xmlAttr *at = top->properties; at != NULL; at = at->next) {
    const char *key = (const char *)at->name;
    if (!tree_names_something(top, key) || tree_class_key(key) || strcmp(key, "name") == 0)
      continue;
    const char *value = perp_xml_text(mj->robot, top, key);
    if (value != NULL && mjcf_table_find(mj, table, value) >= 0) return true;
  }
  for (const xmlNode *child = perp_xml_child(top, NULL); child != NULL;
       child = perp_xml_next(child, NULL))
    if (mjcf_tree_refers(mj, child, table)) return true;
  return false;
}
