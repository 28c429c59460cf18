/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One simulation as it is asked for on the command line. */
#ifndef PERP_WATCH_REQUEST_H
#define PERP_WATCH_REQUEST_H

#include "experiments/simulate/simulate.h"
#include "experiments/study/commands.h"

/* Texts of q are those of the arguments, or of this struct, which must then stay where it is. */
typedef struct perp_cli_request {
  perp_request q;
  double timeout; /* s; 0: none */
  char ode[PERP_SPEC_MAX], seeded[PERP_SPEC_MAX];
} perp_cli_request;

/* SCENE and the options of PERP_REQUEST_FLAGS.  Returns -1 to go on, or the exit status after a
 * message. */
int perp_command_request(perp_ctx *ctx, const perp_args *args, perp_cli_request *out);

/* The options that choose what is simulated: part of a table of perp_flag. */
/* clang-format off */
#define PERP_REQUEST_FLAGS                                                                         \
  { "formulation", 0, "NAME", "how the scene becomes numbers: velocity, acceleration, ..." },      \
  { "ode", 0, "NAME", "integrator" },                                                              \
  { "kkt", 0, "NAME", "solver of the constrained dynamics" },                                      \
  { "lcp", 0, "NAME", "solver of the contact problem" },                                           \
  { "stab", 0, "NAME", "constraint stabilization" },                                               \
  { "contact", 0, "NAME", "contact and friction model" },                                          \
  { "engine", 0, "NAME", "a whole engine in place of all of these: ode, bullet, ..." },            \
  { "h", 0, "TIME", "step, e.g. 1ms; the first one of adaptive methods" },                         \
  { "t-end", 0, "TIME", "end of the simulation, e.g. 0.8s" },                                      \
  { "tol", 0, "X", "error per step: short for the option tol of --ode" },                          \
  { "perturb", 0, "X", "move the start by this part of its size: err.q / X is the amplification" }, \
  { "seed", 0, "N", "of random numbers: short for the option seed of the scene" },                 \
  { "timeout", 0, "TIME", "stop after this much wall time, e.g. 30s" }
/* clang-format on */

#endif
