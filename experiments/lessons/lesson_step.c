/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One time step with all its numbers. */
#include "experiments/lessons/lesson.h"
#include "models/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 24 }; /* numbers in a row that a reader still looks at */

static void lesson_step_put_vector(FILE *out, const char *name, const double *v, int n)
{
  fprintf(out, "  %-12s", name);
  for (int i = 0; i < n && i < MOST; i++) {
    if (i > 0 && i % 6 == 0) fprintf(out, "\n  %-12s", "");
    fprintf(out, " %10.4g", fabs(v[i]) < 1e-14 ? 0.0 : v[i]);
  }
  fprintf(out, n > MOST ? " ... (%d numbers)\n" : "\n", n);
}

static void lesson_step_put_matrix(FILE *out, const char *name, const double *A, int rows,
                                   int columns)
{
  fprintf(out, "  %s, %d x %d\n", name, rows, columns);
  for (int i = 0; i < rows && i < MOST; i++) {
    fprintf(out, "    ");
    for (int j = 0; j < columns && j < 2 * MOST; j++) {
      double v = A[i + (size_t)j * (size_t)rows];
      if (fabs(v) < 1e-14)
        fprintf(out, "       .");
      else
        fprintf(out, " %7.3g", v);
    }
    fprintf(out, columns > 2 * MOST ? " ...\n" : "\n");
  }
  if (rows > MOST) fprintf(out, "    ... (%d rows)\n", rows);
}

static double lesson_step_largest(const double *v, int n)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(v[i]));
  return most;
}

struct step {
  const perp_blocks *B;
  int nq, nv, m;
  double *q, *v, *f, *p, *C, *rate, *J, *A, *b, *lambda, *next, *q1, *zero, *scratch;
};

static void lesson_step_layout(void *step, perp_arena *arena)
{
  struct step *s = step;
  PERP_DOUBLES(arena, s->nq, &s->q, &s->q1);
  PERP_DOUBLES(arena, s->nv, &s->v, &s->f, &s->p, &s->next);
  PERP_DOUBLES(arena, s->m, &s->C, &s->rate, &s->b, &s->lambda, &s->zero);
  PERP_DOUBLES(arena, (size_t)s->m * (size_t)s->nv, &s->J);
  PERP_DOUBLES(arena, (size_t)s->m * (size_t)s->m, &s->A);
  PERP_DOUBLES(arena, 2 * s->nv, &s->scratch);
}

/* A = J M^-1 J' and J dense, b = J (v + h M^-1 f): the impulse lambda solves A lambda = -b. */
static void lesson_step_fill(struct step *step, double h)
{
  const perp_blocks *blocks = step->B;
  for (int j = 0; j < step->nv; j++) {
    memset(step->next, 0, (size_t)step->nv * sizeof *step->next);
    step->next[j] = 1;
    memset(step->J + (size_t)j * (size_t)step->m, 0, (size_t)step->m * sizeof *step->J);
    perp_blocks_J(blocks, 1, step->next, step->J + (size_t)j * (size_t)step->m);
  }
  for (int j = 0; j < step->m; j++) {
    memset(step->b, 0, (size_t)step->m * sizeof *step->b);
    step->b[j] = 1;
    perp_blocks_A(blocks, step->b, step->A + (size_t)j * (size_t)step->m, step->scratch);
  }
  perp_blocks_Minv(blocks, step->f, step->next);
  for (int i = 0; i < step->nv; i++) step->next[i] = step->v[i] + h * step->next[i];
  memset(step->b, 0, (size_t)step->m * sizeof *step->b);
  perp_blocks_J(blocks, 1, step->next, step->b);
}

static perp_status lesson_step_tell(perp_ctx *ctx, struct step *step, const perp_model *model,
                                    double h, FILE *out)
{
  perp_spec spec;
  perp_stats stats = { 0 };
  void *ws = NULL;
  lesson_step_fill(step, h);
  lesson_step_put_vector(out, "q", step->q, step->nq);
  lesson_step_put_vector(out, "v", step->v, step->nv);
  lesson_step_put_vector(out, "f", step->f, step->nv);
  lesson_step_put_vector(out, "C(q)", step->C, step->m);
  lesson_step_put_matrix(out, "J = dC/dq", step->J, step->m, step->nv);
  lesson_step_put_matrix(out, "A = J M^-1 J'", step->A, step->m, step->m);
  lesson_step_put_vector(out, "b", step->b, step->m);
  fprintf(out,
          "  b = J (v + h M^-1 f): velocity at which the joints would open without an impulse\n");
  /* M v' = (M v + h f) + J' lambda,  J v' = 0 */
  perp_blocks_M(step->B, step->v, step->p);
  for (int i = 0; i < step->nv; i++) step->p[i] += h * step->f[i];
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_kkt, "schur-svd", &spec));
  const perp_kkt_desc *kkt = (const perp_kkt_desc *)(const void *)spec.d;
  perp_status status = kkt->create(ctx, step->B, spec.opts, &ws);
  memset(step->lambda, 0, (size_t)step->m * sizeof *step->lambda);
  if (status == PERP_OK) status = kkt->factor(ctx, ws, step->B, &stats);
  if (status == PERP_OK && stats.reason > 0)
    status = kkt->solve(ctx, ws, step->B, step->p, step->zero, step->next, step->lambda, &stats);
  kkt->destroy(ws);
  perp_spec_free(&spec);
  PERP_TRY(status);
  lesson_step_put_vector(out, "lambda", step->lambda, step->m);
  fprintf(out, "  A lambda = -b: impulses that keep the joints closed, N s (reason: %s)\n",
          perp_reason_name(stats.reason));
  lesson_step_put_vector(out, "v after", step->next, step->nv);
  memset(step->rate, 0, (size_t)step->m * sizeof *step->rate);
  perp_blocks_J(step->B, 1, step->next, step->rate);
  fprintf(out, "  largest |J v|: %.3g before, %.3g after\n", lesson_step_largest(step->b, step->m),
          lesson_step_largest(step->rate, step->m));
  double before = lesson_step_largest(step->C, step->m);
  for (int i = 0; i < step->nv; i++) step->scratch[i] = h * step->next[i];
  perp_model_retract(model, step->q, step->scratch, step->q1);
  perp_model_error(model, h, step->q1, step->C);
  lesson_step_put_vector(out, "q after", step->q1, step->nq);
  lesson_step_put_vector(out, "C after", step->C, step->m);
  fprintf(out,
          "  largest |C|: %.3g before, %.3g after one step of %g s: the constraint is satisfied to "
          "first order only\n",
          before, lesson_step_largest(step->C, step->m), h);
  return PERP_OK;
}

perp_status perp_lesson_step(perp_ctx *ctx, const char *scene_name, double h, FILE *out)
{
  perp_spec spec;
  perp_scene scene;
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_scene, scene_name, &spec));
  perp_status status = perp_scene_create(ctx, &spec, &scene);
  perp_spec_free(&spec);
  PERP_TRY(status);
  if (scene.model == NULL || perp_model_m(scene.model) == 0) {
    perp_scene_destroy(&scene);
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%s has no constraints", scene_name);
  }
  perp_model *model = scene.model;
  struct step step = { .nq = perp_model_nq(model),
                       .nv = perp_model_nv(model),
                       .m = perp_model_m(model) };
  perp_arena room = { 0 };
  status = perp_arena_layout(ctx, &room, lesson_step_layout, &step);
  if (status != PERP_OK) {
    perp_scene_destroy(&scene);
    return status;
  }
  memset(step.zero, 0, (size_t)step.m * sizeof *step.zero);
  memcpy(step.q, perp_model_q0(model), (size_t)step.nq * sizeof *step.q);
  memcpy(step.v, perp_model_v0(model), (size_t)step.nv * sizeof *step.v);
  fprintf(
      out,
      "One step of %s with h = %g s: semi-implicit Euler, constraints on the velocity level\n\n",
      scene_name, h);
  step.B = perp_model_assemble(model, 0, step.q);
  perp_model_forces(model, 0, step.q, step.v, step.f);
  perp_model_error(model, 0, step.q, step.C);
  status = lesson_step_tell(ctx, &step, model, h, out);
  perp_arena_free(&room);
  perp_scene_destroy(&scene);
  return status;
}
