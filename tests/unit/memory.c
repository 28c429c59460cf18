/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory ends at every allocation in turn: what was asked for is refused with a reason, and
 * everything that was had until then is given back.  Problems, files, conversions, scenes, solvers
 * and simulations. */
#include "models/models.h"
#include "solvers/lcp/io/convert.h"
#include "tests/count_malloc.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;
static perp_lcp_problem cones, formed, dense; /* factored, with cones; the same, dense; another */
static perp_scene chain, stack;

typedef perp_status act(const char *what);

static perp_status generate(const char *what)
{
  perp_lcp_problem p;
  const perp_lcp_recipe recipe = { .family = what, .n = 12, .seed = 1, .factored = *what == 'w' };
  const perp_status status = perp_lcp_generate(&ctx, &recipe, &p);
  if (status == PERP_OK) perp_lcp_problem_free(&p);
  return status;
}

static perp_status form(const char *what)
{
  (void)what;
  perp_lcp_problem p;
  const perp_status status = perp_lcp_problem_form(&ctx, &cones, &p);
  if (status == PERP_OK) perp_lcp_problem_free(&p);
  return status;
}

static perp_status copy(const char *what)
{
  perp_lcp_problem p;
  const perp_status status = perp_lcp_problem_copy(&ctx, *what == 'f' ? &cones : &dense, &p);
  if (status == PERP_OK) perp_lcp_problem_free(&p);
  return status;
}

static perp_status pyramid(const char *what)
{
  (void)what;
  perp_lcp_problem p;
  const perp_status status = perp_lcp_pyramid(&ctx, &formed, 4, &p);
  if (status == PERP_OK) perp_lcp_problem_free(&p);
  return status;
}

static perp_status boxes(const char *what)
{
  (void)what;
  perp_lcp_problem p;
  const perp_status status = perp_lcp_boxes(&ctx, &formed, 0.7, &p);
  if (status == PERP_OK) perp_lcp_problem_free(&p);
  return status;
}

static perp_status pure(const char *what)
{
  (void)what;
  perp_lcp_problem p;
  perp_lcp_map *map;
  const perp_status status = perp_lcp_pure(&ctx, &dense, &p, &map);
  if (status == PERP_OK) {
    perp_lcp_map_free(map);
    perp_lcp_problem_free(&p);
  }
  return status;
}

static perp_status solver(const char *what)
{
  perp_spec spec;
  perp_lcp_solver *s;
  perp_status status = perp_spec_parse(&ctx, PERP_KIND_lcp, what, &spec);
  if (status != PERP_OK) return status;
  status = perp_lcp_create(&ctx, &spec, 12, 12, &s);
  if (status == PERP_OK) perp_lcp_destroy(s);
  perp_spec_free(&spec);
  return status;
}

static perp_status build(const char *what)
{
  perp_spec spec;
  perp_scene s;
  perp_status status = perp_spec_parse(&ctx, PERP_KIND_scene, what, &spec);
  if (status != PERP_OK) return status;
  status = perp_scene_create(&ctx, &spec, &s);
  if (status == PERP_OK) perp_scene_destroy(&s);
  perp_spec_free(&spec);
  return status;
}

static perp_status simulation(const perp_scene *scene, const char *what)
{
  perp_parts parts = { 0 };
  perp_sim *sim;
  perp_status status = perp_spec_parse(&ctx, PERP_KIND_formulation, what, &parts.formulation);
  if (status != PERP_OK) return status;
  status = perp_sim_create(&ctx, scene->model, &parts, scene->h, &sim);
  if (status == PERP_OK) perp_sim_destroy(sim);
  perp_spec_free(&parts.formulation);
  return status;
}

static perp_status joints(const char *what)
{
  return simulation(&chain, what);
}

static perp_status contacts(const char *what)
{
  return simulation(&stack, what);
}

static void must_open(const char *text, perp_scene *scene)
{
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, scene) != PERP_OK)
    bail("%s", ctx.msg);
  perp_spec_free(&spec);
}

static void ends(const char *name, act *f, const char *what)
{
  enum { MOST = 3000 };
  perp_status status = f(what); /* what a library keeps */
  if (status != PERP_OK) bail("%s %s: %s", name, what, ctx.msg);
  int refused = 0, silent = 0, left = 0, n = 0;
  for (n = 1; n < MOST; n++) {
    const long alive = count_alive;
    count_refuse = n;
    status = f(what);
    const bool over = count_refuse > 0; /* it needs fewer */
    count_refuse = 0;
    left += count_alive != alive;
    if (over) break;
    /* refused, by a reason; what can do without may be had all the same */
    refused += status == PERP_ERR_NOMEM;
    silent += status != PERP_OK && ctx.msg[0] == '\0';
  }
  ok(n < MOST && status == PERP_OK && left == 0 && silent == 0 && refused >= (n - 1) / 2 && n > 1,
     "%s %s: memory that ends at any of %d allocations (%d refused, %d left something, %d gave no "
     "reason)",
     name, what, n - 1, refused, left, silent);
}

/* SUNDIALS itself does not look at what malloc answers */
static bool is_peer(const perp_desc *d)
{
  return strncmp(d->name, "sundials:", 9) == 0;
}

static void all(const char *name, act *f, perp_kind kind, unsigned without)
{
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, kind, i)) != NULL; i++)
    if (!(d->caps & without) && !is_peer(d)) ends(name, f, d->name);
}

int main(void)
{
  if (!COUNTS_MALLOC) {
    skip("a sanitizer has its own allocator", "memory that ends");
    return tap_done();
  }
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const perp_lcp_recipe recipes[] = { { .family = "stack-cone", .n = 12, .factored = true },
                                      { .family = "boxed", .n = 6, .seed = 2 } };
  if (perp_lcp_generate(&ctx, &recipes[0], &cones) != PERP_OK ||
      perp_lcp_problem_form(&ctx, &cones, &formed) != PERP_OK ||
      perp_lcp_generate(&ctx, &recipes[1], &dense) != PERP_OK)
    bail("%s", ctx.msg);
  must_open("chain:links=3", &chain);
  must_open("stack:boxes=2", &stack);
  const perp_lcp_family *f;
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++)
    if (perp_lcp_family_rows(f, 12) == 12) ends("family", generate, f->name);
  ends("dense form", form, "");
  ends("copy", copy, "factored");
  ends("copy", copy, "dense");
  ends("pyramid", pyramid, "");
  ends("boxes", boxes, "");
  ends("pure", pure, "");
  all("solver", solver, PERP_KIND_lcp, PERP_LCP_PEER);
  all("joints", joints, PERP_KIND_formulation, 0);
  ends("contacts", contacts, "velocity");
  ends("contacts", contacts, "acceleration");
  ends("scene", build, "chain:links=3");
  ends("scene", build, "rolling-sphere");
  ends("scene", build, "four-bar");
  perp_scene_destroy(&chain);
  perp_scene_destroy(&stack);
  perp_lcp_problem_free(&cones);
  perp_lcp_problem_free(&formed);
  perp_lcp_problem_free(&dense);
  return tap_done();
}
