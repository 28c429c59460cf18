/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preloaded into the program under test (LD_PRELOAD): it is loaded once, stops before main(), and
 * forks for every command that program.h asks for. Loading its libraries takes most of the time of
 * a short command. The command runs in a fork that has its own folder, environment, files 0 to 2
 * and words; /proc/self/exe is the program. It is a child of the test, which is its subreaper. */
#include "tests/cli/forked.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int (*main_function)(int, char **, char **);
static main_function real_main;
extern char **environ;

/* Strings one after the other: n of them as a list that ends with NULL. */
static char **list(char **s, uint32_t n)
{
  char **out = calloc(n + 1, sizeof *out);
  for (uint32_t i = 0; i < n; i++) {
    out[i] = *s;
    *s += strlen(*s) + 1;
  }
  return out;
}

static int serve(int argc, char **argv, char **envp)
{
  const char *number = getenv("PERP_FORKED");
  if (number == NULL) return real_main(argc, argv, envp);
  const int socket = atoi(number);
  static char text[FORKED_BYTES];
  pid_t *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (;;) {
    forked_request request;
    int files[3];
    if (forked_receive(socket, &request, text, files) != 0) _exit(0); /* the test has ended */
    *made = -1;
    const pid_t between = fork();
    if (between == 0) {
      const pid_t pid = fork();
      if (pid != 0) {
        *made = pid;
        _exit(0); /* its child becomes one of the test */
      }
      char *s = text;
      char *folder = s;
      s += strlen(s) + 1;
      char **words = list(&s, request.words);
      environ = list(&s, request.variables);
      for (int i = 0; i < 3; i++) dup2(files[i], i);
      for (int i = 0; i < 3; i++) close(files[i]);
      close(socket);
      if (chdir(folder) != 0) _exit(127);
      return real_main((int)request.words, words, environ);
    }
    for (int i = 0; i < 3; i++) close(files[i]);
    while (waitpid(between, NULL, 0) < 0 && errno == EINTR) {}
    if (write(socket, made, sizeof *made) != sizeof *made) _exit(0);
  }
}

int __libc_start_main(main_function main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(main_function main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
  int (*real)(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
  *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return real(serve, argc, argv, init, fini, rtld_fini, stack_end);
}
