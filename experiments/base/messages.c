/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/messages.h"

#include "experiments/base/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void perp_say(const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  fputs("perp: ", stderr);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
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
  const char *hint = strstr(message, "; did you mean");
  fprintf(stderr, "perp: %serror:%s ", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "");
  if (hint != NULL)
    fprintf(stderr, "%.*s\n      %s\n", (int)(hint - message), message, hint + 2);
  else
    fprintf(stderr, "%s\n", message);
}

void perp_print_error(const perp_ctx *ctx)
{
  perp_say_error(ctx->msg);
}
