/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/import/robot_mesh_check.h"

#include "experiments/import/robot_xml.h"

#include <jansson.h>
#include <libxml/parser.h>
#include <string.h>

/* A binary STL says how many triangles of 50 bytes it has. */
const char *perp_mesh_check_stl(const char *bytes, size_t size)
{
  uint32_t n;
  if (size < 84) return size < 15 ? "it is too short for an STL" : NULL;
  memcpy(&n, bytes + 80, sizeof n);
  if (size == 84 + 50 * (size_t)n) return NULL;
  if (strncmp(bytes, "solid", 5) == 0 && memchr(bytes, '\0', size < 1000 ? size : 1000) == NULL)
    return NULL; /* text */
  return 84 + 50 * (size_t)n > size ? "its header claims more triangles than the file holds" : NULL;
}

/* Attributes that COLLADA requires, in elements that assimp follows without asking for them. */
static const char *const check_required[][2] = {
  { "float_array", "count" },
  { "Name_array", "count" },
  { "IDREF_array", "count" },
  { "accessor", "source" },
  { "accessor", "count" },
  { "input", "semantic" },
  { "input", "source" },
  { "triangles", "count" },
  { "polylist", "count" },
  { "polygons", "count" },
  { "lines", "count" },
  { "linestrips", "count" },
  { "tristrips", "count" },
  { "trifans", "count" },
  { "source", "id" },
  { "vertices", "id" },
  { "instance_geometry", "url" },
  { "instance_node", "url" },
  { "instance_visual_scene", "url" },
  { "instance_controller", "url" },
  { "instance_effect", "url" },
  { "instance_material", "symbol" },
  { "instance_material", "target" },
  { "effect", "id" },
  { "skin", "source" },
  { "newparam", "sid" },
};

static const char *check_element(perp_pool *pool, const xmlNode *at)
{
  for (size_t i = 0; i < sizeof check_required / sizeof *check_required; i++) {
    const char *const *row = check_required[i];
    if (!perp_xml_is(at, row[0]) ||
        perp_xml_calls.xmlHasProp((xmlNode *)(uintptr_t)at, (const xmlChar *)row[1]))
      continue;
    /* a skin has elements of these names, too */
    if (strcmp(row[0], "source") == 0 && perp_xml_child(at, NULL) == NULL) continue;
    return perp_pool_printf(pool, "line %d: <%s> needs the attribute '%s'",
                            perp_xml_calls.xmlGetLineNo((xmlNode *)(uintptr_t)at) > 0
                                ? (int)perp_xml_calls.xmlGetLineNo((xmlNode *)(uintptr_t)at)
                                : 1,
                            row[0], row[1]);
  }
  return NULL;
}

/* assimp reads what is not XML, too, and may end the process then. */
const char *perp_mesh_check_dae(perp_pool *pool, const char *bytes, size_t size)
{
  enum { MOST_LEVELS = 200 };
  if (strstr(bytes, "<!ENTITY") != NULL) return "it defines entities, which are not read";
  const char *missing = perp_xml_load(pool);
  if (missing != NULL) return missing;
  xmlDoc *doc = size < (size_t)INT32_MAX
                    ? perp_xml_calls.xmlReadMemory(bytes, (int)size, "mesh.dae", NULL,
                                                   XML_PARSE_NONET | XML_PARSE_NOERROR |
                                                       XML_PARSE_NOWARNING | XML_PARSE_HUGE)
                    : NULL;
  const xmlNode *top = doc != NULL ? perp_xml_calls.xmlDocGetRootElement(doc) : NULL;
  const char *why = doc == NULL                    ? "it is not valid XML"
                    : !perp_xml_is(top, "COLLADA") ? "its root element is not <COLLADA>"
                                                   : NULL;
  int level = 0;
  for (const xmlNode *at = top; at != NULL && why == NULL;) {
    if (at->type == XML_ELEMENT_NODE) why = check_element(pool, at);
    if (at->type == XML_ELEMENT_NODE && at->children != NULL) {
      at = at->children;
      if (++level > MOST_LEVELS) why = "its elements are nested deeper than 200";
      continue;
    }
    for (; at != top && at->next == NULL; level--) at = at->parent;
    at = at == top ? NULL : at->next;
  }
  perp_xml_calls.xmlFreeDoc(doc);
  return why;
}

/* ---- glTF: numbers that are places in lists, and lengths of buffers ---- */

typedef struct check_gltf {
  perp_pool *pool;
  const json_t *root;
  const char *why;
} check_gltf;

static size_t check_many(const check_gltf *gltf, const char *list)
{
  return json_array_size(json_object_get(gltf->root, list));
}

/* A member that is the place of an element of a list; false: it is not there, or bad. */
static bool check_index(check_gltf *gltf, const json_t *at, const char *key, const char *list,
                        bool needed)
{
  const json_t *value = json_object_get(at, key);
  if (gltf->why != NULL || (value == NULL && !needed)) return false;
  if (value != NULL && json_is_integer(value) && json_integer_value(value) >= 0 &&
      (size_t)json_integer_value(value) < check_many(gltf, list))
    return true;
  gltf->why = perp_pool_printf(gltf->pool, "'%s' is no number of one of its %s", key, list);
  return false;
}

static int64_t check_length(check_gltf *gltf, const json_t *at, const char *key, int64_t otherwise)
{
  const json_t *value = json_object_get(at, key);
  if (value == NULL && otherwise >= 0) return otherwise;
  if (json_is_integer(value) && json_integer_value(value) >= 0 &&
      json_integer_value(value) < (int64_t)1 << 40)
    return json_integer_value(value);
  if (gltf->why == NULL) gltf->why = perp_pool_printf(gltf->pool, "'%s' is no length", key);
  return 0;
}

static void check_view(check_gltf *gltf, const json_t *view)
{
  if (!check_index(gltf, view, "buffer", "buffers", true)) return;
  const json_t *buffer = json_array_get(
      json_object_get(gltf->root, "buffers"),
      (size_t)json_integer_value(json_object_get(view, "buffer")));
  const int64_t end = check_length(gltf, view, "byteOffset", 0) +
                      check_length(gltf, view, "byteLength", -1);
  if (end > check_length(gltf, buffer, "byteLength", -1) && gltf->why == NULL)
    gltf->why = "a part of a buffer ends behind it";
}

static void check_accessor(check_gltf *gltf, const json_t *accessor)
{
  static const char *const types[] = { "SCALAR", "VEC2", "VEC3", "VEC4", "MAT2", "MAT3", "MAT4" };
  static const int counts[] = { 1, 2, 3, 4, 4, 9, 16 }, sizes[] = { 1, 1, 2, 2, 0, 4, 4 };
  const char *type = json_string_value(json_object_get(accessor, "type"));
  const int64_t component = check_length(gltf, accessor, "componentType", -1) - 5120,
                count = check_length(gltf, accessor, "count", -1);
  int k = 0;
  while (k < 7 && (type == NULL || strcmp(type, types[k]) != 0)) k++;
  if (gltf->why == NULL && (k == 7 || component < 0 || component > 6 || sizes[component] == 0))
    gltf->why = "an accessor has an unknown 'type' or 'componentType'";
  const bool sparse = json_object_get(accessor, "sparse") != NULL;
  if (!check_index(gltf, accessor, "bufferView", "bufferViews", !sparse)) return;
  const json_t *view = json_array_get(
      json_object_get(gltf->root, "bufferViews"),
      (size_t)json_integer_value(json_object_get(accessor, "bufferView")));
  const int64_t one = (int64_t)counts[k] * sizes[component],
                stride = check_length(gltf, view, "byteStride", one),
                end = check_length(gltf, accessor, "byteOffset", 0) +
                      (count > 0 ? (count - 1) * stride + one : 0);
  if (gltf->why == NULL && (count > (int64_t)1 << 30 || stride > 252 ||
                            end > check_length(gltf, view, "byteLength", -1)))
    gltf->why = "an accessor ends behind its part of the buffer";
}

static void check_attributes(check_gltf *gltf, const json_t *attributes)
{
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)attributes, key, value)
  {
    (void)value;
    check_index(gltf, attributes, key, "accessors", true);
  }
}

static void check_primitive(check_gltf *gltf, const json_t *primitive)
{
  const json_t *attributes = json_object_get(primitive, "attributes"), *target;
  size_t i;
  if (!json_is_object(attributes) || json_object_get(attributes, "POSITION") == NULL)
    gltf->why = "a primitive has no positions";
  check_attributes(gltf, attributes);
  check_index(gltf, primitive, "indices", "accessors", false);
  /* assimp follows the indices of lines wherever they lead */
  const int64_t mode = check_length(gltf, primitive, "mode", 4);
  if (gltf->why == NULL && (mode < 4 || mode > 6))
    gltf->why = "a primitive is no triangles: points and lines have no surface";
  json_array_foreach(json_object_get(primitive, "targets"), i, target)
      check_attributes(gltf, target);
}

static void check_scenes(check_gltf *gltf)
{
  size_t i, j;
  const json_t *at, *primitive;
  json_array_foreach(json_object_get(gltf->root, "bufferViews"), i, at) check_view(gltf, at);
  json_array_foreach(json_object_get(gltf->root, "accessors"), i, at)
  {
    if (gltf->why == NULL) check_accessor(gltf, at);
  }
  json_array_foreach(json_object_get(gltf->root, "meshes"), i, at)
  {
    json_array_foreach(json_object_get(at, "primitives"), j, primitive)
    {
      if (gltf->why == NULL) check_primitive(gltf, primitive);
    }
  }
  json_array_foreach(json_object_get(gltf->root, "nodes"), i, at)
  {
    check_index(gltf, at, "mesh", "meshes", false);
    check_index(gltf, at, "skin", "skins", false);
  }
  check_index(gltf, gltf->root, "scene", "scenes", false);
}

/* A GLB is a header of 12 bytes, then chunks: length, name, bytes; the first one is JSON. */
const char *perp_mesh_check_gltf(perp_pool *pool, const char *bytes, size_t size, bool binary)
{
  const char *text = bytes;
  size_t n = size;
  if (binary) {
    uint32_t length;
    if (size < 20 || memcmp(bytes, "glTF", 4) != 0) return "it is too short for a header of GLB";
    memcpy(&length, bytes + 12, sizeof length);
    if (memcmp(bytes + 16, "JSON", 4) != 0 || length > size - 20)
      return "its first chunk is no JSON, or longer than the file";
    text = bytes + 20;
    n = length;
  }
  json_t *root = json_loadb(text, n, JSON_DISABLE_EOF_CHECK, NULL);
  check_gltf gltf = { pool, root, NULL };
  if (!json_is_object(root))
    gltf.why = "it is not valid JSON";
  else
    check_scenes(&gltf);
  json_decref(root);
  return gltf.why;
}
