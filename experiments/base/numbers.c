/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/numbers.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *perp_real_at(const char *text, double *value)
{
  char *end;
  const double v = strtod(text, &end);
  if (end == text) return NULL;
  *value = v;
  return end;
}

double perp_real_of(const char *text)
{
  double v;
  const char *end = perp_real_at(text, &v);
  return end != NULL && *end == '\0' ? v : (double)NAN;
}

bool perp_parse_share(const char *text, double *share)
{
  double v;
  const char *end = perp_real_at(text, &v);
  if (end == NULL || !(v >= 0) || !isfinite(v)) return false;
  const char *percent = end + strspn(end, " ");
  if (*percent == '%') v /= 100, end = percent + 1;
  *share = v;
  return *end == '\0';
}

/* A number followed by one of the units; without one where `bare`. */
static perp_status numbers_scaled(perp_ctx *ctx, const char *what, const char *text,
                                  const char *const *units, const double *factors, bool bare,
                                  double *value)
{
  double v;
  const char *end = perp_real_at(text, &v);
  if (end == NULL || !isfinite(v))
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s' is not a %s", text, what);
  if (v < 0) return PERP_FAIL(ctx, PERP_ERR_OPTION, "a %s cannot be negative: got %s", what, text);
  while (isspace((unsigned char)*end)) end++;
  char list[128] = "";
  for (int i = 0; units[i] != NULL; i++) {
    if (strcmp(end, units[i]) == 0) {
      *value = v * factors[i];
      return PERP_OK;
    }
    size_t n = strlen(list);
    snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", units[i]);
  }
  if (*end == '\0' && (bare || v == 0)) {
    *value = v;
    return PERP_OK;
  }
  return PERP_FAIL(ctx, PERP_ERR_OPTION,
                   *end == '\0' ? "'%s': a %s needs a unit%.0s; use one of: %s"
                                : "'%s' is not a %s: unknown unit '%s'; use one of: %s",
                   text, what, end, list);
}

perp_status perp_parse_duration(perp_ctx *ctx, const char *text, double *seconds)
{
  static const char *const units[] = { "s", "ms", "us", "m", "min", "h", "d", NULL };
  static const double factors[] = { 1, 1e-3, 1e-6, 60, 60, 3600, 86400 };
  return numbers_scaled(ctx, "duration", text, units, factors, false, seconds);
}

perp_status perp_parse_size(perp_ctx *ctx, const char *text, double *bytes)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", NULL };
  static const double factors[] = {
    1, 1024., 1048576., 1073741824., 1099511627776., 1e3, 1e6, 1e9
  };
  return numbers_scaled(ctx, "size", text, units, factors, true, bytes);
}

perp_status perp_parse_int(perp_ctx *ctx, const char *text, int64_t lo, int64_t hi, int64_t *value)
{
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || v < lo || v > hi)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s' is not a whole number in [%lld, %lld]", text,
                     (long long)lo, (long long)hi);
  *value = v;
  return PERP_OK;
}

const char *perp_number(double v, char buf[32])
{
  if (isnan(v))
    snprintf(buf, 32, "-");
  else
    snprintf(buf, 32, v != 0 && isfinite(v) && (fabs(v) < 1e-3 || fabs(v) >= 1e5) ? "%.2e" : "%.3g",
             v);
  return buf;
}

const char *perp_brief(double v, char buf[32])
{
  if (isnan(v))
    snprintf(buf, 32, "-");
  else
    snprintf(buf, 32, "%.4g", v);
  return buf;
}

const char *perp_brief_time(double s, char buf[32])
{
  if (!(s >= 0) || s > 1e9)
    snprintf(buf, 32, "?");
  else if (s < 10)
    snprintf(buf, 32, "%.1f s", s);
  else if (s < 100)
    snprintf(buf, 32, "%.0f s", s);
  else if (s < 3600)
    snprintf(buf, 32, "%d min %02d s", (int)s / 60, (int)s % 60);
  else
    snprintf(buf, 32, "%d h %02d min", (int)s / 3600, (int)s / 60 % 60);
  return buf;
}
