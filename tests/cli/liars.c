/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The templates with one lie each: `perp test --plugin` must refuse every one of them.  A lie that
 * passes is a promise which nobody checks. */
#include "tests/cli/program.h"

enum { EDITS = 3 };
typedef struct lie {
  const char *kind, *what;
  const char *edit[EDITS][2]; /* text of the template, and what stands there instead */
  const char *says; /* part of a check that has to fail; NULL: the tests do not come to their end */
} lie;

#define LCP_LOOP     "for (stats->iterations = 0; stats->iterations < s->opt.max_iter;) {"
#define CONTACT_DONE "  perp_contact_count_solve(count, s->lcp.d->name, &stats);"
#define LCP_DONE     "      stats->reason = PERP_CONVERGED;\n"
#define FORCE_F      "f[6 * i + k] = -c[i] * o->stiffness * D[k];"
#define JOINT_C      "  C[0] = -o->length;\n"
#define CONTACT_MU   "s->mu[i] = k == 0 ? 0 : island->mu[c];"

static const lie lies[] = {
  /* LCP solvers */
  { "lcp",
    "friction bounds of 2, whatever the normal force",
    { { "perp_lcp_bounds(p, lambda, i, &lo, &hi);\n      double next",
        "perp_lcp_bounds(p, lambda, i, &lo, &hi);\n"
        "      if (p->fric_of != NULL && p->fric_of[i] >= 0) lo = -2, hi = 2;\n      double "
        "next" } },
    "have their known answers" },
  { "lcp",
    "bounds of friction rows are twice too wide",
    { { "perp_lcp_bounds(p, lambda, i, &lo, &hi);\n      double next",
        "perp_lcp_bounds(p, lambda, i, &lo, &hi);\n"
        "      if (p->fric_of != NULL && p->fric_of[i] >= 0) lo *= 2, hi *= 2;\n      double "
        "next" } },
    "have their known answers" },
  { "lcp",
    "cones that it does not know",
    { { "PERP_LCP_ITERATIVE |", "PERP_LCP_CONE | PERP_LCP_ITERATIVE |" } },
    "have their known answers" },
  { "lcp",
    "nonsymmetric matrices without a word of which",
    { { "PERP_LCP_ITERATIVE |", "PERP_LCP_NONSYMMETRIC | PERP_LCP_ITERATIVE |" } },
    "or says that it needs dominant rows" },
  { "lcp",
    "nonsymmetric matrices, of which it takes the transpose",
    { { "PERP_LCP_ITERATIVE |", "PERP_LCP_NONSYMMETRIC | PERP_LCP_ITERATIVE |" },
      { "w += p->A[i + (size_t)j * (size_t)p->lda]", "w += p->A[j + (size_t)i * (size_t)p->lda]" },
      { "an example\"", "an example; dominant rows\"" } },
    "have their known answers" },
  { "lcp",
    "pivoting, and it sweeps",
    { { "PERP_LCP_ITERATIVE |", "PERP_LCP_PIVOTING | PERP_LCP_ITERATIVE |" } },
    "ends with an exact basis" },
  { "lcp",
    "factored rows that it cannot read",
    { { "PERP_LCP_ITERATIVE |", "PERP_LCP_FACTORED | PERP_LCP_ITERATIVE |" } },
    NULL },
  { "lcp",
    "exhaustive, and it tries nothing",
    { { "PERP_LCP_ITERATIVE |", "PERP_LCP_EXHAUSTIVE | PERP_LCP_ITERATIVE |" } },
    "having tried everything" },
  { "lcp",
    "free rows are held at zero",
    { { "double next = clamp", "if (lo < -1e300) lo = 0;\n      double next = clamp" } },
    "known answers" },
  { "lcp",
    "upper bounds are forgotten",
    { { "double next = clamp", "if (p->fric_of == NULL || p->fric_of[i] < 0) hi = HUGE_VAL;\n      "
                               "double next = clamp" } },
    "known answers" },
  { "lcp",
    "a guess is thrown away",
    { { "  perp_lcp_scales(p,", "  for (int i = 0; i < p->n; i++) lambda[i] = 0;\n"
                                "  perp_lcp_scales(p," } },
    "profits from a good guess" },
  { "lcp",
    "solved, it says, after one sweep",
    { { "<= p->tol) {", "<= p->tol || stats->iterations > 0) {" } },
    "known answers" },
  { "lcp",
    "the end of a workspace is kept",
    { { "  free(s->w);\n", "" } },
    "gives back all memory" },
  { "lcp",
    "each solve allocates",
    { { "  (void)ctx;\n", "  (void)ctx;\n  void *volatile lost = malloc(100); free(lost);\n" } },
    "allocates nothing" },
  { "lcp",
    "prints",
    { { LCP_DONE, LCP_DONE "      if (p->n == 12) printf(\"solved\\n\");\n" } },
    "prints nothing" },
  { "lcp",
    "prints to stderr",
    { { "stats->reason = PERP_MAX_ITER;",
        "stats->reason = PERP_MAX_ITER;\n  fprintf(stderr, \"too many sweeps\\n\");" } },
    "prints nothing" },
  { "lcp",
    "counts backwards",
    { { LCP_DONE, LCP_DONE "      stats->iterations = -stats->iterations;\n" } },
    "its counts are counts" },
  { "lcp",
    "leaves a count unset",
    { { LCP_DONE, LCP_DONE "      stats->factorizations = (int)0xa5a5a5a5u;\n" } },
    "its counts are counts" },
  { "lcp",
    "a reason of its own",
    { { "stats->reason = PERP_MAX_ITER;", "stats->reason = (perp_reason)77;" } },
    "a reason that perp knows" },
  { "lcp", "no reason at all", { { LCP_DONE, "" } }, "a reason that perp knows" },
  { "lcp",
    "a status of its own",
    { { "  stats->reason = PERP_MAX_ITER;\n  return PERP_OK;",
        "  stats->reason = PERP_MAX_ITER;\n  return (perp_status)99;" } },
    NULL },
  { "lcp",
    "judges itself",
    { { LCP_DONE, LCP_DONE "      stats->residual = 1e-16;\n" } },
    "leaves the residual to the judge" },
  { "lcp",
    "writes behind lambda",
    { { LCP_DONE, LCP_DONE "      lambda[p->n] = 0;\n" } },
    "writes nothing beside lambda" },
  { "lcp",
    "changes b",
    { { LCP_DONE, LCP_DONE "      if (p->n > 1) ((double *)p->b)[0] *= 1 + 1e-15;\n" } },
    "only reads its problem" },
  { "lcp",
    "a certificate of NaN",
    { { "perp_no_certificate(p, certificate);",
        "for (int i = 0; certificate != NULL && i < p->n; i++) certificate[i] = (double)NAN;" } },
    "leaves the certificate filled" },
  { "lcp",
    "a certificate that is never filled",
    { { "perp_no_certificate(p, certificate);", "(void)certificate;" } },
    "leaves the certificate filled" },
  { "lcp", "says nothing about ties", { { "  .ties = ", "  // .ties = " } }, "says how it breaks" },
  { "lcp",
    "sweeps beyond its limit",
    { { LCP_LOOP, "for (stats->iterations = 0; stats->iterations < 3000;) {" } },
    "max_iter is honoured" },
  { "lcp",
    "remembers the solve before",
    { { "  struct ws *s = ws;\n  (void)ctx;\n",
        "  struct ws *s = ws;\n  (void)ctx;\n  s->opt.omega *= 0.999;\n" } },
    "two solves give identical bits" },

  /* ODE methods */
  { "ode", "order 2 that declares 6", { { ".order = 2,", ".order = 6," } }, "order 6 on the" },
  { "ode", "order 2 that declares 3", { { ".order = 2,", ".order = 3," } }, "order 3 on the" },
  { "ode",
    "weights of order 1",
    { { "(s->k1[i] + 3 * s->k2[i]) / 4", "(s->k1[i] + s->k2[i]) / 2" } },
    "order 2 on the" },
  { "ode",
    "order 2 that declares 1",
    { { ".order = 2,", ".order = 1," } },
    "is not less than it has" },
  { "ode",
    "the time of the second stage is that of the first",
    { { "t + 2 * h / 3, h, s->y", "t, h, s->y" } },
    "order 2 on the circle" },
  { "ode", "symplectic", { { ".caps = 0", ".caps = PERP_ODE_SYMPLECTIC" } }, "symplectic" },
  { "ode",
    "an error estimate that is never filled",
    { { ".caps = 0 },", ".caps = PERP_ODE_EMBEDDED },\n  .error_order = 1," } },
    "fills its error estimate" },
  { "ode",
    "an error estimate of another order",
    { { ".caps = 0 },", ".caps = PERP_ODE_EMBEDDED },\n  .error_order = 3," },
      { "(void)err;", "" },
      { "  if (sys->project != NULL)",
        "  for (int i = 0; err != NULL && i < n; i++) err[i] = h * (s->k2[i] - s->k1[i]);\n"
        "  if (sys->project != NULL)" } },
    "the estimate is of order" },
  { "ode",
    "one evaluation a step",
    { { ".caps = 0", ".caps = PERP_ODE_ONE_EVALUATION" } },
    "one evaluation a step" },
  { "ode", "one stage", { { ".stages = 2,", ".stages = 1," } }, "derivatives counted" },
  { "ode",
    "derivatives that are not counted",
    { { "  stats->matvecs++;\n  answer =", "  answer =" } },
    "derivatives counted" },
  { "ode", "keeps its workspace", { { "  free(s->k1);\n", "" } }, "gives back all memory" },
  { "ode",
    "prints",
    { { "(void)err; /* no embedded estimate */",
        "(void)err;\n  if (h < 1e-3) printf(\"short\\n\");" },
      { "#include <stdlib.h>", "#include <stdio.h>\n#include <stdlib.h>" } },
    "prints nothing" },
  { "ode",
    "counts backwards",
    { { "  stats->matvecs++;\n  answer =", "  stats->matvecs -= 5;\n  answer =" } },
    "its counts are counts" },
  { "ode",
    "writes behind v",
    { { "  if (sys->project != NULL)", "  v[nv] = 0;\n  if (sys->project != NULL)" } },
    "writes nothing beside q, v" },
  { "ode",
    "changes q in a step that fails",
    { { "  stats->matvecs++;\n  answer =", "  q[0] += 1e-9;\n  stats->matvecs++;\n  answer =" } },
    "so does one that fails inside" },

  /* contact models */
  { "contact", "mu is 0", { { CONTACT_MU, "s->mu[i] = 0;" } }, "with their known impulses" },
  { "contact",
    "mu is that of the first contact",
    { { CONTACT_MU, "s->mu[i] = k == 0 ? 0 : island->mu[0];" } },
    "with their known impulses" },
  { "contact",
    "twice the friction",
    { { CONTACT_MU, "s->mu[i] = k == 0 ? 0 : 2 * island->mu[c];" } },
    "with their known impulses" },
  { "contact",
    "a cone that is a box",
    { { "| PERP_CONTACT_BOX", "| PERP_CONTACT_CONE" } },
    "a cone slides against the motion" },
  { "contact",
    "no friction, it says",
    { { "PERP_CONTACT_FRICTION | PERP_CONTACT_BOX", "0" } },
    "row(s) a contact" },
  { "contact",
    "contacts pull",
    { { "s->lo[i] = k == 0 && island->lo != NULL ? island->lo[c] : 0;", "s->lo[i] = -HUGE_VAL;" } },
    "known impulses" },
  { "contact",
    "counts backwards",
    { { CONTACT_DONE, CONTACT_DONE "\n  count->again = -1;" } },
    "its counts are counts" },
  { "contact",
    "keeps its matrix",
    { { "  free(s->A);\n  free(s->fric_of);\n  free(s->scratch);",
        "  free(s->fric_of);\n  free(s->scratch);" } },
    "gives back all memory" },
  { "contact",
    "prints",
    { { CONTACT_DONE, CONTACT_DONE "\n  fputs(\"solved\\n\", stderr);" } },
    "prints nothing" },
  { "contact",
    "changes the velocities",
    { { CONTACT_DONE, CONTACT_DONE "\n  ((double *)island->b)[0] *= 1 + 1e-15;" } },
    "the island is only read" },
  { "contact",
    "writes behind the impulses",
    { { CONTACT_DONE, CONTACT_DONE "\n  impulse[n] = 0;" } },
    "nothing is written beside them" },

  /* KKT solvers */
  { "kkt",
    "forces of the wrong sign",
    { { "if (missing >", "for (int i = 0; i < m; i++) lambda[i] = -lambda[i];\n  if (missing >" } },
    "the known motion and forces" },
  { "kkt", "keeps its workspace", { { "  free(s->A);\n", "" } }, "gives back all memory" },
  { "kkt",
    "prints",
    { { "  stats->factorizations++;", "  stats->factorizations++;\n  puts(\"factor\");" },
      { "#include <stdlib.h>", "#include <stdio.h>\n#include <stdlib.h>" } },
    "prints nothing" },
  { "kkt",
    "counts backwards",
    { { "  stats->factorizations++;", "  stats->factorizations--;" } },
    "and counts" },
  { "kkt",
    "a reason of its own",
    { { "stats->reason = PERP_EXACT;\n  /* r", "stats->reason = (perp_reason)44;\n  /* r" } },
    "reasons that perp knows" },
  { "kkt",
    "writes behind a",
    { { "if (missing >", "a[nv] = 0;\n  if (missing >" } },
    "nothing is written beside a" },
  { "kkt",
    "changes c",
    { { "if (missing >", "((double *)c)[0] *= 1 + 1e-15;\n  if (missing >" } },
    "the system is only read" },
  { "kkt",
    "no redundant rows, it says, and answers them",
    { { "PERP_KKT_REDUNDANT | PERP_KKT_LOOPS", "PERP_KKT_LOOPS" } },
    "refused" },

  /* stabilization */
  { "stab",
    "away from the constraints",
    { { "s->C[i] = -s->C[i];", "s->C[i] = s->C[i];" } },
    "position error" },
  { "stab",
    "half of the error is left",
    { { "s->v[i] += s->dx[i];", "s->v[i] += 0.5 * s->dx[i];" } },
    "velocity error" },
  { "stab",
    "feedback that it does not have",
    { { "= PERP_STAB_PROJECTS", "= PERP_STAB_PROJECTS | PERP_STAB_FEEDBACK" } },
    "the capability bits" },
  { "stab", "keeps its workspace", { { "  free(s->C);\n", "" } }, "gives back all memory" },
  { "stab",
    "prints",
    { { "  stats->iterations++;", "  stats->iterations++;\n  puts(\"corrected\");" },
      { "#include <stdlib.h>", "#include <stdio.h>\n#include <stdlib.h>" } },
    "prints nothing" },
  { "stab",
    "a reason of its own",
    { { "  stats->reason = PERP_CONVERGED;\n  return PERP_OK;",
        "  stats->reason = (perp_reason)12;\n  return PERP_OK;" } },
    "reason" },
  { "stab",
    "counts backwards",
    { { "  stats->iterations++;", "  stats->iterations -= 3;" } },
    "counts its factorizations" },
  { "stab",
    "writes behind q",
    { { "  stats->reason = PERP_CONVERGED;\n  return PERP_OK;",
        "  q[sys->nq] = 0;\n  stats->reason = PERP_CONVERGED;\n  return PERP_OK;" } },
    "writes nothing beside q and v" },

  /* formulations */
  { "formulation",
    "half of the forces",
    { { "s->Mv[i] + h * s->f[i]", "s->Mv[i] + 0.5 * h * s->f[i]" } },
    "falls as bodies fall" },
  { "formulation",
    "keeps its solver",
    { { "  if (s->solver != NULL) s->kkt->destroy(s->solver);\n", "" } },
    "gives back all memory" },
  { "formulation",
    "prints",
    { { "  s->count.steps++;", "  s->count.steps++;\n  puts(\"step\");" },
      { "#include <stdlib.h>", "#include <stdio.h>\n#include <stdlib.h>" } },
    "prints nothing" },
  { "formulation", "never counts a step", { { "  s->count.steps++;\n", "" } }, "counters" },

  /* scenes */
  { "scene",
    "another one each time",
    { { ".x = { i * o->shift * o->edge, 0,", ".x = { i * o->shift * o->edge + 1e-9 * calls++, 0," },
      { "static perp_status build", "static int calls;\nstatic perp_status build" } },
    "the same to the last bit" },
  { "scene",
    "prints",
    { { "  scene->t_end = 0.5;", "  scene->t_end = 0.5;\n  puts(\"built\");" },
      { "#include <math.h>", "#include <math.h>\n#include <stdio.h>" } },
    "prints nothing" },
  { "scene",
    "keeps memory",
    { { "  scene->t_end = 0.5;", "  scene->t_end = 0.5;\n  kept = malloc(10);" },
      { "#include <math.h>", "#include <math.h>\n#include <stdlib.h>\nvoid *kept;" } },
    "gives back all memory" },
  { "scene",
    "ends before it begins",
    { { "scene->t_end = 0.5;", "scene->t_end = -1;" } },
    "a default run" },

  /* metrics */
  { "metric",
    "prints",
    { { "  return m->now.t > 0 ?", "  puts(\"measured\");\n  return m->now.t > 0 ?" },
      { "#include <math.h>", "#include <math.h>\n#include <stdio.h>" } },
    "prints nothing" },
  { "metric", "infinite", { { "(double)NAN", "HUGE_VAL" } }, "a number, or NaN" },
  { "metric",
    "changes what it measures",
    { { "  return m->now.t > 0 ?",
        "  ((perp_measure *)m)->run.ode.rhs++;\n  return m->now.t > 0 ?" } },
    "only reads" },
  { "metric",
    "keeps memory",
    { { "  return m->now.t > 0 ?", "  kept = malloc(10);\n  return m->now.t > 0 ?" },
      { "#include <math.h>", "#include <math.h>\n#include <stdlib.h>\nvoid *kept;" } },
    "keeps no memory" },

  /* forces */
  { "force",
    "conservative, and its energy is twice what it does",
    { { "D[2] * D[2]) / 2;", "D[2] * D[2]);" } },
    "work is the energy lost" },
  { "force",
    "conservative, and it turns things around",
    { { FORCE_F, "f[6 * i + k] = -c[i] * (o->stiffness * D[k] + (k == 1 ? D[0] : k == 0 ? -D[1] : "
                 "0));" } },
    "work is the energy lost" },
  { "force",
    "conservative, with friction",
    { { FORCE_F, "f[6 * i + k] = -c[i] * o->stiffness * D[k] - 0.1 * body[i].v[k];" },
      { "PERP_FORCE_INTERNAL |", "PERP_FORCE_NEEDS_VELOCITY |" } },
    "work is the energy lost" },
  { "force",
    "internal, and it pushes from outside",
    { { FORCE_F, FORCE_F "\n  f[0] += 1;" } },
    "forces and moments together are zero" },
  { "force",
    "internal, and it turns all of its bodies",
    { { FORCE_F, "f[6 * i + k] = -c[i] * (o->stiffness * D[k] + (k == 1 ? D[0] : k == 0 ? -D[1] : "
                 "0));" } },
    "forces and moments together are zero" },
  { "force",
    "a gradient of the wrong sign",
    { { "-c[i] * c[j] * o->stiffness", "c[i] * c[j] * o->stiffness" } },
    "its gradient is the derivative of the force" },
  { "force",
    "a gradient that mistakes one body for another",
    { { "-c[i] * c[j] * o->stiffness", "-c[i] * c[i] * o->stiffness" } },
    "its gradient is the derivative of the force" },
  { "force",
    "friction that its gradient does not know",
    { { FORCE_F, "f[6 * i + k] = -c[i] * o->stiffness * D[k] - 0.1 * body[i].v[k];" },
      { "PERP_FORCE_INTERNAL | PERP_FORCE_CONSERVATIVE", "PERP_FORCE_NEEDS_VELOCITY" } },
    "its gradient is the derivative of the force" },
  { "force",
    "velocities, of which it says nothing",
    { { FORCE_F, "f[6 * i + k] = -c[i] * o->stiffness * D[k] - 0.1 * body[i].v[k];" } },
    "does not depend on velocities" },
  { "force",
    "the time, of which it says nothing",
    { { FORCE_F, "f[6 * i + k] = -c[i] * o->stiffness * D[k] * (1 + 0.1 * sin(t));" } },
    "does not depend on time" },
  { "force",
    "centres, and it turns a body",
    { { FORCE_F, FORCE_F "\n  f[5] += 1;" } },
    "no torque, no orientation is read" },
  { "force",
    "centres, and it looks where a body points",
    { { FORCE_F, "f[6 * i + k] = -c[i] * o->stiffness * D[k] * (1 + 0.1 * body[0].R[0]);" } },
    "no torque, no orientation is read" },
  { "force",
    "another one each time",
    { { FORCE_F, "f[6 * i + k] = -c[i] * o->stiffness * D[k] + 1e-12 * calls++;" },
      { "static void force", "static int calls;\nstatic void force" } },
    "identical bits" },
  { "force",
    "not a number where nobody looks",
    { { FORCE_F, "f[6 * i + k] = D[0] > 0 ? NAN : 0;" } },
    "are finite" },
  { "force",
    "writes behind its forces",
    { { FORCE_F, FORCE_F "\n  f[6 * n] = 1;" } },
    "writes nothing beside its forces" },
  { "force",
    "changes its options",
    { { FORCE_F, FORCE_F "\n  ((struct opts *)opts)->stiffness *= 1 + 1e-15;" } },
    "only reads options and states" },
  { "force",
    "allocates",
    { { "  bend(body, D);\n  for (int i",
        "  void *volatile lost = malloc(100); free(lost);\n  bend(body, D);\n  for (int i" },
      { "#include <math.h>", "#include <math.h>\n#include <stdlib.h>" } },
    "allocates nothing" },
  { "force", "prints", { { FORCE_F, FORCE_F "\n  puts(\"pushed\");" } }, "prints nothing" },

  /* joints */
  { "joint",
    "a J that is half of what it should be for one body",
    { { "J[6 * i + k] -= u[k];", "J[6 * i + k] -= 0.5 * u[k];" } },
    "J v is the derivative of C" },
  { "joint",
    "a J that turns what it does not turn",
    { { JOINT_C, JOINT_C "  if (J != NULL) J[5] = 0.1;\n" } },
    "J v is the derivative of C" },
  { "joint",
    "a C that J does not know",
    { { JOINT_C, "  C[0] = 0.01 * sin(body[0].x[0]) - o->length;\n" } },
    "J v is the derivative of C" },
  { "joint",
    "a Jdot v that forgets what turns",
    { { "(square - along * along) / length", "square / length" } },
    "Jdot v is the derivative of J v" },
  { "joint",
    "a Jdot v of nothing",
    { { "if (length > 0) gamma[0] +=", "if (length < 0) gamma[0] +=" } },
    "Jdot v is the derivative of J v" },
  { "joint",
    "invariant, and it knows where it is",
    { { JOINT_C, "  C[0] = body[0].x[0] - o->length;\n  if (J != NULL) J[0] = 1;\n" } },
    "moves with its bodies" },
  { "joint",
    "centres, and it looks where a body points",
    { { JOINT_C, "  C[0] = 0.1 * body[0].R[0] - o->length;\n" } },
    "no orientation is read" },
  { "joint",
    "a zero that is none",
    { { "  return o->length > 0 ?", "  o->length *= 1.01;\n  return o->length > 0 ?" } },
    "takes its zero from the initial state" },
  { "joint",
    "angles of rows that it has not",
    { { "*angles = 0;", "*angles = 2;" } },
    "says its rows" },
  { "joint",
    "another one each time",
    { { JOINT_C, "  C[0] = 1e-12 * calls++ - o->length;\n" },
      { "static void evaluate", "static int calls;\nstatic void evaluate" } },
    "identical bits" },
  { "joint",
    "writes behind its rows",
    { { JOINT_C, JOINT_C "  C[1] = 1;\n" } },
    "writes nothing beside its rows" },
  { "joint",
    "changes its options",
    { { JOINT_C, JOINT_C "  ((struct opts *)opts)->length *= 1 + 1e-15;\n" } },
    "only reads options and states" },
  { "joint",
    "allocates",
    { { JOINT_C, JOINT_C "  void *volatile lost = malloc(100); free(lost);\n" },
      { "#include <math.h>", "#include <math.h>\n#include <stdlib.h>" } },
    "allocates nothing" },
  { "joint", "prints", { { JOINT_C, JOINT_C "  puts(\"held\");\n" } }, "prints nothing" },
};

/* The template of a kind with the words of the lie; NULL when one of them is no longer there. */
static char *told(const lie *l)
{
  char *path = perp_xprintf("honest-%s/honest-%s.c", l->kind, l->kind);
  char *text = perp_read_file(path, NULL);
  free(path);
  for (int k = 0; k < EDITS && text != NULL && l->edit[k][0] != NULL; k++) {
    char *at = strstr(text, l->edit[k][0]);
    char *next = at == NULL ? NULL
                            : perp_xprintf("%.*s%s%s", (int)(at - text), text, l->edit[k][1],
                                           at + strlen(l->edit[k][0]));
    free(text);
    text = next;
  }
  return text;
}

/* Not optimized: compiling takes longer than the tests do. */
static bool compile(const char *how, const char *flags, const char *files)
{
  char *words = perp_xprintf("gcc -std=gnu11 -fPIC -O0 -w -I. %s %s %s >shell.txt 2>&1", how, flags,
                             files);
  const bool built = system(words) == 0;
  free(words);
  return built;
}

static void refuse(const lie *l, const char *flags)
{
  char *text = told(l);
  if (text == NULL) {
    ok(false, "%s: %s: the template has no such words any more", l->kind, l->what);
    return;
  }
  write_file("liar.c", text);
  free(text);
  const bool built = compile("-shared -include all.h", flags, "liar.c -o liar.so -lm");
  if (!ok(built, "%s: %s: builds", l->kind, l->what)) {
    char *said = perp_read_file("shell.txt", NULL);
    printf("# %.600s\n", said);
    free(said);
    return;
  }
  judge("./liar.so", 10, l->says, l->kind, l->what);
}

/* one argument: only lies of which it is part */
int main(int argc, char **argv)
{
  program_open();
  if (SANITIZED || system("command -v gcc >/dev/null 2>&1") != 0) {
    skip(SANITIZED ? "plug-ins of the template are built without the sanitizer" : "no gcc",
         "liars");
    program_close();
    return tap_done();
  }
  static const char *const kinds[] = { "lcp",         "ode",   "kkt",    "stab",  "contact",
                                       "formulation", "scene", "metric", "force", "joint" };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char *words = perp_xprintf("new plugin %s --name honest-%s", kinds[i], kinds[i]);
    if (run(words) != 0) bail("%s: %s", words, err);
    free(words);
  }
  if (run("version --cflags") != 0) bail("%s", err);
  char *flags = perp_xstrdup(out);
  flags[strcspn(flags, "\n")] = '\0';
  /* what all of them include is read once */
  write_file("all.h", "#include <stdio.h>\n#include \"perp.h\"\n#include <math.h>\n"
                      "#include <stdlib.h>\n#include <string.h>\n");
  ok(compile("-x c-header", flags, "all.h -o all.h.gch"), "headers build");
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
    if (argc < 2 || strstr(lies[i].what, argv[1]) != NULL || strcmp(lies[i].kind, argv[1]) == 0)
      refuse(&lies[i], flags);
  free(flags);
  program_close();
  return tap_done();
}
