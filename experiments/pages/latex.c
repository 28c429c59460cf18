/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/latex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp_tex_text(FILE *out, const char *text)
{
  for (; *text != '\0'; text++) switch (*text) {
    case '&':
    case '%':
    case '$':
    case '#':
    case '_':
    case '{':
    case '}':
      fprintf(out, "\\%c", *text);
      break;
    case '~':
      fputs("\\textasciitilde{}", out);
      break;
    case '^':
      fputs("\\textasciicircum{}", out);
      break;
    case '\\':
      fputs("\\textbackslash{}", out);
      break;
    case '<':
    case '>':
    case '|':
      fprintf(out, "$%c$", *text);
      break;
    default:
      putc(*text, out);
    }
}

void perp_tex_number(FILE *out, double v)
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
