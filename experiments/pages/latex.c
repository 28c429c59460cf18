/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/latex.h"

#include "experiments/base/memory.h"

#include <math.h>
#include <stdarg.h>
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
  for (; *format != '\0'; format++) {
    if (*format != '%') {
      fputc(*format, out);
      continue;
    }
    switch (*++format) {
    case 's':
      tex_text(out, va_arg(ap, const char *));
      break;
    case 'n':
      fputs(va_arg(ap, const char *), out);
      break;
    case 'd':
      fprintf(out, "%d", va_arg(ap, int));
      break;
    case 'g':
      fprintf(out, "%.6g", va_arg(ap, double));
      break;
    case 'm':
      tex_number(out, va_arg(ap, double));
      break;
    default:
      fputc('%', out);
    }
  }
  va_end(ap);
}
