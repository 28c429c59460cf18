/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Post-stabilization (Ascher and Chin): after each step the position is moved to the constraint
 * manifold by Newton passes whose corrections are the least ones in the norm of M (Cline 2002,
 * section 3.3, eq. 3.2, 3.3, and the system of section 3.4 without contacts, Cline 2002, eq. 3.6),
 *
 *      M dq = J' lambda,  J dq = -C,   q <- q [+] dq.
 *
 * velocity = false (Cline): only q changes.  On the velocity level the next step then projects v on
 * the tangent at a point that is turned by v h / L, which takes the fraction (v h / L)^2 of the
 * kinetic energy away in every step: the joints are exact and the trajectory is not.
 *
 * velocity = true: v is corrected by what the correction did to the motion, and projected:
 *
 *      q <- q [+] dq,  v <- v + dq / h,  then  v <- v + dv  with  M dv = J' mu,  J dv = -J v
 *
 * at the new q.
 *
 * This is RATTLE when dq lies along M^-1 J' of the *start* of the step, as the constraint impulse
 * of the step did: q reaches the manifold by the motion with the velocity v + dq / h of the chord,
 * and projecting that on the new tangent takes away exactly what the first half gave.  (With J of
 * the new position dq / h would be normal to the new tangent, and the projection would throw it
 * away.)  The factor of the start is still there after a velocity-level step (solve_start), so that
 * the passes cost triangular solves only, each gaining a factor of about v h / L; `sweeps` limits
 * them.  Where the start of the step is not known, and on the acceleration level, where v carries
 * its own derivative, the passes are those of velocity = false and only the projection is added.
 *
 * Contacts, on both levels, are complementarity rows (Cline 2002, section 3.4, eq. 3.7): with the
 * gaps g,
 *
 *      M dq = J' mu + J_c' lambda,  J dq = -C,  0 <= lambda  perp  g + J_c dq >= 0,  q <- q [+] dq
 *
 * and with velocity = true
 *
 *      M dv = J' mu + J_c' lambda,  J dv = 0,   0 <= lambda  perp  J_c (v + dv) >= 0
 *
 * in up to `contact_passes` passes while there is penetration; the second at closed contacts that
 * approach (faster ones that bounce are left to the law of impact).  The first moves bodies apart
 * without a velocity, the second takes energy only: nothing is thrown, whatever the depth.  Where
 * no positions without overlap exist the first has no solution: it counts as unsolved, and
 * positions stay; with `softness` (contacts_post.h) contacts share the overlap, which counts as
 * unsolved, too.
 *
 * weight = none has the identity in the place of M (Cline 2002, eq. 3.4 and 3.5):
 *
 *      dq = -J' (J J')^-1 C,
 *
 * the least sum of squares of metres and radians, whose unit of length counts.  Light and heavy
 * bodies move alike, so that their centre of mass moves, and with it their potential energy; M
 * keeps it where it is.  It costs a factorization more in a step, as that of the end is no longer
 * that of the next start.
 *
 * limit bounds what a pass may move (Cline 2002, section 5.2.3): far from the manifold the linear
 * system of a pass is a poor approximation, and its answer is of the size of the error, or without
 * bound near a singular position.  A larger dq, of joints and contacts alike, is scaled down as a
 * whole, so that it still points where the linear system does and falls in the error by its scale.
 * Errors above passes times limit then take several steps.
 *
 * hold = true: on the acceleration level contacts at rest, those that stick too, have Baumgarte's
 * feedback of 1/(5 h) (baumgarte.c) in place of the second.  A contact that rests for long then
 * does not gather what solutions leave, on either side; overlaps are still taken out by the first.
 *
 * Cost: passes (+ 1 with velocity) factorizations a step; none when the error is below TOL.
 * On a failed linear solve the state is left as it was. */
#include "solvers/stabilization/stab_private.h"

static const double PUSH = 0.1; /* m/s, as in baumgarte.c */

enum { WEIGHT_MASS, WEIGHT_NONE };
static const char *const weights[] = { "mass", "none", NULL };

/* Velocity error max |J v|, m/s, below which the velocity is not projected: rounding of velocities
 * of 1 m/s leaves 1e-13.  Penetration, m, that is not corrected: far below what any result shows.
 */
#define POST_TOL_V       1e-13
#define POST_TOL_CONTACT 1e-9

/* m: position error below which no pass is made; rounding */
static const double TOL = 1e-14;

struct opts {
  int passes, sweeps, contact_passes, weight;
  bool velocity, hold;
  double softness, limit;
};
static const perp_opt options[] = {
  PERP_INT(struct opts, passes, 1, 1, 100,
           "Maximum number of Newton iterations on the position error of a step."),
  PERP_BOOL(struct opts, velocity, false, "Correct and project the velocity as well (RATTLE)."),
  PERP_INT(struct opts, sweeps, 20, 1, 1000,
           "Maximum number of iterations that reuse the factorization of the step. Used on the "
           "velocity level if velocity=true."),
  PERP_INT(struct opts, contact_passes, 3, 0, 100,
           "Maximum number of passes that remove penetration. 0: contacts are not corrected."),
  PERP_BOOL(struct opts, hold, false,
            "Correct velocities of resting contacts by feedback instead of projection. Used on the "
            "acceleration level only."),
  PERP_REAL(
      struct opts, softness, 0, 0, 1, PERP_OPEN_MAX, "",
      "Compliance of contacts in the projection, as a fraction of the mean 1/m: contradictory "
      "contacts then share the overlap. If more than 1 % of it, and more than 1e-9 m, remains, "
      "the projection counts as unsolved. 0: rigid."),
  PERP_REAL(struct opts, limit, HUGE_VAL, 0, HUGE_VAL, PERP_OPEN_MIN, "m",
            "Largest component (m or rad) of the position correction of a pass. A larger one is "
            "scaled down as a whole: use it with several passes (Cline 2002, section 5.2.3)."),
  PERP_ENUM(struct opts, weight, WEIGHT_MASS, weights,
            "Norm that the position correction minimizes. mass: that of M. none: sum of squares in "
            "m and rad, by J' (J J')^-1; joints only (Cline 2002, eq. 3.4)."),
  PERP_OPTIONS_END
};

struct ws {
  struct stab_projection p; /* first */
  struct opts opt;
};

static perp_status post_create(perp_ctx *ctx, const perp_stab_sys *sys, const void *opts, void **ws)
{
  struct ws like = { .opt = *(const struct opts *)opts };
  *ws = NULL;
  if (like.opt.weight == WEIGHT_NONE && like.opt.velocity)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "post: velocity=true corrects velocities by impulses, which act by the "
                     "masses: use weight=mass with it");
  if (like.opt.weight == WEIGHT_NONE && sys->m > 0 && sys->unweighted == NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "post: this system has no corrections without masses: use weight=mass");
  if (like.opt.weight == WEIGHT_NONE && sys->m > 0) PERP_TRY(sys->unweighted(ctx, sys->user));
  return perp_stab_create(ctx, "post", sys, &like, sizeof like, ws);
}

/* Passes on projection->q (and projection->v when they are those of RATTLE) until TOL, as many as
 * there may be, or no gain. */
static perp_status post_correct(struct ws *work, double t, bool rattle, perp_stats *stats)
{
  struct stab_projection *projection = &work->p;
  const perp_stab_sys *sys = &projection->sys;
  const int passes = rattle ? work->opt.sweeps : work->opt.passes;
  double last = HUGE_VAL, scale = 1;
  for (int pass = 0; pass < passes; pass++) {
    sys->error(sys->user, t, projection->q, projection->C);
    const double norm = perp_stab_norm(sys->m, projection->C);
    stats->reason = isnan(norm) ? PERP_NOT_FINITE : PERP_CONVERGED;
    /* of a scaled pass the error falls by its scale, no more */
    if (!(norm > TOL) || norm > (1 - 0.5 * scale) * last) return PERP_OK;
    last = norm;
    double h = 0;
    PERP_TRY(perp_stab_correction(projection, t, projection->q, rattle ? &h : NULL, stats));
    if (stats->reason < 0) return PERP_OK;
    scale = fmin(1, work->opt.limit / perp_stab_norm(sys->nv, projection->dx));
    for (int i = 0; i < sys->nv && scale < 1; i++) projection->dx[i] *= scale;
    sys->retract(sys->user, projection->q, projection->dx, projection->q);
    if (!rattle || !(h > 0)) continue;
    for (int i = 0; i < sys->nv; i++) projection->v[i] += projection->dx[i] / h;
    if (sys->impulse != NULL) sys->impulse(sys->user, scale / h, projection->lambda);
  }
  return PERP_OK;
}

static perp_status post_step(void *ws, double t, double *q, double *v, perp_stats *stats)
{
  struct ws *work = ws;
  struct stab_projection *projection = &work->p;
  size_t size_q = sizeof *q * (size_t)projection->sys.nq,
         size_v = sizeof *v * (size_t)projection->sys.nv;
  memcpy(projection->q, q, size_q);
  memcpy(projection->v, v, size_v);
  PERP_TRY(post_correct(work, t, work->opt.velocity && projection->sys.solve_start != NULL, stats));
  if (stats->reason < 0) return PERP_OK;
  if (work->opt.velocity) {
    PERP_TRY(
        perp_stab_project_velocity(projection, t, projection->q, projection->v, POST_TOL_V, stats));
    if (stats->reason < 0) return PERP_OK;
    memcpy(v, projection->v, size_v);
  }
  memcpy(q, projection->q, size_q);
  return PERP_OK;
}

static void post_contacts(const void *ws, perp_stab_contacts *how)
{
  const struct ws *work = ws;
  *how = (perp_stab_contacts){ .passes = work->opt.contact_passes,
                               .tol = POST_TOL_CONTACT,
                               .softness = work->opt.softness,
                               .limit = work->opt.limit,
                               .unweighted = work->opt.weight == WEIGHT_NONE,
                               .velocity = work->opt.velocity && work->opt.contact_passes > 0 &&
                                           !work->opt.hold,
                               .tol_v = POST_TOL_V };
}

static double post_contact(const void *ws, perp_level level, double h, double gap, double rate)
{
  const struct ws *work = ws;
  if (!work->opt.hold || level == PERP_LEVEL_VELOCITY) return 0;
  return perp_stab_contact(1 / (5 * h), 1 / (5 * h), PUSH, gap, rate);
}

/* On the acceleration level: RATTLE's passes have the J of the start of a step. */
static bool post_projects(const void *ws, perp_stab_passes *passes)
{
  const struct ws *work = ws;
  *passes = (perp_stab_passes){ work->opt.passes, TOL, work->opt.velocity };
  return work->opt.weight == WEIGHT_MASS && isinf(work->opt.limit) &&
         !(work->opt.velocity && work->p.sys.solve_start != NULL);
}

const perp_stab_desc perp_stab_post = {
  .d = { .name = "post",
         .summary = "Post-stabilization: position (and velocity) projected onto the constraint "
                    "manifold after each step",
         .reference = "Cline 2002, sections 3.3-3.4, eq. 3.3 and 3.4 (Ascher and Chin)",
         .equation = "M dq = J' lambda,  J dq = -C;  velocity: v + dq / h, then J v = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_STAB_PROJECTS },
  .create = post_create,
  .post_step = post_step,
  .contact = post_contact,
  .contacts = post_contacts,
  .destroy = free,
  .projects = post_projects,
};
