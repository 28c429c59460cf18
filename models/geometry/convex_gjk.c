/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nearest point of A - B to the origin by descent over simplices (Gilbert, Johnson, Keerthi 1988).
 *
 * The nearest point of a simplex is looked for on all of its faces, each by the normal equations of
 * its affine hull, and of those with barycentric coordinates >= 0 the nearest one is taken: 15
 * small systems, which fail one by one where a simplex is flat, instead of one rule that fails as a
 * whole (what Montanari, Petrinic and Barbieri 2017 mend).  On curved bodies the method converges
 * linearly at best: as soon as it is near, Newton's method ends it. */
#include "models/geometry/convex.h"

#include <string.h>

enum { GJK_STEPS = 200, AGAIN = 12 };
static const double TOUCHING =
    1e-11; /* of the size: no direction can be read from so short a vector */
static const double NEAR =
    5e-2; /* part of the distance that is open where Newton's method is tried */

typedef struct simplex {
  int n;
  perp_convex_vertex v[4];
  double m[4]; /* barycentric coordinates of the nearest point */
} simplex;

/* nearest point of the affine hull of k points to the origin, k <= 4: coordinates m, or false */
static bool gjk_affine(int k, const double *const w[4], double m[4])
{
  double e[3][3], G[3][3], r[3];
  if (k == 1) {
    m[0] = 1;
    return true;
  }
  for (int i = 1; i < k; i++) perp_sub(w[i], w[0], e[i - 1]);
  for (int i = 0; i < k - 1; i++) {
    r[i] = -perp_dot(3, e[i], w[0]);
    for (int j = 0; j < k - 1; j++) G[i][j] = perp_dot(3, e[i], e[j]);
  }
  for (int p = 0; p < k - 1; p++) { /* Cholesky without roots */
    if (!(G[p][p] > 1e-28 * perp_dot(3, e[p], e[p]))) return false;
    for (int i = p + 1; i < k - 1; i++) {
      const double f = G[i][p] / G[p][p];
      for (int j = p + 1; j < k - 1; j++) G[i][j] -= f * G[p][j];
      r[i] -= f * r[p];
    }
  }
  m[0] = 1;
  for (int p = k - 2; p >= 0; p--) {
    double x = r[p];
    for (int j = p + 1; j < k - 1; j++) x -= G[p][j] * m[j + 1];
    m[p + 1] = x / G[p][p];
    m[0] -= m[p + 1];
  }
  return true;
}

/* The nearest point v of all faces that is nearer than *best; returns the face, 0 for none. */
static int gjk_faces(const simplex *s, double *best, double coordinates[4], double v[3])
{
  int chosen = 0;
  for (int mask = 1; mask < 1 << s->n; mask++) {
    const double *w[4];
    double m[4] = { 0 }, x[3] = { 0 };
    int k = 0;
    bool inside = true;
    for (int i = 0; i < s->n; i++)
      if (mask >> i & 1) w[k++] = s->v[i].w;
    if (!gjk_affine(k, w, m)) continue;
    for (int i = 0; i < k; i++) {
      inside = inside && m[i] >= 0;
      perp_along(x, m[i], w[i], x);
    }
    const double d2 = perp_dot(3, x, x);
    if (!inside || !(d2 < *best)) continue;
    *best = d2;
    chosen = mask;
    memcpy(coordinates, m, sizeof m);
    memcpy(v, x, sizeof x);
  }
  return chosen;
}

/* The same of the faces that the last vertex is a corner of, from one table of products. */
static int gjk_last(const simplex *s, double *best, double coordinates[4], double v[3])
{
  const int others = s->n - 1;
  const double *o = s->v[others].w;
  double e[3][3], G[3][3], r[3];
  int chosen = 0;
  for (int i = 0; i < others; i++) {
    perp_sub(s->v[i].w, o, e[i]);
    r[i] = -perp_dot(3, e[i], o);
    for (int j = 0; j <= i; j++) G[i][j] = perp_dot(3, e[i], e[j]);
  }
  for (int mask = 0; mask < 1 << others; mask++) {
    int at[3], k = 0;
    double L[3][3], y[3], m[4] = { 0 }, x[3] = { o[0], o[1], o[2] };
    for (int i = 0; i < others; i++)
      if (mask >> i & 1) at[k++] = i;
    for (int i = 0; i < k; i++) {
      y[i] = r[at[i]];
      for (int j = 0; j <= i; j++) L[i][j] = G[at[i]][at[j]];
    }
    bool inside = true;
    for (int p = 0; p < k && inside; p++) { /* Cholesky without roots */
      inside = L[p][p] > 1e-28 * G[at[p]][at[p]];
      for (int i = p + 1; i < k && inside; i++) {
        const double f = L[i][p] / L[p][p];
        for (int j = p + 1; j <= i; j++) L[i][j] -= f * L[j][p];
        y[i] -= f * y[p];
      }
    }
    double own = 1;
    for (int p = k - 1; p >= 0 && inside; p--) {
      for (int j = p + 1; j < k; j++) y[p] -= L[j][p] * m[j];
      m[p] = y[p] / L[p][p];
      own -= m[p];
      inside = m[p] >= 0;
      perp_along(x, m[p], e[at[p]], x);
    }
    m[k] = own;
    const double d2 = perp_dot(3, x, x);
    if (!inside || !(own >= 0) || !(d2 < *best)) continue;
    *best = d2;
    chosen = mask | 1 << others;
    memcpy(coordinates, m, sizeof m);
    memcpy(v, x, sizeof x);
  }
  return chosen;
}

/* Reduces the simplex to the face on which the nearest point v is; before: its distance without the
 * last vertex, which is a corner of that face unless rounding decides. */
static double gjk_nearest(simplex *s, double before, double v[3])
{
  double best = before * before, coordinates[4] = { 0 };
  int chosen = gjk_last(s, &best, coordinates, v);
  if (chosen == 0) {
    best = HUGE_VAL;
    chosen = gjk_faces(s, &best, coordinates, v);
  }
  int k = 0;
  for (int i = 0; i < s->n; i++)
    if (chosen >> i & 1) {
      s->v[k] = s->v[i];
      s->m[k] = coordinates[k];
      k++;
    }
  s->n = k;
  return sqrt(best);
}

static bool gjk_known(const simplex *s, const double w[3])
{
  for (int i = 0; i < s->n; i++)
    if (memcmp(s->v[i].w, w, sizeof s->v[i].w) == 0) return true;
  return false;
}

/* With the pieces of the simplex, with that of the next vertex too, and, thorough, with any of
 * them; *open: all of them. */
static void gjk_polish(const perp_convex *a, const perp_convex *b, const simplex *s,
                       const perp_convex_vertex *next, double size, bool thorough,
                       perp_convex_best *best, perp_convex_open *open)
{
  open->n = 0;
  for (int i = 0; i < s->n; i++) open->v[open->n++] = s->v[i];
  open->v[open->n++] = *next;
  if (perp_convex_polish_quick(a, b, s->n, open->v, size, best) ||
      perp_convex_polish_quick(a, b, open->n, open->v, size, best))
    return;
  if (thorough) perp_convex_polish(a, b, open->n, open->v, size, best);
}

bool perp_convex_gjk(const perp_convex *a, const perp_convex *b, double size, double enough,
                     perp_convex_best *best, perp_convex_open *around)
{
  simplex s = { .n = 1 };
  double v[3] = { 0 }, shortest = HUGE_VAL, len = HUGE_VAL;
  perp_convex_vertex next;
  int tries = 0, idle = 0;
  perp_convex_vertex_at(a, b, best->d, &s.v[0]);
  for (int k = 0; k < GJK_STEPS; k++) {
    len = gjk_nearest(&s, len, v);
    if (s.n == 4 || !(len > TOUCHING * size)) return false;
    const double d[3] = { -v[0] / len, -v[1] / len, -v[2] / len };
    perp_convex_vertex_at(a, b, d, &next);
    const double h = perp_dot(3, d, next.w);
    if (h < best->h) { *best = perp_convex_candidate(d, h); }
    if (-best->h > enough) return true;
    /* -h <= distance <= len */
    const double open = len + h;
    idle = len < shortest * (1 - 1e-12) ? 0 : idle + 1;
    shortest = fmin(shortest, len);
    const bool ends = gjk_known(&s, next.w) || open <= 1e-15 * size || idle > 3;
    const bool again = k % AGAIN == AGAIN - 1, thorough = again && !ends && k > AGAIN;
    if (ends || again || open <= NEAR * len * (tries == 0 ? 1 : tries == 1 ? 1e-2 : 1e-4)) {
      perp_convex_best convex_best = perp_convex_candidate(d, h);
      gjk_polish(a, b, &s, &next, size, thorough, &convex_best, around);
      tries++;
      if (convex_best.h < best->h ||
          (convex_best.off < best->off && convex_best.h <= best->h + 1e-15 * size))
        *best = convex_best;
      if (best->exact && best->h < 0) return true;
    }
    if (ends) break;
    s.v[s.n++] = next;
  }
  return best->h < 0;
}
