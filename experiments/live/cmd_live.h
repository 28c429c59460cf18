/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_LIVE_COMMAND_H
#define PERP_LIVE_COMMAND_H

#include "experiments/study/commands.h"

/* perp live */
extern const perp_command perp_live_command;

#endif
