/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays: frames are thinned evenly, poses and joint errors are those of the states, the file is
 * JSON.  Films of runs: poses and energies are those of the series, impulses carry the weight, the
 * reference is the closed form, forces of drives are those of closed forms. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/replay.h"
#include "experiments/simulate/simulate.h"
#include "models/figures/control.h"
#include "tests/tap.h"

#include <jansson.h>
#include <string.h>
#include <unistd.h>

/* base64 -> floats; returns their number */
static int decode(const char *text, float *v, int most)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  unsigned char *b = (unsigned char *)v;
  size_t n = 0, size = (size_t)most * sizeof *v;
  unsigned word = 0;
  int have = 0;
  for (; *text != '\0' && *text != '='; text++) {
    word = word << 6 | (unsigned)(strchr(digits, *text) - digits);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    if (n < size) b[n++] = (unsigned char)(word >> have);
  }
  return (int)(n / sizeof *v);
}

static int field(const json_t *root, const char *key, float *v, int most)
{
  return decode(json_string_value(json_object_get(root, key)), v, most);
}

/* float32 keeps seven digits */
static bool near_equal(float a, float b)
{
  return fabsf(a - b) <= 1e-6F * fabsf(b);
}

/* ---- films ---- */

enum { MOST = 700, FEW = 4 };
typedef struct film {
  json_t *root;
  int frames, bodies;
  float t[MOST], pose[MOST * FEW * 7], energy[MOST], known[MOST], ref[MOST * FEW * 7];
  perp_result result;
} film;

static void film_run(perp_ctx *ctx, const perp_request *request, film *f)
{
  char path[] = "/tmp/perp-replay-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) bail("no temporary file");
  close(fd);
  perp_request q = *request;
  q.replay.film = q.want_series = true;
  q.replay.path = path;
  if (perp_simulate(ctx, &q, &f->result) != PERP_OK) bail("%s", ctx->msg);
  f->root = json_load_file(path, 0, NULL);
  unlink(path);
  f->frames = (int)json_integer_value(json_object_get(f->root, "frames"));
  f->bodies = (int)json_array_size(json_object_get(f->root, "bodies"));
  if (f->frames > MOST || f->bodies > FEW) bail("%d frames, %d bodies", f->frames, f->bodies);
  field(f->root, "t", f->t, MOST);
  field(f->root, "pose", f->pose, MOST * FEW * 7);
  field(f->root, "energy", f->energy, MOST);
  field(f->root, "known", f->known, MOST);
  field(f->root, "reference", f->ref, MOST * FEW * 7);
}

static int film_column(const perp_series *s, const char *name)
{
  for (int c = 0; c < s->columns; c++)
    if (strcmp(s->header[c], name) == 0) return c;
  bail("no column %s", name);
  return -1;
}

/* Frames at the times of rows: how many there are, and how far their numbers are from those of the
 * row. */
static int film_beside_series(const film *f, double *off_pose, double *off_energy)
{
  const perp_series *s = &f->result.series;
  const int first = film_column(s, "q0"), energy = film_column(s, "energy[J]"), nq = f->result.nq;
  int met = 0;
  *off_pose = *off_energy = 0;
  for (int i = 0; i < f->frames; i++)
    for (int row = 0; row < s->rows; row++) {
      const double *v = s->values + (ptrdiff_t)row * s->columns;
      if (fabs(v[0] - (double)f->t[i]) > 1e-7) continue;
      met++;
      for (int k = 0; k < nq; k++)
        *off_pose = fmax(*off_pose, fabs(v[first + k] - (double)f->pose[i * nq + k]));
      *off_energy = fmax(*off_energy, fabs(v[energy] - (double)f->energy[i]));
    }
  return met;
}

static void film_free(film *f)
{
  json_decref(f->root);
  perp_result_free(&f->result);
}

static void film_of_a_stack(perp_ctx *ctx)
{
  static film f;
  const double h = 1.0 / 256;
  film_run(ctx, &(perp_request){ .scene = "stack:boxes=3", .h = h, .t_end = 1, .sample_every = h },
           &f);
  double pose, energy;
  const int met = film_beside_series(&f, &pose, &energy);
  ok(f.frames == 257 && met == f.frames, "a stack: each of %d steps is a frame", f.frames - 1);
  /* float32 of numbers up to 3 m, and of some 40 J */
  ok(pose < 2e-7 && energy < 2e-6, "and has the pose and the energy of its row: %.2g, %.2g", pose,
     energy);
  /* statics: what stands on a layer of contacts presses on it with its weight, m g h in each step
   */
  static float count[MOST], contact[MOST * 12 * 6];
  const int n = field(f.root, "contacts", count, MOST);
  const int numbers = field(f.root, "contact", contact, MOST * 12 * 6);
  int at = 0;
  for (int i = 0; i + 1 < n; i++) at += (int)count[i];
  double pressed = 0, weight = 0, mass = 0;
  for (int k = at; k < at + (int)count[n - 1]; k++) pressed += fabs((double)contact[6 * k + 5]);
  const json_t *body;
  size_t i;
  json_array_foreach(json_object_get(f.root, "bodies"), i, body)
  {
    mass = json_number_value(json_object_get(body, "mass"));
    weight += (double)(i + 1) * mass; /* box i is above i + 1 layers */
  }
  weight *= h * json_number_value(json_object_get(f.root, "gravity"));
  ok(numbers == 6 * (at + (int)count[n - 1]) && count[n - 1] >= 9, "%g contacts at the end",
     (double)count[n - 1]);
  near(pressed, weight, 1e-5 * weight, 0, "their impulses carry the boxes");
  ok(f.t[f.frames - 1] == 1 &&
         json_integer_value(json_object_get(f.root, "contacts_left_out")) == 0,
     "the last frame is the end, nothing is left out");
  film_free(&f);
}

static void film_of_a_pendulum(perp_ctx *ctx)
{
  static film f;
  /* frames are t_end / 599 apart: 1 ms */
  film_run(ctx,
           &(perp_request){ .scene = "pendulum",
                            .formulation = "acceleration",
                            .ode = "dopri5:tol=1e-10",
                            .t_end = 0.599,
                            .sample_every = 0.01 },
           &f);
  double pose, energy;
  const int met = film_beside_series(&f, &pose, &energy);
  ok(f.frames == 600 && fabs((double)f.t[300] - 0.3) < 1e-6,
     "adaptive steps: %d frames between them", f.frames);
  ok(met == 61 && pose < 2e-7 && energy < 1e-5, "those at the %d rows are the rows: %.2g, %.2g",
     met, pose, energy);
  film_free(&f);
  /* without a series the reference is asked at every frame */
  static film g;
  char path[] = "/tmp/perp-replay-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) bail("no temporary file");
  close(fd);
  const perp_request q = { .scene = "pendulum",
                           .formulation = "acceleration",
                           .ode = "dopri5:tol=1e-10",
                           .t_end = 0.599,
                           .replay = { path, true } };
  if (perp_simulate(ctx, &q, &g.result) != PERP_OK) bail("%s", ctx->msg);
  g.root = json_load_file(path, 0, NULL);
  unlink(path);
  const int n = field(g.root, "known", g.known, MOST), nq = g.result.nq;
  field(g.root, "pose", g.pose, MOST * FEW * 7);
  const int numbers = field(g.root, "reference", g.ref, MOST * FEW * 7);
  double off = 0;
  for (int i = 0; i < n * nq && i < numbers; i++)
    off = fmax(off, fabs((double)g.pose[i] - (double)g.ref[i]));
  ok(n == 600 && numbers == n * nq && off < 1e-6, "the closed form is where the body is: %.2g",
     off);
  film_free(&g);
}

/* A motor of 3 N against a dry friction of 2 N moves 2 kg: it gives 3 N until the block has 0.3
 * m/s, after 0.6 s, and 2 N from then on.  A rod that lies on a stop presses on it with m g L / 2
 * cos(angle). */
static void film_of_drives(perp_ctx *ctx)
{
  static film f;
  static float force[MOST * 2];
  const double h = 1.0 / 64;
  film_run(ctx, &(perp_request){ .scene = "motor", .h = h, .t_end = 1, .sample_every = h }, &f);
  const json_t *drives = json_object_get(f.root, "drives"), *first = json_array_get(drives, 0);
  ok(json_array_size(drives) == 2 &&
         strcmp(json_string_value(json_object_get(first, "name")), "motor") == 0 &&
         strcmp(json_string_value(json_object_get(first, "unit")), "N") == 0 &&
         json_integer_value(json_object_get(first, "joint")) == 0,
     "two drives of a slider, in N");
  const int n = field(f.root, "drive", force, MOST * 2);
  double off = 0;
  for (int i = 1; 2 * i + 1 < n; i++) {
    const double t = (double)f.t[i];
    if (fabs(t - 0.6) < 1.5 * h) continue; /* the step in which it gets there */
    off = fmax(off, fabs((double)force[2 * i] - (t < 0.6 ? 3 : 2)));
    off = fmax(off, fabs((double)force[2 * i + 1] + 2));
  }
  ok(n == 2 * f.frames && f.frames == 65 && isnan(force[0]) && isnan(force[1]),
     "a force of each in %d frames, none at the start", f.frames);
  ok(off < 1e-6, "those of the motor and of the friction, within %.2g N", off);
  film_free(&f);
  film_run(ctx, &(perp_request){ .scene = "stop", .h = 1e-3, .t_end = 1.5, .sample_every = 0.01 },
           &f);
  drives = json_object_get(f.root, "drives");
  ok(json_array_size(drives) == 1 &&
         strcmp(json_string_value(json_object_get(json_array_get(drives, 0), "unit")), "Nm") == 0,
     "one of a hinge, in Nm");
  ok(field(f.root, "drive", force, MOST) == f.frames, "a force in each frame");
  near((double)force[f.frames - 1], -2 * 9.81 * 0.5 * cos(0.7), 1e-4, 0, "which carries the rod");
  film_free(&f);
}

/* A rod of 2 kg on a hinge about y in the origin, which a controller would hold along x. */
static perp_model *held_rod(perp_ctx *ctx, const char *controller)
{
  const perp_body_def rod = { .name = "rod", .mass = perp_mass_box(2, 1, 0.1, 0.1), .x = { 0.5 } };
  const perp_joint_def hinge = { .kind = PERP_JOINT_HINGE,
                                 .a = PERP_WORLD,
                                 .axis_a = { 0, 1 },
                                 .axis_b = { 0, 1 },
                                 .anchor_b = { -0.5 } };
  perp_model *of[2];
  perp_goal *goal = NULL;
  for (int k = 0; k < 2; k++) {
    if (perp_model_create(ctx, 3, &of[k]) != PERP_OK ||
        perp_model_add_body(ctx, of[k], &rod, NULL) != PERP_OK ||
        perp_model_add_joint(ctx, of[k], &hinge, NULL) != PERP_OK)
      bail("%s", ctx->msg);
    if (k == 0 &&
        (perp_model_finish(ctx, of[0]) != PERP_OK || perp_goal_hold(ctx, of[0], &goal) != PERP_OK))
      bail("%s", ctx->msg);
  }
  perp_spec spec;
  if (perp_spec_parse(ctx, PERP_KIND_controller, controller, &spec) != PERP_OK)
    bail("%s", ctx->msg);
  const perp_control_def def = { .controller = (const perp_controller_desc *)(const void *)spec.d,
                                 .opts = spec.opts };
  if (perp_control_add(ctx, of[1], goal, &def) != PERP_OK ||
      perp_model_keep(ctx, of[1], goal, (void (*)(void *))perp_goal_destroy) != PERP_OK ||
      perp_model_finish(ctx, of[1]) != PERP_OK)
    bail("%s", ctx->msg);
  perp_spec_free(&spec);
  return of[1];
}

/* One frame of the rod, turned by `angle` and turning at `rate`: its only load, and what the file
 * says of it. */
static double load_of_frame(perp_ctx *ctx, perp_model *model, double angle, double rate,
                            const perp_step_info *info, bool *part)
{
  const double q[7] = { 0.5 * cos(angle), 0, -0.5 * sin(angle), cos(angle / 2), 0, sin(angle / 2) };
  const double v[6] = { -0.5 * sin(angle) * rate, 0, -0.5 * cos(angle) * rate, 0, rate };
  char path[] = "/tmp/perp-replay-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) bail("no temporary file");
  close(fd);
  perp_replay *replay;
  float value[4] = { 0 };
  if (perp_replay_create(ctx, model, PERP_REPLAY_SMALL, false, &replay) != PERP_OK)
    bail("%s", ctx->msg);
  const perp_replay_state state = { .q = q, .v = v, .info = info };
  if (perp_replay_frame(ctx, replay, &state) != PERP_OK ||
      perp_replay_write(ctx, replay, path) != PERP_OK)
    bail("%s", ctx->msg);
  json_t *root = json_load_file(path, 0, NULL);
  const json_t *drives = json_object_get(root, "drives"), *first = json_array_get(drives, 0);
  const char *unit = json_string_value(json_object_get(first, "unit"));
  if (json_array_size(drives) != 1 || field(root, "drive", value, 4) != 1 || unit == NULL ||
      strcmp(unit, "Nm") != 0)
    bail("%zu loads", json_array_size(drives));
  *part = json_is_true(json_object_get(first, "part"));
  json_decref(root);
  unlink(path);
  perp_replay_destroy(replay);
  return (double)value[0];
}

/* Forces of controllers are no drives, and are seen like them. */
static void loads_of_controllers(perp_ctx *ctx)
{
  const double pi = 3.14159265358979323846, I = 2 * (1 + 0.01) / 12.0 + 2 * 0.25, w = 2 * pi * 1.5;
  perp_model *model = held_rod(ctx, "pd:frequency=1.5,ratio=0.7");
  bool part;
  double got = load_of_frame(ctx, model, 0.3, 0.5, NULL, &part);
  near(got, I * w * w * 0.3 + 2 * 0.7 * I * w * 0.5, 0, 1e-6, "the force of pd, k e + c edot");
  ok(!part, "which is whole");
  perp_model_destroy(model);
  model = held_rod(ctx, "feed-forward");
  got = load_of_frame(ctx, model, 0, 0, NULL, &part);
  near(got, 2 * 9.81 * 0.5, 0, 1e-6, "that of inverse dynamics, which carries the rod");
  perp_model_destroy(model);
  model = held_rod(ctx, "implicit-pd:frequency=1.5");
  const double force = -7.25;
  const perp_step_info info = { .drive = &force };
  got = load_of_frame(ctx, model, 0.1, 0, &info, &part);
  near(got, force, 0, 1e-6, "a servo has the force of its step");
  ok(part, "as one part of a torque");
  ok(isnan(load_of_frame(ctx, model, 0.1, 0, NULL, &part)), "and none without a step");
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  char path[] = "/tmp/perp-replay-XXXXXX";
  int fd = mkstemp(path);
  if (fd < 0) bail("no temporary file");
  close(fd);

  perp_spec spec;
  perp_scene scene;
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_scene, "chain:links=3,truth=none", &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_model *model = scene.model;
  const int nq = perp_model_nq(model), m = perp_model_joints(model);
  double *q = calloc((size_t)nq, sizeof *q);
  memcpy(q, perp_model_q0(model), (size_t)nq * sizeof *q);

  perp_replay *replay;
  ok(perp_replay_create(&ctx, model, PERP_REPLAY_SMALL, false, &replay) == PERP_OK &&
         replay != NULL,
     "a replay of three links");
  const perp_contact contact = { .p[1] = { 1, 2, 3 } };
  const double impulse[3] = { 4, 5, 6 };
  const perp_step_info touch = { .n_contacts = 1, .contacts = &contact, .impulse = impulse };
  enum { STATES = 1000 };
  bool good = true;
  for (int i = 0; i < STATES; i++) {
    q[7] = perp_model_q0(model)[7] + 1e-9 * i; /* the second link leaves its joints along x */
    const perp_replay_state state = { .t = 0.01 * i, .q = q, .info = i == 0 ? NULL : &touch };
    good = perp_replay_frame(&ctx, replay, &state) == PERP_OK && good;
  }
  ok(good && perp_replay_write(&ctx, replay, path) == PERP_OK, "%d states, one file", STATES);
  perp_replay_destroy(replay);

  json_t *root = json_load_file(path, 0, NULL);
  ok(root != NULL, "the file is JSON");
  int frames = (int)json_integer_value(json_object_get(root, "frames"));
  ok(frames > 80 && frames <= 160, "thinned to %d frames", frames);
  static float t[200], error[200 * 9], pose[200 * 21], count[200], push[200 * 6];
  bool times = field(root, "t", t, 200) == frames && t[0] == 0;
  ok(times && near_equal(t[1], t[frames - 1] / (float)(frames - 1)), "evenly in time: %g s apart",
     (double)t[1]);
  ok(field(root, "pose", pose, 200 * 21) == frames * 21 &&
         near_equal(pose[7], (float)perp_model_q0(model)[7]),
     "seven numbers a body");
  ok(field(root, "error", error, 200 * 9) == frames * 3 * m, "three numbers a joint");
  /* the first joint is closed; the second opens by the shift, the third closes by it */
  const double shift = 1e-9 * nearbyint((double)t[frames - 1] / 0.01);
  const float *last = error + (size_t)(frames - 1) * 9;
  ok(last[0] == 0, "a closed joint has no error");
  near((double)last[3], shift, 1e-6 * shift, 0, "an error of nanometres survives");
  near((double)last[6], -shift, 1e-6 * shift, 0, "and has a sign");
  ok(field(root, "contacts", count, 200) == frames && count[0] == 0 && count[1] == 1,
     "no contact at the start, then one");
  ok(field(root, "contact", push, 200 * 6) == (frames - 1) * 6 && push[0] == 1 && push[5] == 6,
     "place and impulse of each contact");
  json_decref(root);
  unlink(path);
  free(q);
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);

  if (perp_spec_parse(&ctx, PERP_KIND_scene, "chain:links=300,truth=none", &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  ok(perp_replay_create(&ctx, scene.model, PERP_REPLAY_SMALL, false, &replay) == PERP_OK &&
         replay == NULL,
     "300 bodies are too many to look at");
  ok(perp_replay_frame(&ctx, replay, NULL) == PERP_OK, "and recording them is nothing");
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  if (perp_register_metrics(&ctx) != PERP_OK) bail("%s", ctx.msg);
  film_of_a_stack(&ctx);
  film_of_a_pendulum(&ctx);
  film_of_drives(&ctx);
  loads_of_controllers(&ctx);
  return tap_done();
}
