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

static bool plot_band(const perp_figure *f, const perp_curve *c, int i)
{
  return c->lo != NULL && c->hi != NULL && c->lo[i] <= c->hi[i] && isfinite(c->hi[i]) &&
         (!f->logy || c->lo[i] > 0);
}

static bool curve_banded(const perp_figure *f, const perp_curve *c)
{
  int n = 0;
  for (int i = 0; i < c->n; i++) n += perp_curve_drawable(f, c, i) && plot_band(f, c, i);
  return n > 1;
}

static bool plot_banded(const perp_figure *f)
{
  for (int k = 0; k < f->n; k++)
    if (curve_banded(f, &f->curves[k])) return true;
  return false;
}

/* One block a curve, so that gnuplot's `index` and a human both find it. */
static void write_data(FILE *out, const perp_figure *f)
{
  const bool bands = plot_banded(f);
  fprintf(out, bands ? "curve,x,y,lo,hi\n" : "curve,x,y\n");
  int block = 0;
  for (int k = 0; k < f->n; k++) {
    const perp_curve *c = &f->curves[k];
    if (perp_curve_points(f, c) == 0) continue;
    if (block++ > 0) fprintf(out, "\n\n");
    for (int i = 0; i < c->n; i++) {
      if (!perp_curve_drawable(f, c, i)) continue;
      csv_field(out, c->label);
      fprintf(out, ",%.17g,%.17g", c->x[i], c->y[i]);
      if (bands && plot_band(f, c, i)) fprintf(out, ",%.17g,%.17g", c->lo[i], c->hi[i]);
      fputs(bands && !plot_band(f, c, i) ? ",,\n" : "\n", out);
    }
  }
}

/* The different x [most] of a figure, ascending, when they are few and have room; their number,
 * else 0. */
static int plot_few(const perp_figure *f, double *x, int most)
{
  int n = 0;
  for (int k = 0; k < f->n; k++)
    for (int i = 0; i < f->curves[k].n; i++) {
      const double v = f->curves[k].x[i];
      int at = 0;
      if (!perp_curve_drawable(f, &f->curves[k], i)) continue;
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
static void plot_tics(FILE *out, const perp_figure *f, char name, double least, double most)
{
  enum { FEW = 8 };
  double own[FEW + 1];
  const char *comma = "";
  const int n = name == 'x' ? plot_few(f, own, FEW) : 0;
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
static void plot_range(const perp_figure *f, char name, bool logarithmic, double *range)
{
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (int k = 0; k < f->n; k++)
    for (int i = 0; i < f->curves[k].n; i++)
      if (perp_curve_drawable(f, &f->curves[k], i)) {
        double v = name == 'x' ? f->curves[k].x[i] : f->curves[k].y[i];
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

static bool plot_narrow(const perp_figure *f)
{
  return f->width > 0 && f->width < 12;
}

/* A logarithmic axis beyond this ratio has powers of ten alone. */
#define PLOT_DECADES 150.0

static void plot_axis(FILE *out, const perp_figure *f, char name, bool logarithmic)
{
  double range[2];
  plot_range(f, name, logarithmic, range);
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
      while (k < 7 && decades / steps[k] > (plot_narrow(f) ? 6 : 9)) k++;
      if (k > 0) fprintf(out, "set %ctics 1e%d\n", name, steps[k]);
    } else {
      plot_tics(out, f, name, range[0], range[1]);
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
static void plot_rows(FILE *out, const perp_figure *f, const plot_size *z)
{
  fprintf(out, "set yrange [-0.6:%d.4]\nset ytics (", f->n_rows - 1);
  for (int k = 0; k < f->n_rows; k++) {
    fputs(k > 0 ? ", " : "", out);
    perp_plot_name(out, f->row[k], (size_t)(0.42 * (double)z->title));
    fprintf(out, " %d", f->n_rows - 1 - k);
  }
  fputs(") noenhanced\n", out);
}

/* Is curve k named beside it? */
static bool plot_beside(const plot_size *z, int k)
{
  for (int i = 0; i < z->n; i++)
    if (z->label[i].curve == k) return true;
  return false;
}

/* The legend of those that are not named beside their curves. */
static void plot_legend(const perp_figure *f, plot_size *z)
{
  int shown = 0;
  size_t longest = 1;
  for (int k = 0; k < f->n; k++) {
    const size_t n = strlen(f->curves[k].label);
    if (perp_curve_points(f, &f->curves[k]) == 0 || f->curves[k].style == PERP_PLOT_END ||
        plot_beside(z, k))
      continue;
    shown++;
    if (n > longest) longest = n < z->name ? n : z->name;
  }
  z->columns = (int)((z->width - 0.6) / ((double)longest * z->letter + 1.6));
  if (z->columns < 1) z->columns = 1;
  if (z->columns > 4) z->columns = 4;
  z->rows = (shown + z->columns - 1) / z->columns;
}

/* Rows have their names at the axis, and no legend. */
static plot_size plot_row_layout(const perp_figure *f, plot_size z)
{
  z.columns = 1;
  z.height = (4.5 + 2.2 * f->n_rows) * z.line;
  z.tall = (size_t)(z.height / z.letter);
  return z;
}

static plot_size plot_layout(const perp_figure *f)
{
  const bool narrow = plot_narrow(f);
  plot_size z = { .width = f->width > 0 ? f->width : PERP_PLOT_PAGE, .points = narrow ? 6.5 : 9 };
  bool *named = calloc((size_t)f->n + 1, sizeof *named);
  z.height = z.width / 1.6;
  z.letter = 0.0353 * z.points * 0.62; /* DejaVu, the widest that is usual */
  z.line = 0.0353 * z.points * 1.35;
  z.title = (size_t)((z.width - 1.4) / z.letter);
  z.name = (size_t)((z.width - 2.4) / z.letter);
  z.tall = (size_t)((z.height - 1.2) / z.letter);
  if (f->n_rows > 0) {
    free(named);
    return plot_row_layout(f, z);
  }
  for (int k = 0; named != NULL && k < f->n; k++) {
    named[k] = perp_plot_direct(&f->curves[k]) && perp_curve_points(f, &f->curves[k]) > 0;
  }
  const double row = 0.0353 * z.points * 1.7;
  perp_plot_frame frame = { .width = z.width,
                            .height = z.height,
                            .top = z.height - 3 * z.line,
                            .letter = z.letter,
                            .line = z.line };
  plot_range(f, 'x', f->logx, frame.x);
  plot_range(f, 'y', f->logy, frame.y);
  /* powers of ten are short, and so are shares */
  const bool few = f->share || (f->logy && frame.y[1] / frame.y[0] > PLOT_DECADES);
  frame.left = z.line * (1.6 + (strlen(f->ylabel) > z.tall)) + z.letter * (few ? 8 : 10);
  if (f->share) {
    frame.y[0] = 0;
    frame.y[1] = 1.02;
  }
  /* the legend of the other curves is below the axis */
  plot_size others = z;
  for (int k = 0; named != NULL && k < f->n; k++)
    if (named[k] && others.n < PERP_LABELS) others.label[others.n++].curve = k;
  plot_legend(f, &others);
  frame.bottom = 3.6 * z.line + row * others.rows;
  if (named != NULL && perp_plot_place(f, named, &frame, z.label, &z.n)) {
    z.frame = frame;
    plot_legend(f, &z);
  } else {
    z.n = 0;
    plot_legend(f, &z);
    /* the field keeps most of a picture of 16:10, which grows with a long legend */
    z.height = fmax(z.height, (narrow ? 6 : 0.72 * z.height) + row * z.rows);
  }
  free(named);
  return z;
}

static void plot_terminals(FILE *out, const perp_figure *f, const plot_size *z)
{
  /* a screen shows 1 cm as 43 points: text of the same size as that of the page around */
  const double screen = 43, height = z->height;
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
      f->id, f->id, f->id, screen * z->width, screen * height, 1.5 * z->points, z->width, height,
      z->points, 65 * z->width, 65 * height, 1.5 * z->points, z->width, height,
      z->points < 8 ? "footnotesize" : "small", f->id);
}

/* Darker than the curve, so that text of it can be read on white. */
static void plot_ink(FILE *out, const char *colour)
{
  unsigned rgb = (unsigned)strtoul(colour + 1, NULL, 16), dark = 0;
  for (int shift = 0; shift < 24; shift += 8) dark |= (rgb >> shift & 0xff) * 7 / 10 << shift;
  fprintf(out, "'#%06x'", dark);
}

static const char *plot_colour(const perp_curve *c)
{
  return c->style == PERP_PLOT_PUBLISHED ? "#444444"
         : c->style == PERP_PLOT_MARK    ? "#000000"
         : c->style == PERP_PLOT_GUIDE   ? "#aaaaaa"
         : c->style == PERP_PLOT_BOUND   ? "#b8b8b8"
                                         : perp_style_of(c->colour)->light;
}

/* Names beside the curves: each line of one is a label of its own, as LaTeX breaks none. */
static void plot_labels(FILE *out, const perp_figure *f, const plot_size *z)
{
  static const char *const align[] = { "left", "center", "right" };
  const perp_plot_frame *p = &z->frame;
  if (z->n == 0) return;
  fprintf(out,
          "set lmargin at screen %.4f\nset rmargin at screen %.4f\nset bmargin at screen %.4f\n"
          "set tmargin at screen %.4f\n",
          p->left / p->width, p->right / p->width, p->bottom / p->height, p->top / p->height);
  for (int i = 0; i < z->n; i++) {
    const perp_plot_label *l = &z->label[i];
    const char *colour = plot_colour(&f->curves[l->curve]);
    if (l->leader)
      fprintf(out, "set arrow from screen %.4f,%.4f to screen %.4f,%.4f nohead lc '%s' lw 0.7\n",
              l->from_x / p->width, l->from_y / p->height, l->to_x / p->width, l->to_y / p->height,
              colour);
    for (int k = 0; k < l->lines; k++) {
      char *text = perp_xprintf("%.*s", l->line[k].n, l->line[k].text);
      fprintf(out, "set label ");
      perp_plot_quote(out, text, strlen(text));
      fprintf(out, " at screen %.4f,%.4f %s noenhanced front textcolor rgb ", l->x / p->width,
              (l->y + ((l->lines - 1) / 2.0 - k) * p->line) / p->height, align[l->align + 1]);
      plot_ink(out, colour);
      fputc('\n', out);
      free(text);
    }
  }
}

/* Steps are told apart by a few markers as well: where the k-th of n such curves has them, the
 * markers of one beside those of the others. */
enum { SPOTS = 5 };

static bool stepped(const perp_figure *f, const perp_curve *c)
{
  return c->style == PERP_PLOT_STEPS && perp_curve_points(f, c) > 0;
}

static void plot_spots(FILE *out, const perp_curve *c, int k, int n)
{
  const double lo = c->x[0], hi = c->x[c->n - 1];
  fprintf(out, "$spots%d << EOD\n", k);
  for (int m = 0; m < SPOTS && lo > 0 && hi > lo; m++) {
    const double x = lo * pow(hi / lo, (m + (k + 0.5) / n) / SPOTS);
    int i = 0;
    while (i + 1 < c->n && c->x[i + 1] <= x) i++;
    fprintf(out, "%.6g,%.6g\n", x, c->y[i]);
  }
  if (!(lo > 0 && hi > lo)) fprintf(out, "%.6g,%.6g\n", hi, c->y[c->n - 1]);
  fputs("EOD\n", out);
}

/* name: letters in the legend; 0: named beside the curve. */
static void plot_curve(FILE *out, const perp_figure *f, const perp_curve *c, int block,
                       int published, int steps, size_t name)
{
  const perp_style *style = perp_style_of(c->colour);
  const char *colour = plot_colour(c);
  const bool dashed = c->style == PERP_PLOT_LINES || c->style == PERP_PLOT_STEPS;
  const int number = dashed                            ? 1 + style->dashed
                     : c->style == PERP_PLOT_PUBLISHED ? 1 + published % 3
                     : c->style == PERP_PLOT_MARK      ? (c->colour == 0 ? 6 : 4)
                     : c->style == PERP_PLOT_GUIDE     ? 3
                     : c->style == PERP_PLOT_BOUND     ? 1
                     : c->style == PERP_PLOT_END       ? 2
                                                       : style->point;
  const int skip = block == 0 ? 1 : 0;
  if (curve_banded(f, c))
    fprintf(out,
            "  '%s.csv' index %d using 2:4:5 skip %d with filledcurves fc '%s' fs transparent "
            "solid 0.15 noborder notitle, \\\n",
            f->id, block, skip, colour);
  fprintf(out, "  '%s.csv' index %d using 2:3 skip %d ", f->id, block, skip);
  fprintf(out, styles[c->style], colour, number);
  if (c->style == PERP_PLOT_POINTS_LINES && style->dashed) fputs("dt 2 ", out);
  /* long lines carry a few markers, so that colour is not all that tells them apart */
  if (c->style == PERP_PLOT_LINES) fprintf(out, "pt %d ps 0.6 pi %d ", style->point, 1 + c->n / 6);
  if (c->style == PERP_PLOT_END) {
    fputs("notitle", out);
    return;
  }
  if (c->style == PERP_PLOT_STEPS)
    fprintf(out, "notitle, \\\n  $spots%d using 1:2 with points lc '%s' pt %d ps 0.7 notitle",
            steps, colour, style->point);
  if (name == 0) {
    if (c->style != PERP_PLOT_STEPS) fputs("notitle", out);
    return;
  }
  if (c->style == PERP_PLOT_STEPS)
    fprintf(out, ", \\\n  keyentry with linespoints lc '%s' lw 1.5 dt %d pt %d ps 0.7 ", colour,
            number, style->point);
  fprintf(out, "title ");
  perp_plot_name(out, c->label, name);
}

static void plot_write_script(FILE *out, const perp_figure *f)
{
  const plot_size z = plot_layout(f);
  plot_terminals(out, f, &z);
  fprintf(out, "set title ");
  perp_plot_quote(out, f->title, z.title);
  /* in the middle of the picture, not of the field beside the names */
  if (z.n > 0)
    fprintf(out, " offset screen %.4f,0", 0.5 - (z.frame.left + z.frame.right) / z.width / 2);
  /* powers of ten need the enhanced mode; names with _ or ^ must not be read as markup */
  fprintf(out, " noenhanced\nset xlabel ");
  perp_plot_axis_label(out, f->xlabel, z.title);
  fprintf(out, " noenhanced\nset ylabel ");
  perp_plot_axis_label(out, f->ylabel, z.tall);
  fprintf(out,
          " noenhanced\nset border 3 lc '#555555'\nset tics nomirror\n"
          "set grid lc '#cccccc' lw 1 dt 1\n"
          "set key below left Left reverse maxcols %d samplen 2 height 0.7 noenhanced\n"
          "if (tex) set key height 1.5\n",
          z.columns);
  plot_axis(out, f, 'x', f->logx);
  if (f->n_rows > 0)
    plot_rows(out, f, &z);
  else if (f->share)
    plot_share(out);
  else
    plot_axis(out, f, 'y', f->logy);
  if (f->floor > 0 && (f->n_rows > 0 ? f->logx : f->logy))
    fprintf(out,
            f->n_rows > 0
                ? "set object 1 rectangle from graph 0, graph 0 to first %.6g, graph 1 behind fc "
                  "'#888888' fs transparent solid 0.18 noborder\n"
                : "set object 1 rectangle from graph 0, graph 0 to graph 1, first %.6g behind fc "
                  "'#888888' fs transparent solid 0.18 noborder\n",
            f->floor);
  plot_labels(out, f, &z);

  int shown = 0, block = 0, published = 0, steps = 0, all_steps = 0;
  for (int k = 0; k < f->n; k++) {
    shown += perp_curve_points(f, &f->curves[k]) > 0;
    all_steps += stepped(f, &f->curves[k]);
  }
  for (int k = 0; k < f->n; k++)
    if (stepped(f, &f->curves[k])) plot_spots(out, &f->curves[k], steps++, all_steps);
  steps = 0;
  fprintf(out, "plot \\\n");
  for (int k = 0; k < f->n; k++) {
    const perp_curve *c = &f->curves[k];
    if (perp_curve_points(f, c) == 0) continue;
    published += c->style == PERP_PLOT_PUBLISHED;
    /* names of rows stand at the axis; a ring is explained */
    const bool named = plot_beside(&z, k) || (f->n_rows > 0 && c->style == PERP_PLOT_POINTS);
    plot_curve(out, f, c, block, published - 1, steps, named ? 0 : z.name);
    steps += stepped(f, c);
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
static char *plot_write(perp_ctx *ctx, const perp_figure *f, const char *dir, const char *suffix,
                        void (*put)(FILE *, const perp_figure *))
{
  char *text = NULL, *path = perp_xprintf("%s/%s.%s", dir, f->id, suffix);
  size_t n = 0;
  FILE *out = perp_memory_stream(&text, &n);
  put(out, f);
  perp_memory_stream_close(out);
  const perp_status status = perp_write_file(ctx, path, text, n);
  free(path);
  if (status == PERP_OK) return text;
  free(text);
  return NULL;
}

static perp_status plot_draw(perp_ctx *ctx, const perp_figure *f, const char *dir,
                             const char *format, const char *script, const char *data)
{
  perp_pool pool = { 0 };
  const char *name = perp_pool_printf(&pool, "%s.%s", f->id,
                                      strcmp(format, "tikz") == 0 ? "tex" : format),
             *path = perp_pool_printf(&pool, "%s/%s", dir, name);
  char *picture;
  size_t n = 0;
  unlink(path); /* the one of an earlier report would be taken for this one's */
  perp_gnuplot g = { .set = perp_pool_printf(&pool, "format='%s'", format),
                     .script_name = perp_pool_printf(&pool, "%s.gp", f->id),
                     .script = script,
                     .data_name = perp_pool_printf(&pool, "%s.csv", f->id),
                     .data = data,
                     .picture_name = name };
  perp_status status = perp_gnuplot_draw(ctx, &g, &picture, &n);
  if (status == PERP_OK) status = perp_write_file(ctx, path, picture, n);
  free(picture);
  perp_pool_free(&pool);
  return status;
}

/* In each format of a comma list. */
static perp_status plot_draw_all(perp_ctx *ctx, const perp_figure *f, const char *dir,
                                 const char *formats, const char *script, const char *data)
{
  for (const char *s = formats; *s != '\0';) {
    size_t n = strcspn(s, ",");
    const char *const *format = perp_figure_formats;
    while (*format != NULL && (strlen(*format) != n || strncmp(*format, s, n) != 0)) format++;
    if (*format == NULL)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "unknown figure format '%.*s' (svg, pdf, png, tikz)",
                       (int)n, s);
    PERP_TRY(plot_draw(ctx, f, dir, *format, script, data));
    s += n + (s[n] == ',');
  }
  return PERP_OK;
}

perp_status perp_figure_draw(perp_ctx *ctx, const perp_figure *f, const char *dir,
                             const char *formats)
{
  if (perp_figure_points(f) == 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the figure %s has no points", f->id);
  if (!plot_good_id(f->id))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "'%s' is not a valid name for the files of a figure",
                     f->id);
  char *data = plot_write(ctx, f, dir, "csv", write_data);
  char *script = data != NULL ? plot_write(ctx, f, dir, "gp", plot_write_script) : NULL;
  perp_status status = script != NULL ? plot_draw_all(ctx, f, dir, formats, script, data)
                                      : PERP_ERR_IO;
  free(data);
  free(script);
  return status;
}
