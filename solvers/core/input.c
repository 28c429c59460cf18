/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int perp_input_descriptor(const char *path, bool plain, double most)
{
  struct stat st;
  /* a pipe must not wait for its other end before it is known for one */
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int fd = open(path, plain ? flags | O_NOFOLLOW : flags);
  if (fd < 0) return -1;
  const int wrong = fstat(fd, &st) != 0         ? errno
                    : S_ISDIR(st.st_mode)       ? EISDIR
                    : !S_ISREG(st.st_mode)      ? EINVAL
                    : (double)st.st_size > most ? EFBIG
                                                : 0;
  if (wrong == 0) return fd;
  close(fd);
  errno = wrong;
  return -1;
}

const char *perp_input_why(int number)
{
  switch (number) {
  case EINVAL:
    return "it is not a regular file";
  case EISDIR:
    return "it is a folder";
  case EFBIG:
    return "it is larger than the limit";
  case 0:
    return "it ends in the middle";
  default:
    return strerror(number);
  }
}

perp_status perp_input_status(int number)
{
  return number == EINVAL || number == EISDIR || number == EFBIG ? PERP_ERR_FORMAT : PERP_ERR_IO;
}

perp_status perp_input_open(perp_ctx *ctx, const char *path, double most, FILE **out)
{
  const int fd = perp_input_descriptor(path, false, most);
  *out = fd >= 0 ? fdopen(fd, "r") : NULL;
  if (*out != NULL) return PERP_OK;
  const int wrong = errno;
  if (fd >= 0) close(fd);
  return PERP_FAIL(ctx, perp_input_status(wrong), "cannot read %s: %s", path,
                   perp_input_why(wrong));
}

/* Room for n bytes; false: there is none. */
static bool input_room(char **line, size_t *size, size_t n)
{
  if (n <= *size) return true;
  const size_t more = n > 2 * *size ? n : 2 * *size;
  char *grown = realloc(*line, more);
  if (grown == NULL) return false;
  *line = grown;
  *size = more;
  return true;
}

perp_status perp_input_line(perp_ctx *ctx, const char *path, FILE *in, char **line, size_t *size,
                            ssize_t *n)
{
  size_t got = 0;
  *n = -1;
  for (int c = 0; c != '\n'; got++) {
    if (!input_room(line, size, got + 128))
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a line of %s", path);
    errno = 0;
    c = getc_unlocked(in);
    if (c == EOF && ferror(in))
      return PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", path, perp_input_why(errno));
    if (c == EOF) break;
    if (got == PERP_INPUT_LINE)
      return PERP_FAIL(ctx, PERP_ERR_FORMAT,
                       "%s: a line has more than %d bytes, which is the limit", path,
                       PERP_INPUT_LINE);
    (*line)[got] = (char)c;
  }
  (*line)[got] = '\0';
  if (got > 0) *n = (ssize_t)got;
  return PERP_OK;
}
