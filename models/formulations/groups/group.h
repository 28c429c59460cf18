/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One simulation group: a model of its bodies and a simulation of its own.  Private to groups.c. */
#ifndef PERP_GROUP_H
#define PERP_GROUP_H

#include "models/stepping/formulation.h"
#include "models/stepping/step_sum.h"
#include "models/contact/step/swept_bounds.h"
#include "models/multibody/subset.h"

typedef struct perp_group {
  perp_subset part;
  perp_sim *sim;
  bool stale; /* its solver is not at the state of the whole: restart before the next step */
  bool ahead; /* it has reached the next common time */
  bool idle, still;
  double rest, parted; /* s, at rest, not connected */
  double t, h;         /* its time, its last step */
  double drift;        /* largest |C| before post-steps since the common time */
  double spent;        /* wall clock, s, of its advance, while timing is on */
  perp_step_info info; /* of all steps to the common time */
  perp_step_sum sum;   /* where these are several */
  perp_arena sum_room;
  perp_ode_counters born; /* counters of sim when the count of groups began */
} perp_group;

/* What all groups of a simulation share. */
typedef struct perp_group_terms {
  const perp_model *model; /* the whole */
  perp_parts parts;        /* owned; formulation: that of a group */
  double h, travel, still; /* step, m a step (0: any), m/s and rad/s: see groups.c */
  perp_swept_bounds *hulls;
  bool timing;
  perp_contact_observer *observer;
  void *observer_user;
  double *q, *v; /* state of the whole at time t */
  double t;
  double *q_sub, *v_sub; /* [nq], [nv] scratch */
  /* counted by groups that are gone, or were restarted */
  perp_ode_counters ode;
  perp_stats kkt;
  perp_contact_count contact;
  perp_times times;
  perp_group_count count;
} perp_group_terms;

/* wall clock, s, while timing is on. */
static inline double perp_group_clock(const perp_group_terms *terms)
{
  return terms->timing ? perp_clock_wall() : 0;
}

/* A group of bodies [n] (ascending), first step h, to be restarted before it; on failure *out is
 * NULL. */
perp_status perp_group_form(perp_ctx *ctx, perp_group_terms *terms, const int *bodies, int n,
                            double h, perp_group **out);
/* Its counts go to *w.  NULL is fine. */
void perp_group_bury(perp_group_terms *terms, perp_group *group);
/* Start at the state of the whole, which takes over what the start makes of it (normalized,
 * stabilized); its counts begin. */
perp_status perp_group_start(perp_ctx *ctx, perp_group_terms *terms, perp_group *group);
/* To time t_to, from the state of the whole when it is stale.  Hulls grow with it.  PERP_OK also
 * when the simulation failed: group->info.reason < 0. */
perp_status perp_group_advance(perp_ctx *ctx, perp_group_terms *terms, perp_group *group,
                               double t_to);
/* Add what the group counts now: since its creation, its restart, or its start. */
void perp_group_add_ode(const perp_group *group, perp_ode_counters *sum);
void perp_group_add_kkt(const perp_group *group, perp_stats *sum);
void perp_group_add_times(const perp_group *group, bool on, perp_times *sum);
void perp_group_add_contacts(const perp_group *group, perp_contact_count *sum);
void perp_group_add_count(const perp_group *group, perp_group_count *sum);

#endif
