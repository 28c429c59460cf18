/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scene file in memory, and the scene that it makes.  Private to experiments/scenes. */
#ifndef PERP_SCENES_BUILD_H
#define PERP_SCENES_BUILD_H

#include "experiments/base/tree.h"
#include "models/scenes/scene.h"

typedef struct perp_scene_file {
  perp_pool pool;     /* everything below lives here */
  const char *name;   /* as it was typed: that of the scene */
  const char *path;   /* where it was found, absolute */
  const char *folder; /* the working folder of then */
  perp_node *root;    /* with all that it includes */
  perp_scene_desc desc;
  perp_opt *options;    /* [n_options + 1], those of the descriptor */
  const perp_node **at; /* [n_options] where they stand */
  int n_options;
  uint64_t hash;
  int n_parts;
  const char **part; /* absolute paths of all files that it is made of */
  const char *said;  /* lines for people when it is first built; NULL: none */
  bool told;
  /* The file that stands in its place with these options, NULL after an error; NULL: itself. */
  const struct perp_scene_file *(*variant)(perp_ctx *ctx, perp_diag *diag,
                                           const struct perp_scene_file *file, const void *opts);
} perp_scene_file;

/* Read YAML (text NULL: from the file) with includes and parameters.  false after an error. */
bool perp_scene_file_read(perp_ctx *ctx, perp_diag *diag, const char *shown, const char *text,
                          size_t size, perp_scene_file *file);
/* `parameters` as the options of the descriptor. */
bool perp_scene_file_options(perp_ctx *ctx, perp_diag *diag, perp_scene_file *file);
/* The scene with these options; *scene is empty after an error.  PERP_ERR_OPTION: the file refuses
 * these options, PERP_ERR_FORMAT: anything else. */
perp_status perp_scene_file_build(perp_ctx *ctx, perp_diag *diag, const perp_scene_file *file,
                                  const void *opts, perp_scene *scene);

/* The descriptor of a file that was read: a scene of this name.  Texts live in the pool of the
 * file. */
void perp_scene_file_describe(perp_scene_file *file, const char *name);
/* Returns status with the first message of diag, which is freed, in ctx. */
perp_status perp_scene_file_refuse(perp_ctx *ctx, perp_diag *diag, perp_status status);

/* The scenes of the files that come with perp, as plug-ins that have only their names until they
 * are needed: then their file is read, for the life of the program.  One that is wrong has no
 * options and says why when it is built. */
const perp_plugin *perp_scenes_shipped(void);
void perp_scene_shipped_need(const perp_desc *desc);
/* Of one of them, allocated: where its file is, and its text.  NULL: d is none of them (path: or
 * there is no file). */
char *perp_scene_shipped_path(const perp_desc *desc);
char *perp_scene_shipped_source(const perp_desc *desc);

#endif
