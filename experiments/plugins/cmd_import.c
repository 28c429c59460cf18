/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp import: a robot in MJCF, URDF or SDF, or a skeleton in BVH or ASF/AMC, as a scene file. */
#include "experiments/plugins/cmd_scene.h"

#include "experiments/import/import.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/base/files.h"
#include "experiments/base/numbers.h"

#include <stdlib.h>
#include <string.h>

/* The scene names the file of its motion, which is beside the figure: written elsewhere, it gets
 * the whole path. */
static void import_place_motion(perp_import *figure, const char *from, const char *to)
{
  char *base = perp_base_name(from, ""), *name = perp_xprintf("file: \"%s\"", base);
  char *slash = perp_xprintf("%.*s.",
                             strrchr(to, '/') != NULL ? (int)(strrchr(to, '/') + 1 - to) : 0, to);
  char *folder = perp_real_path(slash);
  const char *at = strstr(figure->scene, name);
  const char *end = figure->n_files > 0 ? strrchr(figure->file[0], '/') : NULL;
  const size_t length = end != NULL ? (size_t)(end - figure->file[0]) : 0;
  if (at != NULL && end != NULL &&
      !(folder != NULL && strlen(folder) == length &&
        strncmp(folder, figure->file[0], length) == 0)) {
    perp_text whole = { 0 };
    const char *rest = figure->scene;
    for (; at != NULL; at = strstr(rest, name)) { /* its truth and its controller name it */
      perp_text_put(&whole, rest, (size_t)(at - rest));
      perp_text_add(&whole, "file: \"%s\"", figure->file[0]);
      rest = at + strlen(name);
    }
    perp_text_add(&whole, "%s", rest);
    free(figure->scene);
    figure->scene = whole.s;
    figure->size = whole.n;
  }
  free(folder);
  free(slash);
  free(name);
  free(base);
}

/* It is a scene: all that is lost and noted stands at its head as well. */
static int import_write(perp_ctx *ctx, const perp_import *robot, const char *path)
{
  if (path == NULL || strcmp(path, "-") == 0) {
    fwrite(robot->scene, 1, robot->size, stdout);
    return PERP_EXIT_OK;
  }
  if (perp_write_file(ctx, path, robot->scene, robot->size) != PERP_OK)
    return perp_refuse(ctx, PERP_EXIT_INTERNAL);
  perp_say("next: perp simulate %s", path);
  return PERP_EXIT_OK;
}

/* Which frames of a figure; exit status of a mistake, -1: none. */
static int import_part(perp_ctx *ctx, const perp_args *args, perp_skeleton_options *part)
{
  static const char *const keys[] = { "start", "end", "frame-time" };
  int64_t frame[2] = { 0, 0 };
  for (int i = 0; i < 3; i++) {
    const char *text = perp_args_get(args, keys[i]);
    if (text == NULL) continue;
    if (!perp_import_is_figure(args->arg[0]))
      return perp_usage_error(args, "--%s is for the motion of a skeleton: leave it out", keys[i]);
    if (i < 2 && perp_parse_int(ctx, text, 0, 100000000, &frame[i]) != PERP_OK)
      return perp_usage_of(ctx, args, "--%s: %s", keys[i], ctx->msg);
  }
  part->start = (int)frame[0];
  part->end = (int)frame[1];
  return perp_option_real(ctx, args, "frame-time", "s", false, &part->frame_time);
}

static int cmd_import(perp_ctx *ctx, const perp_args *args)
{
  const char *path = args->arg[0];
  perp_import robot;
  perp_diag diag = { 0 };
  if (!perp_import_ends(path, strlen(path)))
    return perp_usage_error(
        args,
        "perp import reads robots (NAME.xml, NAME.mjcf, NAME.urdf, NAME.sdf, NAME.world, "
        "model.config) and figures (NAME.bvh, NAME.asf, NAME.amc): got %s",
        path);
  perp_skeleton_options part = { 0 };
  const int bad = import_part(ctx, args, &part);
  if (bad >= 0) return bad;
  perp_import_floating(perp_args_get(args, "floating") != NULL);
  if (perp_args_get(args, "no-filter") != NULL) {
    if (perp_import_is_figure(path))
      return perp_usage_error(args, "--no-filter is for robots: a figure has no filter");
    perp_import_filter(false);
  }
  bool good = perp_import_is_figure(path) && perp_args_get(args, "key") == NULL
                  ? perp_import_skeleton(&diag, NULL, path, &part, false, &robot)
                  : perp_import_read(&diag, NULL, path, perp_args_get(args, "key"), &robot);
  if (good) {
    for (const char *at = robot.said; *at != '\0'; at += *at == '\n') {
      perp_say("%.*s", (int)strcspn(at, "\n"), at);
      at += strcspn(at, "\n");
    }
    good = perp_scene_text_check(ctx, path, robot.scene, robot.size, &diag);
  }
  if (diag.text.n > 0) fputs(diag.text.s, stderr);
  const char *to = perp_args_get(args, "output");
  if (good && perp_import_is_figure(path) && to != NULL && strcmp(to, "-") != 0)
    import_place_motion(&robot, path, to);
  const int code = good ? import_write(ctx, &robot, perp_args_get(args, "output"))
                        : PERP_EXIT_INPUT;
  perp_import_free(&robot);
  perp_diag_free(&diag);
  return code;
}

static const perp_flag import_flags[] = {
  { "output", 'o', "FILE", "Output file (default: standard output)." },
  { "key", 'k', "NAME",
    "Keyframe that is the initial state (default: the configuration of the file)." },
  { "start", 0, "FRAME", "First frame of a motion that is used, numbered from 0 (default: 0)." },
  { "end", 0, "FRAME", "Last frame of a motion that is used (default: that of the file)." },
  { "frame-time", 0, "TIME",
    "Time between frames of a motion (default: that of the file, 1/120 s of an AMC file)." },
  { "floating", 'f', NULL,
    "The root link of a URDF moves freely (default: it is a part of the world)." },
  { "no-filter", 0, NULL,
    "Bodies that overlap as drawn collide with each other (default: those of one mechanism do "
    "not)." },
  { 0 }
};

const perp_command perp_import_command = {
  .cli.name = "import",
  .cli.usage = "ROBOT.xml|ROBOT.urdf|ROBOT.sdf|FIGURE.bvh|FIGURE.amc [-o FILE] [--key NAME] "
               "[--floating] [--no-filter]",
  .cli.summary =
      "Writes a robot in MJCF, URDF or SDF as a scene file: bodies, joints, loops, limits, "
      "springs, "
      "damping, dry friction, actuators and geoms. Elements that perp cannot represent are listed "
      "by name (lost: ...), also at the head of the file. Controls of actuators become parameters "
      "of the scene.\n\nA skeleton in BVH or ASF/AMC becomes a figure with masses, capsules and "
      "limits from "
      "tables. Its motion becomes the reference.",
  .cli.more =
      "Every command that takes a scene also takes the file of a robot: perp simulate robot.xml. "
      "See docs/how-to/import.md for each element of a robot, and docs/how-to/figures.md for "
      "skeletons. Meshes of a robot are searched in its package, and in the folders of "
      "--package-path DIR[:DIR].",
  .cli.example = "perp import robot.xml -o robot.yaml",
  .cli.flags = import_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Convert MJCF, URDF, SDF, BVH or AMC to a scene file",
  .run = cmd_import
};
