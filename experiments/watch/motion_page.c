/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/watch/motion_page.h"

#include "experiments/pages/html.h"
#include "experiments/report/web.h"
#include "experiments/base/memory.h"
#include "experiments/base/files.h"

#include <jansson.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

static void motion_page_body(FILE *out, const char *title, const char *script,
                             const char *const *run, int n)
{
  perp_html_begin(out, title, NULL, script);
  perp_html(out,
            "<h1>%s</h1>\n<noscript><p class=\"note\">The animation needs scripts, which this "
            "browser has switched off.</p></noscript>\n<main id=\"view\"></main>\n",
            title);
  perp_text text = { 0 };
  perp_text_add(&text, "{\"schema\":\"perp-view/1\",\"runs\":[");
  for (int i = 0; i < n; i++) {
    if (i > 0) perp_text_add(&text, ",");
    perp_text_put(&text, run[i], strlen(run[i]));
  }
  perp_text_add(&text, "]}");
  perp_html_data(out, "perp-view", text.s, text.n);
  perp_text_free(&text);
  perp_html_script(out, script);
  perp_html_end(out);
}

perp_status perp_motion_page(perp_ctx *ctx, const char *path, const char *const *run, int n)
{
  char *script = perp_web_bundle();
  if (script == NULL)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                     "the script of the animation is not built: ./perp setup web (it needs npm)");
  json_t *first = json_loads(run[0], 0, NULL);
  const char *scene = json_string_value(json_object_get(first, "scene"));
  char *folder = strdup(path);
  perp_out o;
  perp_status status = folder == NULL ? PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a path")
                                      : perp_make_dirs(ctx, dirname(folder));
  if (status == PERP_OK) status = perp_out_open(ctx, path, &o);
  if (status == PERP_OK) {
    motion_page_body(o.f, scene != NULL ? scene : "a run", script, run, n);
    status = perp_out_close(ctx, &o, true);
  }
  free(folder);
  json_decref(first);
  free(script);
  return status;
}
