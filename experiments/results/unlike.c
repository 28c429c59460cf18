/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Were the results of a folder, or of several together, made alike? */
#include "experiments/results/results.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void unlike_say(perp_text *out, const char *what, const perp_names *values)
{
  if (values->n < 2) return;
  perp_text_add(out, "%s: ", what);
  for (int i = 0; i < values->n; i++)
    perp_text_add(out, "%s%s", i > 0 ? " | " : "", values->text[i]);
  perp_text_add(out, "\n");
}

/* One more value of a member of env/ID.json; what is not there says nothing. */
static void unlike_note(perp_pool *pool, perp_names *values, const json_t *value)
{
  char *text = value != NULL && !json_is_string(value) ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
  const char *at = text != NULL ? text : json_string_value(value);
  if (at != NULL) perp_names_index(pool, values, perp_pool_strdup(pool, at), -1);
  free(text);
}

void perp_results_unlike(const perp_results *results, perp_text *out)
{
  static const char *const keys[] = { "perp", "commit", "compiler", "buildtype", "flags" };
  static const char *const libraries[] = { "openblas", "openblas_core", "gsl",
                                           "cholmod",  "sundials",      "siconos" };
  enum { KEYS = sizeof keys / sizeof *keys, LIBRARIES = sizeof libraries / sizeof *libraries };
  perp_pool pool = { 0 };
  perp_names value[KEYS + LIBRARIES] = { { 0 } };
  for (int e = 0; e < results->n_envs; e++) {
    json_t *env = perp_json_read_file(
        perp_pool_printf(&pool, "%s/env/%s.json", results->envs[e].dir, results->envs[e].id));
    for (int k = 0; k < KEYS; k++) unlike_note(&pool, &value[k], json_object_get(env, keys[k]));
    for (int k = 0; k < LIBRARIES; k++)
      unlike_note(&pool, &value[KEYS + k],
                  json_object_get(json_object_get(env, "libraries"), libraries[k]));
    json_decref(env);
  }
  unlike_say(out, "programs and plug-ins, by hash", &results->programs);
  for (int k = 0; k < KEYS; k++) unlike_say(out, keys[k], &value[k]);
  for (int k = 0; k < LIBRARIES; k++) unlike_say(out, libraries[k], &value[KEYS + k]);
  unlike_say(out, "limits of a run", &results->limits);
  perp_pool_free(&pool);
}
