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
/* Taken out of the words before a command sees them (cli.c): here for its help. */
#define PERP_FILTER_FLAG                                                                           \
  { "no-filter", 0, NULL,                                                                          \
    "Bodies of a robot that overlap as drawn collide with each other (default: those of one "      \
    "mechanism do not). The same as robot.xml:filter=false." }

#define PERP_REQUEST_FLAGS                                                                       \
  { "formulation", 0, "NAME", "Formulation of the dynamics: velocity, acceleration, ..." },      \
  { "ode", 0, "NAME", "Integrator of the equations of motion." },                                \
  { "kkt", 0, "NAME", "Solver of the equality-constrained dynamics." },                          \
  { "lcp", 0, "NAME", "Solver of the contact problem." },                                        \
  { "stab", 0, "NAME", "Constraint stabilization." },                                            \
  { "contact", 0, "NAME", "Contact and friction model." },                                       \
  { "engine", 0, "NAME",                                                                         \
    "Third-party physics engine that replaces all of these methods: ode, bullet, ..." },         \
  { "h", 0, "TIME", "Step size, e.g. 1ms; adaptive methods start with it." },                    \
  { "t-end", 0, "TIME", "End time of the simulation, e.g. 0.8s." },                              \
  { "tol", 0, "X", "Error tolerance per step; short for the option tol of --ode." },             \
  { "perturb", 0, "X",                                                                           \
    "Relative perturbation of the initial state; err.q / X is its amplification." },             \
  { "equivalent", 0, "NAME",                                                                     \
    "Equivalent model: given, mirrored (x to -x), reversed or shuffled (order of bodies, "       \
    "joints, shapes and corners), mirrored-shuffled." },                                         \
  { "seed", 0, "N", "Seed of random numbers; short for the option seed of the scene." },         \
  { "timeout", 0, "TIME", "Limit of the wall time, e.g. 30s." }
/* clang-format on */

#endif
