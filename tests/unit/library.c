/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Libraries that are loaded when they are needed: found by name and by place, and what is said of
 * those that are not there or lack a function. */
#include "solvers/core/library.h"
#include "tests/tap.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#define MATH(X) X(cos) X(hypot)
static struct {
  MATH(PERP_LIBRARY_POINTER)
} math_calls;
static const char *const math_names[] = { MATH(PERP_LIBRARY_NAME) };

static perp_library math_library(const char *file, const char *place)
{
  return (perp_library){ .name = "mathematics",
                         .file = file,
                         .place = place,
                         .packages = "libc6-dev",
                         .names = math_names,
                         .count = 2,
                         .pointers = &math_calls };
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  perp_library library = math_library("libm.so.6", "/nowhere/libm.so.6");
  ok(perp_library_open(&ctx, &library) == PERP_OK && math_calls.cos(0) == 1 &&
         math_calls.hypot(3, 4) == 5,
     "functions of a library by its name");
  double (*const first)(double) = math_calls.cos;
  ok(perp_library_open(&ctx, &library) == PERP_OK && math_calls.cos == first,
     "the same functions the second time");

  void *open = dlopen("libm.so.6", RTLD_NOW);
  Dl_info info;
  char place[4096] = "";
  if (open != NULL && dladdr(dlsym(open, "cos"), &info) != 0)
    snprintf(place, sizeof place, "%s", info.dli_fname);
  memset(&math_calls, 0, sizeof math_calls);
  library = math_library("libnowhere.so.1", place);
  ok(perp_library_open(&ctx, &library) == PERP_OK && math_calls.hypot(3, 4) == 5,
     "by its place where the name is not known: %s", place);

  library = math_library("libnowhere.so.1", "/nowhere/libnowhere.so.1");
  ok(perp_library_open(&ctx, &library) == PERP_ERR_EXTERNAL &&
         strstr(ctx.msg, "mathematics") != NULL && strstr(ctx.msg, "libnowhere.so.1") != NULL &&
         strstr(ctx.msg, "libc6-dev") != NULL,
     "not there: %s", ctx.msg);
  static const char *const absent[] = { "cos", "perp_no_such_function" };
  library = math_library("libm.so.6", "");
  library.names = absent;
  ok(perp_library_open(&ctx, &library) == PERP_ERR_EXTERNAL &&
         strstr(ctx.msg, "perp_no_such_function") != NULL,
     "without a function: %s", ctx.msg);
  return tap_done();
}
