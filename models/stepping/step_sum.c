/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/stepping/step_sum.h"

#include <string.h>

void perp_step_sum_layout(perp_step_sum *sum, perp_arena *arena)
{
  sum->lambda = PERP_CARVE(arena, double, sum->m);
  sum->drive = PERP_CARVE(arena, double, sum->drives);
}

static void step_sum_layout_grown(void *sum, perp_arena *arena)
{
  perp_step_sum *step_sum = sum;
  step_sum->contact = PERP_CARVE(arena, perp_contact, step_sum->cap);
  step_sum->spare = PERP_CARVE(arena, perp_contact, step_sum->cap);
  PERP_DOUBLES(arena, 3 * (size_t)step_sum->cap, &step_sum->impulse, &step_sum->spare_impulse);
}

void perp_step_sum_free(perp_step_sum *sum)
{
  perp_arena_free(&sum->grown);
}

void perp_step_sum_start(perp_step_sum *sum)
{
  sum->length = 0;
  sum->n = 0;
  sum->known = true;
  sum->last = (perp_step_info){ 0 };
  memset(sum->lambda, 0, (size_t)sum->m * sizeof *sum->lambda);
  memset(sum->drive, 0, (size_t)sum->drives * sizeof *sum->drive);
}

/* room for n contacts; those at hand stay */
static perp_status step_sum_reserve(perp_ctx *ctx, perp_step_sum *sum, int n)
{
  if (n <= sum->cap) return PERP_OK;
  perp_arena old = sum->grown;
  const perp_contact *contact = sum->contact;
  const double *impulse = sum->impulse;
  const int cap = sum->cap;
  sum->grown = (perp_arena){ 0 };
  sum->cap = n + n / 2 + 16;
  const perp_status status = perp_arena_layout(ctx, &sum->grown, step_sum_layout_grown, sum);
  if (status != PERP_OK) sum->cap = sum->n = 0;
  if (sum->n > 0 && cap > 0) {
    memcpy(sum->contact, contact, (size_t)sum->n * sizeof *contact);
    memcpy(sum->impulse, impulse, 3 * (size_t)sum->n * sizeof *impulse);
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

void perp_step_sum_info(perp_step_sum *sum, perp_step_info *info)
{
  *info = sum->last;
  for (int i = 0; i < sum->m && sum->length > 0; i++) sum->lambda[i] /= sum->length;
  for (int i = 0; i < sum->drives && sum->length > 0; i++) sum->drive[i] /= sum->length;
  sum->length = 0;
  info->lambda = sum->known ? sum->lambda : NULL;
  if (info->drive != NULL) info->drive = sum->drive;
  info->n_contacts = sum->n;
  info->contacts = sum->n > 0 ? sum->contact : NULL;
  info->impulse = sum->n > 0 ? sum->impulse : NULL;
}
