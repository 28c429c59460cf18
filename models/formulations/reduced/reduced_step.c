/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts, limits and motors in joint coordinates: the articulated-body algorithm with multipliers
 * for contact, which Cline 2002, section 6.1, asks for.
 *
 * The step is that of the velocity level (velocity.c), taken in the tangent space of the joints.
 * With the velocities v = S(q) u of the bodies of joint rates u, M the masses of the bodies and H =
 * S' M S,
 *
 *      H u+ = S' (M v + h f + J_c' lambda_c),      v+ = S u+,      q+ = q [+] h u+,
 *
 *      w = J_c v+ + bias  perp  lambda_c,          A = J_c S H^-1 S' J_c'
 *
 * where J_c has the rows of contacts, limits and motors.  A column of A is the answer of the
 * articulated-body algorithm to a force on the bodies, in O(n) (R. Featherstone, Rigid Body
 * Dynamics Algorithms, 2008); islands, friction, impacts, warm start and drives are those of
 * velocity_step.c and drives.h.  The projection of M v on S(q) stands for the Coriolis and
 * centrifugal forces: it turns the velocities of the bodies as they are into those that the joints
 * allow now, and takes kinetic energy (to second order in h in a step) but never gives any, where
 * forces at the start of the step would.
 *
 * Joints hold to rounding at all times, after corrections of contacts too: these move bodies along
 * the joints.  Rows of loops (reduced_loops.c) are part of each response, and loops are closed
 * after the step (constrained.c).
 *
 * Order 1.  Cost per step: O(n) for each row of a contact, limit or motor, and the LCP. */
#include "models/formulations/reduced/reduced_step.h"
#include "models/multibody/reduced_loops.h"

#include <stdlib.h>
#include <string.h>

/* Rows of loops that contradict each other by more than this part of their terms are no rounding.
 */
static const double CONTRADICTS = 1e-6;

typedef struct workspace {
  perp_stepping s;           /* first */
  perp_reduced_tree *tree;   /* with the factor */
  perp_reduced_tree *moving; /* of positions on their way: the factor stays */
  perp_reduced_loops loops;
  double *q, *dq;     /* [tree nq], [tree nu] of the moving tree */
  double *q_at;       /* [tree nq] of the factor */
  double *du, *extra; /* [tree nu] */
  double *none;       /* [tree nu] zeros */
  double *off;        /* [loops] */
  double *v, *armed;  /* [nv] */
  double *rows;       /* [m] */
} workspace;

static perp_reason reduced_step_factor(perp_constrained *system, const double *q)
{
  workspace *work = (workspace *)system;
  perp_reduced_from_model(work->tree, q, system->zeros, work->q_at, work->du);
  /* at rest no accelerations come of velocities */
  perp_reduced_kinematics(work->tree, work->q_at, work->none);
  if (!perp_reduced_velocity(work->tree, work->none, work->du)) return PERP_SINGULAR;
  work->loops.e = system->e;
  perp_reduced_loops_factor(&work->loops);
  return PERP_EXACT;
}

/* off = J a - c in the rows of loops; returns the largest of it and, in *terms, of its terms */
static double reduced_step_off(workspace *w, const double *a, const double *c, double *terms)
{
  perp_reduced_loops *l = &w->loops;
  double worst = 0;
  perp_reduced_loops_rate(l, a, w->off);
  for (int i = 0; i < l->m; i++) {
    *terms = fmax(*terms, fmax(fabs(w->off[i]), fabs(c[l->row[i]])));
    w->off[i] -= c[l->row[i]];
    worst = fmax(worst, fabs(w->off[i]));
  }
  return worst;
}

/* M v + h f with what armatures have: J' inertia c, where c is J v of the start of the step. */
static const double *reduced_step_armed(workspace *w, const double *f, const double *c)
{
  const perp_model *model = w->s.k.model;
  if (!model->soft.armatures) return f;
  memset(w->rows, 0, (size_t)model->m * sizeof *w->rows);
  for (int i = 0; i < model->n_joints; i++)
    if (model->joint[i].inertial)
      w->rows[model->joint[i].row] = c[model->joint[i].row] /
                                     model->soft.softness[model->joint[i].row];
  memcpy(w->armed, f, (size_t)model->nv * sizeof *f);
  perp_blocks_Jt(&w->s.k.e->blocks, 1, w->rows, w->armed);
  return w->armed;
}

static perp_reason reduced_step_solve(perp_constrained *k, const double *f, const double *c,
                                      double *a)
{
  workspace *w = (workspace *)k;
  double terms = 0;
  perp_reduced_respond(w->tree, reduced_step_armed(w, f, c), w->du);
  perp_reduced_accelerations(w->tree, a);
  if (w->loops.m == 0) return PERP_EXACT;
  reduced_step_off(w, a, c, &terms);
  perp_reduced_loops_correct(&w->loops, w->off, w->extra);
  for (int i = 0; i < w->tree->nu; i++) w->du[i] += w->extra[i];
  perp_reduced_move(w->tree, w->du);
  perp_reduced_accelerations(w->tree, a);
  return reduced_step_off(w, a, c, &terms) > CONTRADICTS * terms ? PERP_INFEASIBLE : PERP_EXACT;
}

static void reduced_step_retract(perp_constrained *system, const double *q, const double *dq,
                                 double *q_out)
{
  workspace *work = (workspace *)system;
  perp_reduced_from_model(work->moving, q, dq, work->q, work->dq);
  perp_reduced_retract(work->moving, work->q, work->dq, work->q);
  perp_reduced_kinematics(work->moving, work->q, work->none);
  perp_reduced_to_model(work->moving, q_out, work->v);
}

static const perp_joint_coordinates reduced_step_coordinates = { reduced_step_factor,
                                                                 reduced_step_solve,
                                                                 reduced_step_retract };

static void reduced_step_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  perp_stepping_layout(&work->s, arena);
  PERP_DOUBLES(arena, work->tree->nq, &work->q, &work->q_at);
  PERP_DOUBLES(arena, work->tree->nu, &work->dq, &work->du, &work->extra, &work->none);
  work->off = PERP_CARVE(arena, double, work->loops.all);
  PERP_DOUBLES(arena, work->s.k.model->nv, &work->v, &work->armed);
  work->rows = PERP_CARVE(arena, double, work->s.k.model->m);
  perp_reduced_loops_layout(&work->loops, arena);
}

static void reduced_step_trees(workspace *work)
{
  free(work->tree);
  free(work->moving);
}

void perp_reduced_step_destroy(void *ws)
{
  if (ws == NULL) return;
  workspace trees = *(workspace *)ws;
  perp_stepping_destroy(ws);
  reduced_step_trees(&trees);
}

perp_status perp_reduced_step_create(perp_ctx *ctx, const perp_model *model,
                                     const perp_parts *parts, const perp_contact_opts *contact,
                                     double h, void **ws)
{
  workspace like = { .s.k.coordinates = &reduced_step_coordinates };
  *ws = NULL;
  perp_status status = perp_reduced_create(ctx, model, &like.tree);
  if (status == PERP_OK) status = perp_reduced_create(ctx, model, &like.moving);
  if (status == PERP_OK) {
    const int rows = like.tree->cut_rows;
    like.loops = (perp_reduced_loops){ .tree = like.tree, .m = rows, .all = rows };
    status = perp_stepping_create(ctx, model, parts, contact, h, &like.s, sizeof like,
                                  reduced_step_layout, ws);
  }
  if (status != PERP_OK) {
    reduced_step_trees(&like);
    return status;
  }
  workspace *work = *ws;
  memset(work->none, 0, (size_t)work->tree->nu * sizeof *work->none);
  perp_reduced_loops_start(&work->loops);
  return PERP_OK;
}
