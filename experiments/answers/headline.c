/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/answers/headline.h"
#include "experiments/answers/findings.h"
#include "experiments/study/words.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const perp_headline_names[] = { "none", "curves", "rows", "solved", NULL };

enum { PANELS_MOST = 6, CURVES_MOST = 9, SOLVERS_MOST = 8 };
static const double nearly_all = 0.8, visible = 0.1; /* of the most curves, of the largest effect */

struct headline_choosing {
  const perp_ctx *ctx;
  perp_results *r;
  perp_pool *pool; /* of r */
  const perp_view *view;
  const struct answers_explained *explained; /* of y; NULL */
  bool *in;                                  /* [cells] that the study wants in the figure */
  int ranked[PERP_VIEW_AXES], n_ranked;      /* parameters, what matters most first */
};

/* One way to draw it: what is coloured and what makes panels; the rest are slices. */
struct headline_way {
  int colour, panels, rest[PERP_VIEW_AXES], n_rest;
  perp_names names, panel_names;
  int *name_of, *panel_of;
  int n_slices;
  perp_headline_slice *slice;
};

static bool headline_positive(double v)
{
  return v > 0 && isfinite(v);
}

static bool headline_has(const struct headline_choosing *choosing, int m)
{
  for (int cell = 0; m >= 0 && cell < choosing->r->plan.n; cell++)
    if (headline_positive(perp_results_value(choosing->r, cell, m)) &&
        perp_view_stands(choosing->view, cell))
      return true;
  return false;
}

double perp_headline_shade(const perp_results *results, const char *metric)
{
  if (strncmp(metric, "err.q", 5) != 0) return 0;
  char *path = perp_xprintf("%s/reference.json", results->dir);
  json_t *list = perp_json_read_file(path), *reference;
  double shade = 0;
  size_t i;
  json_array_foreach(list, i, reference)
      shade = fmax(shade, 10 * json_number_value(json_object_get(reference, "worst")));
  json_decref(list);
  free(path);
  return shade;
}

/* The values of a parameter without tolerances, and which one each cell has. */
static int *headline_values(const struct headline_choosing *choosing, int param, perp_names *names)
{
  const int n = choosing->r->plan.n;
  int *of = perp_pool_alloc(choosing->pool, (size_t)n + 1, sizeof *of);
  *names = (perp_names){ 0 };
  for (int cell = 0; cell < n; cell++)
    of[cell] = perp_names_index(
        choosing->pool, names,
        param < 0 ? "" : perp_view_name(choosing->pool, choosing->view, cell, param), -1);
  return of;
}

/* The parameter where it varies, else -1. */
static int headline_varied(const struct headline_choosing *choosing, int param)
{
  for (int cell = 1; param >= 0 && cell < choosing->r->plan.n; cell++)
    if (strcmp(perp_view_text(choosing->view, cell, param),
               perp_view_text(choosing->view, 0, param)) != 0)
      return param;
  return -1;
}

static bool headline_listed(const int *list, int n, int param)
{
  for (int i = 0; i < n; i++)
    if (list[i] == param) return true;
  return false;
}

/* Factors by what they explain, the largest first; without that knowledge as the view has them. */
static void headline_rank(struct headline_choosing *choosing)
{
  const perp_view *view = choosing->view;
  const struct answers_explained *explained = choosing->explained;
  for (int term = 0; explained != NULL && term < explained->n_terms; term++) {
    const perp_study_key *key = &explained->factor[explained->term[term].a].key;
    for (int axis = 0; explained->term[term].b < 0 && axis < view->n_axes; axis++)
      if (strcmp(key->text, choosing->r->study->kind->params[view->axis[axis]].key) == 0 &&
          !headline_listed(choosing->ranked, choosing->n_ranked, view->axis[axis]))
        choosing->ranked[choosing->n_ranked++] = view->axis[axis];
  }
  const int subject = view->subject < 0 ? -1 : view->axis[view->subject];
  if (subject >= 0 && !headline_listed(choosing->ranked, choosing->n_ranked, subject))
    choosing->ranked[choosing->n_ranked++] = subject;
  for (int axis = 0; axis < view->n_axes; axis++)
    if (!headline_listed(choosing->ranked, choosing->n_ranked, view->axis[axis]))
      choosing->ranked[choosing->n_ranked++] = view->axis[axis];
}

static bool headline_few(const struct headline_choosing *choosing, int param)
{
  perp_names names;
  headline_values(choosing, param, &names);
  return names.n > 1 && names.n <= PANELS_MOST;
}

/* Colour (-1: the first that may be), panels and the rest.  Errors of different scenes do not
 * compare, so that scenes come in panels. */
static void headline_factors(const struct headline_choosing *choosing, int colour,
                             struct headline_way *way)
{
  const int scene = perp_kind_param(choosing->r->study->kind, "scene");
  const char *wanted = choosing->r->study->report.figure.panels;
  int panels = wanted == NULL
                   ? -1
                   : headline_varied(choosing, perp_kind_param(choosing->r->study->kind, wanted));
  *way = (struct headline_way){ .colour = colour };
  for (int k = 0; k < choosing->n_ranked && way->colour < 0; k++)
    if (choosing->ranked[k] != scene && choosing->ranked[k] != panels)
      way->colour = choosing->ranked[k];
  if (way->colour < 0 && choosing->n_ranked > 0 && choosing->ranked[0] != panels)
    way->colour = choosing->ranked[0];
  if (panels < 0 && scene >= 0 && scene != way->colour &&
      headline_listed(choosing->ranked, choosing->n_ranked, scene) && headline_few(choosing, scene))
    panels = scene;
  for (int k = 0; k < choosing->n_ranked && panels < 0; k++)
    if (choosing->ranked[k] != way->colour && headline_few(choosing, choosing->ranked[k]))
      panels = choosing->ranked[k];
  way->panels = panels;
  for (int k = 0; k < choosing->n_ranked; k++)
    if (choosing->ranked[k] != way->colour && choosing->ranked[k] != panels)
      way->rest[way->n_rest++] = choosing->ranked[k];
  way->name_of = headline_values(choosing, way->colour, &way->names);
  way->panel_of = headline_values(choosing, way->panels, &way->panel_names);
}

struct headline_spot {
  int panel, name;
  double x, y; /* log10 y */
};

static int headline_by_place(const void *a, const void *b)
{
  const struct headline_spot *p = a, *q = b;
  if (p->panel != q->panel) return p->panel - q->panel;
  if (p->x != q->x) return p->x < q->x ? -1 : 1;
  if (p->name != q->name) return p->name - q->name;
  return (p->y > q->y) - (p->y < q->y);
}

/* What there is to see in a slice: effect, curves. */
static void headline_effect(const struct headline_choosing *choosing, const perp_headline *top,
                            const struct headline_way *way, perp_headline_slice *slice)
{
  struct headline_spot *spot = perp_xalloc((size_t)slice->n + 1, sizeof *spot);
  bool *seen = perp_xalloc((size_t)way->names.n * (size_t)way->panel_names.n + 1, sizeof *seen);
  int n = 0, places = 0;
  double sum = 0;
  for (int i = 0; i < slice->n; i++) {
    const int cell = slice->cell[i];
    const double y = perp_results_value(choosing->r, cell, top->y_metric),
                 x = choosing->view->x_name != NULL ? choosing->view->x[cell] : 0;
    if (!headline_positive(y) || !perp_view_stands(choosing->view, cell)) continue;
    spot[n++] = (struct headline_spot){ way->panel_of[cell], way->name_of[cell], isnan(x) ? 0 : x,
                                        log10(fmax(y, top->floor)) };
    bool *mark = &seen[way->panel_of[cell] * way->names.n + way->name_of[cell]];
    slice->curves += !*mark;
    *mark = true;
  }
  qsort(spot, (size_t)n, sizeof *spot, headline_by_place);
  for (int i = 0; i < n;) {
    const struct headline_spot *first = &spot[i];
    double least = first->y, most = first->y;
    int names = 1;
    for (i++; i < n && spot[i].panel == first->panel && spot[i].x == first->x; i++) {
      if (spot[i].name == spot[i - 1].name) continue; /* the best run of each colour */
      least = fmin(least, spot[i].y);
      most = fmax(most, spot[i].y);
      names++;
    }
    if (names < 2) continue;
    sum += most - least;
    places++;
  }
  slice->effect = places > 0 ? sum / places : 0;
  free(spot);
  free(seen);
}

struct headline_order {
  perp_headline_slice slice;
  bool good;
  int at;
};

static int headline_by_telling(const void *a, const void *b)
{
  const struct headline_order *p = a, *q = b;
  if (p->good != q->good) return q->good - p->good;
  if (p->slice.effect != q->slice.effect) return p->slice.effect > q->slice.effect ? -1 : 1;
  if (p->slice.curves != q->slice.curves) return q->slice.curves - p->slice.curves;
  return p->at - q->at;
}

const char *perp_headline_word(const perp_ctx *ctx, perp_results *results, int param,
                               const char *name)
{
  if (param < 0) return "";
  const perp_param *p = &results->study->kind->params[param];
  if (name[0] == '\0')
    return strcmp(p->key, "ode") == 0
               ? "the formulation's own integrator"
               : perp_pool_printf(&results->pool, "no %s", perp_words(p->key));
  return perp_words_choice(ctx, &results->pool, p->key, p->type == PERP_PARAM_PLUGIN, p->plugin,
                           name);
}

static const char *headline_slice_words(const struct headline_choosing *choosing,
                                        const struct headline_way *way, int cell)
{
  const char *all = "";
  for (int k = 0; k < way->n_rest; k++) {
    const char *name = perp_view_name(choosing->pool, choosing->view, cell, way->rest[k]);
    if (name[0] == '\0') continue;
    all = perp_pool_printf(choosing->pool, "%s%s%s", all, all[0] != '\0' ? "; " : "",
                           perp_headline_word(choosing->ctx, choosing->r, way->rest[k], name));
  }
  return all;
}

/* The slices of a way, the most telling first. */
static void headline_slices(const struct headline_choosing *choosing, const perp_headline *top,
                            struct headline_way *way)
{
  const int n = choosing->r->plan.n;
  perp_names keys = { 0 };
  int *of = perp_xalloc((size_t)n + 1, sizeof *of);
  for (int cell = 0; cell < n; cell++) {
    const char *key = "";
    of[cell] = -1;
    if (!choosing->in[cell]) continue;
    for (int k = 0; k < way->n_rest; k++)
      key = perp_pool_printf(choosing->pool, "%s\n%s", key,
                             perp_view_name(choosing->pool, choosing->view, cell, way->rest[k]));
    of[cell] = perp_names_index(choosing->pool, &keys, key, -1);
  }
  struct headline_order *order = perp_xalloc((size_t)keys.n + 1, sizeof *order);
  for (int r = 0; r < n; r++)
    if (of[r] >= 0) order[of[r]].slice.n++;
  for (int k = 0; k < keys.n; k++) {
    perp_headline_slice *slice = &order[k].slice;
    slice->cell = perp_pool_alloc(choosing->pool, (size_t)slice->n + 1, sizeof *slice->cell);
    slice->n = 0;
    order[k].at = k;
  }
  for (int r = 0; r < n; r++)
    if (of[r] >= 0) order[of[r]].slice.cell[order[of[r]].slice.n++] = r;
  int curves = 0;
  double effect = 0;
  for (int k = 0; k < keys.n; k++) {
    headline_effect(choosing, top, way, &order[k].slice);
    curves = order[k].slice.curves > curves ? order[k].slice.curves : curves;
    effect = fmax(effect, order[k].slice.effect);
  }
  for (int k = 0; k < keys.n; k++)
    order[k].good = order[k].slice.curves >= nearly_all * curves &&
                    order[k].slice.effect >= visible * effect;
  qsort(order, (size_t)keys.n, sizeof *order, headline_by_telling);
  way->slice = perp_pool_alloc(choosing->pool, (size_t)keys.n + 1, sizeof *way->slice);
  for (int k = 0; k < keys.n; k++)
    if (order[k].slice.curves > 0) way->slice[way->n_slices++] = order[k].slice;
  free(order);
  free(of);
}

/* The curves of a slice: all where they are few, else those of the best runs. */
static void headline_shown(const struct headline_choosing *choosing, const perp_headline *top,
                           perp_headline_slice *slice)
{
  const int n = top->names.n;
  perp_ranked *list = perp_pool_alloc(choosing->pool, (size_t)n + 1, sizeof *list);
  bool *kept = perp_pool_alloc(choosing->pool, (size_t)n + 1, sizeof *kept),
       *present = perp_pool_alloc(choosing->pool, (size_t)n + 1, sizeof *present);
  double *best = perp_pool_alloc(choosing->pool, (size_t)n + 1, sizeof *best);
  int m = 0;
  for (int k = 0; k < n; k++) best[k] = HUGE_VAL;
  for (int i = 0; i < slice->n; i++) {
    const int cell = slice->cell[i], k = top->name_of[cell];
    const double y = perp_results_value(choosing->r, cell, top->y_metric);
    present[k] = true;
    if (perp_view_stands(choosing->view, cell) && headline_positive(y)) best[k] = fmin(best[k], y);
  }
  for (int k = 0; k < n; k++)
    if (present[k]) {
      list[m] = (perp_ranked){ k, 0, best[k], m };
      m++;
    }
  perp_ranked_sort(list, m);
  for (int i = 0; i < m && i < CURVES_MOST; i++) kept[list[i].cell] = true;
  slice->shown = perp_pool_alloc(choosing->pool, CURVES_MOST, sizeof *slice->shown);
  for (int k = 0; k < n; k++)
    if (kept[k]) slice->shown[slice->n_shown++] = k;
  slice->left = m - slice->n_shown;
}

/* Problems and solvers: the solvers that solve most. */
static void headline_solvers(struct headline_choosing *choosing, perp_headline *top)
{
  const perp_cell_kind *kind = choosing->r->study->kind;
  top->colour = headline_varied(choosing, perp_kind_param(kind, "lcp"));
  top->y = top->x = "time.cpu";
  top->y_metric = top->x_metric = perp_results_metric(choosing->r, "time.cpu");
  if (top->colour < 0 || !headline_has(choosing, top->y_metric)) return;
  top->name_of = headline_values(choosing, top->colour, &top->names);
  top->panel_of = headline_values(choosing, -1, &top->panel_names);
  perp_headline_slice *slice = perp_pool_alloc(choosing->pool, 1, sizeof *slice);
  perp_ranked *list = perp_pool_alloc(choosing->pool, (size_t)top->names.n + 1, sizeof *list);
  double *solved = perp_pool_alloc(choosing->pool, (size_t)top->names.n + 1, sizeof *solved);
  slice->words = "";
  slice->cell = perp_pool_alloc(choosing->pool, (size_t)choosing->r->plan.n + 1,
                                sizeof *slice->cell);
  for (int cell = 0; cell < choosing->r->plan.n; cell++) {
    if (!choosing->in[cell]) continue;
    slice->cell[slice->n++] = cell;
    if (perp_results_wins(choosing->r, cell)) solved[top->name_of[cell]]++;
  }
  int n = 0;
  for (int k = 0; k < top->names.n; k++)
    if (top->names.text[k][0] != '\0' && solved[k] > 0) {
      list[n] = (perp_ranked){ k, 0, -solved[k], n };
      n++;
    }
  if (n == 0) return;
  perp_ranked_sort(list, n);
  slice->shown = perp_pool_alloc(choosing->pool, SOLVERS_MOST, sizeof *slice->shown);
  for (int i = 0; i < n && i < SOLVERS_MOST; i++) slice->shown[slice->n_shown++] = list[i].cell;
  slice->left = n - slice->n_shown;
  slice->curves = slice->n_shown;
  top->slice = slice;
  top->n_slices = 1;
  top->kind = PERP_HEADLINE_SOLVED;
}

/* What stands on the other axis. */
static void headline_abscissa(const struct headline_choosing *choosing, perp_headline *top)
{
  const perp_study *study = choosing->r->study;
  const char *name = choosing->view->x_name, *at = study->report.figure.x;
  const int cpu = perp_results_metric(choosing->r, "time.cpu");
  const bool stepped = name != NULL && (strcmp(name, "h [s]") == 0 || strcmp(name, "tol") == 0);
  if (at == NULL && stepped && headline_has(choosing, cpu) && strcmp(top->y, "time.cpu") != 0)
    at = "time.cpu";
  top->x = at;
  if (at == NULL && name != NULL) {
    const char *key = perp_pool_strndup(choosing->pool, name, strcspn(name, " "));
    const bool scene = strcmp(key, "tol") != 0 && perp_kind_param(study->kind, key) < 0;
    top->x = scene ? perp_pool_printf(choosing->pool, "scene.%s", key) : key;
    return;
  }
  if (at == NULL) return;
  top->x_param = perp_kind_param(study->kind, at);
  if (top->x_param < 0) top->x_metric = perp_results_metric(choosing->r, at);
}

/* Is some value that stands above the floor? */
static bool headline_above(const struct headline_choosing *choosing, const perp_headline *top)
{
  for (int cell = 0; cell < choosing->r->plan.n; cell++) {
    const double y = perp_results_value(choosing->r, cell, top->y_metric);
    if (choosing->in[cell] && headline_positive(y) && perp_view_stands(choosing->view, cell) &&
        y > top->floor)
      return true;
  }
  return false;
}

/* The first way in which some slice shows a difference: what matters most among the runs that are
 * ranked may be nothing to see. */
static void headline_way(const struct headline_choosing *choosing, const perp_headline *top,
                         struct headline_way *way)
{
  const char *wanted = choosing->r->study->report.figure.colour;
  const int colour = wanted == NULL
                         ? -1
                         : headline_varied(choosing,
                                           perp_kind_param(choosing->r->study->kind, wanted));
  headline_factors(choosing, colour, way);
  headline_slices(choosing, top, way);
  if (wanted != NULL) return;
  for (int k = 0; k < choosing->n_ranked; k++) {
    struct headline_way other;
    if (way->n_slices > 0 && way->slice[0].effect > 0) return;
    headline_factors(choosing, choosing->ranked[k], &other);
    headline_slices(choosing, top, &other);
    if (other.n_slices > 0 && other.slice[0].effect > 0) *way = other;
  }
}

/* The metric, and what is known of it. */
static bool headline_ordinate(struct headline_choosing *choosing, perp_headline *top)
{
  const perp_study *study = choosing->r->study;
  answers_explained *shares[2];
  const int n = findings_shares(choosing->ctx, choosing->r, shares);
  const char *first = n > 0 ? study->metric[shares[0]->metric].name : NULL,
             *names[] = { study->report.figure.y, first, study->metrics.primary };
  for (int i = 0; i < 3 && top->y_metric < 0; i++) {
    const int metric = names[i] == NULL ? -1 : perp_results_metric(choosing->r, names[i]);
    if (headline_has(choosing, metric)) top->y_metric = metric;
  }
  if (top->y_metric < 0) return false;
  top->y = study->metric[top->y_metric].name;
  for (int i = 0; i < n && choosing->explained == NULL; i++)
    if (shares[i]->metric == top->y_metric) choosing->explained = shares[i];
  top->shade = perp_headline_shade(choosing->r, top->y);
  top->floor = fmax(top->shade, choosing->explained != NULL ? choosing->explained->floor : 0);
  return true;
}

void perp_headline_choose(const perp_ctx *ctx, perp_results *results, const perp_view *view,
                          perp_headline *top)
{
  const perp_study *study = results->study;
  struct headline_choosing choosing = {
    .ctx = ctx, .r = results, .pool = &results->pool, .view = view
  };
  struct headline_way way;
  *top = (perp_headline){
    .y = "", .y_metric = -1, .x_metric = -1, .x_param = -1, .colour = -1, .panels = -1
  };
  if (results->plan.n == 0) return;
  choosing.in = perp_pool_alloc(choosing.pool, (size_t)results->plan.n + 1, sizeof *choosing.in);
  const perp_scope scope = perp_results_scope(ctx, results, false);
  for (int row = 0; row < results->plan.n; row++)
    choosing.in[row] = study->report.figure.where == NULL ||
                       perp_expr_true(study->report.figure.where, &scope, row);
  if (strcmp(study->kind->name, "lcp") == 0) {
    headline_solvers(&choosing, top);
    return;
  }
  if (!headline_ordinate(&choosing, top)) return;
  headline_rank(&choosing);
  headline_abscissa(&choosing, top);
  headline_way(&choosing, top, &way);
  if ((top->x == NULL && (way.colour < 0 || way.names.n < 2)) || !headline_above(&choosing, top))
    return;
  top->colour = way.colour;
  top->panels = way.panels;
  top->names = way.names;
  top->panel_names = way.panel_names;
  top->name_of = way.name_of;
  top->panel_of = way.panel_of;
  top->slice = way.slice;
  top->n_slices = way.n_slices;
  for (int slice = 0; slice < top->n_slices; slice++) {
    top->slice[slice].words = headline_slice_words(&choosing, &way, top->slice[slice].cell[0]);
    headline_shown(&choosing, top, &top->slice[slice]);
  }
  if (top->n_slices > 0) top->kind = top->x != NULL ? PERP_HEADLINE_CURVES : PERP_HEADLINE_ROWS;
}
