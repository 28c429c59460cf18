/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Definitions of joints and forces of any kind, those of plug-ins among them. */
#include "models/multibody/model_private.h"

int perp_joint_rows(const perp_joint_def *def, int dim)
{
  unsigned angles = 0;
  if (def->kind == PERP_JOINT_CHAIN) return dim == 3 ? 6 - def->n_axes : 0;
  if (def->kind != PERP_JOINT_PLUGIN) return perp_joint_kind_rows(def->kind, dim);
  return def->plugin->rows(def->opts, dim, def->n_bodies, &angles);
}

const char *perp_joint_name(const perp_joint_def *def)
{
  return def->kind == PERP_JOINT_PLUGIN ? def->plugin->d.name : perp_joint_kind_name(def->kind);
}

const int *perp_joint_bodies(const perp_joint_def *def, int pair[2], int *n)
{
  *n = def->kind == PERP_JOINT_PLUGIN ? def->n_bodies : 2;
  pair[0] = def->a;
  pair[1] = def->b;
  return def->kind == PERP_JOINT_PLUGIN ? def->body : pair;
}

perp_status perp_joint_define(perp_ctx *ctx, const perp_joint_desc *desc, const void *opts, int n,
                              const int *body, perp_joint_def *def)
{
  char number[PERP_NUMBER_MAX];
  if (n < desc->bodies_min || n > desc->bodies_max)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "joint '%s' needs %s: got %d", desc->d.name,
                     perp_element_number(number, desc->bodies_min, desc->bodies_max), n);
  *def = (perp_joint_def){ 0 };
  if (desc->own > 0) {
    if (opts != NULL) *def = *(const perp_joint_def *)opts;
    def->kind = (perp_joint_kind)(desc->own - 1);
  } else {
    def->kind = PERP_JOINT_PLUGIN;
    def->plugin = desc;
    def->opts = opts;
    def->body = body;
    def->n_bodies = n;
  }
  def->a = body[0];
  def->b = n > 1 ? body[1] : PERP_WORLD;
  return PERP_OK;
}

/* ---- forces ---- */

const char *perp_force_name(const perp_force_def *def)
{
  static const char *const names[] = { [PERP_FORCE_POINT] = "point",
                                       [PERP_FORCE_TORQUE] = "torque",
                                       [PERP_FORCE_SPRING] = "spring",
                                       [PERP_FORCE_DRAG] = "drag",
                                       [PERP_FORCE_PAIRS] = "pairs" };
  if (def->kind == PERP_FORCE_PLUGIN) return def->plugin->d.name;
  return (unsigned)def->kind < sizeof names / sizeof *names ? names[def->kind] : NULL;
}

perp_status perp_force_define(perp_ctx *ctx, const perp_force_desc *desc, const void *opts, int n,
                              const int *body, perp_force_def *def)
{
  char number[PERP_NUMBER_MAX];
  if (n < desc->bodies_min || n > desc->bodies_max)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "force '%s' needs %s: got %d", desc->d.name,
                     perp_element_number(number, desc->bodies_min, desc->bodies_max), n);
  *def = (perp_force_def){ 0 };
  if (desc->own > 0) {
    if (opts != NULL) *def = *(const perp_force_def *)opts;
    def->kind = (perp_force_kind)(desc->own - 1);
    for (int i = 1; i < n && def->kind == PERP_FORCE_PAIRS; i++)
      if (body[i] != body[i - 1] + 1)
        return PERP_FAIL(
            ctx, PERP_ERR_ARG,
            "force '%s' acts on bodies with consecutive numbers: body %d comes after body %d",
            desc->d.name, body[i], body[i - 1]);
  } else {
    def->kind = PERP_FORCE_PLUGIN;
    def->plugin = desc;
    def->opts = opts;
    def->body = body;
    def->n_bodies = n;
  }
  def->a = body[0];
  def->b = n > 1 ? body[n - 1] : PERP_WORLD;
  return PERP_OK;
}
