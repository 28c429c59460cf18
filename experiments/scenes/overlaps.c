/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/scenes/overlaps.h"

#include "models/collision/start.h"

#include <stdio.h>
#include <stdlib.h>

static const double RESTING = 0.01; /* of the width of the smaller shape */
enum { SENTENCE = 320, NAME = 40 };

static const char *overlaps_name(const perp_model *model, int body, char buf[NAME])
{
  if (body == PERP_WORLD) return "world";
  const char *name = perp_model_body(model, body)->name;
  if (name != NULL && name[0] != '\0')
    snprintf(buf, NAME, "%.36s", name);
  else
    snprintf(buf, NAME, "%d", body);
  return buf;
}

static void overlaps_length(double m, char buf[NAME])
{
  if (m < 1)
    snprintf(buf, NAME, "%.3g mm", 1e3 * m);
  else
    snprintf(buf, NAME, "%.3g m", m);
}

perp_status perp_overlaps_tell(perp_ctx *ctx, const perp_model *model, perp_overlap_teller *tell,
                               void *user)
{
  char text[SENTENCE], name_a[NAME], name_b[NAME], length[NAME];
  perp_start_overlap *list;
  int n, body, b;
  double depth;
  for (int i = 0; perp_model_no_contact_of(model, i, &body, &b, &depth); i++) {
    if (!(depth > 0)) continue;
    overlaps_length(depth, length);
    snprintf(text, sizeof text,
             "shapes of %s and %s overlap by %s as drawn: they do not collide with each other",
             overlaps_name(model, body, name_a), overlaps_name(model, b, name_b), length);
    tell(user, true, text);
  }
  PERP_TRY(perp_start_overlaps(ctx, model, &list, &n));
  for (int i = 0; i < n; i++) {
    if (!(list[i].part > RESTING)) continue;
    const char *of_a = overlaps_name(model, list[i].a, name_a),
               *of_b = overlaps_name(model, list[i].b, name_b);
    overlaps_length(list[i].depth, length);
    snprintf(text, sizeof text,
             "Shapes of %s and %s overlap by %s at the start and push each other apart. Move them "
             "apart, or write `no_contact: [[%s, %s]]` if they do not collide.",
             of_a, of_b, length, of_a, of_b);
    tell(user, false, text);
  }
  free(list);
  return PERP_OK;
}
