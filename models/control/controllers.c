/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The controllers of control.h: what they read, what they cost, what they give up. */
#include "models/control/control.h"

#define CONTROL_REAL(f, d, lo, flags, u, h)                                                        \
  PERP_REAL(perp_controller_opts, f, d, lo, HUGE_VAL, flags, u, h)
#define CONTROL_BOUND                                                                              \
  CONTROL_REAL(max_force, HUGE_VAL, 0, PERP_OPEN_MIN, "Nm",                                        \
               "no joint gives more, in each coordinate; of sliders N")
#define CONTROL_PD                                                                                 \
  CONTROL_REAL(frequency, 5, 0, PERP_OPEN_MIN | PERP_OPEN_MAX, "1/s",                              \
               "of the joint alone, with all that hangs on it at the start"),                      \
      CONTROL_REAL(ratio, 1, 0, PERP_OPEN_MAX, "", "damping, 1: critical"), CONTROL_BOUND

static const perp_opt feed[] = { CONTROL_BOUND, PERP_OPTIONS_END };
static const perp_opt gains[] = { CONTROL_PD, PERP_OPTIONS_END };
static const perp_opt muscles[] = {
  CONTROL_REAL(stiffness, 10, 0, PERP_OPEN_MAX, "1/rad", "for each Nm of tau_ref"),
  CONTROL_REAL(damping, 1, 0, PERP_OPEN_MAX, "s", "for each Nm of tau_ref"), CONTROL_BOUND,
  PERP_OPTIONS_END
};
static const perp_opt springs[] = {
  CONTROL_REAL(frequency, 5, 0, PERP_OPEN_MIN | PERP_OPEN_MAX, "1/s", "of a segment alone"),
  CONTROL_REAL(ratio, 1, 0, PERP_OPEN_MAX, "", "damping, 1: critical"), PERP_OPTIONS_END
};
static const perp_opt nothing[] = { PERP_OPTIONS_END };
static const perp_opt rates[] = { CONTROL_REAL(rate, 5, 0, PERP_OPEN_MIN | PERP_OPEN_MAX, "1/s",
                                               "2 pi rate: at which errors decay"),
                                  CONTROL_BOUND, PERP_OPTIONS_END };

#define CONTROLLER(id, as, what, is, source, table, feed_forward, how, takes, gives_up)            \
  extern const perp_controller_desc perp_controller_##id;                                          \
  const perp_controller_desc perp_controller_##id = {                                              \
    .d = { .name = as,                                                                             \
           .summary = what,                                                                        \
           .reference = source,                                                                    \
           .equation = is,                                                                         \
           PERP_OPTIONS(table, perp_controller_opts) },                                            \
    .feeds = feed_forward,                                                                         \
    .feedback = PERP_FEEDBACK_##how,                                                               \
    .cost = takes,                                                                                 \
    .loses = gives_up,                                                                             \
  }

CONTROLLER(feed_forward, "feed-forward",
           "the forces that the motion takes, whatever the figure does",
           "tau = tau_ref(t), by inverse dynamics", "Cline 2002, eq. 5.3 and 5.6", feed, true, NONE,
           "a recursion of inverse dynamics, O(n), at each evaluation of forces",
           "every error and every disturbance stays, and grows as the motion is unstable");
CONTROLLER(pd, "pd", "springs and dampers towards the motion, as forces", "tau = k e + c edot",
           "Vondrak 2005, section 3.4 (penalty forces); Cline 2002, eq. 5.7 without |tau|", gains,
           false, FORCE, "O(1) a joint",
           "lags behind what weight and inertia take, by tau / k; the step is limited by the "
           "stiffest mode");
CONTROLLER(feed_forward_pd, "feed-forward+pd", "the forces of the motion, and springs and dampers",
           "tau = tau_ref(t) + k e + c edot", "Cline 2002, section 5.1.1", gains, true, FORCE,
           "a recursion of inverse dynamics at each evaluation of forces",
           "the step is limited by the stiffest mode, as of pd");
CONTROLLER(muscle, "muscle",
           "the forces of the motion, and springs and dampers as stiff as those are large",
           "tau_i = tau_ref_i + |tau_ref_i| (stiffness e_i + damping edot_i)",
           "Cline 2002, eq. 5.6 and 5.7", muscles, true, MUSCLE,
           "a recursion of inverse dynamics at each evaluation of forces",
           "joints that take no force are loose; the step is limited where forces are large");
CONTROLLER(implicit_pd, "implicit-pd",
           "springs and dampers towards the motion, at the end of the step",
           "tau = k e(t + h) + c edot(t + h), a row with softness 1 / (h (h k + c))",
           "Vondrak 2005, eq. 6.48 and section 8.3; Cline 2002, section 2.7.4", gains, false, SERVO,
           "a row of the LCP for each coordinate",
           "order 1, and damping by the step; lags behind as pd does");
CONTROLLER(feed_forward_implicit_pd, "feed-forward+implicit-pd",
           "the forces of the motion, and springs and dampers at the end of the step",
           "tau = tau_ref(t) + k e(t + h) + c edot(t + h)", "Cline 2002, section 5.1.1 and 2.7.4",
           gains, true, SERVO,
           "a recursion of inverse dynamics a step, and a row of the LCP for each coordinate",
           "order 1, and damping by the step");
CONTROLLER(soft, "soft", "a constraint towards the motion that gives way at max_force",
           "edot + 2 pi rate e = 0 at the end of the step, |tau_i| <= max_force",
           "Vondrak 2005, section 6.6, 8.3 and 8.4 (bounded equality constraints)", rates, false,
           SOFT, "a row of the LCP for each coordinate, which joints do not eliminate",
           "order 1; stiff as it is, it needs the velocity level");
CONTROLLER(prescribed, "prescribed", "the motion itself, whatever it takes", "C(q, t) = 0: e = 0",
           "Vondrak 2005, section 8.3 (kinematic animation)", nothing, false, ROWS,
           "rows of the KKT system, eliminated with the joints",
           "nothing makes the figure yield: what stands in the way is thrown away, and where that "
           "cannot be there is no solution");
CONTROLLER(
    markers, "markers",
    "points of all segments pulled along their trajectories, as of optical motion capture",
    "F = -k (p - p_ref) - c (pdot - pdot_ref), three points a segment",
    "Vondrak 2005, section 8.3 and 9.2.6", springs, false, POINTS,
    "nine soft rows a segment in the KKT system",
    "pulls from outside: momentum is not kept; lags behind as pd does; joints decide what points "
    "that do not fit the skeleton become");
