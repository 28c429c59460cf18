/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States of bodies as BVH files: read back, each end site is where the centre of mass was, and each
 * joint turned as its body.  States are drawn at random, on the joints or off them. */
#include "experiments/import/motion_write.h"
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/geometry/kinematics.h"
#include "models/scenes/scene.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 7 };
static perp_ctx ctx;
static perp_rng *rng;

/* Place and orientation of each node, parents first. */
static void world(const perp_bvh *bvh, int frame, double (*x)[3], double (*q)[4])
{
  for (int j = 0; j < bvh->n; j++) {
    const int up = bvh->joint[j].parent;
    double quat[4], place[3], R[9], arm[3];
    perp_bvh_pose(bvh, j, frame, quat, place);
    memcpy(x[j], place, sizeof place);
    memcpy(q[j], quat, sizeof quat);
    if (up < 0) continue;
    perp_quat_matrix(q[up], R);
    perp_turn(3, R, place, arm);
    for (int c = 0; c < 3; c++) x[j][c] = x[up][c] + arm[c];
    perp_quat_product(q[up], quat, q[j]);
  }
}

static void recorded(const char *name, bool smooth)
{
  perp_spec spec;
  perp_scene scene;
  perp_bvh out, back;
  perp_diag diag = { 0 };
  perp_text text = { 0 };
  double x[PERP_BVH_JOINTS][3], turn[PERP_BVH_JOINTS][4], place = 0, angle = 0;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, name, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s: %s", name, ctx.msg);
  perp_spec_free(&spec);
  const perp_model *model = scene.model;
  if (model == NULL) bail("%s has no bodies", name);
  const int nq = perp_model_nq(model), bodies = perp_model_bodies(model),
            dim = perp_model_dim(model), nqb = dim == 3 ? 7 : 3;
  double *q = calloc((size_t)(FRAMES * nq), sizeof *q);
  for (int k = 0; k < FRAMES; k++)
    for (int b = 0; b < bodies; b++) {
      double *to = q + k * nq + nqb * b;
      memcpy(to, perp_model_q0(model) + nqb * b, (size_t)nqb * sizeof *to);
      if (smooth && k == 0) continue;
      for (int c = 0; c < nqb; c++) to[c] += perp_rng_uniform(rng, -1, 1);
      if (dim == 3) perp_quat_unit(to + 3);
    }
  if (!perp_motion_write(&diag, model, FRAMES, 0.01, q, &out)) bail("%s", diag.text.s);
  perp_bvh_write(&out, &text);
  if (!perp_bvh_read(&diag, name, text.s, text.n, &back)) bail("%s", diag.text.s);
  int seen = 0;
  for (int k = 0; k < FRAMES; k++) {
    world(&back, k, x, turn);
    for (int j = 0; j < back.n; j++) {
      if (!back.joint[j].end) continue;
      /* by the name of its joint: that of a body, or bodyN */
      const char *name_of = back.joint[j].name;
      size_t length = strlen(name_of);
      int b = 0, more = 0; /* "ball__" is the third "ball" */
      char number[40];
      for (; length > 0 && name_of[length - 1] == '_'; length--) more++;
      for (; b < bodies; b++) {
        const char *is = perp_model_body(model, b)->name;
        snprintf(number, sizeof number, "body%d", b);
        if (is == NULL || is[0] == '\0') is = number;
        if (strlen(is) == length && strncmp(is, name_of, length) == 0 && more-- == 0) break;
      }
      if (b == bodies) bail("%s: no body %s", name, back.joint[j].name);
      seen++;
      const double *at = q + k * nq + nqb * b,
                   is[3] = { at[0], dim == 3 ? at[1] : 0, dim == 3 ? at[2] : at[1] },
                   plane[4] = { cos(at[2] / 2), 0, -sin(at[2] / 2), 0 };
      for (int c = 0; c < 3; c++) place = fmax(place, fabs(x[j][c] / 100 - is[c]));
      double off[3];
      perp_quat_difference(dim == 3 ? at + 3 : plane, turn[back.joint[j].parent], off);
      angle = fmax(angle, sqrt(perp_dot(3, off, off)));
    }
  }
  ok(seen == FRAMES * bodies, "%s: each of %d bodies has its place", name, bodies);
  below(place, 1e-12, "%s: centres of mass read back (%.1e m)", name, place);
  below(angle, 1e-7, "%s: orientations read back (%.1e rad)", name, angle);
  perp_bvh_free(&out);
  perp_bvh_free(&back);
  perp_text_free(&text);
  free(q);
  perp_scene_destroy(&scene);
}

static void series(const char *text, int every, const char *message)
{
  perp_diag diag = { 0 };
  double time = 0, *q = NULL;
  int n = 0;
  const bool good = perp_motion_series(&diag, "s.csv", text, 2, every, &n, &time, &q);
  if (message == NULL)
    ok(good && n == 3 && fabs(time - 0.5 * every) < 1e-12 && q[0] == 1 && q[1] == 7 &&
           q[5] == 4 + every,
       "a series of three frames, every %d", every);
  else if (!ok(!good && diag.errors == 1 && strstr(diag.text.s, message) != NULL, "refused: %s",
               message))
    printf("# %s\n", diag.text.s != NULL ? diag.text.s : "read");
  if (good) free(q);
  perp_diag_free(&diag);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  perp_scene_files_register(&ctx);
  rng = perp_rng_create(7);
  static const char *const scenes[] = { "chain", "four-bar",  "cradle",   "pyramid",
                                        "stack", "free-body", "carousel", "sarrus",
                                        "weld",  "bricard",   "pendulum" };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) recorded(scenes[i], i % 2 == 0);
  series("t[s],a,q1,q0\n0,nan,7,1\n0.5,,5,3\n1,1,5,4\n", 1, NULL);
  series("t[s],q0,q1\n0,1,7\n.5,0,0\n1,0,0\n1.5,0,0\n2,0,6\n", 2, NULL);
  series("t[s],q0,q1\n0,1,7\n0.5,0,0\n1,0,5\n1.2,0,0\n", 1, NULL);
  series("t[s],q0\n0,1\n1,2\n", 1, "the series has 1 of the 2 coordinates");
  series("t[s],q0,q1,q2\n0,1,1,1\n", 1, "the scene has only 2");
  series("x,q0,q1\n0,1,1\n", 1, "the first column must be the time");
  series("t[s],q0,q1\n0,1,1\n1,nan,1\n", 1, "no finite number");
  series("t[s],q0,q1\n0,1,1\n1,1\n", 1, "the row has 1 of 2 coordinates");
  series("t[s],q0,q1\n0,1,1\n1,1,1\n3,1,1\n4,1,1\n", 1, "must be equally apart");
  series("t[s],q0,q1\n0,1,1\n", 1, "two frames or more are needed");
  perp_rng_destroy(rng);
  return tap_done();
}
