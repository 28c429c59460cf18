/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of fclib files.  Bytes that begin as HDF5 are a file as they are; what they meet first
 * is the HDF5 library.  Other bytes say how to make a sound HDF5 file with wrong content, which is
 * what our reader meets: which objects there are, their sizes, types and numbers.
 *
 * Whatever is accepted passes perp_lcp_check and is finite; whatever is refused says so in one
 * line. */
#include "solvers/lcp/io/io.h"
#include "tests/fuzz/replay.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bytes {
  const uint8_t *at, *end;
};

static int take(struct bytes *b)
{
  return b->at < b->end ? *b->at++ : 0;
}

/* Mostly small and sensible, sometimes extreme. */
static int take_int(struct bytes *b, int sensible)
{
  static const int odd[] = { 0, -1, -2, -3, 1, 2, 3, 4, 9, 1 << 16, 1 << 30, 2147483647 };
  int c = take(b);
  return c < 12 ? odd[c] : sensible;
}

static void put(struct bytes *b, hid_t at, const char *name, bool real, int count, const int *given)
{
  static const double odd[] = { 0, 1, -1, 0.5, 1e308, -1e-308, 2, 3 };
  int kind = take(b), n = count;
  if (kind == 1) return; /* absent */
  if (kind == 2) {       /* a group in its place */
    hid_t g = H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (g >= 0) H5Gclose(g);
    return;
  }
  if (kind == 3) count = take(b);
  if (count < 0 || count > 300) count = 7;
  double x[301];
  int k[301];
  for (int i = 0; i <= count; i++) {
    int c = given == NULL ? take(b) : 0;
    x[i] = c < 8 ? odd[c] : c == 8 ? __builtin_nan("") : c == 9 ? __builtin_inf() : c - 128;
    k[i] = given != NULL ? given[i < n ? i : 0] : c < 200 ? c % 8 : c - 256;
  }
  if (kind == 4) real = !real;
  hid_t type = real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT;
  hid_t text = -1, space;
  hsize_t size = (hsize_t)count;
  if (kind == 5) {
    text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 8);
  }
  space = kind == 6 ? H5Screate(H5S_NULL) : H5Screate_simple(1, &size, NULL);
  hid_t set = H5Dcreate2(at, name, text >= 0 ? text : type, space, H5P_DEFAULT, H5P_DEFAULT,
                         H5P_DEFAULT);
  if (set >= 0) {
    if (count > 0 && text < 0 && kind != 6 && kind != 7)
      H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, real ? (void *)x : (void *)k);
    H5Dclose(set);
  }
  H5Sclose(space);
  if (text >= 0) H5Tclose(text);
}

static void put_int(struct bytes *b, hid_t at, const char *name, int value)
{
  value = take_int(b, value);
  put(b, at, name, false, 1, &value);
}

/* 0 .. n, the pointers of a matrix with `each` entries a column. */
static void put_pointers(struct bytes *b, hid_t at, int n, int each)
{
  int p[301];
  for (int i = 0; i <= n; i++) p[i] = i * each;
  put(b, at, "p", false, n + 1, take(b) < 200 ? p : NULL);
}

static void put_matrix(struct bytes *b, hid_t parent, const char *name, int m, int n)
{
  hid_t g = H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  int nz = take(b) % 3, each = 1 + take(b) % 3, entries = n * each, index[301];
  put_int(b, g, "m", m);
  put_int(b, g, "n", n);
  put_int(b, g, "nz", nz == 0 ? -1 : nz == 1 ? -2 : entries);
  put_int(b, g, "nzmax", entries);
  if (nz == 2)
    put(b, g, "p", false, entries, NULL);
  else
    put_pointers(b, g, nz == 0 ? n : m, each);
  for (int k = 0; k < entries; k++) index[k] = (k / each + k % each) % m;
  put(b, g, "i", false, entries, take(b) < 200 ? index : NULL);
  put(b, g, "x", true, entries, NULL);
  H5Gclose(g);
}

static void make_file(struct bytes *b, const char *path)
{
  hid_t f = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (f < 0) abort();
  bool global = take(b) % 2;
  int dim = 2 + take(b) % 2, nc = 1 + take(b) % 3, m = dim * nc, dof = 1 + take(b) % 4;
  hid_t g = H5Gcreate2(f, global ? "/fclib_global" : "/fclib_local", H5P_DEFAULT, H5P_DEFAULT,
                       H5P_DEFAULT);
  hid_t v = H5Gcreate2(g, "vectors", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  put_int(b, g, "spacedim", dim);
  if (global) {
    put_matrix(b, g, "M", dof, dof);
    put_matrix(b, g, "H", dof, m);
    if (take(b) % 4 == 1) put_matrix(b, g, "G", dof, take(b) % 3);
    put(b, v, "f", true, dof, NULL);
    put(b, v, "w", true, m, NULL);
  } else {
    put_matrix(b, g, "W", m, m);
    put(b, v, "q", true, m, NULL);
  }
  put(b, v, "mu", true, nc, NULL);
  H5Gclose(v);
  H5Gclose(g);
  H5Fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  perp_ctx ctx;
  perp_lcp_problem p;
  bool finite = true;
  char path[300], prefix[310];
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%.250s/perp-fclib-XXXXXX", folder != NULL ? folder : "/tmp");
  int fd = mkstemp(path);
  if (fd < 0) abort();
  snprintf(prefix, sizeof prefix, "%s:", path);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  if (size >= 4 && memcmp(data, "\211HDF", 4) == 0) {
    if (write(fd, data, size) != (ssize_t)size) abort();
  } else {
    struct bytes b = { data, data + size };
    make_file(&b, path);
  }
  perp_ctx_init(&ctx);
  perp_status status = perp_lcp_read(&ctx, path, &p);
  if (status == PERP_OK) {
    if (perp_lcp_check(&ctx, &p.p, &finite) != PERP_OK || !finite) abort();
    perp_lcp_problem_free(&p);
  } else if (strncmp(ctx.msg, prefix, strlen(prefix)) != 0 || strchr(ctx.msg, '\n') != NULL ||
             p.p.n != 0)
    abort();
  close(fd);
  unlink(path);
  return 0;
}

#ifndef PERP_FUZZ
int main(void)
{
  return replay("fclib", 3);
}
#endif
