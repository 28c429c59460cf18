/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/html.h"

#include "experiments/pages/markup.h"
#include "experiments/pages/page_style.h"
#include "experiments/pages/sha256.h"
#include "experiments/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp_html_text(FILE *out, const char *text)
{
  static const char special[] = "&<>\"";
  static const char *const written[] = { "&amp;", "&lt;", "&gt;", "&quot;" };
  for (; *text != '\0'; text++) {
    const char *at = strchr(special, *text);
    if (at != NULL)
      fputs(written[at - special], out);
    else
      fputc(*text, out);
  }
}

static void html_measure(FILE *out, double v)
{
  if (isnan(v)) {
    fputs("&ndash;", out);
  } else if (isinf(v)) {
    fputs(v > 0 ? "&infin;" : "&minus;&infin;", out);
  } else if (v != 0 && (fabs(v) < 1e-3 || fabs(v) >= 1e5)) {
    fprintf(out, "%.2e", v);
  } else {
    fprintf(out, "%.3g", v);
  }
}

void perp_html(FILE *out, const char *format, ...)
{
  va_list ap;
  va_start(ap, format);
  perp_markup_print(out, &(perp_markup){ perp_html_text, html_measure }, format, ap);
  va_end(ap);
}

static void html_style(FILE *out, const char *text)
{
  fprintf(out, "<style>%s</style>\n", text);
}

static void html_hash(FILE *out, const char *text)
{
  char *hash = perp_sha256_base64(text, strlen(text));
  fprintf(out, " 'sha256-%s'", hash);
  free(hash);
}

void perp_html_begin(FILE *out, const char *title, const char *more, const char *script)
{
  fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src",
        out);
  if (script != NULL)
    html_hash(out, script);
  else
    fputs(" 'none'", out);
  fputs("; style-src", out);
  html_hash(out, page_style);
  if (more != NULL) html_hash(out, more);
  fputs("; img-src data:; connect-src 'none'; form-action 'none'; base-uri 'none'\">\n", out);
  perp_html(out,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>%s</title>\n<link rel=\"icon\" href=\"data:,\">\n",
            title);
  html_style(out, page_style);
  if (more != NULL) html_style(out, more);
  fputs("</head>\n<body>\n", out);
}

void perp_html_script(FILE *out, const char *script)
{
  fprintf(out, "<script>%s</script>\n", script);
}

void perp_html_end(FILE *out)
{
  fputs("</body>\n</html>\n", out);
}

void perp_html_data(FILE *out, const char *id, const char *json, size_t n)
{
  perp_html(out, "<script type=\"application/json\" id=\"%s\">", id);
  /* "</script>" and "<!--" inside of a text would end the element */
  for (size_t i = 0; i < n; i++)
    if (json[i] == '<')
      fputs("\\u003c", out);
    else
      fputc(json[i], out);
  fputs("</script>\n", out);
}

void perp_html_svg(FILE *out, const char *svg, size_t n, const char *alt)
{
  perp_html(out, "<img alt=\"%s\" src=\"data:image/svg+xml;base64,", alt);
  char *text = perp_base64(svg, n);
  fprintf(out, "%s\">\n", text);
  free(text);
}
