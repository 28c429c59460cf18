/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/results.h"

perp_status perp_export_hdf5(perp_ctx *ctx, const perp_results *r, const char *path)
{
  (void)r;
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "%s: this perp was built without HDF5 (package libhdf5-dev)", path);
}
