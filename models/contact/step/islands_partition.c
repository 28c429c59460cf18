/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which bodies are an island, and the contacts, bodies, joints and bounded rows of each side by
 * side. */
#include "models/contact/step/islands_private.h"

#include "solvers/core/sets.h"

#include <string.h>

/* The moving bodies of what takes part; bodies that have any are marked by island_of = 0, others by
 * -1. */
static void islands_partition_owners(perp_islands *s, const perp_island_task *task)
{
  for (int b = 0; b < s->model->n_bodies; b++) s->island_of[b] = -1;
  for (int i = 0; i < task->n; i++) {
    const bool takes_part = task->kept == NULL || task->kept[i];
    s->owner[i] = takes_part ? islands_moving(task->contact[i].body) : -1;
    if (takes_part) s->island_of[s->owner[i]] = 0;
  }
  for (int i = 0; i < task->n_rows; i++) {
    s->bounded_body[i] = islands_moving(task->row[i].body);
    s->island_of[s->bounded_body[i]] = 0;
  }
}

/* Numbers the islands that have a problem by their first bodies: island_of of all bodies. */
static void islands_partition_number(perp_islands *s, const perp_island_task *task)
{
  const int nb = s->model->n_bodies;
  memcpy(s->parent, s->joint_root, (size_t)nb * sizeof *s->parent);
  for (int i = 0; i < task->n; i++) {
    const int *body = task->contact[i].body;
    if (s->owner[i] >= 0 && body[0] >= 0 && body[1] >= 0) perp_unite(s->parent, body[0], body[1]);
  }
  /* no body comes before its parent: one step leads to the root, which comes before the rest of its
   * island */
  for (int b = 0; b < nb; b++) {
    s->parent[b] = s->parent[s->parent[b]];
    if (s->island_of[b] == 0) s->island_of[s->parent[b]] = 0;
  }
  s->n_islands = 0;
  for (int b = 0; b < nb; b++) {
    if (s->parent[b] != b) {
      s->island_of[b] = s->island_of[s->parent[b]];
    } else if (s->island_of[b] == 0) {
      s->start[s->n_islands] = (island){ .eliminate = task->offset != NULL };
      s->island_of[b] = s->n_islands++;
    }
    if (s->island_of[b] >= 0 && s->jointed[b] && !s->rows)
      s->start[s->island_of[b]].eliminate = true;
  }
  s->start[s->n_islands] = (island){ 0 };
}

/* Counting sort: order lists what belongs to island 0, 1, ..., each in the order 0 ... n - 1. owner
 * [n]: a body of each, -1: none; NULL: the bodies themselves. */
static void islands_partition_sort(perp_islands *s, int part, int n, const int *owner, int *order)
{
  int *at = s->cursor, sum = 0;
  memset(at, 0, (size_t)s->n_islands * sizeof *at);
  for (int i = 0; i < n; i++) {
    const int body = owner != NULL ? owner[i] : i;
    if (body >= 0 && s->island_of[body] >= 0) at[s->island_of[body]]++;
  }
  for (int i = 0; i <= s->n_islands; i++) {
    s->start[i].first[part] = sum;
    if (i < s->n_islands) sum += at[i];
    at[i] = s->start[i].first[part];
  }
  for (int i = 0; i < n; i++) {
    const int body = owner != NULL ? owner[i] : i;
    if (body >= 0 && s->island_of[body] >= 0) order[at[s->island_of[body]]++] = i;
  }
}

void perp_islands_partition(perp_islands *s, const perp_island_task *task)
{
  const perp_model *model = s->model;
  islands_partition_owners(s, task);
  if (s->couples) perp_islands_couples_find(s, task);
  islands_partition_number(s, task);
  islands_partition_sort(s, CONTACTS, task->n, s->owner, s->order);
  islands_partition_sort(s, BODIES, model->n_bodies, NULL, s->bodies);
  islands_partition_sort(s, BOUNDED, task->n_rows, s->bounded_body, s->bounded);
  if (s->rows) islands_partition_sort(s, JOINTS, model->n_joints, s->joint_body, s->joints);
  for (int i = 0; i < s->n_islands; i++) {
    island *p = &s->start[i], *next = p + 1;
    for (int l = p->first[BODIES]; l < next->first[BODIES]; l++)
      s->local[s->bodies[l]] = l - p->first[BODIES];
    next->couples = p->couples;
    next->couple_rows = p->couple_rows;
    for (int l = p->first[CONTACTS]; l < next->first[CONTACTS] && s->couples; l++) {
      const int rows = islands_couple_count(s, s->order[l]);
      next->couples += rows > 0;
      next->couple_rows += rows;
    }
    next->joint_rows = p->joint_rows;
    next->joint_subs = p->joint_subs;
    next->joint_numbers = p->joint_numbers;
    for (int j = p->first[JOINTS]; j < next->first[JOINTS]; j++) {
      const int joint = s->joints[j], sub = model->pattern.jptr[joint],
                end = model->pattern.jptr[joint + 1];
      next->joint_rows += model->pattern.cptr[joint + 1] - model->pattern.cptr[joint];
      next->joint_subs += end - sub;
      next->joint_numbers += (size_t)(model->pattern.joff[end] - model->pattern.joff[sub]);
    }
    const size_t rows = (size_t)s->r * (size_t)islands_number(s, i, CONTACTS) +
                        (size_t)islands_number(s, i, BOUNDED) +
                        (size_t)(next->couple_rows - p->couple_rows);
    next->dense = p->dense + (p->eliminate ? rows * rows : 0);
  }
}
