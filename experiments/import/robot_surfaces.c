/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friction of geoms.  In MuJoCo a contact has the friction of the geom of higher priority, else the
 * larger numbers of both, and as many of them as condim says, which is the larger one again: 1
 * none, 3 sliding, 4 spinning, too (a length, times the normal force, as `torsion` here), 6
 * rolling, too (`rolling`).  Here each surface has what its condim lets act, and a pair the larger
 * numbers.  These are the same unless priorities differ, or a number that the one condim hides is
 * larger than what the other one shows: such pairs of surfaces are said one by one, as materials.
 */
#include "experiments/import/robot_scene.h"
#include "experiments/base/json.h"
#include "solvers/core/core.h"

#include <math.h>
#include <string.h>

struct perp_rs_surface {
  int priority, condim;
  double friction[3];
};

/* mu, torsion [m] and rolling [m] of a contact, as MuJoCo has them */
static void surfaces_contact(const struct perp_rs_surface *a, const struct perp_rs_surface *b,
                             double f[3])
{
  const struct perp_rs_surface *only = a->priority > b->priority   ? a
                                       : b->priority > a->priority ? b
                                                                   : NULL;
  const int condim = only != NULL ? only->condim : a->condim > b->condim ? a->condim : b->condim;
  static const int from[3] = { 3, 4, 6 };
  for (int k = 0; k < 3; k++) {
    f[k] = only != NULL ? only->friction[k] : fmax(a->friction[k], b->friction[k]);
    if (condim < from[k]) f[k] = 0;
  }
}

/* all: those that are 0, too */
static void surfaces_numbers(perp_rs *rs, const double f[3], bool all)
{
  static const char *const key[] = { "mu", "torsion", "rolling" };
  for (int k = 0; k < 3; k++)
    if (k == 0 || all || f[k] > 0) perp_rs_number(rs, key[k], f[k]);
}

/* Which of the kinds of surfaces has this geom?  A new one where none is like it. */
static int surfaces_kind(perp_rs *rs, int geom)
{
  const perp_robot *robot = rs->robot;
  struct perp_rs_surface own = { .priority = robot->geom[geom].priority,
                                 .condim = robot->geom[geom].condim };
  memcpy(own.friction, robot->geom[geom].friction, sizeof own.friction);
  for (int i = 0; i < rs->n_surfaces; i++) {
    const struct perp_rs_surface *surface = &rs->surface[i];
    if (surface->priority == own.priority && surface->condim == own.condim &&
        memcmp(surface->friction, own.friction, sizeof own.friction) == 0)
      return i;
  }
  rs->surface[rs->n_surfaces] = own;
  return rs->n_surfaces++;
}

/* Does the rule of a scene give another contact than MuJoCo's? */
static bool surfaces_differ(const struct perp_rs_surface *a, const struct perp_rs_surface *b,
                            double f[3])
{
  double own_a[3], own_b[3];
  bool differ = false;
  surfaces_contact(a, a, own_a);
  surfaces_contact(b, b, own_b);
  surfaces_contact(a, b, f);
  for (int k = 0; k < 3; k++) differ |= f[k] != fmax(own_a[k], own_b[k]);
  return differ;
}

/* Materials and pairs of them for n geoms, where the scene needs any. */
void perp_rs_surfaces(perp_rs *rs, const int *which, int n)
{
  double f[3];
  rs->surface = perp_pool_alloc(&rs->robot->pool, (size_t)n + 1, sizeof *rs->surface);
  rs->surface_of = perp_pool_alloc(&rs->robot->pool, (size_t)rs->robot->n_geoms + 1,
                                   sizeof *rs->surface_of);
  for (int i = 0; i < n; i++) rs->surface_of[which[i]] = surfaces_kind(rs, which[i]);
  for (int surface = 0; surface < rs->n_surfaces; surface++)
    for (int j = 0; j < surface; j++) {
      if (!surfaces_differ(&rs->surface[j], &rs->surface[surface], f)) continue;
      if (!rs->materials) fputs("pairs:\n", rs->out);
      rs->materials = true;
      fprintf(rs->out, "  - { a: surface_%d, b: surface_%d", j, surface);
      surfaces_numbers(rs, f, true);
      fputs(" }\n", rs->out);
    }
  if (!rs->materials) return;
  fputs("materials:\n", rs->out);
  for (int surface = 0; surface < rs->n_surfaces; surface++) {
    surfaces_contact(&rs->surface[surface], &rs->surface[surface], f);
    fprintf(rs->out, "  surface_%d: { restitution: 0", surface);
    surfaces_numbers(rs, f, false);
    fputs(" }\n", rs->out);
  }
}

/* What a shape says of its own surface. */
void perp_rs_surface_of(perp_rs *rs, int g)
{
  double f[3];
  const struct perp_rs_surface *surface = &rs->surface[rs->surface_of[g]];
  if (rs->materials) {
    fprintf(rs->out, ", material: surface_%d", rs->surface_of[g]);
    return;
  }
  surfaces_contact(surface, surface, f);
  surfaces_numbers(rs, f, false);
}
