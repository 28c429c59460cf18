/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a body lies against another one, and where two such patches lie over each other.
 *
 * A contact of flat or straight features is told by several points.  A disc has no corners:
 * PERP_PATCH_RIM points of its rim that turn with the body stand for it, so that a body at rest
 * keeps its points from step to step. */
#include "models/geometry/convex.h"

#include <string.h>

/* identities of corners that are no vertices of a hull; those of the rim: 0 ... PERP_PATCH_RIM - 1,
 * of the lower disc FAR more */
enum { ID_FAR = 32, ID_END = 64, ID_RIM = 66 };

/* of the points of the rim; their sines are those of a quarter of it before */
static const double COSINE[PERP_PATCH_RIM] = {
  1,  0.92387953251128674,  0.70710678118654757,  0.38268343236508984,
  0,  -0.38268343236508984, -0.70710678118654757, -0.92387953251128674,
  -1, -0.92387953251128674, -0.70710678118654757, -0.38268343236508984,
  0,  0.38268343236508984,  0.70710678118654757,  0.92387953251128674
};

static void patch_add(perp_patch *patch, const double x[3], int id)
{
  memcpy(patch->p[patch->n], x, sizeof patch->p[0]);
  patch->id[patch->n++] = id;
}

static void patch_rim(const perp_convex *convex, double along, const double e[3], int id,
                      perp_patch *patch)
{
  double x[3];
  perp_along(convex->c, along, convex->u, x);
  perp_along(x, convex->rim, e, x);
  patch_add(patch, x, id);
}

/* a side of the meridian from (top, first) to (bottom, second), at most `small` off square to d */
static void patch_side(const perp_convex *convex, const double d[3], perp_patch *patch)
{
  double e[3], x[3];
  perp_convex_outward(convex, d, e);
  if (convex->kind == PERP_CONVEX_CYLINDER) {
    patch_rim(convex, convex->top, e, ID_END, patch);
  } else {
    perp_along(convex->c, convex->top, convex->u, x);
    patch_add(patch, x, ID_END);
  }
  patch_rim(convex, -convex->bottom, e, ID_END + 1, patch);
}

static void patch_hull(const perp_convex *convex, const double d[3], double small,
                       perp_patch *patch)
{
  const perp_hull *hull = convex->hull;
  double m[3], s[3], best = -2, least = small;
  int face = 0, edge = -1;
  perp_turn_back(3, convex->R, d, m);
  for (int f = 0; f < hull->n_faces; f++) {
    const double x = perp_dot(3, hull->n + 3 * f, m);
    if (x > best + 1e-12) best = x, face = f;
  }
  perp_turn(3, convex->R, hull->n + 3 * face, patch->n_flat);
  const int corners = hull->start[face + 1] - hull->start[face];
  double sine[3];
  perp_cross(hull->n + 3 * face, m, sine);
  if (best > 0 && perp_norm(sine) <= small && corners <= PERP_PATCH_CORNERS) {
    for (int k = hull->start[face]; k < hull->start[face + 1]; k++) {
      perp_turn(3, convex->R, hull->v + 3 * hull->loop[k], s);
      for (int i = 0; i < 3; i++) s[i] += convex->x[i];
      patch_add(patch, s, hull->loop[k]);
    }
    return;
  }
  const int top = perp_convex_support(convex, d, s);
  for (int e = 0; e < hull->n_edges; e++) {
    if (hull->edge[4 * e] != top && hull->edge[4 * e + 1] != top) continue;
    const double *u = hull->dir + 3 * e, x = fabs(perp_dot(3, u, m)) / perp_norm(u);
    if (x <= least) least = x, edge = e;
  }
  if (edge < 0) {
    patch_add(patch, s, top);
    return;
  }
  for (int k = 0; k < 2; k++) {
    perp_turn(3, convex->R, hull->v + 3 * hull->edge[4 * edge + k], s);
    for (int i = 0; i < 3; i++) s[i] += convex->x[i];
    patch_add(patch, s, hull->edge[4 * edge + k]);
  }
}

void perp_convex_patch(const perp_convex *convex, const double d[3], double small,
                       perp_patch *patch)
{
  double s[3], cross[3];
  const double du = perp_dot(3, d, convex->u);
  patch->n = 0;
  memcpy(patch->n_flat, d, sizeof patch->n_flat);
  if (convex->kind == PERP_CONVEX_HULL) {
    patch_hull(convex, d, small, patch);
    return;
  }
  if (convex->kind == PERP_CONVEX_SEGMENT && fabs(du) <= small) {
    for (int end = 0; end < 2; end++) {
      perp_along(convex->c, end == 0 ? convex->top : -convex->bottom, convex->u, s);
      patch_add(patch, s, ID_END + end);
    }
    return;
  }
  if (convex->kind == PERP_CONVEX_CYLINDER || convex->kind == PERP_CONVEX_CONE) {
    const bool cone = convex->kind == PERP_CONVEX_CONE;
    const double high = convex->top + convex->bottom;
    perp_cross(d, convex->u, cross);
    const double off = perp_norm(cross); /* sine of the angle to the axis */
    if (off <= small && (!cone || du < 0)) {
      const double side = du > 0 ? 1 : -1;
      double o[3];
      perp_along(convex->c, side > 0 ? convex->top : -convex->bottom, convex->u, o);
      for (int i = 0; i < 3; i++) patch->n_flat[i] = side * convex->u[i];
      for (int k = 0; k < PERP_PATCH_RIM; k++) {
        double x[3]; /* counter-clockwise about the normal */
        perp_along(o, convex->rim * COSINE[k], convex->across[0], x);
        perp_along(x, side * convex->rim * COSINE[(k + 12) % PERP_PATCH_RIM], convex->across[1], x);
        patch_add(patch, x, k + (side > 0 ? 0 : ID_FAR));
      }
      return;
    }
    /* the ends of a side differ in height by less than `small` of its length */
    const double step = cone ? high * du - convex->rim * off : high * du;
    if (fabs(step) <= small * (cone ? hypot(high, convex->rim) : high)) {
      patch_side(convex, d, patch);
      return;
    }
  }
  const int piece = perp_convex_support(convex, d, s);
  patch_add(patch, s, ID_RIM + piece);
}

/* ---- two patches ---- */

/* A corner of the polygon being clipped.  `out`: the side that leaves it, k: of the incident patch,
 * -1 - k: of the reference. */
typedef struct patch_corner {
  double p[3];
  int corner, out; /* corner of the incident patch, or -1 */
} patch_corner;

enum { RING = 2 * PERP_PATCH_CORNERS + 2 };

static int patch_cut(int n, const patch_corner *in, const double m[3], const double o[3], int side,
                     double tolerance, bool closed, patch_corner *out)
{
  double s[RING];
  int count = 0;
  for (int k = 0; k < n; k++) {
    double r[3];
    perp_sub(in[k].p, o, r);
    s[k] = perp_dot(3, m, r);
  }
  for (int k = 0; k < n; k++) {
    const int l = k + 1 < n ? k + 1 : 0;
    const bool inside = s[k] <= tolerance, stays = s[l] <= tolerance;
    if (inside) {
      out[count] = in[k];
      if (!stays && s[k] > -tolerance) out[count].out = -1 - side;
      count++;
    }
    if (!closed && k + 1 == n) continue; /* a segment has one side */
    if (inside == stays || (inside ? s[k] : s[l]) > -tolerance) continue;
    const double t = s[k] / (s[k] - s[l]);
    for (int i = 0; i < 3; i++) out[count].p[i] = in[k].p[i] + t * (in[l].p[i] - in[k].p[i]);
    out[count].corner = -1;
    out[count].out = inside ? -1 - side : in[k].out;
    if (!closed) out[count].out = -1 - side;
    count++;
  }
  return count;
}

/* names of a corner: of the reference and of the incident patch, as in perp_patch_point */
static void patch_name(const perp_patch *ref, const perp_patch *inc, const patch_corner *before,
                       const patch_corner *corner, int *of_ref, int *of_inc)
{
  *of_ref = *of_inc = -1;
  if (corner->corner >= 0) {
    *of_inc = inc->id[corner->corner];
    return;
  }
  if (inc->n > 2 && before->out < 0 &&
      corner->out < 0) { /* where two sides of the reference meet */
    *of_ref = ref->id[-1 - corner->out];
    return;
  }
  const int side = corner->out < 0 ? -1 - corner->out : -1 - before->out;
  const int own = inc->n == 2 ? 0 : corner->out < 0 ? before->out : corner->out;
  *of_ref = -2 - ref->id[side];
  *of_inc = -2 - inc->id[own < 0 ? 0 : own];
}

/* Points of inc over the flat patch ref. */
static int patch_over(const perp_patch *ref, const perp_patch *inc, double tolerance, bool ref_is_a,
                      perp_patch_point *out)
{
  patch_corner ring[2][RING], *now = ring[0];
  int n = inc->n, count = 0;
  for (int k = 0; k < n; k++) {
    memcpy(now[k].p, inc->p[k], sizeof now[k].p);
    now[k].corner = now[k].out = k;
  }
  for (int k = 0; k < ref->n && n > 0; k++) {
    double u[3], m[3];
    perp_sub(ref->p[k + 1 < ref->n ? k + 1 : 0], ref->p[k], u);
    perp_cross(u, ref->n_flat, m);
    const double len = perp_norm(m);
    if (!(len > 0)) continue;
    for (int i = 0; i < 3; i++) m[i] /= len;
    patch_corner *next = now == ring[0] ? ring[1] : ring[0];
    n = patch_cut(n, now, m, ref->p[k], k, tolerance, inc->n > 2, next);
    now = next;
  }
  for (int k = 0; k < n && count < 2 * PERP_PATCH_CORNERS; k++) {
    perp_patch_point *point = &out[count++];
    double r[3];
    perp_sub(now[k].p, ref->p[0], r);
    point->gap = perp_dot(3, r, ref->n_flat);
    memcpy(ref_is_a ? point->pb : point->pa, now[k].p, sizeof point->pa);
    perp_along(now[k].p, -point->gap, ref->n_flat, ref_is_a ? point->pa : point->pb);
    patch_name(ref, inc, &now[k > 0 ? k - 1 : n - 1], &now[k], ref_is_a ? &point->ia : &point->ib,
               ref_is_a ? &point->ib : &point->ia);
  }
  return count;
}

/* ends of the stretch where two segments lie beside each other, looked at along n; or where they
 * cross */
static int patch_segments(const perp_patch *a, const perp_patch *b, const double n[3],
                          perp_patch_point *out)
{
  double u[3], w[3], uf[3], wf[3], d[3], c[3];
  int count = 0;
  perp_sub(a->p[1], a->p[0], u);
  perp_sub(b->p[1], b->p[0], w);
  perp_sub(b->p[0], a->p[0], d);
  perp_along(u, -perp_dot(3, u, n), n, uf);
  perp_along(w, -perp_dot(3, w, n), n, wf);
  perp_cross(uf, wf, c);
  const double uu = perp_dot(3, uf, uf), ww = perp_dot(3, wf, wf);
  if (perp_norm(c) > 0.03 * sqrt(uu * ww)) return 0;
  for (int k = 0; k < 4; k++) {
    perp_patch_point *point = &out[count];
    const int end = k & 1;
    if (k < 2) { /* an end of b beside a */
      double r[3];
      perp_sub(b->p[end], a->p[0], r);
      const double s = perp_dot(3, r, uf) / uu;
      if (!(s >= 0 && s <= 1)) continue;
      memcpy(point->pb, b->p[end], sizeof point->pb);
      perp_along(a->p[0], s, u, point->pa);
      point->ia = -1, point->ib = b->id[end];
    } else {
      double r[3];
      perp_sub(a->p[end], b->p[0], r);
      const double s = perp_dot(3, r, wf) / ww;
      if (!(s > 0 && s < 1)) continue;
      memcpy(point->pa, a->p[end], sizeof point->pa);
      perp_along(b->p[0], s, w, point->pb);
      point->ia = a->id[end], point->ib = -1;
    }
    double r[3];
    perp_sub(point->pb, point->pa, r);
    point->gap = perp_dot(3, r, n);
    count++;
  }
  return count;
}

/* Does the flat patch of a lead?  The one that points more along n. */
static bool patch_leads(const perp_patch *a, const perp_patch *b, const double n[3])
{
  if (a->n > 2 && b->n > 2) return perp_dot(3, a->n_flat, n) >= -perp_dot(3, b->n_flat, n) - 1e-6;
  return a->n > 2;
}

void perp_patch_normal(const perp_patch *a, const perp_patch *b, const double n[3], double m[3])
{
  const bool of_a = patch_leads(a, b, n);
  const perp_patch *ref = of_a ? a : b;
  for (int i = 0; i < 3; i++) m[i] = ref->n < 3 ? n[i] : of_a ? ref->n_flat[i] : -ref->n_flat[i];
}

int perp_patch_meet(const perp_patch *a, const perp_patch *b, const double n[3], double tolerance,
                    perp_patch_point *out)
{
  if (a->n < 2 || b->n < 2) return 0;
  if (a->n == 2 && b->n == 2) return patch_segments(a, b, n, out);
  return patch_leads(a, b, n) ? patch_over(a, b, tolerance, true, out)
                              : patch_over(b, a, tolerance, false, out);
}
