/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HDF5, loaded when a file needs it (solvers/core/library.h): perp_io_hdf5.H5Fopen is its H5Fopen.
 * Its constants are macros that call it, and work as they are written.  Not installed. */
#ifndef PERP_IO_HDF5_H
#define PERP_IO_HDF5_H

#include "solvers/core/library.h"

#include <hdf5.h>

#define PERP_IO_HDF5(X)                                                                            \
  X(H5Aclose)                                                                                      \
  X(H5Acreate2)                                                                                    \
  X(H5Awrite)                                                                                      \
  X(H5Dclose)                                                                                      \
  X(H5Dcreate2)                                                                                    \
  X(H5Dget_space)                                                                                  \
  X(H5Dget_type)                                                                                   \
  X(H5Dopen2)                                                                                      \
  X(H5Dread)                                                                                       \
  X(H5Dwrite)                                                                                      \
  X(H5Eget_auto2)                                                                                  \
  X(H5Eset_auto2)                                                                                  \
  X(H5Fclose)                                                                                      \
  X(H5Fcreate)                                                                                     \
  X(H5Fopen)                                                                                       \
  X(H5Gclose)                                                                                      \
  X(H5Gcreate2)                                                                                    \
  X(H5Lexists)                                                                                     \
  X(H5Sclose)                                                                                      \
  X(H5Screate)                                                                                     \
  X(H5Screate_simple)                                                                              \
  X(H5Sget_simple_extent_npoints)                                                                  \
  X(H5Tclose)                                                                                      \
  X(H5Tcopy)                                                                                       \
  X(H5Tget_class)                                                                                  \
  X(H5Tset_size)                                                                                   \
  X(H5check_version)                                                                               \
  X(H5open)                                                                                        \
  X(H5T_C_S1_g)                                                                                    \
  X(H5T_NATIVE_DOUBLE_g)                                                                           \
  X(H5T_NATIVE_INT_g)

struct perp_io_hdf5 {
  PERP_IO_HDF5(PERP_LIBRARY_POINTER)
};
extern struct perp_io_hdf5 perp_io_hdf5;

/* Before the first use. */
perp_status perp_io_hdf5_open(perp_ctx *ctx);

/* what the macros of HDF5 say */
#define H5check_version     (*perp_io_hdf5.H5check_version)
#define H5open              (*perp_io_hdf5.H5open)
#define H5T_C_S1_g          (*perp_io_hdf5.H5T_C_S1_g)
#define H5T_NATIVE_DOUBLE_g (*perp_io_hdf5.H5T_NATIVE_DOUBLE_g)
#define H5T_NATIVE_INT_g    (*perp_io_hdf5.H5T_NATIVE_INT_g)

#endif
