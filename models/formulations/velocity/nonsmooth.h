/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts of event-capturing schemes, which see a contact on the velocity level once it is closed
 * at a predicted position: Moreau and Jean, nonsmooth generalized-alpha. Private.
 *
 * Contacts are found once a step, at the prediction; those with a gap up to a threshold are active,
 *
 *      0 <= lambda_n  perp  n . (J_c v+ + e J_c v) >= 0,      friction by the contact model,
 *
 * with e of the surfaces where they approach faster than `threshold`, else 0.  All others have no
 * impulse, also where they close within the step: they are seen one step later. */
#ifndef PERP_NONSMOOTH_H
#define PERP_NONSMOOTH_H

#include "models/collision/collision.h"
#include "models/contact/step/contacts.h"
#include "models/contact/step/islands.h"
#include "models/stepping/stepper.h"

typedef struct perp_nonsmooth_opts {
  double threshold, slip, budget;
  int choice;
} perp_nonsmooth_opts;
/* The rows of a struct with a member `contact` of this type, first. */
#define PERP_NONSMOOTH_OPTIONS                                                                     \
  PERP_REAL(perp_nonsmooth_opts, threshold, 0.01, 0, HUGE_VAL, 0, "m/s",                           \
            "Approach speed above which restitution is applied."),                                 \
      PERP_REAL(perp_nonsmooth_opts, slip, 1e-5, 0, HUGE_VAL, 0, "m/s",                            \
                "Sliding speed at the start of a step above which a contact uses mu_dynamic."),    \
      PERP_REAL(perp_nonsmooth_opts, budget, PERP_STEP_BUDGET, 0, 1e9, 0, "", PERP_BUDGET_MEANS),  \
      PERP_CHOICE_OPTION(perp_nonsmooth_opts, choice)

typedef struct perp_nonsmooth_memory {
  uint64_t id;
  double impulse[3], slip;
} perp_nonsmooth_memory;

enum { PERP_NONSMOOTH_DEPTH = 8 };

typedef struct perp_nonsmooth {
  perp_nonsmooth_opts o;
  const perp_model *model;
  perp_collision *collision; /* NULL: no shapes, and then islands */
  perp_islands *islands;
  double *reach;         /* [bodies] */
  double *before, *free; /* [6 bodies] twists: of v at the start, and without contact impulses */
  double size;           /* m, of the model, 1 where it has none */
  int n, active, cap, n_memory;
  perp_contact *contact;         /* [n] of the step, by id */
  unsigned char *kept;           /* [n] which are active */
  double *impulse;               /* [3 n] on b, N s */
  double *slip;                  /* [n] */
  perp_nonsmooth_memory *memory; /* [n_memory] of the step before */
  perp_arena grown;
  struct { /* passes of the step: the last one; columns of differences, slot of the newest */
    double moved, *f, *u, *r, *df, *du, *Q;
    int columns, slot, from; /* from: pass before the first predicted one */
    bool predicts;
  } pass;
  double collision_s, lcp_s;
} perp_nonsmooth;

/* model and o of *ns are set; the layout of the workspace calls this. */
void perp_nonsmooth_layout(perp_nonsmooth *ns, perp_arena *arena);
/* Collision detection and islands with the methods of parts; nothing where there are no shapes. */
perp_status perp_nonsmooth_open(perp_ctx *ctx, perp_nonsmooth *ns, const perp_parts *parts);
void perp_nonsmooth_close(perp_nonsmooth *ns);
void perp_nonsmooth_restart(perp_nonsmooth *ns);
/* Contacts of a step h at k->e, where v [nv] are the velocities of its start; active are those that
 * the velocities u [nv] close in a further time `ahead`.  Impulses of the step before are the
 * guesses.  Allocates for more contacts than ever.  False: k says why. */
bool perp_nonsmooth_find(perp_nonsmooth *ns, perp_constrained *k, double h, const double *v,
                         const double *u, double ahead);
/* k->a with the impulses of active contacts; k is solved without them, from v, for k->f. */
bool perp_nonsmooth_solve(perp_nonsmooth *ns, perp_constrained *k, double h, const double *v);
/* Makes those of the step active that are closed in contact [n], found at k->e, and approach with
 * v.  Returns how many are new. */
int perp_nonsmooth_add(perp_nonsmooth *ns, const perp_constrained *k, const perp_contact *contact,
                       int n, double closed, const double *v);
/* Of contact [n], found at k->e where the step ends with v, the normal impulses of the step,
 * negative: pressed [3 n], N s; 0 of contacts that rebound.  Returns the largest gap of those that
 * have one, at least 0. */
double perp_nonsmooth_pressed(perp_nonsmooth *ns, const perp_constrained *k,
                              const perp_contact *contact, int n, const double *v, double *pressed);
/* Joints J v+ + C_t = 0 at the end of a step, whose J is `end`, with the reactions of k->e: k->c of
 * J_k v+ = J_k u - J_end u - C_t, u the estimate of v+ (NULL: none yet). */
void perp_nonsmooth_joints(perp_constrained *k, const perp_eval *end, double t, const double *u,
                           double *room);
/* After pass 1, 2, ... of a step from v [nv]: u [nv] is the velocity that it has found at the end,
 * f [nv] its change, which moves points by f `step` m.  PERP_EXACT when that is below tol of the
 * size or falls no longer below 1e-9 of it; PERP_RUNNING, and u is that of the next pass; or why
 * the passes do not end: PERP_NOT_FINITE of the first, PERP_MAX_ITER.
 *
 * Where `most` plain passes do not end, or diverge, as many begin anew at v, each where the least
 * change is predicted from up to PERP_NONSMOOTH_DEPTH earlier ones (Anderson's method; Walker and
 * Ni 2011): u - sum gamma_j du_j with min |f - sum gamma_j df_j|, so that a few stiff springs are
 * found, too. */
perp_reason perp_nonsmooth_pass(perp_nonsmooth *ns, int pass, double step, const double *v,
                                const double *f, double *u, double tol, int most);

/* ---- the calls of a descriptor ---- */

/* What the workspace of such a scheme begins with. */
typedef struct perp_nonsmooth_stepper {
  perp_stepper s;
  perp_nonsmooth ns;
} perp_nonsmooth_stepper;

#define PERP_NONSMOOTH_CALLS                                                                       \
  .step = perp_nonsmooth_step, .state = perp_stepper_state, .counters = perp_stepper_counters,     \
  .timing = perp_nonsmooth_timing, .contacts = perp_nonsmooth_count,                               \
  .observe = perp_nonsmooth_observe
perp_status perp_nonsmooth_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info);
void perp_nonsmooth_timing(void *ws, bool on, perp_times *times);
const perp_contact_count *perp_nonsmooth_count(const void *ws);
void perp_nonsmooth_observe(void *ws, perp_contact_observer *observer, void *user);

#endif
