/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SDF on its way to a tree of links and joints.  Private to sdf*.c. */
#ifndef PERP_SDF_PRIVATE_H
#define PERP_SDF_PRIVATE_H

#include "experiments/import/robot_tree.h"

/* A frame of a model: its own, of a link, a joint, or <frame>.  Names are absolute: MODEL::NAME. */
typedef struct perp_sdf_frame {
  const char *name, *scope; /* scope: MODEL:: */
  const xmlNode *at;
  const char *base;     /* absolute name of the frame that its pose is in; "": the world */
  const char *attached; /* absolute name of the frame that it moves with; NULL: it is a link's */
  perp_tree_pose pose;  /* in base; resolved: in the world */
  int state;            /* 0: as read, 1: being resolved, 2: resolved */
  int link;             /* of a link; -1 */
} perp_sdf_frame;

typedef struct perp_sdf_joint { /* whose links are not yet known */
  const xmlNode *at;
  const char *name, *scope;
} perp_sdf_joint;

typedef struct perp_sdf {
  perp_robot *robot;
  perp_tree tree;
  int n_frames, n_joints, n_docs, n_models, n_tops;
  perp_sdf_frame *frame;
  perp_sdf_joint *joint;
  xmlDoc **doc; /* of included files */
} perp_sdf;

/* Content of a child element: a text ("" where there is none), a number, numbers (how many). */
const char *perp_sdf_text(perp_sdf *sdf, const xmlNode *of, const char *name);
double perp_sdf_number(perp_sdf *sdf, const xmlNode *of, const char *name, double otherwise);
int perp_sdf_numbers(perp_sdf *sdf, const xmlNode *of, const char *name, int n, double *v);
bool perp_sdf_true(perp_sdf *sdf, const xmlNode *of, const char *name, bool otherwise);
/* <pose> of an element; *relative_to: its attribute, NULL where there is none. */
void perp_sdf_pose(perp_sdf *sdf, const xmlNode *of, perp_tree_pose *pose,
                   const char **relative_to);
/* Elements that are neither read nor without physics are lost. */
void perp_sdf_rest(perp_sdf *sdf, const xmlNode *of, const char *const *read, const char *whose);

/* SCOPENAME; the absolute name of what an element is relative to (NULL, __model__: its model). */
const char *perp_sdf_join(perp_sdf *sdf, const char *scope, const char *name);
const char *perp_sdf_base(perp_sdf *sdf, const char *scope, const char *name);
/* The frame of an absolute name; NULL: there is none. */
perp_sdf_frame *perp_sdf_absolute(const perp_sdf *sdf, const char *name);
/* The frame of a name in a scope; NULL after an error. */
perp_sdf_frame *perp_sdf_find(perp_sdf *sdf, const char *scope, const char *name,
                              const xmlNode *at);
bool perp_sdf_resolve(perp_sdf *sdf, perp_sdf_frame *frame);

/* Where the models of a set of bits collide: models with the same bit do not. */
typedef struct perp_sdf_group {
  int contype, conaffinity;
} perp_sdf_group;

void perp_sdf_link(perp_sdf *sdf, const xmlNode *at, const char *scope, const char *folder,
                   bool fixed, const perp_sdf_group *group);
void perp_sdf_joints(perp_sdf *sdf);    /* of the tree, once all frames are resolved */
void perp_sdf_couplings(perp_sdf *sdf); /* screws, gearboxes, mimics, once the tree is built */

#endif
