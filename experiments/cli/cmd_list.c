/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp list, perp info */
#include "experiments/cli/command.h"
#include "experiments/plugins/cmd_scene.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/study/describe.h"
#include "experiments/study/study.h"
#include "experiments/base/tree.h"
#include "models/engines/engine.h"
#include "models/models.h"
#include "solvers/core/optional.h"
#include "experiments/base/table.h"
#include "experiments/base/files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct kind {
  const char *name, *single, *what;
  perp_kind kind; /* NONE: studies, plots */
  int width;      /* of the names; 0: that of the longest */
} kinds[] = {
  { "scenes", "scene", "Scenes to simulate, most with a reference solution", PERP_KIND_scene, 0 },
  { "formulation", "formulations",
    "Formulations: equations of motion of a scene and their time integration",
    PERP_KIND_formulation, 0 },
  { "ode", "odes", "Integrators", PERP_KIND_ode, 0 },
  { "kkt", "kkts", "Solvers of the equality-constrained dynamics", PERP_KIND_kkt, 0 },
  { "lcp", "lcps", "Solvers of linear complementarity problems", PERP_KIND_lcp, 0 },
  { "stab", "stabs", "Constraint stabilization", PERP_KIND_stab, 0 },
  { "contact", "contacts", "Contact and friction models", PERP_KIND_contact, 0 },
  { "engine", "engines", "Third-party physics engines, beside the methods of perp",
    PERP_KIND_engine, 0 },
  { "joints", "joint", "Joints between bodies", PERP_KIND_joint, 0 },
  { "forces", "force", "Forces on bodies", PERP_KIND_force, 0 },
  { "controllers", "controller", "Controllers that follow a motion by the joints of a figure",
    PERP_KIND_controller, 0 },
  { "metrics", "metric", "Metrics of accuracy, robustness and speed", PERP_KIND_metric, 0 },
  { "studies", "study", "Study files included in perp", PERP_KIND_NONE, 22 },
  { "plots", "plot", "Figures that a study can request", PERP_KIND_NONE, 19 },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static int find_kind(const char *name)
{
  for (int i = 0; i < N_KINDS; i++)
    if (strcmp(kinds[i].name, name) == 0 || strcmp(kinds[i].single, name) == 0) return i;
  return -1;
}

static int unknown_kind(const perp_args *args, const char *name)
{
  const char *names[N_KINDS];
  for (int i = 0; i < N_KINDS; i++) names[i] = kinds[i].name;
  perp_choose(args, "unknown kind", name, names, N_KINDS, "");
  return PERP_EXIT_USAGE;
}

/* A name and what it stands for; lines that follow the first are indented. */
static void list_line(const char *name, int width, const char *what)
{
  char label[128];
  snprintf(label, sizeof label, "%-*s ", width, name);
  perp_wrap_after(stdout, label, width + 2, what);
}

/* "" when the file says none, or cannot be read: perp check tells why. */
static const char *title_of(perp_pool *pool, const char *path)
{
  size_t size = 0;
  char *text = perp_read_file(path, &size);
  if (text == NULL) return "";
  perp_diag diag = { 0 };
  const char *kept = perp_pool_strndup(pool, text, size), *title = "";
  const perp_node *node = perp_tree_read(pool, &diag, path, kept, size);
  static const char *const keys[] = { "study", "title" };
  for (int i = 0; i < 2 && node != NULL; i++)
    node = node->type == PERP_NODE_MAP ? perp_tree_get(node, keys[i]) : NULL;
  if (node != NULL && node->type == PERP_NODE_SCALAR) title = node->text;
  perp_diag_free(&diag);
  free(text);
  return title;
}

enum { MOST = 512 };
/* One that can be chosen: a plug-in, a study (with a path) or a plot. */
struct part {
  const char *name, *what, *path;
  const perp_desc *d;
  const char *part, *packages; /* of an optional part that is not here; else NULL */
};

static int parts_of(const perp_ctx *ctx, const struct kind *kind, perp_pool *pool,
                    struct part part[MOST])
{
  int n = 0;
  const perp_desc *desc;
  perp_study_file *file;
  if (kind->kind != PERP_KIND_NONE) {
    for (; n < MOST && (desc = perp_plugin_at(ctx, kind->kind, n)) != NULL; n++) {
      part[n] = (struct part){ .name = desc->name, .what = desc->summary, .d = desc };
      if (kind->kind != PERP_KIND_engine ||
          perp_engine_here((const perp_engine_desc *)(const void *)desc))
        continue; /* only engines may have no library here */
      part[n].part = desc->name;
      part[n].packages = perp_optional_packages(desc->name);
    }
    const perp_optional *optional;
    for (int i = 0; n < MOST && (optional = perp_optional_at(i)) != NULL; i++)
      if (optional->kind == kind->kind &&
          perp_optional_absent(ctx, optional->kind, optional->name) != NULL)
        part[n++] = (struct part){ optional->name, optional->summary, NULL,
                                   NULL,           optional->part,    optional->packages };
  } else if (strcmp(kind->name, "plots") == 0)
    for (const perp_plot_name *name = perp_plot_names; name->name != NULL; name++)
      part[n++] = (struct part){ .name = name->name, .what = name->what };
  else
    for (const int files = perp_study_files(pool, &file); n < files; n++)
      part[n] = (struct part){ .name = file[n].name, .path = file[n].path };
  return n;
}

/* With the keys of one that is here (perp_describe_json), as far as they are known. */
static void list_absent_json(perp_json *json, perp_kind kind, const char *name, const char *summary,
                             const char *part, const char *packages)
{
  perp_json_members(
      json,
      "{ kind %s, name %s, summary %s, reference %s, absent? %d, part %s, packages %s, "
      "capabilities: [ ] options: [ ] }",
      perp_kind_name(kind), name, summary, "", 1, part, packages);
}

static void list_parts(const perp_ctx *ctx, const struct kind *kind, bool json)
{
  perp_pool pool = { 0 };
  struct part part[MOST];
  const int n = parts_of(ctx, kind, &pool, part);
  int width = kind->width;
  for (int i = 0; i < n && kind->width == 0; i++)
    if ((int)strlen(part[i].name) > width) width = (int)strlen(part[i].name);
  perp_json out = { .out = stdout, .indent = true };
  if (json) perp_json_open(&out, NULL, '[');
  for (int i = 0; i < n; i++) {
    const struct part *p = &part[i];
    const char *what = p->path != NULL ? title_of(&pool, p->path) : p->what;
    if (p->part != NULL && !json)
      what = perp_pool_printf(&pool, "%s (needs %s: ./perp setup %s)", what, p->packages, p->part);
    if (!json)
      list_line(p->name, width, what);
    else if (p->d != NULL)
      perp_describe_json(&out, kind->kind, p->d);
    else if (p->part != NULL)
      list_absent_json(&out, kind->kind, p->name, what, p->part, p->packages);
    else if (p->path != NULL)
      perp_json_object(&out, NULL, "name %s, title %s, path %s", p->name, what, p->path);
    else
      perp_json_object(&out, NULL, "name %s, summary %s", p->name, what);
  }
  if (json) perp_json_close(&out, ']');
  perp_pool_free(&pool);
}

static int cmd_list(perp_ctx *ctx, const perp_args *args)
{
  const bool json = perp_option_given(args, "json");
  if (args->n == 1) {
    const int k = find_kind(args->arg[0]);
    if (k < 0) return unknown_kind(args, args->arg[0]);
    list_parts(ctx, &kinds[k], json);
    return PERP_EXIT_OK;
  }
  perp_json out = { .out = stdout, .indent = true };
  if (json) perp_json_open(&out, NULL, '[');
  for (int i = 0; i < N_KINDS; i++) {
    perp_pool pool = { 0 };
    struct part part[MOST];
    const int n = parts_of(ctx, &kinds[i], &pool, part);
    perp_pool_free(&pool);
    if (json)
      perp_json_object(&out, NULL, "kind %s, count %d, summary %s", kinds[i].name, n,
                       kinds[i].what);
    else
      printf("%-12s %3d  %s\n", kinds[i].name, n, kinds[i].what);
  }
  if (json) perp_json_close(&out, ']');
  return PERP_EXIT_OK;
}

static const perp_flag list_flags[] = {
  { "json", 0, NULL, "Print names, references, capabilities and options as JSON." }, { 0 }
};

const perp_command perp_list_command = {
  .cli.name = "list",
  .cli.usage = "[KIND] [--json]",
  .cli.summary = "Lists what can be combined. KIND is one of scenes, formulation, ode, kkt, lcp, "
                 "stab, contact, engine, joints, forces, controllers, metrics, studies and plots. "
                 "Without KIND: the number of each.",
  .cli.more = "To find the file of a study, use perp check NAME.",
  .cli.example = "perp list ode        # the integrators; details of one: perp info rk4",
  .cli.flags = list_flags,
  .cli.max_args = 1,
  .summary = "List what can be combined: scenes, solvers, studies",
  .run = cmd_list
};

/* ---- info ---- */

/* Three rows that are a vector, as scene files write it. */
static bool info_vector(const perp_opt *opt, const void *opts)
{
  static const char *const ends[] = { "_x", "_y", "_z" };
  char value[3][40];
  size_t n = strlen(opt->key);
  for (int k = 0; k < 3; k++) {
    if (opt[k].type != PERP_OPT_REAL || n < 3 || strlen(opt[k].key) != n ||
        strncmp(opt[k].key, opt->key, n - 2) != 0 || strcmp(opt[k].key + n - 2, ends[k]) != 0)
      return false;
    perp_opt_format(&opt[k], opts, value[k], sizeof value[k]);
  }
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)n - 2, opt->key);
  printf("  %-14s %-8s default [%s, %s, %s]\n", name, opt->unit[0] ? opt->unit : "-", value[0],
         value[1], value[2]);
  perp_wrap(stdout, 17, opt->help);
  return true;
}

static void info_text(perp_kind kind, const perp_desc *d)
{
  char buf[512];
  printf("%s (%s)\n", d->name, perp_kind_name(kind));
  perp_wrap(stdout, 2, d->summary);
  if (d->equation != NULL && d->equation[0] != '\0') {
    printf("\n");
    perp_wrap(stdout, 4, d->equation);
    printf("\n");
  }
  perp_wrap_after(stdout, "  reference", 16, d->reference);
  char *file = kind == PERP_KIND_scene ? perp_scene_file_path(d) : NULL;
  if (file != NULL) printf("  file          %s\n", file);
  free(file);
  if (kind == PERP_KIND_ode) {
    const perp_ode_desc *ode = (const perp_ode_desc *)(const void *)d;
    if (ode->order > 0)
      printf("  order         %d\n", ode->order);
    else
      printf("  order         variable\n");
    if (ode->stages > 0) printf("  stages        %d\n", ode->stages);
  }
  if (kind == PERP_KIND_lcp) {
    const perp_lcp_desc *lcp = (const perp_lcp_desc *)(const void *)d;
    if (lcp->serves != NULL) perp_wrap_after(stdout, "  serves", 16, lcp->serves);
    if (lcp->ties != NULL) perp_wrap_after(stdout, "  ties", 16, lcp->ties);
    if (lcp->cost != NULL) perp_wrap_after(stdout, "  cost", 16, lcp->cost);
    if (lcp->counts != NULL) perp_wrap_after(stdout, "  iterations", 16, lcp->counts);
    if (lcp->same != NULL)
      printf("  at times as   %s\n",
             strcmp(lcp->same, "*") == 0 ? "whatever it chooses" : lcp->same);
  }
  if (kind == PERP_KIND_controller) {
    const perp_controller_desc *c = (const perp_controller_desc *)(const void *)d;
    perp_wrap_after(stdout, "  cost", 16, c->cost);
    perp_wrap_after(stdout, "  gives up", 16, c->loses);
  }
  if (kind == PERP_KIND_formulation && d->caps & PERP_FORM_USES_LCP &&
      !(d->caps & PERP_FORM_EVENTS))
    perp_wrap_after(
        stdout, "  friction law", 16,
        "--contact. By default cone, Coulomb's law, if --lcp serves it (auto, pgs, block-gs, "
        "prox, ...); else box (dantzig, bpp, ...), polyhedral (lemke, ...) or frictionless. The "
        "result names it in 'parts', and says how far friction is off Coulomb's law.");
  int least, most;
  perp_describe_bodies(kind, d, &least, &most);
  if (least > 0 && least == most)
    printf("  bodies        %d\n", least);
  else if (least > 0 && most == INT_MAX)
    printf("  bodies        %d or more\n", least);
  else if (least > 0)
    printf("  bodies        %d to %d\n", least, most);
  if (perp_capabilities(kind, d->caps, buf, sizeof buf) > 0)
    perp_wrap_after(stdout, "  capabilities", 16, buf);
  if (d->opts_size == 0 || d->opts->type == PERP_OPT_END) {
    printf("  options       none\n");
    return;
  }
  printf("\n  options of %s\n", d->name);
  void *opts = perp_xalloc(1, d->opts_size);
  perp_opts_default(d, opts);
  for (const perp_opt *opt = d->opts; opt->type != PERP_OPT_END; opt++) {
    char value[160], range[512];
    if (info_vector(opt, opts)) {
      opt += 2;
      continue;
    }
    perp_opt_format(opt, opts, value, sizeof value);
    perp_opt_range(opt, range, sizeof range);
    const int n = printf("  %-14s %-8s default %-10s", opt->key, opt->unit[0] ? opt->unit : "-",
                         value);
    if (n + 1 + (int)strlen(range) <= PERP_TABLE_WIDTH)
      printf(" %s\n", range);
    else
      printf("\n%*s%s\n", 17, "", range);
    perp_wrap(stdout, 17, opt->help);
  }
  free(opts);
}

/* What stands in the file of a scene. */
static int info_source(const perp_args *args, const perp_desc *desc)
{
  char *source = perp_scene_file_source(desc);
  if (source == NULL)
    return perp_usage_error(args,
                            "%s is no scene of a file; its model as one: perp export-scene %s",
                            desc->name, desc->name);
  fputs(source, stdout);
  free(source);
  return PERP_EXIT_OK;
}

static int cmd_info(perp_ctx *ctx, const perp_args *args)
{
  int only = -1;
  const char *name = args->arg[args->n - 1];
  if (args->n == 2) {
    only = find_kind(args->arg[0]);
    if (only < 0) return unknown_kind(args, args->arg[0]);
    if (kinds[only].kind == PERP_KIND_NONE)
      return perp_usage_error(args,
                              "%s have no description of their own; list them with perp list %s",
                              kinds[only].name, kinds[only].name);
  }
  bool json = perp_option_given(args, "json"), source = perp_option_given(args, "source");
  perp_json out = { .out = stdout, .indent = true };
  const char *names[MOST];
  int n_names = 0, found = 0;
  if (perp_scene_file_named(name)) {
    const int refused = perp_command_scene(ctx, name);
    const perp_desc *file = refused < 0 ? perp_find(ctx, PERP_KIND_scene, name) : NULL;
    if (refused >= 0) return refused;
    if (file == NULL) return perp_usage_error(args, "options are not for perp info: %s", name);
    if (source) return info_source(args, file);
    if (json) perp_json_open(&out, NULL, '[');
    if (json)
      perp_describe_json(&out, PERP_KIND_scene, file);
    else
      info_text(PERP_KIND_scene, file);
    if (json) perp_json_close(&out, ']');
    return PERP_EXIT_OK;
  }
  const perp_desc *scene = source ? perp_find(ctx, PERP_KIND_scene, name) : NULL;
  if (source && scene != NULL) return info_source(args, scene);
  for (int i = 0; i < N_KINDS; i++) {
    if (kinds[i].kind == PERP_KIND_NONE || (only >= 0 && i != only)) continue;
    const char *known;
    for (int p = 0; (known = perp_plugin_name(ctx, kinds[i].kind, p)) != NULL; p++) {
      if (n_names < MOST) names[n_names++] = known;
      if (strcmp(known, name) != 0) continue;
      const perp_desc *desc = perp_plugin_at(ctx, kinds[i].kind, p);
      if (source)
        return perp_usage_error(args, "only scenes have a source: %s is of kind %s", name,
                                perp_kind_name(kinds[i].kind));
      if (json && found == 0) perp_json_open(&out, NULL, '[');
      if (json)
        perp_describe_json(&out, kinds[i].kind, desc);
      else {
        if (found > 0) printf("\n");
        info_text(kinds[i].kind, desc);
      }
      found++;
    }
  }
  const perp_optional *optional;
  for (int i = 0; found == 0 && !source && (optional = perp_optional_at(i)) != NULL; i++)
    if (strcmp(optional->name, name) == 0 && (only < 0 || kinds[only].kind == optional->kind)) {
      if (json) {
        perp_json_open(&out, NULL, '[');
        list_absent_json(&out, optional->kind, optional->name, optional->summary, optional->part,
                         optional->packages);
      } else {
        printf("%s (%s)\n", optional->name, perp_kind_name(optional->kind));
        perp_wrap(stdout, 2, optional->summary);
        perp_wrapf(stdout, 2, "This perp was built without %s. To have it: ./perp setup %s",
                   optional->packages, optional->part);
      }
      found++;
    }
  if (found > 0) {
    if (json) perp_json_close(&out, ']');
    return PERP_EXIT_OK;
  }
  perp_choose(args, "nothing is called", name, names, n_names, " (perp list shows what there is)");
  return PERP_EXIT_USAGE;
}

static const perp_flag info_flags[] = {
  { "json", 0, NULL, "Print JSON: a list with one entry for each match." },
  { "source", 0, NULL, "Print the YAML file of a scene, as a start for your own." },
  { 0 }
};

const perp_command perp_info_command = {
  .cli.name = "info",
  .cli.usage = "[KIND] NAME [--json | --source]",
  .cli.summary =
      "Describes one method, scene or metric: its purpose, reference, order, capabilities and "
      "options. Options have a unit, a range and a default. NAME can also be a scene file.",
  .cli.example = "perp info baumgarte  # for a name with two meanings: perp info stab none",
  .cli.flags = info_flags,
  .cli.min_args = 1,
  .cli.max_args = 2,
  .summary = "Describe one method, scene or metric with its options",
  .run = cmd_info
};
