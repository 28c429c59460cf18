/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/step_sum.h"

#include <string.h>

void perp_step_sum_layout(perp_step_sum *s, perp_arena *a)
{
  s->lambda = PERP_CARVE(a, double, s->m);
  s->drive = PERP_CARVE(a, double, s->drives);
}

static void step_sum_layout_grown(void *sum, perp_arena *a)
{
  perp_step_sum *s = sum;
  s->contact = PERP_CARVE(a, perp_contact, s->cap);
  s->spare = PERP_CARVE(a, perp_contact, s->cap);
  PERP_DOUBLES(a, 3 * (size_t)s->cap, &s->impulse, &s->spare_impulse);
}

void perp_step_sum_free(perp_step_sum *s)
{
  perp_arena_free(&s->grown);
}

void perp_step_sum_start(perp_step_sum *s)
{
  s->length = 0;
  s->n = 0;
  s->known = true;
  s->last = (perp_step_info){ 0 };
  memset(s->lambda, 0, (size_t)s->m * sizeof *s->lambda);
  memset(s->drive, 0, (size_t)s->drives * sizeof *s->drive);
}

/* room for n contacts; those at hand stay */
static perp_status step_sum_reserve(perp_ctx *ctx, perp_step_sum *s, int n)
{
  if (n <= s->cap) return PERP_OK;
  perp_arena old = s->grown;
  const perp_contact *contact = s->contact;
  const double *impulse = s->impulse;
  const int cap = s->cap;
  s->grown = (perp_arena){ 0 };
  s->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(ctx, &s->grown, step_sum_layout_grown, s);
  if (status != PERP_OK) s->cap = s->n = 0;
  if (s->n > 0 && cap > 0) {
    memcpy(s->contact, contact, (size_t)s->n * sizeof *contact);
    memcpy(s->impulse, impulse, 3 * (size_t)s->n * sizeof *impulse);
  }
  perp_arena_free(&old);
  return status;
}

perp_status perp_step_sum_add(perp_ctx *ctx, perp_step_sum *s, double h, const perp_step_info *info)
{
  PERP_TRY(step_sum_reserve(ctx, s, s->n + info->n_contacts));
  if (s->n + info->n_contacts > 0) {
    /* merge of both lists; a contact that is in both is where the later part had it */
    int n = 0;
    for (int i = 0, l = 0; i < s->n || l < info->n_contacts; n++) {
      const bool old = i < s->n &&
                       (l == info->n_contacts || s->contact[i].id <= info->contacts[l].id);
      const bool new = l < info->n_contacts &&
                       (i == s->n || info->contacts[l].id <= s->contact[i].id);
      double *sum = s->spare_impulse + 3 * n;
      s->spare[n] = new ? info->contacts[l] : s->contact[i];
      for (int k = 0; k < 3; k++)
        sum[k] = (old ? s->impulse[3 * i + k] : 0) + (new ? info->impulse[3 * l + k] : 0);
      i += old;
      l += new;
    }
    perp_contact *contact = s->contact;
    double *impulse = s->impulse;
    s->contact = s->spare;
    s->impulse = s->spare_impulse;
    s->spare = contact;
    s->spare_impulse = impulse;
    s->n = n;
  }
  s->length += h;
  s->last = *info;
  s->known = s->known && info->lambda != NULL;
  for (int i = 0; i < s->m && s->known; i++) s->lambda[i] += h * info->lambda[i];
  for (int i = 0; i < s->drives && info->drive != NULL; i++) s->drive[i] += h * info->drive[i];
  return PERP_OK;
}

void perp_step_sum_info(perp_step_sum *s, perp_step_info *info)
{
  *info = s->last;
  for (int i = 0; i < s->m && s->length > 0; i++) s->lambda[i] /= s->length;
  for (int i = 0; i < s->drives && s->length > 0; i++) s->drive[i] /= s->length;
  s->length = 0;
  info->lambda = s->known ? s->lambda : NULL;
  if (info->drive != NULL) info->drive = s->drive;
  info->n_contacts = s->n;
  info->contacts = s->n > 0 ? s->contact : NULL;
  info->impulse = s->n > 0 ? s->impulse : NULL;
}
