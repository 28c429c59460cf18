/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friction of geoms.  In MuJoCo a contact has the friction of the geom of higher priority, else the
 * larger numbers of both, and as many of them as condim says, which is the larger one again: 1
 * none, 3 sliding, 4 spinning, too (a length, times the normal force, as `torsion` here), 6
 * rolling, too (`rolling`).  Here each surface has what its condim lets act, and a pair the larger
 * numbers.  These are the same unless priorities differ, or a number that the one condim hides is
 * larger than what the other one shows: such pairs of surfaces are said one by one, as materials.
 */
#include "experiments/import/mjcf_model.h"
#include "experiments/base/json.h"
#include "solvers/core/core.h"

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
static void surfaces_numbers(perp_mj *mj, const double f[3], bool all)
{
  static const char *const key[] = { "mu", "torsion", "rolling" };
  for (int k = 0; k < 3; k++)
    if (k == 0 || all || f[k] > 0) perp_mj_number(mj, key[k], f[k]);
}

/* Which of the kinds of surfaces has this geom?  A new one where none is like it. */
static int surfaces_kind(perp_mj *mj, int g)
{
  const mjModel *robot = mj->m;
  struct perp_mj_surface own = { .priority = robot->geom_priority[g],
                                 .condim = robot->geom_condim[g] };
  memcpy(own.friction, robot->geom_friction + 3 * g, sizeof own.friction);
  for (int i = 0; i < mj->n_surfaces; i++) {
    const struct perp_mj_surface *surface = &mj->surface[i];
    if (surface->priority == own.priority && surface->condim == own.condim &&
        memcmp(surface->friction, own.friction, sizeof own.friction) == 0)
      return i;
  }
  mj->surface[mj->n_surfaces] = own;
  return mj->n_surfaces++;
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

/* Materials and pairs of them for n geoms, where the scene needs any. */
static void surfaces_write(perp_mj *mj, const int *which, int n)
{
  double f[3];
  mj->surface = perp_pool_alloc(&mj->pool, (size_t)n + 1, sizeof *mj->surface);
  mj->surface_of = perp_pool_alloc(&mj->pool, (size_t)mj->m->ngeom + 1, sizeof *mj->surface_of);
  for (int i = 0; i < n; i++) mj->surface_of[which[i]] = surfaces_kind(mj, which[i]);
  for (int i = 0; i < mj->n_surfaces; i++)
    for (int j = 0; j < i; j++) {
      if (!surfaces_differ(&mj->surface[j], &mj->surface[i], f)) continue;
      if (!mj->materials) fputs("pairs:\n", mj->out);
      mj->materials = true;
      fprintf(mj->out, "  - { a: surface_%d, b: surface_%d", j, i);
      surfaces_numbers(mj, f, true);
      fputs(" }\n", mj->out);
    }
  if (!mj->materials) return;
  fputs("materials:\n", mj->out);
  for (int i = 0; i < mj->n_surfaces; i++) {
    surfaces_contact(&mj->surface[i], &mj->surface[i], f);
    fprintf(mj->out, "  surface_%d: { restitution: 0", i);
    surfaces_numbers(mj, f, false);
    fputs(" }\n", mj->out);
  }
}

/* What a shape says of its own surface. */
static void surfaces_of_shape(perp_mj *mj, int g)
{
  double f[3];
  const struct perp_mj_surface *surface = &mj->surface[mj->surface_of[g]];
  if (mj->materials) {
    fprintf(mj->out, ", material: surface_%d", mj->surface_of[g]);
    return;
  }
  surfaces_contact(surface, surface, f);
  surfaces_numbers(mj, f, false);
}

/* Geoms as shapes.  Who may touch whom: in MuJoCo by bits (contype, conaffinity) and by pairs of
 * bodies that are excluded, here by groups, within which nothing touches.  Groups say exactly the
 * same where the pairs that must not touch fall apart into sets without a pair that must; what goes
 * beyond that is lost, and said. */

static const char *shapes_name(perp_mj *mj, int g)
{
  const char *name = mj_id2name(mj->m, mjOBJ_GEOM, g);
  if (name != NULL && name[0] != '\0') return name;
  return perp_pool_printf(&mj->pool, "%d of body %s", g,
                          perp_mj_name(mj, mjOBJ_BODY, "body", mj->m->geom_bodyid[g]));
}

static bool shapes_touching(const mjModel *robot, int g)
{
  return robot->geom_contype[g] != 0 || robot->geom_conaffinity[g] != 0;
}

/* ---- groups ---- */

/* Roots that a joint of the tree joins, neither of them the world. */
static bool shapes_joined(const perp_mj *mj, int a, int b)
{
  const mjModel *robot = mj->m;
  if (a == 0 || b == 0) return false;
  return (mj->root[robot->body_parentid[a]] == b && robot->body_jntnum[a] > 0) ||
         (mj->root[robot->body_parentid[b]] == a && robot->body_jntnum[b] > 0);
}

/* Does perp test this pair whatever its groups are? */
static bool shapes_tested(const perp_mj *mj, int g, int k)
{
  const int a = mj->root[mj->m->geom_bodyid[g]], b = mj->root[mj->m->geom_bodyid[k]];
  if (a == b) return false;
  return !shapes_joined(mj, a, b) || perp_mj_disabled(mj, mjDSBL_FILTERPARENT);
}

/* Must it be tested? */
static bool shapes_meet(const perp_mj *mj, int g, int k)
{
  const mjModel *robot = mj->m;
  const int a = robot->geom_bodyid[g], b = robot->geom_bodyid[k];
  const int low = a < b ? a : b, high = a < b ? b : a;
  if (!(robot->geom_contype[g] & robot->geom_conaffinity[k]) &&
      !(robot->geom_contype[k] & robot->geom_conaffinity[g]))
    return false;
  for (int e = 0; e < robot->nexclude; e++)
    if (robot->exclude_signature[e] == ((low + 1) << 16) + high + 1) return false;
  return true;
}

static int *shapes_groups(perp_mj *mj)
{
  const mjModel *robot = mj->m;
  const int n = robot->ngeom;
  int *group = perp_pool_alloc(&mj->pool, (size_t)n + 1, sizeof *group), groups = 0;
  for (int g = 0; g < n; g++) {
    if (!shapes_touching(robot, g)) continue;
    for (int k = 0; k < g; k++) {
      if (!shapes_touching(robot, k) || !shapes_tested(mj, g, k) || shapes_meet(mj, g, k)) continue;
      if (group[g] != 0 && group[g] == group[k]) continue;
      /* one group of both, if no pair of it must meet */
      bool good = true;
      for (int i = 0; i < n && good; i++) {
        if (i != g && (group[g] == 0 || group[i] != group[g])) continue;
        for (int l = 0; l < n && good; l++)
          if (l == k || (group[k] != 0 && group[l] == group[k]))
            good = !(shapes_touching(robot, i) && shapes_touching(robot, l) &&
                     shapes_tested(mj, i, l) && shapes_meet(mj, i, l));
      }
      if (!good) {
        perp_mj_lost(
            mj,
            "geoms %s and %s do not collide in MuJoCo: here they do, as no group is common to them",
            shapes_name(mj, g), shapes_name(mj, k));
        continue;
      }
      const int old_g = group[g], old_k = group[k],
                both = old_g != 0   ? old_g
                       : old_k != 0 ? old_k
                                    : ++groups;
      for (int i = 0; i < n; i++)
        if (i == g || i == k || (old_g != 0 && group[i] == old_g) ||
            (old_k != 0 && group[i] == old_k))
          group[i] = both;
    }
  }
  return group;
}

/* ---- one shape ---- */

/* The convex hull, as it collides in MuJoCo. */
static void shapes_mesh(perp_mj *mj, int g)
{
  const mjModel *robot = mj->m;
  const int mesh = robot->geom_dataid[g], graph = robot->mesh_graphadr[mesh];
  const int n = graph >= 0 ? robot->mesh_graph[graph] : robot->mesh_vertnum[mesh];
  const int *hull = graph >= 0 ? robot->mesh_graph + graph + 2 + n : NULL;
  double *p = perp_pool_alloc(&mj->pool, 3 * (size_t)n + 1, sizeof *p);
  for (int i = 0; i < n; i++) {
    const float *v = robot->mesh_vert +
                     3 * (robot->mesh_vertadr[mesh] + (hull != NULL ? hull[i] : i));
    for (int k = 0; k < 3; k++) p[3 * i + k] = (double)v[k];
  }
  fputs(", kind: polytope", mj->out);
  fputs(", vertices: [", mj->out);
  for (int i = 0; i < n; i++) {
    char a[40], b[40], c[40];
    perp_format_real(p[3 * i], a, sizeof a);
    perp_format_real(p[3 * i + 1], b, sizeof b);
    perp_format_real(p[3 * i + 2], c, sizeof c);
    fprintf(mj->out, "%s[%s, %s, %s]", i > 0 ? ", " : "", a, b, c);
  }
  fputs("]", mj->out);
}

/* Rows along x from the corner -size; heights are parts of size[2], and the ground ends size[3]
 * below 0. */
static void shapes_field(perp_mj *mj, int g)
{
  const mjModel *robot = mj->m;
  const int field = robot->geom_dataid[g], nx = robot->hfield_ncol[field],
            ny = robot->hfield_nrow[field];
  const double *size = robot->hfield_size + 4 * field;
  const double spacing[2] = { 2 * size[0] / (nx - 1), 2 * size[1] / (ny - 1) };
  const float *h = robot->hfield_data + robot->hfield_adr[field];
  fputs(", kind: height-field", mj->out);
  perp_mj_vector(mj, "spacing", 2, spacing);
  perp_mj_number(mj, "depth", size[2] + size[3]);
  fputs(", heights: [", mj->out);
  for (int j = 0; j < ny; j++) {
    fputs(j > 0 ? ",\n      [" : "\n      [", mj->out);
    for (int i = 0; i < nx; i++) {
      if (i > 0) fputs(", ", mj->out);
      perp_mj_digits(mj, size[2] * (double)h[i + nx * j]);
    }
    fputs("]", mj->out);
  }
  fputs("]", mj->out);
}

static void shapes_place(perp_mj *mj, int g)
{
  const mjModel *robot = mj->m;
  const int b = robot->geom_bodyid[g], r = mj->root[b];
  double s[3], q[4], back[4], world[4];
  if (b == r && b != 0) { /* to the last digit */
    for (int i = 0; i < 3; i++) s[i] = robot->geom_pos[3 * g + i] - mj->com[3 * r + i];
    memcpy(q, robot->geom_quat + 4 * g, sizeof q);
  } else {
    perp_mj_local(mj, b, true, mj->d->geom_xpos + 3 * g, s);
    mju_mulQuat(world, mj->d->xquat + 4 * b, robot->geom_quat + 4 * g);
    mju_negQuat(back, mj->d->xquat + 4 * r);
    mju_mulQuat(q, back, world);
  }
  if (robot->geom_type[g] == mjGEOM_CAPSULE ||
      robot->geom_type[g] == mjGEOM_CYLINDER) { /* along z there, along x here */
    const double turn[4] = { sqrt(0.5), 0, sqrt(0.5), 0 };
    double turned[4];
    mju_mulQuat(turned, q, turn);
    memcpy(q, turned, sizeof q);
  }
  if (robot->geom_type[g] == mjGEOM_HFIELD) { /* from its middle there, from a corner here */
    const double *size = robot->hfield_size + 4 * robot->geom_dataid[g];
    const double corner[3] = { -size[0], -size[1], 0 };
    double turned[3];
    mju_rotVecQuat(turned, corner, q);
    for (int i = 0; i < 3; i++) s[i] += turned[i];
  }
  perp_mj_vector(mj, "x", 3, s);
  perp_mj_vector(mj, "quat", 4, q);
}

static void shapes_one(perp_mj *mj, int g, int group)
{
  static const char *const kinds[] = { "plane",     "",         "sphere", "capsule",
                                       "ellipsoid", "cylinder", "box" };
  const mjModel *robot = mj->m;
  const double *size = robot->geom_size + 3 * g;
  const int type = robot->geom_type[g];
  fputs("  - { name: ", mj->out);
  perp_write_quoted(mj->out, perp_mj_name(mj, mjOBJ_GEOM, "geom", g));
  perp_mj_body(mj, "body", robot->geom_bodyid[g]);
  const bool round = type == mjGEOM_CAPSULE || type == mjGEOM_CYLINDER;
  if (type == mjGEOM_MESH)
    shapes_mesh(mj, g);
  else if (type == mjGEOM_HFIELD)
    shapes_field(mj, g);
  else
    fprintf(mj->out, ", kind: %s", kinds[type]);
  if (type == mjGEOM_SPHERE || round) perp_mj_number(mj, "radius", size[0]);
  if (round) perp_mj_number(mj, "length", 2 * size[1]);
  if (type == mjGEOM_BOX || type == mjGEOM_ELLIPSOID) perp_mj_vector(mj, "half", 3, size);
  shapes_place(mj, g);
  surfaces_of_shape(mj, g);
  if (group != 0) fprintf(mj->out, ", group: %d", group);
  fputs(" }\n", mj->out);
}

/* ---- what contacts of MuJoCo are beyond those of perp ---- */

static void shapes_beyond(perp_mj *mj, const int *which, int n)
{
  const mjModel *robot = mj->m;
  for (int i = 0; i < n; i++)
    if (robot->geom_margin[which[i]] != 0)
      perp_mj_lost(mj, "margin %.4g m of geom %s: in MuJoCo contacts act before it touches",
                   robot->geom_margin[which[i]], shapes_name(mj, which[i]));
  if (n > 0)
    perp_mj_note(mj,
                 "contacts (%d geoms) are compliant in MuJoCo (solref, solimp): here they are "
                 "rigid, without restitution",
                 n);
}

void perp_mj_shapes(perp_mj *mj)
{
  const mjModel *robot = mj->m;
  int *which = perp_pool_alloc(&mj->pool, (size_t)robot->ngeom + 1, sizeof *which), n = 0,
      drawn = 0;
  if (perp_mj_disabled(mj, mjDSBL_CONTACT | mjDSBL_CONSTRAINT)) {
    fputs("shapes:\n", mj->out);
    perp_mj_note(mj, "contacts are disabled: the scene has no shapes");
    return;
  }
  for (int p = 0; p < robot->npair; p++)
    perp_mj_lost(mj, "pair %s, %s: a contact with parameters of its own",
                 shapes_name(mj, robot->pair_geom1[p]), shapes_name(mj, robot->pair_geom2[p]));
  for (int g = 0; g < robot->ngeom; g++) {
    if (!shapes_touching(robot, g))
      drawn++;
    else if (robot->geom_type[g] == mjGEOM_HFIELD && mj->root[robot->geom_bodyid[g]] != 0)
      perp_mj_lost(mj, "height field %s of a moving body: perp has only fixed height fields",
                   shapes_name(mj, g));
    else
      which[n++] = g;
  }
  const int *group = shapes_groups(mj);
  surfaces_write(mj, which, n);
  fputs("shapes:\n", mj->out);
  for (int i = 0; i < n; i++) shapes_one(mj, which[i], group[which[i]]);
  shapes_beyond(mj, which, n);
  if (n > 0) mj->dissipative = true;
  if (drawn > 0) perp_mj_note(mj, "%d geoms cannot collide and are not in the scene", drawn);
}
