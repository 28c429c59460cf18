/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/plot.h"

#include "experiments/pages/gnuplot.h"
#include "experiments/pages/latex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Okabe & Ito 2008: distinguishable with all common forms of colour blindness */
static const char *const palette[] = { "#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                       "#E69F00", "#56B4E9", "#000000", "#8C6D1F" };
enum { N_PALETTE = sizeof palette / sizeof *palette };

const char *const perp_figure_formats[] = { "svg", "pdf", "png", "tikz", NULL };

static const int markers[] = { 7, 5, 9, 13, 11, 15, 4, 6, 8, 12 }; /* gnuplot point types */
enum { N_MARKERS = sizeof markers / sizeof *markers };

/* How gnuplot draws a curve of a colour; the number is of the marker or of the dashes. */
static const char *const styles[] = {
  [PERP_PLOT_POINTS_LINES] = "with linespoints lc '%s' lw 1.5 pt %d ps 0.7 ",
  [PERP_PLOT_LINES] = "with lines lc '%s' lw 1.3 dt %d ",
  [PERP_PLOT_POINTS] = "with points lc '%s' pt %d ps 0.8 ",
  [PERP_PLOT_STEPS] = "with steps lc '%s' lw 1.5 dt %d ",
  [PERP_PLOT_PUBLISHED] = "with points lc '%s' lw 1.5 pt %d ps 1.1 ",
  [PERP_PLOT_MARK] = "with points lc '%s' lw 1.2 pt %d ps 1.7 ",
  [PERP_PLOT_GUIDE] = "with lines lc '%s' lw 1 dt %d "
};

static bool plot_drawable(const perp_figure *f, const perp_curve *c, int i)
{
  return isfinite(c->x[i]) && isfinite(c->y[i]) && (!f->logx || c->x[i] > 0) &&
         (!f->logy || c->y[i] > 0);
}

static int drawable_points(const perp_figure *f, const perp_curve *c)
{
  int count = 0;
  for (int i = 0; i < c->n; i++) count += plot_drawable(f, c, i);
  return count;
}

/* As it is, and as LaTeX wants it. */
static void plot_quote(FILE *out, const char *text)
{
  char *tex = perp_tex_string(text);
  if (strcmp(tex, text) == 0) {
    perp_gnuplot_text(out, text);
  } else {
    fputs("(tex ? ", out);
    perp_gnuplot_text(out, tex);
    fputs(" : ", out);
    perp_gnuplot_text(out, text);
    fputc(')', out);
  }
  free(tex);
}

static void csv_field(FILE *out, const char *text)
{
  fputc('"', out);
  for (; *text != '\0'; text++) {
    if (*text == '"') fputc('"', out);
    fputc(*text, out);
  }
  fputc('"', out);
}

/* One block a curve, so that gnuplot's `index` and a human both find it. */
static void write_data(FILE *out, const perp_figure *f)
{
  fprintf(out, "curve,x,y\n");
  int block = 0;
  for (int k = 0; k < f->n; k++) {
    const perp_curve *c = &f->curves[k];
    if (drawable_points(f, c) == 0) continue;
    if (block++ > 0) fprintf(out, "\n\n");
    for (int i = 0; i < c->n; i++) {
      if (!plot_drawable(f, c, i)) continue;
      csv_field(out, c->label);
      fprintf(out, ",%.17g,%.17g\n", c->x[i], c->y[i]);
    }
  }
}

static void plot_axis(FILE *out, const perp_figure *f, char name, bool logarithmic)
{
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (int k = 0; k < f->n; k++)
    for (int i = 0; i < f->curves[k].n; i++)
      if (plot_drawable(f, &f->curves[k], i)) {
        double v = name == 'x' ? f->curves[k].x[i] : f->curves[k].y[i];
        least = fmin(least, v);
        most = fmax(most, v);
      }
  if (logarithmic) {
    fprintf(out, "set logscale %c 10\n", name);
    /* with less than two decades between the ends, powers of ten alone leave an axis bare */
    if (most / least > 100) {
      fprintf(out, "set format %c (tex ? '$10^{%%L}$' : '10^{%%L}')\n", name);
    } else {
      fprintf(out, "set format %c '%%.3g'\nset %ctics (", name, name);
      const char *comma = "";
      for (double decade = pow(10, floor(log10(least)) - 1); decade <= most * 3; decade *= 10)
        for (int digit = 1; digit <= 5; digit += digit == 2 ? 3 : 1)
          if (digit != 3 && digit * decade >= least / 3 && digit * decade <= most * 3) {
            fprintf(out, "%s%.3g", comma, digit * decade);
            comma = ", ";
          }
      fprintf(out, ") enhanced\n");
    }
    if (least == most) fprintf(out, "set %crange [%.17g:%.17g]\n", name, least / 3, most * 3);
  } else {
    fprintf(out, "set format %c '%%g'\n", name);
    if (least == most) {
      double pad = least != 0 ? fabs(least) / 10 : 1;
      fprintf(out, "set %crange [%.17g:%.17g]\n", name, least - pad, most + pad);
    }
  }
}

static void plot_write_script(FILE *out, const perp_figure *f)
{
  int shown = 0;
  size_t longest = 0;
  for (int k = 0; k < f->n; k++)
    if (drawable_points(f, &f->curves[k]) > 0) {
      shown++;
      if (strlen(f->curves[k].label) > longest) longest = strlen(f->curves[k].label);
    }
  int key_columns = longest > 44 ? 1 : 2;
  int key_rows = (shown + key_columns - 1) / key_columns;

  fprintf(
      out,
      "# gnuplot -e \"format='svg'\" %s.gp   draws %s.svg (also pdf, png, tikz) from %s.csv\n"
      "if (!exists('format')) format = 'svg'\n"
      "if (format eq 'svg') set terminal svg size 760,%d dynamic font 'sans-serif,13' enhanced\n"
      "if (format eq 'pdf') set terminal pdfcairo size 16cm,%.1fcm font 'sans,10' enhanced\n"
      "if (format eq 'png') set terminal pngcairo size 1140,%d font 'sans,14' enhanced\n"
      "tex = format eq 'tikz' # pictures that LaTeX draws, with \\usepackage{gnuplot-lua-tikz}\n"
      "if (tex) set terminal tikz size 14cm,%.1fcm font '\\small'\n"
      "set output '%s.'.(tex ? 'tex' : format)\n"
      "set datafile separator ','\n",
      f->id, f->id, f->id, 400 + 19 * key_rows, 9.0 + 0.45 * key_rows, 600 + 28 * key_rows,
      8.5 + 0.45 * key_rows, f->id);
  fprintf(out, "set title ");
  plot_quote(out, f->title);
  /* powers of ten need the enhanced mode; names with _ or ^ must not be read as markup */
  fprintf(out, " noenhanced\nset xlabel ");
  plot_quote(out, f->xlabel);
  fprintf(out, " noenhanced\nset ylabel ");
  plot_quote(out, f->ylabel);
  fprintf(out,
          " noenhanced\nset border 3 lc '#555555'\nset tics nomirror\n"
          "set grid lc '#cccccc' lw 1 dt 1\n"
          "set key below left Left reverse maxcols %d samplen 3 noenhanced\n"
          "if (tex) set key height 1.5\n",
          key_columns);
  plot_axis(out, f, 'x', f->logx);
  plot_axis(out, f, 'y', f->logy);

  fprintf(out, "plot \\\n");
  int block = 0, published = 0;
  for (int k = 0; k < f->n; k++) {
    const perp_curve *c = &f->curves[k];
    if (drawable_points(f, c) == 0) continue;
    fprintf(out, "  '%s.csv' index %d using 2:3 skip %d ", f->id, block, block == 0 ? 1 : 0);
    const char *colour = c->style == PERP_PLOT_PUBLISHED ? "#444444"
                         : c->style == PERP_PLOT_MARK    ? "#000000"
                         : c->style == PERP_PLOT_GUIDE   ? "#aaaaaa"
                                                         : palette[c->colour % N_PALETTE];
    bool dashed = c->style == PERP_PLOT_LINES || c->style == PERP_PLOT_STEPS;
    int number = dashed                            ? 1 + c->colour / N_PALETTE
                 : c->style == PERP_PLOT_PUBLISHED ? 1 + published++ % 3
                 : c->style == PERP_PLOT_MARK      ? (c->colour == 0 ? 6 : 4)
                 : c->style == PERP_PLOT_GUIDE     ? 3
                                                   : markers[k % N_MARKERS];
    fprintf(out, styles[c->style], colour, number);
    fprintf(out, "title ");
    plot_quote(out, c->label);
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
  FILE *out = open_memstream(&text, &n);
  perp_status status = out != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory");
  if (out != NULL) {
    put(out, f);
    fclose(out);
    status = perp_write_file(ctx, path, text, n);
  }
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

int perp_figure_points(const perp_figure *f)
{
  int points = 0;
  for (int k = 0; k < f->n; k++) points += drawable_points(f, &f->curves[k]);
  return points;
}

perp_status perp_figure_draw(perp_ctx *ctx, const perp_figure *f, const char *dir,
                             const char *formats)
{
  if (perp_figure_points(f) == 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "figure %s has no point to draw", f->id);
  if (!plot_good_id(f->id))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "'%s' is no name for the files of a figure", f->id);
  char *data = plot_write(ctx, f, dir, "csv", write_data);
  char *script = data != NULL ? plot_write(ctx, f, dir, "gp", plot_write_script) : NULL;
  perp_status status = script != NULL ? plot_draw_all(ctx, f, dir, formats, script, data)
                                      : PERP_ERR_IO;
  free(data);
  free(script);
  return status;
}
