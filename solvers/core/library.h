/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Libraries of others that are loaded when they are first needed; not installed.
 *
 * A library that a program is linked with is loaded, with all that it needs itself, at each start:
 * HDF5, Siconos, SUNDIALS and assimp took two thirds of the time of a short command.  So perp
 * compiles against their headers, and asks the dynamic linker for their functions in create() or
 * open(); meson finds the names of the files (tests/house/soname.py). */
#ifndef PERP_LIBRARY_H
#define PERP_LIBRARY_H

#include "solvers/core/core.h"

/* A list of functions and objects, LIST(X) X(f) X(g) ..., as a struct of pointers to them, each
 * under its own name, and as their names:
 *   static struct { LIST(PERP_LIBRARY_POINTER) } lib_calls;
 *   PERP_LIBRARY(lib, LIST, lib_calls, KEY, "its name", "its-package-dev");
 * is lib_library, for perp_library_open; KEY as meson writes it in library_files.h. */
#define PERP_LIBRARY_POINTER(f) __typeof__(&(f)) f;
#define PERP_LIBRARY_NAME(f)    #f,

typedef struct perp_library {
  const char *name;         /* for messages */
  const char *file;         /* as the dynamic linker knows it */
  const char *place;        /* the path that it had when perp was built */
  const char *packages;     /* of Debian */
  const char *const *names; /* [count] */
  int count;
  void *pointers; /* a struct of `count` pointers, in the order of the names */
} perp_library;

#define PERP_LIBRARY(prefix, list, calls, key, title, debian)                                      \
  static const char *const prefix##_names[] = { list(PERP_LIBRARY_NAME) };                         \
  static const perp_library prefix##_library = { .name = title,                                    \
                                                 .file = PERP_LIBRARY_##key##_FILE,                \
                                                 .place = PERP_LIBRARY_##key##_PLACE,              \
                                                 .packages = debian,                               \
                                                 .names = prefix##_names,                          \
                                                 .count = sizeof prefix##_names /                  \
                                                          sizeof *prefix##_names,                  \
                                                 .pointers = &(calls) }

/* Fills `pointers`.  The library stays loaded; a second call finds it again, and writes the same.
 * PERP_ERR_EXTERNAL, with the remedy in the message: it is not there, or lacks a function.  Cost:
 * the start of the library, some milliseconds, once.  Any thread may call it. */
perp_status perp_library_open(perp_ctx *ctx, const perp_library *library);

#endif
