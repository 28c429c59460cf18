/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/parts.h"

#include "models/engines/engine_sim.h"

#include <string.h>

#define PART(part, uses)                                                                           \
  {                                                                                                \
#part, PERP_KIND_##part, uses, offsetof(perp_parts, part), offsetof(perp_request, part),       \
        offsetof(perp_result, part)                                                                \
  }
static const struct {
  const char *name;
  perp_kind kind;
  unsigned used; /* what a formulation that uses it says; 0: every one does */
  size_t in_parts, in_request, in_result;
} table[PERP_PARTS] = { [PERP_PART_FORMULATION] = PART(formulation, 0),
                        [PERP_PART_ODE] = PART(ode, PERP_FORM_USES_ODE),
                        [PERP_PART_KKT] = PART(kkt, PERP_FORM_USES_KKT),
                        [PERP_PART_LCP] = PART(lcp, PERP_FORM_USES_LCP),
                        [PERP_PART_STAB] = PART(stab, PERP_FORM_USES_STAB),
                        [PERP_PART_CONTACT] = PART(contact, PERP_FORM_USES_LCP),
                        [PERP_PART_ENGINE] = PART(engine, 0) };

const char *perp_part_name(int part)
{
  return table[part].name;
}

perp_kind perp_part_kind(int part)
{
  return table[part].kind;
}

perp_spec *perp_part(perp_parts *parts, int part)
{
  return (perp_spec *)(void *)((char *)parts + table[part].in_parts);
}

const char **perp_part_text(perp_request *request, int part)
{
  return (const char **)(void *)((char *)request + table[part].in_request);
}

const char *perp_part_used(const perp_result *result, int part)
{
  return (const char *)result + table[part].in_result;
}

void perp_scene_look(const perp_scene *scene, perp_scene_facts *facts)
{
  const perp_model *model = scene->model;
  *facts = (perp_scene_facts){ .bodies = model != NULL };
  if (model == NULL) return;
  facts->rows = perp_model_m(model);
  facts->shapes = perp_model_shapes(model);
  facts->drives = perp_model_drives(model);
}

/* What the scene lacks for the part to have a say; NULL: nothing. */
static const char *parts_lacks(const perp_scene_facts *facts, int part)
{
  const bool shapes = facts->shapes > 0, joints = facts->rows > 0;
  switch (part) {
  case PERP_PART_KKT:
    return joints ? NULL : "joints";
  case PERP_PART_STAB:
    return joints || shapes ? NULL : "joints and no contacts";
  case PERP_PART_LCP:
    return shapes || facts->drives > 0 ? NULL : "contacts, limits or motors";
  case PERP_PART_CONTACT:
    return shapes ? NULL : "contacts";
  default:
    return NULL;
  }
}

const char *perp_part_unused(const perp_scene_facts *facts, const char *scene,
                             const perp_desc *formulation, int part, char why[PERP_WHY_MAX])
{
  if (!facts->bodies) {
    if (part == PERP_PART_ODE) return NULL;
    snprintf(why, PERP_WHY_MAX, "in scene %.48s, a plain ODE problem without bodies", scene);
    return why;
  }
  if (part == PERP_PART_ENGINE) return NULL;
  if (formulation == &perp_engine_formulation.d) {
    snprintf(why, PERP_WHY_MAX, "with an external engine, which uses its own methods");
    return why;
  }
  const bool exact = part == PERP_PART_STAB && (formulation->caps & PERP_FORM_EXACT_JOINTS) &&
                     facts->shapes == 0;
  if (exact || (table[part].used != 0 && !(formulation->caps & table[part].used))) {
    snprintf(why, PERP_WHY_MAX, "with formulation %.48s", formulation->name);
    return why;
  }
  const char *missing = parts_lacks(facts, part);
  if (missing == NULL) return NULL;
  snprintf(why, PERP_WHY_MAX, "in scene %.48s, which has no %s", scene, missing);
  return why;
}

/* A part that was named, and then would be left out without a word. */
static perp_status parts_refuse(perp_ctx *ctx, int part, const char *text, const char *why)
{
  char others[256] = "";
  if (strncmp(why, "with formulation", 16) == 0) {
    /* "; with it: --formulation velocity, acceleration" */
    const size_t size = sizeof others;
    const perp_desc *desc;
    size_t n = 0;
    others[0] = '\0';
    for (int i = 0; (desc = perp_plugin_at(ctx, PERP_KIND_formulation, i)) != NULL; i++) {
      if (part == PERP_PART_STAB && (desc->caps & PERP_FORM_EXACT_JOINTS)) continue;
      if (!(desc->caps & table[part].used) || n + strlen(desc->name) + 64 > size) continue;
      n += (size_t)snprintf(others + n, size - n, "%s%s",
                            n == 0 ? ", or choose a formulation that uses one: " : ", ",
                            desc->name);
    }
  }
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%s %s has no effect %s: remove it%s",
                   table[part].name, text, why, others);
}

static perp_ode_control *control_of(const perp_spec *ode)
{
  return ode->opts; /* the first member of every ODE method's options */
}

perp_status perp_parts_read(perp_ctx *ctx, const perp_request *request, const perp_scene *scene,
                            const char *name, perp_parts *parts, bool *adaptive)
{
  char why[PERP_WHY_MAX];
  perp_scene_facts facts;
  perp_spec formulation = { 0 };
  perp_status status = PERP_OK;
  perp_request named = *request;
  *adaptive = false;
  for (int part = 0; part < PERP_PARTS; part++) {
    const char *text = *perp_part_text(&named, part);
    if (text != NULL && text[0] != '\0')
      PERP_TRY(perp_spec_parse(ctx, table[part].kind, text, perp_part(parts, part)));
  }
  if (!perp_engine_named(&parts->engine)) perp_spec_free(&parts->engine);
  perp_scene_look(scene, &facts);
  if (facts.bodies) PERP_TRY(perp_parts_formulation(ctx, parts, &formulation));
  for (int part = 0; part < PERP_PARTS && status == PERP_OK; part++)
    if (perp_part(parts, part)->d != NULL &&
        perp_part_unused(&facts, name, formulation.d, part, why) != NULL)
      status = parts_refuse(ctx, part, *perp_part_text(&named, part), why);
  /* what is not given: the defaults of a run, so that the result can name them */
  if (status == PERP_OK && facts.bodies) status = perp_parts_complete(ctx, scene->model, parts);
  if (status == PERP_OK && !facts.bodies && parts->ode.d == NULL)
    status = perp_spec_parse(ctx, PERP_KIND_ode, "rk4", &parts->ode);
  for (int part = 0; part < PERP_PARTS && status == PERP_OK; part++)
    if (perp_part_unused(&facts, name, formulation.d, part, why) != NULL)
      perp_spec_free(perp_part(parts, part));
  perp_spec_free(&formulation);
  if (status != PERP_OK || parts->ode.d == NULL) return status;
  /* a method that can choose its steps does so when nobody has */
  if (!(request->h > 0) && (parts->ode.d->caps & (PERP_ODE_EMBEDDED | PERP_ODE_VARIABLE_ORDER)) &&
      control_of(&parts->ode)->tol == 0)
    control_of(&parts->ode)->tol = 1e-9;
  *adaptive = control_of(&parts->ode)->tol > 0;
  return PERP_OK;
}

void perp_parts_write(const perp_parts *parts, perp_result *result)
{
  perp_parts borrowed = *parts;
  for (int i = 0; i < PERP_PARTS; i++) {
    const perp_spec *part = perp_part(&borrowed, i);
    char *text = (char *)(uintptr_t)perp_part_used(result, i);
    if (part->d != NULL) perp_spec_format(part, text, PERP_SPEC_MAX);
  }
}
