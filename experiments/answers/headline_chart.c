/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figure on top, in letters for a terminal. */
#include "experiments/answers/headline.h"
#include "experiments/base/numbers.h"
#include "experiments/base/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  CHART_WIDTH = 80,
  CHART_ROWS = 10,
  CHART_LEFT = 8,
  CHART_LEGEND = 30,
  CHART_TICKS = 5,
  CHART_TICKS_MOST = 12
};

struct charting {
  const perp_ctx *ctx;
  perp_results *r;
  perp_view view;
  perp_headline top;
  const perp_headline_slice *slice; /* with the curves that have a point */
  perp_text without;                /* the others */
  int panel;
  int columns, rows;                         /* of the plot */
  double x0, x1, y0, y1;                     /* of its middle points: decades, or per cent */
  const char *cell[CHART_ROWS][CHART_WIDTH]; /* NULL: empty */
  char letter[2 * 32];
};

/* Characters, not bytes. */
static int chart_length(const char *text)
{
  int n = 0;
  for (; *text != '\0'; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
  return n;
}

/* The byte behind so many characters. */
static const char *chart_after(const char *text, int n)
{
  for (; *text != '\0' && n > 0; n--) do
      text++;
    while (((unsigned char)*text & 0xc0) == 0x80);
  return text;
}

/* At most `most` characters, the middle left out. */
static const char *chart_short(perp_pool *pool, const char *text, int most)
{
  const int n = chart_length(text), head = (most - 1) / 2;
  if (n <= most) return text;
  return perp_pool_printf(pool, "%.*s…%s", (int)(chart_after(text, head) - text), text,
                          chart_after(text, n - (most - 1 - head)));
}

static void chart_pad(FILE *out, int n)
{
  fprintf(out, "%*s", n > 0 ? n : 0, "");
}

static const char *chart_capital(perp_pool *pool, const char *word)
{
  char *text = perp_pool_strdup(pool, word);
  if (islower((unsigned char)text[0]) && (text[1] == '\0' || islower((unsigned char)text[1])))
    text[0] = (char)toupper((unsigned char)text[0]);
  return text;
}

/* ---- the panel ---- */

/* Difference in one panel: the range of the best values of its curves, in decades. */
static double chart_range(const struct charting *charting, int panel)
{
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (int k = 0; k < charting->slice->n_shown; k++) {
    double best = HUGE_VAL, x, y;
    for (int i = 0; i < charting->slice->n; i++) {
      const int cell = charting->slice->cell[i];
      if (charting->top.panel_of[cell] == panel &&
          charting->top.name_of[cell] == charting->slice->shown[k] &&
          perp_headline_point(&charting->top, &charting->view, cell, &x, &y))
        best = fmin(best, y);
    }
    if (isinf(best)) continue;
    least = fmin(least, best);
    most = fmax(most, best);
  }
  return most >= least ? log10(most / least) : -1;
}

static bool chart_panel(struct charting *charting)
{
  double largest = -1;
  if (charting->top.kind == PERP_HEADLINE_SOLVED) return true;
  for (int panel = 0; panel < charting->top.panel_names.n; panel++) {
    const double range = chart_range(charting, panel);
    if (range <= largest) continue;
    largest = range;
    charting->panel = panel;
  }
  return largest >= 0;
}

/* The points of a curve, in the order in which they are joined; x, y [slice->n] out. */
struct chart_spot {
  double order, x, y;
};

static int chart_by_order(const void *a, const void *b)
{
  const struct chart_spot *p = a, *q = b;
  if (p->order != q->order) return p->order < q->order ? -1 : 1;
  return (p->x > q->x) - (p->x < q->x);
}

static int chart_points(const struct charting *charting, int name, double *x, double *y)
{
  if (charting->top.kind == PERP_HEADLINE_SOLVED)
    return perp_headline_solved(&charting->top, &charting->view, name, x, y);
  struct chart_spot *spot = perp_xalloc((size_t)charting->slice->n + 1, sizeof *spot);
  int n = 0;
  for (int i = 0; i < charting->slice->n; i++) {
    const int cell = charting->slice->cell[i];
    if (charting->top.name_of[cell] != name || charting->top.panel_of[cell] != charting->panel ||
        !perp_headline_point(&charting->top, &charting->view, cell, &spot[n].x, &spot[n].y))
      continue;
    spot[n++].order = charting->view.x_name != NULL ? charting->view.order[cell] : 0;
  }
  qsort(spot, (size_t)n, sizeof *spot, chart_by_order);
  for (int i = 0; i < n; i++) {
    x[i] = spot[i].x;
    y[i] = spot[i].y;
  }
  free(spot);
  return n;
}

/* ---- axes ---- */

static double chart_height(const struct charting *charting, double y)
{
  return charting->top.kind == PERP_HEADLINE_SOLVED ? y : log10(y);
}

static int chart_column(const struct charting *charting, double x)
{
  return (int)lround((log10(x) - charting->x0) / (charting->x1 - charting->x0) *
                     (charting->columns - 1));
}

static int chart_row(const struct charting *charting, double height)
{
  return (int)lround((charting->y1 - height) / (charting->y1 - charting->y0) *
                     (charting->rows - 1));
}

/* Half a decade at least, so that one value stands in the middle. */
static void chart_widen(double *lo, double *hi)
{
  const double more = fmax(0, 0.25 - (*hi - *lo) / 2);
  *lo -= more;
  *hi += more;
}

/* Places of the labels between lo and hi [decades], which are half of one apart at least: powers of
 * ten, where these are too few 1, 2 and 5 times them, else all of their multiples; their number. */
static int chart_ticks(double lo, double hi, double at[CHART_TICKS_MOST])
{
  const int first = (int)ceil(lo - 1e-9), last = (int)floor(hi + 1e-9),
            step = (last - first) / CHART_TICKS + 1;
  int n = 0;
  for (int e = first; e <= last; e++)
    if (e % step == 0) at[n++] = e;
  for (int finer = 0; finer < 2 && n < 2; finer++) {
    n = 0;
    for (int e = (int)floor(lo); e <= last; e++)
      for (int k = 1; k < 10; k++) {
        const double tick = e + log10(k);
        const bool named = finer || k == 1 || k == 2 || k == 5;
        if (named && tick >= lo - 1e-9 && tick <= hi + 1e-9 && n < CHART_TICKS_MOST) at[n++] = tick;
      }
  }
  return n;
}

static const char *chart_number(double decades, char text[32])
{
  const double v = pow(10, decades);
  snprintf(text, 32, v > 999 && v < 99999 ? "%.0f" : v >= 9.99e-4 && v < 1e3 ? "%.3g" : "%.1g", v);
  return text;
}

/* ---- the plot ---- */

/* Dots from one point to the next one. */
static void chart_join(struct charting *charting, int i0, int j0, int i1, int j1)
{
  const int n = abs(i1 - i0) > abs(j1 - j0) ? abs(i1 - i0) : abs(j1 - j0);
  for (int k = 1; k < n; k++) {
    const int i = i0 + (int)lround((double)k * (i1 - i0) / n),
              j = j0 + (int)lround((double)k * (j1 - j0) / n);
    if (charting->cell[j][i] == NULL) charting->cell[j][i] = "·";
  }
}

static void chart_put(struct charting *charting, int i, int j, const char *mark)
{
  const char **cell = &charting->cell[j][i];
  const bool taken = *cell != NULL && isalpha((unsigned char)(*cell)[0]);
  *cell = !taken || **cell == *mark ? mark : "*";
}

/* The curves [n] of the figure; steps where they are shares. */
static void chart_curves(struct charting *charting, double *const *x, double *const *y,
                         const int *n)
{
  const bool steps = charting->top.kind == PERP_HEADLINE_SOLVED;
  for (int k = 0; k < charting->slice->n_shown; k++)
    for (int i = 1; i < n[k] && !steps; i++)
      chart_join(charting, chart_column(charting, x[k][i - 1]),
                 chart_row(charting, chart_height(charting, y[k][i - 1])),
                 chart_column(charting, x[k][i]),
                 chart_row(charting, chart_height(charting, y[k][i])));
  for (int k = 0; k < charting->slice->n_shown; k++) {
    const char *mark = &charting->letter[2 * k];
    for (int i = 0; i < n[k] && !steps; i++)
      chart_put(charting, chart_column(charting, x[k][i]),
                chart_row(charting, chart_height(charting, y[k][i])), mark);
    /* a step has a letter in the columns where it rises, and in the last one */
    for (int i = 0, column = 0, row = -1; steps && column < charting->columns; column++) {
      while (i < n[k] && chart_column(charting, x[k][i]) <= column) i++;
      if (i == 0) continue;
      const int now = chart_row(charting, y[k][i - 1]);
      if (now != row || column == charting->columns - 1)
        chart_put(charting, column, now, mark);
      else if (charting->cell[now][column] == NULL)
        charting->cell[now][column] = "·";
      row = now;
    }
  }
}

static void chart_limits(struct charting *charting, double *const *x, double *const *y,
                         const int *n)
{
  charting->x0 = charting->y0 = HUGE_VAL;
  charting->x1 = charting->y1 = -HUGE_VAL;
  for (int k = 0; k < charting->slice->n_shown; k++)
    for (int i = 0; i < n[k]; i++) {
      const double height = chart_height(charting, y[k][i]);
      charting->x0 = fmin(charting->x0, log10(x[k][i]));
      charting->x1 = fmax(charting->x1, log10(x[k][i]));
      charting->y0 = fmin(charting->y0, height);
      charting->y1 = fmax(charting->y1, height);
    }
  chart_widen(&charting->x0, &charting->x1);
  if (charting->top.kind == PERP_HEADLINE_SOLVED) {
    charting->y0 = 0;
    charting->y1 = 100;
  } else if (charting->top.kind == PERP_HEADLINE_CURVES)
    chart_widen(&charting->y0, &charting->y1);
}

/* Below the plot: the axis, its numbers, its title. */
static void chart_foot(const struct charting *charting, int left, const char *title, FILE *out)
{
  double at[CHART_TICKS_MOST];
  char axis[CHART_WIDTH + 1], text[32];
  const int n = chart_ticks(charting->x0, charting->x1, at);
  int column = 0;
  memset(axis, ' ', sizeof axis);
  for (int k = 0; k < n; k++) axis[chart_column(charting, pow(10, at[k]))] = '+';
  chart_pad(out, left - 1);
  fputs("└", out);
  for (int i = 0; i < charting->columns; i++) fputs(axis[i] == '+' ? "┬" : "─", out);
  putc('\n', out);
  for (int k = 0; k < n; k++) {
    const int width = (int)strlen(chart_number(at[k], text)),
              place = left + chart_column(charting, pow(10, at[k])) - width / 2;
    const int from = place + width > CHART_WIDTH ? CHART_WIDTH - width : place;
    if (from < column + (k > 0)) continue; /* no room */
    chart_pad(out, from - column);
    column = from + fprintf(out, "%s", text);
  }
  putc('\n', out);
  const int length = chart_length(title);
  chart_pad(out, length < charting->columns ? left + (charting->columns - length) / 2
                                            : (int)fmax(0, fmin(left, CHART_WIDTH - length)));
  fprintf(out, "%s\n", title);
}

/* ---- beside the plot ---- */

/* Lines of the legend, wrapped where there is room; their number. */
static int chart_legend(struct charting *charting, int width, const char **line)
{
  perp_pool *pool = &charting->r->pool;
  int n = 0, room = charting->rows - charting->slice->n_shown;
  for (int k = 0; k < charting->slice->n_shown; k++) {
    const char *word = perp_headline_word(charting->ctx, charting->r, charting->top.colour,
                                          charting->top.names.text[charting->slice->shown[k]]);
    if (charting->top.colour < 0 || n >= charting->rows) continue;
    const char *cut = chart_after(word, width - 3);
    while (*cut != '\0' && cut > word && *cut != ' ') cut--;
    if (*cut != '\0' && cut > word && room > 0 && chart_length(cut + 1) <= width - 3) {
      line[n++] = perp_pool_printf(pool, "%c  %.*s", charting->letter[2 * k], (int)(cut - word),
                                   word);
      line[n++] = perp_pool_printf(pool, "   %s", cut + 1);
      room--;
    } else
      line[n++] = perp_pool_printf(pool, "%c  %s", charting->letter[2 * k],
                                   chart_short(pool, word, width - 3));
  }
  return n;
}

static int chart_legend_width(struct charting *charting)
{
  int most = 0;
  for (int k = 0; k < charting->slice->n_shown && charting->top.colour >= 0; k++) {
    const int n = chart_length(
        perp_headline_word(charting->ctx, charting->r, charting->top.colour,
                           charting->top.names.text[charting->slice->shown[k]]));
    most = n > most ? n : most;
  }
  return most == 0 ? 0 : most + 3 < CHART_LEGEND ? most + 3 : CHART_LEGEND;
}

/* ---- all ---- */

static void chart_draw_curves(struct charting *charting, double *const *x, double *const *y,
                              const int *n, FILE *out)
{
  const int legend = chart_legend_width(charting);
  const char *line[CHART_ROWS + 2], *label[CHART_ROWS] = { NULL };
  double at[CHART_TICKS_MOST];
  char text[32];
  charting->rows = CHART_ROWS;
  charting->columns = CHART_WIDTH - CHART_LEFT - legend - 3;
  chart_curves(charting, x, y, n);
  const int lines = chart_legend(charting, legend, line);
  if (charting->top.kind == PERP_HEADLINE_SOLVED) {
    for (int k = 0; k <= 4; k++)
      label[chart_row(charting, 25 * k)] = perp_pool_printf(&charting->r->pool, "%d", 25 * k);
  } else {
    const int ticks = chart_ticks(charting->y0, charting->y1, at);
    for (int tick = 0; tick < ticks; tick++)
      label[chart_row(charting, at[tick])] = perp_pool_strdup(&charting->r->pool,
                                                              chart_number(at[tick], text));
  }
  const int floor = charting->top.kind == PERP_HEADLINE_CURVES && charting->top.floor > 0 &&
                            log10(charting->top.floor) >= charting->y0 &&
                            log10(charting->top.floor) <= charting->y1
                        ? chart_row(charting, log10(charting->top.floor))
                        : -1;
  for (int row = 0; row < charting->rows; row++) {
    fprintf(out, "%*s %s", CHART_LEFT - 2, label[row] != NULL ? label[row] : "",
            label[row] != NULL ? "┤" : "│");
    int last = charting->columns;
    while (row >= lines && row != floor && last > 0 && charting->cell[row][last - 1] == NULL)
      last--;
    for (int i = 0; i < last; i++)
      fputs(charting->cell[row][i] != NULL ? charting->cell[row][i]
            : row == floor                 ? "┄"
                                           : " ",
            out);
    fprintf(out, "%s%s\n", row < lines ? "  " : "", row < lines ? line[row] : "");
  }
  chart_foot(charting, CHART_LEFT,
             perp_headline_x_title(&charting->top, charting->r, &charting->view), out);
}

static void chart_draw_rows(struct charting *charting, double *const *x, const int *n, FILE *out)
{
  perp_pool *pool = &charting->r->pool;
  int left = chart_legend_width(charting);
  left = left + 2 > CHART_LEGEND ? CHART_LEGEND + 2 : left + 2;
  charting->columns = CHART_WIDTH - left - 2;
  for (int k = 0; k < charting->slice->n_shown; k++) {
    const char *word = chart_short(
        pool,
        perp_headline_word(charting->ctx, charting->r, charting->top.colour,
                           charting->top.names.text[charting->slice->shown[k]]),
        left - 2);
    bool mark[CHART_WIDTH] = { false };
    for (int i = 0; i < n[k]; i++) mark[chart_column(charting, x[k][i])] = true;
    chart_pad(out, left - 2 - chart_length(word));
    fprintf(out, "%s ┤", word);
    int last = charting->columns;
    while (last > 0 && !mark[last - 1]) last--;
    for (int i = 0; i < last; i++) fputs(mark[i] ? "●" : " ", out);
    putc('\n', out);
  }
  chart_foot(charting, left, perp_headline_x_title(&charting->top, charting->r, &charting->view),
             out);
}

static void chart_head(struct charting *charting, FILE *out)
{
  perp_pool *pool = &charting->r->pool;
  const char *panel = charting->top.panels < 0
                          ? ""
                          : perp_headline_word(charting->ctx, charting->r, charting->top.panels,
                                               charting->top.panel_names.text[charting->panel]);
  putc('\n', out);
  perp_wrapf(
      out, 0, "%s%s%s%s%s",
      chart_capital(pool, charting->top.kind == PERP_HEADLINE_ROWS
                              ? perp_headline_x_title(&charting->top, charting->r, &charting->view)
                              : perp_headline_y_title(&charting->top, charting->r)),
      panel[0] != '\0' || charting->slice->words[0] != '\0' ? ": " : "", panel,
      panel[0] != '\0' && charting->slice->words[0] != '\0' ? "; " : "", charting->slice->words);
}

static void chart_notes(const struct charting *charting, FILE *out)
{
  perp_text text = { 0 };
  char number[32];
  int failed = 0, panels = 0;
  bool *seen = perp_xalloc((size_t)charting->top.panel_names.n + 1, sizeof *seen), several = false;
  for (int i = 0; i < charting->slice->n; i++) {
    const int cell = charting->slice->cell[i], panel = charting->top.panel_of[cell];
    panels += !seen[panel];
    seen[panel] = true;
    failed += panel == charting->panel && !perp_view_stands(&charting->view, cell) &&
              charting->r->record[cell].status != PERP_CELL_UNSUITED;
  }
  free(seen);
  for (int j = 0; j < CHART_ROWS; j++)
    for (int i = 0; i < CHART_WIDTH; i++)
      several = several || (charting->cell[j][i] != NULL && charting->cell[j][i][0] == '*');
  if (several) perp_text_add(&text, "*: several curves. ");
  if (charting->top.kind == PERP_HEADLINE_CURVES && charting->top.x_metric >= 0)
    perp_text_add(&text, "%s",
                  strcmp(charting->top.x, "time.cpu") == 0 ? "Lower left is better. " : "");
  if (charting->top.floor > 0 && charting->top.kind == PERP_HEADLINE_CURVES &&
      charting->y0 < log10(charting->top.floor))
    perp_text_add(&text, "Below %s (dashed) all values count as equal. ",
                  perp_number(charting->top.floor, number));
  if (failed > 0 && charting->top.kind != PERP_HEADLINE_SOLVED)
    perp_text_add(&text, "%d run%s without a result %s not drawn. ", failed, failed == 1 ? "" : "s",
                  failed == 1 ? "is" : "are");
  if (charting->without.n > 0)
    perp_text_add(&text, "Without a point here: %s. ", charting->without.s);
  if (charting->slice->left > 0)
    perp_text_add(&text, "%d more choices are not drawn, as their best runs are behind. ",
                  charting->slice->left);
  if (charting->top.n_slices > 1 || panels > 1)
    perp_text_add(&text, "This is 1 of %d figures; the report has all.",
                  panels * charting->top.n_slices);
  if (text.n > 0) perp_wrap(out, 0, text.s);
  perp_text_free(&text);
}

static void chart_all(struct charting *charting, double *const *x, double *const *y, const int *n,
                      FILE *out)
{
  chart_limits(charting, x, y, n);
  chart_head(charting, out);
  if (charting->top.kind == PERP_HEADLINE_ROWS)
    chart_draw_rows(charting, x, n, out);
  else
    chart_draw_curves(charting, x, y, n, out);
  chart_notes(charting, out);
}

void perp_headline_print(const perp_ctx *ctx, perp_results *results, FILE *out)
{
  struct charting charting = { .ctx = ctx, .r = results };
  double *x[32], *y[32];
  int n[32];
  perp_view_build(ctx, &results->pool, results, &charting.view);
  perp_headline_choose(ctx, results, &charting.view, &charting.top);
  if (charting.top.kind == PERP_HEADLINE_NONE) return;
  perp_headline_slice drawn = charting.top.slice[0];
  charting.slice = &charting.top.slice[0];
  if (!chart_panel(&charting)) return;
  drawn.n_shown = 0;
  for (int i = 0; i < charting.slice->n_shown; i++) {
    const int k = drawn.n_shown, name = charting.slice->shown[i];
    charting.letter[2 * k] = (char)('a' + k);
    x[k] = perp_pool_alloc(&results->pool, (size_t)charting.slice->n + 1, sizeof **x);
    y[k] = perp_pool_alloc(&results->pool, (size_t)charting.slice->n + 1, sizeof **y);
    n[k] = chart_points(&charting, name, x[k], y[k]);
    if (n[k] > 0)
      drawn.shown[drawn.n_shown++] = name;
    else
      perp_text_add(
          &charting.without, "%s%s", charting.without.n > 0 ? "; " : "",
          perp_headline_word(ctx, results, charting.top.colour, charting.top.names.text[name]));
  }
  charting.slice = &drawn;
  if (drawn.n_shown > 0) chart_all(&charting, x, y, n, out);
  perp_text_free(&charting.without);
}
