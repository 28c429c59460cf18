/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/watch/motion_page.h"

#include "experiments/base/memory.h"
#include "experiments/base/files.h"
#include "experiments/web/web.h"

#include <jansson.h>
#include <string.h>

perp_status perp_motion_page(perp_ctx *ctx, const char *path, const char *const *run, int n)
{
  json_t *first = json_loads(run[0], 0, NULL);
  const char *scene = json_string_value(json_object_get(first, "scene"));
  perp_text text = { 0 };
  perp_text_add(&text, "{\"schema\":\"perp-view/1\",\"runs\":[");
  for (int i = 0; i < n; i++) {
    if (i > 0) perp_text_add(&text, ",");
    perp_text_put(&text, run[i], strlen(run[i]));
  }
  perp_text_add(&text, "]}");
  const perp_status status = perp_web_page(ctx, path, scene != NULL ? scene : "a run", text.s,
                                           text.n);
  perp_text_free(&text);
  json_decref(first);
  return status;
}
