/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a step costs against the number of bodies: spheres that fall, balls packed in a box, a
 * chain, a wall of bricks; on one thread and on two.
 *
 *    bench_scaling [MOST [SCENE...]]       up to MOST bodies (100000) in powers of ten; 1000000
 * takes a quarter of an hour and 10 GB
 *
 * Steps of 10 ms (the chain: 1 ms) of the formulation velocity; contacts by ten sweeps of pgs in
 * colours, the cost of a sweep being that of a row.  packed-si and wall-si: ten sweeps of
 * si-baumgarte in colours.  Each case runs in a process of its own: CPU time of the main thread,
 * mean of 3 steps after 2 (with OMP_WAIT_POLICY=passive it does not count its waiting for the other
 * one, which then has to be as fast), and the memory that is resident at the end, without that of
 * an empty process.  The parts of a step are shares of wall-clock time. */
#include "tests/run_model.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BEFORE = 2, STEPS = 3 };
static perp_ctx ctx;

static const struct subject {
  const char *name, *text; /* with one or two numbers */
  double h;
  int root;                      /* the first number is the root of the bodies */
  const char *lcp, *formulation; /* NULL: velocity */
} subjects[] = {
  { "falling", "falling:objects=%d,side=%d,shape=spheres", 0.01, 1,
    "pgs:sweeps=10,order=coloured" },
  { "packed", "jam:side=%d,mu=0.5", 0.01, 3, "pgs:sweeps=10,order=coloured" },
  { "packed-si", "jam:side=%d,mu=0.5", 0.01, 3, NULL, "si-baumgarte:order=coloured," },
  { "chain", "chain:links=%d,truth=none", 0.001, 1, NULL },
  { "wall", "wall:rows=%d,columns=%d", 0.01, 2, "pgs:sweeps=10,order=coloured" },
  { "wall-si", "wall:rows=%d,columns=%d", 0.01, 2, NULL, "si-baumgarte:order=coloured," },
};

/* Resident bytes of this process. */
static double resident(void)
{
  long pages = 0, all;
  FILE *f = fopen("/proc/self/statm", "r");
  if (f != NULL && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
  if (f != NULL) fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void case_of(const struct subject *s, double bodies, int threads)
{
  char text[120], formulation[60];
  int first = (int)lrint(pow(bodies, 1.0 / s->root)), second = first;
  if (strcmp(s->name, "falling") == 0) second = (int)ceil(1.4 * cbrt(bodies));
  snprintf(text, sizeof text, s->text, first, second);
  const double empty = resident();
  perp_scene scene = run_open(&ctx, text);
  snprintf(formulation, sizeof formulation, "%sthreads=%d",
           s->formulation != NULL ? s->formulation : "velocity:", threads);
  perp_sim *sim = run_start(&ctx, scene.model,
                            (run_parts){ .formulation = formulation, .lcp = s->lcp }, s->h);
  perp_step_info info;
  const int n = perp_model_bodies(scene.model);
  for (int k = 0; k < BEFORE; k++)
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s", ctx.msg);
  perp_times times = { 0 };
  perp_sim_timing(sim, true, &times);
  const perp_times zero = times;
  const perp_contact_count *count = perp_sim_contacts(sim);
  const double wall = perp_clock_wall(), start = perp_clock_thread();
  for (int k = 0; k < STEPS; k++)
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s", ctx.msg);
  const double seconds = (perp_clock_thread() - start) / STEPS,
               all = (perp_clock_wall() - wall) / 100;
  perp_sim_timing(sim, true, &times);
  const double met = count != NULL ? count->contacts : 0; /* the most in a step */
  const double bytes = resident() - empty;
  printf("%-9s %8d %d %10.3f %8.3f %9.1f %8.0f", s->name, n, threads, 1e3 * seconds,
         1e6 * seconds / n, met, bytes / n);
  if (met > 0)
    printf(" %8.0f", bytes / met);
  else
    printf(" %8s", "-");
  printf("  %3.0f %3.0f %3.0f %3.0f\n", (times.collision - zero.collision) / all,
         (times.assembly - zero.assembly) / all, (times.kkt - zero.kkt) / all,
         (times.lcp - zero.lcp) / all);
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
}

int main(int argc, char **argv)
{
  const double most = argc > 1 ? atof(argv[1]) : 1e5;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) return 1;
  printf("%-9s %8s %s %10s %8s %9s %8s %8s  %s\n", "scene", "bodies", "t", "ms/step", "us/body",
         "contacts", "B/body", "B/cont.", "% collision, assembly, joints, contacts");
  for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++) {
    bool wanted = argc <= 2;
    for (int i = 2; i < argc; i++) wanted = wanted || strcmp(argv[i], subjects[k].name) == 0;
    for (double bodies = 1000; wanted && bodies <= most; bodies *= 10)
      for (int threads = 1; threads <= 2; threads++) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
          case_of(&subjects[k], bodies, threads);
          fflush(stdout);
          _exit(0);
        }
        int status = 0;
        if (child > 0) waitpid(child, &status, 0);
        if (!WIFEXITED(status))
          printf("%-9s %8.0f %d ended by a signal\n", subjects[k].name, bodies, threads);
      }
  }
  return 0;
}
