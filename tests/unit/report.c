/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the report: observed order, CSV reading, escaping, figures on disk. */
#include "experiments/pages/csv.h"
#include "experiments/pages/html.h"
#include "experiments/report/order.h"
#include "experiments/pages/plot.h"
#include "experiments/pages/latex.h"
#include "experiments/base/util.h"
#include "tests/tap.h"

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
  perp_order o = perp_observed_order(h, e, 10);
  near(o.slope, 4, 1e-12, 0, "err = 3 h^4 has order 4");
  ok(o.first == 0 && o.last == 9, "on the whole range");

  /* a floor of rounding below, divergence above: the straight part in between counts */
  e[0] = e[1] = e[2] = 1e-15;
  e[9] = 1e3;
  o = perp_observed_order(h, e, 10);
  near(o.slope, 4, 1e-12, 0, "floor and divergence are left out");
  ok(o.first == 3 && o.last == 8, "window %d ... %d", o.first, o.last);

  e[4] = (double)NAN;
  o = perp_observed_order(h, e, 10);
  ok(o.first == 5 && o.last == 8, "a missing point breaks the window: %d ... %d", o.first, o.last);
  ok(isnan(perp_observed_order(h, e, 2).slope), "two points have no order");
  const double jagged[4] = { 1, 100, 1, 100 };
  ok(isnan(perp_observed_order(h, jagged, 4).slope), "a jagged curve has no order");
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
         strstr(ctx->msg, ":3: 1 fields") != NULL,
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

static void html(void)
{
  FILE *out = fopen(in_dir("x.html"), "w");
  perp_html(out, "<b>%s</b> %d %g %m %m %m %%", "a<b>&\"c\"", 7, 0.25, 1234567.0, (double)NAN,
            0.012345);
  fclose(out);
  char *text = perp_read_file(in_dir("x.html"), &(size_t){ 0 });
  ok(text != NULL &&
         strcmp(text, "<b>a&lt;b&gt;&amp;&quot;c&quot;</b> 7 0.25 1.23e+06 &ndash; 0.0123 %") == 0,
     "arguments are escaped: %s", text);
  free(text);
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

static void figures(perp_ctx *ctx)
{
  const double x[4] = { 1e-3, 2e-3, 4e-3, 8e-3 }, y[4] = { 1e-6, 0, (double)NAN, 6.4e-5 },
               none[4] = { 0, -1, (double)NAN, HUGE_VAL };
  perp_curve curves[] = { { "it's a_label, 100%", PERP_PLOT_POINTS_LINES, 0, 4, x, y, 0, false },
                          { "empty", PERP_PLOT_LINES, 1, 4, x, none, 0, false } };
  perp_figure f = { "fig", "A 'title'", "h [s]", "error", "alt", true, true, 2, curves };
  ok(perp_figure_draw(ctx, &f, dir, "svg") == PERP_OK, "a figure is drawn");
  char *svg = perp_read_file(in_dir("fig.svg"), &(size_t){ 0 });
  ok(svg != NULL && strstr(svg, "</svg>") != NULL && strstr(svg, "a_label, 100%") != NULL,
     "the picture is whole and names its curve");
  free(svg);
  char *data = perp_read_file(in_dir("fig.csv"), &(size_t){ 0 });
  ok(data != NULL && strstr(data, "nan") == NULL && strstr(data, "empty") == NULL,
     "points that cannot be drawn and empty curves are left out");
  free(data);
  f.curves = curves + 1;
  f.n = 1;
  ok(perp_figure_draw(ctx, &f, dir, "svg") == PERP_ERR_ARG, "nothing to draw is said: %s",
     ctx->msg);
  f.curves = curves;
  ok(perp_figure_draw(ctx, &f, dir, "bmp") == PERP_ERR_ARG, "an unknown format is refused: %s",
     ctx->msg);
  ok(perp_figure_draw(ctx, &f, "/nonexistent", "svg") == PERP_ERR_IO,
     "a folder that is not there: %s", ctx->msg);
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (mkdtemp(dir) == NULL) bail("no temporary folder");
  orders();
  csv(&ctx);
  html();
  tex();
  figures(&ctx);
  perp_remove_files(dir, "");
  rmdir(dir);
  return tap_done();
}
