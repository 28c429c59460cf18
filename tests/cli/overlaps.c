/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes that overlap as drawn, of generated sizes and depths: perp check and the warning of a run
 * name the bodies and the depth, of robots (MJCF, URDF) and of scene files; --no-filter. */
#include "tests/cli/program.h"

#include <math.h>

enum { VARIANTS = 20 };

typedef enum format { MJCF, URDF, SCENE, FORMATS } format;
static const char *const ends[] = { "xml", "urdf", "yaml" };

typedef struct variant {
  format format;
  bool round[2]; /* a sphere; else a cube along the axes */
  double half[2], x, depth;
} variant;

/* Two shapes on the x axis, which overlap by `depth`: along x for a sphere and a cube, too. */
static variant make(int i)
{
  variant v = { .format = (format)(i % FORMATS), .round = { (i / 3) % 2 == 0, (i / 2) % 2 == 0 } };
  v.half[0] = 0.1 + 0.01 * i;
  v.half[1] = 0.3 - 0.005 * i;
  v.depth = 0.004 * (i + 1);
  v.x = (i % 2 == 0 ? 1 : -1) * (v.half[0] + v.half[1] - v.depth);
  return v;
}

/* Links a, m, b in a chain of hinges: a and b are joined through m, which has no shape.  In a scene
 * file they are free of each other. */
static void write_variant(const variant *v, const char *file)
{
  char shape[2][200], text[4000];
  for (int k = 0; k < 2; k++) {
    const double s = v->half[k];
    if (v->format == MJCF)
      snprintf(shape[k], sizeof shape[k],
               v->round[k] ? "type='sphere' size='%.10g'" : "type='box' size='%.10g %.10g %.10g'",
               s, s, s);
    else if (v->format == URDF)
      snprintf(shape[k], sizeof shape[k],
               v->round[k] ? "<sphere radius='%.10g'/>" : "<box size='%.10g %.10g %.10g'/>",
               v->round[k] ? s : 2 * s, 2 * s, 2 * s);
    else
      snprintf(shape[k], sizeof shape[k],
               v->round[k] ? "kind: sphere, radius: %.10g"
                           : "kind: box, half: [%.10g, %.10g, %.10g]",
               s, s, s);
  }
  static const char inertia[] = "<inertial><mass value='1'/><inertia ixx='.1' iyy='.1' izz='.1' "
                                "ixy='0' ixz='0' iyz='0'/></inertial>";
  if (v->format == MJCF)
    snprintf(text, sizeof text,
             "<mujoco><worldbody><body name='a'><joint/><geom %s/><body name='m' pos='0 5 "
             "0'><joint axis='1 0 0'/>"
             "<inertial pos='0 0 0' mass='1' diaginertia='.1 .1 .1'/><body name='b' pos='%.17g -5 "
             "0'><joint axis='0 1 0'/><geom %s/>"
             "</body></body></body></worldbody></mujoco>\n",
             shape[0], v->x, shape[1]);
  else if (v->format == URDF)
    snprintf(
        text, sizeof text,
        "<robot name='r'><link name='w'/><link "
        "name='a'>%s<collision><geometry>%s</geometry></collision></link><link name='m'>%s</link>"
        "<link name='b'>%s<collision><geometry>%s</geometry></collision></link>"
        "<joint name='wa' type='continuous'><parent link='w'/><child link='a'/><axis xyz='0 0 "
        "1'/></joint>"
        "<joint name='am' type='continuous'><parent link='a'/><child link='m'/><origin xyz='0 5 "
        "0'/><axis xyz='1 0 0'/></joint>"
        "<joint name='mb' type='continuous'><parent link='m'/><child link='b'/><origin xyz='%.17g "
        "-5 0'/><axis xyz='0 1 0'/></joint></robot>\n",
        inertia, shape[0], inertia, inertia, shape[1], v->x);
  else
    snprintf(text, sizeof text,
             "schema: perp-scene/1\nscene: { summary: Two bodies. }\nbodies:\n  - { name: a, mass: "
             "1, inertia: [0.1, 0.1, 0.1] }\n"
             "  - { name: b, mass: 1, inertia: [0.1, 0.1, 0.1], x: [%.17g, 0, 0] }\nshapes:\n  - { "
             "body: a, %s "
             "}\n  - { body: b, %s }\n",
             v->x, shape[0], shape[1]);
  write_file(file, text);
}

static bool tells(const char *text, const char *sentence)
{
  /* as the table of a run breaks lines: spaces are alike */
  for (; *text != '\0'; text++) {
    const char *s = text, *t = sentence;
    while (*s != '\0' && *t != '\0') {
      if (*t == ' ' && (*s == ' ' || *s == '\n')) {
        while (*s == ' ' || *s == '\n') s++;
        t++;
      } else if (*s == *t)
        s++, t++;
      else
        break;
    }
    if (*t == '\0') return true;
  }
  return false;
}

static void test_variant(int i)
{
  const variant v = make(i);
  char file[40], sentence[200], warning[200];
  snprintf(file, sizeof file, "v%d.%s", i, ends[v.format]);
  write_variant(&v, file);
  snprintf(sentence, sizeof sentence,
           "shapes of a and b overlap by %.3g mm as drawn: they do not collide with each other",
           1e3 * v.depth);
  snprintf(warning, sizeof warning,
           "Shapes of a and b overlap by %.3g mm at the start and push each other apart.",
           1e3 * v.depth);
  char *check = perp_xprintf("check %s", file), *off = perp_xprintf("check %s --no-filter", file),
       *simulate = perp_xprintf("simulate %s --t-end 4ms --h 2ms", file),
       *collide = perp_xprintf("simulate --no-filter %s --t-end 4ms --h 2ms", file);
  if (v.format == SCENE) {
    ok(run(check) == 0 && tells(out, warning), "%s: perp check: %s", file, warning);
    run(simulate);
    ok(tells(out, warning) && tells(out, "write `no_contact: [[a, b]]`"),
       "%s: a run says it, with a remedy", file);
    ok(run(off) == 2 && tells(err, "--no-filter needs the file of a robot"),
       "%s: --no-filter is refused", file);
  } else {
    ok(run(check) == 0 && tells(out, sentence) && !tells(out, warning), "%s: perp check: %s", file,
       sentence);
    ok(run(simulate) == 0 && tells(out, sentence), "%s: a run says it", file);
    ok(run(off) == 0 && tells(out, warning) && !tells(out, sentence), "%s: --no-filter: %s", file,
       warning);
    run(collide);
    ok(tells(out, warning), "%s: a run with --no-filter says it", file);
  }
  free(check), free(off), free(simulate), free(collide);
}

/* The option and the parameter are one thing. */
static void test_option(void)
{
  const variant v = make(0);
  write_variant(&v, "one.xml");
  json_t *a = json_of("simulate one.xml --no-filter --t-end 2ms --json", 9),
         *b = json_of("simulate one.xml:filter=false --t-end 2ms --json", 9);
  ok(strcmp(json_string_value(json_object_get(a, "scene")),
            json_string_value(json_object_get(b, "scene"))) == 0 &&
         json_equal(json_object_get(a, "final"), json_object_get(b, "final")),
     "--no-filter is filter=false");
  ok(run("import one.xml --no-filter -o one.yaml") == 0 &&
         file_has("one.yaml", "filter: { default: false"),
     "perp import --no-filter writes it");
  ok(run("check one.yaml") == 0 && tells(out, "push each other apart"),
     "and the scene file says so");
  ok(run("simulate pendulum --no-filter") == 2, "no robot: refused");
  ok(run("import walk.bvh --no-filter") != 0, "a figure has no filter");
  static const char *const commands[] = { "simulate --help", "view --help", "check --help",
                                          "import --help", "--help" };
  for (int i = 0; i < 5; i++)
    ok(run(commands[i]) == 0 && strstr(out, "--no-filter") != NULL, "perp %s lists it",
       commands[i]);
  json_decref(a);
  json_decref(b);
}

int main(void)
{
  program_open();
  for (int i = 0; i < VARIANTS; i++) test_variant(i);
  test_option();
  program_close();
  return tap_done();
}
