/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Controllers of the joints of a figure or robot: what drives them along a motion (Vondrak 2005,
 * section 8.3; Cline 2002, section 5.1).
 *
 * With the reference (q_ref, u_ref) (t), the forces tau_ref(t) that it takes by inverse dynamics,
 * the error e of a joint, which of a ball joint is the rotation vector from what is to what should
 * be in the frame of the outer body, e = log(R' R_ref), and edot = R' R_ref u_ref - u:
 *
 *      feed-forward                tau = tau_ref
 *
 *      pd                          tau = k e + c edot
 *
 *      feed-forward+pd             tau = tau_ref + k e + c edot
 *
 *      muscle                      tau_i = tau_ref_i + |tau_ref_i| (stiffness e_i + damping edot_i)
 *
 *      implicit-pd                 tau = k e + c edot at the end of the step
 *
 *      feed-forward+implicit-pd    tau_ref at its start, and that
 *
 *      soft                        edot + 2 pi rate e = 0 at the end of the step
 *
 *      prescribed                  e = 0: rows of a joint, C(q, t) = 0
 *
 *      markers                     F = -k (p - p_ref) - c (pdot - pdot_ref)
 *
 * Muscle: Cline 2002, eq. 5.6 and 5.7.  Soft: as far as |tau_i| <= max_force.  Markers: at three
 * points of each segment.
 *
 * The first four are forces, at the state where forces are asked for; on the level of velocities
 * that is the start of a step. implicit-pd and soft are servos of the model (perp_drive_def): rows
 * with softness and bounds on the velocity level, the same law as a force on that of accelerations;
 * markers are joints with stiffness and damping, implicit and of order 1 on both.  Markers stand at
 * the distance of the joint on the three axes of a segment, with k = m / 3 (2 pi frequency)^2, and
 * act from outside.  All but prescribed and markers are held to |tau_i| <= max_force.  Gains of pd
 * are those of one joint alone at the start: k = M_ii (2 pi frequency)^2, c = 2 ratio M_ii 2 pi
 * frequency, with the inertia M_ii of all that hangs on it. */
#ifndef PERP_CONTROL_H
#define PERP_CONTROL_H

#include "models/figures/goal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a controller acts on the error. */
typedef enum perp_feedback {
  PERP_FEEDBACK_NONE,
  PERP_FEEDBACK_FORCE,  /* as a force */
  PERP_FEEDBACK_MUSCLE, /* as one, with gains that follow tau_ref */
  PERP_FEEDBACK_SERVO,  /* as a servo */
  PERP_FEEDBACK_SOFT,   /* as a servo that is stiff */
  PERP_FEEDBACK_ROWS,   /* as rows of a joint */
  PERP_FEEDBACK_POINTS  /* as soft rows of points */
} perp_feedback;

typedef struct perp_controller_opts {
  double frequency, ratio;   /* Hz, 1 */
  double rate;               /* 1/s */
  double stiffness, damping; /* 1/rad, s/rad */
  double max_force;          /* Nm; of sliders N */
  bool gravity_compensation; /* of pd and implicit-pd: see perp_drive_def */
} perp_controller_opts;

/* A plug-in of kind controller; options: a perp_controller_opts, of which the table has what it
 * reads. */
typedef struct perp_controller_desc {
  perp_desc d;
  bool feeds; /* tau_ref forward */
  perp_feedback feedback;
  const char *cost, *loses; /* for people: what it takes, what it gives up */
} perp_controller_desc;

/* What holds a root that floats, if anything.  Bodies without joints are left alone. */
typedef enum perp_control_root {
  PERP_ROOT_FREE,
  PERP_ROOT_PRESCRIBED, /* it follows the motion, whatever it takes (Cline 2002, section 5.1.2) */
  PERP_ROOT_CONTROLLED  /* as joints are, by a hand from outside without bounds; not by servos */
} perp_control_root;

typedef struct perp_control_def {
  const perp_controller_desc *controller;
  const void *opts;
  perp_control_root root;
  const bool *loose; /* [bodies] whose joint towards the root is left alone; NULL: none */
  /* rad (of sliders m): where the error of a controlled joint becomes larger, the controller lets
   * go of all joints and of the root, for good (perp_stop_def; Vondrak 2005, section 8.3).  Limits
   * stay.  0: never */
  double release;
} perp_control_def;

/* Adds the controller to a model that is not finished and has the bodies and joints of that of the
 * reference, in the same order and initial posture: forces, drives and joints.  The reference must
 * live as long as the model (perp_model_keep). PERP_ERR_ARG: another model; PERP_ERR_UNSUPPORTED:
 * joints that no controller serves (others than ball, hinge, slider, fixed) and that are not loose,
 * a root that servos would hold; PERP_ERR_NOMEM; the model may have parts of it then and is good
 * for perp_model_destroy only.  O(n), allocates.  Each evaluation costs that of the reference, and
 * O(1) a joint. */
perp_status perp_control_add(perp_ctx *ctx, perp_model *model, const perp_goal *goal,
                             const perp_control_def *def);

/* Has the model parts of perp_control_add?  O(forces + joints + drives). */
bool perp_model_controlled(const perp_model *model);

#ifdef __cplusplus
}
#endif

#endif
