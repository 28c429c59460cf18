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
static void velocity_step_remembers(perp_stepping *w)
{
  const bool again = w->halvings.now > 0;
  if (w->halvings.most == 0) return;
  if (w->drives != NULL)
    (again ? perp_drives_put_back : perp_drives_keep)(w->drives, PERP_AT_START);
  (again ? perp_contacts_put_back : perp_contacts_keep)(w->contacts, PERP_AT_START);
}

void perp_velocity_step_sides(perp_stepping *w, double t, double h, const double *v)
{
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  perp_eval_impulse(k->e, model, t, h, v, k->f);
  if (w->gyro == PERP_GYRO_IMPLICIT) perp_gyro_implicit(model, h, v, k->f);
  if (w->gyro == PERP_GYRO_NONE) perp_gyro_none(model, h, v, k->f);
  if (w->drives != NULL) perp_drives_push(w->drives, k, h);
  memset(k->c, 0, (size_t)model->m * sizeof *k->c);
  if (w->prepare != NULL) w->prepare(w, h, v);
  perp_constrained_feedback(k, PERP_LEVEL_VELOCITY, h, v);
  perp_constrained_driven(k, t + h, 1, k->c);
}

/* k->f = M v + h f, k->c = feedback; k->a = v^. */
static bool velocity_step_balance(perp_stepping *w, double t, double h, const double *q,
                                  const double *v)
{
  perp_constrained *k = &w->k;
  if (!perp_constrained_signals(k, t) || !perp_constrained_signals(k, t + h)) return false;
  velocity_step_remembers(w);
  perp_constrained_at(k, t, q);
  const double start = perp_constrained_clock(k);
  perp_velocity_step_sides(w, t, h, v);
  k->spent.assembly += perp_constrained_clock(k) - start;
  return perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, v);
}

/* v^ again, with whatever was taken back; those asleep stay where they are. */
static bool velocity_step_free(perp_contacts *c, perp_constrained *k, double h, const double *v)
{
  memcpy(k->f, c->f, (size_t)c->model->nv * sizeof *c->f);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, v)) return false;
  if (c->sleep != NULL) perp_sleep_still(c->sleep, k->a);
  return true;
}

/* ---- the law of a contact ---- */

/* Does a gap that is `reached` at the end of the step close in it?  Within the slop it is closed,
 * if another gap of a body closes: points that meet together do not by rounding meet one step after
 * the other. */
static bool velocity_step_closes(const perp_contacts *c, const perp_contact *x, double reached)
{
  if (reached <= 0 || reached > c->slop) return reached <= 0;
  for (int s = 0; s < 2; s++)
    if (x->body[s] >= 0 && c->met[x->body[s]]) return true;
  return false;
}

/* An approach with restitution whose gap closes in this step.  Laws of one contact have a course of
 * the impact without restitution, too. */
static bool velocity_step_impact(const perp_contacts *c, const perp_contact *x, double h,
                                 double before, double free)
{
  const double gap = fabs(x->gap) > c->slop ? x->gap : 0;
  return perp_contacts_mode(&c->o) != PERP_CONTACTS_SPRINGS && !c->second.on &&
         (x->e > 0 || perp_impact_single(c->o.impact)) && before < -c->o.threshold &&
         velocity_step_closes(c, x, gap + h * free);
}

/* Which bodies meet others in this step. */
static void velocity_step_meet(perp_contacts *c, const perp_eval *e, double h)
{
  const int dim = c->model->dim;
  memset(c->met, 0, (size_t)c->model->n_bodies * sizeof *c->met);
  for (int i = 0; i < c->task.n; i++) {
    const perp_contact *x = &c->task.contact[i];
    if (!(x->e > 0) && !perp_impact_single(c->o.impact)) continue;
    if (perp_contact_speed(dim, e, x, 0, c->twist_before) < -c->o.threshold &&
        x->gap + h * perp_contact_speed(dim, e, x, 0, c->twist_free) <= 0)
      for (int s = 0; s < 2; s++)
        if (x->body[s] >= 0) c->met[x->body[s]] = true;
  }
}

static double velocity_step_mu(const perp_contacts *c, const perp_contact *x, const double *before)
{
  const int did = c->memory.friction[x - c->task.contact];
  bool slides = did == PERP_FRICTION_SLIDES;
  if (did == PERP_FRICTION_NEW) {
    const double t = c->model->dim == 3 ? sqrt(before[1] * before[1] + before[2] * before[2])
                                        : fabs(before[1]);
    slides = t > c->o.slip;
  }
  return slides ? x->mu_dynamic : x->mu;
}

/* Bias and softness of the normal row (contacts.h), friction, restitution.  Gaps within the slop,
 * the tolerance of a solution in units of the largest body, count as closed: solutions leave errors
 * of that size, and bodies at rest would go on correcting them, now on some of their contacts, now
 * on others. */
static void velocity_step_law(void *user, const perp_contact *x, double h, const double *before,
                              const double *free, perp_contact_terms *terms)
{
  const perp_contacts *c = user;
  const perp_contact_opts *o = &c->o;
  const perp_contact_mode mode = perp_contacts_mode(o);
  const int i = (int)(x - c->task.contact);
  const bool strikes = velocity_step_impact(c, x, h, before[0], free[0]);
  const double gap = fabs(x->gap) > c->slop || mode == PERP_CONTACTS_COMPLIANT ? x->gap : 0;
  double bias = 0;
  if (mode == PERP_CONTACTS_RIGID) {
    terms->softness = o->softness;
    if (gap < 0 && c->stab->contact != NULL)
      bias = -c->stab->contact(c->stab_ws, PERP_LEVEL_VELOCITY, h, gap, 0);
  } else if (mode == PERP_CONTACTS_SPRINGS) {
    terms->softness = 1 / (h * (h * o->stiffness + o->damping));
    bias = o->stiffness / (h * o->stiffness + o->damping) * x->gap;
  } else if (mode == PERP_CONTACTS_COMPLIANT) {
    terms->softness = strikes ? 0 : perp_compliance_softness(&o->compliance, h);
    bias = perp_compliance_alpha(&o->compliance, h) * gap;
  } else {
    const double omega = 2 * M_PI * o->frequency;
    if (x->gap <= c->slop) terms->part = 1 / (h * omega * (2 * o->damping_ratio + h * omega));
    bias = fmax(omega / (2 * o->damping_ratio + h * omega) * x->gap, -o->push);
  }
  if (gap > 0) bias = o->gap ? gap / (c->memory.pressed[i] ? fmax(h, c->within) : h) : 0;
  if (strikes && (gap > 0 || perp_impact_single(o->impact))) bias = 0;
  if (strikes && o->impact == PERP_IMPACT_NEWTON) bias = fmin(bias, x->e * before[0]);
  terms->bias = bias;
  terms->mu = c->mu[i] = velocity_step_mu(c, x, before);
  if (perp_impact_single(o->impact))
    terms->restitution = mode != PERP_CONTACTS_SPRINGS &&
                                 (x->gap <= c->slop ||
                                  velocity_step_closes(c, x, x->gap + h * free[0]))
                             ? x->e
                             : -1;
  else if (o->impact != PERP_IMPACT_NEWTON)
    terms->restitution = strikes ? x->e : 0;
}

/* Of the velocity that is kept: restitution, and with relax no softness and feedback. */
static void velocity_step_law_kept(void *user, const perp_contact *x, double h,
                                   const double *before, const double *free,
                                   perp_contact_terms *terms)
{
  const perp_contacts *c = user;
  const int i = (int)(x - c->task.contact);
  const bool rebounds = c->second.rebounds[i], relaxes = perp_contacts_relaxes(&c->o);
  velocity_step_law(user, x, h, before, free, terms);
  if (rebounds || relaxes) terms->part = 0;
  if (rebounds)
    terms->bias = x->e * c->second.approach[i];
  else if (relaxes)
    terms->bias = c->o.gap && c->second.reached[i] > c->slop ? c->second.reached[i] / h : 0;
}

/* ---- sticking and sliding ---- */

/* Does a contact with the impulse P slide at u?  Below rounding, which goes to zero with the step,
 * nothing slides.  What a solution may leave of a speed that is zero says nothing by itself: the
 * residual, a part of what the impulse changes of it and of the speeds that are its data, the
 * largest one `speed`.  It slides if friction is at its limit, against u. */
static bool velocity_step_slides(const perp_contacts *c, const perp_contact *x, const double *P,
                                 const double *u, double speed)
{
  static const double FULL = 1 - 1e-6, AGAINST = -0.99;
  const double normal = perp_dot(3, x->n, P), slip = sqrt(perp_dot(3, u, u));
  double inverse = 0;
  for (int side = 0; side < 2; side++)
    if (x->body[side] >= 0) inverse += 1 / c->model->inertia[x->body[side]].mass;
  const double force = inverse * sqrt(perp_dot(3, P, P));
  if (!(slip > fmax(10 * perp_contacts_closed(&c->o), 1e-12) * force + 1e-13 * speed)) return false;
  if (slip > 10 * c->o.residual * (force + speed)) return true;
  double along[3];
  for (int k = 0; k < 3; k++) along[k] = P[k] - normal * x->n[k];
  const double friction = sqrt(perp_dot(3, along, along));
  return friction >= FULL * c->mu[x - c->task.contact] * normal &&
         perp_dot(3, along, u) <= AGAINST * friction * slip;
}

/* along the surface: velocity of b relative to a with the twists, and of the surfaces themselves;
 * the largest term */
static double velocity_step_along(const perp_contacts *c, const perp_eval *e, const perp_contact *x,
                                  double t, const double *twist, double u[3])
{
  double belt[3] = { 0 };
  perp_contact_velocity(c->model->dim, e, x, twist, u);
  const double normal = perp_dot(3, x->n, u);
  for (int i = 0; i < 3; i++) u[i] -= normal * x->n[i];
  if (c->model->surfaces.belts) perp_belts_velocity(c->model, e, x, t, belt);
  const double largest = fmax(sqrt(perp_dot(3, u, u)), sqrt(perp_dot(3, belt, belt)));
  for (int i = 0; i < 3; i++) u[i] += belt[i];
  return fmax(largest, fabs(normal));
}

/* What contacts do in a step h that ends with the velocities v, in friction; or (reversals) only:
 * those that have slid and would slide back are stopped on the way and stick, with mu.  How many
 * such there are. */
static int velocity_step_friction(perp_contacts *c, const perp_eval *e, double h, const double *v,
                                  bool reversals)
{
  int found = 0;
  for (int i = 0; i < c->task.n; i++) {
    const perp_contact *x = &c->task.contact[i];
    const double *P = c->task.impulse + 3 * (size_t)i;
    double u[3], before[3];
    if (!c->kept[i] || !(perp_dot(3, x->n, P) > 0)) {
      if (!reversals) c->memory.friction[i] = PERP_FRICTION_NEW;
      continue;
    }
    if (reversals && (c->memory.friction[i] != PERP_FRICTION_SLIDES || x->mu == x->mu_dynamic))
      continue;
    if (!reversals && x->mu == x->mu_dynamic) continue;
    for (int side = 0; side < 2; side++)
      if (x->body[side] >= 0) perp_twist(c->model, e, x->body[side], v, c->twist_free);
    const double speed = velocity_step_along(c, e, x, e->t + h, c->twist_free, u);
    const bool slides = velocity_step_slides(c, x, P, u, speed);
    if (!reversals) {
      c->memory.friction[i] = slides ? PERP_FRICTION_SLIDES : PERP_FRICTION_STICKS;
      continue;
    }
    velocity_step_along(c, e, x, e->t, c->twist_before, before);
    if (!slides || !(perp_dot(3, u, before) < 0)) continue;
    c->memory.friction[i] = PERP_FRICTION_STICKS;
    found++;
  }
  return found;
}

/* ---- contacts ---- */

/* Detect and match.  Contacts are found in the first part of a step, and go with their bodies in
 * further ones. */
static bool velocity_step_find(perp_stepping *w, double h)
{
  perp_contacts *c = w->contacts;
  perp_constrained *k = &w->k;
  if (!c->parts.now.first) {
    perp_contacts_carry_to(c, k->e);
    perp_contacts_recall_part(c, h);
    return true;
  }
  const double drive_speed = w->drives != NULL ? perp_drives_speed(w->drives, k->e->t + h) : 0;
  if (!perp_contacts_detect(c, k, drive_speed, h)) return false;
  if (c->o.substeps > 1) perp_contacts_carry_start(c, k->e);
  return true;
}

/* Islands, rows, solve, judge: k->a from k->f and k->a = v^. */
PERP_INLINE bool velocity_step_islands(perp_contacts *c, perp_constrained *k, double h,
                                       const double *v)
{
  if (!perp_islands_step(c->islands, k, &c->task, PERP_LEVEL_VELOCITY, h, v, &c->lcp_s))
    return false;
  if (c->sleep != NULL) perp_sleep_still(c->sleep, k->a);
  return true;
}

/* Does contact i part with the velocity of an impact at the end of the step? */
static bool velocity_step_rebounds(const perp_contacts *c, int i)
{
  const perp_contact *x = &c->task.contact[i];
  if (!c->parts.now.last || !(x->e > 0) || !(c->second.approach[i] < -c->o.threshold)) return false;
  double pressed = perp_dot(3, x->n, c->task.impulse + 3 * (size_t)i);
  if (c->o.substeps > 1) pressed += perp_dot(3, x->n, c->parts.total + 3 * (size_t)i);
  return perp_contacts_mode(&c->o) != PERP_CONTACTS_SPRINGS && pressed > 0;
}

/* After the first solve: the velocity that is kept, where it is another one. */
static bool velocity_step_keep(perp_contacts *c, perp_constrained *k, double h, const double *v)
{
  const perp_model *model = c->model;
  const size_t size = (size_t)model->nv * sizeof *c->f;
  const bool relaxes = perp_contacts_relaxes(&c->o);
  bool any = relaxes;
  for (int i = 0; i < c->task.n; i++) {
    c->second.rebounds[i] = velocity_step_rebounds(c, i);
    any |= c->second.rebounds[i];
  }
  if (!any) return true;
  memcpy(c->second.v_moving, k->a, size);
  perp_twists(model, k->e, k->a, c->twist_free);
  for (int i = 0; i < c->task.n; i++) {
    const perp_contact *x = &c->task.contact[i];
    c->second.reached[i] = x->gap + h * perp_contact_speed(model->dim, k->e, x, 0, c->twist_free);
    c->kept[i] |= c->second.rebounds[i];
  }
  if (!velocity_step_free(c, k, h, v)) return false;
  perp_twists(model, k->e, k->a, c->twist_free);
  c->task.law = velocity_step_law_kept;
  if (relaxes && perp_contacts_mode(&c->o) == PERP_CONTACTS_SOFT) c->task.soft = false;
  if (!velocity_step_islands(c, k, h, v)) return false;
  memcpy(c->second.v_kept, k->a, size);
  memcpy(k->a, c->second.v_moving, size);
  c->second.keeps = true;
  return true;
}

/* FREE: no island has had a problem; WOKEN: bodies have been woken, the step is to be made again.
 */
typedef enum velocity_step_outcome { FAILED, FREE, SOLVED, WOKEN } velocity_step_outcome;

static velocity_step_outcome velocity_step_impulses(perp_stepping *w, double h, const double *v)
{
  perp_contacts *c = w->contacts;
  perp_constrained *k = &w->k;
  perp_island_task *task = &c->task;
  const double start = perp_constrained_clock(k);
  task->n_rows = w->drives != NULL ? perp_drives_rows(w->drives, k, h, v, &task->row) : 0;
  if (!velocity_step_find(w, h)) return FAILED;
  const int kept = perp_contacts_choose(c, k->e, h, v, k->a);
  for (int i = 0; i < task->n && c->parts.now.first && c->second.on; i++)
    c->second.approach[i] = perp_contact_speed(c->model->dim, k->e, &task->contact[i], 0,
                                               c->twist_before);
  c->collision_s += perp_constrained_clock(k) - start;
  if (perp_contacts_wake(c)) return WOKEN;
  if (kept == 0 && task->n_rows == 0) {
    const size_t n = (size_t)task->n;
    if (n > 0) memset(task->impulse, 0, 3 * n * sizeof *task->impulse);
    if (n > 0 && task->couple != NULL) memset(task->couple, 0, 3 * n * sizeof *task->couple);
    if (n > 0) memset(c->memory.friction, PERP_FRICTION_NEW, n);
    return FREE;
  }
  velocity_step_meet(c, k->e, h);
  task->h = h;
  task->t_belts = k->e->t + h;
  task->soft = c->o.softness > 0 || perp_contacts_mode(&c->o) != PERP_CONTACTS_RIGID;
  task->law = velocity_step_law;
  for (int round = 0; round < ROUNDS; round++) {
    if (round > 0) {
      if (perp_contacts_wake(c)) return WOKEN;
      if (!velocity_step_free(c, k, h, v)) return FAILED;
      perp_twists(c->model, k->e, k->a, c->twist_free);
    }
    if (!velocity_step_islands(c, k, h, v)) return FAILED;
    if (round + 1 == ROUNDS) break;
    const int more = w->drives != NULL ? perp_drives_missed(w->drives, k, h, v) : 0;
    task->n_rows += more;
    const int late = c->o.gap ? perp_contacts_choose(c, k->e, h, NULL, k->a) : 0;
    const int reversed = velocity_step_friction(c, k->e, h, k->a, true);
    if (late == 0 && more == 0 && reversed == 0) break;
  }
  if (c->second.on && !velocity_step_keep(c, k, h, v)) return FAILED;
  velocity_step_friction(c, k->e, h, c->second.keeps ? c->second.v_kept : k->a, false);
  if (w->drives != NULL) perp_drives_accept(w->drives, h);
  return SOLVED;
}

/* From k->a = v^ to v+ with the impulses of contacts, and those of the drives. */
static bool velocity_step_contacts(perp_stepping *w, double t, double h, const double *v)
{
  perp_contacts *c = w->contacts;
  perp_constrained *k = &w->k;
  const int64_t swept = perp_islands_count(c->islands)->swept;
  velocity_step_outcome end;
  c->parts.now = (perp_contact_part){ .first = w->parts.now == 0,
                                      .last = w->parts.now + 1 == w->parts.n ||
                                              t + h >= w->parts.t_max - CUT * h,
                                      .whole = w->parts.n * h };
  c->second.keeps = false;
  memcpy(c->f, k->f, (size_t)c->model->nv * sizeof *c->f);
  if (c->sleep != NULL) {
    perp_sleep_forces(c->sleep, k->f, h);
    perp_sleep_still(c->sleep, k->a);
  }
  while ((end = velocity_step_impulses(w, h, v)) == WOKEN)
    if (!velocity_step_free(c, k, h, v)) return false;
  if (end == FAILED) return false;
  c->swept = (c->swept && !c->parts.now.first) || perp_islands_count(c->islands)->swept > swept;
  for (int i = 0; i < 3 * c->task.n && c->o.substeps > 1; i++)
    c->parts.total[i] += c->task.impulse[i];
  perp_contacts_remember(c, k->e, h);
  if (c->sleep != NULL)
    perp_sleep_update(c->sleep, h, perp_islands_roots(c->islands, end == FREE), k->a);
  return true;
}

/* ---- the end of the step ---- */

/* of the shapes themselves, m */
static double velocity_step_depth(const perp_contacts *c, const perp_contact *contact, int n)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, -(contact[i].gap + c->o.tolerance));
  return most;
}

/* The next step may use the contacts ahead, if it begins at q. */
static void velocity_step_seen(perp_contacts *c, const double *q)
{
  memcpy(c->detect.q_ahead, q, (size_t)c->model->nq * sizeof *q);
  c->detect.ahead_holds = c->sleep == NULL; /* else bodies wake up in between */
}

/* With halvings: does the end q penetrate, deeper than the start and than solutions leave?  One
 * collision detection, of which the next step makes use. */
static perp_ode_answer velocity_step_judge(perp_stepping *w, double t, const double *q)
{
  perp_contacts *c = w->contacts;
  if (!perp_contacts_look_ahead(c, &w->k, t, q)) return PERP_ODE_FAILED;
  velocity_step_seen(c, q);
  const double before = velocity_step_depth(c, c->task.contact, c->task.n),
               after = velocity_step_depth(c, c->detect.contact_ahead, c->detect.n_ahead);
  const bool deep = after > c->slop && after > before + DEEPER * c->slop;
  w->halvings.now += deep;
  if (!deep)
    return w->halvings.before + w->halvings.now > w->halvings.most ? PERP_ODE_INVALID : PERP_ODE_OK;
  return PERP_ODE_INVALID;
}

/* Has moving contacts apart left the joints, which the scheme projects, off by the square of that
 * move? */
static bool velocity_step_torn(const perp_contacts *c, perp_constrained *k)
{
  if (!(c->stab->d.caps & PERP_STAB_PROJECTS) || c->model->m == 0) return false;
  perp_constrained_error(k, k->c);
  return perp_worst(c->model->m, k->c) > TORN * c->model->size;
}

/* Passes on the positions until no contact is deeper than its tolerance, then the velocities. */
static perp_ode_answer velocity_step_post(perp_contacts *c, perp_constrained *k, double t,
                                          double *q, double *v, perp_contact_count *count)
{
  perp_contacts_detection *d = &c->detect;
  const int passes = perp_contact_post_passes(c->post);
  const bool stops = perp_contact_post_stops(c->post);
  bool changed = false;
  for (int pass = 0; pass < passes || stops; pass++) {
    bool moved;
    if (!perp_contacts_look_ahead(c, k, t, q)) return PERP_ODE_FAILED;
    if (pass == passes ||
        (!perp_contact_post_deep(c->post, d->contact_ahead, NULL, d->n_ahead, c->swept) &&
         !(changed && velocity_step_torn(c, k)))) {
      velocity_step_seen(c, q);
      break;
    }
    if (!perp_contact_post_position(c->post, k, d->contact_ahead, NULL, d->n_ahead, q, &moved,
                                    count))
      return PERP_ODE_FAILED;
    if (!moved) break;
    for (int i = 0; i < d->n_ahead; i++)
      d->corrected = fmax(d->corrected, -d->contact_ahead[i].gap);
    changed = true;
  }
  if (!stops || c->within > 0) /* see `within` */
    return changed ? PERP_ODE_CHANGED : PERP_ODE_OK;
  const perp_ode_answer answer = perp_contact_post_velocity(
      c->post, k, t, d->contact_ahead, d->n_ahead, fmax(c->slop, 1e-9), v, count);
  return answer == PERP_ODE_OK && changed ? PERP_ODE_CHANGED : answer;
}

static perp_ode_answer velocity_step_correct(perp_contacts *c, perp_constrained *k, double t,
                                             double *q, double *v)
{
  if (c->parts.now.last) c->detect.corrected = 0;
  if (c->post == NULL || !c->parts.now.last) return PERP_ODE_OK;
  c->detect.ahead_holds = false;
  const double start = perp_constrained_own_clock(k) - c->collision_s;
  perp_contact_count count = { 0 };
  const perp_ode_answer answer = velocity_step_post(c, k, t, q, v, &count);
  perp_contact_count_add(perp_islands_count(c->islands), &count);
  c->lcp_s += perp_constrained_own_clock(k) - c->collision_s - start;
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

/* v+ in k->a, with all impulses. */
static bool velocity_step_solve(perp_stepping *w, double t, double h, const double *q,
                                const double *v)
{
  perp_constrained *k = &w->k;
  if (!velocity_step_balance(w, t, h, q, v)) return false;
  if (w->contacts != NULL && !velocity_step_contacts(w, t, h, v)) return false;
  if (w->contacts == NULL && w->drives != NULL && !perp_drives_step(w->drives, k, h, v))
    return false;
  k->start_h = w->h = h;
  for (int i = 0; i < k->model->m; i++) w->lambda[i] = k->lambda[i] / h;
  return true;
}

/* q+ and v+ in place of q and v. */
static void velocity_step_move(perp_stepping *w, double h, double *q, double *v)
{
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  if (!w->symplectic) perp_model_qdot(model, q, v, w->dq);
  for (int i = 0; i < model->nv; i++) v[i] += h * ((k->a[i] - v[i]) / h);
  if (w->symplectic) {
    for (int i = 0; i < model->nv; i++) w->dq[i] = h * v[i];
    perp_constrained_retract(k, q, w->dq, q);
  } else {
    for (int i = 0; i < model->nq; i++) q[i] += h * w->dq[i];
    perp_model_project(model, q);
  }
}

static bool velocity_step_finite(perp_stepping *w, const double *q, const double *v)
{
  if (perp_all_finite(w->k.model->nq, q) && perp_all_finite(w->k.model->nv, v)) return true;
  w->k.reason = PERP_NOT_FINITE;
  return false;
}

perp_ode_answer perp_velocity_step(perp_stepping *w, double t, double h, double t_new, double *q,
                                   double *v)
{
  w->count.rhs++;
  if (!velocity_step_solve(w, t, h, q, v)) return PERP_ODE_FAILED;
  velocity_step_move(w, h, q, v);
  if (!velocity_step_finite(w, q, v)) return PERP_ODE_FAILED;
  const perp_ode_answer answer = perp_velocity_step_end(w, t_new, q, v);
  return answer != PERP_ODE_CHANGED || velocity_step_finite(w, q, v) ? answer : PERP_ODE_FAILED;
}

bool perp_velocity_step_acceleration(perp_stepping *w, double t, double h, const double *q,
                                     const double *v, double *a)
{
  if (!velocity_step_solve(w, t, h, q, v)) return false;
  for (int i = 0; i < w->k.model->nv; i++) a[i] = (w->k.a[i] - v[i]) / h;
  return true;
}
