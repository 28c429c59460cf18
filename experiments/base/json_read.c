/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON in, through jansson. */
#include "experiments/base/files.h"
#include "experiments/base/json.h"
#include "experiments/base/memory.h"
#include "experiments/base/messages.h"
#include "solvers/core/shown.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp_json_memory(void)
{
  json_set_alloc_funcs(perp_memory_malloc, free);
}

double perp_json_number(const struct json_t *value)
{
  if (json_is_number(value)) return json_number_value(value);
  const char *text = json_string_value(value);
  if (text != NULL && strcmp(text, "inf") == 0) return HUGE_VAL;
  if (text != NULL && strcmp(text, "-inf") == 0) return -HUGE_VAL;
  return (double)NAN;
}

/* Texts of an object or a list, and of all in it, without characters that may not be shown.  Not
 * deeper than jansson reads. */
static void json_clean(json_t *in)
{
  const char *key;
  json_t *value;
  void *next;
  size_t i;
  if (json_is_array(in)) json_array_foreach(in, i, value) json_clean(value);
  json_object_foreach_safe(in, next, key, value)
  {
    json_clean(value);
    if (perp_shown_all(key)) continue;
    char *clean = perp_shown_clean(perp_xstrdup(key));
    json_object_set(in, clean, value);
    json_object_del(in, key);
    free(clean);
  }
  if (!json_is_string(in) || perp_shown_all(json_string_value(in))) return;
  char *clean = perp_shown_clean(perp_xstrdup(json_string_value(in)));
  json_string_set(in, clean);
  free(clean);
}

json_t *perp_json_read(const char *text, size_t n)
{
  json_t *json = json_loadb(text, n, 0, NULL);
  /* only these can stand for such a character: most lines need no second look */
  const bool doubtful = json != NULL &&
                        (memchr(text, '\\', n) != NULL || memchr(text, 0xc2, n) != NULL ||
                         memchr(text, 0xe2, n) != NULL || memchr(text, 0x7f, n));
  if (doubtful) json_clean(json);
  return json;
}

json_t *perp_json_read_file(const char *path)
{
  size_t n;
  char *text = perp_read_file(path, &n);
  if (text == NULL) perp_say_unread(path);
  json_t *json = text != NULL ? perp_json_read(text, n) : NULL;
  free(text);
  return json;
}
