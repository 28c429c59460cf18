/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const perp_truth_names[] = { "auto", "file", "reduced", "none", NULL };

perp_status perp_scene_create(perp_ctx *ctx, const perp_spec *spec, perp_scene *scene)
{
  *scene = (perp_scene){ .tip_body = PERP_WORLD };
  const perp_scene_desc *d = (const perp_scene_desc *)spec->d;
  perp_status status = d->build(ctx, spec->opts, scene);
  if (status != PERP_OK) perp_scene_destroy(scene);
  return status;
}

void perp_scene_destroy(perp_scene *scene)
{
  for (int i = 0; i < scene->n_truths; i++)
    if (scene->truth[i].destroy != NULL) scene->truth[i].destroy(scene->truth[i].user);
  perp_model_destroy(scene->model);
  free(scene->ode);
  if (scene->destroy != NULL) scene->destroy(scene->user);
  *scene = (perp_scene){ .tip_body = PERP_WORLD };
}

/* ---- truths that answer at any time -------------------------------------------------------------------- */

struct any_time {
  double t_end;
  perp_truth_state *state;
  void *user;
};

static perp_status any_time_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  struct any_time *a = user;
  return a->state(a->user, ctx, t, q, v);
}

static double any_time_next(void *user, double t)
{
  return t <= ((struct any_time *)user)->t_end ? t : HUGE_VAL;
}

static void any_time_destroy(void *user)
{
  struct any_time *a = user;
  free(a->user);
  free(a);
}

perp_status perp_truth_add(perp_ctx *ctx, perp_scene *scene, const char *what, double t_end,
                           double uncertainty, perp_truth_state *state, void *user)
{
  struct any_time *a = malloc(sizeof *a);
  if (a == NULL || scene->n_truths == PERP_SCENE_TRUTHS) {
    free(a);
    free(user);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no room for the truth '%s'", what);
  }
  *a = (struct any_time){ t_end, state, user };
  perp_truth *truth = &scene->truth[scene->n_truths++];
  *truth = (perp_truth){ .t_end = t_end,
                         .uncertainty = uncertainty,
                         .user = a,
                         .state = any_time_state,
                         .next_time = any_time_next,
                         .destroy = any_time_destroy };
  snprintf(truth->what, sizeof truth->what, "%s", what);
  return PERP_OK;
}

/* ---- links in a vertical plane -------------------------------------------------------------------------- */

perp_mass perp_mass_thin_rod(double m, double length)
{
  double transverse = m * length * length / 12, axial = m * length * length / 600;
  return (perp_mass){ m, { axial, 0, 0, 0, transverse, 0, 0, 0, transverse } };
}

void perp_in_plane(int dim, double x, double height, double p[3])
{
  p[0] = x;
  p[1] = dim == 3 ? 0 : height;
  p[2] = dim == 3 ? height : 0;
}

perp_links *perp_links_create(perp_ctx *ctx, int dim, int n)
{
  perp_links *l = calloc(1, sizeof *l + (size_t)n * sizeof *l->link);
  if (l == NULL) {
    PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d links", n);
    return NULL;
  }
  l->dim = dim;
  l->n = n;
  l->link = (perp_link *)(l + 1);
  return l;
}

void perp_links_destroy(void *links)
{
  free(links);
}

/* the state of body i when its link starts at p with velocity pdot; both are moved to its end */
static void place(const perp_links *links, int i, double theta, double omega, double p[2],
                  double pdot[2], double *q, double *v)
{
  const perp_link *k = &links->link[i];
  const double c = k->carried ? 0 : cos(theta), s = k->carried ? 0 : sin(theta);
  const double rate = k->carried ? 0 : omega, angle = k->carried ? 0 : theta;
  double com[3], rates[3];
  perp_in_plane(links->dim, p[0] + k->com * c, p[1] + k->com * s, com);
  perp_in_plane(links->dim, pdot[0] - k->com * s * rate, pdot[1] + k->com * c * rate, rates);
  if (links->dim == 3) {
    memcpy(q, com, sizeof com);
    q[3] = cos(angle / 2), q[4] = 0, q[5] = -sin(angle / 2), q[6] = 0;
    memcpy(v, rates, sizeof rates);
    v[3] = 0, v[4] = -rate, v[5] = 0;
  } else {
    q[0] = com[0], q[1] = com[1], q[2] = angle;
    v[0] = rates[0], v[1] = rates[1], v[2] = rate;
  }
  p[0] += k->length * c, p[1] += k->length * s;
  pdot[0] -= k->length * s * rate, pdot[1] += k->length * c * rate;
}

void perp_links_state(const perp_links *links, const double *theta, const double *omega, double *q,
                      double *v)
{
  const int nqb = links->dim == 3 ? 7 : 3, nvb = links->dim == 3 ? 6 : 3;
  double p[2] = { 0 }, pdot[2] = { 0 };
  int angle = 0; /* carried bodies have none */
  for (int i = 0; i < links->n; i++) {
    bool turns = !links->link[i].carried;
    place(links, i, turns ? theta[angle] : 0, turns ? omega[angle] : 0, p, pdot, q + i * nqb,
          v + i * nvb);
    angle += turns;
  }
}

void perp_links_body(const perp_links *links, int i, const double *theta, const double *omega,
                     perp_body_def *def)
{
  double p[2] = { 0 }, pdot[2] = { 0 }, q[7], v[6];
  int angle = 0;
  for (int j = 0; j <= i; j++) {
    bool turns = !links->link[j].carried;
    place(links, j, turns ? theta[angle] : 0, turns ? omega[angle] : 0, p, pdot, q, v);
    angle += turns;
  }
  memset(def->x, 0, sizeof def->x);
  memset(def->v, 0, sizeof def->v);
  memset(def->w, 0, sizeof def->w);
  if (links->dim == 3) {
    memcpy(def->x, q, sizeof def->x);
    memcpy(def->quat, q + 3, sizeof def->quat);
    memcpy(def->v, v, sizeof def->v);
    memcpy(def->w, v + 3, sizeof def->w);
  } else {
    def->x[0] = q[0], def->x[1] = q[1], def->angle = q[2];
    def->v[0] = v[0], def->v[1] = v[1], def->w[2] = v[2];
  }
}

struct file_map {
  perp_links *links;
  int n; /* angles */
};

static void map_angles(void *user, double t, const double *row, double *q, double *v)
{
  const struct file_map *m = user;
  (void)t;
  perp_links_state(m->links, row, row + m->n, q, v);
}

perp_status perp_links_file(perp_ctx *ctx, perp_scene *scene, const perp_links *links,
                            const char *file, double uncertainty)
{
  int n = 0;
  for (int i = 0; i < links->n; i++) n += !links->link[i].carried;
  /* one block: the map, a copy of the links, the names */
  const size_t copy = sizeof *links + (size_t)links->n * sizeof *links->link;
  const size_t text = 16;
  struct file_map *m = malloc(sizeof *m + copy);
  char *names = malloc(2 * (size_t)n * (text + sizeof(char *)));
  perp_status status;
  if (m == NULL || names == NULL) {
    free(m);
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %s", file);
  } else {
    m->links = (perp_links *)(m + 1);
    memcpy(m->links, links, copy);
    m->links->link = (perp_link *)(m->links + 1);
    m->n = n;
    const char **name = (const char **)names;
    for (int i = 0; i < 2 * n; i++) {
      char *s = names + 2 * (size_t)n * sizeof *name + (size_t)i * text;
      snprintf(s, text, "%s%d", i < n ? "theta" : "omega", i % n + 1);
      name[i] = s;
    }
    status = perp_truth_file(ctx, scene, file, uncertainty, 2 * n, name, map_angles, m);
  }
  free(names);
  return status;
}
