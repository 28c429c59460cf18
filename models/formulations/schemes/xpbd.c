/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extended position based dynamics of rigid bodies (M. Mueller, M. Macklin, N. Chentanez, S.
 * Jeschke, T.-Y. Kim, Detailed rigid body simulation with extended position based dynamics, SCA
 * 2020; Macklin, Mueller, Chentanez 2016).
 *
 * A step is cut into `substeps` of h, with the contacts of its start.  Each one predicts x~ = q
 * [+] h (v + h M^-1 f), corrects positions by `iterations` sweeps from lambda = 0 (section 3.3,
 * algorithm 2),
 *
 *      dlambda = (-C - alpha~ lambda) / (A + alpha~),   dx = M^-1 J' dlambda
 *
 *      alpha~ = compliance / h^2
 *
 * C of joints at the predicted state, again in each iteration and within it C + J dx; of contacts
 * 0 <= lambda, and after each its friction: what would stick is applied where it is within mu
 * lambda_n, nothing where it is not.  Velocities are what has moved over h.  Then one pass over
 * them, contact by contact: what slides is braked by mu_dynamic lambda_n at most (30), and what
 * has pressed leaves at e times its approach, or stays (34); the approach is that before positions
 * were corrected, and below 2 |g| h there is no rebound.  (30) as printed takes h mu |f_n|, an
 * impulse, for a change of velocity; here it is one of impulse. All in velocities here, lambda = h
 * p and dx = h dv: then alpha~ is the softness S of springs and dampers with C + J dx of the end
 * of the substep.
 *
 * What it gives up.  Order: 1 in h / n of what is at rest, sticks, rolls or is jointed.  Friction
 * of a body on several contacts is off by a part that no step reduces: (34) takes normal velocity
 * out after friction has had its bound from lambda_n, and static friction is all or nothing for
 * one contact at a time.  A box slides 8 % too fast on an incline of 30 degrees with mu = 0.3, and
 * leaves a belt at three quarters of mu.  In space it turns as it slides, as its corners are swept
 * one by one. Drift: what one iteration leaves, O((h / n)^2).  Energy: damped by the implicit
 * step, and each correction of overlap is taken out of the velocity again.  Penetration: what a
 * cold sweep leaves; tall stacks topple. Compliance does not depend on the step, nor on iterations
 * that converge.
 *
 * Cost: per substep 1 + iterations evaluations and rows (iterations + 2); one collision
 * detection. No allocation in a step, but for more contacts than ever.  Fails: states that are not
 * finite. */
#include "models/formulations/schemes/scheme.h"

#include <string.h>

struct xpbd_opts {
  perp_scheme_opts scheme; /* first */
  int substeps, iterations;
};
static const perp_opt xpbd_options[] = {
  PERP_INT(struct xpbd_opts, substeps, 20, 1, 100000, "Number of sub-steps in a step."),
  PERP_INT(struct xpbd_opts, iterations, 1, 1, 10000, "Number of position sweeps per sub-step."),
  PERP_REAL(
      perp_scheme_opts, threshold, 0.01, 0, HUGE_VAL, 0, "m/s",
      "Approach speed above which restitution is applied; at least twice what gravity adds in a "
      "sub-step is used."),
  PERP_OPTIONS_END
};

typedef struct xpbd {
  perp_scheme s; /* first */
  struct xpbd_opts o;
  double *q, *v; /* [nq] at the start of the substep, [nv] then with the forces of it */
  double least;  /* m/s, 2 |g| h: no rebound below */
} xpbd;

/* Rows at the state that the velocity leads to: bias such that J v + bias is C there over h.
 * Springs and drives keep the bias of the start, which is in row->start. */
static void xpbd_rows(xpbd *work, double t, double h)
{
  perp_scheme *scheme = &work->s;
  for (int i = 0; i < scheme->model->nv; i++) scheme->f[i] = h * scheme->v1[i];
  perp_model_retract(scheme->model, work->q, scheme->f, scheme->q1);
  perp_scheme_refresh(scheme, t + h, h);
  for (int i = 0; i < scheme->n; i++) {
    perp_scheme_row *row = &scheme->row[i];
    row->soft = row->own;
    row->bias = row->kind == PERP_SCHEME_OWN       ? row->start
                : row->kind == PERP_SCHEME_TANGENT ? row->given
                : row->kind == PERP_SCHEME_NORMAL
                    ? row->C / h /* the gap of the start */
                    : row->C / h - perp_scheme_speed(scheme, row, scheme->v1);
  }
}

static void xpbd_solve(perp_scheme *scheme, perp_scheme_row *row)
{
  const double A = row->A + row->soft;
  if (!(A > 0)) return;
  const double w = perp_scheme_speed(scheme, row, scheme->v1) + row->bias + row->soft * row->p;
  const double p = fmin(fmax(row->p - w / A, row->lo), row->hi);
  perp_scheme_push(scheme, row, p - row->p, scheme->v1);
  row->p = p;
}

/* Both tangents, w / A of them; their A as one number */
static double xpbd_slip(const perp_scheme *scheme, const perp_scheme_contact *contact, double u[2])
{
  double A = 0;
  u[0] = u[1] = 0;
  for (int k = 1; k < scheme->model->dim; k++) {
    const perp_scheme_row *row = &scheme->row[contact->row + k];
    u[k - 1] = perp_scheme_speed(scheme, row, scheme->v1) + row->given;
    A = fmax(A, row->A);
  }
  return A;
}

static void xpbd_tangents(perp_scheme *scheme, const perp_scheme_contact *contact,
                          const double p[2])
{
  for (int k = 1; k < scheme->model->dim; k++) {
    perp_scheme_row *row = &scheme->row[contact->row + k];
    perp_scheme_push(scheme, row, p[k - 1] - row->p, scheme->v1);
    row->p = p[k - 1];
  }
}

/* (26), (27): friction that sticks, where it is within the cone of mu */
static void xpbd_sticks(perp_scheme *scheme, int found)
{
  const perp_scheme_contact *contact = &scheme->contact[found];
  double u[2], p[2] = { 0 };
  const double A = xpbd_slip(scheme, contact, u),
               bound = scheme->found[found].mu * scheme->row[contact->row].p;
  if (!(A > 0)) return;
  for (int k = 1; k < scheme->model->dim; k++)
    p[k - 1] = scheme->row[contact->row + k].p - u[k - 1] / A;
  if (hypot(p[0], p[1]) < bound) xpbd_tangents(scheme, contact, p);
}

/* (30): friction that slides, mu_dynamic lambda_n at most */
static void xpbd_slides(perp_scheme *scheme, int found)
{
  const perp_scheme_contact *contact = &scheme->contact[found];
  double u[2], p[2] = { 0 };
  const double A = xpbd_slip(scheme, contact, u), size = hypot(u[0], u[1]);
  const double most = scheme->found[found].mu_dynamic * scheme->row[contact->row].p;
  if (!(A > 0) || !(size > 0)) return;
  const double brake = fmin(most / size, 1 / A);
  for (int k = 1; k < scheme->model->dim; k++)
    p[k - 1] = scheme->row[contact->row + k].p - brake * u[k - 1];
  xpbd_tangents(scheme, contact, p);
}

/* (34): what has pressed leaves at e times its approach, or not at all */
static void xpbd_rebounds(xpbd *work, perp_scheme_row *row)
{
  perp_scheme *scheme = &work->s;
  if (row->kind != PERP_SCHEME_NORMAL && row->kind != PERP_SCHEME_LIMIT) return;
  if (!(row->p > 0)) return;
  const double before = perp_scheme_speed(scheme, row, work->v),
               now = perp_scheme_speed(scheme, row, scheme->v1);
  const double wanted = before < -fmax(scheme->o.threshold, work->least) ? -row->e * before : 0;
  const double p = (wanted - now) / row->A;
  perp_scheme_push(scheme, row, p, scheme->v1);
  row->p += p;
}

static perp_reason xpbd_substep(xpbd *work, double t, double h)
{
  perp_scheme *scheme = &work->s;
  memcpy(work->q, scheme->q1, (size_t)scheme->model->nq * sizeof *work->q);
  for (int row = 0; row < scheme->n; row++) {
    scheme->row[row].p = 0;
    if (scheme->row[row].kind == PERP_SCHEME_OWN) scheme->row[row].start = scheme->row[row].given;
  }
  perp_scheme_forces(scheme, t, h);
  memcpy(work->v, scheme->v1, (size_t)scheme->model->nv * sizeof *work->v);
  work->least = 2 * h * fabs(perp_model_gravity_at(scheme->model, t));
  for (int sweep = 0; sweep < work->o.iterations; sweep++) {
    xpbd_rows(work, t, h);
    for (int contact = 0; contact < scheme->contacts; contact++)
      xpbd_solve(scheme, &scheme->row[contact]);
    for (int contact = 0; contact < scheme->n_contacts; contact++) {
      xpbd_solve(scheme, &scheme->row[scheme->contact[contact].row]);
      xpbd_sticks(scheme, contact);
    }
    if (scheme->n > 0) scheme->count.iterations++;
  }
  memcpy(scheme->q1, work->q, (size_t)scheme->model->nq * sizeof *work->q);
  perp_scheme_move(scheme, h, scheme->v1);
  for (int contact = 0; contact < scheme->contacts; contact++)
    xpbd_rebounds(work, &scheme->row[contact]);
  for (int contact = 0; contact < scheme->n_contacts; contact++) {
    xpbd_slides(scheme, contact);
    xpbd_rebounds(work, &scheme->row[scheme->contact[contact].row]);
  }
  perp_scheme_sum(scheme);
  return perp_all_finite(scheme->model->nq, scheme->q1) ? PERP_EXACT : PERP_NOT_FINITE;
}

static perp_reason xpbd_step(perp_scheme *scheme, double t, double whole)
{
  xpbd *work = (xpbd *)scheme;
  const double h = whole / work->o.substeps;
  if (!perp_scheme_begin(scheme, t, whole, h)) return PERP_NOT_FINITE;
  for (int part = 0; part < work->o.substeps; part++) {
    if (part > 0) perp_scheme_refresh(scheme, t + part * h, h);
    const perp_reason reason = xpbd_substep(work, t + part * h, h);
    if (reason < 0) return reason;
  }
  perp_scheme_remember(scheme, whole, h);
  perp_scheme_counted(scheme);
  return PERP_EXACT;
}

static void xpbd_layout(void *ws, perp_arena *arena)
{
  xpbd *work = ws;
  perp_scheme_layout(work, arena);
  work->q = PERP_CARVE(arena, double, work->s.model->nq);
  work->v = PERP_CARVE(arena, double, work->s.model->nv);
}

static perp_status xpbd_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                               void **ws)
{
  xpbd like = { .o = *(const struct xpbd_opts *)parts->formulation.opts };
  like.s.o = like.o.scheme;
  like.s.step = xpbd_step;
  like.s.contact_rows = true;
  return perp_scheme_create(ctx, model, parts, h, &like.s, sizeof like, xpbd_layout, ws);
}

const perp_formulation_desc perp_formulation_xpbd = {
  .d = { .name = "xpbd",
         .summary = "Compliant Gauss-Seidel on positions in sub-steps: order 1, but sliding "
                    "friction of several contacts keeps an error",
         .reference = "Mueller et al. 2020 (rigid XPBD), algorithm 2; Macklin et al. 2016",
         .equation = "dlambda = (-C - alpha~ lambda) / (A + alpha~), dx = M^-1 J' dlambda, v = (q "
                     "[-] q_0) / h",
         PERP_OPTIONS(xpbd_options, struct xpbd_opts),
         .caps = PERP_SCHEME_CAPS },
  .create = xpbd_create,
  PERP_SCHEME_FUNCTIONS,
};
