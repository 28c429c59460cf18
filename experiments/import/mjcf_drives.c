/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits, springs, damping, dry friction and actuators of joints as drives.
 *
 * A joint: limits, and the servo -stiffness (q - springref) - damping q' without a bound; dry
 * friction is a motor of velocity 0 and that force.  An actuator of gear G on a joint, with F = g
 * ctrl + b0 + b1 (G q) + b2 (G q') within its range, acts by G F: the servo of stiffness -b1 G^2,
 * damping -b2 G^2 and the target, or velocity, where G F = 0; without both it is a motor that
 * pushes by |G F| until it is faster than anything. */
#include "experiments/import/mjcf_model.h"
#include "experiments/base/json.h"
#include "solvers/core/core.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MOST_CONTROLS = 60 };     /* a scene has at most 64 parameters */
static const double fast = 1000; /* rad/s or m/s */

static void drives_begin(perp_mj *mj, const char *name, const perp_mj_axis *axis, double zero)
{
  fputs("  - { name: ", mj->out);
  perp_write_quoted(mj->out, name);
  fputs(", joint: ", mj->out);
  perp_write_quoted(mj->out, axis->joint);
  fprintf(mj->out, ", axis: %s", axis->axis);
  perp_mj_number(mj, "zero", axis->sign * zero);
}

/* A joint that an equality constraint locks: where. */
static bool drives_locked(const perp_mj *mj, int j, double *at)
{
  const mjModel *robot = mj->m;
  if (perp_mj_disabled(mj, mjDSBL_EQUALITY | mjDSBL_CONSTRAINT)) return false;
  for (int e = 0; e < robot->neq; e++)
    if (robot->eq_type[e] == mjEQ_JOINT && robot->eq_active[e] && robot->eq_obj1id[e] == j &&
        robot->eq_obj2id[e] < 0) {
      *at = robot->eq_data[mjNEQDATA * e] + robot->qpos0[robot->jnt_qposadr[j]];
      return true;
    }
  return false;
}

/* Limits where the angle is known: the side that is beyond becomes infinite.  Is one left? */
static bool drives_limits(perp_mj *mj, const char *name, const perp_mj_axis *axis, double *lower,
                          double *upper)
{
  double *const side[] = { lower, upper };
  for (int i = 0; i < 2; i++) {
    if (*side[i] >= axis->least && *side[i] <= axis->most) continue;
    perp_mj_lost(mj,
                 "limit %.4g rad of joint %s: perp computes this angle between %.4g and %.4g only",
                 *side[i], name, axis->least, axis->most);
    *side[i] = i == 0 ? -HUGE_VAL : HUGE_VAL;
  }
  return *lower > -HUGE_VAL || *upper < HUGE_VAL;
}

static void drives_joint(perp_mj *mj, int j)
{
  const mjModel *robot = mj->m;
  const int dof = robot->jnt_dofadr[j], at = robot->jnt_qposadr[j];
  const perp_mj_axis *axis = &mj->axis[j];
  const char *name = perp_mj_name(mj, mjOBJ_JOINT, "joint", j);
  const bool passive = !perp_mj_disabled(mj, mjDSBL_PASSIVE);
  const double q = mj->d->qpos[at], k = passive ? robot->jnt_stiffness[j] : 0,
               c = passive ? robot->dof_damping[dof] : 0;
  const double dry = perp_mj_disabled(mj, mjDSBL_FRICTIONLOSS | mjDSBL_CONSTRAINT)
                         ? 0
                         : robot->dof_frictionloss[dof];
  double lower = robot->jnt_range[2 * j], upper = robot->jnt_range[2 * j + 1];
  bool limited = robot->jnt_limited[j] && !perp_mj_disabled(mj, mjDSBL_LIMIT | mjDSBL_CONSTRAINT);
  if (limited) limited = drives_limits(mj, name, axis, &lower, &upper);
  if (drives_locked(mj, j, &lower)) {
    upper = lower;
    limited = true;
  }
  if (limited || k > 0 || c > 0) {
    drives_begin(mj, name, axis, q);
    if (limited) {
      perp_mj_number(mj, "lower", axis->sign > 0 ? lower : -upper);
      perp_mj_number(mj, "upper", axis->sign > 0 ? upper : -lower);
    }
    if (k > 0) {
      perp_mj_number(mj, "stiffness", k);
      perp_mj_number(mj, "target", axis->sign * robot->qpos_spring[at]);
    }
    if (c > 0) perp_mj_number(mj, "damping", c);
    if (k > 0 || c > 0) perp_mj_number(mj, "max_force", HUGE_VAL);
    fputs(" }\n", mj->out);
  }
  if (limited && robot->jnt_margin[j] != 0)
    perp_mj_lost(mj, "margin %.4g of joint %s: in MuJoCo the limits act before they are reached",
                 robot->jnt_margin[j], name);
  if (dry > 0) {
    drives_begin(mj, perp_pool_printf(&mj->pool, "%s, dry friction", name), axis, q);
    perp_mj_number(mj, "velocity", 0);
    perp_mj_number(mj, "max_force", dry);
    fputs(" }\n", mj->out);
  }
  if (c > 0 || dry > 0 || limited) mj->dissipative = true;
}

/* What a joint without a drive would do: balls, free bodies, angles of a ball. */
static void drives_lost(perp_mj *mj, int j)
{
  const mjModel *robot = mj->m;
  const int dof = robot->jnt_dofadr[j], type = robot->jnt_type[j];
  const char *name = perp_mj_name(mj, mjOBJ_JOINT, "joint", j);
  const char *whose = type == mjJNT_BALL    ? "a ball joint"
                      : type == mjJNT_HINGE ? "an angle of a ball joint"
                      : type == mjJNT_SLIDE ? "a motion in a plane"
                                            : "a free body";
  const bool free = type == mjJNT_FREE;
  if (robot->jnt_limited[j] && !perp_mj_disabled(mj, mjDSBL_LIMIT | mjDSBL_CONSTRAINT))
    perp_mj_lost(mj, "limits [%.4g, %.4g] of joint %s, %s: the joint moves freely here",
                 robot->jnt_range[2 * j], robot->jnt_range[2 * j + 1], name, whose);
  if (perp_mj_disabled(mj, mjDSBL_PASSIVE)) return;
  if (robot->jnt_stiffness[j] != 0)
    perp_mj_lost(mj, "stiffness %.4g of joint %s, %s: a force towards the reference position",
                 robot->jnt_stiffness[j], name, whose);
  if (robot->dof_damping[dof] != 0 && !free)
    perp_mj_lost(mj, "damping %.4g of joint %s, %s: a force against the motion",
                 robot->dof_damping[dof], name, whose);
  if (robot->dof_frictionloss[dof] != 0 &&
      !perp_mj_disabled(mj, mjDSBL_FRICTIONLOSS | mjDSBL_CONSTRAINT))
    perp_mj_lost(mj, "dry friction %.4g of joint %s, %s: a force against the motion",
                 robot->dof_frictionloss[dof], name, whose);
}

/* ---- actuators ---- */

static double actuator_clip(const perp_mj *mj, int u, double ctrl)
{
  const mjModel *robot = mj->m;
  if (!robot->actuator_ctrllimited[u] || perp_mj_disabled(mj, mjDSBL_CLAMPCTRL)) return ctrl;
  return fmin(fmax(ctrl, robot->actuator_ctrlrange[2 * u]), robot->actuator_ctrlrange[2 * u + 1]);
}

/* Why an actuator has no drive; NULL: it has one. */
static const char *actuator_unfit(const perp_mj *mj, int u)
{
  const mjModel *robot = mj->m;
  const double *b = robot->actuator_biasprm + mjNBIAS * u;
  static const char *const transmissions[] = { "",       "",       "a slider-crank",
                                               "tendon", "a site", "contacts of a body" };
  const int trn = robot->actuator_trntype[u];
  if (trn != mjTRN_JOINT && trn != mjTRN_JOINTINPARENT)
    return trn >= 0 && trn < 6 ? transmissions[trn] : "no joint";
  const int j = robot->actuator_trnid[2 * u];
  if (robot->jnt_type[j] == mjJNT_FREE) return "a free body";
  if (mj->axis[j].joint == NULL)
    return robot->jnt_type[j] == mjJNT_SLIDE ? "a motion in a plane" : "an angle of a ball joint";
  if (robot->actuator_dyntype[u] != mjDYN_NONE) return "a joint, with an activation state";
  if (robot->actuator_gaintype[u] != mjGAIN_FIXED ||
      (robot->actuator_biastype[u] != mjBIAS_NONE && robot->actuator_biastype[u] != mjBIAS_AFFINE))
    return "a joint, with a nonlinear force";
  if (robot->actuator_biastype[u] == mjBIAS_AFFINE && (b[1] > 0 || b[2] > 0))
    return "a joint, with a spring or damper of negative coefficient";
  return NULL;
}

/* "A" or "A * control" or "A * control + B": a value that follows the control. */
static void actuator_value(perp_mj *mj, int u, const char *key, double a, double b, bool size)
{
  char factor[40], rest[40];
  if (mj->control[u] == NULL) {
    const double v = a * actuator_clip(mj, u, mj->ctrl[u]) + b;
    perp_mj_number(mj, key, size ? fabs(v) : v);
    return;
  }
  perp_format_real(a, factor, sizeof factor);
  perp_format_real(b, rest, sizeof rest);
  fprintf(mj->out, ", %s: \"%s%s * %s + (%s)%s\"", key, size ? "abs(" : "", factor, mj->control[u],
          rest, size ? ")" : "");
}

static void actuator_one(perp_mj *mj, int u)
{
  const mjModel *robot = mj->m;
  const int j = robot->actuator_trnid[2 * u];
  const char *name = perp_mj_name(mj, mjOBJ_ACTUATOR, "actuator", u),
             *unfit = actuator_unfit(mj, u);
  if (unfit != NULL) {
    const int trn = robot->actuator_trntype[u];
    const char *of = trn == mjTRN_JOINT || trn == mjTRN_JOINTINPARENT
                         ? perp_mj_name(mj, mjOBJ_JOINT, "joint", j)
                     : trn == mjTRN_TENDON ? perp_mj_name(mj, mjOBJ_TENDON, "tendon", j)
                                           : "";
    perp_mj_lost(mj, "actuator %s: in MuJoCo it drives %s%s%s", name, unfit,
                 of[0] != '\0' ? " " : "", of);
    return;
  }
  static const double none[3] = { 0 };
  const double sign = mj->axis[j].sign, G = sign * robot->actuator_gear[6 * u],
               g = robot->actuator_gainprm[mjNGAIN * u];
  const double *b = robot->actuator_biastype[u] == mjBIAS_AFFINE
                        ? robot->actuator_biasprm + mjNBIAS * u
                        : none;
  const double stiffness = -b[1] * G * G, damping = -b[2] * G * G,
               *range = robot->actuator_forcerange + 2 * u;
  const bool spring = stiffness > 0 || damping > 0, bounded = robot->actuator_forcelimited[u];
  const double most = bounded ? fabs(G) * fmax(fabs(range[0]), fabs(range[1])) : HUGE_VAL;
  if (bounded && range[0] != -range[1])
    perp_mj_lost(mj,
                 "force range [%.4g, %.4g] of actuator %s: the larger bound is used for both signs",
                 range[0], range[1], name);
  drives_begin(mj, name, &mj->axis[j], mj->d->qpos[robot->jnt_qposadr[j]]);
  if (stiffness > 0) {
    perp_mj_number(mj, "stiffness", stiffness);
    actuator_value(mj, u, "target", G * g / stiffness, G * b[0] / stiffness, false);
  } else if (damping > 0)
    actuator_value(mj, u, "velocity", G * g / damping, G * b[0] / damping, false);
  if (damping > 0) perp_mj_number(mj, "damping", damping);
  if (spring)
    perp_mj_number(mj, "max_force", most);
  else if (mj->control[u] != NULL) {
    char a[40], c[40], bound[40];
    perp_format_real(G * g, a, sizeof a);
    perp_format_real(G * b[0], c, sizeof c);
    perp_format_real(most, bound, sizeof bound);
    fprintf(mj->out, ", velocity: \"if(%s * %s + (%s) < 0, -%g, %g)\"", a, mj->control[u], c, fast,
            fast);
    if (bounded)
      fprintf(mj->out, ", max_force: \"min(abs(%s * %s + (%s)), %s)\"", a, mj->control[u], c,
              bound);
    else
      fprintf(mj->out, ", max_force: \"abs(%s * %s + (%s))\"", a, mj->control[u], c);
  } else {
    const double f = G * (g * actuator_clip(mj, u, mj->ctrl[u]) + b[0]);
    perp_mj_number(mj, "velocity", f < 0 ? -fast : fast);
    perp_mj_number(mj, "max_force", fmin(fabs(f), most));
  }
  fputs(" }\n", mj->out);
  mj->driven = true;
}

/* Controls as parameters of the scene, as many as it may have. */
static void actuator_controls(perp_mj *mj)
{
  static const char *const known[] = { "pi",   "sqrt", "sin", "cos",  "tan",  "asin",
                                       "acos", "atan", "exp", "log",  "abs",  "floor",
                                       "ceil", "mod",  "min", "max",  "if",   "atan2",
                                       "and",  "or",   "not", "true", "false" };
  const mjModel *robot = mj->m;
  mj->control = perp_pool_alloc(&mj->pool, (size_t)robot->nu + 1, sizeof *mj->control);
  if (robot->nu == 0 || robot->nu > MOST_CONTROLS) {
    if (robot->nu > 0)
      perp_mj_note(
          mj, "%d actuators: their controls are constants, as a scene has at most %d parameters",
          robot->nu, MOST_CONTROLS);
    return;
  }
  bool begun = false;
  for (int u = 0; u < robot->nu; u++) {
    if (actuator_unfit(mj, u) != NULL) continue;
    const char *name = perp_mj_name(mj, mjOBJ_ACTUATOR, "actuator", u);
    char *s = perp_pool_strdup(&mj->pool, name);
    for (char *c = s; *c != '\0'; c++)
      if (!isalnum((unsigned char)*c)) *c = '_';
    bool bad = !isalpha((unsigned char)s[0]);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) bad = bad || strcmp(s, known[k]) == 0;
    if (bad) s = perp_pool_printf(&mj->pool, "u_%s", s);
    for (int k = 0; k < u; k++)
      if (mj->control[k] != NULL && strcmp(mj->control[k], s) == 0) {
        s = perp_pool_printf(&mj->pool, "%s_%d", s, u);
        k = -1;
      }
    mj->control[u] = s;
    fprintf(mj->out, begun ? "  %s:" : "parameters:\n  %s:", s);
    begun = true;
    fputs(" { type: real", mj->out);
    perp_mj_number(mj, "default", actuator_clip(mj, u, mj->ctrl[u]));
    if (robot->actuator_ctrllimited[u] && !perp_mj_disabled(mj, mjDSBL_CLAMPCTRL)) {
      perp_mj_number(mj, "min", robot->actuator_ctrlrange[2 * u]);
      perp_mj_number(mj, "max", robot->actuator_ctrlrange[2 * u + 1]);
    }
    fputs(", help: ", mj->out);
    perp_write_quoted(mj->out, perp_pool_printf(&mj->pool, "Control of actuator %s.", name));
    fputs(" }\n", mj->out);
  }
}

void perp_mj_drives(perp_mj *mj)
{
  const mjModel *robot = mj->m;
  const bool off = perp_mj_disabled(mj, mjDSBL_ACTUATION);
  if (!off) actuator_controls(mj);
  if (off && robot->nu > 0) perp_mj_note(mj, "all actuators are disabled");
  fputs("drives:\n", mj->out);
  for (int j = 0; j < robot->njnt; j++)
    if (mj->axis[j].joint != NULL)
      drives_joint(mj, j);
    else
      drives_lost(mj, j);
  for (int u = 0; u < robot->nu && !off; u++) actuator_one(mj, u);
}

/* Forces that act from outside, and what the scene has not that nothing else speaks of. */

/* Damping of a free joint brakes the point that is the origin of the body: a force through the
 * centre of mass where these are the same. */
static void forces_damping(perp_mj *mj, int j)
{
  const mjModel *robot = mj->m;
  const int r = robot->jnt_bodyid[j];
  const double c = robot->dof_damping[robot->jnt_dofadr[j]];
  if (c == 0 || perp_mj_disabled(mj, mjDSBL_PASSIVE)) return;
  if (mju_norm3(mj->com + 3 * r) > 1e-12) {
    perp_mj_lost(
        mj,
        "damping %.4g of joint %s, a free body: a force at a point that is not the centre of mass",
        c, perp_mj_name(mj, mjOBJ_JOINT, "joint", j));
    return;
  }
  fputs("  - { kind: drag", mj->out);
  perp_mj_body(mj, "a", r);
  perp_mj_number(mj, "linear", c);
  perp_mj_number(mj, "angular", c);
  fputs(" }\n", mj->out);
  mj->dissipative = true;
}

void perp_mj_forces(perp_mj *mj)
{
  const mjModel *robot = mj->m;
  const double *g = robot->opt.gravity;
  const bool odd = (g[0] != 0 || g[1] != 0 || g[2] > 0) && !perp_mj_disabled(mj, mjDSBL_GRAVITY);
  fputs("forces:\n", mj->out);
  for (int r = 1; r < robot->nbody && odd; r++) {
    double mass = 0, f[3];
    if (mj->root[r] != r) continue;
    for (int b = r; b < robot->nbody; b++)
      if (mj->root[b] == r) mass += robot->body_mass[b];
    for (int i = 0; i < 3; i++) f[i] = mass * g[i];
    fputs("  - { kind: point", mj->out);
    perp_mj_body(mj, "a", r);
    perp_mj_vector(mj, "value", 3, f);
    fputs(" }\n", mj->out);
  }
  if (odd)
    perp_mj_note(
        mj, "gravity (%g, %g, %g) m/s^2 is not along -z: a constant force on each body replaces it",
        g[0], g[1], g[2]);
  for (int j = 0; j < robot->njnt; j++)
    if (robot->jnt_type[j] == mjJNT_FREE) forces_damping(mj, j);
}

/* ---- the rest ---- */

static void rest_tendon(perp_mj *mj, int t)
{
  const mjModel *robot = mj->m;
  int joints = 0, sites = 0, others = 0;
  for (int k = robot->tendon_adr[t]; k < robot->tendon_adr[t] + robot->tendon_num[t]; k++) {
    joints += robot->wrap_type[k] == mjWRAP_JOINT;
    sites += robot->wrap_type[k] == mjWRAP_SITE;
    others += robot->wrap_type[k] != mjWRAP_JOINT && robot->wrap_type[k] != mjWRAP_SITE;
  }
  const char *what = "";
  if (robot->tendon_limited[t])
    what = perp_pool_printf(&mj->pool, "%s, which limits its length to [%.4g, %.4g] m", what,
                            robot->tendon_range[2 * t], robot->tendon_range[2 * t + 1]);
  if (robot->tendon_stiffness[t] != 0)
    what = perp_pool_printf(&mj->pool, "%s, with a spring of %.4g N/m", what,
                            robot->tendon_stiffness[t]);
  if (robot->tendon_damping[t] != 0)
    what = perp_pool_printf(&mj->pool, "%s, with a damper of %.4g Ns/m", what,
                            robot->tendon_damping[t]);
  if (robot->tendon_frictionloss[t] != 0)
    what = perp_pool_printf(&mj->pool, "%s, with a dry friction of %.4g N", what,
                            robot->tendon_frictionloss[t]);
  if (what[0] == '\0') what = ", without a force of its own";
  if (joints > 0)
    perp_mj_lost(mj, "tendon %s, %d joint%s%s", perp_mj_name(mj, mjOBJ_TENDON, "tendon", t), joints,
                 joints > 1 ? "s" : "", what);
  else
    perp_mj_lost(mj, "tendon %s, %d site%s%s%s", perp_mj_name(mj, mjOBJ_TENDON, "tendon", t), sites,
                 sites != 1 ? "s" : "", others > 0 ? ", around geoms" : "", what);
}

void perp_mj_rest(perp_mj *mj)
{
  const mjModel *robot = mj->m;
  for (int j = 0; j < robot->njnt; j++) {
    const double armature = robot->dof_armature[robot->jnt_dofadr[j]];
    if (armature != 0)
      perp_mj_lost(mj, "armature %.4g of joint %s: inertia of this motion alone", armature,
                   perp_mj_name(mj, mjOBJ_JOINT, "joint", j));
  }
  for (int t = 0; t < robot->ntendon; t++) rest_tendon(mj, t);
  for (int b = 1; b < robot->nbody; b++)
    if (robot->body_mocapid[b] >= 0)
      perp_mj_note(mj, "body %s is moved from outside (mocap): it is fixed here",
                   perp_mj_name(mj, mjOBJ_BODY, "body", b));
  if (robot->opt.density != 0 || robot->opt.viscosity != 0)
    perp_mj_lost(mj, "a medium of density %.4g kg/m^3 and viscosity %.4g: drag on all bodies",
                 robot->opt.density, robot->opt.viscosity);
}
