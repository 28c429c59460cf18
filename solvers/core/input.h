/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files from outside.  Only regular ones are opened: a pipe or a device can wait or go on for ever.
 * A read error is an error, never the end of a file. */
#ifndef PERP_INPUT_H
#define PERP_INPUT_H

#include "solvers/core/core.h"

#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A descriptor of the regular file at path, which has `most` bytes at most; links are followed
 * unless plain.  -1 with errno: EINVAL where it is no regular file, EISDIR, EFBIG, or as of open.
 */
int perp_input_descriptor(const char *path, bool plain, double most);
/* Such an errno in words: "it is not a regular file", "Permission denied", ... */
const char *perp_input_why(int number);
/* PERP_ERR_FORMAT where there is something else than a file, PERP_ERR_IO where there is none. */
perp_status perp_input_status(int number);
/* The same as a stream.  That status with a message that begins with "cannot read PATH". */
perp_status perp_input_open(perp_ctx *ctx, const char *path, double most, FILE **out);
/* The next line with its newline, in *line [*size], which grows and is for free: *n bytes and a
 * zero; -1: that was the last one.  PERP_ERR_IO: it could not be read; PERP_ERR_NOMEM;
 * PERP_ERR_FORMAT: it is longer than PERP_INPUT_LINE. */
enum { PERP_INPUT_LINE = 64 << 20 };
perp_status perp_input_line(perp_ctx *ctx, const char *path, FILE *in, char **line, size_t *size,
                            ssize_t *n);

#ifdef __cplusplus
}
#endif

#endif
