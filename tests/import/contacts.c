/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of an imported file against MuJoCo itself: the friction of every pair of surfaces,
 * whatever their condim and priority, and where a height field is. */
#include "experiments/import/robot.h"
#include "experiments/scenes/scene_file.h"
#include "models/collision/collision.h"
#include "models/models.h"
#include "models/multibody/model_private.h"
#include "tests/tap.h"

#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    const double x = perp_rng_uniform(rng, -2, 2), y = perp_rng_uniform(rng, -2, 2);
    const double from[3] = { x, y, 4 };
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

/* ---- who touches whom ---- */

enum { BODIES = 6, GEOMS = 2 };

/* Free bodies at one place, of one or two balls, with random bits and excludes. */
static void write_robot(const char *path, perp_rng *rng, int variant)
{
  FILE *f = fopen(path, "w");
  if (f == NULL) bail("%s", path);
  fputs("<mujoco><worldbody><geom name='g' size='.2'/>\n", f);
  for (int b = 0; b < BODIES; b++) {
    fprintf(f, "<body name='b%d' pos='.0%d 0 0'><freejoint/>", b, b);
    for (int g = 0; g < GEOMS - (b + variant) % 2; g++) {
      const int type = variant % 3 == 0 ? 1 : (int)perp_rng_uniform(rng, 0, 3.99),
                affinity = variant % 3 == 0 ? 1 : (int)perp_rng_uniform(rng, 0, 3.99);
      fprintf(f, "<geom name='g%d_%d' size='.2' pos='0 .0%d 0' contype='%d' conaffinity='%d'/>", b,
              g, g, type, affinity);
    }
    fputs("</body>\n", f);
  }
  fputs("</worldbody><contact>", f);
  for (int a = -1; a < BODIES; a++)
    for (int b = a + 1; b < BODIES; b++) {
      char name[20] = "world";
      if (a >= 0) snprintf(name, sizeof name, "b%d", a);
      if (perp_rng_uniform(rng, 0, 1) < 0.3)
        fprintf(f, "<exclude body1='%s' body2='b%d'/>", name, b);
    }
  fputs("</contact></mujoco>\n", f);
  fclose(f);
}

/* Pairs of geoms in contact, by MuJoCo's numbers. */
static int pairs_of_perp(const perp_model *model, const mjModel *m, bool *pair)
{
  perp_collision *collision;
  const perp_contact *contact;
  perp_pose pose[BODIES + 1] = { { .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } } };
  int n, geom[1 + BODIES * GEOMS], found = 0;
  for (int i = 0; i < perp_model_bodies(model); i++)
    perp_pose_of(3, perp_model_q0(model) + 7 * i, &pose[i + 1]);
  for (int i = 0; i < perp_model_shapes(model); i++)
    geom[i] = mj_name2id(m, mjOBJ_GEOM, model->shape_def[i].name);
  if (perp_collision_create(&ctx, model, 0, &collision) != PERP_OK ||
      perp_collision_find(&ctx, collision, pose + 1, &contact, &n) != PERP_OK)
    bail("%s", ctx.msg);
  for (int i = 0; i < n; i++) {
    const int a = geom[contact[i].shape[0]], b = geom[contact[i].shape[1]];
    found += !pair[a * m->ngeom + b];
    pair[a * m->ngeom + b] = pair[b * m->ngeom + a] = true;
  }
  perp_collision_destroy(collision);
  return found;
}

static void test_pairs_of(const char *path, int variant, int *most, int *by_pairs)
{
  char message[1000] = "";
  perp_robot_report report = { 0 };
  perp_spec spec;
  perp_scene scene;
  int lost = 0, missing = 0, n = 0;
  perp_robot_convert(path, NULL, &report);
  for (const char *s = report.said.s; s != NULL && (s = strstr(s, "do not collide")) != NULL; s++)
    lost++;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, path, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  mjModel *m = mj_loadXML(path, NULL, message, sizeof message);
  if (m == NULL) bail("%s", message);
  mjData *d = mj_makeData(m);
  mj_forward(m, d);
  bool got[400] = { false }, want[400] = { false };
  const int found = pairs_of_perp(scene.model, m, got);
  for (int c = 0; c < d->ncon; c++) {
    const int a = d->contact[c].geom1, b = d->contact[c].geom2;
    n += !want[a * m->ngeom + b];
    want[a * m->ngeom + b] = want[b * m->ngeom + a] = true;
    missing += !got[a * m->ngeom + b];
  }
  ok(missing == 0 && found == n + lost, "variant %d: %d pairs touch in MuJoCo, %d here, %d lost",
     variant, n, found, lost);
  *most += lost;
  *by_pairs += report.scene.n > 0 && strstr(report.scene.s, "no_contact:\n  - [") != NULL;
  mj_deleteData(d);
  mj_deleteModel(m);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  perp_text *const texts[] = { &report.scene, &report.said, &report.files,
                               &report.error, &report.hint, &report.file };
  for (int i = 0; i < 6; i++) perp_text_free(texts[i]);
}

static void test_pairs(void)
{
  perp_rng *rng = perp_rng_create(11);
  int most = 0, by_pairs = 0;
  for (int variant = 0; variant < 20; variant++) {
    char path[] = "/tmp/perp-pairs-XXXXXX.xml";
    const int fd = mkstemps(path, 4);
    if (fd < 0) bail("%s", path);
    close(fd);
    write_robot(path, rng, variant);
    test_pairs_of(path, variant, &most, &by_pairs);
    unlink(path);
  }
  ok(by_pairs > 10, "%d of 20 name pairs of bodies; %d pairs of shapes are lost", by_pairs, most);
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
  test_pairs();
  mj_deleteData(d);
  mj_deleteModel(m);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  return tap_done();
}
