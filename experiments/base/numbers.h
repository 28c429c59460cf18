/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers as people and files write them, read and printed.  With perp_parse_real (core.h), which
 * knows physical units, the only readers of numbers in the runner. */
#ifndef PERP_NUMBERS_H
#define PERP_NUMBERS_H

#include "solvers/core/core.h"

/* The decimal number at the start of s ("inf" and "nan" too), blanks before it skipped: the place
 * behind it, or NULL where there is none. */
const char *perp_real_at(const char *s, double *value);
/* The number that is the whole text; NaN where it is something else, or empty. */
double perp_real_of(const char *text);
/* "5%", "5 %" or "0.05": 0.05.  false: something else, or negative, or not finite. */
bool perp_parse_share(const char *text, double *share);
/* "90s", "10m", "2h", "1.5 min", "500ms": seconds.  A bare number is refused except 0. */
perp_status perp_parse_duration(perp_ctx *ctx, const char *text, double *seconds);
/* "512MiB", "1 GiB", "2GB", "4096": bytes. */
perp_status perp_parse_size(perp_ctx *ctx, const char *text, double *bytes);
/* A whole number in [lo, hi], nothing behind it. */
perp_status perp_parse_int(perp_ctx *ctx, const char *text, int64_t lo, int64_t hi, int64_t *value);

/* Figure of a table, three digits: "0.0123", "12.3", "1.23e-05"; "-" when NaN.  One form
 * everywhere. */
const char *perp_number(double v, char buf[32]);
/* Number for people: 4 significant digits; "-" when NaN. */
const char *perp_brief(double v, char buf[32]);
/* "0.4 s", "12 s", "3 min 20 s", "2 h 05 min" */
const char *perp_brief_time(double seconds, char buf[32]);

#endif
