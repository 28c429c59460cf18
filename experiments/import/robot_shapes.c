/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Geoms as shapes.  Who may touch whom: in MuJoCo by bits (contype, conaffinity) and by pairs of
 * bodies that are excluded, here by pairs of bodies and by groups, within which nothing touches.
 * Excluded bodies are pairs.  Bits are groups where the geoms that must not touch fall apart into
 * sets without a pair that must, and pairs of bodies otherwise; what goes beyond is lost, and said.
 */

#include "experiments/base/json.h"
#include "experiments/import/robot_mesh.h"
#include "experiments/import/robot_scene.h"
#include "models/geometry/kinematics.h"
#include "solvers/core/core.h"

#include <math.h>
#include <string.h>

static const char *shapes_name(perp_rs *rs, int geom)
{
  const char *name = rs->robot->geom[geom].name;
  if (name[0] != '\0') return name;
  return perp_pool_printf(&rs->robot->pool, "%d of body %s", geom,
                          perp_rs_body_name(rs, rs->robot->geom[geom].body));
}

static bool shapes_touching(const perp_robot *robot, int geom)
{
  return robot->geom[geom].contype != 0 || robot->geom[geom].conaffinity != 0;
}

/* ---- pairs of bodies ---- */

/* Where a pair of roots a < b is in the list, or belongs. */
static int shapes_apart_place(const perp_rs *rs, int a, int b, bool *there)
{
  int lo = 0, hi = rs->n_apart;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;
    const perp_robot_pair *pair = &rs->apart[mid];
    if (pair->a < a || (pair->a == a && pair->b < b))
      lo = mid + 1;
    else
      hi = mid;
  }
  *there = lo < rs->n_apart && rs->apart[lo].a == a && rs->apart[lo].b == b;
  return lo;
}

static bool shapes_apart(const perp_rs *rs, int a, int b)
{
  bool there;
  shapes_apart_place(rs, a < b ? a : b, a < b ? b : a, &there);
  return there;
}

static void shapes_apart_add(perp_rs *rs, int a, int b)
{
  const perp_robot_pair pair = { a < b ? a : b, a < b ? b : a };
  bool there;
  const int at = shapes_apart_place(rs, pair.a, pair.b, &there);
  if (there) return;
  rs->apart = perp_pool_grown(&rs->robot->pool, rs->apart, rs->n_apart, sizeof *rs->apart);
  memmove(rs->apart + at + 1, rs->apart + at, (size_t)(rs->n_apart - at) * sizeof *rs->apart);
  rs->apart[at] = pair;
  rs->n_apart++;
}

/* Roots that a joint of the tree joins, neither of them the world. */
static bool shapes_joined(const perp_rs *rs, int a, int body)
{
  const perp_robot *robot = rs->robot;
  if (a == 0 || body == 0) return false;
  return (robot->body[robot->body[a].parent].root == body && robot->body[a].n_joints > 0) ||
         (robot->body[robot->body[body].parent].root == a && robot->body[body].n_joints > 0);
}

/* Does perp test this pair whatever its groups are? */
static bool shapes_tested(const perp_rs *rs, int geom, int k)
{
  const perp_robot *robot = rs->robot;
  const int root = robot->body[robot->geom[geom].body].root,
            b = robot->body[robot->geom[k].body].root;
  if (root == b || shapes_apart(rs, root, b)) return false;
  return !shapes_joined(rs, root, b) || !(rs->robot->acts & PERP_ROBOT_PARENT_FILTER);
}

/* Must it be tested? */
static bool shapes_meet(const perp_rs *rs, int geom, int k)
{
  const perp_robot *robot = rs->robot;
  const int body = robot->geom[geom].body, b = robot->geom[k].body;
  if (!(robot->geom[geom].contype & robot->geom[k].conaffinity) &&
      !(robot->geom[k].contype & robot->geom[geom].conaffinity))
    return false;
  for (int exclude = 0; exclude < robot->n_excludes; exclude++)
    if ((robot->exclude[exclude].a == body && robot->exclude[exclude].b == b) ||
        (robot->exclude[exclude].a == b && robot->exclude[exclude].b == body))
      return false;
  return true;
}

/* Must no pair of shapes of two roots be tested?  some: there is one that perp tests. */
static bool shapes_none_meets(const perp_rs *rs, int root, int b, bool *some)
{
  const perp_robot *robot = rs->robot;
  *some = false;
  for (int geom = 0; geom < robot->n_geoms; geom++) {
    if (robot->body[robot->geom[geom].body].root != root || !shapes_touching(robot, geom)) continue;
    for (int k = 0; k < robot->n_geoms; k++) {
      if (robot->body[robot->geom[k].body].root != b || !shapes_touching(robot, k)) continue;
      *some = *some || shapes_tested(rs, geom, k);
      if (shapes_meet(rs, geom, k)) return false;
    }
  }
  return true;
}

/* Bodies that are excluded with all that is welded to them. */
static void shapes_excluded(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  for (int exclude = 0; exclude < robot->n_excludes; exclude++) {
    const int root = robot->body[robot->exclude[exclude].a].root,
              b = robot->body[robot->exclude[exclude].b].root;
    bool some;
    if (root != b && !shapes_apart(rs, root, b) && shapes_none_meets(rs, root, b, &some) && some)
      shapes_apart_add(rs, root, b);
  }
}

/* ---- groups ---- */

static int *shapes_groups(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  const int n = robot->n_geoms;
  int *group = perp_pool_alloc(&rs->robot->pool, (size_t)n + 1, sizeof *group), groups = 0;
  for (int geom = 0; geom < n; geom++) {
    if (!shapes_touching(robot, geom)) continue;
    for (int k = 0; k < geom; k++) {
      if (!shapes_touching(robot, k) || !shapes_tested(rs, geom, k) || shapes_meet(rs, geom, k))
        continue;
      if (group[geom] != 0 && group[geom] == group[k]) continue;
      /* one group of both, if no pair of it must meet */
      bool good = true;
      for (int i = 0; i < n && good; i++) {
        if (i != geom && (group[geom] == 0 || group[i] != group[geom])) continue;
        for (int l = 0; l < n && good; l++)
          if (l == k || (group[k] != 0 && group[l] == group[k]))
            good = !(shapes_touching(robot, i) && shapes_touching(robot, l) &&
                     shapes_tested(rs, i, l) && shapes_meet(rs, i, l));
      }
      if (!good) {
        const int root = robot->body[robot->geom[geom].body].root,
                  b = robot->body[robot->geom[k].body].root;
        bool some;
        if (shapes_none_meets(rs, root, b, &some))
          shapes_apart_add(rs, root, b);
        else
          perp_robot_lost(
              rs->robot,
              "geoms %s and %s do not collide in MuJoCo: here they do, as other shapes of their "
              "bodies must",
              shapes_name(rs, geom), shapes_name(rs, k));
        continue;
      }
      const int old_g = group[geom], old_k = group[k],
                both = old_g != 0   ? old_g
                       : old_k != 0 ? old_k
                                    : ++groups;
      for (int i = 0; i < n; i++)
        if (i == geom || i == k || (old_g != 0 && group[i] == old_g) ||
            (old_k != 0 && group[i] == old_k))
          group[i] = both;
    }
  }
  return group;
}

/* ---- one shape ---- */

/* The convex hull, as it collides in MuJoCo. */
static void shapes_mesh(perp_rs *rs, int geom)
{
  const perp_robot_mesh *mesh = &rs->robot->mesh[rs->robot->geom[geom].asset];
  double off = 0;
  int n, *hull = perp_robot_mesh_hull(rs->robot, mesh, PERP_ROBOT_MESH_CORNERS, &n, &off);
  if (hull == NULL) n = mesh->n;
  if (off > 0)
    perp_robot_note(rs->robot,
                    "mesh of geom %s: %d corners of its hull collide; the others are up to %.2g m "
                    "outside",
                    shapes_name(rs, geom), n, off);
  fputs(", kind: polytope, vertices: [", rs->out);
  for (int i = 0; i < n; i++) {
    const double *v = mesh->vertex + 3 * (hull != NULL ? hull[i] : i);
    char a[40], b[40], c[40];
    perp_format_real(v[0], a, sizeof a);
    perp_format_real(v[1], b, sizeof b);
    perp_format_real(v[2], c, sizeof c);
    fprintf(rs->out, "%s[%s, %s, %s]", i > 0 ? ", " : "", a, b, c);
  }
  fputs("]", rs->out);
}

/* Rows along x from the corner -size; heights are parts of size[2], and the ground ends size[3]
 * below 0. */
static void shapes_field(perp_rs *rs, int geom)
{
  const perp_robot_field *field = &rs->robot->field[rs->robot->geom[geom].asset];
  const int nx = field->columns, ny = field->rows;
  const double *size = field->size;
  const double spacing[2] = { 2 * size[0] / (nx - 1), 2 * size[1] / (ny - 1) };
  fputs(", kind: height-field", rs->out);
  perp_rs_vector(rs, "spacing", 2, spacing);
  perp_rs_number(rs, "depth", size[2] + size[3]);
  fputs(", heights: [", rs->out);
  for (int j = 0; j < ny; j++) {
    fputs(j > 0 ? ",\n      [" : "\n      [", rs->out);
    for (int i = 0; i < nx; i++) {
      if (i > 0) fputs(", ", rs->out);
      perp_rs_digits(rs, size[2] * field->height[i + nx * j]);
    }
    fputs("]", rs->out);
  }
  fputs("]", rs->out);
}

static void shapes_place(perp_rs *rs, int g)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_geom *geom = &robot->geom[g];
  const int body = geom->body, root = robot->body[body].root;
  double s[3], q[4], back[4], world[4];
  if (body == root && body != 0) { /* to the last digit */
    for (int i = 0; i < 3; i++) s[i] = geom->x[i] - rs->com[3 * root + i];
    memcpy(q, geom->quat, sizeof q);
  } else {
    perp_rs_world(rs, body, geom->x, world);
    perp_rs_local(rs, body, true, world, s);
    perp_quat_product(robot->body[body].turn, geom->quat, world);
    for (int i = 0; i < 4; i++) back[i] = (i > 0 ? -1 : 1) * robot->body[root].turn[i];
    perp_quat_product(back, world, q);
  }
  if (geom->kind == PERP_ROBOT_CAPSULE || geom->kind == PERP_ROBOT_CYLINDER) {
    const double turn[4] = { sqrt(0.5), 0, sqrt(0.5), 0 }; /* along z there, along x here */
    double turned[4];
    perp_quat_product(q, turn, turned);
    memcpy(q, turned, sizeof q);
  }
  if (geom->kind == PERP_ROBOT_FIELD) { /* from its middle there, from a corner here */
    const double *size = robot->field[geom->asset].size;
    double R[9];
    perp_quat_matrix(q, R);
    for (int i = 0; i < 3; i++) s[i] -= R[i] * size[0] + R[i + 3] * size[1];
  }
  perp_rs_vector(rs, "x", 3, s);
  perp_rs_vector(rs, "quat", 4, q);
}

static void shapes_one(perp_rs *rs, int geom, int group)
{
  static const char *const kinds[] = { "plane",     "",         "sphere", "capsule",
                                       "ellipsoid", "cylinder", "box" };
  const perp_robot *robot = rs->robot;
  const double *size = robot->geom[geom].size;
  const int type = robot->geom[geom].kind;
  fputs("  - { name: ", rs->out);
  perp_write_quoted(rs->out, perp_rs_name(rs, robot->geom[geom].name, "geom", geom));
  perp_rs_body(rs, "body", robot->geom[geom].body);
  const bool round = type == PERP_ROBOT_CAPSULE || type == PERP_ROBOT_CYLINDER;
  if (type == PERP_ROBOT_MESH)
    shapes_mesh(rs, geom);
  else if (type == PERP_ROBOT_FIELD)
    shapes_field(rs, geom);
  else
    fprintf(rs->out, ", kind: %s", kinds[type]);
  if (type == PERP_ROBOT_SPHERE || round) perp_rs_number(rs, "radius", size[0]);
  if (round) perp_rs_number(rs, "length", 2 * size[1]);
  if (type == PERP_ROBOT_BOX || type == PERP_ROBOT_ELLIPSOID) perp_rs_vector(rs, "half", 3, size);
  shapes_place(rs, geom);
  perp_rs_surface_of(rs, geom);
  if (group != 0) fprintf(rs->out, ", group: %d", group);
  fputs(" }\n", rs->out);
}

/* ---- what contacts of MuJoCo are beyond those of perp ---- */

static void shapes_beyond(perp_rs *rs, const int *which, int n)
{
  const perp_robot *robot = rs->robot;
  enum { NAMED = 5 };
  const char *names = "";
  double most = 0;
  int margins = 0;
  for (int i = 0; i < n; i++) {
    const double margin = robot->geom[which[i]].margin;
    if (margin == 0) continue;
    if (margins++ < NAMED)
      names = perp_pool_printf(&rs->robot->pool, "%s%s%s", names, margins > 1 ? ", " : "",
                               shapes_name(rs, which[i]));
    most = fmax(most, margin);
  }
  if (margins > NAMED)
    names = perp_pool_printf(&rs->robot->pool, "%s and %d others", names, margins - NAMED);
  if (margins > 0)
    perp_robot_lost(rs->robot,
                    "margin %.4g m of geom%s %s: in MuJoCo contacts act before they touch", most,
                    margins > 1 ? "s" : "", names);
  if (n > 0)
    perp_robot_note(rs->robot,
                    "contacts (%d geoms) are compliant in MuJoCo (solref, solimp): here they are "
                    "rigid, without restitution",
                    n);
}

static void shapes_no_contact(perp_rs *rs)
{
  fputs("no_contact:\n", rs->out);
  for (int apart = 0; apart < rs->n_apart; apart++) {
    fputs("  - [", rs->out);
    if (rs->apart[apart].a == 0)
      fputs("world", rs->out);
    else
      perp_write_quoted(rs->out, rs->body[rs->apart[apart].a]);
    fputs(", ", rs->out);
    perp_write_quoted(rs->out, rs->body[rs->apart[apart].b]);
    fputs("]\n", rs->out);
  }
  fputs("  - { overlapping: filter }\n", rs->out);
}

void perp_rs_shapes(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  int *which = perp_pool_alloc(&rs->robot->pool, (size_t)robot->n_geoms + 1, sizeof *which), n = 0,
      drawn = 0;
  if (!(robot->acts & PERP_ROBOT_CONTACTS)) {
    fputs("shapes:\n", rs->out);
    perp_robot_note(rs->robot, "contacts are disabled: the scene has no shapes");
    return;
  }
  for (int pair = 0; pair < robot->n_pairs; pair++)
    perp_robot_lost(rs->robot, "pair %s, %s: a contact with parameters of its own",
                    shapes_name(rs, robot->pair[pair].a), shapes_name(rs, robot->pair[pair].b));
  for (int geom = 0; geom < robot->n_geoms; geom++) {
    if (!shapes_touching(robot, geom))
      drawn++;
    else if (robot->geom[geom].kind == PERP_ROBOT_FIELD &&
             robot->body[robot->geom[geom].body].root != 0)
      perp_robot_lost(rs->robot,
                      "height field %s of a moving body: perp has only fixed height fields",
                      shapes_name(rs, geom));
    else
      which[n++] = geom;
  }
  shapes_excluded(rs);
  const int *group = shapes_groups(rs);
  perp_rs_surfaces(rs, which, n);
  fputs("shapes:\n", rs->out);
  for (int i = 0; i < n; i++) shapes_one(rs, which[i], group[which[i]]);
  shapes_beyond(rs, which, n);
  if (n > 1) shapes_no_contact(rs);
  if (n > 0) rs->dissipative = true;
  if (drawn > 0)
    perp_robot_note(rs->robot, "%d geoms cannot collide and are not in the scene", drawn);
}
