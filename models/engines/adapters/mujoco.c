/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MuJoCo.  The world becomes a model in its own language: bodies have their own frames, a joint to
 * the world or to another body makes the one farther from the world its child, bodies without one
 * are free.  Joints that close loops are refused: as equality constraints they would be soft. */
#include "models/engines/engine.h"
#include "models/engines/options.h"

#include <mujoco/mujoco.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MOST = 400 }; /* shapes whose pairs are named one by one */

typedef struct mujoco_world {
  const perp_engine_world *w;
  perp_engine_mujoco_opts o;
  mjModel *m;
  mjData *d;
  int *parent, *joint,
      *order;        /* [bodies] tree: body or PERP_WORLD, joint to it or -1; parents first */
  int *body, *shape; /* number of a body in MuJoCo; the shape of its geom */
} mujoco_world;

/* MuJoCo ends the program at an error, unless told otherwise. */
static jmp_buf escape;
static char escape_text[256];
static void mujoco_error(const char *text)
{
  snprintf(escape_text, sizeof escape_text, "MuJoCo: %s", text);
  longjmp(escape, 1);
}
static void mujoco_warning(const char *text)
{
  (void)text; /* they are counted in its data, and read from there */
}

static const char *mujoco_version(void)
{
  return mj_versionString();
}

static void mujoco_destroy(void *at)
{
  mujoco_world *s = at;
  if (s->d != NULL) mj_deleteData(s->d);
  if (s->m != NULL) mj_deleteModel(s->m);
  free(s->parent);
  free(s->joint);
  free(s->order);
  free(s->body);
  free(s->shape);
  free(s);
}

/* ---- quaternions ---- */

static void turned_back(const double q[4], const double v[3], double out[3])
{
  double inverse[4];
  mju_negQuat(inverse, q);
  mju_rotVecQuat(out, v, inverse);
}

/* Pose of body b in the frame of its parent. */
static void mujoco_relative(const mujoco_world *s, const perp_engine_state *state, int b,
                            double x[3], double q[4])
{
  const perp_engine_state *child = &state[b];
  memcpy(x, child->x, 3 * sizeof *x);
  memcpy(q, child->quat, 4 * sizeof *q);
  if (s->parent[b] < 0) return;
  const perp_engine_state *p = &state[s->parent[b]];
  double inverse[4], from[3];
  for (int k = 0; k < 3; k++) from[k] = child->x[k] - p->x[k];
  turned_back(p->quat, from, x);
  mju_negQuat(inverse, p->quat);
  mju_mulQuat(q, inverse, child->quat);
}

/* ---- the tree ---- */

/* Breadth first from the world, through joints in their order; then free bodies with what hangs
 * from them. */
static perp_status mujoco_tree(perp_ctx *ctx, mujoco_world *s)
{
  const perp_engine_world *w = s->w;
  int n = 0, next = 0, used = 0;
  for (int b = 0; b < w->n_bodies; b++) s->parent[b] = -2, s->joint[b] = -1;
  for (int from = PERP_WORLD; n < w->n_bodies || next < n;) {
    for (int i = 0; i < w->n_joints; i++) {
      const perp_engine_joint *j = &w->joint[i];
      const int to = j->a == from ? j->b : j->b == from ? j->a : PERP_WORLD;
      if (to < 0 || s->parent[to] != -2) continue;
      s->parent[to] = from;
      s->joint[to] = i;
      s->order[n++] = to;
      used++;
    }
    if (next == n) { /* a body that no joint holds */
      int b = 0;
      while (b < w->n_bodies && s->parent[b] != -2) b++;
      if (b == w->n_bodies) break;
      s->parent[b] = PERP_WORLD;
      s->order[n++] = b;
    }
    from = s->order[next++];
  }
  if (used < w->n_joints)
    return w->fail(ctx, PERP_ERR_UNSUPPORTED,
                   "engine mujoco supports trees of joints only: a joint that closes a loop would "
                   "be compliant");
  return PERP_OK;
}

static void put(FILE *f, const char *name, int n, const double *x)
{
  fprintf(f, " %s=\"", name);
  for (int k = 0; k < n; k++) fprintf(f, "%s%.17g", k > 0 ? " " : "", x[k]);
  fputc('"', f);
}

static void mujoco_geom(const mujoco_world *s, FILE *f, int i)
{
  const perp_engine_shape *shape = &s->w->shape[i];
  const perp_shape_def *d = shape->def;
  const double quarter[4] = { sqrt(0.5), 0, sqrt(0.5), 0 }; /* z to x */
  const double solref[2] = { s->o.timeconst, s->o.dampratio }, mu[3] = { d->surface.mu, 0, 0 };
  double q[4], size[3] = { d->radius, 0.5 * d->length, 0 };
  static const char *const type[] = {
    [PERP_SHAPE_SPHERE] = "sphere",     [PERP_SHAPE_CAPSULE] = "capsule",
    [PERP_SHAPE_BOX] = "box",           [PERP_SHAPE_PLANE] = "plane",
    [PERP_SHAPE_CYLINDER] = "cylinder", [PERP_SHAPE_ELLIPSOID] = "ellipsoid",
  };
  memcpy(q, shape->quat, sizeof q);
  if (d->kind == PERP_SHAPE_CAPSULE || d->kind == PERP_SHAPE_CYLINDER)
    mju_mulQuat(q, shape->quat, quarter);
  if (d->kind == PERP_SHAPE_BOX || d->kind == PERP_SHAPE_ELLIPSOID)
    memcpy(size, d->half, sizeof size);
  if (d->kind == PERP_SHAPE_PLANE) size[0] = size[1] = 0, size[2] = 1;
  fprintf(f, "<geom name=\"g%d\" type=\"%s\" condim=\"3\"", i, type[d->kind]);
  put(f, "size", 3, size);
  put(f, "pos", 3, shape->x);
  put(f, "quat", 4, q);
  put(f, "friction", 3, mu);
  put(f, "solref", 2, solref);
  fputs("/>\n", f);
}

static perp_status mujoco_joint(perp_ctx *ctx, const mujoco_world *s, FILE *f, int b)
{
  static const char *const type[] = {
    [PERP_JOINT_BALL] = "ball", [PERP_JOINT_HINGE] = "hinge", [PERP_JOINT_SLIDER] = "slide"
  };
  const perp_engine_joint *j = s->joint[b] >= 0 ? &s->w->joint[s->joint[b]] : NULL;
  if (j == NULL) fputs("<freejoint/>\n", f);
  if (j == NULL || j->kind == PERP_JOINT_FIXED) return PERP_OK;
  /* of b against a, whichever is the child */
  double axis[3], sign = j->b == b ? 1 : -1;
  turned_back(s->w->body[b].start.quat, j->along, axis);
  for (int k = 0; k < 3; k++) axis[k] *= sign;
  fprintf(f, "<joint name=\"j%d\" type=\"%s\" armature=\"0\"", b, type[j->kind]);
  put(f, "pos", 3, j->b == b ? j->anchor_b : j->anchor_a);
  if (j->kind != PERP_JOINT_BALL) put(f, "axis", 3, axis);
  for (int k = 0; k < j->n_drives; k++) {
    const perp_engine_drive *d = &s->w->drive[j->first_drive + k];
    const double solref[2] = { s->o.timeconst, s->o.dampratio };
    if (j->kind == PERP_JOINT_BALL || (d->max_force > 0 && d->velocity != 0) || d->restitution > 0)
      return s->w->fail(ctx, PERP_ERR_UNSUPPORTED,
                        "engine mujoco supports limits and dry friction of hinges and sliders; "
                        "neither velocity motors of limited force nor limits with restitution");
    const double range[2] = { fmax(d->lower, -1e10), fmin(d->upper, 1e10) };
    if (isfinite(d->lower) || isfinite(d->upper)) {
      fputs(" limited=\"true\"", f);
      put(f, "range", 2, range);
      put(f, "solreflimit", 2, solref);
    }
    if (d->max_force > 0) put(f, "frictionloss", 1, &d->max_force);
  }
  fputs("/>\n", f);
  return PERP_OK;
}

static perp_status mujoco_body(perp_ctx *ctx, const mujoco_world *s, FILE *f, int b)
{
  const perp_engine_body *body = &s->w->body[b];
  const double *I = body->inertia, full[6] = { I[0], I[4], I[8], I[3], I[6], I[7] };
  perp_engine_state two[2] = { { .quat = { 1 } }, body->start };
  double x[3], q[4];
  const mujoco_world pair = { .parent = (int[]){ 0, s->parent[b] < 0 ? PERP_WORLD : 0 } };
  if (s->parent[b] >= 0) two[0] = s->w->body[s->parent[b]].start;
  mujoco_relative(&pair, two, 1, x, q);
  fprintf(f, "<body name=\"b%d\"", b);
  put(f, "pos", 3, x);
  put(f, "quat", 4, q);
  fputs(">\n<inertial pos=\"0 0 0\"", f);
  put(f, "mass", 1, &body->mass);
  put(f, "fullinertia", 6, full);
  fputs("/>\n", f);
  PERP_TRY(mujoco_joint(ctx, s, f, b));
  for (int i = 0; i < s->w->n_shapes; i++)
    if (s->w->shape[i].def->body == b) mujoco_geom(s, f, i);
  for (int k = 0; k < s->w->n_bodies; k++)
    if (s->parent[s->order[k]] == b) PERP_TRY(mujoco_body(ctx, s, f, s->order[k]));
  fputs("</body>\n", f);
  return PERP_OK;
}

/* Would MuJoCo test the pair as perp does, with the same friction? */
static bool mujoco_alike(const mujoco_world *s, int i, int k)
{
  const perp_engine_world *w = s->w;
  const int a = w->shape[i].def->body, b = w->shape[k].def->body;
  const bool own = a != b && !(a >= 0 && b >= 0 && (s->parent[a] == b || s->parent[b] == a));
  if (own != w->touches(w, i, k)) return false;
  return !own ||
         w->pair(w, i, k).mu == fmax(w->shape[i].def->surface.mu, w->shape[k].def->surface.mu);
}

/* Pairs one by one, where its own rules would take others. */
static perp_status mujoco_pairs(perp_ctx *ctx, const mujoco_world *s, FILE *f, bool *named)
{
  const perp_engine_world *w = s->w;
  *named = false;
  for (int i = 0; i < w->n_shapes && !*named; i++)
    for (int k = 0; k < i && !*named; k++) *named = !mujoco_alike(s, i, k);
  if (!*named) return PERP_OK;
  if (w->n_shapes > PAIRS_MOST)
    return w->fail(ctx, PERP_ERR_UNSUPPORTED,
                   "engine mujoco does not support this number of pairs of shapes without its own "
                   "collision filter");
  fputs("<contact>\n", f);
  for (int i = 0; i < w->n_shapes; i++)
    for (int k = 0; k < i; k++) {
      if (!w->touches(w, i, k)) continue;
      const double mu = w->pair(w, i, k).mu, friction[5] = { mu, mu, 0, 0, 0 },
                   solref[2] = { s->o.timeconst, s->o.dampratio };
      fprintf(f, "<pair geom1=\"g%d\" geom2=\"g%d\" condim=\"3\"", i, k);
      put(f, "friction", 5, friction);
      put(f, "solref", 2, solref);
      fputs("/>\n", f);
    }
  fputs("</contact>\n", f);
  return PERP_OK;
}

static perp_status mujoco_write(perp_ctx *ctx, const mujoco_world *s, FILE *f)
{
  static const char *const solver[] = { "Newton", "CG", "PGS" },
                           *const cone[] = { "pyramidal", "elliptic" },
                           *const integrator[] = { "Euler", "RK4", "implicit" };
  const perp_engine_world *w = s->w;
  const double gravity[3] = { 0, 0, -w->gravity };
  bool named;
  fprintf(
      f,
      "<mujoco><compiler angle=\"radian\" inertiafromgeom=\"false\" boundmass=\"0\" "
      "boundinertia=\"0\"/>\n"
      "<size njmax=\"%d\" nconmax=\"%d\"/>\n<option solver=\"%s\" cone=\"%s\" integrator=\"%s\" "
      "iterations=\"%d\"",
      400 + 80 * w->n_shapes + 10 * w->n_joints, 100 + 16 * w->n_shapes, solver[s->o.solver],
      cone[s->o.cone], integrator[s->o.integrator], s->o.iterations);
  put(f, "timestep", 1, &w->h);
  put(f, "tolerance", 1, &s->o.tolerance);
  put(f, "impratio", 1, &s->o.impratio);
  put(f, "gravity", 3, gravity);
  fputs("/>\n", f);
  PERP_TRY(mujoco_pairs(ctx, s, f, &named));
  if (named) fputs("<default><geom contype=\"0\" conaffinity=\"0\"/></default>\n", f);
  fputs("<worldbody>\n", f);
  for (int i = 0; i < w->n_shapes; i++)
    if (w->shape[i].def->body < 0) mujoco_geom(s, f, i);
  for (int k = 0; k < w->n_bodies; k++)
    if (s->parent[s->order[k]] == PERP_WORLD) PERP_TRY(mujoco_body(ctx, s, f, s->order[k]));
  fputs("</worldbody></mujoco>\n", f);
  return PERP_OK;
}

static perp_status mujoco_load(perp_ctx *ctx, mujoco_world *s, const char *text, size_t size)
{
  char error[512] = "", said[600];
  mjVFS *vfs = malloc(sizeof *vfs);
  if (vfs == NULL) return s->w->fail(ctx, PERP_ERR_NOMEM, "no memory for a model of MuJoCo");
  mj_defaultVFS(vfs);
  if (mj_makeEmptyFileVFS(vfs, "world.xml", (int)size) == 0) {
    memcpy(vfs->filedata[mj_findFileVFS(vfs, "world.xml")], text, size);
    s->m = mj_loadXML("world.xml", vfs, error, sizeof error);
  }
  mj_deleteVFS(vfs);
  free(vfs);
  if (s->m == NULL && strstr(error, "parse error 18") != NULL) /* XML_ELEMENT_DEPTH_EXCEEDED */
    return s->w->fail(ctx, PERP_ERR_UNSUPPORTED,
                      "engine mujoco does not support chains of more than about 100 bodies, the "
                      "limit of its model reader");
  if (s->m == NULL) {
    snprintf(said, sizeof said, "MuJoCo rejects the model: %s", error);
    return s->w->fail(ctx, PERP_ERR_EXTERNAL, said);
  }
  s->d = mj_makeData(s->m);
  if (s->d == NULL) return s->w->fail(ctx, PERP_ERR_NOMEM, "no memory for the data of MuJoCo");
  char name[32];
  for (int b = 0; b < s->w->n_bodies; b++) {
    snprintf(name, sizeof name, "b%d", b);
    s->body[b] = mj_name2id(s->m, mjOBJ_BODY, name);
  }
  for (int i = 0; i < s->w->n_shapes; i++) {
    snprintf(name, sizeof name, "g%d", i);
    s->shape[mj_name2id(s->m, mjOBJ_GEOM, name)] = i;
  }
  return PERP_OK;
}

static perp_status mujoco_create(perp_ctx *ctx, const perp_engine_world *w, const void *opts,
                                 void **at)
{
  *at = NULL;
  mujoco_world *s = calloc(1, sizeof *s);
  if (s == NULL) return w->fail(ctx, PERP_ERR_NOMEM, "no memory for a world of MuJoCo");
  mju_user_error = mujoco_error;
  mju_user_warning = mujoco_warning;
  s->w = w;
  memcpy(&s->o, opts, sizeof s->o);
  int **const lists[] = { &s->parent, &s->joint, &s->order, &s->body, &s->shape };
  perp_status status = PERP_OK;
  for (int k = 0; k < 5; k++) {
    *lists[k] = calloc((size_t)(k < 4 ? w->n_bodies : w->n_shapes) + 1, sizeof(int));
    if (*lists[k] == NULL) status = w->fail(ctx, PERP_ERR_NOMEM, "no memory for a world of MuJoCo");
  }
  char *text = NULL;
  size_t size = 0;
  if (status == PERP_OK) status = mujoco_tree(ctx, s);
  FILE *f = status == PERP_OK ? open_memstream(&text, &size) : NULL;
  if (status == PERP_OK && f == NULL)
    status = w->fail(ctx, PERP_ERR_NOMEM, "no memory for a model of MuJoCo");
  if (status == PERP_OK) status = mujoco_write(ctx, s, f);
  if (f != NULL) fclose(f);
  if (status == PERP_OK)
    status = setjmp(escape) == 0 ? mujoco_load(ctx, s, text, size)
                                 : w->fail(ctx, PERP_ERR_EXTERNAL, escape_text);
  free(text);
  if (status == PERP_OK)
    *at = s;
  else
    mujoco_destroy(s);
  return status;
}

/* ---- marching ---- */

/* Coordinates of the joint of b to its parent, against the start, and their rates. */
static void mujoco_coordinates(const mujoco_world *s, const perp_engine_state *state, int b)
{
  const perp_engine_state *c = &state[b];
  const int joint = s->m->body_jntadr[s->body[b]];
  if (joint < 0) return; /* fixed */
  double *q = s->d->qpos + s->m->jnt_qposadr[joint], *v = s->d->qvel + s->m->jnt_dofadr[joint];
  double w[3], own[3];
  memcpy(w, c->w, sizeof w);
  if (s->parent[b] >= 0)
    for (int k = 0; k < 3; k++) w[k] -= state[s->parent[b]].w[k];
  turned_back(c->quat, w, own);
  if (s->joint[b] < 0) {
    memcpy(q, c->x, 3 * sizeof *q);
    memcpy(q + 3, c->quat, 4 * sizeof *q);
    memcpy(v, c->v, 3 * sizeof *v);
    memcpy(v + 3, own, 3 * sizeof *v);
    return;
  }
  double x[3], now[4], x0[3], start[4], back[4], turn[4], way[3];
  const mjtNum *axis = s->m->jnt_axis + 3 * joint;
  mujoco_relative(s, state, b, x, now);
  memcpy(x0, s->m->body_pos + 3 * s->body[b], sizeof x0);
  memcpy(start, s->m->body_quat + 4 * s->body[b], sizeof start);
  mju_negQuat(back, start);
  mju_mulQuat(turn, back, now); /* now = start turn */
  switch (s->m->jnt_type[joint]) {
  case mjJNT_BALL:
    memcpy(q, turn, sizeof turn);
    memcpy(v, own, sizeof own);
    break;
  case mjJNT_HINGE:
    q[0] = 2 * atan2(mju_dot3(axis, turn + 1), turn[0]);
    v[0] = mju_dot3(axis, own);
    break;
  default: { /* slide: of the point of the child that is at the anchor */
    for (int k = 0; k < 3; k++) way[k] = x[k] - x0[k];
    turned_back(start, way, x0);
    q[0] = mju_dot3(axis, x0);
    double rate[3], arm[3], turning[3];
    memcpy(rate, c->v, sizeof rate);
    if (s->parent[b] >= 0) { /* less what the parent carries */
      const perp_engine_state *p = &state[s->parent[b]];
      for (int k = 0; k < 3; k++) arm[k] = c->x[k] - p->x[k];
      mju_cross(turning, p->w, arm);
      for (int k = 0; k < 3; k++) rate[k] -= p->v[k] + turning[k];
    }
    turned_back(c->quat, rate, arm);
    v[0] = mju_dot3(axis, arm);
    break;
  }
  }
}

static void mujoco_set(void *at, const perp_engine_state *state)
{
  mujoco_world *s = at;
  mj_resetData(s->m, s->d);
  for (int b = 0; b < s->w->n_bodies; b++)
    memcpy(s->d->xfrc_applied + 6 * s->body[b], s->w->body[b].force, 3 * sizeof(double));
  for (int b = 0; b < s->w->n_bodies; b++) mujoco_coordinates(s, state, b);
}

static perp_status mujoco_step(perp_ctx *ctx, void *at, double h)
{
  mujoco_world *s = at;
  s->m->opt.timestep = h;
  if (setjmp(escape) != 0) return s->w->fail(ctx, PERP_ERR_EXTERNAL, escape_text);
  mj_step(s->m, s->d);
  /* it starts again from its initial state where numbers are bad, and drops what does not fit */
  static const struct {
    int warning;
    const char *what;
  } told[] = {
    { mjWARN_BADQPOS, "MuJoCo: bad positions, the engine reset its state to the start" },
    { mjWARN_BADQVEL, "MuJoCo: bad velocities, the engine reset its state to the start" },
    { mjWARN_BADQACC, "MuJoCo: bad accelerations, the engine reset its state to the start" },
    { mjWARN_CONTACTFULL, "MuJoCo: too many contacts for its buffer" },
    { mjWARN_CNSTRFULL, "MuJoCo: too many constraints for its buffer" }
  };
  for (size_t i = 0; i < sizeof told / sizeof *told; i++)
    if (s->d->warning[told[i].warning].number > 0)
      return s->w->fail(ctx, PERP_ERR_EXTERNAL, told[i].what);
  return PERP_OK;
}

/* Its poses are those of the start of the step. */
static void mujoco_refresh(const mujoco_world *s)
{
  mj_kinematics(s->m, s->d);
  mj_comPos(s->m, s->d);
  mj_comVel(s->m, s->d);
}

static void mujoco_get(void *at, perp_engine_state *state)
{
  const mujoco_world *s = at;
  mujoco_refresh(s);
  for (int b = 0; b < s->w->n_bodies; b++) {
    double twist[6];
    memcpy(state[b].x, s->d->xpos + 3 * s->body[b], sizeof state[b].x);
    memcpy(state[b].quat, s->d->xquat + 4 * s->body[b], sizeof state[b].quat);
    mj_objectVelocity(s->m, s->d, mjOBJ_XBODY, s->body[b], twist, 0);
    memcpy(state[b].w, twist, sizeof state[b].w);
    memcpy(state[b].v, twist + 3, sizeof state[b].v);
  }
}

static perp_reason mujoco_ended(void *at, int *iterations)
{
  const mujoco_world *s = at;
  *iterations = s->d->solver_iter;
  if (s->d->nefc == 0) return PERP_RUNNING;
  return s->d->solver_iter < s->o.iterations ? PERP_CONVERGED : PERP_MAX_ITER;
}

static int mujoco_contacts(void *at, perp_engine_contact *contact, int most)
{
  const mujoco_world *s = at;
  const int n = s->d->ncon < most ? s->d->ncon : most;
  for (int i = 0; i < n; i++) {
    const mjContact *c = &s->d->contact[i];
    const int a = s->shape[c->geom1], b = s->shape[c->geom2];
    const double sign = a < b ? 1 : -1; /* its normal is from the first to the second */
    double force[6];
    mj_contactForce(s->m, s->d, i, force);
    contact[i] = (perp_engine_contact){ .shape_a = a < b ? a : b,
                                        .shape_b = a < b ? b : a,
                                        .gap = c->dist };
    for (int k = 0; k < 3; k++) {
      contact[i].p[k] = c->pos[k];
      contact[i].n[k] = sign * c->frame[k];
      for (int row = 0; row < 3; row++)
        contact[i].impulse[k] += sign * s->m->opt.timestep * c->frame[3 * row + k] * force[row];
    }
  }
  return n;
}

static double mujoco_energy(void *at)
{
  const mujoco_world *s = at;
  mujoco_refresh(s);
  mj_crb(s->m, s->d); /* the mass matrix */
  s->m->opt.enableflags |= mjENBL_ENERGY;
  mj_energyPos(s->m, s->d);
  mj_energyVel(s->m, s->d);
  s->m->opt.enableflags &= ~mjENBL_ENERGY;
  return s->d->energy[0] + s->d->energy[1];
}

static void mujoco_resolved(void *at, char *text, size_t size)
{
  static const char *const solver[] = { "pgs", "cg", "newton" },
                           *const cone[] = { "pyramidal", "elliptic" },
                           *const integrator[] = { "euler", "rk4", "implicit" };
  const mujoco_world *s = at;
  const mjOption *o = &s->m->opt;
  snprintf(text, size,
           "solver=%s, cone=%s, integrator=%s, iterations=%d, tolerance=%g, impratio=%g, "
           "solref=%g %g",
           solver[o->solver], cone[o->cone], integrator[o->integrator], o->iterations, o->tolerance,
           o->impratio, fmax(s->o.timeconst, 2 * o->timestep), s->o.dampratio);
}

static const perp_engine_calls calls = { .abi = PERP_ABI,
                                         .layout = PERP_ENGINE_LAYOUT,
                                         .version = mujoco_version,
                                         .create = mujoco_create,
                                         .set = mujoco_set,
                                         .step = mujoco_step,
                                         .get = mujoco_get,
                                         .ended = mujoco_ended,
                                         .contacts = mujoco_contacts,
                                         .energy = mujoco_energy,
                                         .resolved = mujoco_resolved,
                                         .destroy = mujoco_destroy };
PERP_ENGINE_ADAPTER(calls);
