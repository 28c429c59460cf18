/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/web/web.h"

#include "experiments/base/files.h"
#include "experiments/base/memory.h"
#include "experiments/pages/sha256.h"
#include "experiments/web/web_paths.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a file of this folder was built or installed; NULL: it is not there. */
static char *web_place(const char *name)
{
  static const char *const folders[] = { WEB_BUILT, WEB_INSTALLED };
  for (int i = 0; i < 2; i++) {
    char *path = perp_xprintf("%s/%s", folders[i], name);
    if (access(path, F_OK) == 0) return path;
    free(path);
  }
  return NULL;
}

char *perp_web_file(const char *name, size_t *size)
{
  char *path = web_place(name), *text = path != NULL ? perp_read_file(path, size) : NULL;
  free(path);
  return text;
}

/* NULL: there is none. */
static char *web_script(void)
{
  const char *given = getenv("PERP_REPORT_JS");
  if (given != NULL) return access(given, F_OK) == 0 ? perp_xstrdup(given) : NULL;
  return web_place("pages.js");
}

bool perp_web_built(void)
{
  char *from = web_script();
  free(from);
  return from != NULL;
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
  char *from = web_script();
  if (from == NULL) return perp_web_missing(ctx);
  char *script = perp_read_file(from, NULL);
  const perp_status status = script == NULL
                                 ? PERP_FAIL(ctx, PERP_ERR_IO,
                                             "cannot read the script of the pages, %s: %s", from,
                                             strerror(errno))
                                 : perp_web_page_of(ctx, path, title, script, "", json, n);
  free(script);
  free(from);
  return status;
}

/* script: in the page, and allowed by its hash; NULL: src [n_src] are files beside. */
static void web_write(FILE *out, const char *title, const char *script, const char *const *src,
                      int n_src, const char *allowed, const char *json, size_t n)
{
  char *hash = script != NULL ? perp_sha256_base64(script, strlen(script)) : NULL;
  fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ",
        out);
  if (hash != NULL)
    fprintf(out, "'sha256-%s'", hash);
  else
    fputs("'self' file:", out);
  fprintf(out,
          "%s; img-src data:; font-src data:; connect-src 'none'; form-action 'none'; base-uri "
          "'none'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
          allowed);
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
  fputs("</script>\n", out);
  if (script != NULL) fprintf(out, "<script>%s</script>\n", script);
  for (int i = 0; i < n_src; i++) fprintf(out, "<script src=\"%s\"></script>\n", src[i]);
  fputs("</body>\n</html>\n", out);
  free(hash);
}

static perp_status web_make(perp_ctx *ctx, const char *path, const char *title, const char *script,
                            const char *const *src, int n_src, const char *allowed,
                            const char *json, size_t n)
{
  char *folder = perp_xstrdup(path);
  perp_out file;
  perp_status status = perp_make_dirs(ctx, dirname(folder));
  if (status == PERP_OK) status = perp_out_open(ctx, path, &file);
  if (status == PERP_OK) {
    web_write(file.f, title, script, src, n_src, allowed, json, n);
    status = perp_out_close(ctx, &file, true);
  }
  free(folder);
  return status;
}

perp_status perp_web_page_of(perp_ctx *ctx, const char *path, const char *title, const char *script,
                             const char *allowed, const char *json, size_t n)
{
  return web_make(ctx, path, title, script, NULL, 0, allowed, json, n);
}

perp_status perp_web_page_beside(perp_ctx *ctx, const char *path, const char *title,
                                 const char *const *src, int n_src, const char *allowed,
                                 const char *json, size_t n)
{
  return web_make(ctx, path, title, NULL, src, n_src, allowed, json, n);
}
