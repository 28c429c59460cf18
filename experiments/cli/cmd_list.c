/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp list, perp info */
#include "experiments/cli/cli.h"
#include "experiments/study/describe.h"
#include "experiments/study/study.h"
#include "experiments/base/tree.h"
#include "models/models.h"

#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name, *single, *what;
  perp_kind kind; /* NONE: studies, plots */
} kinds[] = {
  { "scenes", "scene", "what is simulated, each with its ground truth", PERP_KIND_scene },
  { "formulation", "formulations", "how a scene becomes numbers that march in time",
    PERP_KIND_formulation },
  { "ode", "odes", "integrators", PERP_KIND_ode },
  { "kkt", "kkts", "ways to solve the equality-constrained dynamics", PERP_KIND_kkt },
  { "lcp", "lcps", "solvers of linear complementarity problems", PERP_KIND_lcp },
  { "stab", "stabs", "constraint stabilization", PERP_KIND_stab },
  { "contact", "contacts", "contact and friction models", PERP_KIND_contact },
  { "metrics", "metric", "what a run is judged by", PERP_KIND_metric },
  { "studies", "study", "study files that come with perp", PERP_KIND_NONE },
  { "plots", "plot", "figures that a study may ask for", PERP_KIND_NONE },
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
  const char *close = perp_closest(name, names, N_KINDS);
  if (close != NULL)
    return perp_usage_error(args, "unknown kind '%s'; did you mean '%s'?", name, close);
  return perp_usage_error(args, "unknown kind '%s'", name);
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

static void list_studies(bool json)
{
  perp_pool pool = { 0 };
  perp_study_file *files;
  int n = perp_study_files(&pool, &files);
  if (json) {
    perp_json j = { .out = stdout, .indent = true };
    perp_json_open(&j, NULL, '[');
    for (int i = 0; i < n; i++) {
      perp_json_open(&j, NULL, '{');
      perp_json_text(&j, "name", files[i].name);
      perp_json_text(&j, "title", title_of(&pool, files[i].path));
      perp_json_text(&j, "path", files[i].path);
      perp_json_close(&j, '}');
    }
    perp_json_close(&j, ']');
  } else
    for (int i = 0; i < n; i++) list_line(files[i].name, 22, title_of(&pool, files[i].path));
  perp_pool_free(&pool);
}

static int count_plots(void)
{
  int n = 0;
  while (perp_plot_names[n].name != NULL) n++;
  return n;
}

static void list_plots(bool json)
{
  perp_json j = { .out = stdout, .indent = true };
  if (json) perp_json_open(&j, NULL, '[');
  for (const perp_plot_name *p = perp_plot_names; p->name != NULL; p++) {
    if (!json) {
      list_line(p->name, 19, p->what);
      continue;
    }
    perp_json_open(&j, NULL, '{');
    perp_json_text(&j, "name", p->name);
    perp_json_text(&j, "summary", p->what);
    perp_json_close(&j, '}');
  }
  if (json) perp_json_close(&j, ']');
}

static void list_plugins(const perp_ctx *ctx, perp_kind kind, bool json)
{
  const perp_desc *d;
  if (json) {
    perp_json j = { .out = stdout, .indent = true };
    perp_json_open(&j, NULL, '[');
    for (int i = 0; (d = perp_plugin_at(ctx, kind, i)) != NULL; i++)
      perp_describe_json(&j, kind, d);
    perp_json_close(&j, ']');
    return;
  }
  int width = 0;
  for (int i = 0; (d = perp_plugin_at(ctx, kind, i)) != NULL; i++)
    if ((int)strlen(d->name) > width) width = (int)strlen(d->name);
  for (int i = 0; (d = perp_plugin_at(ctx, kind, i)) != NULL; i++)
    list_line(d->name, width, d->summary);
}

int perp_cmd_list(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "json", 0, NULL, "names, references, capabilities and options as JSON" }, { 0 }
  };
  static const perp_cli cli = {
    "list",
    "[KIND] [--json]",
    "What can be combined: KIND is one of scenes, ode, kkt, lcp, stab, formulation, contact, "
    "metrics, studies, plots. Without it: how many there are of each.",
    "Where the file of a study is, perp check NAME says.",
    "perp list ode        # the integrators; more about one: perp info rk4",
    flags,
    0,
    1
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  bool json = perp_args_get(&args, "json") != NULL;
  if (args.n == 1) {
    int k = find_kind(args.arg[0]);
    if (k < 0) return unknown_kind(&args, args.arg[0]);
    if (strcmp(kinds[k].name, "plots") == 0)
      list_plots(json);
    else if (kinds[k].kind == PERP_KIND_NONE)
      list_studies(json);
    else
      list_plugins(ctx, kinds[k].kind, json);
    return PERP_EXIT_OK;
  }
  perp_json j = { .out = stdout, .indent = true };
  if (json) perp_json_open(&j, NULL, '[');
  for (int i = 0; i < N_KINDS; i++) {
    int n = 0;
    if (strcmp(kinds[i].name, "plots") == 0)
      n = count_plots();
    else if (kinds[i].kind == PERP_KIND_NONE) {
      perp_pool pool = { 0 };
      perp_study_file *files;
      n = perp_study_files(&pool, &files);
      perp_pool_free(&pool);
    } else
      while (perp_plugin_at(ctx, kinds[i].kind, n) != NULL) n++;
    if (json) {
      perp_json_open(&j, NULL, '{');
      perp_json_text(&j, "kind", kinds[i].name);
      perp_json_int(&j, "count", n);
      perp_json_text(&j, "summary", kinds[i].what);
      perp_json_close(&j, '}');
    } else
      printf("%-12s %3d  %s\n", kinds[i].name, n, kinds[i].what);
  }
  if (json) perp_json_close(&j, ']');
  return PERP_EXIT_OK;
}

/* ---- info ---------------------------------------------------------------------------------------------------- */

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
  if (perp_capabilities(kind, d->caps, buf, sizeof buf) > 0)
    perp_wrap_after(stdout, "  capabilities", 16, buf);
  if (d->opts_size == 0) {
    printf("  options       none\n");
    return;
  }
  printf("\n  options of %s\n", d->name);
  void *opts = perp_xalloc(1, d->opts_size);
  perp_opts_default(d, opts);
  for (const perp_opt *o = d->opts; o->type != PERP_OPT_END; o++) {
    char value[160], range[512];
    perp_opt_format(o, opts, value, sizeof value);
    perp_opt_range(o, range, sizeof range);
    const int n = printf("  %-14s %-8s default %-10s", o->key, o->unit[0] ? o->unit : "-", value);
    if (n + 1 + (int)strlen(range) <= PERP_TABLE_WIDTH)
      printf(" %s\n", range);
    else
      printf("\n%*s%s\n", 17, "", range);
    perp_wrap(stdout, 17, o->help);
  }
  free(opts);
}

int perp_cmd_info(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "json", 0, NULL, "as JSON: a list, one entry for each match" }, { 0 }
  };
  static const perp_cli cli = { "info",
                                "[KIND] NAME [--json]",
                                "Everything about one part: what it does, its source, order, "
                                "capabilities and options with unit, range and default.",
                                NULL,
                                "perp info baumgarte  # or, where a name is used twice: perp info "
                                "stab none",
                                flags,
                                1,
                                2 };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  int only = -1;
  const char *name = args.arg[args.n - 1];
  if (args.n == 2) {
    only = find_kind(args.arg[0]);
    if (only < 0 || kinds[only].kind == PERP_KIND_NONE) return unknown_kind(&args, args.arg[0]);
  }
  bool json = perp_args_get(&args, "json") != NULL;
  perp_json j = { .out = stdout, .indent = true };
  enum { MOST = 512 };
  const char *names[MOST];
  int n_names = 0, found = 0;
  for (int i = 0; i < N_KINDS; i++) {
    if (kinds[i].kind == PERP_KIND_NONE || (only >= 0 && i != only)) continue;
    const perp_desc *d;
    for (int p = 0; (d = perp_plugin_at(ctx, kinds[i].kind, p)) != NULL; p++) {
      if (n_names < MOST) names[n_names++] = d->name;
      if (strcmp(d->name, name) != 0) continue;
      if (json && found == 0) perp_json_open(&j, NULL, '[');
      if (json)
        perp_describe_json(&j, kinds[i].kind, d);
      else {
        if (found > 0) printf("\n");
        info_text(kinds[i].kind, d);
      }
      found++;
    }
  }
  if (found > 0) {
    if (json) perp_json_close(&j, ']');
    return PERP_EXIT_OK;
  }
  const char *close = perp_closest(name, names, n_names);
  if (close != NULL)
    return perp_usage_error(&args, "nothing is called '%s'; did you mean '%s'?", name, close);
  return perp_usage_error(&args, "nothing is called '%s' (perp list shows what there is)", name);
}
