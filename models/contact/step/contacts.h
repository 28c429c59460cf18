/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What formulations with contacts share: options and how contacts give way, the reach of bodies,
 * islands with the methods of a simulation.  velocity_step.c is the step. */
#ifndef PERP_CONTACTS_H
#define PERP_CONTACTS_H

#include "models/contact/laws/contact.h"
#include "models/contact/laws/impact.h"
#include "models/contact/step/drives.h"

/* Options of formulations that step velocities, with contacts or without. */
typedef struct perp_contact_opts {
  double tolerance, threshold, tangential, slip, residual, budget, softness, stiffness, damping;
  double frequency, damping_ratio, push;
  double sleep_time, sleep_velocity;
  int impact, align, joints, threads, gyro, substeps, halvings, relax, servo, choice;
  bool gap, reuse, warm, sleep;
  perp_compliance
      compliance; /* no option: of a formulation whose contacts, limits and stops give way */
  /* No option, of a formulation that looks at how a step depends on its length: gaps up to this
   * part of the largest body are closed.  0: up to `residual` of it, what solutions may leave. */
  double closed;
} perp_contact_opts;
enum { PERP_ALIGN_NONE, PERP_ALIGN_SLIP };
enum { PERP_JOINTS_AUTO, PERP_JOINTS_ELIMINATE, PERP_JOINTS_ROWS };
enum { PERP_GYRO_IMPLICIT, PERP_GYRO_EXPLICIT, PERP_GYRO_NONE };
enum { PERP_RELAX_AUTO, PERP_RELAX_NO, PERP_RELAX_YES };
extern const char *const perp_choice_names[]; /* of PERP_CHOICE_LEAST_NORM and so on */
extern const char *const perp_relax_names[];
extern const char *const perp_gyro_names[];
enum { PERP_SERVO_IMPLICIT, PERP_SERVO_SYMPLECTIC };
extern const char *const perp_servo_names[];
extern const char *const perp_align_names[];
extern const char *const perp_joints_names[];

/* A step has a bounded cost: what a problem of it may take, in the unit of perp_lcp_afford. */
#define PERP_STEP_BUDGET 1.0
/* Largest residual of an accepted solution in units of the data: the velocity, or acceleration,
 * error of a row over the largest |b| of its island.  It is what a result can show, beside the
 * scaled residual (option residual), which says how well a row is solved. */
#define PERP_CONTACT_TOL_DATA 1e-6
/* Largest scaled residual, the default of the option: it holds four digits more than bodies show.
 */
#define PERP_CONTACT_TOL 1e-8
#define PERP_BUDGET_MEANS                                                                          \
  "Largest work of the LCP solver for one problem, in 1e9 multiply-adds (about a second), up to "  \
  "800 rows or 5e4 numbers in J. Larger problems get more, in proportion to n^3 or to J. With "    \
  "auto a problem of n rows gets at most 5000 + 120 n products with A. Problems that exceed the "  \
  "budget count as unsolved. 0: no limit."

/* Of problems of contacts with friction, of all formulations whose contacts are rigid
 * (islands_choice.c). */
#define PERP_CHOICE_OPTION(type, member)                                                           \
  PERP_ENUM(type, member, 0, perp_choice_names,                                                    \
            "Choice among several solutions of friction. least-norm: sticking, least impulses. "   \
            "previous: sticking, nearest to the previous step. solver: that of the solver. none: " \
            "not examined.")

/* The rows of an options table whose struct has a member `contact` of this type, first.  All of
 * them, or what is the problem of a step, what keeps shapes from penetration, how contacts give way
 * and fall asleep, and how it is solved. */
#define PERP_CONTACT_OPTIONS                                                                       \
  PERP_CONTACT_OPTIONS_PROBLEM, PERP_CONTACT_OPTIONS_APART, PERP_CONTACT_OPTIONS_SOFT,             \
      PERP_CONTACT_OPTIONS_SOLVE, PERP_CHOICE_OPTION(perp_contact_opts, choice)
#define PERP_CONTACT_OPTIONS_PROBLEM                                                               \
  PERP_BOOL(perp_contact_opts, gap, true,                                                          \
            "Include open contacts, which may close in the step (Stewart and Trinkle). false: "    \
            "closed contacts only (Anitescu and Potra)."),                                         \
      PERP_REAL(perp_contact_opts, threshold, 0.01, 0, HUGE_VAL, 0, "m/s",                         \
                "Approach speed above which restitution is applied."),                             \
      PERP_IMPACT_OPTIONS(perp_contact_opts),                                                      \
      PERP_ENUM(                                                                                   \
          perp_contact_opts, align, PERP_ALIGN_SLIP, perp_align_names,                             \
          "Direction of the first friction tangent. slip: along the sliding velocity without "     \
          "contact impulses, if there is one. none: computed from the normal alone."),             \
      PERP_REAL(perp_contact_opts, slip, 1e-5, 0, HUGE_VAL, 0, "m/s",                              \
                "Sliding speed above which a new contact uses mu_dynamic. Existing contacts use "  \
                "it if they slid in the previous step."),                                          \
      PERP_ENUM(                                                                                   \
          perp_contact_opts, joints, PERP_JOINTS_AUTO, perp_joints_names,                          \
          "Treatment of joints in contact problems. eliminate: by the KKT solver. rows: as free "  \
          "rows of the LCP. auto: rows if the KKT solver is iterative, otherwise eliminate."),     \
      PERP_REAL(perp_contact_opts, residual, PERP_CONTACT_TOL, 0, 1, PERP_OPEN_MIN, "",            \
                "Largest scaled residual of an accepted solution."),                               \
      PERP_REAL(perp_contact_opts, budget, PERP_STEP_BUDGET, 0, 1e9, 0, "", PERP_BUDGET_MEANS)
#define PERP_CONTACT_OPTIONS_APART                                                                 \
  PERP_REAL(perp_contact_opts, tolerance, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "m",                      \
            "Contact tolerance: separation that contacts keep. Shapes nearer than this are in "    \
            "contact (Cline 2002, eq. 4.11)."),                                                    \
      PERP_INT(                                                                                    \
          perp_contact_opts, halvings, 0, 0, 1000,                                                 \
          "A step that ends in penetration is halved, up to so many times in a row. Then the "     \
          "simulation ends. 0: penetration is accepted (Cline 2002, section 4.1).")
#define PERP_CONTACT_OPTIONS_SOFT                                                                  \
  PERP_REAL(perp_contact_opts, softness, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "1/kg",                    \
            "Compliance S of the normal rows: a contact may close at the speed S lambda (Vondrak " \
            "2005, eq. 6.48)."),                                                                   \
      PERP_REAL(perp_contact_opts, stiffness, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "N/m",                \
                "Stiffness of contact points, in place of softness, feedback and restitution. "    \
                "With damping and stiffness both 0 contacts are rigid."),                          \
      PERP_REAL(perp_contact_opts, damping, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "N s/m",                \
                "Damping of the contact springs (see stiffness)."),                                \
      PERP_REAL(perp_contact_opts, frequency, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "Hz",                 \
                "Natural frequency of soft contact: each row is a spring for its effective mass, " \
                "in place of feedback. 0: rigid contacts. Requires symplectic-euler."),            \
      PERP_REAL(perp_contact_opts, damping_ratio, 10, 0, HUGE_VAL, PERP_OPEN_MAX, "",              \
                "Damping ratio of the soft contact (see frequency); 1 is critical."),              \
      PERP_REAL(perp_contact_opts, push, 3, 0, HUGE_VAL, PERP_OPEN_MIN, "m/s",                     \
                "Maximum separation speed produced by soft contact (see frequency)."),             \
      PERP_ENUM(perp_contact_opts, relax, PERP_RELAX_AUTO, perp_relax_names,                       \
                "Compute the final velocity by a second solve without feedback of penetration; "   \
                "the first one moves positions only. auto: yes with soft contact."),               \
      PERP_INT(perp_contact_opts, substeps, 1, 1, 10000,                                           \
               "Sub-steps of a step with one collision detection: contacts move with their "       \
               "bodies. Each sub-step starts from the impulses of the previous one."),             \
      PERP_BOOL(perp_contact_opts, sleep, false,                                                   \
                "Skip islands at rest until an event wakes them."),                                \
      PERP_REAL(perp_contact_opts, sleep_time, 0.5, 0, HUGE_VAL, PERP_OPEN_MAX, "s",               \
                "Time for which all bodies of an island must be slow before it sleeps."),          \
      PERP_REAL(perp_contact_opts, sleep_velocity, 0.01, 0, HUGE_VAL, PERP_OPEN_MAX, "m/s",        \
                "Speed limit of slow bodies: no point of such a body is faster (see sleep).")
#define PERP_CONTACT_OPTIONS_SOLVE                                                                 \
  PERP_BOOL(perp_contact_opts, warm, true,                                                         \
            "Use the impulses of the previous step as the initial guess."),                        \
      PERP_BOOL(perp_contact_opts, reuse, true,                                                    \
                "Accept an initial guess within the tolerance without a solve."),                  \
      PERP_ENUM(                                                                                   \
          perp_contact_opts, gyro, PERP_GYRO_IMPLICIT, perp_gyro_names,                            \
          "Gyroscopic torque. implicit: by the implicit midpoint rule, conserves the energy of "   \
          "a body. explicit: increases the energy. none: left out."),                              \
      PERP_ENUM(                                                                                   \
          perp_contact_opts, servo, PERP_SERVO_IMPLICIT, perp_servo_names,                         \
          "Spring force of servos. implicit: at the end of the step, stable for any step. "        \
          "Oscillations decay. symplectic: at the start of the step. Oscillations keep their "     \
          "amplitude, if the step is below two over the angular frequency."),                      \
      PERP_INT(perp_contact_opts, threads, 1, 1, 256, "Number of islands solved in parallel.")

struct perp_islands;

/* What formulations with contacts share.  The largest distance of a point of its shapes from the
 * centre of mass of each body, reach [bodies]; planes count with their distance. */
void perp_contacts_reach(const perp_model *model, double *reach);
/* Islands with the contact model and lcp of parts, which solve to the tolerances and within the
 * budget of setup (the rest of it is filled in).  Unsupported pairs are refused as desc->fits says.
 */
perp_status perp_contacts_islands(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                  const perp_contact_setup *setup, int threads, bool rows,
                                  struct perp_islands **out);

/* Springs and dampers at the contact points, implicit in the step: with the depth -gap and the
 * impulse lambda = -h (k (gap + h u+) + c u+),
 *
 *      u+ + S lambda + alpha gap = 0,     S = 1 / (h (h k + c)),     alpha = k / (h k + c)
 *
 * so that softness and feedback (restitution of error: the part h alpha of the depth is given back
 * in a step) stand for a spring alpha / (h S) and a damper (1 - h alpha) / (h S).  Open contacts
 * are free up to the surface, w = u+ + S lambda + gap / h: spring and damper act on the way beyond
 * it. */

/* Contacts that give way by compliance lambda / h are such springs, too, of stiffness 1 /
 * compliance (0: none, rigid) and a damper relaxation / compliance.  An impact with restitution is
 * Newton's, of a rigid row, in the step in which it takes place (Lacoursiere 2007); what presses
 * afterwards gives way again. */

/* Soft contact, of a frequency in place of a stiffness (E. Catto, soft step, solver2d 2024): of a
 * contact that is closed, with omega = 2 pi frequency, zeta the damping ratio and A_ii the diagonal
 * of its normal row,
 *
 *      u+ + S lambda + max(rate gap, -push) = 0,   c = h omega (2 zeta + h omega),   S = A_ii / c,
 *                                                  rate = omega / (2 zeta + h omega)
 *
 * These are the springs above with k = m omega^2 and 2 zeta omega m for the effective mass m = 1 /
 * A_ii, as rate / (h S) = omega^2 m and (1 - h rate) / (h S) = 2 zeta omega m.  A sweep of
 * Gauss-Seidel changes such a row by
 *
 *      -(u+ + S lambda + rate gap) / (A_ii + S) = -m c / (1 + c) (u+ + rate gap) - lambda / (1 + c)
 *
 * with the mass scale c / (1 + c) and impulse scale 1 / (1 + c) of the engines.  At rest the depth
 * is that of a spring that bears lambda / h: g A_ii m_b / (k omega^2) of a body of mass m_b on k
 * alike contacts, whatever the step.
 *
 * What such rows, or the feedback of a stabilization, push apart has a velocity that is none of the
 * motion: relax takes it out.  The same problem is solved again without softness and feedback (of
 * contacts; joints, limits and motors keep theirs), from the impulses of the first solve. Positions
 * move with the first velocity, the second one is kept, and its impulses are those of the step.
 * What has been open closes by as much as is left of its gap.
 *
 * With soft contact, relax or substeps, restitution is applied once, to the velocity that is kept
 * at the end of the step: what has approached faster than the threshold before the step, and has
 * pressed in it, gets  n . u+ >= -e n . u. */

typedef enum perp_contact_mode {
  PERP_CONTACTS_RIGID, /* with `softness` */
  PERP_CONTACTS_SPRINGS,
  PERP_CONTACTS_COMPLIANT,
  PERP_CONTACTS_SOFT
} perp_contact_mode;

PERP_INLINE perp_contact_mode perp_contacts_mode(const perp_contact_opts *o)
{
  if (o->stiffness > 0 || o->damping > 0) return PERP_CONTACTS_SPRINGS;
  if (o->compliance.on) return PERP_CONTACTS_COMPLIANT;
  return o->frequency > 0 ? PERP_CONTACTS_SOFT : PERP_CONTACTS_RIGID;
}

PERP_INLINE bool perp_contacts_relaxes(const perp_contact_opts *o)
{
  return o->relax == PERP_RELAX_YES || (o->relax == PERP_RELAX_AUTO && o->frequency > 0);
}

/* Gaps that count as closed, in units of the largest body. */
PERP_INLINE double perp_contacts_closed(const perp_contact_opts *o)
{
  return o->closed > 0 ? o->closed : o->residual;
}

/* Do these options go with each other, with the model and its methods?  Else
 * PERP_ERR_OPTION or PERP_ERR_UNSUPPORTED, which says what to use. */
perp_status perp_contacts_check(perp_ctx *ctx, const perp_model *model, const perp_contact_opts *o,
                                const perp_parts *parts);

#endif
