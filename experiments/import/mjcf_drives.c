/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits, springs, damping, dry friction and actuators of joints as drives.
 *
 * A joint: limits, and the servo -stiffness (q - springref) - damping q' without a bound; dry
 * friction is a motor of velocity 0 and that force.  An actuator of gear G on a joint, with F = g
 * ctrl + b0 + b1 (G q) + b2 (G q') within its range, acts by G F: the servo of stiffness -b1 G^2,
 * damping -b2 G^2 and the target, or velocity, where G F = 0; without both it is a motor that
 * pushes by |G F| until it is faster than anything. */
#include "experiments/import/mjcf.h"
#include "experiments/base/json.h"
#include "solvers/core/core.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MOST_CONTROLS = 60 };     /* a scene has at most 64 parameters */
static const double fast = 1000; /* rad/s or m/s */

static void drives_begin(perp_mj *x, const char *name, const perp_mj_axis *axis, double zero)
{
  fputs("  - { name: ", x->out);
  perp_write_quoted(x->out, name);
  fputs(", joint: ", x->out);
  perp_write_quoted(x->out, axis->joint);
  fprintf(x->out, ", axis: %s", axis->axis);
  perp_mj_number(x, "zero", axis->sign * zero);
}

/* A joint that an equality constraint locks: where. */
static bool drives_locked(const perp_mj *x, int j, double *at)
{
  const mjModel *m = x->m;
  if (perp_mj_disabled(x, mjDSBL_EQUALITY | mjDSBL_CONSTRAINT)) return false;
  for (int e = 0; e < m->neq; e++)
    if (m->eq_type[e] == mjEQ_JOINT && m->eq_active[e] && m->eq_obj1id[e] == j &&
        m->eq_obj2id[e] < 0) {
      *at = m->eq_data[mjNEQDATA * e] + m->qpos0[m->jnt_qposadr[j]];
      return true;
    }
  return false;
}

/* Limits where the angle is known: the side that is beyond becomes infinite.  Is one left? */
static bool drives_limits(perp_mj *x, const char *name, const perp_mj_axis *axis, double *lower,
                          double *upper)
{
  double *const side[] = { lower, upper };
  for (int i = 0; i < 2; i++) {
    if (*side[i] >= axis->least && *side[i] <= axis->most) continue;
    perp_mj_lost(x,
                 "limit %.4g rad of joint %s: perp computes this angle between %.4g and %.4g only",
                 *side[i], name, axis->least, axis->most);
    *side[i] = i == 0 ? -HUGE_VAL : HUGE_VAL;
  }
  return *lower > -HUGE_VAL || *upper < HUGE_VAL;
}

static void drives_joint(perp_mj *x, int j)
{
  const mjModel *m = x->m;
  const int dof = m->jnt_dofadr[j], at = m->jnt_qposadr[j];
  const perp_mj_axis *axis = &x->axis[j];
  const char *name = perp_mj_name(x, mjOBJ_JOINT, "joint", j);
  const bool passive = !perp_mj_disabled(x, mjDSBL_PASSIVE);
  const double q = x->d->qpos[at], k = passive ? m->jnt_stiffness[j] : 0,
               c = passive ? m->dof_damping[dof] : 0;
  const double dry = perp_mj_disabled(x, mjDSBL_FRICTIONLOSS | mjDSBL_CONSTRAINT)
                         ? 0
                         : m->dof_frictionloss[dof];
  double lower = m->jnt_range[2 * j], upper = m->jnt_range[2 * j + 1];
  bool limited = m->jnt_limited[j] && !perp_mj_disabled(x, mjDSBL_LIMIT | mjDSBL_CONSTRAINT);
  if (limited) limited = drives_limits(x, name, axis, &lower, &upper);
  if (drives_locked(x, j, &lower)) {
    upper = lower;
    limited = true;
  }
  if (limited || k > 0 || c > 0) {
    drives_begin(x, name, axis, q);
    if (limited) {
      perp_mj_number(x, "lower", axis->sign > 0 ? lower : -upper);
      perp_mj_number(x, "upper", axis->sign > 0 ? upper : -lower);
    }
    if (k > 0) {
      perp_mj_number(x, "stiffness", k);
      perp_mj_number(x, "target", axis->sign * m->qpos_spring[at]);
    }
    if (c > 0) perp_mj_number(x, "damping", c);
    if (k > 0 || c > 0) perp_mj_number(x, "max_force", HUGE_VAL);
    fputs(" }\n", x->out);
  }
  if (limited && m->jnt_margin[j] != 0)
    perp_mj_lost(x, "margin %.4g of joint %s: in MuJoCo the limits act before they are reached",
                 m->jnt_margin[j], name);
  if (dry > 0) {
    drives_begin(x, perp_pool_printf(&x->pool, "%s, dry friction", name), axis, q);
    perp_mj_number(x, "velocity", 0);
    perp_mj_number(x, "max_force", dry);
    fputs(" }\n", x->out);
  }
  if (c > 0 || dry > 0 || limited) x->dissipative = true;
}

/* What a joint without a drive would do: balls, free bodies, angles of a ball. */
static void drives_lost(perp_mj *x, int j)
{
  const mjModel *m = x->m;
  const int dof = m->jnt_dofadr[j], type = m->jnt_type[j];
  const char *name = perp_mj_name(x, mjOBJ_JOINT, "joint", j);
  const char *whose = type == mjJNT_BALL    ? "a ball joint"
                      : type == mjJNT_HINGE ? "an angle of a ball joint"
                      : type == mjJNT_SLIDE ? "a motion in a plane"
                                            : "a free body";
  const bool free = type == mjJNT_FREE;
  if (m->jnt_limited[j] && !perp_mj_disabled(x, mjDSBL_LIMIT | mjDSBL_CONSTRAINT))
    perp_mj_lost(x, "limits [%.4g, %.4g] of joint %s, %s: the joint moves freely here",
                 m->jnt_range[2 * j], m->jnt_range[2 * j + 1], name, whose);
  if (perp_mj_disabled(x, mjDSBL_PASSIVE)) return;
  if (m->jnt_stiffness[j] != 0)
    perp_mj_lost(x, "stiffness %.4g of joint %s, %s: a force towards the reference position",
                 m->jnt_stiffness[j], name, whose);
  if (m->dof_damping[dof] != 0 && !free)
    perp_mj_lost(x, "damping %.4g of joint %s, %s: a force against the motion", m->dof_damping[dof],
                 name, whose);
  if (m->dof_frictionloss[dof] != 0 &&
      !perp_mj_disabled(x, mjDSBL_FRICTIONLOSS | mjDSBL_CONSTRAINT))
    perp_mj_lost(x, "dry friction %.4g of joint %s, %s: a force against the motion",
                 m->dof_frictionloss[dof], name, whose);
}

/* ---- actuators ---- */

static double actuator_clip(const perp_mj *x, int u, double ctrl)
{
  const mjModel *m = x->m;
  if (!m->actuator_ctrllimited[u] || perp_mj_disabled(x, mjDSBL_CLAMPCTRL)) return ctrl;
  return fmin(fmax(ctrl, m->actuator_ctrlrange[2 * u]), m->actuator_ctrlrange[2 * u + 1]);
}

/* Why an actuator has no drive; NULL: it has one. */
static const char *actuator_unfit(const perp_mj *x, int u)
{
  const mjModel *m = x->m;
  const double *b = m->actuator_biasprm + mjNBIAS * u;
  static const char *const transmissions[] = { "",       "",       "a slider-crank",
                                               "tendon", "a site", "contacts of a body" };
  const int trn = m->actuator_trntype[u];
  if (trn != mjTRN_JOINT && trn != mjTRN_JOINTINPARENT)
    return trn >= 0 && trn < 6 ? transmissions[trn] : "no joint";
  const int j = m->actuator_trnid[2 * u];
  if (m->jnt_type[j] == mjJNT_FREE) return "a free body";
  if (x->axis[j].joint == NULL)
    return m->jnt_type[j] == mjJNT_SLIDE ? "a motion in a plane" : "an angle of a ball joint";
  if (m->actuator_dyntype[u] != mjDYN_NONE) return "a joint, with an activation state";
  if (m->actuator_gaintype[u] != mjGAIN_FIXED ||
      (m->actuator_biastype[u] != mjBIAS_NONE && m->actuator_biastype[u] != mjBIAS_AFFINE))
    return "a joint, with a nonlinear force";
  if (m->actuator_biastype[u] == mjBIAS_AFFINE && (b[1] > 0 || b[2] > 0))
    return "a joint, with a spring or damper of negative coefficient";
  return NULL;
}

/* "A" or "A * control" or "A * control + B": a value that follows the control. */
static void actuator_value(perp_mj *x, int u, const char *key, double a, double b, bool size)
{
  char factor[40], rest[40];
  if (x->control[u] == NULL) {
    const double v = a * actuator_clip(x, u, x->ctrl[u]) + b;
    perp_mj_number(x, key, size ? fabs(v) : v);
    return;
  }
  perp_format_real(a, factor, sizeof factor);
  perp_format_real(b, rest, sizeof rest);
  fprintf(x->out, ", %s: \"%s%s * %s + (%s)%s\"", key, size ? "abs(" : "", factor, x->control[u],
          rest, size ? ")" : "");
}

static void actuator_one(perp_mj *x, int u)
{
  const mjModel *m = x->m;
  const int j = m->actuator_trnid[2 * u];
  const char *name = perp_mj_name(x, mjOBJ_ACTUATOR, "actuator", u), *unfit = actuator_unfit(x, u);
  if (unfit != NULL) {
    const int trn = m->actuator_trntype[u];
    const char *of = trn == mjTRN_JOINT || trn == mjTRN_JOINTINPARENT
                         ? perp_mj_name(x, mjOBJ_JOINT, "joint", j)
                     : trn == mjTRN_TENDON ? perp_mj_name(x, mjOBJ_TENDON, "tendon", j)
                                           : "";
    perp_mj_lost(x, "actuator %s: in MuJoCo it drives %s%s%s", name, unfit,
                 of[0] != '\0' ? " " : "", of);
    return;
  }
  static const double none[3] = { 0 };
  const double sign = x->axis[j].sign, G = sign * m->actuator_gear[6 * u],
               g = m->actuator_gainprm[mjNGAIN * u];
  const double *b = m->actuator_biastype[u] == mjBIAS_AFFINE ? m->actuator_biasprm + mjNBIAS * u
                                                             : none;
  const double stiffness = -b[1] * G * G, damping = -b[2] * G * G,
               *range = m->actuator_forcerange + 2 * u;
  const bool spring = stiffness > 0 || damping > 0, bounded = m->actuator_forcelimited[u];
  const double most = bounded ? fabs(G) * fmax(fabs(range[0]), fabs(range[1])) : HUGE_VAL;
  if (bounded && range[0] != -range[1])
    perp_mj_lost(x,
                 "force range [%.4g, %.4g] of actuator %s: the larger bound is used for both signs",
                 range[0], range[1], name);
  drives_begin(x, name, &x->axis[j], x->d->qpos[m->jnt_qposadr[j]]);
  if (stiffness > 0) {
    perp_mj_number(x, "stiffness", stiffness);
    actuator_value(x, u, "target", G * g / stiffness, G * b[0] / stiffness, false);
  } else if (damping > 0)
    actuator_value(x, u, "velocity", G * g / damping, G * b[0] / damping, false);
  if (damping > 0) perp_mj_number(x, "damping", damping);
  if (spring)
    perp_mj_number(x, "max_force", most);
  else if (x->control[u] != NULL) {
    char a[40], c[40], bound[40];
    perp_format_real(G * g, a, sizeof a);
    perp_format_real(G * b[0], c, sizeof c);
    perp_format_real(most, bound, sizeof bound);
    fprintf(x->out, ", velocity: \"if(%s * %s + (%s) < 0, -%g, %g)\"", a, x->control[u], c, fast,
            fast);
    if (bounded)
      fprintf(x->out, ", max_force: \"min(abs(%s * %s + (%s)), %s)\"", a, x->control[u], c, bound);
    else
      fprintf(x->out, ", max_force: \"abs(%s * %s + (%s))\"", a, x->control[u], c);
  } else {
    const double f = G * (g * actuator_clip(x, u, x->ctrl[u]) + b[0]);
    perp_mj_number(x, "velocity", f < 0 ? -fast : fast);
    perp_mj_number(x, "max_force", fmin(fabs(f), most));
  }
  fputs(" }\n", x->out);
  x->driven = true;
}

/* Controls as parameters of the scene, as many as it may have. */
static void actuator_controls(perp_mj *x)
{
  static const char *const known[] = { "pi",   "sqrt", "sin", "cos",  "tan",  "asin",
                                       "acos", "atan", "exp", "log",  "abs",  "floor",
                                       "ceil", "mod",  "min", "max",  "if",   "atan2",
                                       "and",  "or",   "not", "true", "false" };
  const mjModel *m = x->m;
  x->control = perp_pool_alloc(&x->pool, (size_t)m->nu + 1, sizeof *x->control);
  if (m->nu == 0 || m->nu > MOST_CONTROLS) {
    if (m->nu > 0)
      perp_mj_note(
          x, "%d actuators: their controls are constants, as a scene has at most %d parameters",
          m->nu, MOST_CONTROLS);
    return;
  }
  bool begun = false;
  for (int u = 0; u < m->nu; u++) {
    if (actuator_unfit(x, u) != NULL) continue;
    const char *name = perp_mj_name(x, mjOBJ_ACTUATOR, "actuator", u);
    char *s = perp_pool_strdup(&x->pool, name);
    for (char *c = s; *c != '\0'; c++)
      if (!isalnum((unsigned char)*c)) *c = '_';
    bool bad = !isalpha((unsigned char)s[0]);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) bad = bad || strcmp(s, known[k]) == 0;
    if (bad) s = perp_pool_printf(&x->pool, "u_%s", s);
    for (int k = 0; k < u; k++)
      if (x->control[k] != NULL && strcmp(x->control[k], s) == 0) {
        s = perp_pool_printf(&x->pool, "%s_%d", s, u);
        k = -1;
      }
    x->control[u] = s;
    fprintf(x->out, begun ? "  %s:" : "parameters:\n  %s:", s);
    begun = true;
    fputs(" { type: real", x->out);
    perp_mj_number(x, "default", actuator_clip(x, u, x->ctrl[u]));
    if (m->actuator_ctrllimited[u] && !perp_mj_disabled(x, mjDSBL_CLAMPCTRL)) {
      perp_mj_number(x, "min", m->actuator_ctrlrange[2 * u]);
      perp_mj_number(x, "max", m->actuator_ctrlrange[2 * u + 1]);
    }
    fputs(", help: ", x->out);
    perp_write_quoted(x->out, perp_pool_printf(&x->pool, "Control of actuator %s.", name));
    fputs(" }\n", x->out);
  }
}

void perp_mj_drives(perp_mj *x)
{
  const mjModel *m = x->m;
  const bool off = perp_mj_disabled(x, mjDSBL_ACTUATION);
  if (!off) actuator_controls(x);
  if (off && m->nu > 0) perp_mj_note(x, "all actuators are disabled");
  fputs("drives:\n", x->out);
  for (int j = 0; j < m->njnt; j++)
    if (x->axis[j].joint != NULL)
      drives_joint(x, j);
    else
      drives_lost(x, j);
  for (int u = 0; u < m->nu && !off; u++) actuator_one(x, u);
}

/* Forces that act from outside, and what the scene has not that nothing else speaks of. */

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
