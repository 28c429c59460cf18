/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp inverse: the torques and root forces of a motion: a table with units for programs, its
 * largest for people. */
#include "experiments/plugins/cmd_scene.h"

#include "experiments/import/motion_file.h"
#include "experiments/scenes/scene_file.h"
#include "models/figures/inverse.h"
#include "models/geometry/kinematics.h"
#include "models/scenes/truths.h"
#include "experiments/base/table.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CONTACTS = 64, MOST_ROWS = 1000000, FEWEST_POSES = 1001, MOST_POSES = 20001 };

/* What a column is, and of its rows so far the largest one, when it was, and the sums. */
typedef struct inverse_column {
  char name[160];
  const char *unit;
  double largest, at, sum, squares;
} inverse_column;

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
  int n_columns, n_rows;
  inverse_column *column;
  double *row;   /* [n_columns] */
  bool summary;  /* at a terminal: the columns, not the rows */
  double differ; /* of both ways, relative */
} inverse_run;

/* ---- the motion ---- */

/* Does the truth know the trajectory at any time of the run? */
static bool inverse_continuous(const perp_truth *truth, double end)
{
  for (int k = 0; k < 3; k++) {
    const double t = end * (0.1234567 + 0.4 * k);
    if (!(truth->next_time(truth->user, t) == t)) return false;
  }
  return true;
}

/* The curve through the states of a truth, ten of them between two rows. */
static int inverse_motion_of_truth(inverse_run *x, const perp_truth *truth, double end)
{
  const int nq = perp_model_nq(x->scene.model), nv = perp_model_nv(x->scene.model);
  const double wanted = ceil(10 * end / x->step) + 1;
  const int n = (int)fmin(MOST_POSES, fmax(FEWEST_POSES, wanted));
  double *t = perp_xalloc((size_t)n, sizeof *t), *v = perp_xalloc((size_t)nv + 1, sizeof *v);
  double *q = perp_xalloc((size_t)n * (size_t)nq, sizeof *q);
  perp_status status = PERP_OK;
  for (int k = 0; k < n && status == PERP_OK; k++) {
    t[k] = k == n - 1 ? end : end * k / (n - 1);
    status = truth->state(truth->user, x->ctx, t[k], q + (size_t)k * (size_t)nq, v);
  }
  if (status == PERP_OK) status = perp_playback_create(x->ctx, x->scene.model, n, t, q, &x->own);
  free(t);
  free(q);
  free(v);
  if (status != PERP_OK) return perp_refuse(x->ctx, perp_exit_of(status));
  x->motion = x->own;
  perp_say("%s: the motion is its reference solution (%s), sampled each %.3g s", x->args->arg[0],
           truth->what, end / (n - 1));
  return -1;
}

static int inverse_motion(inverse_run *x)
{
  const char *path = perp_args_get(x->args, "motion");
  perp_diag diag = { 0 };
  if (path == NULL) {
    x->motion = perp_truth_playback_of(&x->scene);
    if (x->motion != NULL) return -1;
    for (int i = 0; i < x->scene.n_truths; i++) {
      const perp_truth *truth = &x->scene.truth[i];
      const double end = fmin(x->scene.t_end, truth->t_end);
      if (end > 0 && inverse_continuous(truth, end)) return inverse_motion_of_truth(x, truth, end);
    }
    return perp_usage_error(
        x->args,
        "%s has no motion that is known at any time: use --motion FILE.bvh or a table of states",
        x->args->arg[0]);
  }
  const perp_motion_file from = { .path = path };
  const bool good = perp_motion_file_read(x->ctx, &diag, NULL, x->scene.model, &from, &x->own);
  if (!good) fputs(diag.text.s, stderr);
  perp_diag_free(&diag);
  x->motion = x->own;
  return good ? -1 : PERP_EXIT_INPUT;
}

/* ---- the ground ---- */

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

/* ---- rows ---- */

static void inverse_columns(inverse_run *x)
{
  const perp_model *m = x->scene.model;
  const int nu = perp_inverse_nu(x->inverse);
  x->column = perp_xalloc((size_t)nu + 5, sizeof *x->column);
  x->row = perp_xalloc((size_t)nu + 5, sizeof *x->row);
  for (int i = 0; i < nu; i++) {
    const perp_inverse_coordinate w = perp_inverse_what(x->inverse, i);
    const char *name = perp_model_body(m, w.body)->name, *root = w.joint < 0 ? "root." : "";
    inverse_column *c = &x->column[i];
    c->unit = w.unit;
    if (name != NULL)
      snprintf(c->name, sizeof c->name, "%.100s.%s%s", name, root, w.part);
    else
      snprintf(c->name, sizeof c->name, "%d.%s%s", w.body, root, w.part);
  }
  static const inverse_column more[] = { { .name = "power", .unit = "W" },
                                         { .name = "ground.x", .unit = "N" },
                                         { .name = "ground.y", .unit = "N" },
                                         { .name = "ground.z", .unit = "N" },
                                         { .name = "contacts", .unit = NULL } };
  const int n = x->ground ? 5 : 1;
  for (int i = 0; i < n; i++) x->column[nu + i] = more[i];
  x->n_columns = nu + n;
}

/* The forces at t, in x->row. */
static perp_status inverse_row(inverse_run *x, double t)
{
  const int nu = perp_inverse_nu(x->inverse);
  const perp_model *m = x->scene.model;
  double power = 0, ground[3] = { 0 }, left, size = 0, apart = 0;
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
  memcpy(x->row, x->tau, (size_t)nu * sizeof *x->row);
  for (int i = 0; i < nu; i++) power += x->tau[i] * x->u[i];
  x->row[nu] = power;
  if (!x->ground) return PERP_OK;
  memcpy(x->row + nu + 1, ground, sizeof ground);
  x->row[nu + 4] = x->n_contacts;
  return PERP_OK;
}

static perp_status inverse_rows(inverse_run *x, FILE *out)
{
  double begin, end;
  perp_playback_span(x->motion, &begin, &end);
  if ((end - begin) / x->step > MOST_ROWS)
    return PERP_FAIL(x->ctx, PERP_ERR_ARG, "more than %d rows: --step is too small", MOST_ROWS);
  inverse_columns(x);
    fputs("t [s]", out);
  for (int i = 0; i < x->n_columns; i++) {
    fprintf(out, ", %s", x->column[i].name);
    if (x->column[i].unit != NULL) fprintf(out, " [%s]", x->column[i].unit);
  }
  fputc('\n', out);
  const int rows = (int)floor((end - begin) / x->step * (1 + 1e-12));
  for (int k = 0; k <= rows; k++) {
    PERP_TRY(inverse_row(x, begin + k * x->step));
    /* The row at t: into the table, and into what is known of its columns. */
const double t = begin + k * x->step;
  char text[40];
  perp_format_real(t, text, sizeof text);
  fputs(text, out);
  for (int i = 0; i < x->n_columns; i++) {
    inverse_column *c = &x->column[i];
    const double v = x->row[i];
    if (x->n_rows == 0 || fabs(v) > fabs(c->largest)) c->largest = v, c->at = t;
    c->sum += v;
    c->squares += v * v;
    fprintf(out, ", %.12g", v);
  }
  fputc('\n', out);
  x->n_rows++;
  }
  return PERP_OK;
}

/* What people want to know of it. */
static void inverse_summary(const inverse_run *x)
{
  perp_table t;
  perp_table_init(&t, "lrlrrr");
  static const char *const head[] = { "force", "largest", "", "at [s]", "mean", "RMS" };
  perp_table_row(&t, head);
  for (int i = 0; i < x->n_columns; i++) {
    const inverse_column *c = &x->column[i];
    perp_table_put(&t, "%s", c->name);
    perp_table_put(&t, "%.4g", c->largest);
    perp_table_put(&t, "%s", c->unit != NULL ? c->unit : "");
    perp_table_put(&t, "%.4g", c->at);
    perp_table_put(&t, "%.4g", c->sum / x->n_rows);
    perp_table_put(&t, "%.4g", sqrt(c->squares / x->n_rows));
  }
  perp_table_print(&t, stdout);
  perp_table_free(&t);
  perp_wrapf(stdout, 0,
             "%d rows, every %g s; largest: the value of largest magnitude, with its sign. --csv "
             "FILE writes all rows, --csv - prints them.",
             x->n_rows, x->step);
}

/* ---- the command ---- */

static perp_status inverse_compute(inverse_run *x, FILE *out)
{
  const perp_model *m = x->scene.model;
  PERP_TRY(perp_inverse_create(x->ctx, m, &x->inverse));
  const int nq = perp_inverse_nq(x->inverse), nu = perp_inverse_nu(x->inverse),
            nv = perp_model_nv(m);
  double **const to[] = { &x->q,  &x->u,  &x->udot, &x->tau,    &x->other,
                          &x->qm, &x->vm, &x->am,   &x->lambda, &x->external };
  const int length[] = { nq, nu, nu, nu, nu, perp_model_nq(m), nv, nv, perp_model_m(m), nv };
  for (int i = 0; i < 10; i++) *to[i] = perp_xalloc((size_t)length[i] + 1, sizeof(double));
  const perp_status status = inverse_rows(x, out);
  if (status == PERP_OK && x->summary) inverse_summary(x);
  for (int i = 0; i < 10; i++) free(*to[i]);
  free(x->column);
  free(x->row);
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
  if (status == PERP_OK && here && !x->summary) fwrite(text, 1, size, stdout);
  if (status == PERP_OK && !here) status = perp_write_file(x->ctx, path, text, size);
  free(text);
  if (status != PERP_OK) return perp_refuse(x->ctx, perp_exit_of(status));
  if (x->kkt != NULL)
    perp_say("%s and the recursion differ by at most %.2g of the largest force", x->kkt, x->differ);
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
    code = perp_usage_error(x->args, "%s has no bodies; choose a scene with a tree of joints",
                            x->args->arg[0]);
  else if (x->ground && perp_model_dim(x->scene.model) == 2)
    code = perp_usage_error(x->args, "--ground needs a scene in space");
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
  x.summary = perp_option_given(args, "summary") ||
              (perp_args_get(args, "csv") == NULL && isatty(STDOUT_FILENO) != 0);
  int code = perp_option_real(ctx, args, "step", "s", false, &x.step);
  if (code < 0) code = perp_option_real(ctx, args, "near", "m", true, &x.near);
  return code < 0 ? inverse_scene(&x) : code;
}

static const perp_flag inverse_flags[] = {
  { "motion", 'm', "FILE",
    "Motion: a BVH file or a table of states (default: the motion of the scene, a playback or a "
    "reference solution known at any time)." },
  { "csv", 0, "FILE",
    "Output file of the table; - is standard output (default: standard output, on a terminal a "
    "summary)." },
  { "summary", 0, NULL,
    "Print the largest value of each force with its time, the mean and the RMS." },
  { "step", 0, "TIME", "Time between rows (default: 10 ms)." },
  { "kkt", 0, "NAME",
    "Use this KKT formulation instead of the recursion, and print the difference." },
  { "ground", 0, NULL,
    "Compute ground reaction forces where the figure touches the ground, instead of forces of the "
    "root." },
  { "near", 0, "LENGTH",
    "Distance from a plane below which a point counts as in contact (default: 10 mm)." },
  { 0 }
};

const perp_command perp_inverse_command = {
  .cli.name = "inverse",
  .cli.usage = "SCENE [--motion FILE] [options]",
  .cli.summary = "Computes the joint torques and the root force of a motion over time (inverse "
                 "dynamics). The table has units and one column for each joint rate. Torques of "
                 "ball joints are in the frame of the child body. NAME.root... is the force at the "
                 "centre of mass, and the torque, of a floating root.",
  .cli.more = "The scene must be a tree of joints without loops. Its forces (gravity, springs) "
              "act; its motors do not, because their torques are computed. The column power is the "
              "sum of torques times rates.\n\n--ground finds forces inside friction pyramids, at "
              "the ends of capsules and at spheres in contact with planes of the world. The rest "
              "stays in the columns of the root. See docs/how-to/figures.md.",
  .cli.example = "perp inverse walk.bvh --ground --csv torques.csv",
  .cli.flags = inverse_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Compute torques and root forces of a motion (inverse dynamics)",
  .run = cmd_inverse
};
