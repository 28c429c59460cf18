/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/cli.h"

#include "experiments/metrics/metrics.h"
#include "experiments/plugins/outside.h"
#include "experiments/base/util.h"
#include "models/models.h"

#include <stdlib.h>
#include <string.h>

/* ---- messages ----------------------------------------------------------------------------------------- */

void perp_say(const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  fputs("perp: ", stderr);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
}

static void print_error(const char *message)
{
  bool colour = perp_colour(stderr);
  const char *hint = strstr(message, "; did you mean");
  fprintf(stderr, "perp: %serror:%s ", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "");
  if (hint != NULL)
    fprintf(stderr, "%.*s\n      %s\n", (int)(hint - message), message, hint + 2);
  else
    fprintf(stderr, "%s\n", message);
}

void perp_print_error(const perp_ctx *ctx)
{
  print_error(ctx->msg);
}

int perp_usage_error(const perp_args *args, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text t = { 0 };
  perp_text_vadd(&t, fmt, ap);
  va_end(ap);
  print_error(t.s);
  if (strstr(t.s, "; did you mean") == NULL)
    fprintf(stderr, "      (perp %s --help)\n", args->cli->name);
  perp_text_free(&t);
  return PERP_EXIT_USAGE;
}

/* ---- options of a command ----------------------------------------------------------------------------------- */

/* Words up to the next option, or up to the comment: what stays together on a line. */
static size_t unit_of(const char *text)
{
  size_t n = strcspn(text, " ");
  for (bool quoted = false; text[n] != '\0'; n++) {
    if (text[n] == '\'') quoted = !quoted;
    if (text[n] == ' ' && !quoted && strchr("-#[", text[n + strspn(text + n, " ")]) != NULL) break;
  }
  return n;
}

/* A command of at most 80 columns a line; `broken` ends a line that goes on on the next one.  A comment that does not fit
 * stands before it. */
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
    size_t n = unit_of(text + at);
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

static void print_help(const perp_cli *cli)
{
  char usage[512];
  snprintf(usage, sizeof usage, "perp %s %s", cli->name, cli->usage);
  print_command(0, usage, "");
  printf("\n");
  perp_wrap(stdout, 0, cli->summary);
  if (cli->flags != NULL && cli->flags[0].name != NULL) printf("\nOptions\n");
  for (const perp_flag *f = cli->flags; f != NULL && f->name != NULL; f++) {
    char head[64], letter[8] = "    ";
    if (f->letter != 0) snprintf(letter, sizeof letter, "-%c, ", f->letter);
    snprintf(head, sizeof head, "  %s--%s%s%s", letter, f->name, f->arg ? " " : "",
             f->arg ? f->arg : "");
    if (strlen(head) < 28) {
      /* wrap the help beside the head: print it indented, then lay the head over the first blanks */
      perp_text t = { 0 };
      char *wrapped = NULL;
      size_t n = 0;
      FILE *m = open_memstream(&wrapped, &n);
      if (m == NULL) return;
      perp_wrap(m, 28, f->help);
      fclose(m);
      perp_text_add(&t, "%-28s%s", head, wrapped + 28);
      fputs(t.s, stdout);
      perp_text_free(&t);
      free(wrapped);
    } else {
      printf("%s\n", head);
      perp_wrap(stdout, 28, f->help);
    }
  }
  if (cli->more != NULL) {
    printf("\n");
    perp_wrap(stdout, 0, cli->more);
  }
  printf("\nExample\n");
  print_command(2, cli->example, " \\");
}

static const perp_flag *find_flag(const perp_cli *cli, const char *name, size_t n)
{
  for (const perp_flag *f = cli->flags; f != NULL && f->name != NULL; f++)
    if (strlen(f->name) == n && strncmp(f->name, name, n) == 0) return f;
  return NULL;
}

static int unknown_flag(const perp_args *args, const char *word)
{
  const char *names[PERP_ARGS_MAX + 1] = { "help" };
  int n = 1;
  for (const perp_flag *f = args->cli->flags; f != NULL && f->name != NULL && n < PERP_ARGS_MAX;
       f++)
    names[n++] = f->name;
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
  const char *close = strncmp(name, "--", 2) == 0 ? perp_closest(name + 2, names, n) : NULL;
  if (close != NULL)
    return perp_usage_error(args, "%s has no option '%s'; did you mean '--%s'?", args->cli->name,
                            name, close);
  return perp_usage_error(args, "%s has no option '%s'", args->cli->name, name);
}

int perp_args_read(const perp_cli *cli, int argc, char **argv, perp_args *args)
{
  *args = (perp_args){ .cli = cli };
  bool only_words = false;
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i];
    if (only_words || word[0] != '-' || word[1] == '\0') {
      if (args->n >= cli->max_args || args->n == PERP_ARGS_MAX)
        return perp_usage_error(args, "one argument too many: '%s'", word);
      args->arg[args->n++] = word;
      continue;
    }
    if (strcmp(word, "--") == 0) {
      only_words = true;
      continue;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      print_help(cli);
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

/* ---- the program ---------------------------------------------------------------------------------------------- */

static void print_commands(FILE *out)
{
  fputs("perp COMMAND [arguments]\n\n"
        "Compares numerical solvers for constrained rigid-body dynamics: choose a scene,\n"
        "swap one part at a time, see which is accurate, fast and robust, and why.\n\n"
        "Commands\n",
        out);
  for (const perp_command *c = perp_commands; c->name != NULL; c++)
    fprintf(out, "  %-11s %s\n", c->name, c->summary);
  fputs("\nStart with\n"
        "  perp run chain6-stab            the main study: a table, then a page to see\n"
        "  perp simulate pendulum --json   one run, as data\n"
        "  perp COMMAND --help             options and an example of one command\n"
        "\n"
        "Every command takes --plugin FILE.so: solvers, scenes and metrics of your own\n"
        "(perp new plugin; folders of them in PERP_PLUGIN_PATH).\n"
        "\n"
        "Exit status: 0 done, 2 usage, 3 invalid file, 4 nothing selected, 5 cells\n"
        "crashed or figures failed, 6 regression, 7 incomplete but resumable,\n"
        "8 references disagree, 9 simulated with problems that were not solved, 10 none\n"
        "succeeded, 1 internal error.\n",
        out);
}

/* Load what PERP_PLUGIN_PATH and each --plugin FILE name; the words are taken out of argv.  Returns -1 to go
 * on, or the exit status after a message. */
static int load_plugins(perp_ctx *ctx, int *argc, char **argv)
{
  const char *list = getenv("PERP_PLUGIN_PATH");
  perp_status status = list != NULL ? perp_outside_load_path(ctx, list) : PERP_OK;
  int kept = 1;
  bool only_words = false;
  for (int i = 1; i < *argc; i++) {
    const char *word = argv[i], *file = NULL;
    only_words = only_words || strcmp(word, "--") == 0;
    if (!only_words && strncmp(word, "--plugin=", 9) == 0)
      file = word + 9;
    else if (!only_words && strcmp(word, "--plugin") == 0) {
      if (i + 1 == *argc) {
        print_error("--plugin needs a value: FILE.so");
        return PERP_EXIT_USAGE;
      }
      file = argv[++i];
    }
    if (file == NULL)
      argv[kept++] = argv[i];
    else if (status == PERP_OK)
      status = perp_outside_load(ctx, file, true);
  }
  argv[kept] = NULL;
  *argc = kept;
  if (status == PERP_OK) return -1;
  perp_print_error(ctx);
  return status == PERP_ERR_IO ? PERP_EXIT_USAGE : PERP_EXIT_INPUT;
}

int perp_main(int argc, char **argv)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK) {
    perp_print_error(&ctx);
    return PERP_EXIT_INTERNAL;
  }
  int loaded = load_plugins(&ctx, &argc, argv);
  if (loaded >= 0) return loaded;
  if (argc < 2) {
    print_commands(stderr);
    return PERP_EXIT_USAGE;
  }
  const char *word = argv[1];
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
    if (argc > 2) { /* perp help run */
      char *again[] = { argv[0], argv[2], "--help", NULL };
      return perp_main(3, again);
    }
    print_commands(stdout);
    return PERP_EXIT_OK;
  }
  if (strcmp(word, "--version") == 0) word = "version";
  const char *names[64];
  int n = 0;
  for (const perp_command *c = perp_commands; c->name != NULL; c++) {
    if (strcmp(c->name, word) == 0) {
      int status = c->run(&ctx, argc - 1, argv + 1);
      /* data that did not reach its reader is an error, whatever the command thought */
      if ((fflush(stdout) != 0 || ferror(stdout)) && status == PERP_EXIT_OK) {
        perp_say("error: cannot write the output");
        return PERP_EXIT_INTERNAL;
      }
      return status;
    }
    if (n < 64) names[n++] = c->name;
  }
  const char *close = perp_closest(word, names, n);
  char message[160];
  if (close != NULL)
    snprintf(message, sizeof message, "unknown command '%.60s'; did you mean '%s'?", word, close);
  else
    snprintf(message, sizeof message, "unknown command '%.60s' (perp --help lists them)", word);
  print_error(message);
  return PERP_EXIT_USAGE;
}
