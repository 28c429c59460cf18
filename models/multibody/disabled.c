/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies that are disabled for a time (Vondrak 2005, section 7.1), their definitions and the joints
 * that hold them; and parts that stop.
 *
 * The joint is a fixed one to the world.  That a simulation lets go and takes hold is in
 * contact_step/switches.c. */
#include "models/multibody/model_private.h"

#include <stdlib.h>
#include <string.h>

int perp_model_disabled(const perp_model *model)
{
  return model->disabled.n;
}

const perp_disabled_def *perp_model_disabled_of(const perp_model *model, int i)
{
  return i >= 0 && i < model->disabled.n ? &model->disabled.def[i] : NULL;
}

int perp_model_joint_disabled(const perp_model *model, int i)
{
  const int k = i - perp_disabled_joint(model, 0);
  return k >= 0 && k < model->disabled.n ? k : -1;
}

/* ---- building ---- */

static perp_status disabled_check_cue(perp_ctx *ctx, const perp_model *model, const perp_cue *cue,
                                      const char *when, const char *who)
{
  const int nqb = model->nqb, nvb = model->nvb;
  if (cue->kind == PERP_CUE_TIME && !(cue->time >= 0))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: '%s' must be a time >= 0: got %g s", who, when,
                     cue->time);
  if (cue->kind != PERP_CUE_COORDINATE) return PERP_OK;
  if (cue->body < 0 || cue->body >= model->n_bodies)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: body %d of '%s' does not exist (there are %d)", who,
                     cue->body, when, model->n_bodies);
  if (cue->coordinate < 0 || cue->coordinate >= nqb + nvb || !isfinite(cue->value))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: '%s' needs a finite value of one of the %d coordinates and rates of a "
                     "body: got coordinate %d, value %g",
                     who, when, nqb + nvb, cue->coordinate, cue->value);
  return PERP_OK;
}

perp_status perp_model_add_disabled(perp_ctx *ctx, perp_model *model, const perp_disabled_def *def,
                                    int *index)
{
  char buf[PERP_LABEL_MAX];
  const char *who = perp_model_label(buf, "disabled body", model->disabled.n, NULL);
  PERP_TRY(perp_model_building(ctx, model));
  if (def->body < 0 || def->body >= model->n_bodies)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: body %d does not exist (there are %d)", who, def->body,
                     model->n_bodies);
  for (int i = 0; i < model->disabled.n; i++)
    if (model->disabled.def[i].body == def->body)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: body %d is disabled by an earlier entry: merge the entries", who,
                       def->body);
  PERP_TRY(disabled_check_cue(ctx, model, &def->from, "from", who));
  PERP_TRY(disabled_check_cue(ctx, model, &def->until, "until", who));
  if (def->from.kind == PERP_CUE_CONTACT)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: a contact enables a body: use it for 'until', and a time or an event "
                     "for 'from'",
                     who);
  if (def->from.kind == PERP_CUE_TIME && !isfinite(def->from.time))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: 'from' is not finite: the body is never disabled",
                     who);
  if (def->from.kind == PERP_CUE_TIME && def->until.kind == PERP_CUE_TIME &&
      !(def->from.time < def->until.time))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: 'until' (%g s) must be later than 'from' (%g s)", who,
                     def->until.time, def->from.time);
  if (model->disabled.n == model->disabled.cap) {
    const int wanted = 2 * model->disabled.cap + 8;
    perp_disabled_def *list = realloc(model->disabled.def, (size_t)wanted * sizeof *list);
    if (list == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d disabled bodies", wanted);
    model->disabled.def = list;
    model->disabled.cap = wanted;
  }
  if (index != NULL) *index = model->disabled.n;
  model->disabled.def[model->disabled.n++] = *def;
  return PERP_OK;
}

int perp_model_stops(const perp_model *model)
{
  return model->stops.n;
}

static bool disabled_in(perp_stop_range range, int n)
{
  return range.first >= 0 && range.n >= 0 && range.first + range.n <= n;
}

perp_status perp_model_add_stop(perp_ctx *ctx, perp_model *model, const perp_stop_def *def)
{
  PERP_TRY(perp_model_building(ctx, model));
  if (!disabled_in(def->forces, model->n_forces) || !disabled_in(def->drives, model->n_drives) ||
      !disabled_in(def->joints, model->n_joints) || def->beyond == NULL)
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "parts that stop: the model has %d forces, %d drives and %d joints, and others "
        "are named, or no condition",
        model->n_forces, model->n_drives, model->n_joints);
  perp_stop_def *list = realloc(model->stops.def, (size_t)(model->stops.n + 1) * sizeof *list);
  if (list == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for parts that stop");
  model->stops.def = list;
  list[model->stops.n++] = *def;
  return PERP_OK;
}

/* What is known once all parts of the model are there. */
static perp_status disabled_fits(perp_ctx *ctx, const perp_model *model, int i)
{
  char buf[PERP_LABEL_MAX];
  const perp_disabled_def *def = &model->disabled.def[i];
  const perp_body_def *body = &model->body_def[def->body];
  const char *who = perp_model_label(buf, "disabled body", i, body->name);
  bool moves = false, shaped = false;
  for (int k = 0; k < 3; k++) {
    moves |= k < model->dim && body->v[k] != 0;
    moves |= (model->dim == 3 || k == 2) && body->w[k] != 0;
  }
  if (moves && def->from.kind == PERP_CUE_TIME && def->from.time == 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: it is disabled at the start and has a velocity: remove the velocity, or "
                     "disable it later",
                     who);
  for (int k = 0; k < model->motions.n; k++)
    if (model->motions.def[k].body == def->body)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: its motion is prescribed: a body has either a motion or times without "
                       "one",
                       who);
  for (int shape = 0; shape < model->n_shapes; shape++)
    shaped |= model->shape_def[shape].body == def->body;
  if (def->until.kind == PERP_CUE_CONTACT && !shaped)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: it has no shape, so that no contact can enable it: add a shape", who);
  return PERP_OK;
}

perp_status perp_disabled_join(perp_ctx *ctx, perp_model *model)
{
  perp_status status = PERP_OK;
  int joined = 0;
  for (int i = 0; i < model->disabled.n && status == PERP_OK; i++) {
    status = disabled_fits(ctx, model, i);
    if (status != PERP_OK) break;
    const perp_body_def *body = &model->body_def[model->disabled.def[i].body];
    perp_joint_def joint = { .name = "disabled",
                             .kind = body->particle ? PERP_JOINT_BALL : PERP_JOINT_FIXED,
                             .a = PERP_WORLD,
                             .b = model->disabled.def[i].body,
                             .collide = true,
                             .start = PERP_START_VIOLATES }; /* it may come to hold later */
    memcpy(joint.anchor_a, body->x, sizeof joint.anchor_a);
    status = perp_model_add_joint(ctx, model, &joint, NULL);
    if (status == PERP_OK) joined++;
  }
  if (status == PERP_OK) return PERP_OK;
  const int all = model->disabled.n;
  model->disabled.n = joined; /* so many have their joints */
  perp_disabled_part(model);
  model->disabled.n = all;
  return status;
}

void perp_disabled_part(perp_model *model)
{
  for (int i = 0; i < model->disabled.n; i++) {
    model->n_joints--;
    free((char *)(uintptr_t)model->joint_def[model->n_joints].name);
    free(model->curve[model->n_joints]);
  }
}
