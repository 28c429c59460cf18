/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/study/commands.h"

#include "experiments/base/memory.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <string.h>

static const char *command_word(const perp_command *command)
{
  const char *space = strrchr(command->cli.name, ' ');
  return space != NULL ? space + 1 : command->cli.name;
}

void perp_commands_print(const perp_command *const *commands, int width, FILE *out)
{
  for (; *commands != NULL; commands++)
    fprintf(out, "  %-*s %s\n", width, command_word(*commands), (*commands)->summary);
}

int perp_commands_run(perp_ctx *ctx, const perp_command *const *commands, int argc, char **argv,
                      const char *before, const char *otherwise)
{
  const char *names[64];
  int n = 0;
  for (; commands[n] != NULL && n < 64; n++) {
    const perp_command *command = commands[n];
    names[n] = command_word(command);
    if (strcmp(names[n], argv[0]) != 0) continue;
    if (command->run == NULL) return command->run_words(ctx, argc, argv);
    perp_args args;
    const int status = perp_args_read(&command->cli, argc, argv, &args);
    return status >= 0 ? status : command->run(ctx, &args);
  }
  const char *close = perp_closest(argv[0], names, n);
  char message[160];
  if (close != NULL)
    snprintf(message, sizeof message, "unknown command '%s%.60s'; did you mean '%s'?", before,
             argv[0], close);
  else
    snprintf(message, sizeof message, "unknown command '%s%.60s' (%s)", before, argv[0], otherwise);
  perp_say_error(message);
  return PERP_EXIT_USAGE;
}

int perp_refuse(const perp_ctx *ctx, int exit_status)
{
  perp_print_error(ctx);
  return ctx->status == PERP_ERR_NOMEM ? PERP_EXIT_INFRA : exit_status;
}

int perp_exit_of(perp_status status)
{
  switch (status) {
  case PERP_ERR_ARG:
  case PERP_ERR_DIM:
  case PERP_ERR_OPTION:
  case PERP_ERR_UNSUPPORTED:
    return PERP_EXIT_USAGE;
  case PERP_ERR_IO:
  case PERP_ERR_FORMAT:
    return PERP_EXIT_INPUT;
  case PERP_ERR_NOMEM:
    return PERP_EXIT_INFRA;
  default:
    return PERP_EXIT_INTERNAL;
  }
}

/* ---- values of options ---- */

static int option_read(const perp_ctx *ctx, const perp_args *args, const char *name,
                       perp_status status)
{
  return status == PERP_OK ? -1 : perp_usage_of(ctx, args, "--%s: %s", name, ctx->msg);
}

int perp_option_int(perp_ctx *ctx, const perp_args *args, const char *name, int64_t lo, int64_t hi,
                    int64_t *value)
{
  const char *text = perp_args_get(args, name);
  return text == NULL ? -1 : option_read(ctx, args, name, perp_parse_int(ctx, text, lo, hi, value));
}

int perp_option_parsed(perp_ctx *ctx, const perp_args *args, const char *name,
                       perp_status (*parse)(perp_ctx *ctx, const char *text, double *value),
                       double *value)
{
  const char *text = perp_args_get(args, name);
  return text == NULL ? -1 : option_read(ctx, args, name, parse(ctx, text, value));
}

int perp_option_real(perp_ctx *ctx, const perp_args *args, const char *name, const char *unit,
                     bool zero, double *value)
{
  const char *text = perp_args_get(args, name);
  if (text == NULL) return -1;
  const perp_status status = perp_parse_real(ctx, text, unit, value);
  if (status != PERP_OK) return option_read(ctx, args, name, status);
  if ((*value > 0 || (zero && *value == 0)) && isfinite(*value)) return -1;
  return perp_usage_error(args, "--%s must be in %s0, inf)%s%s: got %s", name, zero ? "[" : "(",
                          unit[0] != '\0' ? " " : "", unit, text);
}

bool perp_option_given(const perp_args *args, const char *name)
{
  return perp_args_get(args, name) != NULL;
}

enum { CHOICES_TOLD = 30 };

int perp_choose(const perp_args *args, const char *what, const char *word, const char *const *names,
                int n, const char *otherwise)
{
  for (int i = 0; i < n; i++)
    if (strcmp(names[i], word) == 0) return i;
  const char *close = perp_closest(word, names, n);
  perp_text list = { 0 };
  for (int i = 0; i < n && n <= CHOICES_TOLD && otherwise[0] == '\0'; i++)
    perp_text_add(&list, "%s%s", i == 0 ? " (valid: " : ", ", names[i]);
  if (list.n > 0) perp_text_add(&list, ")");
  perp_usage_error(args, close != NULL ? "%s '%s'; did you mean '%s'?" : "%s '%s'%s", what, word,
                   close != NULL ? close
                   : list.n > 0  ? list.s
                                 : otherwise);
  perp_text_free(&list);
  return -1;
}

int perp_option_words(const perp_args *args, const char *name, const char *what,
                      const char *const *names, int n, const char *otherwise, bool *chosen)
{
  const char *list = perp_args_get(args, name);
  while (list != NULL && *list != '\0') {
    const size_t length = strcspn(list, ",");
    char word[32], unknown[64];
    snprintf(word, sizeof word, "%.*s", (int)length, list);
    snprintf(unknown, sizeof unknown, "--%s: unknown %s", name, what);
    const int i = perp_choose(args, unknown, word, names, n, otherwise);
    if (i < 0) return PERP_EXIT_USAGE;
    chosen[i] = true;
    list += length + (list[length] == ',');
  }
  return -1;
}
