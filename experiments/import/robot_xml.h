/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading XML by libxml2 without any of its risks: no network, no document type (and so no
 * entities), a bounded size and depth; attributes as numbers, with errors that name file and
 * line.  Private to experiments/import. */
#ifndef PERP_ROBOT_XML_H
#define PERP_ROBOT_XML_H

#include "experiments/import/robot.h"
#include "solvers/core/library.h"

#include <libxml/parser.h>
#include <libxml/tree.h>

/* Its functions: libxml2 is loaded (solvers/core/library.h) by perp_xml_open and perp_xml_parse. */
#define PERP_XML(X)                                                                                \
  X(xmlAddChild)                                                                                   \
  X(xmlAddPrevSibling)                                                                             \
  X(xmlCtxtGetLastError)                                                                           \
  X(xmlCtxtReadMemory)                                                                             \
  X(xmlDocCopyNode)                                                                                \
  X(xmlDocGetRootElement)                                                                          \
  X(xmlFree)                                                                                       \
  X(xmlFreeDoc)                                                                                    \
  X(xmlFreeNode)                                                                                   \
  X(xmlFreeParserCtxt)                                                                             \
  X(xmlGetLineNo)                                                                                  \
  X(xmlGetNoNsProp)                                                                                \
  X(xmlHasProp)                                                                                    \
  X(xmlMemSetup)                                                                                   \
  X(xmlNewDocNode)                                                                                 \
  X(xmlNewParserCtxt)                                                                              \
  X(xmlNodeGetContent)                                                                             \
  X(xmlNodeSetName)                                                                                \
  X(xmlReadMemory)                                                                                 \
  X(xmlSetProp)                                                                                    \
  X(xmlStopParser)                                                                                 \
  X(xmlUnlinkNode)                                                                                 \
  X(xmlUnsetProp)
struct perp_xml_calls {
  PERP_XML(PERP_LIBRARY_POINTER)
};
extern struct perp_xml_calls perp_xml_calls;
/* Loads it, where no tree has been read yet; NULL, or why it cannot be. */
const char *perp_xml_load(perp_pool *pool);

/* Where an element was written, if not in the file of its document: at its field _private. */
typedef struct perp_xml_source {
  const char *file;
} perp_xml_source;

/* A file as a tree, which the caller frees with xmlFreeDoc; NULL after perp_robot_refuse.  The file
 * is noted by perp_robot_read_file.  at: where it is named, NULL: on the command line. */
xmlDoc *perp_xml_open(perp_robot *robot, const char *path, const xmlNode *at);
/* The same of text that was made here: name is what messages call it. */
xmlDoc *perp_xml_parse(perp_robot *robot, const char *name, const char *text, size_t size);

/* From here on libxml2 ends the process where memory does: a document that lacks a part would read
 * as one that is damaged.  Before its first use. */
void perp_xml_memory(void);

/* The error at an element: file and line are its own. */
void perp_xml_refuse(perp_robot *robot, const xmlNode *at, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int perp_xml_line(const xmlNode *at);
const char *perp_xml_file(const xmlNode *at);

bool perp_xml_is(const xmlNode *node, const char *name); /* an element of that name */
/* The first child element, the next sibling element, of that name (NULL: of any). */
xmlNode *perp_xml_child(const xmlNode *node, const char *name);
xmlNode *perp_xml_next(const xmlNode *node, const char *name);

/* The value of an attribute, in the pool of the robot; NULL: there is none. */
const char *perp_xml_text(perp_robot *robot, const xmlNode *node, const char *key);
/* Text of the element itself, without space around it; "" where there is none. */
const char *perp_xml_content(perp_robot *robot, const xmlNode *node);
/* Numbers of an attribute into v, at least `least` and at most `most` of them: how many; 0 where
 * there is no attribute, or after an error.  Numbers are finite. */
int perp_xml_numbers(perp_robot *robot, const xmlNode *node, const char *key, int least, int most,
                     double *v);
/* As many as there are, in the pool; NULL with *n = 0 where there is none, or after an error. */
double *perp_xml_list(perp_robot *robot, const xmlNode *node, const char *key, int *n);
/* The numbers of a text that belongs to `node`; what: "attribute 'pos'" for messages. */
int perp_xml_scan(perp_robot *robot, const xmlNode *node, const char *what, const char *text,
                  int most, double *v);
/* One word of a list that ends with NULL: its number, or `otherwise` where there is no attribute,
 * or after an error. */
int perp_xml_word(perp_robot *robot, const xmlNode *node, const char *key, const char *const *words,
                  int otherwise);
/* Every attribute is one of a list that ends with NULL. */
void perp_xml_known(perp_robot *robot, const xmlNode *node, const char *const *keys);

#endif
