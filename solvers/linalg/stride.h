/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PERP_STRIDE_H
#define PERP_STRIDE_H

#include <stddef.h>

/* Distance of two columns of `rows` numbers: whole cache lines, as kernels of BLAS may sum a column
 * that begins elsewhere in another order, and no power of two. */
static inline size_t perp_column_stride(int rows)
{
  const size_t ld = ((size_t)rows + 7) / 8 * 8;
  return ld % 64 == 0 ? ld + 8 : ld;
}

#endif
