/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Robots in URDF and SDF against what libmujoco reads of them, or of the same robot in MJCF:
 * masses, centres and inertias of all bodies at the start to 1e-9, and where their centres are
 * after 0.5 s of falling, both by Runge-Kutta, to 1e-8. */
#include "experiments/scenes/scene_file.h"
#include "models/multibody/model_private.h"
#include "tests/run_model.h"

#include <mujoco/mujoco.h>
#include <string.h>

static perp_ctx ctx;

static const char *path_of(const char *file)
{
  static char path[1000];
  const char *source = getenv("PERP_SOURCE");
  if (file[0] == '/') return file;
  snprintf(path, sizeof path, "%s/tests/import/models/robots/%s", source != NULL ? source : ".",
           file);
  return path;
}

/* What moves with body r of MuJoCo: mass, centre in the world, inertia about it along world axes.
 */
static double mujoco_body(const mjModel *m, const mjData *d, int r, double com[3], double I[9])
{
  double mass = 0;
  memset(com, 0, 3 * sizeof *com);
  memset(I, 0, 9 * sizeof *I);
  for (int b = 1; b < m->nbody; b++)
    if (m->body_weldid[b] == r) {
      mass += m->body_mass[b];
      for (int i = 0; i < 3; i++) com[i] += m->body_mass[b] * d->xipos[3 * b + i];
    }
  for (int i = 0; i < 3; i++) com[i] /= mass;
  for (int b = 1; b < m->nbody; b++) {
    if (m->body_weldid[b] != r) continue;
    const double *R = d->ximat + 9 * b, *x = d->xipos + 3 * b;
    double s[3], s2 = 0;
    for (int i = 0; i < 3; i++) s[i] = x[i] - com[i], s2 += s[i] * s[i];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        for (int k = 0; k < 3; k++)
          I[3 * i + j] += R[3 * i + k] * m->body_inertia[3 * b + k] * R[3 * j + k];
        I[3 * i + j] += m->body_mass[b] * ((i == j ? s2 : 0) - s[i] * s[j]);
      }
  }
  return mass;
}

/* Inertia of body i of perp along world axes, at q0. */
static void perp_body(const perp_model *model, int i, double I[9])
{
  const perp_body_def *def = perp_model_body(model, i);
  const double *q = perp_model_q0(model) + 7 * i;
  double R[9];
  mju_quat2Mat(R, q + 3);
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      I[3 * a + b] = 0;
      for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++)
          I[3 * a + b] += R[3 * a + k] * def->mass.inertia[k + 3 * l] * R[3 * b + l];
    }
}

/* Both begin elsewhere, in motion: as published, robots are at rest in a special pose. */
static void set_moving(perp_model *p, const mjModel *m, mjData *d, const int *body)
{
  const size_t nv = (size_t)m->nv;
  double *u = calloc(7 * nv + 1, sizeof *u), *jp = u + nv, *jr = u + 4 * nv;
  perp_rng *rng = perp_rng_create(1);
  for (size_t i = 0; i < nv; i++) u[i] = perp_rng_uniform(rng, -0.2, 0.2);
  mj_integratePos(m, d->qpos, u, 1);
  for (size_t i = 0; i < nv; i++) d->qvel[i] = perp_rng_uniform(rng, -1, 1);
  mj_forward(m, d);
  for (int i = 0; i < perp_model_bodies(p); i++) {
    const int b = body[i];
    double com[3], I[9], w[3] = { 0 }, *v = p->v0 + 6 * i;
    mujoco_body(m, d, b, com, I);
    mj_jac(m, d, jp, jr, com, b);
    memcpy(p->q0 + 7 * i, com, sizeof com);
    memcpy(p->q0 + 7 * i + 3, d->xquat + 4 * b, 4 * sizeof(double));
    for (int k = 0; k < 3; k++) {
      v[k] = 0;
      for (size_t j = 0; j < nv; j++) {
        v[k] += jp[(size_t)k * nv + j] * d->qvel[j];
        w[k] += jr[(size_t)k * nv + j] * d->qvel[j];
      }
    }
    mju_rotVecMatT(v + 3, w, d->xmat + 9 * b);
  }
  perp_rng_destroy(rng);
  free(u);
}

/* How the files are compared: bodies at the start, where they are after 0.5 s, or both of a robot
 * as its authors published it: without limits, a medium, and what MuJoCo has as soft constraints.
 */
typedef enum pair_part { START, FALLS, PUBLISHED } pair_part;

static void test_pair(const char *file, const char *other, pair_part part)
{
  char message[1000] = "", why[300] = "";
  perp_spec spec;
  perp_scene scene;
  mjModel *m = mj_loadXML(path_of(other), NULL, message, sizeof message);
  if (m == NULL) bail("%s: %s", other, message);
  mjData *d = mj_makeData(m);
  if (perp_spec_parse(&ctx, PERP_KIND_scene, path_of(file), &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK) {
    ok(false, "%s: %s", file, ctx.msg);
    return;
  }
  perp_model *p = scene.model;
  const int n = perp_model_bodies(p);
  const double *q0 = perp_model_q0(p);
  double mass = 0, place = 0, inertia = 0;
  int moving = 0, *body = calloc((size_t)n + 1, sizeof *body);
  m->opt.disableflags |= mjDSBL_CONTACT | mjDSBL_LIMIT;
  if (part == PUBLISHED) {
    m->opt.density = m->opt.viscosity = 0;
    m->opt.disableflags |= mjDSBL_EQUALITY | mjDSBL_FRICTIONLOSS;
  }
  mj_forward(m, d);
  for (int b = 1; b < m->nbody; b++) moving += m->body_weldid[b] == b;
  for (int i = 0; i < n; i++) {
    const char *name = perp_model_body(p, i)->name;
    double com[3], want[9], got[9], size = 0;
    body[i] = mj_name2id(m, mjOBJ_BODY, name);
    if (body[i] < 0 && sscanf(name, "body %9d", &body[i]) == 1 && body[i] >= m->nbody) body[i] = -1;
    if (body[i] < 0 || m->body_weldid[body[i]] != body[i]) {
      snprintf(why, sizeof why, "no body %s", name);
      continue;
    }
    const double own = mujoco_body(m, d, body[i], com, want);
    perp_body(p, i, got);
    mass = fmax(mass, fabs(perp_model_body(p, i)->mass.mass - own) / own);
    for (int k = 0; k < 3; k++) place = fmax(place, fabs(q0[7 * i + k] - com[k]));
    for (int k = 0; k < 9; k++) size = fmax(size, fabs(want[k]));
    for (int k = 0; k < 9; k++) inertia = fmax(inertia, fabs(got[k] - want[k]) / size);
  }
  ok(n == moving && why[0] == '\0', "%s: %d bodies move, %d in %s %s", file, n, moving, other, why);
  below(mass, 1e-9, "%s: masses are those of %s: %.1e", file, other, mass);
  below(place, 1e-9, "%s: centres of mass too: %.1e m", file, place);
  below(inertia, 1e-9, "%s: and inertias: %.1e", file, inertia);
  if (part != START && why[0] == '\0') {
    double *q = calloc(7 * (size_t)n + 1, sizeof *q), off = 0, moved = 0;
    const double h = 2.5e-4;
    if (part == PUBLISHED) set_moving(p, m, d, body);
    const run_parts parts = { "acceleration", "rk4", "schur-dense", "", "", "" };
    const perp_reason reason = run_fresh(&ctx, p, parts, h, 0.5, q, NULL);
    m->opt.integrator = mjINT_RK4;
    m->opt.timestep = h;
    for (int s = 0; s < 2000; s++) mj_step(m, d);
    mj_forward(m, d);
    for (int i = 0; i < n; i++) {
      double com[3], I[9];
      mujoco_body(m, d, body[i], com, I);
      for (int k = 0; k < 3; k++) {
        off = fmax(off, fabs(q[7 * i + k] - com[k]));
        moved = fmax(moved, fabs(q[7 * i + k] - q0[7 * i + k]));
      }
    }
    ok(reason >= 0 && moved > 1e-3, "%s: moves by %.3g m in 0.5 s", file, moved);
    below(off, 1e-8, "%s: as %s does: %.1e m", file, other, off);
    free(q);
  }
  free(body);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  mj_deleteData(d);
  mj_deleteModel(m);
}

/* FILE OTHER [start | published]: this pair alone. */
int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (perp_scene_files_register(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (argc >= 3) {
    char one[4096], two[4096];
    if (realpath(argv[1], one) == NULL || realpath(argv[2], two) == NULL) bail("no such file");
    test_pair(one, two, argc == 3 ? FALLS : strcmp(argv[3], "published") == 0 ? PUBLISHED : START);
    return tap_done();
  }
  static const struct {
    const char *name, *formats;
    bool falls;
  } robots[] = {
    { "hinges", "us", true },   { "slides", "us", true }, { "fixed", "us", true },
    { "branches", "us", true }, { "damped", "us", true }, { "expressed", "s", true },
    { "floating", "u", true },  { "free", "s", true },    { "planar", "u", true },
    { "massless", "u", true },  { "ball", "s", true },    { "universal", "s", true },
    { "revolute2", "s", true }, { "springs", "s", true }, { "world", "w", true },
    { "frames", "s", true },    { "nested", "s", true },  { "include", "s", true },
  };
  for (size_t i = 0; i < sizeof robots / sizeof *robots; i++)
    for (const char *f = robots[i].formats; *f != '\0'; f++) {
      char file[100], other[100];
      snprintf(file, sizeof file, "%s.%s", robots[i].name,
               *f == 'u'   ? "urdf"
               : *f == 's' ? "sdf"
                           : "world");
      snprintf(other, sizeof other, "%s.xml", robots[i].name);
      test_pair(file, other, robots[i].falls ? FALLS : START);
    }
  test_pair("any-order.urdf", "branches.xml", FALLS);
  test_pair("expressed-1.4.sdf", "expressed.xml", FALLS);
  test_pair("expressed-1.6.sdf", "expressed.xml", FALLS);
  test_pair("arm/model.config", "arm/arm.xml", FALLS);
  /* what libmujoco reads itself */
  static const char *const own[] = { "plain0.urdf", "plain1.urdf", "plain2.urdf" };
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) test_pair(own[i], own[i], FALLS);
  return tap_done();
}
