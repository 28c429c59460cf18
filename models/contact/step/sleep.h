/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sleep: islands that have come to rest are left out until something wakes them.
 *
 * A body is slow while |v| + |w| reach, a bound of its point speeds, stays below a threshold.  When
 * all bodies of an island have been slow for a time, the island falls asleep: its bodies keep their
 * positions exactly, have velocity zero, and contacts among them (and with the world) are neither
 * looked for nor solved.  It wakes as a whole when a contact with a waking body closes, or when the
 * force on one of its bodies is no longer what it was. Bodies with a limit, a motor or a prescribed
 * motion stay awake, and so does their island.
 *
 * What is lost: the kinetic energy below the threshold, and with it creep slower than that. */
#ifndef PERP_SLEEP_H
#define PERP_SLEEP_H

#include "models/multibody/model_private.h"

typedef struct perp_sleep perp_sleep;

/* reach [bodies]: m, borrowed.  Allocates. */
perp_status perp_sleep_create(perp_ctx *ctx, const perp_model *model, double time, double velocity,
                              const double *reach, perp_sleep **out);
void perp_sleep_destroy(perp_sleep *s); /* NULL is fine */
void perp_sleep_restart(perp_sleep *s); /* all are awake */
/* [bodies] 1: asleep. */
const unsigned char *perp_sleep_asleep(const perp_sleep *s);
int perp_sleep_count(const perp_sleep *s);
/* f [nv] = M v + h (forces) at the start of a step h: wakes islands on which the forces have
 * changed. */
void perp_sleep_forces(perp_sleep *s, const double *f, double h);
/* Wakes the island of a body; was it asleep? */
bool perp_sleep_wake(perp_sleep *s, int body);
/* v [nv] = 0 for those asleep. */
void perp_sleep_still(const perp_sleep *s, double *v);
/* After a step h that ended with v [nv]; root [bodies]: one body of the island of each.  v becomes
 * 0 where an island falls asleep. */
void perp_sleep_update(perp_sleep *s, double h, const int *root, double *v);

#endif
