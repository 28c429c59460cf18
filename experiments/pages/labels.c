/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Costs, in lines of text by which a name is away from the end of its curve. */
#define COST_COVER   1.0 /* of each piece of a curve below the text */
#define COST_OVERLAP 1e3 /* of two names */
#define COST_CROSSED 4.0 /* of two names in the order opposite to that of their curves */
#define COST_LEFT    2.5 /* at the first point, not at the last one */
#define COST_BESIDE  6.0 /* above or below the curve */
#define COST_AWAY    1.5 /* in the field, but not beside the curve */
#define COST_LEADER  0.8 /* for each cm of a line */
#define COST_LINE    0.4 /* of each line of text */
#define COST_MARGIN  0.4 /* for each cm that is taken from the field */

enum { SPOTS_UP = 10, SWEEPS = 4, CANDIDATES = 240, DOTS = 10 /* per cm, of the raster */ };
#define GAP      0.18 /* cm between a point and its name */
#define TIGHTEST 0.47 /* the field keeps this share of the width */

typedef struct spot {
  double x0, x1, y; /* of the box of the text */
  double cost;
  int align;
  bool leader;
} spot;

typedef struct board {
  const perp_figure *f;
  const perp_plot_frame *frame;
  int columns, rows;
  int *sum; /* [rows + 1][columns + 1] pieces of curves below and left of a place of the raster */
} board;

bool perp_plot_direct(const perp_curve *curve)
{
  return curve->style == PERP_PLOT_POINTS_LINES || curve->style == PERP_PLOT_LINES ||
         curve->style == PERP_PLOT_POINTS || curve->style == PERP_PLOT_STEPS ||
         curve->style == PERP_PLOT_BOUND;
}

static double labels_scale(double v, const double *range, bool logarithmic, double from, double to)
{
  const double share = logarithmic ? log(v / range[0]) / log(range[1] / range[0])
                                   : (v - range[0]) / (range[1] - range[0]);
  return from + share * (to - from);
}

/* Point i of a curve in cm; false where it is not drawn. */
static bool labels_point(const board *work, const perp_curve *curve, int i, double *at)
{
  const perp_plot_frame *frame = work->frame;
  if (!isfinite(curve->x[i]) || !isfinite(curve->y[i]) || (work->f->logx && curve->x[i] <= 0) ||
      (work->f->logy && curve->y[i] <= 0))
    return false;
  at[0] = labels_scale(curve->x[i], frame->x, work->f->logx, frame->left, frame->right);
  at[1] = labels_scale(curve->y[i], frame->y, work->f->logy, frame->bottom, frame->top);
  return true;
}

static void board_dot(board *work, double x, double y)
{
  const int column = (int)(x * DOTS), row = (int)(y * DOTS);
  if (column < 0 || column >= work->columns || row < 0 || row >= work->rows) return;
  work->sum[(row + 1) * (work->columns + 1) + column + 1] = 1;
}

static void board_line(board *work, const double *from, const double *to)
{
  const double length = hypot(to[0] - from[0], to[1] - from[1]);
  const int n = (int)(length * DOTS * 1.4) + 1;
  for (int k = 0; k <= n; k++)
    board_dot(work, from[0] + (to[0] - from[0]) * k / n, from[1] + (to[1] - from[1]) * k / n);
}

static void board_curve(board *work, const perp_curve *curve)
{
  const bool steps = curve->style == PERP_PLOT_STEPS || curve->style == PERP_PLOT_BOUND,
             joined = steps || curve->style == PERP_PLOT_POINTS_LINES ||
                      curve->style == PERP_PLOT_LINES || curve->style == PERP_PLOT_GUIDE;
  double last[2], at[2];
  bool any = false;
  for (int i = 0; i < curve->n; i++) {
    if (!labels_point(work, curve, i, at)) continue;
    const double corner[2] = { at[0], any ? last[1] : at[1] };
    if (any && steps) board_line(work, last, corner);
    if (any && joined) board_line(work, steps ? corner : last, at);
    for (int k = 0; k < 9; k++) /* the marker */
      board_dot(work, at[0] + (k % 3 - 1) * 0.1, at[1] + (k / 3 - 1) * 0.1);
    memcpy(last, at, sizeof last);
    any = true;
  }
}

/* Pieces of curves in a box. */
static int board_count(const board *work, double x0, double x1, double y0, double y1)
{
  const int c0 = (int)fmax(x0 * DOTS, 0), c1 = (int)fmin(x1 * DOTS + 1, work->columns),
            r0 = (int)fmax(y0 * DOTS, 0), r1 = (int)fmin(y1 * DOTS + 1, work->rows),
            n = work->columns + 1;
  if (c1 <= c0 || r1 <= r0) return 0;
  return work->sum[r1 * n + c1] - work->sum[r0 * n + c1] - work->sum[r1 * n + c0] +
         work->sum[r0 * n + c0];
}

static void board_make(board *work)
{
  work->columns = (int)ceil(work->frame->width * DOTS);
  work->rows = (int)ceil(work->frame->height * DOTS);
  memset(work->sum, 0, (size_t)(work->rows + 1) * (size_t)(work->columns + 1) * sizeof *work->sum);
  for (int curve = 0; curve < work->f->n; curve++) board_curve(work, &work->f->curves[curve]);
  const int n = work->columns + 1;
  for (int r = 1; r <= work->rows; r++)
    for (int c = 1; c < n; c++)
      work->sum[r * n + c] += work->sum[r * n + c - 1] + work->sum[(r - 1) * n + c] -
                              work->sum[(r - 1) * n + c - 1];
}

/* Where to break a text after at most `most` bytes: at a blank that is not in brackets; 0: nowhere.
 */
static int labels_break(const char *text, int most)
{
  int at = 0, depth = 0;
  for (int i = 0; i <= most && text[i] != '\0'; i++) {
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (text[i] == ' ' && depth == 0) at = i;
  }
  return at;
}

/* In lines of about `most` bytes; false when that needs too many or a word is much longer. */
static bool labels_wrap(perp_plot_label *label, const char *text, int most)
{
  for (label->lines = 0; *text != '\0'; label->lines++) {
    int n = (int)strlen(text);
    if (label->lines == PERP_LABEL_LINES) return false;
    if (n > most) {
      const int at = labels_break(text, most);
      n = at > 0 ? at : (int)strcspn(text, " ");
      if (n > most * 3 / 2) return false;
    }
    label->line[label->lines].text = text;
    label->line[label->lines].n = n;
    text += n;
    text += *text == ' ';
  }
  return label->lines > 0;
}

static double labels_width(const perp_plot_frame *frame, const perp_plot_label *label)
{
  int most = 0;
  for (int line = 0; line < label->lines; line++)
    if (label->line[line].n > most) most = label->line[line].n;
  return most * frame->letter;
}

static double labels_height(const perp_plot_frame *frame, const perp_plot_label *label)
{
  return label->lines * frame->line;
}

/* A candidate, when it is inside of the picture. */
static int labels_try(const board *work, const perp_plot_label *label, double x, double y,
                      int align, double cost, spot *spots, int n)
{
  const perp_plot_frame *frame = work->frame;
  const double w = labels_width(frame, label), h = labels_height(frame, label),
               x0 = x - (align < 0    ? 0
                         : align == 0 ? w / 2
                                      : w);
  if (n == CANDIDATES || x0 < frame->left + 0.1 || x0 + w > frame->width - 0.1 ||
      y - h / 2 < frame->bottom || y + h / 2 > frame->top + frame->line / 2)
    return n;
  spots[n] = (spot){ x0, x0 + w, y, cost, align, false };
  spots[n].cost += COST_COVER * board_count(work, x0, x0 + w, y - h / 2, y + h / 2);
  return n + 1;
}

/* A candidate with a line to the end of its curve, where it is not beside it. */
static int labels_away(const board *work, const perp_plot_label *label, const double *end, double x,
                       double y, double cost, spot *spots, int n)
{
  const double dx = x - 0.05 - end[0], dy = y - end[1], length = hypot(dx, dy);
  const bool leader = dx > 0.4 || fabs(dy) > 0.4 * work->frame->line;
  int crossed = 0;
  /* the curve itself is left first */
  for (double at = 0.3; leader && at < length; at += 1.0 / DOTS)
    crossed += board_count(work, end[0] + dx * at / length, end[0] + dx * at / length,
                           end[1] + dy * at / length, end[1] + dy * at / length) > 0;
  if (leader) cost += length * COST_LEADER + crossed * COST_COVER;
  const int before = n;
  n = labels_try(work, label, x, y, -1, cost, spots, n);
  if (n > before) spots[before].leader = leader;
  return n;
}

/* Places of the name of one curve; column_y: its height in the column right of the field.  end: the
 * last point. */
static int labels_spots(const board *work, const perp_plot_label *label, const double *end,
                        double column_y, bool column, spot *spots)
{
  const perp_plot_frame *frame = work->frame;
  const perp_curve *curve = &work->f->curves[label->curve];
  const double h = labels_height(frame, label);
  double first[2] = { HUGE_VAL, 0 }, at[2];
  int n = 0;
  for (int j = -SPOTS_UP; j <= SPOTS_UP; j++) {
    const double up = 0.25 * j * frame->line;
    n = labels_try(work, label, end[0] + GAP, end[1] + up, -1, fabs(0.25 * j), spots, n);
  }
  for (int i = 0; i < curve->n; i++)
    if (labels_point(work, curve, i, at) && at[0] < first[0]) memcpy(first, at, sizeof first);
  for (int j = -2; j <= 2; j++)
    n = labels_try(work, label, first[0] - GAP, first[1] + 0.25 * j * frame->line, 1,
                   COST_LEFT + fabs(0.25 * j), spots, n);
  const int stride = 1 + curve->n / 12;
  for (int i = 0; i < curve->n; i += stride) {
    if (!labels_point(work, curve, i, at)) continue;
    for (int side = -1; side <= 1; side += 2)
      for (int align = -1; align <= 1; align++)
        n = labels_try(work, label, at[0], at[1] + side * (h / 2 + 0.12), align, COST_BESIDE, spots,
                       n);
  }
  for (int i = 1; i <= 3; i++) /* in free room not far away */
    for (int j = -6; j <= 6; j++)
      n = labels_away(work, label, end, end[0] + 0.7 * i, end[1] + 0.75 * j * frame->line,
                      COST_AWAY, spots, n);
  for (int j = -2; column && j <= 2; j++)
    n = labels_away(work, label, end, frame->right + GAP, column_y + 0.25 * j * frame->line, 0,
                    spots, n);
  return n;
}

/* Does the line from the end of a curve to its name run through the box of another one? */
static bool labels_struck(const spot *p, const double *end, const spot *q, double height)
{
  const double from[2] = { end[0], end[1] }, by[2] = { p->x0 - end[0], p->y - end[1] },
               low[2] = { q->x0, q->y - height / 2 }, high[2] = { q->x1, q->y + height / 2 };
  double enter = 0, leave = 1;
  if (!p->leader) return false;
  for (int i = 0; i < 2; i++) {
    if (fabs(by[i]) < 1e-9) {
      if (from[i] < low[i] || from[i] > high[i]) return false;
      continue;
    }
    const double t = (low[i] - from[i]) / by[i], u = (high[i] - from[i]) / by[i];
    enter = fmax(enter, fmin(t, u));
    leave = fmin(leave, fmax(t, u));
  }
  return enter < leave;
}

static double labels_between(const perp_plot_frame *frame, const perp_plot_label *a, const spot *p,
                             const double *a_end, const perp_plot_label *b, const spot *q,
                             const double *b_end)
{
  const double a_height = labels_height(frame, a), b_height = labels_height(frame, b);
  const bool side = p->x0 < q->x1 + 0.15 && q->x0 < p->x1 + 0.15;
  double cost = 0;
  if (side && fabs(p->y - q->y) < (a_height + b_height) / 2 + 0.02) cost += COST_OVERLAP;
  if (side && p->align == q->align && (p->y - q->y) * (a_end[1] - b_end[1]) < 0)
    cost += COST_CROSSED;
  if (labels_struck(p, a_end, q, b_height) || labels_struck(q, b_end, p, a_height))
    cost += COST_CROSSED;
  return cost;
}

/* Heights in the column at the right, in the order of the ends and as near to them as names without
 * overlap can be: the height above the names below grows along the column (pool adjacent
 * violators). */
static void labels_column(const perp_plot_frame *frame, const perp_plot_label *label,
                          const int *order, int n, double (*end)[2], double *y)
{
  double middle[PERP_LABELS], sum[PERP_LABELS], below = 0;
  int size[PERP_LABELS] = { 0 }, piles = 0;
  for (int i = 0; i < n; i++, piles++) {
    const double h = labels_height(frame, &label[order[i]]) + 0.05;
    middle[i] = below + h / 2;
    below += h;
    sum[piles] = end[order[i]][1] - middle[i];
    size[piles] = 1;
    for (; piles > 0 && sum[piles - 1] / size[piles - 1] > sum[piles] / size[piles]; piles--) {
      sum[piles - 1] += sum[piles];
      size[piles - 1] += size[piles];
    }
  }
  const double most = frame->top + frame->line / 2 - below;
  for (int i = 0, pile = 0, left = size[0]; i < n; i++, left--) {
    if (left == 0) left = size[++pile];
    y[order[i]] = middle[i] + fmax(frame->bottom, fmin(sum[pile] / size[pile], most));
  }
}

/* Choose for one after the other, some times; the sum of the costs, infinite when one has no place.
 */
static double labels_sweep(const perp_plot_frame *frame, const perp_plot_label *label, int n,
                           const int *order, double (*end)[2], const spot *spots, const int *count,
                           int *chosen)
{
  double total = 0;
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    total = 0;
    for (int i = 0; i < n; i++) {
      const int k = order[n - 1 - i];
      double least = HUGE_VAL;
      for (int s = 0; s < count[k]; s++) {
        const spot *p = &spots[k * CANDIDATES + s];
        double cost = p->cost;
        for (int o = 0; o < n; o++)
          if (o != k && chosen[o] >= 0)
            cost += labels_between(frame, &label[k], p, end[k], &label[o],
                                   &spots[o * CANDIDATES + chosen[o]], end[o]);
        if (cost < least) {
          least = cost;
          chosen[k] = s;
        }
      }
      total += least;
    }
  }
  return total;
}

/* Fill labels in; the sum of their costs. */
static double labels_choose(board *work, perp_plot_label *label, int n, bool column)
{
  const perp_plot_frame *frame = work->frame;
  spot *spots = calloc((size_t)n * CANDIDATES, sizeof *spots);
  double end[PERP_LABELS][2], column_y[PERP_LABELS], total = 0;
  int order[PERP_LABELS], count[PERP_LABELS], chosen[PERP_LABELS], at = 0;
  if (spots == NULL) return HUGE_VAL;
  board_make(work);
  for (int k = 0; k < n; k++) {
    const perp_curve *curve = &work->f->curves[label[k].curve];
    double p[2];
    end[k][0] = -HUGE_VAL;
    for (int i = 0; i < curve->n; i++)
      if (labels_point(work, curve, i, p) && p[0] >= end[k][0]) memcpy(end[k], p, sizeof p);
    for (at = k; at > 0 && end[order[at - 1]][1] > end[k][1]; at--) order[at] = order[at - 1];
    order[at] = k;
  }
  /* at first the column has room for all of them, then for those that are in it */
  for (int k = 0; k < n; k++) chosen[k] = -1;
  for (int turn = 0; turn < 2; turn++) {
    int in_column[PERP_LABELS], m = 0;
    for (int i = 0; i < n; i++) {
      const int k = order[i];
      column_y[k] = end[k][1];
      if (turn == 0 || spots[k * CANDIDATES + chosen[k]].x0 > frame->right) in_column[m++] = k;
    }
    labels_column(frame, label, in_column, m, end, column_y);
    for (int k = 0; k < n; k++) {
      count[k] = labels_spots(work, &label[k], end[k], column_y[k], column, spots + k * CANDIDATES);
      chosen[k] = -1;
    }
    total = labels_sweep(frame, label, n, order, end, spots, count, chosen);
    if (isinf(total)) break;
  }
  for (int k = 0; k < n && isfinite(total); k++) {
    const spot *p = &spots[k * CANDIDATES + chosen[k]];
    label[k].align = p->align;
    label[k].x = p->align < 0 ? p->x0 : p->align == 0 ? (p->x0 + p->x1) / 2 : p->x1;
    label[k].y = p->y;
    label[k].from_x = end[k][0];
    label[k].from_y = end[k][1];
    label[k].to_x = p->x0 - 0.05;
    label[k].to_y = p->y;
    /* a name beside its curve but not at the height of the end has a line too */
    label[k].leader = p->leader ||
                      (p->align < 0 && fabs(p->x0 - end[k][0] - GAP) < 1e-9 &&
                       fabs(p->y - end[k][1]) > (0.3 + 0.5 * label[k].lines) * frame->line);
  }
  free(spots);
  return total;
}

/* The names in lines of at most `most` letters; false when there are too many of the ones or the
 * others. */
static bool labels_fill(const perp_figure *figure, const bool *named, const perp_plot_frame *frame,
                        int most, perp_plot_label *label, int *n, double *widest)
{
  double tall = 0;
  *n = 0;
  *widest = 0;
  for (int curve = 0; curve < figure->n; curve++) {
    if (!named[curve]) continue;
    if (*n == PERP_LABELS || !labels_wrap(&label[*n], figure->curves[curve].label, most))
      return false;
    label[*n].curve = curve;
    *widest = fmax(*widest, labels_width(frame, &label[*n]));
    tall += labels_height(frame, &label[*n]) + 0.05;
    (*n)++;
  }
  return *n > 0 && tall < frame->top - frame->bottom;
}

bool perp_plot_place(const perp_figure *figure, const bool *named, perp_plot_frame *frame,
                     perp_plot_label *labels, int *n)
{
  const double shares[] = { 0, 0.5, 0.75, 1 }, lines[] = { 0.22, 0.28, 0.37 };
  perp_plot_label kept[PERP_LABELS];
  double widest, best = HUGE_VAL, right = 0;
  board work = { .f = figure, .frame = frame };
  work.sum = calloc((size_t)(frame->width * DOTS + 3) * (size_t)(frame->height * DOTS + 3),
                    sizeof *work.sum);
  for (size_t w = 0; work.sum != NULL && w < sizeof lines / sizeof *lines; w++) {
    int count;
    if (!labels_fill(figure, named, frame, (int)(lines[w] * frame->width / frame->letter), kept,
                     &count, &widest))
      continue;
    int all = 0;
    for (int k = 0; k < count; k++) all += kept[k].lines;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
      frame->right = frame->width - fmax(0.7, 0.4 + shares[i] * (widest + 0.1));
      if (frame->right - frame->left < TIGHTEST * frame->width) break;
      const double cost = labels_choose(&work, kept, count, shares[i] == 1) +
                          COST_MARGIN * (frame->width - frame->right) + COST_LINE * all;
      if (cost >= best) continue;
      best = cost;
      right = frame->right;
      *n = count;
      memcpy(labels, kept, (size_t)count * sizeof *labels);
    }
  }
  free(work.sum);
  frame->right = right;
  return best < COST_OVERLAP;
}
