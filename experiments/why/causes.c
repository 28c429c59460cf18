/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The causes: each a test on what was measured, a sentence with the figures, and options that may
 * fix it.  No test looks at the name of a scene. */
#include "experiments/why/why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double NEAR = 0.02,       /* sine of a row to the others: a singular position */
    GROWS = 0.3,                       /* ln of what the step adds to the growth over the run */
    LEAST = 1e-3,                      /* and in a step: less is rounding of double eigenvalues */
    FAST = 2, OFF = 0.05, SLOW = 0.05, /* h times the fastest rate: explicit steps feel it */
    RATIO = 30,                        /* fastest over slowest rate: stiff */
    MASSES = 1e3, CONDITION = 1e3;     /* ratio of masses; what scaling gains in the condition */

/* ---- helpers ---- */

static void causes_add(perp_names *options, perp_pool *pool, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void causes_add(perp_names *options, perp_pool *pool, const char *fmt, ...)
{
  perp_text text = { 0 };
  va_list ap;
  va_start(ap, fmt);
  perp_text_vadd(&text, fmt, ap);
  va_end(ap);
  perp_names_index(pool, options, perp_pool_strdup(pool, text.s), -1);
  perp_text_free(&text);
}

static bool causes_is(const char *spec, const char *name)
{
  const size_t n = strlen(name);
  return strncmp(spec, name, n) == 0 && (spec[n] == '\0' || spec[n] == ':');
}

static bool causes_figure(const perp_why_evidence *evidence, const char *name)
{
  for (int figure = 0; figure < evidence->n_figures; figure++)
    if (strcmp(evidence->figure[figure].name, name) == 0)
      return evidence->figure[figure].value > evidence->figure[figure].limit;
  return false;
}

static bool causes_stopped(const perp_why_evidence *evidence)
{
  return evidence->reason < 0 || evidence->cut != PERP_CUT_NONE;
}

/* "a, b and 3 more" */
static void causes_places(const perp_why_places *places, perp_text *out)
{
  for (int i = 0; i < places->n; i++)
    perp_text_add(out, "%s%s",
                  i == 0                                    ? ""
                  : i == places->n - 1 && places->more == 0 ? " and "
                                                            : ", ",
                  places->at[i]);
  if (places->more > 0) perp_text_add(out, " and %d more", places->more);
}

/* The spec of part i with one option changed: its value times factor, set to `text`, or where
 * factor is 0 to its default.  False: it has no such option, or refuses the value, or has it. */
static bool causes_option(perp_ctx *ctx, const perp_why_evidence *evidence, int part,
                          const char *key, double factor, const char *text, char out[PERP_SPEC_MAX])
{
  perp_spec spec;
  bool found = false;
  if (evidence->part[part][0] == '\0' ||
      perp_spec_parse(ctx, perp_part_kind(part), evidence->part[part], &spec) != PERP_OK)
    return false;
  char value[64];
  for (const perp_opt *option = spec.d->opts; option != NULL && option->key != NULL; option++) {
    if (strcmp(option->key, key) != 0) continue;
    snprintf(value, sizeof value, "%s", text != NULL ? text : "");
    if (text == NULL) {
      perp_opt_format(option, spec.opts, value, sizeof value);
      const double old = atof(value);
      if (!(old > 0)) continue;
      const double next = factor > 0 ? fmin(old * factor, option->max) : option->dflt;
      if (factor == 0 && next > 0 && next < old) continue; /* a limit is to be raised */
      if (option->type == PERP_OPT_INT)
        snprintf(value, sizeof value, "%.0f", round(next));
      else
        snprintf(value, sizeof value, "%.6g", next);
    }
    found = perp_opts_set(ctx, spec.d, spec.opts, key, value) == PERP_OK;
  }
  found = found && perp_spec_format(&spec, out, PERP_SPEC_MAX) < PERP_SPEC_MAX &&
          strcmp(out, evidence->part[part]) != 0 && strchr(out, ' ') == NULL;
  perp_spec_free(&spec);
  return found;
}

static bool causes_default(perp_ctx *ctx, const perp_why_evidence *evidence, int part,
                           const char *key, char out[PERP_SPEC_MAX])
{
  return causes_option(ctx, evidence, part, key, 0, NULL, out);
}

static void causes_changed(perp_ctx *ctx, const perp_why_evidence *evidence, int part,
                           const char *key, double factor, const char *value, perp_names *options,
                           perp_pool *pool)
{
  char text[PERP_SPEC_MAX];
  if (causes_option(ctx, evidence, part, key, factor, value, text))
    causes_add(options, pool, "--%s %s", perp_part_name(part), text);
}

/* --PART NAME, unless that is what the run has; what is not installed is left out. */
static void causes_part(perp_ctx *ctx, const perp_why_evidence *evidence, int part,
                        const char *spec, perp_names *options, perp_pool *pool)
{
  perp_spec parsed;
  if (strcmp(evidence->part[part], spec) == 0) return;
  if (perp_spec_parse(ctx, perp_part_kind(part), spec, &parsed) != PERP_OK) return;
  perp_spec_free(&parsed);
  causes_add(options, pool, "--%s %s", perp_part_name(part), spec);
}

static void causes_steps(const perp_why_evidence *evidence, const double *factor, int n,
                         perp_names *options, perp_pool *pool)
{
  for (int i = 0; i < n; i++) causes_add(options, pool, "--h %.3g", evidence->h * factor[i]);
}

/* The step grows more than the motion, and by a factor over the run. */
static bool causes_unstable(const perp_why_evidence *evidence)
{
  const double more = evidence->linear.excess;
  /* Slow growth of a violation of the joints is drift. */
  if (evidence->part[PERP_PART_STAB][0] != '\0' && evidence->linear.off > OFF &&
      evidence->linear.growth < SLOW)
    return false;
  return evidence->linear.known && more > LEAST && more * evidence->t_end / evidence->h > GROWS;
}

/* States behind a step that is far too long say nothing about the model. */
static bool causes_burst(const perp_why_evidence *evidence)
{
  return (evidence->reason == PERP_DIVERGED || evidence->reason == PERP_NOT_FINITE) &&
         (causes_unstable(evidence) || (evidence->linear.rates && !evidence->adaptive &&
                                        evidence->h * evidence->linear.fast > FAST));
}

/* ---- singular Jacobian ---- */

static bool singular_holds(const perp_why_subject *subject, const perp_why_evidence *evidence,
                           perp_text *says)
{
  if (subject->problem != NULL) {
    if (!(evidence->contact.rank > 0 && evidence->contact.rank < evidence->lcp.n) ||
        evidence->lcp.proved || evidence->reason == PERP_MAX_ITER)
      return false;
    perp_text_add(says, "A has rank %d with %d rows; dependent are ", evidence->contact.rank,
                  evidence->lcp.n);
    causes_places(&evidence->jacobian.rows, says);
    perp_text_add(says, ".");
    return true;
  }
  if (evidence->jacobian.states == 0) return false;
  if (causes_burst(evidence)) return false;
  const bool near = evidence->jacobian.sine_fail < NEAR,
             changes = evidence->jacobian.least < evidence->jacobian.most &&
                       !isnan(evidence->jacobian.sine_fail),
             always = evidence->jacobian.most < evidence->jacobian.m && evidence->reason < 0 &&
                      (evidence->reason == PERP_SINGULAR || evidence->reason == PERP_INFEASIBLE ||
                       evidence->reason == PERP_NOT_FINITE);
  if (!near && !changes && !always) return false;
  const double when = causes_stopped(evidence) ? evidence->t : evidence->t_bad;
  if (near || changes)
    perp_text_add(says,
                  "The Jacobian is singular near the failure: the least angle between a row and "
                  "the others is %.2g rad in the states before t = %.4g s. ",
                  asin(fmin(1, evidence->jacobian.sine_fail)), when);
  if (evidence->jacobian.least < evidence->jacobian.m)
    perp_text_add(says, "Its rank is %d of %d rows at t = %.4g s (%d elsewhere). ",
                  evidence->jacobian.least, evidence->jacobian.m, evidence->jacobian.t_least,
                  evidence->jacobian.most);
  perp_text_add(says, "Dependent rows: ");
  causes_places(&evidence->jacobian.rows, says);
  perp_text_add(says, ".");
  return true;
}

static void singular_fixes(perp_ctx *ctx, const perp_why_subject *subject,
                           const perp_why_evidence *evidence, perp_names *options, perp_pool *pool)
{
  static const char *const solvers[] = { "auto", "lemke", "dantzig", "bpp", "interior-point" };
  static const double steps[] = { 0.5, 0.25, 0.1 };
  if (subject->problem != NULL) {
    for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++)
      causes_part(ctx, evidence, PERP_PART_LCP, solvers[i], options, pool);
    return;
  }
  causes_part(ctx, evidence, PERP_PART_KKT, "schur-svd", options, pool);
  causes_part(ctx, evidence, PERP_PART_KKT, "tree", options, pool);
  causes_part(ctx, evidence, PERP_PART_STAB, "post:velocity=true", options, pool);
  causes_steps(evidence, steps, 3, options, pool);
  causes_add(options, pool, "--formulation acceleration --ode rk4 --stab post:velocity=true");
  causes_part(ctx, evidence, PERP_PART_FORMULATION, "ggl", options, pool);
  causes_part(ctx, evidence, PERP_PART_FORMULATION, "generalized-alpha", options, pool);
  causes_part(ctx, evidence, PERP_PART_FORMULATION, "velocity", options, pool);
}

/* ---- contacts without a solution ---- */

static bool infeasible_holds(const perp_why_subject *subject, const perp_why_evidence *evidence,
                             perp_text *says)
{
  const int64_t shown = evidence->failed[-PERP_INFEASIBLE] + evidence->failed[-PERP_NONE_WITHIN];
  if (evidence->contact.infeasible + evidence->contact.within == 0 && shown == 0) return false;
  const char *what = subject->problem != NULL ? "The problem has no solution"
                                              : "Contact problems have no solution";
  perp_text_add(says, "%s", what);
  if (subject->problem == NULL)
    perp_text_add(says, " (%lld of %lld, the first at t = %.4g s)", (long long)evidence->failures,
                  (long long)evidence->problems, evidence->contact.t_first);
  perp_text_add(says, evidence->contact.infeasible > 0
                          ? ": a certificate, verified without rounding, shows it. "
                          : ": none is within the radius of a certificate. ");
  if (evidence->contact.pairs.n > 0) {
    perp_text_add(says, subject->problem != NULL ? "It combines " : "It combines the contacts of ");
    causes_places(&evidence->contact.pairs, says);
    perp_text_add(says, ".");
  }
  return true;
}

static void infeasible_fixes(perp_ctx *ctx, const perp_why_subject *subject,
                             const perp_why_evidence *evidence, perp_names *options,
                             perp_pool *pool)
{
  if (subject->problem != NULL) return; /* no option gives it a solution */
  causes_changed(ctx, evidence, PERP_PART_FORMULATION, "frequency", 0, "30", options, pool);
  causes_changed(ctx, evidence, PERP_PART_FORMULATION, "critical", 0, "stop", options, pool);
  causes_changed(ctx, evidence, PERP_PART_FORMULATION, "softness", 0, "0.001", options, pool);
  causes_add(options, pool, "--formulation velocity:frequency=30");
  causes_part(ctx, evidence, PERP_PART_FORMULATION, "regularized", options, pool);
  causes_changed(ctx, evidence, PERP_PART_STAB, "softness", 0, "0.1", options, pool);
  causes_part(ctx, evidence, PERP_PART_FORMULATION, "soft-constraints", options, pool);
  causes_part(ctx, evidence, PERP_PART_FORMULATION, "si-split", options, pool);
}

/* ---- stiffness, and a step beyond stability ---- */

static bool stiff_holds(const perp_why_subject *subject, const perp_why_evidence *evidence,
                        perp_text *says)
{
  if (subject->problem != NULL || !evidence->linear.rates) return false;
  const double slow = fmax(evidence->linear.slow, 1 / evidence->t_end),
               ratio = evidence->linear.fast / slow,
               h = evidence->adaptive && evidence->steps > 0 ? evidence->t / (double)evidence->steps
                                                             : evidence->h;
  if (ratio < RATIO || h * evidence->linear.fast < (evidence->adaptive ? 0.2 : 1) * FAST)
    return false;
  perp_text_add(says,
                "The equations are stiff: their fastest rate is %.3g rad/s, the slowest %.3g "
                "rad/s. The step times the fastest rate is %.3g.",
                evidence->linear.fast, slow, h * evidence->linear.fast);
  return true;
}

static void stiff_fixes(perp_ctx *ctx, const perp_why_subject *subject,
                        const perp_why_evidence *evidence, perp_names *options, perp_pool *pool)
{
  /* With fixed steps: the same step must do. */
  static const char *const implicit[] = { "radau5", "rodas4", "implicit-midpoint" };
  (void)subject;
  if (causes_is(evidence->part[PERP_PART_FORMULATION], "penalty")) {
    causes_changed(ctx, evidence, PERP_PART_FORMULATION, "stiffness", 0.01, NULL, options, pool);
    causes_add(options, pool, "--formulation velocity");
    causes_add(options, pool, "--formulation regularized");
  }
  causes_changed(ctx, evidence, PERP_PART_FORMULATION, "servo", 0, "implicit", options, pool);
  if (evidence->bodies) {
    causes_part(ctx, evidence, PERP_PART_FORMULATION, "radau5", options, pool);
    causes_part(ctx, evidence, PERP_PART_FORMULATION, "velocity-implicit", options, pool);
    causes_part(ctx, evidence, PERP_PART_FORMULATION, "generalized-alpha", options, pool);
    causes_add(options, pool, "--formulation acceleration --ode radau5");
  }
  for (size_t i = 0; i < sizeof implicit / sizeof *implicit; i++)
    causes_part(ctx, evidence, PERP_PART_ODE, implicit[i], options, pool);
  if (!evidence->adaptive) return;
  causes_part(ctx, evidence, PERP_PART_ODE, "gsl:msbdf", options, pool);
  if (evidence->bodies)
    causes_part(ctx, evidence, PERP_PART_FORMULATION, "sundials:ida", options, pool);
}

static bool unstable_holds(const perp_why_subject *subject, const perp_why_evidence *evidence,
                           perp_text *says)
{
  if (subject->problem != NULL) return false;
  if (!causes_unstable(evidence)) {
    if (!causes_burst(evidence)) return false;
    perp_text_add(says,
                  "The step is beyond stability: h = %.3g s times the fastest rate of the "
                  "equations, %.3g rad/s, is %.3g. Explicit methods are stable up to 2 or 3.",
                  evidence->h, evidence->linear.fast, evidence->h * evidence->linear.fast);
    return true;
  }
  perp_text_add(says,
                "The step is beyond stability: an eigenvalue of the linearized step of h = %.3g s "
                "has the size %.6g at t = %.3g s. The motion itself grows by %.6g in this time.",
                evidence->h, exp(evidence->linear.growth), evidence->linear.t,
                exp(evidence->linear.motion));
  return true;
}

static void unstable_fixes(perp_ctx *ctx, const perp_why_subject *subject,
                           const perp_why_evidence *evidence, perp_names *options, perp_pool *pool)
{
  static const double steps[] = { 0.5, 0.25, 0.1, 0.04, 0.01 };
  (void)subject;
  if (evidence->linear.rates && 1.5 / evidence->linear.fast < 0.9 * evidence->h)
    causes_add(options, pool, "--h %.2g", 1.5 / evidence->linear.fast);
  causes_changed(ctx, evidence, PERP_PART_STAB, "alpha", 0, "0", options, pool);
  causes_changed(ctx, evidence, PERP_PART_STAB, "beta", 0, "0", options, pool);
  causes_steps(evidence, steps, 5, options, pool);
  causes_part(ctx, evidence, PERP_PART_ODE, "symplectic-euler", options, pool);
  causes_part(ctx, evidence, PERP_PART_ODE, "rk4", options, pool);
  causes_part(ctx, evidence, PERP_PART_ODE, "dopri5:tol=1e-9", options, pool);
}

/* ---- drift ---- */

static bool drift_holds(const perp_why_subject *subject, const perp_why_evidence *evidence,
                        perp_text *says)
{
  if (subject->problem != NULL || !causes_figure(evidence, "drift.pos.max")) return false;
  if (causes_burst(evidence)) return false;
  double most = 0;
  for (int i = 0; i < PERP_WHY_QUARTERS; i++) most = fmax(most, evidence->drift[i]);
  perp_text_add(says,
                "The joints drift apart: the largest constraint error is %.3g m in the first "
                "quarter of the run and %.3g m at most (limit %.3g m, size %.3g m).",
                evidence->drift[0], most, evidence->drift_limit, evidence->size);
  if (evidence->part[PERP_PART_STAB][0] != '\0')
    perp_text_add(says, " The stabilization is %s.", evidence->part[PERP_PART_STAB]);
  return true;
}

static void drift_fixes(perp_ctx *ctx, const perp_why_subject *subject,
                        const perp_why_evidence *evidence, perp_names *options, perp_pool *pool)
{
  static const char *const stab[] = { "post", "post:velocity=true", "baumgarte", "split" };
  (void)subject;
  for (size_t i = 0; i < sizeof stab / sizeof *stab; i++)
    causes_part(ctx, evidence, PERP_PART_STAB, stab[i], options, pool);
  causes_changed(ctx, evidence, PERP_PART_FORMULATION, "stiffness", 100, NULL, options, pool);
  causes_changed(ctx, evidence, PERP_PART_FORMULATION, "compliance", 0.01, NULL, options, pool);
  causes_changed(ctx, evidence, PERP_PART_FORMULATION, "iterations", 10, NULL, options, pool);
  causes_part(ctx, evidence, PERP_PART_FORMULATION, "ggl", options, pool);
}

/* ---- budget ---- */

static bool budget_holds(const perp_why_subject *subject, const perp_why_evidence *evidence,
                         perp_text *says)
{
  (void)subject;
  if (evidence->cut == PERP_CUT_TIME) {
    if (!(subject->timeout > 0)) return false; /* that of an examination */
    perp_text_add(says, "The time limit of %.3g s ended the run at t = %.4g s of %.4g s",
                  subject->timeout, evidence->t, evidence->t_end);
    if (evidence->t > 0)
      perp_text_add(says, ": all of it takes about %.3g s",
                    subject->timeout * evidence->t_end / evidence->t);
    perp_text_add(says, ".");
    return true;
  }
  if (evidence->cut == PERP_CUT_MEMORY) {
    perp_text_add(says, "The memory limit of %.4g MB ended the run at t = %.4g s of %.4g s.",
                  subject->memory / 1e6, evidence->t, evidence->t_end);
    return true;
  }
  if (evidence->status == PERP_ERR_UNSUPPORTED && strstr(evidence->message, "memory") != NULL) {
    perp_text_add(says, "The problem needs more than the memory limit: %.300s.", evidence->message);
    return true;
  }
  const int64_t limit = evidence->failed[-PERP_MAX_ITER];
  if (evidence->contact.infeasible > 0) return false; /* no number of iterations helps */
  if (limit > 0) {
    perp_text_add(says, "%lld of %lld problems ended at the limit of iterations of %s.",
                  (long long)limit, (long long)evidence->problems, evidence->part[PERP_PART_LCP]);
    return true;
  }
  if (evidence->swept > 0) {
    perp_text_add(says,
                  "%lld of %lld problems ended after a fixed number of sweeps above the tolerance.",
                  (long long)evidence->swept, (long long)evidence->problems);
    return true;
  }
  if (evidence->reason == PERP_MAX_ITER) {
    perp_text_add(says, "An iteration reached its limit at t = %.4g s, and the run stopped.",
                  evidence->t);
    return true;
  }
  return false;
}

static void budget_fixes(perp_ctx *ctx, const perp_why_subject *subject,
                         const perp_why_evidence *evidence, perp_names *options, perp_pool *pool)
{
  static const struct {
    int part;
    const char *key;
  } keys[] = { { PERP_PART_LCP, "max_iter" },       { PERP_PART_LCP, "limit" },
               { PERP_PART_KKT, "max_iter" },       { PERP_PART_FORMULATION, "iterations" },
               { PERP_PART_FORMULATION, "budget" }, { PERP_PART_FORMULATION, "contact.budget" },
               { PERP_PART_LCP, "budget" },         { PERP_PART_STAB, "passes" } };
  static const double larger[] = { 2, 4 };
  if (evidence->cut == PERP_CUT_TIME) {
    const double all = evidence->t > 0 ? subject->timeout * evidence->t_end / evidence->t : 0;
    causes_part(ctx, evidence, PERP_PART_LCP, "auto", options, pool);
    causes_part(ctx, evidence, PERP_PART_KKT, "tree", options, pool);
    if (all == 0) {
      causes_add(options, pool, "--timeout %.3gs", 10 * subject->timeout);
      causes_add(options, pool, "--timeout %.3gs", 1000 * subject->timeout);
    }
    if (all > 0 && all < 60) causes_add(options, pool, "--timeout %.3gs", ceil(1.5 * all + 1));
    if (!evidence->adaptive) causes_steps(evidence, larger, 2, options, pool);
    if (evidence->bodies)
      causes_part(ctx, evidence, PERP_PART_FORMULATION, "reduced", options, pool);
    return;
  }
  if (subject->memory > 0 && (evidence->cut == PERP_CUT_MEMORY || evidence->status != PERP_OK)) {
    causes_part(ctx, evidence, PERP_PART_LCP, "pgs", options, pool);
    causes_part(ctx, evidence, PERP_PART_KKT, "tree", options, pool);
    for (double f = 2; f <= 64; f *= f < 4 ? 2 : 4)
      causes_add(options, pool, "--memory %.0f", subject->memory * f);
    return;
  }
  causes_changed(ctx, evidence, PERP_PART_LCP, "sweeps", 0, "0", options, pool);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    char text[PERP_SPEC_MAX];
    if (causes_default(ctx, evidence, keys[i].part, keys[i].key, text))
      causes_add(options, pool, "--%s %s", perp_part_name(keys[i].part), text);
  }
  for (double f = 10; f <= 1e4; f *= f < 100 ? 10 : 100) {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
      causes_changed(ctx, evidence, keys[i].part, keys[i].key, f, NULL, options, pool);
    causes_part(ctx, evidence, PERP_PART_LCP, "auto", options, pool);
  }
}

/* ---- scaling ---- */

static bool scaling_holds(const perp_why_subject *subject, const perp_why_evidence *evidence,
                          perp_text *says)
{
  const double joints = evidence->jacobian.scaled > 0
                            ? evidence->jacobian.condition / evidence->jacobian.scaled
                            : 0,
               contacts = evidence->contact.scaled > 0
                              ? evidence->contact.condition / evidence->contact.scaled
                              : 0;
  if (!(joints >= CONDITION) && !(contacts >= CONDITION) &&
      !(subject->problem == NULL && evidence->masses >= MASSES))
    return false;
  if (subject->problem == NULL)
    perp_text_add(says,
                  "The model is badly scaled: the heaviest body has %.3g times the mass of "
                  "the lightest.",
                  evidence->masses);
  else
    perp_text_add(says, "The problem is badly scaled.");
  if (contacts > 0)
    perp_text_add(says, " The condition number of A is %.2g, with its rows scaled %.2g.",
                  evidence->contact.condition, evidence->contact.scaled);
  if (joints > 0)
    perp_text_add(says, " That of the joints is %.2g, with rows scaled %.2g.",
                  evidence->jacobian.condition, evidence->jacobian.scaled);
  return true;
}

static void scaling_fixes(perp_ctx *ctx, const perp_why_subject *subject,
                          const perp_why_evidence *evidence, perp_names *options, perp_pool *pool)
{
  static const char *const lcp[] = { "dantzig", "auto", "bpp", "lemke" }, *const kkt[] = {
    "tree", "schur-dense", "kkt-dense", "schur-svd"
  };
  if (subject->problem != NULL && !subject->equilibrate) causes_add(options, pool, "--equilibrate");
  for (int i = 0; i < 4; i++) causes_part(ctx, evidence, PERP_PART_LCP, lcp[i], options, pool);
  for (int i = 0; i < 4 && subject->problem == NULL; i++)
    if (evidence->part[PERP_PART_KKT][0] != '\0')
      causes_part(ctx, evidence, PERP_PART_KKT, kkt[i], options, pool);
}

/* ---- a step that is stable, and too long ---- */

static bool coarse_holds(const perp_why_subject *subject, const perp_why_evidence *evidence,
                         perp_text *says)
{
  bool wrong = false;
  if (subject->problem != NULL || causes_stopped(evidence) || evidence->failures > 0 ||
      causes_unstable(evidence))
    return false;
  for (int figure = 0; figure < evidence->n_figures; figure++) {
    const char *name = evidence->figure[figure].name;
    wrong = wrong || (strcmp(name, "unsolved") != 0 && strcmp(name, "drift.pos.max") != 0 &&
                      evidence->figure[figure].value > evidence->figure[figure].limit);
  }
  if (!wrong) return false;
  perp_text_add(says, "The run reaches its end, and its error is that of %s %.3g%s.",
                evidence->adaptive ? "steps of about" : "the step, h =",
                evidence->adaptive && evidence->steps > 0 ? evidence->t / (double)evidence->steps
                                                          : evidence->h,
                " s");
  if (evidence->linear.known)
    perp_text_add(says, " The linearized step does not grow more than the motion.");
  return true;
}

static void coarse_fixes(perp_ctx *ctx, const perp_why_subject *subject,
                         const perp_why_evidence *evidence, perp_names *options, perp_pool *pool)
{
  static const double steps[] = { 0.5, 0.25, 0.1, 0.02 };
  (void)subject;
  if (evidence->adaptive) {
    causes_changed(ctx, evidence, PERP_PART_ODE, "tol", 1e-2, NULL, options, pool);
    causes_changed(ctx, evidence, PERP_PART_ODE, "tol", 1e-4, NULL, options, pool);
    causes_changed(ctx, evidence, PERP_PART_FORMULATION, "tol", 1e-2, NULL, options, pool);
    return;
  }
  causes_steps(evidence, steps, 4, options, pool);
  causes_part(ctx, evidence, PERP_PART_ODE, "rk4", options, pool);
  causes_part(ctx, evidence, PERP_PART_ODE, "dopri5:tol=1e-9", options, pool);
  if (evidence->bodies) causes_add(options, pool, "--formulation acceleration --ode rk4");
}

static const perp_why_cause_desc
    infeasible = { "infeasible-contacts", "Contacts that contradict each other", infeasible_holds,
                   infeasible_fixes },
    singular = { "singular-jacobian", "Singular Jacobian", singular_holds, singular_fixes },
    stiff = { "stiffness", "Stiff equations", stiff_holds, stiff_fixes },
    unstable = { "unstable-step", "Step beyond stability", unstable_holds, unstable_fixes },
    drift = { "drift", "Drift of the constraints", drift_holds, drift_fixes },
    scaling = { "bad-scaling", "Bad scaling", scaling_holds, scaling_fixes },
    budget = { "budget", "Budget used up", budget_holds, budget_fixes },
    coarse = { "coarse-step", "Step too long for the accuracy", coarse_holds, coarse_fixes };
const perp_why_cause_desc *const perp_why_causes[] = { &infeasible, &singular, &stiff,
                                                       &unstable,   &drift,    &scaling,
                                                       &budget,     &coarse,   NULL };
