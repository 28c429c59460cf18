/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/run/program.h"

#include "experiments/plugins/plugin_files.h"
#include "experiments/results/journal.h"
#include "experiments/base/shell.h"
#include "experiments/base/files.h"
#include "solvers/core/input.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The file that runs, also when another file has its path by now. */
static const char self[] = "/proc/self/exe";

char *perp_program_path(void)
{
  char path[4096];
  ssize_t n = readlink(self, path, sizeof path - 1);
  path[n > 0 ? n : 0] = '\0';
  return perp_xstrdup(path);
}

static uint64_t file_hash(const char *path)
{
  size_t n = 0;
  char *bytes = perp_read_file(path, &n);
  uint64_t hash = bytes != NULL ? perp_hash64(bytes, n, 0) : 0;
  free(bytes);
  return hash;
}

static void program_hex(uint64_t hash, char text[17])
{
  snprintf(text, 17, "%016llx", (unsigned long long)hash);
}

/* ---- what a run remembers ---- */

static void write_code(perp_json *json, const char *key, const char *path, uint64_t hash)
{
  char text[17];
  program_hex(hash, text);
  perp_json_object(json, key, "path %s, hash %s", path, text);
}

bool perp_program_made(const perp_results *results)
{
  char text[17];
  program_hex(file_hash(self), text);
  /* a program and its plug-ins are one word of several; plug-ins that changed are found run by run
   */
  for (int i = 0; i < results->programs.n; i++)
    if (strncmp(results->programs.text[i], text, strlen(text)) != 0) return false;
  return true;
}

void perp_program_write(perp_json *json)
{
  char *path = perp_program_path();
  write_code(json, "program", path, file_hash(self));
  free(path);
  perp_json_open(json, "plugins", '[');
  const perp_plugin_file *file;
  for (int i = 0; (file = perp_plugin_file_at(i)) != NULL; i++)
    write_code(json, NULL, file->path, file->hash);
  perp_json_close(json, ']');
}

static perp_status program_keep(perp_ctx *ctx, const char *dir, const char *from, uint64_t hash,
                                const char *suffix)
{
  char *to = perp_xprintf("%s/program/%016llx%s", dir, (unsigned long long)hash, suffix);
  size_t n = 0;
  char *bytes = perp_exists(to) ? NULL : perp_read_file(from, &n);
  perp_status status = PERP_OK;
  if (bytes != NULL) {
    status = perp_write_file(ctx, to, bytes, n);
    if (status == PERP_OK && chmod(to, 0755) != 0)
      status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot change the mode of %s: %s", to, strerror(errno));
  } else if (!perp_exists(to))
    status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", from, perp_input_why(errno));
  free(bytes);
  free(to);
  return status;
}

perp_status perp_program_keep(perp_ctx *ctx, const char *dir)
{
  perp_status status = perp_make_part(ctx, dir, "program");
  if (status == PERP_OK) status = program_keep(ctx, dir, self, file_hash(self), "");
  const perp_plugin_file *file;
  for (int i = 0; status == PERP_OK && (file = perp_plugin_file_at(i)) != NULL; i++)
    status = program_keep(ctx, dir, file->path, file->hash, perp_plugin_suffix(file->path));
  return status;
}

/* ---- the program of a folder ---- */

static perp_status program_known(perp_ctx *ctx, const perp_results *results)
{
  if (results->n_programs == 0)
    return PERP_FAIL(ctx, PERP_ERR_IO, "%s does not record which program made it", results->dir);
  if (results->n_programs > 1)
    return PERP_FAIL(ctx, PERP_ERR_IO, "%s was made by more than one program", results->dir);
  return PERP_OK;
}

/* The plug-in with a recorded hash among the files that the person named; NULL: none. */
static char *program_plugin(const char *hash, const perp_named *named)
{
  char text[17];
  const perp_plugin_file *file;
  for (int plugin = 0; plugin < named->n_plugins; plugin++) {
    program_hex(file_hash(named->plugin[plugin]), text);
    if (strcmp(text, hash) == 0) return perp_real_path(named->plugin[plugin]);
  }
  for (int i = 0; (file = perp_plugin_file_at(i)) != NULL; i++) {
    program_hex(file_hash(file->path), text);
    if (strcmp(text, hash) == 0) return perp_xstrdup(file->path);
  }
  return NULL;
}

static perp_status program_find(perp_ctx *ctx, const perp_results *results, const perp_named *named,
                                perp_program *program)
{
  char text[17];
  program->path = perp_real_path(named->program);
  if (program->path == NULL || access(program->path, X_OK) != 0)
    return PERP_FAIL(ctx, PERP_ERR_IO, "cannot run %s: %s", named->program, strerror(errno));
  program_hex(file_hash(program->path), text);
  if (strcmp(text, results->program.hash) != 0)
    return PERP_FAIL(ctx, PERP_ERR_IO,
                     "%s is not the program that made %s: its hash is %s, the recorded hash is "
                     "%.16s (perp run --keep-program keeps a copy)",
                     named->program, results->dir, text, results->program.hash);
  program->plugin = perp_xalloc((size_t)results->n_plugins + 1, sizeof *program->plugin);
  for (int plugin = 0; plugin < results->n_plugins; plugin++) {
    program->plugin[plugin] = program_plugin(results->plugin[plugin].hash, named);
    if (program->plugin[plugin] == NULL)
      return PERP_FAIL(
          ctx, PERP_ERR_IO,
          "%s was made with a plug-in of hash %.16s: pass its file with --again-plugin FILE",
          results->dir, results->plugin[plugin].hash);
    program->n_plugins++;
  }
  return PERP_OK;
}

perp_status perp_program_take(perp_ctx *ctx, const perp_results *results, const perp_named *named,
                              perp_program *program)
{
  *program = (perp_program){ .dir = results->dir };
  PERP_TRY(program_known(ctx, results));
  const perp_status status = program_find(ctx, results, named, program);
  if (status != PERP_OK) perp_program_free(program);
  return status;
}

/* One file of code as it is recorded, or its copy in the folder when only that is still what it
 * was. */
static void program_suggest(const perp_results *results, const perp_code *code, const char *flag,
                            const char *suffix, perp_text *out)
{
  char text[17];
  const char *path = code->path;
  char *kept = NULL;
  program_hex(file_hash(path), text);
  if (strcmp(text, code->hash) != 0 && strlen(code->hash) == 16 &&
      strspn(code->hash, "0123456789abcdef") == 16) {
    kept = perp_xprintf("%s/program/%s%s", results->dir, code->hash, suffix);
    if (perp_exists(kept)) path = kept;
  }
  perp_text_add(out, " %s ", flag);
  if (perp_shell_showable(path))
    perp_shell_path(out, path);
  else
    perp_text_add(out, "FILE");
  free(kept);
}

perp_status perp_program_suggest(perp_ctx *ctx, const perp_results *base, const perp_results *now,
                                 perp_text *out)
{
  const perp_results *const of[] = { base, now };
  PERP_TRY(program_known(ctx, base));
  PERP_TRY(program_known(ctx, now));
  bool one = strcmp(base->program.hash, now->program.hash) == 0;
  for (int k = 0; k < (one ? 1 : 2); k++)
    program_suggest(of[k], &of[k]->program, "--again-with", "", out);
  for (int k = 0; k < 2; k++)
    for (int plugin = 0; plugin < of[k]->n_plugins; plugin++) {
      bool said = false; /* one that is named already, or is the same in both */
      char *loaded = program_plugin(of[k]->plugin[plugin].hash, &(perp_named){ 0 });
      for (int j = 0; k == 1 && j < base->n_plugins; j++)
        said = said || strcmp(base->plugin[j].hash, now->plugin[plugin].hash) == 0;
      if (loaded == NULL && !said)
        program_suggest(of[k], &of[k]->plugin[plugin], "--again-plugin",
                        perp_plugin_suffix(of[k]->plugin[plugin].path), out);
      free(loaded);
    }
  return PERP_OK;
}

void perp_program_free(perp_program *program)
{
  for (int plugin = 0; plugin < program->n_plugins; plugin++) free(program->plugin[plugin]);
  free(program->plugin);
  free(program->path);
  *program = (perp_program){ 0 };
}

/* What a program writes to stdout; NULL after a message.  Its stderr is dropped: the status
 * tells. */
static char *output_of(perp_ctx *ctx, char *const *argv)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    PERP_FAIL(ctx, PERP_ERR_IO, "pipe: %s", strerror(errno));
    return NULL;
  }
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    unsetenv("PERP_PLUGIN_PATH"); /* the plug-ins are those that made the folder */
    dup2(ends[1], 1);
    dup2(nowhere, 2);
    execv(argv[0], argv);
    _exit(127);
  }
  close(ends[1]);
  perp_text text = { 0 };
  char part[4096];
  ssize_t n;
  while (pid > 0 && ((n = read(ends[0], part, sizeof part)) > 0 || (n < 0 && errno == EINTR)))
    if (n > 0) perp_text_put(&text, part, (size_t)n);
  close(ends[0]);
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 && text.s != NULL) return text.s;
  PERP_FAIL(ctx, PERP_ERR_IO, "%s did not repeat the timing of its run", argv[0]);
  perp_text_free(&text);
  return NULL;
}

perp_status perp_program_time(perp_ctx *ctx, const perp_program *program, const char *cell,
                              const char *metric, double *seconds, double *pace)
{
  char **argv = perp_xalloc((size_t)(2 * program->n_plugins + 8), sizeof *argv);
  const char *const words[] = { program->path, "rerun", program->dir, cell, "--time", "--json" };
  int n = 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) argv[n++] = (char *)(uintptr_t)words[i];
  for (int plugin = 0; plugin < program->n_plugins; plugin++) {
    argv[n++] = "--plugin";
    argv[n++] = program->plugin[plugin];
  }
  char *text = output_of(ctx, argv);
  free(argv);
  if (text == NULL) return PERP_ERR_IO;
  json_t *value = json_loads(text, 0, NULL);
  free(text);
  *seconds = perp_json_number(json_object_get(json_object_get(value, "metrics"), metric));
  *pace = perp_json_number(json_object_get(value, "pace_s"));
  if (!(*pace > 0)) *pace = 0;
  json_decref(value);
  if (*seconds > 0 && isfinite(*seconds)) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_IO, "%s has no value of %s for run %s", program->path, metric,
                   cell);
}
