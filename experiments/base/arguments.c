/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/arguments.h"

#include "experiments/base/memory.h"
#include "experiments/base/table.h"

#include <stdlib.h>
#include <string.h>

static int arguments_error(const perp_args *args, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
static int arguments_error(const perp_args *args, const char *fmt, va_list ap)
{
  perp_text text = { 0 };
  perp_text_vadd(&text, fmt, ap);
  perp_say_error(text.s);
  if (strstr(text.s, "; did you mean") == NULL)
    fprintf(stderr, "      (perp %s --help)\n", args->cli->name);
  perp_text_free(&text);
  return PERP_EXIT_USAGE;
}

int perp_usage_error(const perp_args *args, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  const int status = arguments_error(args, fmt, ap);
  va_end(ap);
  return status;
}

int perp_usage_of(const perp_ctx *ctx, const perp_args *args, const char *fmt, ...)
{
  if (ctx->status == PERP_ERR_NOMEM) { /* not how it was asked for */
    perp_print_error(ctx);
    return PERP_EXIT_INFRA;
  }
  va_list ap;
  va_start(ap, fmt);
  const int status = arguments_error(args, fmt, ap);
  va_end(ap);
  return status;
}

/* ---- --help ---- */

/* Words up to the next option, or up to the comment: what stays together on a line. */
static size_t arguments_unit_of(const char *text)
{
  size_t n = strcspn(text, " ");
  for (bool quoted = false; text[n] != '\0'; n++) {
    if (text[n] == '\'') quoted = !quoted;
    if (text[n] == ' ' && !quoted && strchr("-#[", text[n + strspn(text + n, " ")]) != NULL) break;
  }
  return n;
}

/* A command of at most 80 columns a line; `broken` ends a line that goes on on the next one.  A
 * comment that does not fit stands before it. */
static void print_command(int indent, const char *text, const char *broken)
{
  const char *comment = strstr(text, " # ");
  size_t end = comment != NULL ? (size_t)(comment - text) : strlen(text);
  while (end > 0 && text[end - 1] == ' ') end--;
  if (comment != NULL && (size_t)indent + strlen(text) <= PERP_TABLE_WIDTH)
    end = strlen(text);
  else if (comment != NULL)
    printf("%*s%s\n", indent, "", comment + 1);
  if ((size_t)indent + end <= PERP_TABLE_WIDTH) {
    printf("%*s%.*s\n", indent, "", (int)end, text);
    return;
  }
  size_t column = 0;
  for (size_t at = 0; at < end;) {
    size_t n = arguments_unit_of(text + at);
    if (n > end - at) n = end - at;
    if (column > 0 && column + 1 + n + strlen(broken) > PERP_TABLE_WIDTH) {
      printf("%s\n", broken);
      column = 0;
    }
    column += (size_t)printf("%*s%.*s",
                             column > 0 ? 1
                             : at > 0   ? indent + 4
                                        : indent,
                             "", (int)n, text + at);
    at += n;
    at += strspn(text + at, " ");
  }
  printf("\n");
}

static void arguments_print_help(const perp_cli *cli)
{
  char usage[512];
  snprintf(usage, sizeof usage, "perp %s %s", cli->name, cli->usage);
  print_command(0, usage, "");
  printf("\n");
  perp_wrap(stdout, 0, cli->summary);
  if (cli->flags != NULL && cli->flags[0].name != NULL) printf("\nOptions\n");
  for (const perp_flag *flag = cli->flags; flag != NULL && flag->name != NULL; flag++) {
    char head[64], letter[8] = "    ";
    if (flag->letter != 0) snprintf(letter, sizeof letter, "-%c, ", flag->letter);
    snprintf(head, sizeof head, "  %s--%s%s%s", letter, flag->name, flag->arg ? " " : "",
             flag->arg ? flag->arg : "");
    if (strlen(head) < 28) {
      perp_wrap_after(stdout, head, 28, flag->help);
    } else {
      printf("%s\n", head);
      perp_wrap(stdout, 28, flag->help);
    }
  }
  if (cli->more != NULL) {
    printf("\n");
    perp_wrap(stdout, 0, cli->more);
  }
  printf("\nExample\n");
  print_command(2, cli->example, " \\");
}

/* ---- reading ---- */

static const perp_flag *find_flag(const perp_cli *cli, const char *name, size_t n)
{
  for (const perp_flag *flag = cli->flags; flag != NULL && flag->name != NULL; flag++)
    if (strlen(flag->name) == n && strncmp(flag->name, name, n) == 0) return flag;
  return NULL;
}

static int unknown_flag(const perp_args *args, const char *word)
{
  const char *names[PERP_ARGS_MAX + 1] = { "help" };
  int n = 1;
  for (const perp_flag *flag = args->cli->flags;
       flag != NULL && flag->name != NULL && n < PERP_ARGS_MAX; flag++)
    names[n++] = flag->name;
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
  const char *close = strncmp(name, "--", 2) == 0 ? perp_closest(name + 2, names, n) : NULL;
  return perp_usage_error(
      args, close != NULL ? "%s has no option '%s'; did you mean '--%s'?" : "%s has no option '%s'",
      args->cli->name, name, close);
}

int perp_args_read(const perp_cli *cli, int argc, char **argv, perp_args *args)
{
  *args = (perp_args){ .cli = cli };
  bool only_words = false;
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    if (only_words || word[0] != '-' || word[1] == '\0') {
      if (args->n >= cli->max_args || args->n == PERP_ARGS_MAX)
        return perp_usage_error(args, "too many arguments: '%s' is not expected", word);
      args->arg[args->n++] = word;
      continue;
    }
    if (strcmp(word, "--") == 0) {
      only_words = true;
      continue;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      arguments_print_help(cli);
      return PERP_EXIT_OK;
    }
    const perp_flag *f = NULL;
    const char *value = NULL;
    if (word[1] == '-') {
      size_t n = strcspn(word + 2, "=");
      f = find_flag(cli, word + 2, n);
      if (word[2 + n] == '=') value = word + 3 + n;
    } else {
      for (const perp_flag *g = cli->flags; g != NULL && g->name != NULL; g++)
        if (g->letter != 0 && g->letter == word[1]) f = g;
      if (f != NULL && word[2] != '\0') value = word + 2 + (word[2] == '='); /* -j4, -j=4 */
    }
    if (f == NULL) return unknown_flag(args, word);
    if (f->arg == NULL && value != NULL)
      return perp_usage_error(args, "--%s takes no value", f->name);
    if (f->arg != NULL && value == NULL) {
      if (i + 1 >= argc) return perp_usage_error(args, "--%s needs a value: %s", f->name, f->arg);
      value = argv[++i];
    }
    if (args->n_flags == PERP_ARGS_MAX) return perp_usage_error(args, "too many options");
    args->flag[args->n_flags].flag = f;
    args->flag[args->n_flags++].value = value != NULL ? value : "";
  }
  if (args->n < cli->min_args) return perp_usage_error(args, "an argument is missing");
  return -1;
}

const char *perp_args_get(const perp_args *args, const char *name)
{
  for (int i = args->n_flags - 1; i >= 0; i--)
    if (strcmp(args->flag[i].flag->name, name) == 0) return args->flag[i].value;
  return NULL;
}
