/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Studies whose cells are simulations: one call of perp_simulate each. */
#include "experiments/simulate/kind_simulate.h"

#include "experiments/metrics/metrics.h"
#include "experiments/study/process_pool.h"
#include "experiments/simulate/parts.h"
#include "experiments/study/plan.h"
#include "experiments/simulate/reference.h"
#include "experiments/simulate/simulate.h"
#include "experiments/base/shell.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  P_SCENE,
  P_FORMULATION,
  P_ODE,
  P_KKT,
  P_LCP,
  P_STAB,
  P_CONTACT,
  P_H,
  P_T_END,
  P_SEED,
  P_SAMPLE
};
static const perp_param params[] = {
  [P_SCENE] = { "scene", "what is simulated (perp list scenes)", PERP_PARAM_PLUGIN, PERP_KIND_scene,
                "", 0, 0, 0, NULL, false },
  [P_FORMULATION] = { "formulation", "how the scene becomes numbers", PERP_PARAM_PLUGIN,
                      PERP_KIND_formulation, "", 0, 0, 0, "", false },
  [P_ODE] = { "ode", "integrator", PERP_PARAM_PLUGIN, PERP_KIND_ode, "", 0, 0, 0, "", false },
  [P_KKT] = { "kkt", "solver of the constrained dynamics", PERP_PARAM_PLUGIN, PERP_KIND_kkt, "", 0,
              0, 0, "", false },
  [P_LCP] = { "lcp", "solver of the contact problem", PERP_PARAM_PLUGIN, PERP_KIND_lcp, "", 0, 0, 0,
              "", false },
  [P_STAB] = { "stab", "constraint stabilization", PERP_PARAM_PLUGIN, PERP_KIND_stab, "", 0, 0, 0,
               "", false },
  [P_CONTACT] = { "contact", "contact and friction model", PERP_PARAM_PLUGIN, PERP_KIND_contact, "",
                  0, 0, 0, "", false },
  [P_H] = { "h", "step, the first one of adaptive methods", PERP_PARAM_REAL, PERP_KIND_NONE, "s", 0,
            HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "", false },
  [P_T_END] = { "t_end", "end of the simulation", PERP_PARAM_REAL, PERP_KIND_NONE, "s", 0, HUGE_VAL,
                PERP_OPEN_MIN | PERP_OPEN_MAX, "", false },
  [P_SEED] = { "seed", "of random numbers", PERP_PARAM_INT, PERP_KIND_NONE, "", 0, 9e15, 0, "1",
               false },
  [P_SAMPLE] = { "sample", "time between comparisons with the truth and rows of the series",
                 PERP_PARAM_REAL, PERP_KIND_NONE, "s", 0, HUGE_VAL, 0, "", true },
  { 0 }
};

/* ---- metrics -------------------------------------------------------------------------------------------- */

static const perp_metric parts_of_a_step[] = {
  { "time.collision_us", "us", "CPU time of collision detection in a step", -1, true },
  { "time.assembly_us", "us", "CPU time of building J, M and f in a step", -1, true },
  { "time.kkt_us", "us", "CPU time of the KKT solver in a step", -1, true },
  { "time.lcp_us", "us", "CPU time of the LCP solver in a step", -1, true },
  { "time.integrate_us", "us", "CPU time of all else in a step", -1, true },
};
enum { N_PARTS = sizeof parts_of_a_step / sizeof *parts_of_a_step };

static const perp_metric *kind_simulate_metrics(const perp_ctx *ctx, perp_pool *pool)
{
  const perp_desc *d;
  int n = 0;
  while (perp_plugin_at(ctx, PERP_KIND_metric, n) != NULL) n++;
  perp_metric *list = perp_pool_alloc(pool, (size_t)(n + N_PARTS + 1), sizeof *list);
  for (int i = 0; (d = perp_plugin_at(ctx, PERP_KIND_metric, i)) != NULL; i++) {
    const perp_metric_desc *m = (const perp_metric_desc *)(const void *)d;
    list[i] = (perp_metric){ .name = d->name,
                             .unit = m->unit,
                             .meaning = d->summary,
                             .better = strcmp(m->better, "less") == 0   ? -1
                                       : strcmp(m->better, "more") == 0 ? 1
                                                                        : 0,
                             .timing = (d->caps & PERP_METRIC_TIMING) != 0 };
  }
  memcpy(list + n, parts_of_a_step, sizeof parts_of_a_step);
  return list;
}

/* ---- the study -------------------------------------------------------------------------------------------- */

static const char *const sections[] = { "accept", NULL };

/* "5%" or 0.05 */
static bool parse_share(const char *text, double *share)
{
  char *end;
  *share = strtod(text, &end);
  if (end == text) return false;
  while (*end == ' ') end++;
  if (*end == '%') {
    *share /= 100;
    end++;
  }
  return *end == '\0' && *share >= 0 && *share <= 1;
}

static void read_accept(perp_study *study, perp_diag *diag)
{
  static const char *const keys[] = { "unsolved", NULL };
  const perp_node *accept = perp_tree_get(study->root, "accept");
  if (accept == NULL) return;
  if (accept->type != PERP_NODE_MAP) {
    perp_diag_error(diag, accept, 0, NULL, "accept is a map with unsolved");
    return;
  }
  perp_study_check_keys(diag, accept, "accept", keys);
  const perp_node *share = perp_tree_get(accept, "unsolved");
  if (share != NULL &&
      (share->type != PERP_NODE_SCALAR || !parse_share(share->text, &study->accept.unsolved)))
    perp_diag_error(diag, share, 0, NULL,
                    "unsolved is a share of the problems of a run, 0 to 1 or 0%% to 100%%");
}

static void kind_simulate_read_study(perp_ctx *ctx, perp_study *study, perp_diag *diag)
{
  (void)ctx;
  char text[40];
  read_accept(study, diag);
  if (study->metrics.every <= 0) return;
  perp_format_real(study->metrics.every, text, sizeof text);
  perp_study_fix(study, P_SAMPLE, text);
}

/* ---- parts that have no say -------------------------------------------------------------------------------- */

_Static_assert((int)P_CONTACT - P_FORMULATION == PERP_PARTS - 1, "a parameter for each part");

/* A scene of the study; built once, in a process of its own: it may come from anywhere. */
struct look {
  struct look *next;
  const char *text;
  char name[PERP_TEXT_MAX];
  perp_scene_facts facts;
};

static const char *const fact_names[] = { "bodies", "rows", "shapes", "drives" };

/* The answer to PERP_JOB_LOOK. */
static void kind_simulate_look(perp_ctx *ctx, const char *text, perp_outcome *out)
{
  perp_spec spec;
  perp_scene scene;
  perp_scene_facts facts;
  perp_status status = perp_spec_parse(ctx, PERP_KIND_scene, text, &spec);
  if (status == PERP_OK) {
    status = perp_scene_create(ctx, &spec, &scene);
    perp_spec_free(&spec);
  }
  out->status = status == PERP_OK ? PERP_CELL_OK : PERP_CELL_SETUP_FAILED;
  if (status != PERP_OK) return;
  perp_scene_look(&scene, &facts);
  const int values[] = { facts.bodies, facts.rows, facts.shapes, facts.drives };
  for (int i = 0; i < 4; i++) perp_outcome_add(out, fact_names[i], values[i]);
  perp_scene_destroy(&scene);
}

static double kind_simulate_fact(const perp_outcome *o, int which)
{
  for (int i = 0; i < o->n; i++)
    if (strcmp(o->value[i].name, fact_names[which]) == 0) return o->value[i].value;
  return 1;
}

/* One child, and nothing of what it prints. */
static bool look_apart(perp_ctx *ctx, const perp_job *job, perp_outcome *outcome)
{
  int number;
  const perp_status status = perp_process_pool_once(ctx, job, NULL, outcome, &number);
  if (number != 0) raise(number); /* the workers have taken it */
  return status == PERP_OK && outcome->status == PERP_CELL_OK;
}

/* The scene of a combination.  One that cannot be built has all there is: its cells fail, and say why. */
static const struct look *kind_simulate_look_at(perp_ctx *ctx, const perp_study *study,
                                                perp_pool *pool, void **memory, const char **value)
{
  static perp_outcome outcome;
  perp_spec spec;
  for (struct look *l = *memory; l != NULL; l = l->next)
    if (strcmp(l->text, value[P_SCENE]) == 0) return l;
  struct look *l = perp_pool_alloc(pool, 1, sizeof *l);
  *l = (struct look){ .next = *memory,
                      .text = value[P_SCENE],
                      .facts = { .bodies = true, .rows = 1, .shapes = 1, .drives = 1 } };
  *memory = l;
  if (perp_spec_parse(ctx, PERP_KIND_scene, l->text, &spec) != PERP_OK) return l;
  snprintf(l->name, sizeof l->name, "%s", spec.d->name);
  perp_spec_free(&spec);
  const perp_cell cell = { .value = value };
  const perp_job job = { .what = PERP_JOB_LOOK, .study = study, .cell = &cell };
  if (look_apart(ctx, &job, &outcome))
    l->facts = (perp_scene_facts){ .bodies = kind_simulate_fact(&outcome, 0) > 0,
                                   .rows = (int)kind_simulate_fact(&outcome, 1),
                                   .shapes = (int)kind_simulate_fact(&outcome, 2),
                                   .drives = (int)kind_simulate_fact(&outcome, 3) };
  return l;
}

/* Only a scene draws random numbers, by an option of its own. */
static void drop_seed(const perp_study *study, perp_pool *pool, const char **value,
                      char (*why)[PERP_WHY_MAX])
{
  if (study->fixed[P_SEED] != NULL && study->fixed_at[P_SEED] == NULL) return; /* not named */
  value[P_SEED] = perp_pool_printf(pool, "%llu", (unsigned long long)study->seed);
  snprintf(why[P_SEED], sizeof why[P_SEED],
           "in a simulation: what is random in a scene has an option seed of its own");
}

static void kind_simulate_canonical(perp_ctx *ctx, const perp_study *study, perp_pool *pool,
                                    void **memory, const char **value, char (*why)[PERP_WHY_MAX])
{
  drop_seed(study, pool, value, why);
  const struct look *scene = kind_simulate_look_at(ctx, study, pool, memory, value);
  perp_parts parts = { 0 };
  perp_spec decides = { 0 };
  perp_status status = PERP_OK;
  const int read[] = { PERP_PART_FORMULATION, PERP_PART_ODE }; /* they decide about the others */
  for (size_t i = 0; i < sizeof read / sizeof *read && status == PERP_OK; i++) {
    const char *text = value[P_FORMULATION + read[i]];
    if (text[0] != '\0')
      status = perp_spec_parse(ctx, perp_part_kind(read[i]), text, perp_part(&parts, read[i]));
  }
  if (status == PERP_OK && scene->facts.bodies)
    status = perp_parts_formulation(ctx, &parts, &decides);
  for (int i = 0; i < PERP_PARTS && status == PERP_OK; i++) {
    const int p = P_FORMULATION + i;
    if (value[p][0] != '\0' &&
        perp_part_unused(&scene->facts, scene->name, decides.d, i, why[p]) != NULL)
      value[p] = "";
  }
  perp_spec_free(&decides);
  perp_parts_free(&parts);
}

static double real_of(const perp_cell *cell, int p)
{
  return cell->value[p][0] != '\0' ? strtod(cell->value[p], NULL) : 0;
}

static double kind_simulate_work(const perp_study *study, const perp_cell *cell)
{
  (void)study;
  double h = real_of(cell, P_H), t = real_of(cell, P_T_END);
  /* a fork and the reference trajectory cost about as much as some hundred steps */
  return h > 0 && t > 0 ? 500 + t / h : 1000;
}

/* ---- one cell ----------------------------------------------------------------------------------------------- */

static bool *wanted_columns(const perp_series_file *f, const perp_series *s)
{
  bool *wanted = perp_xalloc((size_t)s->columns + 1, sizeof *wanted);
  for (int c = 0; c < s->columns; c++) {
    size_t n = strcspn(s->header[c], "[");
    size_t letters = strspn(s->header[c], "abcdefghijklmnopqrstuvwxyz");
    wanted[c] = f->n_fields == 0 || c == 0; /* the time always */
    for (int i = 0; i < f->n_fields; i++) {
      const char *field = f->fields[i];
      bool whole = strlen(field) == n && strncmp(field, s->header[c], n) == 0;
      /* "q" stands for q0, q1, ... */
      bool group = strlen(field) == letters && letters < n &&
                   strspn(s->header[c] + letters, "0123456789") == n - letters &&
                   strncmp(field, s->header[c], letters) == 0;
      wanted[c] = wanted[c] || whole || group;
    }
  }
  return wanted;
}

static void write_row(FILE *out, const perp_series *s, const bool *wanted, int r)
{
  const char *comma = "";
  for (int c = 0; c < s->columns; c++) {
    if (!wanted[c]) continue;
    fputs(comma, out);
    comma = ",";
    double v = r >= 0 ? s->values[(size_t)r * (size_t)s->columns + (size_t)c] : 0;
    char text[40] = "";
    if (r < 0)
      fputs(s->header[c], out);
    else if (isfinite(v)) {
      perp_format_real(v, text, sizeof text);
      fputs(text, out);
    } else if (!isnan(v))
      fputs(v > 0 ? "inf" : "-inf", out);
  }
  putc('\n', out);
}

void perp_series_add(perp_series_file *f, const perp_series *s)
{
  if (f->failed || s->columns == 0 || (f->out != NULL && f->rows == s->rows)) return;
  bool *wanted = wanted_columns(f, s);
  if (f->out == NULL) {
    f->out = strcmp(f->path, "-") == 0 ? stdout : perp_growing_open(f->path);
    if (f->out != NULL) write_row(f->out, s, wanted, -1);
  }
  for (; f->out != NULL && f->rows < s->rows; f->rows++) write_row(f->out, s, wanted, f->rows);
  f->failed = f->out == NULL || fflush(f->out) != 0 || ferror(f->out);
  free(wanted);
}

bool perp_series_close(perp_series_file *f)
{
  bool good = !f->failed;
  if (f->out != NULL && f->out != stdout) good = fclose(f->out) == 0 && good;
  f->out = NULL;
  return good;
}

perp_request perp_kind_simulate_request(const perp_cell *cell)
{
  return (perp_request){ .scene = cell->value[P_SCENE],
                         .formulation = cell->value[P_FORMULATION],
                         .ode = cell->value[P_ODE],
                         .kkt = cell->value[P_KKT],
                         .lcp = cell->value[P_LCP],
                         .stab = cell->value[P_STAB],
                         .contact = cell->value[P_CONTACT],
                         .h = real_of(cell, P_H),
                         .t_end = real_of(cell, P_T_END),
                         .sample_every = real_of(cell, P_SAMPLE) };
}

static void fill_outcome(const perp_result *result, perp_outcome *out)
{
  out->status = perp_result_status(result);
  snprintf(out->reason, sizeof out->reason, "%s", perp_result_reason(result));
  perp_result_cause(result, out->cause, sizeof out->cause);
  out->problems = (double)perp_result_problems(result);
  out->unsolved = (double)result->contact_count.failures;
  out->swept = (double)result->contact_count.swept;
  out->partial = perp_result_partial(result);
  out->reached = result->t;
  for (int i = 0; i < result->n_metrics; i++)
    perp_outcome_add(out, result->metrics[i].name, result->metrics[i].value);
}

struct mind {
  const perp_job *job;
  perp_series_file series;
  perp_outcome so_far;
};

static perp_cut job_cut(void *user)
{
  const struct mind *m = user;
  return m->job->cut != NULL ? (perp_cut)*m->job->cut : PERP_CUT_NONE;
}

static void job_keep(const perp_result *so_far, void *user)
{
  struct mind *m = user;
  m->so_far.n = 0;
  fill_outcome(so_far, &m->so_far);
  if (m->job->keep != NULL) m->job->keep(&m->so_far, m->job->keep_user);
  if (m->series.path != NULL) perp_series_add(&m->series, &so_far->series);
}

/* The file has its name when it is whole. */
static void end_series(struct mind *m, char *part, const perp_result *result, perp_outcome *out)
{
  const char *path = m->job->series_path;
  if (result->status == PERP_OK) perp_series_add(&m->series, &result->series);
  if (perp_series_close(&m->series) && perp_growing_name(part, path)) return;
  out->status = PERP_CELL_SETUP_FAILED;
  snprintf(out->cause, sizeof out->cause, "cannot write %s: %s", path, strerror(errno));
  unlink(part);
}

static void kind_simulate_run(perp_ctx *ctx, const perp_job *job, perp_outcome *out)
{
  if (job->what == PERP_JOB_LOOK) {
    kind_simulate_look(ctx, job->cell->value[P_SCENE], out);
    return;
  }
  perp_request request = perp_kind_simulate_request(job->cell);
  request.setup_only = job->what == PERP_JOB_SETUP;
  char *part = job->series_path != NULL ? perp_growing_path(job->series_path) : NULL;
  struct mind *m = perp_xalloc(1, sizeof *m);
  m->job = job;
  m->series = (perp_series_file){ .path = part,
                                  .fields = job->study->metrics.fields,
                                  .n_fields = job->study->metrics.n_fields };
  const perp_minder minder = { job_cut, job_keep, m };
  request.minder = &minder;
  request.want_series = job->series_path != NULL;
  request.replay_path = job->replay_path;
  request.timing_rounds = job->timing ? 1 : 0;
  perp_result result;
  perp_status status = perp_simulate(ctx, &request, &result);
  out->pace = result.pace;
  if (status == PERP_OK) {
    fill_outcome(&result, out);
    const double us[N_PARTS] = { result.collision_us, result.assembly_us, result.kkt_us,
                                 result.lcp_us, result.integrate_us };
    for (int i = 0; i < N_PARTS; i++) perp_outcome_add(out, parts_of_a_step[i].name, us[i]);
  } else {
    const bool refused = status == PERP_ERR_ARG || status == PERP_ERR_DIM ||
                         status == PERP_ERR_OPTION || status == PERP_ERR_UNSUPPORTED;
    out->status = refused ? PERP_CELL_SKIPPED : perp_result_status(&result);
    if (refused) snprintf(out->reason, sizeof out->reason, "refused");
    snprintf(out->cause, sizeof out->cause, "%s", ctx->msg);
  }
  if (part != NULL) end_series(m, part, &result, out);
  perp_result_free(&result);
  free(part);
  free(m);
}

/* ---- references ----------------------------------------------------------------------------------------------- */

static perp_status kind_simulate_references(perp_ctx *ctx, const perp_study *study,
                                            const perp_cell *cells, int n, bool *agree,
                                            perp_text *said, perp_json *json)
{
  const double below = study->reference.below;
  *agree = true;
  for (int i = 0; i < n; i++) {
    const char *scene = cells[i].value[P_SCENE];
    bool before = false; /* each scene once: t_end does not vary in practice */
    for (int k = 0; k < i && !before; k++) before = strcmp(cells[k].value[P_SCENE], scene) == 0;
    if (before) continue;
    perp_agreement a;
    const perp_reference_request request = { scene, study->reference.method, study->reference.with,
                                             real_of(&cells[i], P_T_END) };
    PERP_TRY(perp_reference_compare(ctx, &request, &a));
    if (a.method[0] == '\0' || a.with[0] == '\0')
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s has no reference of the kind '%s' (reference.%s)",
                       scene, a.method[0] == '\0' ? study->reference.method : study->reference.with,
                       a.method[0] == '\0' ? "method" : "agree.with");
    const char *tol = strstr(a.method, "tol=");
    if (study->reference.tol > 0 && tol != NULL && strtod(tol + 4, NULL) > study->reference.tol)
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "reference.tol: the reference of %s is made with %s",
                       scene, tol);
    bool good = a.worst <= below;
    *agree = *agree && good;
    perp_text_add(said,
                  "%s: references %s: %s against %s differ by %.3g at %d times to %g s (%s %g)\n",
                  scene, good ? "agree" : "DISAGREE", a.method, a.with, a.worst, a.times, a.t_end,
                  good ? "allowed" : "more than", below);
    perp_reference_write(json, &request, &a, below);
  }
  return PERP_OK;
}

static void kind_simulate_command(const perp_study *study, const perp_cell *cell, perp_text *out)
{
  static const struct {
    int param;
    const char *flag;
  } flags[] = { { P_FORMULATION, "formulation" },
                { P_ODE, "ode" },
                { P_KKT, "kkt" },
                { P_LCP, "lcp" },
                { P_STAB, "stab" },
                { P_CONTACT, "contact" },
                { P_H, "h" },
                { P_T_END, "t-end" },
                { P_SAMPLE, "sample" } };
  (void)study;
  perp_text_add(out, "perp simulate ");
  perp_shell_path(out, cell->value[P_SCENE]);
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    const char *v = cell->value[flags[i].param];
    if (v[0] == '\0') continue;
    perp_text_add(out, " --%s%c", flags[i].flag, v[0] == '-' ? '=' : ' ');
    perp_shell_word(out, v);
  }
  /* samples without a truth are for the series, which is part of the cell */
  if (cell->value[P_SAMPLE][0] != '\0') perp_text_add(out, " --series %.8s.csv", cell->id);
}

const perp_cell_kind perp_kind_simulate = { .name = "simulate",
                                            .params = params,
                                            .sections = sections,
                                            .metrics = kind_simulate_metrics,
                                            .read = kind_simulate_read_study,
                                            .canonical = kind_simulate_canonical,
                                            .run = kind_simulate_run,
                                            .tries = true,
                                            .refuses = true,
                                            .runs = true,
                                            .work = kind_simulate_work,
                                            .references = kind_simulate_references,
                                            .command = kind_simulate_command };
