/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fclib HDF5 files: /fclib_local {W, vectors/{q, mu}} and /fclib_global {M, H, vectors/{f, w, mu}},
 * spacedim.
 *
 * A matrix is a group of m, n, nz, nzmax, p, i, x: nz >= 0 triplets (i rows, p columns), -1
 * compressed columns, -2 compressed rows.  Local: u = W r + q; global: M v = H r + f, u = H'v + w,
 * condensed on reading.  Rows of a contact: normal, then tangential.  HDF5 has no lines: messages
 * say file:1 and the name of the object. */
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/io/io_hdf5.h"
#include "solvers/lcp/io/io_matrix.h"
#include "solvers/lcp/io/io_scan.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct file {
  perp_ctx *ctx;
  const char *path;
  hid_t id;
};

#define REFUSE(f, ...) refuse_at((f), __VA_ARGS__)
__attribute__((format(printf, 2, 3))) static perp_status refuse_at(const struct file *file,
                                                                   const char *fmt, ...)
{
  char text[300];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return PERP_FAIL(file->ctx, PERP_ERR_FORMAT, "%s:1: %s", file->path, text);
}

static bool io_fclib_present(const struct file *file, const char *name)
{
  /* every group on the way must exist, or HDF5 calls it an error */
  char part[200];
  size_t n = strlen(name);
  if (n >= sizeof part) return false;
  for (size_t i = 1; i <= n; i++)
    if (name[i] == '/' || name[i] == '\0') {
      memcpy(part, name, i);
      part[i] = '\0';
      if (perp_io_hdf5.H5Lexists(file->id, part, H5P_DEFAULT) <= 0) return false;
    }
  return true;
}

/* count numbers of a dataset; real or int by `type`. */
static perp_status read_array(const struct file *file, const char *group, const char *name,
                              hid_t type, size_t count, void *out)
{
  char path[200];
  snprintf(path, sizeof path, "%s/%s", group, name);
  if (!io_fclib_present(file, path)) return REFUSE(file, "%s is missing", path);
  hid_t set = perp_io_hdf5.H5Dopen2(file->id, path, H5P_DEFAULT);
  if (set < 0) return REFUSE(file, "%s is not a dataset", path);
  hid_t space = perp_io_hdf5.H5Dget_space(set), stored = perp_io_hdf5.H5Dget_type(set);
  hssize_t points = perp_io_hdf5.H5Sget_simple_extent_npoints(space);
  H5T_class_t class = perp_io_hdf5.H5Tget_class(stored), wanted = perp_io_hdf5.H5Tget_class(type);
  perp_status status = PERP_OK;
  if (class != wanted && !(class == H5T_INTEGER && wanted == H5T_FLOAT))
    status = REFUSE(file, "%s has the wrong type", path);
  else if (points < 0 || (size_t)points != count)
    status = REFUSE(file, "%s has %lld numbers, but %zu are expected", path, (long long)points,
                    count);
  else if (count > 0 && perp_io_hdf5.H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0)
    status = REFUSE(file, "%s cannot be read", path);
  perp_io_hdf5.H5Tclose(stored);
  perp_io_hdf5.H5Sclose(space);
  perp_io_hdf5.H5Dclose(set);
  const double *x = out;
  for (size_t k = 0; status == PERP_OK && wanted == H5T_FLOAT && k < count; k++)
    if (!isfinite(x[k])) status = REFUSE(file, "%s[%zu] = %g must be finite", path, k, x[k]);
  return status;
}

static perp_status io_fclib_read_int(const struct file *file, const char *group, const char *name,
                                     int least, int *value)
{
  PERP_TRY(read_array(file, group, name, H5T_NATIVE_INT, 1, value));
  if (*value < least) return REFUSE(file, "%s/%s = %d", group, name, *value);
  return PERP_OK;
}

static perp_status io_fclib_fill(const struct file *file, const char *group, int nz, size_t entries,
                                 int *p, int *i, double *x, perp_io_matrix *out)
{
  bool triplets = nz >= 0;
  const int m = out->rows, n = out->columns;
  int outer = nz == -1 ? n : m, inner = nz == -1 ? m : n;
  size_t pointers = triplets ? entries : (size_t)outer + 1;
  PERP_TRY(read_array(file, group, "p", H5T_NATIVE_INT, pointers, p));
  if (!triplets && (p[0] != 0 || p[outer] < 0 || (size_t)p[outer] > entries))
    return REFUSE(file, "%s/p does not cover all entries", group);
  PERP_TRY(read_array(file, group, "i", H5T_NATIVE_INT, entries, i));
  PERP_TRY(read_array(file, group, "x", H5T_NATIVE_DOUBLE, entries, x));
  for (size_t k = 0; triplets && k < entries; k++) {
    if (i[k] < 0 || i[k] >= m || p[k] < 0 || p[k] >= n)
      return REFUSE(file, "%s: entry (%d, %d) is outside of the %d x %d matrix", group, i[k], p[k],
                    m, n);
    PERP_TRY(perp_io_matrix_add(file->ctx, out, i[k], p[k], x[k], 1));
  }
  for (int c = 0; !triplets && c < outer; c++) {
    if (p[c + 1] < p[c] || (size_t)p[c + 1] > entries)
      return REFUSE(file, "%s/p is not ascending", group);
    for (int k = p[c]; k < p[c + 1]; k++) {
      if (i[k] < 0 || i[k] >= inner)
        return REFUSE(file, "%s: index %d is outside of [0, %d)", group, i[k], inner);
      PERP_TRY(
          perp_io_matrix_add(file->ctx, out, nz == -1 ? i[k] : c, nz == -1 ? c : i[k], x[k], 1));
    }
  }
  return PERP_OK;
}

/* How many numbers a dataset holds, -1 when there is no such dataset. */
static hssize_t io_fclib_stored(const struct file *file, const char *group, const char *name)
{
  char path[200];
  snprintf(path, sizeof path, "%s/%s", group, name);
  hid_t set = io_fclib_present(file, path) ? perp_io_hdf5.H5Dopen2(file->id, path, H5P_DEFAULT)
                                           : -1;
  if (set < 0) return -1;
  hid_t space = perp_io_hdf5.H5Dget_space(set);
  hssize_t points = perp_io_hdf5.H5Sget_simple_extent_npoints(space);
  perp_io_hdf5.H5Sclose(space);
  perp_io_hdf5.H5Dclose(set);
  return points;
}

/* The size of a vector, which pays for the rows and columns of the matrices. */
static perp_status io_fclib_read_size(const struct file *file, const char *group, const char *name,
                                      int *size)
{
  hssize_t points = io_fclib_stored(file, group, name);
  if (points < 0 || points > INT_MAX - 1)
    return REFUSE(file, "vector %s/%s is missing or too long", group, name);
  *size = (int)points;
  return perp_lcp_affords(file->ctx, 4.0 * (double)points * sizeof(double), file->path);
}

/* A matrix of m x n. */
static perp_status io_fclib_read_matrix(const struct file *file, const char *group, int m, int n,
                                        perp_io_matrix *out)
{
  int nz, nzmax, rows, columns;
  perp_io_matrix_open(m, n, out);
  PERP_TRY(io_fclib_read_int(file, group, "m", 0, &rows));
  PERP_TRY(io_fclib_read_int(file, group, "n", 0, &columns));
  if (rows != m || columns != n)
    return REFUSE(file, "%s is %d x %d, but the vectors require %d x %d", group, rows, columns, m,
                  n);
  PERP_TRY(io_fclib_read_int(file, group, "nz", -2, &nz));
  PERP_TRY(io_fclib_read_int(file, group, "nzmax", 0, &nzmax));
  /* how many entries there are is what is stored, up to nzmax */
  hssize_t points = io_fclib_stored(file, group, "x");
  if (points < 0 || points > INT_MAX || (nz >= 0 && points < nz))
    return REFUSE(file, "%s/x has %lld numbers, which does not match nz", group, (long long)points);
  PERP_TRY(
      perp_lcp_affords(file->ctx, (double)points * (2 * sizeof(int) + sizeof(double)), file->path));
  size_t entries = (size_t)points, outer = (size_t)(nz == -1 ? n : m) + 1;
  size_t pointers = entries > outer ? entries : outer;
  int *p = calloc(pointers + 1, sizeof *p), *i = calloc(entries + 1, sizeof *i);
  double *x = calloc(entries + 1, sizeof *x);
  perp_status status = PERP_OK;
  if (p == NULL || i == NULL || x == NULL)
    status = REFUSE(file, "%s: no memory for %zu entries", group, entries);
  else
    status = io_fclib_fill(file, group, nz, entries, p, i, x, out);
  if (status == PERP_OK) status = perp_io_matrix_close(file->ctx, out, PERP_TWICE_ADDS, NULL);
  free(p);
  free(i);
  free(x);
  if (status != PERP_OK) perp_io_matrix_free(out);
  return status;
}

/* The vectors of a problem with M = W (local), or M and H (global).  x: room for f, b and mu. */
static perp_status read_vectors(const struct file *f, bool global, int dim, const perp_io_matrix *M,
                                const perp_io_matrix *H, double *x, perp_lcp_problem *out)
{
  const char *group = global ? "/fclib_global/vectors" : "/fclib_local/vectors";
  const int dof = global ? M->rows : 0, m = global ? H->columns : M->rows, nc = m / dim;
  double *force = x, *b = x + dof, *mu = b + m;
  if (global) PERP_TRY(read_array(f, group, "f", H5T_NATIVE_DOUBLE, (size_t)dof, force));
  PERP_TRY(read_array(f, group, global ? "w" : "q", H5T_NATIVE_DOUBLE, (size_t)m, b));
  PERP_TRY(read_array(f, group, "mu", H5T_NATIVE_DOUBLE, (size_t)nc, mu));
  for (int c = 0; c < nc; c++)
    if (mu[c] < 0) return REFUSE(f, "%s/mu[%d] = %g must be >= 0", group, c, mu[c]);
  if (!global) return perp_lcp_friction_problem(f->ctx, dim, nc, M, b, mu, out);
  perp_status status = perp_lcp_condense(f->ctx, dim, nc, M, H, force, b, mu, out);
  return status == PERP_ERR_FORMAT ? REFUSE(f, "M is singular") : status;
}

static perp_status read_problem(const struct file *file, bool global, int dim,
                                perp_lcp_problem *out)
{
  perp_io_matrix M, H = { 0 };
  int dof = 0, m = 0, columns = 0;
  if (global && io_fclib_present(file, "/fclib_global/G"))
    PERP_TRY(io_fclib_read_int(file, "/fclib_global/G", "n", 0, &columns));
  if (columns > 0) return REFUSE(file, "equality constraints (G) are not supported");
  if (global) PERP_TRY(io_fclib_read_size(file, "/fclib_global/vectors", "f", &dof));
  PERP_TRY(global ? io_fclib_read_size(file, "/fclib_global/vectors", "w", &m)
                  : io_fclib_read_size(file, "/fclib_local/vectors", "q", &m));
  if (m % dim != 0) return REFUSE(file, "%d rows are no multiple of the dimension %d", m, dim);
  PERP_TRY(global ? io_fclib_read_matrix(file, "/fclib_global/M", dof, dof, &M)
                  : io_fclib_read_matrix(file, "/fclib_local/W", m, m, &M));
  perp_status status = global ? io_fclib_read_matrix(file, "/fclib_global/H", dof, m, &H) : PERP_OK;
  if (status == PERP_OK) {
    double *x = calloc((size_t)dof + 2 * (size_t)m + 1, sizeof *x);
    status = x == NULL ? REFUSE(file, "no memory for %d rows", m)
                       : read_vectors(file, global, dim, &M, &H, x, out);
    free(x);
  }
  perp_io_matrix_free(&H);
  perp_io_matrix_free(&M);
  return status;
}

static perp_status read_open_file(const struct file *file, perp_lcp_problem *out)
{
  int dim;
  bool local = io_fclib_present(file, "/fclib_local"),
       global = io_fclib_present(file, "/fclib_global");
  if (io_fclib_present(file, "/fclib_global_rolling"))
    return REFUSE(file, "rolling friction is not supported");
  if (!local && !global)
    return REFUSE(file, "the file contains neither /fclib_local nor /fclib_global");
  PERP_TRY(io_fclib_read_int(file, local ? "/fclib_local" : "/fclib_global", "spacedim", 2, &dim));
  if (dim > 3) return REFUSE(file, "spacedim = %d must be 2 or 3", dim);
  PERP_TRY(read_problem(file, !local, dim, out));
  snprintf(out->family, sizeof out->family, local ? "fclib-local" : "fclib-global");
  return PERP_OK;
}

perp_status perp_lcp_read_fclib(perp_ctx *ctx, const char *path, perp_lcp_problem *out)
{
  struct file file = { ctx, path, -1 };
  H5E_auto2_t handler;
  void *data;
  *out = (perp_lcp_problem){ 0 };
  PERP_TRY(perp_io_hdf5_open(ctx));
  /* HDF5 prints its errors unless it is told not to; put back afterwards */
  perp_io_hdf5.H5Eget_auto2(H5E_DEFAULT, &handler, &data);
  perp_io_hdf5.H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  file.id = perp_io_hdf5.H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  perp_status status = file.id < 0 ? REFUSE(&file, "the HDF5 file is damaged")
                                   : read_open_file(&file, out);
  if (file.id >= 0) perp_io_hdf5.H5Fclose(file.id);
  perp_io_hdf5.H5Eset_auto2(H5E_DEFAULT, handler, data);
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}

/* ---- writing ---- */

static bool write_array(hid_t at, const char *name, hid_t type, size_t count, const void *x)
{
  hsize_t size = count;
  hid_t space = perp_io_hdf5.H5Screate_simple(1, &size, NULL);
  hid_t set = perp_io_hdf5.H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = set >= 0 &&
            (count == 0 || perp_io_hdf5.H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) >= 0);
  if (set >= 0) perp_io_hdf5.H5Dclose(set);
  perp_io_hdf5.H5Sclose(space);
  return ok;
}

static bool write_int(hid_t at, const char *name, int value)
{
  return write_array(at, name, H5T_NATIVE_INT, 1, &value);
}

/* W by compressed columns. */
static bool write_matrix(hid_t parent, const char *name, const perp_lcp *lcp)
{
  size_t nn = (size_t)lcp->n, count = 0, k = 0;
  for (size_t i = 0; lcp->C == NULL && i < nn * nn; i++) count += lcp->A[i] != 0;
  int *p = calloc(nn + 1, sizeof *p), *row = calloc(count + 1, sizeof *row);
  double *x = calloc(count + 1, sizeof *x);
  hid_t g = perp_io_hdf5.H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = p != NULL && row != NULL && x != NULL && g >= 0;
  for (size_t j = 0; ok && lcp->C == NULL && j < nn; j++) {
    for (size_t i = 0; i < nn; i++)
      if (lcp->A[i + j * nn] != 0) {
        row[k] = (int)i;
        x[k++] = lcp->A[i + j * nn];
      }
    p[j + 1] = (int)k;
  }
  if (lcp->C != NULL) count = (size_t)lcp->C->start[lcp->n];
  ok = ok && write_int(g, "m", lcp->n) && write_int(g, "n", lcp->n) && write_int(g, "nz", -1) &&
       write_int(g, "nzmax", (int)count) &&
       write_array(g, "p", H5T_NATIVE_INT, nn + 1, lcp->C != NULL ? lcp->C->start : p) &&
       write_array(g, "i", H5T_NATIVE_INT, count, lcp->C != NULL ? lcp->C->row : row) &&
       write_array(g, "x", H5T_NATIVE_DOUBLE, count, lcp->C != NULL ? lcp->C->value : x);
  if (g >= 0) perp_io_hdf5.H5Gclose(g);
  free(p);
  free(row);
  free(x);
  return ok;
}

/* Rows of each contact, or 0 when the problem is not made of contacts alone. */
static int contact_rows(const perp_lcp *lcp)
{
  if (lcp->fric_of == NULL || lcp->n < 2 || lcp->frozen) return 0;
  int dim = lcp->cone != NULL ? 3 : 2;
  if (lcp->n % dim != 0) return 0;
  for (int i = 0; i < lcp->n; i++) {
    int k = i % dim;
    double lo = lcp->lo != NULL ? lcp->lo[i] : 0, hi = lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL;
    if (k == 0 && (lcp->fric_of[i] >= 0 || lo != 0 || hi != HUGE_VAL)) return 0;
    if (k > 0 && lcp->fric_of[i] != i - k) return 0;
    if (dim == 3 && lcp->cone[i] != (k == 1)) return 0;
  }
  return dim;
}

perp_status perp_lcp_write_fclib(perp_ctx *ctx, const perp_lcp_problem *q, const char *path)
{
  int dim = contact_rows(&q->p);
  if (dim == 0)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "fclib files store only contacts with a normal row and one tangential row or one cone");
  PERP_TRY(perp_io_hdf5_open(ctx));
  perp_lcp_problem d;
  PERP_TRY(q->p.C != NULL ? perp_lcp_problem_copy(ctx, q, &d) : perp_lcp_problem_form(ctx, q, &d));
  int n = d.p.n;
  double *mu = calloc((size_t)n + 1, sizeof *mu);
  for (int c = 0; mu != NULL && c < n / dim; c++) mu[c] = d.p.mu[dim * c + 1];
  hid_t f = perp_io_hdf5.H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  bool ok = f >= 0 && mu != NULL;
  if (ok) {
    hid_t g = perp_io_hdf5.H5Gcreate2(f, "/fclib_local", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t v = perp_io_hdf5.H5Gcreate2(g, "vectors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ok = write_int(g, "spacedim", dim) && write_matrix(g, "W", &d.p) &&
         write_array(v, "q", H5T_NATIVE_DOUBLE, (size_t)n, d.p.b) &&
         write_array(v, "mu", H5T_NATIVE_DOUBLE, (size_t)(n / dim), mu);
    perp_io_hdf5.H5Gclose(v);
    perp_io_hdf5.H5Gclose(g);
  }
  if (f >= 0 && perp_io_hdf5.H5Fclose(f) < 0) ok = false;
  free(mu);
  perp_lcp_problem_free(&d);
  return ok ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_IO, "%s: cannot be written", path);
}
