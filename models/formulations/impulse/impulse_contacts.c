/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts by impulses from a preview (J. Bender and A. Schmitt, Constraint-based collision and
 * contact handling using impulses, 2006; STAR 2012, section 3.2.1, on the inequality constraints of
 * the method).
 *
 * What the preview does for joints with equations, it does for contacts, limits and motors with
 * bounds.  Impulses P at the start of the step, which are solved for with those of the joints in
 * each of its passes, keep surfaces apart,
 *
 *      0 <= P_n  perp  n . J_c v~ + gap / h >= 0,      |P_t| <= mu P_n, against the sliding of v~
 *
 * and those at the end of the step bring the velocities of the surfaces that touch then to what
 * they may be:
 *
 *      0 <= P_n+  perp  n . J_c v+ + e n . J_c v >= 0, |P_t+| <= mu P_n+, against the sliding of v+
 *
 * e for an approach that is faster than the threshold (an impact: Newton's law, with the velocity v
 * at the start of the step), 0 for others.  So a body that falls is on the surface at the end of
 * the step, and leaves it in the next one. A load presses with one half at the start and one at the
 * end, as it acts itself.  Limits and motors are those of drives.h with half of their impulse at
 * each end.
 *
 * Gaps are linear in the preview, with the normals of the start; what turns penetrates by O(h^2),
 * which the stabilization corrects at the end of the step (contacts_post.h). */
#include "models/formulations/impulse/impulse_contacts.h"
#include "models/contact/step/contacts.h"
#include "models/contact/step/contacts_post.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4 };              /* of taking in contacts that had been left out */
static const double SLIP = 1e-5;  /* m/s: what slides faster has mu_dynamic */
static const double LATE = 1e-12; /* m: a contact that was left out is taken in when it is deeper */

/* Contacts of one end of the step. */
typedef struct set {
  perp_collision *collision;
  const perp_contact *contact; /* [n] */
  int n, cap;
  double *impulse;     /* [3 n] world */
  double *slip;        /* [n] */
  unsigned char *kept; /* [n] */
} set;

typedef struct memory {
  uint64_t id;
  double impulse[3], slip;
} memory;

struct perp_impulse_contacts {
  const perp_model *model;
  perp_impulse_contact_opts o;
  perp_drives *drives;   /* NULL: none */
  perp_islands *islands; /* NULL, and the next ones: no shapes */
  const perp_stab_desc *stab;
  void *stab_ws;
  perp_contact_post *post; /* NULL: the scheme corrects no contacts */
  set start, end;
  double *reach;         /* [bodies] */
  double *before, *free; /* [6 bodies] twists at the start of the step; of k->a */
  double *f;             /* [nv] k->f without impulses of contacts */
  double *still;         /* [nv] zeros */
  double slop, size;     /* m: gaps that count as closed; of the largest body */
  memory *last[2];       /* [cap] impulses at the start and the end of the last step, by id */
  int n_last[2];
  perp_contact *shown; /* [n_shown] of both ends */
  double *shown_impulse;
  int n_shown, cap;
  double *force; /* [drives] */
  double collision_s, lcp_s;
};

/* ---- life ---- */

static void impulse_contacts_layout(void *ws, perp_arena *arena)
{
  perp_impulse_contacts *contacts = ws;
  const size_t nb = (size_t)contacts->model->n_bodies;
  contacts->reach = PERP_CARVE(arena, double, nb);
  PERP_DOUBLES(arena, 6 * nb, &contacts->before, &contacts->free);
  PERP_DOUBLES(arena, contacts->model->nv, &contacts->f, &contacts->still);
  contacts->force = PERP_CARVE(arena, double, contacts->model->n_drives);
}

static void impulse_contacts_set_free(set *s)
{
  perp_collision_destroy(s->collision);
  free(s->impulse);
  free(s->slip);
  free(s->kept);
}

void perp_impulse_contacts_destroy(perp_impulse_contacts *contacts)
{
  if (contacts == NULL) return;
  impulse_contacts_set_free(&contacts->start);
  impulse_contacts_set_free(&contacts->end);
  perp_islands_destroy(contacts->islands);
  perp_contact_post_destroy(contacts->post);
  if (contacts->stab != NULL) contacts->stab->destroy(contacts->stab_ws);
  perp_drives_destroy(contacts->drives);
  for (int i = 0; i < 2; i++) free(contacts->last[i]);
  free(contacts->shown);
  free(contacts->shown_impulse);
  free(contacts);
}

static perp_status impulse_contacts_open(perp_ctx *ctx, perp_impulse_contacts *contacts,
                                         const perp_parts *parts)
{
  const perp_model *model = contacts->model;
  if (model->n_drives > 0)
    PERP_TRY(perp_drives_create(ctx, model, parts, &(perp_compliance){ 0 }, PERP_CONTACT_TOL_DATA,
                                contacts->o.budget, &contacts->drives));
  if (model->n_shapes == 0) return PERP_OK;
  if (parts->contact.d->caps & PERP_CONTACT_RELAXED)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact %s opens sliding contacts, and formulation impulse has no gap term "
                     "to close them; use --contact box or cone",
                     parts->contact.d->name);
  perp_contacts_reach(model, contacts->reach);
  for (int body = 0; body < model->n_bodies; body++)
    contacts->size = fmax(contacts->size, contacts->reach[body]);
  contacts->slop = PERP_CONTACT_TOL * contacts->size;
  PERP_TRY(perp_contact_stab(ctx, parts, &contacts->stab, &contacts->stab_ws));
  PERP_TRY(perp_collision_create(ctx, model, 0, &contacts->start.collision));
  PERP_TRY(perp_collision_create(ctx, model, 1e-3 * model->size, &contacts->end.collision));
  const perp_contact_setup solving = { .tol = PERP_CONTACT_TOL,
                                       .tol_data = PERP_CONTACT_TOL_DATA,
                                       .budget = contacts->o.budget,
                                       .choice = contacts->o.choice };
  PERP_TRY(perp_contacts_islands(ctx, model, parts, &solving, 1, false, &contacts->islands));
  const perp_contact_post_setup setup = { .tol = PERP_CONTACT_TOL,
                                          .tol_data = PERP_CONTACT_TOL_DATA,
                                          .budget = contacts->o.budget,
                                          .slop = contacts->slop,
                                          .size = contacts->size,
                                          .threshold = contacts->o.threshold,
                                          .threads = 1 };
  return perp_contact_post_create(ctx, model, parts, contacts->stab, contacts->stab_ws, &setup,
                                  &contacts->post);
}

perp_status perp_impulse_contacts_create(perp_ctx *ctx, const perp_model *model,
                                         const perp_parts *parts,
                                         const perp_impulse_contact_opts *opts,
                                         perp_impulse_contacts **out)
{
  perp_impulse_contacts like = { .model = model, .o = *opts };
  void *ws;
  *out = NULL;
  if (model->n_shapes == 0 && model->n_drives == 0) return PERP_OK;
  PERP_TRY(perp_workspace_create(ctx, "impulse", &like, sizeof like, impulse_contacts_layout, &ws));
  perp_impulse_contacts *contacts = ws;
  memset(contacts->still, 0, (size_t)model->nv * sizeof *contacts->still);
  const perp_status status = impulse_contacts_open(ctx, contacts, parts);
  if (status == PERP_OK)
    *out = contacts;
  else
    perp_impulse_contacts_destroy(contacts);
  return status;
}

void perp_impulse_contacts_restart(perp_impulse_contacts *contacts)
{
  if (contacts == NULL) return;
  contacts->n_last[0] = contacts->n_last[1] = contacts->n_shown = 0;
  contacts->collision_s = contacts->lcp_s = 0;
  memset(contacts->force, 0, (size_t)contacts->model->n_drives * sizeof *contacts->force);
  if (contacts->drives != NULL) perp_drives_restart(contacts->drives);
  if (contacts->islands != NULL) perp_islands_restart(contacts->islands);
  if (contacts->post != NULL) perp_contact_post_restart(contacts->post);
}

/* ---- contacts of an end ---- */

static perp_status impulse_contacts_reserve(perp_ctx *ctx, set *s)
{
  if (s->n <= s->cap) return PERP_OK;
  const size_t n = (size_t)s->n + (size_t)s->n / 2 + 16;
  free(s->impulse);
  free(s->slip);
  free(s->kept);
  s->impulse = malloc(3 * n * sizeof *s->impulse);
  s->slip = malloc(n * sizeof *s->slip);
  s->kept = malloc(n);
  s->cap = s->impulse != NULL && s->slip != NULL && s->kept != NULL ? (int)n : 0;
  return s->cap > 0 ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", s->n);
}

/* Contacts of k, with the impulses of that end of the last step as guesses; both are ordered by id.
 */
static bool impulse_contacts_find(perp_impulse_contacts *contacts, perp_constrained *k, set *s,
                                  const memory *last, int n_last)
{
  const double start = perp_constrained_clock(k);
  k->status = perp_collision_find(k->ctx, s->collision, k->e->pose, &s->contact, &s->n);
  if (k->status == PERP_OK) k->status = impulse_contacts_reserve(k->ctx, s);
  contacts->collision_s += perp_constrained_clock(k) - start;
  if (k->status != PERP_OK) return false;
  for (int contact = 0, j = 0; contact < s->n; contact++) {
    memset(s->impulse + 3 * (size_t)contact, 0, 3 * sizeof *s->impulse);
    s->slip[contact] = 0;
    while (j < n_last && last[j].id < s->contact[contact].id) j++;
    if (j == n_last || last[j].id != s->contact[contact].id) continue;
    memcpy(s->impulse + 3 * (size_t)contact, last[j].impulse, sizeof last[j].impulse);
    s->slip[contact] = last[j].slip;
  }
  return true;
}

/* m: what comes near in a step besides by the velocities that are known */
static double impulse_contacts_near(const perp_impulse_contacts *contacts, double t, double h)
{
  return 2 * h * h * fabs(perp_model_gravity_at(contacts->model, t)) + 1e-6 * contacts->model->size;
}

bool perp_impulse_contacts_find(perp_impulse_contacts *contacts, perp_constrained *system, double h,
                                const double *v)
{
  if (contacts->islands == NULL) return true;
  double margin = impulse_contacts_near(contacts, system->e->t, h) +
                  h * perp_closing_speed(contacts->model, system->a, contacts->reach);
  if (contacts->drives != NULL) margin += h * perp_drives_speed(contacts->drives, system->e->t + h);
  if (!isfinite(margin)) {
    system->reason = PERP_NOT_FINITE;
    return false;
  }
  perp_twists(contacts->model, system->e, v, contacts->before);
  perp_collision_margin(contacts->start.collision, margin);
  if (!impulse_contacts_find(contacts, system, &contacts->start, contacts->last[0],
                             contacts->n_last[0]))
    return false;
  if (contacts->start.n > 0) memset(contacts->start.kept, 0, (size_t)contacts->start.n);
  return true;
}

/* ---- laws ---- */

static double impulse_contacts_friction(const perp_contact *x, const double *before)
{
  return hypot(before[1], before[2]) > SLIP ? x->mu_dynamic : x->mu;
}

/* of the preview: the gap, or the feedback of what penetrates */
static void impulse_contacts_approach(void *user, const perp_contact *x, double h,
                                      const double *before, const double *free,
                                      perp_contact_terms *terms)
{
  const perp_impulse_contacts *c = user;
  (void)free;
  terms->mu = impulse_contacts_friction(x, before);
  if (x->gap > c->slop)
    terms->bias = x->gap / h;
  else if (x->gap < -c->slop && c->stab->contact != NULL)
    terms->bias = -c->stab->contact(c->stab_ws, PERP_LEVEL_VELOCITY, h, x->gap, 0);
  else
    terms->bias = 0;
}

/* of the end: restitution */
static void impulse_contacts_rebound(void *user, const perp_contact *x, double h,
                                     const double *before, const double *free,
                                     perp_contact_terms *terms)
{
  const perp_impulse_contacts *c = user;
  (void)h, (void)free;
  terms->mu = impulse_contacts_friction(x, before);
  terms->bias = x->e > 0 && before[0] < -c->o.threshold ? x->e * before[0] : 0;
}

/* ---- impulses ---- */

/* Contacts of s that do not take part and that system->a closes do from now on; how many of all
 * take part. */
static int impulse_contacts_take(perp_impulse_contacts *contacts, const perp_constrained *system,
                                 set *s, double near, double h, int *late)
{
  int kept = 0;
  *late = 0;
  perp_twists(contacts->model, system->e, system->a, contacts->free);
  for (int i = 0; i < s->n; i++) {
    const perp_contact *contact = &s->contact[i];
    if (!s->kept[i]) {
      const double end = contact->gap +
                         h * perp_contact_speed(contacts->model->dim, system->e, contact, 0,
                                                contacts->free) -
                         near;
      s->kept[i] = contact->gap <= contacts->slop || end < -LATE;
      *late += s->kept[i];
    }
    kept += s->kept[i];
  }
  return kept;
}

/* k->a with impulses at the contacts of s, and of limits and motors in a step from v. */
static bool impulse_contacts_solve(perp_impulse_contacts *c, perp_constrained *k, set *s,
                                   perp_contact_law *law, double near, double h, const double *v)
{
  const size_t size = (size_t)c->model->nv * sizeof *c->f;
  perp_island_row *row = NULL;
  int rows = c->drives != NULL ? perp_drives_rows(c->drives, k, h, v, &row) : 0, late;
  memcpy(c->f, k->f, size);
  if (impulse_contacts_take(c, k, s, near, h, &late) == 0 && rows == 0) return true;
  perp_island_task task = { .contact = s->contact,
                            .n = s->n,
                            .kept = s->kept,
                            .impulse = s->impulse,
                            .slip = s->slip,
                            .reuse = PERP_CONTACT_TOL,
                            .h = h,
                            .before = c->before,
                            .free = c->free,
                            .belts = c->model->surfaces.belts,
                            .t_belts = k->e->t + h,
                            .align = true,
                            .row = row,
                            .n_rows = rows,
                            .law = law,
                            .user = c };
  for (int round = 0;; round++) {
    if (!perp_islands_step(c->islands, k, &task, PERP_LEVEL_VELOCITY, h, v, &c->lcp_s))
      return false;
    if (round + 1 == ROUNDS) return true;
    const int more = c->drives != NULL ? perp_drives_missed(c->drives, k, h, v) : 0;
    impulse_contacts_take(c, k, s, fmin(near, 0), h, &late);
    if (late == 0 && more == 0) return true;
    task.n_rows += more;
    memcpy(k->f, c->f, size);
    if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, v)) return false;
    perp_twists(c->model, k->e, k->a, c->free);
  }
}

bool perp_impulse_contacts_preview(perp_impulse_contacts *contacts, perp_constrained *system,
                                   double h, const double *v)
{
  if (contacts->drives != NULL) perp_drives_half(contacts->drives, PERP_DRIVES_START);
  if (contacts->islands == NULL) return perp_drives_step(contacts->drives, system, h, v);
  const bool good = impulse_contacts_solve(contacts, system, &contacts->start,
                                           impulse_contacts_approach,
                                           impulse_contacts_near(contacts, system->e->t, h), h, v);
  if (good && contacts->drives != NULL) perp_drives_accept(contacts->drives, h);
  return good;
}

bool perp_impulse_contacts_correct(perp_impulse_contacts *c, perp_constrained *k, double t,
                                   double *q)
{
  if (c->islands == NULL) return true;
  perp_contact_count count = { 0 };
  bool moved = true;
  for (int pass = 0; moved; pass++) {
    perp_constrained_at(k, t, q);
    if (!impulse_contacts_find(c, k, &c->end, c->last[1], c->n_last[1])) return false;
    if (c->post == NULL || pass == perp_contact_post_passes(c->post) ||
        !perp_contact_post_deep(c->post, c->end.contact, NULL, c->end.n, false))
      break;
    if (!perp_contact_post_position(c->post, k, c->end.contact, NULL, c->end.n, q, &moved, &count))
      return false;
  }
  perp_contact_count_add(perp_islands_count(c->islands), &count);
  return true;
}

/* Contacts of the end that touch: their gap is closed, or they were kept from penetrating. */
static void impulse_contacts_touch(perp_impulse_contacts *contacts)
{
  const set *s = &contacts->start;
  for (int i = 0, j = 0; i < contacts->end.n; i++) {
    const perp_contact *contact = &contacts->end.contact[i];
    while (j < s->n && s->contact[j].id < contact->id) j++;
    const bool pressed = j < s->n && s->contact[j].id == contact->id && s->kept[j] &&
                         perp_dot(3, s->impulse + 3 * (size_t)j, s->contact[j].n) > 0;
    contacts->end.kept[i] = contact->gap <= contacts->slop ||
                            (pressed && contact->gap <= 1e-6 * contacts->size);
  }
}

bool perp_impulse_contacts_finish(perp_impulse_contacts *c, perp_constrained *k, double h)
{
  if (c->drives != NULL) perp_drives_half(c->drives, PERP_DRIVES_END);
  if (c->islands == NULL) return perp_drives_step(c->drives, k, h, c->still);
  impulse_contacts_touch(c);
  /* near = infinity: those that do not touch have no part in the end of this step */
  const bool good = impulse_contacts_solve(c, k, &c->end, impulse_contacts_rebound, -HUGE_VAL, h,
                                           c->still);
  if (good && c->drives != NULL) perp_drives_accept(c->drives, h);
  return good;
}

/* ---- reports ---- */

static bool impulse_contacts_room(perp_impulse_contacts *contacts, perp_constrained *system)
{
  const int n = contacts->start.n + contacts->end.n;
  if (n <= contacts->cap) return true;
  const size_t cap = (size_t)n + (size_t)n / 2 + 16;
  contacts->n_shown = contacts->n_last[0] = contacts->n_last[1] = contacts->cap = 0;
  free(contacts->shown);
  free(contacts->shown_impulse);
  contacts->shown = malloc(cap * sizeof *contacts->shown);
  contacts->shown_impulse = malloc(3 * cap * sizeof *contacts->shown_impulse);
  for (int i = 0; i < 2; i++) {
    free(contacts->last[i]);
    contacts->last[i] = malloc(cap * sizeof *contacts->last[i]);
  }
  if (contacts->shown != NULL && contacts->shown_impulse != NULL && contacts->last[0] != NULL &&
      contacts->last[1] != NULL)
    contacts->cap = (int)cap;
  else
    system->status = PERP_FAIL(system->ctx, PERP_ERR_NOMEM, "no memory for %d contacts", n);
  return contacts->cap > 0;
}

static void impulse_contacts_show(perp_impulse_contacts *contacts, const perp_contact *contact,
                                  const double *P)
{
  contacts->shown[contacts->n_shown] = *contact;
  memcpy(contacts->shown_impulse + 3 * (size_t)contacts->n_shown++, P, 3 * sizeof *P);
}

bool perp_impulse_contacts_accept(perp_impulse_contacts *c, perp_constrained *k, double h)
{
  if (c->drives != NULL) {
    const double *force = perp_drives_forces(c->drives);
    memcpy(c->force, force, (size_t)c->model->n_drives * sizeof *force);
  }
  (void)h;
  if (c->islands == NULL) return true;
  if (!impulse_contacts_room(c, k)) return false;
  const set *both[2] = { &c->start, &c->end };
  for (int end = 0; end < 2; end++) {
    const set *s = both[end];
    c->n_last[end] = 0;
    for (int i = 0; i < s->n; i++) {
      memory *m = &c->last[end][c->n_last[end]];
      *m = (memory){ .id = s->contact[i].id, .slip = s->slip[i] };
      memcpy(m->impulse, s->impulse + 3 * (size_t)i, sizeof m->impulse);
      if (s->kept[i]) c->n_last[end]++;
    }
  }
  /* one contact of both ends is shown once, with both impulses */
  c->n_shown = 0;
  int j = 0;
  for (int i = 0; i < c->start.n; i++) {
    const perp_contact *x = &c->start.contact[i];
    for (; j < c->end.n && c->end.contact[j].id < x->id; j++)
      impulse_contacts_show(c, &c->end.contact[j], c->end.impulse + 3 * (size_t)j);
    impulse_contacts_show(c, x, c->start.impulse + 3 * (size_t)i);
    if (j == c->end.n || c->end.contact[j].id != x->id) continue;
    double *P = c->shown_impulse + 3 * ((size_t)c->n_shown - 1);
    for (int a = 0; a < 3; a++) P[a] += c->end.impulse[3 * j + a];
    j++;
  }
  for (; j < c->end.n; j++)
    impulse_contacts_show(c, &c->end.contact[j], c->end.impulse + 3 * (size_t)j);
  return true;
}

void perp_impulse_contacts_info(const perp_impulse_contacts *contacts, perp_step_info *info)
{
  info->n_contacts = contacts->n_shown;
  info->contacts = contacts->n_shown > 0 ? contacts->shown : NULL;
  info->impulse = contacts->n_shown > 0 ? contacts->shown_impulse : NULL;
  info->drive = contacts->drives != NULL ? contacts->force : NULL;
}

const perp_contact_count *perp_impulse_contacts_count(const perp_impulse_contacts *contacts)
{
  return contacts->islands != NULL ? perp_islands_count(contacts->islands)
                                   : perp_drives_count(contacts->drives);
}

void perp_impulse_contacts_observe(perp_impulse_contacts *contacts, perp_contact_observer *observer,
                                   void *user)
{
  if (contacts->islands != NULL)
    perp_islands_observe(contacts->islands, observer, user);
  else
    perp_drives_observe(contacts->drives, observer, user);
}

void perp_impulse_contacts_times(const perp_impulse_contacts *contacts, perp_times *times)
{
  times->collision = contacts->collision_s;
  times->lcp = contacts->lcp_s;
  times->integrate -= contacts->collision_s + contacts->lcp_s;
}
