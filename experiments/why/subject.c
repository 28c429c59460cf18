/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/why/why.h"

#include "experiments/base/numbers.h"
#include "experiments/base/shell.h"

#include <math.h>
#include <string.h>

static perp_status subject_option(perp_ctx *ctx, perp_why_subject *subject, const char *name,
                                  const char *value)
{
  if (strcmp(name, "h") == 0) return perp_parse_real(ctx, value, "s", &subject->h);
  if (strcmp(name, "timeout") == 0) return perp_parse_duration(ctx, value, &subject->timeout);
  if (strcmp(name, "memory") == 0) return perp_parse_size(ctx, value, &subject->memory);
  for (int part = 0; part < PERP_PARTS; part++)
    if (strcmp(name, perp_part_name(part)) == 0) {
      if (snprintf(subject->part[part], PERP_SPEC_MAX, "%s", value) >= PERP_SPEC_MAX)
        return PERP_FAIL(ctx, PERP_ERR_OPTION, "the options of --%s are too long", name);
      return PERP_OK;
    }
  return PERP_FAIL(ctx, PERP_ERR_OPTION, "no option --%s", name);
}

perp_status perp_why_with(perp_ctx *ctx, const perp_why_subject *subject, const char *options,
                          perp_why_subject *out)
{
  char word[PERP_SPEC_MAX], name[32] = "";
  *out = *subject;
  for (const char *at = options; *(at += strspn(at, " ")) != '\0';) {
    const size_t n = strcspn(at, " ");
    if (n >= sizeof word) return PERP_FAIL(ctx, PERP_ERR_OPTION, "an option is too long");
    memcpy(word, at, n);
    word[n] = '\0';
    at += n;
    if (name[0] != '\0') {
      PERP_TRY(subject_option(ctx, out, name, word));
      name[0] = '\0';
    } else if (strcmp(word, "--equilibrate") == 0)
      out->equilibrate = true;
    else if (strncmp(word, "--", 2) == 0)
      snprintf(name, sizeof name, "%.31s", word + 2);
    else
      return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s' is no option", word);
  }
  return PERP_OK;
}

static void subject_flag(perp_text *out, const char *flag, const char *value)
{
  if (value == NULL || value[0] == '\0') return;
  perp_text_add(out, " --%s%c", flag, value[0] == '-' ? '=' : ' ');
  perp_shell_word(out, value);
}

static void subject_number(perp_text *out, const char *flag, double value, const char *unit)
{
  char text[40];
  if (!(value > 0)) return;
  perp_format_real(value, text, sizeof text);
  perp_text_add(out, " --%s %s%s", flag, text, unit);
}

/* The problem of a study is a file, or made by a command. */
static void subject_problem(const char *path, perp_text *out)
{
  char family[64];
  int n, seed, used = 0;
  if (sscanf(path, "%63[^:]:n=%d,seed=%d%n", family, &n, &seed, &used) == 3) {
    perp_text_add(out, "perp lcp generate %s --n %d --seed %d%s | perp lcp solve -", family, n,
                  seed, path[used] != '\0' ? " --factored" : "");
    return;
  }
  perp_text_add(out, "perp lcp solve ");
  if (strcmp(path, "-") == 0)
    perp_text_add(out, "-");
  else
    perp_shell_path(out, strncmp(path, "file:", 5) == 0 ? path + 5 : path);
}

void perp_why_command(const perp_why_subject *subject, perp_text *out)
{
  if (subject->problem != NULL)
    subject_problem(subject->path, out);
  else {
    perp_text_add(out, "perp simulate ");
    perp_shell_path(out, subject->scene);
  }
  for (int part = 0; part < PERP_PARTS; part++)
    subject_flag(out, perp_part_name(part), subject->part[part]);
  if (subject->problem != NULL) {
    if (subject->tol != 1e-10) subject_number(out, "tol", subject->tol, "");
    subject_number(out, "tol-data", subject->tol_data, "");
    if (subject->equilibrate) perp_text_add(out, " --equilibrate");
    subject_number(out, "memory", subject->memory, "");
    return;
  }
  subject_number(out, "h", subject->h, "");
  subject_number(out, "t-end", subject->t_end, "");
  subject_number(out, "perturb", subject->perturb, "");
  subject_flag(out, "equivalent", subject->equivalent);
  subject_number(out, "timeout", subject->timeout, "s");
  if (subject->memory > 0) perp_text_add(out, "  # in %.4g MB", subject->memory / 1e6);
}
