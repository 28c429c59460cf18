/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp inverse: the torques and root forces of a motion. */
#include "experiments/plugins/cmd_scene.h"

#include "experiments/import/motion_file.h"
#include "experiments/scenes/scene_file.h"
#include "models/inverse/inverse.h"
#include "models/kinematics/kinematics.h"
#include "models/scenes/truths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONTACTS = 64, MOST_ROWS = 1000000 };

typedef struct inverse_run {
  perp_ctx *ctx;
  const perp_args *args;
  perp_scene scene;
  perp_playback *own, *motion; /* own: of a file, to be destroyed */
  perp_inverse *inverse;
  const char *kkt;
  bool ground;
  double near, step;
  int n_contacts;
  perp_inverse_contact contact[MOST_CONTACTS];
  double *q, *u, *udot, *tau, *other; /* joint coordinates */
  double *qm, *vm, *am, *lambda, *external;
  double differ; /* of both ways, relative */
} inverse_run;

/* ---- the motion ----------------------------------------------------------------------------------- */

static int inverse_motion(inverse_run *x)
{
  const char *path = perp_args_get(x->args, "motion");
  perp_diag diag = { 0 };
  if (path == NULL) {
    x->motion = perp_truth_playback_of(&x->scene);
    if (x->motion != NULL) return -1;
    return perp_usage_error(x->args,
                            "%s has no motion of its own (truth: kind: playback): say "
                            "--motion FILE.bvh or a table of states",
                            x->args->arg[0]);
  }
  const perp_motion_file from = { .path = path };
  const bool good = perp_motion_file_read(x->ctx, &diag, NULL, x->scene.model, &from, &x->own);
  if (!good) fputs(diag.text.s, stderr);
  perp_diag_free(&diag);
  x->motion = x->own;
  return good ? -1 : PERP_EXIT_INPUT;
}

/* ---- the ground ------------------------------------------------------------------------------------ */

static void inverse_contact(inverse_run *x, const perp_shape_def *plane, const double normal[3],
                            const perp_shape_def *shape, const double s[3])
{
  double p[3], at[3], R[9], n[3], height = 0;
  const perp_model *m = x->scene.model;
  perp_model_point(m, x->qm, shape->body, s, p);
  for (int i = 0; i < 3; i++) height += normal[i] * (p[i] - plane->x[i]);
  if (height - shape->radius > x->near || x->n_contacts == MOST_CONTACTS) return;
  perp_inverse_contact *c = &x->contact[x->n_contacts++];
  *c = (perp_inverse_contact){ .body = shape->body,
                               .mu = sqrt(plane->surface.mu * shape->surface.mu) };
  memcpy(c->normal, normal, sizeof c->normal);
  perp_model_rotation(m, x->qm, shape->body, R);
  perp_turn_back(3, R, normal, n);
  for (int i = 0; i < 3; i++) at[i] = s[i] - shape->radius * n[i];
  memcpy(c->point, at, sizeof at);
}

/* Where ends of capsules and spheres are on planes of the world, or nearly. */
static void inverse_contacts(inverse_run *x)
{
  const perp_model *m = x->scene.model;
  x->n_contacts = 0;
  for (int a = 0; a < perp_model_shapes(m); a++) {
    const perp_shape_def *plane = perp_model_shape(m, a);
    if (plane->kind != PERP_SHAPE_PLANE || plane->body != PERP_WORLD) continue;
    static const double one[4] = { 1 }, none[4] = { 0 };
    double R[9];
    perp_quat_matrix(memcmp(plane->quat, none, sizeof none) == 0 ? one : plane->quat, R);
    for (int b = 0; b < perp_model_shapes(m); b++) {
      const perp_shape_def *s = perp_model_shape(m, b);
      const bool capsule = s->kind == PERP_SHAPE_CAPSULE;
      if (s->body < 0 || (!capsule && s->kind != PERP_SHAPE_SPHERE)) continue;
      double Q[9];
      perp_quat_matrix(memcmp(s->quat, none, sizeof none) == 0 ? one : s->quat, Q);
      for (int end = capsule ? -1 : 1; end <= 1; end += 2) {
        double at[3];
        for (int i = 0; i < 3; i++) at[i] = s->x[i] + (capsule ? 0.5 * end * s->length * Q[i] : 0);
        inverse_contact(x, plane, R + 6, s, at);
      }
    }
  }
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static void inverse_header(const inverse_run *x, FILE *out)
{
  const perp_model *m = x->scene.model;
  fputs("t [s]", out);
  for (int i = 0; i < perp_inverse_nu(x->inverse); i++) {
    const perp_inverse_coordinate w = perp_inverse_what(x->inverse, i);
    const char *name = perp_model_body(m, w.body)->name;
    if (name != NULL)
      fprintf(out, ", %s.%s%s [%s]", name, w.joint < 0 ? "root." : "", w.part, w.unit);
    else
      fprintf(out, ", %d.%s%s [%s]", w.body, w.joint < 0 ? "root." : "", w.part, w.unit);
  }
  fputs(", power [W]", out);
  if (x->ground) fputs(", ground.x [N], ground.y [N], ground.z [N], contacts", out);
  fputc('\n', out);
}

static perp_status inverse_row(inverse_run *x, double t, FILE *out)
{
  const int nu = perp_inverse_nu(x->inverse);
  const perp_model *m = x->scene.model;
  double power = 0, ground[3] = { 0 }, left, size = 0, apart = 0;
  char text[40];
  perp_playback_joints(x->motion, t, x->q, x->u, x->udot);
  perp_inverse_state(x->inverse, x->q, x->u, x->udot, x->qm, x->vm, x->am);
  perp_inverse_recursive(x->inverse, t, x->q, x->u, x->udot, NULL, x->tau);
  memset(x->external, 0, (size_t)perp_model_nv(m) * sizeof *x->external);
  if (x->ground) {
    inverse_contacts(x);
    if (x->n_contacts > 0)
      PERP_TRY(perp_inverse_ground(x->ctx, x->inverse, t, x->q, x->u, x->udot, 0.5, x->n_contacts,
                                   x->contact, x->tau, &left));
    for (int k = 0; k < x->n_contacts; k++) {
      perp_inverse_add_force(m, x->qm, x->contact[k].body, x->contact[k].point, x->contact[k].force,
                             x->external);
      for (int i = 0; i < 3; i++) ground[i] += x->contact[k].force[i];
    }
  }
  if (x->kkt != NULL) {
    PERP_TRY(perp_inverse_kkt(x->ctx, x->inverse, x->kkt, t, x->qm, x->vm, x->am, x->external,
                              x->other, x->lambda));
    for (int i = 0; i < nu; i++) {
      size = fmax(size, fabs(x->tau[i]));
      apart = fmax(apart, fabs(x->tau[i] - x->other[i]));
    }
    x->differ = fmax(x->differ, apart / fmax(size, 1e-300));
    memcpy(x->tau, x->other, (size_t)nu * sizeof *x->tau);
  }
  perp_format_real(t, text, sizeof text);
  fputs(text, out);
  for (int i = 0; i < nu; i++) {
    power += x->tau[i] * x->u[i];
    fprintf(out, ", %.12g", x->tau[i]);
  }
  fprintf(out, ", %.12g", power);
  if (x->ground)
    fprintf(out, ", %.12g, %.12g, %.12g, %d", ground[0], ground[1], ground[2], x->n_contacts);
  fputc('\n', out);
  return PERP_OK;
}

static perp_status inverse_rows(inverse_run *x, FILE *out)
{
  double begin, end;
  perp_playback_span(x->motion, &begin, &end);
  if ((end - begin) / x->step > MOST_ROWS)
    return PERP_FAIL(x->ctx, PERP_ERR_ARG, "more than %d rows: --step is too small", MOST_ROWS);
  inverse_header(x, out);
  const int rows = (int)floor((end - begin) / x->step * (1 + 1e-12));
  for (int k = 0; k <= rows; k++) PERP_TRY(inverse_row(x, begin + k * x->step, out));
  return PERP_OK;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static double *inverse_array(int n)
{
  return perp_xalloc((size_t)n + 1, sizeof(double));
}

static perp_status inverse_compute(inverse_run *x, FILE *out)
{
  const perp_model *m = x->scene.model;
  PERP_TRY(perp_inverse_create(x->ctx, m, &x->inverse));
  const int nq = perp_inverse_nq(x->inverse), nu = perp_inverse_nu(x->inverse),
            nv = perp_model_nv(m);
  double **const to[] = { &x->q,  &x->u,  &x->udot, &x->tau,    &x->other,
                          &x->qm, &x->vm, &x->am,   &x->lambda, &x->external };
  const int length[] = { nq, nu, nu, nu, nu, perp_model_nq(m), nv, nv, perp_model_m(m), nv };
  for (int i = 0; i < 10; i++) *to[i] = inverse_array(length[i]);
  const perp_status status = inverse_rows(x, out);
  for (int i = 0; i < 10; i++) free(*to[i]);
  perp_inverse_destroy(x->inverse);
  return status;
}

static int inverse_write(inverse_run *x)
{
  const char *path = perp_args_get(x->args, "csv");
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  perp_status status = f != NULL ? inverse_compute(x, f)
                                 : PERP_FAIL(x->ctx, PERP_ERR_NOMEM, "no memory for the table");
  if (f != NULL) fclose(f);
  const bool here = path == NULL || strcmp(path, "-") == 0;
  if (status == PERP_OK && here) fwrite(text, 1, size, stdout);
  if (status == PERP_OK && !here) status = perp_write_file(x->ctx, path, text, size);
  free(text);
  if (status != PERP_OK) return perp_refuse(x->ctx, perp_exit_of(status));
  if (x->kkt != NULL)
    perp_say("%s and the recursion differ by %.2g of the largest force at most", x->kkt, x->differ);
  return PERP_EXIT_OK;
}

static int inverse_scene(inverse_run *x)
{
  perp_spec spec;
  const int bad = perp_command_scene(x->ctx, x->args->arg[0]);
  if (bad >= 0) return bad;
  if (perp_spec_parse(x->ctx, PERP_KIND_scene, x->args->arg[0], &spec) != PERP_OK)
    return perp_usage_error(x->args, "%s", x->ctx->msg);
  const perp_status built = perp_scene_create(x->ctx, &spec, &x->scene);
  perp_spec_free(&spec);
  if (built != PERP_OK) return perp_refuse(x->ctx, perp_exit_of(built));
  int code = -1;
  if (x->scene.model == NULL)
    code = perp_usage_error(x->args, "%s has no bodies", x->args->arg[0]);
  else if (x->ground && perp_model_dim(x->scene.model) == 2)
    code = perp_usage_error(x->args, "--ground works in space only");
  if (code < 0) code = inverse_motion(x);
  if (code < 0) code = inverse_write(x);
  perp_playback_destroy(x->own);
  perp_scene_destroy(&x->scene);
  return code;
}

static int cmd_inverse(perp_ctx *ctx, const perp_args *args)
{
  inverse_run x = { .ctx = ctx, .args = args, .step = 0.01, .near = 0.01 };
  x.kkt = perp_args_get(args, "kkt");
  x.ground = perp_option_given(args, "ground");
  int code = perp_option_real(ctx, args, "step", "s", false, &x.step);
  if (code < 0) code = perp_option_real(ctx, args, "near", "m", true, &x.near);
  return code < 0 ? inverse_scene(&x) : code;
}

static const perp_flag inverse_flags[] = {
  { "motion", 'm', "FILE",
    "a BVH or a table of states (default: the motion of the scene, truth: kind: playback)" },
  { "csv", 0, "FILE", "where to write (default: -, standard output)" },
  { "step", 0, "TIME", "between rows (default: 10 ms)" },
  { "kkt", 0, "NAME",
    "by this KKT formulation instead of the recursion; how far they differ is said" },
  { "ground", 0, NULL,
    "forces of the ground, where the figure stands on it, take the place of those of the root" },
  { "near", 0, "LENGTH", "what is that near to a plane stands on it (default: 10 mm)" },
  { 0 }
};

const perp_command perp_inverse_command = {
  .cli.name = "inverse",
  .cli.usage = "SCENE [--motion FILE] [options]",
  .cli.summary =
      "The torques of joints and the forces of the root that a motion takes, over time: a table "
      "with units, "
      "a column for each rate of the joints. Torques of ball joints are in the frame of the body "
      "behind "
      "them; NAME.root... is the force at the centre of mass and the torque of a root that floats.",
  .cli.more =
      "A tree of joints without loops is needed; forces of the scene (gravity, springs) act, its "
      "drives do "
      "not: the torques are what they would have to give. power is the sum of torques times rates. "
      "--ground finds forces at the ends of capsules and at spheres that are on planes of the "
      "world, inside "
      "friction pyramids; what they cannot carry stays in the columns of the root. docs/figures.md "
      "has more.",
  .cli.example = "perp inverse walk.bvh --ground --csv torques.csv",
  .cli.flags = inverse_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "torques and root forces of a motion (inverse dynamics)",
  .run = cmd_inverse
};
