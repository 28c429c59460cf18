/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pages/styles.h"
#include "experiments/report/page.h"
#include "experiments/study/words.h"
#include "experiments/base/messages.h"
#include "experiments/base/files.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* floats of series on one page (5.4 bytes each), and rows that a series keeps */
enum { SERIES_FLOATS = 200000, SERIES_ROWS = 400 };
/* bytes of replays on one page */
enum { REPLAY_BYTES = 2400000 };

/* bytes of the metrics that the study does not name */
enum { OTHER_BYTES = 2000000 };

/* ---- columns ----
 * A page of 50 000 cells has some fifty columns.  Each is written in the shortest of these forms
 * (data.js reads them):
 *   {"same": value, "n": cells}                   all alike
 *   {"values": [...], "of": base64, "bytes": 1|2|4}   few different ones: numbers into the list,
 * little endian
 *   {"float": base64}                              float32, little endian; not a number: NaN
 * Numbers have the seven digits that a screen can show; cells.csv has all of them. */

static void data_number(perp_json *json, const char *key, double v)
{
  char text[32];
  snprintf(text, sizeof text, "%.7g", v);
  /* 1e999 reads as an infinity */
  perp_json_raw(json, key, isnan(v) ? "null" : !isinf(v) ? text : v > 0 ? "1e999" : "-1e999");
}

static void data_texts(perp_page *page, perp_json *json, const char *key, const char *const *text,
                       int n)
{
  perp_names value = { 0 };
  int *of = perp_xalloc((size_t)n + 1, sizeof *of);
  for (int i = 0; i < n; i++) of[i] = perp_names_index(&page->pool, &value, text[i], -1);
  perp_json_open(json, key, '{');
  if (value.n == 1) {
    perp_json_text(json, "same", text[0]);
    perp_json_int(json, "n", n);
  } else {
    perp_json_texts(json, "values", value.text, value.n);
    perp_page_indices(json, of, n, value.n);
  }
  perp_json_close(json, '}');
  free(of);
}

static int data_compare(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

/* The different numbers [n at most] in ascending order, NaN at the end. */
static int data_different(const float *v, int n, float *list)
{
  int different = 0;
  memcpy(list, v, (size_t)n * sizeof *list);
  qsort(list, (size_t)n, sizeof *list, data_compare);
  for (int i = 0; i < n; i++)
    if (different == 0 || data_compare(&list[different - 1], &list[i]) != 0)
      list[different++] = list[i];
  return different;
}

/* Returns about how many bytes it has written.  exact: read back as the decimal number that it was,
 * so that it can be compared with one. */
static size_t data_numbers(perp_json *json, const char *key, const double *v, int n, bool exact)
{
  enum { FEW = 256 };
  float *x = perp_xalloc((size_t)n + 1, sizeof *x), *list = perp_xalloc((size_t)n + 1, sizeof *x);
  for (int i = 0; i < n; i++) x[i] = (float)v[i];
  const int different = data_different(x, n, list);
  size_t size = 32;
  perp_json_open(json, key, '{');
  if (different == 1) {
    data_number(json, "same", v[0]);
    perp_json_int(json, "n", n);
  } else if (different <= FEW || (exact && different <= 65536)) {
    int *of = perp_xalloc((size_t)n + 1, sizeof *of);
    double *value = perp_xalloc((size_t)different, sizeof *value);
    for (int i = 0; i < n; i++) {
      const float *at = bsearch(&x[i], list, (size_t)different, sizeof *list, data_compare);
      of[i] = (int)(at - list);
      value[of[i]] = v[i];
    }
    perp_json_open(json, "values", '[');
    for (int k = 0; k < different; k++) data_number(json, NULL, value[k]);
    perp_json_close(json, ']');
    size += 12 * (size_t)different + perp_page_indices(json, of, n, different);
    free(of);
    free(value);
  } else {
    perp_json_floats(json, "float", x, (size_t)n);
    size += 16 * (size_t)n / 3;
  }
  perp_json_close(json, '}');
  free(x);
  free(list);
  return size;
}

/* ---- the study ---- */

static void data_study(perp_page *page, perp_json *json)
{
  const perp_study *study = page->study;
  perp_json_members(
      json, "study: { name %s, title %s, question %s, profile %s, kind %s, primary %s", study->name,
      study->title, study->question, study->profile, study->kind->name, study->metrics.primary);
  perp_json_texts(json, "record", study->metrics.record, study->metrics.n_record);
  perp_json_texts(json, "plots", study->report.plots, study->report.n_plots);
  perp_json_close(json, '}');
}

/* One parameter that varies: its values, and which of them each cell has ("": does not use it). */
static void data_axis(perp_page *page, perp_json *json, int param)
{
  const perp_param *p = &page->study->kind->params[param];
  int n = page->results->plan.n, *index = perp_pool_alloc(&page->pool, (size_t)n, sizeof *index);
  const char **name = perp_pool_alloc(&page->pool, (size_t)n, sizeof *name);
  perp_names value = { 0 };
  for (int cell = 0; cell < n; cell++) {
    int before = value.n;
    index[cell] = perp_names_index(&page->pool, &value, perp_view_text(&page->view, cell, param),
                                   -1);
    if (value.n > before) name[index[cell]] = perp_view_name(&page->pool, &page->view, cell, param);
  }
  if (value.n < 2) return;
  perp_json_members(json, "{ key %s, unit %s, plugin? %d", p->key,
                    p->type == PERP_PARAM_REAL ? p->unit : "", p->type == PERP_PARAM_PLUGIN);
  perp_json_texts(json, "values", value.text, value.n);
  perp_json_texts(json, "names", name, value.n); /* without the tolerance */
  perp_json_open(json, "words", '[');
  for (int k = 0; k < value.n; k++)
    perp_json_text(json, NULL, perp_headline_word(page->ctx, page->results, param, name[k]));
  perp_json_close(json, ']');
  perp_page_indices(json, index, n, value.n);
  perp_json_close(json, '}');
}

static void data_view(perp_page *page, perp_json *json)
{
  const perp_view *view = &page->view;
  const perp_param *params = page->study->kind->params;
  perp_json_members(json, "view: { subject %s, axes: [",
                    view->subject < 0 ? NULL : params[view->axis[view->subject]].key);
  for (int axis = 0; axis < view->n_axes; axis++)
    perp_json_text(json, NULL, params[view->axis[axis]].key);
  perp_json_members(json, "] x_name %s", view->x_name);
  if (view->x_name != NULL) {
    /* order: the tolerance under error control */
    data_numbers(json, "x", view->x, page->results->plan.n, true);
    data_numbers(json, "order", view->order, page->results->plan.n, true);
  }
  perp_json_close(json, '}');
}

/* ---- cells ---- */

/* One numeric option of the plug-ins of a parameter, "stab.alpha", when it takes several values. */
static void data_option(perp_page *page, perp_json *json, int param, const perp_opt *option)
{
  const perp_param *p = &page->study->kind->params[param];
  const int n = page->results->plan.n;
  double least = HUGE_VAL, most = -HUGE_VAL,
         *value = perp_pool_alloc(&page->pool, (size_t)n, sizeof *value);
  for (int cell = 0; cell < n; cell++) {
    char text[64];
    const perp_opt *own = perp_option_text(page->ctx, p->plugin,
                                           perp_view_text(&page->view, cell, param), option->key,
                                           text, sizeof text, &value[cell]);
    if (own == NULL || own->type != option->type) value[cell] = (double)NAN;
    least = fmin(least, value[cell]);
    most = fmax(most, value[cell]);
  }
  if (most > least)
    data_numbers(json, perp_pool_printf(&page->pool, "%s.%s", p->key, option->key), value, n, true);
}

static void data_option_unit(perp_page *page, perp_json *json, int param, const perp_opt *option)
{
  if (option->unit[0] != '\0')
    perp_json_text(
        json,
        perp_pool_printf(&page->pool, "%s.%s", page->study->kind->params[param].key, option->key),
        option->unit);
}

/* Each numeric option of the plug-ins of a parameter, once. */
static void data_options_of(perp_page *page, perp_json *json, int param,
                            void (*put)(perp_page *, perp_json *, int, const perp_opt *))
{
  perp_ctx quiet = *page->ctx;
  perp_names told = { 0 }; /* of two plug-ins with an option of one name the first */
  for (int cell = 0; cell < page->results->plan.n; cell++) {
    const char *text = perp_view_text(&page->view, cell, param);
    perp_spec spec;
    if (text[0] == '\0' ||
        perp_spec_parse(&quiet, page->study->kind->params[param].plugin, text, &spec) != PERP_OK)
      continue;
    for (const perp_opt *option = spec.d->opts; option != NULL && option->type != PERP_OPT_END;
         option++) {
      int before = told.n;
      bool number = option->type == PERP_OPT_REAL || option->type == PERP_OPT_INT;
      if (perp_names_index(&page->pool, &told, option->key, -1) == before && number)
        put(page, json, param, option);
    }
    perp_spec_free(&spec);
  }
}

/* Quartiles of a timing metric over its rounds, where there were several. */
static void data_spread(perp_page *page, perp_json *json, int m)
{
  const int n = page->results->plan.n;
  double *lo = perp_pool_alloc(&page->pool, (size_t)n, sizeof *lo),
         *hi = perp_pool_alloc(&page->pool, (size_t)n, sizeof *hi);
  bool any = false;
  for (int cell = 0; cell < n; cell++) {
    const perp_quartiles quartiles = perp_results_timing(page->results, cell, m);
    lo[cell] = quartiles.n > 1 ? quartiles.q1 : (double)NAN;
    hi[cell] = quartiles.n > 1 ? quartiles.q3 : (double)NAN;
    any = any || quartiles.n > 1;
  }
  if (!any) return;
  data_numbers(json, "q1", lo, n, false);
  data_numbers(json, "q3", hi, n, false);
}

/* Does the study name it, or does a figure of the page show it? */
static bool data_named(const perp_study *study, const char *name)
{
  static const char *const shown[] = { "time.step_us",  "time.cpu",      "err.tip.max",
                                       "err.q.max",     "drift.pos.max", "energy.rel.max",
                                       "work.products", "work.counted" };
  bool named = strcmp(study->metrics.primary, name) == 0;
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
    named = named || strcmp(shown[i], name) == 0;
  for (int k = 0; k < study->metrics.n_record; k++)
    named = named || strcmp(study->metrics.record[k], name) == 0;
  for (int published = 0; published < study->n_published; published++)
    named = named || strcmp(study->published[published].metric, name) == 0;
  for (int plot = 0; plot < study->report.n_plots; plot++)
    named = named || strstr(study->report.plots[plot], name) != NULL;
  return named;
}

/* Those that are named first, the others as long as there is room. */
static void data_metrics(perp_page *page, perp_json *json)
{
  const perp_study *study = page->study;
  int n = page->results->plan.n, left_out = 0;
  double *value = perp_pool_alloc(&page->pool, (size_t)n, sizeof *value);
  size_t others = 0;
  perp_json_open(json, "metrics", '[');
  for (int pass = 0; pass < 2; pass++)
    for (int m = 0; m < study->n_metrics; m++) {
      const perp_metric *metric = &study->metric[m];
      bool any = false;
      if (data_named(study, metric->name) != (pass == 0)) continue;
      for (int cell = 0; cell < n; cell++) {
        value[cell] = perp_results_value(page->results, cell, m);
        any = any || !isnan(value[cell]);
      }
      if (!any) continue;
      if (others > OTHER_BYTES) {
        left_out++;
        continue;
      }
      perp_json_members(json, "{ name %s, words %s, unit %s, meaning %s, better %d, timing? %d",
                        metric->name, perp_words(metric->name), metric->unit, metric->meaning,
                        metric->better, metric->timing);
      const size_t size = data_numbers(json, "values", value, n, false);
      if (metric->timing) data_spread(page, json, m);
      if (pass == 1) others += size;
      perp_json_close(json, '}');
    }
  perp_json_members(json, "] metrics_left_out %d", left_out);
}

/* The command of a cell as its words, which many cells share: which of them, one after the other,
 * and how many. */
static void data_commands(perp_page *page, perp_json *json)
{
  const int n = page->results->plan.n;
  perp_names word = { 0 };
  perp_text text = { 0 };
  int *of = NULL, *count = perp_xalloc((size_t)n + 1, sizeof *count), used = 0, room = 0;
  for (int cell = 0; cell < n; cell++) {
    text.n = 0;
    page->study->kind->command(page->study, &page->results->plan.cells[cell], &text);
    for (const char *at = text.n > 0 ? text.s : ""; *at != '\0'; count[cell]++) {
      const size_t length = strcspn(at, " ");
      char *one = perp_pool_strndup(&page->pool, at, length);
      if (used == room) {
        room = 2 * room + 1024;
        of = perp_xrealloc(of, (size_t)room, sizeof *of);
      }
      of[used++] = perp_names_index(&page->pool, &word, one, -1);
      at += length + (at[length] == ' ');
    }
  }
  perp_json_open(json, "command", '{');
  perp_json_texts(json, "words", word.text, word.n);
  perp_page_indices(json, of, used, word.n);
  perp_json_open(json, "count", '{');
  perp_page_indices(json, count, n, 256);
  perp_json_members(json, "} }");
  perp_text_free(&text);
  free(of);
  free(count);
}

static void data_cells(perp_page *page, perp_json *json)
{
  const perp_plan *plan = &page->results->plan;
  const perp_record *record = page->results->record;
  const perp_view *view = &page->view;
  int n = plan->n, *wins = perp_pool_alloc(&page->pool, (size_t)n, sizeof *wins);
  perp_text ids = { 0 };
  const char **text = perp_pool_alloc(&page->pool, (size_t)n, sizeof *text);
  double *reached = perp_pool_alloc(&page->pool, (size_t)n, sizeof *reached);
  perp_json_open(json, "cells", '{');
  for (int cell = 0; cell < n; cell++) perp_text_add(&ids, "%s", plan->cells[cell].id);
  perp_json_text(json, "id", ids.s); /* sixteen letters each */
  perp_text_free(&ids);
  for (int r = 0; r < n; r++) text[r] = perp_cell_status_names[record[r].status];
  data_texts(page, json, "status", text, n);
  for (int cell = 0; cell < n; cell++)
    wins[cell] = perp_results_wins(page->results, cell) ? 1 : perp_view_stands(view, cell) ? 2 : 0;
  perp_json_open(json, "wins", '{'); /* 1: may be best; 2: its figures stand, but it wins nothing */
  perp_page_indices(json, wins, n, 256);
  perp_json_close(json, '}');
  for (int cell = 0; cell < n; cell++) text[cell] = perp_view_mark(&page->pool, view, cell);
  data_texts(page, json, "mark", text, n);
  for (int r = 0; r < n; r++) reached[r] = record[r].partial ? record[r].reached : (double)NAN;
  data_numbers(json, "partial", reached, n,
               false); /* the time that was reached, null: a whole run */
  for (int r = 0; r < n; r++) text[r] = record[r].dir;
  data_texts(page, json, "dir", text, n); /* of the folders that are shown together */
  for (int r = 0; r < n; r++) text[r] = record[r].reason;
  data_texts(page, json, "reason", text, n);
  for (int r = 0; r < n; r++) text[r] = record[r].cause;
  data_texts(page, json, "cause", text, n);
  data_commands(page, json);
  const perp_param *params = page->study->kind->params;
  perp_json_members(json, "} axes: [");
  for (int param = 0; param < page->study->n_params; param++) data_axis(page, json, param);
  perp_json_members(json, "] labels: {");
  for (int param = 0; param < page->study->n_params; param++)
    perp_json_text(json, params[param].key, perp_words(params[param].key));
  perp_json_members(json, "} units: {");
  for (int param = 0; param < page->study->n_params; param++)
    if (params[param].type == PERP_PARAM_PLUGIN)
      data_options_of(page, json, param, data_option_unit);
  perp_json_members(json, "} options: {");
  for (int param = 0; param < page->study->n_params; param++)
    if (params[param].type == PERP_PARAM_PLUGIN) data_options_of(page, json, param, data_option);
  perp_json_close(json, '}');
  data_metrics(page, json);
}

/* ---- series ---- */

/* "q12", "v3": coordinates are for the replay */
static bool data_coordinate(const char *header)
{
  return (header[0] == 'q' || header[0] == 'v') && header[1] >= '0' && header[1] <= '9';
}

/* Which rows stay: all when they are few; else evenly in time, and in the logarithm over
 * iterations. */
static int data_thin(int rows, bool iterations, int *kept)
{
  int n = 0;
  if (rows <= SERIES_ROWS) {
    for (int row = 0; row < rows; row++) kept[n++] = row;
    return n;
  }
  for (int k = 0; k < SERIES_ROWS; k++) {
    double s = (double)k / (SERIES_ROWS - 1);
    int i = (int)lround(iterations ? pow((double)rows, s) - 1 : s * (rows - 1));
    if (n == 0 || i > kept[n - 1]) kept[n++] = i;
  }
  return n;
}

static void one_series(perp_json *json, int row, const perp_csv *csv, int *budget)
{
  int kept[SERIES_ROWS];
  int n = data_thin(csv->rows, strcmp(csv->header[0], "iteration") == 0, kept);
  float v[SERIES_ROWS];
  perp_json_members(json, "{ cell %d, fields: {", row);
  for (int column = 0; column < csv->columns; column++) {
    if (data_coordinate(csv->header[column])) continue;
    bool any = false;
    for (int i = 0; i < n; i++) {
      v[i] = (float)perp_csv_number(csv, kept[i], column);
      any = any || !isnan(v[i]);
    }
    if (!any) continue;
    perp_json_floats(json, csv->header[column], v, (size_t)n);
    *budget -= n;
  }
  perp_json_members(json, "} }");
}

static void all_series(perp_page *page, perp_json *json)
{
  int n = page->results->plan.n, budget = SERIES_FLOATS, left_out = 0;
  double h = perp_page_shown_x(page);
  perp_json_open(json, "series", '[');
  /* those of the figures first */
  for (int pass = 0; pass < 2; pass++)
    for (int cell = 0; cell < n; cell++) {
      if ((isnan(h) || page->view.x[cell] == h) != (pass == 0)) continue;
      perp_csv csv;
      if (budget <= 0) {
        left_out += perp_exists(perp_page_file(page, cell, "series", "csv"));
        continue;
      }
      if (!perp_page_read_series(page, cell, &csv)) continue;
      if (csv.rows > 1) one_series(json, cell, &csv, &budget);
      perp_csv_free(&csv);
    }
  perp_json_members(json, "] series_left_out %d", left_out);
}

/* ---- replays ---- */

/* The replay of a cell, checked: a torn file must not spoil the page. */
static char *replay_text(perp_page *page, int row, size_t *size)
{
  const char *path = perp_page_file(page, row, "replay", "json");
  char *text = perp_read_file(path, size);
  if (text == NULL) perp_say_unread(path);
  json_t *json = text == NULL ? NULL : perp_json_read(text, *size);
  const char *schema = json_string_value(json_object_get(json, "schema"));
  bool good = schema != NULL && strcmp(schema, "perp-replay/2") == 0 &&
              json_integer_value(json_object_get(json, "frames")) > 1;
  json_decref(json);
  if (good) return text;
  free(text);
  return NULL;
}

/* x: those of a study with series that are shown; without, the run has chosen a few. */
static bool data_replayed(perp_page *page, int row, double x)
{
  return (isnan(x) || page->view.x[row] == x || !page->study->metrics.series) &&
         perp_exists(perp_page_file(page, row, "replay", "json"));
}

/* Each scene gets its share of the room, the rest is for whoever comes first. */
static void data_replays(perp_page *page, perp_json *json)
{
  int n = page->results->plan.n, scene = perp_kind_param(page->study->kind, "scene"), left_out = 0;
  double x = perp_page_shown_x(page);
  if (scene < 0) return;
  perp_names name = { 0 };
  size_t *used = perp_pool_alloc(&page->pool, (size_t)n, sizeof *used), total = 0;
  int *of = perp_pool_alloc(&page->pool, (size_t)n, sizeof *of); /* its scene; -1: done with */
  for (int row = 0; row < n; row++)
    of[row] = data_replayed(page, row, x)
                  ? perp_names_index(&page->pool, &name, perp_view_text(&page->view, row, scene),
                                     -1)
                  : -1;
  perp_json_open(json, "replays", '[');
  for (int pass = 0; pass < 2; pass++)
    for (int row = 0; row < n; row++) {
      size_t size = 0;
      const int s = of[row];
      if (s < 0) continue;
      if (total > REPLAY_BYTES || (pass == 0 && used[s] > (size_t)(REPLAY_BYTES / name.n))) {
        left_out += pass;
        continue;
      }
      char *text = replay_text(page, row, &size);
      of[row] = -1;
      if (text == NULL) continue;
      perp_json_members(json, "{ cell %d, scene %s", row, name.text[s]);
      perp_json_raw(json, "replay", text);
      perp_json_close(json, '}');
      used[s] += size;
      total += size;
      free(text);
    }
  perp_json_members(json, "] replays_left_out %d", left_out);
}

/* What the run found out about its references: how far two of them are apart. */
static void data_references(perp_page *page, perp_json *out)
{
  json_t *json = perp_json_read_file(perp_pool_printf(&page->pool, "%s/reference.json", page->dir));
  char *text = json_is_array(json) ? json_dumps(json, JSON_COMPACT) : NULL;
  perp_json_raw(out, "references", text == NULL ? "[]" : text);
  free(text);
  json_decref(json);
}

static void data_styles(perp_json *json)
{
  perp_json_open(json, "styles", '[');
  for (int i = 0; i < PERP_STYLES; i++) {
    const perp_style *style = perp_style_of(i);
    perp_json_members(json, "{ light %s, dark %s, marker %s, open? %d, dashed? %d", style->light,
                      style->dark, style->marker, style->open, style->dashed);
    perp_json_close(json, '}');
  }
  perp_json_close(json, ']');
}

static void data_profiles(perp_json *json)
{
  perp_json_open(json, "profiles", '{');
  for (int profile = 0; profile < PERP_PROFILES; profile++)
    perp_json_object(json, perp_profiles[profile].id, "title %s, caption %s",
                     perp_profiles[profile].title, perp_profiles[profile].caption);
  perp_json_close(json, '}');
}

/* ---- all of it ---- */

void perp_page_data(perp_page *page, FILE *out)
{
  perp_json json = { .out = out };
  perp_json_members(&json, "{ schema %s, dir %s, figs %s, formats: [", "perp-report/3", page->dir,
                    page->link);
  for (int i = 0; perp_figure_formats[i] != NULL; i++)
    if (strstr(page->formats, perp_figure_formats[i]) != NULL)
      perp_json_text(&json, NULL,
                     strcmp(perp_figure_formats[i], "tikz") == 0 ? "tex" : perp_figure_formats[i]);
  perp_json_text(&json, NULL, "gp");
  perp_json_text(&json, NULL, "csv");
  perp_json_close(&json, ']');
  perp_page_findings(page, &json);
  perp_json_raw(&json, "figures", page->drawn_json);
  perp_json_text(&json, "undrawn", page->warnings.n > 0 ? page->warnings.s : "");
  data_styles(&json);
  data_profiles(&json);
  data_study(page, &json);
  data_view(page, &json);
  perp_page_top_json(page, &json);
  data_cells(page, &json);
  all_series(page, &json);
  data_replays(page, &json);
  data_references(page, &json);
  perp_json_close(&json, '}');
  fputc('\n', out);
}
