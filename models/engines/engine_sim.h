/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulation by an engine, where perp has a formulation.  The parts name the engine. */
#ifndef PERP_ENGINE_SIM_H
#define PERP_ENGINE_SIM_H

#include "models/engines/engine.h"
#include "models/stepping/formulation.h"

/* Not in the registry: perp_sim_create takes it where parts->engine is named. */
extern const perp_formulation_desc perp_engine_formulation;

/* Is a whole engine named?  Not where it is none, or `perp`, a name for its own parts that studies
 * have a use for. */
bool perp_engine_named(const perp_spec *engine);

/* "bullet 3.24, iterations=50, ..."; ws of a simulation by an engine. */
void perp_engine_resolved(const void *ws, char *text, size_t size);
/* Mechanical energy as the engine has it; NaN: it does not say. */
double perp_engine_energy(const void *ws);

#endif
