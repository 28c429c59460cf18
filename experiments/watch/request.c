/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/watch/request.h"

#include "experiments/plugins/cmd_scene.h"
#include "experiments/simulate/parts.h"
#include "experiments/base/numbers.h"

#include <stdio.h>
#include <string.h>

/* The value of a flag that names a plug-in: checked here, so that an error names the flag. */
static int read_plugin(perp_ctx *ctx, const perp_args *args, const char *flag, perp_kind kind,
                       const char **value)
{
  *value = perp_args_get(args, flag);
  perp_spec spec;
  if (*value == NULL) return -1;
  if (perp_spec_parse(ctx, kind, *value, &spec) != PERP_OK)
    return perp_usage_of(ctx, args, "--%s: %s", flag, ctx->msg);
  perp_spec_free(&spec);
  return -1;
}

/* --tol is the option tol of the integrator, --seed the option seed of the scene. */
static int add_option(perp_ctx *ctx, const perp_args *args, const char *key, perp_kind kind,
                      const char **name, char *buf, size_t size)
{
  const char *value = perp_args_get(args, key);
  if (value == NULL) return -1;
  perp_spec spec;
  perp_status status = perp_spec_parse(ctx, kind, *name, &spec);
  if (status == PERP_OK) status = perp_opts_set(ctx, spec.d, spec.opts, key, value);
  if (status == PERP_OK && perp_spec_format(&spec, buf, size) >= (int)size)
    status = PERP_FAIL(ctx, PERP_ERR_OPTION, "the options of %s are too long", *name);
  perp_spec_free(&spec);
  if (status != PERP_OK) return perp_usage_of(ctx, args, "--%s: %s", key, ctx->msg);
  *name = buf;
  return -1;
}

static int add_tolerance(perp_ctx *ctx, const perp_args *args, const char **ode, char *buf,
                         size_t size)
{
  if (*ode == NULL && perp_option_given(args, "tol"))
    return perp_usage_error(args, "--tol needs --ode: it is an option of the integrator");
  return add_option(ctx, args, "tol", PERP_KIND_ode, ode, buf, size);
}

/* Only the scene draws random numbers, and few do. */
static int add_seed(perp_ctx *ctx, const perp_args *args, const char **scene, char *buf,
                    size_t size)
{
  perp_spec spec;
  bool random = !perp_option_given(args, "seed");
  if (!random && perp_spec_parse(ctx, PERP_KIND_scene, *scene, &spec) == PERP_OK) {
    for (const perp_opt *option = spec.d->opts; option != NULL && option->key != NULL; option++)
      random = random || strcmp(option->key, "seed") == 0;
    perp_spec_free(&spec);
  }
  if (!random)
    return perp_usage_error(args,
                            "--seed has no effect in scene %s, which draws no random numbers: "
                            "leave it out",
                            *scene);
  return add_option(ctx, args, "seed", PERP_KIND_scene, scene, buf, size);
}

int perp_command_request(perp_ctx *ctx, const perp_args *args, perp_cli_request *out)
{
  *out = (perp_cli_request){ .q.scene = args->arg[0] };
  perp_request *request = &out->q;
  perp_spec scene;
  int status = perp_command_scene(ctx, request->scene);
  if (status >= 0) return status;
  if (perp_spec_parse(ctx, PERP_KIND_scene, request->scene, &scene) != PERP_OK)
    return perp_usage_of(ctx, args, "%s", ctx->msg);
  perp_spec_free(&scene);
  for (int part = 0; part < PERP_PARTS && status < 0; part++)
    status = read_plugin(ctx, args, perp_part_name(part), perp_part_kind(part),
                         perp_part_text(request, part));
  if (status < 0) status = add_tolerance(ctx, args, &request->ode, out->ode, sizeof out->ode);
  if (status < 0) status = add_seed(ctx, args, &request->scene, out->seeded, sizeof out->seeded);
  if (status < 0) status = perp_option_real(ctx, args, "h", "s", false, &request->h);
  if (status < 0) status = perp_option_real(ctx, args, "t-end", "s", false, &request->t_end);
  if (status < 0) status = perp_option_real(ctx, args, "sample", "s", true, &request->sample_every);
  if (status < 0) status = perp_option_real(ctx, args, "perturb", "", true, &request->perturb);
  request->equivalent = perp_args_get(args, "equivalent");
  if (status < 0)
    status = perp_option_parsed(ctx, args, "timeout", perp_parse_duration, &out->timeout);
  if (status < 0 && perp_option_given(args, "timeout") && out->timeout <= 0)
    status = perp_usage_error(args, "--timeout must be positive: got %s",
                              perp_args_get(args, "timeout"));
  return status;
}
