/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plug-ins that perp has only where a library is installed.  Their names are known everywhere: a
 * study may name one, and a message can tell which package is missing.  The list is optional.def.
 */
#ifndef PERP_OPTIONAL_H
#define PERP_OPTIONAL_H

#include "solvers/core/core.h"

typedef struct perp_optional {
  perp_kind kind;
  const char *name, *summary;
  const char *part;     /* as in `./perp setup PART` */
  const char *packages; /* of Debian, separated by blanks */
} perp_optional;

/* The i-th plug-in of the list, whether perp was built with its library or not; NULL past the end.
 */
const perp_optional *perp_optional_at(int i);
/* (registry.c) The plug-in that `text` ("name" or "name:key=value,...") names, where it is of the
 * list and not registered in ctx; else NULL.  Its options are not read: they are known with the
 * library only. */
const perp_optional *perp_optional_absent(const perp_ctx *ctx, perp_kind kind, const char *text);
/* Debian's packages of a part of optional.def; NULL: there is no such part. */
const char *perp_optional_packages(const char *part);

#endif
