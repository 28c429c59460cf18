/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a robot in a process of its own, and the files that it is made of. */
#include "experiments/import/import.h"

#include "experiments/import/figure.h"
#include "experiments/import/robot.h"
#include "experiments/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_BYTES = 64 << 20, MOST_SECONDS = 120, MOST_FILES = 1000 };

bool perp_import_ends(const char *name, size_t n)
{
  static const char *const ends[] = { ".xml", ".mjcf", ".urdf", ".bvh" };
  for (int i = 0; i < 4; i++) {
    const size_t k = strlen(ends[i]);
    if (n > k && strncmp(name + n - k, ends[i], k) == 0) return true;
  }
  return false;
}

bool perp_import_is_figure(const char *path)
{
  const size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".bvh") == 0;
}

void perp_import_free(perp_import *import)
{
  for (int i = 0; i < import->n_files; i++) free(import->file[i]);
  free(import->file);
  free(import->scene);
  free(import->said);
  *import = (perp_import){ 0 };
}

/* ---- files ---- */

static void import_add_file(perp_import *import, const char *path)
{
  char *whole = realpath(path, NULL);
  for (int i = 0; whole != NULL && i < import->n_files; i++)
    if (strcmp(import->file[i], whole) == 0) {
      free(whole);
      return;
    }
  if (whole == NULL || import->n_files == MOST_FILES) {
    free(whole);
    return;
  }
  import->file = perp_xrealloc(import->file, (size_t)import->n_files + 1, sizeof *import->file);
  import->file[import->n_files++] = whole;
}

/* The value of the attribute that ends before s, which stands at its '='; NULL: no attribute. */
static char *import_attribute(const char *s)
{
  s += 1 + strspn(s + 1, " \t\r\n");
  if (*s != '"' && *s != '\'') return NULL;
  const char *end = strchr(s + 1, *s);
  return end != NULL ? perp_xprintf("%.*s", (int)(end - s - 1), s + 1) : NULL;
}

/* Is this the name of that attribute?  Its '=' is at s. */
static bool import_named(const char *text, const char *s, const char *name)
{
  const size_t n = strlen(name);
  while (s > text && strchr(" \t\r\n", s[-1]) != NULL) s--;
  return (size_t)(s - text) > n && strncmp(s - n, name, n) == 0 &&
         strchr(" \t\r\n", s[-(long)n - 1]) != NULL;
}

/* Files that attributes `file` and `filename` name, looked for where the reader looks; what is
 * included, too. */
static void import_files(perp_import *import, const char *text, const char *folder, int depth)
{
  char *dir[3] = { NULL, NULL, NULL }; /* meshdir, assetdir, texturedir: the last one said */
  static const char *const dirs[] = { "meshdir", "assetdir", "texturedir" };
  for (const char *s = text; (s = strchr(s, '=')) != NULL; s++)
    for (int i = 0; i < 3; i++)
      if (import_named(text, s, dirs[i])) {
        free(dir[i]);
        dir[i] = import_attribute(s);
      }
  for (const char *s = text; (s = strchr(s, '=')) != NULL; s++) {
    if (!import_named(text, s, "file") && !import_named(text, s, "filename")) continue;
    char *name = import_attribute(s);
    if (name == NULL) continue;
    const char *base = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
    for (int k = 0; k < 8; k++) { /* whole or without its folder (URDF), in each of the folders */
      const char *in = k / 2 == 0 ? "" : dir[k / 2 - 1], *what = k % 2 == 0 ? name : base;
      if (in == NULL) continue;
      char *path = what[0] == '/' ? perp_xstrdup(what)
                   : in[0] == '/' ? perp_xprintf("%s/%s", in, what)
                                  : perp_xprintf("%s/%s/%s", folder, in, what);
      struct stat st;
      const int before = import->n_files;
      if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) import_add_file(import, path);
      if (import->n_files > before && depth < 8 && perp_import_ends(path, strlen(path))) {
        char *inner = perp_read_file(path, NULL);
        if (inner != NULL) import_files(import, inner, folder, depth + 1);
        free(inner);
      }
      free(path);
    }
    free(name);
  }
  for (int i = 0; i < 3; i++) free(dir[i]);
}

/* ---- the other process ---- */

static bool import_send(int fd, const perp_text *text)
{
  const uint64_t n = text->n;
  return perp_send_all(fd, &n, sizeof n) && (n == 0 || perp_send_all(fd, text->s, text->n));
}

static char *import_receive(int fd, size_t *size)
{
  uint64_t n;
  if (!perp_receive_all(fd, &n, sizeof n) || n > (uint64_t)16 * MOST_BYTES) return NULL;
  char *s = perp_xalloc((size_t)n + 1, 1);
  if (n > 0 && !perp_receive_all(fd, s, (size_t)n)) {
    free(s);
    return NULL;
  }
  *size = (size_t)n;
  return s;
}

static void import_child(int fd, const char *path, const char *key)
{
  perp_robot_report report = { 0 };
  const int null = open("/dev/null", O_WRONLY);
  signal(SIGALRM, SIG_DFL);
  alarm(MOST_SECONDS);
  if (null >= 0) {
    dup2(null, 1);
    dup2(null, 2);
  }
  perp_robot_convert(path, key, &report);
  const int numbers[2] = { report.lost, report.line };
  const bool sent = perp_send_all(fd, numbers, sizeof numbers) && import_send(fd, &report.scene) &&
                    import_send(fd, &report.said) && import_send(fd, &report.error) &&
                    import_send(fd, &report.hint);
  _exit(sent ? 0 : 1);
}

/* What the process has found; false: it has ended without an answer, *why says how. */
static bool import_ask(const char *path, const char *key, perp_import *out, int *line, char **error,
                       char **hint, char *why, size_t size)
{
  int fd[2], status = 0, numbers[2];
  size_t n;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0) {
    snprintf(why, size, "no process can be started: %s", strerror(errno));
    return false;
  }
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    close(fd[0]);
    import_child(fd[1], path, key);
  }
  close(fd[1]);
  const bool good = pid > 0 && perp_receive_all(fd[0], numbers, sizeof numbers) &&
                    (out->scene = import_receive(fd[0], &out->size)) != NULL &&
                    (out->said = import_receive(fd[0], &n)) != NULL &&
                    (*error = import_receive(fd[0], &n)) != NULL &&
                    (*hint = import_receive(fd[0], &n)) != NULL;
  close(fd[0]);
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (good) {
    out->lost = numbers[0];
    *line = numbers[1];
  } else if (pid < 0)
    snprintf(why, size, "no process can be started: %s", strerror(errno));
  else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    snprintf(why, size, "libmujoco did not read the file within %d s", MOST_SECONDS);
  else if (WIFSIGNALED(status))
    snprintf(why, size, "libmujoco crashed on the file (signal %d)", WTERMSIG(status));
  else
    snprintf(why, size, "libmujoco ended without a result");
  return good;
}

/* The message at its line of the file. */
static void import_refuse(perp_diag *diag, const char *path, const char *text, int line,
                          const char *error, const char *hint)
{
  const perp_source src = { path, text };
  const char *s = text;
  int lines = 1;
  for (; lines < line && (s = strchr(s, '\n')) != NULL; s++) lines++;
  const perp_node place = { .src = &src,
                            .line = lines - 1,
                            .column = line > 0 && s != NULL ? (int)strspn(s, " \t") : 0 };
  perp_diag_error(diag, &place, 0, hint[0] != '\0' ? hint : NULL, "%s", error);
}

static char *import_content(perp_diag *diag, const perp_node *at, const char *path)
{
  const char *why;
  size_t size = 0;
  char *text = perp_read_input(path, &size, &why);
  if (text != NULL && memchr(text, '\0', size) != NULL) why = "it is not a text file";
  if (why == NULL) return text;
  perp_diag_error(diag, at, 0, NULL, "cannot read the robot %s: %s", path, why);
  free(text);
  return NULL;
}

bool perp_import_read(perp_diag *diag, const perp_node *at, const char *path, const char *key,
                      perp_import *out)
{
  char *error = NULL, *hint = NULL, why[200] = "";
  int line = 0;
  *out = (perp_import){ 0 };
  if (perp_import_is_figure(path)) {
    if (key == NULL) {
      perp_bvh bvh;
      perp_text scene = { 0 }, said = { 0 };
      if (!perp_bvh_load(diag, at, path, &bvh)) return false;
      const bool good = perp_figure_scene(diag, path, &bvh, &scene, &said, &out->lost);
      if (good) {
        perp_text_put(&scene, "", 0);
        perp_text_put(&said, "", 0);
        out->scene = scene.s;
        out->size = scene.n;
        out->said = said.s;
        import_add_file(out, path);
      }
      perp_bvh_free(&bvh);
      return good;
    }
    perp_diag_error(diag, at, 0, "leave out --key", "a BVH file has no keyframes: %s", path);
    return false;
  }
  char *text = import_content(diag, at, path);
  if (text == NULL) return false;
  bool good = import_ask(path, key, out, &line, &error, &hint, why, sizeof why);
  if (!good)
    import_refuse(diag, path, text, 0, why, "");
  else if (error[0] != '\0') {
    import_refuse(diag, path, text, line, error, hint);
    good = false;
  } else {
    const char *slash = strrchr(path, '/');
    char *folder = slash != NULL ? perp_xprintf("%.*s", (int)(slash - path), path)
                                 : perp_xstrdup(".");
    import_add_file(out, path);
    import_files(out, text, folder[0] != '\0' ? folder : "/", 0);
    free(folder);
  }
  if (!good) perp_import_free(out);
  free(error);
  free(hint);
  free(text);
  return good;
}
