/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models with one force or joint, and states of them: for the contracts of both kinds. */
#ifndef PERP_CONTRACT_ELEMENTS_H
#define PERP_CONTRACT_ELEMENTS_H

#include "models/models.h"
#include "models/scenes/scene.h"
#include "tests/contract/under_test.h"
#include "tests/count_malloc.h"
#include "tests/contract/watch.h"
#include "tests/tap.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;
static perp_rng *rng;

/* Numbers that a case needs; of coordinates of bodies and directions. */
enum { MOST_BODIES = PERP_ELEMENT_BODIES, NQ = 7 * MOST_BODIES, NV = 6 * MOST_BODIES };

/* One with options, in one dimension, between so many bodies, the last of which may be the world.
 */
typedef struct element {
  const perp_desc *d;
  const char *options;
  int dim, n;
  bool world;
  char name[160]; /* for messages: begins with that of the plug-in */
  perp_spec spec;
  int body[MOST_BODIES];
  perp_model *model;
  int nq, nv;
} element;

static inline void element_name(element *x)
{
  snprintf(x->name, sizeof x->name, "%s: %s%s%d bodies%s in %s", x->d->name, x->options,
           x->options[0] != '\0' ? ", " : "", x->n, x->world ? ", the last the world," : "",
           x->dim == 3 ? "space" : "the plane");
}

/* Bodies at about one metre from each other and from the origin, in no symmetric order; isotropic:
 * their gyroscopic torque is zero. */
static inline void element_begin(element *x, bool isotropic, double gravity, double spin)
{
  char text[512];
  snprintf(text, sizeof text, "%s%s%s", x->d->name, x->options[0] != '\0' ? ":" : "", x->options);
  const perp_kind kind = perp_find(&ctx, PERP_KIND_joint, x->d->name) == x->d ? PERP_KIND_joint
                                                                              : PERP_KIND_force;
  if (perp_spec_parse(&ctx, kind, text, &x->spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_model_create(&ctx, x->dim, &x->model) != PERP_OK) bail("%s", ctx.msg);
  perp_model_gravity(x->model, gravity);
  for (int i = 0; i < x->n; i++) {
    x->body[i] = PERP_WORLD;
    if (x->world && i == x->n - 1) break;
    perp_body_def def = { .mass = isotropic ? perp_mass_sphere(1 + 0.3 * i, 0.5)
                                            : perp_mass_box(1 + 0.3 * i, 0.3, 0.5, 0.6),
                          .x = { i + 1.1 + 0.15 * (i % 3), 0.5 * (i % 2) + 0.1,
                                 0.3 * (i % 3) - 0.2 },
                          .quat = { 1, 0.1 * i, -0.2, 0.15 },
                          .angle = 0.3 * i,
                          .v = { spin * 0.3, spin * (0.5 - 0.2 * i), spin * 0.1 * i },
                          .w = { spin * 0.4, -spin * 0.2 * i, spin * (0.3 + 0.1 * i) } };
    if (perp_model_add_body(&ctx, x->model, &def, &x->body[i]) != PERP_OK) bail("%s", ctx.msg);
  }
}

static inline perp_status element_finish(element *x, perp_status added)
{
  if (added == PERP_OK) added = perp_model_finish(&ctx, x->model);
  x->nq = added == PERP_OK ? perp_model_nq(x->model) : 0;
  x->nv = added == PERP_OK ? perp_model_nv(x->model) : 0;
  return added;
}

static inline void element_end(element *x)
{
  perp_model_destroy(x->model);
  perp_spec_free(&x->spec);
  x->model = NULL;
}

/* A state near the initial one, and velocities. */
static inline void element_state(const element *x, double part, double *q, double *v)
{
  double dq[NV];
  for (int i = 0; i < x->nv; i++) {
    dq[i] = part * perp_rng_uniform(rng, -1, 1);
    v[i] = perp_rng_uniform(rng, -1, 1);
  }
  perp_model_retract(x->model, perp_model_q0(x->model), dq, q);
}

/* q1 = q [+] s v */
static inline void element_along(const element *x, const double *q, const double *v, double s,
                                 double *q1)
{
  double dq[NV];
  for (int i = 0; i < x->nv; i++) dq[i] = s * v[i];
  perp_model_retract(x->model, q, dq, q1);
}

/* All bodies moved by the same displacement and turned by the same turn about the origin. */
static inline void element_rigid(const element *x, const double *q, double *q1)
{
  const double a = 0.7, shift[3] = { 0.4, -0.9, 0.6 };
  const double half = x->dim == 3 ? 0.35 : a / 2, axis[3] = { 2.0 / 7, 3.0 / 7, 6.0 / 7 };
  const double p[4] = { cos(half), sin(half) * axis[0], sin(half) * axis[1], sin(half) * axis[2] };
  double R[9];
  perp_quat_matrix(p, R);
  for (int b = 0; b < perp_model_bodies(x->model); b++) {
    if (x->dim == 2) {
      const double *c = q + 3 * b;
      q1[3 * b] = cos(a) * c[0] - sin(a) * c[1] + shift[0];
      q1[3 * b + 1] = sin(a) * c[0] + cos(a) * c[1] + shift[1];
      q1[3 * b + 2] = c[2] + a;
      continue;
    }
    const double *c = q + 7 * b, *r = c + 3;
    double *to = q1 + 7 * b;
    for (int i = 0; i < 3; i++) to[i] = R[i] * c[0] + R[i + 3] * c[1] + R[i + 6] * c[2] + shift[i];
    to[3] = p[0] * r[0] - p[1] * r[1] - p[2] * r[2] - p[3] * r[3];
    to[4] = p[0] * r[1] + p[1] * r[0] + p[2] * r[3] - p[3] * r[2];
    to[5] = p[0] * r[2] - p[1] * r[3] + p[2] * r[0] + p[3] * r[1];
    to[6] = p[0] * r[3] + p[1] * r[2] - p[2] * r[1] + p[3] * r[0];
  }
}

static inline double largest(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
  return most;
}

static inline double farthest(int n, const double *x, const double *y)
{
  double most = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i] - y[i]) <= most)) most = fabs(x[i] - y[i]);
  return most;
}

static inline void element_description(perp_kind kind, const perp_desc *d)
{
  static const char *const taken[] = { "kind",      "bodies",  "name", "softness",
                                       "stiffness", "damping", "rows", "collide",
                                       "start",     "repeat",  "let",  "when" };
  char text[1200], list[1024] = "";
  perp_spec spec, back;
  ok(d->summary[0] != '\0' && d->reference[0] != '\0' && d->equation != NULL,
     "%s: summary, reference and equation", d->name);
  snprintf(text, sizeof text, "%s:no_such_option=1", d->name);
  ok(perp_spec_parse(&ctx, kind, text, &spec) == PERP_ERR_OPTION,
     "%s: an unknown option is refused", d->name);
  if (perp_spec_parse(&ctx, kind, d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (spec.opts != NULL) perp_opts_format(d, spec.opts, false, list, sizeof list);
  snprintf(text, sizeof text, "%s%s%s", d->name, list[0] != '\0' ? ":" : "", list);
  bool same = perp_spec_parse(&ctx, kind, text, &back) == PERP_OK;
  ok(same && (d->opts_size == 0 || memcmp(spec.opts, back.opts, d->opts_size) == 0),
     "%s: all options written out read back identically", d->name);
  if (same) perp_spec_free(&back);
  perp_spec_free(&spec);
  bool free_names = true;
  for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
    for (size_t i = 0; i < sizeof taken / sizeof *taken && perp_plugin_file_of(d) != NULL; i++)
      if (strcmp(o->key, taken[i]) == 0 && (kind == PERP_KIND_joint || i < 2 || i > 8))
        free_names = false;
  ok(free_names, "%s: no option has the name of a key of scene files", d->name);
}

#endif
