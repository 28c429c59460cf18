/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/lcp/lcp_cmd.h"

#include "experiments/runner/cli.h"
#include "experiments/runner/util.h"
#include "solvers/lcp/convert.h"
#include "solvers/lcp/io.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Exit status that belongs to a failed call on a problem file. */
static int refuse(perp_ctx *ctx, perp_status status)
{
  perp_print_error(ctx);
  switch (status) {
  case PERP_ERR_FORMAT:
  case PERP_ERR_IO:
  case PERP_ERR_ARG:
  case PERP_ERR_DIM:
    return PERP_EXIT_INPUT;
  case PERP_ERR_OPTION:
  case PERP_ERR_UNSUPPORTED:
    return PERP_EXIT_USAGE;
  default:
    return PERP_EXIT_INTERNAL;
  }
}

static int read_problem(perp_ctx *ctx, const char *path, perp_lcp_problem *p)
{
  perp_status status = perp_lcp_read(ctx, path, p);
  return status == PERP_OK ? -1 : refuse(ctx, status);
}

/* A positive number; -1 to go on, else the exit status. */
static int read_positive(perp_ctx *ctx, const perp_args *args, const char *name, double *value)
{
  const char *text = perp_args_get(args, name);
  if (text == NULL) return -1;
  if (perp_parse_real(ctx, text, "", value) != PERP_OK)
    return perp_usage_error(args, "--%s: %s", name, ctx->msg);
  if (!(*value > 0 && isfinite(*value)))
    return perp_usage_error(args, "--%s must be in (0, inf): got %s", name, text);
  return -1;
}

static int read_int(perp_ctx *ctx, const perp_args *args, const char *name, int64_t lo, int64_t hi,
                    int64_t *value)
{
  const char *text = perp_args_get(args, name);
  if (text == NULL) return -1;
  if (perp_parse_int(ctx, text, lo, hi, value) != PERP_OK)
    return perp_usage_error(args, "--%s: %s", name, ctx->msg);
  return -1;
}

static void json_vector(perp_json *j, const char *key, const double *x, int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++) perp_json_real(j, NULL, x[i]);
  perp_json_close(j, ']');
}

static void json_judgement(perp_json *j, const char *key, const perp_lcp_judgement *g)
{
  perp_json_open(j, key, '{');
  perp_json_real(j, "rel", g->rel);
  perp_json_real(j, "abs", g->abs);
  perp_json_real(j, "componentwise", g->componentwise);
  perp_json_real(j, "siconos", g->siconos);
  perp_json_real(j, "fclib", g->fclib);
  perp_json_real(j, "abh", g->abh);
  perp_json_real(j, "coupling", g->coupling);
  perp_json_close(j, '}');
}

static void print_judgement(const perp_lcp_judgement *g)
{
  printf("# rel %.3g  abs %.3g  componentwise %.3g  siconos %.3g  fclib %.3g  abh %.3g", g->rel,
         g->abs, g->componentwise, g->siconos, g->fclib, g->abh);
  if (g->coupling > 0) printf("  coupling %.3g", g->coupling);
  printf("\n");
}

static const char *const proof_names[] = { "none", "ray", "infeasible" };

/* ---- solve ------------------------------------------------------------------------------------------------ */

static void print_event(void *user, const perp_trace_event *e)
{
  FILE *f = user;
  fprintf(f, "%s %s %d", e->method, e->what, e->iteration);
  if (e->entering >= 0) fprintf(f, " enters %d", e->entering);
  if (e->leaving >= 0) fprintf(f, " leaves %d", e->leaving);
  if (e->step != 0) fprintf(f, " step %.6g", e->step);
  if (!isnan(e->residual)) fprintf(f, " residual %.6g", e->residual);
  if (e->state != NULL && e->n <= 64) {
    fputs(" sets ", f);
    for (int i = 0; i < e->n; i++)
      fputc(e->state[i] == PERP_ROW_LO ? '-' : e->state[i] == PERP_ROW_HI ? '+' : 'o', f);
  }
  fputc('\n', f);
}

struct solution {
  perp_stats stats;
  perp_lcp_judgement judgement;
  perp_lcp_proof proof;
  const double *certificate; /* [rows] */
  int rows;                  /* of the problem that was solved */
  double radius, seconds, tol;
  double *lambda, *w;
  const char *friction;    /* how the cones were solved; NULL: as they are */
  perp_lcp_judgement cone; /* of the answer on the cones, where friction is set */
};

static void print_solution(const perp_spec *spec, const perp_lcp_problem *p,
                           const struct solution *s, bool json)
{
  int n = p->p.n;
  char name[512];
  perp_spec_format(spec, name, sizeof name);
  bool solved = s->stats.reason == PERP_CONVERGED;
  if (json) {
    perp_json j = { .out = stdout };
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "status", solved ? "solved" : "failed");
    perp_json_text(&j, "reason", perp_reason_name(s->stats.reason));
    perp_json_real(&j, "residual", s->stats.residual);
    perp_json_int(&j, "iterations", s->stats.iterations);
    json_vector(&j, "lambda", s->lambda, n);
    json_vector(&j, "w", s->w, n);
    perp_json_text(&j, "lcp", name);
    perp_json_real(&j, "tol", s->tol);
    perp_json_real(&j, "seconds", s->seconds);
    perp_json_int(&j, "factorizations", s->stats.factorizations);
    perp_json_int(&j, "matvecs", s->stats.matvecs);
    perp_json_int(&j, "fallbacks", s->stats.fallbacks);
    json_judgement(&j, "judgement", &s->judgement);
    if (s->friction != NULL) {
      perp_json_text(&j, "friction", s->friction);
      perp_json_real(&j, "cone_residual", s->cone.rel);
      json_judgement(&j, "cone_judgement", &s->cone);
    }
    if (s->certificate != NULL) {
      perp_json_open(&j, "certificate", '{');
      perp_json_text(&j, "proves", proof_names[s->proof]);
      perp_json_real(&j, "radius", s->radius);
      json_vector(&j, "z", s->certificate, s->rows);
      perp_json_close(&j, '}');
    }
    perp_json_close(&j, '}');
    printf("\n");
    return;
  }
  printf("# %s by %s: %s, residual %.3g (tol %.3g), %d iterations, %.3g s\n",
         solved ? "solved" : "not solved", name, perp_reason_name(s->stats.reason),
         s->stats.residual, s->tol, s->stats.iterations, s->seconds);
  print_judgement(&s->judgement);
  if (s->friction != NULL) {
    printf("# solved as %s; lambda is that of the contacts; on the circular cones:\n", s->friction);
    print_judgement(&s->cone);
  }
  if (s->certificate != NULL && s->proof == PERP_PROOF_INFEASIBLE)
    printf("# certificate: no solution with |lambda|_1 < %.3g (--json prints the vector)\n",
           s->radius);
  else if (s->certificate != NULL)
    printf("# certificate: a ray of Lemke's path, which proves nothing for this class of A\n");
  char text[40];
  for (int i = 0; i < n; i++) {
    perp_format_real(s->lambda[i], text, sizeof text);
    printf("%s\n", text);
  }
}

/* The answer of a box or pyramid problem on the contacts with their cones. */
static void judge_on_cones(const perp_lcp_problem *p, int directions, struct solution *s)
{
  int n = p->p.n;
  double *lambda = perp_xalloc((size_t)n + 1, sizeof *lambda);
  double *w = perp_xalloc((size_t)n + 1, sizeof *w);
  double *scratch = perp_xalloc(PERP_LCP_SCRATCH(n, 0) + 1, sizeof *scratch);
  if (directions > 0)
    perp_lcp_pyramid_back(&p->p, directions, s->lambda, lambda);
  else
    memcpy(lambda, s->lambda, (size_t)n * sizeof *lambda);
  perp_lcp_judge(&p->p, lambda, w, scratch, &s->cone);
  free(s->lambda);
  free(s->w);
  free(scratch);
  s->lambda = lambda;
  s->w = w;
}

/* p: what is solved; contacts: where it comes from, NULL when it is the problem itself. */
static int solve_problem(perp_ctx *ctx, const perp_args *args, const perp_spec *spec, double tol,
                         const perp_lcp_problem *p, const perp_lcp_problem *contacts,
                         int directions)
{
  int n = p->p.n, nv = p->p.F != NULL ? p->p.F->nv : 0;
  struct solution s = { .tol = tol, .rows = n };
  perp_lcp_solver *solver = NULL;
  s.lambda = perp_xalloc((size_t)n + 1, sizeof *s.lambda);
  s.w = perp_xalloc((size_t)n + 1, sizeof *s.w);
  double *scratch = perp_xalloc(PERP_LCP_SCRATCH(n, nv) + 1, sizeof *scratch);
  const char *guess = perp_args_get(args, "guess");
  perp_status status = PERP_OK;
  if (guess != NULL) status = perp_lcp_read_vector(ctx, guess, n, s.lambda);
  if (status == PERP_OK) status = perp_lcp_create(ctx, spec, n, nv, &solver);
  if (status == PERP_OK && perp_args_get(args, "equilibrate") != NULL)
    status = perp_lcp_equilibrate(ctx, solver, true);
  if (perp_args_get(args, "trace") != NULL) {
    ctx->trace = print_event;
    ctx->trace_user = stderr;
  }
  if (status == PERP_OK) {
    ctx->msg[0] = '\0';
    double start = perp_clock_thread();
    status = perp_lcp_solve(ctx, solver, &p->p, tol, s.lambda, s.w, &s.judgement, &s.stats);
    s.seconds = perp_clock_thread() - start;
  }
  ctx->trace = NULL;
  int exit_status = PERP_EXIT_OK;
  if (status == PERP_OK) {
    s.proof = perp_lcp_proved(solver);
    s.certificate = perp_lcp_certificate(solver);
    if (s.certificate != NULL) perp_lcp_prove(&p->p, s.certificate, &s.radius, scratch);
    if (contacts != NULL) {
      s.friction = perp_args_get(args, "friction");
      judge_on_cones(contacts, directions, &s);
    }
    print_solution(spec, contacts != NULL ? contacts : p, &s, perp_args_get(args, "json") != NULL);
    if (s.stats.reason == PERP_UNSUITED && ctx->msg[0] != '\0') perp_say("%s", ctx->msg);
    exit_status = s.stats.reason == PERP_CONVERGED ? PERP_EXIT_OK : PERP_EXIT_FAILED;
  } else
    exit_status = refuse(ctx, status);
  perp_lcp_destroy(solver);
  free(s.lambda);
  free(s.w);
  free(scratch);
  return exit_status;
}

/* --friction box or pyramid:N; 0 or the exit status.  *directions: -1 cones, 0 boxes, N a pyramid. */
static int read_friction(perp_ctx *ctx, const perp_args *args, int *directions)
{
  const char *text = perp_args_get(args, "friction");
  int64_t n;
  *directions = -1;
  if (text == NULL || strcmp(text, "cone") == 0) return 0;
  if (strcmp(text, "box") == 0) {
    *directions = 0;
    return 0;
  }
  if (strncmp(text, "pyramid:", 8) != 0)
    return perp_usage_error(args, "--friction must be one of cone | box | pyramid:N: got %s", text);
  if (perp_parse_int(ctx, text + 8, 4, 64, &n) != PERP_OK)
    return perp_usage_error(args, "--friction: %s", ctx->msg);
  *directions = (int)n;
  return 0;
}

static int solve_as(perp_ctx *ctx, const perp_args *args, const perp_spec *spec, double tol,
                    const perp_lcp_problem *p, int directions)
{
  if (directions < 0) return solve_problem(ctx, args, spec, tol, p, NULL, 0);
  perp_lcp_problem dense, q = { 0 };
  perp_status made = perp_lcp_problem_form(ctx, p, &dense);
  if (made != PERP_OK) return refuse(ctx, made);
  made = directions > 0 ? perp_lcp_pyramid(ctx, &dense, directions, &q)
                        : perp_lcp_boxes(ctx, &dense, 1, &q);
  int status = made == PERP_OK ? solve_problem(ctx, args, spec, tol, &q, &dense, directions)
                               : refuse(ctx, made);
  perp_lcp_problem_free(&q);
  perp_lcp_problem_free(&dense);
  return status;
}

static int cmd_solve(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "lcp", 0, "NAME[:OPTIONS]", "the solver (perp list lcp); default lemke" },
    { "tol", 0, "TOL", "largest scaled residual of a solution; default 1e-10" },
    { "guess", 0, "FILE", "start from these multipliers" },
    { "friction", 0, "KIND",
      "solve cones as they are (cone), as the boxes around them (box) or as pyramids of N "
      "directions (pyramid:N); the answer is also judged on the cones" },
    { "equilibrate", 0, NULL, "scale rows and columns before solving, undone before judging" },
    { "trace", 0, NULL, "every pivot, sweep and Newton step on stderr" },
    { "json", 0, NULL, "one JSON object" },
    { 0 }
  };
  static const perp_cli cli = {
    "lcp solve",
    "FILE|- --lcp NAME",
    "Solves one complementarity problem and judges the answer. Reads .lcp, JSON, Matrix Market, "
    "Siconos .dat and fclib HDF5 files.",
    "Exit status: 0 solved, 10 not solved (the best iterate and the reason are printed), 2 usage, "
    "3 invalid file.",
    "perp lcp generate stack --n 64 | perp lcp solve - --lcp lemke",
    flags,
    1,
    1
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  double tol = 1e-10;
  if ((status = read_positive(ctx, &args, "tol", &tol)) >= 0) return status;
  int directions;
  if ((status = read_friction(ctx, &args, &directions)) != 0) return status;
  const char *name = perp_args_get(&args, "lcp");
  perp_spec spec;
  if (perp_spec_parse(ctx, PERP_KIND_lcp, name != NULL ? name : "lemke", &spec) != PERP_OK)
    return refuse(ctx, PERP_ERR_OPTION);
  perp_lcp_problem p;
  status = read_problem(ctx, args.arg[0], &p);
  if (status < 0) {
    status = solve_as(ctx, &args, &spec, tol, &p, directions);
    perp_lcp_problem_free(&p);
  }
  perp_spec_free(&spec);
  return status;
}

/* ---- check -------------------------------------------------------------------------------------------------- */

static int judge_vector(const perp_lcp_problem *p, const double *x, double tol, bool json)
{
  int n = p->p.n, nv = p->p.F != NULL ? p->p.F->nv : 0;
  double *w = perp_xalloc((size_t)n + 1, sizeof *w);
  double *scratch = perp_xalloc(PERP_LCP_SCRATCH(n, nv) + 1, sizeof *scratch);
  perp_lcp_judgement g;
  perp_lcp_judge(&p->p, x, w, scratch, &g);
  bool solved = g.rel <= tol;
  if (json) {
    perp_json j = { .out = stdout };
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "status", solved ? "solved" : "failed");
    perp_json_real(&j, "residual", g.rel);
    perp_json_real(&j, "tol", tol);
    json_judgement(&j, "judgement", &g);
    json_vector(&j, "w", w, n);
    perp_json_close(&j, '}');
    printf("\n");
  } else {
    printf("# %s: residual %.3g (tol %.3g)\n", solved ? "solved" : "not solved", g.rel, tol);
    print_judgement(&g);
  }
  free(w);
  free(scratch);
  return solved ? PERP_EXIT_OK : PERP_EXIT_FAILED;
}

static int verify_vector(const perp_lcp_problem *p, const double *z, bool json)
{
  int n = p->p.n, nv = p->p.F != NULL ? p->p.F->nv : 0;
  double *scratch = perp_xalloc(PERP_LCP_SCRATCH(n, nv) + 1, sizeof *scratch), radius;
  perp_lcp_proof proof = perp_lcp_prove(&p->p, z, &radius, scratch);
  free(scratch);
  if (json) {
    perp_json j = { .out = stdout };
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "proves", proof_names[proof]);
    perp_json_real(&j, "radius", radius);
    perp_json_close(&j, '}');
    printf("\n");
  } else if (proof == PERP_PROOF_INFEASIBLE)
    printf("# proved: no solution with |lambda|_1 < %.3g\n", radius);
  else
    printf("# proves nothing%s\n", proof == PERP_PROOF_RAY ? ": a ray of Lemke's path" : "");
  return proof == PERP_PROOF_INFEASIBLE ? PERP_EXIT_OK : PERP_EXIT_FAILED;
}

static int cmd_check(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "tol", 0, "TOL", "largest scaled residual of a solution; default 1e-10" },
    { "certificate", 0, NULL, "the vector is said to prove that there is no solution: verify it" },
    { "json", 0, NULL, "one JSON object" },
    { 0 }
  };
  static const perp_cli cli = {
    "lcp check",
    "FILE SOLUTION",
    "Judges multipliers from anywhere: n numbers, or the JSON of lcp solve.",
    "Exit status: 0 a solution (or a valid certificate), 10 not, 2 usage, 3 invalid file.",
    "perp lcp check wall.lcp lambda.txt",
    flags,
    2,
    2
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  double tol = 1e-10;
  if ((status = read_positive(ctx, &args, "tol", &tol)) >= 0) return status;
  perp_lcp_problem p;
  if ((status = read_problem(ctx, args.arg[0], &p)) >= 0) return status;
  double *x = perp_xalloc((size_t)p.p.n + 1, sizeof *x);
  perp_status read = perp_lcp_read_vector(ctx, args.arg[1], p.p.n, x);
  bool json = perp_args_get(&args, "json") != NULL;
  if (read != PERP_OK)
    status = refuse(ctx, read);
  else if (perp_args_get(&args, "certificate") != NULL)
    status = verify_vector(&p, x, json);
  else
    status = judge_vector(&p, x, tol, json);
  free(x);
  perp_lcp_problem_free(&p);
  return status;
}

/* ---- output -------------------------------------------------------------------------------------------------- */

static void write_json(const perp_lcp_problem *q)
{
  const perp_lcp *p = &q->p;
  int n = p->n;
  perp_json j = { .out = stdout };
  perp_json_open(&j, NULL, '{');
  perp_json_text(&j, "family", q->family);
  if (q->provenance != NULL) perp_json_text(&j, "provenance", q->provenance);
  perp_json_int(&j, "n", n);
  perp_json_open(&j, "A", '[');
  for (int i = 0; i < n; i++) {
    perp_json_open(&j, NULL, '[');
    for (int k = 0; k < n; k++)
      perp_json_real(&j, NULL, p->A[(size_t)i + (size_t)k * (size_t)p->lda]);
    perp_json_close(&j, ']');
  }
  perp_json_close(&j, ']');
  json_vector(&j, "b", p->b, n);
  perp_json_open(&j, "lo", '[');
  for (int i = 0; i < n; i++) perp_json_real(&j, NULL, p->lo != NULL ? p->lo[i] : 0);
  perp_json_close(&j, ']');
  perp_json_open(&j, "hi", '[');
  for (int i = 0; i < n; i++) perp_json_real(&j, NULL, p->hi != NULL ? p->hi[i] : HUGE_VAL);
  perp_json_close(&j, ']');
  perp_json_open(&j, "friction_of", '[');
  for (int i = 0; i < n; i++) perp_json_int(&j, NULL, p->fric_of != NULL ? p->fric_of[i] : -1);
  perp_json_close(&j, ']');
  perp_json_open(&j, "mu", '[');
  for (int i = 0; i < n; i++) perp_json_real(&j, NULL, p->fric_of != NULL ? p->mu[i] : 0);
  perp_json_close(&j, ']');
  if (p->cone != NULL) {
    perp_json_open(&j, "cone", '[');
    for (int i = 0; i < n; i++) perp_json_int(&j, NULL, p->cone[i]);
    perp_json_close(&j, ']');
  }
  if (p->frozen) perp_json_bool(&j, "frozen", true);
  if (q->solution != NULL)
    json_vector(&j, "solution", q->solution, n);
  else
    perp_json_raw(&j, "solution", "null");
  perp_json_close(&j, '}');
  printf("\n");
}

static bool ends_with(const char *s, const char *end)
{
  size_t n = strlen(s), m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

/* To a file by its suffix, or .lcp text to stdout. */
static int write_problem(perp_ctx *ctx, const perp_lcp_problem *p, const char *path)
{
  perp_status status;
  if (path != NULL && (ends_with(path, ".hdf5") || ends_with(path, ".h5"))) {
    status = perp_lcp_write_fclib(ctx, p, path);
    return status == PERP_OK ? PERP_EXIT_OK : refuse(ctx, status);
  }
  FILE *f = path == NULL || strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
  if (f == NULL) {
    PERP_FAIL(ctx, PERP_ERR_IO, "%s: %s", path, strerror(errno));
    return refuse(ctx, PERP_ERR_IO);
  }
  status = path != NULL && ends_with(path, ".mtx") ? perp_lcp_write_mtx(ctx, p, f)
                                                   : perp_lcp_write(ctx, p, f);
  if (f != stdout && fclose(f) != 0 && status == PERP_OK)
    status = PERP_FAIL(ctx, PERP_ERR_IO, "%s: %s", path, strerror(errno));
  return status == PERP_OK ? PERP_EXIT_OK : refuse(ctx, status);
}

/* ---- generate ------------------------------------------------------------------------------------------------ */

static void list_families(bool json)
{
  const perp_lcp_family *f;
  perp_json j = { .out = stdout, .indent = true };
  if (json) perp_json_open(&j, NULL, '[');
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++) {
    if (!json) {
      printf("  %-17s %s\n", f->name, f->summary);
      continue;
    }
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "name", f->name);
    perp_json_text(&j, "summary", f->summary);
    perp_json_int(&j, "least", f->least);
    perp_json_int(&j, "most", f->most);
    perp_json_bool(&j, "boxes", f->contact);
    perp_json_bool(&j, "factored", f->factored);
    perp_json_bool(&j, "solvable", f->classes & PERP_CLASS_SOLVABLE);
    perp_json_close(&j, '}');
  }
  if (json) perp_json_close(&j, ']');
  if (json) printf("\n");
}

static int cmd_generate(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "n", 'n', "N", "number of rows; the nearest that the family has" },
    { "boxes", 0, "K", "number of boxes of a contact family" },
    { "seed", 0, "S", "of the random families and of --permute; default 1" },
    { "permute", 0, NULL, "random order of the rows" },
    { "scale", 0, "S", "(A, b) times S: the same solutions" },
    { "factored", 0, NULL, "keep J, M^-1 apart instead of forming A" },
    { "list", 0, NULL, "the families" },
    { "json", 0, NULL, "one JSON object instead of a .lcp file" },
    { "output", 'o', "FILE", ".lcp, .mtx or .hdf5 instead of stdout" },
    { 0 }
  };
  static const perp_cli cli = { "lcp generate",
                                "FAMILY [--n N|--boxes K]",
                                "Makes a problem of a family, the same on every machine for the "
                                "same options. --list prints the "
                                "families.",
                                NULL,
                                "perp lcp generate wall --boxes 60 --seed 3 --permute > wall.lcp",
                                flags,
                                0,
                                1 };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  bool json = perp_args_get(&args, "json") != NULL;
  if (perp_args_get(&args, "list") != NULL) {
    list_families(json);
    return PERP_EXIT_OK;
  }
  if (args.n != 1) return perp_usage_error(&args, "a family is missing");
  int64_t n = 0, boxes = 0, seed = 1;
  perp_lcp_recipe r = { .family = args.arg[0], .scale = 1 };
  if ((status = read_int(ctx, &args, "n", 1, INT32_MAX / 2, &n)) >= 0) return status;
  if ((status = read_int(ctx, &args, "boxes", 1, INT32_MAX / 2, &boxes)) >= 0) return status;
  if ((status = read_int(ctx, &args, "seed", 0, INT64_MAX, &seed)) >= 0) return status;
  if ((status = read_positive(ctx, &args, "scale", &r.scale)) >= 0) return status;
  if (n > 0 && boxes > 0) return perp_usage_error(&args, "either --n or --boxes");
  const perp_lcp_family *f = perp_lcp_family_find(r.family);
  if (f != NULL && n > 0) {
    r.n = perp_lcp_family_rows(f, (int)n);
    if (r.n != n)
      perp_say("%s has no problem of %d rows; the nearest has %d", f->name, (int)n, r.n);
  } else if (f != NULL && !f->contact)
    r.n = perp_lcp_family_rows(f, 16);
  r.boxes = (int)boxes;
  r.seed = (uint64_t)seed;
  r.permute = perp_args_get(&args, "permute") != NULL;
  r.factored = perp_args_get(&args, "factored") != NULL;
  if (r.factored && (r.permute || json))
    return perp_usage_error(&args, "--factored goes with neither --permute nor --json");
  perp_lcp_problem p;
  perp_status made = perp_lcp_generate(ctx, &r, &p);
  if (made != PERP_OK) return refuse(ctx, made);
  if (json)
    write_json(&p);
  else
    status = write_problem(ctx, &p, perp_args_get(&args, "output"));
  perp_lcp_problem_free(&p);
  return json ? PERP_EXIT_OK : status;
}

/* ---- convert --------------------------------------------------------------------------------------------------- */

/* *p is freed and replaced by *q. */
static void swap_in(perp_lcp_problem *p, perp_lcp_problem *q)
{
  perp_lcp_problem_free(p);
  *p = *q;
}

static int cmd_convert(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "pyramid", 0, "N", "friction as a polyhedral cone with N directions (Stewart-Trinkle)" },
    { "box", 0, NULL, "circular cones as the boxes around them" },
    { "pure", 0, NULL, "bounds and free rows as a pure LCP" },
    { "form", 0, NULL, "form A of a factored problem" },
    { "json", 0, NULL, "one JSON object on stdout" },
    { 0 }
  };
  static const perp_cli cli = {
    "lcp convert",
    "FILE [OUTPUT]",
    "Turns a problem into another format, by the suffix of OUTPUT (.lcp, .mtx, .hdf5), or into "
    "another kind. Without OUTPUT: .lcp on stdout.",
    NULL,
    "perp lcp convert Capsules.dat capsules.lcp --pyramid 8",
    flags,
    1,
    2
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  int64_t directions = 0;
  if ((status = read_int(ctx, &args, "pyramid", 4, 64, &directions)) >= 0) return status;
  bool json = perp_args_get(&args, "json") != NULL;
  bool box = perp_args_get(&args, "box") != NULL, pure = perp_args_get(&args, "pure") != NULL;
  if (box && directions > 0) return perp_usage_error(&args, "either --box or --pyramid");
  perp_lcp_problem p, q;
  if ((status = read_problem(ctx, args.arg[0], &p)) >= 0) return status;
  perp_status made = PERP_OK;
  if (box) {
    made = perp_lcp_boxes(ctx, &p, 1, &q);
    swap_in(&p, &q);
  }
  if (made == PERP_OK && (perp_args_get(&args, "form") != NULL || directions > 0 || pure || json)) {
    made = perp_lcp_problem_form(ctx, &p, &q);
    swap_in(&p, &q);
  }
  if (made == PERP_OK && directions > 0) {
    made = perp_lcp_pyramid(ctx, &p, (int)directions, &q);
    swap_in(&p, &q);
  }
  if (made == PERP_OK && pure) {
    perp_lcp_map *map;
    made = perp_lcp_pure(ctx, &p, &q, &map);
    perp_lcp_map_free(map);
    swap_in(&p, &q);
  }
  if (made != PERP_OK) {
    perp_lcp_problem_free(&p);
    return refuse(ctx, made);
  }
  status = PERP_EXIT_OK;
  if (json)
    write_json(&p);
  else
    status = write_problem(ctx, &p, args.n > 1 ? args.arg[1] : NULL);
  perp_lcp_problem_free(&p);
  return status;
}

/* ---- info --------------------------------------------------------------------------------------------------------- */

static int cmd_info(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = { { "json", 0, NULL, "one JSON object" }, { 0 } };
  static const perp_cli cli = {
    "lcp info",
    "FILE",
    "What is in a problem file: rows by kind, symmetry, diagonal, known solution.",
    NULL,
    "perp lcp info wall.lcp",
    flags,
    1,
    1
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  perp_lcp_problem q;
  if ((status = read_problem(ctx, args.arg[0], &q)) >= 0) return status;
  const perp_lcp *p = &q.p;
  int n = p->n, nv = p->F != NULL ? p->F->nv : 0, contact = 0, box = 0, fixed = 0, free_rows = 0;
  int friction = 0, cones = 0, zero_diagonal = 0;
  long long entries = 0;
  for (int i = 0; i < n; i++) {
    if (p->fric_of != NULL && p->fric_of[i] >= 0) {
      friction++;
      cones += p->cone != NULL && p->cone[i];
    } else {
      double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
      if (lo == hi)
        fixed++;
      else if (lo == -HUGE_VAL && hi == HUGE_VAL)
        free_rows++;
      else if (lo == 0 && hi == HUGE_VAL)
        contact++;
      else
        box++;
    }
    for (int k = 0; p->A != NULL && k < n; k++)
      entries += p->A[(size_t)i + (size_t)k * (size_t)p->lda] != 0;
    if (p->A != NULL) zero_diagonal += p->A[(size_t)i * ((size_t)p->lda + 1)] == 0;
  }
  perp_lcp_judgement g = { .rel = (double)NAN };
  if (q.solution != NULL) {
    double *scratch = perp_xalloc(PERP_LCP_SCRATCH(n, nv) + 1, sizeof *scratch);
    perp_lcp_judge(p, q.solution, NULL, scratch, &g);
    free(scratch);
  }
  double asymmetry = perp_lcp_asymmetry(p);
  if (perp_args_get(&args, "json") != NULL) {
    perp_json j = { .out = stdout, .indent = true };
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "family", q.family);
    perp_json_text(&j, "provenance", q.provenance);
    perp_json_int(&j, "n", n);
    perp_json_text(&j, "storage", p->F != NULL ? "factored" : "dense");
    perp_json_int(&j, "nonzeros", entries);
    perp_json_int(&j, "contact", contact);
    perp_json_int(&j, "box", box);
    perp_json_int(&j, "free", free_rows);
    perp_json_int(&j, "fixed", fixed);
    perp_json_int(&j, "friction", friction);
    perp_json_int(&j, "cones", cones);
    perp_json_int(&j, "zero_diagonal", zero_diagonal);
    perp_json_real(&j, "asymmetry", asymmetry);
    perp_json_bool(&j, "has_solution", q.solution != NULL);
    if (q.solution != NULL) perp_json_real(&j, "solution_residual", g.rel);
    perp_json_close(&j, '}');
    printf("\n");
  } else {
    if (q.family[0]) printf("family      %s\n", q.family);
    if (q.provenance != NULL) printf("provenance  %s\n", q.provenance);
    printf("rows        %d: %d contact, %d box, %d free, %d fixed, %d friction (%d cones)\n", n,
           contact, box, free_rows, fixed, friction, cones);
    if (p->F != NULL)
      printf("A           J M^-1 J' + S, %d columns, %d blocks, %d groups\n", nv, p->F->nb,
             p->F->nc);
    else
      printf("A           %lld of %lld not zero, asymmetry %.3g, %d zeros on the diagonal\n",
             entries, (long long)n * n, asymmetry, zero_diagonal);
    if (q.solution != NULL) printf("solution    known, residual %.3g\n", g.rel);
  }
  perp_lcp_problem_free(&q);
  return PERP_EXIT_OK;
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static const perp_command commands[] = {
  { "solve", "solve a problem file and judge the answer", cmd_solve },
  { "check", "judge multipliers, or verify a certificate", cmd_check },
  { "generate", "make a problem of a family", cmd_generate },
  { "convert", "another format or kind", cmd_convert },
  { "harvest", "keep contact problems that occur in a scene", perp_cmd_lcp_harvest },
  { "info", "what is in a file", cmd_info },
  { NULL, NULL, NULL },
};

static void print_help(FILE *f)
{
  fputs("perp lcp COMMAND [arguments]\n\nComplementarity problems: find lambda with "
        "w = A lambda + b,\nlo <= lambda <= hi and w complementary.\n\nCommands\n",
        f);
  for (const perp_command *c = commands; c->name != NULL; c++)
    fprintf(f, "  %-10s %s\n", c->name, c->summary);
  fputs("\nExample\n  perp lcp generate stack --n 64 | perp lcp solve - --lcp lemke\n", f);
}

int perp_cmd_lcp(perp_ctx *ctx, int argc, char **argv)
{
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    print_help(stdout);
    return PERP_EXIT_OK;
  }
  if (argc < 2) {
    print_help(stderr);
    return PERP_EXIT_USAGE;
  }
  const char *names[16];
  int n = 0;
  for (const perp_command *c = commands; c->name != NULL; c++) {
    if (strcmp(c->name, argv[1]) == 0) return c->run(ctx, argc - 1, argv + 1);
    names[n++] = c->name;
  }
  const char *close = perp_closest(argv[1], names, n);
  if (close != NULL)
    PERP_FAIL(ctx, PERP_ERR_OPTION, "unknown command 'lcp %.60s'; did you mean '%s'?", argv[1],
              close);
  else
    PERP_FAIL(ctx, PERP_ERR_OPTION, "unknown command 'lcp %.60s' (perp lcp --help)", argv[1]);
  perp_print_error(ctx);
  return PERP_EXIT_USAGE;
}
