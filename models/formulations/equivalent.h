/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equivalent problems: the model in a mirror, or with its elements in another order.
 *
 * Mechanics does not change under a reflection, nor does it number bodies.  A method whose answer
 * does is decided by rounding, by the directions of its tangents, or by the order of its sweeps.
 *
 * Mirrored, x -> -x, with S = diag(-1, 1, 1), are vectors, axial vectors (w, torques), orientations
 * and inertia, and body frames as well:
 *
 *      u -> S u,   u -> -S u,   R -> S R S,   I -> S I S
 *
 * Reversed: bodies, joints, shapes and corners in the opposite order.  Shuffled: element i is the
 * one of number (1 + i k) mod n, with the k next to n / 1.618 that has no divisor in common with n.
 *
 * Corners: the vertices of polytopes.  A box in the plane is turned in its frame by a half turn
 * (reversed) or a quarter turn (shuffled), so that another corner comes first; boxes in space stay
 * as they are. */
#ifndef PERP_EQUIVALENT_H
#define PERP_EQUIVALENT_H

#include "models/stepping/formulation.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum perp_equivalence {
  PERP_EQUIVALENT_GIVEN, /* the model itself */
  PERP_EQUIVALENT_MIRRORED,
  PERP_EQUIVALENT_REVERSED,
  PERP_EQUIVALENT_SHUFFLED,
  PERP_EQUIVALENT_MIRRORED_SHUFFLED,
  PERP_EQUIVALENCES
} perp_equivalence;
extern const char *const perp_equivalence_names[]; /* NULL-terminated, in the order of the enum */
int perp_equivalence_named(const char *name);      /* -1: there is none */

typedef struct perp_equivalent perp_equivalent;
/* The equivalent of a finished model, which must outlive it.  PERP_ERR_UNSUPPORTED names what has
 * none: in a mirror plug-ins, curves, height fields, single compliant rows and signals of mirrored
 * numbers; in another order `pairs` forces whose bodies would no longer follow each other.
 * PERP_ERR_NOMEM.  On failure *out is NULL.  O(size of the model). */
perp_status perp_equivalent_create(perp_ctx *ctx, const perp_model *model, perp_equivalence kind,
                                   perp_equivalent **out);
/* The model itself with more parts: extend adds them before the copy is finished.  Bodies come
 * behind those that are there; of the functions below none knows them.  Errors as above, and those
 * of extend. */
typedef perp_status perp_equivalent_extend(perp_ctx *ctx, void *user, perp_model *model);
perp_status perp_equivalent_extended(perp_ctx *ctx, const perp_model *model,
                                     perp_equivalent_extend *extend, void *user,
                                     perp_equivalent **out);
void perp_equivalent_destroy(perp_equivalent *equivalent); /* NULL is fine */
perp_model *perp_equivalent_model(const perp_equivalent *equivalent);

/* From here on nothing allocates; O(size of the model). */

/* The state q [nq], v [nv] of the given model as one of the equivalent, and back; in and out must
 * not overlap. */
void perp_equivalent_there(const perp_equivalent *equivalent, const double *q, const double *v,
                           double *q_there, double *v_there);
void perp_equivalent_back(const perp_equivalent *equivalent, const double *q_there,
                          const double *v_there, double *q, double *v);
/* The multipliers [m] of the given model; all NaN where rows are mirrored, whose directions are
 * others. */
void perp_equivalent_multipliers(const perp_equivalent *equivalent, const double *lambda_there,
                                 double *lambda);
/* The number in the given model of a body (PERP_WORLD stays) and of a joint. */
int perp_equivalent_body(const perp_equivalent *equivalent, int there);
int perp_equivalent_joint(const perp_equivalent *equivalent, int there);
/* What a step of the equivalent reports, as the given model would: contacts, impulses, multipliers
 * (where they are mirrored NULL, those of the end NaN), forces of drives, releases.  Arrays are
 * those of equivalent, until the next call.  PERP_ERR_NOMEM: more contacts than ever before, and no
 * memory for them. */
perp_status perp_equivalent_info(perp_ctx *ctx, perp_equivalent *equivalent, perp_step_info *info);

#ifdef __cplusplus
}
#endif

#endif
