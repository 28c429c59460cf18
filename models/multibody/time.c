/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What depends on time: signals of the model and the numbers they stand beside. */
#include "models/multibody/model_private.h"

perp_status perp_model_check_signal(perp_ctx *ctx, const perp_model *model, perp_signal_ref signal,
                                    const char *who)
{
  if (signal >= 0 && signal <= model->signals.n) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_ARG,
                   "%s: signal %d does not exist: signals are numbered from 1 to %d", who, signal,
                   model->signals.n);
}

void perp_model_signal_at(const perp_model *model, perp_signal_ref signal, double t, double y[3])
{
  perp_signal_at(model->signals.list[signal - 1], t, y);
}

const perp_signal *perp_model_signal(const perp_model *model, perp_signal_ref signal)
{
  return signal > 0 && signal <= model->signals.n ? model->signals.list[signal - 1] : NULL;
}

int perp_model_signals(const perp_model *model)
{
  return model->signals.n;
}

perp_signal_ref perp_model_gravity_signal_of(const perp_model *model)
{
  return model->signals.gravity;
}

double perp_model_gravity_at(const perp_model *model, double t)
{
  return perp_model_value(model, model->gravity, model->signals.gravity, t);
}

bool perp_model_depends_on_time(const perp_model *model)
{
  if (model->driven || model->signals.gravity != 0 || model->surfaces.belts) return true;
  for (int force = 0; force < model->n_forces; force++)
    if (perp_force_promises(&model->force_def[force]) & PERP_FORCE_NEEDS_TIME) return true;
  for (int drive = 0; drive < model->n_drives; drive++)
    if (model->drive_def[drive].velocity_signal != 0 ||
        model->drive_def[drive].target_signal != 0 || model->drive_def[drive].turning != NULL)
      return true;
  return false;
}

double perp_drive_velocity(const perp_model *model, int i, double t, double *rate)
{
  const perp_drive_def *def = &model->drive_def[i];
  double y[3] = { 0 };
  if (def->turning != NULL) { /* as it is where b is in place */
    double q[4], w[3];
    def->turning->at(def->turning->user, t, q, w);
    if (rate != NULL) *rate = 0; /* of no motor */
    return perp_dot(3, def->along, w);
  }
  if (def->velocity_signal != 0) perp_model_signal_at(model, def->velocity_signal, t, y);
  if (rate != NULL) *rate = y[1];
  return def->velocity + y[0];
}

double perp_drive_target(const perp_model *model, int i, double t)
{
  const perp_drive_def *def = &model->drive_def[i];
  return perp_model_value(model, def->target, def->target_signal, t);
}
