/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friction of pairs: blocks that slide on the ground have v = v0 - mu g t with the mu of their
 * pair, by the rule of the scene or by the pair itself; a ball rebounds with the restitution of its
 * pair. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/tap.h"
#include "experiments/base/files.h"

#include <string.h>
#include <unistd.h>

static perp_ctx ctx;
static char folder[] = "/tmp/perp-surfaces-XXXXXX";

/* Blocks of mu 0.16 and, the third one, of 0.64 on a ground of 0.36: geometric means 0.24 and 0.48.
 */
static const char scene[] =
    "schema: perp-scene/1\n"
    "scene: { t_end: 0.1 s, h: 1 ms, size: 0.2 m, friction: %s }\n"
    "materials:\n"
    "  ground: { mu: 0.36 }\n"
    "  wood: { mu: 0.16 }\n"
    "  rubber: { mu: 0.64 }\n"
    "  steel: { mu: 0.16 }\n"
    "%s"
    "bodies:\n"
    "  - { mass: 1, x: [0, 0, 0.1], v: [2, 0, 0], shape: { kind: box, size: [0.2, 0.2, 0.2], "
    "material: wood } }\n"
    "  - { mass: 1, x: [0, 1, 0.1], v: [2, 0, 0], shape: { kind: box, size: [0.2, 0.2, 0.2], "
    "material: steel } }\n"
    "  - { mass: 1, x: [0, 2, 0.1], v: [2, 0, 0], shape: { kind: box, size: [0.2, 0.2, 0.2], "
    "material: rubber } }\n"
    "shapes:\n"
    "  - { body: world, kind: plane, material: ground }\n";

static perp_sim *sim;
static perp_scene built;
static perp_spec spec;

static void put(const char *name, const char *text)
{
  if (perp_write_file(&ctx, name, text, strlen(text)) != PERP_OK) bail("%s", ctx.msg);
}

static const double *run(const char *name, double t_end)
{
  const perp_parts parts = { 0 };
  perp_step_info info;
  double t;
  const double *q, *v;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, name, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &built) != PERP_OK ||
      perp_sim_create(&ctx, built.model, &parts, built.h, &sim) != PERP_OK)
    bail("%s", ctx.msg);
  do {
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
  } while (t < t_end);
  return v;
}

static void end(void)
{
  perp_sim_destroy(sim);
  perp_scene_destroy(&built);
  perp_spec_free(&spec);
}

static void slides(const char *rule, const char *pairs, double wood, double steel, double rubber)
{
  const double mu[] = { wood, steel, rubber };
  static const char *const names[] = { "wood", "steel", "rubber" };
  /* what was read once is not read again */
  char *text = perp_xprintf(scene, rule, pairs),
       *file = perp_xprintf("%s%zu.yaml", rule, strlen(pairs));
  put(file, text);
  const double *v = run(file, 0.1);
  unlink(file);
  for (int i = 0; i < 3; i++) {
    const double exact = 2 - mu[i] * 9.81 * 0.1;
    ok(fabs(v[6 * i] - exact) < 1e-9, "%s%s: %s slides with mu = %g: %.12g and %.12g m/s", rule,
       pairs[0] != '\0' ? " and pairs" : "", names[i], mu[i], v[6 * i], exact);
  }
  end();
  free(text);
  free(file);
}

/* A drop from rest onto the ground: up again with e v. */
static void bounces(void)
{
  put("bounce.yaml", "schema: perp-scene/1\n"
                     "scene: { t_end: 1 s, h: 1 ms, dim: 2, gravity: 0, size: 0.2 m }\n"
                     "materials: { glass: { restitution: 0.2 }, lead: { restitution: 0.9 } }\n"
                     "pairs: [{ a: lead, b: glass, restitution: 0.5 }]\n"
                     "bodies:\n"
                     "  - { mass: 1, x: [0, 0.2], v: [0, -1], shape: { kind: sphere, radius: 0.1, "
                     "material: glass } }\n"
                     "shapes:\n  - { body: world, kind: plane, material: lead }\n");
  const double *v = run("bounce.yaml", 0.5);
  ok(fabs(v[1] - 0.5) < 1e-9, "a ball rebounds with the restitution of its pair: %.12g m/s", v[1]);
  end();
}

static void refused(void)
{
  static const struct {
    const char *pairs, *place, *what;
  } bads[] = {
    { "pairs: [{ a: wood, b: ston, mu: 1 }]\n", ":8:23", "unknown material 'ston'" },
    { "pairs: [{ a: wood, mu: 1 }]\n", ":8:9", "'b' is missing" },
    { "pairs: [{ a: wood, b: steel, mu: -1 }]\n", ":8:9", "0 <= mu_dynamic <= mu" },
    { "pairs: [{ a: wood, b: steel, mu_dynamic: 0.1 }]\n", ":8:9", "needs mu as well" },
    { "pairs: [{ a: wood, b: steel, restitution: 2 }]\n", ":8:9", "restitution must be in [0, 1]" },
    { "pairs:\n  - { a: wood, b: steel, mu: 1 }\n  - { a: steel, b: wood, mu: 1 }\n", ":10:5",
      "is defined twice" },
  };
  for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
    perp_diag diag = { 0 };
    char *text = perp_xprintf(scene, "mean", bads[i].pairs);
    const bool good = perp_scene_text_check(&ctx, "f.yaml", text, strlen(text), &diag);
    const char *said = diag.text.s != NULL ? diag.text.s : "";
    if (!ok(!good && strstr(said, bads[i].place) != NULL && strstr(said, bads[i].what) != NULL,
            "refused at%s: %s", bads[i].place, bads[i].what))
      printf("# %s\n", said);
    perp_diag_free(&diag);
    free(text);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  perp_scene_files_register(&ctx);
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) bail("%s", folder);
  slides("geometric", "", 0.24, 0.24, 0.48);
  slides("maximum", "", 0.36, 0.36, 0.64);
  slides("minimum", "", 0.16, 0.16, 0.36);
  slides("mean", "", 0.26, 0.26, 0.5);
  slides("geometric",
         "pairs:\n"
         "  - { a: wood, b: ground, mu: 0.4, mu_dynamic: 0.1 }\n"
         "  - { a: ground, b: steel, restitution: 0 }\n"
         "  - { a: wood, b: wood, mu: 5 }\n",
         0.1, 0.24, 0.48);
  bounces();
  refused();
  unlink("bounce.yaml");
  rmdir(folder);
  return tap_done();
}
