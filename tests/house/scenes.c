/* SPDX-License-Identifier: GPL-3.0-or-later */
/* docs/reference/scenes.md is what the scenes say of themselves: every one has its row and its
 * section, with its equation, source, truths, figures and options.  --accept writes the file anew.
 */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "tests/tap.h"
#include "experiments/base/files.h"

#include <string.h>

enum { NAMES = 256 };

static perp_ctx ctx;

/* a cell of a table: | is a border there, and < begins a tag */
static void put_cell(FILE *out, const char *text)
{
  for (const char *c = text; *c != '\0'; c++)
    if (*c == '|')
      fputs("\\|", out);
    else if (*c == '<')
      fputs("&lt;", out);
    else
      fputc(*c, out);
}

static void put_truths(FILE *out, const perp_scene *s, const char *between)
{
  for (int i = 0; i < s->n_truths; i++) {
    if (i > 0) fputs(between, out);
    put_cell(out, s->truth[i].what);
  }
}

static void put_gauges(FILE *out, const perp_scene *s, const char *between)
{
  for (int i = 0; i < s->n_gauges; i++)
    fprintf(out, "%s`%s`", i > 0 ? between : "", s->gauge[i].metric);
}

static void put_row(FILE *out, const perp_desc *d, const perp_scene *s)
{
  fprintf(out, "| [`%s`](#%s) | ", d->name, d->name);
  put_cell(out, d->summary);
  fputs(" | ", out);
  put_truths(out, s, "; ");
  fputs(" | ", out);
  put_gauges(out, s, ", ");
  fputs(" |\n", out);
}

static void put_options(FILE *out, const perp_desc *d)
{
  if (d->opts == NULL) return;
  void *opts = perp_xalloc(1, d->opts_size);
  perp_opts_default(d, opts);
  fputs("\n| option | unit | default | range | |\n|---|---|---|---|---|\n", out);
  for (const perp_opt *o = d->opts; o->key != NULL; o++) {
    char value[PERP_TEXT_MAX], range[512];
    perp_opt_format(o, opts, value, sizeof value);
    perp_opt_range(o, range, sizeof range);
    const char *cells[] = { o->unit, value, range, o->help };
    fprintf(out, "| `%s` |", o->key);
    for (int k = 0; k < 4; k++) {
      /* values and ranges are code: words of choices are no prose */
      const char *mark = (k == 1 || k == 2) && cells[k][0] != '\0' ? "`" : "";
      fprintf(out, " %s", mark);
      put_cell(out, cells[k]);
      fprintf(out, "%s |", mark);
    }
    fputc('\n', out);
  }
  free(opts);
}

static void put_section(FILE *out, const perp_desc *d, const perp_scene *s)
{
  fprintf(out, "\n### `%s`\n\n", d->name);
  put_cell(out, d->summary);
  fputs(".\n\n", out);
  if (d->equation != NULL) fprintf(out, "    %s\n\n", d->equation);
  fputs("* source: ", out);
  put_cell(out, d->reference);
  fputc('\n', out);
  char *file = perp_scene_file_path(d);
  if (file != NULL)
    fprintf(out, "* file: [%s](../../experiments/scenes/shipped/%s)\n", strrchr(file, '/') + 1,
            strrchr(file, '/') + 1);
  free(file);
  if (s->n_truths > 0)
    fputs("* reference solution: ", out), put_truths(out, s, "; "), fputc('\n', out);
  if (s->n_gauges > 0) fputs("* judged by ", out), put_gauges(out, s, ", "), fputc('\n', out);
  if (s->published.what[0] != '\0') {
    fputs("* printed final values: ", out);
    put_cell(out, s->published.what);
    fputc('\n', out);
  }
  char t_end[32], h[32];
  perp_format_real(s->t_end, t_end, sizeof t_end);
  perp_format_real(s->h, h, sizeof h);
  fprintf(out, "* a run: %s s", t_end);
  if (s->h > 0) fprintf(out, " in steps of %s s", h);
  fputc('\n', out);
  put_options(out, d);
}

/* The text after the heading "## All", allocated. */
static char *catalogue(int *number)
{
  static perp_scene scene[NAMES];
  const perp_desc *d;
  int n = 0;
  for (; (d = perp_plugin_at(&ctx, PERP_KIND_scene, n)) != NULL; n++) {
    perp_spec spec;
    if (n == NAMES) bail("more than %d scenes", NAMES);
    if (perp_spec_parse(&ctx, PERP_KIND_scene, d->name, &spec) != PERP_OK ||
        perp_scene_create(&ctx, &spec, &scene[n]) != PERP_OK)
      bail("%s: %s", d->name, ctx.msg);
    perp_spec_free(&spec);
  }
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) bail("no memory");
  fprintf(out, "\n| scene | summary | reference solution | judged by |\n|---|---|---|---|\n");
  for (int i = 0; i < n; i++) put_row(out, perp_plugin_at(&ctx, PERP_KIND_scene, i), &scene[i]);
  fprintf(out, "\n## One by one\n");
  for (int i = 0; i < n; i++) {
    put_section(out, perp_plugin_at(&ctx, PERP_KIND_scene, i), &scene[i]);
    perp_scene_destroy(&scene[i]);
  }
  if (fclose(out) != 0) bail("no memory");
  *number = n;
  return text;
}

/* The first line in which two texts differ, as lines of both. */
static void first_difference(const char *is, const char *should)
{
  while (*is != '\0' && *should != '\0') {
    size_t a = strcspn(is, "\n"), b = strcspn(should, "\n");
    if (a != b || memcmp(is, should, a) != 0) break;
    is += a + (is[a] == '\n');
    should += b + (should[b] == '\n');
  }
  printf("# the file has   %.*s\n# the scenes say %.*s\n", (int)strcspn(is, "\n"), is,
         (int)strcspn(should, "\n"), should);
}

int main(int argc, char **argv)
{
  const char *root = getenv("PERP_SOURCE"), heading[] = "\n## All\n";
  if (root == NULL) bail("PERP_SOURCE names no folder");
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  char *path = perp_xprintf("%s/docs/reference/scenes.md", root);
  char *file = perp_read_file(path, NULL);
  char *made = file != NULL ? strstr(file, heading) : NULL;
  if (made == NULL) bail("%s: no heading \"## All\"", path);
  made += strlen(heading);
  int n;
  char *text = catalogue(&n);
  if (argc > 1 && strcmp(argv[1], "--accept") == 0) {
    FILE *out = fopen(path, "w");
    if (out == NULL) bail("cannot write %s", path);
    fprintf(out, "%.*s%s", (int)(made - file), file, text);
    if (fclose(out) != 0) bail("cannot write %s", path);
    printf("# %d scenes written to %s\n", n, path);
  } else {
    for (int i = 0; i < n; i++) {
      const char *name = perp_plugin_at(&ctx, PERP_KIND_scene, i)->name;
      char row[200];
      snprintf(row, sizeof row, "\n| [`%s`](#%s) |", name, name);
      ok(strstr(file, row) != NULL, "%s has its row in docs/reference/scenes.md", name);
    }
    if (!ok(strcmp(made, text) == 0, "docs/reference/scenes.md is what the scenes say")) {
      first_difference(made, text);
      printf("# if that is as it should be: ninja -C build accept-scenes\n");
    }
  }
  free(text);
  free(file);
  free(path);
  return tap_done();
}
