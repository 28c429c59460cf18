/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/io/io_hdf5.h"

#include "solvers/core/library_files.h"

struct perp_io_hdf5 perp_io_hdf5;

perp_status perp_io_hdf5_open(perp_ctx *ctx)
{
  static const char *const names[] = { PERP_IO_HDF5(PERP_LIBRARY_NAME) };
  static const perp_library library = { .name = "HDF5",
                                        .file = PERP_LIBRARY_HDF5_FILE,
                                        .place = PERP_LIBRARY_HDF5_PLACE,
                                        .packages = "libhdf5-dev",
                                        .names = names,
                                        .count = sizeof names / sizeof *names,
                                        .pointers = &perp_io_hdf5 };
  return perp_library_open(ctx, &library);
}
