/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/import/robot_xml.h"

#include "experiments/base/files.h"
#include "experiments/base/memory.h"
#include "solvers/core/library_files.h"
#include "solvers/core/shown.h"

#include <errno.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 200, MOST_ELEMENTS = 1000000, MOST_ATTRIBUTES = 1000, MOST_NUMBERS = 1 << 24 };

/* ---- files ---- */

/* Entities are what makes a small file large and lets it read other files: none is declared. */
static void xml_entity(void *context, const xmlChar *name, int type, const xmlChar *public_id,
                       const xmlChar *system_id, xmlChar *content)
{
  xmlParserCtxt *parser = context;
  (void)name, (void)type, (void)public_id, (void)system_id, (void)content;
  parser->_private = parser;
  perp_xml_calls.xmlStopParser(parser);
}

static void xml_silent(void *context, const char *message, ...)
{
  (void)context, (void)message;
}

/* Elements of a tree; more than are allowed: -1. */
static int xml_count(const xmlNode *top)
{
  int n = 0, level = 0;
  for (const xmlNode *at = top; at != NULL;) {
    if (++n > MOST_ELEMENTS) return -1;
    if (at->type == XML_ELEMENT_NODE && at->children != NULL) {
      if (++level > MOST_LEVELS) return -1;
      at = at->children;
      continue;
    }
    while (at != top && at->next == NULL) {
      at = at->parent;
      level--;
    }
    if (at == top) break;
    at = at->next;
  }
  return n;
}

struct perp_xml_calls perp_xml_calls;
static bool xml_ends_without_memory;

const char *perp_xml_load(perp_pool *pool)
{
  PERP_LIBRARY(xml, PERP_XML, perp_xml_calls, XML2, "libxml2", "libxml2-dev");
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (perp_library_open(&ctx, &xml_library) != PERP_OK)
    return perp_pool_printf(pool, "%s", ctx.msg);
  if (xml_ends_without_memory)
    perp_xml_calls.xmlMemSetup(free, perp_memory_malloc, perp_memory_realloc, perp_xstrdup);
  return NULL;
}

/* Why a text would take its parser too long (attributes of an element are compared with each other)
 * or too much memory, by its signs alone; NULL: it does not. */
static const char *xml_excess(const char *text, size_t size)
{
  size_t tags = 0, attributes = 0;
  for (const char *at = text, *end = text + size; at < end; at++)
    if (*at == '<') {
      tags++;
      attributes = 0;
    } else if (*at == '=') {
      const char *value = at + 1;
      while (value < end && strchr(" \t\r\n", *value) != NULL) value++;
      if (value < end && (*value == '"' || *value == '\'') && ++attributes > MOST_ATTRIBUTES)
        return "an element has more than 1000 attributes";
    }
  return tags > 2 * (size_t)MOST_ELEMENTS ? "the file has more than 1000000 elements" : NULL;
}

static xmlDoc *xml_from(perp_robot *robot, const char *name, const char *text, size_t size,
                        const char *named_in, int named_at)
{
  const char *missing = perp_xml_load(&robot->pool);
  if (missing != NULL) {
    perp_robot_refuse(robot, named_in, named_at, "", "%s", missing);
    return NULL;
  }
  const char *excess = xml_excess(text, size);
  if (excess != NULL) {
    perp_robot_refuse(robot, name, 1, "divide the file", "%s", excess);
    return NULL;
  }
  xmlParserCtxt *parser = size < (size_t)1 << 30 ? perp_xml_calls.xmlNewParserCtxt() : NULL;
  if (parser == NULL) {
    perp_robot_refuse(robot, named_in, named_at, "", "no memory for the file %s", name);
    return NULL;
  }
  parser->sax->entityDecl = xml_entity;
  parser->sax->error = parser->sax->warning = parser->sax->fatalError = xml_silent;
  parser->sax->serror = NULL;
  xmlDoc *doc = perp_xml_calls.xmlCtxtReadMemory(parser, text, (int)size, name, NULL,
                                                 XML_PARSE_NONET | XML_PARSE_NOERROR |
                                                     XML_PARSE_NOWARNING | XML_PARSE_NOCDATA |
                                                     XML_PARSE_BIG_LINES);
  const xmlError *error = perp_xml_calls.xmlCtxtGetLastError(parser);
  if (parser->_private != NULL)
    perp_robot_refuse(robot, name, 1, "write its text where the entity is used",
                      "the file declares entities, which are not read");
  else if (doc == NULL || !parser->wellFormed) {
    char message[300] = "";
    if (error != NULL && error->message != NULL)
      snprintf(message, sizeof message, ": %.*s", (int)strcspn(error->message, "\n"),
               error->message);
    perp_robot_refuse(
        robot, name, error != NULL ? error->line : 0,
        "use <mujoco> (MJCF), <robot> (URDF) or <sdf> as root, and close each element",
        "the file is not valid XML from here on%s", message);
  } else if (perp_xml_calls.xmlDocGetRootElement(doc) == NULL)
    perp_robot_refuse(robot, name, 1, "", "the file has no element");
  else if (xml_count(perp_xml_calls.xmlDocGetRootElement(doc)) < 0)
    perp_robot_refuse(robot, name, 0, "divide the file",
                      "the file has more than %d elements, or more than %d inside each other",
                      MOST_ELEMENTS, MOST_LEVELS);
  perp_xml_calls.xmlFreeParserCtxt(parser);
  if (perp_robot_refused(robot) && doc != NULL) {
    perp_xml_calls.xmlFreeDoc(doc);
    doc = NULL;
  }
  return doc;
}

xmlDoc *perp_xml_parse(perp_robot *robot, const char *name, const char *text, size_t size)
{
  return xml_from(robot, name, text, size, NULL, 0);
}

xmlDoc *perp_xml_open(perp_robot *robot, const char *path, const xmlNode *at)
{
  const char *why = NULL;
  size_t size = 0;
  char *text = perp_read_input(path, &size, &why);
  const char *in = at != NULL ? perp_xml_file(at) : NULL;
  const int line = at != NULL ? perp_xml_line(at) : 0;
  if (text == NULL || why != NULL) {
    perp_robot_refuse(robot, in, line, "put the file there, or correct its name",
                      "cannot open the file %s: %s", path, why != NULL ? why : strerror(errno));
    free(text);
    return NULL;
  }
  perp_robot_read_file(robot, path);
  xmlDoc *doc = xml_from(robot, path, text, size, in, line);
  free(text);
  return doc;
}

void perp_xml_memory(void)
{
  xml_ends_without_memory = true;
}

/* ---- elements ---- */

int perp_xml_line(const xmlNode *at)
{
  const long line = perp_xml_calls.xmlGetLineNo(at);
  return line > 0 && line < 1000000000 ? (int)line : 0;
}

const char *perp_xml_file(const xmlNode *at)
{
  const perp_xml_source *source = at->_private;
  if (source != NULL) return source->file;
  return at->doc != NULL ? (const char *)at->doc->URL : NULL;
}

void perp_xml_refuse(perp_robot *robot, const xmlNode *at, const char *hint, const char *fmt, ...)
{
  va_list ap;
  perp_text text = { 0 };
  va_start(ap, fmt);
  perp_text_vadd(&text, fmt, ap);
  va_end(ap);
  perp_robot_refuse(robot, perp_xml_file(at), perp_xml_line(at), hint, "%s", text.s);
  perp_text_free(&text);
}

bool perp_xml_is(const xmlNode *node, const char *name)
{
  return node != NULL && node->type == XML_ELEMENT_NODE &&
         (name == NULL || strcmp((const char *)node->name, name) == 0);
}

static xmlNode *xml_first(xmlNode *node, const char *name)
{
  while (node != NULL && !perp_xml_is(node, name)) node = node->next;
  return node;
}

xmlNode *perp_xml_child(const xmlNode *node, const char *name)
{
  return node != NULL ? xml_first(node->children, name) : NULL;
}

xmlNode *perp_xml_next(const xmlNode *node, const char *name)
{
  return node != NULL ? xml_first(node->next, name) : NULL;
}

const char *perp_xml_text(perp_robot *robot, const xmlNode *node, const char *key)
{
  xmlChar *value = perp_xml_calls.xmlGetNoNsProp(node, (const xmlChar *)key);
  if (value == NULL) return NULL;
  char *copy = perp_pool_strdup(&robot->pool, (const char *)value);
  (*perp_xml_calls.xmlFree)(value);
  if (!perp_shown_all(copy)) {
    perp_xml_refuse(robot, node, "remove it", "'%s' of <%s> has a control character", key,
                    node->name);
    perp_shown_clean(copy);
  }
  return copy;
}

const char *perp_xml_content(perp_robot *robot, const xmlNode *node)
{
  xmlChar *value = perp_xml_calls.xmlNodeGetContent(node);
  if (value == NULL) return "";
  const char *at = (const char *)value + strspn((const char *)value, " \t\r\n");
  size_t n = strlen(at);
  while (n > 0 && strchr(" \t\r\n", at[n - 1]) != NULL) n--;
  char *copy = perp_shown_clean(perp_pool_strndup(&robot->pool, at, n));
  (*perp_xml_calls.xmlFree)(value);
  return copy;
}

/* ---- numbers and words ---- */

/* The next number of a text; 0: the end, -1: no number. */
static int xml_number(const char **s, double *v)
{
  *s += strspn(*s, " \t\r\n");
  if (**s == '\0') return 0;
  /* of C, as decimal numbers: neither nan, inf nor hexadecimal ones */
  if (strchr("+-.0123456789", **s) == NULL) return -1;
  const size_t n = strcspn(*s, " \t\r\n");
  if (n > 300 || strspn(*s, "+-.0123456789eE") != n) return -1;
  char *end;
  *v = strtod(*s, &end);
  if (end != *s + n || !isfinite(*v)) return -1;
  *s = end;
  return 1;
}

static int xml_bad(perp_robot *robot, const xmlNode *node, const char *what, const char *text)
{
  text += strspn(text, " \t\r\n");
  perp_xml_refuse(robot, node, "write finite decimal numbers, with spaces between them",
                  "%s of <%s> is no number here: '%.*s'", what, node->name, (int)strnlen(text, 30),
                  text);
  return 0;
}

int perp_xml_scan(perp_robot *robot, const xmlNode *node, const char *what, const char *text,
                  int most, double *v)
{
  int n = 0;
  double next;
  for (const char *at = text;; n++) {
    const int got = xml_number(&at, &next);
    if (got == 0) return n;
    if (got < 0) return xml_bad(robot, node, what, at);
    if (n == most) {
      perp_xml_refuse(robot, node, "remove the others", "%s of <%s> has more than %d number%s",
                      what, node->name, most, most > 1 ? "s" : "");
      return 0;
    }
    v[n] = next;
  }
}

int perp_xml_numbers(perp_robot *robot, const xmlNode *node, const char *key, int least, int most,
                     double *v)
{
  xmlChar *text = perp_xml_calls.xmlGetNoNsProp(node, (const xmlChar *)key);
  if (text == NULL) return 0;
  char what[80];
  double *own = perp_xalloc((size_t)most + 1, sizeof *own);
  snprintf(what, sizeof what, "'%.60s'", key);
  int n = perp_xml_scan(robot, node, what, (const char *)text, most, own);
  if (n < least && !perp_robot_refused(robot))
    perp_xml_refuse(robot, node, "write the others",
                    least == most ? "'%s' of <%s> needs %d number%s: got %d"
                                  : "'%s' of <%s> needs at least %d number%s: got %d",
                    key, node->name, least, least > 1 ? "s" : "", n);
  if (perp_robot_refused(robot)) n = 0;
  memcpy(v, own, (size_t)n * sizeof *v);
  free(own);
  (*perp_xml_calls.xmlFree)(text);
  return n;
}

double *perp_xml_list(perp_robot *robot, const xmlNode *node, const char *key, int *n)
{
  xmlChar *text = perp_xml_calls.xmlGetNoNsProp(node, (const xmlChar *)key);
  double next, *v = NULL;
  *n = 0;
  if (text == NULL) return NULL;
  int count = 0, got = 0;
  for (const char *at = (const char *)text; (got = xml_number(&at, &next)) > 0; count++) {}
  if (got == 0 && count > 0 && count < MOST_NUMBERS) {
    v = perp_pool_alloc(&robot->pool, (size_t)count, sizeof *v);
    for (const char *at = (const char *)text; *n < count && xml_number(&at, &v[*n]) > 0; ++*n) {}
  } else if (got < 0) {
    char what[80];
    snprintf(what, sizeof what, "'%.60s'", key);
    const char *at = (const char *)text;
    while (xml_number(&at, &next) > 0) {}
    xml_bad(robot, node, what, at);
  } else if (count > 0)
    perp_xml_refuse(robot, node, "", "'%s' of <%s> has %d numbers: more than %d", key, node->name,
                    count, MOST_NUMBERS);
  (*perp_xml_calls.xmlFree)(text);
  return v;
}

int perp_xml_word(perp_robot *robot, const xmlNode *node, const char *key, const char *const *words,
                  int otherwise)
{
  const char *text = perp_xml_text(robot, node, key);
  if (text == NULL) return otherwise;
  perp_text known = { 0 };
  for (int i = 0; words[i] != NULL; i++) {
    if (strcmp(words[i], text) == 0) {
      perp_text_free(&known);
      return i;
    }
    perp_text_add(&known, "%s%s", i > 0 ? ", " : "", words[i]);
  }
  perp_text_put(&known, "", 0);
  perp_xml_refuse(robot, node, perp_pool_printf(&robot->pool, "one of: %s", known.s),
                  "'%s' of <%s> is none of its words: '%s'", key, node->name, text);
  perp_text_free(&known);
  return otherwise;
}

void perp_xml_known(perp_robot *robot, const xmlNode *node, const char *const *keys)
{
  for (const xmlAttr *at = node->properties; at != NULL; at = at->next) {
    int i = 0;
    while (keys[i] != NULL && strcmp(keys[i], (const char *)at->name) != 0) i++;
    if (keys[i] != NULL) continue;
    perp_text known = { 0 };
    for (i = 0; keys[i] != NULL; i++)
      perp_text_add(&known, "%s%s", i > 0 ? ", " : "its attributes: ", keys[i]);
    perp_text_put(&known, "", 0);
    perp_xml_refuse(robot, node, known.s, "unrecognized attribute '%s': <%s>", at->name,
                    node->name);
    perp_text_free(&known);
    return;
  }
}
