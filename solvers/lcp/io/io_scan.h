/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading numbers and words with their line; shared by the readers, not installed. */
#ifndef PERP_LCP_IO_SCAN_H
#define PERP_LCP_IO_SCAN_H

#include "solvers/lcp/problem.h"

#include <locale.h>

typedef struct perp_scan {
  perp_ctx *ctx;
  const char *name; /* of the file, for messages */
  const char *begin, *at, *end;
  int line;      /* of `at`, from 1 */
  int word_line; /* of the last word */
  char comment;  /* to the end of the line; 0: none */
  locale_t c;    /* the C locale: a decimal point everywhere */
} perp_scan;

perp_status perp_scan_open(perp_ctx *ctx, const char *name, const char *data, size_t size,
                           char comment, perp_scan *scan);
void perp_scan_close(perp_scan *scan);
/* Record "name:line: ..." and return PERP_ERR_FORMAT. */
perp_status perp_scan_fail(perp_scan *scan, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of an unknown word, with the nearest of those that are known; what: their kind. */
perp_status perp_scan_unknown(perp_scan *scan, int line, const char *what, const char *word,
                              const char *const *known, int n);

static inline bool perp_scan_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}
/* The next word (to the next blank); false at the end.  A word longer than size - 1 is cut. */
bool perp_scan_word(perp_scan *scan, char *word, size_t size);
/* Would the next word start another line? */
bool perp_scan_at_line_end(const perp_scan *scan);
/* The rest of the line, trimmed; may be empty. */
void perp_scan_rest(perp_scan *scan, char *buf, size_t size);
void perp_scan_skip_line(perp_scan *scan);

/* The next word as an integer in [least, most]; what: its name in messages. */
perp_status perp_scan_int(perp_scan *scan, const char *what, int least, int most, int *value);
/* The next word as a finite number, or also +-inf. */
perp_status perp_scan_real(perp_scan *scan, const char *what, double *value);
perp_status perp_scan_bound(perp_scan *scan, const char *what, double *value);
perp_status perp_scan_reals(perp_scan *scan, const char *what, size_t n, double *x);
/* Can what is left hold `count` numbers (two characters each)?  Refuses before memory is asked for.
 */
perp_status perp_scan_afford(perp_scan *scan, const char *what, double count);

/* Bits of perp_lcp_problem.classes as the text format calls them; a NULL ends it. */
typedef struct perp_lcp_class_name {
  const char *name;
  unsigned bit;
} perp_lcp_class_name;
extern const perp_lcp_class_name perp_lcp_class_names[];

perp_status perp_lcp_read_own(perp_scan *scan, perp_lcp_problem *out);
perp_status perp_lcp_read_mtx(perp_scan *scan, const char *companion, size_t companion_size,
                              const char *companion_name, perp_lcp_problem *out);
perp_status perp_lcp_read_dat(perp_scan *scan, perp_lcp_problem *out);
perp_status perp_lcp_read_json(perp_scan *scan, perp_lcp_problem *out);
perp_status perp_lcp_read_fclib(perp_ctx *ctx, const char *path, perp_lcp_problem *out);

#endif
