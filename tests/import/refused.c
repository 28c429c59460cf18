/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of robots that are wrong or hostile are refused with a message, and where files may be read
 * from.  No optional library. */
#include "experiments/base/files.h"
#include "experiments/import/import.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[200];
static perp_ctx ctx;

static char *in_folder(const char *name)
{
  static char path[4][500];
  static int k;
  k = (k + 1) % 4;
  snprintf(path[k], sizeof path[k], "%s/%s", folder, name);
  return path[k];
}

static void put(const char *name, const char *text)
{
  char *path = in_folder(name), *slash = strrchr(path, '/');
  *slash = '\0';
  if (perp_make_dirs(&ctx, path) != PERP_OK) bail("%s", ctx.msg);
  *slash = '/';
  if (perp_write_file(&ctx, path, text, strlen(text)) != PERP_OK) bail("%s", ctx.msg);
}

/* The message has the words; NULL: the robot is read, and `says` is in what is said of it or in its
 * scene. */
static void judge(const char *name, const char *refused, const char *says, const char *what)
{
  perp_import robot;
  perp_diag diag = { 0 };
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  const bool good = perp_import_read(&diag, NULL, in_folder(name), NULL, &robot);
  clock_gettime(CLOCK_MONOTONIC, &to);
  const char *text = diag.text.s != NULL ? diag.text.s : "";
  if (refused != NULL)
    ok(!good && strstr(text, refused) != NULL, "%s: refused with '%s': %s", what, refused,
       good ? "it is read" : text);
  else
    ok(good && (strstr(robot.said, says) != NULL || strstr(robot.scene, says) != NULL),
       "%s: '%s' is said: %s", what, says, good ? robot.said : text);
  ok(to.tv_sec - from.tv_sec < 20, "%s: within 20 s", what);
  if (good) perp_import_free(&robot);
  perp_diag_free(&diag);
}

#define MASS  "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>"
#define LINKS "<link name='a'/><link name='b'>" MASS "</link>"
#define ENDS  "<parent link='a'/><child link='b'/>"

static const struct {
  const char *what, *text, *refused, *says;
} urdfs[] = {
  { "limits that are crossed",
    LINKS "<joint name='j' type='revolute'>" ENDS "<limit lower='1' upper='-1'/></joint>",
    "its lower limit, 1 rad, is above the upper one, -1 rad", NULL },
  { "a link with two parents",
    LINKS "<link name='c'/><joint name='j' type='fixed'>" ENDS
          "</joint><joint name='k' type='fixed'><parent link='c'/><child link='b'/></joint>",
    "is the child of two joints, 'j' and 'k'", NULL },
  { "a circle",
    LINKS "<joint name='j' type='fixed'>" ENDS
          "</joint><joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint>",
    "circle of joints", NULL },
  { "a joint of a link with itself",
    LINKS "<joint name='j' type='fixed'><parent link='b'/><child link='b'/></joint>", "itself",
    NULL },
  { "a link without mass that moves",
    "<link name='a'/><link name='b'/><joint name='j' type='continuous'>" ENDS "</joint>",
    "link 'b' can move but has no mass", NULL },
  { "a link without mass and two moving children",
    "<link name='a'/><link name='b'/><link name='c'>" MASS "</link><link name='d'>" MASS
    "</link><joint name='j' type='continuous'>" ENDS
    "</joint><joint name='k' type='continuous'><parent link='b'/><child link='c'/></joint><joint "
    "name='l' type='continuous'><parent link='b'/><child link='d'/></joint>",
    "can move but has no mass", NULL },
  { "three hinges in one line, through links without mass",
    "<link name='a'/><link name='b'/><link name='c'/><link name='d'>" MASS
    "</link><joint name='j' type='continuous'>" ENDS
    "</joint><joint name='k' type='continuous'><parent link='b'/><child link='c'/></joint><joint "
    "name='l' type='continuous'><parent link='c'/><child link='d'/></joint>",
    "depend on each other", NULL },
  { "two links of one name", LINKS "<link name='b'/>", "two links are called 'b'", NULL },
  { "an axis without a length",
    LINKS "<joint name='j' type='continuous'>" ENDS "<axis xyz='0 0 0'/></joint>", "no length",
    NULL },
  { "a joint of no type", LINKS "<joint name='j' type='hinge'>" ENDS "</joint>", "hinge", NULL },
  { "a link that does not exist",
    LINKS "<joint name='j' type='fixed'><parent link='a'/><child link='z'/></joint>",
    "there is no link 'z'", NULL },
  { "a number that is none",
    LINKS "<joint name='j' type='continuous'>" ENDS "<axis xyz='0 nan 1'/></joint>", "no number",
    NULL },
  { "a negative mass", "<link name='a'><inertial><mass value='-1'/></inertial></link>", "negative",
    NULL },
  { "a box without a size",
    "<link name='a'><collision><geometry><box size='1 0 1'/></geometry></collision></link>",
    "no size", NULL },
  { "xacro", "<xacro:property xmlns:xacro='http://ros.org/wiki/xacro' name='p' value='1'/>" LINKS,
    "macro of xacro", NULL },
  { "no link", "", "no link", NULL },
  { "moments of no rigid body",
    "<link name='a'/><link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
    "izz='3'/></inertial></link><joint name='j' type='continuous'>" ENDS "</joint>",
    NULL, "no rigid body has its inertia" },
  { "balanceinertia",
    "<mujoco><compiler balanceinertia='true'/></mujoco><link name='a'/><link "
    "name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
    "izz='4'/></inertial></link><joint name='j' type='continuous'>" ENDS "</joint>",
    NULL, "balanceinertia makes its moments 2 kg m^2" },
  { "settotalmass, timestep, gravity",
    "<mujoco><compiler settotalmass='7'/><option timestep='0.003' gravity='0 0 -2'/></mujoco>" LINKS
    "<joint name='j' type='continuous'>" ENDS "</joint>",
    NULL, "mass: 7," },
  { "things of controllers",
    LINKS "<joint name='j' type='continuous'>" ENDS
          "<safety_controller k_velocity='1'/><calibration rising='0'/></joint><transmission "
          "name='t'/><gazebo reference='b'><mu1>1</mu1></gazebo>",
    NULL, "safety_controller, which is of a controller, of joints: j" },
  { "effort and velocity",
    LINKS "<joint name='j' type='revolute'>" ENDS
          "<limit lower='-1' upper='1' effort='5' velocity='2'/></joint>",
    NULL, "largest velocities are bounds of actuators, which are not there: j 2 rad/s" },
  { "a link called world",
    "<link name='world'/><link name='b'>" MASS
    "</link><joint name='j' type='continuous'><parent link='world'/><child link='b'/></joint>",
    NULL, "schema" },
  { "mass of collision shapes",
    "<link name='a'/><link name='b'><collision><geometry><box size='0.1 0.2 0.3'/></geometry>"
    "</collision></link><joint name='j' type='continuous'>" ENDS "</joint>",
    NULL, "its mass, 6 kg" },
};

static void test_urdfs(void)
{
  for (size_t i = 0; i < sizeof urdfs / sizeof *urdfs; i++) {
    char text[3000];
    snprintf(text, sizeof text, "<robot name='r'>\n%s\n</robot>\n", urdfs[i].text);
    put("r.urdf", text);
    judge("r.urdf", urdfs[i].refused, urdfs[i].says, urdfs[i].what);
  }
}

static const struct {
  const char *what, *text, *refused, *says;
} sdfs[] = {
  { "a pose that depends on itself",
    "<model name='m'><link name='a'><pose relative_to='b'/></link><link name='b'><pose "
    "relative_to='a'/></link></model>",
    "depends on itself", NULL },
  { "a pose in nothing", "<model name='m'><link name='a'><pose relative_to='z'/></link></model>",
    "does not exist", NULL },
  { "an include that is not there",
    "<world name='w'><include><uri>model://nothing</uri></include></world>", "is not found", NULL },
  { "an include outside",
    "<world name='w'><include><uri>file:///etc/passwd</uri></include></world>", "outside", NULL },
  { "a joint with nothing",
    "<model name='m'><link name='a'/><joint name='j' "
    "type='revolute'><parent>a</parent><child>z</child></joint></model>",
    "which does not exist", NULL },
  { "a file without links", "<world name='w'/>", "no link", NULL },
  { "plugins and sensors",
    "<model name='m'><link name='a'><sensor name='eye' type='camera'/></link><plugin name='p' "
    "filename='f'/></model>",
    NULL, "<sensor>: eye of link m::a" },
  { "a screw",
    "<model name='m'><link name='a'/><joint name='j' "
    "type='screw'><parent>world</parent><child>a</child><axis><xyz>0 0 "
    "1</xyz></axis><screw_thread_pitch>0.01</screw_thread_pitch></joint></model>",
    NULL, "cylindrical" },
  { "a loop",
    "<model name='m'><link name='a'/><link name='b'><pose>1 0 0 0 0 0</pose></link><joint name='i' "
    "type='revolute'><parent>world</parent><child>a</child><axis><xyz>0 1 "
    "0</xyz></axis></joint><joint name='j' "
    "type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 1 "
    "0</xyz></axis></joint><joint name='k' "
    "type='ball'><parent>world</parent><child>b</child></joint></model>",
    NULL, "joint k closes a loop" },
  { "no self collision",
    "<world name='w'><model name='m'><link name='a'><collision name='c'><geometry><sphere><radius>"
    "1</radius></sphere></geometry></collision></link></model></world>",
    NULL, "sphere" },
};

static void test_sdfs(void)
{
  for (size_t i = 0; i < sizeof sdfs / sizeof *sdfs; i++) {
    char text[3000];
    snprintf(text, sizeof text, "<sdf version='1.9'>\n%s\n</sdf>\n", sdfs[i].text);
    put("m.sdf", text);
    judge("m.sdf", sdfs[i].refused, sdfs[i].says, sdfs[i].what);
  }
  put("self/model.config", "<model><sdf>self.sdf</sdf></model>");
  put("self/self.sdf", "<sdf><model name='m'><link "
                       "name='l'/><include><uri>model://self</uri></include></model></sdf>");
  judge("self/model.config", "inside each other", NULL, "a model that includes itself");
}

/* ---- hostile XML ---- */

static void test_bombs(void)
{
  perp_text text = { 0 };
  perp_text_add(&text, "<!DOCTYPE robot [<!ENTITY a 'aaaaaaaaaa'>");
  for (char c = 'b'; c < 'k'; c++) {
    perp_text_add(&text, "<!ENTITY %c '", c);
    for (int i = 0; i < 10; i++) perp_text_add(&text, "&%c;", c - 1);
    perp_text_add(&text, "'>");
  }
  perp_text_add(&text, "]><robot name='&j;'>" LINKS "</robot>");
  put("bomb.urdf", text.s);
  judge("bomb.urdf", "entities", NULL, "a billion laughs");
  perp_text_free(&text);
  put("entity.urdf", "<!DOCTYPE robot [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><robot "
                     "name='r'><link name='&x;'/></robot>");
  judge("entity.urdf", "entities", NULL, "an entity of another file");
  put("dtd.urdf", "<!DOCTYPE robot SYSTEM 'http://127.0.0.1:1/none.dtd'><robot name='r'>" LINKS
                  "<joint name='j' type='continuous'>" ENDS "</joint></robot>");
  judge("dtd.urdf", NULL, "schema", "a document type of the network is not fetched");
  for (int i = 0; i < 100000; i++) perp_text_add(&text, "<x>");
  put("deep.urdf", text.s);
  judge("deep.urdf", "not valid XML", NULL, "100 000 elements inside each other");
  perp_text_free(&text);
  perp_text_add(&text, "<robot name='r'><link name='l0'>" MASS "</link>");
  for (int i = 1; i < 3000; i++)
    perp_text_add(&text,
                  "<link name='l%d'>" MASS "</link><joint name='j%d' type='continuous'><parent "
                  "link='l%d'/><child link='l%d'/></joint>",
                  i, i, i - 1, i);
  perp_text_add(&text, "</robot>");
  put("long.urdf", text.s);
  judge("long.urdf", "links in a row", NULL, "3000 links in a row");
  perp_text_free(&text);
  put("other.urdf", "<html/>");
  judge("other.urdf", "no robot that perp reads", NULL, "another root element");
}

/* ---- where meshes are ---- */

static void robot_with(const char *file, const char *mesh)
{
  char text[2000];
  snprintf(text, sizeof text,
           "<robot name='r'><link name='a'/><link name='b'><collision><geometry><mesh "
           "filename='%s'/></geometry></collision></link><joint name='j' type='continuous'>" ENDS
           "</joint></robot>",
           mesh);
  put(file, text);
}

static const char tetrahedron[] =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

static void found(const char *file, const char *mesh, bool there, const char *says)
{
  char what[300];
  robot_with(file, mesh);
  snprintf(what, sizeof what, "%s in %s", mesh, file);
  judge(file, there ? NULL : says, there ? "polytope" : NULL, what);
}

static void test_search(void)
{
  char *bad;
  put("work/pkg/package.xml", "<package>\n<name>thing_description</name></package>\n");
  put("work/pkg/meshes/m.obj", tetrahedron);
  put("work/pkg/urdf/deep/near.obj", tetrahedron);
  put("work/other/m.obj", tetrahedron);
  put("else/away/meshes/m.obj", tetrahedron);
  put("plain/meshes/m.obj", tetrahedron);
  put("plain/beside.obj", tetrahedron);
  const char *robot = "work/pkg/urdf/deep/r.urdf";
  found(robot, "package://thing_description/meshes/m.obj", true, "");
  found(robot, "package://pkg/meshes/m.obj", true, "");
  found(robot, "package://another/meshes/m.obj", true, "");
  found(robot, "meshes/m.obj", true, "");
  found(robot, "../../meshes/m.obj", true, "");
  found(robot, "near.obj", true, "");
  found(robot, "somewhere/near.obj", true, "");
  found(robot, "../../../other/m.obj", false, "outside");
  found(robot, in_folder("work/pkg/meshes/m.obj"), true, "");
  found(robot, in_folder("work/other/m.obj"), false, "outside");
  found(robot, "file:///etc/passwd", false, "outside");
  found(robot, "http://127.0.0.1/m.obj", false, "is not found");
  found(robot, "package://away/meshes/none.obj", false, "--package-path DIR names the folder that");
  found("plain/r.urdf", "meshes/m.obj", true, "");
  found("plain/r.urdf", "package://anything/meshes/m.obj", true, "");
  found("plain/r.urdf", "../work/other/m.obj", false, "outside");
  found("plain/urdf/r.urdf", "../meshes/m.obj", true, "");
  found("plain/models/r.urdf", "../meshes/m.obj", false, "outside");
  if (symlink(in_folder("work/other/m.obj"), in_folder("plain/link.obj")) != 0) bail("no link");
  found("plain/r.urdf", "link.obj", false, "outside");
  found("plain/r.urdf", "package://away/meshes/m.obj", true, ""); /* without its NAME */
  found("plain/r.urdf", "package://away/only/m2.obj", false, "is not found");
  put("else/away/only/m2.obj", tetrahedron);
  ok(!perp_import_package_path(in_folder("nowhere"), &bad), "a path that is no folder: %s", bad);
  free(bad);
  ok(perp_import_package_path(in_folder("else"), &bad), "--package-path");
  found("plain/r.urdf", "package://away/only/m2.obj", true, "");
  found("plain/r.urdf", "package://away/../../work/other/m.obj", false, "outside");
  unsetenv("PERP_PACKAGE_PATH");
  found("plain/r.urdf", "package://away/only/m2.obj", false, "is not found");
  setenv("ROS_PACKAGE_PATH", in_folder("else"), 1);
  found("plain/r.urdf", "package://away/only/m2.obj", true, "");
  unsetenv("ROS_PACKAGE_PATH");
  /* what was read belongs to the run */
  perp_import import;
  perp_diag diag = { 0 };
  robot_with(robot, "package://thing_description/meshes/m.obj");
  ok(perp_import_read(&diag, NULL, in_folder(robot), NULL, &import) && import.n_files == 3,
     "the robot, the package.xml that names it and the mesh are files of the run: %d",
     import.n_files);
  perp_import_free(&import);
  perp_diag_free(&diag);
}

int main(void)
{
  perp_ctx_init(&ctx);
  snprintf(folder, sizeof folder, "/tmp/perp-refused-XXXXXX");
  if (mkdtemp(folder) == NULL) bail("no folder");
  test_urdfs();
  test_sdfs();
  test_bombs();
  test_search();
  perp_temp_remove(perp_xstrdup(folder));
  return tap_done();
}
