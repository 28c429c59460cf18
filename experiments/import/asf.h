/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Skeletons and motions of Acclaim: texts of ASF and AMC files. */
#ifndef PERP_ASF_H
#define PERP_ASF_H

#include "experiments/import/bvh.h"

/* An ASF skeleton without frames, and the frames of an AMC text for it, which replace
 * those it has. Their joints are the bones: each begins where its parent ends, turns about its own
 * axes by F M F', with F of `axis` and M = R_n ... R_1 of its dofs in their order, and the tip of
 * the last bone of a branch is an end site.  Numbers are finite and below 1e9.  false after one
 * message with file, line and fix. O(size joints), no recursion. */
bool perp_asf_read(perp_diag *diag, const char *name, const char *text, size_t size, perp_bvh *out);
bool perp_amc_read(perp_diag *diag, const char *name, const char *text, size_t size,
                   double frame_time, perp_bvh *skeleton);

#endif
