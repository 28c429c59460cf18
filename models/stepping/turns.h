/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Angles of joints over more than half a turn. */
#ifndef PERP_TURNS_H
#define PERP_TURNS_H

#include "models/multibody/model.h"

/* A simulation follows the angles of its drives from step to step: x of a drive is the angle within
 * half a turn of that at the last accepted state, so that limits and targets may lie beyond half a
 * turn.  A step that turns a joint by half a turn or more cannot be told from one that turns it
 * back. */
typedef struct perp_turns perp_turns;

/* *view: the model with angles of its own, for the formulation; it lives as long as *out.  Without
 * drives that turn and chains *out is NULL and *view the model.  Allocates. */
perp_status perp_turns_create(perp_ctx *ctx, perp_model *model, perp_model **view,
                              perp_turns **out);
void perp_turns_destroy(perp_turns *turns); /* NULL is fine */
/* The angles are within half a turn of those of perp_turns_from again, else of `zero`. */
void perp_turns_restart(perp_turns *turns);
void perp_turns_from(perp_turns *turns, int drive, double x);
/* A restart takes chain `to` from what chain `from` of another model is at its last accepted
 * state. */
void perp_turns_chains(perp_turns *turns, const perp_model *whole, int from, int to);
/* The joint of kind chain whose axes were nearly dependent at the last accepted state, -1. */
int perp_turns_near(const perp_turns *turns);
/* An accepted state.  No allocation, O(drives).  Returns the joint of kind chain whose axes have
 * become dependent, -1: there is none. */
int perp_turns_follow(perp_turns *turns, const double *q);

#endif
