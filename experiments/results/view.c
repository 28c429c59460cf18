/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/view.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool perp_view_stands(const perp_view *view, int cell)
{
  return perp_cell_whole(view->results->record[cell].status);
}

const char *perp_view_mark(perp_pool *pool, const perp_view *view, int cell)
{
  const perp_record *rec = &view->results->record[cell];
  char buf[32];
  if (rec->status == PERP_CELL_OK) return "";
  return perp_pool_strdup(pool, perp_record_mark(rec, buf));
}

const char *perp_view_text(const perp_view *view, int cell, int param)
{
  return param < 0 ? "" : view->results->plan.cells[cell].value[param].text;
}

/* Where "tol=..." stands in the text of an integrator, or of a formulation that is one; NULL when
 * it runs without error control. */
static const char *view_tolerance(const perp_view *v, int cell, int param)
{
  const perp_param *p = &v->results->study->kind->params[param];
  if (p->type != PERP_PARAM_PLUGIN ||
      (p->plugin != PERP_KIND_ode && p->plugin != PERP_KIND_formulation))
    return NULL;
  double tol;
  for (const char *at = perp_view_text(v, cell, param); (at = strpbrk(at, ":,")) != NULL;)
    if (strncmp(++at, "tol=", 4) == 0)
      return perp_real_at(at + 4, &tol) != NULL && tol > 0 ? at : NULL;
  return NULL;
}

bool perp_view_adaptive(const perp_view *view, int cell)
{
  return view->order[cell] != view->x[cell];
}

const char *perp_view_name(perp_pool *pool, const perp_view *view, int cell, int param)
{
  const char *text = perp_view_text(view, cell, param), *at = view_tolerance(view, cell, param);
  if (at == NULL) return text;
  const char *end = at + strcspn(at, ",");
  /* "a:tol=1,b=2" is "a:b=2 (tol)", "a:b=2,tol=1" too */
  if (*end == ',') return perp_pool_printf(pool, "%.*s%s (tol)", (int)(at - text), text, end + 1);
  return perp_pool_printf(pool, "%.*s (tol)", (int)(at - 1 - text), text);
}

/* A part that some cells have and others have no say for does not vary by that. */
static bool view_varies(const perp_view *v, int param)
{
  const char *first = "";
  for (int r = 0; param >= 0 && r < v->results->plan.n; r++) {
    const char *text = perp_view_text(v, r, param);
    if (first[0] == '\0')
      first = text;
    else if (text[0] != '\0' && strcmp(text, first) != 0)
      return true;
  }
  return false;
}

/* The first number of the scene that varies: a size like "links". */
static bool scene_abscissa(const perp_ctx *ctx, perp_pool *pool, perp_view *v)
{
  int n = v->results->plan.n, column = perp_kind_param(v->results->study->kind, "scene");
  if (column < 0 || n == 0) return false;
  perp_ctx quiet = *ctx;
  perp_spec first;
  if (perp_spec_parse(&quiet, PERP_KIND_scene, perp_view_text(v, 0, column), &first) != PERP_OK)
    return false;
  bool found = false, same_scene = true;
  for (const perp_opt *o = first.d->opts;
       !found && same_scene && o != NULL && o->type != PERP_OPT_END; o++) {
    if (o->type != PERP_OPT_INT && o->type != PERP_OPT_REAL) continue;
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (int r = 0; r < n && same_scene; r++) {
      char text[64];
      same_scene = perp_option_text(ctx, PERP_KIND_scene, perp_view_text(v, r, column), o->key,
                                    text, sizeof text, &v->x[r]) == o;
      least = fmin(least, v->x[r]);
      most = fmax(most, v->x[r]);
    }
    found = same_scene && most > least;
    if (found) v->x_name = o->unit[0] ? perp_pool_printf(pool, "%s [%s]", o->key, o->unit) : o->key;
  }
  perp_spec_free(&first);
  return found;
}

/* The tolerance of a cell under error control, else 0. */
static double view_tol(const perp_view *v, int cell)
{
  const perp_cell_kind *kind = v->results->study->kind;
  static const char *const keys[] = { "ode", "formulation" };
  for (int i = 0; i < 2; i++) {
    const int param = perp_kind_param(kind, keys[i]);
    const char *tol = param < 0 ? NULL : view_tolerance(v, cell, param);
    double value;
    if (tol != NULL && perp_real_at(tol + 4, &value) != NULL) return value;
  }
  return 0;
}

/* Where nothing else is varied: the tolerance; 0 of a cell without one, which is on no curve over
 * it. */
static void tolerance_abscissa(perp_view *v)
{
  double least = HUGE_VAL, most = 0;
  for (int r = 0; r < v->results->plan.n; r++) {
    v->x[r] = view_tol(v, r);
    if (v->x[r] > 0) least = fmin(least, v->x[r]);
    most = fmax(most, v->x[r]);
  }
  if (most > least) v->x_name = "tol";
}

const char *perp_view_label(perp_pool *pool, const perp_view *v, int cell, int left_out)
{
  const char *label = "";
  for (int a = 0; a < v->n_axes; a++) {
    if (v->axis[a] == left_out) continue;
    const char *text = perp_view_text(v, cell, v->axis[a]);
    if (text[0] != '\0')
      label = label[0] == '\0' ? text : perp_pool_printf(pool, "%s, %s", label, text);
  }
  return label;
}

/* Where engines are compared: is axis a one that whole engines have no say for?  Such parts stand
 * behind the name `perp`, so that its choices are curves beside those of engines. */
static bool view_of_perp(const perp_view *v, int a)
{
  const perp_cell_kind *kind = v->results->study->kind;
  if (v->subject < 0 || kind->params[v->axis[v->subject]].plugin != PERP_KIND_engine) return false;
  for (int r = 0; r < v->results->plan.n; r++)
    if (perp_view_text(v, r, v->axis[a])[0] == '\0') return true;
  return false;
}

/* What a cell is on a figure, and which figure it is on. */
static void view_labels(perp_pool *pool, const perp_view *v, const bool *of_perp, int cell,
                        const char **curve, const char **facet)
{
  *curve = v->subject < 0 ? "all" : perp_view_name(pool, v, cell, v->axis[v->subject]);
  *facet = "";
  for (int a = 0; a < v->n_axes; a++) {
    const char **to = of_perp[a] ? curve : facet,
               *text = a == v->subject ? "" : perp_view_name(pool, v, cell, v->axis[a]);
    if (text[0] != '\0')
      *to = (*to)[0] == '\0' ? text : perp_pool_printf(pool, "%s, %s", *to, text);
  }
}

/* The curves: cells with the same facet and subject, in the order of the abscissa. */
static void view_group(perp_pool *pool, perp_view *v)
{
  const int n = v->results->plan.n;
  bool of_perp[PERP_VIEW_AXES] = { false };
  for (int a = 0; a < v->n_axes; a++) of_perp[a] = a != v->subject && view_of_perp(v, a);
  perp_names subjects = { 0 }, both = { 0 };
  v->group = perp_pool_alloc(pool, (size_t)n + 1, sizeof *v->group);
  v->group_of = perp_pool_alloc(pool, (size_t)n + 1, sizeof *v->group_of);
  for (int r = 0; r < n; r++) {
    const char *others, *label;
    view_labels(pool, v, of_perp, r, &label, &others);
    const int facet = perp_names_index(pool, &v->facet, others, -1);
    const int colour = perp_names_index(pool, &subjects, label, -1);
    const char *key = perp_pool_printf(pool, "%d %d", facet, colour);
    const int g = perp_names_index(pool, &both, key, -1);
    if (g == v->n_groups)
      v->group[v->n_groups++] = (perp_group){ .label = label, .facet = facet, .colour = colour };
    v->group_of[r] = g;
    v->group[g].n++;
  }
  v->first = perp_pool_alloc(pool, (size_t)v->facet.n + 2, sizeof *v->first);
  v->in_facet = perp_pool_alloc(pool, (size_t)v->n_groups + 1, sizeof *v->in_facet);
  for (int g = 0; g < v->n_groups; g++) {
    perp_group *group = &v->group[g];
    group->cell = perp_pool_alloc(pool, (size_t)group->n, sizeof *group->cell);
    group->n = 0;
    v->first[group->facet + 2]++;
  }
  for (int f = 0; f < v->facet.n; f++) v->first[f + 2] += v->first[f + 1];
  for (int g = 0; g < v->n_groups; g++) v->in_facet[v->first[v->group[g].facet + 1]++] = g;
  for (int r = 0; r < n; r++) {
    perp_group *group = &v->group[v->group_of[r]];
    int at = group->n++;
    for (; at > 0 && v->order[group->cell[at - 1]] > v->order[r]; at--)
      group->cell[at] = group->cell[at - 1];
    group->cell[at] = r;
  }
}

void perp_view_build(const perp_ctx *ctx, perp_pool *pool, const perp_results *results,
                     perp_view *v)
{
  const perp_cell_kind *kind = results->study->kind;
  int n = results->plan.n;
  *v = (perp_view){ .results = results, .subject = -1 };
  v->x = perp_pool_alloc(pool, (size_t)n + 1, sizeof *v->x);
  v->order = perp_pool_alloc(pool, (size_t)n + 1, sizeof *v->order);
  int h = perp_kind_param(kind, "h");
  bool sizes = false;
  if (view_varies(v, h)) {
    v->x_name = "h [s]";
    for (int r = 0; r < n; r++) v->x[r] = results->plan.cells[r].value[h].number;
  } else {
    sizes = scene_abscissa(ctx, pool, v);
    if (!sizes) tolerance_abscissa(v);
  }
  for (int r = 0; r < n; r++) {
    const double tol = view_tol(v, r);
    v->order[r] = tol == 0 || sizes ? v->x[r] : tol;
  }

  /* `stab` is asked about first: it comes last */
  int stab = -1;
  for (int p = 0; p < perp_kind_params(kind) && v->n_axes < PERP_VIEW_AXES - 1; p++) {
    if (kind->params[p].type != PERP_PARAM_PLUGIN || !view_varies(v, p) ||
        (kind->params[p].plugin == PERP_KIND_scene && sizes))
      continue;
    if (kind->params[p].plugin == PERP_KIND_stab)
      stab = p;
    else
      v->axis[v->n_axes++] = p;
  }
  if (stab >= 0) v->axis[v->n_axes++] = stab;
  v->subject = v->n_axes - 1;
  view_group(pool, v);
}
