/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the WebAssembly module has not: engines of others, files, derivatives of steps. */
#include "experiments/base/files.h"
#include "experiments/base/memory.h"
#include "experiments/base/table.h"
#include "experiments/import/motion_file.h"
#include "experiments/scenes/scene_file.h"
#include "models/contact/step/velocity_derivative.h"
#include "models/engines/engine.h"
#include "models/formulations/reduced/reduced_derivative.h"
#include "models/scenes/truths.h"
#include "models/stepping/derivative_smooth.h"
#include "solvers/lcp/io/io_matrix.h"

#include <math.h>
#include <stdlib.h>

perp_status perp_engine_load(perp_ctx *ctx, const perp_engine_desc *engine,
                             const perp_engine_calls **calls)
{
  *calls = NULL;
  return PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                   "engine %s is not part of this page: perp simulate has it", engine->d.name);
}

bool perp_engine_here(const perp_engine_desc *engine)
{
  return engine->package[0] == '\0';
}

char *perp_read_input(const char *path, size_t *size, const char **why)
{
  (void)path;
  *size = 0;
  *why = "a page reads no files";
  return NULL;
}

char *perp_scene_file_source(const perp_desc *desc)
{
  (void)desc;
  return NULL; /* comments of the source are not exported */
}

uint64_t perp_scene_file_hash(const perp_desc *desc)
{
  (void)desc;
  return 0; /* there are no files */
}

bool perp_may_colour(FILE *out)
{
  (void)out;
  return false;
}

bool perp_motion_file_read(perp_ctx *ctx, perp_diag *diag, const perp_node *at,
                           const perp_model *model, const perp_motion_file *from,
                           perp_playback **out)
{
  (void)ctx, (void)model;
  *out = NULL;
  perp_diag_error(diag, at, 0, NULL, "cannot read %s: a page reads no files", from->path);
  return false;
}

char *perp_base_name(const char *path, const char *suffix)
{
  (void)suffix;
  return perp_xstrdup(path);
}

/* of includes, which a page has none of */
char *perp_real_path(const char *path)
{
  (void)path;
  return NULL;
}

/* A page shows no errors against a reference solution: those of files and of GSL's integrators are
 * there by name, and know no state. */
static perp_status left_out_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  const int *n = user; /* of q and v */
  (void)ctx, (void)t;
  for (int i = 0; i < n[0]; i++) q[i] = (double)NAN;
  for (int i = 0; i < n[1]; i++) v[i] = (double)NAN;
  return PERP_OK;
}

static double left_out_time(void *user, double t)
{
  (void)user, (void)t;
  return HUGE_VAL;
}

static perp_status left_out_truth(perp_ctx *ctx, perp_scene *scene, const char *what)
{
  perp_truth *truth = perp_truth_slot(ctx, scene, what);
  int *n = malloc(2 * sizeof *n);
  if (truth == NULL || n == NULL) abort();
  n[0] = scene->model != NULL ? perp_model_nq(scene->model) : scene->ode->nq;
  n[1] = scene->model != NULL ? perp_model_nv(scene->model) : scene->ode->nv;
  truth->user = n;
  truth->destroy = free;
  truth->state = left_out_state;
  truth->next_time = left_out_time;
  return PERP_OK;
}

perp_status perp_truth_file(perp_ctx *ctx, perp_scene *scene, const char *file, double uncertainty,
                            int n, const char *const *names, perp_truth_map *map, const void *user,
                            size_t size)
{
  (void)uncertainty, (void)n, (void)names, (void)map, (void)user, (void)size;
  return left_out_truth(ctx, scene, file);
}

perp_status perp_truth_reduced(perp_ctx *ctx, perp_scene *scene, double t_end, double uncertainty)
{
  (void)t_end, (void)uncertainty;
  return left_out_truth(ctx, scene, "integrated in joint coordinates");
}

/* ---- derivatives of steps: nothing of the module creates any ---- */

static perp_status left_out_derivatives(perp_ctx *ctx)
{
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "derivatives of steps are not part of this page: perp gradient has them");
}

perp_status perp_derivative_smooth_create(perp_ctx *ctx, perp_derivative *d, perp_constrained *k,
                                          const perp_spec *method, const perp_ode_sys *sys)
{
  (void)d, (void)k, (void)method, (void)sys;
  return left_out_derivatives(ctx);
}

perp_status perp_derivative_smooth_reset(perp_ctx *ctx, perp_derivative *d)
{
  (void)d;
  return left_out_derivatives(ctx);
}

perp_status perp_derivative_smooth_step(perp_ctx *ctx, perp_derivative *d)
{
  (void)d;
  return left_out_derivatives(ctx);
}

perp_status perp_velocity_derivative_create(perp_ctx *ctx, void *ws, perp_derivative *d)
{
  (void)ws, (void)d;
  return left_out_derivatives(ctx);
}

void perp_velocity_derivative_before(void *ws, perp_derivative *d)
{
  (void)ws, (void)d;
}

perp_status perp_velocity_derivative_step(perp_ctx *ctx, void *ws, perp_derivative *d)
{
  (void)ws, (void)d;
  return left_out_derivatives(ctx);
}

perp_status perp_reduced_derivative_create(perp_ctx *ctx, const perp_reduced_lent *lent,
                                           perp_derivative *d)
{
  (void)lent, (void)d;
  return left_out_derivatives(ctx);
}

void perp_reduced_derivative_reset(perp_derivative *d)
{
  (void)d;
}

void perp_reduced_derivative_before(perp_derivative *d)
{
  (void)d;
}

void perp_reduced_derivative_step(perp_derivative *d)
{
  (void)d;
}

/* Global problems need a sparse factorization. */
perp_status perp_lcp_condense(perp_ctx *ctx, int dim, int nc, const perp_io_matrix *M,
                              const perp_io_matrix *H, const double *f, const double *b,
                              const double *mu, perp_lcp_problem *out)
{
  (void)dim, (void)nc, (void)M, (void)H, (void)f, (void)b, (void)mu;
  *out = (perp_lcp_problem){ 0 };
  return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                   "a page reads no global friction problems: perp lcp convert FILE -o local.lcp "
                   "makes a local one");
}
