/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp live: the playground, one page with perp in it as a WebAssembly module. */
#include "experiments/base/build.h"
#include "experiments/base/memory.h"
#include "experiments/base/shell.h"
#include "experiments/live/cmd_live.h"
#include "experiments/live/live_scenes.h"
#include "experiments/web/web.h"

#include <stdlib.h>

/* The methods that a page can choose, in the order of its controls. */
static const perp_kind kinds[] = { PERP_KIND_formulation, PERP_KIND_lcp, PERP_KIND_stab,
                                   PERP_KIND_contact,     PERP_KIND_ode, PERP_KIND_kkt,
                                   PERP_KIND_scene };
enum { KINDS = sizeof kinds / sizeof *kinds };

static perp_status live_missing(perp_ctx *ctx)
{
  return PERP_FAIL(
      ctx, PERP_ERR_EXTERNAL,
      "no page was written, since perp was built without its WebAssembly module (clang, lld, "
      "wasi-libc, libclang-rt-14-dev-wasm32): ./perp setup live installs them and builds perp with "
      "it");
}

/* Names of all methods of the program: the page tells which of them it has not. */
static void put_names(perp_ctx *ctx, perp_json *json)
{
  const perp_desc *desc;
  perp_json_open(json, "program", '{');
  for (int k = 0; k < KINDS; k++) {
    perp_json_open(json, perp_kind_name(kinds[k]), '[');
    for (int i = 0; (desc = perp_plugin_at(ctx, kinds[k], i)) != NULL; i++)
      if (perp_is_own(ctx, desc)) perp_json_text(json, NULL, desc->name);
    perp_json_close(json, ']');
  }
  perp_json_close(json, '}');
}

static perp_status live_start(perp_ctx *ctx, const perp_args *args, perp_json *json)
{
  perp_json_open(json, "start", '{');
  perp_json_text(json, "scene", args->n > 0 ? args->arg[0] : "stack:boxes=5");
  for (int k = 0; k < KINDS; k++) {
    const char *name = perp_kind_name(kinds[k]), *text = perp_args_get(args, name);
    perp_spec spec;
    if (kinds[k] == PERP_KIND_scene) text = args->n > 0 ? args->arg[0] : NULL;
    if (text == NULL) continue;
    PERP_TRY(perp_spec_parse(ctx, kinds[k], text, &spec));
    perp_spec_free(&spec);
    if (kinds[k] != PERP_KIND_scene) perp_json_text(json, name, text);
  }
  const char *against = perp_args_get(args, "against"), *at = perp_args_get(args, "h");
  if (against != NULL) {
    perp_spec spec;
    PERP_TRY(perp_spec_parse(ctx, PERP_KIND_lcp, against, &spec));
    perp_spec_free(&spec);
    perp_json_text(json, "against", against);
  }
  if (at != NULL) {
    double step;
    PERP_TRY(perp_parse_real(ctx, at, "s", &step));
    if (!(step > 0 && step <= 1))
      return PERP_FAIL(ctx, PERP_ERR_OPTION, "h = %s is outside (0, 1 s]", at);
    perp_json_real(json, "h", step);
  }
  perp_json_close(json, '}');
  return PERP_OK;
}

static perp_status live_page(perp_ctx *ctx, const perp_args *args, const char *path)
{
  size_t size, n = 0;
  char *module = perp_live_module(&size), *script = perp_web_file("live.js", &size), *text = NULL;
  perp_status status = module != NULL && script != NULL ? PERP_OK : live_missing(ctx);
  FILE *out = status == PERP_OK ? open_memstream(&text, &n) : NULL;
  if (status == PERP_OK && out == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the page");
  if (status == PERP_OK) {
    perp_json json = { .out = out };
    perp_json_members(&json, "{ schema %s, version %s", "perp-live/1", PERP_VERSION);
    status = live_start(ctx, args, &json);
    if (status == PERP_OK) status = perp_live_scenes(ctx, &json, args->arg, args->n);
    put_names(ctx, &json);
    perp_json_text(&json, "module", module);
    perp_json_close(&json, '}');
  }
  if (out != NULL) fclose(out);
  if (status == PERP_OK)
    status = perp_web_page_of(ctx, path, "perp live", script, " 'wasm-unsafe-eval'", text, n);
  free(text);
  free(script);
  free(module);
  return status;
}

static int cmd_live(perp_ctx *ctx, const perp_args *args)
{
  const char *out = perp_args_get(args, "output");
  const char *path = out != NULL ? out : "results/live.html";
  const perp_status status = live_page(ctx, args, path);
  if (status == PERP_ERR_EXTERNAL) return perp_refuse(ctx, PERP_EXIT_INFRA);
  if (status != PERP_OK) return perp_refuse(ctx, perp_exit_of(status));
  printf("%s\n", path);
  return PERP_EXIT_OK;
}

static const perp_flag live_flags[] = {
  { "output", 'o', "FILE.html", "Page to write (default: results/live.html)." },
  { "formulation", 0, "NAME", "Formulation that the page begins with." },
  { "lcp", 0, "NAME", "Solver of the contact problem that it begins with." },
  { "against", 0, "NAME", "A second solver of the contact problem, beside the first one." },
  { "stab", 0, "NAME", "Constraint stabilization that it begins with." },
  { "contact", 0, "NAME", "Contact and friction model that it begins with." },
  { "ode", 0, "NAME", "Integrator that it begins with." },
  { "kkt", 0, "NAME", "Solver of the equality-constrained dynamics that it begins with." },
  { "h", 0, "TIME", "Step size that it begins with, e.g. 5ms (default: that of the scene)." },
  { 0 }
};

const perp_command perp_live_command = {
  .cli.name = "live",
  .cli.usage = "[SCENE] [options]",
  .cli.summary =
      "Makes the playground: one page, for any browser and without a network, in which the solvers "
      "of perp run. Bodies are dragged, pushed and shot at with the mouse. Beside them the page "
      "shows what the solver does in each step: residual over iterations, active contacts, "
      "impulses, drift, energy and cost. Two solvers run beside each other under one mouse. "
      "Problems of the reader's own, up to 8 x 8, are solved pivot by pivot.",
  .cli.more =
      "The page has all scenes of perp but those that read other files; SCENE may be a scene file "
      "of yours. It has no SUNDIALS, Siconos, GSL integrators, CHOLMOD (schur-sparse, kkt-sparse, "
      "pdas) and third-party engines; the page lists what is left out. Its solvers take the same "
      "pivots as those of the program; figures differ in their last digits.\n\nThe page needs the "
      "WebAssembly module of perp: ./perp setup live.\n\nExit status: 0 the page was made, 5 perp "
      "was "
      "built without the module (the error names the packages).",
  .cli.example = "perp live stack:boxes=10 --lcp dantzig --against pgs -o live.html",
  .cli.flags = live_flags,
  .cli.min_args = 0,
  .cli.max_args = 1,
  .summary = "A page on which the solvers run, under the mouse",
  .run = cmd_live
};
