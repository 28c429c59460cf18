/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A wrapper goes around the KKT formulation of the cell: it lets every call through and keeps what
 * it saw, the values of the last factorization and the solves with it.  They are written when the
 * next factorization comes. */
#include "experiments/simulate/kkt_dump.h"

#include "experiments/base/messages.h"
#include "experiments/base/table.h"
#include "experiments/base/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SOLVES = 64, STEPS = 256 }; /* kept of one factorization; steps that can be named */

struct dump {
  const char *dir, *title;
  perp_kkt_desc desc; /* of the wrapper: that of the formulation with other functions */
  perp_spec inner;
  bool all;
  int n_steps; /* 0: powers of two */
  int64_t wanted[STEPS];
  perp_table table;
  perp_pool pool;     /* of the arrays below */
  perp_status status; /* of the files */
  perp_ctx *ctx;

  int64_t step;    /* being made; -1: the run is over, nothing is kept any more */
  int in_step;     /* factorizations of it so far */
  bool pending;    /* there is a system that has not been written */
  int64_t made_in; /* step and number of that system */
  int number;
  bool chosen;   /* and it will be */
  perp_blocks B; /* with values of its own */
  perp_reason reason;
  int solves;
  double *b, *x; /* [SOLVES * (nv + m)] columns */
};

/* What the wrapper is created with: the options of its spec. */
struct wrapper_opts {
  struct dump *dump;
};

struct wrapper {
  struct dump *dump;
  perp_kkt_solver *inner;
};

/* ---- files ---- */

static int values_of_J(const perp_blocks *blocks)
{
  return blocks->joff[blocks->jptr[blocks->nc]];
}

static bool open_part(struct dump *dump, const char *suffix, perp_out *out)
{
  char *path = perp_xprintf("%s/step%06lld-%d%s.mtx", dump->dir, (long long)dump->made_in,
                            dump->number, suffix);
  perp_status status = perp_out_open(dump->ctx, path, out);
  if (status != PERP_OK && dump->status == PERP_OK) dump->status = status;
  free(path);
  return status == PERP_OK;
}

static void close_part(struct dump *dump, perp_out *out)
{
  perp_status status = perp_out_close(dump->ctx, out, true);
  if (status != PERP_OK && dump->status == PERP_OK) dump->status = status;
}

/* The lower triangle, column by column within a block.  Entries that are zero stay: the pattern is
 * the one of the solver.  out NULL: only count. */
static int64_t kkt_dump_put_matrix(const perp_blocks *blocks, FILE *out)
{
  int64_t entries = 0;
#define PUT(row, column, value)                                                                    \
  do {                                                                                             \
    entries++;                                                                                     \
    if (out != NULL) fprintf(out, "%d %d %.17g\n", (row) + 1, (column) + 1, (value));              \
  } while (0)
  for (int b = 0; b < blocks->nb; b++) {
    const int at = blocks->bptr[b], d = blocks->bptr[b + 1] - at;
    for (int j = 0; j < d; j++)
      for (int i = j; i < d; i++) PUT(at + i, at + j, blocks->M[blocks->mptr[b] + i + j * d]);
  }
  for (int c = 0; c < blocks->nc; c++) {
    const int row = blocks->cptr[c], r = blocks->cptr[c + 1] - row;
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++) {
      const int at = blocks->bptr[blocks->jblk[k]], d = blocks->bptr[blocks->jblk[k] + 1] - at;
      for (int j = 0; j < d; j++)
        for (int i = 0; i < r; i++)
          PUT(blocks->nv + row + i, at + j, -blocks->J[blocks->joff[k] + i + j * r]);
    }
  }
  for (int i = 0; blocks->s != NULL && i < blocks->m; i++)
    PUT(blocks->nv + i, blocks->nv + i, -blocks->s[i]);
#undef PUT
  return entries;
}

static void put_columns(struct dump *dump, const char *suffix, const char *what, const double *v)
{
  perp_out out;
  if (!open_part(dump, suffix, &out)) return;
  FILE *file = out.f;
  const int n = dump->B.nv + dump->B.m;
  fprintf(file, "%%%%MatrixMarket matrix array real general\n%% %s, one column a solve\n%d %d\n",
          what, n, dump->solves);
  for (int64_t i = 0; i < (int64_t)n * dump->solves; i++) fprintf(file, "%.17g\n", v[i]);
  close_part(dump, &out);
}

static double worst_residual(const struct dump *dump)
{
  const int nv = dump->B.nv, m = dump->B.m;
  double worst = 0, *scratch = perp_xalloc((size_t)(2 * (nv + m) + m), sizeof *scratch),
         *c = scratch + 2 * (nv + m);
  for (int solve = 0; solve < dump->solves; solve++) {
    const double *b = dump->b + (size_t)solve * (size_t)(nv + m),
                 *x = dump->x + (size_t)solve * (size_t)(nv + m);
    for (int i = 0; i < m; i++) c[i] = -b[nv + i];
    double r = perp_kkt_residual(&dump->B, b, c, x, x + nv, scratch);
    if (!(r <= worst)) worst = r;
  }
  free(scratch);
  return worst;
}

static void kkt_dump_flush(struct dump *dump)
{
  if (!dump->pending || !dump->chosen || dump->status != PERP_OK) return;
  perp_out out;
  if (open_part(dump, "", &out)) {
    FILE *file = out.f;
    const int n = dump->B.nv + dump->B.m;
    int64_t entries = kkt_dump_put_matrix(&dump->B, NULL);
    fprintf(file,
            "%%%%MatrixMarket matrix coordinate real symmetric\n"
            "%% K = [ M -J' ; -J -S ], K [ a ; lambda ] = [ f ; -c ]: nv = %d, m = %d, step %lld\n"
            "%% %s\n%d %d %lld\n",
            dump->B.nv, dump->B.m, (long long)dump->made_in, dump->title, n, n, (long long)entries);
    kkt_dump_put_matrix(&dump->B, file);
    char size[16], nonzeros[24], solves[16], residual[32];
    snprintf(size, sizeof size, "%d", n);
    snprintf(nonzeros, sizeof nonzeros, "%lld", (long long)entries);
    snprintf(solves, sizeof solves, "%d", dump->solves);
    snprintf(residual, sizeof residual, dump->solves > 0 ? "%.2g" : "-", worst_residual(dump));
    perp_table_row(&dump->table,
                   (const char *const[]){ strrchr(out.path, '/') + 1, size, nonzeros, solves,
                                          residual, perp_reason_name(dump->reason) });
    close_part(dump, &out);
    if (dump->solves > 0) {
      put_columns(dump, "-b", "right-hand sides [ f ; -c ]", dump->b);
      put_columns(dump, "-x", "solutions [ a ; lambda ]", dump->x);
    }
  }
  dump->pending = false;
}

/* ---- the wrapper ---- */

static perp_status wrapper_create(perp_ctx *ctx, const perp_blocks *pattern, const void *opts,
                                  void **out)
{
  const struct wrapper_opts *chosen = opts;
  struct dump *dump = chosen->dump;
  struct wrapper *wrapper = perp_xalloc(1, sizeof *wrapper);
  wrapper->dump = dump;
  perp_status status = perp_kkt_create(ctx, &dump->inner, pattern, &wrapper->inner);
  if (status != PERP_OK) {
    free(wrapper);
    return status;
  }
  const size_t n = (size_t)(pattern->nv + pattern->m);
  dump->B = *pattern;
  perp_pool *pool = &dump->pool;
  dump->B.M = perp_pool_alloc(pool, (size_t)pattern->mptr[pattern->nb] + 1, sizeof(double));
  dump->B.J = perp_pool_alloc(pool, (size_t)values_of_J(pattern) + 1, sizeof(double));
  dump->B.s = pattern->s != NULL ? perp_pool_alloc(pool, (size_t)pattern->m, sizeof(double)) : NULL;
  dump->b = perp_pool_alloc(pool, SOLVES * n, sizeof *dump->b);
  dump->x = perp_pool_alloc(pool, SOLVES * n, sizeof *dump->x);
  *out = wrapper;
  return PERP_OK;
}

static bool kkt_dump_wanted(const struct dump *dump, int64_t step)
{
  if (dump->all) return true;
  if (dump->n_steps == 0) return step > 0 && (step & (step - 1)) == 0;
  for (int i = 0; i < dump->n_steps; i++)
    if (dump->wanted[i] == step) return true;
  return false;
}

static perp_status wrapper_factor(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                  perp_stats *stats)
{
  struct wrapper *wrapper = ws;
  struct dump *dump = wrapper->dump;
  if (dump->step >= 0) {
    kkt_dump_flush(dump);
    memcpy((double *)(uintptr_t)dump->B.M, blocks->M,
           (size_t)blocks->mptr[blocks->nb] * sizeof *blocks->M);
    memcpy((double *)(uintptr_t)dump->B.J, blocks->J,
           (size_t)values_of_J(blocks) * sizeof *blocks->J);
    if (dump->B.s != NULL)
      memcpy((double *)(uintptr_t)dump->B.s, blocks->s, (size_t)blocks->m * sizeof *blocks->s);
    dump->made_in = dump->step;
    dump->number = ++dump->in_step;
    dump->solves = 0;
    dump->pending = true;
    dump->chosen = kkt_dump_wanted(dump, dump->step);
  }
  perp_status status = perp_kkt_factor(ctx, wrapper->inner, blocks, stats);
  dump->reason = status == PERP_OK ? stats->reason : PERP_RUNNING;
  return status;
}

static perp_status wrapper_solve(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                 const double *f, const double *c, double *a, double *lambda,
                                 perp_stats *stats)
{
  struct wrapper *wrapper = ws;
  struct dump *dump = wrapper->dump;
  perp_status status = perp_kkt_solve(ctx, wrapper->inner, blocks, f, c, a, lambda, stats);
  if (dump->step >= 0 && dump->pending && dump->solves < SOLVES && status == PERP_OK) {
    const size_t n = (size_t)(blocks->nv + blocks->m), nv = (size_t)blocks->nv,
                 m = (size_t)blocks->m;
    double *b = dump->b + n * (size_t)dump->solves, *x = dump->x + n * (size_t)dump->solves;
    memcpy(b, f, nv * sizeof *f);
    for (size_t i = 0; i < m; i++) b[nv + i] = -c[i];
    memcpy(x, a, nv * sizeof *a);
    memcpy(x + nv, lambda, m * sizeof *lambda);
    dump->reason = stats->reason;
    dump->solves++;
  }
  return status;
}

static void wrapper_destroy(void *ws)
{
  struct wrapper *wrapper = ws;
  if (wrapper == NULL) return;
  perp_kkt_destroy(wrapper->inner);
  free(wrapper);
}

/* ---- the run ---- */

static perp_status kkt_dump_wrap(perp_ctx *ctx, perp_parts *parts, void *user)
{
  struct dump *dump = user;
  if (parts->kkt.d == NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "this run solves no KKT system: its formulation has none");
  dump->inner = parts->kkt;
  dump->desc = *(const perp_kkt_desc *)(const void *)parts->kkt.d;
  dump->desc.d.opts = NULL; /* the options of the wrapper are no table */
  dump->desc.d.opts_size = 0;
  dump->desc.create = wrapper_create;
  dump->desc.factor = wrapper_factor;
  dump->desc.solve = wrapper_solve;
  dump->desc.destroy = wrapper_destroy;
  struct wrapper_opts *opts = perp_xalloc(1, sizeof *opts);
  opts->dump = dump;
  parts->kkt = (perp_spec){ .d = &dump->desc.d, .opts = opts };
  return PERP_OK;
}

static void next_step(int64_t step, void *user)
{
  struct dump *dump = user;
  dump->chosen |= step < 0; /* the last system of the run is kept whatever its step is */
  kkt_dump_flush(dump);
  dump->step = step;
  dump->in_step = 0;
}

static perp_status read_steps(perp_ctx *ctx, const char *text, struct dump *dump)
{
  dump->all = text != NULL && strcmp(text, "all") == 0;
  if (text == NULL || dump->all) return PERP_OK;
  char *end;
  for (const char *at = text;; at = end + 1) {
    long long n = strtoll(at, &end, 10);
    if (end == at || n < 0 || dump->n_steps == STEPS || (*end != '\0' && *end != ','))
      return PERP_FAIL(
          ctx, PERP_ERR_OPTION,
          "steps must be all, or at most %d step numbers from 0, separated by commas: got '%s'",
          STEPS, text);
    dump->wanted[dump->n_steps++] = n;
    if (*end == '\0') return PERP_OK;
  }
}

perp_status perp_kkt_dump(perp_ctx *ctx, const perp_request *request, const char *dir,
                          const char *steps, const char *title, FILE *out)
{
  struct dump dump = { .dir = dir, .title = title, .ctx = ctx };
  PERP_TRY(read_steps(ctx, steps, &dump));
  PERP_TRY(perp_make_dirs(ctx, dir));
  perp_table_init(&dump.table, "lrrrrl");
  perp_table_row(&dump.table, (const char *const[]){ "file", "rows", "entries", "solves",
                                                     "residual", "reason" });
  perp_request own = *request;
  own.watch = &(perp_watch){ .parts = kkt_dump_wrap, .step = next_step, .user = &dump };
  perp_result result;
  perp_status status = perp_simulate(ctx, &own, &result);
  if (status == PERP_OK && result.reason < 0) perp_say("%s", result.message);
  if (status == PERP_OK) status = dump.status;
  if (status == PERP_OK && dump.table.n == dump.table.columns)
    status = PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "no KKT system was solved: the model has no joints, or the run has none of these steps");
  if (status == PERP_OK) perp_table_print(&dump.table, out);
  perp_result_free(&result);
  perp_table_free(&dump.table);
  perp_spec_free(&dump.inner);
  perp_pool_free(&dump.pool);
  return status;
}
