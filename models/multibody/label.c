/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/multibody/model_private.h"

#include <stdio.h>

const char *perp_model_label(char buf[PERP_LABEL_MAX], const char *what, int index,
                             const char *name)
{
  if (name != NULL)
    snprintf(buf, PERP_LABEL_MAX, "%s %d '%.48s'", what, index, name);
  else
    snprintf(buf, PERP_LABEL_MAX, "%s %d", what, index);
  return buf;
}
