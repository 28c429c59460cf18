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

static void lesson_step_layout(void *step, perp_arena *a)
{
  struct step *s = step;
  PERP_DOUBLES(a, s->nq, &s->q, &s->q1);
  PERP_DOUBLES(a, s->nv, &s->v, &s->f, &s->p, &s->next);
  PERP_DOUBLES(a, s->m, &s->C, &s->rate, &s->b, &s->lambda, &s->zero);
  PERP_DOUBLES(a, (size_t)s->m * (size_t)s->nv, &s->J);
  PERP_DOUBLES(a, (size_t)s->m * (size_t)s->m, &s->A);
  PERP_DOUBLES(a, 2 * s->nv, &s->scratch);
}

/* A = J M^-1 J' and J dense, b = J (v + h M^-1 f): the impulse lambda solves A lambda = -b. */
static void lesson_step_fill(struct step *s, double h)
{
  const perp_blocks *B = s->B;
  for (int j = 0; j < s->nv; j++) {
    memset(s->next, 0, (size_t)s->nv * sizeof *s->next);
    s->next[j] = 1;
    memset(s->J + (size_t)j * (size_t)s->m, 0, (size_t)s->m * sizeof *s->J);
    perp_blocks_J(B, 1, s->next, s->J + (size_t)j * (size_t)s->m);
  }
  for (int j = 0; j < s->m; j++) {
    memset(s->b, 0, (size_t)s->m * sizeof *s->b);
    s->b[j] = 1;
    perp_blocks_A(B, s->b, s->A + (size_t)j * (size_t)s->m, s->scratch);
  }
  perp_blocks_Minv(B, s->f, s->next);
  for (int i = 0; i < s->nv; i++) s->next[i] = s->v[i] + h * s->next[i];
  memset(s->b, 0, (size_t)s->m * sizeof *s->b);
  perp_blocks_J(B, 1, s->next, s->b);
}

static perp_status lesson_step_tell(perp_ctx *ctx, struct step *s, const perp_model *model,
                                    double h, FILE *out)
{
  perp_spec spec;
  perp_stats stats = { 0 };
  void *ws = NULL;
  lesson_step_fill(s, h);
  lesson_step_put_vector(out, "q", s->q, s->nq);
  lesson_step_put_vector(out, "v", s->v, s->nv);
  lesson_step_put_vector(out, "f", s->f, s->nv);
  lesson_step_put_vector(out, "C(q)", s->C, s->m);
  lesson_step_put_matrix(out, "J = dC/dq", s->J, s->m, s->nv);
  lesson_step_put_matrix(out, "A = J M^-1 J'", s->A, s->m, s->m);
  lesson_step_put_vector(out, "b", s->b, s->m);
  fprintf(out,
          "  b = J (v + h M^-1 f): velocity at which the joints would open without an impulse\n");
  /* M v' = (M v + h f) + J' lambda,  J v' = 0 */
  perp_blocks_M(s->B, s->v, s->p);
  for (int i = 0; i < s->nv; i++) s->p[i] += h * s->f[i];
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_kkt, "schur-svd", &spec));
  const perp_kkt_desc *kkt = (const perp_kkt_desc *)(const void *)spec.d;
  perp_status status = kkt->create(ctx, s->B, spec.opts, &ws);
  memset(s->lambda, 0, (size_t)s->m * sizeof *s->lambda);
  if (status == PERP_OK) status = kkt->factor(ctx, ws, s->B, &stats);
  if (status == PERP_OK && stats.reason > 0)
    status = kkt->solve(ctx, ws, s->B, s->p, s->zero, s->next, s->lambda, &stats);
  kkt->destroy(ws);
  perp_spec_free(&spec);
  PERP_TRY(status);
  lesson_step_put_vector(out, "lambda", s->lambda, s->m);
  fprintf(out, "  A lambda = -b: impulses that keep the joints closed, N s (reason: %s)\n",
          perp_reason_name(stats.reason));
  lesson_step_put_vector(out, "v after", s->next, s->nv);
  memset(s->rate, 0, (size_t)s->m * sizeof *s->rate);
  perp_blocks_J(s->B, 1, s->next, s->rate);
  fprintf(out, "  largest |J v|: %.3g before, %.3g after\n", lesson_step_largest(s->b, s->m),
          lesson_step_largest(s->rate, s->m));
  double before = lesson_step_largest(s->C, s->m);
  for (int i = 0; i < s->nv; i++) s->scratch[i] = h * s->next[i];
  perp_model_retract(model, s->q, s->scratch, s->q1);
  perp_model_error(model, h, s->q1, s->C);
  lesson_step_put_vector(out, "q after", s->q1, s->nq);
  lesson_step_put_vector(out, "C after", s->C, s->m);
  fprintf(out,
          "  largest |C|: %.3g before, %.3g after one step of %g s: the constraint is satisfied to "
          "first order only\n",
          before, lesson_step_largest(s->C, s->m), h);
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
  struct step s = { .nq = perp_model_nq(model),
                    .nv = perp_model_nv(model),
                    .m = perp_model_m(model) };
  perp_arena room = { 0 };
  status = perp_arena_layout(ctx, &room, lesson_step_layout, &s);
  if (status != PERP_OK) {
    perp_scene_destroy(&scene);
    return status;
  }
  memset(s.zero, 0, (size_t)s.m * sizeof *s.zero);
  memcpy(s.q, perp_model_q0(model), (size_t)s.nq * sizeof *s.q);
  memcpy(s.v, perp_model_v0(model), (size_t)s.nv * sizeof *s.v);
  fprintf(
      out,
      "One step of %s with h = %g s: semi-implicit Euler, constraints on the velocity level\n\n",
      scene_name, h);
  s.B = perp_model_assemble(model, 0, s.q);
  perp_model_forces(model, 0, s.q, s.v, s.f);
  perp_model_error(model, 0, s.q, s.C);
  status = lesson_step_tell(ctx, &s, model, h, out);
  perp_arena_free(&room);
  perp_scene_destroy(&scene);
  return status;
}
