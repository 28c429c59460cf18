/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collision detection: from the poses of all bodies to the contacts between their shapes.
 *
 * Broad phase: pairs whose axis-aligned boxes, grown by the margin, overlap (higher-level
 * detection of Vondrak 2005, sections 6.5.1 and 7.3.2), from a hierarchical grid (which his
 * conclusions propose in place of sort and sweep) and a list that outlives the step.  Narrow
 * phase: one function per pair of kinds, each returning the whole contact manifold, reduced to at
 * most PERP_MANIFOLD_MAX points, with feature identities that persist while the features do. */
#ifndef PERP_COLLISION_H
#define PERP_COLLISION_H

#include "models/geometry/kinematics.h"
#include "models/multibody/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Contacts of a pair: 4 of convex shapes (2 in the plane), more at surfaces of triangles with
 * several normals. */
enum { PERP_MANIFOLD_CONVEX = 4, PERP_MANIFOLD_MAX = 32 };

/* One point of contact between the shapes a = shape[0] and b = shape[1].  n points from a to b. The
 * impulse n lambda_n, lambda_n >= 0, acts on b at p[1] and its opposite on a at p[0]. */
typedef struct perp_contact {
  int shape[2]; /* shape[0] < shape[1] */
  int body[2];  /* either (not both) may be PERP_WORLD */
  uint64_t
      id; /* of the pair and the features: equal in two steps when it is the same contact.  20 bits
           * shape[0], 20 shape[1], 24 features: the order of ids is that of (a, b, features) */
  double p[2][3]; /* world, on the surfaces; gap = n . (p[1] - p[0]) */
  double n[3];    /* world, unit */
  double gap;     /* m; < 0: penetration depth.  Vondrak 2005, eq. 6.35; Cline 2002, eq. 4.11 */
  double mu, mu_dynamic, e;
} perp_contact;

/* Halfway between the two surfaces: impulse and counter-impulse then have one line of action. */
static inline void perp_contact_middle(const perp_contact *contact, double p[3])
{
  for (int i = 0; i < 3; i++) p[i] = 0.5 * (contact->p[0][i] + contact->p[1][i]);
}

/* The body that says where the contact is from step to step: a moving one. */
static inline int perp_contact_holder(const perp_contact *contact)
{
  return contact->body[1] >= 0 ? contact->body[1] : contact->body[0];
}

static inline uint64_t perp_contact_pair(uint64_t id)
{
  return id >> 24;
}
static inline int perp_contact_shape_a(uint64_t id)
{
  return (int)(id >> 44);
}
static inline int perp_contact_shape_b(uint64_t id)
{
  return (int)(id >> 24 & 0xfffff);
}

/* ---- two shapes ---- */

/* Contacts of two shapes of a finished model at the poses of their bodies whose gap is below
 * margin (>= 0, m).  At most PERP_MANIFOLD_MAX are written, in the order of their id.  Returns
 * their number. The lower of the two shapes is a in the contacts, whatever the order of the
 * arguments. Deterministic.  No allocation.  Planes do not touch planes.
 *
 * Tolerances: where faces of both lie within 1.8 degrees of the direction of contact, the normal
 * is that of one of these faces (of a when they are within 0.08 degrees of each other), and a
 * point may lie beyond the rim of that face by 1e-6 of the size of the smaller shape; elsewhere
 * normal and gap are those of the closest or deepest features. */
int perp_collide(const perp_model *model, int shape_a, const perp_pose *pose_a, int shape_b,
                 const perp_pose *pose_b, double margin, perp_contact *contacts);
/* Signed distance of two shapes: separation > 0, or minus the least translation that separates
 * them. p_a, p_b [3] the witness points, n [3] unit from a to b; each may be NULL.  No
 * allocation. */
double perp_shape_distance(const perp_model *model, int shape_a, const perp_pose *pose_a,
                           int shape_b, const perp_pose *pose_b, double p_a[3], double p_b[3],
                           double n[3]);

/* ---- all shapes ---- */

typedef struct perp_collision perp_collision;

/* For a finished model, which must outlive it.  margin >= 0 m: contacts with a gap below it are
 * found (speculative contacts).  Allocates; find allocates only when there are more pairs or
 * contacts than ever before. */
perp_status perp_collision_create(perp_ctx *ctx, const perp_model *model, double margin,
                                  perp_collision **out);
void perp_collision_destroy(perp_collision *collision);
void perp_collision_margin(perp_collision *collision, double margin);
/* From now on contacts of find are those of shapes grown by half the tolerance each (>= 0, m):
 * their gap is the separation less the tolerance (Cline 2002, eq. 4.11), and gaps below the margin
 * are found.  0: the shapes themselves, as created. */
void perp_collision_tolerance(perp_collision *collision, double tolerance);
/* Pairs of bodies at rest (rest [bodies] not 0, borrowed; NULL: none) among each other and with the
 * world are passed over by find. */
void perp_collision_rest(perp_collision *collision, const unsigned char *rest);
/* All contacts at the poses (indexed by body; pose[-1], PERP_WORLD, is the world and must be
 * valid), ordered by (shape_a, shape_b, id).  The array lives until the next call.  O(shapes +
 * overlaps) for small motions since the call before. */
perp_status perp_collision_find(perp_ctx *ctx, perp_collision *collision, const perp_pose *pose,
                                const perp_contact **contacts, int *n);
/* Smallest signed distance over the pairs that may touch and are nearer than the margin (exact
 * then); above the margin, at worst infinity, when there are none; NaN (and ctx says why) when a
 * pose is not finite.  What bisection asks. */
double perp_collision_deepest(perp_ctx *ctx, perp_collision *collision, const perp_pose *pose);
/* Does a pair that may touch come nearer than `target` (m) on the way from q0 to q1 [nq] (straight,
 * see perp_time_of_impact), where it may go unseen at both ends: pairs of which one moves by more
 * than half of its least width?  Not those of which skip says so (shape_a < shape_b), nor planes,
 * which have no other side.  O(shapes) when nothing is fast, each fast shape against all others
 * else. */
typedef bool perp_pair_filter(void *user, int shape_a, int shape_b);
bool perp_collision_crosses(const perp_collision *collision, const double *q0, const double *q1,
                            double target, perp_pair_filter *skip, void *user);
/* May two shapes touch: not of one body or group, nor of joined bodies unless one of them asks for
 * it (shape.h).  O(joints of a body). */
bool perp_collision_may_touch(const perp_collision *collision, int shape_a, int shape_b);
/* Pairs the broad phase handed to the narrow phase in the last find, and contacts found. */
void perp_collision_counters(const perp_collision *collision, int64_t *pairs, int64_t *contacts);

/* ---- time of impact ---- */

/* Earliest s in [0, 1] at which the distance of two shapes falls to `target` (m) while the poses
 * move from (x0, q0) to (x1, q1): positions linearly, orientations along the shortest rotation;
 * conservative advancement.  The distance at the s returned is within 1e-10 of the size of the
 * smaller shape of the target, and above it before.  Returns 1 when it stays above (then *hit is
 * false), 0 when it is below from the start.  A grazing motion may end after 1000 steps: then *hit
 * is true and s a lower bound.  qa0 ...: coordinates of the bodies as in model.h, NULL for the
 * world.  No allocation. */
double perp_time_of_impact(const perp_model *model, int shape_a, const double *qa0,
                           const double *qa1, int shape_b, const double *qb0, const double *qb1,
                           double target, bool *hit);

#ifdef __cplusplus
}
#endif

#endif
