/* SPDX-License-Identifier: GPL-3.0-or-later */
/* printf for pages and documents: what is put in is escaped. */
#ifndef PERP_MARKUP_H
#define PERP_MARKUP_H

#include <stdarg.h>
#include <stdio.h>

/* How a language writes a text and a measured number. */
typedef struct perp_markup {
  void (*text)(FILE *out, const char *text);
  void (*number)(FILE *out, double v);
} perp_markup;

/* format is markup, in which %s is a text, %n a text that is markup, %d an int, %m a measured
 * number, %g a double (6 digits), %% a percent sign. */
void perp_markup_print(FILE *out, const perp_markup *language, const char *format, va_list ap);

#endif
