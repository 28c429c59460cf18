/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fclib HDF5 files without the HDF5 library. */
#include "solvers/lcp/io/io.h"
#include "solvers/lcp/io/io_scan.h"

perp_status perp_lcp_read_fclib(perp_ctx *ctx, const char *path, perp_lcp_problem *out)
{
  *out = (perp_lcp_problem){ 0 };
  return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:1: HDF5 file, but perp was built without HDF5", path);
}

perp_status perp_lcp_write_fclib(perp_ctx *ctx, const perp_lcp_problem *p, const char *path)
{
  (void)p;
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%s: perp was built without HDF5", path);
}
