/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs as skeletons: see motion_write.h. */
#include "experiments/import/motion_write.h"

#include "experiments/base/numbers.h"
#include "models/geometry/kinematics.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double WRITE_CM = 100, WRITE_FIXED = 1e-9;

typedef struct write_body {
  int parent;      /* body, -1: none */
  double own[3];   /* the anchor of its joint, in it */
  double place[3]; /* and in the parent, where it does not move there */
  int joint;       /* of the file */
  bool moves, seen;
} write_body;

typedef struct writer {
  const perp_model *model;
  int bodies, dim;
  write_body *body;
} writer;

/* Pose of a body, in the plane as in space: (x, 0, up), turned about -y. */
static void write_pose(const writer *work, const double *q, int body, double x[3], double quat[4])
{
  const double *at = q + (ptrdiff_t)body * (work->dim == 3 ? 7 : 3);
  if (work->dim == 3) {
    memcpy(x, at, 3 * sizeof *x);
    memcpy(quat, at + 3, 4 * sizeof *quat);
    perp_quat_unit(quat);
    return;
  }
  x[0] = at[0], x[1] = 0, x[2] = at[1];
  quat[0] = cos(at[2] / 2), quat[1] = 0, quat[2] = -sin(at[2] / 2), quat[3] = 0;
}

static void write_point(const writer *work, const double s[3], double out[3])
{
  out[0] = s[0], out[1] = work->dim == 3 ? s[1] : 0, out[2] = work->dim == 3 ? s[2] : s[1];
}

/* Joint of a body at q: place of its anchor, orientation. */
static void write_joint(const writer *work, const double *q, int body, double x[3], double quat[4])
{
  double R[9], arm[3];
  write_pose(work, q, body, x, quat);
  perp_quat_matrix(quat, R);
  perp_turn(3, R, work->body[body].own, arm);
  for (int c = 0; c < 3; c++) x[c] += arm[c];
}

/* The same in the joint of its parent. */
static void write_in_parent(const writer *work, const double *q, int body, double x[3],
                            double quat[4])
{
  const int parent = work->body[body].parent;
  write_joint(work, q, body, x, quat);
  if (parent < 0) return;
  double up[3], turn[4], R[9], d[3], mine[4];
  write_joint(work, q, parent, up, turn);
  perp_quat_matrix(turn, R);
  for (int c = 0; c < 3; c++) d[c] = x[c] - up[c];
  perp_turn_back(3, R, d, x);
  const double back[4] = { turn[0], -turn[1], -turn[2], -turn[3] };
  perp_quat_product(back, quat, mine);
  memcpy(quat, mine, sizeof mine);
}

/* Parents by the joints, in the order of the bodies: each body that no tree has yet begins one. */
static void write_tree(writer *work)
{
  int *queue = perp_xalloc((size_t)work->bodies, sizeof *queue);
  for (int root = 0; root < work->bodies; root++) {
    if (work->body[root].seen) continue;
    int n = 0, at = 0;
    work->body[root].seen = true;
    queue[n++] = root;
    while (at < n) {
      const int now = queue[at++];
      for (int joint = 0; joint < perp_model_joints(work->model); joint++) {
        const perp_joint_def *def = perp_model_joint(work->model, joint);
        const bool first = def->a == now;
        const int other = first ? def->b : def->b == now ? def->a : PERP_WORLD;
        if (other < 0 || other >= work->bodies || work->body[other].seen) continue;
        work->body[other].seen = true;
        work->body[other].parent = now;
        write_point(work, first ? def->anchor_b : def->anchor_a, work->body[other].own);
        queue[n++] = other;
      }
    }
  }
  free(queue);
}

/* Bodies whose anchors move in their parents. */
static void write_moves(writer *work, int n, const double *q)
{
  const int nq = perp_model_nq(work->model);
  for (int body = 0; body < work->bodies; body++) {
    double x[3], quat[4], off = 0, size = 0;
    write_in_parent(work, q, body, work->body[body].place, quat);
    for (int k = 1; k < n && work->body[body].parent >= 0; k++) {
      write_in_parent(work, q + (size_t)k * (size_t)nq, body, x, quat);
      for (int c = 0; c < 3; c++) {
        off = fmax(off, fabs(x[c] - work->body[body].place[c]));
        size = fmax(size, fabs(x[c]));
      }
    }
    work->body[body].moves = work->body[body].parent < 0 || off > WRITE_FIXED * fmax(size, 1e-3);
  }
}

static const char *write_name(perp_pool *pool, perp_names *names, const char *name, int body)
{
  char *is = name != NULL && name[0] != '\0' ? perp_pool_strndup(pool, name, strnlen(name, 90))
                                             : perp_pool_printf(pool, "body%d", body);
  for (char *at = is; *at != '\0'; at++)
    if ((unsigned char)*at < ' ' || strchr("\"\\{}:,[]#", *at) != NULL) *at = '_';
  for (int before = names->n; perp_names_index(pool, names, is, -1) < before;)
    is = perp_pool_printf(pool, "%s_", is);
  return is;
}

static perp_bvh_joint *write_add(perp_bvh *out, const char *name, int parent, bool places)
{
  static const perp_bvh_channel all[] = { PERP_BVH_X,  PERP_BVH_Y,  PERP_BVH_Z,
                                          PERP_BVH_RZ, PERP_BVH_RX, PERP_BVH_RY };
  out->joint = perp_pool_grown(&out->pool, out->joint, out->n, sizeof *out->joint);
  perp_bvh_joint *joint = &out->joint[out->n++];
  *joint = (perp_bvh_joint){ .name = name,
                             .parent = parent,
                             .first = out->channels,
                             .placed = places && parent >= 0,
                             .channels = places ? 6 : 3 };
  memcpy(joint->channel, all + (places ? 0 : 3), (size_t)joint->channels * sizeof *all);
  out->channels += joint->channels;
  return joint;
}

static void write_offset(perp_bvh_joint *joint, const double x[3])
{
  for (int c = 0; c < 3; c++) joint->offset[c] = WRITE_CM * x[(c + 1) % 3] + 0.0;
}

/* The bodies of a tree depth first: a file names all that hangs on a joint behind it. */
static bool write_joints(writer *work, int root, int on, perp_names *names, perp_bvh *out)
{
  int *stack = perp_xalloc((size_t)work->bodies, sizeof *stack),
      *depth = perp_xalloc((size_t)work->bodies, sizeof *depth);
  int n = 0;
  bool good = true;
  stack[n++] = root;
  while (n > 0 && good) {
    const int body = stack[--n], parent = work->body[body].parent;
    depth[body] = parent >= 0 ? depth[parent] + 1 : 1;
    good = depth[body] < PERP_BVH_DEPTH - 2 && out->n < PERP_BVH_JOINTS - 2;
    if (!good) break;
    const int to = out->n;
    perp_bvh_joint *joint = write_add(
        out, write_name(&out->pool, names, perp_model_body(work->model, body)->name, body),
        parent >= 0 ? work->body[parent].joint : on, work->body[body].moves);
    if (parent >= 0) write_offset(joint, work->body[body].place);
    work->body[body].joint = to;
    /* its centre of mass */
    out->joint = perp_pool_grown(&out->pool, out->joint, out->n, sizeof *out->joint);
    perp_bvh_joint *end = &out->joint[out->n++];
    *end = (perp_bvh_joint){
      .name = out->joint[to].name, .end = true, .parent = to, .first = out->channels
    };
    const double centre[3] = { -work->body[body].own[0], -work->body[body].own[1],
                               -work->body[body].own[2] };
    write_offset(end, centre);
    for (int i = work->bodies - 1; i >= 0; i--)
      if (work->body[i].parent == body) stack[n++] = i;
  }
  free(stack);
  free(depth);
  return good;
}

static void write_frames(const writer *work, int n, const double *q, perp_bvh *out)
{
  const int nq = perp_model_nq(work->model);
  out->value = perp_pool_alloc(&out->pool, (size_t)n * (size_t)out->channels + 1,
                               sizeof *out->value);
  for (int frame = 0; frame < n; frame++)
    for (int body = 0; body < work->bodies; body++) {
      double x[3], quat[4];
      write_in_parent(work, q + (size_t)frame * (size_t)nq, body, x, quat);
      for (int c = 0; c < 3; c++) x[c] *= WRITE_CM;
      perp_bvh_set_pose(out, work->body[body].joint, frame, quat, x);
    }
}

bool perp_motion_write(perp_diag *diag, const perp_model *model, int n, double frame_time,
                       const double *q, perp_bvh *out)
{
  writer work = { .model = model,
                  .bodies = perp_model_bodies(model),
                  .dim = perp_model_dim(model) };
  perp_names names = { .n = 0 };
  int roots = 0;
  *out = (perp_bvh){ .frames = n, .frame_time = frame_time };
  work.body = perp_xalloc((size_t)work.bodies + 1, sizeof *work.body);
  for (int body = 0; body < work.bodies; body++) work.body[body] = (write_body){ .parent = -1 };
  write_tree(&work);
  write_moves(&work, n, q);
  for (int body = 0; body < work.bodies; body++) roots += work.body[body].parent < 0;
  bool good = work.bodies > 0;
  if (roots > 1) write_add(out, write_name(&out->pool, &names, "world", 0), -1, true);
  for (int root = 0; root < work.bodies && good; root++)
    if (work.body[root].parent < 0)
      good = write_joints(&work, root, roots > 1 ? 0 : -1, &names, out);
  if (good)
    write_frames(&work, n, q, out);
  else {
    perp_diag_error(diag, NULL, 0, "choose a smaller scene",
                    work.bodies == 0
                        ? "the scene has no bodies"
                        : "a BVH file has at most %d joints and end sites, and %d of them "
                          "inside each other",
                    PERP_BVH_JOINTS, PERP_BVH_DEPTH);
    perp_bvh_free(out);
  }
  free(work.body);
  return good;
}

/* ---- time series ---- */

typedef struct series_reader {
  perp_diag *diag;
  perp_source src;
  int line;
} series_reader;

__attribute__((format(printf, 3, 4))) static bool
series_wrong(const series_reader *reader, const char *hint, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_diag_line(reader->diag, &reader->src, reader->line, 0, hint, fmt, ap);
  va_end(ap);
  return false;
}

/* [nq] columns of q0 ... */
static bool series_columns(const series_reader *reader, const char *line, int nq, int *column)
{
  int found = 0, k = 0;
  for (int i = 0; i < nq; i++) column[i] = -1;
  for (const char *at = line; *at != '\0' && *at != '\n'; k++) {
    const size_t n = strcspn(at, ",\r\n");
    if (at[0] == 'q' && n > 1 && n < 8 && strspn(at + 1, "0123456789") == n - 1) {
      const int i = atoi(at + 1);
      if (i >= nq)
        return series_wrong(reader, "name the scene of this run",
                            "the series has the coordinate q%d, but the scene has only %d", i, nq);
      found += column[i] < 0;
      column[i] = k;
    }
    at += n + (at[n] == ',');
    if (*at == '\r') at++;
  }
  return found == nq ||
         series_wrong(reader,
                      "perp simulate SCENE --series FILE, with the scene that is named here",
                      "the series has %d of the %d coordinates of the scene", found, nq);
}

static bool series_row(const series_reader *reader, const char *line, int nq, const int *column,
                       double *t, double *q)
{
  int k = 0, found = 0;
  for (const char *at = line; *at != '\0' && *at != '\n'; k++) {
    const size_t n = strcspn(at, ",\r\n");
    for (int i = k == 0 ? -1 : 0; i < nq; i++) {
      if (k > 0 && column[i] != k) continue;
      double value;
      const char *end = perp_real_at(at, &value);
      if (end != at + n || !isfinite(value))
        return series_wrong(reader, "cut the series before it",
                            "column %d is no finite number: %.*s", k + 1, (int)(n < 40 ? n : 40),
                            at);
      *(i < 0 ? t : &q[i]) = value;
      found += i >= 0;
      if (k > 0) break;
      i = nq;
    }
    at += n + (at[n] == ',');
    if (*at == '\r') at++;
  }
  return found == nq || series_wrong(reader, NULL, "the row has %d of %d coordinates", found, nq);
}

bool perp_motion_series(perp_diag *diag, const char *path, const char *text, int nq, int every,
                        int *n, double *frame_time, double **q)
{
  series_reader reader = { diag, { path, text }, 0 };
  int *column = perp_xalloc((size_t)nq + 1, sizeof *column), room = 64, rows = 0;
  double first = 0, last = 0, now = 0;
  bool good = text[0] == 't' || series_wrong(&reader, "perp simulate SCENE --series FILE",
                                             "the first column must be the time, t[s]");
  good = good && series_columns(&reader, text, nq, column);
  *q = perp_xalloc((size_t)room * (size_t)nq + 1, sizeof **q);
  *n = 0;
  for (const char *at = strchr(text, '\n'); good && at != NULL && at[1] != '\0';
       at = strchr(at + 1, '\n')) {
    reader.line++;
    if (rows++ % every != 0) continue;
    if (*n == room) {
      room *= 2;
      *q = perp_xrealloc(*q, (size_t)room * (size_t)nq + 1, sizeof **q);
    }
    good = series_row(&reader, at + 1, nq, column, &now, *q + (size_t)*n * (size_t)nq);
    if (*n == 0) first = now;
    if (*n == 1) *frame_time = now - first;
    if (good && *n >= 1 && !(fabs(now - first - *n * *frame_time) <= 1e-6 * *frame_time)) {
      const char *next = strchr(at + 1, '\n');
      if (next == NULL || next[1] == '\0') break; /* the end of the run, within a step */
      good = series_wrong(&reader, "write the series with --sample, or choose --every",
                          "the times of frames must be equally apart: %g s follows %g s", now,
                          last);
    }
    last = now;
    *n += good;
  }
  if (good && *n < 2)
    good = series_wrong(&reader, "--every 1", "two frames or more are needed, here are %d", *n);
  free(column);
  if (good) return true;
  free(*q);
  *q = NULL;
  return false;
}
