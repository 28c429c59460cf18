/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Split stabilization: feedback for joints, projection for contacts.
 *
 * Joints have Baumgarte's feedback (baumgarte.c, with its choice for alpha = 0),
 *
 *      velocity level      J v = k - alpha C
 *      acceleration level  J a = c - 2 alpha Cdot - beta^2 C
 *
 * which on the velocity level is nearly SHAKE and keeps the energy, where projected positions
 * (post.c) would damp it. Two-sided rows take back in the next step the velocity that the feedback
 * gave; one-sided ones cannot, and feedback throws bodies that penetrate.  So contacts are
 * corrected in their positions, without a velocity, as post.c does (Cline 2002, section 3.4): after
 * a step, where bodies are deeper than TOL in each other,
 *
 *      M dq = J' mu + J_c' lambda,  J dq = -C,  0 <= lambda perp gap + J_c dq >= 0,  q <- q [+] dq
 *
 * The speed of separation is 0 and the energy that of the projected pose, whatever the depth.
 *
 * The rows of contacts have a softness, S lambda beside gap + J_c dq, of 1e-7 of the mean 1/m:
 * redundant contacts then have one answer, and the second pass takes out what it leaves.  Contacts
 * that contradict each other share the overlap, which stays; such a projection counts as unsolved
 * (contacts_post.h).
 *
 * An lcp that makes a number of sweeps a step leaves errors of its own in positions, which further
 * sweeps on them would turn into drift; they are left alone up to the part SWEPT of the largest
 * body.
 *
 * Cost: one complementarity problem of the normals, one collision detection and one KKT solve for a
 * step that ends in penetration; the detection alone, which the next step uses again, for others.
 * No memory. */
#include "solvers/stabilization/stab_private.h"

/* m: penetration that is not corrected, far below what is visible and above rounding; the part of
 * the largest body up to which it is not after a fixed number of sweeps */
static const double TOL = 1e-9, SWEPT = 1e-3;

struct opts {
  double alpha, beta, softness;
  int passes;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, alpha, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "1/s",
            "Feedback gain alpha of joints. 0: 1/h on the velocity level, 1/(20 h) on the "
            "acceleration level."),
  PERP_REAL(struct opts, beta, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "1/s",
            "Feedback gain beta of the position error C of joints on the acceleration level. 0: "
            "same as alpha. Refused on the velocity level."),
  PERP_INT(struct opts, passes, 2, 1, 100,
           "Maximum number of passes that remove penetration after a step."),
  PERP_REAL(
      struct opts, softness, 1e-7, 0, 1, PERP_OPEN_MAX, "",
      "Compliance of contacts in the projection, as a fraction of the mean 1/m. Redundant "
      "contacts then have one solution. If more than 1 % of the overlap, and more than 1e-9 m, "
      "remains, the "
      "projection counts as unsolved. 0: rigid."),
  PERP_OPTIONS_END
};

struct ws {
  struct stab_joints joints; /* first */
  struct opts opt;
};

static perp_status split_create(perp_ctx *ctx, const perp_stab_sys *sys, const void *opts,
                                void **ws)
{
  const struct opts *chosen = opts;
  struct ws like = { .joints = { chosen->alpha, chosen->beta, sys->m }, .opt = *chosen };
  return perp_stab_joints_create(ctx, "split", &like, sizeof like, ws);
}

static void split_contacts(const void *ws, perp_stab_contacts *how)
{
  const struct ws *work = ws;
  *how = (perp_stab_contacts){
    .passes = work->opt.passes, .tol = TOL, .swept = SWEPT, .softness = work->opt.softness
  };
}

static const char *split_idle(const void *opts, perp_level level)
{
  return perp_stab_joints_idle(((const struct opts *)opts)->beta, level);
}

const perp_stab_desc perp_stab_split = {
  .d = { .name = "split",
         .summary = "Split stabilization: Baumgarte feedback for joints, compliant position "
                    "projection for "
                    "contacts",
         .reference = "Vondrak 2005, eq. 4.8; Cline 2002, sections 3.2 and 3.4, eq. 3.7",
         .equation = "J v = k - alpha C;  M dq = J_c' lambda,  "
                     "0 <= lambda _|_ gap + J_c dq + S lambda >= 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_STAB_FEEDBACK },
  .create = split_create,
  .rhs = perp_stab_joints_rhs,
  .contacts = split_contacts,
  .destroy = free,
  .idle = split_idle,
};
