/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Incremental potential contact of rigid bodies (Z. Ferguson, M. Li, T. Schneider, F. Gil-Ureta, T.
 * Langlois, C. Jiang, D. Zorin, D. Kaufman, D. Panozzo, Intersection-free rigid body dynamics, ACM
 * Transactions on Graphics 40(4), 2021; barrier, friction and line search: M. Li, Z. Ferguson, T.
 * Schneider, T. Langlois, D. Zorin, D. Panozzo, C. Jiang, D. Kaufman, Incremental potential
 * contact, ACM Transactions on Graphics 39(4), 2020).
 *
 * A step is the implicit Euler method as a minimum over the poses q = q_0 [+] x, x of positions and
 * rotation vectors, of
 *
 *      E(q) = 1/2 (x - h y)' M (x - h y) + K sum w b(d_k(q)) + sum mu L_k f(|u_k(q)|),   C(q) = 0,
 *      b(d) = -(d - dhat)^2 log(d / dhat) for d < dhat, else 0,
 *      f' (u) = 2 u / e - u^2 / e^2 for u < e = h eps_v, else 1,
 *
 * y = v + h M^-1 f of the start; K the heaviest mass; d_k the distances of vertices
 * and shapes and of edges and edges (ipc_touch.h), w their mollifier; u_k the tangential
 * displacement in the step of two points that touched, and L_k = -K w b'(d_k) their force, h^2
 * included, when they were looked at: at the start of the step, and where it is made
 * `friction_iterations` times at the end of the one before.  Then v = x / h.  The force of a
 * contact is -K w b'(d) / h^2.
 *
 * Newton's method, with joints as rows of its saddle point system,
 *
 *      (H  -J') (p)   (-g)
 *      (J    r) (l) = (-C + r l_before),
 *
 * r so small that it acts on redundant rows alone, and not at the end, where l = l_before.  H is
 * the Hessian of E where the step before was taken whole and the merit falls along p.  Else it is a
 * bound: the part of each contact is projected on the positive semidefinite matrices, and friction
 * has f' / u in place of f''.  Steps begin at q_0 [+] h v.  Each step p is cut at 0.9 of the way to
 * the first contact of any two shapes (time of impact by conservative advancement, on the way q [+]
 * s p itself) and halved until the merit E - l'C + rho |C|^2 / 2 has fallen: no iterate, and no
 * pose between two of them, has shapes that touch.  It ends where a Newton step moves no point
 * faster than tol.
 *
 * Other than in the paper: rotations are measured by their vector in place of their matrix, and
 * turn on by the implicit midpoint rule; the first contact is found by conservative advancement in
 * place of interval arithmetic; a vertex has one distance to a convex shape in place of one to each
 * of its triangles, and shapes may be round; K is a number for the scene; joints are added.
 *
 * What it gives up.  Order: 1.  Distance: what rests keeps apart by a part of dhat, which goes to
 * dhat with h.  Friction: what sticks slides at up to eps_v.  Restitution is not in the model, and
 * surfaces with one are refused; the barrier is elastic, and a step damps it: an impact at the
 * speed u rebounds where h u is small beside dhat.  Energy: damped otherwise.  Edges that are
 * nearly parallel fade out of the barrier; their vertices remain.
 *
 * Cost: a Newton iteration takes one sparse factorization of nv + m rows (KLU), which allocates, an
 * eigenvalue problem of 9 for each contact where it is projected, and per trial of the line search
 * all near pairs.  Fails: max-iter; stalled, where no part of a step makes E less; singular;
 * rotations of 3 rad and more in a step (unsuited).  The state then is that of the start. */
#include "models/formulations/schemes/ipc_energy.h"
#include "models/formulations/schemes/ipc_shapes.h"

#include "models/contact/step/belts.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { HALVINGS = 50 };
static const double PART_LEFT = 0.1;    /* of the distance of a pair, where a step is cut */
static const double DESCENT = 1e-4;     /* of the decrease that the slope predicts (Armijo) */
static const double DHAT = 1e-3;        /* of the size of the model */
static const double FARTHER = 1e-12;    /* of the size: what is no distance at the start */
static const double TURN_MOST = 3;      /* rad in a step */
static const double TURN_ITERATION = 1; /* rad in a Newton step */

static const perp_opt ipc_options[] = {
  PERP_REAL(struct perp_ipc_opts, dhat, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "m",
            "Distance below which contacts push. 0: a thousandth of the size of the model."),
  PERP_REAL(struct perp_ipc_opts, eps_v, 1e-3, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "m/s",
            "Sliding speed below which friction is less than mu times the normal force. Sticking "
            "contacts slide more slowly."),
  PERP_INT(struct perp_ipc_opts, friction_iterations, 1, 1, 1000,
           "Number of solutions of a step, each with the normal forces and directions of the one "
           "before in its friction. Ends earlier where the poses no longer change."),
  PERP_INT(struct perp_ipc_opts, max_iter, 1000, 1, 1000000,
           "Largest number of Newton iterations of a solution. The run fails beyond it."),
  PERP_REAL(struct perp_ipc_opts, tol, 1e-8, 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "m/s",
            "Newton's method ends where its step moves no point faster than this."),
  PERP_REAL(struct perp_ipc_opts, inset, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "",
            "Shapes are thinner by half of this times dhat on each side. 0: shapes that touch at "
            "the start are refused. 1: their barrier begins where they touch."),
  PERP_OPTIONS_END
};

/* ---- one Newton iteration ---- */

/* m: the longest way of a point in the increment p. */
static double ipc_way(const perp_ipc *ipc, const double *p)
{
  const perp_model *model = ipc->s.model;
  double most = 0;
  for (int body = 0; body < model->n_bodies; body++)
    most = fmax(most, perp_point_speed(model->dim, p + model->nvb * body,
                                       fmax(ipc->s.reach[body], model->size)));
  return most;
}

typedef struct ipc_cut {
  const double *from, *to; /* [nq] */
  double part;
} ipc_cut;

/* The part of the way at which a pair has PART_LEFT of its distance left, or half of dhat. */
static bool ipc_cut_pair(perp_ipc *ipc, int a, int shape, double distance, const double n[3],
                         void *user)
{
  ipc_cut *cut = user;
  const int body[2] = { ipc->thin.shape[a].body, ipc->thin.shape[shape].body },
            nqb = ipc->s.model->nqb;
  const double *q[2][2] = { { NULL } };
  bool hit;
  (void)n;
  for (int side = 0; side < 2; side++)
    if (body[side] >= 0)
      q[side][0] = cut->from + nqb * body[side], q[side][1] = cut->to + nqb * body[side];
  const double s = perp_time_of_impact(&ipc->thin, a, q[0][0], q[0][1], shape, q[1][0], q[1][1],
                                       fmin(PART_LEFT * distance, 0.5 * ipc->dhat), &hit);
  if (hit) cut->part = fmin(cut->part, s);
  return true;
}

static perp_status ipc_broad(perp_ipc *ipc, double margin)
{
  if (ipc->s.model->n_shapes == 0) return PERP_OK;
  ipc->broad.margin = margin;
  return perp_broad_update(ipc->s.ctx, &ipc->broad, ipc->s.e.pose);
}

/* The part of p that the iterate may go without a contact on the way. */
static perp_status ipc_cut_way(perp_ipc *ipc, double *part)
{
  const perp_model *model = ipc->s.model;
  double turn = 0;
  for (int body = 0; body < model->n_bodies; body++) {
    const double *p = ipc->p + model->nvb * body + model->dim;
    turn = fmax(turn, model->dim == 3 ? perp_norm(p) : fabs(p[0]));
  }
  const double most = turn > TURN_ITERATION ? TURN_ITERATION / turn : 1;
  ipc_cut cut = { ipc->s.q1, ipc->trial, 1 };
  PERP_TRY(ipc_broad(ipc, ipc->dhat + 2 * most * ipc_way(ipc, ipc->p)));
  for (int i = 0; i < model->nv; i++) ipc->scratch[i] = most * ipc->p[i];
  perp_model_retract(model, ipc->s.q1, ipc->scratch, ipc->trial);
  *part = perp_ipc_pairs(ipc, ipc_cut_pair, &cut) ? most * cut.part : 0;
  return PERP_OK;
}

/* The iterate and q1 <- q1 [+] part p, evaluated. */
static void ipc_go(perp_ipc *ipc, double t, double part)
{
  for (int i = 0; i < ipc->s.model->nv; i++) ipc->scratch[i] = part * ipc->p[i];
  perp_model_retract(ipc->s.model, ipc->s.q1, ipc->scratch, ipc->trial);
  perp_ipc_evaluate(ipc, t, ipc->trial);
}

static void ipc_accept(perp_ipc *ipc)
{
  memcpy(ipc->s.q1, ipc->trial, (size_t)ipc->s.model->nq * sizeof *ipc->trial);
}

/* The rate of the merit along p. */
static double ipc_slope(perp_ipc *ipc)
{
  const perp_model *model = ipc->s.model;
  double slope = 0;
  memset(ipc->Jp, 0, (size_t)model->m * sizeof *ipc->Jp);
  perp_blocks_J(&ipc->s.e.blocks, 1, ipc->p, ipc->Jp);
  for (int i = 0; i < model->nv; i++) slope += ipc->g[i] * ipc->p[i];
  for (int i = 0; i < model->m; i++)
    slope += ipc->Jp[i] * (ipc->rho * ipc->s.e.C[i] - ipc->l_new[i]);
  return slope;
}

/* A part of p such that no shapes meet on the way and the merit falls. */
static perp_reason ipc_search(perp_ipc *ipc, double t, double h)
{
  const perp_model *model = ipc->s.model;
  const double slope = ipc_slope(ipc);
  double part;
  const double before = perp_ipc_merit(ipc, h);
  ipc->s.status = ipc_cut_way(ipc, &part);
  if (ipc->s.status != PERP_OK) return PERP_NOT_FINITE;
  for (int k = 0; k < HALVINGS; k++, part *= 0.5) {
    ipc_go(ipc, t + h, part);
    if (!(perp_ipc_merit(ipc, h) <= before + DESCENT * part * slope + ipc->noise)) continue;
    ipc_accept(ipc);
    ipc->bold = k == 0;
    memcpy(ipc->l, ipc->l_new, (size_t)model->m * sizeof *ipc->l);
    return PERP_CONVERGED;
  }
  snprintf(ipc->cause, PERP_IPC_CAUSE,
           "no part of a Newton step makes the incremental potential less; use a smaller step");
  return PERP_STALLED;
}

/* p and l_new: of the Hessian itself where the last step was taken whole and the merit falls along
 * it, else of what bounds it from above. */
static perp_reason ipc_direction(perp_ipc *ipc, double h)
{
  for (;; ipc->bold = false) {
    if (!perp_ipc_derive(ipc, h)) return PERP_NOT_FINITE;
    const bool solved = perp_ipc_solve(ipc);
    if (ipc->s.status != PERP_OK) return PERP_NOT_FINITE;
    if (solved && perp_all_finite(ipc->s.model->nv, ipc->p) &&
        perp_all_finite(ipc->s.model->m, ipc->l_new) && (!ipc->bold || ipc_slope(ipc) < 0))
      return PERP_CONVERGED;
    if (!ipc->bold) return solved ? PERP_NOT_FINITE : PERP_SINGULAR;
  }
}

/* q1 to the minimum of E with the grips as they are; *moved: it is another one. */
static perp_reason ipc_newton(perp_ipc *ipc, double t, double h, bool *moved)
{
  const perp_model *model = ipc->s.model;
  const double enough = ipc->o.tol * h + 64 * DBL_EPSILON * ipc->size;
  double way = 0;
  *moved = false;
  ipc->bold = true;
  for (int k = 0; k < ipc->o.max_iter; k++) {
    double most = 0;
    perp_reason reason;
    if (!perp_ipc_touching(ipc)) return PERP_INVALID_STATE;
    reason = ipc_direction(ipc, h);
    if (reason < 0) return reason;
    ipc->s.count.iterations++;
    way = ipc_way(ipc, ipc->p);
    for (int i = 0; i < model->m; i++) most = fmax(most, fabs(ipc->s.e.C[i]));
    if (way <= enough && most <= enough) return PERP_CONVERGED;
    reason = ipc_search(ipc, t, h);
    if (reason < 0) return reason;
    *moved = true;
    for (int body = 0; body < model->n_bodies && model->dim == 3; body++)
      if (perp_norm(ipc->x + 6 * body + 3) > TURN_MOST) {
        snprintf(ipc->cause, PERP_IPC_CAUSE,
                 "body %d turns by %.3g rad in a step of %g s; %g rad are served", body,
                 perp_norm(ipc->x + 6 * body + 3), h, TURN_MOST);
        return PERP_UNSUITED;
      }
  }
  snprintf(ipc->cause, PERP_IPC_CAUSE,
           "after %d iterations (max_iter) Newton's method still moves points at %.3g m/s (tol %g)",
           ipc->o.max_iter, way / h, ipc->o.tol);
  return PERP_MAX_ITER;
}

/* ---- a step ---- */

static void ipc_contact(const perp_ipc *ipc, const perp_ipc_touch *touch, perp_contact *contact)
{
  const perp_model *model = ipc->s.model;
  const perp_surface surface = perp_surface_pair(model, &model->shape_def[touch->shape[0]].surface,
                                                 &model->shape_def[touch->shape[1]].surface);
  perp_touch found = { .gap = touch->d - ipc->inset, .feature = touch->feature };
  memcpy(found.n, touch->n, sizeof found.n);
  for (int side = 0; side < 2; side++) { /* those of the shapes themselves */
    perp_ipc_surface(&ipc->thin, touch, side, found.p[side]);
    perp_along(found.p[side], (side == 0 ? 0.5 : -0.5) * ipc->inset, touch->n, found.p[side]);
  }
  perp_contact_write(touch->shape[0], touch->body[0], touch->shape[1], touch->body[1], &surface,
                     &found, contact);
}

static void ipc_layout_grips(void *ws, perp_arena *arena)
{
  perp_ipc *ipc = ws;
  ipc->grip = PERP_CARVE(arena, perp_ipc_grip, ipc->cap_grip);
}

/* The grips of the contacts of the iterate. */
static bool ipc_grips(perp_ipc *ipc, double t, double h)
{
  ipc->n_grip = 0;
  if (!perp_ipc_touching(ipc) ||
      !perp_ipc_room(ipc, &ipc->grips, ipc_layout_grips, &ipc->cap_grip, ipc->n_touch))
    return false;
  for (int i = 0; i < ipc->n_touch; i++) {
    const perp_ipc_touch *touch = &ipc->touch[i];
    perp_ipc_grip *grip = &ipc->grip[ipc->n_grip];
    ipc_contact(ipc, touch, &grip->contact);
    grip->weight = grip->contact.mu * perp_ipc_normal(ipc, touch);
    if (!(grip->weight > 0)) continue;
    ipc->n_grip++;
    for (int side = 0; side < 2; side++) {
      double p[3];
      perp_ipc_surface(&ipc->thin, touch, side, p);
      perp_place_back(&ipc->place[touch->body[side] + 1], p, grip->r[side]);
      perp_place(&ipc->start[touch->body[side] + 1], grip->r[side], grip->start[side]);
    }
    const double *n = touch->n;
    const int k = fabs(n[0]) < 0.6 ? 0 : 1;
    double size, axis[3] = { k == 0, k == 1, 0 };
    if (ipc->s.model->dim == 2) axis[0] = axis[1] = 0, axis[2] = 1;
    perp_cross(axis, n, grip->t[0]);
    size = perp_norm(grip->t[0]);
    for (int l = 0; l < 3; l++) grip->t[0][l] /= size;
    perp_cross(n, grip->t[0], grip->t[1]);
    memset(grip->belt, 0, sizeof grip->belt);
    if (ipc->s.model->surfaces.belts)
      perp_belts_velocity(ipc->s.model, &ipc->s.e, &grip->contact, t + h, grip->belt);
    for (int l = 0; l < 3; l++) grip->belt[l] *= h;
  }
  return true;
}

static void ipc_layout_told(void *ws, perp_arena *arena)
{
  perp_ipc *ipc = ws;
  ipc->contact = PERP_CARVE(arena, perp_contact, ipc->cap_contact);
}

static int ipc_order(const void *a, const void *b)
{
  const uint64_t x = ((const perp_contact *)a)->id, y = ((const perp_contact *)b)->id;
  return (x > y) - (x < y);
}

static int ipc_place_of(const perp_ipc *ipc, int n, uint64_t id)
{
  const perp_contact key = { .id = id };
  const perp_contact *at = bsearch(&key, ipc->contact, (size_t)n, sizeof key, ipc_order);
  return at == NULL ? -1 : (int)(at - ipc->contact);
}

/* Contacts of the end of the step and their impulses; forces of joints. */
static bool ipc_tell(perp_ipc *ipc, double h)
{
  perp_scheme *scheme = &ipc->s;
  int n = ipc->n_touch;
  for (int i = 0; i < scheme->model->m; i++) scheme->lambda[i] = ipc->l_new[i] / (h * h);
  scheme->n_contacts = 0;
  if (n + ipc->n_grip == 0) return true;
  if (!perp_ipc_room(ipc, &ipc->told, ipc_layout_told, &ipc->cap_contact, n + ipc->n_grip))
    return false;
  for (int contact = 0; contact < n; contact++)
    ipc_contact(ipc, &ipc->touch[contact], &ipc->contact[contact]);
  qsort(ipc->contact, (size_t)n, sizeof *ipc->contact, ipc_order);
  for (int grip = 0, touching = n; grip < ipc->n_grip;
       grip++) /* friction of what is apart at the end */
    if (ipc_place_of(ipc, touching, ipc->grip[grip].contact.id) < 0)
      ipc->contact[n++] = ipc->grip[grip].contact;
  qsort(ipc->contact, (size_t)n, sizeof *ipc->contact, ipc_order);
  scheme->status = perp_scheme_reserve(scheme->ctx, scheme, n);
  if (scheme->status != PERP_OK) return false;
  memset(scheme->impulse, 0, 3 * (size_t)n * sizeof *scheme->impulse);
  for (int i = 0; i < ipc->n_touch; i++) {
    const perp_ipc_touch *touch = &ipc->touch[i];
    const uint64_t id = (uint64_t)touch->shape[0] << 44 | (uint64_t)touch->shape[1] << 24 |
                        touch->feature;
    double *impulse = scheme->impulse + 3 * ipc_place_of(ipc, n, id);
    for (int k = 0; k < 3; k++) impulse[k] += perp_ipc_normal(ipc, touch) / h * touch->n[k];
  }
  for (int grip = 0; grip < ipc->n_grip; grip++) {
    double *impulse = scheme->impulse + 3 * ipc_place_of(ipc, n, ipc->grip[grip].contact.id);
    for (int k = 0; k < 3; k++) impulse[k] += ipc->grip[grip].force[k] / h;
  }
  scheme->found = ipc->contact;
  scheme->n_contacts = n;
  return true;
}

/* The first iterate: on from the start with its velocity, as far as nothing is in the way. */
static bool ipc_begin(perp_ipc *ipc, double t, double h)
{
  double part;
  for (int i = 0; i < ipc->s.model->nv; i++) ipc->p[i] = h * ipc->s.v[i];
  ipc->s.status = ipc_cut_way(ipc, &part);
  if (ipc->s.status != PERP_OK) return false;
  ipc_go(ipc, t + h, part);
  ipc_accept(ipc);
  return true;
}

static perp_reason ipc_minimize(perp_ipc *ipc, double t, double h)
{
  perp_scheme *scheme = &ipc->s;
  const perp_model *model = scheme->model;
  bool moved;
  memcpy(scheme->q1, scheme->q, (size_t)model->nq * sizeof *scheme->q);
  memcpy(scheme->v1, scheme->v, (size_t)model->nv * sizeof *scheme->v);
  if (!scheme->known) perp_eval_at(&scheme->e, model, t, scheme->q);
  scheme->known = false;
  perp_scheme_forces(scheme, t, h);
  memcpy(ipc->y, scheme->v1, (size_t)model->nv * sizeof *ipc->y);
  if (!perp_all_finite(model->nv, ipc->y)) return PERP_NOT_FINITE;
  perp_ipc_evaluate(ipc, t + h, scheme->q1);
  ipc->size = model->size;
  for (int body = 0; body < model->n_bodies; body++)
    ipc->size = fmax(ipc->size, perp_norm(ipc->place[body + 1].x));
  memcpy(ipc->start, ipc->place, (size_t)(model->n_bodies + 1) * sizeof *ipc->start);
  for (int i = 0; i < model->m; i++) ipc->l[i] = h * h * scheme->lambda[i];
  scheme->status = ipc_broad(ipc, ipc->dhat);
  if (scheme->status != PERP_OK) return PERP_NOT_FINITE;
  for (int iteration = 0; iteration < ipc->o.friction_iterations; iteration++) {
    if (!ipc_grips(ipc, t, h)) return PERP_INVALID_STATE;
    if (iteration == 0 && !ipc_begin(ipc, t, h)) return PERP_NOT_FINITE;
    const perp_reason reason = ipc_newton(ipc, t, h, &moved);
    if (reason < 0) return reason;
    if (!moved || ipc->n_touch + ipc->n_grip == 0) break;
  }
  for (int i = 0; i < model->nv; i++) scheme->v1[i] = ipc->x[i] / h;
  return ipc_tell(ipc, h) ? PERP_CONVERGED : PERP_NOT_FINITE;
}

static perp_reason ipc_step(perp_scheme *scheme, double t, double h)
{
  perp_ipc *ipc = (perp_ipc *)scheme;
  ipc->cause[0] = 0;
  const perp_reason reason = ipc_minimize(ipc, t, h);
  const int rows = ipc->n_touch + scheme->model->m;
  if (rows == 0 && reason > 0) return reason;
  scheme->count.problems++;
  if (reason > 0)
    scheme->count.solved++;
  else
    scheme->count.failures++, scheme->count.failed[-reason]++;
  if (rows > scheme->count.rows) scheme->count.rows = rows;
  if (scheme->n_contacts > scheme->count.contacts) scheme->count.contacts = scheme->n_contacts;
  return reason;
}

static perp_status ipc_formulation_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  PERP_TRY(perp_scheme_step(ctx, ws, t_max, info));
  if (info->reason < 0) info->cause = ((const perp_ipc *)ws)->cause;
  return PERP_OK;
}

/* ---- life ---- */

/* Shapes that touch have no barrier: refused, before anything moves. */
static perp_status ipc_restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  perp_ipc *ipc = ws;
  const perp_model *model = ipc->s.model;
  PERP_TRY(perp_scheme_restart(ctx, ws, t, q, v));
  ipc->s.ctx = ctx;
  perp_ipc_evaluate(ipc, t, ipc->s.q);
  ipc->s.known = true;
  PERP_TRY(ipc_broad(ipc, ipc->dhat));
  for (int pair = 0; pair < ipc->broad.n_pairs; pair++) {
    const int shape = ipc->broad.pair[pair].a, b = ipc->broad.pair[pair].b;
    char name[2][PERP_LABEL_MAX];
    const double d = perp_shape_distance(&ipc->thin, shape,
                                         &ipc->s.e.pose[ipc->thin.shape[shape].body], b,
                                         &ipc->s.e.pose[ipc->thin.shape[b].body], NULL, NULL, NULL);
    if (d > FARTHER * model->size) continue;
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "formulation ipc: %s and %s have the distance %g m at t = %g s, and it must be "
        "positive; use a scene with a gap, or ipc:inset=%.3g, which makes shapes "
        "thinner",
        perp_model_label(name[0], "shape", shape, model->shape_def[shape].name),
        perp_model_label(name[1], "shape", b, model->shape_def[b].name), d, t,
        ceil(ipc->o.inset + 1 - fmin(d, 0) / ipc->dhat));
  }
  return PERP_OK;
}

static void ipc_layout(void *ws, perp_arena *arena)
{
  perp_ipc *ipc = ws;
  const perp_model *model = ipc->s.model;
  const int n = model->n_bodies;
  perp_scheme_layout(ipc, arena);
  ipc->shape = PERP_CARVE(arena, perp_shape, model->n_shapes);
  ipc->hull = PERP_CARVE(arena, perp_hull *, model->n_shapes);
  ipc->start = PERP_CARVE(arena, perp_pose, n + 1);
  ipc->place = PERP_CARVE(arena, perp_pose, n + 1);
  PERP_DOUBLES(arena, model->nv, &ipc->y, &ipc->x, &ipc->g, &ipc->p, &ipc->scratch);
  ipc->trial = PERP_CARVE(arena, double, model->nq);
  PERP_DOUBLES(arena, model->m, &ipc->l, &ipc->l_new, &ipc->Jp);
  ipc->H = PERP_CARVE(arena, double, (size_t)model->nvb *(size_t)model->nv);
  ipc->head = PERP_CARVE(arena, int, n);
  ipc->rhs = PERP_CARVE(arena, double, model->nv + model->m);
}

static void ipc_destroy(void *ws)
{
  perp_ipc *ipc = ws;
  if (ipc == NULL) return;
  for (int shape = 0; shape < ipc->s.model->n_shapes; shape++) free(ipc->hull[shape]);
  perp_broad_free(&ipc->broad);
  perp_arena_free(&ipc->touches);
  perp_arena_free(&ipc->grips);
  perp_arena_free(&ipc->told);
  perp_sparse_lu_close(&ipc->lu);
  perp_scheme_destroy(ws);
}

static perp_status ipc_shapes(perp_ctx *ctx, perp_ipc *ipc)
{
  const perp_model *model = ipc->s.model;
  ipc->thin = *model;
  if (model->n_shapes == 0) return PERP_OK;
  for (int shape = 0; shape < model->n_shapes; shape++)
    ipc->hull[shape] = NULL, ipc->shape[shape] = model->shape[shape];
  ipc->thin.shape = ipc->shape;
  for (int i = 0; i < model->n_shapes && ipc->inset > 0; i++) PERP_TRY(perp_ipc_thin(ctx, ipc, i));
  return perp_broad_init(ctx, &ipc->broad, &ipc->thin, ipc->dhat);
}

static perp_status ipc_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                              void **ws)
{
  perp_ipc like = { .o = *(const struct perp_ipc_opts *)parts->formulation.opts };
  *ws = NULL;
  PERP_TRY(perp_ipc_serves(ctx, model));
  like.s.step = ipc_step;
  like.dhat = like.o.dhat > 0 ? like.o.dhat : DHAT * model->size;
  for (int body = 0; body < model->n_bodies; body++)
    like.rho = fmax(like.rho, model->inertia[body].mass);
  like.K = like.rho;
  like.inset = like.o.inset * like.dhat;
  PERP_TRY(perp_scheme_create(ctx, model, parts, h, &like.s, sizeof like, ipc_layout, ws));
  const perp_status status = ipc_shapes(ctx, *ws);
  if (status == PERP_OK) return PERP_OK;
  ipc_destroy(*ws);
  *ws = NULL;
  return status;
}

const perp_formulation_desc perp_formulation_ipc = {
  .d = { .name = "ipc",
         .summary = "Incremental potential contact: a barrier keeps rigid bodies apart, Newton's "
                    "method with continuous collision detection; order 1",
         .reference = "Ferguson et al. 2021; Li et al. 2020",
         .equation = "min 1/2 |x - h y|^2_M + K sum b(d) + sum mu L f(|u|), C = 0; b = -(d - "
                     "dhat)^2 log(d / dhat)",
         PERP_OPTIONS(ipc_options, struct perp_ipc_opts),
         .caps = PERP_FORM_CONTACTS | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_CAP_ALLOCATES },
  .create = ipc_create,
  .restart = ipc_restart,
  .step = ipc_formulation_step,
  .state = perp_scheme_state,
  .counters = perp_scheme_counters,
  .timing = perp_scheme_timing,
  .destroy = ipc_destroy,
  .contacts = perp_scheme_contacts,
  .observe = perp_scheme_observe,
};
