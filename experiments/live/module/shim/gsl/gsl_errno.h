/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp uses of GSL, for the WebAssembly module (gsl_small.c): no handler is ever called. */
#ifndef GSL_SMALL_ERRNO_H
#define GSL_SMALL_ERRNO_H

typedef void gsl_error_handler_t(const char *reason, const char *file, int line, int number);
static inline gsl_error_handler_t *gsl_set_error_handler_off(void)
{
  return 0;
}
static inline gsl_error_handler_t *gsl_set_error_handler(gsl_error_handler_t *handler)
{
  return handler;
}

#endif
