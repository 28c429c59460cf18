/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distances and normals against libccd (GJK, MPR and EPA on support functions), random poses in
 * space: whether shapes overlap; shapes apart overlap once one is grown by the distance + 1e-5,
 * and not at - 1e-5; shapes that overlap are parted by the depth + 1e-5 along the normal, and not
 * at - 1e-5; and of boxes and polytopes the penetration depth to 1e-5.
 *
 * Argument: number of poses of each pair of kinds (default 300). */
#include "models/collision/pairs.h"
#include "tests/tap.h"

#include <ccd/ccd.h>
#include <string.h>

static perp_ctx ctx;
static perp_rng *rng;

static const double NEAR = 1e-5;

/* what libccd sees: support of a shape at a pose, from the definition alone */
typedef struct body {
  const perp_shape_def *def;
  perp_pose pose;
  double grown; /* by a ball of this radius */
} body;

static void support(const void *object, const ccd_vec3_t *dir, ccd_vec3_t *out)
{
  const body *b = object;
  const perp_shape_def *def = b->def;
  double d[3], x[3] = { 0 }, w[3], len = 0;
  perp_turn_back(3, b->pose.R, dir->v, d);
  len = perp_norm(d);
  switch (def->kind) {
  case PERP_SHAPE_SPHERE:
  case PERP_SHAPE_CAPSULE:
    for (int k = 0; k < 3; k++) x[k] = def->radius * d[k] / len;
    if (def->kind == PERP_SHAPE_CAPSULE) x[0] += copysign(0.5 * def->length, d[0]);
    break;
  case PERP_SHAPE_BOX:
    for (int k = 0; k < 3; k++) x[k] = copysign(def->half[k], d[k]);
    break;
  case PERP_SHAPE_ELLIPSOID:
    for (int k = 0; k < 3; k++) w[k] = def->half[k] * d[k];
    len = perp_norm(w);
    for (int k = 0; k < 3; k++) x[k] = def->half[k] * w[k] / len;
    break;
  default:
    len = -HUGE_VAL;
    for (int i = 0; i < def->n_vertices; i++) {
      double along = perp_dot(3, d, def->vertices + 3 * i);
      if (along <= len) continue;
      len = along;
      memcpy(x, def->vertices + 3 * i, sizeof x);
    }
  }
  perp_place(&b->pose, x, out->v);
  if (b->grown > 0) perp_along(out->v, b->grown / perp_norm(dir->v), dir->v, out->v);
}

static void centre(const void *object, ccd_vec3_t *out)
{
  const body *b = object;
  memcpy(out->v, b->pose.x, sizeof out->v);
}

/* b moved along n, or grown */
static bool overlap(const body *a, body b, const double n[3], double shift, double grown,
                    const ccd_t *ccd)
{
  for (int k = 0; k < 3; k++) b.pose.x[k] += shift * n[k];
  b.grown = grown;
  return ccdMPRIntersect(a, &b, ccd) != 0; /* GJK errs on round shapes that graze */
}

static perp_shape_def random_shape(perp_shape_kind kind, double v[30])
{
  perp_shape_def def = { .kind = kind, .radius = perp_rng_uniform(rng, 0.2, 1) };
  def.length = perp_rng_uniform(rng, 0.2, 2);
  for (int k = 0; k < 3; k++) def.half[k] = perp_rng_uniform(rng, 0.2, 1);
  for (int i = 0; i < 10; i++) {
    double u[3];
    for (int k = 0; k < 3; k++) u[k] = perp_rng_normal(rng);
    double len = perp_norm(u);
    for (int k = 0; k < 3; k++) v[3 * i + k] = u[k] / len;
  }
  /* the centre, which libccd starts from, is inside whatever the rest */
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 3; k++)
      v[3 * i + k] = ((const double[4][3]){
                         { 1, 1, 1 }, { 1, -1, -1 }, { -1, 1, -1 }, { -1, -1, 1 } })[i][k] /
                     sqrt(3);
  def.vertices = v;
  def.n_vertices = 10;
  return def;
}

static const char *const name[] = { "sphere", "capsule", "box", "polytope", "plane", "ellipsoid" };

static void run_pair(perp_shape_kind ka, perp_shape_kind kb, int poses)
{
  const bool flat = ka >= PERP_SHAPE_BOX && kb >= PERP_SHAPE_BOX && ka <= PERP_SHAPE_POLYTOPE &&
                    kb <= PERP_SHAPE_POLYTOPE;
  int overlaps = 0, sign = 0, apart = 0, depths = 0;
  double depth_error = 0;
  ccd_t ccd;
  CCD_INIT(&ccd);
  ccd.support1 = ccd.support2 = support;
  ccd.center1 = ccd.center2 = centre;
  ccd.max_iterations = 1000;
  ccd.epa_tolerance = 1e-8;
  ccd.mpr_tolerance = 1e-9;
  for (int i = 0; i < poses; i++) {
    double va[30], vb[30], n[3];
    perp_shape_def def[2] = { random_shape(ka, va), random_shape(kb, vb) };
    perp_model *m = NULL;
    body b[2] = { 0 };
    if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
    for (int k = 0; k < 2; k++) {
      perp_body_def mass = { .mass = perp_mass_sphere(1, 1) };
      if (perp_model_add_body(&ctx, m, &mass, &def[k].body) != PERP_OK ||
          perp_model_add_shape(&ctx, m, &def[k], NULL) != PERP_OK)
        bail("%s", ctx.msg);
    }
    if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
    for (int k = 0; k < 2; k++) {
      double q[7];
      for (int l = 0; l < 7; l++) q[l] = perp_rng_normal(rng);
      for (int l = 0; l < 3; l++) q[l] *= 0.5 * m->shape[k].bound;
      b[k].def = &def[k];
      perp_pose_of(3, q, &b[k].pose);
    }
    double d = perp_shape_distance(m, 0, &b[0].pose, 1, &b[1].pose, NULL, NULL, n);
    if (fabs(d) > NEAR) sign += (ccdGJKIntersect(&b[0], &b[1], &ccd) != 0) != (d < 0);
    if (d > NEAR)
      apart += overlap(&b[0], b[1], n, 0, d - NEAR, &ccd) ||
               !overlap(&b[0], b[1], n, 0, d + NEAR, &ccd);
    if (d < -NEAR) {
      ccd_real_t depth;
      ccd_vec3_t dir, pos;
      overlaps++;
      /* the way out of the overlap, no longer than needed */
      apart += overlap(&b[0], b[1], n, -d + NEAR, 0, &ccd) ||
               !overlap(&b[0], b[1], n, -d - NEAR, 0, &ccd);
      if (flat && ccdGJKPenetration(&b[0], &b[1], &ccd, &depth, &dir, &pos) == 0) {
        /* its EPA sometimes stops at a depth that does not part them: then it is no witness */
        if (fabs(depth + d) <= NEAR || !overlap(&b[0], b[1], dir.v, depth + NEAR, 0, &ccd)) {
          depths++;
          depth_error = fmax(depth_error, fabs(depth + d));
        }
      }
    }
    perp_model_destroy(m);
  }
  ok(overlaps > poses / 20, "%s-%s: %d of %d overlap", name[ka], name[kb], overlaps, poses);
  ok(sign == 0, "%s-%s: they overlap when libccd says so (%d differ)", name[ka], name[kb], sign);
  ok(apart == 0, "%s-%s: grown by the distance, or moved by the depth, they just touch (%d do not)",
     name[ka], name[kb], apart);
  if (!flat) return;
  ok(depths > 0.9 * overlaps, "%s-%s: %d of %d depths of libccd part the shapes", name[ka],
     name[kb], depths, overlaps);
  below(depth_error, NEAR, "%s-%s: these depths", name[ka], name[kb]);
}

int main(int argc, char **argv)
{
  int poses = argc > 1 ? atoi(argv[1]) : 300;
  perp_ctx_init(&ctx);
  rng = perp_rng_create(11);
  for (int a = PERP_SHAPE_SPHERE; a <= PERP_SHAPE_POLYTOPE; a++)
    for (int b = a; b <= PERP_SHAPE_POLYTOPE; b++)
      run_pair((perp_shape_kind)a, (perp_shape_kind)b, poses);
  run_pair(PERP_SHAPE_SPHERE, PERP_SHAPE_ELLIPSOID, poses);
  perp_rng_destroy(rng);
  return tap_done();
}
