/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Core of perp: status, context, options, registry, arena, clocks, random numbers, trace.
 *
 * Library code never prints, never exits and keeps no globals: everything a call needs to report
 * goes through the perp_ctx that it is given.  One context per thread of work. */
#ifndef PERP_CORE_H
#define PERP_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Interface version of the descriptors; outside plug-ins are checked against it. */
#define PERP_ABI 17
/* That of the library that is there, for those who have no compiler to ask. */
int perp_abi(void);

/* ---- three separate answers ---- */

/* Did the call work? */
typedef enum perp_status {
  PERP_OK = 0,
  PERP_ERR_ARG,         /* a value that the function does not accept */
  PERP_ERR_DIM,         /* sizes that do not fit together */
  PERP_ERR_OPTION,      /* unknown plug-in, unknown key, value outside its range, wrong unit */
  PERP_ERR_UNSUPPORTED, /* a valid request that this method does not serve */
  PERP_ERR_NOMEM,
  PERP_ERR_IO,
  PERP_ERR_FORMAT,   /* malformed input file */
  PERP_ERR_EXTERNAL, /* a library (CHOLMOD, LAPACK, GSL, ...) refused */
  PERP_ERR_INTERNAL,
  PERP_ERR_RAISED /* a method in another language raised an exception, or its process ended */
} perp_status;

/* Why did the iteration stop?  > 0: there is a usable answer; < 0: there is none. */
typedef enum perp_reason {
  PERP_RUNNING = 0,
  PERP_CONVERGED = 1,   /* the judge accepts the answer at its tolerance */
  PERP_EXACT = 2,       /* direct method, finished */
  PERP_REGULARIZED = 3, /* redundant rows: the documented substitute answer */
  PERP_MAX_ITER = -1,
  PERP_STALLED = -2, /* no further progress although the tolerance is not met */
  PERP_RAY = -3,     /* secondary ray (Lemke); a certificate may be attached */
  PERP_CYCLED = -4,
  PERP_SINGULAR = -5,
  PERP_NOT_FINITE = -6,
  PERP_STEP_TOO_SMALL = -7,
  PERP_INFEASIBLE = -8, /* proved: no solution */
  PERP_INACCURATE = -9, /* the method finished, the judge refused */
  PERP_INVALID_STATE = -10,
  PERP_UNSUITED = -11, /* the problem is outside the documented domain of the method */
  PERP_DIVERGED = -12, /* the state grew beyond all bounds of its problem */
  PERP_SWEEPS_DONE =
      -13,              /* the number of sweeps that was asked for, and no test: see the residual */
  PERP_UNDECIDED = -14, /* rounding of the residual reaches across the tolerance: nobody can tell */
  PERP_NONE_WITHIN = -15 /* shown: no solution within a radius; one beyond it is not excluded */
} perp_reason;

const char *perp_status_name(perp_status status); /* "ok", "option", ... */
const char *perp_reason_name(perp_reason reason); /* "converged", "ray", ... */

/* What happened during a solve.  Filled by the method (residual by the judge). */
typedef struct perp_stats {
  perp_reason reason;
  int iterations;     /* pivots, sweeps, Newton steps, CG steps */
  int factorizations; /* numeric ones */
  int64_t matvecs;    /* products with A, or their equivalent in rows / n */
  int fallbacks;      /* how often another method had to step in */
  double residual;    /* set by the one judge of the kind, never by the method */
  double data;        /* lcp: what is left in units of the data (lcp.h), set by the judge */
  const char *by;     /* composite methods: the part whose answer this is, static or owned by the
                       * method's     workspace; NULL: the method itself */
  double work;        /* multiplications with additions, the unit of all methods of lcp and kkt */
} perp_stats;

/* ---- context ---- */

/* One thing that happened inside a solver: a pivot, a sweep, a Newton step, a rejected ODE step. */
typedef struct perp_trace_event {
  const char *method; /* name of the plug-in */
  const char *what;   /* "start", "sweep", "pivot", "newton", "step", "reject", ... */
  int iteration;
  int entering, leaving; /* row indices, -1 when none */
  double step;           /* step length or step size */
  double residual;       /* NaN when not computed */
  int n;
  const double *x;          /* [n] current iterate, NULL when not available */
  const double *w;          /* [n] its slack, NULL when not available */
  const signed char *state; /* [n] index set of each row (see lcp.h), NULL when none */
} perp_trace_event;
typedef void perp_trace_fn(void *user, const perp_trace_event *event);

typedef enum perp_kind {
  PERP_KIND_NONE = 0,
  PERP_KIND_scene,
  PERP_KIND_formulation,
  PERP_KIND_ode,
  PERP_KIND_kkt,
  PERP_KIND_lcp,
  PERP_KIND_stab,
  PERP_KIND_contact,
  PERP_KIND_engine,
  PERP_KIND_metric,
  PERP_KIND_force,
  PERP_KIND_joint,
  PERP_KIND_controller,
  PERP_KIND_COUNT
} perp_kind;

struct perp_desc;
typedef struct perp_plugin {
  perp_kind kind;
  const struct perp_desc *d;
} perp_plugin;

enum { PERP_MAX_TABLES = 32 };

typedef struct perp_ctx {
  /* the last error */
  perp_status status;
  int line;
  const char *file, *func;
  char msg[512];
  /* observers; NULL = off, at the cost of one comparison per iteration */
  perp_trace_fn *trace;
  void *trace_user;
  /* known plug-ins: tables ended by PERP_KIND_NONE, in the order of registration */
  const perp_plugin *tables[PERP_MAX_TABLES];
  int n_tables;
  uint32_t own; /* bit t: table t comes with perp */
  /* threads that a call may use inside, its own included; 0: one.  Results do not depend on it. */
  int threads;
  /* bytes that a problem which is read or generated, or its file, may take; 0: PERP_MEMORY */
  double memory;
  /* Asked for a plug-in that no table has: files may describe one.  PERP_OK and *d, NULL: nor does
   * it know the name; else an error with its message.  What it returns lives as long as the
   * program.  NULL: nobody is asked. */
  perp_status (*open)(struct perp_ctx *ctx, perp_kind kind, const char *name,
                      const struct perp_desc **d);
  /* The i-th of what `open` has handed out; NULL: there is none, or (the pointer) nothing is asked
   * for. */
  const struct perp_desc *(*opened)(perp_kind kind, int i);
  /* Told of each descriptor before it is handed out: one in a table may have no more than its name
   * until then.  NULL: nobody is told. */
  void (*need)(const struct perp_desc *d);
} perp_ctx;
#define PERP_MEMORY 1e9

/* Empty context: no error, no plug-ins, no trace.  Needs no clean-up. */
void perp_ctx_init(perp_ctx *ctx);

perp_status perp_fail_at(perp_ctx *ctx, perp_status status, const char *file, int line,
                         const char *func, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* Record an error in ctx (NULL allowed) and return its status. */
#define PERP_FAIL(ctx, status, ...)                                                                \
  perp_fail_at((ctx), (status), __FILE__, __LINE__, __func__, __VA_ARGS__)
#define PERP_TRY(expr)                                                                             \
  do {                                                                                             \
    perp_status status_ = (expr);                                                                  \
    if (status_ != PERP_OK) return status_;                                                        \
  } while (0)
#define PERP_TRACE(ctx, ...)                                                                       \
  do {                                                                                             \
    if ((ctx) != NULL && (ctx)->trace != NULL)                                                     \
      (ctx)->trace((ctx)->trace_user, &(const perp_trace_event){ __VA_ARGS__ });                   \
  } while (0)

/* ---- options ---- */

enum { PERP_TEXT_MAX = 128 }; /* size of a PERP_TEXT field, terminator included */

typedef enum perp_opt_type {
  PERP_OPT_END = 0,
  PERP_OPT_BOOL,
  PERP_OPT_INT,
  PERP_OPT_REAL,
  PERP_OPT_ENUM,
  PERP_OPT_TEXT /* char[PERP_TEXT_MAX]; a value with commas goes in parentheses */
} perp_opt_type;
enum { PERP_OPEN_MIN = 1, PERP_OPEN_MAX = 2 }; /* (min, max) instead of [min, max] */

/* The only place where an option is described: parsing, validation, help, docs and manifest read
 * it. `unit` is the SI unit of a real option ("" for a pure number); values are written in it or
 * with a unit of the same dimension (1ms, 30deg, 100mm). */
typedef struct perp_opt {
  const char *key, *unit, *help;
  perp_opt_type type;
  size_t offset;
  double dflt, min, max;
  unsigned flags;
  const char *const *choices; /* ENUM: NULL-terminated names */
  const char *text;           /* TEXT: default */
} perp_opt;

#define PERP_IS_(S, f, T) (0 * sizeof(char[_Generic(((S *)0)->f, T : 1, default : -1)]))
#define PERP_REAL(S, f, d, lo, hi, fl, u, h)                                                       \
  {                                                                                                \
#f, u, h, PERP_OPT_REAL, offsetof(S, f) + PERP_IS_(S, f, double), d, lo, hi, fl, NULL, NULL    \
  }
#define PERP_INT(S, f, d, lo, hi, h)                                                               \
  {                                                                                                \
#f, "", h, PERP_OPT_INT, offsetof(S, f) + PERP_IS_(S, f, int), d, lo, hi, 0, NULL, NULL        \
  }
#define PERP_BOOL(S, f, d, h)                                                                      \
  {                                                                                                \
#f, "", h, PERP_OPT_BOOL, offsetof(S, f) + PERP_IS_(S, f, bool), d, 0, 1, 0, NULL, NULL        \
  }
#define PERP_ENUM(S, f, d, names, h)                                                               \
  {                                                                                                \
#f, "", h, PERP_OPT_ENUM, offsetof(S, f) + PERP_IS_(S, f, int), d, 0, 0, 0, names, NULL        \
  }
#define PERP_TEXT(S, f, d, h)                                                                      \
  {                                                                                                \
#f, "", h, PERP_OPT_TEXT,                                                                      \
        offsetof(S, f) + 0 * sizeof(char[sizeof(((S *)0)->f) == PERP_TEXT_MAX ? 1 : -1]), 0, 0, 0, \
        0, NULL, d                                                                                 \
  }
#define PERP_OPTIONS_END                                                                           \
  {                                                                                                \
    0                                                                                              \
  }

/* The head of every plug-in descriptor, its first member `d`. */
typedef struct perp_desc {
  const char *name;      /* as typed: "psor", "gsl:rk8pd" */
  const char *summary;   /* one line */
  const char *reference; /* source with equation numbers */
  const char *equation;  /* what is solved or done, plain text; may be NULL */
  const perp_opt *opts;  /* ended by PERP_OPTIONS_END; NULL when opts_size is 0 */
  size_t opts_size;
  unsigned caps; /* capability bits of the kind; the top bits are shared, see below */
} perp_desc;
/* The two fields of the options: their table, and the struct that it fills. */
#define PERP_OPTIONS(table, type) .opts = table, .opts_size = sizeof(type)
#define PERP_CAP_ALLOCATES        0x40000000u /* the steady state may allocate */

/* All options at their defaults; opts: a struct of desc->opts_size bytes. */
void perp_opts_default(const perp_desc *desc, void *opts);
/* Set one option.  PERP_ERR_OPTION: unknown key, not a value of its type, out of range, another
 * unit; then *opts is unchanged and ctx names key, value and range. */
perp_status perp_opts_set(perp_ctx *ctx, const perp_desc *desc, void *opts, const char *key,
                          const char *value);
/* "key=value,key=value"; values in parentheses may hold commas.  On failure (as perp_opts_set) the
 * options before the wrong one are set. */
perp_status perp_opts_parse(perp_ctx *ctx, const perp_desc *desc, void *opts, const char *list);
/* All options as "key=value,..." in SI units; parses back to the identical struct.
 * only_changed leaves out the defaults.  Returns the length that was needed (as snprintf). */
int perp_opts_format(const perp_desc *desc, const void *opts, bool only_changed, char *buf,
                     size_t size);
/* The value of one option as text, e.g. for a table.  Returns the length needed. */
int perp_opt_format(const perp_opt *opt, const void *opts, char *buf, size_t size);
/* The accepted values of one option as text: "(0, 2)", "[0, inf)", "euler | heun". */
int perp_opt_range(const perp_opt *opt, char *buf, size_t size);

/* Read a real number with an optional unit of the dimension of `unit` ("s", "m", "kg", "rad",
 * "1/s", "" ...): "0.8 s", "1ms", "30deg", "0.001", also "2^-8" and "1/240 s".  *value is in SI;
 * "inf" is a number. PERP_ERR_OPTION: no number, NaN, too large for a double, no such unit; *value
 * is then unchanged. */
perp_status perp_parse_real(perp_ctx *ctx, const char *text, const char *unit, double *value);
/* The shortest decimal text that reads back as exactly v.  Returns the length needed. */
int perp_format_real(double v, char *buf, size_t size);

/* ---- registry ---- */

const char *perp_kind_name(perp_kind kind);
perp_kind perp_kind_of(const char *name); /* PERP_KIND_NONE when unknown */

/* Add a table ended by { PERP_KIND_NONE, NULL }; it must outlive ctx.  PERP_ERR_NOMEM: there are
 * PERP_MAX_TABLES. */
perp_status perp_register(perp_ctx *ctx, const perp_plugin *table);
/* The same of a table that comes with perp. */
perp_status perp_register_own(perp_ctx *ctx, const perp_plugin *table);
/* Is d in such a table of ctx?  A copy of it is not.  O(plug-ins). */
bool perp_is_own(const perp_ctx *ctx, const perp_desc *desc);
/* The i-th plug-in of a kind, in order of registration; NULL past the end. */
const perp_desc *perp_plugin_at(const perp_ctx *ctx, perp_kind kind, int i);
/* Its name alone, NULL after the last one: no scene file is read for it. */
const char *perp_plugin_name(const perp_ctx *ctx, perp_kind kind, int i);
/* The first of that name, also one that ctx->open knows; NULL when unknown (no error is recorded).
 * O(plug-ins^2): not for inner loops. */
const perp_desc *perp_find(const perp_ctx *ctx, perp_kind kind, const char *name);

/* A plug-in with its options: the result of reading "psor:omega=1.3,tol=1e-10". */
typedef struct perp_spec {
  const perp_desc *d;
  void *opts; /* d->opts_size bytes, owned; NULL when the plug-in has no options */
} perp_spec;
/* Read a plug-in name with options.  An unknown name or key is answered with the closest one and
 * the command that lists the valid ones: PERP_ERR_OPTION.  Allocates the options (PERP_ERR_NOMEM).
 * On failure *spec is empty. */
perp_status perp_spec_parse(perp_ctx *ctx, perp_kind kind, const char *text, perp_spec *spec);
/* Canonical text: name, then the options that differ from their defaults.  Returns the length
 * needed. */
int perp_spec_format(const perp_spec *spec, char *buf, size_t size);
void perp_spec_free(perp_spec *spec);
/* *to is the caller's own; an empty spec stays empty.  PERP_ERR_NOMEM leaves it empty. */
perp_status perp_spec_copy(perp_ctx *ctx, const perp_spec *from, perp_spec *to);

/* The candidate closest to `word` (Damerau-Levenshtein, transposition = 1), or NULL when nothing is
 * near enough to be worth proposing. */
const char *perp_closest(const char *word, const char *const *candidates, int n);

/* ---- arena: one block, carved by one layout function that runs twice ---- */

/* Blocks are 64-byte aligned and filled with NaN.  A count of 0 takes no room.  A layout function
 * only carves and assigns: it runs with base NULL to count, then to assign. static void
 * psor_layout(void *ws, perp_arena *a)
 *   {
 *     struct ws *w = ws;
 *     PERP_DOUBLES(a, w->n, &w->x, &w->keep);
 *     w->order = PERP_CARVE(a, int, w->n);
 *   } */
typedef struct perp_arena {
  char *base;
  size_t used;
} perp_arena;
typedef void perp_layout_fn(void *ws, perp_arena *a);
void *perp_arena_carve(perp_arena *arena, size_t count, size_t size);
#define PERP_CARVE(a, T, count) ((T *)perp_arena_carve((a), (size_t)(count), sizeof(T)))
/* Several arrays of the same length: *to[0] ... *to[k - 1]. */
void perp_arena_doubles(perp_arena *arena, size_t count, double **const *to, size_t k);
void perp_arena_ints(perp_arena *arena, size_t count, int **const *to, size_t k);
#define PERP_DOUBLES(a, count, ...)                                                                \
  perp_arena_doubles((a), (size_t)(count), (double **const[]){ __VA_ARGS__ },                      \
                     sizeof((double **const[]){ __VA_ARGS__ }) / sizeof(double **))
#define PERP_INTS(a, count, ...)                                                                   \
  perp_arena_ints((a), (size_t)(count), (int **const[]){ __VA_ARGS__ },                            \
                  sizeof((int **const[]){ __VA_ARGS__ }) / sizeof(int **))
/* After the counting pass: allocate and rewind for the assigning pass.  PERP_ERR_NOMEM: *arena
 * holds no memory, and what the counting pass assigned is NULL. */
perp_status perp_arena_reserve(perp_ctx *ctx, perp_arena *arena);
/* Both passes of layout over ws; what *a held before is freed.  Errors: as perp_arena_reserve. */
perp_status perp_arena_layout(perp_ctx *ctx, perp_arena *arena, perp_layout_fn *layout, void *ws);
void perp_arena_free(perp_arena *arena);
/* A copy of the struct *like (size bytes) with its arrays behind it, in one block: *ws, to be given
 * to free().  *like holds the lengths that layout asks for.  PERP_ERR_NOMEM: *ws is NULL, the
 * message begins with `who`. */
perp_status perp_workspace_create(perp_ctx *ctx, const char *who, void *like, size_t size,
                                  perp_layout_fn *layout, void **ws);

/* ---- clocks: seconds ---- */

double perp_clock_wall(void); /* monotonic; about 20 ns a call */
double
perp_clock_thread(void); /* CPU time of this thread, and what it was charged; a system call */
/* CPU time that another process spent for this thread: its clock has it from now on. */
void perp_clock_charge(double seconds);

/* ---- teams of threads ---- */

/* One member's part of the work.  What depends on the order of operations must not depend on
 * `members`. */
typedef void perp_team_fn(void *user, int member, int members);
/* Runs work as members 0 ... members - 1 at the same time, at most `threads` of them (<= 1: in the
 * caller); inside another team there is one.  Allocates on the first call of more threads than
 * ever. */
void perp_team(int threads, perp_team_fn *work, void *user);
/* All members wait for each other; each of them calls it equally often. */
void perp_team_wait(int members);
/* Shares of n things: [perp_share(n, k, members), perp_share(n, k + 1, members)). */
static inline int perp_share(int n, int member, int members)
{
  return (int)((int64_t)n * member / members);
}

/* ---- random numbers: GSL's taus2 behind a small face, identical on every machine ---- */

typedef struct perp_rng perp_rng;
/* seed: its halves are folded to 32 bits.  NULL when out of memory.  What follows allocates
 * nothing. */
perp_rng *perp_rng_create(uint64_t seed);
void perp_rng_destroy(perp_rng *rng);                         /* NULL is fine */
double perp_rng_uniform(perp_rng *rng, double lo, double hi); /* [lo, hi) */
double perp_rng_normal(perp_rng *rng);                        /* mean 0, variance 1 */
int perp_rng_int(perp_rng *rng, int n);                       /* 0 ... n-1, n > 0 */
void perp_rng_shuffle(perp_rng *rng, int *index, int n);      /* index [n], in place */

#ifdef __cplusplus
}
#endif

#endif
