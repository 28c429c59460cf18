/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/messages.h"

#include "experiments/base/memory.h"
#include "experiments/base/table.h"
#include "solvers/core/shown.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void perp_say(const char *fmt, ...)
{
  perp_text text = { 0 };
  va_list ap;
  va_start(ap, fmt);
  perp_text_vadd(&text, fmt, ap);
  va_end(ap);
  fprintf(stderr, "perp: %s\n", text.s != NULL ? perp_shown_clean(text.s) : "");
  perp_text_free(&text);
}

char *perp_cut_hint(char *message)
{
  char *hint = strstr(message, "; did you mean");
  if (hint == NULL) return NULL;
  *hint = '\0';
  return hint + 2;
}

void perp_say_error(const char *message)
{
  const bool colour = perp_may_colour(stderr);
  char *text = perp_shown_clean(perp_xstrdup(message)), *hint = perp_cut_hint(text);
  fprintf(stderr, "perp: %serror:%s %s\n", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "",
          text);
  if (hint != NULL) fprintf(stderr, "      %s\n", hint);
  free(text);
}

void perp_say_unread(const char *path)
{
  const int why = errno;
  if (why == ENOENT || why == ENOTDIR) return;
  perp_say("warning: what is in %s is left out: %s", path, strerror(why));
  errno = why;
}

bool perp_output_whole(void)
{
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return true;
  fprintf(stderr, "perp: error: cannot write the output: %s\n",
          errno != 0 ? strerror(errno) : "a write failed before; is the disk full?");
  return false;
}

void perp_print_error(const perp_ctx *ctx)
{
  perp_say_error(ctx->msg);
}
