/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/multibody/servos.h"

int perp_servos_other(const perp_model *model, bool motors, const char **what)
{
  for (int drive = 0; drive < model->n_drives; drive++) {
    const perp_drive_def *def = &model->drive_def[drive];
    const bool motor = def->max_force > 0 && !perp_drive_is_servo(def);
    *what = def->lower > -HUGE_VAL || def->upper < HUGE_VAL ? "has limits"
            : motor && !motors                              ? "is a motor without damping"
            : motor && isfinite(def->max_force) ? "is a motor of bounded force without damping"
                                                : NULL;
    if (*what != NULL) return drive;
  }
  return -1;
}

void perp_servos_apply(const perp_model *model, const perp_eval *eval, double t, const double *v,
                       double *force, double *f)
{
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *def = &model->drive_def[i];
    double Ja[6], Jb[6], velocity, y = 0;
    if (def->max_force > 0 && perp_drive_is_servo(def)) {
      const double x = perp_drive_row(model, eval, i, Ja, Jb),
                   error = perp_drive_error(model, eval, i, x, t, &velocity),
                   rate = perp_drive_product(model, i, Ja, Jb, v);
      y = -def->stiffness * error - def->damping * (rate - velocity);
      y = fmin(fmax(y, -def->max_force), def->max_force);
      perp_drive_push(model, i, Ja, Jb, y, f);
    }
    if (force != NULL) force[i] = y;
  }
}

double perp_drives_potential(const perp_model *model, const perp_eval *eval, double t)
{
  double sum = 0;
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *def = &model->drive_def[i];
    if (!(def->stiffness > 0) || !(def->max_force > 0)) continue;
    double velocity;
    const double x = model->drive[i].turning != NULL ? 0 : perp_drive_coordinate(model, eval, i),
                 off = fabs(perp_drive_error(model, eval, i, x, t, &velocity)),
                 most = fmin(off, def->max_force / def->stiffness);
    sum += def->stiffness * most * (off - 0.5 * most);
  }
  return sum;
}
