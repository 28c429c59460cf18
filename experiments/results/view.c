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
static const char *view_tolerance(const perp_view *view, int cell, int param)
{
  const perp_param *p = &view->results->study->kind->params[param];
  if (p->type != PERP_PARAM_PLUGIN ||
      (p->plugin != PERP_KIND_ode && p->plugin != PERP_KIND_formulation))
    return NULL;
  double tol;
  for (const char *at = perp_view_text(view, cell, param); (at = strpbrk(at, ":,")) != NULL;)
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
static bool view_varies(const perp_view *view, int param)
{
  const char *first = "";
  for (int cell = 0; param >= 0 && cell < view->results->plan.n; cell++) {
    const char *text = perp_view_text(view, cell, param);
    if (first[0] == '\0')
      first = text;
    else if (text[0] != '\0' && strcmp(text, first) != 0)
      return true;
  }
  return false;
}

/* The first number of the scene that varies: a size like "links". */
static bool scene_abscissa(const perp_ctx *ctx, perp_pool *pool, perp_view *view)
{
  int n = view->results->plan.n, column = perp_kind_param(view->results->study->kind, "scene");
  if (column < 0 || n == 0) return false;
  perp_ctx quiet = *ctx;
  perp_spec first;
  if (perp_spec_parse(&quiet, PERP_KIND_scene, perp_view_text(view, 0, column), &first) != PERP_OK)
    return false;
  bool found = false, same_scene = true;
  for (const perp_opt *option = first.d->opts;
       !found && same_scene && option != NULL && option->type != PERP_OPT_END; option++) {
    if (option->type != PERP_OPT_INT && option->type != PERP_OPT_REAL) continue;
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (int cell = 0; cell < n && same_scene; cell++) {
      char text[64];
      same_scene = perp_option_text(ctx, PERP_KIND_scene, perp_view_text(view, cell, column),
                                    option->key, text, sizeof text, &view->x[cell]) == option;
      least = fmin(least, view->x[cell]);
      most = fmax(most, view->x[cell]);
    }
    found = same_scene && most > least;
    if (found)
      view->x_name = option->unit[0] ? perp_pool_printf(pool, "%s [%s]", option->key, option->unit)
                                     : option->key;
  }
  perp_spec_free(&first);
  return found;
}

/* The tolerance of a cell under error control, else 0. */
static double view_tol(const perp_view *view, int cell)
{
  const perp_cell_kind *kind = view->results->study->kind;
  static const char *const keys[] = { "ode", "formulation" };
  for (int i = 0; i < 2; i++) {
    const int param = perp_kind_param(kind, keys[i]);
    const char *tol = param < 0 ? NULL : view_tolerance(view, cell, param);
    double value;
    if (tol != NULL && perp_real_at(tol + 4, &value) != NULL) return value;
  }
  return 0;
}

/* Where nothing else is varied: the tolerance; 0 of a cell without one, which is on no curve over
 * it. */
static void tolerance_abscissa(perp_view *view)
{
  double least = HUGE_VAL, most = 0;
  for (int cell = 0; cell < view->results->plan.n; cell++) {
    view->x[cell] = view_tol(view, cell);
    if (view->x[cell] > 0) least = fmin(least, view->x[cell]);
    most = fmax(most, view->x[cell]);
  }
  if (most > least) view->x_name = "tol";
}

const char *perp_view_label(perp_pool *pool, const perp_view *view, int cell, int left_out)
{
  const char *label = "";
  for (int axis = 0; axis < view->n_axes; axis++) {
    if (view->axis[axis] == left_out) continue;
    const char *text = perp_view_text(view, cell, view->axis[axis]);
    if (text[0] != '\0')
      label = label[0] == '\0' ? text : perp_pool_printf(pool, "%s, %s", label, text);
  }
  return label;
}

/* Where engines are compared: is axis a one that whole engines have no say for?  Such parts stand
 * behind the name `perp`, so that its choices are curves beside those of engines. */
static bool view_of_perp(const perp_view *view, int a)
{
  const perp_cell_kind *kind = view->results->study->kind;
  if (view->subject < 0 || kind->params[view->axis[view->subject]].plugin != PERP_KIND_engine)
    return false;
  for (int cell = 0; cell < view->results->plan.n; cell++)
    if (perp_view_text(view, cell, view->axis[a])[0] == '\0') return true;
  return false;
}

/* What a cell is on a figure, and which figure it is on. */
static void view_labels(perp_pool *pool, const perp_view *view, const bool *of_perp, int cell,
                        const char **curve, const char **facet)
{
  *curve = view->subject < 0 ? "all" : perp_view_name(pool, view, cell, view->axis[view->subject]);
  *facet = "";
  for (int a = 0; a < view->n_axes; a++) {
    const char **to = of_perp[a] ? curve : facet,
               *text = a == view->subject ? "" : perp_view_name(pool, view, cell, view->axis[a]);
    if (text[0] != '\0')
      *to = (*to)[0] == '\0' ? text : perp_pool_printf(pool, "%s, %s", *to, text);
  }
}

/* The curves: cells with the same facet and subject, in the order of the abscissa. */
static void view_group(perp_pool *pool, perp_view *view)
{
  const int n = view->results->plan.n;
  bool of_perp[PERP_VIEW_AXES] = { false };
  for (int axis = 0; axis < view->n_axes; axis++)
    of_perp[axis] = axis != view->subject && view_of_perp(view, axis);
  perp_names subjects = { 0 }, both = { 0 };
  view->group = perp_pool_alloc(pool, (size_t)n + 1, sizeof *view->group);
  view->group_of = perp_pool_alloc(pool, (size_t)n + 1, sizeof *view->group_of);
  for (int cell = 0; cell < n; cell++) {
    const char *others, *label;
    view_labels(pool, view, of_perp, cell, &label, &others);
    const int facet = perp_names_index(pool, &view->facet, others, -1);
    const int colour = perp_names_index(pool, &subjects, label, -1);
    const char *key = perp_pool_printf(pool, "%d %d", facet, colour);
    const int g = perp_names_index(pool, &both, key, -1);
    if (g == view->n_groups)
      view->group[view->n_groups++] = (perp_group){ .label = label,
                                                    .facet = facet,
                                                    .colour = colour };
    view->group_of[cell] = g;
    view->group[g].n++;
  }
  view->first = perp_pool_alloc(pool, (size_t)view->facet.n + 2, sizeof *view->first);
  view->in_facet = perp_pool_alloc(pool, (size_t)view->n_groups + 1, sizeof *view->in_facet);
  for (int g = 0; g < view->n_groups; g++) {
    perp_group *group = &view->group[g];
    group->cell = perp_pool_alloc(pool, (size_t)group->n, sizeof *group->cell);
    group->n = 0;
    view->first[group->facet + 2]++;
  }
  for (int f = 0; f < view->facet.n; f++) view->first[f + 2] += view->first[f + 1];
  for (int g = 0; g < view->n_groups; g++)
    view->in_facet[view->first[view->group[g].facet + 1]++] = g;
  for (int r = 0; r < n; r++) {
    perp_group *group = &view->group[view->group_of[r]];
    int at = group->n++;
    for (; at > 0 && view->order[group->cell[at - 1]] > view->order[r]; at--)
      group->cell[at] = group->cell[at - 1];
    group->cell[at] = r;
  }
}

void perp_view_build(const perp_ctx *ctx, perp_pool *pool, const perp_results *results,
                     perp_view *view)
{
  const perp_cell_kind *kind = results->study->kind;
  int n = results->plan.n;
  *view = (perp_view){ .results = results, .subject = -1 };
  view->x = perp_pool_alloc(pool, (size_t)n + 1, sizeof *view->x);
  view->order = perp_pool_alloc(pool, (size_t)n + 1, sizeof *view->order);
  int param = perp_kind_param(kind, "h");
  bool sizes = false;
  if (view_varies(view, param)) {
    view->x_name = "h [s]";
    for (int cell = 0; cell < n; cell++)
      view->x[cell] = results->plan.cells[cell].value[param].number;
  } else {
    sizes = scene_abscissa(ctx, pool, view);
    if (!sizes) tolerance_abscissa(view);
  }
  for (int cell = 0; cell < n; cell++) {
    const double tol = view_tol(view, cell);
    view->order[cell] = tol == 0 || sizes ? view->x[cell] : tol;
  }

  /* `stab` is asked about first: it comes last */
  int stab = -1;
  for (int p = 0; p < perp_kind_params(kind) && view->n_axes < PERP_VIEW_AXES - 1; p++) {
    if (kind->params[p].type != PERP_PARAM_PLUGIN || !view_varies(view, p) ||
        (kind->params[p].plugin == PERP_KIND_scene && sizes))
      continue;
    if (kind->params[p].plugin == PERP_KIND_stab)
      stab = p;
    else
      view->axis[view->n_axes++] = p;
  }
  if (stab >= 0) view->axis[view->n_axes++] = stab;
  view->subject = view->n_axes - 1;
  view_group(pool, view);
}
