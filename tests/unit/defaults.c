/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Default parts follow from what the given ones can do, not from their names: every plug-in under
 * another name, and under one that begins like another's, gets the parts that it gets under its
 * own. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/study/describe.h"
#include "experiments/simulate/parts.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static const char *const scenes[] = { "chain:links=3", "stack:boxes=2", "motor" };
static const char *const names[] = { "mine", "velocity-of-mine", "block-gs", "velocity-implicit" };
enum { SCENES = sizeof scenes / sizeof *scenes, NAMES = sizeof names / sizeof *names };

/* What is complete with this one part given, as text; what was given stands as "given". */
static void defaults(const perp_model *model, const char *formulation, int part,
                     const perp_spec *given, char *out, size_t size)
{
  perp_parts parts = { 0 };
  if (part != PERP_PART_FORMULATION && formulation[0] != '\0' &&
      perp_spec_parse(&ctx, PERP_KIND_formulation, formulation, &parts.formulation) != PERP_OK)
    bail("%s", ctx.msg);
  *perp_part(&parts, part) = *given;
  perp_ctx quiet = ctx;
  perp_status status = perp_parts_complete(&quiet, model, &parts);
  size_t n = (size_t)snprintf(out, size, "%d", (int)status);
  for (int i = 0; i < PERP_PARTS; i++) {
    char text[200] = "given";
    const perp_spec *spec = perp_part(&parts, i);
    if (i != part && spec->d != NULL) perp_spec_format(spec, text, sizeof text);
    if (i != part && spec->d == NULL) memcpy(text, "none", 5);
    n += (size_t)snprintf(out + n, n < size ? size - n : 0, " %s", text);
  }
  *perp_part(&parts, part) = (perp_spec){ 0 };
  perp_parts_free(&parts);
}

/* Every plug-in of a kind that makes a difference, renamed. */
static int renamed(const perp_model *model, const char *formulation, int part, int *differ,
                   int *wrong)
{
  const perp_desc *d;
  char own[1200], other[1200], first[1200] = "";
  int compared = 0;
  for (int i = 0; (d = perp_plugin_at(&ctx, perp_part_kind(part), i)) != NULL; i++) {
    perp_spec spec;
    union {
      perp_formulation_desc formulation;
      perp_ode_desc ode;
      perp_kkt_desc kkt;
      perp_lcp_desc lcp;
      perp_stab_desc stab;
      perp_contact_desc contact;
      perp_desc d;
    } copy;
    static const size_t sizes[PERP_PARTS] = { [PERP_PART_FORMULATION] = sizeof(
                                                  perp_formulation_desc),
                                              [PERP_PART_ODE] = sizeof(perp_ode_desc),
                                              [PERP_PART_KKT] = sizeof(perp_kkt_desc),
                                              [PERP_PART_LCP] = sizeof(perp_lcp_desc),
                                              [PERP_PART_STAB] = sizeof(perp_stab_desc),
                                              [PERP_PART_CONTACT] = sizeof(perp_contact_desc) };
    if (perp_spec_parse(&ctx, perp_part_kind(part), d->name, &spec) != PERP_OK) bail("%s", ctx.msg);
    defaults(model, formulation, part, &spec, own, sizeof own);
    if (first[0] == '\0') memcpy(first, own, sizeof first);
    *differ += strcmp(first, own) != 0;
    memcpy(&copy, d, sizes[part]);
    for (int k = 0; k < NAMES; k++) {
      const perp_spec mine = { .d = &copy.d, .opts = spec.opts };
      copy.d.name = names[k];
      defaults(model, formulation, part, &mine, other, sizeof other);
      compared++;
      if (strcmp(own, other) == 0) continue;
      printf("# %s as %s with formulation '%s': %s\n# %s\n", d->name, names[k], formulation, own,
             other);
      (*wrong)++;
    }
    perp_spec_free(&spec);
  }
  return compared;
}

static void names_do_not_matter(void)
{
  int compared = 0, wrong = 0, differ[PERP_PARTS] = { 0 };
  for (int s = 0; s < SCENES; s++) {
    perp_spec spec;
    perp_scene scene;
    if (perp_spec_parse(&ctx, PERP_KIND_scene, scenes[s], &spec) != PERP_OK ||
        perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
      bail("%s", ctx.msg);
    for (int part = 0; part < PERP_PART_ENGINE; part++) { /* an engine has no parts beside it */
      compared += renamed(scene.model, "", part, &differ[part], &wrong);
      if (part != PERP_PART_FORMULATION)
        compared += renamed(scene.model, "acceleration", part, &differ[part], &wrong);
    }
    perp_scene_destroy(&scene);
    perp_spec_free(&spec);
  }
  ok(compared > 1000 && wrong == 0, "of %d plug-ins under other names %d get other defaults",
     compared, wrong);
  ok(differ[PERP_PART_FORMULATION] > 0 && differ[PERP_PART_ODE] > 0 && differ[PERP_PART_LCP] > 0 &&
         differ[PERP_PART_CONTACT] > 0,
     "formulations, integrators, contact solvers and models do decide about other parts");
}

/* `perp info` shows what a descriptor promises: every bit has a word. */
static void bits_have_names(void)
{
  bool all = true;
  for (int kind = 1; kind < PERP_KIND_COUNT; kind++) {
    const perp_desc *d;
    for (int i = 0; (d = perp_plugin_at(&ctx, (perp_kind)kind, i)) != NULL; i++)
      for (int b = 0; b < 32; b++)
        if (d->caps & 1u << b && perp_capability_name((perp_kind)kind, 1u << b) == NULL) {
          printf("# %s: bit %d has no name\n", d->name, b);
          all = false;
        }
  }
  ok(all, "every capability of every plug-in has a name");
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      perp_register_metrics(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  names_do_not_matter();
  bits_have_names();
  return tap_done();
}
