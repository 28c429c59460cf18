/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Studies whose cells are complementarity problems: one problem, one solver, one tolerance.
 *
 *   problems:
 *     files: ["problems/cps-?.lcp"]            # shell patterns; relative to here, else to folder
 * (a lesson sets it to its own), else to the tree of perp sequences: [problems/sequences/stack] #
 * patterns too, of the files stack-000.lcp, stack-001.lcp, ... generate: # one map, or a list of
 * them family: [spd, stack]                     # perp lcp generate --help n: [16, 64, 256] # the
 * nearest valid size of each family instances: 5                           # seeds 1 ... 5, for
 * families in which the seed matters factored: false                        # keep J M^-1 J' + S
 * where the family has it peers: true                                # add the solvers of other
 * libraries that are installed accept: { targets: [1e-6, 1e-10] }         # one cell for each:
 * solved means rel <= target
 *
 * Every answer is judged by perp_lcp_judge; a cell is ok when the judge accepts it, or when the
 * solver has a proof that there is no solution (reason infeasible; such a cell has no residual).  A
 * number of sweeps without a test is fixed-work; all else that ends by itself is unsolved, or
 * maxiter. */
#include "experiments/lcp/kind_lcp.h"
#include "experiments/lcp/kind_lcp_sequence.h"

#include "experiments/study/describe.h"
#include "experiments/study/study.h"
#include "experiments/study/plan.h"
#include "experiments/base/shell.h"
#include "solvers/lcp/io/io.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"
#include "solvers/core/shown.h"

#include <glob.h>
#include <math.h>
#include <sys/stat.h>
#include <stdlib.h>
#include <string.h>

enum { P_PROBLEM, P_TOL, P_LCP };
static const perp_param params[] = {
  [P_PROBLEM] = { "problem", "Generated problem (family:n=64,seed=1), file or sequence",
                  PERP_PARAM_TEXT, PERP_KIND_NONE, "", 0, 0, 0, NULL, true },
  [P_TOL] = { "tol", "Tolerance: a problem is solved if rel <= tol", PERP_PARAM_REAL,
              PERP_KIND_NONE, "", 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "1e-08", true },
  [P_LCP] = { "lcp", "Solver (perp list lcp)", PERP_PARAM_PLUGIN, PERP_KIND_lcp, "", 0, 0, 0, NULL,
              false },
  { 0 }
};

static const perp_metric table[] = {
  { "residual", "",
    "Backward error of an answer, each row in its own scale; a problem is solved up to the "
    "tolerance",
    -1, false },
  { "rel", "", "Residual of the scaled natural map relative to lambda", -1, false },
  { "data", "", "Error of w in units of the data b, beyond the rounding of |A||lambda|", -1,
    false },
  { "abs", "", "Largest entry of the natural map", -1, false },
  { "componentwise", "", "Largest entry of the natural map over (|A||lambda| + |b|), row by row",
    -1, false },
  { "merit.siconos", "", "Merit function of Siconos", -1, false },
  { "merit.fclib", "", "Merit function of fclib", -1, false },
  { "merit.abh", "", "Merit function of Acary, Bremond and Huber 2018", -1, false },
  { "rows", "", "Number of rows n", 0, false },
  { "iterations", "", "Pivots, sweeps or Newton steps", -1, false },
  { "factorizations", "", "Numeric factorizations", -1, false },
  { "matvecs", "", "Products with A or equivalent work", -1, false },
  { "fallbacks", "", "Number of times that another method had to continue", -1, false },
  { "work.counted", "", "Multiplications with additions, as counted by the method (lcp.h)", -1,
    false },
  { "time.cpu", "s", "Thread-CPU time of one solve", -1, true },
  { "work.products", "",
    "Thread-CPU time of the solve over that of one product A lambda, the cost of a sweep", -1,
    true },
  { "warm.work.rel", "",
    "Sequences: work.counted of warm starts over that of cold starts, without problem 0", -1,
    false },
  { "warm.iterations.rel", "", "Sequences: iterations of warm starts over those of cold starts", -1,
    false },
  { "warm.time.rel", "", "Sequences: thread-CPU time of warm starts over that of cold starts", -1,
    true },
  { "rows.born", "", "Sequences: share of rows that the previous problem did not have", 0, false },
  { "rows.gone", "", "Sequences: share of rows that the next problem does not have", 0, false },
  { NULL, NULL, NULL, 0, false }
};

static const perp_metric *kind_lcp_metrics(const perp_ctx *ctx, perp_pool *pool)
{
  (void)ctx, (void)pool;
  return table;
}

/* ---- the study: problems and targets become axes ---- */

static const char *const sections[] = { "problems", "accept", "peers", NULL };

/* A value of an axis.  Two may be one: two sizes can have the same nearest valid one. */
static void kind_lcp_add(perp_study *study, perp_names *values, const char *text)
{
  perp_names_index(&study->pool, values, text, -1);
}

/* A scalar is a list of one. */
static const perp_node *kind_lcp_item(const perp_node *node, int i)
{
  return node->type == PERP_NODE_LIST ? node->item[i] : node;
}

static int kind_lcp_items(const perp_node *node)
{
  return node == NULL ? 0 : node->type == PERP_NODE_LIST ? node->n : 1;
}

static bool read_truth(perp_diag *diag, const perp_node *node, const char *name, bool *value)
{
  const char *text = node->type == PERP_NODE_SCALAR ? node->text : "";
  *value = strcmp(text, "true") == 0;
  if (*value || strcmp(text, "false") == 0) return true;
  PERP_WRONG(diag, node, "%s must be true or false", name);
  return false;
}

static bool read_count(perp_ctx *ctx, perp_diag *diag, const perp_node *node, int64_t *value)
{
  if (node->type == PERP_NODE_SCALAR &&
      perp_parse_int(ctx, node->text, 1, 10000000, value) == PERP_OK)
    return true;
  PERP_WRONG(diag, node, "expected a whole number in [1, 10000000]");
  return false;
}

static void add_generated(perp_ctx *ctx, perp_study *study, perp_diag *diag, const perp_node *map,
                          perp_names *problems)
{
  static const char *const keys[] = { "family", "n", "instances", "factored", NULL };
  if (map->type != PERP_NODE_MAP) {
    PERP_WRONG(diag, map, "problems.generate must be a map with family, n and instances");
    return;
  }
  perp_study_check_keys(diag, map, "problems.generate", keys);
  const perp_node *family = perp_tree_get(map, "family"), *node = perp_tree_get(map, "n");
  const perp_node *many = perp_tree_get(map, "instances"), *kept = perp_tree_get(map, "factored");
  if (family == NULL || node == NULL) {
    PERP_WRONG(diag, map, "problems.generate needs family and n");
    return;
  }
  int64_t instances = 1, rows;
  if (many != NULL && !read_count(ctx, diag, many, &instances)) return;
  bool factored = false;
  if (kept != NULL && !read_truth(diag, kept, "factored", &factored)) return;
  for (int f = 0; f < kind_lcp_items(family); f++) {
    const perp_node *name = kind_lcp_item(family, f);
    const perp_lcp_family *known = name->type == PERP_NODE_SCALAR ? perp_lcp_family_find(name->text)
                                                                  : NULL;
    if (known == NULL) {
      perp_diag_error(diag, name, 0, "perp lcp generate --help lists them",
                      "unknown family of problems");
      continue;
    }
    for (int k = 0; k < kind_lcp_items(node); k++) {
      if (!read_count(ctx, diag, kind_lcp_item(node, k), &rows)) return;
      for (int64_t seed = 1; seed <= (known->seeded ? instances : 1); seed++)
        kind_lcp_add(study, problems,
                     perp_pool_printf(&study->pool, "%s:n=%d,seed=%d%s", known->name,
                                      perp_lcp_family_rows(known, (int)rows), (int)seed,
                                      factored && known->factored ? ",factored" : ""));
    }
  }
}

/* What a sequence is named by is what its files begin with. */
static const char first_file[] = "-000.lcp";

/* Problems of one pattern: each is set up before any is solved. */
enum { MOST_FILES = 10000 };

/* Where files may lie whose names do not begin with '/', beside here: problems.folder, and the
 * studies that come with perp. */
static int kind_lcp_dirs(perp_pool *pool, const perp_study *study, const char **dirs)
{
  const perp_node *problems = perp_tree_get(study->root, "problems"),
                  *folder = problems != NULL && problems->type == PERP_NODE_MAP
                                ? perp_tree_get(problems, "folder")
                                : NULL;
  const int own = folder != NULL && folder->type == PERP_NODE_SCALAR;
  if (own) dirs[0] = folder->text;
  return own + perp_study_dirs(pool, dirs + own);
}

/* Those that match; kind: "file" or "sequence". */
static void add_files(perp_study *study, perp_diag *diag, const perp_node *pattern,
                      const char *kind, const char *suffix, perp_names *problems)
{
  if (pattern->type != PERP_NODE_SCALAR) {
    PERP_WRONG(diag, pattern, "expected a file name or pattern");
    return;
  }
  glob_t found;
  perp_pool pool = { 0 };
  const char *dirs[PERP_STUDY_DIRS + 1];
  const char *name = perp_pool_printf(&pool, "%s%s", pattern->text, suffix);
  int n_dirs = kind_lcp_dirs(&pool, study, dirs), failed = glob(name, 0, NULL, &found);
  size_t prefix = 0;
  for (int i = 0; failed == GLOB_NOMATCH && i < n_dirs && pattern->text[0] != '/'; i++) {
    failed = glob(perp_pool_printf(&pool, "%s/%s", dirs[i], name), 0, NULL, &found);
    prefix = strlen(dirs[i]) + 1;
  }
  if (failed != 0)
    PERP_WRONG(diag, pattern, "no file matches '%s'", name);
  else if ((size_t)problems->n + found.gl_pathc > MOST_FILES)
    PERP_WRONG(diag, pattern, "%zu files match '%s', more than %d; divide the study",
               found.gl_pathc, name, MOST_FILES);
  else
    for (size_t i = 0; i < found.gl_pathc; i++) {
      /* a cell is named by its problem: where perp is installed is no part of it */
      const char *path = found.gl_pathv[i] + prefix;
      struct stat st;
      if (stat(found.gl_pathv[i], &st) == 0 && !S_ISREG(st.st_mode))
        PERP_WRONG(diag, pattern, "%s is not a regular file", path);
      else if (!perp_shown_all(path))
        PERP_WRONG(diag, pattern, "the name of the file %s has a control character; rename it",
                   path);
      else
        kind_lcp_add(study, problems,
                     perp_pool_printf(&study->pool, "%s:%.*s", kind,
                                      (int)(strlen(path) - strlen(suffix)), path));
    }
  if (failed == 0) globfree(&found);
  perp_pool_free(&pool);
}

/* Where a sequence begins; NULL: the problem is none. */
static const char *kind_lcp_sequence_of(const char *problem)
{
  const size_t n = strlen("sequence:");
  return strncmp(problem, "sequence:", n) == 0 ? problem + n : NULL;
}

/* The file of a problem, or how those of a sequence begin: as it is named, else in kind_lcp_dirs.
 */
static const char *kind_lcp_file_of(perp_pool *pool, const perp_study *study, const char *problem)
{
  const char *sequence = kind_lcp_sequence_of(problem), *dirs[PERP_STUDY_DIRS + 1];
  const char *name = sequence != NULL ? sequence : problem + strlen("file:");
  const char *suffix = sequence != NULL ? first_file : "";
  if (name[0] == '/' || perp_exists(perp_pool_printf(pool, "%s%s", name, suffix))) return name;
  int n = kind_lcp_dirs(pool, study, dirs);
  for (int i = 0; i < n; i++) {
    const char *path = perp_pool_printf(pool, "%s/%s", dirs[i], name);
    if (perp_exists(perp_pool_printf(pool, "%s%s", path, suffix))) return path;
  }
  return name;
}

/* Append the solvers of other libraries to the axis of solvers. */
static void add_peers(perp_ctx *ctx, perp_study *study, perp_diag *diag, const perp_node *node)
{
  bool on;
  read_truth(diag, node, "peers", &on);
  for (int a = 0; on && a < study->n_axes; a++) {
    if (study->axes[a].param != P_LCP) continue;
    perp_axis *axis = &study->axes[a];
    perp_names solvers = { 0 };
    for (int i = 0; i < axis->n; i++) kind_lcp_add(study, &solvers, axis->value[i].text);
    const int named = axis->n;
    const perp_desc *desc;
    for (int i = 0; (desc = perp_plugin_at(ctx, PERP_KIND_lcp, i)) != NULL; i++)
      if (desc->caps & PERP_LCP_PEER) kind_lcp_add(study, &solvers, desc->name);
    const perp_node **at = perp_pool_alloc(&study->pool, (size_t)solvers.n, sizeof *at);
    for (int i = 0; i < named && axis->at != NULL; i++) at[i] = axis->at[i];
    perp_study_set_axis(study, axis, solvers.text, solvers.n);
    axis->at = at;
  }
}

static void kind_lcp_read_study(perp_ctx *ctx, perp_study *study, perp_diag *diag)
{
  static const char *const problem_keys[] = { "files", "sequences", "generate", "folder", NULL };
  static const char *const accept_keys[] = { "targets", NULL };
  const perp_node *problems = perp_tree_get(study->root, "problems");
  const perp_node *accept = perp_tree_get(study->root, "accept");
  if (problems == NULL || problems->type != PERP_NODE_MAP) {
    PERP_WRONG(diag, problems,
               "a study of kind lcp needs a map `problems` with files, sequences or generate");
    return;
  }
  perp_study_check_keys(diag, problems, "problems", problem_keys);
  perp_names names = { 0 };
  const perp_node *generate = perp_tree_get(problems, "generate");
  const perp_node *files = perp_tree_get(problems, "files");
  for (int i = 0; i < kind_lcp_items(files); i++)
    add_files(study, diag, kind_lcp_item(files, i), "file", "", &names);
  const perp_node *sequences = perp_tree_get(problems, "sequences");
  for (int i = 0; i < kind_lcp_items(sequences); i++)
    add_files(study, diag, kind_lcp_item(sequences, i), "sequence", first_file, &names);
  for (int i = 0; i < kind_lcp_items(generate); i++)
    add_generated(ctx, study, diag, kind_lcp_item(generate, i), &names);
  if (diag->errors > 0) return;
  if (names.n == 0) {
    PERP_WRONG(diag, problems, "no problem is named; use files, sequences or generate");
    return;
  }
  perp_study_add_axis(study, P_PROBLEM, names.text, names.n);

  const perp_node *peers = perp_tree_get(study->root, "peers");
  if (peers != NULL) add_peers(ctx, study, diag, peers);

  if (accept == NULL) return;
  if (accept->type != PERP_NODE_MAP) {
    PERP_WRONG(diag, accept, "accept must be a map with targets");
    return;
  }
  perp_study_check_keys(diag, accept, "accept", accept_keys);
  perp_names targets = { 0 };
  const perp_node *list_node = perp_tree_get(accept, "targets");
  for (int i = 0; i < kind_lcp_items(list_node); i++) {
    const perp_node *node = kind_lcp_item(list_node, i);
    const char *text = node->type == PERP_NODE_SCALAR
                           ? perp_param_canonical(ctx, &study->pool, diag, &params[P_TOL], node,
                                                  node->text)
                           : NULL;
    if (text != NULL) kind_lcp_add(study, &targets, text);
  }
  if (targets.n > 0) perp_study_add_axis(study, P_TOL, targets.text, targets.n);
}

/* ---- one cell ---- */

perp_status perp_kind_lcp_problem(perp_ctx *ctx, const perp_study *study, const char *text,
                                  perp_lcp_problem *problem)
{
  if (strncmp(text, "file:", 5) == 0) {
    perp_pool pool = { 0 };
    perp_status status = perp_lcp_read(ctx, kind_lcp_file_of(&pool, study, text), problem);
    perp_pool_free(&pool);
    return status;
  }
  char family[64];
  int n, seed, used = 0;
  if (sscanf(text, "%63[^:]:n=%d,seed=%d%n", family, &n, &seed, &used) != 3)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "'%s' names no problem", text);
  perp_lcp_recipe recipe = {
    .family = family, .n = n, .seed = (uint64_t)seed, .factored = text[used] != '\0'
  };
  return perp_lcp_generate(ctx, &recipe, problem);
}

/* Residuals that the solver tells while it works, for the series. */
struct history {
  FILE *out;
  int last;
};

static void kind_lcp_remember(void *user, const perp_trace_event *event)
{
  struct history *history = user;
  if (isnan(event->residual) || event->iteration <= history->last) return;
  history->last = event->iteration;
  fprintf(history->out, "%d,%.17g\n", event->iteration, event->residual);
}

struct work {
  perp_ctx *ctx;
  perp_lcp_solver *solver;
  const perp_spec *spec;
  const perp_lcp *p;
  double tol;
  double *lambda, *w, *scratch;
  perp_stats stats;
  perp_lcp_judgement judgement;
  perp_lcp_judgement *wanted; /* NULL while timing: only rel is worked out then */
  perp_status status;
};

static void kind_lcp_solve(void *user)
{
  struct work *work = user;
  memset(work->lambda, 0, (size_t)work->p->n * sizeof *work->lambda);
  work->status = perp_lcp_solve(work->ctx, work->solver, work->p, work->tol, work->lambda, work->w,
                                work->wanted, &work->stats);
}

static void kind_lcp_product(void *user)
{
  const struct work *work = user;
  perp_lcp_product(work->p, work->lambda, work->w, work->scratch);
}

static void kind_lcp_measure(const perp_job *job, struct work *work, perp_outcome *out)
{
  char *part = job->series_path != NULL && !job->timing ? perp_growing_path(job->series_path)
                                                        : NULL;
  FILE *series = part != NULL ? perp_growing_open(part) : NULL;
  struct history history = { series, -1 };
  if (series != NULL) {
    setvbuf(series, NULL, _IOLBF, 1 << 12); /* a kill leaves what was told so far */
    fprintf(series, "iteration,rel\n");
    work->ctx->trace = kind_lcp_remember;
    work->ctx->trace_user = &history;
  }
  work->wanted = &work->judgement;
  work->ctx->msg[0] = '\0';
  kind_lcp_solve(work);
  work->ctx->trace = NULL;
  if (series != NULL) fclose(series);
  if (part != NULL) perp_growing_name(part, job->series_path);
  free(part);

  snprintf(out->reason, sizeof out->reason, "%s", perp_reason_name(work->stats.reason));
  if (work->status != PERP_OK) {
    perp_kind_lcp_failed(work->ctx, work->status, out);
    return;
  }
  const bool told = work->ctx->msg[0] != '\0', proved = work->stats.reason == PERP_INFEASIBLE;
  const bool solved = work->stats.reason == PERP_CONVERGED || proved;
  out->status = solved                                   ? PERP_CELL_OK
                : work->stats.reason == PERP_SWEEPS_DONE ? PERP_CELL_FIXED_WORK
                : work->stats.reason == PERP_MAX_ITER    ? PERP_CELL_MAXITER
                : work->stats.reason == PERP_UNSUITED    ? PERP_CELL_UNSUITED
                                                         : PERP_CELL_UNSOLVED;
  out->problems = 1;
  out->unsolved = !solved && out->status != PERP_CELL_FIXED_WORK;
  out->swept = out->status == PERP_CELL_FIXED_WORK;
  if (!solved && told &&
      (work->stats.reason == PERP_INVALID_STATE || work->stats.reason == PERP_UNSUITED))
    snprintf(out->cause, sizeof out->cause, "%s", work->ctx->msg);
  else if (!solved)
    snprintf(out->cause, sizeof out->cause, "%s after %d iterations, residual %.3g", out->reason,
             work->stats.iterations, work->stats.residual);
  const perp_lcp_judgement *judgement = &work->judgement;
  const perp_stats *stats = &work->stats;
  const double value[] = { perp_lcp_residual(work->p, judgement),
                           judgement->rel,
                           judgement->data,
                           judgement->abs,
                           judgement->componentwise,
                           judgement->siconos,
                           judgement->fclib,
                           judgement->abh,
                           work->p->n,
                           stats->iterations,
                           stats->factorizations,
                           (double)stats->matvecs,
                           stats->fallbacks,
                           stats->work };
  const size_t first = proved ? 8 : 0; /* a proof leaves nothing to judge: from `rows` on */
  for (size_t i = first; i < sizeof value / sizeof *value; i++)
    perp_outcome_add(out, table[i].name, value[i]);
  if (!solved) return; /* how long a failure took is no time to solution */
  if (!job->timing && job->study->measure.repeats > 0) return; /* timing rounds follow */
  work->wanted = NULL;
  const perp_status replaced = perp_kind_lcp_in_place(
      work->ctx, work->spec, work->p->n, work->p->F != NULL ? work->p->F->nv : 0, &work->solver);
  if (replaced != PERP_OK) {
    perp_kind_lcp_failed(work->ctx, replaced, out);
    return;
  }
  perp_clock_reference pace;
  perp_clock_reference_begin(&pace);
  double seconds = perp_kind_lcp_timed(kind_lcp_solve, work, 20e-3, &pace);
  out->pace = perp_clock_reference_end(&pace);
  double unit = perp_kind_lcp_timed(kind_lcp_product, work, 5e-3, &pace);
  perp_outcome_add(out, "time.cpu", seconds);
  perp_outcome_add(out, "work.products", seconds / unit);
}

static void kind_lcp_run_sequence(perp_ctx *ctx, const perp_job *job, perp_outcome *out)
{
  perp_pool pool = { 0 };
  perp_spec spec = { 0 };
  const perp_status status = perp_spec_parse(ctx, PERP_KIND_lcp, job->cell->value[P_LCP].text,
                                             &spec);
  if (status == PERP_OK)
    perp_kind_lcp_sequence(ctx, job, &spec,
                           kind_lcp_file_of(&pool, job->study, job->cell->value[P_PROBLEM].text),
                           job->cell->value[P_TOL].number, out);
  else
    perp_kind_lcp_failed(ctx, status, out);
  perp_spec_free(&spec);
  perp_pool_free(&pool);
}

static void kind_lcp_run(perp_ctx *ctx, const perp_job *job, perp_outcome *out)
{
  if (kind_lcp_sequence_of(job->cell->value[P_PROBLEM].text) != NULL) {
    kind_lcp_run_sequence(ctx, job, out);
    return;
  }
  perp_lcp_problem problem = { 0 };
  perp_spec spec = { 0 };
  struct work work = {
    .ctx = ctx, .spec = &spec, .p = &problem.p, .tol = job->cell->value[P_TOL].number
  };
  perp_status status = perp_kind_lcp_problem(ctx, job->study, job->cell->value[P_PROBLEM].text,
                                             &problem);
  if (status == PERP_OK)
    status = perp_spec_parse(ctx, PERP_KIND_lcp, job->cell->value[P_LCP].text, &spec);
  int n = problem.p.n, nv = problem.p.F != NULL ? problem.p.F->nv : 0;
  if (status == PERP_OK) status = perp_lcp_affords_form(ctx, spec.d, work.p);
  if (status == PERP_OK) status = perp_lcp_create(ctx, &spec, n, nv, &work.solver);
  if (status == PERP_OK && job->what == PERP_JOB_SETUP) {
    /* a solver may say beforehand that the problem is none of its own */
    const char *what = perp_lcp_unsuited(spec.d, work.p);
    out->status = what == NULL ? PERP_CELL_OK : PERP_CELL_SETUP_FAILED;
    if (what != NULL) {
      snprintf(out->reason, sizeof out->reason, "unsuited");
      snprintf(out->cause, sizeof out->cause, "%s does not serve %s", spec.d->name, what);
    }
  } else if (status == PERP_OK) {
    perp_pool room = { 0 };
    work.lambda = perp_pool_alloc(&room, (size_t)n, sizeof *work.lambda);
    work.w = perp_pool_alloc(&room, (size_t)n, sizeof *work.w);
    work.scratch = perp_pool_alloc(&room, PERP_LCP_SCRATCH(n, nv), sizeof *work.scratch);
    kind_lcp_measure(job, &work, out);
    perp_pool_free(&room);
  } else
    perp_kind_lcp_failed(ctx, status, out);
  perp_lcp_destroy(work.solver);
  perp_spec_free(&spec);
  perp_lcp_problem_free(&problem);
}

static double kind_lcp_work(const perp_study *study, const perp_cell *cell)
{
  (void)study;
  const char *rows = strstr(cell->value[P_PROBLEM].text, ":n=");
  double n;
  return rows == NULL || perp_real_at(rows + 3, &n) == NULL ? 100 : 20 + 1e-2 * n * n;
}

static void kind_lcp_command(const perp_study *study, const perp_cell *cell, perp_text *out)
{
  char family[64];
  int n, seed;
  const char *problem = cell->value[P_PROBLEM].text;
  if (sscanf(problem, "%63[^:]:n=%d,seed=%d", family, &n, &seed) == 3) {
    const perp_lcp_family *lcp_family = perp_lcp_family_find(family);
    perp_text_add(out, "perp lcp generate ");
    perp_shell_path(out, family);
    perp_text_add(out, " --n %d", n);
    if (lcp_family == NULL || lcp_family->seeded) perp_text_add(out, " --seed %d", seed);
    perp_text_add(out, "%s | perp lcp solve -",
                  strstr(problem, ",factored") != NULL ? " --factored" : "");
  } else {
    perp_pool pool = { 0 };
    perp_text_add(out, "perp lcp %s ",
                  kind_lcp_sequence_of(problem) != NULL ? "sequence" : "solve");
    perp_shell_path(out, kind_lcp_file_of(&pool, study, problem));
    perp_pool_free(&pool);
  }
  perp_text_add(out, " --lcp ");
  perp_shell_word(out, cell->value[P_LCP].text);
  perp_text_add(out, " --tol ");
  perp_shell_word(out, cell->value[P_TOL].text);
}

const perp_cell_kind perp_kind_lcp = { .name = "lcp",
                                       .params = params,
                                       .sections = sections,
                                       .metrics = kind_lcp_metrics,
                                       .read = kind_lcp_read_study,
                                       .run = kind_lcp_run,
                                       .tries = true,
                                       .work = kind_lcp_work,
                                       .command = kind_lcp_command };
