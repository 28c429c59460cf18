/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/data.h"

#include "experiments/pages/csv.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* floats of series on one page (5.4 bytes each), and rows that a series keeps */
enum { SERIES_FLOATS = 200000, SERIES_ROWS = 400 };
/* bytes of replays on one page */
enum { REPLAY_BYTES = 1200000 };

/* ---- small writers ------------------------------------------------------------------------------------- */

/* Seven digits are what a screen can show; cells.csv has all of them. */
static void data_number(perp_json *j, const char *key, double v)
{
  char text[32];
  if (isnan(v))
    snprintf(text, sizeof text, "null");
  else if (isinf(v)) /* reads as an infinity */
    snprintf(text, sizeof text, v > 0 ? "1e999" : "-1e999");
  else
    snprintf(text, sizeof text, "%.7g", v);
  perp_json_raw(j, key, text);
}

/* ---- the study ------------------------------------------------------------------------------------------- */

static void data_study(perp_page *page, perp_json *j)
{
  const perp_study *s = page->study;
  perp_json_open(j, "study", '{');
  perp_json_text(j, "name", s->name);
  perp_json_text(j, "title", s->title);
  perp_json_text(j, "kind", s->kind->name);
  perp_json_text(j, "primary", s->metrics.primary);
  perp_json_open(j, "record", '[');
  for (int i = 0; i < s->metrics.n_record; i++) perp_json_text(j, NULL, s->metrics.record[i]);
  perp_json_close(j, ']');
  perp_json_open(j, "plots", '[');
  for (int i = 0; i < s->report.n_plots; i++) perp_json_text(j, NULL, s->report.plots[i]);
  perp_json_close(j, ']');
  perp_json_close(j, '}');
}

/* One parameter that varies: its values, and which of them each cell has (-1: does not use it). */
static void data_axis(perp_page *page, perp_json *j, int param)
{
  const perp_param *p = &page->study->kind->params[param];
  int n = page->results->plan.n, n_values = 0;
  const char **value = perp_xalloc((size_t)n, sizeof *value);
  int *index = perp_xalloc((size_t)n, sizeof *index);
  for (int r = 0; r < n; r++) {
    const char *text = perp_view_text(&page->view, r, param);
    index[r] = 0;
    /* neighbours are often equal: the last value first */
    if (r > 0 && strcmp(text, perp_view_text(&page->view, r - 1, param)) == 0)
      index[r] = index[r - 1];
    else
      while (index[r] < n_values && strcmp(value[index[r]], text) != 0) index[r]++;
    if (index[r] == n_values) value[n_values++] = text;
  }
  if (n_values > 1) {
    perp_json_open(j, NULL, '{');
    perp_json_text(j, "key", p->key);
    perp_json_text(j, "unit", p->type == PERP_PARAM_REAL ? p->unit : "");
    perp_json_bool(j, "plugin", p->type == PERP_PARAM_PLUGIN);
    perp_json_open(j, "values", '[');
    for (int i = 0; i < n_values; i++) perp_json_text(j, NULL, value[i]);
    perp_json_close(j, ']');
    perp_json_open(j, "names", '['); /* without the tolerance */
    for (int i = 0, r = 0; i < n_values; i++) {
      while (index[r] != i) r++;
      perp_json_text(j, NULL, perp_view_name(&page->pool, &page->view, r, param));
    }
    perp_json_close(j, ']');
    perp_json_open(j, "of", '[');
    for (int r = 0; r < n; r++) perp_json_int(j, NULL, value[index[r]][0] == '\0' ? -1 : index[r]);
    perp_json_close(j, ']');
    perp_json_close(j, '}');
  }
  free(value);
  free(index);
}

static void data_view(perp_page *page, perp_json *j)
{
  const perp_view *v = &page->view;
  const perp_param *params = page->study->kind->params;
  perp_json_open(j, "view", '{');
  perp_json_text(j, "subject", v->subject < 0 ? NULL : params[v->axis[v->subject]].key);
  perp_json_open(j, "axes", '[');
  for (int a = 0; a < v->n_axes; a++) perp_json_text(j, NULL, params[v->axis[a]].key);
  perp_json_close(j, ']');
  perp_json_text(j, "x_name", v->x_name);
  if (v->x_name != NULL) {
    perp_json_open(j, "x", '[');
    for (int r = 0; r < page->results->plan.n; r++) data_number(j, NULL, v->x[r]);
    perp_json_close(j, ']');
    perp_json_open(j, "order", '['); /* the tolerance under error control */
    for (int r = 0; r < page->results->plan.n; r++) data_number(j, NULL, v->order[r]);
    perp_json_close(j, ']');
  }
  perp_json_close(j, '}');
}

/* ---- cells ------------------------------------------------------------------------------------------------- */

/* One numeric option of the plug-ins of a parameter, "stab.alpha", when it takes several values. */
static void data_option(perp_json *j, const char *key, const perp_spec *spec, int n,
                        const perp_opt *o)
{
  double least = HUGE_VAL, most = -HUGE_VAL, *value = perp_xalloc((size_t)n, sizeof *value);
  for (int r = 0; r < n; r++) {
    const perp_opt *own = spec[r].d == NULL ? NULL : spec[r].d->opts;
    while (own != NULL && own->type != PERP_OPT_END && strcmp(own->key, o->key) != 0) own++;
    value[r] = (double)NAN;
    if (own == NULL || own->type != o->type) continue;
    char text[64];
    perp_opt_format(own, spec[r].opts, text, sizeof text);
    value[r] = strtod(text, NULL);
    least = fmin(least, value[r]);
    most = fmax(most, value[r]);
  }
  if (most > least) {
    char name[128];
    snprintf(name, sizeof name, "%s.%s", key, o->key);
    perp_json_open(j, name, '[');
    for (int r = 0; r < n; r++) data_number(j, NULL, value[r]);
    perp_json_close(j, ']');
  }
  free(value);
}

static void data_options_of(perp_page *page, perp_json *j, const perp_param *p, int param)
{
  int n = page->results->plan.n;
  perp_ctx quiet = *page->ctx;
  perp_spec *spec = perp_xalloc((size_t)n, sizeof *spec);
  for (int r = 0; r < n; r++) {
    const char *text = perp_view_text(&page->view, r, param);
    if (text[0] != '\0' && perp_spec_parse(&quiet, p->plugin, text, &spec[r]) != PERP_OK)
      spec[r] = (perp_spec){ 0 };
  }
  for (int r = 0; r < n; r++) {
    if (spec[r].d == NULL) continue;
    bool seen = false; /* each plug-in once, and of two with an option of one name the first */
    for (int k = 0; k < r && !seen; k++) seen = spec[k].d == spec[r].d;
    for (const perp_opt *o = seen ? NULL : spec[r].d->opts; o != NULL && o->type != PERP_OPT_END;
         o++) {
      bool told = o->type != PERP_OPT_REAL && o->type != PERP_OPT_INT;
      for (int k = 0; k < r && !told; k++)
        for (const perp_opt *before = spec[k].d == NULL ? NULL : spec[k].d->opts;
             before != NULL && before->type != PERP_OPT_END && !told; before++)
          told = strcmp(before->key, o->key) == 0;
      if (!told) data_option(j, p->key, spec, n, o);
    }
  }
  for (int r = 0; r < n; r++) perp_spec_free(&spec[r]);
  free(spec);
}

static void data_options(perp_page *page, perp_json *j)
{
  const perp_cell_kind *kind = page->study->kind;
  perp_json_open(j, "options", '{');
  for (int p = 0; p < perp_kind_params(kind); p++)
    if (kind->params[p].type == PERP_PARAM_PLUGIN) data_options_of(page, j, &kind->params[p], p);
  perp_json_close(j, '}');
}

static void data_metrics(perp_page *page, perp_json *j)
{
  const perp_study *s = page->study;
  int n = page->results->plan.n;
  perp_json_open(j, "metrics", '[');
  for (int m = 0; m < s->n_metrics; m++) {
    bool any = false;
    for (int r = 0; r < n && !any; r++) any = !isnan(perp_results_value(page->results, r, m));
    if (!any) continue;
    perp_json_open(j, NULL, '{');
    perp_json_text(j, "name", s->metric[m].name);
    perp_json_text(j, "unit", s->metric[m].unit);
    perp_json_text(j, "meaning", s->metric[m].meaning);
    perp_json_int(j, "better", s->metric[m].better);
    perp_json_bool(j, "timing", s->metric[m].timing);
    perp_json_open(j, "values", '[');
    for (int r = 0; r < n; r++) data_number(j, NULL, perp_results_value(page->results, r, m));
    perp_json_close(j, ']');
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

static void data_cells(perp_page *page, perp_json *j)
{
  const perp_results *results = page->results;
  int n = results->plan.n;
  perp_json_open(j, "cells", '{');
  perp_json_open(j, "id", '[');
  for (int r = 0; r < n; r++) perp_json_text(j, NULL, results->plan.cells[r].id);
  perp_json_close(j, ']');
  perp_json_open(j, "status", '[');
  for (int r = 0; r < n; r++)
    perp_json_text(j, NULL, perp_cell_status_names[results->record[r].status]);
  perp_json_close(j, ']');
  perp_json_open(j, "wins", '['); /* 1: may be best; 2: its figures stand, but it wins nothing */
  for (int r = 0; r < n; r++)
    perp_json_int(j, NULL,
                  perp_view_ok(&page->view, r)       ? 1
                  : perp_view_stands(&page->view, r) ? 2
                                                     : 0);
  perp_json_close(j, ']');
  perp_json_open(j, "mark", '[');
  for (int r = 0; r < n; r++) perp_json_text(j, NULL, perp_view_mark(&page->pool, &page->view, r));
  perp_json_close(j, ']');
  perp_json_open(j, "partial", '['); /* the time that was reached, null: a whole run */
  for (int r = 0; r < n; r++)
    data_number(j, NULL, results->record[r].partial ? results->record[r].reached : (double)NAN);
  perp_json_close(j, ']');
  perp_json_open(j, "dir", '['); /* of the folders that are shown together */
  for (int r = 0; r < n; r++) perp_json_text(j, NULL, results->record[r].dir);
  perp_json_close(j, ']');
  perp_json_open(j, "reason", '[');
  for (int r = 0; r < n; r++) perp_json_text(j, NULL, results->record[r].reason);
  perp_json_close(j, ']');
  perp_json_open(j, "cause", '[');
  for (int r = 0; r < n; r++) perp_json_text(j, NULL, results->record[r].cause);
  perp_json_close(j, ']');
  perp_json_open(j, "command", '[');
  for (int r = 0; r < n; r++) perp_json_text(j, NULL, perp_page_command(page, r));
  perp_json_close(j, ']');
  perp_json_close(j, '}');
  perp_json_open(j, "axes", '[');
  for (int p = 0; p < perp_kind_params(page->study->kind); p++) data_axis(page, j, p);
  perp_json_close(j, ']');
  data_options(page, j);
  data_metrics(page, j);
}

/* ---- series -------------------------------------------------------------------------------------------------- */

/* "q12", "v3": coordinates are for the replay */
static bool data_coordinate(const char *header)
{
  return (header[0] == 'q' || header[0] == 'v') && header[1] >= '0' && header[1] <= '9';
}

/* Which rows stay: all when they are few; else evenly in time, and in the logarithm over iterations. */
static int data_thin(int rows, bool iterations, int *kept)
{
  int n = 0;
  if (rows <= SERIES_ROWS) {
    for (int i = 0; i < rows; i++) kept[n++] = i;
    return n;
  }
  for (int k = 0; k < SERIES_ROWS; k++) {
    double s = (double)k / (SERIES_ROWS - 1);
    int i = (int)lround(iterations ? pow((double)rows, s) - 1 : s * (rows - 1));
    if (n == 0 || i > kept[n - 1]) kept[n++] = i;
  }
  return n;
}

static void one_series(perp_page *page, perp_json *j, int row, const perp_csv *csv, int *budget)
{
  (void)page;
  int kept[SERIES_ROWS];
  int n = data_thin(csv->rows, strcmp(csv->header[0], "iteration") == 0, kept);
  float v[SERIES_ROWS];
  perp_json_open(j, NULL, '{');
  perp_json_int(j, "cell", row);
  perp_json_open(j, "fields", '{');
  for (int c = 0; c < csv->columns; c++) {
    if (data_coordinate(csv->header[c])) continue;
    bool any = false;
    for (int i = 0; i < n; i++) {
      v[i] = (float)perp_csv_number(csv, kept[i], c);
      any = any || !isnan(v[i]);
    }
    if (!any) continue;
    perp_json_floats(j, csv->header[c], v, (size_t)n);
    *budget -= n;
  }
  perp_json_close(j, '}');
  perp_json_close(j, '}');
}

static void all_series(perp_page *page, perp_json *j)
{
  int n = page->results->plan.n, budget = SERIES_FLOATS, left_out = 0;
  double h = perp_page_shown_x(page);
  perp_json_open(j, "series", '[');
  /* those of the figures first */
  for (int pass = 0; pass < 2; pass++)
    for (int r = 0; r < n; r++) {
      if ((isnan(h) || page->view.x[r] == h) != (pass == 0)) continue;
      char path[1200];
      snprintf(path, sizeof path, "%s/series/%s.csv", page->results->record[r].dir,
               page->results->plan.cells[r].id);
      perp_csv csv;
      if (!perp_exists(path)) continue;
      if (budget <= 0) {
        left_out++;
        continue;
      }
      if (perp_csv_read(page->ctx, path, &csv) != PERP_OK) continue;
      if (csv.rows > 1) one_series(page, j, r, &csv, &budget);
      perp_csv_free(&csv);
    }
  perp_json_close(j, ']');
  perp_json_int(j, "series_left_out", left_out);
}

/* ---- replays -------------------------------------------------------------------------------------------------- */

/* The replay of a cell, checked: a torn file must not spoil the page. */
static char *replay_text(const perp_page *page, int row, size_t *size)
{
  char path[1200];
  snprintf(path, sizeof path, "%s/replay/%s.json", page->results->record[row].dir,
           page->results->plan.cells[row].id);
  char *text = perp_exists(path) ? perp_read_file(path, size) : NULL;
  json_t *json = text == NULL ? NULL : json_loadb(text, *size, 0, NULL);
  const char *schema = json_string_value(json_object_get(json, "schema"));
  bool good = schema != NULL && strcmp(schema, "perp-replay/1") == 0 &&
              json_integer_value(json_object_get(json, "frames")) > 1;
  json_decref(json);
  if (good) return text;
  free(text);
  return NULL;
}

static bool data_replayed(const perp_page *page, int row, double x)
{
  char path[1200];
  snprintf(path, sizeof path, "%s/replay/%s.json", page->results->record[row].dir,
           page->results->plan.cells[row].id);
  return (isnan(x) || page->view.x[row] == x) && perp_exists(path);
}

void perp_page_replay(perp_page *page)
{
  double x = perp_page_shown_x(page);
  bool any = false;
  for (int r = 0; r < page->results->plan.n && !any; r++) any = data_replayed(page, r, x);
  if (!page->interactive || !any) return;
  perp_html(page->out, "<h2 id=\"replay\">Replay</h2>\n<noscript><p class=\"note\">Needs "
                       "scripts.</p></noscript>\n");
}

/* Each scene gets its share of the room, the rest is for whoever comes first. */
static void data_replays(perp_page *page, perp_json *j)
{
  int n = page->results->plan.n, scene = perp_kind_param(page->study->kind, "scene"), n_scenes = 0;
  double x = perp_page_shown_x(page);
  if (scene < 0) return;
  const char **name = perp_xalloc((size_t)n + 1, sizeof *name);
  size_t *used = perp_xalloc((size_t)n + 1, sizeof *used), total = 0;
  int left_out = 0;
  int *of = perp_xalloc((size_t)n + 1, sizeof *of);
  bool *taken = perp_xalloc((size_t)n + 1, sizeof *taken);
  for (int r = 0; r < n; r++) {
    if (!data_replayed(page, r, x)) {
      taken[r] = true;
      continue;
    }
    const char *text = perp_view_text(&page->view, r, scene);
    while (of[r] < n_scenes && strcmp(name[of[r]], text) != 0) of[r]++;
    if (of[r] == n_scenes) name[n_scenes++] = text;
  }
  perp_json_open(j, "replays", '[');
  for (int pass = 0; pass < 2; pass++)
    for (int r = 0; r < n; r++) {
      size_t size = 0;
      if (taken[r]) continue;
      if (total > REPLAY_BYTES || (pass == 0 && used[of[r]] > (size_t)(REPLAY_BYTES / n_scenes))) {
        left_out += pass;
        continue;
      }
      char *text = replay_text(page, r, &size);
      taken[r] = true;
      if (text == NULL) continue;
      perp_json_open(j, NULL, '{');
      perp_json_int(j, "cell", r);
      perp_json_text(j, "scene", name[of[r]]);
      perp_json_raw(j, "replay", text);
      perp_json_close(j, '}');
      used[of[r]] += size;
      total += size;
      free(text);
    }
  perp_json_close(j, ']');
  perp_json_int(j, "replays_left_out", left_out);
  free(taken);
  free(of);
  free(used);
  free(name);
}

/* What the run found out about its references: how far two of them are apart. */
static void data_references(perp_page *page, perp_json *j)
{
  char path[1200];
  snprintf(path, sizeof path, "%s/reference.json", page->dir);
  json_t *json = json_load_file(path, 0, NULL);
  char *text = json_is_array(json) ? json_dumps(json, JSON_COMPACT) : NULL;
  perp_json_raw(j, "references", text == NULL ? "[]" : text);
  free(text);
  json_decref(json);
}

static void data_published(perp_page *page, perp_json *j)
{
  const perp_study *s = page->study;
  int *row = perp_xalloc((size_t)page->results->plan.n + 1, sizeof *row);
  perp_json_open(j, "published", '[');
  for (int i = 0; i < s->n_published; i++) {
    perp_json_open(j, NULL, '{');
    perp_json_text(j, "metric", s->published[i].metric);
    perp_json_text(j, "source", s->published[i].source);
    data_number(j, "value", s->published[i].value);
    perp_json_open(j, "cells", '[');
    int n = perp_page_published_cells(page, i, row);
    for (int k = 0; k < n; k++) perp_json_int(j, NULL, row[k]);
    perp_json_close(j, ']');
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
  free(row);
}

/* ---- the element ------------------------------------------------------------------------------------------------ */

void perp_page_data(perp_page *page)
{
  char *text = NULL;
  size_t size = 0;
  perp_json j = { .out = open_memstream(&text, &size) };
  if (j.out == NULL) return;
  perp_json_open(&j, NULL, '{');
  perp_json_text(&j, "schema", "perp-report/1");
  perp_json_text(&j, "dir", page->dir);
  data_study(page, &j);
  data_view(page, &j);
  data_cells(page, &j);
  all_series(page, &j);
  data_replays(page, &j);
  data_references(page, &j);
  data_published(page, &j);
  perp_json_close(&j, '}');
  fclose(j.out);
  perp_html_data(page->out, "perp-data", text, size);
  free(text);
}
