/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an answer is made of: values and settings in words, and what is too small to be told. */
#include "experiments/answers/answers_parts.h"

#include "experiments/study/words.h"
#include "experiments/base/numbers.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rounding = 1e-14; /* of errors of positions of order 1 */

/* ---- cells of a comparison ---- */

int answers_cells(const struct answering *w, int facet, const int **cell)
{
  *cell = w->cell + (facet < 0 ? 0 : w->first[facet]);
  return facet < 0 ? w->first[w->n_facets] : w->first[facet + 1] - w->first[facet];
}

/* ---- values ---- */

/* "1 ms", "0.2 s", "1.50e-08 m" */
const char *answers_quantity(perp_pool *pool, double v, const char *unit)
{
  char text[32];
  if (strcmp(unit, "s") == 0 && v > 0 && v < 1) {
    const bool micro = v < 1e-3;
    return perp_pool_printf(pool, "%.4g %s", v * (micro ? 1e6 : 1e3), micro ? "us" : "ms");
  }
  return perp_pool_printf(pool, "%s%s%s", perp_number(v, text), unit[0] ? " " : "", unit);
}

/* The value of a parameter as it was asked for: "15.625 ms", "1e-06" */
static const char *parts_setting(perp_pool *pool, double v, const char *unit)
{
  const bool time = strcmp(unit, "s") == 0 && v > 0 && v < 1, micro = time && v < 1e-4;
  return perp_pool_printf(pool, "%.5g%s%s",
                          micro  ? 1e6 * v
                          : time ? 1e3 * v
                                 : v,
                          unit[0] != '\0' ? " " : "",
                          micro  ? "us"
                          : time ? "ms"
                                 : unit);
}

/* The unit of a key that is a number; NULL: it is a text. */
static const char *parts_unit(const struct answering *w, const perp_study_key *key)
{
  const perp_param *p = &w->r->study->kind->params[key->param];
  if (key->name || key->without) return NULL;
  if (p->type == PERP_PARAM_REAL) return p->unit;
  return p->type == PERP_PARAM_INT || (key->option != NULL && p->type == PERP_PARAM_PLUGIN) ? ""
                                                                                            : NULL;
}

const char *answers_value(struct answering *w, const perp_study_key *key, int cell)
{
  const char *value = w->r->plan.cells[cell].value[key->param].text;
  const char *text = perp_study_key_text(w->ctx, w->r->study, &w->r->pool, key, value);
  const char *unit = parts_unit(w, key);
  const perp_param *p = &w->r->study->kind->params[key->param];
  const double v = perp_real_of(text);
  if (unit != NULL && !isnan(v)) return parts_setting(&w->r->pool, v, unit);
  const bool adaptive = key->without && strcmp(key->option, "tol") == 0 && strcmp(text, value) != 0;
  if (strncmp(text, "file:", 5) == 0 && p->type == PERP_PARAM_TEXT) /* of a path the name */
    return strrchr(text, '/') != NULL ? strrchr(text, '/') + 1 : text + 5;
  return adaptive ? perp_pool_printf(&w->r->pool, "%s (tol)", text) : text;
}

const char *answers_label(struct answering *w, const perp_study_key *keys, int n, int cell)
{
  const char *label = "";
  for (int k = 0; k < n; k++) {
    const char *text = answers_value(w, &keys[k], cell);
    /* a number does not say what it is of */
    if (parts_unit(w, &keys[k]) != NULL && text[0] != '\0')
      text = perp_pool_printf(&w->r->pool, "%s %s", keys[k].text, text);
    if (text[0] != '\0')
      label = label[0] == '\0' ? text : perp_pool_printf(&w->r->pool, "%s + %s", label, text);
  }
  return label[0] == '\0' ? "all" : label;
}

const char *answers_condition(struct answering *w, int m, double v, bool down)
{
  const perp_metric *metric = &w->r->study->metric[m];
  return perp_pool_printf(&w->r->pool, "%s %s %s", metric->name, down ? "down to" : "up to",
                          parts_setting(&w->r->pool, v, metric->unit));
}

const char *answers_condition_words(struct answering *w, int m, double v, bool down)
{
  const perp_metric *metric = &w->r->study->metric[m];
  const bool least = down && metric->better > 0;
  return perp_pool_printf(&w->r->pool, "%s at %s %s", perp_words_ranked(metric->name),
                          least ? "least" : "most", parts_setting(&w->r->pool, v, metric->unit));
}

const char *answers_limit(struct answering *w, int m, double v, bool down)
{
  return perp_pool_printf(&w->r->pool, "%s %s", down ? "to" : "in",
                          parts_setting(&w->r->pool, v, w->r->study->metric[m].unit));
}

/* ---- what cannot be told ---- */

/* How far two references of the scene of a cell are apart: relative to the largest coordinate. */
static double reference_apart(struct answering *w, int cell)
{
  const int scene = perp_kind_param(w->r->study->kind, "scene");
  const char *dir = w->r->record[cell].dir;
  if (scene < 0) return 0;
  if (w->references == NULL || strcmp(dir, w->references_of) != 0) {
    json_decref(w->references);
    w->references = json_load_file(perp_pool_printf(&w->r->pool, "%s/reference.json", dir), 0,
                                   NULL);
    if (w->references == NULL) w->references = json_array();
    w->references_of = dir;
  }
  double worst = 0;
  size_t i;
  json_t *one;
  json_array_foreach(w->references, i, one)
  {
    const char *name = json_string_value(json_object_get(one, "scene"));
    const double v = perp_json_number(json_object_get(one, "worst"));
    if (name != NULL && strcmp(name, w->r->plan.cells[cell].value[scene].text) == 0 && isfinite(v))
      worst = fmax(worst, v);
  }
  return worst;
}

double answers_floor(struct answering *w, int m, int cell)
{
  const perp_metric *metric = &w->r->study->metric[m];
  if (metric->timing || metric->better == 0) return 0;
  /* a count, and the judge of a problem, are exact */
  double floor = w->r->study->kind->runs ? rounding : 0;
  if (strncmp(metric->name, "err.", 4) == 0 || strcmp(metric->name, "truth.err") == 0) {
    const double apart = reference_apart(w, cell);
    w->references_used = w->references_used || apart > floor;
    floor = fmax(floor, apart);
  }
  if (m != w->metric) return floor;
  floor = fmax(floor, w->q.floor);
  w->least_floor = fmin(w->least_floor, floor);
  w->most_floor = fmax(w->most_floor, floor);
  return floor;
}
