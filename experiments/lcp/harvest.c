/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp harvest: keep contact problems that occur in a simulation, as .lcp files.
 *
 * Of each size wanted a few problems are kept, with different active sets (which rows are at a
 * bound); when there are more of them than room, every one has the same chance to stay (reservoir
 * sampling, seeded), or those stay that took the most work, what was not solved before all others.
 * A file says where it comes from: scene and parts, step, active rows, rank and condition number of
 * A.  With --sequence: those of successive steps, see harvest_sequence.c. */
#include "experiments/lcp/harvest_sequence.h"
#include "experiments/simulate/parts.h"

#include "models/models.h"
#include "solvers/core/finite.h"
#include "solvers/lcp/io/io.h"
#include "experiments/base/table.h"
#include "experiments/base/files.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS_MAX = 32, KEEP_MAX = 1000, SVD_ROWS = 1500 };

typedef struct kept {
  perp_lcp_problem problem;
  uint64_t active; /* hash of the active set */
  int bound;       /* rows at a bound */
  double work;     /* what the solver of the run took, HUGE_VAL where it did not solve it */
  int64_t step;
  double t;
} kept;

typedef struct bin {
  int rows; /* the size wanted */
  int n;
  int64_t seen; /* different from those kept */
  kept *keep;
} bin;

typedef struct harvest {
  perp_ctx *ctx;
  const perp_sim *sim;
  perp_rng *rng;
  bin bins[BINS_MAX];
  int n_bins, per_size;
  bool hardest;
  int64_t step, problems;
  double tol;
  perp_harvest_wish sequence; /* n = 0: none */
  perp_status status;
} harvest;

/* ---- which ones ---- */

/* the size nearest to n by ratio, not further than a factor 2 */
static bin *bin_for(harvest *work, int n)
{
  bin *best = NULL;
  double least = log(2) + 1e-9;
  for (int i = 0; i < work->n_bins; i++) {
    double far = fabs(log((double)n / work->bins[i].rows));
    if (far < least) {
      least = far;
      best = &work->bins[i];
    }
  }
  return best;
}

/* FNV-1a over the rows at a bound; of a cone the row that it begins with stands for both */
static uint64_t active_set(const perp_lcp *lcp, const double *lambda, int *bound)
{
  uint64_t hash = 1469598103934665603u;
  *bound = 0;
  for (int i = 0; i < lcp->n; i++) {
    double lo, hi;
    perp_lcp_bounds(lcp, lambda, i, &lo, &hi);
    bool cone = lcp->cone != NULL && lcp->cone[i] && !lcp->frozen;
    double x = cone ? hypot(lambda[i], lambda[i + 1]) * (1 + 1e-9) : lambda[i];
    int at = x <= lo ? 1 : x >= hi ? 2 : 0;
    *bound += at != 0;
    hash = (hash ^ (uint64_t)at) * 1099511628211u;
    i += cone;
  }
  return hash ^ (uint64_t)lcp->n;
}

/* Whose place a further problem takes in a full bin, -1: nobody's. */
static int harvest_place(const harvest *h, const bin *b, double work)
{
  int least = 0;
  if (!h->hardest)
    return perp_rng_uniform(h->rng, 0, 1) * (double)b->seen < h->per_size
               ? perp_rng_int(h->rng, h->per_size)
               : -1;
  for (int keep = 1; keep < b->n; keep++)
    if (b->keep[keep].work < b->keep[least].work) least = keep;
  return b->keep[least].work < work ? least : -1;
}

static void harvest_see(void *user, const perp_contact_place *place, const perp_lcp *lcp,
                        const double *lambda, const perp_stats *stats)
{
  harvest *h = user;
  (void)place;
  if (stats == NULL) return;
  bin *b = bin_for(h, lcp->n);
  h->problems++;
  if (b == NULL || h->status != PERP_OK) return;
  int bound, at = b->n;
  uint64_t active = active_set(lcp, lambda, &bound);
  for (int keep = 0; keep < b->n; keep++)
    if (b->keep[keep].active == active) return;
  b->seen++;
  const double work = stats->reason > 0 ? stats->work : HUGE_VAL;
  if (b->n == h->per_size) {
    at = harvest_place(h, b, work);
    if (at < 0) return;
    perp_lcp_problem_free(&b->keep[at].problem);
  } else {
    b->n++;
  }
  kept *k = &b->keep[at];
  *k = (kept){ .active = active, .bound = bound, .work = work, .step = h->step };
  const double *q, *v;
  perp_sim_state(h->sim, &k->t, &q, &v);
  /* a view whose solution is the answer, where the judge accepted it */
  bool solved = stats->residual <= h->tol;
  perp_lcp_problem view = { .p = *lcp, .solution = solved ? (double *)(uintptr_t)lambda : NULL };
  view.classes = solved ? PERP_CLASS_SOLVABLE : 0;
  h->status = perp_lcp_problem_copy(h->ctx, &view, &k->problem);
}

/* ---- what they are ---- */

/* Rank of A and the ratio of its largest to its smallest singular value that is not rounding. */
static perp_status harvest_spectrum(perp_ctx *ctx, const perp_lcp_problem *problem, int *rank,
                                    double *condition)
{
  const int n = problem->p.n;
  *rank = -1;
  *condition = (double)NAN;
  if (n > SVD_ROWS) return PERP_OK;
  perp_lcp_problem dense;
  PERP_TRY(perp_lcp_problem_form(ctx, problem, &dense));
  const int lwork = 10 * n + 1; /* of the singular values alone */
  double *s = perp_xalloc((size_t)n, sizeof *s), *work = perp_xalloc((size_t)lwork, sizeof *work);
  lapack_int *iwork = perp_xalloc(8 * (size_t)n, sizeof *iwork);
  double none;
  perp_lcp_arrays arrays = perp_lcp_edit(&dense);
  int info = 1;
  if (perp_finite(n * n, arrays.A))
    info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'N', n, n, arrays.A, n, s, &none, 1, &none, 1,
                               work, lwork, iwork);
  if (info == 0) {
    *rank = 0;
    while (*rank < n && s[*rank] > 1e-12 * n * s[0]) ++*rank;
    *condition = *rank > 0 ? s[0] / s[*rank - 1] : (double)NAN;
  }
  free(s);
  free(work);
  free(iwork);
  perp_lcp_problem_free(&dense);
  return PERP_OK;
}

static int by_time(const void *a, const void *b)
{
  const kept *x = a, *y = b;
  return x->step < y->step ? -1 : x->step > y->step;
}

/* One line of the table and one file. */
static perp_status harvest_store(perp_ctx *ctx, const char *dir, const char *scene,
                                 const char *command, kept *k, int number, perp_table *table)
{
  perp_lcp_problem *problem = &k->problem;
  int rank;
  double condition;
  PERP_TRY(harvest_spectrum(ctx, problem, &rank, &condition));
  snprintf(problem->family, sizeof problem->family, "harvest-%.38s", scene);
  char about[80] = "";
  if (rank >= 0) snprintf(about, sizeof about, "; rank %d, condition %.3g", rank, condition);
  PERP_TRY(perp_lcp_problem_note(
      ctx, problem, "perp lcp harvest %s: step %lld, t = %.6g s; %d of %d rows at a bound%s",
      command, (long long)k->step, k->t, k->bound, problem->p.n, about));
  char *path = perp_xprintf("%s/%s-n%d-%d.lcp", dir, scene, problem->p.n, number);
  perp_out out;
  perp_status status = perp_out_open(ctx, path, &out);
  if (status == PERP_OK) status = perp_lcp_write(ctx, problem, out.f);
  perp_status closed = perp_out_close(ctx, &out, status == PERP_OK);
  if (status == PERP_OK) status = closed;
  char n[16], t[24], bound[16], of_rank[16] = "", cond[24] = "";
  snprintf(n, sizeof n, "%d", problem->p.n);
  snprintf(t, sizeof t, "%.4g", k->t);
  snprintf(bound, sizeof bound, "%d", k->bound);
  if (rank >= 0) {
    snprintf(of_rank, sizeof of_rank, "%d", rank);
    snprintf(cond, sizeof cond, "%.2g", condition);
  }
  const char *name = strrchr(path, '/') + 1;
  perp_table_row(table, (const char *const[]){ name, n, t, bound, of_rank, cond,
                                               problem->solution != NULL ? "yes" : "no" });
  free(path);
  return status;
}

/* ---- the run ---- */

static perp_status harvest_march(perp_ctx *ctx, perp_sim *sim, harvest *work, double t_end)
{
  double t = 0;
  const double *q, *v;
  perp_step_info info;
  if (!perp_sim_observe(sim, harvest_see, work))
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "this scene has no contacts, or its formulation solves none: no problem to harvest");
  for (work->step = 1; t < t_end * (1 - 1e-12); work->step++) {
    PERP_TRY(perp_sim_step(ctx, sim, t_end, &info));
    PERP_TRY(work->status);
    if (info.reason < 0) {
      perp_say("the simulation ends at t = %g s: %s", t, perp_reason_name(info.reason));
      break;
    }
    perp_sim_state(sim, &t, &q, &v);
  }
  return PERP_OK;
}

/* "4,16,64" */
static bool read_sizes(const char *text, harvest *work)
{
  char *end;
  for (const char *at = text;; at = end + 1) {
    long n = strtol(at, &end, 10);
    if (end == at || n < 1 || n > 1000000 || work->n_bins == BINS_MAX) return false;
    work->bins[work->n_bins++].rows = (int)n;
    if (*end == '\0') return true;
    if (*end != ',') return false;
  }
}

/* The command as the provenance has it: without the folder. */
static void harvest_command(const perp_args *args, perp_text *text)
{
  perp_text_add(text, "%s", args->arg[0]);
  for (int flag = 0; flag < args->n_flags; flag++)
    if (args->flag[flag].flag->letter != 'o')
      perp_text_add(text, " --%s%s%s", args->flag[flag].flag->name,
                    args->flag[flag].flag->arg != NULL ? " " : "",
                    args->flag[flag].flag->arg != NULL ? args->flag[flag].value : "");
}

static perp_status harvest_run(perp_ctx *ctx, const perp_args *args, const perp_spec *scene_spec,
                               const perp_request *request, harvest *work)
{
  perp_scene scene;
  perp_sim *sim = NULL;
  perp_parts parts = { 0 };
  bool adaptive;
  PERP_TRY(perp_scene_create(ctx, scene_spec, &scene));
  perp_status status = PERP_OK;
  if (scene.model == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "scene %s has no bodies: no problem to harvest",
                       scene_spec->d->name);
  double step = 0, t_end = 0;
  if (status == PERP_OK)
    status = perp_parts_read(ctx, request, &scene, scene_spec->d->name, &parts, &adaptive);
  if (status == PERP_OK) status = perp_run_times(ctx, request, &scene, adaptive, &step, &t_end);
  const perp_desc *formulation = parts.formulation.d;
  if (status == PERP_OK && work->sequence.n > 0 && formulation != NULL &&
      formulation->caps & PERP_FORM_WRAPS)
    status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "a sequence needs one simulation, but formulation %s makes several",
                       formulation->name);
  if (status == PERP_OK) status = perp_sim_create(ctx, scene.model, &parts, step, &sim);
  perp_parts_free(&parts);
  work->sim = sim;
  const char *dir = perp_args_get(args, "output");
  if (dir == NULL) dir = ".";
  perp_text text = { 0 };
  harvest_command(args, &text);
  if (status == PERP_OK && work->sequence.n > 0) {
    work->sequence.dir = dir;
    work->sequence.command = text.s;
    work->sequence.scene = scene_spec->d->name;
    if (work->sequence.name == NULL) work->sequence.name = work->sequence.scene;
    work->sequence.t_end = t_end;
    work->sequence.tol = work->tol;
    status = perp_harvest_sequence(ctx, sim, &work->sequence);
  } else if (status == PERP_OK) {
    status = harvest_march(ctx, sim, work, t_end);
  }
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
  if (status == PERP_OK && work->sequence.n == 0) status = perp_make_dirs(ctx, dir);
  if (status != PERP_OK || work->sequence.n > 0) {
    perp_text_free(&text);
    return status;
  }
  perp_table table;
  perp_table_init(&table, "lrrrrrl");
  perp_table_row(&table, (const char *const[]){ "file", "rows", "t [s]", "bound", "rank",
                                                "condition", "solved" });
  int files = 0;
  for (int i = 0; i < work->n_bins && status == PERP_OK; i++) {
    bin *b = &work->bins[i];
    qsort(b->keep, (size_t)b->n, sizeof *b->keep, by_time);
    for (int keep = 0; keep < b->n && status == PERP_OK; keep++, files++)
      status = harvest_store(ctx, dir, scene_spec->d->name, text.s, &b->keep[keep], keep + 1,
                             &table);
  }
  perp_text_free(&text);
  if (files > 0) perp_table_print(&table, stdout);
  perp_table_free(&table);
  if (status == PERP_OK)
    perp_say("%d of %lld problems stored in %s", files, (long long)work->problems, dir);
  return status;
}

static int read_time(perp_ctx *ctx, const perp_args *args, const char *name, double *value)
{
  const char *text = perp_args_get(args, name);
  if (text == NULL ||
      (perp_parse_real(ctx, text, "s", value) == PERP_OK && *value > 0 && isfinite(*value)))
    return -1;
  return perp_usage_error(args, "--%s must be a time in (0, inf) s: got %s", name, text);
}

/* --sequence and what goes with it, or does not; -1 to go on. */
static int read_sequence(perp_ctx *ctx, const perp_args *args, perp_harvest_wish *wish)
{
  static const char *const single[] = { "size", "per-size", "hardest", "seed" };
  static const char *const several[] = { "from", "name" };
  int64_t n = 0;
  const int status = perp_option_int(ctx, args, "sequence", 2, PERP_SEQUENCE_MOST, &n);
  if (status >= 0) return status;
  for (int i = 0; i < 4 && n > 0; i++)
    if (perp_args_get(args, single[i]) != NULL)
      return perp_usage_error(
          args, "--%s selects among single problems; it cannot be combined with --sequence",
          single[i]);
  for (int i = 0; i < 2 && n == 0; i++)
    if (perp_args_get(args, several[i]) != NULL)
      return perp_usage_error(args, "--%s needs --sequence N", several[i]);
  wish->n = (int)n;
  wish->name = perp_args_get(args, "name");
  if (wish->name != NULL &&
      (wish->name[0] == '\0' || strlen(wish->name) > 47 || strpbrk(wish->name, "/ \t\n") != NULL))
    return perp_usage_error(
        args, "--name must have 1 to 47 characters without blanks and slashes: got %s", wish->name);
  const char *text = perp_args_get(args, "from");
  if (text == NULL || (perp_parse_real(ctx, text, "s", &wish->from) == PERP_OK && wish->from >= 0 &&
                       isfinite(wish->from)))
    return -1;
  return perp_usage_error(args, "--from must be a time in [0, inf) s: got %s", text);
}

static int cmd_lcp_harvest(perp_ctx *ctx, const perp_args *args)
{
  perp_spec scene = { 0 };
  int64_t per_size = 3, seed = 1;
  harvest work = { .ctx = ctx, .tol = 1e-8, .hardest = perp_args_get(args, "hardest") != NULL };
  perp_request request = { .scene = args->arg[0] };
  for (int part = 0; part < PERP_PARTS; part++) /* those it has an option for */
    *perp_part_text(&request, part) = perp_args_get(args, perp_part_name(part));
  int status = perp_option_int(ctx, args, "per-size", 1, KEEP_MAX, &per_size);
  if (status < 0) status = perp_option_int(ctx, args, "seed", 0, INT64_MAX, &seed);
  if (status < 0) status = read_time(ctx, args, "h", &request.h);
  if (status < 0) status = read_time(ctx, args, "t-end", &request.t_end);
  if (status < 0) status = read_sequence(ctx, args, &work.sequence);
  if (status >= 0) return status;
  const char *text = perp_args_get(args, "size");
  if (!read_sizes(text != NULL ? text : "4,16,64,256", &work))
    return perp_usage_error(args, "--size must be numbers of rows, separated by commas: got %s",
                            text);

  perp_status done = perp_spec_parse(ctx, PERP_KIND_scene, args->arg[0], &scene);
  if (done == PERP_OK) {
    work.per_size = (int)per_size;
    work.rng = perp_rng_create((uint64_t)seed);
    for (int i = 0; i < work.n_bins; i++)
      work.bins[i].keep = perp_xalloc((size_t)per_size, sizeof(kept));
    done = work.rng == NULL ? PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory")
                            : harvest_run(ctx, args, &scene, &request, &work);
    for (int i = 0; i < work.n_bins; i++) {
      for (int keep = 0; keep < work.bins[i].n; keep++)
        perp_lcp_problem_free(&work.bins[i].keep[keep].problem);
      free(work.bins[i].keep);
    }
    perp_rng_destroy(work.rng);
  }
  perp_spec_free(&scene);
  return done == PERP_OK ? PERP_EXIT_OK : perp_refuse(ctx, perp_exit_of(done));
}

static const perp_flag lcp_harvest_flags[] = {
  { "lcp", 0, "NAME", "Solver of the simulation (default: that of the scene)." },
  { "contact", 0, "NAME", "Contact and friction model; it determines the rows of the problems." },
  { "stab", 0, "NAME", "Constraint stabilization of the simulation." },
  { "formulation", 0, "NAME", "Formulation of the dynamics." },
  { "h", 0, "TIME", "Step of the simulation (default: that of the scene)." },
  { "t-end", 0, "TIME", "End of the simulation (default: that of the scene)." },
  { "size", 0, "N,N,...",
    "Desired numbers of rows, each matched within a factor of 2 (default: 4,16,64,256)." },
  { "per-size", 0, "N",
    "Number of problems of each size, with different active sets (default: 3)." },
  { "hardest", 0, NULL, "Prefer the problems with the most work, unsolved problems first." },
  { "seed", 0, "N", "Seed of the random choice among more problems (default: 1)." },
  { "sequence", 0, "N",
    "Store the problems of N successive steps instead. All islands of a step form one problem, "
    "with the relation of its rows to the previous ones." },
  { "from", 0, "TIME",
    "Start of a sequence: its first step begins at this time or later (default: 0)." },
  { "name", 0, "NAME", "Name of a sequence: files NAME-000.lcp, ... (default: the scene)." },
  { "output", 'o', "DIR", "Folder of the files (default: the current one)." },
  { 0 }
};

const perp_command perp_lcp_harvest_command = {
  .cli.name = "lcp harvest",
  .cli.usage = "SCENE",
  .cli.summary = "Simulates a scene and stores some of its contact problems as .lcp files, or "
                 "those of successive steps as a sequence. The files record provenance, active "
                 "set, rank and condition number.",
  .cli.example =
      "perp lcp harvest stack:boxes=5 --contact cone --lcp block-gs --size 64 -o problems",
  .cli.flags = lcp_harvest_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Store contact problems that occur in a scene",
  .run = cmd_lcp_harvest
};
