/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp new: a study, a lesson or a plug-in to begin with, from the files of experiments/templates.
 */
#include "experiments/run/program.h"
#include "experiments/cli/command.h"
#include "experiments/plugins/scene_copy.h"
#include "experiments/cli/templates.h"
#include "experiments/base/shell.h"
#include "experiments/base/files.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[] = { "lcp",         "ode",   "kkt",    "stab",  "contact",
                                     "formulation", "scene", "metric", "force", "joint" };

struct words {
  const char *name, *kind, *file; /* file: that is loaded, of a plug-in */
  char ident[64], *make;          /* make: the path of perp in a makefile */
};

/* A path as a word of a shell in the value of a variable of make. */
static char *make_word(const char *path)
{
  perp_text word = { 0 }, out = { 0 };
  perp_shell_path(&word, path);
  for (const char *at = word.s; *at != '\0'; at++) {
    if (*at == '$') perp_text_put(&out, "$", 1);
    if (*at == '#') perp_text_put(&out, "\\", 1);
    perp_text_put(&out, at, 1);
  }
  perp_text_free(&word);
  return out.s;
}

static perp_status write_one(perp_ctx *ctx, const struct words *words, const char *source,
                             const char *path)
{
  const perp_mark marks[] = { { "@NAME@", words->name },
                              { "@IDENT@", words->ident },
                              { "@KIND@", words->kind },
                              { "@PERP@", words->make },
                              { "@FILE@", words->file } };
  perp_text out = { 0 };
  perp_status status = perp_template_fill(ctx, source, marks, sizeof marks / sizeof *marks, &out);
  if (status == PERP_OK && perp_exists(path))
    status = PERP_FAIL(ctx, PERP_ERR_ARG, "%s exists already; nothing is overwritten", path);
  if (status == PERP_OK) status = perp_write_file(ctx, path, out.s, out.n);
  if (status == PERP_OK) printf("%s\n", path);
  perp_text_free(&out);
  return status;
}

static int cmd_new_ended(perp_status status, perp_ctx *ctx)
{
  if (status == PERP_OK) return PERP_EXIT_OK;
  return perp_refuse(ctx, status == PERP_ERR_ARG ? PERP_EXIT_USAGE : PERP_EXIT_INTERNAL);
}

static int new_plugin(perp_ctx *ctx, const perp_args *args, struct words *words)
{
  if (args->n < 2)
    return perp_usage_error(args, "the kind of the plug-in is missing: lcp, ode, kkt, stab, "
                                  "contact, formulation, scene, metric, force or joint");
  words->kind = args->arg[1];
  if (perp_choose(args, "there is no template for a plug-in of kind", words->kind, kinds,
                  sizeof kinds / sizeof *kinds, "") < 0)
    return PERP_EXIT_USAGE;
  static const char *const languages[] = { "c", "python" };
  const char *language = perp_args_get(args, "language");
  if (language != NULL && perp_choose(args, "unknown language", language, languages, 2, "") < 0)
    return PERP_EXIT_USAGE;
  const bool python = language != NULL && strcmp(language, "python") == 0;
  if (python && strcmp(words->kind, "lcp") != 0)
    return perp_usage_error(
        args, "a plug-in of kind %s must be written in C; Python is available for kind lcp only",
        words->kind);
  const char *name = perp_args_get(args, "name");
  char usual[32];
  snprintf(usual, sizeof usual, "my-%s", words->kind);
  words->name = name != NULL ? name : usual;
  size_t length = strlen(words->name);
  for (size_t i = 0; i <= length; i++) {
    char c = words->name[i];
    if (length >= sizeof words->ident || (c != '\0' && !islower((unsigned char)c) &&
                                          (i == 0 || (!isdigit((unsigned char)c) && c != '-'))))
      return perp_usage_error(args, "--name must be lower-case letters, digits and '-': got '%s'",
                              words->name);
    words->ident[i] = c == '-' ? '_' : c;
  }
  if (perp_find(ctx, perp_kind_of(words->kind), words->name) != NULL)
    return perp_usage_error(args, "there is a %s '%s' already; choose another --name", words->kind,
                            words->name);
  const char *dir = perp_args_get(args, "output");
  if (dir == NULL) dir = words->name;
  perp_status status = perp_make_dirs(ctx, dir);
  char *source = perp_xprintf("%s.%s", words->kind, python ? "py" : "c");
  char *study = perp_xprintf("%s.yaml", words->kind);
  char *target = perp_xprintf("%s.%s", words->name, python ? "py" : "c");
  char *object = perp_xprintf("%s.%s", words->name, python ? "py" : "so");
  words->file = object;
  const bool element = strcmp(words->kind, "force") == 0 || strcmp(words->kind, "joint") == 0;
  char *scene = perp_xprintf("%s-scene.yaml", words->kind),
       *made = perp_xprintf("%s.yaml", words->name);
  const char *const files[][2] = { { source, target },
                                   { study, "study.yaml" },
                                   { python ? "README-python.md" : "README.md", "README.md" },
                                   { python ? NULL : "Makefile", "Makefile" },
                                   { element ? scene : NULL, made } };
  for (int i = 0; i < 5 && files[i][0] != NULL && status == PERP_OK; i++) {
    char *path = perp_xprintf("%s/%s", dir, files[i][1]);
    status = write_one(ctx, words, files[i][0], path);
    free(path);
  }
  free(source);
  free(study);
  free(scene);
  free(made);
  perp_text folder = { 0 };
  perp_shell_path(&folder, dir);
  if (status == PERP_OK && python)
    perp_say("next: perp test --plugin %s/%s", folder.s, target);
  else if (status == PERP_OK)
    perp_say("next: make -C %s check", folder.s);
  free(target);
  free(object);
  perp_text_free(&folder);
  return cmd_new_ended(status, ctx);
}

static int new_study(perp_ctx *ctx, const perp_args *args, struct words *words)
{
  if (args->n > 1)
    return perp_usage_error(args, "too many arguments: '%s' is not expected", args->arg[1]);
  const char *file = perp_args_get(args, "output"), *given = perp_args_get(args, "name");
  char *usual = perp_xprintf("%s.yaml", given != NULL ? given : "my-study");
  if (file == NULL) file = usual;
  char *name = perp_base_name(file, ".yaml");
  words->name = given != NULL ? given : name;
  words->kind = "simulate";
  int code = cmd_new_ended(write_one(ctx, words, "study.yaml", file), ctx);
  perp_text path = { 0 };
  perp_shell_path(&path, file);
  if (code == PERP_EXIT_OK) perp_say("next: perp check %s, perp run %s", path.s, path.s);
  perp_text_free(&path);
  free(usual);
  free(name);
  return code;
}

static void new_scene_next(const char *file)
{
  perp_text path = { 0 };
  perp_shell_path(&path, file);
  perp_say("next: perp check %s, perp simulate %s", path.s, path.s);
  perp_text_free(&path);
}

/* A scene file, and the table of events that it names. */
static int new_scene(perp_ctx *ctx, const perp_args *args, struct words *words)
{
  if (args->n > 1)
    return perp_usage_error(args, "too many arguments: '%s' is not expected", args->arg[1]);
  const char *from = perp_args_get(args, "from");
  if (from != NULL) {
    /* A copy of one that comes with perp. */
    if (perp_args_get(args, "name") != NULL)
      return perp_usage_error(args,
                              "--from and --name exclude each other; name the copy with --output");
    char *file = NULL;
    const perp_status status = perp_scene_copy(ctx, from, perp_args_get(args, "output"), &file);
    if (status == PERP_OK) new_scene_next(file);
    free(file);
    return cmd_new_ended(status, ctx);
  }
  const char *file = perp_args_get(args, "output"), *given = perp_args_get(args, "name");
  char *usual = perp_xprintf("%s.yaml", given != NULL ? given : "my-scene");
  if (file == NULL) file = usual;
  char *name = perp_base_name(file, ".yaml"), *dot = perp_xstrdup(file);
  const size_t n = strlen(file);
  if (n > 5 && strcmp(file + n - 5, ".yaml") == 0) dot[n - 5] = '\0';
  char *table = perp_xprintf("%s-events.csv", dot);
  words->name = name;
  words->kind = "scene";
  perp_status status = n > 5 && strcmp(file + n - 5, ".yaml") == 0
                           ? PERP_OK
                           : PERP_FAIL(ctx, PERP_ERR_ARG,
                                       "the name of a scene file ends in .yaml: got %s", file);
  if (status == PERP_OK) status = write_one(ctx, words, "scene-file.yaml", file);
  if (status == PERP_OK) status = write_one(ctx, words, "scene-events.csv", table);
  if (status == PERP_OK) new_scene_next(file);
  free(usual);
  free(name);
  free(dot);
  free(table);
  return cmd_new_ended(status, ctx);
}

/* The folder of a lesson. */
static int new_lesson(perp_ctx *ctx, const perp_args *args, struct words *words)
{
  static const char *const files[][2] = { { "lesson.yaml", "lesson.yaml" },
                                          { "lesson.md", "lesson.md" },
                                          { "lesson-notes.md", "notes.md" } };
  const char *dir = perp_args_get(args, "output"), *given = perp_args_get(args, "name");
  if (args->n > 1 && given != NULL)
    return perp_usage_error(args, "there are two names, '%s' and --name %s", args->arg[1], given);
  if (args->n > 1) given = args->arg[1];
  if (given == NULL && dir == NULL) given = "my-lesson";
  if (dir == NULL) dir = given;
  char *name = perp_base_name(dir, "");
  const size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");
  int code;
  if (name[good] != '\0' || !islower((unsigned char)name[0]))
    code = perp_usage_error(args,
                            "the folder of a lesson is named by lower-case letters, digits, "
                            "'-' and '_', a letter first: got '%s'",
                            name);
  else {
    words->name = given != NULL ? given : name;
    words->kind = "lesson";
    perp_status status = perp_make_dirs(ctx, dir);
    for (int i = 0; i < 3 && status == PERP_OK; i++) {
      char *path = perp_xprintf("%s/%s", dir, files[i][1]);
      status = write_one(ctx, words, files[i][0], path);
      free(path);
    }
    perp_text folder = { 0 };
    perp_shell_path(&folder, dir);
    if (status == PERP_OK)
      perp_say("next: perp lesson %s --open, perp check %s --run", folder.s, folder.s);
    perp_text_free(&folder);
    code = cmd_new_ended(status, ctx);
  }
  free(name);
  return code;
}

static int cmd_new(perp_ctx *ctx, const perp_args *args)
{
  char *program = perp_program_path();
  struct words words = { .kind = "",
                         .file = "",
                         .make = make_word(program[0] != '\0' ? program : "perp") };
  int (*const make)(perp_ctx *, const perp_args *,
                    struct words *) = strcmp(args->arg[0], "plugin") == 0   ? new_plugin
                                      : strcmp(args->arg[0], "study") == 0  ? new_study
                                      : strcmp(args->arg[0], "scene") == 0  ? new_scene
                                      : strcmp(args->arg[0], "lesson") == 0 ? new_lesson
                                                                            : NULL;
  const bool lost = make != NULL && make != new_scene && perp_args_get(args, "from") != NULL;
  const int status = lost
                         ? perp_usage_error(args, "--from copies a scene: perp new scene --from %s",
                                            perp_args_get(args, "from"))
                     : make != NULL ? make(ctx, args, &words)
                                    : -1;
  free(program);
  free(words.make);
  if (status >= 0) return status;
  static const char *const what[] = { "study", "scene", "lesson", "plugin" };
  const char *close = perp_closest(args->arg[0], what, 4);
  return perp_usage_error(args,
                          "perp new cannot make '%s'; choose study, scene, lesson or plugin%s%s%s",
                          args->arg[0], close != NULL ? "; did you mean '" : "",
                          close != NULL ? close : "", close != NULL ? "'?" : "");
}

static const perp_flag new_flags[] = {
  { "output", 'o', "PATH",
    "File of the study or scene (default: NAME.yaml), or folder of the lesson or plug-in (default: "
    "its name)." },
  { "from", 0, "NAME",
    "Copy a scene file included in perp: an example (belt, rocking, ...), or any scene whose file "
    "perp info shows." },
  { "language", 0, "LANG", "Language of the plug-in: c (default), or python (kind lcp only)." },
  { "name", 0, "NAME",
    "Name of the study, scene, lesson or plug-in (default: my-KIND, or the name of the file)." },
  { 0 }
};

const perp_command perp_new_command = {
  .cli.name = "new",
  .cli.usage = "study | scene | lesson [NAME] | plugin KIND [options]",
  .cli.summary =
      "Writes a study file, a scene file, or the folder of a lesson or a plug-in as a start for "
      "your own. The lesson runs and the plug-in builds, passes the contract tests and works in "
      "studies as it is. KIND is one of "
      "lcp, ode, kkt, stab, contact, formulation, scene, metric, force and joint.",
  .cli.more = "Existing files are never overwritten. To change a scene included in perp, copy it: "
              "perp new scene --from belt. See docs/how-to/plugins.md for the files of a plug-in, "
              "docs/how-to/lessons.md for those of a lesson.",
  .cli.example = "perp new plugin lcp --name my-solver   # then: make -C my-solver check",
  .cli.flags = new_flags,
  .cli.min_args = 1,
  .cli.max_args = 2,
  .summary = "Start a study, a scene, a lesson or a plug-in of your own",
  .run = cmd_new
};
