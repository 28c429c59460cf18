/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meshes of robots from arbitrary bytes, in this process: a mesh, or a message.  The first byte
 * says which format.  assimp is not compiled with sanitizers. */
#include "experiments/import/robot_inertia.h"
#include "experiments/import/robot_mesh.h"
#include "tests/fuzz/replay.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char *const ends[] = { ".stl", ".obj", ".dae", ".gltf", ".glb", ".msh" };
  static const double one[3] = { 1, 1, 1 };
  if (size == 0) return 0;
  const char *end = ends[data[0] % 6];
  char path[64];
  snprintf(path, sizeof path, "/tmp/perp-mesh-XXXXXX%s", end);
  const int fd = mkstemps(path, (int)strlen(end));
  if (fd < 0) abort();
  const bool written = write(fd, data + 1, size - 1) == (ssize_t)(size - 1);
  close(fd);
  perp_robot robot;
  perp_robot_report report = { 0 };
  perp_robot_begin(&robot, &report, path, NULL);
  const perp_robot_mesh *mesh = written ? perp_robot_mesh_load(&robot, path, one, NULL, 1) : NULL;
  if (written && (mesh == NULL) != perp_robot_refused(&robot)) abort();
  for (int i = 0; mesh != NULL && i < 3 * mesh->n_faces; i++)
    if (mesh->face[i] < 0 || mesh->face[i] >= mesh->n) abort();
  int n;
  double off;
  if (mesh != NULL && mesh->n < 1000) perp_robot_mesh_hull(&robot, mesh, 50, &n, &off);
  unlink(path);
  perp_pool_free(&robot.pool);
  perp_text *const texts[] = { &report.scene, &report.said, &report.files,
                               &report.error, &report.hint, &report.file };
  for (int i = 0; i < 6; i++) perp_text_free(texts[i]);
  return 0;
}

#ifndef PERP_FUZZ
int main(void)
{
  return replay("mesh", 10);
}
#endif
