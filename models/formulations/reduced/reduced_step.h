/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts, limits and motors in joint coordinates: the time stepping of reduced, see
 * reduced_step.c.  Private. */
#ifndef PERP_REDUCED_STEP_H
#define PERP_REDUCED_STEP_H

#include "models/contact/step/stepping.h"

/* *ws begins with a perp_stepping, whose functions serve it but for the end; NULL on failure.
 * Errors as of perp_stepping_create, and PERP_ERR_UNSUPPORTED for a joint that is no part of a tree
 * (perp_reduced_create). */
perp_status perp_reduced_step_create(perp_ctx *ctx, const perp_model *model,
                                     const perp_parts *parts, const perp_contact_opts *contact,
                                     double h, void **ws);
void perp_reduced_step_destroy(void *ws); /* NULL is fine */

#endif
