/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meshes of robots: one wedge in every format, by closed values; files that lie; bounded hulls. */
#include "experiments/import/robot_inertia.h"
#include "experiments/import/robot_mesh.h"
#include "experiments/import/robot_search.h"
#include "models/geometry/shapes_private.h"
#include "solvers/core/core.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[1000], error[2000], hint[1000];

/* A mesh in an empty robot, which the caller frees; what it is refused with. */
static perp_robot_mesh *load(perp_robot *robot, perp_robot_report *report, const char *file,
                             const double scale[3])
{
  char path[2000];
  if (file[0] == '/')
    snprintf(path, sizeof path, "%s", file);
  else
    snprintf(path, sizeof path, "%s/%s", folder, file);
  *robot = (perp_robot){ 0 };
  *report = (perp_robot_report){ 0 };
  perp_robot_begin(robot, report, perp_pool_printf(&robot->pool, "%s/robot.urdf", folder), NULL);
  perp_robot_mesh *mesh = perp_robot_mesh_load(robot, path, scale, NULL, 7);
  snprintf(error, sizeof error, "%s", report->error.n > 0 ? report->error.s : "");
  snprintf(hint, sizeof hint, "%s", report->hint.n > 0 ? report->hint.s : "");
  return mesh;
}

static void forget(perp_robot *robot, perp_robot_report *report)
{
  perp_pool_free(&robot->pool);
  perp_text *const texts[] = { &report->scene, &report->said, &report->files,
                               &report->error, &report->hint, &report->file };
  for (int i = 0; i < 6; i++) perp_text_free(texts[i]);
}

/* Of the wedge over (0, 0), (a, 0), (0, b), height c, of density 1: about its centre. */
static void wedge(double a, double b, double c, double I[9])
{
  const double m = a * b * c / 2, xx = a * a / 18, yy = b * b / 18, zz = c * c / 12;
  memset(I, 0, 9 * sizeof *I);
  I[0] = m * (yy + zz), I[4] = m * (xx + zz), I[8] = m * (xx + yy);
  I[1] = I[3] = m * a * b / 36; /* - integral of x y */
}

static void test_wedge(const char *file, const double scale[3])
{
  perp_robot robot;
  perp_robot_report report;
  perp_robot_solid solid;
  perp_robot_mesh *mesh = load(&robot, &report, file, scale);
  ok(mesh != NULL, "%s: read %s", file, error);
  if (mesh != NULL) {
    const double a = 0.3 * scale[0], b = 0.2 * scale[1], c = 0.4 * scale[2];
    double I[9], most = 0, size;
    wedge(fabs(a), fabs(b), fabs(c), I);
    I[1] = I[3] = I[1] * (a * b < 0 ? -1 : 1);
    ok(mesh->n == 6 && mesh->n_faces == 8, "%s: 6 vertices, 8 triangles: %d, %d", file, mesh->n,
       mesh->n_faces);
    const bool good = perp_robot_solid_of_mesh(mesh, PERP_ROBOT_INSIDE_EXACT, &solid);
    ok(good, "%s: it has an inside", file);
    size = fabs(a * b * c) / 2;
    near(solid.volume, size, 0, 1e-6, "%s: volume", file); /* coordinates are float */
    near(solid.com[0], a / 3, 0, 1e-6, "%s: centre x", file);
    near(solid.com[1], b / 3, 0, 1e-6, "%s: centre y", file);
    near(solid.com[2], 0.3 * scale[2], 0, 1e-6, "%s: centre z", file);
    for (int i = 0; i < 9; i++) most = fmax(most, fabs(solid.inertia[i] - I[i]));
    below(most / I[0], 1e-6, "%s: inertia", file);
    ok(report.files.n > 0, "%s: it belongs to the run", file);
  }
  forget(&robot, &report);
}

/* In another process, with a bound on its time: there is a message, whatever the file says. */
static void test_lie(const char *file, const char *says)
{
  int fd[2], status = 0;
  char got[3000] = "";
  static const double one[3] = { 1, 1, 1 };
  if (pipe(fd) != 0) bail("no pipe");
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    perp_robot robot;
    perp_robot_report report;
    alarm(20);
    const bool read = load(&robot, &report, file, one) != NULL;
    forget(&robot, &report);
    const char *text = read ? "READ" : error;
    if (write(fd[1], text, strlen(text)) < 0) _exit(2);
    _exit(0);
  }
  close(fd[1]);
  ssize_t n, at = 0;
  while (at < 2990 && (n = read(fd[0], got + at, (size_t)(2990 - at))) > 0) at += n;
  close(fd[0]);
  waitpid(pid, &status, 0);
  ok(WIFEXITED(status) && WEXITSTATUS(status) == 0 && strstr(got, says) != NULL,
     "%s is refused with '%s' (status %d): %s", file, says, status, got);
}

/* A sphere of many vertices: the hull has the corners that are allowed, they are vertices of the
 * mesh, and the support of the mesh is at most `off` beyond theirs, along any direction. */
static void test_hull(int rings, int most)
{
  perp_robot robot = { 0 };
  perp_robot_report report = { 0 };
  perp_robot_begin(&robot, &report, "none", NULL);
  perp_robot_mesh *mesh = perp_robot_add_mesh(&robot);
  mesh->n = rings * rings;
  mesh->vertex = perp_pool_alloc(&robot.pool, 3 * (size_t)mesh->n, sizeof *mesh->vertex);
  perp_rng *rng = perp_rng_create(5);
  for (int i = 0; i < mesh->n; i++) {
    const double z = perp_rng_uniform(rng, -1, 1), t = perp_rng_uniform(rng, 0, 2 * M_PI);
    const double r = sqrt(1 - z * z);
    mesh->vertex[3 * i] = 0.1 * r * cos(t);
    mesh->vertex[3 * i + 1] = 0.2 * r * sin(t);
    mesh->vertex[3 * i + 2] = 0.3 * z;
  }
  int n;
  double off, beyond = 0;
  int *index = perp_robot_mesh_hull(&robot, mesh, most, &n, &off);
  ok(index != NULL && n <= most && n > most / 2, "%d vertices: a hull of %d", mesh->n, n);
  for (int k = 0; k < 500 && index != NULL; k++) {
    double d[3], size = 0, all = -1, own = -1;
    for (int i = 0; i < 3; i++) d[i] = perp_rng_uniform(rng, -1, 1), size += d[i] * d[i];
    for (int i = 0; i < mesh->n; i++) {
      const double *v = mesh->vertex + 3 * i;
      all = fmax(all, (v[0] * d[0] + v[1] * d[1] + v[2] * d[2]) / sqrt(size));
    }
    for (int i = 0; i < n; i++) {
      const double *v = mesh->vertex + 3 * index[i];
      own = fmax(own, (v[0] * d[0] + v[1] * d[1] + v[2] * d[2]) / sqrt(size));
    }
    beyond = fmax(beyond, all - own);
  }
  ok(beyond <= off + 1e-12 && off < 0.3 * 16.0 / most, "%d: at most %.2e m beyond, said %.2e", most,
     beyond, off);
  perp_rng_destroy(rng);
  forget(&robot, &report);
}

/* Parts as CAD programs write them: turned, rounded to 32 bits, rims of vertices a micrometre
 * apart. Faces of their whole hull may not close; that of the corners that are chosen does. */
static void test_rounded(int variant)
{
  enum { RIM = 160, RINGS = 6 };
  static float numbers[3 * RIM * RINGS];
  static double vertex[3 * RIM * RINGS];
  static int face[3 * RIM * RINGS];
  perp_rng *rng = perp_rng_create((uint64_t)variant + 1);
  const double turn = perp_rng_uniform(rng, 0, 3), c = cos(turn), s = sin(turn),
               step = pow(10, -5 - 0.5 * (variant % 6));
  for (int k = 0; k < RINGS; k++)
    for (int i = 0; i < RIM; i++) {
      const double angle = 2 * M_PI * i / RIM, r = 0.05 - step * (k % 3),
                   z = (k < 3 ? 0.02 + step * (k % 3) : -0.02 - step * (k % 3)),
                   p[3] = { r * cos(angle), r * sin(angle), z };
      float *to = numbers + 3 * (RIM * k + i);
      to[0] = (float)(c * p[0] - s * p[2] + 0.3);
      to[1] = (float)(p[1] + step / 10 * perp_rng_uniform(rng, -1, 1));
      to[2] = (float)(s * p[0] + c * p[2] - 0.1);
    }
  for (int i = 0; i < 3 * RIM * RINGS; i++) {
    vertex[i] = (double)numbers[i];
    face[i] = i % (RIM * RINGS);
  }
  perp_robot robot;
  perp_robot_report report = { 0 };
  perp_ctx ctx;
  perp_hull *hull = NULL;
  double off = 0, *p, most = 0;
  int n = 0;
  perp_ctx_init(&ctx);
  perp_robot_begin(&robot, &report, "rounded", NULL);
  const perp_robot_mesh mesh = { "rounded", RIM * RINGS, RIM * RINGS, vertex, face };
  const int *index = perp_robot_mesh_hull(&robot, &mesh, 2000, &n, &off);
  p = calloc(3 * (size_t)n + 1, sizeof *p);
  for (int i = 0; i < n; i++) memcpy(p + 3 * i, vertex + 3 * index[i], 3 * sizeof *p);
  ok(index != NULL && perp_hull_create(&ctx, 3, p, 3, n, "hull", &hull) == PERP_OK,
     "variant %d: a hull of %d of %d vertices closes %s", variant, n, RIM * RINGS, ctx.msg);
  for (int i = 0; hull != NULL && i < RIM * RINGS; i++)
    for (int f = 0; f < hull->n_faces; f++)
      most = fmax(most, perp_dot(3, hull->n + 3 * f, vertex + 3 * i) - hull->d[f]);
  below(most, 1e-4, "variant %d: all vertices are within %.1g m of it", variant, most);
  ok(fabs(most - off) < 1e-9, "variant %d: as it says, %.1g m", variant, off);
  free(hull);
  free(p);
  perp_pool_free(&robot.pool);
  perp_rng_destroy(rng);
}

int main(void)
{
  const char *source = getenv("PERP_SOURCE");
  snprintf(folder, sizeof folder, "%s/tests/import/models/meshes", source != NULL ? source : ".");
  static const double one[3] = { 1, 1, 1 }, milli[3] = { 0.001, 0.001, 0.001 },
                      mirror[3] = { 1, -2, 0.5 };
  static const char *const files[] = { "wedge.stl", "wedge-text.stl", "wedge.obj",
                                       "wedge.dae", "wedge-cm.dae",   "wedge.gltf",
                                       "wedge.glb", "wedge.msh",      "wedge-beside.gltf" };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) test_wedge(files[i], one);
  test_wedge("wedge.stl", milli);
  test_wedge("wedge.obj", mirror);
  test_wedge("wedge.dae", mirror);
  char fifo[] = "/tmp/perp-mesh-XXXXXX", path[100];
  if (mkdtemp(fifo) == NULL) bail("no folder");
  snprintf(path, sizeof path, "%s/pipe.stl", fifo);
  if (mkfifo(path, 0600) != 0) bail("no pipe");
  test_lie(path, "not a regular file");
  unlink(path);
  snprintf(path, sizeof path, "%s/folder.stl", fifo);
  if (mkdir(path, 0700) != 0) bail("no folder");
  test_lie(path, "it is a folder");
  rmdir(path);
  test_lie(path, "No such file");
  rmdir(fifo);
  test_lie("lies-claim.stl", "more triangles than the file holds");
  test_lie("lies-nan.stl", "not finite");
  test_lie("lies-infinite.stl", "not finite");
  test_lie("lies-index.obj", "");
  test_lie("lies-flat.stl", "no triangle with an area");
  test_lie("lies-empty.stl", "it is empty");
  test_lie("lies-bytes.dae", "it is not valid XML");
  test_lie("lies-attribute.dae", "<float_array> needs the attribute 'count'");
  test_lie("lies-empty.obj", "mesh");
  test_lie("lies-name.step", "does not end in .stl");
  test_lie("lies-short.glb", "longer than the file");
  test_lie("lies-position.gltf", "a primitive has no positions");
  test_lie("lies-lines.gltf", "a primitive is no triangles");
  test_lie("lies-accessor.gltf", "no number of one of its accessors");
  test_lie("lies-index.msh", "does not exist");
  test_lie("lies-claim.msh", "more elements");
  test_lie("lies-bomb.dae", "entities");
  test_lie("lies-outside.gltf", "cannot be read");
  test_lie("lies-claim.gltf", "mesh");
  test_lie("lies-circle.gltf", "mesh");
  test_hull(50, 100);
  test_hull(20, 60);
  test_hull(150, 400);
  for (int i = 0; i < 20; i++) test_rounded(i);
  return tap_done();
}
