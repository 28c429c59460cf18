/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_SESSION_PRIVATE_H
#define PERP_SESSION_PRIVATE_H

#include "experiments/scenes/build.h"
#include "experiments/session/session.h"
#include "experiments/simulate/parts.h"
#include "experiments/simulate/replay.h"
#include "experiments/simulate/simulate_run.h"
#include "models/formulations/equivalent.h"
#include "models/models.h"

typedef struct session {
  perp_session face; /* first: what the caller sees */
  perp_ctx *ctx;
  perp_session_request request; /* its texts are those of the caller, and not read after open */
  perp_scene_file *file;        /* of a scene that came as text */
  perp_scene scene;
  perp_parts parts;
  perp_equivalent *extended; /* the model with forces from outside; NULL: that of the scene */
  perp_model *model;         /* whichever is simulated */
  perp_sim *sim;             /* scenes with bodies, */
  perp_ode *ode;             /* and plain ODE problems */
  perp_step_info info;
  perp_step_forces *forces; /* NULL until somebody asks */
  perp_gradient *gradient;  /* NULL: no derivatives */
  perp_replay *replay;      /* NULL: nothing is recorded */
  perp_measure *measure;    /* NULL: no metrics */
  double bound, *room;
  char name[PERP_SPEC_MAX], part[PERP_PARTS][PERP_SPEC_MAX];
} session;

/* The present state, as a frame of a recording. */
perp_status perp_session_frame(session *s, perp_replay *replay);

#endif
