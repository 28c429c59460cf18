/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/latex.h"

#include "experiments/pages/markup.h"
#include "experiments/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *perp_tex_string(const char *text)
{
  perp_text t = { 0 };
  perp_text_put(&t, "", 0);
  for (; *text != '\0'; text++)
    if (strchr("&%$#_{}", *text) != NULL)
      perp_text_add(&t, "\\%c", *text);
    else if (strchr("<>|", *text) != NULL)
      perp_text_add(&t, "$%c$", *text);
    else if (*text == '~' || *text == '^' || *text == '\\')
      perp_text_add(&t, "\\text%s{}",
                    *text == '~'   ? "asciitilde"
                    : *text == '^' ? "asciicircum"
                                   : "backslash");
    else
      perp_text_put(&t, text, 1);
  return t.s;
}

static void tex_number(FILE *out, double v)
{
  if (isnan(v)) {
    fputs("--", out);
  } else if (isinf(v)) {
    fputs(v > 0 ? "$\\infty$" : "$-\\infty$", out);
  } else if (v == 0 || (fabs(v) >= 1e-3 && fabs(v) < 1e5)) {
    fprintf(out, v == nearbyint(v) ? "$%.0f$" : "$%.3g$", v);
  } else {
    char text[32];
    snprintf(text, sizeof text, "%.2e", v);
    char *e = strchr(text, 'e');
    *e = '\0';
    fprintf(out, "$%s\\times10^{%d}$", text, atoi(e + 1));
  }
}

static void tex_text(FILE *out, const char *text)
{
  char *tex = perp_tex_string(text);
  fputs(tex, out);
  free(tex);
}

void perp_tex(FILE *out, const char *format, ...)
{
  va_list ap;
  va_start(ap, format);
  perp_markup_print(out, &(perp_markup){ tex_text, tex_number }, format, ap);
  va_end(ap);
}
