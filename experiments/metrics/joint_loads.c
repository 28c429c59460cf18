/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/metrics/joint_loads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool loads_slides(perp_joint_kind kind)
{
  return kind == PERP_JOINT_SLIDER || kind == PERP_JOINT_LINE;
}

/* The joint between the two bodies of a force that is nothing to the outside; -1: there is none. */
static int loads_joint(const perp_model *model, const perp_force_def *force)
{
  if (force->plugin == NULL || force->plugin->own != 0 || force->n_bodies != 2) return -1;
  if (!(perp_force_promises(force) & PERP_FORCE_INTERNAL)) return -1;
  for (int joint = 0; joint < perp_model_joints(model); joint++) {
    const perp_joint_def *def = perp_model_joint(model, joint);
    if ((def->a == force->body[0] && def->b == force->body[1]) ||
        (def->a == force->body[1] && def->b == force->body[0]))
      return joint;
  }
  return -1;
}

perp_status perp_loads_of(perp_ctx *ctx, const perp_model *model, perp_load **out, int *count)
{
  const int drives = perp_model_drives(model), forces = perp_model_force_elements(model);
  perp_load *load = calloc((size_t)(drives + forces) + 1, sizeof *load);
  if (load == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the loads of joints");
  int n = 0;
  for (int i = 0; i < drives; i++) {
    const perp_drive_def *drive = perp_model_drive(model, i);
    load[n++] = (perp_load){ .joint = drive->joint,
                             .drive = i,
                             .slides = perp_model_drive_slides(model, i),
                             .part = drive->axis == PERP_DRIVE_TURN };
  }
  for (int i = 0; i < forces; i++) {
    const perp_force_def *force = perp_model_force_element(model, i);
    const int joint = loads_joint(model, force);
    if (joint < 0) continue;
    load[n++] = (perp_load){ .joint = joint,
                             .drive = -1,
                             .element = i,
                             .end = force->body[1] >= 0 ? 1 : 0,
                             .slides = loads_slides(perp_model_joint(model, joint)->kind) };
  }
  *out = load;
  *count = n;
  return PERP_OK;
}

const char *perp_load_name(const perp_model *model, const perp_load *load)
{
  if (load->drive >= 0) return perp_model_drive(model, load->drive)->name;
  return perp_model_force_element(model, load->element)->plugin->d.name;
}

static void loads_body(const perp_model *model, const double *q, const double *v, int body,
                       perp_body_state *out)
{
  const bool space = perp_model_dim(model) == 3;
  *out = (perp_body_state){ .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, .mass = HUGE_VAL };
  if (body < 0) return;
  out->mass = perp_model_body(model, body)->mass.mass;
  q += (space ? 7 : 3) * body;
  v += (space ? 6 : 3) * body;
  if (space) {
    memcpy(out->x, q, 3 * sizeof *q);
    memcpy(out->v, v, 3 * sizeof *v);
    memcpy(out->w, v + 3, 3 * sizeof *v);
    perp_model_rotation(model, q - (ptrdiff_t)(7 * body), body, out->R);
    return;
  }
  memcpy(out->x, q, 2 * sizeof *q);
  memcpy(out->v, v, 2 * sizeof *v);
  out->w[2] = v[2];
  out->R[0] = out->R[4] = cos(q[2]);
  out->R[1] = sin(q[2]);
  out->R[3] = -out->R[1];
}

static double loads_force(const perp_model *model, const perp_load *load, double t, const double *q,
                          const double *v)
{
  const perp_force_def *force = perp_model_force_element(model, load->element);
  perp_body_state body[2];
  double F[12] = { 0 };
  for (int i = 0; i < 2; i++) loads_body(model, q, v, force->body[i], &body[i]);
  force->plugin->force(force->opts, perp_model_dim(model), 2, body, t, F);
  const double *own = F + 6 * load->end + (load->slides ? 0 : 3);
  return sqrt(own[0] * own[0] + own[1] * own[1] + own[2] * own[2]);
}

void perp_loads_at(const perp_model *model, const perp_load *load, int n, double t, const double *q,
                   const double *v, const perp_step_info *info, float *value)
{
  const double *drive = info != NULL ? info->drive : NULL;
  for (int i = 0; i < n; i++) {
    double known = (double)NAN;
    if (load[i].drive >= 0 && drive != NULL) known = drive[load[i].drive];
    if (load[i].drive < 0 && v != NULL) known = loads_force(model, &load[i], t, q, v);
    value[i] = (float)known;
  }
}
