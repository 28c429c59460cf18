/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The problems of all islands: frames, right-hand sides, rows of J. */
#include "models/contact/step/belts.h"
#include "models/contact/step/islands_problem.h"
#include "models/multibody/model_private.h"
#include "solvers/core/clones.h"

#include <string.h>

enum { TEAM_FILL = 500 }; /* contacts that are worth a team */
enum { AHEAD = 4 };       /* contacts */

/* Tangents: from the normal alone, t1 the x axis of the world (y where the normal is nearer to x)
 * made perpendicular to n; or along the sliding u where that is clear of rounding. */
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

/* ---- elliptic cones (STAR 2012, section 2.1.4) as circular ones in stretched tangents ---- */

static const double ALONG = 1e-9; /* sine of the angle of a direction that is the normal */

double perp_islands_anisotropy(const perp_model *model, const perp_eval *eval,
                               const perp_contact *contact, double w[3])
{
  int shape;
  const double ratio = perp_surface_anisotropy(model, contact->shape[0], contact->shape[1], &shape);
  if (ratio == 1) return 1;
  const perp_shape_def *def = &model->shape_def[shape];
  double R[9], own[3], g[3];
  perp_quat_matrix(def->quat, R);
  perp_turn(3, R, def->surface.along, own);
  if (def->body >= 0)
    perp_turn(3, eval->pose[def->body].R, own, g);
  else
    for (int i = 0; i < 3; i++) g[i] = own[i];
  perp_cross(contact->n, g, w);
  const double length = sqrt(perp_dot(3, w, w));
  if (!(length > ALONG * sqrt(perp_dot(3, g, g)))) return 1;
  for (int i = 0; i < 3; i++) w[i] /= length;
  return ratio;
}

/* ---- couples against spinning and rolling (contact.h) ----
 *
 * The last rows of an island, one group for each contact that has any: relative angular velocities
 * along the normal and two tangents, which follow from the normal alone. */

static int islands_rows_couple_directions(const perp_islands *islands, const perp_contact *contact,
                                          int at, double d[9])
{
  static const double out[3] = { 0, 0, 1 };
  int r = 0;
  if (islands->model->dim == 2) {
    memcpy(d, out, sizeof out);
    return islands->contact.rolling[at] > 0;
  }
  if (islands->contact.torsion[at] > 0) memcpy(d + 3 * r++, contact->n, sizeof contact->n);
  if (islands->contact.rolling[at] > 0) {
    islands_rows_tangents(3, contact->n, NULL, d + 3 * r);
    r += 2;
  }
  return r;
}

static void islands_rows_couple(const perp_islands *islands, const perp_constrained *system,
                                const perp_island_task *task, int at, const double *v,
                                double *const J[2], double *b, double *x)
{
  const perp_contact *contact = &task->contact[at];
  const int dim = islands->model->dim, nvb = islands->model->nvb;
  double d[9];
  const int r = islands_rows_couple_directions(islands, contact, at, d);
  for (int q = 0; q < r; q++) {
    b[q] = 0;
    x[q] = perp_dot(3, d + 3 * q, task->couple + 3 * (size_t)at);
  }
  for (int side = 0; side < 2; side++) {
    const int body = contact->body[side];
    if (body < 0) continue;
    const double sign = side == 0 ? -1 : 1, *vb = v + (size_t)nvb * (size_t)body;
    for (int q = 0; q < r; q++) {
      double along[3] = { 1 };
      if (dim == 3) perp_turn_back(3, system->e->pose[body].R, d + 3 * q, along);
      for (int l = 0; l < nvb; l++) {
        const double c = l < dim ? 0 : sign * along[l - dim];
        J[side][q + l * r] = c;
        b[q] += c * vb[l];
      }
    }
  }
}

void perp_islands_couples_back(const perp_islands *islands, const perp_island_task *task, int i)
{
  const island *p = &islands->start[i];
  const double *x = islands->row.x + islands_first_row(islands, i + 1) -
                    (p[1].couple_rows - p->couple_rows);
  for (int place = p->first[CONTACTS]; place < p[1].first[CONTACTS]; place++) {
    const int at = islands->contact.order[place];
    double d[9], *tau = task->couple + 3 * (size_t)at;
    const int r = islands_rows_couple_directions(islands, &task->contact[at], at, d);
    tau[0] = tau[1] = tau[2] = 0;
    for (int q = 0; q < r; q++, x++)
      for (int j = 0; j < 3; j++) tau[j] += *x * d[3 * q + j];
  }
}

/* ---- rows ---- */

/* The directions of a contact, n, t1, t2, by component: x of all, y of all, z of all.  What is made
 * of them comes for all of them at once. */
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

/* Rows of J for one body: sign (d, R'(r x d)) for each direction d, and their part of A_ii.  M is
 * diag(m, m, m, I). */
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
                              const perp_blocks *blocks, int c, double *d)
{
  for (int q = blocks->jptr[c]; q < blocks->jptr[c + 1]; q++) {
    const perp_inertia *in = &model->inertia[bodies[blocks->jblk[q]]];
    const double *J = blocks->J + blocks->joff[q];
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

/* One contact at its place in island i of blocks F: frame, coefficients, right-hand side, guess,
 * rows of J and diagonal of A.  dim and r: those of s. */
PERP_INLINE void fill_sized(perp_islands *s, const perp_constrained *k,
                            const perp_island_task *task, int place, int i, const perp_blocks *F,
                            int dim, int r)
{
  const perp_model *model = s->model;
  const island *p = &s->start[i];
  const int at = s->contact.order[place], c = place - p->first[CONTACTS];
  const size_t row = islands_first_row(s, i) + (size_t)(r * c);
  const perp_contact *contact = &task->contact[at];
  const perp_eval *e = k->e;
  const double *slides = task->sliding != NULL ? task->sliding + (size_t)3 * (size_t)at : NULL;
  double before[4], free[4], target[4], guess[4], u[3];
  double *t = s->contact.frame + (size_t)6 * (size_t)place, *b = s->row.b + row,
         *x = s->row.x + row;
  double *soft = s->row.s + row, *J = s->F.J + (F->J - s->F.J) + F->joff[F->jptr[c]];
  const double *n = contact->n;
  perp_contact_arms arm;
  perp_contact_arms_of(dim, e, contact, &arm);
  double belt[3] = { 0 }, after[3] = { 0 };
  if (task->belts) perp_belts_velocity(model, e, contact, task->t_belts, belt);
  for (int q = 0; q < dim; q++)
    after[q] = belt[q] + (task->ahead != NULL ? task->ahead[3 * at + q] : 0);
  perp_contact_relative(contact, &arm, task->free, u);
  for (int q = 0; q < dim; q++) u[q] += after[q];
  for (int q = 0; q < dim && task->offset != NULL; q++) u[q] += task->offset[3 * at + q];
  const bool slide = slides != NULL && perp_dot(3, slides, slides) > 0;
  double w[3], own[3], *P = task->impulse + (size_t)3 * (size_t)at;
  const double ratio = model->surfaces.anisotropic ? perp_islands_anisotropy(model, e, contact, w)
                                                   : 1;
  if (ratio == 1) {
    islands_rows_tangents(dim, n, slide ? slides : task->align ? u : NULL, t);
  } else { /* along S u; rows S t; and x = t . S^-1 P = (S t) . S^-2 P */
    memcpy(own, u, sizeof own);
    perp_islands_stretch(ratio, w, own);
    islands_rows_tangents(dim, n, task->align ? own : NULL, t);
    perp_islands_stretch(ratio, w, t);
    perp_islands_stretch(ratio, w, t + 3);
    memcpy(own, P, sizeof own);
    perp_islands_stretch(1 / (ratio * ratio), w, own);
    P = own;
  }
  directions D = { .d = { { n[0], t[0], t[3], 0 }, { n[1], t[1], t[4], 0 } } };
  if (dim == 3) D.d[2] = (perp_v4){ n[2], t[2], t[5], 0 };
  islands_rows_along(dim, &D, u, free);
  if (p[1].first[JOINTS] > p->first[JOINTS]) {
    perp_contact_relative(contact, &arm, s->work.twist_star, u);
    for (int q = 0; q < dim; q++) u[q] += after[q];
  }
  islands_rows_along(dim, &D, u, target);
  perp_contact_relative(contact, &arm, task->before, u);
  for (int q = 0; q < dim; q++) u[q] += belt[q];
  islands_rows_along(dim, &D, u, before);
  islands_rows_along(dim, &D, P, guess);
  perp_contact_terms terms = { .bias = -0.0 };
  if (task->law != NULL) task->law(task->user, contact, task->h, before, free, &terms);
  for (int q = 0; q < r; q++) {
    b[q] = target[q];
    x[q] = guess[q];
    soft[q] = q == 0 ? terms.softness : 0;
  }
  if (x[0] < 0) x[0] = 0;
  b[0] += terms.bias;
  s->contact.mu[place] = terms.mu;
  if (slide) {
    islands_rows_along(dim, &D, slides, target);
    for (int q = 1; q < r; q++)
      s->contact.drag[2 * place + q - 1] = s->contact.mu[place] * target[q];
    s->contact.mu[place] = 0;
  } else
    s->contact.drag[2 * place] = s->contact.drag[2 * place + 1] = 0;
  s->contact.slip[place] = task->slip[at];
  s->contact.restitution[place] = terms.restitution;
  s->contact.least[place] = before[0];
  perp_v4 diagonal = soft[0] * (perp_v4){ 1, 0, 0, 0 };
  for (int side = 0; side < 2; side++) {
    const int body = contact->body[side];
    if (body < 0) continue;
    body_rows(dim, r, &e->pose[body], &model->inertia[body], arm.r[side], side == 0 ? -1 : 1, &D, J,
              &diagonal);
    J += r * (dim == 3 ? 6 : 3);
  }
  if (terms.part != 0) {
    const double part = terms.part * diagonal[0];
    soft[0] += part;
    diagonal[0] += part;
  }
  for (int q = 0; q < r && !p->eliminate; q++) s->row.diagonal[row + (size_t)q] = diagonal[q];
}

/* The same of a contact in space with one row, where no body moves (still): the law and J are all
 * there is, and a frame has no use. */
PERP_INLINE void fill_still(perp_islands *islands, const perp_constrained *system,
                            const perp_island_task *task, int place, int i,
                            const perp_blocks *blocks)
{
  static const double none[4] = { 0, 0, 0, 0 };
  const island *p = &islands->start[i];
  const int at = islands->contact.order[place], c = place - p->first[CONTACTS];
  const size_t row = islands_first_row(islands, i) + (size_t)c;
  const perp_contact *contact = &task->contact[at];
  const double *n = contact->n;
  double *J = islands->F.J + (blocks->J - islands->F.J) + blocks->joff[blocks->jptr[c]];
  perp_contact_arms arm;
  perp_contact_arms_of(3, system->e, contact, &arm);
  perp_contact_terms terms = { .bias = -0.0 };
  task->law(task->user, contact, task->h, none, none, &terms);
  islands->row.b[row] = terms.bias;
  islands->row.x[row] = 0;
  islands->contact.mu[place] = terms.mu;
  islands->contact.drag[2 * place] = islands->contact.drag[2 * place + 1] = 0;
  islands->contact.slip[place] = task->slip[at];
  islands->contact.restitution[place] = terms.restitution;
  islands->contact.least[place] = 0;
  const double line = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
  double soft = terms.softness, diagonal = soft;
  for (int side = 0; side < 2; side++) {
    const int body = contact->body[side];
    if (body < 0) continue;
    const double sign = side == 0 ? -1 : 1, *W = islands->model->inertia[body].Iinv;
    double arms[3], g[3], y[3];
    perp_cross(arm.r[side], n, arms);
    perp_turn_back(3, system->e->pose[body].R, arms, g);
    for (int q = 0; q < 3; q++) {
      g[q] *= sign;
      J[q] = sign * n[q];
      J[3 + q] = g[q];
    }
    for (int q = 0; q < 3; q++) y[q] = W[q] * g[0] + W[3 + q] * g[1] + W[6 + q] * g[2];
    diagonal += line / islands->model->inertia[body].mass;
    diagonal += g[0] * y[0] + g[1] * y[1] + g[2] * y[2];
    J += 6;
  }
  if (terms.part != 0) {
    const double part = terms.part * diagonal;
    soft += part;
    diagonal += part;
  }
  islands->row.s[row] = soft;
  islands->row.diagonal[row] = diagonal;
}

/* The pattern of J of an island while it is written, group by group, and in each body by body. */
typedef struct pattern {
  int *cptr, *jptr, *jblk, *joff;
  int groups, rows, blocks, numbers; /* so far */
} pattern;

static void islands_rows_group(pattern *w)
{
  w->cptr[w->groups] = w->rows;
  w->jptr[w->groups++] = w->blocks;
  w->joff[w->blocks] = w->numbers;
}

/* A sub-matrix of so many numbers; where it starts. */
static int islands_rows_block(pattern *w, int body, int numbers)
{
  const int at = w->numbers;
  w->jblk[w->blocks] = body;
  w->joff[w->blocks++] = at;
  w->numbers += numbers;
  return at;
}

/* What the rows of an island that are no contacts have, beside the pattern. */
typedef struct rows_out {
  double *J, *b, *x, *soft, *lo, *hi; /* lo and hi without contacts */
} rows_out;

/* w = J v^ - c + S lambda of a joint of the model, unbounded. */
static void islands_rows_joint(const perp_islands *islands, const perp_constrained *system,
                               int joint, pattern *w, rows_out *out)
{
  const perp_blocks *blocks = &system->e->blocks;
  const int first = blocks->cptr[joint], m = blocks->cptr[joint + 1] - first,
            nvb = islands->model->nvb;
  double *b = out->b + w->rows;
  islands_rows_group(w);
  for (int q = 0; q < m; q++) {
    *out->lo++ = -HUGE_VAL;
    *out->hi++ = HUGE_VAL;
    b[q] = -system->c[first + q];
    out->x[w->rows + q] = system->lambda[first + q];
    out->soft[w->rows + q] = blocks->s != NULL ? blocks->s[first + q] : 0;
  }
  for (int q = blocks->jptr[joint]; q < blocks->jptr[joint + 1]; q++) {
    const int body = blocks->jblk[q];
    const double *G = blocks->J + blocks->joff[q],
                 *v = islands->work.v_star + (size_t)nvb * (size_t)body;
    double *J = out->J + islands_rows_block(w, islands->body.local[body], m * nvb);
    memcpy(J, G, (size_t)(m * nvb) * sizeof *J);
    for (int l = 0; l < nvb; l++)
      for (int y = 0; y < m; y++) b[y] += G[y + l * m] * v[l];
  }
  w->rows += m;
}

static void islands_rows_bounded(const perp_islands *islands, const perp_island_row *row,
                                 const double *v, pattern *w, rows_out *out)
{
  const int nvb = islands->model->nvb;
  double *b = out->b + w->rows;
  islands_rows_group(w);
  *out->lo++ = row->lo;
  *out->hi++ = row->hi;
  *b = row->bias;
  out->x[w->rows] = row->lambda;
  out->soft[w->rows++] = row->soft;
  for (int side = 0; side < 2; side++) {
    if (row->body[side] < 0) continue;
    double *J = out->J + islands_rows_block(w, islands->body.local[row->body[side]], nvb);
    for (int l = 0; l < nvb; l++) {
      J[l] = row->J[side][l];
      *b += J[l] * v[(size_t)nvb * (size_t)row->body[side] + (size_t)l];
    }
  }
}

/* w = the relative angular velocity along the directions of a contact, from v. */
static void islands_rows_couples(perp_islands *s, const perp_constrained *k,
                                 const perp_island_task *task, int place, int c, const double *v,
                                 size_t further, pattern *w, rows_out *out)
{
  const int at = s->contact.order[place], r = islands_couple_count(s, at), nvb = s->model->nvb;
  const int *body = task->contact[at].body;
  const bool spins = s->contact.torsion[at] > 0;
  double *J[2] = { NULL, NULL };
  if (r == 0) return;
  islands_rows_group(w);
  for (int side = 0; side < 2; side++)
    if (body[side] >= 0)
      J[side] = out->J + islands_rows_block(w, s->body.local[body[side]], r * nvb);
  islands_rows_couple(s, k, task, at, v, J, out->b + w->rows, out->x + w->rows);
  for (int q = 0; q < r; q++) {
    const size_t row = further + (size_t)q;
    *out->lo++ = *out->hi++ = 0;
    out->soft[w->rows + q] = 0;
    s->row.of[row] = c;
    s->row.mu[row] = spins && q == 0 ? s->contact.torsion[at] : s->contact.rolling[at];
    s->row.pair[row] = r > 1 && q == (spins ? 1 : 0);
  }
  w->rows += r;
}

/* The pattern of island i, and its joints, bounded rows and couples. */
static void islands_rows_lay_out(perp_islands *islands, const perp_constrained *system,
                                 const perp_island_task *task, int i)
{
  const perp_model *model = islands->model;
  const island *p = &islands->start[i], *next = p + 1;
  const perp_blocks blocks = islands_blocks(islands, i, true);
  const int nvb = model->nvb, group = islands_first_group(islands, i), first = p->first[BODIES] + i,
            sub = islands_first_sub(islands, i);
  const size_t row = islands_first_row(islands, i), further = islands_first_further(islands, i);
  const int nc = islands_number(islands, i, CONTACTS);
  pattern w = { .cptr = islands->F.cptr + group + i,
                .jptr = islands->F.jptr + group + i,
                .jblk = islands->F.jblk + sub,
                .joff = islands->F.joff + sub + i };
  rows_out out = { .J = islands->F.J + (blocks.J - islands->F.J),
                   .b = islands->row.b + row,
                   .x = islands->row.x + row,
                   .soft = islands->row.s + row,
                   .lo = islands->row.lo + further,
                   .hi = islands->row.hi + further };
  for (int l = 0; l <= blocks.nb; l++) {
    islands->F.bptr[first + l] = nvb * l;
    islands->F.mptr[first + l] = nvb * nvb * l;
  }
  for (int place = p->first[CONTACTS]; place < next->first[CONTACTS]; place++) {
    const int *body = task->contact[islands->contact.order[place]].body;
    islands_rows_group(&w);
    for (int side = 0; side < 2; side++)
      if (body[side] >= 0)
        islands_rows_block(&w, islands->body.local[body[side]], islands->r * nvb);
    w.rows += islands->r;
  }
  for (int j = p->first[JOINTS]; j < next->first[JOINTS]; j++)
    islands_rows_joint(islands, system, islands->joints[j], &w, &out);
  const double *v_free = next->first[JOINTS] > p->first[JOINTS] ? islands->work.v_star : system->a;
  for (int j = p->first[BOUNDED]; j < next->first[BOUNDED]; j++)
    islands_rows_bounded(islands, &task->row[islands->bounded[j]], v_free, &w, &out);
  if (islands->couples) {
    const int contacts = islands->r * nc;
    for (int q = contacts; q < w.rows; q++) { /* joints and bounded rows are no couples */
      islands->row.of[further + (size_t)(q - contacts)] = -1;
      islands->row.pair[further + (size_t)(q - contacts)] = 0;
    }
    for (int c = 0; c < nc; c++)
      islands_rows_couples(islands, system, task, p->first[CONTACTS] + c, c, v_free,
                           further + (size_t)(w.rows - contacts), &w, &out);
  }
  islands_rows_group(&w);
  for (int g = nc; g < blocks.nc && !p->eliminate; g++) {
    double *diagonal = islands->row.diagonal + row + blocks.cptr[g];
    const int r = blocks.cptr[g + 1] - blocks.cptr[g];
    memcpy(diagonal, out.soft + blocks.cptr[g], (size_t)r * sizeof *diagonal);
    add_diagonal(model, model->dim, r, islands->body.order + p->first[BODIES], &blocks, g,
                 diagonal);
  }
  perp_blocks_transpose(blocks.nb, blocks.nc, w.jptr, w.jblk, islands->F.jgrp + sub,
                        islands->F.tptr + first, islands->F.tsub + sub);
}

/* Bodies come in no order: what a contact reads of them is asked for in good time. */
static void fetch_bodies(const islands_job *job, const perp_contact *contact)
{
  for (int side = 0; side < 2; side++) {
    const int body = contact->body[side];
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
  const islands_job *job = user;
  perp_islands *islands = job->s;
  const perp_model *model = islands->model;
  const island *all = &islands->start[islands->n_islands];
  const size_t square = (size_t)model->nvb * (size_t)model->nvb;
  int end = perp_share(all->first[BODIES], member + 1, members);
  for (int l = perp_share(all->first[BODIES], member, members); l < end; l++) {
    const int body = islands->body.order[l], nvb = model->nvb;
    if (islands->body.mass_place[l] == body) continue; /* they are constant */
    islands->body.mass_place[l] = body;
    islands->body.diag[l] = model->masses.diagonal[body];
    memcpy(islands->F.M + square * (size_t)l, model->masses.M + model->pattern.mptr[body],
           square * sizeof(double));
    memcpy(islands->F.Minv + square * (size_t)l, model->masses.Minv + model->pattern.mptr[body],
           square * sizeof(double));
    memcpy(islands->F.flat + nvb * l, model->masses.flat + nvb * body,
           (size_t)nvb * sizeof(double));
  }
  end = perp_share(all->first[CONTACTS], member + 1, members);
  const bool still = job->task->still && model->dim == 3 && islands->r == 1 &&
                     islands->observer == NULL;
  perp_blocks blocks = { 0 };
  for (int place = perp_share(all->first[CONTACTS], member, members), last = -1; place < end;
       place++) {
    const int i = islands->body.island_of[islands->contact.owner[islands->contact.order[place]]];
    if (place + AHEAD < end)
      fetch_bodies(job, &job->task->contact[islands->contact.order[place + AHEAD]]);
    if (i != last) blocks = islands_blocks(islands, i, true);
    last = i;
    if (still && !islands->start[i].eliminate)
      fill_still(islands, job->k, job->task, place, i, &blocks);
    else if (model->dim == 3 && islands->r == 3)
      fill_sized(islands, job->k, job->task, place, i, &blocks, 3, 3);
    else if (model->dim == 3 && islands->r == 1)
      fill_sized(islands, job->k, job->task, place, i, &blocks, 3, 1);
    else
      fill_sized(islands, job->k, job->task, place, i, &blocks, model->dim, islands->r);
  }
}

void perp_islands_fill(perp_islands *islands, const perp_constrained *system,
                       const perp_island_task *task, int threads)
{
  islands_job job = { .s = islands, .k = system, .task = task };
  if (islands->rows && islands->model->m > 0) {
    perp_blocks_Minv(&system->e->blocks, system->f, islands->work.v_star);
    perp_twists(islands->model, system->e, islands->work.v_star, islands->work.twist_star);
  }
  for (int i = 0; i < islands->n_islands; i++) islands_rows_lay_out(islands, system, task, i);
  perp_team(task->n >= TEAM_FILL ? threads : 1, fill_share, &job);
}
