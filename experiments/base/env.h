/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine and the program that made a result. */
#ifndef PERP_ENV_H
#define PERP_ENV_H

#include <stdbool.h>

/* Processors this process may use. */
int perp_cores(void);
/* One-minute load average, NaN when unknown. */
double perp_load(void);
/* {"perp", "commit", "compiler", ..., "cpu", ...}: what is the same for every run of one program on
 * one machine.  Free the text. */
char *perp_env_json(bool indent);
/* 16 hexadecimal digits that identify that text. */
void perp_env_id(char id[17]);

#endif
