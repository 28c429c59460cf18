/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/import/import_process.h"

#include "experiments/base/files.h"
#include "experiments/base/memory.h"
#include "experiments/import/robot_xml.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SECONDS = 120, MOST_GIB = 4, TEXTS = 6 };
static const uint64_t process_most = (uint64_t)1 << 30; /* bytes of one text */

static perp_text *process_text(perp_robot_report *report, int i)
{
  perp_text *const text[TEXTS] = { &report->scene, &report->said, &report->files,
                                   &report->error, &report->hint, &report->file };
  return text[i];
}

/* A file can make its reader ask for any amount of memory: the process ends at the bound.  The
 * address sanitizer has a use for more of it. */
static void process_bounds(void)
{
  const struct rlimit nothing = { 0, 0 };
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &nothing); /* it writes no file */
  setrlimit(RLIMIT_CORE, &nothing);
#if !defined(__SANITIZE_ADDRESS__)
  const struct rlimit memory = { (rlim_t)MOST_GIB << 30, (rlim_t)MOST_GIB << 30 };
  setrlimit(RLIMIT_AS, &memory);
#endif
}

static void process_child(int fd, const char *path, const char *key)
{
  perp_robot_report report = { 0 };
  const int null = open("/dev/null", O_WRONLY);
  perp_memory_exit(PERP_NO_MEMORY);
  perp_xml_memory();
  signal(SIGALRM, SIG_DFL);
  alarm(MOST_SECONDS);
  if (null >= 0) {
    dup2(null, 1);
    dup2(null, 2);
  }
  process_bounds();
  perp_robot_convert(path, key, &report);
  const int numbers[2] = { report.lost, report.line };
  bool sent = perp_send_all(fd, numbers, sizeof numbers);
  for (int i = 0; i < TEXTS && sent; i++) {
    const perp_text *text = process_text(&report, i);
    const uint64_t n = text->n;
    sent = perp_send_all(fd, &n, sizeof n) && (n == 0 || perp_send_all(fd, text->s, text->n));
  }
  _exit(sent ? 0 : 1);
}

static bool process_receive(int fd, perp_text *text)
{
  uint64_t n;
  if (!perp_receive_all(fd, &n, sizeof n) || n > process_most) return false;
  text->s = perp_xalloc((size_t)n + 1, 1);
  text->size = (size_t)n + 1;
  text->n = (size_t)n;
  return n == 0 || perp_receive_all(fd, text->s, (size_t)n);
}

bool perp_import_ask(const char *path, const char *key, perp_robot_report *report, char *why,
                     size_t size)
{
  int fd[2], status = 0, numbers[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0) {
    snprintf(why, size, "no process can be started: %s", strerror(errno));
    return false;
  }
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    close(fd[0]);
    process_child(fd[1], path, key);
  }
  close(fd[1]);
  bool good = pid > 0 && perp_receive_all(fd[0], numbers, sizeof numbers);
  for (int i = 0; i < TEXTS && good; i++) good = process_receive(fd[0], process_text(report, i));
  close(fd[0]);
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (good) {
    report->lost = numbers[0];
    report->line = numbers[1];
  } else if (pid < 0)
    snprintf(why, size, "no process can be started: %s", strerror(errno));
  else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    snprintf(why, size, "the file was not read within %d s", MOST_SECONDS);
  else if (WIFSIGNALED(status))
    snprintf(why, size, "the reader crashed on the file (signal %d)", WTERMSIG(status));
  else if (WEXITSTATUS(status) == PERP_NO_MEMORY)
    snprintf(why, size, "out of memory: the reader may have needed more than %d GiB", MOST_GIB);
  else if (WEXITSTATUS(status) == 127) /* of the loader of libraries */
    snprintf(why, size, "out of memory for the reader, or a library of it is missing");
  else
    snprintf(why, size, "the reader ended without a result (status %d)", WEXITSTATUS(status));
  return good;
}
