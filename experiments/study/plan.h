/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cells of a study. */
#ifndef PERP_PLAN_H
#define PERP_PLAN_H

#include "experiments/study/study.h"

/* One combination.  Its id is a hash of kind and canonical parameters: the same on every machine,
 * in every study. */
typedef struct perp_cell {
  char id[17];       /* 16 hexadecimal digits */
  perp_value *value; /* [n_params] each with its canonical text; missing: not used */
} perp_cell;

enum { PERP_CELLS_MAX = 4000000 };

/* A parameter that has no effect in some combinations. */
typedef struct perp_drop {
  int param;
  const char *why;  /* "with formulation reduced" */
  int combinations; /* in so many */
} perp_drop;

/* One value of an axis, or the one of a parameter that does not vary. */
typedef struct perp_value_use {
  bool used;        /* by a cell, or would be with a part that is absent */
  int combinations; /* that no rule excludes */
  int drop;         /* index of the last reason why it has no effect; -1: none */
} perp_value_use;

/* Combinations that are left out, as they name a plug-in that this perp was built without. */
typedef struct perp_plan_absent {
  const char *part; /* of optional.def */
  int combinations;
} perp_plan_absent;

typedef struct perp_plan {
  perp_pool pool;
  int n;
  perp_cell *cells;     /* in the order of the grid, the last axis fastest */
  int64_t combinations; /* of the grid */
  int *excluded;        /* [n_exclude] by each rule, the first that fits counts */
  int duplicates;       /* combinations that are the same cell as one before */
  int n_drops;
  perp_drop *drops;
  int n_absent;
  perp_plan_absent *absent; /* one a part */
  /* [n_params] of each value of its axis, or of the fixed one; NULL in a loaded plan */
  perp_value_use **use;
} perp_plan;

perp_status perp_plan_make(perp_ctx *ctx, const perp_study *study, perp_plan *plan);
/* Is every value that the study names used by a cell?  Errors with their places go to diag.  A
 * study that the command line has narrowed may have unused values of its file. */
void perp_plan_check(const perp_ctx *ctx, const perp_study *study, const perp_plan *plan,
                     perp_diag *diag);
/* The same, printed: -1 or an exit status. */
int perp_plan_refuse(const perp_ctx *ctx, const perp_study *study, const perp_plan *plan);
/* "36 combinations are 20 runs: stab has no effect with formulation reduced"; nothing where no two
 * are equal. */
void perp_plan_say(const perp_study *study, const perp_plan *plan, perp_text *out);
/* "12 combinations need libsundials-dev: left out (./perp setup sundials)"; nothing where none do.
 */
void perp_plan_say_absent(const perp_plan *plan, perp_text *out);
void perp_plan_warn(const perp_study *study, const perp_plan *plan); /* both on stderr */
void perp_plan_free(perp_plan *plan);
/* Index of the cell with this id or the only one that begins so; -1 none, -2 several. */
int perp_plan_find(const perp_plan *plan, const char *id);
/* The work of a cell, 1 where the kind does not say. */
double perp_cell_work(const perp_study *study, const perp_cell *cell);
/* "ode=rk4 h=0.001 stab=post": the parameters that vary over the study. */
void perp_cell_label(const perp_study *study, const perp_cell *cell, perp_text *out);
/* Its parameters that are used, as members of a JSON object. */
void perp_cell_json(perp_json *json, const perp_study *study, const perp_cell *cell);

/* A scope over cells alone: parameters and, from `status` (may be NULL: planned), their status. */
typedef struct perp_plan_scope {
  perp_scope scope;
  const perp_plan *plan;
  const perp_cell_status *status;
  const perp_study *study;
} perp_plan_scope;
void perp_plan_scope_init(const perp_ctx *ctx, perp_plan_scope *scope, const perp_study *study,
                          const perp_plan *plan, const perp_cell_status *status);

/* plan.jsonl: a head line, then one line a cell, with numbers as numbers (perp-plan/2). */
/* What the words of a results folder mean; 2: ok says that every problem of the run was solved by
 * the solver that was named.  1 (folders that do not say it): ok says that the run reached its
 * end. */
enum { PERP_RESULTS_SCHEMA = 2 };
/* PERP_ERR_FORMAT with a message: the folder was written by a newer perp. */
perp_status perp_schema_unknown(perp_ctx *ctx, const char *path, int schema);

typedef struct perp_selection {
  const char *only, *skip, *shard; /* as given, NULL: none */
  const char *plugins;             /* "--plugin FILE ..." of outside plug-ins, NULL: none */
  int schema;                      /* 0 when writing: PERP_RESULTS_SCHEMA */
} perp_selection;
/* A text of a JSON object as a copy in pool; `none` where there is none. */
struct json_t;
const char *perp_json_kept(perp_pool *pool, const struct json_t *object, const char *key,
                           const char *none);
perp_status perp_plan_write(perp_ctx *ctx, const char *path, const perp_study *study,
                            const perp_plan *plan, const perp_selection *selection);
/* Selection texts live in the pool of plan. */
perp_status perp_plan_load(perp_ctx *ctx, const char *path, const perp_study *study,
                           perp_plan *plan, perp_selection *selection);

#endif
