/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces that act from outside, and what the scene has not that nothing else speaks of. */
#include "experiments/import/mjcf_private.h"

#include <math.h>
#include <string.h>

/* Damping of a free joint brakes the point that is the origin of the body: a force through the
 * centre of mass where these are the same. */
static void forces_damping(perp_mj *x, int j)
{
  const mjModel *m = x->m;
  const int r = m->jnt_bodyid[j];
  const double c = m->dof_damping[m->jnt_dofadr[j]];
  if (c == 0 || perp_mj_disabled(x, mjDSBL_PASSIVE)) return;
  if (mju_norm3(x->com + 3 * r) > 1e-12) {
    perp_mj_lost(
        x,
        "damping %.4g of joint %s, a free body: a force at a point that is not the centre of mass",
        c, perp_mj_name(x, mjOBJ_JOINT, "joint", j));
    return;
  }
  fputs("  - { kind: drag", x->out);
  perp_mj_body(x, "a", r);
  perp_mj_number(x, "linear", c);
  perp_mj_number(x, "angular", c);
  fputs(" }\n", x->out);
  x->dissipative = true;
}

void perp_mj_forces(perp_mj *x)
{
  const mjModel *m = x->m;
  const double *g = m->opt.gravity;
  const bool odd = (g[0] != 0 || g[1] != 0 || g[2] > 0) && !perp_mj_disabled(x, mjDSBL_GRAVITY);
  fputs("forces:\n", x->out);
  for (int r = 1; r < m->nbody && odd; r++) {
    double mass = 0, f[3];
    if (x->root[r] != r) continue;
    for (int b = r; b < m->nbody; b++)
      if (x->root[b] == r) mass += m->body_mass[b];
    for (int i = 0; i < 3; i++) f[i] = mass * g[i];
    fputs("  - { kind: point", x->out);
    perp_mj_body(x, "a", r);
    perp_mj_vector(x, "value", 3, f);
    fputs(" }\n", x->out);
  }
  if (odd)
    perp_mj_note(
        x, "gravity (%g, %g, %g) m/s^2 is not along -z: a constant force on each body replaces it",
        g[0], g[1], g[2]);
  for (int j = 0; j < m->njnt; j++)
    if (m->jnt_type[j] == mjJNT_FREE) forces_damping(x, j);
}

/* ---- the rest ---- */

static void rest_tendon(perp_mj *x, int t)
{
  const mjModel *m = x->m;
  int joints = 0, sites = 0, others = 0;
  for (int k = m->tendon_adr[t]; k < m->tendon_adr[t] + m->tendon_num[t]; k++) {
    joints += m->wrap_type[k] == mjWRAP_JOINT;
    sites += m->wrap_type[k] == mjWRAP_SITE;
    others += m->wrap_type[k] != mjWRAP_JOINT && m->wrap_type[k] != mjWRAP_SITE;
  }
  const char *what = "";
  if (m->tendon_limited[t])
    what = perp_pool_printf(&x->pool, "%s, which limits its length to [%.4g, %.4g] m", what,
                            m->tendon_range[2 * t], m->tendon_range[2 * t + 1]);
  if (m->tendon_stiffness[t] != 0)
    what = perp_pool_printf(&x->pool, "%s, with a spring of %.4g N/m", what,
                            m->tendon_stiffness[t]);
  if (m->tendon_damping[t] != 0)
    what = perp_pool_printf(&x->pool, "%s, with a damper of %.4g Ns/m", what, m->tendon_damping[t]);
  if (m->tendon_frictionloss[t] != 0)
    what = perp_pool_printf(&x->pool, "%s, with a dry friction of %.4g N", what,
                            m->tendon_frictionloss[t]);
  if (what[0] == '\0') what = ", without a force of its own";
  if (joints > 0)
    perp_mj_lost(x, "tendon %s, %d joint%s%s", perp_mj_name(x, mjOBJ_TENDON, "tendon", t), joints,
                 joints > 1 ? "s" : "", what);
  else
    perp_mj_lost(x, "tendon %s, %d site%s%s%s", perp_mj_name(x, mjOBJ_TENDON, "tendon", t), sites,
                 sites != 1 ? "s" : "", others > 0 ? ", around geoms" : "", what);
}

void perp_mj_rest(perp_mj *x)
{
  const mjModel *m = x->m;
  for (int j = 0; j < m->njnt; j++) {
    const double armature = m->dof_armature[m->jnt_dofadr[j]];
    if (armature != 0)
      perp_mj_lost(x, "armature %.4g of joint %s: inertia of this motion alone", armature,
                   perp_mj_name(x, mjOBJ_JOINT, "joint", j));
  }
  for (int t = 0; t < m->ntendon; t++) rest_tendon(x, t);
  for (int b = 1; b < m->nbody; b++)
    if (m->body_mocapid[b] >= 0)
      perp_mj_note(x, "body %s is moved from outside (mocap): it is fixed here",
                   perp_mj_name(x, mjOBJ_BODY, "body", b));
  if (m->opt.density != 0 || m->opt.viscosity != 0)
    perp_mj_lost(x, "a medium of density %.4g kg/m^3 and viscosity %.4g: drag on all bodies",
                 m->opt.density, m->opt.viscosity);
}
