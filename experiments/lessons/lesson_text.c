/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Markdown and its mathematics as plain text.  The page sets the same source (markdown.ts). */
#include "experiments/lessons/lesson_text.h"

#include "experiments/base/table.h"

#include <ctype.h>
#include <string.h>

const char *perp_lesson_section(perp_pool *pool, const char *markdown, const char *name)
{
  const char *from = NULL, *at = markdown;
  bool fenced = false;
  for (; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
    if (strncmp(at, "```", 3) == 0) fenced = !fenced;
    if (fenced || strncmp(at, "# ", 2) != 0) continue;
    if (from != NULL) break;
    const size_t n = strcspn(at, "\n"), length = strlen(name);
    if (n >= 2 + length && strncmp(at + 2, name, length) == 0 &&
        strspn(at + 2 + length, " \r") == n - 2 - length)
      from = at + n + (at[n] == '\n');
  }
  return from != NULL ? perp_pool_strndup(pool, from, (size_t)(at - from)) : NULL;
}

/* ---- mathematics ---- */

static void text_math(perp_text *out, const char **s, const char *end);

/* Commands that another text replaces; "" are dropped, and so is the name of a letter's style. */
static const struct {
  const char *name, *text;
} text_commands[] = { { "le", "<=" },         { "leq", "<=" },
                      { "ge", ">=" },         { "geq", ">=" },
                      { "ne", "!=" },         { "neq", "!=" },
                      { "ll", "<<" },         { "gg", ">>" },
                      { "cdot", "*" },        { "times", "x" },
                      { "pm", "+-" },         { "to", "->" },
                      { "rightarrow", "->" }, { "leftarrow", "<-" },
                      { "Rightarrow", "=>" }, { "infty", "inf" },
                      { "approx", "~" },      { "sim", "~" },
                      { "propto", "~" },      { "perp", "_|_" },
                      { "partial", "d" },     { "top", "T" },
                      { "mid", "|" },         { "lVert", "||" },
                      { "rVert", "||" },      { "|", "||" },
                      { "ldots", "..." },     { "dots", "..." },
                      { "cdots", "..." },     { "varepsilon", "eps" },
                      { "varphi", "phi" },    { "circ", "o" },
                      { "quad", "   " },      { "qquad", "      " },
                      { "degree", " deg" },   { ",", " " },
                      { ";", " " },           { ":", " " },
                      { " ", " " },           { "!", "" },
                      { "left", "" },         { "right", "" },
                      { "big", "" },          { "Big", "" },
                      { "bigl", "" },         { "bigr", "" },
                      { "displaystyle", "" }, { "mathrm", "" },
                      { "mathbf", "" },       { "mathsf", "" },
                      { "mathit", "" },       { "mathcal", "" },
                      { "boldsymbol", "" },   { "operatorname", "" },
                      { "limits", "" } };

/* The argument at *s: a group in braces, a command or one character. */
static void text_argument(perp_text *out, const char **s, const char *end)
{
  while (*s < end && **s == ' ') ++*s;
  if (*s >= end) return;
  const char *stop = *s + 1;
  if (**s == '{') {
    int depth = 0;
    for (stop = *s; stop < end; stop++) {
      depth += (*stop == '{') - (*stop == '}');
      if (depth == 0) break;
    }
    const char *inner = *s + 1;
    text_math(out, &inner, stop);
    *s = stop < end ? stop + 1 : end;
    return;
  }
  if (**s == '\\')
    for (stop = *s + 1 + !isalpha((unsigned char)(*s)[1]);
         stop < end && isalpha((unsigned char)*stop);)
      stop++;
  text_math(out, s, stop);
  *s = stop;
}

/* The same in parentheses where it is more than a word or a number. */
static void text_grouped(perp_text *out, const char **s, const char *end, bool always)
{
  perp_text inner = { 0 };
  text_argument(&inner, s, end);
  const char *t = inner.s != NULL ? inner.s : "";
  while (*t == ' ') t++;
  bool simple = !always;
  for (const char *c = t; *c != '\0'; c++)
    simple = simple && (isalnum((unsigned char)*c) || *c == '_' || *c == '.' || *c == '\'' ||
                        (c == t && strchr("+-", *c) != NULL));
  perp_text_add(out, simple ? "%s" : "(%s)", t);
  perp_text_free(&inner);
}

static void text_command(perp_text *out, const char *name, size_t n, const char **s,
                         const char *end)
{
  const char *const accents[] = { "dot", "ddot", "hat", "tilde", "bar", "vec" };
  if (n == 4 && (strncmp(name, "frac", n) == 0)) {
    if (out->n > 0 && isalnum((unsigned char)out->s[out->n - 1])) perp_text_add(out, " ");
    text_grouped(out, s, end, false);
    perp_text_add(out, "/");
    text_grouped(out, s, end, false);
    return;
  }
  if (n == 4 && strncmp(name, "sqrt", n) == 0) {
    perp_text_add(out, "sqrt");
    text_grouped(out, s, end, true);
    return;
  }
  if (n == 4 && strncmp(name, "text", n) == 0 && *s < end && **s == '{') {
    const size_t length = strcspn(*s, "}");
    perp_text_put(out, *s + 1, length - 1);
    *s += length + 1;
    return;
  }
  if ((n == 5 && strncmp(name, "begin", n) == 0) || (n == 3 && strncmp(name, "end", n) == 0)) {
    const bool matrix = strncmp(*s, "{aligned}", 9) != 0 && strncmp(*s, "{cases}", 7) != 0;
    if (matrix) perp_text_add(out, n == 5 ? "[" : "]");
    *s += strcspn(*s, "}");
    if (*s < end) ++*s;
    return;
  }
  for (size_t i = 0; i < sizeof accents / sizeof *accents; i++)
    if (n == strlen(accents[i]) && strncmp(name, accents[i], n) == 0) {
      text_argument(out, s, end);
      perp_text_add(out, "_%s", accents[i]);
      return;
    }
  for (size_t i = 0; i < sizeof text_commands / sizeof *text_commands; i++)
    if (n == strlen(text_commands[i].name) && strncmp(name, text_commands[i].name, n) == 0) {
      if (text_commands[i].text[0] == '\0' || strcmp(text_commands[i].text, "d") == 0)
        while (*s < end && **s == ' ') ++*s;
      perp_text_add(out, "%s", text_commands[i].text);
      return;
    }
  /* a Greek letter, a function: its name; \{ and the like: the character */
  if (out->n > 0 && isalpha((unsigned char)name[0]) && isalnum((unsigned char)out->s[out->n - 1]))
    perp_text_add(out, " ");
  perp_text_put(out, name, n);
  if (*s < end && isalnum((unsigned char)**s)) perp_text_add(out, " ");
}

/* A separator without a space before it. */
static void text_separator(perp_text *out, const char *text)
{
  while (out->n > 0 && out->s[out->n - 1] == ' ') out->s[--out->n] = '\0';
  perp_text_add(out, "%s", text);
}

static void text_math(perp_text *out, const char **s, const char *end)
{
  while (*s < end) {
    const char c = **s;
    if (c == '\\' && *s + 1 < end && (*s)[1] == '\\') {
      text_separator(out, "; ");
      *s += 2;
    } else if (c == '\\') {
      const char *name = ++*s;
      while (*s < end && isalpha((unsigned char)**s)) ++*s;
      if (*s == name && *s < end) ++*s;
      const size_t n = (size_t)(*s - name);
      text_command(out, name, n, s, end);
    } else if (c == '^' || c == '_') {
      ++*s;
      if (*s < end && (**s == '*' || **s == '+' || **s == '-' || **s == '\'')) {
        perp_text_add(out, "%c%c", c, *(*s)++);
      } else {
        perp_text_add(out, "%c", c);
        text_grouped(out, s, end, false);
      }
    } else if (c == '{') {
      text_argument(out, s, end);
    } else if (c == '&') {
      text_separator(out, ",");
      ++*s;
    } else {
      const bool space = isspace((unsigned char)c) != 0;
      if (!space || (out->n > 0 && out->s[out->n - 1] != ' '))
        perp_text_put(out, space ? " " : &c, 1);
      ++*s;
    }
  }
}

/* ---- Markdown ---- */

/* Length of what stands between two marks that begin at s; 0: no second one. */
static size_t text_between(const char *s, const char *mark)
{
  const size_t n = strlen(mark);
  const char *from = s + n, *to = from;
  const bool display = n == 2 && *mark == '$';
  if (*from == '\0' || (isspace((unsigned char)*from) && !display)) return 0;
  do to = strstr(to + 1, mark);
  while (to != NULL && (to[-1] == '\\' || (isspace((unsigned char)to[-1]) && !display)));
  return to != NULL ? (size_t)(to - from) : 0;
}

static void text_inline(perp_text *out, const char *text, const char *end)
{
  static const char *const marks[] = { "$$", "$", "`", "**", "*" };
  while (text < end) {
    size_t n = 0;
    int k = 0;
    if (*text == '\\' && text + 1 < end && ispunct((unsigned char)text[1])) {
      perp_text_put(out, text + 1, 1);
      text += 2;
      continue;
    }
    for (k = 0; k < 5; k++)
      if (strncmp(text, marks[k], strlen(marks[k])) == 0) break;
    if (k < 5) n = text_between(text, marks[k]);
    if (n > 0 && text + n < end) {
      const char *inner = text + strlen(marks[k]), *stop = inner + n;
      text = stop + strlen(marks[k]);
      if (k < 2)
        text_math(out, &inner, stop);
      else if (k == 2)
        perp_text_put(out, inner - 1, n + 2);
      else
        text_inline(out, inner, stop);
      continue;
    }
    const char *close = *text == '[' ? strstr(text, "](") : NULL,
               *last = close != NULL ? strchr(close, ')') : NULL;
    if (last != NULL && last < end) {
      text_inline(out, text + 1, close);
      perp_text_add(out, " (%.*s)", (int)(last - close - 2), close + 2);
      text = last + 1;
      continue;
    }
    perp_text_put(out, *text == '\n' ? " " : text, 1);
    text++;
  }
}

const char *perp_lesson_plain(perp_pool *pool, const char *text)
{
  perp_text out = { 0 };
  text_inline(&out, text, text + strlen(text));
  const char *plain = perp_pool_strdup(pool, out.s != NULL ? out.s : "");
  perp_text_free(&out);
  return plain;
}

/* Length of the mark of an item of a list, "- " or "12. "; 0: none. */
static size_t text_item(const char *text)
{
  if (strncmp(text, "- ", 2) == 0) return 2;
  const size_t n = strspn(text, "0123456789");
  return n > 0 && n < 4 && strncmp(text + n, ". ", 2) == 0 ? n + 2 : 0;
}

/* Lines s ... end, of which all but the first begin no other block. */
static void text_block(perp_pool *pool, const char *s, const char *end, FILE *out)
{
  const size_t mark = text_item(s);
  char label[8] = "";
  int indent = 0;
  if (mark > 0) {
    snprintf(label, sizeof label, "  %.*s", (int)mark, s);
    indent = 2 + (int)mark;
  } else if (strncmp(s, "$$", 2) == 0)
    indent = 4;
  s += mark;
  if (*s == '>') s += 1 + strspn(s + 1, " ");
  s += strspn(s, "#");
  const char *text = perp_lesson_plain(pool, perp_pool_strndup(pool, s, (size_t)(end - s)));
  text += strspn(text, " \n");
  if (mark > 0)
    perp_wrap_after(out, label, indent, text);
  else
    perp_wrap(out, indent, text);
}

/* A row of a table: its first cell, and beside it the others. */
static void text_row(perp_pool *pool, const char *text, size_t n, FILE *out)
{
  enum { FIRST = 10 };
  const char *row = perp_lesson_plain(pool, perp_pool_strndup(pool, text, n));
  if (row[strspn(row, "|-: ")] == '\0') return; /* the line below the head */
  perp_text rest = { 0 };
  const char *first = "";
  for (int k = 0; *row != '\0'; k++) {
    row += strspn(row, "| ");
    size_t length = strcspn(row, "|"), cut = length;
    while (cut > 0 && row[cut - 1] == ' ') cut--;
    if (k == 0)
      first = perp_pool_printf(pool, "  %-*.*s ", FIRST, (int)cut, row);
    else if (cut > 0)
      perp_text_add(&rest, "%s%.*s", rest.n > 0 ? "; " : "", (int)cut, row);
    row += length;
  }
  if (rest.n > 0 && strlen(first) <= FIRST + 3)
    perp_wrap_after(out, first, FIRST + 4, rest.s);
  else
    perp_wrapf(out, 2, "%s%s%s", first + 2, rest.n > 0 ? ": " : "", rest.n > 0 ? rest.s : "");
  perp_text_free(&rest);
}

void perp_lesson_print(perp_pool *pool, const char *markdown, FILE *out)
{
  for (const char *at = markdown; *at != '\0';) {
    const char *end = at + strcspn(at, "\n"), *next = end + (*end == '\n');
    if (end == at || strncmp(at, "---", 3) == 0) {
      at = next;
      continue;
    }
    if (strncmp(at, "```", 3) == 0 || *at == '|') { /* as it is */
      const bool fence = *at == '`';
      if (fence) at = next;
      while (*at != '\0' && (fence ? strncmp(at, "```", 3) != 0 : *at == '|')) {
        const size_t n = strcspn(at, "\n");
        if (fence)
          fprintf(out, "  %.*s\n", (int)n, at);
        else
          text_row(pool, at, n, out);
        at += n + (at[n] == '\n');
      }
      if (fence) at += strcspn(at, "\n");
      fputc('\n', out);
      continue;
    }
    const bool display = strncmp(at, "$$", 2) == 0, item = text_item(at) > 0;
    const char *close = display ? strstr(at + 2, "$$") : NULL;
    if (close != NULL && close > end) end = close + 2;
    if (*at != '#')
      while (*end == '\n' && close == NULL && end[1] != '\0' && end[1] != '\n' &&
             strchr("#|", end[1]) == NULL && text_item(end + 1) == 0 &&
             strncmp(end + 1, "$$", 2) != 0 && strncmp(end + 1, "```", 3) != 0)
        end += 1 + strcspn(end + 1, "\n");
    text_block(pool, at, end, out);
    at = end + (*end == '\n');
    /* no empty line between items */
    if (!item || text_item(at) == 0) fputc('\n', out);
  }
}
