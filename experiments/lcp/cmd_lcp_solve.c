/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp solve, perp lcp check */
#include "experiments/lcp/lcp_cmd.h"

#include "experiments/base/guard.h"
#include "solvers/lcp/io/convert.h"
#include "solvers/lcp/io/io.h"
#include "experiments/base/json.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_judgement(const perp_lcp_judgement *judgement)
{
  printf("# rel %.3g  data %.3g  own %.3g  own_data %.3g  abs %.3g  componentwise %.3g  siconos "
         "%.3g  fclib %.3g  abh %.3g",
         judgement->rel, judgement->data, judgement->own, judgement->own_data, judgement->abs,
         judgement->componentwise, judgement->siconos, judgement->fclib, judgement->abh);
  if (judgement->coupling > 0) printf("  coupling %.3g", judgement->coupling);
  printf("\n");
}

static const char *const proof_names[] = { "none", "ray", "none-within", "infeasible", "excluded" };

static const char tol_help[] = "Largest own (part of a row that is left, relative to its terms) of "
                               "a solution (default: 1e-10).";
static const char data_help[] =
    "Largest data (error of w relative to b) of a solution. Not tested by default.";

enum { NOT_SOLVED, UNDECIDED, SOLVED, FIXED_WORK }; /* FIXED_WORK: so many sweeps, no tolerance */
static const char *const verdicts[] = { "not solved", "undecided", "solved", "fixed-work" };
static const char *const json_verdicts[] = { "failed", "undecided", "solved", "fixed-work" };
static int verdict_of(perp_reason reason)
{
  return reason == PERP_CONVERGED     ? SOLVED
         : reason == PERP_UNDECIDED   ? UNDECIDED
         : reason == PERP_SWEEPS_DONE ? FIXED_WORK
                                      : NOT_SOLVED;
}

/* What is asked for. */
struct task {
  perp_ctx *ctx;
  const perp_args *args;
  double tol, tol_data;
  bool json;
  /* of solve */
  const perp_spec *spec;
  int directions; /* friction: -1 cones as they are, 0 boxes around them, N pyramids */
};

/* -1 to go on, else the exit status */
static int task_read(perp_ctx *ctx, const perp_args *args, struct task *task)
{
  *task = (struct task){ .ctx = ctx, .args = args, .tol = 1e-10, .directions = -1 };
  task->json = perp_option_given(args, "json");
  int status = perp_lcp_memory(ctx, args);
  if (status < 0) status = perp_option_real(ctx, args, "tol", "", false, &task->tol);
  return status >= 0 ? status : perp_option_real(ctx, args, "tol-data", "", false, &task->tol_data);
}

/* figures and tolerances in one text: "residual 1e-12 (tol 1e-10), data 1e-9 (tol 1e-6)" */
static const char *cmd_lcp_solve_figures(const struct task *task, double rel, double data,
                                         char text[128])
{
  int at = snprintf(text, 128, "residual %.3g (tol %.3g), data %.3g", rel, task->tol, data);
  if (task->tol_data > 0) snprintf(text + at, 128 - (size_t)at, " (tol %.3g)", task->tol_data);
  return text;
}

/* ---- solve ---- */

static void print_event(void *user, const perp_trace_event *event)
{
  FILE *file = user;
  fprintf(file, "%s %s %d", event->method, event->what, event->iteration);
  if (event->entering >= 0) fprintf(file, " enters %d", event->entering);
  if (event->leaving >= 0) fprintf(file, " leaves %d", event->leaving);
  if (event->step != 0) fprintf(file, " step %.6g", event->step);
  if (!isnan(event->residual)) fprintf(file, " residual %.6g", event->residual);
  if (event->state != NULL && event->n <= 64) {
    fputs(" sets ", file);
    for (int i = 0; i < event->n; i++)
      fputc(event->state[i] == PERP_ROW_LO   ? '-'
            : event->state[i] == PERP_ROW_HI ? '+'
                                             : 'o',
            file);
  }
  fputc('\n', file);
}

struct solution {
  perp_pool pool; /* of its arrays */
  perp_stats stats;
  perp_lcp_judgement judgement;
  perp_lcp_proof proof;
  const double *certificate; /* [rows] */
  int rows;                  /* of the problem that was solved */
  double radius, seconds;
  double *lambda, *w;
  const perp_lcp *problem;           /* that sensitivity belongs to, */
  perp_lcp_sensitivity *sensitivity; /* NULL: not asked, or not solved */
  const char *friction;              /* how the cones were solved; NULL: as they are */
  perp_lcp_judgement cone;           /* of the answer on the cones, where friction is set */
};

static void print_proof(const struct solution *solution)
{
  if (solution->proof == PERP_PROOF_EXCLUDED)
    printf(
        "# proof: no solution exists; every choice of free rows is excluded in exact arithmetic\n");
  else if (solution->certificate == NULL)
    return;
  else if (solution->proof == PERP_PROOF_INFEASIBLE)
    printf("# certificate: no solution exists, verified in exact arithmetic (--json prints the "
           "vector)\n");
  else if (solution->proof == PERP_PROOF_WITHIN)
    printf("# certificate: no solution with |lambda|_1 < %.3g exists; larger ones are unknown\n",
           solution->radius);
  else
    printf("# certificate: a ray of Lemke's path, which proves nothing for this class of A\n");
}

static void print_solution(const struct task *task, int n, const struct solution *solution)
{
  char name[512], text[128];
  perp_spec_format(task->spec, name, sizeof name);
  if (task->json) {
    const perp_stats *stats = &solution->stats;
    perp_json json = { .out = stdout };
    perp_json_members(&json, "{ status %s, reason %s, residual %g, data %g, iterations %d",
                      json_verdicts[verdict_of(stats->reason)], perp_reason_name(stats->reason),
                      stats->residual, stats->data, stats->iterations);
    perp_json_reals(&json, "lambda", solution->lambda, n);
    perp_json_reals(&json, "w", solution->w, n);
    perp_json_members(&json, "lcp %s, tol %g", name, task->tol);
    if (task->tol_data > 0) perp_json_real(&json, "tol_data", task->tol_data);
    perp_json_members(&json, "seconds %g, factorizations %d, work %g, matvecs %lld, fallbacks %d",
                      solution->seconds, stats->factorizations, stats->work,
                      (long long)stats->matvecs, stats->fallbacks);
    perp_lcp_json_judgement(&json, "judgement", &solution->judgement);
    if (solution->friction != NULL) {
      perp_json_members(&json, "friction %s, cone_residual %g", solution->friction,
                        perp_lcp_residual(&(perp_lcp){ 0 }, &solution->cone));
      perp_lcp_json_judgement(&json, "cone_judgement", &solution->cone);
    }
    if (solution->proof != PERP_PROOF_NONE) {
      perp_json_members(&json, "certificate: { proves %s", proof_names[solution->proof]);
      if (solution->proof == PERP_PROOF_WITHIN) perp_json_real(&json, "radius", solution->radius);
      if (solution->certificate != NULL)
        perp_json_reals(&json, "z", solution->certificate, solution->rows);
      perp_json_close(&json, '}');
    }
    if (solution->sensitivity != NULL)
      perp_lcp_json_sensitivity(&json, solution->problem, solution->sensitivity);
    perp_json_close(&json, '}');
    printf("\n");
    return;
  }
  printf("# %s by %s: %s, %s, %d iterations, %.3g s\n",
         verdicts[verdict_of(solution->stats.reason)], name,
         perp_reason_name(solution->stats.reason),
         cmd_lcp_solve_figures(task, solution->stats.residual, solution->stats.data, text),
         solution->stats.iterations, solution->seconds);
  print_judgement(&solution->judgement);
  if (solution->friction != NULL) {
    printf("# solved as %s; lambda contains contact forces; on the circular cones:\n",
           solution->friction);
    print_judgement(&solution->cone);
  }
  print_proof(solution);
  for (int i = 0; i < n; i++) {
    perp_format_real(solution->lambda[i], text, sizeof text);
    printf("%s\n", text);
  }
  if (solution->sensitivity != NULL)
    perp_lcp_print_sensitivity(solution->problem, solution->sensitivity);
}

/* The answer of a box or pyramid problem on the contacts with their cones. */
static void judge_on_cones(const perp_lcp_problem *problem, int directions,
                           struct solution *solution)
{
  int n = problem->p.n;
  double *lambda = perp_pool_alloc(&solution->pool, (size_t)n + 1, sizeof *lambda);
  double *w = perp_pool_alloc(&solution->pool, (size_t)n + 1, sizeof *w);
  if (directions > 0)
    perp_lcp_pyramid_back(&problem->p, directions, solution->lambda, lambda);
  else
    memcpy(lambda, solution->lambda, (size_t)n * sizeof *lambda);
  perp_lcp_judge(&problem->p, lambda, w, perp_lcp_room(&solution->pool, &problem->p),
                 &solution->cone);
  solution->lambda = lambda;
  solution->w = w;
}

/* What was not solved has numbers whose products leave the range of double: that is the cause, and
 * no reason of a method says it.  Of A as numbers, dense or sparse. */
static void print_scale(const perp_lcp *lcp)
{
  double least = HUGE_VAL, most = 0;
  const size_t n = (size_t)lcp->n;
  for (size_t k = 0; k < n * (n + 1); k++) {
    const double v = fabs(k < n            ? lcp->b[k]
                          : lcp->A != NULL ? lcp->A[(k - n) % n + (k - n) / n * (size_t)lcp->lda]
                                           : 0);
    if (v > 0) least = fmin(least, v);
    most = fmax(most, v);
  }
  for (int k = 0; lcp->C != NULL && k < lcp->C->start[lcp->n]; k++) {
    const double v = fabs(lcp->C->value[k]);
    if (v > 0) least = fmin(least, v);
    most = fmax(most, v);
  }
  if (least < 1e-150 || most > 1e150)
    perp_say("the numbers of A and b are from %g to %g in size: their products leave the range of "
             "double numbers. Scale the problem: multiply rows of A and b, or --equilibrate",
             least, most);
}

/* p: what is solved; contacts: where it comes from, NULL when it is the problem itself. */
static int solve_problem(const struct task *task, const perp_lcp_problem *p,
                         const perp_lcp_problem *contacts)
{
  perp_ctx *ctx = task->ctx;
  int n = p->p.n, nv = p->p.F != NULL ? p->p.F->nv : 0;
  struct solution solution = { .rows = n };
  perp_lcp problem = p->p;
  problem.tol_data = task->tol_data;
  perp_lcp_solver *solver = NULL;
  solution.lambda = perp_pool_alloc(&solution.pool, (size_t)n + 1, sizeof *solution.lambda);
  solution.w = perp_pool_alloc(&solution.pool, (size_t)n + 1, sizeof *solution.w);
  const char *guess = perp_args_get(task->args, "guess");
  perp_status status = perp_lcp_affords_form(task->ctx, task->spec->d, &(p)->p);
  if (status == PERP_OK && guess != NULL)
    status = perp_lcp_read_vector(ctx, guess, n, solution.lambda);
  if (status == PERP_OK) status = perp_lcp_create(ctx, task->spec, n, nv, &solver);
  if (status == PERP_OK && perp_option_given(task->args, "equilibrate"))
    status = perp_lcp_equilibrate(ctx, solver, true);
  if (perp_option_given(task->args, "trace")) {
    ctx->trace = print_event;
    ctx->trace_user = stderr;
  }
  if (status == PERP_OK) {
    ctx->msg[0] = '\0';
    double start = perp_clock_thread();
    status = perp_lcp_solve(ctx, solver, &problem, task->tol, solution.lambda, solution.w,
                            &solution.judgement, &solution.stats);
    solution.seconds = perp_clock_thread() - start;
  }
  ctx->trace = NULL;
  int exit_status;
  perp_lcp_sensitivity sensitivity;
  if (status == PERP_OK && perp_option_given(task->args, "sensitivity") &&
      verdict_of(solution.stats.reason) == SOLVED) {
    status = perp_lcp_sensitivity_of(ctx, p, solution.lambda, &solution.pool, &sensitivity);
    solution.problem = &p->p;
    solution.sensitivity = &sensitivity;
  }
  if (status == PERP_OK) {
    solution.proof = perp_lcp_proved(solver);
    solution.certificate = perp_lcp_certificate(solver);
    if (solution.certificate != NULL)
      perp_lcp_prove(&p->p, solution.certificate, &solution.radius,
                     perp_lcp_room(&solution.pool, &p->p));
    if (contacts != NULL) {
      solution.friction = perp_args_get(task->args, "friction");
      judge_on_cones(contacts, task->directions, &solution);
    }
    print_solution(task, contacts != NULL ? contacts->p.n : n, &solution);
    if (solution.stats.reason == PERP_UNSUITED && ctx->msg[0] != '\0') perp_say("%s", ctx->msg);
    if (verdict_of(solution.stats.reason) < SOLVED) print_scale(&p->p);
    exit_status = verdict_of(solution.stats.reason) >= SOLVED ? PERP_EXIT_OK : PERP_EXIT_FAILED;
  } else
    exit_status = perp_lcp_refuse(ctx, status);
  perp_lcp_destroy(solver);
  perp_pool_free(&solution.pool);
  return exit_status;
}

/* --friction box or pyramid:N; -1 to go on, or the exit status. */
static int cmd_lcp_solve_read_friction(struct task *task)
{
  const char *text = perp_args_get(task->args, "friction");
  int64_t n = 0;
  if (text == NULL || strcmp(text, "cone") == 0) return -1;
  if (strcmp(text, "box") != 0) {
    if (strncmp(text, "pyramid:", 8) != 0)
      return perp_usage_error(task->args,
                              "--friction must be one of cone | box | pyramid:N: got %s", text);
    if (perp_parse_int(task->ctx, text + 8, 3, 64, &n) != PERP_OK)
      return perp_usage_of(task->ctx, task->args, "--friction: %s", task->ctx->msg);
  }
  task->directions = (int)n;
  return -1;
}

static int solve_one(const struct task *task, const perp_lcp_problem *problem,
                     const perp_lcp_problem *contacts)
{
  if (perp_option_given(task->args, "all"))
    return perp_lcp_print_all(task->ctx, problem, contacts, task->directions, task->tol,
                              task->tol_data, task->json);
  return solve_problem(task, problem, contacts);
}

/* --all finds every solution, --sensitivity needs the rows of the problem: -1, or the exit status.
 */
static int cmd_lcp_solve_allowed(const struct task *task)
{
  static const char *const of_one[] = { "lcp", "guess", "equilibrate", "trace", "sensitivity" };
  const bool all = perp_option_given(task->args, "all");
  for (size_t k = 0; all && k < sizeof of_one / sizeof *of_one; k++)
    if (perp_option_given(task->args, of_one[k]))
      return perp_usage_error(task->args,
                              "--all enumerates every solution: --%s has no effect; leave it out",
                              of_one[k]);
  if (perp_option_given(task->args, "sensitivity") && task->directions > 0)
    return perp_usage_error(task->args,
                            "--sensitivity is of the rows of the problem, which pyramids "
                            "replace; use --friction box");
  return -1;
}

static int solve_as(const struct task *task, const perp_lcp_problem *p)
{
  if (task->directions < 0) return solve_one(task, p, NULL);
  perp_lcp_problem dense = { 0 }, q = { 0 };
  perp_status made = perp_lcp_problem_form(task->ctx, p, &dense);
  if (made == PERP_OK)
    made = task->directions > 0 ? perp_lcp_pyramid(task->ctx, &dense, task->directions, &q)
                                : perp_lcp_boxes(task->ctx, &dense, 1, &q);
  const int status = made == PERP_OK ? solve_one(task, &q, &dense)
                                     : perp_lcp_refuse(task->ctx, made);
  perp_lcp_problem_free(&q);
  perp_lcp_problem_free(&dense);
  return status;
}

/* What is said of a solver that ended its process. */
static int tell_end(const perp_guard *guard, bool json)
{
  const char *reason = guard->cut == PERP_CUT_CRASH    ? "crash"
                       : guard->cut == PERP_CUT_MEMORY ? "out-of-memory"
                                                       : "interrupted";
  if (json) {
    perp_json out = { .out = stdout };
    perp_json_object(&out, NULL, "status %s, reason %s, message %s", "failed", reason,
                     guard->cause);
    printf("\n");
  } else
    printf("# not solved: %s: %s\n", reason, guard->cause);
  return guard->cut == PERP_CUT_CRASH || guard->cut == PERP_CUT_MEMORY ? PERP_EXIT_INFRA
                                                                       : PERP_EXIT_FAILED;
}

/* Solve in a process of its own: outside code may do anything to it. */
static int solve_apart(const struct task *task, const perp_lcp_problem *problem)
{
  perp_guard guard;
  if (perp_guard_begin(task->ctx, 0, 0, &guard) != PERP_OK)
    return perp_lcp_refuse(task->ctx, PERP_ERR_INTERNAL);
  if (guard.child) return perp_guard_leave(&guard, solve_as(task, problem));
  const int status = guard.cut == PERP_CUT_NONE ? guard.code : tell_end(&guard, task->json);
  perp_guard_free(&guard);
  return status;
}

static int cmd_lcp_solve(perp_ctx *ctx, const perp_args *args)
{
  struct task task;
  perp_spec spec;
  perp_lcp_problem problem;
  int status = task_read(ctx, args, &task);
  if (status < 0) status = cmd_lcp_solve_read_friction(&task);
  if (status < 0) status = cmd_lcp_solve_allowed(&task);
  if (status >= 0) return status;
  const char *name = perp_args_get(args, "lcp");
  if (perp_spec_parse(ctx, PERP_KIND_lcp, name != NULL ? name : "auto", &spec) != PERP_OK)
    return perp_lcp_refuse(ctx, PERP_ERR_OPTION);
  task.spec = &spec;
  status = perp_lcp_open(ctx, args->arg[0], &problem);
  if (status < 0) {
    const bool friction = perp_lcp_needs(&problem.p) & (PERP_LCP_FRICTION | PERP_LCP_CONE);
    status = friction || !perp_option_given(args, "friction")
                 ? solve_apart(&task, &problem)
                 : perp_usage_error(
                       args, "--friction has no effect: %s has no friction rows; leave it out",
                       args->arg[0]);
    perp_lcp_problem_free(&problem);
  }
  perp_spec_free(&spec);
  return status;
}

static const perp_flag lcp_solve_flags[] = {
  { "lcp", 0, "NAME[:OPTIONS]", "Solver of the problem (perp list lcp; default: auto)." },
  { "tol", 0, "TOL", tol_help },
  { "tol-data", 0, "TOL", data_help },
  { "guess", 0, "FILE", "File with multipliers to start from." },
  { "friction", 0, "KIND",
    "Treatment of friction: circular cones (cone), boxes around them (box), or pyramids of N "
    "directions (pyramid:N). The result is always checked on the cones, too." },
  { "equilibrate", 0, NULL,
    "Scale rows and columns before solving; the result is checked unscaled." },
  { "all", 0, NULL,
    "Find all solutions by enumeration of index sets (at most 20 rows and 2^22 sets; cones: with "
    "--friction), and the sets that they form." },
  { "sensitivity", 0, NULL,
    "Derivatives of the solution by b, by A and by bounds, and the interval of each b_i in which "
    "they hold. Reports where they do not exist." },
  { "trace", 0, NULL, "Print every pivot, sweep and Newton step on standard error." },
  { "json", 0, NULL, "Print one JSON object." },
  PERP_LCP_MEMORY_FLAG,
  { 0 }
};

const perp_command perp_lcp_solve_command = {
  .cli.name = "lcp solve",
  .cli.usage = "FILE|- [--lcp NAME]",
  .cli.summary = "Solves one complementarity problem and checks the solution. Reads .lcp, JSON, "
                 "Matrix Market, Siconos .dat and fclib HDF5 files.",
  .cli.more = "Exit status: 0 solved, or the requested number of sweeps made (fixed-work). 10: not "
              "solved or undecided; the best iterate and the reason are printed. 5: the solver "
              "crashed. 2: wrong usage. 3: invalid file.",
  .cli.example = "perp lcp generate stack --n 64 | perp lcp solve -",
  .cli.flags = lcp_solve_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Solve a problem file and check the solution",
  .run = cmd_lcp_solve
};

/* ---- check ---- */

/* The largest bound of |lambda_i - x_i|, x the one solution; NaN where nothing is shown. */
enum { DISTANCE_ROWS = 1000 };
static double distance_of(const perp_lcp *lcp, const double *x, perp_pool *pool,
                          perp_lcp_near *shown)
{
  double *bound = perp_pool_alloc(pool, (size_t)lcp->n + 1, sizeof *bound), most = 0;
  *shown = lcp->n > 0 && lcp->n <= DISTANCE_ROWS ? perp_lcp_distance(lcp, x, bound)
                                                 : PERP_NEAR_UNKNOWN;
  if (*shown == PERP_NEAR_UNKNOWN) return (double)NAN;
  for (int i = 0; i < lcp->n; i++) most = fmax(most, bound[i]);
  return most;
}

static int judge_vector(const struct task *task, const perp_lcp_problem *lcp_problem,
                        const double *x)
{
  static const char *const kinds[] = {
    [PERP_NEAR_DOMINANT] = "dominant", [PERP_NEAR_DEFINITE] = "definite"
  };
  int n = lcp_problem->p.n;
  perp_pool pool = { 0 };
  double *w = perp_pool_alloc(&pool, (size_t)n + 1, sizeof *w);
  perp_lcp_judgement judgement;
  perp_lcp problem = lcp_problem->p;
  problem.tol_data = task->tol_data;
  perp_lcp_judge(&problem, x, w, perp_lcp_room(&pool, &lcp_problem->p), &judgement);
  const int verdict = verdict_of(perp_lcp_verdict(&problem, task->tol, &judgement));
  perp_lcp_near shown;
  const double distance = distance_of(&problem, x, &pool, &shown);
  if (task->json) {
    perp_json json = { .out = stdout };
    perp_json_members(&json, "{ status %s, residual %g, data %g, tol %g", json_verdicts[verdict],
                      perp_lcp_residual(&problem, &judgement), judgement.data, task->tol);
    if (task->tol_data > 0) perp_json_real(&json, "tol_data", task->tol_data);
    perp_lcp_json_judgement(&json, "judgement", &judgement);
    if (shown != PERP_NEAR_UNKNOWN)
      perp_json_members(&json, "distance %g, matrix %s", distance, kinds[shown]);
    perp_json_reals(&json, "w", w, n);
    perp_json_close(&json, '}');
    printf("\n");
  } else {
    char text[128];
    printf(
        "# %s: %s\n", verdicts[verdict],
        cmd_lcp_solve_figures(task, perp_lcp_residual(&problem, &judgement), judgement.data, text));
    print_judgement(&judgement);
    if (shown != PERP_NEAR_UNKNOWN)
      printf("# largest distance to the one solution: %.3g or less (A is %s)\n", distance,
             kinds[shown]);
  }
  perp_pool_free(&pool);
  return verdict == SOLVED ? PERP_EXIT_OK : PERP_EXIT_FAILED;
}

static int verify_vector(const perp_lcp_problem *problem, const double *z, bool json)
{
  perp_pool pool = { 0 };
  double radius;
  perp_lcp_proof proof = perp_lcp_prove(&problem->p, z, &radius, perp_lcp_room(&pool, &problem->p));
  perp_pool_free(&pool);
  if (json) {
    perp_json out = { .out = stdout };
    perp_json_members(&out, "{ proves %s", proof_names[proof]);
    if (proof == PERP_PROOF_WITHIN) perp_json_real(&out, "radius", radius);
    perp_json_close(&out, '}');
    printf("\n");
  } else if (proof == PERP_PROOF_INFEASIBLE)
    printf("# proved: no solution exists (verified in exact arithmetic)\n");
  else if (proof == PERP_PROOF_WITHIN)
    printf("# no solution with |lambda|_1 < %.3g exists; larger ones are unknown\n", radius);
  else
    printf("# proves nothing%s\n", proof == PERP_PROOF_RAY ? ": a ray of Lemke's path" : "");
  return proof == PERP_PROOF_INFEASIBLE ? PERP_EXIT_OK : PERP_EXIT_FAILED;
}

static int cmd_lcp_check(perp_ctx *ctx, const perp_args *args)
{
  struct task task;
  perp_lcp_problem problem;
  int status = task_read(ctx, args, &task);
  if (status < 0) status = perp_lcp_open(ctx, args->arg[0], &problem);
  if (status >= 0) return status;
  double *x = perp_xalloc((size_t)problem.p.n + 1, sizeof *x);
  const perp_status read = perp_lcp_read_vector(ctx, args->arg[1], problem.p.n, x);
  if (read != PERP_OK)
    status = perp_lcp_refuse(ctx, read);
  else if (perp_option_given(args, "certificate"))
    status = verify_vector(&problem, x, task.json);
  else
    status = judge_vector(&task, &problem, x);
  free(x);
  perp_lcp_problem_free(&problem);
  return status;
}

static const perp_flag lcp_check_flags[] = {
  { "tol", 0, "TOL", tol_help },
  { "tol-data", 0, "TOL", data_help },
  { "certificate", 0, NULL, "Verify that the vector proves that no solution exists." },
  { "json", 0, NULL, "Print one JSON object." },
  PERP_LCP_MEMORY_FLAG,
  { 0 }
};

const perp_command perp_lcp_check_command = {
  .cli.name = "lcp check",
  .cli.usage = "FILE SOLUTION",
  .cli.summary =
      "Checks multipliers of any source: n numbers, or the JSON of lcp solve. Prints solved, not "
      "solved, or undecided (rounding errors exceed the margin to a tolerance).",
  .cli.more = "Exit status: 0 a solution or a valid certificate, 10 not a solution or undecided, 2 "
              "wrong usage, 3 invalid file.",
  .cli.example = "perp lcp check wall.lcp lambda.txt  # lambda.txt: perp lcp solve wall.lcp --json",
  .cli.flags = lcp_check_flags,
  .cli.min_args = 2,
  .cli.max_args = 2,
  .summary = "Check multipliers, or verify a certificate",
  .run = cmd_lcp_check
};
