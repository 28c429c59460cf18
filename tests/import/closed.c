/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MJCF as perp reads it, against values in closed form: no library is needed.  Masses, centres and
 * inertias, what is listed as lost, and what bad files are answered with. */
#include "experiments/import/robot_inertia.h"
#include "experiments/import/robot_xml.h"
#include "tests/import/models.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const double tol = 1e-12;

typedef struct opened {
  perp_robot_report report;
  perp_robot robot;
} opened;

static void close_it(opened *x)
{
  perp_text *const texts[] = { &x->report.scene, &x->report.said, &x->report.files,
                               &x->report.error, &x->report.hint, &x->report.file };
  perp_pool_free(&x->robot.pool);
  for (int i = 0; i < 6; i++) perp_text_free(texts[i]);
}

static void open_it(opened *x, const char *path)
{
  *x = (opened){ 0 };
  perp_robot_begin(&x->robot, &x->report, path, NULL);
  xmlDoc *doc = perp_xml_open(&x->robot, path, NULL);
  if (doc != NULL) {
    perp_mjcf_read(&x->robot, doc);
    perp_xml_calls.xmlFreeDoc(doc);
  }
}

static const perp_robot_body *body_of(const opened *x, const char *name)
{
  for (int b = 1; b < x->robot.n_bodies; b++)
    if (strcmp(x->robot.body[b].name, name) == 0) return &x->robot.body[b];
  bail("there is no body %s: %s", name, x->report.error.n > 0 ? x->report.error.s : "");
}

/* ---- masses ---- */

/* mass, centre, xx yy zz xy xz yz about it */
static void mass_is(const opened *x, const char *name, double mass, double cx, double cy, double cz,
                    const double J[6])
{
  const perp_robot_body *body = body_of(x, name);
  const double com[3] = { cx, cy, cz }, *I = body->inertia;
  const double own[6] = { I[0], I[4], I[8], I[1], I[2], I[5] };
  double most = fabs(body->mass - mass) / mass, size = 1e-300;
  for (int i = 0; i < 6; i++) size = fmax(size, fabs(J[i]));
  for (int i = 0; i < 3; i++) most = fmax(most, fabs(body->com[i] - com[i]));
  for (int i = 0; i < 6; i++) most = fmax(most, fabs(own[i] - J[i]) / size);
  below(most, tol, "%s: mass, centre and inertia are those in closed form, %.1e", name, most);
}

/* Right tetrahedra with the edges a, b, c along the axes: m (3 (b^2 + c^2), ..., a b, ...) / 80. */
static void tetrahedra(void)
{
  opened x;
  open_it(&x, path_of("mjcf/mesh-inline.xml"));
  const double m = 8, a = 0.6, b = 0.4, c = 0.2;
  const double J[6] = { 3 * m * (b * b + c * c) / 80,
                        3 * m * (a * a + c * c) / 80,
                        3 * m * (a * a + b * b) / 80,
                        m * a * b / 80,
                        m * a * c / 80,
                        m * b * c / 80 };
  mass_is(&x, "points", m, a / 4 + 0.1, b / 4, c / 4, J);
  /* turned by 90 degrees about z: x -> y, y -> -x */
  const double turned[6] = { J[1], J[0], J[2], -J[3], -J[5], J[4] };
  mass_is(&x, "faces", m, -b / 4, a / 4, c / 4, turned);
  /* refquat turns x -> y -> z -> x: the mesh is seen from there, y is its x */
  const double moved[6] = { J[1], J[2], J[0], J[5], J[3], J[4] };
  mass_is(&x, "moved", m, b / 4 - 0.2, c / 4 - 0.3, a / 4 - 0.1, moved);
  close_it(&x);
}

/* A square frame: a box without a box. */
static void frame(void)
{
  opened x;
  open_it(&x, path_of("mjcf/mesh-files.xml"));
  const double out = 500, in = 125; /* kg of 1 x 1 x .5 and .5 x .5 x .5 */
  const double Jx = out * 1.25 / 12 - in * 0.5 / 12, Jz = out * 2 / 12 - in * 0.5 / 12;
  const double J[6] = { Jx, Jx, Jz }, hull[6] = { out * 1.25 / 12, out * 1.25 / 12, out * 2 / 12 };
  mass_is(&x, "exact", out - in, 0, 0, 0, J);
  mass_is(&x, "hull", out, 0, 0, 0, hull);
  const double twice[6] = { 32 * Jx, 32 * Jx, 32 * Jz };
  mass_is(&x, "twice", 8 * (out - in), 0, 0, 0, twice);
  /* two sheets of .75 m^2 at z = .25, outer sides of 2 m^2, inner ones of 1 m^2; 10 kg/m^2 */
  const double sheets = 2 * (1. / 12 - 0.25 * 0.25 / 12); /* x^2 over both sheets */
  const double sides = 2 * 0.5 * 0.25 + 2 * 0.5 / 12,
               inner = 2 * 0.25 * 0.0625 + 0.5 * 0.25 / 6 * 0.5;
  const double xx = sheets + sides + inner, zz = 1.5 * 0.0625 + 3 * 0.25 / 12;
  const double shell[6] = { 10 * (xx + zz), 10 * (xx + zz), 20 * xx };
  mass_is(&x, "shell", 45, 0, 0, 0, shell);
  close_it(&x);
}

static void shells(void)
{
  opened x;
  open_it(&x, path_of("mjcf/shells.xml"));
  const double m = 3, r = 0.2,
               ball[6] = { 2 * m * r * r / 3, 2 * m * r * r / 3, 2 * m * r * r / 3 };
  mass_is(&x, "sphere", m, 0, 0, 0, ball);
  mass_is(&x, "round", m, 0, 0, 0, ball);
  /* sides a, b, c of half length: areas 8 b c of the pair across a, ... */
  const double a = 0.1, b = 0.2, c = 0.3, A = 8 * b * c, B = 8 * a * c, C = 8 * a * b;
  const double k = m / (A + B + C), xx = k * a * a * (A + (B + C) / 3),
               yy = k * b * b * (B + (A + C) / 3), zz = k * c * c * (C + (A + B) / 3);
  const double box[6] = { yy + zz, xx + zz, xx + yy };
  mass_is(&x, "box", m, 0, 0, 0, box);
  /* radius q, half length h: a tube and two discs */
  const double q = 0.1, h = 0.2, tube = 4 * M_PI * q * h, disc = 2 * M_PI * q * q,
               n = m / (tube + disc);
  const double along = n * (tube * q * q + disc * q * q / 2),
               across = n * (tube * (q * q / 2 + h * h / 3) + disc * (q * q / 4 + h * h));
  const double can[6] = { across, across, along };
  mass_is(&x, "cylinder", m, 0, 0, 0, can);
  /* a tube and a sphere in two halves, each with its centre r / 2 from its edge */
  const double caps = 4 * M_PI * q * q, p = m / (tube + caps);
  const double pill_along = p * (tube * q * q + caps * 2 * q * q / 3),
               pill_across = p * (tube * (q * q / 2 + h * h / 3) +
                                  caps * (2 * q * q / 3 + h * h + h * q));
  const double pill[6] = { pill_across, pill_across, pill_along };
  mass_is(&x, "capsule", m, 0, 0, 0, pill);
  close_it(&x);
}

static void tensors(void)
{
  opened x;
  open_it(&x, path_of("mjcf/inertial.xml"));
  const double J[6] = { 0.02, 0.03, 0.025, 0.002, -0.001, 0.003 };
  mass_is(&x, "full", 1.5, 0, 0.1, 0, J);
  close_it(&x);
  open_it(&x, path_of("mjcf/field.xml"));
  const perp_robot_field *field = &x.robot.field[0];
  static const double heights[6] = { 0, 0, 0.5, 1, 0, 0.25 };
  double most = 0;
  for (int i = 0; i < 6; i++) most = fmax(most, fabs(field->height[i] - heights[i]));
  ok(field->rows == 3 && field->columns == 2 && most < tol,
     "a height field of the file begins at its last row, from 0 to 1");
  close_it(&x);
  open_it(&x, path_of("mjcf/compensation.xml"));
  ok(body_of(&x, "a")->gravcomp == 1 && body_of(&x, "c")->gravcomp == 0.5, "gravcomp is read");
  close_it(&x);
  open_it(&x, path_of("mjcf/equality-sites.xml"));
  const perp_robot_equality *e = x.robot.equality;
  ok(x.robot.n_equalities == 2 && e[0].a == 1 && e[0].b == 0 && e[0].point[0][1] == 0.1 &&
         e[0].point[1][2] == 2,
     "connect of two sites: their bodies and places");
  below(fabs(e[1].turn[0] - cos(M_PI / 6)) + fabs(e[1].turn[3] - sin(M_PI / 6)), tol,
        "weld of two sites: turned by the 60 degrees between them");
  close_it(&x);
}

/* ---- what is lost ---- */

static void test_lost(const char *file, const char *const *lines)
{
  perp_robot_report report = { 0 };
  char *path = strdup(path_of(file));
  perp_robot_convert(path, NULL, &report);
  if (!ok(report.error.n == 0, "%s has a scene", file)) printf("# %s\n", report.error.s);
  int n = 0;
  for (; lines[n] != NULL; n++) {
    char *line = perp_xprintf("lost: %s\n", lines[n]);
    if (!ok(report.said.n > 0 && strstr(report.said.s, line) != NULL, "lost: %s", lines[n]))
      printf("# of\n%s", report.said.s);
    free(line);
  }
  free(report.scene.s), free(report.said.s), free(report.files.s);
  free(report.error.s), free(report.hint.s), free(report.file.s);
  free(path);
}

static void lost(void)
{
  static const char *const lines[] = {
    "height field picture from a picture: contacts of its geoms",
    "springdamper (0.1 s, 1) of joint a: a spring and a damper from its inertia",
    "mesh ring, which MuJoCo computes: contacts and mass of its geoms",
    "geom distance, a signed distance field: its contacts and its mass",
    "plugin in body a: forces that it computes",
    "composite rope of type cable in body b: its bodies, joints and contacts",
    "flexcomp cloth in body b: a deformable body, its mass and contacts",
    "flex jelly: a deformable body, its elasticity and contacts",
    "plugin mujoco.elasticity.cable: forces and sensors that it computes",
    "actuator dc: no force from it; in MuJoCo it drives a joint, with the force of a dcmotor a",
    "actuator late: no force from it; in MuJoCo it drives a joint, with a delay a",
    "tendon gap, 2 sites: no force from it; in MuJoCo a spring of 5 N/m",
    "spring of tendon play: it has no force between two lengths, [-0.1, 0.1] m; no force from it",
    "actuatorfrcrange [-3, 3] of tendon play: nothing bounds the sum of its actuators",
    NULL
  };
  static const char *const tendons[] = {
    "tendon rope, 2 sites, around geoms: no force from it; in MuJoCo limits of its length, [0, "
    "1.5] m, a spring of 30 N/m, a damper of 2 Ns/m, a dry friction of 0.1 N",
    "equality tendon 0 (both, rope): no force keeps this relation of lengths of tendons", NULL
  };
  static const char *const coupled[] = {
    "equality tendon 2 (one, two): no force keeps this relation of lengths of tendons",
    "actuator grip: no force from it; in MuJoCo it drives the length of tendon soft",
    "actuator lag: no force from it; in MuJoCo it drives a joint, with an activation state "
    "(filter) e",
    "tendon soft, 2 joints: no force from it; in MuJoCo limits of its length, [-1, 1] m, a spring "
    "of 3 N/m, a damper of 1 Ns/m, a dry friction of 0.2 N",
    "tendon rope, 2 sites: no force from it; in MuJoCo limits of its length, [0, 3] m",
    NULL
  };
  static const char *const actuators[] = {
    "actuator drift: no force from it; in MuJoCo it drives a joint, with an activation state (an "
    "integrator) a",
    "actuator brake: no force from it; in MuJoCo it drives a joint, with a nonlinear force a",
    "actuator flesh: no force from it; in MuJoCo it drives a joint, with the force of a muscle b",
    "actuator jet: no force from it; in MuJoCo it drives a site tip",
    "actuator glue: no force from it; in MuJoCo it drives contacts of a body c",
    NULL
  };
  static const char *const options[] = {
    "a medium of density 1.2 kg/m^3 and viscosity 1e-05: drag on all bodies", NULL
  };
  static const char *const nothing[] = { NULL };
  test_lost("mjcf/lost.xml", lines);
  test_lost("mjcf/tendons.xml", tendons);
  test_lost("mjcf/coupled-tendons.xml", coupled);
  test_lost("mjcf/fixed-tendons.xml", nothing);
  test_lost("mjcf/actuators.xml", actuators);
  test_lost("mjcf/options.xml", options);
  test_lost("mjcf/ignored.xml", nothing);
  test_lost("mjcf/compensation.xml", nothing);
}

/* ---- bad files ---- */

static char folder[] = "/tmp/perp-closed-XXXXXX";

static void write_text(const char *name, const char *text)
{
  char *path = perp_xprintf("%s/%s", folder, name);
  FILE *f = fopen(path, "w");
  if (f == NULL || fputs(text, f) < 0) bail("%s", path);
  fclose(f);
  free(path);
}

static void refused(const char *text, const char *message, int line)
{
  opened x;
  char *path = perp_xprintf("%s/bad.xml", folder);
  write_text("bad.xml", text);
  open_it(&x, path);
  if (!ok(x.report.error.n > 0 && strstr(x.report.error.s, message) != NULL &&
              x.report.line == line,
          "line %d: %s", line, message))
    printf("# line %d: %s\n", x.report.line, x.report.error.n > 0 ? x.report.error.s : "(nothing)");
  close_it(&x);
  free(path);
}

#define WORLD(x) "<mujoco>\n<worldbody>\n" x "\n</worldbody>\n</mujoco>"
#define BODY(x)  WORLD("<body name=\"a\"><joint/>\n" x "\n</body>")

static void bad(void)
{
  refused("<mujoco>\n<worldbody>\n<body>\n</mujoco>", "not valid XML", 4);
  refused("<!DOCTYPE x [<!ENTITY a \"b\">]>\n<mujoco/>", "declares entities", 1);
  refused(WORLD("<bodi/>"), "unrecognized element <bodi> in <worldbody>", 3);
  refused(WORLD("<body poss=\"0 0 0\"/>"), "unrecognized attribute 'poss'", 3);
  refused(WORLD("<body pos=\"0 0\"/>"), "'pos' of <body> needs 3 numbers: got 2", 3);
  refused(WORLD("<body pos=\"0 0 nan\"/>"), "is no number here: 'nan'", 3);
  refused(WORLD("<body quat=\"0 0 0 0\"/>"), "'quat' of <body> is zero", 3);
  refused(WORLD("<joint/>"), "the world has no joint", 3);
  refused(BODY("<geom size=\"-1\"/>"), "is not positive: -1", 4);
  refused(BODY("<geom type=\"box\" size=\"1\"/>"), "needs 3 sizes: got 1", 4);
  refused(BODY("<geom type=\"cone\" size=\"1\"/>"), "none of its words: 'cone'", 4);
  refused(BODY("<geom class=\"x\" size=\"1\"/>"), "unknown default class 'x'", 4);
  refused(BODY("<geom type=\"mesh\" mesh=\"x\"/>"), "there is no mesh 'x'", 4);
  refused(BODY("<geom type=\"capsule\" fromto=\"0 0 0 0 0 0\" size=\"1\"/>"), "are the same", 4);
  refused(BODY("<joint axis=\"0 0 0\"/>"), "the axis of joint '' is zero", 4);
  refused(BODY("<joint range=\"2 1\"/>"), "'range' of <joint> is empty", 4);
  refused(BODY("<inertial pos=\"0 0 0\" mass=\"1\" diaginertia=\"1 1 3\"/>"),
          "no body has the inertia of body 'a'", 3);
  refused(BODY("<body name=\"a\"/>"), "repeated name 'a' of a body", 4);
  refused(WORLD("<replicate count=\"10000000000\"><body/></replicate>"), "is no integer", 3);
  refused(WORLD("<replicate count=\"99999\"><replicate count=\"99999\"><body/></replicate>"
                "</replicate>"),
          "copies more than", 3);
  refused("<mujoco>\n<asset><hfield name=\"h\" nrow=\"100000\" ncol=\"100000\" size=\"1 1 1 1\"/>"
          "</asset>\n<worldbody><geom type=\"hfield\" hfield=\"h\"/></worldbody></mujoco>",
          "has 100000 rows and 100000 columns", 2);
  refused("<mujoco>\n<include file=\"bad.xml\"/>\n</mujoco>", "include", 2);
  refused("<mujoco>\n<include file=\"/etc/passwd\"/>\n</mujoco>", "included file", 2);
  refused("<mujoco>\n<include file=\"../../etc/passwd\"/>\n</mujoco>", "included file", 2);
  refused("<mujoco>\n<equality><connect body1=\"x\" anchor=\"0 0 0\"/></equality>\n</mujoco>",
          "there is no body 'x'", 2);
  refused("<mujoco>\n<actuator><motor joint=\"x\"/></actuator>\n</mujoco>", "there is no joint 'x'",
          2);
  refused("<mujoco>\n<compiler coordinate=\"global\"/>\n</mujoco>", "has ended with MuJoCo 2.3.4",
          2);
  refused("<mujoco>\n<option timestep=\"0\"/>\n</mujoco>", "the timestep is not positive", 2);
}

int main(void)
{
  if (mkdtemp(folder) == NULL) bail("no folder");
  tetrahedra();
  frame();
  shells();
  tensors();
  lost();
  bad();
  char *path = perp_xprintf("%s/bad.xml", folder);
  unlink(path);
  rmdir(folder);
  free(path);
  return tap_done();
}
