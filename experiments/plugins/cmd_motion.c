/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp motion: motions of skeletons from others, as BVH files. */
#include "experiments/plugins/cmd_scene.h"

#include "experiments/import/motion_edit.h"
#include "experiments/import/motion_write.h"
#include "experiments/import/skeleton.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/base/files.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOTION_FILES = 2 };

typedef struct motion_run {
  perp_ctx *ctx;
  const perp_args *args;
  perp_diag diag;
  perp_skeleton_options options;
  perp_bvh file[MOTION_FILES], out; /* read; made */
} motion_run;

/* A file that is not in the working folder is looked for among the examples, as scenes are. */
static bool motion_load(motion_run *run, int file)
{
  const char *name = run->args->arg[1 + file];
  char *folder = strchr(name, '/') == NULL && access(name, F_OK) != 0 ? perp_scene_examples()
                                                                      : NULL;
  char *path = folder != NULL ? perp_xprintf("%s/%s", folder, name) : NULL;
  const bool example = path != NULL && access(path, F_OK) == 0;
  const bool good = perp_skeleton_load(&run->diag, NULL, example ? path : name, &run->options,
                                       &run->file[file], NULL);
  free(path);
  free(folder);
  return good;
}

static int motion_write(const motion_run *run, const perp_text *text)
{
  const char *path = perp_args_get(run->args, "output");
  if (path == NULL || strcmp(path, "-") == 0) {
    fwrite(text->s, 1, text->n, stdout);
    return PERP_EXIT_OK;
  }
  if (perp_write_file(run->ctx, path, text->s, text->n) != PERP_OK)
    return perp_refuse(run->ctx, PERP_EXIT_INTERNAL);
  return PERP_EXIT_OK;
}

static bool motion_retarget(motion_run *run, perp_text *text)
{
  (void)text;
  return motion_load(run, 0) && motion_load(run, 1) &&
         perp_motion_retarget(&run->diag, &run->file[0], &run->file[1], &run->out);
}

static bool motion_blend(motion_run *run, perp_text *text)
{
  double at = 0, over = 0;
  (void)text;
  if (!motion_load(run, 0) || !motion_load(run, 1)) return false;
  if (perp_option_real(run->ctx, run->args, "over", "s", false, &over) >= 0 ||
      perp_option_real(run->ctx, run->args, "at", "s", true, &at) >= 0)
    return false;
  if (perp_args_get(run->args, "over") == NULL) over = 0.5;
  if (perp_args_get(run->args, "at") == NULL) /* at the end of the first */
    at = fmax(0, (run->file[0].frames - 1) * run->file[0].frame_time - over);
  return perp_motion_blend(&run->diag, &run->file[0], &run->file[1], at, over,
                           perp_option_given(run->args, "follow"), &run->out);
}

static bool motion_markers(motion_run *run, perp_text *text)
{
  if (!motion_load(run, 0)) return false;
  perp_markers_write(&run->file[0], text);
  return true;
}

static bool motion_skeleton(motion_run *run, perp_text *text)
{
  const char *why;
  double error;
  size_t size;
  (void)text;
  if (!motion_load(run, 1)) return false;
  char *markers = perp_read_input(run->args->arg[1], &size, &why);
  if (markers == NULL) {
    perp_diag_error(&run->diag, NULL, 0, NULL, "cannot read %s: %s", run->args->arg[1], why);
    return false;
  }
  const bool good = perp_markers_fit(&run->diag, run->args->arg[1], markers, &run->file[1],
                                     &run->out, &error);
  free(markers);
  if (good)
    perp_say("markers are off by %.3g at root mean square, in units of %s", error,
             run->args->arg[2]);
  return good;
}

/* The series of a run as the motion of its bodies. */
static bool motion_of_run(motion_run *run, perp_scene *scene)
{
  const char *why, *path = perp_args_get(run->args, "series"),
                   *every = perp_args_get(run->args, "every");
  size_t size;
  int64_t rows = 1;
  int n;
  double time, *q;
  if (scene->model == NULL) {
    perp_diag_error(&run->diag, NULL, 0, "choose a scene with bodies", "%s has no bodies",
                    run->args->arg[1]);
    return false;
  }
  if (every != NULL && perp_parse_int(run->ctx, every, 1, 1000000, &rows) != PERP_OK) {
    perp_diag_error(&run->diag, NULL, 0, NULL, "--every: %s", run->ctx->msg);
    return false;
  }
  char *text = perp_read_input(path, &size, &why);
  if (text == NULL) {
    perp_diag_error(&run->diag, NULL, 0, NULL, "cannot read %s: %s", path, why);
    return false;
  }
  const bool read = perp_motion_series(&run->diag, path, text, perp_model_nq(scene->model),
                                       (int)rows, &n, &time, &q);
  const bool good = read && perp_motion_write(&run->diag, scene->model, n, time, q, &run->out);
  if (read) free(q);
  free(text);
  return good;
}

/* A run (a scene and its series) or a file of a skeleton in any format. */
static bool motion_as_bvh(motion_run *run, perp_text *text)
{
  perp_spec spec;
  perp_scene scene;
  (void)text;
  run->options.skeleton = perp_args_get(run->args, "skeleton");
  if (perp_option_real(run->ctx, run->args, "frame-time", "s", false, &run->options.frame_time) >=
      0)
    return false;
  if (perp_args_get(run->args, "series") == NULL) {
    if (!motion_load(run, 0)) return false;
    perp_bvh_plain(&run->file[0], &run->out);
    return true;
  }
  if (perp_command_scene(run->ctx, run->args->arg[1]) >= 0) return false;
  if (perp_spec_parse(run->ctx, PERP_KIND_scene, run->args->arg[1], &spec) != PERP_OK) {
    perp_usage_of(run->ctx, run->args, "%s", run->ctx->msg);
    return false;
  }
  const perp_status built = perp_scene_create(run->ctx, &spec, &scene);
  perp_spec_free(&spec);
  if (built != PERP_OK) {
    perp_diag_error(&run->diag, NULL, 0, NULL, "%s", run->ctx->msg);
    return false;
  }
  const bool good = motion_of_run(run, &scene);
  perp_scene_destroy(&scene);
  return good;
}

static const struct motion_form {
  const char *name, *files;
  int n;
  bool (*make)(motion_run *x, perp_text *text);
} motion_forms[] = {
  { "retarget", "MOTION.bvh SKELETON.bvh", 2, motion_retarget },
  { "blend", "FIRST.bvh SECOND.bvh", 2, motion_blend },
  { "markers", "MOTION.bvh", 1, motion_markers },
  { "skeleton", "MARKERS.csv SKELETON.bvh", 2, motion_skeleton },
  { "bvh", "SCENE --series SERIES.csv, or MOTION.amc", 1, motion_as_bvh },
};

static int cmd_motion(perp_ctx *ctx, const perp_args *args)
{
  const struct motion_form *form = NULL;
  for (size_t i = 0; i < sizeof motion_forms / sizeof *motion_forms; i++)
    if (strcmp(args->arg[0], motion_forms[i].name) == 0) form = &motion_forms[i];
  if (form == NULL)
    return perp_usage_error(
        args, "unknown form '%s' of perp motion; known: retarget, blend, markers, skeleton, bvh",
        args->arg[0]);
  if (args->n - 1 != form->n)
    return perp_usage_error(args, "write perp motion %s %s", form->name, form->files);
  static const char *const of_blend[] = { "at", "over", "follow" };
  for (size_t i = 0; i < sizeof of_blend / sizeof *of_blend; i++)
    if (form->make != motion_blend && perp_option_given(args, of_blend[i]))
      return perp_usage_error(args, "--%s has no effect with perp motion %s: leave it out",
                              of_blend[i], form->name);
  static const char *const of_bvh[] = { "series", "every", "skeleton", "frame-time" };
  for (size_t i = 0; i < sizeof of_bvh / sizeof *of_bvh; i++)
    if (form->make != motion_as_bvh && perp_args_get(args, of_bvh[i]) != NULL)
      return perp_usage_error(args, "--%s has no effect with perp motion %s: leave it out",
                              of_bvh[i], form->name);
  const bool run_given = perp_args_get(args, "series") != NULL;
  for (size_t i = 1; i < sizeof of_bvh / sizeof *of_bvh && form->make == motion_as_bvh; i++)
    if (perp_args_get(args, of_bvh[i]) != NULL && run_given != (i == 1))
      return perp_usage_error(args, "--%s %s", of_bvh[i],
                              run_given ? "has no effect with --series: leave it out"
                                        : "needs --series FILE, the time series of a run");
  motion_run run = { .ctx = ctx, .args = args };
  perp_text text = { 0 };
  int code = form->make(&run, &text) ? PERP_EXIT_OK
             : run.diag.text.n > 0   ? PERP_EXIT_INPUT
                                     : PERP_EXIT_USAGE;
  if (run.diag.text.n > 0) fputs(run.diag.text.s, stderr);
  if (code == PERP_EXIT_OK && run.out.n > 0) perp_bvh_write(&run.out, &text);
  if (code == PERP_EXIT_OK) code = motion_write(&run, &text);
  perp_text_free(&text);
  for (int file = 0; file < MOTION_FILES; file++) perp_bvh_free(&run.file[file]);
  perp_bvh_free(&run.out);
  perp_diag_free(&run.diag);
  return code;
}

static const perp_flag motion_flags[] = {
  { "output", 'o', "FILE", "Output file (default: standard output)." },
  { "at", 0, "TIME",
    "Time of the first motion at which blending begins (default: so that it ends with the first "
    "motion)." },
  { "over", 0, "TIME", "Duration of the blending (default: 0.5 s)." },
  { "series", 0, "FILE", "Time series (CSV) of a run of the scene." },
  { "every", 0, "N", "Write every N-th row of the series as a frame (default: 1)." },
  { "skeleton", 0, "FILE",
    "ASF skeleton of an AMC motion (default: the ASF file of its name beside it)." },
  { "frame-time", 0, "TIME",
    "Time between frames (default: that of the file, 1/120 s of an AMC file)." },
  { "follow", 0, NULL,
    "Shift the second motion along the ground to where the root of the first one is at --at." },
  { 0 }
};

const perp_command perp_motion_command = {
  .cli.name = "motion",
  .cli.usage = "retarget|blend|markers|skeleton|bvh FILE [FILE] [-o FILE] [options]",
  .cli.summary =
      "Makes a motion of a skeleton from others, as a BVH file.\n\nretarget MOTION SKELETON: the "
      "skeleton moves with the joint rotations of the motion; the path of its root is scaled by "
      "the height of the root.\n\nblend FIRST SECOND: a transition from the first motion to the "
      "second one, with linear interpolation of places and spherical linear interpolation of "
      "rotations.\n\nmarkers MOTION: trajectories of three markers of each joint, as a "
      "table.\n\nskeleton MARKERS SKELETON: the motion of the skeleton that fits trajectories of "
      "markers best, by least squares.\n\nbvh SCENE (with --series): the bodies of a run as a "
      "skeleton, in cm, with an end site at each centre of mass. bvh MOTION: an ASF/AMC motion.",
  .cli.more = "Joints correspond by their names. See docs/how-to/figures.md for the form of tables "
              "of markers.",
  .cli.example = "perp motion blend walk.bvh wave.bvh --at 1s --over 0.5s -o both.bvh",
  .cli.flags = motion_flags,
  .cli.min_args = 2,
  .cli.max_args = 3,
  .summary = "Retarget or blend motions of skeletons, or fit them to markers",
  .run = cmd_motion
};
