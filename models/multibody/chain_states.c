/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The chains of a model at the states of a simulation. */
#include "models/multibody/chain.h"

#include <string.h>

int perp_chains_follow(perp_model *model, const perp_eval *eval)
{
  int worst = -1, changed = 0;
  for (int i = 0; i < model->n_joints && model->chains.n > 0; i++) {
    const perp_joint *joint = &model->joint[i];
    bool hinges = false;
    if (joint->chain == NULL) continue;
    for (int k = 0; k < joint->chain->n; k++) hinges |= !joint->chain->slides[k];
    if (!hinges) continue; /* slides have their coordinates without any memory */
    perp_chain_memory *memory = &model->sim.chain[joint->chain_memory];
    const perp_chain_memory before = *memory;
    if (!perp_chain_follow(joint->chain, &eval->pose[joint->a], &eval->pose[joint->b], memory) &&
        worst < 0 && model->joint_def[i].kind == PERP_JOINT_CHAIN)
      worst = i;
    changed += memcmp(before.basis, memory->basis, sizeof before.basis) != 0;
  }
  if (changed > 0 && model->sim.chain_set != NULL) ++*model->sim.chain_set;
  return worst;
}

static void chain_states_at(const perp_model *model, const perp_joint *joint, const perp_eval *eval,
                            perp_chain_at *at)
{
  perp_chain_solve(joint->chain, &model->sim.chain[joint->chain_memory], &eval->pose[joint->a],
                   &eval->pose[joint->b], at);
}

void perp_chains_evaluate(const perp_model *model, perp_eval *eval)
{
  for (int joint = 0; joint < model->n_joints && eval->chain != NULL; joint++)
    if (model->joint[joint].chained)
      chain_states_at(model, &model->joint[joint], eval,
                      &eval->chain[model->joint[joint].chain_memory]);
}

const perp_chain_at *perp_chain_found(const perp_model *model, const perp_joint *joint,
                                      const perp_eval *eval, perp_chain_at *own)
{
  if (eval->chain != NULL) return &eval->chain[joint->chain_memory];
  chain_states_at(model, joint, eval, own);
  return own;
}
