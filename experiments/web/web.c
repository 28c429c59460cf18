/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/web/web.h"

#include "experiments/base/files.h"
#include "experiments/base/memory.h"
#include "experiments/pages/sha256.h"
#include "experiments/web/web_paths.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

char *perp_web_file(const char *name, size_t *size)
{
  char *path = perp_xprintf("%s/%s", WEB_BUILT, name), *text = perp_read_file(path, size);
  free(path);
  if (text != NULL) return text;
  path = perp_xprintf("%s/%s", WEB_INSTALLED, name);
  text = perp_read_file(path, size);
  free(path);
  return text;
}

static char *web_script(void)
{
  size_t size;
  const char *given = getenv("PERP_REPORT_JS");
  if (given != NULL) return given[0] == '\0' ? NULL : perp_read_file(given, &size);
  return perp_web_file("pages.js", &size);
}

bool perp_web_built(void)
{
  char *text = web_script();
  free(text);
  return text != NULL;
}

perp_status perp_web_missing(perp_ctx *ctx)
{
  const char *given = getenv("PERP_REPORT_JS");
  if (given != NULL)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                     "no page was written: PERP_REPORT_JS='%s' is no script; unset it", given);
  return PERP_FAIL(
      ctx, PERP_ERR_EXTERNAL,
      "no page was written, since perp was built without esbuild, three.js or KaTeX: "
      "apt-get install esbuild libjs-three libjs-katex, then meson setup --reconfigure BUILD and "
      "ninja -C BUILD");
}

/* Between tags and within attributes. */
static void web_text(FILE *out, const char *text)
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

perp_status perp_web_page(perp_ctx *ctx, const char *path, const char *title, const char *json,
                          size_t n)
{
  char *script = web_script();
  if (script == NULL) return perp_web_missing(ctx);
  const perp_status status = perp_web_page_of(ctx, path, title, script, "", json, n);
  free(script);
  return status;
}

perp_status perp_web_page_of(perp_ctx *ctx, const char *path, const char *title,
                             const char *script, const char *allowed, const char *json, size_t n)
{
  char *hash = perp_sha256_base64(script, strlen(script)), *folder = perp_xstrdup(path);
  perp_out file;
  perp_status status = perp_make_dirs(ctx, dirname(folder));
  if (status == PERP_OK) status = perp_out_open(ctx, path, &file);
  if (status == PERP_OK) {
    FILE *out = file.f;
    fprintf(out,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
            "'sha256-%s'%s; img-src data:; font-src data:; connect-src 'none'; form-action 'none'; "
            "base-uri "
            "'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
            hash, allowed);
    web_text(out, title);
    fputs("</title>\n<link rel=\"icon\" href=\"data:,\">\n</head>\n<body>\n<noscript><h1>", out);
    web_text(out, title);
    fputs("</h1>\n<p>This page needs JavaScript, which this browser has switched off.</p>"
          "</noscript>\n<script type=\"application/json\" id=\"data\">",
          out);
    /* "</script>" and "<!--" inside of a text would end the element */
    for (size_t i = 0; i < n; i++)
      if (json[i] == '<')
        fputs("\\u003c", out);
      else
        fputc(json[i], out);
    fprintf(out, "</script>\n<script>%s</script>\n</body>\n</html>\n", script);
    status = perp_out_close(ctx, &file, true);
  }
  free(folder);
  free(hash);
  return status;
}
