/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/plot.h"

#include "experiments/report/tex.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Okabe & Ito 2008: distinguishable with all common forms of colour blindness */
static const char *const palette[] = { "#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                       "#E69F00", "#56B4E9", "#000000", "#8C6D1F" };
enum { N_PALETTE = sizeof palette / sizeof *palette, PATH_LENGTH = 1024 };

const char *perp_palette(int i)
{
  return palette[i % N_PALETTE];
}

const char *const perp_figure_formats[] = { "svg", "pdf", "png", "tikz", NULL };

static const int markers[] = { 7, 5, 9, 13, 11, 15, 4, 6, 8, 12 }; /* gnuplot point types */
enum { N_MARKERS = sizeof markers / sizeof *markers };

static bool drawable(const perp_figure *f, const perp_curve *c, int i)
{
  return isfinite(c->x[i]) && isfinite(c->y[i]) && (!f->logx || c->x[i] > 0) &&
         (!f->logy || c->y[i] > 0);
}

static int drawable_points(const perp_figure *f, const perp_curve *c)
{
  int count = 0;
  for (int i = 0; i < c->n; i++) count += drawable(f, c, i);
  return count;
}

/* gnuplot single-quoted strings double the quote; enhanced text would read _ ^ @ as markup */
static void quote_one(FILE *out, const char *text)
{
  fputc('\'', out);
  for (; *text != '\0'; text++) {
    if (*text == '\'') fputc('\'', out);
    fputc(*text == '\n' ? ' ' : *text, out);
  }
  fputc('\'', out);
}

/* As it is, and as LaTeX wants it. */
static void quote(FILE *out, const char *text)
{
  char *tex = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&tex, &size);
  if (to == NULL) {
    quote_one(out, text);
    return;
  }
  perp_tex_text(to, text);
  fclose(to);
  if (strcmp(tex, text) == 0) {
    quote_one(out, text);
  } else {
    fputs("(tex ? ", out);
    quote_one(out, tex);
    fputs(" : ", out);
    quote_one(out, text);
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
      if (!drawable(f, c, i)) continue;
      csv_field(out, c->label);
      fprintf(out, ",%.17g,%.17g\n", c->x[i], c->y[i]);
    }
  }
}

static void axis(FILE *out, const perp_figure *f, char name, bool logarithmic)
{
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (int k = 0; k < f->n; k++)
    for (int i = 0; i < f->curves[k].n; i++)
      if (drawable(f, &f->curves[k], i)) {
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

static void write_script(FILE *out, const perp_figure *f)
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
  quote(out, f->title);
  /* powers of ten need the enhanced mode; names with _ or ^ must not be read as markup */
  fprintf(out, " noenhanced\nset xlabel ");
  quote(out, f->xlabel);
  fprintf(out, " noenhanced\nset ylabel ");
  quote(out, f->ylabel);
  fprintf(out,
          " noenhanced\nset border 3 lc '#555555'\nset tics nomirror\n"
          "set grid lc '#cccccc' lw 1 dt 1\n"
          "set key below left Left reverse maxcols %d samplen 3 noenhanced\n"
          "if (tex) set key height 1.5\n",
          key_columns);
  axis(out, f, 'x', f->logx);
  axis(out, f, 'y', f->logy);

  fprintf(out, "plot \\\n");
  int block = 0, published = 0;
  for (int k = 0; k < f->n; k++) {
    const perp_curve *c = &f->curves[k];
    if (drawable_points(f, c) == 0) continue;
    fprintf(out, "  '%s.csv' index %d using 2:3 skip %d ", f->id, block, block == 0 ? 1 : 0);
    const char *colour = perp_palette(c->colour);
    int marker = markers[k % N_MARKERS];
    switch (c->style) {
    case PERP_PLOT_POINTS_LINES:
      fprintf(out, "with linespoints lc '%s' lw 1.5 pt %d ps 0.7 ", colour, marker);
      break;
    case PERP_PLOT_LINES:
      fprintf(out, "with lines lc '%s' lw 1.3 dt %d ", colour, 1 + c->colour / N_PALETTE);
      break;
    case PERP_PLOT_POINTS:
      fprintf(out, "with points lc '%s' pt %d ps 0.8 ", colour, marker);
      break;
    case PERP_PLOT_STEPS:
      fprintf(out, "with steps lc '%s' lw 1.5 dt %d ", colour, 1 + c->colour / N_PALETTE);
      break;
    case PERP_PLOT_PUBLISHED:
      fprintf(out, "with points lc '#444444' lw 1.5 pt %d ps 1.1 ", 1 + published++ % 3);
      break;
    case PERP_PLOT_MARK:
      fprintf(out, "with points lc '#000000' lw 1.2 pt %d ps 1.7 ", c->colour == 0 ? 6 : 4);
      break;
    case PERP_PLOT_GUIDE:
      fprintf(out, "with lines lc '#aaaaaa' lw 1 dt 3 ");
      break;
    }
    fprintf(out, "title ");
    quote(out, c->label);
    fprintf(out, ++block < shown ? ", \\\n" : "\n");
  }
}

/* What gnuplot says is of interest when it fails; it warns of long keys that it draws well.  The line it ends with: an
 * error comes last, after the command and a mark below it. */
static void last_line(int said, char *text, size_t size)
{
  off_t end = said >= 0 ? lseek(said, 0, SEEK_END) : 0, from = end - (off_t)(size - 1);
  ssize_t n = end > 0 ? pread(said, text, size - 1, from > 0 ? from : 0) : 0;
  while (n > 0 && isspace((unsigned char)text[n - 1])) n--;
  text[n > 0 ? n : 0] = '\0';
  char *line = strrchr(text, '\n');
  if (line != NULL) memmove(text, line + 1, strlen(line));
}

static perp_status run_gnuplot(perp_ctx *ctx, const char *dir, const char *id, const char *format)
{
  char set_format[64], script[PATH_LENGTH], picture[PATH_LENGTH];
  snprintf(set_format, sizeof set_format, "format='%s'", format);
  snprintf(script, sizeof script, "%s.gp", id);
  snprintf(picture, sizeof picture, "%s/%s.%s", dir, id,
           strcmp(format, "tikz") == 0 ? "tex" : format);
  unlink(picture); /* the one of an earlier report would be taken for this one's */
  char *argv[] = { (char *)"gnuplot", (char *)"-e", set_format, script, NULL };
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, dir);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  int said = memfd_create("gnuplot", MFD_CLOEXEC);
  if (said >= 0) posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
  pid_t pid;
  int failed = posix_spawnp(&pid, "gnuplot", &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  while (failed == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  char words[300];
  last_line(said, words, sizeof words);
  if (said >= 0) close(said);
  if (failed != 0)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "gnuplot: %s (package gnuplot-nox)", strerror(failed));
  if (WIFSIGNALED(status))
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "gnuplot: ended by signal %d", WTERMSIG(status));
  if (WEXITSTATUS(status) != 0 && words[0] != '\0')
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "gnuplot: %s", words);
  if (WEXITSTATUS(status) != 0)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "gnuplot: status %d", WEXITSTATUS(status));
  if (access(picture, R_OK) != 0)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "gnuplot: wrote no picture as %s", format);
  return PERP_OK;
}

static perp_status write_file(perp_ctx *ctx, const perp_figure *f, const char *dir,
                              const char *suffix, void (*write)(FILE *, const perp_figure *))
{
  char path[PATH_LENGTH];
  snprintf(path, sizeof path, "%s/%s.%s", dir, f->id, suffix);
  FILE *out = fopen(path, "w");
  if (out == NULL) return PERP_FAIL(ctx, PERP_ERR_IO, "%s: %s", path, strerror(errno));
  write(out, f);
  bool failed = ferror(out) != 0;
  if (fclose(out) != 0 || failed) return PERP_FAIL(ctx, PERP_ERR_IO, "%s: write error", path);
  return PERP_OK;
}

perp_status perp_figure_draw(perp_ctx *ctx, const perp_figure *f, const char *dir,
                             const char *formats)
{
  int points = 0;
  for (int k = 0; k < f->n; k++) points += drawable_points(f, &f->curves[k]);
  if (points == 0) return PERP_FAIL(ctx, PERP_ERR_ARG, "figure %s has no point to draw", f->id);
  PERP_TRY(write_file(ctx, f, dir, "csv", write_data));
  PERP_TRY(write_file(ctx, f, dir, "gp", write_script));
  while (*formats != '\0') {
    char format[16];
    size_t n = strcspn(formats, ",");
    if (n >= sizeof format)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "unknown figure format '%s'", formats);
    memcpy(format, formats, n);
    format[n] = '\0';
    bool valid = false;
    for (int i = 0; perp_figure_formats[i] != NULL; i++)
      valid |= strcmp(perp_figure_formats[i], format) == 0;
    if (!valid)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "unknown figure format '%s' (svg, pdf, png, tikz)",
                       format);
    PERP_TRY(run_gnuplot(ctx, dir, f->id, format));
    formats += n + (formats[n] == ',');
  }
  return PERP_OK;
}
