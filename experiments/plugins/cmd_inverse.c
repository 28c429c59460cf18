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

static const double INVERSE_HEAVY = 20; /* weights: no person bears such a force */
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
  double *row;          /* [n_columns] */
  bool exact;           /* the motion is a reference solution */
  bool summary;         /* at a terminal: the columns, not the rows */
  double differ;        /* of both ways, relative */
  int root;             /* column of the force of a floating root, -1: none */
  double peak, peak_at; /* N, s: the largest one */
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
static int inverse_motion_of_truth(inverse_run *run, const perp_truth *truth, double end)
{
  const int nq = perp_model_nq(run->scene.model), nv = perp_model_nv(run->scene.model);
  const double wanted = ceil(10 * end / run->step) + 1;
  const int n = (int)fmin(MOST_POSES, fmax(FEWEST_POSES, wanted));
  double *t = perp_xalloc((size_t)n, sizeof *t), *v = perp_xalloc((size_t)nv + 1, sizeof *v);
  double *q = perp_xalloc((size_t)n * (size_t)nq, sizeof *q);
  perp_status status = PERP_OK;
  for (int k = 0; k < n && status == PERP_OK; k++) {
    t[k] = k == n - 1 ? end : end * k / (n - 1);
    status = truth->state(truth->user, run->ctx, t[k], q + (size_t)k * (size_t)nq, v);
  }
  if (status == PERP_OK)
    status = perp_playback_create(run->ctx, run->scene.model, n, t, q, &run->own);
  free(t);
  free(q);
  free(v);
  if (status != PERP_OK) return perp_refuse(run->ctx, perp_exit_of(status));
  run->motion = run->own;
  run->exact = true;
  perp_say("%s: the motion is its reference solution (%s), sampled each %.3g s", run->args->arg[0],
           truth->what, end / (n - 1));
  return -1;
}

static int inverse_motion(inverse_run *run)
{
  const char *path = perp_args_get(run->args, "motion");
  perp_diag diag = { 0 };
  if (path == NULL) {
    run->motion = perp_truth_playback_of(&run->scene);
    if (run->motion != NULL) return -1;
    for (int i = 0; i < run->scene.n_truths; i++) {
      const perp_truth *truth = &run->scene.truth[i];
      const double end = fmin(run->scene.t_end, truth->t_end);
      if (end > 0 && inverse_continuous(truth, end))
        return inverse_motion_of_truth(run, truth, end);
    }
    return perp_usage_error(
        run->args,
        "%s has no motion that is known at any time: use --motion FILE.bvh or a table of states",
        run->args->arg[0]);
  }
  const perp_motion_file from = { .path = path };
  const bool good = perp_motion_file_read(run->ctx, &diag, NULL, run->scene.model, &from,
                                          &run->own);
  if (!good) fputs(diag.text.s, stderr);
  perp_diag_free(&diag);
  run->motion = run->own;
  return good ? -1 : PERP_EXIT_INPUT;
}

/* ---- the ground ---- */

static void inverse_contact(inverse_run *run, const perp_shape_def *plane, const double normal[3],
                            const perp_shape_def *shape, const double s[3])
{
  double p[3], at[3], R[9], n[3], height = 0;
  const perp_model *model = run->scene.model;
  perp_model_point(model, run->qm, shape->body, s, p);
  for (int i = 0; i < 3; i++) height += normal[i] * (p[i] - plane->x[i]);
  if (height - shape->radius > run->near || run->n_contacts == MOST_CONTACTS) return;
  perp_inverse_contact *contact = &run->contact[run->n_contacts++];
  *contact = (perp_inverse_contact){ .body = shape->body,
                                     .mu = sqrt(plane->surface.mu * shape->surface.mu) };
  memcpy(contact->normal, normal, sizeof contact->normal);
  perp_model_rotation(model, run->qm, shape->body, R);
  perp_turn_back(3, R, normal, n);
  for (int i = 0; i < 3; i++) at[i] = s[i] - shape->radius * n[i];
  memcpy(contact->point, at, sizeof at);
}

/* Where ends of capsules and spheres are on planes of the world, or nearly. */
static void inverse_contacts(inverse_run *run)
{
  const perp_model *model = run->scene.model;
  run->n_contacts = 0;
  for (int shape = 0; shape < perp_model_shapes(model); shape++) {
    const perp_shape_def *plane = perp_model_shape(model, shape);
    if (plane->kind != PERP_SHAPE_PLANE || plane->body != PERP_WORLD) continue;
    static const double one[4] = { 1 }, none[4] = { 0 };
    double R[9];
    perp_quat_matrix(memcmp(plane->quat, none, sizeof none) == 0 ? one : plane->quat, R);
    for (int b = 0; b < perp_model_shapes(model); b++) {
      const perp_shape_def *def = perp_model_shape(model, b);
      const bool capsule = def->kind == PERP_SHAPE_CAPSULE;
      if (def->body < 0 || (!capsule && def->kind != PERP_SHAPE_SPHERE)) continue;
      double Q[9];
      perp_quat_matrix(memcmp(def->quat, none, sizeof none) == 0 ? one : def->quat, Q);
      for (int end = capsule ? -1 : 1; end <= 1; end += 2) {
        double at[3];
        for (int i = 0; i < 3; i++)
          at[i] = def->x[i] + (capsule ? 0.5 * end * def->length * Q[i] : 0);
        inverse_contact(run, plane, R + 6, def, at);
      }
    }
  }
}

/* ---- rows ---- */

static void inverse_columns(inverse_run *run)
{
  const perp_model *model = run->scene.model;
  const int nu = perp_inverse_nu(run->inverse);
  run->column = perp_xalloc((size_t)nu + 5, sizeof *run->column);
  run->row = perp_xalloc((size_t)nu + 5, sizeof *run->row);
  for (int i = 0; i < nu; i++) {
    const perp_inverse_coordinate coordinate = perp_inverse_what(run->inverse, i);
    const char *name = perp_model_body(model, coordinate.body)->name,
               *root = coordinate.joint < 0 ? "root." : "";
    inverse_column *column = &run->column[i];
    column->unit = coordinate.unit;
    if (name != NULL)
      snprintf(column->name, sizeof column->name, "%.100s.%s%s", name, root, coordinate.part);
    else
      snprintf(column->name, sizeof column->name, "%d.%s%s", coordinate.body, root,
               coordinate.part);
  }
  static const inverse_column more[] = { { .name = "power", .unit = "W" },
                                         { .name = "ground.x", .unit = "N" },
                                         { .name = "ground.y", .unit = "N" },
                                         { .name = "ground.z", .unit = "N" },
                                         { .name = "contacts", .unit = NULL } };
  const int n = run->ground ? 5 : 1;
  for (int i = 0; i < n; i++) run->column[nu + i] = more[i];
  run->n_columns = nu + n;
  run->root = -1;
  for (int i = 0; i < nu && run->root < 0; i++) {
    const perp_inverse_coordinate coordinate = perp_inverse_what(run->inverse, i);
    if (coordinate.joint < 0 && strcmp(coordinate.part, "x") == 0) run->root = i;
  }
}

/* The forces at t, in run->row. */
static perp_status inverse_row(inverse_run *run, double t)
{
  const int nu = perp_inverse_nu(run->inverse);
  const perp_model *model = run->scene.model;
  double power = 0, ground[3] = { 0 }, left, size = 0, apart = 0;
  perp_playback_joints(run->motion, t, run->q, run->u, run->udot);
  perp_inverse_state(run->inverse, run->q, run->u, run->udot, run->qm, run->vm, run->am);
  perp_inverse_recursive(run->inverse, t, run->q, run->u, run->udot, NULL, run->tau);
  memset(run->external, 0, (size_t)perp_model_nv(model) * sizeof *run->external);
  if (run->ground) {
    inverse_contacts(run);
    if (run->n_contacts > 0)
      PERP_TRY(perp_inverse_ground(run->ctx, run->inverse, t, run->q, run->u, run->udot, 0.5,
                                   run->n_contacts, run->contact, run->tau, &left));
    for (int contact = 0; contact < run->n_contacts; contact++) {
      perp_inverse_add_force(model, run->qm, run->contact[contact].body,
                             run->contact[contact].point, run->contact[contact].force,
                             run->external);
      for (int i = 0; i < 3; i++) ground[i] += run->contact[contact].force[i];
    }
  }
  if (run->kkt != NULL) {
    PERP_TRY(perp_inverse_kkt(run->ctx, run->inverse, run->kkt, t, run->qm, run->vm, run->am,
                              run->external, run->other, run->lambda));
    for (int i = 0; i < nu; i++) {
      size = fmax(size, fabs(run->tau[i]));
      apart = fmax(apart, fabs(run->tau[i] - run->other[i]));
    }
    run->differ = fmax(run->differ, apart / fmax(size, 1e-300));
    memcpy(run->tau, run->other, (size_t)nu * sizeof *run->tau);
  }
  memcpy(run->row, run->tau, (size_t)nu * sizeof *run->row);
  for (int i = 0; i < nu; i++) power += run->tau[i] * run->u[i];
  run->row[nu] = power;
  if (!run->ground) return PERP_OK;
  memcpy(run->row + nu + 1, ground, sizeof ground);
  run->row[nu + 4] = run->n_contacts;
  return PERP_OK;
}

static perp_status inverse_rows(inverse_run *run, FILE *out)
{
  double begin, end;
  perp_playback_span(run->motion, &begin, &end);
  if (!((end - begin) / run->step <= MOST_ROWS))
    return PERP_FAIL(run->ctx, PERP_ERR_ARG, "more than %d rows: --step is too small", MOST_ROWS);
  inverse_columns(run);
  fputs("t [s]", out);
  for (int i = 0; i < run->n_columns; i++) {
    fprintf(out, ", %s", run->column[i].name);
    if (run->column[i].unit != NULL) fprintf(out, " [%s]", run->column[i].unit);
  }
  fputc('\n', out);
  const int rows = (int)floor((end - begin) / run->step * (1 + 1e-12));
  for (int k = 0; k <= rows; k++) {
    PERP_TRY(inverse_row(run, begin + k * run->step));
    /* The row at t: into the table, and into what is known of its columns. */
    const double t = begin + k * run->step;
    char text[40];
    perp_format_real(t, text, sizeof text);
    fputs(text, out);
    for (int i = 0; i < run->n_columns; i++) {
      inverse_column *column = &run->column[i];
      const double v = run->row[i];
      if (run->n_rows == 0 || fabs(v) > fabs(column->largest)) column->largest = v, column->at = t;
      column->sum += v;
      column->squares += v * v;
      fprintf(out, ", %.12g", v);
    }
    const double root = run->root >= 0 ? sqrt(perp_dot(perp_model_dim(run->scene.model),
                                                       run->row + run->root, run->row + run->root))
                                       : 0;
    if (root > run->peak) run->peak = root, run->peak_at = t;
    fputc('\n', out);
    run->n_rows++;
  }
  return PERP_OK;
}

/* What people want to know of it. */
static void inverse_summary(const inverse_run *run)
{
  perp_table table;
  perp_table_init(&table, "lrlrrr");
  static const char *const head[] = { "force", "largest", "", "at [s]", "mean", "RMS" };
  perp_table_row(&table, head);
  for (int i = 0; i < run->n_columns; i++) {
    const inverse_column *column = &run->column[i];
    perp_table_put(&table, "%s", column->name);
    perp_table_put(&table, "%.4g", column->largest);
    perp_table_put(&table, "%s", column->unit != NULL ? column->unit : "");
    perp_table_put(&table, "%.4g", column->at);
    perp_table_put(&table, "%.4g", column->sum / run->n_rows);
    perp_table_put(&table, "%.4g", sqrt(column->squares / run->n_rows));
  }
  perp_table_print(&table, stdout);
  perp_table_free(&table);
  perp_wrapf(stdout, 0,
             "%d rows, every %g s; largest: the value of largest magnitude, with its sign. --csv "
             "FILE writes all rows, --csv - prints them.",
             run->n_rows, run->step);
}

/* The largest force that the root takes, in weights of all bodies. */
static void inverse_peak(const inverse_run *run)
{
  const perp_model *model = run->scene.model;
  double mass = 0;
  if (run->root < 0 || run->n_rows == 0) return;
  for (int body = 0; body < perp_model_bodies(model); body++)
    mass += perp_model_body(model, body)->mass.mass;
  const double size = fabs(perp_model_gravity_at(model, run->peak_at)),
               weight = mass * (size > 0 ? size : 9.81);
  perp_say("the root force is at most %.4g N, %.3g body weights, at %.4g s%s", run->peak,
           run->peak / weight, run->peak_at,
           run->peak > INVERSE_HEAVY * weight
               ? ": no person bears it; look for jumps of the motion there, and cut them off"
               : "");
}

/* Poses that do not continue each other have forces that say nothing. */
static int inverse_jumps(const inverse_run *run)
{
  enum { MOST_JUMPS = 16 };
  perp_jump jump[MOST_JUMPS];
  if (run->exact) return -1; /* it is continuous, but for impacts */
  const int n = perp_playback_jumps(run->motion, jump, MOST_JUMPS);
  if (n == 0) return -1;
  const char *name = perp_model_body(run->scene.model, jump[0].body)->name;
  char how[80];
  snprintf(how, sizeof how, "%s with %.3g %s", jump[0].turns ? "rotates" : "moves",
           jump[0].turns ? jump[0].acceleration : jump[0].acceleration / 9.81,
           jump[0].turns ? "rad/s^2" : "g");
  if (perp_option_given(run->args, "allow-jumps")) {
    perp_say("the motion jumps between the poses %d and %d (%s %s) and at %d more places: forces "
             "there say nothing",
             jump[0].after, jump[0].after + 1, name != NULL ? name : "a body", how, n - 1);
    return -1;
  }
  fprintf(stderr,
          "error: the motion jumps between the poses %d and %d, counted from 0 from its start: %s "
          "%s (limits: 50 g, and for turns of more than 20 degrees 490 rad/s^2, a fifth for a "
          "first or last pose that stands "
          "alone); jumps in all: %d\n"
          "begin behind a jump with the option start= of the figure, end before it with end=, or "
          "use --allow-jumps\n",
          jump[0].after, jump[0].after + 1, name != NULL ? name : "a body", how, n);
  return PERP_EXIT_INPUT;
}

/* ---- the command ---- */

static perp_status inverse_compute(inverse_run *run, FILE *out)
{
  const perp_model *model = run->scene.model;
  PERP_TRY(perp_inverse_create(run->ctx, model, &run->inverse));
  const int nq = perp_inverse_nq(run->inverse), nu = perp_inverse_nu(run->inverse),
            nv = perp_model_nv(model);
  double **const to[] = { &run->q,  &run->u,  &run->udot, &run->tau,    &run->other,
                          &run->qm, &run->vm, &run->am,   &run->lambda, &run->external };
  const int length[] = {
    nq, nu, nu, nu, nu, perp_model_nq(model), nv, nv, perp_model_m(model), nv
  };
  for (int i = 0; i < 10; i++) *to[i] = perp_xalloc((size_t)length[i] + 1, sizeof(double));
  const perp_status status = inverse_rows(run, out);
  if (status == PERP_OK && run->summary) inverse_summary(run);
  for (int i = 0; i < 10; i++) free(*to[i]);
  free(run->column);
  free(run->row);
  perp_inverse_destroy(run->inverse);
  return status;
}

static int inverse_write(inverse_run *run)
{
  const char *path = perp_args_get(run->args, "csv");
  char *text = NULL;
  size_t size = 0;
  FILE *file = perp_memory_stream(&text, &size);
  perp_status status = inverse_compute(run, file);
  perp_memory_stream_close(file);
  const bool here = path == NULL || strcmp(path, "-") == 0;
  if (status == PERP_OK && here && !run->summary) fwrite(text, 1, size, stdout);
  if (status == PERP_OK && !here) status = perp_write_file(run->ctx, path, text, size);
  free(text);
  if (status != PERP_OK) return perp_refuse(run->ctx, perp_exit_of(status));
  inverse_peak(run);
  if (run->kkt != NULL)
    perp_say("%s and the recursion differ by at most %.2g of the largest force", run->kkt,
             run->differ);
  return PERP_EXIT_OK;
}

static int inverse_scene(inverse_run *run)
{
  perp_spec spec;
  const int bad = perp_command_scene(run->ctx, run->args->arg[0]);
  if (bad >= 0) return bad;
  if (perp_spec_parse(run->ctx, PERP_KIND_scene, run->args->arg[0], &spec) != PERP_OK)
    return perp_usage_of(run->ctx, run->args, "%s", run->ctx->msg);
  const perp_status built = perp_scene_create(run->ctx, &spec, &run->scene);
  perp_spec_free(&spec);
  if (built != PERP_OK) return perp_refuse(run->ctx, perp_exit_of(built));
  int code = -1;
  if (run->scene.model == NULL)
    code = perp_usage_error(run->args, "%s has no bodies; choose a scene with a tree of joints",
                            run->args->arg[0]);
  else if (run->ground && perp_model_dim(run->scene.model) == 2)
    code = perp_usage_error(run->args, "--ground needs a scene in space");
  if (code < 0) code = inverse_motion(run);
  if (code < 0) code = inverse_jumps(run);
  if (code < 0) code = inverse_write(run);
  perp_playback_destroy(run->own);
  perp_scene_destroy(&run->scene);
  return code;
}

static int cmd_inverse(perp_ctx *ctx, const perp_args *args)
{
  inverse_run run = { .ctx = ctx, .args = args, .step = 0.01, .near = 0.01 };
  run.kkt = perp_args_get(args, "kkt");
  run.ground = perp_option_given(args, "ground");
  run.summary = perp_option_given(args, "summary") ||
                (perp_args_get(args, "csv") == NULL && isatty(STDOUT_FILENO) != 0);
  int code = perp_option_real(ctx, args, "step", "s", false, &run.step);
  if (code < 0) code = perp_option_real(ctx, args, "near", "m", true, &run.near);
  return code < 0 ? inverse_scene(&run) : code;
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
  { "allow-jumps", 0, NULL,
    "Compute forces although poses of the motion do not continue each other." },
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
              "stays in the columns of the root.\n\nThe command prints the largest force of the "
              "root in body weights. It refuses a motion with jumps: an implied "
              "acceleration above 50 g, or 490 rad/s^2 in a turn of more than 20 degrees. A fifth "
              "is enough "
              "for a first or last pose that stands alone. See "
              "docs/how-to/figures.md.",
  .cli.example = "perp inverse walk.bvh --ground --csv torques.csv",
  .cli.flags = inverse_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Compute torques and root forces of a motion (inverse dynamics)",
  .run = cmd_inverse
};
