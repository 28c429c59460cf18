/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays: frames are thinned evenly, poses and joint errors are those of the states, the file is JSON. */
#include "experiments/simulate/replay.h"
#include "experiments/base/util.h"
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
  if (perp_register_models(&ctx) != PERP_OK ||
      perp_spec_parse(&ctx, PERP_KIND_scene, "chain:links=3,truth=none", &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  const perp_model *model = scene.model;
  const int nq = perp_model_nq(model), m = perp_model_joints(model);
  double *q = calloc((size_t)nq, sizeof *q);
  memcpy(q, perp_model_q0(model), (size_t)nq * sizeof *q);

  perp_replay *replay;
  ok(perp_replay_create(&ctx, model, &replay) == PERP_OK && replay != NULL,
     "a replay of three links");
  const perp_contact contact = { .p[1] = { 1, 2, 3 } };
  const double impulse[3] = { 4, 5, 6 };
  const perp_step_info touch = { .n_contacts = 1, .contacts = &contact, .impulse = impulse };
  enum { STATES = 1000 };
  bool good = true;
  for (int i = 0; i < STATES; i++) {
    q[7] = perp_model_q0(model)[7] + 1e-9 * i; /* the second link leaves its joints along x */
    good = perp_replay_frame(&ctx, replay, 0.01 * i, q, i == 0 ? NULL : &touch) == PERP_OK && good;
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
  ok(perp_replay_create(&ctx, scene.model, &replay) == PERP_OK && replay == NULL,
     "300 bodies are too many to look at");
  ok(perp_replay_frame(&ctx, replay, 0, NULL, NULL) == PERP_OK, "and recording them is nothing");
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  return tap_done();
}
