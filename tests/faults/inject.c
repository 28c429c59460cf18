/* SPDX-License-Identifier: GPL-3.0-or-later */
/* inject PRELOAD.so REPORT KIND N COMMAND [arguments]
 *
 * Runs a command in which the N-th operation of a kind fails, once (N = 0: none), counted over all
 * its processes from where their libraries are loaded.  Allocations fail in the preloaded library;
 * system calls are found by a seccomp filter and failed by ptrace, so that those inside of libc's
 * streams count, too.  The last line of REPORT is "KIND N of COUNT: PATH" once it is over; stacks
 * of crashes stand before it.  Exit status: that of the command; 128 + the signal that ended it;
 * 125: this machine cannot do it. */
#include "tests/faults/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
enum { CALLS = 8, MOST_PROCESSES = 1024 };

/* after: the call is made, and then said to have failed (a close that fails has closed). */
typedef struct inject_kind {
  const char *name;
  int error, call[CALLS], after;
} inject_kind;

static const inject_kind kinds[] = {
  { "open", EMFILE, { SYS_open, SYS_openat, SYS_creat, -1 }, 0 },
  { "read", EIO, { SYS_read, SYS_pread64, SYS_readv, SYS_preadv, -1 }, 0 },
  { "write", ENOSPC, { SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, -1 }, 0 },
  { "fsync", EIO, { SYS_fsync, SYS_fdatasync, SYS_sync_file_range, -1 }, 0 },
  { "rename", EIO, { SYS_rename, SYS_renameat, SYS_renameat2, SYS_link, SYS_linkat, -1 }, 0 },
  { "close", EIO, { SYS_close, -1 }, 1 },
};

static void inject_filter(const inject_kind *kind)
{
  struct sock_filter code[2 * CALLS + 8];
  unsigned short n = 0;
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                           offsetof(struct seccomp_data, nr));
  int list[CALLS + 1], m = 0;
  for (int i = 0; kind->call[i] >= 0; i++) list[m++] = kind->call[i];
  list[m++] = SYS_close; /* FAULTS_READY */
  for (int i = 0; i < m; i++) {
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)list[i], 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
  }
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = { .len = n, .filter = code };
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
    _exit(125);
}

/* Processes whose libraries are being loaded; all others count. */
static pid_t loading[MOST_PROCESSES];
static int loadings;

static int inject_loading(pid_t pid)
{
  for (int i = 0; i < loadings; i++)
    if (loading[i] == pid) return i + 1;
  return 0;
}

static void inject_path(pid_t pid, const inject_kind *kind, const struct user_regs_struct *regs,
                        char *path, size_t size)
{
  char link[64];
  if (strcmp(kind->name, "open") == 0 || strcmp(kind->name, "rename") == 0) {
    const int call = (int)regs->orig_rax;
    const unsigned long at = call == SYS_openat || call == SYS_renameat || call == SYS_renameat2 ||
                                     call == SYS_linkat
                                 ? regs->rsi
                                 : regs->rdi;
    size_t n = 0;
    for (; n + 8 < size; n += 8) {
      errno = 0;
      const long word = ptrace(PTRACE_PEEKDATA, pid, at + n, 0);
      if (errno != 0) break;
      memcpy(path + n, &word, 8);
      if (memchr(&word, 0, 8) != NULL) return;
    }
    path[n] = '\0';
    return;
  }
  snprintf(link, sizeof link, "/proc/%d/fd/%d", (int)pid, (int)regs->rdi);
  const ssize_t n = readlink(link, path, size - 1);
  path[n > 0 ? n : 0] = '\0';
}

static int inject_trace(const inject_kind *kind, long fail, pid_t first, long *count, char *path,
                        size_t size)
{
  int status, result = 125;
  pid_t failing = 0; /* at the end of its call that fails afterwards */
  if (waitpid(first, &status, 0) != first || !WIFSTOPPED(status)) return 125;
  ptrace(PTRACE_SETOPTIONS, first, 0,
         PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
             PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  loading[loadings++] = first;
  ptrace(PTRACE_CONT, first, 0, 0);
  for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (pid == first) result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      const int k = inject_loading(pid);
      if (k > 0) loading[k - 1] = loading[--loadings];
      continue;
    }
    const int event = status >> 16, signal = WSTOPSIG(status);
    long deliver = 0, go = PTRACE_CONT;
    if (event == PTRACE_EVENT_SECCOMP) {
      struct user_regs_struct regs;
      ptrace(PTRACE_GETREGS, pid, 0, &regs);
      const int k = inject_loading(pid),
                ready = regs.orig_rax == SYS_close && (int)regs.rdi == FAULTS_READY;
      int counts = 0;
      for (int i = 0; kind->call[i] >= 0; i++) counts |= (int)regs.orig_rax == kind->call[i];
      if (ready && k > 0) loading[k - 1] = loading[--loadings];
      if (!ready && k == 0 && counts && ++*count == fail) {
        inject_path(pid, kind, &regs, path, size);
        if (kind->after) {
          failing = pid;
          go = PTRACE_SYSCALL;
        } else {
          regs.orig_rax = (unsigned long long)-1;
          regs.rax = (unsigned long long)-kind->error;
          ptrace(PTRACE_SETREGS, pid, 0, &regs);
        }
      }
    } else if (signal == (SIGTRAP | 0x80)) {
      struct user_regs_struct regs;
      ptrace(PTRACE_GETREGS, pid, 0, &regs);
      if (pid == failing) {
        regs.rax = (unsigned long long)-kind->error;
        ptrace(PTRACE_SETREGS, pid, 0, &regs);
        failing = 0;
      }
    } else if (event == PTRACE_EVENT_EXEC) {
      if (inject_loading(pid) == 0 && loadings < MOST_PROCESSES) loading[loadings++] = pid;
    } else if (event == 0 && signal != SIGSTOP && signal != SIGTRAP)
      deliver = signal;
    ptrace(go, pid, 0, deliver);
  }
  return result;
}

int main(int argc, char **argv)
{
  if (argc < 6) {
    fputs("usage: inject PRELOAD.so REPORT KIND N COMMAND [arguments]\n", stderr);
    return 125;
  }
  const char *name = argv[3];
  const long fail = strtol(argv[4], NULL, 10);
  char page_file[4096], path[4096] = "";
  snprintf(page_file, sizeof page_file, "%s.page", argv[2]);
  unlink(argv[2]);
  const int file = open(page_file, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, (off_t)sizeof(faults_page)) != 0) return 125;
  faults_page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (page == MAP_FAILED) return 125;
  const inject_kind *kind = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].name, name) == 0) kind = &kinds[i];
  if (kind == NULL) page->fail = fail > 0 ? fail : -1;
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("LD_PRELOAD", argv[1], 1);
    setenv("FAULTS_PAGE", page_file, 1);
    setenv("FAULTS_CRASH", argv[2], 1);
    if (kind != NULL) {
      ptrace(PTRACE_TRACEME, 0, 0, 0);
      raise(SIGSTOP);
      inject_filter(kind);
    }
    execv(argv[5], argv + 5);
    _exit(125);
  }
  int status, result = 125;
  long count = 0;
  if (kind != NULL)
    result = inject_trace(kind, fail, pid, &count, path, sizeof path);
  else if (waitpid(pid, &status, 0) == pid) {
    result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    count = atomic_load(&page->allocations);
  }
  FILE *report = fopen(argv[2], "a");
  if (report != NULL) {
    fprintf(report, "%s %ld of %ld: %s\n", name, fail, count, path);
    fclose(report);
  }
  unlink(page_file);
  return result;
}
#else
int main(void)
{
  return 125;
}
#endif
