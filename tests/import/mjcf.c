/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp's reader of MJCF against libmujoco: what both have compiled of a file, element by element.
 * libmujoco 2 does not read all of it: a file with newer elements has a twin that says the same
 * without them. */
#include "experiments/import/robot_inertia.h"
#include "experiments/import/robot_xml.h"
#include "models/geometry/kinematics.h"
#include "solvers/core/core.h"
#include "tests/import/models.h"
#include "tests/tap.h"

#include <mujoco/mujoco.h>
#include <string.h>

static const double tol = 1e-9;

typedef struct both {
  const char *file;
  perp_robot_report report;
  perp_robot robot;
  mjModel *m;
  mjData *d;
  bool single; /* libmujoco keeps meshes as 32-bit numbers */
  double most; /* largest difference of the kind that is compared */
} both;

static void differ(both *x, double got, double want, double scale)
{
  const double d = fabs(got - want) / fmax(scale, 1e-300);
  x->most = isfinite(d) ? fmax(x->most, d) : HUGE_VAL;
}

static void differ_n(both *x, int n, const double *got, const double *want, double scale)
{
  for (int i = 0; i < n; i++) differ(x, got[i], want[i], scale);
}

static void equal(both *x, const char *what, int got, int want)
{
  if (got == want) return;
  printf("# %s: %s is %d, not %d\n", x->file, what, got, want);
  x->most = HUGE_VAL;
}

static void open_both(both *x, const char *file, const char *twin, const char *key)
{
  char message[1000] = "";
  *x = (both){ .file = file };
  char *path = strdup(path_of(file));
  perp_robot_begin(&x->robot, &x->report, path, key);
  xmlDoc *doc = perp_xml_open(&x->robot, path, NULL);
  if (doc != NULL) perp_mjcf_read(&x->robot, doc);
  if (perp_robot_refused(&x->robot))
    bail("%s: %s:%d: %s", file, x->report.file.s, x->report.line, x->report.error.s);
  perp_xml_calls.xmlFreeDoc(doc);
  perp_robot_finish(&x->robot);
  perp_robot_pose(&x->robot);
  x->m = mj_loadXML(path_of(twin), NULL, message, sizeof message);
  if (x->m == NULL) bail("%s: %s", twin, message);
  x->d = mj_makeData(x->m);
  if (key != NULL) mj_resetDataKeyframe(x->m, x->d, mj_name2id(x->m, mjOBJ_KEY, key));
  mj_kinematics(x->m, x->d);
  mj_comPos(x->m, x->d);
  mj_comVel(x->m, x->d);
}

static void close_both(both *x)
{
  mj_deleteData(x->d);
  mj_deleteModel(x->m);
  perp_pool_free(&x->robot.pool);
  perp_text *const texts[] = { &x->report.scene, &x->report.said, &x->report.files,
                               &x->report.error, &x->report.hint, &x->report.file };
  for (int i = 0; i < 6; i++) perp_text_free(texts[i]);
}

/* Quaternions of one rotation: q or -q. */
static void differ_turn(both *x, const double got[4], const double want[4])
{
  const double sign = got[0] * want[0] + got[1] * want[1] + got[2] * want[2] + got[3] * want[3] < 0
                          ? -1
                          : 1;
  for (int i = 0; i < 4; i++) differ(x, sign * got[i], want[i], 1);
}

static const char *name_of(const both *x, int type, int id)
{
  const char *name = mj_id2name(x->m, type, id);
  return name != NULL ? name : "";
}

/* ---- elements ---- */

static void bodies(both *x)
{
  const perp_robot *r = &x->robot;
  equal(x, "the number of bodies", r->n_bodies, x->m->nbody);
  for (int b = 1; b < r->n_bodies && b < x->m->nbody; b++) {
    const perp_robot_body *body = &r->body[b];
    double R[9], I[9], com[3], v[6];
    if (strcmp(body->name, name_of(x, mjOBJ_BODY, b)) != 0) bail("%s: %s", x->file, body->name);
    equal(x, "a parent", body->parent, x->m->body_parentid[b]);
    equal(x, "a root", body->root, x->m->body_weldid[b]);
    differ(x, body->mass, x->m->body_mass[b], fmax(body->mass, 1e-6));
    mju_quat2Mat(R, x->m->body_iquat + 4 * b);
    double size = 0;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        I[i + 3 * j] = 0;
        for (int k = 0; k < 3; k++)
          I[i + 3 * j] += R[3 * i + k] * x->m->body_inertia[3 * b + k] * R[3 * j + k];
        size = fmax(size, fabs(I[i + 3 * j]));
      }
    /* MuJoCo stops turning the principal axes when they are right to about 1e-8, which changes the
     * moments by the square of that: the moments are judged here, the tensor in closed.c */
    double own[3], its[3], V[9];
    perp_robot_eigen(body->inertia, own, V);
    perp_robot_eigen(I, its, V);
    differ_n(x, 3, own, its, fmax(size, 1e-9));
    for (int i = 0; i < 9; i++)
      if (fabs(body->inertia[i] - I[i]) > (x->single ? 3e-7 : 1e-7) * fmax(size, 1e-9))
        equal(x, "an inertia", i, -1);
    mju_rotVecMat(com, body->com, x->d->xmat + 9 * b);
    for (int i = 0; i < 3; i++) com[i] += x->d->xpos[3 * b + i];
    if (body->mass > 0) differ_n(x, 3, com, x->d->xipos + 3 * b, 1);
    differ_n(x, 3, body->at, x->d->xpos + 3 * b, 1);
    differ_turn(x, body->turn, x->d->xquat + 4 * b);
    mj_objectVelocity(x->m, x->d, mjOBJ_XBODY, b, v, 0);
    differ_n(x, 3, body->turning, v, 1);
    differ_n(x, 3, body->velocity, v + 3, 1);
  }
}

static void joints(both *x)
{
  const perp_robot *r = &x->robot;
  const mjModel *m = x->m;
  equal(x, "the number of joints", r->n_joints, m->njnt);
  for (int j = 0; j < r->n_joints && j < m->njnt; j++) {
    const perp_robot_joint *joint = &r->joint[j];
    const int dof = m->jnt_dofadr[j], at = m->jnt_qposadr[j];
    static const int nq[] = { 7, 4, 1, 1 }, nv[] = { 6, 3, 1, 1 };
    equal(x, "a kind of joint", (int)joint->kind, m->jnt_type[j]);
    equal(x, "a body of a joint", joint->body, m->jnt_bodyid[j]);
    differ_n(x, nq[joint->kind], joint->q, x->d->qpos + at, 1);
    differ_n(x, nv[joint->kind], joint->v, x->d->qvel + dof, 1);
    differ(x, joint->damping, m->dof_damping[dof], 1);
    differ(x, joint->armature, m->dof_armature[dof], 1);
    differ(x, joint->frictionloss, m->dof_frictionloss[dof], 1);
    if (joint->kind == PERP_ROBOT_FREE) continue;
    differ_n(x, 3, joint->anchor, x->d->xanchor + 3 * j, 1);
    differ(x, joint->stiffness, m->jnt_stiffness[j], 1);
    differ(x, joint->margin, m->jnt_margin[j], 1);
    equal(x, "a joint is limited", joint->limited, m->jnt_limited[j]);
    if (joint->limited) differ_n(x, 2, joint->range, m->jnt_range + 2 * j, 1);
    if (joint->kind == PERP_ROBOT_BALL) continue;
    differ_n(x, 3, joint->along, x->d->xaxis + 3 * j, 1);
    differ(x, joint->ref, m->qpos0[at], 1);
    differ(x, joint->springref, m->qpos_spring[at], 1);
  }
}

/* meshes: MuJoCo moves the frame of a mesh to its centre: only where their vertices are. */
static void geoms(both *x)
{
  const perp_robot *r = &x->robot;
  const mjModel *m = x->m;
  equal(x, "the number of geoms", r->n_geoms, m->ngeom);
  for (int g = 0; g < r->n_geoms && g < m->ngeom; g++) {
    const perp_robot_geom *geom = &r->geom[g];
    double world[3], turn[4];
    static const int sizes[] = { 0, 0, 1, 2, 3, 2, 3, 0 };
    equal(x, "a kind of geom", (int)geom->kind, m->geom_type[g]);
    equal(x, "a body of a geom", geom->body, m->geom_bodyid[g]);
    equal(x, "contype", geom->contype, m->geom_contype[g]);
    equal(x, "conaffinity", geom->conaffinity, m->geom_conaffinity[g]);
    equal(x, "condim", geom->condim, m->geom_condim[g]);
    equal(x, "a priority", geom->priority, m->geom_priority[g]);
    differ_n(x, 3, geom->friction, m->geom_friction + 3 * g, 1);
    differ(x, geom->margin, m->geom_margin[g], 1);
    differ_n(x, sizes[geom->kind], geom->size, m->geom_size + 3 * g, 1);
    if (geom->kind == PERP_ROBOT_MESH) continue;
    mju_rotVecMat(world, geom->x, x->d->xmat + 9 * geom->body);
    for (int i = 0; i < 3; i++) world[i] += x->d->xpos[3 * geom->body + i];
    differ_n(x, 3, world, x->d->geom_xpos + 3 * g, 1);
    mju_mulQuat(turn, x->d->xquat + 4 * geom->body, geom->quat);
    double R[9];
    mju_quat2Mat(R, turn);
    if (geom->kind == PERP_ROBOT_PLANE || geom->kind == PERP_ROBOT_BOX ||
        geom->kind == PERP_ROBOT_ELLIPSOID || geom->kind == PERP_ROBOT_FIELD)
      for (int i = 0; i < 3; i++) /* axes, whichever way they point */
        for (int k = 0; k < 3; k++) {
          const double *W = x->d->geom_xmat + 9 * g;
          const double sign = R[k] * W[k] + R[3 + k] * W[3 + k] + R[6 + k] * W[6 + k] < 0 ? -1 : 1;
          differ(x, sign * R[3 * i + k], W[3 * i + k], 1);
        }
    else if (geom->kind != PERP_ROBOT_SPHERE) { /* round: the axis alone */
      const double *W = x->d->geom_xmat + 9 * g;
      const double sign = R[2] * W[2] + R[5] * W[5] + R[8] * W[8] < 0 ? -1 : 1;
      for (int i = 0; i < 3; i++) differ(x, sign * R[3 * i + 2], W[3 * i + 2], 1);
    }
  }
}

static void equalities(both *x)
{
  const perp_robot *r = &x->robot;
  const mjModel *m = x->m;
  equal(x, "the number of equalities", r->n_equalities, m->neq);
  for (int e = 0; e < r->n_equalities && e < m->neq; e++) {
    const perp_robot_equality *eq = &r->equality[e];
    const double *data = m->eq_data + mjNEQDATA * e;
    equal(x, "a kind of equality", (int)eq->kind, m->eq_type[e]);
    equal(x, "an equality is active", eq->active, m->eq_active[e]);
    equal(x, "a first element", eq->a, m->eq_obj1id[e]);
    equal(x, "a second element", eq->b, m->eq_obj2id[e]);
    if (eq->kind == PERP_ROBOT_CONNECT) {
      differ_n(x, 3, eq->point[0], data, 1);
      differ_n(x, 3, eq->point[1], data + 3, 1);
    } else if (eq->kind == PERP_ROBOT_WELD) {
      differ_n(x, 3, eq->point[1], data, 1);
      differ_n(x, 3, eq->point[0], data + 3, 1);
      differ_turn(x, eq->turn, data + 6);
    } else
      differ_n(x, 5, eq->poly, data, 1);
  }
}

static void actuators(both *x)
{
  const perp_robot *r = &x->robot;
  const mjModel *m = x->m;
  equal(x, "the number of actuators", r->n_actuators, m->nu);
  for (int u = 0; u < r->n_actuators && u < m->nu; u++) {
    const perp_robot_actuator *own = &r->actuator[u];
    if (strcmp(own->name, name_of(x, mjOBJ_ACTUATOR, u)) != 0) bail("%s: %s", x->file, own->name);
    equal(x, "control limits", own->ctrl_limited, m->actuator_ctrllimited[u]);
    differ_n(x, 2, own->ctrl_range, m->actuator_ctrlrange + 2 * u, 1);
    if (own->beyond != NULL) continue; /* lost */
    const int trn = m->actuator_trntype[u], id = m->actuator_trnid[2 * u];
    const bool single = trn == mjTRN_TENDON && own->at == PERP_ROBOT_AT_JOINT;
    const int first = single ? m->tendon_adr[id] : 0; /* a tendon of one joint is that joint */
    equal(x, "the target of an actuator", own->target,
          single                                      ? m->wrap_objid[first]
          : trn == mjTRN_JOINT || trn == mjTRN_TENDON ? id
                                                      : -1);
    equal(x, "force limits", own->force_limited, m->actuator_forcelimited[u]);
    differ_n(x, 2, own->force, m->actuator_forcerange + 2 * u, 1);
    differ(x, own->gear, m->actuator_gear[6 * u] * (single ? m->wrap_prm[first] : 1), 1);
    differ(x, own->ctrl, x->d->ctrl[u], 1);
    if (own->at != PERP_ROBOT_AT_JOINT) continue;
    differ(x, own->gain, m->actuator_gainprm[mjNGAIN * u], 1);
    if (m->actuator_biastype[u] == mjBIAS_AFFINE)
      differ_n(x, 3, own->bias, m->actuator_biasprm + mjNBIAS * u, 1);
  }
}

static void others(both *x)
{
  const perp_robot *r = &x->robot;
  const mjModel *m = x->m;
  equal(x, "the number of tendons", r->n_tendons, m->ntendon);
  equal(x, "the number of excludes", r->n_excludes, m->nexclude);
  equal(x, "the number of pairs", r->n_pairs, m->npair);
  differ(x, r->timestep, m->opt.timestep, 1);
  differ(x, r->density, m->opt.density, 1);
  differ(x, r->viscosity, m->opt.viscosity, 1);
  differ_n(x, 3, r->gravity, m->opt.gravity, 1);
  static const struct {
    const char *what;
    unsigned acts;
    int off;
  } flags[] = {
    { "equality", PERP_ROBOT_EQUALITIES, mjDSBL_EQUALITY | mjDSBL_CONSTRAINT },
    { "contact", PERP_ROBOT_CONTACTS, mjDSBL_CONTACT | mjDSBL_CONSTRAINT },
    { "limit", PERP_ROBOT_LIMITS, mjDSBL_LIMIT | mjDSBL_CONSTRAINT },
    { "frictionloss", PERP_ROBOT_DRY, mjDSBL_FRICTIONLOSS | mjDSBL_CONSTRAINT },
    { "gravity", PERP_ROBOT_GRAVITY, mjDSBL_GRAVITY },
    { "clampctrl", PERP_ROBOT_CLAMPS, mjDSBL_CLAMPCTRL },
    { "filterparent", PERP_ROBOT_PARENT_FILTER, mjDSBL_FILTERPARENT },
    { "actuation", PERP_ROBOT_ACTUATORS, mjDSBL_ACTUATION },
  };
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    equal(x, flags[i].what, (r->acts & flags[i].acts) != 0,
          (m->opt.disableflags & flags[i].off) == 0);
  for (int t = 0; t < r->n_tendons && t < m->ntendon; t++) {
    const perp_robot_tendon *tendon = &r->tendon[t];
    equal(x, "parts of a tendon", tendon->joints + tendon->sites + tendon->others,
          m->tendon_num[t]);
    differ(x, tendon->stiffness, m->tendon_stiffness[t], 1);
    differ(x, tendon->damping, m->tendon_damping[t], 1);
    differ(x, tendon->frictionloss, m->tendon_frictionloss[t], 1);
    equal(x, "a tendon is limited", tendon->limited, m->tendon_limited[t]);
    if (!isnan(tendon->rest[0])) differ(x, tendon->rest[0], m->tendon_lengthspring[t], 1);
  }
}

static void compare(const char *file, const char *twin, const char *key, bool single)
{
  static void (*const kinds[])(both *) = { bodies, joints, geoms, equalities, actuators, others };
  static const char *const words[] = { "bodies", "joints",    "geoms",
                                       "loops",  "actuators", "other elements" };
  both x;
  open_both(&x, file, twin != NULL ? twin : file, key);
  x.single = single;
  for (int k = 0; k < 6; k++) {
    x.most = 0;
    kinds[k](&x);
    below(x.most, single ? 3e-7 : tol, "%s%s%s: %s are MuJoCo's, %.1e", file,
          key != NULL ? " in keyframe " : "", key != NULL ? key : "", words[k], x.most);
  }
  close_both(&x);
}

int main(void)
{
  static const char *const files[] = { "mjcf/defaults.xml",
                                       "mjcf/orientations.xml",
                                       "mjcf/euler-sequences.xml",
                                       "mjcf/geoms.xml",
                                       "mjcf/inertial.xml",
                                       "mjcf/from-geoms.xml",
                                       "mjcf/never-geoms.xml",
                                       "mjcf/bounds.xml",
                                       "mjcf/total-mass.xml",
                                       "mjcf/limits.xml",
                                       "mjcf/limits-said.xml",
                                       "mjcf/include.xml",
                                       "mjcf/keyframes.xml",
                                       "mjcf/equalities.xml",
                                       "mjcf/actuators.xml",
                                       "mjcf/contacts.xml",
                                       "mjcf/tendons.xml",
                                       "mjcf/fixed-tendons.xml",
                                       "mjcf/coupled-tendons.xml",
                                       "mjcf/options.xml",
                                       "mjcf/pendulums.xml",
                                       "arm.xml",
                                       "humanoid.xml",
                                       "quadruped.xml",
                                       "fourbar.xml",
                                       "welds.xml",
                                       "planar.xml" };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) compare(files[i], NULL, NULL, false);
  compare("mjcf/keyframes.xml", NULL, "far", false);
  compare("mjcf/pendulums.xml", NULL, "go", false);
  compare("mjcf/axes.xml", NULL, "go", false);
  compare("mjcf/armature.xml", NULL, "go", false);
  compare("arm.xml", NULL, "ready", false);
  static const char *const twins[][2] = {
    { "mjcf/frames.xml", "mjcf/frames-flat.xml" },
    { "mjcf/replicate.xml", "mjcf/replicate-flat.xml" },
    { "mjcf/attach.xml", "mjcf/attach-flat.xml" },
    { "mjcf/actuators-new.xml", "mjcf/actuators-flat.xml" },
  };
  for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
    compare(twins[i][0], twins[i][1], NULL, false);
  compare("mjcf/mesh-inline.xml", NULL, NULL, true);
  compare("mjcf/fit.xml", NULL, NULL, true);
  compare("mjcf/fit-box.xml", NULL, NULL, true);
  return tap_done();
}
