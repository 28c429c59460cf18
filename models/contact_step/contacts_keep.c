/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps that are made again: the guesses of their contacts. */
#include "models/contact_step/contacts_private.h"

#include <string.h>

static void contacts_keep_layout(void *contacts, perp_arena *a)
{
  perp_contacts *c = contacts;
  c->aside.memory = PERP_CARVE(a, perp_contact_memory, c->aside.cap);
}

perp_status perp_contacts_keep(perp_ctx *ctx, perp_contacts *c)
{
  if (c->n_before > c->aside.cap) {
    perp_arena_free(&c->aside.arena);
    c->aside.cap = c->cap;
    const perp_status status = perp_arena_layout(ctx, &c->aside.arena, contacts_keep_layout, c);
    if (status != PERP_OK) c->aside.cap = 0;
    PERP_TRY(status);
  }
  c->aside.n = c->n_before;
  c->aside.h = c->h;
  if (c->n_before > 0) memcpy(c->aside.memory, c->before, (size_t)c->n_before * sizeof *c->before);
  return PERP_OK;
}

void perp_contacts_put_back(perp_contacts *c)
{
  c->n_before = c->aside.n; /* there is room: arrays only grow */
  c->h = c->aside.h;
  if (c->n_before > 0) memcpy(c->before, c->aside.memory, (size_t)c->n_before * sizeof *c->before);
}
