/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/shown.h"

#include <stddef.h>

int perp_utf8(const char *text, unsigned *code)
{
  static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
  const unsigned char *s = (const unsigned char *)text;
  *code = 0;
  const int n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
  if (s[0] == 0 || (s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4) return 0;
  unsigned c = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
  for (int i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    c = c << 6 | (s[i] & 0x3fu);
  }
  if (n > 1 && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))) return 0;
  *code = c;
  return n;
}

int perp_shown_bytes(const char *text)
{
  unsigned code;
  const int n = perp_utf8(text, &code);
  if (n == 0 || (code < 0x20 && code != '\t' && code != '\n')) return 0;
  if (code >= 0x7f && code < 0xa0) return 0;
  if ((code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069)) return 0;
  return n;
}

bool perp_shown_all(const char *text)
{
  for (int n; *text != '\0'; text += n)
    if ((n = perp_shown_bytes(text)) == 0) return false;
  return true;
}

char *perp_shown_clean(char *text)
{
  if (text == NULL || perp_shown_all(text)) return text;
  char *to = text;
  for (const char *at = text; *at != '\0';) {
    unsigned code;
    int n = perp_shown_bytes(at);
    if (n > 0) {
      for (; n > 0; n--) *to++ = *at++;
      continue;
    }
    n = perp_utf8(at, &code);
    at += n > 0 ? n : 1;
    *to++ = '?';
  }
  *to = '\0';
  return text;
}
