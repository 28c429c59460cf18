/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/plot_draw.h"

#include "experiments/pages/gnuplot.h"
#include "experiments/pages/labels.h"
#include "experiments/pages/plot_text.h"
#include "experiments/pages/styles.h"
#include "experiments/base/memory.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const perp_figure_formats[] = { "svg", "pdf", "png", "tikz", NULL };

/* How gnuplot draws a curve of a colour; the number is of the marker or of the dashes. */
static const char *const styles[] = {
  [PERP_PLOT_POINTS_LINES] = "with linespoints lc '%s' lw 1.5 pt %d ps 0.7 ",
  [PERP_PLOT_LINES] = "with linespoints lc '%s' lw 1.3 dt %d ",
  [PERP_PLOT_POINTS] = "with points lc '%s' pt %d ps 0.8 ",
  [PERP_PLOT_STEPS] = "with steps lc '%s' lw 1.5 dt %d ",
  [PERP_PLOT_BOUND] = "with steps lc '%s' lw 3 dt %d ",
  [PERP_PLOT_END] = "with points lc '%s' lw 2 pt %d ps 1.2 ",
  [PERP_PLOT_PUBLISHED] = "with points lc '%s' lw 1.5 pt %d ps 1.1 ",
  [PERP_PLOT_MARK] = "with points lc '%s' lw 1 pt %d ps 1.5 ",
  [PERP_PLOT_GUIDE] = "with lines lc '%s' lw 1 dt %d "
};

static void csv_field(FILE *out, const char *text)
{
  fputc('"', out);
  for (; *text != '\0'; text++) {
    if (*text == '"') fputc('"', out);
    fputc(*text, out);
  }
  fputc('"', out);
}

static bool plot_band(const perp_figure *figure, const perp_curve *curve, int i)
{
  return curve->lo != NULL && curve->hi != NULL && curve->lo[i] <= curve->hi[i] &&
         isfinite(curve->hi[i]) && (!figure->logy || curve->lo[i] > 0);
}

static bool curve_banded(const perp_figure *figure, const perp_curve *curve)
{
  int n = 0;
  for (int i = 0; i < curve->n; i++)
    n += perp_curve_drawable(figure, curve, i) && plot_band(figure, curve, i);
  return n > 1;
}

static bool plot_banded(const perp_figure *figure)
{
  for (int curve = 0; curve < figure->n; curve++)
    if (curve_banded(figure, &figure->curves[curve])) return true;
  return false;
}

/* One block a curve, so that gnuplot's `index` and a human both find it. */
static void write_data(FILE *out, const perp_figure *figure)
{
  const bool bands = plot_banded(figure);
  fprintf(out, bands ? "curve,x,y,lo,hi\n" : "curve,x,y\n");
  int block = 0;
  for (int k = 0; k < figure->n; k++) {
    const perp_curve *curve = &figure->curves[k];
    if (perp_curve_points(figure, curve) == 0) continue;
    if (block++ > 0) fprintf(out, "\n\n");
    for (int i = 0; i < curve->n; i++) {
      if (!perp_curve_drawable(figure, curve, i)) continue;
      csv_field(out, curve->label);
      fprintf(out, ",%.17g,%.17g", curve->x[i], curve->y[i]);
      if (bands && plot_band(figure, curve, i))
        fprintf(out, ",%.17g,%.17g", curve->lo[i], curve->hi[i]);
      fputs(bands && !plot_band(figure, curve, i) ? ",,\n" : "\n", out);
    }
  }
}

/* The different x [most] of a figure, ascending, when they are few and have room; their number,
 * else 0. */
static int plot_few(const perp_figure *figure, double *x, int most)
{
  int n = 0;
  for (int curve = 0; curve < figure->n; curve++)
    for (int i = 0; i < figure->curves[curve].n; i++) {
      const double v = figure->curves[curve].x[i];
      int at = 0;
      if (!perp_curve_drawable(figure, &figure->curves[curve], i)) continue;
      while (at < n && x[at] < v) at++;
      if (at < n && x[at] == v) continue;
      if (n == most) return 0;
      memmove(x + at + 1, x + at, (size_t)(n - at) * sizeof *x);
      x[at] = v;
      n++;
    }
  for (int i = 1; i < n; i++)
    if (x[i] < 1.2 * x[i - 1]) return 0;
  return n;
}

/* Marks of a logarithmic axis of less than two decades: 1, 2, 5 of each, more digits, or even
 * steps, as there is room. */
static void plot_tics(FILE *out, const perp_figure *figure, char name, double least, double most)
{
  enum { FEW = 8 };
  double own[FEW + 1];
  const char *comma = "";
  const int n = name == 'x' ? plot_few(figure, own, FEW) : 0;
  fprintf(out, "set format %c '%%.3g'\nset %ctics (", name, name);
  if (n > 1) {
    for (int i = 0; i < n; i++) fprintf(out, "%s%.6g", i > 0 ? ", " : "", own[i]);
  } else if (most > least && most / least < 2.5) {
    const double raw = (most - least) / 4, power = pow(10, floor(log10(raw))),
                 step = power * (raw > 5 * power   ? 10
                                 : raw > 2 * power ? 5
                                 : raw > power     ? 2
                                                   : 1);
    const double first = ceil(least / step);
    for (int k = 0; k <= 10 && (first + k) * step <= most; k++) {
      fprintf(out, "%s%.4g", comma, (first + k) * step);
      comma = ", ";
    }
  } else {
    const bool all = most / least < 10 && most > least;
    const int lowest = (int)floor(log10(least)) - 1, highest = (int)ceil(log10(most)) + 1;
    for (int power = lowest; power <= highest; power++)
      for (int digit = 1; digit <= 9; digit++) {
        const double decade = pow(10, power);
        if (digit != 1 && digit != 2 && digit != 5 && !(all && (digit == 3 || digit == 7)))
          continue;
        if (digit * decade < least / 3 || digit * decade > most * 3) continue;
        fprintf(out, "%s%.3g", comma, digit * decade);
        comma = ", ";
      }
  }
  fprintf(out, ") enhanced\n");
}

/* From nothing to all. */
static void plot_share(FILE *out)
{
  fputs("set yrange [0:1.02]\nset ytics (", out);
  for (int k = 0; k <= 5; k++)
    fprintf(out, "%s(tex ? '%d\\,\\%%%%' : '%d %%%%') %g", k > 0 ? ", " : "", 20 * k, 20 * k,
            0.2 * k);
  fputs(")\n", out);
}

/* Closer values are the same on a logarithmic axis. */
static const double PLOT_SAME = 1e-3;

/* Values at the ends of an axis. */
static void plot_range(const perp_figure *figure, char name, bool logarithmic, double *range)
{
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (int curve = 0; curve < figure->n; curve++)
    for (int i = 0; i < figure->curves[curve].n; i++)
      if (perp_curve_drawable(figure, &figure->curves[curve], i)) {
        double v = name == 'x' ? figure->curves[curve].x[i] : figure->curves[curve].y[i];
        least = fmin(least, v);
        most = fmax(most, v);
      }
  range[0] = least;
  range[1] = most;
  if (logarithmic) {
    const double pad = most - least <= PLOT_SAME * most ? 3 : pow(most / least, 0.05);
    range[0] /= pad;
    range[1] *= pad;
  } else if (least == most || name == 'y') {
    const double pad = least < most ? (most - least) / 20 : least != 0 ? fabs(least) / 10 : 1;
    range[0] -= pad;
    range[1] += pad;
  }
}

static bool plot_narrow(const perp_figure *figure)
{
  return figure->width > 0 && figure->width < 12;
}

/* A logarithmic axis beyond this ratio has powers of ten alone. */
#define PLOT_DECADES 150.0

static void plot_axis(FILE *out, const perp_figure *figure, char name, bool logarithmic)
{
  double range[2];
  plot_range(figure, name, logarithmic, range);
  if (logarithmic) {
    fprintf(out, "set logscale %c 10\n", name);
    /* with less than two decades between the ends, powers of ten alone leave an axis bare */
    if (range[1] / range[0] > PLOT_DECADES) {
      fprintf(out, "set format %c (tex ? '$10^{%%L}$' : '10^{%%L}')\n", name);
      /* where powers of ten are left out, the marks between two of them are not worth their ink */
      const double decades = log10(range[1] / range[0]);
      if (decades > 7) fprintf(out, "unset m%ctics\n", name);
      static const int steps[] = { 1, 2, 4, 5, 10, 20, 50, 100 };
      int k = 0;
      while (k < 7 && decades / steps[k] > (plot_narrow(figure) ? 6 : 9)) k++;
      if (k > 0) fprintf(out, "set %ctics 1e%d\n", name, steps[k]);
    } else {
      plot_tics(out, figure, name, range[0], range[1]);
    }
  } else {
    fprintf(out, "set format %c '%%g'\n", name);
  }
  fprintf(out, "set %crange [%.17g:%.17g]\n", name, range[0], range[1]);
}

/* What a width means for the rest of a picture. */
typedef struct plot_size {
  double width, height; /* cm */
  double points;        /* of the font */
  double letter, line;  /* cm, a generous mean */
  size_t title, name;   /* letters of a title, of a name in the legend */
  size_t tall;          /* letters along the height */
  int columns, rows;    /* of the legend */
  int n;                /* names beside the curves; 0: all are in the legend */
  perp_plot_label label[PERP_LABELS];
  perp_plot_frame frame; /* when n > 0 */
} plot_size;

/* A name for each row, the first one on top. */
static void plot_rows(FILE *out, const perp_figure *figure, const plot_size *size)
{
  fprintf(out, "set yrange [-0.6:%d.4]\nset ytics (", figure->n_rows - 1);
  for (int row = 0; row < figure->n_rows; row++) {
    fputs(row > 0 ? ", " : "", out);
    perp_plot_name(out, figure->row[row], (size_t)(0.42 * (double)size->title));
    fprintf(out, " %d", figure->n_rows - 1 - row);
  }
  fputs(") noenhanced\n", out);
}

/* Is curve k named beside it? */
static bool plot_beside(const plot_size *size, int k)
{
  for (int label = 0; label < size->n; label++)
    if (size->label[label].curve == k) return true;
  return false;
}

/* The legend of those that are not named beside their curves. */
static void plot_legend(const perp_figure *figure, plot_size *size)
{
  int shown = 0;
  size_t longest = 1;
  for (int curve = 0; curve < figure->n; curve++) {
    const size_t n = strlen(figure->curves[curve].label);
    if (perp_curve_points(figure, &figure->curves[curve]) == 0 ||
        figure->curves[curve].style == PERP_PLOT_END || plot_beside(size, curve))
      continue;
    shown++;
    if (n > longest) longest = n < size->name ? n : size->name;
  }
  size->columns = (int)((size->width - 0.6) / ((double)longest * size->letter + 1.6));
  if (size->columns < 1) size->columns = 1;
  if (size->columns > 4) size->columns = 4;
  size->rows = (shown + size->columns - 1) / size->columns;
}

/* Rows have their names at the axis, and no legend. */
static plot_size plot_row_layout(const perp_figure *figure, plot_size size)
{
  size.columns = 1;
  size.height = (4.5 + 2.2 * figure->n_rows) * size.line;
  size.tall = (size_t)(size.height / size.letter);
  return size;
}

static plot_size plot_layout(const perp_figure *figure)
{
  const bool narrow = plot_narrow(figure);
  plot_size size = { .width = figure->width > 0 ? figure->width : PERP_PLOT_PAGE,
                     .points = narrow ? 6.5 : 9 };
  bool *named = calloc((size_t)figure->n + 1, sizeof *named);
  size.height = size.width / 1.6;
  size.letter = 0.0353 * size.points * 0.62; /* DejaVu, the widest that is usual */
  size.line = 0.0353 * size.points * 1.35;
  size.title = (size_t)((size.width - 1.4) / size.letter);
  size.name = (size_t)((size.width - 2.4) / size.letter);
  size.tall = (size_t)((size.height - 1.2) / size.letter);
  if (figure->n_rows > 0) {
    free(named);
    return plot_row_layout(figure, size);
  }
  for (int curve = 0; named != NULL && curve < figure->n; curve++) {
    named[curve] = perp_plot_direct(&figure->curves[curve]) &&
                   perp_curve_points(figure, &figure->curves[curve]) > 0;
  }
  const double row = 0.0353 * size.points * 1.7;
  perp_plot_frame frame = { .width = size.width,
                            .height = size.height,
                            .top = size.height - 3 * size.line,
                            .letter = size.letter,
                            .line = size.line };
  plot_range(figure, 'x', figure->logx, frame.x);
  plot_range(figure, 'y', figure->logy, frame.y);
  /* powers of ten are short, and so are shares */
  const bool few = figure->share || (figure->logy && frame.y[1] / frame.y[0] > PLOT_DECADES);
  frame.left = size.line * (1.6 + (strlen(figure->ylabel) > size.tall)) +
               size.letter * (few ? 8 : 10);
  if (figure->share) {
    frame.y[0] = 0;
    frame.y[1] = 1.02;
  }
  /* the legend of the other curves is below the axis */
  plot_size others = size;
  for (int curve = 0; named != NULL && curve < figure->n; curve++)
    if (named[curve] && others.n < PERP_LABELS) others.label[others.n++].curve = curve;
  plot_legend(figure, &others);
  frame.bottom = 3.6 * size.line + row * others.rows;
  if (named != NULL && perp_plot_place(figure, named, &frame, size.label, &size.n)) {
    size.frame = frame;
    plot_legend(figure, &size);
  } else {
    size.n = 0;
    plot_legend(figure, &size);
    /* the field keeps most of a picture of 16:10, which grows with a long legend */
    size.height = fmax(size.height, (narrow ? 6 : 0.72 * size.height) + row * size.rows);
  }
  free(named);
  return size;
}

static void plot_terminals(FILE *out, const perp_figure *figure, const plot_size *size)
{
  /* a screen shows 1 cm as 43 points: text of the same size as that of the page around */
  const double screen = 43, height = size->height;
  fprintf(
      out,
      "# gnuplot -e \"format='svg'\" %s.gp   draws %s.svg (also pdf, png, tikz) from %s.csv\n"
      "if (!exists('format')) format = 'svg'\n"
      "if (format eq 'svg') set terminal svg size %.0f,%.0f dynamic font 'sans-serif,%.0f' "
      "enhanced\n"
      "if (format eq 'pdf') set terminal pdfcairo size %.1fcm,%.1fcm font 'sans,%.1f' fontscale 1 "
      "enhanced\n"
      "if (format eq 'png') set terminal pngcairo size %.0f,%.0f font 'sans,%.0f' enhanced\n"
      "tex = format eq 'tikz' # pictures that LaTeX draws, with \\usepackage{gnuplot-lua-tikz}\n"
      "if (tex) set terminal tikz size %.1fcm,%.1fcm font '\\%s'\n"
      "set output '%s.'.(tex ? 'tex' : format)\n"
      "set datafile separator ','\n",
      figure->id, figure->id, figure->id, screen * size->width, screen * height, 1.5 * size->points,
      size->width, height, size->points, 65 * size->width, 65 * height, 1.5 * size->points,
      size->width, height, size->points < 8 ? "footnotesize" : "small", figure->id);
}

/* Darker than the curve, so that text of it can be read on white. */
static void plot_ink(FILE *out, const char *colour)
{
  unsigned rgb = (unsigned)strtoul(colour + 1, NULL, 16), dark = 0;
  for (int shift = 0; shift < 24; shift += 8) dark |= (rgb >> shift & 0xff) * 7 / 10 << shift;
  fprintf(out, "'#%06x'", dark);
}

static const char *plot_colour(const perp_curve *curve)
{
  return curve->style == PERP_PLOT_PUBLISHED ? "#444444"
         : curve->style == PERP_PLOT_MARK    ? "#000000"
         : curve->style == PERP_PLOT_GUIDE   ? "#aaaaaa"
         : curve->style == PERP_PLOT_BOUND   ? "#b8b8b8"
                                             : perp_style_of(curve->colour)->light;
}

/* Names beside the curves: each line of one is a label of its own, as LaTeX breaks none. */
static void plot_labels(FILE *out, const perp_figure *figure, const plot_size *size)
{
  static const char *const align[] = { "left", "center", "right" };
  const perp_plot_frame *frame = &size->frame;
  if (size->n == 0) return;
  fprintf(out,
          "set lmargin at screen %.4f\nset rmargin at screen %.4f\nset bmargin at screen %.4f\n"
          "set tmargin at screen %.4f\n",
          frame->left / frame->width, frame->right / frame->width, frame->bottom / frame->height,
          frame->top / frame->height);
  for (int i = 0; i < size->n; i++) {
    const perp_plot_label *label = &size->label[i];
    const char *colour = plot_colour(&figure->curves[label->curve]);
    if (label->leader)
      fprintf(out, "set arrow from screen %.4f,%.4f to screen %.4f,%.4f nohead lc '%s' lw 0.7\n",
              label->from_x / frame->width, label->from_y / frame->height,
              label->to_x / frame->width, label->to_y / frame->height, colour);
    for (int line = 0; line < label->lines; line++) {
      char *text = perp_xprintf("%.*s", label->line[line].n, label->line[line].text);
      fprintf(out, "set label ");
      perp_plot_quote(out, text, strlen(text));
      fprintf(out, " at screen %.4f,%.4f %s noenhanced front textcolor rgb ",
              label->x / frame->width,
              (label->y + ((label->lines - 1) / 2.0 - line) * frame->line) / frame->height,
              align[label->align + 1]);
      plot_ink(out, colour);
      fputc('\n', out);
      free(text);
    }
  }
}

/* Steps are told apart by a few markers as well: where the k-th of n such curves has them, the
 * markers of one beside those of the others. */
enum { SPOTS = 5 };

static bool stepped(const perp_figure *figure, const perp_curve *curve)
{
  return curve->style == PERP_PLOT_STEPS && perp_curve_points(figure, curve) > 0;
}

static void plot_spots(FILE *out, const perp_curve *curve, int k, int n)
{
  const double lo = curve->x[0], hi = curve->x[curve->n - 1];
  fprintf(out, "$spots%d << EOD\n", k);
  for (int m = 0; m < SPOTS && lo > 0 && hi > lo; m++) {
    const double x = lo * pow(hi / lo, (m + (k + 0.5) / n) / SPOTS);
    int i = 0;
    while (i + 1 < curve->n && curve->x[i + 1] <= x) i++;
    fprintf(out, "%.6g,%.6g\n", x, curve->y[i]);
  }
  if (!(lo > 0 && hi > lo)) fprintf(out, "%.6g,%.6g\n", hi, curve->y[curve->n - 1]);
  fputs("EOD\n", out);
}

/* name: letters in the legend; 0: named beside the curve. */
static void plot_curve(FILE *out, const perp_figure *figure, const perp_curve *curve, int block,
                       int published, int steps, size_t name)
{
  const perp_style *style = perp_style_of(curve->colour);
  const char *colour = plot_colour(curve);
  const bool dashed = curve->style == PERP_PLOT_LINES || curve->style == PERP_PLOT_STEPS;
  const int number = dashed                                ? 1 + style->dashed
                     : curve->style == PERP_PLOT_PUBLISHED ? 1 + published % 3
                     : curve->style == PERP_PLOT_MARK      ? (curve->colour == 0 ? 6 : 4)
                     : curve->style == PERP_PLOT_GUIDE     ? 3
                     : curve->style == PERP_PLOT_BOUND     ? 1
                     : curve->style == PERP_PLOT_END       ? 2
                                                           : style->point;
  const int skip = block == 0 ? 1 : 0;
  if (curve_banded(figure, curve))
    fprintf(out,
            "  '%s.csv' index %d using 2:4:5 skip %d with filledcurves fc '%s' fs transparent "
            "solid 0.15 noborder notitle, \\\n",
            figure->id, block, skip, colour);
  fprintf(out, "  '%s.csv' index %d using 2:3 skip %d ", figure->id, block, skip);
  fprintf(out, styles[curve->style], colour, number);
  if (curve->style == PERP_PLOT_POINTS_LINES && style->dashed) fputs("dt 2 ", out);
  /* long lines carry a few markers, so that colour is not all that tells them apart */
  if (curve->style == PERP_PLOT_LINES)
    fprintf(out, "pt %d ps 0.6 pi %d ", style->point, 1 + curve->n / 6);
  if (curve->style == PERP_PLOT_END) {
    fputs("notitle", out);
    return;
  }
  if (curve->style == PERP_PLOT_STEPS)
    fprintf(out, "notitle, \\\n  $spots%d using 1:2 with points lc '%s' pt %d ps 0.7 notitle",
            steps, colour, style->point);
  if (name == 0) {
    if (curve->style != PERP_PLOT_STEPS) fputs("notitle", out);
    return;
  }
  if (curve->style == PERP_PLOT_STEPS)
    fprintf(out, ", \\\n  keyentry with linespoints lc '%s' lw 1.5 dt %d pt %d ps 0.7 ", colour,
            number, style->point);
  fprintf(out, "title ");
  perp_plot_name(out, curve->label, name);
}

static void plot_write_script(FILE *out, const perp_figure *figure)
{
  const plot_size size = plot_layout(figure);
  plot_terminals(out, figure, &size);
  fprintf(out, "set title ");
  perp_plot_quote(out, figure->title, size.title);
  /* in the middle of the picture, not of the field beside the names */
  if (size.n > 0)
    fprintf(out, " offset screen %.4f,0",
            0.5 - (size.frame.left + size.frame.right) / size.width / 2);
  /* powers of ten need the enhanced mode; names with _ or ^ must not be read as markup */
  fprintf(out, " noenhanced\nset xlabel ");
  perp_plot_axis_label(out, figure->xlabel, size.title);
  fprintf(out, " noenhanced\nset ylabel ");
  perp_plot_axis_label(out, figure->ylabel, size.tall);
  fprintf(out,
          " noenhanced\nset border 3 lc '#555555'\nset tics nomirror\n"
          "set grid lc '#cccccc' lw 1 dt 1\n"
          "set key below left Left reverse maxcols %d samplen 2 height 0.7 noenhanced\n"
          "if (tex) set key height 1.5\n",
          size.columns);
  plot_axis(out, figure, 'x', figure->logx);
  if (figure->n_rows > 0)
    plot_rows(out, figure, &size);
  else if (figure->share)
    plot_share(out);
  else
    plot_axis(out, figure, 'y', figure->logy);
  if (figure->floor > 0 && (figure->n_rows > 0 ? figure->logx : figure->logy))
    fprintf(out,
            figure->n_rows > 0
                ? "set object 1 rectangle from graph 0, graph 0 to first %.6g, graph 1 behind fc "
                  "'#888888' fs transparent solid 0.18 noborder\n"
                : "set object 1 rectangle from graph 0, graph 0 to graph 1, first %.6g behind fc "
                  "'#888888' fs transparent solid 0.18 noborder\n",
            figure->floor);
  plot_labels(out, figure, &size);

  int shown = 0, block = 0, published = 0, steps = 0, all_steps = 0;
  for (int k = 0; k < figure->n; k++) {
    shown += perp_curve_points(figure, &figure->curves[k]) > 0;
    all_steps += stepped(figure, &figure->curves[k]);
  }
  for (int k = 0; k < figure->n; k++)
    if (stepped(figure, &figure->curves[k]))
      plot_spots(out, &figure->curves[k], steps++, all_steps);
  steps = 0;
  fprintf(out, "plot \\\n");
  for (int k = 0; k < figure->n; k++) {
    const perp_curve *curve = &figure->curves[k];
    if (perp_curve_points(figure, curve) == 0) continue;
    published += curve->style == PERP_PLOT_PUBLISHED;
    /* names of rows stand at the axis; a ring is explained */
    const bool named = plot_beside(&size, k) ||
                       (figure->n_rows > 0 && curve->style == PERP_PLOT_POINTS);
    plot_curve(out, figure, curve, block, published - 1, steps, named ? 0 : size.name);
    steps += stepped(figure, curve);
    fprintf(out, ++block < shown ? ", \\\n" : "\n");
  }
}

static bool plot_good_id(const char *id)
{
  return id[0] != '\0' && id[0] != '.' && id[0] != '-' &&
         id[strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+")] ==
             '\0';
}

/* The file DIR/ID.SUFFIX and its text, to free; NULL after a message. */
static char *plot_write(perp_ctx *ctx, const perp_figure *figure, const char *dir,
                        const char *suffix, void (*put)(FILE *, const perp_figure *))
{
  char *text = NULL, *path = perp_xprintf("%s/%s.%s", dir, figure->id, suffix);
  size_t n = 0;
  FILE *out = perp_memory_stream(&text, &n);
  put(out, figure);
  perp_memory_stream_close(out);
  const perp_status status = perp_write_file(ctx, path, text, n);
  free(path);
  if (status == PERP_OK) return text;
  free(text);
  return NULL;
}

static perp_status plot_draw(perp_ctx *ctx, const perp_figure *figure, const char *dir,
                             const char *format, const char *script, const char *data)
{
  perp_pool pool = { 0 };
  const char *name = perp_pool_printf(&pool, "%s.%s", figure->id,
                                      strcmp(format, "tikz") == 0 ? "tex" : format),
             *path = perp_pool_printf(&pool, "%s/%s", dir, name);
  char *picture;
  size_t n = 0;
  unlink(path); /* the one of an earlier report would be taken for this one's */
  perp_gnuplot gnuplot = { .set = perp_pool_printf(&pool, "format='%s'", format),
                           .script_name = perp_pool_printf(&pool, "%s.gp", figure->id),
                           .script = script,
                           .data_name = perp_pool_printf(&pool, "%s.csv", figure->id),
                           .data = data,
                           .picture_name = name };
  perp_status status = perp_gnuplot_draw(ctx, &gnuplot, &picture, &n);
  if (status == PERP_OK) status = perp_write_file(ctx, path, picture, n);
  free(picture);
  perp_pool_free(&pool);
  return status;
}

/* In each format of a comma list. */
static perp_status plot_draw_all(perp_ctx *ctx, const perp_figure *figure, const char *dir,
                                 const char *formats, const char *script, const char *data)
{
  for (const char *at = formats; *at != '\0';) {
    size_t n = strcspn(at, ",");
    const char *const *format = perp_figure_formats;
    while (*format != NULL && (strlen(*format) != n || strncmp(*format, at, n) != 0)) format++;
    if (*format == NULL)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "unknown figure format '%.*s' (svg, pdf, png, tikz)",
                       (int)n, at);
    PERP_TRY(plot_draw(ctx, figure, dir, *format, script, data));
    at += n + (at[n] == ',');
  }
  return PERP_OK;
}

perp_status perp_figure_draw(perp_ctx *ctx, const perp_figure *figure, const char *dir,
                             const char *formats)
{
  if (perp_figure_points(figure) == 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the figure %s has no points", figure->id);
  if (!plot_good_id(figure->id))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "'%s' is not a valid name for the files of a figure",
                     figure->id);
  char *data = plot_write(ctx, figure, dir, "csv", write_data);
  char *script = data != NULL ? plot_write(ctx, figure, dir, "gp", plot_write_script) : NULL;
  perp_status status = script != NULL ? plot_draw_all(ctx, figure, dir, formats, script, data)
                                      : PERP_ERR_IO;
  free(data);
  free(script);
  return status;
}
