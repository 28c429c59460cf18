/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulations of a page: steps, what the solvers do in them, and the hands of the reader: a spring
 * at the mouse, pushes, balls that are shot. */
#include "experiments/live/module/live.h"

#include "experiments/base/memory.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/replay_model.h"
#include "models/multibody/model_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_status run_extend(perp_ctx *ctx, void *user, perp_model *model)
{
  live_run *run = user;
  const int dim = perp_model_dim(model);
  const perp_force_def spring = {
    .kind = PERP_FORCE_SPRING, .a = 0, .b = PERP_WORLD, .stiffness = 0, .damping = 0
  };
  for (int i = 0; i < run->n_balls; i++) {
    const live_ball *ball = &run->ball[i];
    perp_body_def body = { .name = "ball", .mass = perp_mass_sphere(ball->mass, ball->radius) };
    perp_shape_def shape = { .kind = PERP_SHAPE_SPHERE, .radius = ball->radius };
    for (int k = 0; k < dim; k++) {
      body.x[k] = ball->x[k];
      body.v[k] = ball->v[k];
    }
    PERP_TRY(perp_model_add_body(ctx, model, &body, &shape.body));
    shape.surface.mu = 0.5;
    PERP_TRY(perp_model_add_shape(ctx, model, &shape, NULL));
  }
  run->spring = perp_model_force_elements(model);
  return perp_model_add_force(ctx, model, &spring);
}

/* ---- what the solvers do ---- */

static void run_event(void *user, const perp_trace_event *event)
{
  live_run *run = user;
  /* of LCP solvers alone: those of integrators say "step" */
  if (strcmp(event->what, "step") == 0 || strcmp(event->what, "reject") == 0) return;
  run->seen++;
  if (run->n_events == LIVE_EVENTS) return;
  double *to = run->event + (size_t)LIVE_EVENT * (size_t)run->n_events++;
  to[0] = run->problem_number;
  to[1] = event->iteration;
  to[2] = event->residual;
  to[3] = event->step;
  to[4] = event->entering;
  to[5] = event->leaving;
}

static const char *run_body(const live_run *run, int body, char buf[24])
{
  if (body < 0) return "world";
  const char *name = perp_model_body(run->model, body)->name;
  if (name != NULL) return name;
  snprintf(buf, 24, "body %d", body + 1);
  return buf;
}

/* Row k of contact c of the place is `what`: "box 2 on box 1 at (0.5, 1): normal". */
static void name_row(const live_run *run, const perp_contact_place *place, int c, const char *what,
                     char *name)
{
  const perp_contact *contact = &place->contact[place->order[c]];
  const int dim = perp_model_dim(run->model);
  char one[24], two[24], at[64];
  double p[3] = { 0 };
  perp_contact_middle(contact, p);
  for (int k = 0; k < 3; k++) p[k] = fabs(p[k]) < 5e-7 ? 0 : p[k]; /* no -0 */
  if (dim == 2)
    snprintf(at, sizeof at, "(%.3g, %.3g)", p[0], p[1]);
  else
    snprintf(at, sizeof at, "(%.3g, %.3g, %.3g)", p[0], p[1], p[2]);
  snprintf(name, sizeof run->problem.name[0], "%.40s on %.40s at %s: %s",
           run_body(run, contact->body[1], one), run_body(run, contact->body[0], two), at, what);
}

/* What the rows of a kept problem are.  Contacts come first, each with its normal and then either
 * tangents (place->rows in all) or, of Stewart and Trinkle, directions and the sliding speed. */
static void name_rows(live_run *run, const perp_contact_place *place, const perp_lcp *p)
{
  live_problem *kept = &run->problem;
  const int dim = perp_model_dim(run->model);
  char what[32];
  int row = 0;
  memset(kept->name, 0, sizeof kept->name);
  for (int c = 0; place != NULL && c < place->nc && row < kept->n; c++) {
    int rows = place->rows;
    if (p->contact_of != NULL)
      for (rows = 1; row + rows < kept->n && p->contact_of[row + rows] == c; rows++) {}
    for (int k = 0; k < rows && row < kept->n; k++, row++) {
      const bool slack = p->contact_of != NULL && k > 0 && kept->A[row + row * kept->n] == 0;
      if (p->contact_of != NULL)
        snprintf(what, sizeof what, "friction, direction %d", k);
      else
        snprintf(what, sizeof what, dim == 2 ? "friction" : "friction %d", k);
      name_row(run, place, c, k == 0 ? "normal" : slack ? "sliding speed" : what, kept->name[row]);
    }
  }
  for (int k = 1; row < kept->n; row++, k++)
    snprintf(kept->name[row], sizeof kept->name[row], "joint, limit or motor: row %d", k);
}

/* A problem as the pane of matrices takes it. */
static void keep_problem(live_run *run, const perp_contact_place *place, const perp_lcp *p)
{
  enum { SMALL = LIVE_SMALL };
  if (p->n > SMALL || p->n <= run->problem.n || (p->A == NULL && p->F == NULL)) return;
  run->problem.n = p->n;
  const bool friction = p->fric_of != NULL && !p->frozen;
  double unit[SMALL], column[SMALL], *scratch = NULL;
  if (p->F != NULL) scratch = perp_xalloc(2 * (size_t)p->F->nv + 2, sizeof *scratch);
  for (int j = 0; j < p->n; j++) {
    for (int i = 0; i < p->n; i++) unit[i] = i == j;
    if (p->F != NULL)
      perp_blocks_A(p->F, unit, column, scratch);
    else
      for (int i = 0; i < p->n; i++) column[i] = p->A[i + (ptrdiff_t)j * p->lda];
    memcpy(run->problem.A + (ptrdiff_t)j * p->n, column, (size_t)p->n * sizeof *column);
    run->problem.b[j] = p->b[j];
    run->problem.lo[j] = p->lo != NULL ? p->lo[j] : 0;
    run->problem.hi[j] = p->hi != NULL ? p->hi[j] : HUGE_VAL;
    run->problem.fric_of[j] = friction ? p->fric_of[j] : -1;
    run->problem.mu[j] = run->problem.fric_of[j] >= 0 ? p->mu[j] : 0;
    run->problem.cone[j] = perp_lcp_is_cone(p, j);
  }
  free(scratch);
  name_rows(run, place, p);
}

static void run_problem(void *user, const perp_contact_place *place, const perp_lcp *p,
                        const double *lambda, const perp_stats *stats)
{
  live_run *run = user;
  (void)stats;
  if (p->n + run->n_rows <= LIVE_ROWS && (p->A != NULL || p->F != NULL || p->C != NULL)) {
    const size_t nv = p->F != NULL ? (size_t)p->F->nv : 0;
    double *w = perp_xalloc((size_t)p->n + 2 * nv + 2, sizeof *w);
    perp_lcp_product(p, lambda, w, w + p->n);
    for (int i = 0; i < p->n; i++) {
      double *to = run->row + (size_t)LIVE_ROW * (size_t)run->n_rows++;
      to[0] = run->problem_number;
      to[1] = lambda[i];
      to[2] = w[i];
      perp_lcp_bounds(p, lambda, i, &to[3], &to[4]);
      to[5] = p->fric_of != NULL ? p->fric_of[i] : -1;
    }
    free(w);
  }
  keep_problem(run, place, p);
  run->problem_number++;
}

/* ---- life of a run ---- */

static double run_energy(live_run *run)
{
  double t, kinetic = 0, potential = 0;
  const double *q, *v;
  t = 0;
  perp_sim_state(run->sim, &t, &q, &v);
  perp_model_energy(run->model, t, q, v, &kinetic, &potential);
  return kinetic + potential;
}

LIVE_EXPORT(live_close) void live_close(live_run *run)
{
  if (run == NULL) return;
  live_measure_free(run->measure);
  perp_sim_destroy(run->sim);
  perp_parts_free(&run->parts);
  perp_equivalent_destroy(run->extended);
  perp_scene_destroy(&run->scene);
  free(run->contact);
  free(run->error);
  free(run);
}

/* A simulation of the model as it is now, extended where it is played with. */
static perp_status run_build(perp_ctx *ctx, live_run *run)
{
  perp_sim_destroy(run->sim);
  run->sim = NULL;
  perp_equivalent *before = run->extended;
  run->extended = NULL;
  run->model = run->scene.model;
  if (run->playable) {
    const perp_status status = perp_equivalent_extended(ctx, run->scene.model, run_extend, run,
                                                        &run->extended);
    /* the scene can still be watched: live_describe says that it cannot be touched */
    if (status == PERP_ERR_UNSUPPORTED && run->n_balls == 0)
      run->playable = false;
    else
      PERP_TRY(status);
  }
  if (run->playable)
    run->model = perp_equivalent_model(run->extended);
  else
    run->spring = -1;
  perp_equivalent_destroy(before);
  PERP_TRY(perp_sim_create(ctx, run->model, &run->parts, run->h, &run->sim));
  perp_sim_observe(run->sim, run_problem, run);
  return PERP_OK;
}

static perp_status run_parts(perp_ctx *ctx, const char *const *name, perp_parts *parts)
{
  static const perp_kind kind[] = { PERP_KIND_formulation, PERP_KIND_ode,  PERP_KIND_kkt,
                                    PERP_KIND_lcp,         PERP_KIND_stab, PERP_KIND_contact };
  perp_spec *spec[] = { &parts->formulation, &parts->ode,  &parts->kkt,
                        &parts->lcp,         &parts->stab, &parts->contact };
  for (int i = 0; i < 6; i++)
    if (name[i] != NULL && name[i][0] != '\0')
      PERP_TRY(perp_spec_parse(ctx, kind[i], name[i], spec[i]));
  return PERP_OK;
}

static perp_status run_open(perp_ctx *ctx, live_run *run, const char *scene,
                            const char *const *name)
{
  perp_spec spec;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_scene, scene, &spec));
  perp_status status = perp_scene_create(ctx, &spec, &run->scene);
  perp_spec_free(&spec);
  PERP_TRY(status);
  if (run->scene.model == NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "scene %s is an equation without bodies: perp simulate runs it", scene);
  if (!(run->h > 0)) run->h = run->scene.h > 0 ? run->scene.h : 0.01;
  PERP_TRY(run_parts(ctx, name, &run->parts));
  PERP_TRY(run_build(ctx, run));
  run->energy0 = run_energy(run);
  return PERP_OK;
}

/* Names of methods with options, "" for the default; h = 0: that of the scene.  playable: with a
 * spring at the mouse and balls, which changes no number of a run that nobody touches.  NULL: the
 * message says why. */
LIVE_EXPORT(live_open)
live_run *live_open(const char *scene, const char *formulation, const char *ode, const char *kkt,
                    const char *lcp, const char *stab, const char *contact, double h, int playable)
{
  perp_ctx *ctx = live_ctx();
  const char *const name[] = { formulation, ode, kkt, lcp, stab, contact };
  live_run *run = calloc(1, sizeof *run);
  if (run == NULL) abort();
  run->h = h;
  run->playable = playable != 0;
  run->spring = -1;
  if (run_open(ctx, run, scene, name) == PERP_OK) return run;
  live_close(run);
  return NULL;
}

static void put_part(perp_json *json, const char *key, const perp_spec *spec)
{
  char text[512] = "";
  if (spec->d != NULL) perp_spec_format(spec, text, sizeof text);
  perp_json_text(json, key, text);
}

/* As a recording describes a model (replay.h), and: h, t_end (0: none), size, the methods by name,
 * dissipative, touches (has shapes), nq, nv, bodies of the scene itself. */
LIVE_EXPORT(live_describe) const char *live_describe(live_run *run)
{
  perp_json json = { .out = live_text_begin() };
  perp_parts all = { 0 };
  perp_ctx *ctx = live_ctx();
  perp_json_open(&json, NULL, '{');
  perp_replay_model(&json, run->model);
  perp_json_members(
      &json,
      "h %g, t_end %g, size %g, dissipative? %d, touches? %d, playable? %d, nq %d, nv %d, own %d",
      run->h, run->scene.t_end, run->scene.size, run->scene.dissipative,
      perp_model_shapes(run->model) > 0, run->playable, perp_model_nq(run->model),
      perp_model_nv(run->model), perp_model_bodies(run->scene.model));
  if (run_parts(ctx, (const char *const[6]){ 0 }, &all) == PERP_OK) {
    perp_spec *to[] = { &all.formulation, &all.ode, &all.kkt, &all.lcp, &all.stab, &all.contact };
    const perp_spec *from[] = { &run->parts.formulation, &run->parts.ode,  &run->parts.kkt,
                                &run->parts.lcp,         &run->parts.stab, &run->parts.contact };
    static const char *const key[] = { "formulation", "ode", "kkt", "lcp", "stab", "contact" };
    for (int i = 0; i < 6; i++) perp_spec_copy(ctx, from[i], to[i]);
    perp_parts_complete(ctx, run->model, &all);
    perp_json_open(&json, "parts", '{');
    for (int i = 0; i < 6; i++) put_part(&json, key[i], to[i]);
    perp_json_close(&json, '}');
    perp_parts_free(&all);
  }
  perp_json_close(&json, '}');
  return live_text_end();
}

/* ---- steps ---- */

static void keep_contacts(live_run *run)
{
  const perp_step_info *info = &run->info;
  const bool known = info->contacts != NULL && info->impulse != NULL;
  run->n_contacts = known ? info->n_contacts : 0;
  if (run->n_contacts > run->contact_room) {
    run->contact_room = 2 * run->n_contacts;
    free(run->contact);
    run->contact = perp_xalloc((size_t)run->contact_room * LIVE_CONTACT, sizeof *run->contact);
  }
  const int dim = perp_model_dim(run->model);
  for (int i = 0; i < run->n_contacts; i++) {
    const perp_contact *c = &info->contacts[i];
    double *to = run->contact + (size_t)LIVE_CONTACT * (size_t)i;
    for (int k = 0; k < 3; k++) {
      to[k] = k < dim ? c->p[1][k] : 0;
      to[3 + k] = k < dim ? info->impulse[3 * i + k] : 0;
    }
    to[6] = c->gap;
    to[7] = c->body[0] * 4096.0 + c->body[1];
  }
}

/* Largest error of a constraint, as the metric drift.pos.max has it (experiments/metrics). */
static double run_error(live_run *run, double t, const double *q)
{
  const int m = perp_model_m(run->model);
  double most = 0;
  if (m > run->error_room) {
    free(run->error);
    run->error = perp_xalloc((size_t)m, sizeof *run->error);
    run->error_room = m;
  }
  if (m > 0) perp_model_error(run->model, t, q, run->error);
  for (int i = 0; i < m; i++)
    if (!(fabs(run->error[i]) <= most)) most = fabs(run->error[i]);
  return most;
}

static void keep_figures(live_run *run, double seconds)
{
  const perp_contact_count *count = perp_sim_contacts(run->sim);
  double t, deepest = 0, *f = run->figure;
  const double *q, *v;
  perp_sim_state(run->sim, &t, &q, &v);
  for (int i = 0; i < run->n_contacts; i++)
    deepest = fmax(deepest, -run->contact[(size_t)LIVE_CONTACT * (size_t)i + 6]);
  f[0] = t;
  f[1] = run->info.reason;
  f[2] = run_energy(run);
  f[3] = run->energy0;
  f[4] = run->info.drift_pos_pre;
  f[5] = deepest;
  f[6] = run->n_contacts;
  f[7] = run->problem_number;
  f[8] = count != NULL ? (double)(count->iterations - run->iterations_before) : 0;
  f[9] = count != NULL ? count->work - run->work_before : 0;
  f[10] = seconds;
  f[11] = run->n_events;
  f[12] = run->seen;
  f[13] = run->n_rows;
  f[14] = count != NULL ? (double)count->failures : 0;
  f[15] = count != NULL ? count->residual : (double)NAN;
  f[16] = run->problem.n;
  f[17] = run->info.asleep;
  f[18] = run_error(run, t, q);
}

/* One step; the reason (< 0: the simulation failed, and its state is the last good one). */
LIVE_EXPORT(live_step) int live_step(live_run *run)
{
  perp_ctx *ctx = live_ctx();
  const perp_contact_count *count = perp_sim_contacts(run->sim);
  run->n_events = run->seen = run->n_rows = run->problem_number = 0;
  run->problem.n = 0;
  run->iterations_before = count != NULL ? count->iterations : 0;
  run->work_before = count != NULL ? count->work : 0;
  ctx->trace = run_event;
  ctx->trace_user = run;
  const double begun = perp_clock_wall();
  perp_status status = perp_sim_step(ctx, run->sim, live_measure_end(run->measure), &run->info);
  const double seconds = perp_clock_wall() - begun;
  ctx->trace = NULL;
  if (status != PERP_OK) {
    run->info = (perp_step_info){ .reason = PERP_INVALID_STATE };
    return PERP_INVALID_STATE;
  }
  if (run->info.reason < 0)
    snprintf(ctx->msg, sizeof ctx->msg, "%s%s%s", perp_reason_name(run->info.reason),
             run->info.cause != NULL && run->info.cause[0] != '\0' ? ": " : "",
             run->info.cause != NULL ? run->info.cause : "");
  keep_contacts(run);
  keep_figures(run, seconds);
  if (run->measure != NULL && run->info.reason >= 0) live_measure_state(run, &run->info);
  return run->info.reason;
}

LIVE_EXPORT(live_figures) const double *live_figures(live_run *run)
{
  return run->figure;
}

LIVE_EXPORT(live_events) const double *live_events(live_run *run)
{
  return run->event;
}

LIVE_EXPORT(live_rows) const double *live_rows(live_run *run)
{
  return run->row;
}

LIVE_EXPORT(live_contacts) const double *live_contacts(live_run *run)
{
  return run->contact;
}

/* [1 + nq + nv]: t, q, v. */
LIVE_EXPORT(live_q) const double *live_q(live_run *run)
{
  double t;
  const double *q, *v;
  perp_sim_state(run->sim, &t, &q, &v);
  return q;
}

LIVE_EXPORT(live_v) const double *live_v(live_run *run)
{
  double t;
  const double *q, *v;
  perp_sim_state(run->sim, &t, &q, &v);
  return v;
}

/* The same run from this state on; false: it is none.  Arrays of the run itself are fine. */
LIVE_EXPORT(live_set) int live_set(live_run *run, double t, const double *q, const double *v)
{
  const size_t nq = (size_t)perp_model_nq(run->model), nv = (size_t)perp_model_nv(run->model);
  double *copy = perp_xalloc(nq + nv, sizeof *copy);
  memcpy(copy, q, nq * sizeof *copy);
  memcpy(copy + nq, v, nv * sizeof *copy);
  const bool good = perp_sim_restart(live_ctx(), run->sim, t, copy, copy + nq) == PERP_OK;
  free(copy);
  return good;
}

/* ---- hands ---- */

/* A spring from the point s of a body (its frame) to the point x of the world; body -1: none.
 * frequency in 1/s and damping ratio of the body's mass at it. */
LIVE_EXPORT(live_grab)
void live_grab(live_run *run, int body, double s0, double s1, double s2, double x0, double x1,
               double x2, double frequency, double ratio)
{
  if (run->spring < 0) return;
  /* the model is this run's own, and forces are read from their definitions in every step */
  perp_force_def *def = (perp_force_def *)(uintptr_t)perp_model_force_element(run->model,
                                                                              run->spring);
  const bool off = body < 0 || body >= perp_model_bodies(run->model);
  const double mass = off ? 0 : perp_model_body(run->model, body)->mass.mass;
  const double omega = 2 * M_PI * frequency;
  def->a = off ? 0 : body;
  def->b = PERP_WORLD;
  memcpy(def->anchor_a, (double[]){ s0, s1, s2 }, sizeof def->anchor_a);
  memcpy(def->anchor_b, (double[]){ x0, x1, x2 }, sizeof def->anchor_b);
  def->stiffness = mass * omega * omega;
  def->damping = 2 * ratio * mass * omega;
}

/* The velocity of a body changes by this: m/s. */
LIVE_EXPORT(live_push)
int live_push(live_run *run, int body, double v0, double v1, double v2)
{
  double t;
  const double *q, *v, dv[3] = { v0, v1, v2 };
  const int dim = perp_model_dim(run->model), nv = perp_model_nv(run->model);
  perp_sim_state(run->sim, &t, &q, &v);
  double *moved = perp_xalloc((size_t)nv, sizeof *moved);
  memcpy(moved, v, (size_t)nv * sizeof *moved);
  const int per = nv / perp_model_bodies(run->model);
  for (int k = 0; k < dim; k++) moved[body * per + k] += dv[k];
  const int good = live_set(run, t, q, moved);
  free(moved);
  return good;
}

/* A ball more, at x with the velocity v: m, m/s, kg.  false: there is no room for it, or the scene
 * cannot have one (message). */
LIVE_EXPORT(live_shoot)
int live_shoot(live_run *run, double x0, double x1, double x2, double v0, double v1, double v2,
               double radius, double mass)
{
  perp_ctx *ctx = live_ctx();
  if (!run->playable || run->n_balls == LIVE_BALLS) {
    PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%d balls are the most; reset the scene", LIVE_BALLS);
    return false;
  }
  double t;
  const double *q, *v;
  const int nb = perp_model_bodies(run->model), nq = perp_model_nq(run->model),
            nv = perp_model_nv(run->model), dim = perp_model_dim(run->model), qb = nq / nb,
            vb = nv / nb;
  perp_sim_state(run->sim, &t, &q, &v);
  double *state = perp_xalloc((size_t)(nq + nv + qb + vb), sizeof *state), *to = state + nq + qb;
  memset(state, 0, (size_t)(nq + nv + qb + vb) * sizeof *state);
  memcpy(state, q, (size_t)nq * sizeof *state);
  memcpy(to, v, (size_t)nv * sizeof *state);
  const double x[3] = { x0, x1, x2 }, speed[3] = { v0, v1, v2 };
  for (int k = 0; k < dim; k++) {
    state[nq + k] = x[k];
    to[nv + k] = speed[k];
  }
  if (dim == 3) state[nq + 3] = 1; /* no turn */
  run->ball[run->n_balls++] = (live_ball){
    .x = { x0, x1, x2 }, .v = { v0, v1, v2 }, .radius = radius, .mass = mass
  };
  perp_status status = run_build(ctx, run);
  if (status == PERP_OK) status = perp_sim_restart(ctx, run->sim, t, state, to);
  free(state);
  return status == PERP_OK;
}

/* The largest problem of at most 8 rows of the last step, as live_matrix has it, and the names of
 * its rows. */
LIVE_EXPORT(live_problem_of) const char *live_problem_of(live_run *run)
{
  perp_json json = { .out = live_text_begin() };
  live_put_problem(&json, &run->problem);
  return live_text_end();
}

/* A quaternion as the reader of scene files makes it: only such ones can be written. */
static void run_read_quat(double q[4])
{
  double largest = 0;
  for (int i = 0; i < 4; i++) largest = fmax(largest, fabs(q[i]));
  for (int i = 0; i < 4; i++) q[i] /= largest;
  perp_quat_unit(q);
}

/* The model in the state that it has, as a scene file for the program; NULL: the message says why
 * it cannot be one. */
LIVE_EXPORT(live_export) const char *live_export(live_run *run, const char *name)
{
  perp_scene scene = run->scene;
  perp_model *model = run->model;
  const perp_desc desc = { .name = name,
                           .summary = "A state of the playground.",
                           .reference = "perp live" };
  double t;
  const double *q, *v;
  perp_sim_state(run->sim, &t, &q, &v);
  /* definitions with the state as their start, and without the spring at the mouse, for a moment */
  perp_body_def *kept = perp_xalloc((size_t)model->n_bodies, sizeof *kept);
  memcpy(kept, model->body_def, (size_t)model->n_bodies * sizeof *kept);
  for (int i = 0; i < model->n_bodies; i++) {
    const double *x = q + (ptrdiff_t)i * model->nqb, *u = v + (ptrdiff_t)i * model->nvb;
    perp_body_def *def = &model->body_def[i];
    memcpy(def->x, x, (size_t)model->dim * sizeof *x);
    memcpy(def->v, u, (size_t)model->dim * sizeof *u);
    if (model->dim == 3) {
      memcpy(def->quat, x + 3, sizeof def->quat);
      run_read_quat(def->quat);
      memcpy(def->w, u + 3, sizeof def->w);
    } else {
      def->angle = x[2];
      def->w[2] = u[2];
    }
  }
  model->n_forces -= run->spring >= 0;
  scene.model = model;
  scene.h = run->h;
  const perp_status status = perp_scene_export(live_ctx(), &desc, &scene, name, live_text_begin());
  const char *text = live_text_end();
  model->n_forces += run->spring >= 0;
  memcpy(model->body_def, kept, (size_t)model->n_bodies * sizeof *kept);
  free(kept);
  return status == PERP_OK ? text : NULL;
}
