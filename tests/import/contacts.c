/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of an imported file against MuJoCo itself: the friction of every pair of surfaces,
 * whatever their condim and priority, and where a height field is. */
#include "experiments/scenes/scene_file.h"
#include "models/collision/collision.h"
#include "models/models.h"
#include "models/multibody/model_private.h"
#include "tests/tap.h"

#include <mujoco/mujoco.h>
#include <string.h>

enum { BALLS = 6, RAYS = 200 };
static const double RADIUS = 0.2, LEAST = 1e-5; /* MuJoCo's least coefficient */

static perp_ctx ctx;

static int shape_of(const perp_model *model, const char *name)
{
  for (int i = 0; i < perp_model_shapes(model); i++)
    if (model->shape_def[i].name != NULL && strcmp(model->shape_def[i].name, name) == 0) return i;
  bail("there is no shape %s", name);
}

/* All balls at one place: each touches all others, and what is there. */
static void gather(const mjModel *m, mjData *d, double x, double y, double z)
{
  mj_resetData(m, d);
  for (int b = 0; b < BALLS; b++) {
    double *q = d->qpos + (ptrdiff_t)7 * b;
    q[0] = x + 0.01 * b;
    q[1] = y - 0.02 * b;
    q[2] = z;
  }
  mj_forward(m, d);
}

/* The contacts that MuJoCo finds; seen: pairs of geoms. */
static void test_friction(const perp_model *model, const mjModel *m, mjData *d, bool *seen)
{
  static const int from[3] = { 3, 4, 6 }, place[3] = { 0, 2, 3 };
  double most = 0;
  for (int c = 0; c < d->ncon; c++) {
    const mjContact *x = &d->contact[c];
    const int a = shape_of(model, mj_id2name(m, mjOBJ_GEOM, x->geom1)),
              b = shape_of(model, mj_id2name(m, mjOBJ_GEOM, x->geom2));
    const perp_surface got = perp_surface_pair(model, &model->shape_def[a].surface,
                                               &model->shape_def[b].surface);
    const double is[3] = { got.mu, got.torsion, got.rolling };
    for (int k = 0; k < 3; k++) {
      const double want = x->dim >= from[k] ? x->friction[place[k]] : 0;
      if (!(want == 0 && is[k] == 0) && !(want == LEAST && is[k] <= LEAST))
        most = fmax(most, fabs(is[k] - want));
    }
    seen[x->geom1 * m->ngeom + x->geom2] = true;
  }
  below(most, 1e-15, "sliding, spinning and rolling friction of %d contacts are MuJoCo's", d->ncon);
}

/* The centre of a ball where a ray meets the field: it is a radius deep. */
static void test_field(const perp_model *model, const mjModel *m, mjData *d)
{
  const int hills = shape_of(model, "hills"), ball = shape_of(model, "slick");
  const perp_pose at_world = { .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
  perp_pose pose = at_world;
  perp_rng *rng = perp_rng_create(7);
  double most = 0;
  int hits = 0;
  gather(m, d, 50, 0, 50);
  for (int i = 0; i < RAYS; i++) {
    const double from[3] = { perp_rng_uniform(rng, -2, 2), perp_rng_uniform(rng, -2, 2), 4 };
    const double down[3] = { 0, 0, -1 };
    int geom;
    const double way = mj_ray(m, d, from, down, NULL, 1, -1, &geom);
    if (geom < 0 || strcmp(mj_id2name(m, mjOBJ_GEOM, geom), "hills") != 0) continue;
    for (int k = 0; k < 3; k++) pose.x[k] = from[k] + way * down[k];
    most = fmax(
        most,
        fabs(perp_shape_distance(model, hills, &at_world, ball, &pose, NULL, NULL, NULL) + RADIUS));
    hits++;
  }
  ok(hits > RAYS / 2, "%d rays meet the field", hits);
  below(most, 1e-12, "and perp has its surface there");
  perp_rng_destroy(rng);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  const char *source = getenv("PERP_SOURCE");
  char path[1000], message[1000] = "";
  snprintf(path, sizeof path, "%s/tests/import/models/surfaces.xml", source != NULL ? source : ".");
  perp_spec spec;
  perp_scene scene;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, path, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  mjModel *m = mj_loadXML(path, NULL, message, sizeof message);
  if (m == NULL) bail("%s", message);
  mjData *d = mj_makeData(m);
  bool seen[64] = { false };
  gather(m, d, 0.3, -0.2, 0.6);
  test_friction(scene.model, m, d, seen);
  gather(m, d, 0, 0, -1.9);
  test_friction(scene.model, m, d, seen);
  int pairs = 0;
  for (int i = 0; i < 64; i++) pairs += seen[i];
  ok(m->ngeom == BALLS + 2 && pairs == BALLS * (BALLS - 1) / 2 + 2 * BALLS,
     "all %d pairs of surfaces have touched", pairs);
  test_field(scene.model, m, d);
  mj_deleteData(d);
  mj_deleteModel(m);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  return tap_done();
}
