/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts in time stepping: detection, islands, one complementarity problem an island, warm start.
 *
 * A step asks once, with the velocity v^ that the bodies would have without contact impulses:
 *
 *   1. contacts within reach of the step (speculative margin), those that cannot close left out;
 *   2. islands: bodies joined by joints and contacts (union-find); others do not influence each other;
 *   3. for each island  u = A lambda + b  with  b = J_c v^ + bias (contact.h), solved by the contact model;
 *      limits and motors are further rows of it (drives.h);
 *   4. the impulses J_c' lambda are added to the right-hand side of the KKT system, which is solved
 *      again, so that the joints are satisfied exactly whatever the complementarity solver left.
 *
 * A contact that was left out and would close with v+ is taken in and the problem solved again.
 * Guesses are the impulses of the step before, found by the identity of the contact. */
#ifndef PERP_CONTACTS_H
#define PERP_CONTACTS_H

#include "models/contact/contact.h"
#include "models/contact_step/drives.h"

/* Options of formulations that step velocities, with contacts or without. */
typedef struct perp_contact_opts {
  double margin, threshold, slip, residual, residual_data, budget, softness, stiffness, damping;
  double frequency, damping_ratio, push;
  double sleep_time, sleep_velocity;
  int impact, align, joints, threads, gyro, substeps, relax;
  bool gap, reuse, warm, sleep;
  perp_compliance
      compliance; /* no option: of a formulation whose contacts, limits and stops give way */
  /* No option, of a formulation that looks at how a step depends on its length: gaps up to this part of the largest body are
   * closed.  0: up to `residual` of it, what solutions may leave. */
  double closed;
} perp_contact_opts;
enum { PERP_ALIGN_NONE, PERP_ALIGN_SLIP };
enum { PERP_JOINTS_AUTO, PERP_JOINTS_ELIMINATE, PERP_JOINTS_ROWS };
enum { PERP_IMPACT_NEWTON, PERP_IMPACT_POISSON };
enum { PERP_GYRO_IMPLICIT, PERP_GYRO_EXPLICIT };
enum { PERP_RELAX_AUTO, PERP_RELAX_NO, PERP_RELAX_YES };
extern const char *const perp_relax_names[];
extern const char *const perp_gyro_names[];
extern const char *const perp_impact_names[];
extern const char *const perp_align_names[];
extern const char *const perp_joints_names[];

/* A step has a bounded cost: what a problem of it may take, in the unit of perp_lcp_afford. */
#define PERP_STEP_BUDGET 0.25
#define PERP_BUDGET_MEANS                                                                          \
  "work of the lcp for one problem, in 1e9 multiplications with additions (about a second) for "   \
  "up to 800 rows, or 5e4 numbers in J; more for larger ones, in proportion to n^3 or to J; what " \
  "is not solved by then is not solved; 0: no limit"

/* The rows of an options table whose struct has a member `contact` of this type, first.  All of them, or what is the
 * problem of a step, how contacts give way and fall asleep, and how it is solved. */
#define PERP_CONTACT_OPTIONS                                                                       \
  PERP_CONTACT_OPTIONS_PROBLEM, PERP_CONTACT_OPTIONS_SOFT, PERP_CONTACT_OPTIONS_SOLVE
#define PERP_CONTACT_OPTIONS_PROBLEM                                                               \
  PERP_BOOL(perp_contact_opts, gap, true,                                                          \
            "open contacts may close in the step (Stewart and Trinkle); false: closed ones only "  \
            "(Anitescu and Potra)"),                                                               \
      PERP_REAL(perp_contact_opts, threshold, 0.01, 0, HUGE_VAL, 0, "m/s",                         \
                "restitution only where the approach is faster"),                                  \
      PERP_ENUM(perp_contact_opts, impact, PERP_IMPACT_NEWTON, perp_impact_names,                  \
                "what e multiplies: the velocity of approach (Newton), or the impulse of "         \
                "compression (Poisson)"),                                                          \
      PERP_ENUM(perp_contact_opts, align, PERP_ALIGN_SLIP, perp_align_names,                       \
                "first tangent: along the sliding the step would have without contact impulses, "  \
                "where there is any; or from the normal alone"),                                   \
      PERP_REAL(perp_contact_opts, slip, 1e-5, 0, HUGE_VAL, 0, "m/s",                              \
                "a contact that is new and slides faster has mu_dynamic; others have it when "     \
                "they slid in the step before"),                                                   \
      PERP_ENUM(perp_contact_opts, joints, PERP_JOINTS_AUTO, perp_joints_names,                    \
                "joints of an island: eliminated by the KKT solver, or free rows; auto: "          \
                "eliminated unless that solver is iterative"),                                     \
      PERP_REAL(perp_contact_opts, margin, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "m",                     \
                "contacts are looked for up to this gap; 0 = from speeds and step"),               \
      PERP_REAL(perp_contact_opts, residual, 1e-8, 0, 1, PERP_OPEN_MIN, "",                        \
                "scaled residual of a solution"),                                                  \
      PERP_REAL(perp_contact_opts, residual_data, 1e-6, 0, 1, PERP_OPEN_MIN, "",                   \
                "largest residual of a row of a solution as a velocity, over the largest |b| of "  \
                "its island"),                                                                     \
      PERP_REAL(perp_contact_opts, budget, PERP_STEP_BUDGET, 0, 1e9, 0, "", PERP_BUDGET_MEANS)
#define PERP_CONTACT_OPTIONS_SOFT                                                                  \
  PERP_REAL(perp_contact_opts, softness, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "1/kg",                    \
            "S of the normal rows: closing at the speed S lambda is allowed (Vondrak 2005, "       \
            "eq. 6.48)"),                                                                          \
      PERP_REAL(                                                                                   \
          perp_contact_opts, stiffness, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "N/m",                      \
          "contact points are springs, in place of softness, feedback and restitution; with "      \
          "damping and stiffness 0: rigid"),                                                       \
      PERP_REAL(perp_contact_opts, damping, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "N s/m",                \
                "and dampers"),                                                                    \
      PERP_REAL(perp_contact_opts, frequency, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "Hz",                 \
                "soft contact: a spring of this frequency for the effective mass of each row "     \
                "(contacts.c), in place of feedback; 0: rigid.  Needs symplectic-euler"),          \
      PERP_REAL(perp_contact_opts, damping_ratio, 10, 0, HUGE_VAL, PERP_OPEN_MAX, "",              \
                "of that spring; 1: critical"),                                                    \
      PERP_REAL(perp_contact_opts, push, 3, 0, HUGE_VAL, PERP_OPEN_MIN, "m/s",                     \
                "of that spring: highest speed at which it lets bodies part"),                     \
      PERP_ENUM(perp_contact_opts, relax, PERP_RELAX_AUTO, perp_relax_names,                       \
                "the velocity that is kept comes from a second solve without feedback of depth, "  \
                "that of the first one moves positions only; auto: with soft contact"),            \
      PERP_INT(perp_contact_opts, substeps, 1, 1, 10000,                                           \
               "parts of a step with one collision detection: contacts go with their bodies, "     \
               "each part is solved from the impulses of the one before"),                         \
      PERP_BOOL(perp_contact_opts, sleep, false,                                                   \
                "islands that have come to rest are left alone until something wakes them"),       \
      PERP_REAL(perp_contact_opts, sleep_time, 0.5, 0, HUGE_VAL, PERP_OPEN_MAX, "s",               \
                "how long all bodies of an island must be slow before it sleeps"),                 \
      PERP_REAL(perp_contact_opts, sleep_velocity, 0.01, 0, HUGE_VAL, PERP_OPEN_MAX, "m/s",        \
                "no point of a slow body is faster")
#define PERP_CONTACT_OPTIONS_SOLVE                                                                 \
  PERP_BOOL(perp_contact_opts, warm, true, "guess: the impulses of the step before"),              \
      PERP_BOOL(perp_contact_opts, reuse, true,                                                    \
                "a guess within the tolerance is the answer, without a solve"),                    \
      PERP_ENUM(perp_contact_opts, gyro, PERP_GYRO_IMPLICIT, perp_gyro_names,                      \
                "gyroscopic torque: by the implicit midpoint, which keeps the energy of a body "   \
                "that turns (its |L| to O(h)), or explicit, which makes energy"),                  \
      PERP_INT(perp_contact_opts, threads, 1, 1, 256, "islands solved at the same time")

struct perp_islands;

/* What formulations with contacts share.  The largest distance of a point of its shapes from the centre of mass of
 * each body, reach [bodies]; planes count with their distance. */
void perp_contacts_reach(const perp_model *model, double *reach);
/* Islands with the contact model and lcp of parts, which solve to the tolerances and within the budget of setup (the
 * rest of it is filled in).  Unsupported pairs are refused as desc->fits says. */
perp_status perp_contacts_islands(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                  const perp_contact_setup *setup, int threads, bool rows,
                                  struct perp_islands **out);

typedef struct perp_contacts perp_contacts;

/* Which part of a step is made: each is a step of the equations of its own, but contacts are found in the first one,
 * and impacts and penetration are seen to in the last one. */
typedef struct perp_contact_part {
  bool first, last;
  double whole; /* s: the step of all parts */
} perp_contact_part;

/* parts: lcp, contact and stab must be set.  PERP_ERR_UNSUPPORTED: an lcp that does not serve the
 * contact model.  Allocates; later only when there are more contacts or larger islands than ever. */
perp_status perp_contacts_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                 const perp_contact_opts *opts, perp_contacts **out);
void perp_contacts_destroy(perp_contacts *c); /* NULL is fine */
void perp_contacts_restart(perp_contacts *c);

/* Contact impulses of a part h of a step from v, and those of the drives (NULL: none).  k: evaluated at its start,
 * k->f = M v + h f, k->a = v^.  On return k->a = v+, k->f has all impulses.  False: k->reason or k->status says
 * why. */
bool perp_contacts_step(perp_contacts *c, perp_constrained *k, perp_drives *drives,
                        const perp_contact_part *part, double h, const double *v);
/* After the positions have moved with k->a: v becomes the velocity that is kept, where that is another one; is it? */
bool perp_contacts_velocity(perp_contacts *c, double *v);
/* What the stabilization corrects at the end of a step (of its last part), at time t: see contacts_post.h.  Passes on the positions until no
 * contact is deeper than its tolerance, then the velocities.  Does nothing where the scheme corrects no contacts. */
perp_ode_answer perp_contacts_project(perp_contacts *c, perp_constrained *k, double t, double *q,
                                      double *v);

/* What is remembered for the next step (guesses, who slides) is kept, and put back before it is made from the same state
 * again.  Nothing else is remembered without sleep.  Allocates when there are more than ever; PERP_ERR_NOMEM. */
perp_status perp_contacts_keep(perp_ctx *ctx, perp_contacts *c, perp_step_end which);
void perp_contacts_put_back(perp_contacts *c, perp_step_end which);

/* A contact that pressed in the step before and has come off by what its body has turned is closed within this time, and
 * not in a step: the force of steps of one length is then the same from the second one on.  With gap / h the second one gives back
 * one and a half times what the turn takes, and has less friction than sticking may need.  Nor are velocities at the end of
 * a step projected on contacts.  0: in the step itself, and they are. */
void perp_contacts_within(perp_contacts *c, double time);

/* Fill the contact part of info. */
void perp_contacts_info(const perp_contacts *c, perp_step_info *info);
const perp_contact_count *perp_contacts_counters(const perp_contacts *c);
void perp_contacts_observe(perp_contacts *c, perp_contact_observer *observer, void *user);
/* CPU seconds since the restart, while timing is on in k. */
void perp_contacts_times(const perp_contacts *c, double *collision, double *lcp);

#endif
