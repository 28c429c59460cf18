/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of shapes that overlap in the initial state. */
#ifndef PERP_SCENES_OVERLAPS_H
#define PERP_SCENES_OVERLAPS_H

#include "models/multibody/model.h"

#include <stddef.h>

/* Called for each pair of bodies that overlaps at the start: one sentence.  filtered: they do not
 * collide, because they overlap as drawn. */
typedef void perp_overlap_teller(void *user, bool filtered, const char *sentence);
/* Overlaps by less than 1 % of the width of the smaller shape are not told: bodies that rest do
 * that.  PERP_ERR_NOMEM. */
perp_status perp_overlaps_tell(perp_ctx *ctx, const perp_model *model, perp_overlap_teller *tell,
                               void *user);

#endif
