/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friction of geoms.  In MuJoCo a contact has the friction of the geom of higher priority, else the
 * larger numbers of both, and as many of them as condim says, which is the larger one again: 1
 * none, 3 sliding, 4 spinning, too (a length, times the normal force, as `torsion` here), 6
 * rolling, too (`rolling`).  Here each surface has what its condim lets act, and a pair the larger
 * numbers.  These are the same unless priorities differ, or a number that the one condim hides is
 * larger than what the other one shows: such pairs of surfaces are said one by one, as materials.
 */
#include "experiments/import/mjcf_private.h"

#include <math.h>
#include <string.h>

struct perp_mj_surface {
  int priority, condim;
  double friction[3];
};

/* mu, torsion [m] and rolling [m] of a contact, as MuJoCo has them */
static void surfaces_contact(const struct perp_mj_surface *a, const struct perp_mj_surface *b,
                             double f[3])
{
  const struct perp_mj_surface *only = a->priority > b->priority   ? a
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
static void surfaces_numbers(perp_mj *x, const double f[3], bool all)
{
  static const char *const key[] = { "mu", "torsion", "rolling" };
  for (int k = 0; k < 3; k++)
    if (k == 0 || all || f[k] > 0) perp_mj_number(x, key[k], f[k]);
}

/* Which of the kinds of surfaces has this geom?  A new one where none is like it. */
static int surfaces_kind(perp_mj *x, int g)
{
  const mjModel *m = x->m;
  struct perp_mj_surface own = { .priority = m->geom_priority[g], .condim = m->geom_condim[g] };
  memcpy(own.friction, m->geom_friction + 3 * g, sizeof own.friction);
  for (int i = 0; i < x->n_surfaces; i++) {
    const struct perp_mj_surface *s = &x->surface[i];
    if (s->priority == own.priority && s->condim == own.condim &&
        memcmp(s->friction, own.friction, sizeof own.friction) == 0)
      return i;
  }
  x->surface[x->n_surfaces] = own;
  return x->n_surfaces++;
}

/* Does the rule of a scene give another contact than MuJoCo's? */
static bool surfaces_differ(const struct perp_mj_surface *a, const struct perp_mj_surface *b,
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

void perp_mj_surfaces(perp_mj *x, const int *which, int n)
{
  double f[3];
  x->surface = perp_pool_alloc(&x->pool, (size_t)n + 1, sizeof *x->surface);
  x->surface_of = perp_pool_alloc(&x->pool, (size_t)x->m->ngeom + 1, sizeof *x->surface_of);
  for (int i = 0; i < n; i++) x->surface_of[which[i]] = surfaces_kind(x, which[i]);
  for (int i = 0; i < x->n_surfaces; i++)
    for (int j = 0; j < i; j++) {
      if (!surfaces_differ(&x->surface[j], &x->surface[i], f)) continue;
      if (!x->materials) fputs("pairs:\n", x->out);
      x->materials = true;
      fprintf(x->out, "  - { a: surface_%d, b: surface_%d", j, i);
      surfaces_numbers(x, f, true);
      fputs(" }\n", x->out);
    }
  if (!x->materials) return;
  fputs("materials:\n", x->out);
  for (int i = 0; i < x->n_surfaces; i++) {
    surfaces_contact(&x->surface[i], &x->surface[i], f);
    fprintf(x->out, "  surface_%d: { restitution: 0", i);
    surfaces_numbers(x, f, false);
    fputs(" }\n", x->out);
  }
}

void perp_mj_surface(perp_mj *x, int g)
{
  double f[3];
  const struct perp_mj_surface *s = &x->surface[x->surface_of[g]];
  if (x->materials) {
    fprintf(x->out, ", material: surface_%d", x->surface_of[g]);
    return;
  }
  surfaces_contact(s, s, f);
  surfaces_numbers(x, f, false);
}
