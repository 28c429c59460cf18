/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the report: observed order, CSV reading, escaping, figures on disk. */
#include "models/models.h"
#include "experiments/pages/csv.h"
#include "experiments/results/order.h"
#include "experiments/pages/plot_draw.h"
#include "experiments/pages/latex.h"
#include "experiments/pages/styles.h"
#include "experiments/study/words.h"
#include "experiments/metrics/metrics.h"
#include "tests/tap.h"
#include "experiments/base/memory.h"
#include "experiments/base/files.h"

#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/perp-report-XXXXXX";

static const char *in_dir(const char *name)
{
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

static void write_text(const char *name, const char *text)
{
  FILE *out = fopen(in_dir(name), "w");
  fputs(text, out);
  fclose(out);
}

static void orders(void)
{
  double h[10], e[10];
  for (int i = 0; i < 10; i++) {
    h[i] = ldexp(1e-4, i);
    e[i] = 3 * pow(h[i], 4);
  }
  perp_order o = perp_observed_order(h, e, 10, 0);
  near(o.slope, 4, 1e-12, 0, "err = 3 h^4 has order 4");
  ok(o.first == 0 && o.last == 9, "on the whole range");

  /* a floor of rounding below, divergence above: the straight part in between counts */
  e[0] = e[1] = e[2] = 1e-15;
  e[9] = 1e3;
  o = perp_observed_order(h, e, 10, 0);
  near(o.slope, 4, 1e-12, 0, "floor and divergence are left out");
  ok(o.first == 3 && o.last == 8, "window %d ... %d", o.first, o.last);

  e[4] = (double)NAN;
  o = perp_observed_order(h, e, 10, 0);
  ok(o.first == 5 && o.last == 8, "a missing point breaks the window: %d ... %d", o.first, o.last);
  ok(isnan(perp_observed_order(h, e, 2, 0).slope), "two points have no order");
  const double jagged[4] = { 1, 100, 1, 100 };
  ok(isnan(perp_observed_order(h, jagged, 4, 0).slope), "a jagged curve has no order");
}

/* What is flat is a floor: of rounding, of the reference, or of an error that does not come from
 * the step. */
static void floors(void)
{
  double h[10], e[10];
  for (int i = 0; i < 10; i++) {
    h[i] = ldexp(1e-4, i);
    e[i] = 3e-15 * (1 + 0.05 * (i % 3));
  }
  ok(isnan(perp_observed_order(h, e, 10, 0).slope), "a noise floor has no order");
  for (int i = 0; i < 10; i++) e[i] = 1e-14 * pow(h[i], -0.5);
  ok(isnan(perp_observed_order(h, e, 10, 0).slope),
     "rounding that grows with the number of steps has none");
  /* six points of floor, four of order 2: the shorter window counts, as the longer one is flat */
  for (int i = 0; i < 10; i++) e[i] = i < 6 ? 1e-13 : 1e-13 * pow(4, i - 5);
  perp_order o = perp_observed_order(h, e, 10, 0);
  near(o.slope, 2, 1e-12, 0, "behind a floor the order is seen");
  ok(o.first == 5 && o.last == 9, "window %d ... %d", o.first, o.last);
  /* under the uncertainty of the truth nothing is fitted, however straight */
  for (int i = 0; i < 10; i++) e[i] = 1e-12 * pow(2, i);
  o = perp_observed_order(h, e, 10, 20e-12);
  near(o.slope, 1, 1e-12, 0, "order 1 above the noise");
  ok(o.first == 5, "and only there: from %d", o.first);
  ok(isnan(perp_observed_order(h, e, 10, 1).slope), "all of it noise: none");
}

static void powers(void)
{
  const double x[5] = { 2, 4, 8, 16, 32 };
  double y[5];
  for (int i = 0; i < 5; i++) y[i] = 7 * pow(x[i], 1.5);
  perp_power p = perp_power_law(x, y, 5, 0);
  near(p.slope, 1.5, 1e-12, 0, "y = 7 x^1.5 grows with the power 1.5");
  ok(p.lo <= p.slope && p.slope <= p.hi && p.hi - p.lo < 1e-12 && p.from == 2 && p.to == 32,
     "over %g ... %g, without scatter", p.from, p.to);
  y[4] = 1e9;
  p = perp_power_law(x, y, 5, 0);
  ok(fabs(p.slope - 1.5) < 0.5 || isnan(p.slope), "one outlier does not turn it: %g", p.slope);
  for (int i = 0; i < 5; i++) y[i] = 3;
  near(perp_power_law(x, y, 5, 0).slope, 0, 0, 1e-14, "what does not grow has the power 0");
  ok(isnan(perp_power_law(x, y, 2, 0).slope), "two sizes have no power");
  const double same[3] = { 2, 2, 4 };
  ok(isnan(perp_power_law(same, y, 3, 0).slope), "nor do three points at two sizes");
  const double scattered[5] = { 1, 1e4, 1e-3, 1e6, 1e-5 };
  ok(isnan(perp_power_law(x, scattered, 5, 0).slope), "scattered points follow no power");
  ok(isnan(perp_power_law(x, y, 5, 10).slope), "noise follows none");
}

/* ---- styles: formulas of WCAG 2.1 (contrast), CIE 1976 (difference), Machado et al. 2009 (colour
 * blindness) ---- */

static void linear_of(const char *colour, double rgb[3])
{
  for (int k = 0; k < 3; k++) {
    unsigned v = 0;
    sscanf(colour + 1 + 2 * k, "%2x", &v);
    const double s = v / 255.0;
    rgb[k] = s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
  }
}

static double contrast(const char *a, const char *b)
{
  double x[3], y[3];
  linear_of(a, x);
  linear_of(b, y);
  const double p = 0.2126 * x[0] + 0.7152 * x[1] + 0.0722 * x[2],
               q = 0.2126 * y[0] + 0.7152 * y[1] + 0.0722 * y[2];
  return (fmax(p, q) + 0.05) / (fmin(p, q) + 0.05);
}

/* CIELAB of a colour as seen with one kind of eyes. */
static void lab_of(const char *colour, const double eyes[3][3], double lab[3])
{
  static const double xyz[3][3] = { { 0.4124564, 0.3575761, 0.1804375 },
                                    { 0.2126729, 0.7151522, 0.0721750 },
                                    { 0.0193339, 0.1191920, 0.9503041 } };
  static const double white[3] = { 0.95047, 1, 1.08883 };
  double rgb[3], seen[3], f[3];
  linear_of(colour, rgb);
  for (int i = 0; i < 3; i++)
    seen[i] = eyes[i][0] * rgb[0] + eyes[i][1] * rgb[1] + eyes[i][2] * rgb[2];
  for (int i = 0; i < 3; i++) {
    const double t = fmax(0, (xyz[i][0] * seen[0] + xyz[i][1] * seen[1] + xyz[i][2] * seen[2]) /
                                 white[i]);
    f[i] = t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  }
  lab[0] = 116 * f[1] - 16;
  lab[1] = 500 * (f[0] - f[1]);
  lab[2] = 200 * (f[1] - f[2]);
}

/* The least difference of two colours for any of the eyes. */
static double difference(const char *a, const char *b)
{
  static const double eyes[4][3][3] = { { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
                                        { { 0.152286, 1.052583, -0.204868 },
                                          { 0.114503, 0.786281, 0.099216 },
                                          { -0.003882, -0.048116, 1.051998 } },
                                        { { 0.367322, 0.860646, -0.227968 },
                                          { 0.280085, 0.672501, 0.047413 },
                                          { -0.011820, 0.042940, 0.968881 } },
                                        { { 1.255528, -0.076749, -0.178779 },
                                          { -0.078411, 0.930809, 0.147602 },
                                          { 0.004733, 0.691367, 0.303900 } } };
  double least = HUGE_VAL;
  for (int k = 0; k < 4; k++) {
    double p[3], q[3];
    lab_of(a, eyes[k], p);
    lab_of(b, eyes[k], q);
    least = fmin(least, sqrt(pow(p[0] - q[0], 2) + pow(p[1] - q[1], 2) + pow(p[2] - q[2], 2)));
  }
  return least;
}

static void style_pairs(void)
{
  double light = HUGE_VAL, dark = HUGE_VAL, apart = HUGE_VAL;
  int equal = 0, colours = 0;
  for (int i = 0; i < PERP_STYLES; i++) {
    const perp_style *a = &perp_styles[i];
    bool fresh = true;
    light = fmin(light, contrast(a->light, "#ffffff"));
    dark = fmin(dark, contrast(a->dark, "#14171b"));
    for (int k = 0; k < i; k++) {
      const perp_style *b = &perp_styles[k];
      const bool colour = strcmp(a->light, b->light) == 0;
      fresh = fresh && !colour;
      const bool marker = strcmp(a->marker, b->marker) == 0 && a->open == b->open;
      equal += (colour && marker) || (colour && a->point == b->point) ||
               (strcmp(a->dark, b->dark) == 0) != colour || marker != (a->point == b->point);
      if (!colour)
        apart = fmin(apart, fmin(difference(a->light, b->light), difference(a->dark, b->dark)));
    }
    colours += fresh;
  }
  ok(equal == 0, "sixteen styles, no two with one colour and one marker (%d colours)", colours);
  ok(light >= 3 && dark >= 3, "contrast at least 3: %.2f on paper, %.2f on the dark page", light,
     dark);
  ok(apart >= 20, "colours differ by %.1f in CIELAB, whatever the eyes", apart);
  near(contrast("#000000", "#ffffff"), 21, 1e-12, 0, "black on white");
  ok(perp_style_of(PERP_STYLES + 3) == &perp_styles[3], "styles repeat");
}

/* Every metric has a name for people. */
static void named(perp_ctx *ctx)
{
  int n = 0, raw = 0;
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(ctx, PERP_KIND_metric, i)) != NULL; i++) {
    n++;
    if (strchr(d->name, '.') == NULL || strcmp(perp_words(d->name), d->name) != 0) continue;
    raw++;
    printf("# %s has no words\n", d->name);
  }
  ok(n > 40 && raw == 0, "%d metrics, each in words", n);
  static const struct {
    const char *key, *text, *words;
    perp_kind kind;
  } choice[] = {
    { "stab", "none", "no stabilization", PERP_KIND_stab },
    { "stab", "baumgarte:alpha=50", "Baumgarte, α = 50 1/s", PERP_KIND_stab },
    { "stab", "post:passes=2,velocity=true", "post-stabilization, passes = 2, velocity",
      PERP_KIND_stab },
    { "ode", "gsl:rk8pd (tol)", "Prince–Dormand 8 (GSL), error control", PERP_KIND_ode },
    { "ode", "implicit-midpoint", "implicit midpoint", PERP_KIND_ode },
    { "lcp", "not-ours:x=1", "not-ours, x = 1", PERP_KIND_lcp },
    { "stab", "", "", PERP_KIND_stab },
  };
  perp_pool pool = { 0 };
  for (size_t i = 0; i < sizeof choice / sizeof *choice; i++) {
    const char *words = perp_words_choice(ctx, &pool, choice[i].key, true, choice[i].kind,
                                          choice[i].text);
    ok(strcmp(words, choice[i].words) == 0, "%s %s in words: %s", choice[i].key, choice[i].text,
       words);
  }
  perp_pool_free(&pool);
  ok(strcmp(perp_words("my.own"), "my.own") == 0, "a metric of a plug-in keeps its name");
}

static void csv(perp_ctx *ctx)
{
  perp_csv t;
  write_text("a.csv", "cell,\"say \"\"hi\"\", you\",x[m]\r\n1,\"a\nb\",2.5\n2,,nan\n");
  ok(perp_csv_read(ctx, in_dir("a.csv"), &t) == PERP_OK && t.rows == 2 && t.columns == 3,
     "quoted CSV is read");
  ok(strcmp(t.header[1], "say \"hi\", you") == 0, "doubled quotes and commas inside quotes");
  ok(strcmp(perp_csv_text(&t, 0, 1), "a\nb") == 0, "a line break inside quotes");
  near(perp_csv_number(&t, 0, 2), 2.5, 0, 0, "a number");
  ok(isnan(perp_csv_number(&t, 1, 1)) && isnan(perp_csv_number(&t, 1, -1)), "no number is NaN");
  ok(perp_csv_field(&t, "x") == 2 && perp_csv_field(&t, "y") == -1, "columns by name");
  perp_csv_free(&t);

  write_text("b.csv", "a,b\n1,2\n3\n");
  ok(perp_csv_read(ctx, in_dir("b.csv"), &t) == PERP_ERR_FORMAT &&
         strstr(ctx->msg, ":3: the line has 1 fields") != NULL,
     "a short row is refused: %s", ctx->msg);
  write_text("c.csv", "");
  ok(perp_csv_read(ctx, in_dir("c.csv"), &t) == PERP_ERR_FORMAT, "an empty file is refused: %s",
     ctx->msg);
  write_text("d.csv", "a,b\n1,\"2");
  ok(perp_csv_read(ctx, in_dir("d.csv"), &t) == PERP_OK && t.rows == 1,
     "an open quote at the end is a field");
  perp_csv_free(&t);
  ok(perp_csv_read(ctx, in_dir("no.csv"), &t) == PERP_ERR_IO, "a missing file: %s", ctx->msg);
}

static void tex(void)
{
  FILE *out = fopen(in_dir("x.tex"), "w");
  perp_tex(out, "%s", "a_b & 100% <x> {y} \\ ^~#$");
  putc('|', out);
  const double v[] = { 0, 3, -0.5, 1.5e-7, 2e5, (double)NAN, HUGE_VAL };
  for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
    perp_tex(out, "%m", v[i]);
    putc(' ', out);
  }
  fclose(out);
  char *text = perp_read_file(in_dir("x.tex"), &(size_t){ 0 });
  ok(text != NULL && strcmp(text, "a\\_b \\& 100\\% $<$x$>$ \\{y\\} \\textbackslash{} "
                                  "\\textasciicircum{}\\textasciitilde{}\\#\\$|"
                                  "$0$ $3$ $-0.5$ $1.50\\times10^{-7}$ $2.00\\times10^{5}$ -- "
                                  "$\\infty$ ") == 0,
     "LaTeX reads what was meant: %s", text);
  free(text);
}

/* LaTeX knows few letters outside of ASCII. */
static void letters(void)
{
  char *text = perp_tex_string("Baumgarte (α = 50 1/s²), 10¹¹ – 10⁻⁶ × é");
  ok(strcmp(text, "Baumgarte ($\\alpha$ = 50 1/s$^{2}$), 10$^{11}$ -- 10$^{-6}$ $\\times$ é") == 0,
     "Greek letters and powers: %s", text);
  free(text);
}

static void figures(perp_ctx *ctx)
{
  const double x[4] = { 1e-3, 2e-3, 4e-3, 8e-3 }, y[4] = { 1e-6, 0, (double)NAN, 6.4e-5 },
               none[4] = { 0, -1, (double)NAN, HUGE_VAL };
  perp_curve curves[] = { { "it's a_label, 100%", PERP_PLOT_POINTS_LINES, 0, 4, x, y, .rank = 0 },
                          { "empty", PERP_PLOT_LINES, 1, 4, x, none, .rank = 0 } };
  perp_figure f = { "fig",        "A 'title'",  "h [s]", "error",         "alt",
                    .logx = true, .logy = true, .n = 2,  .curves = curves };
  ok(perp_figure_draw(ctx, &f, dir, "svg") == PERP_OK, "a figure is drawn");
  char *svg = perp_read_file(in_dir("fig.svg"), &(size_t){ 0 });
  ok(svg != NULL && strstr(svg, "</svg>") != NULL && strstr(svg, "a_label, 100%") != NULL,
     "the picture is whole and names its curve");
  free(svg);
  char *data = perp_read_file(in_dir("fig.csv"), &(size_t){ 0 });
  ok(data != NULL && strstr(data, "nan") == NULL && strstr(data, "empty") == NULL,
     "points that cannot be drawn and empty curves are left out");
  free(data);
  char *page = perp_read_file(in_dir("fig.gp"), &(size_t){ 0 });
  f.width = PERP_PLOT_COLUMN;
  ok(perp_figure_draw(ctx, &f, dir, "svg,pdf") == PERP_OK, "and in the width of a column");
  char *column = perp_read_file(in_dir("fig.gp"), &(size_t){ 0 });
  ok(page != NULL && strstr(page, "pdfcairo size 17.5cm,") != NULL &&
         strstr(page, "tikz size 17.5cm,") != NULL,
     "a page is 17.5 cm wide");
  ok(column != NULL && strstr(column, "pdfcairo size 8.4cm,") != NULL &&
         strstr(column, "tikz size 8.4cm,") != NULL,
     "a column 8.4 cm");
  char *pdf = perp_read_file(in_dir("fig.pdf"), &(size_t){ 0 });
  double box = 0;
  const char *at = pdf != NULL ? strstr(pdf, "/MediaBox [ 0 0 ") : NULL;
  if (at != NULL) box = strtod(at + strlen("/MediaBox [ 0 0 "), NULL);
  near(box, 8.4 / 2.54 * 72, 0, 1.5, "and so is the picture, in points");
  free(page);
  free(column);
  free(pdf);

  const double lo[4] = { 5e-7, 0, 0, 5e-5 }, hi[4] = { 2e-6, 1, (double)NAN, 9e-5 };
  curves[0].lo = lo;
  curves[0].hi = hi;
  f.floor = 1e-6;
  ok(perp_figure_draw(ctx, &f, dir, "svg") == PERP_OK, "with a band and a floor");
  char *script = perp_read_file(in_dir("fig.gp"), &(size_t){ 0 });
  ok(script != NULL && strstr(script, "using 2:4:5") != NULL && strstr(script, "rectangle") != NULL,
     "both stand in the script");
  free(script);
  f.curves = curves + 1;
  f.n = 1;
  ok(perp_figure_draw(ctx, &f, dir, "svg") == PERP_ERR_ARG, "nothing to draw is said: %s",
     ctx->msg);
  /* a constant but for rounding: the marks of its axis are few */
  const double same[4] = { 0.15, 0.15 + 0x1p-54, 0.15 - 0x1p-54, 0.15 };
  perp_curve constant = { "constant", PERP_PLOT_LINES, 0, 4, x, same, .rank = 0 };
  f.curves = &constant;
  ok(perp_figure_draw(ctx, &f, dir, "svg") == PERP_OK, "values that differ by rounding are drawn");
  script = perp_read_file(in_dir("fig.gp"), &(size_t){ 0 });
  ok(script != NULL && strlen(script) < 4000, "with few marks");
  free(script);
  const double tiny[4] = { 0x1p-1074, 0x1p-1074, 0x1p-1073, 0x1p-1073 };
  constant.y = tiny;
  ok(perp_figure_draw(ctx, &f, dir, "svg") == PERP_ERR_ARG,
     "the smallest numbers there are have no logarithmic axis: %s", ctx->msg);
  f.curves = curves;
  ok(perp_figure_draw(ctx, &f, dir, "bmp") == PERP_ERR_ARG, "an unknown format is refused: %s",
     ctx->msg);
  ok(perp_figure_draw(ctx, &f, "/nonexistent", "svg") == PERP_ERR_IO,
     "a folder that is not there: %s", ctx->msg);
}

/* Rows have their names at the axis, the first one on top, and no legend; rings are explained. */
static void rows(perp_ctx *ctx)
{
  static const char *const name[] = { "no stabilization",
                                      "it's a 'method', alpha = 50 1/s, tol = 1e-10, beta = 2 1/s",
                                      "nothing" };
  const double x[2] = { 1e-3, 0.5 }, top[2] = { 2, 2 }, next[1] = { 1 };
  const perp_curve curves[] = { { name[0], PERP_PLOT_POINTS, 0, 2, x, top, .rank = 0 },
                                { name[1], PERP_PLOT_POINTS, 1, 1, x, next, .rank = 0 },
                                { "unsolved", PERP_PLOT_MARK, 0, 1, x, next, .rank = 0 } };
  const perp_figure f = { .id = "rows",
                          .title = "t",
                          .xlabel = "error [m]",
                          .ylabel = "method",
                          .alt = "",
                          .logx = true,
                          .floor = 2e-3,
                          .n_rows = 3,
                          .row = name,
                          .n = 3,
                          .curves = curves };
  ok(perp_figure_draw(ctx, &f, dir, "svg,pdf,tikz") == PERP_OK, "a figure of rows: %s", ctx->msg);
  char *script = perp_read_file(in_dir("rows.gp"), &(size_t){ 0 }),
       *svg = perp_read_file(in_dir("rows.svg"), &(size_t){ 0 });
  ok(script != NULL && strstr(script, "set ytics ('no stabilization' 2, ") != NULL &&
         strstr(script, "'nothing' 0)") != NULL && strstr(script, "set logscale y") == NULL,
     "its names stand at the axis");
  ok(script != NULL && strstr(script, "to first 0.002, graph 1") != NULL,
     "what is below the floor is shaded over all rows");
  ok(script != NULL && strstr(script, "title 'no stabilization'") == NULL &&
         strstr(script, "title 'unsolved'") != NULL,
     "the legend has the rings alone");
  ok(svg != NULL && strstr(svg, "no stabilization") != NULL && strstr(svg, "nothing") != NULL,
     "the picture has all names");
  free(script);
  free(svg);
}

/* The heights [cm] at which the script of the figure puts a text; NaN when it does not. */
static double label_at(const char *script, const char *text, double *x)
{
  char *want = perp_xprintf("set label '%s' at screen ", text);
  const char *at = script != NULL ? strstr(script, want) : NULL;
  double y = (double)NAN;
  if (at == NULL || sscanf(at + strlen(want), "%lf,%lf", x, &y) != 2) y = (double)NAN;
  free(want);
  return y;
}

/* Names stand beside the curves while they are few and find a place, else in a legend. */
static void names(perp_ctx *ctx)
{
  enum { MOST = 12, POINTS = 5 };
  static double x[POINTS], y[MOST][POINTS];
  static char name[MOST][16];
  perp_curve curves[MOST];
  for (int k = 0; k < MOST; k++) {
    snprintf(name[k], sizeof name[k], "method-%d", k);
    for (int i = 0; i < POINTS; i++) {
      x[i] = ldexp(1e-3, i);
      y[k][i] = 1e-3 * x[i] *
                (1 + 0.01 * k); /* they end one above the other, too near for a name */
    }
    curves[k] = (perp_curve){ name[k], PERP_PLOT_POINTS_LINES, k, POINTS, x, y[k], .rank = 0 };
  }
  perp_figure f = { .id = "names",
                    .title = "t",
                    .xlabel = "CPU time [s]",
                    .ylabel = "largest error [m]",
                    .alt = "",
                    .logx = true,
                    .logy = true,
                    .n = 6,
                    .curves = curves };
  ok(perp_figure_draw(ctx, &f, dir, "svg") == PERP_OK, "six curves that end together");
  char *script = perp_read_file(in_dir("names.gp"), &(size_t){ 0 });
  int beside = 0, near = 0, inside = 0;
  double at[2][MOST];
  for (int k = 0; k < f.n; k++) {
    at[1][k] = label_at(script, name[k], &at[0][k]);
    beside += isfinite(at[1][k]);
    inside += at[0][k] > 0 && at[0][k] < 1 && at[1][k] > 0 && at[1][k] < 1;
    for (int o = 0; o < k; o++) /* a line is 2.9 % of the height */
      near += fabs(at[1][k] - at[1][o]) < 0.035 && fabs(at[0][k] - at[0][o]) < 0.09;
  }
  ok(beside == 6 && inside == 6 && near == 0,
     "%d have their names beside them, %d in the picture, %d over another", beside, inside, near);
  ok(script != NULL && strstr(script, "title 'method-0'") == NULL, "and not in the legend as well");
  ok(script != NULL && strstr(script, "set ylabel 'Largest error [m]'") != NULL,
     "labels of axes begin with a capital");
  double width = 0, height = 0;
  const char *size = script != NULL ? strstr(script, "terminal svg size ") : NULL;
  const bool sized = size != NULL &&
                     sscanf(size, "terminal svg size %lf,%lf", &width, &height) == 2;
  ok(sized && fabs(width / height - 1.6) < 0.01, "16:10: %g x %g", width, height);
  free(script);
  f.n = MOST;
  ok(perp_figure_draw(ctx, &f, dir, "svg") == PERP_OK, "twelve curves");
  script = perp_read_file(in_dir("names.gp"), &(size_t){ 0 });
  ok(script != NULL && strstr(script, "set label") == NULL &&
         strstr(script, "title 'method-11'") != NULL,
     "have a legend");
  free(script);
  f.n = 1;
  curves[0].label =
      "aword:that=is,too=long,to=stand,beside=acurve,of=anyfigure,and=cannot,be=broken";
  ok(perp_figure_draw(ctx, &f, dir, "svg") == PERP_OK, "a name that is too long");
  script = perp_read_file(in_dir("names.gp"), &(size_t){ 0 });
  ok(script != NULL && strstr(script, "set label") == NULL, "has a legend too");
  free(script);
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  perp_register_models(&ctx);
  perp_register_metrics(&ctx);
  if (mkdtemp(dir) == NULL) bail("no temporary folder");
  orders();
  floors();
  powers();
  style_pairs();
  named(&ctx);
  csv(&ctx);
  tex();
  letters();
  figures(&ctx);
  rows(&ctx);
  names(&ctx);
  perp_remove_files(dir, "");
  rmdir(dir);
  return tap_done();
}
