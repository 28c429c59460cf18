/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One step of the velocity level, from top to bottom (velocity.c says what it is good for):
 *
 *      M v+ = M v + h f + J' lambda + J_c' lambda_c,      J v+ + S lambda = k
 *      0 <= lambda_n  perp  n . J_c v+ + S_n lambda_n + bias >= 0,   |lambda_t| <= mu lambda_n
 *
 *   balance    M v + h f, the feedback k, and v^ = v+ without contacts
 *   detect     contacts within reach of the step
 *   match      guesses and sticking or sliding, from the step before
 *   choose     contacts that can close; bodies at rest that they reach wake up
 *   solve      islands, their rows, one complementarity problem an island, judged (islands.c);
 *              u = A lambda + b with b = J_c v^ + bias, limits and motors are further rows of it
 *   revise     a contact that was left out and closes with v+ is taken in, one that would slide
 *              back sticks, limits that are passed become rows: the problem is solved again
 *   keep       a second solve, where the velocity that is kept is not the one that moves positions
 *   remember   impulses for the next step; islands that are slow fall asleep
 *   move       q+ = q [+] h v+
 *   judge      does the end penetrate?  (halvings)
 *   correct    joints and contacts, as the stabilization says (contacts_post.h)
 *
 * The impulses J_c' lambda_c are added to the right-hand side of the KKT system, which is solved
 * again, so that the joints are satisfied exactly whatever the complementarity solver left.
 *
 * The force of a step.  With J v+ = 0 at the start of each step the velocity is turned along with J
 * by the step after: the impulse has J (v+ - v) = -h Jdot v of the step before, and the first step
 * from a motion, whose J v is 0 already, has none of it.  With the feedback J v+ = -C / h it has
 * one half of it and of the one before, and the second step one and a half.  lambda is unknown in
 * these steps.  A projection of the velocity turns it in the step itself, and its impulse is part
 * of the force. */
#include "models/contact/step/velocity_step.h"

#include "models/contact/step/belts.h"

#include <string.h>

enum { ROUNDS = 4 };               /* of taking in what was left out */
static const double CUT = 1e-8;    /* of a step: rounding of its end */
static const double TORN = 1e-10;  /* of the size of the model: errors of joints that are left after
                                      contacts were moved */
static const double DEEPER = 1e-3; /* of the slop: a step that ends deeper by more has penetrated */

/* ---- balance ---- */

/* A step that is halved is made again with what was remembered at its start. */
static void velocity_step_remembers(perp_stepping *stepping)
{
  const bool again = stepping->halvings.now > 0;
  if (stepping->halvings.most == 0) return;
  if (stepping->drives != NULL)
    (again ? perp_drives_put_back : perp_drives_keep)(stepping->drives, PERP_AT_START);
  (again ? perp_contacts_put_back : perp_contacts_keep)(stepping->contacts, PERP_AT_START);
}

void perp_velocity_step_sides(perp_stepping *stepping, double t, double h, const double *v)
{
  perp_constrained *system = &stepping->k;
  const perp_model *model = system->model;
  perp_eval_impulse(system->e, model, t, h, v, system->f);
  if (stepping->gyro == PERP_GYRO_IMPLICIT) perp_gyro_implicit(model, h, v, system->f);
  if (stepping->gyro == PERP_GYRO_NONE) perp_gyro_none(model, h, v, system->f);
  if (stepping->drives != NULL) perp_drives_push(stepping->drives, system, h);
  memset(system->c, 0, (size_t)model->m * sizeof *system->c);
  if (stepping->prepare != NULL) stepping->prepare(stepping, h, v);
  perp_constrained_feedback(system, PERP_LEVEL_VELOCITY, h, v);
  perp_constrained_driven(system, t + h, 1, system->c);
}

/* system->f = M v + h f, system->c = feedback; system->a = v^. */
static bool velocity_step_balance(perp_stepping *stepping, double t, double h, const double *q,
                                  const double *v)
{
  perp_constrained *system = &stepping->k;
  if (!perp_constrained_signals(system, t) || !perp_constrained_signals(system, t + h))
    return false;
  velocity_step_remembers(stepping);
  perp_constrained_at(system, t, q);
  const double start = perp_constrained_clock(system);
  perp_velocity_step_sides(stepping, t, h, v);
  system->spent.assembly += perp_constrained_clock(system) - start;
  return perp_constrained_solve(system, PERP_LEVEL_VELOCITY, h, v);
}

/* v^ again, with whatever was taken back; those asleep stay where they are. */
static bool velocity_step_free(perp_contacts *contacts, perp_constrained *system, double h,
                               const double *v)
{
  memcpy(system->f, contacts->f, (size_t)contacts->model->nv * sizeof *contacts->f);
  if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, h, v)) return false;
  if (contacts->sleep != NULL) perp_sleep_still(contacts->sleep, system->a);
  return true;
}

/* ---- the law of a contact ---- */

/* Does a gap that is `reached` at the end of the step close in it?  Within the slop it is closed,
 * if another gap of a body closes: points that meet together do not by rounding meet one step after
 * the other. */
static bool velocity_step_closes(const perp_contacts *contacts, const perp_contact *contact,
                                 double reached)
{
  if (reached <= 0 || reached > contacts->slop) return reached <= 0;
  for (int s = 0; s < 2; s++)
    if (contact->body[s] >= 0 && contacts->met[contact->body[s]]) return true;
  return false;
}

/* An approach with restitution whose gap closes in this step.  Laws of one contact have a course of
 * the impact without restitution, too. */
static bool velocity_step_impact(const perp_contacts *contacts, const perp_contact *contact,
                                 double h, double before, double free)
{
  const double gap = fabs(contact->gap) > contacts->slop ? contact->gap : 0;
  return perp_contacts_mode(&contacts->o) != PERP_CONTACTS_SPRINGS && !contacts->second.on &&
         (contact->e > 0 || perp_impact_single(contacts->o.impact)) &&
         before < -contacts->o.threshold && velocity_step_closes(contacts, contact, gap + h * free);
}

/* Which bodies meet others in this step. */
static void velocity_step_meet(perp_contacts *contacts, const perp_eval *eval, double h)
{
  const int dim = contacts->model->dim;
  memset(contacts->met, 0, (size_t)contacts->model->n_bodies * sizeof *contacts->met);
  for (int i = 0; i < contacts->task.n; i++) {
    const perp_contact *contact = &contacts->task.contact[i];
    if (!(contact->e > 0) && !perp_impact_single(contacts->o.impact)) continue;
    if (perp_contact_speed(dim, eval, contact, 0, contacts->twist_before) <
            -contacts->o.threshold &&
        contact->gap + h * perp_contact_speed(dim, eval, contact, 0, contacts->twist_free) <= 0)
      for (int s = 0; s < 2; s++)
        if (contact->body[s] >= 0) contacts->met[contact->body[s]] = true;
  }
}

static double velocity_step_mu(const perp_contacts *contacts, const perp_contact *contact,
                               const double *before)
{
  const int did = contacts->memory.friction[contact - contacts->task.contact];
  bool slides = did == PERP_FRICTION_SLIDES;
  if (did == PERP_FRICTION_NEW) {
    const double t = contacts->model->dim == 3 ? sqrt(before[1] * before[1] + before[2] * before[2])
                                               : fabs(before[1]);
    slides = t > contacts->o.slip;
  }
  return slides ? contact->mu_dynamic : contact->mu;
}

/* Bias and softness of the normal row (contacts.h), friction, restitution.  Gaps within the slop,
 * the tolerance of a solution in units of the largest body, count as closed: solutions leave errors
 * of that size, and bodies at rest would go on correcting them, now on some of their contacts, now
 * on others. */
static void velocity_step_law(void *user, const perp_contact *contact, double h,
                              const double *before, const double *free, perp_contact_terms *terms)
{
  const perp_contacts *contacts = user;
  const perp_contact_opts *opts = &contacts->o;
  const perp_contact_mode mode = perp_contacts_mode(opts);
  const int i = (int)(contact - contacts->task.contact);
  const bool strikes = velocity_step_impact(contacts, contact, h, before[0], free[0]);
  const double gap = fabs(contact->gap) > contacts->slop || mode == PERP_CONTACTS_COMPLIANT
                         ? contact->gap
                         : 0;
  double bias = 0;
  if (mode == PERP_CONTACTS_RIGID) {
    terms->softness = opts->softness;
    if (gap < 0 && contacts->stab->contact != NULL)
      bias = -contacts->stab->contact(contacts->stab_ws, PERP_LEVEL_VELOCITY, h, gap, 0);
  } else if (mode == PERP_CONTACTS_SPRINGS) {
    terms->softness = 1 / (h * (h * opts->stiffness + opts->damping));
    bias = opts->stiffness / (h * opts->stiffness + opts->damping) * contact->gap;
  } else if (mode == PERP_CONTACTS_COMPLIANT) {
    terms->softness = strikes ? 0 : perp_compliance_softness(&opts->compliance, h);
    bias = perp_compliance_alpha(&opts->compliance, h) * gap;
  } else {
    const double omega = 2 * M_PI * opts->frequency;
    if (contact->gap <= contacts->slop)
      terms->part = 1 / (h * omega * (2 * opts->damping_ratio + h * omega));
    bias = fmax(omega / (2 * opts->damping_ratio + h * omega) * contact->gap, -opts->push);
  }
  if (gap > 0)
    bias = opts->gap ? gap / (contacts->memory.pressed[i] ? fmax(h, contacts->within) : h) : 0;
  if (strikes && (gap > 0 || perp_impact_single(opts->impact))) bias = 0;
  if (strikes && opts->impact == PERP_IMPACT_NEWTON) bias = fmin(bias, contact->e * before[0]);
  terms->bias = bias;
  terms->mu = contacts->mu[i] = velocity_step_mu(contacts, contact, before);
  if (perp_impact_single(opts->impact))
    terms->restitution = mode != PERP_CONTACTS_SPRINGS &&
                                 (contact->gap <= contacts->slop ||
                                  velocity_step_closes(contacts, contact,
                                                       contact->gap + h * free[0]))
                             ? contact->e
                             : -1;
  else if (opts->impact != PERP_IMPACT_NEWTON)
    terms->restitution = strikes ? contact->e : 0;
}

/* Of the velocity that is kept: restitution, and with relax no softness and feedback. */
static void velocity_step_law_kept(void *user, const perp_contact *contact, double h,
                                   const double *before, const double *free,
                                   perp_contact_terms *terms)
{
  const perp_contacts *contacts = user;
  const int i = (int)(contact - contacts->task.contact);
  const bool rebounds = contacts->second.rebounds[i], relaxes = perp_contacts_relaxes(&contacts->o);
  velocity_step_law(user, contact, h, before, free, terms);
  if (rebounds || relaxes) terms->part = 0;
  if (rebounds)
    terms->bias = contact->e * contacts->second.approach[i];
  else if (relaxes)
    terms->bias = contacts->o.gap && contacts->second.reached[i] > contacts->slop
                      ? contacts->second.reached[i] / h
                      : 0;
}

/* ---- sticking and sliding ---- */

/* Does a contact with the impulse P slide at u?  Below rounding, which goes to zero with the step,
 * nothing slides.  What a solution may leave of a speed that is zero says nothing by itself: the
 * residual, a part of what the impulse changes of it and of the speeds that are its data, the
 * largest one `speed`.  It slides if friction is at its limit, against u. */
static bool velocity_step_slides(const perp_contacts *contacts, const perp_contact *contact,
                                 const double *P, const double *u, double speed)
{
  static const double FULL = 1 - 1e-6, AGAINST = -0.99;
  const double normal = perp_dot(3, contact->n, P), slip = sqrt(perp_dot(3, u, u));
  double inverse = 0;
  for (int side = 0; side < 2; side++)
    if (contact->body[side] >= 0) inverse += 1 / contacts->model->inertia[contact->body[side]].mass;
  const double force = inverse * sqrt(perp_dot(3, P, P));
  if (!(slip > fmax(10 * perp_contacts_closed(&contacts->o), 1e-12) * force + 1e-13 * speed))
    return false;
  if (slip > 10 * contacts->o.residual * (force + speed)) return true;
  double along[3];
  for (int k = 0; k < 3; k++) along[k] = P[k] - normal * contact->n[k];
  const double friction = sqrt(perp_dot(3, along, along));
  return friction >= FULL * contacts->mu[contact - contacts->task.contact] * normal &&
         perp_dot(3, along, u) <= AGAINST * friction * slip;
}

/* along the surface: velocity of b relative to a with the twists, and of the surfaces themselves;
 * the largest term */
static double velocity_step_along(const perp_contacts *contacts, const perp_eval *eval,
                                  const perp_contact *contact, double t, const double *twist,
                                  double u[3])
{
  double belt[3] = { 0 };
  perp_contact_velocity(contacts->model->dim, eval, contact, twist, u);
  const double normal = perp_dot(3, contact->n, u);
  for (int i = 0; i < 3; i++) u[i] -= normal * contact->n[i];
  if (contacts->model->surfaces.belts) perp_belts_velocity(contacts->model, eval, contact, t, belt);
  const double largest = fmax(sqrt(perp_dot(3, u, u)), sqrt(perp_dot(3, belt, belt)));
  for (int i = 0; i < 3; i++) u[i] += belt[i];
  return fmax(largest, fabs(normal));
}

/* What contacts do in a step h that ends with the velocities v, in friction; or (reversals) only:
 * those that have slid and would slide back are stopped on the way and stick, with mu.  How many
 * such there are. */
static int velocity_step_friction(perp_contacts *contacts, const perp_eval *eval, double h,
                                  const double *v, bool reversals)
{
  int found = 0;
  for (int i = 0; i < contacts->task.n; i++) {
    const perp_contact *contact = &contacts->task.contact[i];
    const double *P = contacts->task.impulse + 3 * (size_t)i;
    double u[3], before[3];
    if (!contacts->kept[i] || !(perp_dot(3, contact->n, P) > 0)) {
      if (!reversals) contacts->memory.friction[i] = PERP_FRICTION_NEW;
      continue;
    }
    if (reversals && (contacts->memory.friction[i] != PERP_FRICTION_SLIDES ||
                      contact->mu == contact->mu_dynamic))
      continue;
    if (!reversals && contact->mu == contact->mu_dynamic) continue;
    for (int side = 0; side < 2; side++)
      if (contact->body[side] >= 0)
        perp_twist(contacts->model, eval, contact->body[side], v, contacts->twist_free);
    const double speed = velocity_step_along(contacts, eval, contact, eval->t + h,
                                             contacts->twist_free, u);
    const bool slides = velocity_step_slides(contacts, contact, P, u, speed);
    if (!reversals) {
      contacts->memory.friction[i] = slides ? PERP_FRICTION_SLIDES : PERP_FRICTION_STICKS;
      continue;
    }
    velocity_step_along(contacts, eval, contact, eval->t, contacts->twist_before, before);
    if (!slides || !(perp_dot(3, u, before) < 0)) continue;
    contacts->memory.friction[i] = PERP_FRICTION_STICKS;
    found++;
  }
  return found;
}

/* ---- contacts ---- */

/* Detect and match.  Contacts are found in the first part of a step, and go with their bodies in
 * further ones. */
static bool velocity_step_find(perp_stepping *stepping, double h)
{
  perp_contacts *contacts = stepping->contacts;
  perp_constrained *system = &stepping->k;
  if (!contacts->parts.now.first) {
    perp_contacts_carry_to(contacts, system->e);
    perp_contacts_recall_part(contacts, h);
    return true;
  }
  const double drive_speed = stepping->drives != NULL
                                 ? perp_drives_speed(stepping->drives, system->e->t + h)
                                 : 0;
  if (!perp_contacts_detect(contacts, system, drive_speed, h)) return false;
  if (contacts->o.substeps > 1) perp_contacts_carry_start(contacts, system->e);
  return true;
}

/* Islands, rows, solve, judge: system->a from system->f and system->a = v^. */
PERP_INLINE bool velocity_step_islands(perp_contacts *contacts, perp_constrained *system, double h,
                                       const double *v)
{
  if (!perp_islands_step(contacts->islands, system, &contacts->task, PERP_LEVEL_VELOCITY, h, v,
                         &contacts->lcp_s))
    return false;
  if (contacts->sleep != NULL) perp_sleep_still(contacts->sleep, system->a);
  return true;
}

/* Does contact i part with the velocity of an impact at the end of the step? */
static bool velocity_step_rebounds(const perp_contacts *contacts, int i)
{
  const perp_contact *contact = &contacts->task.contact[i];
  if (!contacts->parts.now.last || !(contact->e > 0) ||
      !(contacts->second.approach[i] < -contacts->o.threshold))
    return false;
  double pressed = perp_dot(3, contact->n, contacts->task.impulse + 3 * (size_t)i);
  if (contacts->o.substeps > 1)
    pressed += perp_dot(3, contact->n, contacts->parts.total + 3 * (size_t)i);
  return perp_contacts_mode(&contacts->o) != PERP_CONTACTS_SPRINGS && pressed > 0;
}

/* After the first solve: the velocity that is kept, where it is another one. */
static bool velocity_step_keep(perp_contacts *contacts, perp_constrained *system, double h,
                               const double *v)
{
  const perp_model *model = contacts->model;
  const size_t size = (size_t)model->nv * sizeof *contacts->f;
  const bool relaxes = perp_contacts_relaxes(&contacts->o);
  bool any = relaxes;
  for (int i = 0; i < contacts->task.n; i++) {
    contacts->second.rebounds[i] = velocity_step_rebounds(contacts, i);
    any |= contacts->second.rebounds[i];
  }
  if (!any) return true;
  memcpy(contacts->second.v_moving, system->a, size);
  perp_twists(model, system->e, system->a, contacts->twist_free);
  for (int i = 0; i < contacts->task.n; i++) {
    const perp_contact *contact = &contacts->task.contact[i];
    contacts->second.reached[i] = contact->gap + h * perp_contact_speed(model->dim, system->e,
                                                                        contact, 0,
                                                                        contacts->twist_free);
    contacts->kept[i] |= contacts->second.rebounds[i];
  }
  if (!velocity_step_free(contacts, system, h, v)) return false;
  perp_twists(model, system->e, system->a, contacts->twist_free);
  contacts->task.law = velocity_step_law_kept;
  if (relaxes && perp_contacts_mode(&contacts->o) == PERP_CONTACTS_SOFT)
    contacts->task.soft = false;
  if (!velocity_step_islands(contacts, system, h, v)) return false;
  memcpy(contacts->second.v_kept, system->a, size);
  memcpy(system->a, contacts->second.v_moving, size);
  contacts->second.keeps = true;
  return true;
}

/* FREE: no island has had a problem; WOKEN: bodies have been woken, the step is to be made again.
 */
typedef enum velocity_step_outcome { FAILED, FREE, SOLVED, WOKEN } velocity_step_outcome;

static velocity_step_outcome velocity_step_impulses(perp_stepping *stepping, double h,
                                                    const double *v)
{
  perp_contacts *contacts = stepping->contacts;
  perp_constrained *system = &stepping->k;
  perp_island_task *task = &contacts->task;
  const double start = perp_constrained_clock(system);
  task->n_rows = stepping->drives != NULL
                     ? perp_drives_rows(stepping->drives, system, h, v, &task->row)
                     : 0;
  if (!velocity_step_find(stepping, h)) return FAILED;
  const int kept = perp_contacts_choose(contacts, system->e, h, v, system->a);
  for (int i = 0; i < task->n && contacts->parts.now.first && contacts->second.on; i++)
    contacts->second.approach[i] = perp_contact_speed(contacts->model->dim, system->e,
                                                      &task->contact[i], 0, contacts->twist_before);
  contacts->collision_s += perp_constrained_clock(system) - start;
  if (perp_contacts_wake(contacts)) return WOKEN;
  if (kept == 0 && task->n_rows == 0) {
    const size_t n = (size_t)task->n;
    if (n > 0) memset(task->impulse, 0, 3 * n * sizeof *task->impulse);
    if (n > 0 && task->couple != NULL) memset(task->couple, 0, 3 * n * sizeof *task->couple);
    if (n > 0) memset(contacts->memory.friction, PERP_FRICTION_NEW, n);
    return FREE;
  }
  velocity_step_meet(contacts, system->e, h);
  task->h = h;
  task->t_belts = system->e->t + h;
  task->soft = contacts->o.softness > 0 || perp_contacts_mode(&contacts->o) != PERP_CONTACTS_RIGID;
  task->law = velocity_step_law;
  for (int round = 0; round < ROUNDS; round++) {
    if (round > 0) {
      if (perp_contacts_wake(contacts)) return WOKEN;
      if (!velocity_step_free(contacts, system, h, v)) return FAILED;
      perp_twists(contacts->model, system->e, system->a, contacts->twist_free);
    }
    if (!velocity_step_islands(contacts, system, h, v)) return FAILED;
    if (round + 1 == ROUNDS) break;
    const int more = stepping->drives != NULL ? perp_drives_missed(stepping->drives, system, h, v)
                                              : 0;
    task->n_rows += more;
    const int late = contacts->o.gap ? perp_contacts_choose(contacts, system->e, h, NULL, system->a)
                                     : 0;
    const int reversed = velocity_step_friction(contacts, system->e, h, system->a, true);
    if (late == 0 && more == 0 && reversed == 0) break;
  }
  if (contacts->second.on && !velocity_step_keep(contacts, system, h, v)) return FAILED;
  velocity_step_friction(contacts, system->e, h,
                         contacts->second.keeps ? contacts->second.v_kept : system->a, false);
  if (stepping->drives != NULL) perp_drives_accept(stepping->drives, h);
  return SOLVED;
}

/* From system->a = v^ to v+ with the impulses of contacts, and those of the drives. */
static bool velocity_step_contacts(perp_stepping *stepping, double t, double h, const double *v)
{
  perp_contacts *contacts = stepping->contacts;
  perp_constrained *system = &stepping->k;
  const int64_t swept = perp_islands_count(contacts->islands)->swept;
  velocity_step_outcome end;
  contacts->parts.now = (perp_contact_part){ .first = stepping->parts.now == 0,
                                             .last = stepping->parts.now + 1 == stepping->parts.n ||
                                                     t + h >= stepping->parts.t_max - CUT * h,
                                             .whole = stepping->parts.n * h };
  contacts->second.keeps = false;
  memcpy(contacts->f, system->f, (size_t)contacts->model->nv * sizeof *contacts->f);
  if (contacts->sleep != NULL) {
    perp_sleep_forces(contacts->sleep, system->f, h);
    perp_sleep_still(contacts->sleep, system->a);
  }
  while ((end = velocity_step_impulses(stepping, h, v)) == WOKEN)
    if (!velocity_step_free(contacts, system, h, v)) return false;
  if (end == FAILED) return false;
  contacts->swept = (contacts->swept && !contacts->parts.now.first) ||
                    perp_islands_count(contacts->islands)->swept > swept;
  for (int i = 0; i < 3 * contacts->task.n && contacts->o.substeps > 1; i++)
    contacts->parts.total[i] += contacts->task.impulse[i];
  perp_contacts_remember(contacts, system->e, h);
  if (contacts->sleep != NULL)
    perp_sleep_update(contacts->sleep, h, perp_islands_roots(contacts->islands, end == FREE),
                      system->a);
  return true;
}

/* ---- the end of the step ---- */

/* of the shapes themselves, m */
static double velocity_step_depth(const perp_contacts *contacts, const perp_contact *contact, int n)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, -(contact[i].gap + contacts->o.tolerance));
  return most;
}

/* The next step may use the contacts ahead, if it begins at q. */
static void velocity_step_seen(perp_contacts *contacts, const double *q)
{
  memcpy(contacts->detect.q_ahead, q, (size_t)contacts->model->nq * sizeof *q);
  contacts->detect.ahead_holds = contacts->sleep == NULL; /* else bodies wake up in between */
}

/* With halvings: does the end q penetrate, deeper than the start and than solutions leave?  One
 * collision detection, of which the next step makes use. */
static perp_ode_answer velocity_step_judge(perp_stepping *stepping, double t, const double *q)
{
  perp_contacts *contacts = stepping->contacts;
  if (!perp_contacts_look_ahead(contacts, &stepping->k, t, q)) return PERP_ODE_FAILED;
  velocity_step_seen(contacts, q);
  const double before = velocity_step_depth(contacts, contacts->task.contact, contacts->task.n),
               after = velocity_step_depth(contacts, contacts->detect.contact_ahead,
                                           contacts->detect.n_ahead);
  const bool deep = after > contacts->slop && after > before + DEEPER * contacts->slop;
  stepping->halvings.now += deep;
  if (!deep)
    return stepping->halvings.before + stepping->halvings.now > stepping->halvings.most
               ? PERP_ODE_INVALID
               : PERP_ODE_OK;
  return PERP_ODE_INVALID;
}

/* Has moving contacts apart left the joints, which the scheme projects, off by the square of that
 * move? */
static bool velocity_step_torn(const perp_contacts *contacts, perp_constrained *system)
{
  if (!(contacts->stab->d.caps & PERP_STAB_PROJECTS) || contacts->model->m == 0) return false;
  perp_constrained_error(system, system->c);
  return perp_worst(contacts->model->m, system->c) > TORN * contacts->model->size;
}

/* Passes on the positions until no contact is deeper than its tolerance, then the velocities. */
static perp_ode_answer velocity_step_post(perp_contacts *contacts, perp_constrained *system,
                                          double t, double *q, double *v, perp_contact_count *count)
{
  perp_contacts_detection *detection = &contacts->detect;
  const int passes = perp_contact_post_passes(contacts->post);
  const bool stops = perp_contact_post_stops(contacts->post);
  bool changed = false;
  for (int pass = 0; pass < passes || stops; pass++) {
    bool moved;
    if (!perp_contacts_look_ahead(contacts, system, t, q)) return PERP_ODE_FAILED;
    if (pass == passes || (!perp_contact_post_deep(contacts->post, detection->contact_ahead, NULL,
                                                   detection->n_ahead, contacts->swept) &&
                           !(changed && velocity_step_torn(contacts, system)))) {
      velocity_step_seen(contacts, q);
      break;
    }
    if (!perp_contact_post_position(contacts->post, system, detection->contact_ahead, NULL,
                                    detection->n_ahead, q, &moved, count))
      return PERP_ODE_FAILED;
    if (!moved) break;
    for (int i = 0; i < detection->n_ahead; i++)
      detection->corrected = fmax(detection->corrected, -detection->contact_ahead[i].gap);
    changed = true;
  }
  if (!stops || contacts->within > 0) /* see `within` */
    return changed ? PERP_ODE_CHANGED : PERP_ODE_OK;
  const perp_ode_answer answer = perp_contact_post_velocity(
      contacts->post, system, t, detection->contact_ahead, detection->n_ahead,
      fmax(contacts->slop, 1e-9), v, count);
  return answer == PERP_ODE_OK && changed ? PERP_ODE_CHANGED : answer;
}

static perp_ode_answer velocity_step_correct(perp_contacts *contacts, perp_constrained *system,
                                             double t, double *q, double *v)
{
  if (contacts->parts.now.last) contacts->detect.corrected = 0;
  if (contacts->post == NULL || !contacts->parts.now.last) return PERP_ODE_OK;
  contacts->detect.ahead_holds = false;
  const double start = perp_constrained_own_clock(system) - contacts->collision_s;
  perp_contact_count count = { 0 };
  const perp_ode_answer answer = velocity_step_post(contacts, system, t, q, v, &count);
  perp_contact_count_add(perp_islands_count(contacts->islands), &count);
  contacts->lcp_s += perp_constrained_own_clock(system) - contacts->collision_s - start;
  return answer;
}

perp_ode_answer perp_velocity_step_end(perp_stepping *w, double t, double *q, double *v)
{
  perp_contacts *c = w->contacts;
  perp_constrained *k = &w->k;
  if (w->halvings.most > 0 && w->h > 0) {
    const perp_ode_answer valid = velocity_step_judge(w, t, q);
    if (valid != PERP_ODE_OK) return valid;
  }
  const bool kept = c != NULL && c->second.keeps;
  if (kept) memcpy(v, c->second.v_kept, (size_t)k->model->nv * sizeof *v);
  if (c != NULL) c->second.keeps = false;
  perp_ode_answer answer = perp_constrained_accept(k, t, q, v);
  if (kept && answer == PERP_ODE_OK) answer = PERP_ODE_CHANGED;
  for (int i = 0; i < k->model->m && w->h > 0; i++) {
    w->lambda[i] += k->impulse[i] / w->h;
    if (k->impulse[i] != 0) w->unknown = 0;
  }
  if (c == NULL || (answer != PERP_ODE_OK && answer != PERP_ODE_CHANGED)) return answer;
  if (w->halvings.now > 0) answer = PERP_ODE_CHANGED; /* the first half that is valid is the step */
  const perp_ode_answer corrected = velocity_step_correct(c, k, t, q, v);
  return corrected == PERP_ODE_OK ? answer : corrected;
}

/* ---- the step ---- */

/* v+ in system->a, with all impulses. */
static bool velocity_step_solve(perp_stepping *stepping, double t, double h, const double *q,
                                const double *v)
{
  perp_constrained *system = &stepping->k;
  if (!velocity_step_balance(stepping, t, h, q, v)) return false;
  if (stepping->contacts != NULL && !velocity_step_contacts(stepping, t, h, v)) return false;
  if (stepping->contacts == NULL && stepping->drives != NULL &&
      !perp_drives_step(stepping->drives, system, h, v))
    return false;
  system->start_h = stepping->h = h;
  for (int i = 0; i < system->model->m; i++) stepping->lambda[i] = system->lambda[i] / h;
  return true;
}

/* q+ and v+ in place of q and v. */
static void velocity_step_move(perp_stepping *stepping, double h, double *q, double *v)
{
  perp_constrained *system = &stepping->k;
  const perp_model *model = system->model;
  if (!stepping->symplectic) perp_model_qdot(model, q, v, stepping->dq);
  for (int i = 0; i < model->nv; i++) v[i] += h * ((system->a[i] - v[i]) / h);
  if (stepping->symplectic) {
    for (int i = 0; i < model->nv; i++) stepping->dq[i] = h * v[i];
    perp_constrained_retract(system, q, stepping->dq, q);
  } else {
    for (int i = 0; i < model->nq; i++) q[i] += h * stepping->dq[i];
    perp_model_project(model, q);
  }
}

static bool velocity_step_finite(perp_stepping *stepping, const double *q, const double *v)
{
  if (perp_all_finite(stepping->k.model->nq, q) && perp_all_finite(stepping->k.model->nv, v))
    return true;
  stepping->k.reason = PERP_NOT_FINITE;
  return false;
}

perp_ode_answer perp_velocity_step(perp_stepping *stepping, double t, double h, double t_new,
                                   double *q, double *v)
{
  stepping->count.rhs++;
  if (!velocity_step_solve(stepping, t, h, q, v)) return PERP_ODE_FAILED;
  velocity_step_move(stepping, h, q, v);
  if (!velocity_step_finite(stepping, q, v)) return PERP_ODE_FAILED;
  const perp_ode_answer answer = perp_velocity_step_end(stepping, t_new, q, v);
  return answer != PERP_ODE_CHANGED || velocity_step_finite(stepping, q, v) ? answer
                                                                            : PERP_ODE_FAILED;
}

bool perp_velocity_step_acceleration(perp_stepping *stepping, double t, double h, const double *q,
                                     const double *v, double *a)
{
  if (!velocity_step_solve(stepping, t, h, q, v)) return false;
  for (int i = 0; i < stepping->k.model->nv; i++) a[i] = (stepping->k.a[i] - v[i]) / h;
  return true;
}
