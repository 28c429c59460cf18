/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/shell.h"

#include "experiments/base/files.h"
#include "experiments/base/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "_-./:,=+%@";

bool perp_shell_only_words(const char *text)
{
  if (!perp_shell_showable(text)) return false;
  while (*text != '\0') {
    text += strspn(text, plain);
    text += strspn(text, " ");
    if (text[0] == '\\' && text[1] == '\'')
      text += 2;
    else if (*text == '\'') {
      text = strchr(text + 1, '\'');
      if (text == NULL) return false;
      text++;
    } else if (*text != '\0' && strchr(plain, *text) == NULL)
      return false;
  }
  return true;
}

void perp_shell_word(perp_text *out, const char *text)
{
  /* '=' first would be an assignment or, in zsh, a command's path */
  if (text[0] != '\0' && text[0] != '=' && text[strspn(text, plain)] == '\0') {
    perp_text_put(out, text, strlen(text));
    return;
  }
  perp_text_put(out, "'", 1);
  for (; *text != '\0'; text++) {
    if (*text == '\'')
      perp_text_put(out, "'\\''", 4);
    else
      perp_text_put(out, text, 1);
  }
  perp_text_put(out, "'", 1);
}

void perp_shell_path(perp_text *out, const char *path)
{
  char *whole = perp_xprintf("%s%s", path[0] == '-' ? "./" : "", path);
  perp_shell_word(out, whole);
  free(whole);
}

bool perp_shell_showable(const char *text)
{
  for (; *text != '\0'; text++)
    if ((unsigned char)*text < 0x20 || (unsigned char)*text == 0x7f) return false;
  return true;
}

static int shell_spawn(const perp_process *process, pid_t *pid)
{
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (process->folder != NULL) posix_spawn_file_actions_addchdir_np(&actions, process->folder);
  if (process->quiet) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (process->said >= 0)
      posix_spawn_file_actions_adddup2(&actions, process->said, STDERR_FILENO);
    else
      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  fflush(NULL);
  int failed = posix_spawnp(pid, process->argv[0], &actions, NULL,
                            (char *const *)(uintptr_t)process->argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

perp_status perp_process_run(perp_ctx *ctx, const perp_process *process, int *status)
{
  pid_t pid;
  int failed = shell_spawn(process, &pid);
  if (failed != 0)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s: %s", process->argv[0], strerror(failed));
  *status = 0;
  while (waitpid(pid, status, 0) < 0 && errno == EINTR) {}
  return PERP_OK;
}

void perp_show_page(const char *path)
{
  /* a name that begins with '-' or looks like an address is a file all the same */
  char *whole = perp_real_path(path);
  const char *const argv[] = { "xdg-open", whole != NULL ? whole : path, NULL };
  pid_t pid;
  int status = 0;
  /* by a process that ends at once, so that the browser is no child of perp, which ends its own */
  fflush(NULL);
  const pid_t between = fork();
  if (between == 0)
    _exit(shell_spawn(&(perp_process){ .argv = argv, .quiet = true, .said = -1 }, &pid) != 0);
  while (between > 0 && waitpid(between, &status, 0) < 0 && errno == EINTR) {}
  if (between < 0 || status != 0)
    perp_say("xdg-open is not installed (package xdg-utils): open %s in a browser", path);
  free(whole);
}
