/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of forces.  Where a plug-in has none, and of the forces of model.h, they are central
 * differences of the force for states in the neighbourhood (Cline 2002, section 2.7.4): of the
 * steps cbrt(eps) times the size of the model, 1 rad and the speeds, so that they are off by some
 * 1e-10 of the force over that size. */
#include "models/multibody/model_private.h"
#include <float.h>
#include <string.h>

enum { FORCE_F = 6 * PERP_ELEMENT_BODIES };

const int *perp_force_bodies(const perp_force_def *el, int pair[2], int *n)
{
  const bool plugin = el->kind == PERP_FORCE_PLUGIN;
  pair[0] = el->a;
  pair[1] = el->b;
  *n = plugin ? el->n_bodies : el->kind == PERP_FORCE_SPRING ? 2 : 1;
  return plugin ? el->body : pair;
}

/* Bodies that move, with their places among those of the element. */
static int force_differences_moving(const perp_force_def *el, int *place)
{
  int pair[2], all, n = 0;
  const int *body = perp_force_bodies(el, pair, &all);
  for (int i = 0; i < all; i++)
    if (body[i] >= 0) place[n++] = i;
  return n;
}

/* F of any force but pairs, of the states of its bodies. */
static void force_differences_any(const perp_model *model, const perp_force_def *el,
                                  const perp_body_state *body, double t, double *F)
{
  const int n = el->kind == PERP_FORCE_SPRING ? 2 : 1, d = model->dim;
  perp_pose pose[2];
  double v[2][6], f[2][6] = { { 0 } };
  if (el->kind == PERP_FORCE_PLUGIN) {
    perp_force_plugin_at(model, el, body, t, F);
    return;
  }
  perp_force_def local = *el;
  local.a = 0;
  local.b = n > 1 ? 1 : 0;
  for (int i = 0; i < n; i++) {
    memset(&pose[i], 0, sizeof pose[i]);
    for (int j = 0; j < d; j++) {
      pose[i].x[j] = body[i].x[j];
      for (int k = 0; k < d; k++) pose[i].R[k + d * j] = body[i].R[k + 3 * j];
    }
    for (int k = 0; k < model->nvb; k++) {
      const int rate = perp_element_rate(d, k);
      v[i][k] = rate < 3 ? body[i].v[rate] : body[i].w[rate - 3];
    }
  }
  const perp_eval eval = { .t = t, .pose = pose };
  perp_force_one(model, &eval, &local, t, v[0], v[n - 1], f[0], f[n - 1]);
  memset(F, 0, (size_t)(6 * n) * sizeof *F);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < model->nvb; k++) F[6 * i + perp_element_rate(d, k)] = f[i][k];
}

/* Column c of a matrix of the moving bodies: scale F, or += it. */
static void force_differences_column(const perp_model *model, int n, const int *place,
                                     const double *F, double scale, double *to)
{
  for (int i = 0; i < n; i++)
    for (int k = 0; k < model->nvb; k++)
      to[i * model->nvb + k] += scale * F[6 * place[i] + perp_element_rate(model->dim, k)];
}

/* the force after a change of velocity k (0 ... 5) of body i, or of its place */
static void force_differences_shifted(const perp_model *model, const perp_force_def *el,
                                      perp_body_state *body, double t, int i, int k, bool place,
                                      double by, double *F)
{
  const perp_body_state kept = body[i];
  double d[6] = { 0 };
  d[k] = by;
  if (place)
    perp_element_move(&kept, d, d + 3, &body[i]);
  else if (k < 3)
    body[i].v[k] += by;
  else
    body[i].w[k - 3] += by;
  force_differences_any(model, el, body, t, F);
  body[i] = kept;
}

static void force_differences_all(const perp_model *model, const perp_force_def *el,
                                  perp_body_state *body, double t, int n, const int *place,
                                  bool by_place, double *D)
{
  const int N = n * model->nvb;
  const double part = cbrt(DBL_EPSILON);
  double F[FORCE_F], size = 1, turns = 1;
  for (int i = 0; i < n && !by_place; i++) {
    size = fmax(size, sqrt(perp_dot(3, body[place[i]].v, body[place[i]].v)));
    turns = fmax(turns, sqrt(perp_dot(3, body[place[i]].w, body[place[i]].w)));
  }
  if (by_place) size = model->size;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < model->nvb; k++) {
      double *column = D + (size_t)(i * model->nvb + k) * (size_t)N;
      const double h = part * (k < model->dim ? size : turns);
      for (int side = -1; side <= 1; side += 2) {
        force_differences_shifted(model, el, body, t, place[i], perp_element_rate(model->dim, k),
                                  by_place, side * h, F);
        force_differences_column(model, n, place, F, side / (2 * h), column);
      }
    }
}

/* what the plug-in says, of all its bodies in space, as a matrix of those that move */
static void force_differences_pick(const perp_model *model, const perp_force_def *el, int n,
                                   const int *place, const double *all, double *D)
{
  const int N = n * model->nvb;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < model->nvb; k++)
      force_differences_column(model, n, place,
                               all + (size_t)(6 * place[i] + perp_element_rate(model->dim, k)) *
                                         (size_t)(6 * el->n_bodies),
                               1, D + (size_t)(i * model->nvb + k) * (size_t)N);
}

int perp_force_gradient_at(const perp_model *model, const perp_eval *eval, const perp_force_def *el,
                           bool differences, double t, const double *v, int *moving, double *dq,
                           double *dv)
{
  perp_body_state body[PERP_ELEMENT_BODIES];
  int place[PERP_ELEMENT_BODIES];
  int pair[2], count;
  const int *of = perp_force_bodies(el, pair, &count);
  const int n = force_differences_moving(el, place), all = 6 * count;
  const size_t size = (size_t)(n * model->nvb) * (size_t)(n * model->nvb);
  for (int i = 0; i < n; i++) moving[i] = of[place[i]];
  if (dq == NULL || dv == NULL) return n;
  memset(dq, 0, size * sizeof *dq);
  memset(dv, 0, size * sizeof *dv);
  perp_element_states(model, eval, v, count, of, body);
  if (!differences && el->kind == PERP_FORCE_PLUGIN && el->plugin->gradient != NULL) {
    double by_place[FORCE_F * FORCE_F], by_rate[FORCE_F * FORCE_F];
    memset(by_place, 0, (size_t)(all * all) * sizeof *by_place);
    memset(by_rate, 0, (size_t)(all * all) * sizeof *by_rate);
    el->plugin->gradient(el->opts, model->dim, count, body, t, by_place, by_rate);
    force_differences_pick(model, el, n, place, by_place, dq);
    force_differences_pick(model, el, n, place, by_rate, dv);
    return n;
  }
  force_differences_all(model, el, body, t, n, place, true, dq);
  if (perp_force_promises(el) & PERP_FORCE_NEEDS_VELOCITY)
    force_differences_all(model, el, body, t, n, place, false, dv);
  return n;
}
