/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/plugins/python_method.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

perp_python_method perp_python_methods[PERP_PYTHON_MOST];

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static double before; /* CPU seconds of the process when its turn began */

void perp_python_begin(const perp_python *python)
{
  pthread_mutex_lock(&turn);
  before = perp_python_cpu(python);
}

void perp_python_end(const perp_python *python)
{
  const double spent = perp_python_cpu(python) - before;
  pthread_mutex_unlock(&turn);
  perp_clock_charge(fmax(0, spent)); /* one that has ended has no clock */
}

/* What stands before the arrays of an answer; serve.py writes the same. */
struct solution_head {
  char reason[32];
  int64_t iterations, factorizations, matvecs, fallbacks;
  double work;
};

static perp_status python_method_call(perp_ctx *ctx, perp_python *python, perp_python_op op, int id,
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

void perp_python_destroy(void *ws)
{
  perp_python_work *work = ws;
  perp_ctx quiet;
  if (work == NULL) return;
  perp_ctx_init(&quiet);
  /* one that has ended has nothing to give back */
  if (work->method->python->pid > 0)
    python_method_call(&quiet, work->method->python, PERP_PYTHON_DESTROY, work->id, NULL);
  free(work->room);
  free(work);
}

perp_status perp_python_create(perp_ctx *ctx, int which, int max_n, const void *opts, void **ws)
{
  static int created;
  const perp_python_method *method = &perp_python_methods[which];
  const perp_desc *desc = &method->desc.d;
  *ws = NULL;
  perp_python_work *work = malloc(sizeof *work);
  if (work == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory", desc->name);
  pthread_mutex_lock(&turn);
  *work = (perp_python_work){ .method = method, .ctx = ctx, .id = ++created };
  pthread_mutex_unlock(&turn);
  json_t *options = json_object();
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->type != PERP_OPT_END; opt++) {
    char value[PERP_TEXT_MAX];
    perp_opt_format(opt, opts, value, sizeof value);
    json_object_set_new(options, opt->key, json_string(value));
  }
  json_t *words = json_pack("{si si so}", "method", method->number, "max_n", max_n, "options",
                            options);
  char *text = json_dumps(words, JSON_COMPACT);
  json_decref(words);
  const perp_status status = python_method_call(ctx, method->python, PERP_PYTHON_CREATE, work->id,
                                                text);
  free(text);
  if (status == PERP_OK)
    *ws = work;
  else
    free(work);
  return status;
}

/* serve.py has looked at all of it: the reason is one of perp, counts are counts. */
perp_status perp_python_solution(perp_ctx *ctx, perp_python *python, int n, double *x,
                                 double *certificate, perp_stats *stats)
{
  struct solution_head head;
  size_t size;
  PERP_TRY(perp_python_answer(ctx, python, &size));
  PERP_TRY(perp_python_receive(ctx, python, &head, sizeof head));
  PERP_TRY(perp_python_receive(ctx, python, x, (size_t)n * sizeof *x));
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
