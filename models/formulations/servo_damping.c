/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/servo_damping.h"

#include "models/multibody/model_private.h"
#include "solvers/kkt/kkt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 200 }; /* of a factorization that takes dependent rows */

double perp_servo_added(double h, double omega)
{
  const double y = h * omega, s = log1p(y * y) / 2, a = atan(y);
  return y > 0 ? s / hypot(s, a) : 0;
}

/* J M^-1 (J' + J_c' lambda) of the drive with J_c a = 0; 0: not known. */
static perp_status servo_mobility(perp_ctx *ctx, perp_model *model, const perp_kkt_desc *kkt,
                                  void *ws, int i, double *work, double *mobility)
{
  const perp_blocks *blocks = perp_model_blocks(model);
  const int nv = model->nv;
  double Ja[6], Jb[6], *f = work, *a = f + nv, *c = a + nv, *lambda = c + model->m;
  perp_stats stats = { 0 };
  memset(work, 0, (2 * (size_t)nv + 2 * (size_t)model->m) * sizeof *work);
  perp_drive_row(model, &model->eval, i, Ja, Jb);
  perp_drive_push(model, i, Ja, Jb, 1, f);
  PERP_TRY(kkt->solve(ctx, ws, blocks, f, c, a, lambda, &stats));
  *mobility = stats.reason < 0 ? 0 : perp_drive_product(model, i, Ja, Jb, a);
  return PERP_OK;
}

static perp_status servo_all(perp_ctx *ctx, perp_model *model, const perp_kkt_desc *kkt, void *ws,
                             double h, double *work, perp_servo_damping *out)
{
  perp_stats stats = { 0 };
  PERP_TRY(kkt->factor(ctx, ws, perp_model_assemble(model, 0, model->q0), &stats));
  if (stats.reason < 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the KKT system of the initial state is singular");
  for (int i = 0; i < model->n_drives; i++) {
    const perp_drive_def *def = &model->drive_def[i];
    double mobility;
    out[i] = (perp_servo_damping){ 0 };
    if (!(def->stiffness > 0) || !(def->max_force > 0)) continue;
    PERP_TRY(servo_mobility(ctx, model, kkt, ws, i, work, &mobility));
    if (!(mobility > 0)) continue;
    out[i].omega = sqrt(def->stiffness * mobility);
    out[i].ratio = def->damping * mobility / (2 * out[i].omega);
    out[i].added = perp_servo_added(h, out[i].omega);
  }
  return PERP_OK;
}

perp_status perp_servo_damping_of(perp_ctx *ctx, perp_model *model, double h,
                                  perp_servo_damping *out)
{
  const char *name = model->m <= ROWS_MOST ? "schur-svd" : "schur-sparse";
  const perp_kkt_desc *kkt = (const perp_kkt_desc *)perp_find(ctx, PERP_KIND_kkt, name);
  void *ws = NULL;
  perp_spec spec;
  double *work = calloc(2 * ((size_t)model->nv + (size_t)model->m) + 1, sizeof *work);
  if (work == NULL || kkt == NULL) {
    free(work);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the damping of servos");
  }
  perp_status status = perp_spec_parse(ctx, PERP_KIND_kkt, name, &spec);
  if (status == PERP_OK) {
    status = kkt->create(ctx, perp_model_blocks(model), spec.opts, &ws);
    perp_spec_free(&spec);
  }
  if (status == PERP_OK) status = servo_all(ctx, model, kkt, ws, h, work, out);
  if (ws != NULL) kkt->destroy(ws);
  free(work);
  return status;
}
