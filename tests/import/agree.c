/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Imported robots against MuJoCo itself, at random states: mass matrix, bias forces and
 * accelerations in its joint coordinates, angles and forces of drives, rows and residuals of loops.
 *
 * MuJoCo's bodies are where its own kinematics puts them; perp has to agree about the rest.  With
 * the Jacobian S of all bodies of perp by MuJoCo's velocities (mj_jac), v = S u:
 *
 *      M_mujoco = S' M S,   bias = S' (M a0 - f)
 *
 * and a of M a = f + J' lambda, J a = -Jdot v is S u' + a0,
 * where a0 is what bodies do when u' = 0.  Armature, which perp has not, is taken out on both
 * sides; limits, contacts and actuators are off; equality constraints are off, and compared for
 * themselves. */
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "models/multibody/model_private.h"
#include "tests/import/models.h"
#include "tests/tap.h"

#include <lapacke.h>
#include <mujoco/mujoco.h>
#include <string.h>

enum { STATES = 5 };
static const double tol = 1e-10; /* relative to the largest number of the kind */

static perp_ctx ctx;

typedef struct pair {
  const char *file;
  perp_spec spec;
  perp_scene scene;
  perp_model *p;
  mjModel *m;
  mjData *d;
  int n, nv;      /* bodies of perp, velocities of MuJoCo */
  int *body;      /* [n] of MuJoCo */
  double *offset; /* [3 n] centre of mass in the frame of MuJoCo's body */
  double *q, *v;  /* of perp */
  double *S;      /* [6 n][nv] */
  double *a;      /* [6 n] accelerations of bodies in MuJoCo */
} pair;

static void *take(size_t n)
{
  double *p = calloc(n + 1, sizeof *p);
  if (p == NULL) bail("no memory");
  return p;
}

/* Inertias that libmujoco 2 rounds: it stops turning principal axes at 1e-8, keeps meshes as 32-bit
 * numbers, and takes the volume of a box for that of a mesh.  The moments of the file itself: mass,
 * centre, then xx yy zz xy xz yz. */
static void exact_inertias(const char *file, mjModel *m)
{
  static const struct {
    const char *file, *body;
    double mass, com[3], J[6];
  } exact[] = {
    { "arm.xml", "elbow", 1.5, { 0.1, 0.02, 0.1 }, { 0.02, 0.03, 0.025, 0.002, -0.001, 0.003 } },
    /* a tetrahedron with three edges a = 0.2 along the axes: m = 1000 a^3 / 6, I = m (3/40, 1/80)
     * a^2 */
    { "free.xml",
      "rock",
      4. / 3,
      { 0.05, 0.05, 0.05 },
      { 0.004, 0.004, 0.004, 1. / 1500, 1. / 1500, 1. / 1500 } },
  };
  for (size_t k = 0; k < sizeof exact / sizeof *exact; k++) {
    if (strcmp(exact[k].file, file) != 0) continue;
    const int b = mj_name2id(m, mjOBJ_BODY, exact[k].body);
    const double *J = exact[k].J;
    double V[9] = { J[0], J[3], J[4], J[3], J[1], J[5], J[4], J[5], J[2] }, R[9];
    LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'U', 3, V, 3, m->body_inertia + 3 * b);
    mju_cross(R, V, V + 3); /* right-handed; rows of V are the principal axes */
    memcpy(V + 6, R, 3 * sizeof *R);
    mju_transpose(R, V, 3, 3);
    mju_mat2Quat(m->body_iquat + 4 * b, R);
    m->body_mass[b] = exact[k].mass;
    memcpy(m->body_ipos + 3 * b, exact[k].com, sizeof exact[k].com);
  }
}

static bool open_pair(pair *x, const char *file, const char *options)
{
  char message[1000] = "", text[1200];
  *x = (pair){ .file = file };
  snprintf(text, sizeof text, "%s%s", path_of(file), options);
  if (perp_spec_parse(&ctx, PERP_KIND_scene, text, &x->spec) != PERP_OK ||
      perp_scene_create(&ctx, &x->spec, &x->scene) != PERP_OK) {
    printf("# %s\n", ctx.msg);
    return false;
  }
  x->p = x->scene.model;
  x->m = mj_loadXML(path_of(file), NULL, message, sizeof message);
  if (x->m == NULL) bail("%s: %s", file, message);
  exact_inertias(file, x->m);
  x->d = mj_makeData(x->m);
  x->n = perp_model_bodies(x->p);
  x->nv = x->m->nv;
  x->body = take((size_t)x->n);
  x->offset = take(3 * (size_t)x->n);
  x->q = take(7 * (size_t)x->n);
  x->v = take(6 * (size_t)x->n);
  x->a = take(6 * (size_t)x->n);
  x->S = take(6 * (size_t)(x->n * x->nv));
  mj_kinematics(x->m, x->d);
  const double *q0 = perp_model_q0(x->p);
  for (int i = 0; i < x->n; i++) {
    const int b = x->body[i] = mj_name2id(x->m, mjOBJ_BODY, perp_model_body(x->p, i)->name);
    if (b < 0) bail("%s: MuJoCo has no body %s", file, perp_model_body(x->p, i)->name);
    double s[3];
    for (int k = 0; k < 3; k++) s[k] = q0[7 * i + k] - x->d->xpos[3 * b + k];
    mju_rotVecMatT(x->offset + 3 * i, s, x->d->xmat + 9 * b);
  }
  return true;
}

static void close_pair(pair *x)
{
  free(x->body);
  free(x->offset);
  free(x->q);
  free(x->v);
  free(x->a);
  free(x->S);
  mj_deleteData(x->d);
  mj_deleteModel(x->m);
  perp_scene_destroy(&x->scene);
  perp_spec_free(&x->spec);
}

/* A state away from the start by about `far`, and MuJoCo's answers there. */
static void state(pair *x, perp_rng *rng, double far)
{
  double *u = take((size_t)x->nv), jp[3 * 200], jr[3 * 200];
  if (x->nv > 200) bail("%s is larger than this test", x->file);
  mj_resetData(x->m, x->d);
  for (int i = 0; i < x->nv; i++) u[i] = perp_rng_uniform(rng, -far, far);
  mj_integratePos(x->m, x->d->qpos, u, 1);
  for (int i = 0; i < x->nv; i++) x->d->qvel[i] = perp_rng_uniform(rng, -2, 2);
  for (int i = 0; i < x->m->nu; i++) x->d->ctrl[i] = 0;
  mj_forward(x->m, x->d);
  mj_rnePostConstraint(x->m, x->d);
  for (int i = 0; i < x->n; i++) {
    const int b = x->body[i];
    const double *R = x->d->xmat + 9 * b;
    double arm[3], place[3], w[3] = { 0 }, acc[6], c[3], cc[3];
    mju_rotVecMat(arm, x->offset + 3 * i, R);
    for (int k = 0; k < 3; k++) x->q[7 * i + k] = place[k] = x->d->xpos[3 * b + k] + arm[k];
    memcpy(x->q + 7 * i + 3, x->d->xquat + 4 * b, 4 * sizeof(double));
    mj_jac(x->m, x->d, jp, jr, place, b);
    for (int j = 0; j < x->nv; j++) {
      double turn[3] = { jr[j], jr[x->nv + j], jr[2 * x->nv + j] }, own[3];
      for (int k = 0; k < 3; k++) w[k] += turn[k] * x->d->qvel[j];
      mju_rotVecMatT(own, turn, R);
      for (int k = 0; k < 3; k++) {
        x->S[(6 * i + k) * x->nv + j] = jp[k * x->nv + j];
        x->S[(6 * i + 3 + k) * x->nv + j] = own[k];
      }
    }
    mj_objectAcceleration(x->m, x->d, mjOBJ_XBODY, b, acc, 0);
    mju_cross(c, acc, arm);
    mju_cross(cc, w, arm);
    double wwr[3];
    mju_cross(wwr, w, cc);
    for (int k = 0; k < 3; k++) /* its world is lifted by gravity */
      x->a[6 * i + k] = acc[3 + k] + x->m->opt.gravity[k] + c[k] + wwr[k];
    mju_rotVecMatT(x->a + 6 * i + 3, acc, R);
  }
  for (int i = 0; i < 6 * x->n; i++) {
    x->v[i] = 0;
    for (int j = 0; j < x->nv; j++) x->v[i] += x->S[i * x->nv + j] * x->d->qvel[j];
  }
  free(u);
}

static double largest(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* y = S' x */
static void restrict_to_joints(const pair *x, const double *in, double *y)
{
  for (int j = 0; j < x->nv; j++) y[j] = 0;
  for (int i = 0; i < 6 * x->n; i++)
    for (int j = 0; j < x->nv; j++) y[j] += x->S[i * x->nv + j] * in[i];
}

/* ---- dynamics ---- */

static double mass_difference(const pair *x, const perp_blocks *B)
{
  const int nv = x->nv;
  double *M = take((size_t)(nv * nv)), *column = take((size_t)(6 * x->n)),
         *product = take((size_t)(6 * x->n)), *got = take((size_t)nv), most = 0;
  mj_fullM(x->m, M, x->d->qM);
  for (int j = 0; j < nv; j++) {
    for (int i = 0; i < 6 * x->n; i++) column[i] = x->S[i * nv + j];
    memset(product, 0, (size_t)(6 * x->n) * sizeof *product);
    perp_blocks_M(B, column, product);
    restrict_to_joints(x, product, got);
    for (int i = 0; i < nv; i++) most = fmax(most, fabs(got[i] - M[i * nv + j]));
  }
  most /= largest(nv * nv, M);
  free(M);
  free(column);
  free(product);
  free(got);
  return most;
}

static double bias_difference(const pair *x, const perp_blocks *B, const double *f)
{
  const int n = 6 * x->n, nv = x->nv;
  double *a0 = take((size_t)n), *force = take((size_t)n), *got = take((size_t)nv), most = 0;
  for (int i = 0; i < n; i++) {
    a0[i] = x->a[i];
    for (int j = 0; j < nv; j++) a0[i] -= x->S[i * nv + j] * x->d->qacc[j];
  }
  perp_blocks_M(B, a0, force);
  for (int i = 0; i < n; i++) force[i] -= f[i];
  restrict_to_joints(x, force, got);
  for (int j = 0; j < nv; j++) /* damping of free bodies is a force of perp, too */
    most = fmax(most, fabs(got[j] - (x->d->qfrc_bias[j] - x->d->qfrc_passive[j])));
  most /= largest(nv, x->d->qfrc_bias);
  free(a0);
  free(force);
  free(got);
  return most;
}

/* A further joint: MuJoCo's are disabled here, and its armature is zero. */
static bool is_loop(const perp_model *p, int joint)
{
  perp_coupling_def coupling;
  perp_armature_def armature;
  if (perp_model_coupling_of(p, joint, &coupling) || perp_model_armature_of(p, joint, &armature))
    return true;
  const char *name = perp_model_joint(p, joint)->name;
  return name != NULL && strncmp(name, "equality", 8) == 0;
}

/* perp's own accelerations: the saddle point system of the joints of the tree. */
static double acceleration_difference(const pair *x, const perp_blocks *B, const double *f)
{
  const int n = 6 * x->n, m = perp_model_m(x->p);
  double *gamma = take((size_t)m), *unit = take((size_t)n), *column = take((size_t)(n > m ? n : m));
  int *row = take((size_t)m), rows = 0;
  for (int j = 0; j < perp_model_joints(x->p); j++) {
    int count, first = perp_model_joint_row(x->p, j, &count);
    for (int k = 0; k < count && !is_loop(x->p, j); k++) row[rows++] = first + k;
  }
  const int size = n + rows;
  double *K = take((size_t)size * (size_t)size), *rhs = take((size_t)size), most = 0;
  int *pivot = take((size_t)size);
  perp_model_jdotv(x->p, 0, x->q, x->v, gamma);
  for (int j = 0; j < n; j++) {
    memset(unit, 0, (size_t)n * sizeof *unit);
    unit[j] = 1;
    perp_blocks_M(B, unit, column);
    for (int i = 0; i < n; i++) K[i + j * size] = column[i];
    memset(column, 0, (size_t)m * sizeof *column);
    perp_blocks_J(B, 1, unit, column);
    for (int i = 0; i < rows; i++) {
      K[n + i + j * size] = column[row[i]];
      K[j + (n + i) * size] = -column[row[i]];
    }
  }
  for (int i = 0; i < n; i++) rhs[i] = f[i];
  for (int i = 0; i < rows; i++) rhs[n + i] = -gamma[row[i]];
  const int info = LAPACKE_dgesv(LAPACK_COL_MAJOR, size, 1, K, size, pivot, rhs, size);
  for (int i = 0; i < n; i++) most = fmax(most, fabs(rhs[i] - x->a[i]));
  most = info == 0 ? most / largest(n, x->a) : HUGE_VAL;
  if (n - rows != x->nv) most = HUGE_VAL; /* other motions are free */
  free(gamma);
  free(unit);
  free(column);
  free(row);
  free(K);
  free(rhs);
  free(pivot);
  return most;
}

static void test_dynamics(const char *file, const char *options)
{
  pair x;
  perp_rng *rng = perp_rng_create(7);
  if (!open_pair(&x, file, options)) bail("%s cannot be imported", file);
  x.m->opt.disableflags |= mjDSBL_CONTACT | mjDSBL_LIMIT | mjDSBL_FRICTIONLOSS | mjDSBL_EQUALITY |
                           mjDSBL_ACTUATION;
  for (int i = 0; i < x.nv; i++) {
    x.m->dof_armature[i] = 0;
    if (x.m->jnt_type[x.m->dof_jntid[i]] != mjJNT_FREE) x.m->dof_damping[i] = 0;
  }
  for (int j = 0; j < x.m->njnt; j++) x.m->jnt_stiffness[j] = 0;
  for (int t = 0; t < x.m->ntendon; t++) /* but a line between two sites */
    if (x.m->wrap_type[x.m->tendon_adr[t]] != mjWRAP_SITE || x.m->tendon_num[t] != 2)
      x.m->tendon_stiffness[t] = x.m->tendon_damping[t] = 0;
  double mass = 0, bias = 0, acceleration = 0, *f = take((size_t)(6 * x.n));
  for (int s = 0; s < STATES; s++) {
    state(&x, rng, 1);
    const perp_blocks *B = perp_model_assemble(x.p, 0, x.q);
    perp_model_forces(x.p, 0, x.q, x.v, f);
    mass = fmax(mass, mass_difference(&x, B));
    bias = fmax(bias, bias_difference(&x, B, f));
    acceleration = fmax(acceleration, acceleration_difference(&x, B, f));
  }
  below(mass, tol, "%s: the mass matrix is MuJoCo's, %.1e", file, mass);
  below(bias, tol, "%s: bias forces are MuJoCo's, %.1e", file, bias);
  below(acceleration, tol, "%s: accelerations are MuJoCo's, %.1e", file, acceleration);
  free(f);
  perp_rng_destroy(rng);
  close_pair(&x);
}

/* ---- drives ---- */

/* The joint of MuJoCo that a drive acts on: perp's joint has the names of all of them, from the
 * first to the last one. *sign: the second of three hinges may turn against perp's node, axis_a x
 * axis_b. */
static int joint_of(const pair *x, const perp_drive_def *def, double *sign)
{
  const perp_joint_def *of = perp_model_joint(x->p, def->joint);
  const char *name = of->name, *part = name, *plus;
  const bool slides = of->kind == PERP_JOINT_PLANAR || of->kind == PERP_JOINT_CYLINDRICAL;
  if (slides) { /* the one of that kind, and which way it goes */
    const int wanted = def->axis == PERP_DRIVE_ALONG ? mjJNT_SLIDE : mjJNT_HINGE,
              b = mj_name2id(x->m, mjOBJ_BODY, perp_model_body(x->p, of->b)->name);
    int found = -1, hinge = -1;
    for (int j = x->m->body_jntadr[b]; j < x->m->body_jntadr[b] + x->m->body_jntnum[b]; j++) {
      if (x->m->jnt_type[j] == wanted) found = j;
      if (x->m->jnt_type[j] == mjJNT_HINGE) hinge = j;
    }
    *sign = mju_dot3(x->m->jnt_axis + 3 * found, x->m->jnt_axis + 3 * hinge) < 0 ? -1 : 1;
    return found;
  }
  for (int k = def->axis == PERP_DRIVE_A      ? 0
               : def->axis == PERP_DRIVE_NODE ? 1
                                              : 2;
       k > 0 && (plus = strchr(part, '+')) != NULL; k--)
    part = plus + 1;
  char joint[200];
  snprintf(joint, sizeof joint, "%.*s", (int)strcspn(part, "+"), part);
  const int j = mj_name2id(x->m, mjOBJ_JOINT, joint);
  if (j < 0) bail("%s: MuJoCo has no joint %s", x->file, joint);
  *sign = 1;
  if (def->axis != PERP_DRIVE_NODE) return j;
  const double *axis = x->m->jnt_axis + 3 * j;
  double node[3];
  mju_cross(node, axis - 3, axis + 3);
  *sign = mju_dot3(node, axis) < 0 ? -1 : 1;
  return j;
}

/* Jv + bias of a drive */
static double drive_times(const pair *x, int drive, const double *v, double bias)
{
  double Ja[6], Jb[6];
  perp_eval e = x->p->eval;
  perp_eval_poses(&e, x->p, 0, x->q);
  perp_drive_row(x->p, &e, drive, Ja, Jb);
  const perp_drive *k = &x->p->drive[drive];
  for (int i = 0; i < 6; i++) {
    if (k->a >= 0) bias += Ja[i] * v[6 * k->a + i];
    if (k->b >= 0) bias += Jb[i] * v[6 * k->b + i];
  }
  return bias;
}

/* Springs, dampers and servos: -stiffness (x - target) - damping (x' - velocity) within max_force.
 */
static double drive_force(const perp_drive_def *d, double q, double u)
{
  if (d->stiffness == 0 && d->damping == 0) /* a motor that is slower than its velocity */
    return d->velocity > u ? d->max_force : -d->max_force;
  const double f = -d->stiffness * (q - d->target) - d->damping * (u - d->velocity);
  return fmax(fmin(f, d->max_force), -d->max_force);
}

static void test_drives(const char *file, const char *options, const double *ctrl)
{
  pair x;
  perp_rng *rng = perp_rng_create(3);
  if (!open_pair(&x, file, options)) bail("%s cannot be imported", file);
  x.m->opt.disableflags |= mjDSBL_CONTACT | mjDSBL_LIMIT | mjDSBL_FRICTIONLOSS | mjDSBL_EQUALITY;
  for (int t = 0; t < x.m->ntendon; t++) x.m->tendon_stiffness[t] = 0; /* lost */
  double place = 0, rate = 0, acceleration = 0, most = 0, force = 0, scale = 0,
         *got = take((size_t)x.nv);
  for (int s = 0; s < STATES; s++) {
    state(&x, rng, 1);
    for (int i = 0; i < perp_model_drives(x.p); i++) {
      double sign;
      const int j = joint_of(&x, perp_model_drive(x.p, i), &sign), dof = x.m->jnt_dofadr[j];
      perp_eval e = x.p->eval;
      perp_eval_poses(&e, x.p, 0, x.q);
      const double at = perp_model_drive_coordinate(x.p, x.q, i),
                   bias = perp_drive_bias(x.p, &e, i, x.v);
      place = fmax(place, fabs(remainder(at - sign * x.d->qpos[x.m->jnt_qposadr[j]], 2 * M_PI)));
      rate = fmax(rate, fabs(drive_times(&x, i, x.v, 0) - sign * x.d->qvel[dof]));
      acceleration = fmax(acceleration,
                          fabs(drive_times(&x, i, x.a, bias) - sign * x.d->qacc[dof]));
      most = fmax(most, fabs(x.d->qacc[dof]));
    }
    for (int u = 0; ctrl != NULL && u < x.m->nu; u++) x.d->ctrl[u] = ctrl[u];
    mj_forward(x.m, x.d);
    memset(got, 0, (size_t)x.nv * sizeof *got);
    for (int i = 0; i < perp_model_drives(x.p); i++) {
      const perp_drive_def *def = perp_model_drive(x.p, i);
      double sign;
      const int j = joint_of(&x, def, &sign), dof = x.m->jnt_dofadr[j];
      if (def->max_force > 0 && (def->name == NULL || strstr(def->name, "dry") == NULL))
        got[dof] += sign *
                    drive_force(def, sign * x.d->qpos[x.m->jnt_qposadr[j]], sign * x.d->qvel[dof]);
    }
    for (int i = 0; i < x.nv; i++) {
      const double want = x.d->qfrc_passive[i] + x.d->qfrc_actuator[i];
      force = fmax(force, fabs(got[i] - want));
      scale = fmax(scale, fabs(want));
    }
  }
  ok(perp_model_drives(x.p) > 0, "%s: there are drives", file);
  below(place, tol, "%s: coordinates of drives are MuJoCo's, %.1e", file, place);
  below(rate, tol, "%s: so are their rates, %.1e", file, rate);
  below(acceleration, tol * most, "%s: and accelerations, %.1e of %.3g", file, acceleration, most);
  below(force, tol * scale, "%s: springs, dampers and servos push as MuJoCo's, %.1e of %.3g", file,
        force, scale);
  free(got);
  perp_rng_destroy(rng);
  close_pair(&x);
}

/* ---- loops ---- */

/* The largest part of rows P [k][nv] that is no combination of rows E [k][nv]. */
static double span_difference(int k, int nv, const double *P, const double *E)
{
  double *A = take((size_t)(nv * k)), *b = take((size_t)(nv * k)), *x = take((size_t)(nv * k));
  for (int i = 0; i < k; i++)
    for (int j = 0; j < nv; j++) {
      A[j + i * nv] = E[i * nv + j];
      b[j + i * nv] = x[j + i * nv] = P[i * nv + j];
    }
  double most = 0;
  if (LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', nv, k, k, A, nv, x, nv) != 0) most = HUGE_VAL;
  for (int i = 0; i < k; i++)
    for (int j = 0; j < nv; j++) {
      double sum = -b[j + i * nv];
      for (int l = 0; l < k; l++) sum += x[l + i * nv] * E[l * nv + j];
      most = fmax(most, fabs(sum));
    }
  free(A);
  free(b);
  free(x);
  return most;
}

/* e_i . g_(i+1) of perp from MuJoCo's residual, the imaginary part of the quaternion of R_b' R_a
 * R_rel. */
static void weld_residual(const double imaginary[3], const double rel[4], double C[3])
{
  double q[4] = { 0, imaginary[0], imaginary[1], imaginary[2] }, T[9], R[9], RT[9], E[9];
  q[0] = sqrt(1 - mju_dot3(imaginary, imaginary));
  mju_quat2Mat(T, q);
  mju_quat2Mat(R, rel);
  mju_mulMatMatT(RT, R, T, 3, 3, 3); /* R T' */
  mju_mulMatMatT(E, RT, R, 3, 3, 3);
  C[0] = E[1];
  C[1] = E[5];
  C[2] = E[6];
}

static void test_loops(const char *file, int wanted)
{
  pair x;
  perp_rng *rng = perp_rng_create(5);
  if (!open_pair(&x, file, "")) bail("%s cannot be imported", file);
  x.m->opt.disableflags |= mjDSBL_CONTACT | mjDSBL_LIMIT | mjDSBL_FRICTIONLOSS;
  x.m->opt.jacobian = mjJAC_DENSE;
  const int m = perp_model_m(x.p), nv = x.nv;
  double residual = 0, rows = 0, turning = 0, turned = 0, *C = take((size_t)m),
         *unit = take((size_t)(6 * x.n)), *out = take((size_t)m), *J = take((size_t)(m * nv));
  int found = 0, welds = 0;
  for (int s = 0; s < STATES; s++) {
    state(&x, rng, 0.2);
    const perp_blocks *B = perp_model_assemble(x.p, 0, x.q);
    perp_model_error(x.p, 0, x.q, C);
    for (int j = 0; j < nv; j++) {
      for (int i = 0; i < 6 * x.n; i++) unit[i] = x.S[i * nv + j];
      memset(out, 0, (size_t)m * sizeof *out);
      perp_blocks_J(B, 1, unit, out);
      for (int i = 0; i < m; i++) J[i * nv + j] = out[i];
    }
    int at = 0; /* rows of MuJoCo, in the order of its constraints */
    for (int e = 0; e < x.m->neq; e++) {
      const bool weld = x.m->eq_type[e] == mjEQ_WELD;
      char name[40];
      snprintf(name, sizeof name, "equality%d", e);
      int joint = perp_model_joints(x.p) - 1, count;
      while (joint >= 0 && strcmp(perp_model_joint(x.p, joint)->name, name) != 0) joint--;
      const double *E = x.d->efc_J + at * nv, *pos = x.d->efc_pos + at;
      at += weld ? 6 : x.m->eq_type[e] == mjEQ_CONNECT ? 3 : 1;
      if (joint < 0) continue;
      const int first = perp_model_joint_row(x.p, joint, &count);
      found += s == 0;
      if (x.m->eq_type[e] == mjEQ_JOINT || x.m->eq_type[e] == mjEQ_TENDON) {
        residual = fmax(residual, fabs(C[first] - pos[0]));
        for (int j = 0; j < nv; j++) rows = fmax(rows, fabs(J[first * nv + j] - E[j]));
        continue;
      }
      if (count != (weld ? 6 : 3)) bail("%s: %d rows", name, count);
      for (int i = 0; i < 3; i++) { /* p_b - p_a here, p_1 - p_2 there */
        residual = fmax(residual, fabs(C[first + i] + pos[i]));
        for (int j = 0; j < nv; j++)
          rows = fmax(rows, fabs(J[(first + i) * nv + j] + E[i * nv + j]));
      }
      if (!weld) continue;
      welds++;
      double want[3];
      weld_residual(pos + 3, x.m->eq_data + mjNEQDATA * e + 6, want);
      for (int i = 0; i < 3; i++) turned = fmax(turned, fabs(C[first + 3 + i] - want[i]));
      turning = fmax(turning, span_difference(3, nv, J + (first + 3) * nv, E + 3 * nv));
    }
    if (at > x.d->nefc) bail("%s: MuJoCo has %d rows, not %d", file, x.d->nefc, at);
  }
  ok(found == wanted, "%s: %d loops", file, found);
  below(residual, tol, "%s: loops are open as far as MuJoCo's, %.1e", file, residual);
  below(rows, tol, "%s: rows of points and couplings are MuJoCo's, %.1e", file, rows);
  if (welds > 0) {
    below(turned, tol, "%s: welds are turned as far as MuJoCo's, %.1e", file, turned);
    below(turning, tol, "%s: rows of welds span what MuJoCo's do, %.1e", file, turning);
  }
  free(C);
  free(unit);
  free(out);
  free(J);
  perp_rng_destroy(rng);
  close_pair(&x);
}

/* ---- states ---- */

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (perp_scene_files_register(&ctx) != PERP_OK) bail("%s", ctx.msg);
  static const char *const files[] = { "arm.xml",     "humanoid.xml", "quadruped.xml",
                                       "fourbar.xml", "welds.xml",    "free.xml",
                                       "gantry.urdf", "legs.urdf",    "planar.xml" };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) test_dynamics(files[i], "");
  static const double ctrl[] = { -0.4, 0.7, 0.2 };
  test_drives("arm.xml", ":push=-0.4,hold=0.7,spin=0.2", ctrl);
  static const double humanoid[] = { 0.5, -0.5, 0.3, 0.4, -0.6 };
  test_drives("humanoid.xml", ":knee_r=0.5,knee_l=-0.5,hip_r=0.3,elbow_r=0.4,cable=-0.6", humanoid);
  test_drives("quadruped.xml", "", NULL);
  test_drives("legs.urdf", "", NULL);
  static const double planar[] = { 0.3, -0.6 };
  test_drives("planar.xml", ":hip=0.3,screw=-0.6", planar);
  test_loops("fourbar.xml", 2);
  test_loops("welds.xml", 3);
  test_loops("mjcf/coupled-tendons.xml", 2);
  return tap_done();
}
