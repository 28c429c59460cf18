/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/latex.h"

#include "experiments/base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Letters outside of ASCII that words of perp have; LaTeX knows few of them. */
static const struct {
  const char *letter, *tex;
} letters[] = {
  { "α", "$\\alpha$" }, { "β", "$\\beta$" },  { "γ", "$\\gamma$" }, { "λ", "$\\lambda$" },
  { "μ", "$\\mu$" },    { "ω", "$\\omega$" }, { "ρ", "$\\rho$" },   { "θ", "$\\theta$" },
  { "–", "--" },        { "—", "---" },       { "−", "$-$" },       { "×", "$\\times$" },
  { "·", "$\\cdot$" },  { "≤", "$\\le$" },    { "≥", "$\\ge$" },    { "…", "\\ldots{}" },
  { "°", "$^\\circ$" },
};

/* "¹¹": a power; its bytes, and its digits in power [size]; 0: none. */
static size_t tex_power(const char *text, char *power, size_t size)
{
  static const char *const digit[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹", "⁻" };
  size_t at = 0, n = 0;
  for (bool found = true; found && n + 1 < size;) {
    found = false;
    for (size_t k = 0; k < sizeof digit / sizeof *digit && !found; k++) {
      const size_t length = strlen(digit[k]);
      if (strncmp(text + at, digit[k], length) != 0) continue;
      power[n++] = "0123456789-"[k];
      at += length;
      found = true;
    }
  }
  power[n] = '\0';
  return at;
}

/* The letter of the table at the beginning of text; -1: none. */
static int tex_letter(const char *text)
{
  for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
    if (strncmp(text, letters[i].letter, strlen(letters[i].letter)) == 0) return (int)i;
  return -1;
}

char *perp_tex_string(const char *text)
{
  perp_text out = { 0 };
  char power[16];
  perp_text_put(&out, "", 0);
  for (; *text != '\0'; text++) {
    const size_t raised = (unsigned char)*text < 0x80 ? 0 : tex_power(text, power, sizeof power);
    const int letter = (unsigned char)*text < 0x80 ? -1 : tex_letter(text);
    if (raised > 0) {
      perp_text_add(&out, "$^{%s}$", power);
      text += raised - 1;
    } else if (letter >= 0) {
      perp_text_add(&out, "%s", letters[letter].tex);
      text += strlen(letters[letter].letter) - 1;
    } else if (strchr("&%$#_{}", *text) != NULL) {
      perp_text_add(&out, "\\%c", *text);
    } else if (strchr("<>|", *text) != NULL) {
      perp_text_add(&out, "$%c$", *text);
    } else if (*text == '~' || *text == '^' || *text == '\\') {
      perp_text_add(&out, "\\text%s{}",
                    *text == '~'   ? "asciitilde"
                    : *text == '^' ? "asciicircum"
                                   : "backslash");
    } else {
      perp_text_put(&out, text, 1);
    }
  }
  return out.s;
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
    char *at = strchr(text, 'e');
    *at = '\0';
    fprintf(out, "$%s\\times10^{%d}$", text, atoi(at + 1));
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
