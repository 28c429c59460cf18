/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp export-scene, and scene files on the command line */
#include "experiments/plugins/cmd_scene.h"

#include "experiments/scenes/overlaps.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/base/files.h"

#include <stdlib.h>
#include <string.h>

int perp_command_scene(perp_ctx *ctx, const char *text)
{
  perp_diag diag = { 0 };
  const bool good = !perp_scene_file_named(text) || perp_scene_file_check(ctx, text, &diag, NULL);
  if (!good) fputs(diag.text.s, stderr);
  perp_diag_free(&diag);
  return good ? -1 : PERP_EXIT_INPUT;
}

/* The scene that a text names, built; -1, or an exit status after a message. */
static int scene_of(perp_ctx *ctx, const perp_args *args, perp_spec *spec, perp_scene *scene)
{
  const int status = perp_command_scene(ctx, args->arg[0]);
  if (status >= 0) return status;
  if (perp_spec_parse(ctx, PERP_KIND_scene, args->arg[0], spec) != PERP_OK)
    return perp_usage_of(ctx, args, "%s", ctx->msg);
  const perp_status built = perp_scene_create(ctx, spec, scene);
  if (built == PERP_OK) return -1;
  perp_spec_free(spec);
  return perp_refuse(ctx, perp_exit_of(built));
}

static void scene_overlap(void *user, bool filtered, const char *sentence)
{
  (void)user;
  printf("%s%s\n", filtered ? "  note: " : "  warning: ", sentence);
}

int perp_command_check_scene(perp_ctx *ctx, const perp_args *args)
{
  perp_spec spec;
  perp_scene scene;
  const int status = scene_of(ctx, args, &spec, &scene);
  if (status >= 0) return status;
  const perp_model *model = scene.model;
  printf("%s: a valid scene in %s\n", spec.d->name,
         perp_model_dim(model) == 3 ? "space" : "the plane");
  printf("  bodies %d, joints %d (%d rows), actuators %d, forces %d, shapes %d\n",
         perp_model_bodies(model), perp_model_joints(model), perp_model_m(model),
         perp_model_drives(model), perp_model_force_elements(model), perp_model_shapes(model));
  char t_end[40], h[40];
  perp_format_real(scene.t_end, t_end, sizeof t_end);
  perp_format_real(scene.h, h, sizeof h);
  printf("  t_end %s s, h %s%s\n", t_end, scene.h > 0 ? h : "chosen by the run",
         scene.h > 0 ? " s" : "");
  for (int truth = 0; truth < scene.n_truths; truth++)
    printf("  reference %s\n", scene.truth[truth].what);
  for (int gauge = 0; gauge < scene.n_gauges; gauge++)
    printf("  check %s\n", scene.gauge[gauge].metric);
  if (scene.n_truths + scene.n_gauges == 0)
    printf("  no reference solution and no check: errors of its motion are unknown\n");
  const perp_status told = perp_overlaps_tell(ctx, model, scene_overlap, NULL);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  return told == PERP_OK ? PERP_EXIT_OK : perp_refuse(ctx, perp_exit_of(told));
}

/* ---- export-scene ---- */

static int cmd_export_scene(perp_ctx *ctx, const perp_args *args)
{
  perp_spec spec;
  perp_scene scene;
  int code = scene_of(ctx, args, &spec, &scene);
  if (code >= 0) return code;
  const char *path = perp_args_get(args, "output");
  const bool here = path == NULL || strcmp(path, "-") == 0;
  char *text = NULL;
  size_t size = 0;
  FILE *file = perp_memory_stream(&text, &size);
  perp_status status = perp_scene_export(ctx, spec.d, &scene, args->arg[0], file);
  perp_memory_stream_close(file);
  if (status == PERP_OK && here) fwrite(text, 1, size, stdout);
  if (status == PERP_OK && !here) status = perp_write_file(ctx, path, text, size);
  free(text);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  if (status != PERP_OK)
    return perp_refuse(ctx, status == PERP_ERR_UNSUPPORTED ? PERP_EXIT_USAGE : PERP_EXIT_INTERNAL);
  if (!here) perp_say("next: perp simulate %s", path);
  return PERP_EXIT_OK;
}

static const perp_flag export_scene_flags[] = {
  { "output", 'o', "FILE", "Output file (default: standard output)." }, { 0 }
};

const perp_command perp_export_scene_command = {
  .cli.name = "export-scene",
  .cli.usage = "SCENE [-o FILE]",
  .cli.summary = "Writes the model of a scene, with its parameters, as a scene file. Bodies, "
                 "joints, actuators, forces and shapes are numbers with all digits: the file "
                 "simulates to identical bits. Reference solutions are not exported.",
  .cli.more = "See docs/reference/scene-files.md for the format.",
  .cli.example = "perp export-scene stack:boxes=3 -o my-stack.yaml",
  .cli.flags = export_scene_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Write the model of a scene as a scene file",
  .run = cmd_export_scene
};
