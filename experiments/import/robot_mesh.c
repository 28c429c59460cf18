/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/import/robot_mesh.h"

#include "experiments/base/files.h"
#include "experiments/import/robot_mesh_check.h"
#include "experiments/import/robot_search.h"
#include "solvers/core/input.h"
#include "solvers/core/library.h"
#include "solvers/core/library_files.h"

#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/cfileio.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_DEPTH = 64 }; /* of a tree of nodes */

typedef struct mesh_file {
  char *bytes;
  size_t size, at;
} mesh_file;

/* All triangles of a file: vertices as they come, three to a triangle. */
typedef struct mesh_soup {
  perp_robot *robot;
  const char *file, *at_file;
  int at_line;
  double *v; /* [3 n] */
  int n, room;
} mesh_soup;

/* ---- bytes ---- */

/* The bytes of a regular file, malloc; NULL: *why says it. */
static char *mesh_bytes(const char *path, size_t *size, const char **why)
{
  char *bytes = perp_read_bounded(path, PERP_ROBOT_MESH_BYTES, size);
  if (bytes == NULL)
    *why = errno == EFBIG ? "it is larger than 256 MiB" : perp_input_why(errno);
  else if (*size > 0)
    return bytes;
  else
    *why = "it is empty";
  free(bytes);
  return NULL;
}

static void mesh_refuse(const mesh_soup *soup, const char *hint, const char *why)
{
  perp_robot_refuse(soup->robot, soup->at_file, soup->at_line, hint, "mesh %s: %s", soup->file,
                    why);
}

/* ---- triangles ---- */

/* false: too many */
static bool mesh_triangle(mesh_soup *soup, const double a[3], const double b[3], const double c[3])
{
  if (soup->n + 3 > 3 * PERP_ROBOT_MESH_VERTICES) return false;
  if (soup->n + 3 > soup->room) {
    soup->room = 2 * soup->room + 3000;
    soup->v = perp_xrealloc(soup->v, 3 * (size_t)soup->room, sizeof *soup->v);
  }
  memcpy(soup->v + 3 * soup->n, a, 3 * sizeof *a);
  memcpy(soup->v + 3 * soup->n + 3, b, 3 * sizeof *b);
  memcpy(soup->v + 3 * soup->n + 6, c, 3 * sizeof *c);
  soup->n += 3;
  return true;
}

static uint64_t mesh_hash(const double v[3])
{
  const double x[3] = { v[0] + 0.0, v[1] + 0.0, v[2] + 0.0 }; /* -0 is 0 */
  return perp_hash64(x, sizeof x, 0);
}

/* Equal vertices become one. */
static void mesh_join(mesh_soup *soup, perp_robot_mesh *mesh)
{
  int slots = 16;
  while (slots < 2 * soup->n) slots *= 2;
  int *slot = perp_xalloc((size_t)slots, sizeof *slot);
  double *vertex = perp_pool_alloc(&soup->robot->pool, 3 * (size_t)soup->n + 1, sizeof *vertex);
  int *face = perp_pool_alloc(&soup->robot->pool, (size_t)soup->n + 1, sizeof *face), n = 0,
      faces = 0;
  for (int i = 0; i < soup->n; i++) {
    const double *v = soup->v + 3 * i;
    int k = (int)(mesh_hash(v) & (uint64_t)(slots - 1));
    while (slot[k] != 0) {
      const double *other = vertex + 3 * (slot[k] - 1);
      if (other[0] == v[0] && other[1] == v[1] && other[2] == v[2]) break;
      k = (k + 1) & (slots - 1);
    }
    if (slot[k] == 0) {
      memcpy(vertex + 3 * n, v, 3 * sizeof *v);
      slot[k] = ++n;
    }
    face[3 * faces + i % 3] = slot[k] - 1;
    if (i % 3 < 2) continue;
    const int *f = face + 3 * faces;
    faces += f[0] != f[1] && f[1] != f[2] && f[2] != f[0];
  }
  free(slot);
  mesh->vertex = vertex;
  mesh->face = face;
  mesh->n = n;
  mesh->n_faces = faces;
}

/* ---- MuJoCo's MSH: numbers of vertices, normals, texture coordinates, faces; then all of them
 * ---- */

static const char *mesh_read_msh(mesh_soup *soup, const char *bytes, size_t size)
{
  int32_t count[4];
  if (size < sizeof count) return "it is too short for a header of MSH";
  memcpy(count, bytes, sizeof count);
  const int64_t most = PERP_ROBOT_MESH_VERTICES;
  for (int i = 0; i < 4; i++)
    if (count[i] < 0 || count[i] > most) return "its header claims more elements than are allowed";
  const int64_t need = 16 + 12 * (int64_t)count[0] + 12 * (int64_t)count[1] +
                       8 * (int64_t)count[2] + 12 * (int64_t)count[3];
  if ((int64_t)size != need) return "its size is not that of its header";
  if (count[3] == 0) return "it has no triangles";
  const char *vertex = bytes + 16, *face = bytes + need - 12 * (int64_t)count[3];
  for (int i = 0; i < count[3]; i++) {
    int32_t index[3];
    double p[3][3];
    memcpy(index, face + 12 * (int64_t)i, sizeof index);
    for (int k = 0; k < 3; k++) {
      float x[3];
      if (index[k] < 0 || index[k] >= count[0])
        return "a triangle has a vertex that does not exist";
      memcpy(x, vertex + 12 * (int64_t)index[k], sizeof x);
      for (int j = 0; j < 3; j++) p[k][j] = (double)x[j];
    }
    mesh_triangle(soup, p[0], p[1], p[2]);
  }
  return NULL;
}

/* ---- files of assimp: the mesh, and buffers of a glTF from where files may be read ---- */

static size_t mesh_io_read(struct aiFile *file, char *to, size_t size, size_t count)
{
  mesh_file *f = (mesh_file *)(void *)file->UserData;
  if (size == 0) return 0;
  const size_t left = (f->size - f->at) / size, n = count < left ? count : left;
  memcpy(to, f->bytes + f->at, n * size);
  f->at += n * size;
  return n;
}

static size_t mesh_io_write(struct aiFile *file, const char *from, size_t size, size_t count)
{
  (void)file, (void)from, (void)size, (void)count;
  return 0;
}

static size_t mesh_io_tell(struct aiFile *file)
{
  return ((mesh_file *)(void *)file->UserData)->at;
}

static size_t mesh_io_size(struct aiFile *file)
{
  return ((mesh_file *)(void *)file->UserData)->size;
}

static enum aiReturn mesh_io_seek(struct aiFile *file, size_t offset, enum aiOrigin origin)
{
  mesh_file *f = (mesh_file *)(void *)file->UserData;
  const size_t base = origin == aiOrigin_CUR ? f->at : origin == aiOrigin_END ? f->size : 0;
  const size_t at = origin == aiOrigin_END ? base - offset : base + offset;
  if (at > f->size) return aiReturn_FAILURE;
  f->at = at;
  return aiReturn_SUCCESS;
}

static void mesh_io_flush(struct aiFile *file)
{
  (void)file;
}

static struct aiFile *mesh_io_open(struct aiFileIO *io, const char *path, const char *mode)
{
  const mesh_soup *soup = (const mesh_soup *)(void *)io->UserData;
  const char *dot = strrchr(path, '.'), *why = NULL;
  if (strchr(mode, 'w') != NULL || strchr(mode, 'a') != NULL) return NULL;
  /* materials and textures have no physics */
  const bool own = strcmp(path, soup->file) == 0;
  if (!own && (dot == NULL || strcasecmp(dot, ".bin") != 0)) return NULL;
  const char *real = own ? path
                         : perp_robot_search(soup->robot,
                                             perp_robot_folder(soup->robot, soup->file), path);
  mesh_file f = { 0 };
  if (real == NULL || (f.bytes = mesh_bytes(real, &f.size, &why)) == NULL) return NULL;
  if (!own) perp_robot_read_file(soup->robot, real);
  struct aiFile *file = perp_xalloc(1, sizeof *file);
  mesh_file *kept = perp_xalloc(1, sizeof *kept);
  *kept = f;
  *file = (struct aiFile){ .ReadProc = mesh_io_read,
                           .WriteProc = mesh_io_write,
                           .TellProc = mesh_io_tell,
                           .FileSizeProc = mesh_io_size,
                           .SeekProc = mesh_io_seek,
                           .FlushProc = mesh_io_flush,
                           .UserData = (aiUserData)(void *)kept };
  return file;
}

static void mesh_io_close(struct aiFileIO *io, struct aiFile *file)
{
  (void)io;
  mesh_file *f = (mesh_file *)(void *)file->UserData;
  free(f->bytes);
  free(f);
  free(file);
}

/* ---- the scene of assimp, which is loaded for it ---- */

#define ASSIMP(X)                                                                                  \
  X(aiCreatePropertyStore)                                                                         \
  X(aiGetErrorString)                                                                              \
  X(aiImportFileExWithProperties)                                                                  \
  X(aiReleaseImport)                                                                               \
  X(aiReleasePropertyStore)                                                                        \
  X(aiSetImportPropertyInteger)

static struct {
  ASSIMP(PERP_LIBRARY_POINTER)
} mesh_calls;
PERP_LIBRARY(mesh, ASSIMP, mesh_calls, ASSIMP, "assimp", "libassimp-dev");

/* p = T x, T row-major, 4 x 4 */
static void mesh_place(const double T[16], const struct aiVector3D *x, double p[3])
{
  for (int i = 0; i < 3; i++)
    p[i] = T[4 * i] * (double)x->x + T[4 * i + 1] * (double)x->y + T[4 * i + 2] * (double)x->z +
           T[4 * i + 3];
}

static const char *mesh_node(mesh_soup *soup, const struct aiScene *scene,
                             const struct aiNode *node, const double T[16], int depth)
{
  double own[16];
  const struct aiMatrix4x4 *matrix = &node->mTransformation;
  const double local[16] = { (double)matrix->a1, (double)matrix->a2, (double)matrix->a3,
                             (double)matrix->a4, (double)matrix->b1, (double)matrix->b2,
                             (double)matrix->b3, (double)matrix->b4, (double)matrix->c1,
                             (double)matrix->c2, (double)matrix->c3, (double)matrix->c4,
                             (double)matrix->d1, (double)matrix->d2, (double)matrix->d3,
                             (double)matrix->d4 };
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      own[4 * i + j] = 0;
      for (int k = 0; k < 4; k++) own[4 * i + j] += T[4 * i + k] * local[4 * k + j];
    }
  if (depth > MOST_DEPTH) return "its nodes are nested too deeply";
  for (unsigned mNumMeshe = 0; mNumMeshe < node->mNumMeshes; mNumMeshe++) {
    if (node->mMeshes[mNumMeshe] >= scene->mNumMeshes)
      return "a node has a mesh that does not exist";
    const struct aiMesh *mesh = scene->mMeshes[node->mMeshes[mNumMeshe]];
    for (unsigned mNumFace = 0; mNumFace < mesh->mNumFaces; mNumFace++) {
      const struct aiFace *face = &mesh->mFaces[mNumFace];
      double p[3][3];
      if (face->mNumIndices != 3) continue; /* points and lines */
      for (int i = 0; i < 3; i++) {
        if (face->mIndices[i] >= mesh->mNumVertices)
          return "a triangle has a vertex that does not exist";
        mesh_place(own, &mesh->mVertices[face->mIndices[i]], p[i]);
      }
      if (!mesh_triangle(soup, p[0], p[1], p[2])) return "it has more than 4194304 triangles";
    }
  }
  for (unsigned k = 0; k < node->mNumChildren; k++) {
    const char *why = mesh_node(soup, scene, node->mChildren[k], own, depth + 1);
    if (why != NULL) return why;
  }
  return NULL;
}

static const char *mesh_read_assimp(mesh_soup *soup, bool gltf)
{
  /* y up becomes z up */
  static const double as_is[16] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 },
                      turned[16] = { 1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1 };
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  if (perp_library_open(&ctx, &mesh_library) != PERP_OK)
    return perp_pool_printf(&soup->robot->pool, "%s", ctx.msg);
  struct aiFileIO io = { .OpenProc = mesh_io_open,
                         .CloseProc = mesh_io_close,
                         .UserData = (aiUserData)(void *)soup };
  struct aiPropertyStore *props = mesh_calls.aiCreatePropertyStore();
  mesh_calls.aiSetImportPropertyInteger(props, AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION, 1);
  const struct aiScene *scene = mesh_calls.aiImportFileExWithProperties(
      soup->file, aiProcess_Triangulate, &io, props);
  mesh_calls.aiReleasePropertyStore(props);
  if (scene == NULL || scene->mRootNode == NULL) {
    const char *why = mesh_calls.aiGetErrorString();
    return perp_pool_printf(&soup->robot->pool, "it cannot be read%s%.*s",
                            why[0] != '\0' ? ": " : "", (int)strcspn(why, "\n"), why);
  }
  const char *why = mesh_node(soup, scene, scene->mRootNode, gltf ? turned : as_is, 0);
  mesh_calls.aiReleaseImport(scene);
  return why;
}

/* ---- one file ---- */

static const char *mesh_read(mesh_soup *soup, const char *file)
{
  static const char *const ends[] = { ".stl", ".obj", ".dae", ".gltf", ".glb", ".msh", NULL };
  const char *dot = strrchr(file, '.'), *why = NULL;
  size_t size = 0;
  int kind = 0;
  while (ends[kind] != NULL && (dot == NULL || strcasecmp(dot, ends[kind]) != 0)) kind++;
  if (ends[kind] == NULL) return "its name does not end in .stl, .obj, .dae, .gltf, .glb or .msh";
  char *bytes = mesh_bytes(file, &size, &why);
  if (bytes == NULL) return why;
  perp_pool *pool = &soup->robot->pool;
  if (kind == 0) why = perp_mesh_check_stl(bytes, size);
  if (kind == 2) why = perp_mesh_check_dae(pool, bytes, size);
  if (kind == 3 || kind == 4) why = perp_mesh_check_gltf(pool, bytes, size, kind == 4);
  if (kind == 5) why = mesh_read_msh(soup, bytes, size);
  free(bytes);
  if (why == NULL && kind != 5) why = mesh_read_assimp(soup, kind == 3 || kind == 4);
  if (why == NULL && soup->n == 0) why = "it has no triangles";
  return why;
}

perp_robot_mesh *perp_robot_mesh_load(perp_robot *robot, const char *file, const double scale[3],
                                      const char *at_file, int at_line)
{
  mesh_soup soup = { .robot = robot, .file = file, .at_file = at_file, .at_line = at_line };
  const char *why = mesh_read(&soup, file);
  const double sign = scale[0] * scale[1] * scale[2];
  if (why == NULL && !(isfinite(sign) && sign != 0)) why = "a number of its scale is 0";
  for (int i = 0; i < 3 * soup.n && why == NULL; i++) {
    soup.v[i] *= scale[i % 3];
    if (!isfinite(soup.v[i]) || fabs(soup.v[i]) > 1e9)
      why = "a coordinate is not finite, or beyond 1e9 m";
  }
  perp_robot_mesh *mesh = NULL;
  if (why == NULL) {
    for (int i = 0; i < soup.n && sign < 0; i += 3)
      for (int k = 0; k < 3; k++) {
        const double other = soup.v[3 * i + 3 + k];
        soup.v[3 * i + 3 + k] = soup.v[3 * i + 6 + k];
        soup.v[3 * i + 6 + k] = other;
      }
    mesh = perp_robot_add_mesh(robot);
    mesh_join(&soup, mesh);
    if (mesh->n_faces == 0) why = "it has no triangle with an area";
    perp_robot_read_file(robot, file);
  }
  free(soup.v);
  if (why == NULL) return mesh;
  mesh_refuse(&soup, "export it anew from its program, as STL or OBJ", why);
  return NULL;
}
