/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leaves a file when it is loaded: what a received folder names must not be. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void)
{
  const char *mark = getenv("PERP_TEST_MARK");
  int fd = mark != NULL ? open(mark, O_WRONLY | O_CREAT, 0600) : -1;
  if (fd >= 0) close(fd);
}
