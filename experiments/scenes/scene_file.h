/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scene files perp-scene/1 (docs/reference/scene-files.md): YAML that describes a model of rigid
 * bodies, as a scene with its parameters as options.  Wherever a scene is named,
 * FILE.yaml:key=value,... names one. */
#ifndef PERP_SCENE_FILE_H
#define PERP_SCENE_FILE_H

#include "experiments/base/tree.h"
#include "models/scenes/scene.h"

/* The scenes of the files that come with perp (shipped/) are known to ctx from now on, under their
 * names, and others are found in files: ctx->open.  Files that were read stay until the program
 * ends, and those that come with perp are read when their descriptor is first asked for
 * (ctx->need).  Gauges of scenes need the metrics (perp_register_metrics) in ctx when scenes are
 * built.  PERP_ERR_NOMEM: the registry is full. */
perp_status perp_scene_files_register(perp_ctx *ctx);
/* Relative names are looked for beside this file (a study) first, then in the working folder; those
 * without a folder last among the examples that come with perp.  Returns 0, or errno where
 * scenes/folder or scenes/packages of a results folder cannot be read. */
int perp_scene_files_beside(const char *file);
/* The folder of the examples, allocated: of the source tree that the launcher names, of that the
 * program was built in, the installed one; NULL: there is none. */
char *perp_scene_examples(void);
/* Does a text, a scene with options, name a file? */
bool perp_scene_file_named(const char *text);
/* Is that file a robot (MJCF, URDF), which is imported? */
bool perp_scene_file_robot(const char *text);
/* Is a file with this content a scene (its schema says so)? */
bool perp_scene_file_is(const char *text);

/* Read the file of a scene with options and build the scene once: false, and everything that is
 * wrong in diag, but for the options, about which perp_spec_parse has its message.  at: where the
 * scene is named; NULL: on the command line. */
bool perp_scene_file_check(perp_ctx *ctx, const char *text, perp_diag *diag, const perp_node *at);
/* The file of a scene, and what stands in it; free() them.  NULL: it is not made of a file, or
 * there is none (those that come with perp are parts of the program, too). */
char *perp_scene_file_path(const perp_desc *desc);
char *perp_scene_file_source(const perp_desc *desc);
/* Of the content of all files that a scene is made of, tables included; 0: it is not made of files,
 * or comes with perp: its files are parts of the program, as a scene in C is. */
uint64_t perp_scene_file_hash(const perp_desc *desc);
/* Has an entry of the section (forces, joints) this kind, or one that is an expression?  false: not
 * a scene file. */
bool perp_scene_file_uses(const perp_desc *desc, const char *section, const char *kind);
/* Copy the files of all scenes that were read into dir/scenes, so that a study in dir finds them
 * there.  beside: the study that named them.  PERP_ERR_IO. */
perp_status perp_scene_files_keep(perp_ctx *ctx, const char *dir, const char *beside);

/* A scene from a text in memory, as a fuzz target asks for: built once and forgotten.  false: diag
 * says why. */
bool perp_scene_text_check(perp_ctx *ctx, const char *name, const char *text, size_t size,
                           perp_diag *diag);

/* Write the model of a scene as a scene file: numbers with all their digits, so that it is the same
 * to the last bit when it is read back.  Truths and gauges are not written.  PERP_ERR_UNSUPPORTED:
 * a scene without bodies. */
perp_status perp_scene_export(perp_ctx *ctx, const perp_desc *desc, const perp_scene *scene,
                              const char *name, FILE *out);

#endif
