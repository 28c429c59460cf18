/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/study/json_members.h"

#include <string.h>

static void json_members_put(perp_json *j, const char *form, va_list ap)
{
  while (*form != '\0') {
    char key[64];
    const size_t n = strcspn(form, " ?");
    const bool truth = form[n] == '?';
    snprintf(key, sizeof key, "%.*s", (int)n, form);
    form = strchr(form, '%') + 1;
    if (*form == 's')
      perp_json_text(j, key, va_arg(ap, const char *));
    else if (*form == 'g')
      perp_json_real(j, key, va_arg(ap, double));
    else if (*form == 'l')
      perp_json_int(j, key, va_arg(ap, long long));
    else if (truth)
      perp_json_bool(j, key, va_arg(ap, int) != 0);
    else
      perp_json_int(j, key, va_arg(ap, int));
    form += strcspn(form, ",");
    form += strspn(form, ", ");
  }
}

void perp_json_members(perp_json *j, const char *form, ...)
{
  va_list ap;
  va_start(ap, form);
  json_members_put(j, form, ap);
  va_end(ap);
}

void perp_json_object(perp_json *j, const char *key, const char *form, ...)
{
  va_list ap;
  va_start(ap, form);
  perp_json_open(j, key, '{');
  json_members_put(j, form, ap);
  perp_json_close(j, '}');
  va_end(ap);
}

void perp_json_reals(perp_json *j, const char *key, const double *x, int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++) perp_json_real(j, NULL, x[i]);
  perp_json_close(j, ']');
}

void perp_json_ints(perp_json *j, const char *key, const int *x, int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++) perp_json_int(j, NULL, x[i]);
  perp_json_close(j, ']');
}
