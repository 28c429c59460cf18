/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In the place of mjcf.c where perp was built without libmujoco. */
#include "experiments/import/mjcf.h"

void perp_mjcf_convert(const char *path, const char *key, perp_mjcf *out)
{
  (void)path;
  (void)key;
  perp_text_add(&out->error, "perp was built without libmujoco, which reads MJCF and URDF");
  perp_text_add(&out->hint, "install the package libmujoco-dev, then build perp again: "
                            "meson setup --reconfigure build && ninja -C build");
}
