/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No option without effect: for each option of each method there is a problem or a scene for which
 * the default and another value give different results, in their bits or in their counts; or the
 * table below has the reason.
 *
 * options.txt has a witness of each: the other value, the options beside it (many act with another
 * one only) and the problem.  The test runs the two.  An option without a witness is searched for
 * shortly, alone and then beside each other option of its method.
 *
 *      test_options                               the test
 *      test_options find SECONDS [METHOD [KEY]]   prints options.txt anew; an option is searched
 * for so many seconds
 */
#include "experiments/simulate/simulate.h"
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/problems/generate.h"
#include "tests/kkt_problems.h"
#include "tests/option_values.h"
#include "tests/tap.h"

static perp_ctx ctx;

#define DOUBLING "step doubling is its only estimate, and the other values are refused"

/* Options whose effect no short run shows: "method:key" and why. */
static const struct {
  const char *option, *why;
} exceptions[] = {
  { "midpoint:control", DOUBLING },        { "rk4:control", DOUBLING },
  { "verlet:control", DOUBLING },          { "implicit-midpoint:control", DOUBLING },
  { "lie-newmark:control", DOUBLING },     { "rkmk4:control", DOUBLING },
  { "crouch-grossman:control", DOUBLING }, { "commutator-free:control", DOUBLING },
};

static uint64_t mix(uint64_t h, const void *data, size_t size)
{
  const unsigned char *c = data;
  for (size_t i = 0; i < size; i++) h = (h ^ c[i]) * 1099511628211u;
  return h;
}
#define MIX(h, x) h = mix(h, &(x), sizeof(x))
static const uint64_t START = 14695981039346656037u;

/* ---- results of one method on one problem; 0: refused, or not served ---- */

/* A problem is a text of words "key=value". */
typedef struct problem_text {
  char words[512];
} problem_text;

static problem_text words_of(const char *text)
{
  problem_text p;
  if (snprintf(p.words, sizeof p.words, "%s", text) >= (int)sizeof p.words) bail("long: %s", text);
  for (char *c = p.words; *c != '\0'; c++)
    if (*c == ' ') *c = '\0';
  return p;
}

/* The value of a key of a problem; NULL: it has none.  length: of the text. */
static const char *word(const problem_text *p, size_t length, const char *key)
{
  const size_t n = strlen(key);
  for (size_t at = 0; at < length; at += strlen(p->words + at) + 1)
    if (strncmp(p->words + at, key, n) == 0 && p->words[at + n] == '=')
      return p->words + at + n + 1;
  return NULL;
}

static double number(const problem_text *p, size_t length, const char *key, double otherwise)
{
  const char *text = word(p, length, key);
  return text != NULL ? strtod(text, NULL) : otherwise;
}

/* A run that takes long is none: values far from the default may make thousands of steps of one. */
static double patience = 10, until;

static perp_cut too_long(void *user)
{
  (void)user;
  return perp_clock_thread() > until ? PERP_CUT_TIME : PERP_CUT_NONE;
}

static void keep_nothing(const perp_result *so_far, void *user)
{
  (void)so_far, (void)user;
}

static const char *source(void)
{
  const char *root = getenv("PERP_SOURCE");
  return root != NULL ? root : ".";
}

static uint64_t of_run(perp_kind kind, const char *method, const char *text)
{
  const perp_minder minder = { too_long, keep_nothing, NULL };
  const size_t n = strlen(text);
  const problem_text p = words_of(text);
  perp_request request = { .scene = word(&p, n, "scene"),
                           .formulation = word(&p, n, "formulation"),
                           .ode = word(&p, n, "ode"),
                           .kkt = word(&p, n, "kkt"),
                           .lcp = word(&p, n, "lcp"),
                           .stab = word(&p, n, "stab"),
                           .contact = word(&p, n, "contact"),
                           .h = number(&p, n, "h", 4e-3),
                           .t_end = number(&p, n, "t", 0.2),
                           .minder = &minder };
  *(kind == PERP_KIND_lcp       ? &request.lcp
    : kind == PERP_KIND_kkt     ? &request.kkt
    : kind == PERP_KIND_ode     ? &request.ode
    : kind == PERP_KIND_stab    ? &request.stab
    : kind == PERP_KIND_contact ? &request.contact
                                : &request.formulation) = method;
  char own[4096]; /* a file of tests/data/scenes */
  if (request.scene != NULL && strstr(request.scene, ".yaml") != NULL) {
    snprintf(own, sizeof own, "%s/tests/data/scenes/%s", source(), request.scene);
    request.scene = own;
  }
  perp_result r;
  until = perp_clock_thread() + patience;
  uint64_t h = START;
  if (perp_simulate(&ctx, &request, &r) != PERP_OK) return 0;
  h = mix(h, r.q, (size_t)r.nq * sizeof *r.q);
  h = mix(h, r.v, (size_t)r.nv * sizeof *r.v);
  MIX(h, r.reason), MIX(h, r.t);
  MIX(h, r.ode_count.steps), MIX(h, r.ode_count.rhs), MIX(h, r.ode_count.iterations);
  MIX(h, r.ode_count.rejected), MIX(h, r.kkt_count.work);
  MIX(h, r.contact_count.work), MIX(h, r.contact_count.failures), MIX(h, r.contact_count.problems);
  MIX(h, r.group_count.merges), MIX(h, r.group_count.splits), MIX(h, r.group_count.groups);
  if (r.cut != PERP_CUT_NONE) h = 0;
  perp_result_free(&r);
  return h;
}

static uint64_t of_lcp(const char *method, const char *text)
{
  const size_t length = strlen(text);
  const problem_text t = words_of(text);
  const perp_lcp_recipe recipe = { .family = word(&t, length, "problem"),
                                   .n = (int)number(&t, length, "n", 12),
                                   .factored = number(&t, length, "factored", 0) != 0,
                                   .seed = 3 };
  perp_lcp_problem q;
  perp_spec spec = { 0 };
  perp_lcp_solver *s;
  perp_stats stats = { 0 };
  uint64_t h = 0;
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", text, ctx.msg);
  q.p.work = 3e7;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, method, &spec) == PERP_OK &&
      (perp_lcp_needs(&q.p) & ~spec.d->caps) == 0) {
    double *x = problem_memory((size_t)q.p.n, sizeof *x);
    const bool warm = number(&t, length, "warm", 0) != 0;
    for (int i = 0; warm && i < q.p.n; i++) x[i] = fmod(0.7548776662466927 * (i + 1), 1);
    if (perp_lcp_create(&ctx, &spec, q.p.n, q.p.F != NULL ? q.p.F->nv : 0, &s) == PERP_OK) {
      if (perp_lcp_solve(&ctx, s, &q.p, number(&t, length, "tol", 1e-8), x, NULL, NULL, &stats) ==
              PERP_OK &&
          stats.reason != PERP_UNSUITED) {
        h = mix(START, x, (size_t)q.p.n * sizeof *x);
        MIX(h, stats.iterations), MIX(h, stats.work), MIX(h, stats.reason), MIX(h, stats.matvecs);
      }
      perp_lcp_destroy(s);
    }
    free(x);
  }
  perp_spec_free(&spec);
  perp_lcp_problem_free(&q);
  return h;
}

static uint64_t of_kkt(const char *method, const char *text)
{
  const size_t length = strlen(text);
  const problem_text t = words_of(text);
  const char *system = word(&t, length, "system");
  problem *p = strcmp(system, "chain") == 0           ? problem_chain("chain", 6, 6, 3, true, true)
               : strcmp(system, "twice") == 0         ? problem_twice("joint twice", 5, 1, false)
               : strcmp(system, "contradiction") == 0 ? problem_twice("contradiction", 5, 1, true)
               : strcmp(system, "masses") == 0        ? problem_masses("masses", 6, 8)
                                                      : problem_ring("ring", 6);
  perp_spec spec = { 0 };
  perp_kkt_solver *s;
  perp_stats stats = { 0 };
  uint64_t h = 0;
  double *a = problem_memory((size_t)p->B.nv, 8), *l = problem_memory((size_t)p->B.m, 8);
  if (perp_spec_parse(&ctx, PERP_KIND_kkt, method, &spec) == PERP_OK &&
      perp_kkt_create(&ctx, &spec, &p->B, &s) == PERP_OK) {
    if (perp_kkt_factor(&ctx, s, &p->B, &stats) == PERP_OK && stats.reason >= 0 &&
        perp_kkt_solve(&ctx, s, &p->B, p->f, p->c, a, l, &stats) == PERP_OK) {
      h = mix(START, a, (size_t)p->B.nv * 8);
      h = mix(h, l, (size_t)p->B.m * 8);
    }
    MIX(h, stats.iterations), MIX(h, stats.work), MIX(h, stats.reason);
    perp_kkt_destroy(s);
  }
  perp_spec_free(&spec);
  free(a), free(l);
  problem_free(p);
  return h;
}

static uint64_t probe(perp_kind kind, const char *method, const char *text)
{
  const uint64_t h = strncmp(text, "problem=", 8) == 0  ? of_lcp(method, text)
                     : strncmp(text, "system=", 7) == 0 ? of_kkt(method, text)
                                                        : of_run(kind, method, text);
  return h;
}

/* ---- problems to search ---- */

static const char *const of_kind_lcp[] = {
  "problem=spd n=12",
  "problem=spd n=12 warm=1",
  "problem=boxed n=12",
  "problem=boxed n=12 warm=1",
  "problem=wall-box n=24",
  "problem=wall-box n=24 warm=1",
  "problem=stack-cone n=24 factored=1 tol=1e-10",
  "problem=stack-cone n=24 factored=1 tol=1e-10 warm=1",
  "problem=incline-slide n=24",
  "problem=incline-cone n=24 factored=1 tol=1e-12",
  "problem=bimatrix n=8",
  "problem=bimatrix n=8 warm=1",
  "problem=wall-box n=48 factored=1 tol=1e-12",
  "problem=wall-box n=48 factored=1 tol=1e-12 warm=1",
  "problem=pd-nonsymmetric n=10",
  "problem=pd-nonsymmetric n=10 warm=1",
  "problem=tridiag n=40 tol=1e-12",
  "problem=tridiag n=40 tol=1e-12 warm=1",
  "problem=stack-box n=120 factored=1 tol=1e-10",
  "problem=stack-box n=120 factored=1 tol=1e-10 warm=1",
  "scene=stack:boxes=3 formulation=velocity t=0.1",
  "scene=crush formulation=velocity t=0.1",
  "scene=stack:boxes=2 formulation=velocity contact=polyhedral t=0.1",
  "scene=card-house formulation=velocity t=0.1",
  NULL,
};
static const char *const of_kind_kkt[] = {
  "system=chain", "system=twice", "system=contradiction", "system=masses", "system=ring", NULL,
};
static const char *const of_kind_ode[] = {
  "scene=oscillator h=0.05 t=20",
  "scene=circle h=0.1 t=2",
  "scene=pendulum formulation=reduced h=0.02 t=0.5",
  "scene=pendulum formulation=acceleration h=0.02 t=0.5",
  "scene=stiff-and-slow formulation=acceleration h=0.01 t=0.1",
  NULL,
};
static const char *const of_kind_stab[] = {
  "scene=chain:links=3,dim=3 formulation=velocity t=0.1",
  "scene=chain:links=3,dim=3 formulation=acceleration t=0.1",
  "scene=stack:boxes=2,overlap=1e-3 formulation=velocity t=0.1",
  "scene=stack:boxes=2,overlap=1e-3 formulation=acceleration t=0.1",
  "scene=stack:boxes=3,overlap=1e-3 formulation=velocity lcp=pgs:sweeps=10 t=0.1",
  "scene=bouncing-ball formulation=velocity t=0.8",
  "scene=bouncing-ball formulation=acceleration t=0.8",
  "scene=four-bar formulation=velocity",
  "scene=crush formulation=velocity t=0.1",
  "scene=card-house formulation=velocity t=0.1",
  "scene=incline:theta=30deg,mu=0.3 formulation=acceleration",
  NULL,
};
static const char *const of_kind_contact[] = {
  "scene=incline:theta=30deg,mu=0.3,azimuth=31deg,tilt=gravity formulation=velocity",
  "scene=incline:theta=30deg,mu=0.3,azimuth=31deg,tilt=gravity formulation=acceleration",
  "scene=stack:boxes=2 formulation=velocity",
  "scene=stack:boxes=2 formulation=velocity lcp=pgs:sweeps=10",
  "scene=oblique-impact formulation=velocity",
  "scene=spinning-puck formulation=velocity",
  "scene=bouncing-ball formulation=velocity t=0.8",
  "scene=incline:theta=30deg,mu=0.3,azimuth=31deg,tilt=gravity,shape=point formulation=velocity "
  "lcp=dantzig",
  NULL,
};
static const char *const of_kind_formulation[] = {
  "scene=chain:links=3,dim=3 t=0.1",
  "scene=stack:boxes=2,overlap=1e-3 t=0.1",
  "scene=incline:theta=30deg,mu=0.3,azimuth=31deg,tilt=gravity t=0.1",
  "scene=bouncing-ball t=0.8",
  "scene=four-bar t=0.1",
  "scene=free-body t=0.1",
  "scene=heavy-top t=0.1",
  "scene=spinning-puck t=0.1",
  "scene=oblique-impact",
  "scene=rolling-sphere t=0.1",
  "scene=at-limit",
  "scene=motor t=0.1",
  "scene=crush t=0.1",
  "scene=billiard t=0.3",
  "scene=spring",
  "scene=coulomb-oscillator t=0.3",
  "scene=group-merging t=0.4",
  "scene=cradle t=0.3",
  "scene=incline:theta=30deg,mu=0.3,azimuth=31deg,tilt=gravity,shape=point contact=box lcp=dantzig "
  "t=0.1",
  "scene=stack:boxes=3,overlap=1e-3 lcp=pgs:sweeps=3 t=0.1",
  "scene=slide.yaml t=0.1",
  "scene=gripper.yaml lcp=dantzig contact=box h=2e-3 t=0.1",
  "scene=arm:stiffness=100,torque=none t=0.1",
  NULL,
};
static const char *const *problems_of(perp_kind kind)
{
  return kind == PERP_KIND_lcp       ? of_kind_lcp
         : kind == PERP_KIND_kkt     ? of_kind_kkt
         : kind == PERP_KIND_ode     ? of_kind_ode
         : kind == PERP_KIND_stab    ? of_kind_stab
         : kind == PERP_KIND_contact ? of_kind_contact
                                     : of_kind_formulation;
}

/* ---- witnesses ---- */

enum { WITNESSES = 4000 };
/* "-": no option beside */
typedef struct witness {
  char kind[16], option[96], beside[96], value[48], problem[256];
  bool used;
} witness;
static witness witnesses[WITNESSES];
static int n_witnesses;

static void read_witnesses(void)
{
  char path[4096], line[1024];
  snprintf(path, sizeof path, "%s/tests/agree/options.txt", source());
  FILE *f = fopen(path, "r");
  if (f == NULL) bail("cannot read %s", path);
  while (fgets(line, sizeof line, f) != NULL) {
    witness *w = &witnesses[n_witnesses];
    if (line[0] == '#' || line[0] == '\n') continue;
    if (n_witnesses == WITNESSES || sscanf(line, "%15s %95s %95s %47s %255[^\n]", w->kind,
                                           w->option, w->beside, w->value, w->problem) != 5)
      bail("%s: not a witness: %s", path, line);
    n_witnesses++;
  }
  fclose(f);
}

static witness *witness_of(perp_kind kind, const char *option)
{
  for (int i = 0; i < n_witnesses; i++)
    if (strcmp(witnesses[i].option, option) == 0 &&
        strcmp(witnesses[i].kind, perp_kind_name(kind)) == 0)
      return &witnesses[i];
  return NULL;
}

/* The result without the option; those of one method are computed once. */
static uint64_t base_of(perp_kind kind, const char *method, const char *text)
{
  enum { KEPT = 256 };
  static struct {
    char method[256], text[256];
    uint64_t h;
  } kept[KEPT];
  static int n, next;
  for (int i = 0; i < n; i++)
    if (strcmp(kept[i].method, method) == 0 && strcmp(kept[i].text, text) == 0) return kept[i].h;
  const int at = next++ % KEPT;
  if (n < KEPT) n++;
  kept[at].h = probe(kind, method, text);
  snprintf(kept[at].method, sizeof kept[at].method, "%s", method);
  snprintf(kept[at].text, sizeof kept[at].text, "%s", text);
  return kept[at].h;
}

static bool differs(perp_kind kind, const char *method, const char *key, const witness *w)
{
  char base[256], with[256];
  const bool alone = strcmp(w->beside, "-") == 0;
  snprintf(base, sizeof base, "%s%s%s", method, alone ? "" : ":", alone ? "" : w->beside);
  snprintf(with, sizeof with, "%s:%s=%s%s%s", method, key, w->value, alone ? "" : ",",
           alone ? "" : w->beside);
  const uint64_t without = base_of(kind, base, w->problem);
  if (without == 0) return false;
  const uint64_t h = probe(kind, with, w->problem);
  return h != 0 && h != without;
}

/* ---- search ---- */

/* Value k of an option: those of golden_option, then some far from the default. */
static bool value_of(const perp_opt *o, int k, char *value, size_t size)
{
  int n = 0;
  while (golden_option(o, n, value, size)) n++;
  if (k < n) return golden_option(o, k, value, size);
  if (o->type != PERP_OPT_INT && o->type != PERP_OPT_REAL) return false;
  const double far[] = {
    o->dflt * 1e3, o->dflt * 1e-3, 1, 30, 1e3, 0, 2, 5, 0.05, 1e-4, 1e-9, 1e6
  };
  for (size_t i = 0, at = (size_t)n; i < sizeof far / sizeof *far; i++) {
    const double x = o->type == PERP_OPT_INT ? floor(far[i]) : far[i];
    if (!isfinite(x) || x < o->min || x > o->max || x == o->dflt) continue;
    if (at++ < (size_t)k) continue;
    snprintf(value, size, "%.12g", x);
    return true;
  }
  return false;
}

/* The first problem on which two values differ beside w->beside, into w, until the thread has used
 * `end` s. */
static bool find_beside(perp_kind kind, const perp_desc *d, const perp_opt *o, double end,
                        witness *w)
{
  const bool alone = strcmp(w->beside, "-") == 0;
  for (const char *const *text = problems_of(kind); *text != NULL; text++) {
    snprintf(w->problem, sizeof w->problem, "%s", *text);
    /* beside another option near values are enough: those pairs are many */
    for (int i = 0; alone ? value_of(o, i, w->value, sizeof w->value)
                          : golden_option(o, i, w->value, sizeof w->value);
         i++) {
      if (perp_clock_thread() > end) return false;
      if (differs(kind, d->name, o->key, w)) return true;
    }
  }
  return false;
}

static bool find(perp_kind kind, const perp_desc *d, const perp_opt *o, double seconds, witness *w)
{
  char value[32];
  const double end = perp_clock_thread() + seconds;
  patience = 0.2;
  snprintf(w->kind, sizeof w->kind, "%s", perp_kind_name(kind));
  snprintf(w->option, sizeof w->option, "%s:%s", d->name, o->key);
  snprintf(w->beside, sizeof w->beside, "-");
  bool found = find_beside(kind, d, o, end, w);
  for (const perp_opt *p = d->opts; !found && p->type != PERP_OPT_END; p++)
    for (int i = 0; p != o && !found && value_of(p, i, value, sizeof value); i++) {
      if (p->type == PERP_OPT_TEXT || perp_clock_thread() > end) continue;
      snprintf(w->beside, sizeof w->beside, "%s=%s", p->key, value);
      found = find_beside(kind, d, o, end, w);
    }
  patience = 10;
  return found;
}

/* ---- the test ---- */

static double search_seconds; /* > 0: print witnesses */
static double left = 20;      /* s, for all searches of the test */

static void look(perp_kind kind, const perp_desc *d, const perp_opt *o)
{
  char name[128];
  snprintf(name, sizeof name, "%s:%s", d->name, o->key);
  const char *why = NULL;
  for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
    if (strcmp(exceptions[i].option, name) == 0) why = exceptions[i].why;
  witness *w = witness_of(kind, name), found;
  if (w != NULL) w->used = true;
  const bool good = w != NULL && differs(kind, d->name, o->key, w);
  if (search_seconds > 0) {
    if (good || (why == NULL && find(kind, d, o, search_seconds, &found))) {
      if (!good) w = &found;
      printf("%s %s %s %s %s\n", w->kind, w->option, w->beside, w->value, w->problem);
    } else {
      printf("# %s %s: %s\n", perp_kind_name(kind), name, why != NULL ? why : "none found");
    }
    fflush(stdout);
    return;
  }
  if (why != NULL) {
    ok(w == NULL, "%s has no effect here, as said: %s", name, why);
    return;
  }
  if (good) {
    ok(true, "%s has an effect", name);
    return;
  }
  const double start = perp_clock_thread();
  const bool other = find(kind, d, o, fmin(3, left), &found);
  left -= perp_clock_thread() - start;
  ok(w == NULL && other, "%s has an effect%s", name,
     w != NULL ? ", but not that of its line in options.txt" : "");
  if (other)
    tap_note("for options.txt: %s %s %s %s %s", found.kind, found.option, found.beside, found.value,
             found.problem);
}

/* Results do not depend on the number of threads, and names of other methods and files have their
 * own tests. */
static bool of_others(const perp_opt *o)
{
  return strcmp(o->key, "threads") == 0 || o->type == PERP_OPT_TEXT;
}

int main(int argc, char **argv)
{
  static const perp_kind kinds[] = { PERP_KIND_lcp,  PERP_KIND_kkt,     PERP_KIND_ode,
                                     PERP_KIND_stab, PERP_KIND_contact, PERP_KIND_formulation };
  const perp_desc *d;
  const char *only[2] = { NULL, NULL };
  if (argc > 2 && strcmp(argv[1], "find") == 0) {
    search_seconds = strtod(argv[2], NULL);
    for (int i = 3; i < argc && i < 5; i++) only[i - 3] = argv[i];
  }
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  read_witnesses();
  for (int kind = 0; kind < 6; kind++)
    for (int i = 0; (d = perp_plugin_at(&ctx, kinds[kind], i)) != NULL; i++) {
      if (strchr(d->name, ':') != NULL) continue; /* third-party: their options are theirs */
      if (only[0] != NULL && strcmp(only[0], d->name) != 0 &&
          strcmp(only[0], perp_kind_name(kinds[kind])) != 0)
        continue;
      for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
        if (!of_others(o) && (only[1] == NULL || strcmp(only[1], o->key) == 0))
          look(kinds[kind], d, o);
    }
  if (search_seconds > 0) return 0;
  for (int i = 0; i < n_witnesses; i++)
    if (!witnesses[i].used)
      ok(false, "options.txt: there is no option %s of a %s", witnesses[i].option,
         witnesses[i].kind);
  return tap_done();
}
