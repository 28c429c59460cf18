/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The controllers of control.h: what they read, what they cost, what they give up. */
#include "models/figures/control.h"

#define CONTROL_REAL(f, d, lo, flags, u, h)                                                        \
  PERP_REAL(perp_controller_opts, f, d, lo, HUGE_VAL, flags, u, h)
#define CONTROL_BOUND                                                                              \
  CONTROL_REAL(max_force, HUGE_VAL, 0, PERP_OPEN_MIN, "Nm",                                        \
               "Largest torque in each joint coordinate; of sliders the largest force in N.")
#define CONTROL_PD                                                                                 \
  CONTROL_REAL(frequency, 5, 0, PERP_OPEN_MIN | PERP_OPEN_MAX, "1/s",                              \
               "Natural frequency of the joint with the bodies that it carries at the start."),    \
      CONTROL_REAL(ratio, 1, 0, PERP_OPEN_MAX, "",                                                 \
                   "Damping ratio of the controlled joint; 1 is critical."),                       \
      CONTROL_BOUND

static const perp_opt feed[] = { CONTROL_BOUND, PERP_OPTIONS_END };
static const perp_opt gains[] = { CONTROL_PD, PERP_OPTIONS_END };
static const perp_opt alone[] = { CONTROL_PD,
                                  PERP_BOOL(perp_controller_opts, gravity_compensation, false,
                                            "Each joint carries the weight of the bodies behind it "
                                            "besides, by inverse dynamics at rest."),
                                  PERP_OPTIONS_END };
static const perp_opt muscles[] = {
  CONTROL_REAL(stiffness, 10, 0, PERP_OPEN_MAX, "1/rad",
               "Stiffness of the joint per Nm of the reference torque tau_ref."),
  CONTROL_REAL(damping, 1, 0, PERP_OPEN_MAX, "s",
               "Damping of the joint per Nm of the reference torque tau_ref."),
  CONTROL_BOUND, PERP_OPTIONS_END
};
static const perp_opt springs[] = {
  CONTROL_REAL(frequency, 5, 0, PERP_OPEN_MIN | PERP_OPEN_MAX, "1/s",
               "Natural frequency of a segment on its springs."),
  CONTROL_REAL(ratio, 1, 0, PERP_OPEN_MAX, "", "Damping ratio of the springs; 1 is critical."),
  PERP_OPTIONS_END
};
static const perp_opt nothing[] = { PERP_OPTIONS_END };
static const perp_opt rates[] = {
  CONTROL_REAL(rate, 5, 0, PERP_OPEN_MIN | PERP_OPEN_MAX, "1/s",
               "Decay rate of tracking errors: an error decays as exp(-2 pi rate t)."),
  CONTROL_BOUND, PERP_OPTIONS_END
};

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
           "Torques of inverse dynamics along the reference motion, without feedback",
           "tau = tau_ref(t), by inverse dynamics", "Cline 2002, eq. 5.3 and 5.6", feed, true, NONE,
           "One recursion of inverse dynamics, O(n), per evaluation of forces",
           "Errors and disturbances are not corrected; they grow if the motion is unstable");
CONTROLLER(pd, "pd", "Spring and damper forces towards the reference motion", "tau = k e + c edot",
           "Vondrak 2005, section 3.4 (penalty forces); Cline 2002, eq. 5.7 without |tau|", alone,
           false, FORCE, "O(1) per joint",
           "Lags behind the motion by tau / k, due to weight and inertia; the stiffest mode limits "
           "the step");
CONTROLLER(feed_forward_pd, "feed-forward+pd",
           "Torques of inverse dynamics plus spring and damper forces towards the motion",
           "tau = tau_ref(t) + k e + c edot", "Cline 2002, section 5.1.1", gains, true, FORCE,
           "One recursion of inverse dynamics per evaluation of forces",
           "The stiffest mode limits the step, as with pd");
CONTROLLER(muscle, "muscle",
           "Torques of inverse dynamics plus springs and dampers with stiffness proportional to "
           "those torques",
           "tau_i = tau_ref_i + |tau_ref_i| (stiffness e_i + damping edot_i)",
           "Cline 2002, eq. 5.6 and 5.7", muscles, true, MUSCLE,
           "One recursion of inverse dynamics per evaluation of forces",
           "Joints without torque are not controlled; large torques limit the step");
CONTROLLER(implicit_pd, "implicit-pd",
           "Springs and dampers towards the motion, evaluated at the end of the step",
           "tau = k e(t + h) + c edot(t + h), a row with softness 1 / (h (h k + c))",
           "Vondrak 2005, eq. 6.48 and section 8.3; Cline 2002, section 2.7.4", alone, false, SERVO,
           "One row of the LCP per coordinate",
           "Order 1; numerical damping depends on the step; lags behind the motion as pd does");
CONTROLLER(feed_forward_implicit_pd, "feed-forward+implicit-pd",
           "Torques of inverse dynamics plus springs and dampers at the end of the step",
           "tau = tau_ref(t) + k e(t + h) + c edot(t + h)", "Cline 2002, section 5.1.1 and 2.7.4",
           gains, true, SERVO,
           "One recursion of inverse dynamics per step, one row of the LCP per coordinate",
           "Order 1; numerical damping depends on the step");
CONTROLLER(soft, "soft", "Velocity constraint towards the motion, with forces bounded by max_force",
           "edot + 2 pi rate e = 0 at the end of the step, |tau_i| <= max_force",
           "Vondrak 2005, section 6.6, 8.3 and 8.4 (bounded equality constraints)", rates, false,
           SOFT, "One row of the LCP per coordinate, not eliminated with the joints",
           "Order 1; too stiff for force-based formulations, it needs the velocity level");
CONTROLLER(prescribed, "prescribed", "Reference motion prescribed exactly, with forces of any size",
           "C(q, t) = 0: e = 0", "Vondrak 2005, section 8.3 (kinematic animation)", nothing, false,
           ROWS, "Rows of the KKT system, eliminated with the joints",
           "Nothing deflects the motion: obstacles are thrown away, and obstacles that cannot move "
           "leave no solution");
CONTROLLER(markers, "markers",
           "Springs pull points of all segments along their reference trajectories, as in optical "
           "motion capture",
           "F = -k (p - p_ref) - c (pdot - pdot_ref), three points a segment",
           "Vondrak 2005, section 8.3 and 9.2.6", springs, false, POINTS,
           "Nine compliant rows per segment in the KKT system",
           "External forces: momentum is not conserved; lags behind as pd does; joints change "
           "trajectories that do not fit the skeleton");
