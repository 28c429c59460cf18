/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Motions of a model in files: poses of all bodies, a row at each time. */
#include "experiments/import/motion_file.h"

#include "experiments/import/figure.h"
#include "experiments/import/import.h"
#include "models/geometry/kinematics.h"
#include "models/scenes/truths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct motion_poses {
  int n;
  double *t, *q; /* [n], [n][nq] */
} motion_poses;

static void motion_poses_take(motion_poses *poses, int n, int nq)
{
  poses->n = n;
  poses->t = perp_xalloc((size_t)n + 1, sizeof *poses->t);
  poses->q = perp_xalloc((size_t)n * (size_t)nq + 1, sizeof *poses->q);
}

/* ---- BVH ---- */

static int motion_body(const perp_model *model, const char *name)
{
  for (int body = 0; body < perp_model_bodies(model); body++) {
    const char *is = perp_model_body(model, body)->name;
    if (is != NULL && strcmp(is, name) == 0) return body;
  }
  return -1;
}

/* [segments] their bodies, or NULL after a message. */
static int *motion_bodies(perp_diag *diag, const perp_node *at, const perp_model *model,
                          const perp_figure *figure, const char *path)
{
  int *body = perp_xalloc((size_t)figure->n, sizeof *body);
  for (int segment = 0; segment < figure->n; segment++) {
    body[segment] = motion_body(model, figure->segment[segment].name);
    if (body[segment] >= 0) continue;
    perp_diag_error(diag, at, 0, "give the bodies the names of the joints in the file",
                    "%s moves %s, but the scene has no body of that name", path,
                    figure->segment[segment].name);
    free(body);
    return NULL;
  }
  return body;
}

/* The anchor of the joint between two bodies, in the frame of each; false: there is none. */
static bool motion_anchors(const perp_model *model, int parent, int child, const double **in_parent,
                           const double **in_child)
{
  for (int joint = 0; joint < perp_model_joints(model); joint++) {
    const perp_joint_def *def = perp_model_joint(model, joint);
    const bool straight = def->a == parent && def->b == child,
               turned = def->b == parent && def->a == child;
    if (!straight && !turned) continue;
    *in_parent = straight ? def->anchor_a : def->anchor_b;
    *in_child = straight ? def->anchor_b : def->anchor_a;
    return true;
  }
  return false;
}

/* scale and origin as the model has them: the bone between two joints of one body tells the scale,
 * a bone of the root then where the root joint is. */
static bool motion_measure(perp_diag *diag, const perp_node *at, const perp_model *model,
                           const perp_figure *figure, const int *body, perp_motion_file *from)
{
  const double *place, *own, *other;
  for (int segment = 0; segment < figure->n && !(from->scale > 0); segment++) {
    const int parent = figure->segment[segment].parent,
              pp = parent >= 0 ? figure->segment[parent].parent : -1;
    double d[3];
    if (pp < 0 || !motion_anchors(model, body[parent], body[segment], &place, &other) ||
        !motion_anchors(model, body[pp], body[parent], &other, &own))
      continue;
    const double *offset = figure->nodes.bone[figure->segment[segment].joint];
    for (int k = 0; k < 3; k++) d[k] = place[k] - own[k];
    if (perp_dot(3, offset, offset) > 0 && perp_dot(3, d, d) > 0)
      from->scale = sqrt(perp_dot(3, d, d) / perp_dot(3, offset, offset));
  }
  for (int segment = 1; segment < figure->n && from->scale > 0; segment++) {
    if (figure->segment[segment].parent != 0 ||
        !motion_anchors(model, body[0], body[segment], &place, &other))
      continue;
    const double *offset = figure->nodes.bone[figure->segment[segment].joint];
    for (int k = 0; k < 3; k++) from->origin[k] = place[k] - from->scale * offset[k];
    return true;
  }
  perp_diag_error(diag, at, 0, "write scale and origin with the motion",
                  "the scale of %s does not follow from the joints of the scene", from->path);
  return false;
}

/* One frame: orientations are those of the joints; places of all but the root follow from the
 * joints of the model. */
static void motion_frame(const perp_figure *figure, const int *body, int frame,
                         const perp_motion_file *from, double *q)
{
  for (int segment = 0; segment < figure->n; segment++) {
    double quat[4], offset[3], *to = q + 7 * body[segment];
    perp_figure_pose(figure, segment, frame, quat, offset);
    if (figure->segment[segment].parent >= 0) {
      perp_quat_product(q + 7 * body[figure->segment[segment].parent] + 3, quat, to + 3);
      perp_quat_unit(to + 3);
      continue;
    }
    double R[9], arm[3];
    memcpy(to + 3, quat, sizeof quat);
    perp_quat_unit(to + 3);
    perp_quat_matrix(to + 3, R);
    perp_turn(3, R, from->origin, arm);
    for (int k = 0; k < 3; k++) to[k] = from->scale * offset[k] - arm[k];
  }
}

static bool motion_bvh(perp_diag *diag, const perp_node *at, const perp_model *model,
                       const perp_motion_file *from, motion_poses *poses)
{
  perp_bvh bvh;
  perp_figure figure = { .n = 0 };
  int *body = NULL;
  const perp_skeleton_options options = { from->start, from->end, from->frame_time, NULL };
  if (!perp_skeleton_load(diag, at, from->path, &options, &bvh, NULL)) return false;
  bool good = perp_figure_build(diag, from->path, &bvh, &figure);
  if (good && bvh.frames == 0) {
    perp_diag_error(diag, at, 0, NULL, "%s has no frames", from->path);
    good = false;
  }
  good = good && (body = motion_bodies(diag, at, model, &figure, from->path)) != NULL;
  perp_motion_file scaled = *from;
  if (good && !(scaled.scale > 0)) good = motion_measure(diag, at, model, &figure, body, &scaled);
  if (good) {
    const int nq = perp_model_nq(model);
    motion_poses_take(poses, bvh.frames, nq);
    for (int frame = 0; frame < bvh.frames; frame++) {
      double *q = poses->q + (size_t)frame * (size_t)nq;
      memcpy(q, perp_model_q0(model), (size_t)nq * sizeof *q);
      poses->t[frame] = frame * bvh.frame_time;
      motion_frame(&figure, body, frame, &scaled, q);
    }
  }
  free(body);
  perp_figure_free(&figure);
  perp_bvh_free(&bvh);
  return good;
}

/* ---- tables ---- */

/* Where each coordinate of q is in the table, in SI. */
static perp_status motion_columns(perp_ctx *ctx, const perp_model *model, perp_data *data,
                                  int *column)
{
  const int dim = perp_model_dim(model), nqb = dim == 3 ? 7 : 3;
  for (int i = 0; i < perp_model_nq(model); i++) column[i] = -1;
  for (int k = 1; k < data->n; k++) {
    int body, c;
    if (strcmp(data->name[k], "uncertainty") == 0) continue;
    PERP_TRY(perp_coordinate_find(ctx, model, data->name[k], &body, &c));
    PERP_TRY(perp_data_si(ctx, data, k, perp_coordinate_unit(dim, c)));
    if (c < nqb) column[nqb * body + c] = k;
  }
  for (int i = 0; i < perp_model_nq(model); i++)
    if (column[i] < 0) {
      const char *name = perp_model_body(model, i / nqb)->name;
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: column %s.%s is missing (body %d)", data->path,
                       name != NULL ? name : "", perp_coordinate_name(dim, i % nqb), i / nqb);
    }
  return PERP_OK;
}

static perp_status motion_table(perp_ctx *ctx, const perp_model *model, const char *path,
                                motion_poses *poses)
{
  perp_data data;
  const int nq = perp_model_nq(model);
  PERP_TRY(perp_data_read(ctx, path, &data));
  int *column = perp_xalloc((size_t)nq, sizeof *column);
  perp_status status = perp_data_si(ctx, &data, 0, "s");
  if (status == PERP_OK) status = motion_columns(ctx, model, &data, column);
  if (status == PERP_OK) {
    motion_poses_take(poses, data.rows, nq);
    for (int k = 0; k < data.rows; k++) {
      const double *row = data.x + (size_t)k * (size_t)data.n;
      poses->t[k] = row[0];
      for (int i = 0; i < nq; i++) poses->q[(size_t)k * (size_t)nq + (size_t)i] = row[column[i]];
    }
  }
  free(column);
  perp_data_free(&data);
  return status;
}

bool perp_motion_file_read(perp_ctx *ctx, perp_diag *diag, const perp_node *at,
                           const perp_model *model, const perp_motion_file *from,
                           perp_playback **out)
{
  motion_poses poses = { .n = 0 };
  const bool figure = perp_import_is_figure(from->path);
  bool good = false;
  *out = NULL;
  if (figure && perp_model_dim(model) == 2)
    perp_diag_error(diag, at, 0, NULL, "%s is a motion in space, but the scene is in the plane",
                    from->path);
  else if (figure)
    good = motion_bvh(diag, at, model, from, &poses);
  else if (!(good = motion_table(ctx, model, from->path, &poses) == PERP_OK))
    perp_diag_ctx(diag, at, 0, ctx);
  if (good && perp_playback_create(ctx, model, poses.n, poses.t, poses.q, out) != PERP_OK) {
    perp_diag_ctx(diag, at, 0, ctx);
    good = false;
  }
  free(poses.t);
  free(poses.q);
  return good;
}
