/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading MJCF.  Private to mjcf*.c.
 *
 * The file becomes one tree of elements first: what is included, attached and replicated is copied
 * to its place.  Every element knows the file and the compiler settings that it was written under.
 */
#ifndef PERP_MJCF_PRIVATE_H
#define PERP_MJCF_PRIVATE_H

#include "experiments/import/robot_inertia.h"
#include "experiments/import/robot_xml.h"

typedef enum mjcf_from_geom { MJCF_NEVER, MJCF_ALWAYS, MJCF_AUTO } mjcf_from_geom;

typedef struct mjcf_compiler {
  bool radian, limits, balance, aabb, strip;
  perp_robot_inside inside; /* how a mesh is filled, where it says nothing */
  mjcf_from_geom from_geom;
  double least_mass, least_inertia, total_mass;
  int group[2]; /* of geoms that count for inertia */
  char sequence[4];
  const char *folder, *mesh_folder, *asset_folder;
} mjcf_compiler;

typedef struct mjcf_source { /* of an element: at xmlNode._private */
  perp_xml_source xml;       /* first: what perp_xml_file reads */
  mjcf_compiler *compiler;
  bool attached; /* references to what was not attached are dropped, as MuJoCo does */
} mjcf_source;

typedef struct mjcf_class {
  const char *name; /* with the prefix of its model */
  int parent;       /* -1: none */
  int parent_n;     /* elements that the parent had when this class began: later ones are not its */
  int n;
  const xmlNode **node; /* elements of all kinds, later ones count more */
} mjcf_class;

typedef struct mjcf_table { /* elements of one kind by name */
  perp_names names;
  int *id;
} mjcf_table;

typedef struct mjcf_site {
  const char *name;
  int body;
  double x[3], quat[4];
} mjcf_site;

typedef struct mjcf {
  perp_robot *robot;
  xmlNode *root;
  mjcf_compiler *compiler; /* of the main file */
  int n_classes, n_sites;
  mjcf_class *class;
  mjcf_site *site;
  mjcf_table bodies, joints, geoms, sites, tendons, meshes, fields, actuators;
  const xmlNode **mesh_node, **field_node; /* by number in the tables */
  int *mesh, *field;                       /* of the robot; -1: not loaded yet, -2: lost */
  uint32_t groups_off;                     /* of actuators */
  int n_copies;                            /* elements that were copied, bounded */
} mjcf;

typedef struct mjcf_element { /* attributes of an element, then of its default classes */
  mjcf *mj;
  const xmlNode *node;
  int n;
  const xmlNode **layer; /* [n] layer[0] is node */
} mjcf_element;

/* ---- mjcf_tree.c: one tree ---- */

/* Sources of all elements of a tree, and what it includes. */
void mjcf_tree_include(mjcf *mj, xmlNode *root, mjcf_source *source);
/* The compiler settings of all elements of a tree. */
void mjcf_tree_settings(xmlNode *node, mjcf_compiler *compiler, bool attached);
/* A copy of an element with all that is in it, not yet anywhere. */
xmlNode *mjcf_tree_copy(mjcf *mj, const xmlNode *node);
/* All attributes that name an element, or refer to one, in a tree: prefix NAME suffix.  only: just
 * names that are in this table. */
void mjcf_tree_rename(mjcf *mj, xmlNode *top, const char *prefix, const char *suffix,
                      mjcf_table *only);
/* Names of bodies, joints, geoms, ... that a tree defines. */
void mjcf_tree_names(mjcf *mj, const xmlNode *top, mjcf_table *table);
bool mjcf_tree_refers(mjcf *mj, const xmlNode *top, mjcf_table *table);

/* ---- mjcf_attach.c, mjcf_replicate.c ---- */
void mjcf_attach(mjcf *mj, xmlNode *root);
void mjcf_replicate(mjcf *mj, xmlNode *root);

/* ---- mjcf_schema.c ---- */
void mjcf_schema_check(mjcf *mj, const xmlNode *root);

/* ---- mjcf_compiler.c ---- */
mjcf_compiler *mjcf_compiler_read(mjcf *mj, const xmlNode *root, const char *file);
void mjcf_option_read(mjcf *mj);
const mjcf_compiler *mjcf_compiler_of(const xmlNode *node);

/* ---- mjcf_attributes.c ---- */
void mjcf_classes_read(mjcf *mj);
/* The layers of an element; childclass NULL: none.  kind: the name of its defaults. */
mjcf_element mjcf_layers(mjcf *mj, const xmlNode *node, const char *kind, const char *childclass);
const xmlNode *mjcf_with(const mjcf_element *e, const char *key); /* NULL: nowhere */
const char *mjcf_text(const mjcf_element *e, const char *key);
int mjcf_numbers(const mjcf_element *e, const char *key, int least, int most, double *v);
double mjcf_number(const mjcf_element *e, const char *key, double otherwise);
int mjcf_integer(const mjcf_element *e, const char *key, int otherwise);
int mjcf_word(const mjcf_element *e, const char *key, const char *const *words, int otherwise);
bool mjcf_flag(const mjcf_element *e, const char *key, bool otherwise);
/* limited="auto": a range that is said and is no point at 0. */
bool mjcf_limited(const mjcf_element *e, const char *key, const char *range_key,
                  const double range[2]);
bool mjcf_orientation(const mjcf_element *e, double quat[4]); /* false: none is said */
void mjcf_z_to(const double axis[3], double quat[4]);
void mjcf_table_add(mjcf *mj, mjcf_table *table, const xmlNode *node, const char *kind,
                    const char *name, int id);
int mjcf_table_find(mjcf *mj, mjcf_table *table, const char *name); /* -1: none */
/* The element that an attribute names.  -1: there is no attribute, it is said that the element is
 * not attached, or after an error. */
int mjcf_reference(mjcf *mj, mjcf_table *table, const xmlNode *node, const char *key,
                   const char *kind);

/* ---- the robot ---- */
void mjcf_worldbody_read(mjcf *mj); /* mjcf_body.c */
void mjcf_joint_read(mjcf *mj, const mjcf_element *e, int body, const double x[3],
                     const double quat[4]); /* mjcf_joint.c */
void mjcf_free_read(mjcf *mj, const xmlNode *node, int body);
void mjcf_joints_rest(mjcf *mj); /* initial coordinates: as drawn */
/* from: where a body collects the mass of its geoms; NULL: none is needed */
void mjcf_geom_read(mjcf *mj, const mjcf_element *e, int body, const double x[3],
                    const double quat[4], perp_robot_body *from); /* mjcf_geom.c */
void mjcf_assets_read(mjcf *mj);                                  /* mjcf_asset.c */
int mjcf_mesh(mjcf *mj, const xmlNode *at, const char *name, perp_robot_inside *inside);
int mjcf_field(mjcf *mj, const xmlNode *at, const char *name);
void mjcf_contact_read(mjcf *mj); /* mjcf_equality.c */
void mjcf_equality_read(mjcf *mj);
void mjcf_tendon_read(mjcf *mj);
void mjcf_actuator_read(mjcf *mj); /* mjcf_actuator.c */
void mjcf_key_read(mjcf *mj);      /* mjcf_key.c */
void mjcf_others_lost(mjcf *mj);   /* mjcf.c */

#endif
