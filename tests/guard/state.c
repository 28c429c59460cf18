/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A guard of numbers: what each scene is (sizes, initial state, masses, forces and constraints at a
 * state beside it), the truth that it tells, where it is after some steps with the default parts,
 * and every metric of such runs, against state.txt.  Nothing here says that a number is right;
 * other tests do.  This one says that it has changed:
 *
 *      ninja -C build accept-work
 *
 * writes state.txt anew, and its difference goes into the commit.  Sums over components with
 * weights, to 1e-6 of the sum of their sizes: compilers differ in the last digits. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "solvers/lcp/problem.h"
#include "tests/guard/golden.h"
#include "tests/tap.h"

#include <string.h>

enum { STEPS = 12 };
static perp_ctx ctx;

static void put(golden_line *l, const char *what, int n, const double *x)
{
  golden_put_sum(l, what, n, x, 1e-6);
}

static void put_one(golden_line *l, const char *what, double x)
{
  golden_put(l, what, x, 1e-9 + 1e-6 * fabs(x));
}

/* Anything but a special state. */
static void beside(int n, double *x, double size)
{
  for (int i = 0; i < n; i++) x[i] = size * (fmod(0.7548776662466927 * (i + 1), 1) - 0.4);
}

static void model_numbers(golden_line *l, const perp_scene *s)
{
  perp_model *model = s->model;
  const int nq = perp_model_nq(model), nv = perp_model_nv(model), m = perp_model_m(model);
  double *q = calloc((size_t)(nq + 3 * nv + m) + 1, sizeof *q), *v = q + nq, *f = v + nv,
         *dq = f + nv, *C = dq + nv, T = 0, V = 0;
  beside(nv, v, 1);
  beside(nv, dq, 0.01);
  perp_model_retract(model, perp_model_q0(model), dq, q);
  perp_model_energy(model, 0, q, v, &T, &V);
  put_one(l, "kinetic", T);
  put_one(l, "potential", V);
  perp_model_forces(model, 0.01, q, v, f);
  put(l, "forces", nv, f);
  if (m > 0) {
    perp_model_error(model, 0.01, q, C);
    put(l, "C", m, C);
  }
  free(q);
}

static void metric_numbers(golden_line *l, const perp_measure *measure)
{
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_metric, i)) != NULL; i++) {
    const perp_metric_desc *metric = (const perp_metric_desc *)(const void *)d;
    if (d->caps & PERP_METRIC_TIMING) continue;
    double x = metric->value(measure);
    if (!isfinite(x)) continue;
    /* errors that are rounding differ; so does what counts the work, which has a guard of its own
     */
    if (fabs(x) < 1e-9 || d->caps != 0 || fabs(x) > 1e15) continue;
    /* the work of contacts moves with the kernels that a processor gets from BLAS */
    const bool work = strncmp(d->name, "lcp.", 4) == 0;
    golden_put(l, d->name, x, 1e-8 + (work ? 0.1 : 1e-4) * fabs(x));
  }
}

/* Runs whose contacts have several solutions, or whose bodies rest: what they do after some steps
 * moves with the kernels that a processor gets from BLAS. */
static bool by_rounding(const char *name)
{
  static const char *const runs[] = {
    "jam:e=", "pulled-brick:rows=3,row=0,speed=", "pulled-brick:rows=3,row=0,mu=", "desk, metrics",
    "stack:boxes=2,overlap=1e-3 with regularized:impact=chatterjee-ruina"
  };
  for (size_t k = 0; k < sizeof runs / sizeof *runs; k++)
    if (strncmp(name, runs[k], strlen(runs[k])) == 0) return true;
  return false;
}

/* After some steps: where, and what the metrics say. */
static void run_numbers(golden_line *l, perp_scene *s, int steps, bool metrics)
{
  perp_parts parts = { 0 };
  perp_sim *sim;
  perp_measure *measure = NULL;
  if (perp_sim_create(&ctx, s->model, &parts, s->h, &sim) != PERP_OK) return;
  if (metrics && perp_measure_create(&ctx, s, &measure) != PERP_OK) bail("%s", ctx.msg);
  perp_step_info info = { 0 };
  double t, gaps = 0, normals = 0, *ref = NULL;
  const double *q, *v;
  const int nq = perp_model_nq(s->model), nv = perp_model_nv(s->model);
  perp_sim_state(sim, &t, &q, &v);
  if (measure != NULL) {
    ref = calloc((size_t)(nq + nv) + 1, sizeof *ref);
    perp_measure_state(measure, t, q, v, NULL);
  }
  const bool told = !by_rounding(l->name);
  if (!told && !metrics) steps = 2; /* only that there are steps */
  int made = 0, met = 0;
  for (; made < steps; made++) {
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0) break;
    perp_sim_state(sim, &t, &q, &v);
    met += info.n_contacts;
    for (int c = 0; c < info.n_contacts; c++) {
      gaps += info.contacts[c].gap;
      normals += info.contacts[c].n[0] + 2 * info.contacts[c].n[1];
    }
    if (measure == NULL) continue;
    perp_measure_state(measure, t, q, v, &info);
    if (s->n_truths > 0 && t <= s->truth[0].t_end &&
        s->truth[0].next_time(s->truth[0].user, t) == t &&
        s->truth[0].state(s->truth[0].user, &ctx, t, ref, ref + nq) == PERP_OK)
      perp_measure_compare(&ctx, measure, q, v, ref, ref + nq);
  }
  put_one(l, "steps", made);
  if (told) put_one(l, "contacts", met);
  if (told && met > 0) {
    golden_put(l, "gaps", gaps, 1e-7 * met);
    golden_put(l, "normals", normals, 1e-6 * met);
  }
  if (told) {
    put(l, "q", nq, q);
    put(l, "v", nv, v);
    l->room[l->n - 1] += 1e-6; /* impulses are as good as the tolerance of their solver */
  }
  if (measure != NULL) {
    perp_sim_counters(sim, &measure->run.ode, &measure->run.kkt);
    const perp_contact_count *contacts = perp_sim_contacts(sim);
    measure->run.has_contacts = contacts != NULL && contacts->contacts > 0;
    if (contacts != NULL) measure->run.contacts = *contacts;
    if (told) metric_numbers(l, measure);
    perp_measure_destroy(measure);
    free(ref);
  }
  perp_sim_destroy(sim);
}

static void truth_numbers(golden_line *l, const perp_scene *s, int nq, int nv)
{
  if (s->n_truths == 0) return;
  const perp_truth *truth = &s->truth[0];
  double *x = calloc((size_t)(nq + nv) + 1, sizeof *x);
  const double end = fmin(truth->t_end, s->t_end), part[] = { 0.02, 0.3, 0.9 };
  static const char *const names[] = { "truth early", "truth", "truth late" };
  for (int k = 0; k < 3; k++) {
    double t = truth->next_time(truth->user, part[k] * fmin(end, 2));
    if (t <= truth->t_end && truth->state(truth->user, &ctx, t, x, x + nq) == PERP_OK)
      put(l, names[k], nq + nv, x);
  }
  free(x);
}

/* What the gauges of a scene compare with: their figures of a motion that is not its own. */
static void gauge_numbers(golden_line *l, const perp_scene *s)
{
  perp_model *model = s->model;
  const int nq = perp_model_nq(model), nv = perp_model_nv(model), samples = 60;
  double *q = calloc((size_t)(nq + 2 * nv) + 1, sizeof *q), *v = q + nq, *dq = v + nv;
  const perp_step_info info = { 0 };
  for (int i = 0; i < s->n_gauges; i++)
    if (s->gauge[i].restart != NULL) s->gauge[i].restart(s->gauge[i].user);
  for (int k = 0; k <= samples; k++) {
    const double t = 1.05 * s->t_end * k / samples;
    beside(nv, v, 1 + sin(k));
    beside(nv, dq, 0.05 * sin(0.7 * k));
    perp_model_retract(model, perp_model_q0(model), dq, q);
    for (int i = 0; i < s->n_gauges; i++)
      if (s->gauge[i].sample != NULL)
        s->gauge[i].sample(s->gauge[i].user, t, q, v, k > 0 ? &info : NULL);
  }
  for (int i = 0; i < s->n_gauges; i++) {
    const double x = s->gauge[i].value(s->gauge[i].user);
    if (isfinite(x) && fabs(x) < 1e15) put_one(l, s->gauge[i].metric, x);
  }
  free(q);
}

static void scene(const char *text, int steps, bool metrics)
{
  perp_spec spec;
  perp_scene s;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_scene_create(&ctx, &spec, &s) != PERP_OK) {
    printf("# %s: %s\n", text, ctx.msg);
    perp_spec_free(&spec);
    return;
  }
  golden_line *l = golden_add("%s%s", text, metrics ? ", metrics" : "");
  if (metrics)
    run_numbers(l, &s, steps, true);
  else {
    const int nq = s.model != NULL ? perp_model_nq(s.model) : s.ode->nq,
              nv = s.model != NULL ? perp_model_nv(s.model) : s.ode->nv;
    put_one(l, "t_end", s.t_end);
    put_one(l, "h", s.h);
    put_one(l, "says",
            s.dissipative + 2 * s.driven + 4 * s.isolated + 8 * s.n_truths + 16 * s.n_gauges +
                1000 * (s.tip_body + 1));
    put(l, "q0", nq, s.model != NULL ? perp_model_q0(s.model) : s.ode_q0);
    put(l, "v0", nv, s.model != NULL ? perp_model_v0(s.model) : s.ode_v0);
    put(l, "tip", 3, s.tip);
    put_one(l, "size", s.size);
    if (s.model != NULL) model_numbers(l, &s);
    truth_numbers(l, &s, nq, nv);
    if (s.model != NULL) gauge_numbers(l, &s);
    if (s.model != NULL) run_numbers(l, &s, steps, false);
  }
  perp_scene_destroy(&s);
  perp_spec_free(&spec);
}

/* The same bodies with parts of their own. */
static void parts(const char *scene_text, const char *formulation, const char *ode, const char *kkt,
                  const char *stab, const char *lcp, const char *contact)
{
  const char *text[] = { formulation, ode, kkt, stab, lcp, contact };
  perp_parts p = { 0 };
  perp_spec *specs[] = { &p.formulation, &p.ode, &p.kkt, &p.stab, &p.lcp, &p.contact };
  static const perp_kind kinds[] = { PERP_KIND_formulation, PERP_KIND_ode, PERP_KIND_kkt,
                                     PERP_KIND_stab,        PERP_KIND_lcp, PERP_KIND_contact };
  perp_spec spec;
  perp_scene s;
  perp_sim *sim;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, scene_text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &s) != PERP_OK)
    bail("%s", ctx.msg);
  for (int i = 0; i < 6; i++)
    if (text[i][0] != '\0' && perp_spec_parse(&ctx, kinds[i], text[i], specs[i]) != PERP_OK)
      bail("%s", ctx.msg);
  if (s.model == NULL) bail("%s is no model", scene_text);
  if (perp_sim_create(&ctx, s.model, &p, s.h, &sim) == PERP_OK) {
    golden_line *l = golden_add("%s with %s+%s+%s+%s+%s+%s", scene_text, formulation, ode, kkt,
                                stab, lcp, contact);
    perp_step_info info = { 0 };
    double t, pre = 0;
    const double *q, *v;
    /* a step of thousands of sub-steps or iterations costs as much as hundreds of steps */
    const int steps = strstr(l->name, "=5000+") != NULL ? 3 : 2 * STEPS;
    int made = 0;
    while (made < steps && perp_sim_step(&ctx, sim, HUGE_VAL, &info) == PERP_OK &&
           info.reason >= 0) {
      made++;
      if (isfinite(info.drift_pos_pre)) pre = fmax(pre, info.drift_pos_pre);
    }
    perp_sim_state(sim, &t, &q, &v);
    put_one(l, "steps", made);
    put_one(l, "t", t);
    put(l, "q", perp_model_nq(s.model), q);
    put(l, "v", perp_model_nv(s.model), v);
    l->room[l->n - 1] += 1e-6;
    golden_put(l, "drift", pre, 1e-10 + 1e-4 * pre);
    perp_sim_destroy(sim);
  }
  for (int i = 0; i < 6; i++) perp_spec_free(specs[i]);
  perp_scene_destroy(&s);
  perp_spec_free(&spec);
}

static void all_parts(void)
{
  static const char *const jointed[] = { "chain:links=3", "motor", "stop", "universal",
                                         "heavy-top" };
  static const char *const touching[] = { "stack:boxes=2", "incline:theta=30deg,mu=0.3",
                                          "bouncing-ball", "oblique-impact", "desk" };
  const perp_desc *d;
  for (size_t k = 0; k < 5; k++) {
    for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_formulation, i)) != NULL; i++) {
      if (strchr(d->name, ':') != NULL) continue; /* where SUNDIALS is installed */
      parts(jointed[k], d->name, "", "", "", "", "");
      parts(touching[k], d->name, "", "", "", "", "");
    }
    for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_stab, i)) != NULL; i++) {
      parts(jointed[k], "velocity", "", "", d->name, "", "");
      parts(touching[k], "velocity", "", "", d->name, "", "");
    }
    for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_contact, i)) != NULL; i++)
      parts(touching[k], "velocity", "", "", "", "auto", d->name);
  }
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_ode, i)) != NULL; i++)
    if (strchr(d->name, ':') == NULL)
      parts("chain:links=3", "acceleration", d->name, "", "", "", "");
}

/* Each option of the parts, one at a time. */
static void options_of_parts(perp_kind kind)
{
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, kind, i)) != NULL; i++)
    for (const perp_opt *o = strchr(d->name, ':') == NULL ? d->opts : NULL;
         o != NULL && o->type != PERP_OPT_END; o++) {
      char value[32], text[100];
      for (int k = 0; golden_option(o, k, value, sizeof value); k++) {
        snprintf(text, sizeof text, "%s:%s=%s", d->name, o->key, value);
        const char *formulation = kind == PERP_KIND_formulation ? text : "velocity";
        const char *stab = kind == PERP_KIND_stab ? text : "";
        if (kind == PERP_KIND_contact)
          parts("incline:theta=30deg,mu=0.3", "velocity", "", "", "", "auto", text);
        else {
          parts("stop", formulation, "", "", stab, "", "");
          parts("stack:boxes=2,overlap=1e-3", formulation, "", "", stab, "", "");
        }
        if (kind == PERP_KIND_stab) {
          parts("universal", "acceleration", "", "", text, "", "");
          parts("stack:boxes=2,overlap=1e-3", "acceleration", "", "", text, "", "");
        }
      }
    }
}

/* The generated problems: entries of A, b, bounds, friction. */
static void families(void)
{
  const perp_lcp_family *f;
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++)
    for (int size = 6; size <= 24; size += 18) {
      const int n = perp_lcp_family_rows(f, size);
      perp_lcp_problem q, dense;
      perp_lcp_recipe recipe = { .family = f->name, .n = n, .seed = 3 };
      if (n > 64 || (size > 6 && n == perp_lcp_family_rows(f, 6))) continue;
      if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK ||
          perp_lcp_problem_form(&ctx, &q, &dense) != PERP_OK)
        bail("%s: %s", f->name, ctx.msg);
      golden_line *l = golden_add("family %s of %d rows", f->name, n);
      const perp_lcp *p = &dense.p;
      double column = 0;
      for (int j = 0; j < p->n; j++)
        for (int k = 0; k < p->n; k++)
          column += (1 + fmod(0.7548776662466927 * (j + 2 * k), 1)) * p->A[k + (size_t)j * p->lda];
      golden_put(l, "A", column, 1e-9 * (1 + fabs(column)));
      put(l, "b", p->n, p->b);
      if (p->lo != NULL) put(l, "lo", p->n, p->lo);
      if (p->hi != NULL) put(l, "hi", p->n, p->hi);
      if (p->mu != NULL) put(l, "mu", p->n, p->mu);
      put_one(l, "classes", (double)q.classes);
      perp_lcp_problem_free(&dense);
      perp_lcp_problem_free(&q);
    }
}

/* Where the other options of a scene are tried: scenes that are large by default, smaller, and what
 * options need. */
static const char *const tried_at[][2] = {
  { "free-body", "preset=custom" }, { "tree", "bodies=15" }, { "wall", "rows=3,columns=2" },
  { "pyramid", "rows=4" },          { "cubes", "count=30" }, { "pulled-brick", "rows=3,row=0" },
  { "dominoes", "dominoes=4" }
};

/* Is "key=" in it? */
static bool sets(const char *base, const char *key)
{
  const size_t n = strlen(key);
  for (const char *s = base; *s != '\0'; s += strcspn(s, ","), s += *s == ',')
    if (strncmp(s, key, n) == 0 && s[n] == '=') return true;
  return false;
}

static void options_of(const perp_desc *d)
{
  const char *base = "";
  for (size_t i = 0; i < sizeof tried_at / sizeof *tried_at; i++)
    if (strcmp(d->name, tried_at[i][0]) == 0) base = tried_at[i][1];
  for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++) {
    char value[32], text[160];
    /* what the others need is tried alone */
    for (int k = 0; sets(base, o->key) && golden_option(o, k, value, sizeof value); k++) {
      snprintf(text, sizeof text, "%s:%s=%s", d->name, o->key, value);
      if (o->type == PERP_OPT_ENUM) scene(text, STEPS, false);
    }
    for (int k = 0; !sets(base, o->key) && golden_option(o, k, value, sizeof value); k++) {
      snprintf(text, sizeof text, "%s:%s%s%s=%s", d->name, base, base[0] == '\0' ? "" : ",", o->key,
               value);
      scene(text, STEPS, false);
    }
  }
}

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_scene, i)) != NULL; i++) {
    scene(d->name, STEPS, false);
    options_of(d);
  }
  static const char *const measured[] = { "pendulum", "chain:links=3",   "free-body",
                                          "incline",  "stack:boxes=3",   "bouncing-ball",
                                          "four-bar", "rolling-sphere",  "desk",
                                          "motor",    "pushed-rectangle" };
  for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) scene(measured[i], 60, true);
  all_parts();
  options_of_parts(PERP_KIND_formulation);
  options_of_parts(PERP_KIND_stab);
  options_of_parts(PERP_KIND_contact);
  families();
  golden_end("state.txt", argc > 1 && strcmp(argv[1], "--accept") == 0);
  return tap_done();
}
