/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing one self-contained HTML page: style, escaping, pictures as data URIs. */
#ifndef PERP_REPORT_HTML_H
#define PERP_REPORT_HTML_H

#include "solvers/core/core.h"

/* Up to <body>, with a content security policy: of scripts and styles only those inline ones that
 * are given here run (by their SHA-256), nothing is loaded from anywhere, no form is sent.  script:
 * what perp_html_script will write, NULL: the page has none.  style: rules beside those of every
 * page, NULL: none. */
void perp_html_begin(FILE *out, const char *title, const char *style, const char *script);
/* The script that the policy was made for. */
void perp_html_script(FILE *out, const char *script);
void perp_html_end(FILE *out);
/* text with & < > " escaped */
void perp_html_text(FILE *out, const char *text);
/* printf of markup.h: %s is escaped, %m in the notation of the tables (3 significant digits; NaN as
 * a dash) */
void perp_html(FILE *out, const char *format, ...);
/* JSON [n] for a script of the page: an element that it finds by its id. */
void perp_html_data(FILE *out, const char *id, const char *json, size_t n);
/* An SVG picture [n] as an <img> data URI: ids inside different pictures cannot collide. */
void perp_html_svg(FILE *out, const char *svg, size_t n, const char *alt);

#endif
