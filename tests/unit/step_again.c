/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A step that is made twice from the same state, with what was remembered put back, has the same
 * bits both times, and so has a run after a restart: also after a problem that was not solved,
 * which gets a part of the budget in the next step. */
#include "models/contact/step/stepping.h"
#include "tests/run_model.h"

static perp_ctx ctx;

/* [nq + nv] */
static void step_again_state(const perp_stepping *w, double *y)
{
  const double *q, *v;
  double t;
  perp_stepping_state(w, &t, &q, &v);
  memcpy(y, q, (size_t)w->k.model->nq * sizeof *q);
  memcpy(y + w->k.model->nq, v, (size_t)w->k.model->nv * sizeof *v);
}

static void step_again_step(perp_stepping *w, double *y)
{
  perp_step_info info;
  if (perp_stepping_step(&ctx, w, w->t + 0.01, &info) != PERP_OK || info.reason < 0)
    bail("%s", ctx.msg);
  step_again_state(w, y);
}

static void again_of(const char *scene_text, const char *lcp, double budget, int steps)
{
  perp_scene scene = run_open(&ctx, scene_text);
  perp_parts parts;
  const run_parts names = {
    .formulation = "velocity", .contact = "cone", .stab = "post:velocity=true", .lcp = lcp
  };
  if (run_parse(&ctx, &names, &parts) != PERP_OK ||
      perp_parts_complete(&ctx, scene.model, &parts) != PERP_OK)
    bail("%s", ctx.msg);
  perp_contact_opts options = *(const perp_contact_opts *)parts.formulation.opts;
  options.budget = budget;
  options.closed = 1e-14; /* as of steps by their accuracy, which are made again */
  options.reuse = false;
  perp_stepping like = { 0 };
  void *ws;
  if (perp_stepping_create(&ctx, scene.model, &parts, &options, 1e6, &like, sizeof like,
                           perp_stepping_layout, &ws) != PERP_OK)
    bail("%s", ctx.msg);
  perp_stepping *w = ws;
  const perp_model *model = scene.model;
  const size_t nq = (size_t)model->nq, nv = (size_t)model->nv;
  double *before = calloc(nq + nv, sizeof *before), *first = calloc(nq + nv, sizeof *first),
         *start = calloc(nq + nv, sizeof *start);
  int differ = 0, unsolved = 0, moved = 0;
  for (int run = 0; run < 2; run++) {
    perp_stepping_restart(&ctx, w, 0, perp_model_q0(model), perp_model_v0(model));
    for (int k = 0; k < (run == 0 ? steps : 1); k++) {
      const double t = w->t;
      step_again_state(w, before);
      perp_contacts_keep(w->contacts, PERP_AT_END);
      const int64_t failures = perp_stepping_contacts(w)->failures;
      step_again_step(w, first);
      unsolved += perp_stepping_contacts(w)->failures > failures;
      if (run == 0 && k == 0) memcpy(start, first, (nq + nv) * sizeof *first);
      if (run == 1) moved += memcmp(start, first, (nq + nv) * sizeof *first) != 0;
      if (perp_stepping_at(&ctx, w, t, before, before + nq) != PERP_OK) bail("%s", ctx.msg);
      perp_contacts_put_back(w->contacts, PERP_AT_END);
      step_again_step(w, before);
      differ += memcmp(first, before, (nq + nv) * sizeof *first) != 0;
    }
  }
  ok(differ == 0, "%s by %s: %d of %d steps differ when they are made again", scene_text, lcp,
     differ, steps);
  ok(moved == 0, "the first step is the same after a restart");
  ok(unsolved > 0 || budget == 0, "%d steps had problems that were not solved", unsolved);
  free(start);
  free(before);
  free(first);
  perp_stepping_destroy(w);
  run_free(&parts);
  perp_scene_destroy(&scene);
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register_models(&ctx);
  again_of("stack:boxes=4", "auto", 0, 10);
  again_of("wall", "auto", 3e-4, 6);
  again_of("wall", "auto", 8.1e-3, 6);
  again_of("pyramid", "auto", 3e-4, 6);
  again_of("wall", "psor", 8.1e-3, 3);
  return tap_done();
}
