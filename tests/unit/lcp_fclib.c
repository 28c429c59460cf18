/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fclib files as other programs write them: local and global problems of two and three dimensions,
 * matrices in rows, in columns and in triplets.  What is read is W = H' M^-1 H, q = w + H' M^-1 f,
 * worked out here entry by entry. */
#include "solvers/lcp/io/io.h"
#include "tests/tap.h"

#include <hdf5.h>
#include <string.h>
#include <unistd.h>

enum { CONTACTS = 3, MOST = 3 * CONTACTS, DOF = 7, TRIPLETS = 1 };

static perp_ctx ctx;

static void put(hid_t at, const char *name, bool real, int n, const void *x)
{
  const hsize_t size = (hsize_t)n;
  hid_t type = real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT, space = H5Screate_simple(1, &size, NULL);
  hid_t set = H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, x) < 0) bail("%s", name);
  H5Dclose(set);
  H5Sclose(space);
}

/* a [rows x columns] row by row; storage -1: columns, -2: rows, 1: triplets */
static void put_matrix(hid_t parent, const char *name, int rows, int columns, const double *a,
                       int storage)
{
  int p[MOST * MOST + 1], i[MOST * MOST], n = 0, ends = 0;
  double x[MOST * MOST];
  const int outer = storage == -1 ? columns : rows, inner = storage == -1 ? rows : columns;
  p[ends++] = 0;
  for (int k = 0; k < outer; k++) {
    for (int l = 0; l < inner; l++) {
      const double v = storage == -1 ? a[k + l * columns] : a[l + k * columns];
      if (v == 0) continue;
      x[n] = v;
      /* triplets: p holds columns, i rows */
      i[n] = storage == TRIPLETS ? k : l;
      if (storage == TRIPLETS) p[n] = l;
      n++;
    }
    if (storage != TRIPLETS) p[ends++] = n;
  }
  const int nz = storage == TRIPLETS ? n : storage;
  hid_t g = H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  put(g, "m", false, 1, &rows);
  put(g, "n", false, 1, &columns);
  put(g, "nz", false, 1, &nz);
  put(g, "nzmax", false, 1, &n);
  put(g, "p", false, storage == TRIPLETS ? n : ends, p);
  put(g, "i", false, n, i);
  put(g, "x", true, n, x);
  H5Gclose(g);
}

static void check(int dim, bool global, int storage)
{
  const int m = dim * CONTACTS;
  double M[DOF * DOF], H[DOF * MOST], f[DOF], w[MOST], mu[CONTACTS], W[MOST * MOST], q[MOST];
  /* M = diag + u u', M^-1 = diag^-1 - diag^-1 u u' diag^-1 / (1 + u' diag^-1 u) */
  double diag[DOF], u[DOF], Minv[DOF * DOF], sum = 1;
  for (int i = 0; i < DOF; i++) {
    diag[i] = 1 + 0.5 * i;
    u[i] = 0.3 * sin(1 + i);
    f[i] = cos(3 + i);
    sum += u[i] * u[i] / diag[i];
  }
  for (int i = 0; i < DOF; i++)
    for (int j = 0; j < DOF; j++) {
      M[j + i * DOF] = (i == j ? diag[i] : 0) + u[i] * u[j];
      Minv[j + i * DOF] = (i == j ? 1 / diag[i] : 0) - u[i] * u[j] / (diag[i] * diag[j] * sum);
    }
  for (int i = 0; i < DOF; i++)
    for (int j = 0; j < m; j++) H[j + i * m] = (i + j) % 3 == 0 ? 0 : sin(1 + i + 2.5 * j);
  for (int j = 0; j < m; j++) w[j] = 0.1 * (j + 1);
  for (int c = 0; c < CONTACTS; c++) mu[c] = 0.2 + 0.1 * c;
  for (int a = 0; a < m; a++) {
    q[a] = w[a];
    for (int b = 0; b < m; b++) W[b + a * m] = 0;
    for (int i = 0; i < DOF; i++)
      for (int j = 0; j < DOF; j++) {
        q[a] += H[a + i * m] * Minv[j + i * DOF] * f[j];
        for (int b = 0; b < m; b++) W[b + a * m] += H[a + i * m] * Minv[j + i * DOF] * H[b + j * m];
      }
  }
  char name[] = "/tmp/perp-fclib-XXXXXX.hdf5";
  const int fd = mkstemps(name, 5);
  if (fd < 0) bail("mkstemps");
  close(fd);
  hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t g = H5Gcreate2(file, global ? "/fclib_global" : "/fclib_local", H5P_DEFAULT, H5P_DEFAULT,
                       H5P_DEFAULT);
  hid_t v = H5Gcreate2(g, "vectors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  put(g, "spacedim", false, 1, &dim);
  if (global) {
    put_matrix(g, "M", DOF, DOF, M, storage);
    put_matrix(g, "H", DOF, m, H, storage);
    put(v, "f", true, DOF, f);
    put(v, "w", true, m, w);
  } else {
    put_matrix(g, "W", m, m, W, storage);
    put(v, "q", true, m, q);
  }
  put(v, "mu", true, CONTACTS, mu);
  H5Gclose(v);
  H5Gclose(g);
  H5Fclose(file);

  perp_lcp_problem p;
  const perp_status status = perp_lcp_read(&ctx, name, &p);
  const char *kind = global ? "global" : "local", *how = storage == -1   ? "columns"
                                                         : storage == -2 ? "rows"
                                                                         : "triplets";
  ok(status == PERP_OK && p.p.n == m, "%s, dimension %d, %s: is read (%s)", kind, dim, how,
     status == PERP_OK ? "ok" : ctx.msg);
  if (status != PERP_OK) bail("%s", ctx.msg);
  double off[2] = { 0 };
  int wrong = 0;
  for (int a = 0; a < m; a++) {
    off[0] = fmax(off[0], fabs(p.p.b[a] - q[a]));
    for (int b = 0; b < m; b++) off[1] = fmax(off[1], fabs(p.p.A[a + b * p.p.lda] - W[b + a * m]));
    wrong += a % dim == 0 ? p.p.fric_of[a] >= 0
                          : p.p.fric_of[a] != a - a % dim || p.p.mu[a] != mu[a / dim];
  }
  below(off[0], 1e-13, "%s, dimension %d, %s: q = w + H' M^-1 f", kind, dim, how);
  below(off[1], 1e-13, "%s, dimension %d, %s: W = H' M^-1 H", kind, dim, how);
  ok(wrong == 0, "%s, dimension %d, %s: normals and friction", kind, dim, how);
  perp_lcp_problem_free(&p);
  unlink(name);
}

/* A matrix of 2 x 2 in columns, the first of which ends far beyond its one number. */
static void beyond(void)
{
  char name[] = "/tmp/perp-fclib-XXXXXX.hdf5";
  const int fd = mkstemps(name, 5), two = 2, nz = -1, one = 1, p[3] = { 0, 1 << 30, 1 }, i = 0;
  const double x = 1, q[2] = { 0 };
  if (fd < 0) bail("mkstemps");
  close(fd);
  hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t local = H5Gcreate2(file, "/fclib_local", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t v = H5Gcreate2(local, "vectors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t W = H5Gcreate2(local, "W", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  put(local, "spacedim", false, 1, &two);
  put(W, "m", false, 1, &two);
  put(W, "n", false, 1, &two);
  put(W, "nz", false, 1, &nz);
  put(W, "nzmax", false, 1, &one);
  put(W, "p", false, 3, p);
  put(W, "i", false, 1, &i);
  put(W, "x", true, 1, &x);
  put(v, "q", true, 2, q);
  put(v, "mu", true, 1, &x);
  H5Gclose(W), H5Gclose(v), H5Gclose(local), H5Fclose(file);
  perp_lcp_problem problem;
  ok(perp_lcp_read(&ctx, name, &problem) != PERP_OK && strstr(ctx.msg, "p is not ascending"),
     "a column beyond all entries is refused: %s", ctx.msg);
  unlink(name);
}

int main(void)
{
  static const int storages[] = { -1, -2, TRIPLETS };
  perp_ctx_init(&ctx);
  for (int dim = 2; dim <= 3; dim++)
    for (int global = 0; global < 2; global++)
      for (int k = 0; k < 3; k++) check(dim, global, storages[k]);
  beyond();
  return tap_done();
}
