/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/io/io_hdf5.h"

#include "solvers/core/library_files.h"

struct perp_io_hdf5 perp_io_hdf5;

perp_status perp_io_hdf5_open(perp_ctx *ctx)
{
  PERP_LIBRARY(hdf5, PERP_IO_HDF5, perp_io_hdf5, HDF5, "HDF5", "libhdf5-dev");
  return perp_library_open(ctx, &hdf5_library);
}
