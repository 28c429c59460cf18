/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and folders.  A results folder may come from somebody else: its links and names are data,
 * nothing is written through them.  What is written appears under its name when it is complete, in
 * the place of whatever had that name. */
#ifndef PERP_FILES_H
#define PERP_FILES_H

#include "solvers/core/core.h"

/* A whole regular file of 1 GiB at most as text with a terminating zero; NULL with errno, of which
 * perp_input_why (solvers/core/input.h) makes words. */
char *perp_read_file(const char *path, size_t *size);
/* The same of a file of `most` bytes at most. */
char *perp_read_bounded(const char *path, double most, size_t *size);
/* The same of a file of 64 MiB at most that a user names.  NULL: *why says it in words. */
char *perp_read_input(const char *path, size_t *size, const char **why);
/* The same, and not through a link. */
char *perp_read_plain(const char *path, size_t *size);
/* realpath(path, NULL), but never NULL for want of memory. */
char *perp_real_path(const char *path);

/* A file being written.  It has no name until it is closed (O_TMPFILE), so that a killed writer
 * leaves nothing behind; on file systems without such files a name beside its own that nobody can
 * guess (O_EXCL).  Closing renames it, so that readers see the old or the new content, and a link
 * that stands at the name is replaced, not followed.  Pipes and devices, and what is in /dev and
 * /proc, are written to as they are; a pipe that nobody reads is an error after 1 s. */
typedef struct perp_out {
  FILE *f;
  char *path, *part; /* part NULL: f is the file itself, or has no name yet */
  struct perp_sink *sink;
  bool nameless;
} perp_out;
/* PERP_ERR_IO with a message, *o then holds nothing. */
perp_status perp_out_open(perp_ctx *ctx, const char *path, perp_out *out);
/* For a library that opens what it writes by its name: the file has one from the start, *name. */
perp_status perp_out_open_named(perp_ctx *ctx, const char *path, perp_out *out, const char **name);
/* keep false: as if it had not been written.  PERP_ERR_IO with a message when something could not
 * be written. */
perp_status perp_out_close(perp_ctx *ctx, perp_out *out, bool keep);
/* A file that others may have to name, when its writer is killed: written under
 * perp_growing_path(path), which is path with
 * ".tmp", or path itself for pipes and devices (the caller frees it).  Opening replaces what stands
 * there and follows no link: NULL with errno set.  perp_growing_name gives it its name, where there
 * is one to name: false with errno set. */
char *perp_growing_path(const char *path);
FILE *perp_growing_open(const char *part);
bool perp_growing_name(const char *part, const char *path);
/* All of it at once. */
perp_status perp_write_file(perp_ctx *ctx, const char *path, const char *text, size_t size);

/* mkdir -p */
perp_status perp_make_dirs(perp_ctx *ctx, const char *path);
/* dir/name, a folder that perp writes into; PERP_ERR_IO when a link stands there, wherever it
 * leads. */
perp_status perp_make_part(perp_ctx *ctx, const char *dir, const char *name);
/* Remove the regular files of one folder whose name ends in suffix ("" = all); a missing folder is
 * fine, a link to one is left alone. */
void perp_remove_files(const char *dir, const char *suffix);

/* A new folder in $TMPDIR, else /tmp, for this user only (mode 0700); its path, or NULL after a
 * message.  Those that killed processes have left there an hour ago are removed. */
char *perp_temp_folder(perp_ctx *ctx);
/* Remove a folder with all that is in it (links, not where they lead), and free the path; NULL is
 * fine. */
void perp_temp_remove(char *folder);

/* All of it through a socket; false: the other end is closed, or errno. */
bool perp_send_all(int fd, const void *bytes, size_t size);
/* All of it from a socket; false with errno, 0 where the other end is closed. */
bool perp_receive_all(int fd, void *bytes, size_t size);

bool perp_exists(const char *path);
/* Last path component, without the given suffix when it has it. */
char *perp_base_name(const char *path, const char *suffix);

#endif
