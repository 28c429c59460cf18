/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several members of a JSON object in one call. */
#ifndef PERP_JSON_MEMBERS_H
#define PERP_JSON_MEMBERS_H

#include "experiments/base/util.h"

/* The form names the members, each with its value in the way of printf, so that the compiler checks
 * the types:
 *   "name %s"   a text, NULL gives null      "share %g"    a real number
 *   "rows %d", "steps %lld"   whole          "solved? %d"  true or false
 * perp_json_members(&j, "name %s, rows %d, solved? %d", name, n, good); */
void perp_json_members(perp_json *j, const char *form, ...) __attribute__((format(printf, 2, 3)));
/* An object of such members.  key NULL: inside a list. */
void perp_json_object(perp_json *j, const char *key, const char *form, ...)
    __attribute__((format(printf, 3, 4)));
/* Lists of numbers. */
void perp_json_reals(perp_json *j, const char *key, const double *x, int n);
void perp_json_ints(perp_json *j, const char *key, const int *x, int n);

#endif
