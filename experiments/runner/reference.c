/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/runner/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 50 };

/* Index of a truth of this kind; `other` (or -1) is taken already. */
static int find_truth(const perp_scene *scene, const char *kind, int other)
{
  const char *prefix = strcmp(kind, "closed-form") == 0 ? "closed form" : kind;
  for (int i = 0; i < scene->n_truths; i++)
    if (i != other &&
        (strcmp(kind, "auto") == 0 || strncmp(scene->truth[i].what, prefix, strlen(prefix)) == 0))
      return i;
  return -1;
}

struct columns {
  int nq;
  bool quaternions;  /* seven numbers a body, the last four a quaternion */
  double *a, *b, *v; /* states */
  double *err, *size;
};

static void compare(struct columns *c)
{
  for (int i = 0; c->quaternions && i + 7 <= c->nq; i += 7) {
    double dot = 0;
    for (int k = 3; k < 7; k++) dot += c->a[i + k] * c->b[i + k];
    for (int k = 3; k < 7 && dot < 0; k++) c->a[i + k] = -c->a[i + k];
  }
  for (int i = 0; i < c->nq; i++) {
    double e = fabs(c->a[i] - c->b[i]);
    if (!(e <= c->err[i])) c->err[i] = e; /* a NaN stays */
    c->size[i] = fmax(c->size[i], fabs(c->b[i]));
  }
}

static double worst_of(const struct columns *c)
{
  double largest = 0, worst = 0;
  for (int i = 0; i < c->nq; i++) largest = fmax(largest, c->size[i]);
  for (int i = 0; i < c->nq; i++) {
    double e = c->err[i] / fmax(c->size[i], fmax(1e-9 * largest, 1e-300));
    if (c->size[i] < 1e-9 * largest) e = c->err[i] / largest;
    if (!(e <= worst)) worst = e;
  }
  return worst;
}

static perp_status compare_truths(perp_ctx *ctx, const perp_scene *scene, const perp_truth *a,
                                  const perp_truth *b, perp_agreement *result)
{
  const int nq = scene->model != NULL ? perp_model_nq(scene->model) : scene->ode->nq;
  const int nv = scene->model != NULL ? perp_model_nv(scene->model) : scene->ode->nv;
  double *block = perp_xalloc((size_t)(4 * nq + nv), sizeof *block);
  struct columns c = { .nq = nq,
                       .quaternions = scene->model != NULL && perp_model_dim(scene->model) == 3,
                       .a = block,
                       .b = block + nq,
                       .err = block + 2 * nq,
                       .size = block + 3 * nq,
                       .v = block + 4 * nq };
  perp_status status = PERP_OK;
  double before = -1;
  for (int k = 1; k <= SAMPLES && status == PERP_OK; k++) {
    /* a time that both answer: files have a grid, and two files the same one or none */
    double t = result->t_end * k / SAMPLES;
    t = a->next_time(a->user, t);
    if (b->next_time(b->user, t) > t) t = b->next_time(b->user, t);
    if (!(t <= result->t_end * (1 + 1e-12)) || t <= before || a->next_time(a->user, t) > t)
      continue;
    before = t;
    status = a->state(a->user, ctx, t, c.a, c.v);
    if (status == PERP_OK) status = b->state(b->user, ctx, t, c.b, c.v);
    if (status != PERP_OK) break;
    compare(&c);
    result->times++;
  }
  result->worst = result->times > 0 ? worst_of(&c) : (double)NAN;
  free(block);
  return status;
}

perp_status perp_reference_compare(perp_ctx *ctx, const char *scene_text, const char *method,
                                   const char *with, double t_end, perp_agreement *result)
{
  *result = (perp_agreement){ .worst = (double)NAN };
  perp_spec spec;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_scene, scene_text, &spec));
  perp_scene scene;
  perp_status status = perp_scene_create(ctx, &spec, &scene);
  perp_spec_free(&spec);
  PERP_TRY(status);
  int a = find_truth(&scene, method, -1), b = find_truth(&scene, with, a);
  if (a >= 0) snprintf(result->method, sizeof result->method, "%s", scene.truth[a].what);
  if (b >= 0) snprintf(result->with, sizeof result->with, "%s", scene.truth[b].what);
  if (a >= 0 && b >= 0) {
    result->t_end = t_end > 0 ? t_end : scene.t_end;
    result->t_end = fmin(result->t_end, fmin(scene.truth[a].t_end, scene.truth[b].t_end));
    status = compare_truths(ctx, &scene, &scene.truth[a], &scene.truth[b], result);
  }
  perp_scene_destroy(&scene);
  return status;
}
