/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In the place of mjcf.c where perp was built without libmujoco. */
#include "experiments/import/mjcf.h"

void perp_mjcf_convert(const char *path, const char *key, perp_mjcf *out)
{
  (void)path;
  (void)key;
  perp_text_add(&out->error,
                "MJCF and URDF are read by libmujoco, and this perp was built without it");
  perp_text_add(&out->hint, "./perp setup mujoco");
}
