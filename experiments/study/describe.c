/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/study/describe.h"

#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/base/build.h"
#include "models/models.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct capability {
  perp_kind kind;
  unsigned bit;
  const char *name;
} capabilities[] = {
  { PERP_KIND_ode, PERP_ODE_EMBEDDED, "embedded" },
  { PERP_KIND_ode, PERP_ODE_IMPLICIT, "implicit" },
  { PERP_KIND_ode, PERP_ODE_SYMPLECTIC, "symplectic" },
  { PERP_KIND_ode, PERP_ODE_SECOND_ORDER, "second-order" },
  { PERP_KIND_ode, PERP_ODE_VARIABLE_ORDER, "variable-order" },
  { PERP_KIND_ode, PERP_ODE_MULTISTEP, "multistep" },
  { PERP_KIND_ode, PERP_ODE_ONE_EVALUATION, "one-evaluation" },
  { PERP_KIND_ode, PERP_ODE_OWN_STEP_CONTROL, "own-step-control" },
  { PERP_KIND_ode, PERP_ODE_PEER, "peer" },
  { PERP_KIND_ode, PERP_ODE_PROJECTS, "projects" },
  { PERP_KIND_kkt, PERP_KKT_SPARSE, "sparse" },
  { PERP_KIND_kkt, PERP_KKT_REDUNDANT, "redundant" },
  { PERP_KIND_kkt, PERP_KKT_MIN_NORM, "min-norm" },
  { PERP_KIND_kkt, PERP_KKT_ITERATIVE, "iterative" },
  { PERP_KIND_kkt, PERP_KKT_LOOPS, "loops" },
  { PERP_KIND_lcp, PERP_LCP_BOX, "box" },
  { PERP_KIND_lcp, PERP_LCP_FREE, "free" },
  { PERP_KIND_lcp, PERP_LCP_FRICTION, "friction" },
  { PERP_KIND_lcp, PERP_LCP_CONE, "cone" },
  { PERP_KIND_lcp, PERP_LCP_NONSYMMETRIC, "nonsymmetric" },
  { PERP_KIND_lcp, PERP_LCP_SEMIDEFINITE, "semidefinite" },
  { PERP_KIND_lcp, PERP_LCP_FACTORED, "factored" },
  { PERP_KIND_lcp, PERP_LCP_SPARSE, "sparse" },
  { PERP_KIND_lcp, PERP_LCP_PIVOTING, "pivoting" },
  { PERP_KIND_lcp, PERP_LCP_ITERATIVE, "iterative" },
  { PERP_KIND_lcp, PERP_LCP_WARM, "warm-start" },
  { PERP_KIND_lcp, PERP_LCP_PEER, "peer" },
  { PERP_KIND_lcp, PERP_LCP_EXHAUSTIVE, "exhaustive" },
  { PERP_KIND_lcp, PERP_LCP_STRUCTURED, "one-structure" },
  { PERP_KIND_lcp, PERP_LCP_CHOOSES, "chooses" },
  { PERP_KIND_lcp, PERP_LCP_CONE_BLOCKS, "cone-blocks" },
  { PERP_KIND_lcp, PERP_LCP_BY_ROWS, "by-rows" },
  { PERP_KIND_stab, PERP_STAB_FEEDBACK, "feedback" },
  { PERP_KIND_stab, PERP_STAB_PROJECTS, "projects" },
  { PERP_KIND_formulation, PERP_FORM_USES_ODE, "uses-ode" },
  { PERP_KIND_formulation, PERP_FORM_USES_KKT, "uses-kkt" },
  { PERP_KIND_formulation, PERP_FORM_USES_STAB, "uses-stab" },
  { PERP_KIND_formulation, PERP_FORM_USES_LCP, "uses-lcp" },
  { PERP_KIND_formulation, PERP_FORM_CONTACTS, "contacts" },
  { PERP_KIND_formulation, PERP_FORM_DRIVES, "drives" },
  { PERP_KIND_formulation, PERP_FORM_SERVOS, "servos" },
  { PERP_KIND_formulation, PERP_FORM_MOTORS, "unbounded-motors" },
  { PERP_KIND_formulation, PERP_FORM_SPRINGS, "soft-joints" },
  { PERP_KIND_formulation, PERP_FORM_WRAPS, "wraps" },
  { PERP_KIND_formulation, PERP_FORM_BREAKS, "breaking-joints" },
  { PERP_KIND_formulation, PERP_FORM_COMPLIANT, "compliant-joints" },
  { PERP_KIND_formulation, PERP_FORM_EVENTS, "events" },
  { PERP_KIND_formulation, PERP_FORM_FEEDBACK, "feedback" },
  { PERP_KIND_formulation, PERP_FORM_SIGNALS, "signals" },
  { PERP_KIND_formulation, PERP_FORM_MOTIONS, "motions" },
  { PERP_KIND_formulation, PERP_FORM_NONHOLONOMIC, "nonholonomic" },
  { PERP_KIND_formulation, PERP_FORM_ARMATURES, "armatures" },
  { PERP_KIND_formulation, PERP_FORM_COUPLES, "couples" },
  { PERP_KIND_formulation, PERP_FORM_ANISOTROPIC, "anisotropic" },
  { PERP_KIND_formulation, PERP_FORM_DISABLED, "disabled-bodies" },
  { PERP_KIND_formulation, PERP_FORM_EXACT_JOINTS, "exact-joints" },
  { PERP_KIND_formulation, PERP_FORM_CANONICAL, "canonical" },
  { PERP_KIND_formulation, PERP_FORM_FORCES_AT_START, "forces-at-start" },
  { PERP_KIND_formulation, PERP_FORM_FORCES_MIDDLE, "forces-in-middle" },
  { PERP_KIND_contact, PERP_CONTACT_FRICTION, "friction" },
  { PERP_KIND_contact, PERP_CONTACT_BOX, "box" },
  { PERP_KIND_contact, PERP_CONTACT_CONE, "cone" },
  { PERP_KIND_contact, PERP_CONTACT_DENSE, "dense" },
  { PERP_KIND_contact, PERP_CONTACT_RELAXED, "relaxed" },
  { PERP_KIND_contact, PERP_CONTACT_COUPLES, "couples" },
  { PERP_KIND_contact, PERP_CONTACT_SPIN, "spinning" },
  { PERP_KIND_force, PERP_FORCE_IN_SPACE, "space" },
  { PERP_KIND_force, PERP_FORCE_IN_PLANE, "plane" },
  { PERP_KIND_force, PERP_FORCE_AT_CENTRES, "at-centres" },
  { PERP_KIND_force, PERP_FORCE_INTERNAL, "internal" },
  { PERP_KIND_force, PERP_FORCE_CONSERVATIVE, "conservative" },
  { PERP_KIND_force, PERP_FORCE_NEEDS_VELOCITY, "needs-velocity" },
  { PERP_KIND_force, PERP_FORCE_NEEDS_TIME, "needs-time" },
  { PERP_KIND_joint, PERP_JOINT_IN_SPACE, "space" },
  { PERP_KIND_joint, PERP_JOINT_IN_PLANE, "plane" },
  { PERP_KIND_joint, PERP_JOINT_AT_CENTRES, "at-centres" },
  { PERP_KIND_joint, PERP_JOINT_INVARIANT, "invariant" },
  { PERP_KIND_joint, PERP_JOINT_NONHOLONOMIC, "nonholonomic" },
  { PERP_KIND_joint, PERP_JOINT_OF_AXES, "of-axes" },
  { PERP_KIND_metric, PERP_METRIC_TIMING, "timing" },
  { PERP_KIND_metric, PERP_METRIC_GAUGE, "gauge" },
  { PERP_KIND_NONE, PERP_CAP_ALLOCATES, "allocates" }, /* every kind */
};

const char *perp_capability_name(perp_kind kind, unsigned bit)
{
  for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
    if ((capabilities[i].kind == kind || capabilities[i].kind == PERP_KIND_NONE) &&
        capabilities[i].bit == bit)
      return capabilities[i].name;
  return NULL;
}

int perp_capabilities(perp_kind kind, unsigned caps, char *buf, size_t size)
{
  size_t n = 0;
  if (size > 0) buf[0] = '\0';
  for (int b = 0; b < 32; b++) {
    const char *name = caps & 1u << b ? perp_capability_name(kind, 1u << b) : NULL;
    if (name != NULL)
      n += (size_t)snprintf(n < size ? buf + n : NULL, n < size ? size - n : 0, "%s%s",
                            n ? ", " : "", name);
  }
  return (int)n;
}

static const char *const type_names[] = { "", "bool", "int", "real", "enum", "text" };

static void option_json(perp_json *json, const perp_opt *opt)
{
  char range[512];
  perp_opt_range(opt, range, sizeof range);
  perp_json_members(json, "{ name %s, type %s, unit %s, range %s", opt->key, type_names[opt->type],
                    opt->unit, range);
  if (opt->type == PERP_OPT_REAL ||
      opt->type == PERP_OPT_INT) /* the text of a whole number is the same */
    perp_json_real(json, "default", opt->dflt);
  else if (opt->type == PERP_OPT_BOOL)
    perp_json_bool(json, "default", opt->dflt != 0);
  else
    perp_json_text(json, "default",
                   opt->type == PERP_OPT_ENUM ? opt->choices[(int)opt->dflt] : opt->text);
  if (opt->type == PERP_OPT_ENUM) {
    perp_json_open(json, "choices", '[');
    for (int i = 0; opt->choices[i] != NULL; i++) perp_json_text(json, NULL, opt->choices[i]);
    perp_json_close(json, ']');
  }
  perp_json_text(json, "help", opt->help);
  perp_json_close(json, '}');
}

void perp_describe_bodies(perp_kind kind, const perp_desc *desc, int *least, int *most)
{
  if (kind == PERP_KIND_force) {
    *least = ((const perp_force_desc *)(const void *)desc)->bodies_min;
    *most = ((const perp_force_desc *)(const void *)desc)->bodies_max;
  } else if (kind == PERP_KIND_joint) {
    *least = ((const perp_joint_desc *)(const void *)desc)->bodies_min;
    *most = ((const perp_joint_desc *)(const void *)desc)->bodies_max;
  } else {
    *least = *most = 0;
  }
}

void perp_describe_json(perp_json *json, perp_kind kind, const perp_desc *d)
{
  perp_json_members(json, "{ name %s, summary %s, reference %s", d->name, d->summary, d->reference);
  if (d->equation != NULL) perp_json_text(json, "equation", d->equation);
  char *file = kind == PERP_KIND_scene ? perp_scene_file_path(d) : NULL;
  if (file != NULL) perp_json_text(json, "file", file);
  free(file);
  if (kind == PERP_KIND_ode) {
    const perp_ode_desc *ode = (const perp_ode_desc *)(const void *)d;
    perp_json_members(json, "order %d, stages %d", ode->order, ode->stages);
  }
  if (kind == PERP_KIND_lcp) {
    const perp_lcp_desc *lcp = (const perp_lcp_desc *)(const void *)d;
    if (lcp->serves != NULL) perp_json_text(json, "serves", lcp->serves);
    if (lcp->ties != NULL) perp_json_text(json, "ties", lcp->ties);
    if (lcp->cost != NULL) perp_json_text(json, "cost", lcp->cost);
    if (lcp->counts != NULL) perp_json_text(json, "counts", lcp->counts);
    if (lcp->same != NULL) perp_json_text(json, "same", lcp->same);
  }
  if (kind == PERP_KIND_controller) {
    const perp_controller_desc *c = (const perp_controller_desc *)(const void *)d;
    perp_json_members(json, "cost %s, gives_up %s", c->cost, c->loses);
  }
  int least = 0, most = 0;
  perp_describe_bodies(kind, d, &least, &most);
  if (least > 0) perp_json_int(json, "bodies_min", least);
  if (least > 0 && most < INT_MAX) perp_json_int(json, "bodies_max", most);
  perp_json_open(json, "capabilities", '[');
  for (int b = 0; b < 32; b++) {
    const char *name = d->caps & 1u << b ? perp_capability_name(kind, 1u << b) : NULL;
    if (name != NULL) perp_json_text(json, NULL, name);
  }
  perp_json_members(json, "] options: [");
  for (const perp_opt *opt = d->opts; opt != NULL && opt->type != PERP_OPT_END; opt++)
    option_json(json, opt);
  perp_json_members(json, "] }");
}

/* ---- studies ---- */

static int by_name(const void *a, const void *b)
{
  return strcmp(((const perp_study_file *)a)->name, ((const perp_study_file *)b)->name);
}

int perp_study_dirs(perp_pool *pool, const char *dirs[PERP_STUDY_DIRS])
{
  const char *home = getenv("PERP_HOME");
  int n = 0;
  if (home != NULL) dirs[n++] = perp_pool_printf(pool, "%s/experiments/studies", home);
  dirs[n++] = PERP_STUDIES_INSTALLED;
  dirs[n++] = PERP_STUDIES_SOURCE;
  return n;
}

int perp_study_files(perp_pool *pool, perp_study_file **files)
{
  const char *dirs[PERP_STUDY_DIRS];
  int n_dirs = perp_study_dirs(pool, dirs), n = 0;
  enum { MOST = 256 };
  perp_names names = { 0 };
  perp_study_file *file = perp_pool_alloc(pool, MOST, sizeof *file);
  for (int i = 0; i < n_dirs; i++) {
    DIR *dir = opendir(dirs[i]);
    if (dir == NULL) continue;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && n < MOST;) {
      size_t k = strlen(entry->d_name);
      if (k < 6 || strcmp(entry->d_name + k - 5, ".yaml") != 0 || entry->d_name[0] == '.') continue;
      const char *name = perp_pool_strndup(pool, entry->d_name, k - 5);
      const int before = names.n;
      if (perp_names_index(pool, &names, name, -1) == before)
        file[n++] = (perp_study_file){ name,
                                       perp_pool_printf(pool, "%s/%s", dirs[i], entry->d_name) };
    }
    closedir(dir);
  }
  qsort(file, (size_t)n, sizeof *file, by_name);
  *files = file;
  return n;
}
