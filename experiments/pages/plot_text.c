/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/plot_text.h"

#include "experiments/base/memory.h"
#include "experiments/pages/gnuplot.h"
#include "experiments/pages/latex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* In lines of at most `most` bytes, broken at blanks. */
static void plot_lines(FILE *out, const char *text, size_t most)
{
  for (;;) {
    size_t n = strlen(text);
    if (n > most) {
      size_t at = most;
      while (at > 0 && text[at] != ' ') at--;
      n = at > 0 ? at : most + strcspn(text + most, " ");
    }
    char *line = perp_xprintf("%.*s", (int)n, text);
    perp_gnuplot_text(out, line);
    free(line);
    text += n;
    text += *text == ' ';
    if (*text == '\0') return;
    fputs(".\"\\n\".", out);
  }
}

void perp_plot_quote(FILE *out, const char *text, size_t most)
{
  char *tex = perp_tex_string(text);
  if (strcmp(tex, text) == 0 && strlen(text) <= most) {
    perp_gnuplot_text(out, text);
  } else {
    fputs("(tex ? ", out);
    perp_gnuplot_text(out, tex);
    fputs(" : ", out);
    plot_lines(out, text, most);
    fputc(')', out);
  }
  free(tex);
}

void perp_plot_name(FILE *out, const char *text, size_t most)
{
  const char *first = strstr(text, ", "), *rest = first;
  if (strlen(text) <= most || first == NULL) {
    perp_plot_quote(out, text, most);
    return;
  }
  const size_t kept = (size_t)(first + 2 - text) + strlen("...");
  while (kept + strlen(rest) > most && strstr(rest + 2, ", ") != NULL)
    rest = strstr(rest + 2, ", ");
  char *cut = kept + strlen(rest) <= most
                  ? perp_xprintf("%.*s, ...%s", (int)(first - text), text, rest)
                  : perp_xprintf("...%s", rest);
  perp_plot_quote(out, cut, most);
  free(cut);
}

void perp_plot_axis_label(FILE *out, const char *text, size_t most)
{
  char *label = perp_xprintf("%s", text);
  if (isalpha((unsigned char)label[0]) && isalpha((unsigned char)label[1]))
    label[0] = (char)toupper((unsigned char)label[0]);
  perp_plot_quote(out, label, most);
  free(label);
}
