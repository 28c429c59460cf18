/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serial links in one vertical plane: their models, states and reference files. */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>

perp_mass perp_mass_thin_rod(double m, double length)
{
  double transverse = m * length * length / 12, axial = m * length * length / 600;
  return (perp_mass){ m, { axial, 0, 0, 0, transverse, 0, 0, 0, transverse } };
}

perp_links *perp_links_create(perp_ctx *ctx, int dim, int n)
{
  perp_links *links = calloc(1, sizeof *links + (size_t)n * sizeof *links->link);
  if (links == NULL) {
    PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d links", n);
    return NULL;
  }
  links->dim = dim;
  links->n = n;
  links->link = (perp_link *)(links + 1);
  return links;
}

static bool has_angle(const perp_link *link)
{
  return link->kind != PERP_LINK_CARRIED;
}

void perp_links_state(const perp_links *links, const double *theta, const double *omega, double *q,
                      double *v)
{
  double p[2] = { 0 }, pdot[2] = { 0 };
  int angles = 0;
  for (int i = 0; i < links->n; i++) {
    const perp_link *link = &links->link[i];
    const bool turns = link->kind == PERP_LINK_BODY;
    const double angle = has_angle(link) ? theta[angles] : 0,
                 rate = has_angle(link) ? omega[angles] : 0;
    const double c = cos(angle), s = sin(angle), com = turns ? link->com : link->length;
    const perp_planar body = { p[0] + com * c,           p[1] + com * s,
                               turns ? angle : 0,        pdot[0] - com * s * rate,
                               pdot[1] + com * c * rate, turns ? rate : 0 };
    perp_planar_state(links->dim, i, &body, q, v);
    p[0] += link->length * c, p[1] += link->length * s;
    pdot[0] -= link->length * s * rate, pdot[1] += link->length * c * rate;
    angles += has_angle(link);
  }
}

static perp_status add_joint(perp_ctx *ctx, perp_model *model, const perp_links *links, int i,
                             perp_joint_kind joint)
{
  const perp_link *link = &links->link[i], *before = i > 0 ? link - 1 : NULL;
  perp_joint_def def = { .kind = joint, .a = i - 1, .b = i, .strength = links->strength };
  def.axis_a[1] = def.axis_b[1] = 1;
  if (links->mixed) {
    static const perp_joint_kind kinds[] = { PERP_JOINT_BALL, PERP_JOINT_HINGE,
                                             PERP_JOINT_UNIVERSAL };
    def.kind = kinds[i % 3];
    if (def.kind == PERP_JOINT_UNIVERSAL) def.axis_b[1] = 0, def.axis_b[2] = 1;
  }
  if (before != NULL && before->kind == PERP_LINK_BODY)
    def.anchor_a[0] = before->length - before->com;
  if (link->kind == PERP_LINK_BODY) def.anchor_b[0] = -link->com;
  if (link->kind == PERP_LINK_POINT) def.kind = PERP_JOINT_DISTANCE, def.length = link->length;
  if (link->kind == PERP_LINK_CARRIED) def.kind = PERP_JOINT_BALL;
  if (links->error > 0) def.start = PERP_START_VIOLATES;
  return perp_model_add_joint(ctx, model, &def, NULL);
}

static perp_status add_body(perp_ctx *ctx, perp_model *model, const perp_links *links, int i,
                            const double *q, const double *v)
{
  const perp_link *k = &links->link[i];
  perp_body_def def = perp_body_at(links->dim, k->mass, i, q, v);
  def.particle = k->kind != PERP_LINK_BODY;
  def.x[links->dim - 1] += i % 2 == 0 ? links->error : -links->error;
  PERP_TRY(perp_model_add_body(ctx, model, &def, NULL));
  if (!(links->thick > 0) || k->kind != PERP_LINK_BODY) return PERP_OK;
  const perp_shape_def box = { .kind = PERP_SHAPE_BOX,
                               .body = i,
                               .x = { k->length / 2 - k->com },
                               .half = { k->length / 2, links->thick / 2, links->thick / 2 },
                               .surface = { .mu = 0.5, .mu_dynamic = 0.5 } };
  return perp_model_add_shape(ctx, model, &box, NULL);
}

perp_status perp_links_model(perp_ctx *ctx, perp_scene *scene, const perp_links *links,
                             perp_joint_kind joint, double gravity, double t_end,
                             const double *theta, const double *omega)
{
  const int n = links->n;
  double *zero = calloc((size_t)n, 15 * sizeof *zero), *start = zero + n;
  double *q = start + n, *v = q + 7 * (size_t)n;
  if (zero == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d links", n);
  for (int i = 0; i < n; i++) start[i] = links->start;
  perp_links_state(links, theta != NULL ? theta : start, omega != NULL ? omega : zero, q, v);
  perp_status status = perp_model_create(ctx, links->dim, &scene->model);
  for (int i = 0; i < n && status == PERP_OK; i++)
    status = add_body(ctx, scene->model, links, i, q, v);
  for (int i = 0; i < n && status == PERP_OK; i++)
    status = add_joint(ctx, scene->model, links, i, joint);
  free(zero);
  PERP_TRY(status);
  return perp_scene_finish(ctx, scene, gravity, t_end, 1e-3);
}

/* a copy of links, with the links behind it */
static void map_angles(void *user, double t, const double *row, double *q, double *v)
{
  perp_links *links = user;
  int n = 0;
  (void)t;
  links->link = (perp_link *)(links + 1);
  for (int link = 0; link < links->n; link++) n += has_angle(&links->link[link]);
  perp_links_state(links, row, row + n, q, v);
}

perp_status perp_links_file(perp_ctx *ctx, perp_scene *scene, const perp_links *links,
                            const char *file, double uncertainty)
{
  enum { TEXT = 24 };
  int n = 0;
  for (int link = 0; link < links->n; link++) n += has_angle(&links->link[link]);
  const char **names = malloc(2 * (size_t)n * (sizeof *names + TEXT));
  if (names == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %s", file);
  char *text = (char *)(names + 2 * n);
  for (int i = 0; i < 2 * n; i++, text += TEXT) {
    snprintf(text, TEXT, "%s%d", i < n ? "theta" : "omega", i % n + 1);
    names[i] = text;
  }
  perp_status status = perp_truth_file(ctx, scene, file, uncertainty, 2 * n, names, map_angles,
                                       links,
                                       sizeof *links + (size_t)links->n * sizeof *links->link);
  free(names);
  return status;
}
