/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_LESSON_PIVOTS_JSON_H
#define PERP_LESSON_PIVOTS_JSON_H

#include "experiments/base/json.h"
#include "experiments/lessons/pivots.h"

/* An object of a list: { solver, method, variant, reason, events, iterations, proved, frames: [{
 * what, text, row, lambda, w, t, set, tableau }] }. */
void perp_pivots_put_run(perp_json *json, const perp_pivots *pivots, int variant);
void perp_pivots_put_reals(perp_json *json, const char *key, const double *v, int n);

#endif
