/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/islands.h"

#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { JOINT_ROWS = 6 };

/* what one thread has of its own */
typedef struct lane {
  perp_ctx ctx;
  void *ws;
  perp_contact_count count;
} lane;

/* where the parts of an island start in the arrays shared by all */
typedef struct island {
  int contact, body, joint; /* in order, bodies, joints */
  int bounded;              /* in bounded */
  int joint_rows;           /* free rows of all islands before */
  size_t dense;             /* in A */
  bool eliminate;
} island;

struct perp_islands {
  const perp_model *model;
  const perp_contact_desc *kind;
  int r; /* rows of a contact */
  bool rows;
  int threads;
  lane *lanes;
  perp_contact_count count;
  bool observed;
  /* fixed size */
  int *tied;               /* [bodies] representative by joints alone */
  bool *jointed;           /* [bodies] has a joint */
  int *parent;             /* [bodies] */
  int *of;                 /* [bodies] island of a root, -1: no contacts */
  int *local;              /* [bodies] place in its island */
  int *bodies;             /* [bodies] by island */
  int *joints;             /* [joints] by island */
  int *bounded;            /* [rows] bounded rows by island */
  island *at;              /* [bodies + 1] */
  int *cursor;             /* [4 (bodies + 1)] */
  int *bptr, *mptr, *tptr; /* [2 bodies + 1] */
  double *M, *Minv;
  double *v_star;        /* [nv] M^-1 f, for joints as rows */
  double *f, *a;         /* [nv] response */
  double *zero, *lambda; /* [m] */
  perp_arena arena;
  int n_islands;
  int max_bounded; /* bounded rows at most */
  /* by the number of contacts */
  int cap;
  double *scratch;         /* [4 n] */
  int *order;              /* [n] contact at each place */
  double *frame;           /* [6 n] t1, t2 */
  double *b, *x, *s, *d;   /* [r n + m + bounded], d the diagonal of A */
  double *mu, *slip;       /* [n] */
  double *e, *lo;          /* [n] restitution and least impulse of decompression */
  double *b2, *x2;         /* [r n + m + bounded] decompression */
  double *row_lo, *row_hi; /* [m + bounded] of the rows that are no contacts */
  double *lo2, *hi2;       /* [m + bounded] decompression */
  double *product;         /* [2 nv] by island */
  double *J;
  int *cptr, *jptr, *joff, *jblk, *jgrp, *tsub;
  perp_arena grown;
  double *A; /* eliminated islands */
  size_t cap_A;
};

/* ---- life ------------------------------------------------------------------------------------ */

static void layout(perp_islands *s, perp_arena *a)
{
  const perp_model *model = s->model;
  size_t nb = (size_t)model->n_bodies, square = (size_t)model->nvb * (size_t)model->nvb;
  s->tied = PERP_CARVE(a, int, nb);
  s->jointed = PERP_CARVE(a, bool, nb);
  s->parent = PERP_CARVE(a, int, nb);
  s->of = PERP_CARVE(a, int, nb);
  s->local = PERP_CARVE(a, int, nb);
  s->bodies = PERP_CARVE(a, int, nb);
  s->joints = PERP_CARVE(a, int, model->n_joints);
  s->at = PERP_CARVE(a, island, nb + 1);
  s->bounded = PERP_CARVE(a, int, s->max_bounded);
  s->cursor = PERP_CARVE(a, int, 4 * (nb + 1));
  s->bptr = PERP_CARVE(a, int, 2 * nb + 1);
  s->mptr = PERP_CARVE(a, int, 2 * nb + 1);
  s->tptr = PERP_CARVE(a, int, 2 * nb + 1);
  s->M = PERP_CARVE(a, double, nb *square);
  s->Minv = PERP_CARVE(a, double, nb *square);
  s->v_star = PERP_CARVE(a, double, model->nv);
  s->product = PERP_CARVE(a, double, 2 * (size_t)model->nv);
  s->f = PERP_CARVE(a, double, model->nv);
  s->a = PERP_CARVE(a, double, model->nv);
  s->zero = PERP_CARVE(a, double, model->m);
  s->lambda = PERP_CARVE(a, double, model->m);
}

static void layout_grown(perp_islands *s, perp_arena *a)
{
  const perp_model *model = s->model;
  size_t n = (size_t)s->cap, nj = s->rows ? (size_t)model->n_joints : 0;
  size_t nb = (size_t)s->max_bounded, groups = n + nj + nb, further = (size_t)model->m + nb;
  size_t r = (size_t)s->r, nv = (size_t)model->nvb, islands = (size_t)model->n_bodies + 1;
  size_t rows = r * n + further;
  s->scratch = PERP_CARVE(a, double, 4 * n);
  s->order = PERP_CARVE(a, int, n);
  s->frame = PERP_CARVE(a, double, 6 * n);
  s->b = PERP_CARVE(a, double, rows);
  s->x = PERP_CARVE(a, double, rows);
  s->s = PERP_CARVE(a, double, rows);
  s->d = PERP_CARVE(a, double, rows);
  s->mu = PERP_CARVE(a, double, n);
  s->slip = PERP_CARVE(a, double, n);
  s->e = PERP_CARVE(a, double, n);
  s->lo = PERP_CARVE(a, double, n);
  s->b2 = PERP_CARVE(a, double, rows);
  s->x2 = PERP_CARVE(a, double, rows);
  s->row_lo = PERP_CARVE(a, double, further);
  s->row_hi = PERP_CARVE(a, double, further);
  s->lo2 = PERP_CARVE(a, double, further);
  s->hi2 = PERP_CARVE(a, double, further);
  s->J = PERP_CARVE(a, double, 2 * nv * (r * n + JOINT_ROWS * nj + nb));
  s->cptr = PERP_CARVE(a, int, groups + islands);
  s->jptr = PERP_CARVE(a, int, groups + islands);
  s->joff = PERP_CARVE(a, int, 2 * groups + islands);
  s->jblk = PERP_CARVE(a, int, 2 * groups);
  s->jgrp = PERP_CARVE(a, int, 2 * groups);
  s->tsub = PERP_CARVE(a, int, 2 * groups);
}

perp_status perp_islands_room(perp_ctx *ctx, perp_islands *s, int n)
{
  if (n <= s->cap && s->cap > 0) return PERP_OK;
  perp_arena_free(&s->grown);
  s->grown = (perp_arena){ 0 };
  s->cap = n + n / 2 + 16;
  layout_grown(s, &s->grown);
  perp_status status = perp_arena_reserve(ctx, &s->grown);
  if (status != PERP_OK) {
    s->cap = 0;
    return status;
  }
  layout_grown(s, &s->grown);
  return PERP_OK;
}

double *perp_islands_scratch(perp_islands *s)
{
  return s->scratch;
}

void perp_islands_destroy(perp_islands *s)
{
  if (s == NULL) return;
  for (int i = 0; i < s->threads && s->lanes != NULL; i++) s->kind->destroy(s->lanes[i].ws);
  free(s->lanes);
  free(s->A);
  perp_arena_free(&s->arena);
  perp_arena_free(&s->grown);
  free(s);
}

static int root(int *parent, int i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* the smaller index is the root */
static void unite(int *parent, int i, int j)
{
  i = root(parent, i);
  j = root(parent, j);
  if (i < j)
    parent[j] = i;
  else
    parent[i] = j;
}

perp_status perp_islands_create(perp_ctx *ctx, const perp_model *model,
                                const perp_contact_desc *kind, const void *opts,
                                const perp_contact_setup *setup, int threads, bool rows,
                                perp_islands **out)
{
  *out = NULL;
  perp_islands *s = calloc(1, sizeof *s);
  if (s == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for islands");
  s->model = model;
  s->kind = kind;
  s->r = kind->rows(model->dim);
  s->rows = rows;
  s->max_bounded = 2 * model->n_drives;
#ifdef _OPENMP
  s->threads = threads;
#else
  (void)threads;
  s->threads = 1;
#endif
  layout(s, &s->arena);
  perp_status status = perp_arena_reserve(ctx, &s->arena);
  if (status == PERP_OK) {
    layout(s, &s->arena);
    s->lanes = calloc((size_t)s->threads, sizeof *s->lanes);
    if (s->lanes == NULL) status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for islands");
  }
  for (int i = 0; i < s->threads && status == PERP_OK; i++)
    status = kind->create(ctx, setup, opts, &s->lanes[i].ws);
  if (status != PERP_OK) {
    perp_islands_destroy(s);
    return status;
  }
  for (int i = 0; i < model->n_bodies; i++) {
    s->tied[i] = i;
    s->jointed[i] = false;
  }
  for (int i = 0; i < model->n_joints; i++) {
    const perp_joint *j = &model->joint[i];
    if (j->a >= 0) s->jointed[j->a] = true;
    if (j->b >= 0) s->jointed[j->b] = true;
    if (j->a >= 0 && j->b >= 0) unite(s->tied, j->a, j->b);
  }
  for (int i = 0; i < model->n_bodies; i++) s->tied[i] = root(s->tied, i);
  memset(s->zero, 0, (size_t)model->m * sizeof *s->zero);
  *out = s;
  return PERP_OK;
}

void perp_islands_restart(perp_islands *s)
{
  s->count = (perp_contact_count){ 0 };
}

const perp_contact_count *perp_islands_count(const perp_islands *s)
{
  return &s->count;
}

void perp_islands_observe(perp_islands *s, perp_contact_observer *observer, void *user)
{
  s->observed = observer != NULL;
  for (int i = 0; i < s->threads; i++) s->kind->observe(s->lanes[i].ws, observer, user);
}

/* ---- relative velocities --------------------------------------------------------------------- */

/* velocity of the point p (world) of a body, added with a sign */
static void add_velocity(const perp_model *model, const perp_eval *e, int body, const double p[3],
                         const double *v, double sign, double u[3])
{
  if (body < 0) return;
  const perp_pose *pose = &e->pose[body];
  const double *vb = v + (size_t)model->nvb * (size_t)body;
  if (model->dim == 3) {
    double w[3], r[3] = { p[0] - pose->x[0], p[1] - pose->x[1], p[2] - pose->x[2] }, t[3];
    perp_turn(3, pose->R, vb + 3, w);
    perp_cross(w, r, t);
    for (int i = 0; i < 3; i++) u[i] += sign * (vb[i] + t[i]);
  } else {
    double x = p[0] - pose->x[0], y = p[1] - pose->x[1];
    u[0] += sign * (vb[0] - vb[2] * y);
    u[1] += sign * (vb[1] + vb[2] * x);
  }
}

/* Halfway between the two surfaces: impulse and counter-impulse then have one line of action. */
static void middle(const perp_contact *x, double p[3])
{
  for (int i = 0; i < 3; i++) p[i] = 0.5 * (x->p_a[i] + x->p_b[i]);
}

static void relative(const perp_model *model, const perp_eval *e, const perp_contact *x,
                     const double *v, double u[3])
{
  double p[3];
  middle(x, p);
  u[0] = u[1] = u[2] = 0;
  add_velocity(model, e, x->body_a, p, v, -1, u);
  add_velocity(model, e, x->body_b, p, v, 1, u);
}

double perp_contact_speed(const perp_model *model, const perp_eval *e, const perp_contact *x,
                          const double *v)
{
  double u[3];
  relative(model, e, x, v, u);
  return perp_dot(model->dim, x->n, u);
}

/* Tangents: from the normal alone, t1 the x axis of the world (y where the normal is nearer to x) made
 * perpendicular to n; or along the sliding u where that is clear of rounding. */
static void tangents(int dim, const double n[3], const double *u, double t[6])
{
  if (dim == 2) {
    t[0] = n[1], t[1] = -n[0];
    t[2] = t[3] = t[4] = t[5] = 0;
    return;
  }
  double *t1 = t, length = 0;
  if (u != NULL) {
    double un = perp_dot(3, n, u);
    for (int i = 0; i < 3; i++) t1[i] = u[i] - un * n[i];
    length = sqrt(perp_dot(3, t1, t1));
    if (length <= 1e-4 * fabs(un) + 1e-9) length = 0;
  }
  if (length == 0) {
    int axis = fabs(n[0]) < 0.9 ? 0 : 1;
    for (int i = 0; i < 3; i++) t1[i] = (i == axis) - n[axis] * n[i];
    length = sqrt(perp_dot(3, t1, t1));
  }
  for (int i = 0; i < 3; i++) t1[i] /= length;
  perp_cross(n, t1, t + 3);
}

/* ---- islands --------------------------------------------------------------------------------- */

static bool takes_part(const perp_island_task *task, int i)
{
  return task->kept == NULL || task->kept[i];
}

/* a moving body of the contact */
static int body_of(const perp_contact *x)
{
  return x->body_a >= 0 ? x->body_a : x->body_b;
}

static int body_of_row(const perp_island_row *row)
{
  return row->body[0] >= 0 ? row->body[0] : row->body[1];
}

/* Partition the bodies, and lay out contacts, bodies, joints and bounded rows by island. */
static void partition(perp_islands *s, const perp_island_task *task)
{
  const perp_model *model = s->model;
  const int nb = model->n_bodies;
  int *const contacts = s->cursor, *const bodies = contacts + nb + 1,
             *const joints = bodies + nb + 1, *const bounded = joints + nb + 1;
  memcpy(s->parent, s->tied, (size_t)nb * sizeof *s->parent);
  for (int i = 0; i < task->n; i++) {
    const perp_contact *x = &task->contact[i];
    if (takes_part(task, i) && x->body_a >= 0 && x->body_b >= 0)
      unite(s->parent, x->body_a, x->body_b);
  }
  for (int b = 0; b < nb; b++) s->of[b] = -1;
  for (int i = 0; i < task->n; i++)
    if (takes_part(task, i)) s->of[root(s->parent, body_of(&task->contact[i]))] = 0;
  for (int i = 0; i < task->n_rows; i++) s->of[root(s->parent, body_of_row(&task->row[i]))] = 0;
  s->n_islands = 0;
  for (int b = 0; b < nb; b++) { /* a root comes before the rest of its island */
    if (s->parent[b] == b && s->of[b] == 0) {
      contacts[s->n_islands] = bodies[s->n_islands] = joints[s->n_islands] = 0;
      bounded[s->n_islands] = 0;
      s->at[s->n_islands].eliminate = false;
      s->of[b] = s->n_islands++;
    }
    int at = s->of[root(s->parent, b)];
    s->of[b] = at;
    if (at < 0) continue;
    s->local[b] = bodies[at]++;
    if (s->jointed[b] && !s->rows) s->at[at].eliminate = true;
  }
  for (int i = 0; i < task->n; i++)
    if (takes_part(task, i)) contacts[s->of[body_of(&task->contact[i])]]++;
  for (int i = 0; i < task->n_rows; i++) bounded[s->of[body_of_row(&task->row[i])]]++;
  for (int j = 0; j < model->n_joints && s->rows; j++) {
    int b = model->joint[j].a >= 0 ? model->joint[j].a : model->joint[j].b;
    if (s->of[b] >= 0) joints[s->of[b]]++;
  }
  island sum = { 0 };
  for (int i = 0; i < s->n_islands; i++) {
    island *p = &s->at[i];
    size_t rows = (size_t)s->r * (size_t)contacts[i] + (size_t)bounded[i];
    sum.eliminate = p->eliminate;
    *p = sum;
    if (sum.eliminate) sum.dense += rows * rows;
    sum.contact += contacts[i];
    sum.body += bodies[i];
    sum.joint += joints[i];
    sum.bounded += bounded[i];
    contacts[i] = p->contact;
    joints[i] = p->joint;
    bounded[i] = p->bounded;
  }
  s->at[s->n_islands] = sum;
  for (int b = 0; b < nb; b++)
    if (s->of[b] >= 0) s->bodies[s->at[s->of[b]].body + s->local[b]] = b;
  for (int i = 0; i < task->n; i++)
    if (takes_part(task, i)) s->order[contacts[s->of[body_of(&task->contact[i])]]++] = i;
  for (int i = 0; i < task->n_rows; i++)
    s->bounded[bounded[s->of[body_of_row(&task->row[i])]]++] = i;
  if (!s->rows) return;
  for (int j = 0; j < model->n_joints; j++) {
    int b = model->joint[j].a >= 0 ? model->joint[j].a : model->joint[j].b;
    if (s->of[b] >= 0) s->joints[joints[s->of[b]]++] = j;
  }
  int rows = 0;
  for (int i = 0; i <= s->n_islands; i++) {
    s->at[i].joint_rows = rows;
    if (i == s->n_islands) break;
    for (int j = s->at[i].joint; j < s->at[i + 1].joint; j++)
      rows += model->cptr[s->joints[j] + 1] - model->cptr[s->joints[j]];
  }
}

/* of the rows that are no contacts */
static size_t first_further(const perp_islands *s, int i)
{
  return (size_t)s->at[i].joint_rows + (size_t)s->at[i].bounded;
}

static size_t first_row(const perp_islands *s, int i)
{
  return (size_t)s->r * (size_t)s->at[i].contact + first_further(s, i);
}

/* contacts, joints and bounded rows of all islands before */
static int first_group(const perp_islands *s, int i)
{
  return s->at[i].contact + s->at[i].joint + s->at[i].bounded;
}

static int further_rows(const perp_islands *s, int i)
{
  return (int)(first_further(s, i + 1) - first_further(s, i));
}

/* the block structure of island i in the shared arrays */
static perp_blocks blocks_of(const perp_islands *s, int i, bool soft)
{
  const island *p = &s->at[i], *next = p + 1;
  const perp_model *model = s->model;
  const int nb = next->body - p->body, nc = next->contact - p->contact;
  const int group = first_group(s, i);
  const size_t square = (size_t)model->nvb * (size_t)model->nvb;
  return (perp_blocks){
    .nv = nb * model->nvb,
    .m = s->r * nc + further_rows(s, i),
    .nb = nb,
    .nc = first_group(s, i + 1) - group,
    .bptr = s->bptr + p->body + i,
    .mptr = s->mptr + p->body + i,
    .cptr = s->cptr + group + i,
    .jptr = s->jptr + group + i,
    .jblk = s->jblk + 2 * group,
    .joff = s->joff + 2 * group + i,
    .jgrp = s->jgrp + 2 * group,
    .tptr = s->tptr + p->body + i,
    .tsub = s->tsub + 2 * group,
    .M = s->M + square * (size_t)p->body,
    .Minv = s->Minv + square * (size_t)p->body,
    .J = s->J + (size_t)(2 * model->nvb) * ((size_t)s->r * (size_t)p->contact +
                                            JOINT_ROWS * (size_t)p->joint + (size_t)p->bounded),
    .s = soft ? s->s + first_row(s, i) : NULL,
  };
}

/* rows of J for one body: sign (d, R'(r x d)) for each direction d of the contact */
static void body_rows(const perp_model *model, const perp_pose *pose, const double p[3],
                      double sign, int rows, const double *const dir[3], double *J)
{
  double r[3] = { 0 }, c[3], w[3];
  for (int i = 0; i < model->dim; i++) r[i] = p[i] - pose->x[i];
  for (int k = 0; k < rows; k++) {
    const double *d = dir[k];
    for (int i = 0; i < model->dim; i++) J[k + i * rows] = sign * d[i];
    if (model->dim == 3) {
      perp_cross(r, d, c);
      perp_turn_back(3, pose->R, c, w);
      for (int i = 0; i < 3; i++) J[k + (3 + i) * rows] = sign * w[i];
    } else {
      J[k + 2 * rows] = sign * (r[0] * d[1] - r[1] * d[0]);
    }
  }
}

/* One contact at its place: frame, coefficients, right-hand side, guess and rows of J. */
static int fill_contact(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                        int place, const double *v_free, double *b, double *x, double *soft,
                        double *J, int *blk)
{
  const perp_model *model = s->model;
  const int dim = model->dim, r = s->r, c = s->order[place];
  const perp_contact *contact = &task->contact[c];
  const perp_eval *e = k->e;
  double before[3] = { 0 }, free[3] = { 0 }, u[3], p[3];
  double *t = s->frame + (size_t)6 * (size_t)place;
  const double *const dir[3] = { contact->n, t, t + 3 };
  middle(contact, p);
  relative(model, e, contact, k->a, u);
  tangents(dim, contact->n, task->align ? u : NULL, t);
  for (int i = 0; i < dim; i++) free[i] = perp_dot(dim, dir[i], u);
  if (v_free != k->a) relative(model, e, contact, v_free, u);
  for (int i = 0; i < r; i++) b[i] = perp_dot(dim, dir[i], u);
  relative(model, e, contact, task->v, u);
  for (int i = 0; i < dim; i++) before[i] = perp_dot(dim, dir[i], u);
  b[0] += task->bias(task->user, contact, task->h, before, free);
  s->mu[place] = task->friction != NULL ? task->friction(task->user, contact, before, dim) : 0;
  s->slip[place] = task->slip[c];
  s->e[place] = task->restitution != NULL
                    ? task->restitution(task->user, contact, task->h, before, free)
                    : 0;
  for (int i = 0; i < r; i++) {
    x[i] = perp_dot(dim, dir[i], task->impulse + (size_t)3 * (size_t)c);
    soft[i] = i == 0 ? task->softness : 0;
  }
  if (x[0] < 0) x[0] = 0;
  int subs = 0;
  for (int side = 0; side < 2; side++) {
    int body = side == 0 ? contact->body_a : contact->body_b;
    if (body < 0) continue;
    body_rows(model, &e->pose[body], p, side == 0 ? -1 : 1, r, dir,
              J + (size_t)(subs * r * model->nvb));
    blk[subs++] = s->local[body];
  }
  return subs;
}

/* A_ii: M is diag(m, m, m, I) */
static void diagonal(const perp_islands *s, int first_body, const perp_blocks *F, double *d)
{
  const perp_model *model = s->model;
  const int dim = model->dim;
  for (int i = 0; i < F->m; i++) d[i] = F->s[i];
  for (int c = 0; c < F->nc; c++) {
    int row = F->cptr[c], r = F->cptr[c + 1] - row;
    for (int q = F->jptr[c]; q < F->jptr[c + 1]; q++) {
      const perp_inertia *in = &model->inertia[s->bodies[first_body + F->jblk[q]]];
      const double *J = F->J + F->joff[q];
      for (int k = 0; k < r; k++) {
        double line = 0, g[3], y[3];
        for (int l = 0; l < dim; l++) line += J[k + l * r] * J[k + l * r];
        for (int l = 0; l < model->rates; l++) g[l] = J[k + (dim + l) * r];
        d[row + k] += line / in->mass;
        if (dim == 3) {
          perp_sym_mul(in->Iinv, g, y);
          d[row + k] += perp_dot(3, g, y);
        } else {
          d[row + k] += g[0] * g[0] * in->Iinv[8];
        }
      }
    }
  }
}

/* Everything of island i but the dense matrix. */
static void fill(perp_islands *s, lane *own, const perp_constrained *k,
                 const perp_island_task *task, int i)
{
  (void)own;
  const perp_model *model = s->model;
  const island *p = &s->at[i], *next = p + 1;
  const int nb = next->body - p->body, nc = next->contact - p->contact, nvb = model->nvb, r = s->r;
  const size_t square = (size_t)nvb * (size_t)nvb;
  const bool rows = next->joint > p->joint;
  perp_blocks F = blocks_of(s, i, true);
  int *bptr = s->bptr + p->body + i, *mptr = s->mptr + p->body + i;
  const int group = first_group(s, i);
  int *cptr = s->cptr + group + i, *jptr = s->jptr + group + i;
  int *jblk = s->jblk + 2 * group, *joff = s->joff + 2 * group + i;
  double *J = s->J + (F.J - s->J), *b = s->b + first_row(s, i), *x = s->x + first_row(s, i),
         *soft = s->s + first_row(s, i);
  double *row_lo = s->row_lo + first_further(s, i), *row_hi = s->row_hi + first_further(s, i);
  for (int l = 0; l < nb; l++) {
    int body = s->bodies[p->body + l];
    bptr[l] = nvb * l;
    mptr[l] = (int)square * l;
    if (p->eliminate) continue;
    memcpy(s->M + square * (size_t)(p->body + l), model->M + model->mptr[body],
           square * sizeof(double));
    memcpy(s->Minv + square * (size_t)(p->body + l), model->Minv + model->mptr[body],
           square * sizeof(double));
  }
  bptr[nb] = nvb * nb;
  mptr[nb] = (int)square * nb;
  int sub = 0, off = 0, row = 0;
  for (int c = 0; c < nc; c++) {
    int place = p->contact + c, blk[2];
    int subs = fill_contact(s, k, task, place, rows ? s->v_star : k->a, b + row, x + row,
                            soft + row, J + off, blk);
    cptr[c] = row;
    jptr[c] = sub;
    for (int q = 0; q < subs; q++) {
      jblk[sub] = blk[q];
      joff[sub++] = off;
      off += r * nvb;
    }
    row += r;
  }
  const perp_blocks *K = &k->e->blocks;
  int g = nc, further = 0;
  for (int j = p->joint; j < next->joint; j++, g++) {
    int of = s->joints[j], first = K->cptr[of], m = K->cptr[of + 1] - first;
    cptr[g] = row;
    jptr[g] = sub;
    for (int q = 0; q < m; q++, further++) {
      row_lo[further] = -HUGE_VAL;
      row_hi[further] = HUGE_VAL;
      b[row + q] = -k->c[first + q];
      x[row + q] = k->lambda[first + q];
      soft[row + q] = K->s != NULL ? K->s[first + q] : 0;
    }
    for (int q = K->jptr[of]; q < K->jptr[of + 1]; q++) {
      int body = K->jblk[q];
      const double *G = K->J + K->joff[q], *v = s->v_star + (size_t)nvb * (size_t)body;
      jblk[sub] = s->local[body];
      joff[sub++] = off;
      memcpy(J + off, G, (size_t)(m * nvb) * sizeof *J);
      for (int l = 0; l < nvb; l++)
        for (int y = 0; y < m; y++) b[row + y] += G[y + l * m] * v[l];
      off += m * nvb;
    }
    row += m;
  }
  const double *v_free = rows ? s->v_star : k->a;
  for (int j = p->bounded; j < next->bounded; j++, g++, row++, further++) {
    const perp_island_row *from = &task->row[s->bounded[j]];
    cptr[g] = row;
    jptr[g] = sub;
    row_lo[further] = from->lo;
    row_hi[further] = from->hi;
    b[row] = from->bias;
    x[row] = from->lambda;
    soft[row] = from->soft;
    for (int side = 0; side < 2; side++) {
      if (from->body[side] < 0) continue;
      const double *v = v_free + (size_t)nvb * (size_t)from->body[side];
      jblk[sub] = s->local[from->body[side]];
      joff[sub++] = off;
      for (int l = 0; l < nvb; l++) {
        J[off++] = from->J[side][l];
        b[row] += from->J[side][l] * v[l];
      }
    }
  }
  cptr[F.nc] = row;
  jptr[F.nc] = sub;
  joff[sub] = off;
  if (!p->eliminate) diagonal(s, p->body, &F, s->d + first_row(s, i));
  perp_blocks_transpose(nb, F.nc, jptr, jblk, s->jgrp + 2 * group, s->tptr + p->body + i,
                        s->tsub + 2 * group);
}

/* A_c = J_c H J_c' + S of an island whose joints are eliminated: one response of the whole system to
 * each row, by the KKT factor. */
static bool columns(perp_islands *s, perp_constrained *k, int i)
{
  const perp_model *model = s->model;
  const island *p = &s->at[i];
  perp_blocks F = blocks_of(s, i, true);
  const int n = F.m, nvb = model->nvb;
  double *A = s->A + p->dense;
  for (int c = 0, col = 0; c < F.nc; c++)
    for (int row = F.cptr[c]; row < F.cptr[c + 1]; row++, col++) {
      int r = F.cptr[c + 1] - F.cptr[c];
      memset(s->f, 0, (size_t)model->nv * sizeof *s->f);
      for (int q = F.jptr[c]; q < F.jptr[c + 1]; q++) {
        double *f = s->f + (size_t)nvb * (size_t)s->bodies[p->body + F.jblk[q]];
        for (int l = 0; l < nvb; l++) f[l] += F.J[F.joff[q] + row - F.cptr[c] + l * r];
      }
      if (!perp_constrained_response(k, s->f, s->zero, s->a, s->lambda)) return false;
      double *out = A + (size_t)n * (size_t)col;
      for (int y = 0; y < n; y++) out[y] = 0;
      for (int g = 0; g < F.nc; g++) {
        int first = F.cptr[g], m = F.cptr[g + 1] - first;
        for (int q = F.jptr[g]; q < F.jptr[g + 1]; q++) {
          const double *a = s->a + (size_t)nvb * (size_t)s->bodies[p->body + F.jblk[q]];
          for (int l = 0; l < nvb; l++)
            for (int y = 0; y < m; y++) out[first + y] += F.J[F.joff[q] + y + l * m] * a[l];
        }
      }
      out[col] += F.s[col];
    }
  double *diag = s->d + first_row(s, i);
  for (int y = 0; y < n; y++) diag[y] = A[(size_t)y * ((size_t)n + 1)];
  for (int y = 0; y < n; y++) /* symmetric up to rounding: make it exact */
    for (int z = 0; z < y; z++) {
      double *u = &A[y + (size_t)n * (size_t)z], *l = &A[z + (size_t)n * (size_t)y];
      *u = *l = 0.5 * (*u + *l);
    }
  return true;
}

/* Poisson's law (Anitescu and Potra): after the compression that x holds, each impact gives back at least
 * the part e of its normal impulse; a second problem of the same kind, with that least impulse and
 * the velocities at the end of compression.  x becomes the sum of both. */
static perp_status decompress(perp_islands *s, lane *own, const perp_contact_island *problem, int i)
{
  const island *p = &s->at[i];
  const size_t first = first_row(s, i), n = (size_t)s->r * (size_t)problem->nc;
  double *x = s->x + first, *b2 = s->b2 + first, *x2 = s->x2 + first, *lo = s->lo + p->contact;
  bool any = false;
  for (int c = 0; c < problem->nc; c++) {
    double e = s->e[p->contact + c];
    lo[c] = e * fmax(x[s->r * c], 0);
    any |= lo[c] > 0;
    for (int k = 0; k < s->r; k++) x2[s->r * c + k] = e * x[s->r * c + k];
  }
  if (!any) return PERP_OK;
  const int m = (int)n + problem->joints;
  perp_lcp base = {
    .n = m, .A = problem->A, .lda = problem->lda, .F = problem->F, .b = problem->b
  };
  perp_contact_island second = *problem;
  perp_lcp_product(&base, x, b2, s->product + (size_t)(2 * s->model->nvb * p->body));
  double *lo2 = s->lo2 + first_further(s, i), *hi2 = s->hi2 + first_further(s, i);
  for (int j = 0; j < problem->joints; j++) { /* the sum of both keeps the bounds */
    x2[(int)n + j] = 0;
    lo2[j] = problem->row_lo[j] - x[(int)n + j];
    hi2[j] = problem->row_hi[j] - x[(int)n + j];
  }
  second.row_lo = lo2;
  second.row_hi = hi2;
  second.b = b2;
  second.lo = lo;
  PERP_TRY(s->kind->solve(&own->ctx, own->ws, &second, x2, s->slip + p->contact, &own->count));
  for (int j = 0; j < m; j++) x[j] += x2[j];
  return PERP_OK;
}

static perp_status solve_one(perp_islands *s, lane *own, const perp_constrained *k,
                             const perp_island_task *task, int i)
{
  const island *p = &s->at[i], *next = p + 1;
  const int dim = s->model->dim, nc = next->contact - p->contact;
  const size_t first = first_row(s, i);
  bool soft = task->softness > 0 || (k->e->blocks.s != NULL && next->joint > p->joint) ||
              next->bounded > p->bounded;
  perp_blocks F = blocks_of(s, i, soft);
  perp_contact_island problem = { .nc = nc,
                                  .joints = further_rows(s, i),
                                  .row_lo = s->row_lo + first_further(s, i),
                                  .row_hi = s->row_hi + first_further(s, i),
                                  .mu = s->mu + p->contact,
                                  .F = p->eliminate ? NULL : &F,
                                  .A = p->eliminate ? s->A + p->dense : NULL,
                                  .lda = F.m,
                                  .diag = s->d + first,
                                  .b = s->b + first,
                                  .reuse = task->reuse };
  for (int place = p->contact; place < next->contact && task->fresh != NULL; place++)
    if (task->fresh[s->order[place]]) problem.reuse = 0.1 * task->reuse;
  const int64_t solved = own->count.problems;
  PERP_TRY(s->kind->solve(&own->ctx, own->ws, &problem, s->x + first, s->slip + p->contact,
                          &own->count));
  if (task->restitution != NULL) PERP_TRY(decompress(s, own, &problem, i));
  for (int c = 0; c < nc; c++) {
    int place = p->contact + c, at = s->order[place];
    const double *t = s->frame + (size_t)6 * (size_t)place, *x = s->x + first + (size_t)(s->r * c);
    const double *n = task->contact[at].n;
    double *P = task->impulse + (size_t)3 * (size_t)at;
    task->slip[at] = s->slip[place];
    if (task->fresh != NULL) task->fresh[at] = own->count.problems > solved;
    P[0] = P[1] = P[2] = 0;
    for (int q = 0; q < dim; q++) {
      P[q] = x[0] * n[q];
      if (s->r > 1) P[q] += x[1] * t[q];
      if (s->r > 2) P[q] += x[2] * t[3 + q];
    }
  }
  const double *last = s->x + first_row(s, i + 1) - (next->bounded - p->bounded);
  for (int j = p->bounded; j < next->bounded; j++) task->row[s->bounded[j]].lambda = *last++;
  return PERP_OK;
}

static void solve(perp_islands *s, lane *own, const perp_constrained *k,
                  const perp_island_task *task, int i)
{
  perp_status status = solve_one(s, own, k, task, i);
  if (status != PERP_OK) own->ctx.status = status;
}

/* One thread needs no team: some OpenMP libraries allocate for each. */
static void for_each(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                     int threads,
                     void (*work)(perp_islands *, lane *, const perp_constrained *,
                                  const perp_island_task *, int))
{
#ifdef _OPENMP
  if (threads > 1) {
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads)
    for (int i = 0; i < s->n_islands; i++) work(s, &s->lanes[omp_get_thread_num()], k, task, i);
    return;
  }
#endif
  (void)threads;
  for (int i = 0; i < s->n_islands; i++) work(s, &s->lanes[0], k, task, i);
}

bool perp_islands_solve(perp_islands *s, perp_constrained *k, perp_island_task *task)
{
  const perp_model *model = s->model;
  k->status = perp_islands_room(k->ctx, s, task->n);
  if (k->status != PERP_OK) return false;
  partition(s, task);
  if (s->rows && model->m > 0) perp_blocks_Minv(&k->e->blocks, k->f, s->v_star);
  for (int i = 0; i < task->n; i++)
    if (!takes_part(task, i))
      memset(task->impulse + (size_t)3 * (size_t)i, 0, 3 * sizeof *task->impulse);
  const size_t dense = s->at[s->n_islands].dense;
  if (dense > s->cap_A) {
    free(s->A);
    s->cap_A = 0;
    s->A = malloc((dense + dense / 2) * sizeof *s->A);
    if (s->A == NULL) {
      k->status = PERP_FAIL(k->ctx, PERP_ERR_NOMEM, "no memory for the matrix of an island");
      return false;
    }
    s->cap_A = dense + dense / 2;
  }
  const int threads = s->observed || k->ctx->trace != NULL ? 1 : s->threads;
  for (int i = 0; i < threads; i++) {
    s->lanes[i].ctx = *k->ctx;
    s->lanes[i].ctx.status = PERP_OK;
    s->lanes[i].count = (perp_contact_count){ 0 };
  }
  for_each(s, k, task, threads, fill);
  for (int i = 0; i < s->n_islands; i++)
    if (s->at[i].eliminate && !columns(s, k, i)) return false;
  for_each(s, k, task, threads, solve);
  for (int i = 0; i < threads; i++) {
    perp_contact_count_add(&s->count, &s->lanes[i].count);
    if (s->lanes[i].ctx.status == PERP_OK || k->status != PERP_OK) continue;
    perp_ctx *ctx = &s->lanes[i].ctx;
    k->status = PERP_FAIL(k->ctx, ctx->status, "%s", ctx->msg);
  }
  const int kept = s->at[s->n_islands].contact;
  if (kept > s->count.contacts) s->count.contacts = kept;
  if (s->n_islands > s->count.islands) s->count.islands = s->n_islands;
  return k->status == PERP_OK;
}

void perp_islands_apply(const perp_islands *s, const perp_constrained *k,
                        const perp_island_task *task, double *f)
{
  const perp_model *model = s->model;
  const int dim = model->dim;
  for (int i = 0; i < task->n_rows; i++)
    for (int side = 0; side < 2; side++) {
      const perp_island_row *row = &task->row[i];
      if (row->body[side] < 0) continue;
      double *fb = f + (size_t)model->nvb * (size_t)row->body[side];
      for (int l = 0; l < model->nvb; l++) fb[l] += row->J[side][l] * row->lambda;
    }
  for (int i = 0; i < task->n; i++) {
    const perp_contact *x = &task->contact[i];
    const double *P = task->impulse + (size_t)3 * (size_t)i;
    if (P[0] == 0 && P[1] == 0 && P[2] == 0) continue;
    double p[3];
    middle(x, p);
    for (int side = 0; side < 2; side++) {
      int body = side == 0 ? x->body_a : x->body_b;
      if (body < 0) continue;
      const perp_pose *pose = &k->e->pose[body];
      double sign = side == 0 ? -1 : 1, *fb = f + (size_t)model->nvb * (size_t)body;
      for (int q = 0; q < dim; q++) fb[q] += sign * P[q];
      if (dim == 3) {
        double r[3] = { p[0] - pose->x[0], p[1] - pose->x[1], p[2] - pose->x[2] }, c[3], w[3];
        perp_cross(r, P, c);
        perp_turn_back(3, pose->R, c, w);
        for (int q = 0; q < 3; q++) fb[3 + q] += sign * w[q];
      } else {
        fb[2] += sign * ((p[0] - pose->x[0]) * P[1] - (p[1] - pose->x[1]) * P[0]);
      }
    }
  }
}
