/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenes of perp written as files and read back simulate to the same bits; a chain and a stack in
 * YAML are those of C. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/figures/control.h"
#include "tests/tap.h"
#include "experiments/base/files.h"

#include <string.h>
#include <unistd.h>

static perp_ctx ctx;
static char folder[] = "/tmp/perp-export-XXXXXX";

static bool create(const char *text, perp_scene *scene, perp_spec *spec)
{
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, spec) != PERP_OK) return false;
  if (perp_scene_create(&ctx, spec, scene) == PERP_OK) return true;
  perp_spec_free(spec);
  return false;
}

/* Do both make the same states in so many steps with parts that perp chooses?  exact: every bit;
 * else -0 is 0. */
static bool same_run(perp_scene *a, perp_scene *b, int steps, bool exact, char *why, size_t size)
{
  const perp_parts parts = { 0 };
  perp_sim *sim[2] = { NULL, NULL };
  const double h = a->h > 0 ? a->h : 1e-3;
  const int nq = perp_model_nq(a->model), nv = perp_model_nv(a->model);
  bool same = nq == perp_model_nq(b->model) && nv == perp_model_nv(b->model);
  snprintf(why, size, "sizes");
  same = same && a->h == b->h && a->t_end == b->t_end && a->size == b->size &&
         a->tip_body == b->tip_body && memcmp(a->tip, b->tip, sizeof a->tip) == 0 &&
         a->dissipative == b->dissipative && a->driven == b->driven && a->isolated == b->isolated &&
         a->gravity == b->gravity;
  const perp_status first = perp_sim_create(&ctx, a->model, &parts, h, &sim[0]);
  if (first != perp_sim_create(&ctx, b->model, &parts, h, &sim[1])) same = false;
  for (int i = 0; same && first == PERP_OK && i <= steps; i++) {
    double t[2];
    const double *q[2], *v[2];
    for (int k = 0; k < 2; k++) perp_sim_state(sim[k], &t[k], &q[k], &v[k]);
    snprintf(why, size, "step %d", i);
    same = t[0] == t[1];
    for (int j = 0; same && j < nq + nv; j++) {
      const double x = j < nq ? q[0][j] : v[0][j - nq], y = j < nq ? q[1][j] : v[1][j - nq];
      same = exact ? memcmp(&x, &y, sizeof x) == 0 : x == y;
      if (!same) snprintf(why, size, "step %d, number %d: %.17g and %.17g", i, j, x, y);
    }
    if (i == steps) break;
    perp_status status[2];
    for (int k = 0; k < 2; k++) {
      perp_step_info info;
      status[k] = perp_sim_step(&ctx, sim[k], 1e9, &info);
    }
    same = same && status[0] == status[1];
    if (status[0] != PERP_OK) break;
  }
  for (int k = 0; k < 2; k++) perp_sim_destroy(sim[k]);
  return same;
}

static void round_trip(const char *text, int steps)
{
  perp_scene a, b;
  perp_spec spec, back;
  if (!create(text, &a, &spec)) {
    printf("# %s cannot be built here: %s\n", text, ctx.msg);
    return;
  }
  char *name = perp_xprintf("%s.yaml", text), why[200] = "";
  for (char *s = name; *s != '\0'; s++)
    if (*s == ':' || *s == '=' || *s == ',') *s = '_';
  FILE *f = fopen(name, "w");
  if (f == NULL) bail("%s", name);
  const perp_status status = perp_scene_export(&ctx, spec.d, &a, text, f);
  fclose(f);
  if (a.model == NULL || perp_model_controlled(a.model))
    ok(status == PERP_ERR_UNSUPPORTED, "%s has %s and is refused", text,
       a.model == NULL ? "no bodies" : "a controller");
  else if (ok(status == PERP_OK && create(name, &b, &back), "%s is written and read", text)) {
    if (!ok(same_run(&a, &b, steps, true, why, sizeof why),
            "%s: %d bodies, %d steps are the same to the last bit", text,
            perp_model_bodies(a.model), steps))
      printf("# %s\n", why);
    perp_scene_destroy(&b);
    perp_spec_free(&back);
  } else
    printf("# %s\n", ctx.msg);
  unlink(name);
  free(name);
  perp_scene_destroy(&a);
  perp_spec_free(&spec);
}

/* The same of a file of this test, which can be built. */
static void must_round_trip(const char *file)
{
  perp_scene scene;
  perp_spec spec;
  if (!create(file, &scene, &spec)) bail("%s", ctx.msg);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  round_trip(file, 20);
}

static void as_in_c(const char *yaml, const char *file, const char *c_scene, int steps)
{
  perp_scene a, b;
  perp_spec of_a, of_b;
  char why[200] = "";
  char *name = perp_xprintf("%.*s", (int)strcspn(file, ":"), file);
  if (perp_write_file(&ctx, name, yaml, strlen(yaml)) != PERP_OK) bail("%s", ctx.msg);
  free(name);
  if (!create(c_scene, &a, &of_a)) bail("%s", ctx.msg);
  if (ok(create(file, &b, &of_b), "%s: %s", file, ctx.msg)) {
    if (!ok(same_run(&a, &b, steps, false, why, sizeof why), "%s is %s: %d steps", file, c_scene,
            steps))
      printf("# %s\n", why);
    perp_scene_destroy(&b);
    perp_spec_free(&of_b);
  }
  perp_scene_destroy(&a);
  perp_spec_free(&of_a);
}

static const char chain[] =
    "schema: perp-scene/1\n"
    "scene: { t_end: 0.8 s, h: 1 ms, tip: { body: \"link{links-1}\", at: [length / 2, 0, 0] } }\n"
    "parameters: { links: { default: 6, min: 1 }, length: { default: 0.1 m, unit: m } }\n"
    "let: { along: 1 kg * length * length / 600, across: 1 kg * length * length / 12 }\n"
    "bodies:\n"
    "  - repeat: { i: 0..links-1 }\n"
    "    name: \"link{i}\"\n"
    "    mass: 1\n"
    "    inertia: [along, across, across]\n"
    "    x: [i * length + length / 2, 0, 0]\n"
    "joints:\n"
    "  - { kind: ball, a: world, b: link0, anchor_b: [-length / 2, 0, 0] }\n"
    "  - { repeat: { i: 1..links-1 }, kind: ball, a: \"link{i-1}\", b: \"link{i}\",\n"
    "      anchor_a: [length / 2, 0, 0], anchor_b: [-length / 2, 0, 0] }\n";

static const char stack[] =
    "schema: perp-scene/1\n"
    "scene: { t_end: 10 s, h: 1/240, size: edge, dissipative: true, tip: world }\n"
    "parameters: { boxes: { default: 5, min: 1, max: 1000 }, edge: { default: 1 m, above: 0, unit: "
    "m } }\n"
    "materials: { default: { mu: 0.5 } }\n"
    "bodies:\n"
    "  - { repeat: { i: 0..boxes-1 }, mass: 1, x: [0, 0, (i + 0.5) * edge],\n"
    "      shape: { kind: box, size: [edge, edge, edge] } }\n"
    "shapes:\n"
    "  - { body: world, kind: plane }\n";

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  if (perp_scene_files_register(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (mkdtemp(folder) == NULL || chdir(folder) != 0) bail("no folder");
  as_in_c(chain, "links.yaml:links=8,length=0.125", "chain:links=8,length=0.125,truth=none", 200);
  as_in_c(stack, "boxes.yaml:boxes=6,edge=0.3", "stack:boxes=6,edge=0.3", 100);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_scene, i)) != NULL; i++)
    round_trip(d->name, 5);
  const char *const tied = "schema: perp-scene/1\n"
                           "bodies:\n"
                           "  - { repeat: { i: 0..1 }, name: \"b{i}\", mass: 1, inertia: [1, 2, "
                           "2], x: [i, 0, 0], w: [0, 0, 1] }\n"
                           "joints:\n"
                           "  - { kind: nonholonomic, bodies: [b0], along: [1, 0, 0] }\n"
                           "  - { kind: nonholonomic, value: 0.5 m/s * sin(t * 2 rad/s), terms: [{ "
                           "body: b0, about: [0, 0, 1 m] },\n"
                           "      { body: b1, frame: world, about: [0, 0, -1 m] }, { body: b1, "
                           "frame: b0, along: [0, 1, 0], at: [0, 0, 1] }] }\n";
  if (perp_write_file(&ctx, "tied.yaml", tied, strlen(tied)) != PERP_OK) bail("%s", ctx.msg);
  must_round_trip("tied.yaml");
  const char *const many =
      "schema: perp-scene/1\n"
      "scene: { friction: minimum, size: 0.2 m }\n"
      "materials: { ice: {}, wood: { mu: 0.5, mu_dynamic: 0.4 }, rubber: { mu: 1 } }\n"
      "pairs: [{ a: wood, b: ice, mu: 0.1 }, { a: rubber, b: ice, restitution: 0.3 }]\n"
      "bodies:\n"
      "  - { mass: 1, x: [0, 0, 0.1], v: [1, 0, 0], shape: { kind: box, size: [0.2, 0.2, 0.2], "
      "material: wood } }\n"
      "  - { mass: 1, x: [0, 1, 0.1], v: [1, 0, 0], shape: { kind: box, size: [0.2, 0.2, 0.2], "
      "material: rubber } }\n"
      "shapes:\n  - { body: world, kind: plane, material: ice }\n";
  if (perp_write_file(&ctx, "pairs.yaml", many, strlen(many)) != PERP_OK) bail("%s", ctx.msg);
  must_round_trip("pairs.yaml");
  static const char *const more[] = { "chain:joint=mixed,links=9,error=0.001",
                                      "chain:dim=2,start=hanging,collide=true",
                                      "stack:dim=2,overlap=0.01",
                                      "arch:dim=2",
                                      "falling:dim=2",
                                      "soft" };
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) round_trip(more[i], 20);
  if (rmdir(folder) != 0) {
    unlink("links.yaml");
    unlink("boxes.yaml");
    unlink("pairs.yaml");
    unlink("tied.yaml");
    rmdir(folder);
  }
  return tap_done();
}
