/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program, which chooses one of its commands. */
#ifndef PERP_CLI_H
#define PERP_CLI_H

#include "experiments/study/commands.h"

/* In the order of the help, ended by NULL. */
extern const perp_command *const perp_commands[];

/* The whole program: perp ARGV... */
int perp_main(int argc, char **argv);

#endif
