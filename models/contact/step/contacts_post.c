/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/contact/step/contacts_post.h"

#include <stdlib.h>
#include <string.h>

/* of the deepest overlap, or of the fastest approach: what leaves more is no correction */
static const double BAD = 0.01;

struct perp_contact_post {
  const perp_model *model;
  perp_contact_post_setup o;
  perp_stab_contacts how;
  perp_islands *islands;
  double softness;             /* 1/kg, of positions */
  double *before, *free;       /* [6 bodies] twists, see islands.h */
  unsigned char *kept;         /* [cap] */
  const perp_contact *contact; /* of the positions that are corrected, */
  const unsigned char *left;   /* and which are left as deep as they are */
  int cap;
  double *press;              /* of the next pass, NULL: none */
  perp_contact_passes *watch; /* NULL: nobody looks */
};

/* ---- life ---- */

perp_status perp_contact_stab(perp_ctx *ctx, const perp_parts *parts, const perp_stab_desc **stab,
                              void **ws)
{
  const perp_stab_sys no_rows = { 0 };
  *stab = (const perp_stab_desc *)parts->stab.d;
  return (*stab)->create(ctx, &no_rows, parts->stab.opts, ws);
}

static void contacts_post_layout(void *ws, perp_arena *arena)
{
  perp_contact_post *post = ws;
  PERP_DOUBLES(arena, 6 * (size_t)post->model->n_bodies, &post->before, &post->free);
}

static perp_status open_islands(perp_ctx *ctx, perp_contact_post *post, const perp_parts *parts)
{
  perp_parts normals = *parts;
  normals.contact = (perp_spec){ 0 };
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_contact, "frictionless", &normals.contact));
  const perp_contact_setup setup = { .tol = post->o.tol,
                                     .tol_data = post->o.tol_data,
                                     .budget = post->o.budget };
  perp_status status = perp_contacts_islands(ctx, post->model, &normals, &setup, post->o.threads,
                                             post->o.rows, &post->islands);
  perp_spec_free(&normals.contact);
  return status;
}

perp_status perp_contact_post_create(perp_ctx *ctx, const perp_model *model,
                                     const perp_parts *parts, const perp_stab_desc *stab,
                                     const void *ws, const perp_contact_post_setup *setup,
                                     perp_contact_post **out)
{
  perp_stab_contacts how = { 0 };
  *out = NULL;
  if (stab->contacts != NULL) stab->contacts(ws, &how);
  if (how.passes == 0 && !how.velocity) return PERP_OK;
  if (how.unweighted)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contacts are corrected with the masses of bodies (Cline 2002, eq. 3.7): "
                     "weight=none needs contact_passes=0");
  perp_contact_post like = { .model = model, .o = *setup, .how = how };
  void *memory;
  PERP_TRY(
      perp_workspace_create(ctx, "contacts", &like, sizeof like, contacts_post_layout, &memory));
  perp_contact_post *post = memory;
  double mass = 0;
  for (int b = 0; b < model->n_bodies; b++) mass += model->inertia[b].mass;
  post->softness = mass > 0 ? how.softness * model->n_bodies / mass : 0;
  perp_status status = open_islands(ctx, post, parts);
  if (status != PERP_OK) {
    perp_contact_post_destroy(post);
    return status;
  }
  *out = post;
  return PERP_OK;
}

void perp_contact_post_destroy(perp_contact_post *post)
{
  if (post == NULL) return;
  perp_islands_destroy(post->islands);
  free(post->kept);
  free(post);
}

void perp_contact_post_restart(perp_contact_post *post)
{
  perp_islands_restart(post->islands);
}

void perp_contact_post_keep(perp_contact_post *post, perp_step_end which)
{
  perp_islands_keep(post->islands, which);
}

void perp_contact_post_put_back(perp_contact_post *post, perp_step_end which)
{
  perp_islands_put_back(post->islands, which);
}

int perp_contact_post_passes(const perp_contact_post *post)
{
  return post->how.passes;
}

bool perp_contact_post_stops(const perp_contact_post *post)
{
  return post->how.velocity;
}

/* what is left alone */
static double contacts_post_tol(const perp_contact_post *post, bool swept)
{
  return fmax(fmax(post->how.tol, post->o.slop), swept ? post->how.swept * post->o.size : 0);
}

bool perp_contact_post_deep(const perp_contact_post *post, const perp_contact *contact,
                            const unsigned char *left, int n, bool swept)
{
  const double tol = contacts_post_tol(post, swept);
  for (int i = 0; i < n; i++)
    if (contact[i].gap < -tol && (left == NULL || !left[i])) return true;
  return false;
}

/* ---- derivatives ---- */

void perp_contact_post_watch(perp_contact_post *post, perp_contact_passes *passes)
{
  post->watch = passes;
}

double perp_contact_post_softness(const perp_contact_post *post)
{
  return post->softness;
}

void perp_contact_passes_clear(perp_contact_passes *passes)
{
  for (int i = 0; i < passes->n && i < PERP_CONTACT_PASSES; i++) free(passes->pass[i].q);
  *passes = (perp_contact_passes){ 0 };
}

/* A pass from q by system->a with the impulses of the islands; one block of memory. */
static void contacts_post_write(perp_contact_post *post, const perp_constrained *system,
                                const double *q, const perp_contact *contact, int n)
{
  perp_contact_passes *to = post->watch;
  const size_t nq = (size_t)post->model->nq, nv = (size_t)post->model->nv,
               m = (size_t)post->model->m, numbers = nq + nv + m + 3 * (size_t)n;
  if (to->n++ >= PERP_CONTACT_PASSES) return;
  double *memory = malloc(numbers * sizeof *memory + (size_t)n * sizeof *contact);
  to->lost |= memory == NULL;
  perp_contact_pass *at = &to->pass[to->n - 1];
  *at = (perp_contact_pass){ .q = memory };
  if (memory == NULL) return;
  at->n = n;
  at->x = memory + nq;
  at->lambda = at->x + nv;
  at->impulse = at->lambda + m;
  at->contact = (perp_contact *)(memory + numbers);
  memcpy(at->q, q, nq * sizeof *q);
  memcpy(at->x, system->a, nv * sizeof *q);
  memcpy(at->lambda, system->lambda, m * sizeof *q);
  memcpy(at->impulse, perp_islands_scratch(post->islands), 3 * (size_t)n * sizeof *q);
  memcpy(at->contact, contact, (size_t)n * sizeof *contact);
}

/* ---- corrections ---- */

static perp_status contacts_post_room(perp_ctx *ctx, perp_contact_post *post, int n)
{
  PERP_TRY(perp_islands_room(ctx, post->islands, n));
  if (n <= post->cap) return PERP_OK;
  unsigned char *kept = realloc(post->kept, (size_t)n + (size_t)n / 2 + 16);
  if (kept == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", n);
  post->kept = kept;
  post->cap = n + n / 2 + 16;
  return PERP_OK;
}

static double contacts_post_gap(const perp_contact_post *post, const perp_contact *contact)
{
  return post->left != NULL && post->left[contact - post->contact] ? fmax(contact->gap, 0)
                                                                   : contact->gap;
}

/* of corrections of positions: gaps, which a softness may leave */
static void contacts_post_law(void *user, const perp_contact *contact, double h,
                              const double *before, const double *free, perp_contact_terms *terms)
{
  const perp_contact_post *post = user;
  (void)h, (void)before, (void)free;
  terms->bias = contacts_post_gap(post, contact);
  terms->softness = post->softness;
}

/* From system->f and system->c to system->a with the impulses of the contacts; law: what their rows
 * have beside J_c system->a (NULL: nothing).  A failure counts.  What it has found may throw bodies
 * anywhere: no correction is better (usable is false). */
static bool contacts_post_correct(perp_contact_post *post, perp_constrained *system,
                                  const perp_contact *contact, int n, const unsigned char *kept,
                                  perp_contact_law *law, bool *usable, perp_contact_count *count)
{
  if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, 1, system->zeros)) return false;
  memset(post->before, 0, (size_t)6 * (size_t)post->model->n_bodies * sizeof *post->before);
  perp_twists(post->model, system->e, system->a, post->free);
  double *impulse = perp_islands_scratch(post->islands);
  memset(impulse, 0, (size_t)4 * (size_t)n * sizeof *impulse);
  perp_island_task task = { .contact = contact,
                            .n = n,
                            .kept = kept,
                            .impulse = impulse,
                            .slip = impulse + (size_t)3 * (size_t)n,
                            .reuse = post->o.tol,
                            .h = 1,
                            .before = post->before,
                            .free = post->free,
                            .still = law != NULL && perp_worst(post->model->nv, system->a) == 0,
                            .soft = law != NULL && post->softness > 0,
                            .law = law,
                            .user = post };
  const bool good = perp_islands_solve(post->islands, system, &task);
  /* problems of the solver like all others; contacts and islands are counted where they press */
  perp_contact_count one = *perp_islands_count(post->islands);
  one.contacts = one.islands = 0;
  perp_contact_count_add(count, &one);
  *usable = one.failures == 0 || one.data <= BAD;
  *perp_islands_count(post->islands) = (perp_contact_count){ 0 };
  if (good && !*usable) return true;
  if (good) perp_islands_apply(post->islands, system, &task, system->f);
  if (!good || !perp_constrained_solve(system, PERP_LEVEL_VELOCITY, 1, system->zeros)) return false;
  if (post->o.sleep != NULL) perp_sleep_still(post->o.sleep, system->a);
  return true;
}

/* Has the softness left overlaps that are corrected?  Those of system->a, a problem that was not
 * solved (contacts_post.h). */
static void contacts_post_judge(perp_contact_post *post, const perp_constrained *system,
                                const perp_contact *contact, int n, perp_contact_count *count)
{
  double deepest = 0, left = 0;
  perp_twists(post->model, system->e, system->a, post->free);
  for (int i = 0; i < n; i++) {
    const double gap = contacts_post_gap(post, &contact[i]);
    const double after = gap + perp_contact_speed(post->model->dim, system->e, &contact[i], 0,
                                                  post->free);
    deepest = fmax(deepest, -gap);
    left = fmax(left, -after);
  }
  if (left <= fmax(BAD * deepest, contacts_post_tol(post, false))) return;
  const perp_stats none = { .reason = PERP_NONE_WITHIN, .data = left / deepest };
  perp_contact_count_solve(count, "", &none);
}

void perp_contact_post_press(perp_contact_post *post, double *impulse)
{
  post->press = impulse;
}

bool perp_contact_post_position(perp_contact_post *p, perp_constrained *k,
                                const perp_contact *contact, const unsigned char *left, int n,
                                double *q, bool *moved, perp_contact_count *count)
{
  const perp_model *model = p->model;
  *moved = false;
  p->contact = contact;
  p->left = left;
  k->status = contacts_post_room(k->ctx, p, n);
  if (k->status != PERP_OK) return false;
  memset(k->f, 0, (size_t)model->nv * sizeof *k->f);
  if (p->press != NULL) {
    const perp_island_task task = { .contact = contact, .n = n, .impulse = p->press };
    perp_islands_apply(p->islands, k, &task, k->f);
    p->press = NULL;
  }
  perp_constrained_error(k, k->c);
  for (int i = 0; i < model->m; i++) k->c[i] = -k->c[i];
  const int64_t swept =
      count->swept; /* overlaps that a number of sweeps has left are counted there */
  if (!contacts_post_correct(p, k, contact, n, NULL, contacts_post_law, moved, count)) return false;
  if (!*moved) return true;
  if (p->softness > 0 && count->swept == swept) contacts_post_judge(p, k, contact, n, count);
  const double most = perp_worst(model->nv, k->a);
  if (p->how.limit > 0 && most > p->how.limit)
    for (int i = 0; i < model->nv; i++) k->a[i] *= p->how.limit / most;
  if (p->watch != NULL) contacts_post_write(p, k, q, contact, n);
  perp_constrained_retract(k, q, k->a, q);
  return true;
}

perp_ode_answer perp_contact_post_velocity(perp_contact_post *post, perp_constrained *system,
                                           double t, const perp_contact *contact, int n,
                                           double closed, double *v, perp_contact_count *count)
{
  const perp_model *model = post->model;
  const double slow = fmax(post->how.tol_v, post->o.slow);
  bool approach = false;
  system->status = contacts_post_room(system->ctx, post, n);
  if (system->status != PERP_OK) return PERP_ODE_FAILED;
  perp_twists(model, system->e, v, post->free);
  for (int i = 0; i < n; i++) {
    const perp_contact *touch = &contact[i];
    const double speed = perp_contact_speed(model->dim, system->e, touch, 0, post->free);
    post->kept[i] = touch->gap <= closed && !(touch->e > 0 && speed < -post->o.threshold) &&
                    !(post->o.rubs && touch->mu > 0);
    approach |= post->kept[i] && speed < -slow;
  }
  if (!approach) return PERP_ODE_OK;
  perp_eval_impulse(system->e, model, t, 0, v, system->f);
  if (model->m > 0) perp_constrained_product(system, v, system->c);
  bool usable;
  if (!contacts_post_correct(post, system, contact, n, post->kept, NULL, &usable, count))
    return PERP_ODE_FAILED;
  if (!usable) return PERP_ODE_OK;
  memcpy(v, system->a, (size_t)model->nv * sizeof *v);
  return PERP_ODE_CHANGED;
}
