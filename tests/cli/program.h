/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program from outside, in a folder of its own: include in one test program. */
#ifndef PERP_TEST_PROGRAM_H
#define PERP_TEST_PROGRAM_H

#include "tests/cli/forked.h"
#include "tests/tap.h"
#include "experiments/base/memory.h"
#include "experiments/base/files.h"

#ifdef TAP_SANITIZED
enum { SANITIZED = 1 }; /* plug-ins are built without, and memory has no limit */
#else
enum { SANITIZED = 0 };
#endif

#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A study of 24 cells that takes about a second; the rest of its metrics ends it. */
#define LINKS_STUDY(name, metrics)                                                                 \
  "schema: perp-study/1\n"                                                                         \
  "study: { name: " name " }\n"                                                                    \
  "t_end: 0.2 s\n"                                                                                 \
  "formulation: velocity\n"                                                                        \
  "ode: symplectic-euler\n"                                                                        \
  "grid:\n"                                                                                        \
  "  scene: [\"chain:links=3\", \"chain:links=6\"]\n"                                              \
  "  h: [4 ms, 2 ms]\n"                                                                            \
  "  kkt: [tree, schur-dense, kkt-dense]\n"                                                        \
  "  stab: [none, post]\n"                                                                         \
  "measure: { repeats: 5 }\n"                                                                      \
  "metrics: { primary: drift.pos.max, record: [drift.pos.max, " metrics " }\n"

static const char *program;
static char program_dir[] = "/tmp/perp-cli-XXXXXX";
static char *out, *err; /* of the last command */

/* ---- the program, loaded once: see forked.c ---- */

static int forked_socket = -1;

/* Without PERP_FORK, or where it cannot be preloaded, each command is a new process. */
static void forked_open(void)
{
  const char *library = getenv("PERP_FORK");
  int ends[2];
  if (SANITIZED || library == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) return;
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    char number[16];
    close(ends[0]);
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv("PERP_FORKED", number, 1);
    setenv("LD_PRELOAD", library, 1);
    execl(program, program, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  forked_socket = ends[0];
}

/* The process, or -1. */
static pid_t forked_start(const char *const *argv, const int files[3])
{
  static char text[FORKED_BYTES];
  forked_request request = { 0 };
  if (forked_socket < 0 || strcmp(argv[0], getenv("PERP_BIN")) != 0) return -1;
  if (getcwd(text, sizeof text) == NULL) return -1;
  char *end = text + strlen(text) + 1;
  for (int k = 0; k < 2; k++) {
    uint32_t *n = k == 0 ? &request.words : &request.variables;
    for (const char *const *s = k == 0 ? argv : (const char *const *)environ; *s != NULL; s++) {
      const size_t size = strlen(*s) + 1;
      if (size > (size_t)(text + sizeof text - end)) return -1;
      memcpy(end, *s, size);
      end += size;
      ++*n;
    }
  }
  pid_t pid = -1;
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (forked_send(forked_socket, &request, text, (size_t)(end - text), files) != 0 ||
      read(forked_socket, &pid, sizeof pid) != sizeof pid)
    pid = -1;
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  return pid;
}

/* Words as they are; the list ends with NULL. */
static pid_t start_words(const char *const *argv)
{
  const int files[3] = { fcntl(0, F_DUPFD_CLOEXEC, 3),
                         open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666),
                         open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) };
  fflush(stdout);
  pid_t pid = forked_start(argv, files);
  if (pid < 0 && (pid = fork()) == 0) {
    for (int i = 0; i < 3; i++) dup2(files[i], i);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
  }
  for (int i = 0; i < 3; i++) close(files[i]);
  return pid;
}

/* Words are split at blanks, except inside of '...'. */
__attribute__((unused)) static pid_t start(const char *words)
{
  char *copy = perp_xstrdup(words);
  const char *argv[64] = { program };
  int argc = 1;
  for (char *s = copy; *s != '\0' && argc < 63;) {
    while (*s == ' ') *s++ = '\0';
    if (*s == '\0') break;
    char end = *s == '\'' ? *s++ : ' ';
    argv[argc++] = s;
    while (*s != '\0' && *s != end) s++;
    if (*s != '\0') *s++ = '\0';
  }
  const pid_t pid = start_words(argv);
  free(copy);
  return pid;
}

/* Status, or 256 + the signal. */
__attribute__((unused)) static int finish(pid_t pid)
{
  int status = 0;
  waitpid(pid, &status, 0);
  free(out);
  free(err);
  out = perp_read_file("stdout.txt", NULL);
  err = perp_read_file("stderr.txt", NULL);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

__attribute__((unused)) static int run(const char *words)
{
  return finish(start(words));
}

__attribute__((unused)) static void complain(void)
{
  tap_note("stdout: %.400s", out);
  tap_note("stderr: %.400s", err);
}

/* An error: this status, this on stderr, nothing on stdout. */
__attribute__((unused)) static void refuses(int status, const char *words, const char *message)
{
  int got = run(words);
  if (!ok(got == status && strstr(err, message) != NULL && out[0] == '\0', "status %d, %s: perp %s",
          status, message, words)) {
    printf("# status %d\n", got);
    complain();
  }
}

__attribute__((unused)) static void says(const char *words, const char *part)
{
  int got = run(words);
  if (!ok(got == 0 && strstr(out, part) != NULL, "perp %s says %s", words, part)) complain();
}

__attribute__((unused)) static json_t *json_of(const char *words, int status)
{
  int got = run(words);
  json_t *j = json_loads(out, 0, NULL);
  if (!ok(got == status && j != NULL, "perp %s prints JSON, status %d", words, status)) {
    printf("# status %d\n", got);
    complain();
  }
  return j;
}

__attribute__((unused)) static double metric(const json_t *j, const char *name)
{
  const json_t *v = json_object_get(json_object_get(j, "metrics"), name);
  return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

/* A part of what the program prints, and its exit status. */
__attribute__((unused)) static void answers(int status, const char *words, const char *part)
{
  int got = run(words);
  if (!ok(got == status && strstr(out, part) != NULL, "perp %s: exit %d and \"%s\"", words, status,
          part))
    complain();
}

__attribute__((unused)) static void write_file(const char *name, const char *text)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (perp_write_file(&ctx, name, text, strlen(text)) != PERP_OK) bail("%s", ctx.msg);
}

/* Look for one word in a text file. */
__attribute__((unused)) static bool file_has(const char *name, const char *part)
{
  char *text = perp_read_file(name, NULL);
  bool has = text != NULL && strstr(text, part) != NULL;
  free(text);
  return has;
}

__attribute__((unused)) static bool same_file(const char *a, const char *b)
{
  char *x = perp_read_file(a, NULL), *y = perp_read_file(b, NULL);
  bool same = x != NULL && y != NULL && strcmp(x, y) == 0;
  free(x);
  free(y);
  return same;
}

/* What `perp test --plugin` says of the file: status as it should be, and with says among what has
 * failed. */
__attribute__((unused)) static void judge(const char *plugin, int status, const char *says,
                                          const char *kind, const char *what)
{
  char *words = perp_xprintf("test --plugin %s --timeout 60s --json", plugin);
  const int got = run(words);
  free(words);
  json_t *j = json_loads(out, 0, NULL);
  const json_t *conformance = json_array_get(j, 0);
  const json_t *failures = json_object_get(conformance, "failures"), *one;
  bool complete = json_is_true(json_object_get(conformance, "complete")), found = false;
  size_t i;
  json_array_foreach(failures, i, one) if (says != NULL)
      found |= strstr(json_string_value(one), says) != NULL;
  if (!ok(got == status && (status == 0    ? complete
                            : says != NULL ? found
                                           : !complete),
          "%s: %s: %s%s%s", kind, what, status == 0 ? "taken" : "refused",
          says != NULL ? ", because: " : "", says != NULL ? says : "")) {
    printf("# status %d, %s\n", got, json_string_value(json_object_get(conformance, "ended")));
    json_array_foreach(failures, i, one) if (i < 6)
        printf("# failed: %s\n", json_string_value(one));
  }
  json_decref(j);
}

static void program_open(void)
{
  program = getenv("PERP_BIN");
  if (program == NULL) bail("PERP_BIN names no program");
  setenv("PERP_HOME", getenv("PERP_SOURCE") != NULL ? getenv("PERP_SOURCE") : ".", 1);
  unsetenv("PERP_PLUGIN_PATH");
  if (mkdtemp(program_dir) == NULL || chdir(program_dir) != 0) bail("no temporary folder");
  char *state = perp_xprintf("%s/state", program_dir); /* what is remembered of plug-ins */
  setenv("XDG_STATE_HOME", state, 1);
  free(state);
  forked_open();
}

static void program_close(void)
{
  char *remove = perp_xprintf("rm -rf '%s'", program_dir);
  if (chdir("/") != 0 || system(remove) != 0) printf("# could not remove %s\n", program_dir);
  free(remove);
  free(out);
  free(err);
}

#endif
