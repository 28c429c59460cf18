/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A solver in Python is asked over a socket (python_process.h): the problem goes there, lambda
 * comes back.  What its process spends is charged to the clock of the thread that asked, by the
 * clock of the system and not by its own word. */
#include "experiments/plugins/python_solver.h"

#include "experiments/base/fence.h"
#include "experiments/plugins/python_process.h"
#include "experiments/study/describe.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SOLVERS = 16 };

/* One solver of one file. */
typedef struct solver {
  perp_python *python;
  int number; /* in its file */
  perp_lcp_desc desc;
} solver;
static solver solvers[MOST_SOLVERS];
static int n_solvers;

/* Threads that solve islands ask one after the other. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* ---- solving ---- */

struct ws {
  const solver *s;
  int id;
};

/* What stands before the arrays of a problem and of an answer; serve.py reads and writes the same.
 */
struct problem_head {
  int32_t n, parts; /* parts: bits: the arrays below that are there, and BRIEF */
  double tol, tol_data, work;
};
enum {
  PART_LO = 1,
  PART_HI = 2,
  PART_MU = 4,
  PART_UNIT = 8,
  PART_FRIC_OF = 16,
  PART_CONTACT_OF = 32,
  PART_CONE = 64,
  BRIEF = 128 /* no array */
};
struct solution_head {
  char reason[32];
  int64_t iterations, factorizations, matvecs, fallbacks;
  double work;
};

static perp_status python_solver_call(perp_ctx *ctx, perp_python *python, perp_python_op op, int id,
                                      const char *text)
{
  size_t size = text != NULL ? strlen(text) : 0;
  pthread_mutex_lock(&turn);
  perp_status status = perp_python_start(ctx, python, 0);
  if (status == PERP_OK) {
    perp_python_ask(python, op, id, size);
    perp_python_send(python, text, size);
    status = perp_python_answer(ctx, python, &size);
  }
  pthread_mutex_unlock(&turn);
  return status;
}

static void python_solver_destroy(void *ws)
{
  struct ws *work = ws;
  perp_ctx quiet;
  if (work == NULL) return;
  perp_ctx_init(&quiet);
  /* one that has ended has nothing to give back */
  if (work->s->python->pid > 0)
    python_solver_call(&quiet, work->s->python, PERP_PYTHON_DESTROY, work->id, NULL);
  free(work);
}

static perp_status python_solver_create(perp_ctx *ctx, int which, int max_n, const void *opts,
                                        void **ws)
{
  static int created;
  const solver *s = &solvers[which];
  const perp_desc *desc = &s->desc.d;
  *ws = NULL;
  struct ws *work = malloc(sizeof *work);
  if (work == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory", desc->name);
  pthread_mutex_lock(&turn);
  *work = (struct ws){ s, ++created };
  pthread_mutex_unlock(&turn);
  json_t *options = json_object();
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->type != PERP_OPT_END; opt++) {
    char value[PERP_TEXT_MAX];
    perp_opt_format(opt, opts, value, sizeof value);
    json_object_set_new(options, opt->key, json_string(value));
  }
  json_t *words = json_pack("{si si so}", "solver", s->number, "max_n", max_n, "options", options);
  char *text = json_dumps(words, JSON_COMPACT);
  json_decref(words);
  const perp_status status = python_solver_call(ctx, s->python, PERP_PYTHON_CREATE, work->id, text);
  free(text);
  if (status == PERP_OK)
    *ws = work;
  else
    free(work);
  return status;
}

static void python_solver_send_problem(perp_python *python, int id, const perp_lcp *lcp,
                                       const double *lambda)
{
  const size_t n = (size_t)lcp->n, numbers = n * sizeof(double);
  const struct {
    int bit;
    const void *array;
    size_t size;
  } parts[] = { { PART_LO, lcp->lo, numbers },
                { PART_HI, lcp->hi, numbers },
                { PART_MU, lcp->mu, numbers },
                { PART_UNIT, lcp->unit, numbers },
                { PART_FRIC_OF, lcp->fric_of, n * sizeof *lcp->fric_of },
                { PART_CONTACT_OF, lcp->contact_of, n * sizeof *lcp->contact_of },
                { PART_CONE, lcp->cone, n } };
  struct problem_head head = { lcp->n, lcp->brief ? BRIEF : 0, lcp->tol, lcp->tol_data, lcp->work };
  size_t size = sizeof head + (n + 2) * numbers;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i].array != NULL) {
      head.parts |= parts[i].bit;
      size += parts[i].size;
    }
  perp_python_ask(python, PERP_PYTHON_SOLVE, id, size);
  perp_python_send(python, &head, sizeof head);
  if ((size_t)lcp->lda == n)
    perp_python_send(python, lcp->A, n * numbers);
  else
    for (size_t j = 0; j < n; j++) perp_python_send(python, lcp->A + j * (size_t)lcp->lda, numbers);
  perp_python_send(python, lcp->b, numbers);
  perp_python_send(python, lambda, numbers);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i].array != NULL) perp_python_send(python, parts[i].array, parts[i].size);
}

/* serve.py has looked at all of it: the reason is one of perp, counts are counts. */
static perp_status python_solver_receive(perp_ctx *ctx, perp_python *python, int n, double *lambda,
                                         double *certificate, perp_stats *stats)
{
  struct solution_head head;
  size_t size;
  PERP_TRY(perp_python_answer(ctx, python, &size));
  PERP_TRY(perp_python_receive(ctx, python, &head, sizeof head));
  PERP_TRY(perp_python_receive(ctx, python, lambda, (size_t)n * sizeof *lambda));
  for (int i = 0; i < n; i++) {
    double z;
    PERP_TRY(perp_python_receive(ctx, python, &z, sizeof z));
    if (certificate != NULL) certificate[i] = z;
  }
  int reason = PERP_NONE_WITHIN;
  while (reason <= PERP_REGULARIZED && strcmp(perp_reason_name(reason), head.reason) != 0) reason++;
  stats->reason = (perp_reason)reason;
  stats->iterations = (int)head.iterations;
  stats->factorizations = (int)head.factorizations;
  stats->matvecs = head.matvecs;
  stats->fallbacks = (int)head.fallbacks;
  stats->work = head.work;
  return PERP_OK;
}

static perp_status python_solver_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                       double *certificate, perp_stats *stats)
{
  const struct ws *work = ws;
  perp_python *python = work->s->python;
  perp_no_certificate(lcp, certificate);
  pthread_mutex_lock(&turn);
  const double before = perp_python_cpu(python);
  python_solver_send_problem(python, work->id, lcp, lambda);
  const perp_status status = python_solver_receive(ctx, python, lcp->n, lambda, certificate, stats);
  if (status == PERP_OK) perp_clock_charge(fmax(0, perp_python_cpu(python) - before));
  pthread_mutex_unlock(&turn);
  return status;
}

/* A descriptor's create is told its options and not its name: each has its own. */
/* clang-format off */
#define EACH(DO) \
  DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) \
  DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
#define CREATE(k) \
  static perp_status python_solver_create_##k(perp_ctx *ctx, int max_n, const void *opts, \
                                              void **ws) \
  { \
    return python_solver_create(ctx, k, max_n, opts, ws); \
  }
#define NAME(k) python_solver_create_##k,
EACH(CREATE)
static perp_status (*const creates[MOST_SOLVERS])(perp_ctx *, int, const void *, void **) = {
  EACH(NAME)
};
/* clang-format on */

/* ---- what a file says of itself ---- */

/* Texts and tables of all descriptors: they stay. */
static perp_pool kept;

static const char *python_solver_text(const json_t *j, const char *key)
{
  const char *text = json_string_value(json_object_get(j, key));
  return text != NULL ? perp_pool_strdup(&kept, text) : NULL;
}

static perp_status python_solver_capabilities(perp_ctx *ctx, const char *path, const json_t *names,
                                              unsigned *caps)
{
  /* A comes as a dense array, and nobody else's solver is called from here */
  const unsigned served = ~(unsigned)(PERP_LCP_FACTORED | PERP_LCP_SPARSE | PERP_LCP_PEER);
  size_t i;
  json_t *one;
  json_array_foreach(names, i, one)
  {
    const char *name = json_string_value(one);
    unsigned bit = 0;
    for (int b = 0; b < 31 && name != NULL; b++) {
      const char *known = perp_capability_name(PERP_KIND_lcp, 1u << b);
      if (known != NULL && strcmp(known, name) == 0) bit = served & 1u << b;
    }
    if (bit == 0) {
      char all[512];
      unsigned every = 0;
      for (int b = 0; b < 31; b++)
        if (perp_capability_name(PERP_KIND_lcp, 1u << b) != NULL) every |= served & 1u << b;
      perp_capabilities(PERP_KIND_lcp, every, all, sizeof all);
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: a solver in Python cannot declare '%s', but: %s",
                       path, name != NULL ? name : "", all);
    }
    *caps |= bit;
  }
  return PERP_OK;
}

/* The rows of the options, and where each stands in a struct that nobody else knows. */
static void python_solver_options(const json_t *list, perp_desc *desc)
{
  static const struct {
    const char *name;
    perp_opt_type type;
    size_t size, align;
  } types[] = { { "real", PERP_OPT_REAL, sizeof(double), sizeof(double) },
                { "int", PERP_OPT_INT, sizeof(int), sizeof(int) },
                { "bool", PERP_OPT_BOOL, sizeof(bool), sizeof(bool) },
                { "enum", PERP_OPT_ENUM, sizeof(int), sizeof(int) },
                { "text", PERP_OPT_TEXT, PERP_TEXT_MAX, 1 } };
  const size_t n = json_array_size(list);
  if (n == 0) return;
  perp_opt *rows = perp_pool_alloc(&kept, n + 1, sizeof *rows);
  size_t at = 0, i, k;
  json_t *j, *choice;
  json_array_foreach(list, i, j)
  {
    const char *type = json_string_value(json_object_get(j, "type"));
    size_t t = 0;
    while (t < 4 && (type == NULL || strcmp(types[t].name, type) != 0)) t++;
    at = (at + types[t].align - 1) / types[t].align * types[t].align;
    rows[i] = (perp_opt){ .key = python_solver_text(j, "key"),
                          .unit = python_solver_text(j, "unit"),
                          .help = python_solver_text(j, "help"),
                          .type = types[t].type,
                          .offset = at,
                          .dflt = perp_json_number(json_object_get(j, "default")),
                          .min = perp_json_number(json_object_get(j, "min")),
                          .max = perp_json_number(json_object_get(j, "max")),
                          .text = python_solver_text(j, "text") };
    if (json_is_true(json_object_get(j, "open_min"))) rows[i].flags |= PERP_OPEN_MIN;
    if (json_is_true(json_object_get(j, "open_max"))) rows[i].flags |= PERP_OPEN_MAX;
    at += types[t].size;
    if (types[t].type != PERP_OPT_ENUM) continue;
    const json_t *choices = json_object_get(j, "choices");
    const char **names = perp_pool_alloc(&kept, json_array_size(choices) + 1, sizeof *names);
    json_array_foreach(choices, k, choice)
        names[k] = perp_pool_strdup(&kept, json_string_value(choice));
    rows[i].choices = names;
  }
  desc->opts = rows;
  desc->opts_size = (at + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

static perp_status python_solver_describe(perp_ctx *ctx, const json_t *list, perp_python *python,
                                          const perp_outside **out)
{
  static const perp_layout nothing[] = { { NULL, 0 } };
  const size_t n = json_array_size(list);
  if (n_solvers + n > MOST_SOLVERS)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: more than %d solvers in Python", python->file,
                     MOST_SOLVERS);
  perp_plugin *plugins = perp_pool_alloc(&kept, n + 1, sizeof *plugins);
  perp_outside *outside = perp_pool_alloc(&kept, 1, sizeof *outside);
  size_t i;
  json_t *j;
  json_array_foreach(list, i, j)
  {
    const int k = n_solvers + (int)i;
    unsigned caps = 0;
    PERP_TRY(python_solver_capabilities(ctx, python->file, json_object_get(j, "declares"), &caps));
    solvers[k] = (solver){ python,
                           (int)i,
                           { .d = { .name = python_solver_text(j, "name"),
                                    .summary = python_solver_text(j, "summary"),
                                    .reference = python_solver_text(j, "reference"),
                                    .equation = python_solver_text(j, "equation"),
                                    .caps = caps },
                             .create = creates[k],
                             .solve = python_solver_solve,
                             .destroy = python_solver_destroy,
                             .serves = python_solver_text(j, "serves"),
                             .ties = python_solver_text(j, "ties"),
                             .cost = python_solver_text(j, "cost"),
                             .counts = python_solver_text(j, "counts") } };
    python_solver_options(json_object_get(j, "options"), &solvers[k].desc.d);
    plugins[i] = (perp_plugin){ PERP_KIND_lcp, &solvers[k].desc.d };
  }
  n_solvers += (int)n;
  *outside = (perp_outside){ PERP_OUTSIDE_MAGIC, PERP_ABI, nothing, plugins };
  *out = outside;
  return PERP_OK;
}

/* Bytes that a file may take until it has said what it has: NumPy maps 2 GiB without using them. */
static const double describe_memory = 4.0 * (1 << 30);

perp_status perp_python_open(perp_ctx *ctx, const char *path, int seconds, const perp_outside **out)
{
  perp_python *python = perp_pool_alloc(&kept, 1, sizeof *python);
  python->file = perp_pool_strdup(&kept, path);
  size_t size = 0;
  char *text = NULL;
  perp_fence fence; /* of what the file starts while it is read */
  perp_fence_open(&fence);
  python->memory = describe_memory;
  perp_status status = perp_python_start(ctx, python, seconds);
  if (status == PERP_OK) {
    perp_python_ask(python, PERP_PYTHON_DESCRIBE, 0, 0);
    status = perp_python_answer(ctx, python, &size);
  }
  if (status == PERP_OK) {
    text = perp_xalloc(size + 1, 1);
    status = perp_python_receive(ctx, python, text, size);
  }
  perp_python_stop(python); /* who solves starts its own */
  python->memory = 0;
  perp_fence_close(&fence);
  json_t *j = status == PERP_OK ? json_loads(text, 0, NULL) : NULL;
  free(text);
  if (status == PERP_OK) status = python_solver_describe(ctx, j, python, out);
  json_decref(j);
  return status == PERP_OK ? PERP_OK : (ctx->status = PERP_ERR_FORMAT);
}
