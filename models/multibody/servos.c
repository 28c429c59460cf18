/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/multibody/servos.h"

int perp_servos_other(const perp_model *model, bool motors, const char **what)
{
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *def = &model->drive_def[i];
    const bool servo = def->stiffness > 0 || def->damping > 0;
    const bool motor = def->max_force > 0 && !servo;
    *what = def->lower > -HUGE_VAL || def->upper < HUGE_VAL ? "has limits"
            : motor && !motors                              ? "is a motor without damping"
            : motor && isfinite(def->max_force) ? "is a motor of bounded force without damping"
                                                : NULL;
    if (*what != NULL) return i;
  }
  return -1;
}

/* J v of a body's part of the row; the world has none */
static double servos_rate(const perp_model *model, int body, const double *J, const double *v)
{
  double sum = 0;
  for (int i = 0; body >= 0 && i < model->nvb; i++) sum += J[i] * v[body * model->nvb + i];
  return sum;
}

static void servos_push(const perp_model *model, int body, const double *J, double force, double *f)
{
  for (int i = 0; body >= 0 && i < model->nvb; i++) f[body * model->nvb + i] += force * J[i];
}

void perp_servos_apply(const perp_model *model, const perp_eval *eval, double t, const double *v,
                       double *force, double *f)
{
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *def = &model->drive_def[i];
    const perp_drive *drive = &model->drive[i];
    double Ja[6], Jb[6], velocity, y = 0;
    if (def->max_force > 0 && (def->stiffness > 0 || def->damping > 0)) {
      const double x = perp_drive_row(model, eval, i, Ja, Jb),
                   error = perp_drive_error(model, eval, i, x, t, &velocity),
                   rate = servos_rate(model, drive->a, Ja, v) + servos_rate(model, drive->b, Jb, v);
      y = -def->stiffness * error - def->damping * (rate - velocity);
      y = fmin(fmax(y, -def->max_force), def->max_force);
      servos_push(model, drive->a, Ja, y, f);
      servos_push(model, drive->b, Jb, y, f);
    }
    if (force != NULL) force[i] = y;
  }
}
