/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The problems of all islands: frames, right-hand sides, rows of J. */
#include "models/contact_step/islands_private.h"
#include "solvers/core/clones.h"

#include <string.h>

enum { TEAM_FILL = 500 }; /* contacts that are worth a team */
enum { AHEAD = 4 };       /* contacts */

/* ---- relative velocities --------------------------------------------------------------------- */

void perp_twist(const perp_model *model, const perp_eval *e, int body, const double *v,
                double *twist)
{
  const double *vb = v + (size_t)model->nvb * (size_t)body;
  double *t = twist + (size_t)6 * (size_t)body;
  t[0] = vb[0], t[1] = vb[1];
  if (model->dim == 3) {
    t[2] = vb[2];
    perp_turn(3, e->pose[body].R, vb + 3, t + 3);
  } else {
    t[2] = t[3] = t[4] = 0;
    t[5] = vb[2];
  }
}

void perp_twists(const perp_model *model, const perp_eval *e, const double *v, double *twist)
{
  for (int b = 0; b < model->n_bodies; b++) perp_twist(model, e, b, v, twist);
}

/* Where a contact is: halfway between the surfaces, and from the centres of its bodies. */
typedef struct arms {
  double m[3], r[2][3];
} arms;

PERP_INLINE void arms_of(int dim, const perp_eval *e, const perp_contact *x, arms *at)
{
  perp_contact_middle(x, at->m);
  for (int side = 0; side < 2; side++) {
    const int body = side == 0 ? x->body_a : x->body_b;
    for (int i = 0; i < 3; i++)
      at->r[side][i] = body >= 0 && i < dim ? at->m[i] - e->pose[body].x[i] : 0;
  }
}

/* velocity of b relative to a */
PERP_INLINE void islands_rows_relative(const perp_contact *x, const arms *at, const double *twist,
                                       double u[3])
{
  u[0] = u[1] = u[2] = 0;
  for (int side = 0; side < 2; side++) {
    const int body = side == 0 ? x->body_a : x->body_b;
    if (body < 0) continue;
    const double *t = twist + (size_t)6 * (size_t)body;
    double c[3], sign = side == 0 ? -1 : 1;
    perp_cross(t + 3, at->r[side], c);
    for (int i = 0; i < 3; i++) u[i] += sign * (t[i] + c[i]);
  }
}

double perp_contact_speed(int dim, const perp_eval *e, const perp_contact *x, const double *twist)
{
  double u[3];
  arms at;
  arms_of(dim, e, x, &at);
  islands_rows_relative(x, &at, twist, u);
  return perp_dot(3, x->n, u);
}

/* Tangents: from the normal alone, t1 the x axis of the world (y where the normal is nearer to x) made
 * perpendicular to n; or along the sliding u where that is clear of rounding. */
PERP_INLINE void islands_rows_tangents(int dim, const double n[3], const double *u, double t[6])
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

/* ---- rows ------------------------------------------------------------------------------------ */

double perp_island_row_product(const perp_model *model, const perp_island_row *row, const double *v)
{
  double sum = 0;
  for (int side = 0; side < 2; side++) {
    if (row->body[side] < 0) continue;
    const double *vb = v + (size_t)model->nvb * (size_t)row->body[side];
    for (int i = 0; i < model->nvb; i++) sum += row->J[side][i] * vb[i];
  }
  return sum;
}

void perp_island_row_apply(const perp_model *model, const perp_island_row *row, double lambda,
                           double *f)
{
  for (int side = 0; side < 2; side++) {
    if (row->body[side] < 0) continue;
    double *fb = f + (size_t)model->nvb * (size_t)row->body[side];
    for (int i = 0; i < model->nvb; i++) fb[i] += row->J[side][i] * lambda;
  }
}

/* The directions of a contact, n, t1, t2, by component: x of all, y of all, z of all.  What is made of them comes for
 * all of them at once. */
typedef struct directions {
  perp_v4 d[3];
} directions;

/* components of u [dim] */
PERP_INLINE void islands_rows_along(int dim, const directions *D, const double *u, double out[4])
{
  perp_v4 sum = D->d[0] * u[0] + D->d[1] * u[1];
  if (dim == 3) sum += D->d[2] * u[2];
  *(perp_v4_any *)out = sum;
}

/* a column of J; the place of the next one may be written to before it comes */
PERP_INLINE void put_column(int rows, const perp_v4 *x, bool last, double *J)
{
  if (rows == 3 && !last)
    *(perp_v4_any *)J = *x;
  else
    for (int k = 0; k < rows; k++) J[k] = (*x)[k];
}

/* Rows of J for one body: sign (d, R'(r x d)) for each direction d, and their part of A_ii.  M is diag(m, m, m, I). */
PERP_INLINE void body_rows(int dim, int rows, const perp_pose *pose, const perp_inertia *in,
                           const double r[3], double sign, const directions *D, double *J,
                           perp_v4 *diagonal)
{
  const perp_v4 *d = D->d;
  perp_v4 line = d[0] * d[0] + d[1] * d[1], column;
  for (int i = 0; i < dim; i++) {
    column = sign * d[i];
    put_column(rows, &column, false, J + i * rows);
  }
  if (dim == 3) {
    const double *R = pose->R, *W = in->Iinv;
    const perp_v4 c[3] = { r[1] * d[2] - r[2] * d[1], r[2] * d[0] - r[0] * d[2],
                           r[0] * d[1] - r[1] * d[0] };
    perp_v4 g[3];
    for (int i = 0; i < 3; i++) {
      g[i] = sign * (R[3 * i] * c[0] + R[3 * i + 1] * c[1] + R[3 * i + 2] * c[2]);
      put_column(rows, &g[i], i == 2, J + (3 + i) * rows);
    }
    line += d[2] * d[2];
    *diagonal += line / in->mass;
    *diagonal += g[0] * (W[0] * g[0] + W[1] * g[1] + W[2] * g[2]) +
                 g[1] * (W[1] * g[0] + W[4] * g[1] + W[5] * g[2]) +
                 g[2] * (W[2] * g[0] + W[5] * g[1] + W[8] * g[2]);
  } else {
    column = sign * (r[0] * d[1] - r[1] * d[0]);
    put_column(rows, &column, true, J + 2 * rows);
    *diagonal += line / in->mass;
    *diagonal += column * column * in->Iinv[8];
  }
}

/* A_ii of the r rows of a joint or a bounded row of an island.  d: S on entry. */
PERP_INLINE void add_diagonal(const perp_model *model, int dim, int r, const int *bodies,
                              const perp_blocks *F, int c, double *d)
{
  for (int q = F->jptr[c]; q < F->jptr[c + 1]; q++) {
    const perp_inertia *in = &model->inertia[bodies[F->jblk[q]]];
    const double *J = F->J + F->joff[q];
    for (int k = 0; k < r; k++) {
      double line = 0, g[3], y[3];
      for (int l = 0; l < dim; l++) line += J[k + l * r] * J[k + l * r];
      for (int l = 0; l < (dim == 3 ? 3 : 1); l++) g[l] = J[k + (dim + l) * r];
      d[k] += line / in->mass;
      if (dim == 3) {
        perp_sym_mul(in->Iinv, g, y);
        d[k] += perp_dot(3, g, y);
      } else {
        d[k] += g[0] * g[0] * in->Iinv[8];
      }
    }
  }
}

/* One contact at its place in island i of blocks F: frame, coefficients, right-hand side, guess, rows of J
 * and diagonal of A.  dim and r: those of s. */
PERP_INLINE void fill_sized(perp_islands *s, const perp_constrained *k,
                            const perp_island_task *task, int place, int i, const perp_blocks *F,
                            int dim, int r)
{
  const perp_model *model = s->model;
  const island *p = &s->start[i];
  const int at = s->order[place], c = place - p->contact;
  const size_t row = first_row(s, i) + (size_t)(r * c);
  const perp_contact *contact = &task->contact[at];
  const perp_eval *e = k->e;
  const double *slides = task->sliding != NULL ? task->sliding + (size_t)3 * (size_t)at : NULL;
  double before[4], free[4], target[4], guess[4], u[3];
  double *t = s->frame + (size_t)6 * (size_t)place, *b = s->b + row, *x = s->x + row;
  double *soft = s->s + row, *J = s->J + (F->J - s->J) + F->joff[F->jptr[c]];
  const double *n = contact->n;
  arms arm;
  arms_of(dim, e, contact, &arm);
  islands_rows_relative(contact, &arm, task->free, u);
  for (int q = 0; q < dim && task->offset != NULL; q++) u[q] += task->offset[3 * at + q];
  const bool slide = slides != NULL && perp_dot(3, slides, slides) > 0;
  islands_rows_tangents(dim, n, slide ? slides : task->align ? u : NULL, t);
  directions D = { .d = { { n[0], t[0], t[3], 0 }, { n[1], t[1], t[4], 0 } } };
  if (dim == 3) D.d[2] = (perp_v4){ n[2], t[2], t[5], 0 };
  islands_rows_along(dim, &D, u, free);
  if (p[1].joint > p->joint) islands_rows_relative(contact, &arm, s->twist_star, u);
  islands_rows_along(dim, &D, u, target);
  islands_rows_relative(contact, &arm, task->before, u);
  islands_rows_along(dim, &D, u, before);
  islands_rows_along(dim, &D, task->impulse + (size_t)3 * (size_t)at, guess);
  for (int q = 0; q < r; q++) {
    b[q] = target[q];
    x[q] = guess[q];
    soft[q] = q == 0 ? task->softness : 0;
  }
  if (x[0] < 0) x[0] = 0;
  b[0] += task->bias(task->user, contact, task->h, before, free);
  s->mu[place] = task->friction != NULL ? task->friction(task->user, contact, before, dim) : 0;
  if (slide) {
    islands_rows_along(dim, &D, slides, target);
    for (int q = 1; q < r; q++) s->drag[2 * place + q - 1] = s->mu[place] * target[q];
    s->mu[place] = 0;
  } else
    s->drag[2 * place] = s->drag[2 * place + 1] = 0;
  s->slip[place] = task->slip[at];
  s->restitution[place] = task->restitution != NULL
                              ? task->restitution(task->user, contact, task->h, before, free)
                              : 0;
  perp_v4 diagonal = soft[0] * (perp_v4){ 1, 0, 0, 0 };
  for (int side = 0; side < 2; side++) {
    int body = side == 0 ? contact->body_a : contact->body_b;
    if (body < 0) continue;
    body_rows(dim, r, &e->pose[body], &model->inertia[body], arm.r[side], side == 0 ? -1 : 1, &D, J,
              &diagonal);
    J += r * (dim == 3 ? 6 : 3);
  }
  for (int q = 0; q < r && !p->eliminate; q++) s->diagonal[row + (size_t)q] = diagonal[q];
}

/* The pattern of island i, and its joints and bounded rows. */
static void islands_rows_lay_out(perp_islands *s, const perp_constrained *k,
                                 const perp_island_task *task, int i)
{
  const perp_model *model = s->model;
  const island *p = &s->start[i], *next = p + 1;
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
    bptr[l] = nvb * l;
    mptr[l] = (int)square * l;
  }
  bptr[nb] = nvb * nb;
  mptr[nb] = (int)square * nb;
  int sub = 0, off = 0, row = 0;
  for (int c = 0; c < nc; c++) {
    const perp_contact *contact = &task->contact[s->order[p->contact + c]];
    cptr[c] = row;
    jptr[c] = sub;
    for (int side = 0; side < 2; side++) {
      int body = side == 0 ? contact->body_a : contact->body_b;
      if (body < 0) continue;
      jblk[sub] = s->local[body];
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
  double *d = s->diagonal + first_row(s, i);
  for (g = nc; g < F.nc && !p->eliminate; g++) {
    for (int q = cptr[g]; q < cptr[g + 1]; q++) d[q] = soft[q];
    add_diagonal(model, model->dim, cptr[g + 1] - cptr[g], s->bodies + p->body, &F, g, d + cptr[g]);
  }
  perp_blocks_transpose(nb, F.nc, jptr, jblk, s->jgrp + 2 * group, s->tptr + p->body + i,
                        s->tsub + 2 * group);
}

typedef struct filling {
  perp_islands *s;
  const perp_constrained *k;
  const perp_island_task *task;
} filling;

/* Bodies come in no order: what a contact reads of them is asked for in good time. */
static void fetch_bodies(const filling *job, const perp_contact *x)
{
  for (int side = 0; side < 2; side++) {
    const int body = side == 0 ? x->body_a : x->body_b;
    if (body < 0) continue;
    const char *pose = (const char *)&job->k->e->pose[body];
    const perp_inertia *in = &job->s->model->inertia[body];
    __builtin_prefetch(pose);
    __builtin_prefetch(pose + 64);
    __builtin_prefetch(job->task->free + 6 * (size_t)body);
    __builtin_prefetch(job->task->before + 6 * (size_t)body);
    __builtin_prefetch(&in->mass);
    __builtin_prefetch(&in->Iinv[2]);
    __builtin_prefetch(&in->Iinv[8]);
  }
}

PERP_CLONES_OF_FOUR static void fill_share(void *user, int member, int members)
{
  const filling *job = user;
  perp_islands *s = job->s;
  const perp_model *model = s->model;
  const island *all = &s->start[s->n_islands];
  const size_t square = (size_t)model->nvb * (size_t)model->nvb;
  int end = perp_share(all->body, member + 1, members);
  for (int l = perp_share(all->body, member, members); l < end; l++) {
    const int body = s->bodies[l], nvb = model->nvb;
    if (s->mass_place[l] == body) continue; /* they are constant */
    s->mass_place[l] = body;
    s->diag[l] = model->diagonal[body];
    memcpy(s->M + square * (size_t)l, model->M + model->mptr[body], square * sizeof(double));
    memcpy(s->Minv + square * (size_t)l, model->Minv + model->mptr[body], square * sizeof(double));
    memcpy(s->flat + nvb * l, model->flat + nvb * body, (size_t)nvb * sizeof(double));
  }
  end = perp_share(all->contact, member + 1, members);
  perp_blocks F = { 0 };
  for (int place = perp_share(all->contact, member, members), last = -1; place < end; place++) {
    const int i = s->island_of[body_of(&job->task->contact[s->order[place]])];
    if (place + AHEAD < end) fetch_bodies(job, &job->task->contact[s->order[place + AHEAD]]);
    if (i != last) F = blocks_of(s, i, true);
    last = i;
    if (model->dim == 3 && s->r == 3)
      fill_sized(s, job->k, job->task, place, i, &F, 3, 3);
    else
      fill_sized(s, job->k, job->task, place, i, &F, model->dim, s->r);
  }
}

void perp_islands_fill(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                       int threads)
{
  filling job = { s, k, task };
  if (s->rows && s->model->m > 0) {
    perp_blocks_Minv(&k->e->blocks, k->f, s->v_star);
    perp_twists(s->model, k->e, s->v_star, s->twist_star);
  }
  for (int i = 0; i < s->n_islands; i++) islands_rows_lay_out(s, k, task, i);
  perp_team(task->n >= TEAM_FILL ? threads : 1, fill_share, &job);
}

/* Has a body of island i a joint? */
static bool has_joints(const perp_islands *s, int i)
{
  for (int l = s->start[i].body; l < s->start[i + 1].body; l++)
    if (s->jointed[s->bodies[l]]) return true;
  return false;
}

bool perp_islands_columns(perp_islands *s, perp_constrained *k, int i)
{
  const perp_model *model = s->model;
  const island *p = &s->start[i];
  perp_blocks F = blocks_of(s, i, true);
  const int n = F.m, nvb = model->nvb;
  double *A = s->A + p->dense, *diag = s->diagonal + first_row(s, i);
  if (!has_joints(s, i)) { /* H = M^-1: bodies respond one by one */
    double scratch[JOINT_ROWS * 6];
    perp_blocks_delassus(&F, A, n, scratch);
    for (int y = 0; y < n; y++) diag[y] = A[(size_t)y * ((size_t)n + 1)];
    return true;
  }
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
  for (int y = 0; y < n; y++) diag[y] = A[(size_t)y * ((size_t)n + 1)];
  for (int y = 0; y < n; y++) /* symmetric up to rounding: make it exact */
    for (int z = 0; z < y; z++) {
      double *u = &A[y + (size_t)n * (size_t)z], *l = &A[z + (size_t)n * (size_t)y];
      *u = *l = 0.5 * (*u + *l);
    }
  return true;
}
