/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a recording says of the model itself; of the playground, too, which records nothing. */
#ifndef PERP_REPLAY_MODEL_H
#define PERP_REPLAY_MODEL_H

#include "experiments/base/json.h"
#include "models/multibody/model.h"

#define PERP_REPLAY_SCHEMA "perp-replay/2"
/* The members schema, dim, gravity, bodies, shapes, joints and springs (replay.h) of the open
 * object. */
void perp_replay_model(perp_json *json, const perp_model *model);

#endif
