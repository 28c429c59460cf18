/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/html.h"

#include "experiments/pages/sha256.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--page:#fff;--ink:#1b1f24;--soft:#59636e;--line:#d8dee4;"
    "--panel:#f6f8fa;--accent:#0072b2;--bad:#b3261e;--mark:#8a5300;--good:#1a7f37}\n"
    "@media(prefers-color-scheme:dark){:root{--page:#14171b;--ink:#e6e8eb;--soft:#a0a8b2;"
    "--line:#343a42;--panel:#1e2329;--accent:#6cb8ea;--bad:#ff8a80;--mark:#e3a951;--good:#6fcf86}}"
    "\n"
    "*{box-sizing:border-box}html{scroll-behavior:smooth}\n"
    "body{margin:0 auto;max-width:66rem;padding:1.5rem 1.2rem "
    "4rem;color:var(--ink);background:var(--page);"
    "font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif}\n"
    "h1{font-size:1.7rem;line-height:1.25;margin:.2rem 0 .4rem}\n"
    "h2{font-size:1.25rem;margin:2.4rem 0 .6rem;padding-top:.6rem;border-top:1px solid "
    "var(--line)}\n"
    "h3{font-size:1.02rem;margin:1.4rem 0 .3rem}p{margin:.5rem 0}\n"
    "nav{font-size:.88rem;margin:.8rem 0;display:flex;flex-wrap:wrap;gap:.2rem 1rem}\n"
    "a{color:var(--accent)}code{font:.88em ui-monospace,SFMono-Regular,Menlo,monospace}\n"
    "pre{background:var(--panel);padding:.7rem "
    ".9rem;overflow-x:auto;border-radius:6px;font-size:.85rem}\n"
    ".question{font-size:1.08rem;color:var(--soft);margin:.2rem 0 1rem}\n"
    ".answer{background:var(--panel);border-left:4px solid var(--accent);padding:.7rem 1rem;"
    "border-radius:0 6px 6px 0}\n"
    ".answer ul{margin:.3rem 0;padding-left:1.2rem}.note{color:var(--soft);font-size:.88rem}\n"
    /* a shadow at the side where a wide table goes on */
    ".scroll{overflow-x:auto;background:"
    "linear-gradient(90deg,var(--page),transparent) 0 0/2rem 100% no-repeat local,"
    "linear-gradient(270deg,var(--page),transparent) 100% 0/2rem 100% no-repeat local,"
    "linear-gradient(90deg,#0004,transparent) 0 0/.6rem 100% no-repeat,"
    "linear-gradient(270deg,#0004,transparent) 100% 0/.6rem 100% no-repeat}"
    "table{border-collapse:collapse;font-size:.86rem;margin:.6rem 0}\n"
    "th,td{padding:.26rem .6rem;border-bottom:1px solid "
    "var(--line);text-align:left;white-space:nowrap}\n"
    "th{font-weight:600;border-bottom:2px solid var(--line);vertical-align:bottom}\n"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\n"
    "th.head{white-space:normal;min-width:5rem}"
    "td.wrap,th.wrap{white-space:normal;min-width:16rem}th.wrap{min-width:9rem}td.wrap "
    "code{font-size:.8em}\n"
    "td.text{white-space:normal}td.best{font-weight:700;color:var(--good)}.bad{color:var(--bad);"
    "font-weight:600}\n"
    ".mark{color:var(--mark)}td.mark,small.mark{font-weight:600}\n"
    ".good{color:var(--good);font-weight:600}\n"
    "figure{margin:1rem 0}figure img{width:100%;max-width:56rem;height:auto;background:#fff;"
    "border:1px solid var(--line);"
    "border-radius:6px}\n"
    "figcaption{font-size:.88rem;color:var(--soft);max-width:56rem}\n"
    "details{margin:.5rem 0}summary{cursor:pointer;color:var(--accent)}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;font-size:.9rem}"
    "dt{font-weight:600}dd{margin:0;overflow-wrap:anywhere}\n"
    "@media(max-width:40rem){dl{grid-template-columns:1fr}dd{margin:0 0 .4rem .8rem}}\n"
    "@media print{nav{display:none}body{max-width:none}}\n";

void perp_html_text(FILE *out, const char *text)
{
  for (; *text != '\0'; text++) {
    switch (*text) {
    case '&':
      fputs("&amp;", out);
      break;
    case '<':
      fputs("&lt;", out);
      break;
    case '>':
      fputs("&gt;", out);
      break;
    case '"':
      fputs("&quot;", out);
      break;
    default:
      fputc(*text, out);
    }
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
  for (; *format != '\0'; format++) {
    if (*format != '%') {
      fputc(*format, out);
      continue;
    }
    switch (*++format) {
    case 's':
      perp_html_text(out, va_arg(ap, const char *));
      break;
    case 'd':
      fprintf(out, "%d", va_arg(ap, int));
      break;
    case 'g':
      fprintf(out, "%.6g", va_arg(ap, double));
      break;
    case 'm':
      html_measure(out, va_arg(ap, double));
      break;
    case '%':
      fputc('%', out);
      break;
    default:
      break;
    }
  }
  va_end(ap);
}

static void html_style(FILE *out, const char *text)
{
  fprintf(out, "<style>%s</style>\n", text);
}

static void html_hash(FILE *out, const char *text)
{
  char hash[45];
  perp_sha256_base64(text, strlen(text), hash);
  fprintf(out, " 'sha256-%s'", hash);
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
  html_hash(out, style);
  if (more != NULL) html_hash(out, more);
  fputs("; img-src data:; connect-src 'none'; form-action 'none'; base-uri 'none'\">\n", out);
  perp_html(out,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>%s</title>\n<link rel=\"icon\" href=\"data:,\">\n",
            title);
  html_style(out, style);
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

static void html_base64(FILE *out, const unsigned char *b, size_t n)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < n; i += 3) {
    unsigned b1 = i + 1 < n ? b[i + 1] : 0, b2 = i + 2 < n ? b[i + 2] : 0;
    fputc(digits[b[i] >> 2], out);
    fputc(digits[(b[i] & 3u) << 4 | b1 >> 4], out);
    fputc(i + 1 < n ? digits[(b1 & 15) << 2 | b2 >> 6] : '=', out);
    fputc(i + 2 < n ? digits[b2 & 63] : '=', out);
  }
}

void perp_html_svg(FILE *out, const char *svg, size_t n, const char *alt)
{
  perp_html(out, "<img alt=\"%s\" src=\"data:image/svg+xml;base64,", alt);
  html_base64(out, (const unsigned char *)svg, n);
  fputs("\">\n", out);
}
