/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Other programs: started with their words as they are, no shell in between; and command lines that
 * perp shows or writes into scripts for people to run, every word of which goes through one
 * function. */
#ifndef PERP_SHELL_H
#define PERP_SHELL_H

#include "experiments/base/memory.h"
#include "solvers/core/core.h"

/* The text as one word of a POSIX shell: as it is where that is safe, else in '...'.  The word
 * stands for the text, be it empty, with quotes, newlines, $ or `. */
void perp_shell_word(perp_text *out, const char *text);
/* The same of a path: one that begins with '-' becomes "./-..." so that no program takes it for an
 * option. */
void perp_shell_path(perp_text *out, const char *path);
/* Is the text of a command only words, quoted as by perp_shell_word?  Then it starts nothing when
 * somebody pastes it behind a command: no ; & | < > $ ` or line break outside of '...'. */
bool perp_shell_only_words(const char *text);
/* May it be shown on a terminal as a part of a command?  (no control character) */
bool perp_shell_showable(const char *text);

/* Run argv[0], looked for in PATH, to its end.  folder: where it works, NULL = here; quiet: stdin,
 * stdout and stderr are /dev/null; said >= 0: where stderr goes instead.  *status as of waitpid.
 * PERP_ERR_EXTERNAL with a message when it could not be started. */
typedef struct perp_process {
  const char *const *argv; /* ends with NULL */
  const char *folder;
  bool quiet;
  int said;
} perp_process;
perp_status perp_process_run(perp_ctx *ctx, const perp_process *process, int *status);
/* Show a page in the browser of the desktop (xdg-open), without waiting; a message when that cannot
 * be. */
void perp_show_page(const char *path);

#endif
