/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A step with contacts has the same bits on any number of threads, with and without AVX2, and
 * whatever the simulation has done before a restart: what is kept from problem to problem to save
 * work (solvers/lcp/rows/rows_pattern.c) decides nothing.
 *
 *      test_contact_bits [PLAIN]
 *
 * PLAIN is this program with what is compiled for several instruction sets compiled for the least
 * one (PERP_NO_CLONES), asked for its digests by the argument `digest`. */
#include "solvers/lcp/rows/rows_private.h"
#include "tests/run_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static perp_ctx ctx;

typedef struct bits_race {
  const char *scene, *lcp, *contact, *formulation, *stab;
  int steps;
} bits_race; /* lcp empty: a scheme with its own sweeps, on one thread */

static const bits_race races[] = {
  { "stack:boxes=20", "pgs:sweeps=5", "box", "velocity:substeps=2", "baumgarte", 20 },
  { "stack:boxes=30", "pgs:sweeps=5", "box", "velocity:substeps=2", "post", 10 },
  { "pyramid:rows=8", "nncg:sweeps=10", "box", "velocity", "post", 20 },
  { "pyramid:rows=8", "pgs:sweeps=10", "cone", "velocity", "post", 20 },
  { "wall:rows=6,columns=8", "pgs:sweeps=10,order=coloured", "box", "velocity", "post", 20 },
  { "wall:rows=6,columns=8", "pgs:sweeps=10,order=coloured", "cone", "velocity", "post", 20 },
  { "falling:objects=64,side=4,shape=cubes", "pgs:sweeps=10,order=coloured", "box", "velocity",
    "post", 40 },
  /* as many contacts as a team shares */
  { "wall:rows=16,columns=20", "pgs:sweeps=5,order=coloured", "box", "velocity", "post", 3 },
  { "wall:rows=16,columns=20", "pgs:sweeps=5", "cone", "velocity", "post", 3 },
  { "wall:rows=6,columns=8", "", "", "si-baumgarte", "", 20 },
  { "wall:rows=6,columns=8", "", "", "si-baumgarte:order=coloured", "", 20 },
  { "wall:rows=6,columns=8", "", "", "soft-step:order=coloured", "", 20 },
  /* as many pairs as a team shares */
  { "falling:objects=1000,side=10,shape=spheres", "", "", "si-baumgarte:order=coloured", "", 60 },
  { "wall:rows=28,columns=28", "", "", "soft-step:order=coloured", "", 3 },
  { "pyramid:rows=8,dim=2", "", "", "si-ngs", "", 20 },
  { "pyramid:rows=8,dim=2", "", "", "si-ngs:order=coloured", "", 20 },
};
enum { RACES = sizeof races / sizeof *races };

static uint64_t bits_add(uint64_t hash, size_t n, const double *x)
{
  const unsigned char *byte = (const unsigned char *)x;
  for (size_t i = 0; i < n * sizeof *x; i++) hash = (hash ^ byte[i]) * 1099511628211u;
  return hash;
}

/* Steps of sim: digest of its state and of what it says of its answers. */
static uint64_t bits_run(const perp_model *model, perp_sim *sim, int steps)
{
  perp_step_info info = { 0 };
  const double *q, *v;
  double t;
  for (int k = 0; k < steps; k++)
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  const perp_contact_count *count = perp_sim_contacts(sim);
  const double told[] = { (double)count->problems,
                          (double)count->swept,
                          count->work,
                          count->residual,
                          count->data,
                          count->coulomb.violation,
                          count->coulomb.missing,
                          (double)count->contacts };
  uint64_t hash = bits_add(14695981039346656037u, (size_t)perp_model_nq(model), q);
  hash = bits_add(hash, (size_t)perp_model_nv(model), v);
  return bits_add(hash, sizeof told / sizeof *told, told);
}

static perp_sim *bits_start(const bits_race *race, perp_model *model, int threads)
{
  char formulation[80];
  const bool options = strchr(race->formulation, ':') != NULL;
  snprintf(formulation, sizeof formulation, "%s%sthreads=%d", race->formulation,
           options ? "," : ":", threads);
  const run_parts parts = {
    .formulation = formulation, .lcp = race->lcp, .contact = race->contact, .stab = race->stab
  };
  return run_start(&ctx, model, parts, 0.01);
}

static uint64_t bits_digest(const bits_race *race, int threads)
{
  perp_scene scene = run_open(&ctx, race->scene);
  perp_sim *sim = bits_start(race, scene.model, threads);
  const uint64_t hash = bits_run(scene.model, sim, race->steps);
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
  return hash;
}

static void test_threads(const bits_race *race)
{
  const uint64_t one = bits_digest(race, 1);
  for (int threads = 2; threads <= 4; threads += 2)
    ok(bits_digest(race, threads) == one, "%s, %s, %s, %s: %d threads, the same bits", race->scene,
       race->formulation, race->lcp, race->contact, threads);
}

/* From the state in the middle: a simulation that has come there, and a new one. */
static void test_restart(const bits_race *race)
{
  perp_scene scene = run_open(&ctx, race->scene);
  const size_t nq = (size_t)perp_model_nq(scene.model), nv = (size_t)perp_model_nv(scene.model);
  double *q = malloc(nq * sizeof *q), *v = malloc(nv * sizeof *v), t;
  if (q == NULL || v == NULL) bail("no memory");
  perp_sim *sim = bits_start(race, scene.model, 1), *fresh = bits_start(race, scene.model, 1);
  const uint64_t whole = bits_run(scene.model, sim, race->steps);
  const double *q_now, *v_now;
  perp_sim_state(sim, &t, &q_now, &v_now);
  memcpy(q, q_now, nq * sizeof *q);
  memcpy(v, v_now, nv * sizeof *v);
  if (perp_sim_restart(&ctx, sim, t, q, v) != PERP_OK) bail("%s", ctx.msg);
  if (perp_sim_restart(&ctx, fresh, t, q, v) != PERP_OK) bail("%s", ctx.msg);
  ok(bits_run(scene.model, sim, race->steps) == bits_run(scene.model, fresh, race->steps),
     "%s, %s, %s, %s: saved in the middle, the same bits after a restart", race->scene,
     race->formulation, race->lcp, race->contact);
  if (perp_sim_restart(&ctx, sim, 0, perp_model_q0(scene.model), perp_model_v0(scene.model)) !=
      PERP_OK)
    bail("%s", ctx.msg);
  ok(bits_run(scene.model, sim, race->steps) == whole, "... and from the start again");
  perp_sim_destroy(sim);
  perp_sim_destroy(fresh);
  perp_scene_destroy(&scene);
  free(q);
  free(v);
}

static void test_plain(const char *program)
{
  char command[4096], line[80], told[80];
  snprintf(command, sizeof command, "'%s' digest", program);
  FILE *answer = popen(command, "r");
  if (answer == NULL) bail("%s does not run", program);
  for (int i = 0; i < RACES; i++) {
    snprintf(told, sizeof told, "%016" PRIx64 "\n", bits_digest(&races[i], 1));
    const bool read = fgets(line, sizeof line, answer) != NULL;
    ok(read && strcmp(line, told) == 0, "%s, %s, %s, %s: the same bits without AVX2",
       races[i].scene, races[i].formulation, races[i].lcp, races[i].contact);
  }
  ok(pclose(answer) == 0, "the program without AVX2 ends well");
}

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (argc > 1 && strcmp(argv[1], "digest") == 0) {
#ifdef PERP_NO_CLONES
    perp_fours_force_plain(true);
#endif
    for (int i = 0; i < RACES; i++) printf("%016" PRIx64 "\n", bits_digest(&races[i], 1));
    return 0;
  }
  for (int i = 0; i < RACES; i++) {
    if (races[i].lcp[0] != 0 || strstr(races[i].formulation, "coloured") != NULL)
      test_threads(&races[i]);
    test_restart(&races[i]);
  }
  if (argc > 1) test_plain(argv[1]);
  return tap_done();
}
