/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/markup.h"

void perp_markup_print(FILE *out, const perp_markup *language, const char *format, va_list ap)
{
  for (; *format != '\0'; format++) {
    if (*format != '%') {
      fputc(*format, out);
      continue;
    }
    switch (*++format) {
    case 's':
      language->text(out, va_arg(ap, const char *));
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
      language->number(out, va_arg(ap, double));
      break;
    default:
      fputc('%', out);
    }
  }
}
