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
  mujoco_world *world = at;
  if (world->d != NULL) mj_deleteData(world->d);
  if (world->m != NULL) mj_deleteModel(world->m);
  free(world->parent);
  free(world->joint);
  free(world->order);
  free(world->body);
  free(world->shape);
  free(world);
}

/* ---- quaternions ---- */

static void turned_back(const double q[4], const double v[3], double out[3])
{
  double inverse[4];
  mju_negQuat(inverse, q);
  mju_rotVecQuat(out, v, inverse);
}

/* Pose of body b in the frame of its parent. */
static void mujoco_relative(const mujoco_world *world, const perp_engine_state *state, int b,
                            double x[3], double q[4])
{
  const perp_engine_state *child = &state[b];
  memcpy(x, child->x, 3 * sizeof *x);
  memcpy(q, child->quat, 4 * sizeof *q);
  if (world->parent[b] < 0) return;
  const perp_engine_state *p = &state[world->parent[b]];
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
      const perp_engine_joint *joint = &w->joint[i];
      const int to = joint->a == from ? joint->b : joint->b == from ? joint->a : PERP_WORLD;
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

static void put(FILE *file, const char *name, int n, const double *x)
{
  fprintf(file, " %s=\"", name);
  for (int k = 0; k < n; k++) fprintf(file, "%s%.17g", k > 0 ? " " : "", x[k]);
  fputc('"', file);
}

static void mujoco_geom(const mujoco_world *world, FILE *file, int i)
{
  const perp_engine_shape *shape = &world->w->shape[i];
  const perp_shape_def *def = shape->def;
  const double quarter[4] = { sqrt(0.5), 0, sqrt(0.5), 0 }; /* z to x */
  const double solref[2] = { world->o.timeconst, world->o.dampratio },
               mu[3] = { def->surface.mu, 0, 0 };
  double q[4], size[3] = { def->radius, 0.5 * def->length, 0 };
  static const char *const type[] = {
    [PERP_SHAPE_SPHERE] = "sphere",     [PERP_SHAPE_CAPSULE] = "capsule",
    [PERP_SHAPE_BOX] = "box",           [PERP_SHAPE_PLANE] = "plane",
    [PERP_SHAPE_CYLINDER] = "cylinder", [PERP_SHAPE_ELLIPSOID] = "ellipsoid",
  };
  memcpy(q, shape->quat, sizeof q);
  if (def->kind == PERP_SHAPE_CAPSULE || def->kind == PERP_SHAPE_CYLINDER)
    mju_mulQuat(q, shape->quat, quarter);
  if (def->kind == PERP_SHAPE_BOX || def->kind == PERP_SHAPE_ELLIPSOID)
    memcpy(size, def->half, sizeof size);
  if (def->kind == PERP_SHAPE_PLANE) size[0] = size[1] = 0, size[2] = 1;
  fprintf(file, "<geom name=\"g%d\" type=\"%s\" condim=\"3\"", i, type[def->kind]);
  put(file, "size", 3, size);
  put(file, "pos", 3, shape->x);
  put(file, "quat", 4, q);
  put(file, "friction", 3, mu);
  put(file, "solref", 2, solref);
  fputs("/>\n", file);
}

static perp_status mujoco_joint(perp_ctx *ctx, const mujoco_world *world, FILE *file, int b)
{
  static const char *const type[] = {
    [PERP_JOINT_BALL] = "ball", [PERP_JOINT_HINGE] = "hinge", [PERP_JOINT_SLIDER] = "slide"
  };
  const perp_engine_joint *joint = world->joint[b] >= 0 ? &world->w->joint[world->joint[b]] : NULL;
  if (joint == NULL) fputs("<freejoint/>\n", file);
  if (joint == NULL || joint->kind == PERP_JOINT_FIXED) return PERP_OK;
  /* of b against a, whichever is the child */
  double axis[3], sign = joint->b == b ? 1 : -1;
  turned_back(world->w->body[b].start.quat, joint->along, axis);
  for (int k = 0; k < 3; k++) axis[k] *= sign;
  fprintf(file, "<joint name=\"j%d\" type=\"%s\" armature=\"0\"", b, type[joint->kind]);
  put(file, "pos", 3, joint->b == b ? joint->anchor_b : joint->anchor_a);
  if (joint->kind != PERP_JOINT_BALL) put(file, "axis", 3, axis);
  for (int k = 0; k < joint->n_drives; k++) {
    const perp_engine_drive *drive = &world->w->drive[joint->first_drive + k];
    const double solref[2] = { world->o.timeconst, world->o.dampratio };
    if (joint->kind == PERP_JOINT_BALL || (drive->max_force > 0 && drive->velocity != 0) ||
        drive->restitution > 0)
      return world->w->fail(ctx, PERP_ERR_UNSUPPORTED,
                            "engine mujoco supports limits and dry friction of hinges and sliders; "
                            "neither velocity motors of limited force nor limits with restitution");
    const double range[2] = { fmax(drive->lower, -1e10), fmin(drive->upper, 1e10) };
    if (isfinite(drive->lower) || isfinite(drive->upper)) {
      fputs(" limited=\"true\"", file);
      put(file, "range", 2, range);
      put(file, "solreflimit", 2, solref);
    }
    if (drive->max_force > 0) put(file, "frictionloss", 1, &drive->max_force);
  }
  fputs("/>\n", file);
  return PERP_OK;
}

static perp_status mujoco_body(perp_ctx *ctx, const mujoco_world *world, FILE *file, int b)
{
  const perp_engine_body *body = &world->w->body[b];
  const double *I = body->inertia, full[6] = { I[0], I[4], I[8], I[3], I[6], I[7] };
  perp_engine_state two[2] = { { .quat = { 1 } }, body->start };
  double x[3], q[4];
  const mujoco_world pair = { .parent = (int[]){ 0, world->parent[b] < 0 ? PERP_WORLD : 0 } };
  if (world->parent[b] >= 0) two[0] = world->w->body[world->parent[b]].start;
  mujoco_relative(&pair, two, 1, x, q);
  fprintf(file, "<body name=\"b%d\"", b);
  put(file, "pos", 3, x);
  put(file, "quat", 4, q);
  fputs(">\n<inertial pos=\"0 0 0\"", file);
  put(file, "mass", 1, &body->mass);
  put(file, "fullinertia", 6, full);
  fputs("/>\n", file);
  PERP_TRY(mujoco_joint(ctx, world, file, b));
  for (int i = 0; i < world->w->n_shapes; i++)
    if (world->w->shape[i].def->body == b) mujoco_geom(world, file, i);
  for (int k = 0; k < world->w->n_bodies; k++)
    if (world->parent[world->order[k]] == b)
      PERP_TRY(mujoco_body(ctx, world, file, world->order[k]));
  fputs("</body>\n", file);
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
static perp_status mujoco_pairs(perp_ctx *ctx, const mujoco_world *s, FILE *file, bool *named)
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
  fputs("<contact>\n", file);
  for (int i = 0; i < w->n_shapes; i++)
    for (int k = 0; k < i; k++) {
      if (!w->touches(w, i, k)) continue;
      const double mu = w->pair(w, i, k).mu, friction[5] = { mu, mu, 0, 0, 0 },
                   solref[2] = { s->o.timeconst, s->o.dampratio };
      fprintf(file, "<pair geom1=\"g%d\" geom2=\"g%d\" condim=\"3\"", i, k);
      put(file, "friction", 5, friction);
      put(file, "solref", 2, solref);
      fputs("/>\n", file);
    }
  fputs("</contact>\n", file);
  return PERP_OK;
}

static perp_status mujoco_write(perp_ctx *ctx, const mujoco_world *s, FILE *file)
{
  static const char *const solver[] = { "Newton", "CG", "PGS" },
                           *const cone[] = { "pyramidal", "elliptic" },
                           *const integrator[] = { "Euler", "RK4", "implicit" };
  const perp_engine_world *w = s->w;
  const double gravity[3] = { 0, 0, -w->gravity };
  bool named;
  fprintf(
      file,
      "<mujoco><compiler angle=\"radian\" inertiafromgeom=\"false\" boundmass=\"0\" "
      "boundinertia=\"0\"/>\n"
      "<size njmax=\"%d\" nconmax=\"%d\"/>\n<option solver=\"%s\" cone=\"%s\" integrator=\"%s\" "
      "iterations=\"%d\"",
      400 + 80 * w->n_shapes + 10 * w->n_joints, 100 + 16 * w->n_shapes, solver[s->o.solver],
      cone[s->o.cone], integrator[s->o.integrator], s->o.iterations);
  put(file, "timestep", 1, &w->h);
  put(file, "tolerance", 1, &s->o.tolerance);
  put(file, "impratio", 1, &s->o.impratio);
  put(file, "gravity", 3, gravity);
  fputs("/>\n", file);
  PERP_TRY(mujoco_pairs(ctx, s, file, &named));
  if (named) fputs("<default><geom contype=\"0\" conaffinity=\"0\"/></default>\n", file);
  fputs("<worldbody>\n", file);
  for (int i = 0; i < w->n_shapes; i++)
    if (w->shape[i].def->body < 0) mujoco_geom(s, file, i);
  for (int k = 0; k < w->n_bodies; k++)
    if (s->parent[s->order[k]] == PERP_WORLD) PERP_TRY(mujoco_body(ctx, s, file, s->order[k]));
  fputs("</worldbody></mujoco>\n", file);
  return PERP_OK;
}

static perp_status mujoco_load(perp_ctx *ctx, mujoco_world *world, const char *text, size_t size)
{
  char error[512] = "", said[600];
  mjVFS *vfs = malloc(sizeof *vfs);
  if (vfs == NULL) return world->w->fail(ctx, PERP_ERR_NOMEM, "no memory for a model of MuJoCo");
  mj_defaultVFS(vfs);
  if (mj_makeEmptyFileVFS(vfs, "world.xml", (int)size) == 0) {
    memcpy(vfs->filedata[mj_findFileVFS(vfs, "world.xml")], text, size);
    world->m = mj_loadXML("world.xml", vfs, error, sizeof error);
  }
  mj_deleteVFS(vfs);
  free(vfs);
  if (world->m == NULL && strstr(error, "parse error 18") != NULL) /* XML_ELEMENT_DEPTH_EXCEEDED */
    return world->w->fail(
        ctx, PERP_ERR_UNSUPPORTED,
        "engine mujoco does not support chains of more than about 100 bodies, the "
        "limit of its model reader");
  if (world->m == NULL) {
    snprintf(said, sizeof said, "MuJoCo rejects the model: %s", error);
    return world->w->fail(ctx, PERP_ERR_EXTERNAL, said);
  }
  world->d = mj_makeData(world->m);
  if (world->d == NULL)
    return world->w->fail(ctx, PERP_ERR_NOMEM, "no memory for the data of MuJoCo");
  char name[32];
  for (int b = 0; b < world->w->n_bodies; b++) {
    snprintf(name, sizeof name, "b%d", b);
    world->body[b] = mj_name2id(world->m, mjOBJ_BODY, name);
  }
  for (int i = 0; i < world->w->n_shapes; i++) {
    snprintf(name, sizeof name, "g%d", i);
    world->shape[mj_name2id(world->m, mjOBJ_GEOM, name)] = i;
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
  FILE *file = status == PERP_OK ? open_memstream(&text, &size) : NULL;
  if (status == PERP_OK && file == NULL)
    status = w->fail(ctx, PERP_ERR_NOMEM, "no memory for a model of MuJoCo");
  if (status == PERP_OK) status = mujoco_write(ctx, s, file);
  if (file != NULL) fclose(file);
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
static void mujoco_coordinates(const mujoco_world *world, const perp_engine_state *state, int b)
{
  const perp_engine_state *c = &state[b];
  const int joint = world->m->body_jntadr[world->body[b]];
  if (joint < 0) return; /* fixed */
  double *q = world->d->qpos + world->m->jnt_qposadr[joint],
         *v = world->d->qvel + world->m->jnt_dofadr[joint];
  double w[3], own[3];
  memcpy(w, c->w, sizeof w);
  if (world->parent[b] >= 0)
    for (int k = 0; k < 3; k++) w[k] -= state[world->parent[b]].w[k];
  turned_back(c->quat, w, own);
  if (world->joint[b] < 0) {
    memcpy(q, c->x, 3 * sizeof *q);
    memcpy(q + 3, c->quat, 4 * sizeof *q);
    memcpy(v, c->v, 3 * sizeof *v);
    memcpy(v + 3, own, 3 * sizeof *v);
    return;
  }
  double x[3], now[4], x0[3], start[4], back[4], turn[4], way[3];
  const mjtNum *axis = world->m->jnt_axis + 3 * joint;
  mujoco_relative(world, state, b, x, now);
  memcpy(x0, world->m->body_pos + 3 * world->body[b], sizeof x0);
  memcpy(start, world->m->body_quat + 4 * world->body[b], sizeof start);
  mju_negQuat(back, start);
  mju_mulQuat(turn, back, now); /* now = start turn */
  switch (world->m->jnt_type[joint]) {
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
    if (world->parent[b] >= 0) { /* less what the parent carries */
      const perp_engine_state *p = &state[world->parent[b]];
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
  mujoco_world *world = at;
  mj_resetData(world->m, world->d);
  for (int b = 0; b < world->w->n_bodies; b++)
    memcpy(world->d->xfrc_applied + 6 * world->body[b], world->w->body[b].force,
           3 * sizeof(double));
  for (int b = 0; b < world->w->n_bodies; b++) mujoco_coordinates(world, state, b);
}

static perp_status mujoco_step(perp_ctx *ctx, void *at, double h)
{
  mujoco_world *world = at;
  world->m->opt.timestep = h;
  if (setjmp(escape) != 0) return world->w->fail(ctx, PERP_ERR_EXTERNAL, escape_text);
  mj_step(world->m, world->d);
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
    if (world->d->warning[told[i].warning].number > 0)
      return world->w->fail(ctx, PERP_ERR_EXTERNAL, told[i].what);
  return PERP_OK;
}

/* Its poses are those of the start of the step. */
static void mujoco_refresh(const mujoco_world *world)
{
  mj_kinematics(world->m, world->d);
  mj_comPos(world->m, world->d);
  mj_comVel(world->m, world->d);
}

static void mujoco_get(void *at, perp_engine_state *state)
{
  const mujoco_world *world = at;
  mujoco_refresh(world);
  for (int b = 0; b < world->w->n_bodies; b++) {
    double twist[6];
    memcpy(state[b].x, world->d->xpos + 3 * world->body[b], sizeof state[b].x);
    memcpy(state[b].quat, world->d->xquat + 4 * world->body[b], sizeof state[b].quat);
    mj_objectVelocity(world->m, world->d, mjOBJ_XBODY, world->body[b], twist, 0);
    memcpy(state[b].w, twist, sizeof state[b].w);
    memcpy(state[b].v, twist + 3, sizeof state[b].v);
  }
}

static perp_reason mujoco_ended(void *at, int *iterations)
{
  const mujoco_world *world = at;
  *iterations = world->d->solver_iter;
  if (world->d->nefc == 0) return PERP_RUNNING;
  return world->d->solver_iter < world->o.iterations ? PERP_CONVERGED : PERP_MAX_ITER;
}

static int mujoco_contacts(void *at, perp_engine_contact *contact, int most)
{
  const mujoco_world *world = at;
  const int n = world->d->ncon < most ? world->d->ncon : most;
  for (int i = 0; i < n; i++) {
    const mjContact *mjcontact = &world->d->contact[i];
    const int a = world->shape[mjcontact->geom1], b = world->shape[mjcontact->geom2];
    const double sign = a < b ? 1 : -1; /* its normal is from the first to the second */
    double force[6];
    mj_contactForce(world->m, world->d, i, force);
    contact[i] = (perp_engine_contact){ .shape_a = a < b ? a : b,
                                        .shape_b = a < b ? b : a,
                                        .gap = mjcontact->dist };
    for (int k = 0; k < 3; k++) {
      contact[i].p[k] = mjcontact->pos[k];
      contact[i].n[k] = sign * mjcontact->frame[k];
      for (int row = 0; row < 3; row++)
        contact[i].impulse[k] += sign * world->m->opt.timestep * mjcontact->frame[3 * row + k] *
                                 force[row];
    }
  }
  return n;
}

static double mujoco_energy(void *at)
{
  const mujoco_world *world = at;
  mujoco_refresh(world);
  mj_crb(world->m, world->d); /* the mass matrix */
  world->m->opt.enableflags |= mjENBL_ENERGY;
  mj_energyPos(world->m, world->d);
  mj_energyVel(world->m, world->d);
  world->m->opt.enableflags &= ~mjENBL_ENERGY;
  return world->d->energy[0] + world->d->energy[1];
}

static void mujoco_resolved(void *at, char *text, size_t size)
{
  static const char *const solver[] = { "pgs", "cg", "newton" },
                           *const cone[] = { "pyramidal", "elliptic" },
                           *const integrator[] = { "euler", "rk4", "implicit" };
  const mujoco_world *world = at;
  const mjOption *mjoption = &world->m->opt;
  snprintf(text, size,
           "solver=%s, cone=%s, integrator=%s, iterations=%d, tolerance=%g, impratio=%g, "
           "solref=%g %g",
           solver[mjoption->solver], cone[mjoption->cone], integrator[mjoption->integrator],
           mjoption->iterations, mjoption->tolerance, mjoption->impratio,
           fmax(world->o.timeconst, 2 * mjoption->timestep), world->o.dampratio);
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
