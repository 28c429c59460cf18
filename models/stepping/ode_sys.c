/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model under an ODE solver. */
#include "models/stepping/constrained.h"

static const perp_model *ode_sys_model(const void *user)
{
  return *(const perp_model *const *)user;
}
static void ode_sys_retract(void *user, const double *q, const double *dq, double *q_out)
{
  perp_model_retract(ode_sys_model(user), q, dq, q_out);
}
static void ode_sys_difference(void *user, const double *q0, const double *q1, double *dq)
{
  perp_model_difference(ode_sys_model(user), q0, q1, dq);
}
static void ode_sys_dexpinv(void *user, const double *u, const double *v, double *du)
{
  perp_model_dexpinv(ode_sys_model(user), u, v, du);
}
static void ode_sys_project(void *user, double *q)
{
  perp_model_project(ode_sys_model(user), q);
}
static void ode_sys_qdot(void *user, const double *q, const double *v, double *qdot)
{
  perp_model_qdot(ode_sys_model(user), q, v, qdot);
}

perp_ode_sys perp_formulation_ode_sys(void *user)
{
  return (perp_ode_sys){ .nq = ode_sys_model(user)->nq,
                         .nv = ode_sys_model(user)->nv,
                         .caps = PERP_ODE_SYS_OPTIONAL_QDOT,
                         .user = user,
                         .retract = ode_sys_retract,
                         .difference = ode_sys_difference,
                         .dexpinv = ode_sys_dexpinv,
                         .project = ode_sys_project,
                         .qdot = ode_sys_qdot };
}
