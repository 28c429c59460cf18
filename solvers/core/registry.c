/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/optional.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[PERP_KIND_COUNT] = {
  [PERP_KIND_NONE] = "none",
  [PERP_KIND_scene] = "scene",
  [PERP_KIND_formulation] = "formulation",
  [PERP_KIND_ode] = "ode",
  [PERP_KIND_kkt] = "kkt",
  [PERP_KIND_lcp] = "lcp",
  [PERP_KIND_stab] = "stab",
  [PERP_KIND_contact] = "contact",
  [PERP_KIND_engine] = "engine",
  [PERP_KIND_metric] = "metric",
  [PERP_KIND_force] = "force",
  [PERP_KIND_joint] = "joint",
  [PERP_KIND_controller] = "controller",
};

const char *perp_kind_name(perp_kind kind)
{
  return kind > PERP_KIND_NONE && kind < PERP_KIND_COUNT ? kind_names[kind] : kind_names[0];
}

perp_kind perp_kind_of(const char *name)
{
  for (int k = PERP_KIND_NONE + 1; k < PERP_KIND_COUNT; k++)
    if (strcmp(kind_names[k], name) == 0) return (perp_kind)k;
  return PERP_KIND_NONE;
}

perp_status perp_register(perp_ctx *ctx, const perp_plugin *table)
{
  if (ctx->n_tables == PERP_MAX_TABLES)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "more than %d plug-in tables", PERP_MAX_TABLES);
  ctx->tables[ctx->n_tables++] = table;
  return PERP_OK;
}

perp_status perp_register_own(perp_ctx *ctx, const perp_plugin *table)
{
  PERP_TRY(perp_register(ctx, table));
  ctx->own |= UINT32_C(1) << (ctx->n_tables - 1);
  return PERP_OK;
}

bool perp_is_own(const perp_ctx *ctx, const perp_desc *desc)
{
  for (int table = 0; table < ctx->n_tables; table++)
    for (const perp_plugin *plugin = ctx->tables[table]; plugin->kind != PERP_KIND_NONE; plugin++)
      if (plugin->d == desc && (ctx->own >> table & 1)) return true;
  return false;
}

/* The i-th of a kind, of which only the name is needed. */
static const perp_desc *registry_at(const perp_ctx *ctx, perp_kind kind, int i)
{
  for (int table = 0; table < ctx->n_tables; table++)
    for (const perp_plugin *plugin = ctx->tables[table]; plugin->kind != PERP_KIND_NONE; plugin++)
      if (plugin->kind == kind && i-- == 0) return plugin->d;
  return NULL;
}

const char *perp_plugin_name(const perp_ctx *ctx, perp_kind kind, int i)
{
  const perp_desc *desc = registry_at(ctx, kind, i);
  return desc != NULL ? desc->name : NULL;
}

const perp_desc *perp_plugin_at(const perp_ctx *ctx, perp_kind kind, int i)
{
  const perp_desc *desc = registry_at(ctx, kind, i);
  if (desc != NULL && ctx->need != NULL) ctx->need(desc);
  return desc;
}

/* *d NULL: nobody knows the name. */
static perp_status registry_ask(perp_ctx *ctx, perp_kind kind, const char *name,
                                const perp_desc **desc)
{
  *desc = NULL;
  for (int table = 0; table < ctx->n_tables; table++)
    for (const perp_plugin *plugin = ctx->tables[table]; plugin->kind != PERP_KIND_NONE; plugin++)
      if (plugin->kind == kind && strcmp(plugin->d->name, name) == 0) {
        *desc = plugin->d;
        if (ctx->need != NULL) ctx->need(*desc);
        return PERP_OK;
      }
  return ctx->open != NULL ? ctx->open(ctx, kind, name, desc) : PERP_OK;
}

const perp_desc *perp_find(const perp_ctx *ctx, perp_kind kind, const char *name)
{
  perp_ctx quiet = *ctx;
  const perp_desc *desc;
  return registry_ask(&quiet, kind, name, &desc) == PERP_OK ? desc : NULL;
}

const perp_optional *perp_optional_absent(const perp_ctx *ctx, perp_kind kind, const char *text)
{
  const perp_optional *optional;
  for (int i = 0; (optional = perp_optional_at(i)) != NULL; i++) {
    const size_t n = strlen(optional->name);
    if (optional->kind == kind && strncmp(text, optional->name, n) == 0 &&
        (text[n] == '\0' || text[n] == ':'))
      return perp_find(ctx, kind, optional->name) == NULL ? optional : NULL;
  }
  return NULL;
}

/* " (valid: a, b, c)" of a few names, else " (perp list KIND)". */
static void registry_valid(const char *kind, const char *plural, const char *const *names, int n,
                           char *buf, size_t size)
{
  enum { FEW = 30 };
  size_t used = 0;
  for (int i = 0; i < n && n <= FEW && used < size; i++)
    used += (size_t)snprintf(buf + used, size - used, "%s%s", i == 0 ? " (valid: " : ", ",
                             names[i]);
  if (used > 0 && used + 1 < size)
    snprintf(buf + used, size - used, ")");
  else
    snprintf(buf, size, " (perp list %s%s)", kind, plural);
}

static perp_status registry_unknown(perp_ctx *ctx, perp_kind kind, const char *name)
{
  enum { MOST = 256 };
  const char *names[MOST];
  int n = 0;
  const perp_desc *desc;
  while (n < MOST && (desc = registry_at(ctx, kind, n)) != NULL) names[n++] = desc->name;
  const char *near = perp_closest(name, names, n), *k = perp_kind_name(kind);
  const char *s = kind == PERP_KIND_scene || kind >= PERP_KIND_force ? "s" : "";
  const perp_optional *absent = perp_optional_absent(ctx, kind, name);
  if (absent != NULL)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "%s '%s' needs %s, and this perp was built without it: ./perp setup %s", k,
                     absent->name, absent->packages, absent->part);
  for (int other = PERP_KIND_NONE + 1; other < PERP_KIND_force; other++)
    if (perp_find(ctx, (perp_kind)other, name) != NULL)
      return PERP_FAIL(ctx, PERP_ERR_OPTION, "unknown %s '%s': it is a %s (--%s %s)", k, name,
                       perp_kind_name((perp_kind)other), perp_kind_name((perp_kind)other), name);
  for (int other = PERP_KIND_force; other <= PERP_KIND_controller && near == NULL; other++)
    if (perp_find(ctx, (perp_kind)other, name) != NULL)
      return PERP_FAIL(ctx, PERP_ERR_OPTION, "unknown %s '%s': it is a %s, a part of scenes", k,
                       name, perp_kind_name((perp_kind)other));
  if (near != NULL)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "unknown %s '%s'; did you mean '%s'? (perp list %s%s)",
                     k, name, near, k, s);
  char valid[400];
  registry_valid(k, s, names, n, valid, sizeof valid);
  return PERP_FAIL(ctx, PERP_ERR_OPTION, "unknown %s '%s'%s", k, name, valid);
}

perp_status perp_spec_parse(perp_ctx *ctx, perp_kind kind, const char *text, perp_spec *spec)
{
  *spec = (perp_spec){ 0 };
  char name[1024]; /* of a file with its folders */
  const perp_desc *desc = NULL;
  const char *end = text;
  /* a name may hold colons ("gsl:rk8pd"): try ever longer prefixes */
  for (;;) {
    end += strcspn(end, ":");
    if ((size_t)(end - text) >= sizeof name)
      return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s name is too long: '%.40s...'",
                       perp_kind_name(kind), text);
    memcpy(name, text, (size_t)(end - text));
    name[end - text] = '\0';
    PERP_TRY(registry_ask(ctx, kind, name, &desc));
    if (desc != NULL || *end == '\0') break;
    end++;
  }
  if (desc == NULL) {
    size_t options = strcspn(text, "="); /* name the part before the options in the message */
    if (options < strlen(name)) {
      name[options] = '\0';
      char *colon = strrchr(name, ':');
      if (colon != NULL) *colon = '\0';
    }
    return registry_unknown(ctx, kind, name);
  }
  if (desc->opts_size > 0) {
    spec->opts = calloc(1, desc->opts_size);
    if (spec->opts == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the options of %s", desc->name);
    perp_opts_default(desc, spec->opts);
  }
  spec->d = desc;
  perp_status status = *end == ':' ? perp_opts_parse(ctx, desc, spec->opts, end + 1) : PERP_OK;
  if (status != PERP_OK) perp_spec_free(spec);
  return status;
}

int perp_spec_format(const perp_spec *spec, char *buf, size_t size)
{
  char opts[1024];
  int n = spec->opts == NULL ? 0 : perp_opts_format(spec->d, spec->opts, true, opts, sizeof opts);
  return snprintf(buf, size, n > 0 ? "%s:%s" : "%s", spec->d->name, opts);
}

void perp_spec_free(perp_spec *spec)
{
  free(spec->opts);
  *spec = (perp_spec){ 0 };
}

perp_status perp_spec_copy(perp_ctx *ctx, const perp_spec *from, perp_spec *to)
{
  *to = (perp_spec){ 0 };
  if (from->opts != NULL) {
    void *opts = malloc(from->d->opts_size);
    if (opts == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the options of %s", from->d->name);
    to->opts = memcpy(opts, from->opts, from->d->opts_size);
  }
  to->d = from->d;
  return PERP_OK;
}
