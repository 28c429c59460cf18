/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small models and runs for the tests of formulations. */
#ifndef TESTS_RUN_MODEL_H
#define TESTS_RUN_MODEL_H

#include "models/models.h"
#include "tests/tap.h"

#include <string.h>

/* most tests name the first parts only */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* Parts by name; "" or NULL leaves a part empty. */
typedef struct run_parts {
  const char *formulation, *ode, *kkt, *stab, *lcp, *contact;
} run_parts;

__attribute__((unused)) static perp_status run_parse(perp_ctx *ctx, const run_parts *names,
                                                     perp_parts *parts)
{
  *parts = (perp_parts){ .formulation = { 0 } };
  const char *text[] = { names->formulation, names->ode, names->kkt,
                         names->stab,        names->lcp, names->contact };
  perp_spec *spec[] = { &parts->formulation, &parts->ode, &parts->kkt,
                        &parts->stab,        &parts->lcp, &parts->contact };
  perp_kind kind[] = { PERP_KIND_formulation, PERP_KIND_ode, PERP_KIND_kkt,
                       PERP_KIND_stab,        PERP_KIND_lcp, PERP_KIND_contact };
  for (int i = 0; i < 6; i++)
    if (text[i] != NULL && text[i][0] != 0)
      PERP_TRY(perp_spec_parse(ctx, kind[i], text[i], spec[i]));
  return PERP_OK;
}

/* The scene "NAME:key=value,..." */
__attribute__((unused)) static perp_scene run_open(perp_ctx *ctx, const char *text)
{
  perp_spec spec;
  perp_scene scene;
  if (perp_spec_parse(ctx, PERP_KIND_scene, text, &spec) != PERP_OK ||
      perp_scene_create(ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx->msg);
  perp_spec_free(&spec);
  return scene;
}

__attribute__((unused)) static void run_free(perp_parts *parts)
{
  perp_spec_free(&parts->formulation);
  perp_spec_free(&parts->ode);
  perp_spec_free(&parts->kkt);
  perp_spec_free(&parts->stab);
  perp_spec_free(&parts->lcp);
  perp_spec_free(&parts->contact);
}

/* A simulation or the end of the test. */
__attribute__((unused)) static perp_sim *run_start(perp_ctx *ctx, perp_model *model,
                                                   run_parts names, double h)
{
  perp_parts parts;
  perp_sim *sim = NULL;
  if (run_parse(ctx, &names, &parts) != PERP_OK ||
      perp_sim_create(ctx, model, &parts, h, &sim) != PERP_OK)
    bail("%s", ctx->msg);
  run_free(&parts);
  return sim;
}

/* A simulation of these parts is refused as unsupported, and the message has the word. */
__attribute__((unused)) static void run_refused(perp_ctx *ctx, perp_model *model, run_parts names,
                                                const char *word)
{
  perp_parts parts;
  perp_sim *sim = NULL;
  if (run_parse(ctx, &names, &parts) != PERP_OK) bail("%s", ctx->msg);
  ok(perp_sim_create(ctx, model, &parts, 1e-3, &sim) == PERP_ERR_UNSUPPORTED &&
         strstr(ctx->msg, word) != NULL,
     "refused: %s", ctx->msg);
  perp_sim_destroy(sim);
  run_free(&parts);
}

/* Steps to t_end; the reason of the last one. */
__attribute__((unused)) static perp_reason run_to(perp_ctx *ctx, perp_sim *sim, double t_end)
{
  perp_step_info info = { .reason = PERP_EXACT };
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  while (t < t_end && info.reason >= 0) {
    if (perp_sim_step(ctx, sim, t_end, &info) != PERP_OK) bail("%s", ctx->msg);
    perp_sim_state(sim, &t, &q, &v);
  }
  return info.reason;
}

/* The state at t_end of a fresh run; the reason. */
__attribute__((unused)) static perp_reason run_fresh(perp_ctx *ctx, perp_model *model,
                                                     run_parts names, double h, double t_end,
                                                     double *q_out, double *v_out)
{
  perp_sim *sim = run_start(ctx, model, names, h);
  perp_reason reason = run_to(ctx, sim, t_end);
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  if (q_out != NULL) memcpy(q_out, q, (size_t)perp_model_nq(model) * sizeof *q);
  if (v_out != NULL) memcpy(v_out, v, (size_t)perp_model_nv(model) * sizeof *v);
  perp_sim_destroy(sim);
  return reason;
}

__attribute__((unused)) static perp_model *run_model(perp_ctx *ctx, int dim)
{
  perp_model *model;
  if (perp_model_create(ctx, dim, &model) != PERP_OK) bail("%s", ctx->msg);
  return model;
}

__attribute__((unused)) static int run_body(perp_ctx *ctx, perp_model *model, perp_body_def def)
{
  int index;
  if (perp_model_add_body(ctx, model, &def, &index) != PERP_OK) bail("%s", ctx->msg);
  return index;
}

__attribute__((unused)) static void run_joint(perp_ctx *ctx, perp_model *model, perp_joint_def def)
{
  if (perp_model_add_joint(ctx, model, &def, NULL) != PERP_OK) bail("%s", ctx->msg);
}

__attribute__((unused)) static void run_drive(perp_ctx *ctx, perp_model *model, perp_drive_def def)
{
  if (perp_model_add_drive(ctx, model, &def, NULL) != PERP_OK) bail("%s", ctx->msg);
}

__attribute__((unused)) static void run_shape(perp_ctx *ctx, perp_model *model, perp_shape_def def)
{
  if (perp_model_add_shape(ctx, model, &def, NULL) != PERP_OK) bail("%s", ctx->msg);
}

__attribute__((unused)) static void run_force(perp_ctx *ctx, perp_model *model, perp_force_def def)
{
  if (perp_model_add_force(ctx, model, &def) != PERP_OK) bail("%s", ctx->msg);
}

__attribute__((unused)) static perp_model *run_finish(perp_ctx *ctx, perp_model *model)
{
  if (perp_model_finish(ctx, model) != PERP_OK) bail("%s", ctx->msg);
  return model;
}

/* n links of 0.1 m along x from the origin, joined by `kind` (hinges about y in space); rods of
 * 1 kg with a little thickness, at rest.  free_root leaves the first link unattached. */
__attribute__((unused)) static perp_model *run_chain(perp_ctx *ctx, int dim, int n,
                                                     perp_joint_kind kind, bool free_root)
{
  perp_model *model = run_model(ctx, dim);
  for (int i = 0; i < n; i++) {
    perp_body_def link = { .mass = perp_mass_box(1, 0.1, 0.02, 0.03) };
    /* the plane of motion is x, z in space and x, y in the plane */
    if (dim == 2) link.mass.inertia[8] = perp_mass_box(1, 0.1, 0.02, 0.03).inertia[4];
    link.x[0] = 0.1 * i + 0.05;
    run_body(ctx, model, link);
    perp_joint_def joint = {
      .kind = kind, .a = i - 1, .b = i, .anchor_b[0] = -0.05, .axis_a[1] = 1, .axis_b[1] = 1
    };
    if (i > 0) joint.anchor_a[0] = 0.05;
    if (i > 0 || !free_root) run_joint(ctx, model, joint);
  }
  return run_finish(ctx, model);
}

#endif
