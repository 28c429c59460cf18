/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The least h(d) over the sphere for bodies that overlap: their penetration depth.
 *
 * h has a minimum in every basin around a face, an edge or a curved part of A - B.  A polytope in A
 * - B with the origin in it bounds all of them from below by the distance of its nearest face; the
 * support point along the normal of that face is added, and the polytope grows where the depth may
 * be (van den Bergen 2001).  The polytope finds the basins, a descent (convex_descend.c) their
 * lowest points.  It grows until no face is below the least h so far by more than TOLERANCE of the
 * size and, as the basins of bodies that hardly overlap differ by parts of it, OF_LEAST of the
 * least h; or to SMOOTH vertices.  Then a descent starts from each face that still is below it:
 * from the SURE lowest ones in any case, from others where the straight way to the nearest lowest
 * point rises.  That is a proof but for basins narrower than the last faces.  At most BASINS
 * descents that lead no lower.  Directions of flat faces are asked first.
 *
 * What sees a vertex is decided by rounding where faces are almost flat to each other.  Only faces
 * that are joined to the one that is expanded give way, and only where their rim is one loop: the
 * polytope stays one. */
#include "models/geometry/convex.h"

#include <string.h>

enum { SMOOTH = 200, VERTICES = 2400, FACES = 2 * VERTICES, BASINS = 128, PARTS = 4 };
enum { SURE = 24, EDGES = 64, AROUND = 8 };
static const double COSINE[AROUND] = { 1, M_SQRT1_2, 0, -M_SQRT1_2, -1, -M_SQRT1_2, 0, M_SQRT1_2 };
static const double TOLERANCE = 2e-4, OF_LEAST = 1e-2, FINEST = 1e-10;
static const double BESIDE = 0.02;      /* of the size: a start near the least h */
static const double BESIDE_BEST = 0.99; /* cosine: a start so near that only a way up tells more */
static const double FLAT = 1e-13;       /* of the size, and */
static const double LAST = 1e-15;       /* of both bodies: rounding of a face */
static const double CREST = 1.1, WIDE = 0.3; /* of the turn to a crest; rad */
static const double WAY = 0.9; /* cosine: a lowest point farther away is another basin's */

typedef struct expand_face {
  int v[3];
  double n[3], off; /* outward; a face without area: off is infinite */
  bool done;        /* nothing lies beyond it */
} expand_face;

typedef struct expansion {
  const perp_convex *a, *b;
  double size, rounding, flat; /* flat: rounding of a face */
  int n_vertices, n_faces, n_basins;
  bool many;
  perp_convex_vertex v[VERTICES];
  expand_face face[FACES + 8];
  perp_convex_best basin[BASINS]; /* lowest points that have been found */
  perp_convex_best *best;
  perp_convex_open *open;
} expansion;

static void expand_face_set(expansion *x, int i, int j, int k)
{
  expand_face *face = &x->face[x->n_faces++];
  double e[3], g[3];
  *face = (expand_face){ .v = { i, j, k }, .off = HUGE_VAL };
  perp_sub(x->v[j].w, x->v[i].w, e);
  perp_sub(x->v[k].w, x->v[i].w, g);
  perp_cross(e, g, face->n);
  const double len = perp_norm(face->n);
  if (!(len > 1e-14 * perp_norm(e) * perp_norm(g)) || len == 0) {
    face->done = true;
    return;
  }
  for (int c = 0; c < 3; c++) face->n[c] /= len;
  face->off = (perp_dot(3, face->n, x->v[i].w) + perp_dot(3, face->n, x->v[j].w) +
               perp_dot(3, face->n, x->v[k].w)) /
              3;
}

/* normals of the faces of a hull, outward from a */
static void expand_flats(expansion *x, const perp_convex *convex, double sign)
{
  if (convex->kind != PERP_CONVEX_HULL) return;
  for (int f = 0; f < convex->hull->n_faces; f++) {
    double d[3];
    perp_turn(3, convex->R, convex->hull->n + 3 * f, d);
    for (int i = 0; i < 3; i++) d[i] *= sign;
    perp_convex_ask(x->a, x->b, d, 0, x->best);
  }
}

static int expand_extreme(expansion *x, const double d[3])
{
  perp_convex_vertex_at(x->a, x->b, d, &x->v[x->n_vertices]);
  return x->n_vertices++;
}

/* of the support points along d and -d the one that is farther from o along d */
static void expand_either(expansion *x, const double o[3], const double d[3])
{
  const double back[3] = { -d[0], -d[1], -d[2] };
  perp_convex_vertex vertex[2];
  double r[3], far[2];
  for (int side = 0; side < 2; side++) {
    perp_convex_vertex_at(x->a, x->b, side == 0 ? d : back, &vertex[side]);
    perp_sub(vertex[side].w, o, r);
    far[side] = fabs(perp_dot(3, d, r));
  }
  x->v[x->n_vertices++] = vertex[far[1] > far[0]];
}

/* A tetrahedron; A - B has a volume as one of them has. */
static bool expand_start(expansion *x)
{
  double d[3] = { x->best->d[0], x->best->d[1], x->best->d[2] }, e[3], m[3], r[3], least[3] = { 0 };
  const double back[3] = { -d[0], -d[1], -d[2] };
  expand_extreme(x, d);
  expand_extreme(x, back);
  perp_sub(x->v[1].w, x->v[0].w, e);
  const int small = fabs(e[0]) < fabs(e[1]) ? (fabs(e[0]) < fabs(e[2]) ? 0 : 2)
                                            : (fabs(e[1]) < fabs(e[2]) ? 1 : 2);
  least[small] = 1;
  perp_cross(e, least, m);
  if (!(perp_norm(m) > 0)) return false;
  expand_either(x, x->v[0].w, m);
  perp_sub(x->v[2].w, x->v[0].w, r);
  perp_cross(e, r, m);
  if (!(perp_norm(m) > 0)) return false;
  expand_either(x, x->v[0].w, m);
  perp_sub(x->v[3].w, x->v[0].w, r);
  const bool up = perp_dot(3, m, r) > 0;
  const int p = up ? 1 : 2, q = up ? 2 : 1; /* outward on the side away from vertex 3 */
  expand_face_set(x, 0, q, p);
  expand_face_set(x, 0, p, 3);
  expand_face_set(x, p, q, 3);
  expand_face_set(x, q, 0, 3);
  return true;
}

/* Do the faces share an edge? */
static bool expand_beside(const expand_face *f, const expand_face *g)
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      if (f->v[i] == g->v[(j + 1) % 3] && f->v[(i + 1) % 3] == g->v[j]) return true;
  return false;
}

/* Faces around `from`, which sees the vertex `at`, that see it too: their number, first of `seen`.
 */
static int expand_visible(const expansion *x, int at, int from, int *seen)
{
  int n = 1, all = 1;
  seen[0] = from;
  for (int f = 0; f < x->n_faces; f++) {
    const expand_face *face = &x->face[f];
    if (f != from && isfinite(face->off) && perp_dot(3, face->n, x->v[at].w) > face->off + x->flat)
      seen[all++] = f;
  }
  for (int k = 0; k < n; k++)
    for (int l = n; l < all; l++) {
      const int f = seen[l];
      if (!expand_beside(&x->face[seen[k]], &x->face[f])) continue;
      seen[l] = seen[n];
      seen[n++] = f;
    }
  return n;
}

/* the edges around faces, one after the other; 0: they are no single loop */
static int expand_rim(const expansion *x, int n, const int *seen, int rim[][2])
{
  int n_rim = 0;
  for (int s = 0; s < n; s++)
    for (int k = 0; k < 3; k++) {
      const int *v = x->face[seen[s]].v, i = v[k], j = v[(k + 1) % 3];
      int twice = 0;
      while (twice < n_rim && !(rim[twice][0] == j && rim[twice][1] == i)) twice++;
      if (twice < n_rim) {
        n_rim--;
        rim[twice][0] = rim[n_rim][0], rim[twice][1] = rim[n_rim][1];
      } else {
        rim[n_rim][0] = i, rim[n_rim][1] = j;
        n_rim++;
      }
    }
  for (int k = 0; k + 1 < n_rim; k++) {
    int next = k + 1;
    while (next < n_rim && rim[next][0] != rim[k][1]) next++;
    if (next == n_rim) return 0;
    const int edge[2] = { rim[next][0], rim[next][1] };
    memcpy(rim[next], rim[k + 1], sizeof edge);
    memcpy(rim[k + 1], edge, sizeof edge);
  }
  return rim[n_rim - 1][1] == rim[0][0] ? n_rim : 0;
}

/* The vertex `at` joins: the faces around `from` that see it give way to a cone over their rim.
 * False: rounding leaves no such rim, or there is no room. */
static bool expand_add(expansion *x, int at, int from)
{
  int seen[FACES + 8], rim[3 * (FACES + 8)][2];
  const int n = expand_visible(x, at, from, seen), n_rim = expand_rim(x, n, seen, rim);
  if (n_rim == 0 || x->n_faces - n + n_rim > FACES + 8) return false;
  for (int s = 0; s < n; s++) x->face[seen[s]].v[0] = -1;
  int kept = 0;
  for (int f = 0; f < x->n_faces; f++)
    if (x->face[f].v[0] >= 0) x->face[kept++] = x->face[f];
  x->n_faces = kept;
  for (int r = 0; r < n_rim; r++) expand_face_set(x, rim[r][0], rim[r][1], at);
  return true;
}

/* Vertices so dense that their facets are no basins: the inner polytope is expanded until its
 * nearest face is one. */
static bool expand_many(const perp_convex *convex)
{
  return convex->kind == PERP_CONVEX_HULL && convex->hull->n_vertices > PERP_HULL_SMALL;
}

/* Does the way from d, where h is h, lead down to a lowest point that has been found? */
static bool expand_seen(const expansion *x, const double d[3], double h)
{
  const perp_convex_best *best = NULL;
  double nearest = WAY;
  for (int i = 0; i < x->n_basins; i++) {
    const double c = perp_dot(3, x->basin[i].d, d);
    if (c > nearest) nearest = c, best = &x->basin[i];
  }
  if (best == NULL) return false;
  for (int k = 1; k <= PARTS; k++) {
    const double part = (double)k / PARTS;
    double e[3];
    for (int i = 0; i < 3; i++) e[i] = d[i] + part * (best->d[i] - d[i]);
    const double len = perp_norm(e);
    for (int i = 0; i < 3; i++) e[i] /= len;
    const double next = k == PARTS ? best->h : perp_convex_gap(x->a, x->b, e);
    if (next > h) return false;
    h = next;
  }
  return true;
}

/* the lowest point of the basin of a direction, with n vertices around it */
static void expand_descend(expansion *x, const double d[3], int n, const perp_convex_vertex *vertex,
                           bool ends)
{
  perp_convex_open open;
  perp_convex_best best = perp_convex_candidate(d, HUGE_VAL);
  open.n = perp_convex_descend(x->a, x->b, n, vertex, ends, &best, open.v);
  if (x->n_basins < BASINS) x->basin[x->n_basins++] = best;
  if (!(best.h < x->best->h)) return;
  const perp_convex_best before = *x->best;
  *x->best = best;
  if (perp_convex_on_end(x->a, x->b, x->best) ||
      perp_convex_polish_quick(x->a, x->b, open.n, open.v, x->size, x->best))
    return;
  if (before.exact && x->best->h > before.h - x->rounding)
    *x->best = before; /* lower by rounding, and without points */
  else
    *x->open = open;
}

/* a face below the least h so far, with the support point along its normal */
static void expand_look(expansion *x, const expand_face *face, const perp_convex_vertex *next,
                        double h, bool sure)
{
  if (x->many) { /* its facets are no basins */
    perp_convex_vertex vertex[4] = { x->v[face->v[0]], x->v[face->v[1]], x->v[face->v[2]], *next };
    perp_convex_best best = perp_convex_candidate(face->n, h);
    perp_convex_polish(x->a, x->b, 4, vertex, x->size, &best);
    if (best.h < x->best->h - x->flat ||
        (best.exact && !x->best->exact && best.h <= x->best->h + 1e-15 * x->size))
      *x->best = best;
    return;
  }
  const bool near = perp_dot(3, face->n, x->best->d) > BESIDE_BEST;
  if (!(h < x->best->h) &&
      (x->n_basins == BASINS || ((!sure || near) && expand_seen(x, face->n, h))))
    return;
  perp_convex_vertex vertex[3] = { x->v[face->v[0]], x->v[face->v[1]], x->v[face->v[2]] };
  expand_descend(x, face->n, 3, vertex, !sure);
}

/* From d, where h is within `slack` of the least one. */
static void expand_from(expansion *x, const double d[3], double slack)
{
  const double h = perp_convex_gap(x->a, x->b, d);
  if (h < x->best->h + slack && !expand_seen(x, d, h)) expand_descend(x, d, 0, NULL, false);
}

/* From between the two faces at each edge of a hull: beside a round body whose own support function
 * is flat along a circle, h has a basin where that crosses the directions square to an edge. */
static void expand_edges(expansion *x, const perp_convex *convex, double sign, double slack)
{
  if (convex->kind != PERP_CONVEX_HULL || convex->hull->n_edges > EDGES) return;
  for (int e = 0; e < convex->hull->n_edges; e++) {
    const int *face = convex->hull->edge + 4 * e + 2;
    double m[3], d[3];
    for (int i = 0; i < 3; i++)
      m[i] = convex->hull->n[3 * face[0] + i] + convex->hull->n[3 * face[1] + i];
    if (perp_norm(m) < 1e-9) /* of a flat hull: outward in its plane */
      perp_cross(convex->hull->dir + 3 * e, convex->hull->n + 3 * face[0], m);
    perp_turn(3, convex->R, m, d);
    const double len = perp_norm(d);
    for (int i = 0; i < 3; i++) d[i] *= sign / len;
    expand_from(x, d, slack);
  }
}

/* From normals of the side of a cylinder or a cone, all around: h has a valley along them, which is
 * narrow around a flat cone. */
static void expand_sides(expansion *x, const perp_convex *convex, double sign, double slack)
{
  if (convex->kind != PERP_CONVEX_CYLINDER && convex->kind != PERP_CONVEX_CONE) return;
  const double high = convex->top + convex->bottom,
               up = convex->kind == PERP_CONVEX_CONE ? convex->rim : 0, len = hypot(up, high);
  for (int k = 0; k < AROUND; k++) {
    const double out = sign * high / len;
    double d[3];
    for (int i = 0; i < 3; i++)
      d[i] = sign * up / len * convex->u[i] +
             out * (COSINE[k] * convex->across[0][i] +
                    COSINE[(k + 6) % AROUND] * convex->across[1][i]);
    expand_from(x, d, slack);
  }
}

/* From beyond the crest beside a flat end.  With s, how far the deepest point of the other body is
 * within the rim, h rises from the normal of the end by s t - h t^2 / 2 along the turn t with the
 * least slope: the next basin may be as near as s / h. */
static void expand_crests(expansion *x, const perp_convex *of, double sign, double slack)
{
  if (of->kind != PERP_CONVEX_CYLINDER && of->kind != PERP_CONVEX_CONE) return;
  for (int side = -1; side <= 1; side += 2) {
    double d[3], o[3], r[3];
    for (int i = 0; i < 3; i++) d[i] = sign * side * of->u[i];
    perp_convex_best end = perp_convex_candidate(d, perp_convex_gap(x->a, x->b, d));
    if (!(end.h < x->best->h + slack) || !perp_convex_on_end(x->a, x->b, &end)) continue;
    perp_along(of->c, side > 0 ? of->top : -of->bottom, of->u, o);
    perp_sub(sign > 0 ? end.a : end.b, o, r);
    const double len = perp_norm(r), turn = CREST * (of->rim - len) / end.h;
    if (!(len > 0) || !(turn < WIDE)) continue;
    perp_along(d, sign * turn / len, r, d);
    const double norm = perp_norm(d);
    for (int i = 0; i < 3; i++) d[i] /= norm;
    expand_descend(x, d, 0, NULL, false);
  }
}

/* The faces that are still below the least h: those first along whose normals h is least. */
static void expand_rest(expansion *x)
{
  double h[FACES + 8];
  for (int f = 0; f < x->n_faces; f++)
    h[f] = x->face[f].off < x->best->h ? perp_convex_gap(x->a, x->b, x->face[f].n) : HUGE_VAL;
  const double *last = NULL;
  int tries = 0, open = 0;
  for (int f = 0; f < x->n_faces; f++) open += h[f] < HUGE_VAL;
  /* few faces: starts near the least h only */
  const double slack = open > SURE ? HUGE_VAL : open > 0 ? BESIDE * x->size : -HUGE_VAL;
  expand_edges(x, x->a, 1, slack);
  expand_edges(x, x->b, -1, slack);
  expand_sides(x, x->a, 1, slack);
  expand_sides(x, x->b, -1, slack);
  for (int k = 0; k < x->n_faces; k++) {
    int low = 0;
    for (int f = 1; f < x->n_faces; f++)
      if (h[f] < h[low]) low = f;
    if (!(h[low] < HUGE_VAL)) return;
    perp_convex_vertex next;
    const expand_face *face = &x->face[low];
    /* faces of one flat part have one normal */
    if (face->off < x->best->h && (last == NULL || perp_dot(3, last, face->n) < 1 - 1e-12)) {
      perp_convex_vertex_at(x->a, x->b, face->n, &next);
      expand_look(x, face, &next, h[low], tries++ < SURE);
      last = face->n;
    }
    h[low] = HUGE_VAL;
  }
}

/* how far below the least h a face may be */
static double expand_tolerance(const expansion *x)
{
  if (x->many) return 10 * x->flat;
  return fmin(TOLERANCE * x->size, fmax(OF_LEAST * x->best->h, FINEST * x->size));
}

void perp_convex_expand(const perp_convex *a, const perp_convex *b, double size,
                        perp_convex_best *best, perp_convex_open *open)
{
  expansion x;
  x.a = a, x.b = b, x.size = size, x.best = best, x.open = open;
  x.rounding = LAST * (a->size + b->size + perp_norm(b->c));
  x.flat = fmax(FLAT * size, x.rounding);
  x.n_vertices = x.n_faces = x.n_basins = 0;
  x.many = expand_many(a) || expand_many(b);
  if (!perp_convex_on_end(a, b, best)) expand_descend(&x, best->d, 0, NULL, true);
  if (perp_convex_inscribed(a, b, best)) return;
  const double start = best->h;
  expand_flats(&x, a, 1);
  expand_flats(&x, b, -1);
  perp_convex_ends(a, b, 0, best);
  if (best->h < start && !perp_convex_on_end(a, b, best))
    expand_descend(&x, best->d, 0, NULL, true);
  if (perp_convex_inscribed(a, b, best)) return;
  expand_crests(&x, a, 1, BESIDE * size);
  expand_crests(&x, b, -1, BESIDE * size);
  if (!expand_start(&x)) return;
  while (x.n_vertices < (x.many ? VERTICES : SMOOTH)) {
    int low = -1;
    for (int f = 0; f < x.n_faces; f++)
      if (!x.face[f].done && (low < 0 || x.face[f].off < x.face[low].off)) low = f;
    if (low < 0 || x.face[low].off >= best->h - expand_tolerance(&x)) break;
    expand_face *face = &x.face[low];
    const double d[3] = { face->n[0], face->n[1], face->n[2] };
    const int at = expand_extreme(&x, d);
    const double h = perp_dot(3, d, x.v[at].w);
    if (h < best->h || (!x.many && h - face->off < 0.05 * size))
      expand_look(&x, face, &x.v[at], h, false);
    if (!(h > face->off + 10 * x.flat) || !expand_add(&x, at, low)) {
      face->done = true;
      x.n_vertices--;
    }
  }
  expand_rest(&x);
}
