/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/study/words.h"

#include "experiments/base/numbers.h"
#include "experiments/expr/expr.h"

#include <string.h>

static const struct {
  const char *name, *words;
} words[] = {
  { "h", "step size h" },
  { "scene", "scene" },
  { "formulation", "formulation" },
  { "ode", "integrator" },
  { "kkt", "KKT solver" },
  { "stab", "stabilization" },
  { "contact", "contact law" },
  { "lcp", "complementarity solver" },
  { "engine", "engine" },
  { "problem", "problem" },
  { "problem.family", "problem family" },
  { "scene.name", "kind of scene" },
  { "tol", "tolerance" },
  { "t_end", "end of the run" },
  { "perturb", "perturbation of the start" },
  { "t", "time t" },
  { "energy", "energy" },
  { "drift.pos", "constraint error [m or rad]" },
  { "err.q", "relative error of the coordinates" },
  { "err.v", "relative error of the velocities" },
  { "err.tip", "error of the tip" },
  { "iteration", "iteration" },
  { "drift.pos.max", "largest constraint error" },
  { "drift.pos.pre", "largest constraint error before the post-step" },
  { "drift.pos.mean", "mean constraint error" },
  { "drift.vel.max", "largest velocity error of the constraints" },
  { "joint.force.max", "largest force of a joint" },
  { "joint.force.min", "smallest force of a joint" },
  { "rigidity.length.max", "largest multiplier of a length" },
  { "rigidity.angle.max", "largest multiplier of an angle" },
  { "drift.acc.max", "largest acceleration error of the constraints" },
  { "err.q.max", "largest relative error of the coordinates" },
  { "err.v.max", "largest relative error of the velocities" },
  { "err.tip.max", "largest error of the tip" },
  { "err.place.max", "largest error of a position" },
  { "err.turn.max", "largest error of an orientation" },
  { "err.tip.end", "error of the tip at the end" },
  { "err.until", "compared with the reference until" },
  { "err.compared", "comparisons with the reference" },
  { "lambda.err.max", "largest relative error of the constraint forces" },
  { "lambda.compared", "comparisons of the constraint forces" },
  { "truth.err", "error against the exact solution" },
  { "accel.rel.err", "relative error of the acceleration" },
  { "speed.rel.err", "relative error of the speed" },
  { "impact.rel.err", "relative error after the impact" },
  { "impact.together.err", "relative error against simultaneous impacts" },
  { "path.err.max", "largest error of the path" },
  { "event.err", "largest error of the times of events" },
  { "apex.rel.err", "largest relative error of the height of a bounce" },
  { "apex.rel.gain", "largest relative excess of the height of a bounce" },
  { "apex.rel.loss", "largest relative lack of the height of a bounce" },
  { "force.rel.err", "relative error of the contact forces" },
  { "pose.drift.max", "largest displacement at rest" },
  { "creep.vel.max", "largest speed at rest" },
  { "verdict.err", "wrong prediction of stability (0 or 1)" },
  { "statics.err.max", "largest distance from static equilibrium" },
  { "period.rel.err", "relative error of the period" },
  { "symmetry.err.max", "largest asymmetry" },
  { "invariant.rel.max", "largest relative change of the invariant" },
  { "pen.max", "deepest penetration" },
  { "contact.err.max", "largest contact error" },
  { "lift.max", "largest gap of active contacts" },
  { "signorini.max", "largest normal speed of active contacts" },
  { "dissipation.missing", "missing dissipation of friction" },
  { "energy.gain.rel", "largest relative gain of energy" },
  { "energy.rel.max", "largest relative error of the energy" },
  { "momentum.lin.max", "largest relative error of the momentum" },
  { "momentum.ang.max", "largest relative error of the angular momentum" },
  { "steps", "accepted steps" },
  { "steps.rejected", "rejected steps" },
  { "rhs.calls", "evaluations of the right-hand side" },
  { "rhs.bodies", "evaluations of the right-hand side per body" },
  { "iterations", "iterations" },
  { "factorizations", "factorizations" },
  { "matvecs", "products with the matrix" },
  { "kkt.factorizations", "factorizations of the KKT system" },
  { "kkt.work", "work of the KKT solver [multiplications]" },
  { "lcp.iters.mean", "iterations of the contact solver per step" },
  { "lcp.solves.mean", "contact problems per step" },
  { "lcp.solved", "share of contact problems solved" },
  { "lcp.failures", "unsolved contact problems" },
  { "lcp.thrown", "contact problems with rejected impulses" },
  { "lcp.swept", "contact problems above the tolerance after the fixed number of sweeps" },
  { "lcp.residual.max", "largest residual of a contact problem" },
  { "lcp.data.max", "largest contact residual in units of the data" },
  { "lcp.work", "work of the contact solver [multiplications]" },
  { "lcp.work.p99", "work of a step, 99th percentile [multiplications]" },
  { "lcp.work.max", "work of the most expensive step [multiplications]" },
  { "contact.nonunique.impulses", "steps with contact impulses that are not unique" },
  { "contact.nonunique.motion", "steps whose motion depends on the choice of impulses" },
  { "contact.nonunique.chosen", "steps with impulses of the option choice" },
  { "contact.nonunique.undecided", "steps in which the search for a second solution failed" },
  { "contact.nonunique.large", "steps with islands too large for a second solution" },
  { "lcp.rows.max", "largest number of rows of a contact problem" },
  { "contacts.max", "largest number of contacts" },
  { "islands.max", "largest number of contact islands" },
  { "events.impacts", "impacts" },
  { "events.switches", "changes between sticking, sliding and separation" },
  { "events.piled", "first-order steps over accumulating events" },
  { "events.critical", "states in which no contact forces exist" },
  { "events.stopped", "states in which the bodies were stopped" },
  { "events.passed", "events crossed with the shortest step" },
  { "events.bisections", "trial steps to locate events" },
  { "groups.max", "largest number of simulation groups" },
  { "groups.merges", "simulation groups merged" },
  { "groups.splits", "simulation groups split" },
  { "groups.undone", "advances of groups rolled back" },
  { "groups.skipped", "share of advances of groups skipped" },
  { "amplification", "amplification of a perturbed start" },
  { "constraints.work", "relative work of constraint forces" },
  { "constraints.redundant", "largest number of redundant constraint rows" },
  { "constraints.angle.min", "smallest angle between constraint rows" },
  { "coulomb.violation", "largest deviation from Coulomb's law" },
  { "coulomb.beyond", "largest friction beyond the cone" },
  { "coulomb.missing", "largest lack of friction while sliding" },
  { "coulomb.angle", "largest angle of friction to the slip" },
  { "h.least", "smallest step" },
  { "h.most", "largest step" },
  { "h.stable", "largest stable step" },
  { "time.step_us", "mean CPU time of a step" },
  { "time.step_us.median", "median CPU time of a step" },
  { "steps.reused", "share of steps that reuse contact impulses" },
  { "time.step_us.p99", "CPU time of a step, 99th percentile" },
  { "time.step_us.max", "CPU time of the slowest step" },
  { "time.step_us.spread", "spread of the CPU time of steps" },
  { "time.contact.rel", "time of collision detection / time of solving" },
  { "time.restart.rel", "time of restarts / time of integration" },
  { "time.cpu", "CPU time" },
  { "time.collision_us", "time of collision detection in a step" },
  { "time.assembly_us", "time of assembly in a step" },
  { "time.kkt_us", "time of the KKT solver in a step" },
  { "time.lcp_us", "time of the contact solver in a step" },
  { "time.integrate_us", "time of the integration in a step" },
  { "rel", "relative residual" },
  { "data", "residual in units of the data" },
  { "abs", "largest entry of the natural map" },
  { "componentwise", "largest residual relative to its row" },
  { "rows", "number of rows n" },
  { "merit.siconos", "merit of Siconos" },
  { "merit.fclib", "merit of fclib" },
  { "merit.abh", "merit of Acary, Bremond and Huber" },
  { "fallbacks", "calls of a fallback method" },
  { "work.counted", "work [multiplications]" },
  { "work.products", "work [products with A]" },
};

const char *perp_words(const char *name)
{
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].name, name) == 0) return words[i].words;
  return name;
}

const char *perp_words_ranked(const char *name)
{
  static const char *const size[] = { "largest ", "deepest " };
  const char *text = perp_words(name);
  for (int i = 0; i < 2; i++)
    if (strncmp(text, size[i], strlen(size[i])) == 0) return text + strlen(size[i]);
  return text;
}

/* Choices of parameters; the others are named as they are written, with blanks for hyphens. */
static const struct {
  const char *key, *name, *words;
} choices[] = {
  { "ode", "euler", "explicit Euler" },
  { "ode", "symplectic-euler", "symplectic Euler" },
  { "ode", "midpoint", "explicit midpoint" },
  { "ode", "heun", "Heun" },
  { "ode", "rk4", "RK4" },
  { "ode", "cash-karp", "Cash–Karp" },
  { "ode", "dopri5", "Dormand–Prince 5" },
  { "ode", "lie-newmark", "Newmark's method" },
  { "ode", "rkmk4", "Munthe-Kaas RK4" },
  { "ode", "crouch-grossman", "Crouch–Grossman 4" },
  { "ode", "commutator-free", "the commutator-free method" },
  { "ode", "dop853", "Dormand–Prince 8" },
  { "ode", "verlet", "Verlet" },
  { "ode", "rodas4", "RODAS" },
  { "ode", "radau5", "Radau IIA" },
  { "ode", "gsl:rk2", "RK2 (GSL)" },
  { "ode", "gsl:rk4", "RK4 (GSL)" },
  { "ode", "gsl:rk1imp", "implicit Euler (GSL)" },
  { "ode", "gsl:rk2imp", "implicit midpoint (GSL)" },
  { "ode", "gsl:rk4imp", "Gauss of order 4 (GSL)" },
  { "ode", "sundials:arkode", "ARKODE (SUNDIALS)" },
  { "ode", "gsl:rkf45", "Runge–Kutta–Fehlberg 5 (GSL)" },
  { "ode", "gsl:rkck", "Cash–Karp (GSL)" },
  { "ode", "gsl:rk8pd", "Prince–Dormand 8 (GSL)" },
  { "ode", "gsl:bsimp", "Bulirsch–Stoer (GSL)" },
  { "ode", "gsl:msadams", "Adams (GSL)" },
  { "ode", "gsl:msbdf", "BDF (GSL)" },
  { "ode", "sundials:cvode-adams", "Adams (CVODE)" },
  { "ode", "sundials:cvode-bdf", "BDF (CVODE)" },
  { "stab", "none", "no stabilization" },
  { "stab", "baumgarte", "Baumgarte" },
  { "stab", "post", "post-stabilization" },
  { "stab", "split", "split impulses" },
  { "stab", "gradient-flow", "gradient flow" },
  { "formulation", "acceleration", "acceleration level" },
  { "formulation", "velocity", "velocity level" },
  { "formulation", "velocity-midpoint", "velocity level, midpoint" },
  { "formulation", "reduced", "minimal coordinates" },
  { "formulation", "penalty", "penalty forces" },
  { "formulation", "ggl", "GGL" },
  { "formulation", "generalized-alpha", "generalized α" },
  { "formulation", "hht", "HHT-I3" },
  { "formulation", "bdf", "BDF (index 3)" },
  { "formulation", "variational", "variational integrator" },
  { "formulation", "esdirk", "ESDIRK, projected" },
  { "formulation", "phem56", "half-explicit Runge-Kutta" },
  { "formulation", "augmented-lagrangian", "augmented Lagrangian" },
  { "formulation", "coordinate-partitioning", "coordinate partitioning" },
  { "formulation", "tangent-coordinates", "tangent coordinates" },
  { "formulation", "radau5", "Radau IIA (DAE)" },
  { "formulation", "sundials:ida", "IDA (SUNDIALS)" },
  { "formulation", "xpbd", "XPBD" },
  { "formulation", "avbd", "AVBD" },
  { "formulation", "ipc", "IPC" },
  { "formulation", "impulse", "impulses" },
  { "formulation", "point-mass", "point masses" },
  { "formulation", "groups", "simulation groups" },
  { "formulation", "velocity-nonlinear", "velocity level, implicit constraints" },
  { "formulation", "moreau-jean", "Moreau–Jean" },
  { "formulation", "nonsmooth-alpha", "nonsmooth generalized-α" },
  { "formulation", "tgs", "temporal Gauss–Seidel" },
  { "formulation", "velocity-implicit", "velocity level, linearly implicit" },
  { "formulation", "si-baumgarte", "sequential impulses, Baumgarte" },
  { "formulation", "si-split", "sequential impulses, split" },
  { "formulation", "si-ngs", "sequential impulses, NGS" },
  { "contact", "frictionless", "no friction" },
  { "contact", "convex", "convex relaxation" },
  { "contact", "elliptic", "elliptic cone" },
  { "contact", "box", "friction box" },
  { "contact", "polyhedral", "polyhedral cone" },
  { "contact", "cone", "Coulomb cone" },
  { "lcp", "dantzig", "Dantzig" },
  { "lcp", "bpp", "block principal pivoting" },
  { "lcp", "pdas", "primal-dual active sets" },
  { "lcp", "lemke", "Lemke" },
  { "lcp", "lemke-howson", "Lemke–Howson" },
  { "lcp", "keller", "Keller" },
  { "lcp", "murty", "Murty" },
  { "lcp", "enumerate", "enumeration" },
  { "lcp", "jacobi", "projected Jacobi" },
  { "lcp", "pgs", "projected Gauss–Seidel" },
  { "lcp", "psor", "projected SOR" },
  { "lcp", "block-gs", "block Gauss–Seidel" },
  { "lcp", "nncg", "NNCG" },
  { "lcp", "apgd", "APGD" },
  { "lcp", "fischer-newton", "Fischer–Newton" },
  { "lcp", "minmap-newton", "minimum-map Newton" },
  { "lcp", "prox", "proximal point" },
  { "lcp", "admm", "ADMM" },
  { "lcp", "aclm", "ACLM" },
  { "lcp", "cone-newton", "cone Newton" },
  { "engine", "ode", "ODE" },
  { "engine", "bullet", "Bullet" },
  { "engine", "dart", "DART" },
  { "engine", "mujoco", "MuJoCo" },
  { "engine", "simbody", "Simbody" },
  { "engine", "box2d", "Box2D" },
  { "engine", "chipmunk", "Chipmunk" },
  { "kkt", "schur-dense", "dense Schur complement" },
  { "kkt", "schur-band", "banded Schur complement" },
  { "kkt", "schur-sparse", "sparse Schur complement" },
  { "kkt", "kkt-dense", "dense KKT matrix" },
  { "kkt", "kkt-sparse", "sparse KKT matrix" },
  { "kkt", "tree", "elimination along the tree" },
};

/* The name of a plug-in ends before the colon of its options; there may be one in it. */
static size_t words_name(const char *text)
{
  const char *equal = strchr(text, '=');
  size_t n = equal == NULL ? strlen(text) : (size_t)(equal - text);
  if (equal == NULL) return n;
  while (n > 0 && text[n] != ':') n--;
  return n;
}

static void words_option(perp_text *out, const perp_desc *desc, const char *key, const char *value)
{
  static const char *const greek[][2] = { { "alpha", "α" }, { "beta", "β" },  { "gamma", "γ" },
                                          { "mu", "μ" },    { "omega", "ω" }, { "rho", "ρ" } };
  const perp_opt *opt = desc == NULL ? NULL : perp_option(desc, key);
  const bool number = strspn(value, "+-.0123456789e") == strlen(value);
  for (size_t i = 0; i < sizeof greek / sizeof *greek; i++)
    if (strcmp(key, greek[i][0]) == 0) key = greek[i][1];
  perp_text_add(out, strcmp(value, "false") == 0 ? ", no " : ", ");
  for (const char *at = key; *at != '\0'; at++) perp_text_add(out, "%c", *at == '_' ? ' ' : *at);
  if (number && strlen(value) > 8) /* 0.3490658503988659: people need no more */
    perp_text_add(out, " = %.6g", perp_real_of(value));
  else if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
    perp_text_add(out, " = %s", value);
  if (!number || opt == NULL || opt->unit[0] == '\0') return;
  perp_text_add(out, " ");
  for (const char *at = opt->unit; *at != '\0'; at++) {
    const bool square = strncmp(at, "^2", 2) == 0;
    perp_text_add(out, "%.*s", square ? 2 : 1, square ? "²" : at);
    at += square;
  }
}

const char *perp_words_choice(const perp_ctx *ctx, perp_pool *pool, const char *key, bool plugin,
                              perp_kind kind, const char *text)
{
  static const char mark[] = " (tol)"; /* of names without their tolerance */
  const size_t length = strlen(text), tail = sizeof mark - 1;
  const bool adaptive = length > tail && strcmp(text + length - tail, mark) == 0;
  if (adaptive) text = perp_pool_strndup(pool, text, length - tail);
  const size_t n = words_name(text);
  char *name = perp_pool_strndup(pool, text, n), *rest = perp_pool_strdup(pool, text + n),
       *state = NULL;
  const perp_desc *desc = plugin ? perp_find(ctx, kind, name) : NULL;
  const char *said = NULL;
  perp_text out = { 0 };
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
    if (strcmp(choices[i].key, key) == 0 && strcmp(choices[i].name, name) == 0)
      said = choices[i].words;
  if (said == NULL && desc != NULL)
    for (char *at = name; *at != '\0'; at++)
      if (*at == '-') *at = ' ';
  perp_text_add(&out, "%s", said != NULL ? said : name);
  for (char *at = strtok_r(rest, ":,", &state); at != NULL; at = strtok_r(NULL, ":,", &state)) {
    char *value = strchr(at, '=');
    if (value == NULL) {
      perp_text_add(&out, ", %s", at);
      continue;
    }
    *value++ = '\0';
    words_option(&out, desc, at, value);
  }
  if (adaptive) perp_text_add(&out, ", error control");
  const char *in_words = perp_pool_strdup(pool, out.s != NULL ? out.s : "");
  perp_text_free(&out);
  return in_words;
}
