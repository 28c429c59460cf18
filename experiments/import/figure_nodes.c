/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes of a skeleton are bodies of the figure.
 *
 * A file has nodes that are no part of a person: a reference on the floor, on which the hips move;
 * a helper at the place of another joint; a thing that is tracked as well.  The rules, in this
 * order:
 *
 *   reference  a root, or the one node on a reference, that carries one branch with segments whose
 *              names are known, and either has no known name itself and carries the pelvis, has no
 *              length, has a name such as "world", or carries a joint with position channels; or
 *              never moves and carries such a joint.  LINK; its other branches: NONE
 *   length     all bones of a joint end where they begin: with one joint behind it LINK, with none
 *              an end of the bone before it
 *   thing      a joint of unknown name, without known names behind it, that moves by position
 *              channels, never moves though the figure does, or is held by a hand, foot or head:
 *              NONE, with all behind it; an end where its bone is the only one of its parent
 *
 * Where no name is known (a robot's arm) only the rules of no length and of position channels hold.
 * O(nodes frames). */
#include "experiments/import/figure_nodes.h"
#include "experiments/import/figure_tables.h"

#include "models/geometry/kinematics.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double NODES_SHORT = 1e-3; /* of the height as drawn: no length */

typedef struct nodes_work {
  perp_figure_nodes *out;
  const perp_bvh *bvh;
  double shortest;
  int *class;     /* [joints] */
  bool *knows;    /* [joints] a known name is there or behind it */
  bool *carries;  /* [joints] bones go out */
  bool *moves;    /* [joints] */
  bool any_known; /* of the figure */
} nodes_work;

static bool nodes_reference_name(const char *name)
{
  static const char *const words[] = { "world",    "root",       "reference", "origin", "ground",
                                       "floor",    "scene",      "armature",  "global", "null",
                                       "skeleton", "trajectory", "base" };
  char s[101];
  size_t n = 0;
  for (const char *at = name; *at != '\0' && n < sizeof s - 1; at++)
    if (isalpha((unsigned char)*at)) s[n++] = (char)tolower((unsigned char)*at);
  s[n] = '\0';
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr(s, words[i]) != NULL) return true;
  return false;
}

static double nodes_length(const double x[3])
{
  return sqrt(perp_dot(3, x, x));
}

/* The place of a joint in its parent where it does not stretch: its offset, or the mean of its
 * position channels. */
static void nodes_place(const perp_bvh *bvh, int joint, double place[3])
{
  double quat[4], now[3];
  perp_bvh_pose(bvh, joint, -1, quat, place);
  if (!bvh->joint[joint].placed || bvh->frames == 0) return;
  memset(place, 0, 3 * sizeof *place);
  for (int frame = 0; frame < bvh->frames; frame++) {
    perp_bvh_pose(bvh, joint, frame, quat, now);
    for (int c = 0; c < 3; c++) place[c] += now[c] / bvh->frames;
  }
}

/* Does the place of a joint in its parent change by more than `by`? */
static bool nodes_slides(const perp_bvh *bvh, int joint, double by)
{
  double quat[4], first[3], now[3];
  if (!bvh->joint[joint].placed || bvh->frames == 0) return false;
  perp_bvh_pose(bvh, joint, 0, quat, first);
  for (int frame = 1; frame < bvh->frames; frame++) {
    perp_bvh_pose(bvh, joint, frame, quat, now);
    for (int c = 0; c < 3; c++) now[c] -= first[c];
    if (nodes_length(now) > by) return true;
  }
  return false;
}

static void nodes_drop(nodes_work *nodes, int joint, const char *why)
{
  nodes->out->node[joint] = PERP_FIGURE_NONE;
  nodes->out->why[joint] = why;
  for (int j = joint + 1; j < nodes->bvh->n; j++)
    if (nodes->bvh->joint[j].parent >= 0 &&
        nodes->out->node[nodes->bvh->joint[j].parent] == PERP_FIGURE_NONE)
      nodes->out->node[j] = PERP_FIGURE_NONE;
}

/* The only joint behind this one that carries known names (without such names: bones), -1: there
 * are none or several. */
static int nodes_only(const nodes_work *nodes, int joint)
{
  int only = -1, n = 0;
  for (int j = joint + 1; j < nodes->bvh->n; j++)
    if (nodes->bvh->joint[j].parent == joint && nodes->out->node[j] != PERP_FIGURE_NONE &&
        (nodes->any_known ? nodes->knows[j] : nodes->carries[j]))
      only = j, n++;
  return n == 1 ? only : -1;
}

/* Why the joint, which nothing carries but references, is none of the body; NULL: it is. */
static const char *nodes_is_reference(const nodes_work *nodes, int joint, int only)
{
  const bool known = nodes->class[joint] >= 0;
  double place[3];
  nodes_place(nodes->bvh, only, place);
  if (!nodes->moves[joint] && nodes_slides(nodes->bvh, only, nodes->shortest))
    return "never moves, and carries the figure";
  if (known) return NULL;
  if (nodes_slides(nodes->bvh, only, nodes->shortest)) return "the figure moves on it";
  if (nodes_length(place) < nodes->shortest && nodes->any_known) return "has no length";
  if (nodes->class[only] == PERP_FIGURE_PELVIS) return "carries the pelvis";
  if (nodes->any_known && nodes_reference_name(nodes->bvh->joint[joint].name))
    return "a reference by its name";
  return NULL;
}

static void nodes_references(nodes_work *nodes)
{
  const perp_bvh *bvh = nodes->bvh;
  for (int joint = 0, only; nodes->carries[joint] && (only = nodes_only(nodes, joint)) >= 0;
       joint = only) {
    const char *why = nodes_is_reference(nodes, joint, only);
    if (why == NULL) return;
    nodes->out->node[joint] = PERP_FIGURE_LINK;
    nodes->out->why[joint] = why;
    for (int i = joint + 1; i < bvh->n; i++)
      if (bvh->joint[i].parent == joint && i != only)
        nodes_drop(nodes, i, bvh->joint[i].end ? NULL : "beside the figure");
  }
}

/* Joints that all bones of end where they begin. */
static void nodes_short(nodes_work *nodes, int joint)
{
  int behind = 0;
  for (int j = joint + 1; j < nodes->bvh->n; j++) {
    double place[3];
    if (nodes->bvh->joint[j].parent != joint || nodes->out->node[j] == PERP_FIGURE_NONE) continue;
    nodes_place(nodes->bvh, j, place);
    if (!(nodes_length(place) < nodes->shortest)) return;
    behind += nodes->out->node[j] == PERP_FIGURE_BODY || nodes->out->node[j] == PERP_FIGURE_LINK;
  }
  const bool root = nodes->bvh->joint[joint].parent < 0 ||
                    nodes->out->node[nodes->bvh->joint[joint].parent] == PERP_FIGURE_LINK;
  if (behind > 1 || (behind == 0 && root)) return; /* several bodies need one that joins them */
  nodes->out->node[joint] = behind == 0 ? PERP_FIGURE_END : PERP_FIGURE_LINK;
  nodes->out->why[joint] = "has no length";
  for (int j = joint + 1; behind == 0 && j < nodes->bvh->n; j++)
    if (nodes->bvh->joint[j].parent == joint) nodes_drop(nodes, j, NULL);
}

static bool nodes_has_bone(const nodes_work *nodes, int joint, int but)
{
  for (int j = joint + 1; j < nodes->bvh->n; j++)
    if (nodes->bvh->joint[j].parent == joint && j != but && nodes->out->node[j] != PERP_FIGURE_NONE)
      return true;
  return false;
}

static void nodes_things(nodes_work *nodes)
{
  const perp_bvh *bvh = nodes->bvh;
  bool figure_moves = false;
  for (int joint = 0; joint < bvh->n; joint++)
    figure_moves = figure_moves || (nodes->class[joint] >= 0 && bvh->joint[joint].parent >= 0 &&
                                    !bvh->joint[joint].end && nodes->moves[joint]);
  for (int joint = 1; joint < bvh->n; joint++) {
    const int parent = bvh->joint[joint].parent;
    if (bvh->joint[joint].end || nodes->knows[joint] || !nodes->any_known || parent < 0 ||
        nodes->out->node[joint] != PERP_FIGURE_BODY || nodes->out->node[parent] == PERP_FIGURE_LINK)
      continue;
    const bool slides = nodes_slides(bvh, joint, nodes->shortest);
    const int on = nodes->class[parent];
    const bool held = on == PERP_FIGURE_HAND || on == PERP_FIGURE_FOOT || on == PERP_FIGURE_HEAD;
    bool moves = false;
    for (int i = joint; i < bvh->n; i++) {
      int up = i;
      while (up > joint) up = bvh->joint[up].parent;
      moves = moves || (up == joint && nodes->moves[i]);
    }
    if (!slides && !held && (moves || !figure_moves)) continue;
    const char *why = slides ? "moves apart from what carries it"
                      : held ? "no name of a part of the body"
                             : "never moves on what carries it";
    if (nodes_has_bone(nodes, parent, joint) || nodes->out->node[parent] != PERP_FIGURE_BODY) {
      nodes_drop(nodes, joint, why);
      continue;
    }
    nodes->out->node[joint] =
        PERP_FIGURE_END; /* the bone that leads to it is the only one of its parent */
    nodes->out->why[joint] = why;
    for (int i = joint + 1; i < bvh->n; i++)
      if (bvh->joint[i].parent == joint) nodes_drop(nodes, i, NULL);
  }
}

/* Where joints are in the bodies that carry them; links in between are as drawn. */
static void nodes_bones(const perp_bvh *bvh, perp_figure_nodes *figure)
{
  int *body = perp_xalloc((size_t)bvh->n, sizeof *body); /* joint of the body that carries it */
  for (int joint = 0; joint < bvh->n; joint++) {
    const int parent = bvh->joint[joint].parent;
    double place[3];
    nodes_place(bvh, joint, place);
    body[joint] = parent < 0                                 ? -1
                  : figure->node[parent] == PERP_FIGURE_BODY ? parent
                                                             : body[parent];
    const bool through = parent >= 0 && figure->node[parent] == PERP_FIGURE_LINK;
    for (int c = 0; c < 3; c++)
      figure->bone[joint][c] = place[c] + (through ? figure->bone[parent][c] : 0);
    figure->carrier[joint] = body[joint];
  }
  free(body);
}

perp_figure_nodes perp_figure_nodes_of(perp_pool *pool, const perp_bvh *bvh)
{
  const size_t n = (size_t)bvh->n;
  perp_figure_nodes out;
  nodes_work nodes = { .out = &out, .bvh = bvh };
  double *y = perp_xalloc(n, sizeof *y), low = 0, high = 0;
  nodes.class = perp_xalloc(n, sizeof *nodes.class);
  nodes.knows = perp_xalloc(n, sizeof *nodes.knows);
  nodes.carries = perp_xalloc(n, sizeof *nodes.carries);
  nodes.moves = perp_xalloc(n, sizeof *nodes.moves);
  out.node = perp_pool_alloc(pool, n, sizeof *out.node);
  out.why = perp_pool_alloc(pool, n, sizeof *out.why);
  out.carrier = perp_pool_alloc(pool, n, sizeof *out.carrier);
  out.bone = perp_pool_alloc(pool, n, sizeof *out.bone);
  for (int joint = 0; joint < bvh->n; joint++) {
    int side;
    const int parent = bvh->joint[joint].parent;
    nodes.class[joint] = bvh->joint[joint].end
                             ? PERP_FIGURE_UNKNOWN
                             : perp_figure_class_of(bvh->joint[joint].name, &side);
    if (nodes.class[joint] < 0 && parent >= 0 && !bvh->joint[joint].end)
      nodes.class[joint] = perp_figure_part_of(bvh->joint[joint].name, nodes.class[parent]);
    if (parent >= 0) {
      nodes.carries[parent] = true;
      y[joint] = y[parent] + bvh->joint[joint].offset[1];
    }
    nodes.moves[joint] = perp_bvh_moves(bvh, joint);
    low = fmin(low, y[joint]), high = fmax(high, y[joint]);
  }
  nodes.shortest = NODES_SHORT * (high - low);
  for (int joint = bvh->n - 1; joint >= 0; joint--) {
    nodes.knows[joint] = nodes.knows[joint] || nodes.class[joint] >= 0;
    nodes.any_known = nodes.any_known || nodes.class[joint] >= 0;
    if (nodes.knows[joint] && bvh->joint[joint].parent >= 0)
      nodes.knows[bvh->joint[joint].parent] = true;
    out.node[joint] = nodes.carries[joint] ? PERP_FIGURE_BODY : PERP_FIGURE_END;
  }
  nodes_references(&nodes);
  nodes_things(&nodes);
  for (int joint = bvh->n - 1; joint >= 0; joint--)
    if (out.node[joint] == PERP_FIGURE_BODY) nodes_short(&nodes, joint);
  nodes_bones(bvh, &out);
  free(y);
  free(nodes.class);
  free(nodes.knows);
  free(nodes.carries);
  free(nodes.moves);
  return out;
}
