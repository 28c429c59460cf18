/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

double perp_json_number(const struct json_t *value)
{
  if (json_is_number(value)) return json_number_value(value);
  const char *text = json_string_value(value);
  if (text != NULL && strcmp(text, "inf") == 0) return HUGE_VAL;
  if (text != NULL && strcmp(text, "-inf") == 0) return -HUGE_VAL;
  return (double)NAN;
}
