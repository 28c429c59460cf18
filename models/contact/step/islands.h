/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Islands: bodies that joints and contacts connect, each set with a complementarity problem of its
 * own.
 *
 * Two bodies belong together when a joint or a contact acts on both (union-find with path halving,
 * the smaller index the root, so that the result does not depend on the order of contacts).  The
 * world connects nothing.  An island has a problem when it has a contact or a bounded row.  Islands
 * are numbered by their first body, contacts keep their order inside one, and each problem is
 * solved from its own data only: the result does not depend on the number of threads. */
#ifndef PERP_ISLANDS_H
#define PERP_ISLANDS_H

#include "models/contact/step/islands_task.h"

typedef struct perp_islands perp_islands;

/* rows: joints of an island become free rows of its problem, instead of being eliminated. */
perp_status perp_islands_create(perp_ctx *ctx, const perp_model *model,
                                const perp_contact_desc *kind, const void *opts,
                                const perp_contact_setup *setup, int threads, bool rows,
                                perp_islands **out);
void perp_islands_destroy(perp_islands *s);
/* Memory for n contacts; allocates only when that is more than ever. */
perp_status perp_islands_room(perp_ctx *ctx, perp_islands *s, int n);
/* [4 n], impulses and slip, for a caller without arrays of its own, after perp_islands_room. */
double *perp_islands_scratch(perp_islands *s);
/* All islands with contacts or bounded rows.  k: the KKT factor holds for k->e, k->a is v^, k->f
 * its right-hand side, k->c that of the joints.  False: k->status or k->reason says why. */
bool perp_islands_solve(perp_islands *s, perp_constrained *k, perp_island_task *task);
/* f [nv] += J_c' lambda of the impulses in task, and J' lambda of its bounded rows. */
void perp_islands_apply(perp_islands *s, const perp_constrained *k, const perp_island_task *task,
                        double *f);
/* How far the friction of a step that ends with k->a is from Coulomb's law, into the counts
 * (islands_coulomb.c). */
void perp_islands_coulomb(perp_islands *s, const perp_constrained *k, const perp_island_task *task);
/* Both, then k->a from k->f with all impulses, in a step h from v.  seconds += CPU time but for
 * that of KKT solves. */
PERP_INLINE bool perp_islands_step(perp_islands *s, perp_constrained *k, perp_island_task *task,
                                   perp_level level, double h, const double *v, double *seconds)
{
  const double start = perp_constrained_own_clock(k);
  const bool good = perp_islands_solve(s, k, task);
  if (good) perp_islands_apply(s, k, task, k->f);
  *seconds += perp_constrained_own_clock(k) - start;
  if (!good || !perp_constrained_solve(k, level, h, v)) return false;
  if (level == PERP_LEVEL_VELOCITY && task->law != NULL) perp_islands_coulomb(s, k, task);
  return true;
}
/* What is kept from solve to solve to save work (islands_frozen.c): the next one is as if it were
 * the first. */
void perp_islands_forget(perp_islands *s);
/* [bodies] one body of the island of each, of the last solve, or (single) by joints alone. */
const int *perp_islands_roots(const perp_islands *s, bool single);
/* What was counted since the creation; the caller may add counts of its own, or begin anew. */
perp_contact_count *perp_islands_count(perp_islands *s);
/* Before a run: the counts are zero, and nothing is known of its islands. */
void perp_islands_restart(perp_islands *s);
/* What is known of the islands, which decides what their problems may cost and which solution of
 * several is taken, is kept and put back; counts go on. */
void perp_islands_keep(perp_islands *s, perp_step_end which);
void perp_islands_put_back(perp_islands *s, perp_step_end which);
void perp_islands_observe(perp_islands *s, perp_contact_observer *observer, void *user);

#endif
