/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sections of a scene file that become parts of a model.  Private to experiments/scenes. */
#ifndef PERP_SCENES_PARTS_H
#define PERP_SCENES_PARTS_H

#include "experiments/scenes/keys.h"
#include "models/scenes/truths.h"

/* Words of the file, in the order of their enums. */
extern const char *const perp_scene_joint_starts[], *const perp_scene_drive_axes[];
extern const char *const perp_scene_joint_kinds[], *const perp_scene_curve_kinds[],
                                                       *const perp_scene_force_kinds[],
                                                           *const perp_scene_shape_kinds[],
                                                               *const perp_scene_friction_rules[];
/* Keys of parts, which export writes by, too. */
extern const perp_key perp_scene_joint_keys[], perp_scene_row_keys[], perp_scene_curve_keys[],
    perp_scene_drive_keys[], perp_scene_force_keys[], perp_scene_shape_keys[],
    perp_scene_surface_keys[], perp_scene_mass_keys[], perp_scene_motion_keys[],
    perp_scene_joint_plugin_keys[];

/* Bodies of `bodies`, with their shapes, then what `initial` says of them, into reader->body. */
void perp_scene_read_bodies(perp_scene_reader *reader);
/* The state of the bodies after `pose`. */
void perp_scene_read_pose(perp_scene_reader *reader);
/* They, and then the shapes: those of `shapes`, those of bodies. */
void perp_scene_add_bodies(perp_scene_reader *reader, perp_model *model);
void perp_scene_add_shapes(perp_scene_reader *reader, perp_model *model);
/* What pairs of materials have with each other. */
void perp_scene_add_pairs(perp_scene_reader *reader, perp_model *model);
/* A row on velocities; *name: of the joint. */
bool perp_scene_add_rate(perp_scene_reader *reader, const perp_node *entry, const char **name);
/* A coupling of joint axes, the same; the armature of a drive, of its node. */
bool perp_scene_add_coupling(perp_scene_reader *reader, const perp_node *entry, const char **name);
bool perp_scene_add_armature(perp_scene_reader *reader, const perp_node *node,
                             const perp_drive_def *drive);
/* The number of a joint in the file: armatures stand among drives. */
int perp_scene_joint_number(const perp_model *model, int joint);
void perp_scene_export_coupling(FILE *out, const perp_model *model, const perp_coupling_def *def);
void perp_scene_export_armatures(FILE *out, const perp_model *model);
/* The axes of a chain; of another joint an error where there are some. */
bool perp_scene_chain_read(perp_scene_reader *reader, const perp_node *entry, perp_joint_def *def);
/* Its axes; what follows from them is taken out of def. */
void perp_scene_export_chain(FILE *out, perp_joint_def *def);
/* A joint of model.h, of its entry. */
bool perp_scene_joint_read(perp_scene_reader *reader, const perp_node *entry, perp_joint_def *def);
void perp_scene_add_joints(perp_scene_reader *reader, perp_model *model);
/* no_contact.c: pairs that are named; and, when the model is finished, those that overlap. */
void perp_scene_add_no_contact(perp_scene_reader *reader, perp_model *model);
bool perp_scene_filter(perp_scene_reader *reader);
void perp_scene_export_no_contact(const perp_model *model, FILE *out);
void perp_scene_add_drives(perp_scene_reader *reader, perp_model *model);
void perp_scene_add_forces(perp_scene_reader *reader, perp_model *model);
/* Of an entry of joints or forces: the plug-in of its kind, NULL for a kind of model.h (own). false
 * after an error: nobody knows the kind. */
bool perp_scene_element_kind(perp_scene_reader *reader, const perp_node *entry, perp_kind kind,
                             const char *const *own, const perp_desc **desc);
/* Its keys: those of all of its kind (common) into *def, its options, its bodies; from the pool.
 * what: "joint". */
bool perp_scene_element_read(perp_scene_reader *reader, const perp_node *entry,
                             const perp_desc *desc, const char *what, const perp_key *common,
                             void *def, void **opts, int *n, const int **body);
/* An option, or a vector of them, by its key; keys that are none are looked at by others. */
bool perp_scene_element_option(perp_scene_reader *reader, const char *key, const perp_node *node,
                               const perp_desc *desc, void *opts);
/* Of r->signals. */
perp_signals_fn perp_scene_read_signals;
/* Into reader->motion, before bodies are added: bodies start where they are to move. */
void perp_scene_read_motions(perp_scene_reader *reader);
void perp_scene_add_motions(perp_scene_reader *reader, perp_model *model);

/* Entries of `events`, whose bodies the model has. */
typedef struct perp_scene_events {
  int n;
  perp_event *event;
  int n_times;
  double *time;
  int *of; /* [n_times] which event */
} perp_scene_events;
void perp_scene_read_events(perp_scene_reader *reader, perp_scene_events *out);
/* Bodies that are disabled for a time. */
void perp_scene_add_disabled(perp_scene_reader *reader, perp_model *model);
/* They, and the events that they wait for, as a scene file has them. */
void perp_scene_export_disabled(const perp_model *model, FILE *out);

/* A shape of a body or of the world (def->body is set by the caller unless the entry has `body`).
 */
bool perp_scene_read_shape(perp_scene_reader *reader, const perp_node *node, perp_shape_def *def);
/* Triangles of a list, by the numbers of their vertices; *n of them.  NULL: said already. */
int *perp_scene_triangles(perp_scene_reader *reader, const perp_node *given, int n_vertices,
                          int *n);
/* What a mesh or a height field has beyond other shapes; nothing of others. */
bool perp_scene_read_surface(perp_scene_reader *reader, const perp_node *node, perp_shape_def *def);
/* Mass and inertia about the centre of mass of a solid (the map `at`), or of the one shape of a
 * body, which stands there. mass > 0: of it; else density.  A polytope is moved so that its centre
 * of mass is the origin. */
bool perp_scene_solid(perp_scene_reader *reader, const perp_node *at, bool solid,
                      const perp_shape_def *shape, double mass, double density, perp_mass *out);
/* World vector p - x (a place) or p (a direction) in the frame of a body in its initial state,
 * before the pose. */
void perp_scene_local(const perp_scene_reader *reader, int body, bool place, const double p[3],
                      double s[3]);

#endif
