/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Benchmark: CPU time of one step with contacts, its parts, and how still a scene stands.
 *
 *      bench_contact [SCENE [N [LCP [CONTACT [FORMULATION [STEPS [H [FIRST [FILE]]]]]]]]]
 *
 * SCENE: stack (N unit cubes), pyramid (N cubes at its base), spheres (N falling on the ground,
 * from a lattice with gaps), ratio (two cubes, the upper one N times as heavy); falling (the scene
 * of N spheres in a container 30 m wide; they have come to lie after 300 steps).  Unit cubes of 1
 * kg, mu = 0.5, h = 0.01 s.  FIRST: steps before those that are measured; FILE: where the state
 * after them is kept for the next time.
 *
 * Prints median, mean, least and largest time of a step on the clock, the mean CPU time of its
 * first thread and its parts, the deepest penetration and the largest sideways drift from 0.5 s on,
 * and the counts of the contact problems.  Not a test. */
#include "tests/run_model.h"

static perp_ctx ctx;

static void add(perp_model *model, perp_shape_kind kind, double x, double y, double z, double m)
{
  bool box = kind == PERP_SHAPE_BOX;
  perp_body_def body = { .mass = box ? perp_mass_box(m, 1, 1, 1) : perp_mass_sphere(m, 0.5),
                         .x = { x, y, z } };
  perp_shape_def shape = { .kind = kind,
                           .body = run_body(&ctx, model, body),
                           .radius = 0.5,
                           .half = { 0.5, 0.5, 0.5 },
                           .surface = { .mu = 0.5, .mu_dynamic = (double)NAN } };
  run_shape(&ctx, model, shape);
}

static perp_model *falling(int n)
{
  char text[80];
  perp_spec spec;
  perp_scene scene;
  snprintf(text, sizeof text, "falling:objects=%d,side=30,shape=spheres", n);
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&spec);
  perp_model *model = scene.model;
  scene.model = NULL; /* taken out of the scene */
  perp_scene_destroy(&scene);
  return model;
}

static perp_model *scene(const char *name, int n)
{
  if (strcmp(name, "falling") == 0) return falling(n);
  perp_model *model = run_model(&ctx, 3);
  perp_shape_def ground = { .kind = PERP_SHAPE_PLANE,
                            .body = PERP_WORLD,
                            .surface = { .mu = 0.5, .mu_dynamic = (double)NAN } };
  run_shape(&ctx, model, ground);
  if (strcmp(name, "stack") == 0) {
    for (int i = 0; i < n; i++) add(model, PERP_SHAPE_BOX, 0, 0, 0.5 + i, 1);
  } else if (strcmp(name, "ratio") == 0) {
    add(model, PERP_SHAPE_BOX, 0, 0, 0.5, 1);
    add(model, PERP_SHAPE_BOX, 0, 0, 1.5, n);
  } else if (strcmp(name, "pyramid") == 0) {
    for (int row = 0; row < n; row++)
      for (int i = 0; i < n - row; i++)
        add(model, PERP_SHAPE_BOX, 1.1 * i + 0.55 * row, 0, 0.5 + row, 1);
  } else if (strcmp(name, "spheres") == 0) {
    int side = 1;
    while (side * side * side < n) side++;
    for (int i = 0; i < n; i++) { /* every layer shifted, so that spheres fall between others */
      int layer = i / (side * side), x = i % side, y = i / side % side;
      add(model, PERP_SHAPE_SPHERE, 1.05 * x + 0.13 * (layer % 3), 1.05 * y + 0.17 * (layer % 2),
          0.6 + 1.05 * layer, 1);
    }
  } else {
    bail("no such scene: %s", name);
  }
  return run_finish(&ctx, model);
}

/* The state after the first steps: from the file, or made and kept there. */
static void settle(perp_sim *sim, perp_model *model, int first, const char *file)
{
  size_t nq = (size_t)perp_model_nq(model), nv = (size_t)perp_model_nv(model);
  double t, *state = calloc(nq + nv, sizeof *state);
  const double *q, *v;
  FILE *f = file != NULL ? fopen(file, "rb") : NULL;
  perp_step_info info;
  if (state == NULL) bail("no memory");
  if (f != NULL) {
    if (fread(state, sizeof *state, nq + nv, f) != nq + nv) bail("%s: too short", file);
    fclose(f);
    if (perp_sim_restart(&ctx, sim, 0, state, state + nq) != PERP_OK) bail("%s", ctx.msg);
    first = 10; /* for the memory of contacts */
  }
  for (int k = 0; k < first; k++)
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s %s", perp_reason_name(info.reason), ctx.msg);
  if (f == NULL && file != NULL) {
    perp_sim_state(sim, &t, &q, &v);
    memcpy(state, q, nq * sizeof *q);
    memcpy(state + nq, v, nv * sizeof *v);
    f = fopen(file, "wb");
    if (f == NULL || fwrite(state, sizeof *state, nq + nv, f) != nq + nv) bail("%s", file);
    fclose(f);
  }
  free(state);
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void run(const char *name, int n, run_parts parts, int steps, double h, int first,
                const char *file)
{
  perp_model *model = scene(name, n);
  perp_sim *sim = run_start(&ctx, model, parts, h);
  perp_step_info info;
  perp_times times;
  double *us = calloc((size_t)steps + 1, sizeof *us), deepest = 0, drift = 0, sum = 0, t;
  int nq = perp_model_nq(model);
  double *start = calloc((size_t)nq, sizeof *start);
  const double *q, *v;
  if (us == NULL || start == NULL) bail("no memory");
  if (first > 0) settle(sim, model, first, file);
  perp_sim_state(sim, &t, &q, &v);
  memcpy(start, q, (size_t)nq * sizeof *q);
  perp_sim_timing(sim, true, NULL);
  double cpu = perp_clock_thread();
  perp_times before;
  perp_sim_timing(sim, true, &before);
  const perp_contact_count at_first = *perp_sim_contacts(sim);
  for (int k = 0; k < steps; k++) {
    double t0 = perp_clock_wall();
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0) {
      printf("step %d: %s %s\n", k, perp_reason_name(info.reason), ctx.msg);
      break;
    }
    sum += us[k] = 1e6 * (perp_clock_wall() - t0);
    perp_sim_state(sim, &t, &q, &v);
    if (t < 0.5) {
      memcpy(start, q, (size_t)nq * sizeof *q);
      continue;
    }
    for (int i = 0; i < info.n_contacts; i++) deepest = fmin(deepest, info.contacts[i].gap);
    for (int i = 0; i < nq; i += 7)
      drift = fmax(drift, hypot(q[i] - start[i], q[i + 1] - start[i + 1]));
  }
  cpu = 1e6 * (perp_clock_thread() - cpu) / steps;
  perp_sim_timing(sim, false, &times);
  const perp_contact_count *c = perp_sim_contacts(sim);
  qsort(us, (size_t)steps, sizeof *us, by_value);
  printf("%-8s %5d %-20s %-8s step %7.0f us median %7.0f mean %7.0f min %8.0f max; CPU %7.0f us: "
         "collision %.0f assembly %.0f kkt %.0f lcp %.0f rest %.0f\n",
         name, n, parts.lcp, parts.contact, us[steps / 2], sum / steps, us[0], us[steps - 1], cpu,
         1e6 * (times.collision - before.collision) / steps,
         1e6 * (times.assembly - before.assembly) / steps, 1e6 * (times.kkt - before.kkt) / steps,
         1e6 * (times.lcp - before.lcp) / steps,
         1e6 * (times.integrate - before.integrate) / steps);
  printf(
      "         depth %.3g m, drift %.3g m; %d contacts, %d rows, %d islands; solved %d reused %d "
      "iterations %d failures %d residual %.2g\n",
      -deepest, drift, c->contacts, c->rows, c->islands, (int)(c->problems - at_first.problems),
      (int)(c->reused - at_first.reused), (int)(c->iterations - at_first.iterations),
      (int)(c->failures - at_first.failures), c->residual);
  fflush(stdout);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  free(us);
  free(start);
}

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (argc > 1) {
    run_parts parts = { .lcp = argc > 3 ? argv[3] : "dantzig",
                        .contact = argc > 4 ? argv[4] : "box",
                        .formulation = argc > 5 ? argv[5] : NULL };
    run(argv[1], argc > 2 ? atoi(argv[2]) : 10, parts, argc > 6 ? atoi(argv[6]) : 250,
        argc > 7 ? atof(argv[7]) : 0.01, argc > 8 ? atoi(argv[8]) : 0, argc > 9 ? argv[9] : NULL);
    return 0;
  }
  run("stack", 50, (run_parts){ .lcp = "dantzig:start=bpp", .contact = "box" }, 250, 0.01, 0, NULL);
  run("stack", 20, (run_parts){ .lcp = "block-gs", .contact = "cone" }, 250, 0.01, 0, NULL);
  run("ratio", 10000, (run_parts){ .lcp = "dantzig:start=bpp", .contact = "box" }, 250, 0.01, 0,
      NULL);
  run("pyramid", 20, (run_parts){ .lcp = "pgs", .contact = "box" }, 250, 0.01, 0, NULL);
  run("pyramid", 20, (run_parts){ .lcp = "pgs:sweeps=10", .contact = "box" }, 250, 0.01, 50, NULL);
  for (int threads = 1; threads <= 2; threads++)
    run("falling", 10000,
        (run_parts){ .lcp = "pgs:sweeps=10",
                     .contact = "box",
                     .formulation = threads == 1 ? "velocity" : "velocity:threads=2" },
        20, 0.01, 300, NULL);
  run("spheres", 1000, (run_parts){ .lcp = "pgs:sweeps=10", .contact = "box" }, 100, 0.01, 0, NULL);
  return 0;
}
