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
  for (int i = 0; i < scene->n_gauges; i++)
    if (scene->gauge[i].destroy != NULL) scene->gauge[i].destroy(scene->gauge[i].user);
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

struct rest {
  const perp_model *model; /* of the scene, which outlives its truths */
};

static perp_status rest_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  const perp_model *model = ((const struct rest *)user)->model;
  (void)ctx, (void)t;
  memcpy(q, perp_model_q0(model), (size_t)perp_model_nq(model) * sizeof *q);
  memset(v, 0, (size_t)perp_model_nv(model) * sizeof *v);
  return PERP_OK;
}

perp_status perp_truth_rest(perp_ctx *ctx, perp_scene *scene, const char *what)
{
  struct rest *rest = malloc(sizeof *rest);
  if (rest == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the truth '%s'", what);
  rest->model = scene->model;
  return perp_truth_add(ctx, scene, what, HUGE_VAL, 1e-14, rest_state, rest);
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

static bool has_angle(const perp_link *k)
{
  return k->kind != PERP_LINK_CARRIED;
}

void perp_links_state(const perp_links *links, const double *theta, const double *omega, double *q,
                      double *v)
{
  double p[2] = { 0 }, pdot[2] = { 0 };
  int angles = 0;
  for (int i = 0; i < links->n; i++) {
    const perp_link *k = &links->link[i];
    const double angle = has_angle(k) ? theta[angles] : 0, rate = has_angle(k) ? omega[angles] : 0;
    const double c = cos(angle), s = sin(angle);
    const double com = k->kind == PERP_LINK_BODY ? k->com : k->length;
    const double turn = k->kind == PERP_LINK_BODY ? angle : 0;
    const double spin = k->kind == PERP_LINK_BODY ? rate : 0;
    double x[3], xdot[3];
    perp_in_plane(links->dim, p[0] + com * c, p[1] + com * s, x);
    perp_in_plane(links->dim, pdot[0] - com * s * rate, pdot[1] + com * c * rate, xdot);
    if (links->dim == 3) {
      const double pose[7] = { x[0], x[1], x[2], cos(turn / 2), 0, -sin(turn / 2), 0 };
      const double speed[6] = { xdot[0], xdot[1], xdot[2], 0, -spin, 0 };
      memcpy(q + 7 * i, pose, sizeof pose);
      memcpy(v + 6 * i, speed, sizeof speed);
    } else {
      const double pose[3] = { x[0], x[1], turn }, speed[3] = { xdot[0], xdot[1], spin };
      memcpy(q + 3 * i, pose, sizeof pose);
      memcpy(v + 3 * i, speed, sizeof speed);
    }
    p[0] += k->length * c, p[1] += k->length * s;
    pdot[0] -= k->length * s * rate, pdot[1] += k->length * c * rate;
    angles += has_angle(k);
  }
}

static perp_status add_body(perp_ctx *ctx, perp_model *model, const perp_links *links, int i,
                            const double *q, const double *v)
{
  perp_body_def def = { .mass = links->link[i].mass,
                        .particle = links->link[i].kind != PERP_LINK_BODY };
  if (links->dim == 3) {
    memcpy(def.x, q + 7 * i, sizeof def.x);
    memcpy(def.quat, q + 7 * i + 3, sizeof def.quat);
    memcpy(def.v, v + 6 * i, sizeof def.v);
    memcpy(def.w, v + 6 * i + 3, sizeof def.w);
  } else {
    memcpy(def.x, q + 3 * i, 2 * sizeof *def.x);
    memcpy(def.v, v + 3 * i, 2 * sizeof *def.v);
    def.angle = q[3 * i + 2];
    def.w[2] = v[3 * i + 2];
  }
  return perp_model_add_body(ctx, model, &def, NULL);
}

static perp_status add_joint(perp_ctx *ctx, perp_model *model, const perp_links *links, int i,
                             perp_joint_kind joint)
{
  const perp_link *k = &links->link[i], *before = i > 0 ? k - 1 : NULL;
  perp_joint_def def = { .kind = joint, .a = i - 1, .b = i };
  def.axis_a[1] = def.axis_b[1] = 1;
  if (links->mixed) {
    static const perp_joint_kind kinds[] = { PERP_JOINT_BALL, PERP_JOINT_HINGE,
                                             PERP_JOINT_UNIVERSAL };
    def.kind = kinds[i % 3];
    if (def.kind == PERP_JOINT_UNIVERSAL) def.axis_b[1] = 0, def.axis_b[2] = 1;
  }
  if (before != NULL && before->kind == PERP_LINK_BODY)
    def.anchor_a[0] = before->length - before->com;
  if (k->kind == PERP_LINK_BODY) def.anchor_b[0] = -k->com;
  if (k->kind == PERP_LINK_POINT) def.kind = PERP_JOINT_DISTANCE, def.length = k->length;
  if (k->kind == PERP_LINK_CARRIED) def.kind = PERP_JOINT_BALL;
  return perp_model_add_joint(ctx, model, &def, NULL);
}

perp_status perp_links_model(perp_ctx *ctx, perp_scene *scene, const perp_links *links,
                             perp_joint_kind joint, double gravity, const double *theta,
                             const double *omega)
{
  const int n = links->n;
  double *zero = calloc((size_t)n, 15 * sizeof *zero), *q = zero + n, *v = q + 7 * (size_t)n;
  if (zero == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d links", n);
  perp_links_state(links, theta != NULL ? theta : zero, omega != NULL ? omega : zero, q, v);
  perp_status status = perp_model_create(ctx, links->dim, &scene->model);
  for (int i = 0; i < n && status == PERP_OK; i++)
    status = add_body(ctx, scene->model, links, i, q, v);
  for (int i = 0; i < n && status == PERP_OK; i++)
    status = add_joint(ctx, scene->model, links, i, joint);
  free(zero);
  PERP_TRY(status);
  scene->gravity = gravity;
  perp_model_gravity(scene->model, gravity);
  return perp_model_finish(ctx, scene->model);
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
  for (int i = 0; i < links->n; i++) n += has_angle(&links->link[i]);
  /* one block: the map, a copy of the links, the names */
  const size_t copy = sizeof *links + (size_t)links->n * sizeof *links->link;
  const size_t text = 24;
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
