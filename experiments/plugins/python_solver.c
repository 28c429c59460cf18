/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LCP solvers in Python: the problem goes there, lambda comes back.  And what a file says it has.
 */
#include "experiments/plugins/python_solver.h"

#include "experiments/base/fence.h"
#include "experiments/plugins/python_method.h"
#include "experiments/study/describe.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static int n_methods;

/* ---- solving ---- */

/* What stands before the arrays of a problem; serve.py reads the same. */
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

static perp_status python_solver_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                       double *certificate, perp_stats *stats)
{
  const perp_python_work *work = ws;
  perp_python *python = work->method->python;
  perp_no_certificate(lcp, certificate);
  perp_python_begin(python);
  python_solver_send_problem(python, work->id, lcp, lambda);
  const perp_status status = perp_python_solution(ctx, python, lcp->n, lambda, certificate, stats);
  perp_python_end(python);
  return status;
}

/* clang-format off */
#define CREATE(k) \
  static perp_status python_solver_create_##k(perp_ctx *ctx, int max_n, const void *opts, \
                                              void **ws) \
  { \
    return perp_python_create(ctx, k, max_n, opts, ws); \
  }
#define NAME(k) python_solver_create_##k,
PERP_PYTHON_EACH(CREATE)
static perp_status (*const creates[PERP_PYTHON_MOST])(perp_ctx *, int, const void *, void **) = {
  PERP_PYTHON_EACH(NAME)
};
/* clang-format on */

/* ---- what a file says of itself ---- */

/* Texts and tables of all descriptors: they stay. */
static perp_pool kept;

static const char *python_solver_text(const json_t *value, const char *key)
{
  const char *text = json_string_value(json_object_get(value, key));
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

/* The rows of the options, and where each stands in a struct that nobody else knows, behind those
 * of all methods of the kind. */
static void python_solver_options(perp_kind kind, const json_t *list, perp_desc *desc)
{
  static const perp_opt control[] = { PERP_ODE_CONTROL_OPTIONS(perp_ode_control) };
  const size_t common = kind == PERP_KIND_ode ? sizeof control / sizeof *control : 0;
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
  if (common + n == 0) return;
  perp_opt *all = perp_pool_alloc(&kept, common + n + 1, sizeof *all), *rows = all + common;
  size_t at = common > 0 ? sizeof(perp_ode_control) : 0, i, k;
  json_t *value, *choice;
  if (common > 0) memcpy(all, control, sizeof control);
  json_array_foreach(list, i, value)
  {
    const char *type = json_string_value(json_object_get(value, "type"));
    size_t t = 0;
    while (t < 4 && (type == NULL || strcmp(types[t].name, type) != 0)) t++;
    at = (at + types[t].align - 1) / types[t].align * types[t].align;
    rows[i] = (perp_opt){ .key = python_solver_text(value, "key"),
                          .unit = python_solver_text(value, "unit"),
                          .help = python_solver_text(value, "help"),
                          .type = types[t].type,
                          .offset = at,
                          .dflt = perp_json_number(json_object_get(value, "default")),
                          .min = perp_json_number(json_object_get(value, "min")),
                          .max = perp_json_number(json_object_get(value, "max")),
                          .text = python_solver_text(value, "text") };
    if (json_is_true(json_object_get(value, "open_min"))) rows[i].flags |= PERP_OPEN_MIN;
    if (json_is_true(json_object_get(value, "open_max"))) rows[i].flags |= PERP_OPEN_MAX;
    at += types[t].size;
    if (types[t].type != PERP_OPT_ENUM) continue;
    const json_t *choices = json_object_get(value, "choices");
    const char **names = perp_pool_alloc(&kept, json_array_size(choices) + 1, sizeof *names);
    json_array_foreach(choices, k, choice)
        names[k] = perp_pool_strdup(&kept, json_string_value(choice));
    rows[i].choices = names;
  }
  desc->opts = all;
  desc->opts_size = (at + sizeof(double) - 1) / sizeof(double) * sizeof(double);
}

static int python_solver_number(const json_t *value, const char *key)
{
  return (int)json_integer_value(json_object_get(value, key));
}

/* What the kinds have beyond the head. */
static perp_status python_solver_of_kind(perp_ctx *ctx, const json_t *value, int k, perp_kind kind)
{
  perp_python_method *method = &perp_python_methods[k];
  const bool motion = json_is_true(json_object_get(value, "motion")),
             friction = json_is_true(json_object_get(value, "friction"));
  switch (kind) {
  case PERP_KIND_lcp:
    PERP_TRY(python_solver_capabilities(ctx, method->python->file,
                                        json_object_get(value, "declares"), &method->desc.d.caps));
    method->desc.lcp.create = creates[k];
    method->desc.lcp.solve = python_solver_solve;
    method->desc.lcp.destroy = perp_python_destroy;
    method->desc.lcp.serves = python_solver_text(value, "serves");
    method->desc.lcp.ties = python_solver_text(value, "ties");
    method->desc.lcp.cost = python_solver_text(value, "cost");
    method->desc.lcp.counts = python_solver_text(value, "counts");
    break;
  case PERP_KIND_ode:
    method->desc.ode.order = python_solver_number(value, "order");
    method->desc.ode.stages = python_solver_number(value, "stages");
    method->desc.ode.error_order = python_solver_number(value, "error_order");
    method->desc.d.caps |= method->desc.ode.error_order > 0 ? PERP_ODE_EMBEDDED : 0;
    perp_python_integrator(k);
    break;
  case PERP_KIND_contact:
    method->desc.d.caps |= PERP_CAP_ALLOCATES | (friction ? PERP_CONTACT_FRICTION : 0);
    perp_python_law(k);
    break;
  default:
    method->desc.d.caps |= motion ? PERP_METRIC_MOTION : 0;
    method->desc.metric.unit = python_solver_text(value, "unit");
    method->desc.metric.better = python_solver_text(value, "better");
    perp_python_metric(k);
  }
  return PERP_OK;
}

static perp_status python_solver_describe(perp_ctx *ctx, const json_t *list, perp_python *python,
                                          const perp_outside **out)
{
  static const perp_layout nothing[] = { { NULL, 0 } };
  static const perp_kind kinds[] = { PERP_KIND_lcp, PERP_KIND_ode, PERP_KIND_contact,
                                     PERP_KIND_metric };
  const size_t n = json_array_size(list);
  if (n_methods + n > PERP_PYTHON_MOST)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: more than %d methods in Python", python->file,
                     PERP_PYTHON_MOST);
  perp_plugin *plugins = perp_pool_alloc(&kept, n + 1, sizeof *plugins);
  perp_outside *outside = perp_pool_alloc(&kept, 1, sizeof *outside);
  size_t i;
  json_t *value;
  json_array_foreach(list, i, value)
  {
    const int method = n_methods + (int)i;
    const char *kind = json_string_value(json_object_get(value, "kind"));
    int at = 0;
    while (at < 3 && strcmp(perp_kind_name(kinds[at]), kind) != 0) at++;
    perp_python_methods[method] = (perp_python_method){ .python = python, .number = (int)i };
    perp_python_methods[method].desc.d = (perp_desc){
      .name = python_solver_text(value, "name"),
      .summary = python_solver_text(value, "summary"),
      .reference = python_solver_text(value, "reference"),
      .equation = python_solver_text(value, "equation")
    };
    PERP_TRY(python_solver_of_kind(ctx, value, method, kinds[at]));
    python_solver_options(kinds[at], json_object_get(value, "options"),
                          &perp_python_methods[method].desc.d);
    plugins[i] = (perp_plugin){ kinds[at], &perp_python_methods[method].desc.d };
  }
  n_methods += (int)n;
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
  json_t *value = status == PERP_OK ? json_loads(text, 0, NULL) : NULL;
  free(text);
  if (status == PERP_OK) status = python_solver_describe(ctx, value, python, out);
  json_decref(value);
  return status == PERP_OK ? PERP_OK : (ctx->status = PERP_ERR_FORMAT);
}
