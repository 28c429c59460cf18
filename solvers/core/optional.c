/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/optional.h"

#include <string.h>

static const char *const optional_parts[][2] = {
#define PERP_PART(name, packages, summary) { #name, packages },
#include "solvers/core/optional.def"
};

static const struct {
  perp_kind kind;
  const char *name, *summary, *part;
} optional_list[] = {
#define PERP_OPTIONAL(part, kind, name, summary) { PERP_KIND_##kind, name, summary, #part },
#include "solvers/core/optional.def"
};
enum { OPTIONAL_MOST = sizeof optional_list / sizeof *optional_list };

const char *perp_optional_packages(const char *part)
{
  for (size_t i = 0; i < sizeof optional_parts / sizeof *optional_parts; i++)
    if (strcmp(optional_parts[i][0], part) == 0) return optional_parts[i][1];
  return NULL;
}

const perp_optional *perp_optional_at(int i)
{
  static perp_optional list[OPTIONAL_MOST];
  if (i < 0 || i >= OPTIONAL_MOST) return NULL;
  list[i] = (perp_optional){ optional_list[i].kind, optional_list[i].name, optional_list[i].summary,
                             optional_list[i].part, perp_optional_packages(optional_list[i].part) };
  return &list[i];
}
