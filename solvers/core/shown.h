/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of others - names in files, results, plug-ins - on a terminal, which takes some characters
 * for commands: control characters (C0 but tab and newline, DEL, C1) and those that turn the
 * direction of a text (U+202A to U+202E, U+2066 to U+2069). */
#ifndef PERP_SHOWN_H
#define PERP_SHOWN_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the UTF-8 character at s, whose number is *code; 0, and *code 0: there is none. */
int perp_utf8(const char *s, unsigned *code);
/* Bytes of the character at s if it may be shown; 0: it may not, or it is no UTF-8. */
int perp_shown_bytes(const char *s);
/* May all of the text be shown? */
bool perp_shown_all(const char *text);
/* Each character that may not be shown becomes a question mark, in place; returns text.  NULL is
 * fine. */
char *perp_shown_clean(char *text);

#ifdef __cplusplus
}
#endif

#endif
