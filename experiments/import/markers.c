/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trajectories of optical markers from a motion, and the motion from them (Vondrak 2005, section
 * 9.2.6): see motion_edit.h. */
#include "experiments/import/motion_edit.h"

#include "models/geometry/kinematics.h"
#include "experiments/base/numbers.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARKERS_MOST = 4096, MARKERS_NAME = 80, MARKERS_SWEEPS = 50 };
static const double MARKERS_LINE = 1e-6; /* of the largest eigenvalue: no second direction */

/* Files have x to the left, y up, z forward; poses are z, x, y of it. */
static int markers_axis(int file)
{
  return (file + 1) % 3;
}

/* Place and orientation of all joints in the world, parents first, from their poses. */
static void markers_world(const perp_bvh *bvh, int joint, const double quat[4],
                          const double offset[3], double (*p)[3], double (*q)[4])
{
  const int parent = bvh->joint[joint].parent;
  double R[9], arm[3];
  if (parent < 0) {
    memcpy(p[joint], offset, sizeof p[joint]);
    memcpy(q[joint], quat, sizeof q[joint]);
    return;
  }
  perp_quat_matrix(q[parent], R);
  perp_turn(3, R, offset, arm);
  for (int c = 0; c < 3; c++) p[joint][c] = p[parent][c] + arm[c];
  perp_quat_product(q[parent], quat, q[joint]);
}

/* ---- from a motion ---- */

static void markers_put(perp_text *out, const char *before, double x)
{
  char text[40];
  perp_format_real(x, text, sizeof text);
  perp_text_add(out, "%s%s", before, text);
}

/* The length of the first bone of a joint; 1 where it has none. */
static double markers_arm(const perp_bvh *bvh, int joint)
{
  for (int i = joint + 1; i < bvh->n; i++) {
    const double *x = bvh->joint[i].offset, length = sqrt(perp_dot(3, x, x));
    if (bvh->joint[i].parent == joint && length > 0) return length;
  }
  return 1;
}

void perp_markers_write(const perp_bvh *bvh, perp_text *out)
{
  double p[PERP_BVH_JOINTS][3], q[PERP_BVH_JOINTS][4];
  for (int joint = 0; joint < bvh->n; joint++)
    for (int m = 0; m < 3 && !bvh->joint[joint].end; m++) {
      perp_text_add(out, "# place %s.%d:", bvh->joint[joint].name, m + 1);
      for (int c = 0; c < 3; c++) markers_put(out, " ", c == m ? markers_arm(bvh, joint) : 0);
      perp_text_add(out, "\n");
    }
  perp_text_add(out, "t [s]");
  for (int joint = 0; joint < bvh->n; joint++)
    for (int m = 0; m < 9 && !bvh->joint[joint].end; m++)
      perp_text_add(out, ", %s.%d.%c", bvh->joint[joint].name, m / 3 + 1, "xyz"[m % 3]);
  perp_text_add(out, "\n");
  for (int frame = 0; frame < bvh->frames; frame++) {
    markers_put(out, "", frame * bvh->frame_time);
    for (int joint = 0; joint < bvh->n; joint++) {
      double quat[4], offset[3], R[9];
      perp_bvh_pose(bvh, joint, frame, quat, offset);
      markers_world(bvh, joint, quat, offset, p, q);
      if (bvh->joint[joint].end) continue;
      perp_quat_matrix(q[joint], R);
      for (int file = 0; file < 3; file++)
        for (int c = 0; c < 3; c++)
          markers_put(out, ", ",
                      p[joint][markers_axis(c)] +
                          markers_arm(bvh, joint) * R[markers_axis(c) + 3 * markers_axis(file)]);
    }
    perp_text_add(out, "\n");
  }
}

/* ---- reading ---- */

typedef struct marker {
  char name[MARKERS_NAME];
  int joint;
  double s[3]; /* in the frame of the joint, axes of poses */
  bool placed;
} marker;

typedef struct markers {
  perp_diag *diag;
  perp_source src;
  const perp_bvh *skeleton;
  perp_pool pool;
  int n, rows;
  marker *marker; /* [n] */
  double *t, *x;  /* [rows], [rows][n][3] axes of poses; NaN: hidden */
} markers;

__attribute__((format(printf, 4, 5))) static bool
markers_wrong(const markers *work, int line, const char *hint, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_diag_line(work->diag, &work->src, line, 0, hint, fmt, ap);
  va_end(ap);
  return false;
}

static int markers_find(const markers *work, const char *name, size_t length)
{
  for (int i = 0; i < work->n; i++)
    if (strlen(work->marker[i].name) == length && strncmp(work->marker[i].name, name, length) == 0)
      return i;
  return -1;
}

/* "# place JOINT.1: x y z" */
static bool markers_place(markers *work, const char *text, const char *end, int line)
{
  marker m = { .joint = -1, .placed = true };
  const char *colon = memchr(text, ':', (size_t)(end - text));
  const size_t length = colon != NULL ? (size_t)(colon - text) : 0;
  if (length == 0 || length >= sizeof m.name)
    return markers_wrong(work, line, "# place JOINT.1: 10 0 0",
                         "the place of a marker needs its name");
  memcpy(m.name, text, length);
  char joint[MARKERS_NAME], *dot;
  memcpy(joint, m.name, sizeof joint);
  dot = strrchr(joint, '.');
  if (dot != NULL) *dot = '\0';
  m.joint = dot != NULL ? perp_bvh_find(work->skeleton, joint) : -1;
  if (m.joint < 0)
    return markers_wrong(work, line, "name markers JOINT.1, JOINT.2, ...",
                         "the skeleton has no joint for the marker '%s'", m.name);
  if (markers_find(work, m.name, length) >= 0)
    return markers_wrong(work, line, NULL, "the marker '%s' has two places", m.name);
  const char *at = colon + 1;
  for (int file = 0; file < 3; file++) {
    const char *next = perp_real_at(at, &m.s[markers_axis(file)]);
    if (next == NULL || next > end || !isfinite(m.s[markers_axis(file)]))
      return markers_wrong(work, line, "# place JOINT.1: 10 0 0",
                           "the place of the marker '%s' needs three numbers", m.name);
    at = next;
  }
  if (work->n == MARKERS_MOST)
    return markers_wrong(work, line, NULL, "there are more than %d markers", MARKERS_MOST);
  work->marker = perp_pool_grown(&work->pool, work->marker, work->n, sizeof *work->marker);
  work->marker[work->n++] = m;
  return true;
}

/* A cell from s on, without blanks; *next behind its comma, or `end`. */
static const char *markers_cell(const char *s, const char *end, size_t *length, const char **next)
{
  const char *comma = memchr(s, ',', (size_t)(end - s)), *stop = comma != NULL ? comma : end;
  *next = comma != NULL ? comma + 1 : end;
  while (s < stop && isspace((unsigned char)*s)) s++;
  while (stop > s && isspace((unsigned char)stop[-1])) stop--;
  *length = (size_t)(stop - s);
  return s;
}

/* The names of the columns: which place of a row each has. */
static bool markers_head(markers *work, const char *text, const char *end, int line, int *columns,
                         int *place)
{
  size_t length;
  const char *cell = markers_cell(text, end, &length, &text);
  if (length < 1 || cell[0] != 't')
    return markers_wrong(work, line, "t [s], JOINT.1.x, JOINT.1.y, ...",
                         "the first column must be the time, t [s]");
  for (*columns = 0; text < end;) {
    cell = markers_cell(text, end, &length, &text);
    const char *axis = length > 2 ? strchr("xyz", cell[length - 1]) : NULL;
    const int m = axis != NULL && cell[length - 2] == '.' ? markers_find(work, cell, length - 2)
                                                          : -1;
    if (m < 0 || *columns == 3 * MARKERS_MOST)
      return markers_wrong(work, line, "say where it is on its joint: # place JOINT.1: 10 0 0",
                           "'%.*s' is no coordinate of a marker that has a place", (int)length,
                           cell);
    const int at = 3 * m + markers_axis((int)(axis - "xyz"));
    for (int k = 0; k < *columns; k++)
      if (place[k] == at)
        return markers_wrong(work, line, NULL, "column '%.*s' is there twice", (int)length, cell);
    place[(*columns)++] = at;
  }
  return *columns == 3 * work->n ||
         markers_wrong(work, line, "write .x, .y and .z of each marker",
                       "%d markers have places, and %d columns of them are here: three of each "
                       "are needed",
                       work->n, *columns);
}

static bool markers_row(markers *work, const char *text, const char *end, int line, int columns,
                        const int *place)
{
  size_t length;
  work->t = perp_pool_grown(&work->pool, work->t, work->rows, sizeof *work->t);
  work->x = perp_pool_grown(&work->pool, work->x, work->rows,
                            (size_t)(3 * work->n) * sizeof *work->x);
  double *x = work->x + (size_t)work->rows * (size_t)(3 * work->n);
  for (int column = -1; column < columns; column++) {
    const bool none = text >= end;
    const char *cell = markers_cell(text, end, &length, &text);
    double value = (double)NAN;
    const char *stop = length > 0 ? perp_real_at(cell, &value) : cell;
    if ((length > 0 && (stop != cell + length || !isfinite(value))) ||
        (column < 0 && length == 0) || (none && column < columns - 1))
      return markers_wrong(work, line, "leave the fields of hidden markers empty",
                           "field %d is not a number: '%.*s'", column + 2, (int)length, cell);
    *(column < 0 ? &work->t[work->rows] : &x[place[column]]) = value;
  }
  if (text < end) return markers_wrong(work, line, NULL, "there are more fields than columns");
  work->rows++;
  return true;
}

/* Equal steps of time, which a BVH has. */
static bool markers_times(const markers *work, int line)
{
  if (work->rows < 2)
    return markers_wrong(work, line, NULL, "two rows of markers or more are needed");
  const double h = (work->t[work->rows - 1] - work->t[0]) / (work->rows - 1);
  for (int row = 0; row < work->rows; row++)
    if (!(h > 0) || fabs(work->t[row] - work->t[0] - row * h) > 1e-3 * h)
      return markers_wrong(work, line, "resample the markers",
                           "the times of rows must be equally apart: row %d is at %g s", row + 1,
                           work->t[row]);
  return true;
}

static bool markers_read(markers *work)
{
  int line = 0, columns = -1,
      *place = perp_pool_alloc(&work->pool, 3 * MARKERS_MOST, sizeof *place);
  static const char word[] = "# place ";
  for (const char *at = work->src.text, *end; *at != '\0';
       at = *end != '\0' ? end + 1 : end, line++) {
    end = at + strcspn(at, "\n");
    const size_t length = (size_t)(end - at);
    if (length >= sizeof word - 1 && strncmp(at, word, sizeof word - 1) == 0) {
      if (columns >= 0)
        return markers_wrong(work, line, NULL, "places of markers come before the columns");
      if (!markers_place(work, at + sizeof word - 1, end, line)) return false;
      continue;
    }
    if (length == 0 || at[0] == '#' || at[strspn(at, " \t\r")] == '\n') continue;
    if (columns < 0 ? !markers_head(work, at, end, line, &columns, place)
                    : !markers_row(work, at, end, line, columns, place))
      return false;
  }
  return markers_times(work, line > 0 ? line - 1 : 0);
}

/* ---- fitting ---- */

/* Jacobi's method for the symmetric 4 x 4 matrix A: its eigenvalues on the diagonal, vectors in the
 * columns of V. */
static void markers_eigen(double A[4][4], double V[4][4])
{
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) V[i][j] = i == j;
  for (int sweep = 0; sweep < MARKERS_SWEEPS; sweep++) {
    double off = 0;
    for (int p = 0; p < 3; p++)
      for (int q = p + 1; q < 4; q++) {
        off += fabs(A[p][q]);
        if (A[p][q] == 0) continue;
        const double theta = (A[q][q] - A[p][p]) / (2 * A[p][q]),
                     t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)),
                     c = 1 / sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < 4; k++) {
          const double x = A[k][p], y = A[k][q];
          A[k][p] = c * x - s * y, A[k][q] = s * x + c * y;
        }
        for (int k = 0; k < 4; k++) {
          const double x = A[p][k], y = A[q][k], u = V[k][p], v = V[k][q];
          A[p][k] = c * x - s * y, A[q][k] = s * x + c * y;
          V[k][p] = c * u - s * v, V[k][q] = s * u + c * v;
        }
      }
    if (off == 0) return;
  }
}

/* The rotation that brings the vectors s best to q, of the sums S[i][j] of s_i q_j; false: they
 * leave one open. */
static bool markers_rotation(double S[3][3], double quat[4])
{
  double A[4][4] = { { S[0][0] + S[1][1] + S[2][2], S[1][2] - S[2][1], S[2][0] - S[0][2],
                       S[0][1] - S[1][0] },
                     { 0, S[0][0] - S[1][1] - S[2][2], S[0][1] + S[1][0], S[2][0] + S[0][2] },
                     { 0, 0, S[1][1] - S[0][0] - S[2][2], S[1][2] + S[2][1] },
                     { 0, 0, 0, S[2][2] - S[0][0] - S[1][1] } },
         V[4][4], size = 0;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) A[i][j] = A[j][i];
  markers_eigen(A, V);
  int best = 0;
  for (int i = 0; i < 4; i++) {
    if (A[i][i] > A[best][best]) best = i;
    size = fmax(size, fabs(A[i][i]));
  }
  for (int i = 0; i < 4; i++) {
    if (i != best && !(A[best][best] - A[i][i] > MARKERS_LINE * size)) return false;
    quat[i] = V[i][best];
  }
  perp_quat_unit(quat);
  return true;
}

/* Pose of a joint in frame k, whose parent has p, q; false after a message. */
static bool markers_joint(const markers *work, int joint, int k, double (*p)[3], double (*q)[4],
                          perp_bvh *out)
{
  const bool root = out->joint[joint].parent < 0;
  const double *x = work->x + (size_t)k * (size_t)(3 * work->n);
  double from[3] = { 0 }, to[3] = { 0 }, S[3][3] = { { 0 } }, one[4] = { 1 }, quat[4], offset[3];
  int seen = 0;
  perp_bvh_pose(out, joint, -1, quat, offset);
  markers_world(out, joint, one, offset, p, q); /* its place, with the orientation of its parent */
  if (!root) memcpy(to, p[joint], sizeof to);
  for (int m = 0; m < work->n; m++) {
    const double *y = x + (ptrdiff_t)3 * m;
    if (work->marker[m].joint != joint || isnan(y[0] + y[1] + y[2])) continue;
    seen++;
    for (int c = 0; c < 3 && root; c++) from[c] += work->marker[m].s[c], to[c] += y[c];
  }
  for (int c = 0; c < 3 && root && seen > 0; c++) from[c] /= seen, to[c] /= seen;
  for (int m = 0; m < work->n; m++) {
    const double *y = x + (ptrdiff_t)3 * m;
    if (work->marker[m].joint != joint || isnan(y[0] + y[1] + y[2])) continue;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) S[i][j] += (work->marker[m].s[i] - from[i]) * (y[j] - to[j]);
  }
  double turn[4], back[4];
  if (seen < (root ? 3 : 2) || !markers_rotation(S, turn)) {
    perp_diag_error(work->diag, NULL, 0, "add markers that are not on one line with the joint",
                    "%s: the markers of '%s' at %g s do not determine its rotation (%d visible)",
                    work->src.name, out->joint[joint].name, work->t[k], seen);
    return false;
  }
  if (root) {
    double R[9], arm[3];
    perp_quat_matrix(turn, R);
    perp_turn(3, R, from, arm);
    for (int c = 0; c < 3; c++) p[joint][c] = offset[c] = to[c] - arm[c];
    memcpy(quat, turn, sizeof quat);
  } else {
    const double *up = q[out->joint[joint].parent];
    for (int c = 0; c < 4; c++) back[c] = c == 0 ? up[c] : -up[c];
    perp_quat_product(back, turn, quat);
  }
  perp_bvh_set_pose(out, joint, k, quat, offset);
  perp_bvh_pose(out, joint, k, quat, offset); /* what its channels can say */
  markers_world(out, joint, quat, offset, p, q);
  return true;
}

static double markers_left(const markers *work, int k, double (*p)[3], double (*q)[4], int *count)
{
  double sum = 0;
  for (int m = 0; m < work->n; m++) {
    const double *y = work->x + (size_t)k * (size_t)(3 * work->n) + (ptrdiff_t)3 * m;
    double R[9], arm[3];
    if (isnan(y[0] + y[1] + y[2])) continue;
    perp_quat_matrix(q[work->marker[m].joint], R);
    perp_turn(3, R, work->marker[m].s, arm);
    for (int c = 0; c < 3; c++) {
      const double off = p[work->marker[m].joint][c] + arm[c] - y[c];
      sum += off * off;
    }
    ++*count;
  }
  return sum;
}

bool perp_markers_fit(perp_diag *diag, const char *path, const char *text, const perp_bvh *skeleton,
                      perp_bvh *out, double *error)
{
  markers work = { .diag = diag, .src = { path, text }, .skeleton = skeleton };
  double p[PERP_BVH_JOINTS][3], q[PERP_BVH_JOINTS][4], sum = 0;
  int count = 0;
  *out = (perp_bvh){ .n = 0 };
  bool good = markers_read(&work);
  if (good)
    perp_bvh_like(skeleton, work.rows, (work.t[work.rows - 1] - work.t[0]) / (work.rows - 1), out);
  for (int row = 0; good && row < work.rows; row++) {
    for (int joint = 0; good && joint < out->n; joint++)
      if (!out->joint[joint].end && out->joint[joint].channels > 0) {
        good = markers_joint(&work, joint, row, p, q, out);
      } else {
        double quat[4], offset[3];
        perp_bvh_pose(out, joint, row, quat, offset);
        markers_world(out, joint, quat, offset, p, q);
      }
    if (good) sum += markers_left(&work, row, p, q, &count);
  }
  if (!good) perp_bvh_free(out);
  *error = count > 0 ? sqrt(sum / count) : 0;
  perp_pool_free(&work.pool);
  return good;
}
