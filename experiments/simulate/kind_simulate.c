/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Studies whose cells are simulations: one call of perp_simulate each. */
#include "experiments/simulate/force_log.h"
#include "experiments/simulate/series.h"
#include "experiments/simulate/kind_simulate.h"

#include "experiments/metrics/metrics.h"
#include "experiments/study/process_pool.h"
#include "experiments/study/commands.h"
#include "experiments/simulate/parts.h"
#include "experiments/study/plan.h"
#include "experiments/simulate/reference.h"
#include "experiments/simulate/simulate.h"
#include "experiments/base/shell.h"
#include "models/formulations/equivalent.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"

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
  P_ENGINE,
  P_H,
  P_T_END,
  P_SEED,
  P_SAMPLE,
  P_PERTURB,
  P_EQUIVALENT,
  P_RUN
};
static const perp_param params[] = {
  [P_SCENE] = { .key = "scene",
                .help = "Scene to simulate (perp list scenes).",
                .type = PERP_PARAM_PLUGIN,
                .plugin = PERP_KIND_scene },
  PERP_PART_PARAMS(P_FORMULATION),
  PERP_PART_PARAM(P_FORMULATION, ENGINE, engine,
                  "External engine that replaces all methods of perp."),
  [P_H] = { "h", "Step size; the first step of adaptive methods.", PERP_PARAM_REAL, PERP_KIND_NONE,
            "s", 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "", false },
  [P_T_END] = { "t_end", "Time at which the simulation ends.", PERP_PARAM_REAL, PERP_KIND_NONE, "s",
                0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "", false },
  [P_SEED] = { "seed", "Seed of the random numbers.", PERP_PARAM_INT, PERP_KIND_NONE, "", 0, 9e15,
               0, "1", false },
  [P_SAMPLE] = { "sample",
                 "Time between comparisons with the reference and between rows of the series.",
                 PERP_PARAM_REAL, PERP_KIND_NONE, "s", 0, HUGE_VAL, 0, "", true },
  [P_PERTURB] = { "perturb",
                  "Relative size of a perturbation of the initial state; the amplification is err "
                  "/ perturb.",
                  PERP_PARAM_REAL, PERP_KIND_NONE, "", 0, 1, PERP_OPEN_MAX, "", false },
  [P_EQUIVALENT] = { .key = "equivalent",
                     .help = "Equivalent model: given, mirrored (x to -x), reversed or shuffled "
                             "(order of bodies, joints, shapes and corners), mirrored-shuffled.",
                     .type = PERP_PARAM_TEXT,
                     .dflt = "" },
  [P_RUN] = { "run", "Name of the conditions in the list `runs` of the study.", PERP_PARAM_TEXT,
              PERP_KIND_NONE, "", 0, 0, 0, "", true },
  { 0 }
};

/* ---- metrics ---- */

static const perp_metric parts_of_a_step[] = {
  { "time.collision_us", "us", "Mean wall time of collision detection in a step", -1, true },
  { "time.assembly_us", "us", "Mean wall time of building J, M and f in a step", -1, true },
  { "time.kkt_us", "us", "Mean wall time of the KKT solver in a step", -1, true },
  { "time.lcp_us", "us", "Mean wall time of the LCP solver in a step", -1, true },
  { "time.integrate_us", "us", "Mean wall time of the remaining work in a step", -1, true },
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

static bool kind_simulate_named(const char *name, perp_metric *metric)
{
  if (!perp_force_metric_is(name, NULL)) return false;
  *metric = (perp_metric){ .name = name,
                           .unit = strncmp(name, "torque", 6) == 0 ? "Nm" : "N",
                           .meaning = "Force or torque of a joint, a drive or the contacts of two "
                                      "bodies: largest, root mean square or last value" };
  return true;
}

/* ---- the study ---- */

static const char *const sections[] = { "accept", NULL };

static void read_accept(perp_study *study, perp_diag *diag)
{
  static const char *const keys[] = { "unsolved", NULL };
  const perp_node *accept = perp_tree_get(study->root, "accept");
  if (accept == NULL) return;
  if (accept->type != PERP_NODE_MAP) {
    perp_diag_error(diag, accept, 0, NULL, "accept must be a map with the key unsolved");
    return;
  }
  perp_study_check_keys(diag, accept, "accept", keys);
  const perp_node *share = perp_tree_get(accept, "unsolved");
  if (share != NULL &&
      (share->type != PERP_NODE_SCALAR || !perp_parse_share(share->text, &study->accept.unsolved) ||
       study->accept.unsolved > 1))
    perp_diag_error(
        diag, share, 0, NULL,
        "unsolved must be the share of problems of a run, from 0 to 1 or from 0%% to 100%%");
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

/* ---- parts that have no say ---- */

_Static_assert((int)P_ENGINE - P_FORMULATION == PERP_PARTS - 1, "a parameter for each part");

/* A scene of the study; built once, in a process of its own: it may come from anywhere. */
struct look {
  struct look *next;
  const char *text;
  char name[PERP_TEXT_MAX];
  perp_scene_facts facts;
};

/* The facts of a scene as the values of an outcome, in this order. */
enum { N_FACTS = 4 };
static const char *const fact_names[N_FACTS] = { "bodies", "rows", "shapes", "drives" };

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
  for (int i = 0; i < N_FACTS; i++) perp_outcome_add(out, fact_names[i], values[i]);
  perp_scene_destroy(&scene);
}

/* One child, and nothing of what it prints. */
static bool look_apart(perp_ctx *ctx, const perp_job *job, perp_outcome *outcome)
{
  int number;
  const perp_status status = perp_process_pool_once(ctx, job, NULL, outcome, &number);
  if (number != 0) raise(number); /* the workers have taken it */
  return status == PERP_OK && outcome->status == PERP_CELL_OK;
}

/* The scene of a combination.  One that cannot be built has all there is: its cells fail, and say
 * why. */
static const struct look *kind_simulate_look_at(perp_ctx *ctx, const perp_study *study,
                                                perp_pool *pool, void **memory, perp_value *value)
{
  static perp_outcome outcome;
  perp_spec spec;
  for (struct look *look = *memory; look != NULL; look = look->next)
    if (strcmp(look->text, value[P_SCENE].text) == 0) return look;
  struct look *look = perp_pool_alloc(pool, 1, sizeof *look);
  *look = (struct look){ .next = *memory,
                         .text = value[P_SCENE].text,
                         .facts = { .bodies = true, .rows = 1, .shapes = 1, .drives = 1 } };
  *memory = look;
  if (perp_spec_parse(ctx, PERP_KIND_scene, look->text, &spec) != PERP_OK) return look;
  snprintf(look->name, sizeof look->name, "%s", spec.d->name);
  perp_spec_free(&spec);
  const perp_cell cell = { .value = value };
  const perp_job job = { .what = PERP_JOB_LOOK, .study = study, .cell = &cell };
  if (look_apart(ctx, &job, &outcome) && outcome.n == N_FACTS)
    look->facts = (perp_scene_facts){ .bodies = outcome.value[0].value > 0,
                                      .rows = (int)outcome.value[1].value,
                                      .shapes = (int)outcome.value[2].value,
                                      .drives = (int)outcome.value[3].value };
  return look;
}

/* Only a scene draws random numbers, by an option of its own. */
static void drop_seed(const perp_study *study, perp_pool *pool, perp_value *value,
                      char (*why)[PERP_WHY_MAX])
{
  if (study->fixed[P_SEED] != NULL && study->fixed_at[P_SEED] == NULL) return; /* not named */
  value[P_SEED] = perp_param_value(&params[P_SEED],
                                   perp_pool_printf(pool, "%llu", (unsigned long long)study->seed));
  snprintf(why[P_SEED], sizeof why[P_SEED],
           "seed has no effect on a simulation: a random scene has an option seed of its own");
}

static void kind_simulate_canonical(perp_ctx *ctx, const perp_study *study, perp_pool *pool,
                                    void **memory, perp_value *value, char (*why)[PERP_WHY_MAX])
{
  drop_seed(study, pool, value, why);
  const struct look *scene = kind_simulate_look_at(ctx, study, pool, memory, value);
  perp_parts parts = { 0 };
  perp_spec decides = { 0 };
  perp_status status = PERP_OK;
  /* these decide about the others */
  static const int deciding[] = { PERP_PART_FORMULATION, PERP_PART_ODE, PERP_PART_ENGINE };
  for (int k = 0; k < 3 && status == PERP_OK; k++) {
    const int part = deciding[k];
    if (value[P_FORMULATION + part].text[0] != '\0')
      status = perp_spec_parse(ctx, perp_part_kind(part), value[P_FORMULATION + part].text,
                               perp_part(&parts, part));
  }
  if (status == PERP_OK && scene->facts.bodies)
    status = perp_parts_formulation(ctx, &parts, &decides);
  for (int part = 0; part < PERP_PARTS && status == PERP_OK; part++) {
    const int param = P_FORMULATION + part;
    if (value[param].text[0] != '\0' &&
        perp_part_unused(&scene->facts, scene->name, decides.d, part, why[param]) != NULL)
      value[param] = perp_param_value(&params[param], "");
  }
  perp_spec_free(&decides);
  perp_parts_free(&parts);
}

/* An equivalence that does not exist, or a step that is longer than the run.  Where the scene has
 * the end, the run itself refuses. */
static int kind_simulate_wrong(const perp_study *study, const perp_cell *cell,
                               char why[PERP_WHY_MAX])
{
  (void)study;
  const double h = cell->value[P_H].number, t_end = cell->value[P_T_END].number;
  const char *equivalent = cell->value[P_EQUIVALENT].text;
  if (equivalent[0] != '\0' && perp_equivalence_named(equivalent) < 0) {
    snprintf(why, PERP_WHY_MAX,
             "unknown equivalent model '%.40s' (valid: given, mirrored, reversed, shuffled, "
             "mirrored-shuffled)",
             equivalent);
    return P_EQUIVALENT;
  }
  if (!(t_end > 0 && h > t_end)) return -1;
  snprintf(why, PERP_WHY_MAX,
           "the step h = %g s is longer than the run, which ends at t_end = %g s", h, t_end);
  return P_H;
}

static double kind_simulate_work(const perp_study *study, const perp_cell *cell)
{
  (void)study;
  double h = cell->value[P_H].number, t = cell->value[P_T_END].number;
  return h > 0 && t > 0 ? t / h
                        : 1000; /* steps; what a cell costs beside them is found out (progress.h) */
}

/* ---- one cell ---- */

perp_request perp_kind_simulate_request(const perp_cell *cell)
{
  perp_request request = { .scene = cell->value[P_SCENE].text,
                           .h = cell->value[P_H].number,
                           .t_end = cell->value[P_T_END].number,
                           .sample_every = cell->value[P_SAMPLE].number,
                           .perturb = cell->value[P_PERTURB].number,
                           .equivalent = cell->value[P_EQUIVALENT].text };
  for (int part = 0; part < PERP_PARTS; part++)
    *perp_part_text(&request, part) = cell->value[P_FORMULATION + part].text;
  return request;
}

static void fill_outcome(const perp_result *result, perp_outcome *out)
{
  out->status = perp_result_status(result);
  snprintf(out->reason, sizeof out->reason, "%s", perp_result_reason(result));
  perp_result_cause(result, out->cause, sizeof out->cause);
  snprintf(out->resolved, sizeof out->resolved, "%s", result->resolved);
  out->problems = (double)perp_result_problems(result);
  out->unsolved = (double)result->contact_count.failures;
  out->swept = (double)result->contact_count.swept;
  out->warnings = result->warnings;
  out->partial = perp_result_partial(result);
  out->reached = result->t;
  for (int metric = 0; metric < result->n_metrics; metric++)
    perp_outcome_add(out, result->metrics[metric].name, result->metrics[metric].value);
}

struct mind {
  const perp_job *job;
  perp_series_file series;
  perp_outcome so_far;
};

static perp_cut job_cut(void *user)
{
  const struct mind *mind = user;
  return mind->job->cut != NULL ? (perp_cut)*mind->job->cut : PERP_CUT_NONE;
}

static void job_keep(const perp_result *so_far, void *user)
{
  struct mind *mind = user;
  mind->so_far.n = 0;
  fill_outcome(so_far, &mind->so_far);
  if (mind->job->keep != NULL) mind->job->keep(&mind->so_far, mind->job->keep_user);
  if (mind->series.path != NULL) perp_series_add(&mind->series, &so_far->series);
}

/* The file has its name when it is whole. */
static void end_series(struct mind *mind, char *part, const perp_result *result, perp_outcome *out)
{
  const char *path = mind->job->series_path;
  if (result->status == PERP_OK) perp_series_add(&mind->series, &result->series);
  if (perp_series_close(&mind->series) && perp_growing_name(part, path)) return;
  out->status = PERP_CELL_SETUP_FAILED;
  snprintf(out->cause, sizeof out->cause, "cannot write %s: %s", path, strerror(errno));
  unlink(part);
}

/* Does the study, which has no timing rounds, name a time that is more than that of a run or of its
 * median step? */
static bool names_detail(const perp_study *study)
{
  static const char *const plain[] = { "time.step_us", "time.cpu" };
  bool named = false;
  for (int metric = 0; metric < study->n_metrics && study->measure.repeats == 0 && !named;
       metric++) {
    const char *name = study->metric[metric].name;
    if (!study->metric[metric].timing || strcmp(name, plain[0]) == 0 || strcmp(name, plain[1]) == 0)
      continue;
    named = strcmp(study->metrics.primary, name) == 0;
    for (int k = 0; k < study->metrics.n_record; k++)
      named = named || strcmp(study->metrics.record[k], name) == 0;
    for (int claim = 0; claim < study->n_claims; claim++)
      named = named || strstr(study->claims[claim].expr_text, name) != NULL;
    for (int finding = 0; finding < study->n_findings; finding++)
      named = named || strstr(study->findings[finding].text, name) != NULL ||
              strstr(study->findings[finding].expr_text, name) != NULL;
    for (int published = 0; published < study->n_published; published++)
      named = named || strcmp(study->published[published].metric, name) == 0;
  }
  return named;
}

static void kind_simulate_run(perp_ctx *ctx, const perp_job *job, perp_outcome *out)
{
  if (job->what == PERP_JOB_LOOK) {
    kind_simulate_look(ctx, job->cell->value[P_SCENE].text, out);
    return;
  }
  perp_request request = perp_kind_simulate_request(job->cell);
  request.setup_only = job->what == PERP_JOB_SETUP;
  char *part = job->series_path != NULL ? perp_growing_path(job->series_path) : NULL;
  struct mind *mind = perp_xalloc(1, sizeof *mind);
  mind->job = job;
  mind->series = (perp_series_file){ .path = part,
                                     .fields = job->study->metrics.fields,
                                     .n_fields = job->study->metrics.n_fields };
  const perp_minder minder = { job_cut, job_keep, mind };
  request.minder = &minder;
  request.want_series = job->series_path != NULL;
  request.forces.names = job->study->metrics.forces;
  request.forces.n_names = job->study->metrics.n_forces;
  request.forces.wanted = request.forces.n_names > 0 ||
                          (request.want_series && job->study->metrics.with_forces);
  request.replay.path = job->replay_path;
  request.timing_rounds = job->timing ? 1 : 0;
  request.timing_detail = names_detail(job->study);
  perp_result result;
  perp_status status = perp_simulate(ctx, &request, &result);
  out->pace = result.time.pace;
  if (status == PERP_OK) {
    fill_outcome(&result, out);
    for (int i = 0; i < request.forces.n_names && result.n_forces > 0; i++) {
      bool found;
      const char *name = request.forces.names[i];
      perp_outcome_add(out, name, perp_force_metric(result.forces, result.n_forces, name, &found));
    }
    const double us[N_PARTS] = { result.time.collision_us, result.time.assembly_us,
                                 result.time.kkt_us, result.time.lcp_us, result.time.integrate_us };
    const bool broken_down = job->timing || request.timing_detail;
    for (int step = 0; step < N_PARTS && broken_down; step++)
      perp_outcome_add(out, parts_of_a_step[step].name, us[step]);
  } else {
    /* an engine without what the scene has: no failure, and no answer */
    const bool by_engine = job->cell->value[P_ENGINE].text[0] != '\0',
               unsuited = by_engine && status == PERP_ERR_UNSUPPORTED,
               refused = perp_exit_of(status) == PERP_EXIT_USAGE ||
                         (by_engine && status == PERP_ERR_EXTERNAL);
    out->status = unsuited  ? PERP_CELL_UNSUITED
                  : refused ? PERP_CELL_SKIPPED
                            : perp_result_status(&result);
    if (unsuited || refused)
      snprintf(out->reason, sizeof out->reason, unsuited ? "unsuited" : "refused");
    snprintf(out->cause, sizeof out->cause, "%s", ctx->msg);
  }
  if (part != NULL) end_series(mind, part, &result, out);
  perp_result_free(&result);
  free(part);
  free(mind);
}

/* ---- references ---- */

static perp_status kind_simulate_references(perp_ctx *ctx, const perp_study *study,
                                            const perp_cell *cells, int n, bool *agree,
                                            perp_text *said, perp_json *json)
{
  const double below = study->reference.below;
  *agree = true;
  for (int cell = 0; cell < n; cell++) {
    const char *scene = cells[cell].value[P_SCENE].text;
    bool before = false; /* each scene once: t_end does not vary in practice */
    for (int k = 0; k < cell && !before; k++)
      before = strcmp(cells[k].value[P_SCENE].text, scene) == 0;
    if (before) continue;
    perp_agreement agreement;
    const perp_reference_request request = { scene, study->reference.method, study->reference.with,
                                             cells[cell].value[P_T_END].number };
    PERP_TRY(perp_reference_compare(ctx, &request, &agreement));
    if (agreement.method[0] == '\0' || agreement.with[0] == '\0')
      return PERP_FAIL(
          ctx, PERP_ERR_FORMAT, "%s has no reference of the kind '%s' (reference.%s)", scene,
          agreement.method[0] == '\0' ? study->reference.method : study->reference.with,
          agreement.method[0] == '\0' ? "method" : "agree.with");
    const char *tol = strstr(agreement.method, "tol=");
    double used;
    if (study->reference.tol > 0 && tol != NULL && perp_real_at(tol + 4, &used) != NULL &&
        used > study->reference.tol)
      return PERP_FAIL(ctx, PERP_ERR_FORMAT,
                       "reference.tol: the reference of %s is computed with %s", scene, tol);
    bool good = agreement.worst <= below;
    *agree = *agree && good;
    perp_text_add(
        said, "%s: references %s: %s and %s differ by %.3g at %d times up to %g s (%s %g)\n", scene,
        good ? "agree" : "DISAGREE", agreement.method, agreement.with, agreement.worst,
        agreement.times, agreement.t_end, good ? "allowed" : "more than", below);
    perp_reference_write(json, &request, &agreement, below);
  }
  return PERP_OK;
}

static void kind_simulate_command(const perp_study *study, const perp_cell *cell, perp_text *out)
{
  (void)study;
  perp_text_add(out, "perp simulate ");
  perp_shell_path(out, cell->value[P_SCENE].text);
  for (int param = P_FORMULATION; param <= P_EQUIVALENT; param++) {
    const char *at = cell->value[param].text,
               *flag = param == P_T_END ? "t-end" : params[param].key;
    if (param == P_SEED || at[0] == '\0') continue; /* the seed of a scene is one of its options */
    perp_text_add(out, " --%s%c", flag, at[0] == '-' ? '=' : ' ');
    perp_shell_word(out, at);
  }
  /* samples without a truth are for the series, which is part of the cell */
  if (cell->value[P_SAMPLE].text[0] != '\0') perp_text_add(out, " --series %.8s.csv", cell->id);
}

const perp_cell_kind perp_kind_simulate = { .name = "simulate",
                                            .params = params,
                                            .sections = sections,
                                            .metrics = kind_simulate_metrics,
                                            .named = kind_simulate_named,
                                            .count = perp_metric_count,
                                            .read = kind_simulate_read_study,
                                            .canonical = kind_simulate_canonical,
                                            .run = kind_simulate_run,
                                            .tries = true,
                                            .refuses = true,
                                            .runs = true,
                                            .wrong = kind_simulate_wrong,
                                            .work = kind_simulate_work,
                                            .references = kind_simulate_references,
                                            .command = kind_simulate_command };
