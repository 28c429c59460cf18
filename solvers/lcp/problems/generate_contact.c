/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contact problems of cubes: stacks, walls, inclines; frictionless, with boxed friction, with
 * circular cones, and in the Stewart-Trinkle form.
 *
 * Unit cubes of 1 kg (inertia 1/6 kg m^2), g = 9.81 m/s^2, one step of h = 0.01 s from rest: with
 * v* = (g h, 0) for every cube and the contact Jacobian J,  A = J M^-1 J',  b = J v*,  w = J v+. An
 * interface between two cubes has 4 contact points, the corners of the overlap, and so rank 3 only
 * for its normals: A is singular, and the multipliers are not unique (w is).
 *
 * Known solutions: everything stays at rest (w = 0), so the normal multipliers are any distribution
 * of the weights; the planted one is symmetric for stacks and carries each load straight down for
 * walls. */
#include "solvers/lcp/io/convert.h"
#include "solvers/lcp/problems/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gravity = 9.81, step = 0.01, mass = 1, inertia = 1.0 / 6;
static const double softness = 1e-5;
/* 20 degrees, written out so that every machine has the same */
static const double sine = 0.34202014332566873, cosine = 0.93969262078590838;
#define TANGENT 0.36397023426620236

/* Friction: none, of boxes, of circular cones, in the form of Stewart and Trinkle. */
enum form { PLAIN, BOX, CONE, PYRAMID };

static const struct contact_family {
  const char *name;
  enum form form;
  double mu;
  bool incline, soft;
  double rough, push; /* velocities beside those of rest: mean square root, along y for the top */
  double ratio;       /* mass of a cube over that of the one before */
} contact_families[] = {
  { "stack", PLAIN, 0.5, false, false, 0, 0, 1 },
  { "stack-cfm", PLAIN, 0.5, false, true, 0, 0, 1 },
  { "stack-box", BOX, 0.5, false, false, 0, 0, 1 },
  { "stack-cone", CONE, 0.5, false, false, 0, 0, 1 },
  { "stack-friction", PYRAMID, 0.5, false, false, 0, 0, 1 },
  { "heavy-cone", CONE, 0.5, false, false, 0.05, 0, 100 },
  { "pushed-cone", CONE, 0.3, false, false, 0.02, 1, 1 },
  { "wall", PLAIN, 0.5, false, false, 0, 0, 1 },
  { "wall-box", BOX, 0.5, false, false, 0, 0, 1 },
  { "wall-cone", CONE, 0.5, false, false, 0, 0, 1 },
  { "wall-friction", PYRAMID, 0.5, false, false, 0, 0, 1 },
  { "wall-rough-cone", CONE, 0.5, false, false, 0.05, 0, 1 },
  { "incline-edge", PYRAMID, TANGENT, true, false, 0, 0, 1 },
  { "incline-slide", PYRAMID, 0.2, true, false, 0, 0, 1 },
  { "incline-stick", PYRAMID, 0.5, true, false, 0, 0, 1 },
  { "incline-box", BOX, 0.2, true, false, 0, 0, 1 },
  { "incline-cone", CONE, 0.2, true, false, 0, 0, 1 },
};

/* One contact point: the normal points from cube `below` (-1: ground) to cube `above`. */
struct point {
  int above, below;
  double ra[3], rb[3]; /* from the centres */
  double load;         /* planted multiplier */
};

struct scene {
  int boxes, contacts;
  double ratio; /* mass of a cube over that of the one before */
  struct point *points;
};

/* ---- geometry ---- */

static perp_status open_scene(perp_ctx *ctx, int boxes, int contacts, struct scene *scene)
{
  *scene = (struct scene){ .boxes = boxes, .ratio = 1 };
  scene->points = calloc((size_t)contacts, sizeof *scene->points);
  if (scene->points == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d contacts", contacts);
  return PERP_OK;
}

/* The overlap [x0, x1] x [-1/2, 1/2], x relative to cube `above`; offset: of `below` from `above`.
 */
static void generate_contact_interface(struct scene *scene, int above, int below, double x0,
                                       double x1, double offset)
{
  for (int k = 0; k < 4; k++) {
    double x = k & 1 ? x1 : x0, y = k & 2 ? 0.5 : -0.5;
    scene->points[scene->contacts++] = (struct point){
      .above = above, .below = below, .ra = { x, y, -0.5 }, .rb = { x - offset, y, 0.5 }
    };
  }
}

static perp_status generate_contact_stack(perp_ctx *ctx, int boxes, struct scene *scene)
{
  PERP_TRY(open_scene(ctx, boxes, 4 * boxes, scene));
  for (int i = 0; i < boxes; i++) {
    generate_contact_interface(scene, i, i - 1, -0.5, 0.5, 0);
    for (int k = 0; k < 4; k++)
      scene->points[4 * i + k].load = (boxes - i) * mass * gravity * step / 4;
  }
  return PERP_OK;
}

int perp_lcp_wall_contacts(int W, int H)
{
  return 4 * W + 8 * (H - 1) * (W - 1);
}

int perp_lcp_wall_boxes(int W, int H)
{
  return W * ((H + 1) / 2) + (W - 1) * (H / 2);
}

void perp_lcp_wall_nearest(int contacts, int boxes, int *W, int *H)
{
  double best = HUGE_VAL;
  *W = *H = 1;
  int target = contacts > 0 ? contacts : boxes;
  for (int w = 1; w <= 2 + target; w++) {
    int least = (w + 1) / 2, most = w == 1 ? 1 : 2 * w, smallest = 0;
    for (int h = least; h <= most; h++) {
      int size = contacts > 0 ? perp_lcp_wall_contacts(w, h) : perp_lcp_wall_boxes(w, h);
      /* the nearest size first, then the squarest */
      double miss = fabs((double)size - target) + 1e-3 * abs(w - h) / (w + h);
      if (h == least) smallest = size;
      if (miss < best) {
        best = miss;
        *W = w;
        *H = h;
      }
      if (size > 2 * target + 8) break;
    }
    if (smallest > 2 * target + 8) break;
  }
}

/* Load of a cube at offset e from its centre, carried straight down by the neighbouring contact
 * columns; columns are the distinct x of its lower contacts first ... first + count - 1. */
static void generate_contact_carry(struct scene *scene, int first, int count, double load, double e)
{
  /* bracket e by columns */
  double left = -HUGE_VAL, right = HUGE_VAL;
  for (int k = first; k < first + count; k++) {
    double x = scene->points[k].ra[0];
    if (x <= e && x > left) left = x;
    if (x >= e && x < right) right = x;
  }
  if (left == -HUGE_VAL) left = right;
  if (right == HUGE_VAL) right = left;
  double share[2] = { 1, 0 }, column[2] = { left, right };
  if (right > left) {
    share[1] = (e - left) / (right - left);
    share[0] = 1 - share[1];
  }
  for (int c = 0; c < 2; c++) {
    int points = 0;
    for (int k = first; k < first + count; k++) points += scene->points[k].ra[0] == column[c];
    for (int k = first; k < first + count; k++)
      if (scene->points[k].ra[0] == column[c]) scene->points[k].load += share[c] * load / points;
    if (right == left) break;
  }
}

/* Row j of the wall has W - (j & 1) cubes at x = i + (j & 1) / 2. */
static perp_status generate_contact_wall(perp_ctx *ctx, int W, int H, struct scene *scene)
{
  PERP_TRY(open_scene(ctx, perp_lcp_wall_boxes(W, H), perp_lcp_wall_contacts(W, H), scene));
  int *first = calloc((size_t)scene->boxes + 1, sizeof *first);  /* lower contacts of each cube */
  double *load = calloc((size_t)scene->boxes * 2, sizeof *load); /* of each cube, and its moment */
  if (first == NULL || load == NULL) {
    free(first);
    free(load);
    free(scene->points);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d boxes", scene->boxes);
  }
  int row = 0, under = 0, box = 0;
  for (int j = 0; j < H; j++) {
    int count = W - (j & 1), count_under = W - ((j + 1) & 1);
    row = box;
    for (int i = 0; i < count; i++, box++) {
      first[box] = scene->contacts;
      if (j == 0) {
        generate_contact_interface(scene, box, -1, -0.5, 0.5, 0);
        continue;
      }
      int left = j & 1 ? i : i - 1; /* the cubes below, at offsets -1/2 and 1/2 */
      if (left >= 0) generate_contact_interface(scene, box, under + left, -0.5, 0, -0.5);
      if (left + 1 < count_under)
        generate_contact_interface(scene, box, under + left + 1, 0, 0.5, 0.5);
    }
    under = row;
  }
  first[box] = scene->contacts;
  /* loads from the top down: contacts of higher cubes come later, so all of a cube's are known */
  for (int i = scene->boxes - 1; i >= 0; i--) {
    double total = load[2 * i] + mass * gravity * step, moment = load[2 * i + 1];
    generate_contact_carry(scene, first[i], first[i + 1] - first[i], total, moment / total);
    for (int k = first[i]; k < first[i + 1]; k++) {
      struct point *point = &scene->points[k];
      if (point->below < 0) continue;
      load[2 * point->below] += point->load;
      load[2 * point->below + 1] += point->load * point->rb[0];
    }
  }
  free(load);
  free(first);
  return PERP_OK;
}

/* ---- assembly ---- */

/* The arrays of J M^-1 J' + S for `rows` (1 or 3) rows a contact. */
struct assembly {
  const struct scene *scene;
  int rows, sub; /* sub-matrices of J */
  bool soft;
  perp_arena arena;
  int *bptr, *mptr, *cptr, *jptr, *jblk, *joff, *jgrp, *tptr, *tsub;
  double *M, *Minv, *J, *s;
};

static void generate_contact_layout(void *assembly, perp_arena *arena)
{
  struct assembly *f = assembly;
  const size_t boxes = (size_t)f->scene->boxes, rows = (size_t)f->rows;
  const size_t contacts = (size_t)f->scene->contacts, sub = (size_t)f->sub;
  PERP_INTS(arena, boxes + 1, &f->bptr, &f->mptr, &f->tptr);
  PERP_INTS(arena, contacts + 1, &f->cptr, &f->jptr);
  PERP_INTS(arena, sub + 1, &f->jblk, &f->joff, &f->jgrp, &f->tsub);
  PERP_DOUBLES(arena, 36 * boxes, &f->M, &f->Minv);
  f->J = PERP_CARVE(arena, double, 6 * rows * sub);
  f->s = f->soft ? PERP_CARVE(arena, double, rows *contacts) : NULL;
}

/* Rows sign (d, r x d) of one side of a contact, d = z, x, y. */
static void generate_contact_side(double *G, int rows, double sign, const double *r)
{
  static const double d[3][3] = { { 0, 0, 1 }, { 1, 0, 0 }, { 0, 1, 0 } };
  for (int i = 0; i < rows; i++) {
    const double *e = d[i];
    double m[3] = { r[1] * e[2] - r[2] * e[1], r[2] * e[0] - r[0] * e[2],
                    r[0] * e[1] - r[1] * e[0] };
    for (int k = 0; k < 3; k++) {
      G[i + k * rows] = sign * e[k];
      G[i + (k + 3) * rows] = sign * m[k];
    }
  }
}

static perp_status generate_contact_assemble(perp_ctx *ctx, const struct scene *scene, int rows,
                                             bool soft, struct assembly *assembly,
                                             perp_blocks *blocks)
{
  int sub = 0;
  for (int c = 0; c < scene->contacts; c++) sub += scene->points[c].below >= 0 ? 2 : 1;
  *assembly = (struct assembly){ .scene = scene, .rows = rows, .sub = sub, .soft = soft };
  PERP_TRY(perp_arena_layout(ctx, &assembly->arena, generate_contact_layout, assembly));
  double times = 1;
  for (int b = 0; b <= scene->boxes; b++, times *= scene->ratio) {
    assembly->bptr[b] = 6 * b;
    assembly->mptr[b] = 36 * b;
    for (int k = 0; k < 36 && b < scene->boxes; k++) {
      double m = k % 7 == 0 ? times * (k / 7 < 3 ? mass : inertia) : 0;
      assembly->M[36 * b + k] = m;
      assembly->Minv[36 * b + k] = m > 0 ? 1 / m : 0;
    }
  }
  int k = 0;
  for (int c = 0; c < scene->contacts; c++) {
    const struct point *point = &scene->points[c];
    assembly->cptr[c] = rows * c;
    assembly->jptr[c] = k;
    if (point->below >= 0) {
      assembly->jblk[k] = point->below;
      generate_contact_side(assembly->J + 6 * rows * k++, rows, -1, point->rb);
    }
    assembly->jblk[k] = point->above;
    generate_contact_side(assembly->J + 6 * rows * k++, rows, 1, point->ra);
  }
  assembly->cptr[scene->contacts] = rows * scene->contacts;
  assembly->jptr[scene->contacts] = k;
  for (int i = 0; i <= sub; i++) assembly->joff[i] = 6 * rows * i;
  for (int i = 0; soft && i < rows * scene->contacts; i++) assembly->s[i] = softness;
  perp_blocks_transpose(scene->boxes, scene->contacts, assembly->jptr, assembly->jblk,
                        assembly->jgrp, assembly->tptr, assembly->tsub);
  *blocks = (perp_blocks){ .nv = 6 * scene->boxes,
                           .m = rows * scene->contacts,
                           .nb = scene->boxes,
                           .nc = scene->contacts,
                           .bptr = assembly->bptr,
                           .mptr = assembly->mptr,
                           .cptr = assembly->cptr,
                           .jptr = assembly->jptr,
                           .jblk = assembly->jblk,
                           .joff = assembly->joff,
                           .jgrp = assembly->jgrp,
                           .tptr = assembly->tptr,
                           .tsub = assembly->tsub,
                           .M = assembly->M,
                           .Minv = assembly->Minv,
                           .J = assembly->J,
                           .s = assembly->s };
  return PERP_OK;
}

/* b += J v for velocities v of all cubes: uniform, of mean square rough^2 (m/s, 1/s), and `push`
 * along y for the top. */
static perp_status generate_contact_disturb(perp_ctx *ctx, const perp_blocks *blocks, double rough,
                                            double push, perp_rng *rng, double *b)
{
  double *v = calloc((size_t)blocks->nv + 1, sizeof *v);
  if (v == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d velocities", blocks->nv);
  const double most = 1.7320508075688772 * rough;
  for (int i = 0; i < blocks->nv; i++) v[i] = perp_rng_uniform(rng, -most, most);
  v[blocks->nv - 5] += push;
  for (int c = 0; c < blocks->nc; c++)
    for (int k = blocks->jptr[c], r = blocks->cptr[c + 1] - blocks->cptr[c];
         k < blocks->jptr[c + 1]; k++)
      for (int i = 0; i < r; i++)
        for (int j = 0; j < 6; j++)
          b[blocks->cptr[c] + i] += blocks->J[blocks->joff[k] + i + j * r] *
                                    v[blocks->bptr[blocks->jblk[k]] + j];
  free(v);
  return PERP_OK;
}

/* A in factored form.  at_rest: the planted loads solve it. */
static perp_status contact_problem(perp_ctx *ctx, const struct scene *scene,
                                   const struct contact_family *kind, bool at_rest,
                                   perp_lcp_problem *out)
{
  const int rows = kind->form == PLAIN ? 1 : 3;
  const double gx = kind->incline ? gravity * sine : 0;
  const double gz = kind->incline ? -gravity * cosine : -gravity;
  struct assembly assembly;
  perp_blocks blocks;
  unsigned parts = rows == 3 ? PERP_PART_FRICTION : 0u;
  if (kind->form == CONE) parts |= PERP_PART_CONE;
  if (at_rest) parts |= PERP_PART_SOLUTION;
  PERP_TRY(perp_lcp_problem_new(ctx, rows * scene->contacts, parts, out));
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  for (int c = 0; c < scene->contacts; c++) {
    if (scene->points[c].below <
        0) { /* b = J v*, v* = h g: cubes move alike, the ground does not */
      arrays.b[rows * c] = gz * step;
      if (rows == 3) arrays.b[rows * c + 1] = gx * step;
    }
    if (at_rest) arrays.solution[rows * c] = scene->points[c].load;
    for (int k = 1; k < rows; k++) {
      arrays.fric_of[3 * c + k] = 3 * c;
      arrays.mu[3 * c + k] = kind->mu;
    }
    if (kind->form == CONE) arrays.cone[3 * c + 1] = 1;
  }
  perp_status status = generate_contact_assemble(ctx, scene, rows, kind->soft, &assembly, &blocks);
  if (status == PERP_OK) status = perp_lcp_problem_set_blocks(ctx, out, &blocks);
  perp_arena_free(&assembly.arena);
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}

perp_status perp_lcp_generate_contact(perp_ctx *ctx, const perp_lcp_family *family, int n,
                                      bool factored, perp_rng *rng, perp_lcp_problem *out)
{
  static const int rows_of[] = { [PLAIN] = 1, [BOX] = 3, [CONE] = 3, [PYRAMID] = 6 };
  const struct contact_family *kind = contact_families;
  while (strcmp(kind->name, family->name) != 0) kind++;
  struct scene scene;
  const int contacts = n / rows_of[kind->form];
  if (family->kind == PERP_GEN_WALL) {
    int W, H;
    perp_lcp_wall_nearest(contacts, 0, &W, &H);
    PERP_TRY(generate_contact_wall(ctx, W, H, &scene));
  } else
    PERP_TRY(generate_contact_stack(ctx, contacts / 4, &scene));
  scene.ratio = kind->ratio;
  bool at_rest = !kind->incline && kind->rough == 0 && !kind->soft;
  perp_lcp_problem problem = { 0 }, dense = { 0 };
  perp_status status = contact_problem(ctx, &scene, kind, at_rest, &problem);
  free(scene.points);
  if (status == PERP_OK && kind->rough > 0)
    status = generate_contact_disturb(ctx, problem.p.F, kind->rough, kind->push, rng,
                                      perp_lcp_edit(&problem).b);
  if (status == PERP_OK && factored) {
    *out = problem;
    return PERP_OK;
  }
  if (status == PERP_OK) status = perp_lcp_problem_form(ctx, &problem, &dense);
  perp_lcp_problem_free(&problem);
  if (status != PERP_OK || kind->form != PYRAMID) {
    *out = dense;
    return status;
  }
  status = perp_lcp_pyramid(ctx, &dense, 4, out);
  perp_lcp_problem_free(&dense);
  return status;
}
