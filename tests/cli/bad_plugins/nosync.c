/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preloaded: a disk that takes what is written and never has it (fdatasync fails, EIO). */
#include <errno.h>
#include <unistd.h>

int fdatasync(int fd)
{
  (void)fd;
  errno = EIO;
  return -1;
}
